"""The paper's study of composed embeddings (§5): does a world's composed vector tell its theme?

50 worlds of 20 members each: 2 members are about the world's theme, 18 about themes of other worlds. Two queries for
each theme look for its world. v1 pools the world's own text and its members by the mean, v2 by attention from the text.
A synthetic model gives texts their vectors, so that themes are known: a theme is a random direction, and every text and
every query is its theme with noise. All of it runs through a store. Beside it: the world's
own text alone, and the best single member.

Then 1,000 worlds of 10 members (``--many``): the first query of a process that composes all of them, and of the next
process, which finds them on the disk.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import worlddb
from bench.measuring.report import p50, p95, parser, positive, report
from worlddb import POOLS, Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

WORLDS: Final = 50
MEMBERS: Final = 20
DOMINANT: Final = 2
QUERIES_A_THEME: Final = 2
MANY_WORLDS: Final = 1_000
FEW_MEMBERS: Final = 10
DIMENSION: Final = 64
NOISE: Final = 0.4
"""Of a text or a query: the length of what is added to the theme, which has length 1."""
_NAMES: Final = {"mean": "v1", "attention": "v2"}


class Themes:
    """A synthetic embedder: the text ``theme/n`` is theme ``n`` with noise of its own."""

    model = "synthetic-themes"
    dimension = DIMENSION

    def __init__(self, seed: int) -> None:
        import numpy as np

        self._draw = np.random.default_rng(seed)
        self.themes = self._directions(WORLDS)

    def mean(self) -> Vectors:
        import numpy as np

        return np.zeros(DIMENSION, dtype=np.float32)

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        import numpy as np

        about = self.themes[[int(text.partition("/")[2].split()[0]) for text in texts]]
        return np.asarray(about + NOISE * self._directions(len(texts)), dtype=np.float32)

    def _directions(self, count: int) -> Vectors:
        import numpy as np

        drawn = self._draw.standard_normal((count, DIMENSION))
        return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def main() -> None:
    options = parser(__doc__)
    options.add_argument(
        "--worlds", type=positive, default=WORLDS, help=f"worlds of the first store, one a theme, {WORLDS} at most"
    )
    options.add_argument("--many", type=positive, default=MANY_WORLDS, help="worlds of the second store")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        result = measure(Path(folder) / "store", arguments)
        result |= _time_reopening(Path(folder) / "large", arguments.seed, arguments.many)
    rows = [(name, result[f"{name}_top1"], result[f"{name}_top5"]) for name in ("v1", "v2", "own_text", "members")]
    notes = (
        f"{arguments.worlds} worlds of {MEMBERS} members, {result['queries']} queries; top-1 and top-5 in percent.",
        f"Composing all worlds anew: {result['compose_ms']:.1f} ms. After a change of one member: p50"
        f" {result['edit_p50_ms']:.2f} ms, p95 {result['edit_p95_ms']:.2f} ms, query included.",
        f"First query over {arguments.many:,} worlds: {result['first_ms']:.0f} ms, of the next process"
        f" {result['next_ms']:.0f} ms.",
    )
    report(arguments, "composed", result, ("vector of a world", "top-1 %", "top-5 %"), rows, notes)


def measure(store: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Fill a store, ask for each theme, and sum up."""
    themes = Themes(arguments.seed)
    with worlddb.open(store, author="bench", embedder=themes) as db:
        worlds = _fill(db, random.Random(arguments.seed), arguments.worlds)
        db.embed()
        queries = [
            (number, vector)
            for number in range(len(worlds))
            for vector in themes.embed([f"theme/{number}"] * QUERIES_A_THEME, query=True)
        ]
        result: dict[str, Any] = {"queries": len(queries)}
        for pool in POOLS:
            began = perf_counter()
            db.view().query(vector=queries[0][1], composed=pool).run()
            result["compose_ms"] = round(1000 * (perf_counter() - began), 3)
            ranks = [_rank(db, worlds, number, vector, pool) for number, vector in queries]
            result |= _shares(_NAMES[pool], ranks)
        own, members = zip(*(_flat_ranks(db, worlds, each) for each in queries), strict=True)
        result |= _shares("own_text", own) | _shares("members", members)
        taken = [_time_edits(db, worlds, number, queries[number][1]) for number in range(min(20, len(worlds)))]
    return result | {"edit_p50_ms": round(p50(taken), 3), "edit_p95_ms": round(p95(taken), 3)}


def _time_reopening(store: Path, seed: int, many: int) -> dict[str, float]:
    """Milliseconds of the first query of two processes, one after the other."""
    themes, draw = Themes(seed), random.Random(seed)
    with worlddb.open(store, author="bench", embedder=themes) as db:
        with db.batch() as tx:
            for number in range(many):
                world = tx.create("Topic", f"world {number}", content=f"theme/{number % WORLDS}", resolve=False)
                for _ in range(FEW_MEMBERS):
                    tx.create("Fact", "", content=f"theme/{draw.randrange(WORLDS)}", world=world, resolve=False)
        db.embed()
    vector = themes.embed(["theme/0"], query=True)[0]
    times_ms: list[float] = []
    for _ in range(2):
        with worlddb.open(store, author="bench", embedder=None) as db:
            view = db.view()
            began = perf_counter()
            view.query(vector=vector, composed="attention", k=1).run()
            times_ms.append(round(1000 * (perf_counter() - began), 3))
    return {"first_ms": times_ms[0], "next_ms": times_ms[1]}


def _fill(db: Database, draw: random.Random, count: int) -> list[str]:
    worlds: list[str] = []
    with db.batch() as tx:
        for number in range(count):
            world = tx.create("Topic", f"world {number}", content=f"theme/{number}")
            others = [each for each in range(count) if each != number]
            about = [number] * DOMINANT + draw.choices(others, k=MEMBERS - DOMINANT)
            for place, theme in enumerate(about):
                tx.create("Fact", f"{number}.{place}", content=f"theme/{theme}", world=world)
    worlds = [world.ref for world in db.view().find(type="Topic")]
    return worlds


def _rank(db: Database, worlds: list[str], number: int, vector: Any, pool: str) -> int:
    """The rank of a theme's world, from 0."""
    return db.view().query(vector=vector, composed=pool, k=len(worlds)).run().refs.index(worlds[number])


def _flat_ranks(db: Database, worlds: list[str], query: tuple[int, Any]) -> tuple[int, int]:
    """The same by the nearest single text: the world's own, and the best of its members'."""
    number, vector = query
    nearest = db.view().query(vector=vector, k=len(worlds) * (MEMBERS + 1)).run().nodes
    own = [found.ref for found in nearest if found.type == "Topic"]
    members = dict.fromkeys(int(found.name.partition(".")[0]) for found in nearest if found.type == "Fact")
    return own.index(worlds[number]), list(members).index(number)


def _shares(name: str, ranks: Sequence[int]) -> dict[str, float]:
    return {f"{name}_top{k}": round(100 * sum(rank < k for rank in ranks) / len(ranks), 1) for k in (1, 5)}


def _time_edits(db: Database, worlds: list[str], number: int, vector: Any) -> float:
    """Milliseconds of the first query after a member has changed."""
    member = next(iter(db.view().children(worlds[number])))
    db.revise(member, content=f"theme/{number} again")
    db.embed()
    view = db.view()
    began = perf_counter()
    view.query(vector=vector, composed="attention", k=1).run()
    return 1000 * (perf_counter() - began)


if __name__ == "__main__":
    main()
