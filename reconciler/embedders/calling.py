"""Any callable as an embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from worlddb.log.model.errors import InputError
from worlddb.reconciler.embedders.adapting import Adapter


class CallableEmbedder(Adapter):
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
        super().__init__(model, dimension)
        self._function = function
        self._queries = function if queries is None else queries

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """What the function gives."""
        return (self._queries if query else self._function)(list(texts))
