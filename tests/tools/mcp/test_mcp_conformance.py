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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from tests.support.mcp_clients import command, together
from tests.support.serving import PATIENCE_SECONDS, Served, serving
from tests.support.tidy.tree import ROOT
from worlddb.tools.mcp.catalogue import TOOLS

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


def test_the_fixtures_are_served_beside_the_memorys_own_tools(tmp_path: Path) -> None:
    assert EXPECTED.is_file(), "it was moved, and the suite takes every failure for an unexpected one"
    with fixtures(tmp_path / "store") as url:

        async def work() -> None:
            async with Client(url) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert names[: len(TOOLS)] == [tool.name for tool in TOOLS] and "test_simple_text" in names
                assert not (await client.call_tool("test_tool_with_progress", {})).is_error
                assert (await client.call_tool("test_error_handling", {})).is_error
                assert (await client.read_resource("test://template/123/data")).contents

        together(work)


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
    with serving(tmp_path / "store", "--no-keys") as served:
        assert isinstance(served, Served)
        check_inspected(inspected([served.url, "--transport", "http"], tmp_path))
