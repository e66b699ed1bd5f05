"""Vectors of an open store: which model makes them, how they catch up with the texts, and moving to another model."""

from __future__ import annotations

from typing import Final

from worlddb.log.model.limits import HIGHEST_SEQ, MAX_NAME_BYTES, checked_amount, checked_number, checked_text
from worlddb.reconciler.background.embedding_backfill import (
    Embedding,
    Progress,
    Reembedding,
    embed_behind,
    embed_pending,
    reembed,
)
from worlddb.reconciler.background.worker import Background
from worlddb.reconciler.embedding.embedder import Embedder, checked_embedder
from worlddb.reconciler.embedding.models import Models, embedder_named
from worlddb.reconciler.embedding.spaces import EmbeddingSpace, described
from worlddb.reconciler.pipeline import Writer
from worlddb.store import VectorReader

AUTO: Final = "auto"
"""As an embedder: the one that belongs to the space in use, among those that this release ships."""


def models_of(embedder: Embedder | str | None) -> Models:
    """The models of a handle that was opened with an embedder.

    Raises:
        InputError: it is no embedder.
    """
    if embedder is None or embedder == AUTO:
        return Models(None, shipped=embedder is not None)
    return Models(_embedder(embedder), shipped=True)


def _embedder(given: Embedder | str) -> Embedder:
    return checked_embedder(embedder_named(given) if isinstance(given, str) else given)


class Embeds:
    """The calls of an open store that run embedding models."""

    _writer: Writer
    _models: Models
    _reader: VectorReader
    _background: Background | None

    def embed(self, *, limit: int | None = None, progress: Progress | None = None) -> Embedding:
        """Give vectors to the texts that have none yet, at most about ``limit`` of them, in commits of their own.

        They go into the embedding space in use. Texts are found by their words at once and by their meaning from here
        on. ``ingest`` of the command line calls this at its end; a program calls it when it has time, from any thread
        or process.

        Raises:
            InputError: the space in use was made by another model than the one that the store was opened with, or the
                model changed under its name, or gave what is no vector.
            ModelUnavailable: the store was opened without an embedder, or its model is not there.
        """
        done = embed_pending(self._writer, self._models, _checked_limit(limit), progress)
        # Also where nothing was pending: an erasure, or whoever deleted the folder, leaves vectors without an index.
        self._index_vectors()
        return done

    def reembed(
        self,
        to: Embedder | str,
        *,
        space: str | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Reembedding:
        """Move to another embedding model: fill a space of its own, and let that answer once no text lacks a vector.

        Nothing else is touched. The space in use goes on answering until then, and is kept afterwards: see
        :meth:`drop_space`. What was embedded is committed batch by batch, so the same call goes on where it was
        stopped, or where ``limit`` texts were done. ``to`` is an embedder, or the name of one as ``open`` takes it.
        ``space`` names the space; by default it is called after the model, or is the newest one of that model. A space
        that was left can be returned to in the same way.

        Raises:
            InputError: the space of that name was made by another model, the model changed under its name, or gave what
                is no vector.
            ModelUnavailable: the model is not there, or failed; what was embedded before stays.
        """
        name = None if space is None else checked_text(space, "space", MAX_NAME_BYTES, empty=False)
        done = reembed(self._writer, self._models, _embedder(to), name, _checked_limit(limit), progress)
        self._index_vectors()
        return done

    @property
    def background(self) -> bool:
        """True if the handle has a thread that gives new texts their vectors and looks again at who is who."""
        return self._background is not None

    def keep_up(self, *, wait_seconds: float = 0.0) -> bool:
        """See to it that new texts get their vectors and is looked again at who is who; true if it is done.

        A handle that was opened with ``background=True`` does it by itself after each write: this waits for that, so
        many seconds at most. Another one does it now.

        Raises:
            InputError, ModelUnavailable: as :meth:`embed`, of a handle without a thread for it. With one, see
                :attr:`background_error`.
        """
        checked_amount(wait_seconds, "wait_seconds")
        if self._background is None:
            self._keep_up()
            return True
        self._background.nudge()
        return self._background.wait(wait_seconds)

    def spaces(self) -> tuple[EmbeddingSpace, ...]:
        """The embedding spaces, those that were dropped too, in the order in which they were opened."""
        with self._reader.snapshot() as snapshot:
            return tuple(described(snapshot.log, snapshot.tables))

    def _keep_up(self) -> None:
        """What is due after a write."""
        self.embed()

    def _embed_behind(self) -> bool:
        """Embed what is pending, unless another process is at it."""
        assert self._background is not None, "nobody else asks for it"
        done = embed_behind(self._writer, self._models, self._background.stopped)
        if done is not None:
            # As in `embed`, also where nothing was pending.
            self._index_vectors()
        return done is not None

    def _index_vectors(self) -> None:
        for index in self._reader.vector_indexes():
            index.catch_up(self._reader.head())


def _checked_limit(limit: int | None) -> int | None:
    return None if limit is None else checked_number(limit, "limit", 1, HIGHEST_SEQ)
