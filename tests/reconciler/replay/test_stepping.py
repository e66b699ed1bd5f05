"""Stepping through a history: what each commit decided, one at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner, SmallRefs, small_store


@pytest.fixture
def small(tmp_path: Path) -> SmallRefs:
    return small_store(tmp_path / "store")


@pytest.fixture
def run(small: SmallRefs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def test_each_step_has_the_receipt_that_the_write_gave_and_its_events(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="ada") as db:
        given = [
            db.create("Entity", "Sarah"),
            db.create("Entity", "sarah"),
        ]
        given.append(db.link(given[0], "same_as", db.create("Entity", "S. Chen", idempotency_key="k")))
        given.insert(2, db.create("Entity", "S. Chen", idempotency_key="k"))
        with db.batch() as tx:
            tx.create("Fact", "one")
            tx.create("Fact", "two")
        given.append(tx.receipt)
        made, *steps = db.steps()
        assert (made.receipt.seq, made.commands) == (1, ())
        assert [step.receipt for step in steps] == given
        assert isinstance(steps[3].receipt.outcome, worlddb.Staged)
        assert [step.commands for step in steps] == [
            ("create",),
            ("create",),
            ("create",),
            ("link",),
            ("create", "create"),
        ]
        assert {step.author for step in steps} == {"ada"}
        told = [entry for step in db.steps() for entry in step.events]
        assert told == list(db.log())
        assert [step.receipt.seq for step in db.steps(2, 3)] == [2, 3]
        with pytest.raises(worlddb.InputError):
            list(db.steps(-1))


def test_in_a_pipe_all_steps_are_printed(run: LocalRunner, small: SmallRefs) -> None:
    shown = run("replay", "--step").out
    assert shown.count("root        ") == 11
    assert "asked       revise" in shown
    assert "note        " in shown
    lines = run("replay", "--step", "--until", "4", "--json").lines
    assert [line["seq"] for line in lines] == [1, 2, 3, 4]
    assert [decision["event"] for decision in lines[3]["decisions"]] == ["closed", "revised"]
    assert lines[3]["commands"] == ["revise"]


@pytest.mark.parametrize(("keys", "commits"), [(["\n", "\n", "q\n"], 3), (["q\n"], 1), ([""], 1)])
def test_a_person_asks_for_each_step(
    run: LocalRunner, monkeypatch: pytest.MonkeyPatch, keys: list[str], commits: int
) -> None:
    class Person:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return keys.pop(0)

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", Person())
    done = run("replay", "--step")
    assert done.out.count("root        ") == commits
    assert done.err.count("Enter for the next commit") == commits
    assert not keys


def test_a_replay_that_neither_shows_nor_writes_is_refused(run: LocalRunner) -> None:
    for words in (("--until", "3"), ("--into", "x"), ("--step", "--into", "x"), ()):
        wrong = run("replay", *words)
        assert (wrong.code, wrong.error) == (2, "usage")
