"""Describe the log for people: who committed what, when, and why."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from worlddb.log.model import clock, codec, ids
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Details, Evidence
from worlddb.log.store.erasure_evidence import evidence_of
from worlddb.log.store.log import LmdbLog
from worlddb.projections.runner import LoggedBlobs
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.query.snapshot.snapshot import SnapshotSource
from worlddb.query.snapshot.visible import Place, VisibleSnapshot

PAGE = 256
"""Of at most how many commits events are read at once."""
FEW = 32
"""How many events are read at first, since who asks may want a few of a large commit; then so many times as many."""
POLL_SECONDS = 0.02
"""How often a follower looks for news: one read of the log's head, without a lock."""
MAX_KEPT = 1_000
"""Of how many worlds it is kept when something was last said of them."""
_NO_REFS = ("nonce", "digest")
"""Bytes of an event that name nothing."""


_PLACES = ("nonce", "body", "details", "secret", "vector", "model", "record")
"""What says where in its commit a text is: it would tell how much else the commit holds."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One event with its commit, as a person reads it.

    ``data`` holds the event's own fields, ids in hex; texts are as far as they are left. ``name`` is that of a version,
    or the alias, label or tag that the event is about.
    """

    seq: int
    index: int
    ingested_at: int
    author: str
    event: str
    refs: tuple[str, ...]
    name: str
    text: str
    why: str
    data: dict[str, Any]


def journal(
    reader: SnapshotSource, first: int, last: int, ref: str | None = None, *, place: Place | None = None, skip: int = 0
) -> Iterator[Entry]:
    """The events of commits ``first`` to ``last`` but the first ``skip``; with ``ref`` (full hex id) those naming it.

    With ``place``, as seen from there: an event that names something outside, or no world at all, is left out, and
    ``index`` counts what is shown of its commit.
    """
    seq, index, wanted = max(1, first), 0, FEW
    while seq <= last:
        entries: list[Entry] = []
        with reader.snapshot() as snapshot:
            tables = None if place is None or not place.is_partial else VisibleSnapshot(snapshot, place).tables
            end = min(seq + PAGE, last + 1)
            while seq < end and len(entries) < wanted:
                count = _count(snapshot.log, seq, ref, tables) if skip else 0
                if not skip or skip < count:
                    begin, passed = (index + skip, 0) if ref is None else (index, skip)
                    found = commit_entries(snapshot.log, seq, ref, tables, begin)
                    entries.extend(islice(found, passed, passed + wanted - len(entries)))
                skip = max(0, skip - count)
                seq, index = seq + 1, 0
        if len(entries) == wanted:
            # The commit of the last one may have more.
            seq, index = entries[-1].seq, entries[-1].index + 1
        wanted *= FEW
        yield from entries


def _count(log: LmdbLog, seq: int, ref: str | None, tables: TableReads | None) -> int:
    """How many events of a commit are shown."""
    if ref is None and tables is None:
        return log.header(seq).event_count
    events = log.events(seq).events
    shown = events if tables is None else _visible_events(tables, events)
    return sum(1 for event in shown if ref is None or ref in named_by(event))


def follow_events(
    reader: SnapshotSource, first: int, ref: str | None, patience_seconds: float | None
) -> Iterator[Entry]:
    """The events of commit ``first`` and all later ones, as any process commits them.

    Ends when nothing has been committed for ``patience_seconds`` (``None``: never).
    """
    waiting_since = clock.monotonic()
    while True:
        with reader.snapshot() as snapshot:
            head = snapshot.log.head().seq
        if head >= first:
            yield from journal(reader, first, head, ref)
            first, waiting_since = head + 1, clock.monotonic()
            continue
        remaining_seconds = None if patience_seconds is None else waiting_since + patience_seconds - clock.monotonic()
        if remaining_seconds is not None and remaining_seconds <= 0:
            return
        clock.pause(POLL_SECONDS if remaining_seconds is None else min(POLL_SECONDS, remaining_seconds))


class LastTold:
    """The last commit about a confined view's world, while the clock is behind the last commit.

    What was looked through is kept for the next view: every commit is looked at once for a world.
    """

    def __init__(self, reader: SnapshotSource) -> None:
        self._reader = reader
        self._kept: dict[int, tuple[int, int, int]] = {}

    def valid(self, place: Place, now: int) -> int:
        """The valid time of a view of the present: ``now``, or the last commit about its world.

        Commits of others are no reason for a later one: their number would show in it.
        """
        seq, since, latest = self._kept.get(place.top, (0, now, 0))
        if seq > place.moment.seq or now < since:
            seq, latest = 0, 0
        with self._reader.snapshot() as snapshot:
            log, before = snapshot.log, place._replace(moment=place.moment._replace(valid=max(now, latest)))
            # What has left the world by the last commit was in it before.
            seen = [VisibleSnapshot(snapshot, each).tables for each in (place, before)]
            for each in range(place.moment.seq, seq, -1):
                told = log.header(each).ingest_time
                if told <= now:
                    break
                events = log.events(each).events
                if any(next(_visible_events(tables, events), None) is not None for tables in seen):
                    latest = told
                    break
        self._kept[place.top] = place.moment.seq, now, latest
        while len(self._kept) > MAX_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        return max(now, latest)


def _visible_events(tables: TableReads, events: Iterable[ev.Event]) -> Iterator[ev.Event]:
    """The events that name something, and nothing that the tables do not have.

    That a world was closed or erased is its own affair, and shown without what the event says of others.
    """
    for event in events:
        if isinstance(event, ev.Erased | ev.ErasedElsewhere):
            # Texts about the world may have stood in edges from outside, and equal texts in other worlds.
            event = msgspec.structs.replace(event, blobs=[], everywhere=False)
        elif isinstance(event, ev.Struck | ev.StruckElsewhere):
            event = msgspec.structs.replace(event, blobs=[], places=[], hashes=[])
        elif isinstance(event, ev.Accessed) or (isinstance(event, ev.Recalled) and not event.world):
            # What somebody asked of the whole store is nobody's business in a part of it.
            continue
        elif isinstance(event, ev.Closed | ev.Lost | ev.Ended) and event.by and tables.node_of(event.by) is None:
            event = msgspec.structs.replace(event, by=b"")
        named = _ids(event)
        if named and all(_is_known(tables, identifier) for identifier in named):
            yield event


def _is_known(tables: TableReads, identifier: bytes) -> bool:
    if len(identifier) == ids.LINEAGE_BYTES:
        return tables.node_of(identifier) is not None
    return tables.place_of(identifier) is not None or tables.proposal(identifier) is not None


def commit_entries(
    log: LmdbLog, seq: int, ref: str | None = None, tables: TableReads | None = None, first: int = 0
) -> Iterator[Entry]:
    """The events of one commit, from ``first`` on; with ``ref`` those that name it, with ``tables`` of its rows."""
    header, events = log.header(seq), log.events(seq)
    blobs = LoggedBlobs(log, seq, events)
    shown = enumerate(events.events if tables is None else _visible_events(tables, events.events))
    for index, event in islice(shown, first, None):
        if isinstance(event, ev.Trusted) and event.of != "world":
            # The hash of an author or a source is no world's reference.
            event = msgspec.structs.replace(event, world=b"")
        refs = named_by(event)
        if ref is None or ref in refs:
            entry = _entry(seq, index, header.ingest_time, header.author, event, refs, blobs)
            is_elsewhere = isinstance(event, ev.ErasedElsewhere | ev.StruckElsewhere)
            yield _add_reason(entry, event, log) if is_elsewhere else entry


def _add_reason(entry: Entry, event: Any, log: LmdbLog) -> Entry:
    """The entry of an erasure in another history, with the reference under which it was done there."""
    stored = log.blob(entry.seq, event.record)
    evidence = None if stored is None else codec.decode_blob(stored, entry.seq)
    if not isinstance(evidence, Evidence):
        return entry
    return msgspec.structs.replace(entry, why=evidence_of(evidence, event).reason(event.lineage))


def named_by(event: ev.Event) -> tuple[str, ...]:
    """The lineages, edges and proposals that an event names, in the order of its fields."""
    return tuple(identifier.hex() for identifier in _ids(event))


def _ids(event: ev.Event) -> list[bytes]:
    if isinstance(event, ev.Trusted) and event.of != "world":
        return []
    if isinstance(event, ev.Recalled):
        return [each for each in (event.world, *event.shown) if each]
    if isinstance(event, ev.Accessed):
        return list(dict.fromkeys(event.shown))
    values = (getattr(event, name) for name in event.__struct_fields__ if name not in _NO_REFS)
    return [value for value in values if isinstance(value, bytes) and len(value) >= ids.LINEAGE_BYTES]


def _entry(
    seq: int, index: int, time: int, author: str, event: Any, refs: tuple[str, ...], blobs: LoggedBlobs
) -> Entry:
    body = blobs.body(event.body) if getattr(event, "body", ev.NONE) != ev.NONE else None
    position = getattr(event, "details", ev.NONE)
    details = blobs.details(position) if position != ev.NONE else None
    data = {
        name: _plain(value)
        for name in event.__struct_fields__
        for value in (getattr(event, name),)
        if name not in _PLACES
    }
    return Entry(
        seq=seq,
        index=index,
        ingested_at=time,
        author=author,
        event=str(type(event).__struct_config__.tag),
        refs=refs,
        name=_named_text(event, body, details),
        text=body.content if isinstance(body, Body) else _statement_lines(event, details),
        why=details.why if isinstance(details, Details) else "",
        data=data,
    )


def _statement_lines(event: Any, details: Any) -> str:
    """The statements of an event as lines of N-Quads; none if a text is elsewhere, or all were erased.

    Where one literal of a statement was erased, the line says so in its place.
    """
    if not isinstance(event, ev.Stated) or not isinstance(details, Details):
        return ""
    from worlddb.log.statements.terms import ERASED, with_blank_nodes

    texts = {0: "", **{number: text or ERASED for number, text in zip(event.terms, details.aliases, strict=False)}}
    if not texts.keys() >= set(event.quads):
        return ""
    lines = (" ".join(filter(None, (*(texts[number] for number in quad), "."))) for quad in ev.quads_of(event.quads))
    return "\n".join(map(with_blank_nodes, lines))


def _plain(value: Any) -> Any:
    """A field of an event, ids in hex."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.hex() if isinstance(value, bytes) else value


def _named_text(event: Any, body: Body | None, details: Details | None) -> str:
    if body is not None:
        return body.name
    if isinstance(event, ev.Named | ev.Labelled) and isinstance(details, Details):
        return details.aliases[event.position]
    if isinstance(event, ev.Tagged) and isinstance(details, Details):
        return details.aliases[0]
    return ""
