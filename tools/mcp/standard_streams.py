"""Standard input and output of the server: cancellable reads and writes of whole messages.

Standard output carries the protocol alone; everything else goes to standard error.
"""

import json
import os
import select
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import anyio
import anyio.lowlevel

MAX_LINE_BYTES: Final = 4_194_304
"""Longest message that is read; the longest that the tools accept is a tenth of it."""
_READ_BYTES: Final = 65_536


class StandardInput:
    """Standard input, line by line.

    A line that is no text in UTF-8 or is too long reads as an empty line, which is no message. ``refuse`` sends the
    answer to a request that is no text, so that nobody waits for it.
    """

    def __init__(self, descriptor: int, refuse: Callable[[str], Awaitable[None]] | None = None) -> None:
        self._descriptor = descriptor
        self._refuse = refuse

    async def __aiter__(self) -> AsyncIterator[str]:
        kept, dropping = bytearray(), False
        while piece := await self._read():
            *ends, rest = piece.split(b"\n")
            for end in ends:
                is_long = dropping or len(kept) + len(end) > MAX_LINE_BYTES
                yield "" if is_long else await self._text(bytes(kept + end))
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

    async def _text(self, line: bytes) -> str:
        problem = _wrong_in(line)
        if not problem:
            return line.decode()
        sys.stderr.write(f"worlddb mcp: a message was ignored, since {problem}\n")
        asked = _request(line)
        if self._refuse is not None and asked is not None:
            error = {"code": _PARSE_ERROR, "message": f"The message was not read, since {problem}. Send it as UTF-8"}
            await self._refuse(json.dumps({"jsonrpc": "2.0", "id": asked, "error": error}) + "\n")
        return ""


_PARSE_ERROR: Final = -32_700


def _wrong_in(line: bytes) -> str:
    """Why a line is no text; empty if it is one."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start} of it, {line[error.start]:#04x}, is not UTF-8"
    if b"\\ud" in line or b"\\uD" in line:
        try:
            json.dumps(json.loads(line), ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            return f"it has half of a surrogate pair, \\u{ord(error.object[error.start]):04x}"
        except (ValueError, RecursionError):
            pass
    return ""


def _request(line: bytes) -> str | int | None:
    """The id of a request."""
    try:
        message = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    found = message.get("id") if isinstance(message, dict) and "method" in message else None
    return found if isinstance(found, str | int) else None


_WRITE_BYTES: Final = select.PIPE_BUF
"""A writable pipe has room for so many bytes, so that writing them never blocks."""


class StandardOutput:
    """Standard output, written so that a client that reads nothing can be abandoned."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = anyio.Lock()

    async def write(self, text: str) -> None:
        """Write the whole text, however slowly the client reads; can be cancelled.

        Raises:
            BrokenPipeError: the client has closed its end.
        """
        waiting = memoryview(text.encode())
        async with self._lock:
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
