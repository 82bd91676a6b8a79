"""Which file an argument means, and the command line that gives a result again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from pdd_plan.errors import InputError, Issue


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
    from pdd_plan.scenario.files import scenario_names, shipped_folder
    from pdd_plan.units import nearest

    path, folder, shipped = Path(name), shipped_folder(), scenario_names()
    stem = path.stem if path.suffix in (".yaml", ".yml") else name
    if folder is not None and stem in shipped:
        return folder / f"{stem}.yaml"
    near = nearest(stem, shipped)
    mend = f"did you mean {near}?" if near else f"there are: {', '.join(shipped)}"
    raise InputError(Issue(f"there is no shipped scenario {name}", help=mend))


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


def _neighbor(path: Path) -> str:
    from pdd_plan.units import nearest

    folder = path.parent
    names = [p.name for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []
    near = nearest(path.name, names)
    return f"did you mean {folder / near}?" if near else ""


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
