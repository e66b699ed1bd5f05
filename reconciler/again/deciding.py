"""Deciding the commands of a commit once more, on a state that is given, at the time that it had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from worlddb.log.model.codec import Header
from worlddb.log.model.errors import InputError
from worlddb.log.store.log import Head, LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler import commands as cmd
from worlddb.reconciler.again.restoring import Undecidable
from worlddb.reconciler.context import Context
from worlddb.reconciler.draft import Draft, Nonces
from worlddb.reconciler.ontology import Ontology
from worlddb.reconciler.outcome import Refusal, Refused
from worlddb.reconciler.pipeline import reconcile, resolve
from worlddb.reconciler.resolving.thresholds import Resolving

_UNDECIDABLE: Final = {"missing_handler": "handler", "other_handler": "handler", "erased": "erased"}
"""Refusals that say that something is not here now, and not that the command would have been refused then."""


class Deciding(NamedTuple):
    """Who decides: the handlers of edge types, the resolver's thresholds, and the secret that keys are hashed under."""

    ontology: Ontology
    resolving: Resolving
    secret: bytes

    def again(
        self, log: LmdbLog, tables: Tables, head: Head, header: Header, commands: Sequence[cmd.Command], nonces: Nonces
    ) -> Draft | Refused | Undecidable:
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
            except Refusal as refusal:
                if refusal.code in _UNDECIDABLE:
                    return Undecidable(_UNDECIDABLE[refusal.code], str(refusal))
                return Refused(refusal.code, str(refusal), refusal.remedy, position)
            except InputError as error:
                return Refused(error.code, error.message, error.remedy, position)
        return draft
