"""Statements from other programs in RDF formats, and the formats of answers."""

import itertools
from typing import Final

from worlddb.query.sparql import rdf_formats, sparql_answer

RDF_TYPES: Final = tuple(each.media_type for each in rdf_formats.FORMATS)
"""Media types of the formats of RDF."""
ROW_TYPES: Final = tuple(sparql_answer.RESULT_TYPES.values())
"""Media types of the rows that SPARQL answers; JSON comes first."""


def read(sent: bytes, media_type: str, base: str | None) -> list[rdf_formats.Row]:
    """Parse the statements of a text; its blank nodes get labels of their own.

    Raises:
        InputError: the text breaks its format, or there is no such format.
    """
    labels = itertools.count()
    return list(rdf_formats.read_rows(sent, lambda: f"n{next(labels)}", media_type, base=base))
