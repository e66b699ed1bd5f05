"""Statements keep the laws of the store: replay, retries, erasure, proofs, and backups."""

import pytest

import worlddb
from worlddb import Iri, Literal

A, B, C = (Iri(f"https://a.example/{name}") for name in "abc")
P, Q = (Iri(f"https://a.example/{name}") for name in "pq")


@pytest.fixture
def db(tmp_path):
    with worlddb.open(tmp_path / "store", create=True, embedder=None) as opened:
        yield opened


def texts(found):
    return sorted(map(str, found))


def _told(db):
    """A world, in which statements were made and taken back on both axes of time."""
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, B), (A, Q, Literal("x"))])
    db.unstate(world, predicate=P)
    db.create("Place", "Room", world=world)
    db.state(world, [(B, P, A), (A, P, B)], valid_from="2020-01-01", valid_to="2030-01-01")
    db.unstate(world, [(A, P, B)], at="2025-01-01")
    return world


def test_a_replay_to_every_commit_has_its_hash_and_its_statements(db, tmp_path):
    world = _told(db)
    for seq in range(2, db.view().seq + 1):
        assert db.replay(tmp_path / str(seq), seq=seq).matches_recorded
        with worlddb.open(tmp_path / str(seq), embedder=None) as other:
            for valid in ("2021-01-01", "2026-01-01"):
                there = texts(other.view(valid=valid).statements(world))
                assert there == texts(db.view(seq=seq, valid=valid).statements(world))


def test_what_would_be_without_a_commit_has_the_other_statements(db, tmp_path):
    world = _told(db)
    for seq, left in ((3, 2), (4, 2), (6, 0)):
        db.replay(tmp_path / str(seq), without=[seq])
        with worlddb.open(tmp_path / str(seq), embedder=None) as other:
            assert other.view(valid="2021-01-01").count_statements(world) == left
            assert other.verify(deep=True).ok


def test_what_would_be_without_a_commit_of_erased_statements_is_told_all_the_same(db, tmp_path):
    world = _told(db)
    db.erase(world, reason="asked for", members=False)
    assert db.replay(tmp_path / "all").matches_recorded
    for seq in (2, 3, 4, 6):
        db.replay(tmp_path / str(seq), without=[seq])
        with worlddb.open(tmp_path / str(seq), embedder=None) as other:
            assert other.view().count_statements() == 0
            assert other.verify(deep=True).ok


def test_a_retried_call_is_done_once(db):
    world = db.create("Place", "Bar").ref

    def calls():
        yield db.state(world, [("_:x", P, "_:y"), (A, P, B)], idempotency_key="say")
        yield db.unstate(world, predicate=P, idempotency_key="take back")
        yield db.change_statements(world, remove=[(A, P, B)], add=[("_:x", P, C)], idempotency_key="change")
        with db.batch(idempotency_key="both") as batch:
            batch.state(world, [("_:x", Q, "_:y")])
            batch.state(world, [("_:x", Q, "_:y")])
        yield batch.receipt

    first = [(receipt.seq, texts(db.view().statements(world))) for receipt in calls()]
    assert [receipt.seq for receipt in calls()] == [seq for seq, _ in first]
    assert texts(db.view().statements(world)) == first[-1][1]
    assert len(first[-1][1]) == 3
    with pytest.raises(worlddb.IdempotencyConflict):
        db.state(world, [(A, P, A)], idempotency_key="say")


def test_blank_nodes_of_one_seed_are_the_same(tmp_path):
    roots = set()
    for name in ("one", "other"):
        clock, entropy = worlddb.ManualClock(1_700_000_000_000_000), worlddb.SeededEntropy(7)
        with worlddb.open(tmp_path / name, create=True, embedder=None, clock=clock, entropy=entropy) as db:
            world = db.create("Place", "Bar").ref
            with db.batch() as batch:
                batch.state(world, [("_:x", P, "_:y")])
            roots.add(db.view().hash())
    assert len(roots) == 1


def test_one_commit_may_state_and_take_back_the_same(db):
    world = db.create("Place", "Bar").ref
    for _ in range(2):
        with db.batch() as batch:
            batch.unstate(world, [(A, P, B)], at=7)
            batch.state(world, [(A, P, B)], valid_from=5)
            batch.unstate(world, [(A, P, B)])
            batch.state(world, [(A, P, B)], valid_from=5, valid_to=9)
        assert [db.view(valid=valid).count_statements(world) for valid in (4, 5, 8, 9)] == [0, 1, 1, 0]
    root = db.view().hash()
    db.rebuild()
    assert db.view().hash() == root
    assert db.verify(deep=True).ok


def test_erasing_what_contains_a_world_takes_every_byte_of_its_statements(db, tmp_path):
    top = db.create("Place", "Town").ref
    world = db.create("Place", "Bar", world=top).ref
    db.state(world, [(A, P, Literal("zanzibar")), (Iri("https://zanzibar.example/a"), P, A)])
    db.unstate(world, predicate=P)
    db.erase(top, reason="asked for", members=True)
    stored = b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())
    assert b"zanzibar" not in stored
    refused = db.state(world, [(A, P, B)])
    assert refused.outcome.code == "erased"
    assert db.view().count_statements() == 0


def test_edges_are_proved_beside_statements_now_and_in_the_past(db):
    world = db.create("Place", "Bar").ref
    one, other = (db.create("Place", name, world=world).ref for name in ("one", "other"))
    edge = db.link(one, "relates_to", other).ref
    before = db.view().seq
    db.state(world, [(A, P, B), (B, P, A)])
    db.unstate(world, predicate=P)
    db.state(world, [(A, Q, B)])
    head = db.checkpoint()
    for seq in range(before, db.view().seq + 1):
        for ref in (edge, one, world):
            found = worlddb.check_proof(db.prove(ref, seq=seq, head=head), head)
            assert found.ok, (ref, seq, found.reason)


def test_a_backup_and_a_move_keep_statements(db, tmp_path):
    world = _told(db)
    town = db.create("Place", "Town").ref
    db.move(world, town)
    assert db.view(world=town).count_statements() == db.view().count_statements() == 2
    db.backup(tmp_path / "copy")
    worlddb.restore(tmp_path / "copy", tmp_path / "restored")
    with worlddb.open(tmp_path / "restored", embedder=None) as other:
        assert texts(other.view().statements(world)) == texts(db.view().statements(world))
        assert other.view().hash() == db.view().hash()
        other.state(world, [(C, Q, C)])
    found = worlddb.diff(tmp_path / "store", tmp_path / "restored")
    assert world in {change.ref for change in found.worlds}
