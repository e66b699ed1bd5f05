"""``Database.ingest``: which worlds turns become."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import worlddb
from worlddb import Turn


def _members(db: worlddb.Database, name: str, kind: str) -> list[str]:
    (world,) = db.view().find(name=name, type=kind)
    return [member.content or member.name for member in db.view().children(world)]


TURNS = [
    Turn(text="one", speaker="Ada", session="Monday", at="2025-03-03T09:00:00Z"),
    Turn(text="two", speaker="Ben", session="Tuesday", at="2025-03-04T09:00:00Z"),
    Turn(text="three", session="Monday", at="2025-03-03T09:05:00Z"),
]


def test_without_a_session_each_turn_goes_to_the_one_that_it_names(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        assert db.ingest(TURNS, conversation="team")
        assert _members(db, "Monday", "Session") == ["Ada: one", "three"]
        assert _members(db, "Tuesday", "Session") == ["Ben: two"]
        assert _members(db, "team", "Conversation") == ["Monday", "Tuesday", "Ada", "Ben"]


def test_a_session_that_is_given_takes_all_turns(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        assert db.ingest(TURNS, conversation="team", session="All")
        assert _members(db, "All", "Session") == ["Ada: one", "Ben: two", "three"]


def test_the_same_turns_again_change_nothing_and_a_further_one_adds_its_tail(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        first = db.ingest(TURNS, conversation="team")
        again = db.ingest(TURNS, conversation="team")
        assert (again.events, again.root) == (0, first.root)
        grown = db.ingest([*TURNS, Turn(text="four", session="Tuesday")], conversation="team")
        assert grown.events == 2
        assert _members(db, "Tuesday", "Session") == ["Ben: two", "four"]


def test_containers_begin_with_their_first_turn_so_that_past_views_see_them(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.ingest(TURNS, conversation="team")
        then = db.view(valid="2025-03-03T12:00:00Z")
        (team,) = then.find(name="team", type="Conversation")
        assert [world.name for world in then.children(team)] == ["Monday", "Ada", "Ben"]


def test_a_session_whose_turns_are_out_of_order_begins_with_the_earliest_of_them(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.ingest([TURNS[2], TURNS[0], TURNS[1]], conversation="team")
        (monday,) = db.view().find(name="Monday", type="Session")
        assert str(monday.valid) == "[2025-03-03T09:00:00Z, forever)"
        assert len(list(db.view(valid="2025-03-03T09:01:00Z").children(monday))) == 1


def test_no_turns_make_a_conversation_with_one_session_and_an_extractor_may_fill_it(tmp_path: Path) -> None:
    def extractor(turns: object) -> worlddb.Extraction:
        return worlddb.Extraction(nodes=[worlddb.Node(label="a", type="Fact", name="a fact")])

    with worlddb.open(tmp_path / "store") as db:
        assert db.ingest([], conversation="team", extractor=extractor)
        assert _members(db, "session", "Session") == ["a fact"]


@pytest.mark.parametrize("moved", ["Conversation", "Session", "Turn", "Entity", "Fact"])
def test_what_an_operator_moved_to_another_world_is_not_followed_by_a_later_import(tmp_path: Path, moved: str) -> None:
    """The key had the world in it, and counted wherever its record was: what the first tenant wrote landed there."""

    def extractor(turns: Sequence[Turn]) -> worlddb.Extraction:
        seen.append([turn.text for turn in turns])
        found = worlddb.Node(label="a", type="Fact", name="a fact", content=turns[0].text, key="fact")
        edges = [worlddb.Relation(source=0, type="causes", target="a", key="said")]
        return worlddb.Extraction(nodes=[found], edges=edges)

    seen: list[list[str]] = []
    with worlddb.open(tmp_path / "store") as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        turns = [Turn(text=text, speaker="Ann") for text in ("knee", "hip")]
        db.ingest(turns, into=mine, extractor=extractor)
        record = db.view(world=mine).find(type=moved)[0]
        (around,) = db.view().containers(record)
        db.move(record, theirs, out_of=around)
        before = db.view().hash(theirs)
        longer = [Turn(text=text, speaker="Ann") for text in ("other knee", "hip", "shoulder")]
        receipt = db.ingest(longer, into=mine, extractor=extractor)
        assert receipt.events and db.view().hash(theirs) == before
        view = db.view(world=mine)
        assert [turn.content for turn in view.find(type="Turn") if "hip" not in turn.content] in (
            ["Ann: other knee", "Ann: shoulder"],
            ["Ann: shoulder", "Ann: other knee"],
        )
        for turn in view.find(type="Turn"):
            said = view.edges(turn.ref, type="refers_to", direction="out")
            assert len(said) == 1, "each turn says who spoke"
        assert [fact.content for fact in view.find(type="Fact")] == ["other knee"]
        assert db.ingest(longer, into=mine, extractor=extractor).events == 0
        first = next(turn for turn in view.find(type="Turn") if "other knee" in turn.content)
        db.erase(first, reason="r")
        db.ingest(longer, into=mine, extractor=extractor)
        assert seen[-1] == ["hip", "shoulder"], "what was erased is not shown to the extractor"
        assert not [turn for turn in db.view().find(type="Turn") if "other knee" in turn.content]
        assert db.verify(deep=True).ok and db.redecide().differing == ()


def test_conversations_of_one_name_in_two_worlds_are_two(tmp_path: Path) -> None:
    """The key did not have the world, so the second revised the turns of the first, where the first had put them."""

    def extractor(turns: object) -> worlddb.Extraction:
        found = worlddb.Node(label="a", type="Fact", name="a fact", key="fact")
        return worlddb.Extraction(
            nodes=[found], edges=[worlddb.Relation(source=0, type="refers_to", target="a", key="said")]
        )

    with worlddb.open(tmp_path / "store") as db:
        root = db.view().log()
        (made,) = [entry for entry in root if entry.event == "store"]
        worlds = [db.create("Topic", name).ref for name in "AB"]
        texts = {worlds[0]: ["knee", "hip"], worlds[1]: ["price"], None: ["weather"]}
        for world, said in texts.items():
            turns = [Turn(text=text, speaker="Ann") for text in said]
            first = db.ingest(turns, into=world, extractor=extractor)
            assert first.events and not first.revised
            shown = made.data["root"] if world is None else world
            for name in {world, shown, world and str(world)[:12]} if isinstance(world, str) else {world, shown}:
                assert db.ingest(turns, into=name, extractor=extractor).events == 0
        for world in worlds:
            view = db.view(world=world)
            assert [turn.content for turn in view.find(type="Turn")] == [f"Ann: {text}" for text in texts[world]]
            assert [fact.name for fact in view.find(type="Fact")] == ["a fact"]
            assert [one.name for one in view.find(type="Entity")] == ["Ann"]
        assert len(db.view().find(type="Conversation")) == 3
