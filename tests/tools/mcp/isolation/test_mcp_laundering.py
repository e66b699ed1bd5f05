"""Nothing that a principal wrote can look as if another wrote it, or came another way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.mcp_fuzz import FORGED, JUNK
from worlddb import View, WorldDBError
from worlddb.tools.mcp import resources
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.resources import TEMPLATES
from worlddb.tools.mcp.session import Call, Session


class Principal(NamedTuple):
    """A server with an author of its own, and the program that is connected to it."""

    author: str
    client: str
    desk: Session

    def call(self, name: str, /, **arguments: Any) -> Any:
        """The structured answer of a tool."""
        (tool,) = (tool for tool in TOOLS if tool.name == name)
        checked = msgspec.convert(arguments, tool.takes)
        return msgspec.to_builtins(tool.run(self.desk, checked, Call(self.client, name)))

    def way(self, tool: str) -> dict[str, str]:
        """The source of what it writes."""
        return {"channel": "mcp", "client": self.client, "tool": tool}


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Principal, Principal]]:
    """Two principals on one store."""
    with ExitStack() as opened:
        made = []
        for author, client in (("ada", "alpha"), ("eve", "beta")):
            db = opened.enter_context(worlddb.open(tmp_path / "store", author=author, embedder=None))
            made.append(Principal(author, client, Session(db)))
        yield made[0], made[1]


def signed(told: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Who wrote something and how it came, as an answer has it."""
    return told["author"], told["source"]


def written_by(view: View, ref: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Each version of a world with its author and source, as the library has it."""
    return [(version.content, version.author, version.source) for version in view.history(ref)]


def test_each_kind_of_read_names_the_author(two: tuple[Principal, Principal]) -> None:
    ada, eve = two
    by_ada = ada.call("memory_write", text="The safe is behind the clock.", user_id="u")["id"]
    by_eve = eve.call("memory_write", text="The safe is behind the door.", user_id="u")["id"]
    expected = {by_ada: ("ada", ada.way("memory_write")), by_eve: ("eve", eve.way("memory_write"))}
    seq = eve.desk.db.head().seq
    for asks in two:
        for name, arguments in (
            ("memory_list", {"user_id": "u"}),
            ("memory_recall", {"query": "where is the safe?"}),
            ("memory_as_of", {"query": "where is the safe?", "known": seq}),
        ):
            found = asks.call(name, **arguments)["memories"]
            assert {memory["id"]: signed(memory) for memory in found} == expected, name
        for ref, told in expected.items():
            assert signed(asks.call("memory_read", id=ref)) == told
            (version,) = asks.call("memory_history", id=ref)["versions"]
            assert signed(version) == told
            for family in ("world", "timeline"):
                text = resources.read(asks.desk, TEMPLATES, f"worlddb://{family}/{ref}").text
                assert f"written by {told[0]}, from {json.dumps(told[1], separators=(',', ':'))}" in text


def test_an_amendment_is_its_authors_and_what_it_amends_stays_with_the_other(two: tuple[Principal, Principal]) -> None:
    ada, eve = two
    old = ada.call("memory_write", text="Ada lives in Riga.", user_id="u")["id"]
    new = eve.call("memory_amend", id=old, text="Ada lives in Oslo.", why="ada said so")["id"]
    assert signed(ada.call("memory_read", id=old)) == ("ada", ada.way("memory_write"))
    assert signed(ada.call("memory_read", id=new)) == ("eve", eve.way("memory_amend"))
    versions = ada.call("memory_history", id=new)["versions"]
    assert [(told["text"], told["author"]) for told in versions] == [
        ("Ada lives in Riga.", "ada"),
        ("Ada lives in Oslo.", "eve"),
    ]
    (edge,) = ada.desk.db.view().edges(new, type="supersedes")
    assert (edge.source, edge.target) == (new, old)
    (blamed,) = [each for each in ada.desk.db.view().blame(new).edges if each.type == "supersedes"]
    assert blamed.author == "eve"


def test_who_retires_is_recorded_and_does_not_become_the_author(two: tuple[Principal, Principal]) -> None:
    ada, eve = two
    refs = [ada.call("memory_write", text=f"note {number}", run_id="7")["id"] for number in range(3)]
    eve.call("memory_retire", id=refs[0], why="ada asked for it")
    eve.call("memory_retire_all", kind="run", scope_id="7")
    for ref in refs:
        assert signed(ada.call("memory_read", id=ref)) == ("ada", ada.way("memory_write"))
        assert [(step.change, step.author) for step in ada.desk.db.view().timeline(ref)] == [
            ("written", "ada"),
            ("closed", "eve"),
        ]


def test_two_that_are_made_one_keep_what_each_of_them_said(two: tuple[Principal, Principal]) -> None:
    ada, eve = two
    person = {"name": "Sarah Chen", "type": "Entity", "user_id": "u"}
    one = ada.call("memory_write", text="leads search", **person)["id"]
    twin = eve.call("memory_write", text="has resigned", **person)
    ada.call("memory_decide", proposal=twin["proposals"][0], decision="accept", why="same badge")
    for view in (ada.desk.db.view(), ada.desk.db.view(unify=True)):
        identity = view.export_identity(one)
        told = {ref: [(version.content, version.author) for version in identity.versions[ref]] for ref in identity.refs}
        assert told == {one: [("leads search", "ada")], twin["id"]: [("has resigned", "eve")]}
        assert {hit.author for hit in view.recall("Sarah Chen resigned", exact=True)} <= {"ada", "eve"}
    (link,) = ada.desk.db.view().edges(twin["id"], type="same_as")
    authors = {entry.author for entry in ada.desk.db.log() if entry.seq == link.seq}
    assert authors == {"ada"}
    assert signed(ada.call("memory_read", id=twin["id"])) == ("eve", eve.way("memory_write"))
    ada.call("memory_decide", proposal=twin["proposals"][0], decision="undo")
    assert signed(ada.call("memory_read", id=twin["id"])) == ("eve", eve.way("memory_write"))


def test_a_summary_is_its_authors_and_leads_to_what_it_was_made_of(two: tuple[Principal, Principal]) -> None:
    ada, eve = two
    parts = [ada.call("memory_write", text=f"The rent is {rent}.", app_id="lease")["id"] for rent in (900, 950)]
    made = eve.call("memory_write", text="The rent rose to 990.", type="Summary", app_id="lease")["id"]
    for part in parts:
        eve.desk.db.link(made, "derived_from", part)
    view = ada.desk.db.view()
    shown = view.query(seeds=parts).prefer_summaries().run()
    assert [(world.ref, world.author, world.source) for world in shown.nodes] == [
        (made, "eve", eve.way("memory_write"))
    ]
    sources = [view.get(edge.target) for edge in view.edges(made, type="derived_from", direction="out")]
    assert [(world.ref, world.author) for world in sources if world is not None] == [(part, "ada") for part in parts]


def test_both_forms_of_export_and_two_imports_in_a_row_keep_who_wrote_and_how_it_came(
    two: tuple[Principal, Principal], tmp_path: Path
) -> None:
    ada, eve = two
    old = ada.call("memory_write", text="Ada lives in Riga.", user_id="u")["id"]
    new = eve.call("memory_amend", id=old, text="Ada lives in Oslo.")["id"]
    expected = {old: ("ada", ada.way("memory_write")), new: ("eve", eve.way("memory_amend"))}
    lines = {line["ref"]: line for line in ada.desk.db.export_lines() if line.get("kind") == "world"}
    for ref, told in expected.items():
        (version,) = lines[ref]["versions"]
        assert signed(version) == told
    ada.desk.db.export(None, tmp_path / "first")
    with worlddb.open(tmp_path / "second", author="mallory", embedder=None) as db:
        db.import_bundle(tmp_path / "first")
        db.export(None, tmp_path / "again")
    with worlddb.open(tmp_path / "third", author="trent", embedder=None) as db:
        db.import_bundle(tmp_path / "again")
        served = Principal("trent", "gamma", Session(db))
        for ref, (author, source) in expected.items():
            told = served.call("memory_read", id=ref)
            # The author is who took it in; the source says who had it where it came from, what was said there of who
            # wrote it first, and how it had come there.
            origin = told["source"]["imported"]
            assert (told["author"], origin["author"], origin["before"][0]["author"]) == ("trent", "mallory", author)
            assert {name: told["source"][name] for name in source} == source
            assert [
                version["source"]
                for version in served.call("memory_history", id=ref)["versions"]
                if version["id"] == ref
            ] == [told["source"]]
        again = served.call("memory_amend", id=new, text="Ada lives in Bergen.")["id"]
        assert signed(served.call("memory_read", id=again)) == ("trent", served.way("memory_amend"))


def test_another_principals_idempotency_key_gives_nobody_the_others_words(two: tuple[Principal, Principal]) -> None:
    ada, eve = two
    made = ada.call("memory_write", text="once", user_id="u", idempotency_key="k")
    with pytest.raises(WorldDBError, match="key"):
        eve.call("memory_write", text="once", user_id="u", idempotency_key="k")
    assert signed(eve.call("memory_read", id=made["id"])) == ("ada", ada.way("memory_write"))


_FORGING = st.dictionaries(
    st.sampled_from(["author", "source", "client", "tool", "channel", "principal", "seq", "written_at", "imported"]),
    st.sampled_from([*JUNK, *FORGED]),
    min_size=1,
)


@given(forged=_FORGING, name=st.sampled_from([tool.name for tool in TOOLS]))
def test_no_tool_has_an_argument_for_the_author(forged: dict[str, Any], name: str) -> None:
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    right = {
        "memory_write": {"text": "x", "user_id": "u"},
        "memory_amend": {"id": "f00dfeed", "text": "x"},
    }
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(right.get(name, {}) | forged, tool.takes)


def test_no_tool_has_a_field_that_the_server_fills() -> None:
    filled = {"author", "source", "client", "tool", "channel", "principal", "seq", "ingest_time", "written_at"}
    for tool in TOOLS:
        assert not filled & set(tool.takes.__struct_fields__), tool.name
        assert tool.input_schema["additionalProperties"] is False, tool.name
