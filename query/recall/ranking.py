"""What the lanes say of each candidate, brought together: missing scores are looked up, then all are fused.

Expansion from hits to their neighbours (Hydra DB §2.6.4): what an edge joins to a good hit is a candidate too.

A note about a meeting finds the decision that was derived from it, in whose words nothing speaks of the meeting.

Remarks: what is said to somebody who remembers, and asks nothing.

"I booked the train, but only seats that face forward." shares neither words nor meaning with "I get sick in the back of
a car.", which it brings to mind. Where nothing stands out by its meaning, how near texts come says little, and how
likely each is to be worth remembering says more: that is the higher, the more of it is what its speaker says of
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from statistics import fmean
from typing import Final, NamedTuple

from worlddb.projections.indexes.analysis import is_remark
from worlddb.projections.tables.reads.asof import edge_seen
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, EDGE_TYPE_CODES, EdgePlace, EdgeRow
from worlddb.query.lanes.text_lane import TextLane
from worlddb.query.lanes.vector_lane import VectorLane
from worlddb.query.question.question_dates import nearness, spans
from worlddb.query.recall.candidates import (
    LEADERS,
    Gate,
    Named,
    Passed,
    Proposed,
    followers,
    latest_referring,
    lent,
    references,
    referring,
)
from worlddb.query.recall.fusion import COMBMAX, CONVEX, RRF, Evidence, added_up, own, reciprocal, strongest, weighted
from worlddb.query.snapshot.visible import VisibleSnapshot

LENT_BY_EDGE: Final = 0.5
"""What share of its evidence a hit lends what an edge joins to it."""
MAX_EDGES: Final = 64
"""Of each type and direction the first so many edges of a hit are followed; what more have in common tells little."""


def neighbours(snapshot: VisibleSnapshot, gate: Gate, leaders: Iterable[Passed]) -> dict[int, dict[int, float]]:
    """What edges of any type but ``contains`` join to the leaders, either way, with the shares lent, by leader.

    Edges and worlds are those that the view sees; worlds outside of the one that is searched are left out.
    """
    codes = _codes(snapshot)
    found: dict[int, dict[int, float]] = {}
    for leader in leaders:
        for node in _joined(snapshot, leader.node, codes):
            if node != leader.node and gate.seen(node) is not None:
                found.setdefault(node, {})[leader.node] = LENT_BY_EDGE
    return found


def in_order(joined: Mapping[int, Mapping[int, float]], own: Mapping[int, float]) -> list[int]:
    """Neighbours by what is lent them, most first, ties in log order."""
    best = {node: max(share * own[leader] for leader, share in leaders.items()) for node, leaders in joined.items()}
    return sorted(best, key=lambda node: (-round(best[node], 6), node))


def _codes(snapshot: VisibleSnapshot) -> list[int]:
    """The edge types that there may be here."""
    registered = (snapshot.tables.type_code(one.type) for one in snapshot.registered(ended=True))
    codes = {*EDGE_TYPE_CODES.values(), *(code for code in registered if code is not None)}
    return sorted(codes - {CONTAINS_CODE})


def _joined(snapshot: VisibleSnapshot, node: int, codes: Iterable[int]) -> Iterator[int]:
    """The other ends of the edges of a world."""
    tables, moment = snapshot.tables, snapshot.place.moment

    def in_force(edges: Iterable[tuple[EdgePlace, EdgeRow]]) -> Iterator[tuple[EdgePlace, EdgeRow]]:
        return islice((each for each in edges if edge_seen(tables, *each, moment)), MAX_EDGES)

    for code in codes:
        yield from (row.target for _, row in in_force(tables.outgoing(node, code, known_by=moment.seq)))
        yield from (place.source for place, _ in in_force(tables.incoming(node, code, known_by=moment.seq)))


STATING: Final = 0.1
"""How much nearer to a remark a text comes that is nothing but statements of its speaker about themselves."""
STATING_ALONE: Final = 0.3
"""The same where nothing stands out."""
OUTSTANDING: Final = 0.14
"""Something stands out if the nearest text is nearer by so much than the middle one of the nearest."""
NEAREST: Final = 64
"""How many texts are the nearest ones."""


def proposed_by_meaning(
    lane: VectorLane, text: str, propose: Callable[[VectorLane], list[Passed]]
) -> tuple[VectorLane, list[Passed]]:
    """What a vector lane proposes for a text, best first, and the lane as it was asked."""
    if not is_remark(text):
        return lane, propose(lane)
    weighing = lane.weighing(STATING)
    found = propose(weighing)
    if not _stands_out(found):
        weighing = lane.weighing(STATING_ALONE)
        found = propose(weighing)
    return weighing, found


def _stands_out(found: list[Passed]) -> bool:
    nearest = found[:NEAREST]
    return bool(nearest) and nearest[0].score - nearest[len(nearest) // 2].score >= OUTSTANDING


DEPTH: Final = 64
"""How many candidates each lane proposes, or twice as many as hits are wanted; see :func:`depth_for`."""

TEXT: Final = "text"
VECTOR: Final = "vector"
ENTITY: Final = "entity"
MAX_REFERRING: Final = 64
"""What refers to an entity is proposed if it is no more than this; of more, the latest where others propose too few."""
WIDE: Final = 2
"""For how many times as many hits vectors are searched as are looked at in a world: of those that lie deep in its list
a graph misses more than of the first."""
WIDE_ALONE: Final = 4
"""As much where no other lane is asked, which looks at half as many."""
_PER_NODE: Final = 4
"""How many versions of each world are looked at where its score by words is looked up."""
LANES: Final = (TEXT, VECTOR, ENTITY)
EDGE: Final = "edge"
"""Not a lane that is asked: how a hit's neighbours are marked, where they are wanted."""


NOBODY: Final = Named(frozenset(), frozenset(), ())


class Lanes(NamedTuple):
    """The lanes that are asked; ``None`` for one that is not wanted or not available."""

    text: TextLane | None
    vector: VectorLane | None
    entity: bool


class Question(NamedTuple):
    """What is asked, and when: times such as "last week" are resolved against ``asked``. ``about`` is what of it is
    compared by words and by meaning."""

    text: str
    asked: int
    named: Named
    about: str
    neighbours: int = 0
    """Of how many of the best hits of each lane the neighbours are candidates too."""


class _Links(NamedTuple):
    """What others lend candidates: the turns before them, and the hits that an edge joins to them; the shares of each
    by lender."""

    following: dict[int, dict[int, float]]
    joined: dict[int, dict[int, float]]


class Ranked(NamedTuple):
    """A candidate with its score, its rank in each lane that proposed it, and what each lane added."""

    passed: Passed
    score: float
    ranks: dict[str, int]
    parts: dict[str, float]


def depth_for(k: int) -> int:
    """How many candidates each lane proposes where ``k`` hits are wanted."""
    return max(DEPTH, 2 * k)


def fused(
    snapshot: VisibleSnapshot, gate: Gate, lanes: Lanes, question: Question, k: int, fusion: str
) -> Iterator[Ranked]:
    """The candidates of all lanes together, best first, ties in log order; of those after the first ``k`` some that
    are better may be missing."""
    depth = depth_for(k)
    moment = snapshot.place.moment
    text, vector = lanes.text, lanes.vector
    proposed: dict[str, list[Passed]] = {
        lane: [] for lane, asked in ((TEXT, text), (VECTOR, vector)) if asked is not None
    }
    # By meaning first, and beside it what is searched by words.
    if vector is not None:
        if text is not None:
            text.begin(question.about, limit=depth, through=moment.seq, nodes=gate.members)

        def propose(lane: VectorLane) -> list[Passed]:
            near = partial(by_meaning, lane, wide=1 if gate.is_open else WIDE)
            return list(islice(gate.passing(near, depth, 2 * depth), depth))

        if fusion == CONVEX:
            vector, proposed[VECTOR] = proposed_by_meaning(vector, question.text, propose)
        else:
            proposed[VECTOR] = propose(vector)
    if text is not None:
        worded = partial(by_words, text, question.about, moment.seq)
        proposed[TEXT] = list(islice(gate.passing(worded, depth, depth), depth))
    named = question.named if lanes.entity else NOBODY
    candidates = {passed.node: passed for found in proposed.values() for passed in found}
    following: dict[int, dict[int, float]] = {}
    if fusion == CONVEX:
        leaders = {passed.node: passed for found in proposed.values() for passed in found[: max(LEADERS, k)]}
        following = followers(snapshot, gate, leaders.values())
    best = {passed.node: passed for found in proposed.values() for passed in found[: question.neighbours]}
    joined = neighbours(snapshot, gate, best.values()) if best else {}
    for node in (*_about(snapshot, gate, named, len(candidates), k), *following, *joined):
        seen = None if node in candidates else gate.seen(node)
        if seen is not None:
            candidates[node] = Passed(node, seen, 0.0)
    links = _Links(following, joined)
    evidence = _evidence(snapshot, lanes._replace(vector=vector), question, proposed, candidates, named, links)
    ranks = {lane: [passed.node for passed in found] for lane, found in proposed.items()}
    if joined:
        ranks[EDGE] = in_order(joined, {node: own(told.text, told.vector) for node, told in evidence.items()})
    if lanes.entity:
        about = [node for node in candidates if evidence[node].entity]
        ranks[ENTITY] = sorted(about, key=lambda node: (-evidence[node].vector, -evidence[node].text, node))
    return _in_order(candidates, evidence, ranks, fusion)


def _about(snapshot: VisibleSnapshot, gate: Gate, named: Named, others: int, k: int) -> list[int]:
    """What refers to those whom a question names. Of very much that tells little, and is left to what the other lanes
    propose; where these propose fewer than are wanted, the latest of it are proposed."""
    anybody = named.entities | named.sides
    few = referring(snapshot, anybody, MAX_REFERRING)
    return few if few or not anybody or others >= k else latest_referring(snapshot, gate, anybody, k)


def _in_order(
    candidates: dict[int, Passed], evidence: dict[int, Evidence], ranks: dict[str, list[int]], fusion: str
) -> Iterator[Ranked]:
    """The candidates by their scores, best first. What each lane added is told of those alone that are looked at."""
    told = strongest if fusion == COMBMAX else weighted
    if fusion == RRF:
        scores = reciprocal(ranks)
    elif fusion == COMBMAX:
        scores = {node: sum(strongest(evidence[node]).values()) for node in candidates}
    else:
        scores = {node: added_up(evidence[node]) for node in candidates}
    places = {lane: {node: rank for rank, node in enumerate(found, 1)} for lane, found in ranks.items()}
    for node in sorted(scores, key=lambda node: (-round(scores[node], 6), node)):
        at = {lane: found[node] for lane, found in places.items() if node in found}
        yield Ranked(candidates[node], scores[node], at, told(evidence[node]))


def by_words(lane: TextLane, text: str, through: int, limit: int, nodes: Collection[int] | None) -> Sequence[Proposed]:
    """The best hits of the text lane."""
    return lane.search(text, limit=limit, through=through, nodes=nodes)


def by_meaning(lane: VectorLane, limit: int, nodes: Collection[int] | None, *, wide: int = 1) -> Sequence[Proposed]:
    """The best hits of the vector lane, which looks for ``wide`` times as many where it may choose among all."""
    return lane.search(limit=wide * limit if nodes is None else limit, nodes=nodes)[:limit]


def _evidence(
    snapshot: VisibleSnapshot,
    lanes: Lanes,
    question: Question,
    proposed: dict[str, list[Passed]],
    candidates: dict[int, Passed],
    named: Named,
    links: _Links,
) -> dict[int, Evidence]:
    missing = _begun(snapshot, lanes.text, question.about, proposed.get(TEXT, []), candidates)
    cosines = _cosines(lanes.vector, proposed.get(VECTOR, []), candidates)
    # What has no vector (yet) is judged by the rest, as if its meaning were that of a middling candidate.
    middling = fmean(cosines.values()) if cosines else 0.0
    times = spans(question.text, question.asked)
    entities = _entities(snapshot, candidates, named)
    texts = _texts(snapshot, lanes.text, question.about, proposed.get(TEXT, []), missing, candidates)
    alone = {node: own(texts.get(node, 0.0), cosines.get(node, middling)) for node in candidates}
    before, edge = lent(alone, links.following), lent(alone, links.joined)
    return {
        node: Evidence(
            texts.get(node, 0.0),
            cosines.get(node, middling),
            entities.get(node, 0.0),
            nearness(times, passed.seen.validity.start) if times else 0.0,
            before.get(node, 0.0),
            edge.get(node, 0.0),
        )
        for node, passed in candidates.items()
    }


def _entities(snapshot: VisibleSnapshot, candidates: Iterable[int], named: Named) -> dict[int, float]:
    """1 for what the side said that the question is about, half for what was said by or of somebody with a name: a name
    in a question may be that of a bystander."""
    anybody = named.entities | named.sides
    if not anybody:
        return {}
    found: dict[int, float] = {}
    for node, entity in references(snapshot, candidates, anybody):
        found[node] = max(found.get(node, 0.5), 1.0 if entity in named.sides else 0.5)
    return found


def _begun(
    snapshot: VisibleSnapshot, lane: TextLane | None, text: str, proposed: Iterable[Passed], candidates: Iterable[int]
) -> list[int]:
    """The candidates that the text lane has not proposed, of whom it is going to be asked, and begins to search."""
    if lane is None:
        return []
    known = {passed.node for passed in proposed}
    missing = [node for node in candidates if node not in known]
    if missing:
        lane.begin(text, limit=_PER_NODE * len(missing), through=snapshot.place.moment.seq, nodes=missing)
    return missing


def _texts(
    snapshot: VisibleSnapshot,
    lane: TextLane | None,
    text: str,
    proposed: Iterable[Passed],
    missing: list[int],
    candidates: dict[int, Passed],
) -> dict[int, float]:
    """BM25 of each candidate as a share of the most that the query could reach."""
    if lane is None:
        return {}
    through = snapshot.place.moment.seq
    most = lane.ceiling(text, through=through)
    if most <= 0:
        return {}
    scores = {passed.node: passed.score for passed in proposed}
    if missing:
        for hit in lane.search(text, limit=_PER_NODE * len(missing), through=through, nodes=missing):
            if hit.version == candidates[hit.node].seen.number:
                scores.setdefault(hit.node, hit.score)
    return {node: score / most for node, score in scores.items()}


def _cosines(lane: VectorLane | None, proposed: Iterable[Passed], candidates: dict[int, Passed]) -> dict[int, float]:
    """The cosine of each candidate that has a vector."""
    if lane is None:
        return {}
    scores = {passed.node: passed.score for passed in proposed}
    missing = [(node, passed.seen.number) for node, passed in candidates.items() if node not in scores]
    scores.update({node: score for (node, _), score in lane.scores(missing).items()})
    return scores
