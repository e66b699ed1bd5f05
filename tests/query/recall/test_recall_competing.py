"""Ranks competing facts: the newest first, and both where a question asks for change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.model.stores import new_store
from worlddb import Database, ManualClock, Recall
from worlddb.query.claims import asked_terms
from worlddb.query.question.question import Question, asks_for_change
from worlddb.query.recall import rivalry, scoring
from worlddb.tools.mcp import read_tools, tool_arguments, tool_results
from worlddb.tools.mcp.session import Call, Session


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", clock=ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z"))) as opened:
        yield opened


def refs(found: Recall) -> list[str]:
    return [hit.ref for hit in found.hits]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Where did Sarah use to live? She used to be in Boston", True),
        ("Has my phone number changed?", True),
        ("How did the plan change over time?", True),
        ("What was her previous job?", True),
        ("Where did Nora use to work?", True),
        ("Did Sam use to smoke?", True),
        ("Where in Rome didn't my old boss use to live?", True),
        ("Where did Nora work before?", True),
        ("What did I use to clean it?", False),
        ("Which tool did I use to open it?", False),
        ("What did I do before the wedding?", False),
        ("Who led the team before that?", True),
        ("Does Tom not work there any more?", True),
        ("What did you say in our previous conversation?", False),
        ("Where does Sarah live?", False),
        ("What did I eat before the concert?", False),
        ("Who led the search team before Leah?", True),
        ("who led it before leah?", True),
        ("Who was the treasurer prior to Ines Duarte?", True),
        ("Which database did we use before Postgres?", True),
        ("Where did the club meet before Lisbon, and why?", True),
        ("Who ran the bakery before Omar took over?", True),
        ("Who sat here before her?", True),
        ("Who held the keys before the present caretaker?", True),
        ("Who was it then?", True),
        ("Where were the boats kept then?", True),
        ("What did the orchard look like back then?", True),
        ("Who did Leah replace?", True),
        ("Who was Omar's predecessor?", True),
        ("What was the old address of the mill?", True),
        ("Who took over from Ines?", True),
        ("What did I eat before Christmas?", False),
        ("Who called before Monday?", False),
        ("What did we plant before May 2023?", False),
        ("Who was here before lunch?", False),
        ("Who had a key before the fire?", False),
        ("What did you do then?", False),
        ("Should I call Omar before I leave?", False),
        ("What should I know before Leah comes?", False),
        ("How do I replace the filter?", False),
        ("How old was the mill?", False),
        ("", False),
    ],
)
def test_a_question_asks_for_change_in_so_many_words(question: str, asks: bool) -> None:
    assert asks_for_change(question) == asks


def test_of_two_facts_that_contradict_each_other_the_newer_comes_first(db: Database) -> None:
    old = db.create(
        "Fact", "", content="The meeting room on the first floor is called Ada", valid_from="2022-01-01"
    ).ref
    new = db.create("Fact", "", content="Ada is upstairs now", valid_from="2024-01-01").ref
    other = db.create("Fact", "", content="The meeting with the landlord is on Monday").ref
    question = "Which meeting room on the first floor is called Ada?"
    assert refs(db.view().recall(question, k=3))[0] == old
    db.link(new, "contradicts", old, valid_from="2024-01-01")
    found = db.view().recall(question, k=3)
    assert refs(found)[:2] == [new, old] and other in refs(found)
    first = found.hits[0]
    assert first.score == found.hits[1].score == pytest.approx(sum(first.scores.values()), abs=1e-5)
    assert first.scores["newer"] > 0 and "newer than a hit that it contradicts" in first.reason
    assert refs(db.view().recall(question, k=1)) == [new]
    # What is not valid at the moment that is asked about competes with nothing.
    assert refs(db.view(valid="2023-01-01").recall(question, k=3))[0] == old


def test_a_newer_fact_that_no_word_finds_is_found_by_what_it_contradicts(db: Database) -> None:
    chain = [db.create("Fact", "", content="Rex is a cat", valid_from="2021-01-01").ref]
    for year, text in (("2022", "Woof"), ("2023", "Bark")):
        chain.append(db.create("Fact", "", content=text, valid_from=year + "-01-01").ref)
        db.link(chain[-1], "contradicts", chain[-2], valid_from=year + "-01-01")
    assert refs(db.view().recall("Is Rex a cat?")) == chain[::-1], "there are no vectors yet"
    assert refs(db.view(valid="2022-06-01").recall("Is Rex a cat?")) == chain[1::-1]
    db.embed()
    for fusion in worlddb.FUSIONS:
        assert refs(db.view().recall("Is Rex a cat?", fusion=fusion))[:3] == chain[::-1], fusion


def test_earlier_versions_are_shown_where_a_question_asks_for_change_and_only_there(db: Database) -> None:
    sarah = db.create("Person", "Sarah", content="lives in Boston", valid_from="2020-01-01").ref
    db.revise(sarah, content="lives in Berlin", valid_from="2023-01-01")
    db.revise(sarah, content="lives in Bern", valid_from="2025-01-01")
    gone = db.create("Fact", "", content="Sarah had a flat in Boston", valid_from="2020-01-01").ref
    db.retire(gone)
    plain = db.view().recall("Does Sarah live in Boston?")
    asked = db.view().recall("Did Sarah use to live in Boston, or has that changed?")
    for found in (plain, asked):
        assert (found.hits[0].ref, found.hits[0].content) == (sarah, "lives in Berlin")
    assert len(plain.hits) == 1
    # What was retired may never have been true, and comes only where it is asked what was before.
    assert refs(asked) == [sarah, gone] and "is over, and the question is about the past" in asked.hits[1].reason
    assert plain.hits[0].others == () and "change" not in plain.note
    assert [other.content for other in asked.hits[0].others] == ["lives in Boston"]
    assert "the question asks for change" in asked.note
    # An earlier version may be what answers; the one that is valid is what is shown.
    (found_by_old,) = db.view().recall("previously Boston", lanes=["text"]).hits
    assert found_by_old.content == "lives in Berlin"
    assert db.view().recall("previously Boston", lanes=["text"], include_superseded=False).hits == ()


def test_what_was_superseded_follows_what_took_its_place_where_a_question_asks_for_change(db: Database) -> None:
    facts = [db.create("Fact", "", content="The office is in Ulm", valid_from="2020-01-01").ref]
    for year, town in (("2021", "Graz"), ("2022", "Linz")):
        facts.append(db.create("Fact", "", content=f"The office is in {town}", valid_from=year + "-01-01").ref)
        db.link(facts[-1], "supersedes", facts[-2], valid_from=year + "-01-01")
    db.embed()
    assert refs(db.view().recall("Where is the office?")) == facts[2:]
    for exact in (False, True):
        found = db.view().recall("Where is the office, and where did it use to be? It changed", exact=exact)
        assert refs(found) == facts[::-1]
        assert all("superseded by the hit before it" in hit.reason for hit in found.hits[1:])
        assert [hit.valid.end < worlddb.parse_time("2024-01-01") for hit in found.hits] == [False, True, True]
    inside = db.create("Topic", "Elsewhere").ref
    assert db.view().recall("Where did the office use to be?", world=inside).hits == ()
    assert refs(db.view().recall("Where did the office use to be? It changed", include_superseded=False)) == facts[2:]


QUESTIONS = (
    "Where is the office?",
    "Where did the office use to be? It changed",
    "Ulm",
    "the office in Rome",
    "previously",
)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("exact", [False, True])
def test_who_asks_for_what_was_superseded_is_shown_all_that_the_default_shows_and_the_rest(
    db: Database, question: str, exact: bool
) -> None:
    """It showed ended worlds, but no earlier version, and less than a question for change is shown without asking."""
    facts = [db.create("Fact", "", content="The office is in Ulm", valid_from="2020-01-01").ref]
    for year, town in (("2021", "Graz"), ("2022", "Linz")):
        facts.append(db.create("Fact", "", content=f"Now it is {town}", valid_from=year + "-01-01").ref)
        db.link(facts[-1], "supersedes", facts[-2], valid_from=year + "-01-01")
    moved = db.create("Fact", "", content="the office in Rome", valid_from="2019-01-01").ref
    db.revise(moved, content="a warehouse", valid_from="2021-01-01")
    db.revise(moved, content="a workshop", valid_from="2020-06-01", replace_later=True)
    gone = db.create("Fact", "", content="the office in Ulm had a garden", valid_from="2019-01-01").ref
    db.revise(gone, content="no garden", valid_from="2020-01-01")
    db.retire(gone, at="2021-01-01")
    db.embed()
    default, included = (db.view().recall(question, exact=exact, include_superseded=way) for way in (None, True))
    both = [{(hit.ref, hit.version): hit for hit in found.hits} for found in (default, included)]
    assert both[0].keys() <= both[1].keys()
    for key, hit in both[0].items():
        assert all(other in both[1][key].others for other in hit.others)
    assert set(refs(included)) == {*facts, moved, gone}
    told = {hit.ref: [hit.content, *(other.content for other in hit.others)] for hit in included.hits}
    assert told[moved] == ["a workshop", "a warehouse", "the office in Rome"], "also what was corrected to hold never"
    assert told[gone] == ["no garden", "the office in Ulm had a garden"]
    assert "asks for change" not in included.note


def test_an_earlier_version_is_found_by_its_words_if_what_was_superseded_is_asked_for(db: Database) -> None:
    sarah = db.create("Person", "Sarah", content="lives in Boston", valid_from="2020-01-01").ref
    db.revise(sarah, content="lives in Berlin", valid_from="2023-01-01")
    assert db.view().recall("Boston", lanes=["text"]).hits == ()
    (hit,) = db.view().recall("Boston", lanes=["text"], include_superseded=True).hits
    assert (hit.content, [other.content for other in hit.others]) == ("lives in Berlin", ["lives in Boston"])
    then = db.view(seq=db.head().seq - 1)
    assert then.recall("Boston", include_superseded=True).hits[0].others == (), "it was not known yet"


def test_who_came_before_somebody_is_shown_with_who_came_after(db: Database) -> None:
    tom = db.create("Fact", "", content="Tom leads the search team", valid_from="2021-01-01").ref
    leah = db.create("Fact", "", content="Leah leads the search team", valid_from="2023-01-01").ref
    db.link(leah, "supersedes", tom, valid_from="2023-01-01")
    assert refs(db.view().recall("Who leads the search team?")) == [leah]
    found = db.view().recall("Who led the search team before Leah?")
    assert refs(found) == [tom, leah] and "the question asks for change" in found.note
    assert "was true until what the question names began" in found.hits[0].reason
    before = db.view().recall("Who led the search team before?")
    assert refs(before) == [tom, leah] and "what was true before comes before what took its place" in before.note
    assert "was so before the hit behind it" in before.hits[0].reason
    assert refs(db.view().recall("Has the leader of the search team changed?")) == [leah, tom]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        *(("What was my rent before?", "last"), ("What did the gym cost before that?", "last")),
        *(("Where did I use to live?", "last"), ("Who was my old dentist?", "last")),
        *(("What was my rent originally?", "first"), ("Who did I have as therapist before that?", "last")),
        *(("Has my rent changed?", ""), ("Where is the office, and where did it use to be?", "")),
        *(("Who led it before Leah?", ""), ("What did I eat before the concert?", ""), ("Do I still live there?", "")),
        *(("Wo habe ich früher gewohnt?", "last"), ("¿Cuánto costaba antes el alquiler?", "last")),
        *(
            ("Où est-ce que j'habitais avant ?", "last"),
            ("前の上司は誰でしたか？", "last"),
            ("Onde eu morava antes?", "last"),
        ),
        *(("Wohne ich noch in Kiel?", ""), ("¿Todavía vivo en Valencia?", ""), ("¿Ha cambiado el alquiler?", "")),
    ],
)
def test_a_question_asks_for_what_was_before_and_not_for_what_is(question: str, asks: str) -> None:
    assert Question(question, 0).asks_previous == asks


@pytest.mark.parametrize("way", ["", "supersede_same_subject", "correct"])
def test_what_was_before_comes_first_where_a_question_asks_for_it(tmp_path: Path, way: str) -> None:
    """The present value came first, and of two that competed the one with more of the question's words."""
    clock = ManualClock(worlddb.parse_time("2025-03-01T12:00:00Z"))
    with worlddb.memory(tmp_path / "mem", user="dev", clock=clock, embedder=None) as mem:
        mem.add("The bakery opens at seven on Sundays.")
        said = [f"My rent is {amount} euros." for amount in (850, 900, 980)]
        first = mem.add(said[0])
        for text in said[1:]:
            clock.advance(86_400_000_000)
            if way == "correct":
                mem.correct(first.id, text)
            else:
                mem.add(text, on_near=way or "note")
        clock.advance(86_400_000_000)
        before, told = mem.recall("What was my rent before?"), "compete" if not way else "what was true before"
        assert before.hits[0].content == said[1] and told in before.note and said[1] in before.note
        assert mem.recall("What was my rent originally?").hits[0].content == said[0]
        assert mem.recall("What is my rent?").hits[0].content == said[2]
        mem.add("I live on Mill Lane.")
        clock.advance(86_400_000_000)
        mem.add("I live on Rose Street.", on_near="note" if way == "correct" else way or "note")
        assert mem.recall("What was my former address?").hits[0].content == "I live on Mill Lane."
        changed = mem.recall("Has my rent changed?")
        assert changed.hits[0].content == said[2] and ("the later one comes first" in changed.note) == (not way)


def test_what_began_with_what_took_the_place_of_what_was_before_does_not_come_first(tmp_path: Path) -> None:
    """The drums came first, and the note said that the piano did."""
    with worlddb.memory(tmp_path / "mem", user="nora") as mem:
        at = "2024-11-20T19:00:00Z"
        mem.add("Mila plays the piano.", about="Mila", since="2024-11-16")
        mem.add([{"role": "user", "content": "Mila gave up piano, she's on drums now", "timestamp": at}])
        mem.add("Mila plays the drums.", about="Mila", since=at)
        found = mem.recall("Which instrument did Mila play before?", k=5)
        told = "the earlier one comes first, as the question asks: "
        assert found.hits[0].content == "Mila plays the piano." and told + "'Mila plays the piano." in found.note


def test_a_long_text_is_judged_in_the_time_of_reading_it() -> None:
    for text in ("who was " * 20_000, "before " * 20_000, "who did " + "x " * 40_000, "where " + "A " * 50_000 + "?"):
        began = time.process_time()
        asks_for_change(text)
        assert time.process_time() - began < 5


def test_a_question_about_a_past_time_is_told_that_something_else_held_then(db: Database) -> None:
    lisbon = db.create("Fact", "", content="Mara lives in Lisbon", valid_from="2022-01-01").ref
    porto = db.create("Fact", "", content="Mara lives in Porto", valid_from="2023-09-01").ref
    db.link(porto, "supersedes", lisbon, valid_from="2023-09-01")
    cat = db.create("Fact", "", content="the cat is called Rex", valid_from="2022-01-01")
    db.revise(cat, content="the cat is called Max", valid_from="2023-09-01")
    told = "the question names a past time"
    for exact in (False, True):
        for question, then in (
            ("Where did Mara live in April 2023?", True),
            ("What was the cat called in April 2023?", True),
            ("Where did Mara live in October 2023?", False),
            ("Where did Mara live in April 2021?", False),
            ("Where does Mara live?", False),
            ("What will the cat be called in April 2099?", False),
        ):
            assert (told in db.view().recall(question, exact=exact).note) == then, question
    asked = "Where did Mara live in April 2023?"
    for exact in (False, True):
        found = db.view().recall(asked, exact=exact)
        assert refs(found)[:2] == [lisbon, porto]
        said = "'Mara lives in Lisbon' (from 2022-01-01 until 2023-09-01)"
        assert (
            f"this was true then, no longer is, and comes first: {said}" in found.note
            and "ask as of that time" in found.note
        )
        grouped = db.view().recall(asked, exact=exact, group=1)
        assert "the hits are as of now" in grouped.note and "Lisbon" not in grouped.note
        assert worlddb.format_time(found.hits[0].valid.end) == "2023-09-01T00:00:00Z"
        assert "was true at the time in the question" in found.hits[0].reason
        named = db.view().recall("What was the cat called in April 2023?", exact=exact).hits[0]
        assert (named.content, named.valid.end) == ("the cat is called Rex", found.hits[0].valid.end)
        assert db.view().recall(asked, exact=exact, k=1).hits == found.hits[:1]
        both = db.view().recall("Where did Mara live in 2023?", exact=exact)
        assert refs(both)[0] == porto, "which held then, too"
    assert refs(db.view(valid="2023-04-15").recall(asked)) == [lisbon]
    assert told not in db.view(valid="2023-04-15").recall(asked).note
    for options in ({"include_superseded": True}, {"overlaps": ("2023-04-01", "2023-05-01")}):
        assert told not in db.view().recall(asked, **options).note
    # What a confined view does not see, it does not tell of.
    inside = db.create("Topic", "Elsewhere").ref
    db.link(inside, "contains", porto)
    assert refs(db.view(world=inside).recall(asked)) == [porto]
    assert told not in db.view(world=inside).recall(asked).note


def test_what_held_at_a_past_time_in_the_question_is_found_though_nothing_took_its_place(db: Database) -> None:
    """A pet that had died was not found for the month in which it lived, and no note told of it."""
    mara = db.create("User", "mara").ref

    def say(text: str, **more: Any) -> str:
        ref: str = db.create("Fact", "", content=text, world=mara, valid_from="2022-01-01", resolve=False, **more).ref
        return ref

    rex, code = say("Mara has a dog called Rex"), say("Mara's dog has a chip", expires_at="2023-09-01")
    for other in ("a brother called Luis", "a boat called Luna", "a red door", "two bicycles"):
        say(f"Mara has {other}")
    turn = db.create("Turn", "", content="Mara: my dog is called Rex", world=mara, valid_from="2022-01-01").ref
    for ended in (rex, turn):
        db.retire(ended, at="2023-09-01")
    asked, told = (
        "What was Mara's dog called in {}?",
        "no longer is, and comes first: 'Mara has a dog called Rex'",
    )
    for view in (db.view(), db.view(world=mara)):
        for exact in (False, True):
            found = view.recall(asked.format("April 2023"), exact=exact)
            assert found.hits[0].ref == rex and worlddb.format_time(found.hits[0].valid.end) == "2023-09-01T00:00:00Z"
            assert "was true at the time in the question, and no longer is" in found.hits[0].reason
            assert told in found.note and {turn, code}.isdisjoint(refs(found))
            assert refs(view.recall(asked.format("April 2023"), exact=exact, k=1)) == [rex]
            for month in ("October 2023", "April 2021", "April 2099"):
                assert rex not in refs(view.recall(asked.format(month), exact=exact)), month
    assert rex not in refs(db.view().recall("What is Mara's dog called?"))
    assert rex not in refs(db.view(seq=db.view().seq - 1).recall(asked.format("2021")))
    assert rex not in refs(db.view(world=db.create("Topic", "Elsewhere").ref).recall(asked.format("April 2023")))


def test_of_what_held_at_a_past_time_a_note_names_what_is_asked_for(db: Database) -> None:
    """It named the rent of that year to who asked where somebody worked."""
    for old, new in (
        ("I work at Globex.", "I work at Initech."),
        ("My rent is 990 euros.", "My rent is 1100 euros."),
        ("I live in Lisbon.", "I live in Porto."),
        ("My dentist is Dr. Kim.", "My dentist is Dr. Roy."),
    ):
        first = db.create("Fact", "", content=old, valid_from="2021-01-01").ref
        later = db.create("Fact", "", content=new, valid_from="2024-01-01").ref
        db.link(later, "supersedes", first, valid_from="2024-01-01")
    db.embed()
    then = "this was true then, no longer is, and comes first"
    assert f"{then}: 'I work at Globex.' (" in (note := db.view().recall("Where did I work in 2022?").note)
    assert all(word not in note for word in ("990", "Lisbon", "Kim"))


def test_what_held_at_a_past_time_comes_before_what_began_near_it(db: Database) -> None:
    """A home of years was far from last month, and what somebody wrote down a week later near it."""
    home = db.create(
        "Fact", "", content="Mara lives in a flat in Lisbon that looks over the river", valid_from="2020-01-01"
    ).ref
    db.retire(home, at="2023-05-06")
    sister = db.create("Fact", "", content="Mara's sister lives in Braga", valid_from="2023-05-06").ref
    for exact in (False, True):
        assert refs(db.view().recall("Where did Mara live in April 2023?", exact=exact)) == [home, sister]


def test_sessions_are_answered_with_the_newest_of_competing_facts_and_with_what_it_superseded(db: Database) -> None:
    topics = [db.create("Topic", name).ref for name in ("Then", "Now")]
    old = db.create(
        "Fact", "", content="the blue lamp is on the first floor", world=topics[0], valid_from="2020-01-01"
    ).ref
    new = db.create("Fact", "", content="sold", world=topics[1], valid_from="2021-01-01").ref
    db.link(new, "contradicts", old, valid_from="2021-01-01")
    groups = db.view().recall("where is the blue lamp", group=2).groups
    assert {group.ref: [hit.ref for hit in group.hits] for group in groups} == {topics[0]: [old], topics[1]: [new]}
    db.link(new, "supersedes", old, valid_from="2021-06-01")
    assert refs(db.view().recall("where is the sold lamp", group=2)) == [new]
    found = db.view().recall("where was the lamp that was sold previously", group=2)
    assert refs(found) == [new, old] and "the question asks for change" in found.note


def test_a_question_of_nothing_in_a_world_that_is_not_there_is_refused_like_any_other(db: Database) -> None:
    assert db.view().recall("?").hits == ()
    for question in ("?", "lamp"):
        with pytest.raises(worlddb.UnknownReference):
            db.view().recall(question, world="Nowhere")


@pytest.mark.parametrize("way", ["said", "replaced", "corrected", "ended"])
@pytest.mark.parametrize(
    "question",
    [
        "Where did Ana work before Hooli?",
        "where did ana work before hooli",
        "Where did Ana work before she joined Hooli?",
        "What was Ana's job before Hooli?",
    ],
)
def test_what_held_before_something_that_a_question_names_comes_first(tmp_path: Path, question: str, way: str) -> None:
    """What had ended was not found, and what was corrected stood behind what took its place."""
    clock = ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z"))
    with worlddb.memory(tmp_path / "store", user="bo", clock=clock) as mem:
        mem.add("Ana likes tea", about="Ana", since="2023-01-01")
        mem.add("Hooli has an office in Porto", about="Hooli", since="2023-01-01")
        acme = mem.add("Ana works at Acme as a baker", about="Ana", since="2023-01-01").id
        hooli, begun = "Ana works at Hooli", "2024-01-01"
        if way == "corrected":
            mem.correct(acme, hooli, since=begun)
        else:
            mem.add(hooli, about="Ana", since=begun, replaces=acme if way == "replaced" else ())
        if way == "ended":
            mem.forget(acme, since=begun)
        found = mem.recall(question)
        assert found.hits[0].content == "Ana works at Acme as a baker"
        assert found.hits[0].reason.endswith("was true until what the question names began")
        (second,) = [hit for hit in found.hits if hit.content == hooli] or found.hits[0].others
        assert second.content == hooli and mem.recall(question, k=1).hits[0].ref == acme
        assert mem.recall("Where does Ana work?").hits[0].content == hooli


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Where did Ana work before Hooli?", "Hooli"),
        ("where did ana live before porto", "porto"),
        ("Where did she live before she moved to Porto?", "Porto"),
        ("What car did Tom drive before the accident?", ""),
        ("Where did I live before May 2023?", ""),
        ("Who led the team before Leah Brown?", "Leah Brown"),
        ("What did I eat before dinner?", ""),
        ("Where does Ana work?", ""),
        ("Where did Ana work before?", ""),
        ("Which port did the API use before 9090?", "9090"),
        ("What did it listen on before port 9090?", "port 9090"),
        ("What was the budget before 5,500 euros?", "5,500 euros"),
        ("Which release was live before v2.1?", "v2.1"),
        ("What was the timeout before 12 seconds?", "12 seconds"),
        ("What did we format Python with before ruff?", "ruff"),
        ("What did we eat before 2019?", ""),
        ("Who was here before 9?", ""),
        ("Who was in the office before 9:30?", ""),
        ("What was planned before 12 May?", ""),
        ("Whom do I call before 9090?", ""),
    ],
)
def test_what_is_asked_to_come_before_is_known_by_its_name(question: str, named: str) -> None:
    assert Question(question, 0).asks_before == named


@pytest.mark.parametrize(
    ("said", "question", "first"),
    [
        (("Tomas owns billing.", "Mara owns billing."), "who owns billing?", "Mara owns billing."),
        (("Tomas owns billing.", "Mara owns billing."), "who owned billing on 18 November?", "Tomas owns billing."),
        (("Falk is on call.", "Roth is on call."), "who is on call?", "Roth is on call."),
        (("Falk is on call.", "Roth is on call."), "who was on call before Roth?", "Falk is on call."),
        (
            ("Falk is on call.", "Roth is on call.", "Falk is on call."),
            "who was on call before Falk?",
            "Roth is on call.",
        ),
        (("We use Poetry.", "We use uv.", "We use Poetry."), "what do we use for packages?", "We use Poetry."),
        (("The API is on 8080.", "The API is on 9090."), "what was it before 9090?", "The API is on 8080."),
        (
            ("Lea goes to the gym in Ulm.", "Lea will go to the gym in Bonn from May on."),
            "which gym does Lea go to?",
            "",
        ),
        (("The team meets in room 4.", "From May on the team meets in room 9."), "where does the team meet?", ""),
    ],
)
def test_what_holds_and_what_held_is_told_from_what_two_statements_say_of_one_thing(
    tmp_path: Path, said: tuple[str, ...], question: str, first: str
) -> None:
    """Who owns billing, or is on call, is told of the thing, whatever name a statement begins with."""
    clock = ManualClock(worlddb.parse_time("2025-11-01"))
    with worlddb.memory(tmp_path / "ana", user="ana", clock=clock) as mem:
        for text in said:
            mem.add(text)
            clock.advance(30 * 86_400_000_000)
        assert mem.recall(question).hits[0].content == (first or said[0])


def test_what_was_forgotten_is_found_where_it_is_asked_what_was_so_before(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "ana", user="ana") as mem:
        flaky = mem.add("test_checkout is flaky.").id
        mem.add("test_login takes 4 seconds.")
        mem.forget(flaky)
        for question in ("was test_checkout flaky before?", "what was flaky before?"):
            found = mem.recall(question)
            assert found.hits[0].ref == flaky and "the question is about the past, and this is over" in found.note
        assert flaky not in [hit.ref for hit in mem.recall("is test_checkout flaky?").hits]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What was meeting number {} about?", "In meeting number {} we spoke of item {}, as planned after number {}."),
        ("What is the state of HER-{}?", "HER-{} waits for item {}; its box is {}."),
        ("What did Python 3.{} change?", "Python 3.{} changed item {} of box {}."),
        ("Who spoke in room 7.{}?", "Somebody spoke in room 7.{} of item {} and box {}."),
    ],
)
def test_of_texts_that_differ_by_a_number_the_one_with_that_of_the_question_comes_first(
    question: str, told: str
) -> None:
    numbers = range(20, 70)
    with new_store() as db:
        for each in numbers:
            db.create("Note", "", content=told.format(each, (7 * each) % 90, each - 1))
        db.embed()
        firsts = {each: db.view().recall(question.format(each), k=2).hits[0] for each in numbers}
    assert {each: hit.content for each, hit in firsts.items()} == {
        each: told.format(each, (7 * each) % 90, each - 1) for each in numbers
    }
    lifted = [hit for hit in firsts.values() if "number" in hit.scores]
    assert all("has the number in the question" in hit.reason for hit in lifted)


def test_the_number_of_what_a_later_statement_competes_with_does_not_put_it_first(tmp_path: Path) -> None:
    """The answer said that the later comes first, and it stood second."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        old = db.create("Fact", "", content="The server runs Debian 11.", valid_from="2024-01-01").ref
        new = db.create("Fact", "", content="The server was upgraded to Debian 12.", valid_from="2025-01-01").ref
        found = db.view().recall("The server runs Debian 11.")
    assert refs(found) == [new, old]
    assert [(each.ref, each.earlier) for each in found.competing] == [(new, old)]


@pytest.mark.parametrize(
    ("earlier", "later", "of_rest", "of_both"),
    [
        ("Ana lives in Lisbon. She works at Globex.", "Ana moved to Porto.", "where does Ana work?", "Ana's home"),
        ("I live in Ulm and work at Aral as a cook.", "I live in Bonn now.", "what is my job?", "where do I live?"),
        ("I eat nuts. I take ramipril.", "I take no ramipril now.", "do I eat nuts?", "what do I take with nuts?"),
        ("I drive a Golf. It has a hook.", "I sold the Golf.", "has the Golf a hook?", "do I have the Golf?"),
        ("Tom works at Acme, and he plays chess.", "Tom works at Aral now.", "does Tom play chess?", "who is Tom?"),
        ("Our rent is 900 euros. Our phone costs 20.", "Our rent is 980 euros now.", "how much is our phone?", "rent"),
        ("Ana works at Acme.", "Ana works at Aral now. She has a dog.", "does Ana have a dog?", "where does Ana work?"),
        (
            "Ana lives in Lisbon with a dog. Her dog is called Rex.",
            "Ana moved to Porto.",
            "her dog?",
            "is Ana in Lisbon?",
        ),
    ],
)
def test_statements_of_several_things_compete_where_a_question_is_about_that(
    tmp_path: Path, earlier: str, later: str, of_rest: str, of_both: str
) -> None:
    """ "Where does Ana work?" was answered with "Ana moved to Porto"."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        old, new = (
            db.create("Fact", "", content=text, valid_from=since).ref
            for text, since in ((earlier, "2024-01-01"), (later, "2025-01-01"))
        )
        for question, competes in ((of_rest, False), (of_both, True), (earlier, True)):
            found = db.view().recall(question)
            assert bool(found.competing) == competes, question
            assert not competes or refs(found) == [new, old]


def test_what_has_another_identifier_competes_with_nothing_that_is_asked(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        memory = worlddb.memory(db, user="ana")
        texts = [f"test_{name} takes {size} seconds." for size, name in enumerate(("login", "logout", "export"), 3)]
        for text in texts:
            memory.add(text, about="Suite")
        found = memory.recall("how long does test_login take?")
        assert found.hits[0].content == texts[0]
        assert not found.competing


@pytest.mark.parametrize(
    ("question", "text", "fits"),
    [
        ("What was decided in meeting number 60?", "Meeting 60 took 61 minutes", 1),
        ("What was decided in meeting number 60?", "Meeting No. 61 took 60 minutes", -1),
        ("What was decided in meeting number 60?", "We left the house number 61", 0),
        ("Where is number 5?", "Number 6 is here", -1),
        ("Is room #12 free?", "Rooms 11 and room 12 are free", 1),
        ("Does version 2 run?", "Version 2.1 runs", -1),
        ("Who waited 60 minutes?", "I waited 61 minutes", 0),
        ("What did I do in the last 3 months?", "In the last 2 months I slept", 0),
        ("How is HER-17 doing?", "HER-17 waits for HER-18", 1),
        ("what does load_rows return?", "loadRows returns a list", 1),
        ("what does load_rows return?", "load_row returns Rows", -1),
        ("what does load_rows return?", "Rows are loaded at night", 0),
        ("what is the limit of GET /v1/teams?", "GET /v1/team/5 has a limit of 10", -1),
        ("who is in on 24/7 or and/or at 9.30?", "12/11/2026 at 10.30, i.e. soon", 0),
    ],
)
def test_a_number_is_another_only_in_the_place_of_the_one_that_is_asked_for(
    question: str, text: str, fits: int
) -> None:
    assert scoring.match_numbers(scoring.find_numbers(question), text) == fits


@pytest.mark.parametrize("part", ["x", "x ", "x1", "x-", "no ", "# ", "1.", "x_", "É"])
def test_the_numbers_of_a_text_are_found_in_time_in_proportion_to_it(part: str) -> None:
    """A word of thousands of letters took a tenth of a second, and a recall looks through 64 texts."""
    text = f"{part * scoring.MAX_CHARACTERS}"[: scoring.MAX_CHARACTERS - 5] + "n7"
    started = time.process_time()
    for _ in range(50):
        scoring.find_numbers(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("earlier", "about", "later", "other", "competes"),
    [
        ("Ana lives in Lisbon.", ["Ana"], "Ana lives in Porto.", ["Porto flat"], True),
        ("Ana lives in Lisbon.", ["Ana"], "Ana lives in Porto.", [], True),
        ("Ana lives in Lisbon.", [], "Ana lives in Porto.", ["Porto flat"], True),
        ("I work at Aral.", ["Aral"], "I work at Bosch now.", ["Bosch"], True),
        ("My rent is 900 euros.", ["flat"], "My rent is 980 euros now.", [], True),
        ("My dose is 20 mg.", ["lisinopril"], "My dose is 500 mg.", ["metformin"], False),
        ("The deadline is 1 June.", ["Falcon"], "The deadline is 15 June.", ["Kestrel"], False),
        ("Ana lives in Lisbon.", ["Ana Silva"], "Ana lives in Porto.", ["Ana Souza"], False),
        ("She lives in Lisbon.", ["Ana"], "She lives in Porto.", ["Rita"], False),
    ],
)
def test_a_change_is_noticed_though_the_two_refer_to_different_things(
    tmp_path: Path, earlier: str, about: list[str], later: str, other: list[str], competes: bool
) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mem = worlddb.memory(db, user="u")
        old = mem.add(earlier, about=about, since="2024-01-01").id
        written = mem.add(later, about=other, since="2025-01-01", on_near="supersede_same_subject")
        assert any(each.relation == "replacement" for each in written.near) == competes
        found = mem.recall(earlier)
        if about and other and competes:
            assert [(each.ref, each.earlier) for each in found.competing] == [(written.id, old)], "neither is ended"
        assert competes or not found.competing


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Who bakes at Crumb & Co?", False),
        ("Who delivers to Crumb & Co?", False),
        ("Where does Crumb & Co buy its butter?", True),
        ("From whom has Crumb & Co bought?", True),
        ("Bei wem kauft Crumb & Co?", True),
        ("Who is our lawyer?", False),
        ("Who is our doctor?", True),
    ],
)
def test_a_note_names_competing_statements_only_of_what_is_asked(tmp_path: Path, question: str, told: bool) -> None:
    """In a small store the first hits are all that there is: who bakes there was answered with whose butter it buys."""
    with worlddb.open(tmp_path / "store") as db:
        mem = worlddb.memory(db, user="nora")
        if question.startswith("Who is our"):
            for name in ("Seidel", "Braun"):
                mem.add(f"The family doctor is Dr. {name}.", about="Nora")
        mem.add("Lena is the baker at Crumb & Co.", about="Crumb & Co")
        mem.add("Crumb & Co buys butter from Alpenhof.", about="Crumb & Co", since="2024-01-01")
        mem.add("Crumb & Co buys butter from Milchwerk now.", about="Crumb & Co", since="2025-01-01")
        found = mem.recall(question)
        assert found.competing and ("compete" in found.note) == told


def test_what_is_told_to_compete_is_named_so_that_every_door_takes_it(tmp_path: Path) -> None:
    """A note gave the beginnings of references, which no path of REST takes; lines of MCP begin with eight digits."""
    with worlddb.open(tmp_path / "store") as db:
        mem = worlddb.memory(db, user="ana")
        old = mem.add("Ana lives in Lisbon.", about="Ana", since="2024-01-01").id
        new = mem.add("Ana lives in Porto.", about="Ana", since="2025-01-01").id
        told = f"'Ana lives in Porto.' ({new}) before 'Ana lives in Lisbon.' ({old}) ("
        assert told in mem.recall("where does Ana live?").note
        session, call = Session(db), Call("test", "memory_recall")
        asked = tool_arguments.Recall(query="where does Ana live?", user_id="ana")
        answer = read_tools.recall(session, asked, call)
        assert any(told in note for note in answer.notes)
        lines = tool_results.brief(answer, "").splitlines()
        short = told.replace(new, new[:8]).replace(old, old[:8])
        assert lines[0].startswith(new[:8]) and any(short in line for line in lines)
        assert not any(old in line for line in lines)


def test_a_question_about_a_past_time_is_told_that_the_first_hit_begins_after_it(db: Database) -> None:
    db.create("Fact", "", content="Mara lives in Porto", valid_from="2023-09-10")
    begins = "the first hit begins after the time in the question: 'Mara lives in Porto' (from 2023-09-10 on)"
    unknown = "nothing found is known to have been true then"
    for question in ("Where did Mara live in 1990?", "Where did Mara live in April 2021?"):
        found = db.view().recall(question)
        assert f"{begins}; {unknown}" in found.note and found.begins_later == found.hits[0].ref, question
    for question in ("Where did Mara live in September 2023?", "Where does Mara live?", "Where did Mara live?"):
        found = db.view().recall(question)
        assert begins not in found.note and not found.begins_later, question
    db.create("Fact", "", content="Mara has a cat", valid_from="2020-01-01")
    note = db.view().recall("Where did Mara live in April 2021?").note
    assert begins in note and unknown not in note
    db.create("Fact", "", content="Mara visited Rome", valid_from="2023-09-10")
    assert begins not in db.view().recall("When did Mara visit Rome in 2021?").note, "it may have been long before"
    begins = "the first hit begins after the time in the question: 'Mum moved in"
    for text, begins_then in (("Mum moved in with us", True), ("Mum moved in with Tom in January", False)):
        db.create("Fact", "", content=text, valid_from="2023-09-10")
        assert (begins in db.view().recall(f"Was it so in 2021 that {text}?").note) == begins_then


@pytest.mark.parametrize(
    ("state", "question", "is_asked"),
    [
        ("Living in Brno.", "where did I live in May?", True),
        ("Tom and I live in Brno.", "where did I live in May?", True),
        ("I moved to Brno.", "where did I live on 14 May?", True),
        ("My flat is in Brno.", "where was my home in May?", True),
        ("I am a nurse at St. Anne's.", "what was my job in May?", True),
        ("I drive a Fabia.", "which car did I drive in May?", True),
        ("I live in Brno.", "where do I live in May?", True),
        ("I cleaned my flat.", "where did I live in May?", False),
        ("My sister lives in Brno.", "where did I live in May?", False),
        ("I work at Kiwi.", "what was due in May?", False),
        ("I may move to Brno.", "where did I live in May?", False),
    ],
)
def test_a_statement_of_a_state_is_known_by_what_a_question_asks(state: str, question: str, is_asked: bool) -> None:
    asked = asked_terms.asked_state(Question(question, worlddb.parse_time("2024-05-20")).without_times)
    assert (asked is not None and asked_terms.tells_state(state, *asked)) == is_asked


@pytest.mark.parametrize("question", ["where did I live in May?", "where do I live in May?", "where do I live?"])
def test_a_state_at_a_time_comes_before_what_is_near_that_time(db: Database, question: str) -> None:
    """A deadline in May was the answer to where I lived in May."""
    db.create("Fact", "", content="Living in Brno.", valid_from="2024-01-01")
    for text in ("The deadline where I vote is in May.", "I do all of my tax in May."):
        db.create("Fact", "", content=text, valid_from="2024-05-12")
    assert db.view(valid="2024-05-20").recall(question).hits[0].content == "Living in Brno."


def test_of_a_past_time_what_held_then_comes_before_what_competes_with_it_later(db: Database) -> None:
    for text, since in (("My rent is 900 euros.", "2023-01-01"), ("My rent is 980 euros now.", "2024-04-01")):
        db.create("Fact", "", content=text, valid_from=since)
    # In 2022 neither held yet.
    for question, first, competes in (("in March 2024", "900", 0), ("in May 2024", "980", 1), ("in 2022", "980", 1)):
        found = db.view().recall(f"what was my rent {question}?")
        assert first in found.hits[0].content and len(found.competing) == competes, question


def test_a_note_of_the_future_names_a_time_only_where_the_question_does(db: Database) -> None:
    db.create("Fact", "", content="Mara is going to the class", valid_from="2024-05-20")
    view = db.view(valid="2024-05-10")
    for question, names in (("Is she going to the class?", False), ("Is she going to the class next month?", True)):
        note = view.recall(question).note
        assert ("names a future time" in note) == names and ("asks about the future" in note) != names


HIVES = "By the way, I've been keeping bees behind the shed with my neighbour, and we look after 3 hives so far."
MORE_HIVES = (
    "I'm really happy with how the bees are doing behind the shed - my neighbour and I have just set up hives four"
    " and five."
)


@pytest.mark.parametrize(
    ("question", "is_moved"),
    [
        ("How many hives of bees are behind the shed?", True),
        ("How many hives of bees have been behind the shed?", True),
        ("How many hives of bees were behind the shed?", False),
        ("How many hives of bees were behind the shed at the latest count?", True),
        ("How many hives of bees did we have behind the shed?", False),
        ("How many hives of bees were behind the shed in May 2023?", False),
    ],
)
def test_the_later_of_two_long_statements_near_in_meaning_comes_first(
    tmp_path: Path, question: str, is_moved: bool
) -> None:
    clock = ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z"))
    with worlddb.open(tmp_path / "store", clock=clock, embedder=worlddb.StaticEmbedder()) as db:
        home = db.create("Notes", "Notes").ref
        ana = db.create("Person", "Ana", world=home).ref
        for text, since in ((HIVES, "2023-01-01"), (MORE_HIVES, "2024-01-01"), ("I bought a shed.", "2024-03-01")):
            said = db.create("Fact", "", content=text, valid_from=since, world=home, resolve=False).ref
            db.link(said, "refers_to", ana)
        db.embed()
        for view in (db.view(), db.view(world=home)):
            found = view.recall(question)
            assert (found.hits[0].content == MORE_HIVES) == is_moved
            assert [scoring.UPDATED in hit.scores for hit in found.hits].count(True) == is_moved
            assert found.competing == ()
            scores = [hit.score for hit in found.hits]
            assert scores == sorted(scores, reverse=True)


def test_of_what_is_still_so_a_note_tells_of_earlier_versions_only_where_one_is_shown(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "store", user="tom") as mem:
        mem.add("Ilka works at Studio Nord.", about="Ilka")
        tea = mem.add("Tom drinks black tea.", about="Tom")
        assert "asks for change" not in mem.recall("Does Ilka still work at Studio Nord?").note
        mem.add("Tom drinks mint tea.", about="Tom", replaces=tea.id)
        found = mem.recall("Does Tom still drink black tea?")
        assert [hit.content for hit in found.hits[:2]] == ["Tom drinks mint tea.", "Tom drinks black tea."]
        assert "asks for change" in found.note


def test_a_change_of_what_is_no_statement_is_not_looked_for_among_the_statements() -> None:
    """A turn that told of a change in passing was looked up there, and every such recall failed."""
    assert not rivalry._is_said_again(rivalry.Rivals(2, 1, "replacement", "told in passing"), {})


def test_no_plan_about_something_else_is_said_to_come_first(tmp_path: Path) -> None:
    """The note named the rent of a question about film night, which was not even near the first hit."""
    with worlddb.memory(tmp_path / "store", user="nora") as mem:
        mem.add("Film night is on Saturdays.", since="2024-01-01")
        mem.add("The rent goes up to 1,310 euros.", since="2099-01-01")
        mem.add("The film club meets in the new hall.", since="2099-02-01")
        found = mem.recall("When is film night?")
        assert found.hits[0].content.startswith("Film night") and "rent" not in found.note
        assert "still to begin" in mem.recall("How much will the rent be?").note


@pytest.mark.parametrize("on_near", ["note", "supersede_same_subject"])
@pytest.mark.parametrize(
    ("before", "after", "question"),
    [
        ("Tia trains on Mondays.", "Tia trains on Tuesdays.", "on which days does Tia train?"),
        ("Tia eats oats for breakfast.", "Tia eats eggs for breakfast.", "what does Tia eat for breakfast?"),
    ],
)
def test_what_a_correction_ended_is_said_again_and_comes_first(
    tmp_path: Path, before: str, after: str, question: str, on_near: str
) -> None:
    with worlddb.memory(tmp_path / "store", user="coach") as mem:
        first = mem.add(before, about="Tia", since="2026-01-01")
        beside = mem.add("Tia trains on Saturdays.", about="Tia", since="2026-01-02").id
        mem.correct(first.ids[0], after, since="2026-01-20")
        again = mem.add(before, about="Tia", since="2026-02-12", on_near=on_near)
        told = {near.text: near.relation for near in again.near}
        assert told[after] == "replacement" and told.get("Tia trains on Saturdays.") != "replacement"
        found = mem.recall(question)
        shown = [hit.content for hit in found.hits]
        assert beside in [hit.ref for hit in found.hits] and before in shown
        assert after not in shown[: shown.index(before)]
        assert (after in found.note) == (on_near == "note") and (after in " ".join(again.notes)) != (on_near == "note")


@pytest.mark.parametrize(
    ("before", "after", "is_back"),
    [
        ("Tia trains on Mondays.", "Tia trains on Tuesdays.", True),
        ("Tia trains on Mondays, Wednesdays and Saturdays.", "Tia trains on Tuesdays and Sundays.", True),
        ("Tia trains on Mondays.", "Tia also trains on Tuesdays.", False),
        ("Tia trains on Mondays.", "Tia swims on Tuesdays.", False),
        ("Tia trains on Mondays.", "Tia trains with Ben.", False),
    ],
)
def test_days_of_the_week_that_are_said_again_after_others_come_first(
    tmp_path: Path, before: str, after: str, is_back: bool
) -> None:
    with worlddb.memory(tmp_path / "store", user="coach") as mem:
        for text, since in ((before, "2026-01-01"), (after, "2026-01-20"), (before, "2026-02-12")):
            added = mem.add(text, about="Tia", since=since)
        assert bool(added.repeated) != is_back
        found = mem.recall("on which days does Tia train?")
        assert found.hits[0].content == before or not is_back
        assert (after in found.note) == is_back
