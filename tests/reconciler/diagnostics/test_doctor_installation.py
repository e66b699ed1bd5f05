"""``worlddb doctor`` reports a missing Python, library or extra of an installation."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from worlddb.reconciler.diagnostics import installation


def test_another_python_is_reported() -> None:
    (symptom,) = installation.python((3, 9, 1), ">=3.11")
    assert (symptom.code, symptom.wrong) == ("old_python", True) and "3.9.1" in symptom.what
    assert list(installation.python()) == []
    root = Path(__file__).resolve().parents[3]
    assert symptom.command.endswith(f"pip install -e {root}"), "it is on no index: pip gets it from the clone"


def test_missing_or_old_libraries_are_reported() -> None:
    asked = ("lmdb>=999", "msgspec>=0.1", "no-such-library>=2", 'x; extra == "dev"')
    symptoms = list(installation.packages(asked))
    assert [(symptom.where, symptom.code, symptom.wrong) for symptom in symptoms] == [
        ("lmdb", "wrong_package", True),
        ("no-such-library", "wrong_package", True),
    ]
    assert symptoms[0].command.endswith("-m pip install 'lmdb>=999'")


def test_an_extra_that_nobody_installed_is_no_finding_and_one_that_does_not_fit_is_a_note() -> None:
    asked = ('no-such-mcp; extra == "mcp"', 'nor-this; extra == "embed"', 'lmdb>=999; extra == "embed"')
    assert list(installation.packages(asked[:2])) == []
    (symptom,) = installation.packages(asked)
    assert (symptom.where, symptom.code, symptom.wrong) == ("the extra 'embed'", "missing_extra", False)
    assert symptom.what.startswith("lmdb is ") and symptom.command.endswith("-m pip install 'worlddb[embed]'")
    assert installation.describe_missing("embed", asked)[0] == "nor-this is not installed"
    assert len(installation.describe_missing("embed", asked)) == 2


def test_extras_for_users_are_those_that_the_installation_has() -> None:
    told = metadata.metadata("worlddb").get_all("Provides-Extra") or []
    assert installation.EXTRAS.keys() <= set(told)
    assert all("worlddb" not in name and why for name, why in installation.EXTRAS.items())


def test_a_library_that_cannot_be_loaded_is_told_and_one_that_ends_the_process_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torn_library.py").write_text("raise ImportError('built for another processor')")
    (tmp_path / "deadly_library.py").write_text("import os; os._exit(132)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    torn, deadly = installation.libraries(("json", "torn_library", "deadly_library", "csv"))
    assert "built for another processor" in torn.what and torn.where == "torn_library"
    assert "132" in deadly.what and deadly.where == "deadly_library"


def test_libraries_that_could_not_be_tried_are_no_reason_to_install_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("not there", "silent"):
        (tmp_path / "silent").write_text("#!/bin/sh\nexit 3\n")
        (tmp_path / "silent").chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(tmp_path / program))
        (symptom,) = installation.libraries()
        assert symptom.wrong and symptom.where == str(tmp_path / program)
        assert "could not be loaded for a test" in symptom.what and not symptom.command


def test_every_library_that_the_installation_names_is_tried_and_all_of_them_load() -> None:
    needed = [Requirement(line) for line in requires("worlddb") or ()]
    names = {each.name.lower() for each in needed if each.marker is None}
    of = {module: {name.lower() for name in listed} for module, listed in packages_distributions().items()}
    assert {name for module in installation.LIBRARIES for name in of[module]} == names
    assert list(installation.libraries()) == []


def test_without_a_library_the_program_says_so_and_what_to_type(tmp_path: Path) -> None:
    (tmp_path / "lmdb.py").write_text("raise ImportError('no lmdb here')")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "worlddb", "head", "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 5 and "Traceback" not in done.stderr
    assert "no lmdb here" in done.stderr and "pip install --force-reinstall --no-deps lmdb" in done.stderr
    assert '"unloadable_library"' in done.stdout
