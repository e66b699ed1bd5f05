"""Keys of accounts open the tools as they open REST: with their world, right, user, plan, and what they used."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import worlddb
from tests.server.test_serve import PATIENCE_SECONDS, Server, serving
from worlddb import Database
from worlddb.tools.mcp import answer_notes, read_tools, tool_arguments
from worlddb.tools.mcp.kumiho import kumiho_arguments, kumiho_tools
from worlddb.tools.mcp.session import Call, Session

HEADERS = {"Accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


class Tools:
    """A client of the tools in a session of its own."""

    def __init__(self, server: Server, key: str) -> None:
        self._http = httpx.Client(headers=HEADERS | {"Authorization": f"Bearer {key}"}, timeout=PATIENCE_SECONDS)
        self._url = f"{server.url}/mcp"
        begun = self.post("initialize", **HELLO)
        begun.raise_for_status()
        self._http.headers["mcp-session-id"] = begun.headers["mcp-session-id"]
        self._http.post(self._url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, method: str, **params: Any) -> httpx.Response:
        return self._http.post(self._url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def __enter__(self) -> Tools:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def names(self) -> set[str]:
        return {each["name"] for each in _result(self.post("tools/list"))["tools"]}

    def call(self, tool: str, **given: Any) -> tuple[bool, Any]:
        """Whether it was done, and the answer or what was wrong."""
        told = _result(self.post("tools/call", name=tool, arguments=given))
        text = told["content"][0]["text"]
        return (False, text) if told.get("isError") else (True, told.get("structuredContent") or text)


def _result(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    for line in answer.text.splitlines():
        if line.startswith("data: {"):
            return httpx.Response(200, content=line[6:]).json()["result"]
    return answer.json()["result"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Database]]:
    store = tmp_path_factory.mktemp("accounts") / "store"
    with worlddb.open(store, embedder=None) as db:
        db.accounts.define_plan("small")
        db.accounts.create_account("acme", plan="small")
        with serving(store) as server:
            yield server, db


def test_a_key_of_an_account_opens_its_world_with_its_right_and_user(served: tuple[Server, Database]) -> None:
    server, db = served
    inside, outside = db.create("Team", "inside"), db.create("Team", "outside")
    db.create("Fact", "", content="The treasure lies in Visby.", world=outside)
    made = db.accounts.create_key("writer", account="acme", world=inside, right="write", user="ana")
    reader = db.accounts.create_key("reader", account="acme", world=inside, right="read")
    with Tools(server, made.secret) as writes, Tools(server, reader.secret) as reads:
        assert "memory_write" in writes.names() - reads.names() and "memory_recall" in reads.names()
        assert writes.call("memory_write", text="The oven is hot.")[0]
        seen = db.view(world=inside).find(type="Fact")
        assert [(each.content, each.author) for each in seen] == [("The oven is hot.", "writer")]
        assert {each.name for each in db.view(world=inside).find(type="Scope")} == {"user:ana"}
        assert "Visby" not in str(writes.call("memory_recall", query="treasure"))
        assert "oven" in str(reads.call("memory_recall", query="oven"))
        refused = reads.post("tools/call", name="memory_write", arguments={"text": "The oven is cold."})
        assert "Your key has no right to it" in refused.text and "--tools" not in refused.text
        db.accounts.end_key("writer")
        assert writes.post("tools/list").status_code == 401
        assert reads.post("tools/list").status_code == 200


def test_a_server_offers_the_sets_that_it_is_told_and_to_admins_what_erases(tmp_path: Path) -> None:
    """`worlddb serve` had the usual tools only, whatever the pages of other sets promised."""
    store = tmp_path / "store"
    with worlddb.open(store, embedder=None) as db, serving(store, "--tools", "core,working,operator") as server:
        keys = {right: db.accounts.create_key(right, right=right).secret for right in ("write", "admin")}
        with Tools(server, keys["write"]) as writes, Tools(server, keys["admin"]) as admin:
            assert {"memory_working_add", "memory_write"} < writes.names() and "memory_history" not in writes.names()
            assert admin.names() - writes.names() >= {"memory_forget_user"}
            assert writes.call("memory_working_add", text="Ana is here.", user_id="ana", run_id="1")[0]
            assert "no right" in writes.post("tools/call", name="memory_forget_user", arguments={}).text
            told = {"user_id": "ana", "reason": "request 7", "confirm": "user:ana"}
            assert writes.call("memory_write", text="Ana likes figs.", user_id="ana")[0]
            assert admin.call("memory_forget_user", **told)[0]
        assert db.working.get(user="ana", session="1") == ()


def test_a_plan_bounds_what_tools_write_and_ask_and_a_change_of_it_ends_no_session(
    served: tuple[Server, Database],
) -> None:
    server, db = served
    db.accounts.create_account("other", plan="small")
    world = db.create("Team", "bounded")
    secret = db.accounts.create_key("bounded", account="other", world=world, right="write").secret
    with Tools(server, secret) as tools:
        db.accounts.define_plan("small", worlds=2)
        assert tools.call("memory_write", text="One.", run_id="1")[0]
        done, told = tools.call("memory_write", text="Two.", run_id="1")
        assert not done and "worlds" in told
        db.accounts.define_plan("small", bytes_stored=10)
        assert "bytes_stored" in tools.call("memory_write", text="Three.", run_id="1")[1]
        db.accounts.define_plan("small", recall_k=3)
        assert "recall_k" in tools.call("memory_recall", query="one", limit=4)[1]
        assert tools.call("memory_recall", query="one", limit=3)[0]
        assert tools.call("memory_recall", query="one")[0], "which asks for no number"
        for run in ("2", "3", "4", "5"):
            db.create("Fact", "", content=f"One more, of run {run}.", world=world)
        for when in ({}, {"valid": "2090-01-01"}):
            told = tools.post("prompts/get", name="what_is_known", arguments={"about": "One more"} | when).text
            assert told.count("expires_at") == 3, told
        db.accounts.define_plan("small", bytes_per_request=200)
        assert tools.post("tools/call", name="memory_write", arguments={"text": "x" * 300}).status_code == 413
        db.accounts.define_plan("small", features=["sparql"])
        assert tools.post("tools/list").status_code == 403
        db.accounts.define_plan("small", writes_per_minute=0)
        assert "writes per minute" in tools.call("memory_write", text="Four.", run_id="1")[1]
        db.accounts.define_plan("small", requests_per_minute=0)
        slowed = tools.post("tools/list")
        assert slowed.status_code == 429 and int(slowed.headers["retry-after"]) >= 1
        db.accounts.define_plan("small")
        assert tools.call("memory_write", text="Five.", run_id="1")[0]


def test_a_plan_without_vectors_recalls_by_words_and_names_over_mcp_too(tmp_path: Path) -> None:
    """The tools did not look at the feature, so that a key had by MCP what REST refuses it."""
    with worlddb.open(tmp_path / "store") as db:
        db.accounts.define_plan("small", features=["mcp"])
        db.accounts.create_account("acme", plan="small")
        secret = db.accounts.create_key("words", account="acme", right="write").secret
        with serving(tmp_path / "store") as server, Tools(server, secret) as tools:
            for text in (
                "The stove takes ten minutes to get hot.",
                "Trains leave Oslo at noon.",
                "Figs ripen in June.",
            ):
                assert tools.call("memory_write", text=text, run_id="1")[0]
            db.embed()
            asked, told = {"query": "how long until the oven is warm"}, answer_notes.WITHOUT_VECTORS
            for tool, more in (("memory_recall", {}), ("memory_as_of", {"valid": "2090-01-01"})):
                done, words = tools.call(tool, **asked, **more)
                assert done and told in words and "stove" not in words
            assert "ten minutes" in tools.call("memory_recall", query="stove")[1]
            db.accounts.define_plan("small", features=["mcp", "vectors"])
            _, meant = tools.call("memory_recall", **asked)  # The plan is read again, in the same session.
            assert "stove" in meant and told not in meant


def test_no_tool_that_recalls_goes_by_vectors_under_a_plan_that_has_none(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.create("Fact", "", content="The stove takes ten minutes to get hot.")
        db.embed()
        db.accounts.define_plan("small", features=["mcp"])
        db.accounts.create_account("acme", plan="small")
        grant = db.accounts.authenticate(db.accounts.create_key("words", account="acme").secret)
        assert grant is not None
        query = "how long until the oven is warm"
        for session, meant in ((Session(db), True), (Session(db, account=lambda: grant), False)):
            call = Call("1", "tool")
            receipt = read_tools.recall_receipt(session, tool_arguments.RecallReceipt(query=query), call)
            found = kumiho_tools.recall(session, kumiho_arguments.Recall(query=query), call)
            items = kumiho_tools.search_items(session, kumiho_arguments.Search(query=query), call)
            assert [bool(receipt.memories), bool(found.items), bool(items.items)] == [meant] * 3
            assert found.search_mode == items.search_mode == ("hybrid" if meant else "fulltext")


def test_usage_counts_calls_of_tools_and_which_of_them_write(served: tuple[Server, Database]) -> None:
    server, db = served
    made = db.accounts.create_key("counted", account="acme", right="write")
    with Tools(server, made.secret) as tools:
        assert tools.call("memory_write", text="Kept.", run_id="7")[0] and tools.call("memory_recall", query="kept")[0]
    with httpx.Client(headers={"Authorization": f"Bearer {made.secret}"}, base_url=server.url) as rest:
        rest.get("/v1/head").raise_for_status()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (row := rest.get("/v1/usage?by=total").json()["usage"][0])["writes"] < 1 or row["requests"] < 5:
            assert time.monotonic() < deadline, row
    assert row["name"] == "counted" and row["writes"] == 1 and row["bytes_in"] > 100
