"""What a run is made of. Each seed draws which commands, faults and chores there are at all, and how often (swarm
testing: what never happens beside some other thing is as telling as what does)."""

from __future__ import annotations

import random
from typing import NamedTuple

TURNS = (40, 110)
"""How many turns the actors have in all."""
WRITERS = (1, 3)
READERS = (1, 2)

COMMANDS = {
    "create": 10,
    "revise": 5,
    "retire": 3,
    "retire an edge": 2,
    "reassert": 2,
    "link": 8,
    "link again": 3,
    "say that two are one": 3,
    "decide": 5,
    "unlink": 3,
    "move": 4,
    "alias": 3,
    "unalias": 2,
    "tag": 3,
    "deprecate": 2,
    "use": 3,
    "state": 4,
    "take a statement back": 2,
    "erase": 2,
    "erase a literal": 2,
    "nonsense": 2,
}
"""Commands, and how often each is asked for where it is at all."""

DIES = "a process dies"
STOPS = "the machine stops"
COMES = "another writer comes"
READS = "somebody reads"
BACKWARDS = "the clock is set back"
FAULTS = (DIES, STOPS, COMES, READS, BACKWARDS)
"""What can come in the middle of a write, and between writes."""

CHORES = (
    *("rebuild the tables", "rebuild all", "reopen", "replay", "back up"),
    *("verify", "lose the indexes", "catch up", "snapshot", "look again"),
)
"""What whoever keeps the store does now and then."""

_ALWAYS = frozenset({"create", "revise", "link"})


class Config(NamedTuple):
    """The settings drawn from one seed."""

    turns: int
    writers: int
    readers: int
    commands: dict[str, int]
    keyed: float
    """The share of requests that have an idempotency key."""
    batched: float
    faults: dict[str, float]
    """The faults that there are, with the share of writes that meet each."""
    chores: tuple[str, ...]


def draw_config(rng: random.Random) -> Config:
    """Draw a configuration; all but three commands are in every other run."""
    commands = {name: often for name, often in COMMANDS.items() if name in _ALWAYS or rng.random() < 0.6}
    return Config(
        turns=rng.randint(*TURNS),
        writers=rng.randint(*WRITERS),
        readers=rng.randint(*READERS),
        commands=commands,
        keyed=rng.choice((0.0, 0.5, 1.0)),
        batched=rng.choice((0.0, 0.2, 0.4)),
        faults={name: rng.choice((0.05, 0.2)) for name in FAULTS if rng.random() < 0.5},
        chores=tuple(name for name in CHORES if rng.random() < 0.4),
    )
