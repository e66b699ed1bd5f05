"""Keep a vector index level with the log, and search the vectors that it has not reached yet.

The base on disk ends at its marker; the vectors of later commits, the *tail*, are kept in memory and compared one by
one, so a search sees every vector that was recorded. A base that is missing, torn, of another store or of another
history counts as empty. A base is made anew by :meth:`VectorFollower.catch_up` alone, never by a search.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from worlddb.log.model.errors import UnavailableError, WriterBusy
from worlddb.projections.indexes import fields, vector_base, vector_rows, witness

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Matrix, Numbers


Feed = Callable[[int, int], Iterable[vector_rows.VectorRow]]
"""The vectors that the commits in ``(from_seq, to_seq]`` recorded, in log order."""


class VectorTail:
    """The vectors of the commits in ``(base, head]``; the head moves on with the log's.

    Vectors are only ever appended: a :meth:`seen` view may be searched while more come in.
    """

    def __init__(self, base: int, dimension: int) -> None:
        import numpy as np

        self.base = base
        self.head = base
        self._dimension = dimension
        self._count = 0
        self._numbers = np.zeros((0, 3), dtype=np.int64)
        self._matrix = np.zeros((0, vector_rows.width(dimension)), dtype=np.float32)

    def extend(self, feed: Feed, head: int, most: int | None = None) -> bool:
        """Add the vectors of the commits up to ``head``; false, and none added, if ``most`` versions or more came."""
        if head <= self.head:
            return True
        fresh = list(islice(feed(self.head, head), most))
        if len(fresh) == most:
            return False
        if fresh:
            numbers, rows = vector_rows.expand_rows(fresh, self._dimension)
            self._make_room(self._count + len(rows))
            self._numbers[self._count : self._count + len(rows)] = numbers
            self._matrix[self._count : self._count + len(rows)] = rows
            self._count += len(rows)
        self.head = head
        return True

    def _make_room(self, count: int) -> None:
        """Grow the arrays at least twofold, so that the cost of a commit stays in proportion to its vectors."""
        import numpy as np

        if count > len(self._matrix):
            numbers, matrix = self._numbers, self._matrix
            room = max(count, 2 * len(matrix))
            self._numbers = np.zeros((room, 3), dtype=np.int64)
            self._matrix = np.zeros((room, matrix.shape[1]), dtype=np.float32)
            self._numbers[: self._count] = numbers[: self._count]
            self._matrix[: self._count] = matrix[: self._count]

    def seen(self) -> VectorTailView:
        """A view of the present vectors."""
        return VectorTailView(self._numbers[: self._count], self._matrix[: self._count])


class VectorTailView:
    """Vectors in memory: for each its world, version and commit, and its row."""

    def __init__(self, numbers: Numbers, matrix: Matrix) -> None:
        self.numbers = numbers
        self.matrix = matrix

    def __len__(self) -> int:
        return len(self.numbers)

    def search(
        self, query: Matrix, limit: int, nodes: Numbers | None, before: int | None
    ) -> list[vector_rows.VectorHit]:
        """Find the best vectors.

        Of some worlds (in order) alone, and of those with lower numbers than ``before``.
        """
        import numpy as np

        numbers, matrix = self.numbers, self.matrix
        if nodes is not None or before is not None:
            is_wanted = np.isin(numbers[:, 0], nodes) if nodes is not None else np.full(len(numbers), True)
            chosen = np.flatnonzero(is_wanted if before is None else is_wanted & (numbers[:, 0] < before))
            numbers, matrix = numbers[chosen], matrix[chosen]
        scores = vector_rows.cosines(matrix, query)
        places = vector_rows.top_places(scores, limit, numbers)
        return vector_rows.as_hits(numbers[places], scores[places])

    def scores(self, query: Matrix, nodes: Numbers) -> dict[tuple[int, int], float]:
        """The scores of the versions of some worlds, by the nearest vector of each."""
        import numpy as np

        near = np.flatnonzero(np.isin(self.numbers[:, 0], nodes))
        return vector_rows.best_of_each(self.numbers[near], vector_rows.cosines(self.matrix[near], query))


class VectorSet:
    """The vectors of some versions, in the order that breaks ties."""

    def __init__(self, rows: Sequence[vector_rows.VectorRow], dimension: int) -> None:
        self._numbers, self._matrix = vector_rows.expand_rows(rows, dimension)
        self._count = len(rows)

    def __len__(self) -> int:
        return self._count

    def search(
        self, query: Matrix, limit: int, nodes: Collection[int] | None = None, *, stating: float = 0.0
    ) -> list[vector_rows.VectorHit]:
        """Find the best vectors, best first.

        With ``nodes``, of those worlds alone. A text that is nothing but statements is nearer by ``stating``.
        """
        import numpy as np

        chosen = np.arange(len(self._numbers))
        if nodes is not None:
            chosen = np.flatnonzero(np.isin(self._numbers[:, 0], np.array(sorted(nodes), dtype=np.int64)))
        scores = vector_rows.cosines(self._matrix[chosen], vector_rows.query_row(query, stating=stating))
        hits = []
        for place in vector_rows.top_places(scores, limit).tolist():
            node, version, _ = self._numbers[chosen[place]].tolist()
            hits.append(vector_rows.VectorHit(node, version, 0, float(scores[place])))
        return hits

    def scores(
        self, query: Matrix, pairs: Sequence[tuple[int, int]], *, stating: float = 0.0
    ) -> dict[tuple[int, int], float]:
        """The scores of some (world, version) pairs, by the nearest vector of each; missing ones are left out."""
        import numpy as np

        near = np.flatnonzero(np.isin(self._numbers[:, 0], np.array([node for node, _ in pairs], dtype=np.int64)))
        found = vector_rows.best_of_each(
            self._numbers[near], vector_rows.cosines(self._matrix[near], vector_rows.query_row(query, stating=stating))
        )
        return {pair: found[pair] for pair in pairs if pair in found}


EXACT_VECTORS: Final = 50_000
"""Up to this many vectors every one is compared; above, a graph is searched (paper §4.2)."""
SHORT_TAIL: Final = 2_000
"""A tail of fewer vectors, or of less than a tenth of the base, stays in memory."""
LONG_STRETCH: Final = 20_000
"""A tail that spans more commits is moved into the base however few vectors it has: whoever opens the store has to look
through those commits for it."""
PART: Final = 16_384
"""How many versions' vectors are put into a base at once."""
REBUILD_PATIENCE_SECONDS: Final = 30.0

ChainAt = Callable[[int], bytes | None]


class VectorFollower:
    """Searches one space's vectors up to the head. Threads and processes may share a folder."""

    def __init__(
        self,
        folder: Path,
        store_id: bytes,
        dimension: int,
        feed: Feed,
        chain_at: ChainAt,
        secret: bytes = witness.NO_SECRET,
    ) -> None:
        self._secret = secret
        self._folder = folder
        self._store_id = store_id
        self._dimension = dimension
        self._feed = feed
        self._chain_at = chain_at
        self._guard = threading.RLock()
        self._base: vector_base.VectorBase | None = None
        self._stamp: tuple[int, int] | None = None
        self._tail: VectorTail | None = None

    def find(
        self,
        query: Matrix,
        *,
        head: int,
        limit: int,
        nodes: Collection[int] | None = None,
        before: int | None = None,
        bonus: float = vector_rows.STATEMENT_BONUS,
        stating: float = 0.0,
        exact: bool = False,
        wide: int = 1,
    ) -> list[vector_rows.VectorHit]:
        """Find the best ``limit`` vectors recorded up to ``head``.

        They come best first, ties by world and version; with ``nodes``, of those worlds alone; with ``before``, of
        worlds with lower numbers than that. A version that has several vectors may be found several times. A text that
        is nothing but statements is nearer by ``stating``. ``exact``: all of those worlds are compared, however many,
        since what a graph finds depends on what else is in it. Among all worlds a graph is searched for ``wide`` times
        as many.
        """
        query = vector_rows.query_row(query, bonus, stating)
        if limit < 1 or (nodes is not None and not nodes):
            return []
        base, tail = self._base_and_tail(head)
        wanted = None if nodes is None else fields.in_order(nodes)
        hits: list[vector_rows.VectorHit] = []
        if base is not None:
            if wanted is None:
                hits.extend(base.search_before(query, limit, before, wide))
            else:
                places = (
                    base.places_of_members(nodes) if isinstance(nodes, fields.Nodes) else base.places_of_nodes(wanted)
                )
                hits.extend(base.search(query, limit, places, by_graph=False if exact else None))
        if not len(tail):
            return hits
        hits.extend(tail.search(query, limit, wanted, before))
        return sorted(hits, key=lambda hit: (-hit.score, hit.node, hit.version))[:limit]

    def scores(
        self, query: Matrix, pairs: Sequence[tuple[int, int]], *, head: int, stating: float = 0.0
    ) -> dict[tuple[int, int], float]:
        """Score some (world, version) pairs, each by its nearest vector.

        Those without one are left out.
        """
        import numpy as np

        if not pairs:
            return {}
        base, tail = self._base_and_tail(head)
        query = vector_rows.query_row(query, stating=stating)
        nodes = np.array(sorted({node for node, _ in pairs}), dtype=np.int64)
        found: dict[tuple[int, int], float] = {}
        if base is not None:
            found = vector_rows.best_of_each(*base.scores(query, base.places_of_nodes(nodes)))
        if len(tail):
            found |= tail.scores(query, nodes)
        return {pair: found[pair] for pair in pairs if pair in found}

    def catch_up(self, head: int, *, wait_seconds: float = 0.0) -> bool:
        """Move a tail that has grown long into the base.

        False if another process is at it, or the folder cannot be written. Searches go on meanwhile, in the base that
        there is and the tail.
        """
        with self._guard:
            base = self._current_base()
            count, start = (0, 0) if base is None else (base.count, base.marker.seq)
            long, tail = max(SHORT_TAIL, count // 10), self._tail_from(start)
            # A long one is read for the base alone: it may be of millions.
            if tail.extend(self._feed, head, long):
                waiting = len(tail.seen())
                if not waiting or (waiting < long and head - start <= LONG_STRETCH):
                    return True
        known = self._chain_at(head)
        return known is not None and self._write_base(fields.Marker(self._store_id, head, known), wait_seconds)

    def rebuild(self, head: int) -> None:
        """Throw the base away and make it again from the log.

        Raises:
            WriterBusy: another process kept the index locked.
            UnavailableError: the folder cannot be written.
        """
        with self._guard:
            self.close()
            try:
                if self._folder.exists():
                    shutil.rmtree(self._folder)
            except OSError as error:
                raise UnavailableError(
                    f"The vector index at {self._folder} cannot be removed: {error}", "Check its permissions"
                ) from error
        if not self.catch_up(head, wait_seconds=REBUILD_PATIENCE_SECONDS):
            raise WriterBusy(f"The vector index at {self._folder} could not be written", "Try again, or check the disk")

    def checkpoint(self) -> int:
        """The commit that the base on disk has reached; 0 if there is none."""
        with self._guard:
            base = self._current_base()
            return 0 if base is None else base.marker.seq

    def close(self) -> None:
        """Let go of the files. A later call opens them again."""
        with self._guard:
            self._base = self._stamp = self._tail = None

    def _write_base(self, marker: fields.Marker, wait_seconds: float) -> bool:
        from filelock import FileLock, Timeout

        try:
            self._folder.parent.mkdir(exist_ok=True)
            with FileLock(self._folder.parent / f"{self._folder.name}.lock", timeout=wait_seconds):
                # Read again under the lock. An erasure takes it after its commit: a vector in memory may be erased
                # by now, and one that is read here and erased meanwhile is deleted with the base.
                base = self._base_on_disk()
                if base is not None and not vector_base.fits(self._folder, self._secret):
                    base = None  # Nothing is added to what somebody else has written.
                start = 0 if base is None else base.marker.seq
                if start < marker.seq:
                    parts, width = self._parts(start, marker.seq), vector_rows.width(self._dimension)
                    count = 0 if base is None else base.count
                    first: list[tuple[Numbers, Matrix]] = []
                    while count <= EXACT_VECTORS and (part := next(parts, None)) is not None:
                        first.append(part)
                        count += len(part[0])
                    graph, all_parts = count > EXACT_VECTORS, chain(first, parts)
                    vector_base.write(
                        self._folder, marker, width, all_parts, graph=graph, after=base, secret=self._secret
                    )
        except (OSError, Timeout):
            return False
        return True

    def _parts(self, after: int, through: int) -> Iterator[tuple[Numbers, Matrix]]:
        """The vectors of some commits, some at a time."""
        fresh = iter(self._feed(after, through))
        while some := list(islice(fresh, PART)):
            yield vector_rows.expand_rows(some, self._dimension)

    def _base_and_tail(self, head: int) -> tuple[vector_base.VectorBase | None, VectorTailView]:
        """The base, and the tail from there to ``head``."""
        with self._guard:
            base = self._current_base()
            tail = self._tail_from(0 if base is None else base.marker.seq)
            tail.extend(self._feed, head)
            return base, tail.seen()

    def _tail_from(self, base: int) -> VectorTail:
        if self._tail is None or self._tail.base != base:
            self._tail = VectorTail(base, self._dimension)
        return self._tail

    def _current_base(self) -> vector_base.VectorBase | None:
        """The base in force, if it is one of this store's history."""
        stamp = vector_base.folder_stamp(self._folder)
        if stamp != self._stamp or stamp is None:
            self._stamp = stamp
            self._base = None if stamp is None else self._base_on_disk()
        return self._base

    def _base_on_disk(self) -> vector_base.VectorBase | None:
        """The base that is on disk now."""
        base = vector_base.load(self._folder)
        if base is None or base.marker.store_id != self._store_id:
            return None
        return base if self._chain_at(base.marker.seq) == base.marker.chain else None
