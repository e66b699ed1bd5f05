"""Every proof of a store holds, by this program and by the one in the documentation."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from tests.support.faults import forge
from tests.support.proving import BY_HAND, containers, everything, grow
from worlddb.log.model.proof import Consistency, Inclusion, read_proof


def test_everything_there_ever_was_is_proved_at_every_commit_for_every_later_head(whole: Path) -> None:
    proved = 0
    with worlddb.open(whole, author="x") as db:
        last = db.head().seq
        for size in (last, last - 1, 8):
            head = db.checkpoint(seq=size)
            for seq in range(1, size + 1):
                for ref in everything(db, seq):
                    proof = db.prove(ref, seq=seq, head=head, with_text=True)
                    found = worlddb.check_proof(proof, head)
                    assert found.ok, (ref, seq, found.reason)
                    assert found.claim["seq"] == seq
                    assert found.claim["ref"] == ref or found.claim["path"] == [""]
                    BY_HAND.inclusion(proof, head)
                    proved += 1
    assert proved > 300


@pytest.mark.parametrize("store", ["scripted", "grown"])
def test_what_a_proof_claims_is_what_the_views_say(store: str, whole: Path, tmp_path: Path) -> None:
    if store == "grown":
        grow(tmp_path / store, 3, 40)
    with worlddb.open(whole if store == "scripted" else tmp_path / store, author="x") as db:
        last, head = db.head().seq, db.checkpoint()
        for seq in (last, last // 2):
            view = db.view(seq=seq)
            for ref in everything(db, seq):
                claim = worlddb.check_proof(db.prove(ref, seq=seq, with_text=True), head).claim
                if "edge" in claim:
                    edge = view.edge(ref)
                    told = claim["edge"]
                    assert (told["type"], told["source"], told["target"]) == (edge.type, edge.source, edge.target)
                    assert (claim.get("why", ""), told["home"]) == (edge.why, edge.home)
                else:
                    newest = view.history(ref)[-1]
                    assert (claim["version"], claim["ingested_at"]) == (newest.version, view.ingested)
                    assert newest.erased == ("content" not in claim)
                    assert newest.erased or (claim["name"], claim["content"]) == (newest.name, newest.content)


def test_every_prefix_of_the_log_is_proved_to_begin_every_longer_one(whole: Path) -> None:
    with worlddb.open(whole, author="x") as db:
        heads = {seq: db.checkpoint(seq=seq) for seq in range(1, db.head().seq + 1)}
        for old in range(1, len(heads) + 1):
            for new in range(old, len(heads) + 1):
                proof = db.prove_consistency(old, new)
                for given_heads in ((heads[old], heads[new]), (heads[old],), (heads[new],)):
                    assert worlddb.check_proof(proof, *given_heads).ok
                BY_HAND.consistency(proof)


@examples(4)
@given(seed=st.integers(0, 2**32), data=st.data())
def test_random_logs_prove_what_is_in_them_and_nothing_else(
    seed: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = tmp_path_factory.mktemp("random") / "store"
    grow(store, seed, 40)
    with worlddb.open(store, author="x") as db:
        last = db.head().seq
        for _ in range(12):
            size = data.draw(st.integers(1, last))
            seq = data.draw(st.integers(1, size))
            head = db.checkpoint(seq=size)
            refs = list(everything(db, seq))
            ref, world = data.draw(st.sampled_from(refs)), data.draw(st.sampled_from(refs))
            proof = db.prove(ref, seq=seq, head=size)
            assert worlddb.check_proof(proof, head).ok
            BY_HAND.inclusion(proof, head)
            if len(world) == len(ref) == 32 and world != ref:
                inside = world in containers(db, ref, seq)
                try:
                    assert worlddb.check_proof(db.prove(ref, world=world, seq=seq, head=size), head).ok and inside
                except worlddb.UnknownReference:
                    assert not inside
            consistency = db.prove_consistency(seq, size)
            assert worlddb.check_proof(consistency, db.checkpoint(seq=seq), head).ok
            BY_HAND.consistency(consistency)


# -- what can be proved, and for whom


def test_a_proof_holds_when_the_text_is_gone_and_then_does_not_show_it(whole: Path, tmp_path: Path) -> None:
    store = forge.copy_store(whole, tmp_path / "store")
    with worlddb.open(store, author="x") as db:
        head = db.checkpoint()
        refs = list(everything(db, db.head().seq))
        before = {ref: db.prove(ref, with_text=True) for ref in refs}
    # The first two blobs of the first commit are the root's body and the secret.
    assert forge.delete(store, lambda key: key[0] == forge.BLOBS and forge.seq_of(key) > 1) > 20
    with worlddb.open(store, author="x") as db:
        for ref in refs:
            after = db.prove(ref, with_text=True)
            found = worlddb.check_proof(after, head)
            assert (found.ok and "content" not in found.claim) or found.claim["path"] == [""]
            genuine = read_proof(before[ref])
            assert isinstance(genuine, Inclusion)
            without = msgspec.structs.replace(genuine, shown=None)
            assert read_proof(after) == (
                genuine if found.claim["path"] == [""] and "edge" not in found.claim else without
            )
            assert worlddb.check_proof(before[ref], head).ok


def test_a_world_outside_is_not_proved_inside(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="x") as db:
        shelf, desk = db.create("Topic", "Shelf"), db.create("Topic", "Desk")
        book = db.create("Book", "Letters", world=shelf)
        link = db.link(book, "refers_to", desk, home=shelf)
        inside = db.view().edges(shelf, type="contains", direction="out")[0]
        moved = db.move(book, desk)
        unlinked = db.unlink(link.ref)
        assert bool(moved) and bool(unlinked)
        assert worlddb.check_proof(db.prove(book, world=shelf, seq=book.seq), db.checkpoint()).ok
        for call in (
            lambda: db.prove(book, world=shelf),
            lambda: db.prove(book, world=desk, seq=book.seq),
            lambda: db.prove(shelf, world=shelf),
            lambda: db.prove(shelf, world=book),
            lambda: db.prove(book, seq=1),
            lambda: db.prove(link.ref),
            lambda: db.prove("f" * 32),
        ):
            with pytest.raises(worlddb.UnknownReference) as caught:
                call()
            assert caught.value.remedy
        with pytest.raises(worlddb.InputError, match="contains edge"):
            db.prove(inside.ref, seq=book.seq)
        for wrong in ({"head": 1}, {"head": 99}, {"head": 0}, {"head": -1}, {"head": True}, {"seq": 0}, {"seq": 99}):
            with pytest.raises(worlddb.InputError):
                db.prove(shelf, **wrong)
        with pytest.raises(worlddb.MalformedFile):
            db.prove(shelf, head="monday")
        with worlddb.open(tmp_path / "other") as other, pytest.raises(worlddb.InputError, match="another store"):
            db.prove(shelf, head=other.checkpoint())
        for old, new in ((0, 1), (2, 1), (1, 99), ("1", 2)):
            with pytest.raises(worlddb.InputError):
                db.prove_consistency(old, new)  # type: ignore[arg-type]
        proof = read_proof(db.prove_consistency(db.head().seq))
        assert isinstance(proof, Consistency) and proof.path == []


def test_a_proof_is_short_in_a_wide_world_and_long_in_a_deep_one(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="x") as db:
        with db.batch() as tx:
            wide = tx.create("Topic", "wide")
            for number in range(2_000):
                tx.create("Note", str(number), world=wide)
            for number in range(300):
                wide = tx.create("Topic", f"deep {number}", world=wide)
        head = db.checkpoint()
        for ref, bytes_at_most in ((tx.receipt.refs[77], 20_000), (tx.receipt.refs[-1], 300 * 600)):
            proof = db.prove(ref, world=tx.receipt.refs[0])
            assert worlddb.check_proof(proof, head).ok
            BY_HAND.inclusion(proof, head)
            assert len(proof) < bytes_at_most
        again = db.create("Note", "later", world=tx.receipt.refs[0])
        then = worlddb.check_proof(db.prove(tx.receipt.refs[77], seq=again.seq - 1), db.checkpoint())
        assert then.ok and then.claim["seq"] == again.seq - 1
