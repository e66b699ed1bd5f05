"""Standard input and output of the server: cancellable reads and writes of whole messages.

Standard output carries the protocol alone; everything else goes to standard error.
"""

import os
import select
import sys
from collections.abc import AsyncIterator
from typing import Final

import anyio
import anyio.lowlevel

MAX_LINE_BYTES: Final = 4_194_304
"""Longest message that is read; the longest that the tools accept is a tenth of it."""
_READ_BYTES: Final = 65_536


class StandardInput:
    """Standard input, line by line.

    A line that is not UTF-8 or is too long reads as an empty line, which is no message.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        kept, dropping = bytearray(), False
        while piece := await self._read():
            *ends, rest = piece.split(b"\n")
            for end in ends:
                yield "" if dropping or len(kept) + len(end) > MAX_LINE_BYTES else _text(bytes(kept + end))
                kept, dropping = bytearray(), False
            dropping = dropping or len(kept) + len(rest) > MAX_LINE_BYTES
            kept = bytearray() if dropping else kept + rest

    async def _read(self) -> bytes:
        """Read the next piece; empty at the end.

        It can be cancelled while nothing comes, unlike a read on a thread.
        """
        try:
            await anyio.wait_readable(self._descriptor)
        except PermissionError:
            # Files and the null device cannot be waited for; reading them never blocks.
            await anyio.lowlevel.checkpoint()
        return os.read(self._descriptor, _READ_BYTES)


def _text(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        sys.stderr.write(f"worlddb mcp: a message was ignored, since it is not UTF-8: {error.reason}\n")
        return ""


_WRITE_BYTES: Final = select.PIPE_BUF
"""A writable pipe has room for so many bytes, so that writing them never blocks."""


class StandardOutput:
    """Standard output, written so that a client that reads nothing can be abandoned."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        """Write the whole text, however slowly the client reads; can be cancelled.

        Raises:
            BrokenPipeError: the client has closed its end.
        """
        waiting = memoryview(text.encode())
        while waiting:
            try:
                await anyio.wait_writable(self._descriptor)
            except PermissionError:
                # Files and the null device cannot be waited for; writing to them never waits for a reader.
                await anyio.lowlevel.checkpoint()
            waiting = waiting[os.write(self._descriptor, waiting[:_WRITE_BYTES]) :]

    async def flush(self) -> None:
        """Do nothing: no output is buffered."""


def claim_stdout() -> int:
    """Return a descriptor of standard output for the protocol alone.

    Whatever a library prints afterwards goes to standard error and cannot break a message.
    """
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept
