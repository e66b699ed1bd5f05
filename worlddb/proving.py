"""What a store can prove to those who do not have it: checkpoints that can be signed, and the keys for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from worlddb.log.model.checkpoint import OwnCheckpoint, anchor_of, checkpoint_text, read_checkpoint
from worlddb.log.model.clock import Entropy, SystemEntropy
from worlddb.log.model.errors import InputError
from worlddb.log.model.ids import as_ref
from worlddb.log.model.limits import checked_number
from worlddb.log.model.proof import ProofCheck, check, proof_text, read_proof
from worlddb.log.model.signed_note import (
    SEED_BYTES,
    SignedNote,
    SigningKey,
    checked_key_name,
    note_text,
    parse_signing_key,
    sign,
)
from worlddb.log.model.times import TimeLike
from worlddb.query.proofs.proofs import checkpoint_at, goal_of, prove_consistency, prove_inclusion, size_of_head
from worlddb.viewing import Viewing


class KeyPair(NamedTuple):
    """A new Ed25519 key as two lines of text: ``signing`` is secret, ``verifier`` is for everybody.

    Their forms are those of signed notes, so that other programs for transparency logs read them.
    """

    signing: str
    verifier: str

    def __repr__(self) -> str:
        return f"<worlddb.KeyPair {self.verifier}>"


class Head(NamedTuple):
    """Where a store stands: its last commit, the hashes that stand for all of it, and when it was made.

    ``tree`` is the root of the Merkle tree over the commits, which proofs lead to. ``supposes`` says what a
    hypothetical store supposes, and is empty of every other.
    """

    seq: int
    chain: str
    root: str
    ingested_at: int
    store_id: str
    tree: str
    supposes: str = ""


_NOTHING_TO_SIGN: Final = "there is no checkpoint of it to be kept or signed"
_NOTHING_TO_PROVE: Final = "there is nothing that it proves"


class Proving(Viewing):
    """What an open store can prove."""

    def head(self, *, ingested: TimeLike | None = None, seq: int | None = None, bookmark: str | None = None) -> Head:
        """Where the store stands, or stood at an ingest time, commit or bookmark."""
        found = self._checkpoint(ingested, seq, bookmark)
        chain, root, ingest_time = found.standing
        return Head(
            found.size,
            chain.hex(),
            root.hex(),
            ingest_time,
            self._reader.store_id.hex(),
            found.tree.hex(),
            self._reader.supposes,
        )

    def checkpoint(
        self,
        *,
        ingested: TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        sign_with: Sequence[str] = (),
    ) -> str:
        """The store as it is, or was at an ingest time, commit or bookmark, in a few lines to be kept elsewhere.

        The text is a checkpoint as transparency logs have them: origin, number of commits, root of the Merkle tree
        over them, then chain hash, root world hash and ingest time. Each signing key in ``sign_with`` signs it.

        Raises:
            InputError: a key is no signing key, or there is no such commit.
        """
        self._reader.refuse_supposed(_NOTHING_TO_SIGN)
        _not_one_text(sign_with, "sign_with")
        holders = [parse_signing_key(key) for key in sign_with]
        note = SignedNote(checkpoint_text(self._checkpoint(ingested, seq, bookmark)), ())
        for key in holders:
            note = sign(note, key)
        return note_text(note)

    def prove(
        self,
        ref: Any,
        *,
        world: Any = None,
        ingested: TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        head: str | bytes | int | None = None,
        with_text: bool = False,
    ) -> str:
        """A proof that a world in its newest version then, or an edge, was inside ``world`` at a moment.

        ``world`` is the root world unless given, the moment the present one. Whoever has the ``head`` (its text or its
        number of commits, the present one unless given) can check it with :func:`check_proof` and needs no store. With
        ``with_text`` it shows the stored text, so that the reader need not take the identifier for it; an erased text
        is not shown, and the proof holds all the same.

        Raises:
            UnknownReference: it, or the world, was not there then, or not inside that world.
            InputError: a ``contains`` edge was named, or the head is of another store, of fewer commits than the
                moment, or of more than there are.
            MalformedFile: ``head`` is a text and no checkpoint.
        """
        self._reader.refuse_supposed(_NOTHING_TO_PROVE)
        view = self.view(ingested=ingested, seq=seq, bookmark=bookmark)
        at, within = view.seq, None if world is None else bytes.fromhex(view.reference_of(world))
        with self._reader.snapshot() as snapshot:
            size = size_of_head(head, self._reader.store_id, snapshot.log.head().seq)
            goal = goal_of(snapshot, as_ref(ref), within, at, size)
            return proof_text(prove_inclusion(snapshot, self._reader.store_id, goal, with_text=with_text))

    def prove_consistency(self, old: int, new: int | None = None) -> str:
        """A proof that the log of ``old`` commits is how the log of ``new`` commits (default: the present log) begins.

        Raises:
            InputError: there is no such commit, or the later one was given first.
        """
        self._reader.refuse_supposed(_NOTHING_TO_PROVE)
        with self._reader.snapshot() as snapshot:
            end = checked_number(snapshot.log.head().seq if new is None else new, "new", 1, snapshot.log.head().seq)
            begin = checked_number(old, "old", 1, end)
            return proof_text(prove_consistency(snapshot, self._reader.store_id, begin, end))

    def _checkpoint(self, ingested: TimeLike | None, seq: int | None, bookmark: str | None) -> OwnCheckpoint:
        at = self.view(ingested=ingested, seq=seq, bookmark=bookmark).seq
        with self._reader.snapshot() as snapshot:
            return checkpoint_at(snapshot, self._reader.store_id, at)


def check_proof(proof: str | bytes, *heads: str | bytes, keys: Sequence[str] = ()) -> ProofCheck:
    """Hold a proof against a head; no store is needed. Never raises because a proof does not hold.

    A proof of inclusion is held against the one head that it was made for, a proof of consistency against the old
    head, the new one, or both in that order. Each verifier key in ``keys`` must have signed every head that is given.

    Raises:
        MalformedFile, LimitExceeded: the proof is no proof, or a head is no checkpoint.
        InputError: there is no head, or a key is no verifier key.
    """
    if not heads:
        raise InputError("There is no head to hold the proof against", "Give the text of a checkpoint")
    return check(read_proof(proof), [anchor_of(head, keys) for head in heads])


def new_key(name: str, *, entropy: Entropy | None = None) -> KeyPair:
    """A new Ed25519 key to sign checkpoints with, under the name of its holder.

    Raises:
        InputError: the name is empty, too long, or holds white space or a plus.
    """
    key = SigningKey(checked_key_name(name), (entropy or SystemEntropy()).bytes(SEED_BYTES))
    return KeyPair(str(key), str(key.verifier))


def sign_checkpoint(checkpoint: str | bytes, signing_key: str) -> str:
    """A checkpoint with one more signature below those that it has. What it says is not looked into: a witness first
    sees that it goes on from the checkpoint that it signed before.

    Raises:
        MalformedFile: it is no checkpoint.
        InputError: the key is no signing key.
    """
    _, note = read_checkpoint(checkpoint, "the checkpoint")
    return note_text(sign(note, parse_signing_key(signing_key)))


def _not_one_text(keys: object, what: str) -> None:
    if isinstance(keys, str | bytes):
        raise InputError(f"{what} is a text", "Give a list of keys")
