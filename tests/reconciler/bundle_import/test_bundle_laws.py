"""An import keeps for both stores together what handlers keep in each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from tests.support.model.stores import day, refusal
from worlddb import Database, ManualClock, Receipt, Refused, SeededEntropy


class Pair(NamedTuple):
    """Two stores that had four worlds in common when they parted, and where bundles go."""

    there: Database
    here: Database
    team: str
    refs: list[str]
    folder: Path

    def brought(self) -> Receipt:
        """What comes of importing the team as it is there now."""
        self.there.export(self.team, self.folder / "team.bundle", overwrite=True)
        return self.here.import_bundle(self.folder / "team.bundle")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    clock = ManualClock(day(0))
    with (
        worlddb.open(tmp_path / "there", clock=clock, entropy=SeededEntropy(1)) as there,
        worlddb.open(tmp_path / "here", clock=clock, entropy=SeededEntropy(2)) as here,
    ):
        team = there.create("Topic", "Team").ref
        refs = [there.create("Note", f"note {number}", world=team).ref for number in range(4)]
        made = Pair(there, here, team, refs, tmp_path)
        made.brought()
        yield made


def accepted(db: Database, one: str, other: str) -> str:
    proposal: str = db.link(one, "same_as", other).ref
    assert db.accept(proposal)
    return proposal


def rejected(db: Database, one: str, other: str) -> str:
    proposal: str = db.link(one, "same_as", other).ref
    assert db.reject(proposal)
    return proposal


def refused_as(receipt: Receipt, code: str, *told: str) -> None:
    assert refusal(receipt) == code
    assert isinstance(receipt.outcome, Refused)
    for each in told:
        assert each in receipt.outcome.reason, receipt.outcome.reason


def test_an_accepted_pair_that_was_rejected_here_is_refused_and_both_decisions_are_named(pair: Pair) -> None:
    one, two, *_ = pair.refs
    yes, no = accepted(pair.there, two, one), rejected(pair.here, one, two)
    before = pair.here.head()
    refused_as(pair.brought(), "bundle_conflict", one[:12], two[:12], yes[:12], no[:12])
    assert pair.here.head() == before
    assert pair.here.view().equivalence_class(one) == [one]


def test_a_chain_of_both_stores_that_joins_a_rejected_pair_is_refused_with_the_chain(pair: Pair) -> None:
    one, two, three, four = pair.refs
    rejected(pair.here, one, four)
    accepted(pair.here, one, two)
    accepted(pair.there, two, three)
    assert pair.brought(), "nothing is joined that was rejected"
    accepted(pair.there, three, four)
    refused_as(pair.brought(), "joins_rejected_pair", " = ".join(ref[:12] for ref in pair.refs))
    assert pair.here.view().equivalence_class(one) == [one, two, three]


def test_a_rejection_that_arrives_beside_a_chain_is_refused_with_the_chain(pair: Pair) -> None:
    one, two, three, _ = pair.refs
    accepted(pair.here, one, two)
    accepted(pair.here, two, three)
    rejected(pair.there, three, one)
    refused_as(pair.brought(), "joins_rejected_pair", " = ".join(ref[:12] for ref in (one, two, three)))


def test_a_later_word_of_the_same_store_on_a_rejected_pair_comes_in(pair: Pair) -> None:
    one, two, *_ = pair.refs
    rejected(pair.there, one, two)
    assert pair.brought()
    pair.there.revise(one, content="they were one after all")
    accepted(pair.there, one, two)
    assert pair.brought()
    assert pair.here.view().equivalence_class(one) == [one, two]


def test_what_is_only_proposed_about_a_pair_that_was_rejected_here_stays_out(pair: Pair) -> None:
    one, two, three, _ = pair.refs
    no = rejected(pair.here, one, two)
    pair.there.link(one, "same_as", two)
    brought = pair.brought()
    assert [(note.code, note.refs) for note in brought.notes] == [("stays_rejected", (no,))]
    assert not pair.here.proposals()
    accepted(pair.here, one, three)
    assert refusal(pair.here.accept(pair.here.link(three, "same_as", two))) == "joins_rejected_pair"


@pytest.mark.parametrize("order", ["supersedes", "derived_from", "precedes", "subtype_of", "causes"])
def test_two_orders_that_are_a_cycle_together_are_refused_with_every_link(pair: Pair, order: str) -> None:
    one, two, three, _ = pair.refs
    pair.here.link(one, order, two)
    pair.there.link(two, order, three)
    assert pair.brought()
    pair.there.link(three, order, one)
    before = pair.here.head()
    links = f"{one[:12]} {order} {two[:12]} (here)", f"{three[:12]} {order} {one[:12]} (bundle)"
    refused_as(pair.brought(), f"{order}_cycle", *links)
    assert pair.here.head() == before
    assert pair.here.unlink(next(edge.ref for edge in pair.here.view().edges(one) if edge.type == order))
    assert pair.brought()


def test_a_cycle_of_containment_is_refused_with_every_link(pair: Pair) -> None:
    one, two, three, _ = pair.refs
    pair.here.move(two, one)
    pair.here.move(three, two)
    pair.there.move(one, three)
    links = f"{three[:12]} is in {two[:12]}", f"{two[:12]} is in {one[:12]}"
    refused_as(pair.brought(), "containment_cycle", *links)


def test_what_was_superseded_there_ends_here_if_that_is_allowed_even_if_the_bundle_does_not_hold_it(pair: Pair) -> None:
    one, *_ = pair.refs
    newer = pair.there.create("Note", "newer").ref
    pair.there.link(newer, "supersedes", one, valid_from=day(5), home=newer)
    pair.there.export(newer, pair.folder / "newer.bundle")
    assert refusal(pair.here.import_bundle(pair.folder / "newer.bundle")) == "reaches_outside"
    assert pair.here.import_bundle(pair.folder / "newer.bundle", allow_outside=True)
    shown = pair.here.view(valid=day(1)).get(one)
    assert shown is not None and (shown.valid.end, shown.ended) == (day(5), True)
    assert pair.here.import_bundle(pair.folder / "newer.bundle").events == 0
    assert pair.here.verify(deep=True).ok


def test_a_world_that_ended_there_and_was_revised_here_is_a_conflict(pair: Pair) -> None:
    one, *_ = pair.refs
    pair.there.retire(one)
    pair.here.revise(one, content="it goes on")
    refused_as(
        pair.brought(), "bundle_conflict", one[:12], "has ended in the bundle, and there is a newer version here"
    )


def test_an_edge_to_a_newer_version_of_a_world_that_was_erased_here_finds_it_without_its_text(pair: Pair) -> None:
    """The version was left out with its text, and the edge named one that was not there: nothing could be exported."""
    one, two, *_ = pair.refs
    pair.here.erase(one, reason="request 7")
    pair.there.revise(one, name="Secretname", content="Secretword", valid_from=day(2))
    pair.there.alias(one, "Secretalias")
    pair.there.link(two, "refers_to", one)
    pair.there.retire(one, at=day(5), why="Secretreason")
    brought = pair.brought()
    assert [(note.code, note.refs) for note in brought.notes] == [("left_erased", (one,))]
    view = pair.here.view(valid=day(3))
    (edge,) = view.edges(two, type="refers_to")
    history = view.history(one)
    assert [version.erased for version in history] == [True, True]
    assert edge.target_version == history[1].number
    assert [(version.valid.start, version.valid.end) for version in history][1] == (day(2), day(5))
    assert view.hash(pair.team) == pair.there.view().hash(pair.team)
    assert find_traces(pair.here.path, ["Secretname", "Secretword", "Secretalias", "Secretreason"]) == []
    assert pair.here.export(pair.team, pair.folder / "back.bundle").world_hash == view.hash(pair.team)
    assert pair.brought().events == 0
    assert pair.here.verify(deep=True).ok


def test_what_was_superseded_there_ends_in_versions_too_that_only_this_store_has(pair: Pair) -> None:
    one, two, *_ = pair.refs
    pair.here.revise(one, content="newer here", valid_from=day(1))
    pair.there.link(two, "supersedes", one, valid_from=day(5), home=two)
    pair.there.export(two, pair.folder / "two.bundle")
    assert pair.here.import_bundle(pair.folder / "two.bundle", allow_outside=True)
    assert [version.valid.end for version in pair.here.view().history(one)] == [day(1), day(5)]
    assert refusal(pair.here.revise(one, content="again", valid_from=day(6))) == "ended"


class Employs(worlddb.PlainHandler):
    name = "employs"


def conflicts(db: Database, ref: str) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in db.view(valid=day(99)).conflicts(ref)]


@pytest.fixture
def functional(pair: Pair) -> Pair:
    """The same, where each of the worlds has one employer."""
    pair.there.register(Employs(), functional=True, world=pair.team)
    pair.here.register(Employs(), functional=True, world=pair.team)
    return pair


def test_a_second_target_that_arrives_is_recorded_as_a_conflict_with_the_one_that_is_here(functional: Pair) -> None:
    one, two, three, four = functional.refs
    functional.here.link(one, "employs", two)
    functional.there.link(one, "employs", three)
    functional.there.link(four, "employs", three)
    receipt = functional.brought()
    assert {note.code for note in receipt.notes} == {"functional_conflict", "knows_more"}
    assert conflicts(functional.here, two) == conflicts(functional.here, three) == [(three, two)]
    (edge,) = functional.here.view().conflicts(two)
    assert edge.properties == {"functional": "employs"}
    assert functional.brought().events == 0
    assert functional.here.verify(deep=True).ok
    assert functional.here.redecide().differing == ()


def test_a_conflict_with_what_arrived_ends_when_a_bundle_closes_or_retracts_that(functional: Pair) -> None:
    one, two, three, four = functional.refs
    functional.here.link(one, "employs", two)
    arriving = functional.there.link(one, "employs", three).ref
    functional.brought()
    functional.there.unlink(arriving)
    functional.there.link(one, "employs", four)
    receipt = functional.brought()
    assert {"conflict_ended", "functional_conflict"} <= {note.code for note in receipt.notes}
    assert conflicts(functional.here, two) == [(four, two)]
    functional.there.retire(functional.there.view().edges(one, type="employs")[0].ref, at=day(5))
    functional.brought()
    assert conflicts(functional.here, two) == []
    assert functional.here.verify(deep=True).ok


def test_edges_that_arrive_together_were_judged_where_they_come_from(functional: Pair, tmp_path: Path) -> None:
    one, two, three, _ = functional.refs
    functional.there.link(one, "employs", two)
    functional.there.link(one, "employs", three)
    receipt = functional.brought()
    assert receipt.notes == () and conflicts(functional.here, two) == [(three, two)]
    with worlddb.open(tmp_path / "third") as third:
        third.import_bundle(functional.folder / "team.bundle")
        assert conflicts(third, two) == [(three, two)]
        assert third.view().hash(functional.team) == functional.there.view().hash(functional.team)


def test_what_waits_for_a_decision_here_is_not_proposed_a_second_time(pair: Pair) -> None:
    one, two, three, _ = pair.refs
    mine = pair.here.link(one, "same_as", two).ref
    theirs = pair.there.link(two, "same_as", one).ref
    pair.there.link(two, "same_as", three)
    receipt = pair.brought()
    assert [(note.code, note.refs) for note in receipt.notes] == [("waits_here", (mine,))]
    waiting = {frozenset((each.source, each.target)): each.ref for each in pair.here.proposals()}
    assert len(pair.here.proposals()) == 2 and waiting[frozenset((one, two))] == mine
    assert pair.brought().events == 0
    pair.there.reject(theirs)
    pair.brought()
    assert {each.ref: each.status for each in pair.here.proposals(status=None)}[theirs] == "rejected"


def test_what_a_bundle_proposes_anew_after_it_has_decided_what_waits_here_is_taken_in(pair: Pair) -> None:
    one, two, *_ = pair.refs
    first = pair.there.link(one, "same_as", two).ref
    pair.brought()
    pair.there.reject(first)
    pair.there.revise(one, content="something new")
    again = pair.there.link(one, "same_as", two).ref
    assert pair.brought().notes == ()
    assert {each.ref: each.status for each in pair.here.proposals(status=None)} == {first: "rejected", again: "pending"}
