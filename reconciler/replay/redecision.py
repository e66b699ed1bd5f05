"""Decide the commands of commits again, each on a given state and at its own time.

What is decided as before gets its recorded nonces, and so the same ids. A redecision of a whole log is a dry run that
only compares: the state grows in scratch tables from the recorded events, so that one difference does not cause others.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import lmdb
import msgspec

from worlddb.log.model import blobs, codec, errors, hashing, ids
from worlddb.log.model import events as ev
from worlddb.log.model.codec import Events
from worlddb.log.store import environment, scratch, verify
from worlddb.log.store.log import Head, LmdbLog
from worlddb.projections.runner import Progress, apply_commit, collector_paused
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.commands.commands import Create, Reassert
from worlddb.reconciler.commands.outcome import Refused
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.reconciler.pipeline import reconcile, resolve
from worlddb.reconciler.replay import event_comparison, recorded_commands
from worlddb.reconciler.replay.recorded_commands import Undecidable
from worlddb.reconciler.similarity.verdict import StoreThresholds
from worlddb.reconciler.transaction.context import Context
from worlddb.reconciler.transaction.draft import Draft, Nonces

_UNDECIDABLE: Final = {"missing_handler": "handler", "other_handler": "handler", "erased": "erased"}
"""Refusals that say that something is not here now, and not that the command would have been refused then."""


class Decider(NamedTuple):
    """Decides recorded commands again: handlers, thresholds, and the store's secret."""

    ontology: Ontology
    resolving: StoreThresholds
    secret: bytes

    def decide(
        self,
        log: LmdbLog,
        tables: Tables,
        head: Head,
        header: codec.Header,
        commands: Sequence[cmd.Command],
        nonces: Nonces,
    ) -> Draft | outcome.Refused | Undecidable:
        """Decide commands on top of ``head``, with the author and at the time of ``header``.

        The draft's events are in ``tables`` and in nothing else until these are flushed.
        """
        draft = Draft(
            log,
            tables,
            head,
            nonces,
            ingest_time=header.ingest_time,
            wall_time=header.wall_time,
            author=header.author,
        )
        ctx = Context(draft, self.ontology, self.secret)
        ctx.request = commands
        for position, command in enumerate(commands):
            try:
                reconcile(ctx, command, resolve(ctx, command, self.resolving))
            except outcome.Refusal as refusal:
                if refusal.code in _UNDECIDABLE:
                    return Undecidable(_UNDECIDABLE[refusal.code], str(refusal))
                return outcome.Refused(refusal.code, str(refusal), refusal.remedy, position)
            except errors.InputError as error:
                return outcome.Refused(error.code, error.message, error.remedy, position)
        return draft


class RecordedNonces:
    """Gives each text, edge or lineage of a recorded commit the nonce that it had.

    For what the commit does not have, nonces are derived from its chain hash under the store's secret, so that
    deciding twice gives the same ids twice.
    """

    def __init__(self, log: LmdbLog, seq: int, events: codec.Events, secret: bytes) -> None:
        self._chain = log.chain(seq)
        self._secret = secret
        self._derived = 0
        self._known: defaultdict[bytes, deque[bytes]] = defaultdict(deque)
        bodies = {position: self._learn_blob(log, seq, position, events) for position in range(events.blob_count)}
        asked_for = set(events.refs)
        for event in events.events:
            if isinstance(event, ev.Created) and event.lineage not in asked_for:
                body = bodies.get(event.body)
                if isinstance(body, blobs.Body):
                    self._learn_nonce(event.lineage, "derived", body.type, body.name, body.content)
            elif isinstance(event, ev.Linked) and not event.keyed:
                self._learn_nonce(event.nonce, "edge", event.type, event.source, event.target, event.home)
            elif isinstance(event, ev.Proposed):
                self._learn_nonce(event.nonce, "edge", "same_as", event.source, event.target, event.home)

    def nonce(self, *what: object) -> bytes:
        known = self._known.get(codec.encode(what))
        if known:
            return known.popleft()
        self._derived += 1
        return hashing.keyed(self._secret, hashing.SUPPOSED, self._chain, self._derived.to_bytes(8, "big"))[
            : ids.NONCE_BYTES
        ]

    def _learn_nonce(self, nonce: bytes, *what: object) -> None:
        self._known[codec.encode(what)].append(nonce)

    def _learn_blob(self, log: LmdbLog, seq: int, position: int, events: codec.Events) -> blobs.Blob | None:
        stored = log.blob(seq, position)
        blob = None if stored is None else codec.decode_blob(stored, seq)
        if isinstance(blob, blobs.Body):
            self._learn_nonce(blob.nonce, "body", blob.type, blob.name, blob.content)
        elif isinstance(blob, blobs.Details):
            self._learn_nonce(blob.nonce, "details", (blob.aliases, blob.why, blob.source, blob.properties))
        elif isinstance(blob, blobs.Vector):
            self._learn_nonce(blob.nonce, "vector", blob.values)
        elif isinstance(blob, blobs.Space):
            self._learn_nonce(blob.nonce, "space")
        elif isinstance(blob, blobs.Cause):
            self._learn_nonce(blob.nonce, "commands")
            for at, (entry, ref) in enumerate(zip(blob.commands, events.refs, strict=False)):
                if entry[0] in (Create.CODE, Reassert.CODE):
                    self._learn_nonce(ref, "lineage", at)
        return blob


CHUNK_COMMITS: Final = 64
"""How many commits are decided in one transaction of the scratch tables."""


class Redecided(msgspec.Struct, frozen=True, kw_only=True):
    """The result of deciding a history again: commits the same, differing, and undecidable."""

    first: int
    last: int
    same: int
    differing: tuple[event_comparison.Redecision, ...]
    undecidable: tuple[event_comparison.Redecision, ...]


def redecide(
    source: environment.Environment, decider: Decider, first: int, last: int, progress: Progress | None = None
) -> Redecided:
    """Decide commits ``first`` to ``last`` again.

    The commit that made the store had no commands and is left out.

    Raises:
        DamagedStore: a commit is not what was written.
        UnavailableError: no scratch tables can be written into the store's directory.
    """
    return scratch.run_with_tables(
        source.folder, lambda folder: _redecide_in_folder(folder, source, decider, first, last, progress)
    )


def _redecide_in_folder(
    folder: Path,
    source: environment.Environment,
    decider: Decider,
    first: int,
    last: int,
    progress: Progress | None,
) -> Redecided:
    same_count = 0
    differences: list[event_comparison.Redecision] = []
    keys = recorded_commands.EdgeKeys(decider.secret)
    tables = environment.Environment(folder, author="redecide", timeout_seconds=5.0)
    try:
        with collector_paused(is_much=True):
            for begin in range(1, last + 1, CHUNK_COMMITS):
                upto = min(begin + CHUNK_COMMITS - 1, last)
                work = partial(_decide_some, source, decider, keys, (begin, upto), max(first, 2))
                unchanged, others = tables.write(work)
                same_count += unchanged
                differences.extend(others)
                if progress is not None:
                    progress(upto, last)
    finally:
        tables.close()
    return Redecided(
        first=max(first, 2),
        last=last,
        same=same_count,
        differing=tuple(each for each in differences if each.now != "undecidable"),
        undecidable=tuple(each for each in differences if each.now == "undecidable"),
    )


def _decide_some(
    source: environment.Environment,
    decider: Decider,
    keys: recorded_commands.EdgeKeys,
    span: tuple[int, int],
    first: int,
    txn: lmdb.Transaction,
) -> tuple[int, list[event_comparison.Redecision]]:
    """Decide some commits again, and count those that come out the same.

    Also gives those that do not; the tables then have what was decided.
    """
    same_count = 0
    differences: list[event_comparison.Redecision] = []
    with source.read() as reading:
        log, whole_tables = LmdbLog(reading), Tables(reading)
        for seq in range(span[0], span[1] + 1):
            verify.require_intact(log, seq)
            events = log.events(seq)
            if seq >= first:
                # What is decided now stays in memory, and goes with these tables.
                difference = _redecide_commit(log, whole_tables, Tables(txn), seq, events, decider, keys)
                same_count += difference is None
                differences.extend([] if difference is None else [difference])
            keys.learn(events)
            tables = Tables(txn)
            apply_commit(log, tables, seq)
            tables.flush()
    return same_count, differences


def _redecide_commit(
    log: LmdbLog,
    whole_tables: Tables,
    tables: Tables,
    seq: int,
    events: Events,
    decider: Decider,
    keys: recorded_commands.EdgeKeys,
) -> event_comparison.Redecision | None:
    """The redecision of commit ``seq``, if it differs from the recorded decision."""
    header = log.header(seq)
    recorded = event_comparison.recorded_decision(log, header, events)
    redecided: recorded_commands.RestoredCommands | recorded_commands.Undecidable | Refused | Draft = (
        recorded_commands.restore_commands(log, whole_tables, seq, events, keys)
    )
    if isinstance(redecided, recorded_commands.RestoredCommands):
        nonces = RecordedNonces(log, seq, events, decider.secret)
        head = Head(seq - 1, log.chain(seq - 1))
        redecided = decider.decide(log, tables, head, header, redecided.commands, nonces)
    if isinstance(redecided, Draft):
        return event_comparison.compare_decisions(recorded, redecided)
    if isinstance(redecided, recorded_commands.Undecidable):
        return msgspec.structs.replace(
            recorded, now="undecidable", code=redecided.code, reason=redecided.reason, events_then=()
        )
    return msgspec.structs.replace(
        recorded, now="refused", code=redecided.code, reason=redecided.reason, command=redecided.command
    )
