"""The texts and vectors that the log feeds to the indexes, in log order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from worlddb.log.model import codec
from worlddb.log.model.blobs import Body, Vector
from worlddb.log.model.events import Created, Embedded, Filled, Imported, Revised
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes.fields import TextDocument
from worlddb.projections.indexes.vector_rows import VectorRow
from worlddb.projections.tables.apply.vector_spaces import OpenSpace, vector_place
from worlddb.projections.tables.reads.lookup import version_written
from worlddb.projections.tables.storage.rows import Tables

_BRINGING_TEXT: Final = frozenset((Created, Revised, Filled))
"""Events of these kinds bring texts. A commit that records vectors may have thousands of another kind."""


def text_documents(log: LmdbLog, tables: Tables, after: int, through: int) -> Iterator[TextDocument]:
    """The text of every version that commits in ``(after, through]`` wrote and that has not been erased."""
    for seq in range(after + 1, through + 1):
        events = log.events(seq)
        if _BRINGING_TEXT.isdisjoint(map(type, events.events)):
            continue
        later = {position for event in events.events if isinstance(event, Imported) for position in event.absent}
        for event in events.events:
            if isinstance(event, Filled):
                yield from _filled(log, tables, seq, event)
            elif isinstance(event, Created | Revised) and event.body not in later:
                stored = log.blob(seq, event.body)
                body = None if stored is None else codec.decode_blob(stored, seq)
                node = tables.node_of(event.lineage)
                if isinstance(body, Body) and node is not None:
                    version = 1 if isinstance(event, Created) else version_written(tables, node, seq, event.body)
                    yield TextDocument(node, version, seq, body.name, body.content)


def _filled(log: LmdbLog, tables: Tables, seq: int, event: Filled) -> Iterator[TextDocument]:
    """A text that came later than its hash is found from the commit on that brought it."""
    node = tables.node_of(event.lineage)
    row = None if node is None else tables.version(node, event.version)
    stored = None if row is None else log.blob(row.seq, row.position)
    body = None if stored is None else codec.decode_blob(stored, seq)
    if isinstance(body, Body) and node is not None:
        yield TextDocument(node, event.version, seq, body.name, body.content)


def vector_rows(log: LmdbLog, tables: Tables, space: int, after: int, through: int) -> Iterator[VectorRow]:
    """The vectors of a space that commits in ``(after, through]`` recorded and that have not been erased."""
    for seq in range(after + 1, through + 1):
        for event in log.events(seq).events:
            if isinstance(event, Embedded) and event.space == space:
                stored = log.blob(seq, event.vector)
                blob = None if stored is None else codec.decode_blob(stored, seq)
                node = tables.node_of(event.lineage)
                if isinstance(blob, Vector) and node is not None:
                    yield VectorRow(node, event.version, seq, blob.values, blob.statements, blob.stated)


def without_vector(log: LmdbLog, tables: Tables, space: OpenSpace | None, through: int) -> Iterator[TextDocument]:
    """Every version up to a commit that has a text and no vector in a space, in log order; all of them without one."""
    for found in text_documents(log, tables, 0 if space is None else space.row.through, through):
        if found.content and (space is None or vector_place(tables, space.number, found.node, found.version) is None):
            yield found
