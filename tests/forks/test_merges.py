"""A merge brings back what a fork came to: nothing is lost, each conflict is named once, no erasure is undone."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb import Database, InputError, World


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="planner", embedder=None) as opened:
        yield opened


def _seen(db: Database, ref: str) -> World:
    found = db.view().get(ref)
    assert found is not None
    return found


def _refs(db: Database, world: str) -> dict[str, str]:
    return {each.name: each.ref for each in db.view().find(world=world)}


def _said(db: Database, world: str) -> dict[str, str]:
    return {each.name: each.content for each in db.view().find(world=world)}


def _world(db: Database, names: str) -> str:
    world = str(db.create("Topic", "world").ref)
    for name in names:
        db.create("Note", name, content=f"{name} at first", world=world, resolve=False)
    return world


def test_a_conflict_is_open_until_it_is_decided_and_then_nothing_is_left(db: Database) -> None:
    world = _world(db, "ab")
    fork = db.fork(world).ref
    db.revise(_refs(db, fork)["a"], content="theirs")
    db.revise(_refs(db, fork)["b"], content="theirs alone")
    db.revise(_refs(db, world)["a"], content="ours")
    head = db.head().seq
    found = db.merge(fork)
    assert [(each.what, each.world) for each in found.undecided] == [("text", _refs(db, world)["a"])]
    assert found.receipt is None and db.head().seq == head
    done = db.merge(fork, decide={found.undecided[0].id: "theirs"})
    assert done.receipt is not None and done.receipt.seq == head + 1
    assert _said(db, world) == {"a": "theirs", "b": "theirs alone"}
    assert "ours" in [each.content for each in db.view().history(_refs(db, world)["a"])]
    again = db.merge(fork)
    assert (again.changes, again.conflicts, again.receipt) == ((), (), None)


def test_a_conflict_says_what_the_sides_have_where_they_are_not_alike(
    db: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = str(db.create("Trip", "Lisbon").ref)
    long = "It has been booked for three nights, with breakfast, by the one who pays. " * 4
    hotel = db.create("Plan", "hotel", content=f"{long}100", properties={"stars": 3, "town": "Belém"}, world=world).ref
    fork = str(db.fork(world, "cheaper").ref)
    db.revise(_refs(db, fork)["hotel"], content=f"{long}50", properties={"stars": 2, "town": "Belém"})
    db.revise(hotel, content=f"{long}120", properties={"town": "Belém", "name": "Sol"})
    (found,) = db.merge(fork).undecided
    since = worlddb.format_time(_seen(db, str(hotel)).valid.start)
    sides = [found.base, found.ours, found.theirs]
    texts = [
        f"stars: {stars}, property name: {name}, content: {long}{price}"
        for stars, name, price in (("3", "none", 100), ("none", "Sol", 120), ("2", "none", 50))
    ]
    assert sides == [f"{text} (from {since})" for text in texts]

    run = LocalRunner(capsys, tmp_path / "store")
    told = run("merge", "cheaper")
    assert told.code == 1 and f"conflict {found.id}  text of hotel" in told.out
    assert all(
        f"{side:6}  {text[:40]}" in told.out for side, text in zip(("base", "ours", "theirs"), texts, strict=True)
    )
    refused = run("merge", "Lisbon")
    assert f"its forks are {fork[:12]}" in refused.err and "`worlddb show WORLD`" in refused.err
    assert f"Lisbon ({fork[:12]}), cheaper" in run("show", "Lisbon").out
    assert run.json("show", "cheaper")["forked_from"]["of"] == world


def test_what_one_side_alone_changed_is_no_part_of_a_conflict(db: Database) -> None:
    world = _world(db, "a")
    here = _refs(db, world)["a"]
    begun = _seen(db, here).valid.start
    fork = str(db.fork(world).ref)
    db.revise(_refs(db, fork)["a"], content="theirs", valid_from=begun)
    db.revise(here, content="ours", valid_from="2200-01-01")
    (found,) = db.merge(fork).undecided
    assert (found.base, found.ours, found.theirs) == tuple(
        f"content: {text} (from 2200-01-01T00:00:00Z)" for text in ("a at first", "ours", "theirs")
    )


def test_a_later_merge_brings_only_what_is_new_and_asks_nothing_twice(db: Database) -> None:
    world = _world(db, "ab")
    fork = db.fork(world).ref
    db.revise(_refs(db, fork)["a"], content="theirs")
    db.revise(_refs(db, world)["a"], content="ours")
    assert db.merge(fork, on_conflict="ours").receipt is not None
    assert db.merge(fork).conflicts == ()
    db.create("Note", "c", content="new", world=fork)
    assert [each.what for each in db.merge(fork).changes] == ["create"]
    db.revise(_refs(db, fork)["c"], content="newer")
    assert [each.what for each in db.merge(fork).changes] == ["say"]
    assert _said(db, world) == {"a": "ours", "b": "b at first", "c": "newer"}
    db.revise(_refs(db, fork)["a"], content="theirs again")
    assert [each.what for each in db.merge(fork).conflicts] == ["text"]


def test_what_one_side_took_out_and_the_other_went_on_with_is_a_conflict(db: Database) -> None:
    world = _world(db, "ab")
    other = db.create("Topic", "other").ref
    fork = db.fork(world).ref
    there, here = _refs(db, fork), _refs(db, world)
    db.move(there["a"], to=other)
    db.move(there["b"], to=other)
    db.revise(here["a"], content="went on")
    found = db.merge(fork)
    assert [(each.what, each.world) for each in found.conflicts] == [("removed", here["a"])]
    db.merge(fork, on_conflict="ours")
    assert _said(db, world) == {"a": "went on"}


def test_edges_names_and_marks_are_merged(db: Database) -> None:
    world = _world(db, "abc")
    here = _refs(db, world)
    gone = db.link(here["a"], "causes", here["b"]).ref
    fork = db.fork(world).ref
    there = _refs(db, fork)
    kept = next(each for each in db.view().edges(there["a"]) if each.type == "causes")
    db.unlink(kept.ref)
    db.link(there["b"], "causes", there["c"], properties={"how": "slowly"}, why="seen")
    db.alias(there["a"], "first")
    db.label(there["b"], "good")
    db.pin(there["c"])
    assert db.merge(fork).receipt is not None
    view = db.view()
    assert all(each.ref != gone for each in view.edges(here["a"]))
    edge = next(each for each in view.edges(here["c"]) if each.type == "causes")
    assert (edge.source, edge.properties, edge.why) == (here["b"], {"how": "slowly"}, "seen")
    assert _seen(db, here["a"]).aliases == ("first",) and _seen(db, here["b"]).labels == ("good",)
    assert _seen(db, here["c"]).pinned and db.merge(fork).changes == ()


def test_no_merge_undoes_an_erasure(db: Database) -> None:
    world = _world(db, "abc")
    fork = db.fork(world).ref
    there, here = _refs(db, fork), _refs(db, world)
    db.revise(there["a"], content="secret one")
    db.revise(there["b"], content="b theirs")
    db.create("Note", "d", content="a at first", world=fork, resolve=False)
    db.erase(here["a"], reason="asked for", forbid=True)
    db.erase(there["b"], reason="asked for")
    done = db.merge(fork, on_conflict="theirs")
    assert {here["a"], here["b"]} <= set(done.erased)
    assert _seen(db, here["a"]).erased
    assert "a at first" not in _said(db, world).values()
    assert _said(db, world)["b"] == "b at first"


def test_an_invalid_fork_or_choice_is_a_typed_error(db: Database) -> None:
    world = _world(db, "a")
    fork = db.fork(world).ref
    for wrong in ({"decide": {"00": "ours"}}, {"decide": {"00": "both"}}, {"on_conflict": "mine"}, {"decide": 3}):
        with pytest.raises(InputError):
            db.merge(fork, **wrong)
    with pytest.raises(InputError):
        db.merge(world)


# -- edges between two versions of one world


def _joined(db: Database, ref: str) -> list[tuple[str, str, str]]:
    """The edges of a world to itself: what they say, and what the versions say that they join."""
    said = {each.number: each.content for each in db.view().history(ref)}
    edges = db.view().edges(ref, direction="out", include_superseded=True)
    return [(each.type, said[each.source_version], said[each.target_version]) for each in edges if each.target == ref]


def test_an_edge_between_two_versions_comes_with_them_whatever_their_numbers_are_here(db: Database) -> None:
    world = _world(db, "ab")
    here = _refs(db, world)
    fork = db.fork(world).ref
    there = _refs(db, fork)
    db.revise(here["a"], content="a, ours, for a time", valid_from="2020-01-01", valid_to="2020-02-01")
    db.revise(there["a"], content="a, theirs")
    db.link(there["a"], "derived_from", there["a"], versions=(2, 1), why="the same source")
    db.revise(there["b"], content="b, said wrong", valid_from="2030-01-01")
    db.revise(there["b"], content="b, corrected", valid_from="2030-01-01")
    db.revise(there["b"], content="b, before that", valid_from="2029-01-01")
    for versions in ((4, 3), (3, 2), (2, 1)):
        db.link(there["b"], "refines", there["b"], versions=versions)
    new = db.create("Note", "c", content="c, wrong", world=fork, valid_from="2030-01-01").ref
    db.revise(new, content="c, corrected", valid_from="2030-01-01")
    db.revise(new, content="c, before", valid_from="2029-01-01")
    db.link(new, "refines", new, versions=(3, 1))
    assert db.merge(fork).receipt is not None
    assert _joined(db, here["a"]) == [("derived_from", "a, theirs", "a at first")]
    assert _joined(db, here["b"]) == [
        ("refines", "b, before that", "b, corrected"),
        ("refines", "b, corrected", "b, said wrong"),
        ("refines", "b, said wrong", "b at first"),
    ]
    later = db.view(valid="2031-01-01")
    made = next(each.ref for each in later.find(world=world) if each.name == "c")
    assert _joined(db, made) == [("refines", "c, before", "c, wrong")]
    assert {each.name: each.content for each in later.find(world=world)} == {
        "a": "a, theirs",
        "b": "b, corrected",
        "c": "c, corrected",
    }
    assert db.merge(fork).changes == () and db.verify(deep=True).ok


def test_an_edge_between_two_versions_is_retracted_with_it_and_made_twice_only_once(db: Database) -> None:
    world = _world(db, "a")
    here = _refs(db, world)["a"]
    fork = db.fork(world).ref
    there = _refs(db, fork)["a"]
    db.revise(here, content="both", valid_from="2026-01-01", valid_to="2026-02-01")
    db.revise(there, content="theirs", valid_from="2025-01-01", valid_to="2025-02-01")
    db.revise(there, content="theirs too", valid_from="2025-01-01", valid_to="2025-02-01")
    kept = [db.link(there, "refines", there, versions=each).ref for each in ((2, 1), (3, 2))]
    db.merge(fork)
    assert _joined(db, here) == [("refines", "theirs", "a at first"), ("refines", "theirs too", "theirs")]
    assert db.view().edges(here)[0].source_version != 2, "the numbers are others here"
    db.unlink(kept[0])
    db.merge(fork)
    assert _joined(db, here) == [("refines", "theirs too", "theirs")]
    assert db.merge(fork).changes == () and db.verify(deep=True).ok


@pytest.mark.parametrize("turn", range(6))
def test_edges_between_versions_of_random_histories_join_what_they_joined_in_the_fork(
    db: Database, seed: int, turn: int
) -> None:
    _join_apart(db, Random(f"versions {seed} {turn}"))


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(300))
def test_edges_between_versions_of_many_histories_join_what_they_joined_in_the_fork(
    db: Database, seed: int, turn: int
) -> None:
    _join_apart(db, Random(f"versions {seed} {turn}"))


def _join_apart(db: Database, random: Random) -> None:
    """Two sides go on with windows, holes and edges between versions, and are merged three times."""
    world = db.create("Topic", "world").ref
    here = db.create("Note", "a", content="at first", world=world, resolve=False, valid_from="2025-01-01").ref
    db.revise(here, content="from then on", valid_from=_day(random))
    fork = db.fork(world).ref
    there = _refs(db, fork)["a"]
    left = False
    for _ in range(3):
        for ref, side, edits in ((here, "ours", 3), (there, "theirs", 4)):
            for _ in range(random.randrange(edits + 1)):
                _edit(db, random, ref, side)
                newest = len(db.view().history(ref))
                if ref == there and random.random() < 0.6:
                    later = random.randint(2, newest)
                    ends = later, random.randint(1, later - 1)
                    assert db.link(there, random.choice(("refines", "derived_from")), there, versions=ends)
        drawn = [
            each for each in db.view().edges(there, include_superseded=True) if each.source == there == each.target
        ]
        if drawn and random.random() < 0.3:
            db.unlink(random.choice(drawn).ref)
        done = db.merge(fork, on_conflict=random.choice(("theirs", "theirs", "ours")))
        left |= any(each.what == "left" for each in done.changes)
        joined, wanted = set(_joined(db, here)), set(_joined(db, there))
        assert joined <= wanted and (left or joined == wanted)
        assert db.merge(fork).changes == ()
    assert db.verify(deep=True).ok


def _day(random: Random, after: int = 0) -> str:
    return f"2025-01-{min(after + random.randint(2, 24), 31):02}"


def _edit(db: Database, random: Random, ref: str, side: str) -> None:
    begins, draw = random.randint(2, 20), random.random()
    since, until = f"2025-01-{begins:02}", f"2025-01-{begins + random.randint(1, 5):02}"
    if draw < 0.7:
        valid_to = until if random.random() < 0.5 else None
        db.revise(ref, content=f"{side} {random.randrange(1_000)}", valid_from=since, valid_to=valid_to)
    else:
        db.retire(ref, at=since, valid_to=until if draw < 0.85 else None)


def test_an_edge_to_what_was_not_taken_is_left_in_the_fork_and_told(db: Database) -> None:
    world = _world(db, "a")
    here = _refs(db, world)["a"]
    fork = db.fork(world).ref
    there = _refs(db, fork)["a"]
    db.revise(here, content="ours")
    db.revise(there, content="theirs")
    db.link(there, "derived_from", there, versions=(2, 1))
    done = db.merge(fork, on_conflict="ours")
    assert ("left", "derived_from of version 2 to version 1") in [(each.what, each.detail) for each in done.changes]
    assert done.receipt is not None and _joined(db, here) == []
    assert db.merge(fork).changes == ()


class Model:
    """A plain model: what each side says by name, and what a merge of them says."""

    def __init__(self, said: dict[str, str]) -> None:
        self.base, self.ours, self.theirs = dict(said), dict(said), dict(said)
        self.erased: set[str] = set()
        self._apart: set[str] = set()

    def look(self) -> None:
        """Note what the sides say differently now: they may say the same later, and did not in between."""
        self._apart |= {
            name
            for name in self.base.keys() - self.erased
            if self.theirs[name] != self.base[name] != self.ours[name] != self.theirs[name]
        }

    def conflicts(self) -> set[str]:
        """What both sides changed since the last merge, and not alike at some time."""
        return self._apart - self.erased

    def merge(self, choice: str) -> None:
        """Bring the fork's changes over."""
        for name in self.theirs.keys() - self.erased:
            changed = name not in self.base or self.theirs[name] != self.base[name]
            if changed and (name not in self.conflicts() or choice == "theirs"):
                self.ours[name] = self.theirs[name]
        self.base, self._apart = dict(self.theirs), set()


@pytest.mark.parametrize("turn", [*range(6), *(pytest.param(turn, marks=pytest.mark.soak) for turn in range(6, 12))])
def test_random_pairs_of_edits_come_out_as_in_a_plain_model(db: Database, seed: int, turn: int) -> None:
    _go_apart(db, Random(f"{seed} {turn}"), merges=8)


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(500))
def test_ten_thousand_pairs_of_edits_come_out_as_in_a_plain_model(db: Database, seed: int, turn: int) -> None:
    _go_apart(db, Random(f"{seed} {turn}"), merges=20)


def _go_apart(db: Database, random: Random, merges: int) -> None:
    model = Model({name: f"{name} at first" for name in "abcd"})
    world = _world(db, "abcd")
    fork = db.fork(world).ref
    here, there = _refs(db, world), _refs(db, fork)
    erased_here: set[str] = set()
    for step in range(merges):
        for count in range(random.randrange(5)):
            side = random.choice(("ours", "theirs"))
            said, refs = getattr(model, side), here if side == "ours" else there
            kind = random.choice(("revise", "revise", "revise", "same", "create", "erase"))
            name = random.choice(sorted(said.keys() - model.erased) or ["none"])
            if kind == "create":
                name = f"{side}{step}.{count}"
                said[name] = f"{name} new"
                made = db.create("Note", name, content=said[name], world=world if refs is here else fork)
                refs[name] = made.ref
            elif name == "none":
                continue
            elif kind == "erase" and random.random() < 0.3 and name in here.keys() & there.keys():
                db.erase(refs[name], reason="asked for")
                model.erased.add(name)
                erased_here |= {name} if refs is here else set()
            elif kind != "erase":
                said[name] = "the same on both" if kind == "same" else f"{side} {step}.{count}"
                db.revise(refs[name], content=said[name])
                model.look()
        choice: Literal["ours", "theirs"] = "ours" if random.random() < 0.5 else "theirs"
        planned = db.merge(fork, plan=True)
        named = {ref: name for name, ref in here.items()}
        assert sorted(named[each.world] for each in planned.conflicts) == sorted(model.conflicts())
        db.merge(fork, on_conflict=choice)
        model.merge(choice)
        here |= _refs(db, world)
        assert _said(db, world) == {name: said for name, said in model.ours.items() if name not in erased_here} | (
            {"": ""} if erased_here else {}
        )
        assert all(_seen(db, here[name]).erased and _seen(db, there[name]).erased for name in erased_here)
        assert db.merge(fork).changes == ()
    assert db.verify(deep=True).ok


def test_properties_that_a_merge_brings_state_no_start(db: Database) -> None:
    world = _world(db, "a")
    here = _refs(db, world)["a"]
    begun = _seen(db, here).valid.start
    fork = str(db.fork(world).ref)
    db.revise(_refs(db, fork)["a"], properties={"room": 7}, valid_from=begun)
    assert db.merge(fork).receipt is not None
    assert (_seen(db, here).properties, _seen(db, here).content) == ({"room": 7}, "a at first")
    assert [version.start for version in db.view().history(here)] == ["defaulted", "defaulted"]
    db.revise(here, content="a, as is learned later", valid_from="2000-01-01")
    assert _seen(db, here).content == "a, as is learned later"
    assert db.merge(fork).changes == ()


def test_a_merge_that_is_sent_again_under_its_key_is_answered_as_the_first_time(db: Database) -> None:
    """It was planned anew, and so came to nothing: to who lost the answer it seemed undone."""
    world = _world(db, "ab")
    fork = str(db.fork(world, "trial").ref)
    db.revise(_refs(db, fork)["a"], content="theirs")
    db.revise(_refs(db, world)["a"], content="ours")
    own = db.create("Note", "c", content="new", world=fork, resolve=False).ref
    open_still = db.merge(fork, idempotency_key="k")
    assert open_still.undecided and open_still.receipt is None
    how: dict[str, Any] = {"on_conflict": "theirs", "idempotency_key": "k"}
    done = db.merge(fork, **how)
    assert done.receipt is not None and {each.what for each in done.changes} >= {"say", "create"}
    db.revise(_refs(db, fork)["b"], content="later")
    db.alias(fork, "another name")
    head = db.head().seq
    assert db.merge("trial", **how) == done and db.head().seq == head
    others: list[dict[str, Any]] = [{"on_conflict": "ours"}, {"on_conflict": "report"}, {**how, "why": "other"}]
    for other in others:
        with pytest.raises(worlddb.IdempotencyConflict):
            db.merge(fork, **{"idempotency_key": "k", **other})
    db.erase(str(own), reason="R-1")
    again = db.merge(fork, **how).receipt
    assert again is not None and (again.seq, again.notes[-1].code) == (done.receipt.seq, "retry_not_compared")
    assert {each.what for each in db.merge(fork, idempotency_key="k2").changes} == {"say", "alias"}
    db.create("Note", "d", idempotency_key="made")
    with pytest.raises(worlddb.IdempotencyConflict):
        db.merge(fork, idempotency_key="made")
