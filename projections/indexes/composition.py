"""Composed embeddings: a world's vector from its own text and from its members (paper §5).

The **content anchor** of a world is the vector of its text, as the log has it. Its **effective vector** is pooled from
the anchor and from the effective vectors of its members. Anchors are never written here, so composing again cannot feed
a result back into itself.

A composition derives from the log and the tables alone, and stores only worlds that have members. It has a moment and
moves forward with the log: worlds that commits touched are composed again, once, and so are their containers, as far
up as anything changed.

Sums are made in a fixed order and in double precision, without a linear-algebra library, so that the same inputs always
give the same bits, however often and together with whatever other worlds a world is composed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from worlddb.log.model import errors, ids, times
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, ROOT_NODE

if TYPE_CHECKING:
    from worlddb.log.model.events import Event
    from worlddb.projections.tables.reads.table_reads import TableReads

Anchors = Callable[[int, int], "Vector | None"]
"""The vector of a version of a node, if it has one by now."""


class Composition:
    """The effective vectors of the worlds that have members, at a moment.

    Each call gets the tables of a transaction, so that no reference outlives it.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.moment: asof.Moment | None = None
        self.effective: dict[int, Vector | None] = {}
        """The vectors of nodes with members at the moment; ``None`` where no text of them has a vector."""
        self.composed = 0
        """How many compositions of a world were made so far."""
        self._scheduled: list[tuple[int, int]] = []
        """A heap of (valid time, node): when a validity that concerns a node begins or ends."""
        self._scheduled_set: set[tuple[int, int]] = set()
        self._top = ROOT_NODE

    def restore(
        self, effective: dict[int, Vector | None], turns: Iterable[tuple[int, int]], moment: asof.Moment
    ) -> None:
        """Restore the state of a composition at a moment."""
        self.effective, self._scheduled, self.moment = dict(effective), sorted(turns), moment
        self._scheduled_set = set(self._scheduled)

    def scheduled_changes(self) -> list[tuple[int, int]]:
        """The (valid time, node) pairs at which a validity begins or ends, soonest first."""
        return sorted(self._scheduled)

    def fill(
        self,
        tables: TableReads,
        anchors: Anchors,
        nodes: Iterable[int],
        moment: asof.Moment,
        *,
        top: int = ROOT_NODE,
    ) -> None:
        """Compose all worlds among some nodes from scratch, except the root; of ``top``, nothing around it."""
        self.effective, self._scheduled, self._scheduled_set, self.moment = {}, [], set(), moment
        self._top = top
        self._compose(tables, anchors, set(nodes) - {ROOT_NODE})

    def advance(self, tables: TableReads, anchors: Anchors, events: Iterable[Event], moment: asof.Moment) -> None:
        """Move to a later moment, given the events of the commits in between."""
        assert self.moment is not None and moment.seq >= self.moment.seq and moment.valid >= self.moment.valid
        touched = set(_touched_nodes(tables, events))
        while self._scheduled and self._scheduled[0][0] <= moment.valid:
            turn = heapq.heappop(self._scheduled)
            self._scheduled_set.discard(turn)
            touched.add(turn[1])
        self.moment = moment
        self._compose(tables, anchors, touched - {ROOT_NODE})

    def has_change_by(self, valid: int) -> bool:
        """True if a validity begins or ends up to a valid time."""
        return bool(self._scheduled) and self._scheduled[0][0] <= valid

    def vector(self, tables: TableReads, anchors: Anchors, node: int) -> Vector | None:
        """The effective vector of any node: its pooled vector, or its anchor if it has no members."""
        return self.effective[node] if node in self.effective else self._anchor(tables, anchors, node)

    def _compose(self, tables: TableReads, anchors: Anchors, touched: set[int]) -> None:
        """Compose touched nodes, and their containers where something changed, members before containers."""
        waiting = set(touched)
        for node in self._members_first(tables, touched):
            if node not in waiting:
                continue
            before = self.effective.get(node)
            members = self._members(tables, node)
            if members:
                self.effective[node] = self._pool_members(tables, anchors, node, members)
            else:
                self.effective.pop(node, None)
            if node in touched or not is_same(before, self.effective.get(node)):
                waiting.update(self._containers(tables, node))

    def _pool_members(self, tables: TableReads, anchors: Anchors, node: int, members: list[int]) -> Vector | None:
        moment = self._current_moment()
        self.composed += 1
        if asof.version_at(tables, node, moment) is None:
            return None
        vectors = (self.vector(tables, anchors, member) for member in members)
        return self._pool(self._anchor(tables, anchors, node), [each for each in vectors if each is not None])

    def _anchor(self, tables: TableReads, anchors: Anchors, node: int) -> Vector | None:
        seen = asof.version_at(tables, node, self._current_moment())
        return None if seen is None else anchors(node, seen.number)

    def _members(self, tables: TableReads, node: int) -> list[int]:
        """The members at the moment, each once, in log order; also schedules when their validities begin or end."""
        moment = self._current_moment()
        found: set[int] = set()
        turns: set[int] = set()
        for place, row in tables.outgoing(node, CONTAINS_CODE):
            if not asof.edge_known(row, moment.seq):
                continue
            validity = asof.edge_validity(tables, place, row, moment.seq)
            turns.update(_validity_bounds(validity))
            turns.update(_version_bounds(asof.versions_as_of(tables, row.target, moment.seq)))
            if validity.contains(moment.valid):
                found.add(row.target)
        if turns:
            turns.update(_version_bounds(asof.versions_as_of(tables, node, moment.seq)))
        for turn in ((time, node) for time in turns if moment.valid < time < times.FOREVER):
            if turn not in self._scheduled_set:
                self._scheduled_set.add(turn)
                heapq.heappush(self._scheduled, turn)
        return sorted(found)

    def _containers(self, tables: TableReads, node: int) -> list[int]:
        """The worlds that contain a node now or later, without the root, which is about everything."""
        if node == self._top:
            return []
        incoming = tables.incoming(node, CONTAINS_CODE)
        known = (place.source for place, row in incoming if asof.edge_known(row, self._current_moment().seq))
        return [container for container in known if container != ROOT_NODE]

    def _members_first(self, tables: TableReads, touched: set[int]) -> Iterator[int]:
        """Some nodes and all their containers, each container after its members among them."""
        done: set[int] = set()
        outside_in: list[int] = []
        for start in sorted(touched):
            path = [(start, iter(self._containers(tables, start)))] if start not in done else []
            done.add(start)
            while path:
                following = next((each for each in path[-1][1] if each not in done), None)
                if following is None:
                    outside_in.append(path.pop()[0])
                else:
                    done.add(following)
                    path.append((following, iter(self._containers(tables, following))))
        return reversed(outside_in)

    def _current_moment(self) -> asof.Moment:
        assert self.moment is not None
        return self.moment


def _touched_nodes(tables: TableReads, events: Iterable[Event]) -> Iterator[int]:
    """The nodes that events name, and both ends of the edges that they name."""
    for event in events:
        for name in event.__struct_fields__:
            value = getattr(event, name)
            if not isinstance(value, bytes):
                continue
            if len(value) == ids.LINEAGE_BYTES:
                node = tables.node_of(value)
                if node is not None:
                    yield node
            elif name == "edge":
                place = tables.place_of(value)
                if place is not None:
                    yield place.source
                    yield tables.edge(place).target


def _version_bounds(versions: Iterable[asof.SeenVersion]) -> Iterator[int]:
    """The times at which versions begin and end."""
    for seen in versions:
        yield from _validity_bounds(seen.validity)


def _validity_bounds(validity: times.Validity) -> Iterator[int]:
    yield from (time for piece in validity.pieces or (validity,) for time in (piece.start, piece.end))


def is_same(one: Vector | None, other: Vector | None) -> bool:
    """True if two vectors are the same to the last bit."""
    return one is other if one is None or other is None else one.tobytes() == other.tobytes()


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

Pool = Callable[["Vector | None", "Sequence[Vector]"], "Vector | None"]
"""Pools a world's content anchor, if it has one, and its members' effective vectors to one vector."""

ATTENTION: Final = "attention"
MEAN: Final = "mean"


def mean_pool(anchor: Vector | None, members: Sequence[Vector]) -> Vector | None:
    """The direction of the mean of anchor and members (the paper's v1, equation 6).

    ``None`` if there is none.
    """
    import numpy as np

    given = [*members] if anchor is None else [anchor, *members]
    if not given:
        return None
    total = np.add.reduce(np.asarray(given, dtype=np.float64), axis=0)
    return _unit_vector(total / len(given))


def attention_pool(anchor: Vector | None, members: Sequence[Vector]) -> Vector | None:
    """Pool the anchor with its members, weighted by attention (v2, equations 7, 8).

    The result is the direction of the anchor plus the members, each weighted by how much they are about the same. A
    world without an anchor asks nothing of its members, so all of them weigh the same.
    """
    import numpy as np

    if anchor is None or not members:
        return mean_pool(anchor, members)
    asked = np.asarray(anchor, dtype=np.float64)
    values = np.asarray(members, dtype=np.float64)
    scores = np.add.reduce(values * asked, axis=1) / math.sqrt(asked.size)
    weights = np.exp(scores - scores.max())
    weights /= np.add.reduce(weights)
    return _unit_vector(asked + np.add.reduce(values * weights[:, None], axis=0))


def _unit_vector(total: NDArray[np.float64]) -> Vector | None:
    """The vector of length 1 in a direction; ``None`` if it has none."""
    import numpy as np

    length = math.sqrt(float(np.add.reduce(total * total)))
    return None if length < _NOTHING else np.asarray(total / length, dtype=np.float32)


_NOTHING: Final = 1e-9
"""Shorter sums are what is left of rounding where vectors cancel out."""

POOLS: Final[dict[str, Pool]] = {ATTENTION: attention_pool, MEAN: mean_pool}


def checked_pool(pool: object) -> str:
    """The name of a pool.

    Raises:
        InputError: it is none.
    """
    if not isinstance(pool, str) or pool not in POOLS:
        raise errors.InputError(f"The pool {errors.shown(pool)} is unknown", f"Give one of: {', '.join(POOLS)}")
    return pool
