"""Commands as they are kept beside their events, without a word of the caller, and how a retry is told from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.structs import fields

from worlddb.log.model import codec
from worlddb.log.model.hashing import COMMAND_KEY, keyed
from worlddb.reconciler.commands import (
    ALL,
    Command,
    Create,
    KnownKey,
    Link,
    Reassert,
    Register,
    Revise,
    Tune,
    Unregister,
    Untune,
)

_BODY_FIELDS = ("type", "name", "content")
DETAIL_FIELDS = frozenset({"aliases", "why", "source", "properties"})
_EMBEDDING_FIELDS = frozenset({"space", "model", "mean", "items"})
"""They have blobs of their own, and what is made of a text must go with it."""


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


_DEFAULTS = {
    kind: [field.default for name in REST_FIELDS[kind] for field in fields(kind) if field.name == name] for kind in ALL
}
"""Of every one of these fields."""
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
    """True if everything but the texts is the same; for those see :func:`has_texts`.

    Fields that the command had not yet when it was recorded have to be at their defaults.
    """
    if recorded[0] != command.CODE:
        return False
    plain: list[Any] = msgspec.msgpack.decode(msgspec.msgpack.encode([given(command), *_rest(command, secret)]))
    known = list(recorded[3:])
    since = plain[len(known) :]
    return plain[: len(known)] == known and since == _DEFAULTS[type(command)][len(plain) - 1 - len(since) :]


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
