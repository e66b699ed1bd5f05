"""Proposals and contradictions, page by page: each as it is in one list, and none twice."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import worlddb
from worlddb import View
from worlddb.query.reads import build


def contradicting(folder: Path, rng: Random) -> tuple[worlddb.Database, str]:
    """A store with contradictions in a world, out of it, and across its border; some end."""
    db = worlddb.open(folder / "store", create=True, embedder=None)
    home = str(db.create("Topic", "home").ref)
    made = [str(db.create("Claim", f"c{n}", world=home if n % 3 else None, resolve=False).ref) for n in range(14)]
    linked = set[frozenset[str]]()
    while len(linked) < 20:
        one, other = rng.sample(made, 2)
        if frozenset((one, other)) not in linked:
            linked.add(frozenset((one, other)))
            db.link(one, "contradicts", other)
    db.retire(made[5])
    db.expire(made[7], expires_at="2020-01-01")
    return db, home


def every_pair(view: View, world: str | None) -> list[tuple[str, str]]:
    """As a list that remembers what it gave has them."""
    done, found = set[frozenset[str]](), list[tuple[str, str]]()
    for one in view.find(world=world):
        for ref in one.conflicts:
            other = view.get(ref)
            if other is not None and frozenset((one.ref, ref)) not in done:
                done.add(frozenset((one.ref, ref)))
                found.append((one.ref, ref))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_contradictions_go_on_behind_any_pair(tmp_path: Path, seed: int) -> None:
    db, home = contradicting(tmp_path, Random(seed))
    with db:
        for view in (db.view(), db.view(world=home), db.view(seq=db.head().seq - 2)):
            for world in (None, home):
                every = every_pair(view, world)
                found = [(one.ref, other.ref) for one, other in view.contradictions(world=world)]
                assert found == every and every
                for at in range(len(every)):
                    behind = view.contradictions(world=world, after=every[at])
                    assert [(one.ref, other.ref) for one, other in behind] == every[at + 1 :]


def test_proposals_go_on_behind_any_of_them_and_no_page_reads_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with worlddb.open(tmp_path / "store", create=True, embedder=None) as db:
        home = db.create("Topic", "home").ref
        for number in range(20):
            db.create("Person", f"Ana {number % 4}", world=home if number % 2 else None)
        known = db.proposals(status=None)
        assert len(known) > 8
        db.accept(known[2])
        db.reject(known[4])
        before = db.view()
        db.create("Person", "Ana 1")
        for view in (before, db.view(), db.view(world=home)):
            for status in (None, "pending", "accepted"):
                every = view.proposals(status=status)
                assert [each for each in view.proposals(status=None) if status in (None, each.status)] == every
                for at, last in enumerate(every):
                    assert view.proposals(status=status, limit=2, after=last) == every[at + 1 : at + 3]
        looked: list[bytes] = []
        made = build.proposal

        def proposal(snapshot: Any, identifier: bytes, *given: Any) -> worlddb.Proposal:
            looked.append(identifier)
            return made(snapshot, identifier, *given)

        monkeypatch.setattr(build, "proposal", proposal)
        db.view().proposals(limit=1, after=known[6])
        assert len(looked) == 1
        with pytest.raises(worlddb.UnknownReference):
            before.proposals(after=db.proposals()[-1])


def test_contradictions_read_what_is_contradicted_and_no_other_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first page of 20,000 worlds of which none is contradicted read every one of them: for a second."""
    with worlddb.open(tmp_path / "store", create=True, embedder=None) as db:
        home = str(db.create("Topic", "home").ref)
        made = [str(db.create("Claim", f"c{n}", world=home, resolve=False).ref) for n in range(40)]
        db.link(made[30], "contradicts", made[10])
        read = []
        world_of = build.world_of

        def counted(snapshot: Any, node: int, *given: Any, **how: Any) -> Any:
            read.append(node)
            return world_of(snapshot, node, *given, **how)

        monkeypatch.setattr(build, "world_of", counted)
        for view in (db.view(), db.view(world=home)):
            read.clear()
            assert [(one.name, other.name) for one, other in view.contradictions()] == [("c10", "c30")]
            assert len(set(read)) == 2
