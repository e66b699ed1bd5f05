"""What an update in SPARQL comes to: a worker says what it takes away and adds, and that is one write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from worlddb.log.model import errors
from worlddb.log.statements.terms import WORLD_URN
from worlddb.query.question.question import LANES
from worlddb.query.sparql import datasets, rdf_formats, sparql_query, update_steps
from worlddb.query.sparql.rdf_formats import Row
from worlddb.query.sparql.sparql_tokens import MEMORY, SEARCH, read_sparql
from worlddb.query.sparql.sparql_workers import Dataset, Limits, Workers
from worlddb.reconciler.commands import commands as cmd


class Change(NamedTuple):
    """The statements that an update takes away, and those that it adds."""

    removed: list[Row]
    added: list[Row]


def change_of(
    asked: datasets.Asked,
    workers: Workers,
    update: str,
    world: str,
    allowed: Limits,
    *,
    dataset: Dataset | None = None,
    repeatable: bool = False,
    before: tuple[bytes, bytes] = (b"", b""),
    lanes: Collection[str] = LANES,
) -> Change:
    """What an update does to the dataset of a world as a view sees it; ``repeatable`` the same at every evaluation.

    With ``dataset``, its operations look at those graphs alone. ``before`` are lines of what was taken away and added
    since the view, which it finds so (:func:`said_before`). Searches in it go by ``lanes``.

    Raises:
        InvalidSparql, QueryLimit: it breaks the grammar, asks for what is closed, or was ended at a limit.
        InputError: it writes into a graph of the engine, which is there to be read.
    """
    read = update_steps.without_later_prologues(read_sparql(update))
    if dataset is not None:
        read = read_sparql(update_steps.using(read, dataset.default, dataset.named))
    parts = datasets.parts(asked, read, world, lanes)
    with workers.desk(allowed, *sparql_query.keys_of(parts)) as desk:
        key = sparql_query.hold(desk, parts)
        steps = update_steps.steps(read)
        removed, added = desk.update(key, read.text, steps, repeatable=repeatable, before=before)
    return Change(_rows(removed), _rows(added))


def searches_by_meaning(text: str) -> bool:
    """Whether a query or an update has a search of which it needs more than words, so that its lanes matter."""
    read = read_sparql(text)
    return any(each.partition("?")[0] == SEARCH for each in read.memories()) and read.needs_meaning()


def _rows(lines: bytes) -> list[Row]:
    found = list(rdf_formats.read_rows(lines, None, "nquads"))
    for row in found:
        graph = (row[3] or "")[1:-1].partition("?")[0]
        if graph in (MEMORY, SEARCH) or graph.startswith(WORLD_URN):
            raise errors.InputError(
                f"The update writes into <{graph}>, which is there to be read",
                "Write into the default graph or another one, and into another world by its own update",
            )
    return found


def said_before(
    commands: Iterable[cmd.Command], is_of_world: Callable[[cmd.Ref], bool], valid: int
) -> tuple[bytes, bytes]:
    """What commands that are not decided yet come to at a valid time: lines that they take from a world, and add."""
    taken: dict[bytes, None] = {}
    given: dict[bytes, None] = {}
    for command in commands:
        if not isinstance(command, cmd.State | cmd.Unstate) or not is_of_world(command.ref):
            continue
        adds = isinstance(command, cmd.State)
        if isinstance(command, cmd.State):
            begins, ends = command.valid_from, command.valid_to
            matters = (begins is None or begins <= valid) and (ends is None or ends > valid)
        else:
            matters = command.at is None or command.at <= valid
        for line in _lines(command) if matters else ():
            (taken if adds else given).pop(line, None)
            (given if adds else taken)[line] = None
    return b"".join(taken), b"".join(given)


def _lines(command: cmd.State | cmd.Unstate) -> Iterable[bytes]:
    texts = [*command.aliases, ""]  # Position -1 is the default graph's.
    for start in range(0, len(command.quads), 4):
        line = " ".join(texts[place] for place in command.quads[start : start + 4])
        yield datasets.with_blank_nodes(f"{line.rstrip()} .\n".encode())
