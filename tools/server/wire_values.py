"""Records as JSON: times as ISO 8601, spans as ``from`` and ``to``, and no commit numbers for a key of one world."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

import worlddb

_TIMES: Final = frozenset(
    ("ingested_at", "since", "expires_at", "ingested", "valid_from", "valid_to", "at", "t_create")
)
_COMMITS: Final = frozenset(("seq", "decided", "set_by"))
_NUMBERS: Final = _TIMES | _COMMITS
_NATIVE: Final = frozenset((str, bool, int, float, type(None), dict))
"""What is the same as JSON, where it is no time and no commit."""


def time(micros: int) -> str | None:
    """Format a time; None for an open end."""
    text = worlddb.format_time(micros)
    return None if text in ("forever", "always") else text


def shown(value: Any, *, commits: bool) -> Any:
    """Return a record, or a tuple of them, as JSON has it; with ``commits`` also the numbers of commits."""
    if isinstance(value, worlddb.Valid):
        return {"from": time(value.start), "to": time(value.end)}
    if isinstance(value, msgspec.Struct):
        told = msgspec.structs.asdict(value)
        for name, each in told.items():
            # Most are texts, or nothing.
            if type(each) not in _NATIVE:
                told[name] = shown(each, commits=commits) if each != () else each
            elif name in _NUMBERS:
                told[name] = _field(name, each, commits)
        return told
    if isinstance(value, tuple | list):
        return [shown(each, commits=commits) for each in value]
    return value


def _field(name: str, value: Any, commits: bool) -> Any:
    if type(value) is int:
        if name in _TIMES:
            return time(value)
        return None if name in _COMMITS and not commits else value
    return value if isinstance(value, Mapping) else shown(value, commits=commits)


def proposal(found: worlddb.Proposal, *, commits: bool) -> dict[str, Any]:
    """Return a proposal as JSON has it, with its reason in words."""
    told: dict[str, Any] = shown(found, commits=commits)
    return told | {"decided": told["decided"] or None, "because": found.because}


def entry(found: worlddb.Entry, *, commits: bool) -> dict[str, Any]:
    """Return an event of the log as JSON has it; its own fields only where commits have numbers."""
    data = {name: _field(name, value, commits) for name, value in found.data.items()} if commits else {}
    told: dict[str, Any] = shown(found, commits=commits)
    return told | {"data": data}
