"""Records as JSON: times as ISO 8601, spans as ``from`` and ``to``, and no commit numbers for a key of one world."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

import worlddb
from worlddb import plain_text

_TIMES: Final = frozenset(
    ("ingested_at", "since", "expires_at", "ingested", "valid_from", "valid_to", "at", "t_create")
)
_COMMITS: Final = frozenset(("seq", "decided", "set_by"))
_NUMBERS: Final = _TIMES | _COMMITS
_NATIVE: Final = frozenset((str, bool, int, float, type(None), dict))
"""What is the same as JSON, where it is no time and no commit."""


time = plain_text.format_bound


def to_wire(value: Any, *, commits: bool) -> Any:
    """Return a record, or a tuple of them, as JSON has it; with ``commits`` also the numbers of commits."""
    if isinstance(value, worlddb.Valid):
        return {"from": time(value.start), "to": time(value.end)}
    if isinstance(value, msgspec.Struct):
        document = msgspec.structs.asdict(value)
        for name, each in document.items():
            # Most are texts, or nothing.
            if type(each) not in _NATIVE:
                document[name] = to_wire(each, commits=commits) if each != () else each
            elif name in _NUMBERS:
                document[name] = _field(name, each, commits)
        return document
    if isinstance(value, tuple | list):
        return [to_wire(each, commits=commits) for each in value]
    return value


def _field(name: str, value: Any, commits: bool) -> Any:
    if type(value) is int:
        if name in _TIMES:
            return time(value)
        return None if name in _COMMITS and not commits else value
    return value if isinstance(value, Mapping) else to_wire(value, commits=commits)


def proposal(found: worlddb.Proposal, *, commits: bool) -> dict[str, Any]:
    """Return a proposal as JSON has it, with its reason in words."""
    document: dict[str, Any] = to_wire(found, commits=commits)
    return document | {"decided": document["decided"] or None, "because": found.because}


def entry(found: worlddb.Entry, *, commits: bool) -> dict[str, Any]:
    """Return an event of the log as JSON has it; its own fields only where commits have numbers."""
    data = {name: _field(name, value, commits) for name, value in found.data.items()} if commits else {}
    document: dict[str, Any] = to_wire(found, commits=commits)
    return document | {"data": data}
