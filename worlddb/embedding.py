"""Vectors of an open store: which model makes them, and how they catch up with the texts."""

from __future__ import annotations

from typing import Final

from worlddb.log.model.errors import ModelUnavailable
from worlddb.log.model.limits import HIGHEST_SEQ, checked_number
from worlddb.reconciler.catchup import Embedding, Progress, embed_pending
from worlddb.reconciler.embedder import Embedder
from worlddb.reconciler.embedding import DEFAULT_SPACE
from worlddb.reconciler.pipeline import Writer
from worlddb.reconciler.static_embedder import StaticEmbedder
from worlddb.store import StoreReader

DEFAULT_EMBEDDER: Final = StaticEmbedder()
"""One for the process, so that its weights are loaded once; nothing is loaded before the first text."""


class Embeds:
    """The calls of an open store that run its embedding model."""

    _writer: Writer
    _embedder: Embedder | None
    _reader: StoreReader

    def embed(self, *, limit: int | None = None, progress: Progress | None = None) -> Embedding:
        """Give vectors to the texts that have none yet, at most about ``limit`` of them, in commits of their own.

        Texts are found by their words at once and by their meaning from here on. ``ingest`` of the command line calls
        this at its end; a program calls it when it has time, from any thread or process.

        Raises:
            ModelUnavailable: the store was opened without an embedder, or its model is not there.
        """
        if limit is not None:
            checked_number(limit, "limit", 1, HIGHEST_SEQ)
        if self._embedder is None:
            raise ModelUnavailable("The store was opened without an embedder", "Open it with embedder=...")
        done = embed_pending(self._writer, self._embedder, DEFAULT_SPACE, limit, progress)
        if done.embedded:
            for index in self._reader.vector_indexes():
                index.catch_up(self._reader.head())
        return done
