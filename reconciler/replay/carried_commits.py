"""Carry a commit over into another history as it was decided.

This is for commits whose commands cannot be decided again: those that erased or lost texts, imported a bundle, or have
an edge type whose handler is missing. It is possible if everything that the commit names is unchanged there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from worlddb.log.model import codec, ids, times
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Cause, Details
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.transaction.draft import Draft

_NAME_NOTHING: Final = frozenset({"nonce", "digest", "bundle", "store_id", "world_hash"})
"""Bytes of events that name neither a world nor an edge nor a proposal."""
_OF_SPACES: Final = ev.SpaceOpened | ev.Embedded | ev.EmbeddedThrough | ev.SpaceChosen | ev.SpaceDropped


def find_misfit(events: codec.Events, theirs: rows.Tables, ours: rows.Tables, seq: int) -> str:
    """Find the first thing that commit ``seq`` names and ``ours`` lacks or has in another state.

    Its events name it; empty if there is none. ``theirs`` may know later commits, ``ours`` ends before this one.
    """
    for name in _named_ids(events):
        state = _STATES[len(name)]
        if state(theirs, name, seq - 1) != state(ours, name, seq - 1):
            return f"{ids.short(name)} is not as it was"
    for event in events.events:
        if isinstance(event, ev.Stated | ev.Unstated) and _has_other_terms(theirs, ours, event, seq):
            return f"the terms of {ids.short(event.lineage)} are not as they were"
        if isinstance(event, ev.Linked):
            if event.keyed and ours.place_of_key(event.nonce) is not None:
                return f"the key of the edge {ids.short(event.edge)} is another edge's"
            if event.type == schema.CONTAINS and _would_make_cycle(ours, event):
                return f"{ids.short(event.target)} contains {ids.short(event.source)}"
            if event.type == schema.CONTAINS and _has_other_membership(theirs, ours, event, seq):
                return f"{ids.short(event.target)} is in {ids.short(event.source)} at that time"
    spaces_named = {event.space for event in events.events if isinstance(event, _OF_SPACES)}
    for number in sorted(spaces_named):
        if _space(theirs, number, seq - 1) != _space(ours, number, seq - 1):
            return f"the embedding space {number} is not as it was"
    return ""


def _named_ids(events: codec.Events) -> Iterator[bytes]:
    """The worlds, edges and proposals that events name, once each."""
    values = (
        getattr(event, field)
        for event in events.events
        for field in event.__struct_fields__
        if field not in _NAME_NOTHING
    )
    shown = [each for event in events.events if isinstance(event, ev.Recalled | ev.Accessed) for each in event.shown]
    for event in events.events:
        shown += [*event.origins, *event.copies] if isinstance(event, ev.Forked | ev.Merged) else []
    named = (value for value in values if isinstance(value, bytes) and len(value) in _STATES)
    return iter(dict.fromkeys((*named, *shown)))


def _world(tables: rows.Tables, lineage: bytes, seq: int) -> Any:
    """The state of a world as known at a commit; ``None`` if it is unknown."""
    node = tables.node_of(lineage)
    if node is None or tables.node(node).created > seq:
        return None
    ended = asof.ended_by(tables, node, tables.node(node), seq)
    versions = [(seen.number, seen.row.body, seen.validity) for seen in asof.versions_as_of(tables, node, seq)]
    aliases = [
        (number, asof.alias_known(row, seq), row.seq, row.position)
        for number, row in tables.aliases(node)
        if row.seq <= seq
    ]
    containers = [
        tables.node(place.source).lineage
        for place, row in tables.incoming(node, schema.CONTAINS_CODE)
        if asof.edge_known(row, seq)
    ]
    return versions, bool(ended), aliases, containers


def _edge_or_proposal(tables: rows.Tables, identifier: bytes, seq: int) -> Any:
    """The state of an edge or a proposal as known at a commit; ``None`` if it is unknown."""
    place, row = tables.place_of(identifier), tables.proposal(identifier)
    edge = None if place is None else tables.edge(place)
    known_edge = place is not None and edge is not None and edge.seq <= seq
    known_proposal = row is not None and row.seq <= seq
    return (
        (asof.edge_known(edge, seq), asof.edge_validity(tables, place, edge, seq))
        if known_edge and place and edge
        else None,
        asof.decision_at(tables, identifier, row, seq)[0] if known_proposal and row else None,
    )


_STATES: Final[dict[int, Callable[[rows.Tables, bytes, int], Any]]] = {
    ids.LINEAGE_BYTES: _world,
    ids.HASH_BYTES: _edge_or_proposal,
}


def _space(tables: rows.Tables, number: int, seq: int) -> Any:
    """Tell whether an embedding space is known at a commit, and how many spaces are before it."""
    return [known for known, row in asof.spaces(tables) if row.seq <= seq and known <= number]


def _would_make_cycle(tables: rows.Tables, event: ev.Linked) -> bool:
    """True if the new container lies inside the new member."""
    source, target = tables.node_of(event.source), tables.node_of(event.target)
    if source is None or target is None:
        return False
    seen, pending = {source}, [source]
    while pending:
        here = pending.pop()
        if here == target:
            return True
        above = [each for each in tables.containers(here) if each not in seen]
        seen.update(above)
        pending.extend(above)
    return False


def _has_other_membership(theirs: rows.Tables, ours: rows.Tables, event: ev.Linked, seq: int) -> bool:
    """True if the member is in the container here at some time of the new membership, and is not in theirs."""
    window = times.Interval(event.valid_from, event.valid_to)
    here = _membership(ours, event, seq - 1)
    return any(held.overlaps(window) for held in here) and here != _membership(theirs, event, seq - 1)


def _membership(tables: rows.Tables, event: ev.Linked, seq: int) -> list[times.Validity]:
    """When a world contained another as known at a commit, by edge."""
    source, target = tables.node_of(event.source), tables.node_of(event.target)
    if source is None or target is None:
        return []
    placed = tables.incoming(target, schema.CONTAINS_CODE, known_by=seq)
    known = ((place, row) for place, row in placed if place.source == source and asof.edge_known(row, seq))
    return [asof.edge_validity(tables, place, row, seq) for place, row in known]


def _has_other_terms(theirs: rows.Tables, ours: rows.Tables, event: ev.Stated | ev.Unstated, seq: int) -> bool:
    """True if a term number that commit ``seq`` assigns or uses stands for another term in ``ours``."""
    there, here = theirs.node_of(event.lineage), ours.node_of(event.lineage)
    if there is None or here is None:
        return False  # A fork or an import creates it in this commit: what it names is the same.
    for number in set(event.quads) - {statement_rows.DEFAULT_GRAPH}:
        was, row = statement_rows.term(theirs, there, number), statement_rows.term(ours, here, number)
        known = None if was is None or was.seq >= seq else was.identity
        if known != (None if row is None else row.identity):
            return True
    return False


def carry_over(theirs: LmdbLog, seq: int, events: codec.Events, draft: Draft) -> list[int]:
    """Put the events of commit ``seq`` into a draft.

    All its blobs go along under the same positions.

    Returns:
        The positions of blobs that are not there any more.
    """
    absent: list[int] = []
    stored = theirs.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    for position in range(1, events.blob_count):
        blob = theirs.blob(seq, position)
        draft.blobs.add_stored(events.blob(position), blob)
        if blob is None:
            absent.append(position)
    draft.commands.extend(cause.commands if isinstance(cause, Cause) else [])
    draft.refs.extend(events.refs)
    draft.staged = events.staged
    for note in events.notes:
        draft.note(note.code, *note.refs)
    for event in events.events:
        if isinstance(event, ev.Filled):
            _fill(theirs, draft, event)
        draft.emit(event)
    return absent


def _fill(theirs: LmdbLog, draft: Draft, event: ev.Filled) -> None:
    """Copy a text that filled a place reserved by an earlier commit."""
    node = draft.tables.node_of(event.lineage)
    assert node is not None, "looked for before"
    row = draft.tables.version(node, event.version)
    stored = theirs.blob(row.seq, row.position)
    if stored is not None and draft.log.blob(row.seq, row.position) is None:
        draft.blobs.fill(row.seq, row.position, stored)


def repeat_erasures(
    theirs: LmdbLog, seq: int, events: codec.Events, draft: Draft, places: Mapping[bytes, Sequence[tuple[int, int]]]
) -> None:
    """Put the erasures of commit ``seq`` into a draft: erased texts cannot come back.

    ``places`` are, of each world that is here, the blobs that go with it.
    """
    moved: dict[int, int] = {}
    stored = theirs.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    for event in events.events:
        if not isinstance(event, ev.Erased | ev.Struck) or event.lineage not in places:
            continue
        if event.details not in moved:
            moved[event.details] = _reference(theirs, seq, event.details, draft)
        if isinstance(event, ev.Struck):
            at = [each for each, blob in enumerate(event.blobs) if blob in places[event.lineage]]
            draft.emit(_restrike(event, at, draft.log, details=moved[event.details]))
            continue
        blobs = sorted(places[event.lineage])
        draft.emit(ev.Erased(event.lineage, blobs, moved[event.details], event.everywhere, event.forbidden))
    recorded = cause.commands if isinstance(cause, Cause) else []
    draft.commands.extend([code, body, moved.get(at, ev.NONE), *rest] for code, body, at, *rest in recorded)
    draft.refs.extend(events.refs)


def _restrike(event: ev.Struck | ev.StruckElsewhere, at: Sequence[int], log: LmdbLog, **fields: Any) -> Any:
    """The event for some of its blobs, with what is left of them here."""
    stored = (log.blob(*event.blobs[each]) for each in at)
    struck = [None if each is None else codec.struck_in(each) for each in stored]
    found = [(each, left.hash) for each, left in zip(at, struck, strict=True) if left is not None]
    return msgspec.structs.replace(
        event,
        blobs=[event.blobs[each] for each, _ in found],
        places=[event.places[each] for each, _ in found],
        hashes=[left for _, left in found],
        **fields,
    )


def repeat_foreign_erasures(
    theirs: LmdbLog, seq: int, events: codec.Events, draft: Draft, is_aligned: Callable[[int], bool]
) -> None:
    """Put the erasures of other stores that commit ``seq`` records into a draft, with their evidence.

    ``is_aligned`` tells of an earlier commit whether its texts have the same positions here.
    """
    moved: dict[int, int] = {}
    for event in events.events:
        if isinstance(event, ev.ErasedElsewhere | ev.StruckElsewhere):
            if event.record not in moved:
                stored = theirs.blob(seq, event.record)
                moved[event.record] = draft.blobs.add_stored(events.blob(event.record), stored)
            if isinstance(event, ev.StruckElsewhere):
                at = [each for each, blob in enumerate(event.blobs) if is_aligned(blob[0])]
                draft.emit(_restrike(event, at, draft.log, record=moved[event.record]))
                continue
            blobs = [blob for blob in event.blobs if is_aligned(blob[0])]
            draft.emit(msgspec.structs.replace(event, blobs=blobs, record=moved[event.record]))


def _reference(theirs: LmdbLog, seq: int, position: int, draft: Draft) -> int:
    stored = theirs.blob(seq, position)
    details = None if stored is None else codec.decode_blob(stored, seq)
    return draft.add_details(why=details.why) if isinstance(details, Details) else ev.NONE
