"""Two users share an agent, an app and a session: whoever names one of them meets nothing of the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from worlddb.tools.mcp.catalogue import tools_in_sets
from worlddb.tools.mcp.session import Call, Session
from worlddb.tools.mcp.tool_arguments import Scoped, WorkingScope

SHARED = {"agent_id": "helper", "app_id": "chat", "run_id": "r1"}
NORA, DEV = {"user_id": "nora", **SHARED}, {"user_id": "dev", **SHARED}
SECRET = "zebrafish"
"""A word of every text of Dev's."""
TOOLS = {tool.name: tool for tool in tools_in_sets("all,beliefs,working,forks,operator")}
OF_ALL = frozenset(("memory_list_scopes", "memory_consolidate", "memory_dream"))
"""Tools that answer for the whole store, with ids alone."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        yield store


def call(desk: Session, tool: str, /, **arguments: Any) -> Any:
    takes = TOOLS[tool].takes
    try:
        return msgspec.to_builtins(TOOLS[tool].run(desk, msgspec.convert(arguments, takes), Call("a client", tool)))
    except worlddb.WorldDBError as error:
        return {"error": desk.explain(error)}


def write(desk: Session, text: str, /, **arguments: Any) -> str:
    return str(call(desk, "memory_write", text=text, **arguments)["id"])


def devs_memories(desk: Session) -> list[str]:
    """Memories that hold, held, will hold, contradict each other and are linked, and a message."""
    bank = write(desk, f"My bank is {SECRET} ING.", about=[f"Bank {SECRET}", "Mia"], labels=[SECRET], **DEV)
    tea = write(desk, f"I prefer {SECRET} tea.", name=f"Tea {SECRET}", type="Entity", **DEV)
    call(desk, "memory_relate", id=tea, relation="refers_to", to=bank, evidence=SECRET)
    call(desk, "memory_working_add", text=f"Hello {SECRET}", **DEV)
    ended = write(desk, f"I live in {SECRET} Rome.", **DEV)
    call(desk, "memory_retire", id=ended)
    return [
        bank,
        tea,
        ended,
        write(desk, f"My bank is {SECRET} Postbank.", contradicts=[bank], **DEV),
        write(desk, f"I live in {SECRET} Oslo.", valid_from="2061-01-01", **DEV),
        write(desk, f"I live in {SECRET} Bonn.", valid_from="2011-01-01", valid_to="2012-01-01", **DEV),
        write(desk, "The door code is 7.", **DEV),
    ]


def every_call(noras: dict[str, str], devs: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls for Nora of every tool, which look for Dev's words and name his ids where a tool takes scopes."""
    asked = f"Which bank? Mia {SECRET} Bank {SECRET} Tea {SECRET} I live in Rome Oslo Bonn"
    for how in (
        {"detail": "full", "paths": 20, "neighbours": 10},
        {"group": 3, "limit": 1},
        {"widen": True},
        {"about": f"Bank {SECRET}"},
        {"label": SECRET},
    ):
        yield "memory_recall", {"query": asked, **how}
    for valid in ("2011-06-01", "2062-01-01"):
        yield "memory_as_of", {"query": asked, "valid": valid, "detail": "full"}
    for theirs in devs:
        yield "memory_as_of", {"id": theirs, "valid": "2062-01-01"}
        yield "memory_conflicts", {"id": theirs}
        yield "memory_write", {"text": "A trip was planned.", "derived_from": [theirs]}
        yield "memory_write", {"text": "A trip was cancelled.", "contradicts": [theirs[:8]]}
    for near in ("note", "propose", "supersede_same_subject"):
        for begins in ({}, {"valid_from": "2011-02-01"}, {"valid_from": "2062-01-01"}):
            yield "memory_write", {"text": f"I live in Kiel ({near}).", "on_near": near, **begins}
    for retired in (False, True):
        yield "memory_list", {"include_retired": retired, "detail": "full"}
    yield "memory_conflicts", {}
    yield "memory_conflicts", {"id": noras["bank"]}
    yield "memory_recall_receipt", {"query": asked}
    for tool, known in TOOLS.items():
        fields = set(known.takes.__struct_fields__)
        if known.read_only and "id" in fields and "user_id" not in fields and tool != "memory_path":
            yield from ((tool, {"id": each}) for each in noras.values())
    yield "memory_path", {"id": noras["bank"], "to": noras["tea"]}
    yield "memory_preferences", {"subject": noras["tea"]}
    yield "memory_proposals", {"status": "all"}
    yield from ((tool, {}) for tool in ("memory_working_get", "memory_verify", "memory_belief_settings"))
    yield from ((tool, {}) for tool in ("memory_profiles", *sorted(OF_ALL - {"memory_consolidate"})))
    yield "memory_consolidate", {"min_age_hours": 0}
    yield "memory_recall", {"query": f"Summary of helper bank {SECRET}", "limit": 50, "detail": "full"}
    yield "memory_list", {"limit": 50, "include_retired": True, "detail": "full"}
    yield "memory_mark", {"id": noras["bank"], "add_labels": ["bank"]}
    yield "memory_amend", {"id": noras["code"], "text": "The door code is 8."}
    yield "memory_retire", {"id": noras["code"]}
    yield "memory_fork", {"id": noras["bank"]}
    yield "memory_working_add", {"text": "Hello"}
    yield "memory_working_clear", {}


def test_no_byte_of_another_user_comes_back_from_any_tool_that_is_called_for_one(db: worlddb.Database) -> None:
    desk = Session(db)
    devs = devs_memories(desk)
    noras = {
        "bank": write(desk, "My bank is GLS.", about=["Mia"], **NORA),
        "tea": write(desk, "I prefer tea.", name="Tea", type="Entity", **NORA),
        "code": write(desk, "The door code is 7.", **NORA),
    }
    write(desk, "My bank is N26.", contradicts=[noras["bank"]], **NORA)
    shared = write(desk, "The bank opens at nine.", **SHARED)
    called, answers = set[str](), list[str]()
    for tool, given in every_call(noras, devs):
        takes, named = TOOLS[tool].takes, NORA
        if tool == "memory_recall_receipt":
            named = {"user_id": "nora"}
        elif not issubclass(takes, Scoped | WorkingScope):
            named = {}
        answer = json.dumps(call(desk, tool, **given, **named))
        answers.append(answer)
        # An error repeats what was given.
        asked = " ".join((*given.get("derived_from", ()), *given.get("contradicts", ()), str(given.get("id"))))
        found = [ref for ref in devs if ref in answer and ref not in asked]
        assert SECRET not in answer, (tool, given, answer)
        assert tool in OF_ALL or not (found or "dev" in answer), (tool, given, answer)
        called.add(tool)
    missing = {name for name, tool in TOOLS.items() if tool.read_only} - called
    assert missing <= {"memory_resolve_kref", "memory_check_recall"}, "a new tool that reads is called here, too"
    assert any(shared in answer for answer in answers), "what is nobody's is everybody's"
    assert SECRET in json.dumps(call(desk, "memory_list", detail="full", **DEV)), "Dev still has his own"
    assert SECRET in json.dumps(call(desk, "memory_list", detail="full", **SHARED)), "the agent alone has all"


def test_a_server_s_default_user_meets_nothing_of_others_in_an_agent_that_a_call_names(db: worlddb.Database) -> None:
    """Without user_id, an agent's memories of all users were found, though the server is for one."""
    theirs, desk = write(Session(db), "My bank is ING.", **DEV), Session(db, user="nora")
    mine = write(desk, "My bank is GLS.", agent_id="helper")
    shared = write(Session(db), "The bank opens at nine.", agent_id="helper")
    for tool, given in (("memory_list", {}), ("memory_recall", {"query": "bank"}), ("memory_conflicts", {})):
        answer = str(call(desk, tool, agent_id="helper", **given))
        assert theirs not in answer and "ING" not in answer
        assert tool == "memory_conflicts" or (mine in answer and shared in answer)
    assert theirs in str(call(desk, "memory_list", user_id="dev")), "another user may still be named"
