"""What the HTTP library leaves open: how it ends on a signal, and connections on which no request ever arrives."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS: Final = 20.0
"""How long a connection may be without a request that has begun: twice this at most."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that does not wait for ever for the head of a request."""

    _idle_with: RequestResponseCycle | None = None
    _idle_before = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look after the connection."""
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._look)

    def _look(self) -> None:
        """Cut the connection if it was idle the last time too, after the same request."""
        if self.transport.is_closing():
            return
        # Before the first request there is none, whatever the declaration says.
        last: Any = self.cycle
        idle = last is None or last.response_complete
        if idle and self._idle_before and last is self._idle_with:
            self.transport.abort()
            return
        self._idle_before, self._idle_with = idle, last
        self.loop.call_later(HEAD_SECONDS, self._look)


class QuietServer(uvicorn.Server):
    """Ends as if it had been asked to when the process is told to end, rather than by the signal a second time."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM for the time of serving; a second one does not wait for open requests."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
