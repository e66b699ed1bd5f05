"""Decide the commands of a commit again, on a given state, at the commit's own time.

Whatever is decided as it was then gets the nonces, and so the ids, that it had then.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from worlddb.log.model import blobs, codec, errors, hashing, ids
from worlddb.log.model import events as ev
from worlddb.log.store.log import Head, LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.commands.commands import Create, Reassert
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.reconciler.pipeline import reconcile, resolve
from worlddb.reconciler.replay.recorded_commands import Undecidable
from worlddb.reconciler.similarity.thresholds import Resolving
from worlddb.reconciler.transaction.context import Context
from worlddb.reconciler.transaction.draft import Draft, Nonces

_UNDECIDABLE: Final = {"missing_handler": "handler", "other_handler": "handler", "erased": "erased"}
"""Refusals that say that something is not here now, and not that the command would have been refused then."""


class Decider(NamedTuple):
    """Decides recorded commands again: handlers, thresholds, and the store's secret."""

    ontology: Ontology
    resolving: Resolving
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
        """What the commands come to on top of ``head``, by the author and at the time of ``header``.

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
                    self._learn(event.lineage, "derived", body.type, body.name, body.content)
            elif isinstance(event, ev.Linked) and not event.keyed:
                self._learn(event.nonce, "edge", event.type, event.source, event.target, event.home)
            elif isinstance(event, ev.Proposed):
                self._learn(event.nonce, "edge", "same_as", event.source, event.target, event.home)

    def nonce(self, *what: object) -> bytes:
        known = self._known.get(codec.encode(what))
        if known:
            return known.popleft()
        self._derived += 1
        return hashing.keyed(self._secret, hashing.SUPPOSED, self._chain, self._derived.to_bytes(8, "big"))[
            : ids.NONCE_BYTES
        ]

    def _learn(self, nonce: bytes, *what: object) -> None:
        self._known[codec.encode(what)].append(nonce)

    def _learn_blob(self, log: LmdbLog, seq: int, position: int, events: codec.Events) -> blobs.Blob | None:
        stored = log.blob(seq, position)
        blob = None if stored is None else codec.decode_blob(stored, seq)
        if isinstance(blob, blobs.Body):
            self._learn(blob.nonce, "body", blob.type, blob.name, blob.content)
        elif isinstance(blob, blobs.Details):
            self._learn(blob.nonce, "details", (blob.aliases, blob.why, blob.source, blob.properties))
        elif isinstance(blob, blobs.Vector):
            self._learn(blob.nonce, "vector", blob.values)
        elif isinstance(blob, blobs.Space):
            self._learn(blob.nonce, "space")
        elif isinstance(blob, blobs.Cause):
            self._learn(blob.nonce, "commands")
            for at, (entry, ref) in enumerate(zip(blob.commands, events.refs, strict=False)):
                if entry[0] in (Create.CODE, Reassert.CODE):
                    self._learn(ref, "lineage", at)
        return blob
