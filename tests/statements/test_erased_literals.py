"""One literal of a world's statements is erased: its text is in no file, and all beside it stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import lmdb
import pytest

import worlddb
from tests.support.faults.traces import find_traces
from tests.support.model.stores import refusal
from worlddb import Database, Iri, Literal, NewerFormat
from worlddb.log.model import codec
from worlddb.log.store import log as logs
from worlddb.query.export import bundle_export, json_lines
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.session import Call, Session

A, B = (Iri(f"https://a.example/{name}") for name in "ab")
P, Q = (Iri(f"https://a.example/{name}") for name in "pq")
GONE = "Marmalade of Leipzig"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", create=True, embedder=None, author="ann") as opened:
        yield opened


def _told(db: Database) -> str:
    """A world that states a text that is to go with others in one commit, again in another, and inside of a triple."""
    world = str(db.create("Place", "Bar").ref)
    db.state(world, [(A, P, Literal(GONE)), (A, P, Literal("tea")), (A, P, Literal(""))], source={"file": "menu"})
    db.state(world, [(B, P, Literal(GONE)), (A, P, Literal(GONE, language="de"))])
    db.state(world, [(B, Q, worlddb.Triple(A, P, Literal(GONE)))])
    db.unstate(world, [(B, P, Literal(GONE))])
    return world


def _texts(db: Database, world: str) -> list[str]:
    return sorted(str(each.object) for each in db.view().statements(world))


LEFT = ['""', f'"{GONE}"@de', '"tea"']


def test_a_literal_goes_from_every_file_and_what_stands_beside_it_stays(db: Database) -> None:
    world = _told(db)
    assert db.view().recall("marmalade").hits
    root, then = db.view().hash(), db.view().seq
    receipt = db.erase_literal(world, Literal(GONE), reason="request 7")
    assert receipt and _texts(db, world) == LEFT
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")
    assert _texts(db, world) == ['""', '"tea"']
    assert find_traces(db.path, [GONE]) == []
    assert db.view().hash() == root
    assert sorted(str(each.object) for each in db.view(seq=then).statements(world)) == ['""', '"tea"']
    assert [each.source for each in db.view().statements(world)] == [{"file": "menu"}] * 2
    assert not db.view().recall("marmalade").hits
    assert db.view().recall("tea").hits
    assert db.verify(deep=True).findings == ()
    db.rebuild()
    assert db.verify(deep=True).findings == () and _texts(db, world) == ['""', '"tea"']


def test_a_literal_that_nobody_states_is_refused_and_nothing_else_is_taken_for_one(db: Database) -> None:
    world = _told(db)
    for other in (Literal("Marmalade"), Literal(GONE, language="fr"), Literal(GONE.upper())):
        refused = db.erase_literal(world, other, reason="request 7")
        assert refusal(refused) == "literal_not_stated" and GONE[:9] not in str(refused.outcome)
    with pytest.raises(worlddb.InputError, match="not a literal"):
        db.erase_literal(world, A, reason="request 7")
    with pytest.raises(worlddb.InputError, match="reason"):
        db.erase_literal(world, Literal(GONE), reason="")


def test_an_empty_literal_is_one_that_was_stated_and_can_be_erased_itself(db: Database) -> None:
    world = _told(db)
    db.erase_literal(world, Literal("tea"), reason="request 7")
    assert '""' in _texts(db, world)
    db.erase_literal(world, Literal(""), reason="request 8")
    assert _texts(db, world) == sorted(
        [f"{each}" for each in (Literal(GONE), Literal(GONE, language="de"))] + [f'<<( {A} {P} "{GONE}" )>>']
    )
    assert db.verify(deep=True).ok


def test_what_was_erased_may_be_stated_again_and_is_another_term(db: Database) -> None:
    world = _told(db)
    db.erase_literal(world, Literal(GONE), reason="request 7")
    db.state(world, [(A, P, Literal(GONE))])
    assert _texts(db, world) == sorted([*LEFT, f'"{GONE}"'])
    assert db.verify(deep=True).ok
    db.erase_literal(world, f'"{GONE}"', reason="request 8")
    assert _texts(db, world) == LEFT and db.verify(deep=True).ok


def test_other_worlds_keep_what_they_state(db: Database) -> None:
    world = _told(db)
    other = db.create("Place", "Other").ref
    db.state(other, [(A, P, Literal(GONE))])
    db.erase_literal(world, Literal(GONE), reason="request 7")
    assert _texts(db, other) == [f'"{GONE}"']


def test_who_reads_the_history_is_told_that_it_was_erased_and_by_what_request(db: Database) -> None:
    world = _told(db)
    first = db.view().seq
    db.erase_literal(world, Literal(GONE), reason="request 7")
    lines = [each.text for each in db.log() if each.event == "stated"]
    assert lines[0].splitlines() == [f"{A} {P} (erased) .", f'{A} {P} "tea" .', f'{A} {P} "" .']
    [struck] = [each for each in db.log() if each.event == "struck"]
    assert (struck.refs, struck.why, struck.author) == ((world,), "request 7", "ann")
    assert first < struck.seq


def test_a_retry_has_the_same_effect_and_says_that_it_could_not_be_compared(db: Database) -> None:
    world = _told(db)
    db.state(world, [(A, Q, Literal(GONE)), (A, Q, Literal("milk"))], idempotency_key="stated")
    receipt = db.erase_literal(world, Literal(GONE), reason="request 7", idempotency_key="erased")
    again = db.erase_literal(world, Literal(GONE), reason="request 7", idempotency_key="erased")
    assert again.seq == receipt.seq and [note.code for note in again.notes] == ["retry_not_compared"]
    stated = db.state(world, [(A, Q, Literal(GONE)), (A, Q, Literal("milk"))], idempotency_key="stated")
    assert [note.code for note in stated.notes] == ["retry_not_compared"]
    with pytest.raises(worlddb.IdempotencyConflict):
        db.state(world, [(A, Q, Literal(GONE)), (A, Q, Literal("cream"))], idempotency_key="stated")
    assert find_traces(db.path, [GONE.upper()]) == []


def test_copies_that_are_made_afterwards_hold_nothing_of_it(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    before = db.view().seq
    db.backup(tmp_path / "old")
    db.backup(tmp_path / "kept")
    assert find_traces(tmp_path / "old", [GONE])
    db.snapshot()
    db.erase_literal(world, Literal(GONE), reason="request 7")
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")
    db.backup(tmp_path / "kept")
    db.backup(tmp_path / "new")
    db.replay(tmp_path / "then", seq=before)
    db.replay(tmp_path / "between", seq=before + 1)
    worlddb.restore(tmp_path / "old", tmp_path / "restored", erasures_of=db.path)
    worlddb.restore(tmp_path / "new", tmp_path / "again")
    db.snapshot()
    for name in ("store", "kept", "new", "then", "between", "restored", "again"):
        assert find_traces(tmp_path / name, [GONE]) == [], name
        with worlddb.open(tmp_path / name, embedder=None) as other:
            assert other.verify(deep=True).findings == (), name
            assert _texts(other, world) == ['""', '"tea"'], name
    with worlddb.open(tmp_path / "restored", embedder=None) as other:
        told = [each for each in other.log() if each.event == "struck_elsewhere"]
        assert [each.why for each in told] == ["request 7", "request 8"]
        other.replay(tmp_path / "once more", seq=before)
        assert other.verify(deep=True).ok
    with worlddb.open(tmp_path / "once more", embedder=None) as other:
        assert other.verify(deep=True).ok and _texts(other, world) == ['""', '"tea"']


def test_a_history_without_some_commits_has_not_what_was_erased(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    other = db.create("Place", "Elsewhere")
    db.state(world, [(B, Q, Literal(GONE))])
    db.erase_literal(world, Literal(GONE), reason="request 7")
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")
    erasing = db.view().seq
    with pytest.raises(worlddb.InputError, match="cannot come back"):
        db.replay(tmp_path / "never", without=[erasing])
    for number, without in enumerate(([other.seq], [3], [5])):
        folder = tmp_path / f"without {number}"
        db.replay(folder, without=without)
        with worlddb.open(folder, embedder=None) as made:
            assert made.verify(deep=True).findings == ()
            assert GONE not in str(_texts(made, world))
        assert find_traces(folder, [GONE]) == []
    assert not db.redecide().differing


def test_an_erasure_reaches_forks_and_is_not_undone_by_a_merge(db: Database) -> None:
    world = _told(db)
    fork = db.fork(world).ref
    again = db.fork(fork).ref
    db.state(fork, [(B, P, Literal(GONE)), (B, P, Literal("milk"))])
    db.erase_literal(world, Literal(GONE), reason="request 7")
    for each in (world, fork, again):
        assert f'"{GONE}"' not in _texts(db, each)
    db.merge(fork)
    assert _texts(db, world) == sorted([*LEFT, '"milk"'])
    assert db.verify(deep=True).findings == ()
    later = db.fork(world).ref
    assert _texts(db, later) == _texts(db, world)
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")
    assert _texts(db, later) == ['""', '"milk"', '"tea"']
    assert find_traces(db.path, [GONE]) == []
    assert db.verify(deep=True).findings == ()
    db.rebuild()
    assert db.verify(deep=True).findings == ()


def test_an_erasure_in_a_fork_is_no_taking_back_in_its_origin(db: Database) -> None:
    world = _told(db)
    fork = db.fork(world).ref
    db.erase_literal(fork, Literal(GONE), reason="request 7")
    db.state(fork, [(B, P, Literal("milk"))])
    stated = _texts(db, world)
    db.merge(fork)
    assert _texts(db, world) == sorted([*stated, '"milk"'])
    assert f'"{GONE}"' not in _texts(db, fork)


def test_a_bundle_goes_without_it_and_is_taken_in_as_it_is(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    db.erase_literal(world, Literal(GONE), reason="request 7")
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")
    db.export(world, tmp_path / "bundle")
    assert find_traces(tmp_path, [GONE]) == []
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        other.import_bundle(tmp_path / "bundle")
        assert _texts(other, world) == ['""', '"tea"']
        assert other.view().hash(world) == db.view().hash(world)
        assert other.verify(deep=True).findings == ()
        other.rebuild()
        other.state(world, [(A, Q, Literal(GONE))])
        assert other.verify(deep=True).findings == ()
        other.export(world, tmp_path / "back")
        assert worlddb.diff(tmp_path / "bundle", db.path, world=world).equal
    db.import_bundle(tmp_path / "back")
    assert db.verify(deep=True).findings == ()


def test_a_bundle_of_a_store_that_still_has_it_does_not_bring_it_back(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    db.export(world, tmp_path / "bundle")
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        other.import_bundle(tmp_path / "bundle")
        other.state(world, [(B, Q, Literal(GONE)), (B, Q, Literal("milk"))])
        other.export(world, tmp_path / "back")
    db.erase_literal(world, Literal(GONE), reason="request 7")
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")
    db.import_bundle(tmp_path / "back")
    assert _texts(db, world) == ['""', '"milk"', '"tea"']
    assert find_traces(db.path, [GONE]) == []
    assert db.verify(deep=True).findings == ()
    db.rebuild()
    assert _texts(db, world) == ['""', '"milk"', '"tea"']


def test_sparql_and_exports_find_it_no_more_at_any_moment(db: Database) -> None:
    world = _told(db)
    then = db.view().seq
    asked = "SELECT ?text WHERE { ?s ?p ?text FILTER(isLiteral(?text)) }"
    assert GONE in str(db.view().sparql(asked, world=world))
    db.erase_literal(world, Literal(GONE), reason="request 7")
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")
    for view in (db.view(), db.view(seq=then)):
        found = str(view.sparql(asked, world=world))
        assert "tea" in found and GONE not in found
        assert GONE.encode() not in view.write_rdf(world, "nquads")
    db.sparql_update(f'INSERT DATA {{ {A} {P} "milk" }}', world=world)
    assert "milk" in str(db.view().sparql(asked, world=world))


def test_what_is_left_of_a_text_is_held_against_what_the_log_says(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    db.erase_literal(world, Literal(GONE), reason="request 7")
    place = 3, 1
    with db._env.read() as txn:
        stored = logs.LmdbLog(txn).blob(*place)
    assert stored is not None
    struck = codec.struck_in(stored)
    assert struck is not None
    db.close()

    def put(value: bytes) -> None:
        with lmdb.open(str(db.path), map_size=1 << 30, subdir=True) as raw, raw.begin(write=True) as txn:
            txn.put(logs._BLOB.pack(logs._BLOBS, *place), value)

    others = codec.strike_texts(stored, [0, 1, 2], 3)  # Somebody took more, and made its hash anew.
    for value in (others, stored.replace(b"tea", b"tee"), struck.left, codec.encode(["details", b"", [], "", {}, {}])):
        put(value)
        with worlddb.open(db.path, embedder=None) as opened:
            found = opened.verify()
            assert not found.ok and found.first_bad_seq == 3
    put(stored)
    with worlddb.open(db.path, embedder=None) as opened:
        assert opened.verify(deep=True).ok


def test_a_store_of_which_nothing_was_erased_so_has_the_format_that_older_releases_read(db: Database) -> None:
    def mark() -> bytes:
        with db._env.read() as txn:
            return bytes(txn.get(b"\x01format", b""))

    world = _told(db)
    assert mark() == codec.encode(("worlddb", 1))
    db.erase_literal(world, Literal(GONE), reason="request 7")
    assert mark() == codec.encode(("worlddb", 2))


def test_a_release_that_knows_nothing_of_it_refuses_the_store(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    world = _told(db)
    db.erase_literal(world, Literal(GONE), reason="request 7")
    db.close()
    monkeypatch.setattr(logs, "STRUCK_FORMAT", 1)
    with pytest.raises(NewerFormat, match="has format 2"):
        worlddb.open(db.path, embedder=None)


@pytest.mark.parametrize("seed", range(3))
def test_histories_of_statements_and_erasures_come_out_as_a_plain_model_says(db: Database, seed: int) -> None:
    random, held, gone = Random(seed), dict[tuple[str, str], bool](), set[str]()
    world = str(db.create("Place", "Bar").ref)
    words = [f"word {number} of all" for number in range(6)]
    for _ in range(40):
        word, subject = random.choice(words), random.choice((A, B))
        how = random.random()
        if how < 0.5:
            db.state(world, [(subject, P, Literal(word)), (subject, P, Literal("stays"))])
            held[str(subject), word] = True
            gone.discard(word)
        elif how < 0.75:
            db.unstate(world, [(subject, P, Literal(word))])
            held.pop((str(subject), word), None)
        else:
            erased = db.erase_literal(world, Literal(word), reason="request")
            if erased:
                gone.add(word)
                held = {key: True for key in held if key[1] != word}
        told = sorted((str(each.subject), str(each.object)[1:-1]) for each in db.view().statements(world, predicate=P))
        assert [each for each in told if each[1] != "stays"] == sorted(held)
    assert find_traces(db.path, gone) == []
    assert db.verify(deep=True).findings == ()
    db.rebuild()
    assert db.verify(deep=True).findings == ()


def test_the_rest_of_a_statement_is_there_and_says_who_erased_what(db: Database) -> None:
    world = _told(db)
    db.erase_literal(world, Literal("tea"), reason="request 7")
    [left] = db.view().erased_statements(world)
    assert (left.subject, left.predicate, left.object, left.erased) == (A, P, None, ("object",))
    assert (left.source, left.author, str(left)) == ({"file": "menu"}, "ann", f"{A} {P} (erased) .")
    assert left.erasure is not None
    assert (left.erasure.reason, left.erasure.author, left.erasure.seq) == ("request 7", "ann", db.view().seq)
    db.erase(world, reason="request 8")
    assert {each.erasure.reason for each in db.view().erased_statements(world) if each.erasure} == {
        "request 7",
        "request 8",
    }


def test_a_plan_counts_what_an_erasure_reaches_and_writes_nothing(db: Database) -> None:
    world = _told(db)
    other = db.create("Place", "Other").ref
    db.state(other, [(A, P, Literal(GONE))])
    fork = db.fork(world).ref
    head = db.head()
    plan = db.literal_erasure_plan(world, Literal(GONE))
    assert set(plan.worlds) == {world, fork} and plan.elsewhere == (other,)
    assert db.head() == head
    receipt = db.erase_literal(world, Literal(GONE), reason="request 7")
    proof = db.erasure_receipt(receipt)
    assert {each.ref for each in proof.worlds} == {world, fork}
    assert plan.texts == sum(len(each.literals) for each in proof.worlds)
    assert db.check_erasure(proof).ok
    assert db.literal_erasure_plan(world, Literal(GONE)).texts == 0
    forged = worlddb.ErasureReceipt(
        **{**{name: getattr(proof, name) for name in proof.__struct_fields__}, "author": "bob"}
    )
    assert not db.check_erasure(forged).ok


def test_a_bundle_says_by_its_format_that_older_releases_do_not_know_what_is_in_it(
    db: Database, tmp_path: Path
) -> None:
    world, other = _told(db), db.create("Place", "Other").ref
    db.state(other, [(A, P, Literal("tea"))])
    db.erase_literal(world, Literal(GONE), reason="request 7")
    for name, ref in (("struck", world), ("whole", other)):
        db.export(ref, tmp_path / name)
    assert (tmp_path / "struck").read_bytes().startswith(b"worlddb-bundle 2\n")
    assert (tmp_path / "whole").read_bytes().startswith(b"worlddb-bundle 1\n")


def test_a_restore_that_left_a_literal_out_is_gone_on_with_only_where_that_is_left_out_again(
    db: Database, tmp_path: Path
) -> None:
    world = _told(db)
    db.backup(tmp_path / "backup")
    db.erase_literal(world, Literal(GONE), reason="request 7")
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")

    def stop(done: int, whole: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worlddb.restore(tmp_path / "backup", tmp_path / "new", erasures_of=db.path, progress=stop)
    with pytest.raises(worlddb.PlaceTaken):
        worlddb.restore(tmp_path / "backup", tmp_path / "new")
    worlddb.restore(tmp_path / "backup", tmp_path / "new", erasures_of=db.path)
    with worlddb.open(tmp_path / "new", embedder=None) as restored:
        assert restored.verify(deep=True).findings == () and _texts(restored, world) == ['""', '"tea"']
    assert find_traces(tmp_path / "new", [GONE]) == []


@pytest.mark.parametrize("of_fork", [False, True])
def test_a_world_and_its_fork_go_in_one_bundle_of_which_one_has_lost_a_literal(
    db: Database, tmp_path: Path, of_fork: bool
) -> None:
    """Both name the same details; an erasure in the fork leaves the origin alone, also where both come together."""
    town = db.create("Place", "Town").ref
    world = str(db.create("Place", "Bar", world=town).ref)
    db.state(world, [(A, P, Literal(GONE)), (A, P, Literal("tea"))])
    fork = db.fork(world).ref
    db.erase_literal(fork if of_fork else world, Literal(GONE), reason="request 7")
    assert (f'"{GONE}"' in _texts(db, world)) is of_fork
    db.export(town, tmp_path / "bundle")
    told = (tmp_path / "bundle").read_bytes()
    assert (GONE.encode() in told, told[:17]) == (of_fork, b"worlddb-bundle 3\n" if of_fork else b"worlddb-bundle 2\n")
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        other.import_bundle(tmp_path / "bundle")
        assert _texts(other, world) == _texts(db, world)
        assert _texts(other, fork) == _texts(db, fork) == ['"tea"']
        assert other.verify(deep=True).findings == ()
        if of_fork:
            other.erase_literal(world, Literal(GONE), reason="request 8")
        assert find_traces(tmp_path / "other", [GONE]) == []


def test_a_confined_view_is_told_of_erasures_inside_alone(db: Database) -> None:
    home, other = (db.create("Place", name).ref for name in ("home", "other"))
    for world in (home, other):
        db.state(world, [(A, P, Literal(GONE))])
        db.erase_literal(world, Literal(GONE), reason=f"of {world}")
    view = db.view(world=home)
    [left] = view.erased_statements(home)
    assert left.erasure is not None and left.erasure.reason == f"of {home}"
    with pytest.raises(worlddb.UnknownReference):
        view.erased_statements(other)
    struck = [each for each in view.log() if each.event == "struck"]
    assert [(each.refs, each.data["hashes"]) for each in struck] == [((home,), [])]


def test_a_retry_by_a_pattern_after_an_erasure_has_the_same_receipt_and_says_what_was_erased(db: Database) -> None:
    world, other = _told(db), str(db.create("Place", "Other").ref)
    db.state(other, [(A, P, Literal(GONE))])
    ended = db.unstate(world, subject=A, predicate=P, idempotency_key="ended")
    update = f"DELETE {{ ?s {P} ?o }} INSERT {{ ?s {Q} 'sold out' }} WHERE {{ ?s {P} '{GONE}' ; {P} ?o }}"
    changed = db.sparql_update(update, world=other, idempotency_key="changed")
    assert ended.events and changed.events
    for key, first, again in (
        ("ended", ended, lambda: db.unstate(world, subject=A, predicate=P, idempotency_key="ended")),
        ("changed", changed, lambda: db.sparql_update(update, world=other, idempotency_key="changed")),
    ):
        assert again() == first, key
    db.erase(db.create("Note", "later", content="came after both").ref, reason="request 6")
    with pytest.raises(worlddb.IdempotencyConflict):
        db.sparql_update("DELETE WHERE { ?s ?p ?o }", world=other, idempotency_key="changed")
    db.erase_literal(world, Literal(GONE), reason="request 7")
    with pytest.raises(worlddb.IdempotencyConflict):
        db.unstate(other, subject=A, idempotency_key="ended")
    db.erase_literal(other, Literal(GONE), reason="request 8")
    head = db.head().seq
    told = db.unstate(world, subject=A, predicate=P, idempotency_key="ended")
    assert (told.seq, told.notes) == (ended.seq, (worlddb.Note("retry_not_compared", (world,)),))
    told = db.sparql_update(update, world=other, idempotency_key="changed")
    assert told.seq == changed.seq and told.notes == (worlddb.Note("retry_not_compared", (world, other)),)
    told = db.sparql_update(update, world=other, within=other, idempotency_key="changed")
    assert told.notes == (worlddb.Note("retry_not_compared", (other,)),)
    assert db.head().seq == head
    db.erase(world, reason="request 9")
    assert db.unstate(world, subject=A, predicate=P, idempotency_key="ended").seq == ended.seq


@pytest.mark.parametrize("kind", ["literal", "world"])
def test_what_is_erased_while_a_world_is_exported_is_not_in_the_bundle(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A page that was read before had it: the bundle held it, and no receipt named the bundle."""
    monkeypatch.setattr(bundle_export, "PAGE", 1)
    monkeypatch.setattr(json_lines, "PAGE", 1)
    top = db.create("Topic", "top").ref
    inside = [str(db.create("Place", f"{number}", content=f"{kind} {number}", world=top).ref) for number in range(3)]
    pending = {each: number for number, each in enumerate(inside)}
    for each in inside:
        db.state(each, [(A, P, Literal(f"{GONE} {each}")), (A, P, Literal("tea"))])

    def erase(done: int, count: int) -> None:
        """One of them at each page of the first run."""
        if pending and done >= 2:
            each, number = pending.popitem()
            if kind == "literal":
                assert db.erase_literal(each, Literal(f"{GONE} {each}"), reason=f"request {number}")
            else:
                assert db.erase(each, reason=f"request {number}")

    for write, name in ((db.export, "bundle"), (db.export_jsonl, "lines")):
        write(top, tmp_path / name, progress=erase)
        last = db.view().seq
        left = [each for each in inside if GONE in str(db.view().statements(each))]
        gone = [f"{GONE} {each}" for each in inside if each not in left]
        assert gone and find_traces(tmp_path, gone) == [], name
        for each in left[:1]:
            db.erase_literal(each, Literal(f"{GONE} {each}"), reason="later")
            assert any(name in place for place in db.erasure_receipt(last + 1).not_reached), name
            pending.pop(each, None)
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        other.import_bundle(tmp_path / "bundle")
        assert other.verify(deep=True).ok


def test_a_literal_is_erased_in_every_world_that_ever_stated_it(db: Database) -> None:
    world = _told(db)
    others = [str(db.create("Place", name).ref) for name in ("Past", "Present", "Never")]
    for each in others[:2]:
        db.state(each, [(A, P, Literal(GONE)), (A, P, Literal("tea"))])
    db.unstate(others[0], subject=A)
    db.state(others[2], [(A, P, Literal("milk"))])
    alone = db.literal_erasure_plan(others[2], Literal(GONE))
    assert (alone.worlds, set(alone.elsewhere)) == ((), {world, *others[:2]})
    plan = db.literal_erasure_plan(others[2], Literal(GONE), everywhere=True)
    assert (set(plan.worlds), plan.elsewhere) == ({world, *others[:2]}, ())
    asked: Any = {"reason": "request 7", "everywhere": True, "idempotency_key": "k"}
    receipt = db.erase_literal(others[2], Literal(GONE), **asked)
    assert {each.ref for each in db.erasure_receipt(receipt).worlds} == {world, *others[:2]}
    assert [_texts(db, each) for each in (world, *others)] == [LEFT, [], ['"tea"'], ['"milk"']]
    assert db.erase_literal(others[2], Literal(GONE), **asked).seq == receipt.seq
    with pytest.raises(worlddb.IdempotencyConflict):
        db.erase_literal(others[2], Literal(GONE), **asked | {"everywhere": False})
    assert refusal(db.erase_literal(world, Literal(GONE), reason="r", everywhere=True)) == "literal_not_stated"
    db.erase_literal(world, Literal(GONE, language="de"), reason="request 8")
    assert find_traces(db.path, [GONE]) == [] and db.verify(deep=True).findings == ()


def test_an_operators_tool_tells_the_plan_and_erases_what_it_said(db: Database) -> None:
    world, other = _told(db), str(db.create("Place", "Other").ref)
    db.state(other, [(A, P, Literal(GONE))])
    [tool] = [each for each in catalogue.tools_in_sets("operator") if each.name == "memory_erase_literal"]

    def ask(session: Session, **given: Any) -> Any:
        asked = {"id": world, "literal": f'"{GONE}"', "reason": "request 7", **given}
        return tool.run(session, tool.takes.parse(asked), Call("client", tool.name))

    plan = ask(Session(db))
    assert (plan.outcome, plan.worlds, plan.elsewhere, plan.receipt) == ("planned", [world], [other], None)
    with pytest.raises(worlddb.InputError, match="not 9"):
        ask(Session(db), statements=9)
    with pytest.raises(worlddb.InputError, match="one world"):
        ask(Session(db, world), statements=plan.statements)
    assert f'"{GONE}"' in _texts(db, world)
    done = ask(Session(db), statements=plan.statements)
    assert done.outcome == "erased" and _texts(db, world) == LEFT and _texts(db, other) == [f'"{GONE}"']
    assert db.check_erasure(done.receipt).ok
    every = ask(Session(db), everywhere=True)
    assert ask(Session(db), everywhere=True, statements=every.statements).worlds == [other]
    assert _texts(db, other) == []
