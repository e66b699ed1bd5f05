"""Erases what was derived from an erased text, sums it up or is mentioned by it alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tests.support.faults.traces import find_traces
from tests.support.model.stores import new_store
from worlddb import (
    Database,
    EntityExtractor,
    Extraction,
    IdempotencyConflict,
    InputError,
    Node,
    Receipt,
    Relation,
    Turn,
    UnavailableError,
)

TALK = [
    Turn(speaker="Ines", text="Mail me at quoll@example.org, I am back from Timbuktu"),
    Turn(speaker="Marco", text="How was Timbuktu? Mail me at marmot@example.org"),
    Turn(speaker="Ines", text="Look at https://quoll.example.org/knee or come to Zanzibar"),
]
HERS_ALONE = ["quoll@example.org", "https://quoll.example.org/knee", "Zanzibar"]
ALSO_HIS = ["Timbuktu", "marmot@example.org"]


def erased(db: Database, *refs: str) -> list[bool]:
    found = [db.view().get(ref, include_superseded=True) for ref in refs]
    return [world is not None and world.erased for world in found]


def ref_of(db: Database, name: str) -> str:
    return db.view().find(name=name)[0].ref


def test_what_is_derived_from_an_erased_world_goes_with_it_at_any_remove() -> None:
    with new_store() as db:
        note = db.create("Note", "n", content="the badger pays the rent").ref
        fact = db.create("Fact", "f", content="rent: paid by a badger").ref
        digest = db.create("Summary", "s", content="on badgers and their rents").ref
        apart = db.create("Summary", "apart", content="on wombats").ref
        db.link(fact, "derived_from", note)
        db.link(digest, "derived_from", fact)
        db.unlink(db.link(apart, "derived_from", note))
        db.link(apart, "refers_to", note)
        plan = db.erasure_plan(note)
        assert (plan.worlds, plan.derived) == ((note, fact, digest), (fact, digest))
        receipt = db.erase(note, reason="request 7")
        assert erased(db, note, fact, digest, apart) == [True, True, True, False]
        assert find_traces(db.path, ["badger"]) == []
        told = db.erasure_receipt(receipt)
        assert [world.ref for world in told.worlds] == [note, fact, digest] and db.check_erasure(told).ok
        tombstone = db.view().get(digest, include_superseded=True)
        assert tombstone is not None and tombstone.erasure is not None and tombstone.erasure.reason == "request 7"


def test_a_summary_that_contains_an_erased_world_goes_with_it_and_other_containers_stay() -> None:
    with new_store() as db:
        trip, summary = db.create("Topic", "The trip").ref, db.create("Summary", "s", content="they met a badger").ref
        days = [db.create("Note", f"day {number}", content="a badger", world=summary).ref for number in range(2)]
        db.link(trip, "contains", days[0])
        db.erase(days[0], reason="request 7")
        assert erased(db, days[0], summary, trip, days[1]) == [True, True, False, False]


def test_what_was_made_of_it_stays_if_that_is_said_and_can_go_later_by_itself() -> None:
    with new_store() as db:
        note, summary = (db.create(kind, "", content=f"a badger in a {kind}").ref for kind in ("Note", "Summary"))
        db.link(summary, "derived_from", note)
        assert db.erasure_plan(note, derived=False).worlds == (note,)
        db.erase(note, reason="request 7", derived=False)
        assert erased(db, note, summary) == [True, False]
        assert db.erase(note, reason="request 8").events == 1
        assert erased(db, summary) == [True]
        assert [note.code for note in db.erase(note, reason="request 9").notes] == ["already_erased"]
        with pytest.raises(InputError, match="derived is str"):
            db.erase(note, reason="request 9", derived="no")  # type: ignore[arg-type]


def test_the_root_stays_whatever_it_is_said_to_be_derived_from() -> None:
    with new_store() as db:
        note = db.create("Note", "n", content="a badger").ref
        root = next(db.log(1, 1)).data["root"]
        assert db.link(root, "derived_from", note)
        db.erase(note, reason="request 7")
        assert erased(db, note, root) == [True, False]


def test_what_an_extractor_found_in_erased_turns_alone_goes_with_them() -> None:
    with new_store() as db:
        db.ingest(TALK, conversation="talk", extractor=EntityExtractor())
        ines = ref_of(db, "Ines")
        assert len(find_traces(db.path, HERS_ALONE)) >= len(HERS_ALONE)
        plan = db.erasure_plan(ines, turns=True)
        view = db.view()
        assert {world.name for ref in plan.derived if (world := view.get(ref))} == set(HERS_ALONE)
        db.erase(ines, reason="request 7", turns=True)
        assert find_traces(db.path, HERS_ALONE) == []
        assert all(db.view().find(name=name) for name in ALSO_HIS)
        db.erase(ref_of(db, "Marco"), reason="request 8", turns=True)
        assert find_traces(db.path, ALSO_HIS) == []


def test_what_somebody_else_has_said_something_of_stays() -> None:
    with new_store() as db:
        db.ingest(TALK, conversation="talk", extractor=EntityExtractor())
        mail, page, island = (ref_of(db, name) for name in HERS_ALONE)
        db.alias(mail, "the quoll's")
        db.revise(page, content="answered by nobody")
        db.link(db.create("Plan", "a journey").ref, "refers_to", island)
        db.erase(ref_of(db, "Ines"), reason="request 7", turns=True)
        assert erased(db, mail, page, island) == [False, False, False]


def test_a_turn_that_was_erased_before_keeps_nothing_that_it_mentioned() -> None:
    with new_store() as db:
        db.ingest(
            [Turn(text="I am in Timbuktu"), Turn(text="she is in Timbuktu")],
            extractor=EntityExtractor(),
            conversation="c",
        )
        first, second = (hit.ref for hit in db.view().recall("Timbuktu", lanes=("text",)).hits if hit.type == "Turn")
        db.erase(first, reason="request 7")
        assert db.view().find(name="Timbuktu")
        db.erase(second, reason="request 8")
        assert find_traces(db.path, ["Timbuktu"]) == []


def test_everywhere_and_forbid_are_about_what_was_named_and_not_about_what_was_made_of_it() -> None:
    with new_store() as db:
        for name in ("one", "two"):
            db.ingest([Turn(speaker="Ines", text="back from Timbuktu")], conversation=name, extractor=EntityExtractor())
        db.ingest([Turn(text="off to Timbuktu")], conversation="three", extractor=EntityExtractor())
        one, two, three = (world.ref for world in db.view().find(name="Timbuktu"))
        turn = next(hit.ref for hit in db.view().recall("back from", lanes=("text",)).hits if hit.type == "Turn")
        db.erase(turn, reason="request 7", everywhere=True, forbid=True)
        assert erased(db, one, two, three) == [True, True, False]
        assert not db.create("Turn", "", content="Ines: back from Timbuktu")
        assert db.create("Place", "Timbuktu")


def test_a_batch_of_erasures_takes_what_only_all_of_them_mention() -> None:
    with new_store() as db:
        db.ingest(TALK[:2], conversation="talk", extractor=EntityExtractor())
        ines, marco = ref_of(db, "Ines"), ref_of(db, "Marco")
        with db.batch() as tx:
            tx.erase(ines, reason="request 7", turns=True)
            tx.erase(marco, reason="request 8", turns=True, derived=False)
        assert db.view().find(name="Timbuktu") == [] and db.view().find(name="marmot@example.org")


def test_a_repeated_import_extracts_nothing_from_what_was_erased_unless_it_may_come_back() -> None:
    given: list[int] = []

    def extract(turns: Sequence[Turn]) -> Extraction:
        given.append(len(turns))
        found = EntityExtractor()(turns)
        whole = [
            Node(label=f"turn {number}", type="Fact", name="", content=f"heard: {turn.text}", key=f"fact {turn.text}")
            for number, turn in enumerate(turns)
        ]
        edges = [
            Relation(source=node.label, type="derived_from", target=number, key="of")
            for number, node in enumerate(whole)
        ]
        return Extraction(nodes=[*found.nodes, *whole], edges=[*found.edges, *edges])

    with new_store() as db:
        db.ingest(TALK, conversation="talk")
        db.erase(ref_of(db, "Ines"), reason="request 7", turns=True)
        db.ingest([*TALK, Turn(speaker="Marco", text="Hello?")], conversation="talk", extractor=extract)
        assert given == [2] and find_traces(db.path, HERS_ALONE) == []
        assert [world.content for world in db.view().find(type="Fact")] == [
            f"heard: {TALK[1].text}",
            "heard: Hello?",
        ]
        view = db.view()
        heard = [view.get(edge.target) for edge in view.edges(view.find(type="Fact")[1].ref, direction="out")]
        assert [world.content for world in heard if world] == ["Marco: Hello?"]
        db.ingest(TALK, conversation="talk", extractor=extract, revive=True)
        assert given == [2, 3] and db.view().find(name="Zanzibar")


def test_what_is_erased_while_an_extractor_is_at_work_is_not_extracted() -> None:
    with new_store() as db:
        db.ingest(TALK, conversation="talk")
        ines, seen = ref_of(db, "Ines"), []

        def extract(turns: Sequence[Turn]) -> Extraction:
            seen.append(len(turns))
            db.erase(ines, reason="request 7", turns=True)
            return EntityExtractor()(turns)

        db.ingest(TALK, conversation="talk", extractor=extract)
        assert seen == [3, 1] and find_traces(db.path, HERS_ALONE) == []

        def never_done(turns: Sequence[Turn]) -> Extraction:
            db.erase(db.create("Note", "n", content="short-lived").ref, reason="request 8")
            return Extraction()

        with pytest.raises(UnavailableError, match="Erasures kept interrupting"):
            db.ingest(TALK, conversation="talk", extractor=never_done)


def _uncompared(receipt: Receipt, again: Receipt) -> set[str]:
    """Of whom a retry says that nobody can compare their texts; all else that it says is what the receipt said."""
    *before, note = again.notes
    assert replace(again, notes=tuple(before)) == receipt and note.code == "retry_not_compared"
    assert len(set(note.refs)) == len(note.refs)
    return set(note.refs)


def test_a_retry_of_an_ingest_gets_the_same_receipt_although_its_turns_were_erased() -> None:
    with new_store() as db:
        receipt = db.ingest(TALK, conversation="talk", extractor=EntityExtractor(), idempotency_key="k")

        def again() -> Receipt:
            return db.ingest(TALK, conversation="talk", extractor=EntityExtractor(), idempotency_key="k")

        turn = db.view().find(type="Turn")[0].ref
        db.erase(db.create("Note", "n", content="of nobody there", world=turn), reason="request 6")
        assert again() == receipt, "what was erased is not of the ingest"
        plan = db.erasure_plan(ref_of(db, "Ines"), turns=True)
        db.erase(plan.worlds[0], reason="request 7", turns=True)
        told = _uncompared(receipt, again())
        assert set(plan.worlds) < told <= set(receipt.requested) and len(told) == plan.texts
        with pytest.raises(IdempotencyConflict):
            db.ingest(TALK[:1], conversation="talk", extractor=EntityExtractor(), idempotency_key="k")


def test_a_retry_is_extracted_from_the_turns_that_were_there_when_it_was_committed() -> None:
    more = [*TALK, Turn(speaker="Marco", text="I met otters in Lisbon")]
    with new_store() as db:
        db.ingest(TALK, conversation="talk", extractor=EntityExtractor())
        turns = [world.ref for world in db.view().find(type="Turn")]
        db.erase(turns[0], reason="request 7")
        receipt = db.ingest(more, conversation="talk", extractor=EntityExtractor(), idempotency_key="k")

        def again() -> Receipt:
            return db.ingest(more, conversation="talk", extractor=EntityExtractor(), idempotency_key="k")

        assert again() == receipt, "what was erased was gone already when it was committed"
        gone = {turns[1], ref_of(db, "Timbuktu"), ref_of(db, "marmot@example.org")}
        db.erase(turns[1], reason="request 8")
        assert _uncompared(receipt, again()) == gone
        # What is erased twice was gone when the request was committed, and what came back between is there.
        db.ingest(TALK[:1], conversation="talk", extractor=EntityExtractor(), revive=True)
        assert _uncompared(receipt, again()) == gone
        db.erase(turns[0], reason="request 9")
        assert _uncompared(receipt, again()) == gone
        with pytest.raises(IdempotencyConflict):
            db.ingest(TALK[1:], conversation="talk", extractor=EntityExtractor(), idempotency_key="k")
