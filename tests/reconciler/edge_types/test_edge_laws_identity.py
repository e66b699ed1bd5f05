"""Tests the laws of identity, and of edges moved, closed and written again under a key."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import DAY, day, new_store, refusal, state_of, worlds
from worlddb import FOREVER, Refused, RefusedError, Staged, UnknownReference, Valid

few = examples(6)


# -- same_as


def test_a_same_as_is_staged_and_writes_no_edge_until_it_is_accepted() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        before = state_of(db, one, other)
        receipt = db.link(one, "same_as", other)
        assert isinstance(receipt.outcome, Staged) and receipt.proposals == receipt.requested
        assert db.view().edges(one, type="same_as", include_superseded=True) == []
        assert db.view().equivalence_class(one) == [one]
        with pytest.raises(UnknownReference):
            db.view().edge(receipt.ref)
        assert db.accept(receipt)
        assert db.view().equivalence_class(one) == db.view().equivalence_class(other) == [one, other]
        assert db.view().edge(receipt.ref).type == "same_as"
        assert db.view(seq=receipt.seq).equivalence_class(one) == [one]
        assert state_of(db, one, other) == before


@few
@given(
    steps=st.lists(
        st.sampled_from(["propose", "propose back", "accept", "reject", "undo", "revise one", "revise other"]),
        max_size=12,
    )
)
def test_a_pair_has_one_open_proposal_and_a_rejection_holds_until_something_is_new(steps: list[str]) -> None:
    with new_store() as db:
        pair = worlds(db, 2)
        status, proposal, new_version = "", "", False
        for step in steps:
            if step.startswith("propose"):
                source, target = pair if step == "propose" else pair[::-1]
                receipt = db.link(source, "same_as", target)
                expected = {"pending": "already_proposed", "accepted": "already_same"}.get(status)
                if status == "rejected" and not new_version:
                    expected = "rejected_before"
                if expected:
                    assert refusal(receipt) == expected
                else:
                    status, proposal, new_version = "pending", receipt.ref, False
            elif step.startswith("revise"):
                assert db.revise(pair[step.endswith("other")], content=step)
                new_version = True
            elif proposal:
                receipt = getattr(db, step)(proposal)
                if (step == "undo") == (status == "accepted") and status in ("pending", "accepted"):
                    status = {"accept": "accepted", "reject": "rejected", "undo": "undone"}[step]
                else:
                    assert refusal(receipt) == "already_decided"
            open_ones = [found for found in db.proposals(status=None) if found.status in ("pending", "accepted")]
            assert len(open_ones) <= 1
            assert (len(db.view().equivalence_class(pair[0])) == 2) == (status == "accepted")


def test_an_undo_leaves_both_ends_as_they_were_and_earlier_views_as_they_are() -> None:
    with new_store() as db:
        one, other, third = worlds(db, 3)
        before = state_of(db, one, other)
        proposal = db.link(one, "same_as", other).ref
        db.accept(db.link(other, "same_as", third))
        accepted = db.accept(proposal).seq
        assert refusal(db.unlink(proposal)) == "is_a_proposal"
        assert db.undo(proposal)
        assert state_of(db, one, other) == before
        assert db.view().equivalence_class(one) == [one]
        assert db.view().equivalence_class(third) == [other, third]
        then = db.view(seq=accepted)
        assert then.equivalence_class(one) == [one, other, third]
        known = {found.ref: (found.status, found.decided) for found in then.proposals(status="accepted")}
        assert known[proposal] == ("accepted", accepted)


def test_the_root_world_is_the_same_as_nothing() -> None:
    with new_store() as db:
        (thing,) = worlds(db, 1)
        root = db.view().containers(thing)[0]
        assert refusal(db.link(thing, "same_as", root)) == "root_is_unique"
        assert refusal(db.link(root, "same_as", thing)) == "root_is_unique"


# -- identity of edges, moves, keys


def test_the_same_triple_linked_twice_is_two_edges_unless_a_key_is_given() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        assert db.link(one, "implies", other).ref != db.link(one, "implies", other).ref
        first = db.link(one, "implies", other, key="import/1")
        again = db.link(one, "implies", other, key="import/1")
        assert (again.ref, again.events) == (first.ref, 0)
        assert len(db.view().edges(one, type="implies")) == 3


def test_another_edge_under_a_key_that_is_taken_is_refused_and_the_same_again_changes_nothing() -> None:
    """It was dropped without a word before, and the receipt was that of a write."""
    with new_store() as db:
        one, other, third = worlds(db, 3)
        stated: dict[str, Any] = {"key": "k", "properties": {"n": 1}, "valid_from": day(1), "valid_to": day(9)}
        first = db.link(one, "refers_to", other, **stated)
        again = db.link(one, "refers_to", other, **stated, home=db.view().edge(first).home)
        assert (again.ref, again.events, again.notes) == (first.ref, 0, ())
        assert db.link(one, "refers_to", other, key="k").ref == first.ref
        others: tuple[tuple[tuple[str, str, str], dict[str, Any], str], ...] = (
            ((one, "contradicts", other), {}, "type"),
            ((third, "refers_to", other), {}, "source"),
            ((one, "refers_to", third), {}, "target"),
            ((one, "refers_to", other), {"home": third}, "home"),
            ((one, "refers_to", other), {"valid_from": day(2)}, "valid_from"),
            ((one, "refers_to", other), {"valid_to": day(8)}, "valid_to"),
            ((one, "refers_to", other), {"properties": {"n": 1.0}}, "properties"),
        )
        for edge, more, what in others:
            refused = db.link(*edge, key="k", **more)
            assert refusal(refused) == "key_taken"
            assert isinstance(refused.outcome, Refused) and "unlink" in refused.outcome.remedy
            assert first.ref[:12] in refused.outcome.reason and what in refused.outcome.reason
        with pytest.raises(RefusedError, match="type, source"), db.batch() as tx:
            tx.create("Note", "goes with it")
            tx.link(third, "supersedes", other, key="k")
        assert not db.view().find(name="goes with it")
        db.retire(first, at=day(5))
        assert db.link(one, "refers_to", other, **stated).events == 0
        db.unlink(first)
        assert db.link(one, "refers_to", third, key="k").events == 1


def test_an_edge_written_again_under_its_key_is_another_edge_and_earlier_views_keep_the_first() -> None:
    """The same key, ends and validity once gave the retracted edge's own id, and earlier views lost it."""
    with new_store() as db:
        one, other = worlds(db, 2)
        refs = []
        for _ in range(3):
            refs.append(db.link(one, "implies", other, key="import/1", valid_from=day(1)).ref)
            then = db.view()
            assert db.unlink(refs[-1])
            assert then.edge(refs[-1]).ref == refs[-1]
        assert len(set(refs)) == 3
        last = db.link(one, "implies", other, key="import/1").ref
        assert db.link(one, "implies", other, key="import/1").ref == last


def test_a_move_carries_an_edge_with_what_it_says_and_against_which_versions_and_under_its_key() -> None:
    with new_store() as db:
        old, new = worlds(db, 2)
        one, other = (db.create("Thing", name, world=old, valid_from=day(0)).ref for name in ("one", "other"))
        edge = db.link(one, "causes", other, key="k", properties={"page": 7}, why="said so", valid_to=day(9)).ref
        db.revise(one, content="a second version")
        receipt = db.move([one, other], new)
        assert {note.code: note.refs for note in receipt.notes} == {"edges_carried": (edge,)}
        (carried,) = db.view().edges(one, type="causes")
        assert carried.ref != edge
        assert (carried.home, carried.properties, carried.why) == (new, {"page": 7}, "said so")
        assert (carried.source_version, carried.target_version, carried.valid.end) == (1, 1, day(9))
        assert db.link(one, "causes", other, key="k").ref == carried.ref
        assert db.view(seq=receipt.seq - 1).edge(edge).home == old


def test_a_move_in_the_batch_that_wrote_an_edge_keeps_what_the_edge_says() -> None:
    """Details of the same commit were looked for in the log, where they are not yet, and were lost."""
    with new_store() as db:
        old, new = worlds(db, 2)
        one, other = (db.create("Thing", name, world=old, valid_from=day(0)).ref for name in ("one", "other"))
        with db.batch() as tx:
            tx.link(one, "causes", other, properties={"page": 7}, why="said so")
            tx.move([one, other], new)
        (carried,) = db.view().edges(one, type="causes")
        assert (carried.home, carried.properties, carried.why) == (new, {"page": 7}, "said so")


def test_a_move_leaves_edges_behind_whose_other_end_stays_and_lists_them() -> None:
    with new_store() as db:
        old, new = worlds(db, 2)
        one, other = (db.create("Thing", name, world=old, valid_from=day(0)).ref for name in ("one", "other"))
        edge = db.link(one, "causes", other).ref
        receipt = db.move(one, new)
        assert {note.code: note.refs for note in receipt.notes} == {"edges_left_behind": (edge,)}
        assert db.view().edge(edge).home == old
        assert db.view().containers(one) == [new]


@few
@given(ends=st.lists(st.integers(-6, 8), min_size=1, max_size=6))
def test_the_end_of_an_edge_only_moves_earlier_and_never_before_its_beginning(ends: list[int]) -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        edge = db.link(one, "causes", other, valid_from=day(0)).ref
        end = FOREVER
        for at in ends:
            assert db.retire(edge, at=day(at))
            end = max(day(0), min(end, day(at)))
            assert db.view().edge(edge).valid == Valid(day(0), end)
        assert db.unlink(edge)
        assert refusal(db.retire(edge, at=day(0))) == "already_unlinked"
        assert refusal(db.unlink(edge)) == "already_unlinked"


def test_a_chain_of_revisions_leaves_no_gap_and_no_overlap() -> None:
    with new_store() as db:
        (thing,) = worlds(db, 1)
        for number in (4, 9, 6, 2, -1):
            assert db.revise(thing, content=f"from {number}", valid_from=day(number))
        begins = [0, 4, 9, 6, 2, -1]
        ends = {start: end for start, end in pairwise(sorted(begins))}
        assert [version.valid for version in db.view().history(thing)] == [
            Valid(day(start), day(ends[start]) if start in ends else FOREVER) for start in begins
        ]
        for moment in range(-1, 12):
            found = db.view(valid=day(moment) + DAY // 2).get(thing)
            last = max(start for start in begins if start <= moment)
            assert found is not None and found.number == 1 + begins.index(last)


def test_a_retry_with_an_empty_text_given_on_purpose_is_the_same_command() -> None:
    """A reassertion with empty content was once recorded as one without any, and its retry was taken for another."""
    with new_store() as db:
        one, other = worlds(db, 2)
        db.retire(other)
        for number, write in enumerate(
            (
                lambda key: db.revise(one, content="", name="", idempotency_key=key),
                lambda key: db.reassert(other, content="", idempotency_key=key),
                lambda key: db.reassert(other, idempotency_key=key),
                lambda key: db.create("Thing", "", content="", why="", resolve=False, idempotency_key=key),
                lambda key: db.create("Thing", "", key="k", source={}, aliases=(), idempotency_key=key),
                lambda key: db.link(one, "implies", other, properties={}, why="", idempotency_key=key),
                lambda key: db.link(one, "implies", other, properties={"of": (1, 2.5, None)}, idempotency_key=key),
            )
        ):
            assert write(f"{number}") == write(f"{number}")
