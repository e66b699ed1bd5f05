"""Changing a closed store behind the engine's back, as a forger or a failing disk would."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import lmdb

FIRST_TABLE = 0x40
COMMIT, EVENTS, BLOBS = 0x02, 0x03, 0x04


def pairs(store: Path) -> list[tuple[bytes, bytes]]:
    """Every key and value of a closed store."""
    with lmdb.open(str(store), map_size=1 << 30, readonly=True, lock=False) as env, env.begin() as txn:
        return [(bytes(key), bytes(value)) for key, value in txn.cursor()]


def rewrite(store: Path, changes: Iterable[tuple[bytes, bytes | None]]) -> None:
    """Put values, or delete the keys of those that are ``None``."""
    with lmdb.open(str(store), map_size=1 << 30) as env, env.begin(write=True) as txn:
        for key, value in changes:
            if value is None:
                assert txn.delete(key), key.hex()
            else:
                txn.put(key, value)


def delete(store: Path, which: Callable[[bytes], bool]) -> int:
    """Delete the pairs whose keys fit; how many those were."""
    keys = [key for key, _ in pairs(store) if which(key)]
    rewrite(store, [(key, None) for key in keys])
    return len(keys)


def copied(store: Path, into: Path) -> Path:
    """A copy of a closed store, without what belongs to processes."""
    into.mkdir(parents=True)
    for name in ("data.mdb", "writer.json"):
        shutil.copyfile(store / name, into / name)
    return into


def seq_of(key: bytes) -> int:
    """The commit that a key of the log belongs to; 0 for the head and format records."""
    return int.from_bytes(key[1:9], "big") if key[0] in (COMMIT, EVENTS, BLOBS) else 0


def flipped(value: bytes, bit: int) -> bytes:
    """The value with one bit turned over."""
    changed = bytearray(value)
    changed[bit >> 3] ^= 1 << (bit & 7)
    return bytes(changed)
