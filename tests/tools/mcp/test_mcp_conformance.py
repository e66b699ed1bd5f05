"""Runs the protocol's conformance suite and inspector against the server.

Both are programs for Node.js. ``make conformance`` fetches them into ``.venv/npm`` and runs this file; without them it
is skipped. That the fixtures are served at all is tested without them.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.server.streamable_http import GET_STREAM_KEY, EventMessage
from mcp_types import HEADER_MISMATCH, INVALID_PARAMS, JSONRPCNotification, JSONRPCResponse
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY as MISSING_CAPABILITY

from tests.support.mcp_clients import command, run_bounded
from tests.support.serving import PATIENCE_SECONDS, HttpServer, serve_http
from tests.support.tidy.tree import ROOT
from worlddb.tools.mcp import tenants
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.following import TASKS

PROGRAMS = ROOT / ".venv" / "npm" / "node_modules" / ".bin"
EXPECTED = ROOT / "tests" / "support" / "conformance" / "expected-failures.yaml"
SUITE_SECONDS = 600
INSPECTED = [
    ["--method", "tools/list"],
    ["--method", "tools/call", "--tool-name", "memory_write", "--tool-arg", "text=Ada likes tea.", "user_id=ada"],
    ["--method", "tools/call", "--tool-name", "memory_recall", "--tool-arg", "query=tea", "--tool-arg", "detail=full"],
    ["--method", "resources/list"],
    ["--method", "resources/templates/list"],
    ["--method", "prompts/list"],
    ["--method", "prompts/get", "--prompt-name", "what_is_known", "--prompt-args", "about=tea"],
]


@contextmanager
def fixtures(store: Path) -> Iterator[str]:
    """The address of the server with the suite's fixtures."""
    started = [sys.executable, "-m", "tests.support.conformance.fixtures", str(store)]
    with subprocess.Popen(started, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        try:
            assert run.stdout is not None
            assert select.select([run.stdout], [], [], PATIENCE_SECONDS)[0], "it never came up"
            yield json.loads(run.stdout.readline())["url"]
        finally:
            run.terminate()
            run.wait(timeout=PATIENCE_SECONDS)


def program(name: str) -> str:
    """A program that ``make conformance`` has fetched."""
    found = shutil.which(name, path=str(PROGRAMS))
    if found is None:
        pytest.skip(f"{name} is not there: `make conformance` fetches it, and needs npm")
    return found


def run(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run one of them, with the Node.js that came with it before any other."""
    path = os.pathsep.join([str(PROGRAMS), os.environ.get("PATH", os.defpath)])
    return subprocess.run(
        argv,
        cwd=cwd,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=SUITE_SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with fixtures(tmp_path_factory.mktemp("fixtures") / "store") as url:
        yield url


def test_the_fixtures_are_served_beside_the_memorys_own_tools(served: str) -> None:
    assert EXPECTED.is_file(), "it was moved, and the suite takes every failure for an unexpected one"

    async def work() -> None:
        async with Client(served) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[: len(TOOLS)] == [tool.name for tool in TOOLS] and "test_simple_text" in names
            assert not (await client.call_tool("test_tool_with_progress", {})).is_error
            assert (await client.call_tool("test_error_handling", {})).is_error
            assert (await client.read_resource("test://template/123/data")).contents

    run_bounded(work)


def sent(url: str, method: str, params: dict[str, Any], name: str, *, tasks: bool = True) -> dict[str, Any]:
    """The answer to one request of the protocol of 2026, which knows tasks or does not."""
    version = "2026-07-28"
    declared: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}} if tasks else {}}
    about = {"protocolVersion": version, "clientCapabilities": declared}
    params = {**params, "_meta": {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}}
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name}
    headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    asked = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS) as response:
            told = json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            told = json.loads(error.read())
    assert isinstance(told, dict)
    return told


def ended(url: str, task: str) -> dict[str, Any]:
    """A task once nothing happens to it by itself any more."""
    for _ in range(100 * PATIENCE_SECONDS):
        found: dict[str, Any] = sent(url, "tasks/get", {"taskId": task}, task)["result"]
        if found["status"] != "working":
            return found
        time.sleep(0.01)
    raise AssertionError("it never ended")


def test_a_long_call_is_a_task_for_a_client_that_knows_tasks(served: str) -> None:
    def begin(tool: str, **arguments: Any) -> str:
        begun = sent(served, "tools/call", {"name": tool, "arguments": arguments}, tool)["result"]
        assert begun["resultType"] == "task" and "result" not in begun
        return str(begun["taskId"])

    done = begin("slow_compute", seconds=0.4, label="it")
    assert sent(served, "tasks/get", {"taskId": done}, done)["result"]["status"] == "working"
    assert ended(served, done)["result"]["content"][0]["text"] == "Computed it"
    assert sent(served, "tasks/get", {"taskId": done}, "another")["error"]["code"] == HEADER_MISMATCH
    assert sent(served, "tasks/get", {"taskId": done}, done, tasks=False)["error"]["code"] == MISSING_CAPABILITY
    assert sent(served, "tasks/get", {"taskId": "none"}, "none")["error"]["code"] == INVALID_PARAMS
    stopped = begin("slow_compute", seconds=60)
    assert sent(served, "tasks/cancel", {"taskId": stopped}, stopped)["result"]["resultType"] == "complete"
    assert ended(served, stopped)["status"] == "cancelled"
    asking = begin("multi_input")
    assert set(ended(served, asking)["inputRequests"]) == {"first", "second"}
    for name in ("first", "second"):
        assert set(ended(served, asking)["inputRequests"]) >= {name}
        given = {"taskId": asking, "inputResponses": {name: {"action": "accept", "content": {"name": name}}}}
        assert sent(served, "tasks/update", given, asking)["result"]["resultType"] == "complete"
    assert "second" in ended(served, asking)["result"]["content"][0]["text"]
    quick = {"name": "slow_compute", "arguments": {"seconds": 0.4}}
    assert sent(served, "tools/call", quick, "slow_compute", tasks=False)["result"]["resultType"] == "complete"


def events(
    url: str, body: dict[str, Any] | None, session: str = "", last: str = ""
) -> tuple[str, list[dict[str, str]]]:
    """What a stream of the protocol of 2025 has for its client, to its end or an answer; and the session."""
    named = {"mcp-session-id": session, "last-event-id": last, "mcp-protocol-version": "2025-11-25" if session else ""}
    headers = {name: value for name, value in named.items() if value} | {"Content-Type": "application/json"}
    headers["Accept"] = "application/json, text/event-stream" if body else "text/event-stream"
    asked = urllib.request.Request(url, json.dumps(body).encode() if body else None, headers)
    found: list[dict[str, str]] = [{}]
    until = time.monotonic() + PATIENCE_SECONDS
    with urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS) as response:
        for line in response:
            assert time.monotonic() < until, "the stream says that it is there, and nothing else"
            name, _, told = line.decode().rstrip("\r\n").partition(": ")
            if name:
                found[-1][name.rstrip(":")] = told
            elif '"result"' in found[-1].get("data", ""):
                break
            else:
                found.append({})
        return response.headers.get("mcp-session-id", ""), [one for one in found if one]


def test_a_client_that_was_cut_off_comes_back_for_its_own_answer_alone(served: str) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    sessions = []
    for _ in range(2):
        session, _ = events(served, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        sessions.append(session)
    cut = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "test_reconnection", "arguments": {}}}
    (_, [begun]), (_, [others]) = (events(served, cut, session) for session in sessions)
    assert begun["data"] == "" and int(begun["retry"]) == tenants.RETRY_MS and begun["id"] and others["id"]
    for session in sessions:
        told = [each for each in events(served, None, session, begun["id"])[1] if each.get("data")]
        assert [json.loads(each["data"])["id"] for each in told] == [7]
        assert "simple text" in told[0]["data"]
        # What was fetched may be fetched again; from its own end on there is nothing.
        assert not [each for each in events(served, None, session, told[0]["id"])[1] if each.get("data")]
    assert not [each for each in events(served, None, sessions[0], "99")[1] if each.get("data")]


def test_a_session_keeps_its_events_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(number: int, text: str) -> JSONRPCResponse:
        return JSONRPCResponse(jsonrpc="2.0", id=number, result={"text": text})

    async def fetched(kept: tenants.SessionEvents, last: str) -> list[str]:
        found = list[str]()

        async def take(event: EventMessage) -> None:
            assert isinstance(event.message, JSONRPCResponse | JSONRPCNotification)
            found.append(str(event.message.id if isinstance(event.message, JSONRPCResponse) else event.message.method))

        with anyio.move_on_after(0.05):
            await kept.replay_events_after(last, take)
        return found

    async def work() -> None:
        kept = tenants.SessionEvents()
        begun = [await kept.store_event(str(number), None) for number in range(3)]
        await kept.store_event("0", JSONRPCNotification(jsonrpc="2.0", method="step"))
        await kept.store_event("1", answer(1, "of another request"))
        await kept.store_event("0", answer(0, "small"))
        assert [await fetched(kept, each) for each in begun] == [["step", "0"], ["1"], []]
        assert not await fetched(kept, "x") and not await fetched(kept, "9" * 40)
        last = await kept.store_event("3", None)
        await kept.store_event("3", answer(3, "x" * tenants.RESUMED_BYTES))
        assert not await fetched(kept, begun[0]) and not await fetched(kept, last)
        for number in range(tenants.RESUMED_EVENTS + 1):
            last = await kept.store_event(str(number), None)
        assert not await fetched(kept, begun[0])
        await kept.store_event(str(number), answer(number, "late"))
        assert await fetched(kept, last) == [str(number)]
        monkeypatch.setattr(tenants, "RESUMED_SECONDS", 0.0)
        last = await kept.store_event("soon", None)
        await anyio.sleep(0.01)
        await kept.store_event("soon", answer(8, "gone"))
        assert not await fetched(kept, last)

    run_bounded(work)


def test_an_answer_that_comes_after_its_client_came_back_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK passed on what came from some steps later on: what came between was waited for without an end."""
    found = list[str]()

    async def take(event: EventMessage) -> None:
        found.append(event.message.model_dump_json())

    async def work() -> None:
        kept = tenants.SessionEvents()
        begun, ours = await kept.store_event("7", None), await kept.store_event(GET_STREAM_KEY, None)
        assert await kept.replay_events_after(ours, take) == GET_STREAM_KEY
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kept.replay_events_after, begun, take)
            await anyio.wait_all_tasks_blocked()
            await kept.store_event("8", JSONRPCResponse(jsonrpc="2.0", id=8, result={}))
            await kept.store_event("7", JSONRPCNotification(jsonrpc="2.0", method="step"))
            await anyio.wait_all_tasks_blocked()
            await kept.store_event("7", JSONRPCResponse(jsonrpc="2.0", id=7, result={}))
        assert ["step" in each for each in found] == [True, False] and '"id":7' in found[1]
        monkeypatch.setattr(tenants, "RESUMED_SECONDS", 0.0)
        assert await kept.replay_events_after(await kept.store_event("9", None), take) == "9"

    run_bounded(work)


@pytest.mark.soak
def test_the_conformance_suite_passes_but_for_what_is_explained(tmp_path: Path) -> None:
    suite = program("conformance")
    with fixtures(tmp_path / "store") as url:
        given = ["--suite", "all", "--expected-failures", str(EXPECTED), "-o", str(tmp_path / "results")]
        done = run(suite, "server", "--url", url, *given, cwd=tmp_path)
    print(done.stdout[-4000:])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def inspected(server: list[str], tmp_path: Path) -> list[Any]:
    """What the inspector prints of a server, method by method."""
    found = []
    for arguments in INSPECTED:
        done = run(program("mcp-inspector"), "--cli", *server, *arguments, cwd=tmp_path)
        assert done.returncode == 0, (arguments, done.stdout[-2000:], done.stderr[-2000:])
        found.append(json.loads(done.stdout))
    return found


def check_inspected(found: list[Any]) -> None:
    """The inspector has seen everything, and what it wrote is recalled."""
    listed, written, recalled, resources, templates, prompts, message = found
    assert [tool["name"] for tool in listed["tools"]] == [tool.name for tool in TOOLS]
    made = written["structuredContent"]["id"]
    assert [memory["id"] for memory in recalled["structuredContent"]["memories"]] == [made]
    assert recalled["structuredContent"]["memories"][0]["source"]["client"].startswith("inspector")
    assert [resource["name"] for resource in resources["resources"]] == ["user:ada"]
    assert len(templates["resourceTemplates"]) == len(prompts["prompts"]) == 2
    assert made in message["messages"][0]["content"]["text"]


@pytest.mark.soak
def test_the_inspector_works_over_standard_streams(tmp_path: Path) -> None:
    check_inspected(inspected(command(tmp_path / "store"), tmp_path))


@pytest.mark.soak
def test_the_inspector_works_over_http(tmp_path: Path) -> None:
    with serve_http(tmp_path / "store", "--no-keys") as served:
        assert isinstance(served, HttpServer)
        check_inspected(inspected([served.url, "--transport", "http"], tmp_path))
