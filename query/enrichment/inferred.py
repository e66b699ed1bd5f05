"""Find segments by their enrichments, show them in place of these, and weigh their fields (Hydra DB §2.6.2).

An enrichment is never a hit itself: the hit is the segment that it lies in. It counts while everything that it was made
of is unchanged in the view. By default a segment gets the better of its own score and its enrichment's; with weighted
fields both are added.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors
from worlddb.log.model.ids import Lineage
from worlddb.projections.tables.consolidation import interior_witness as witness
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage.schema import CONTAINS_CODE
from worlddb.query.question.question import CONVEX, INFERRED, MAX_K, TEXT, VECTOR, Request
from worlddb.query.snapshot import visible

# What recall is made of: `candidates.Gate` and `Passed`, `ranking.Ranked`, `retrieve.Found`. Recall loads this module
# where it meets an enrichment, so that it cannot name them.
Gate = Any
Passed = Any
Ranked = Any
Found = Any

FIELDS: Final = ("content", "inferred", "words")
MAX_WEIGHT: Final = 10.0
WIDE: Final = 128
"""How many hits are ranked at least where fields are weighed, or :data:`TIMES` as many as are wanted."""
TIMES: Final = 4


class Weights(NamedTuple):
    """The weights of fields: the meaning of a text, the meaning of its enrichment, the words of both."""

    content: float = 1.0
    inferred: float = 1.0
    words: float = 1.0

    def partners(self, snapshot: visible.VisibleSnapshot, gate: Gate, pool: Mapping[int, Passed]) -> Iterator[int]:
        """The enrichments of candidates, and the segments of candidate enrichments: each pair is scored together."""
        secret = snapshot.secret()
        for node, passed in pool.items():
            if passed.seen.row.type == visible.ENRICHMENT_TYPE:
                segment = segment_of(snapshot, node, passed.seen)
                if segment is not None:
                    yield segment
            else:
                own = witness.enrichment_node(snapshot.tables, secret, node)
                if own is not None and (seen := gate.seen(own)) is not None and segment_of(snapshot, own, seen) == node:
                    yield own


def parse_weights(fields: Any) -> Weights | None:
    """The weights of fields as a caller gives them; those left out are worth 1.

    Raises:
        InputError: there is no such field, or a weight is no number from 0 to 10.
    """
    if fields is None:
        return None
    if not isinstance(fields, Mapping) or any(name not in FIELDS for name in fields):
        raise errors.InputError(f"fields is {errors.shown(fields)}", f"Give weights for some of: {', '.join(FIELDS)}")
    for name, weight in fields.items():
        if type(weight) not in (int, float) or not 0 <= weight <= MAX_WEIGHT:
            raise errors.InputError(f"The weight of {name} is {errors.shown(weight)}", f"Give 0 to {MAX_WEIGHT:g}")
    return Weights(**{name: float(weight) for name, weight in fields.items()})


def segment_of(snapshot: visible.VisibleSnapshot, node: int, seen: asof.SeenVersion) -> int | None:
    """The segment of an enrichment in a view; ``None`` if it is stale there, or not made by enriching."""
    pairs = witness.made_of(_properties(snapshot, seen))
    segment = snapshot.tables.node_of(Lineage(pairs[0][0])) if pairs else None
    if segment is None or segment not in snapshot.containers(node):
        return None
    return segment if witness.is_as_made(snapshot.tables, snapshot.place.moment, pairs) else None


def inferred_fields(snapshot: visible.VisibleSnapshot, segment: int) -> dict[str, Any]:
    """The inferred fields of a segment, for showing with hits; empty if there are none, or they are stale."""
    tables, moment = snapshot.tables, snapshot.place.moment
    own = witness.enrichment_node(tables, snapshot.secret(), segment)
    # What came from another store has the key of that one, and is among the first that the segment contains.
    inside = islice(tables.outgoing(segment, CONTAINS_CODE, known_by=moment.seq), _MAX_INSIDE)
    for node in (own,) if own is not None else (row.target for _, row in inside):
        seen = asof.version_at(tables, node, moment)
        if seen is None or seen.row.type != visible.ENRICHMENT_TYPE:
            continue
        if segment_of(snapshot, node, seen) == segment:
            said = _properties(snapshot, seen)
            return {name: value for name, value in said.items() if name != witness.MADE_OF}
    return {}


_MAX_INSIDE: Final = 8


def is_ours(snapshot: visible.VisibleSnapshot, seen: asof.SeenVersion) -> bool:
    """True of a world that enriching made; anybody may have worlds of that type."""
    return bool(witness.made_of(_properties(snapshot, seen)))


def _properties(snapshot: visible.VisibleSnapshot, seen: asof.SeenVersion) -> Mapping[str, Any]:
    return snapshot.details(seen.row.seq, seen.row.details).properties


Rank = Callable[[int], Found]
"""The best candidates as the lanes rank them, so many."""


def folded(snapshot: visible.VisibleSnapshot, gate: Gate, request: Request, rank: Rank) -> Found:
    """The best candidates, where segments stand in the place of their enrichments."""
    asked = request.k
    while True:
        asked = min(MAX_K, 2 * asked)
        found = rank(asked)
        shown: dict[int, Ranked] = {}
        for each in map(lambda hit: _as_segment(snapshot, gate, hit), found.ranked):
            if each is not None:
                shown.setdefault(each.passed.node, each)
        if len(shown) >= request.k or len(found.ranked) < asked or asked == MAX_K:
            ranked = list(shown.values())
            return found._replace(ranked=ranked if request.group is not None else ranked[: request.k])


def _as_segment(snapshot: visible.VisibleSnapshot, gate: Gate, hit: Ranked) -> Ranked | None:
    """The hit to show: for an enrichment its segment, ``None`` if it has none."""
    node, seen = hit.passed.node, hit.passed.seen
    if seen.row.type != visible.ENRICHMENT_TYPE or not is_ours(snapshot, seen):
        return hit
    segment = segment_of(snapshot, node, seen)
    own = None if segment is None else gate.seen(segment)
    if segment is None or own is None:
        return None
    passed = hit.passed._replace(node=segment, seen=own)
    return hit._replace(passed=passed, parts=hit.parts | {INFERRED: 0.0})


def weighed(snapshot: visible.VisibleSnapshot, gate: Gate, request: Request, weights: Weights, rank: Rank) -> Found:
    """The best segments by the weighted sum of their fields; without an enrichment, its own meaning counts as both.

    Raises:
        InputError: the scores are no sums of words and meaning.
    """
    if request.fusion != CONVEX or len(set(request.lanes)) == 1:
        raise errors.InputError(
            "fields has weights, but scores are not sums of lanes here", "Use several lanes, with fusion='convex'"
        )
    found = rank(min(MAX_K, max(WIDE, TIMES * request.k)))
    whole: dict[int, Ranked] = {}
    inferred: dict[int, Ranked] = {}
    for hit in found.ranked:
        seen = hit.passed.seen
        if seen.row.type != visible.ENRICHMENT_TYPE or not is_ours(snapshot, seen):
            whole[hit.passed.node] = hit
            continue
        segment = segment_of(snapshot, hit.passed.node, seen)
        own = None if segment is None else whole.get(segment) or found.find(segment)
        if segment is not None and own is not None:
            whole[segment], inferred[segment] = own, hit
    secret = snapshot.secret()
    for node in whole.keys() - inferred.keys():
        partner = witness.enrichment_node(snapshot.tables, secret, node)
        hit = None if partner is None else found.find(partner)
        if hit is not None and segment_of(snapshot, hit.passed.node, hit.passed.seen) == node:
            inferred[node] = hit
    ranked = sorted(
        (_weighted_hit(hit, inferred.get(node), weights) for node, hit in whole.items()), key=lambda each: each.order
    )
    return found._replace(ranked=ranked if request.group is not None else ranked[: request.k], find=_no_candidate)


def _no_candidate(node: int) -> None:
    """Find no candidate: all that were ranked are among the hits."""


def _weighted_hit(hit: Ranked, inferred: Ranked | None, weights: Weights) -> Ranked:
    """A segment with the score of its fields."""
    words, meant, implied = hit.parts.get(TEXT, 0.0), hit.parts.get(VECTOR, 0.0), 0.0
    worth = weights.content
    if inferred is None:
        worth += weights.inferred
    else:
        words, implied = max(words, inferred.parts.get(TEXT, 0.0)), inferred.parts.get(VECTOR, 0.0)
    sums = {TEXT: weights.words * words, VECTOR: worth * meant, INFERRED: weights.inferred * implied}
    parts = {name: part for name, part in hit.parts.items() if name not in sums}
    parts |= {name: part for name, part in sums.items() if part}
    return hit._replace(score=sum(parts.values()), parts=parts)


def without_enrichments(snapshot: visible.VisibleSnapshot, passed: Iterable[Passed]) -> list[Passed]:
    """Candidates without enrichments."""
    return [
        each for each in passed if each.seen.row.type != visible.ENRICHMENT_TYPE or not is_ours(snapshot, each.seen)
    ]
