"""Recalls inside worlds of many members, however their membership is found out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database
from worlddb.projections.indexes.fields import TextHit
from worlddb.query.lanes.text_lane import PresentTextLane
from worlddb.query.recall import candidates
from worlddb.query.snapshot.snapshot import Inhabitants, InteriorCache, members_below
from worlddb.query.snapshot.valid_period import Choice

MEMBERS = 40
OTHERS = 900
WAYS = {"listed at once": (1_000, 15), "listed after a look": (3, 15), "looked up hit by hit": (3, 0)}
SHAPES: dict[str, dict[str, Any]] = {
    "all lanes": {},
    "words": {"lanes": ["text"]},
    "meaning": {"lanes": ["vector"]},
    "groups": {"group": 2},
}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A world of a few members, at two depths, among many others that speak of the same thing."""
    path: Path = tmp_path_factory.mktemp("worlds")
    with worlddb.open(path / "store") as opened:
        with opened.batch() as tx:
            inner = tx.create("World", "Garden")
            nested = tx.create("World", "Shed", world=inner)
            for number in range(OTHERS):
                tx.create("Note", f"note {number}", content=f"the garden in spring, day {number % 31} of {number}")
            for number in range(MEMBERS):
                where = nested if number % 3 else inner
                tx.create("Note", f"bed {number}", content=f"the garden bed {number} in spring", world=where)
        opened.embed()
        yield opened


def forget(db: Database) -> None:
    """Who lies inside of worlds that were asked about before."""
    db._reader.interiors = InteriorCache(db._reader.interiors.place)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_found_in_a_world_does_not_hang_on_how_its_members_are_told(
    db: Database, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for way, (small, for_a_hit) in WAYS.items():
        monkeypatch.setattr(candidates, "SMALL_WORLD", small)
        monkeypatch.setattr(candidates, "MAX_LISTED_PER_HIT", for_a_hit)
        forget(db)
        found[way] = db.view().recall("What did the garden look like in spring?", world="Garden", k=12, **SHAPES[shape])
    forget(db)
    monkeypatch.setattr(candidates, "SMALL_WORLD", 1_000)
    for way in ("listed", "known from before"):
        found[way] = db.view().recall("What did the garden look like in spring?", world="Garden", k=12, **SHAPES[shape])
    first = found["listed at once"]
    assert len(first.groups or first.hits) >= (2 if shape == "groups" else 12)
    assert {hit.name.partition(" ")[0] for hit in first.hits} == {"bed"}
    assert all(each == first for each in found.values())


def test_a_world_whose_members_are_rare_among_the_hits_is_listed_and_asked_for_alone(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, bool]] = []
    search = PresentTextLane.search

    def counted(
        self: PresentTextLane, text: str, *, limit: int, nodes: Collection[int] | None = None, **more: Any
    ) -> list[TextHit]:
        asked.append((limit, nodes is not None))
        return search(self, text, limit=limit, nodes=nodes, **more)

    monkeypatch.setattr(PresentTextLane, "search", counted)
    monkeypatch.setattr(candidates, "SMALL_WORLD", 3)
    forget(db)
    db.view().recall("the garden in spring, day", world="Garden", k=12, lanes=["text"])
    listed, asked[:] = list(asked), []
    monkeypatch.setattr(candidates, "MAX_LISTED_PER_HIT", 0)
    forget(db)
    db.view().recall("the garden in spring, day", world="Garden", k=12, lanes=["text"])
    assert listed[-1] == (64, True)
    assert not any(among for _, among in asked)
    assert max(limit for limit, _ in asked) > max(limit for limit, _ in listed)


def test_members_are_listed_further_where_listing_stopped(db: Database) -> None:
    view = db.view()
    with view._snapshot() as snapshot:
        world = snapshot.tables.node_of(bytes.fromhex(view.find(name="Garden")[0].ref))
        assert world is not None
        every = members_below(snapshot.tables, world, view.moment)
        some = Inhabitants(snapshot.tables, world, view.moment)
        assert every is not None
        assert len(every) == MEMBERS + 1
        assert [some.listed(limit) for limit in (0, 5, MEMBERS)] == [None, None, None]
        assert some.listed(MEMBERS + 1) == every
        assert some.listed() == every


def test_more_hits_than_were_wanted_are_fetched_in_steps_that_grow(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a query by a vector takes them, that sees identities as one: the first hits may be all of one."""
    monkeypatch.setattr(candidates, "SMALL_WORLD", 3)
    monkeypatch.setattr(candidates, "MAX_LISTED_PER_HIT", 0)
    forget(db)
    view, asked = db.view(), list[int]()
    with view._snapshot() as snapshot:
        world = snapshot.tables.node_of(bytes.fromhex(view.find(name="Garden")[0].ref))
        assert world is not None
        inside = sorted(members_below(snapshot.tables, world, view.moment) or ())

        def fetch(limit: int, nodes: Collection[int] | None) -> list[TextHit]:
            asked.append(limit)
            return [TextHit(node, 1, 0, 1.0) for node in inside[:limit]]

        passed = list(candidates.Gate(snapshot, world, Choice()).passing(fetch, wanted=1, first=2))
    assert [each.node for each in passed] == inside
    assert asked == [2, 8, 32, 128]


def test_a_world_that_is_asked_about_again_and_again_is_listed_for_the_recalls_to_come(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its members are told hit by hit until to list them would have taken no longer."""
    monkeypatch.setattr(candidates, "SMALL_WORLD", 3)
    monkeypatch.setattr(candidates, "MAX_LISTED_PER_HIT", 30)
    listed = Inhabitants.listed
    limits = list[int | None]()

    def counted(self: Inhabitants, limit: int | None = None) -> set[int] | None:
        limits.append(limit)
        return listed(self, limit)

    monkeypatch.setattr(Inhabitants, "listed", counted)
    forget(db)
    found, asked = [], list[list[int | None]]()
    for _ in range(4):
        found.append(db.view().recall("the garden bed in spring", world="Garden", k=12, lanes=["text"]))
        asked.append(list(limits))
        limits.clear()
    assert len(found[0].hits) == 12 and all(each == found[0] for each in found)
    assert asked[0] == [3]
    assert [limit for some in asked[1:] for limit in some if limit is not None and limit > MEMBERS + 1] != []
    assert asked[-1] == []


@pytest.mark.parametrize("most", [1_000, 0])
def test_what_is_planned_in_a_world_or_about_somebody_is_found_though_they_are_of_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Who lies in a world is listed, or looked up, as of now, so nothing that comes was found to be left out."""
    monkeypatch.setattr(candidates, "SMALL_WORLD", most)
    with worlddb.open(tmp_path / "store") as db:
        with db.batch() as tx:
            plans, ana = tx.create("Topic", "Plans"), tx.create("Entity", "Ana", resolve=False)
            for home, begins in (("Porto", "2020-01-01"), ("Rome", "2090-01-01")):
                said = tx.create("Fact", "", content=f"Ana lives in {home}.", world=plans, valid_from=begins)
                tx.link(said, "refers_to", ana, valid_from=begins)
        inside: list[dict[str, Any]] = [{"world": "Plans"}, {"about": "Ana", "type": "Fact"}]
        for where in inside:
            found = db.view().recall("Where will Ana live?", k=2, lanes=["text"], **where)
            assert [hit.content for hit in found] == ["Ana lives in Rome.", "Ana lives in Porto."], where
