"""What a store can prove to those who do not have it: checkpoints that can be signed, and the keys for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from worlddb.log.model.checkpoint import OwnCheckpoint, checkpoint_text, read_checkpoint
from worlddb.log.model.environment import Entropy, SystemEntropy
from worlddb.log.model.errors import InputError
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
from worlddb.query.proving import checkpoint_at
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

    ``tree`` is the root of the Merkle tree over the commits, which proofs lead to.
    """

    seq: int
    chain: str
    root: str
    ingested_at: int
    store_id: str
    tree: str


class Proving(Viewing):
    """What an open store can prove."""

    def head(self, *, ingested: TimeLike | None = None, seq: int | None = None, bookmark: str | None = None) -> Head:
        """Where the store stands, or stood at an ingest time, commit or bookmark."""
        found = self._checkpoint(ingested, seq, bookmark)
        chain, root, ingest_time = found.standing
        return Head(found.size, chain.hex(), root.hex(), ingest_time, self._reader.store_id.hex(), found.tree.hex())

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
        _not_one_text(sign_with, "sign_with")
        holders = [parse_signing_key(key) for key in sign_with]
        note = SignedNote(checkpoint_text(self._checkpoint(ingested, seq, bookmark)), ())
        for key in holders:
            note = sign(note, key)
        return note_text(note)

    def _checkpoint(self, ingested: TimeLike | None, seq: int | None, bookmark: str | None) -> OwnCheckpoint:
        at = self.view(ingested=ingested, seq=seq, bookmark=bookmark).seq
        with self._reader.snapshot() as snapshot:
            return checkpoint_at(snapshot, self._reader.store_id, at)


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
