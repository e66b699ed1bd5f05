"""Models' slips are told before anything is written, with what to do instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from tests.tools.mcp.test_mcp_tools import call, texts
from worlddb import InputError, Note, UnknownReference
from worlddb.tools.agents import forget, recall, remember
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.mcp_wording import explain_note
from worlddb.tools.mcp.session import Call, Session


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        yield store


def write(desk: Session, text: str, **given: Any) -> str:
    return str(call(desk, "memory_write", text=text, user_id="ada", **given)["id"])


@pytest.mark.parametrize("confined", [False, True])
def test_what_was_amended_is_not_amended_again_but_what_took_its_place(db: worlddb.Database, confined: bool) -> None:
    """Two would hold in place of one. The model has the old id from an earlier answer, or another one was faster."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    old = write(desk, "Ada is allergic to nuts.")
    new = call(desk, "memory_amend", id=old, text="Ada is allergic to nuts and soy.")["id"]
    head = db.head()
    with pytest.raises(InputError) as raised:
        call(desk, "memory_amend", id=old, text="Ada is allergic to nuts and milk.")
    assert f"{new} took its place, and says “Ada is allergic to nuts and soy.”" in raised.value.message
    assert raised.value.remedy == f"Amend {new} if that is wrong too"
    assert db.head() == head
    last = call(desk, "memory_amend", id=new, text="Ada is allergic to nuts, soy and milk.")["id"]
    with pytest.raises(InputError, match=f"{last} took its place"):
        call(desk, "memory_amend", id=old, text="Ada is allergic to nuts and milk.")
    assert texts(call(desk, "memory_list", user_id="ada")) == ["Ada is allergic to nuts, soy and milk."]


def test_an_amendment_that_is_sent_again_is_one(db: worlddb.Database) -> None:
    """Its answer was lost."""
    desk = Session(db)
    old = write(desk, "Ada lives in Riga.", valid_from="2020-01-01")
    given = {"id": old, "text": "Ada lives in Oslo.", "valid_from": "2024-01-01"}
    first, head = call(desk, "memory_amend", **given), db.head()
    again = call(desk, "memory_amend", **given)
    assert (again["id"], again["outcome"], again["written_at"]) == (first["id"], "unchanged", None)
    assert again["notes"] == [f"{old} already had this amendment: nothing was written"] and db.head() == head
    (tool,) = (tool for tool in TOOLS if tool.name == "memory_amend")
    assert tool.idempotent and not tool.destructive


@pytest.mark.parametrize("confined", [False, True])
def test_an_amendment_that_arrives_late_takes_its_place_in_between(db: worlddb.Database, confined: bool) -> None:
    """It was refused with the advice to amend what followed, and that lost what had been said of it."""
    desk = Session(db, db.create("Topic", "mine", valid_from="2020-01-01").ref if confined else None)
    rent = write(desk, "The rent is 150.", valid_from="2024-01-01")
    later = call(desk, "memory_amend", id=rent, text="The rent is 190.", valid_from="2026-01-01")["id"]
    given = {"id": rent, "text": "The rent is 175.", "valid_from": "2025-01-01"}
    late = call(desk, "memory_amend", **given)
    assert (
        f"{late['id']} is not valid where {later} is, which replaces the same memory and begins later" in late["notes"]
    )

    def held() -> list[list[str]]:
        answers = (call(desk, "memory_as_of", query="what is the rent?", valid=f"{2024 + n}-06-01") for n in range(3))
        return [texts(each) for each in answers]

    assert held() == [["The rent is 150."], ["The rent is 175."], ["The rent is 190."]]
    head = db.head()
    again = call(desk, "memory_amend", **given)
    assert (again["id"], again["outcome"]) == (late["id"], "unchanged") and db.head() == head
    with pytest.raises(InputError, match=f"is no longer valid: {late['id']} took its place"):
        call(desk, "memory_amend", id=rent, text="The rent is 170.", valid_from="2025-01-01")
    call(desk, "memory_amend", id=rent, text="The rent is 190.", valid_from="2024-09-01")
    assert held() == [["The rent is 150."], ["The rent is 175."], ["The rent is 190."]]
    call(desk, "memory_retire", id=later, at="2026-03-01")
    assert held()[2] == []
    assert db.verify(deep=True).ok


def test_an_amendment_of_a_later_time_that_is_sent_again_is_one(db: worlddb.Database) -> None:
    desk = Session(db)
    old = write(desk, "Ada lives in Riga.", valid_from="2020-01-01")
    given = {"id": old, "text": "Ada lives in Oslo.", "valid_from": "2999-01-01"}
    first, head = call(desk, "memory_amend", **given), db.head()
    again = call(desk, "memory_amend", **given)
    assert (again["id"], again["outcome"]) == (first["id"], "unchanged") and db.head() == head
    assert call(desk, "memory_amend", id=old, text="Ada lives in Bonn.")["outcome"] == "committed"


def test_an_amendment_that_begins_before_what_it_amends_leaves_no_two_that_hold(db: worlddb.Database) -> None:
    desk = Session(db)
    riga = write(desk, "Ada lives in Riga.", valid_from="2020-01-01")
    oslo = call(desk, "memory_amend", id=riga, text="Ada lives in Oslo.", valid_from="2024-06-01")["id"]
    bonn = call(desk, "memory_amend", id=oslo, text="Ada lives in Bonn.", valid_from="2024-03-01")
    assert f"{riga} ends earlier than before: its replacement now begins earlier" in bonn["notes"]

    def held(valid: str, known: int | None = None) -> list[str]:
        found = call(desk, "memory_as_of", query="where does Ada live?", valid=valid, known=known, user_id="ada")
        return texts(found)

    assert held("2024-02-01") == ["Ada lives in Riga."]
    assert held("2024-04-01") == held("2024-07-01") == ["Ada lives in Bonn."]
    assert held("2024-04-01", bonn["seq"] - 1) == ["Ada lives in Riga."]
    assert db.verify(deep=True).ok


def test_an_amendment_of_what_another_one_is_to_replace_holds_until_then(db: worlddb.Database) -> None:
    desk = Session(db)
    riga = write(desk, "Ada lives in Riga.", valid_from="2020-01-01")
    oslo = call(desk, "memory_amend", id=riga, text="Ada will live in Oslo.", valid_from="2999-01-01")["id"]
    jelgava = call(desk, "memory_amend", id=riga, text="Ada lives in Jelgava.")
    told = f"{jelgava['id']} is not valid where {oslo} is, which replaces the same memory and begins later"
    assert told in jelgava["notes"]
    assert texts(call(desk, "memory_list", user_id="ada")) == ["Ada lives in Jelgava."]
    later = call(desk, "memory_as_of", query="where does Ada live?", valid="2999-02-01", user_id="ada")
    assert texts(later) == ["Ada will live in Oslo."]
    head = db.head()
    with pytest.raises(InputError, match=f"holds until 2999-01-01T00:00:00Z: {oslo} takes its place") as raised:
        call(desk, "memory_amend", id=jelgava["id"], text="Ada lives in Bonn.", valid_from="2999-03-01")
    assert raised.value.remedy == f"Amend {oslo} if that is wrong too" and db.head() == head


def test_an_amendment_of_what_is_still_to_come_is_still_to_come(db: worlddb.Database) -> None:
    """It held from now on, in place of what held until then."""
    desk = Session(db)
    riga = write(desk, "Ada lives in Riga.", valid_from="2020-01-01")
    oslo = call(desk, "memory_amend", id=riga, text="Ada will live in Oslo.", valid_from="2999-01-01")["id"]
    bonn = call(desk, "memory_amend", id=oslo, text="Ada will live in Bonn.")
    assert any("It holds from 2999-01-01T00:00:00Z on" in note for note in bonn["notes"])
    assert texts(call(desk, "memory_list", user_id="ada")) == ["Ada lives in Riga."]
    with pytest.raises(InputError, match=f"is no longer valid: {bonn['id']} took its place"):
        call(desk, "memory_amend", id=oslo, text="Ada will live in Paris.")
    early = call(desk, "memory_amend", id=bonn["id"], text="Ada lives in Bonn.", valid_from="2024-01-01")["id"]
    assert [row["id"] for row in call(desk, "memory_list", user_id="ada")["memories"]] == [early]


def test_an_amendment_of_what_is_still_to_come_is_in_its_scopes_and_about_the_same(db: worlddb.Database) -> None:
    """It was in no scope, and about nobody: neither membership nor reference held yet."""
    desk = Session(db)
    coming = write(desk, "Rex will go to Oslo.", valid_from="2999-01-01", run_id="r1", about=["Rex"])
    (rex,) = (edge.target for edge in db.view().edges(coming, type="refers_to", include_superseded=True))
    for since in ("2999-06-01", None, "2024-01-01"):
        coming = call(desk, "memory_amend", id=coming, text=f"Rex goes to Bonn {since}.", valid_from=since)["id"]
        assert call(desk, "memory_read", id=coming)["scopes"] == ["user:ada", "run:r1"]
        then = db.view(valid="2999-07-01")
        assert len(then.containers(coming)) == 2
        assert [edge.target for edge in then.edges(coming, type="refers_to")] == [rex]


@pytest.mark.parametrize("confined", [False, True])
def test_what_is_still_to_come_can_be_read_amended_and_retired(db: worlddb.Database, confined: bool) -> None:
    """Where one world is served, such a memory was written, answered with an error, and then unknown until it began."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    riga = write(desk, "Ada lives in Riga.", valid_from="2020-01-01")
    plan = call(desk, "memory_amend", id=riga, text="Ada will live in Oslo.", valid_from="2999-01-01")
    assert any("It holds from 2999-01-01T00:00:00Z on" in note for note in plan["notes"])
    for given in ({"id": plan["id"]}, {"id": plan["id"][:10]}):
        read = call(desk, "memory_read", **given)
        assert (read["id"], read["retired"], read["scopes"]) == (plan["id"], False, ["user:ada"])
    assert [row["id"] for row in call(desk, "memory_history", id=riga)["versions"]] == [riga, plan["id"]]
    assert call(desk, "memory_as_of", id=plan["id"], valid="2020-01-01")["memories"] == []
    same = call(desk, "memory_amend", id=riga, text="Ada will live in Oslo.", valid_from="2999-01-01")
    assert (same["id"], same["outcome"]) == (plan["id"], "unchanged")
    jelgava = call(desk, "memory_amend", id=riga, text="Ada lives in Jelgava.")
    assert any(note.startswith(f"{jelgava['id']} is not valid where {plan['id']} is") for note in jelgava["notes"])
    bonn = call(desk, "memory_amend", id=plan["id"], text="Ada will live in Bonn.")
    with pytest.raises(InputError, match=f"holds until 2999-01-01T00:00:00Z: {bonn['id']} takes its place"):
        call(desk, "memory_amend", id=jelgava["id"], text="Ada lives on.", valid_from="2999-06-01")
    other = call(desk, "memory_write", text="Ada will stay.", user_id="ada", contradicts=[bonn["id"]])
    assert other["outcome"] == "committed"
    gone = call(desk, "memory_retire", id=bonn["id"])
    assert any(note.startswith(f"{jelgava['id']} still ends where {bonn['id']}") for note in gone["notes"])
    assert call(desk, "memory_read", id=bonn["id"])["retired"]
    stranger = Session(db, db.create("Topic", "other").ref)
    for name in ("memory_read", "memory_history", "memory_retire"):
        with pytest.raises(UnknownReference):
            call(stranger, name, id=plan["id"])


def test_a_plan_that_is_given_up_is_told_to_leave_a_gap_which_an_amendment_closes(db: worlddb.Database) -> None:
    desk = Session(db)
    riga = write(desk, "Ada lives in Riga.", valid_from="2020-01-01")
    oslo = call(desk, "memory_amend", id=riga, text="Ada will live in Oslo.", valid_from="2999-01-01")["id"]
    notes = call(desk, "memory_retire", id=oslo)["notes"]
    assert f"{riga} still ends where {oslo} was to replace it, and nothing is valid after it" in notes[-1]
    with pytest.raises(InputError, match=f"{oslo} is never valid, and nothing replaced it"):
        call(desk, "memory_amend", id=oslo, text="Ada will live in Bonn.")
    stays = call(desk, "memory_amend", id=riga, text="Ada lives in Riga.")
    assert stays["outcome"] == "committed"
    assert call(desk, "memory_read", id=stays["id"])["valid_to"] is None


def test_an_amendment_of_what_was_given_an_end_keeps_it(db: worlddb.Database) -> None:
    desk = Session(db)
    boat = write(desk, "Ada rents a boat.", valid_from="2020-01-01")
    call(desk, "memory_retire", id=boat, at="2999-01-01")
    for text in ("Ada rents a yacht.", "Ada rents a ship."):
        made = call(desk, "memory_amend", id=boat, text=text)
        assert f"It is valid until 2999-01-01T00:00:00Z, the former end of {boat}" in made["notes"]
        boat = made["id"]
        assert call(desk, "memory_read", id=boat)["valid_to"] == "2999-01-01T00:00:00Z"


def test_a_contradiction_that_an_amendment_ends_is_told_with_the_other_side(db: worlddb.Database) -> None:
    desk = Session(db)
    pets = write(desk, "The lease allows pets.", valid_from="2024-01-01")
    none = write(desk, "The lease allows no pets.", valid_from="2024-01-01", contradicts=[pets])
    dogs = call(desk, "memory_amend", id=pets, text="The lease allows dogs.")
    (told,) = (note for note in dogs["notes"] if "contradicts" in note)
    assert told.startswith(f"{pets} ends, so it no longer contradicts {none}, which stays valid.")
    assert call(desk, "memory_conflicts")["conflicts"] == []
    newer = call(desk, "memory_write", text="Only cats are allowed.", user_id="ada", contradicts=[none])["id"]
    retired = call(desk, "memory_retire", id=newer)
    assert any(note.startswith(f"{newer} ends, so it no longer contradicts {none}") for note in retired["notes"])


def test_what_has_ended_without_anything_in_its_place_is_not_amended(db: worlddb.Database) -> None:
    desk = Session(db)
    old = write(desk, "Ada rents a boat.", valid_from="2020-01-01")
    call(desk, "memory_retire", id=old, at="2021-01-01")
    head = db.head()
    with pytest.raises(InputError, match="ended 2021-01-01T00:00:00Z, and nothing replaced it") as raised:
        call(desk, "memory_amend", id=old, text="Ada rents a yacht.")
    assert raised.value.remedy == "Save what is true with memory_write" and db.head() == head
    coming = write(desk, "Ada will rent a boat.", valid_from="2999-01-01")
    assert call(desk, "memory_amend", id=coming, text="Ada will buy a boat.", valid_from="2999-06-01")["id"]
    ending = write(desk, "Ada has a lease.")
    call(desk, "memory_retire", id=ending, at="2999-01-01")
    assert call(desk, "memory_amend", id=ending, text="Ada has a longer lease.")["id"]


def test_what_is_still_to_come_is_said_to_be(db: worlddb.Database) -> None:
    desk = Session(db)
    coming = call(desk, "memory_write", text="The fair opens.", user_id="ada", valid_from="2999-01-01")
    assert coming["notes"] == [
        "It holds from 2999-01-01T00:00:00Z on; until then only a question about that time finds it"
    ]
    assert call(desk, "memory_recall", query="fair")["memories"] == []
    assert texts(call(desk, "memory_as_of", query="fair", valid="2999-01-02")) == ["The fair opens."]
    for text, valid_from in (("The fair is open.", {}), ("The fair is old.", {"valid_from": "2020-01-01"})):
        assert call(desk, "memory_write", text=text, user_id="ada", **valid_from)["notes"] == []
    now = write(desk, "The fair is free.")
    later = call(desk, "memory_amend", id=now, text="The fair costs 5.", valid_from="2999-01-01")
    assert later["notes"][-1].startswith("It holds from 2999")
    assert "The fair is free." in texts(call(desk, "memory_recall", query="fair free"))


@pytest.mark.parametrize(
    "blank", ["", " ", "\n\t", "\u200b", "ada ", " ada", "a\nda", "ada\x00", "\u202eada", "\u200d"]
)
def test_no_scope_is_made_that_looks_like_another_or_like_nothing(db: worlddb.Database, blank: str) -> None:
    desk, head = Session(db), db.head()
    with pytest.raises((InputError, worlddb.InvalidText, ValueError)):
        call(desk, "memory_write", text="x", run_id="7", user_id=blank)
    assert db.head() == head


@pytest.mark.parametrize(
    "named", ["ada", "Ada Lovelace", "می\u200cخواهم", "東京", "👩\u200d👧", "\U0001fbfa", "a.b@c/d", "x" * 200]
)
def test_ids_of_every_script_are_scopes(db: worlddb.Database, named: str) -> None:
    desk = Session(db)
    call(desk, "memory_write", text="tea", user_id=named)
    assert texts(call(desk, "memory_list", user_id=named)) == ["tea"]


@pytest.mark.parametrize("text", [" ", "\n", "\t \u2003"])
def test_a_text_that_says_nothing_is_not_kept(db: worlddb.Database, text: str) -> None:
    desk = Session(db)
    kept = write(desk, "tea")
    head = db.head()
    with pytest.raises(InputError, match="blank"):
        write(desk, text)
    with pytest.raises(InputError, match="blank"):
        call(desk, "memory_amend", id=kept, text=text)
    assert db.head() == head


@pytest.mark.parametrize("confined", [False, True])
@pytest.mark.parametrize("purged", [False, True])
def test_a_scope_whose_name_was_erased_takes_memories_that_are_found_in_it(
    db: worlddb.Database, confined: bool, purged: bool
) -> None:
    """What was written for somebody who came back after an erasure was in a scope without a name, where none looked."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    for round_ in range(3):
        write(desk, f"tea {round_}", run_id="7")
        (scope,) = [each["id"] for each in call(desk, "memory_list_scopes", kind="user")["scopes"]]
        if purged:
            call(desk, "memory_retire_scope", kind="user", scope_id="ada", confirm="user:ada")
        db.erase(scope, reason="request 7")
        assert call(desk, "memory_list_scopes", kind="user")["scopes"] == []
    given = {"text": "coffee", "user_id": "ada", "run_id": "7", "idempotency_key": "k"}
    made = call(desk, "memory_write", **given)
    assert call(desk, "memory_read", id=made["id"])["scopes"] in (["user:ada", "run:7"], ["run:7", "user:ada"])
    assert texts(call(desk, "memory_list", user_id="ada"))[-1] == "coffee"
    head = db.head()
    assert call(desk, "memory_write", **given)["id"] == made["id"] and db.head() == head
    write(desk, "more coffee")
    assert texts(call(desk, "memory_list", user_id="ada"))[-2:] == ["coffee", "more coffee"]
    assert len(call(desk, "memory_list_scopes", kind="user")["scopes"]) == 1
    assert not any("=True" in note for note in made["notes"]) and db.verify(deep=True).ok


@pytest.mark.parametrize("confined", [False, True])
def test_a_call_that_is_made_again_after_its_scope_was_purged_is_told_so(db: worlddb.Database, confined: bool) -> None:
    """It was told that another call had been made under its key, which was not true."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    given = {"text": "coffee", "user_id": "ada", "run_id": "7", "about": ["Ada"], "idempotency_key": "k"}
    made = call(desk, "memory_write", **given)
    for _ in range(2):
        call(desk, "memory_retire_scope", kind="user", scope_id="ada", confirm="user:ada")
        head = db.head()
        again = call(desk, "memory_write", **given)
        assert again["id"] == made["id"] and db.head() == head
        assert "retired later, so nothing was written now" in again["notes"][-1]
        changes: list[dict[str, Any]] = [{"text": "tea"}, {"about": []}, {"run_id": "8"}]
        for change in changes:
            with pytest.raises(worlddb.IdempotencyConflict):
                call(desk, "memory_write", **given | change)
        assert db.head() == head
        assert texts(call(desk, "memory_list", user_id="ada")) == []
        write(desk, "more coffee")


def test_a_scope_that_an_operator_moved_to_a_tenant_is_not_written_to_from_the_whole_store(
    db: worlddb.Database,
) -> None:
    tenant = db.create("Tenant", "T").ref
    desk = Session(db)
    call(desk, "memory_write", text="first", user_id="cleo", about=["Bob"])
    scope = db.view().find(name="user:cleo", type="Scope")[0].ref
    db.move(scope, tenant)
    before = db.view().hash(tenant)
    for text in ("second", "third"):
        call(desk, "memory_write", text=text, user_id="cleo", about=["Bob"])
    assert db.view().hash(tenant) == before
    assert [text for text in texts(call(desk, "memory_list", user_id="cleo")) if text] == ["second", "third"]
    assert [text for text in texts(call(Session(db, tenant), "memory_list")) if text] == ["first"]


@pytest.mark.parametrize("confined", [False, True])
@pytest.mark.parametrize("until", [None, "2040-01-01"])
def test_a_scope_whose_membership_was_ended_takes_nothing_that_nobody_finds(
    db: worlddb.Database, confined: bool, until: str | None
) -> None:
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    write(desk, "first", run_id="7")
    scope = db.view().find(name="user:ada", type="Scope")[0].ref
    around = next(edge for edge in db.view().edges(scope, type="contains") if edge.target == scope)
    db.retire(around.ref, valid_to=until)
    given = {"text": "second", "user_id": "ada", "idempotency_key": "k"}
    made, head = call(desk, "memory_write", **given), db.head()
    assert call(desk, "memory_write", **given)["id"] == made["id"] and db.head() == head
    write(desk, "third")
    assert texts(call(desk, "memory_list", user_id="ada")) == ["second", "third"]
    assert texts(call(desk, "memory_recall", user_id="ada", query="second")) == ["second"]
    found = db.redecide()
    assert found.differing == () and found.undecidable == () and db.verify(deep=True).ok


@pytest.mark.parametrize("confined", [False, True])
def test_all_scopes_of_one_id_are_emptied_and_purged(db: worlddb.Database, confined: bool) -> None:
    """Two may hold, as after a bundle or where one was resumed: the second one stayed as it was."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    write(desk, "first")
    scope = call(desk, "memory_list_scopes", kind="user")["scopes"][0]["id"]
    db.retire(scope)
    write(desk, "second")
    db.reassert(scope)
    write(desk, "third")
    assert set(texts(call(desk, "memory_list", user_id="ada"))) == {"first", "second", "third"}
    assert call(desk, "memory_retire_all", kind="user", scope_id="ada")["retired"] == 3
    assert texts(call(desk, "memory_list", user_id="ada")) == []
    write(desk, "fourth")
    call(desk, "memory_retire_scope", kind="user", scope_id="ada", confirm="user:ada")
    assert call(desk, "memory_list_scopes", kind="user")["scopes"] == []
    write(desk, "fifth")
    assert texts(call(desk, "memory_list", user_id="ada")) == ["fifth"]


def test_a_user_is_forgotten_whose_scope_lies_nowhere_now(db: worlddb.Database) -> None:
    """What lay in it was still there, and the model was told that all was erased."""
    (tool,) = (each for each in catalogue.tools_in_sets("operator") if each.name == "memory_forget_user")
    desk, tenant = Session(db), db.create("Tenant", "T").ref
    write(desk, "zqfirst")
    call(Session(db, tenant), "memory_write", text="theirs", user_id="ada")
    scope = next(
        world.ref for world in db.view().find(name="user:ada") if tenant not in db.view().containers(world.ref)
    )
    db.retire(next(edge.ref for edge in db.view().edges(scope, type="contains") if edge.target == scope))
    write(desk, "zqsecond")
    given = {"user_id": "ada", "reason": "request 9", "confirm": "user:ada"}
    tool.run(desk, msgspec.convert(given, tool.takes), Call("a client", tool.name))
    assert b"zqfirst" not in (db.path / "data.mdb").read_bytes()
    assert b"zqsecond" not in (db.path / "data.mdb").read_bytes()
    assert texts(call(Session(db, tenant), "memory_list", user_id="ada")) == ["theirs"]


@pytest.mark.parametrize("confined", [False, True])
def test_what_is_written_while_its_scope_is_ended_is_found_in_the_next_one(
    db: worlddb.Database, monkeypatch: pytest.MonkeyPatch, confined: bool
) -> None:
    """Another process ends it between the look and the write."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    write(desk, "first")
    scope, looked = call(desk, "memory_list_scopes", kind="user")["scopes"][0]["id"], desk.key_after

    def end_after_a_look(*given: Any) -> Any:
        key = looked(*given)
        if not db.view().get(scope, include_superseded=True).ended:  # type: ignore[union-attr]
            db.retire(scope)
        return key

    monkeypatch.setattr(desk, "key_after", end_after_a_look)
    write(desk, "second")
    assert texts(call(desk, "memory_list", user_id="ada")) == ["second"]


@pytest.mark.parametrize("confined", [False, True])
def test_a_memory_of_the_last_day_that_there_is_is_written_and_answered(db: worlddb.Database, confined: bool) -> None:
    """It was written, and the answer was an error, so that a model wrote it again."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    last = "9999-12-31T12:00:00Z"
    made = call(desk, "memory_write", text="the end", user_id="ada", valid_from=last)
    assert call(desk, "memory_read", id=made["id"])["valid_from"] == last
    assert call(desk, "memory_amend", id=write(desk, "tea"), text="coffee", valid_from=last)["outcome"] == "committed"


def test_what_was_erased_says_so_and_is_not_amended(db: worlddb.Database) -> None:
    desk = Session(db)
    old = write(desk, "The code is 4711.")
    assert call(desk, "memory_read", id=old)["erased"] is False
    db.erase(old, reason="request 8")
    read = call(desk, "memory_read", id=old)
    assert (read["erased"], read["text"]) == (True, "")
    head = db.head()
    with pytest.raises(InputError, match="was erased"):
        call(desk, "memory_amend", id=old, text="The code is 4712.")
    assert db.head() == head


def test_notes_name_tools_and_not_calls_of_the_library(db: worlddb.Database) -> None:
    desk = Session(db)
    old = write(desk, "Ada lives in Riga.")
    told = call(desk, "memory_amend", id=old, text="Ada lives in Oslo.", valid_from="2020-01-01")["notes"]
    assert told[0].startswith(f"Superseded {old}, which is never valid now: it began at ")
    ended = f"{old} ended at or before its beginning, so it is never valid. Write it again if it was true"
    assert explain_note(Note("never_valid", (old,))) == ended and ended not in told
    assert call(desk, "memory_retire", id=old)["notes"][:1] == [f"{old} had already ended and is unchanged"]
    write(desk, "leads search", name="Sarah Chen", type="Entity")
    staged = call(desk, "memory_write", text="chess", name="Sarah Chen", type="Entity", user_id="ada")
    assert staged["notes"] == [
        f"{staged['proposals'][0]} was proposed: two entries may be one. See memory_proposals; memory_decide decides"
    ]
    assert explain_note(Note("clock_behind", ())) == str(Note("clock_behind", ()))


def test_the_functions_for_agents_replace_what_holds_alone(db: worlddb.Database) -> None:
    old = remember(db, "Ana lives in Lisbon.")["id"]
    new = remember(db, "Ana lives in Porto.", replaces=old)["id"]
    head = db.head()
    with pytest.raises(InputError, match=f"not true any more: {new} replaced it") as raised:
        remember(db, "Ana lives in Faro.", replaces=old)
    assert raised.value.remedy == f"Replace {new}"
    forget(db, new)
    with pytest.raises(InputError, match="nothing replaced it") as raised:
        remember(db, "Ana lives in Faro.", replaces=new)
    assert raised.value.remedy == "Leave out replaces" and db.head().seq == head.seq + 1
    assert recall(db, "where does Ana live?") == []


@pytest.mark.parametrize("confined", [False, True])
def test_another_text_under_the_key_of_an_erased_one_is_told_as_not_written(
    db: worlddb.Database, confined: bool
) -> None:
    """It got the answer of the first, as if it had been written."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    old = write(desk, "Ada lives in Riga.", idempotency_key="k")
    db.erase(old, reason="r")
    head = db.head()
    again = call(desk, "memory_write", text="Ada lives in Oslo.", user_id="ada", idempotency_key="k")
    assert again["id"] == old and db.head() == head
    (note,) = again["notes"]
    assert (
        note.startswith(f"{old} was written or found under this idempotency_key, and erased later")
        and "nothing was" in note
    )


@pytest.mark.parametrize("tool", ["memory_write", "memory_amend"])
@pytest.mark.parametrize("confined", [False, True])
def test_what_another_server_changed_between_the_look_and_the_write_is_looked_at_again(
    db: worlddb.Database, monkeypatch: pytest.MonkeyPatch, confined: bool, tool: str
) -> None:
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    old = write(desk, "Ada lives in Riga.", about=["Ada"])
    batch = worlddb.Database.batch

    def first(db: worlddb.Database, **options: Any) -> Any:
        monkeypatch.setattr(worlddb.Database, "batch", batch)
        call(desk, "memory_amend", id=old, text="Ada lives in Oslo.")
        return batch(db, **options)

    monkeypatch.setattr(worlddb.Database, "batch", first)
    if tool == "memory_write":
        assert write(desk, "Ada lives in Riga.", about=["Ada"]) != old
        assert set(texts(call(desk, "memory_list", user_id="ada"))) >= {"Ada lives in Riga.", "Ada lives in Oslo."}
    else:
        with pytest.raises(InputError, match="took its place"):
            call(desk, "memory_amend", id=old, text="Ada lives in Rome.")


def test_a_session_or_a_person_is_no_memory_to_retire_or_amend(db: worlddb.Database) -> None:
    """A model that takes a person's entry for a memory would end what all that is said of them refers to."""
    desk = Session(db)
    write(desk, "Ada likes tea.", about=["Ada"])
    worlddb.memory(db, user="ada", session="call").add([{"role": "user", "content": "Hello, it is raining."}])
    (chat,), (entry, *_) = db.view().find(type="Session"), db.view().find(name="Ada", type="Entity")
    head = db.head()
    for ref, wrong in ((chat.ref, "contains memories"), (entry.ref, "the entry of a person")):
        for tool, given in (("memory_retire", {}), ("memory_amend", {"text": "Ada is gone."})):
            with pytest.raises(InputError, match=wrong):
                call(desk, tool, id=ref, **given)
    with pytest.raises(InputError, match="contains memories"):
        call(desk, "memory_mark", id=chat.ref, expires_at="2020-01-01")
    assert db.head() == head
    assert call(desk, "memory_mark", id=entry.ref, add_labels=["vip"])["outcome"] == "committed"
    assert call(desk, "memory_retire", id=chat.ref, members=True)["retired"] == 2


@pytest.mark.parametrize("confined", [False, True])
def test_a_call_that_added_a_source_is_answered_so_when_it_is_made_again_under_its_key(
    db: worlddb.Database, confined: bool
) -> None:
    """What it rewrote is so by then, and the memory may say something else, or have ended."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    ref = write(desk, "Ada likes tea.")
    given = {"properties": {"level": 2}, "labels": ["taste"], "idempotency_key": "call-1"}
    assert write(desk, "Ada likes tea.", **given) == ref
    head = db.head()
    for between in (lambda: None, lambda: db.revise(ref, content="Ada likes milk."), lambda: db.retire(ref)):
        between()
        head = db.head()
        assert write(desk, "Ada likes tea.", **given) == ref and db.head() == head
    with pytest.raises(worlddb.IdempotencyConflict):
        write(desk, "Ada likes tea.", **{**given, "properties": {"level": 3}})


@pytest.mark.parametrize("confined", [False, True])
@pytest.mark.parametrize("purges", [False, True])
def test_all_of_a_scope_ends_with_what_is_to_come_or_is_hidden(
    db: worlddb.Database, confined: bool, purges: bool
) -> None:
    """They held on, without a word: a wedding came to hold, and a hidden note was found again."""
    desk = Session(db, db.create("Topic", "mine").ref if confined else None)
    other = call(desk, "memory_write", text="Bob's plan.", user_id="bob", valid_from="2027-06-01")["id"]
    plan = write(desk, "Wedding", valid_from="2027-06-01")
    hidden, now = write(desk, "Hidden", expires_at="2026-01-01"), write(desk, "Now.")
    gone = write(desk, "Over.")
    call(desk, "memory_retire", id=gone)
    paused = write(desk, "Paused.")
    db.retire(paused, valid_to="2027-05-01")
    session = db.create("Session", "s", world=db.view().containers(now)[0], valid_from="0001-01-01").ref
    turn = db.create("Turn", "", content="In a session.", world=session, valid_from="2027-06-02").ref
    moved = write(desk, "Moved on.")
    db.move(moved, to=db.view(valid="2027-07-01").containers(other)[0])
    given = {"kind": "user", "scope_id": "ada"} | ({"confirm": "user:ada"} if purges else {})
    done = call(desk, "memory_retire_scope" if purges else "memory_retire_all", **given)
    assert done["retired"] == 6
    assert done["notes"] == [
        "Ended before they began: 2 of the 6, which are never valid now",
        "Ended while hidden, by a deadline or as deprecated: 1 of the 6",
    ]
    call(desk, "memory_mark", id=hidden, expires_at="never")
    for at in (None, "2027-07-01"):
        then = db.view(valid=at)
        assert [each for each in (plan, hidden, now, gone, paused, turn) if then.get(each) is not None] == []
    assert db.view().get(moved) is not None and db.view(valid="2027-07-01").get(other) is not None
    if not purges:
        assert call(desk, "memory_retire_all", **given)["outcome"] == "unchanged"


def test_a_name_and_few_digits_reach_into_no_other_users_memory(db: worlddb.Database) -> None:
    """A name that another user alone had was read, related and amended there, though the server is of one user."""
    tools = {tool.name: tool for tool in catalogue.tools_in_sets("all,beliefs")}
    ana, bob, anyone = Session(db, user="ana"), Session(db, user="bob"), Session(db)

    def ask(desk: Session, name: str, /, **arguments: Any) -> Any:
        tool = tools[name]
        return tool.run(desk, msgspec.convert(arguments, tool.takes), Call("a client", name))

    secret = ask(bob, "memory_write", text="The code is 1234.", name="decade", about=["Home", "Project X"]).id
    own = ask(ana, "memory_write", text="Ana likes the park.", about=["Project X"]).id
    (bobs,) = (world.ref for world in db.view().find(name="Home"))
    (anas,) = (world.ref for world in db.view(world="user:ana").find(name="Project X"))
    seq = db.head().seq
    for name, arguments in (
        ("memory_read", {"id": "decade"}),
        ("memory_read", {"id": secret[:7]}),
        ("memory_amend", {"id": "decade", "text": "gone"}),
        ("memory_retire", {"id": "decade"}),
        ("memory_mark", {"id": "decade", "pinned": True}),
        ("memory_history", {"id": "decade"}),
        ("memory_as_of", {"id": "decade", "valid": "2090-01-01"}),
        ("memory_believe", {"id": "decade", "beliefs": {"summary": "gone"}}),
        ("memory_write", {"text": "No.", "contradicts": ["decade"]}),
        ("memory_prefer", {"subject": "Home", "relation": "prefers", "object": "Project X"}),
        ("memory_relate", {"id": own, "relation": "supports", "to": "Home"}),
        ("memory_states", {"id": "Home"}),
        ("memory_preferences", {"subject": "Home"}),
    ):
        with pytest.raises(UnknownReference, match=r"Nothing in user:ana has the id or the name") as told:
            ask(ana, name, **arguments)
        assert "looked up there alone" in told.value.remedy, name
    for desk, name in ((anyone, "Home"), (anyone, "Project X")):
        with pytest.raises(worlddb.InputError) as refused:
            ask(desk, "memory_relate", id=own, relation="supports", to=name)
        assert bobs in refused.value.details["candidates"] or anas in refused.value.details["candidates"]
    assert db.head().seq == seq, "nothing was written"
    ask(ana, "memory_relate", id=own, relation="supports", to="Project X")
    (edge,) = db.view().edges(own, type="supports")
    assert edge.target == anas, "of a name of several users it is one's own"
    assert ask(bob, "memory_read", id=secret[:5]).id == ask(bob, "memory_read", id="decade").id == secret
    assert ask(anyone, "memory_read", id=secret[:8]).id == secret, "an id as answers show it is that"
    done = ask(ana, "memory_amend", id=secret, text="The code is 4321.")
    assert f"{done.id} is in user:bob, not in user:ana" in done.notes
    assert not any("not in user:" in note for note in ask(ana, "memory_amend", id=own, text="Ana swims.").notes)


def test_the_name_of_a_scope_begins_no_other_scope_by_any_door(db: worlddb.Database) -> None:
    """``user:zoe``, as REST and --confine call her world, silently became another user's."""
    before = db.head()
    for kind in ("user", "agent"):
        with pytest.raises(InputError) as refused:
            call(Session(db), "memory_write", text="Zoe likes tea.", **{f"{kind}_id": f"{kind}:zoe"})
        assert refused.value.remedy == f"Give the {kind} as 'zoe'"
    with pytest.raises(InputError, match="'user:zoe' is what the world of the user 'zoe' is called"):
        worlddb.memory(db, user="user:zoe").add("Zoe likes tea.")
    assert db.head() == before
    call(Session(db), "memory_write", text="Zoe likes tea.", user_id="agent:zoe")
