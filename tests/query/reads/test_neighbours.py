"""Expansion from hits to their neighbours: an option of recall, off unless it is asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb import Database, InputError
from worlddb.query.recall.candidates import EDGE_SHARE, MAX_EDGES
from worlddb.query.recall.scoring import RRF_CONSTANT

ASKED = "the meeting about the harbour crane"


class Joined(NamedTuple):
    """A meeting, a decision derived from it, and a world apart that the meeting refers to."""

    db: Database
    office: str
    meeting: str
    decision: str
    apart: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Joined:
    """The store, closed."""
    with worlddb.open(tmp_path_factory.mktemp("made") / "store", author="ana") as db:
        office = db.create("Folder", "office").ref
        meeting = db.create("Note", "", content="Meeting about the harbour crane", world=office).ref
        decision = db.create("Note", "", content="Zoltan pays for lunch from now on", world=office).ref
        apart = db.create("Note", "", content="Quite another matter", world=db.create("Folder", "elsewhere").ref).ref
        for number in range(30):
            db.create("Note", "", content=f"Crane report number {number}", world=office)
        db.link(decision, "derived_from", meeting)
        db.link(meeting, "refers_to", apart)
        db.embed()
        return Joined(db, office, meeting, decision, apart)


@pytest.fixture
def joined(made: Joined, tmp_path: Path) -> Iterator[Joined]:
    """A copy of it, opened."""
    shutil.copytree(made.db.path, tmp_path / "store")
    with worlddb.open(tmp_path / "store", author="ana") as db:
        yield made._replace(db=db)


def found(view: Any, **options: Any) -> dict[str, worlddb.Hit]:
    return {hit.ref: hit for hit in view.recall(ASKED, k=5, **options).hits}


@pytest.mark.parametrize(
    "options",
    [{}, {"exact": True}, {"fusion": "combmax"}, {"lanes": ["text"]}, {"lanes": ["vector"]}],
)
def test_what_an_edge_joins_to_a_hit_is_found_if_it_is_asked_for(joined: Joined, options: dict[str, Any]) -> None:
    view = joined.db.view()
    assert not found(view, **options).keys() & {joined.decision, joined.apart}
    hits = found(view, neighbours=1, **options)
    assert hits.keys() >= {joined.meeting, joined.decision, joined.apart}, "either way along an edge"
    for ref in (joined.decision, joined.apart):
        assert hits[ref].lanes["edge"] in (1, 2)
        assert hits[ref].score <= hits[joined.meeting].score
    assert "edge" not in hits[joined.meeting].lanes


def test_reciprocal_ranks_have_the_neighbours_as_one_ranking_more(joined: Joined) -> None:
    view = joined.db.view()
    plain = {hit.ref: hit for hit in view.recall(ASKED, k=50, fusion="rrf").hits}
    hits = {hit.ref: hit for hit in view.recall(ASKED, k=50, fusion="rrf", neighbours=1).hits}
    assert {hits[ref].lanes["edge"] for ref in (joined.decision, joined.apart)} == {1, 2}
    for ref in (joined.decision, joined.apart):
        gained = hits[ref].score - plain[ref].score
        assert gained == pytest.approx(1 / (RRF_CONSTANT + hits[ref].lanes["edge"]), abs=1e-5)


def test_a_neighbour_says_why_it_was_found(joined: Joined) -> None:
    hits = found(joined.db.view(), neighbours=1)
    hit, leader = hits[joined.decision], hits[joined.meeting]
    assert "connected to a hit by an edge" in hit.reason
    own = sum(leader.scores.get(part, 0.0) for part in ("text", "vector"))
    theirs = sum(hit.scores.get(part, 0.0) for part in ("text", "vector"))
    assert hit.scores["edge"] + theirs == pytest.approx(EDGE_SHARE * own, abs=1e-5)


def test_only_visible_worlds_join(joined: Joined) -> None:
    before = joined.db.view()
    (edge,) = joined.db.view().edges(joined.decision, type="derived_from")
    joined.db.unlink(edge.ref)
    joined.db.retire(joined.apart)
    assert not found(joined.db.view(), neighbours=1).keys() & {joined.decision, joined.apart}
    assert found(before, neighbours=1).keys() >= {joined.decision, joined.apart}


def test_nothing_outside_of_the_world_that_is_searched_joins(joined: Joined) -> None:
    inside = found(joined.db.view(), neighbours=5, world=joined.office)
    confined = found(joined.db.view().confined(joined.office), neighbours=5)
    for hits in (inside, confined):
        assert joined.decision in hits
        assert joined.apart not in hits


def test_being_in_one_folder_joins_nothing(joined: Joined) -> None:
    hits = found(joined.db.view(), neighbours=5)
    assert joined.office not in hits
    assert {ref for ref, hit in hits.items() if "edge" in hit.lanes} <= {joined.meeting, joined.decision, joined.apart}


def test_of_a_hub_a_bounded_number_of_edges_is_followed(joined: Joined) -> None:
    with joined.db.batch() as tx:
        for number in range(MAX_EDGES + 20):
            tx.link(tx.create("Note", "", content=f"Lunch {number}"), "refers_to", joined.meeting)
    hits = joined.db.view().recall(ASKED, k=500, neighbours=1).hits
    assert sum("edge" in hit.lanes for hit in hits) == MAX_EDGES + 2


def test_edges_that_are_in_force_no_longer_take_no_place_of_those_that_are(joined: Joined) -> None:
    db = joined.db
    for number in range(MAX_EDGES + 1):
        edge = db.link(joined.apart, "causes", joined.meeting, key=f"gone {number}").ref
        db.unlink(edge)
    late = db.create("Note", "", content="Lunch at the quay").ref
    db.link(late, "causes", joined.meeting)
    assert late in {hit.ref for hit in db.view().recall(ASKED, k=500, neighbours=1).hits if "edge" in hit.lanes}


@pytest.mark.parametrize("count", [-1, 10_001, "3", 1.5])
def test_an_invalid_number_of_hits_is_refused(joined: Joined, count: Any) -> None:
    with pytest.raises(InputError, match="neighbours"):
        joined.db.view().recall(ASKED, neighbours=count)


def test_the_command_line_takes_the_numbers_that_the_library_takes(
    joined: Joined, capsys: pytest.CaptureFixture[str]
) -> None:
    run, asked = LocalRunner(capsys, joined.db.path), ("recall", ASKED, "--limit", 5)
    plain, none = run.json(*asked), run.json(*asked, "--neighbours", 0)
    assert none["hits"] == plain["hits"]
    one = {hit["ref"] for hit in run.json(*asked, "--neighbours", 1)["hits"]}
    assert one >= {joined.decision, joined.apart} and not one <= {hit["ref"] for hit in plain["hits"]}
    for wrong in ("-1", "a", "10001", "9" * 5_000):
        refused = run(*asked, f"--neighbours={wrong}")
        assert refused.code == 2 and "neighbours" in refused.err, wrong
