"""Work in the background of an open store: vectors for new texts, and another look at who is who."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import HIGHEST_SEQ, checked_number
from worlddb.projections.indexes.vector_rows import NO_STATEMENTS
from worlddb.projections.tables.apply.vector_spaces import space_in_use
from worlddb.reconciler.background.reclustering import Meaning, Reclustering, recluster
from worlddb.reconciler.background.worker import Background
from worlddb.reconciler.pipeline import Writer
from worlddb.reconciler.similarity.verdict import Tiebreaker
from worlddb.store import VectorReader

if TYPE_CHECKING:
    pass


class Reclusters:
    """The calls of an open store that look again at who is who."""

    _writer: Writer
    _reader: VectorReader
    _background: Background | None
    _looked_at: int = 0

    def recluster(self, *, limit: int | None = None, tiebreaker: Tiebreaker | None = None) -> Reclustering:
        """Resolve again what lies within two hops of what is new since the last time, and propose what is found.

        All tiers run, that of meaning too as far as there are vectors. Proposals are staged in commits of their own,
        whose author is ``worlddb.recluster``; where nothing is found nothing is written. One process at a time does
        it: another gets an answer that is ``busy``. At most about ``limit`` worlds are looked at.

        ``tiebreaker`` chooses between the contenders for one world: a program, a person, a model. It is called while
        the store is not locked, its answer is in the evidence, and nothing asks it again.

        Raises:
            InputError: ``limit`` is no number from 1 on, or the tiebreaker cannot be called or chose a stranger.
        """
        if limit is not None:
            checked_number(limit, "limit", 1, HIGHEST_SEQ)
        if tiebreaker is not None and not callable(tiebreaker):
            raise InputError(f"tiebreaker is {type(tiebreaker).__name__}, which cannot be called", "Give a function")
        return self._recluster(limit, tiebreaker)

    @property
    def background_error(self) -> Exception | None:
        """What went wrong in the background last, if anything did since it last went well; see ``open``."""
        return None if self._background is None else self._background.error

    def _recluster(self, limit: int | None = None, tiebreaker: Tiebreaker | None = None) -> Reclustering:
        stopped = (lambda: False) if self._background is None else self._background.stopped
        done = recluster(
            self._writer, self._meaning(), after=self._looked_at, limit=limit, tiebreaker=tiebreaker, stopped=stopped
        )
        self._looked_at = max(self._looked_at, done.through)
        return done

    def _meaning(self) -> Meaning | None:
        """The embedding space that answers and its index, if texts have been embedded."""
        reader = self._reader
        with reader.snapshot() as snapshot:
            space = space_in_use(snapshot.log, snapshot.tables)
        if space is None:
            return None
        index = reader.vectors(space.number, space.row.dimension)
        head = reader.head()
        # What somebody says of themselves is not who they are: whole texts are compared.
        return Meaning(
            space.number,
            space.row.dimension,
            space.name,
            space.model,
            lambda vector, most: index.find(vector, head=head, limit=most, bonus=NO_STATEMENTS),
        )
