"""Shared helpers of the test suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Before numpy is loaded: small matrices gain nothing from threads, and lose on shared machines.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# The same examples in every run, however long one takes on a busy machine.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")

REPOSITORY = Path(__file__).resolve().parent.parent


def shared_data() -> Path | None:
    """Return the folder of public traces and measurements, or None where it is absent."""
    folder = Path(os.environ.get("PDD_PLAN_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of public traces and measurements; skips where it is absent."""
    folder = shared_data()
    if folder is None:
        pytest.skip("public data folder absent (set PDD_PLAN_SHARED_DATA)")
    return folder
