"""The set ``beliefs`` of the MCP server's tools, called as the server calls them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

import worlddb
from tests.house.test_docs import text_of
from tests.house.test_docs_facts import quoted, rows, section
from tests.support.mcp_fuzz import FORGED, JUNK, NOWHERE
from worlddb import InputError, InvalidKref, UnknownReference
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Call, Session

API = "kref://atlas/api/wire.decision"
BELIEFS = catalogue.tools_in_sets("beliefs")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        yield store


def call(desk: Session, name: str, /, **arguments: Any) -> Any:
    (tool,) = (tool for tool in catalogue.tools_in_sets("all,beliefs") if tool.name == name)
    answer = tool.run(desk, tool.takes.parse(arguments), Call("a client", name))
    assert isinstance(answer, tool.gives)
    return msgspec.to_builtins(answer)


def test_the_set_is_offered_only_to_whoever_names_it_and_is_documented(db: worlddb.Database) -> None:
    assert not {tool.name for tool in BELIEFS} & {tool.name for tool in catalogue.tools_in_sets("all")}
    assert all(len(tool.description) < 130 for tool in BELIEFS)
    table = rows(section(text_of("docs/mcp.md"), "## Tools about beliefs"))
    told = {quoted(row[0])[0]: (row[1], quoted(row[2])) for row in table}
    for tool in BELIEFS:
        kind = "reads" if tool.read_only else "writes"
        assert told[tool.name] == (kind, [field.name for field in msgspec.structs.fields(tool.takes)])
    assert told.keys() == {tool.name for tool in BELIEFS}

    async def listed() -> None:
        server = MemoryServer(Session(db), tools=catalogue.tools_in_sets("core,beliefs"))
        names = [tool.name for tool in await server.list_tools()]
        assert set(names) == {tool.name for tool in catalogue.tools_in_sets("core")} | told.keys()

    anyio.run(listed)


def test_an_item_is_written_and_read_at_its_kref(db: worlddb.Database) -> None:
    desk = Session(db)
    made = call(desk, "memory_write_at", kref=API, text="Use REST", valid_from="2026-01-01", why="decided")
    assert call(desk, "memory_write_at", kref=API, text="Use REST")["outcome"] == "unchanged"
    assert call(desk, "memory_write_at", kref=API, text="Use gRPC", valid_from="2026-02-01")["id"] == made["id"]
    now = call(desk, "memory_resolve_kref", kref=API)
    assert (now["memory"]["text"], now["version"], now["kref"]) == ("Use gRPC", 2, API)
    assert call(desk, "memory_resolve_kref", kref=f"{API}?r=1")["memory"]["text"] == "Use REST"
    assert call(desk, "memory_resolve_kref", kref=API, valid="2026-01-10")["version"] == 1
    db.attach(API, worlddb.Artifact(name="spec", location="s3://bucket/spec"))
    found = call(desk, "memory_resolve_kref", kref=f"{API}?a=spec")
    assert found["memory"] is None and found["artifact"]["location"] == "s3://bucket/spec"
    assert call(desk, "memory_read", id=API)["id"] == call(desk, "memory_history", id=API)["versions"][0]["id"]
    call(desk, "memory_retire", id=API)
    assert call(desk, "memory_resolve_kref", kref=API)["memory"] is None
    for wrong in ("kref://atlas", f"{API}?r=0"):
        with pytest.raises(InvalidKref):
            call(desk, "memory_resolve_kref", kref=wrong)
    with pytest.raises(InputError, match="cannot be a Scope"):
        call(desk, "memory_write_at", kref="kref://atlas/api/x.Scope", text="x")
    with pytest.raises(msgspec.ValidationError):
        call(desk, "memory_read", id=f"{API}?r=1")


def test_tags_and_deprecation_are_set_and_taken_back(db: worlddb.Database) -> None:
    desk, ref = Session(db), db.create_at(API, content="Use REST").ref
    db.create_at(API, content="Use gRPC")
    assert call(desk, "memory_tag", id=API, tag="decided", version=1)["id"] == ref
    assert db.view().get(ref, tag="decided").content == "Use REST"  # type: ignore[union-attr]
    call(desk, "memory_tag", id=ref[:8], tag="decided")
    assert call(desk, "memory_tag", id=ref, tag="decided")["outcome"] == "unchanged"
    assert db.view().get(ref).tags == {"decided": 2}  # type: ignore[union-attr]
    call(desk, "memory_tag", id=ref, tag="decided", remove="true")
    with pytest.raises(UnknownReference):
        call(desk, "memory_tag", id=ref, tag="decided", remove=True)
    with pytest.raises(InputError, match="remove and version"):
        call(desk, "memory_tag", id=ref, tag="decided", remove=True, version=1)
    call(desk, "memory_deprecate", id=API, why="outdated")
    assert call(desk, "memory_resolve_kref", kref=API)["memory"] is None
    call(desk, "memory_deprecate", id=ref, undo=True)
    assert call(desk, "memory_resolve_kref", kref=API)["memory"]["id"] == ref


def test_what_depends_on_a_memory_what_it_rests_on_and_how_two_are_joined(db: worlddb.Database) -> None:
    desk = Session(db)
    report, summary, plan = (db.create("Fact", name, content=name).ref for name in ("report", "summary", "plan"))
    db.link(summary, "derived_from", report)
    db.link(plan, "derived_from", summary)
    found = call(desk, "memory_impact", id=report, limit=1)
    assert ([each["id"] for each in found["affected"]], found["more"], found["cut_off"]) == ([summary], 1, [])
    assert call(desk, "memory_impact", id=report, depth=1)["cut_off"] == [summary]
    found = call(desk, "memory_provenance", id=plan)
    assert [(each["id"], each["steps"], each["author"]) for each in found["rests_on"]] == [
        (summary, 1, "assistant"),
        (report, 2, "assistant"),
    ]
    steps = call(desk, "memory_path", id=plan, to=report)["steps"]
    assert [(each["id"], each["relation"], each["back"]) for each in steps] == [
        (summary, "derived_from", False),
        (report, "derived_from", False),
    ]
    assert call(desk, "memory_path", id=report, to=summary)["steps"][0]["back"]


def test_a_withdrawal_is_planned_and_done_only_where_an_operator_allows_it(db: worlddb.Database) -> None:
    desk, mallory = Session(db), db.as_author("mallory")
    code = mallory.create("Fact", "code", content="the vault opens with 1234").ref
    plan = db.create("Fact", "plan", content="evacuate through the vault").ref
    db.link(plan, "derived_from", code)
    head = db.head().seq
    found = call(desk, "memory_plan_withdrawal", author="mallory", questions=["vault"])
    assert [each["id"] for each in found["withdrawn"]] == [code] and found["changes"] == 1
    assert [(each["id"], each["paths"]) for each in found["rests_on_it"]] == [(plan, [[code, plan]])]
    assert found["answers"] == [{"question": "vault", "before": found["answers"][0]["before"], "after": [plan]}]
    assert found["done_at"] is None and db.head().seq == head
    assert "memory_withdraw" not in {tool.name for tool in catalogue.tools_in_sets("all,beliefs")}
    (tool,) = (tool for tool in catalogue.tools_in_sets("operator") if tool.name == "memory_withdraw")
    given = {"author": "mallory", "reason": "incident 7"}
    with pytest.raises(InputError, match="would change 1 memories, not 2"):
        tool.run(desk, tool.takes.parse(given | {"changes": 2}), Call("a client", "x"))
    done = tool.run(desk, tool.takes.parse(given | {"changes": 1}), Call("a client", "x"))
    assert msgspec.to_builtins(done)["seq"] == head + 1 and db.view().get(code) is None
    (undo,) = (tool for tool in catalogue.tools_in_sets("operator") if tool.name == "memory_undo")
    back = undo.run(desk, undo.takes.parse({"seq": head + 1, "reason": "a mistake"}), Call("a client", "x"))
    assert msgspec.to_builtins(back)["seq"] == head + 2 and db.view().get(code).content  # type: ignore[union-attr]
    with pytest.raises(worlddb.RefusedError, match="changed since"):
        undo.run(desk, undo.takes.parse({"seq": head + 1, "reason": "again"}), Call("a client", "x"))
    with pytest.raises(InputError, match="no commit"):
        undo.run(desk, undo.takes.parse({"seq": 10**9, "reason": "again"}), Call("a client", "x"))
    inside = Session(db, db.create("Topic", "ours").ref)
    with pytest.raises(InputError, match="This server serves one world"):
        undo.run(inside, undo.takes.parse({"seq": head + 2, "reason": "x"}), Call("a client", "x"))
    assert call(inside, "memory_plan_withdrawal", author="mallory")["withdrawn"] == []
    with pytest.raises(InputError, match="This server serves one world"):
        tool.run(inside, tool.takes.parse(given | {"changes": 1}), Call("a client", "x"))


def test_a_memory_without_a_name_is_listed_by_its_text(db: worlddb.Database) -> None:
    """A list of what depends on a statement had ids and empty names."""
    desk = Session(db)
    claim = db.create("Claim", "", content="Spindles predict recall.").ref
    belief = db.create("Belief", "", content="Spindles matter " + "very " * 100).ref
    db.link(belief, "derived_from", claim)
    told = "Spindles matter very"
    assert call(desk, "memory_impact", id=claim)["affected"][0]["name"].startswith(told)
    assert call(desk, "memory_provenance", id=belief)["rests_on"][0]["name"] == "Spindles predict recall."
    assert call(desk, "memory_path", id=claim, to=belief)["steps"][0]["name"].startswith(told)
    planned = call(desk, "memory_plan_withdrawal", id=claim)
    assert planned["withdrawn"][0]["name"] == "Spindles predict recall."
    assert planned["rests_on_it"][0]["name"].startswith(told)
    dropped = {"id": claim, "predicate": "summary", "value": "Spindles predict recall."}
    found = call(desk, "memory_contract", beliefs=[dropped])
    assert (found["changes"][0]["name"], found["rests_on"][0]["name"][:20]) == ("Spindles predict recall.", told)


def test_receipts_are_checked_artifacts_attached_and_relations_declared(db: worlddb.Database) -> None:
    desk, ours = Session(db), db.create("Topic", "Ours").ref
    fact = db.create("Fact", "vault", content="the vault opens with 1234", world=ours).ref
    asked = {"question": "vault", "filters": {"author": "assistant"}}
    whole = db.view().recall("vault", exact=True, receipt=True, author="assistant").receipt
    inner = db.view(world=ours).recall("vault", exact=True, receipt=True, author="assistant").receipt
    texts = [worlddb.recall_receipt_text(each) for each in (whole, inner) if each is not None]
    for text in texts:
        found = call(desk, "memory_check_recall", receipt=text, **asked)
        assert (found["verdict"], found["proved"], found["problems"]) == ("holds", 1, [])
    assert call(desk, "memory_check_recall", receipt=texts[0], question="safe")["verdict"] == "another_question"
    confined = Session(db, ours)
    assert call(confined, "memory_check_recall", receipt=texts[1], **asked)["verdict"] == "holds"
    with pytest.raises(InputError, match="This server serves one world"):
        call(confined, "memory_check_recall", receipt=texts[0], **asked)
    with pytest.raises(worlddb.MalformedFile):
        call(desk, "memory_check_recall", receipt="{}", question="vault")

    call(confined, "memory_attach", id=fact, name="plan.pdf", location="s3://b/plan.pdf", media_type="application/pdf")
    assert [each.location for each in db.view().artifacts(fact)] == ["s3://b/plan.pdf"]
    call(desk, "memory_attach", id=fact, name="plan.pdf", remove=True)
    assert db.view().artifacts(fact) == []
    with pytest.raises(InputError, match="Both location and remove"):
        call(desk, "memory_attach", id=fact, name="plan.pdf")

    (tool,) = (each for each in catalogue.tools_in_sets("operator") if each.name == "memory_define_relation")
    given = tool.takes.parse({"relation": "guards", "inverse": "guarded_by", "functional": True})
    tool.run(desk, given, Call("a client", "x"))
    assert "guards" in {each.name for each in db.view().edge_types()}
    with pytest.raises(InputError, match="This server serves one world"):
        tool.run(confined, given, Call("a client", "x"))


def test_what_is_given_wrongly_is_an_error_that_the_caller_can_mend_and_writes_nothing(
    db: worlddb.Database, seed: int
) -> None:
    draw = random.Random(seed)
    fact = db.create("Fact", "vault", content="the vault opens with 1234").ref
    db.create_at(API, content="Use REST")
    fitting = {
        "id": fact,
        "to": fact,
        "subject": fact,
        "object": fact,
        "kref": API,
        "relation": "supports",
        "version": 1,
    }
    fitting |= {
        "beliefs": {"summary": "x"},
        "tag": "t",
        "text": "x",
        "name": "n",
        "seq": 1,
        "reason": "r",
        "changes": 1,
    }
    tools, errors, head = (*BELIEFS, *catalogue.tools_in_sets("operator")), 0, db.head().seq
    desk = Session(db)
    for _ in range(400):
        tool = draw.choice(tools)
        fields = [field.name for field in msgspec.structs.fields(tool.takes)]
        given = {name: value for name, value in fitting.items() if name in fields and draw.random() < 0.8}
        given[draw.choice(fields)] = draw.choice((*JUNK, NOWHERE, [NOWHERE], {"summary": JUNK[6]}, "9999-99-99"))
        if not tool.read_only:
            given |= {draw.choice(fields): draw.choice(({}, [[]], 2**70, "\ud800")), **draw.choice(FORGED)}
        try:
            tool.run(desk, tool.takes.parse(given), Call("a client", tool.name))
        except (worlddb.WorldDBError, msgspec.ValidationError) as error:
            assert str(error)
            errors += 1
    assert errors > 200 and db.head().seq == head


def test_a_server_of_one_world_sees_and_makes_nothing_outside(db: worlddb.Database) -> None:
    theirs, ours = (db.create("Topic", name).ref for name in ("Theirs", "Ours"))
    db.create_at(API, content="theirs", within=theirs)
    secret = db.view(world=theirs).reference_of(API)
    desk = Session(db, ours)
    for name, given in (
        ("memory_resolve_kref", {"kref": API}),
        ("memory_tag", {"id": secret, "tag": "x"}),
        ("memory_deprecate", {"id": secret}),
        ("memory_impact", {"id": secret}),
        ("memory_provenance", {"id": secret}),
        ("memory_plan_withdrawal", {"id": secret}),
        ("memory_path", {"id": secret, "to": secret}),
    ):
        with pytest.raises(UnknownReference):
            call(desk, name, **given)
    made = call(desk, "memory_write_at", kref=API, text="ours")
    assert made["seq"] is None and made["id"] != secret
    assert call(desk, "memory_resolve_kref", kref=API)["memory"]["text"] == "ours"
    assert db.view(world=theirs).get(API).content == "theirs"  # type: ignore[union-attr]
    assert json.dumps(made).find(theirs) == -1


def test_a_recall_leaves_a_receipt_that_is_checked_kept_and_found_again(db: worlddb.Database) -> None:
    desk = Session(db)
    kettle = db.create("Fact", "kettle", content="Mara wants the blue kettle").ref
    found = call(desk, "memory_recall_receipt", query="which kettle does Mara want?", limit=1)
    assert [each["id"] for each in found["memories"]] == [kettle] and "Mara" not in found["receipt"]
    assert found["reference"].startswith("worlddb:belief:1:") and found["seq"] == db.head().seq
    given = {"receipt": found["receipt"], "question": "which kettle does Mara want?"}
    assert call(desk, "memory_check_recall", **given)["verdict"] == "holds"
    assert call(desk, "memory_receipts_of", id=kettle) == {"receipts": [], "more": 0}
    kept = call(desk, "memory_keep_receipt", receipt=found["receipt"])
    [told] = call(desk, "memory_receipts_of", id=kettle)["receipts"]
    assert (told["reference"], told["seq"]) == (found["reference"], kept["seq"])
    again = call(desk, "memory_recall_receipt", query="kettle", type="Fact", known=found["seq"], valid="2030-01-01")
    call(desk, "memory_keep_receipt", receipt=again["receipt"])
    assert call(desk, "memory_receipts_of", id=kettle, limit=1)["more"] == 1
    with pytest.raises(worlddb.MalformedFile):
        call(desk, "memory_keep_receipt", receipt=found["receipt"].replace('"seal":"', '"seal":"0'))
    with pytest.raises(InputError, match="There is no scope"):
        call(desk, "memory_recall_receipt", query="kettle", user_id="nobody")
    db.erase(kettle, reason="asked for")
    assert [each["hash"] for each in call(desk, "memory_receipts_of", id=kettle)["receipts"]] == [None, None]


def test_the_receipt_of_a_server_of_one_world_is_of_that_world(db: worlddb.Database) -> None:
    room = db.create("Topic", "room").ref
    fact = db.create("Fact", "", content="the kettle is blue", world=room).ref
    desk, outside = Session(db, world=room), Session(db)
    found = call(desk, "memory_recall_receipt", query="kettle")
    assert [each["id"] for each in found["memories"]] == [fact] and found["seq"] is None
    assert call(desk, "memory_keep_receipt", receipt=found["receipt"])["seq"] is None
    [told] = call(desk, "memory_receipts_of", id=fact)["receipts"]
    assert told["reference"] == found["reference"] and told["seq"] is None
    whole = call(outside, "memory_recall_receipt", query="kettle")["receipt"]
    with pytest.raises(InputError, match="the receipt is from another"):
        call(desk, "memory_keep_receipt", receipt=whole)
    assert len(call(desk, "memory_receipts_of", id=fact)["receipts"]) == 1


def operate(desk: Session, name: str, /, **arguments: Any) -> Any:
    (tool,) = (tool for tool in catalogue.tools_in_sets("operator") if tool.name == name)
    return msgspec.to_builtins(tool.run(desk, tool.takes.parse(arguments), Call("a client", name)))


def test_profiles_and_belief_settings_are_read_by_all_and_set_by_an_operator(db: worlddb.Database) -> None:
    desk, room = Session(db), db.create("Topic", "room").ref
    names = {tool.name for tool in catalogue.tools_in_sets("all,beliefs")}
    assert {"memory_profiles", "memory_belief_settings"} <= names
    assert not {"memory_set_profile", "memory_set_beliefs"} & names
    made = operate(desk, "memory_set_profile", id=room, node_types=["Fact"], relations=["supports"], why="small")
    assert made["outcome"] == "committed" and made["id"] == room
    [told] = call(desk, "memory_profiles")["profiles"]
    assert (told["name"], told["node_types"], told["relations"], told["why"]) == (
        "room",
        ["Fact"],
        ["supports"],
        "small",
    )
    assert not db.create("Note", "x", world=room)
    assert call(desk, "memory_profiles", id=room)["profiles"] == [told]
    operate(desk, "memory_set_profile", id=room, lift=True)
    assert call(desk, "memory_profiles")["profiles"] == [] and db.create("Note", "x", world=room)
    with pytest.raises(InputError, match="lift was given with a profile"):
        operate(desk, "memory_set_profile", id=room, lift=True, profile="arbiter")
    with pytest.raises(InputError, match="no node types"):
        operate(desk, "memory_set_profile", id=room, profile="nope")
    given = {"tags": ["decided"], "single": ["status"], "entrenchment": {"Decision": "recency"}}
    assert operate(desk, "memory_set_beliefs", **given)["outcome"] == "committed"
    seen = call(desk, "memory_belief_settings")
    assert "decided" in seen["tags"] and "status" in seen["single"]
    assert {kind.casefold(): how for kind, how in seen["entrenchment"].items()}["decision"] == "recency"
    assert "decided" not in call(desk, "memory_belief_settings", known=1)["tags"]
    operate(desk, "memory_set_beliefs", plain_tags=["decided"], many=["status"], entrenchment={"Decision": None})
    assert "decided" not in call(desk, "memory_belief_settings")["tags"]
    with pytest.raises(InputError, match="No setting was given"):
        operate(desk, "memory_set_beliefs")
    inside = Session(db, world=room)
    for name, arguments in (("memory_set_profile", {"lift": True}), ("memory_set_beliefs", {"tags": ["x"]})):
        with pytest.raises(InputError, match="This server serves one world"):
            operate(inside, name, **arguments)
    assert call(inside, "memory_profiles")["profiles"] == []
