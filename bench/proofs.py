"""Sizes and times of heads and proofs in a store of many commits.

Each commit makes one world in the same container, so that the log and the container's trie both grow with the number of
commits. Proofs are made for the present head and for one in the middle of the log, of random worlds, and are checked
with nothing but the head. A proof about the past makes the container's trie of that time again.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import worlddb
from bench.made_up.workload import CONTENT_WORDS, open_seeded, words
from bench.measuring.report import p50, p95, parser, positive, report


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        (name, result["p50_ms"][name], result["p95_ms"][name], result["bytes"].get(name, ""))
        for name in result["p50_ms"]
    ]
    notes = (f"{arguments.commits:,} commits, one world each; {arguments.samples} of each; proofs without their text.",)
    report(arguments, "proofs", result, ("", "p50 ms", "p95 ms", "bytes, largest"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--commits", type=positive, default=2_000)
    arguments.add_argument("--samples", type=positive, default=50)
    arguments.add_argument("--dir", help="folder for the store (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Make the store, then heads and proofs, and check them."""
    draw = random.Random(arguments.seed)
    with open_seeded(folder / "store", arguments.seed) as db:
        shelf = db.create("Topic", "Shelf").ref
        made = [
            db.create("Note", f"note {number}", content=words(draw, CONTENT_WORDS), world=shelf, resolve=False)
            for number in range(arguments.commits)
        ]
        first_half = made[: (len(made) + 1) // 2]
        times_ms: dict[str, list[float]] = {}
        sizes: dict[str, int] = {}

        def time_call(name: str, call: Callable[[], str]) -> str:
            began = perf_counter()
            text = call()
            times_ms.setdefault(name, []).append(1000 * (perf_counter() - began))
            sizes[name] = max(sizes.get(name, 0), len(text))
            return text

        def check_one(name: str, proof: str, head: str) -> None:
            began = perf_counter()
            found = worlddb.check_proof(proof, head)
            times_ms.setdefault(name, []).append(1000 * (perf_counter() - began))
            assert found.ok, found.reason

        for _ in range(arguments.samples):
            head = time_call("head", db.checkpoint)
            one = draw.choice(made)
            early = draw.choice(first_half)
            check_one("check inclusion", time_call("prove, now", partial(db.prove, one.ref, world=shelf)), head)
            check_one("check consistency", time_call("prove consistency", partial(db.prove_consistency, one.seq)), head)
            past = time_call("prove, halfway", partial(db.prove, early.ref, world=shelf, seq=first_half[-1].seq))
            check_one("check inclusion", past, head)
    return {
        "p50_ms": {name: round(p50(times), 3) for name, times in times_ms.items()},
        "p95_ms": {name: round(p95(times), 3) for name, times in times_ms.items()},
        "bytes": sizes,
        "commits": arguments.commits,
        "samples": arguments.samples,
    }


if __name__ == "__main__":
    main()
