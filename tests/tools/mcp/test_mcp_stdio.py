"""Runs the MCP server as a program, for the official client and badly behaved ones."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

import worlddb
from tests.support.mcp_clients import answer, command, connect_client, run_bounded, start_server
from tests.support.serving import HELLO, PATIENCE_SECONDS
from worlddb.tools.cli.process import PIPE_CLOSED
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.standard_streams import MAX_LINE_BYTES, StandardInput

VECTORS = ("space", "embedded", "embedded_through")


def head_of(store: Path) -> int:
    """The last commit that somebody asked for: a server makes vectors of earlier texts whenever it has time."""
    with worlddb.open(store, create=False) as db:
        return max(entry.seq for entry in db.log() if entry.event not in VECTORS)


async def use_every_tool(client: Client) -> None:
    """List the tools and call each of them, on an empty store, as a client whose writes are by ``assistant``."""
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(listed) == [tool.name for tool in TOOLS]
    for tool in TOOLS:
        shown = listed[tool.name]
        assert shown.input_schema == tool.input_schema and shown.input_schema["type"] == "object"
        assert shown.annotations is not None and shown.annotations.read_only_hint is tool.read_only
        assert (shown.annotations.destructive_hint or False) is tool.destructive

    person = {"name": "Sarah Chen", "type": "Entity", "user_id": "ada"}
    await answer(client, "memory_write", text="Sarah leads search.", **person)
    twin = await answer(client, "memory_write", text="Sarah plays chess.", **person)
    old = await answer(client, "memory_write", text="Ada lives in Riga.", user_id="ada", valid_from="2020-01-01")
    new = await answer(client, "memory_amend", id=old["id"], text="Ada lives in Oslo.")
    (found, *_) = (await answer(client, "memory_recall", query="where does Ada live?"))["memories"]
    assert found["id"] == new["id"] and found["author"] == "assistant"
    assert found["source"]["channel"] == "mcp"
    then = await answer(client, "memory_as_of", query="where does Ada live?", valid="2021-01-01")
    assert [memory["id"] for memory in then["memories"]] == [old["id"]]
    assert len((await answer(client, "memory_history", id=new["id"]))["versions"]) == 2
    assert len((await answer(client, "memory_list", user_id="ada"))["memories"]) == 3
    assert (await answer(client, "memory_read", id=old["id"][:8]))["retired"]
    assert len((await answer(client, "memory_proposals"))["proposals"]) == 1
    await answer(client, "memory_decide", proposal=twin["proposals"][0], decision="reject")
    assert (await answer(client, "memory_conflicts"))["conflicts"] == []
    other = await answer(client, "memory_write", text="Ada lives in Bergen.", user_id="ada", contradicts=[new["id"]])
    (pair,) = (await answer(client, "memory_conflicts"))["conflicts"]
    assert {pair["first"]["id"], pair["second"]["id"]} == {new["id"], other["id"]}
    await answer(client, "memory_retire", id=new["id"])
    await answer(client, "memory_retire_all", kind="user", scope_id="ada")
    await answer(client, "memory_retire_scope", kind="user", scope_id="ada", confirm="user:ada")
    assert (await answer(client, "memory_list_scopes"))["scopes"] == []
    assert (await answer(client, "memory_verify", deep=True))["ok"]


def test_the_official_client_lists_and_calls_every_tool(tmp_path: Path) -> None:
    async def work() -> None:
        async with connect_client(tmp_path / "store", "--author", "assistant") as client:
            await use_every_tool(client)

    run_bounded(work)


def test_what_a_model_gets_wrong_is_an_error_that_says_so_and_writes_nothing(tmp_path: Path) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("memory_write", {}, "invalid_arguments"),
        ("memory_write", {"text": 7, "user_id": "a"}, "invalid_arguments"),
        ("memory_write", {"text": "x", "user_id": ["a"]}, "invalid_arguments"),
        ("memory_write", {"text": "x", "user_id": "a", "author": "boss"}, "unknown field"),
        ("memory_write", {"text": "x" * 200_000, "user_id": "a"}, "invalid_arguments"),
        ("memory_write", {"text": "x"}, "No scope was given"),
        ("memory_write", {"text": "x", "user_id": "a", "valid_from": "yesterday"}, "invalid_time"),
        ("memory_read", {"id": "zzzz"}, "invalid_arguments"),
        ("memory_read", {"id": "abcdef"}, "unknown_reference"),
        ("memory_recall", {"query": "x", "limit": 10**9}, "invalid_arguments"),
        ("memory_as_of", {"query": "x", "known": 10**6}, "There is no commit"),
        ("memory_retire_scope", {"kind": "user", "scope_id": "a", "confirm": "yes"}, "unknown_reference"),
    ]
    store = tmp_path / "store"

    async def work() -> None:
        async with connect_client(store) as client:
            for name, arguments, told in wrong:
                result = await client.call_tool(name, arguments)
                (text,) = result.content
                assert result.is_error and text.type == "text" and told in text.text, (name, text)
            with pytest.raises(MCPError, match="Did you mean memory_write"):
                await client.call_tool("Memory_Write", {})
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("memory_erase", {})
            await answer(client, "memory_list")

    run_bounded(work)
    assert head_of(store) == 1


def test_two_servers_on_one_store_see_each_others_writes_over_a_hundred_calls(tmp_path: Path) -> None:
    store, rounds = tmp_path / "store", 10

    async def work() -> None:
        async with connect_client(store) as one, connect_client(store) as other:
            for number in range(rounds):
                for turn, (writer, reader) in enumerate(((one, other), (other, one))):
                    text = f"note {number} of {turn}"
                    made = await answer(writer, "memory_write", text=text, run_id="7")
                    assert (await answer(reader, "memory_read", id=made["id"]))["text"] == text
            async with anyio.create_task_group() as tasks:
                for number, client in enumerate((one, other) * 10):
                    said = f"at once {number}"
                    tasks.start_soon(lambda who, text: answer(who, "memory_write", text=text, run_id="8"), client, said)
                for client in (one, other) * 20:
                    tasks.start_soon(lambda who: answer(who, "memory_list", run_id="7"), client)
            assert len((await answer(one, "memory_list_scopes"))["scopes"]) == 2
            assert len((await answer(one, "memory_list", run_id="8", limit=50))["memories"]) == 20

    run_bounded(work)
    with worlddb.open(store, create=False) as db:
        assert len(list(db.view().find(type="Fact"))) == 2 * rounds + 20
        assert db.verify(deep=True).ok


def test_a_stream_of_rubbish_is_survived_and_the_end_of_it_ends_the_process(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    write = json.dumps(call | {"params": {"name": "memory_write", "arguments": {"text": "caf?", "user_id": "a"}}})
    lines = [
        json.dumps(HELLO).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b"",
        b"nonsense",
        b"[1, 2",
        b"\xff\xfe\x00",
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": []}',
        write.replace("?", "\N{LATIN SMALL LETTER E WITH ACUTE}").encode("latin-1"),
        json.dumps(call | {"params": {"name": "memory_write", "arguments": {"text": "x" * MAX_LINE_BYTES}}}).encode(),
        b'{"jsonrpc": "2.0", "id": 5, "method": "no/such/method"}',
        b'{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": 7}}',
        b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "memory_list", "arguments": {}}}',
    ]
    store = tmp_path / "store"
    with start_server(store) as run:
        run.stdin.write(b"\n".join(lines) + b"\n")
        run.stdin.flush()
        answers: dict[int, Any] = {}
        while 9 not in answers:
            told = json.loads(run.stdout.readline())
            answers[told["id"]] = told
        assert run.ended() == b""
    assert answers[1]["result"]["serverInfo"]["name"] == "worlddb"
    assert "at most 4,194,304 are read" in answers[2]["error"]["message"]
    assert "as an object, params" in answers[7]["error"]["message"]
    assert {number: "error" in told for number, told in answers.items()} == {
        1: False,
        2: True,
        5: True,
        6: True,
        7: True,
        9: False,
    }
    assert head_of(store) == 1


def test_a_request_that_is_no_text_is_answered_with_what_is_wrong(tmp_path: Path) -> None:
    """Nothing came back, so that the client waited for ever."""
    call = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": '
    write = call + '{"name": "memory_write", "arguments": {"user_id": "a", "text": "caf'
    asked = [
        (write % 2).encode() + b'\xe9"}}}',
        (write % '"x"').encode() + b'\\uD800"}}}',
        (write % 4).encode() + b'\\ud83d\\ude00"}}}',
    ]
    with start_server(tmp_path / "store") as run:
        run.stdin.write(b"\n".join([json.dumps(HELLO).encode(), *asked]) + b"\n")
        out = run.ended()
    answers = {told["id"]: told for told in map(json.loads, out.splitlines())}
    assert "0xe9, is not UTF-8. Send it" in answers[2]["error"]["message"]
    assert "\\ud800. Send it" in answers["x"]["error"]["message"]
    assert "error" not in answers.get(4, {})


def read_lines(given: list[bytes], place: Path) -> tuple[list[str], list[Any]]:
    """What is read of lines in a file, and what is answered at once."""
    place.write_bytes(b"\n".join(given))
    read: list[str] = []
    refused: list[Any] = []

    async def refuse(line: str) -> None:
        refused.append(json.loads(line))

    async def work() -> None:
        with place.open("rb") as file:
            async for line in StandardInput(file.fileno(), refuse):
                read.append(line)

    run_bounded(work)
    return read, refused


def test_lines_are_read_from_a_file_as_from_a_pipe_and_bad_ones_are_empty(tmp_path: Path) -> None:
    one = b'{"jsonrpc":"2.0","method":"%s"}'
    longest = one % (b"y" * (MAX_LINE_BYTES - len(one) + 2))
    given = [one % b"one", b"\xff", b"x" * (MAX_LINE_BYTES + 1), longest, one % "☃".encode(), b"no end"]
    read, refused = read_lines(given, tmp_path / "lines")
    assert read == [(one % b"one").decode(), "", "", longest.decode(), (one % "☃".encode()).decode()]
    assert refused == []


@pytest.mark.parametrize("inside", ["9" * 5_000, "[" * 100_000 + "]" * 100_000, "[1, 2", "nothing"])
def test_a_request_that_no_reader_can_parse_is_answered_under_its_id(inside: str, tmp_path: Path) -> None:
    """A number of 5,000 digits, or half a message, had no answer, so that the client waited for ever."""
    line = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"memory_list","arguments":{"limit":%s}}}'
    read, refused = read_lines(
        [(line % ('"a b"', inside)).encode(), (line % (7, inside)).encode(), b""], tmp_path / "x"
    )
    assert read == ["", ""] and [told["id"] for told in refused] == ["a b", 7]
    assert all("it is no message of JSON-RPC 2.0" in told["error"]["message"] for told in refused)


@pytest.mark.parametrize("number", ["null", "1.5", "{}", "[7]", "true"])
def test_a_request_with_an_id_that_is_none_is_refused_and_no_notification(number: str, tmp_path: Path) -> None:
    """It was taken for a notification, and nothing came back."""
    line = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/list"}}'.encode()
    plain = b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{"id":null}}'
    read, refused = read_lines([line, plain, b""], tmp_path / "lines")
    assert read == ["", plain.decode()]
    assert [told["id"] for told in refused] == [None] and "its id is no text" in refused[0]["error"]["message"]


@pytest.mark.parametrize(
    ("first", "last", "asked"),
    [
        ('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"text":"', '","id":6}}', 5),
        ('{"method":"tools/call","params":{"id":4,"text":"', '"},"jsonrpc":"2.0","id":"a b"}', "a b"),
        ('{"params":{"text":"', '"}, "id" : 7 , "method": "tools/call" } ', 7),
        ('{"method":"notifications/x","params":{"text":"', '","id":6}}', None),
        ('{"id":5,"result":{"text":"', '"}}', None),
    ],
)
@pytest.mark.parametrize("size", [MAX_LINE_BYTES, MAX_LINE_BYTES + 70_000])
def test_a_request_that_is_too_long_is_answered_under_its_id(
    first: str, last: str, asked: object, size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing came back, so that the client waited for ever; clients write the id first or last."""
    line = first.encode() + b"x" * size + last.encode()
    read, refused = read_lines([line, b""], tmp_path / "lines")
    assert read == [""]
    assert [told["id"] for told in refused] == ([] if asked is None else [asked])
    assert f"it has {len(line):,} bytes" in capsys.readouterr().err


def test_a_server_whose_answers_nobody_reads_any_more_ends_though_its_input_is_open(tmp_path: Path) -> None:
    with start_server(tmp_path / "store") as run:
        run.stdout.close()
        run.stdin.write(json.dumps(HELLO).encode() + b"\n")
        run.stdin.flush()
        try:
            assert run.wait(timeout=PATIENCE_SECONDS) == PIPE_CLOSED
        finally:
            run.kill()
    assert head_of(tmp_path / "store") == 1


HEAVY = ("faiss", "numpy", "safetensors", "tantivy", "tokenizers", "wordllama")
NOISY = """
import os, sys
from worlddb.tools.cli.main import main
from worlddb.tools.mcp.session import Session

def view(self, *moment, **more):
    print("printed by a library")
    os.write(1, b"written by a library in another language")
    return quiet(self, *moment, **more)

quiet, Session.view = Session.view, view
sys.exit(main())
"""


def test_what_is_listed_and_read_by_id_waits_for_no_heavy_library(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        made = db.create("Fact", "Ada", content="lives in Riga")
    code = f"""
import sys, anyio, worlddb
from mcp.client.client import Client
from worlddb.tools.mcp.session import Session
from worlddb.tools.mcp.server import MemoryServer

async def work():
    with worlddb.open({str(tmp_path / "store")!r}) as db:
        async with Client(MemoryServer(Session(db))) as client:
            await client.list_tools()
            await client.list_resources()
            await client.list_prompts()
            await client.call_tool("memory_list", {{}})
            await client.read_resource("worlddb://world/{made.ref}")
    print(sorted(set({HEAVY!r}) & set(sys.modules)))

anyio.run(work)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=180)
    assert run.stdout.strip() == "[]"


def test_what_a_library_prints_breaks_no_message(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_list", "arguments": {}}}
    said = "".join(json.dumps(line) + "\n" for line in (HELLO, call))
    noisy = [sys.executable, "-c", NOISY, *command(tmp_path / "store")[3:]]
    with subprocess.Popen(noisy, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdin is not None and run.stdout is not None
        run.stdin.write(said.encode())
        run.stdin.flush()
        answers = [json.loads(run.stdout.readline()) for _ in range(2)]
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
    assert [told["id"] for told in answers] == [1, 2] and out == b"" and run.returncode == 0
    assert b"printed by a library" in err and b"in another language" in err


def test_somebody_who_starts_it_at_a_terminal_is_told_what_it_waits_for(tmp_path: Path) -> None:
    keyboard, terminal = pty.openpty()
    try:
        with subprocess.Popen(
            command(tmp_path / "store"), stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as run:
            assert run.stderr is not None and run.stdout is not None
            assert b"waiting for the messages" in run.stderr.readline()
            os.write(keyboard, b"\x04")
            assert run.wait(PATIENCE_SECONDS) == 0
            assert run.stdout.read() == b""
    finally:
        os.close(keyboard)
        os.close(terminal)
