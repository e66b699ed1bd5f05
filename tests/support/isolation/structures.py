"""Random structures: nested and shared worlds, with edges and moves across all borders."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.support.model.attempt import Attempt
from tests.support.model.commands import Command, Known, Nth
from tests.support.model.draft import Bad
from tests.support.model.rules.edge_rules import TYPES, Refuse
from tests.support.model.session import AUTHORS, Session
from tests.support.model.state import ROOT
from worlddb import SeededEntropy
from worlddb.log.model.clock import RELEASED_AT

NAMES: Final = ("Ada", "ADA ", "Bob", "Tool", "Lovelace")
TYPE_NAMES: Final = ("Person", "Type", "Tool")
CONTENTS: Final = ("", "red green", "red red blue", "blue and a green boat", "boat")
TICK: Final = 1_000
_BATCH: Final = 6


class CrowdedEntropy(SeededEntropy):
    """Gives most lineages one of three beginnings, so that short prefixes are often ambiguous."""

    def bytes(self, count: int) -> bytes:
        drawn = super().bytes(count)
        return bytes([0xAB, 0xC0 | drawn[0] % 3]) + drawn[2:] if count == 16 and drawn[1] % 4 else drawn


class Structure(Session):
    """A store that was filled at random, and the model of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed, Counter(), CrowdedEntropy(seed))
        self._rng = random.Random(seed)
        self._fill()

    def _fill(self) -> None:
        rng = self._rng
        count = rng.randint(6, 10)
        self.write([self._create(position) for position in range(count)], batch=True)
        for draw, times in (
            (self._shared, 3),
            (self._related, rng.randint(8, 14)),
            (self._changed, rng.randint(4, 8)),
            (self._related, 3),
            (self._changed, 3),
        ):
            self._write_some(draw, times)
            self.clock.advance(rng.randint(1, 4) * TICK)

    def _write_some(self, draw: Callable[[], Command], times: int) -> None:
        """Write commits that the model does not refuse; one refusal would undo a whole batch."""
        pending: list[Command] = []
        for _ in range(times):
            command = draw()
            if self._goes([*pending, command]):
                pending.append(command)
            if len(pending) == _BATCH:
                self.write(pending, batch=True)
                pending = []
        if pending:
            self.write(pending, batch=True)

    def _goes(self, commands: list[Command]) -> bool:
        now = max(self.clock.value, self.times[-1] + 1)
        try:
            Attempt(self.state, self.head + 1, now, AUTHORS[0], self.next_number).run(commands)
        except (Refuse, Bad):
            return False
        return True

    # -- what is drawn

    def _world(self) -> Known:
        return Known(self._rng.choice([number for number in self.state.worlds if number != ROOT]))

    def _moment(self) -> int:
        return RELEASED_AT + self._rng.randint(-4, 10) * TICK

    def _some(self, **arguments: Callable[[], Any]) -> dict[str, Any]:
        """Some of the optional arguments, a third of the time each."""
        return {name: draw() for name, draw in arguments.items() if self._rng.random() < 1 / 3}

    def _create(self, position: int) -> Command:
        rng = self._rng
        inside = {"world": Nth(rng.randrange(position))} if position and rng.random() < 0.8 else {}
        some = self._some(aliases=lambda: (rng.choice(NAMES),), valid_from=self._moment, why=lambda: "because")
        return Command(
            "create",
            {"type": rng.choice(TYPE_NAMES), "name": rng.choice(NAMES), "content": rng.choice(CONTENTS)}
            | inside
            | some,
        )

    def _shared(self) -> Command:
        ends = {"source": self._world(), "target": self._world()}
        known = [edge for _, edge in self.state.edges_of("contains") if edge.source != ROOT]
        if known and self._rng.random() < 1 / 4:
            # Who left, or will, comes back.
            again = self._rng.choice(known)
            ends = {"source": Known(again.source), "target": Known(again.target)}
            return Command(
                "link", ends | {"type": "contains", "valid_from": self._moment(), "valid_to": self._moment()}
            )
        return Command("link", ends | {"type": "contains"} | self._some(valid_from=self._moment, valid_to=self._moment))

    def _related(self) -> Command:
        some = self._some(home=self._world, valid_from=self._moment, why=lambda: "so", properties=lambda: {"page": 7})
        ends = {"source": self._world(), "type": self._rng.choice(TYPES), "target": self._world()}
        return Command("link", ends | some)

    def _changed(self) -> Command:
        rng, state = self._rng, self.state
        pending = [number for number, known in state.proposals.items() if known.status == "pending"]
        accepted = [number for number, known in state.proposals.items() if known.status == "accepted"]
        choices: list[Callable[[], Command]] = [
            lambda: Command("move", {"refs": [self._world()], "to": self._world()} | self._some(out_of=self._world)),
            lambda: Command("move", {"refs": [self._world()], "to": self._world()}),
            lambda: Command("unlink", {"edge": Known(rng.choice(list(state.edges)))}),
            lambda: Command("retire", {"ref": self._world()} | self._some(at=self._moment)),
            lambda: Command("retire", {"ref": self._world()} | self._some(at=self._moment, valid_to=self._moment)),
            lambda: Command(
                "retire",
                {"ref": Known(rng.choice(list(state.edges)))} | self._some(at=self._moment, valid_to=self._moment),
            ),
            lambda: Command(
                "revise",
                {"ref": self._world(), "content": rng.choice(CONTENTS)}
                | self._some(valid_from=self._moment, valid_to=self._moment),
            ),
            lambda: Command("alias", {"ref": self._world(), "aliases": (rng.choice(NAMES),)}),
            lambda: Command("reassert", {"ref": self._world()}),
        ]
        if pending:
            verb = rng.choice(["accept", "accept", "reject"])
            choices += [lambda: Command(verb, {"proposal": Known(rng.choice(pending))})] * 2
        if accepted:
            choices.append(lambda: Command("undo", {"proposal": Known(rng.choice(accepted))}))
        return rng.choice(choices)()


def containers_first(structure: Structure) -> Iterator[int]:
    """The worlds to look from: those that contain something now, and one that does not."""
    holding = [number for number in structure.state.worlds if number != ROOT and structure.state.members(number)]
    empty = [number for number in structure.state.worlds if not structure.state.members(number)]
    yield from holding
    yield from empty[:1]
