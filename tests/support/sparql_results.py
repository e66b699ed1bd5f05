"""Compare SPARQL answers as the test suites do: by value, with isomorphic blank nodes, rows as a bag."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyoxigraph as ox

RS: Final = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_FLOATS: Final = (XSD + "double", XSD + "float")
_ZONE: Final = re.compile(r"[+-]00:00$")


class Rows(NamedTuple):
    """The ordered solutions of a query, or its yes or no."""

    names: list[str]
    rows: list[dict[str, Any]]
    answer: bool | None = None


def value(term: Any) -> Any:
    """A term that equals another of the same datatype and value."""
    if isinstance(term, ox.Triple):
        return ox.Triple(term.subject, term.predicate, value(term.object))
    if not isinstance(term, ox.Literal) or not term.datatype.value.startswith(XSD):
        return term
    text, kind = term.value, term.datatype.value
    try:
        if kind in _FLOATS:
            text = repr(float(text))
        elif kind == XSD + "boolean":
            text = {"1": "true", "0": "false"}.get(text, text)
        elif kind in (XSD + "dateTime", XSD + "time", XSD + "date"):
            text = _ZONE.sub("Z", re.sub(r"(:\d\d)\.0+(?=\D|$)", r"\1", text))
        elif kind != XSD + "string":
            text = _plain(text)
    except (ValueError, InvalidOperation):
        return term
    return ox.Literal(text, datatype=term.datatype)


def _plain(text: str) -> str:
    number = Decimal(text)
    return format(number.normalize() if number else Decimal(0), "f")


def graph(quads: Iterable[Any]) -> ox.Dataset:
    """A graph that equals others by value, whatever the labels of its blank nodes."""
    found = ox.Dataset(ox.Quad(each.subject, each.predicate, value(each.object)) for each in quads)
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def read(body: bytes, suffix: str, base: str | None = None) -> Rows:
    """Parse a file of results, by its suffix; a graph in the result-set vocabulary too."""
    if suffix == "csv":
        return _from_csv(body.decode())
    if suffix in ("ttl", "rdf", "nt"):
        return _from_graph(ox.Dataset(ox.parse(body, ox.RdfFormat.from_extension(suffix), base_iri=base)))
    found = ox.parse_query_results(body, ox.QueryResultsFormat.from_extension(suffix))
    if isinstance(found, ox.QueryBoolean):
        return Rows([], [], bool(found))
    names = [variable.value for variable in found.variables]
    return Rows(names, [{name: row[name] for name in names if row[name] is not None} for row in found])


def is_result_set(file: Path) -> bool:
    """Whether an RDF file holds the results of a query rather than a graph."""
    return RS.encode() in file.read_bytes()


def _from_csv(text: str) -> Rows:
    """Cells have no kind there: what reads as a number is one, and what begins so a blank node."""
    names, *lines = csv.reader(io.StringIO(text))

    def cell(said: str) -> Any:
        if said.startswith("_:"):
            return ox.BlankNode(said[2:])
        try:
            return ox.Literal(_plain(said))
        except InvalidOperation:
            return ox.Literal(said)

    return Rows(names, [{name: cell(said) for name, said in zip(names, line, strict=True) if said} for line in lines])


def _from_graph(held: ox.Dataset) -> Rows:
    def values(node: Any, name: str) -> list[Any]:
        return [quad.object for quad in held.quads_for_subject(node) if quad.predicate.value == RS + name]

    said = [quad.object.value for quad in held if quad.predicate.value == RS + "boolean"]
    if said:
        return Rows([], [], said[0] in ("true", "1"))
    (top,) = {quad.subject for quad in held if quad.predicate.value == RS + "resultVariable"}
    solutions = values(top, "solution")
    solutions.sort(key=lambda each: [int(index.value) for index in values(each, "index")])
    rows = [
        {values(each, "variable")[0].value: values(each, "value")[0] for each in values(solution, "binding")}
        for solution in solutions
    ]
    return Rows([each.value for each in values(top, "resultVariable")], rows)


def assert_same(found: Rows, expected: Rows, *, ordered: bool, reduced: bool = False) -> None:
    """Assert that two answers are the same.

    ``ordered``: in the same order too, where the specification gives one: no column has terms of different kinds.
    ``reduced``: a row may be there more than once.
    """
    if reduced:
        found, expected = _once(found), _once(expected)
    assert found.answer == expected.answer
    assert set(found.names) == set(expected.names)
    shown = [f"{len(each.rows)} rows: {each.rows}"[:600] for each in (found, expected)]
    assert _bag(found) == _bag(expected), f"found {shown[0]}, expected {shown[1]}"
    if ordered and all(len({_kind(row[name]) for row in found.rows if name in row}) < 2 for name in found.names):
        assert list(map(_shown, found.rows)) == list(map(_shown, expected.rows)), "the order is another"


def _once(answer: Rows) -> Rows:
    return answer._replace(rows=list({str(sorted(_shown(row).items())): row for row in answer.rows}.values()))


def _bag(answer: Rows) -> ox.Dataset:
    row_of, rows = ox.NamedNode("urn:row"), []
    for row in answer.rows:
        node = ox.BlankNode()
        rows.append(ox.Quad(node, row_of, row_of))
        rows += [ox.Quad(node, ox.NamedNode(f"urn:var:{name}"), value(term)) for name, term in row.items()]
    return graph(rows)


def _kind(term: Any) -> str:
    if not isinstance(term, ox.Literal):
        return type(term).__name__
    try:
        Decimal(term.value)
    except InvalidOperation:
        return term.language or term.datatype.value
    return "text" if term.datatype.value == XSD + "string" else "number"


def _shown(row: dict[str, Any]) -> dict[str, str]:
    return {name: "_:" if isinstance(term, ox.BlankNode) else str(value(term)) for name, term in row.items()}
