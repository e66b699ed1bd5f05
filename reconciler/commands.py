"""Commands: what a caller asks for, as values. Times are integer microseconds; ``None`` means the default.

A reference is a full id (bytes), a hex prefix (str), or the position of an earlier command of the same batch (int).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any, ClassVar, Final

import msgspec

from worlddb.log.model import codec
from worlddb.log.model import events as ev
from worlddb.log.model.hashing import COMMAND_KEY, keyed

Ref = bytes | str | int

_BODY_FIELDS = ("type", "name", "content")
DETAIL_FIELDS = frozenset({"aliases", "why", "source", "properties"})
_EMBEDDING_FIELDS = frozenset({"space", "model", "mean", "items"})
"""They have blobs of their own, and what is made of a text must go with it."""


class KnownKey(msgspec.Struct, frozen=True):
    """A caller's key of which only hashes are left: the one that is recorded, and what the key stands for.

    That is a lineage, or the nonce of the first edge that was written under it.
    """

    recorded: bytes
    stands_for: bytes


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of all commands. ``why`` is the caller's reason and is kept as an erasable blob."""

    CODE: ClassVar[str] = ""
    why: str = ""


class Create(Command, frozen=True, kw_only=True):
    """Make a world. With a ``key``, the world that the key stands for is found again, and revised if its text differs.

    ``resolve`` says which tiers of the resolver run: the exact one (``True`` or "exact"), "all", or none (``False``).
    They can only stage proposals, with worlds inside ``scope``, by default inside ``world``. ``revive`` lets a
    text come back to a world whose texts were erased.
    """

    CODE: ClassVar[str] = "create"
    type: str
    name: str
    content: str = ""
    aliases: tuple[str, ...] = ()
    source: dict[str, Any] = {}
    world: Ref | None = None
    key: str | KnownKey | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    resolve: bool | str = True
    revive: bool = False
    scope: Ref | None = None


class Revise(Command, frozen=True, kw_only=True):
    """Give a world a new version; what is ``None`` stays as it was."""

    CODE: ClassVar[str] = "revise"
    ref: Ref
    type: str | None = None
    name: str | None = None
    content: str | None = None
    source: dict[str, Any] = {}
    valid_from: int | None = None
    valid_to: int | None = None


class Retire(Command, frozen=True, kw_only=True):
    """Close the validity of a world, or of an edge, for good."""

    CODE: ClassVar[str] = "retire"
    ref: Ref
    at: int | None = None


class Reassert(Command, frozen=True, kw_only=True):
    """State an ended world again: a new lineage with the same body and a ``derived_from`` edge to the old one."""

    CODE: ClassVar[str] = "reassert"
    ref: Ref
    content: str | None = None
    valid_from: int | None = None
    valid_to: int | None = None


class Link(Command, frozen=True, kw_only=True):
    """Write an edge through its type's handler. With a ``key``, a live edge made under it is not written twice."""

    CODE: ClassVar[str] = "link"
    source_ref: Ref
    type: str
    target_ref: Ref
    home: Ref | None = None
    key: str | KnownKey | None = None
    properties: dict[str, Any] = {}
    valid_from: int | None = None
    valid_to: int | None = None


class Unlink(Command, frozen=True, kw_only=True):
    """Retract an edge on the ingest axis."""

    CODE: ClassVar[str] = "unlink"
    edge: Ref


class Move(Command, frozen=True, kw_only=True):
    """Move worlds out of one container into another, with the interior edges between them."""

    CODE: ClassVar[str] = "move"
    refs: tuple[Ref, ...]
    to: Ref
    out_of: Ref | None = None
    valid_from: int | None = None


class Alias(Command, frozen=True, kw_only=True):
    """Give a world further names."""

    CODE: ClassVar[str] = "alias"
    ref: Ref
    aliases: tuple[str, ...]


class Unalias(Command, frozen=True, kw_only=True):
    """Take an alias back."""

    CODE: ClassVar[str] = "unalias"
    ref: Ref
    aliases: tuple[str, ...]


class Erase(Command, frozen=True, kw_only=True):
    """Remove the texts of a world for good; ``why`` is the reference under which it is done, and stays.

    ``turns``: also those of the turns that it spoke. ``everywhere``: also of every world that ever had one of the same
    texts. ``forbid``: none of the texts may be written again.
    """

    CODE: ClassVar[str] = "erase"
    ref: Ref
    turns: bool = False
    everywhere: bool = False
    forbid: bool = False


class Accept(Command, frozen=True, kw_only=True):
    """Accept a proposal: its two sides are one identity from now on."""

    CODE: ClassVar[str] = "accept"
    proposal: Ref


class Reject(Command, frozen=True, kw_only=True):
    """Reject a proposal: both sides stay independent."""

    CODE: ClassVar[str] = "reject"
    proposal: Ref


class Undo(Command, frozen=True, kw_only=True):
    """Undo an accepted proposal: both sides are as they were."""

    CODE: ClassVar[str] = "undo"
    proposal: Ref


class Bookmark(Command, frozen=True, kw_only=True):
    """Give a name to a moment: to commit ``seq``, to the last one at the ingest time ``at``, or to the present head.

    A name that stands for another moment already is only moved if ``move`` says so.
    """

    CODE: ClassVar[str] = "bookmark"
    name: str
    seq: int | None = None
    at: int | None = None
    move: bool = False


class Import(Command, frozen=True, kw_only=True):
    """Take in the bundle with a hash, which comes beside the command, and put its world into one that is here.

    A world that is here already stays where it is unless ``into`` is given; a new one is put into the root by default.
    """

    CODE: ClassVar[str] = "import"
    bundle: bytes
    into: Ref | None = None


class Register(Command, frozen=True, kw_only=True):
    """Let an edge type hold for a world and all that it contains, or say of a built-in one whether it is functional."""

    CODE: ClassVar[str] = "register"
    type: str
    handler_version: int
    digest: bytes
    digest_of: ev.DigestOf
    rewrites: tuple[ev.RewriteName, ...] = ()
    functional: bool = False
    world: Ref | None = None


class Unregister(Command, frozen=True, kw_only=True):
    """Take the registration of an edge type in a world back."""

    CODE: ClassVar[str] = "unregister"
    type: str
    world: Ref | None = None


class Tune(Command, frozen=True, kw_only=True):
    """Set the resolver's thresholds for candidates of a type (empty: of every type) in a world and all it contains."""

    CODE: ClassVar[str] = "tune"
    fuzzy: float
    phonetic: float
    embedding: float
    margin: float
    most: int
    type: str = ""
    world: Ref | None = None


class Untune(Command, frozen=True, kw_only=True):
    """Take back what was set for a type in a world."""

    CODE: ClassVar[str] = "untune"
    type: str = ""
    world: Ref | None = None


class Embed(Command, frozen=True, kw_only=True, gc=False):
    """Keep the vectors that a model made of texts. Written by the engine's own catch-up, not by callers.

    ``items`` are (lineage, version, vectors one after the other in little-endian 16-bit floats, how many of the last
    ones are of statements). They are what there was to embed in the commits from ``after`` (excluded) to ``through``;
    if the space has moved on from ``after`` meanwhile, nothing is written.
    """

    CODE: ClassVar[str] = "embed"
    space: str
    model: str
    mean: bytes
    dimension: int
    after: int
    through: int
    items: tuple[tuple[bytes, int, bytes, int], ...]


class Recluster(Command, frozen=True, kw_only=True, gc=False):
    """Propose what another look at who is who has found. Written by the engine's own work in the background.

    ``items`` are (lineage, lineage, evidence). They are what was found around the commits from ``after`` (excluded) to
    ``through``; if somebody has looked further than ``after`` meanwhile, nothing is written.
    """

    CODE: ClassVar[str] = "recluster"
    after: int
    through: int
    items: tuple[tuple[bytes, bytes, dict[str, Any]], ...]


class UseSpace(Command, frozen=True, kw_only=True):
    """Let the embedding space of a name answer from now on."""

    CODE: ClassVar[str] = "use_space"
    name: str


class DropSpace(Command, frozen=True, kw_only=True):
    """Give the embedding space of a name up; the one that answers cannot be."""

    CODE: ClassVar[str] = "drop_space"
    name: str


ALL: tuple[type[Command], ...] = (
    Create,
    Revise,
    Retire,
    Reassert,
    Link,
    Unlink,
    Move,
    Alias,
    Unalias,
    Erase,
    Accept,
    Reject,
    Undo,
    Bookmark,
    Import,
    Register,
    Unregister,
    Embed,
    Recluster,
    Tune,
    Untune,
    UseSpace,
    DropSpace,
)


def _texts(kind: type[Command]) -> tuple[str, ...]:
    """The fields that hold caller text. The type of an edge, or of a setting, is vocabulary, not text."""
    body = () if kind in (Link, Register, Unregister, Tune, Untune) else _BODY_FIELDS
    apart = DETAIL_FIELDS | _EMBEDDING_FIELDS
    return tuple(name for name in kind.__struct_fields__ if name in body or name in apart)


_TEXTS = {kind: _texts(kind) for kind in ALL}
REST_FIELDS: Final = {kind: tuple(name for name in kind.__struct_fields__ if name not in _TEXTS[kind]) for kind in ALL}
"""The fields that are recorded as they are, in the order in which they are."""


def _getter(names: Sequence[str]) -> Callable[[Command], tuple[Any, ...]]:
    """Reads several fields at once."""
    return attrgetter(*names) if len(names) > 1 else lambda command: tuple(getattr(command, name) for name in names)


_GET_TEXTS = {kind: _getter(_TEXTS[kind]) for kind in ALL}
_GET_REST = {kind: _getter(REST_FIELDS[kind]) for kind in ALL}
_KEY_AT = {kind: REST_FIELDS[kind].index("key") for kind in ALL if "key" in REST_FIELDS[kind]}
_MAY_GIVE_EMPTY = (Revise, Reassert)


def given(command: Command) -> list[str]:
    """The names of the texts that the caller gave; a revision or a reassertion may give an empty one on purpose."""
    kind = type(command)
    texts = _GET_TEXTS[kind](command)
    if kind not in _MAY_GIVE_EMPTY:
        return list(compress(_TEXTS[kind], texts))
    named = zip(_TEXTS[kind], texts, strict=True)
    return [name for name, text in named if (text is not None if name in _BODY_FIELDS else text)]


def record(command: Command, names: list[str], body: int, details: int, secret: bytes) -> list[Any]:
    """The command as it is kept beside its events, without any text of the caller: those of its body and details are
    replaced by blob positions (-1: nothing was stored), and its key by a keyed hash.

    ``[code, body, details, names of the texts that were given, then the other fields in order]``, where the names are
    what :func:`given` says.
    """
    return [command.CODE, body, details, names, *_rest(command, secret)]


def record_plain(command: Create | Link, names: list[str], body: int, details: int) -> list[Any]:
    """As :func:`record`, for a command without a key."""
    kind = type(command)
    return [kind.CODE, body, details, names, *_GET_REST[kind](command)]


def matches(recorded: Sequence[Any], command: Command, secret: bytes) -> bool:
    """True if everything but the texts is the same; for those see :func:`has_texts`."""
    if recorded[0] != command.CODE:
        return False
    plain: list[Any] = msgspec.msgpack.decode(msgspec.msgpack.encode([given(command), *_rest(command, secret)]))
    return list(recorded[3:]) == plain


def has_texts(recorded: Sequence[Any], command: Command, texts: Mapping[str, Any]) -> bool:
    """True if the texts of the command are these, or if one of those that were recorded is gone."""
    names = recorded[3]
    if any(name not in texts for name in names):
        return True
    return codec.encode([getattr(command, name) for name in names]) == codec.encode([texts[name] for name in names])


def _rest(command: Command, secret: bytes) -> list[Any]:
    rest = list(_GET_REST[type(command)](command))
    at = _KEY_AT.get(type(command))
    if at is not None and rest[at] is not None:
        key = rest[at]
        rest[at] = key.recorded if isinstance(key, KnownKey) else keyed(secret, COMMAND_KEY, key.encode())
    return rest
