"""The cost of one edit by the number of members of its world, and by its depth.

Every size and every depth has a store of its own, so that a large world is not measured inside the pages of a small
one, nor the other way round. An edit is one durable commit: a member is added, or a member is revised. The stores take
turns, once what is still to be written of them has been synced: else the first edits would wait for that. Bytes are
what the process handed to write calls while the edit ran (``wchar`` of /proc/self/io): the pages that LMDB wrote, its
meta page, and whatever else the engine wrote; where the system does not count them they are null.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

from bench.made_up.workload import CONTENT_WORDS, open_seeded, words
from bench.measuring.report import p50, parser, positive, report
from worlddb import Database, Receipt

EDITS: Final = ("add", "revise")
_KEYS: Final = {"ms": "p50_ms", "cpu_ms": "cpu_p50_ms", "written_bytes": "bytes_per_edit"}
_DEEP_MEMBERS: Final = 100
_BATCH: Final = 10_000
_IO: Final = Path("/proc/self/io")


class Subject(NamedTuple):
    """A store with one world that is edited."""

    kind: str
    size: int
    db: Database
    world: str
    members: list[str]


class Cost(NamedTuple):
    """What one edit took."""

    ms: float
    cpu_ms: float
    written_bytes: int | None


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        (
            f"{edit} a member, {size} {kind}",
            *(cell for key in _KEYS.values() for cell in _figure_cells(result, key, edit, kind, size)),
        )
        for edit, by_kind in result["p50_ms"].items()
        for kind, by_size in by_kind.items()
        for size in by_size
    ]
    notes = (
        f"Medians of {arguments.edits:,} durable edits each. Ratios: the largest beside the smallest.",
        f"The stores of given depth have {_DEEP_MEMBERS:,} members in the innermost world, which is edited.",
    )
    columns = ("edit", "p50 ms", "ratio", "of the processor", "ratio", "bytes", "ratio")
    report(arguments, "worlds", result, columns, rows, notes)


def _figure_cells(result: dict[str, Any], key: str, edit: str, kind: str, size: str) -> tuple[Any, Any]:
    """A figure, and for the largest size its ratio to the smallest."""
    by_size = result[key][edit][kind]
    return by_size[size], result["ratios"][edit][kind][key] if size == list(by_size)[-1] else ""


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--members", type=positive, nargs="+", default=[1_000, 100_000, 1_000_000])
    arguments.add_argument("--depths", type=positive, nargs="+", default=[1, 8, 64])
    arguments.add_argument("--edits", type=positive, default=100, help="edits of each kind in each store")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Build the stores, then let them take turns."""
    draw = random.Random(arguments.seed)
    subjects = [_build(folder, "members", size, 1, size, draw) for size in arguments.members]
    subjects += [_build(folder, "depth", depth, depth, _DEEP_MEMBERS, draw) for depth in arguments.depths]
    os.sync()
    costs: dict[tuple[str, str, int], list[Cost]] = {}
    for number in range(arguments.edits):
        for edit in EDITS:
            for subject in subjects:
                cost = _edit(subject, edit, number, draw)
                costs.setdefault((edit, subject.kind, subject.size), []).append(cost)
    for subject in subjects:
        subject.db.close()
    figures = {name: _by_edit(costs, name) for name in Cost._fields}
    ratios = {
        edit: {kind: {key: _ratio(figures[name][edit][kind]) for name, key in _KEYS.items()} for kind in kinds}
        for edit, kinds in figures["ms"].items()
    }
    return {key: figures[name] for name, key in _KEYS.items()} | {"ratios": ratios, "edits": arguments.edits}


def _by_edit(costs: dict[tuple[str, str, int], list[Cost]], name: str) -> dict[str, Any]:
    """The medians of one figure by edit, kind of store and size."""
    found: dict[str, Any] = {edit: {"members": {}, "depth": {}} for edit in EDITS}
    for (edit, kind, size), each in costs.items():
        counted = [value for value in (getattr(cost, name) for cost in each) if value is not None]
        digits = None if name == "written_bytes" else 4
        found[edit][kind][str(size)] = round(p50(counted), digits) if counted else None
    return found


def _ratio(by_size: dict[str, float | None]) -> float | None:
    """The last (largest) beside the first (smallest)."""
    listed = list(by_size.values())
    first, last = listed[0], listed[-1]
    return None if first is None or last is None else round(last / first, 3)


def _build(folder: Path, kind: str, size: int, depth: int, members: int, draw: random.Random) -> Subject:
    db = open_seeded(folder / f"{kind}-{size}", draw.randrange(2**32))
    world = None
    for level in range(depth):
        world = db.create("Topic", f"level {level}", world=world).ref
    made: list[str] = []
    while len(made) < members:
        count = min(_BATCH, members - len(made))
        with db.batch() as tx:
            for _ in range(count):
                tx.create("Entity", words(draw, 2), content=words(draw, CONTENT_WORDS), world=world, resolve=False)
        made.extend(tx.receipt.refs)
    assert world is not None, "a depth is at least 1"
    return Subject(kind, size, db, world, made)


def _edit(subject: Subject, edit: str, number: int, draw: random.Random) -> Cost:
    content = words(draw, CONTENT_WORDS)
    name = f"{words(draw, 2)} new {number}"
    member = draw.choice(subject.members)
    if edit == "add":
        return _cost(lambda: subject.db.create("Entity", name, content=content, world=subject.world))
    return _cost(lambda: subject.db.revise(member, content=content))


def _cost(write: Callable[[], Receipt]) -> Cost:
    before = _written_bytes()
    began, began_cpu = perf_counter(), process_time()
    receipt = write()
    ms, cpu_ms = 1000 * (perf_counter() - began), 1000 * (process_time() - began_cpu)
    after = _written_bytes()
    receipt.raise_if_refused()
    return Cost(ms, cpu_ms, None if before is None or after is None else after - before)


def _written_bytes() -> int | None:
    """Bytes that this process has handed to write calls so far."""
    try:
        text = _IO.read_text()
    except OSError:
        return None
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("wchar:"))


if __name__ == "__main__":
    main()
