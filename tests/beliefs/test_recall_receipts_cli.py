"""``worlddb recall --receipt``, ``check-recall`` and ``prove-recall``."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def test_a_receipt_is_kept_checked_and_proved_on_the_command_line(run: LocalRunner, tmp_path: Path) -> None:
    run("create", "Fact", "kettle", "--content", "Mara wants the blue kettle", "--author", "ada")
    kept, proofs, head = tmp_path / "kept", tmp_path / "proofs", tmp_path / "head"
    told = run.json("recall", "which kettle?", "--author", "ada", "--receipt", kept)
    assert told["exact"] and told["reference"].startswith("worlddb:belief:1:") and "kettle" not in kept.read_text()
    asked = ("--question", "which kettle?", "--author", "ada")
    found = run.json("check-recall", kept, *asked)
    assert (found["ok"], found["verdict"], found["proved"]) == (True, "holds", 1)
    assert found["reference"] == told["reference"]
    assert run.json("check-recall", kept, "--question", "which kettle?", code=1)["verdict"] == "another_question"
    head.write_text(run("head").out)
    assert run.json("prove-recall", kept, "--out", proofs)["bytes"] == proofs.stat().st_size
    offline = run.json("check-recall", kept, "--offline", "--proof", proofs, "--head", head)
    assert (offline["ok"], offline["verdict"], offline["proved"]) == (True, "not_asked", 1)
    assert "1 of 1" in run("check-recall", kept, *asked).out
    kept.write_text(kept.read_text().replace('"k":10', '"k":11'))
    assert run.json("check-recall", kept, *asked, code=1)["verdict"] == "altered"


def test_conflicting_arguments_are_refused(run: LocalRunner, tmp_path: Path) -> None:
    run("create", "Fact", "kettle", "--content", "Mara wants the blue kettle")
    kept = tmp_path / "kept"
    assert run("recall", "kettle", "--receipt", kept).code == 0
    assert "already" in run("recall", "kettle", "--receipt", kept).err
    assert "--question" in run("check-recall", kept).err
    assert "--offline" in run("check-recall", kept, "--question", "x", "--proof", kept).err


@pytest.mark.parametrize("kind", ["read_only_backup", "hypothetical_store"])
def test_a_receipt_that_cannot_be_kept_is_not_left_either(
    run: LocalRunner, capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    with worlddb.open(run.store, embedder=None) as db:
        made = db.create("Fact", "kettle", content="the blue kettle", ttl=9_000)
        if kind == "read_only_backup":
            db.backup(tmp_path / "copy")
        else:
            db.replay(tmp_path / "copy", without=[made.seq])
    copy, kept = LocalRunner(capsys, tmp_path / "copy"), tmp_path / "kept"
    found = copy("recall", "kettle", "--receipt", kept, "--keep-receipt")
    assert found.error == kind and not kept.exists()
    assert found.code == 3, "4 is a damaged store"
    assert copy("recall", "kettle", "--receipt", kept).code == 0
    with worlddb.open(copy.store, embedder=None, record_accesses=True) as db:
        receipt = db.view().recall("kettle", exact=True, receipt=True).receipt
        assert receipt is not None
        root = str(next(db.log(1, 1)).data["root"])
        for waits in (lambda: db.keep_receipt(receipt), lambda: db.accessed(root), lambda: db.refreshed(root)):
            with pytest.raises((worlddb.ReadOnlyBackup, worlddb.HypotheticalStore)):
                waits()
