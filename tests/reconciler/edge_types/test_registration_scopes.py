"""Compares which registration holds where with a model that counts every path."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import worlddb
from tests.support.model.ontology import ROOT, Registered, Showing, Tagged, nearest
from worlddb.projections.tables.apply import settings

WORLDS = 7
"""Worlds 1 to 7 are made in this order; each may be in any that was made before it, 0 being the root."""


class Structure(NamedTuple):
    containers: dict[int, set[int]]
    steps: list[tuple[str, int, int, bool]]
    """register (world, version, functional), unregister (world), or join (world, another container)"""


@st.composite
def structures(draw: st.DrawFn) -> Structure:
    containers = {world: {draw(st.integers(0, world - 1))} for world in range(1, WORLDS + 1)}
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["register", "register", "register", "unregister", "join"]),
                st.integers(0, WORLDS),
                st.integers(1, 3),
                st.booleans(),
            ),
            min_size=1,
            max_size=8,
        )
    )
    return Structure(containers, steps)


class Life:
    """A store beside the model of what is registered in it."""

    def __init__(self, folder: Path, structure: Structure) -> None:
        self.db = worlddb.open(folder)
        self.containers = {world: set(above) for world, above in structure.containers.items()}
        self.refs = [next(self.db.log(1, 1)).data["root"]]
        for world, above in structure.containers.items():
            self.refs.append(self.db.create("Topic", f"w{world}", world=self.refs[min(above)], resolve=False).ref)
        self.known: list[Registered] = []

    def step(self, what: str, world: int, version: int, functional: bool) -> None:
        if what == "register":
            receipt = self.db.register(Tagged("t", version), world=self.refs[world], functional=functional)
            before = [one for one in self.known if one.world == world]
            same = bool(before) and before[0][2:] == (version, functional)
            assert receipt.events == (0 if same else 1)
            if not same:
                self.known = [one for one in self.known if one.world != world]
                self.known.append(Registered(receipt.seq, world, version, functional))
        elif what == "unregister":
            receipt = self.db.unregister("t", world=self.refs[world])
            assert bool(receipt) == any(one.world == world for one in self.known)
            self.known = [one for one in self.known if one.world != world]
        elif version < world and version not in self.containers[world]:
            assert self.db.link(self.refs[version], "contains", self.refs[world])
            self.containers[world].add(version)

    def expected(self, home: int) -> Registered | None:
        return nearest(self.containers, self.known, home)

    def version_written(self, home: int) -> int | None:
        """The handler's version that decides about an edge with this home; none if unknown there."""
        try:
            receipt = self.db.link(self.refs[1], "t", self.refs[2], home=self.refs[home])
        except worlddb.UnknownEdgeType:
            return None
        entries = [entry for entry in self.db.log(receipt.seq, receipt.seq) if entry.event == "linked"]
        version: int = entries[0].data["handler_version"]
        return version


@given(structures())
def test_the_nearest_registration_decides_about_an_edge_whatever_the_containment(structure: Structure) -> None:
    with TemporaryDirectory() as folder:
        life = Life(Path(folder) / "store", structure)
        pinned: list[tuple[worlddb.View, list[Registered | None]]] = []
        with life.db as db:
            for step in structure.steps:
                life.step(*step)
                pinned.append((db.view(), [life.expected(home) for home in range(WORLDS + 1)]))
            decided = set()
            for home in range(WORLDS + 1):
                expected = life.expected(home)
                assert life.version_written(home) == (None if expected is None else expected.version)
                decided.add(None if expected is None else expected.world)
            event(f"registrations that decide: {len(decided)}")
            for view, known in pinned:
                _check_view(view, life, known)
            assert db.verify(deep=True).ok


def _check_view(view: worlddb.View, life: Life, known: list[Registered | None]) -> None:
    """A view of an earlier commit lists what was in force then."""
    for home, expected in enumerate(known):
        listed = [one for one in view.edge_types(life.refs[home]) if one.name == "t"]
        told = [(one.seq, life.refs.index(one.world), one.version, one.functional) for one in listed]
        assert told == ([] if expected is None else [tuple(expected)])


@given(structures())
def test_many_registrations_of_one_type_are_found_one_by_one_as_they_are_all_at_once(structure: Structure) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "MAX_LOADED", 0)
        life = Life(Path(folder) / "store", structure)
        with life.db:
            for step in structure.steps:
                life.step(*step)
            for home in range(WORLDS + 1):
                expected = life.expected(home)
                assert life.version_written(home) == (None if expected is None else expected.version)


def test_canary_a_model_that_takes_the_farthest_registration_is_contradicted() -> None:
    """Were nearness not looked at by the engine, or not by the model, the test above would fail like this."""
    containers = {1: {ROOT}, 2: {1}}
    known = [Registered(2, ROOT, 1, False), Registered(3, 1, 2, False)]
    assert nearest(containers, known, 2) == known[1]
    assert nearest(containers, known, ROOT) == known[0]
    twice = {1: {ROOT}, 2: {ROOT}, 3: {1, 2}}
    assert nearest(twice, [Registered(3, 2, 1, False), Registered(2, 1, 2, False)], 3) == (2, 1, 2, False)


# -- functional relations


class Drawn(NamedTuple):
    source: int
    target: int
    start: int
    length: int
    home: int
    act: str


drawn_edges = st.lists(
    st.builds(
        Drawn,
        st.integers(0, 1),
        st.integers(0, 3),
        st.integers(0, 5),
        st.integers(0, 4),
        st.sampled_from([0, 1]),
        st.sampled_from(["link", "link", "link", "link", "unlink", "close", "hole"]),
    ),
    min_size=2,
    max_size=9,
)


@given(drawn_edges, st.sampled_from(["both apart", "root", "inner", "none"]), st.booleans())
def test_two_targets_of_a_functional_relation_at_one_time_contradict_each_other(
    drawn: list[Drawn], scopes: str, own: bool
) -> None:
    type_name: Any = Tagged("capital_of", 1) if own else "causes"
    with TemporaryDirectory() as folder, worlddb.open(Path(folder) / "store") as db:
        root = next(db.log(1, 1)).data["root"]
        inner = db.create("Topic", "inner").ref
        sources = [db.create("Node", "").ref for _ in range(2)]
        targets = [db.create("Node", "").ref for _ in range(4)]
        db.register(type_name, functional=scopes in ("both apart", "root"))
        if scopes in ("both apart", "inner"):
            db.register(type_name, world=inner, functional=True)
        homes = [root, inner]
        # Which registration governs an edge at home in either world, and whether it is functional.
        governs = {
            "both apart": [(0, True), (1, True)],
            "root": [(0, True), (0, True)],
            "inner": [(0, False), (1, True)],
            "none": [(0, False), (0, False)],
        }[scopes]
        live: dict[str, Live] = {}
        for one in drawn:
            before = _contradictions(db, targets)
            if one.act != "link":
                _take_back(db, live, one)
            else:
                ends = sources[one.source], targets[one.target]
                name = type_name.name if own else type_name
                start, end = one.start, one.start + one.length
                written = Live(one.source, one.target, one.home, frozenset(range(start, end)))
                receipt = db.link(ends[0], name, ends[1], home=homes[one.home], valid_from=start, valid_to=end)
                met = len(list(_conflicting({**live, receipt.ref: written}, governs)))
                met -= len(list(_conflicting(live, governs)))
                live[receipt.ref] = written
                expected = {"functional_conflict"} if met else set() if one.length else {"never_valid"}
                assert {note.code for note in receipt.notes} == expected
            known = _contradictions(db, targets)
            _check_conflicts(known, list(_conflicting(live, governs)), targets)
            if one.act == "link":
                assert receipt.events == 1 + len(known) - len(before)
        event(f"conflicts: {min(len(_contradictions(db, targets)), 3)}")
        assert db.verify(deep=True).ok


class Live(NamedTuple):
    """An edge that was not unlinked, and the times at which it is in force."""

    source: int
    target: int
    home: int
    times: frozenset[int]


class Conflicting(NamedTuple):
    """Two targets, and the times at which edges of one source lead to both of them."""

    one: int
    other: int
    times: frozenset[int]


def _conflicting(live: dict[str, Live], governs: list[tuple[int, bool]]) -> Iterator[Conflicting]:
    """Every pair of live edges that is a conflict, by looking at all of them."""
    for one, other in combinations(live.values(), 2):
        governed = governs[one.home] == governs[other.home] and governs[one.home][1]
        together = one.times & other.times
        if governed and one.source == other.source and one.target != other.target and together:
            yield Conflicting(min(one.target, other.target), max(one.target, other.target), together)


def _check_conflicts(known: list[worlddb.Edge], pairs: list[Conflicting], targets: list[str]) -> None:
    """Every pair is recorded at each time at which it begins to hold, and no record outlasts the last such pair."""
    for one, other, together in pairs:
        recorded = [_times(edge) for edge in known if {edge.source, edge.target} == {targets[one], targets[other]}]
        for piece in _pieces(together):
            assert any(piece & times for times in recorded)
    for edge in known:
        sides = sorted((targets.index(edge.source), targets.index(edge.target)))
        held = _times(edge)
        assert not held or any([one, other] == sides and max(held) in together for one, other, together in pairs)


def _times(edge: worlddb.Edge) -> set[int]:
    return {time for span in edge.spans or (edge.valid,) for time in range(span.start, span.end)}


def _pieces(times: frozenset[int]) -> Iterator[set[int]]:
    """The longest runs of times without a gap."""
    for first in sorted(times):
        if first - 1 not in times:
            last = first
            while last + 1 in times:
                last += 1
            yield set(range(first, last + 1))


def _take_back(db: worlddb.Database, live: dict[str, Live], one: Drawn) -> None:
    """Unlink or close an edge, or make a hole in it: it is compared only as far as it is in force."""
    if not live:
        return
    edge = sorted(live)[one.target % len(live)]
    if one.act == "unlink":
        assert db.unlink(edge)
        del live[edge]
    else:
        end = one.start + one.length + 1 if one.act == "hole" else None
        assert db.retire(edge, valid_from=one.start, valid_to=end)
        gone = {time for time in live[edge].times if one.start <= time and (end is None or time < end)}
        live[edge] = live[edge]._replace(times=live[edge].times - gone)


def _contradictions(db: worlddb.Database, refs: list[str]) -> list[worlddb.Edge]:
    view = db.view()
    return [
        edge for ref in refs for edge in view.edges(ref, type="contradicts", direction="out", include_superseded=True)
    ]


def test_the_conflict_lasts_as_long_as_both_edges_do_and_both_sides_are_kept(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register(Tagged("lives_in", 1), functional=True)
        ann, lisbon, porto = (db.create("Entity", name, valid_from="2000-01-01") for name in ("Ann", "Lisbon", "Porto"))
        db.link(ann, "lives_in", lisbon, valid_from="2019-01-01", valid_to="2024-01-01")
        receipt = db.link(ann, "lives_in", porto, valid_from="2023-01-01")
        [note] = receipt.notes
        assert "functional relation" in str(note)
        conflict = db.view().edge(note.refs[0])
        assert str(conflict.valid) == "[2023-01-01T00:00:00Z, 2024-01-01T00:00:00Z)"
        assert {conflict.source, conflict.target} == {lisbon.ref, porto.ref}
        shown = {
            year: db.view(valid=f"{year}-06-01").get(lisbon).conflicts  # type: ignore[union-attr]
            for year in (2022, 2023, 2024)
        }
        assert shown == {2022: (), 2023: (porto.ref,), 2024: ()}
        assert len(db.view(valid="2023-06-01").edges(ann, type="lives_in")) == 2
        again = db.link(ann, "lives_in", lisbon, valid_from="2023-01-01", valid_to="2024-01-01")
        assert again.events == 1 and again.notes == receipt.notes, "a conflict that is recorded is not recorded twice"
        longer = db.link(ann, "lives_in", lisbon, valid_from="2023-01-01")
        assert longer.events == 2 and longer.notes[0] == receipt.notes[0]
        assert str(db.view().edge(longer.notes[1].refs[0]).valid) == "[2024-01-01T00:00:00Z, forever)"


@pytest.mark.parametrize("how", ["retire", "unlink"])
@pytest.mark.parametrize("which", [0, 1])
def test_the_conflict_ends_with_either_edge_in_the_same_commit_and_can_be_recorded_again(
    tmp_path: Path, how: str, which: int
) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register(Tagged("lives_in", 1), functional=True)
        ann, lisbon, porto = (db.create("Entity", name, valid_from="2000-01-01") for name in ("Ann", "Lisbon", "Porto"))
        edges = [db.link(ann, "lives_in", place, valid_from="2019-01-01") for place in (lisbon, porto)]
        [conflict] = edges[1].notes[0].refs
        before = db.view()
        receipt = db.retire(edges[which], at="2023-01-01") if how == "retire" else db.unlink(edges[which])
        assert receipt.events == 2
        assert [(note.code, note.refs) for note in receipt.notes] == [("conflict_ended", (conflict,))]
        assert db.view().get(lisbon).conflicts == db.view().get(porto).conflicts == ()  # type: ignore[union-attr]
        assert before.get(lisbon).conflicts == (porto.ref,)  # type: ignore[union-attr]
        if how == "retire":
            assert str(db.view().edge(conflict).valid) == "[2019-01-01T00:00:00Z, 2023-01-01T00:00:00Z)"
            assert len(db.view(valid="2022-01-01").conflicts(porto)) == 1
        again = db.link(ann, "lives_in", (lisbon, porto)[which], valid_from="2024-01-01")
        assert [note.code for note in again.notes] == ["functional_conflict"]
        assert db.view().get(lisbon).conflicts == (porto.ref,)  # type: ignore[union-attr]
        assert db.verify(deep=True).ok


def test_nothing_competes_in_the_hole_of_an_edge(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register(Tagged("lives_in", 1), functional=True)
        ann, lisbon, porto = (db.create("Entity", name, valid_from="2000-01-01") for name in ("Ann", "Lisbon", "Porto"))
        home = db.link(ann, "lives_in", lisbon, valid_from="2019-01-01")
        db.retire(home, valid_from="2021-01-01", valid_to="2022-01-01")
        year = db.link(ann, "lives_in", porto, valid_from="2021-01-01", valid_to="2022-01-01")
        assert year.notes == () and db.view(valid="2021-06-01").conflicts(porto) == []
        longer = db.link(ann, "lives_in", porto, valid_from="2020-01-01", valid_to="2023-01-01")
        told = [str(db.view().edge(note.refs[0]).valid) for note in longer.notes]
        assert told == ["[2020-01-01T00:00:00Z, 2021-01-01T00:00:00Z)", "[2022-01-01T00:00:00Z, 2023-01-01T00:00:00Z)"]


def test_a_hole_of_an_edge_is_one_of_the_conflicts_that_it_caused(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register(Tagged("lives_in", 1), functional=True)
        ann, lisbon, porto = (db.create("Entity", name, valid_from="2000-01-01") for name in ("Ann", "Lisbon", "Porto"))
        home = db.link(ann, "lives_in", lisbon, valid_from="2019-01-01")
        [note] = db.link(ann, "lives_in", porto, valid_from="2020-01-01").notes
        receipt = db.retire(home, valid_from="2021-01-01", valid_to="2022-01-01")
        assert [(each.code, each.refs) for each in receipt.notes] == [("conflict_ended", note.refs)]
        shown = {year: len(db.view(valid=f"{year}-06-01").conflicts(porto)) for year in (2019, 2020, 2021, 2022)}
        assert shown == {2019: 0, 2020: 1, 2021: 0, 2022: 1}
        assert db.redecide().differing == () and db.verify(deep=True).ok


def test_a_conflict_that_somebody_recorded_does_not_end_with_a_functional_edge(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register("refers_to", functional=True)
        one, other, third = (db.create("Entity", "", resolve=False) for _ in range(3))
        said = db.link(other, "contradicts", third)
        db.link(one, "refers_to", other)
        edge = db.link(one, "refers_to", third)
        assert [note.refs for note in edge.notes] == [(said.ref,)]
        assert db.unlink(edge).notes == ()
        assert [found.ref for found in db.view().conflicts(other)] == [said.ref]


def test_a_keyed_edge_that_is_found_again_is_no_second_edge(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register("refers_to", functional=True)
        one, other, third = (db.create("Entity", "", resolve=False) for _ in range(3))
        assert db.link(one, "refers_to", other, key="k").events == 1
        assert db.link(one, "refers_to", third, key="k").events == 0
        with db.batch() as tx:
            tx.link(one, "refers_to", third)
        assert tx.receipt.events == 2


def test_a_relation_declared_functional_for_a_store_may_be_plain_in_a_world(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        free = db.create("Topic", "free").ref
        one, other, third = (db.create("Entity", "", world=free, resolve=False) for _ in range(3))
        db.register("implies", functional=True)
        db.register("implies", world=free, functional=False)
        assert db.link(one, "implies", other).events + db.link(one, "implies", third).events == 2
        listed = [(known.functional, known.digest_of) for known in db.view().edge_types() if known.name == "implies"]
        assert listed == [(True, "built_in"), (False, "built_in")]
        db.unregister("implies", world=free)
        assert db.link(one, "implies", db.create("Entity", "", resolve=False)).events == 3


def test_the_conflict_of_a_functional_relation_is_part_of_the_world_that_holds_its_edge(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register(Showing("owns", 1), functional=True)
        world = db.create("Topic", "W").ref
        one = db.create("Entity", "", world=world, resolve=False)
        elsewhere = [db.create("Entity", "", resolve=False) for _ in range(2)]
        db.link(one, "owns", elsewhere[0])
        receipt = db.link(one, "owns", elsewhere[1])
        assert db.view().edge(receipt.notes[0].refs[0]).home == world
