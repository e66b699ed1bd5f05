"""What a world states, in the model: a set of times for each quad, as the page on statements has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.model.draft import Bad, Draft
from tests.support.model.lines import Pieces, subtract
from tests.support.model.rules.edge_rules import refuse
from tests.support.model.state import ROOT, Stated, World
from worlddb import InvalidInterval
from worlddb.log.model.times import ALWAYS, FOREVER

Quads = Sequence[tuple[str, ...]]


class OfStatements(Draft):
    """The commands about statements."""

    def _state(self, world: Any, statements: Quads, valid_from: int | None = None, valid_to: int | None = None) -> int:
        number = self.world(world)
        known = self.state.worlds[number]
        if number != ROOT and known.newest.erasure is not None:
            refuse("erased")
        start, end = self.now if valid_from is None else valid_from, FOREVER if valid_to is None else valid_to
        if end < start:
            raise Bad(InvalidInterval)
        for quad in statements:
            told = next((each for each in known.states if each.quad == quad), None)
            if told is None:
                told = Stated(quad, self.new_number(), ()) if start < end else Stated(quad, 0, ())
            known = self._put(number, known, told, _with(told.pieces, start, end))
        return number

    def _unstate(self, world: Any, statements: Quads, at: int | None = None) -> int:
        number = self.world(world)
        before = known = self.state.worlds[number]
        for told in [each for each in known.states if each.quad in statements]:
            known = self._put(number, known, told, subtract(told.pieces, ALWAYS if at is None else at, FOREVER))
        if known is not before:
            self.state.worlds[number] = known._replace(withdrawn=known.withdrawn.union(*statements))
        return number

    def _erase_literal(self, world: Any, literal: str, reason: str) -> int:
        number = self.world(world)
        known = self.state.worlds[number]
        if literal not in known.withdrawn and not any(literal in each.quad for each in known.states):
            refuse("literal_not_stated")
        self.struck, self.changed = (number, literal), True
        return number

    def _put(self, number: int, known: World, told: Stated, pieces: Pieces) -> World:
        if pieces != told.pieces:
            others = tuple(each for each in known.states if each.number != told.number)
            known = self.state.worlds[number] = known._replace(states=(*others, told._replace(pieces=pieces)))
            self.changed = True
        return known


def _with(pieces: Pieces, start: int, end: int) -> Pieces:
    """Spans, and a window beside them."""
    if start >= end:
        return pieces
    joined: list[tuple[int, int]] = []
    for one, until in sorted((*pieces, (start, end))):
        if joined and one <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], until)
        else:
            joined.append((one, until))
    return tuple(joined)
