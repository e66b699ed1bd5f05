"""Apply events to the tables: one function an event type, for writer and replay (law 2).

An erasure leaves exactly what a replay of the log without the erased texts derives. A text that an import brought later
than its hash leaves what its event would have left.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final, get_args

from worlddb.log.model import events as ev
from worlddb.log.model import times
from worlddb.projections.tables.apply import deferred_rows, log_marks, mark_rows, settings
from worlddb.projections.tables.names import blocks, canonical
from worlddb.projections.tables.reads.asof import SPACE_CHOSEN, SPACE_DROPPED, space_row
from worlddb.projections.tables.storage import rows, schema, timeline_rows, write_buffer


def apply_erased(on: deferred_rows.DeferredRows, event: ev.Erased) -> None:
    """Forget the names and types of every version and alias so far.

    Their digests and forms were made of the texts.
    """
    tables, node = on.tables, on.number(event.lineage)
    number = schema.U64.pack(node)
    for version, row in list(tables.version_rows(node)):
        _forget(tables, row.name + number, row.type + number)
        tables.put_version(node, version, row._replace(name=canonical.NO_NAME, type=canonical.NO_TYPE))
    for alias, given in list(tables.aliases(node)):
        _forget(tables, given.name + number)
        tables.put_alias(node, alias, given._replace(name=canonical.NO_NAME))
    mark_rows.forget_names(tables, node)
    blocks.forget_names(tables, node)
    log_marks.forget_bookmarks(tables, event.blobs)
    settings.forget_trust_named(tables, event.blobs)
    if tables.has_rows("terms"):
        from worlddb.projections.tables.statements import statement_rows

        statement_rows.forget_terms(tables, node)
    tables.erasures.put(number, schema.ERASURE.pack(on.seq, event.details))
    _forbid(on, event.forbidden)


def apply_erased_elsewhere(on: deferred_rows.DeferredRows, event: ev.ErasedElsewhere) -> None:
    """Say why texts are missing that another history of this log erased; their rows never held anything of them."""
    node = on.tables.node_of(event.lineage)
    if node is not None:
        on.tables.erasures.put(schema.U64.pack(node), schema.ERASURE.pack(on.seq, event.record))
    _forbid(on, event.forbidden)


def _forbid(on: deferred_rows.DeferredRows, digests: Sequence[bytes]) -> None:
    for digest in digests:
        if on.tables.forbidden.get(digest) is None:
            on.tables.forbidden.put(digest, schema.U64.pack(on.seq))


def _forget(tables: rows.Tables, name: bytes, kind: bytes = b"") -> None:
    if tables.names.get(name) is not None:
        tables.names.put(name, None)
    if kind and tables.types.get(kind) is not None:
        tables.types.put(kind, None)


def erasure_of(tables: rows.Tables, node: int) -> schema.ErasureRow | None:
    """The last erasure of a node's texts that this log records."""
    stored = tables.erasures.get(schema.U64.pack(node))
    return None if stored is None else schema.ErasureRow._make(schema.ERASURE.unpack(stored))


def forbids(tables: rows.Tables) -> bool:
    """True if there are texts that may not be written again."""
    return next(tables.forbidden.scan(b""), None) is not None


def apply_beliefs_set(on: deferred_rows.DeferredRows, event: ev.BeliefsSet) -> None:
    # Few stores have one: nobody else waits for what reads them.
    from worlddb.projections.tables.beliefs import belief_rows

    belief_rows.put_setting(on.tables, on.seq, event)


def apply_accounts_changed(on: deferred_rows.DeferredRows, event: ev.AccountEvent) -> None:
    """Write what an event says of accounts, their plans or their keys."""
    from worlddb.projections.tables.accounts import account_rows

    account_rows.apply_change(on.tables, on.seq, event)


def apply_forked(on: deferred_rows.DeferredRows, event: ev.Forked) -> None:
    # As few have one.
    from worlddb.projections.tables.forks import fork_rows

    fork_rows.put_fork(on, event)


def apply_merged(on: deferred_rows.DeferredRows, event: ev.Merged) -> None:
    from worlddb.projections.tables.forks import fork_rows

    fork_rows.put_merge(on, event)


def apply_stated(on: deferred_rows.DeferredRows, event: ev.Stated) -> None:
    from worlddb.projections.tables.statements import statement_rows

    statement_rows.apply_stated(on, event)


def apply_unstated(on: deferred_rows.DeferredRows, event: ev.Unstated) -> None:
    from worlddb.projections.tables.statements import statement_rows

    statement_rows.apply_unstated(on, event)


def apply_struck(on: deferred_rows.DeferredRows, event: ev.Struck | ev.StruckElsewhere) -> None:
    """Forget the digests of terms whose texts are gone; a replay never knew them."""
    from worlddb.projections.tables.statements import statement_rows

    node = on.tables.node_of(event.lineage)
    if node is not None:
        statement_rows.forget_some(on.tables, node, event.terms, set(event.blobs))


def apply_imported(on: deferred_rows.DeferredRows, event: ev.Imported) -> None:
    """Nothing: other events state what a bundle brought."""


def apply_filled(on: deferred_rows.DeferredRows, event: ev.Filled) -> None:
    """Write what the version's own event would have written had the text been there.

    A replay finds it there: then all of this stands already.
    """
    node = on.number(event.lineage)
    row = on.tables.version(node, event.version)
    body = on.blobs.earlier(row.seq, row.position)
    if body is None:
        return
    name, kind = canonical.name_digest(body.name), canonical.type_digest(body.type)
    on.tables.put_version(node, event.version, row._replace(name=name, type=kind))
    if name != canonical.NO_NAME:
        _put_earliest(on.tables.names, name + schema.U64.pack(node), row.seq)
        if body.type not in blocks.UNNAMED_TYPES:
            blocks.put_name(on.tables, node, body.name)
    _put_earliest(on.tables.types, kind + schema.U64.pack(node), row.seq)


def _put_earliest(table: write_buffer.Table, key: bytes, seq: int) -> None:
    stored = table.get(key)
    if stored is None or int.from_bytes(stored, "big") > seq:
        table.put(key, schema.U64.pack(seq))


class Applier(deferred_rows.DeferredRows):
    """Applies the events of one commit to the tables, then rehashes the worlds that changed.

    The rows of new worlds and edges are deferred; see :class:`DeferredRows`.
    """

    def apply(self, event: ev.Event) -> None:
        """Write what the event says."""
        _APPLY[type(event)](self, event)

    def apply_all(self, events: Sequence[ev.Event]) -> None:
        """Write what all the events of a commit say: new lineages, then new edges, then the rest.

        Numbers are given out by kind, and neither new lineages nor new edges read what the rest writes, so this order
        gives the same rows as the log's.
        """
        if isinstance(events[0], ev.StoreCreated):
            self.apply(events[0])
        self.create_all([event for event in events if type(event) is ev.Created])
        rest = [event for event in events if type(event) not in _EARLY]
        of_worlds: list[Any] = [event for event in rest if type(event) in _OF_WORLD]
        if len(of_worlds) >= deferred_rows.TOGETHER:
            self.tables.know_numbers([event.lineage for event in of_worlds])
        self._name_all([event for event in rest if type(event) is ev.Named])
        self._link_all([event for event in events if type(event) is ev.Linked])
        for event in rest:
            self.apply(event)

    def _link_all(self, events: list[ev.Linked]) -> None:
        if len(events) >= deferred_rows.TOGETHER:
            # In a large store single look-ups take several times as long, since each goes to another page.
            self.tables.know_numbers(chain.from_iterable((event.source, event.target, event.home) for event in events))
        # Replay asks no handler, so nobody will ask where an edge leads before it is a row.
        for begin in range(0, max(1, len(events)), deferred_rows.TOGETHER):
            some = events[begin : begin + deferred_rows.TOGETHER]
            types = [event.type for event in some]
            code_of = {name: self.tables.give_type_code(name) for name in dict.fromkeys(types)}
            sources = self.numbers([event.source for event in some])
            targets = self.numbers([event.target for event in some])
            homes = self.numbers([event.home for event in some])
            self.link_all(list(zip(some, map(code_of.__getitem__, types), sources, targets, homes, strict=True)))

    def _name_all(self, events: Sequence[ev.Named]) -> None:
        """Give new lineages their aliases, as far as names are looked for."""
        for event in events:
            node, details = self.number(event.lineage), self.blobs.details(event.details)
            if details is not None and node >= self.tables.first_new_node:
                alias = details.aliases[event.position]
                self.name(node, canonical.name_digest(alias), alias)
        self.names_put = True

    def rehash(self) -> bytes:
        """Rehash every world that changed, each once. Returns the root world's hash."""
        if self.tables.deferred is not None:
            self.flush()
        return self.pending_hashes.rehash()

    def finish(self, idempotency_key: bytes) -> None:
        """Record the commit itself: how far the tables are, and the key that it was made under."""
        if idempotency_key:
            self.tables.keys.put(idempotency_key, schema.U64.pack(self.seq))
        log_marks.add_to_totals(self)
        self.tables.put_progress(
            self.tables.progress()._replace(seq=self.seq, next_node=self.next_node, next_edge=self.next_edge)
        )


_EARLY: Final = frozenset({ev.StoreCreated, ev.Created, ev.Linked})
_OF_WORLD: Final = frozenset(kind for kind in get_args(ev.AnyEvent) if "lineage" in kind.__struct_fields__)


def _apply_store_created(on: deferred_rows.DeferredRows, event: ev.StoreCreated) -> None:
    _apply_created(on, ev.Created(event.root, event.body, ev.NONE, times.ALWAYS, times.FOREVER))


def _apply_created(on: deferred_rows.DeferredRows, event: ev.Created) -> None:
    body = on.blobs.body(event.body)
    on.create(
        event, on.blobs.blob_id(event.body), canonical.NO_NAME if body is None else canonical.name_digest(body.name)
    )


def _apply_revised(on: deferred_rows.DeferredRows, event: ev.Revised) -> None:
    node = on.number(event.lineage)
    row = on.tables.node(node)
    version = row.versions + 1
    _write_timeline(on, node, times.Interval(event.valid_from, event.valid_to), version)
    # What was resumed for good has ended at some commits, and not at others.
    ended = schema.CUT if row.ended and event.valid_to == times.FOREVER else row.ended
    on.tables.put_node(node, row._replace(versions=version, body=on.blobs.blob_id(event.body), ended=ended))
    _put_version(on, node, version, event)
    on.pending_hashes.body_changed(node)


def _put_version(on: deferred_rows.DeferredRows, node: int, version: int, event: ev.Revised) -> None:
    body = on.blobs.body(event.body)
    name = canonical.NO_NAME if body is None else canonical.name_digest(body.name)
    type_ = canonical.NO_TYPE if body is None else canonical.type_digest(body.type)
    on.tables.put_version(
        node,
        version,
        schema.VersionRow(
            on.blobs.blob_id(event.body),
            on.seq,
            event.valid_from,
            event.valid_to,
            0,
            event.body,
            event.details,
            name,
            type_,
            event.stated,
        ),
    )
    on.put_name(node, name, None if body is None or body.type in blocks.UNNAMED_TYPES else body.name)
    key, types = type_ + schema.U64.pack(node), on.tables.types
    if body is not None and types.get(key) is None:
        types.put(key, schema.U64.pack(on.seq))


def _apply_closed(on: deferred_rows.DeferredRows, event: ev.Closed) -> None:
    _shrink_version(on, event.lineage, event.version, times.Interval(event.valid_to, times.FOREVER))


def _apply_lost(on: deferred_rows.DeferredRows, event: ev.Lost) -> None:
    _shrink_version(on, event.lineage, event.version, times.Interval(event.valid_from, event.valid_to))


def _shrink_version(on: deferred_rows.DeferredRows, lineage: bytes, version: int, window: times.Interval) -> None:
    node = on.number(lineage)
    row = on.tables.version(node, version)
    for piece in _held_spans(
        on.tables, timeline_rows.Place(timeline_rows.OF_LINEAGE, node), row, version, window, on.seq
    ):
        _write_timeline(on, node, piece, timeline_rows.NOTHING)
    closed, ends = _remaining_end(row, window, on.seq)
    on.tables.put_version(node, version, row._replace(closed=closed, valid_to=ends))


def _remaining_end(row: schema.VersionRow | schema.EdgeRow, window: times.Interval, seq: int) -> tuple[int, int]:
    """The ``closed`` and ``valid_to`` of a row once its validity has lost a window."""
    if row.closed == schema.CUT or window.end < row.valid_to:
        return schema.CUT, row.valid_to
    return seq, max(row.valid_from, min(row.valid_to, window.start))


def _held_spans(
    tables: rows.Tables,
    place: timeline_rows.Place,
    row: schema.VersionRow | schema.EdgeRow,
    number: int,
    window: times.Interval,
    seq: int,
) -> list[times.Interval]:
    """The spans of a window in which a version or an edge holds."""
    if row.closed != schema.CUT:
        start, end = max(row.valid_from, window.start), min(row.valid_to, window.end)
        return [times.Interval(start, end)] if start < end else []
    touched = timeline_rows.pieces_in(tables.timelines, place, seq, window) or ()
    return [piece.span.intersect(window) for piece in touched if piece.number == number]


def _write_timeline(on: deferred_rows.DeferredRows, node: int, window: times.Interval, number: int) -> None:
    """Let a version of a lineage hold in a window, or nothing."""

    def born() -> tuple[int, times.Interval]:
        first = on.tables.version(node, 1)
        return first.seq, times.Interval(first.valid_from, first.valid_to)

    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    timeline_rows.put(on.tables.timelines, place, on.seq, window, number, born)


def _apply_ended(on: deferred_rows.DeferredRows, event: ev.Ended) -> None:
    node = on.number(event.lineage)
    last = _write_hole(on, node, times.Interval(event.at, times.FOREVER))
    row = on.tables.node(node)
    # What a bundle tells at once has ended, and may have been resumed since.
    ended = row.ended or on.seq if last == timeline_rows.HOLE else schema.CUT
    on.tables.put_node(node, row._replace(ended=ended))


def _apply_voided(on: deferred_rows.DeferredRows, event: ev.Voided) -> None:
    _write_hole(on, on.number(event.lineage), times.Interval(event.valid_from, event.valid_to))


def _write_hole(on: deferred_rows.DeferredRows, node: int, window: times.Interval) -> int:
    """Say that nothing holds where nothing does; what the timeline ends with."""
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    table = on.tables.timelines
    if window.end == times.FOREVER and timeline_rows.put_last(table, place, on.seq, window.start, timeline_rows.HOLE):
        # Who ends has mostly lost all of that time just before.
        return timeline_rows.HOLE
    _write_timeline(on, node, times.Interval(window.start, window.start), timeline_rows.NOTHING)
    for piece in timeline_rows.pieces_in(table, place, on.seq, window) or ():
        if piece.number == timeline_rows.NOTHING:
            _write_timeline(on, node, piece.span.intersect(window), timeline_rows.HOLE)
    last = timeline_rows.piece_at(table, place, on.seq, times.FOREVER - 1)
    return timeline_rows.NOTHING if last is None else last.number


def _apply_named(on: deferred_rows.DeferredRows, event: ev.Named) -> None:
    node = on.number(event.lineage)
    row = on.tables.node(node)
    details = on.blobs.details(event.details)
    name = canonical.NO_NAME if details is None else canonical.name_digest(details.aliases[event.position])
    alias = row.aliases + 1
    on.tables.put_alias(node, alias, schema.AliasRow(name, on.seq, schema.LIVE, event.details, event.position))
    on.tables.put_node(node, row._replace(aliases=alias))
    if details is None:
        on.put_name(node, name, None)
    elif on.names_put and node >= on.tables.first_new_node:
        return
    elif on.is_deferred(node):
        on.name(node, name, details.aliases[event.position])
    else:
        on.put_name(node, name, details.aliases[event.position])


def _apply_unnamed(on: deferred_rows.DeferredRows, event: ev.Unnamed) -> None:
    node = on.number(event.lineage)
    for alias, row in on.tables.aliases(node):
        if alias == event.alias:
            on.tables.put_alias(node, alias, row._replace(removed=on.seq))
            return


def _apply_restated(on: deferred_rows.DeferredRows, event: ev.Restated) -> None:
    row = schema.RestatedRow(on.seq, event.details, event.version)
    on.tables.put_restatement(on.number(event.lineage), row)


def _apply_linked(on: deferred_rows.DeferredRows, event: ev.Linked) -> None:
    code = on.tables.give_type_code(event.type)
    on.link(event, code, on.number(event.source), on.number(event.target), on.number(event.home))


def _apply_unlinked(on: deferred_rows.DeferredRows, event: ev.Unlinked) -> None:
    tables = on.tables
    place, row = _find_edge(on, event.edge)
    on.unlinked += row.unlinked == schema.LIVE
    tables.put_edge(place, row._replace(unlinked=on.seq))
    tables.put_unlinked_back(row.target, place, on.seq)
    tables.put_retracted(row.home, place)
    if place.type == schema.CONTAINS_CODE:
        tables.displaced(row.target)
        on.pending_hashes.member_changed(place.source, row.target)
    else:
        on.pending_hashes.edge_changed(row.home, event.edge, written=False)


def _apply_edge_closed(on: deferred_rows.DeferredRows, event: ev.EdgeClosed) -> None:
    _shrink_edge(on, event.edge, times.Interval(event.valid_to, times.FOREVER))


def _apply_edge_lost(on: deferred_rows.DeferredRows, event: ev.EdgeLost) -> None:
    _shrink_edge(on, event.edge, times.Interval(event.valid_from, event.valid_to))


def _shrink_edge(on: deferred_rows.DeferredRows, edge: bytes, window: times.Interval) -> None:
    place, row = _find_edge(on, edge)
    line = timeline_rows.Place(timeline_rows.OF_EDGE, place.edge)
    born = row.seq, times.Interval(row.valid_from, row.valid_to)
    for piece in _held_spans(on.tables, line, row, timeline_rows.HOLDS, window, on.seq):
        timeline_rows.put(on.tables.timelines, line, on.seq, piece, timeline_rows.NOTHING, lambda: born)
    closed, ends = _remaining_end(row, window, on.seq)
    if place.type == schema.CONTAINS_CODE:
        on.tables.displaced(row.target)
    on.tables.put_edge(place, row._replace(closed=closed, valid_to=ends))


def _find_edge(on: deferred_rows.DeferredRows, edge: bytes) -> tuple[schema.EdgePlace, schema.EdgeRow]:
    place = on.tables.place_of(edge)
    if place is None:
        raise KeyError(f"commit {on.seq} names the unknown edge {edge.hex()}")
    return place, on.tables.edge(place)


def _apply_proposed(on: deferred_rows.DeferredRows, event: ev.Proposed) -> None:
    """A pair of worlds waits for a decision."""
    source, target = on.number(event.source), on.number(event.target)
    row = schema.ProposalRow(
        source,
        target,
        event.source_version,
        event.target_version,
        on.number(event.home),
        on.seq,
        event.valid_from,
        event.details,
        event.nonce,
        event.handler_version,
        schema.PENDING,
        0,
    )
    on.tables.put_proposal(event.proposal, row)
    key = schema.PAIR_KEY.pack(max(source, target), min(source, target), on.seq, on.staged)
    on.tables.pairs.put(key, event.proposal)
    on.staged += 1


def _apply_decided(on: deferred_rows.DeferredRows, event: ev.Decided) -> None:
    """Somebody decided about a pair."""
    row = on.tables.proposal(event.proposal)
    if row is None:
        raise KeyError(f"commit {on.seq} names the unknown proposal {event.proposal.hex()}")
    status = _STATUSES[event.decision]
    on.tables.put_proposal(event.proposal, row._replace(status=status, decided=on.seq))
    on.tables.decisions.put(event.proposal + schema.U64.pack(on.seq), bytes([status]))


_STATUSES: Final = {"accepted": schema.ACCEPTED, "rejected": schema.REJECTED, "undone": schema.UNDONE}


def _apply_space_opened(on: deferred_rows.DeferredRows, event: ev.SpaceOpened) -> None:
    """Number a space; nothing is in it yet."""
    row = schema.SpaceRow(on.seq, event.model, event.dimension, 0)
    on.tables.spaces.put(schema.SPACE_KEY.pack(event.space), schema.SPACE.pack(*row))


def _apply_embedded(on: deferred_rows.DeferredRows, event: ev.Embedded) -> None:
    """Say where a version's vector is."""
    key = schema.VECTOR_KEY.pack(event.space, on.number(event.lineage), event.version)
    on.embedded[event.space] += on.tables.vectors.get(key) is None
    on.tables.vectors.put(key, schema.VECTOR.pack(on.seq, event.vector))


def _apply_embedded_through(on: deferred_rows.DeferredRows, event: ev.EmbeddedThrough) -> None:
    """Say how far a space is filled."""
    row = space_row(on.tables, event.space)
    if row is None:
        raise KeyError(f"commit {on.seq} names the unknown embedding space {event.space}")
    on.tables.spaces.put(schema.SPACE_KEY.pack(event.space), schema.SPACE.pack(*row._replace(through=event.through)))


def _apply_space_chosen(on: deferred_rows.DeferredRows, event: ev.SpaceChosen) -> None:
    """Let a space answer from this commit on."""
    on.tables.space_changes.put(SPACE_CHOSEN + schema.U64.pack(on.seq), schema.SPACE_KEY.pack(event.space))


def _apply_space_dropped(on: deferred_rows.DeferredRows, event: ev.SpaceDropped) -> None:
    """Say that a space is no more.

    Its vectors stay where they are: views of earlier commits compare them.
    """
    on.tables.space_changes.put(SPACE_DROPPED + schema.SPACE_KEY.pack(event.space), schema.U64.pack(on.seq))


_APPLY: Final[dict[type[ev.Event], Callable[[deferred_rows.DeferredRows, Any], None]]] = {
    ev.StoreCreated: _apply_store_created,
    ev.Created: _apply_created,
    ev.Revised: _apply_revised,
    ev.Closed: _apply_closed,
    ev.Lost: _apply_lost,
    ev.Voided: _apply_voided,
    ev.Ended: _apply_ended,
    ev.Named: _apply_named,
    ev.Unnamed: _apply_unnamed,
    ev.Linked: _apply_linked,
    ev.Unlinked: _apply_unlinked,
    ev.EdgeClosed: _apply_edge_closed,
    ev.EdgeLost: _apply_edge_lost,
    ev.Proposed: _apply_proposed,
    ev.Decided: _apply_decided,
    ev.Bookmarked: log_marks.apply_bookmarked,
    ev.Imported: apply_imported,
    ev.Filled: apply_filled,
    ev.Erased: apply_erased,
    ev.Registered: settings.apply_registered,
    ev.Unregistered: settings.apply_unregistered,
    ev.SpaceOpened: _apply_space_opened,
    ev.Embedded: _apply_embedded,
    ev.EmbeddedThrough: _apply_embedded_through,
    ev.Reclustered: log_marks.apply_reclustered,
    ev.Supposed: log_marks.apply_supposed,
    ev.LeftOut: log_marks.apply_nothing,
    ev.TakenOver: log_marks.apply_nothing,
    ev.Tuned: settings.apply_tuned,
    ev.Untuned: settings.apply_untuned,
    ev.SpaceChosen: _apply_space_chosen,
    ev.SpaceDropped: _apply_space_dropped,
    ev.ErasedElsewhere: apply_erased_elsewhere,
    ev.Trusted: settings.apply_trusted,
    ev.Restated: _apply_restated,
    ev.Expires: mark_rows.apply_expires,
    ev.Labelled: mark_rows.apply_labelled,
    ev.Unlabelled: mark_rows.apply_unlabelled,
    ev.Pinned: mark_rows.apply_pinned,
    ev.Tagged: mark_rows.apply_tagged,
    ev.Deprecated: mark_rows.apply_deprecated,
    ev.BeliefsSet: apply_beliefs_set,
    ev.Recalled: mark_rows.apply_recalled,
    ev.Accessed: mark_rows.apply_accessed,
    ev.Profiled: settings.apply_profiled,
    ev.Guarded: settings.apply_guarded,
    ev.PlanSet: apply_accounts_changed,
    ev.AccountSet: apply_accounts_changed,
    ev.KeyMade: apply_accounts_changed,
    ev.KeyEnded: apply_accounts_changed,
    ev.Forked: apply_forked,
    ev.Merged: apply_merged,
    ev.Stated: apply_stated,
    ev.Unstated: apply_unstated,
    ev.Struck: apply_struck,
    ev.StruckElsewhere: apply_struck,
}
