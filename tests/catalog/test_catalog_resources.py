"""The catalog in a checkout and in an installed wheel, and what importing it costs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from pdd_plan.catalog import check_profiles

REPOSITORY = Path(__file__).resolve().parents[2]


def test_profiles_are_found_inside_an_installed_package(tmp_path):
    # The layout of the wheel: profiles under pdd_plan/data, nothing beside the package.
    package = tmp_path / "site" / "pdd_plan"
    shutil.copytree(REPOSITORY / "pdd_plan" / "catalog", package / "catalog")
    for name in ("__init__.py", "errors.py"):
        shutil.copy(REPOSITORY / "pdd_plan" / name, package / name)
    profiles = package / "data" / "hardware_profiles"
    shutil.copytree(REPOSITORY / "hardware_profiles", profiles)
    code = (
        "import pdd_plan.catalog as c, pdd_plan.catalog.resources as r;"
        "print(r.hardware_profiles(), len(c.check_profiles()), c.load_chip('h20').name)"
    )
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    answer = _python(code, folder, tmp_path / "site")
    assert answer.split() == [str(profiles), "0", "h20"]
    shutil.rmtree(profiles)
    code = (
        "from pdd_plan.catalog import chip_names\n"
        "try: chip_names()\n"
        "except ValueError as error: print(error)"
    )
    assert "no hardware profiles found" in _python(code, folder, tmp_path / "site")


def test_importing_the_catalog_stays_light():
    code = (
        "import sys, pdd_plan.catalog;"
        "print([m for m in ('scipy', 'pydantic', 'rich', 'pulp', 'matplotlib', 'pdd_plan.scenario')"
        " if m in sys.modules])"
    )
    assert _python(code, REPOSITORY, REPOSITORY).strip() == "[]"


def test_a_file_of_the_wrong_shape_is_one_fault(tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text("- a list\n")
    (issue,) = check_profiles([file])
    assert issue.file == str(file)


def _python(code: str, folder: Path, path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(path)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
