"""The tools that recall: single memories, or the sessions that they are from; and what may have been missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from worlddb import Hit, InputError, Recall, View, World, group_hits
from worlddb.tools.mcp import arguments, results
from worlddb.tools.mcp.arguments import MAX_OFFSET, MAX_PAGE
from worlddb.tools.mcp.call import Call
from worlddb.tools.mcp.desk import ENTRY, SCOPE, Desk, Turned, labels_of
from worlddb.tools.mcp.missed import missed

LOOKED_AT: Final = 128
"""How many of the best memories sessions are judged by. It is the same for every page, so that no page differs."""
SESSION_KIND: Final = "run"
"""The kind of scope that is a session; memories of one person or one application have nothing else in common."""


def recall(desk: Desk, given: arguments.Recall, call: Call) -> results.Recalled:
    """``memory_recall``."""
    turned = desk.continued(given.cursor)
    if given.group is None:
        return _recalled(desk, turned, given, given.query, given.neighbours)
    return _by_session(desk, turned, given, given.group)


def as_of(desk: Desk, given: arguments.AsOf, call: Call) -> results.Recalled:
    """``memory_as_of``."""
    if given.valid is None and given.known is None and given.cursor is None:
        raise InputError("No moment was named", "Give valid, known, or both")
    if (given.query is None) == (given.id is None):
        raise InputError("Give either a query or an id", "A query recalls, an id looks one memory up")
    turned = desk.continued(given.cursor, valid=given.valid, known=given.known)
    if given.query is not None:
        return _recalled(desk, turned, given, given.query)
    assert given.id is not None
    known = desk.memory(turned.view, given.id)
    found = None if known.valid.start > turned.view.valid else turned.view.get(known.ref)
    seen = [] if found is None else [results.looked_up(found)]
    return results.Recalled(
        memories=seen, groups=[], notes=[], space=None, next_cursor=None, **desk.moment(turned.view)
    )


class _Asked:
    """The hits of a question in some scopes, best first, and what the answers rest on."""

    def __init__(self, desk: Desk, view: View, given: arguments.Paged, query: str, neighbours: int) -> None:
        self._desk, self._view, self._query, self._neighbours = desk, view, query, neighbours
        self._scopes = desk.insides(view, given)
        self._missing = [label for label in labels_of(given) if not desk.scopes(view, label)]
        self._answers: list[Recall] = []

    def hits(self, wanted: int) -> list[Hit]:
        """At least so many memories, if there are."""
        found: dict[str, Hit] = {}
        self._answers = []
        for scope in [None] if self._scopes is None else self._scopes:
            answer = self._recalled(scope, wanted)
            self._answers.append(answer)
            found |= {hit.ref: hit for hit in answer if _says_something(hit)}
        return sorted(found.values(), key=lambda hit: -hit.score)

    def _recalled(self, scope: str | None, wanted: int) -> Recall:
        k = wanted
        while True:
            answer = self._view.recall(self._query, world=scope, k=k, neighbours=self._neighbours)
            if len(answer) < k or k == MAX_OFFSET or sum(map(_says_something, answer)) >= wanted:
                return answer
            k = min(2 * k, MAX_OFFSET)

    @property
    def space(self) -> str | None:
        """The embedding space whose vectors were compared, where it may be told."""
        if self._desk.world is not None:
            return None
        return next((answer.space for answer in self._answers if answer.space), None)

    @property
    def notes(self) -> list[str]:
        """What a reader of the answer should know of how it was made."""
        absent = [f"There is no scope {label}; see memory_list_scopes" for label in self._missing]
        return absent + missed(self._answers, in_one_world=self._desk.world is not None)


def _says_something(hit: Hit) -> bool:
    """False for scopes, and for whom memories are about: these are found by their names and say nothing themselves."""
    return hit.type != SCOPE and (hit.type != ENTRY or bool(hit.content))


def _recalled(desk: Desk, turned: Turned, given: arguments.Paged, query: str, neighbours: int = 0) -> results.Recalled:
    asked = _Asked(desk, turned.view, given, query, neighbours)
    # One more than is shown says whether there is a next page.
    hits = asked.hits(min(turned.offset + given.limit + 1, MAX_OFFSET))
    shown, cursor = turned.page(hits, given.limit)
    return results.Recalled(
        memories=[results.hit(hit) for hit in shown],
        groups=[],
        notes=asked.notes,
        space=asked.space,
        next_cursor=cursor,
        **desk.moment(turned.view),
    )


def _by_session(desk: Desk, turned: Turned, given: arguments.Recall, most: int) -> results.Recalled:
    asked = _Asked(desk, turned.view, given, given.query, given.neighbours)
    hits = asked.hits(LOOKED_AT)
    sessions = _Sessions(desk, turned.view)
    found = group_hits(hits, sessions.keys(hits))
    shown, cursor = turned.page(found, min(given.limit, MAX_PAGE // most))
    memories = {hit.ref: results.hit(hit) for group in shown for hit in group.hits[:most]}
    return results.Recalled(
        memories=list(memories.values()),
        groups=[results.session(group, sessions.world(group.key), most) for group in shown],
        notes=asked.notes,
        space=asked.space,
        next_cursor=cursor,
        **desk.moment(turned.view),
    )


class _Sessions:
    """Which sessions and documents memories are in directly."""

    def __init__(self, desk: Desk, view: View) -> None:
        self._desk, self._view = desk, view
        self._known: dict[str, bool] = {}

    def world(self, ref: str) -> World | None:
        """A session; ``None`` for one that was erased."""
        return self._view.get(ref, include_superseded=True)

    def keys(self, hits: list[Hit]) -> Callable[[Hit], list[str]]:
        """What sessions a hit is of; itself if it is in none, or if it is a title: others of the hits are in it."""
        around = {hit.ref: [ref for ref in self._view.containers(hit.ref) if self._is_session(ref)] for hit in hits}
        containing = {ref for refs in around.values() for ref in refs}

        def keys_of(hit: Hit) -> list[str]:
            own = [hit.ref] if hit.ref in containing or not around[hit.ref] else []
            return own + around[hit.ref]

        return keys_of

    def _is_session(self, ref: str) -> bool:
        if ref not in self._known:
            world = self.world(ref)
            scope = world is not None and self._desk.is_scope(self._view, world)
            of_a_run = world is not None and world.name.partition(":")[0] == SESSION_KIND
            self._known[ref] = ref != self._desk.top and (of_a_run or not scope)
        return self._known[ref]
