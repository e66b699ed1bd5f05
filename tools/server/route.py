"""Routes: method, path, types and required right of each, and the table that matches a path."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from string import punctuation
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import msgspec

from worlddb.tools.server.client_store import ClientStore

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
BYTES: Final = "application/octet-stream"
TEXT: Final = "text/plain"
FORM: Final = "application/x-www-form-urlencoded"
"""Media type of a body with the parameters of the route."""
EVENTS: Final = "text/event-stream"


class NoParameters(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """No parameters."""


class Request(NamedTuple):
    """A validated request, converted to the types of its route."""

    path: Mapping[str, str]
    query: Any
    body: Any = None
    accepts: str = JSON
    if_match: str | None = None
    idempotency_key: str | None = None
    media_type: str = ""
    last_event_id: str | None = None


class Reply(NamedTuple):
    """An answer: a value for JSON, or bytes, or an iterator of chunks.

    ``tag`` is the hash of the world that was read; the ETag is made of it.
    """

    value: Any
    status: int = 200
    tag: str = ""
    media_type: str = JSON
    headers: Mapping[str, str] = {}


_NOTE: Final = "WorldDB-Note"
_HEADER_SAFE: Final = f" {punctuation}".replace("%", "")
"""Characters of a header that are not percent-encoded, beside letters and digits."""


def note_header(note: str) -> dict[str, str]:
    """Return the header with a note, for a body that has no room for it; other characters are percent-encoded."""
    return {_NOTE: quote(note, safe=_HEADER_SAFE)} if note else {}


class Route(NamedTuple):
    """A route of the server.

    ``right`` is the right that a key needs, ``""`` for none. ``whole``: only for keys of the whole store. ``quick``: it
    reads a few rows, and is answered without a thread. ``small``: it usually does, so a request that was quick lately
    is answered without a thread too. ``stream``: the answer has no end of its own. ``body`` is ``bytes`` for a raw
    body; ``takes`` are further media types of raw bodies. ``feature`` is the feature that a plan needs. ``may_write``:
    the request decides whether it writes. ``keyed``: a retry under the same Idempotency-Key gets the first answer.
    """

    method: str
    path: str
    name: str
    call: Callable[[ClientStore, Request], Reply]
    summary: str
    answer: Any = None
    query: type[msgspec.Struct] = NoParameters
    body: Any = None
    right: str = "read"
    whole: bool = False
    quick: bool = False
    small: bool = False
    stream: bool = False
    statuses: tuple[int, ...] = (200,)
    produces: tuple[str, ...] = (JSON,)
    needs_body: bool = True
    takes: tuple[str, ...] = ()
    feature: str = ""
    may_write: bool = False
    keyed: bool = True


class _Node:
    """A node in the tree of paths: the routes that end here by method, and the following segments."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.named: dict[str, _Node] = {}
        self.any: tuple[str, _Node] | None = None


class RouteMatch(NamedTuple):
    """The routes of a path by method, and its parameters."""

    routes: Mapping[str, Route]
    path: dict[str, str]


class RouteTable:
    """All routes. A segment ``{name}`` matches any one segment; a literal segment takes precedence."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._top = _Node()
        for route in self.routes:
            node = self._top
            for segment in route.path.split("/")[1:]:
                if not segment.startswith("{"):
                    node = node.named.setdefault(segment, _Node())
                    continue
                if node.any is None:
                    node.any = segment[1:-1], _Node()
                node = node.any[1]
            assert route.method not in node.routes, f"two routes for {route.method} {route.path}"
            node.routes[route.method] = route

    def find(self, raw_path: bytes) -> RouteMatch | None:
        """Return the routes of a raw request path; ``None`` if there is none.

        Raises:
            UnicodeDecodeError: a segment is not UTF-8.
        """
        segments = raw_path.decode("ascii").split("/")[1:]
        if b"%" in raw_path:
            segments = [unquote(segment, errors="strict") for segment in segments]
        return next(_matches(self._top, segments, {}), None)


def _matches(node: _Node, segments: list[str], path: dict[str, str]) -> Iterator[RouteMatch]:
    if not segments:
        if node.routes:
            yield RouteMatch(node.routes, path)
        return
    first, *rest = segments
    if first in node.named:
        yield from _matches(node.named[first], rest, path)
    if node.any is not None and first:
        name, below = node.any
        yield from _matches(below, rest, path | {name: first})
