"""Statements: loading, pattern lookups, hydrating a worker, and SPARQL compared with the bare engine.

One world gets `--statements` statements from one file of N-Triples, ten about a subject, half of their objects
literals. `load_per_s` is `read_rdf` of the file until it is on the disk; `floor_ratio` compares with a bare loop that
puts its lines into LMDB as one durable commit. A pattern is all statements of a subject, or all subjects of a predicate
and an object; `pattern_cpu_p95_ms` is the processor's time of the same looks, which other programs do not lengthen.
`behind_load_p95_ms` is that of looks right behind the load, while a thread still looks for texts to index in what came.
`hydrate_s` is a first query in a worker that holds nothing, its start included; `hydrate_100k_s` is that of 100,000
statements, in proportion. SPARQL is asked by turns of the store and of a bare store of pyoxigraph in memory,
both of which write JSON; `sparql_ratio` is that of the sums of their medians. An update is one commit;
`after_update_ms` is the first query behind it.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Final, NamedTuple

import pyoxigraph as ox

import worlddb
from bench.made_up.workload import open_seeded
from bench.measuring.floor import Floor
from bench.measuring.report import ended, p50, p95, parser, positive, report, rounded
from worlddb.query.sparql.sparql_workers import workers

PER_SUBJECT: Final = 10
QUERIES: Final = {
    "count": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "join": "SELECT ?s ?t { ?s <urn:p:0> ?t . ?t <urn:p:2> ?u . ?u <urn:p:4> ?s2 } LIMIT 2000",
    "group": "SELECT ?p (COUNT(DISTINCT ?o) AS ?n) { ?s ?p ?o } GROUP BY ?p",
    "filter": "SELECT ?s ?o { ?s <urn:p:1> ?o FILTER(STRENDS(STR(?o), '7')) } LIMIT 2000",
}


class QueryTimes(NamedTuple):
    """Milliseconds of one query, ours and the bare engine's."""

    ours: float
    bare: float


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [(name, result[name]) for name in result if isinstance(result[name], int | float)]
    asked = [(name, *pair.values()) for name, pair in result["queries"].items()]
    notes = (f"{arguments.statements:,} statements of one world; the floor puts their lines into LMDB.",)
    heads = ("query", "ours, ms, p50", "bare, ms, p50")
    report(arguments, "statements", result, ("figure", "value"), rows, notes, (heads, asked))


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--statements", type=positive, default=100_000)
    arguments.add_argument("--samples", type=positive, default=500, help="the number of patterns to read")
    arguments.add_argument("--repeat", type=positive, default=7, help="the number of runs of each query")
    arguments.add_argument("--updates", type=positive, default=7)
    arguments.add_argument("--dir", help="folder for the store (default: the system's temporary folder)")
    return arguments.parse_args()


def lines(count: int, rng: random.Random) -> Iterator[str]:
    """Statements as lines of N-Triples: even predicates lead to subjects, odd ones to literals."""
    subjects = count // PER_SUBJECT + 1
    for number in range(count):
        subject, predicate = divmod(number, PER_SUBJECT)
        other = rng.randrange(subjects)
        said = f'"value {other}"' if predicate % 2 else f"<urn:s:{other}>"
        yield f"<urn:s:{subject}> <urn:p:{predicate}> {said} .\n"


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures of one store."""
    rng, count = random.Random(arguments.seed), arguments.statements
    text = "".join(lines(count, rng)).encode()
    floor = Floor(folder / "floor")
    floor_s = floor.commit([(b"%08d" % at, line) for at, line in enumerate(text.splitlines())])
    floor.close()
    bare = ox.Store()
    bare_s = seconds(lambda: bare.load(text, ox.RdfFormat.N_TRIPLES))
    with open_seeded(folder / "store", arguments.seed, create=True, embedder=None) as db:
        world = db.create("Dataset", "data").ref
        size = _bytes(folder / "store")
        load_s = seconds(lambda: db.read_rdf(world, text, "ntriples"))
        size = _bytes(folder / "store") - size
        behind, _ = _patterns(db, world, rng, arguments)
        db.view().recall("value", lanes=["text"])  # What indexes the texts comes level, and rests.
        patterns, busy = _patterns(db, world, rng, arguments)
        workers().end()
        hydrate_s = seconds(lambda: db.view().sparql("ASK {}", world=world))
        queries = _queries(db, bare, world, arguments.repeat)
        updates, after = _updates(db, world, arguments.updates)
    return {
        "statements": count,
        "load_per_s": rounded(count / load_s, 0),
        "floor_ratio": rounded(load_s / floor_s, 1),
        "bare_load_ratio": rounded(load_s / bare_s, 1),
        "bytes_per_statement": rounded(size / count, 1),
        "pattern_p50_ms": rounded(p50(patterns)),
        "pattern_p95_ms": rounded(p95(patterns)),
        "pattern_cpu_p95_ms": rounded(p95(busy)),
        "behind_load_p95_ms": rounded(p95(behind)),
        "hydrate_s": rounded(hydrate_s),
        "hydrate_100k_s": rounded(hydrate_s * 100_000 / count),
        "sparql_ratio": rounded(sum(each.ours for each in queries.values()) / sum(e.bare for e in queries.values()), 3),
        "update_ms": rounded(p50(updates)),
        "after_update_ms": rounded(p50(after)),
        "queries": {name: {"ms": rounded(each.ours), "bare_ms": rounded(each.bare)} for name, each in queries.items()},
    }


def _patterns(
    db: worlddb.Database, world: str, rng: random.Random, arguments: argparse.Namespace
) -> tuple[list[float], list[float]]:
    """Milliseconds of each look at a pattern, by the clock and of the processor."""
    view, taken, busy = db.view(), list[float](), list[float]()
    last = max(1, arguments.statements // PER_SUBJECT)
    for number in range(arguments.samples):
        one = rng.randrange(last)
        pattern = (
            {"subject": f"<urn:s:{one}>"} if number % 2 else {"predicate": "<urn:p:1>", "object": f'"value {one}"'}
        )
        began = thread_time()
        taken.append(1000 * seconds(lambda given=pattern: view.statements(world, **given)))  # type: ignore[misc]
        busy.append(1000 * (thread_time() - began))
    return taken, busy


def _queries(db: worlddb.Database, bare: ox.Store, world: str, repeat: int) -> dict[str, QueryTimes]:
    view, found = db.view(), {}
    for name, query in QUERIES.items():
        ours, theirs = [], []
        for _ in range(repeat):
            ours.append(1000 * seconds(lambda text=query: view.sparql(text, world=world)))  # type: ignore[misc]
            theirs.append(1000 * seconds(lambda text=query: _bare(bare, text)))  # type: ignore[misc]
        found[name] = QueryTimes(p50(ours), p50(theirs))
    return found


def _bare(store: ox.Store, query: str) -> bytes | None:
    found = store.query(query)
    assert isinstance(found, ox.QuerySolutions)
    return found.serialize(format=ox.QueryResultsFormat.JSON)


def _updates(db: worlddb.Database, world: str, count: int) -> tuple[list[float], list[float]]:
    taken, after = [], []
    for number in range(count):
        update = f"DELETE WHERE {{ <urn:s:{number}> ?p ?o }} ; INSERT DATA {{ <urn:new:{number}> <urn:p:1> 'new' }}"
        taken.append(1000 * seconds(lambda text=update: db.sparql_update(text, world=world)))  # type: ignore[misc]
        view = db.view()
        after.append(1000 * seconds(lambda seen=view: seen.sparql("ASK {}", world=world)))  # type: ignore[misc]
    return taken, after


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began = perf_counter()
    call()
    return perf_counter() - began


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    ended(main)
