"""Requests drawn by a seeded generator, as templates of the model."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.support.model.commands import Command
from tests.support.model.erasing import reaches_erased
from tests.support.model.rules.edge_rules import TYPES
from tests.support.model.state import State
from tests.support.model.strategies import TICK, AnyType, CommandTemplate, Pick, TypeOf
from worlddb.log.model.clock import RELEASED_AT

NAMES = ("Ada", "ada", " Ada  ", "Bob", "Lovelace", "Tool", "")
KINDS = ("Person", "Person", "Type", "Tool", "Summary")
WORDS = ("heron", "lantern", "quarry")
"""What texts are made of, and what recalls ask for."""
ALIASES = ("Ada", "Lovelace", "lovelace", "Bob")
SAYS: tuple[dict[str, int], ...] = ({}, {}, {"page": 7})
MARK = "mark{}x"
"""A text that stands in one place only, so that it can be looked for in files once that was erased."""
_ANY = 52
"""What makes a pick one of all that are of its kind."""


SUBJECTS = ("<urn:x:a>", "<urn:x:b>")
"""What statements are about."""
RESTING = ("derived_from", "depends_on", "created_from")
"""By what worlds rest on others: drawn more often, so that something falls with what is withdrawn."""


class Drawing:
    """Draws requests by the frequencies of a configuration."""

    def __init__(self, rng: random.Random, shares: dict[str, int]) -> None:
        self._rng = rng
        self._names = list(shares)
        self._shares = list(shares.values())
        self._marks = 0

    def request(self, state: State, *, batch: bool) -> list[Command]:
        """Draw commands for a state; none if the draw has no target there."""
        count = self._rng.randint(0, 4) if batch else 1
        recipes = [self._recipe() for _ in range(count)]
        if batch:
            recipes = [recipe for recipe in recipes if recipe.method not in ("erase", "erase_literal", "accessed")]
        if not all(recipe.is_possible(state) for recipe in recipes):
            return []
        return [recipe.to_command(state, position) for position, recipe in enumerate(recipes)]

    def moment(self) -> int:
        """One of the few times that all actions use."""
        return RELEASED_AT + self._rng.randint(-12, 24) * TICK

    def mark(self) -> str:
        """A word that occurs nowhere else."""
        self._marks += 1
        return MARK.format(self._marks)

    def _recipe(self) -> CommandTemplate:
        (name,) = self._rng.choices(self._names, self._shares)
        made = _METHODS[name](self)
        assert isinstance(made, CommandTemplate)
        return made

    # -- parts

    def _pick(self, kind: str) -> Pick:
        """Half of the time any, otherwise as the model's strategies have it: mostly one of a few."""
        which = self._rng.choice((_ANY, self._rng.randrange(64)))
        return Pick(kind, 64 * self._rng.randrange(1_000) + which)

    def _text(self) -> str:
        drawn = self._rng.random()
        if drawn < 0.2:
            return ""
        return " ".join([*self._rng.choices(WORDS, k=self._rng.randint(1, 3)), *([self.mark()] if drawn < 0.5 else [])])

    def _maybe(self, share: float, **fields: Callable[[], Any]) -> dict[str, Any]:
        return {name: draw() for name, draw in fields.items() if self._rng.random() < share}

    def _artifacts(self) -> dict[str, Any]:
        """What ``attach`` makes of one or two artifacts."""
        names = self._rng.sample(("data.csv", "plan.pdf"), self._rng.randint(1, 2))
        return {"artifacts": {name: {"location": f"s3://{self.mark()}"} for name in names}}

    def _times(self) -> dict[str, Any]:
        return self._maybe(
            0.3,
            valid_from=self.moment,
            # Mostly after the beginning, but not always.
            valid_to=lambda: self._rng.choice((None, RELEASED_AT + self._rng.randint(0, 48) * TICK)),
        )

    def _aliases(self) -> tuple[str, ...]:
        return tuple(self._rng.sample(ALIASES, self._rng.randint(1, 2)))

    def _why(self) -> dict[str, Any]:
        return self._maybe(0.2, why=self.mark)

    # -- commands

    def _create(self) -> CommandTemplate:
        rng = self._rng
        optional = self._maybe(
            0.35,
            aliases=self._aliases,
            world=lambda: self._pick("world"),
            key=lambda: f"k{rng.randint(1, 3)}",
            source=lambda: rng.choice(SAYS),
            resolve=lambda: rng.random() < 0.5,
            revive=lambda: rng.random() < 0.5,
            anew=lambda: rng.random() < 0.5,
            properties=self._artifacts,
        )
        needed = {"type": rng.choice(KINDS), "name": rng.choice(NAMES), "content": self._text()}
        return CommandTemplate("create", needed | optional | self._times() | self._why())

    def _revise(self) -> CommandTemplate:
        rng = self._rng
        changes = self._maybe(
            0.4, type=lambda: rng.choice(KINDS), name=lambda: rng.choice(NAMES), source=lambda: rng.choice(SAYS)
        ) | self._maybe(0.2, properties=self._artifacts)
        given = {"ref": self._pick("world"), "content": self._text()}
        later = self._maybe(0.1, replace_later=lambda: True)
        return CommandTemplate("revise", given | changes | later | self._times() | self._why())

    def _retire(self) -> CommandTemplate:
        given = {"ref": self._pick("world")} | self._ending() | self._maybe(0.2, members=lambda: True)
        return CommandTemplate("retire", given | self._why())

    def _retire_edge(self) -> CommandTemplate:
        return CommandTemplate("retire", {"ref": self._pick("edge")} | self._ending() | self._why())

    def _ending(self) -> dict[str, Any]:
        later = RELEASED_AT + self._rng.randint(0, 48) * TICK
        return self._maybe(0.5, at=self.moment) | self._maybe(0.3, valid_to=lambda: later)

    def _reassert(self) -> CommandTemplate:
        return CommandTemplate(
            "reassert", {"ref": self._pick("world")} | self._maybe(0.5, content=self._text) | self._times()
        )

    def _link(self) -> CommandTemplate:
        rng = self._rng
        ends = {
            "source": self._pick("world"),
            "type": rng.choice(RESTING) if rng.random() < 0.25 else AnyType(rng.randrange(len(TYPES))),
            "target": self._pick("world"),
        }
        optional = self._maybe(
            0.3,
            home=lambda: self._pick("world"),
            key=lambda: f"e{rng.randint(1, 2)}",
            properties=lambda: {"said": self.mark()},
        )
        return CommandTemplate("link", ends | optional | self._times() | self._why())

    def _again(self) -> CommandTemplate:
        """An edge between the ends of another one, either way round."""
        drawn, sides = self._rng.randrange(100), ["source", "target"]
        self._rng.shuffle(sides)
        one, other = (Pick(f"edge's {side}", drawn) for side in sides)
        return CommandTemplate("link", {"source": one, "type": TypeOf(drawn), "target": other})

    def _identity(self) -> CommandTemplate:
        ends = {"source": self._pick("world"), "type": "same_as", "target": self._pick("world")}
        return CommandTemplate("link", ends | self._maybe(0.3, properties=lambda: {"said": self.mark()}) | self._why())

    def _decide(self) -> CommandTemplate:
        method = self._rng.choice(("accept", "accept", "reject", "undo"))
        status = "accepted" if method == "undo" else "pending"
        return CommandTemplate(method, {"proposal": self._pick(f"{status} proposal")} | self._why())

    def _unlink(self) -> CommandTemplate:
        return CommandTemplate("unlink", {"edge": self._pick("edge")} | self._why())

    def _move(self) -> CommandTemplate:
        drawn = self._rng.randrange(100)
        ends = [Pick("edge's source", drawn), Pick("edge's target", drawn)]
        some = [self._pick("world") for _ in range(self._rng.randint(1, 3))]
        given = {"refs": self._rng.choice((ends, some)), "to": self._pick("world")}
        return CommandTemplate(
            "move", given | self._maybe(0.2, out_of=lambda: self._pick("world"), valid_from=self.moment)
        )

    def _alias(self) -> CommandTemplate:
        return CommandTemplate("alias", {"ref": self._pick("world"), "aliases": self._aliases()})

    def _unalias(self) -> CommandTemplate:
        return CommandTemplate("unalias", {"ref": self._pick("world"), "aliases": self._aliases()})

    def _tag(self) -> CommandTemplate:
        method = self._rng.choice(("tag", "tag", "tag", "untag"))
        given = {"ref": self._pick("world"), "tag": self._rng.choice(("published", "initial"))}
        version = self._maybe(0.4, version=lambda: self._rng.randint(1, 2)) if method == "tag" else {}
        return CommandTemplate(method, given | version | self._why())

    def _deprecate(self) -> CommandTemplate:
        return CommandTemplate(
            self._rng.choice(("deprecate", "undeprecate")), {"ref": self._pick("world")} | self._why()
        )

    def _use(self) -> CommandTemplate:
        return CommandTemplate("accessed", {"ref": self._pick("world"), "at": self.moment()})

    def _state(self) -> CommandTemplate:
        return CommandTemplate("state", self._statements() | self._times())

    def _unstate(self) -> CommandTemplate:
        return CommandTemplate("unstate", self._statements() | self._maybe(0.5, at=self.moment))

    def _statements(self) -> dict[str, Any]:
        """A world, and one or two of few statements, some of which say something that can be found."""
        rng = self._rng
        objects = ("<urn:x:a>", f'"{rng.choice(WORDS)}"', f'"{rng.choice(WORDS)} {self.mark()}"')
        quads = [(rng.choice(SUBJECTS), "<urn:x:p>", rng.choice(objects)) for _ in range(rng.randint(1, 2))]
        return {"world": self._pick("world"), "statements": quads}

    def _erase(self) -> CommandTemplate:
        given = {"refs": self._pick("world"), "reason": "request 114"}
        given |= self._maybe(0.3, everywhere=lambda: True) | self._maybe(0.3, derived=lambda: False)
        return CommandTemplate("erase", given | self._maybe(0.9, members=lambda: self._rng.random() < 0.6))

    def _erase_literal(self) -> CommandTemplate:
        literal = f'"{self._rng.choice(WORDS)}"'
        return CommandTemplate(
            "erase_literal", {"world": self._pick("world"), "literal": literal, "reason": "request 115"}
        )

    def _nonsense(self) -> CommandTemplate:
        return CommandTemplate("link", {"source": self._pick("world"), "type": "knows", "target": self._pick("world")})


_METHODS: dict[str, Callable[[Drawing], CommandTemplate]] = {
    "create": Drawing._create,
    "revise": Drawing._revise,
    "retire": Drawing._retire,
    "retire an edge": Drawing._retire_edge,
    "reassert": Drawing._reassert,
    "link": Drawing._link,
    "link again": Drawing._again,
    "say that two are one": Drawing._identity,
    "decide": Drawing._decide,
    "unlink": Drawing._unlink,
    "move": Drawing._move,
    "alias": Drawing._alias,
    "unalias": Drawing._unalias,
    "tag": Drawing._tag,
    "deprecate": Drawing._deprecate,
    "use": Drawing._use,
    "state": Drawing._state,
    "take a statement back": Drawing._unstate,
    "erase": Drawing._erase,
    "erase a literal": Drawing._erase_literal,
    "nonsense": Drawing._nonsense,
}
"""How each command of :data:`tests.support.simulation.config.COMMANDS` is drawn."""


def is_repeated_erasure(commands: list[Command], state: State) -> bool:
    """True if a command erases a world without a text, which the model does not cover."""
    erasures = [command.arguments for command in commands if command.method == "erase"]
    return any(reaches_erased(state, getattr(given["refs"], "number", -1), given.get("members")) for given in erasures)
