"""Reading by meaning: which embedding space answers, a question as a vector of it, and the indexes of the spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from worlddb.log.model.errors import InputError, ModelUnavailable
from worlddb.log.store.environment import INDEX_FOLDER, Environment
from worlddb.log.store.log import EMPTY_HEAD, Head
from worlddb.projections.indexes.composed_vectors import ComposedFollower, KeptPlace
from worlddb.projections.indexes.composition import POOLS
from worlddb.projections.indexes.feed import vector_rows
from worlddb.projections.indexes.text_index import locked, reset
from worlddb.projections.indexes.text_snapshot import IndexUnwritable
from worlddb.projections.indexes.vector_index import VectorFollower
from worlddb.projections.indexes.vector_rows import VectorRow
from worlddb.query.lanes.vector_lane import PresentVectorLane, VectorQuery
from worlddb.query.snapshot.snapshot import Space
from worlddb.reconciler.embedding.models import Models
from worlddb.reconciler.embedding.spaces import OpenSpace, all_spaces, space_in_use
from worlddb.reconciler.embedding.vectors_of_texts import given_vector, pending, query_vector
from worlddb.store import FEED_COMMITS, StoreReader

MAX_PENDING: Final = 1_000
"""How far texts without a vector are counted."""
_COMPOSED: Final = "composed-"
NOTHING_EMBEDDED: Final = "no text has been embedded yet"


class VectorReader(StoreReader):
    """As a :class:`StoreReader`, with the models that embed questions and the indexes of vectors."""

    def __init__(self, env: Environment, models: Models) -> None:
        self._models = models
        self._vectors: dict[int, VectorFollower] = {}
        self._composed: dict[tuple[int, str], ComposedFollower] = {}
        self._pending: dict[int | None, tuple[Head, int]] = {}
        self.told_of_pending: Callable[[], None] = _nobody
        """Called by a read that finds texts without vectors, which another process may have written."""
        super().__init__(env)

    # -- which space answers

    def vector_query(self, text: str, seq: int, *, exact: bool) -> VectorQuery | str:
        """The question as a vector of the space that answers as of a commit, or in words why there is none (law 12).

        Where the answer comes from present indexes anyway, the present space answers if that of the commit was dropped,
        was not there yet, or its model is not here.
        """
        why = NOTHING_EMBEDDED
        for space in self._answering(seq, exact=exact):
            try:
                embedder = self._models.to_ask(space)
                self._models.see_that_it_is_the_same(self.env, space, embedder)
                vector = query_vector(embedder, space, text)
            except (InputError, ModelUnavailable) as error:
                why = str(error)
            else:
                return VectorQuery(space.number, space.row.dimension, vector, space.name, space.model)
        return why

    def vector_given(self, values: Sequence[float], seq: int, *, exact: bool) -> VectorQuery | str:
        """A vector that the caller made, of the space that answers as of a commit, or in words why there is none."""
        for space in self._answering(seq, exact=exact)[:1]:
            return VectorQuery(space.number, space.row.dimension, given_vector(space, values), space.name, space.model)
        return NOTHING_EMBEDDED

    def space_at(self, seq: int) -> Space | None:
        """The embedding space that answers as of a commit, if there was one."""
        found = self._answering(seq, exact=True)
        return Space(found[0].number, found[0].row.dimension, found[0].model) if found else None

    def _answering(self, seq: int, *, exact: bool) -> list[OpenSpace]:
        with self.snapshot() as snapshot:
            then = space_in_use(snapshot.log, snapshot.tables, seq)
            is_present = seq >= snapshot.log.head().seq
            now = None if exact else then if is_present else space_in_use(snapshot.log, snapshot.tables)
        if exact or now is None:
            return [] if then is None else [then]
        return [now] if then is None or then.dropped is not None or then.number == now.number else [then, now]

    def pending_vectors(self, space: int | None) -> int:
        """How many texts have no vector in a space yet, or in the one that answers; all of them if there is none.

        Counted up to :data:`MAX_PENDING`, and once for each head. Where nothing was compared by meaning, whoever embeds
        is not told: that a question finds no model does not bring one.
        """
        with self.snapshot() as snapshot:
            log, tables = snapshot.log, snapshot.tables
            head = log.head()
            at, waiting = self._pending.get(space, (EMPTY_HEAD, 0))
            if at != head:
                spaces = (each for each in all_spaces(log, tables) if each.number == space)
                found = space_in_use(log, tables) if space is None else next(spaces, None)
                waiting = sum(1 for _ in islice(pending(log, tables, found), MAX_PENDING))
                self._pending[space] = head, waiting
        if waiting and space is not None:
            self.told_of_pending()
        return waiting

    # -- indexes

    def vector_lane(self, query: VectorQuery, before: int | None, head: int) -> PresentVectorLane:
        """The index of the query's space up to ``head``; with ``before``, of the worlds that have lower numbers."""
        return PresentVectorLane(self.vectors(query.space, query.dimension), head, query, before)

    def vectors(self, space: int, dimension: int) -> VectorFollower:
        """The index of an embedding space."""
        found = self._vectors.get(space)
        if found is None:
            feed = partial(self._vector_feed, space)
            found = VectorFollower(self._folder(space), self.store_id, dimension, feed, self.chain_at)
            self._vectors[space] = found
        return found

    def vector_indexes(self) -> list[VectorFollower]:
        """The indexes of the spaces that there are; what is left of those of dropped ones is removed."""
        with self.snapshot() as snapshot:
            found = list(all_spaces(snapshot.log, snapshot.tables))
        for space in found:
            if space.dropped is not None:
                self._forget(space.number)
        return [self.vectors(space.number, space.row.dimension) for space in found if space.dropped is None]

    def composed(self, space: int, dimension: int, pool: str) -> ComposedFollower:
        """The composed embeddings of the store's present in a space."""
        self.let_go_of_erased()
        found = self._composed.get((space, pool))
        if found is None:
            folder = self.env.folder / INDEX_FOLDER / f"{_COMPOSED}{space}-{pool}"
            place = KeptPlace(folder, self.store_id, self.head, self.chain_at)
            found = self._composed.setdefault((space, pool), ComposedFollower(space, dimension, POOLS[pool], place))
        return found

    def close(self) -> None:
        """Let go of the indexes' files."""
        super().close()
        for follower in self._vectors.values():
            follower.close()
        for composed in self._composed.values():
            composed.forget()

    def _forget(self, space: int) -> None:
        """Delete the index of a dropped space; the next call tries again if another process is at it."""
        follower = self._vectors.pop(space, None)
        if follower is not None:
            follower.close()
        _delete(self._folder(space))
        self.forget_composed(space)

    def forget_composed(self, space: int | None = None) -> None:
        """Delete what is kept of composed embeddings, of one space or of all."""
        for (number, _), follower in self._composed.items():
            if space in (None, number):
                follower.forget()
        for folder in (self.env.folder / INDEX_FOLDER).glob(f"{_COMPOSED}{'*' if space is None else f'{space}-*'}"):
            if folder.is_dir():
                _delete(folder)

    def _folder(self, space: int) -> Path:
        return self.env.folder / INDEX_FOLDER / f"vectors-{space}"

    def _vector_feed(self, space: int, after: int, through: int) -> Iterator[VectorRow]:
        for first in range(after, through, FEED_COMMITS):
            with self.snapshot() as snapshot:
                last = min(first + FEED_COMMITS, through)
                rows = list(vector_rows(snapshot.log, snapshot.tables, space, first, last))
            yield from rows


def _nobody() -> None:
    """Where nobody works in the background."""


def _delete(folder: Path) -> None:
    """Delete an index's folder, unless another process is at it."""
    if folder.exists():
        try:
            with locked(folder, 0.0):
                reset(folder)
        except (IndexUnwritable, OSError):
            pass
