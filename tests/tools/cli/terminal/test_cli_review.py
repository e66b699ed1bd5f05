"""``worlddb proposals --review``: one letter for each pair, from a person or from a pipe."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner

NAMES = ("Ben", "Benn", "Bén")


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalRunner:
    """Commands on a store in which three people are proposed as one, pair by pair."""
    with worlddb.open(tmp_path / "store") as db:
        refs = [db.create("Person", name, content=f"about {name}", resolve=False).ref for name in NAMES]
        for one, other in ((0, 1), (1, 2), (0, 2)):
            db.link(refs[one], "same_as", refs[other], why="they look alike")
    return LocalRunner(capsys, tmp_path / "store")


def statuses(run: LocalRunner) -> list[str]:
    with worlddb.open(run.store) as db:
        return [proposal.status for proposal in db.proposals(status=None)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", ["pending", "pending", "pending"]),
        ("q\n", ["pending", "pending", "pending"]),
        ("a\n", ["accepted", "pending", "pending"]),
        ("s\nA\nwhat?\n\nr\n", ["pending", "accepted", "rejected"]),
        ("r\nq\na\n", ["rejected", "pending", "pending"]),
        ("skip\nreject\naccept", ["pending", "rejected", "accepted"]),
    ],
)
def test_a_letter_decides_a_pair_and_the_end_of_the_answers_ends_the_review(
    run: LocalRunner, monkeypatch: pytest.MonkeyPatch, typed: str, expected: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(typed))
    done = run("proposals", "--review")
    assert done.code == 0
    assert f"{expected.count('pending')} pending." in done.out
    assert statuses(run) == expected


def test_both_sides_are_shown_with_the_reason(run: LocalRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("q\n"))
    done = run("proposals", "--review")
    for shown in ("Ben", "Benn", "about Ben", "about Benn", "they look alike", "1 of 3"):
        assert shown in done.out
    assert "[a/r/s/q]" in done.err


def test_an_answer_that_is_refused_is_told_and_the_review_goes_on(
    run: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("a\na\nr\n"))
    document = run.json("proposals", "--review")
    assert [each["answer"] for each in document["reviewed"]] == ["accepted", "accepted", "refused"]
    assert "joined_by_others" in document["reviewed"][2]["reason"]
    assert document["pending"] == 1


def test_scores_of_the_resolver_are_shown(run: LocalRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    with worlddb.open(run.store) as db:
        for proposal in db.proposals():
            db.reject(proposal)
        db.create("Place", "Katherine Street", resolve=False)
        db.create("Place", "Catherine Street", resolve="all")
    monkeypatch.setattr("sys.stdin", StringIO("s\n"))
    done = run("proposals", "--review")
    assert (
        "'Catherine Street' and 'Katherine Street', 0.958 of 1 by Jaro-Winkler" in done.out and "1 skipped" in done.out
    )
