"""Named moments: a name stands for a commit, and may be moved to another; what it stood for before is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from worlddb.log.model import events as ev
from worlddb.projections.tables.names import NAME_DIGEST_BYTES, NO_NAME, name_digest
from worlddb.projections.tables.schema import BOOKMARK, U64, BookmarkRow
from worlddb.projections.tables.tables import Tables

if TYPE_CHECKING:
    from worlddb.projections.tables.apply import Applier


def apply_bookmarked(on: Applier, event: ev.Bookmarked) -> None:
    """Keep what the name stands for from this commit on."""
    body = on.blobs.body(event.body)
    digest = NO_NAME if body is None else name_digest(body.name)
    row = BookmarkRow(event.seq, event.body, event.details)
    on.tables.bookmarks.put(digest + U64.pack(on.seq), BOOKMARK.pack(*row))


def bookmark_at(tables: Tables, name: str, seq: int) -> tuple[int, BookmarkRow] | None:
    """(the commit that set it, the row) of a name as known at commit ``seq``."""
    digest = name_digest(name)
    found = None if digest == NO_NAME else tables.bookmarks.last(digest, digest + U64.pack(seq))
    return None if found is None else _read(*found)


def bookmarks_at(tables: Tables, seq: int) -> Iterator[tuple[int, BookmarkRow]]:
    """As :func:`bookmark_at`, of every name, in the order in which they were set."""
    newest: dict[bytes, tuple[int, BookmarkRow]] = {}
    for key, value in tables.bookmarks.scan(b""):
        found = _read(key, value)
        if found[0] <= seq:
            newest[key[:NAME_DIGEST_BYTES]] = found
    yield from sorted(newest.values())


def _read(key: bytes, value: bytes) -> tuple[int, BookmarkRow]:
    return int.from_bytes(key[NAME_DIGEST_BYTES:], "big"), BookmarkRow._make(BOOKMARK.unpack(value))
