"""What is installed: every folder of the product under one name, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from shutil import copyfile
from typing import Any

import pytest

from tests.support.tidy.tree import ROOMS, ROOT, module_of, repository_files

DATA = {".css", ".j2", ".json", ".jsonl", ".typed"}


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def product_files() -> set[str]:
    return {name for name in repository_files() if PurePosixPath(name).parts[0] in ROOMS}


def installed_name(path: str) -> str:
    """Map a room's file to its installed place: ``log/a.py`` to ``worlddb/log/a.py``."""
    return path if path.startswith("worlddb/") else f"worlddb/{path}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """A wheel built from a copy: a build leaves files that would end up in the next one."""
    copy, built = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for name in {"pyproject.toml", "README.md", "LICENSE", *product_files()}:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        copyfile(ROOT / name, copy / name)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    command += ["--disable-pip-version-check", "--wheel-dir", str(built), str(copy)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=built, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = built.iterdir()
    return zipfile.ZipFile(path)


def test_every_folder_of_the_product_is_a_package_that_is_listed() -> None:
    listed = pyproject()["tool"]["setuptools"]["packages"]
    folders = {str(PurePosixPath(name).parent) for name in product_files() if name.endswith(".py")}
    without_init = sorted(room for room in ROOMS if not (ROOT / room / "__init__.py").exists())
    assert not without_init, f"rooms without an __init__.py: {without_init}"
    assert len(listed) == len(set(listed))
    assert set(listed) == {module_of(f"{folder}/__init__.py") for folder in folders}


def test_the_wheel_holds_every_module_and_its_data_under_one_name(wheel: zipfile.ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = {name for name in product_files() if PurePosixPath(name).suffix in {".py", *DATA}}
    assert held == {installed_name(name) for name in wanted}
    assert {"worlddb/py.typed", "worlddb/log/model/clock.py"} <= held
    information = f"worlddb-{pyproject()['project']['version']}.dist-info"
    assert {PurePosixPath(name).parts[0] for name in wheel.namelist()} == {"worlddb", information}


def test_the_wheel_declares_dependencies_and_extras(wheel: zipfile.ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    header = HeaderParser().parsestr(wheel.read(metadata).decode())
    assert (header["Name"], header["License-Expression"]) == ("worlddb", "Apache-2.0")
    assert header["Requires-Python"] == ">=3.11"
    entry_points = wheel.read(metadata.replace("METADATA", "entry_points.txt")).decode()
    assert "worlddb = worlddb.tools.cli.start:main" in entry_points


def test_the_installation_that_runs_these_tests_is_this_checkout() -> None:
    """An environment that was copied with its folder would still run the code of the folder it came from."""
    code = "import worlddb.log; print(worlddb.log.__file__)"
    run = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert Path(run.stdout.strip()) == ROOT / "log" / "__init__.py"


def test_a_copy_installed_beside_the_clone_is_told_from_a_missing_library(tmp_path: Path) -> None:
    """In the clone's own folder Python finds only ``worlddb/`` unless the installation is editable."""
    (tmp_path / "worlddb").mkdir()
    copyfile(ROOT / "worlddb" / "__init__.py", tmp_path / "worlddb" / "__init__.py")
    command = [sys.executable, "-S", "-c", "import worlddb; worlddb.Clock"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "No module named 'worlddb.log'" in run.stderr and "`pip install -e .` in the clone" in run.stderr
