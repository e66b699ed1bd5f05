"""Marks by every surface of an agent: the front door, the function for tool loops, MCP tools, the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database, ManualClock, Memory
from worlddb.tools.agents import remember
from worlddb.tools.cli.main import main
from worlddb.tools.mcp import tool_arguments, write_tools
from worlddb.tools.mcp.session import Call, Session

NOON = worlddb.parse_time("2025-06-01T12:00:00Z")
HOUR = 3_600 * 1_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="tutor", clock=clock, embedder=None) as opened:
        yield opened


@pytest.fixture
def mem(db: Database) -> Memory:
    return worlddb.memory(db, user="ana", agent="tutor", session="one")


def contents(found: Any) -> list[str]:
    return [each.content for each in found]


def test_what_an_agent_adds_for_a_while_is_hidden_after_it(mem: Memory, clock: ManualClock) -> None:
    code = mem.add("The gate code is 4711.", ttl=3_600, labels=["home"], properties={"kind": "code"})
    mem.add([{"role": "user", "content": "The gate code works."}], expires_at=NOON + HOUR)
    mem.add("The gate is green.", about="gate")
    assert len(mem.recall("gate").hits) == 3
    assert contents(mem.recall("gate", label="HOME")) == contents(mem.recall("gate", properties={"kind": "code"}))
    assert contents(mem.recall("gate", label="home")) == ["The gate code is 4711."]
    clock.advance(2 * HOUR)
    assert contents(mem.recall("gate")) == ["The gate is green."] and "4711" not in mem.context("gate")
    assert "4711" not in str(mem.profile()) and mem.profile().messages == 0
    assert len(mem.recall("gate", include_expired=True).hits) == 3 and len(mem.history(code)) == 1
    assert len(mem.as_of("2025-06-01T12:30:00Z").recall("gate").hits) == 3
    mem.unexpire(code, why="still in use")
    assert "4711" in mem.context("gate")
    mem.expire(code, ttl=60)
    clock.advance(HOUR)
    assert "4711" not in mem.context("gate")


def test_what_is_said_again_has_the_deadline_that_is_given_now(mem: Memory, clock: ManualClock) -> None:
    first = mem.add("Ana likes tea.", about="Ana", ttl=60)
    again = mem.add("Ana likes tea.", about="Ana", labels=["taste"], properties={"sure": True})
    assert again.repeated == 1 and again.id == first.id
    clock.advance(HOUR)
    (hit,) = mem.recall("tea", k=1).hits
    assert (hit.expires_at, hit.labels, hit.properties) == (None, ("taste",), {"sure": True})
    assert mem.add("Ana likes tea.", about="Ana", ttl=60).repeated == 1
    clock.advance(HOUR)
    assert mem.recall("tea").hits == ()
    # What is hidden is not repeated: it is remembered anew.
    assert mem.add("Ana likes tea.", about="Ana").repeated == 0 and len(mem.recall("tea").hits) == 1


def test_what_is_pinned_comes_first_whatever_is_asked(mem: Memory, clock: ManualClock) -> None:
    rule = mem.add("Answer in Portuguese.", type="Rule", ttl=60, pinned=True)
    for number in range(5):
        mem.add(f"Ana has {number} boats.", since=f"2020-01-0{number + 1}")
    clock.advance(HOUR)
    lines = mem.context("how many boats?").splitlines()
    assert "Portuguese" in lines[0] and sum("Portuguese" in line for line in lines) == 1 and len(lines) > 1
    assert mem.context("nothing that is known", max_tokens=60).splitlines()[0] == lines[0]
    profile = mem.profile()
    assert contents(profile.pinned) == ["Answer in Portuguese."] == contents(mem.pinned())
    assert "Rule" not in profile.kinds and str(profile).splitlines()[1] == "Pinned:"
    other = worlddb.memory(mem.db, user="ben")
    assert other.pinned() == [] and other.context("boats") == ""
    mem.unpin(rule)
    assert mem.pinned() == [] and "Portuguese" not in mem.context("boats")


def test_a_tool_loop_remembers_for_a_while(db: Database, clock: ManualClock) -> None:
    made = remember(db, "The train leaves at nine.", expires_at="2025-06-01T13:00:00Z")
    assert db.view().get(made["id"]).expires_at == NOON + HOUR  # type: ignore[union-attr]
    assert remember(db, "The train leaves at nine.")["restated"]
    assert db.view().get(made["id"]).expires_at is None  # type: ignore[union-attr]


def test_a_model_marks_a_memory_by_one_tool(db: Database, clock: ManualClock) -> None:
    session, call = Session(db), Call("test", "memory_mark")
    given = tool_arguments.Write(text="The gate code is 4711.", user_id="ana", expires_at="2025-06-01T13:00:00Z")
    made = write_tools.write(session, given, call)
    assert made.id is not None
    write_tools.mark(session, tool_arguments.MarkMemory(id=made.id, pinned=True, add_labels=("home", "code")), call)
    shown = db.view().get(made.id)
    assert shown is not None and (shown.pinned, shown.labels, shown.expires_at) == (True, ("home", "code"), NOON + HOUR)
    amended = write_tools.amend(session, tool_arguments.Amend(id=made.id, text="The gate code is 4712."), call)
    kept = db.view().get(amended.id)
    assert kept is not None and (kept.pinned, kept.labels, kept.expires_at) == (True, ("home", "code"), NOON + HOUR)
    told = tool_arguments.MarkMemory(id=kept.ref, pinned=False, expires_at="never", remove_labels=("code",), why="x")
    write_tools.mark(session, told, call)
    shown = db.view().get(kept.ref)
    assert shown is not None and (shown.pinned, shown.labels, shown.expires_at) == (False, ("home",), None)
    with pytest.raises(worlddb.InputError, match="No mark was given"):
        write_tools.mark(session, tool_arguments.MarkMemory(id=kept.ref), call)
    with pytest.raises(worlddb.UnknownReference):
        write_tools.mark(session, tool_arguments.MarkMemory(id="00000bad", pinned=True), call)


def test_the_command_line_marks_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ran(*words: str) -> Any:
        assert main(["--store", str(tmp_path / "store"), "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)

    made = ran("create", "Fact", "", "--content", "gate code", "--label", "home", "--properties", '{"n": 2}')["ref"]
    hits = ran("recall", "gate", "--label", "home", "--properties", '{"n": {"$gt": 1}}')["hits"]
    assert [(hit["ref"], hit["labels"], hit["properties"]) for hit in hits] == [(made, ["home"], {"n": 2})]
    ran("pin", made)
    assert [world["ref"] for world in ran("marked", "--pinned")["worlds"]] == [made]
    ran("pin", made, "--remove")
    ran("expire", made, "--expires-at", "2025-01-01")
    assert ran("recall", "gate")["hits"] == [] and main(["--store", str(tmp_path / "store"), "show", made]) == 1
    assert "hidden since its deadline" in capsys.readouterr().err
    assert ran("show", made, "--include-expired")["expires_at"] == "2025-01-01T00:00:00Z"
    assert [world["ref"] for world in ran("marked", "--expired")["worlds"]] == [made]
    assert [mark["kind"] for mark in ran("history", made)["marks"]] == ["labelled", "pinned", "unpinned", "expires"]
    assert ran("sweep")["swept"] == [made] and ran("sweep")["swept"] == []
    assert ran("label", made, "home", "--remove")["ref"] == made
    said = ran("remember", "The train leaves at nine.", "--ttl", "60", "--pin")["ref"]
    assert ran("expire", said, "--never")["events"] > 0


def test_what_a_deadline_has_hidden_is_not_rewritten_in_silence(db: Database, mem: Memory, clock: ManualClock) -> None:
    old = mem.add("The gate code is 4711.", ttl=60)
    assert mem.correct(old, "The gate code is 4712.").notes == ()
    clock.advance(HOUR)
    told = mem.correct(old, "The gate code is 4713.").notes
    assert contents(mem.recall("gate")) == [] and any("has been hidden since 2025-06-01T12:01" in note for note in told)
    span: dict[str, Any] = {"replaces": old.id, "since": "2025-05-01", "until": "2025-06-01"}
    assert any("has been hidden since" in note for note in remember(db, "The gate code is 1.", **span)["notes"])
    session, call = Session(db), Call("test", "memory_amend")
    done = write_tools.amend(session, tool_arguments.Amend(id=old.id, text="The gate code is 4714."), call)
    assert contents(mem.recall("gate")) == ["The gate code is 4714."]
    assert any("has no deadline" in note for note in done.notes)
    found = db.view().get(done.id)
    assert found is not None and found.expires_at is None
    write_tools.mark(session, tool_arguments.MarkMemory(id=done.id or "", expires_at="2025-06-01T12:30:00Z"), call)
    clock.advance(HOUR)
    amended = tool_arguments.Amend(id=done.id or "", text="It is 5.", valid_from="2025-05-02", valid_to="2025-05-03")
    assert any("has been hidden since" in note for note in write_tools.amend(session, amended, call).notes)


def test_what_is_hidden_from_its_first_moment_says_so(mem: worlddb.Memory) -> None:
    (note,) = mem.add("Ana has a dog.", expires_at="2020-01-01").notes[1:]
    assert note.startswith("It has been hidden since 2020-01-01") and not contents(mem.recall("dog"))
    assert mem.add("Ana has a cat.", expires_at="2020-01-01", pinned=True).notes == ()
    assert (
        mem.add([{"role": "user", "content": "hello"}], expires_at="2020-01-01")
        .notes[0]
        .startswith("It has been hidden")
    )
    told = remember(mem.db, "Ana has a hen.", expires_at="2020-01-01")
    assert "hidden since 2020" in str(told["notes"]) and "notes" not in remember(mem.db, "Ana has an owl.")


def test_a_deprecated_scope_stays_the_users_and_what_is_rewritten_and_deprecated_says_so(mem: worlddb.Memory) -> None:
    said = mem.add("Ana likes green tea.")
    (scope,) = mem.db.view().find(name="user:ana")
    mem.db.deprecate(scope)
    assert mem.add("Ana likes black tea.").notes == () and len(contents(mem.recall("tea"))) == 2
    assert [each.ref for each in mem.db.view().find(name="user:ana", include_deprecated=True)] == [scope.ref]
    mem.db.deprecate(said.id)
    (note,) = mem.correct(said, "Ana likes no green tea.").notes
    assert "is deprecated" in note and contents(mem.recall("tea")) == ["Ana likes black tea."]


def test_saying_again_with_properties_keeps_the_start_and_all_sources(mem: Memory, db: Database) -> None:
    """It began anew with what was said last alone, and no recall found it by where it came from."""
    rex: dict[str, Any] = {"about": "Rex"}
    first = mem.add("Rex is a dog.", since="2020-01-01", source={"file": "vet.md"}, properties={"a": 1, "b": 2}, **rex)
    made = mem.add("Dogs need a walk.", derived_from=first.id)
    assert mem.add("Rex is a dog.", source={"file": "more.md"}, **rex).notes == ()
    again = mem.add("Rex is a dog.", properties={"a": 5, "k": 1}, source={"file": "new.md"}, **rex)
    assert (again.id, again.repeated) == (first.id, 1)
    assert again.notes == (f"{first.id} has other properties now: a, k",)
    for file in ("vet.md", "more.md", "new.md"):
        (hit,) = mem.recall("Rex", source={"file": file}).hits
        assert (hit.ref, hit.source["file"]) == (first.id, "vet.md")
        assert hit.properties == {"a": 5, "b": 2, "k": 1}
        assert hit.valid.start == worlddb.parse_time("2020-01-01")
    assert mem.recall("Rex", source={"file": "other.md"}).hits == ()
    assert contents(mem.as_of("2021-01-01").recall("Rex").hits) == ["Rex is a dog."]
    found = db.view().get(made.id)
    assert found is not None and found.stale == (), "what it says is the same"
    head = db.head().seq
    assert mem.add("Rex is a dog.", properties={"a": 5}, **rex).notes == ()
    assert [entry.event for entry in db.log(head + 1)] == ["restated"], "they are known"
    assert db.redecide().differing == () and db.verify(deep=True).ok


def test_every_surface_says_what_saying_again_wrote_besides(mem: Memory, db: Database) -> None:
    """A fact that was said for good was hidden by it, and the answer was that nothing else was written."""
    day = "2025-06-02T12:00:00Z"
    for at, text in enumerate(("Bo is a cat.", "Bo likes milk.", "Bo sleeps late.")):
        told = mem.add(text, about="Bo")
        (scope,) = (world.ref for world in db.view().find(type="Scope"))
        if at == 0:
            again: Any = mem.add(text, about="Bo", ttl=24 * 3_600).notes
        elif at == 1:
            again = remember(db, text, about="Bo", expires_at=day, world=scope)["notes"]
        else:
            again = call_write(db, text, about=["Bo"], expires_at=day, labels=["pet"])["notes"]
        found = db.view().get(told.id)
        assert found is not None and found.expires_at is not None
        hidden = f"will be hidden from {worlddb.format_time(found.expires_at)} on, and had no deadline"
        assert f"{told.id} {hidden}: lift the deadline if that is not meant" in again
    assert f"{told.id} has new labels: pet" in again
    lifted = call_write(db, text, about=["Bo"], properties={"n": 1})
    assert lifted["notes"] == [
        f"{told.id} says so already: it has one more source now, and more was written about it",
        f"{told.id} was to be hidden from {day} on, and is not any more: that deadline was lifted",
        f"{told.id} has other properties now: n",
    ]
    nothing = call_write(db, text, about=["Bo"])
    assert nothing["notes"] == [f"{told.id} says so already: it has one more source now, and nothing else was written"]
    pinned = mem.add(text, about="Bo", pinned=True, expires_at=day).notes
    assert pinned == (
        f"{told.id} has the deadline {day} now, which hides nothing while it is pinned",
        f"{told.id} is pinned now",
    )


def test_the_same_write_again_under_its_key_is_one_with_properties_too(db: Database) -> None:
    call_write(db, "Bo is a cat.", properties={"a": 1}, labels=["x"])
    given: dict[str, Any] = {"properties": {"b": 2}, "idempotency_key": "k", "expires_at": "2025-06-09"}
    first, head = call_write(db, "Bo is a cat.", **given), db.head()
    again = call_write(db, "Bo is a cat.", **given)
    assert again == first and db.head() == head
    found = db.view().get(first["id"])
    assert found is not None and found.properties == {"a": 1, "b": 2}


def test_the_command_line_says_that_saying_again_hides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ["--store", str(tmp_path / "s"), "remember", "Bo is a cat.", "--user", "ana"]
    assert main(said) == 0
    assert main([*said, "--ttl", "3600"]) == 0
    assert "and had no deadline: lift the deadline" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["\u200b", "\u200b\u200d", "\u2060", "\u00ad", "\u3164", " \u2800\ufe0f", "\x01"])
def test_a_text_of_which_nothing_is_seen_is_none(mem: Memory, db: Database, text: str) -> None:
    head = db.head()
    for write in (
        lambda: mem.add(text),
        lambda: mem.add({"role": "user", "content": text}),
        lambda: remember(db, text),
        lambda: call_write(db, text),
        lambda: worlddb.memory(db, user=f"ana{text}"),
    ):
        with pytest.raises(worlddb.InputError):
            write()
    assert db.head() == head
    assert mem.add("\u2764\ufe0f").ids and mem.add("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645").ids


def test_messages_of_a_later_time_are_said_to_be(mem: Memory, db: Database) -> None:
    now = {"role": "user", "content": "zqnow"}
    one = {"role": "user", "content": "zqone", "timestamp": "2026-01-01T00:00:00Z"}
    two = one | {"content": "zqtwo", "timestamp": "2026-02-01T00:00:00Z"}
    since = "2026-01-01T00:00:00Z on"
    assert mem.add(one).notes[-1] == f"It holds from {since}; until then only a question about that time finds it"
    assert (
        mem.add([now, two]).notes[-1]
        == f"1 of 2 messages holds from {two['timestamp']} on; until then only a question about that time finds it"
    )
    system = {"role": "system", "content": "Be brief."}
    told = mem.add([system, one, two]).notes[-1]
    assert told == f"2 of 2 messages hold from {since}, or later; until then only a question about that time finds them"
    assert mem.add({"role": "user", "content": "zqthree"}, since="2026-03-01").notes
    assert contents(mem.recall("zqone zqtwo zqnow zqthree").hits) == ["ana: zqnow"]


def test_two_messages_of_one_time_and_text_are_one(mem: Memory, db: Database) -> None:
    said = {"role": "user", "content": "Ok.", "timestamp": "2025-05-01T10:00:00Z"}
    added = mem.add([said, said | {"content": "Yes."}, said])
    assert len(added.ids) == 2 == len({*added.ids}) and added.repeated == 1
    assert len(db.view().find(type="Turn")) == 2
    assert mem.add([said, said]).repeated == 2


def call_write(db: Database, text: str, **given: Any) -> dict[str, Any]:
    told: dict[str, Any] = call(Session(db), "memory_write", text=text, user_id="ana", **given)
    return told


def test_a_person_is_no_memory_to_hide_and_the_error_says_what_is_said_of_them(mem: Memory) -> None:
    """The name went, and what was said of the person stayed."""
    home = mem.add("Ana lives in Lisbon.", about="Bea").id
    for wrong in (
        lambda: mem.expire("Bea", ttl=60),
        lambda: mem.correct("Bea", "Bea left."),
        lambda: mem.forget("Bea"),
    ):
        with pytest.raises(worlddb.InputError) as caught:
            wrong()
        assert "'Bea' is the name of a person or thing" in str(caught.value)
        assert f"{home[:12]} 'Ana lives in Lisbon.'" in caught.value.remedy
    mem.expire(home, ttl=60)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"labels": {"work": True}}, "labels is {'work': True}"),
        ({"labels": {1}}, "labels[0] is 1"),
        ({"labels": ["work", 2]}, "labels[1] is 2"),
        ({"labels": "work"}, "labels is 'work', one text"),
        ({"name": "a\nname"}, r"name is 'a\nname', with a line end at character 2"),
        ({"name": "a\u2028name"}, "with a line end at character 2"),
        ({"type": "Fact\r"}, r"type is 'Fact\r', with a line end at character 5"),
    ],
)
def test_labels_that_are_no_texts_and_names_of_two_lines_are_refused(
    mem: Memory, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(worlddb.InputError) as caught:
        mem.add("Ana lives in Lisbon.", **given)
    assert said in str(caught.value) and caught.value.remedy and not mem.recall("Lisbon").hits
    assert mem.add("Ana lives in Lisbon.", labels={"b", "a"}, name="home").ids


def test_messages_of_one_time_stand_in_a_context_as_they_were_given(mem: Memory) -> None:
    """They were in alphabetical order."""
    said = [f"{word} is on the boat" for word in ("Zeno", "Ali", "Mia", "Ben")]
    mem.add([{"role": "user", "content": each, "timestamp": "2025-05-01T10:00:00Z"} for each in said])
    lines = mem.context("who is on the boat?").splitlines()
    assert [line.split("ana: ")[1].split(" [")[0] for line in lines] == said
