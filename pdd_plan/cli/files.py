"""Which file an argument means, and the command line that gives a result again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from pdd_plan.errors import InputError, Issue

_PACKAGE = Path(__file__).resolve().parent.parent
SUFFIXES = (".yaml", ".yml")


def scenario_folder() -> Path:
    """Return the folder of shipped scenarios.

    Returns
    -------
    Path
        ``scenarios`` beside the package in a checkout, else inside the wheel.

    Raises
    ------
    InputError
        If neither exists, which means a broken installation.
    """
    for folder in (_PACKAGE.parent / "scenarios", _PACKAGE / "data" / "scenarios"):
        if (folder / "quickstart.yaml").is_file():
            return folder
    raise InputError(
        Issue("the shipped scenarios are missing beside the package and inside it",
              help="install pdd-plan again")
    )  # fmt: skip


def shipped_scenarios() -> list[str]:
    """Return the names of the shipped scenarios, sorted."""
    return sorted(path.stem for path in scenario_folder().glob("*.yaml"))


def shipped_scenario(name: str) -> Path:
    """Return the file of a shipped scenario.

    Parameters
    ----------
    name : str
        Its name, with or without the ending.

    Raises
    ------
    InputError
        If none has that name, with the nearest one.
    """
    from pdd_plan.units import nearest

    path = Path(name)
    stem = path.stem if path.suffix in SUFFIXES else name
    shipped = shipped_scenarios()
    if stem in shipped:
        return scenario_folder() / f"{stem}.yaml"
    near = nearest(stem, shipped)
    mend = f"did you mean {near}?" if near else f"there are: {', '.join(shipped)}"
    raise InputError(Issue(f"there is no shipped scenario {name}", help=mend))


def scenario_file(name: str) -> Path:
    """Return the file that a scenario argument means.

    Parameters
    ----------
    name : str
        Path of a file, or the bare name of a shipped scenario. A file in the way wins.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If there is neither such a file nor such a shipped scenario, or it is a folder.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir():
        raise InputError(
            Issue(f"{name} is a folder, not a scenario file", help=_inside(path, SUFFIXES))
        )
    bare = path.parent == Path() and path.suffix in ("", *SUFFIXES)
    if bare and path.stem in shipped_scenarios():
        return scenario_folder() / f"{path.stem}.yaml"
    raise InputError(Issue(f"there is no scenario {name}", help=_nearest_file(path)))


def existing_file(name: str, what: str) -> Path:
    """Return the path of a file that must exist.

    Parameters
    ----------
    name : str
        Path as given.
    what : str
        What the file is, for the message, such as ``plan``.

    Raises
    ------
    InputError
        If there is no such file.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir():
        raise InputError(Issue(f"{name} is a folder, not a {what}"))
    raise InputError(Issue(f"there is no {what} {name}", help=_neighbor(path)))


def _inside(folder: Path, suffixes: Sequence[str]) -> str:
    found = sorted(p for p in folder.iterdir() if p.suffix in suffixes)
    return f"name a file in it, such as {found[0]}" if found else ""


def _neighbor(path: Path) -> str:
    from pdd_plan.units import nearest

    folder = path.parent
    names = [p.name for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []
    near = nearest(path.name, names)
    return f"did you mean {folder / near}?" if near else ""


def _nearest_file(path: Path) -> str:
    from pdd_plan.units import nearest

    if mend := _neighbor(path):
        return mend
    shipped = shipped_scenarios()
    near = nearest(path.stem, shipped) if path.parent == Path() else None
    if near:
        return f"did you mean the shipped scenario {near}?"
    return f"shipped scenarios: {', '.join(shipped)}; `pdd-plan init` writes one to start from"


def command_line(command: str, arguments: Sequence[str], **options: object) -> str:
    """Return the shell command that gives a result again.

    Parameters
    ----------
    command : str
        Name of the command.
    arguments : sequence of str
        Its arguments as given. Of an absolute path below the current folder the relative one
        is kept, of any other the name alone, since a plan holds no path of a machine.
    **options : object
        Options by their name with ``_`` for ``-``; False and None are left out,
        and lists repeat the option.

    Returns
    -------
    str
    """
    words = ["pdd-plan", command, *(_portable(argument) for argument in arguments)]
    for name, value in options.items():
        flag = "--" + name.strip("_").replace("_", "-")
        values = value if isinstance(value, list | tuple) else [value]
        for one in values:
            if one is True:
                words.append(flag)
            elif one is not None and one is not False:
                words += [flag, _portable(str(one))]
    return shlex.join(words)


def _portable(word: str) -> str:
    path = Path(word)
    if not path.is_absolute():
        return word
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name
