"""``worlddb types``, and what the other commands tell of edge types that were registered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import worlddb
from tests.support.model.ontology import Showing, Tagged
from tests.support.running import LocalRunner


class Made(NamedTuple):
    team: str
    ann: str
    bob: str
    seqs: list[int]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Made]]:
    folder = tmp_path_factory.mktemp("types") / "memory"
    with worlddb.open(folder) as db:
        team = db.create("Topic", "Search team").ref
        ann, bob = (db.create("Person", name, world=team).ref for name in ("Ann", "Bob"))
        seqs = [
            db.register(Showing("disputes", 3), why="from the minutes").seq,
            db.register(Tagged("mentors", 1), world=team, functional=True).seq,
            db.register("causes", functional=True).seq,
        ]
        db.link(ann, "mentors", bob)
        db.link(ann, "disputes", bob)
        db.unregister("mentors", world=team)
    yield folder, Made(team, ann, bob, seqs)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], made: tuple[Path, Made]) -> LocalRunner:
    return LocalRunner(capsys, made[0])


def test_types_lists_what_is_in_force_for_people_and_for_programs(run: LocalRunner, made: tuple[Path, Made]) -> None:
    told = run("types", "--ingested", made[1].seqs[2])
    assert told.code == 0
    assert "built in: contains, refers_to" in told.out and "causes  functional  for root" in told.out
    assert "disputes  version 3, code " in told.out and "because from the minutes" in told.out
    assert "mentors  version 1" in told.out and "functional  for Search team" in told.out
    assert "lacks the handlers of some registered types" in told.out

    answer = run.json("types")
    assert answer["missing"] == ["disputes"]
    named = {known["name"]: known for known in answer["types"]}
    assert "mentors" not in named and len(named) == 17
    assert named["disputes"]["available"] is False and named["disputes"]["rewrites"] == ["show_conflicts"]
    assert named["causes"]["functional"] is True and named["causes"]["digest_of"] == "built_in"


def test_types_of_one_world_and_of_an_earlier_moment(run: LocalRunner, made: tuple[Path, Made]) -> None:
    def names(*argv: object) -> list[str]:
        return [known["name"] for known in run.json("types", *argv)["types"] if known["digest"]]

    seqs = made[1].seqs
    assert names("--ingested", seqs[0] - 1) == []
    assert names("--ingested", seqs[1], "--world", "Search team") == ["disputes", "mentors"]
    assert names("--ingested", seqs[1], "--world", "root") == ["disputes"]
    assert names("--world", "Search team") == ["disputes"]
    assert run.json("at", seqs[0], "types")["view"]["seq"] == seqs[0]
    assert run("types", "--world", "nobody").code == 1


def test_show_lists_edges_of_types_that_were_registered_even_if_they_are_no_longer(run: LocalRunner) -> None:
    shown = run.json("show", "Ann")
    assert {edge["type"] for edge in shown["edges"]} == {"mentors", "disputes"}
    assert [other["name"] for other in shown["conflicts"]] == ["Bob"]


def test_log_shows_registrations(run: LocalRunner) -> None:
    lines = run("log").out
    assert "registered" in lines and "mentors  version 1  functional" in lines and "unregistered" in lines
    events = [line for line in run("log", "--json").lines if line["event"] == "unregistered"]
    assert [(event["data"]["type"], len(event["refs"])) for event in events] == [("mentors", 1)]


def test_recall_says_that_a_handler_is_not_here(run: LocalRunner) -> None:
    assert "disputes" in run.json("recall", "Ann")["note"]
    assert "lacks their handlers" in run("recall", "Ann").out
