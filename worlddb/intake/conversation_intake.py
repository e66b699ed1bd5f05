"""Ingest a conversation: its turns as one commit, then what a model finds in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from msgspec.structs import replace

from worlddb.intake.passages import recorded_answer
from worlddb.log.model import errors
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.query.snapshot.snapshot import SnapshotSource
from worlddb.query.view.view import View
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.ingest.extraction import Ingest, candidate_key
from worlddb.reconciler.pipeline import Writer, execute

Views = Callable[..., View]
"""Makes views of the store, as :meth:`worlddb.Database.view` does."""


def ingested(
    writer: Writer, reader: SnapshotSource, view: Views, request: Ingest, idempotency_key: str | None
) -> outcome.Receipt:
    """Write a request; what an extractor that asks a model finds is a commit of its own, and the receipt is of that."""
    if not getattr(request.extractor, "asks_a_model", False):
        return _with_imported_note(reader, view, request, execute(writer, request, idempotency_key))
    receipt = execute(writer, request._replace(extractor=None), idempotency_key)
    receipt = _with_imported_note(reader, view, request, receipt)
    return _extracted(writer, view, request, receipt) if receipt else receipt


def _with_imported_note(
    reader: SnapshotSource, view: Views, request: Ingest, receipt: outcome.Receipt
) -> outcome.Receipt:
    """Add a note if a new conversation or document has the name of one that came in a bundle, which has no keys."""
    with reader.snapshot() as snapshot:
        named = snapshot.tables.named(name_digest(request.conversation))
        is_alone = len(list(islice(named, 2))) < 2
    if not receipt.events or is_alone:
        return receipt
    then = view(seq=receipt.seq, valid=receipt.ingest_time, world=request.into)
    called = then.find(name=request.conversation)
    begun = [world for world in called if world.seq == receipt.seq and world.ref in receipt.refs]
    came = [world.ref for world in called if begun and "imported" in world.source and world.type == begun[0].type]
    if not came:
        return receipt
    return receipt.with_notes([outcome.Note("beside_imported", (begun[0].ref, *came[:20]))])


def _extracted(writer: Writer, view: Views, request: Ingest, receipt: outcome.Receipt) -> outcome.Receipt:
    """Write what a model finds in turns that are committed; they stay whatever becomes of it."""
    turns = [turn if turn.at is not None else replace(turn, at=request.at) for turn in request.turns]
    now, inside = view(world=request.into), request
    if request.into is not None and (container := now.get(request.into)) is not None:
        inside = request._replace(into=bytes.fromhex(container.ref))

    def recorded(key: str) -> Any:
        return recorded_answer(now, candidate_key(inside, key))

    asked: Any = request.extractor
    try:
        found = execute(writer, request._replace(turns=turns, extractor=partial(asked, recorded=recorded)), None)
    except (errors.UnavailableError, errors.InputError) as error:
        return receipt.with_notes([outcome.Note("not_extracted", (str(error),))])
    if not found:
        return receipt.with_notes([outcome.Note("not_extracted", (str(found.outcome),))])
    notes = tuple(dict.fromkeys((*receipt.notes, *found.notes)))
    return replace(found, events=receipt.events + found.events, revised=receipt.revised + found.revised, notes=notes)
