"""The floor: a bare loop puts the same pairs into LMDB, in as many durable commits and with the same options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile, zip_longest
from pathlib import Path
from time import perf_counter, process_time

import lmdb

from bench.measuring.recording import Pair
from worlddb.log.store import shared_environment
from worlddb.log.store.log import TABLES_FROM
from worlddb.projections.tables.storage.rows import Tables


class Floor:
    """A bare environment, opened as the engine opens its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.env = shared_environment._open_lmdb(folder)
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.commits = 0
        self.pairs = 0

    def start_with(self, pairs: list[Pair]) -> None:
        """Put the pairs of a new store, without timing."""
        with self.env.begin(write=True) as txn:
            for key, value in pairs:
                txn.put(key, value or b"")

    def commit(self, pairs: list[Pair]) -> float:
        """Put the pairs and make them durable; returns the seconds."""
        return self.commit_parts([pairs])

    def commit_parts(self, parts: Iterable[list[Pair]]) -> float:
        """As :meth:`commit`, for more pairs than memory holds; the time that it takes to make a part does not count."""
        took = cpu_took = 0.0
        with self.env.begin(write=True) as txn:
            for pairs in parts:
                began, cpu_began = perf_counter(), process_time()
                for key, value in pairs:
                    if value is None:
                        txn.delete(key)
                    else:
                        txn.put(key, value)
                took, cpu_took = took + perf_counter() - began, cpu_took + process_time() - cpu_began
                self.pairs += len(pairs)
            began, cpu_began = perf_counter(), process_time()
        took += perf_counter() - began
        self.seconds += took
        self.cpu_seconds += cpu_took + process_time() - cpu_began
        self.commits += 1
        return took

    def close(self) -> None:
        self.env.close()


def same_rows(one: lmdb.Environment, other: lmdb.Environment) -> bool:
    """True if two environments hold the same log, and the same rows in their tables, packed or not."""
    with one.begin() as left, other.begin() as right:
        return all(pair == theirs for pair, theirs in zip_longest(_rows(left), _rows(right)))


def _rows(txn: lmdb.Transaction) -> Iterator[tuple[bytes, bytes]]:
    yield from takewhile(lambda pair: bytes(pair[0]) < TABLES_FROM, txn.cursor())
    for name, table in Tables(txn).by_name().items():
        for key, value in table.scan(b""):
            yield name.encode() + key, value
