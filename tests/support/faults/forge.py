"""Change a closed store without the engine, as a forger or a failing disk would."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import lmdb
import msgspec

from worlddb.log.model import codec
from worlddb.log.model.blobs import Body
from worlddb.log.model.codec import Record, events_hash
from worlddb.log.store.environment import Environment
from worlddb.log.store.high_water import MARK_FILE
from worlddb.log.store.log import LmdbLog
from worlddb.projections.runner import LoggedBlobs, apply_commit
from worlddb.projections.tables.apply.apply import Applier
from worlddb.projections.tables.storage.rows import Tables

FIRST_TABLE = 0x40
COMMIT, EVENTS, BLOBS = 0x02, 0x03, 0x04


def pairs(store: Path) -> list[tuple[bytes, bytes]]:
    """Every key and value of a closed store."""
    with lmdb.open(str(store), map_size=1 << 30, readonly=True, lock=False) as env, env.begin() as txn:
        return [(bytes(key), bytes(value)) for key, value in txn.cursor()]


def rewrite(store: Path, changes: Iterable[tuple[bytes, bytes | None]]) -> None:
    """Put values, or delete the keys of those that are ``None``.

    What would give a forger away at once is changed too: the meta of the transaction before, and the mark.
    """
    with lmdb.open(str(store), map_size=1 << 30) as env:
        with env.begin(write=True) as txn:
            for key, value in changes:
                if value is None:
                    deleted = txn.delete(key)
                    assert deleted, key.hex()
                else:
                    txn.put(key, value)
        with env.begin(write=True) as txn, txn.cursor() as cursor:
            if cursor.first():
                txn.put(*cursor.item())
    (store / MARK_FILE).unlink(missing_ok=True)


def delete(store: Path, which: Callable[[bytes], bool]) -> int:
    """Delete the pairs whose keys match; returns their number."""
    keys = [key for key, _ in pairs(store) if which(key)]
    rewrite(store, [(key, None) for key in keys])
    return len(keys)


def copy_store(store: Path, into: Path) -> Path:
    """A copy of a closed store, without what belongs to processes."""
    into.mkdir(parents=True)
    for name in ("data.mdb", "writer.json"):
        shutil.copyfile(store / name, into / name)
    return into


def seq_of(key: bytes) -> int:
    """The commit that a key of the log belongs to; 0 for the head and format records."""
    return int.from_bytes(key[1:9], "big") if key[0] in (COMMIT, EVENTS, BLOBS) else 0


def flip_bit(value: bytes, bit: int) -> bytes:
    """The value with one bit flipped."""
    changed = bytearray(value)
    changed[bit >> 3] ^= 1 << (bit & 7)
    return bytes(changed)


def forged_history(store: Path, into: Path, text: str, instead: str) -> int:
    """Write a store's whole history again with another text in one body, every hash and every table made anew, so that
    nothing inside it is wrong; the commit that was changed."""
    into.mkdir(parents=True)
    source = Environment(store, author="forger", timeout_seconds=5.0)
    target = Environment(into, author="forger", timeout_seconds=5.0)
    changed = 0

    def write(txn: lmdb.Transaction) -> None:
        nonlocal changed
        log = LmdbLog(txn)
        with source.read() as reading:
            genuine = LmdbLog(reading)
            for seq, record in genuine.read(1, genuine.head().seq):
                forged = [_with_text(blob, seq, text, instead) for blob in record.blobs]
                if forged != record.blobs:
                    changed = seq
                # The root world's hash is known when the events have been applied, so they are applied twice.
                tables = Tables(txn)
                header = genuine.header(seq)
                events = codec.decode_events(record.events, seq)
                ids = [events.blob(at) if blob is None else codec.named_id(blob) for at, blob in enumerate(forged)]
                events = msgspec.structs.replace(events, blobs=b"".join(ids))
                applier = Applier(tables, _Blobs(log, seq, events, forged), seq, header.ingest_time)
                applier.apply_all(events.events)
                stored = codec.encode(events)
                fresh = msgspec.structs.replace(
                    header, previous=log.head().chain, root=applier.rehash(), events_hash=events_hash(stored)
                )
                log.append(Record(codec.encode(fresh), stored, forged), seq, log.head())
                settled = Tables(txn)
                apply_commit(log, settled, seq)
                settled.flush()

    try:
        target.write(write)
    finally:
        source.close()
        target.close()
    shutil.copyfile(store / "writer.json", into / "writer.json")
    return changed


def _with_text(stored: bytes | None, seq: int, text: str, instead: str) -> bytes | None:
    body = None if stored is None else codec.decode_blob(stored, seq)
    if isinstance(body, Body) and body.content == text:
        return codec.encode(msgspec.structs.replace(body, content=instead))
    return stored


class _Blobs(LoggedBlobs):
    """The blobs of a commit that is not in any log yet."""

    def __init__(self, log: LmdbLog, seq: int, events, stored: list[bytes | None]) -> None:
        super().__init__(log, seq, events)
        self._stored = stored

    def _decoded(self, position: int):
        stored = self._stored[position]
        return None if stored is None else codec.decode_blob(stored, self._seq)
