"""Make a hypothetical history, commit by commit: the original without some of its commits.

The engine's own commits (vectors, proposals) are adapted to what is left.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final, NamedTuple

import lmdb
import msgspec

from worlddb.log.model import codec, errors, hashing, ids, limits
from worlddb.log.model import events as ev
from worlddb.log.store import environment, verify
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.log_marks import reclustered_through
from worlddb.projections.tables.reads.asof import find_space
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.commands.commands import Command, Embed, Recluster
from worlddb.reconciler.pipeline import commit
from worlddb.reconciler.replay import carried_commits, event_comparison, recorded_commands
from worlddb.reconciler.replay.redecision import Decider, RecordedNonces
from worlddb.reconciler.transaction.draft import Draft
from worlddb.reconciler.transaction.receipts import REST_FIELDS
from worlddb.reconciler.transaction.recorded_texts import places_of_texts


def fit_command(command: Command, theirs: Tables, log: LmdbLog, ours: Tables) -> Command:
    """The engine's own command, adapted to what is left; other commands are returned unchanged.

    Of vectors, those of texts that are here, under the numbers that their versions have here. Where an earlier commit
    of the same work is not here, it says nothing of how far the work has come.
    """
    if isinstance(command, Embed):
        space = find_space(log, ours, command.space)
        at = 0 if space is None else space.row.through
        command = msgspec.structs.replace(command, items=tuple(_fit_items(command, theirs, ours)))
    elif isinstance(command, Recluster):
        at = reclustered_through(ours)
    else:
        return command
    return msgspec.structs.replace(command, after=at, through=command.through if at == command.after else at)


def _fit_items(command: Embed, theirs: Tables, ours: Tables) -> Iterator[tuple[bytes, int, bytes, int, int]]:
    for lineage, version, values, statements, stated in command.items:
        there, here = theirs.node_of(lineage), ours.node_of(lineage)
        if there is not None and here is not None:
            body = theirs.version(there, version).body
            number = next((number for number, row in ours.version_rows(here) if row.body == body), None)
            if number is not None:
                yield lineage, number, values, statements, stated


_LISTED: Final = 20
"""How many commits are named in words."""


class LeftOutCommits(NamedTuple):
    """The commits to leave out: by number, or all of some authors."""

    commits: frozenset[int]
    authors: frozenset[str]

    def covers(self, header: codec.Header) -> bool:
        """True if a commit should be left out."""
        return header.seq in self.commits or header.author in self.authors

    def __str__(self) -> str:
        numbers = [str(seq) for seq in sorted(self.commits)]
        more = [f"{len(numbers) - _LISTED:,} more"] if len(numbers) > _LISTED else []
        said = [f"commit{'s' * (len(numbers) > 1)} {', '.join(numbers[:_LISTED] + more)}"] if numbers else []
        said += [f"author {author!r}" for author in sorted(self.authors)]
        return "without " + " and without ".join(said)


def left_out(commits: object, authors: object) -> LeftOutCommits | None:
    """Parse which commits a caller wants to leave out.

    That is numbers of commits, and one name or several; ``None`` for nothing.

    Raises:
        InputError: one of them is something else.
    """
    if isinstance(commits, str | bytes) or not isinstance(commits, Iterable):
        raise errors.InputError(f"without is {type(commits).__name__}", "Give the numbers of commits: without=[7, 9]")
    named = [authors] if isinstance(authors, str) else authors
    if not isinstance(named, Iterable) or isinstance(named, bytes):
        raise errors.InputError(f"without_author is {type(named).__name__}", "Give a name, or a list of them")
    numbers = frozenset(limits.checked_number(seq, "without", 1, limits.HIGHEST_SEQ) for seq in commits)
    names = frozenset(
        limits.checked_text(name, "without_author", limits.MAX_AUTHOR_BYTES, empty=False) for name in named
    )
    return LeftOutCommits(numbers, names) if numbers or names else None


class HypotheticalHistory:
    """Builds a hypothetical history; it carries state from one commit to the next."""

    def __init__(
        self,
        source: environment.Environment,
        target: environment.Environment,
        until: int,
        first: int,
        without: LeftOutCommits,
        decider: Decider,
    ) -> None:
        self._source = source
        self._first = first
        self._without = without
        self._decider = decider
        self._keys = recorded_commands.EdgeKeys(decider.secret)
        self._renamed: dict[bytes, bytes] = {}
        """Edges and proposals whose ids are others here."""
        self._aligned: set[int] = set()
        """Later commits whose blobs have the positions that they have in the original."""
        self._missing: set[int] = set()
        """Commits that are not here."""
        with source.read() as reading:
            log = LmdbLog(reading)
            for seq in range(1, first):
                self._keys.learn(log.events(seq))
            self._original = log.chain(until)
            told = codec.encode([sorted(without.commits), sorted(without.authors)])
            self.store_id = hashing.keyed(decider.secret, hashing.SUPPOSED, self._original, told)[: ids.LINEAGE_BYTES]
            self.sentence = f"the history up to commit {until} {without}"

    def apply_commits(
        self, begin: int, upto: int, txn: lmdb.Transaction
    ) -> tuple[int, list[event_comparison.Redecision]]:
        """Apply some more commits; returns how many came out the same, and the others."""
        same = 0
        found: list[event_comparison.Redecision] = []
        with self._source.read() as reading:
            log, tables = LmdbLog(reading), Tables(reading)
            for seq in range(begin, upto + 1):
                verify.require_intact(log, seq)
                then = _OriginalCommit(log, tables, log.header(seq), log.events(seq))
                other = self._commit(then, txn)
                self._keys.learn(then.events)
                same += other is None
                found.extend([] if other is None else [other])
        return same, found

    def _commit(self, then: _OriginalCommit, txn: lmdb.Transaction) -> event_comparison.Redecision | None:
        """Apply a commit of the original; ``None`` if it comes out the same."""
        recorded = event_comparison.recorded_decision(then.log, then.header, then.events)
        if erases(then.events):
            return self._erase(then, txn, recorded)
        if self._without.covers(then.header):
            return self._commit_placeholder(then, txn, recorded, "asked")
        decided = self._decide(then, txn)
        if isinstance(decided, recorded_commands.Undecidable):
            return self._commit_as_decided(then, txn, recorded, decided)
        if isinstance(decided, outcome.Refused):
            refused = msgspec.structs.replace(
                recorded, code=decided.code, reason=decided.reason, command=decided.command
            )
            return self._commit_placeholder(then, txn, refused, "refused")
        draft, unkept = decided
        difference = event_comparison.compare_decisions(recorded, draft)
        if not draft.events:
            unchanged = msgspec.structs.replace(recorded, reason="Everything is so already")
            return self._commit_placeholder(then, txn, unchanged, "unchanged")
        commit(None, draft.log, draft.tables, draft, then.header.key)
        self._learn_renamed_ids(then.events, draft)
        if difference is not None and unkept:
            reason = f"What was said beside it was not kept, because nothing came of it: {', '.join(unkept)}"
            return msgspec.structs.replace(difference, reason=reason)
        return difference

    def _decide(
        self, then: _OriginalCommit, txn: lmdb.Transaction
    ) -> tuple[Draft, tuple[str, ...]] | outcome.Refused | recorded_commands.Undecidable:
        """Decide a commit again on this history; also returns what was not recorded of it."""
        seq = then.header.seq
        restored = recorded_commands.restore_commands(
            then.log, then.tables, seq, then.events, self._keys, self._renamed
        )
        if isinstance(restored, recorded_commands.Undecidable):
            return restored
        log, tables = LmdbLog(txn), Tables(txn)
        commands = [fit_command(each, then.tables, log, tables) for each in restored.commands]
        made = self._decider.decide(log, tables, log.head(), then.header, commands, self._nonces(then))
        if isinstance(made, Draft):
            return made, restored.unkept
        if isinstance(made, outcome.Refused) and made.code == errors.UnknownReference.code:
            makers = sorted(set(_creating_commits(then.tables, restored.commands)) & self._missing)
            if makers:
                made = msgspec.structs.replace(
                    made, reason=f"{made.reason}: {_describe_commits(makers)} made it, and is left out"
                )
        return made

    def _commit_placeholder(
        self, then: _OriginalCommit, txn: lmdb.Transaction, redecision: event_comparison.Redecision, because: ev.Because
    ) -> event_comparison.Redecision:
        """Put a placeholder commit in the place of one that is left out."""
        draft = self._draft(then, txn)
        if then.header.seq == self._first:
            left = {"commits": sorted(self._without.commits), "authors": sorted(self._without.authors)}
            details = draft.add_details(why=self.sentence, properties={"without": left})
            draft.emit(ev.Supposed(self.store_id, self._original, details))
        placeholder_details = draft.add_details(
            why=redecision.reason, properties={"code": redecision.code} if redecision.code else None
        )
        draft.emit(ev.LeftOut(then.chain, because, placeholder_details))
        commit(None, draft.log, draft.tables, draft, b"")
        self._missing.add(then.header.seq)
        return msgspec.structs.replace(redecision, now="left_out" if because == "asked" else because)

    def _commit_as_decided(
        self,
        then: _OriginalCommit,
        txn: lmdb.Transaction,
        redecision: event_comparison.Redecision,
        why: recorded_commands.Undecidable,
    ) -> event_comparison.Redecision:
        """Carry over a commit that cannot be decided again, if it fits."""
        redecision = msgspec.structs.replace(redecision, code=why.code, reason=why.reason)
        problem = carried_commits.find_misfit(then.events, then.tables, Tables(txn), then.header.seq)
        if problem:
            redecision = msgspec.structs.replace(redecision, reason=f"{why.reason}; and {problem}")
            return self._commit_placeholder(then, txn, redecision, "undecidable")
        draft = self._draft(then, txn)
        absent = carried_commits.carry_over(then.log, then.header.seq, then.events, draft)
        details = draft.add_details(why=why.reason, properties={"code": why.code})
        draft.emit(ev.TakenOver(then.chain, details, absent))
        commit(None, draft.log, draft.tables, draft, then.header.key)
        self._aligned.add(then.header.seq)
        return msgspec.structs.replace(redecision, now="taken_over", events_then=())

    def _erase(
        self, then: _OriginalCommit, txn: lmdb.Transaction, redecision: event_comparison.Redecision
    ) -> event_comparison.Redecision | None:
        """Erase what the original erased: its texts cannot come back in any history."""
        log, tables = LmdbLog(txn), Tables(txn)
        erased_places: defaultdict[bytes, list[tuple[int, int]]] = defaultdict(list)
        struck: set[bytes] = set()
        for event in then.events.events:
            if isinstance(event, ev.Erased | ev.Struck):
                erased_places[event.lineage] += event.blobs
                struck |= {event.lineage} if isinstance(event, ev.Struck) else set()
        nodes = {lineage: node for lineage in erased_places if (node := tables.node_of(lineage)) is not None}
        wholly_erased = [node for lineage, node in nodes.items() if lineage not in struck]
        present = places_of_texts(log, tables, log.head().seq, wholly_erased)
        places = {
            lineage: sorted(
                {
                    *(place for place in erased_places[lineage] if self._has_same_positions(place[0])),
                    *present.get(node, ()),
                }
            )
            for lineage, node in nodes.items()
        }
        reason = "It erased texts, which cannot be looked for again"
        if self._without.covers(then.header):
            reason = "It was to be left out, but what it erased cannot come back"
        redecision = msgspec.structs.replace(redecision, code="erasure", reason=reason)
        kinds = ev.ErasedElsewhere | ev.StruckElsewhere
        if not places and not any(isinstance(event, kinds) for event in then.events.events):
            return self._commit_placeholder(then, txn, redecision, "unchanged")
        draft = self._draft(then, txn)
        carried_commits.repeat_erasures(then.log, then.header.seq, then.events, draft, places)
        carried_commits.repeat_foreign_erasures(then.log, then.header.seq, then.events, draft, self._has_same_positions)
        commit(None, draft.log, draft.tables, draft, then.header.key)
        return msgspec.structs.replace(redecision, now="taken_over", events_then=())

    def _has_same_positions(self, seq: int) -> bool:
        """True if a commit has its blobs at the same positions as in the original."""
        return seq < self._first or seq in self._aligned

    def _draft(self, then: _OriginalCommit, txn: lmdb.Transaction) -> Draft:
        """A draft that takes the place of a commit, with its author and times."""
        log, header = LmdbLog(txn), then.header
        return Draft(
            log,
            Tables(txn),
            log.head(),
            self._nonces(then),
            ingest_time=header.ingest_time,
            wall_time=header.wall_time,
            author=header.author,
        )

    def _nonces(self, then: _OriginalCommit) -> RecordedNonces:
        return RecordedNonces(then.log, then.header.seq, then.events, self._decider.secret)

    def _learn_renamed_ids(self, events: codec.Events, draft: Draft) -> None:
        """Record which edges, proposals and worlds created by handlers have other ids here.

        They are matched as those between the same worlds, in the same order.
        """
        here: defaultdict[tuple[object, ...], deque[bytes]] = defaultdict(deque)
        for kind, identifier in _new_identities(draft.events, set(draft.refs)):
            here[kind].append(identifier)
        for kind, identifier in _new_identities(events.events, set(events.refs)):
            if here[kind] and (other := here[kind].popleft()) != identifier:
                self._renamed[identifier] = other
        for theirs, ours in zip(events.refs, draft.refs, strict=False):
            if len(theirs) == len(ours) == ids.HASH_BYTES and theirs != ours:
                self._renamed[theirs] = ours


class _OriginalCommit(NamedTuple):
    """A commit of the original, with the original's log and tables."""

    log: LmdbLog
    tables: Tables
    header: codec.Header
    events: codec.Events

    @property
    def chain(self) -> bytes:
        return self.log.chain(self.header.seq)


def erases(events: codec.Events) -> bool:
    """True if a commit erased texts, or records that they were erased elsewhere."""
    # What comes from elsewhere, or into a fork, without a text says so in its own commit.
    return any(
        isinstance(event, ev.ErasureEvent) and (not isinstance(event, ev.Struck) or event.details != ev.NONE)
        for event in events.events
    )


def _new_identities(events: Iterable[ev.Event], refs: Set[bytes]) -> Iterator[tuple[tuple[object, ...], bytes]]:
    """The new edges and proposals, by their ends, and the worlds that handlers created."""
    for event in events:
        if isinstance(event, ev.Linked):
            yield (event.type, event.source, event.target, event.home), event.edge
        elif isinstance(event, ev.Proposed):
            yield ("", event.source, event.target, event.home), event.proposal
        elif isinstance(event, ev.Created) and event.lineage not in refs:
            yield ("created",), event.lineage


def _creating_commits(tables: Tables, commands: Sequence[cmd.Command]) -> Iterator[int]:
    """The commits that created what commands refer to."""
    for command in commands:
        for name in REST_FIELDS[type(command)]:
            value = getattr(command, name)
            for ref in value if isinstance(value, tuple) else (value,):
                if isinstance(ref, bytes) and len(ref) == ids.LINEAGE_BYTES:
                    node = tables.node_of(ref)
                    yield 0 if node is None else tables.node(node).created
                elif isinstance(ref, bytes) and len(ref) == ids.HASH_BYTES:
                    place, proposal = tables.place_of(ref), tables.proposal(ref)
                    yield 0 if place is None else tables.edge(place).seq
                    yield 0 if proposal is None else proposal.seq


def _describe_commits(seqs: Sequence[int]) -> str:
    """Describe commits in words."""
    more = f" and {len(seqs) - _LISTED:,} more" if len(seqs) > _LISTED else ""
    return f"commit{'s' * (len(seqs) > 1)} {', '.join(map(str, seqs[:_LISTED]))}{more}"
