"""One MCP call stores a whole memory: scopes, subjects, sources and contradictions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from tests.tools.mcp.test_mcp_tools import call, texts
from worlddb import IdempotencyConflict, InputError, UnknownReference
from worlddb.tools.mcp.mcp_wording import explain_error
from worlddb.tools.mcp.session import Session
from worlddb.tools.mcp.tool_arguments import MAX_ABOUT, MAX_JOINED


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        yield store


def write(desk: Session, text: str, **given: Any) -> str:
    return str(call(desk, "memory_write", **({"text": text, "user_id": "ada"} | given))["id"])


def entries(db: worlddb.Database, **wanted: Any) -> list[str]:
    return [world.name for world in db.view().find(type="Entity", **wanted)]


def texts_of(found: worlddb.Recall) -> list[str]:
    return [hit.content for hit in found]


def edges(db: worlddb.Database, ref: str, kind: str) -> list[str]:
    return [edge.target for edge in db.view().edges(ref, type=kind, direction="out")]


def test_one_call_writes_the_memory_with_all_that_it_is_joined_to_as_one_commit(db: worlddb.Database) -> None:
    """Kumiho, section 11.3: several calls in a row would leave a part of it where one of them fails."""
    desk = Session(db)
    sources = [write(desk, text) for text in ("Rex limps.", "Rex sleeps all day.")]
    other = write(desk, "Rex is well.")
    head = db.head().seq
    made = call(
        desk,
        "memory_write",
        text="Rex may be ill.",
        type="Summary",
        user_id="ada",
        run_id="7",
        about=["Rex", "the dog"],
        derived_from=[sources[0], sources[1][:8], sources[0]],
        contradicts=[other],
        why="two signs",
    )
    assert db.head().seq == made["seq"] == head + 1
    assert edges(db, made["id"], "derived_from") == sources and edges(db, made["id"], "contradicts") == [other]
    named = [db.view().get(ref) for ref in edges(db, made["id"], "refers_to")]
    assert [(entry.type, entry.name, entry.content) for entry in named if entry] == [
        ("Entity", "Rex", ""),
        ("Entity", "the dog", ""),
    ]
    assert call(desk, "memory_read", id=made["id"])["scopes"] == ["user:ada", "run:7"]
    (pair,) = call(desk, "memory_conflicts")["conflicts"]
    assert {pair["first"]["text"], pair["second"]["text"]} == {"Rex may be ill.", "Rex is well."}
    assert call(desk, "memory_read", id=other)["conflicts"] == [made["id"]]
    joined = call(desk, "memory_recall", query="may be ill", neighbours=1, limit=9)
    assert {"Rex limps.", "Rex sleeps all day.", "Rex is well."} <= set(texts(joined))


def test_whom_memories_are_about_is_one_entry_of_a_scope_and_no_answer(db: worlddb.Database) -> None:
    desk = Session(db)
    for text in ("Rex likes bones.", "Rex fears thunder."):
        write(desk, text, about=["Rex"])
    write(desk, "Rex is a parrot.", user_id="ben", about=["Rex"])
    assert entries(db) == ["Rex", "Rex"]
    for scope, said in (("ada", {"Rex likes bones.", "Rex fears thunder."}), ("ben", {"Rex is a parrot."})):
        assert set(texts(call(desk, "memory_recall", query="Rex", user_id=scope))) == said
    listed = call(desk, "memory_list", user_id="ada")["memories"]
    assert [memory["name"] for memory in listed if memory["type"] == "Entity"] == ["Rex"]
    with_text = write(desk, "A shop for dogs.", type="Entity", name="Rexland")
    assert with_text in {memory["id"] for memory in call(desk, "memory_recall", query="Rexland")["memories"]}


def test_names_that_may_be_of_one_are_proposed_and_never_joined(db: worlddb.Database) -> None:
    desk = Session(db)
    write(desk, "She is a dentist.", about=["Katherine Jones"])
    staged = call(desk, "memory_write", text="She has a practice.", user_id="ada", about=["Catherine Jones"])
    assert len(staged["proposals"]) == 1 and entries(db) == ["Katherine Jones", "Catherine Jones"]
    (pair,) = call(desk, "memory_proposals")["proposals"]
    assert {pair["newcomer_name"], pair["known_name"]} == {"Katherine Jones", "Catherine Jones"}
    assert pair["newcomer_owners"] == pair["known_owners"] == ["user:ada"], "who decides has to know whose they are"


def test_an_amendment_is_about_whom_the_old_one_was_about(db: worlddb.Database) -> None:
    desk = Session(db)
    old = write(desk, "Rex weighs 20 kg.", about=["Rex"])
    new = call(desk, "memory_amend", id=old, text="Rex weighs 22 kg.")["id"]
    assert edges(db, new, "refers_to") == edges(db, old, "refers_to") != []


def test_a_purged_scope_begins_anew_with_its_entries(db: worlddb.Database) -> None:
    desk = Session(db)
    write(desk, "Rex likes bones.", about=["Rex"])
    call(desk, "memory_retire_scope", kind="user", scope_id="ada", confirm="user:ada")
    assert entries(db) == []
    again = write(desk, "Rex likes fish.", about=["Rex"])
    assert entries(db) == ["Rex"] and db.view().get(edges(db, again, "refers_to")[0]) is not None


def test_whom_a_memory_is_about_may_have_been_retired_and_begins_anew(db: worlddb.Database) -> None:
    """The memory referred to an entry that nobody is shown, without a word of it."""
    desk = Session(db)
    given = {"user_id": "ada", "about": ["Rex"]}
    first = call(desk, "memory_write", text="Rex limps.", **given)
    (old,) = edges(db, first["id"], "refers_to")
    db.retire(old, why="he died")
    key = {"idempotency_key": "k1"}
    second = call(desk, "memory_write", text="Rex is the name of the new dog.", **given, **key)
    (new,) = edges(db, second["id"], "refers_to")
    assert new != old and f"{old} had been retired, so {new} began under its name" in second["notes"]
    third = call(desk, "memory_write", text="Rex likes cheese.", **given)
    assert edges(db, third["id"], "refers_to") == [new] and third["notes"] == []
    assert entries(db) == ["Rex"] and edges(db, first["id"], "refers_to") == [old]
    db.retire(new)
    head = db.head()
    assert call(desk, "memory_write", text="Rex is the name of the new dog.", **given, **key) == second
    assert db.head() == head, "the same call with its key is one, whatever was retired since"
    (last,) = edges(db, write(desk, "Rex is a cat.", about=["Rex"]), "refers_to")
    assert last not in (old, new) and db.redecide().differing == () and db.verify(deep=True).ok


def test_a_call_that_is_sent_again_with_its_key_is_one(db: worlddb.Database) -> None:
    desk = Session(db)
    other = write(desk, "Rex is well.")
    given = {"about": ["Rex"], "contradicts": [other], "idempotency_key": "k"}
    first = write(desk, "Rex is ill.", **given)
    head = db.head()
    assert write(desk, "Rex is ill.", **given) == first and db.head() == head
    with pytest.raises(IdempotencyConflict):
        write(desk, "Rex is ill.", **(given | {"about": ["Max"]}))


def test_a_call_that_is_sent_again_is_one_although_what_it_contradicts_has_ended_since(db: worlddb.Database) -> None:
    desk = Session(db)
    other = write(desk, "Rex is well.")
    given = {"contradicts": [other], "idempotency_key": "k"}
    first = write(desk, "Rex is ill.", **given)
    call(desk, "memory_retire", id=other)
    head = db.head()
    assert write(desk, "Rex is ill.", **given) == first and db.head() == head
    with pytest.raises(InputError, match="is no longer valid"):
        write(desk, "Rex is ill.", contradicts=[other])
    with pytest.raises(InputError, match="is no longer valid"):
        write(desk, "Rex is lame.", contradicts=[other], idempotency_key="other")


def test_spaces_tell_no_names_apart_and_revise_no_entry(db: worlddb.Database) -> None:
    desk = Session(db)
    first = write(desk, "She paints.", about=["Ada  Lovelace", " Ada Lovelace"])
    again = write(desk, "She sings.", about=["Ada Lovelace "])
    assert edges(db, first, "refers_to") == edges(db, again, "refers_to") and len(edges(db, first, "refers_to")) == 1
    assert [(entry.name, entry.number) for entry in db.view().find(type="Entity")] == [("Ada Lovelace", 1)]


def test_whom_a_memory_is_about_may_have_been_erased_and_is_spoken_of_again(db: worlddb.Database) -> None:
    desk = Session(db)
    entry = edges(db, write(desk, "Rex limps.", about=["Rex"]), "refers_to")[0]
    db.erase(entry, reason="request 7")
    told = call(desk, "memory_write", text="Rex eats.", user_id="ada", about=["Rex"])
    assert edges(db, told["id"], "refers_to") == [entry] and not told["notes"]
    assert [world.ref for world in db.view().find(name="Rex")] == [entry]
    assert texts(call(desk, "memory_recall", query="what does he eat?", user_id="ada", about="Rex"))[0] == "Rex eats."


@pytest.mark.parametrize("kind", ["derived_from", "contradicts"])
def test_what_cannot_be_joined_is_told_and_nothing_is_written(db: worlddb.Database, kind: str) -> None:
    desk = Session(db)
    write(desk, "tea")
    scope = call(desk, "memory_list_scopes")["scopes"][0]["id"]
    head = db.head()
    with pytest.raises(UnknownReference):
        write(desk, "x", **{kind: ["ffff"]})
    with pytest.raises(InputError, match="is a scope"):
        write(desk, "x", **{kind: [scope]})
    for wrong in (["zz"], "ffff", ["ffff"] * (MAX_JOINED + 1), [7]):
        with pytest.raises(msgspec.ValidationError, match=kind):
            write(desk, "x", **{kind: wrong})
    for about in ([" "], ["\n"]):
        with pytest.raises(InputError, match="blank"):
            write(desk, "x", about=about)
    for names in (["x"] * (MAX_ABOUT + 1), "Rex", [""], [1]):
        with pytest.raises(msgspec.ValidationError, match="about"):
            write(desk, "x", about=names)
    assert db.head() == head


def test_what_has_ended_is_summed_up_and_not_contradicted(db: worlddb.Database) -> None:
    desk = Session(db)
    old = write(desk, "Rex is well.", valid_from="2020-01-01")
    call(desk, "memory_retire", id=old, at="2021-01-01")
    head = db.head()
    with pytest.raises(InputError, match="is no longer valid, so nothing can contradict it: “Rex is well") as raised:
        write(desk, "Rex is ill.", contradicts=[old])
    assert raised.value.remedy == "Leave it out of contradicts" and db.head() == head
    assert explain_error(raised.value).endswith(": “Rex is well.”. Leave it out of contradicts")
    assert edges(db, write(desk, "Rex was well once.", derived_from=[old]), "derived_from") == [old]


def test_in_one_world_nothing_outside_can_be_joined_and_entries_are_inside(db: worlddb.Database) -> None:
    mine, theirs = (Session(db, db.create("Topic", name).ref) for name in ("mine", "theirs"))
    secret = write(theirs, "The code is 4711.", about=["Rex"])
    head = db.head()
    for kind in ("derived_from", "contradicts"):
        with pytest.raises(UnknownReference) as raised:
            write(mine, "x", **{kind: [secret]})
        assert "4711" not in str(raised.value)
    assert db.head() == head
    made = call(mine, "memory_write", text="Rex barks.", user_id="ada", about=["Rex"])
    assert made["proposals"] == [] and entries(db, world=mine.world) == entries(db, world=theirs.world) == ["Rex"]


def test_a_user_has_one_entry_however_the_name_is_capitalised(db: worlddb.Database) -> None:
    """``about=["Ida"]`` made a second person beside the ``ida`` whom the library writes of."""
    mem, desk = worlddb.memory(db, user="ida"), Session(db)
    mem.add("Ida lives in Lviv.", about="Ida")
    written = write(desk, "Ida sings.", user_id="ida", about=["Ida", "Oksana"])
    assert entries(db) == ["ida", "Oksana"] and len(edges(db, written, "refers_to")) == 2
    assert mem.profile().people == {"ida": 2, "Oksana": 1} and not db.view().proposals()
    # Who has an entry of that spelling from before keeps it, and so has another scope.
    write(desk, "Ida is a river.", user_id=None, run_id="ida", about=["Ida"])
    assert entries(db) == ["ida", "Oksana", "Ida"]


def test_a_name_makes_no_second_entry_by_its_capitals_whatever_the_door(db: worlddb.Database) -> None:
    """``Ben``, ``ben`` and ``BEN`` were three, and two proposals that they are one."""
    mem, desk = worlddb.memory(db, user="ida"), Session(db)
    mem.add("Ben has a boat.", about=["Ben", "BEN"])
    mem.add("Ben swims.", about="ben")
    write(desk, "Ben dives.", user_id="ida", about=["BEN", "Zoë", "zoë"])
    mem.add([{"role": "assistant", "name": name, "content": f"{name}, hello"} for name in ("ben", "Lea", "LEA", "ZOË")])
    assert entries(db) == ["Ben", "Zoë", "Lea"] and not db.view().proposals()
    for asked in ("Ben", "ben", "BEN"):
        assert len(mem.recall("what does Ben do?", about=asked).hits) == 4
        assert texts_of(mem.recall("hello", speaker=asked)) == ["ben: ben, hello"]
    for door in (worlddb.memory(db), worlddb.memory(db, agent="guide")):
        for name in ("Mom", "mom", "MOM"):
            door.add(f"{name} sings of {door}.", about=name)
    assert entries(db) == ["Ben", "Zoë", "Lea", "Mom", "Mom"]


def test_a_memory_is_written_with_labels_and_properties_and_recalled_by_them(db: worlddb.Database) -> None:
    """``memory_recall`` took no properties, and ``memory_write`` neither these nor labels."""
    desk = Session(db)
    made = write(desk, "The gate code is 4711.", labels=["home"], properties={"floor": 2})
    write(desk, "The gate code of the office is 12.", properties={"floor": 5})
    for chosen in ({"label": "home"}, {"properties": {"floor": 2}}, {"properties": {"floor": {"$lt": 3}}}):
        found = call(desk, "memory_recall", query="gate code", user_id="ada", **chosen)
        assert [hit["id"] for hit in found["memories"]] == [made], chosen
    assert write(desk, "The gate code is 4711.", labels=["door"], properties={"floor": 3}) == made
    known = db.view().get(made)
    assert known is not None and (known.labels, known.properties) == (("home", "door"), {"floor": 3})
    with pytest.raises(InputError, match="almost"):
        call(desk, "memory_recall", query="gate code", properties={"floor": {"$almost": 3}})
