"""Erasures that a copied log knows of although the commits that recorded them came later.

A store that is made as it was at an earlier moment has the commits up to then, and lacks the texts that were erased
since. What proves that they were erased, and were not lost, is carried along beside the log:

| first byte | rest of the key | value |
|---|---|---|
| 0x05 | 32-byte chain hash of the erasing commit | msgpack ``["erasure", through, header, events, details]`` |
| 0x05 | 16-byte lineage | the chain hash of the last commit that erased it |
| 0x05 | 32-byte keyed hash of a text, ``00`` | the chain hash of the last commit that forbade it |

``through`` is the last commit that was copied, up to which the erasing commit speaks of commits of this log too.
``header`` and ``events`` are its stored bytes, ``details`` pairs of a position and the stored blob at it: under which
reference the erasure was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import lmdb
import msgspec

from worlddb.log.model import codec
from worlddb.log.model.commit import Events, Header, chain_hash, events_hash
from worlddb.log.model.errors import DamagedStore
from worlddb.log.model.events import Erased
from worlddb.log.model.ids import HASH_BYTES

_FIRST: Final = b"\x05"
_FORBIDDEN: Final = b"\x00"


class _Stored(msgspec.Struct, frozen=True, array_like=True, tag="erasure"):
    through: int
    header: bytes
    events: bytes
    details: list[tuple[int, bytes]]


_DECODER: Final = msgspec.msgpack.Decoder(_Stored)


class Carried(NamedTuple):
    """A commit that erased something, as it stands in the log that this one was copied from."""

    through: int
    header_bytes: bytes
    events_bytes: bytes
    details: dict[int, bytes]

    @property
    def chain(self) -> bytes:
        """The commit's chain hash."""
        return chain_hash(self.header_bytes)

    @property
    def header(self) -> Header:
        """The commit's header."""
        return codec.decode_header(self.header_bytes, 0)

    @property
    def events(self) -> Events:
        """The commit's events; :class:`DamagedStore` if they are not those that its header names."""
        if events_hash(self.events_bytes) != self.header.events_hash:
            raise DamagedStore("The record of a later erasure is damaged", "Copy the store again")
        return codec.decode_events(self.events_bytes, 0)

    @property
    def erased(self) -> list[Erased]:
        """What it erased."""
        return [event for event in self.events.events if isinstance(event, Erased)]

    @property
    def blobs(self) -> Iterator[tuple[int, int]]:
        """The (commit, position) of what it erased of the commits that were copied."""
        return (blob for event in self.erased for blob in event.blobs if blob[0] <= self.through)


class CarriedErasures:
    """The records of later erasures, in one transaction."""

    def __init__(self, txn: lmdb.Transaction) -> None:
        self._txn = txn

    def put(self, carried: Carried) -> None:
        """Keep a record; of several about one lineage, the one that is put last is found by it."""
        stored = _Stored(carried.through, carried.header_bytes, carried.events_bytes, sorted(carried.details.items()))
        self._txn.put(_FIRST + carried.chain, codec.encode(stored))
        for event in carried.erased:
            self._txn.put(_FIRST + event.lineage, carried.chain)
            for digest in event.forbidden:
                self._txn.put(_FIRST + digest + _FORBIDDEN, carried.chain)

    def replace(self, carried: Iterable[Carried]) -> None:
        """Keep these, given oldest first, and no others."""
        with self._txn.cursor() as cursor:
            while cursor.set_range(_FIRST) and cursor.key()[:1] == _FIRST:
                cursor.delete()
        for each in carried:
            self.put(each)

    def of(self, lineage: bytes) -> Carried | None:
        """The last later erasure of a lineage."""
        chain: bytes | None = self._txn.get(_FIRST + lineage)  # type: ignore[assignment]
        stored: bytes | None = None if chain is None else self._txn.get(_FIRST + chain)  # type: ignore[assignment]
        return None if chain is None or stored is None else _decoded(chain, stored)

    def forbids(self, digest: bytes) -> bool:
        """True if the text of a keyed hash may not be written again."""
        return self._txn.get(_FIRST + digest + _FORBIDDEN) is not None

    def any(self) -> bool:
        """True if there are any."""
        with self._txn.cursor() as cursor:
            return bool(cursor.set_range(_FIRST)) and cursor.key()[:1] == _FIRST

    def all(self) -> Iterator[Carried]:
        """Every record, oldest first.

        Raises:
            DamagedStore: one of them is not what was written.
        """
        found: list[Carried] = []
        with self._txn.cursor() as cursor:
            within = cursor.set_range(_FIRST)
            while within and cursor.key()[:1] == _FIRST:
                key = bytes(cursor.key())
                if len(key) == len(_FIRST) + HASH_BYTES:
                    found.append(_decoded(key[len(_FIRST) :], bytes(cursor.value())))
                within = cursor.next()
        yield from sorted(found, key=lambda carried: carried.header.ingest_time)


def _decoded(chain: bytes, stored: bytes) -> Carried:
    try:
        found = _DECODER.decode(stored)
    except (msgspec.DecodeError, ValueError) as error:
        message = f"The record of a later erasure cannot be decoded: {error}"
        raise DamagedStore(message, "Copy the store again") from None
    carried = Carried(found.through, found.header, found.events, dict(found.details))
    if carried.chain != chain:
        raise DamagedStore("The record of a later erasure is not what was written", "Copy the store again")
    return carried
