"""Baselines for recall in the same run: the same embedder in a flat index, and in chromadb if installed.

Both are given the texts as they are, and the questions as they are: that is what somebody gets who embeds everything
and looks for the nearest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol

import numpy as np

from worlddb.reconciler.embedding.embedder import Embedder, mean_of, unit_vectors
from worlddb.reconciler.embedding.models import DEFAULT_EMBEDDER

CHROMA_BATCH: Final = 5_000


class Baseline(Protocol):
    """An index of texts by their ids."""

    def search(self, question: str, k: int) -> list[str]:
        """The ids of the ``k`` nearest texts, best first."""


class Flat:
    """A flat index that compares the question with every text's vector."""

    def __init__(self, texts: Mapping[str, str], vectors: Any, embedder: Embedder) -> None:
        self._ids = list(texts)
        self._vectors = vectors
        self._embedder = embedder

    def search(self, question: str, k: int) -> list[str]:
        scores = self._vectors @ embed_texts([question], self._embedder, query=True)[0]
        return [self._ids[place] for place in np.argsort(-scores, kind="stable")[:k].tolist()]


class Chroma:
    """A collection in chromadb, in memory, with its own defaults but for the vectors, which are the same."""

    def __init__(self, texts: Mapping[str, str], vectors: Any, embedder: Embedder) -> None:
        self._embedder = embedder
        chromadb: Any = import_module("chromadb")
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.EphemeralClient(settings)
        with suppress(Exception):  # Clients in memory share what is there; which error says that there is none differs.
            client.delete_collection("bench")
        self._found = client.create_collection("bench", metadata={"hnsw:space": "cosine"}, embedding_function=None)
        ids = list(texts)
        for first in range(0, len(ids), CHROMA_BATCH):
            some = slice(first, first + CHROMA_BATCH)
            self._found.add(ids=ids[some], embeddings=vectors[some], documents=list(texts.values())[some])

    def search(self, question: str, k: int) -> list[str]:
        asked = embed_texts([question], self._embedder, query=True)
        return list(self._found.query(query_embeddings=asked, n_results=k, include=[])["ids"][0])


def available() -> list[str]:
    """The names of the baselines that can run here."""
    return ["flat", *(["chromadb"] if find_spec("chromadb") else [])]


def build(
    names: Collection[str], texts: Mapping[str, str], embedder: Embedder = DEFAULT_EMBEDDER
) -> dict[str, Baseline]:
    """Build the named baselines over texts by id, all with the same vectors."""
    vectors = embed_texts(list(texts.values()), embedder, query=False)
    kinds: dict[str, Any] = {"flat": Flat, "chromadb": Chroma}
    return {name: kinds[name](texts, vectors, embedder) for name in names}


def embed_texts(texts: Sequence[str], embedder: Embedder = DEFAULT_EMBEDDER, *, query: bool) -> Any:
    """Vectors of length 1."""
    return unit_vectors(embedder, mean_of(embedder), texts, query=query)
