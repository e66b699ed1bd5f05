"""The interface of a peer, so that all can do the same work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from worlddb.reconciler.embedding.embedder import mean_of, unit_vectors
from worlddb.reconciler.embedding.models import DEFAULT_EMBEDDER

HITS: Final = 10
"""How many texts a search returns."""


class Peer(Protocol):
    """A store of texts under keys, in a folder of its own."""

    def write(self, key: str, text: str) -> None:
        """Add one text under a new key; acknowledged when the call returns."""

    def replace(self, key: str, text: str) -> None:
        """Put a text in the place of the one that is current under a key."""

    def load(self, texts: Mapping[str, str]) -> None:
        """Put many texts by the peer's bulk call."""

    def settle(self) -> None:
        """Do what the documentation asks for after writes, so that all searches are fast and complete."""

    def search(self, question: str) -> list[str]:
        """The ten texts that are found, best first."""

    def read(self, key: str) -> str | None:
        """The text that is current under a key."""

    def moment(self) -> Any:
        """A name for the present, to read as of later; ``None`` if the peer has no past."""

    def read_at(self, moment: Any, key: str) -> str | None:
        """The text that was current under a key at a moment."""

    def delete(self, key: str) -> None:
        """Delete a text in the ordinary way."""

    def expunge(self, key: str) -> None:
        """Delete a text, and remove its remains as documented."""

    def close(self) -> None:
        """Give the folder back."""


class Absent(Exception):
    """A peer cannot run here; the message says why."""


class Kind(NamedTuple):
    """A peer before it is opened."""

    name: str
    version: Callable[[], str]
    """What is installed.

    Raises:
        Absent: it is not, or cannot run here.
    """
    searches: str
    """Words, vectors, or both in one search."""
    open: Callable[[Path], Peer]


def installed(distribution: str) -> Callable[[], str]:
    """The version of a package."""

    def found() -> str:
        try:
            return version(distribution)
        except PackageNotFoundError:
            raise Absent("not installed") from None

    return found


def vectors_of(texts: Sequence[str], *, query: bool) -> Any:
    """The vectors of texts by the embedder that WorldDB has by default: rows of 32-bit numbers, of length 1."""
    return unit_vectors(DEFAULT_EMBEDDER, _mean(), texts, query=query)


@cache
def _mean() -> Any:
    return mean_of(DEFAULT_EMBEDDER)


def dimension() -> int:
    """How many numbers a vector has."""
    return DEFAULT_EMBEDDER.dimension
