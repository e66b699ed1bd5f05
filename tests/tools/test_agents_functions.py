"""Remembers, recalls and forgets as a program does, and as a model's tool calls do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.house.test_docs import FENCE, text_of
from worlddb import Database, InputError, World, memory_scopes
from worlddb.tools.agents import call, definitions, forget, functions, recall, remember


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="the program") as opened:
        yield opened


def test_what_a_model_wrote_means_what_it_can_only_mean_and_filters_choose(db: Database) -> None:
    def told(name: str, **arguments: Any) -> Any:
        return json.loads(call(db, name, arguments, notes=True))

    old = told("remember", text="The deploy is on Fridays.", about="deploy", type="Rule")["id"]
    new = told("remember", text="The deploy is on Mondays.", about="deploy", contradicts=old)["id"]
    assert [edge.target for edge in db.view().edges(new, type="contradicts")] == [old]
    db.label(old, "ops")
    db.tag(old, "agreed")
    db.revise(old, content="The deploy is never.")
    assert len(told("recall", query="deploy", limit="1")["found"]) == 1
    for asked in ({"type": "Rule"}, {"label": "ops"}, {"about": "deploy", "type": "Rule"}):
        assert [hit["text"] for hit in told("recall", query="deploy", **asked)["found"]] == ["The deploy is never."]
    found = told("recall", query="deploy", tag="agreed")["found"]
    assert [hit["text"] for hit in found] == ["The deploy is on Fridays."]
    assert "has the label 'op'" in told("recall", query="deploy", label="op")["notes"][-1]
    assert told("remember", text="a\0")["error"]["message"] == "text has a NUL at character 1"
    assert told("forget", id="dead0000")["error"]["message"] == "No memory has the id dead0000"


@pytest.mark.parametrize("background", [True, False])
def test_a_call_embeds_what_it_wrote_only_if_no_thread_does_so(
    tmp_path: Path, background: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with worlddb.open(tmp_path / "own", embedder=None, background=background) as db:
        embedded: list[Any] = []
        monkeypatch.setattr(Database, "embed", lambda handle, **_: embedded.append(handle))
        remember(db, "The deploy is on Fridays.")
        assert embedded == ([] if background else [db])


def test_a_recall_among_very_many_names_ends(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_MAX_RECALLED", 40)
    monkeypatch.setattr("worlddb.query.question.question.MAX_K", 40)
    with db.batch() as tx:
        for number in range(60):
            tx.create("Entity", f"Lisbon {number}", resolve=False)
    remember(db, "It rains in Lisbon, in Porto, in Faro, and everywhere else that anybody has been to this winter.")
    assert len(recall(db, "Lisbon", limit=5)) <= 1


def test_whom_something_is_remembered_about_begins_anew_after_it_was_forgotten(db: Database) -> None:
    def about(text: str) -> str:
        made = remember(db, text, about="Ana")["id"]
        return db.view().edges(made, type="refers_to", direction="out")[0].target

    old = about("Ana lives in Lisbon.")
    db.retire(old)
    new = about("Ana is the new neighbour.")
    assert new != old and about("Ana has a dog.") == new
    assert [world.ref for world in db.view().find(name="Ana")] == [new]


def test_what_is_near_is_told_and_linked_only_if_it_was_asked_for(db: Database) -> None:
    lisbon = remember(db, "Ana lives in Lisbon.", about="Ana", since="2024-01-01")["id"]
    told = remember(db, "Ana lives in Porto.", about="Ana", since="2025-01-01")
    (near,) = told["near"]
    assert (near["id"], near["relation"], near["linked"]) == (lisbon, "replacement", None)
    assert near["text"] == "Ana lives in Lisbon." and "residence" in near["reason"]
    assert db.view().edges(told["id"], direction="both", type="supersedes") == []
    later = remember(db, "Ana lives in Faro.", about="Ana", since="2025-02-01", on_near="supersede_same_subject")
    assert {each["id"]: each["linked"] for each in later["near"]} == dict.fromkeys([lisbon, told["id"]], "supersedes")
    assert [hit["text"] for hit in recall(db, "Where does Ana live?")] == ["Ana lives in Faro."]
    (edge, _) = db.view().edges(later["id"], type="supersedes", direction="out")
    assert edge.why.startswith("by on_near: same subject")
    with pytest.raises(InputError, match="on_near is 'guess'"):
        remember(db, "Ana lives in Braga.", about="Ana", on_near="guess")
    assert remember(db, "Ana lives in Braga.", about="Ana", replaces=later["id"])["near"] == []


def test_what_is_said_again_word_for_word_is_one_statement_with_another_source(db: Database) -> None:
    world = db.create("Scope", "mine").ref
    given = {"about": "Ana", "world": world}
    first = remember(db, "Ana lives in Lisbon.", source={"chat": 1}, **given)
    again = remember(db, "Ana  lives in Lisbon.", source={"chat": 2}, **given)
    assert (again["id"], again["restated"], first["restated"]) == (first["id"], True, False)
    shown = db.view().get(first["id"])
    assert shown is not None and [each.source for each in shown.restated] == [{"chat": 2}]
    assert shown.source == {"chat": 1} and len(recall(db, "Lisbon", world=world)) == 1
    assert remember(db, "Ana lives in Lisbon.", world=world)["id"] == first["id"]
    tea = remember(db, "She likes tea.", world=world)
    assert remember(db, "She likes tea.", **given)["id"] == tea["id"] and recall(db, "tea", about="Ana", world=world)
    others = (
        {"about": "Bob", "world": world},
        {"about": "Ana"},
        {**given, "since": "2998-01-01", "until": "2999-01-01"},
    )
    for other in others:
        made = remember(db, "Ana lives in Lisbon.", **other)
        assert made["id"] != first["id"] and not made["restated"]
    ended = remember(db, "Ana lives in Lisbon.", until="2999-01-01", **given)
    assert ended["restated"] and "holds until 2999-01-01T00:00:00Z now, and had no end" in ended["notes"][0]
    forget(db, first["id"])
    assert remember(db, "Ana lives in Lisbon.", **given)["id"] != first["id"]


def test_what_cannot_be_true_beside_it_is_proposed_as_a_contradiction(db: Database) -> None:
    born = remember(db, "Ana was born in Faro.", about="Ana")["id"]
    remember(db, "Ana plays the cello.", about="Ana")
    given = {"text": "Ana was born in Porto.", "about": "Ana"}
    told = json.loads(call(db, "remember", given, on_near="propose"))
    assert [(near["id"], near["linked"]) for near in told["near"]] == [(born, "contradicts")]
    (edge,) = db.view().conflicts(born)
    db.unlink(edge.ref)
    assert db.view().conflicts(born) == []
    # No words in common make it the same attribute.
    moved = remember(db, "Ana now lives in Porto.", about="Ana", on_near="supersede_same_subject")
    assert [(near["relation"], near["linked"]) for near in moved["near"]] == [("replacement", None)]
    # No later one replaces what cannot have changed.
    again = remember(db, "Ana was born in Braga.", about="Ana", on_near="supersede_same_subject")
    assert {near["linked"] for near in again["near"]} == {None}


def test_what_replaces_something_in_words_that_are_known_is_no_second_statement(db: Database) -> None:
    old = remember(db, "The rent is 900 euros.", since="2024-01-01")
    assert remember(db, "The rent is 900 euros.", replaces=old["id"])["id"] == old["id"]
    new = remember(db, "The rent is 1000 euros.", since="2024-02-01")
    again = remember(db, "The rent is 1000 euros.", replaces=old["id"])
    assert again["restated"] and again["id"] == new["id"]
    assert [hit.content for hit in db.view().recall("the rent").hits] == ["The rent is 1000 euros."]


def test_what_is_said_again_is_linked_as_asked_and_says_what_was_left_out(db: Database) -> None:
    hates = remember(db, "Ana hates tea.", about="Ana")["id"]
    likes = remember(db, "Ana likes tea.", about="Ana", since="2025-01-01")["id"]
    again = [remember(db, "Ana likes tea.", about="Ana", since="2025-02-01", on_near="propose") for _ in range(2)]
    assert {told["id"] for told in again} == {likes} and len(db.view().conflicts(likes)) == 1
    assert [near["linked"] for near in again[0]["near"] if near["id"] == hates] == ["contradicts"]
    (note,) = again[0]["notes"]
    assert "2025-02-01T00:00:00Z was left out" in note and "from 2025-01-01" in note


def test_what_replaces_a_statement_late_takes_its_place_in_between(db: Database) -> None:
    """It was refused with the advice to replace what followed, and that lost what had been said of it."""
    first = remember(db, "The rent is 150.", since="2024-01-01")["id"]
    later = remember(db, "The rent is 190.", since="2026-01-01", replaces=first)["id"]
    late = remember(db, "The rent is 175.", since="2025-01-01", replaces=first)["id"]
    held = [[world.ref for world in db.view(valid=f"{2024 + n}-06-01").find(type="Fact")] for n in range(3)]
    assert held == [[first], [late], [later]]
    with pytest.raises(InputError, match=f"{later} replaced it"):
        remember(db, "The rent is 170.", since="2025-01-01", replaces=first)


def test_what_is_still_to_come_is_replaced_by_what_is_still_to_come(db: Database) -> None:
    now = remember(db, "Ana lives in Lisbon.", since="2020-01-01")["id"]
    coming = remember(db, "Ana lives in Porto.", since="2999-01-01", replaces=now)["id"]
    other = remember(db, "Ana lives in Braga.", replaces=coming)["id"]
    assert [world.ref for world in db.view().find(type="Fact")] == [now]
    assert [world.ref for world in db.view(valid="2999-02-01").find(type="Fact")] == [other]
    with pytest.raises(InputError, match=f"not true by then: {other} replaced it"):
        remember(db, "Ana lives in Faro.", since="2999-03-01", replaces=now)


def test_what_is_remembered_is_recalled_replaced_and_forgotten(db: Database) -> None:
    first = remember(db, "Ana lives in Lisbon.", about="Ana", since="2024-01-01")
    (found,) = recall(db, "where does Ana live?")
    assert (found["id"], found["text"], found["author"]) == (first["id"], "Ana lives in Lisbon.", "the program")
    second = remember(db, "Ana lives in Porto.", about="Ana", since="2025-06-01", replaces=first["id"])
    assert [each["id"] for each in recall(db, "where does Ana live?")] == [second["id"]]
    assert [each["id"] for each in recall(db, "where does Ana live?", at="2025-01-01")] == [first["id"]]
    forget(db, second["id"][:8], why="she asked")
    assert recall(db, "where does Ana live?") == []
    assert [version.content for version in db.view().history(second["id"])] == ["Ana lives in Porto."]


def test_what_may_have_been_missed_is_said_beside_the_list_and_the_list_is_one(db: Database) -> None:
    remember(db, "Ana lives in Lisbon.")
    found = recall(db, "where does Ana live?")
    assert found == [found[0]] and found.notes == ()
    assert json.loads(json.dumps(found)) == found
    for query, said in (
        ("Which dog was ill the week after Easter?", 'not understood as a time, and ignored: "the week after Eas'),
        ("how do I configure a printer on a Mac?", "perhaps nothing here is about that"),
        ("?!", "nothing was searched"),
    ):
        assert any(said in note for note in recall(db, query).notes), query
        answer = json.loads(call(db, "recall", {"query": query}, notes=True))
        assert answer.keys() == {"found", "notes"} and any(said in note for note in answer["notes"]), query
        assert json.loads(call(db, "recall", {"query": query})) == answer["found"], "without notes it is a list"
    assert json.loads(call(db, "recall", {"query": "where does Ana live?"}, notes=True))["notes"] == []
    assert "error" in json.loads(call(db, "recall", {}, notes=True))


def test_without_vectors_that_is_said_and_in_one_world_not_how_much_others_write(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "words", embedder=None) as db:
        mine = db.create("Topic", "mine")
        remember(db, "Ana lives in Lisbon.", world=mine)
        (note,) = recall(db, "Lisbon").notes
        assert note.startswith("Searched only by words and names, not by meaning (vector: ")
        (note,) = recall(db, "Lisbon", world=mine).notes
        assert note == "For now, only words and names find memories, not meaning"
    with worlddb.open(tmp_path / "pending") as db:
        remember(db, "Ana lives in Lisbon.")
        db.create("Fact", "", content="Ben lives in Bergen.")
        assert recall(db, "Lisbon").notes == ()


def test_names_that_are_one_are_proposed_and_not_merged(db: Database) -> None:
    remember(db, "Katherine Jones is a dentist.", about="Katherine Jones")
    second = remember(db, "Catherine Jones has a practice.", about="Catherine Jones")
    assert len(second["proposals"]) == 1
    assert len(recall(db, "Jones", limit=9)) == 2


def about(db: Database, fact: str) -> str:
    """Whom a statement is about."""
    return db.view().edges(fact, type="refers_to", direction="out")[0].target


def test_whom_two_worlds_speak_about_by_one_name_are_two(db: Database) -> None:
    """They were one, inside the first of the worlds: an erasure there took the other's, too."""
    mine, other = (db.create("User", name).ref for name in ("mine", "other"))
    first, *others = (
        remember(db, text, about="Mom", world=world)
        for text, world in (
            ("Mom has a new knee.", mine),
            ("Mom is from Lima.", other),
            ("Mom sings.", other),
            ("Mom!", None),
        )
    )
    moms = [about(db, made["id"]) for made in (first, *others)]
    assert len(set(moms)) == 3 and moms[1] == moms[2]
    assert [db.view().containers(mom)[0] for mom in moms[:2]] == [mine, other]
    for world, mom in ((mine, moms[0]), (other, moms[1])):
        assert [found.ref for found in db.view(world=world).find(name="Mom")] == [mom]
        seen = {proposal.ref for proposal in db.view(world=world).proposals()}
        assert all(set(made["proposals"]) <= seen for made in ([first] if world == mine else others[:2]))
    db.erase(moms[0], reason="request 9")
    remember(db, "Mom likes tea.", about="Mom", world=other)
    assert [found.ref for found in db.view(world=other).find(name="Mom")] == [moms[1]]


def test_whom_something_is_about_is_one_however_the_name_is_capitalised(db: Database) -> None:
    mine = db.create("User", "mine").ref
    for world in (mine, None):
        names = (["Mom", "MOM"], "mom", "MOM")
        made = [remember(db, f"Mom says {number}.", about=name, world=world) for number, name in enumerate(names)]
        assert len({about(db, each["id"]) for each in made}) == 1
    assert len({proposal.target for proposal in db.view().proposals()}) <= 1
    assert [found.name for found in db.view().find(type="Entity")] == ["Mom", "Mom"]


def test_whom_an_earlier_release_knew_in_a_world_is_still_the_same(db: Database) -> None:
    mine, other = (db.create("User", name).ref for name in ("mine", "other"))
    named = db.create("Entity", "Mom", key='["agents","Mom"]', world=mine, valid_from="0001-01-01").ref
    inner = db.create("Topic", "inner", world=mine).ref
    made = [remember(db, "Mom sings.", about="Mom", world=world)["id"] for world in (mine, mine, other, inner)]
    assert [about(db, fact) == named for fact in made] == [True, True, False, False]
    own = db.create("Entity", "Mom", world=other).ref
    assert about(db, remember(db, "Mom reads.", about="Mom", world=other)["id"]) == about(db, made[2]) != own


def test_what_an_earlier_release_knew_in_a_world_is_not_what_is_spoken_of_outside(db: Database) -> None:
    """Its key had no world in it: whoever spoke of the same name without one spoke of a tenant's."""
    mine = db.create("User", "mine").ref
    named = db.create("Entity", "Mom", key='["agents","Mom"]', world=mine, valid_from="0001-01-01").ref
    made = [remember(db, text, about="Mom")["id"] for text in ("Mom sings.", "Mom reads.")]
    assert about(db, made[0]) == about(db, made[1]) != named
    db.erase(named, reason="request 10")
    assert about(db, remember(db, "Mom swims.", about="Mom")["id"]) == about(db, made[0])
    own = db.create("Entity", "Dad", key='["agents","Dad"]', valid_from="0001-01-01").ref
    assert about(db, remember(db, "Dad sings.", about="Dad")["id"]) == own


def test_whom_an_operator_moved_out_of_a_world_is_not_spoken_of_in_it_any_more(db: Database) -> None:
    mine, other = (db.create("User", name).ref for name in ("mine", "other"))
    first = about(db, remember(db, "Mom sings.", about="Mom", world=mine)["id"])
    db.move(first, other)
    made = [remember(db, text, about="Mom", world=mine)["id"] for text in ("Mom reads.", "Mom swims.")]
    assert about(db, made[0]) == about(db, made[1]) != first
    assert [found.ref for found in db.view(world=mine).find(name="Mom")] == [about(db, made[0])]


def test_proposals_are_told_where_both_sides_can_be_seen(db: Database) -> None:
    mine, other = (db.create("User", name).ref for name in ("mine", "other"))
    names = ("Katherine Jones", "Catherine Jones")
    made = {world: [remember(db, "She sings.", about=name, world=world) for name in names] for world in (mine, other)}
    (own,), (hidden,) = (made[world][1]["proposals"] for world in (mine, other))
    assert [proposal.ref for proposal in db.view(world=mine).proposals()] == [own]
    assert [memory_scopes.is_visible(db.view(world=mine).proposal, each) for each in (own, hidden)] == [True, False]


def test_a_model_sees_nothing_outside_of_its_world_and_cannot_say_who_it_is(db: Database) -> None:
    mine, other = db.create("Topic", "mine"), db.create("Topic", "other")
    secret = remember(db, "The code is 4711.", world=other)
    said = json.loads(call(db, "remember", '{"text": "The lamp is green."}', world=mine, source={"run": 7}))
    shown = json.loads(call(db, "recall", '{"query": "the code, the lamp"}', world=mine))
    assert [each["id"] for each in shown] == [said["id"]] and shown[0]["source"] == {"run": 7}
    for arguments in ({"id": secret["id"]}, {"id": secret["id"][:6]}):
        answer = json.loads(call(db, "forget", arguments, world=mine))
        assert answer["error"]["code"] == "unknown_reference" and "4711" not in json.dumps(answer)
    for extra in ("author", "world", "source"):
        answer = json.loads(call(db, "remember", {"text": "x", extra: "mallory"}, world=mine))
        assert answer["error"]["code"] == "input"
    assert db.view().get(secret["id"]) is not None


def test_a_python_that_leaves_out_docstrings_tells_a_model_the_same() -> None:
    program = "import json; from worlddb.tools.agents import definitions; print(json.dumps(definitions()))"
    bare = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, timeout=180, check=True)
    assert json.loads(bare.stdout) == definitions()


def test_the_definitions_are_what_is_checked(db: Database) -> None:
    named = {each["function"]["name"]: each["function"] for each in definitions()}
    assert named.keys() == {"remember", "recall", "forget"}
    for name, required in (("remember", ["text"]), ("recall", ["query"]), ("forget", ["id"])):
        schema = named[name]["parameters"]
        assert schema["type"] == "object" and schema["required"] == required
        assert schema["additionalProperties"] is False and named[name]["description"]
        assert all("description" in told or "anyOf" in told for told in schema["properties"].values())
    assert json.loads(call(db, "recall", {"query": "x", "limit": 51}))["error"]["code"] == "input"
    assert json.loads(call(db, "purge", "{}"))["error"]["remedy"].endswith("remember, recall, forget")


def test_what_says_nothing_is_not_kept_and_names_nobody(db: Database) -> None:
    head = db.head()
    for wrong in ({"text": " "}, {"text": "x", "replaces": ""}, {"text": "x", "replaces": "zz"}, {"text": "\n"}):
        error = json.loads(call(db, "remember", wrong))["error"]
        assert error["code"] == "input" and "db." not in error["remedy"], error
    assert db.head() == head
    for about in (" ", "\u2003", " Ana\n Bell "):
        remember(db, "She sings.", about=about)
    assert [entity.name for entity in db.view().find(type="Entity")] == ["Ana Bell"]


@given(name=st.sampled_from(["remember", "recall", "forget", "x"]), arguments=st.text() | st.binary())
def test_nothing_that_a_model_writes_raises(tmp_path_factory, name: str, arguments: str | bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "agents-fuzz"
    with worlddb.open(folder, author="x") as db:
        head = db.head()
        answer = json.loads(call(db, name, arguments))
        assert "error" in answer and db.head() == head


def test_a_loop_of_tool_calls_remembers_across_conversations(db: Database) -> None:
    """The messages are OpenAI's; the model is a script."""
    script = iter(
        [
            [("recall", {"query": "what does the user like to drink?"})],
            [("remember", {"text": "The user drinks tea without sugar.", "about": "the user"})],
            [],
            [("recall", {"query": "what does the user like to drink?"})],
            [],
        ]
    )

    def model(messages: list[Any], tools: list[Any]) -> Any:
        assert tools == definitions()
        calls = [
            {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for at, (name, arguments) in enumerate(next(script))
        ]
        return {"role": "assistant", "content": None if calls else messages[-1]["content"], "tool_calls": calls}

    def converse(text: str) -> str:
        messages: list[Any] = [{"role": "user", "content": text}]
        while True:
            said = model(messages, definitions())
            messages.append(said)
            if not said["tool_calls"]:
                return str(said["content"])
            for asked in said["tool_calls"]:
                function = asked["function"]
                content = call(db, function["name"], function["arguments"], source={"channel": "chat"})
                messages.append({"role": "tool", "tool_call_id": asked["id"], "content": content})

    converse("I take my tea without sugar.")
    assert "tea without sugar" in converse("What shall I order for you?")


def test_the_loop_on_the_page_runs_as_it_is_written(db: Database) -> None:
    """With objects in place of OpenAI's client, which are read in the same way."""
    (written,) = [each["body"] for each in FENCE.finditer(text_of("docs/howto/use-in-a-tool-loop.md")) if each["left"]]
    asked = [
        SimpleNamespace(id="c1", function=SimpleNamespace(name="remember", arguments='{"text": "Ana eats no nuts."}')),
        SimpleNamespace(id="c2", function=SimpleNamespace(name="recall", arguments='{"query": "what does Ana eat?"}')),
        SimpleNamespace(id="c3", function=SimpleNamespace(name="recall", arguments="{")),
    ]
    script = iter([SimpleNamespace(tool_calls=asked), SimpleNamespace(tool_calls=None)])
    given: list[dict[str, Any]] = []

    def create(**settings: Any) -> Any:
        given.append(settings | {"messages": [*settings["messages"]]})
        return SimpleNamespace(choices=[SimpleNamespace(message=next(script))])

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    names: dict[str, Any] = {"client": client, "MODEL": "any", "db": db, "call": call, "definitions": definitions}
    exec(compile(written, "use-in-a-tool-loop.md", "exec"), names)
    assert [each["tools"] for each in given] == [definitions()] * 2
    answers = {each["tool_call_id"]: json.loads(each["content"]) for each in names["messages"][2:5]}
    assert answers["c2"]["found"][0]["text"] == "Ana eats no nuts." and answers["c2"]["found"][0]["source"] == {
        "channel": "chat"
    }
    assert answers["c3"]["error"]["code"] == "input" and len(names["messages"]) == 6


@pytest.mark.parametrize("confined", [True, False])
def test_half_a_character_is_an_error_that_a_model_can_read(db: Database, confined: bool) -> None:
    world = db.create("Tenant", "Acme").ref if confined else None
    head = db.head()
    for half in ("\ud800", "Ada \udfff"):
        for about in ({"about": half}, {"text": half}):
            answer = json.loads(call(db, "remember", {"text": "She sings.", **about}, world=world))
            assert answer["error"]["code"] == "invalid_text" and answer["error"]["remedy"]
        with pytest.raises(InputError, match="about"):
            remember(db, "She sings.", about=half, world=world)
    assert db.head() == head


def test_a_model_in_one_world_is_not_told_who_writes_in_another(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    world = db.create("Tenant", "Acme").ref

    def busy(*given: Any, **named: Any) -> Any:
        raise worlddb.WriterBusy("held by process 7 on vm, author 'a stranger'", "end process 7")

    monkeypatch.setattr(type(db), "batch", busy)
    told = call(db, "remember", {"text": "She sings."}, world=world)
    assert json.loads(told)["error"]["code"] == "writer_busy"
    assert "stranger" not in told and "process" not in told
    assert "a stranger" in call(db, "remember", {"text": "She sings."})


def test_a_statement_is_about_several_and_says_what_it_contradicts_and_rests_on(db: Database) -> None:
    first = remember(db, "The offer ends in May.", about="Offer")["id"]
    second = remember(db, "The offer ends in June.", about="Offer")["id"]
    told = remember(
        db,
        "Ana and Bob wait until June.",
        about=["Ana", " Bob ", "Ana"],
        contradicts=[first],
        derived_from=second,
        type="Decision",
        name="the wait",
        why="the call on Monday",
    )
    made = db.view().get(told["id"])
    assert made is not None and (made.type, made.name, made.why) == ("Decision", "the wait", "the call on Monday")
    edges = {(edge.type, edge.target) for edge in db.view().edges(told["id"], direction="out")}
    named = {world.name: world.ref for world in db.view().find(type="Entity")}
    assert edges == {
        ("refers_to", named["Ana"]),
        ("refers_to", named["Bob"]),
        ("contradicts", first),
        ("derived_from", second),
    }
    again = remember(db, "Ana and Bob wait until June.", about=["Bob", "Ana"], type="Decision", name="the wait")
    assert (again["id"], again["restated"]) == (told["id"], True)
    assert not remember(db, "Ana and Bob wait until June.", about=["Bob", "Ana"])["restated"]
    answer = json.loads(call(db, "remember", {"text": "Cleo waits too.", "about": ["Cleo", "Ana"], "why": "said so"}))
    assert len(db.view().edges(answer["id"], type="refers_to")) == 2


@pytest.mark.parametrize("kind", ["Scope", "user", "Session", "TURN", " "])
def test_no_statement_passes_for_what_holds_statements(db: Database, kind: str) -> None:
    with pytest.raises(InputError, match=r"cannot be a|is empty"):
        remember(db, "Ana likes tea.", type=kind)


def test_what_a_rewritten_span_cannot_take_is_refused(db: Database) -> None:
    first = remember(db, "The rate is 2 %.", since="2020-01-01")["id"]
    for other in ({"contradicts": [first]}, {"derived_from": [first]}, {"type": "Claim"}, {"name": "rate"}):
        with pytest.raises(InputError, match="was given with replaces and until"):
            remember(db, "The rate is 3 %.", replaces=first, since="2021-01-01", until="2022-01-01", **other)
        with pytest.raises(InputError, match="was given with replaces and replace_later"):
            remember(db, "The rate is 3 %.", replaces=first, since="2021-01-01", replace_later=True, **other)


def test_a_statement_is_rewritten_from_a_time_on_whatever_was_to_follow(db: Database) -> None:
    rent = remember(db, "The rent is 150.", since="2024-01-01")["id"]
    remember(db, "The rent is 190.", since="2026-01-01", until="2027-01-01", replaces=rent)
    given = {"text": "The rent is 175.", "since": "2025-01-01", "replaces": rent, "replace_later": True}
    told = json.loads(call(db, "remember", given))
    assert told["id"] == rent
    assert [(each["from"][:4], (each["to"] or "")[:4]) for each in told["lost"]] == [("2026", ""), ("2025", "")]
    for year, text in (("2024", "150"), ("2025", "175"), ("2026", "175"), ("2028", "175")):
        found = db.view(valid=f"{year}-06-01").get(rent)
        assert found is not None and text in found.content
    head = db.head()
    for wrong in ({"replaces": None}, {"until": "2027-01-01"}):
        assert "replace_later" in json.loads(call(db, "remember", {**given, **wrong}))["error"]["message"]
    with pytest.raises(InputError, match="replace_later"):
        remember(db, "The rent is 180.", replaces=rent, replace_later="yes")  # type: ignore[arg-type]
    assert db.head() == head


def test_only_statements_are_forgotten_and_replaced(db: Database) -> None:
    tenant = db.create("Tenant", "Acme", content="All of Acme's.").ref
    session = db.create("Session", "call", content="A call", world=tenant).ref
    said = remember(db, "Ana of Acme likes tea.", about="Ana", world=tenant)
    head = db.head()
    for ref in ("Acme", tenant, "Ana", session):
        for call_of in (
            lambda ref=ref: forget(db, ref, world=tenant),
            lambda ref=ref: remember(db, "Nothing.", replaces=ref, world=tenant),
            lambda ref=ref: remember(db, "Nothing.", replaces=ref, since="20200101", until="20210101", world=tenant),
        ):
            with pytest.raises(InputError, match="is not a statement"):
                call_of()
    assert db.head() == head and said["id"] in [hit["id"] for hit in recall(db, "tea", world=tenant)]
    assert forget(db, said["id"], world=tenant)["id"] == said["id"]


def test_what_replaces_a_statement_is_marked_as_that_was(db: Database) -> None:
    """The pin, the labels, the properties and the deadline of the one before were lost without a word."""

    def known(ref: str, valid: str | None = None) -> World:
        found = db.view(valid=valid).get(ref)
        assert found is not None
        return found

    old = remember(db, "Ana lives in Lisbon.", about="Ana", expires_at="2090-01-01")["id"]
    db.pin(old)
    db.label(old, "home", "checked")
    db.revise(old, properties={"floor": 3}, valid_from=known(old).valid.start)
    new = remember(db, "Ana lives in Porto.", about="Ana", replaces=old)["id"]
    found = known(new)
    assert found.pinned and set(found.labels) == {"home", "checked"} and found.properties == {"floor": 3}
    assert found.expires_at == worlddb.parse_time("2090-01-01")
    sooner = remember(db, "Ana lives in Faro.", about="Ana", replaces=new, expires_at="2080-01-01")["id"]
    assert known(sooner).expires_at == worlddb.parse_time("2080-01-01")
    late = remember(db, "Ana lives in Évora.", about="Ana", replaces=sooner, since="2085-01-01")
    assert f"It has no deadline: that of {sooner} will have passed, or has" in late["notes"]
    (version,) = db.view().history(late["id"])
    assert version.properties == {"floor": 3} and known(late["id"], "2095-01-01").pinned
