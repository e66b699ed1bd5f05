"""Relations over MCP: written, read as states and retracted, also in a server of one world."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from worlddb import InputError, RefusedError, UnknownReference
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.session import Call, Session


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        yield store


def call(desk: Session, name: str, /, **arguments: Any) -> Any:
    (tool,) = (tool for tool in catalogue.tools_in_sets("beliefs") if tool.name == name)
    return msgspec.to_builtins(tool.run(desk, tool.takes.parse(arguments), Call("a client", name)))


def test_a_relation_is_written_read_as_states_and_retracted(db: worlddb.Database) -> None:
    desk = Session(db)
    for name in ("Alex", "York", "London"):
        db.create("Thing", name)
    db.define_relation("lives_in", succession=True, inverse="home_of")
    first = call(desk, "memory_relate", id="Alex", relation="lives_in", to="York", valid_from="2022-01-01", why="work")
    said = {"alternatives": ["Dublin"], "optimises_for": "family"}
    turned = {"id": "London", "relation": "home_of", "to": "Alex", "valid_from": "2024-01-01"}
    second = call(desk, "memory_relate", **turned, **said)
    assert any("only the second is" in note for note in second["notes"])
    assert f"The relation {first['id']} is no longer valid from 2024-01-01T00:00:00Z on" in second["notes"]
    answer = call(desk, "memory_states", id="Alex", relation="lives_in")
    assert [(each["id"], each["name"], each["holds"]) for each in answer["states"]] == [
        (second["id"], "London", True),
        (first["id"], "York", False),
    ]
    assert (answer["states"][0]["context"], answer["states"][1]["why"], answer["more"]) == (said, "work", 0)
    assert call(desk, "memory_states", id="Alex", limit=1)["more"] == 1
    assert call(desk, "memory_states", id="London", to="Alex", relation="home_of")["states"][0]["name"] == "Alex"
    then = call(desk, "memory_states", id="Alex", known=first["seq"])["states"]
    assert [(each["id"], each["valid_to"]) for each in then] == [(first["id"], None)]
    ended = call(desk, "memory_unrelate", relation=second["id"], ended="2025-01-01")
    assert ended["notes"] == [f"The relation {second['id']} is no longer valid from 2025-01-01T00:00:00Z on"]
    assert call(desk, "memory_states", id="Alex")["states"][0]["valid_to"] == "2025-01-01T00:00:00Z"
    call(desk, "memory_unrelate", relation=second["id"][:12], why="never so")
    assert call(desk, "memory_states", id="Alex")["states"][0]["retracted"]
    with pytest.raises(UnknownReference):
        call(desk, "memory_unrelate", relation=second["id"])


def test_what_decides_about_memories_and_what_nobody_declared_is_refused(db: worlddb.Database) -> None:
    desk = Session(db)
    one, other = (db.create("Thing", name).ref for name in ("one", "other"))
    for relation in ("contains", "same_as", "supersedes"):
        with pytest.raises(InputError, match="decides about memories"):
            call(desk, "memory_relate", id=one, relation=relation, to=other)
    with pytest.raises(InputError, match="Use one of: refers_to, contradicts"):
        call(desk, "memory_relate", id=one, relation="likes", to=other)
    [member] = db.view().edges(one, type="contains")
    with pytest.raises(InputError, match="decides about memories"):
        call(desk, "memory_unrelate", relation=member.ref)
    call(desk, "memory_relate", id=one, relation="depends_on", to=other)
    with pytest.raises(RefusedError, match="would close a cycle"):
        call(desk, "memory_relate", id=other, relation="depends_on", to=one)


def test_a_server_of_one_world_writes_there_and_learns_nothing_of_what_lies_outside(db: worlddb.Database) -> None:
    room, hall = (db.create("Topic", name).ref for name in ("room", "hall"))
    one, other = (db.create("Thing", name, world=room).ref for name in ("one", "other"))
    outside = db.create("Thing", "outside", world=hall).ref
    db.define_relation("watches", world=hall)
    hidden = db.link(one, "refers_to", outside, home=hall).ref
    desk = Session(db, world=room)
    made = call(desk, "memory_relate", id=one, relation="supports", to=other)
    assert db.view().edge(made["id"]).home == room
    with pytest.raises(InputError) as told:
        call(desk, "memory_relate", id=one, relation="watches", to=other)
    assert hall[:8] not in str(told.value) and "watches," not in str(told.value)
    for wrong in ({"id": one, "to": outside}, {"id": outside, "to": one}):
        with pytest.raises(UnknownReference):
            call(desk, "memory_relate", relation="supports", **wrong)
    with pytest.raises(UnknownReference):
        call(desk, "memory_unrelate", relation=hidden)
    assert [each["id"] for each in call(desk, "memory_states", id=one)["states"]] == [made["id"]]


def test_a_server_of_one_world_is_told_of_no_loss_of_an_edge_outside(db: worlddb.Database) -> None:
    room, hall = (db.create("Topic", name).ref for name in ("room", "hall"))
    one, other = (db.create("Thing", name, world=room).ref for name in ("one", "other"))
    db.define_relation("lives_in", succession=True)
    outside = db.link(
        one, "lives_in", db.create("Thing", "outside", world=hall), home=hall, valid_from="2020-01-01"
    ).ref
    inside = db.link(one, "lives_in", other, home=room, valid_from="2021-01-01").ref
    made = call(
        Session(db, world=room), "memory_relate", id=one, relation="lives_in", to=other, valid_from="2022-01-01"
    )
    assert outside not in str(made) and f"The relation {inside} is no longer valid from" in str(made["notes"])
    assert db.view().edge(outside).closed, "it lost, too"
