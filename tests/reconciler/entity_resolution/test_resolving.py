"""Tests the resolver: the adversarial table, the guards, the verdict and the blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from tests.support.model.stores import new_store
from worlddb import InputError, Thresholds
from worlddb.projections.tables.names.blocks import SAME_FORM, forms_around, holders, places_to_search
from worlddb.projections.tables.names.canonical import MAX_MATCHED_CHARACTERS, forms, normalise_name
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.entity_resolution.namesakes import MAX_CONSIDERED
from worlddb.reconciler.similarity.scores import Likeness, cosine, likeness
from worlddb.reconciler.similarity.verdict import Ambiguous, Considered, New, Resolved, StoreThresholds, judge

ALIKE: list[tuple[str, str, str]] = [
    ("Ada", " ADA ", "exact"),
    ("Al\u200bice", "Alice", "exact"),
    ("\u202eAlice\u202c", "Alice", "exact"),
    ("Sarah Chen", "Sara Chen", "fuzzy"),
    ("Smith, John", "John Smith", "fuzzy"),
    ("John A. Smith", "John Smith", "fuzzy"),
    ("Mac Donald", "MacDonald", "fuzzy"),
    ("Wang Wie", "Wang Wei", "fuzzy"),
    ("Katherine", "Catherine", "fuzzy"),
    ("Müller", "Mueller", "fuzzy"),
    ("Müller", "Muller", "fuzzy"),
    ("José García", "Jose Garcia", "fuzzy"),
    ("Катя Иванова", "Katya Ivanova", "fuzzy"),
    ("محمد علي", "محمّد علي", "fuzzy"),
    ("\u0410lice", "Alice", "fuzzy"),
    ("P\u0430yp\u0430l", "Paypal", "fuzzy"),
    ("王伟", "Wang Wei", "fuzzy"),
    ("James Michael Singer", "James M. Singer", "fuzzy"),
    ("Alok M. Srivastava", "Alok Mani Srivastava", "fuzzy"),
    ("Carl Anders Hergart", "Carl Hergart", "fuzzy"),
    ("Sam J. Milstein", "Samuel Milstein", "fuzzy"),
    ("Bob Smith", "Robert Smith", "fuzzy"),
    ("Mel", "Melanie", "fuzzy"),
    ("Donan Müller", "Donna Müller", "fuzzy"),
    ("Phillip", "Filip", "phonetic"),
    ("Mark", "Marc", "phonetic"),
    ("Erik", "Eric", "phonetic"),
    ("Lukas", "Lucas", "phonetic"),
    ("东京", "東京", "phonetic"),
]

APART: list[tuple[str, str, str | None]] = [
    ("Jon", "Jan", None),
    ("ASR1603", "ASR1605", "numbers"),
    ("iPhone 14", "iPhone 15", "numbers"),
    ("Python 3.11", "Python 3.1.1", "numbers"),
    ("Group Two", "Group Three", "numbers"),
    ("Hepatitis B", "Hepatitis C", "numbers"),
    ("John Smith", "John Smith Jr.", "generations"),
    ("John Smith Jr.", "John Smith Sr.", "generations"),
    ("Henry II", "Henry III", "generations"),
    ("John A Smith", "John B Smith", "initials"),
    ("Mr Smith", "Mrs Smith", "titles"),
    ("not admitted", "admitted", "negation"),
    ("non-smoker", "smoker", "negation"),
    ("unadmitted", "admitted", "negation"),
    ("hypertension", "hypotension", "negation"),
    ("Agnieszka Long", "Agnieszka O'Neill", "words"),
    ("Apple", "Apple Music", None),
    ("Java", "JavaScript", None),
    ("Git", "GitHub", None),
    ("Mary Ann Smith", "Mary Beth Smith", "words"),
    ("Katherine", "Katya", None),
    ("Catherine", "Katya", None),
    ("东京", "Tokyo", None),
    ("John", "Jane", None),
    ("", "", None),
    ("A", "B", None),
    ("2024", "2025", None),
]


def tier_of(found: Likeness) -> str | None:
    thresholds = Thresholds()
    if found.exact:
        return "exact"
    if found.fuzzy >= thresholds.fuzzy:
        return "fuzzy"
    return "phonetic" if found.phonetic >= thresholds.phonetic else None


@pytest.mark.parametrize(("one", "other", "tier"), ALIKE)
def test_these_may_be_one(one: str, other: str, tier: str) -> None:
    assert tier_of(likeness(one, other)) == tier_of(likeness(other, one)) == tier


@pytest.mark.parametrize(("one", "other", "guard"), APART)
def test_these_are_never_proposed(one: str, other: str, guard: str | None) -> None:
    for found in (likeness(one, other), likeness(other, one)):
        assert tier_of(found) is None
        if guard is not None:
            assert found.guard == guard


@pytest.mark.parametrize(("one", "other", "tier"), [row for row in ALIKE if row[2] != "exact"])
def test_what_may_be_one_is_proposed_by_ingest_and_not_by_a_plain_create(one: str, other: str, tier: str) -> None:
    with new_store() as db:
        known = db.create("Entity", other)
        assert not db.create("Entity", one).proposals
        receipt = db.create("Entity", one, resolve="all")
        assert receipt.proposals
        evidence = db.proposals()[0].evidence
        assert known.ref in {each["ref"] for each in evidence["considered"]} or evidence["tier"] == "exact"


@pytest.mark.parametrize(("one", "other"), [row[:2] for row in APART if all(row[:2])])
def test_rejected_pairs_are_not_proposed(one: str, other: str) -> None:
    with new_store() as db:
        db.create("Entity", other)
        assert not db.create("Entity", one, resolve="all").proposals


@examples(10)
@given(one=st.text(max_size=24), other=st.text(max_size=24))
def test_likeness_is_symmetric_and_between_nothing_and_one(one: str, other: str) -> None:
    found, back = likeness(one, other), likeness(other, one)
    assert found == pytest.approx(back) if found.guard is None and back.guard is None else found.guard and back.guard
    assert all(0.0 <= score <= 1.0 for score in found[:3])
    assert (found.exact == 1.0) == (normalise_name(one) == normalise_name(other) != "")


@given(name=st.text(max_size=40))
def test_a_form_is_ascii_and_the_form_of_a_form_is_itself(name: str) -> None:
    for form in forms(name):
        assert form.text.isascii() and form.text == form.text.lower()
        assert [again.text for again in forms(form.text)] == [form.text]


def test_long_names_are_compared_exactly_or_not_at_all() -> None:
    long = "word " * 2_000
    assert forms(long) == () and len(long) > MAX_MATCHED_CHARACTERS
    with new_store() as db:
        db.create("Entity", long)
        assert db.create("Entity", long.upper(), resolve="all").proposals
        assert not db.create("Entity", f"{long} x", resolve="all").proposals


def test_a_given_name_alone_is_somebody_where_few_are_and_nobody_in_the_whole_store() -> None:
    with new_store() as db:
        room = db.create("Topic", "the team", resolve=False)
        sarah = db.create("Entity", "Sarah Chen", world=room, resolve=False)
        assert not db.create("Entity", "Sarah", resolve="all").proposals
        for short in ("Sarah", "Sally"):
            found = db.create("Entity", short, world=room, resolve="all")
            assert [proposal.target for proposal in db.proposals() if proposal.ref in found.proposals] == [sarah.ref]
            db.retire(found)
        db.create("Entity", "Sarah Okafor", world=room, resolve=False)
        assert not db.create("Entity", "Sarah", world=room, resolve="all").proposals, "it may be either of two"


def test_somebody_is_found_in_their_own_conversation_though_many_elsewhere_have_the_same_name() -> None:
    with new_store() as db:
        with db.batch() as tx:
            rooms = [tx.create("Topic", f"room {number}", resolve=False) for number in range(40)]
            people = [tx.create("Entity", "Melanie", world=room, resolve=False) for room in rooms]
        here, known = (tx.receipt.refs[pending.position] for pending in (rooms[-1], people[-1]))
        assert db.create("Entity", "Melanye", world=here, resolve="all").proposals
        assert [proposal.target for proposal in db.proposals()] == [known]


def considered(node: int, **scores: Any) -> Considered:
    return Considered(node, f"{node}", "new", f"known {node}", Likeness()._replace(**scores))


def test_a_verdict_names_one_several_or_nobody_and_keeps_what_it_rests_on() -> None:
    thresholds = Thresholds()
    clear = judge([considered(1, fuzzy=0.93), considered(2, fuzzy=0.99)], thresholds)
    assert isinstance(clear, Resolved) and clear.match.node == 2
    assert clear.evidence["considered"][0]["scores"] == {"fuzzy": 0.99}
    assert clear.evidence["thresholds"]["fuzzy"] == 0.92
    close = judge([considered(2, fuzzy=0.98), considered(1, fuzzy=0.99)], thresholds)
    assert isinstance(close, Ambiguous) and [each.node for each in close.matches] == [1, 2]
    nobody = judge([considered(1, fuzzy=0.91, phonetic=0.84)], thresholds)
    assert isinstance(nobody, New) and nobody.evidence["considered_in_all"] == 1


def test_the_default_tiebreaker_prefers_exact_then_fuzzy_then_embedding_then_phonetic() -> None:
    ranked = [
        considered(4, phonetic=1.0),
        considered(3)._replace(embedding=0.9),
        considered(2, fuzzy=0.93),
        considered(1, exact=1.0),
    ]
    while ranked:
        found = judge(ranked, Thresholds())
        assert isinstance(found, Resolved) and found.match == ranked.pop()


def test_a_tiebreaker_of_the_callers_own_has_the_last_word() -> None:
    found = judge([considered(1, fuzzy=0.99), considered(2, fuzzy=0.95)], Thresholds(), lambda all_: all_[1:])
    assert isinstance(found, Resolved) and found.match.node == 2
    assert isinstance(judge([considered(1, fuzzy=0.99)], Thresholds(), lambda all_: []), New)


def test_cosine_is_of_the_direction() -> None:
    assert cosine([1.0, 1.0], [2.0, 2.0]) == pytest.approx(1.0)
    assert cosine([1.0, 0.0], [0.0, 3.0]) == cosine([0.0, 0.0], [1.0, 1.0]) == 0.0


def test_thresholds_are_configuration_by_type_and_the_ones_used_are_in_the_record(tmp_path: Path) -> None:
    by_type = {"Place": Thresholds(fuzzy=0.99, phonetic=1.0)}
    with worlddb.open(tmp_path / "store", resolver=by_type) as db:
        for kind in ("Place", "Entity"):
            db.create(kind, "Sarah Chen")
        assert not db.create("Place", "Sara Chen", resolve="all").proposals
        assert db.create("Entity", "Sara Chen", resolve="all").proposals
        assert db.proposals()[0].evidence["thresholds"]["fuzzy"] == 0.92
    assert StoreThresholds(Thresholds(fuzzy=0.5)).of("any").fuzzy == 0.5


@pytest.mark.parametrize("wrong", [{"fuzzy": 1.5}, {"phonetic": "high"}, {"margin": True}, {"most": 0}])
def test_thresholds_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Thresholds(**wrong)


@pytest.mark.parametrize("wrong", [0.9, {"Person": 0.9}, {1: Thresholds()}])
def test_an_invalid_resolver_is_refused(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(InputError):
        worlddb.open(tmp_path / "store", resolver=wrong)
    assert not (tmp_path / "store").exists()


def test_ended_erased_and_foreign_worlds_and_other_types_are_no_candidates() -> None:
    with new_store() as db:
        here, there = db.create("Topic", "here", resolve=False), db.create("Topic", "there", resolve=False)
        for make in (
            lambda: db.retire(db.create("Entity", "Sarah Chen", world=here)),
            lambda: db.erase(db.create("Entity", "Sarah Chen", world=here, resolve=False), reason="r"),
            lambda: db.create("Entity", "Sarah Chen", world=there),
            lambda: db.create("Place", "Sarah Chen", world=here),
        ):
            make()
            newcomer = db.create("Entity", "Sara Chen", world=here, resolve="all")
            assert not newcomer.proposals
            db.retire(newcomer)


def test_an_alias_is_found_as_a_name_is_until_it_is_taken_back() -> None:
    with new_store() as db:
        known = db.create("Entity", "Katherine Jones", aliases=["Tokyo Rose"])
        found = db.create("Entity", "Tokio Rose", resolve="all")
        assert found.proposals and db.proposals()[0].target == known.ref
        db.reject(found.proposals[0])
        db.retire(found)
        db.unalias(known, "Tokyo Rose")
        assert not db.create("Entity", "Tokio Rose", resolve="all").proposals


WRITTEN: list[tuple[str, str]] = [
    ("東京", "東京"),
    ("محمد علي", "محمّد علي"),
    ("Катя Иванова", "катя иванова"),
    ("José García", "jose garcia"),
    ("Müller", "MULLER"),
    ("Σωκράτης", "σωκρατης"),
    ("도쿄", "도쿄"),
    ("กรุงเทพ", "กรุงเทพ"),
    ("Al\u200bice", "Alice"),
    ("\u202eBob Okafor\u202c", "Bob Okafor"),
]


def test_names_in_any_script_are_found_by_recall_as_others_write_them() -> None:
    with new_store(embedder=None) as db:
        met = {
            name: db.create("Note", f"note {number}", content=f"I met {name} there", resolve=False).ref
            for number, (name, _) in enumerate(WRITTEN)
        }
        for name, otherwise in WRITTEN:
            assert db.view().recall(otherwise, k=1).hits[0].ref == met[name]


def test_five_thousand_people_of_one_name_are_one_entry_of_a_block_and_at_most_three_proposals() -> None:
    with new_store() as db:
        with db.batch() as tx:
            for _ in range(5_000):
                tx.create("Entity", "Wang Wei", resolve=False)
        assert len(db.create("Entity", "Wang Wei", resolve="all").proposals) == 3
        assert len(db.create("Entity", "Wang Weii", resolve="all").proposals) == 3
        with db._env.read() as txn:
            tables = Tables(txn)
            (form,) = forms("Wang Wei")
            seen = [
                text
                for place in places_to_search(form, by_given_name=False)
                for text in forms_around(tables, place).forms
            ]
            assert set(seen) == {b"wang wei", b"wang weii"} and len(list(holders(tables, "wang wei"))) == SAME_FORM


def test_blocks_follow_names_and_are_derived_again_and_forgotten_with_their_texts() -> None:
    def rows(db: worlddb.Database) -> tuple[int, int]:
        with db._env.read() as txn:
            tables = Tables(txn)
            return len(list(tables.forms.scan(b""))), len(list(tables.blocks.scan(b"")))

    with new_store() as db:
        one = db.create("Entity", "Jürgen Müller", aliases=["JM"])
        db.revise(one, name="Hans Müller")
        db.create("Turn", "Jürgen Müller")
        assert rows(db)[0] == 5
        assert db.verify(deep=True).ok
        db.erase(one, reason="r")
        assert rows(db) == (0, 0)
        assert db.verify(deep=True).ok
        before = db.head().root
        db.rebuild("tables")
        assert db.head().root == before and rows(db) == (0, 0)


def test_ingest_proposes_a_speaker_under_another_spelling_and_can_be_told_not_to() -> None:
    turns = [{"text": "hello", "speaker": "Caroline"}, {"text": "hi", "speaker": "Carolyne"}]
    with new_store() as db:
        db.ingest(turns, conversation="a")
        assert [(found.source_name, found.target_name) for found in db.proposals()] == [("Carolyne", "Caroline")]
        db.ingest(turns, conversation="b", resolve=False)
        assert len(db.proposals()) == 1
        assert db.ingest(turns, conversation="a").events == 0
        with pytest.raises(InputError):
            db.ingest(turns, conversation="c", resolve="fuzzy")


def test_a_name_that_very_many_have_elsewhere_is_found_in_a_world_of_ones_own() -> None:
    """The earliest 512 of a name were all that was looked at, wherever they were."""
    with new_store() as db:
        crowd, own = (db.create("Topic", name).ref for name in ("crowd", "own"))
        with db.batch() as tx:
            for _ in range(MAX_CONSIDERED + 1):
                tx.create("Topic", "Home", world=crowd, resolve=False)
        inner = db.create("Topic", "inner", world=own).ref
        known = db.create("Topic", "Home", world=inner, resolve=False).ref
        gone = db.create("Topic", "Home", world=own, resolve=False).ref
        db.move(gone, crowd)
        for resolve in ("exact", "all"):
            staged = db.create("Topic", "home", world=own, resolve=resolve).proposals
            assert [each.target for each in db.proposals() if each.ref in staged] == [known]
            db.reject(staged[0])
            db.retire(db.proposals(status=None)[-1].source)
