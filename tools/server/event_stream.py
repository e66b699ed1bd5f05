"""Server-sent events that follow the log, limited to what the key may see."""

import asyncio
from collections.abc import AsyncIterator
from itertools import chain, islice
from typing import Final

import msgspec

from worlddb import InputError
from worlddb.tools.mcp.session import MAX_EVENTS, CursorPosition, Cursors
from worlddb.tools.server import request_types as types
from worlddb.tools.server import wire_values
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.route import EVENTS, Reply, Request, Route

LOOK_SECONDS: Final = 0.2
BEAT_LOOKS: Final = 50
"""Polls without an event after which a keep-alive comment is sent."""
MAX_AT_ONCE: Final = 500


def follow(store: ClientStore, request: Request) -> Reply:
    """The events of the log as they are committed."""
    query: types.Follow = request.query
    start = CursorPosition(store.session.view().seq + 1, 0, 0)
    # A client that reconnects sends the header; it counts before the parameter of the first request.
    after = request.last_event_id or query.after
    if after is not None:
        start = _position_after(store.session.cursors, after)
    return Reply(_EventStream(store, start).chunks(), media_type=EVENTS)


def _position_after(cursors: Cursors, after: str) -> CursorPosition:
    """Return the position of the stream behind the event of an id."""
    try:
        place = cursors.place(after, MAX_EVENTS)
        if place.of:
            raise InputError("It is the cursor of a list", "Give the id of an event")
    except InputError:
        raise InputError(
            f"No event has the id {after!r:.80}",
            "Give the id of an event of this stream, or none to follow from now on",
        ) from None
    return place._replace(offset=place.offset + 1)


class _EventStream:
    """One stream of events, with the position of the next event to send."""

    def __init__(self, store: ClientStore, start: CursorPosition) -> None:
        self._store, self._at = store, start
        self._cursors = store.session.cursors

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield new events, and an empty chunk for each poll without one."""
        loop, silent = asyncio.get_running_loop(), 0
        yield b": follows the log\n\n"
        while not self._store.jobs.workshop.stopping.is_set():
            chunk = await loop.run_in_executor(None, self._next_events)
            silent = 0 if chunk else silent + 1
            if not chunk and silent % BEAT_LOOKS == 0:
                chunk = b": still here\n\n"
            yield chunk
            if silent:
                await asyncio.sleep(LOOK_SECONDS)

    def _next_events(self) -> bytes:
        """Return the events since the last poll."""
        view = self._store.session.view()
        if view.seq < self._at.seq:
            return b""
        parts = []
        rest = view.log(self._at.seq, self._at.seq, skip=self._at.offset)
        found = list(islice(chain(rest, view.log(self._at.seq + 1)), MAX_AT_ONCE))
        for entry in found:
            document = msgspec.json.encode(wire_values.entry(entry, commits=self._store.commits))
            name = self._cursors.text(CursorPosition(entry.seq, 0, entry.index)).encode()
            parts.append(b"event: " + entry.event.encode() + b"\nid: " + name + b"\ndata: " + document + b"\n\n")
        # The rest of a commit that was cut follows at the next poll.
        last = found[-1] if len(found) == MAX_AT_ONCE else None
        self._at = CursorPosition(view.seq + 1, 0, 0) if last is None else CursorPosition(last.seq, 0, last.index + 1)
        return b"".join(parts)


ROUTES = (
    Route(
        "GET",
        "/v1/events",
        "follow",
        follow,
        "Follow the log, event by event.",
        None,
        types.Follow,
        stream=True,
        produces=(EVENTS,),
        feature="events",
    ),
)
