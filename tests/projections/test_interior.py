"""Finds what lies in a world by its home and by pairs, as a scan of every row does."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from tests.support.model.stores import day, new_store, worlds
from worlddb import DamagedStore, Database, RefusedError, UnknownReference, View
from worlddb.log.model import events as ev
from worlddb.log.model import ids
from worlddb.log.model.times import FOREVER
from worlddb.projections.tables.storage.rows import Tables, latest_proposal, latest_proposals_among
from worlddb.projections.tables.storage.schema import (
    CONTAINS_CODE,
    EDGE,
    EDGE_KEY,
    ELSEWHERE,
    LIVE,
    ROOT_NODE,
    EdgePlace,
    EdgeRow,
)

STEPS = 120


def write_history(db: Database, source: random.Random) -> None:
    """A history of edges that come, go and move, and of pairs proposed, decided and undone."""
    refs = worlds(db, 6)
    edges: list[str] = []
    for step in range(STEPS):
        one, other = source.sample(refs, 2)
        chance = source.random()
        if chance < 0.3:
            edges.append(db.link(one, source.choice(["refers_to", "implies"]), other).ref)
        elif chance < 0.45 and edges:
            db.unlink(edges.pop(source.randrange(len(edges))))
        elif chance < 0.6:
            inside = db.view().containers(one)
            if inside != [other]:
                db.move(one, other, out_of=inside[0])
        elif chance < 0.7:
            refs.append(db.create("Thing", f"made {step}", world=one, resolve=False).ref)
        elif chance < 0.85:
            db.link(one, "same_as", other)
        elif waiting := db.proposals():
            decided = source.choice(waiting).ref
            source.choice([db.accept, db.reject])(decided)
            if source.random() < 0.5 and db.view().proposal(decided).status == "accepted":
                db.undo(decided)


@pytest.mark.parametrize("number", range(3))
def test_edges_by_their_home_and_proposals_by_their_sides_are_those_of_the_whole_store(number: int, seed: int) -> None:
    source = random.Random(f"{seed} {number}")
    with new_store() as db:
        write_history(db, source)
        with db._env.read() as txn:
            tables = Tables(txn)
            every = [
                (EdgePlace._make(EDGE_KEY.unpack(key)), EdgeRow._make(EDGE.unpack(value)))
                for key, value in tables.out.scan(b"")
            ]
            assert len(list(tables.retracted.scan(b""))) > 3
            count = tables.progress().next_node
            for home in range(count):
                assert sorted(tables.edges_at_home(home)) == sorted(each for each in every if each[1].home == home)
            proposals = dict(tables.all_proposals())
            assert len(proposals) > 5
            order = [found.proposal for found in sorted(tables.staged())]
            assert order == [ref for ref in staged_in_log(db) if ref in proposals] and len(order) == len(proposals)
            for some in ([], [0], *(sorted(source.sample(range(count), count // 2)) for _ in range(20)), range(count)):
                inside = {ref for ref, row in proposals.items() if row.source in some and row.target in some}
                assert {found.proposal for found in tables.staged(some)} == inside
                latest = {proposed_pair(tables, ref): ref for ref in order if ref in inside}
                assert {(one, other): ref for one, other, ref in latest_proposals_among(tables, some)} == latest
                assert all(latest_proposal(tables, *pair[::-1]) == ref for pair, ref in latest.items())


def proposed_pair(tables: Tables, proposal: bytes) -> tuple[int, int]:
    """The pair that a proposal is about, the lower node first."""
    row = tables.proposal(proposal)
    assert row is not None
    return min(row.source, row.target), max(row.source, row.target)


def staged_in_log(db: Database) -> list[bytes]:
    return [bytes.fromhex(entry.refs[0]) for entry in db.log() if entry.event == ev.Proposed.__struct_config__.tag]


@pytest.mark.parametrize("change", ["edges", "out", "home"])
def test_an_interior_that_names_what_the_tables_do_not_have_is_damage(change: str) -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        edge = bytes.fromhex(str(db.link(one, "refers_to", other).ref))
        # The rows are changed in a transaction that writes nothing.
        with db._env.read() as txn:
            tables = Tables(txn)
            place = tables.place_of(edge)
            assert place is not None
            if change == "edges":
                tables.edges.put(edge, None)
            elif change == "out":
                tables.out.put(EDGE_KEY.pack(*place), None)
            else:
                tables.put_edge(place, tables.edge(place)._replace(home=place.source))
            with pytest.raises(DamagedStore):
                list(tables.edges_at_home(ROOT_NODE))


def test_a_container_of_several_stays_is_named_once_where_the_first_that_is_left_stands() -> None:
    with new_store() as db:
        club, other, guest = worlds(db, 3)
        stay = db.link(club, "contains", guest, valid_from=day(1), valid_to=day(2)).ref
        assert db.link(other, "contains", guest)
        with db.batch() as batch:
            batch.link(club, "contains", guest, valid_from=day(3))
        with db._env.read() as txn:
            tables = Tables(txn)
            club_, other_, guest_ = (
                tables.node_of(ids.Lineage(bytes.fromhex(each))) or 0 for each in (club, other, guest)
            )
            assert tables.containers(guest_) == [ROOT_NODE, club_, other_]
            assert tables.live_targets(club_, CONTAINS_CODE) == [guest_]
        assert db.unlink(stay)
        with db._env.read() as txn:
            assert Tables(txn).containers(guest_) == [ROOT_NODE, other_, club_]


def write_memberships(db: Database, source: random.Random) -> list[str]:
    """Worlds that lie in one another, some of them once and for good; they are moved, removed and retired."""
    refs = [db.create("Thing", "first", valid_from=day(0)).ref]
    edges: list[str] = []
    for step in range(60):
        one, other = source.choice(refs), source.choice(refs)
        chance = source.random()
        if chance < 0.5:
            with suppress(RefusedError), db.batch() as tx:
                made = tx.create("Thing", f"made {step}", world=one, valid_from=day(source.randrange(9)), resolve=False)
                if source.random() < 0.3:
                    tx.link(other, "contains", made, valid_from=day(3))
                if source.random() < 0.2:
                    tx.move(made, other, out_of=one)
            if tx.receipt:
                refs.append(tx.receipt.refs[0])
        elif chance < 0.58:
            until = source.choice([None, day(9)])
            receipt = db.link(one, "contains", other, valid_from=day(4), valid_to=until)
            edges += receipt.refs if receipt else ()
        elif chance < 0.63 and edges:
            db.unlink(edges.pop(source.randrange(len(edges))))
        elif chance < 0.7:
            inside = db.view().containers(one)
            if inside:
                db.move(one, other, out_of=inside[0])
        elif chance < 0.75:
            db.retire(one, valid_from=day(source.randrange(5, 9)))
        elif chance < 0.9:
            inside = [edge.ref for edge in db.view().edges(one, direction="in", type="contains")]
            for edge in inside[:1]:
                db.retire(edge, valid_from=day(6), valid_to=source.choice([None, day(8)]))
        else:
            db.revise(one, content=f"said {step}", valid_from=day(source.randrange(9)))
    return refs


def seen_in(db: Database, refs: list[str]) -> list[object]:
    """What views of several moments, and from inside a world, show of some worlds."""
    head = db.head().seq
    views: list[View] = [db.view(), db.view(seq=head // 2), db.view(valid=day(5)), db.view(seq=head // 3, valid=day(7))]
    views += [db.view().confined(refs[0])]
    found: list[object] = []
    for view in views:
        for ref in refs:
            try:
                found += [view.get(ref, include_superseded=True), view.containers(ref)]
            except UnknownReference as error:
                found.append(str(error))
    return found


@pytest.mark.parametrize("number", range(3))
def test_the_row_of_a_world_says_where_it_lies_if_a_single_edge_put_it_there_for_good(number: int, seed: int) -> None:
    source = random.Random(f"{seed} {number}")
    with new_store() as db:
        refs = write_memberships(db, source)
        with db._env.read() as txn:
            tables, said = Tables(txn), 0
            for node in range(1, tables.progress().next_node):
                row, edges = tables.node(node), list(tables.placed(node))
                place, only = edges[0]
                is_for_good = (only.seq, only.unlinked, only.closed, only.valid_to) == (row.created, LIVE, 0, FOREVER)
                is_said = len(edges) == 1 and is_for_good and place.source < node
                expected = (place.source, only.valid_from) if is_said else ELSEWHERE
                assert row[-2:] == expected, node
                said += expected != ELSEWHERE
            assert 3 < said < node
        assert db.verify(deep=True).ok
        # Rows of earlier releases say nothing of it: views show the same, and it is no damage.
        before = seen_in(db, refs)

        def forget(txn: Any) -> None:
            rows = Tables(txn).nodes
            for key, value in list(rows.scan(b"")):
                rows.put(key, value[:80])
            rows.flush()

        db._env.write(forget)
        assert seen_in(db, refs) == before
        assert db.verify(deep=True).ok
        with db._env.read() as txn:
            assert {len(value) for _, value in Tables(txn).nodes.scan(b"")} == {80}


def test_a_row_that_names_no_earlier_container_is_not_followed_and_is_damage() -> None:
    with new_store() as db:
        outer = db.create("Thing", "outer").ref
        inner = db.create("Thing", "inner", world=outer).ref
        with db._env.read() as txn:
            container, node = (Tables(txn).node_of(bytes.fromhex(ref)) or 0 for ref in (outer, inner))

        def put(txn: Any, named: int) -> None:
            tables = Tables(txn)
            tables.put_node(node, tables.node(node)._replace(container=named))
            tables.flush()

        db._env.write(lambda txn: put(txn, node))
        assert db.view().containers(inner) == [outer]
        assert (seen := db.view().get(inner)) is not None and not seen.in_ended
        assert [found.problem[:9] for found in db.verify(deep=True).findings] == ["the table"]
        db._env.write(lambda txn: put(txn, container))
