"""Points of a write at which a process ends, a machine crashes, or another process acts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import lmdb
import pytest

from tests.support.faults.points import SEAMS, before
from worlddb.log.store import environment

Step = Callable[[str], None]

HELD = frozenset(
    {"locked", "begun", "Applier.rehash", "LmdbLog.append", "Tables.flush", "applied", "committed", "replaced"}
)
"""The points at which the writer has the lock between writers."""


class Fault(NamedTuple):
    """A fault, and the number of points until it happens."""

    kind: str
    after: int


class ProcessEnded(BaseException):
    """The end of a process; nothing in the engine catches it."""

    def __init__(self, point: str, *, durable: bool, image: Path | None) -> None:
        super().__init__(f"ended at {point}")
        self.point = point
        self.durable = durable
        """Whether a transaction had been committed since the fault was waited for."""
        self.image = image
        """The files as a machine that stopped there left them; ``None`` if only the process ended."""


class Points:
    """Counts passed points, and triggers the awaited fault."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        """The points since the fault was armed."""
        self._fault: Fault | None = None
        self._happen: Callable[[Fault, str], None] = _nothing

    def arm(self, fault: Fault | None, happen: Callable[[Fault, str], None]) -> None:
        """Await a fault: ``happen`` is called once with it, at its point."""
        self.passed = []
        self._fault, self._happen = fault, happen

    def disarm(self) -> Fault | None:
        """Stop waiting; returns the fault if it has not happened."""
        left, self._fault = self._fault, None
        return left

    @property
    def durable(self) -> bool:
        """Whether a transaction has been committed since the fault was armed."""
        return "committed" in self.passed

    def __call__(self, point: str) -> None:
        if self._fault is None:
            return
        self.passed.append(point)
        if len(self.passed) > self._fault.after:
            fault, self._fault = self._fault, None
            self._happen(fault, point)


def _nothing(fault: Fault, point: str) -> None:
    """Nothing happens."""


@contextmanager
def install_points(points: Step) -> Iterator[None]:
    """Call ``points`` at every point of every write in this process, and sync nothing meanwhile.

    What is left after a stop is a copy of the files as they were written, so that syncing would only take time; which
    writes a disk may lose is the matter of other tests.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "_skip_crash_point", points)
        for owner, name in SEAMS:
            patch.setattr(owner, name, before(owner, name, points))
        patch.setattr(lmdb, "open", _unsynced(lmdb.open))
        yield


def _unsynced(opener: Callable[..., Any]) -> Callable[..., Any]:
    def opened(*arguments: Any, **options: Any) -> Any:
        return opener(*arguments, **(options | {"sync": False, "metasync": False}))

    return opened


def image_of(folder: Path, into: Path) -> Path:
    """Copy the files of a store as they are now."""
    shutil.copytree(folder, into)
    return into
