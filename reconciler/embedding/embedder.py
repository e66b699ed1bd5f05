"""The protocol of embedders: models that turn texts into vectors.

A caller may bring any; vectors are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from worlddb.log.model.errors import InputError, ModelUnavailable, WorldDBError, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


T = TypeVar("T")


class Embedder(Protocol):
    """A model that gives each text a vector; the closer in direction, the closer in meaning.

    ``model`` names it with its version: vectors of different models are never compared. ``dimension`` is how many
    numbers a vector has, 1 to 8,192.
    """

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def mean(self) -> Any:
        """The vector that is subtracted from every vector before normalisation; zeros for most models.

        It is asked for once, when a space is opened, and recorded with it.
        """

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """Give one row of numbers for each text, in order.

        ``query`` tells questions from what is to be found.
        """


def checked_embedder(given: Any) -> Embedder:
    """Check that an object follows the protocol, as far as that is possible without running it.

    Raises:
        InputError: it does not.
    """
    lacking = [name for name in ("model", "mean", "embed") if not hasattr(given, name)]
    lacking += ["dimension"] if not hasattr(type(given), "dimension") and not hasattr(given, "dimension") else []
    if lacking or not isinstance(given.model, str) or not given.model:
        raise InputError(
            f"The embedder is {type(given).__name__}, which lacks {lacking[0] if lacking else 'the name of its model'}",
            "Give an object that implements the protocol Embedder",
        )
    found: Embedder = given
    return found


def unit_vectors(embedder: Embedder, mean: Vectors, texts: Sequence[str], *, query: bool) -> Vectors:
    """The texts' vectors as they are stored and compared.

    They are without the mean and of length 1 (zeros stay zeros).

    Raises:
        ModelUnavailable: the model raised an error.
        InputError: what it gave is not one finite vector of its dimension for each text.
    """
    import numpy as np

    if not texts:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    with np.errstate(over="ignore"):  # Too large numbers become infinite, and are found below.
        given = call_model(embedder.model, lambda: np.asarray(embedder.embed(texts, query=query), dtype=np.float32))
    if given.shape != (len(texts), embedder.dimension):
        raise InputError(
            f"The embedder {shown(embedder.model)} returned vectors of shape {given.shape} for {len(texts)} texts",
            f"Return {len(texts)} rows of {embedder.dimension} numbers",
        )
    if not np.isfinite(given).all():
        raise InputError(
            f"The embedder {shown(embedder.model)} returned numbers that are not finite", "Correct the embedder"
        )
    return centre_and_normalise(given, mean)


def call_model(model: str, ask: Callable[[], T]) -> T:
    """Call a model and return its answer.

    Raises:
        ModelUnavailable: it raised an error of its own; those of this engine are raised as they are.
    """
    try:
        return ask()
    except WorldDBError:
        raise
    except Exception as error:
        raise ModelUnavailable(
            f"The embedder {shown(model)} failed: {error}", "Try again, or open the store with another embedder"
        ) from error


def centre_and_normalise(given: Vectors, mean: Vectors) -> Vectors:
    """Subtract the mean from a model's rows and normalise them; rows of zeros stay zeros."""
    import numpy as np

    silent = ~given.any(axis=1)
    # In 64 bits, which hold the square of any number of 32, the largest and the smallest.
    centred = given.astype(np.float64) - mean
    centred[silent] = 0.0
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(lengths > 0.0, lengths, 1.0), dtype=np.float32)


def mean_of(embedder: Embedder) -> Vectors:
    """The mean that an embedder subtracts from its vectors, checked.

    Raises:
        InputError: it is not one finite vector of its dimension.
        ModelUnavailable: the model raised an error.
    """
    import numpy as np

    mean = call_model(embedder.model, lambda: np.asarray(embedder.mean(), dtype=np.float32))
    dimension = call_model(embedder.model, lambda: embedder.dimension)
    if mean.shape != (dimension,) or not np.isfinite(mean).all():
        raise InputError(
            f"The mean of the embedder {shown(embedder.model)} has shape {mean.shape}",
            f"Return {dimension} finite numbers",
        )
    return mean
