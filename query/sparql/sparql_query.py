"""Run SPARQL in a view: load the named graphs at their moments and let a worker evaluate the query."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from worlddb.log.model import errors, limits
from worlddb.log.statements import terms
from worlddb.query.question.question import LANES, TEXT, VECTOR
from worlddb.query.sparql import datasets, sparql_answer
from worlddb.query.sparql.sparql_tokens import read_sparql, unknown_names
from worlddb.query.sparql.sparql_workers import Dataset, Desk, Limits, Workers

MAX_SECONDS = 600.0


def checked_limits(
    timeout_seconds: float | None, max_rows: int | None, max_bytes: int | None, max_memory: int | None
) -> Limits:
    """Check the limits of a query.

    Raises:
        InputError: one of them is no positive number, or the time is above ten minutes.
    """
    found = Limits()
    if timeout_seconds is not None:
        if isinstance(timeout_seconds, bool) or not isinstance(timeout_seconds, int | float):
            raise errors.InputError(f"timeout_seconds is {errors.shown(timeout_seconds)}", "Give seconds as a number")
        if not 0 < timeout_seconds <= MAX_SECONDS:
            raise errors.InputError(
                f"timeout_seconds is {timeout_seconds:g}", f"Give more than 0, at most {MAX_SECONDS:g}"
            )
        found = found._replace(seconds=float(timeout_seconds))
    for field, given in (("rows", max_rows), ("bytes", max_bytes), ("memory_bytes", max_memory)):
        if given is not None:
            limits.checked_number(given, f"max_{field}", 1, 2**40)
            found = found._replace(**{field: given})
    return found


def checked_dataset(default: Sequence[str] | None, named: Sequence[str] | None, *called: str) -> Dataset | None:
    """Check the graphs given for a query, as the arguments ``called``; ``None`` if the query names them itself.

    Raises:
        InputError: it is no list, or one of them is no absolute IRI.
        LimitExceeded: there are more than ``MAX_LISTED``.
    """
    if default is None and named is None:
        return None
    listed = (
        limits.checked_list(() if given is None else given, what)
        for given, what in zip((default, named), called or ("default_graphs", "named_graphs"), strict=True)
    )
    return Dataset(*([terms.Iri(each).value for each in given] for given in listed))


def checked_lanes(given: Sequence[str] | None) -> Sequence[str]:
    """Check the lanes of searches in a query; by default all.

    Raises:
        InputError: one is no lane, or none of them searches.
    """
    given = LANES if given is None else given
    for lane in given:
        if lane not in LANES:
            raise errors.InputError(f"There is no lane {errors.shown(lane)}", f"Name some of: {TEXT}, {VECTOR}")
    if not {TEXT, VECTOR} & set(given):
        raise errors.InputError("No search lane was given", f"Name some of: {TEXT}, {VECTOR}")
    return given


def evaluate(
    seen: datasets.QuerySource,
    workers: Workers,
    text: str,
    world: Any,
    allowed: Limits,
    *,
    format: str | None,
    dataset: Dataset | None = None,
    lanes: Collection[str] = LANES,
) -> sparql_answer.SparqlAnswer:
    """Answer a query of a world's statements, or of all that a view sees (``None``); searches use ``lanes``.

    Raises:
        InvalidSparql, QueryLimit: the query breaks the grammar, asks for what is closed, or was ended at a limit.
        UnknownReference: it names a world that the view does not see.
    """
    rows, triples = sparql_answer.formats_of(format)
    asked = read_sparql(text)
    if dataset is not None:
        asked = asked._replace(graphs=(*asked.graphs, *dataset.default, *dataset.named))
    parts = datasets.parts(seen, asked, world, lanes)
    with workers.desk(allowed, *keys_of(parts)) as desk:
        key = hold(desk, parts)
        found = desk.query(key, text, rows, triples, dataset)
    missed = [why for part in parts for why in part.missed or ()]
    unavailable = {VECTOR: missed[0]} if missed else {}
    return sparql_answer.answer_of(found.head, found.body, unavailable, unknown_names(asked))


def key_of(parts: Iterable[datasets.DatasetPart]) -> str:
    """The key under which a worker holds a dataset of some parts."""
    return _key_of(part.name for part in parts)


def _key_of(names: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def keys_of(parts: Sequence[datasets.DatasetPart]) -> list[str]:
    """The keys of a dataset, and of an older one that can be brought up to date, for choosing a worker."""
    behind = parts[0].behind if len(parts) == 1 else None
    return [key_of(parts)] + ([] if behind is None else [_key_of([behind.name])])


def hold(desk: Desk, parts: Sequence[datasets.DatasetPart]) -> str:
    """Load a dataset into a worker: an older one is brought up to date if possible, else it is read.

    Returns its key. If a search could not call its model, the key is one that no later query uses.
    """
    key, *others = keys_of(parts)
    if key in desk.keys:
        return key
    known = [each for each in others if each in desk.keys]
    behind = parts[0].behind if known else None
    if behind is not None:
        desk.follow(known[0], key, *behind.change())
        return key
    before = _count_missed(parts)
    read = [part.read() for part in parts]
    key += " for now" if _count_missed(parts) > before else ""
    desk.hydrate(key, read)
    return key


def _count_missed(parts: Iterable[datasets.DatasetPart]) -> int:
    return sum(len(part.missed or ()) for part in parts)
