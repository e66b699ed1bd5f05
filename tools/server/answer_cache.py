"""Fast paths of small reads: a cache of answers, a list of quick requests, and one read state for many."""

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Final, NamedTuple

from worlddb import Database, WorldDBError
from worlddb.store import Reading

QUICK_SECONDS: Final = 0.003
"""The most processor time of a small read that is answered without a thread the next time."""
KNOWN_SECONDS: Final = 10.0
"""How long a request counts as quick, since its answer may grow."""
MAX_KNOWN: Final = 10_000
MAX_BYTES: Final = 16_777_216
"""Size of all cached answers with their keys."""
MAX_ANSWER_BYTES: Final = 65_536
MAX_ASKED_BYTES: Final = 1_000
"""The longest cache key: path, query and Accept header."""
_OVERHEAD_BYTES: Final = 2_000

Stamp = tuple[int, int]


class Answer(NamedTuple):
    """An answer as it is sent. It is valid from ``since`` until before ``until``, in microseconds."""

    headers: list[tuple[bytes, bytes]]
    body: bytes
    tag: str
    since: int
    until: int


class AnswerCache:
    """A cache of answers to small reads at the present state of the store.

    Each lookup follows a check of the store's stamp, so an answer equals that of a fresh read: a new stamp drops
    everything, erased texts included, and an answer whose validity is over is dropped too. Used on the event loop
    only.
    """

    def __init__(self) -> None:
        self._stamp: Stamp | None = None
        self._answers: dict[Hashable, Answer] = {}
        self._bytes = 0

    def see(self, stamp: Stamp | None) -> None:
        """Note the stamp of the store, and clear the cache if it has changed."""
        if stamp is None or stamp != self._stamp:
            self._answers.clear()
            self._stamp, self._bytes = stamp, 0

    def find(self, key: Hashable, now: int) -> Answer | None:
        """Return the cached answer to a request under the noted stamp; ``None`` if there is none."""
        found = self._answers.get(key)
        if found is None or found.since <= now < found.until:
            return found
        self._drop(key)
        return None

    def keep(self, key: Hashable, stamp: Stamp | None, answer: Answer) -> None:
        """Cache an answer that was read under a stamp, unless it is too long or the stamp is outdated."""
        if stamp is None or stamp != self._stamp or len(answer.body) > MAX_ANSWER_BYTES:
            return
        self._drop(key)
        self._answers[key] = answer
        self._bytes += len(answer.body) + _OVERHEAD_BYTES
        while self._bytes > MAX_BYTES:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: Hashable) -> None:
        found = self._answers.pop(key, None)
        if found is not None:
            self._bytes -= len(found.body) + _OVERHEAD_BYTES


class QuickRequests:
    """Hashes of the requests that were quick lately.

    Handing a request to a thread costs more than a small read, but a long read on the event loop would block every
    client.
    """

    def __init__(self) -> None:
        self._until: dict[int, float] = {}

    def has(self, request_hash: int) -> bool:
        """Return whether a request was quick a short time ago."""
        return self._until.get(request_hash, 0.0) > monotonic()

    def note(self, request_hash: int, seconds: float) -> None:
        """Note the processor time of a request."""
        before = self._until.pop(request_hash, 0.0)
        if seconds <= QUICK_SECONDS:
            now = monotonic()
            self._until[request_hash] = before if before > now else now + KNOWN_SECONDS
            if len(self._until) > MAX_KNOWN:
                del self._until[next(iter(self._until))]


class TurnState:
    """One read state of the store, shared by all quick reads of one turn of the event loop.

    The requests that a turn answers arrived before it began, and the state is opened during the turn, so each sees
    everything written before it was sent. The more requests wait, the more share a state. Used on the event loop
    only.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._has_begun = False
        self._stamp: Stamp | None = None
        self._open = ExitStack()
        self._state: Reading | None = None

    def stamp(self) -> Stamp | None:
        """Return the stamp of the store in this turn; ``None`` if it is unknown."""
        if not self._has_begun:
            asyncio.get_running_loop().call_soon(self._end)
            self._has_begun = True
            try:
                self._stamp = self._db.stamp()
            except WorldDBError:
                self._stamp = None
        return self._stamp

    def look(self) -> Stamp | None:
        """Return the present stamp of the store, which the rest of the turn uses too.

        It is for a request that is answered as soon as it arrives, perhaps after the turn began.
        """
        before = self.stamp()
        try:
            self._stamp = self._db.stamp()
        except WorldDBError:
            self._stamp = None
        if self._state is not None and (self._stamp is None or self._stamp != before):
            self._state = None
            self._open.close()
        return self._stamp

    @contextmanager
    def state(self) -> Iterator[Reading]:
        """Provide the state of this turn for a block of reads; after an error the next block gets a new one."""
        if self._state is None:
            self.stamp()  # This also schedules the end of the turn.
            self._state = self._open.enter_context(self._db.one_state())
        try:
            yield self._state
        except BaseException:
            self._state = None
            with self._open.pop_all():  # Closing it sees the error, and knows which ones mean damage.
                raise

    def _end(self) -> None:
        """End the turn, and the transaction that it has open."""
        self._has_begun, self._state = False, None
        self._open.close()
