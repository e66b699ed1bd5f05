"""A statement means the same by every door: the library, the functions, the command line, MCP and REST."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import worlddb
from tests.support import rest
from tests.support.running import LocalRunner
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database, ManualClock, memory_scopes, memory_statements
from worlddb.query.recall import said_elsewhere
from worlddb.statements import retries
from worlddb.tools import agents
from worlddb.tools.agents import recall, remember
from worlddb.tools.mcp import mcp_wording, tool_arguments, write_tools
from worlddb.tools.mcp.session import Call, Session

NOON: Final = worlddb.parse_time("2026-03-01T12:00:00Z")
DOORS: Final = ("library", "functions", "command line", "mcp", "rest")


class Told(NamedTuple):
    """What a door said of a statement: its id, if it was said again, and the notes without how it is addressed."""

    id: str
    again: bool
    notes: list[str]


Say = Callable[..., Told]


class House:
    """A store, and each door to it."""

    def __init__(self, running: rest.RestServer, run: LocalRunner) -> None:
        self.running = running
        self.db: Database = running.db
        self.run, self.caller = run, running.caller("program")
        self._mem = worlddb.memory(self.db, user="ana")
        self._session = Session(self.db)
        self.home = self.db.create("Scope", "mine", valid_from="0001-01-01").ref
        self.ana = self.db.create("Entity", "Ana", world=self.home, valid_from="0001-01-01").ref
        self._mem.add("Begun.")

    def say(self, door: str, text: str, since: str | None, until: str | None = None) -> Told:
        """Write a statement by a door."""
        if door == "library":
            added = self._mem.add(text, about="Ana", since=since, until=until)
            return Told(added.id, bool(added.repeated), [*added.notes])
        if door == "functions":
            told = remember(self.db, text, about="Ana", since=since, until=until, world=self.home)
            return Told(told["id"], told["restated"], told.get("notes", []))
        if door == "command line":
            times = [*(["--since", since] if since else []), *(["--until", until] if until else [])]
            told = self.run.json("remember", text, "--user", "ana", "--about", "Ana", *times)
            return Told(told["ref"], bool(told["repeated"]), told["notes"])
        if door == "mcp":
            given = {"valid_from": since} | ({} if until is None else {"valid_to": until})
            told = call(self._session, "memory_write", text=text, user_id="ana", about=["Ana"], **given)
            notes = [note for note in told["notes"] if "says so already" not in note]
            return Told(told["id"], len(notes) < len(told["notes"]), notes)
        span = {"valid_from": since} | ({} if until is None else {"valid_to": until})
        told = self.caller.send("POST", f"/v1/worlds/{self.home}/memories", text=text, about=[self.ana], **span)
        return Told(told["receipt"]["refs"][0], told["restated"], told["notes"])

    def replace(self, door: str, text: str, since: str | None) -> Told:
        """Write a statement that takes the place of what it replaces."""
        how = "supersede_same_subject"
        if door == "library":
            added = self._mem.add(text, about="Ana", since=since, on_near=how)
            return Told(added.id, False, [*added.notes])
        if door == "functions":
            told = remember(self.db, text, about="Ana", since=since, world=self.home, on_near=how)
            return Told(told["id"], False, told.get("notes", []))
        if door == "command line":
            begun = () if since is None else ("--since", since)
            told = self.run.json("remember", text, "--user", "ana", "--about", "Ana", *begun, "--on-near", how)
            return Told(told["ref"], False, told["notes"])
        given: dict[str, Any] = {"user_id": "ana", "about": ["Ana"], "on_near": how}
        told = call(
            self._session, "memory_write", text=text, **given, **({} if since is None else {"valid_from": since})
        )
        return Told(told["id"], False, told["notes"])

    def correct(self, door: str, id: str, text: str, since: str, until: str | None) -> list[str]:
        """Rewrite a statement from a time on; return the references of the answer. REST names an ETag, or none."""
        if door == "library":
            return [*self._mem.correct(id, text, since=since, until=until).ids]
        if door == "functions":
            how: dict[str, Any] = {"until": until, "replace_later": until is None, "world": self.home}
            return [remember(self.db, text, replaces=id, since=since, **how)["id"]]
        if door == "command line":
            ends = () if until is None else ("--valid-to", until)
            return [self.run.json("revise", id, "--content", text, "--valid-from", since, *ends)["ref"]]
        if door == "mcp":
            span: dict[str, Any] = {"replace_later": True} if until is None else {"valid_to": until}
            return [call(self._session, "memory_amend", id=id, text=text, valid_from=since, **span)["id"]]
        headers = {"If-Match": self.db.view().hash(id)} if until is None else {}
        body = {"content": text, "valid_from": since, "valid_to": until}
        told = self.caller("PATCH", f"/v1/worlds/{id}", json=body, headers=headers)
        assert told.status_code == 200, told.text
        return list(told.json()["refs"])


@pytest.fixture
def house(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[House]:
    with rest.serve_store(tmp_path, clock=ManualClock(NOON), embedder=None) as running:
        yield House(running, LocalRunner(capsys, tmp_path / "store"))


@pytest.mark.parametrize("door", DOORS[:-1])
def test_an_edge_that_on_near_asked_for_says_so(house: House, door: str) -> None:
    old = house.say(door, "Ana lives in Lisbon.", "2020-01-01").id
    new = house.replace(door, "Ana lives in Porto.", None).id
    edges = house.db.view().edges(new, type="supersedes", direction="out")
    assert [each.target for each in edges] == [old] and edges[0].why.startswith("by on_near: ")


@pytest.mark.parametrize("door", DOORS)
def test_a_plan_is_told_to_be_one_and_is_recognised_when_it_is_said_again(house: House, door: str) -> None:
    """Only the library saw plans; elsewhere each time that one was said it was a new memory."""
    plan = f"Ana moves to Porto on 1 October ({door})."
    note = "It holds from 2126-10-01T00:00:00Z on; until then only a question about that time finds it"
    first = house.say(door, plan, "2126-10-01")
    assert (first.again, first.notes) == (False, [note])
    second = house.say(door, plan, "2126-10-01")
    assert second == Told(first.id, True, [note])
    kept = house.db.view().get(first.id, include_superseded=True)
    assert kept is not None and len(kept.restated) == 1
    later = house.say(door, plan, "2126-11-01")
    assert (later.id, later.again) == (first.id, True)
    left = f"The start 2126-11-01T00:00:00Z was left out: {first.id} holds from 2126-10-01T00:00:00Z on already"
    assert later.notes == [left, note]
    assert not house.say(door, plan, "2126-09-01").again, "which is another time than was planned"


@pytest.mark.parametrize("until", [None, "2026-02-01"])
@pytest.mark.parametrize("door", DOORS)
def test_a_correction_from_before_a_statement_began_is_found_where_it_lies(
    house: House, door: str, until: str | None
) -> None:
    """By the library alone it was; by the other doors it was true, and in no world of the user's."""
    said = house.say(door, "Ana lives in Lisbon.", "2026-02-20").id
    homes = {edge.source for edge in house.db.view().edges(said, type="contains", direction="in")}
    assert house.correct(door, said, "Ana lives in Porto.", "2026-01-10", until) == [said]
    for day, text in (("2026-01-09", None), ("2026-01-10", "Porto"), ("2026-01-31", "Porto")):
        for home in homes:
            found = house.db.view(valid=day).find(type="Fact", world=home)
            assert [each.content for each in found if each.ref == said] == ([f"Ana lives in {text}."] if text else [])
    assert house.db.redecide().differing == () and house.db.verify(deep=True).ok


@pytest.mark.parametrize("door", DOORS)
def test_what_ends_is_said_again_with_its_end_without_one_and_with_another(house: House, door: str) -> None:
    stay = f"Ana stays in Faro ({door})."
    first = house.say(door, stay, "2126-06-01", "2126-06-15")
    assert house.say(door, stay, "2126-06-01", "2126-06-15")[:2] == (first.id, True)
    plain = house.say(door, stay, "2126-06-01", None)
    assert plain[:2] == (first.id, True) and any("until 2126-06-15T00:00:00Z, as was said" in n for n in plain.notes)
    for end, was in (("2126-06-20", "2126-06-15"), ("2126-06-10", "2126-06-20")):
        moved = house.say(door, stay, "2126-06-01", end)
        assert moved[:2] == (first.id, True)
        assert any(f"until {end}T00:00:00Z now, and was to hold until {was}" in note for note in moved.notes)
    assert not house.say(door, stay, "2126-06-03", "2126-06-08").again, "which is another window"


def test_marks_of_a_repeated_plan_are_reported(house: House) -> None:
    for labels, note in ((["trip"], None), (["trip", "far"], "has new labels: far")):
        given: dict[str, Any] = {"text": "Ana flies to Rome.", "user_id": "ana", "about": ["Ana"]}
        told = call(Session(house.db), "memory_write", valid_from="2126-10-01", labels=labels, **given)
        assert note is None or any(note in each for each in told["notes"])
    assert "until then only a question" in json.dumps(told["notes"])


@pytest.mark.parametrize("how", ["superseded", "corrected"])
def test_what_held_last_spring_comes_first_and_says_until_when(house: House, how: str) -> None:
    """By every door, asked as of then or now; only a note told that something else had held."""
    mem = worlddb.memory(house.db, user="ana")
    lisbon = mem.add("Ana lives in Lisbon.", about="Ana", since="2024-05-01")
    if how == "superseded":
        mem.add("Ana lives in Porto.", about="Ana", since="2025-09-01", replaces=lisbon)
    else:
        mem.correct(lisbon, "Ana lives in Porto.", since="2025-09-01")
    mem.add("Ana likes the harbour of Lisbon.", about="Ana", since="2020-01-01")
    question, plain, then = "Where did Ana live last spring?", "Where does Ana live?", "2025-04-15"
    until = "2025-09-01T00:00:00Z"
    for found in (mem.recall(question), mem.as_of(then).recall(plain)):
        assert found.hits[0].content == "Ana lives in Lisbon."
        assert worlddb.format_time(found.hits[0].valid.end) == until
    assert "2024-05-01 to 2025-09-01: Ana lives in Lisbon." in mem.as_of(then).context(plain)
    told = mem.context(question).splitlines()
    assert any("2024-05-01 to 2025-09-01: Ana lives in Lisbon." in line for line in told)
    dated = "Where did Ana live in April 2025?"  # The clock of the command line is that of the machine.
    for asked in ((dated,), (plain, "--valid", then)):
        hit = house.run.json("recall", *asked, "--user", "ana")["hits"][0]
        assert (hit["content"], hit["valid"]["to"]) == ("Ana lives in Lisbon.", until)
    shown = house.run("recall", dated, "--user", "ana").out
    assert "2024-05-01 to 2025-09-01" in shown.splitlines()[0] and "--valid" in shown
    for tool, given in (("memory_recall", {"query": question}), ("memory_as_of", {"query": plain, "valid": then})):
        memory = call(Session(house.db), tool, user_id="ana", **given)["memories"][0]
        assert (memory["text"], memory["valid_to"]) == ("Ana lives in Lisbon.", until)


COMPOSED: Final = unicodedata.normalize("NFC", "José")
APART: Final = unicodedata.normalize("NFD", "José")


def test_a_name_is_one_however_its_accents_were_typed(house: House) -> None:
    """A user whose name a keyboard wrote otherwise was somebody else, whose memory was empty."""
    assert COMPOSED != APART
    db = house.db
    one, other = (worlddb.memory(db, user=name, session=name) for name in (COMPOSED, APART))
    home = one.add("I live in Lisbon.", about=COMPOSED)
    again = other.add("I live in Lisbon.", about=APART)
    assert (again.id, again.repeated, again.notes) == (home.id, 1, ())
    assert other.recall("Who is in Lisbon?", about=APART).hits[0].ref == home.id
    chat = [{"role": "user", "content": text} for text in ("Hello.", "The dog is ill.", "Good night.")]
    assert (one.add(chat).repeated, other.add(chat).repeated) == (0, 3)
    session, given = Session(db), {"about": [APART], "text": "I live in Lisbon."}
    assert call(session, "memory_write", user_id=APART, **given)["id"] == home.id
    assert house.run.json("remember", "I live in Lisbon.", "--user", APART, "--about", APART)["ref"] == home.id
    scopes = [each["scope_id"] for each in call(session, "memory_list_scopes")["scopes"]]
    assert scopes.count(COMPOSED) == 1 and APART not in scopes
    assert [world.name for world in db.view().find(name=APART, type="Entity")] == [COMPOSED]
    boss = [remember(db, "The boss is kind.", about=name, world=house.home)["id"] for name in (APART, COMPOSED)]
    assert boss[0] == boss[1]
    team = db.create("Topic", "Équipe").ref
    made = db.create("Fact", "", content="It has four seats.", world=unicodedata.normalize("NFD", "Équipe"))
    assert db.view().containers(made.ref) == [team]
    db.working.add("Hi.", session=COMPOSED, user=APART)
    assert db.working.get(session=APART, user=COMPOSED)[0].content == "Hi."
    assert (
        db.forget_user(APART, reason="asked to")
        and not worlddb.memory(db, user=COMPOSED).recall("Who is in Lisbon?").hits
    )
    assert not db.working.get(session=APART, user=COMPOSED)


def test_a_user_from_before_accents_were_compared_keeps_their_memory(house: House) -> None:
    scopes = memory_scopes.Scopes(house.db)
    with house.db.batch() as tx:
        scope = scopes.write_scope(tx, ("mcp", "", "user", APART, "0"))
        tx.create("Fact", "", content="The gate code is 4711.", world=scope)
        scopes.write_entry(tx, ("mcp", "", "user", APART, "0"), scope, APART, {})
    for name in (COMPOSED, APART):
        mem = worlddb.memory(house.db, user=name)
        mem.add(f"The gate is green ({len(name)}).", about=COMPOSED)
        assert {hit.content for hit in mem.recall("gate").hits} >= {"The gate code is 4711."}
    assert len(house.db.view().find(name=f"user:{COMPOSED}", type="Scope")) == 1
    assert len(house.db.view().find(name=COMPOSED, type="Entity")) == 1


@pytest.mark.parametrize("door", ["library", "functions", "command line", "mcp"])
def test_what_is_said_of_an_earlier_time_takes_its_place_between_and_replaces_nothing_later(
    house: House, door: str
) -> None:
    """It held beside what had come after it, for good, and nothing was said of that."""
    lisbon, porto, faro = (f"Ana lives in {town}." for town in ("Lisbon", "Porto", "Faro"))
    first = house.replace(door, lisbon, "2020-01-01")
    last = house.replace(door, porto, "2025-01-01")
    between = house.replace(door, faro, "2023-01-01")
    assert between.notes[-1] == f"It holds until 2025-01-01T00:00:00Z, when {porto!r} ({last.id}) begins"
    for year, text in ((2022, lisbon), (2023, faro), (2024, faro), (2025, porto), (2026, porto)):
        view = house.db.view(valid=f"{year}-02-01")
        held = [view.get(each.id) for each in (first, between, last)]
        assert [each.content for each in held if each is not None] == [text], year
    before = house.replace(door, "Ana lives in Braga.", "2010-01-01")
    assert before.notes[-1].startswith("It holds until 20") and house.db.view().get(last.id) is not None


@pytest.mark.parametrize("door", ["library", "functions", "command line", "mcp"])
def test_what_began_at_a_time_that_nobody_stated_yields_to_what_is_said_to_have_begun_before(
    house: House, door: str
) -> None:
    """Somebody who had lived elsewhere for years, and said so a day later, lived where a guess had put them."""
    lisbon, porto, faro = (f"Ana lives in {town}." for town in ("Lisbon", "Porto", "Faro"))
    first = house.replace(door, lisbon, "2015-01-01")
    guess = house.replace(door, porto, None)
    told = house.replace(door, faro, "2020-01-01")
    assert not any(note.startswith("It holds until") for note in told.notes)
    for valid, text in (("2016-01-01", lisbon), ("2021-01-01", faro), (None, faro), ("2900-01-01", faro)):
        held = [house.db.view(valid=valid).get(each.id) for each in (first, guess, told)]
        assert [each.content for each in held if each is not None] == [text], valid


def test_a_retry_of_what_was_placed_between_is_the_same_write(house: House) -> None:
    given: dict[str, Any] = {"user_id": "ana", "about": ["Ana"], "on_near": "supersede_same_subject"}
    for text, since in (("Ana lives in Lisbon.", "2020-01-01"), ("Ana lives in Porto.", "2025-01-01")):
        call(Session(house.db), "memory_write", text=text, valid_from=since, **given)
    faro = {"text": "Ana lives in Faro.", "valid_from": "2023-01-01", "idempotency_key": "faro", **given}
    made = call(Session(house.db), "memory_write", **faro)
    head = house.db.head()
    assert call(Session(house.db), "memory_write", **faro)["id"] == made["id"] and house.db.head() == head


@pytest.mark.parametrize("door", ["command line", "mcp", "rest", "functions"])
def test_who_is_called_like_notes_of_the_name_is_still_who_is_meant(house: House, door: str) -> None:
    """REST refused the name as that of several."""
    for text in ("Ana called.", "Ana came by."):
        house.db.create("Note", "Ana", content=text, world=house.home, resolve=False)
    told = house.say(door, "Ana has a boat.", "2025-01-01")
    (edge,) = house.db.view().edges(told.id, type="refers_to", direction="out")
    about = house.db.view().get(edge.target)
    assert about is not None and (about.type, about.name.casefold()) == ("Entity", "ana")
    for answer in (
        house.run.json("recall", "boat", "--about", "Ana")["hits"],
        call(Session(house.db), "memory_recall", query="boat", about="Ana")["memories"],
    ):
        assert answer[0].get("content", answer[0].get("text")) == "Ana has a boat."


def test_an_idempotency_key_is_one_of_a_user_and_of_no_client(house: House) -> None:
    """Another program of the same user was refused, and so was another user with a key of the same letters."""
    desk = Session(house.db)

    def write(text: str, user: str, client: str) -> Any:
        given = tool_arguments.Write(text=text, user_id=user, about=("Ana",), idempotency_key="k-1")
        return write_tools.write(desk, given, Call(client, "memory_write"))

    made = write("Ana has a kayak.", "ana", "editor")
    head = house.db.head()
    assert write("Ana has a kayak.", "ana", "terminal").id == made.id and house.db.head() == head
    other = write("Ana has a canoe.", "ben", "editor")
    assert other.id != made.id and house.db.head().seq == head.seq + 1
    with pytest.raises(worlddb.IdempotencyConflict, match="'k-1'"):
        write("Ana has a raft.", "ana", "editor")
    again = [write("Ana has a canoe.", "ben", client).id for client in ("editor", "terminal")]
    assert again == [other.id, other.id] and house.db.head().seq == head.seq + 1


def test_a_key_of_an_earlier_release_is_still_that_of_its_write(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"user_id": "ana", "idempotency_key": "k-1"}
    with monkeypatch.context() as before:
        before.setattr(write_tools, "_scoped_key", lambda labels, key: key)
        made = call(Session(house.db), "memory_write", text="Ana has a kayak.", **given)
    head = house.db.head()
    assert call(Session(house.db), "memory_write", text="Ana has a kayak.", **given)["id"] == made["id"]
    assert house.db.head() == head
    given["user_id"] = "ben"
    assert call(Session(house.db), "memory_write", text="Ben has a kayak.", **given)["id"] != made["id"]


@pytest.mark.parametrize("since", [None, "2020-01-01"])
def test_a_write_that_is_sent_again_under_its_key_is_one_by_every_door(house: House, since: str | None) -> None:
    """What is new, what is said again, and what is said again of an earlier time; ``memory`` had no keys at all."""
    texts = [f"Ana has a canoe ({door})." for door in ("library", "mcp", "rest", "engine")]
    mem, program, desk = house._mem, house.caller, Session(house.db)
    at = f"/v1/worlds/{house.home}/memories"

    def by_library(text: str, key: str) -> Any:
        done = mem.add(text, about="Ana", since=since, idempotency_key=key)
        return done.ids, done.seq, done.repeated

    def by_mcp(text: str, key: str) -> Any:
        said: dict[str, Any] = {"user_id": "ana", "about": ["Ana"], "valid_from": since}
        told = call(desk, "memory_write", text=text, idempotency_key=key, **said)
        return told["id"], told["seq"]

    def by_rest(text: str, key: str) -> Any:
        said = {"valid_from": since, "about": [house.ana]}
        told = program("POST", at, headers={"Idempotency-Key": key}, json=said | {"text": text}).json()
        return told["receipt"]["refs"], told["receipt"]["seq"], told["restated"]

    def by_engine(text: str, key: str) -> Any:
        made = house.db.create("Fact", "", content=text, world=house.home, valid_from=since, idempotency_key=key)
        return made.refs, made.seq

    for write, text in zip((by_library, by_mcp, by_rest, by_engine), texts, strict=True):
        if since is not None and write is not by_engine:
            write(text.replace(".", "!"), "other")
            house.say({by_library: "library", by_mcp: "mcp"}.get(write, "rest"), text, "2024-01-01")
        first = write(text, "k")
        house.db.create("Note", "another", resolve=False)
        head = house.db.head()
        assert write(text, "k") == first and house.db.head() == head, write.__name__
        holding = [world for world in house.db.view().find(include_superseded=True) if world.content == text]
        assert len(holding) == 1
        with pytest.raises((worlddb.IdempotencyConflict, KeyError)):
            write(text + " It is red.", "k"), write.__name__
    with worlddb.memory(house.db, user="bob") as bob:
        assert not bob.add("Bob has a canoe.", idempotency_key="k").repeated, "a key is one of a user's"
        with pytest.raises(worlddb.IdempotencyConflict, match="the idempotency key 'k' in commit"):
            bob.add("Bob has a kayak.", idempotency_key="k")
    with pytest.raises(worlddb.InputError, match="with messages"):
        mem.add([{"role": "user", "content": "hi"}], about="Ana")


def test_what_a_door_knows_of_whom_a_memory_is_about_is_no_note_on_the_memory(house: House) -> None:
    """Each memory about an entry that another door had made was told that the entry stays as it is: "use revise"."""
    house._mem.add("Home is by the river.", about="Home")
    told = call(Session(house.db, user="ana"), "memory_write", text="Home is warm.", about=["Home"])
    assert told["notes"] == []
    at = f"/v1/worlds/{house.home}/memories"
    for text, source in (("The boat is red.", {"mail": 1}), ("The boat is new.", {"mail": 2})):
        answer = house.caller.send("POST", at, text=text, about=["Boat"], source=source)
        assert answer["receipt"]["notes"] == [], text


def test_a_change_of_another_users_memory_is_told_to_be_that(house: House) -> None:
    bobs = worlddb.memory(house.db, user="bob").add("The code is 1234.").id
    told = call(Session(house.db, user="ana"), "memory_retire", id=bobs)
    assert f"{bobs} is in user:bob, not in user:ana" in told["notes"]


def test_a_memory_of_another_user_is_unknown_to_one_that_would_contradict_it(house: House) -> None:
    bobs = worlddb.memory(house.db, user="bob").add("The code is 1234.").id
    with pytest.raises(worlddb.UnknownReference, match=bobs):
        call(Session(house.db, user="ana"), "memory_write", text="The code is 4321.", contradicts=[bobs])


@pytest.mark.parametrize("door", DOORS)
def test_a_text_that_says_when_it_begins_is_told_of(house: House, door: str) -> None:
    told = house.say(door, f"From May 2126 on Ana lives in Porto ({door}).", None)
    assert any("begins at 2126-05-01T00:00:00Z" in note for note in told.notes)
    assert (
        house.say(door, f"Ana lives in Porto from May 2126 on ({door}).", "2126-05-01").notes[-1].startswith("It holds")
    )


@pytest.mark.parametrize("door", DOORS)
def test_what_was_ended_is_said_again_of_a_time_that_is_over(house: House, door: str) -> None:
    """It was refused with the advice to add it, which its sender did; said for longer it was a second memory."""
    bees = f"Ana keeps bees ({door})."
    first = house.say(door, bees, "2020-01-01", None)
    said = [
        ("2022-01-01", "holds until 2022-01-01T00:00:00Z now, and had no end"),
        ("2022-01-01", "was ended at 2022-01-01T00:00:00Z, as this says: nothing was written"),
        ("2021-06-01", "holds until 2021-06-01T00:00:00Z now, and was to hold until 2022-01-01T00:00:00Z"),
        ("2023-01-01", "holds until 2023-01-01T00:00:00Z now, and was to hold until 2021-06-01T00:00:00Z"),
    ]
    for end, note in said:
        told = house.say(door, bees, "2020-01-01", end)
        assert told[:2] == (first.id, True) and any(note in each for each in told.notes), told
    then = house.db.view(valid=worlddb.parse_time("2022-06-01")).get(first.id)
    assert then is not None and then.content == bees
    replaced, goats = house.say(door, f"Tom keeps bees ({door}).", "2020-01-01", None), f"Tom keeps goats ({door})."
    by = house.say(door, goats, "2022-01-01", None)
    house.db.link(by.id, "supersedes", replaced.id, valid_from="2022-01-01")
    again = house.say(door, f"Tom keeps bees ({door}).", "2020-01-01", "2023-01-01")
    assert again.id != replaced.id, "what was replaced does not come back, or the other would hold later"


def test_what_another_call_writes_under_a_key_meanwhile_is_not_looked_at(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that found its key unused, and looked just after the other had written, took what that wrote for known."""
    db, real = house.db, retries.moment_of
    before = db.head().seq

    def meanwhile(reader: Any, key: str) -> Any:
        found = real(reader, key)
        db.create("Fact", "", content="The tide is low.", idempotency_key=key)
        return found

    monkeypatch.setattr(retries, "moment_of", meanwhile)
    assert memory_statements.view_for_write(db, "tide").seq == before < db.head().seq


def test_a_user_whose_world_has_ended_is_told_so_by_every_door(house: House) -> None:
    """It was said that nothing had ever been written, and the next memory by REST went into what had ended."""
    ids = [house.say(door, f"Tea is served by {door}.", None).id for door in ("library", "mcp")]
    mem, session, caller = worlddb.memory(house.db, user="ana"), Session(house.db), house.caller
    (home,) = house.db.view().worlds_of_user("ana")
    house.db.retire(home.ref)
    ended = house.db.view().get(home.ref, include_superseded=True)
    assert ended is not None
    at = worlddb.format_time(ended.valid.end)

    def told() -> list[str]:
        recalled = call(session, "memory_recall", query="tea", user_id="ana")["notes"]
        listed = call(session, "memory_list", user_id="ana")["notes"]
        context = house.run.json("context", "tea", "--user", "ana")["note"]
        return [mem.recall("tea").note, mem.profile().note, recalled[0], listed[0], context]

    for note in told():
        assert f"ended at {at}" in note and home.ref[:12] in note and "reassert" in note
    assert f"ended at {at}" in house.run("recall", "tea", "--user", "ana").err
    with pytest.raises(worlddb.UnknownReference) as unknown:
        mem.correct(ids[0], "Coffee is.")
    assert f"ended at {at}" in unknown.value.remedy
    assert {hit.ref for hit in mem.as_of(ended.valid.end - 1).recall("tea")} == set(ids)
    added = caller.send("POST", "/v1/worlds/user:ana/memories", text="Cocoa is served by rest.")
    assert added["notes"][0].startswith(f"'user:ana' ended at {at}")
    assert [hit.content for hit in mem.recall("served")] == ["Cocoa is served by rest."]
    (second,) = (world for world in house.db.view().worlds_of_user("ana") if not world.closed)
    house.db.retire(second.ref)
    assert caller.send("POST", "/v1/worlds/user:ana/members", name="mug")["outcome"] == "committed"
    house.db.reassert(home.ref)
    assert {hit.ref for hit in mem.recall("tea")} == set(ids)
    within = f"/v1/worlds/{second.ref}/memories"
    assert "this was written to it" in caller.send("POST", within, text="It rains.")["notes"][0]


@pytest.mark.parametrize("how", ["propose", "supersede_same_subject"])
def test_a_retry_is_the_same_write_though_what_it_was_near_has_been_erased(house: House, how: str) -> None:
    """It was told to be another command, as the edge to what is gone was not found again."""
    mem, session, caller = worlddb.memory(house.db, user="ana"), Session(house.db), house.caller

    def by_library(text: str) -> tuple[str, str]:
        added = mem.add(text, about="Ana", on_near=how, idempotency_key="k")
        return added.id, " ".join(added.notes)

    def by_mcp(text: str) -> tuple[str, str]:
        given: dict[str, Any] = {"about": ["Ana"], "user_id": "ana", "on_near": how, "idempotency_key": "k"}
        told = call(session, "memory_write", text=text, **given)
        return told["id"], " ".join(told["notes"])

    def by_rest(text: str) -> tuple[str, str]:
        body = {"text": text, "about": ["Ana"], "on_near": how}
        told = caller("POST", "/v1/worlds/user:ana/memories", json=body, headers={"Idempotency-Key": "k"}).json()
        receipt = told.get("receipt", {"refs": [told.get("code")], "notes": []})
        return receipt["refs"][0], " ".join(note["text"] for note in receipt["notes"])

    for number, say in enumerate((by_library, by_mcp, by_rest)):
        house.db.erase(mem.add("Ana lives in Lisbon.", about="Ana", idempotency_key=f"a{number}").id, reason="other")
        lisbon = mem.add("Ana lives in Lisbon.", about="Ana").id
        porto, _ = say("Ana lives in Porto.")
        edges = house.db.view().edges(porto, include_superseded=True)
        assert any(lisbon in (each.source, each.target) for each in edges)
        house.db.erase(lisbon, reason="R-1")
        head = house.db.head().seq
        again, told = say("Ana lives in Porto.")
        assert again == porto and "nothing was written" in told and house.db.head().seq == head
        if say is by_rest:
            assert say("Ana lives in Faro.")[0] == "idempotency_conflict"
        else:
            with pytest.raises(worlddb.IdempotencyConflict):
                say("Ana lives in Faro.")
        house.db.erase(porto, reason="R-2")


def test_a_retry_of_what_was_said_again_tells_that_it_was_erased(house: House) -> None:
    mem = worlddb.memory(house.db, user="ana")
    tea = mem.add("Ana drinks tea.", about="Ana").id
    assert mem.add("Ana drinks tea.", about="Ana", idempotency_key="k").repeated == 1
    house.db.erase(tea, reason="R-1")
    again = mem.add("Ana drinks tea.", about="Ana", idempotency_key="k")
    assert again.ids == (tea,) and "is gone" in again.notes[0]


def test_a_year_as_a_number_is_no_moment_of_1970_by_any_door(house: House) -> None:
    """`db.create(valid_from=2024)` held from 2 milliseconds after 1970 on; only the memory refused it."""
    db, mem, year = house.db, worlddb.memory(house.db, user="ana"), 2024
    wrong: dict[str, Callable[[], Any]] = {
        "valid_from": lambda: db.create("Note", "n", valid_from=year),
        "valid_to": lambda: db.revise(house.ana, content="x", valid_from="2020-01-01", valid_to=year),
        "since": lambda: mem.add("Ana naps.", since=year),
        "until": lambda: mem.recall("naps", until=year),
        "messages[0].timestamp": lambda: mem.add([{"role": "user", "content": "hi", "timestamp": year}]),
    }
    for what, call_with_it in wrong.items():
        with pytest.raises(worlddb.InvalidTime, match=re.escape(f"{what} 2024 seems to be a year, and a number")):
            call_with_it()
    told = agents.call(db, "remember", {"text": "Ana naps.", "since": year})
    assert "since '2024' is not a time: it names a year" in told
    given = tool_arguments.Write.parse({"text": "Ana naps.", "user_id": "ana", "valid_from": year})
    with pytest.raises(worlddb.InvalidTime, match="valid_from '2024' is not a time: it names a year"):
        write_tools.write(Session(db), given, Call("a client", "memory_write"))
    answer = house.caller("POST", "/v1/worlds", json={"type": "Note", "name": "n", "valid_from": year})
    assert answer.status_code == 422 and "valid_from" in answer.json()["detail"]
    assert db.view().find(name="n") == [] and len(mem.recall("naps")) == 0


def test_who_forgets_or_erases_is_told_what_says_the_same_by_every_door(house: House) -> None:
    """Only the library's `forget` said so; what stayed was found again, and an erased text was still in the files."""
    db, text = house.db, "Ana eats fish."
    mem = worlddb.memory(db, user="ana")
    # They are memories of their own, since each is about somebody else.
    told = [mem.add(text, about=name).id for name in ("Ana", "Ben", "Eve", "Kim", "Liv", "Mia", "Noa")]
    mcp = call(Session(db), "memory_retire", id=told[0])
    assert f"the same is said by {told[1]}, {told[2]}" in mcp["notes"][-1] and "retire that too" in mcp["notes"][-1]
    by_functions = agents.forget(db, told[1], world=mem.db.view().containers(told[1])[0])
    assert f"the same is said by {told[2]}, " in by_functions["notes"][-1]
    retired = house.run.json("retire", told[2])
    assert f"the same is said by {told[3]}, " in retired["notes"][-1]["text"]
    deleted = house.caller("DELETE", f"/v1/worlds/{told[3]}").json()
    assert f"the same is said by {told[4]}, " in deleted["notes"][-1]["text"]
    assert not [note for note in mem.forget(mem.add("Ana cooks.")).notes if "the same is said" in note]
    amended = call(Session(db), "memory_amend", id=told[4], text="Ana eats meat.")
    assert f"the same is said by {told[5]}, " in str(amended["notes"])
    replaced = agents.remember(db, "Ana eats rice.", replaces=told[5], world=db.view().containers(told[5])[0])
    assert f"the same is said by {told[6]}, " in str(replaced["notes"])

    left = set(told)
    assert set(db.erasure_plan(told[0]).same_words) == left - {told[0]}
    refs = {note.code: note.refs for note in db.erase(told[0], reason="r", idempotency_key="e").notes}[
        "same_words_stay"
    ]
    left.remove(told[0])
    assert refs[0] == told[0] and set(refs[1:]) == left
    repeated = db.erase(told[0], reason="r", idempotency_key="e")
    assert "same_words_stay" not in [note.code for note in repeated.notes], "no log keeps what an erased text was"
    shown = house.run("erase", told[1], "--dry-run").out
    assert "the same words stay in 5 other worlds, which only --everywhere erases" in shown
    erased = house.run.json("erase", told[1], "--reason", "r", "--yes")
    left.remove(told[1])
    (by_command,) = [each["refs"] for each in erased["notes"] if each["code"] == "same_words_stay"]
    assert set(erased["same_words"]) == left == {*by_command} - {told[1]}
    client = house.running.caller("operator")
    job = client.send("POST", f"/v1/worlds/{told[2]}/erase", reason="r")
    while job["status"] == "running":
        job = client.get(f"/v1/jobs/{job['id']}")
    left.remove(told[2])
    (by_rest,) = [each for each in job["result"]["receipt"]["notes"] if each["code"] == "same_words_stay"]
    assert {*by_rest["refs"][1:]} == left and '{"everywhere": true}' in by_rest["text"]
    last = db.erase(told[3], reason="r", everywhere=True)
    assert "same_words_stay" not in [note.code for note in last.notes] and len(mem.recall("fish")) == 0


def test_who_forgets_a_message_is_told_what_still_tells_it_by_every_door(house: House) -> None:
    """The assistant's "Got it, the alarm code is 8855" was found after its user's message had been forgotten."""
    db, mem = house.db, worlddb.memory(house.db, user="ana", agent="tutor")

    def told() -> tuple[str, ...]:
        code = f"The alarm code is {next(codes)}."
        return mem.add([{"role": "user", "content": code}, {"role": "assistant", "content": f"Got it: {code[4:]}"}]).ids

    codes = iter(range(8855, 8900))
    one, reply = told()
    known = f"'Got it: alarm code is 8855.' ({reply})"
    assert mem.forget(one).notes == (f"What it said may still be told by {known}: call forget or correct with that id",)
    one, reply = told()
    assert f".' ({reply})" in mem.correct(one, "The alarm code is 9944.").notes[-1]
    for forget in (
        lambda ref: call(Session(db), "memory_retire", id=ref),
        lambda ref: agents.forget(db, ref),
        lambda ref: house.run.json("retire", ref),
        lambda ref: house.caller("DELETE", f"/v1/worlds/{ref}").json(),
    ):
        one, reply = told()
        told_by = str(forget(one)["notes"])
        assert "may still be told by" in told_by and f".' ({reply})" in told_by
    left = mem.add("The gate opens with 7788.").id
    amended = call(Session(db), "memory_amend", id=mem.add("The gate code is 7788.").id, text="The gate code is 1234.")
    assert f".' ({left})" in str(amended["notes"])
    one, reply = told()
    assert house.run.json("erase", one, "--dry-run")["telling"] == [reply]
    client = house.running.caller("operator")
    for body, found in (({"plan": True}, ("telling",)), ({"reason": "r"}, ("receipt", "notes"))):
        job = client.send("POST", f"/v1/worlds/{one}/erase", **body)
        while job["status"] == "running":
            job = client.get(f"/v1/jobs/{job['id']}")
        answer = job["result"]
        for name in found:
            answer = answer[name]
        assert reply in str(answer), body


def test_a_refused_idempotency_key_names_what_differs_by_every_door(house: House) -> None:
    """It said that another command was there, and whoever had a changed time in it looked for it in the text."""
    db, mem, session = house.db, worlddb.memory(house.db, user="ana"), Session(house.db)
    one, other = db.create("Note", "a", content="x", idempotency_key="k"), db.create("Note", "b")
    db.link(one, "refers_to", other, idempotency_key="l")
    mem.add("Ana rows.", idempotency_key="m")
    write: dict[str, Any] = {"user_id": "ana", "text": "Ana skis.", "idempotency_key": "q"}
    call(session, "memory_write", **write)
    for again, differs in (
        (lambda: db.create("Note", "a", content="y", idempotency_key="k"), "content differs"),
        (lambda: db.create("Fact", "a", content="x", why="z", idempotency_key="k"), "why and type differ"),
        (lambda: db.retire(one, idempotency_key="k"), "command 1 was create, not retire"),
        (lambda: db.link(other, "refers_to", one, idempotency_key="l"), "source and target differ"),
        (lambda: mem.add("Ana ran.", idempotency_key="m"), "the text differs"),
        (lambda: mem.add("Ana rows.", since="2020-01-01", idempotency_key="m"), "since differs"),
        (lambda: mem.add("Ana rows.", labels=["x"], idempotency_key="m"), "commands, not 3 (now also label)"),
    ):
        with pytest.raises(worlddb.IdempotencyConflict) as raised:
            again()
        assert differs in raised.value.message
    with pytest.raises(worlddb.IdempotencyConflict) as refused:
        call(session, "memory_write", **write | {"text": "Ana swims."})
    assert ": text differs. Use" in mcp_wording.explain_error(refused.value)
    for text, status in (("x", 201), ("y", 409)):
        said: Any = {"json": {"text": text}, "headers": {"Idempotency-Key": "r"}}
        answer = house.caller("POST", f"/v1/worlds/{house.home}/memories", **said)
        assert answer.status_code == status
    assert answer.json()["detail"].endswith(": content differs")


def test_a_mark_that_nothing_shows_is_told_by_every_door(house: House) -> None:
    """A memory that was over was pinned without a word, and never came."""
    db, mem = house.db, worlddb.memory(house.db, user="ana")
    old = mem.forget(mem.add("Ana smokes.")).id
    told = [f"{old} holds no more, so no answer of now shows the mark"]
    assert [*mem.pin(old).notes] == [*mem.label(old, "x").notes] == [*mem.expire(old, ttl=60).notes] == told
    assert mem.unpin(old).notes == () == mem.tag(old, "last", version=1).notes
    assert call(Session(db), "memory_mark", id=old, pinned=True)["notes"] == told
    assert [note["text"] for note in house.run.json("label", old, "y")["notes"]] == told
    answer = house.caller.send("POST", f"/v1/worlds/{old}/marks", add_labels=["z"])
    assert answer["notes"][-1]["text"] == told[0]
    with pytest.raises(worlddb.RefusedError, match="cannot contradict itself"):
        mem.contradict(old, old)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "Ana lives in Lisbon and works at Globex.",
            "Ana lives in Porto.",
            "it also states a value of another attribute",
        ),
        ("Ana works at Globex.", "Ana joined Initech.", "the new one does not say that this work has ended"),
        ("Ana lives in Lisbon.", "Ana lives in Porto from June on.", "the new one begins later, by its words"),
        ("Ana lives in Lisbon.", "Ana moved to Porto in 1999.", "the new one tells of years before it began"),
    ],
)
def test_a_note_says_which_doubt_kept_an_old_statement_and_by_which_call_it_ends(
    house: House, old: str, new: str, why: str
) -> None:
    """It named two possible reasons and no next step, whatever the case."""
    steps = {
        "library": 'add it again with replaces="{old}"',
        "functions": 'call forget with the id "{old}"',
        "command line": "add it again with --replaces {old}",
        "mcp": 'use memory_retire with the id "{old}"',
    }
    for door, step in steps.items():
        first = house.say(door, old, "2026-01-01").id
        told = house.replace(door, new, None)
        kept = f"{old!r} ({first}) was not ended: {why}"
        found = next((note for note in told.notes if note.startswith(kept)), f"{told.notes}")
        assert found.endswith(f"To end it, {step.format(old=first)}"), (door, found)
        if door == "library":
            again = worlddb.memory(house.db, user="ana").add(new, about="Ana", replaces=first)
            assert again.id == told.id and house.db.view().get(first) is None
        elif door == "command line":
            house.run("remember", new, "--user", "ana", "--about", "Ana", "--replaces", first)
            assert house.db.view().get(first) is None
        house.db.retire(told.id, valid_from="2026-01-01")
        house.db.retire(first, valid_from="2026-01-01")
    first = house.say("rest", old, "2026-01-01").id
    given: dict[str, Any] = {"text": new, "about": [house.ana], "on_near": "supersede_same_subject"}
    answer = house.caller.send("POST", f"/v1/worlds/{house.home}/memories", **given)
    found = next(note for note in answer["notes"] if note.startswith(f"{old!r} ({first}) was not ended: {why}"))
    edge = re.search(r"POST (\{.*\}) to /v1/edges", found)
    assert edge is not None and house.db.view().get(first) is not None
    house.caller.send("POST", "/v1/edges", **json.loads(edge[1]))
    assert house.db.view().get(first) is None


def test_a_note_on_competing_statements_names_what_its_reader_can_call(house: House) -> None:
    for text, since in (("Ana lives in Lisbon.", "2026-01-01"), ("Ana lives in Porto.", "2026-02-01")):
        house.say("library", text, since)
        house.say("functions", text, since)
    asked = "Where does Ana live?"
    told = {
        "library": worlddb.memory(house.db, user="ana").recall(asked).note,
        "functions": " ".join(recall(house.db, asked, world=house.home).notes),
        "mcp": " ".join(call(Session(house.db), "memory_recall", query=asked, user_id="ana")["notes"]),
        "rest": " ".join(house.caller.send("POST", f"/v1/worlds/{house.home}/recall", text=asked)["notes"]),
    }
    steps = {
        "library": "call correct, forget or contradict",
        "functions": "forget what is not true",
        "mcp": "amend or retire what is not true",
        "rest": "PATCH or DELETE the world that is not true",
    }
    for door, note in told.items():
        assert f"nothing records which is true: {steps[door]}" in note, door


def test_a_note_says_whose_subjects_are_several(house: House) -> None:
    first = house.say("library", "Ana lives in Lisbon.", "2026-01-01").id
    mem = worlddb.memory(house.db, user="ana")
    both = mem.add("Ana lives in Porto.", about=["Ana", "Bo"], on_near="supersede_same_subject")
    assert f"'Ana lives in Lisbon.' ({first}) was not ended: the new one is about 2 subjects" in both.notes[0]
    one = mem.add("Ana lives in Faro.", about="Ana", on_near="supersede_same_subject")
    assert any(f"'Ana lives in Porto.' ({both.id}) was not ended: it is about 2 subjects" in note for note in one.notes)


@pytest.mark.parametrize("door", DOORS[:-1])
def test_one_of_two_people_of_one_name_is_meant_by_an_id(house: House, door: str) -> None:
    """An id in ``about`` became the name of a new entry, and nobody could say which Wei Chen was meant."""
    world = house.home if door == "functions" else house.db.view().worlds_of_user("ana")[0].ref

    def say(text: str, about: str) -> tuple[list[str], list[str]]:
        if door == "library":
            added = worlddb.memory(house.db, user="ana").add(text, about=about)
            id, notes = added.id, [*added.notes]
        elif door == "functions":
            told = remember(house.db, text, about=about, world=world)
            id, notes = told["id"], told.get("notes", [])
        elif door == "command line":
            told = house.run.json("remember", text, "--user", "ana", "--about", about)
            id, notes = told["ref"], told["notes"]
        else:
            told = call(Session(house.db), "memory_write", text=text, user_id="ana", about=[about])
            id, notes = told["id"], told["notes"]
        edges = house.db.view().edges(id, type="refers_to", direction="out")
        return [edge.target for edge in edges], notes

    (first,), notes = say("Wei Chen works in Zurich.", "Wei Chen")
    assert notes == []
    second = house.db.create("Entity", "Wei Chen", content="technician", world=world).ref
    assert say("Wei Chen calibrates amplifiers.", second[:12]) == ([second], [])
    assert say("Wei Chen has a cat.", second) == ([second], [])
    told, notes = say("Wei Chen plays chess.", "Wei Chen")
    assert told == [first]
    assert notes == [
        f'2 entries are called "Wei Chen", and this is about {first[:12]}; for another give its id in about:'
        f" {second[:12]} (technician)"
    ]
    (found,) = house.db.view().recall("what does Wei Chen calibrate?", about=second, type="Fact", k=1).hits
    assert found.content == "Wei Chen calibrates amplifiers."
    house.db.accept(house.db.proposals()[0])
    assert say("Wei Chen swims.", "Wei Chen") == ([first], []), "the two are known as one"
    assert len(house.db.view().find(name="Wei Chen", world=world)) == 2


def test_an_id_that_nothing_has_is_told_to_count_as_a_name(house: House) -> None:
    ben = worlddb.memory(house.db, user="ben")
    ben.add("Ben has a dog called Rex.", about="Rex")
    (rex,) = house.db.view().find(name="Rex", type="Entity")
    session = Session(house.db)
    for id in ("f" * 32, rex.ref):  # Another user's is as unknown.
        note = f"{id} has the form of an id, and nothing here that holds has it: it counts as a name"
        assert note in worlddb.memory(house.db, user="ana").add(f"It is new ({id}).", about=id).notes
        assert note in call(session, "memory_write", text=f"It is old ({id}).", user_id="ana", about=[id])["notes"]
    assert worlddb.memory(house.db, user="ana").add("Order 20261112 came.", about="20261112").notes == ()


@pytest.mark.parametrize("door", DOORS)
def test_what_is_replaced_from_before_its_beginning_is_told_once_to_hold_at_no_time(house: House, door: str) -> None:
    """The functions said nothing of it, and MCP said it twice."""
    old, new, since = house.say(door, "Ana lives in Lisbon.", "2026-02-01").id, "Ana lives in Porto.", "2026-01-01"
    if door == "library":
        notes = [*worlddb.memory(house.db, user="ana").add(new, replaces=old, since=since).notes]
    elif door == "functions":
        notes = remember(house.db, new, replaces=old, since=since, world=house.home)["notes"]
    elif door == "command line":
        notes = house.run.json("remember", new, "--user", "ana", "--replaces", old, "--since", since)["notes"]
    elif door == "mcp":
        notes = call(house._session, "memory_amend", id=old, text=new, valid_from=since)["notes"]
    else:
        given: dict[str, Any] = {"text": new, "replaces": [old], "valid_from": since}
        answer = house.caller.send("POST", f"/v1/worlds/{house.home}/memories", **given)
        notes = [note["text"] for note in answer["receipt"]["notes"]] + answer["notes"]
    (told,) = [note for note in notes if "valid at no time" in note or "never valid" in note]
    assert old[:12] in told
    (version,) = house.db.view().history(old)
    assert version.valid.start == version.valid.end == worlddb.parse_time("2026-02-01")


@pytest.mark.parametrize("door", DOORS)
def test_what_was_forgotten_and_is_said_again_is_told_to_be_that(house: House, door: str) -> None:
    """A forgotten statement, sent again, came back without a word."""
    text = "Ana's door code is 4711."
    first = house.say(door, text, None)
    assert not any("ended before" in note for note in first.notes)
    house.db.retire(first.id)
    again = house.say(door, text, None)
    (note,) = [note for note in again.notes if "ended before" in note]
    assert not again.again and f"{first.id} (now {again.id})" in note
    # Once it holds again it is no news; nor is it what another user, or a correction, had ended.
    assert not any("ended before" in note for note in house.say(door, text, None).notes)
    other = worlddb.memory(house.db, user="ben").add(text)
    assert not any("ended before" in note for note in other.notes)


def test_what_was_forgotten_is_told_of_however_its_accents_are_composed(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mem = worlddb.memory(db)
        (old,) = mem.add("Zoë's café opens at seven.").ids
        mem.forget(old)
        again = mem.add(unicodedata.normalize("NFD", "Zoë's  café opens at seven."))
        (note,) = [note for note in again.notes if "ended before" in note]
        assert old in note


def test_forgotten_messages_are_told_of_singly_and_under_another_session_too(tmp_path: Path) -> None:
    """One or two messages of a list, and a list under another session's name, came back without a note."""
    said = [("user", "My PIN is 1234."), ("assistant", "I will keep that."), ("user", "Yes."), ("user", "Good night.")]
    listed = [{"role": role, "content": text} for role, text in said]
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mem, later = (worlddb.memory(db, user="ana", session=name) for name in ("s", "t"))
        pin, _, yes, _ = mem.add(listed).ids
        moved = mem.add("Ana lives in Oslo.", about="Ana")
        mem.correct(moved, "Ana lives in Rome.")
        assert not [*later.add(listed[1:3]).notes, *later.add(listed[:1]).notes], "nothing was forgotten yet"
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mem, later = (worlddb.memory(db, user="ana", session=name) for name in ("s", "u"))
        mem.forget(pin)
        mem.forget(yes)
        assert all("ended before" not in note for note in mem.add(listed).notes), "all known: nothing comes back"
        for told in (mem.add(listed[:1]), later.add(listed[:2]), worlddb.memory(db, user="ana").add(listed)):
            (note,) = [note for note in told.notes if "ended before" in note]
            assert f"{pin} (now {told.ids[0]})" in note and yes not in note, "an answer is said again and again"
        assert not any("ended before" in note for note in mem.add("Ana lives in Oslo.", about="Ana").notes)
        assert not worlddb.memory(db, user="ben", session="s").add(listed[:1]).notes[1:]
        db.erase(pin, reason="asked")
        assert not any("ended before" in note for note in mem.add("My PIN is 1234.").notes)


def test_what_was_forgotten_last_is_known_however_much_was_made_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After reopening, the last worlds that were made counted, and afterwards any number of them."""
    monkeypatch.setattr(said_elsewhere, "MAX_RETIRED", 3)
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mem = worlddb.memory(db, user="ana")
        old, *others = (mem.add(f"Parrot number {each} is green.").id for each in range(6))
        for each in (*others, old):
            mem.forget(each)
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mem = worlddb.memory(db, user="ana")
        (note,) = [note for note in mem.add("Parrot number 0 is green.").notes if "ended before" in note]
        assert old in note
        assert not any("ended before" in note for note in mem.add("Parrot number 1 is green.").notes)
        (kept,) = (each for each in db._reader.interiors.kept.values() if isinstance(each, said_elsewhere.RetiredTexts))
        for number in range(6, 12):
            mem.forget(mem.add(f"Parrot number {number} is green."))
            assert mem.add(f"Parrot number {number} is green.").notes
        assert len(kept._hashes) == len(kept._nodes) == 3


def test_no_hash_of_a_forgotten_text_outlives_its_erasure(tmp_path: Path) -> None:
    text, kept = "Ana's door code is 4711.", list[said_elsewhere.RetiredTexts]()
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mem = worlddb.memory(db, user="ana")
        first = mem.add(text)
        mem.forget(first)
        mem.forget(mem.add("Ana has a blue bike."))
        again = mem.add(text)

        def known() -> list[int]:
            caches = db._reader.interiors.kept.values()
            kept[:] = [each for each in caches if isinstance(each, said_elsewhere.RetiredTexts)]
            return [told for each in kept for told in each._nodes]

        assert said_elsewhere._text_hash(text) in known()
        db.erase([first.id, again.id], reason="asked")
        assert known() == []
        assert not any("ended before" in note for note in mem.add(text).notes)
        assert any("ended before" in note for note in mem.add("Ana has a blue bike.").notes)
        assert said_elsewhere._text_hash(text) not in known() and kept


@pytest.mark.parametrize("door", DOORS)
def test_a_question_for_all_of_a_type_gets_all_of_that_type(house: House, door: str) -> None:
    for number in range(3):
        house._mem.add(f"The pump failed {number} times", type="Claim")
    house._mem.add("All claims are listed in the annex")
    asked = "List all claims"
    if door == "library":
        found = house._mem.recall(asked)
        got = [hit.type for hit in found.hits], found.weak
    elif door == "functions":
        told = recall(house.db, asked)
        got = [each["type"] for each in told], "perhaps nothing" in str(told.notes)
    elif door == "command line":
        told = house.run.json("recall", asked)
        got = [each["type"] for each in told["hits"]], told["weak"]
    elif door == "mcp":
        told = call(house._session, "memory_recall", query=asked, user_id="ana", detail="full")
        got = [each["type"] for each in told["memories"]], told["weak"]
    else:
        told = house.caller.send("POST", "/v1/recall", text=asked)
        got = [each["type"] for each in told["hits"]], told["weak"]
    assert got == (["Claim"] * 3, False)
