"""Tests the cache of a world's members: it always equals a list made anew."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from worlddb import Database, View
from worlddb.query.reads import adjacency, build
from worlddb.query.snapshot import snapshot as containment
from worlddb.query.snapshot import visible
from worlddb.query.snapshot.snapshot import Inhabitants, KeptStanding, PlainPlacement, Stretch, members_below
from worlddb.query.snapshot.visible import VisibleSnapshot

TIMES = ("2020-01-01", "2024-06-01", "2030-01-01")
"""Of views, and of what begins and ends between them."""
BOUNDS = ("2019-01-01", "2022-01-01", "2027-01-01", None)


class Unlisted(Inhabitants):
    """Of a world that nobody has to list."""

    def listed(self, limit: int | None = None) -> set[int] | None:
        raise AssertionError("it is known who is inside")


def known_and_right(view: View, node: int) -> bool:
    """True if a world's members were cached, rightly; they are listed and cached if not."""
    with view._snapshot() as snapshot:
        known = snapshot.known_members(node)
        exact = members_below(snapshot.tables, node, view.moment)
        assert exact is not None
        if known is None:
            listed = Inhabitants(snapshot.tables, node, view.moment)
            listed.listed()
            assert snapshot.keep_members(node, listed).nodes == exact
        else:
            assert known.nodes == exact
            assert known.in_order.tolist() == sorted(exact)
        return known is not None


def grown(db: Database, worlds: list[str], random: Random) -> None:
    """One random change of what contains what."""
    step, one, other = random.random(), random.choice(worlds), random.choice(worlds)
    start, end = random.choice(BOUNDS), random.choice(BOUNDS)
    try:
        if step < 0.4:
            worlds.append(db.create("World", f"world {len(worlds)}", world=one).ref)
        elif step < 0.6:
            db.link(one, "contains", other, valid_from=start, valid_to=end)
        elif step < 0.7:
            db.move(one, other)
        elif step < 0.9:
            edges = [edge.ref for edge in db.view(valid=random.choice(TIMES)).edges(one, type="contains")]
            if edges:
                db.unlink(random.choice(edges))
        else:
            db.retire(one, at=random.choice(TIMES))
    except worlddb.InputError:
        pass  # A span that ends before it begins.


@given(st.integers(0, 2**32))
@examples(3, deadline=None)
def test_what_is_known_of_an_interior_is_what_a_list_says_whatever_was_written_since(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder, worlddb.open(Path(folder) / "store") as db:
        worlds = [db.create("World", f"world {number}").ref for number in range(3)]
        known = 0
        for _ in range(30):
            grown(db, worlds, random)
            views = [db.view(valid=valid) for valid in TIMES]
            views.append(db.view(valid=TIMES[0], seq=random.randint(4, views[0].seq)))
            for ref in worlds[:3]:
                with views[0]._snapshot() as snapshot:
                    node = snapshot.tables.node_of(bytes.fromhex(ref))
                assert node is not None
                known += sum(known_and_right(view, node) for view in views)
        assert known > 20


@given(st.integers(0, 2**32))
@examples(3, deadline=None)
def test_where_worlds_lie_is_followed_from_commit_to_commit_and_is_what_is_read_anew(seed: int) -> None:
    random, carried = Random(seed), 0
    with TemporaryDirectory() as folder, worlddb.open(Path(folder) / "store", embedder=None) as db:
        reader = db._reader
        worlds = [db.create("World", f"world {number}", valid_from=TIMES[0]).ref for number in range(3)]
        leaves = [db.create("Note", f"note {number}", world=worlds[number]).ref for number in range(3)]

        def told(view: View, ref: str) -> Any:
            with suppress(worlddb.UnknownReference):
                return view.get(ref, include_superseded=True)

        def is_carried(view: View) -> bool:
            seq, interiors = view.moment.seq, reader.interiors
            kept: list[KeptStanding | PlainPlacement] = [*interiors.standing.values(), *interiors.plain.values()]
            return any(each.seq < seq and interiors.is_known_at(each, seq) for each in kept)

        for _ in range(40):
            step, one, other = random.random(), random.choice(worlds + leaves), random.choice(leaves)
            with suppress(worlddb.RefusedError, worlddb.InputError):
                if step < 0.3:
                    grown(db, worlds, random)
                elif step < 0.45:
                    leaves.append(db.create("Note", f"note {len(leaves)}", world=random.choice(worlds)).ref)
                elif step < 0.6:
                    edges = [edge.ref for edge in db.view().edges(other, type="contains", direction="in")]
                    db.unlink(random.choice(edges)) if edges else db.link(random.choice(worlds), "contains", other)
                elif step < 0.8:
                    db.link(one, random.choice(("derived_from", "contradicts", "refers_to", "supersedes")), other)
                else:
                    db.revise(other, content=f"said at step {step}", valid_from=random.choice(TIMES))
            views = [db.view(), db.view(valid=random.choice(TIMES))]
            views.append(db.view(seq=random.randint(4, views[0].moment.seq)))
            for view in random.sample(views, 3):
                asked = random.sample(worlds + leaves, 5)
                found = [told(view, ref) for ref in asked]
                carried += is_carried(view)
                kept, reader.interiors = reader.interiors, containment.InteriorCache(reader.interiors.place)
                assert [told(view, ref) for ref in asked] == found
                reader.interiors = kept
    assert carried > 10


def test_a_world_taken_out_of_what_holds_is_only_in_what_has_ended_from_then_on(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        shelf, box = (db.create("World", name, valid_from=TIMES[0]).ref for name in ("shelf", "box"))
        note = db.create("Note", "note", world=shelf, valid_from=TIMES[0]).ref
        db.link(box, "contains", note, valid_from=TIMES[0])
        db.retire(box, at=TIMES[1])
        before = db.view()
        for _ in range(2):
            assert before.in_ended(note) == ""
        db.unlink(next(edge.ref for edge in before.edges(note, type="contains") if edge.source == shelf))
        assert (before.in_ended(note), db.view().in_ended(note)) == ("", box)


def test_what_is_kept_is_not_followed_over_many_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "FOLLOWED_EVENTS", 6)
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        box = db.create("World", "box").ref
        note = db.create("Note", "note", world=box).ref
        interiors = db._reader.interiors
        for count, is_followed in ((0, True), (1, True), (8, False), (1, True)):
            if count:
                with db.batch() as batch:
                    for number in range(count):
                        batch.create("Note", f"{count} {number}", world=box)
            before = dict(interiors.standing)
            view = db.view()
            view.get(note)
            [kept] = interiors.standing.values()
            assert interiors.is_known_at(kept, view.moment.seq)
            assert is_followed == (not before or [kept] == list(before.values()))


def test_a_world_that_grows_is_not_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with worlddb.open(tmp_path / "store") as db:
        garden = db.create("World", "Garden").ref
        shed = db.create("World", "Shed").ref
        db.create("Note", "rake", content="A rake leans in the shed.", world=shed)
        for number in range(4):
            db.create("Note", f"bed {number}", content=f"The garden bed {number} in spring.", world=garden)

        def found() -> set[str]:
            return {hit.name for hit in db.view().recall("garden bed rake in spring", world=garden).hits}

        assert found() == {f"bed {number}" for number in range(4)}
        monkeypatch.setattr(visible, "Inhabitants", Unlisted)
        assert found() == {f"bed {number}" for number in range(4)}
        db.create("Note", "bed 4", content="The garden bed 4 in spring.", world=garden)
        assert "bed 4" in found()
        monkeypatch.undo()
        edge = db.link(garden, "contains", shed).refs[0]
        assert "rake" in found()
        db.unlink(edge)
        assert "rake" not in found()


def test_a_part_of_the_store_shares_nothing_of_what_the_whole_knows(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        outer = db.create("World", "Outer").ref
        inner = db.create("World", "Inner", world=outer).ref
        outside = db.create("Note", "outside").ref
        db.link(inner, "contains", outside)
        whole = db.view()
        with whole._snapshot() as snapshot:
            node = snapshot.tables.node_of(bytes.fromhex(inner))
        assert node is not None
        assert not known_and_right(whole, node)
        assert known_and_right(whole, node)
        with db.view(world=outer)._snapshot() as snapshot:
            assert snapshot.known_members(node) is None


def test_so_many_worlds_are_kept_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "MAX_WORLDS", 2)
    monkeypatch.setattr(containment, "MAX_COMMITS", 1)
    with worlddb.open(tmp_path / "store") as db:
        refs = [db.create("World", f"world {number}").ref for number in range(3)]
        with db.view()._snapshot() as snapshot:
            nodes = [snapshot.tables.node_of(bytes.fromhex(ref)) for ref in refs]
        first, second, third = (node for node in nodes if node is not None)
        view = db.view()
        assert [known_and_right(view, node) for node in (first, second, first, third, first, second)] == [
            *(False, False, True, False, True, False)
        ]
        db.create("Note", "one")
        assert known_and_right(db.view(), second)
        db.create("Note", "two")
        db.create("Note", "three")
        assert not known_and_right(db.view(), second)


def test_after_many_events_a_world_is_listed_rather_than_all_of_them_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recall among 300 worlds read 180,000 events of 60 commits that were about others: 280 ms in place of 4."""
    monkeypatch.setattr(containment, "FEW_EVENTS", 6)
    with worlddb.open(tmp_path / "store") as db:
        garden, other = (db.create("World", name).ref for name in ("Garden", "Other"))
        db.create("Note", "bed", world=garden)
        with db.view()._snapshot() as snapshot:
            node = snapshot.tables.node_of(bytes.fromhex(garden))
        assert node is not None
        assert not known_and_right(db.view(), node)
        db.create("Note", "few", world=other)
        assert known_and_right(db.view(), node)
        for count, is_read in ((2, True), (8, False), (2, True)):
            with db.batch() as batch:
                for number in range(count):
                    batch.create("Note", f"{count} {number}", world=other)
            assert known_and_right(db.view(), node) == is_read


def test_a_stretch_ends_where_an_edge_begins_or_ends() -> None:
    every = Stretch(0, 100)
    assert every.around(50, 20, 80) == Stretch(20, 80)
    assert every.around(50, 60, 80) == Stretch(0, 60)
    assert every.around(50, 20, 50) == Stretch(50, 100)
    assert every.around(20, 20, 100).holds(20)
    assert not every.around(50, 20, 80).holds(80)
    assert Stretch(10, 60).within(Stretch(20, 90)) == Stretch(20, 60)


def test_what_is_kept_of_a_world_with_edges_says_when_it_ended_around_it(tmp_path: Path) -> None:
    """The second read of a world answers from what the first kept, and only for the times that this is true of."""
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as db:
        box = db.create("Box", "box", valid_from=TIMES[0]).ref
        fact = db.create("Fact", "fact", world=box, valid_from=TIMES[0]).ref
        basis = db.create("Fact", "basis", valid_from=TIMES[0]).ref
        db.link(fact, "refers_to", basis)

        def told(view: View) -> tuple[str, tuple[str, ...]]:
            found = [view.get(fact) for _ in range(2)]
            assert found[0] == found[1] and found[1] is not None
            return found[1].in_ended, tuple(each.ref for each in found[1].rests_on)

        before = db.view(valid=TIMES[1])
        assert told(before) == ("", ())
        db.link(fact, "derived_from", basis, valid_from=TIMES[0])
        db.retire(box, at=TIMES[2])
        assert told(before) == ("", ())
        assert told(db.view(valid=TIMES[1])) == ("", (basis,))
        assert told(db.view(valid="2031-01-01")) == (box, (basis,))
        assert told(db.view(valid=TIMES[1])) == ("", (basis,))


def test_what_had_ended_around_one_world_is_known_of_those_beside_it_and_of_that_moment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as db:
        shelf = db.create("Shelf", "shelf", valid_from=TIMES[0]).ref
        box = db.create("Box", "box", world=shelf, valid_from=TIMES[0]).ref
        facts = [db.create("Fact", f"fact {at}", world=box, valid_from=TIMES[0]).ref for at in range(3)]
        held = db.view(valid=TIMES[1])
        db.retire(shelf, at=TIMES[2])
        ended, asked = db.view(valid="2031-01-01"), list[int]()
        is_over = build._has_ended

        def counted(snapshot: VisibleSnapshot, node: int, known: dict[int, bool]) -> bool:
            asked.append(node)
            return is_over(snapshot, node, known)

        monkeypatch.setattr(build, "_has_ended", counted)
        for view, around in ((held, ""), (ended, shelf), (held, ""), (db.view(valid=TIMES[1]), "")):
            assert [view.in_ended(fact) for fact in facts] == [around] * 3
        # The box and the shelf, each once.
        assert len(asked) == len(set(asked)) == 2


def paged(db: Database, moment: View, top: str, world: str, size: int = 2) -> list[str]:
    """What a world contains, page by page, each asked of a view of its own, as requests with a cursor are."""
    found: list[str] = []
    while True:
        view = db.view(seq=moment.moment.seq, valid=moment.moment.valid, world=top)
        page = view.find(world=world, after=found[-1] if found else None, limit=size, include_superseded=True)
        found += [each.ref for each in page]
        if len(page) < size:
            return found


def test_pages_from_inside_list_a_world_once_for_one_moment_and_anew_for_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listings: list[int] = []

    class Counted(Inhabitants):
        def listed(self, limit: int | None = None) -> set[int] | None:
            listings.append(1)
            return super().listed(limit)

    monkeypatch.setattr(containment, "Inhabitants", Counted)

    def listed(moment: View, top: str, world: str) -> tuple[list[str], int]:
        listings.clear()
        return paged(db, moment, top, world), len(listings)

    with worlddb.open(tmp_path / "store", embedder=None) as db:
        top = db.create("World", "top").ref
        box = db.create("World", "box", world=top).ref
        inside = [db.create("World", f"inside {at}", world=box).ref for at in range(5)]
        later = db.create("World", "later").ref
        db.link(box, "contains", later, valid_from="2090-01-01")
        first = db.view()
        assert listed(first, top, box) == (inside, 1)
        assert listed(first, top, box) == (inside, 0)
        assert listed(first, box, box) == (inside, 1), "who sees another part is told nothing by the time"
        assert listed(db.view(seq=first.moment.seq, valid="2091-01-01"), top, box)[0] == [*inside, later]
        db.create("World", "elsewhere")
        assert listed(db.view(), top, box) == (inside, 1), "nor is it followed what was written elsewhere"
        inside.append(db.create("World", "new", world=box).ref)
        assert listed(db.view(), top, box) == (inside, 1)
        assert listed(first, top, box) == (inside[:-1], 0)


def test_edges_of_a_world_with_many_are_those_that_are_read_at_once_page_by_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, clock = Random(5), worlddb.ManualClock(1_700_000_000_000_000)
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as db:
        db.define_relation("beside", symmetric=True)
        db.define_relation("owns", inverse="owned_by")
        top = db.create("World", "top").ref
        refs = [db.create("Note", f"note {at}", world=top).ref for at in range(5)]
        refs.append(db.create("Note", "outside").ref)
        made = []
        for _ in range(70):
            kind = rng.choice(("refers_to", "derived_from", "causes", "beside", "owns"))
            source, target = rng.sample(refs[:5], 2) if kind != "refers_to" else (rng.choice(refs[:5]), refs[5])
            window: Any = rng.choice(({}, {"valid_from": "2030-01-01"}, {"valid_to": "2031-01-01"}))
            with suppress(worlddb.RefusedError):
                receipt = db.link(source, kind, target, **window)
                made += [receipt.ref] if receipt else []
            clock.advance(1_000)
        for ref in rng.sample(made, 8):
            db.unlink(ref)
        earlier, told = db.view(seq=db.head().seq - 12), 0
        for view in (db.view(), earlier, db.view(world=top), db.view(valid="2030-06-01")):
            for world, asked, direction, superseded in product(
                (top, *refs[:2]), (None, "beside", "owned_by", "refers_to"), ("out", "in", "both"), (False, True)
            ):
                how: Any = {"type": asked, "direction": direction, "include_superseded": superseded}
                monkeypatch.setattr(adjacency, "_FEW_EDGES", 10_000)
                whole = [edge.ref for edge in view.edges(world, **how)]
                monkeypatch.setattr(adjacency, "_FEW_EDGES", 0)
                found: list[str] = []
                while len(page := view.edges(world, **how, limit=3, after=found[-1] if found else None)) == 3:
                    found += [edge.ref for edge in page]
                told += len(whole)
                assert found + [edge.ref for edge in page] == whole == [edge.ref for edge in view.edges(world, **how)]
        assert told > 500


def test_worlds_of_many_users_are_kept_beside_one_another_up_to_so_many_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of fifty users' worlds in turn each was listed anew for every question, since sixteen were kept."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        with db.batch() as tx:
            for number in range(20):
                world = tx.create("World", f"world {number}")
                tx.create("Note", "", content=f"note {number}", world=world, resolve=False)
        view = db.view()
        with view._snapshot() as snapshot:
            found = [snapshot.tables.node_of(bytes.fromhex(each.ref)) for each in view.find(type="World")]
        nodes = [node for node in found if node is not None]
        assert [known_and_right(view, node) for node in nodes + nodes] == [False] * 20 + [True] * 20
        monkeypatch.setattr(containment, "MAX_KEPT_MEMBERS", 10)
        first = db.create("World", "another").ref
        db.create("Note", "a note", world=first)
        view = db.view()
        with view._snapshot() as snapshot:
            node = snapshot.tables.node_of(bytes.fromhex(first))
        assert node is not None
        assert [known_and_right(view, each) for each in (node, nodes[0], nodes[19])] == [False, False, True]
