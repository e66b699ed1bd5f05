"""Drive engine and model through crashes, and keep them in the same state."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from tests.support.model.attempt import Attempt
from tests.support.model.commands import Command
from tests.support.model.session import Retry, Session
from tests.support.simulation.config import COMES, READS, STOPS
from tests.support.simulation.points import HELD, Fault, Points, ProcessEnded, image_of
from worlddb import Database, Receipt

_MARK = re.compile(r"mark\d+x")


class Request(NamedTuple):
    """A request, its ``handle``, and its ``key`` if it has one."""

    commands: list[Command]
    batch: bool
    key: str | None
    handle: int


class NoAnswer(NamedTuple):
    """A committed request whose receipt never arrived."""

    asked: Request
    attempt: Attempt


class Engine(Session):
    """A session whose processes and machine can fail in the middle of a write."""

    def __init__(self, top: Path, seed: int, authors: tuple[str, ...], points: Points, seen: Counter[str]) -> None:
        self.authors = authors
        self.top = top
        self.points = points
        self.life = 0
        """How often the machine has been started again."""
        self.unanswered: dict[str, NoAnswer] = {}
        self.in_between: Callable[[bool], None] = _nobody
        """Who reads in the middle of a write; called with whether it is durable already."""
        super().__init__(top / "life-0", seed, seen)

    def opened(self, author: str) -> Database:
        # Nobody waits: whoever comes in the middle of another's write is told so at once.
        return worlddb.open(self.folder, author=author, timeout_seconds=0.0, clock=self.clock, entropy=self.entropy)

    # -- asking

    def submit(self, asked: Request, fault: Fault | None) -> bool:
        """Send one commit to engine and model; false if no answer arrived."""
        self.points.arm(fault, lambda due, point: self._happen(due, point, asked.handle))
        marks = (
            self._marks() if any(command.method in ("erase", "erase_literal") for command in asked.commands) else set()
        )
        try:
            self.write(asked.commands, batch=asked.batch, key=asked.key, handle=asked.handle)
        except ProcessEnded as ended:
            self._after(ended, asked)
            self._check_gone(marks)
            return False
        self._check_gone(marks)
        return True

    def carry_out(self, work: Callable[[], str], fault: Fault | None, handle: int) -> str:
        """Do something other than a write while the fault may happen; return it in words."""
        self.points.arm(fault, lambda due, point: self._happen(due, point, handle))
        try:
            return work()
        except ProcessEnded as ended:
            self.recover(ended, handle)
            if self.db().head().seq > self.head:
                # Of all that is done beside writing, another look at who is who is what writes to the log.
                assert ended.durable
                self.learn_reclustering(handle)
            self.check_present()
            return f"{ended}, and began anew"
        finally:
            self.points.disarm()

    def ask_again(self, key: str) -> None:
        """Repeat an unanswered request under its key, which returns the first receipt."""
        asked, attempt = self.unanswered.pop(key)
        before = self.head
        receipt = self.ask_repeated(asked.commands, asked.batch, key, asked.handle)
        assert self.db(asked.handle).head().seq == before, "a retry was committed a second time"
        self.check_committed(receipt, attempt, asked.commands)
        self.retries[key] = Retry(asked.commands, asked.batch, receipt)
        self.seen["asked again"] += 1

    def _ask(self, commands: list[Command], batch: bool, key: str | None, handle: int) -> Receipt:
        """Only the first attempt meets the fault: by the second, the model has moved on."""
        try:
            return super()._ask(commands, batch, key, handle)
        finally:
            self.points.disarm()

    # -- faults

    def _happen(self, fault: Fault, point: str, handle: int) -> None:
        self.seen[fault.kind] += 1
        self.seen[f"{fault.kind} at {point}"] += 1
        durable = self.points.durable
        if fault.kind == COMES:
            if point in HELD:
                other = self.db(self.another(handle))
                with pytest.raises(worlddb.WriterBusy):
                    other.create("Person", "nobody", content="never written")
        elif fault.kind == READS:
            self.in_between(durable)
        else:
            stops = fault.kind == STOPS
            image = image_of(self.folder, self.top / f"life-{self.life + 1}") if stops else None
            raise ProcessEnded(point, durable=durable, image=image)

    def _after(self, ended: ProcessEnded, asked: Request) -> None:
        """Restart, and check that exactly what was committed is there."""
        self.recover(ended, asked.handle)
        attempt, expected = self.predict(asked.commands, asked.handle)
        is_new = ended.durable and expected is None and attempt.changed
        found = self.db().head().seq
        assert found == self.head + is_new, f"the log ends at {found} after an end at {ended.point!r}"
        if is_new:
            self.keep(attempt, asked.commands, asked.handle)
            if asked.key is not None:
                self.unanswered[asked.key] = NoAnswer(asked, attempt)
        self.check_present()

    def recover(self, ended: ProcessEnded, handle: int) -> None:
        """Open what has ended again: one handle, or all of them on the files of a crashed machine."""
        if ended.image is None:
            self.handles[handle].close()
            self.handles[handle] = self.opened(self.authors[handle])
            return
        self.close()
        shutil.rmtree(self.folder)
        self.folder, self.life = ended.image, self.life + 1
        self.open()

    # -- erasures

    def _marks(self) -> set[str]:
        """The unique texts that still exist."""
        return {mark for state in self.states[-1:] for mark in _MARK.findall(repr(state))}

    def _check_gone(self, before: set[str]) -> None:
        gone = before - self._marks()
        if gone:
            assert find_traces(self.folder, gone) == [], "an erasure left something"
            self.seen["texts gone"] += len(gone)


def _nobody(durable: bool) -> None:
    """No reader."""
