"""Forgetting a user: with their world goes all in it, and what others have a part in stays and is listed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import worlddb
from tests.support.faults.traces import find_traces
from tests.support.running import LocalRunner
from tests.tools.mcp.test_mcp_tools import call
from worlddb import AmbiguousReference, Database, InputError, MembersNotSaid, UnknownReference, memory_scopes
from worlddb.log.store.environment import Environment
from worlddb.memory_scopes import Label, Scopes
from worlddb.tools.agents import recall, remember
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.session import Call, Session

OF_ANA = [
    *("marzipan", "Walpurga", "quicksilver", "rosewater", "Wally", "Sanatorium", "becauseof", "Turmeric", "retracted"),
    *("onceupon", "sessionof", "sumofall", "propertyof", "user:ana", "ana-evening", "earlierlife", "keyofana"),
]
"""Words that stand in nothing but what is Ana's: texts, names, aliases, reasons, properties, sources, keys, scopes."""


class Two(NamedTuple):
    """A store of two users."""

    db: Database
    refs: dict[str, str]


@pytest.fixture(scope="module")
def two_users(tmp_path_factory: pytest.TempPathFactory) -> Two:
    """The store, closed."""
    db = worlddb.open(tmp_path_factory.mktemp("two_users") / "store", author="tutor")
    desk = Session(db)
    refs = {}

    def write(name: str, text: str, **scopes: Any) -> None:
        refs[name] = call(desk, "memory_write", text=text, **scopes)["id"]

    write("first", "marzipan of an earlierlife", user_id="ana", run_id="ana-evening")
    call(desk, "memory_retire_scope", kind="user", scope_id="ana", confirm="user:ana")
    write("likes", "Ana likes marzipan", user_id="ana", agent_id="tutor", about=["Walpurga", "Acme"], why="becauseof")
    write("knee", "Ana has a quicksilver knee", user_id="ana", run_id="ana-evening", about=["Sanatorium"])
    call(desk, "memory_amend", id=refs["knee"], text="Ana has a rosewater knee")
    write("plan", "both go to the opera", user_id="ana", about=["Opera"])
    write("bobs", "Bob likes basalt", user_id="bob", agent_id="tutor")
    write("bobs too", "Bob has been at the foundry", user_id="bob", run_id="shared-run")
    write("ours", "Ana spoke of the retracted Turmeric", user_id="ana", run_id="shared-run")
    refs |= {name: db.view().find(name=f"user:{name}")[0].ref for name in ("ana", "bob")}
    acme = refs["acme"] = db.view().find(name="Acme")[0].ref
    db.alias(db.view().find(name="Walpurga")[0], "Wally")
    db.link(refs["bobs"], "refers_to", acme)
    db.link(refs["bob"], "contains", refs["plan"])
    outside = refs["outside"] = db.create("Entity", "Onceupon Street").ref
    edge = db.link(refs["likes"], "refers_to", outside, properties={"note": "propertyof"}).ref
    db.unlink(db.link(refs["likes"], "implies", refs["ours"], why="retracted").ref, why="sessionof")
    summary = db.create("Note", "sumofall", content="she likes marzipan", source={"of": "rosewater"})
    db.link(summary, "derived_from", refs["likes"])
    db.create("Note", "n", content="rosewater again", key="keyofana", world=refs["ana"], idempotency_key="keyofana")
    db.embed()
    db.catch_up()
    refs |= {"summary": summary.ref, "edge": edge}
    db.close()
    return Two(db, refs)


@pytest.fixture
def two(two_users: Two, tmp_path: Path) -> Iterator[Two]:
    """A copy of it, opened."""
    shutil.copytree(two_users.db.path, tmp_path / "store")
    with worlddb.open(tmp_path / "store", author="tutor") as db:
        yield Two(db, dict(two_users.refs))


def seen_by_bob(two: Two) -> list[Any]:
    view = two.db.view(world=two.refs["bob"])
    answers = [
        [(hit.ref, hit.content, hit.score, hit.reason) for hit in view.recall(asked)]
        for asked in ("basalt", "where has Bob been?", "opera")
    ]
    shown = [world for world in view.find() if world.ref != two.refs["plan"]]
    return [answers, shown, [view.hash(world) for world in shown], two.db.view().hash()]


def is_erased(db: Database, ref: object) -> bool:
    world = db.view().get(ref)
    assert world is not None
    return world.erased


def test_after_it_nothing_of_theirs_is_in_any_file_and_nothing_of_another_has_changed(two: Two) -> None:
    db, refs = two
    before = seen_by_bob(two)
    there = {found.rpartition(" ")[2].lower() for found in find_traces(db.path, OF_ANA)}
    assert there >= {word.lower() for word in OF_ANA if word != "keyofana"}, "they are found while they are there"
    with db._env.read() as txn:
        stored = {bytes(key): bytes(value) for key, value in txn.cursor() if bytes(key)[:1] == b"\x04"}
    plan = db.erasure_plan(db.refs_of_user("ana"), members=True)
    receipt = db.forget_user("ana", reason="request 17")
    assert find_traces(db.path, OF_ANA) == []
    proof = db.erasure_receipt(receipt)
    gone = {world.ref for world in proof.worlds}
    places = [(text.seq, text.position) for world in proof.worlds for text in world.texts]
    keys = [b"\x04" + seq.to_bytes(8, "big") + position.to_bytes(4, "big") for seq, position in places]
    # Texts and vectors alike: not a byte of them is left.
    blobs = [stored[key][at : at + 40] for key in keys for at in (0, 100)]
    blobs = [blob for blob in blobs if len(blob) == 40]
    files = b"".join(file.read_bytes() for file in db.path.rglob("*") if file.is_file() and file.name != "lock.mdb")
    assert len(blobs) > 30 and not any(blob in files for blob in blobs)
    assert (
        gone
        == set(plan.worlds)
        >= {refs[name] for name in ("first", "likes", "knee", "ours", "summary", "ana", "outside")}
    )
    assert not gone & {refs[name] for name in ("bob", "bobs", "bobs too", "plan", "acme")}
    assert db.verify(deep=True).ok and db.check_erasure(proof).ok
    assert seen_by_bob(two) == before
    db.rebuild()
    db.catch_up()
    assert find_traces(db.path, OF_ANA) == [] and seen_by_bob(two) == before


def test_what_others_have_a_part_in_stays_and_is_listed_with_the_reason(two: Two) -> None:
    db, refs = two
    plan = db.erasure_plan(db.refs_of_user("ana"), members=True)
    opera = db.view().find(name="Opera")[0].ref
    kept = {each.ref: (each.why, each.by) for each in plan.kept}
    assert kept == {
        refs["plan"]: ("contained", (refs["bob"],)),
        refs["acme"]: ("referred_to", (refs["bobs"],)),
        opera: ("referred_to", (refs["plan"],)),
    }
    assert db.head().seq == db.view().seq and refs["likes"] in plan.members and refs["ana"] not in plan.members
    assert refs["summary"] in plan.derived and refs["outside"] in plan.derived
    receipt = db.forget_user("ana", reason="request 17")
    (note,) = [note for note in receipt.notes if note.code == "shared_kept"]
    assert set(note.refs) >= set(kept)
    proof = db.erasure_receipt(receipt)
    assert set(proof.kept) == set(kept) and proof.kept_count == 3 and proof.authors == ("tutor",)
    assert db.check_erasure(proof) == worlddb.ErasureCheck(True, (), 3)
    db.erase(list(kept), reason="request 18")
    assert db.check_erasure(proof) == worlddb.ErasureCheck(True, (), 0)


def test_a_session_that_others_have_a_part_in_keeps_its_name(two: Two) -> None:
    two.db.forget_user("ana", reason="request 17")
    names = {world.name for world in two.db.view().find(type="Scope")}
    assert names == {"user:bob", "agent:tutor", "run:shared-run"}


def test_a_world_that_contains_others_is_not_erased_before_it_is_said_what_becomes_of_these(tmp_path: Path) -> None:
    """Its own name went, what it contained stayed, and everything said that it had worked."""
    with worlddb.open(tmp_path / "store") as db:
        topic = db.create("Topic", "Knee")
        inner = db.create("Topic", "Operation", world=topic)
        deep = db.create("Fact", "", content="on Friday", world=inner)
        shared = db.create("Fact", "", content="at the clinic", world=topic)
        db.link(db.create("Topic", "Clinic"), "contains", shared)
        head = db.head()
        for ask in (lambda: db.erase(topic, reason="r"), lambda: db.erasure_plan(topic)):
            with pytest.raises(MembersNotSaid, match="contains 2 other worlds") as raised:
                ask()
            assert "members=True" in raised.value.remedy and "members=False" in raised.value.remedy
        assert raised.value.details["members"] == 2 and db.head() == head
        left = db.erase(topic, reason="its name alone", members=False)
        assert [note.code for note in left.notes] == ["members_left"] and set(left.notes[0].refs) == {
            *(topic.ref, inner.ref, shared.ref)
        }
        checked = db.check_erasure(db.erasure_receipt(left))
        assert checked.ok and checked.kept == 3, "what it left still has its texts"
        assert db.erase(topic, reason="all", members=True).events == 2
        assert [is_erased(db, world) for world in (shared, deep)] == [False, True]
        assert db.check_erasure(db.erasure_receipt(left)).kept == 1
        alone = db.create("Topic", "Empty")
        assert db.erase(alone, reason="nothing is in it").notes == ()
        both = [db.create("Topic", "Box").ref]
        both.append(db.create("Note", "n", world=both[0]).ref)
        assert db.erase(both, reason="all of it is named").events == 2


def test_a_memory_forgets_its_user(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "store", user="ana", agent="tutor", session="monday") as mem:
        mem.add("Ana moved to Porto.", about=["Ana", "Sagrada"])
        mem.add([{"role": "user", "content": "I swim in the Douro"}, {"role": "assistant", "content": "Brave!"}])
        with worlddb.memory(mem.db, user="ben") as ben:
            ben.add("Ben lives in Faro.", about="Ben")
            mem.forget_user(reason="request 17")
            assert find_traces(mem.db.path, ["Porto", "Sagrada", "Douro", "Brave", "monday", "user:ana"]) == []
            assert ben.profile().people == {"ben": 1} and [hit.content for hit in ben.recall("Faro")] != []
        with pytest.raises(InputError, match="no user 'ana'"):
            mem.forget_user(reason="again")
        with worlddb.memory(mem.db, agent="tutor") as anybody, pytest.raises(InputError, match="of no user"):
            anybody.forget_user(reason="r")
        mem.add("Ana is back.", about="Ana")
        assert [hit.content for hit in mem.recall("who is back?")] == ["Ana is back."]


@pytest.mark.parametrize("type_", ["Scope", "User", "user", "Tenant"])
def test_with_what_is_somebodys_goes_what_it_contains_unless_that_is_to_stay(tmp_path: Path, type_: str) -> None:
    with worlddb.open(tmp_path / "store") as db:
        for members, goes in ((None, True), (False, False)):
            top = db.create(type_, "ana")
            inside = db.create("Fact", "", content="likes tea", world=top)
            db.erase(top, reason="r", members=members)
            assert is_erased(db, inside) is goes


def test_a_user_is_found_by_the_name_as_it_was_written(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        mine, theirs = (db.create("Tenant", name).ref for name in ("mine", "theirs"))
        for tenant in (mine, theirs):
            call(Session(db, tenant), "memory_write", text="likes tea", user_id="ana")
        anna = db.create("User", "Anna")
        remember(db, "Anna lives in Porto.", about="Anna", world=anna)
        for name in ("bob", "anna", "ANNA"):
            with pytest.raises(UnknownReference) as raised:
                db.forget_user(name, reason="r")
            assert raised.value.details["near"] == ([] if name == "bob" else ["Anna"])
        with pytest.raises(AmbiguousReference) as several:
            db.forget_user("ana", reason="r")
        assert len(several.value.details["candidates"]) == 2
        db.forget_user("ana", reason="r", world=mine)
        assert not list(db.view().worlds_of_user("ana", world=theirs)[0].content)
        assert len(db.view(world=theirs).recall("tea")) == 1 and not len(db.view(world=mine).recall("tea"))
        db.forget_user("ana", reason="r")
        db.forget_user(anna, reason="r")
        assert (
            recall(db, "where does Anna live?", world=anna) == [] and find_traces(db.path, ["likes tea", "Porto"]) == []
        )


def test_a_tenant_or_a_team_of_the_name_is_no_user(tmp_path: Path) -> None:
    """Whatever contained something was taken for the user whose name it had, and was erased with all in it."""
    with worlddb.open(tmp_path / "store") as db:
        for type_ in ("Tenant", "Topic", "Scope", "Conversation"):
            world = db.create(type_, "T1").ref
            db.create("Note", "n", content="kept", world=world)
        with pytest.raises(UnknownReference, match=r"no user: .* \(Tenant\)"):
            db.forget_user("T1", reason="r")
        assert len([world for world in db.view().find(type="Note") if world.content == "kept"]) == 4


def test_what_somebody_else_made_or_for_a_reason_is_no_mere_mention(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="agent") as db:
        operator = db.as_author("operator")
        made = {
            "theirs": db.create("Entity", "Sanatorium").ref,
            "operator's": operator.create("Topic", "Search team").ref,
            "for a reason": db.create("Topic", "Opening hours", why="for the help page").ref,
        }
        call(Session(db), "memory_write", text="Ana likes tea", user_id="ana")
        (memory,) = [world for world in db.view().find(type="Fact")]
        for ref in made.values():
            db.link(memory, "refers_to", ref)
        db.forget_user("ana", reason="r")
        assert {name: is_erased(db, ref) for name, ref in made.items()} == {
            "theirs": True,
            "operator's": False,
            "for a reason": False,
        }


def test_another_users_world_is_no_mere_mention(tmp_path: Path) -> None:
    """One who had a name and no memories yet would have lost it with whoever mentioned them."""
    with worlddb.open(tmp_path / "store") as db:
        ana, bob = db.create("User", "Ana"), db.create("User", "Bob")
        inside = db.create("Entity", "Cleo", world=bob)
        for other in (bob, inside):
            db.link(db.create("Fact", "", content="met them", world=ana), "refers_to", other)
        db.forget_user("Ana", reason="r")
        assert [world.name for world in db.view().find() if not world.erased] == ["Bob", "Cleo"]


def test_what_was_moved_out_is_theirs_no_more(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        ana, bob = db.create("User", "Ana"), db.create("User", "Bob")
        lent = db.create("Fact", "", content="the saw", world=ana)
        for_a_while = db.create("Fact", "", content="the drill", world=ana)
        db.move(lent, bob)
        db.move(for_a_while, bob, valid_from="2020-01-01", valid_to="2021-01-01")
        plan = db.erasure_plan(ana)
        assert (plan.members, [(each.ref, each.why) for each in plan.kept]) == ((), [(for_a_while.ref, "contained")])
        db.forget_user("Ana", reason="r")
        assert {world.content for world in db.view().find(type="Fact")} == {"the saw", "the drill"}


def test_the_command_forgets_a_user_with_a_receipt(
    two: Two, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two.db.close()
    run = LocalRunner(capsys, two.db.path)
    told = run("forget-user", "ana", "--dry-run")
    assert told.code == 0 and "inside" in told.out and "Acme" in told.out and "others refer to them" in told.out
    planned = run.json("forget-user", "ana", "--dry-run")
    assert planned["receipt"] is None and len(planned["kept"]) == 3
    assert run("forget-user", "ana").error == "usage"
    done = run.json("forget-user", "ana", "--reason", "request 17", "--receipt", tmp_path / "17.json")
    assert done["erased"] == planned["erased"] == len(done["receipt"]["worlds"]) > 8
    assert {each["name"]: each["why"] for each in done["kept"]} == {
        "both go to the opera": "contained",
        **dict.fromkeys(("Acme", "Opera"), "referred_to"),
    }
    assert json.loads((tmp_path / "17.json").read_text()) == done["receipt"]
    checked = run("check-receipt", tmp_path / "17.json")
    assert checked.code == 0 and "the listed texts are gone" in checked.out and "3 worlds inside" in checked.out
    assert run.json("check-receipt", tmp_path / "17.json")["kept"] == 3
    again = run("forget-user", "ana", "--reason", "request 17")
    assert (again.code, again.error) == (1, "unknown_reference")
    assert find_traces(two.db.path, OF_ANA) == []


def test_keys_in_the_file_beside_the_store_that_name_a_forgotten_user_are_told(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file lies beside the store, where no erasure comes, and the name stayed there without a word."""
    two.db.close()
    run = LocalRunner(capsys, two.db.path)
    assert run("key", "add", "phone", "--all", "--write", "--user", "ana").code == 0
    assert run("key", "add", "desk", "--all", "--write", "--user", "ben").code == 0
    for name in ("ana", "user:ana"):
        planned = run("forget-user", name, "--dry-run")
        assert "name the user: phone" in planned.out and "desk" not in planned.out
    done = run.json("forget-user", "ana", "--reason", "request 17")
    assert done["keys_beside"] == ["phone"]
    assert run("key", "remove", "phone").code == 0
    assert find_traces(two.db.path.with_name(f"{two.db.path.name}.keys").parent, ['"ana"']) == []


def test_a_model_may_forget_a_user_only_where_the_operator_says_so(two: Two) -> None:
    """Otherwise there is no such tool, and where one world is served there never is one that works."""
    db, desk = two.db, Session(two.db)
    assert "memory_forget_user" not in {tool.name for tool in catalogue.tools_in_sets("all")}
    (tool,) = (each for each in catalogue.tools_in_sets("operator") if each.name == "memory_forget_user")
    assert tool.destructive and not tool.read_only and len(tool.description) < 130

    def forget(session: Session, **given: Any) -> Any:
        taken = msgspec.convert({"user_id": "ana", "reason": "request 17", "confirm": "user:ana"} | given, tool.takes)
        return msgspec.to_builtins(tool.run(session, taken, Call("a client", tool.name)))

    head = db.head()
    for wrong, error in (({"confirm": "ana"}, "nothing was done"), ({"user_id": "Ana"}, "There is no scope")):
        with pytest.raises(InputError, match=error):
            forget(desk, **wrong)
    with pytest.raises(InputError, match="This server serves one world"):
        forget(Session(db, two.refs["ana"]))
    assert db.head() == head
    done = forget(desk)
    assert {each["name"]: each["why"] for each in done["kept"]}["Acme"] == "referred_to" and len(done["kept"]) == 3
    assert done["erased"] == len(done["receipt"]["worlds"]) and db.check_erasure(done["receipt"]).ok
    assert find_traces(db.path, OF_ANA) == []


def test_the_command_asks_what_becomes_of_what_is_inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.create("Fact", "Day", content="on Friday", world=db.create("Topic", "Knee"))
    run = LocalRunner(capsys, tmp_path / "store")
    asked = run("erase", "Knee", "--reason", "r", "--yes")
    assert (asked.code, asked.error) == (2, "members_not_said")
    assert "--members" in asked.err and "--no-members" in asked.err and "=" not in asked.err
    for words in ((), ("--members",)):
        planned = run("erase", "Knee", *words, "--dry-run")
        assert "with 1 world inside" in planned.out and "Day" in planned.out
        assert ("say --members or --no-members" in planned.out) == (not words)
    left = run("erase", "Knee", "--no-members", "--reason", "r", "--yes")
    assert left.code == 0 and "kept 1 world" in left.out and "Day" in left.out


def test_a_memory_forgets_its_own_user_alone_whatever_they_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name was looked up as an operator's, which may be that of a scope, or a reference."""
    with worlddb.open(tmp_path / "store") as db:
        ana = worlddb.memory(db, user="ana")
        kept = ana.add("Ana's code is 1234.").id
        (scope,) = db.view().find(name="user:ana", type="Scope")
        for name in (kept, scope.ref, kept[:12], "user:bob"):
            with pytest.raises(UnknownReference, match="There is no user"):
                worlddb.memory(db, user=name).forget_user(reason="r")
        eve = worlddb.memory(db, user="user:ana")
        with monkeypatch.context() as earlier:  # Earlier releases took such a name.
            earlier.setattr(memory_scopes, "_refuse_form", lambda label: None)
            eve.add("Eve likes tea.")
        eve.add("Eve likes rice.")
        with pytest.raises(AmbiguousReference):
            db.forget_user("user:ana", reason="r")
        eve.forget_user(reason="r")
        assert [hit.content for hit in ana.recall("code")] == ["Ana's code is 1234."] and not eve.recall("tea").hits
        assert [world.ref for world in db.view().worlds_of_user("user:ana")[:1]] == [scope.ref]


def test_a_user_of_the_name_who_lies_elsewhere_is_another_one(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        bob = worlddb.memory(db, user="bob")
        bob.add("Bob's code is 1234.")
        other = db.create("User", "bob", world=db.create("Tenant", "Acme"))
        theirs = db.create("Fact", "", content="Bob of Acme likes zebras.", world=other).ref
        with pytest.raises(AmbiguousReference):
            db.forget_user("bob", reason="r")
        bob.forget_user(reason="r")
        assert not bob.recall("code").hits and db.view().get(theirs) is not None


def test_a_users_key_begins_no_other_user_and_none_within_makes_a_name_ambiguous(tmp_path: Path) -> None:
    """A key of Ana's world wrote for Ben: it lay in Ana's memory, and Ben could be neither asked for nor forgotten."""
    with worlddb.open(tmp_path / "store") as db:
        worlddb.memory(db, user="ana").add("Ana likes tea.")
        worlddb.memory(db, user="ben").add("Ben likes rum.")
        view = db.view()
        (ana,), (ben,) = view.worlds_of_user("ana"), view.worlds_of_user("ben")
        served = Scopes(db, ana.ref)
        with pytest.raises(InputError, match="'user:ben' is not the user of this world, 'ana'") as told:
            served.key(view.confined(ana.ref), Label("user", "ben"))
        assert "Write as 'ana'" in told.value.remedy
        assert served.key(view.confined(ana.ref), Label("user", "ana"))[2:4] == ("user", "ana")
        assert served.key(view, Label("run", "tuesday"))[2:4] == ("run", "tuesday")
        db.create("Scope", "user:ben", world=ana.ref)
        assert [world.ref for world in db.view().worlds_of_user("ben")] == [ben.ref]
        db.forget_user("ben", reason="r")
        assert not worlddb.memory(db, user="ben").recall("rum").hits


@pytest.mark.parametrize("how", ["memory", "store", "server"])
@pytest.mark.parametrize("place", ["beside", "elsewhere", "of a fork", "retired"])
def test_what_was_tried_in_a_fork_of_a_user_is_forgotten_with_them(tmp_path: Path, how: str, place: str) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        ana = worlddb.memory(db, user="ana", session="talk")
        ana.add("Ana lives in Porto.")
        ana.add([{"role": "user", "content": "I like marzipan."}])
        own = db.view().worlds_of_user("ana")[0].ref
        fork = db.fork(own, "what if", into=db.create("Topic", "Lab") if place == "elsewhere" else None).ref
        db.create("Fact", "", content="In the fork Ana sells quicksilver.", world=fork)
        if place == "of a fork":
            db.create("Fact", "", content="She buys rosewater.", world=db.fork(fork, "what then").ref)
        if place == "retired":
            db.retire(fork)
        assert [each.ref for each in db.view().worlds_of_user("ana")] == [own]
        if how == "memory":
            ana.forget_user(reason="r")
        elif how == "store":
            db.forget_user("ana", reason="r")
        else:
            (tool,) = (each for each in catalogue.tools_in_sets("operator") if each.name == "memory_forget_user")
            given = {"user_id": "ana", "reason": "r", "confirm": "user:ana"}
            tool.run(Session(db), msgspec.convert(given, tool.takes), Call("a client", tool.name))
        assert db.verify(deep=True).ok
    assert not find_traces(tmp_path / "store", ["Porto", "marzipan", "quicksilver", "rosewater"])


@pytest.mark.parametrize("how", ["memory", "store", "server"])
def test_what_another_process_begins_for_a_user_while_they_are_forgotten_is_erased_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with worlddb.memory(tmp_path / "store", user="ana", embedder=None) as mem:
        mem.add("Ana's first tortoise.")
        locked, db = Environment.write, mem.db

        def late(env: Environment, *given: Any, **named: Any) -> Any:
            monkeypatch.setattr(Environment, "write", locked)
            db.retire(db.view().find(name="user:ana")[0], members=True)
            mem.add("Ana's second one, a zebra.")
            return locked(env, *given, **named)

        monkeypatch.setattr(Environment, "write", late)
        if how == "memory":
            mem.forget_user(reason="request 17")
        elif how == "store":
            db.forget_user("ana", reason="request 17")
        else:
            (tool,) = (each for each in catalogue.tools_in_sets("operator") if each.name == "memory_forget_user")
            given = {"user_id": "ana", "reason": "request 17", "confirm": "user:ana"}
            tool.run(Session(db), msgspec.convert(given, tool.takes), Call("a client", tool.name))
        assert mem.recall("zebra").hits == () and len(db.erasure_receipt(db.head().seq).worlds) == 4
        assert not [each for each in db.view().find(include_superseded=True) if "Ana's" in each.content]
        assert db.finish_erasures(wait_seconds=5) and find_traces(db.path, ["zebra", "tortoise"]) == []


def test_a_receipt_names_the_copies_that_were_not_reached(tmp_path: Path) -> None:
    """They were listed by `erasure_receipt` alone, which nobody calls who is told that all is gone."""
    with worlddb.open(tmp_path / "store", author="a", embedder=None) as db:
        mem, other = worlddb.memory(db, user="ana"), worlddb.memory(db, user="bob")
        other.add("Bob likes tea.")
        db.backup(tmp_path / "before")
        mem.add("Ana likes tea.")
        db.backup(tmp_path / "copy")
        done = mem.forget_user(reason="asked")
        (note,) = (each for each in done.notes if each.code == "copies_remain")
        assert note.refs == (f"backup at {tmp_path / 'copy'}",)
        assert str(tmp_path / "copy") in str(note) and "db.erasure_receipt" in str(note)
        assert set(note.refs) < set(db.erasure_receipt(done).not_reached)
        db.backup(tmp_path / "copy")
        gone = mem.add("Ana likes milk.").id
        assert "copies_remain" not in [each.code for each in db.erase(gone, reason="asked").notes]
        told = db.forget_user("bob", reason="asked")
        assert {ref for each in told.notes if each.code == "copies_remain" for ref in each.refs} == {
            f"backup at {tmp_path / each}" for each in ("before", "copy")
        }
        assert db.verify(deep=True).ok
