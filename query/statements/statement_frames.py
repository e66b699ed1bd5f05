"""What a world states as frames of a bundle."""

from collections.abc import Callable, Iterator
from itertools import groupby

from worlddb.log.model import bundle as fr
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.statements.statement_rows import DEFAULT_GRAPH, Quad
from worlddb.projections.tables.storage.rows import Tables


def frames(
    tables: Tables, world: int, seq: int, blob: Callable[[int, int], bytes], commit: Callable[[int], int]
) -> Iterator[fr.AnyFrame]:
    """The statements of a world that are known at a commit, at any valid time; first the terms that they name.

    ``blob`` gives the id of a text of a commit, ``commit`` the number of a commit; both see that it is in the bundle.
    """
    known = statement_rows.known_at(tables, world, seq)
    named = sorted({number for each in known for number in each.quad} - {DEFAULT_GRAPH})
    found = [row for number in named if (row := statement_rows.term(tables, world, number)) is not None]
    numbers = {number: at for at, number in enumerate([DEFAULT_GRAPH, *named])}
    for place, rows in groupby(found, key=lambda row: row[:2]):
        yield fr.TermsFrame(blob(*place), commit(place[0]), [row.place for row in rows])
    said: dict[tuple[int, int, int, int], list[Quad]] = {}
    for each in known:
        said.setdefault((each.origin, each.details, each.valid_from, each.valid_to), []).append(each.quad)
    for (origin, details, begins, ends), quads in said.items():
        flat = [numbers[number] for quad in quads for number in quad]
        yield fr.StatedFrame(flat, begins, ends, blob(origin, details), commit(origin))
