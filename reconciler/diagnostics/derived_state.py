"""Check the derived state: tables, indexes and vectors whole and up to date.

The code that they need is checked too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from worlddb.log.model.errors import NewerFormat
from worlddb.log.store.environment import INDEX_FOLDER, Environment
from worlddb.log.store.log import LmdbLog
from worlddb.log.store.verify import Finding
from worlddb.projections.check import compare_with_replay, head_findings, tree_findings
from worlddb.projections.indexes import vector_base
from worlddb.projections.indexes.fields import Marker
from worlddb.projections.indexes.text_index import TextIndex, damaged_files, stamp_of
from worlddb.projections.runner import Progress
from worlddb.projections.tables.apply.log_marks import described, identity_of
from worlddb.projections.tables.apply.settings import registered
from worlddb.projections.tables.reads.asof import space_in_use, spaces
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import LAYOUT
from worlddb.reconciler.diagnostics.installation import lacking, missing_extra
from worlddb.reconciler.diagnostics.location import is_ours
from worlddb.reconciler.diagnostics.symptom import Symptom, on
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.reconciler.embedding.minilm import MODEL as MINILM_MODEL
from worlddb.reconciler.embedding.static_embedder import MODEL
from worlddb.reconciler.embedding.vectors_of_texts import pending

FAR_BEHIND: Final = 10_000
"""Commits that an index may be behind without a word: the next search that needs them takes them in."""
_SHIPPED: Final = (MODEL, MINILM_MODEL)
"""The models that `worlddb embed` runs without being told."""
MANY_PENDING: Final = 1_000
"""How far texts without a vector are counted."""


def layout(env: Environment) -> Iterator[Symptom]:
    """Do the tables have the layout of this release."""
    try:
        with env.read() as txn:
            found = Tables(txn).layout()
    except NewerFormat as error:
        yield newer(env.folder, error)
        return
    if found != LAYOUT:
        yield Symptom(
            "older_tables",
            True,
            str(env.folder),
            f"The tables have layout {found}, and this release writes and reads {LAYOUT}",
            "Nothing can be read or written until they are derived again",
            "Upgrade the store; it makes a backup first",
            on(env.folder, "upgrade"),
        )


def newer(folder: Path, error: NewerFormat) -> Symptom:
    """A store of a later release."""
    return Symptom(
        "newer_format",
        True,
        str(folder),
        error.message,
        "This release does not know everything that is in it, and refuses to guess",
        "Upgrade WorldDB; the store itself is untouched",
        "pip install --upgrade worlddb",
    )


def tables(env: Environment, deep: bool, progress: Progress | None = None) -> Iterator[Symptom]:
    """Check that the tables are level with the log and lead to the root that it recorded.

    With ``deep``, check that every row is what the log says.
    """
    with env.read() as txn:
        log = LmdbLog(txn)
        last = log.last_stored()
        findings = head_findings(log, Tables(txn))
    if deep and not findings:
        with TemporaryDirectory(prefix="worlddb-doctor-") as scratch:
            findings = compare_with_replay(env, last, progress, aside=Path(scratch))
    if not findings:
        findings = tree_findings(env, last)
    yield from (_derived_wrong(env.folder, finding) for finding in findings)


def _derived_wrong(folder: Path, finding: Finding) -> Symptom:
    return Symptom(
        "tables_wrong",
        True,
        f"{folder}, tables",
        finding.problem,
        "Reads come from the tables, so answers may be wrong; the log itself holds",
        "Derive them from the log again",
        on(folder, "rebuild tables"),
    )


def text_index(env: Environment) -> Iterator[Symptom]:
    """Is the text index whole, of this store, and near the head."""
    folder = env.folder / INDEX_FOLDER / "text"
    if stamp_of(folder) is None:
        return  # None yet; the first search makes it.
    _must_be_ours(folder)
    damaged = damaged_files(folder)
    if damaged:
        yield _index_damaged(
            env.folder, folder, f"These files are not as they were written: {', '.join(damaged)}", "text"
        )
        return
    marker = TextIndex.open(folder).marker
    yield from _behind(env, folder, marker, "text")


def vector_indexes(env: Environment) -> Iterator[Symptom]:
    """Is the index of each embedding space readable, of this store, and near the head."""
    with env.read() as txn:
        opened = list(spaces(Tables(txn)))
    for number, _ in opened:
        folder = env.folder / INDEX_FOLDER / f"vectors-{number}"
        if vector_base.stamp_of(folder) is None:
            continue  # A short list of vectors needs none.
        _must_be_ours(folder)
        base = vector_base.load(folder)
        if base is None:
            yield _index_damaged(env.folder, folder, "It cannot be read", "vectors")
        else:
            yield from _behind(env, folder, base.marker, "vectors")


def _must_be_ours(folder: Path) -> None:
    """Check that we may open every file of an index.

    Whoever may not open an index, for which its folder is written to, cannot say that it is damaged.

    Raises:
        PermissionError: there is such a file.
    """
    for file in sorted(folder.iterdir()):
        if not is_ours(file):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))


def _index_damaged(store: Path, folder: Path, what: str, name: str) -> Symptom:
    return Symptom(
        "index_damaged",
        True,
        str(folder),
        what,
        "Searches may miss texts, or take long until it is made anew; the log holds everything that was in it",
        "Make it anew from the log",
        on(store, f"rebuild {name}"),
    )


def _behind(env: Environment, folder: Path, marker: Marker | None, name: str) -> Iterator[Symptom]:
    with env.read() as txn:
        log = LmdbLog(txn)
        head = log.head().seq
        ours = marker is not None and marker.store_id == identity_of(log, Tables(txn)) and marker.seq <= head
        ours = ours and marker is not None and log.chain(marker.seq) == marker.chain
    if marker is None or not ours:
        yield _index_damaged(env.folder, folder, "It belongs to another store, or to another history of this one", name)
    elif head - marker.seq > FAR_BEHIND:
        yield Symptom(
            "index_behind",
            False,
            str(folder),
            f"It has the commits up to {marker.seq:,}, and the log ends at {head:,}",
            "The next search takes the others in first, which it waits for; nothing is missed",
            "Let it catch up now, if searches are to be quick",
            on(env.folder, f"rebuild {name}"),
        )


def vectors_pending(env: Environment) -> Iterator[Symptom]:
    """Are there texts without a vector."""
    count = 0
    with env.read() as txn:
        log, known = LmdbLog(txn), Tables(txn)
        space = space_in_use(log, known)
        for _ in pending(log, known, space):
            count += 1
            if count > MANY_PENDING:
                break
    if count:
        told = f"more than {MANY_PENDING:,}" if count > MANY_PENDING else f"{count:,}"
        yield Symptom(
            "vectors_pending",
            False,
            str(env.folder),
            f"{told} texts have no vector yet" if count > 1 else "One text has no vector yet",
            "They are found by their words and not by their meaning",
            f"Give them vectors by the model {MODEL if space is None else space.model}",
            on(env.folder, "embed" if space is None or space.model in _SHIPPED else "embed --embedder NAME"),
        )


def models(env: Environment) -> Iterator[Symptom]:
    """Is the extra here that the model of the embedding space in use needs."""
    with env.read() as txn:
        space = space_in_use(LmdbLog(txn), Tables(txn))
    unmet = lacking("embed") if space is not None and space.model == MINILM_MODEL else []
    if unmet:
        why = f"The store's vectors are of {MINILM_MODEL}; without it questions are compared by their words alone"
        yield missing_extra("embed", unmet, why)


def handlers(env: Environment, ontology: Ontology) -> Iterator[Symptom]:
    """Is the code here of every edge type that was registered."""
    codes = ontology.codes
    with env.read() as txn:
        head = LmdbLog(txn).head().seq
        known = [one for one in registered(Tables(txn), head) if not one.is_built_in]
    lacking = sorted({one.type for one in known if (one.type, one.row.handler_version, one.row.digest) not in codes})
    if lacking:
        yield Symptom(
            "handler_missing",
            False,
            str(env.folder),
            f"This process has no handler for registered edge types: {', '.join(lacking)}",
            "It reads everything, says where a handler would have changed an answer, and refuses new edges of them",
            "Programs that write such edges open the store with edge_types=[...]; the command line cannot",
            on(env.folder, "types"),
        )


def supposed(env: Environment) -> Iterator[Symptom]:
    """Is this what happened, or only what might have."""
    with env.read() as txn:
        told = described(LmdbLog(txn), Tables(txn))
    if told:
        yield Symptom(
            "hypothetical",
            False,
            str(env.folder),
            f"The store is hypothetical: {told}",
            "It cannot be written to, and exports, signs and proves nothing",
            "Use the store that it was made from for what happened",
            "",
        )
