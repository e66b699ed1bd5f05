"""Standard input and output of the server: cancellable reads and writes of whole messages.

Standard output carries the protocol alone; everything else goes to standard error.
"""

import json
import os
import re
import select
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Self

import anyio
import anyio.lowlevel
import mcp_types as protocol
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

MAX_LINE_BYTES: Final = 4_194_304
"""Longest message that is read; the longest that the tools accept is a tenth of it."""
LAST_WORDS_SECONDS: Final = 5
"""Time for a client to read its last answers, after it closed its end."""
MAX_UNREAD: Final = 1_000
"""Answers that wait for a client to read them; while there are as many, nothing more is read from it."""
_READ_BYTES: Final = 65_536
_END_BYTES: Final = 4_096
"""What is kept of either end of a message that is too long: clients write the id of a request first or last."""


class StandardInput:
    """Standard input, line by line.

    A line that is no text in UTF-8, is too long or is no message of JSON-RPC reads as an empty line, which is no
    message. ``refuse`` sends the answer to a request in such a line, so that nobody waits for it. With ``answers``
    nothing more is read while too many of these are unread.
    """

    def __init__(self, descriptor: int, refuse: Callable[[str], Awaitable[None]] | None = None) -> None:
        self._descriptor = descriptor
        self._refuse = refuse
        self.answers: AnswerStream | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        kept, head, size = bytearray(), b"", 0
        while piece := await self._read():
            *ends, rest = piece.split(b"\n")
            for end in ends:
                if self.answers is not None and not await self._waits_for_reader(self.answers):
                    return
                kept, size = kept + end, size + len(end)
                yield await (self._text(bytes(kept)) if size <= MAX_LINE_BYTES else self._refuse_long(head, kept, size))
                kept, head, size = bytearray(), b"", 0
            kept, size = kept + rest, size + len(rest)
            if size > MAX_LINE_BYTES:
                head = head or bytes(kept[:_END_BYTES])
                del kept[:-_END_BYTES]

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

    async def _waits_for_reader(self, answers: "AnswerStream") -> bool:
        """Wait until the client has read enough answers; false if it has closed its end and reads none."""
        while not answers.has_room:
            with anyio.move_on_after(LAST_WORDS_SECONDS) as waiting:
                await answers.read()
            ends = select.poll()
            ends.register(self._descriptor, 0)
            if waiting.cancelled_caught and ends.poll(0):
                return False
        return True

    async def _text(self, line: bytes) -> str:
        problem = _wrong_in(line)
        if problem:
            return await self._ignore(f"{problem}. Send it as UTF-8", _request(line), protocol.PARSE_ERROR)
        try:
            # The SDK drops what it cannot read here without a word.
            told = protocol.jsonrpc_message_adapter.validate_json(line, by_name=False) if line.strip() else None
        except ValidationError:
            return await self._ignore(_NO_MESSAGE, _request(line), protocol.INVALID_REQUEST)
        if isinstance(told, protocol.JSONRPCNotification) and "id" in json.loads(line):
            # The SDK takes it for a notification, to which nobody answers.
            return await self._ignore(_NO_ID, None, protocol.INVALID_REQUEST, is_asked=True)
        return line.decode()

    async def _refuse_long(self, head: bytes, tail: bytearray, size: int) -> str:
        problem = f"it has {size:,} bytes, and at most {MAX_LINE_BYTES:,} are read. Send less at a time"
        asked = _request_by_ends(head or bytes(tail[:_END_BYTES]), bytes(tail[-_END_BYTES:]))
        return await self._ignore(problem, asked, protocol.INVALID_REQUEST)

    async def _ignore(self, problem: str, asked: str | int | None, code: int, *, is_asked: bool = False) -> str:
        """Say on standard error and to who asked that a message was not read; returns what is read in its place.

        With ``is_asked`` it is a request, though it has no id to answer to.
        """
        sys.stderr.write(f"worlddb mcp: a message was ignored, since {problem}\n")
        if self._refuse is not None and (asked is not None or is_asked):
            error = {"code": code, "message": f"The message was not read, since {problem}"}
            await self._refuse(json.dumps({"jsonrpc": "2.0", "id": asked, "error": error}) + "\n")
        return ""


_NO_MESSAGE: Final = "it is no message of JSON-RPC 2.0: an object with jsonrpc, id, method and, as an object, params"


_NO_ID: Final = "its id is no text and no whole number. Give it one, or leave it out of a notification"


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
    """The id of a request, if only by its ends."""
    try:
        message = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        # It is no JSON, too deep, or has a number of thousands of digits.
        return _request_by_ends(line[:_END_BYTES], line[-_END_BYTES:])
    found = message.get("id") if isinstance(message, dict) and "method" in message else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


_VALUE: Final = rb'(?:"(?:[^"\\]|\\.)*"|-?\d+)'
_FIELD: Final = rb'\s*"\w+"\s*:\s*' + _VALUE + rb"\s*"
_ID: Final = rb'\s*"id"\s*:\s*(' + _VALUE + rb")\s*"
_FIRST_ID: Final = re.compile(rb"\s*\{(?:" + _FIELD + rb",)*?" + _ID + rb",")
_LAST_ID: Final = re.compile(rb"," + _ID + rb"(?:," + _FIELD + rb")*\}\s*\Z")


def _request_by_ends(head: bytes, tail: bytes) -> str | int | None:
    """The id of a request, by the first and the last of its bytes; fields with objects in them stand between."""
    found = _FIRST_ID.match(head) or _LAST_ID.search(tail)
    if found is None or not (b'"method"' in head or b'"method"' in tail):
        return None
    try:
        asked: str | int = json.loads(found[1].decode(errors="replace"))
    except ValueError:
        return None
    return asked


class AnswerStream:
    """A stream of answers that counts those which wait for the client: it may ask faster than it reads."""

    def __init__(self, stream: WriteStream[SessionMessage]) -> None:
        self._stream = stream
        self._unread = 0
        self._was_read = anyio.Event()

    @property
    def has_room(self) -> bool:
        """Whether fewer than :data:`MAX_UNREAD` answers wait."""
        return self._unread < MAX_UNREAD

    async def read(self) -> None:
        """Wait until the client has read an answer."""
        self._was_read = anyio.Event()
        await self._was_read.wait()

    async def send(self, item: SessionMessage, /) -> None:
        """Send an answer; it waits until the one before it was read."""
        self._unread += 1
        try:
            await self._stream.send(item)
        finally:
            self._unread -= 1
            self._was_read.set()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


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
