"""The resolver proposes identities across compatible types, and across no others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.model.stores import new_store
from worlddb import Database, Extraction, Node, Turn


def pairs(db: Database) -> list[tuple[str, str]]:
    view = db.view()
    types = {world.ref: world.type for world in view.find()}
    return [(types[each.source], types[each.target]) for each in db.proposals()]


def test_a_person_that_an_extractor_finds_may_be_the_speaker_of_that_name() -> None:
    def extractor(turns: Sequence[Turn]) -> Extraction:
        return Extraction(nodes=[Node(label="m", type="Person", name="Mel", content="She plays the piano.")])

    turns = [Turn(text="I bought a piano.", speaker="Melanie"), Turn(text="Which?", speaker="Caroline")]
    with new_store(embedder=None) as db:
        db.ingest(turns, extractor=extractor)
        (proposal,) = db.proposals()
        assert (proposal.source_name, proposal.target_name) == ("Mel", "Melanie")
        assert pairs(db) == [("Person", "Entity")]


@pytest.mark.parametrize("first", ["Person", "Entity"])
def test_either_may_come_first_and_by_any_tier(first: str) -> None:
    second = {"Person": "Entity", "Entity": "Person"}[first]
    with new_store(embedder=None) as db:
        db.create(first, "Sarah Chen")
        assert db.create(second, "sarah chen").proposals
        assert db.create(second, "Sara Chen", resolve="all").proposals
        db.create(first, "Dana Reyes", resolve=False)
        db.create(second, "Dana Reyes", resolve=False)
        assert len(db.recluster().proposals) == 1


@pytest.mark.parametrize("kind", ["Turn", "Session", "Note", "Place", "Type"])
def test_nothing_else_is_an_entity_unless_somebody_says_so(kind: str) -> None:
    with new_store(embedder=None) as db:
        db.create(kind, "Sunday", resolve=False)
        assert not db.create("Entity", "Sunday", resolve="all").proposals
        db.create("Entity", "Monday")
        assert not db.create(kind, "Monday").proposals


def test_what_is_said_to_be_a_person_is_an_entity_too() -> None:
    with new_store(embedder=None) as db:
        user, person = db.create("Type", "User"), db.create("Type", "Person")
        assert db.create("User", "Ada") and not db.create("Entity", "Ada").proposals
        db.link(user, "subtype_of", person)
        assert db.create("User", "Ben") and db.create("Entity", "Ben").proposals


def test_other_types_are_compatible_along_the_subtypes_that_count_where_the_candidate_is() -> None:
    with new_store(embedder=None) as db:
        team, elsewhere = (db.create("Topic", name).ref for name in ("team", "elsewhere"))
        assert db.create("Engineer", "Ada", world=team)
        assert not db.create("Person", "Ada", world=team).proposals
        engineer, worker, person = (db.create("Type", name, world=team) for name in ("Engineer", "Worker", "Person"))
        db.link(engineer, "subtype_of", worker)
        last = db.link(worker, "subtype_of", person)
        assert db.create("Person", "Ben", world=team) and db.create("Engineer", "Ben", world=team).proposals
        assert db.create("Engineer", "Cem", world=team) and db.create("Person", "Cem", world=team).proposals
        assert db.create("Engineer", "Dan", world=elsewhere)
        assert not db.create("Person", "Dan", world=elsewhere).proposals
        inner = db.create("Topic", "inner", world=team)
        assert db.create("Worker", "Eve", world=inner) and db.create("Person", "Eve", world=inner).proposals
        assert not db.create("Robot", "Eve", world=inner).proposals
        db.unlink(last)
        assert db.create("Engineer", "Fay", world=team) and not db.create("Person", "Fay", world=team).proposals
