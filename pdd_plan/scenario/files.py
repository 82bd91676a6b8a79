"""Finds and reads scenario files, and lists the files they name."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from pdd_plan.errors import InputError, Issue
from pdd_plan.units import nearest

MAX_BYTES = 16 * 2**20
"""Largest scenario file [bytes]."""

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_folder() -> Path | None:
    """Return the folder of scenarios that ship with the package, or None."""
    for folder in (_PACKAGE.parent / "scenarios", _PACKAGE / "data" / "scenarios"):
        if folder.is_dir() and any(folder.glob("*.yaml")):
            return folder
    return None


def scenario_names() -> list[str]:
    """Return the names of the scenarios that ship with the package, sorted."""
    folder = shipped_folder()
    return sorted(path.stem for path in folder.glob("*.yaml")) if folder else []


def find_scenario(name: str | Path) -> Path:
    """Find a scenario by path, or by the name of one that ships with the package.

    Parameters
    ----------
    name : str or Path
        A path, or a bare name such as ``quickstart`` or ``quickstart.yaml``. A file in the
        current folder comes first.

    Returns
    -------
    Path
        An existing file.

    Raises
    ------
    InputError
        If there is none; the help names the nearest.
    """
    path = Path(name)
    if path.is_file():
        return path
    folder = shipped_folder()
    if len(path.parts) == 1 and folder is not None:
        shipped = folder / (path.stem if path.suffix in (".yaml", ".yml") else path.name)
        shipped = shipped.with_name(shipped.name + ".yaml")
        if shipped.is_file() and not path.is_dir():
            return shipped
    shown = str(name)
    if path.exists():
        inside = _yaml_in(path) if path.is_dir() else []
        mend = f"name a file in it, such as {path / inside[0]}" if inside else "name a YAML file"
        what = "a folder" if path.is_dir() else "not a regular file"
        raise InputError(Issue(f"{shown} is {what}, not a scenario file", file=shown, help=mend))
    raise InputError(Issue(f"there is no file {shown}", file=shown, help=_near_file(path)))


def _yaml_in(folder: Path) -> list[str]:
    try:
        return sorted(p.name for p in folder.iterdir() if p.suffix in (".yaml", ".yml"))
    except OSError:
        return []


def _near_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}; check the path"
    near = nearest(path.name, _yaml_in(path.parent))
    if near:
        return f"did you mean {path.parent / near}?"
    shipped = scenario_names()
    near = nearest(path.stem, shipped)
    if near:
        return f"did you mean {near}, which ships with pdd-plan?"
    return "pdd-plan init writes a starter" + (
        f"; {', '.join(shipped)} ship with pdd-plan" if shipped else ""
    )


def read_text(path: Path) -> str:
    """Read a scenario file as text.

    Parameters
    ----------
    path : Path
        File to read.

    Returns
    -------
    str
        Its content, without a byte order mark.

    Raises
    ------
    InputError
        If the file cannot be read, is too big, is no UTF-8 text or has no content.
    """
    file = str(path)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(
                Issue(
                    f"{file} has {size / 2**20:.0f} MiB; a scenario has at most "
                    f"{MAX_BYTES // 2**20} MiB",
                    file=file,
                    help="requests belong into a trace file: workload.trace.path",
                )
            )
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            Issue(
                f"cannot read {file}: {error.strerror or error}",
                file=file,
                help="check the path and its permissions",
            )
        ) from None
    text = _decode(data, file)
    if not text.strip():
        raise InputError(
            Issue(f"{file} is empty", file=file, line=1, help="pdd-plan init writes a starter")
        )
    return text


def _decode(data: bytes, file: str) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(
            Issue(f"{file} is UTF-16 text", file=file, line=1, help="save it as UTF-8")
        )
    if data[:2] == b"\x1f\x8b" or data[:4] == b"\x28\xb5\x2f\xfd":
        raise InputError(
            Issue(
                f"{file} is a compressed file",
                file=file,
                help="a scenario is plain YAML; a trace goes to workload.trace.path",
            )
        )
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError(
            Issue(f"{file} is binary, not YAML text", file=file, line=line, help="name a YAML file")
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            Issue(
                f"{file} is not UTF-8 text: byte 0x{data[error.start]:02x} on line {line}",
                file=file,
                line=line,
                help="save it as UTF-8",
            )
        ) from None


def named_files(data: Any, folder: Path) -> tuple[Path, ...]:
    """Return every file that a scenario names, whether it exists or not.

    Parameters
    ----------
    data : object
        Plain data of a scenario, of any shape.
    folder : Path
        Folder of the scenario file, where relative paths start.
    """
    found: list[Path] = []

    def note(parent: Any, key: str, always: bool = True) -> None:
        value = parent.get(key) if isinstance(parent, dict) else None
        if isinstance(value, str) and value and (always or names_file(value)):
            found.append(folder / value)

    data = data if isinstance(data, dict) else {}
    for service in (data, *_items(data.get("services"))):
        if not isinstance(service, dict):
            continue
        note(service, "model", always=False)
        workload = service.get("workload")
        note(workload.get("trace") if isinstance(workload, dict) else None, "path")
        note(service.get("efficiencies"), "file")
        for engine in _items(service.get("engines")):
            for key in ("efficiencies", "prefill_table", "decode_table"):
                note(engine.get(key) if isinstance(engine, dict) else None, "file")
    for site in _items(data.get("sites")):
        for offer in _items(site.get("chips") if isinstance(site, dict) else None):
            note(offer, "profile", always=False)
            note(offer, "relative_to", always=False)
            note(offer.get("efficiencies") if isinstance(offer, dict) else None, "file")
    return tuple(found)


def names_file(value: str) -> bool:
    """Return whether the name of a model or chip is that of a file."""
    return value.endswith((".yaml", ".yml", ".json"))


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, or an empty string where it cannot be read.

    Parameters
    ----------
    path : Path
        File to read.
    """
    try:
        stat = path.stat()
        return _hash(path, stat.st_mtime_ns, stat.st_size)
    except OSError:
        return ""


@lru_cache(maxsize=256)
def _hash(path: Path, _modified: int, _size: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
