"""Walks over edges (what depends on a world, shortest ways) beside a plain search in breadth."""

import gc
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from tests.support.model.stores import new_store
from worlddb import Database

TYPES = ("derived_from", "supersedes", "refers_to")
PARENTS = ("derived_from", "supersedes")


def drawn(db: Database, seed: int) -> tuple[list[str], list[tuple[int, str, int]]]:
    """A random graph whose edges lead from later worlds to earlier ones."""
    draw = random.Random(seed)
    with db.batch() as tx:
        made = [tx.create("Fact", f"{number}", valid_from="2020-01-01", resolve=False) for number in range(12)]
        edges = []
        for _ in range(draw.randrange(4, 22)):
            target, source = sorted(draw.sample(range(12), 2))
            edges.append((source, draw.choice(TYPES), target))
            tx.link(made[source], edges[-1][1], made[target], valid_from="2021-01-01")
    return [ref for ref in tx.receipt.refs if len(ref) == 32], edges


def in_breadth(edges: list[tuple[int, str, int]], start: int, depth: int) -> tuple[dict[int, int], set[int]]:
    """The worlds that depend on one by how far away they are, and those of the last step that lead on."""
    far = {start: 0}
    pending = [start]
    for at in pending:
        for source, kind, target in edges:
            if kind in PARENTS and target == at and source not in far:
                far[source] = far[at] + 1
                pending.append(source)
    reached = {node: steps for node, steps in far.items() if 0 < steps <= depth}
    onward = {
        target
        for source, kind, target in edges
        if kind in PARENTS and far.get(source, 0) == depth + 1 and far.get(target) == depth
    }
    return reached, onward


@pytest.mark.parametrize("seeds", [range(25), pytest.param(range(25, 1_000), marks=pytest.mark.soak)])
def test_impact_is_what_a_search_in_breadth_finds(seeds: range) -> None:
    for seed in seeds:
        with new_store() as db:
            refs, edges = drawn(db, seed)
            assert all(list(db.view(valid="2020-06-01").impact(ref)) == [] for ref in refs)
            view = db.view(valid="2022-01-01")
            # What was superseded is come to no more, but what depends on it is still told.
            held = {number for number in range(12) if view.get(refs[number]) is not None}
            seen = [edge for edge in edges if edge[0] in held]
            for start in range(12):
                depth = 1 + seed % 4
                reached, onward = in_breadth(seen, start, depth)
                found = view.impact(refs[start], depth=depth)
                assert {each.ref: each.depth for each in found} == {refs[node]: far for node, far in reached.items()}
                assert set(found.cut_off) == {refs[node] for node in onward}
                for each in found:
                    way = [refs[start], *each.path]
                    assert len(each.edges) == each.depth and way[-1] == each.ref
                    for one, other, edge in zip(way, way[1:], map(view.edge, each.edges), strict=False):
                        assert (edge.source, edge.target) == (other, one)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[tuple[Database, list[str]]]:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as db:
        refs = [db.create("Note", f"note {number}", content=f"{number}").ref for number in range(5)]
        for source, target in zip(refs[1:], refs, strict=False):
            db.link(source, "derived_from", target)
        yield db, refs


def test_a_shortest_way_and_what_a_world_was_made_of(chain: tuple[Database, list[str]]) -> None:
    db, refs = chain
    db.link(refs[4], "refers_to", refs[1])
    way = db.view().shortest_path(refs[0], refs[4])
    assert way is not None and (way.depth, way.path) == (2, (refs[1], refs[4]))
    made = db.view().shortest_path(refs[0], refs[4], types=["derived_from"], direction="in")
    assert made is not None and made.path == tuple(refs[1:])
    assert db.view().shortest_path(refs[0], refs[4], types=["derived_from"], direction="out") is None
    assert db.view().shortest_path(refs[0], refs[4], types=["derived_from"], depth=3) is None
    assert db.view().shortest_path(refs[0], refs[0]) is None
    assert [(basis.name, basis.steps) for basis in db.view().provenance(refs[4])] == [
        (f"note {3 - steps}", steps + 1) for steps in range(4)
    ]


def test_what_is_deprecated_retired_or_unlinked_leads_nowhere(chain: tuple[Database, list[str]]) -> None:
    db, refs = chain
    before = db.head().seq
    db.deprecate(refs[2])
    assert [each.ref for each in db.view().impact(refs[0])] == [refs[1]]
    assert [each.ref for each in db.view(seq=before).impact(refs[0])] == refs[1:]
    assert db.view().impact(refs[0], depth=1).cut_off == ()
    db.undeprecate(refs[2])
    assert db.view().impact(refs[0], depth=1).cut_off == (refs[1],)


def test_a_walk_stays_inside_of_what_a_view_sees(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as db:
        home, other = db.create("Place", "home").ref, db.create("Place", "other").ref
        study = db.create("Note", "study", world=home).ref
        near = db.create("Note", "near", world=home).ref
        far = db.create("Note", "far", world=other).ref
        db.link(near, "derived_from", study)
        db.link(far, "derived_from", study)
        assert {each.ref for each in db.view().impact(study)} == {near, far}
        inside = db.view(world=home)
        assert [each.ref for each in inside.impact(study)] == [near]
        assert inside.shortest_path(near, study) is not None
        with pytest.raises(worlddb.UnknownReference):
            inside.shortest_path(study, far)


@pytest.mark.parametrize(
    "wrong", [{"depth": 0}, {"depth": 21}, {"depth": "2"}, {"types": "derived_from"}, {"types": [7]}]
)
def test_a_wrong_walk_is_refused(chain: tuple[Database, list[str]], wrong: dict[str, object]) -> None:
    db, refs = chain
    with pytest.raises(worlddb.InputError):
        db.view().impact(refs[0], **wrong)  # type: ignore[arg-type]
    with pytest.raises(worlddb.InputError):
        db.view().shortest_path(refs[0], refs[1], direction="sideways")


def test_a_read_leaves_nothing_behind_for_the_collector(chain: tuple[Database, list[str]]) -> None:
    db, refs = chain
    last = refs[-1]
    reads = (
        lambda: db.view().provenance(last),
        lambda: db.view().impact(refs[0]),
        lambda: db.view().get(last),
        lambda: db.view().find(name="made of it"),
        lambda: db.view().shortest_path(last, refs[0]),
    )
    for read in reads:
        read()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for read in reads:
            read()
        gc.collect()
        left = [each for each in gc.garbage if type(each).__module__.startswith("worlddb.")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not left


def test_provenance_keeps_so_little_that_the_collector_does_not_go_through_the_heap(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as db:
        with db.batch() as tx:
            made = [tx.create("Fact", str(number), resolve=False) for number in range(300)]
            for number in range(1, len(made)):
                tx.link(made[(number - 1) // 4], "derived_from", made[number])
        view = db.view()
        gc.collect()
        gc.disable()
        try:
            before = len(gc.get_objects())
            found = view.provenance(tx.receipt.refs[0])
            # How many objects it has to look at more than before: of each world at most its source.
            assert len(gc.get_objects()) - before < 2 * len(found) and len(found) == len(made) - 1
        finally:
            gc.enable()
