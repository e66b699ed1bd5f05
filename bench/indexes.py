"""Making the text index and the vector index of a store, beside bare Tantivy and bare FAISS, while reads go on.

A store is loaded with the mix of bench/made_up/workload.py, and each text gets a vector of 16 dimensions. The engine
makes both indexes anew from its log, as `worlddb rebuild text vectors` does: it reads and decodes the texts and
vectors, prepares them, puts them in and seals what was written. A floor is a bare loop over the same texts or vectors,
which are in memory when its clock starts: Tantivy with the same fields and analyzers and as many commits, and FAISS
with the same parameters, written to a file once. Engine and floor take turns; the figures are medians.

All the time another process reads single worlds and their edges, so many a second; its latencies are those beside the
engine and beside the floor.

`--store PATH` takes a store that `bench.load --keep` has left. Its texts get vectors there, if they have none.
"""

from __future__ import annotations

import argparse
import gc
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any, Final, NamedTuple, TypeVar

from bench.made_up.meaning import WordDirections
from bench.made_up.questions import Latencies
from bench.made_up.workload import LoadedNodes, load, open_seeded
from bench.measuring.report import p50, p95, parser, positive, report, rounded
from worlddb import Database
from worlddb.log.store.durable import sync_file
from worlddb.projections.indexes import analysis, catchup, fields, text_index, vector_base, vector_index, vector_rows

INDEXES: Final = ("text", "vectors")
DIMENSION: Final = 16
_BATCH: Final = 10_000
_READS_A_SECOND: Final = 200
Item = TypeVar("Item")


class Making(NamedTuple):
    """How long an index took to make, and the reads beside it."""

    seconds: float
    cpu_seconds: float
    reads: list[float]
    """Their latencies, in milliseconds."""


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = []
    for name, found in result["indexes"].items():
        bare = "bare Tantivy" if name == "text" else "bare FAISS"
        for what, made in ((name, found["engine"]), (bare, found["floor"])):
            rows.append((what, *made.values()))
    notes = [
        f"{result['texts']:,} texts and {result['vectors']:,} vectors of {DIMENSION} dimensions; medians of turns, of"
        f" which there were {arguments.repeat}.",
        *(
            f"{name}: {found['ratio']:.3g} of the rate of the floor, {found['cpu_ratio']:.3g} by processor time."
            for name, found in result["indexes"].items()
        ),
    ]
    columns = ("", "a second", "seconds", "of the processor", "reads beside it, p50 ms", "p95 ms")
    report(arguments, "indexes", result, columns, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=positive, default=20_000)
    arguments.add_argument("--edges", type=int, default=80_000)
    arguments.add_argument("--store", type=Path, metavar="PATH", help="index a store of `bench.load --keep`")
    arguments.add_argument("--only", nargs="+", choices=INDEXES, default=INDEXES, help="only these indexes")
    arguments.add_argument("--repeat", type=positive, default=3)
    arguments.add_argument("--reads", type=positive, default=_READS_A_SECOND, help="reads a second that are offered")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Make each index by the engine and by the floor, by turns."""
    embedder, path = WordDirections(DIMENSION), arguments.store or folder / "store"
    if arguments.store is None:
        db, _ = load(path, arguments.seed, arguments.nodes, arguments.edges, _BATCH, embedder=embedder)
    else:
        db = open_seeded(path, arguments.seed, create=False, embedder=embedder)
    taken: dict[str, tuple[list[Making], list[Making]]] = {name: ([], []) for name in arguments.only}
    counts = {"text": 0, "vectors": 0}
    with db, _reads_beside(path, arguments.seed, arguments.reads) as latencies:
        if "vectors" in taken:
            db.embed()
        for number in range(arguments.repeat):
            for name, (engine, floor) in taken.items():
                bare = folder / f"bare-{name}-{number}"
                make = _bare_text if name == "text" else _bare_vectors
                for made, turn in ((engine, _rebuilt(db, name)), (floor, make(db, bare))):
                    gc.collect()
                    latencies()
                    seconds, cpu_seconds, count = turn()
                    # Of few texts or vectors the engine writes no index: it keeps them in memory.
                    assert made is floor or count in (0, counts[name] or count), "the engine's index has others"
                    counts[name] = count or counts[name]
                    made.append(Making(seconds, cpu_seconds, latencies()))
    return {
        "indexes": {
            name: {
                "engine": _told(engine, counts[name]),
                "floor": _told(floor, counts[name]),
                "ratio": rounded(_median(floor).seconds / _median(engine).seconds),
                "cpu_ratio": rounded(_median(floor).cpu_seconds / _median(engine).cpu_seconds),
            }
            for name, (engine, floor) in taken.items()
        },
        "texts": counts["text"],
        "vectors": counts["vectors"],
    }


def _median(made: list[Making]) -> Making:
    reads = [latency for each in made for latency in each.reads]
    return Making(p50([each.seconds for each in made]), p50([each.cpu_seconds for each in made]), reads)


def _told(made: list[Making], count: int) -> dict[str, float]:
    seconds, cpu_seconds, reads = _median(made)
    return {
        "per_s": round(count / seconds, 1),
        "seconds": rounded(seconds),
        "cpu_seconds": rounded(cpu_seconds),
        "reads_p50_ms": rounded(p50(reads)) if reads else 0.0,
        "reads_p95_ms": rounded(p95(reads)) if reads else 0.0,
    }


Turn = Callable[[], tuple[float, float, int]]
"""Makes an index; the seconds, those of the processor, and of how many it was made."""


class _Clock:
    """Adds up the time of some blocks."""

    def __init__(self) -> None:
        self.seconds = self.cpu_seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        began, cpu_began = perf_counter(), process_time()
        yield
        self.seconds += perf_counter() - began
        self.cpu_seconds += process_time() - cpu_began


def _rebuilt(db: Database, name: str) -> Turn:
    def turn() -> tuple[float, float, int]:
        clock = _Clock()
        with clock.running():
            db.rebuild(name)
        if name == "text":
            return clock.seconds, clock.cpu_seconds, db._reader.text.status().documents
        [follower] = db._reader.vector_indexes()
        base = vector_base.load(follower._folder)
        return clock.seconds, clock.cpu_seconds, 0 if base is None else base.count

    return turn


def _bare_text(db: Database, folder: Path) -> Turn:
    def turn() -> tuple[float, float, int]:
        from tantivy import Index

        folder.mkdir()
        index, clock, count = Index(fields.schema(), path=str(folder)), _Clock(), 0
        fields.register_analyzers(index)
        with clock.running():
            writer = index.writer(text_index.FOLDER_HEAP_BYTES, 1)
        for some in _parts(db._reader.text._feed(0, db.head().seq), catchup.BATCH_DOCUMENTS):
            with clock.running():
                for given in some:
                    writer.add_document(_plain_document(given))
                writer.commit()
            count += len(some)
        with clock.running():
            writer.wait_merging_threads()
        index.reload()
        assert index.searcher().num_docs == count, "the floor has other texts than the engine"
        return clock.seconds, clock.cpu_seconds, count

    return turn


def _plain_document(given: fields.TextDocument) -> Any:
    from tantivy import Document

    document = Document()
    document.add_unsigned(fields.NODE, given.node)
    document.add_unsigned(fields.VERSION, given.version)
    document.add_unsigned(fields.SEQ, given.seq)
    document.add_text(analysis.NAME, given.name)
    document.add_text(analysis.STEM, given.content)
    document.add_text(analysis.PLAIN, given.name)
    document.add_text(analysis.PLAIN, given.content)
    document.add_text(analysis.TYPE, given.type)
    return document


def _bare_vectors(db: Database, folder: Path) -> Turn:
    def turn() -> tuple[float, float, int]:
        import faiss

        folder.mkdir()
        [follower], clock = db._reader.vector_indexes(), _Clock()
        given = _parts(follower._feed(0, db.head().seq), vector_index.PART)
        parts = [vector_rows.expand_rows(some, DIMENSION)[1] for some in given]
        count = sum(map(len, parts))
        with clock.running():
            index = vector_base.new_index(parts[0].shape[1], graph=count > vector_index.EXACT_VECTORS)
            for rows in parts:
                index.add(rows)
            faiss.write_index(index, str(folder / "vectors"))
            sync_file(folder / "vectors")
        return clock.seconds, clock.cpu_seconds, count

    return turn


def _parts(given: Iterable[Item], size: int) -> Iterator[list[Item]]:
    left = iter(given)
    while some := list(islice(left, size)):
        yield some


@contextmanager
def _reads_beside(path: Path, seed: int, rate: int) -> Iterator[Callable[[], list[float]]]:
    """Reads in another process; what is given back tells their latencies since it was asked last."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_read, args=(theirs, path, seed, rate), daemon=True)
    process.start()
    theirs.close()

    def latencies() -> list[float]:
        ours.send(None)
        found: list[float] = ours.recv()
        return found

    try:
        yield latencies
    finally:
        ours.close()
        process.join(10)
        process.terminate()


def _read(asked: Connection, path: Path, seed: int, rate: int) -> None:
    draw, taken = random.Random(seed), Latencies([], [])
    with open_seeded(path, seed, create=False) as db:
        nodes, view = LoadedNodes(db), db.view()
        while True:
            began = perf_counter()
            node = nodes.ref(draw.randrange(nodes.nodes))
            taken.take(view.get, node)
            taken.take(view.edges, node)
            try:
                if asked.poll():
                    asked.recv()
                    asked.send(taken.clock_ms)
                    taken = Latencies([], [])
            except (EOFError, OSError):
                return
            sleep(max(0.0, 2 / rate - (perf_counter() - began)))


if __name__ == "__main__":
    main()
