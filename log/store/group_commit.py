"""Group commit: requests that arrive during a write wait in a queue and are written together in the next one.

A thread that finds the queue idle becomes the leader and serves its own request at once. Threads that arrive meanwhile
wait in the queue. When the leader has finished, the first waiting thread becomes the leader and serves everything in
the queue. So a lone caller never waits, and the batches grow with the number of callers.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from worlddb.log.model.errors import UnavailableError, WorldDBError, WriterBusy

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
