"""Finds one altered turn in a large store: verify, diff and the report show it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import worlddb
from tests.support.pages import BROWSERS, in_browser, read
from worlddb import Turn
from worlddb.tools.cli.main import main
from worlddb.tools.reports.difference_report import render

SESSIONS = 50
SAID, FORGED = "the deposit is 1,450 euros", "the deposit is 1,950 euros"


def conversations(folder: Path, worlds: int) -> str:
    """A store of so many worlds, in sessions; the reference of the turn that will be altered."""
    a_session = worlds // SESSIONS
    with worlddb.open(folder, author="importer") as db:
        for session in range(SESSIONS):
            turns = [
                Turn(text=f"line {position} of the day", speaker="Ada" if position % 2 else "Ben", name=f"D{position}")
                for position in range(a_session)
            ]
            if session == SESSIONS // 2:
                turns[a_session // 3] = Turn(text=SAID, speaker="Ben", name="the deposit")
            at = f"2025-03-{1 + session % 28:02}"
            assert db.ingest(turns, conversation="letters", session=f"day {session}", at=at)
        (turn,) = db.view().find(name="the deposit")
        assert db.stats()["counts"]["worlds"] >= worlds
    return turn.ref


def alter(store: Path) -> None:
    """One digit, wherever the sentence stands in the file."""
    file = store / "data.mdb"
    stored = file.read_bytes()
    assert SAID.encode() in stored
    file.write_bytes(stored.replace(SAID.encode(), FORGED.encode()))


def check(folder: Path, worlds: int) -> None:
    ref = conversations(folder / "memory", worlds)
    shutil.copytree(folder / "memory", folder / "suspect", ignore=shutil.ignore_patterns("lock.mdb"))
    alter(folder / "suspect")
    with worlddb.open(folder / "suspect") as db:
        with pytest.raises(worlddb.DamagedStore) as told:
            db.view().get(ref)
        seq = told.value.details["seq"]
        verified = db.verify()
    assert not verified.ok and verified.first_bad_seq == seq
    found = worlddb.diff(folder / "memory", folder / "suspect")
    (change,) = found.worlds
    assert (change.ref, change.change, change.path) == (
        ref,
        "altered",
        f"root/letters/day {SESSIONS // 2}/the deposit",
    )
    assert [(detail.field, detail.a, detail.b) for detail in change.changes] == [
        ("content", f"Ben: {SAID}", f"Ben: {FORGED}")
    ]
    assert [(record.seq, record.side) for record in found.altered] == [(seq, "b")]
    page = render(found, "memory", "suspect")
    read(page)
    assert "<del>450</del>" in page and "<ins>950</ins>" in page
    assert main(["diff", str(folder / "memory"), str(folder / "suspect"), "--html", str(folder / "report.html")]) == 1
    if any(map(shutil.which, BROWSERS)):
        shown = in_browser(folder, "report.html", "--dump-dom")
        assert "<h1>One world was altered behind the engine’s back.</h1>" in shown
        assert "the deposit" in shown and "<ins>950</ins>" in shown


def test_one_turn_altered_among_a_thousand_worlds_is_found_named_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path, 1_000)
    assert "the deposit" in capsys.readouterr().out


@pytest.mark.soak
def test_one_turn_altered_among_a_hundred_thousand_worlds_is_found_named_and_shown(tmp_path: Path) -> None:
    check(tmp_path, 100_000)
