"""What ``ingest`` makes of what an extractor finds in turns, the default one above all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from tests.support.model.stores import new_store
from worlddb import Database, EntityExtractor, Extraction, InputError, Node, Relation, Turn
from worlddb.tools.importers import ingest_files

EXTRACT = EntityExtractor()
TURNS = [
    Turn(text="Hey Ben, I moved to New York on 1 May 2024.", speaker="Ada", at="2024-05-02"),
    Turn(text="I like New York! It has the MoMA.", speaker="Ben", at="2024-05-03"),
]


def members(db: Database, kind: str, conversation: str = "team") -> list[str]:
    """The names of the worlds of a type directly in a conversation."""
    (top,) = db.view().find(name=conversation, type="Conversation")
    return [world.name for world in db.view().children(top) if world.type == kind]


def referred_to(db: Database, content: str) -> list[tuple[str, str]]:
    """The role and the name of what a turn refers to."""
    view = db.view()
    (turn,) = (hit for hit in view.recall(content, lanes=("text",)).hits if hit.name == "" and content in hit.content)
    edges = view.edges(turn.ref, direction="out", type="refers_to")
    worlds = ((edge.properties["role"], view.get(edge.target)) for edge in edges)
    return [(role, world.name) for role, world in worlds if world is not None]


def test_turns_refer_to_what_they_mention_and_each_form_is_one_world_of_the_conversation() -> None:
    with new_store() as db:
        db.ingest(TURNS, conversation="team", extractor=EXTRACT)
        assert members(db, "Entity") == ["Ada", "Ben", "Ben", "New York", "MoMA"]
        assert members(db, "Date") == ["2024-05-01"]
        told = [("speaker", "Ada"), ("mention", "Ben"), ("mention", "New York"), ("mention", "2024-05-01")]
        assert referred_to(db, "I moved") == told
        assert referred_to(db, "I like") == [("speaker", "Ben"), ("mention", "New York"), ("mention", "MoMA")]
        assert db.verify(deep=True).ok


def test_an_edge_says_where_in_the_turn_the_mention_stands() -> None:
    with new_store() as db:
        db.ingest([Turn(text="go to New York")], extractor=EXTRACT)
        (york,) = db.view().find(name="New York")
        (edge,) = db.view().edges(york.ref, direction="in", type="refers_to")
        assert edge.properties == {"role": "mention", "start": 6, "end": 14}


def test_the_same_turns_again_change_nothing_and_grown_ones_add_their_tail() -> None:
    with new_store() as db:
        first = db.ingest(TURNS, conversation="team", extractor=EXTRACT)
        again = db.ingest(TURNS, conversation="team", extractor=EXTRACT)
        assert (again.events, again.root) == (0, first.root)
        grown = [*TURNS, Turn(text="the MoMA is near Central Park", speaker="Ada", at="2024-05-04")]
        receipt = db.ingest(grown, conversation="team", extractor=EXTRACT)
        # The turn and its place, who says it, the park and its place, and two mentions.
        assert receipt.events == 2 + 1 + 2 + 2
        assert members(db, "Entity") == ["Ada", "Ben", "Ben", "New York", "MoMA", "Central Park"]


def test_sessions_of_one_conversation_share_what_they_mention_and_two_conversations_do_not() -> None:
    with new_store() as db:
        for session in ("Monday", "Tuesday"):
            db.ingest([Turn(text="go to New York")], conversation="team", session=session, extractor=EXTRACT)
        db.ingest([Turn(text="go to New York")], conversation="other", extractor=EXTRACT)
        assert [members(db, "Entity", name) for name in ("team", "other")] == [["New York"]] * 2


def test_a_speaker_who_is_mentioned_is_proposed_and_not_merged() -> None:
    with new_store() as db:
        receipt = db.ingest(TURNS, conversation="team", extractor=EXTRACT)
        (proposal,) = db.proposals()
        assert receipt.proposals == (proposal.ref,)
        assert {proposal.source_name, proposal.target_name} == {"Ben"}
        assert proposal.status == "pending"


def test_recall_by_a_name_finds_who_mentions_it() -> None:
    with new_store() as db:
        db.ingest(TURNS, conversation="team", extractor=EXTRACT)
        found = db.view().recall("What about MoMA?", lanes=("entity",))
        assert [hit.content for hit in found.hits] == ["Ben: I like New York! It has the MoMA."]


def test_what_was_erased_is_not_found_again_by_a_repeated_ingest() -> None:
    with new_store() as db:
        db.ingest(TURNS, conversation="team", extractor=EXTRACT)
        (york,) = db.view().find(name="New York")
        db.erase(york.ref, reason="request 7")
        receipt = db.ingest(TURNS, conversation="team", extractor=EXTRACT)
        assert "not_restored" in [note.code for note in receipt.notes]
        assert db.view().find(name="New York") == []
        db.ingest(TURNS, conversation="team", extractor=EXTRACT, revive=True)
        assert [world.ref for world in db.view().find(name="New York")] == [york.ref]


def test_erasing_a_speaker_with_their_turns_spares_the_turns_that_only_mention_them() -> None:
    with new_store() as db:
        db.ingest(TURNS, conversation="team", extractor=EXTRACT)
        (speaker, mentioned) = db.view().find(name="Ben", type="Entity")
        db.erase(mentioned.ref, reason="request 7", turns=True)
        assert len(db.view().recall("York", lanes=("text",)).hits) == 3
        db.erase(speaker.ref, reason="request 8", turns=True)
        assert [hit.type for hit in db.view().recall("York", lanes=("text",)).hits] == ["Entity", "Turn"]


pieces = st.sampled_from(("Anna ", "met ", "NASA ", "in 2019 ", "$5 ", "the ", "Dr. Who ", "a@b.org ", ". "))
said = st.lists(pieces, min_size=1, max_size=12).map("".join)


@examples(8)
@given(turns=st.lists(st.builds(Turn, text=said, speaker=st.sampled_from(("", "Anna", "me"))), max_size=4))
def test_any_turns_twice_are_the_turns_once(turns: list[Turn]) -> None:
    with new_store() as db:
        first = db.ingest(turns, extractor=EXTRACT)
        again = db.ingest(turns, extractor=EXTRACT)
        assert (again.events, again.root) == (0, first.root)


def keyed(turns: Sequence[Turn]) -> Extraction:
    """A world with a key, one without, and a keyed edge from the last turn to the former."""
    nodes = [Node(label="a", type="Fact", name="kept", key="kept"), Node(label="b", type="Fact", name="new")]
    return Extraction(nodes=nodes, edges=[Relation(source=len(turns) - 1, type="implies", target="a", key="so")])


def test_with_a_key_a_candidate_is_one_world_and_without_it_a_new_one_each_time() -> None:
    with new_store() as db:
        for _ in range(2):
            db.ingest([Turn(text="hello")], extractor=keyed)
        (kept,) = db.view().find(name="kept")
        assert len(db.view().find(name="new")) == 2
        assert len(db.view().edges(kept.ref, direction="in", type="implies")) == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source": 1}, "position of a turn"),
        ({"target": -1}, "position of a turn"),
        ({"source": True}, "position of a turn"),
        ({"source": 0.5}, "label"),
        ({"key": 5}, "key"),
        ({"key": "x" * 5_000}, "key"),
    ],
)
def test_an_edge_of_an_extractor_that_names_what_there_is_not_is_refused(changed: dict[str, Any], message: str) -> None:
    sound: dict[str, Any] = {"source": 0, "type": "refers_to", "target": 0}
    edge = Relation(**(sound | changed))
    with new_store() as db:
        head = db.head()
        with pytest.raises(InputError, match=message):
            db.ingest([Turn(text="hello")], extractor=lambda turns: Extraction(edges=[edge]))
        assert db.head() == head


def test_two_candidates_with_one_key_are_refused() -> None:
    nodes = [Node(label=label, type="Fact", name=label, key="one") for label in ("a", "b")]
    with new_store() as db:
        head = db.head()
        with pytest.raises(InputError, match="2 nodes the key 'one'"):
            db.ingest([Turn(text="hello")], extractor=lambda turns: Extraction(nodes=nodes))
        assert db.head() == head


def test_a_turn_is_not_named_where_there_is_none() -> None:
    edge = Relation(source=0, type="refers_to", target=0)
    with new_store() as db, pytest.raises(InputError, match="was given no turns") as refused:
        db.ingest([], extractor=lambda turns: Extraction(edges=[edge]))
    assert "-1" not in str(refused.value)


@pytest.mark.parametrize("kind", [5, "\ud800", "x" * 300])
def test_an_edge_with_a_key_and_no_sound_type_is_refused(kind: Any) -> None:
    edge = Relation(source=0, type=kind, target=0, key="k")
    with new_store() as db, pytest.raises(InputError, match="type"):
        db.ingest([Turn(text="hello")], extractor=lambda turns: Extraction(edges=[edge]))


def test_the_key_of_an_edge_counts_for_its_type_and_its_ends_alone() -> None:
    ends: list[tuple[str | int, str, str | int]] = [
        (0, "refers_to", "a"),
        (0, "implies", "a"),
        ("a", "implies", 0),
        (1, "refers_to", "a"),
        ("a", "implies", "b"),
        ("b", "implies", "a"),
    ]
    edges = [Relation(source=source, type=kind, target=target, key="k") for source, kind, target in ends]

    def extract(turns: Sequence[Turn]) -> Extraction:
        return Extraction(nodes=[Node(label=name, type="Fact", name=name, key=name) for name in "ab"], edges=edges)

    with new_store() as db:
        turns = [Turn(text="hello"), Turn(text="world")]
        first = db.ingest(turns, extractor=extract)
        (world,) = db.view().find(name="a")
        assert len([edge for edge in db.view().edges(world.ref) if edge.type != "contains"]) == len(ends)
        again = db.ingest(turns, extractor=extract)
        assert (again.events, again.root) == (0, first.root)


def test_long_names_of_conversation_and_session_leave_room_for_mentions() -> None:
    with new_store() as db:
        names: dict[str, Any] = {"conversation": "c" * 2_000, "session": "s" * 2_000}
        first = db.ingest([Turn(text="go to New York")], extractor=EXTRACT, **names)
        assert db.ingest([Turn(text="go to New York")], extractor=EXTRACT, **names).root == first.root
        assert len(db.view().find(name="New York")) == 1


@pytest.mark.parametrize(("changed", "message"), [({"key": None}, "key"), ({"resolve": "perhaps"}, "resolve")])
def test_a_candidate_with_a_wrong_key_or_tier_is_refused(changed: dict[str, Any], message: str) -> None:
    sound: dict[str, Any] = {"label": "a", "type": "Fact", "name": "n"}
    node = Node(**(sound | changed))
    with new_store() as db, pytest.raises(InputError, match=message):
        db.ingest([Turn(text="hello")], extractor=lambda turns: Extraction(nodes=[node]))


def test_an_import_of_files_takes_an_extractor_for_conversations_and_documents(tmp_path: Path) -> None:
    chat, notes = tmp_path / "chat.jsonl", tmp_path / "notes.md"
    chat.write_text('{"text": "go to New York", "speaker": "Ada"}\n')
    notes.write_text("# Notes\n\ngo to New York\n")
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        first = ingest_files(db, [chat, notes], extractor=EXTRACT)
        assert ingest_files(db, [chat, notes], extractor=EXTRACT).events == 0 < first.events
        assert members(db, "Entity", "chat") == ["Ada", "New York"]
        assert len(db.view().find(name="New York", type="Entity")) == 2, "one in the talk, and one in the document"
