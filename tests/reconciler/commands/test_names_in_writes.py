"""Writes take the exact name of one world where they take a reference, and refuse texts that hold a NUL."""

from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.model.stores import new_store


@pytest.fixture
def db(tmp_path: Path):
    with worlddb.open(tmp_path / "store", embedder=None) as opened:
        yield opened


def test_a_name_or_an_alias_stands_for_the_one_world_that_is_called_so(db: worlddb.Database) -> None:
    bob = db.create("Entity", "Bob Stone", aliases=["Bob"]).ref
    note = db.create("Note", "n", content="tea", world="bob").ref
    assert list(db.view().containers(note)) == [bob]
    with db.batch() as tx:
        inside = tx.create("Note", "m", world="Bob Stone")
        tx.link(inside, "refers_to", "Bob")
    assert [edge.target for edge in db.view().edges(tx.receipt.refs[0], type="refers_to")] == [bob]
    assert db.ingest([{"speaker": "Ana", "text": "Hello."}], into="Bob").ref
    db.revise("n", content="coffee").raise_if_refused()
    db.create("Topic", "Shelf")
    assert db.move(["n", tx.receipt.refs[0]], "shelf").ref == note
    assert db.trust("low", world="Bob").ref == bob
    assert db.retire("n").ref == note


def test_what_a_retry_or_an_erasure_is_about_is_never_a_name(db: worlddb.Database) -> None:
    """Another world could be called so by then, and would be meant in its place."""
    bob = db.create("Entity", "Bob").ref
    with pytest.raises(worlddb.InputError, match="world is a name, and an idempotency key was given"):
        db.create("Note", "n", world="Bob", idempotency_key="k")
    with pytest.raises(worlddb.InputError, match="ref is a name"), db.batch(idempotency_key="k") as tx:
        tx.revise("Bob", content="tall")
    assert db.create("Note", "n", world=bob[:8], idempotency_key="k").ref
    for refuses in (lambda: db.erase("Bob", reason="r"), lambda: db.erasure_plan("Bob"), lambda: db.accept("Bob")):
        with pytest.raises(worlddb.InputError, match="'Bob' is not a reference"):
            refuses()


def test_a_name_of_nobody_of_several_or_of_the_batch_itself_is_refused(db: worlddb.Database) -> None:
    db.create("Entity", "Ann"), db.create("Entity", "Ann", resolve=False)
    before = db.head().seq
    with pytest.raises(worlddb.UnknownReference, match="'Bob'"):
        db.create("Note", "n", world="Bob")
    with pytest.raises(worlddb.AmbiguousReference, match="Several worlds are called 'Ann'"):
        db.create("Note", "n", world="Ann")
    with pytest.raises(worlddb.UnknownReference, match="'Bob'"), db.batch() as tx:
        tx.create("Entity", "Bob")
        tx.create("Note", "n", world="Bob")
    assert db.head().seq == before


def test_a_possible_reference_is_looked_up_as_one(db: worlddb.Database) -> None:
    db.create("Entity", "Decade")
    with pytest.raises(worlddb.UnknownReference), db.batch() as tx:
        tx.create("Note", "n", world="decade")


@pytest.mark.parametrize("field", ["type", "name", "content", "aliases"])
def test_a_nul_in_a_text_is_refused_with_its_place(db: worlddb.Database, field: str) -> None:
    given: dict[str, Any] = {"type": "Note", "name": "n", field: ["a\0b"] if field == "aliases" else "a\0b"}
    with pytest.raises(worlddb.InvalidText, match=r"has a NUL at character 1"):
        db.create(**given)
    ref = db.create("Note", "n").ref
    with pytest.raises(worlddb.InvalidText, match="NUL"):
        db.revise(ref, content="\0")
    kept = db.view().get(ref)
    assert kept is not None and kept.content == ""


def test_a_log_that_holds_a_nul_is_read_and_replayed(
    db: worlddb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worlddb.log.model import limits

    with monkeypatch.context() as older:
        older.setattr(limits, "checked_text", lambda text, *given, **named: text)
        ref = db.create("Note", "n", content="a\0b").ref
    db.rebuild()
    found = db.view().get(ref)
    assert found is not None and found.content == "a\0b" and db.verify(deep=True).ok
    assert db.replay(tmp_path / "again").root == db.view().hash()
    decided = db.redecide()
    assert not decided.differing and not decided.undecidable


def test_a_prefix_of_one_world_that_is_the_name_of_another_stands_for_neither(db: worlddb.Database) -> None:
    """Who wrote for the user 1109 wrote into the memory whose reference begins so, and erased that."""
    secret = db.create("Fact", "", content="Ana owes money.", resolve=False).ref
    prefix = secret[:5]
    assert db.view().reference_of(prefix) == secret and db.create("Note", "n", world=prefix).ref
    user = db.create("User", prefix.upper()).ref
    head = db.head()
    for refuses in (
        lambda: db.view().reference_of(prefix),
        lambda: db.view().get(prefix),
        lambda: db.create("Note", "m", world=prefix),
        lambda: db.create("Note", "m", world=prefix, idempotency_key="k"),
        lambda: db.retire(prefix),
        lambda: db.erase(prefix, reason="r"),
    ):
        with pytest.raises(worlddb.AmbiguousReference, match="is the name of") as told:
            refuses()
        assert told.value.details["candidates"] == [user, secret]
    assert db.head() == head
    assert db.retire(secret).ref == secret and db.view().get(secret[:6]) is None
    with pytest.raises(worlddb.AmbiguousReference):
        db.view().get(prefix)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"name": "a\nb"}, r"name is 'a\\nb', with a line end at character 2"),
        ({"type": "Fa\x07ct"}, r"type is .*, with the control character U\+0007 at character 3"),
        ({"aliases": ["Ann", "A\u2028"]}, r"aliases\[1\] is .*, with a line end at character 2"),
        ({"name": "a\0b"}, "name has a NUL at character 1"),
    ],
)
def test_a_name_of_several_lines_or_with_controls_is_refused_and_its_place_is_named(
    given: dict[str, object], where: str
) -> None:
    with new_store() as db:
        with pytest.raises(worlddb.InvalidText, match=where):
            db.create(**{"type": "Fact", "name": "n"} | given)  # type: ignore[arg-type]
        ok = db.create("Fact", "👩\u200d🚀 and\u00a0more", content="of\nseveral\tlines").ref
        with pytest.raises(worlddb.InvalidText, match="line end"):
            db.revise(ok, name="b\r")
        with pytest.raises(worlddb.InvalidText, match="line end"):
            db.alias(ok, "b\u2029c")


@pytest.mark.parametrize("more", ["f", "0", "ff"])
def test_an_id_with_a_digit_too_many_is_nobodys(db: worlddb.Database, more: str) -> None:
    """Of 33 digits the last was not looked at, and what the others named was retired."""
    ref = db.create("Note", "n", content="one").ref
    for change in (db.retire, lambda each: db.revise(each, content="two"), lambda each: db.erase(each, reason="r")):
        with pytest.raises(worlddb.UnknownReference):
            change(ref + more)
    with pytest.raises(worlddb.UnknownReference):
        db.view().get(ref + more)
    memory = worlddb.memory(db, user="ana")
    with pytest.raises(worlddb.WorldDBError):
        memory.forget(memory.add("Ana drinks tea").ids[0] + more)
    world = db.view().get(ref)
    assert world is not None and world.content == "one"


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"why": "a\0b"}, "why has a NUL at character 1"),
        ({"source": {"k": [{"in": "\0"}]}}, r"source\.k\[0\]\.in has a NUL at character 0"),
        ({"source": {"k\0": 1}}, "a key of source has a NUL at character 1"),
    ],
)
def test_a_nul_in_a_reason_or_a_source_is_refused_and_its_place_is_named(
    db: worlddb.Database, given: dict[str, Any], where: str
) -> None:
    memory = worlddb.memory(db, user="ana")
    with pytest.raises(worlddb.InvalidText, match=where):
        memory.add("Ana drinks tea", **given)
    note = db.create("Note", "n", content="one").ref
    with pytest.raises(worlddb.InvalidText, match="reason has a NUL"):
        db.erase(note, reason="a\0b")
    for name in ("user", "agent", "session"):
        with pytest.raises(worlddb.InvalidText, match=f"{name} has a NUL"):
            worlddb.memory(db, **{"user": "ana"} | {name: "a\0b"})


def test_no_door_to_edges_and_rules_takes_a_nul(db: worlddb.Database) -> None:
    """Properties of an edge took one, as the name of a relation did, and what is trusted of a source."""
    one, other = (db.create("Note", name).ref for name in "ab")
    seq = db.head().seq
    for write, where in (
        (lambda: db.link(one, "refers_to", other, properties={"k": ["a\0"]}), r"properties\.k\[0\] has a NUL"),
        (lambda: db.link(one, "refers_to", other, properties={"k\0": 1}), "a key of properties has a NUL"),
        (lambda: db.link(one, "refers_to", other, context={"evidence": "\0"}), "evidence has a NUL"),
        (lambda: db.define_relation("a\0"), "the edge type has a NUL"),
        (lambda: db.define_relation("likes", inverse="a\0"), "inverse has a NUL"),
        (lambda: db.trust("low", source={"file": "a\0"}), "source has a NUL"),
    ):
        with pytest.raises(worlddb.InvalidText, match=where):
            write()
    assert db.head().seq == seq


def test_a_name_that_begins_a_reference_by_chance_reaches_into_no_users_world_either(db: worlddb.Database) -> None:
    """A name of one letter did, for one world in sixteen."""
    theirs = db.create("Entity", "x", world=db.create("Scope", "user:ana").ref).ref
    for digits in range(1, 4):
        db.revise(theirs, name=theirs[:digits])
        with pytest.raises(worlddb.UnknownReference, match="never finds a world of a user"):
            db.revise(theirs[:digits], content="mine")
    assert db.revise(theirs[:4], content="theirs").ref == theirs
