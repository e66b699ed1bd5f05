"""Standard output as the protocol's own: whole messages to it, everything else to standard error."""

from __future__ import annotations

import os
import select
from typing import Final

import anyio
import anyio.lowlevel

_PIECE: Final = select.PIPE_BUF
"""A pipe that can be written to has room for so many bytes, so that writing them never waits."""


class Answers:
    """What the server says, written so that a client that reads nothing can be given up."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        """Write it all, however long the reader takes; can be cancelled meanwhile.

        Raises:
            BrokenPipeError: nobody reads any more.
        """
        waiting = memoryview(text.encode())
        while waiting:
            try:
                await anyio.wait_writable(self._descriptor)
            except PermissionError:
                # A file or the null device: writing to one never waits for anybody, and nothing can wait for it.
                await anyio.lowlevel.checkpoint()
            waiting = waiting[os.write(self._descriptor, waiting[:_PIECE]) :]

    async def flush(self) -> None:
        """Nothing is kept back."""


def claimed() -> int:
    """A descriptor of standard output for the protocol alone: what any library prints from now on goes to standard
    error, and cannot break a message."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept
