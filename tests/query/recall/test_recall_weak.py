"""Recall says when its nearest hits rest on little, and changes no answer by that."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.running import LocalRunner
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database, Turn
from worlddb.query.question.question import without_opening
from worlddb.query.recall.answer import SCATTER, asks_something, chance_level
from worlddb.query.recall.scoring import FITTED, WORDS_ALONE
from worlddb.reconciler.embedding import multilingual
from worlddb.tools import agents
from worlddb.tools.mcp import tool_arguments
from worlddb.tools.mcp.session import Session

SAID = (
    "Sarah lives in Porto.",
    "The animal hospital in Main Street is open on Sundays.",
    "Interest rates are rising again.",
    "I repaired the bicycle.",
    "The lease allows pets.",
    "Tom prefers tea to coffee.",
)
ANSWERED = ("Who fixed the bike?", "What does Tom drink?", "Where does Sarah live?", "Are pets allowed by the lease?")
UNRELATED = ("What is the boiling point of tungsten?", "asdf qwer zxcv", "How do submarines dive?")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store, closed."""
    with worlddb.open(tmp_path_factory.mktemp("made") / "store") as opened:
        for text in SAID:
            opened.create("Fact", "", content=text)
        opened.embed()
        return opened.path


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Iterator[Database]:
    """A copy of it, opened."""
    shutil.copytree(made, tmp_path / "store")
    with worlddb.open(tmp_path / "store") as opened:
        yield opened


def test_the_models_at_hand_were_measured() -> None:
    assert set(SCATTER) == {worlddb.StaticEmbedder().model, multilingual.MODEL} == set(FITTED) - {WORDS_ALONE}


@pytest.mark.parametrize(("question", "is_told"), [("Wie tauchen die U-Boote?", True), (UNRELATED[2], False)])
def test_a_weak_answer_says_that_the_model_knows_little_but_english(db: Database, question: str, is_told: bool) -> None:
    found = db.view().recall(question)
    assert found.weak and ("little but English" in found.note) == is_told


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Can you tell me where Sarah lives?", "where Sarah lives?"),
        ("hey, please remind me again what Tom drinks", "what Tom drinks"),
        ("I forgot: in which city does Sarah live?", "in which city does Sarah live?"),
        ("Do you know Sarah?", "Do you know Sarah?"),
        ("Tell me about Sarah", "Tell me about Sarah"),
        ("Where does Sarah live?", "Where does Sarah live?"),
    ],
)
def test_how_somebody_asks_to_be_told_makes_no_answer_weaker(db: Database, question: str, subject: str) -> None:
    """ "Can you tell me" made the right answer weak, since no memory has these words."""
    assert without_opening(question) == subject
    asked, plain = db.view().recall(question), db.view().recall(subject)
    assert [(hit.ref, hit.confidence) for hit in asked] == [(hit.ref, hit.confidence) for hit in plain]


@pytest.mark.parametrize("exact", [False, True])
def test_an_answer_that_rests_on_nothing_says_so(db: Database, exact: bool) -> None:
    for question in UNRELATED:
        found = db.view().recall(question, exact=exact)
        assert found.hits and found.weak
        assert found.note.startswith("perhaps nothing here is about that")
    for question in ANSWERED:
        found = db.view().recall(question, exact=exact)
        assert (found.weak, found.note) == (False, "")


def test_a_weak_answer_says_so_to_a_model(db: Database) -> None:
    desk = Session(db)
    for questions, is_weak in ((UNRELATED, True), (ANSWERED, False)):
        for question in questions:
            assert call(desk, "memory_recall", query=question)["weak"] == is_weak


def test_a_name_or_a_time_in_the_question_is_something_to_rest_on(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.ingest([Turn(speaker="Ada", text=text) for text in SAID], at="2024-04-01")
        db.embed()
        view = db.view()
        assert view.recall("tungsten boils").weak
        assert not view.recall("What did Ada say of tungsten?").weak
        assert not view.recall("tungsten in April 2024", asked="2024-05-01").weak
        assert view.recall("tungsten in April 2021", asked="2024-05-01").weak


@pytest.mark.parametrize(
    "options", [{"lanes": ["text"]}, {"fusion": "combmax"}, {"lanes": ["text", "entity"]}], ids=str
)
def test_where_meaning_was_not_compared_or_not_weighed_nothing_is_called_weak(
    db: Database, options: dict[str, Any]
) -> None:
    assert not any(db.view().recall(question, **options).weak for question in UNRELATED)


def test_a_model_that_nobody_measured_is_never_called_weak(tmp_path: Path) -> None:
    flat = worlddb.CallableEmbedder(lambda texts: [[1.0, float(len(text))] for text in texts], "flat/1")
    with worlddb.open(tmp_path / "store", embedder=flat) as db:
        db.create("Fact", "", content=SAID[0])
        db.embed()
        assert not db.view().recall("tungsten", lanes=["vector"]).weak


def test_what_is_weak_in_a_confined_view_depends_on_nothing_outside(db: Database) -> None:
    place = db.create("Topic", "place")
    db.create("Fact", "", content="The heron stands in the pond.", world=place)
    db.embed()
    before = [db.view(world=place).recall(question).weak for question in UNRELATED]
    with db.batch() as tx:
        for number in range(300):
            tx.create("Note", "", content=f"note {number} says how submarines dive")
    db.embed()
    assert [db.view(world=place).recall(question).weak for question in UNRELATED] == before == [True] * 3
    assert not db.view().recall("How do submarines dive?").weak


def test_all_words_of_the_question_in_a_long_text_are_something_to_rest_on(tmp_path: Path) -> None:
    """Among short ones its words score little, and the note said that hardly one occurred."""
    long = " ".join(f"Zone {number} asks for walls of {number * 3} cm and stairs of 120 cm." for number in range(25))
    with worlddb.open(tmp_path / "store") as db:
        db.create("Fact", "", content=f"{long} The emergency phone of the site is 555-0199.")
        for number in range(12):
            db.create("Fact", "", content=f"I bought bread for {number} euros.")
        db.embed()
        found = db.view().recall("What is the emergency phone of the site?", min_confidence=0.1)
        assert len(found.hits) == 1 and found.hits[0].content.endswith("555-0199.")
        assert not found.weak and "perhaps" not in found.note
        assert db.view().recall("What is the emergency phone of the submarine?").weak


def test_by_chance_the_nearest_of_more_texts_is_nearer() -> None:
    levels = [chance_level(0.1, count) for count in (0, 1, 2, 8, 100, 3_000, 10**6)]
    assert levels == sorted(levels)
    assert levels[3] == pytest.approx(0.204, abs=0.001) and levels[5] == pytest.approx(0.400, abs=0.001)


# -- confidence


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A talk that is long enough for a fit to count, in which Dave says what somebody may ask of Calvin."""
    said = [
        f"The {place} was {way} on that day."
        for place in ["harbour", "market", "tower", "garden"]
        for way in ["busy", "calm", "closed", "open", "full", "grey", "loud", "warm"]
    ]
    turns = [
        Turn(text=f"{text} Number {number}.", speaker=("Dave", "Calvin")[number % 2])
        for number, text in enumerate(said * 4)
    ]
    bought = Turn(text="I bought a vintage guitar from a musician in Boston.", speaker="Dave")
    path = tmp_path_factory.mktemp("talk") / "store"
    with worlddb.open(path) as opened:
        opened.ingest([*turns, bought], conversation="talk", at="2025-03-01")
        opened.embed()
        yield opened


def test_hits_and_answers_have_a_confidence_that_what_is_asked_of_another_has_less_of(talk: Database) -> None:
    asked, swapped = (talk.view().recall(f"Which guitar did {who} buy in Boston?") for who in ("Dave", "Calvin"))
    assert asked.hits[0].content == swapped.hits[0].content
    for found in (asked, swapped):
        assert all(hit.confidence is not None and 0 <= hit.confidence <= 1 for hit in found.hits)
    assert (asked.confidence or 0) > 0.5 and (swapped.confidence or 1) < 0.25
    assert asked.hits[0].confidence > max(hit.confidence or 0 for hit in asked.hits[1:])  # type: ignore[operator]
    nobody = talk.view().recall("Who paints the ceilings of churches?")
    assert nobody.weak and (nobody.confidence or 0) < (asked.confidence or 0) and not asked.weak


def test_the_note_of_a_weak_answer_says_only_what_is_true_of_its_hits(talk: Database, tmp_path: Path) -> None:
    """It said of every such answer that its hits are about other people or have few words, of a user's own as well."""
    few, others = "none of the first has more than half", "not by or about whom or what the question names"
    found = talk.view().recall("Which violin did Calvin sell to a musician in Boston?")
    assert found.weak and others in found.note and found.hits[0].content.startswith("Dave")
    found = talk.view().recall("Who paints the ceilings of churches?")
    assert found.weak and others not in found.note
    with worlddb.memory(tmp_path / "memory", user="maya", session="chat") as mem:
        mem.add([{"role": "user", "content": f"I walked past shop number {number} today"} for number in range(120)])
        found = mem.recall("What did I pay for the blue lamp in the shop?")
        assert found.weak and few in found.note and others not in found.note
        assert all(hit.content.startswith("maya") for hit in found.hits)


def test_what_has_all_that_is_asked_or_names_whom_is_not_weak(tmp_path: Path) -> None:
    """The right hit was first, and the note said that the nearest in meaning is not about whom the question names."""
    with worlddb.memory(tmp_path / "memory", user="nora", session="chat") as mem:
        mem.add([{"role": "user", "content": f"I walked past {each} number {number} today"}
                 for number in range(60) for each in ("shop", "tower")])  # fmt: skip
        mem.add([{"role": "user", "content": "Use 500 g rye flour and 10 g salt, how much you like"}])
        mem.add([{"role": "user", "content": "ugh, the dentist moved Max to the 19th, same time"}])
        mem.add("A rye loaf costs 4.60 euros.", about="rye loaf")
        mem.add("Max is eight years old.", about="Max")
        for question, first in (
            ("How much is a rye loaf?", "A rye loaf costs"),
            ("What did a rye loaf cost last week?", "A rye loaf costs"),
            ("When is Max's dentist appointment?", "nora: ugh, the dentist"),
        ):
            found = mem.recall(question)
            assert found.hits[0].content.startswith(first) and not found.weak and "perhaps" not in found.note
        assert mem.recall("Which car did Max sell to the rye baker?").weak


def test_in_a_small_world_of_a_user_what_was_never_said_is_weak_too(tmp_path: Path) -> None:
    """Of fewer than a hundred memories none were, and what has a name was near any question with it."""
    things = (
        "rug",
        "lamp",
        "kettle",
        "tent",
        "mirror",
        "drill",
        "sofa",
        "clock",
        "piano",
        "ladder",
        "mattress",
        "bell",
    )
    with worlddb.memory(tmp_path / "memory", user="greta") as mem:
        for text in (f"{verb} the {thing}" for thing in things for verb in ("cleaned", "sold")):
            mem.add(text)
        mem.add("Kofi moved in next door")
        mem.add("Kofi's van is at the garage until Monday.", about="Kofi")
        for question in ("what is Kofi's phone number?", "what colour is Kofi's cat?", "which school did Kofi attend?"):
            assert mem.recall(question).weak
        for question in ("where is Kofi's van?", "what should I know about Kofi?", "anything new about Kofi?"):
            assert not mem.recall(question).weak


OF_MARTA = (
    *("Marta lives in York.", "Marta's sister is Lena.", "Marta goes to choir on Wednesdays.", "Lena studies law."),
    *("Marta's bike is in the cellar.", "Lena moved to Leeds in May.", "Marta works as a nurse at the Royal."),
    *("Tom drives a white van.", "Tom's workshop is on Mill Lane.", "Marta's dog Bruno weighs 12 kilos."),
)


@pytest.mark.parametrize(
    ("question", "is_known"),
    [
        *(("When is Marta's birthday?", False), ("What colour is Marta's bike?", False), ("How old is Lena?", False)),
        *(("Who is Marta's boss?", False), ("Where does Lena work?", False), ("Where does Marta live?", True)),
        *(("When is choir?", True), ("Who is Marta's sister?", True), ("What colour is Tom's van?", True)),
        *(("How much does Bruno weigh?", True), ("When did Lena move to Leeds?", True)),
    ],
)
def test_a_time_a_number_a_person_a_place_or_a_colour_that_nobody_told_is_weak(
    tmp_path: Path, question: str, is_known: bool
) -> None:
    with worlddb.memory(tmp_path / "memory", user="nora") as mem:
        for text in OF_MARTA:
            mem.add(text)
        assert mem.recall(question).weak != is_known


def test_of_hits_without_a_word_of_the_question_none_are_said_to_be_shared(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "memory", user="nora") as mem:
        mem.add([{"role": "user", "content": text} for text in ("I like tea.", "My cat is old.")])
        for question in ("Quantum chromodynamics lattice", "🐈‍⬛?"):
            found = mem.recall(question)
            assert found.weak and "none of them has a telling word" in found.note and "share" not in found.note


OF_KIT = {
    "I live at 14 Pine Court.": "What's my address?",
    "I play badminton on Tuesdays.": "Which sport do I play?",
    "I play the oboe and the flute.": "Which instrument do I play?",
    "My boss is Nadia.": "Who's my manager?",
    "I drive a Renault Clio.": "What car do I have?",
    "I had surgery on my knee in 2021.": "What operation did I have?",
    "I bank with Monzo.": "Which bank do I use?",
    "My rent is 940 euros.": "How much rent do I pay?",
}


def test_everyday_words_for_what_is_asked_are_found_and_not_weak_by_whatever_name(tmp_path: Path) -> None:
    """Of the asker's own statements, which say "I", their name found none, and "address" no "live"."""
    with worlddb.memory(tmp_path / "mem", user="kit") as mem:
        for place in ("library", "museum", "bakery", "bridge", "cinema", "school", "ferry", "market", "pool", "tower"):
            for said in ("opens at nine", "has a new roof", "closes early", "was flooded", "sells postcards"):
                mem.add(f"The {place} {said} on Sundays.")
                mem.add(f"The old {place} near the harbour {said}.")
        for text in OF_KIT:
            mem.add(text)
        for text, mine in OF_KIT.items():
            for question in (mine, mine.replace("my", "Kit's").replace("do I", "does Kit").replace("did I", "did Kit")):
                found = mem.recall(question)
                assert found.hits[0].content == text and not found.weak, question
        for question in ("What's Kit's blood group?", "Which newspaper does Kit read?", "Who cuts my hair?"):
            assert mem.recall(question).weak, question


def test_of_what_perhaps_answers_nothing_none_is_said_to_be_still_to_begin(tmp_path: Path) -> None:
    """A weak answer named a plan about something else as what is to come, and gave both reasons."""
    clock = worlddb.ManualClock(worlddb.parse_time("2025-03-01T12:00:00Z"))
    with worlddb.memory(tmp_path / "mem", user="dev", clock=clock) as mem:
        for text in (*SAID, "I live in Lisbon.", "My rent is 900 euros.", "I like tea.", "I drive a Volvo."):
            mem.add(text)
        mem.add("I start at Initech.", since="2025-04-01")
        mem.add("My ferry to Ibiza leaves from Valencia.", since="2025-05-01")
        weather = mem.recall("Who will be the next president?")
        assert weather.weak and "begin" not in weather.note and weather.note.startswith("perhaps nothing here")
        ferry = mem.recall("Where will my ferry leave from?")
        assert not ferry.weak and "this is still to begin: 'My ferry" in ferry.note and "Initech" not in ferry.note


def test_of_what_perhaps_answers_nothing_none_is_said_to_come_first(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "memory", user="nora") as mem:
        for name in ("Seidel", "Braun"):
            mem.add(f"The family doctor is Dr. {name}.", about="Nora")
        found = mem.recall("Quantum chromodynamics lattice?")
        assert found.weak and found.competing and "compete" not in found.note
        assert "compete" in mem.recall("Who is the family doctor?").note


def test_what_is_less_likely_than_wanted_is_left_out_and_nothing_else_changes(talk: Database) -> None:
    for options in ({}, {"exact": True}, {"group": 3}, {"lanes": ["text", "entity"]}, {"k": 3}):
        question = "Which guitar did Dave buy in Boston?"
        every = talk.view().recall(question, **options)
        for least in (0, 0.05, 0.3, 1):
            found = talk.view().recall(question, min_confidence=least, **options)
            kept = [hit.ref for hit in every.hits if (hit.confidence or 0) >= least]
            assert [hit.ref for hit in found.hits] == kept
            assert [hit.ref for group in found.groups for hit in group.hits] == (kept if every.groups else [])
            assert all(group.hits for group in found.groups)
            assert (found.confidence, found.weak) == (every.confidence, every.weak)
            left = len(every.hits) - len(kept)
            told = "1 hit is left out, since its" if left == 1 else f"{left} hits are left out, since their"
            assert (f"{told} confidence" in found.note) == (left > 0)


def test_the_confidence_of_a_hit_does_not_depend_on_how_many_are_wanted(talk: Database) -> None:
    question = "Which guitar did Dave buy in Boston?"
    many = [(hit.ref, hit.confidence) for hit in talk.view().recall(question, k=20)]
    for k in (1, 3, 10):
        assert [(hit.ref, hit.confidence) for hit in talk.view().recall(question, k=k)] == many[:k]


@pytest.mark.parametrize(
    "options", [{"lanes": ["text"]}, {"lanes": ["vector"]}, {"fusion": "rrf"}, {"fusion": "combmax"}], ids=str
)
def test_where_nothing_was_fitted_nothing_is_cut_and_the_note_says_so(talk: Database, options: dict[str, Any]) -> None:
    found = talk.view().recall("guitar", min_confidence=1, **options)
    assert found.hits and found.confidence is None and {hit.confidence for hit in found.hits} == {None}
    assert "min_confidence left out no hit" in found.note


@pytest.mark.parametrize("least", [-0.1, 1.1, "0.5", True, float("nan")])
def test_a_confidence_that_there_cannot_be_is_refused(db: Database, least: Any) -> None:
    with pytest.raises(worlddb.InputError, match="min_confidence is"):
        db.view().recall("tungsten", min_confidence=least)


def test_every_surface_takes_the_least_confidence(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    question = "Where does Sarah live?"
    every = db.view().recall(question, k=6)
    least = sorted(hit.confidence or 0 for hit in every.hits)[-1]
    assert [each["text"] for each in agents.recall(db, question, min_confidence=least)] == [SAID[0]]
    assert [hit.content for hit in worlddb.memory(db).recall(question, min_confidence=least).hits] == [SAID[0]]
    answer = call(Session(db), "memory_recall", query=question, min_confidence=least)
    assert [each["text"] for each in answer["memories"]] == [SAID[0]]
    assert answer["memories"][0]["confidence"] == least and answer["confidence"] is not None
    for text, level in (("0.25", 0.25), (".5", 0.5), ("1", 1.0), ("0", 0.0)):
        assert tool_arguments.Recall.parse({"query": "tea", "min_confidence": text}).min_confidence == level
    with pytest.raises(msgspec.ValidationError):
        tool_arguments.Recall.parse({"query": "tea", "min_confidence": "much"})
    db.close()
    told = LocalRunner(capsys, db.path).json("recall", question, "--min-confidence", str(least))
    assert [hit["content"] for hit in told["hits"]] == [SAID[0]]
    assert told["hits"][0]["confidence"] == least and 0 < told["confidence"] < 1


# -- a question without a word


@pytest.mark.parametrize("text", ["", " \n", "?", "…!", "\x00", "\ud800", "()+-*", "\u0301"])
def test_a_question_without_a_word_is_answered_by_nothing_and_says_that_nothing_was_asked(
    db: Database, text: str
) -> None:
    for options in ({}, {"exact": True}, {"group": 3}, {"during": (None, None)}):
        found = db.view().recall(text, **options)
        assert (found.hits, found.groups, found.lanes, found.weak) == ((), (), (), False)
        assert found.note == "the question has no words, so nothing was searched"
    assert db.view().query(text=text).run().refs == ()


@pytest.mark.parametrize("text", ["a", "7", "東京", "🐶", "the"])
def test_a_word_a_number_or_a_pictogram_asks_something(text: str) -> None:
    assert asks_something(text)


@given(st.text(max_size=30))
def test_what_is_asked_does_not_depend_on_what_is_around_it(text: str) -> None:
    assert asks_something(f" {text} ?") == asks_something(text)


def test_the_command_line_and_the_server_say_both(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    notes = call(Session(db), "memory_recall", query=UNRELATED[0])["notes"]
    assert any("perhaps nothing here is about that" in note for note in notes)
    assert any("nothing was searched" in note for note in call(Session(db), "memory_recall", query=" ?")["notes"])
    db.close()
    run = LocalRunner(capsys, db.path)
    assert "note: perhaps nothing here is about that" in run("recall", UNRELATED[0]).out.replace("\n", " ")
    assert run.json("recall", UNRELATED[0])["weak"] is True
    empty = run("recall", "")
    assert (empty.code, empty.out.splitlines()[0]) == (0, "The question has no words, so nothing was searched.")


DIARY = [
    "Heute war es sehr windig.",
    "Der Kuchen ist gut geworden.",
    "Das Buch war spannend.",
    "Im Garten blüht der Flieder.",
    "Der Bus hatte Verspätung.",
    "Abends gab es Suppe.",
    "Wir waren lange spazieren.",
    "Das Kino war fast leer.",
    "Die Katze schläft auf dem Sofa.",
    "Am See war es still.",
    "Der Kaffee schmeckt nicht.",
    "Die Sitzung war endlos.",
]
"""What a chat has beside what is asked for."""


@pytest.mark.parametrize(
    ("said", "question", "is_weak"),
    [
        ("Ich habe am 12. November einen Termin beim Zahnarzt.", "Wann ist mein Zahnarzttermin?", False),
        ("Pixels Tierärztin ist Dr. Sommer.", "Zu welchem Tierarzt gehen wir?", False),
        ("Ich habe am 12. November einen Termin beim Zahnarzt.", "Wann ist mein Klaviervorspiel?", True),
    ],
)
def test_a_german_word_in_another_compound_is_something_to_rest_on(
    tmp_path: Path, said: str, question: str, is_weak: bool
) -> None:
    """25 of 45 right German answers were called weak."""
    with worlddb.memory(tmp_path / "store", user="nora", session="s") as mem:
        roles = [{"role": "user", "content": text} for text in (*DIARY, said, *DIARY[::-1])]
        mem.add([each | {"id": f"m{place}"} for place, each in enumerate(roles)])
        found = mem.recall(question)
        assert is_weak or found.hits[0].content == f"nora: {said}"
        assert found.weak == is_weak


def test_what_something_of_somebody_costs_does_not_tell_what_they_earn(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "store", user="nora", session="s") as mem:
        said = [{"role": "user", "name": "Ben", "content": "The garage called: the brakes will cost 380 euros."}]
        said += [{"role": "user", "content": text} for text in (*DIARY, *DIARY[::-1])]
        mem.add([each | {"id": f"m{place}"} for place, each in enumerate(said)])
        assert mem.recall("How much does Ben earn?").weak
