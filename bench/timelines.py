"""Cost of statements and reads by the number of versions of a lineage: 1, 10, 100 and 1,000.

Every size has its own store, with about the same number of versions in all. A version holds in one span with a stated
start, and has its own commit. The stores take turns. Writes are durable commits of one command: a revision of the
newest text, a late statement about the middle of the timeline, a hole there, the end of the lineage, and its
resumption. Reads ask for one point: now, at a valid time, and at a valid time as of an earlier commit. A rebuild
derives all tables of the store from its log again.

Ratios are of CPU time, to the smallest size. The floor puts one small pair into an LMDB environment, by turns with the
writes.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

from bench.made_up.workload import CONTENT_WORDS, open_seeded, words
from bench.measuring.floor import Floor
from bench.measuring.report import p50, parser, positive, report, rounded
from worlddb import Database

SIZES: Final = (1, 10, 100, 1_000)
WRITES: Final = ("revise", "late statement", "hole", "retire", "resume")
READS: Final = ("get, now", "get, at a valid time", "get, at both times")
REBUILD: Final = "rebuild, a version"
_VERSIONS: Final = 2_000
"""About so many versions have all lineages of one kind of write together."""
_EPOCH: Final = 1_577_836_800_000_000
_HOUR: Final = 3_600_000_000
_VALUE_BYTES: Final = 100


class Subject(NamedTuple):
    """A store whose lineages have a number of versions, with separate lineages for each kind of write."""

    size: int
    db: Database
    lineages: dict[str, list[str]]
    commits: list[int]
    """The commits after which all lineages had their first version, their second, and so on."""

    @property
    def middle(self) -> int:
        """A time at which the version in the middle of a timeline has begun."""
        return _EPOCH + (self.size - 1) // 2 * _HOUR

    @property
    def versions(self) -> int:
        """How many versions all lineages had at first."""
        return self.size * sum(map(len, self.lineages.values()))


class Cost(NamedTuple):
    """What one call took."""

    ms: float
    cpu_ms: float


Costs = dict[tuple[str, int], list[Cost]]


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        (what, size, result["p50_ms"][what][size], cpu, result["ratios"][what][size])
        for what, by_size in result["cpu_p50_ms"].items()
        for size, cpu in by_size.items()
    ]
    rows.append(("floor: one-key LMDB commit", "", result["floor_p50_ms"], result["floor_cpu_p50_ms"], ""))
    notes = (
        f"Medians of up to {arguments.samples:,} calls each, stores of about {_VERSIONS * len(WRITES):,} versions.",
        f"Revising a lineage of the smallest size takes {result['floor_ratio']} times as long as the floor's commit.",
    )
    columns = ("", "versions", "p50 ms", "of the processor", "ratio of that")
    report(arguments, "timelines", result, columns, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--sizes", type=positive, nargs="+", default=list(SIZES), help="versions of a lineage")
    arguments.add_argument("--samples", type=positive, default=100, help="calls of each kind in each store")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Build the stores, then let them take turns: rebuilds first, then reads, then writes."""
    draw = random.Random(arguments.seed)
    subjects = [_build(folder, size, arguments.samples, draw) for size in arguments.sizes]
    costs: Costs = {}
    floor, floor_costs = Floor(folder / "floor"), []
    for subject in subjects:
        rebuilt = _cost(lambda db=subject.db: db.rebuild("tables"))  # type: ignore[misc]
        costs[REBUILD, subject.size] = [Cost(*(taken / subject.versions for taken in rebuilt))]
    for number in range(arguments.samples):
        for subject in subjects:
            for read, ask in _questions(subject, number, draw).items():
                costs.setdefault((read, subject.size), []).append(_cost(ask))
    for number in range(arguments.samples):
        for write in WRITES:
            for subject in subjects:
                say = _statement(subject, write, number, words(draw, CONTENT_WORDS))
                costs.setdefault((write, subject.size), []).append(_cost(say))
        pair = b"%016d" % number, draw.randbytes(_VALUE_BYTES)
        floor_costs.append(_cost(lambda pair=pair: floor.commit([pair])))  # type: ignore[misc]
    floor.close()
    for subject in subjects:
        subject.db.close()
    return _result(costs, floor_costs, arguments)


def _result(costs: Costs, floor_costs: Sequence[Cost], arguments: argparse.Namespace) -> dict[str, Any]:
    sizes = arguments.sizes
    clock, cpu = (
        {
            operation: {str(size): p50([getattr(cost, name) for cost in costs[operation, size]]) for size in sizes}
            for operation in (*WRITES, *READS, REBUILD)
        }
        for name in Cost._fields
    )
    floor_ms, floor_cpu_ms = p50([cost.ms for cost in floor_costs]), p50([cost.cpu_ms for cost in floor_costs])
    least = str(sizes[0])
    return {
        "p50_ms": {operation: _rounded(by_size) for operation, by_size in clock.items()},
        "cpu_p50_ms": {operation: _rounded(by_size) for operation, by_size in cpu.items()},
        "ratios": {
            operation: {size: round(taken / by_size[least], 2) for size, taken in by_size.items()}
            for operation, by_size in cpu.items()
        },
        "floor_p50_ms": rounded(floor_ms),
        "floor_cpu_p50_ms": rounded(floor_cpu_ms),
        "floor_ratio": round(clock["revise"][least] / floor_ms, 2),
        "samples": arguments.samples,
    }


def _rounded(by_size: dict[str, float]) -> dict[str, float]:
    return {size: rounded(taken) for size, taken in by_size.items()}


def _build(folder: Path, size: int, samples: int, draw: random.Random) -> Subject:
    """A store in which each commit gives every lineage one more version."""
    db = open_seeded(folder / f"{size}", draw.randrange(2**32))
    count = max(1, min(samples, _VERSIONS // size))
    with db.batch() as tx:
        for _ in range(count * len(WRITES)):
            tx.create("Rate", words(draw, 2), content=words(draw, CONTENT_WORDS), valid_from=_EPOCH, resolve=False)
    refs, commits = list(tx.receipt.refs), [tx.receipt.seq]
    for number in range(1, size):
        with db.batch() as tx:
            for ref in refs:
                tx.revise(ref, content=words(draw, CONTENT_WORDS), valid_from=_EPOCH + number * _HOUR)
        commits.append(tx.receipt.seq)
    lineages = {write: refs[at * count : (at + 1) * count] for at, write in enumerate(WRITES)}
    return Subject(size, db, lineages, commits)


def _questions(subject: Subject, number: int, draw: random.Random) -> dict[str, Callable[[], object]]:
    """One point of a lineage for each kind of read; making the view is included."""
    lineages, db = subject.lineages["revise"], subject.db
    ref = lineages[number % len(lineages)]
    valid = _EPOCH + draw.randrange(subject.size) * _HOUR + 1
    seq = draw.choice(subject.commits)
    now, then, both = READS
    return {
        now: lambda: db.view().get(ref),
        then: lambda: db.view(valid=valid).get(ref),
        both: lambda: db.view(seq=seq, valid=valid).get(ref),
    }


def _statement(subject: Subject, write: str, number: int, content: str) -> Callable[[], object]:
    """One write; late statements begin one after the other, and holes do not touch."""
    db = subject.db
    lineages = subject.lineages["retire" if write == "resume" else write]
    ref = lineages[number % len(lineages)]
    at = subject.middle + 1_000 * (number + 1)
    says: dict[str, Callable[[], Any]] = {
        "revise": lambda: db.revise(ref, content=content),
        "late statement": lambda: db.revise(ref, content=content, valid_from=at),
        "hole": lambda: db.retire(ref, valid_from=at, valid_to=at + 500),
        "retire": lambda: db.retire(ref),
        "resume": lambda: db.reassert(ref, content=content),
    }
    say = says[write]
    return lambda: say().raise_if_refused()


def _cost(call: Callable[[], object]) -> Cost:
    began, began_cpu = perf_counter(), process_time()
    call()
    return Cost(1000 * (perf_counter() - began), 1000 * (process_time() - began_cpu))


if __name__ == "__main__":
    main()
