"""The view of a store that one MCP server has: its world, moments, scopes, memories and pages.

Also here: the context of a tool call, and the cursors of paged answers.
"""

import base64
import re
import struct
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

import worlddb
from worlddb.memory_scopes import ENTRY, FAR, HOLDERS, KINDS, SCOPE, Label, Scopes, composed, is_visible, later_view
from worlddb.tools.mcp import access_keys, mcp_wording, tool_arguments, tool_results

Step = Callable[[int, int], None]
"""Callback for (done, total). It raises if the call was cancelled, which ends the work."""


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""


def no_message(text: str) -> None:
    """Ignore a message."""


class ClientQuestions(Protocol):
    """Asks the person who uses the client; a model cannot answer for them."""

    def can(self, method: str) -> bool:
        """Return whether the client supports a kind of question."""

    def __call__(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answers, or end the call until they are there."""


class Call(NamedTuple):
    """The context of a tool call.

    None of it comes from the arguments, which a model writes. ``tell`` sends the client a message, ``ask`` questions.
    """

    client: str
    tool: str
    step: Step = no_progress
    tell: Callable[[str], None] = no_message
    ask: ClientQuestions | None = None

    @property
    def source(self) -> dict[str, Any]:
        """The provenance of what the call writes."""
        return {"channel": "mcp", "client": self.client, "tool": self.tool}


def combine_passes(step: Step, passes: int) -> Step:
    """Turn the progress of several passes over the same items into one that only grows."""
    finished, before = 0, 0

    def report(done: int, total: int) -> None:
        nonlocal finished, before
        if done <= before and finished < passes - 1:
            finished += 1
        before = done
        step(finished * total + done, passes * total)

    return report


SECRET_BYTES: Final = 32
WORLD_BYTES: Final = 16
_PRESENT_MICROS: Final = 60_000_000
"""A view whose valid time is not older than this is of the present."""
_SCOPE_BYTES: Final = 2
PLACE_BYTES: Final = _SCOPE_BYTES + WORLD_BYTES
"""Length of a memory's place in a list: the number of its scope among those named, and the memory."""
PAIR_BYTES: Final = PLACE_BYTES + WORLD_BYTES
"""Length of a pair's place in a list: the place of the first memory, and the second memory."""
MAX_COMPARED: Final = 500
"""Scopes whose ids are compared with an unknown one for suggestions."""
MAX_SUGGESTED: Final = 5
"""Scopes that are suggested for an unknown one."""
_MIN_SIMILARITY: Final = 0.66
"""Similarity, by ``difflib``, from which on one id may be a misspelling of another."""
MAX_EVENTS: Final = 2**32 - 1
"""The largest offset of a cursor in the log, or in a commit."""
_PLACE: Final = struct.Struct(">QqI")
_LIST_BYTES: Final = 4
_BEHIND: Final = struct.Struct("34s")
_PAGE_FIELDS: Final = frozenset(("limit", "cursor", "ingested", "seq", "valid", "known"))
"""Parameters that may differ between the pages of a list; all pages have the moment of the first."""


_WHOLE_ID: Final = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{64}")
_FIRST_DIGITS: Final = re.compile(rf"[0-9a-fA-F]{{{tool_results.SHORT},64}}")


class CursorPosition(NamedTuple):
    """The start of a page, and the moment that all pages of the answer share.

    ``behind`` is the last item of the page before, in lists that continue from an item; in others ``offset`` counts.
    ``of`` is the list, as :meth:`ListRequest.digest` has it; the stream of events has none.
    """

    seq: int
    valid: int
    offset: int
    behind: bytes = b""
    of: bytes = b""


class ListRequest(NamedTuple):
    """A paged list and the parameters of the request for it."""

    name: str
    given: msgspec.Struct

    @property
    def scoped(self) -> tool_arguments.Scoped | None:
        """The parameters, if they are such as name scopes."""
        return self.given if isinstance(self.given, tool_arguments.Scoped) else None

    def digest(self) -> bytes:
        """Return a digest of the name and of the parameters that all pages share, for the cursor."""
        filters = msgspec.json.encode(self._filters(), order="deterministic", enc_hook=repr)
        return _short_digest(self.name.encode()) + _short_digest(filters)

    def require_same_list(self, place: CursorPosition, cursor: str) -> None:
        """Check that a cursor belongs to this list and its parameters.

        Raises:
            InputError: it belongs to another list, or to this one with other parameters.
        """
        digest = self.digest()
        if place.of[:_LIST_BYTES] != digest[:_LIST_BYTES]:
            raise worlddb.InputError(
                f"The cursor {cursor!r:.60} belongs to another list than {self.name:.80}",
                "Give next_cursor of a page of this list, or none",
            )
        if place.of != digest:
            named = ", ".join(self._filters()) or "none"
            raise worlddb.InputError(
                f"The cursor {cursor!r:.60} is of {self.name:.80} with other parameters ({named})",
                "Give the parameters of the page before with its next_cursor; or leave cursor out to start again",
            )

    def _filters(self) -> dict[str, Any]:
        fields = (
            (name, getattr(self.given, field), unsaid) for field, name, unsaid in _filter_fields(type(self.given))
        )
        return {name: value for name, value, unsaid in fields if value not in (None, {}, unsaid)}


@cache
def _filter_fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, Any], ...]:
    """Return the fields that select what is listed: field name, public name and default of each."""
    fields = (each for each in msgspec.structs.fields(kind) if each.name not in _PAGE_FIELDS)
    return tuple((each.name, each.encode_name, each.default) for each in fields)


def _short_digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=_LIST_BYTES).digest()


class Cursors:
    """Encodes the cursors of one session.

    With a secret they are sealed against readers, since they hold a commit's number.
    """

    def __init__(self, world: str | None = None, secret: bytes | None = None) -> None:
        self._world = (world or "").encode()
        self._cipher = None if secret is None else AESSIV(secret)

    def text(self, place: CursorPosition) -> str:
        """Encode a place; all sealed cursors of one list have the same length."""
        encoded = _PLACE.pack(*place[:3]) + place.of + (_BEHIND.pack(place.behind) if place.behind else b"")
        if self._cipher is not None:
            encoded = self._cipher.encrypt(encoded, [self._world])
        return base64.urlsafe_b64encode(encoded).decode()

    def place(self, cursor: str, most: int = tool_arguments.MAX_OFFSET) -> CursorPosition:
        """Decode a cursor, whose offset is ``most`` at most.

        Raises:
            InputError: it is not a cursor of this session.
        """
        try:
            stored = base64.urlsafe_b64decode(cursor.encode())
            if self._cipher is not None:
                stored = self._cipher.decrypt(stored, [self._world])
            place, rest = CursorPosition(*_PLACE.unpack(stored[: _PLACE.size])), stored[_PLACE.size :]
            if rest:
                place = place._replace(of=rest[: 2 * _LIST_BYTES])
                if len(place.of) < 2 * _LIST_BYTES:
                    raise ValueError("it is cut off")
            if rest := rest[2 * _LIST_BYTES :]:
                place = place._replace(behind=_BEHIND.unpack(rest)[0][: place.offset])
        except (ValueError, InvalidTag, struct.error):
            place = None
        if place is None or not 0 <= place.offset <= most:
            raise worlddb.InputError(
                f"There is no page {cursor!r:.60}", "Give next_cursor of an answer unchanged, or none"
            )
        return place


_FIND_SCOPES: Final = "memory_list_scopes lists the ids"
_IS_SIMILAR: Final = f"and there is one of a similar id: {_FIND_SCOPES}"

_HIDDEN_REFUSALS: Final = {
    "joined_by_others": "Other decisions join the two as well. Undo those that memory_proposals shows with status=all",
    "joins_rejected_pair": "This would join two that were rejected as one. If memory_proposals shows them with"
    " status=all, undo that decision first",
}
"""Texts for refusals that name a chain of worlds, for a session that may not see all of them."""

Item = TypeVar("Item")


class PagedView(NamedTuple):
    """A view for one page of an answer, and where that page begins."""

    view: worlddb.View
    offset: int
    cursors: Cursors
    behind: bytes = b""
    of: bytes = b""

    def page(self, items: Iterable[Item], limit: int) -> tuple[list[Item], str | None]:
        """Return one page of the items, and the cursor of the next page if there is one."""
        return self.page_of_rest(islice(items, self.offset, None), limit, tool_arguments.MAX_OFFSET)

    def page_after(self, items: list[Item], limit: int, key: Callable[[Item], bytes]) -> tuple[list[Item], str | None]:
        """As :meth:`page`, given the items behind :attr:`behind`, at most one more than a page; ``key`` names an
        item."""
        if len(items) <= limit:
            return items, None
        behind = key(items[limit - 1])
        return items[:limit], self._cursor(len(behind), behind)

    def page_of_rest(self, items: Iterable[Item], limit: int, most: int = MAX_EVENTS) -> tuple[list[Item], str | None]:
        """As :meth:`page`, given the items behind the earlier pages; ``most`` is the largest offset."""
        part, end = list(islice(items, limit + 1)), self.offset + limit
        more = len(part) > limit and end <= most
        return part[:limit], self._cursor(end) if more else None

    def _cursor(self, offset: int, behind: bytes = b"") -> str:
        return self.cursors.text(CursorPosition(self.view.seq, self.view.valid, offset, behind, self.of))


class Session(Scopes):
    """A store as one server sees it: all of it, or one world and its contents.

    No answer of a session of one world depends on the rest of the store. It shows no commit numbers, which would reveal
    how much others write; it names moments by times.
    """

    def __init__(
        self,
        db: worlddb.Database,
        world: str | None = None,
        *,
        secret: bytes | None = None,
        user: str | None = None,
        account: Callable[[], worlddb.Grant] | None = None,
    ) -> None:
        """``secret`` is shared by servers that must understand each other's cursors of one world.

        ``account`` returns the current grant of an account's key, under its plan.

        ``user`` is the user of calls that name no scope.

        Raises:
            InputError: there can be no such user.
        """
        super().__init__(db, world)
        self.user = None if user is None else access_keys.checked_user(user)
        self._account = account
        self.cursors = Cursors()
        if self.world is not None:
            self.cursors = Cursors(self.world, secret or worlddb.SystemEntropy().bytes(SECRET_BYTES))

    def lanes(self, asked: Sequence[str] = worlddb.LANES) -> tuple[str, ...]:
        """Return the lanes of a recall that the key's plan includes.

        Raises:
            PlanLimit: it has none of them.
        """
        return tuple(asked) if self._account is None else self._account().lanes(asked)

    def most_hits(self, default: int) -> int:
        """Return the hits of a recall that asks for no number: the default, or what the key's plan allows of it."""
        return default if self._account is None else self._account().most_hits(default)

    def require(self, feature: str) -> None:
        """Require a feature of the key's plan.

        Raises:
            PlanLimit: it has not.
        """
        if self._account is not None:
            self._account().require_feature(feature)

    def require_whole_store(self, what: str, remedy: str) -> None:
        """Require that the server serves the whole store.

        Raises:
            InputError: it serves one world; ``what`` says why that is not enough.
        """
        if self.world is not None:
            raise worlddb.InputError(f"This server serves one world, and {what}", remedy)

    # -- forks

    def fork_container(self, view: worlddb.View, ref: str) -> str | None:
        """Return the container for a fork, if the default one could lie outside of what the session sees.

        ``None`` leaves that to the store.
        """
        return None if self.world is None else next(iter(view.containers(ref)), self.world)

    def check_merge(self, ref: str) -> None:
        """Check that a merge changes nothing outside of what this session sees.

        Raises:
            UnknownReference: it would.
        """
        if self.world is None:
            return
        view = self.view()
        unseen = worlddb.UnknownReference(
            "This key does not see everything in the merge", "Use a key of the whole store"
        )
        if view.forked_from(ref) is None:
            raise unseen
        plan = self.db.merge(ref, plan=True)
        touched = [*(each.world for each in plan.changes), *(each.world for each in plan.conflicts)]
        for each in dict.fromkeys((plan.into, *plan.erased, *touched)):
            try:
                self.get(view, each)
            except worlddb.UnknownReference:
                raise unseen from None

    # -- moments

    def view(
        self,
        *,
        valid: str | None = None,
        known: str | int | None = None,
        given: tool_arguments.Scoped | None = None,
    ) -> worlddb.View:
        """Return the view of a moment for a read; now by default.

        It sees nothing that belongs to others alone than the user whom ``given`` names, else the user of the server.

        Raises:
            InputError: a commit's number was given where commits have none.
        """
        return self.for_user(self.view_to_write(valid=valid, known=known), given)

    def view_to_write(self, *, valid: str | None = None, known: str | int | None = None) -> worlddb.View:
        """Return the view of a moment for a change, which may be of another user's memory: its id is enough.

        Raises:
            InputError: a commit's number was given where commits have none.
        """
        if isinstance(known, int) and self.world is not None:
            raise worlddb.InputError("Commits have no numbers in this world", "Give known as a time (ISO 8601)")
        if isinstance(known, int):
            return self.db.view(valid=valid, seq=known, world=self.world)
        try:
            return self.db.view(valid=valid, ingested=known, world=self.world)
        except worlddb.UnknownReference:
            if self.world is None or known is None:
                raise
            # One error for all moments before this world: another would reveal when the store began.
            raise worlddb.UnknownReference("Nothing was known here by then", "Ask for a later time") from None

    def for_user(self, view: worlddb.View, given: tool_arguments.Scoped | None) -> worlddb.View:
        """Return the view for the user whom a call names, else for the user of the server, if it has one."""
        user = self.user if given is None else given.user_id or self.user
        return view if user is None else view._for_users([user])

    def resume(
        self,
        cursor: str | None,
        asked: ListRequest,
        *,
        valid: str | None = None,
        known: str | int | None = None,
        most: int = tool_arguments.MAX_OFFSET,
        behind: int = 0,
    ) -> PagedView:
        """Return the view and offset of a page: the cursor's, which is ``most`` at most, else as asked for.

        ``behind`` are the bytes of the item behind which a page of this list begins; none where items are counted.

        Raises:
            InputError: the cursor is invalid, or belongs to another list, other parameters or another moment.
        """
        if cursor is None:
            found = self.view(valid=valid, known=known, given=asked.scoped)
            return PagedView(found, 0, self.cursors, of=asked.digest())
        place = self.cursors.place(cursor, most)
        asked.require_same_list(place, cursor)
        if len(place.behind) != behind:
            raise worlddb.InputError(
                f"There is no page {cursor!r:.60}", "Give next_cursor of an answer unchanged, or none"
            )
        view = self.for_user(self.db.view(seq=place.seq, valid=place.valid, world=self.world), asked.scoped)
        if valid is not None or known is not None:
            requested = self.view(valid=valid, known=known)
            if (valid is not None and requested.valid != view.valid) or (
                known is not None and requested.seq != view.seq
            ):
                raise worlddb.InputError(
                    f"The cursor {cursor!r:.60} is of another moment than valid or known", "Leave both out beside it"
                )
        return PagedView(view, place.offset, self.cursors, place.behind, place.of)

    def later(self, view: worlddb.View, valid: int) -> worlddb.View:
        """Return a view with the same knowledge, at a valid time if that is later."""
        return later_view(self.db, view, valid)

    def around(self, view: worlddb.View, ref: str) -> worlddb.View:
        """Return the view that shows a memory and its future successor.

        In a session of one world, what is still to come is not yet inside, so it is read as it is going to be; not if
        the memory leaves that world before.
        """
        if self.world is None:
            return view
        then = self.later(view, FAR)
        try:
            then.reference_of(ref)
        except worlddb.UnknownReference:
            return view
        return then

    def get(self, view: worlddb.View, ref: str, given: tool_arguments.Scoped | None = None) -> worlddb.World:
        """Return the world of an id or prefix, whether it holds now, has ended or is still to come.

        ``given`` are the arguments that name scopes, where a call has such: see :meth:`reference`.

        Raises:
            UnknownReference, AmbiguousReference: nothing that the view sees has it; several have.
        """
        try:
            found = view.get(self.reference(view, ref, given), include_superseded=True)
        except worlddb.UnknownReference:
            around = self.around(view, ref)
            found = around.get(self.reference(around, ref, given), include_superseded=True)
        assert found is not None, "a known world has a newest version"
        return found

    def reference(
        self,
        view: worlddb.View,
        text: str,
        given: tool_arguments.Scoped | None = None,
        *,
        writes: bool = True,
    ) -> str:
        """Return the reference of an id, its first digits, a kref, or a name.

        A full id and a kref are resolved in everything that this server sees. If the call or the server names scopes, a
        name is looked up only in these, and so are first digits that are fewer than answers show. Without scopes, an
        ambiguous name is an error, and for a write a name inside a scope is not found: it belongs to somebody.

        Raises:
            UnknownReference, AmbiguousReference: nothing there has that name; several do.
        """
        if _WHOLE_ID.fullmatch(text) or text.lower().startswith("kref://"):
            return view.reference_of(text)
        default = [] if self.user is None else [Label("user", self.user)]
        labels = default if given is None else self.labels(given)
        if not labels:
            return view._reference_to_write(text) if writes else view.reference_of(text)
        matches: dict[str, None] = {}
        later = self.later(view, FAR)
        for scope in (scope for label in labels for scope in self.scopes(view, label, include_retired=True)):
            for look in (view, later):
                try:
                    matches[look.confined(scope.ref).reference_of(text)] = None
                    break
                except worlddb.UnknownReference:
                    pass
        if len(matches) > 1:
            listed = ", ".join(ref[: tool_results.SHORT] for ref in matches)
            raise worlddb.AmbiguousReference(
                f"Several memories in {_join_labels(labels)} are called {text!r:.80}: {listed}",
                "Give the id of one of them",
                candidates=[*matches],
            )
        if matches:
            return next(iter(matches))
        if _FIRST_DIGITS.fullmatch(text):
            return view._reference_by_prefix(text)
        raise worlddb.UnknownReference(
            f"Nothing in {_join_labels(labels)} has the id or the name {text!r:.80}",
            f"{mcp_wording.FIND_IDS}; names, and fewer than {tool_results.SHORT} digits of an id, are looked up there"
            " alone",
        )

    def notes_on_other_user(self, view: worlddb.View, ref: str) -> list[str]:
        """Return a note if a memory, changed by its id, belongs to another user than the default one."""
        if self.user is None:
            return []
        own_scope, owners = f"user:{composed(self.user)}", self.owners(view, ref)
        if not owners or own_scope in owners:
            return []
        return [f"{ref} is in {' and '.join(map(mcp_wording.named, owners))}, not in {mcp_wording.named(own_scope)}"]

    def owners_to_name(self, view: worlddb.View, ref: str, given: tool_arguments.Scoped) -> list[str]:
        """Return the owners of a memory for a call that is for no user: it may be any user's; else none."""
        return [] if given.user_id or self.user else self.owners(view, ref)

    def owners(self, view: worlddb.View, ref: str) -> list[str]:
        """Return the users whose memory it is, as ``user:id``."""
        return [f"user:{each}" for each in sorted(view._users_of(ref))]

    def commit_number(self, seq: int) -> int | None:
        """Return a commit's number where this session has commit numbers, else ``None``."""
        return seq if self.world is None else None

    def moment(self, view: worlddb.View) -> dict[str, Any]:
        """Describe the moment of an answer."""
        return {"seq": self.commit_number(view.seq), "valid": worlddb.format_time(view.valid)}

    def idempotency_key(self, key: str | None) -> str | None:
        """Return the stored form of an idempotency key, which is distinct for each served world and default user."""
        per_user = key if key is None or self.user is None else f"user:{self.user} {key}"
        return per_user if per_user is None or self.world is None else f"mcp {self.world} {per_user}"

    def explain(self, error: worlddb.WorldDBError) -> str:
        """Describe an error for a model."""
        hidden = self.hidden(error)
        return mcp_wording.explain_error(error) if hidden is None else f"{error.code}: {hidden}"

    def hidden(self, error: worlddb.WorldDBError) -> str | None:
        """Return the text that replaces an error which may reveal what this session does not see.

        A session of one world does not describe errors of the store. ``None`` if the error may be described.
        """
        if self.world is None:
            return None
        if isinstance(error, worlddb.UnavailableError | worlddb.StoreError):
            return "The memory cannot be reached now. Try again later"
        if isinstance(error, worlddb.IdempotencyConflict):
            return "Another call was made under this idempotency_key. Use a new one for a new call"
        if isinstance(error, worlddb.RefusedError):
            return _HIDDEN_REFUSALS.get(str(error.details.get("reason")))
        return None

    # -- scopes

    def scope_refs(
        self, view: worlddb.View, given: tool_arguments.Scoped, *, include_retired: bool = False
    ) -> list[str] | None:
        """Return references of the named scopes that exist; ``None`` if none was named."""
        labels = self.labels(given)
        if not labels:
            return None
        found = (self.scopes(view, label, include_retired=include_retired) for label in labels)
        return [world.ref for worlds in found for world in worlds]

    def memories_in(
        self, view: worlddb.View, scopes: list[str] | None, *, include_retired: bool = False, hidden: bool = False
    ) -> Iterator[worlddb.World]:
        """Yield the memories in some scopes, or all visible ones, each once and in log order.

        With ``hidden`` also those that a deadline hides, or that are deprecated.
        """
        seen: set[str] = set()
        for scope in [None] if scopes is None else scopes:
            for world in _iterate_worlds(view, scope, include_retired=include_retired, hidden=hidden):
                if world.ref not in seen and not self.is_scope(view, world) and not _is_inferred(world):
                    seen.add(world.ref)
                    yield world

    def memories_after(
        self,
        view: worlddb.View,
        scopes: list[str] | None,
        behind: bytes,
        *,
        include_retired: bool = False,
        contradicted: bool = False,
    ) -> Iterator[tuple[bytes, worlddb.World]]:
        """Yield the memories of :meth:`memories_in` behind a place, each with its own place.

        A memory that also lies in an earlier scope is skipped: it was listed there. With ``contradicted`` only what
        something contradicts, of which alone records are made.
        """
        places = [None] if scopes is None else scopes
        first, after = int.from_bytes(behind[:_SCOPE_BYTES], "big"), behind[_SCOPE_BYTES:].hex() or None
        for number, scope in enumerate(places[first:], first):
            earlier = [view.confined(each) for each in places[:number]]
            found = (
                view._contradicted_after(scope, after)
                if contradicted
                else _iterate_worlds(view, scope, include_retired=include_retired, after=after)
            )
            for world in found:
                is_listed = any(is_visible(each.reference_of, world.ref) for each in earlier)
                if not is_listed and not self.is_scope(view, world) and not _is_inferred(world):
                    yield number.to_bytes(_SCOPE_BYTES, "big") + bytes.fromhex(world.ref), world
            after = None

    def conflicts_after(
        self, view: worlddb.View, scopes: list[str] | None, behind: bytes
    ) -> Iterator[tuple[bytes, worlddb.World, worlddb.World]]:
        """Yield the pairs of contradicting memories with at least one in the scopes, each once.

        It begins behind a given pair, and yields each pair after its place.
        """
        place, second = behind[:PLACE_BYTES], behind[PLACE_BYTES:].hex()
        first_memory = view.get(place[_SCOPE_BYTES:].hex()) if place else None
        first = () if first_memory is None else ((place, first_memory),)
        for position, one in chain(first, self.memories_after(view, scopes, place, contradicted=True)):
            number, listed = int.from_bytes(position[:_SCOPE_BYTES], "big"), one.conflicts
            if one is first_memory and second in listed:
                listed = listed[listed.index(second) + 1 :]
            places = [None] if scopes is None else scopes
            for ref in listed:
                other = view.get(ref)
                is_listed = view._precedes(ref, one.ref, places[number]) or any(
                    is_visible(view.confined(each).reference_of, ref) for each in places[:number]
                )
                if other is not None and not is_listed:
                    yield position + bytes.fromhex(ref), one, other

    def all_scopes(
        self, view: worlddb.View, *, include_retired: bool = False, after: str | None = None
    ) -> Iterator[worlddb.World]:
        """Yield the scopes that the session sees, or those behind one, in log order.

        For the user of a server, an agent, an application or a run that only ever held what is of others is left out.
        """
        found = _iterate_worlds(view, None, include_retired=include_retired, after=after, type=SCOPE)
        return (world for world in found if self.is_scope(view, world) and not self._is_of_others(view, world.ref))

    def _is_of_others(self, view: worlddb.View, scope: str) -> bool:
        """Return whether a scope ever held something, and nothing that the view of the server's user shows."""

        def has_held(seen_by: worlddb.View) -> bool:
            held = seen_by.edges(scope, type="contains", direction="out", include_superseded=True)
            return next(iter(held), None) is not None

        return self.user is not None and not has_held(view) and has_held(self.db.view(seq=view.seq, valid=view.valid))

    def future_memories(
        self, view: worlddb.View, scopes: Iterable[str], known: Container[str]
    ) -> Iterator[worlddb.World]:
        """Yield the memories that will hold in some scopes, at any depth, except known ones.

        A memory that lies in several containers is yielded for each.

        A future memory is not inside a served world yet, so the whole store is searched, but only through these
        scopes.
        """
        whole_view, pending = self.db.view(seq=view.seq, valid=view.valid), [*scopes]
        seen, future = set(pending), worlddb.Valid(view.valid, worlddb.FOREVER)
        for container in pending:
            for edge in whole_view.edges(container, type="contains", direction="out", include_superseded=True):
                pending += [] if edge.target in seen else [edge.target]
                seen.add(edge.target)
                if edge.target in known:
                    continue
                held = whole_view.history(edge.target, overlaps=future)
                spans = [span for each in held for span in each.spans or (each.valid,)]
                joined = edge.spans or (edge.valid,)
                begins = {max(view.valid, one.start, other.start) for one in joined for other in spans}
                if any(
                    self._holds_in_scopes(self.db.view(seq=view.seq, valid=at), edge.target, scopes) for at in begins
                ):
                    world = whole_view.get(edge.target, include_superseded=True)
                    if world is not None and not self.is_scope(whole_view, world) and not _is_inferred(world):
                        yield world

    @staticmethod
    def _holds_in_scopes(view: worlddb.View, ref: str, scopes: Iterable[str]) -> bool:
        """Return whether a memory holds in a view, and lies in one of some scopes, at any depth."""
        if view.get(ref, include_expired=True, include_deprecated=True) is None:
            return False
        wanted, level, seen = {*scopes}, {ref}, set[str]()
        while level and not level & wanted:
            seen |= level
            level = {up for each in level for up in view.containers(each)} - seen
        return bool(level)

    def labels(self, given: tool_arguments.Scoped, *, writes: bool = False) -> list[Label]:
        """Return the labels of the scopes that the arguments of a tool name, else that of the user by default.

        With ``writes`` the default user is added unless another user is named.
        """
        named = ((kind, getattr(given, f"{kind}_id")) for kind in KINDS)
        labels = [Label(kind, identity) for kind, identity in named if identity is not None]
        if self.user is not None and (not labels or (writes and given.user_id is None)):
            labels.insert(0, Label("user", self.user))
        return labels

    def explain_unknown_scope(self, view: worlddb.View, label: Label) -> str:
        """Describe a scope that has ended, or an unknown one with suggestions that this session may see."""
        ended = self.ended(view, label)
        if ended is not None:
            return (
                f"{mcp_wording.named(str(label))} ended at {tool_results.time(ended.valid.end)}."
                " memory_as_of with valid before that reads it, memory_list with include_retired lists it, a write"
                f" to it begins it anew; only the operator can resume it: worlddb reassert {ended.ref}"
            )
        near, known = self._similar_scopes(view, label)
        suggestion = f"Did you mean {' or '.join(near)}? " if near else ""
        others = [each for each in known if each not in near]
        now = self.db.view()
        when = "yet" if view.seq == now.seq and now.valid - view.valid < _PRESENT_MICROS else "there at that time"
        if label.kind == "user" and self.user is not None:
            hint = "" if near else f"This server is for {mcp_wording.named(f'user:{self.user}')}"
        elif label.kind == "run":
            # A run is new by nature: an agent asks in it before it writes.
            suggestion, hint = "", f"Nothing was written in that run {when}"
        elif label.kind == "user" and known:
            suggestion = "There is one of a similar id. " if near else ""
            hint = f"{_FIND_SCOPES} (capitals count)"
        else:
            hint = f"Known: {', '.join(others)}" if others else "" if near else f"No {label.kind} has memories {when}"
        return f"There is no scope {mcp_wording.named(str(label))}. {suggestion}{hint}".strip()

    def note_on_scope(self, view: worlddb.View, label: Label) -> str:
        """Return a note on a scope that begins with a write: an ended one, or a user's of nearly the id of another.

        An empty text on others; a run is new by nature.
        """
        named, ended = mcp_wording.named(str(label)), self.ended(view, label)
        if ended is not None:
            at = tool_results.time(ended.valid.end)
            return f"{named} had ended at {at}, and begins anew; memory_list with include_retired lists what was before"
        near = self._similar_scopes(view, label)[0] if label.kind == "user" else []
        like = f"different from {' or '.join(near)}" if self.user is not None else _IS_SIMILAR
        return f"{named} is a new scope, {like}" if near else ""

    def _similar_scopes(self, view: worlddb.View, label: Label) -> tuple[list[str], list[str]]:
        """Return the scopes of the same kind with similar ids, and the first scopes of that kind, of whatever user.

        Of the users, a session with a default user names only that one.
        """
        view = self.db.view(seq=view.seq, valid=view.valid, world=self.world)
        scopes = view.find(type=SCOPE, limit=MAX_COMPARED)
        of_kind = f"{label.kind}:"
        known = [world.name for world in scopes if world.name.startswith(of_kind) and self.is_scope(view, world)]
        if label.kind == "user" and self.user is not None:
            known = [name for name in known if composed(name) == f"user:{composed(self.user)}"]
        by_fold: dict[str, list[str]] = {}
        for name in known:
            by_fold.setdefault(name.removeprefix(of_kind).casefold(), []).append(name)
        folded = get_close_matches(label.id.casefold(), by_fold, n=MAX_SUGGESTED, cutoff=_MIN_SIMILARITY)
        near = [mcp_wording.named(name) for each in folded for name in by_fold[each] if name != str(label)]
        return near[:MAX_SUGGESTED], [mcp_wording.named(name) for name in known[:MAX_SUGGESTED]]

    # -- single memories

    def memory(self, view: worlddb.View, ref: str, given: tool_arguments.Scoped | None = None) -> worlddb.World:
        """Return the memory of an id or prefix, whether it still holds or not.

        Raises:
            UnknownReference, AmbiguousReference: nothing that the server sees has it; several have.
            InputError: it is a scope.
        """
        found = self.get(view, ref, given)
        if found.ref == self.top or self.is_scope(view, found):
            raise worlddb.InputError(
                f"{ref} is a scope, not a memory", "Use memory_list or memory_retire_scope for scopes"
            )
        return found

    def statement(self, view: worlddb.View, ref: str, *, members: bool = False, entries: bool = False) -> worlddb.World:
        """Return the statement of an id or prefix; with ``members`` or ``entries`` also containers or entities.

        Raises:
            UnknownReference, AmbiguousReference: as in :meth:`memory`.
            InputError: it is a scope or a session, or the name of a person or thing.
        """
        found = self.memory(view, ref)
        if found.type in HOLDERS and not members:
            raise worlddb.InputError(
                f"{found.ref} contains memories and has no text itself", "Give the id of one of these"
            )
        if found.type == ENTRY and not (found.content or found.erased or entries):
            raise worlddb.InputError(
                f"{found.ref} is the entry of a person or thing, which has no text itself", "Give the id of a memory"
            )
        return found

    def scopes_of(self, view: worlddb.View, ref: str) -> list[str]:
        """Return the scopes of a memory as ``kind:id``; of a future memory those it will be in."""
        then = self.later(view, self.get(view, ref).valid.start)
        containers = (then.get(container, include_superseded=True) for container in then.containers(ref))
        return [world.name for world in containers if world is not None and self.is_scope(then, world)]


def _join_labels(labels: Iterable[Label]) -> str:
    return " and ".join(mcp_wording.named(str(label)) for label in labels)


def _is_inferred(world: worlddb.World) -> bool:
    """Return whether a world is an enrichment of a memory, and so no memory of its own."""
    return world.type == "Enrichment" and "made_of" in world.properties


def _iterate_worlds(
    view: worlddb.View,
    scope: str | None,
    *,
    include_retired: bool,
    hidden: bool = False,
    after: str | None = None,
    type: str | None = None,
) -> Iterator[worlddb.World]:
    """Yield what a scope contains, or what comes ``after`` a world of it.

    It reads in growing parts, so a page does not pay for what follows it.
    """
    wanted = tool_arguments.MAX_PAGE + 1
    options: dict[str, Any] = {"include_expired": hidden, "include_deprecated": hidden, "type": type}
    while True:
        found = view.find(world=scope, include_superseded=include_retired, limit=wanted, after=after, **options)
        yield from found
        if len(found) < wanted:
            return
        after, wanted = found[-1].ref, min(8 * wanted, _MAX_PART)


_MAX_PART: Final = 10_000
