"""Who is who in the published LoCoMo conversations: speakers stay two, and are found where others name them."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.test_importers_locomo import published
from worlddb import Extraction, Node, Turn

ADDRESSED = re.compile(r"\b(?:Hey|Hi|Hello|Thanks|Bye|Wow|Congrats|Cool|Yeah),? ([A-Z][a-z]+)\b")


@pytest.fixture(scope="module")
def conversations() -> list[dict[str, Any]]:
    with lzma.open(published(), "rt", encoding="utf-8") as stream:
        return [record["conversation"] for record in json.load(stream)]


def turns_of(conversation: dict[str, Any]) -> list[Turn]:
    return [
        Turn(text=turn["text"], speaker=turn["speaker"], session=name)
        for name, session in conversation.items()
        if re.fullmatch(r"session_\d+", name)
        for turn in session
    ]


def people_addressed(turns: Sequence[Turn]) -> Extraction:
    """Whoever is greeted or thanked by a name, once a spelling."""
    names = sorted({name for turn in turns for name in ADDRESSED.findall(turn.text)})
    return Extraction(nodes=[Node(label=name, type="Entity", name=name) for name in names])


def test_no_two_speakers_are_proposed_as_one(conversations: list[dict[str, Any]], tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        speakers = []
        for number, conversation in enumerate(conversations):
            turns = turns_of(conversation)
            speakers.append({turn.speaker for turn in turns})
            assert db.ingest(turns, conversation=f"{number}").proposals == ()
        assert all(len(names) == 2 for names in speakers)
        assert db.proposals(status=None) == []


def test_a_speaker_is_found_where_others_name_them(conversations: list[dict[str, Any]], tmp_path: Path) -> None:
    found: dict[str, set[str]] = {}
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        for number, conversation in enumerate(conversations):
            turns = turns_of(conversation)
            receipt = db.ingest(turns, conversation=f"{number}", extractor=people_addressed)
            (top,) = db.view().find(name=f"{number}", type="Conversation")
            speakers = {world.ref: world.name for world in db.view().children(top) if world.type == "Entity"}
            staged = {proposal.ref: proposal for proposal in db.proposals()}
            for ref in receipt.proposals:
                assert staged[ref].source not in speakers
                if staged[ref].target in speakers:
                    found.setdefault(speakers[staged[ref].target], set()).add(staged[ref].source_name)
    # Two of ten are never greeted by their full name: nicknames (Mel) are found by alias alone.
    assert len(found) == 8
    assert all(speaker in names for speaker, names in found.items())
