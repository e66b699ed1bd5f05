"""The cost of a confined client's call does not tell how much others have stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import process_time
from typing import Any

import anyio
import pytest

from tests.tools.mcp.isolation.test_mcp_confined import SCRIPT, Side, two_sides
from worlddb.projections.tables.storage.write_buffer import Table
from worlddb.query.snapshot.confined_tables import MAX_CHECKED_NAMESAKES

ASKED: list[tuple[str, dict[str, Any]]] = [
    *(entry for entry in SCRIPT if entry[0] not in ("memory_retire_scope", "memory_retire_all")),
    ("memory_read", {"id": "ffff"}),
    ("memory_read", {"id": "f" * 32}),
    ("memory_list", {"user_id": "nobody"}),
    ("memory_verify", {}),
    ("memory_proposals", {"status": "all"}),
]
OTHERS = 5 * MAX_CHECKED_NAMESAKES
"""Of how many rows of others a call may get hold of that looks up a few names."""
NAMES_TWICE = ("memory_write",)
"""They are looked up for who it may be about, and for what is near."""
WITHOUT_NAMES = ("memory_verify", "memory_proposals")


def crowd(side: Side, count: int) -> None:
    """Give a store many more names, scopes, edges, retracted edges and proposals of others."""
    theirs = side.db.create("Topic", "crowd").ref
    side.neighbour = None
    for begin in range(0, count, 500):
        with side.db.batch() as tx:
            for number in range(begin, min(count, begin + 500)):
                made = tx.create("Entity", "Ada", content=f"Ada likes tea, said {number}", world=theirs)
                scope = tx.create("Scope", "user:ada", world=theirs, resolve=False)
                tx.link(made, "refers_to", scope)
                tx.unlink(tx.link(scope, "refers_to", made))
    assert side.db.view().counts()["proposals"] >= count


class Reads:
    """Counts the rows that tables give out and are asked for."""

    def __init__(self) -> None:
        self.rows = 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Table, "get", self._counted_one(Table.get))
        patch.setattr(Table, "last", self._counted_one(Table.last))
        for name in ("scan", "scan_groups", "stored"):
            patch.setattr(Table, name, self._counted_each(getattr(Table, name)))

    def _counted_one(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def counted(table: Table, *asked: bytes) -> Any:
            self.rows += 1
            return read(table, *asked)

        return counted

    def _counted_each(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def counted(table: Table, *asked: Any, **how: Any) -> Iterator[tuple[bytes, bytes]]:
            for pair in read(table, *asked, **how):
                self.rows += 1
                yield pair

        return counted


def test_as_many_rows_are_read_for_a_call_however_much_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a name a bounded number of others is looked at, of anything else nobody's."""
    reads = Reads()
    counted: list[tuple[str, int, int]] = []

    async def work() -> None:
        with two_sides() as (alone, crowded):
            crowd(crowded, 500)
            # What others wrote is indexed by a thread, whose reads are no part of a call.
            assert crowded.db._reader._behind is None or crowded.db._reader._behind.wait(60)
            reads.install(monkeypatch)
            for turn, (what, arguments) in enumerate(ASKED, start=100):
                read = []
                for side in (alone, crowded):
                    reads.rows = 0
                    await side.ask(turn, what, arguments)
                    read.append(reads.rows)
                counted.append((what, read[0], read[1]))
            monkeypatch.undo()

    anyio.run(work)
    assert sum(alone for _, alone, _ in counted) > 20 * len(ASKED)
    for what, alone, crowded in counted:
        others = 0 if what in WITHOUT_NAMES else 2 * OTHERS if what in NAMES_TWICE else OTHERS
        assert crowded <= alone + others, f"{what}: {alone} rows, with others in the store {crowded}"


@pytest.mark.soak
def test_how_long_a_call_takes_does_not_tell_of_a_neighbour() -> None:
    """Medians, in processor time, of calls that alternate; the neighbour has thousands of what is asked about."""
    taken: dict[int, tuple[list[float], list[float]]] = {number: ([], []) for number in range(len(ASKED))}

    async def work() -> None:
        with two_sides() as (alone, crowded):
            crowd(crowded, 4_000)
            for turn in range(25):
                for number, (what, arguments) in enumerate(ASKED):
                    for side, times in zip((alone, crowded), taken[number], strict=True):
                        begun = process_time()
                        await side.ask(100 + turn * len(ASKED) + number, what, arguments)
                        times.append(process_time() - begun)

    anyio.run(work)
    for number, (alone, crowded) in taken.items():
        told = f"{ASKED[number]}: {median(alone) * 1000:.2f} ms, with a neighbour {median(crowded) * 1000:.2f} ms"
        assert median(crowded) < 1.5 * median(alone) + 0.002, told
