"""Compares two moments as the tries of two replayed stores compare (law 9)."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from worlddb import ManualClock, SeededEntropy

WORLDS, STEPS = 8, 24


def lived(folder: Path, seed: int, steps: int = STEPS) -> None:
    """A store with a life of its own: whatever the handlers let a random caller do."""
    draw = random.Random(seed)
    with worlddb.open(folder, author="ann", clock=ManualClock(), entropy=SeededEntropy(seed)) as db:
        go_on(db, draw, steps)


def go_on(db: worlddb.Database, draw: random.Random, steps: int) -> None:
    refs = [world.ref for world in db.view().find(type="T", include_superseded=True)]
    edges = [edge.ref for ref in refs for edge in db.view().edges(ref, include_superseded=True)]
    for _ in range(steps):
        if len(refs) < 3 or draw.random() < 0.3:
            world = draw.choice([None, *refs])
            name = f"w{draw.randrange(WORLDS)}"
            receipt = db.create("T", name, content=f"{draw.random():.3f}", world=world)
            refs.append(receipt.ref)
            continue
        one, other = draw.choice(refs), draw.choice(refs)
        steps_to_take: list[Callable[[], Any]] = [
            partial(db.revise, one, content=f"{draw.random():.3f}", why="better"),
            partial(db.retire, one, at=draw.choice(["2023-01-01", "2040-01-01"])),
            partial(db.link, one, "refers_to", other, why="see there"),
            partial(db.link, one, "contains", other),
            partial(db.link, one, "supersedes", other),
            partial(db.link, one, "same_as", other),
            partial(db.alias, one, f"alias {draw.randrange(99)}"),
            partial(db.move, one, other),
            partial(db.unlink, draw.choice(edges or [one])),
            partial(decided, db, draw),
        ]
        does = draw.choice(steps_to_take)
        try:
            made = does()
        except worlddb.InputError:
            continue
        if made and getattr(made, "refs", ()) and len(made.refs[0]) == 64:
            edges.extend(made.refs)


def decided(db: worlddb.Database, draw: random.Random) -> Any:
    waiting = db.proposals()
    if not waiting:
        return None
    return draw.choice([db.accept, db.reject])(draw.choice(waiting).ref)


def essence(found: worlddb.Difference) -> list[object]:
    """A difference without the order that no hash covers and without the amount read."""
    changes = [
        (change.ref, change.path if change.change != "moved" else "", change.change, sorted(map(repr, change.changes)),
         change.a, change.b, sorted(map(repr, change.events)))
        for change in found.worlds
    ]  # fmt: skip
    return [found.equal, found.relation, found.parted, found.root_a, found.root_b, sorted(changes)]


@examples(4, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_two_moments_of_a_store_differ_as_the_stores_that_are_replayed_to_them(
    seed: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("moments")
    lived(folder / "now", seed)
    with worlddb.open(folder / "now") as db:
        head = db.head().seq
        seqs = [data.draw(st.integers(1, head), label=side) for side in "ab"]
        for side, seq in zip("ab", seqs, strict=True):
            db.replay(folder / side, seq=seq)
    columns = worlddb.diff(folder / "now", seq_a=seqs[0], seq_b=seqs[1], deep=False)
    tries = worlddb.diff(folder / "a", folder / "b", deep=False)
    assert essence(columns) == essence(tries)
    assert columns.worlds_visited == tries.worlds_visited


@examples(4, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_stores_that_grew_apart_are_relatives_and_each_lists_what_the_other_lacks(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("relatives")
    lived(folder / "a", seed)
    shutil.copytree(folder / "a", folder / "b")
    for side in "ab":
        with worlddb.open(folder / side, author=side) as db:
            parted = db.head().seq
            go_on(db, random.Random(f"{seed}{side}"), 6)
            assert db.create("T", f"only in {side}")
    found = worlddb.diff(folder / "a", folder / "b")
    assert (found.relation, found.related, found.equal) == ("relatives", True, False)
    assert found.parted == parted
    with worlddb.open(folder / "a") as db:
        assert found.parted_at == db.view(seq=parted).ingested
    only = {change.path.rpartition("/")[2]: change.change for change in found.worlds if "only" in change.path}
    assert only == {"only in a": "removed", "only in b": "added"}
    for change in found.worlds:
        assert {event["side"] for event in change.events} <= {"a", "b"}
        assert all(event["seq"] > parted for event in change.events)
    mirrored = worlddb.diff(folder / "b", folder / "a")
    swap = {"added": "removed", "removed": "added"}
    assert {(c.ref, swap.get(c.change, c.change), c.a, c.b) for c in mirrored.worlds} == {
        (c.ref, c.change, c.b, c.a) for c in found.worlds
    }


def test_the_cost_of_a_comparison_with_the_past_is_that_of_the_changes(tmp_path: Path) -> None:
    visited = []
    for size in (20, 600):
        with worlddb.open(tmp_path / str(size)) as db:
            with db.batch() as tx:
                shelf = tx.create("Topic", "Shelf")
                books = [tx.create("Book", f"Book {n}", world=shelf, resolve=False) for n in range(size)]
            before = tx.receipt.seq
            db.revise(tx.receipt.refs[1], content="read")
            assert len(books) == size
        found = worlddb.diff(tmp_path / str(size), seq_a=before)
        assert [change.change for change in found.worlds] == ["members", "members", "revised"]
        visited.append(found.worlds_visited)
    assert visited == [3, 3]


def test_every_step_of_a_life_is_a_difference_that_names_its_commit(tmp_path: Path) -> None:
    lived(tmp_path / "store", 11)
    with worlddb.open(tmp_path / "store") as db:
        seqs = sorted({entry.seq for entry in db.log()})
    for before, after in pairwise(seqs):
        found = worlddb.diff(tmp_path / "store", seq_a=before, seq_b=after)
        events = {event["seq"] for change in found.worlds for event in change.events}
        assert events == {after} or not found.worlds
        assert found.relation == "behind"


def test_nothing_can_be_compared_with_a_time_before_the_first_commit(tmp_path: Path) -> None:
    lived(tmp_path / "store", 1, 3)
    with pytest.raises(worlddb.InputError, match="Nothing had been committed"):
        worlddb.diff(tmp_path / "store", at_a="1990-01-01")
    with pytest.raises(worlddb.InputError, match="one of: key, path"):
        worlddb.diff(tmp_path / "store", seq_a=1, by="colour")


def test_vectors_that_only_one_moment_has_are_told_as_such(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        note = db.create("Note", "n", content="a red boat").ref
        db.embed()
    found = worlddb.diff(tmp_path / "store", tmp_path / "store", seq_a=2)
    assert {(change.ref, change.change) for change in found.worlds if change.ref == note} == {(note, "vectors")}
    assert {detail.kind for change in found.worlds for detail in change.changes} == {"vectors"}
