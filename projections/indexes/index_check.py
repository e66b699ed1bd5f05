"""Compare the text index, the vector indexes and the cached worlds with the log.

An unreadable index, or one of another store or history, is never searched and is made again, so it is no finding. An
index that is searched must contain exactly what the log says. The common check compares the witnesses
(:mod:`.witness`); the deep check, and the common one where no witness fits, compare every document and every vector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from worlddb.log.store.environment import INDEX_FOLDER, Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes import (
    catchup,
    composed_vectors,
    composition,
    fields,
    kept_worlds,
    tail,
    text_index,
    text_snapshot,
    vector_base,
    vector_rows,
    witness,
)
from worlddb.projections.tables.apply.log_marks import identity_of
from worlddb.projections.tables.consolidation.interior_witness import FRESH_FILE
from worlddb.projections.tables.reads.asof import dropped_at, spaces
from worlddb.projections.tables.storage.rows import Tables

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Numbers

ATTEMPTS: Final = 3
"""How often to check an index again that another process writes meanwhile."""
NAMED: Final = 8
"""How many worlds a finding names."""
FEED_COMMITS: Final = 256
PART: Final = 16_384

Row = TypeVar("Row")


class IndexFinding(NamedTuple):
    """A fault of an index: the folder, its name for `rebuild`, and the fault in words."""

    folder: Path
    name: str
    problem: str


class Fault(NamedTuple):
    """A kind of fault, and the (world's number, commit) pairs that have it."""

    what: str
    about: Collection[tuple[int, int]] = ()


def index_findings(env: Environment, *, deep: bool) -> list[IndexFinding]:
    """Find faults of the indexes that are searched; the tables must be level with the log.

    Checks nothing while an erasure still has to reach the files.
    """
    with env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        if log.scrub_due() is not None:
            return []
        secret, dimensions = (
            witness.secret_in(log),
            {number: row.dimension for number, row in spaces(tables) if dropped_at(tables, number) is None},
        )
    findings = _retry_if_changed(partial(_check_text, env, env.folder / INDEX_FOLDER / "text", secret, deep))
    for number, dimension in sorted(dimensions.items()):
        folder = env.folder / INDEX_FOLDER / f"vectors-{number}"
        findings += _retry_if_changed(partial(_check_vectors, env, folder, secret, number, dimension, deep))
        for pool in composition.POOLS if deep else ():
            folder = env.folder / INDEX_FOLDER / f"composed-{number}-{pool}"
            findings += _check_composed(env, folder, secret, number, dimension, pool)
    if deep:
        findings += _check_summaries(env, env.folder / INDEX_FOLDER / witness.SUMMARIES, secret)
        for file in kept_worlds.files_in(env.folder / INDEX_FOLDER / kept_worlds.FOLDER):
            findings += _retry_if_changed(partial(_check_world, env, file, secret))
    return findings


def _check_world(env: Environment, file: Path, secret: bytes) -> tuple[list[IndexFinding], bool]:
    """Check the file of a cached world; one of another format or history is not used."""
    stamp = kept_worlds.file_stamp(file)
    with env.read() as txn:
        faults = kept_worlds.find_faults(LmdbLog(txn), Tables(txn), file, secret)
    what = f"the index of the world {file.stem[:12]}"
    found = [IndexFinding(file, "text", _describe_fault(env, what, "text", Fault(fault))) for fault in faults]
    return found, stamp != kept_worlds.file_stamp(file)


def _check_summaries(env: Environment, folder: Path, secret: bytes) -> list[IndexFinding]:
    """Check the file of fresh summaries, which is not used if its seal is wrong."""
    try:
        is_whole = witness.unseal_bytes(secret, witness.SUMMARIES, (folder / FRESH_FILE).read_bytes()) is not None
    except OSError:
        return []
    what, fault = "the index of fresh summaries", Fault("was altered")
    return [] if is_whole else [IndexFinding(folder, "text", _describe_fault(env, what, "text", fault))]


def _retry_if_changed(look: Callable[[], tuple[list[IndexFinding], bool]]) -> list[IndexFinding]:
    """Run a check until the index did not change meanwhile, or the attempts are used up."""
    found: list[IndexFinding] = []
    for _ in range(ATTEMPTS):
        found, changed = look()
        if not found or not changed:
            break
    return found


def _check_text(env: Environment, folder: Path, secret: bytes, deep: bool) -> tuple[list[IndexFinding], bool]:
    stamp = text_index.folder_stamp(folder)
    view = None if stamp is None else text_index.load(folder)
    if view is None or view.marker is None or not _is_ours(env, view.marker):
        return [], False
    if not deep and witness.SegmentWitness(folder, secret, (text_index.PASSED,)).fits():
        return [], False
    documents = _read_in_chunks(env, catchup.text_documents, view.marker.seq)
    try:
        faults = _text_faults(view, documents)
    except text_snapshot.IndexUnreadable as error:
        faults = [Fault(f"cannot be read to its end ({error})")]
    found = [IndexFinding(folder, "text", _describe_fault(env, "the text index", "text", fault)) for fault in faults]
    return found, stamp != text_index.folder_stamp(folder)


def _text_faults(view: text_snapshot.TextView, documents: Iterable[fields.TextDocument]) -> list[Fault]:
    expected: dict[tuple[int, int], int] = {}
    tokens: set[tuple[str, str]] = set()

    def noted() -> Iterator[fields.TextDocument]:
        for document in documents:
            if expected.setdefault((document.node, document.version), document.seq) == document.seq:
                tokens.update(tail.tokens(document))
                yield document

    anew = text_index.TextIndex.in_memory()
    anew.apply(noted(), fields.Marker(b"", 0, b""))
    entries = Counter(view.entries())
    wanted = {(node, version, seq) for (node, version), seq in expected.items()}
    missing, foreign = wanted - set(entries), set(entries) - wanted
    twice = {entry for entry, count in entries.items() if count > 1}
    faults = [
        Fault("lacks texts that the log has", _places(missing)),
        Fault("holds texts that the log does not have", _places(foreign)),
        Fault("holds texts more than once", _places(twice)),
    ]
    faults = [fault for fault in faults if fault.about]
    apart, otherwise = _compare_tokens(view, anew.view, tokens)
    apart -= {entry[:2] for entry in missing | foreign | twice}
    if apart:
        faults.append(
            Fault(
                "holds words that the texts do not have, or lacks some",
                {(node, expected[node, at]) for node, at in apart},
            )
        )
    elif otherwise and not faults:
        # One text that is longer or shorter changes the average length, and with it the score of every text.
        faults.append(Fault("has wrong word counts of a text"))
    return faults


def _compare_tokens(
    view: text_snapshot.TextView, anew: text_snapshot.TextView | None, tokens: Collection[tuple[str, str]]
) -> tuple[set[tuple[int, int]], bool]:
    """The documents that have a token in only one of two indexes, and whether any scores differ.

    Scores of the same documents are equal to the last bit, unless a frequency or a length differs.
    """
    apart: set[tuple[int, int]] = set()
    otherwise = False
    for field, token in sorted(tokens):
        here, there = view.scores_of_token(field, token), {} if anew is None else anew.scores_of_token(field, token)
        apart |= here.keys() ^ there.keys()
        otherwise = otherwise or here != there
    return apart, otherwise


def _check_vectors(
    env: Environment, folder: Path, secret: bytes, space: int, dimension: int, deep: bool
) -> tuple[list[IndexFinding], bool]:
    stamp = vector_base.folder_stamp(folder)
    base = None if stamp is None else vector_base.load(folder)
    if base is None or not _is_ours(env, base.marker):
        return [], False
    what = f"the vector index of space {space}"
    faults: list[Fault] = []
    fits = vector_base.fits(folder, secret)
    if deep or not fits:
        rows = _read_in_chunks(env, partial(_rows_of_space, space), base.marker.seq)
        faults = _vector_faults(base, rows, dimension)
    if not fits and not faults:
        faults = [Fault("was altered")]
    found = [IndexFinding(folder, "vectors", _describe_fault(env, what, "vectors", fault)) for fault in faults]
    return found, stamp != vector_base.folder_stamp(folder)


def _check_composed(
    env: Environment, folder: Path, secret: bytes, space: int, dimension: int, pool: str
) -> list[IndexFinding]:
    """Compose the vectors of worlds with members again, as of the moment of the stored ones, and compare.

    A file that is not sealed under the store's secret is not used, and is reported.
    """
    what = f"the composed embeddings of space {space}"
    if composed_vectors.is_damaged(folder, dimension, secret):
        return [IndexFinding(folder, "vectors", _describe_fault(env, what, "vectors", Fault("were altered")))]
    stored = composed_vectors.load(folder, dimension, secret)
    if stored is None or not _is_ours(env, stored.marker):
        return []
    recomputed = composition.Composition(composition.POOLS[pool])
    with env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        anchors = composed_vectors.stored_anchors(log, tables, space, through=stored.marker.seq)
        recomputed.fill(tables, anchors, range(1, tables.progress().next_node), stored.moment)
    differing = {
        node
        for node in recomputed.effective.keys() | stored.effective.keys()
        if not composition.is_same(recomputed.effective.get(node), stored.effective.get(node))
    }
    if not differing and recomputed.scheduled_changes() == sorted(stored.turns):
        return []
    fault = Fault("differ from those of the log's vectors", {(node, stored.marker.seq) for node in differing})
    return [IndexFinding(folder, "vectors", _describe_fault(env, what, "vectors", fault))]


def _vector_faults(base: vector_base.VectorBase, rows: Iterator[vector_rows.VectorRow], dimension: int) -> list[Fault]:
    import numpy as np

    numbers, place, unlike = base.numbers(), 0, set()
    while part := list(islice(rows, PART)):
        expected, matrix = vector_rows.expand_rows(part, dimension)
        end = min(place + len(expected), base.count)
        count = max(0, end - place)
        same = np.zeros(len(expected), dtype=bool)
        if count:
            same[:count] = (numbers[place:end] == expected[:count]).all(axis=1)
            same[:count] &= (base.rows(place, end) == matrix[:count].astype("<f2")).all(axis=1)
        unlike |= _about(expected[~same])
        place += len(expected)
    faults = [Fault("lacks vectors of the log, or has different ones", unlike)] if unlike else []
    if base.count > place:
        faults.append(Fault("holds vectors that the log does not have", _about(numbers[place:])))
    order = np.lexsort((numbers[:, 1], numbers[:, 0]))
    if not faults and not np.array_equal(order, base.order()):
        faults.append(Fault("lists its vectors in an order other than that of their worlds"))
    return faults


def _about(numbers: Numbers) -> set[tuple[int, int]]:
    return {(int(node), int(seq)) for node, _, seq in numbers.tolist()}


def _places(entries: Iterable[tuple[int, int, int]]) -> set[tuple[int, int]]:
    return {(node, seq) for node, _, seq in entries}


def _rows_of_space(
    space: int, log: LmdbLog, tables: Tables, after: int, through: int
) -> Iterable[vector_rows.VectorRow]:
    return catchup.vector_rows(log, tables, space, after, through)


def _read_in_chunks(
    env: Environment, read: Callable[[LmdbLog, Tables, int, int], Iterable[Row]], through: int
) -> Iterator[Row]:
    """Read the documents or vectors of all commits up to ``through``, a few commits in each transaction."""
    for first in range(0, through, FEED_COMMITS):
        with env.read() as txn:
            rows = list(read(LmdbLog(txn), Tables(txn), first, min(first + FEED_COMMITS, through)))
        yield from rows


def _is_ours(env: Environment, marker: fields.Marker) -> bool:
    with env.read() as txn:
        log = LmdbLog(txn)
        if marker.store_id != identity_of(log, Tables(txn)) or not 0 < marker.seq <= log.head().seq:
            return False
        return log.chain(marker.seq) == marker.chain


def _describe_fault(env: Environment, what: str, name: str, fault: Fault) -> str:
    """Describe a fault with the worlds and commits that have it, and the command that repairs it."""
    about = sorted(fault.about, key=lambda each: (each[1], each[0]))
    places = ""
    if about:
        with env.read() as txn:
            tables = Tables(txn)
            last = tables.progress().next_node
            names = [
                f"{tables.node(node).lineage.hex()[:12]} of commit {seq}" if 0 < node < last else f"commit {seq}"
                for node, seq in about[:NAMED]
            ]
        more = f" and {len(about) - NAMED} more" if len(about) > NAMED else ""
        places = f": {', '.join(names)}{more}"
    return f"{what} {fault.what}{places}; `worlddb rebuild {name}` derives it from the log"
