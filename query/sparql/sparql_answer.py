"""The answer to a SPARQL query, as values and as bytes of a format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from worlddb.log.model import errors
from worlddb.log.statements import terms
from worlddb.query.sparql.rdf_formats import NOT_IN_XML, escape_carriage_returns, format_of

RESULT_TYPES: Final = {
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
}
"""Media types of the results of SELECT and ASK, by the names of their formats."""

Bindings = dict[str, terms.Term]
"""A row: the terms by the names of their variables; what is not bound is not there."""


class SparqlAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a query: its form (``select``, ``ask`` or ``graph``), and ``body``, the bytes of its format.

    Iterated, it gives the rows of a SELECT as dictionaries of terms, or the triples of a CONSTRUCT or DESCRIBE, if no
    other format than the default was asked for. ``bool()`` of an ASK is its answer, of others whether they have any.
    ``unavailable`` says, under the lane ``vector``, why a search in it could not go by meaning.
    ``note`` lists names below ``wdb:`` in the query that are none, with those that come near.
    """

    form: str
    variables: tuple[str, ...]
    media_type: str
    body: bytes
    unavailable: dict[str, str]
    note: str = ""

    def __iter__(self) -> Iterator[Any]:
        if self.form == "graph":
            return self._triples()
        return iter(self.rows)

    def __bool__(self) -> bool:
        if self.form == "ask":
            return b"true" in self.body
        if self.form == "graph":
            return bool(self.body.strip())
        return next(iter(self), None) is not None

    @property
    def rows(self) -> list[Bindings]:
        """The rows of a SELECT, in order.

        Raises:
            InputError: it was answered in another format than JSON.
        """
        if self.form != "select":
            return []
        if self.media_type != RESULT_TYPES["json"]:
            raise errors.InputError(f"The answer is {self.media_type}", "Query without a format, or read the body")
        found = msgspec.json.decode(self.body)["results"]["bindings"]
        return [{name: _term(value) for name, value in row.items()} for row in found]

    def _triples(self) -> Iterator[terms.Triple]:
        if self.media_type != "application/n-triples":
            raise errors.InputError(f"The answer is {self.media_type}", "Query without a format, or read the body")
        for line in self.body.decode().splitlines():
            found = terms.term_of(f"<<( {line.removesuffix(' .')} )>>")
            assert isinstance(found, terms.Triple)
            yield found


def formats_of(format: str | None) -> tuple[str, str]:
    """The formats of rows and of triples for the one that was asked for, by names, or media types.

    Raises:
        InputError: there is no such format.
    """
    if format is None:
        return "json", "nt"
    if not isinstance(format, str):
        raise errors.InputError(f"{errors.shown(format)} is not a format", "Give its name, or a media type")
    asked = format.partition(";")[0].strip().lower()
    for name, media_type in RESULT_TYPES.items():
        if asked in (name, media_type):
            return name, "jsonld" if name == "json" else "rdf" if name == "xml" else "nt"
    return "json", format_of(format).suffixes[0]


def answer_of(head: dict[str, Any], body: bytes, unavailable: dict[str, str], note: str = "") -> SparqlAnswer:
    """The answer that a worker gave.

    Raises:
        InputError: it is XML, and a text in it has what no XML can.
    """
    kind = head["format"]
    media_type = format_of(kind).media_type if head["form"] == "graph" else RESULT_TYPES[kind]
    if media_type.endswith("xml") and (lost := NOT_IN_XML.search(body.decode())) is not None:
        raise errors.InputError(
            f"A text of the answer has U+{ord(lost[0]):04X}, which XML does not allow", "Ask for json"
        )
    variables = tuple(head.get("variables", ()))
    return SparqlAnswer(
        form=head["form"],
        variables=variables,
        media_type=media_type,
        body=escape_carriage_returns(body) if media_type.endswith("xml") else body,
        unavailable=unavailable,
        note=note,
    )


def _term(value: dict[str, Any]) -> terms.Term:
    kind, said = value["type"], value["value"]
    if kind == "uri":
        return terms.node_of(said)
    if kind == "bnode":
        return terms.BlankNode(said)
    if kind == "triple":
        return terms.checked_triple(*(_term(said[part]) for part in ("subject", "predicate", "object")))
    if "xml:lang" in value:
        return terms.Literal(said, terms.LANGUAGE_STRING, value["xml:lang"])
    return terms.Literal(said, value.get("datatype", terms.STRING))
