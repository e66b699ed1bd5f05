"""A reranker by late interaction: each word of a question with the nearest word of a text, by MiniLM's token vectors.

A text is not one vector there but one for each token, in its context; its score is the mean over the question's tokens
of the greatest cosine with any of the text's (MaxSim: Khattab and Zaharia 2020, ColBERT). The fewer of the texts have a
token, the more it counts (as inverse document frequency does in words), so that "what did", or a name that all of them
have, tells little. The vectors are those of the extra ``embed``, which was not trained for this.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from worlddb.log.model import limits
from worlddb.reconciler.embedding.minilm import WINDOW_TOKENS, MiniLMEmbedder

if TYPE_CHECKING:
    from worlddb.reconciler.embedding.embedder import Vectors

PASSAGE_TOKENS: Final = 64
"""So much of a text is read: the passage that has most of the question's tokens."""
KEPT_BYTES: Final = 64 * 1024 * 1024
_STRIDE: Final = PASSAGE_TOKENS // 2


class MiniLMReranker:
    """How well texts answer a question, by late interaction over the token vectors of all-MiniLM-L6-v2, offline.

    Give it to :func:`worlddb.rerank` with ``instead="vector"``: a score is a mean of cosines. It takes about 10 ms of
    the processor for a text that it has not read before; what it read is kept, up to ``kept_bytes``. ``threads`` is how
    many cores one question may use, 0 for all of them. Nothing is loaded before the first question, and several threads
    may use it.
    """

    def __init__(self, *, threads: int = 0, kept_bytes: int = KEPT_BYTES) -> None:
        limits.checked_number(kept_bytes, "kept_bytes", 0, 2**40)
        self._model = MiniLMEmbedder(threads=threads)
        self._kept: OrderedDict[tuple[int, ...], Vectors] = OrderedDict()
        self._kept_bytes = kept_bytes
        self._bytes = 0
        self._lock = Lock()

    def __call__(self, question: str, texts: Sequence[str], /) -> list[float]:
        """One mean of cosines for each text, -1 to 1.

        Raises:
            ModelUnavailable: the extra ``embed`` is not installed, or its files are not what they should be.
        """
        import numpy as np

        asked, *given = self._model.token_ids([question, *texts])
        asked = asked[:WINDOW_TOKENS]
        words = frozenset(asked[1:-1])
        if not words or not texts:
            return [0.0] * len(texts)
        passages = [_passage(ids, words) for ids in given]
        of_question, *of_texts = self._read([tuple(asked), *passages])
        having = np.array([[token in passage for token in asked[1:-1]] for passage in map(frozenset, passages)])
        rarity = np.maximum(np.log((len(texts) + 1) / (having.sum(axis=0) + 0.5)), 0.0)
        weights = rarity / rarity.sum() if rarity.any() else np.full(len(rarity), 1 / len(rarity))
        return [float((of_question @ tokens.T).max(axis=1) @ weights) if len(tokens) else 0.0 for tokens in of_texts]

    def _read(self, passages: Sequence[tuple[int, ...]]) -> list[Vectors]:
        """Of each passage its tokens' vectors, each of length 1, without the marks at both ends."""
        import numpy as np

        with self._lock:
            found = {each: self._kept[each] for each in passages if each in self._kept}
            for each in found:
                self._kept.move_to_end(each)
        # One by one: what the model's 8-bit numbers stand for depends on all that is read at once.
        new = list(dict.fromkeys(each for each in passages if each not in found))
        for each in new:
            inner = self._model.token_vectors(each)[1:-1]
            found[each] = (inner / np.linalg.norm(inner, axis=1, keepdims=True)).astype(np.float16)
        self._keep(found, new)
        return [found[each].astype(np.float32) for each in passages]

    def _keep(self, found: Mapping[tuple[int, ...], Vectors], new: Iterable[tuple[int, ...]]) -> None:
        """Keep what was read, and forget what was not asked for longest."""
        with self._lock:
            for each in new:
                if each not in self._kept:
                    self._kept[each] = found[each]
                    self._bytes += found[each].nbytes
            while self._bytes > self._kept_bytes:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


def _passage(ids: Sequence[int], words: frozenset[int]) -> tuple[int, ...]:
    """The passage of a text that has most of the words, the first of several, between the marks of the text."""
    if len(ids) <= PASSAGE_TOKENS:
        return tuple(ids)
    first, *inner, last = ids
    room = PASSAGE_TOKENS - 2
    starts = range(0, len(inner) - room + _STRIDE, _STRIDE)
    best = max(starts, key=lambda start: (len(words.intersection(inner[start : start + room])), -start))
    return first, *inner[best : best + room], last
