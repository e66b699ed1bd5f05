"""``worlddb doctor`` says where it cannot look, and nothing where nothing is to be done."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import worlddb
from tests.reconciler.embedding.test_spaces import Letters
from worlddb.reconciler.diagnostics import installation, stored_state
from worlddb.reconciler.embedding.minilm import MODEL as MINILM_MODEL
from worlddb.tools.cli.main import main


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with one text; what is installed here is no matter of stores."""
    monkeypatch.setattr(installation, "CHECKS", ())
    folder = tmp_path / "memory"
    with worlddb.open(folder) as db:
        db.create("Note", "boats", content="The boats are red.")
    return folder


def codes(store: Path) -> dict[str, str]:
    return {symptom.code: symptom.command for symptom in worlddb.diagnose(store).symptoms}


def test_what_may_not_be_looked_at_is_wrong_and_not_passed_over(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(self: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "is_file", forbidden)
    diagnosis = worlddb.diagnose(store)
    assert not diagnosis.ok and diagnosis.skipped
    (symptom,) = diagnosis.symptoms
    assert (symptom.code, symptom.wrong, symptom.where) == ("cannot_look", True, str(store / "data.mdb"))
    assert symptom.what == "The check 'store' failed: Permission denied"
    assert main(["doctor", str(store)]) == 1
    assert "1 thing is wrong" in capsys.readouterr().out


def test_the_extra_of_a_model_is_missed_where_the_stores_vectors_are_of_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_state, "describe_missing", lambda extra: [f"what {extra} needs is not installed"])
    assert "missing_extra" not in codes(store)
    with worlddb.open(store) as db:
        db.reembed(Letters(model=MINILM_MODEL))
    assert "worlddb[embed]" in codes(store)["missing_extra"]
    monkeypatch.setattr(stored_state, "describe_missing", lambda extra: [])
    assert "missing_extra" not in codes(store)


def test_texts_of_a_model_that_ships_are_embedded_by_the_bare_command_and_others_by_a_name(store: Path) -> None:
    with worlddb.open(store) as db:
        assert codes(store)["vectors_pending"].endswith(" embed")
        db.reembed(Letters(model=MINILM_MODEL))
        db.create("Note", "more", content="The boats are green.")
        assert codes(store)["vectors_pending"].endswith(" embed")
        db.reembed(Letters(model="somebody/else"))
        db.create("Note", "yet more", content="The boats are blue.")
        assert codes(store)["vectors_pending"].endswith(" embed --embedder NAME")
