"""Embeddings without a model: each word has a random direction, and a text is the sum of its words' directions.

Texts that share rare words are near one another, as they are for a real model, and 100,000 of them take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from zlib import crc32

DIMENSION: Final = 64


class WordDirections:
    """An embedder for benchmarks."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.dimension = dimension
        self.model = "word-directions/1" if dimension == DIMENSION else f"word-directions/{dimension}"
        self._directions: dict[str, Any] = {}

    def mean(self) -> Any:
        """Nothing is common to all texts."""
        return [0.0] * self.dimension

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """The sum of the words' directions; questions are treated as texts are."""
        import numpy as np

        return np.array([sum(map(self._direction, text.split()), np.zeros(self.dimension)) for text in texts])

    def _direction(self, word: str) -> Any:
        import numpy as np

        found = self._directions.get(word)
        if found is None:
            found = np.random.default_rng(crc32(word.encode())).standard_normal(self.dimension)
            self._directions[word] = found
        return found
