"""YAML text to plain data, with the line of every key and item and no surprises of YAML 1.1.

Numbers are decimal, ``1e-3`` included; only ``true`` and ``false`` are booleans, so ``on``,
``off``, ``yes`` and ``no`` stay text; there are no dates, octal or sexagesimal numbers. A key
that appears twice is an error, not a silent replacement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from pdd_plan.errors import InputError, Issue

MAX_NODES = 500_000
"""Most values of a file, aliases expanded; guards against exponential aliases."""

MAX_DEPTH = 50
"""Most levels of lists and mappings."""

_SHALLOW = "a scenario has six levels at most; check brackets and indentation"
_INTEGER = re.compile(r"[-+]?(0|[1-9]\d*)")
_FLOAT = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?")
_SPECIAL = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_TAGS = ("map", "seq", "str", "null", "bool", "int", "float", "timestamp", "merge", "value")
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Composes nodes without guessing types; `scalar` reads plain ones."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


@dataclass
class Document:
    """Plain data of a YAML text.

    Attributes
    ----------
    data : Any
        Mappings, lists, numbers, booleans, None and text.
    lines : dict[str, int]
        Line, from 1, by dotted path; ``""`` is the top.
    issues : list[Issue]
        Faults that leave the rest readable, such as repeated keys.
    """

    data: Any = None
    lines: dict[str, int] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)


def parse_yaml(text: str, file: str) -> Document:
    """Parse one YAML document.

    Parameters
    ----------
    text : str
        The content.
    file : str
        Name for messages.

    Returns
    -------
    Document

    Raises
    ------
    InputError
        Where the text is no YAML, with the line.
    """
    try:
        nodes = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.YAMLError as error:
        raise InputError(_syntax_issue(error, text, file)) from None
    except RecursionError:
        raise InputError(Issue("the file is nested too deeply", file=file, help=_SHALLOW)) from None
    if len(nodes) > 1:
        before = text.splitlines()[: nodes[1].start_mark.line + 1]
        line = max((i + 1 for i, row in enumerate(before) if row.startswith("---")), default=1)
        raise InputError(
            Issue(
                "the file holds several YAML documents",
                file=file,
                line=line,
                help="keep one scenario in a file: remove the line ---",
            )
        )
    document = Document()
    if nodes and nodes[0] is not None:
        document.data = _Builder(document, file).build(nodes[0], "")
    return document


def parse_value(text: str) -> Any:
    """Parse the value of an override: a scalar, or a list or mapping in braces.

    Parameters
    ----------
    text : str
        Such as ``8 s``, ``0.9`` or ``[0.5, 0.9]``.

    Returns
    -------
    Any
        Plain data.

    Raises
    ------
    InputError
        Where the text is no YAML.
    """
    document = parse_yaml(text, "")
    if document.issues:
        raise InputError(document.issues)
    return document.data


class _Builder:
    """Turns nodes into plain data."""

    def __init__(self, document: Document, file: str) -> None:
        self.document = document
        self.file = file
        self.count = 0
        self.open: set[int] = set()

    def build(self, node: Any, path: str) -> Any:
        line = node.start_mark.line + 1
        self.document.lines.setdefault(path, line)
        self.count += 1
        if id(node) in self.open:
            raise self._stop(
                "an alias refers to the value it is part of", path, line, "write the value out"
            )
        if self.count > MAX_NODES:
            mend = "a scenario is small; give requests as a trace file"
            raise self._stop(f"the file has more than {MAX_NODES:,} values", path, line, mend)
        if len(self.open) > MAX_DEPTH:
            raise self._stop("the file is nested too deeply", path[:60], line, _SHALLOW)
        tag = node.tag.removeprefix("tag:yaml.org,2002:")
        if tag not in _TAGS and tag != "!":
            self._issue(f"the tag {node.tag} is not allowed", path, line, "remove the tag")
            return None
        self.open.add(id(node))
        try:
            return self._inner(node, path)
        finally:
            self.open.discard(id(node))

    def _inner(self, node: Any, path: str) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, _join(path, str(i))) for i, item in enumerate(node.value)]
        return scalar(node.value) if _is_plain(node) else node.value

    def _mapping(self, node: Any, path: str) -> dict[str, Any]:
        result: dict[str, Any] = {}
        own: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.value == "<<" and _is_plain(key_node):
                self._merge(result, value_node, path, line)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self._issue("a key must be text", path, line, "write key: value")
                continue
            key = key_node.value
            where = _join(path, key)
            if key in own:
                self._issue(
                    f"the key {where} appears twice; first on line {own[key]}",
                    where,
                    line,
                    "keep one of them",
                )
                continue
            own[key] = line
            self.document.lines[where] = line
            result[key] = self.build(value_node, where)
        return result

    def _merge(self, result: dict[str, Any], node: Any, path: str, line: int) -> None:
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for part in parts:
            if not isinstance(part, yaml.MappingNode):
                self._issue("<< merges mappings only", path, line, "write <<: *name-of-a-mapping")
                continue
            for key, value in self.build(part, path).items():
                result.setdefault(key, value)

    def _stop(self, message: str, path: str, line: int, help: str) -> InputError:  # noqa: A002
        return InputError(Issue(message, path, self.file, line, help))

    def _issue(self, message: str, path: str, line: int, help: str) -> None:  # noqa: A002
        self.document.issues.append(Issue(message, path, self.file, line, help))


def _is_plain(node: Any) -> bool:
    return node.style in (None, "")  # the C parser says "", the Python one None


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def scalar(text: str) -> Any:
    """Read a plain scalar: null, true, false, a decimal number, or text."""
    lower = text.lower()
    if lower in _CONSTANTS:
        return _CONSTANTS[lower]
    if _INTEGER.fullmatch(text) and len(text) < 400:
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return float(_SPECIAL[lower]) if lower in _SPECIAL else text


def _syntax_issue(error: yaml.YAMLError, text: str, file: str) -> Issue:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark is not None else 0
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    lines = text.rstrip().splitlines()
    line = min(line, max(len(lines), 1))
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    if re.match(r" *\t", written):
        message, mend = "a tab indents this line", "indent with spaces"
    elif "nesting depth" in problem:
        message, mend = "the file is nested too deeply", _SHALLOW
    elif "special characters" in str(error) or "control characters" in str(error):
        position = getattr(error, "position", 0) or 0
        line = line or text.count("\n", 0, position) + 1
        message, mend = "the file holds a control character", "save it as plain UTF-8 text"
    else:
        message = f"not valid YAML: {problem}"
        mend = "check indentation, colons, quotes and brackets here and on the line before"
    return Issue(message, "", file, line, mend)
