"""Compare a bundle with this store, and decide the events of its import.

The events are those of its new worlds, edges and proposals. Both stores may have changed since they had a world in
common. What only the bundle has is added; what only this store has stays. A different version under the same ordinal is
a conflict; all conflicts are listed. Texts that are missing here were either erased or never arrived, and these two
cases are told apart.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import Final, NamedTuple

from worlddb.log.model import blobs, bundle_check, codec, limits, times
from worlddb.log.model import bundle as fr
from worlddb.log.model import events as ev
from worlddb.log.model.events import Forked, Imported
from worlddb.log.model.ids import HASH_BYTES, short
from worlddb.log.store import bundle_contents
from worlddb.log.store.bundle_contents import BundledWorld, Contents
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.apply.log_marks import identity_of
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import rows, schema, timeline_rows
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.bundle_import.import_blobs import IncomingBlobs
from worlddb.reconciler.statements import arriving_statements
from worlddb.reconciler.transaction import windows
from worlddb.reconciler.transaction.draft import Draft


class MissingTexts:
    """Distinguishes erased texts from those whose hash alone arrived."""

    def __init__(self, log: LmdbLog, tables: Tables) -> None:
        self._log = log
        self._tables = tables
        self._absent: dict[int, frozenset[int]] = {}

    def is_absent(self, row: schema.VersionRow) -> bool:
        """True if the text of a version is missing here, and was missing when the version was imported."""
        return self._log.blob(row.seq, row.position) is None and row.position in self._absent_in(row.seq)

    def is_erased(self, node: int) -> bool:
        """True if a text of a world was erased here, or may not be imported because of an erasure."""
        if erasure_of(self._tables, node) is not None:
            return True
        return any(
            self._log.blob(row.seq, row.position) is None and row.position not in self._absent_in(row.seq)
            for _, row in self._tables.version_rows(node)
        )

    def _absent_in(self, seq: int) -> frozenset[int]:
        found = self._absent.get(seq)
        if found is None:
            events = self._log.events(seq).events
            found = frozenset(at for event in events if isinstance(event, Imported | Forked) for at in event.absent)
            self._absent[seq] = found
        return found


class LineageEvents:
    """Reads from the log and the draft when lineages hold; a commit that concerns many is read once."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._indexed: dict[int, tuple[codec.Events, dict[bytes, list[ev.AnyEvent]]]] = {}

    def history_of(self, node: int) -> fr.LineageHistory:
        """The timeline that the events of a lineage describe."""
        tables = self._draft.tables
        lineage, place = tables.node(node).lineage, timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
        changes = timeline_rows.changes(tables.timelines, place, self._draft.seq)
        if not changes:
            return fr.LineageHistory([], {}, [], None)
        commits = sorted({*changes, *(row.seq for _, row in tables.version_rows(node))})
        return fr.lineage_history((seq, event) for seq in commits for event in self._about(seq, lineage))

    def details(self, hole: fr.Hole) -> bytes:
        """The id of the blob with the reason of a hole; empty if there is none."""
        if hole.details == ev.NONE or hole.seq == self._draft.seq:
            return b""
        return self._read(hole.seq)[0].blob(hole.details)

    def _about(self, seq: int, lineage: bytes) -> list[ev.AnyEvent]:
        if seq == self._draft.seq:
            return [event for event in self._draft.events if getattr(event, "lineage", b"") == lineage]
        return self._read(seq)[1].get(lineage, [])

    def _read(self, seq: int) -> tuple[codec.Events, dict[bytes, list[ev.AnyEvent]]]:
        found = self._indexed.get(seq)
        if found is None:
            found = self._indexed[seq] = self._draft.log.events(seq), {}
            for event in found[0].events:
                if isinstance(event, ev.Created | ev.Revised | ev.Closed | ev.Lost | ev.Ended | ev.Voided):
                    found[1].setdefault(event.lineage, []).append(event)
        return found


def _first_origin(stored: bytes | None, seq: int, store: str) -> tuple[object, object]:
    """The store and commit that first stated something, from its details in a commit of a store."""
    found = None if stored is None else codec.decode_blob(stored, seq)
    for record in (found.source, found.properties) if isinstance(found, blobs.Details) else ():
        origin = blobs.first_origin_in(record)
        if origin is not None:
            return origin["store"], origin["seq"]
    return store, seq


class _BundledHole(NamedTuple):
    """A hole of a world in a bundle; ``after`` counts the versions before it."""

    after: int
    span: times.Interval
    details: bytes
    by: bytes


def _bundled_holes(world: BundledWorld) -> list[_BundledHole]:
    """The holes of a world in a bundle, in order; after the same version, ends come before holes."""
    count = len(world.versions)
    ends = (
        _BundledHole(each.after or count, times.Interval(each.at, times.FOREVER), each.details, each.by)
        for each in world.ended
    )
    others = (
        _BundledHole(each.after or count, times.Interval(each.valid_from, each.valid_to), each.details, each.by)
        for each in world.voided
    )
    return sorted((*ends, *others), key=lambda hole: hole.after)


_Window = tuple[times.Interval, times.Validity]
"""The window that a version was written with, and when it holds."""


def _validities_in_order(told: Sequence[_Window]) -> list[times.Validity]:
    """When versions hold, in their order: no version holds where a later one was written."""
    taken: list[times.Interval] = []
    found: list[times.Validity] = []
    for window, held in reversed(told):
        for each in taken:
            if each.overlaps(held):
                held = held.without(each)
        found.append(held)
        if not window.is_empty and not any(each.covers(window) for each in taken):
            taken = [each for each in taken if not window.covers(each)]
            taken.append(window)
    return found[::-1]


def _written_window(version: fr.VersionFrame) -> _Window:
    held = fr.validity_of(version.valid_from, version.valid_to, version.spans)
    return times.Interval(version.valid_from, version.born_to), held


def _lost_spans(before: times.Validity, left: times.Validity) -> Iterator[tuple[times.Interval, bool]]:
    """The spans that a validity has lost, each with whether it is the last one."""
    gone = before
    for piece in left.pieces:
        gone = gone.without(piece)
    for span in gone.pieces:
        yield span, span.end == before.end


def _loss_events(
    lineage: bytes, ordinal: int, before: times.Validity, left: times.Validity, by: bytes
) -> Iterator[ev.AnyEvent]:
    """The events that reduce the validity of a version to a remainder."""
    for span, is_last in _lost_spans(before, left):
        if is_last:
            yield ev.Closed(lineage, ordinal, span.start, by)
        else:
            yield ev.Lost(lineage, ordinal, span.start, span.end, by)


_CONTRADICTS: Final = "contradicts"
_STATUSES: Final[dict[ev.Decision, int]] = {
    "accepted": schema.ACCEPTED,
    "rejected": schema.REJECTED,
    "undone": schema.UNDONE,
}
_VersionKey = tuple[bytes, int, int]
"""A version as both a group and an outside frame tell it: body id, ``valid_from``, ``valid_to``."""


class BundleMerge:
    """Collects the events that import a bundle on the present tables; it writes nothing."""

    def __init__(self, draft: Draft, contents: Contents, *, joins: bool = False) -> None:
        self._draft = draft
        self._tables = draft.tables
        self._contents = contents
        self._is_join = joins
        """True for a join: a world that only one side ended goes on if the other side wrote it again."""
        self.held = MissingTexts(draft.log, draft.tables)
        self.lineages = LineageEvents(draft)
        self.blobs = IncomingBlobs(draft, contents)
        self.conflicts: list[str] = []
        self.stubs: list[bytes] = []
        self.filled: list[bytes] = []
        self.left_erased: list[bytes] = []
        self.left_rejected: list[bytes] = []
        self.left_waiting: list[bytes] = []
        self.without_text: list[bytes] = []
        self.ended_before: list[bytes] = []
        """Worlds whose texts come now, and which had ended here while they were known by reference."""
        self.goes_on: list[bytes] = []
        """Worlds that ended in the bundle and were written again here."""
        self.memberships: list[ev.Linked] = []
        self._put: dict[tuple[bytes, bytes], list[times.Interval]] = {}
        self._contradicting: set[frozenset[bytes]] = set()
        """In a join, when each member is in its container."""
        self._gone_apart: set[bytes] = set()
        self._bodies = {world.frame.lineage: world.versions[0].body for world in contents.worlds}
        """What each world of the bundle begins with."""
        self._made: dict[int, list[bytes]] = {}
        """The worlds of the bundle by when they were created, as a rest is when its world is."""
        for world in contents.worlds:
            self._made.setdefault(world.frame.t_create, []).append(world.frame.lineage)

    def is_timeline_from_bundle(self, lineage: bytes) -> bool:
        """True if the timeline of a world here is the one that the bundle states."""
        return lineage in self._bodies and lineage not in self._gone_apart

    def went_apart(self, lineage: bytes) -> bool:
        """True if a world was erased here and differs from that of the bundle, so that it is left as it is."""
        return lineage in self._gone_apart

    def events(self) -> list[ev.AnyEvent]:
        """The events of the import, each after those that it refers to."""
        worlds = sorted(self._contents.worlds, key=lambda world: world.frame.order)
        created: list[ev.AnyEvent] = []
        later: list[ev.AnyEvent] = []
        for outside in self._contents.outside:
            self._add_reference(outside, created, later)
        for world in worlds:
            self._world(world, created, later)
        proposals = [(frame, world) for world in worlds for frame in world.proposals]
        bundled_proposals = {frame.proposal for frame, _ in proposals}
        waiting = self._pending_pairs({frame.proposal for frame, _ in proposals if frame.decisions})
        for world in worlds:
            later.extend(self._retractions(world, bundled_proposals))
        for frame, world in sorted(proposals, key=lambda each: each[0].order):
            if not self._was_rejected_here(frame, bundled_proposals) and not self._is_already_pending(frame, waiting):
                later.extend(self._proposal(frame, world.frame.lineage))
        edges = [(frame, world) for world in worlds for frame in world.edges]
        for edge, world in sorted(edges, key=lambda each: each[0].order):
            later.extend(self._edge(edge, world.frame.lineage, bundled_proposals))
        return [*created, *later]

    def apart(self) -> dict[bytes, bundle_contents.Divergence]:
        """The worlds whose history differs here and in the bundle, by lineage, with where each history continues."""
        divergences: dict[bytes, bundle_contents.Divergence] = {}
        for world in self._contents.worlds:
            lineage = world.frame.lineage
            node = self._tables.node_of(lineage)
            if node is None or self.held.is_erased(node):
                continue
            own_versions = [(row.body, row.valid_from) for _, row in sorted(self._tables.version_rows(node))]
            bundled_versions = [(version.body, version.valid_from) for version in world.versions]
            pairs = zip(own_versions, bundled_versions, strict=False)
            common = next(
                (at for at, (one, other) in enumerate(pairs) if one != other),
                min(len(own_versions), len(bundled_versions)),
            )
            if not common:
                continue
            is_apart = len(own_versions) > common or self._has_hole_under_newer(world, node, common)
            if not is_apart:
                continue
            first = self._first_diverged_world(lineage, own_versions[0][0], self._made[world.frame.t_create])
            ours = (
                bundle_contents.divergent_lineage(first, own_versions[common][0]) if len(own_versions) > common else b""
            )
            theirs = (
                bundle_contents.divergent_lineage(first, bundled_versions[common][0])
                if len(bundled_versions) > common
                else b""
            )
            ours = ours if ours in self._bodies else b""
            if ours or theirs:
                divergences[lineage] = bundle_contents.Divergence(common, theirs, ours)
        return divergences

    def _first_diverged_world(self, lineage: bytes, body: bytes, made: Sequence[bytes]) -> bytes:
        """The world from which a diverged world split off at first; the ids of all later parts derive from it.

        ``made`` are the worlds that were created when it was.
        """
        while True:
            others = (other for other in made if other != lineage)
            before = next(
                (other for other in others if bundle_contents.divergent_lineage(other, body) == lineage), None
            )
            if before is None:
                return lineage
            lineage, body = before, self._bodies[before]

    def _has_hole_under_newer(self, world: BundledWorld, node: int, common: int) -> bool:
        """True if this store has a hole where newer versions of the bundle hold."""
        newer = [_written_window(version)[0] for version in world.versions[common:]]
        return bool(newer and self._new_holes(world, node, newer)[1])

    # -- worlds

    def _add_reference(self, frame: fr.OutsideFrame, made: list[ev.AnyEvent], later: list[ev.AnyEvent]) -> None:
        """Add a world that is known by reference only, unless it exists here."""
        node = self._tables.node_of(frame.lineage)
        if node is None:
            self.stubs.append(frame.lineage)
            known_count = 0
        else:
            rows = self._check_common_versions(node, frame.lineage, frame.t_create, frame.versions)
            known_count = len(rows)
            if known_count < len(frame.versions) and not self.held.is_absent(rows[-1]):
                self.conflicts.append(
                    f"{short(frame.lineage)} is at version {known_count} here, and an edge names version "
                    f"{len(frame.versions)}: first import a bundle that holds that version"
                )
                return
        spans = frame.spans or [[]] * len(frame.versions)
        stated = frame.stated or [ev.UNKNOWN] * len(frame.versions)
        windows = [times.Interval(begins, ends) for _, begins, ends in frame.versions]
        validities = _validities_in_order(
            [(window, fr.validity_of(*window, each)) for window, each in zip(windows, spans, strict=True)]
        )
        for index, (body, begins, ends) in list(enumerate(frame.versions))[known_count:]:
            position = self.blobs.missing_position(body, frame.lineage)
            if index == 0:
                made.append(ev.Created(frame.lineage, position, ev.NONE, begins, ends, frame.t_create, stated[index]))
            else:
                later.append(ev.Revised(frame.lineage, position, ev.NONE, begins, ends, stated[index]))
            later.extend(_loss_events(frame.lineage, index + 1, windows[index], validities[index], b""))

    def _world(self, world: BundledWorld, made: list[ev.AnyEvent], later: list[ev.AnyEvent]) -> None:
        frame = world.frame
        if any(self.blobs.text(version.body, frame.lineage) is None for version in world.versions):
            self.without_text.append(frame.lineage)
        node = self._tables.node_of(frame.lineage)
        known: Sequence[schema.VersionRow] = ()
        if node is not None:
            if self.held.is_erased(node):
                self._add_erased_world(world, node, later)
                return
            bundled_versions = [(version.body, version.valid_from, version.valid_to) for version in world.versions]
            known = self._check_common_versions(node, frame.lineage, frame.t_create, bundled_versions)
        windows = [_written_window(version) for version in world.versions]
        validities = _validities_in_order(windows)
        holes, emptied, filled = self._new_holes(world, node, [window for window, _ in windows[len(known) :]])
        if self._is_join and filled:
            self.goes_on.append(frame.lineage)
            holes = [hole for hole in holes if hole not in filled]
            emptied, filled = [], []
        self.conflicts += _hole_conflicts(frame.lineage, emptied, filled)
        if node is not None:
            later.extend(self._update_known_versions(world, node, known, validities))
            later.extend(self._void_events(frame.lineage, holes, range(len(known) + 1)))
        for ordinal, version in enumerate(world.versions[len(known) :], len(known) + 1):
            body = self.blobs.position(version.body, frame.lineage)
            details = self.blobs.of_version(version.details, version.seq, frame.lineage)
            born, left = windows[ordinal - 1][0], validities[ordinal - 1]
            stated = self._stated_ends(version)
            if ordinal == 1:
                made.append(ev.Created(frame.lineage, body, details, *born, frame.t_create, stated))
            else:
                later.append(ev.Revised(frame.lineage, body, details, *born, stated))
            losses = list(_loss_events(frame.lineage, ordinal, born, left, version.by))
            if version.by and not losses:
                losses.append(ev.Closed(frame.lineage, ordinal, left.end, version.by))
            later.extend(losses)
            later.extend(self._void_events(frame.lineage, holes, (ordinal,)))
        later.extend(self._aliases(world, node))
        later.extend(self._restated(world, node))
        later.extend(self._marks(world, node))
        here = arriving_statements.Here(self._draft.log, self._tables, self._contents.heading)
        later.extend(arriving_statements.events(here, node, world, self.blobs))

    def _stated_ends(self, version: fr.VersionFrame) -> int:
        """Which ends of a version were stated.

        Releases that did not record it tell when the version was written: one that begins then was not stated.
        """
        if version.stated == ev.UNKNOWN and version.valid_from == self._contents.commits[version.seq].ingest_time:
            return ev.DEFAULTED
        return version.stated

    def _void_events(
        self, lineage: bytes, holes: Sequence[_BundledHole], after: Container[int], *, told: bool = True
    ) -> Iterator[ev.AnyEvent]:
        """The events of holes after the given numbers of versions; with their reasons if ``told``."""
        for hole in holes:
            if hole.after in after:
                details = self.blobs.position(hole.details, lineage) if told else ev.NONE
                if hole.span.is_open:
                    yield ev.Ended(lineage, hole.span.start, details, hole.by)
                else:
                    yield ev.Voided(lineage, hole.span.start, hole.span.end, details)

    def _new_holes(
        self, world: BundledWorld, node: int | None, newer_there: Sequence[times.Interval]
    ) -> tuple[list[_BundledHole], list[times.Interval], list[_BundledHole]]:
        """The holes that only the bundle has, the conflicting holes of this store, and those of the bundle.

        A hole that one side does not know contradicts a version that the other one does not have, if that holds then:
        nobody can say which of the two was said later.
        """
        bundled_holes = _bundled_holes(world)
        if node is None or not (bundled_holes or newer_there):
            return bundled_holes, [], []
        own_holes = [(hole, self.lineages.details(hole)) for hole in self.lineages.history_of(node).holes]
        new_holes: list[_BundledHole] = []
        for hole in bundled_holes:
            same = next((each for each in own_holes if _is_same_hole(hole, *each)), None)
            if same is None or (hole.span.is_open and hole.after > len(world.versions) - len(newer_there)):
                # A version that comes now resumes what had ended here, and was ended after it there.
                new_holes.append(hole)
            if same is not None:
                own_holes.remove(same)
        count = len(world.versions)
        newer_here = [
            asof.version_validity(self._tables, node, ordinal, row, self._draft.seq)
            for ordinal, row in self._tables.version_rows(node)
            if ordinal > count
        ]
        emptied = [hole.span for hole, _ in own_holes if any(window.overlaps(hole.span) for window in newer_there)]
        return new_holes, emptied, [hole for hole in new_holes if any(each.overlaps(hole.span) for each in newer_here)]

    def _add_erased_world(self, world: BundledWorld, node: int, later: list[ev.AnyEvent]) -> None:
        """Add a world whose texts were erased here.

        Its versions come as hashes, since edges name them. One that was written anew here under its key is left as it
        is. One that ended here before, or goes on behind an end of the bundle, takes what its common versions lost.
        """
        lineage = world.frame.lineage
        self.left_erased.append(lineage)
        known = [row for _, row in sorted(self._tables.version_rows(node))]
        told = [(version.body, version.valid_from) for version in world.versions]
        windows = [_written_window(version) for version in world.versions]
        validities = _validities_in_order(windows)
        if [(row.body, row.valid_from) for row in known[: len(told)]] != told[: len(known)]:
            self._gone_apart.add(lineage)
            return
        for ordinal, version in enumerate(world.versions[: len(known)], 1):
            before = asof.version_validity(self._tables, node, ordinal, known[ordinal - 1], self._draft.seq)
            later.extend(_loss_events(lineage, ordinal, before, validities[ordinal - 1], version.by))
        holes, emptied, filled = self._new_holes(world, node, [window for window, _ in windows[len(known) :]])
        if emptied or filled:
            self._gone_apart.add(lineage)
            return
        if len(known) >= len(told):
            # Of what went apart before, the edges have emptied it since, and say by whom.
            holes = [hole for hole in holes if not self._is_empty(node, hole.span)]
        later.extend(self._void_events(lineage, holes, range(len(known) + 1), told=False))
        for ordinal, version in enumerate(world.versions[len(known) :], len(known) + 1):
            body, born = self.blobs.missing_position(version.body, lineage), windows[ordinal - 1][0]
            later.append(ev.Revised(lineage, body, ev.NONE, *born, self._stated_ends(version)))
            later.extend(_loss_events(lineage, ordinal, born, validities[ordinal - 1], version.by))
            later.extend(self._void_events(lineage, holes, (ordinal,), told=False))

    def _is_empty(self, node: int, span: times.Interval) -> bool:
        """True if this store has a hole of a world that covers a span."""
        hole = windows.hole_at(self._draft, node, span.start)
        return hole is not None and hole.span.covers(span)

    def _names_known_version(self, frame: fr.EdgeFrame | fr.ProposalFrame) -> bool:
        """Check that each edge end names a version that exists here; false if a join leaves the edge out.

        Only worlds that diverged after an erasure are checked.
        """
        for lineage, ordinal, body in (
            (frame.source, frame.source_version, frame.source_body),
            (frame.target, frame.target_version, frame.target_body),
        ):
            node = self._tables.node_of(lineage) if lineage in self._gone_apart else None
            if node is not None:
                versions = self._tables.node(node).versions
                if ordinal > versions or self._tables.version(node, ordinal).body != body:
                    if self._is_join and not (isinstance(frame, fr.EdgeFrame) and frame.type == bundle_check.CONTAINS):
                        return False
                    self.conflicts.append(
                        f"an edge names version {ordinal} of {short(lineage)}, which was erased here and differs"
                    )
        return True

    def _check_common_versions(
        self, node: int, lineage: bytes, t_create: int, versions: Sequence[_VersionKey]
    ) -> list[schema.VersionRow]:
        """Check that versions under the same ordinal, here and in the bundle, are equal."""
        row = self._tables.node(node)
        known = [self._tables.version(node, ordinal) for ordinal in range(1, row.versions + 1)]
        if row.t_create != t_create:
            self.conflicts.append(f"{short(lineage)} was created at another time here")
        for ordinal, (here, (body, begins, _)) in enumerate(zip(known, versions, strict=False), 1):
            if (here.body, here.valid_from) != (body, begins):
                self.conflicts.append(
                    f"{short(lineage)} version {ordinal} is {short(here.body)} here and {short(body)} in the bundle"
                )
        return known

    def _update_known_versions(
        self, world: BundledWorld, node: int, known: Sequence[schema.VersionRow], held: Sequence[times.Validity]
    ) -> Iterator[ev.AnyEvent]:
        """Add texts that were missing, and losses that are new."""
        lineage = world.frame.lineage
        filled = False
        for ordinal, (here, version) in enumerate(zip(known, world.versions, strict=False), 1):
            text = self.blobs.text(version.body, lineage)
            before = asof.version_validity(self._tables, node, ordinal, here, self._draft.seq)
            if text is not None and here.body == version.body and self.held.is_absent(here):
                self._draft.blobs.fill(here.seq, here.position, text)
                filled = True
                if before.end < version.valid_to and lineage not in self.ended_before:
                    self.ended_before.append(lineage)
                yield ev.Filled(lineage, ordinal, self.blobs.of_version(version.details, version.seq, lineage))
            yield from _loss_events(lineage, ordinal, before, held[ordinal - 1], version.by)
        if filled:
            self.filled.append(lineage)

    def _aliases(self, world: BundledWorld, node: int | None) -> Iterator[ev.AnyEvent]:
        """Add aliases, counted by name.

        The first of a name is the first here, and any beyond are new.
        """
        here: defaultdict[bytes, list[tuple[int, bool]]] = defaultdict(list)
        number = 0
        for number, row in self._tables.aliases(node) if node is not None else ():
            here[row.name].append((number, row.removed == schema.LIVE))
        met: Counter[bytes] = Counter()
        for alias in world.aliases:
            digest = self._name_digest(alias, alias.position, world.frame.lineage)
            given = here[digest]
            met[digest] += 1
            if met[digest] > len(given):
                number += 1
                details = self.blobs.naming(alias.details, world.frame.lineage)
                yield ev.Named(world.frame.lineage, details, alias.position)
                given.append((number, True))
            known, is_live = given[met[digest] - 1]
            if alias.removed and is_live:
                yield ev.Unnamed(world.frame.lineage, known)
        if number > limits.MAX_ALIASES:
            self.conflicts.append(f"{short(world.frame.lineage)} would have more than {limits.MAX_ALIASES} aliases")

    def _marks(self, world: BundledWorld, node: int | None) -> Iterator[ev.AnyEvent]:
        """Add marks: the later of two deadlines wins, and a mark that was ever changed here stays as it is."""
        lineage = world.frame.lineage
        for deadline in sorted(world.deadlines, key=lambda each: each.at)[-1:]:
            known = None if node is None else next(iter([*mark_rows.deadlines_set(self._tables, node)][-1:]), None)
            if known is None or known.at < deadline.at:
                yield ev.Expires(lineage, deadline.at, deadline.lasts, self.blobs.position(deadline.details, lineage))
        given, number = self._digests_ever_given(node, mark_rows.LABELS)
        for label in world.labels:
            digest = self._name_digest(label, label.position, lineage)
            if digest not in given and number < limits.MAX_LABELS:
                given.add(digest)
                number += 1
                yield ev.Labelled(lineage, self.blobs.position(label.details, lineage), label.position)
        given, number = self._digests_ever_given(node, mark_rows.TAGS)
        for tag in world.tags:
            digest = self._name_digest(tag, 0, lineage)
            if digest not in given and number < limits.MAX_TAGS:
                given.add(digest)
                number += 1
                yield ev.Tagged(lineage, number, tag.number, self.blobs.position(tag.details, lineage))
        was_pinned = node is not None and any(True for _ in mark_rows.pinnings(self._tables, node))
        for pin in world.pins[:1]:
            if not was_pinned:
                yield ev.Pinned(lineage, True, self.blobs.position(pin.details, lineage))
        was_deprecated = node is not None and any(True for _ in mark_rows.deprecations(self._tables, node))
        for said in world.deprecated[:1]:
            if not was_deprecated:
                yield ev.Deprecated(lineage, True, self.blobs.position(said.details, lineage))

    def _digests_ever_given(self, node: int | None, kind: mark_rows.Names) -> tuple[set[bytes], int]:
        """The digests of all labels, or tags, that a world here was ever given, and their number."""
        if node is None:
            return set(), 0
        names = {row.name for _, row in mark_rows.names_of(self._tables, kind, node)}
        return names, mark_rows.count_names_given(self._tables, kind, node)

    def _name_digest(self, frame: fr.AliasFrame | fr.LabelFrame | fr.TagFrame, position: int, lineage: bytes) -> bytes:
        stored = self.blobs.text(frame.details, lineage)
        details = None if stored is None else codec.decode_blob(stored, frame.seq)
        assert isinstance(details, blobs.Details), "the bundle was checked"
        return name_digest(details.aliases[position])

    def _restated(self, world: BundledWorld, node: int | None) -> Iterator[ev.AnyEvent]:
        """Add the restatements of versions, unless the commit that made them first is known."""
        here: Counter[tuple[int, object, object]] = Counter()
        for row in self._tables.restatements(node) if node is not None else ():
            stored = None if row.details == ev.NONE else self._draft.log.blob(row.seq, row.details)
            own = identity_of(self._draft.log, self._tables).hex()
            here[(row.version, *_first_origin(stored, row.seq, own))] += 1
        met: Counter[tuple[int, object, object]] = Counter()
        for frame in world.restated:
            stored = self.blobs.text(frame.details, world.frame.lineage) if frame.details else None
            key = frame.version, *_first_origin(stored, frame.seq, self._contents.heading.store_id.hex())
            met[key] += 1
            if met[key] > here[key]:
                details = self.blobs.of_version(frame.details, frame.seq, world.frame.lineage)
                yield ev.Restated(world.frame.lineage, frame.version, details)

    # -- edges and identity

    def _retractions(self, world: BundledWorld, proposals: set[bytes]) -> Iterator[ev.AnyEvent]:
        for ids in world.retracted:
            for at in range(0, len(ids), HASH_BYTES):
                edge = ids[at : at + HASH_BYTES]
                # An accepted proposal's edge goes with the decision that undid it, if the bundle has that.
                if not self._is_live(edge) or edge in proposals:
                    continue
                yield ev.Unlinked(edge)
                if self._tables.proposal(edge) is not None:
                    # An end has left, so the bundle leaves the proposal out; only an undo retracts its edge.
                    yield ev.Decided(edge, "undone", ev.NONE)

    def _is_live(self, edge: bytes) -> bool:
        place = self._tables.place_of(edge)
        return place is not None and self._tables.edge(place).unlinked == schema.LIVE

    def _was_rejected_here(self, frame: fr.ProposalFrame, told: set[bytes]) -> bool:
        """True if this store's last decision rejected the pair and the bundle does not have that decision.

        What the bundle has accepted is then a conflict; what it has not decided, or has undone, is left out.
        """
        one, other = self._tables.node_of(frame.source), self._tables.node_of(frame.target)
        latest = None if one is None or other is None else rows.latest_proposal(self._tables, one, other)
        rejected = None if latest is None or latest in told else self._tables.proposal(latest)
        if latest is None or rejected is None or rejected.status != schema.REJECTED:
            return False
        decided = frame.decisions[-1][0] if frame.decisions else ""
        known = self._tables.proposal(frame.proposal)
        if decided == "accepted" and (known is None or known.status != schema.ACCEPTED):
            self.conflicts.append(
                f"{short(frame.source)} and {short(frame.target)} are the same in the bundle, by the accepted "
                f"proposal {short(frame.proposal)}, and the proposal {short(latest)} was rejected here"
            )
        if known is None and decided in ("", "undone"):
            self.left_rejected.append(latest)
            return True
        return False

    def _pending_pairs(self, decided: set[bytes]) -> dict[frozenset[bytes], bytes]:
        """The pairs that are pending here, without those that the bundle decides."""
        if not any(not frame.decisions for world in self._contents.worlds for frame in world.proposals):
            return {}
        return {
            frozenset(self._tables.node(end).lineage for end in (row.source, row.target)): proposal
            for proposal, row in self._tables.all_proposals()
            if row.status == schema.PENDING and proposal not in decided
        }

    def _is_already_pending(self, frame: fr.ProposalFrame, waiting: dict[frozenset[bytes], bytes]) -> bool:
        """True if the pair that the bundle proposes is pending here: one proposal is enough."""
        if frame.decisions:
            return False
        first = waiting.setdefault(frozenset((frame.source, frame.target)), frame.proposal)
        if first == frame.proposal or self._tables.proposal(frame.proposal) is not None:
            return False
        self.left_waiting.append(first)
        return True

    def _proposal(self, frame: fr.ProposalFrame, home: bytes) -> Iterator[ev.AnyEvent]:
        row = self._tables.proposal(frame.proposal)
        status = schema.PENDING if row is None else row.status
        if row is None:
            if not self._names_known_version(frame):
                return
            yield ev.Proposed(
                frame.proposal,
                frame.source,
                frame.source_version,
                frame.target,
                frame.target_version,
                home,
                frame.valid_from,
                self.blobs.position(frame.details, frame.proposal),
                frame.nonce,
                frame.handler_version,
            )
        decided = [_STATUSES[decision] for decision, _, _ in frame.decisions]
        if (
            status != schema.PENDING
            and decided
            and status not in decided
            and not (status == schema.UNDONE and decided == [schema.ACCEPTED])
        ):
            self.conflicts.append(f"the proposal {short(frame.proposal)} was decided differently here")
            return
        after = decided.index(status) + 1 if status in decided else 0
        if status == schema.PENDING or status in decided:
            for decision, details, _ in frame.decisions[after:]:
                if decision == "undone" and self._is_live(frame.proposal):
                    yield ev.Unlinked(frame.proposal)
                yield ev.Decided(frame.proposal, decision, self.blobs.position(details, frame.proposal))

    def _is_member_by_other_edge(self, frame: fr.EdgeFrame) -> bool:
        """True if another edge of the bundle makes the same membership at the time of this edge."""
        span = times.Interval(frame.valid_from, frame.born_to)
        put = self._put.setdefault((frame.source, frame.target), [])
        if any(each.overlaps(span) for each in put):
            return True
        put.append(span)
        return False

    def _is_member(self, frame: fr.EdgeFrame) -> bool:
        """True if another edge here already makes the membership, at a common time."""
        source, target = self._tables.node_of(frame.source), self._tables.node_of(frame.target)
        if source is None or target is None:
            return False
        held = times.Interval(frame.valid_from, frame.valid_to)
        return any(
            place.source == source
            and row.unlinked == schema.LIVE
            and asof.edge_validity(self._tables, place, row, self._draft.seq).overlaps(held)
            for place, row in self._tables.incoming(target, schema.CONTAINS_CODE)
        )

    def _is_recorded_contradiction(self, frame: fr.EdgeFrame) -> bool:
        """True if another edge here records the contradiction: each store records a pair when it joins."""
        pair = frozenset((frame.source, frame.target))
        if pair in self._contradicting:
            return True
        self._contradicting.add(pair)
        source, target = self._tables.node_of(frame.source), self._tables.node_of(frame.target)
        code = self._tables.type_code(_CONTRADICTS)
        if source is None or target is None or code is None:
            return False
        ends = ((source, target), (target, source))
        return any(row.target == end for start, end in ends for _, row in self._tables.outgoing(start, code))

    def _edge(self, frame: fr.EdgeFrame, home: bytes, proposals: set[bytes]) -> Iterator[ev.AnyEvent]:
        place = self._tables.place_of(frame.edge)
        if place is not None:
            row = self._tables.edge(place)
            if row.unlinked == schema.LIVE:
                yield from _edge_loss_events(frame, asof.edge_validity(self._tables, place, row, self._draft.seq))
            return
        proposal = self._tables.proposal(frame.edge)
        if proposal is not None and proposal.status in (schema.UNDONE, schema.REJECTED):
            return
        if not self._names_known_version(frame):
            return
        if (
            self._is_join
            and frame.type == _CONTRADICTS
            and not frame.details
            and self._is_recorded_contradiction(frame)
        ):
            return
        if frame.keyed and self._tables.place_of_key(frame.nonce) is not None:
            self.conflicts.append(f"the edge {short(frame.edge)} has the key of another edge here")
        # The edge of a proposal has an id that covers the proposal's details, and says nothing of its own.
        details = ev.NONE if frame.edge in proposals else self.blobs.position(frame.details, frame.edge)
        linked = ev.Linked(
            frame.edge,
            frame.type,
            frame.source,
            frame.source_version,
            frame.target,
            frame.target_version,
            home,
            frame.valid_from,
            frame.born_to,
            details,
            frame.nonce,
            frame.keyed,
            frame.handler_version,
        )
        if frame.type == bundle_check.CONTAINS:
            if self._is_join and (self._is_member(frame) or self._is_member_by_other_edge(frame)):
                return
            self.memberships.append(linked)
        yield linked
        yield from _edge_loss_events(frame, times.Interval(frame.valid_from, frame.born_to))


def _is_same_hole(told: _BundledHole, here: fr.Hole, details: bytes) -> bool:
    """True if a hole in a bundle equals one that is known here; an erased reason counts as equal."""
    return (told.span, told.by) == (here.span, here.by) and (told.details == details or not told.details or not details)


def _describe_hole(span: times.Interval) -> str:
    if span.is_open:
        return "has ended"
    return f"has no valid version from {times.format_time(span.start)} to {times.format_time(span.end)}"


def _hole_conflicts(lineage: bytes, emptied: Sequence[times.Interval], filled: Sequence[_BundledHole]) -> Iterator[str]:
    for span in emptied:
        yield f"{short(lineage)} {_describe_hole(span)} here, and the bundle has a newer version"
    for hole in filled:
        yield f"{short(lineage)} {_describe_hole(hole.span)} in the bundle, and there is a newer version here"


def _edge_loss_events(frame: fr.EdgeFrame, before: times.Validity) -> Iterator[ev.AnyEvent]:
    """The events that reduce the validity of an edge to the bundle's."""
    for span, is_last in _lost_spans(before, fr.validity_of(frame.valid_from, frame.valid_to, frame.spans)):
        if is_last:
            yield ev.EdgeClosed(frame.edge, span.start)
        else:
            yield ev.EdgeLost(frame.edge, span.start, span.end)
