"""How writers wait for one another: a lock between processes, and between threads a queue for one commit.

LMDB has a write lock of its own, but a process that is stopped while holding it makes every other writer wait
without end and without a word. This lock is taken first: the kernel releases it when its process dies, it gives
up after a time limit, and it knows who holds it.

Group commit: requests that arrive during a write wait in a queue and are written together in the next one. A thread
that finds the queue idle becomes the leader and serves its own request at once. Threads that arrive meanwhile wait in
the queue. When the leader has finished, the first waiting thread becomes the leader and serves everything in the queue.
So a lone caller never waits, and the batches grow with the number of callers.
"""

import errno
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from worlddb.log.model.clock import monotonic, pause
from worlddb.log.model.errors import UnavailableError, WorldDBError, WriterBusy
from worlddb.log.store import durable

POLL_SECONDS: Final = 0.002
LOCK_FILE: Final = "writer.lock"
HOLDER_FILE: Final = "writer.json"
_CONTENTION: Final = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)
_OPENED: Final = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o644


@contextmanager
def claimed_folder(folder: Path) -> Iterator[bool]:
    """Claim a directory in which a store is made; false if another claim of this or another process holds it.

    The kernel drops the claim when its process dies. Where directories take no locks, every claim succeeds.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_claimed = True
    except OSError as error:
        is_claimed = error.errno not in _CONTENTION
    try:
        yield is_claimed
    finally:
        os.close(descriptor)


class WriterLock:
    """The store's lock between writers of all processes and threads.

    Each holder opens the file again: the kernel tells threads and handles of one process apart by their descriptors.
    """

    def __init__(self, folder: Path, author: str, timeout_seconds: float) -> None:
        self._lock_file = str(folder / LOCK_FILE)
        self._holder_file = folder / HOLDER_FILE
        self._timeout_seconds = timeout_seconds
        self._holder = json.dumps(
            {"pid": os.getpid(), "host": os.uname().nodename, "author": author}, ensure_ascii=True
        ).encode()

    @contextmanager
    def held(self, timeout_seconds: float | None = None, *, look: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the lock for a block; ``look`` checks the directory before the holder's name is written.

        ``timeout_seconds`` overrides the usual time limit.

        Raises:
            WriterBusy: another writer held it for the whole time limit; the message names it.
            UnavailableError: the directory cannot be written to.
        """
        waited = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        try:
            descriptor = self._wait_for_file(waited)
        except OSError as error:
            raise _unwritable_error(error, self._holder_file.parent) from error
        if descriptor is None:
            holder = self.holder()
            who = f"process {holder.get('pid', '?')} on {holder.get('host', '?')}, author {holder.get('author', '?')!r}"
            raise WriterBusy(
                f"Another writer ({who}) held the store for {waited:g} s",
                "Try again; if that process is stopped, continue or end it. Nothing was written; reads go on",
                holder=holder,
            )
        try:
            look()
            try:
                self._write_holder()
            except OSError as error:
                raise _unwritable_error(error, self._holder_file.parent) from error
            yield
        finally:
            # A child that was forked meanwhile has the file open too: to close it would not end the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _wait_for_file(self, timeout_seconds: float) -> int | None:
        """Return the locked file; None if another writer held it for the whole time limit."""
        until: float | None = None
        while (taken := self._try_file()) is None:
            now = monotonic()
            until = now + timeout_seconds if until is None else until
            if now >= until:
                return None
            pause(min(POLL_SECONDS, until - now))
        return taken

    def _try_file(self) -> int | None:
        """Return the locked file; None if it is locked elsewhere, or was unlinked meanwhile."""
        try:
            # Without O_CREAT: in a folder with a sticky bit that would need the file's owner.
            descriptor = os.open(self._lock_file, _OPENED)
        except FileNotFoundError:
            descriptor = os.open(self._lock_file, _OPENED | os.O_CREAT, _MODE)
        except BlockingIOError:
            return None  # Somebody's lease on the file is being broken.
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A file that was unlinked between opening and locking protects no name any more.
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except OSError as error:
            os.close(descriptor)
            if error.errno in _CONTENTION:
                return None
            raise
        os.close(descriptor)
        return None

    def holder(self) -> dict[str, Any]:
        """Process, host and author of the last holder; empty if that was not recorded."""
        try:
            found = json.loads(self._holder_file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_holder(self) -> None:
        try:
            if self._holder_file.read_bytes() == self._holder:
                return
        except OSError:
            pass
        self._holder_file.write_bytes(self._holder)


def _unwritable_error(error: OSError, folder: Path) -> UnavailableError:
    is_frozen = error.errno == errno.EROFS
    remedy = (
        "Copy the directory to a place that you may write to"
        if is_frozen
        else "Check permissions, disk space and open files"
    )
    told = f"The store cannot be locked for writing: {error}"
    return durable.system_error(error, folder, told, f"{remedy}; reads go on")


Request = TypeVar("Request")
Answer = TypeVar("Answer")

MAX_TOGETHER: Final = 256
"""How many requests are served at a time."""
LONGEST_SECONDS: Final = 3600.0
"""How long to wait for a request that a leader is serving."""

Serve = Callable[[Sequence[Request]], Sequence[Answer | Exception]]
"""Serves a batch of requests: returns for each a value, or the exception to raise in its caller."""


class _QueuedRequest(Generic[Request, Answer]):
    """A request in the queue, and its answer."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.called = threading.Event()
        """Set when this caller becomes the leader, or when its request was served."""
        self.leads = False
        self.answers: list[Answer | Exception] = []

    def answer(self) -> Answer:
        (answer,) = self.answers
        if isinstance(answer, Exception):
            raise answer
        return answer


class CommitQueue(Generic[Request, Answer]):
    """A queue of requests, of which one leader at a time serves a batch."""

    def __init__(self, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._waiting: list[_QueuedRequest[Request, Answer]] = []
        self._busy = False

    def submit(self, request: Request, serve: Serve[Request, Answer]) -> Answer:
        """Return the answer to a request, which may be served in a batch with others.

        Raises:
            WriterBusy: the request was not served within the time limit.
        """
        place: _QueuedRequest[Request, Answer] = _QueuedRequest(request)
        try:
            with self._lock:
                self._waiting.append(place)
                if not self._busy:
                    self._busy = place.leads = True
            if not place.leads:
                self._await_turn(place)
            if place.leads:
                self._serve_batch(place, serve)
        finally:
            self._release(place)
        return place.answer()

    def _await_turn(self, place: _QueuedRequest[Request, Answer]) -> None:
        if place.called.wait(self.timeout_seconds):
            return
        with self._lock:
            taken = place not in self._waiting
            if not taken and not place.leads:
                self._waiting.remove(place)
                raise WriterBusy(
                    f"Other threads of this process held the writer lock for {self.timeout_seconds:g} s",
                    "Try again. Nothing was written; reads go on",
                )
        # A batch has time limits of its own, and always ends with an answer.
        if taken and not place.called.wait(LONGEST_SECONDS):
            raise _interrupted_error()

    def _serve_batch(self, leader: _QueuedRequest[Request, Answer], serve: Serve[Request, Answer]) -> None:
        together: list[_QueuedRequest[Request, Answer]] = []
        answers: Sequence[Answer | Exception] = ()
        try:
            with self._lock:
                together, self._waiting = self._waiting[:MAX_TOGETHER], self._waiting[MAX_TOGETHER:]
            answers = serve([place.request for place in together])
        except Exception as error:
            answers = [error if place is leader else _copy_error(error) for place in together]
        finally:
            if not answers:
                answers = [_interrupted_error() for _ in together]
            for place, answer in zip(together, answers, strict=True):
                place.answers.append(answer)
                if place is not leader:
                    place.called.set()

    def _release(self, place: _QueuedRequest[Request, Answer]) -> None:
        """Leave the queue, and make the next caller the leader, whether this one succeeded or failed."""
        with self._lock:
            if place in self._waiting:
                self._waiting.remove(place)
            if place.leads:
                place.leads = False
                self._busy = bool(self._waiting)
                if self._waiting:
                    self._waiting[0].leads = True
                    self._waiting[0].called.set()


def _copy_error(error: Exception) -> Exception:
    """Make an error of the same kind for each other thread.

    One that is raised in several threads would collect the traces of all of them.
    """
    if isinstance(error, WorldDBError):
        return type(error)(error.message, error.remedy, **error.details)
    return UnavailableError(f"The thread that wrote for this one failed: {error!r}", "Try again")


def _interrupted_error() -> Exception:
    return UnavailableError(
        "The thread that wrote for this one was interrupted: this may or may not have been written",
        "Try again under the same idempotency key, or look the write up",
    )
