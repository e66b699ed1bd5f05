"""The MCP server's recall names the sessions that answer and what may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.client.client import Client

import worlddb
from tests.support.mcp_clients import answer, connect_client, run_bounded
from tests.tools.mcp.test_mcp_tools import call, texts
from worlddb import Turn
from worlddb.tools.mcp import tool_arguments
from worlddb.tools.mcp.session import Session
from worlddb.tools.mcp.tool_arguments import MAX_GROUP, MAX_NEIGHBOURS, MAX_PAGE

DOGS = ("My dog Rex is ill since the weekend", "The puppy sees the veterinarian on Monday", "Rex barks at the cat")
MONEY = ("Interest rates are rising again", "The bank sold my dog insurance", "I paid the rent")
QUESTION = "How is my sick dog?"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="assistant") as store:
        yield store


def remember(desk: Session, **scopes: str) -> None:
    for text in DOGS:
        call(desk, "memory_write", text=text, run_id="dogs", **scopes)
    for text in MONEY:
        call(desk, "memory_write", text=text, run_id="money", **scopes)


def named(found: Any) -> list[str]:
    return [group["name"] for group in found["groups"]]


def test_what_is_found_beside_what_somebody_else_said_is_judged_by_itself(db: worlddb.Database) -> None:
    """The answer of the scope was another user's, was left out, and made what was left no weak answer."""
    desk = Session(db)
    call(desk, "memory_write", text="My shoe size is 44.", user_id="pavel", agent_id="home")
    for text in ("The kettle is broken", "I bought a lamp", "Tea is in the cupboard", "My bike has a flat tyre"):
        call(desk, "memory_write", text=text, user_id="nora", agent_id="home")
    db.embed()
    own = call(desk, "memory_recall", query="what is my shoe size?", user_id="nora", agent_id="home")
    assert own["memories"] and not any("44" in text for text in texts(own)) and "perhaps nothing" in str(own["notes"])
    known = call(desk, "memory_recall", query="what is broken?", user_id="nora", agent_id="home")
    assert texts(known)[0] == "The kettle is broken" and "perhaps nothing" not in str(known["notes"])


@pytest.mark.parametrize(("asked", "quoted"), [({"limit": 1}, 0), ({"limit": 2}, 1), ({"group": 1, "limit": 1}, 0)])
def test_a_note_quotes_no_memory_that_is_not_shown(db: worlddb.Database, asked: dict[str, int], quoted: int) -> None:
    """A page of one quoted the next one, which a plan may not allow to be told with it."""
    desk = Session(db)
    for since, town in (("2020-01-01", "Lisbon"), ("2024-01-01", "Porto")):
        call(desk, "memory_write", text=f"Ana lives in {town}.", valid_from=since, user_id="ana", run_id=town)
    query = {"query": "where does Ana live?", "user_id": "ana"}
    first = call(desk, "memory_recall", **query, **asked)
    assert texts(first)[0] == "Ana lives in Porto."
    (note,) = [each for each in first["notes"] if "compete" in each]
    assert (note.count("'Ana lives in Porto.'"), note.count("'Ana lives in Lisbon.'")) == (1, quoted)
    if asked == {"limit": 1}:
        rest = call(desk, "memory_recall", **query, **asked, cursor=first["next_cursor"])
        assert "'Ana lives in Lisbon.'" in str(rest["notes"])


# -- by session


@pytest.mark.parametrize("scopes", [{}, {"user_id": "ada"}])
def test_runs_are_sessions_whatever_else_a_memory_is_in(db: worlddb.Database, scopes: dict[str, str]) -> None:
    desk = Session(db)
    remember(desk, user_id="ada", agent_id="helper")
    found = call(desk, "memory_recall", query=QUESTION, group=2, **scopes)
    assert named(found)[:2] == ["run:dogs", "run:money"]
    best = found["groups"][0]
    assert best["type"] == "Scope" and best["count"] == len(DOGS) and len(best["memories"]) == 2
    assert [memory["id"] for memory in found["memories"]] == [
        ref for group in found["groups"] for ref in group["memories"]
    ]
    assert texts(found)[0] in DOGS
    assert found["groups"][0]["score"] > found["groups"][1]["score"]
    assert call(desk, "memory_recall", query=QUESTION, **scopes)["groups"] == []


def test_a_session_of_an_imported_conversation_is_one_and_a_memory_in_none_stands_for_itself(
    db: worlddb.Database,
) -> None:
    for session, said in (("dogs", DOGS), ("money", MONEY)):
        db.ingest([Turn(speaker="user", text=text) for text in said], conversation="talk", session=session)
    db.embed()
    desk = Session(db)
    alone = call(desk, "memory_write", text="Dogs like a walk.", user_id="ada")
    found = call(desk, "memory_recall", query="a walk with the sick dog", group=1)
    kinds = {group["type"]: group for group in found["groups"]}
    assert {"Session", "Fact"} <= set(kinds)
    assert kinds["Fact"]["memories"] == [alone["id"]] and kinds["Fact"]["id"] == alone["id"]
    assert named(found).index("dogs") < named(found).index("money")


def test_the_pages_of_sessions_leave_none_out_and_are_no_longer_than_others(db: worlddb.Database) -> None:
    desk = Session(db)
    for run in range(8):
        for number in range(MAX_GROUP + 1):
            call(desk, "memory_write", text=f"The heron {number} of pond {run}.", run_id=str(run))
    seen: list[str] = []
    page = call(desk, "memory_recall", query="heron", group=MAX_GROUP, limit=MAX_PAGE)
    while True:
        assert len(page["memories"]) <= MAX_PAGE and all(group["count"] == MAX_GROUP + 1 for group in page["groups"])
        seen += named(page)
        if page["next_cursor"] is None:
            break
        page = call(desk, "memory_recall", query="heron", group=MAX_GROUP, limit=MAX_PAGE, cursor=page["next_cursor"])
    assert sorted(seen) == [f"run:{run}" for run in range(8)]


def test_a_session_that_was_erased_has_no_name(db: worlddb.Database) -> None:
    topic = db.create("Topic", "herons")
    db.create("Fact", "note", content="a heron by the river", world=topic)
    db.erase(topic, reason="a request", members=False)
    (group,) = call(Session(db), "memory_recall", query="heron", group=1)["groups"]
    assert (group["id"], group["name"], group["type"]) == (topic.ref, "", "")


@pytest.mark.parametrize("wrong", [0, -1, MAX_GROUP + 1, "3", 2.5])
def test_a_number_of_memories_that_makes_no_sense_is_refused(db: worlddb.Database, wrong: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match="group"):
        call(Session(db), "memory_recall", query="dog", group=wrong)


def test_scopes_that_answer_take_no_memory_s_place(db: worlddb.Database) -> None:
    desk = Session(db)
    for number in range(6):
        call(desk, "memory_write", text=f"Ada said {number}.", user_id="ada", app_id="ada", run_id="ada")
    page = call(desk, "memory_recall", query="ada", limit=3)
    rest = call(desk, "memory_recall", query="ada", limit=3, cursor=page["next_cursor"])
    assert len({*texts(page), *texts(rest)}) == 6


# -- what was said before


def test_what_an_edge_joins_to_a_memory_is_found_if_it_is_asked_for_in_the_scope_alone(db: worlddb.Database) -> None:
    desk = Session(db)
    meeting = call(desk, "memory_write", text="Meeting about the harbour crane", user_id="ada")["id"]
    for number in range(20):
        call(desk, "memory_write", text=f"Crane report {number}", user_id="ada")
    decision = call(desk, "memory_write", text="Zoltan pays for lunch from now on", user_id="ada")["id"]
    apart = call(desk, "memory_write", text="Quite another matter", user_id="ben")["id"]
    db.link(decision, "derived_from", meeting)
    db.link(apart, "refers_to", meeting)

    def found(**options: Any) -> dict[str, Any]:
        answer = call(desk, "memory_recall", query="the meeting about the harbour crane", limit=5, **options)
        return {memory["id"]: memory for memory in answer["memories"]}

    assert decision not in found() and found(neighbours=0) == found()
    joined = found(neighbours=1)
    assert joined.keys() >= {meeting, decision, apart} and "connected to a hit by an edge" in joined[decision]["reason"]
    inside = found(neighbours=1, user_id="ada")
    assert inside.keys() >= {meeting, decision} and apart not in inside
    sessions = call(desk, "memory_recall", query="the harbour crane", group=1, limit=50, neighbours=1)
    assert {apart, decision} <= {memory["id"] for memory in sessions["memories"]}
    pages: list[str] = []
    cursor = None
    while len(pages) < 30:
        page = call(
            desk, "memory_recall", query="the crane", neighbours=1, limit=4, **({"cursor": cursor} if cursor else {})
        )
        pages += [memory["id"] for memory in page["memories"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(pages) == len(set(pages)) == 23
    for wrong in (-1, MAX_NEIGHBOURS + 1, "1"):
        with pytest.raises(msgspec.ValidationError, match="neighbours"):
            found(neighbours=wrong)


def test_where_as_many_hits_are_looked_at_as_can_be_the_answer_is_what_was_found(
    db: worlddb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Session(db)
    for number in range(12):
        call(desk, "memory_write", text=f"the lamp {number}", run_id=f"lamp {number % 3}")
    # Nothing that is asked for again would give more: whoever looks for it never ends.
    monkeypatch.setattr(tool_arguments, "MAX_OFFSET", 8)
    found = call(desk, "memory_recall", query="lamp", limit=12)
    assert 1 <= len(found["memories"]) <= 8 and all("lamp" in text for text in texts(found))


def test_a_question_of_change_is_answered_with_what_was_said_before(db: worlddb.Database) -> None:
    desk = Session(db)
    home = db.create("Fact", "", content="Ada lives in Riga.", valid_from="2020-01-01")
    db.revise(home, content="Ada lives in Oslo.", valid_from="2024-01-01")
    (now,) = call(desk, "memory_recall", query="where does Ada live?")["memories"]
    assert (now["text"], now["earlier"]) == ("Ada lives in Oslo.", [])
    (change,) = call(desk, "memory_recall", query="has the town where Ada lives changed?")["memories"]
    assert [(each["text"], each["valid_to"]) for each in change["earlier"]] == [
        ("Ada lives in Riga.", "2024-01-01T00:00:00Z")
    ]
    (before,) = call(desk, "memory_recall", query="where did Ada live previously?")["memories"]
    told = [(before["text"], before["valid_to"]), *((each["text"], each["valid_to"]) for each in before["earlier"])]
    assert told == [("Ada lives in Riga.", "2024-01-01T00:00:00Z"), ("Ada lives in Oslo.", None)]


# -- what may have been missed


def test_an_answer_says_which_space_was_compared_and_whether_meaning_was(db: worlddb.Database) -> None:
    desk = Session(db)
    with db.batch() as tx:
        for text in DOGS:
            tx.create("Fact", "", content=text)
    before = call(desk, "memory_recall", query=QUESTION)
    assert before["space"] is None
    assert [note for note in before["notes"] if "not by meaning" in note and "embedded yet" in note]
    db.embed()
    after = call(desk, "memory_recall", query=QUESTION)
    assert (after["space"], after["notes"]) == (db.spaces()[0].name, [])
    db.create("Fact", "", content="The cat is fine.")
    # What a model can do nothing about is not told: what waits for its vector, and of which moment the statistics are.
    assert call(desk, "memory_recall", query=QUESTION)["notes"] == []
    past = db.view(seq=before["seq"]).recall(QUESTION)
    assert past.pending == 1 and "term statistics" in past.note
    assert call(desk, "memory_as_of", query=QUESTION, known=before["seq"])["notes"] == []


def test_a_scope_that_is_not_there_is_named(db: worlddb.Database) -> None:
    desk = Session(db)
    remember(desk)
    for group in (None, 1):
        found = call(desk, "memory_recall", query="dog", user_id="bob", run_id="dogs", group=group)
        assert found["notes"] == ["There is no scope user:bob. No user has memories yet"]
        assert len(found["memories"]) >= 1


def test_the_past_is_ranked_by_present_words_and_a_model_is_not_told(db: worlddb.Database) -> None:
    desk = Session(db)
    first = call(desk, "memory_write", text="Rex is ill.", user_id="ada")
    call(desk, "memory_write", text="Rex is well again.", user_id="ada")
    db.catch_up()
    assert call(desk, "memory_as_of", query="Rex", known=first["seq"])["notes"] == []
    assert "statistics" in db.view(seq=first["seq"]).recall("Rex").note, "which is for who runs the store"
    looked_up = call(desk, "memory_as_of", id=first["id"], known=first["seq"])
    assert (looked_up["notes"], looked_up["groups"], looked_up["space"]) == ([], [], None)


def test_in_one_world_nothing_tells_how_much_is_written_elsewhere(db: worlddb.Database) -> None:
    mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
    here = Session(db, mine, secret=b"s" * 32)
    db.create("Fact", "", content=DOGS[0], world=mine)
    nothing = call(here, "memory_recall", query=QUESTION)
    db.create("Fact", "", content=MONEY[0], world=theirs)
    db.embed()
    everything = call(here, "memory_recall", query=QUESTION)
    assert everything["notes"] == [] and everything["space"] is None
    for number in range(3):
        db.create("Fact", "", content=f"{MONEY[1]} {number}", world=theirs)
    assert call(here, "memory_recall", query=QUESTION)["notes"] == []
    db.create("Fact", "", content=DOGS[1], world=mine)
    partly = call(here, "memory_recall", query=QUESTION)
    assert partly["notes"] == nothing["notes"] != []
    assert not any(character.isdigit() for note in partly["notes"] for character in note)


def test_the_official_client_is_answered_by_session_and_told_what_is_pending(tmp_path: Path) -> None:
    async def ask(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "group" in listed["memory_recall"].input_schema["properties"]
        for text in DOGS:
            await answer(client, "memory_write", text=text, run_id="dogs", user_id="ada")
        found = await answer(client, "memory_recall", query=QUESTION, user_id="ada", group=1)
        assert named(found) == ["run:dogs"] and len(found["memories"]) == 1
        assert isinstance(found["notes"], list)
        wrong = await client.call_tool("memory_recall", {"query": QUESTION, "group": 99})
        assert wrong.is_error

    async def work() -> None:
        async with connect_client(tmp_path / "store") as client:
            await ask(client)

    run_bounded(work)


def test_a_time_in_words_is_told_where_it_is_not_understood(db: worlddb.Database) -> None:
    desk = Session(db)
    remember(desk)
    notes = call(desk, "memory_recall", query="Which dog was ill the week after Easter?")["notes"]
    assert any('not understood as a time, and ignored: "the week after Easter"' in note for note in notes)
    for given in ({"valid": "last spring"}, {"known": "last spring"}):
        with pytest.raises(worlddb.InvalidTime, match="'last spring' is not a time") as error:
            call(desk, "memory_as_of", query="dog", **given)
        assert "only the text of a question" in (error.value.remedy or "")


def test_of_a_shared_agent_a_named_user_meets_no_other_user_s_memories(db: worlddb.Database) -> None:
    """One user's write ended another one's fact and showed its text, since both named the same agent."""
    desk = Session(db)
    theirs = call(desk, "memory_write", text="My bank is ING.", user_id="dev", agent_id="helper")["id"]
    shared = call(desk, "memory_write", text="The bank opens at nine.", agent_id="helper")["id"]
    for how in ("note", "propose", "supersede_same_subject"):
        given = {"text": f"My bank is GLS, {how}.", "user_id": "nora", "agent_id": "helper", "on_near": how}
        answer = call(desk, "memory_write", **given)
        assert "ING" not in str(answer) and theirs not in str(answer)
    assert [each["id"] for each in call(desk, "memory_recall", query="Which bank?", user_id="dev")["memories"]] == [
        theirs
    ]
    for limit in (1, 10):
        answer = call(desk, "memory_recall", query="My bank is ING?", user_id="nora", agent_id="helper", limit=limit)
        assert len(answer["memories"]) >= 1 and "ING." not in str(answer) and theirs not in str(answer)
    listed = call(desk, "memory_list", user_id="nora", agent_id="helper")["memories"]
    assert shared in [each["id"] for each in listed] and theirs not in [each["id"] for each in listed]
    everybodys = call(desk, "memory_list", agent_id="helper")["memories"]
    assert theirs in [each["id"] for each in everybodys], "the agent alone has all that was told to it"
