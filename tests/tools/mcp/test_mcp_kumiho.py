"""The second catalogue: the tools that Kumiho's paper names, through a session of the protocol in this process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.client.client import Client

import worlddb
from tests.support.mcp_clients import run_bounded
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.kumiho.kumiho_catalogue import KUMIHO_TOOLS, tools_of
from worlddb.tools.mcp.server import MemoryServer, describe_tool
from worlddb.tools.mcp.session import Session

# fmt: off
NAMED = (
    "memory_ingest", "memory_recall", "memory_consolidate", "memory_discover_edges", "memory_store_execution",
    "memory_dream_state", "memory_add_response", "chat_add", "chat_get", "chat_clear",
    "get_project", "get_spaces", "get_item", "get_revision", "get_artifacts",
    "search_items", "get_edges", "get_dependencies", "get_dependents", "analyze_impact",
    "find_path", "get_provenance_summary", "get_item_revisions", "get_revision_by_tag", "get_revision_as_of",
    "resolve_kref", "create_item", "create_revision", "tag_revision", "create_edge",
    "set_metadata", "deprecate_item",
)
# fmt: on
COLOUR = "kref://CognitiveMemory/user/favorite-color.fact"
MAX_CHARACTERS = 16_500
"""Of the list of tools as a client gets it; the first catalogue takes 12,000 of them."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="agent", embedder=None) as store:
        yield store


def through(db: worlddb.Database, work: Any, world: str | None = None) -> None:
    """Have a client of the protocol do something."""

    async def begun() -> None:
        async with Client(MemoryServer(Session(db, world), tools=KUMIHO_TOOLS)) as client:

            async def call(name: str, /, **given: Any) -> Any:
                answer = await client.call_tool(name, given)
                if answer.is_error:
                    return getattr(answer.content[0], "text", "")
                return answer.structured_content

            await work(client, call)

    run_bounded(begun)


def test_the_catalogue_has_the_32_names_of_the_paper_and_stands_alone() -> None:
    assert [tool.name for tool in KUMIHO_TOOLS] == list(NAMED) and len(NAMED) == 32
    assert tools_of("kumiho") is KUMIHO_TOOLS and tools_of("core,time") == catalogue.tools_in_sets("core,time")
    with pytest.raises(worlddb.InputError, match="with other sets"):
        tools_of("kumiho,core")
    size = len(
        msgspec.json.encode([describe_tool(tool).model_dump(exclude_none=True, by_alias=True) for tool in KUMIHO_TOOLS])
    )
    assert size < MAX_CHARACTERS, size
    assert all(len(tool.description) < 130 for tool in KUMIHO_TOOLS)
    told = Path("docs/mcp.md").read_text("utf-8")
    assert set(NAMED) <= set(re.findall(r"`([a-z_]+)`", told))


def test_a_belief_is_ingested_revised_tagged_and_read_as_of_a_time(db: worlddb.Database) -> None:
    async def work(client: Client, call: Any) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == set(NAMED)
        talk = await call("create_item", project="CognitiveMemory", space="talks", name="monday", text="About colours.")
        first = await call(
            "memory_ingest",
            message="my favourite colour is blue",
            session_id="s",
            title="favorite-color",
            summary="The user's favourite colour is blue.",
            tags=["initial"],
            sources=[talk["id"]],
            topics=["colour"],
            artifact="file:///talk.txt",
        )
        assert (first["kref"], first["is_new"], first["messages"]) == (COLOUR, True, 1)
        assert [each["id"] for each in first["relevant"]] == [talk["id"]]
        second = await call("memory_ingest", title="favorite-color", summary="The user's favourite colour is black.")
        assert (second["id"], second["is_new"]) == (first["id"], False)
        item = await call("get_item", kref=COLOUR)
        assert (item["kref"], item["revision"], item["text"][-6:]) == (COLOUR, 2, "black.")
        assert (await call("get_revision", kref=f"{COLOUR}?r=1"))["text"].endswith("blue.")
        revisions = (await call("get_item_revisions", kref=COLOUR))["items"]
        assert [each["kref"] for each in revisions] == [f"{COLOUR}?r=1", f"{COLOUR}?r=2"]
        for tag, end in (("initial", "blue."), ("current", "black."), ("latest", "black.")):
            assert (await call("get_revision_by_tag", kref=COLOUR, tag=tag))["text"].endswith(end)
        assert "No revision of it has the tag" in await call("get_revision_by_tag", kref=COLOUR, tag="nobody")
        assert "had no valid revision then" in await call("get_revision_as_of", kref=COLOUR, time="1999-01-01")
        assert (await call("get_revision_as_of", kref=COLOUR, time="2999-01-01"))["revision"] == 2
        assert (await call("resolve_kref", kref=f"{COLOUR}?a=content"))["artifact"]["location"] == "file:///talk.txt"
        assert (await call("get_artifacts", kref=COLOUR))["artifacts"][0]["name"] == "content"
        assert (await call("get_provenance_summary", kref=COLOUR))["items"][0]["id"] == talk["id"]
        await call("set_metadata", kref=COLOUR, metadata={"seen": 3, "topics": None})
        assert (await call("get_item", kref=COLOUR))["metadata"]["seen"] == 3
        await call("tag_revision", kref=COLOUR, tag="published")
        assert (await call("get_revision_by_tag", kref=COLOUR, tag="published"))["revision"] == 3
        assert (await call("deprecate_item", kref=COLOUR))["outcome"] == "committed"
        assert COLOUR not in {each["kref"] for each in (await call("search_items", query="favourite colour"))["items"]}
        assert (await call("deprecate_item", kref=COLOUR, undo=True))["outcome"] == "committed"
        recalled = await call("memory_recall", query="favourite colour")
        assert COLOUR in {each["kref"] for each in recalled["items"]}
        for found in (recalled, await call("search_items", query="favourite colour")):
            assert found["search_mode"] == "fulltext", "it has no vectors"

    through(db, work)
    assert db.verify(deep=True).ok


def test_the_graph_is_written_and_walked_and_a_session_becomes_a_memory(db: worlddb.Database) -> None:
    async def work(client: Client, call: Any) -> None:
        drafts = [
            (await call("create_item", project="study", space="paper/drafts", name=f"v{number}", kind="draft"))["id"]
            for number in (1, 2, 3)
        ]
        assert (await call("get_project", project="study"))["kind"] == "Project"
        assert {each["name"] for each in (await call("get_spaces", project="study"))["items"]} == {"paper", "drafts"}
        for earlier, later in pairwise(drafts):
            await call("create_edge", source=later, edge_type="DERIVED_FROM", target=earlier)
        await call("create_edge", source=drafts[2], edge_type="REFERENCED", target=drafts[0])
        edges = (await call("get_edges", kref=drafts[2]))["edges"]
        assert {each["type"] for each in edges} == {"derived_from", "refers_to", "contains"}
        (only,) = (await call("get_edges", kref=drafts[2], edge_type="DERIVED_FROM"))["edges"]
        assert only["target"] == drafts[1]
        for name in ("get_dependents", "analyze_impact"):
            assert [each["id"] for each in (await call(name, kref=drafts[0]))["items"]] == drafts[1:]
        assert [each["id"] for each in (await call("get_dependencies", kref=drafts[2]))["items"]] == drafts[1::-1]
        path = await call("find_path", source=drafts[2], target=drafts[0])
        assert path["reached"] and len(path["edges"]) == 1
        await call("create_revision", kref=drafts[0], text="A first draft, since corrected.")
        assert (await call("get_item", kref="kref://study/paper/drafts/v1.draft"))["revision"] == 2
        assert (await call("chat_add", session_id="s", message="the deploy is at noon, ask ana@example.org"))[
            "count"
        ] == 1
        assert (await call("memory_add_response", session_id="s", response="Noted: at noon."))["count"] == 2
        assert [each["role"] for each in (await call("chat_get", session_id="s"))["messages"]] == ["user", "assistant"]
        done = await call("memory_consolidate", session_id="s", space="talks", title="deploy")
        assert isinstance(done, dict), done
        assert done["count"] == 2
        told = (await call("get_item", kref=done["id"]))["text"]
        assert "the deploy is at noon" in told and "[email]" in told and "b.org" not in told
        assert (await call("chat_get", session_id="s"))["messages"] == []
        assert "has no messages" in await call("memory_consolidate", session_id="s", space="talks", title="deploy")
        run = await call(
            *("memory_store_execution",), project="study", space="runs", title="tests", tool="pytest", result="2 failed"
        )
        assert (await call("get_item", kref=run["id"]))["metadata"]["tool"] == "pytest"
        found = await call("memory_discover_edges", kref=run["id"], dry_run=True)
        assert isinstance(found["edges"], list)
        await call("chat_add", session_id="s", message="x")
        assert (await call("chat_clear", session_id="s"))["count"] == 1
        head = db.head()
        dreamt = await call("memory_dream_state")
        assert (dreamt["dry_run"], db.head()) == (True, head) and dreamt["assessed"]

    through(db, work)


def test_a_server_of_one_world_has_projects_and_buffers_of_its_own(db: worlddb.Database) -> None:
    one, other = db.create("Topic", "one").ref, db.create("Topic", "other").ref
    ids: list[str] = []

    async def work(client: Client, call: Any) -> None:
        done = await call("memory_ingest", message="hello", title="favorite-color", summary="It is one of ours.")
        assert done["is_new"] and done["seq"] is None and (done["messages"], done["relevant"]) == (1, [])
        assert [each["id"] for each in (await call("search_items", query="ours"))["items"]] == [done["id"]]
        for ref in ids:
            for name in ("get_item", "get_edges", "analyze_impact", "get_item_revisions", "get_artifacts"):
                assert isinstance(await call(name, kref=ref), str), name
            assert isinstance(await call("create_edge", source=done["id"], edge_type="CONTAINS", target=ref), str)
        assert isinstance(await call("memory_dream_state"), str)
        ids.append(done["id"])

    through(db, work, one)
    through(db, work, other)
    assert len(set(ids)) == 2
