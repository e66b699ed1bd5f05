"""Commands: what a caller asks for, as values. Times are integer microseconds; ``None`` means the default.

A reference is a full id (bytes), a hex prefix (str), or the position of an earlier command of the same batch (int).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

Ref = bytes | str | int

_BODY_FIELDS = ("type", "name", "content")
_DETAIL_FIELDS = ("aliases", "why", "source", "properties")


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all commands. ``why`` is the caller's reason and is kept as an erasable blob."""

    CODE: ClassVar[str] = ""
    why: str = ""


class Create(Command, frozen=True, kw_only=True):
    """Make a world. With a ``key``, the world that the key stands for is found again, and revised if its text differs.

    ``resolve`` runs the exact tier of the resolver, which can only stage proposals.
    """

    CODE: ClassVar[str] = "create"
    type: str
    name: str
    content: str = ""
    aliases: tuple[str, ...] = ()
    source: dict[str, Any] = {}
    world: Ref | None = None
    key: str | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    resolve: bool = True


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
    key: str | None = None
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
    Accept,
    Reject,
    Undo,
    Bookmark,
)
_BY_CODE = {kind.CODE: kind for kind in ALL}


def _texts(kind: type[Command]) -> tuple[str, ...]:
    """The fields that hold caller text. The type of a link is vocabulary, not text."""
    body = () if kind is Link else _BODY_FIELDS
    return tuple(name for name in kind.__struct_fields__ if name in body + _DETAIL_FIELDS)


_TEXTS = {kind: _texts(kind) for kind in ALL}
_REST = {kind: tuple(name for name in kind.__struct_fields__ if name not in _TEXTS[kind]) for kind in ALL}


def _given(command: Command) -> list[str]:
    """The texts that the caller gave; a revision or a reassertion may give an empty one on purpose."""
    optional = _BODY_FIELDS if isinstance(command, Revise | Reassert) else ()
    return [
        name
        for name in _TEXTS[type(command)]
        if (getattr(command, name) is not None if name in optional else getattr(command, name))
    ]


def record(command: Command, body: int, details: int) -> list[Any]:
    """The command as it is kept beside its events: texts replaced by blob positions (-1: nothing was stored).

    ``[code, body, details, names of the texts that were given, then the other fields in order]``
    """
    kind = type(command)
    given = _given(command)
    rest = [getattr(command, name) for name in _REST[kind]]
    return [kind.CODE, body, details, given, *rest]


def restore(recorded: Sequence[Any], texts: dict[str, Any]) -> Command | None:
    """The command again, with the texts of its body and details; ``None`` if a text that was given is gone."""
    code, _, _, given, *rest = recorded
    kind = _BY_CODE[code]
    if any(name not in texts for name in given):
        return None
    fields = dict(zip(_REST[kind], rest, strict=True)) | {name: texts[name] for name in given}
    if kind in (Create, Bookmark):
        fields = {name: "" for name in ("type", "name") if name in kind.__struct_fields__} | fields
    return kind(**fields)


def matches(recorded: Sequence[Any], command: Command) -> bool:
    """True if everything but the texts is the same; texts are compared by :func:`restore`."""
    kind = type(command)
    if recorded[0] != kind.CODE:
        return False
    given = _given(command)
    rest = [getattr(command, name) for name in _REST[kind]]
    plain: list[Any] = msgspec.msgpack.decode(msgspec.msgpack.encode([given, *rest]))
    return list(recorded[3:]) == plain
