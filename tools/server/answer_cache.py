"""Fast paths of small reads: a cache of answers, a list of quick requests, and one read state for many."""

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Final, NamedTuple

from worlddb import Database, WorldDBError
from worlddb.store import Reading

QUICK_SECONDS: Final = 0.003
"""What a small read may take of the processor to be answered without a thread the next time."""
KNOWN_SECONDS: Final = 10.0
"""How long that is believed: what is read grows."""
MAX_KNOWN: Final = 10_000
MAX_BYTES: Final = 16_777_216
"""Of all answers that are kept, with what they are found by."""
MAX_ANSWER_BYTES: Final = 65_536
MAX_ASKED_BYTES: Final = 1_000
"""Of a path, parameters and an Accept, under which an answer is kept."""
_OVERHEAD_BYTES: Final = 2_000

Stamp = tuple[int, int]


class Answer(NamedTuple):
    """An answer as it goes over the wire. It is so from a time ``since`` until another, in microseconds."""

    headers: list[tuple[bytes, bytes]]
    body: bytes
    tag: str
    since: int
    until: int


class AnswerCache:
    """What small reads were answered at the present state of the store.

    It is asked with the stamp of the store as it is when a request comes, so that an answer is that of a read of this
    moment: under another stamp all is dropped, erased texts among it, and at another time what begins or ends between.
    Used from the loop of the server alone.
    """

    def __init__(self) -> None:
        self._stamp: Stamp | None = None
        self._answers: dict[Hashable, Answer] = {}
        self._bytes = 0

    def see(self, stamp: Stamp | None) -> None:
        """Look at the stamp of the store, before anything is found."""
        if stamp is None or stamp != self._stamp:
            self._answers.clear()
            self._stamp, self._bytes = stamp, 0

    def find(self, key: Hashable, now: int) -> Answer | None:
        """Return the answer to a request under the stamp that was seen; ``None`` if it has to be read."""
        found = self._answers.get(key)
        if found is None or found.since <= now < found.until:
            return found
        self._drop(key)
        return None

    def keep(self, key: Hashable, stamp: Stamp | None, answer: Answer) -> None:
        """Keep an answer that was read under a stamp, unless it is too long or another was seen meanwhile."""
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
    """Which small reads were quick lately. It holds numbers made of requests, and nothing of what they say.

    To give a request to a thread and back costs more than a small read; a long one on the loop would hold up everybody.
    """

    def __init__(self) -> None:
        self._until: dict[int, float] = {}

    def has(self, request_hash: int) -> bool:
        """Return whether a request was quick a short time ago."""
        return self._until.get(request_hash, 0.0) > monotonic()

    def note(self, request_hash: int, seconds: float) -> None:
        """Remember how long a request took of the processor."""
        before = self._until.pop(request_hash, 0.0)
        if seconds <= QUICK_SECONDS:
            now = monotonic()
            self._until[request_hash] = before if before > now else now + KNOWN_SECONDS
            if len(self._until) > MAX_KNOWN:
                del self._until[next(iter(self._until))]


class TurnState:
    """The state of the store that all quick reads of one turn of the loop are answered from.

    What a turn of the loop answers had come before the turn began, and the state is looked at in it: so each sees all
    that was written before it was sent. The more requests wait, the more of them a turn answers, and the less each
    costs. Used from the loop of the server alone.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._has_begun = False
        self._stamp: Stamp | None = None
        self._open = ExitStack()
        self._state: Reading | None = None

    def stamp(self) -> Stamp | None:
        """Return the stamp of the store as this turn found it; ``None`` while nobody can tell."""
        if not self._has_begun:
            asyncio.get_running_loop().call_soon(self._end)
            self._has_begun = True
            try:
                self._stamp = self._db.stamp()
            except WorldDBError:
                self._stamp = None
        return self._stamp

    def look(self) -> Stamp | None:
        """Return the stamp of the store as it is now, of which the rest of the turn is, too.

        It is for a request that is answered while it comes, and so may have come after the turn began.
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
        """Give the state of this turn to a block of reads; after an error in it the next block has a newer one."""
        if self._state is None:
            self.stamp()  # From here on the turn ends by itself.
            self._state = self._open.enter_context(self._db.one_state())
        try:
            yield self._state
        except BaseException:
            self._state = None
            with self._open.pop_all():  # It knows which errors mean damage.
                raise

    def _end(self) -> None:
        """End the turn, and the transaction that it has open."""
        self._has_begun, self._state = False, None
        self._open.close()
