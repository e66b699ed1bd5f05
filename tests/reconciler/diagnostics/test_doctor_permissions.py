"""``worlddb doctor`` reports files that the user may not read or write."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import worlddb
from worlddb import Symptom
from worlddb.projections.indexes import tail
from worlddb.reconciler.diagnostics import installation

Hide = Callable[..., None]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 1)
    with worlddb.open(tmp_path / "memory") as db:
        db.create("Note", "kept", content="the heron is patient")
        db.rebuild("text")
    return tmp_path / "memory"


@pytest.fixture
def forbidden(monkeypatch: pytest.MonkeyPatch) -> Hide:
    """Makes files of some names unreadable and unwritable, even for root."""
    access = os.access

    def hide(mode: int, *names: str) -> None:
        def asked(path: Any, wanted: int) -> bool:
            return access(path, wanted) and not (Path(path).name in names and mode & wanted)

        monkeypatch.setattr(os, "access", asked)

    return hide


def symptoms_of(store: Path, monkeypatch: pytest.MonkeyPatch) -> list[Symptom]:
    monkeypatch.setattr(installation, "CHECKS", ())
    return list(worlddb.diagnose(store).symptoms)


def test_an_unwritable_file_is_reported(store: Path, forbidden: Hide, monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden(os.W_OK, "data.mdb")
    (symptom,) = (each for each in symptoms_of(store, monkeypatch) if each.code == "no_permission")
    assert symptom.wrong and symptom.where.endswith("data.mdb") and "not write" in symptom.what


@pytest.mark.parametrize(("mode", "what"), [(os.R_OK, "not read it"), (os.W_OK, "read it but not write to it")])
def test_files_of_an_index_that_another_user_made_are_told_and_not_called_damaged(
    mode: int, what: str, store: Path, forbidden: Hide, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sudo worlddb recall`` makes some; Tantivy opens no index in whose folder it may not lock a file."""
    forbidden(mode, "meta.json", "text.lock")
    told = symptoms_of(store, monkeypatch)
    (symptom,) = (each for each in told if each.code == "no_permission")
    assert (Path(symptom.where).name, symptom.wrong) == ("text.lock", True)
    assert symptom.what == f"This user may {what}, and 1 more beside it"
    assert all(each.code != "index_damaged" for each in told)
    assert any("'text index' failed" in each.what for each in told)


def test_what_another_process_deletes_meanwhile_is_no_missing_permission(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = os.access

    def merged_away(path: Any, wanted: int) -> bool:
        if Path(path).suffix == ".fast":
            Path(path).unlink(missing_ok=True)
        return access(path, wanted)

    monkeypatch.setattr(os, "access", merged_away)
    assert all(each.code != "no_permission" for each in symptoms_of(store, monkeypatch))


def test_a_file_that_only_its_owner_may_read_is_told_to_others(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meta = store / "indexes" / "text" / "meta.json"
    meta.chmod(0)
    if os.access(meta, os.R_OK):
        pytest.skip("this user may read everything")
    told = {each.code: each for each in symptoms_of(store, monkeypatch)}
    assert told["no_permission"].where == str(meta) and "index_damaged" not in told


def test_a_file_system_that_takes_no_writes_is_one_finding_and_no_list_of_files(
    store: Path, forbidden: Hide, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbidden(os.W_OK, "data.mdb", "writer.lock", "writer.json", "indexes")
    as_it_is = os.statvfs(store)
    told = {name: getattr(as_it_is, name) for name in dir(as_it_is) if name.startswith("f_")}
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(**told | {"f_flag": os.ST_RDONLY}))
    (symptom,) = (each for each in symptoms_of(store, monkeypatch) if each.wrong)
    assert symptom.code == "read_only_mount" and "copy the directory" in symptom.remedy
    assert symptom.command.startswith("cp -r ") and "chown" not in symptom.command


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o700), (0o077, 0o700), (0o002, 0o770), (0o007, 0o770)])
def test_a_new_store_or_backup_is_its_owners_and_its_groups_where_groups_write(
    umask: int, mode: int, tmp_path: Path
) -> None:
    """Everybody could read the data file, though bundles and keys were their owner's alone."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    before = os.umask(umask)
    try:
        for place in (tmp_path / "memory", shared):
            with worlddb.open(place, embedder=None) as db:
                db.create("Note", "kept")
                db.backup(tmp_path / f"{place.name}.backup")
    finally:
        os.umask(before)
    made = [tmp_path / "memory", tmp_path / "memory.backup", tmp_path / "shared.backup"]
    assert [stat.S_IMODE(each.stat().st_mode) for each in made] == [mode] * 3
    assert stat.S_IMODE(shared.stat().st_mode) == 0o2775, "a directory that is there keeps its permissions"


def test_a_store_that_everybody_can_read_is_noted(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stats = Path.stat
    around = {*store.resolve().parents}

    def opened(self: Path, **how: Any) -> os.stat_result:
        found = stats(self, **how)
        # The directories of tests are their owner's.
        return os.stat_result((found.st_mode | 0o005, *found[1:])) if self in around else found

    monkeypatch.setattr(Path, "stat", opened)
    assert "open_to_all" not in {each.code for each in symptoms_of(store, monkeypatch)}
    store.chmod(0o755)
    found = next(each for each in symptoms_of(store, monkeypatch) if each.code == "open_to_all")
    assert (found.wrong, found.where, found.command) == (False, str(store), f"chmod o-rwx {store}")
    (store / "data.mdb").chmod(0o640)
    assert "open_to_all" not in {each.code for each in symptoms_of(store, monkeypatch)}
