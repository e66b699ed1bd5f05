"""Named moments as they are read."""

from __future__ import annotations

from worlddb.log.model.errors import UnknownReference
from worlddb.log.model.limits import MAX_NAME_BYTES, checked_text
from worlddb.projections.runner import LoggedBlobs
from worlddb.projections.tables.apply.log_marks import bookmark_at, bookmarks_at
from worlddb.query.records import Bookmark
from worlddb.query.snapshot import Snapshot


def marked_commit(snapshot: Snapshot, name: str, seq: int) -> int:
    """The commit that a bookmark stands for, as known at commit ``seq``.

    Raises:
        UnknownReference: there is no bookmark of that name.
        InputError: the name is no text that a bookmark could have.
    """
    found = bookmark_at(snapshot.tables, checked_text(name, "bookmark", MAX_NAME_BYTES), seq)
    if found is None:
        raise UnknownReference(
            f"There is no bookmark {name[:80]!r}",
            "List them with `worlddb bookmark` or bookmarks(); a moment may also be a time (ISO 8601, or a date) or a"
            " commit's number",
        )
    return found[1].marked


def bookmarks_known(snapshot: Snapshot, seq: int) -> list[Bookmark]:
    """Every bookmark as known at commit ``seq``, in the order in which they were set."""
    found = []
    for set_by, row in bookmarks_at(snapshot.tables, seq):
        body = LoggedBlobs(snapshot.log, set_by, snapshot.log.events(set_by)).body(row.body)
        header = snapshot.log.header(set_by)
        found.append(
            Bookmark(
                name="" if body is None else body.name,
                seq=row.marked,
                ingested=snapshot.log.header(row.marked).ingest_time,
                set_by=set_by,
                ingested_at=header.ingest_time,
                author=header.author,
                why=snapshot.details(set_by, row.details).why,
            )
        )
    return found
