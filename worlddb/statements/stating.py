"""The commands for statements: each term as one text, and quads of their positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from worlddb.log.model import errors
from worlddb.log.statements import terms
from worlddb.query.statements.statement_reads import Statement, text_of
from worlddb.reconciler.commands import commands as cmd

QUADS: Final = 100
"""How many statements one command has: its terms lie in one blob, which each look at one of them reads."""
_PARTS: Final = (3, 4)


def commands(
    make: Callable[[tuple[str, ...], tuple[int, ...]], cmd.Command],
    statements: Iterable[Any],
    nonce: Callable[[], bytes],
) -> list[cmd.Command]:
    """The commands for statements: records, or tuples of terms or their texts.

    A blank node whose id is no UUID gets one of its own, the same for the same label throughout the call.

    Raises:
        InputError: one of them is no statement; the message names its place.
    """
    if isinstance(statements, str | bytes) or not isinstance(statements, Iterable):
        raise errors.InputError(
            f"Statements are {type(statements).__name__}, not a list", "Give a list of (subject, predicate, object)"
        )
    reader = _Reader(nonce)
    made: list[cmd.Command] = []
    positions: dict[str, int] = {}
    quads: list[int] = []
    for place, each in enumerate(statements):
        try:
            texts = reader.texts(each)
        except errors.InputError as error:
            raise type(error)(f"statements[{place}]: {error.message}", error.remedy) from None
        quads += [-1 if text is None else positions.setdefault(text, len(positions)) for text in texts]
        if len(quads) == 4 * QUADS:
            made.append(make(tuple(positions), tuple(quads)))
            positions, quads = {}, []
    if quads:
        made.append(make(tuple(positions), tuple(quads)))
    return made


class _Reader:
    """Reads statements as they are given."""

    def __init__(self, nonce: Callable[[], bytes]) -> None:
        self._nonce = nonce
        self._known: dict[Any, str] = {}
        self._blank: dict[str, terms.BlankNode] = {}

    def texts(self, given: Any) -> tuple[str | None, ...]:
        """The stored texts of subject, predicate, object and graph; empty for the default graph."""
        if isinstance(given, Statement):
            given = given.subject, given.predicate, given.object, given.graph
        elif isinstance(given, terms.Triple):
            given = given.subject, given.predicate, given.object
        if not isinstance(given, tuple | list) or len(given) not in _PARTS:
            raise errors.InputError(
                f"{errors.shown(given)} is not a statement",
                "Give (subject, predicate, object) or with a graph as fourth",
            )
        subject, predicate, object_ = map(self._text, given[:3])
        graph = None if len(given) == _PARTS[0] or given[3] is None else self._text(given[3])
        if not subject.startswith("<") or subject.startswith("<<("):
            raise errors.InputError(f"{errors.shown(subject)} cannot be a subject", "Give an IRI or a blank node")
        if not predicate.startswith("<") or predicate.startswith(("<<(", f"<{terms.SKOLEM}")):
            raise errors.InputError(f"{errors.shown(predicate)} cannot be a predicate", "Give an IRI")
        if graph is not None and (not graph.startswith("<") or graph.startswith("<<(")):
            raise errors.InputError(f"{errors.shown(graph)} cannot be a graph", "Give an IRI or a blank node")
        return subject, predicate, object_, graph

    def _text(self, given: Any) -> str:
        try:
            known = self._known.get(given)
        except TypeError:
            known = None
        if known is None:
            known = self._known[given] = self._read(given)
        return known

    def _read(self, given: Any) -> str:
        if isinstance(given, str) and terms.is_plain(given):
            return text_of(given)
        return text_of(self._with_uuids(terms.term_of(given) if isinstance(given, str) else given))

    def _with_uuids(self, term: Any) -> Any:
        if isinstance(term, terms.BlankNode):
            return term if terms.is_uuid(term.id) else self._blank_node(term.id)
        if isinstance(term, terms.Triple):
            return terms.Triple(self._with_uuids(term.subject), term.predicate, self._with_uuids(term.object))
        return term

    def _blank_node(self, label: str) -> terms.BlankNode:
        known = self._blank.get(label)
        if known is None:
            known = self._blank[label] = terms.BlankNode(self._nonce().hex())
        return known
