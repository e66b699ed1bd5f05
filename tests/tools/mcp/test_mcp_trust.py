"""What a memory rests on, and how far that is trusted, is in the answers of the MCP server; no tool says it."""

from __future__ import annotations

from pathlib import Path

import worlddb
from tests.tools.mcp.test_mcp_tools import call
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.session import Session


def test_a_summary_shows_what_it_rests_on_and_is_left_out_with_what_is_not_trusted(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="scraper") as web:
        rumour = call(Session(web), "memory_write", text="The bridge is closed until May", user_id="ada")["id"]
    with worlddb.open(tmp_path / "store", author="assistant") as db:
        desk = Session(db)
        own = call(desk, "memory_write", text="The bridge is old", user_id="ada")["id"]
        summary = call(
            desk, "memory_write", text="The bridge, in short", type="Summary", derived_from=[rumour, own], user_id="ada"
        )["id"]
        for shown in (
            call(desk, "memory_read", id=summary),
            next(each for each in call(desk, "memory_recall", query="bridge")["memories"] if each["id"] == summary),
            next(each for each in call(desk, "memory_list", user_id="ada")["memories"] if each["id"] == summary),
        ):
            assert [(base["id"], base["author"], base["steps"]) for base in shown["rests_on"]] == [
                (rumour, "scraper", 1),
                (own, "assistant", 1),
            ]
            assert shown["rests_on"][0]["source"]["tool"] == "memory_write"
            assert (shown["rests_on_more"], shown["trust"]) == (False, None)
        db.trust("low", author="scraper")
        assert call(desk, "memory_read", id=summary)["trust"] == "low"
        trusted = call(desk, "memory_recall", query="bridge", min_trust="fair")["memories"]
        assert [memory["id"] for memory in trusted] == [own]


def test_no_tool_says_how_far_a_source_is_trusted_or_takes_a_bundle_in() -> None:
    names = {tool.name for tool in catalogue.TOOLS}
    assert names and not [name for name in names if "trust" in name or "import" in name or "bundle" in name]
