"""Events of earlier versions, made into what they are called and hold today.

A new field of an event goes at its end with a default, and needs nothing here. An event that must change otherwise gets
a new version: its tag becomes ``type/2``, and a function in :data:`UPCASTERS` makes the fields of the version before
into those of the new one. The stored bytes stay as they are, since hashes are of them; only what is read is new.
Functions are pure, and go from each version to the next, so that an event of version 1 passes through all of them.

| type | from version | since format |
|---|---|---|
| none yet | | |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Upcaster = Callable[[list[Any]], list[Any]]
"""From the fields of a version, without the tag, to those of the next."""

UPCASTERS: Final[dict[tuple[str, int], Upcaster]] = {}
"""By the type of an event and the version that is made into the next one."""

_EVENTS_AT: Final = 5
"""Where the events are in an events record."""
_MOST_VERSIONS: Final = 1_000


def upcast(record: Any) -> bool:
    """Bring every event of a decoded events record to its newest version, in place; true if any was older."""
    changed = False
    found = record[_EVENTS_AT] if isinstance(record, list) and len(record) > _EVENTS_AT else None
    events: list[Any] = found if isinstance(found, list) else []
    for position, event in enumerate(events):
        if isinstance(event, list) and event and isinstance(event[0], str):
            newest = _newest(event)
            changed = changed or newest is not event
            events[position] = newest
    return changed


def _newest(event: list[Any]) -> list[Any]:
    type_name, _, number = event[0].partition("/")
    version = int(number) if number.isascii() and number.isdigit() else 1
    for _ in range(_MOST_VERSIONS):
        step = UPCASTERS.get((type_name, version))
        if step is None:
            break
        version += 1
        event = [f"{type_name}/{version}", *step(event[1:])]
    return event
