"""One seed: actors over the engine and its model, until their turns are over; then everything is looked at once more.

python -m tests.support.simulation.run SEED      one seed with all that happened, a line a turn
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.model.strategies import TICK
from tests.support.simulation.believer import EVERY, Believer
from tests.support.simulation.config import BACKWARDS, DIES, STOPS, Config, draw_config
from tests.support.simulation.drawing import Drawing, is_repeated_erasure
from tests.support.simulation.engine import Engine, Request
from tests.support.simulation.keeper import Keeper
from tests.support.simulation.points import Fault, Points, install_points
from tests.support.simulation.reader import Reader
from tests.support.simulation.schedule import Actor, Schedule

AUTHORS = ("ada", "bob", "cleo", "dan")
_LINES_SHOWN = 12
_POINTS_OF_A_WRITE = 9
_POINTS_OF_AN_ERASURE = 16
_POINTS_OF_A_CHORE = 4


class Result(NamedTuple):
    """The result of a run; two runs of one seed are equal in all of it."""

    seed: int
    seq: int
    chain: str
    root: str
    trace: str
    """The digest of everything that happened, in order."""
    seen: Counter[str]


class SeedFailed(AssertionError):
    """A failed seed: how to repeat it, and its last actions."""

    def __init__(self, seed: int, error: BaseException, lines: list[str]) -> None:
        told = "\n  ".join(lines[-_LINES_SHOWN:])
        super().__init__(
            f"seed {seed}: {type(error).__name__}: {error}\n"
            f"again: make soak SEED={seed} TESTS=tests/laws/test_simulation.py\n"
            f"in full: python -m tests.support.simulation.run {seed}\n  {told}"
        )


def simulate(seed: int) -> Result:
    """Run a seed from beginning to end.

    Raises:
        SeedFailed: the engine and the model disagreed, or the engine failed.
    """
    return _simulate(seed, [])


def _simulate(seed: int, lines: list[str]) -> Result:
    memory = Path("/dev/shm")
    points = Points()
    with (
        tempfile.TemporaryDirectory(
            prefix="worlddb-simulation-", dir=memory if os.access(memory, os.W_OK) else None
        ) as top,
        install_points(points),
    ):
        try:
            return _Simulation(Path(top), seed, points, lines).run()
        except (Exception, pytest.fail.Exception) as error:
            raise SeedFailed(seed, error, lines) from error


class _Simulation:
    """The actors of one run, and what they share."""

    def __init__(self, top: Path, seed: int, points: Points, lines: list[str]) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.config: Config = draw_config(self.rng)
        self.lines = lines
        self.seen: Counter[str] = Counter()
        self.engine = Engine(top, seed, AUTHORS[: self.config.writers + 1], points, self.seen)
        self.schedule = Schedule(self.engine.clock)
        self.drawing = Drawing(self.rng, self.config.commands)
        self.readers = [
            Reader(self.engine, self.rng, self.drawing, handle % len(self.engine.handles))
            for handle in range(self.config.readers)
        ]
        self.requests = 0
        self.say(f"{self.config}")

    def say(self, line: str) -> None:
        self.lines.append(f"{self.engine.clock.value} {line}")

    def run(self) -> Result:
        try:
            self._start()
            self.schedule.run(self.config.turns)
            self._end()
            head = self.engine.db().head()
            root = self.engine.db().view().hash()
        finally:
            self.engine.close()
        trace = hashlib.sha256("\n".join(self.lines).encode()).hexdigest()
        return Result(self.seed, head.seq, head.chain, root, trace, self.seen)

    def _start(self) -> None:
        self.engine.in_between = lambda durable: self.rng.choice(self.readers).look_in_between(durable)
        for handle in range(self.config.writers):
            self.schedule.start(self._writer(handle), self._pause())
        for number, reader in enumerate(self.readers):
            self.schedule.start(self._reader(number, reader), self._pause())
        if self.config.chores:
            self.schedule.start(self._keeper(), 4 * TICK)
        if BACKWARDS in self.config.faults:
            self.schedule.start(self._setter(), 8 * TICK)

    def _end(self) -> None:
        """Answer all waiting actors, compare everything, change beliefs, and verify the store."""
        for key in list(self.engine.unanswered):
            self.engine.ask_again(key)
        self.engine.check_present()
        self.engine.compared(self.engine.db().view()).everything()
        for reader in self.readers:
            reader.look_at_kept()
        if self.seed % EVERY == 0:
            Believer(self.engine, self.seed, self.say).live()
        found = self.engine.db().verify(deep=True)
        assert found.ok, found.findings[:3]

    def _pause(self) -> int:
        return self.rng.choice((0, 1, TICK, TICK, 2 * TICK))

    # -- actors

    def _writer(self, handle: int) -> Actor:
        """Decide on a request, send it a little later, and again later if nobody answered."""
        while True:
            batch = self.rng.random() < self.config.batched
            commands = self.drawing.request(self.engine.state, batch=batch)
            yield self._pause()
            if (not commands and not batch) or is_repeated_erasure(commands, self.engine.state):
                continue
            self.requests += 1
            is_keyed = self.rng.random() < self.config.keyed and all(each.method != "accessed" for each in commands)
            key = f"request {self.requests}" if is_keyed else None
            asked = Request(commands, batch, key, handle)
            yield from self._asking(asked)
            if self.engine.retries and self.rng.random() < 0.1:
                self._retry(handle)
                yield self._pause()

    def _asking(self, asked: Request) -> Iterator[int]:
        fault = self._fault(asked)
        self.say(f"{AUTHORS[asked.handle]} asks under {asked.key} for {asked.commands}, fault {fault}")
        while not self.engine.submit(asked, fault):
            self.say(f"no answer; the log ends at {self.engine.head}")
            yield 3 * self._pause()
            if asked.key is None:
                return
            if asked.key in self.engine.unanswered:
                self.engine.ask_again(asked.key)
                return
            if is_repeated_erasure(asked.commands, self.engine.state):
                return
            fault = None
        self.say(f"the log ends at {self.engine.head}, its root is {self.engine.hashes[-1][0][:12]}")

    def _fault(self, asked: Request) -> Fault | None:
        """Draw the fault of a write and its point; erasures get most."""
        erases = any(command.method in ("erase", "erase_literal") for command in asked.commands)
        for kind, share in self.config.faults.items():
            if kind != BACKWARDS and self.rng.random() < (3 * share if erases else share):
                return Fault(kind, self.rng.randrange(_POINTS_OF_AN_ERASURE if erases else _POINTS_OF_A_WRITE))
        return None

    def _crash(self, *kinds: str) -> Fault | None:
        """Draw the end of one or all processes, during something other than a write."""
        for kind in kinds:
            if self.rng.random() < self.config.faults.get(kind, 0.0):
                return Fault(kind, self.rng.randrange(_POINTS_OF_A_CHORE))
        return None

    def _retry(self, handle: int) -> None:
        key = self.rng.choice(list(self.engine.retries))
        self.say(f"{AUTHORS[handle]} asks again under {key}")
        self.engine.retry(key, handle)

    def _reader(self, number: int, reader: Reader) -> Actor:
        while True:
            done = self.engine.carry_out(reader.look, self._crash(DIES, STOPS), reader.handle)
            self.say(f"reader {number}: {done}")
            yield 2 * self._pause() + 1

    def _keeper(self) -> Actor:
        keeper = Keeper(self.engine, self.rng, self.config.chores)
        while True:
            self.say(f"keeper: {self.engine.carry_out(keeper.work, self._crash(STOPS), 0)}")
            yield self.rng.randint(3, 12) * TICK

    def _setter(self) -> Actor:
        """Set everybody's clock back, and right again."""
        while True:
            self.schedule.skew = -self.rng.randint(0, 20) * TICK
            self.seen[BACKWARDS] += self.schedule.skew < 0
            self.say(f"the clock is {self.schedule.skew} off")
            yield self.rng.randint(2, 10) * TICK


def main() -> None:
    """Show all of one seed."""
    lines: list[str] = []
    try:
        result = _simulate(int(sys.argv[1]), lines)
    finally:
        print(*lines, sep="\n")
    print(result)


if __name__ == "__main__":
    main()
