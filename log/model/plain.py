"""Plain records: what callers may attach to a command as provenance, properties or evidence.

They are kept as msgpack and given back as they were, so only what has one form there and in JSON may go in.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from worlddb.log.model.errors import InputError, LimitExceeded
from worlddb.log.model.limits import MAX_RECORD_BYTES, MAX_RECORD_DEPTH, checked_text

_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**64 - 1
_MOST_OVERHEAD: Final = 16
"""More bytes than msgpack adds to a key and a value, a whole number being all overhead."""
_SHOWN: Final = 80
_REMEDY: Final = "Use text, finite numbers, booleans, None, lists, and dictionaries with text as keys"


def checked_record(record: Any, what: str) -> None:
    """See that a record can be stored and read back as it is.

    Raises:
        InputError: something in it is not plain; the message names the place, as in ``properties.pages[3]``.
        LimitExceeded: it is larger than ``MAX_RECORD_BYTES``, or nested deeper than ``MAX_RECORD_DEPTH``.
    """
    if not isinstance(record, dict):
        raise InputError(f"{what} is {type(record).__name__}, not a dictionary", _REMEDY)
    if _is_small_and_flat(record):
        return
    pending: list[tuple[str, Any, int]] = [(what, record, 0)]
    seen = 0
    while pending:
        place, value, depth = pending.pop()
        if isinstance(value, dict | list | tuple):
            seen += len(value)
            # Every value takes a byte at least. A record that holds itself is found by its depth.
            if depth > MAX_RECORD_DEPTH or seen > MAX_RECORD_BYTES:
                raise LimitExceeded(f"{place[:_SHOWN]} is nested too deeply, or holds too much", "Make it smaller")
            pending.extend((where, inner, depth + 1) for where, inner in _inside(place, value))
        else:
            _check_value(place, value)
    _check_size(what, record)


def _is_small_and_flat(record: dict[Any, Any]) -> bool:
    """True for what nearly all records are, a few plain values by name, which need no further look."""
    size = 0
    for key, value in record.items():
        if type(key) is not str or not key.isascii():
            return False
        size += len(key) + _MOST_OVERHEAD
        kind = type(value)
        if kind is str:
            if not value.isascii():
                return False
            size += len(value)
        elif kind is int:
            if not _MIN_INT <= value <= _MAX_INT:
                return False
        elif kind is not bool and value is not None:
            return False
    return size <= MAX_RECORD_BYTES


def _inside(place: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(f"{place}[{position}]", inner) for position, inner in enumerate(value)]
    for key in value:
        if not isinstance(key, str):
            raise InputError(f"{place[:_SHOWN]} has the key {key!r:.80}, which is not text", _REMEDY)
        checked_text(key, f"a key of {place[:_SHOWN]}", MAX_RECORD_BYTES)
    return [(f"{place}.{key}", inner) for key, inner in value.items()]


def _check_value(place: str, value: Any) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        checked_text(value, place[:_SHOWN], MAX_RECORD_BYTES)
    elif isinstance(value, int):
        if not _MIN_INT <= value <= _MAX_INT:
            raise InputError(f"{place[:_SHOWN]} is a number of more than 64 bits", "Give it as text")
    elif not isinstance(value, float):
        raise InputError(f"{place[:_SHOWN]} is {type(value).__name__}, which cannot be stored", _REMEDY)
    elif not math.isfinite(value):
        raise InputError(f"{place[:_SHOWN]} is {value}", "Leave it out, or give None or text in its place")


def _check_size(what: str, record: dict[str, Any]) -> None:
    try:
        size = len(msgspec.msgpack.encode(record))
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} cannot be stored: {error}", _REMEDY) from None
    if size > MAX_RECORD_BYTES:
        raise LimitExceeded(
            f"{what} has {size:,} bytes, above the limit of {MAX_RECORD_BYTES:,}", "Put long text into content"
        )
