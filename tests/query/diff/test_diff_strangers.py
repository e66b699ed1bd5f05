"""Compares stores that share no hash by what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from worlddb import Turn

TURNS = [
    Turn(text=f"line {position}", speaker="Ada" if position % 2 else "Ben", source={"file": "chat", "record": position})
    for position in range(6)
]


def took_in(folder: Path, turns: list[Turn], conversation: str = "chat") -> Path:
    with worlddb.open(folder) as db:
        assert db.ingest(turns, conversation=conversation, at="2025-03-01")
    return folder


def changed(folder: Path, **asked: str) -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    found = worlddb.diff(folder / "a", folder / "b", **asked)  # type: ignore[arg-type]
    assert found.relation == "strangers"
    return [
        (change.change, change.path.rpartition("/")[2], [(d.field, d.a, d.b) for d in change.changes])
        for change in found.worlds
    ]


@pytest.mark.parametrize("by", ["key", "path"])
def test_two_stores_that_took_in_the_same_say_the_same(by: str, tmp_path: Path) -> None:
    for side in "ab":
        took_in(tmp_path / side, TURNS)
    found = worlddb.diff(tmp_path / "a", tmp_path / "b", by=by)
    assert (found.equal, found.related, found.by, found.worlds) == (True, False, by, ())
    assert found.worlds_visited == 1 + 1 + 1 + 2 + len(TURNS)
    assert not worlddb.diff(tmp_path / "a", tmp_path / "b").equal


@pytest.mark.parametrize("by", ["key", "path"])
def test_a_turn_that_says_something_else_is_the_one_difference(by: str, tmp_path: Path) -> None:
    took_in(tmp_path / "a", TURNS)
    other = [*TURNS[:3], Turn(text="line 3, or so", speaker="Ada", source=TURNS[3].source), *TURNS[4:]]
    took_in(tmp_path / "b", other)
    ((kind, _, details),) = changed(tmp_path, by=by)
    assert (kind, details) == ("revised", [("content", "Ada: line 3", "Ada: line 3, or so")])


def test_names_repeated_in_one_world_are_paired_in_order_and_that_is_said(tmp_path: Path) -> None:
    for side, texts in (("a", ["one", "two", "three"]), ("b", ["zero", "one", "three"])):
        with worlddb.open(tmp_path / side) as db:
            shelf = db.create("Topic", "Shelf")
            for text in texts:
                db.create("Book", "Emma", content=text, world=shelf, resolve=False)
    found = worlddb.diff(tmp_path / "a", tmp_path / "b", by="path")
    assert "in order" in found.notes[0]
    assert changed(tmp_path, by="path") == [("revised", "Emma", [("content", "two", "zero")])]


def test_by_key_a_record_is_found_wherever_it_lies_and_by_path_it_is_another(tmp_path: Path) -> None:
    took_in(tmp_path / "a", TURNS[:2])
    took_in(tmp_path / "b", [TURNS[0]])
    with worlddb.open(tmp_path / "b") as db:
        (conversation,) = db.view().find(type="Conversation")
        assert db.create("Turn", "", content="Ada: line 1", world=conversation.ref, source=TURNS[1].source)
    by_key = [change for change in changed(tmp_path, by="key") if change[0] in ("added", "removed")]
    by_path = [change for change in changed(tmp_path, by="path") if change[0] in ("added", "removed")]
    assert not [change for change in by_key if ("content", "Ada: line 1", "") in change[2]]
    assert [change for change in by_path if ("content", "Ada: line 1", "") in change[2]]


def test_what_only_one_of_them_has_is_added_or_removed_as_a_whole(tmp_path: Path) -> None:
    took_in(tmp_path / "a", TURNS)
    took_in(tmp_path / "b", TURNS)
    took_in(tmp_path / "b", TURNS[:2], conversation="another chat")
    assert [change[:2] for change in changed(tmp_path, by="path")] == [("added", "another chat")]
    mirrored = worlddb.diff(tmp_path / "b", tmp_path / "a", by="path")
    assert [change.change for change in mirrored.worlds] == ["removed"]


def test_times_that_nobody_gave_do_not_differ_and_times_that_somebody_gave_do(tmp_path: Path) -> None:
    for side, until in (("a", "2024-01-01"), ("b", "2024-06-01")):
        with worlddb.open(tmp_path / side) as db:
            ended = db.create("Fact", "given", content="x", valid_from="2023-01-01")
            db.retire(ended, at=until)
            unknown = db.create("Fact", "not given", content="x")
            db.retire(unknown)
    kinds = [(kind, name, [field for field, _, _ in details]) for kind, name, details in changed(tmp_path, by="path")]
    assert kinds == [("validity", "given", ["valid"])]


def test_a_comparison_by_content_can_be_limited_to_a_world(tmp_path: Path) -> None:
    took_in(tmp_path / "a", TURNS)
    took_in(tmp_path / "b", TURNS[:1])
    for side in "ab":
        with worlddb.open(tmp_path / side) as db:
            note = db.create("Note", "aside", content=side)
    with worlddb.open(tmp_path / "b") as db:
        assert db.view().get(note) is not None
    found = worlddb.diff(tmp_path / "a", tmp_path / "b", by="path", world=note)
    assert [change.path for change in found.worlds] == ["root/aside"]


def test_by_key_a_record_that_came_with_a_bundle_is_the_one_that_was_ingested(tmp_path: Path) -> None:
    """Where it came from is kept beside the importer's provenance, and made another key of it."""
    took_in(tmp_path / "a", TURNS)
    took_in(tmp_path / "source", TURNS)
    with worlddb.open(tmp_path / "source") as source, worlddb.open(tmp_path / "b") as db:
        (conversation,) = source.view().find(type="Conversation")
        source.export(conversation, tmp_path / "chat.bundle")
        db.import_bundle(tmp_path / "chat.bundle")
        for turn in db.view().find(type="Turn"):
            if turn.content.endswith("line 1"):
                told = {field: value for field, value in turn.source.items() if field != "imported"}
                db.revise(turn, content="Ada: another", valid_from=turn.valid.start, source=told)
    found = worlddb.diff(tmp_path / "a", tmp_path / "b", by="key")
    details = [detail for change in found.worlds for detail in change.changes]
    assert [(detail.field, detail.a, detail.b) for detail in details] == [("content", "Ada: line 1", "Ada: another")]
    assert not [note for note in found.notes if "for several worlds" in note], "nobody was paired by order"


def test_what_is_known_by_reference_only_is_said_to_be_that_and_compared_with_itself(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "source") as db:
        team, office = db.create("Team", "Search"), db.create("Place", "Office")
        db.link(db.create("Note", "lunch", world=team), "refers_to", office)
        db.export(team, tmp_path / "team.bundle")
        db.export(office, tmp_path / "office.bundle")
    for side in "ab":
        with worlddb.open(tmp_path / side) as db:
            db.import_bundle(tmp_path / "team.bundle")
            db.create("Note", "", content="nameless, and something else", resolve=False)
    with worlddb.open(tmp_path / "b") as db:
        assert changed(tmp_path, by="path") == []
        db.import_bundle(tmp_path / "office.bundle")
    (details,) = [change[2] for change in changed(tmp_path, by="path") if change[0] == "revised"]
    assert [detail[0] for detail in details] == ["content"]
    assert "known by reference only" in details[0][1] and "Office" not in details[0][1]
    with worlddb.open(tmp_path / "c") as db:
        db.create("Note", "", content="nameless, and something else", resolve=False)
    found = worlddb.diff(tmp_path / "a", tmp_path / "c", by="path")
    told = [detail.a for change in found.worlds if change.change == "removed" for detail in change.changes]
    assert any("known by reference only" in text for text in told)
    assert not any("erased or damaged" in text for text in told)


def test_erased_and_damaged_texts_are_distinguished(tmp_path: Path) -> None:
    for side in "ab":
        with worlddb.open(tmp_path / side) as db:
            db.create("Note", "keep", content="kept")
            gone = db.create("Note", "gone", content="to be erased")
            if side == "a":
                db.erase(gone, reason="asked for")
    told = [detail for change in changed(tmp_path, by="path") for detail in change[2]]
    assert ("content", "(no text: erased)", "") in told


def test_statements_are_compared_with_the_times_that_were_given_for_them(tmp_path: Path) -> None:
    said = {
        "a": ("<x:desk> <x:stands> <x:hall> .", "<x:desk> <x:is> <x:oak> .", "<x:lamp> <x:is> <x:lit> ."),
        "b": ("<x:desk> <x:stands> <x:hall> .", "<x:desk> <x:is> <x:elm> .", "<x:lamp> <x:is> <x:lit> ."),
    }
    for side, (both, own, taken_back) in said.items():
        with worlddb.open(tmp_path / side) as db:
            room = db.create("Place", "Room").ref
            db.read_rdf(room, f"{both}\n{own}".encode(), "application/n-triples", valid_from="2024-01-01")
            db.read_rdf(room, taken_back.encode(), "application/n-triples")
            db.unstate(room, subject=worlddb.Iri("x:lamp"))
    assert changed(tmp_path, by="path") == [
        (
            "statements",
            "Room",
            [
                ("statement", "<x:desk> <x:is> <x:oak> . from 2024-01-01T00:00:00Z", ""),
                ("statement", "", "<x:desk> <x:is> <x:elm> . from 2024-01-01T00:00:00Z"),
            ],
        )
    ]
