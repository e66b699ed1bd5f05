"""Keys of the MCP server over HTTP: how they are kept, and what they open."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

import worlddb
from tests.support.mcp_clients import answer, run_bounded
from tests.support.running import LocalRunner
from tests.support.serving import HELLO, PATIENCE_SECONDS, HttpServer, message, request, send, serve_http
from tests.tools.mcp.test_mcp_stdio import head_of, use_every_tool
from worlddb import InputError, MalformedFile, SeededEntropy, UnavailableError, UnknownReference
from worlddb.tools.mcp import access_keys
from worlddb.tools.mcp.access_keys import PREFIX, Bucket, KeyFile, default_key_file
from worlddb.tools.mcp.catalogue import TOOLS

STORE = "5" * 32
WORLD = "a" * 32
WRITE = message("tools/call", name="memory_write", arguments={"text": "x", "user_id": "a"})
OPEN = json.dumps(HELLO).encode()


class Opened:
    """A server with keys, and what is needed to make more of them."""

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self.keys = KeyFile(default_key_file(server.store))
        with worlddb.open(server.store, create=False) as db:
            self.id = db.head().store_id

    def world(self, name: str) -> str:
        with worlddb.open(self.server.store, create=False) as db:
            return str(db.create("Topic", name).ref)

    def key(self, name: str, world: str | None, *, write: bool = True) -> str:
        return self.keys.add(self.id, name, world, write=write)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    store = tmp_path_factory.mktemp("keys") / "store"
    with worlddb.open(store) as db:
        KeyFile(default_key_file(store)).add(db.head().store_id, "first", None, write=True)
    with serve_http(store, "--author", "nobody", "--rate", "5000") as served:
        yield Opened(served)


@asynccontextmanager
async def connected(server: HttpServer, secret: str, mode: str = "auto") -> AsyncIterator[Client]:
    """The official client with a key."""
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as over,
        Client(streamable_http_client(server.url, http_client=over), mode=mode) as client,
    ):
        yield client


def session_of(server: HttpServer, secret: str) -> str:
    """A session of a client with a key."""
    opened = send(server, request(body=OPEN, Authorization=f"Bearer {secret}"))
    assert opened.status == 200
    (session,) = [line[16:] for line in opened.head.splitlines() if line.startswith("mcp-session-id: ")]
    return session


# -- how they are kept


def test_a_file_of_keys_is_its_owners_and_has_no_key_in_it(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "store.keys")
    assert file.ring(STORE) is None
    made = [file.add(STORE, name, WORLD, write=write) for name, write in (("ann", True), ("bob@work", False))]
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    kept = file.path.read_text()
    for secret in made:
        assert secret.startswith(PREFIX) and len(secret) == len(PREFIX) + 43
        assert secret not in kept and secret.removeprefix(PREFIX) not in kept
    ring = KeyFile(file.path).ring(STORE)
    assert ring is not None
    found = [ring.find(secret) for secret in (*made, made[0][:-1], made[0] + "A", "", "é", "\ud800", "x" * 10**6)]
    assert [key and key.name for key in found] == ["ann", "bob@work", None, None, None, None, None, None]
    assert [(key.world, key.right) for key in ring.keys] == [(WORLD, "write"), (WORLD, "read")]


def test_the_same_key_in_another_file_has_another_hash(tmp_path: Path) -> None:
    kept = set()
    for name in ("a", "b"):
        file = KeyFile(tmp_path / name)
        file.add(STORE, "ann", WORLD, write=True, entropy=SeededEntropy(ord(name)))
        ring = file.ring(STORE)
        assert ring is not None
        kept.add(ring.digest("the same"))
    assert len(kept) == 2


def test_names_are_taken_once_and_a_key_that_was_removed_is_none(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys")
    secret = file.add(STORE, "ann", WORLD, write=True)
    with pytest.raises(InputError, match="already"):
        file.add(STORE, "ann", WORLD, write=True)
    for name in ("", " ", "a b", "a\nb", "é", "-a", "x" * 65, "a/b"):
        with pytest.raises(InputError, match="cannot be the name"):
            file.add(STORE, name, WORLD, write=True)
    with pytest.raises(UnknownReference):
        file.remove("bob")
    assert file.remove("ann").name == "ann"
    ring = file.ring(STORE)
    assert ring is not None and ring.keys == () and ring.find(secret) is None
    assert not list(tmp_path.glob("*.new"))


def test_a_file_that_others_can_read_or_that_is_none_is_not_used(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys")
    file.add(STORE, "ann", WORLD, write=True)
    kept = file.path.read_bytes()
    with pytest.raises(MalformedFile, match="another store"):
        file.ring("6" * 32)
    for mode in (0o640, 0o604, 0o620):
        file.path.chmod(mode)
        with pytest.raises(UnavailableError, match="chmod 600"):
            file.ring(STORE)
    file.path.chmod(0o600)
    for broken in (
        b"",
        b"{}",
        kept[:-20],
        kept.replace(b'"format": 1', b'"format": 2'),
        kept.replace(b'"salt": "', b'"salt": "z'),
    ):
        file.path.write_bytes(broken)
        with pytest.raises(MalformedFile):
            file.ring(STORE)
    file.path.write_bytes(kept)
    assert file.ring(STORE) is not None


def test_the_command_line_makes_lists_and_removes_keys(writing: LocalRunner) -> None:
    made = writing.json("key", "add", "laptop", "--world", "Search team", "--write")
    assert made["name"] == "laptop" and made["right"] == "write" and made["key"].startswith(PREFIX)
    shown = writing("key", "add", "reports", "--all", "--read")
    assert shown.out.startswith(PREFIX) and "only time" in shown.err
    listed = writing.json("key", "list")["keys"]
    assert [(key["name"], key["world"], key["right"]) for key in listed] == [
        ("laptop", made["world"], "write"),
        ("reports", None, "read"),
    ]
    assert shown.out.strip() not in writing("key", "list").out
    assert default_key_file(writing.store).exists() and not list(writing.store.glob("*keys*"))
    assert writing.json("key", "remove", "laptop")["name"] == "laptop"
    assert [key["name"] for key in writing.json("key", "list")["keys"]] == ["reports"]
    assert writing("key", "remove", "laptop").error == "unknown_reference"
    assert writing("key", "add", "x", "--world", "nobody", "--read").error == "unknown_reference"
    assert writing("key", "add", "x", "--all", "--read", "--keys", str(default_key_file(writing.store))).code == 0


@pytest.mark.parametrize(
    "words", ["add", "add x", "add x --read", "add x --all", "add --all --read", "remove", "list x", "remove x --all"]
)
def test_a_key_is_not_made_of_half_a_wish(writing: LocalRunner, words: str) -> None:
    run = writing("key", *words.split())
    assert (run.code, run.error, run.out) == (2, "usage", "")
    assert not default_key_file(writing.store).exists()


def test_a_server_does_not_start_without_keys_that_were_not_renounced(writing: LocalRunner) -> None:
    run = writing("mcp", "--http", "127.0.0.1:0")
    assert run.error == "usage" and "--no-keys" in run.err and "key add" in run.err
    writing("key", "add", "x", "--all", "--read")
    run = writing("mcp", "--http", "127.0.0.1:0", "--world", "Search team")
    assert run.error == "usage" and "its own world" in run.err
    default_key_file(writing.store).chmod(0o644)
    assert writing("mcp", "--http", "127.0.0.1:0").code == 5


# -- what they open


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_key_is_a_world_a_right_and_a_name(opened: Opened, mode: str) -> None:
    mine, theirs = opened.world(f"mine {mode}"), opened.world(f"theirs {mode}")
    keys = {name: opened.key(f"{name}-{mode}", mine, write=name == "assistant") for name in ("assistant", "reader")}
    other = opened.key(f"other-{mode}", theirs)

    async def work() -> None:
        async with connected(opened.server, keys["assistant"], mode) as client:
            made = await answer(client, "memory_write", text="mine alone", user_id="ada")
            read = await answer(client, "memory_read", id=made["id"])
            assert read["author"] == f"assistant-{mode}"
        async with connected(opened.server, keys["reader"], mode) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            assert listed == {tool.name for tool in TOOLS if tool.read_only}
            assert (await answer(client, "memory_read", id=made["id"]))["text"] == "mine alone"
            for tool in ("memory_write", "memory_retire", "memory_retire_scope"):
                with pytest.raises(MCPError, match="Unknown tool"):
                    await client.call_tool(tool, {"id": made["id"]})
        async with connected(opened.server, other, mode) as client:
            assert (await answer(client, "memory_list"))["memories"] == []
            refused = await client.call_tool("memory_read", {"id": made["id"]})
            assert refused.is_error

    run_bounded(work)


def test_the_official_client_lists_and_calls_every_tool_with_a_key(opened: Opened) -> None:
    secret = opened.key("assistant", opened.world("everything"))

    async def work() -> None:
        async with connected(opened.server, secret) as client:
            await use_every_tool(client)

    run_bounded(work)


def test_whoever_shows_no_key_or_a_wrong_one_is_told_the_same(opened: Opened) -> None:
    gone = opened.key("gone", "f" * 32)
    removed = opened.key("removed", None)
    opened.keys.remove("removed")
    head = head_of(opened.server.store)
    told = {
        send(opened.server, request(body=WRITE, **headers))._replace(head="")
        for headers in (
            {},
            {"Authorization": "Bearer"},
            {"Authorization": "Bearer "},
            {"Authorization": f"Bearer {PREFIX}{'A' * 43}"},
            {"Authorization": f"Basic {removed}"},
            {"Authorization": f"Bearer {gone}"},
            {"Authorization": f"Bearer {removed}"},
            {"Authorization": "Bearer \xe9\xff"},
            {"Authorization": "Bearer " + "x" * 8_000},
        )
    }
    (reply,) = told
    assert reply.status == 401
    assert head_of(opened.server.store) == head
    opened.keys.remove("gone")


def test_a_session_of_one_key_is_none_of_another(opened: Opened) -> None:
    world = opened.world("sessions")
    one, other = (opened.key(name, world) for name in ("one", "other"))
    session = session_of(opened.server, one)
    call = message("tools/list")
    theirs = send(opened.server, request(body=call, Mcp_Session_Id=session, Authorization=f"Bearer {other}"))
    nobodys = send(opened.server, request(body=call, Mcp_Session_Id="0" * 32, Authorization=f"Bearer {other}"))
    assert theirs.status == nobodys.status == 404 and theirs.body == nobodys.body
    assert send(opened.server, request("DELETE", Mcp_Session_Id=session, Authorization=f"Bearer {other}")).status == 404
    own = send(opened.server, request(body=call, Mcp_Session_Id=session, Authorization=f"Bearer {one}"))
    assert own.status == 200


def test_a_key_that_is_taken_back_opens_nothing_more_and_its_streams_end(opened: Opened) -> None:
    secret = opened.key("brief", opened.world("brief"))
    session = session_of(opened.server, secret)
    listen = request("GET", Mcp_Session_Id=session, Authorization=f"Bearer {secret}")
    with socket.create_connection(("127.0.0.1", opened.server.port), timeout=PATIENCE_SECONDS) as link:
        link.sendall(listen.replace(b"HERE", f"127.0.0.1:{opened.server.port}".encode(), 1))
        assert link.recv(12) == b"HTTP/1.1 200"
        opened.keys.remove("brief")
        assert send(opened.server, request(body=OPEN, Authorization=f"Bearer {secret}")).status == 401
        while link.recv(4_096):
            pass


def test_nobody_is_let_in_while_the_keys_cannot_be_read(opened: Opened) -> None:
    secret = opened.key("steady", opened.world("steady"))
    kept = opened.keys.path.read_bytes()
    asking = request(body=OPEN, Authorization=f"Bearer {secret}")
    assert send(opened.server, asking).status == 200
    try:
        opened.keys.path.write_bytes(b"{")
        assert send(opened.server, asking).status == 401
        opened.keys.path.write_bytes(kept)
        opened.keys.path.chmod(0o644)
        assert send(opened.server, asking).status == 401
    finally:
        opened.keys.path.write_bytes(kept)
        opened.keys.path.chmod(0o600)
    assert send(opened.server, asking).status == 200
    opened.server.logs("no client with a key of the file is admitted")


def test_one_key_that_asks_too_much_is_slowed_down_alone(tmp_path: Path) -> None:
    """At one request a second, which no machine is too slow to exceed."""
    store = tmp_path / "store"
    with worlddb.open(store) as db:
        keys, store_id = KeyFile(default_key_file(store)), db.head().store_id
    busy, calm = (keys.add(store_id, name, None, write=False) for name in ("busy", "calm"))
    with serve_http(store, "--rate", "1") as server:
        asked = request("DELETE", Authorization=f"Bearer {busy}")
        replies = [send(server, asked) for _ in range(10 * access_keys.SECONDS_AT_ONCE)]
        assert [reply.status for reply in replies[: access_keys.SECONDS_AT_ONCE]] == [400] * access_keys.SECONDS_AT_ONCE
        slowed = [reply for reply in replies if reply.status == 429]
        assert slowed and all("retry-after: 1" in reply.head for reply in slowed)
        assert send(server, request(body=OPEN, Authorization=f"Bearer {calm}")).status == 200


def test_a_bucket_gives_what_it_holds_and_then_what_time_brings() -> None:
    bucket = Bucket(100.0, per_second=4)
    assert [bucket.take(100.0) for _ in range(9)] == [0.0] * 8 + [0.25]
    assert bucket.take(100.25) == 0.0
    assert bucket.take(100.375) == 0.125
    assert [bucket.take(1000.0) for _ in range(9)] == [0.0] * 8 + [0.25]


def test_the_log_names_the_key_and_never_shows_it(opened: Opened) -> None:
    secret = opened.key("told", opened.world("told"))
    send(opened.server, request(body=OPEN, Authorization=f"Bearer {secret}"))
    send(opened.server, request(body=OPEN, Authorization="Bearer another-secret"))
    log = opened.server.logs(" 127.0.0.1 told POST /mcp 200 ", " 127.0.0.1 - POST /mcp 401 ")
    assert secret not in log and "another-secret" not in log


def test_many_keys_at_once_write_each_under_its_own_name(opened: Opened) -> None:
    world = opened.world("together")
    secrets = {f"writer-{number}": opened.key(f"writer-{number}", world) for number in range(4)}

    async def one(name: str, secret: str) -> None:
        async with connected(opened.server, secret) as client:
            for number in range(5):
                made = await answer(client, "memory_write", text=f"{name} {number}", run_id="7")
                assert (await answer(client, "memory_read", id=made["id"]))["author"] == name

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            for name, secret in secrets.items():
                tasks.start_soon(one, name, secret)

    run_bounded(work)
    with worlddb.open(opened.server.store, create=False) as db:
        found = [each for each in db.view(world=world).find(type="Fact")]
        assert len(found) == 20 and all(each.content.startswith(f"{each.author} ") for each in found)
