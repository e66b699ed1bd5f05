"""Formats of RDF: what is written comes back as the same graph, and a bad line is named."""

from __future__ import annotations

import io
from itertools import count
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from worlddb.log.statements.terms import BlankNode, Iri, Literal
from worlddb.query.sparql.rdf_formats import FORMATS, RdfFormat, format_of, read_rows, write_lines

IRIS = st.sampled_from(["https://a.example/x", "https://a.example/ns#name", "urn:b:c"]).map(Iri)
BLANKS = st.sampled_from(["b0", "b1", "b2"]).map(BlankNode)
# XML 1.0 cannot carry most control characters, and reads a carriage return as a line feed.
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]) | st.sampled_from('\n\t"\\<&'))
LITERALS = st.builds(Literal, TEXTS) | st.builds(
    lambda text: Literal(text, "http://www.w3.org/2001/XMLSchema#token"), TEXTS
)
TAGGED = st.builds(lambda text: Literal(text, language="en-gb"), TEXTS)
ROWS = st.tuples(IRIS | BLANKS, IRIS.filter(lambda iri: iri.value != "urn:b:c"), IRIS | BLANKS | LITERALS | TAGGED)


def dataset(lines: list[str]) -> ox.Dataset:
    found = ox.Dataset(ox.parse("".join(lines).encode(), ox.RdfFormat.N_QUADS))
    found.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return found


@pytest.mark.parametrize("format", FORMATS, ids=lambda each: each.name)
@given(rows=st.lists(ROWS, max_size=6), graph=st.none() | IRIS)
def test_a_graph_that_is_written_and_read_is_the_same(
    format: RdfFormat, rows: list[tuple[Any, Any, Any]], graph: Any
) -> None:
    named = f" {graph}" if graph is not None and format.has_graphs else ""
    lines = [f"{s} {p} {o}{named} .\n" for s, p, o in rows]
    file = io.BytesIO()
    write_lines((line.encode() for line in lines), file, format.name)
    labels = count()
    back = read_rows(file.getvalue(), lambda: f"fresh{next(labels)}", format.name)
    assert dataset([f"{s} {p} {o} {g or ''} .\n" for s, p, o, g in back]) == dataset(lines)


@pytest.mark.parametrize("named", ["ttl", "people.ttl", "text/turtle; charset=utf-8", "Turtle", "a/b.c.TTL"])
def test_a_format_is_known_by_its_name_its_media_type_and_its_files(named: str) -> None:
    assert format_of(named).name == "turtle"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(worlddb.InputError, match="not a format of RDF"):
        format_of("people.docx")


def test_a_bad_line_is_an_error_with_line_and_column() -> None:
    rows = read_rows(b'<urn:a> <urn:b> "x" .\n<urn:a> wrong "y" .\n', str, "ttl")
    assert next(rows) == ("<urn:a>", "<urn:b>", '"x"', None)
    with pytest.raises(worlddb.MalformedFile) as caught:
        next(rows)
    assert caught.value.details["line"] == 2 and caught.value.details["column"] == 9


def test_a_format_without_graphs_refuses_a_named_one() -> None:
    with pytest.raises(worlddb.InputError, match="has no graphs"):
        write_lines([b"<urn:a> <urn:b> <urn:c> <urn:g> .\n"], io.BytesIO(), "turtle")


def test_blank_nodes_of_two_files_are_never_one_and_texts_stay() -> None:
    labels = count()
    text = b'_:x <urn:p> "_:x" .\n_:x <urn:p> _:x .\n'
    first, second = (list(read_rows(text, lambda: f"n{next(labels)}", "nt")) for _ in range(2))
    assert first == [("_:n0", "<urn:p>", '"_:x"', None), ("_:n0", "<urn:p>", "_:n0", None)]
    assert second[0][0] == "_:n1"
