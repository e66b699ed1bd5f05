"""SPARQL updates: a worker evaluates removals and additions, which are written as one commit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from worlddb.log.model import errors
from worlddb.log.statements import terms
from worlddb.log.statements.terms import WORLD_URN, XSD
from worlddb.query.question.question import LANES
from worlddb.query.reads.world_lookup import named_node
from worlddb.query.snapshot.visible import VisibleSnapshot
from worlddb.query.sparql import datasets, rdf_formats, sparql_query, update_steps
from worlddb.query.sparql.rdf_formats import Row
from worlddb.query.sparql.sparql_tokens import MEMORY, SEARCH, read_sparql, unknown_names
from worlddb.query.sparql.sparql_workers import Dataset, Limits, Workers
from worlddb.query.statements import statement_reads
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome


class Change(NamedTuple):
    """The removals and additions of an update, and notes for its caller."""

    removed: list[Row]
    added: list[Row]
    notes: tuple[outcome.Note, ...] = ()


def change_of(
    asked: datasets.QuerySource,
    workers: Workers,
    update: str,
    world: str | None,
    allowed: Limits,
    *,
    dataset: Dataset | None = None,
    repeatable: bool = False,
    before: tuple[bytes, bytes] = (b"", b""),
    lanes: Collection[str] = LANES,
) -> Change:
    """Evaluate an update on the dataset of a world in a view; ``repeatable`` gives the same at every evaluation.

    A world that is yet to be made (``None``) states nothing.
    With ``dataset``, its operations look at those graphs alone. ``before`` are lines of what was taken away and added
    since the view, which it finds so (:func:`pending_lines`). Searches in it go by ``lanes``.

    Raises:
        InvalidSparql, QueryLimit: it breaks the grammar, asks for what is closed, or was ended at a limit.
        InputError: it writes into a graph of the engine, which is there to be read.
    """
    given = read_sparql(update)
    read = update_steps.without_later_prologues(given)
    if dataset is not None:
        read = read_sparql(update_steps.using(read, dataset.default, dataset.named))
    parts = datasets.parts(asked, read, datasets.NEW if world is None else world, lanes)
    lost, added = before
    if lost:
        with asked.window.snapshot() as snapshot:
            lost = _stored_forms(asked, snapshot, world, before).lost()
    with workers.desk(allowed, *sparql_query.keys_of(parts)) as desk:
        key = sparql_query.hold(desk, parts)
        steps = update_steps.steps(read)
        found = desk.update(key, read.text, steps, repeatable=repeatable, before=(lost, added))
    parts_changed = {part: _rows(lines) for part, lines in found.items()}
    notes = (("searched_by_words", _skipped_meaning(parts)), ("names_unknown", unknown_names(given)))
    with asked.window.snapshot() as snapshot:
        change = _stored_forms(asked, snapshot, world, before).change(parts_changed)
    return change._replace(notes=tuple(outcome.Note(code, (said,)) for code, said in notes if said))


def _skipped_meaning(parts: Iterable[datasets.DatasetPart]) -> str:
    """Why a search did not use meaning as requested; empty if each did."""
    return next((why for part in parts for why in part.missed or ()), "")


def _stored_forms(
    asked: datasets.QuerySource, snapshot: VisibleSnapshot, world: str | None, before: tuple[bytes, bytes]
) -> _StoredForms:
    node = None if world is None else named_node(snapshot, asked.window.spec, world, unify=asked.window.unify)
    return _StoredForms(snapshot, node, before)


def searches_by_meaning(text: str) -> bool:
    """Whether a query or an update has a search that needs more than words, so that its lanes matter."""
    read = read_sparql(text)
    return any(each.partition("?")[0] == SEARCH for each in read.memories()) and read.needs_meaning()


def _rows(lines: bytes) -> list[Row]:
    found = list(rdf_formats.rows_of_lines(lines))
    for row in found:
        graph = (row[3] or "")[1:-1].partition("?")[0]
        if graph in (MEMORY, SEARCH) or graph.startswith(WORLD_URN):
            raise errors.InputError(
                f"The update writes into <{graph}>, which is there to be read",
                "Write into the default graph or another one, and into another world by its own update",
            )
    return found


def _is_typed(row: Row) -> bool:
    """Whether the engine may write the object of a statement in another form than it was given."""
    return f"^^<{XSD}" in row[2]


class _StoredForms:
    """A world's statements in their stored forms; the engine knows each statement only in its own form.

    ``before`` are lines of what was taken away and added since the snapshot.
    """

    def __init__(self, snapshot: VisibleSnapshot, node: int | None, before: tuple[bytes, bytes]) -> None:
        self._snapshot, self._node = snapshot, node
        self._taken, self._given = ({_row(line): line for line in lines.splitlines(keepends=True)} for lines in before)
        self._near: dict[statement_reads.Pattern, list[Row]] = {}
        self._made: dict[str, str] = {}
        """What the engine makes of objects."""

    def lost(self) -> bytes:
        """Lines removed since the snapshot, except those that are stored in another form."""
        self._load_forms(self._taken)
        return b"".join(line for row, line in self._taken.items() if not self._equal_rows(row))

    def change(self, told: dict[str, list[Row]]) -> Change:
        """The change of an update, from the parts that :meth:`Desk.update` returns."""
        self._load_forms(told["every"] + told["once"] + told["copied"])
        self._load_forms(told["alike"], anywhere=True)
        removed = dict.fromkeys(told["own"])
        for row in told["every"]:
            removed |= dict.fromkeys(self._equal_rows(row))
        for row in told["once"]:
            forms = self._equal_rows(row)
            removed |= dict.fromkeys([row] if row in forms else forms)
        added = dict.fromkeys(told["added"])
        for row in told["alike"]:
            forms = self._equal_rows(row, anywhere=True)
            here = [each for each in forms if each[3] == row[3]]
            for form in here or sorted(forms, key=lambda each: each[2] != row[2])[:1] or [row]:
                added[*row[:2], form[2], row[3]] = None
        for row, source in zip(told["copied"][::2], told["copied"][1::2], strict=True):
            added |= {(*row[:2], each[2], row[3]): None for each in self._equal_rows(source)}
        return Change(
            [row for row in removed if row not in added],
            [row for row in added if row not in removed and not self._holds(row)],
        )

    def _load_forms(self, rows: Iterable[Row], anywhere: bool = False) -> None:
        """Load statements equal to some statements, and the engine's forms of all their objects."""
        texts: dict[str, None] = {}
        for row in filter(_is_typed, rows):
            near = self._pattern(row, anywhere)
            if near is None:
                continue
            if near not in self._near:
                self._near[near] = self._found(near, row, anywhere)
                texts |= {each[2]: None for each in self._near[near]}
            texts[row[2]] = None
        self._made |= rdf_formats.engine_forms(texts.keys() - self._made.keys())

    def _equal_rows(self, row: Row, anywhere: bool = False) -> list[Row]:
        """The stored statements that the engine treats as equal to one, in its graph or anywhere."""
        near = self._pattern(row, anywhere) if _is_typed(row) else None
        return [] if near is None else [each for each in self._near[near] if self._made[each[2]] == self._made[row[2]]]

    def _holds(self, row: Row) -> bool:
        whole = self._pattern(row, anywhere=False, whole=True) if _is_typed(row) else None
        return whole is not None and row in self._found(whole, row)

    def _pattern(self, row: Row, anywhere: bool, whole: bool = False) -> statement_reads.Pattern | None:
        """What has the subject and the predicate of a statement; ``None`` if a blank node of it is not there yet."""
        if any(text.startswith("_:") and not terms.is_uuid(text[2:]) for text in row if text):
            return None
        graph = statement_reads.ANY if anywhere else row[3]
        return statement_reads.parse_pattern(row[0], row[1], row[2] if whole else None, graph)

    def _found(self, pattern: statement_reads.Pattern, row: Row, anywhere: bool = False) -> list[Row]:
        node = self._node
        held = () if node is None else map(_shown, statement_reads.statement_texts(self._snapshot, node, pattern))
        since = (each for each in self._given if each[:2] == row[:2] and (anywhere or each[3] == row[3]))
        return [*(each for each in held if each not in self._taken), *since]


def _row(line: bytes) -> Row:
    (found,) = rdf_formats.rows_of_lines(line)
    return found


def _shown(texts: tuple[str, str, str, str]) -> Row:
    subject, predicate, object_, graph = map(terms.with_blank_nodes, texts)
    return subject, predicate, object_, graph or None


def pending_lines(
    commands: Iterable[cmd.Command], is_of_world: Callable[[cmd.Ref], bool], valid: int
) -> tuple[bytes, bytes]:
    """The lines that undecided commands remove from a world and add to it at a valid time."""
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
