"""Read callers' texts back from the log: the bodies and details that were not erased."""

from collections.abc import Iterator
from typing import Final

from worlddb.log.model import blobs, codec
from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.rows import Tables

SPEAKER: Final = "speaker"
"""The role that ``ingest`` gives the edge from a turn to who spoke it."""


def body_at(log: LmdbLog, seq: int, position: int) -> blobs.Body | None:
    """The body at a place in the log; ``None`` if there is none, or it was erased."""
    found = _blob(log, seq, position)
    return found if isinstance(found, blobs.Body) else None


def details_at(log: LmdbLog, seq: int, position: int) -> blobs.Details | None:
    """The details at a place in the log; ``None`` if there are none, or they were erased."""
    found = _blob(log, seq, position)
    return found if isinstance(found, blobs.Details) else None


def is_by(log: LmdbLog, seq: int, lineage: bytes, code: str) -> bool:
    """True if a command of a kind wrote a world in a commit."""
    cause = _blob(log, seq, 0)
    recorded = cause.commands if isinstance(cause, blobs.Cause) else []
    return any(entry[0] == code and ref == lineage for entry, ref in zip(recorded, log.events(seq).refs, strict=False))


def bodies_of(log: LmdbLog, tables: Tables, node: int) -> Iterator[blobs.Body]:
    """The bodies of a world that were not erased, the newest first."""
    for _, row in tables.version_rows(node):
        body = body_at(log, row.seq, row.position)
        if body is not None:
            yield body


def text_of(body: blobs.Body) -> str:
    """The text by which bodies are compared: the content, or the name where there is no content."""
    return body.content or body.name


def texts_of_details(details: blobs.Details | None) -> Iterator[str]:
    """The caller's texts in details: reason, aliases, labels and tags, and the texts in properties."""
    pending: list[object] = [] if details is None else [details.why, details.aliases, details.properties]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list | tuple):
            pending += value


def texts_of_world(log: LmdbLog, tables: Tables, node: int) -> set[str]:
    """The texts of all versions of a world, without empty ones."""
    return {text_of(body) for body in bodies_of(log, tables, node)} - {""}


def text_without_speaker(content: str, speaker: str) -> str:
    """The content of a turn without the speaker's name in front; empty if it does not begin with that."""
    front = f"{speaker}: "
    return content[len(front) :] if content.startswith(front) else ""


def _blob(log: LmdbLog, seq: int, position: int) -> object:
    stored = None if position == ev.NONE else log.blob(seq, position)
    return None if stored is None else codec.decode_blob(stored, seq)
