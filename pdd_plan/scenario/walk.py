"""Finds the field of the schema that a path of keys leads to."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from pdd_plan.scenario.quantity import AlsoWritten, Quantity, Section

PathPart = str | int


def key_of(name: str, field: FieldInfo) -> str:
    """Return the key of a field in the file."""
    return field.alias or name


def fields_of(section: type[Section]) -> dict[str, FieldInfo]:
    """Return the fields of a section by their key in the file."""
    return {key_of(name, field): field for name, field in section.model_fields.items()}


def members(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation stands for, unions and metadata taken away."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from members(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from members(part)
    elif annotation is not type(None):
        yield annotation


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Section)


def _step(annotation: Any, part: PathPart) -> Iterator[Any]:
    for member in members(annotation):
        origin, args = get_origin(member), get_args(member)
        if _is_section(member):
            field = fields_of(member).get(str(part))
            if field is not None:
                yield field.annotation
        elif origin in (dict, Mapping):
            yield args[1]
        elif origin in (tuple, frozenset):
            item = isinstance(part, int) or part.isdigit()
            # A list of sections may be written as one mapping: look through it.
            yield from ([args[0]] if item else _step(args[0], part))


def annotations_at(root: Any, path: Sequence[PathPart]) -> list[Any]:
    """Return the annotations that a path leads to, several where the schema has alternatives.

    Parameters
    ----------
    root : type
        Where the path starts, such as ``Scenario``.
    path : sequence of str or int
        Keys and positions.
    """
    found = [root]
    for part in path:
        found = [after for before in found for after in _step(before, part)]
    return found


def sections_at(root: Any, path: Sequence[PathPart], value: Any = None) -> list[type[Section]]:
    """Return the sections that may stand at a path.

    Parameters
    ----------
    root : type
        Where the path starts.
    path : sequence of str or int
        Keys and positions.
    value : object
        What is written there; its ``distribution`` narrows the choice.
    """
    found: list[type[Section]] = []
    for annotation in annotations_at(root, path):
        for member in members(annotation):
            if get_origin(member) is tuple:
                found += [m for m in members(get_args(member)[0]) if _is_section(m)]
            elif _is_section(member):
                found.append(member)
    kind = value.get("distribution") if isinstance(value, dict) else None
    named = [s for s in found if kind is not None and kind in kinds([s])]
    return named or found


def kinds(sections: Iterable[type[Section]]) -> list[str]:
    """Return the values of ``distribution`` that tell sections apart."""
    fields = (section.model_fields.get("distribution") for section in sections)
    return [
        str(get_args(field.annotation)[0])
        for field in fields
        if field is not None and get_origin(field.annotation) is Literal
    ]


def keys_at(root: Any, path: Sequence[PathPart], value: Any = None) -> list[str]:
    """Return the keys that may stand below a path, in the order of the schema."""
    sections = sections_at(root, path, value)
    return list(dict.fromkeys(key for section in sections for key in fields_of(section)))


def field_at(root: Any, path: Sequence[PathPart], value: Any = None) -> FieldInfo | None:
    """Return the field that a path names, or None.

    Parameters
    ----------
    root : type
        Where the path starts.
    path : sequence of str or int
        Keys and positions, the last one the field's.
    value : object
        What is written at the parent; its ``distribution`` narrows the choice.
    """
    if not path:
        return None
    for section in sections_at(root, path[:-1], value):
        field = fields_of(section).get(str(path[-1]))
        if field is not None:
            return field
    return None


def metadata_of(annotation: Any) -> list[Any]:
    """Return the metadata of an annotation and of the members of a union in it."""
    if get_origin(annotation) is Annotated:
        return [*get_args(annotation)[1:], *metadata_of(get_args(annotation)[0])]
    if get_origin(annotation) in (tuple, frozenset, dict, None, Literal):
        return []
    return [item for part in get_args(annotation) for item in metadata_of(part)]


def quantity_of(field: FieldInfo) -> Quantity | None:
    """Return the quantity that a field takes; None where it takes something else."""
    found = [*field.metadata, *metadata_of(field.annotation)]
    return next((item for item in found if isinstance(item, Quantity)), None)


def quantity_at(root: Any, path: Sequence[PathPart], data: Any) -> Quantity | None:
    """Return the quantity that a path takes, as its only form or as a short one.

    Parameters
    ----------
    root : type
        Where the path starts.
    path : sequence of str or int
        Keys and positions.
    data : object
        What is written at the parent of the last key.

    Returns
    -------
    Quantity or None
        None where the path takes no number with a unit.
    """
    field = field_at(root, path, data)
    if field is not None:
        short = next((m.short for m in field.metadata if isinstance(m, AlsoWritten)), None)
        return short if isinstance(short, Quantity) else quantity_of(field)
    for annotation in annotations_at(root, path[:-1]):
        for member in members(annotation):
            if get_origin(member) is dict:
                found = metadata_of(get_args(member)[1])
                return next((item for item in found if isinstance(item, Quantity)), None)
    return None
