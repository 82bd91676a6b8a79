"""Compile the event loop with numba, and keep what was compiled between runs.

Numba notices a change of the file that a function is in, not of the files of the functions it
calls. So the compiled code is kept in a folder named after a digest of all files of this package:
any change of any of them, and any upgrade, compiles anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pdd_plan.errors import InputError, Issue

numba: Any
try:
    import numba
except ImportError:  # the optional extra `sim`
    numba = None

COMPILED: bool = numba is not None and not os.environ.get("NUMBA_DISABLE_JIT", "0").strip("0")
"""Whether the event loop runs compiled; without numba it runs as plain Python, 100 times slower."""

PLAIN_REQUESTS = 20_000
"""Requests that plain Python simulates in some 20 s; longer runs ask for numba."""

F = TypeVar("F", bound=Callable[..., Any])


@lru_cache(maxsize=1)
def _cache_folder() -> Path | None:
    """Folder for compiled code, made where it is absent; None where none can be written."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(base) if base else Path.home() / ".cache"
        folder = root / "pdd-plan" / f"simulation-{digest.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


def jit(function: F) -> F:
    """Compile a function of the event loop as part of whatever compiled function calls it.

    Parameters
    ----------
    function : callable
        Called by compiled functions only.

    Returns
    -------
    callable
        As given where numba is absent.
    """
    if numba is None:
        return function
    # no way in from Python: 40 % less to compile
    compiled: F = numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return compiled


def entry(function: F) -> F:
    """Compile a function that Python calls, with all that it calls, and keep the result on disk.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable
        Same signature; compiled at the first call, releases the interpreter lock while it runs.
        As given where numba is absent.
    """
    if numba is None:
        return function
    folder = _cache_folder()
    before = numba.config.CACHE_DIR
    try:
        if folder is not None:
            numba.config.CACHE_DIR = str(folder)
        compiled: F = numba.njit(cache=folder is not None, nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = before
    return compiled


def require_compiled(requests: int) -> None:
    """Refuse a long run where numba is absent.

    Parameters
    ----------
    requests : int
        Requests over all replications.

    Raises
    ------
    InputError
        If the run would take minutes as plain Python.
    """
    if not COMPILED and requests > PLAIN_REQUESTS:
        raise InputError(
            Issue(
                f"simulating {requests:,} requests needs numba, which is not installed",
                help=f"pip install 'pdd-plan[sim]', or simulate {PLAIN_REQUESTS:,} or fewer",
            )
        )
