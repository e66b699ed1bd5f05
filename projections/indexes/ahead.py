"""A search that is begun before its hits are needed, and goes on in another thread meanwhile.

Tantivy searches without holding the interpreter's lock, so on a second processor such a search costs a recall only
what is left of it when its hits are needed. Its answer is the same. Where no thread is free, whoever needs the hits
searches.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """What ``search`` gives, which is called once: in one of ``threads``, or by who asks for it if there are none."""

    def __init__(self, threads: Executor | None, search: Callable[[], T]) -> None:
        self._search = search
        self._begun = None if threads is None else threads.submit(search)

    def found(self) -> T:
        """What was found; what the search raises is raised here."""
        begun = self._begun
        return self._search() if begun is None or begun.cancel() else begun.result()

    def settle(self) -> None:
        """See that nothing goes on any more, whose result nobody wants."""
        if self._begun is not None and not self._begun.cancel():
            self._begun.exception()
