"""Recall prefers what is of somebody whom a question names, and proposes the latest where little else is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from tests.support.model.stores import new_store
from worlddb import Database, Recall, Turn
from worlddb.query.recall.ranking import MAX_REFERRING
from worlddb.query.recall.scoring import ENTITY_WEIGHT

MANY = MAX_REFERRING + 30


@pytest.fixture
def db() -> Iterator[Database]:
    with new_store() as store:
        turns = [Turn(text=f"remark {number}", speaker="Sarah" if number % 2 else "Omar") for number in range(2 * MANY)]
        store.ingest(turns, conversation="meeting", at="2025-03-01")
        yield store


def said(found: Recall) -> list[int]:
    return sorted(int(hit.content.rpartition(" ")[2]) for hit in found.hits)


def test_the_latest_that_refers_to_somebody_is_found_by_the_name_alone(db: Database) -> None:
    for exact in (False, True):
        found = db.view().recall("Sarah", lanes=["entity"], k=5, exact=exact)
        assert said(found) == [number for number in range(2 * MANY) if number % 2][-5:]
        assert all("entity" in hit.lanes for hit in found.hits)
    both = db.view().recall("Sarah and Omar", lanes=["entity"], k=6)
    assert said(both) == list(range(2 * MANY))[-6:]


def test_an_alias_that_no_text_has_finds_the_latest_beside_what_words_find(db: Database) -> None:
    (sarah,) = db.view().find(name="Sarah")
    db.alias(sarah, "Quartermaster")
    assert db.view().recall("Quartermaster", lanes=["text"]).hits == ()
    found = db.view().recall("Quartermaster", lanes=["text", "entity"], k=3)
    assert said(found) == [number for number in range(2 * MANY) if number % 2][-3:]


def test_a_past_view_and_a_confined_one_have_the_latest_of_theirs(db: Database, tmp_path: Path) -> None:
    then = db.head().seq
    before = said(db.view().recall("Sarah", lanes=["entity"], k=4, exact=True))
    (sarah,) = db.view().find(name="Sarah")
    elsewhere = db.create("Topic", "Elsewhere").ref
    for number in range(900, 903):
        note = db.create("Note", "", content=f"note {number}", world=elsewhere)
        db.link(note, "refers_to", sarah.ref)
    assert said(db.view().recall("Sarah", lanes=["entity"], k=4))[-3:] == [900, 901, 902]
    assert said(db.view(seq=then).recall("Sarah", lanes=["entity"], k=4, exact=True)) == before
    (meeting,) = db.view().find(type="Conversation")
    for view in (db.view(world=meeting.ref), db.view()):
        assert said(view.recall("Sarah", lanes=["entity"], k=4, world=meeting.ref)) == before
    db.replay(tmp_path / "then", seq=then)
    with worlddb.open(tmp_path / "then") as replayed:
        assert said(replayed.view().recall("Sarah", lanes=["entity"], k=4, exact=True)) == before


def test_where_the_other_lanes_propose_enough_nothing_is_added(db: Database) -> None:
    db.embed()
    found = db.view().recall("What did Sarah remark?", k=10)
    assert len(found.hits) == 10 and all({"text", "vector"} & hit.lanes.keys() for hit in found.hits)


def test_who_had_few_references_at_another_valid_time_is_not_taken_for_crowded(db: Database) -> None:
    asker = db.create("Person", "Ilse").ref
    with db.batch() as tx:
        for number in range(MANY):
            note = tx.create("Note", "", content=f"note {number}", valid_from="2020-01-01", resolve=False)
            tx.link(note, "refers_to", asker, valid_from="2020-01-01" if number < 3 else "2025-01-01")
    for _ in range(2):
        now = db.view().recall("Ilse", lanes=["entity"], k=3)
        assert [hit.content for hit in now.hits] == [f"note {number}" for number in (MANY - 1, MANY - 2, MANY - 3)]
        then = db.view(valid="2024-01-01").recall("Ilse", lanes=["entity"], k=3)
        assert [hit.content for hit in then.hits] == ["note 0", "note 1", "note 2"], "all are few: in log order"
    with db.batch() as tx:
        for edge in db.view().edges(asker, type="refers_to", direction="in")[3:]:
            tx.unlink(edge.ref)
    after = db.view().recall("Ilse", lanes=["entity"], k=3)
    assert [hit.content for hit in after.hits] == ["note 0", "note 1", "note 2"]


@pytest.fixture
def talks() -> Iterator[Database]:
    """Two conversations in one store; in that without Dave strangers say of themselves what is asked of him."""
    with new_store() as store:
        store.ingest(
            [
                Turn(text="Today I did buy two leashes for the dogs. What did you buy?", speaker="Audrey"),
                Turn(text="I did buy a tent. I buy what I need.", speaker="Gina"),
            ],
            conversation="of dogs",
            at="2025-03-01",
        )
        store.ingest(
            [
                Turn(text="Look, I got myself an old guitar at the market.", speaker="Dave"),
                Turn(text="The market has great bargains, that one is a beauty.", speaker="Calvin"),
            ],
            conversation="of music",
            at="2025-03-02",
        )
        store.embed()
        yield store


def test_of_whom_a_question_names_comes_before_what_strangers_say_who_are_still_found(talks: Database) -> None:
    for exact in (False, True):
        found = talks.view().recall("What did Dave buy?", exact=exact)
        speakers = [hit.content.partition(":")[0] for hit in found.hits if hit.type == "Turn"]
        assert speakers[0] == "Dave"
        assert set(speakers) == {"Dave", "Calvin", "Audrey", "Gina"}
        best = next(hit for hit in found.hits if hit.type == "Turn")
        assert best.scores["home"] == pytest.approx(0.2)


def test_nobody_is_a_stranger_where_whom_a_question_names_is_at_home_around_all(talks: Database) -> None:
    (music,) = talks.view().find(name="of music")
    for view in (talks.view(world=music.ref), talks.view()):
        inside = view.recall("What did Dave buy?", world=music.ref)
        assert inside.hits and not any("home" in hit.scores for hit in inside.hits)
    talks.create("Entity", "Dave", resolve=False)
    (*_, newest) = talks.view().find(name="Dave")
    talks.link(talks.create("Note", "", content="Dave called").ref, "refers_to", newest.ref)
    everywhere = talks.view().recall("What did Dave buy?")
    assert everywhere.hits and not any("home" in hit.scores for hit in everywhere.hits)


def test_what_refers_to_whom_a_question_names_is_no_stranger_wherever_it_lies(talks: Database) -> None:
    (dave,) = talks.view().find(name="Dave")
    elsewhere = talks.create("Topic", "Elsewhere").ref
    note = talks.create("Note", "", content="He buys old records too.", world=elsewhere)
    talks.link(note.ref, "refers_to", dave.ref)
    found = {hit.ref: hit for hit in talks.view().recall("What did Dave buy?").hits}
    assert found[note.ref].scores["home"] == pytest.approx(0.2)
    assert elsewhere not in found or "home" not in found[elsewhere].scores


def test_what_has_the_name_is_no_stranger_wherever_it_lies(talks: Database) -> None:
    talks.create("Fact", "", content="Dave does buy tubes for his amplifier.")
    first = next(hit for hit in talks.view().recall("What does Dave buy?").hits if hit.content)
    assert first.content == "Dave does buy tubes for his amplifier."
    assert first.scores["home"] == pytest.approx(0.2)


def test_what_is_said_about_somebody_else_alone_comes_after_what_is_about_whom_a_question_names(tmp_path: Path) -> None:
    """By meaning alone Tom's car would come before Ana's bike."""
    with worlddb.memory(tmp_path / "store", user="u") as mem:
        for text, who in (("Tom bought a car", "Tom"), ("She bought a bike", "Ana"), ("Tom sold his house", "Tom")):
            mem.add(text, about=who)
        mem.add("Ana got herself a red lamp", about=["Ana"])
        found = mem.recall("What has Ana bought?")
        assert {hit.content for hit in found.hits[:2]} == {"She bought a bike", "Ana got herself a red lamp"}
        assert len(found.hits) == 4, "a preference, and no wall"
        mem.add("The car that Ana bought is blue", about="car")
        named = next(hit for hit in mem.recall("What has Ana bought?").hits if "blue" in hit.content)
        assert "entity" not in named.lanes, "what has the name is about her too"
        assert mem.recall("What has Tom bought?").hits[0].content == "Tom bought a car"


@pytest.mark.parametrize("name", ["Nordhaus", "Studio Kern"])
@pytest.mark.parametrize("question", ["what should I know about {}?", "tell me about {}", "anything new about {}?"])
def test_what_has_a_name_is_found_by_it_when_a_statement_is_about_it(tmp_path: Path, name: str, question: str) -> None:
    """As an entity the name was left out of what is compared by meaning, and little of the question was left."""
    with worlddb.memory(tmp_path / "store", user="greta", session="today") as mem:
        mem.add([{"role": "user", "content": text} for text in (f"{name} is slow to pay", f"had lunch with {name}")])
        for text in ("bought a rug", "lost my umbrella", "I prefer tea", "need new batteries", "watched a film"):
            mem.add(text)
        mem.add(f"{name} wants it on recycled paper")
        mem.add(f"The {name} invoice is due on 3 December.", about=name)
        found = mem.recall(question.format(name), k=4)
        assert sum(name in hit.content for hit in found.hits) == 4
        assert all(hit.scores["entity"] > 0 for hit in found.hits)
        assert "perhaps nothing" not in found.note


def test_what_is_asked_in_particular_counts_more_than_the_name(tmp_path: Path) -> None:
    """By the name alone a short text that has it was nearer than the one that answers."""
    with worlddb.memory(tmp_path / "store", user="greta") as mem:
        mem.add("took Pepper to the groomer")
        mem.add("Pepper was scared of the noise at New Year")
        mem.add("Pepper gets half a tablet of Apoquel every evening, by the vet's order.", about="Pepper")
        found = mem.recall("what medicine does Pepper get?", k=3)
        assert found.hits[0].content.startswith("Pepper gets half a tablet") and len(found.hits) == 3


@pytest.mark.parametrize(
    "question", ["where do I work now?", "what is my job?", "Wo arbeite ich?", "¿dónde trabajo yo?"]
)
def test_who_asks_for_what_is_theirs_is_the_user_of_the_world(tmp_path: Path, question: str) -> None:
    """Statements about the user by name were not among ten, and any other came before them."""
    with worlddb.memory(tmp_path / "store", user="pavel") as mem:
        mem.add("Pavel is a foreman at Zimmerei Huber.", about="Pavel")
        mem.add("Honza sold his van, works in a bakery now", about="Honza")
        for name in ("Jana", "Mila", "Karel", "Zdena", "Ilse", "Bruno"):
            mem.add(f"{name} has new shelves to work on", about=name)
        found = mem.recall(question)
        if question in ("where do I work now?", "what is my job?"):
            assert found.hits[0].content.startswith("Pavel")
        scores = {hit.content: hit.scores.get("entity", 0.0) for hit in found.hits}
        assert scores.pop("Pavel is a foreman at Zimmerei Huber.") == pytest.approx(0.2)
        assert scores and not any(scores.values())


def test_who_asks_is_the_user_also_where_nothing_refers_to_them(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "store", user="pavel") as mem:
        mem.add("Pavel is a foreman at Zimmerei Huber.")
        mem.add("Honza sold his van, works in a bakery now")
        assert mem.recall("where do I work now?").hits[0].content.startswith("Pavel")


def told_to_an_assistant(mem: worlddb.Memory) -> None:
    """Sixty exchanges with an assistant, in one of which Maya says where she lives."""
    messages = []
    for number in range(60):
        told = "I live in Gothenburg with my cat Pixel" if number == 30 else f"I walked past shop number {number} today"
        messages.append({"role": "user", "content": told})
        messages.append({"role": "assistant", "content": f"Many people live near shop number {number}."})
    mem.add(messages)


def test_in_a_user_s_world_i_is_that_user_and_so_is_the_name(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "store", user="maya", agent="claude", session="chat") as mem:
        told_to_an_assistant(mem)
        for question in ("Where do I live?", "Where does Maya live?", "where does maya live"):
            found = mem.recall(question, k=20)
            assert found.hits[0].content == "maya: I live in Gothenburg with my cat Pixel"
            assert not found.weak
            for hit in found.hits:
                assert (hit.scores.get("entity", 0) > 0) == hit.content.startswith("maya: "), "her turns alone gain"
                assert "talk" not in hit.scores, "a talk with a machine, whatever its name is"


def test_what_nobody_said_of_a_user_is_weak_asked_by_name_or_not(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "store", user="maya", session="chat") as mem:
        told_to_an_assistant(mem)
        for asked in ("What is {} blood type?", "What is {} passport number?", "Who is {} flatmate?"):
            mine, hers = (mem.recall(asked.format(whose)) for whose in ("my", "Maya's"))
            assert mine.weak and hers.weak, asked
            assert hers.confidence == pytest.approx(mine.confidence or 0, abs=0.05)


def test_what_is_stated_in_a_user_s_world_gains_as_much_as_what_that_user_says(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "store", user="maya", session="chat") as mem:
        told_to_an_assistant(mem)
        for text, about in (("Elin's wedding is on 30 May in Visby.", "Elin"), ("The flat has two rooms.", ())):
            mem.add(text, about=about)
        for question in ("When is my sister's wedding?", "How many rooms does my flat have?"):
            hits = [hit for hit in mem.recall(question, k=20).hits if "live near" not in hit.content]
            parts = {hit.scores.get("entity", 0) for hit in hits}
            assert parts == {ENTITY_WEIGHT}, question
        assert mem.recall("When is my sister's wedding?").hits[0].content.startswith("Elin's")
