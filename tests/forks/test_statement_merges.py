"""Statements of a fork and of its origin go apart, and are merged as a plain model says: sets of times, one by one."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Literal

import pytest

import worlddb
from worlddb import Database

LAST = 8
"""What holds at the last moment holds for ever."""
QUADS = [tuple(f"<urn:x:{name}>" for name in names) for names in ("apb", "apc", "bpa", "bqag")]
Held = dict[int, set[int]]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", embedder=None) as opened:
        yield opened


def _held(db: Database, world: str) -> Held:
    """The moments at which each statement holds."""
    found: Held = {number: set() for number in range(len(QUADS))}
    lines = [" ".join((*quad, ".")) for quad in QUADS]
    for moment in range(LAST + 1):
        for each in db.view(valid=moment).statements(world):
            found[lines.index(str(each))].add(moment)
    return found


def _change(db: Database, random: Random, world: str, held: Held) -> None:
    """State something in a window, or take it back from a moment on."""
    number, begins = random.randrange(len(QUADS)), random.randrange(LAST)
    if random.random() < 0.6:
        ends = random.randrange(begins + 1, LAST + 2)
        db.state(world, [QUADS[number]], valid_from=begins, valid_to=None if ends > LAST else ends)
        held[number] |= set(range(begins, ends))
    else:
        db.unstate(world, [QUADS[number]], at=begins or None)
        held[number] -= set(range(begins, LAST + 1))


def _go_apart(db: Database, random: Random, merges: int) -> None:
    world = db.create("Topic", "world").ref
    ours: Held = {number: set() for number in range(len(QUADS))}
    for _ in range(3):
        _change(db, random, world, ours)
    fork = db.fork(world).ref
    base, theirs = ({number: set(held) for number, held in ours.items()} for _ in range(2))
    assert _held(db, fork) == theirs
    for _ in range(merges):
        for _ in range(random.randrange(5)):
            here = random.random() < 0.5
            _change(db, random, world if here else fork, ours if here else theirs)
        asked = {each for each in base if theirs[each] != base[each] != ours[each] != theirs[each]}
        found = db.merge(fork, plan=True)
        lines = [" ".join((*QUADS[each], ".")) for each in sorted(asked)]
        assert sorted(each.where for each in found.conflicts) == sorted(lines)
        choice: Literal["ours", "theirs"] = "ours" if random.random() < 0.5 else "theirs"
        db.merge(fork, on_conflict=choice)
        for each in base:
            if theirs[each] != base[each] and (each not in asked or choice == "theirs"):
                ours[each] = set(theirs[each])
        base = {number: set(held) for number, held in theirs.items()}
        assert _held(db, world) == ours
        assert _held(db, fork) == theirs
        again = db.merge(fork)
        assert (again.changes, again.conflicts) == ((), ())
    assert db.verify(deep=True).ok


@pytest.mark.parametrize("turn", range(6))
def test_random_pairs_of_statements_come_out_as_in_a_plain_model(db: Database, seed: int, turn: int) -> None:
    _go_apart(db, Random(f"{seed} {turn}"), merges=5)


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(500))
def test_ten_thousand_pairs_of_statements_come_out_as_in_a_plain_model(db: Database, seed: int, turn: int) -> None:
    _go_apart(db, Random(f"{seed} {turn}"), merges=20)


def test_a_fork_with_statements_is_carried_over_where_an_earlier_commit_is_left_out(
    db: Database, tmp_path: Path
) -> None:
    """The fork has the statements from its first commit on. A store without another commit said that it was damaged."""
    world = db.create("Topic", "world").ref
    left_out = db.create("Topic", "left out")
    db.state(world, [QUADS[0], ("<urn:a>", "<urn:p>", '"gone"')])
    db.erase_literal(world, '"gone"', reason="request 7")
    fork = db.fork(world).ref
    db.export(fork, tmp_path / "fork.bundle")
    with worlddb.open(tmp_path / "other", embedder=None) as other:
        other.create("Topic", "another")
        left_out_there = other.create("Topic", "left out")
        other.import_bundle(tmp_path / "fork.bundle")
        for store, seq in ((db, left_out.seq), (other, left_out_there.seq)):
            told = [str(each) for each in store.view().statements(fork)]
            assert len(told) == 1
            store.replay(tmp_path / f"without {store.path.name}", without=[seq])
            with worlddb.open(tmp_path / f"without {store.path.name}", embedder=None) as then:
                assert [str(each) for each in then.view().statements(fork)] == told
                assert then.view().find(name="left out") == []
                assert then.verify(deep=True).ok
