"""Thresholds of the resolver that were set for worlds, as a view knows them."""

from __future__ import annotations

from worlddb.projections.tables.apply.settings import Tuning
from worlddb.query import records
from worlddb.query.sight import Sight


def tunings(sight: Sight, home: int | None, *, ended: bool) -> list[records.Tuning]:
    """Everything that was set and that is seen, in log order, or with ``home`` what holds in that world.

    ``ended`` is listed where no home is asked for.
    """
    found = sight.tunings(ended=ended) if home is None else sight.tunings_at(home)
    return [_record(sight, known) for known in sorted(found, key=lambda known: (known.seq, known.world, known.type))]


def _record(sight: Sight, known: Tuning) -> records.Tuning:
    row = known.row
    return records.Tuning(
        world=sight.tables.node(known.world).lineage.hex(),
        type=known.type,
        fuzzy=row.fuzzy,
        phonetic=row.phonetic,
        embedding=row.embedding,
        margin=row.margin,
        most=row.most,
        seq=known.seq,
        ended=row.ended if row.ended <= sight.place.moment.seq else 0,
        why=sight.details(known.seq, row.details).why,
    )
