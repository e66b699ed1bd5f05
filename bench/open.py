"""Opening a store and answering the first `get`, in a large and a small store.

Every sample is a fresh process, and the two stores take turns. The time runs from `worlddb.open` to the answer; the
import before it is reported apart. The files are in the page cache, as they are when a tool starts again.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.made_up.workload import CONTENT_WORDS, LoadedNodes, open_seeded, words
from bench.measuring.report import p50, p95, parser, positive, report

_EVENTS_A_CREATE: Final = 2
_CREATES_A_COMMIT: Final = 100
_ROOT: Final = Path(__file__).resolve().parents[1]


class Store(NamedTuple):
    """A store and a world that is in it."""

    events: int
    path: Path
    ref: str


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        (
            f"{size} store",
            *(result[size][key] for key in ("events", "p50_ms", "p95_ms", "open_p50_ms", "import_p50_ms")),
        )
        for size in ("small", "large")
    ]
    notes = (
        f"Medians of {arguments.runs} fresh processes each. The large store takes {result['ratio']:.2f} times as long"
        " as the small one.",
    )
    columns = ("", "events", "open and get, p50 ms", "p95 ms", "of which open", "import before it")
    report(arguments, "open", result, columns, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--small", type=positive, default=100, help="events in the small store")
    arguments.add_argument("--large", type=positive, default=100_000, help="events in the large store")
    arguments.add_argument("--store", type=Path, metavar="PATH", help="a store of `bench.load --keep` as the large one")
    arguments.add_argument("--runs", type=positive, default=15)
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Build both stores, then open them in turn."""
    draw = random.Random(arguments.seed)
    stores = [_build(folder / "small", arguments.small, draw)]
    if arguments.store is None:
        stores.append(_build(folder / "large", arguments.large, draw))
    else:
        with open_seeded(arguments.store, arguments.seed, create=False) as db:
            kept = LoadedNodes(db)
            stores.append(Store(kept.events, arguments.store, kept.ref(draw.randrange(kept.nodes)).hex()))
    samples: list[list[dict[str, float]]] = [[], []]
    for _ in range(arguments.runs):
        for store, openings in zip(stores, samples, strict=True):
            openings.append(_open_once(store))
    small, large = (_summary(store, openings) for store, openings in zip(stores, samples, strict=True))
    return {
        "small": small,
        "large": large,
        "ratio": round(large["p50_ms"] / small["p50_ms"], 3),
        "runs": arguments.runs,
    }


def _build(path: Path, events: int, draw: random.Random) -> Store:
    refs: list[str] = []
    with open_seeded(path, draw.randrange(2**32)) as db:
        while len(refs) * _EVENTS_A_CREATE < events:
            missing = -(-events // _EVENTS_A_CREATE) - len(refs)
            with db.batch() as tx:
                for _ in range(min(_CREATES_A_COMMIT, missing)):
                    tx.create("Entity", words(draw, 2), content=words(draw, CONTENT_WORDS), resolve=False)
            refs.extend(tx.receipt.refs)
    return Store(len(refs) * _EVENTS_A_CREATE, path, draw.choice(refs))


def _open_once(store: Store) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.measuring.open_once", str(store.path), store.ref]
    told = subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    times: dict[str, float] = json.loads(told.splitlines()[-1])
    return times


def _summary(store: Store, taken: list[dict[str, float]]) -> dict[str, float]:
    totals = [sample["total_ms"] for sample in taken]
    return {
        "events": store.events,
        "p50_ms": round(p50(totals), 3),
        "p95_ms": round(p95(totals), 3),
        "open_p50_ms": round(p50([sample["open_ms"] for sample in taken]), 3),
        "import_p50_ms": round(p50([sample["import_ms"] for sample in taken]), 3),
    }


if __name__ == "__main__":
    main()
