"""What the MCP server answers is bounded, whatever was kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import worlddb
from tests.tools.mcp.test_mcp_tools import call
from worlddb.tools.mcp.session import Session
from worlddb.tools.mcp.tool_arguments import MAX_PAGE
from worlddb.tools.mcp.tool_results import MAX_CONFLICTS, MAX_LISTED_TEXT, MAX_NAME, MAX_READ_TEXT


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        yield store


def test_no_answer_grows_with_what_was_kept_beside_a_text(db: worlddb.Database) -> None:
    """A page of fifty had twelve megabytes where sources were long, and a memory named all that contradict it."""
    desk = Session(db)
    long = {"page": "p" * 60_000, "author": "somebody else"}
    first = call(desk, "memory_write", text="the cat is black", user_id="ada")["id"]
    with db.batch() as tx:
        for number in range(MAX_CONFLICTS + 40):
            made = tx.create(
                "Fact", "n" * 5_000, content=f"the cat is white, says {number}", source=long, why="w" * 9_000
            )
            tx.link(made, "contradicts", first)
    page = call(desk, "memory_list", limit=MAX_PAGE)
    assert len(page["memories"]) == MAX_PAGE and len(msgspec.json.encode(page)) < 150_000
    found = call(desk, "memory_recall", query="cat " * 20_000, limit=MAX_PAGE)
    assert len(msgspec.json.encode(found)) < 200_000
    (shown,) = (memory for memory in page["memories"] if memory["id"] == first)
    assert len(shown["conflicts"]) == MAX_CONFLICTS
    assert len(call(desk, "memory_conflicts", id=first, limit=MAX_PAGE)["conflicts"]) == MAX_PAGE
    last = page["memories"][-1]
    assert (
        last["source"]["truncated"].startswith('{"author":"somebody else","page":"ppp')
        and len(last["source"]["truncated"]) == MAX_LISTED_TEXT
    )
    assert last["name"].endswith("…") and len(last["name"]) == MAX_NAME
    whole = call(desk, "memory_read", id=last["id"])
    assert len(whole["name"]) == 5_000 and len(whole["source"]["truncated"]) == MAX_READ_TEXT
    (version,) = call(desk, "memory_history", id=last["id"])["versions"]
    assert len(version["why"]) == MAX_LISTED_TEXT and len(msgspec.json.encode(version)) < 5_000
