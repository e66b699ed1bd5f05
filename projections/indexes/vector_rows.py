"""Vectors as rows to search, and their comparison with a query.

A version has a vector of its whole text, and one of each statement of its speaker about themselves. The row of a
statement is the mean of its vector and the whole text's, so that a statement counts in a text that fits. A row has two
numbers more. The first is 1 for a statement and 0 otherwise; in a query's row :data:`STATEMENT_BONUS` is in its place.
The second is the square of the share of the text that is statements, times :data:`STATED_UNIT`; in a query's row, what
that is worth to it. Their product is the cosine with these on top, so that every index adds them without knowing of
them. Zeros follow up to a multiple of eight numbers: FAISS compares rows of other lengths one number at a time, at a
quarter of the speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Numbers = NDArray[np.int64]

STATEMENT_BONUS: Final = 0.05
"""How much a statement in the first person adds to the score: such statements answer more questions."""
STATED_UNIT: Final = 0.25
"""What a text that is nothing but statements has there: little, so that a graph joins rows by their vectors."""
NO_STATEMENTS: Final = -4.0
"""A bonus that excludes statements, so that only whole texts are compared."""
CHUNK: Final = 16_384
"""How many rows are compared at once."""
_ALIGNED: Final = 8


class VectorRow(NamedTuple):
    """One version's vectors and the commit that embedded it.

    The vectors are little-endian 16-bit floats, one after the other; the last ``statements`` of them are of statements.
    ``stated`` is the percentage of the text that is statements.
    """

    node: int
    version: int
    seq: int
    values: bytes
    statements: int = 0
    stated: int = 0


class VectorHit(NamedTuple):
    """A version that a search found, and its score.

    ``score`` is the cosine of its vector with the query's, or the mean of that and the cosine of a statement, with the
    bonus.
    """

    node: int
    version: int
    seq: int
    score: float


_vector_hit: Final = partial(tuple.__new__, VectorHit)
"""Makes a hit of a tuple without a Python call; a search makes hundreds."""


def width(dimension: int) -> int:
    """The length of a row."""
    return -(-(dimension + 2) // _ALIGNED) * _ALIGNED


def expand_rows(given: Sequence[VectorRow], dimension: int) -> tuple[Numbers, Matrix]:
    """(world, version, commit) and the row of every vector, in the order given.

    Rows are rounded to 16 bits, as a base on disk has them: a vector scores alike wherever it lies.
    """
    import numpy as np

    # A text that is one statement and nothing else has one vector and two rows.
    of_wholes = [row.values[: 2 * dimension] if _is_all_statements(row, dimension) else b"" for row in given]
    values = b"".join(whole + row.values for whole, row in zip(of_wholes, given, strict=True))
    vectors = np.frombuffer(values, dtype="<f2").reshape(-1, dimension)
    counts = np.array(
        [len(whole + row.values) // (2 * dimension) for whole, row in zip(of_wholes, given, strict=True)], np.int64
    )
    numbers = np.array([row[:3] for row in given], dtype=np.int64).reshape(-1, 3)
    matrix = np.zeros((len(vectors), width(dimension)), dtype=np.float32)
    matrix[:, :dimension] = vectors
    ends = np.cumsum(counts)
    for first, end, row in zip((ends - counts).tolist(), ends.tolist(), given, strict=True):
        stated = matrix[max(first + 1, end - row.statements) : end]
        stated[:, :dimension] = ((stated[:, :dimension] + matrix[first, :dimension]) / 2).astype("<f2")
        stated[:, dimension] = 1.0
        matrix[first:end, dimension + 1] = np.float16(STATED_UNIT * (row.stated / 100) ** 2)
    return np.repeat(numbers, counts, axis=0), matrix


def _is_all_statements(row: VectorRow, dimension: int) -> bool:
    return row.statements >= len(row.values) // (2 * dimension)


def query_row(query: Matrix, bonus: float = STATEMENT_BONUS, stating: float = 0.0) -> Matrix:
    """Make a query's row.

    It has the query's vector, the bonus of a statement, and what it is worth that a text is nothing but statements. A
    query without a meaning, of zeros, is as far from statements as from any other text.
    """
    import numpy as np

    row = np.zeros(width(len(query)), dtype=np.float32)
    if query.any():
        row[: len(query)] = query
        row[len(query)] = bonus
        row[len(query) + 1] = stating / STATED_UNIT
    return row


def whole_text(values: bytes, dimension: int) -> Matrix:
    """The vector of the whole text among a version's stored vectors."""
    import numpy as np

    return np.frombuffer(values, dtype="<f2")[:dimension].astype(np.float32)


def subtract_mean(vector: Matrix, others: Sequence[Matrix], share: float) -> Matrix:
    """Subtract a share of the mean of other vectors, and normalise; unchanged where the rest would be zero."""
    import numpy as np

    rest = vector - np.float32(share) * np.mean(others, axis=0)
    length = float(np.linalg.norm(rest))
    found: Matrix = (rest / np.float32(length)).astype(np.float32) if length > 0 else vector
    return found


_FRACTIONS_APART: Final = 13
"""How many bits more a number of 32 bits has for its fraction than one of 16."""
_SIGN_AND_NUMBER: Final = -(2**31) + 2**28 - 1
_EXPONENTS_APART: Final = 2.0**112
"""What the exponents of both count from lies so far apart."""


def widen_to_float32(rows: Matrix) -> Matrix:
    """Convert finite 16-bit floats to 32 bits by bit operations, in a fifth of NumPy's time."""
    import numpy as np

    bits = rows.view("<i2").astype(np.int32)
    bits <<= _FRACTIONS_APART
    # Shifted as a number the sign is in four bits, of which one stays.
    bits &= np.int32(_SIGN_AND_NUMBER)
    found: Matrix = bits.view(np.float32)
    found *= np.float32(_EXPONENTS_APART)
    return found


def cosines(rows: Matrix, query: Matrix) -> Matrix:
    """Multiply each row with the query's.

    Each product depends on that row alone, so that any selection and any order of rows give the same numbers.
    """
    import numpy as np

    found: Matrix = np.vecdot(rows, query)
    return found


def as_hits(numbers: Numbers, scores: Matrix) -> list[VectorHit]:
    """Hits of (world, version, commit) and score, in the order given."""
    return list(map(_vector_hit, zip(*numbers.T.tolist(), scores.tolist(), strict=True)))


def best_of_each(numbers: Numbers, scores: Matrix) -> dict[tuple[int, int], float]:
    """The highest score of each (world, version)."""
    import numpy as np

    # In a dictionary the last of a key stays.
    order = np.argsort(scores, kind="stable")
    nodes, versions, _ = numbers[order].T.tolist()
    return dict(zip(zip(nodes, versions, strict=True), scores[order].tolist(), strict=True))


def top_places(scores: Matrix, limit: int, numbers: Numbers | None = None) -> Numbers:
    """The places of the highest scores, best first.

    Ties are in order, or by world and version if ``numbers`` has them.
    """
    import numpy as np

    if limit < len(scores):
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    found = -scores[places]
    if numbers is None:
        order = np.argsort(found, kind="stable")
    else:
        order = np.lexsort((numbers[places, 1], numbers[places, 0], found))
    ordered: Numbers = places[order][:limit]
    return ordered
