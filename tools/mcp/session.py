"""What the tools work on: a store, the world that the server is confined to, scopes, and the pages of long answers.

One call of a tool, as the server knows it: who is connected, which tool, and whom to tell how far the work is.

Cursors: where the next page of an answer begins, and the moment that all of its pages are of.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from worlddb import (
    Database,
    IdempotencyConflict,
    InputError,
    StoreError,
    SystemEntropy,
    UnavailableError,
    UnknownReference,
    View,
    World,
    WorldDBError,
    format_time,
    parse_time,
)
from worlddb.tools.mcp import mcp_wording
from worlddb.tools.mcp.tool_arguments import KINDS, MAX_OFFSET, MAX_PAGE, Scoped

Step = Callable[[int, int], None]
"""Told how much of how much is done. What it raises ends the work: the call was cancelled."""


def unheard(done: int, total: int) -> None:
    """Nobody asked how far the work is."""


class Call(NamedTuple):
    """What the server knows of a call. None of it comes from the arguments, which a model writes."""

    client: str
    tool: str
    step: Step = unheard

    @property
    def source(self) -> dict[str, Any]:
        """The provenance of what the call writes."""
        return {"channel": "mcp", "client": self.client, "tool": self.tool}


def in_passes(step: Step, passes: int) -> Step:
    """The step of a work that goes over the same number of things several times, as one that only grows."""
    begun, before = 0, 0

    def told(done: int, total: int) -> None:
        nonlocal begun, before
        if done <= before and begun < passes - 1:
            begun += 1
        before = done
        step(begun * total + done, passes * total)

    return told


SECRET_BYTES: Final = 32
_PLACE: Final = struct.Struct(">QqI")


class Place(NamedTuple):
    """Where a page begins, and the moment that all pages of an answer are of."""

    seq: int
    valid: int
    offset: int


class Cursors:
    """How cursors of one desk are written. With a secret nobody else can read them: they hold a commit's number."""

    def __init__(self, world: str | None = None, secret: bytes | None = None) -> None:
        self._world = (world or "").encode()
        self._cipher = None if secret is None else AESSIV(secret)

    def text(self, place: Place) -> str:
        """The cursor of a place; all that are sealed are of one length."""
        stored = _PLACE.pack(*place)
        if self._cipher is not None:
            stored = self._cipher.encrypt(stored, [self._world])
        return base64.urlsafe_b64encode(stored).decode()

    def place(self, cursor: str) -> Place:
        """Where a cursor leads.

        Raises:
            InputError: it is none of this desk's.
        """
        try:
            stored = base64.urlsafe_b64decode(cursor.encode())
            if self._cipher is not None:
                stored = self._cipher.decrypt(stored, [self._world])
            place = Place(*_PLACE.unpack(stored))
        except (ValueError, InvalidTag, struct.error):
            place = None
        if place is None or not 0 <= place.offset <= MAX_OFFSET:
            raise InputError(f"There is no page {cursor!r:.60}", "Give next_cursor of an answer as it is, or none")
        return place


SCOPE: Final = "Scope"
ENTRY: Final = "Entity"
_BEGINNING: Final = "0001-01-01"
"""Scopes hold since ever, so that what is remembered of earlier times is in them at those times too."""

_FAR: Final = parse_time("9999-12-31")
"""By when everything that is still to come has begun."""

ScopeKey: TypeAlias = tuple[str, str, str, str, str]
"""``mcp``, the world that is served, the scope's kind and id, and how many scopes of that id were purged."""

Item = TypeVar("Item")


class Turned(NamedTuple):
    """A view and how much of its answer earlier pages had."""

    view: View
    offset: int
    cursors: Cursors

    def page(self, items: Iterable[Item], limit: int) -> tuple[list[Item], str | None]:
        """One page of the items, and the cursor of the next one if there are more."""
        taken = list(islice(items, self.offset, self.offset + limit + 1))
        end = self.offset + limit
        more = len(taken) > limit and end <= MAX_OFFSET
        cursor = self.cursors.text(Place(self.view.seq, self.view.valid, end)) if more else None
        return taken[:limit], cursor


class Label(NamedTuple):
    """What a scope stands for."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


class Session:
    """A store as one server sees it: all of it, or one world and what that contains.

    Nothing that is said at the desk of one world depends on what else is in the store: commits have no numbers there,
    since those tell how much others write, and moments are named by times.
    """

    def __init__(self, db: Database, world: str | None = None, *, secret: bytes | None = None) -> None:
        """``secret`` is shared by the servers that are to understand each other's cursors of one world."""
        self.db = db
        self.world = None if world is None else db.view().reference_of(world)
        self.top = self.world or str(next(db.log(1, 1)).data["root"])
        self._cursors = Cursors()
        if self.world is not None:
            self._cursors = Cursors(self.world, secret or SystemEntropy().bytes(SECRET_BYTES))

    # -- moments

    def view(self, *, valid: str | None = None, known: str | int | None = None) -> View:
        """What is visible here at a moment; now by default.

        Raises:
            InputError: a commit's number was given where commits have none.
        """
        if isinstance(known, int) and self.world is not None:
            raise InputError("Commits have no numbers here", "Give known as a time (ISO 8601)")
        if isinstance(known, int):
            return self.db.view(valid=valid, seq=known, world=self.world)
        return self.db.view(valid=valid, ingested=known, world=self.world)

    def continued(self, cursor: str | None, *, valid: str | None = None, known: str | int | None = None) -> Turned:
        """The view of a page and where the page begins: the cursor's, else what was asked for.

        Raises:
            InputError: the cursor is none.
        """
        if cursor is None:
            return Turned(self.view(valid=valid, known=known), 0, self._cursors)
        place = self._cursors.place(cursor)
        view = self.db.view(seq=place.seq, valid=place.valid, world=self.world)
        return Turned(view, place.offset, self._cursors)

    def later(self, view: View, valid: int) -> View:
        """The same knowledge as a view has, at a valid time if that is later."""
        return view if valid <= view.valid else self.db.view(seq=view.seq, valid=valid, world=self.world)

    def around(self, view: View, ref: str) -> View:
        """The view that has a memory with what is going to take its place. What is still to come is not yet in the one
        world that is served, so that is seen as it is going to be; not if the memory leaves it before."""
        if self.world is None:
            return view
        then = self.later(view, _FAR)
        try:
            then.reference_of(ref)
        except UnknownReference:
            return view
        return then

    def get(self, view: View, ref: str) -> World:
        """What an id or prefix stands for, whether it still holds, or is still to come, or neither.

        Raises:
            UnknownReference, AmbiguousReference: nothing that the server sees has it; several have.
        """
        try:
            found = view.get(ref, include_superseded=True)
        except UnknownReference:
            found = self.around(view, ref).get(ref, include_superseded=True)
        assert found is not None, "a known world has a newest version"
        return found

    def number(self, seq: int) -> int | None:
        """A commit's number, where commits have one."""
        return seq if self.world is None else None

    def moment(self, view: View) -> dict[str, Any]:
        """Which moment an answer is of."""
        return {"seq": self.number(view.seq), "valid": format_time(view.valid)}

    def once(self, key: str | None) -> str | None:
        """An idempotency key as the store has it: those of one world are not those of another."""
        return key if key is None or self.world is None else f"mcp {self.world} {key}"

    def told(self, error: WorldDBError) -> str:
        """An error in words. What is wrong with the store itself may have to do with what is not seen here."""
        if self.world is not None and isinstance(error, UnavailableError | StoreError):
            return f"{error.code}: The memory cannot be reached now. Try again later"
        if self.world is not None and isinstance(error, IdempotencyConflict):
            return f"{error.code}: Another call was made under this idempotency_key. Use a new one for a new call"
        return mcp_wording.told(error)

    # -- scopes

    def scopes(self, view: View, label: Label, *, include_retired: bool = False) -> list[World]:
        """The scope worlds of a label, those that were retired and begun anew among them if asked for."""
        found = view.find(name=str(label), type=SCOPE, include_superseded=include_retired)
        return [world for world in found if self.is_scope(view, world) and world.name == str(label)]

    def is_scope(self, view: View, world: World) -> bool:
        """Whether a world is a scope of this server."""
        kind, colon, _ = world.name.partition(":")
        return world.type == SCOPE and bool(colon) and kind in KINDS and self.top in view.containers(world.ref)

    def insides(self, view: View, given: Scoped, *, include_retired: bool = False) -> list[str] | None:
        """References of the scopes that were named and exist; ``None`` if none was named."""
        labels = labels_of(given)
        if not labels:
            return None
        found = (self.scopes(view, label, include_retired=include_retired) for label in labels)
        return [world.ref for worlds in found for world in worlds]

    def key(self, view: View, label: Label) -> ScopeKey:
        """What finds a scope again, so that all servers on one store mean the same one; after a purge it is another."""
        begun = self.scopes(view, label, include_retired=True)
        ended = sum(world.closed for world in begun)
        return "mcp", self.world or "", label.kind, label.id, str(ended)

    def write_scope(self, tx: Any, key: ScopeKey) -> Any:
        """The scope in a batch. If its name was erased it has it again, as whoever writes into it says it now."""
        _, _, kind, identity, _ = key
        return tx.create(
            SCOPE,
            str(Label(kind, identity)),
            key=msgspec.json.encode(key).decode(),
            world=self.world,
            valid_from=_BEGINNING,
            resolve=False,
            source={"channel": "mcp"},
            revive=True,
        )

    def begin_anew(self, key: ScopeKey, memory: str, valid_from: str | None) -> None:
        """Put a memory into the scope after those that have ended and were erased since, so that nobody could count
        them: it is in the last of these, where nobody would find it."""
        *parts, number = key
        while True:
            number = str(int(number) + 1)
            with self.db.batch() as tx:
                scope = self.write_scope(tx, cast(ScopeKey, (*parts, number)))
                tx.link(scope, "contains", memory, valid_from=valid_from)
            if not any(note.code == "not_revived" for note in tx.receipt.notes):
                return

    def write_entry(self, tx: Any, key: ScopeKey, scope: Any, name: str, source: dict[str, Any]) -> Any:
        """Whom or what memories of a scope are about, in a batch: made at its first mention there, and resolved. After
        one that was retired, another begins."""
        inside = msgspec.json.encode((*key, name)).decode()
        given = {"key": inside, "world": scope, "source": source, "valid_from": _BEGINNING}
        return tx.create(ENTRY, name, **given, resolve="all", anew=True)

    def inside(self, view: View, scopes: list[str] | None, *, include_retired: bool = False) -> Iterator[World]:
        """The memories in some scopes, or all that the server sees; each once, in log order of a scope."""
        seen: set[str] = set()
        for scope in [None] if scopes is None else scopes:
            for world in _found(view, scope, include_retired=include_retired):
                if world.ref not in seen and not self.is_scope(view, world):
                    seen.add(world.ref)
                    yield world

    # -- single memories

    def memory(self, view: View, ref: str) -> World:
        """The memory that an id or prefix stands for, whether it still holds or not.

        Raises:
            UnknownReference, AmbiguousReference: nothing that the server sees has it; several have.
            InputError: it is a scope.
        """
        found = self.get(view, ref)
        if found.ref == self.top or self.is_scope(view, found):
            raise InputError(f"{ref} is a scope, not a memory", "Use memory_list or memory_purge_scope for scopes")
        return found

    def scopes_of(self, view: View, ref: str) -> list[str]:
        """The scopes that a memory is in, or is going to be in once it holds, as ``kind:id``."""
        there = self.later(view, self.get(view, ref).valid.start)
        around = (there.get(container, include_superseded=True) for container in there.containers(ref))
        return [world.name for world in around if world is not None and self.is_scope(there, world)]

    def keep_up(self) -> None:
        """Give new texts their vectors, unless the store does by itself. What was written is durable and found by its
        words without them."""
        if self.db.background:
            return
        try:
            self.db.embed()
        except UnavailableError:
            pass


def _found(view: View, scope: str | None, *, include_retired: bool) -> Iterator[World]:
    """What a scope contains, looked up in parts that grow: a page of it costs nothing for what comes after."""
    told, wanted = 0, MAX_PAGE + 1
    while True:
        found = view.find(world=scope, include_superseded=include_retired, limit=wanted)
        yield from found[told:]
        if len(found) < wanted:
            return
        told, wanted = wanted, 8 * wanted


def labels_of(given: Scoped) -> list[Label]:
    """The scopes that the arguments of a tool name."""
    named = ((kind, getattr(given, f"{kind}_id")) for kind in KINDS)
    return [Label(kind, identity) for kind, identity in named if identity is not None]
