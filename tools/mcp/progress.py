"""How far a call is, sent to the client beside the work, and the client's word that it need not go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio import from_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

PERCENT: Final = 100

Report = Callable[[float, float], Awaitable[None]]
"""Sends a notification: how much of how much is done."""


class Progress:
    """Tells of each further percent of one call.

    The work runs in a thread, perhaps with the store locked, and a client may be slow to read: so the thread leaves
    what there is to tell and goes on, and what comes faster than it is read is left out.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._told = 0
        self._left: MemoryObjectSendStream[int]
        self._found: MemoryObjectReceiveStream[int]
        self._left, self._found = anyio.create_memory_object_stream[int](1)

    def step(self, done: int, total: int) -> None:
        """Called by the work, in its thread.

        Raises:
            CancelledError: the client has cancelled the call, or is gone.
        """
        from_thread.check_cancelled()
        percent = PERCENT * done // total if total else PERCENT
        if percent > self._told:
            self._told = percent
            from_thread.run_sync(self._leave, percent)

    async def tell(self) -> None:
        """Send what is left to be told, until it is cancelled."""
        async for percent in self._found:
            await self._report(percent, PERCENT)

    def close(self) -> None:
        """There is nothing more to tell."""
        self._left.close()
        self._found.close()

    def _leave(self, percent: int) -> None:
        try:
            self._left.send_nowait(percent)
        except anyio.WouldBlock:
            pass
