"""Two keys over HTTP, each confined to its world, cannot pass as one another.

Whatever the second does to what the first wrote, it stays the first's; and nothing that a client sends says who it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

import worlddb
from tests.support.mcp_clients import answer, run_bounded
from tests.support.serving import PATIENCE_SECONDS, HttpServer, serve_http
from worlddb import Database, View
from worlddb.tools.mcp.access_keys import KeyFile, default_key_file

SCOPE = {"user_id": "team"}
FORGED: dict[str, Any] = {
    "author": "ada",
    "principal": "ada",
    "key": "ada",
    "client": "alpha",
    "source": {"channel": "post", "author": "ada"},
    "imported": {"author": "ada"},
    "_meta": {"author": "ada", "clientInfo": {"name": "ada"}},
    "seq": 1,
    "ingested_at": "2020-01-01",
}
OF_TEXTS = ("created", "revised", "closed", "ended", "linked")
SAID_BESIDE = {"X-Author": "ada", "X-Forwarded-User": "ada", "From": "ada", "User-Agent": "ada", "Mcp-Name": "ada"}


class Shared(NamedTuple):
    """A server and two principals' keys; the scope of ada's memories is in eve's world too."""

    server: HttpServer
    ada: str
    eve: str
    worlds: tuple[str, str]

    @asynccontextmanager
    async def client(self, secret: str, called: str, **headers: str) -> AsyncIterator[Client]:
        """The official client with a key, which calls itself so."""
        sent = {"Authorization": f"Bearer {secret}"} | headers
        async with (
            httpx2.AsyncClient(headers=sent, timeout=PATIENCE_SECONDS) as over,
            Client(
                streamable_http_client(self.server.url, http_client=over),
                mode="legacy",
                client_info=Implementation(name=called, version="1"),
            ) as client,
        ):
            yield client

    @asynccontextmanager
    async def both(self) -> AsyncIterator[tuple[Client, Client]]:
        """A client of each of the two."""
        async with self.client(self.ada, "alpha") as ada, self.client(self.eve, "beta") as eve:
            yield ada, eve

    async def written(self, ada: Client, *texts: str, **more: str) -> list[str]:
        """Memories of ada's in the scope, which is then shared."""
        refs = [(await answer(ada, "memory_write", text=text, **more, **SCOPE))["id"] for text in texts]
        await anyio.to_thread.run_sync(self._share, refs[0])
        return refs

    def _share(self, ref: str) -> None:
        with self.opened() as db:
            (scope,) = db.view().containers(ref)
            if self.worlds[1] not in db.view().containers(scope):
                db.link(self.worlds[1], "contains", scope, valid_from="0001-01-01")

    def opened(self) -> Database:
        """The store, as the person who runs the server opens it."""
        return worlddb.open(self.server.store, create=False, author="the operator", embedder=None)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    store = tmp_path_factory.mktemp("laundering") / "store"
    with worlddb.open(store, embedder=None) as db:
        KeyFile(default_key_file(store)).add(db.head().store_id, "another", None, write=False)
    with serve_http(store, "--author", "nobody", "--rate", "5000") as served:
        yield served


@pytest.fixture
def shared(server: HttpServer) -> Iterator[Shared]:
    """New worlds, and new keys of the same names."""
    keys = KeyFile(default_key_file(server.store))
    with worlddb.open(server.store, create=False, author="the operator", embedder=None) as db:
        worlds = str(db.create("Topic", "ada's").ref), str(db.create("Topic", "eve's").ref)
        ada, eve = (
            keys.add(db.head().store_id, name, world, write=True)
            for name, world in zip(("ada", "eve"), worlds, strict=True)
        )
    yield Shared(server, ada, eve, worlds)
    keys.remove("ada")
    keys.remove("eve")


def way(client: str, tool: str) -> dict[str, str]:
    """The source of what a tool writes."""
    return {"channel": "mcp", "client": client, "tool": tool}


async def signed(client: Client, ref: str) -> tuple[str, dict[str, Any]]:
    """Who wrote a memory and how it came, as a client reads it."""
    told = await answer(client, "memory_read", id=ref)
    return told["author"], told["source"]


ADAS = ("ada", way("alpha", "memory_write"))


def steps(view: View, ref: str) -> list[tuple[str, str]]:
    """What was learned of a memory, and from whom."""
    return [(step.change, step.author) for step in view.timeline(ref)]


def test_what_eve_amends_and_retires_of_adas_stays_adas_for_both(shared: Shared) -> None:
    async def work() -> None:
        async with shared.both() as (ada, eve):
            old, kept, gone = await shared.written(ada, "Ada lives in Riga.", "Ada likes tea.", "Ada has a cat.")
            seen = (await answer(eve, "memory_list", **SCOPE))["memories"]
            assert [(memory["id"], memory["author"]) for memory in seen] == [(ref, "ada") for ref in (old, kept, gone)]
            new = (await answer(eve, "memory_amend", id=old, text="Ada lives in Oslo.", why="ada said so"))["id"]
            await answer(eve, "memory_retire", id=gone, why="ada asked for it")
            for reader in (ada, eve):
                for ref in (old, kept, gone):
                    assert await signed(reader, ref) == ADAS
                assert await signed(reader, new) == ("eve", way("beta", "memory_amend"))
                versions = (await answer(reader, "memory_history", id=new))["versions"]
                assert [(told["text"], told["author"]) for told in versions] == [
                    ("Ada lives in Riga.", "ada"),
                    ("Ada lives in Oslo.", "eve"),
                ]
            with shared.opened() as db:
                assert steps(db.view(), gone) == [("written", "ada"), ("closed", "eve")]
                assert steps(db.view(), kept) == [("written", "ada")]
                (edge,) = [each for each in db.view().blame(new).edges if each.type == "supersedes"]
                assert edge.author == "eve"

    run_bounded(work)


@pytest.mark.parametrize(
    ("tool", "more", "scope_ends"),
    [("memory_retire_all", {}, False), ("memory_retire_scope", {"confirm": "user:team"}, True)],
)
def test_what_eve_ends_as_a_whole_was_adas_and_says_who_ended_it(
    shared: Shared, tool: str, more: dict[str, str], scope_ends: bool
) -> None:
    async def work() -> None:
        async with shared.both() as (ada, eve):
            refs = await shared.written(ada, "one", "two")
            assert (await answer(eve, tool, kind="user", scope_id="team", **more))["retired"] == 2
            for ref in refs:
                for reader in (ada, eve):
                    assert await signed(reader, ref) == ADAS
            with shared.opened() as db:
                scope = db.view().containers(refs[0])[0]
                for ref in refs:
                    assert steps(db.view(), ref) == [("written", "ada"), ("closed", "eve")]
                assert steps(db.view(), scope) == [("written", "ada"), *[("closed", "eve")] * scope_ends]

    run_bounded(work)


def test_what_eve_makes_one_with_adas_keeps_both_authors_and_adas_key_does_not_learn_of_it(shared: Shared) -> None:
    async def work() -> None:
        async with shared.both() as (ada, eve):
            (one,) = await shared.written(ada, "leads search", name="Sarah Chen", type="Entity")
            made = await answer(
                eve, "memory_write", text="has resigned", name="Sarah Chen", type="Entity", user_id="mine"
            )
            with shared.opened() as db:
                proposal = db.link(made["id"], "same_as", one).proposals[0]
            assert (await answer(ada, "memory_proposals"))["proposals"] == []
            refused = await ada.call_tool("memory_decide", {"proposal": proposal, "decision": "reject"})
            assert refused.is_error
            await answer(eve, "memory_decide", proposal=proposal, decision="accept", why="same badge")
            assert await signed(ada, one) == await signed(eve, one) == ADAS
            assert await signed(eve, made["id"]) == ("eve", way("beta", "memory_write"))
            assert (await ada.call_tool("memory_read", {"id": made["id"]})).is_error
            with shared.opened() as db:
                identity = db.view(unify=True).export_identity(one)
                told = {ref: [version.author for version in identity.versions[ref]] for ref in identity.refs}
                assert told == {one: ["ada"], made["id"]: ["eve"]}
                (edge,) = db.view().edges(made["id"], type="same_as")
                assert {entry.author for entry in db.log(edge.seq, edge.seq)} == {"eve"}

    run_bounded(work)


def test_summaries_and_exports_of_both_keep_who_wrote_each(shared: Shared, tmp_path: Path) -> None:
    async def work() -> None:
        async with shared.both() as (ada, eve):
            (old,) = await shared.written(ada, "The rent is 900.")
            new = (await answer(eve, "memory_amend", id=old, text="The rent is 950."))["id"]
            told = await answer(eve, "memory_write", text="The rent rose.", type="Summary", user_id="mine")
            expected = {
                old: ADAS,
                new: ("eve", way("beta", "memory_amend")),
                told["id"]: ("eve", way("beta", "memory_write")),
            }
            with shared.opened() as db:
                assert db.link(told["id"], "derived_from", old).events
                lines = {line["ref"]: line for line in db.export_lines() if line["kind"] == "world"}
                for ref, said in expected.items():
                    (version,) = lines[ref]["versions"]
                    assert (version["author"], version["source"]) == said
                db.export(None, tmp_path / "all.bundle")
            with worlddb.open(tmp_path / "other", author="eve", embedder=None) as other:
                other.import_bundle(tmp_path / "all.bundle")
                for ref, (author, source) in expected.items():
                    (version,) = other.view().history(ref)
                    assert version.source["imported"]["author"] == author
                    assert {name: version.source[name] for name in source} == source

    run_bounded(work)


def authors_since(shared: Shared, seq: int) -> set[str]:
    """The authors of texts written or ended since a commit."""
    with shared.opened() as db:
        return {entry.author for entry in db.log(seq + 1) if entry.event in OF_TEXTS}


def test_nothing_that_a_client_sends_makes_it_another(shared: Shared) -> None:
    async def work() -> None:
        async with shared.client(shared.ada, "alpha") as ada:
            (hers,) = await shared.written(ada, "ada's own", idempotency_key="k")
        with shared.opened() as db:
            before = db.head().seq
        async with shared.client(shared.eve, "ada", **SAID_BESIDE) as eve:
            for name, value in FORGED.items():
                for tool, right in (
                    ("memory_write", {"text": "forged", "user_id": "mine"}),
                    ("memory_amend", {"id": hers, "text": "forged"}),
                    ("memory_retire", {"id": hers}),
                ):
                    assert (await eve.call_tool(tool, right | {name: value})).is_error, (tool, name)
            assert authors_since(shared, before) == set()
            meta: Any = {"author": "ada", "io.modelcontextprotocol/clientInfo": {"name": "alpha", "version": "1"}}
            made = await eve.call_tool("memory_write", {"text": "eve's own", "user_id": "mine"}, meta=meta)
            assert made.structured_content is not None
            assert await signed(eve, made.structured_content["id"]) == ("eve", way("ada", "memory_write"))
            # The same key in another world is another key: no word of ada's is given, and none taken over.
            same = await answer(eve, "memory_write", text="eve's own too", idempotency_key="k", **SCOPE)
            assert same["id"] != hers
            assert await signed(eve, same["id"]) == ("eve", way("ada", "memory_write"))
            assert await signed(eve, hers) == ADAS
        assert authors_since(shared, before) == {"eve"}

    run_bounded(work)
