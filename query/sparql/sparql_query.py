"""SPARQL in a view: what a query names is hydrated at its moments, and a worker evaluates it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

from worlddb.log.model import errors, limits
from worlddb.query.sparql import sparql_answer
from worlddb.query.sparql.memory_graph import Memory, memory_lines
from worlddb.query.sparql.sparql_tokens import MEMORY, Sparql, read_sparql
from worlddb.query.sparql.sparql_workers import Desk, Limits, Part, Workers

MOST_SECONDS = 600.0
MOST_GRAPHS = 16
"""Worlds at moments that one query may name."""


def checked_limits(
    timeout_seconds: float | None, max_rows: int | None, max_bytes: int | None, max_memory: int | None
) -> Limits:
    """The limits of a query from what was given.

    Raises:
        InputError: one of them is no positive number, or the time is above ten minutes.
    """
    found = Limits()
    if timeout_seconds is not None:
        if isinstance(timeout_seconds, bool) or not isinstance(timeout_seconds, int | float):
            raise errors.InputError(f"timeout_seconds is {errors.shown(timeout_seconds)}", "Give seconds as a number")
        if not 0 < timeout_seconds <= MOST_SECONDS:
            raise errors.InputError(
                f"timeout_seconds is {timeout_seconds:g}", f"Give more than 0, at most {MOST_SECONDS:g}"
            )
        found = found._replace(seconds=float(timeout_seconds))
    for field, given in (("rows", max_rows), ("bytes", max_bytes), ("memory_bytes", max_memory)):
        if given is not None:
            limits.checked_number(given, f"max_{field}", 1, 2**40)
            found = found._replace(**{field: given})
    return found


def evaluate(
    seen: Memory, workers: Workers, text: str, world: str, allowed: Limits, *, format: str | None, stamp: str
) -> sparql_answer.SparqlAnswer:
    """Answer a query in a world as a view sees it; ``stamp`` changes with every erasure and with the view.

    Raises:
        InvalidSparql, QueryLimit: the query breaks the grammar, asks for what is closed, or was ended at a limit.
        UnknownReference: it names a world that the view does not see.
    """
    rows, triples = sparql_answer.formats_of(format)
    asked = read_sparql(text)
    parts = list(_parts(seen, asked, world, stamp))
    key = hashlib.sha256("\n".join(name for name, _ in parts).encode()).hexdigest()
    with workers.desk(allowed, key) as desk:
        hold(desk, key, [part for _, part in parts])
        found = desk.query(key, text, rows, triples)
    return sparql_answer.answer_of(found.head, found.body)


def hold(desk: Desk, key: str, parts: Iterable[Callable[[], Part]]) -> None:
    """Have a worker hold a dataset, which is read if it does not yet."""
    if key not in desk.keys:
        desk.hydrate(key, (part() for part in parts))


def _parts(seen: Memory, asked: Sparql, world: str, stamp: str) -> Iterator[tuple[str, Callable[[], Part]]]:
    """What a query is asked of, each part with a name that tells it from all others."""
    if asked.memory():
        yield f"memory {stamp}", lambda: Part(memory_lines(seen), MEMORY)
