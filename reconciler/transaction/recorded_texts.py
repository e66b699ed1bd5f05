"""Read callers' texts back from the log, as far as they were not erased, and find where those of worlds lie."""

from collections.abc import Collection, Iterator
from typing import Final

from worlddb.log.model import blobs, codec
from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands.commands import Erase, EraseLiteral, TakeBack
from worlddb.reconciler.transaction.inputs import BlobPlace

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


# -- where the texts of worlds lie


def places_of_texts(
    log: LmdbLog, tables: Tables, last: int, nodes: list[int], homes: Collection[int] = ()
) -> dict[int, list[BlobPlace]]:
    """The places of the blobs of some nodes that still exist up to commit ``last``.

    Each is listed under one node only. For nodes in ``homes`` they include those of all edges whose home they are.
    """
    owners = _owners(tables, nodes)
    at_home = {bytes(tables.node(node).lineage): node for node in homes}
    owner_by_place: dict[BlobPlace, int] = {}
    for seq in range(1, last + 1):
        events = log.events(seq)
        for event in events.events if at_home else ():
            if isinstance(event, ev.Linked) and event.home in at_home and _is_live(tables, event.edge):
                owners.setdefault(event.edge, at_home[event.home])
        for place, owner in _owned_places(log, seq, events, owners):
            if place[1] != ev.NONE and place not in owner_by_place and log.blob(*place) is not None:
                owner_by_place[place] = owner
    found: dict[int, list[BlobPlace]] = {}
    for place in sorted(owner_by_place):
        found.setdefault(owner_by_place[place], []).append(place)
    return found


def _is_live(tables: Tables, edge: bytes) -> bool:
    place = tables.place_of(edge)
    return place is not None and tables.edge(place).unlinked == schema.LIVE


def _owners(tables: Tables, nodes: list[int]) -> dict[bytes, int]:
    """The owner of each lineage, edge and proposal; one between two nodes belongs to the first."""
    owners = {tables.node(node).lineage: node for node in nodes}
    for node in nodes:
        for _, row in (*tables.outgoing(node), *tables.incoming(node)):
            owners.setdefault(row.edge, node)
    wanted = set(nodes)
    for proposal, staged in tables.all_proposals():
        for node in (staged.source, staged.target):
            if node in wanted:
                owners.setdefault(proposal, node)
    return owners


def _owned_places(
    log: LmdbLog, seq: int, events: codec.Events, owners: dict[bytes, int]
) -> Iterator[tuple[BlobPlace, int]]:
    """The places of an owner's texts in a commit, in its events and its commands."""
    touched = None
    for event in events.events:
        owner = owners.get(_subject(event, owners))
        if owner is not None:
            touched = owner
            yield (seq, getattr(event, "body", ev.NONE)), owner
            yield (seq, getattr(event, "details", ev.NONE)), owner
            yield (seq, getattr(event, "vector", ev.NONE)), owner
    if touched is None and not any(ref in owners for ref in events.refs):
        return
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    if isinstance(cause, blobs.Cause):
        # Some texts of commands are in no event, such as the reason of an unlink and the names of an unalias.
        for ref, (code, body, details, *_) in zip(events.refs, cause.commands, strict=False):
            # The reason of a take-back concerns all worlds of the commit, and is erased with any of them.
            owner = owners.get(ref, touched if code == TakeBack.CODE else None)
            if owner is not None and code not in (Erase.CODE, EraseLiteral.CODE):
                yield (seq, body), owner
                yield (seq, details), owner


_LINEAGE_EVENTS: Final = (
    *(ev.Created, ev.Revised, ev.Ended, ev.Voided, ev.Named, ev.Filled, ev.Embedded, ev.Restated),
    *(ev.Expires, ev.Labelled, ev.Unlabelled, ev.Pinned, ev.Tagged, ev.Deprecated),
    *(ev.Stated, ev.Unstated),
)
"""Events whose texts belong to the lineage that they name."""


def _subject(event: ev.Event, owners: Collection[bytes]) -> bytes:
    """The lineage, edge or proposal that the texts of an event are about.

    A receipt is about all worlds that it names; the first of ``owners`` counts. An erasure's own reason stays.
    """
    if isinstance(event, ev.Recalled):
        return next((each for each in (event.world, *event.shown) if each in owners), b"")
    if isinstance(event, _LINEAGE_EVENTS):
        return event.lineage
    if isinstance(event, ev.Registered | ev.Unregistered | ev.Imported):
        return event.world
    if isinstance(event, ev.Tuned | ev.Untuned | ev.Profiled | ev.Guarded | ev.KeyMade | ev.Forked | ev.Merged):
        return event.world
    if isinstance(event, ev.Trusted):
        return event.world if event.of == "world" else b""
    if isinstance(event, ev.Linked):
        return event.edge
    if isinstance(event, ev.Proposed | ev.Decided):
        return event.proposal
    return b""
