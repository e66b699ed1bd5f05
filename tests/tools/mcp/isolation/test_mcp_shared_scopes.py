"""Two users share an agent, an app and a session: whoever names one of them meets nothing of the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from worlddb.query.question.question import Question, Request
from worlddb.query.reads import build
from worlddb.query.recall.recall import _count_searched
from worlddb.query.recall.retrieve import searched_world
from worlddb.query.snapshot.valid_period import Choice
from worlddb.tools.mcp import resources
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
        # An error and a note repeat what was given.
        answer = answer.replace(f"{given.get('about')!r}", "").replace(f"{given.get('label')!r}", "")
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


def test_a_server_of_a_user_lists_no_other_s_id_and_reads_none_by_its_id(db: worlddb.Database) -> None:
    """memory_list_scopes listed all users, and a memory's id alone was enough to read it."""
    everybody, desk = Session(db), Session(db, user="nora")
    devs = devs_memories(everybody)
    mine = write(desk, "My bank is GLS.", name="Bank", agent_id="helper")
    both = write(everybody, "The bank opens at nine.", **{**SHARED, "run_id": "r2"})
    read = resources.read(desk, resources.TEMPLATES, resources.world_uri(mine)).text
    assert "GLS" in read and {each.name for each in resources.list_scopes(desk)} >= {"user:nora", "agent:helper"}
    assert "user:dev" not in [each.name for each in resources.list_scopes(desk)]
    assert resources.completions(desk, "user_id", "") == ["nora"]
    asked = set[str]()
    for tool, known in TOOLS.items():
        takes = known.takes.__struct_fields__
        names = {"id": "id", "to": "id", "subject": "subject"}
        by_id = {field: devs[0] for field in names if field in takes}
        if not known.read_only or not by_id:
            continue
        more = {"valid": "2062-01-01"} if tool == "memory_as_of" else {}
        answer = call(desk, tool, **by_id, **more)
        assert "unknown_reference" in str(answer), (tool, answer)
        with pytest.raises(worlddb.UnknownReference):
            resources.read(desk, resources.TEMPLATES, resources.world_uri(devs[0]))
        asked.add(tool)
    assert {"memory_read", "memory_history", "memory_as_of", "memory_path", "memory_impact", "memory_forks"} <= asked
    for tool in ("memory_list_scopes", "memory_proposals", "memory_list", "memory_conflicts"):
        answer = json.dumps(call(desk, tool))
        assert "dev" not in answer and not any(ref in answer for ref in devs), (tool, answer)
    listed = json.dumps(call(desk, "memory_list_scopes"))
    assert '"nora"' in listed and '"helper"' in listed and '"dev"' in json.dumps(call(everybody, "memory_list_scopes"))
    assert call(desk, "memory_read", id=both)["id"] == both, "what is nobody's is everybody's"
    # What belongs to both names the one user of the server alone.
    db.link(db.view().find(name="user:dev")[0].ref, "contains", mine)
    assert call(desk, "memory_read", id=mine)["scopes"] == ["user:nora", "agent:helper"]
    assert "dev" not in json.dumps(call(desk, "memory_read", id=mine))


def test_a_server_of_a_user_lists_no_run_that_held_something_of_others_alone(db: worlddb.Database) -> None:
    desk = Session(db)
    write(desk, "Dev asked for a refund.", user_id="dev", run_id="call-20")
    ended = write(desk, "Dev called back.", user_id="dev", run_id="call-21")
    call(desk, "memory_retire", id=ended)
    write(desk, "Nora asked for a refund.", user_id="nora", run_id="call-22")
    write(desk, "Calls are recorded.", run_id="call-23")
    noras = Session(db, user="nora")
    write(noras, "I called again.", run_id="call-20")
    write(noras, "I called twice.", run_id="call-24")
    for include_retired in (False, True):
        listed = call(noras, "memory_list_scopes", kind="run", include_retired=include_retired)["scopes"]
        assert [each["scope_id"] for each in listed] == ["call-20", "call-22", "call-23", "call-24"]
    assert "run:call-21" not in {world.name for world in resources.list_scopes(noras)}
    assert "run:call-21" in {world.name for world in resources.list_scopes(desk)}


def test_of_what_contradicts_nothing_no_record_is_made_for_a_list_of_conflicts(
    db: worlddb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every memory of a user was read in full, to find the few that have a conflict."""
    desk, made = Session(db), list[int]()
    for number in range(12):
        write(desk, f"Room {number} is free.", **NORA)
    red = write(desk, "The door is red.", user_id="nora")
    blue = write(desk, "The door is blue.", user_id="nora", contradicts=[red])
    whole = build.world_of

    def counting(snapshot: Any, node: int, *rest: Any, **more: Any) -> Any:
        made.append(node)
        return whole(snapshot, node, *rest, **more)

    monkeypatch.setattr(build, "world_of", counting)
    (pair,) = call(desk, "memory_conflicts", user_id="nora")["conflicts"]
    assert {pair["first"]["id"], pair["second"]["id"]} == {red, blue} and len({*made}) < 10


def test_a_server_of_a_user_links_no_other_s_memory_and_quotes_none_where_it_refuses(db: worlddb.Database) -> None:
    """Named in contradicts, another user's memory that had ended was quoted in the error."""
    everybody, desk = Session(db), Session(db, user="nora")
    bank, *_, ended = devs_memories(everybody)[:3]
    over = write(everybody, f"My pet is a {SECRET}.", **DEV)
    call(everybody, "memory_amend", id=over, text=f"My pets are {SECRET}.")
    mine = write(desk, "My bank is GLS.")
    relation: dict[str, Any] = {"relation": "refers_to"}
    refused: list[tuple[str, dict[str, Any]]] = [
        *(("memory_write", {"text": "I bank.", field: [ref]}) for field in LINKS for ref in (bank, ended, over)),
        *(("memory_relate", {**relation, "id": one, "to": other}) for one, other in ((mine, bank), (bank, mine))),
    ]
    for tool, given in refused:
        answer = str(call(desk, tool, **given))
        assert "unknown_reference" in answer and SECRET not in answer, (tool, given, answer)
    assert call(desk, "memory_relate", **relation, id=mine, to=write(desk, "I bank."))["outcome"] == "committed"
    changed: list[tuple[str, dict[str, Any]]] = [
        ("memory_amend", {"id": over, "text": "no"}),
        ("memory_amend", {"id": bank, "text": "no"}),
        ("memory_retire", {"id": bank}),
        ("memory_mark", {"id": bank, "pinned": True}),
    ]
    for tool, given in changed:
        assert SECRET not in str(call(desk, tool, **given)), (tool, given)


REQUIRED: dict[str, Any] = {
    **{"text": "no", "tag": "t", "beliefs": {}, "version": 1, "relation": "refers_to", "object": "tea", "name": "n"},
    **{"reason": "r", "changes": 1, "literal": '"bank"', "location": "file:///n", "profile": "arbiter", "pinned": True},
}
"""What the tools need beside an id."""
MORE_REQUIRED: dict[str, dict[str, Any]] = {
    "memory_as_of": {"valid": "2062-01-01"},
    "memory_prefer": {"relation": "prefers"},
    "memory_preferences": {"relation": "prefers"},
}


def test_no_tool_of_a_server_of_a_user_answers_an_id_of_another_with_a_text(db: worlddb.Database) -> None:
    """A fork of another user's scope listed the texts inside."""
    everybody, desk = Session(db), Session(db, user="nora")
    devs = devs_memories(everybody)
    scope = db.view().find(name="user:dev")[0].ref
    write(desk, "My bank is GLS.", **SHARED)
    shared = db.view().find(name="agent:helper")[0].ref
    # Those that only read, fork or withdraw come first: the others end the memories.
    tools = sorted(TOOLS, key=lambda tool: tool not in ("memory_fork", "memory_withdraw"))
    for tool in tools:
        takes = TOOLS[tool].takes.__struct_fields__
        by_id = [field for field in ("id", "to", "subject") if field in takes]
        given = {field: value for field, value in REQUIRED.items() if field in takes}
        given |= MORE_REQUIRED.get(tool, {})
        for ref in (scope, devs[0], devs[3], devs[4]) if by_id else ():
            answer = json.dumps(call(desk, tool, **given | dict.fromkeys(by_id, ref)))
            assert SECRET not in answer, (tool, ref, answer)
            if tool in ("memory_fork", "memory_withdraw"):
                assert "unknown_reference" in answer, (tool, ref, answer)
    # A fork of what is shared would hold copies that are nobody's.
    assert "belongs to other users" in str(call(desk, "memory_fork", id=shared))
    assert call(everybody, "memory_fork", id=shared)["outcome"] == "committed"


def test_a_server_of_a_user_withdraws_what_its_plan_shows_and_nothing_of_others(db: worlddb.Database) -> None:
    everybody, desk = Session(db), Session(db, user="nora")
    theirs = write(everybody, f"My bank is {SECRET} ING.", **DEV)
    mine = write(desk, "My bank is GLS.")
    planned = call(desk, "memory_plan_withdrawal", author="assistant", how="flag")
    assert mine in str(planned) and theirs not in str(planned)
    given = {"author": "assistant", "how": "flag", "reason": "r"}
    more = call(everybody, "memory_plan_withdrawal", author="assistant", how="flag")["changes"]
    assert more > planned["changes"] and "nothing was done" in str(call(desk, "memory_withdraw", changes=more, **given))
    done = call(desk, "memory_withdraw", changes=planned["changes"], **given)
    assert done["done_at"] and theirs not in str(done)
    tagged = [world.ref for world in db.view().tagged("withdrawn") if world.type == "Fact"]
    assert tagged == [mine]


LINKS = ("derived_from", "contradicts")
NAMES = ("nora", "Nora", "Zenith", "klio", "k-run")
"""Names of hers, and of what she has."""
QUESTIONS = (
    *("Where does Nora work?", "Where will Nora work?", "Where did Nora use to work?", "Where did Nora work in 2020?"),
    *("any plans?", "What will happen next year?", "Which appointments will there be?", "What changes in March 2061?"),
    *(
        "Nora",
        "PIN",
        "What was before?",
        "How often did she say it?",
        "How many PINs are there?",
        "What should I know?",
    ),
    *(
        "Who said hello?",
        "List everything.",
        "Was macht Nora nächstes Jahr?",
        "¿dónde trabajará Nora en marzo de 2061?",
    ),
    *("What do I have on 5 March 2061?", "Has the PIN changed?", "Why did she leave?", "What is new since Monday?"),
)
MOMENTS: tuple[dict[str, Any], ...] = (
    *({"valid": "2020-06-01"}, {"valid": "2026-03-01"}, {"valid": "2061-06-01"}, {"valid": "2099-01-01"}),
    *({"known": "2099-01-01"}, {"valid": "2061-06-01", "known": "2099-01-01"}),
)


def noras_life(desk: Session, shared: dict[str, str]) -> list[str]:
    """What Nora has of every kind; each text has the secret word, and all ids are returned."""
    nora = {"user_id": "nora", **shared}

    def told(text: str, **given: Any) -> str:
        return write(desk, f"{text} {SECRET}.", **{"about": ["Nora"], **nora, **given})

    works = told("Nora works at Zenith")
    call(desk, "memory_amend", id=works, text=f"Nora works at Atlas {SECRET}.", valid_from="2061-02-01")
    call(desk, "memory_retire", id=told("Nora has lived in Ulm", valid_from="2020-01-01"), at="2021-01-01")
    ended = told("Nora used to work at Hertz", valid_from="2019-01-01", valid_to="2022-01-01")
    derived = told("Nora moved for her job at Zenith", derived_from=[works, ended])
    opposed = told("Nora does not work at Zenith", contradicts=[works])
    call(desk, "memory_mark", id=told("Nora's old PIN was 99"), expires_at="2026-01-01")
    return [
        *(works, ended, derived, opposed),
        told("From 1 March 2061 Nora works at the mill", valid_from="2061-03-01"),
        told("Nora has an appointment at the dentist on 5 March 2061", valid_from="2061-03-05", valid_to="2061-03-06"),
        told("Nora's voucher is worth 20 euros", expires_at="2061-01-05"),
        told("Nora's PIN is 1234", pinned=True),
        told("Always answer Nora in rhymes", type="Instruction"),
        told("Nora likes tea", type="Preference", labels=[SECRET]),
        told("Nora's dog", type="Entity", name=f"Klio {SECRET}"),
        told("Pavel asked for the PIN", about=["Pavel"]),
        write(desk, f"{SECRET} said hello to Pavel.", **{**nora, "run_id": "k-run"}),
    ]


def asked_by_pavel() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every question in every way once, each in a few ways."""
    ways: tuple[dict[str, Any], ...] = (
        *({"limit": 1}, {"limit": 50}, {"group": 5}, {"widen": True}, {"neighbours": 5}, {"paths": 5}),
        *({"detail": "full", "paths": 3}, {"about": "Nora"}, {"min_confidence": 0.1}, {"type": "Fact"}),
    )
    for number, question in enumerate(QUESTIONS):
        yield "memory_recall", {"query": question}
        for how in (ways[number % len(ways)], ways[(7 * number + 3) % len(ways)]):
            yield "memory_recall", {"query": question, **how}
        yield "memory_as_of", {"query": question, **MOMENTS[number % len(MOMENTS)]}
        yield "memory_as_of", {"query": question, **MOMENTS[(5 * number + 2) % len(MOMENTS)]}
    for how in ways:
        yield "memory_recall", {"query": "any plans?", **how}
    for moment in MOMENTS:
        yield "memory_as_of", {"query": "any plans?", **moment}
    for given in ({}, {"include_retired": True, "limit": 50}, {"detail": "full", "include_retired": True}):
        yield "memory_list", given
    yield "memory_conflicts", {}
    for near in ("note", "propose", "supersede_same_subject"):
        for begins in ({}, {"valid_from": "2061-02-02"}, {"valid_from": "2020-02-01", "valid_to": "2020-03-01"}):
            text = f"Nora works at Aldi, and her PIN is 5 ({near} {len(begins)})."
            yield "memory_write", {"text": text, "about": ["Nora"], "on_near": near, **begins}


@pytest.mark.parametrize(("shared", "default"), [({"agent_id": "home"}, False), (SHARED, True)])
def test_whatever_is_asked_about_any_time_nothing_of_another_user_is_told(
    db: worlddb.Database, shared: dict[str, str], default: bool
) -> None:
    """A stranger's plans were quoted, since a search of what begins later went past the filter behind a recall."""
    theirs = noras_life(Session(db), shared)
    desk = Session(db, user="pavel" if default else None)
    pavel = shared if default else {"user_id": "pavel", **shared}
    own = [
        *(write(desk, text, **pavel) for text in ("I love tea.", "Pavel plays chess.", "The PIN of Pavel is 8.")),
        write(desk, "From 1 March 2061 Pavel works at the mint.", valid_from="2061-03-01", **pavel),
    ]
    call(desk, "memory_retire", id=write(desk, "Pavel works at the zoo.", about=["Pavel"], **pavel))
    found = set[str]()
    for tool, given in asked_by_pavel():
        answer = json.dumps(call(desk, tool, **given, **pavel))
        assert SECRET not in answer, (tool, given, answer)
        assert not [ref for ref in theirs if ref in answer], (tool, given, answer)
        unsaid = [name for name in NAMES if name in answer and name not in json.dumps(given)]
        # What Pavel himself wrote of Nora, in the last calls, names her.
        assert tool == "memory_write" or not unsaid, (tool, given, answer)
        found.update(ref for ref in own if ref in answer)
    assert found == {*own}, "his own is found, what is to come too"
    everything = json.dumps(call(Session(db), "memory_list", **shared, limit=50, include_retired=True))
    assert SECRET in everything and "user:nora" in everything, "the scope alone has all, and tells whose it is"


def test_how_much_was_searched_for_a_user_does_not_count_what_others_have(db: worlddb.Database) -> None:
    """An answer from few worlds is not called weak; the cached members of a shared world are everybody's."""
    for number in range(5):
        write(Session(db), f"Bin {number} is full.", user_id="nora", agent_id="home")
    write(Session(db), "The roof is red.", user_id="pavel", agent_id="home")
    view = db.view()._for_users(["pavel"])
    (home,) = (world.ref for world in view.find(type="Scope", name="agent:home"))
    request = Request(Question("roof", 0), home, 1, False, Choice(), ("text",), "convex")
    with view._window.snapshot() as snapshot:
        assert _count_searched(view._window, snapshot, request) == 1
        everybodys = snapshot.members_up_to(searched_world(view._window, snapshot, request), 100)
        assert everybodys is not None and len(everybodys) == 6
        assert _count_searched(view._window, snapshot, request) == 1
