"""Small stores for tests of one law at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import worlddb
from worlddb import Database, ManualClock, Receipt, Refused, SeededEntropy
from worlddb.log.model.clock import RELEASED_AT

DAY = 86_400_000_000


def day(number: int) -> int:
    """The first instant of a day, counted from the day on which the tests' clock stands."""
    return RELEASED_AT + number * DAY


@contextmanager
def new_store(**options: Any) -> Iterator[Database]:
    """A store in a directory of its own, which is gone afterwards; it verifies at the end."""
    with tempfile.TemporaryDirectory(prefix="worlddb-test-") as top:
        given: dict[str, Any] = {"clock": ManualClock(), "entropy": SeededEntropy(1), "author": "tester"} | options
        with worlddb.open(Path(top) / "store", **given) as db:
            yield db
            found = db.verify(deep=True)
            assert found.ok, found


def worlds(db: Database, count: int, **options: Any) -> list[str]:
    """So many worlds directly in the root, valid from day 0."""
    given = {"valid_from": day(0), "resolve": False} | options
    return [db.create("Thing", f"thing {number}", **given).ref for number in range(count)]


def refusal(receipt: Receipt) -> str:
    """The code of a refusal; nothing was written."""
    assert isinstance(receipt.outcome, Refused), f"{receipt} was not refused"
    assert receipt.events == 0
    return receipt.outcome.code


def state_of(db: Database, *refs: str) -> list[Any]:
    """All that a view of the present says of some worlds, apart from their edges."""
    view = db.view()
    return [(view.get(ref, include_superseded=True), view.history(ref)) for ref in refs]
