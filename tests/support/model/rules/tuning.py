"""The model of thresholds that are set for worlds, by counting steps."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.support.model.draft import Draft
from tests.support.model.ontology import steps_up
from tests.support.model.rules.edge_rules import refuse
from tests.support.model.state import ROOT, State
from worlddb import Thresholds


class Holding(NamedTuple):
    """The least fuzzy score that holds in a world, and the world it was set for, if any."""

    fuzzy: float
    world: int | None


class Tuning(Draft):
    """The commands that set and take back."""

    def _tune(self, thresholds: Thresholds, world: Any = None, type: str = "", why: str = "") -> int:
        where = ROOT if world is None else self.world(world)
        known = self.state.tunings.get((where, type))
        if known is None or known[0] != thresholds.fuzzy:
            self.state.tunings[where, type] = thresholds.fuzzy, self.seq
            self.changed = True
        return where

    def _untune(self, world: Any = None, type: str = "", why: str = "") -> int:
        where = ROOT if world is None else self.world(world)
        if self.state.tunings.pop((where, type), None) is None:
            refuse("not_tuned")
        self.changed = True
        return where


def holding(state: State, number: int, type_name: str) -> Holding:
    """What holds for a candidate: fewest steps up, then its own type, then the earliest commit."""
    steps = steps_up({world: set(state.containers(world)) for world in state.worlds}, number)
    ranked = sorted(
        (steps[world], name == "", seq, world, fuzzy)
        for (world, name), (fuzzy, seq) in state.tunings.items()
        if world in steps and name in ("", type_name)
    )
    return Holding(ranked[0][4], ranked[0][3]) if ranked else Holding(Thresholds().fuzzy, None)
