"""A confined MCP server answers byte for byte as one whose store has no neighbour.

The neighbour has the same scopes, names, texts and idempotency keys, and writes between any two calls.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CompletionArgument, PromptReference

import worlddb
from tests.support.mcp_clients import with_all_fields
from tests.tools.mcp.test_mcp_tools import call
from worlddb import InputError, ManualClock, SeededEntropy
from worlddb.tools.agents import functions
from worlddb.tools.mcp import tool_arguments, write_tools
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Call, CursorPosition, Cursors, Session

SECOND = 1_000_000
SECRET = b"s" * 32


class Turns:
    """Randomness that depends on the turn alone, not on what was drawn before it."""

    def __init__(self) -> None:
        self._source = SeededEntropy(0)

    def turn(self, number: int) -> None:
        self._source = SeededEntropy(number)

    def bytes(self, count: int) -> bytes:
        return self._source.bytes(count)


class Side:
    """A store with a served world; with ``crowded`` also a neighbour who does the same."""

    def __init__(self, folder: Path, *, crowded: bool) -> None:
        self.clock, self.turns = ManualClock(), Turns()
        self.db = worlddb.open(folder, clock=self.clock, entropy=self.turns, embedder=None)
        self.turns.turn(1)
        self.world = str(self.db.create("Topic", "mine").ref)
        self.server = MemoryServer(Session(self.db, self.world, secret=SECRET))
        self.neighbour: MemoryServer | None = None
        self.ids: list[str] = []
        self.cursor: str | None = None
        self.theirs: list[str] = []
        if crowded:
            self.turns.turn(10**6)
            there = self.db.create("Topic", "theirs").ref
            for text in ("the launch code is 0000", "Ada likes gin.", "Sarah Chen sold the house."):
                made = self.db.create("Entity", "Ada", content=text, world=there)
                self.theirs.append(str(made.ref))
                self.theirs += made.proposals
            self.neighbour = MemoryServer(Session(self.db.as_author("a stranger"), there, secret=SECRET))

    async def ask(self, turn: int, what: str, arguments: dict[str, Any]) -> str:
        """What comes of a call, as text; cursors apart, which nobody can read and errors quote."""
        if self.neighbour is not None:
            self.clock.value = worlddb.ManualClock().value + turn * SECOND - SECOND // 2
            self.turns.turn(10**6 + turn)
            await _asked(self.neighbour, what, self._fitted(arguments, self.theirs, None))
        self.clock.value = worlddb.ManualClock().value + turn * SECOND
        self.turns.turn(turn)
        given = f"{self.cursor!r:.60}"
        found = await _asked(self.server, what, self._fitted(arguments, self.ids, self.cursor))
        return found.replace(given, "CURSOR") if isinstance(found, str) else self._noted(found)

    def _fitted(self, arguments: dict[str, Any], ids: list[str], cursor: str | None) -> dict[str, Any]:
        """References to what was made, and to the last page, put in."""

        def fit(value: Any) -> Any:
            if isinstance(value, tuple):
                number, digits = value
                return ids[number % len(ids)][:digits] if ids else "abcd" * 8
            if isinstance(value, list):
                return [fit(each) for each in value]
            return cursor if value == "CURSOR" else value

        return {name: fit(value) for name, value in arguments.items()}

    def _noted(self, found: Any) -> str:
        told = dict(found)
        self.ids += [told["id"]] if told.get("outcome") else []
        self.ids += told.get("proposals", []) if told.get("outcome") else []
        if told.get("next_cursor"):
            self.cursor = told["next_cursor"]
            told["next_cursor"] = len(told["next_cursor"])
        return repr(told)


async def _asked(server: MemoryServer, what: str, arguments: dict[str, Any]) -> Any:
    """The structured answer, or the words of the error."""
    try:
        if what == "resources":
            return repr(await server.list_resources())
        if what == "read":
            contents = await server.read_resource(f"worlddb://{arguments['kind']}/{arguments['id']}")
            return repr(list(contents))
        if what == "complete":
            prompt = PromptReference(name="what_is_known")
            return repr(await server._complete(prompt, CompletionArgument(**arguments), None))
        if what in ("what_is_known", "review_proposals"):
            # Its text holds a whole answer, with a cursor in it that differs.
            shown = (await server.get_prompt(what, arguments)).messages[0].content
            return repr(shown).partition("next_cursor")[0]
        return (await server.call_tool(what, with_all_fields(what, arguments))).structured_content
    except (ToolError, MCPError, ResourceNotFoundError) as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def two_sides() -> Iterator[tuple[Side, Side]]:
    """A store with nothing else in it, and one with a neighbour."""
    folder = Path(mkdtemp())
    try:
        alone, crowded = Side(folder / "alone", crowded=False), Side(folder / "crowded", crowded=True)
        with alone.db, crowded.db:
            yield alone, crowded
    finally:
        shutil.rmtree(folder)


# -- what may be asked

IDENTITIES = st.sampled_from(["ada", "7"])
TIMES = st.sampled_from(["2020-01-01", "2026-11-21", "2026-11-21T00:00:05Z", "2030-01-01", "yesterday"])
REFERENCES = st.one_of(
    st.tuples(st.integers(0, 20), st.sampled_from([4, 8, 32, 64])), st.sampled_from(["ffff", "THEIRS", "THEIR", "zz"])
)
TEXTS = st.sampled_from(["Ada likes tea.", "the launch code is 0000", "Sarah Chen leads search.", "tea"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "detail": st.sampled_from(["brief", "full", None]),
    **dict.fromkeys(("user_id", "run_id", "scope_id"), IDENTITIES),
    **dict.fromkeys(("agent_id", "app_id"), st.none()),
    **dict.fromkeys(("text", "query"), TEXTS),
    **dict.fromkeys(("derived_from", "contradicts"), st.lists(REFERENCES, max_size=2)),
    "about": st.lists(st.sampled_from(["Ada", "Sarah Chen", "tea", " "]), max_size=2),
    **dict.fromkeys(("valid", "valid_from", "valid_to", "at"), TIMES),
    **dict.fromkeys(("id", "proposal"), REFERENCES),
    **dict.fromkeys(("include_retired", "deep", "members", "replace_later"), st.booleans()),
    "known": st.one_of(TIMES, st.sampled_from([1, 2, 5, 10**6])),
    "name": st.sampled_from(["", "Ada", "ada", "Sarah Chen"]),
    "type": st.sampled_from(["Fact", "Entity", "Scope"]),
    "why": st.sampled_from(["", "because"]),
    "idempotency_key": st.sampled_from(["k", "l"]),
    "on_near": st.sampled_from(["note", "propose", "supersede_same_subject"]),
    "widen": st.booleans(),
    **dict.fromkeys(("group", "neighbours", "paths"), st.sampled_from([1, 3])),
    "limit": st.sampled_from([1, 2, 10, 99]),
    "min_trust": st.sampled_from(["fair", "much"]),
    "min_confidence": st.sampled_from([0.0, 0.2, 0.9]),
    "ttl": st.sampled_from([0.5, 60, 3600]),
    "expires_at": st.sampled_from(["never", "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"]),
    "pinned": st.booleans(),
    **dict.fromkeys(("label", "tag"), st.sampled_from(["kept", "draft"])),
    "properties": st.sampled_from([{"floor": 2}, {"floor": {"$gte": 2}}, {"secret": {"$ne": 1}}, {"floor": {"$x": 1}}]),
    **dict.fromkeys(
        ("labels", "add_labels", "remove_labels"), st.lists(st.sampled_from(["kept", "draft"]), max_size=2)
    ),
    "cursor": st.sampled_from(["CURSOR", "nonsense", Cursors().text(Cursors().place("AAAAAAAAAAMAAAAAAAAAAAAAAAE="))]),
    "offset": st.sampled_from([0, 3]),
    "kind": st.sampled_from(["user", "run", "planet"]),
    "confirm": st.sampled_from(["user:ada", "run:7", "yes"]),
    "status": st.sampled_from(["pending", "all", "rejected"]),
    "decision": st.sampled_from(["accept", "reject", "undo"]),
}
NEEDED = {"text", "query", "id", "user_id", "kind", "scope_id", "proposal", "decision", "confirm"}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Any call with mostly sensible arguments; writing is as likely as all reading."""
    writes = ("memory_write",) * 8 + ("memory_amend", "memory_retire", "memory_decide", "memory_retire_scope")
    others = [tool.name for tool in TOOLS] + ["resources", "read", "complete", "what_is_known", "review_proposals"]
    what = draw(st.one_of(st.sampled_from(writes), st.sampled_from(others)))
    if what in ("resources", "review_proposals"):
        return what, {}
    if what == "read":
        return what, {"kind": draw(st.sampled_from(["world", "timeline"])), "id": draw(REFERENCES)}
    if what == "complete":
        begun = st.sampled_from(["a", "Ada", ""])
        return what, {"name": draw(st.sampled_from(["id", "user_id"])), "value": draw(begun)}
    if what == "what_is_known":
        return what, {"about": draw(TEXTS)}
    (tool,) = (tool for tool in TOOLS if tool.name == what)
    wanted = [name for name in tool.takes.__struct_fields__ if name in NEEDED or draw(st.integers(0, 3)) == 0]
    return what, {name: value for name in wanted if (value := draw(VALUES[name])) is not None}


def differences(asked: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, str, str]]:
    """The calls that the two stores answer differently, with both answers."""
    found: list[tuple[str, str, str]] = []

    async def work() -> None:
        with two_sides() as (alone, crowded):
            known = {"THEIRS": crowded.theirs[0], "THEIR": crowded.theirs[1][:6]}

            def named(value: Any) -> Any:
                if isinstance(value, list):
                    return [named(each) for each in value]
                return known.get(value, value) if isinstance(value, str) else value

            for turn, (what, given_) in enumerate(asked, start=2):
                arguments = {name: named(value) for name, value in given_.items()}
                one, other = [await side.ask(turn, what, arguments) for side in (alone, crowded)]
                if one != other:
                    found.append((what, one, other))

    anyio.run(work)
    return found


def test_what_others_say_a_memory_is_about_is_neither_told_nor_written_when_it_is_said_again() -> None:
    """It was taken for a memory that names somebody, and one that got an earlier start got their edge once more."""

    said: list[dict[str, Any]] = [{}, {"about": ["Ada"]}, {"valid_from": "2020-01-01"}]

    async def work() -> None:
        with two_sides() as (alone, crowded):
            told = []
            for side in (alone, crowded):
                for turn, more in enumerate(said, start=2):
                    told.append(
                        await side.ask(turn, "memory_write", {"text": "Ada likes tea.", "user_id": "7", **more})
                    )
                    if turn == 2 and side.theirs:
                        side.db.link(side.ids[0], "refers_to", side.theirs[0], home=side.theirs[0])
                edges = side.db.view().edges(side.ids[0], type="refers_to", direction="out", include_superseded=True)
                told.append(repr([each.target for each in edges if each.target not in side.theirs]))
                assert sum(each.target in side.theirs for each in edges) == (side is crowded)
            assert told[:4] == told[4:] and "named nobody that it is about, and does now" in told[1]

    anyio.run(work)


# To shrink a list of calls takes minutes, and what differs is shown as it is.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


@settings(max_examples=4, deadline=None, phases=UNSHRUNK, suppress_health_check=[HealthCheck.too_slow])
@given(asked=st.lists(calls(), min_size=25, max_size=40))
def test_a_neighbour_changes_no_byte_of_any_answer(asked: list[tuple[str, dict[str, Any]]]) -> None:
    assert differences(asked) == []


@pytest.mark.soak
@settings(max_examples=400, deadline=None, phases=UNSHRUNK, suppress_health_check=[HealthCheck.too_slow])
@given(asked=st.lists(calls(), min_size=25, max_size=80))
def test_a_neighbour_changes_no_byte_of_any_answer_however_often_one_asks(
    asked: list[tuple[str, dict[str, Any]]],
) -> None:
    assert differences(asked) == []


SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("memory_write", {"text": "Ada likes tea.", "name": "Ada", "type": "Entity", "user_id": "ada"}),
    ("memory_write", {"text": "Ada plays chess.", "name": "ada", "type": "Entity", "user_id": "ada"}),
    ("memory_write", {"text": "tea", "user_id": "ada", "idempotency_key": "k"}),
    ("memory_write", {"text": "something else", "user_id": "ada", "idempotency_key": "k"}),
    ("memory_proposals", {"status": "all"}),
    ("memory_decide", {"proposal": (2, 64), "decision": "accept"}),
    ("memory_list", {"user_id": "ada", "limit": 1}),
    ("memory_list", {"user_id": "ada", "cursor": "CURSOR"}),
    ("memory_list", {"user_id": "7", "cursor": "CURSOR"}),
    ("memory_proposals", {"cursor": "CURSOR"}),
    ("memory_recall", {"query": "tea"}),
    ("memory_recall", {"query": "tea", "group": 2}),
    ("memory_recall", {"query": "tea", "neighbours": 2}),
    ("memory_recall", {"query": "tea", "paths": 2, "user_id": "ada", "widen": True}),
    ("memory_as_of", {"query": "tea", "known": "2026-11-21T00:00:03Z"}),
    ("memory_history", {"id": (0, 32)}),
    ("memory_read", {"id": "THEIRS"}),
    ("memory_amend", {"id": "THEIR", "text": "x"}),
    ("memory_conflicts", {}),
    ("memory_list_scopes", {}),
    ("memory_verify", {}),
    ("memory_write", {"text": "Rex barks.", "user_id": "ada", "about": ["Rex", "Ada"]}),
    ("memory_write", {"text": "Rex is mute.", "user_id": "ada", "contradicts": ["THEIRS"]}),
    ("memory_mark", {"id": (0, 32), "pinned": True, "add_labels": ["kept"]}),
    ("memory_mark", {"id": "THEIRS", "pinned": True}),
    ("memory_retire", {"id": (0, 32)}),
    ("memory_retire", {"id": (0, 32)}),
    ("memory_retire_all", {"kind": "user", "scope_id": "ada"}),
    ("memory_retire_scope", {"kind": "user", "scope_id": "ada", "confirm": "user:ada"}),
    ("resources", {}),
    ("what_is_known", {"about": "tea"}),
    ("review_proposals", {}),
    ("complete", {"name": "id", "value": "Ada"}),
]


def test_one_of_everything_is_answered_alike_and_is_answered() -> None:
    assert differences(SCRIPT) == []
    assert {what for what, _ in SCRIPT} >= {tool.name for tool in TOOLS}
    answers: list[str] = []

    async def work() -> None:
        with two_sides() as (_, crowded):
            for turn, (what, arguments) in enumerate(SCRIPT, start=2):
                answers.append(await crowded.ask(turn, what, arguments))

    anyio.run(work)
    failed = [what for (what, _), told in zip(SCRIPT, answers, strict=True) if "Error" in told]
    wrong_cursors = ["memory_list", "memory_proposals"]
    assert failed == ["memory_write", *wrong_cursors, "memory_read", "memory_amend", "memory_write", "memory_mark"]


def _numbered(self: Session, seq: int) -> int:
    return seq


def _shared(self: Session, key: str | None) -> str | None:
    return key


def _outspoken(self: Session, error: worlddb.WorldDBError) -> str:
    return str(error)


@pytest.mark.parametrize(
    ("name", "leak"),
    [("commit_number", _numbered), ("idempotency_key", _shared), ("explain", _outspoken)],
    ids=["numbers of commits", "idempotency keys", "words of errors"],
)
def test_leaks_that_are_put_in_on_purpose_are_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, leak: Callable[..., Any]
) -> None:
    monkeypatch.setattr(Session, name, leak)
    assert differences(SCRIPT)


@pytest.mark.parametrize("moved", ["the scope", "the entry"])
def test_what_an_operator_moved_to_another_tenant_is_not_written_to_by_the_first(moved: str, tmp_path: Path) -> None:
    """The scope's key still stood for it: memories of the first landed in the other's world, unseen by the first."""
    given = {"text": "Ada likes tea.", "user_id": "ada", "about": ["Ada"]}
    with worlddb.open(tmp_path, embedder=None) as db:
        mine, other = (str(db.create("Topic", name).ref) for name in ("mine", "other"))
        server = MemoryServer(Session(db, mine))
        anyio.run(_asked, server, "memory_write", given)
        view = db.view(world=mine)
        (found,) = view.find(name="user:ada" if moved == "the scope" else "Ada")
        db.move(found.ref, other)
        before = db.view(world=other).counts()
        for text in ("Ada sings.", "Ada reads."):
            told = anyio.run(_asked, server, "memory_write", {**given, "text": text})
            assert told["outcome"] in ("committed", "staged"), told
            assert text in {memory.content for memory in db.view(world=mine).find(type="Fact")}
            shown = anyio.run(_asked, server, "memory_list", {"user_id": "ada"})
            assert text in repr(shown)
            about = db.view(world=mine).edges(told["id"], type="refers_to", direction="out")
            entries = [found.ref for found in db.view(world=mine).find(name="Ada")]
            assert [edge.target for edge in about] == entries and len(entries) == 1
        assert db.view(world=other).counts() == before
        assert len(db.view(world=mine).find(name="user:ada")) == 1


def test_cursors_are_read_by_nobody_and_are_of_one_world() -> None:
    sealed = [Cursors(world, SECRET) for world in ("a" * 32, "b" * 32)]
    place = Cursors().place(Cursors().text(CursorPosition(10**12, -5, 3)))
    texts = [cursors.text(place._replace(seq=seq)) for cursors in sealed for seq in (1, 10**12)]
    assert len({len(text) for text in texts}) == 1 and len(set(texts)) == 4
    assert sealed[0].place(texts[0]).seq == 1 and sealed[1].place(texts[3]) == place
    for wrong in (texts[2], texts[0][:-4], "A" * len(texts[0]), Cursors().text(place), "", "é"):
        with pytest.raises(worlddb.InputError, match="no page"):
            sealed[0].place(wrong)


def test_what_is_wrong_with_the_store_is_not_told_in_one_world(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        here, all_of_it = Session(db, db.create("Topic", "mine").ref), Session(db)
        for error in (worlddb.WriterBusy("process 7, author 'a stranger'"), worlddb.DamagedStore("commit 17")):
            assert error.message in all_of_it.explain(error)
            told = here.explain(error)
            assert error.code in told and error.message not in told
        assert "the value" in here.explain(worlddb.InputError("the value"))


def test_a_world_is_verified_whatever_is_wrong_elsewhere(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        secret = db.create("Note", "", content="The safe is behind the mirror.", world=theirs)
        own = db.create("Note", "", content="The cat sleeps on the stove.", world=mine)
        assert db.check_world(mine) == 2 and db.check_world(None) == 5
        for written, fine in ((b"mirror", [mine]), (b"stove", [])):
            data = tmp_path / "store" / "data.mdb"
            stored = data.read_bytes()
            assert written in stored
            data.write_bytes(stored.replace(written, written.upper()))
            for world in (mine, theirs):
                if world in fine:
                    assert db.check_world(world) == 2
                else:
                    with pytest.raises(worlddb.DamagedStore):
                        db.check_world(world)
        assert secret.ref != own.ref


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_a_refused_decision_names_no_world_outside(tmp_path: Path, decision: str) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        here, there = db.create("Tenant", "Acme").ref, db.create("Tenant", "Globex").ref
        one, two = (db.create("Person", "Ann Lee", content=text, world=here) for text in "ab")
        outside = db.create("Person", "The stranger", world=there, resolve=False).ref
        db.accept(db.link(one, "same_as", outside).proposals[0]).raise_if_refused()
        joining = db.link(two, "same_as", outside).proposals[0]
        (db.accept if decision == "reject" else db.reject)(joining).raise_if_refused()
        session = Session(db, here)
        (pair,) = session.view().proposals()
        decided = msgspec.convert({"proposal": pair.ref, "decision": decision}, tool_arguments.Decide)
        with pytest.raises(worlddb.RefusedError) as raised:
            write_tools.decide(session, decided, Call("", "test"))
        assert outside[:12] in raised.value.message and outside[:12] in Session(db).explain(raised.value)
        assert outside[:8] not in session.explain(raised.value) and "memory_proposals" in session.explain(raised.value)


def test_moments_before_a_world_have_one_answer_and_do_not_tell_when_the_store_began(tmp_path: Path) -> None:
    clock = ManualClock(worlddb.parse_time("2020-01-01"))
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock, max_clock_jump_days=99_999) as db:
        clock.value = worlddb.parse_time("2024-01-01")
        session = Session(db, db.create("Tenant", "Acme").ref)
        told = set()
        for known in ("2019-12-31", "2020-01-02", "2023-12-31"):
            with pytest.raises(worlddb.UnknownReference) as raised:
                session.view(known=known)
            told.add(session.explain(raised.value))
        assert len(told) == 1 and session.view(known="2024-01-02").counts()["worlds"] == 1


@pytest.mark.parametrize("outside", ["nothing", "what rests on it", "twenty that rest on it", "an edge between them"])
def test_notes_are_those_of_a_store_in_which_there_is_nothing_else(tmp_path: Path, outside: str) -> None:
    """One world outside took a whole note away, and twenty took the place of one's own in it."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        session, call = Session(db, mine, secret=SECRET), Call("a model", "test")

        def wrote(text: str, *made_of: str) -> str:
            given = tool_arguments.Write(user_id="ada", text=text, derived_from=made_of)
            return str(write_tools.write(session, given, call).id)

        base = wrote("the rate is 2")
        fact = db.create("Fact", "", content="it rains", world=mine).ref
        other = db.create("Fact", "", content="it is dry", world=mine).ref
        for number in range({"what rests on it": 1, "twenty that rest on it": 20}.get(outside, 0)):
            copy = db.create("Note", f"n{number}", content="copied", world=theirs).ref
            db.link(copy, "derived_from", base)
            db.link(copy, "derived_from", fact)
        if outside == "an edge between them":
            db.link(other, "derived_from", fact, home=theirs)
            db.link(other, "contradicts", fact, home=theirs)
        resting = [wrote("the plan", base), wrote("the price", base)]
        umbrellas = wrote("umbrellas")
        db.link(umbrellas, "derived_from", fact)
        notes = write_tools.retire(session, tool_arguments.Retire(id=base), call).notes
        assert notes == [f"{base} ends or changes, and these depend on it: {', '.join(resting)}"]
        assert functions.forget(db, fact, world=mine)["notes"] == [
            f"{fact} ends or changes, and these depend on it: {umbrellas}"
        ]


@pytest.mark.parametrize("default", [None, "ana"])
def test_who_is_served_a_users_world_means_it_by_the_users_name(tmp_path: Path, default: str | None) -> None:
    """A second world of the user was begun inside of it: nothing that was there was found, and nothing repeated."""
    with worlddb.memory(tmp_path / "store", user="ana", embedder=None) as mem:
        home = mem.add("Home is by the river.", about="Home").id
        worlddb.memory(mem.db, user="bob").add("Home is in town.", about="Home")
        served = mem.db.view().reference_of("user:ana")
        desk, user = Session(mem.db, served, user=default), {} if default else {"user_id": "ana"}
        found = call(desk, "memory_recall", query="where is home?", **user)
        assert [memory["text"] for memory in found["memories"]] == ["Home is by the river."]
        told = call(desk, "memory_write", text="Home is warm.", about=["home"], idempotency_key="k", **user)
        assert call(desk, "memory_write", text="Home is warm.", about=["home"], idempotency_key="k", **user) == told
        again = call(desk, "memory_write", text="Home is by the river.", about=["Home"], **user)
        assert again["id"] == home and mem.db.view().history(home)[-1].restated
        assert [world.type for world in mem.db.view(world=served).find()].count("Scope") == 0
        assert mem.profile().people == {"Home": 2}
        call(desk, "memory_write", text="The run is on.", run_id="r", **user)
        assert {hit.content for hit in mem.recall("home, the run").hits} >= {"The run is on.", "Home is warm."}
        with pytest.raises(InputError, match="the world of this server"):
            call(desk, "memory_retire_scope", kind="user", scope_id="ana", confirm="user:ana", why="w")
        call(desk, "memory_retire_all", kind="user", scope_id="ana", why="w")
        kept = mem.db.view().get(served)
        assert not mem.recall("home").hits and kept is not None and not kept.closed
        mem.add("Ana is back.")
        assert call(desk, "memory_list", **user)["memories"][-1]["text"] == "Ana is back."
