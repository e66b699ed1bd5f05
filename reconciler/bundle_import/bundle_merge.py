"""Compare a bundle with this store, and decide the events it comes to.

The events are those of its new worlds, edges and proposals. Both stores may have gone on since they had a world in
common. What only the bundle knows is added, what only this store knows stays. What contradicts (another version under
the same ordinal) is a conflict; all conflicts are listed. Texts that are missing here were either erased or never came,
and the two are told apart.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from worlddb.log.model import blobs, bundle_check, codec, limits
from worlddb.log.model import bundle as fr
from worlddb.log.model import events as ev
from worlddb.log.model.events import Imported
from worlddb.log.model.ids import HASH_BYTES, short
from worlddb.log.store.bundle_contents import BundledWorld, Contents
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.storage import proposal_rows, schema
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.bundle_import.import_blobs import IncomingBlobs
from worlddb.reconciler.transaction.draft import Draft


class MissingTexts:
    """Which texts are missing: blobs erased here, and blobs of which only the hash came."""

    def __init__(self, log: LmdbLog, tables: Tables) -> None:
        self._log = log
        self._tables = tables
        self._absent: dict[int, frozenset[int]] = {}

    def is_absent(self, row: schema.VersionRow) -> bool:
        """True if the text of a version is not here and was not here when the version was imported."""
        return self._log.blob(row.seq, row.position) is None and row.position in self._absent_in(row.seq)

    def is_erased(self, node: int) -> bool:
        """True if a text of a world was here and is not any more, or may not come."""
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
            found = frozenset(at for event in events if isinstance(event, Imported) for at in event.absent)
            self._absent[seq] = found
        return found


_STATUSES: Final[dict[ev.Decision, int]] = {
    "accepted": schema.ACCEPTED,
    "rejected": schema.REJECTED,
    "undone": schema.UNDONE,
}
_Body = tuple[bytes, int, int]
"""A version as both a group and an outside frame tell it: body id, ``valid_from``, ``valid_to``."""


class BundleMerge:
    """Collects the events that a bundle comes to on the present tables, and writes none of them."""

    def __init__(self, draft: Draft, contents: Contents) -> None:
        self._draft = draft
        self._tables = draft.tables
        self._contents = contents
        self.held = MissingTexts(draft.log, draft.tables)
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
        self.memberships: list[ev.Linked] = []
        self._gone_apart: set[bytes] = set()

    def events(self) -> list[ev.AnyEvent]:
        """The events, each after the ones that it refers to."""
        worlds = sorted(self._contents.worlds, key=lambda world: world.frame.order)
        made: list[ev.AnyEvent] = []
        later: list[ev.AnyEvent] = []
        for outside in self._contents.outside:
            self._outside(outside, made, later)
        for world in worlds:
            self._world(world, made, later)
        proposals = [(frame, world) for world in worlds for frame in world.proposals]
        told = {frame.proposal for frame, _ in proposals}
        waiting = self._waiting({frame.proposal for frame, _ in proposals if frame.decisions})
        for world in worlds:
            later.extend(self._retractions(world, told))
        for frame, world in sorted(proposals, key=lambda each: each[0].order):
            if not self._was_rejected_here(frame, told) and not self._waits_already(frame, waiting):
                later.extend(self._proposal(frame, world.frame.lineage))
        edges = [(frame, world) for world in worlds for frame in world.edges]
        for edge, world in sorted(edges, key=lambda each: each[0].order):
            later.extend(self._edge(edge, world.frame.lineage, told))
        return [*made, *later]

    # -- worlds

    def _outside(self, frame: fr.OutsideFrame, made: list[ev.AnyEvent], later: list[ev.AnyEvent]) -> None:
        """Add a world that is known by reference only, unless it is here already."""
        node = self._tables.node_of(frame.lineage)
        if node is None:
            self.stubs.append(frame.lineage)
            begun = 0
        else:
            rows = self._same_so_far(node, frame.lineage, frame.t_create, frame.versions)
            begun = len(rows)
            if begun < len(frame.versions) and not self.held.is_absent(rows[-1]):
                self.conflicts.append(
                    f"{short(frame.lineage)} is at version {begun} here, and an edge names version"
                    f" {len(frame.versions)}: import a bundle that holds it first"
                )
                return
        for ordinal, (body, begins, ends) in enumerate(frame.versions[begun:], begun + 1):
            position = self.blobs.nothing_but(body)
            if ordinal == 1:
                made.append(ev.Created(frame.lineage, position, ev.NONE, begins, ends, frame.t_create))
            else:
                later.append(ev.Revised(frame.lineage, position, ev.NONE, begins, ends))

    def _world(self, world: BundledWorld, made: list[ev.AnyEvent], later: list[ev.AnyEvent]) -> None:
        frame = world.frame
        if any(self.blobs.text(version.body) is None for version in world.versions):
            self.without_text.append(frame.lineage)
        node = self._tables.node_of(frame.lineage)
        known: Sequence[schema.VersionRow] = ()
        if node is not None:
            if self.held.is_erased(node):
                self._erased_world(world, node, later)
                return
            told = [(version.body, version.valid_from, version.valid_to) for version in world.versions]
            known = self._same_so_far(node, frame.lineage, frame.t_create, told)
            later.extend(self._known_versions(world, known))
            if self._tables.node(node).ended and len(world.versions) > len(known):
                self.conflicts.append(f"{short(frame.lineage)} has ended here, and has a newer version in the bundle")
            elif world.ended and len(known) > len(world.versions):
                self.conflicts.append(f"{short(frame.lineage)} has ended in the bundle, and has a newer version here")
        for ordinal, version in enumerate(world.versions[len(known) :], len(known) + 1):
            body = self.blobs.position(version.body)
            details = self.blobs.of_version(version.details, version.seq)
            born = (version.valid_from, version.born_to)
            if ordinal == 1:
                made.append(ev.Created(frame.lineage, body, details, *born, frame.t_create))
            else:
                later.append(ev.Revised(frame.lineage, body, details, *born))
            if version.valid_to < version.born_to or version.by:
                later.append(ev.Closed(frame.lineage, ordinal, version.valid_to, version.by))
        later.extend(self._aliases(world, node))
        for ended in world.ended:
            if node is None or not self._tables.node(node).ended:
                details = self.blobs.position(ended.details)
                later.append(ev.Ended(frame.lineage, ended.at, details, ended.by))

    def _erased_world(self, world: BundledWorld, node: int, later: list[ev.AnyEvent]) -> None:
        """Add a world whose texts were erased here.

        Its versions come as hashes, since edges name them. One that was written anew here under its key, or that ended
        here before, is left as it is.
        """
        lineage, has_ended = world.frame.lineage, bool(self._tables.node(node).ended)
        self.left_erased.append(lineage)
        known = [row for _, row in sorted(self._tables.version_rows(node))]
        told = [(version.body, version.valid_from) for version in world.versions]
        newer, older = len(told) > len(known), len(told) < len(known)
        if (
            [(row.body, row.valid_from) for row in known[: len(told)]] != told[: len(known)]
            or (newer and has_ended)
            or (older and world.ended)
        ):
            self._gone_apart.add(lineage)
            return
        for ordinal, version in enumerate(world.versions, 1):
            ends = known[ordinal - 1].valid_to if ordinal <= len(known) else version.born_to
            if ordinal > len(known):
                body = self.blobs.nothing_but(version.body)
                later.append(ev.Revised(lineage, body, ev.NONE, version.valid_from, version.born_to))
            if version.valid_to < ends:
                later.append(ev.Closed(lineage, ordinal, version.valid_to, version.by))
        later.extend(ev.Ended(lineage, ended.at, ev.NONE, ended.by) for ended in world.ended if not has_ended)

    def _names_what_is_here(self, frame: fr.EdgeFrame | fr.ProposalFrame) -> None:
        """Check that an edge end names a version that is here.

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
                    self.conflicts.append(
                        f"an edge names version {ordinal} of {short(lineage)}, which was erased here and is another"
                    )

    def _same_so_far(
        self, node: int, lineage: bytes, t_create: int, versions: Sequence[_Body]
    ) -> list[schema.VersionRow]:
        """Check that versions with one ordinal, here and in the bundle, are the same."""
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

    def _known_versions(self, world: BundledWorld, known: Sequence[schema.VersionRow]) -> Iterator[ev.AnyEvent]:
        """Take in texts that were missing, and ends that have come."""
        lineage = world.frame.lineage
        filled = False
        for ordinal, (here, version) in enumerate(zip(known, world.versions, strict=False), 1):
            text = self.blobs.text(version.body)
            if text is not None and here.body == version.body and self.held.is_absent(here):
                self._draft.blobs.fill(here.seq, here.position, text)
                filled = True
                if here.valid_to < version.valid_to and lineage not in self.ended_before:
                    self.ended_before.append(lineage)
                yield ev.Filled(lineage, ordinal, self.blobs.of_version(version.details, version.seq))
            if version.valid_to < here.valid_to:
                yield ev.Closed(lineage, ordinal, version.valid_to, version.by)
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
            stored = self.blobs.text(alias.details)
            details = None if stored is None else codec.decode_blob(stored, alias.seq)
            assert isinstance(details, blobs.Details), "the bundle was checked"
            digest = name_digest(details.aliases[alias.position])
            given = here[digest]
            met[digest] += 1
            if met[digest] > len(given):
                number += 1
                yield ev.Named(world.frame.lineage, self.blobs.naming(alias.details), alias.position)
                given.append((number, True))
            known, is_live = given[met[digest] - 1]
            if alias.removed and is_live:
                yield ev.Unnamed(world.frame.lineage, known)
        if number > limits.MAX_ALIASES:
            self.conflicts.append(f"{short(world.frame.lineage)} would have more than {limits.MAX_ALIASES} aliases")

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
        """True if this store's last decision rejected the pair and the bundle does not know of it.

        What the bundle has accepted is then a conflict; what it has not decided, or has undone, is left out.
        """
        one, other = self._tables.node_of(frame.source), self._tables.node_of(frame.target)
        latest = None if one is None or other is None else proposal_rows.latest_about(self._tables, one, other)
        rejected = None if latest is None or latest in told else self._tables.proposal(latest)
        if latest is None or rejected is None or rejected.status != schema.REJECTED:
            return False
        decided = frame.decisions[-1][0] if frame.decisions else ""
        known = self._tables.proposal(frame.proposal)
        if decided == "accepted" and (known is None or known.status != schema.ACCEPTED):
            self.conflicts.append(
                f"{short(frame.source)} and {short(frame.target)} are one in the bundle, where {short(frame.proposal)}"
                f" was accepted, and were rejected as one here as {short(latest)}"
            )
        if known is None and decided in ("", "undone"):
            self.left_rejected.append(latest)
            return True
        return False

    def _waiting(self, decided: set[bytes]) -> dict[frozenset[bytes], bytes]:
        """The pairs that are pending here, without those that the bundle decides."""
        if not any(not frame.decisions for world in self._contents.worlds for frame in world.proposals):
            return {}
        return {
            frozenset(self._tables.node(end).lineage for end in (row.source, row.target)): proposal
            for proposal, row in self._tables.all_proposals()
            if row.status == schema.PENDING and proposal not in decided
        }

    def _waits_already(self, frame: fr.ProposalFrame, waiting: dict[frozenset[bytes], bytes]) -> bool:
        """True if the bundle proposes a pair that is pending here: one proposal is enough."""
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
            self._names_what_is_here(frame)
            yield ev.Proposed(
                frame.proposal,
                frame.source,
                frame.source_version,
                frame.target,
                frame.target_version,
                home,
                frame.valid_from,
                self.blobs.position(frame.details),
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
                yield ev.Decided(frame.proposal, decision, self.blobs.position(details))

    def _edge(self, frame: fr.EdgeFrame, home: bytes, proposals: set[bytes]) -> Iterator[ev.AnyEvent]:
        place = self._tables.place_of(frame.edge)
        if place is not None:
            row = self._tables.edge(place)
            if row.unlinked == schema.LIVE and frame.valid_to < row.valid_to:
                yield ev.EdgeClosed(frame.edge, frame.valid_to)
            return
        proposal = self._tables.proposal(frame.edge)
        if proposal is not None and proposal.status in (schema.UNDONE, schema.REJECTED):
            return
        self._names_what_is_here(frame)
        if frame.keyed and self._tables.place_of_key(frame.nonce) is not None:
            self.conflicts.append(f"the edge {short(frame.edge)} has the key of another edge that is here")
        # The edge of a proposal has an id that covers the proposal's details, and says nothing of its own.
        details = ev.NONE if frame.edge in proposals else self.blobs.position(frame.details)
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
            self.memberships.append(linked)
        yield linked
        if frame.valid_to < frame.born_to:
            yield ev.EdgeClosed(frame.edge, frame.valid_to)
