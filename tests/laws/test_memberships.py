"""A membership may end and come back: several spans of one world in another, the same wherever one looks."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import worlddb
from tests.support.model.stores import day, new_store, refusal
from worlddb import FOREVER, Database, ManualClock, SeededEntropy, Valid, View

DAYS: Final = 12

Span = tuple[int, int]


class Edge(NamedTuple):
    """A membership that somebody stated, and the days at which it still holds."""

    pair: tuple[int, int]
    days: frozenset[int]


def days_of(start: int, end: int | None) -> frozenset[int]:
    return frozenset(range(start, DAYS if end is None else end))


class Club:
    """Worlds that others join and leave, beside a plain model: the days of each edge."""

    def __init__(self, db: Database, seed: int) -> None:
        self._db, self._random = db, random.Random(seed)
        given = {"valid_from": day(0), "resolve": False}
        self.clubs = [db.create("Club", f"club {number}", **given).ref for number in range(2)]
        self.people = [db.create("Note", f"note {n}", content=f"says word{n}", **given).ref for n in range(3)]
        self.edges: dict[str, Edge] = {}
        self.known: list[tuple[int, dict[str, Edge]]] = []

    def step(self) -> None:
        choice = self._random.random()
        start = self._random.randrange(DAYS)
        end = None if self._random.random() < 0.1 else min(DAYS - 1, start + self._random.randrange(1, 5))
        end = end if end != start else None
        until = None if end is None else day(end)
        if choice < 0.6 or not self.edges:
            pair = self._random.randrange(2), self._random.randrange(3)
            receipt = self._db.link(
                self.clubs[pair[0]], "contains", self.people[pair[1]], valid_from=day(start), valid_to=until
            )
            held = self.held(self.edges, pair)
            if held & days_of(start, end):
                assert refusal(receipt) == "already_member"
                return
            self.edges[receipt.ref] = Edge(pair, days_of(start, end))
        elif choice < 0.85:
            ref = self._random.choice(sorted(self.edges))
            before = self.edges[ref]
            receipt = self._db.retire(ref, valid_from=day(start), valid_to=until)
            self.edges[ref] = before._replace(days=before.days - days_of(start, end))
            assert bool(receipt.lost) == bool(receipt.events) == (self.edges[ref] != before)
            assert all((loss.ref, loss.version) == (ref, None) for loss in receipt.lost)
        else:
            ref = self._random.choice(sorted(self.edges))
            receipt = self._db.unlink(ref)
            del self.edges[ref]
        if receipt.events:
            self.known.append((receipt.seq, dict(self.edges)))

    @staticmethod
    def held(edges: dict[str, Edge], pair: tuple[int, int]) -> frozenset[int]:
        return frozenset().union(*(edge.days for edge in edges.values() if edge.pair == pair))

    def check(self, db: Database, *, every: int = 1) -> None:
        """Ask at every day, as of commits: from above, from below, and from inside."""
        for seq, edges in self.known[::-every]:
            for number in range(DAYS):
                self._check_at(db.view(seq=seq, valid=day(number)), edges, number)
            for club, world in enumerate(self.clubs):
                met = [person for person in range(3) if self.held(edges, (club, person)) & {3, 4, 5}]
                spans = db.view(seq=seq).children(world, overlaps=Valid(day(3), day(6)))
                assert sorted(each.ref for each in spans) == sorted(self.people[each] for each in met)
                ever = [each.ref for each in db.view(seq=seq).children(world, include_superseded=True)]
                assert sorted(ever) == sorted({self.people[edge.pair[1]] for edge in edges.values() if edge.pair[0] == club})

    def _check_at(self, view: View, edges: dict[str, Edge], number: int) -> None:
        for club, world in enumerate(self.clubs):
            inside = [self.people[n] for n in range(3) if number in self.held(edges, (club, n))]
            assert sorted(each.ref for each in view.children(world)) == sorted(inside)
            confined = view.confined(world)
            assert sorted(each.ref for each in confined.find(type="Note")) == sorted(inside)
        for person in sorted({edge.pair[1] for edge in edges.values()}):
            ref = self.people[person]
            around = [self.clubs[n] for n in range(2) if number in self.held(edges, (n, person))]
            assert sorted(set(view.containers(ref)) & set(self.clubs)) == sorted(around)

    def check_recall(self, db: Database) -> None:
        for club, world in enumerate(self.clubs):
            for number in range(DAYS):
                found = db.view(valid=day(number), world=world).recall("who says word0 word1 word2", k=9)
                inside = {self.people[n] for n in range(3) if number in self.held(self.edges, (club, n))}
                assert {hit.ref for hit in found if hit.type == "Note"} == inside


def run(seed: int, folder: Path, steps: int = 18) -> int:
    """Let memberships come and go, and ask of them in the store, in a replay, and in a store made anew."""
    with worlddb.open(folder / "store", clock=ManualClock(), entropy=SeededEntropy(seed), author="tester") as db:
        club = Club(db, seed)
        for _ in range(steps):
            club.step()
        club.check(db, every=3)
        club.check_recall(db)
        root = db.head().root
        assert db.redecide().differing == ()
        assert db.rebuild("tables").root == root
        club.check(db, every=7)
        club.check_recall(db)
        assert db.verify(deep=True).ok
        second = sum(max(Counter(edge.pair for edge in edges.values()).values(), default=0) > 1 for _, edges in club.known)
        replayed = db.replay(folder / "replayed")
        assert replayed.root == root
        frozen = [db.export(world, folder / f"{number}.bundle") for number, world in enumerate(club.clubs)]
    with worlddb.open(folder / "replayed", clock=ManualClock(), author="tester") as again:
        club.check(again, every=9)
    with worlddb.open(folder / "other", clock=ManualClock(), author="other") as other:
        for number in range(len(frozen)):
            other.import_bundle(folder / f"{number}.bundle")
        club.known = [(other.head().seq, club.edges)]
        for number in range(DAYS):
            club._check_at(other.view(valid=day(number)), club.edges, number)
    return second


@pytest.mark.parametrize("seed", range(3))
def test_who_is_in_which_world_when_is_as_it_was_said_wherever_one_looks(seed: int, tmp_path: Path) -> None:
    assert run(seed, tmp_path) > 1
