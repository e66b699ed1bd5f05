"""What the adapters have in common: a model that is loaded once, and whose dimension it tells itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from worlddb.log.model.errors import InputError, ModelUnavailable
from worlddb.log.model.limits import MAX_DIMENSION, MAX_NAME_BYTES, checked_number, checked_text

if TYPE_CHECKING:
    from worlddb.reconciler.embedder import Vectors

ASKED_FOR_ITS_DIMENSION: Final = "dimension"
"""What a model embeds whose dimension nobody has told."""

T = TypeVar("T")


class Lazily(Generic[T]):
    """A value that is made when it is first asked for, and once, whatever threads ask."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: list[T] = []

    def get(self) -> T:
        """The value; what making it raises is raised, and the next call tries again."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


def checked_model(name: object) -> str:
    """A model's name as it is recorded.

    Raises:
        InputError: it is no text, empty or too long.
    """
    return checked_text(name, "the name of the embedding model", MAX_NAME_BYTES, empty=False)


def dimension_of(given: int | None, embed: Callable[[Sequence[str]], Any], model: str) -> Lazily[int]:
    """How many numbers a model's vectors have: as given, else as the first vector has.

    Raises:
        InputError: what was given is no number from 1 to 8,192; later, what the model gave is no vector.
    """
    if given is not None:
        checked_number(given, "dimension", 1, MAX_DIMENSION)
        return Lazily(lambda: given)

    def asked() -> int:
        import numpy as np

        shape = np.shape(embed([ASKED_FOR_ITS_DIMENSION]))
        if len(shape) != 2 or shape[0] != 1 or not 1 <= shape[1] <= MAX_DIMENSION:
            raise InputError(
                f"The embedder {model!r:.80} gave an array of shape {shape} for one text",
                f"Have it give one row of 1 to {MAX_DIMENSION:,} numbers for each text",
            )
        return int(shape[1])

    return Lazily(asked)


def no_mean(dimension: int) -> Vectors:
    """The mean of a model from which none is subtracted."""
    import numpy as np

    return np.zeros(dimension, dtype=np.float32)


def imported(load: Callable[[], Any], package: str, install: str) -> Any:
    """A package that only some installations have; ``load`` imports it.

    Raises:
        ModelUnavailable: it is not installed, or cannot be imported.
    """
    try:
        return load()
    except ImportError as error:
        raise ModelUnavailable(f"The package {package} is not there: {error}", f"Install it: {install}") from error
    except Exception as error:  # A package may raise anything while it is imported.
        raise ModelUnavailable(
            f"The package {package} cannot be imported: {error}", f"Install it anew: {install}"
        ) from error
