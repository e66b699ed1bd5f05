"""Resolves the published LoCoMo conversations: two speakers stay two, and are found."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.tools.importers.test_importers_locomo import published
from worlddb import Extraction, Node, Turn

WORD = re.compile(r"[A-Za-z]+")


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


def words_of(turns: Sequence[Turn]) -> Counter[str]:
    return Counter(word for turn in turns for word in WORD.findall(turn.text))


def names_in(turns: Sequence[Turn]) -> Extraction:
    """Every word that is only ever capitalised, as a naive extractor would find."""
    words = words_of(turns)
    names = sorted(word for word in words if word[0].isupper() and word[1:].islower() and word.lower() not in words)
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


def test_speakers_are_found_where_the_texts_name_them_in_full_or_for_short(
    conversations: list[dict[str, Any]], tmp_path: Path
) -> None:
    found: dict[str, dict[str, int]] = {}
    candidates = wrong = 0
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        for number, conversation in enumerate(conversations):
            turns = turns_of(conversation)
            receipt = db.ingest(turns, conversation=f"{number}", extractor=names_in)
            (top,) = db.view().find(name=f"{number}", type="Conversation")
            speakers = {world.ref: world.name for world in db.view().children(top) if world.type == "Entity"}
            staged = {proposal.ref: proposal for proposal in db.proposals()}
            words = words_of(turns)
            candidates += len(names_in(turns).nodes)
            for ref in receipt.proposals:
                proposal = staged[ref]
                assert proposal.source not in speakers
                if proposal.target in speakers:
                    speaker = f"{speakers[proposal.target]} in {number}"
                    found.setdefault(speaker, {})[proposal.source_name] = words[proposal.source_name]
                else:
                    wrong += 1
    print(candidates, "capitalised words,", wrong, "proposals of two of them;", found)
    assert len(found) == 10, "each speaker is named by the other"
    assert all(speaker.split()[0] in names for speaker, names in found.items())
    short = {name: count for names in found.values() for name, count in names.items()}
    # Ev for Evan (3 times) is too short to be told from other names.
    assert {"Mel": 58, "Caro": 2}.items() <= short.items() and "Ev" not in short
    assert all("Josh" not in names for names in found.values()), "Josh is another man than John"
