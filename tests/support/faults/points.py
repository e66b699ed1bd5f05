"""Points at which a run can be cut: steps of a write, and calls between its parts."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from typing import Any

from worlddb.log.store import environment
from worlddb.log.store.lock import WriterLock
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes import text_index
from worlddb.projections.indexes.text_index import TextIndex
from worlddb.projections.tables.apply.apply import Applier
from worlddb.projections.tables.storage.rows import Tables

Step = Callable[[str], None]

STEPS = ("locked", "begun", "applied", "committed")
"""The environment's own points, in the order in which a write passes them."""

SCRUB_STEPS = ("scrub", "forgotten", "copied", "replaced", "settled")
"""The points that an erasure passes after its commit, while it removes its bytes from the files."""

EXIT_STATUS = 86
"""What a process that cut itself short exits with."""

SEAMS: tuple[tuple[Any, str], ...] = (
    (WriterLock, "_write_holder"),
    (Applier, "rehash"),
    (Tables, "flush"),
    (Tables, "clear"),
    (LmdbLog, "append"),
    (TextIndex, "apply_up_to"),
    (text_index, "_skip_indexed"),
)


def install(step: Step) -> None:
    """Call ``step`` with a name at every point of every write; only in a process of its own."""
    environment._skip_crash_point = step  # type: ignore[assignment]
    for owner, name in SEAMS:
        setattr(owner, name, before(owner, name, step))


def before(owner: Any, name: str, step: Step) -> Callable[..., Any]:
    """Wrap a function to call a step before it."""
    function, called = getattr(owner, name), f"{owner.__name__.rpartition('.')[2]}.{name}"

    @functools.wraps(function)
    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        step(called)
        return function(*arguments, **keywords)

    return wrapped


class Cut:
    """A step function that ends the process at its ``at``-th call, counted from 1; 0 never does."""

    def __init__(self, at: int, how: str) -> None:
        self._at = at
        self._how = how
        self.passed: list[str] = []

    def __call__(self, name: str) -> None:
        self.passed.append(name)
        if len(self.passed) == self._at:
            if self._how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(EXIT_STATUS)
