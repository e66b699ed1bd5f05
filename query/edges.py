"""The edges of worlds, as a moment or a span sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import MAX_TYPE_BYTES, checked_text
from worlddb.projections.tables.reads.asof import edge_known
from worlddb.query import build, records
from worlddb.query.period import Period, edge_in
from worlddb.query.sight import Sight

DIRECTIONS: Final = ("both", "out", "in")


class Asked(NamedTuple):
    """Which edges are asked for: of a type, in a direction, closed ones too, of a span."""

    type: str | None
    direction: str
    include_superseded: bool
    period: Period | None

    def check(self) -> None:
        """See that it can be asked at all.

        Raises:
            InputError: the type is no text, or there is no such direction.
        """
        if self.type is not None:
            checked_text(self.type, "type", MAX_TYPE_BYTES)
        if self.direction not in DIRECTIONS:
            raise InputError(f"The direction is {self.direction!r:.80}", f"Give one of: {', '.join(DIRECTIONS)}")


def edges_of(sight: Sight, nodes: Iterable[int], asked: Asked) -> list[records.Edge]:
    """The edges of any of the worlds, each once, in log order."""
    tables, moment = sight.tables, sight.place.moment
    code = None if asked.type is None else tables.type_code(asked.type)
    if asked.type is not None and code is None:
        return []
    found: dict[int, records.Edge] = {}
    for node in nodes:
        sides = [tables.outgoing(node, code, known_by=moment.seq)] if asked.direction != "in" else []
        if asked.direction != "out":
            sides.append(tables.incoming(node, code, known_after=moment.seq, known_by=moment.seq))
        for place, row in (pair for side in sides for pair in side):
            if not edge_known(row, moment.seq):
                continue
            if asked.include_superseded or edge_in(tables, place, row, moment, asked.period):
                found[place.edge] = build.edge(sight, place, row, moment)
    return [found[number] for number in sorted(found)]
