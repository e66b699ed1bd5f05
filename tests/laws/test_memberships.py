"""A membership may end and come back: several spans of one world in another, the same wherever one looks."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Final, NamedTuple

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
        given: dict[str, Any] = {"valid_from": day(0), "resolve": False}
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
                stayed = [self.people[n] for n in range(3) if self.held(edges, (club, n)) >= {3, 4, 5}]
                spans = db.view(seq=seq).children(world, during=Valid(day(3), day(6)))
                assert sorted(each.ref for each in spans) == sorted(stayed)
                stays = [edge.pair[1] for edge in edges.values() if edge.pair[0] == club and edge.days & {3, 4, 5}]
                spans = db.view(seq=seq).children(world, overlaps=Valid(day(3), day(6)))
                assert sorted(each.ref for each in spans) == sorted(self.people[each] for each in stays)
                ever = [each.ref for each in db.view(seq=seq).children(world, include_superseded=True)]
                assert sorted(ever) == sorted(
                    {self.people[edge.pair[1]] for edge in edges.values() if edge.pair[0] == club}
                )

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
        for number in range(steps):
            club.step()
            if number in (steps // 3, steps // 2):
                club.check_recall(db)
        club.check(db, every=3)
        club.check_recall(db)
        root = db.head().root
        assert db.redecide().differing == ()
        assert db.rebuild("tables").root == root
        club.check(db, every=7)
        club.check_recall(db)
        assert db.verify(deep=True).ok
        second = sum(
            max(Counter(edge.pair for edge in edges.values()).values(), default=0) > 1 for _, edges in club.known
        )
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


@pytest.mark.parametrize("seed", range(2))
def test_who_is_in_which_world_when_is_as_it_was_said_wherever_one_looks(seed: int, tmp_path: Path) -> None:
    assert run(seed, tmp_path) > 1


@pytest.mark.soak
def test_who_is_in_which_world_when_is_as_it_was_said_in_many_lives(root_seed: int, tmp_path: Path) -> None:
    told = 0
    for number in range(300):
        told += run(root_seed + number, tmp_path / str(number), steps=30)
        shutil.rmtree(tmp_path / str(number))
    assert told > 1_000


class Home(NamedTuple):
    """A guest who was at home from day 2 to day 4, and whose membership there came first."""

    home: str
    guest: str
    stay: str


def at_home(db: Database) -> Home:
    home, guest = (db.create("Place", name, valid_from=day(0), resolve=False).ref for name in ("home", "guest"))
    stay = db.link(home, "contains", guest, valid_from=day(2), valid_to=day(4)).ref
    return Home(home, guest, stay)


def spans(db: Database, home: str, guest: str) -> list[Valid]:
    edges = db.view().edges(guest, type="contains", direction="in", include_superseded=True)
    return sorted((span for edge in edges if edge.source == home for span in edge.spans or (edge.valid,)), key=str)


def test_who_left_comes_back_by_a_link_of_another_time() -> None:
    with new_store() as db:
        home, guest, stay = at_home(db)
        root = db.head().root
        back = db.link(home, "contains", guest, valid_from=day(6))
        assert back and db.head().root == root, "it is the same member, and times are outside of hashes"
        where = [home in db.view(valid=day(number)).containers(guest) for number in (1, 2, 4, 6, 9)]
        assert where == [False, True, False, True, True]
        narrowed = db.retire(back.ref, valid_from=day(7), valid_to=day(8))
        assert [(loss.ref, loss.version, loss.valid_from, loss.valid_to) for loss in narrowed.lost] == [
            (back.ref, None, day(7), day(8))
        ]
        assert str(narrowed.lost[0]).startswith(f"edge {back.ref[:12]} lost 20")
        assert db.link(home, "contains", guest, valid_from=day(7), valid_to=day(8)), "so does who left for a while"
        assert refusal(db.link(home, "contains", guest)) == "already_member"
        for start, end in ((2, 4), (1, 3), (3, None), (0, None), (7, 8), (5, 5)):
            until = None if end is None else day(end)
            assert refusal(db.link(home, "contains", guest, valid_from=day(start), valid_to=until)) == "already_member"
        assert [each.ref for each in db.view().children(home, include_superseded=True)] == [guest]
        assert db.unlink(stay) and list(db.view(valid=day(6)).children(home)), "the others stay"
        found = [list(view.children(home)) for view in (db.view(valid=day(3)), db.view(seq=back.seq, valid=day(3)))]
        assert [len(each) for each in found] == [0, 1]
        assert db.redecide().differing == () and db.rebuild("tables")


def test_who_is_moved_for_a_while_comes_back_and_is_moved_again() -> None:
    with new_store() as db:
        away, home, guest = (db.create("Place", name, valid_from=day(0)).ref for name in ("away", "home", "guest"))
        assert db.move(guest, home, valid_from=day(0))
        for start in (2, 6):
            assert db.move(guest, away, out_of=home, valid_from=day(start), valid_to=day(start + 2))
        assert db.move(guest, home, out_of=away, valid_from=day(3), valid_to=day(4)), "back before it was said"
        where = {number: db.view(valid=day(number)).containers(guest) for number in range(1, 9)}
        assert where == {number: [away] if number in (2, 6, 7) else [home] for number in range(1, 9)}
        assert refusal(db.move(guest, home, out_of=away, valid_from=day(20))) == "already_member"
        other = db.create("Place", "other", valid_from=day(0)).ref
        assert db.move(guest, other, out_of=away), "it leaves by all edges that say that it was there"
        assert spans(db, away, guest) == [] and spans(db, home, guest) != []


def test_a_world_that_ends_with_its_members_takes_each_once() -> None:
    with new_store() as db:
        home, guest, _ = at_home(db)
        (root,) = (each for each in db.view().containers(guest) if each != home)
        (edge,) = (each.ref for each in db.view().edges(guest, type="contains", direction="in") if each.source == root)
        assert db.unlink(edge) and db.link(home, "contains", guest, valid_from=day(6))
        told = {note.code: note.refs for note in db.retire(home, valid_from=day(9), valid_to=day(10)).notes}
        assert told["members_remain"] == (home, guest)
        receipt = db.retire(home, valid_from=day(12), members=True)
        assert sorted(loss.ref for loss in receipt.lost) == sorted((home, guest))
        assert db.erase(guest, reason="asked to")
        left = db.view().get(guest, include_superseded=True)
        assert left is not None and not left.content and left.erased


def test_a_comparison_and_a_blame_tell_of_a_second_membership(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", clock=ManualClock(), author="tester") as db:
        home, guest, _ = at_home(db)
        before = db.head().seq
        back = db.link(home, "contains", guest, valid_from=day(6), why="it is winter")
        told = [
            (each.field, each.value, each.why) for each in db.view().blame(guest).fields if each.field == "container"
        ]
        assert told[1:] == [("container", "home", ""), ("container", "home", "it is winter")]
        made = db.replay(tmp_path / "without", without=[back.seq])
    assert made.hypothesis is not None and len(made.hypothesis.differing) == 1
    for other in ({"seq_a": before}, {"b": tmp_path / "without"}):
        (change,) = worlddb.diff(tmp_path / "store", **other).worlds
        (detail,) = change.changes
        assert (change.ref, detail.kind, detail.ref) == (home, "validity", back.ref)
        assert "home" in detail.field and bool(detail.a) != bool(detail.b)


def test_a_replay_without_the_end_of_a_membership_refuses_what_needed_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", clock=ManualClock(), author="tester") as db:
        home, guest = (db.create("Place", name, valid_from=day(0)).ref for name in ("home", "guest"))
        stay = db.link(home, "contains", guest, valid_from=day(2))
        ended = db.retire(stay.ref, valid_from=day(4))
        back = db.link(home, "contains", guest, valid_from=day(6))
        made = db.replay(tmp_path / "without", without=[ended.seq])
    assert made.hypothesis is not None
    assert [(each.seq, each.now, each.code) for each in made.hypothesis.differing] == [
        (ended.seq, "left_out", ""),
        (back.seq, "refused", "already_member"),
    ]


def test_two_stores_that_tell_of_one_membership_at_one_time_do_not_meet(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "one", clock=ManualClock(), author="one") as db:
        home, guest, _ = at_home(db)
        db.export(home, tmp_path / "first.bundle")
        with worlddb.open(tmp_path / "two", clock=ManualClock(), author="two") as other:
            assert other.import_bundle(tmp_path / "first.bundle")
            assert other.link(home, "contains", guest, valid_from=day(8))
            assert db.link(home, "contains", guest, valid_from=day(6), valid_to=day(8))
            db.export(home, tmp_path / "second.bundle")
            assert other.import_bundle(tmp_path / "second.bundle"), "the two are of other times"
            assert spans(other, home, guest) == [Valid(day(2), day(4)), Valid(day(6), day(8)), Valid(day(8), FOREVER)]
            assert not other.import_bundle(tmp_path / "second.bundle").events
            assert db.link(home, "contains", guest, valid_from=day(9), valid_to=day(10))
            db.export(home, tmp_path / "third.bundle")
            assert refusal(other.import_bundle(tmp_path / "third.bundle")) == "bundle_conflict"


def test_a_merge_takes_over_when_a_world_is_a_member(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", clock=ManualClock(), author="tester", embedder=None) as db:
        top = db.create("Topic", "top", valid_from=day(0)).ref
        given: dict[str, Any] = {"world": top, "valid_from": day(0), "resolve": False}
        home, guest, friend = (db.create("Place", name, **given).ref for name in ("home", "guest", "friend"))
        stay = db.link(home, "contains", guest, valid_from=day(2)).ref
        fork = db.fork(top).ref
        of = {each.name: each.ref for each in db.view().find(world=fork)}
        (there,) = (
            e.ref
            for e in db.view(valid=day(2)).edges(of["guest"], type="contains", direction="in")
            if e.source == of["home"]
        )
        assert db.retire(there, valid_from=day(4))
        assert db.link(of["home"], "contains", of["guest"], valid_from=day(6), valid_to=day(8))
        assert db.link(of["home"], "contains", of["friend"], valid_from=day(1), valid_to=day(2))
        known = db.link(of["guest"], "refers_to", of["friend"], valid_from=day(1))
        assert db.retire(known.ref, valid_from=day(2), valid_to=day(3))
        assert db.merge(fork).receipt
        assert spans(db, home, guest) == [Valid(day(2), day(4)), Valid(day(6), day(8))]
        assert spans(db, home, friend) == [Valid(day(1), day(2))]
        (edge,) = db.view().edges(guest, type="refers_to", include_superseded=True)
        assert edge.spans == (Valid(day(1), day(2)), Valid(day(3), FOREVER))
        assert not db.merge(fork).changes, "what was taken over is the same"
        assert db.retire(known.ref, valid_from=day(4), valid_to=day(5)) and db.retire(stay, valid_from=day(3))
        assert db.link(of["home"], "contains", of["guest"], valid_from=day(9))
        (conflict,) = db.merge(fork).conflicts
        assert (conflict.what, conflict.world) == ("edge", guest) and conflict.theirs.count("from") == 3
        assert db.merge(fork, on_conflict="theirs").receipt
        days = ((2, 3), (3, 4), (6, 8))
        told = [Valid(day(start), day(end)) for start, end in days]
        assert spans(db, home, guest) == [*told, Valid(day(9), FOREVER)], "what ours had lost is another edge"
        (edge,) = db.view().edges(guest, type="refers_to", include_superseded=True)
        assert len(edge.spans) == 3
        assert db.redecide().differing == () and db.verify(deep=True).ok


def test_a_merge_makes_a_new_world_a_member_when_the_fork_has_it_so(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", clock=ManualClock(), author="tester", embedder=None) as db:
        top = db.create("Topic", "top", valid_from=day(0)).ref
        given: dict[str, Any] = {"world": top, "valid_from": day(0), "resolve": False}
        for name in ("home", "away"):
            db.create("Place", name, **given)
        fork = db.fork(top).ref
        of = {each.name: each.ref for each in db.view().find(world=fork)}

        def guest(name: str, *stays: tuple[str, int, int | None], begins: int = 2) -> None:
            ref = db.create("Place", name, valid_from=day(begins), resolve=False).ref
            (root,) = db.view(valid=day(begins)).edges(ref, type="contains", direction="in")
            for place, start, end in stays:
                assert db.link(
                    of[place], "contains", ref, valid_from=day(start), valid_to=None if end is None else day(end)
                )
            assert db.unlink(root.ref)

        guest("ends", ("home", 2, 6))
        guest("comes later", ("home", 4, None))
        guest("came before", ("home", 1, None))
        guest("comes back", ("home", 2, 4), ("home", 6, 8))
        guest("moves", ("home", 2, 4), ("away", 4, None))
        guest("stays", ("home", 2, None), ("away", 3, 5))
        here = {each.name: each.ref for each in db.view().find(world=top)}
        merge = db.merge(fork)
        assert merge.receipt
        found = {
            each.name: {place: at for place in ("home", "away") if (at := spans(db, here[place], each.ref))}
            for place in ("home", "away")
            for each in db.view().children(here[place], include_superseded=True)
        }
        assert found == {
            "ends": {"home": [Valid(day(2), day(6))]},
            "comes later": {"home": [Valid(day(4), FOREVER)]},
            "came before": {"home": [Valid(day(1), FOREVER)]},
            "comes back": {"home": [Valid(day(2), day(4)), Valid(day(6), day(8))]},
            "moves": {"home": [Valid(day(2), day(4))], "away": [Valid(day(4), FOREVER)]},
            "stays": {"home": [Valid(day(2), FOREVER)], "away": [Valid(day(3), day(5))]},
        }
        assert not db.merge(fork).changes, "what was taken over is the same"
        assert db.redecide().differing == ()
        assert db.verify(deep=True).ok
        in_root = {each.name for each in db.view(valid=day(9)).children()}
        assert not in_root & found.keys(), "and none lies in the root itself"
