"""Any callable as an embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from worlddb.log.model.errors import InputError
from worlddb.reconciler.embedders.adapting import checked_model, dimension_of, no_mean

if TYPE_CHECKING:
    from worlddb.reconciler.embedder import Vectors


class CallableEmbedder:
    """A function from a list of texts to a row of numbers for each, as an embedder.

    ``model`` names it with its version. ``queries`` is another function for questions, for models that tell them from
    what is to be found. Without a ``dimension`` the function is asked once.

    Raises:
        InputError: the function cannot be called, or the name or the dimension is none.
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        model: str,
        *,
        dimension: int | None = None,
        queries: Callable[[list[str]], Any] | None = None,
    ) -> None:
        for given in (function, function if queries is None else queries):
            if not callable(given):
                raise InputError(f"An embedder was made of {type(given).__name__}", "Give a function")
        self.model = checked_model(model)
        self._function = function
        self._queries = function if queries is None else queries
        self._dimension = dimension_of(dimension, lambda texts: function(list(texts)), self.model)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self._dimension.get()

    def mean(self) -> Vectors:
        """Zeros."""
        return no_mean(self.dimension)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """What the function gives."""
        return (self._queries if query else self._function)(list(texts))
