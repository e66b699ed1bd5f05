"""Amends a span of a memory, makes a hole in one, and says what was lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.tools.mcp.test_mcp_mistakes import write
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database, RefusedError
from worlddb.tools import agents
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.session import Session


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        yield store


def held(db: Database, ref: str, *valid: str) -> list[str | None]:
    found = [db.view(valid=each).get(ref) for each in valid]
    return [None if world is None else world.content for world in found]


@pytest.mark.parametrize("confined", [False, True])
def test_a_span_of_a_memory_is_amended_under_its_id(db: Database, confined: bool) -> None:
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    ref = write(desk, "Ada lives in Riga.", valid_from="2020-01-01")
    given = {"id": ref, "text": "Ada lives in Oslo.", "valid_from": "2022-01-01", "valid_to": "2023-01-01"}
    done, head = call(desk, "memory_amend", **given), db.head()
    assert (done["id"], done["outcome"]) == (ref, "committed")
    assert (
        f"{ref} is no longer valid, in its version 1, from 2022-01-01T00:00:00Z to 2023-01-01T00:00:00Z"
        in done["notes"]
    )
    riga, oslo = "Ada lives in Riga.", "Ada lives in Oslo."
    assert held(db, ref, "2021-12-31", "2022-01-01", "2022-12-31", "2023-01-01") == [riga, oslo, oslo, riga]
    again = call(desk, "memory_amend", **given)
    assert (again["id"], again["outcome"]) == (ref, "unchanged") and db.head() == head


def test_all_that_follows_is_amended_if_asked_for(db: Database) -> None:
    desk = Session(db)
    ref = write(desk, "150", valid_from="2024-01-01")
    db.revise(ref, content="190", valid_from="2026-01-01")
    given = {"id": ref, "text": "175", "valid_from": "2025-01-01", "replace_later": True}
    done = call(desk, "memory_amend", **given)
    assert done["id"] == ref and any("version 2, from 2026-01-01" in note for note in done["notes"])
    assert held(db, ref, "2024-06-01", "2025-06-01", "2026-06-01") == ["150", "175", "175"]
    assert call(desk, "memory_amend", **given)["outcome"] == "unchanged"


def test_a_hole_is_made_and_what_is_inside_is_retired_if_asked_for(db: Database) -> None:
    desk = Session(db)
    ref = write(desk, "Ada works here.", valid_from="2020-01-01")
    done = call(desk, "memory_retire", id=ref, at="2022-01-01", valid_to="2023-01-01", why="leave")
    assert done["retired"] == 1
    assert any("from 2022-01-01T00:00:00Z to 2023-01-01T00:00:00Z" in note for note in done["notes"])
    assert held(db, ref, "2021-06-01", "2022-06-01", "2023-06-01") == ["Ada works here.", None, "Ada works here."]
    topic = db.create("Topic", "trip", valid_from="2020-01-01").ref
    inner = db.create("Fact", "", content="day one", world=topic, valid_from="2020-01-01").ref
    done = call(desk, "memory_retire", id=topic, at="2024-01-01", members=True)
    assert done["retired"] == 2 and held(db, inner, "2023-01-01", "2025-01-01") == ["day one", None]


def test_an_amendment_that_begins_after_the_end_is_refused(db: Database) -> None:
    desk = Session(db)
    ref = write(desk, "Ada works here.", valid_from="2020-01-01")
    call(desk, "memory_retire", id=ref, at="2022-01-01")
    with pytest.raises(RefusedError, match="ended at 2022-01-01"):
        call(desk, "memory_amend", id=ref, text="x", valid_from="2023-01-01", valid_to="2024-01-01")


def test_a_confined_answer_names_no_loss_outside(db: Database) -> None:
    mine = db.create("Topic", "mine", valid_from="2020-01-01").ref
    theirs = db.create("Fact", "", content="theirs", valid_from="2020-01-01").ref
    ref = db.create("Fact", "", content="ours", world=mine, valid_from="2024-01-01").ref
    db.link(ref, "supersedes", theirs)
    given = {"id": ref, "text": "ours before", "valid_from": "2022-01-01", "valid_to": "2025-01-01"}
    done = call(Session(db, mine), "memory_amend", **given)
    assert done["outcome"] == "committed" and theirs not in json.dumps(done)
    assert held(db, theirs, "2021-01-01", "2023-01-01") == ["theirs", None]


def test_the_schemas_stay_short() -> None:
    """They are in the context of every conversation."""
    sizes = {tool.name: len(json.dumps(tool.input_schema)) for tool in TOOLS}
    assert sizes["memory_amend"] < 1_350 and sizes["memory_retire"] < 1_000


def test_the_functions_for_agents_take_a_span(db: Database) -> None:
    ref = agents.remember(db, "The rate is 2 %.", since="2020-01-01")["id"]
    told = agents.remember(db, "The rate is 3 %.", since="2022-01-01", until="2023-01-01", replaces=ref)
    assert told["id"] == ref
    assert told["lost"] == [{"from": "2022-01-01T00:00:00Z", "to": "2023-01-01T00:00:00Z"}]
    gone = agents.forget(db, ref, since="2024-01-01", until="2025-01-01")
    assert gone["lost"] == [{"from": "2024-01-01T00:00:00Z", "to": "2025-01-01T00:00:00Z"}]
    when = "2021-01-01", "2022-06-01", "2023-06-01", "2024-06-01", "2025-06-01"
    two, three = "The rate is 2 %.", "The rate is 3 %."
    assert held(db, ref, *when) == [two, three, two, None, two]
    short = agents.remember(db, "The office is shut.", since="2020-01-01", until="2020-02-01")["id"]
    assert held(db, short, "2020-01-15", "2020-02-15") == ["The office is shut.", None]
    asked: dict[str, Any] = {"id": ref, "since": "noon"}
    assert json.loads(agents.call(db, "forget", asked))["error"]["code"] == "invalid_time"
