"""How far a call is, sent to the client beside the work, and the client's word that it need not go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio import from_thread

PERCENT: Final = 100

Report = Callable[[float, float], Awaitable[None]]
"""Sends a notification: how much of how much is done."""


class Progress:
    """Tells in percent how far one call is.

    The work runs in a thread, perhaps with the store locked, and a client may be slow to read: so the thread leaves
    what there is to tell and goes on, and what is outdated before it can be sent is not sent.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._reached = self._told = -1
        self._ended = False
        self._news = anyio.Event()

    def step(self, done: int, total: int) -> None:
        """Called by the work, in its thread.

        Raises:
            CancelledError: the client has cancelled the call, or is gone.
        """
        from_thread.check_cancelled()
        percent = PERCENT * done // total if total else PERCENT
        if percent > self._reached:
            self._reached = percent
            from_thread.run_sync(self._wake)

    async def tell(self) -> None:
        """Send what there is to tell, until the work has ended and nothing is left."""
        while self._told < self._reached or not self._ended:
            if self._told == self._reached:
                await self._news.wait()
                self._news = anyio.Event()
            else:
                self._told = self._reached
                await self._report(self._told, PERCENT)

    def end(self) -> None:
        """The work has ended; what is left is still told."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
