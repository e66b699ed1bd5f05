"""Looking a world up by the key that its caller gave it, and by its name inside another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import InputError
from worlddb.projections.tables.storage.rows import Tables


def test_a_world_is_found_by_its_key_as_its_moment_and_its_place_know_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mine, theirs = db.create("Tenant", "mine").ref, db.create("Tenant", "theirs").ref
        before = db.view()
        first = db.create("Note", "n", content="one", key="k", world=mine).ref
        within = db.create("Note", "n", content="two", key="k", key_within=theirs, world=theirs).ref
        for view, ref in ((db.view(), first), (db.view(world=mine), first), (db.view(world=theirs), within)):
            found = view.keyed("k")
            assert found is not None and found.ref == ref
        assert before.keyed("k") is None and db.view().keyed("another") is None
        db.retire(first, at="2020-01-01")
        ended = db.view().keyed("k")
        assert ended is not None and ended.ref == first and ended.closed
        again = db.create("Note", "n", content="three", key="k", world=mine, anew=True).ref
        latest = db.view().keyed("k")
        assert latest is not None and latest.ref == again != first
        db.erase(again, reason="r")
        gone = db.view().keyed("k")
        assert gone is not None and gone.erased
        for wrong in ("", 7, None):
            with pytest.raises(InputError):
                db.view().keyed(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("others", [0, 1, 2, 3, 10, 11, 50])
def test_a_name_inside_a_world_is_found_however_many_are_called_so_elsewhere(
    tmp_path: Path, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All worlds of the name were looked at, wherever they lay."""
    db = worlddb.open(tmp_path / "store", embedder=None)
    places = [db.create("Topic", f"place {number}").ref for number in range(others + 2)]
    with db.batch() as tx:
        for number, place in enumerate(places):
            for name in ("notes", f"of {number}", "notes"):
                tx.create("Topic", name, world=place, resolve=False)
        deep = tx.create("Topic", "deep", world=places[-1])
        tx.create("Topic", "notes", world=deep, resolve=False)
    view = db.view()
    every = view.find(name="notes")
    for place in places[-2:]:
        inside = {world.ref for world in view.find(world=place)}
        assert view.find(name="notes", world=place) == [world for world in every if world.ref in inside]
    assert [len(view.find(name="notes", world=place)) for place in places[-2:]] == [2, 3]
    read, whole = list[int](), Tables.incoming

    def counted(self: Tables, node: int, *args: Any, **how: Any) -> Any:
        read.append(node)
        return whole(self, node, *args, **how)

    monkeypatch.setattr(Tables, "incoming", counted)
    assert len(view.find(name="notes", world=places[-1])) == 3
    assert len(read) <= 40
    db.close()


def test_conflicts_are_listed_without_a_world(tmp_path: Path) -> None:
    """It was a raw TypeError, so that who knew of none could ask of none."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        one, other, third, fourth, fifth = (
            db.create("Fact", name, content=name, valid_from="2020-01-01").ref for name in "abcde"
        )
        db.link(one, "contradicts", other)
        db.link(third, "contradicts", fourth)
        db.link(fifth, "contradicts", one)
        every = [(edge.source, edge.target) for edge in db.view().conflicts()]
        assert sorted(every) == sorted([(one, other), (third, fourth), (fifth, one)])
        assert db.view().conflicts(third) == [edge for edge in db.view().conflicts() if edge.source == third]
        db.retire(fourth, at="2024-01-01")
        assert len(db.view().conflicts()) == 2 == len(list(db.view().contradictions()))
        assert len(db.view().conflicts(overlaps=("2020-01-01", "2025-01-01"))) == 3
        tenant = db.create("Tenant", "t").ref
        assert db.view(world=tenant).conflicts() == []
