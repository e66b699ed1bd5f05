"""A recording of the engine's writes to LMDB in their order, for the bare loop to repeat.

A recording is a row of frames: the length as a 4-byte big-endian integer, a byte that is 1 in the last frame of a
durable commit and 2 in the last frame of a flush of the tables within one, then msgpack of ``(key, value)`` pairs, with
``None`` for the value of a key that was deleted.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import lmdb
import msgspec

from worlddb.log.store.environment import Environment
from worlddb.projections.tables.storage import packed_runs, transaction

Pair = tuple[bytes, bytes | None]
T = TypeVar("T")

_FRAME: Final = struct.Struct(">IB")
_MORE, _COMMIT, _FLUSH = range(3)
_FRAME_PAIRS: Final = 4096
"""So many pairs are held back, so that recording does not add to the peak of memory that is measured beside it."""
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[list[Pair]]] = msgspec.msgpack.Decoder(list[Pair])
_READS: Final = frozenset({"count", "first", "get", "item", "iternext", "iterprev", "key", "last", "next", "prev"}) | {
    "set_key",
    "set_range",
    "stat",
    "value",
}
"""What is handed through untouched. Anything else is an error here, so that no write goes by unseen."""


@contextmanager
def record_commits(path: Path) -> Iterator[None]:
    """Record every commit that any environment of this process makes while the block runs.

    Meanwhile no row is packed with others, and tries are written as they are, so that a row is a pair.
    """
    write, most, many = Environment.write, packed_runs.MAX_UNPACKED, transaction.MANY_BUCKETS
    flush = transaction.WholeTables.flush

    def write_recorded(env: Environment, work: Callable[[lmdb.Transaction], T]) -> T:
        spool = _Spool(file)

        def recorded_work(txn: lmdb.Transaction) -> T:
            spool.begin()
            return work(_Transaction(txn, spool))  # type: ignore[arg-type]

        try:
            result = write(env, recorded_work)
        except BaseException:
            spool.begin()
            raise
        spool.commit()
        return result

    def flush_recorded(tables: transaction.WholeTables) -> None:
        flush(tables)
        if end_flush := getattr(tables._txn, "end_flush", None):
            end_flush()

    with path.open("wb") as file:
        Environment.write = write_recorded  # type: ignore[assignment, method-assign]
        transaction.WholeTables.flush = flush_recorded  # type: ignore[assignment, method-assign]
        packed_runs.MAX_UNPACKED = transaction.MANY_BUCKETS = sys.maxsize  # type: ignore[misc]
        try:
            yield
        finally:
            Environment.write = write  # type: ignore[method-assign]
            transaction.WholeTables.flush = flush  # type: ignore[method-assign]
            packed_runs.MAX_UNPACKED, transaction.MANY_BUCKETS = most, many  # type: ignore[misc]


def commits(path: Path) -> Iterator[list[Pair]]:
    """The pairs of each commit, in the order that they were written in."""
    return _lists(path, {_COMMIT})


def flushes(path: Path) -> Iterator[list[Pair]]:
    """As :func:`commits`, of each flush of the tables: a rebuild has many in its one commit."""
    return _lists(path, {_COMMIT, _FLUSH})


def _lists(path: Path, ends: set[int]) -> Iterator[list[Pair]]:
    pairs: list[Pair] = []
    with path.open("rb") as spool:
        while head := spool.read(_FRAME.size):
            size, end = _FRAME.unpack(head)
            pairs += _DECODER.decode(spool.read(size))
            if end in ends:
                yield pairs
                pairs = []


class _Spool:
    """The pairs of one transaction."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = file.tell()
        self._pairs: list[Pair] = []

    def begin(self) -> None:
        """Start over: the engine may run a write again, and what an aborted one wrote does not count."""
        self._pairs.clear()
        self._file.seek(self._start)
        self._file.truncate()

    def add(self, key: bytes, value: bytes | None) -> None:
        self._pairs.append((key, value))
        if len(self._pairs) >= _FRAME_PAIRS:
            self._write(_MORE)

    def flush(self) -> None:
        self._write(_FLUSH)

    def commit(self) -> None:
        self._write(_COMMIT)

    def _write(self, end: int) -> None:
        frame = _ENCODER.encode(self._pairs)
        self._pairs.clear()
        self._file.write(_FRAME.pack(len(frame), end) + frame)


class _Transaction:
    """A write transaction that records its writes."""

    def __init__(self, inner: lmdb.Transaction, spool: _Spool) -> None:
        self._inner = inner
        self._spool = spool
        self.end_flush = spool.flush

    def put(self, key: bytes, value: bytes, *, overwrite: bool = True) -> bool:
        written: bool = self._inner.put(key, value, overwrite=overwrite)
        if written:
            self._spool.add(key, value)
        return written

    def delete(self, key: bytes) -> bool:
        self._spool.add(key, None)
        return self._inner.delete(key)

    def cursor(self) -> _Cursor:
        return _Cursor(self._inner.cursor(), self._spool)

    def __getattr__(self, name: str) -> Any:
        return _read(self._inner, name)


class _Cursor:
    """A cursor of a recorded transaction."""

    def __init__(self, inner: lmdb.Cursor, spool: _Spool) -> None:
        self._inner = inner
        self._spool = spool

    def putmulti(self, items: Iterable[tuple[bytes, bytes]]) -> Any:
        listed = list(items)
        for key, value in listed:
            self._spool.add(key, value)
        return self._inner.putmulti(listed)

    def put(self, key: bytes, value: bytes, *, overwrite: bool = True) -> bool:
        written: bool = self._inner.put(key, value, overwrite=overwrite)
        if written:
            self._spool.add(key, value)
        return written

    def delete(self) -> bool:
        self._spool.add(bytes(self._inner.key()), None)
        return self._inner.delete()

    def __enter__(self) -> _Cursor:
        self._inner.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._inner.__exit__(*exception)

    def __getattr__(self, name: str) -> Any:
        return _read(self._inner, name)


def _read(inner: Any, name: str) -> Callable[..., Any]:
    if name not in _READS:
        raise AttributeError(
            f"{name} is unknown to the recording: add it to bench/measuring/recording.py, as a read or a write"
        )
    found: Callable[..., Any] = getattr(inner, name)
    return found
