"""Embedding what is behind: the model runs between two transactions, and each batch is a commit of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.tables import Tables
from worlddb.reconciler.embedder import Embedder
from worlddb.reconciler.embedding import BATCH_TEXTS, command_of, find_space, next_batch, pending
from worlddb.reconciler.pipeline import Writer, execute

Progress = Callable[[int], None]
"""Told how many texts have been embedded."""


class Embedding(NamedTuple):
    """What a catch-up of vectors did: how many texts it embedded, how many have no vector yet, and what it wrote."""

    embedded: int
    pending: int
    space: str
    model: str
    events: int
    commits: int


def embed_pending(
    writer: Writer, embedder: Embedder, name: str, limit: int | None, progress: Progress | None = None
) -> Embedding:
    """Embed what has no vector yet, batch by batch, each a commit; at most about ``limit`` texts.

    The model runs while the store is not locked. Two processes at once do no harm: whoever comes second writes nothing.
    """
    done = events = commits = 0
    while True:
        with writer.env.read() as txn:
            log, tables = LmdbLog(txn), Tables(txn)
            space = find_space(log, tables, name)
            batch = next_batch(log, tables, space, BATCH_TEXTS if limit is None else min(BATCH_TEXTS, limit - done))
        if not batch.texts:
            break
        receipt = execute(writer, [command_of(batch, embedder, space, name)])
        receipt.raise_if_refused()
        events += receipt.events
        commits += receipt.events > 0
        done += len(batch.texts) if receipt.events else 0
        if progress is not None:
            progress(done)
    with writer.env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        waiting = sum(1 for _ in pending(log, tables, find_space(log, tables, name)))
    return Embedding(done, waiting, name, embedder.model, events, commits)
