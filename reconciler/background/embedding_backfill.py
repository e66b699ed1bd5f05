"""Embed texts that have no vector yet.

The model runs between two transactions; each batch is one commit.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from worlddb.log.model.clock import monotonic
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.reads.asof import all_spaces, find_space, space_in_use
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.background.worker import background_lease
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.embedding.embedder import Embedder
from worlddb.reconciler.embedding.models import Models
from worlddb.reconciler.embedding.spaces import DEFAULT_SPACE
from worlddb.reconciler.embedding.vectors_of_texts import (
    BATCH_TEXTS,
    check_model,
    command_of,
    next_embedding_batch,
    pending,
)
from worlddb.reconciler.pipeline import Writer, execute

MOVES: Final = 10
"""How often a move to another model starts again because texts were embedded in the old space meanwhile."""

FIRST_TEXTS: Final = 256
BATCH_SECONDS: Final = 5.0
"""About how long the model runs for one commit: what a kill loses, and what closing a store waits for. The first batch
shows how many texts that is."""

Progress = Callable[[int], None]
"""Told how many texts have been embedded."""


class Embedding(NamedTuple):
    """The result of an embedding run.

    It holds the texts embedded, the texts still without a vector, and what the run wrote.
    """

    embedded: int
    pending: int
    space: str
    model: str
    events: int
    commits: int


class Reembedding(NamedTuple):
    """The result of a move to another model, as an :class:`Embedding` of the new space.

    ``in_use``: the new space answers now. ``before`` is the one that answered when it began, empty if there was none.
    """

    embedded: int
    pending: int
    space: str
    model: str
    events: int
    commits: int
    in_use: bool
    before: str


def count_pending(writer: Writer) -> int:
    """Count the texts without a vector in the embedding space in use; all texts, if no space is in use."""
    with writer.env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        return sum(1 for _ in pending(log, tables, space_in_use(log, tables)))


def embed_pending(
    writer: Writer,
    models: Models,
    limit: int | None,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Embedding:
    """Embed texts that have no vector in the space in use.

    Each batch is a commit, and about ``limit`` texts are embedded at most. The model runs while the store is not
    locked. If two processes embed the same batch, the second one writes nothing.

    Raises:
        InputError: the space was made by another model, or the embedder gave what is no vector.
        ModelUnavailable: the model is not there, or failed.
    """
    with writer.env.read() as txn:
        space = space_in_use(LmdbLog(txn), Tables(txn))
    name = DEFAULT_SPACE if space is None else space.name
    return _fill(writer, models, models.to_fill(space), name, limit, progress, stopped)


def embed_in_background(writer: Writer, models: Models, stopped: Callable[[], bool]) -> Embedding | None:
    """Run :func:`embed_pending` under the store's lease for background work.

    ``None`` if another process has the lease. Between two batches it ends if it is ``stopped``: what is left is found
    by the next one.
    """
    writer.env.refuse_replaced()
    with background_lease(writer.env.folder) as leased:
        return embed_pending(writer, models, None, None, stopped) if leased else None


def reembed(
    writer: Writer,
    models: Models,
    embedder: Embedder,
    name: str | None,
    limit: int | None,
    progress: Progress | None = None,
) -> Reembedding:
    """Fill the space of another model, and let it answer once it has a vector of every text.

    Without a name it is the newest space of that model, or a new one that is called after it. What was embedded stays:
    called again it goes on where it was stopped.

    Raises:
        InputError: the space was made by another model, or the embedder gave what is no vector.
        ModelUnavailable: the model is not there, or failed.
    """
    models.add(embedder)
    with writer.env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        before = space_in_use(log, tables)
        target = name if name is not None else _target_space_name(log, tables, embedder)
        space = find_space(log, tables, target)
    if space is not None:
        check_model(space, embedder)
    done = Embedding(0, 0, target, embedder.model, 0, 0)
    for _ in range(MOVES):
        left = None if limit is None else limit - done.embedded
        done = _sum_results(done, _fill(writer, models, embedder, target, left, progress))
        if done.pending:
            break
        opened = _open_space(writer, embedder, target)
        receipt = execute(writer._replace(group=None), [cmd.UseSpace(name=target)])
        done = _sum_results(
            done, done._replace(embedded=0, events=opened + receipt.events, commits=(opened > 0) + (receipt.events > 0))
        )
        if receipt:
            break
    with writer.env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        used, named = space_in_use(log, tables), find_space(log, tables, target)
    in_use = used is not None and named is not None and used.number == named.number
    return Reembedding(*done, in_use, "" if before is None else before.name)


def _sum_results(one: Embedding, other: Embedding) -> Embedding:
    """Add two results; ``left`` is that of the later one."""
    return other._replace(
        embedded=one.embedded + other.embedded, events=one.events + other.events, commits=one.commits + other.commits
    )


def _open_space(writer: Writer, embedder: Embedder, name: str) -> int:
    """Open the space unless it exists, even if there is no text to embed.

    Returns the number of events that took.
    """
    with writer.env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        batch = next_embedding_batch(log, tables, None, 1)
        if batch.texts or find_space(log, tables, name) is not None:
            return 0
    receipt = execute(writer, [command_of(batch, embedder, None, name)])
    receipt.raise_if_refused()
    return receipt.events


def _target_space_name(log: LmdbLog, tables: Tables, embedder: Embedder) -> str:
    """The name of the space that a move to a model fills."""
    live = [space for space in all_spaces(log, tables) if space.dropped is None]
    own = [space.name for space in live if space.model == embedder.model]
    return own[-1] if own else embedder.model if live else DEFAULT_SPACE


def _fill(
    writer: Writer,
    models: Models,
    embedder: Embedder,
    name: str,
    limit: int | None,
    progress: Progress | None,
    stopped: Callable[[], bool] = lambda: False,
) -> Embedding:
    done = events = commits = 0
    most = FIRST_TEXTS
    while not stopped():
        with writer.env.read() as txn:
            log, tables = LmdbLog(txn), Tables(txn)
            space = find_space(log, tables, name)
            room = min(most, BATCH_TEXTS, most if limit is None else limit - done)
            batch = next_embedding_batch(log, tables, space, room)
        if not batch.texts:
            if room > 0:  # So none was left then.
                return Embedding(done, 0, name, embedder.model, events, commits)
            break
        if space is not None:
            models.require_same_model(writer.env, space, embedder)
        began = monotonic()
        command = command_of(batch, embedder, space, name)
        most = max(1, int(len(batch.texts) * BATCH_SECONDS / max(monotonic() - began, 1e-6)))
        receipt = execute(writer, [command])
        receipt.raise_if_refused()
        events += receipt.events
        commits += receipt.events > 0
        done += len(batch.texts) if receipt.events else 0
        if space is None and receipt.events:
            _trust_opened_space(writer, models, name)
        if progress is not None:
            progress(done)
        if receipt.events and receipt.seq == batch.through + 1:
            # All up to there have vectors, and nobody has written since.
            return Embedding(done, 0, name, embedder.model, events, commits)
    with writer.env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        waiting = sum(1 for _ in pending(log, tables, find_space(log, tables, name)))
    return Embedding(done, waiting, name, embedder.model, events, commits)


def _trust_opened_space(writer: Writer, models: Models, name: str) -> None:
    """Record that the vectors of a space that was just opened come from this process's model."""
    with writer.env.read() as txn:
        opened = find_space(LmdbLog(txn), Tables(txn), name)
    if opened is not None:
        models.trust(opened.number)
