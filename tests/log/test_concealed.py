"""No error, refusal, log or answer repeats what looks like a credential, whatever it is raised for."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError

import worlddb
from bench.redaction import texts
from worlddb.log.model import errors
from worlddb.log.redaction.credentials import find_credentials
from worlddb.tools.agents import functions
from worlddb.tools.cli.main import main
from worlddb.tools.mcp import access_log
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session

GITHUB = "ghp_" + "Zq3vK8mB1xWc7dR5tY9nHs2LpJ6fGaEu4iOw"
SECRETS = [
    GITHUB,
    "AKIAQ3EGRTBX7ZKW4M5N",
    "sk-ant-api03-" + "Zq3vK8mB1xWc7dR5tY9nHs2LpJ6fGaEu4iOw",
    "postgresql://ana:Zq3vK8mB1xW@db",
    "Bearer " + "Zq3vK8mB1xWc7dR5tY9nHs2LpJ6fGaEu4iOw",
    "xoxb-123456789012-123456789012-Zq3vK8mB1xWc7dR5tY9nHs2L",
]
"""The middle of each must not be shown."""


def secret_fragment(secret: str) -> str:
    """What would give a secret away: more of it than a mark."""
    return secret.rpartition(":")[2][-12:-4] if "://" in secret else secret[-16:-6]


def wrong_calls(db: worlddb.Database, secret: str) -> list[Callable[[], object]]:
    view = db.view()
    other: Any = secret
    return [
        lambda: view.get(secret),
        lambda: db.create("Note", "x", valid_from=secret),
        lambda: db.link("a", secret, "b").refs,
        lambda: db.link(secret, "refers_to", "b").refs,
        lambda: view.recall("x", world=secret),
        lambda: view.recall("x", lanes=[secret]),
        lambda: db.view(bookmark=secret),
        lambda: db.create("Note", "x", resolve=other),
        lambda: db.untag("a", secret).refs,
        lambda: db.unlabel("a", secret).refs,
        lambda: db.unalias("a", secret).refs,
        lambda: db.use_space(secret).refs,
        lambda: db.forget_user(secret, reason="x"),
        lambda: db.trust(other, author="a"),
        lambda: worlddb.EndpointEmbedder(f"{secret}?", "m"),
        lambda: worlddb.parse_time(secret),
        lambda: view.history("a", during=other),
    ]


def test_an_error_raised_for_another_reason_does_not_repeat_a_credential(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="a", embedder=None) as db:
        db.create("Note", "a")
        db.create("Note", "b")
        for secret, before in itertools.product(SECRETS, ("", "x" * 46 + " ", "a line\n")):
            for number, call in enumerate(wrong_calls(db, before + secret)):
                with pytest.raises(worlddb.WorldDBError) as raised:
                    call()
                shown = f"{raised.value} {raised.value.details} {raised.value!r}"
                assert secret_fragment(secret) not in shown, (number, shown)


def test_every_kind_of_credential_is_concealed_also_where_it_is_cut_off() -> None:
    tried = 0
    for each in texts(5)[:600]:
        for found in find_credentials(each.text):
            tried += 1
            secret = each.text[found.start : found.end]
            for cut in (24, 40, len(secret)):
                shown = errors.concealed(f"There is no {each.text[: found.start + cut]!r}")
                assert secret[12:cut] not in shown, shown
    assert tried > 100


@pytest.mark.parametrize("end", ["\n", "\r\n", "\\\n", "\n  ", "\u200b\n"])
def test_the_second_half_of_a_credential_that_a_line_end_breaks_is_concealed_too(end: str) -> None:
    """The first half was concealed, or too short for that, and the half behind the line end was shown."""
    for secret in SECRETS:
        for cut in range(secret.rindex(":") + 2 if "://" in secret else 8, len(secret) - 8):
            broken = secret[:cut] + end + secret[cut:]
            shown = secret_fragment(secret) if "://" not in secret else secret.rpartition(":")[2][:-6]
            for before in ("", "x ", "a word\n"):
                for text in (
                    f"There is no {before}{broken}",
                    f"There is no {before + broken!r}",
                    json.dumps(before + broken),
                ):
                    left = errors.concealed(text)
                    halves = (shown, secret[cut : cut + 8], secret[max(cut - 8, 0) : cut] if cut > 20 else shown)
                    assert not any(len(half) > 5 and half in left for half in halves), (text, left)
    text = "Several worlds fit:\n    3fa9c2d1  Note\n    C:\\new\\ready  Topic"
    assert errors.concealed(text) == text


def test_what_is_no_credential_is_told_as_it_was() -> None:
    for text in (
        "There is nothing at kref://project/space/item.kind",
        "The endpoint at http://localhost:11434/v1 did not answer, after 3 attempts",
        "No world has the reference or the name 'a3f0c9d27b1e4c5d8f60718293a4b5c6'",
        "The task-proj-2024 is missing; see db.view().reference_of('Alice')",
        "Bearer tokens are sent in a header",
    ):
        assert errors.concealed(text) == text


def test_neither_mcp_nor_the_command_line_nor_an_agent_s_function_repeats_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "store"
    with worlddb.open(path, author="a", embedder=None) as db:
        server = MemoryServer(Session(db), tools=TOOLS)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("memory_read", {"id": GITHUB}),
            ("memory_list_scopes", {"kind": GITHUB}),
            (GITHUB, {}),
            ("memory_write", {"text": "x", "user_id": GITHUB + " "}),
            ("memory_write", {GITHUB: "x"}),
            ("memory_recall", {"query": "x", "cursor": GITHUB}),
            ("memory_as_of", {"query": "x", "valid": GITHUB[:40]}),
        ]
        for name, given in calls:
            with pytest.raises((ToolError, MCPError)) as raised:
                anyio.run(server.call_tool, name, given)
            assert secret_fragment(GITHUB) not in str(raised.value), name
        answer = anyio.run(server.call_tool, "memory_recall", {"query": "x", "user_id": GITHUB})
        assert secret_fragment(GITHUB) not in str(answer)
        assert secret_fragment(GITHUB) not in functions.call(db, GITHUB, {})
        assert secret_fragment(GITHUB) not in functions.call(db, "recall", {GITHUB: 1})
    for words in (["show", GITHUB], ["recall", "x", "--valid", GITHUB], [GITHUB], ["show", "x", f"--{GITHUB}"]):
        assert main(["--store", str(path), *words]) != 0
        printed = capsys.readouterr()
        assert secret_fragment(GITHUB) not in printed.out + printed.err, words
    record = logging.LogRecord("worlddb", logging.ERROR, "", 1, "failed with %s", (GITHUB,), None)
    assert secret_fragment(GITHUB) not in access_log.SafeFormatter().format(record)


def test_the_beginning_of_a_text_beside_a_reference_is_short_and_on_one_line() -> None:
    assert errors.beginning("Ana\nlives  in\u2028Porto.") == "'Ana lives in Porto.'"
    assert errors.beginning("x" * 60) == repr("x" * 60) and errors.beginning("x" * 61) == repr("x" * 59 + "…")
    for secret in SECRETS:
        assert secret_fragment(secret) not in errors.beginning(f"Ana's key is {secret}, and it rains."), secret
