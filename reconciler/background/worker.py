"""A background thread that runs when it is nudged, the store's lease for such work, and guarded calls of models.

The process that holds the lease does the work; all others go on without it.
"""

import atexit
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from worlddb.log.model.clock import monotonic
from worlddb.log.model.errors import LimitExceeded, UnavailableError, WorldDBError
from worlddb.log.store import environment

PATIENCE_SECONDS: Final = 30.0
"""How long closing a store waits for the current work, and then for the thread."""
AGAIN_SECONDS: Final = 1.0
"""Delay before a retry while another process has the lease: it may have missed the last nudge."""
LULL_SECONDS: Final = 0.25
"""A pause in the nudges of this length counts as a lull."""
RESTS: Final = 3
"""How many times as long as the last step the thread rests, while nudges keep coming."""
LONGEST_REST_SECONDS: Final = 5.0
MAX_FAILURES: Final = 3
"""After this many failures in a row a run stops asking the model."""
MAX_TOLD: Final = 200
"""How many failures the result of a run lists."""

Given = TypeVar("Given")
Answer = TypeVar("Answer")


class ModelCaller:
    """Calls a caller's model for one world after another; a failure is recorded and does not stop the run."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._is_spent = False
        self._failed: dict[str, str] = {}

    @property
    def failed(self) -> tuple[tuple[str, str], ...]:
        """The first :data:`MAX_TOLD` failures, as (reference, reason)."""
        return tuple(islice(self._failed.items(), MAX_TOLD))

    def refuse(self, ref: str, why: str) -> None:
        """Record why a world got no answer."""
        self._failed[ref] = why

    def answer(self, ref: str, ask: Callable[[], Given], check: Callable[[Given], Answer]) -> Answer | None:
        """The checked answer for a world; ``None`` if that failed, or the model is no longer asked.

        ``LimitExceeded`` of ``ask`` says that what the caller allowed is spent, and ends the asking; of ``check`` it
        is an answer like any other that cannot be kept.
        """
        if self._is_spent or self._in_a_row >= MAX_FAILURES:
            return None
        try:
            given = ask()
        except LimitExceeded as error:
            self._is_spent = True
            self.refuse(ref, str(error))
            return None
        except Exception as error:  # A caller's model may raise anything.
            self._fail(ref, error)
            return None
        try:
            said = check(given)
        except WorldDBError as error:
            self._fail(ref, error)
            return None
        self._in_a_row = 0
        return said

    def _fail(self, ref: str, error: Exception) -> None:
        self._in_a_row += 1
        self.refuse(ref, str(error) or type(error).__name__)


class BackgroundWorker:
    """A thread for work that no caller waits for.

    It begins with the first nudge; several nudges are one. The work says whether it was done: if it was not, because
    another process is at it, it is tried again by and by. A thread that does not linger ends when nothing is left to
    do, tries nothing again, and begins anew with the next nudge. ``again`` says after how many seconds to work
    without a nudge; ``None``: not at all. What can wait until those who write are done is begun at a lull.

    Those who nudge go first: if they did so while it worked, it rests until none does for a moment, or it has rested
    long enough, or somebody waits for it.
    """

    def __init__(
        self,
        work: Callable[[], bool],
        *,
        name: str = "worlddb-background",
        lingers: bool = True,
        again: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._work = work
        self._again = again
        self._name = name
        self._lingers = lingers
        self._due = threading.Condition()
        self._nudged = self._busy = self._closing = self._undone = self._resting = self._is_for_lull = False
        self._awaited = 0
        self._nudged_at = self._between = self._begun = 0.0
        self._thread: threading.Thread | None = None
        self.error: Exception | None = None
        """What went wrong the last time, if it did; the next nudge tries again."""

    def nudge(self, *, at_lull: bool = False) -> None:
        """Say that there may be work; with ``at_lull`` it waits until no nudge has come for a while.

        That is twice as long as between the last two nudges, and :data:`LULL_SECONDS` at least; whoever waits for the
        work has it done at once.
        """
        with self._due:
            if self._closing:
                return
            now = monotonic()
            self._between = now - self._nudged_at if self._nudged_at else 0.0
            self._is_for_lull = at_lull and (self._is_for_lull or not self._nudged)
            self._nudged, self._nudged_at = True, now
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                # Nobody has to close a store, and a thread that is inside of a library when the interpreter goes away
                # takes the process down.
                atexit.register(self._stop_pending)
                self._thread.start()
            if not self._resting:
                self._due.notify_all()

    @property
    def is_busy(self) -> bool:
        """True while it works, also where it rests between steps."""
        return self._busy

    def stopped(self) -> bool:
        """True once the worker is closing, so that long work ends early. Work calls this between steps, and rests."""
        if threading.current_thread() is self._thread:
            with self._due:
                self._rest()
        return self._closing

    def wait(self, seconds: float) -> bool:
        """Wait until all nudged work is done, in whatever process; false on timeout."""
        with self._hold_condition():
            return self._due.wait_for(lambda: not self._nudged and not self._busy and not self._undone, seconds)

    def wait_until(self, is_reached: Callable[[], bool], seconds: float) -> bool:
        """Wait for a step of the work, which :meth:`announce` tells of; false on timeout.

        What fails, or is left to another process, is waited for no longer.
        """
        with self._hold_condition():
            self._due.wait_for(
                lambda: is_reached() or not self._is_alive() or not (self._nudged or self._busy), seconds
            )
            return is_reached() or not (self._nudged or self._busy)

    def announce(self) -> None:
        """Tell those who wait for a step that one is done. The work calls this."""
        with self._due:
            self._due.notify_all()

    def finish(self) -> None:
        """Finish the current and the nudged work, then stop.

        What another process is at is left to that one.
        """
        with self._hold_condition():
            self._due.wait_for(lambda: not self._is_alive() or (not self._nudged and not self._busy), PATIENCE_SECONDS)
        self._stop_pending()

    @contextmanager
    def _hold_condition(self) -> Iterator[None]:
        """Hold the condition; the thread does not rest meanwhile."""
        with self._due:
            self._awaited += 1
            self._due.notify_all()
            try:
                yield
            finally:
                self._awaited -= 1

    def _stop_pending(self) -> None:
        """Stop after the current step."""
        with self._due:
            self._closing, thread = True, self._thread
            self._due.notify_all()
        if thread is not None:
            thread.join(PATIENCE_SECONDS)
        atexit.unregister(self._stop_pending)

    def _is_alive(self) -> bool:
        """True if the thread runs in this process; a forked child has none."""
        return self._thread is not None and self._thread.is_alive()

    def _rest(self) -> None:
        """Rest after a step while nudges keep coming. The caller holds the condition."""
        now = monotonic()
        until = now + min(RESTS * (now - self._begun), LONGEST_REST_SECONDS)
        self._resting = self._nudged
        while self._resting and not self._awaited and not self._closing:
            left = min(until, self._nudged_at + LULL_SECONDS) - monotonic()
            if left <= 0:
                break
            self._due.wait(left)
        self._resting = False
        self._begun = monotonic()

    def _wait_for_lull(self) -> None:
        """Wait for a lull in the nudges, if all of them allow it. The caller holds the condition."""
        while self._is_for_lull and not self._awaited and not self._closing:
            lull = min(max(LULL_SECONDS, 2 * self._between), LONGEST_REST_SECONDS)
            left = self._nudged_at + lull - monotonic()
            if left <= 0:
                break
            self._due.wait(left)
        self._is_for_lull = False

    def _run(self) -> None:
        while True:
            with self._due:
                self._busy = False
                self._due.notify_all()
                if not self._lingers and not self._nudged:
                    self._thread = None
                    atexit.unregister(self._stop_pending)
                    return
                wait = AGAIN_SECONDS if self._undone else self._again()
                self._due.wait_for(lambda: self._nudged or self._closing, wait)
                self._wait_for_lull()
                if self._closing:
                    return
                self._nudged, self._busy, self._begun = False, True, monotonic()
                self._due.notify_all()
            try:
                self._undone = not self._work()
                self.error = None
            except Exception as error:
                self._undone, self.error = False, error
            with self._due:
                self._rest()


@contextmanager
def background_lease(folder: Path, *, wait_seconds: float = 0.0) -> Iterator[bool]:
    """Take the lease of a store for background work.

    False if another process or thread has it for all of the time. The kernel gives it back when its process dies.

    Raises:
        UnavailableError: the directory cannot be written to, or is there no more.
    """
    from filelock import FileLock, Timeout

    if not folder.is_dir():
        # Taking the lock would make it again.
        raise UnavailableError(f"{folder} is gone: the store was moved or deleted while it was open", "Put it back")
    lock = FileLock(folder / environment.LEASE_FILE, timeout=wait_seconds)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    except OSError as error:
        raise UnavailableError(
            f"The lease for background work cannot be taken: {error}", "Check permissions and disk space"
        ) from error
    try:
        yield True
    finally:
        lock.release()
