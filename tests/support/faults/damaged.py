"""Uses of a damaged store, and the findings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import worlddb
from tests.support.faults.answers import answers


def verify_or_error(store: Path, *, deep: bool = False) -> worlddb.Verified | worlddb.WorldDBError:
    """Verify a store; return the result, or the typed error that kept it from opening."""
    try:
        with worlddb.open(store, author="x", create=False) as db:
            return db.verify(deep=deep)
    except worlddb.WorldDBError as error:
        return error


def reported_seq(found: worlddb.Verified | worlddb.WorldDBError) -> int | None:
    if isinstance(found, worlddb.Verified):
        assert found.ok == (not found.findings) == (found.first_bad_seq is None)
        return found.first_bad_seq
    seq: int | None = found.details.get("seq")
    return seq


def use_everything(store: Path) -> None:
    """Read and write a damaged store: every answer is an answer or a typed error."""
    try:
        opened = worlddb.open(store, author="x")
    except worlddb.WorldDBError:
        return
    with opened as db:
        uses: list[Callable[[], object]] = [
            lambda: answers(db.view()),
            lambda: list(db.log()),
            lambda: db.create("Entity", "office"),
            lambda: db.replay(store.with_name(f"{store.name}-replayed")),
            db.rebuild,
            db.stats,
        ]
        for use in uses:
            try:
                use()
            except worlddb.WorldDBError:
                pass
