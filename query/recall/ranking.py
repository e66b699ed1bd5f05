"""Ranking: the lanes' evidence for each candidate is collected, fused and rescored.

Scores that a lane has not given are looked up, then all are fused; the best candidates are rescored by their texts
and by their places in a session. A remark ("I booked the train, but only seats that face forward.") shares neither
words nor meaning with what it brings to mind ("I get sick in the back of a car."): so it is compared without most of
the mean of the texts nearest to it, and where nothing stands out by meaning, first-person statements count more.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, repeat
from math import fsum
from operator import itemgetter, sub
from typing import Final, NamedTuple

from worlddb.log.model.events import START_STATED
from worlddb.log.model.times import DAY_MICROSECONDS, FOREVER
from worlddb.projections.indexes.analysis import (
    governed_stems,
    instruction_stems,
    standing_instruction,
    without_speaker,
)
from worlddb.projections.indexes.fields import Nodes
from worlddb.projections.tables.names.canonical import NO_TYPE, type_digest
from worlddb.projections.tables.reads.asof import SeenVersion
from worlddb.projections.tables.storage.schema import FIRST_LITERAL
from worlddb.query.lanes import text_lane, vector_lane
from worlddb.query.question.question import COMBMAX, CONVEX, ENTITY, FIRST_PERSON, RRF, TEXT, VECTOR, Question, Request
from worlddb.query.question.question_dates import Span, is_yearly, nearness, told_days
from worlddb.query.recall import candidates, scoring
from worlddb.query.recall.candidates import count_earlier_turns
from worlddb.query.recall.scoring import similarity_score
from worlddb.query.snapshot import valid_period
from worlddb.query.snapshot.visible import ENRICHMENT_TYPE, VisibleSnapshot

STATING: Final = 0.1
"""What a text gains for a remark if all of it is first-person statements."""
STATING_ALONE: Final = 0.3
"""The same where nothing stands out."""
OUTSTANDING: Final = 0.14
"""Something stands out if the nearest text is that much nearer than the median of the nearest ones."""
NEAREST: Final = 64
"""The number of nearest texts."""
COMMON: Final = 0.75
"""What share of the mean of the nearest texts' vectors is taken from that of a remark: what they all are about is what
is spoken of now, and tells nothing of what was told before. Chosen on one half of the pairs and judged on the other;
see docs/retrieval.md."""
ON_SUBJECT: Final = 0.5
"""Nothing is taken where the middle one of the nearest comes so near: these are about the remark's own subject."""


def propose_by_meaning(
    lane: vector_lane.VectorLane,
    question: Question,
    propose: Callable[[vector_lane.VectorLane], list[candidates.Passed]],
    stored: vector_lane.Stored | None = None,
) -> tuple[vector_lane.VectorLane, list[candidates.Passed]]:
    """The candidates of a vector lane for a question, best first, and the lane as weighted.

    ``stored`` reads the vectors that the view sees; without it a remark is compared as it is.
    """
    if not question.is_remark:
        return lane, propose(lane)
    weighing = lane.weighing(STATING)
    found = propose(weighing)
    is_enough, nearest = _has_outstanding_hit(found), found[:NEAREST]
    if stored is not None and nearest and nearest[len(nearest) // 2].score < ON_SUBJECT:
        lane = lane.apart([(passed.node, passed.seen.number) for passed in nearest], stored, COMMON)
    elif is_enough:
        return weighing, found
    weighing = lane.weighing(STATING if is_enough else STATING_ALONE)
    return weighing, propose(weighing)


def _has_outstanding_hit(found: list[candidates.Passed]) -> bool:
    nearest = found[:NEAREST]
    return bool(nearest) and nearest[0].score - nearest[len(nearest) // 2].score >= OUTSTANDING


DEPTH: Final = 64
"""The number of candidates of each lane, or twice the number of hits; see :func:`depth_for`."""

LOOKED_AT: Final = 10
"""The number of best hits among which competing statements are searched, for any number of hits."""
MAX_STRANGE: Final = 8
"""Of what lies elsewhere than whom a question names so many are looked at for the name, those that fit best."""
MAX_REFERRING: Final = 64
"""What refers to an entity is proposed if it is no more than this; of more, the latest where others propose too few."""
WIDE: Final = 2
"""How many times as many hits are searched for as are used in a world: of those that lie deep in its list
a graph misses more than of the first."""
WIDE_ALONE: Final = 4
"""As much where no other lane is asked, which looks at half as many."""
_PER_NODE: Final = 4
"""How many versions of each world are read where its score by words is looked up."""
EDGE: Final = "edge"
"""Not a lane that is asked: how a hit's neighbours are marked, where they are wanted."""
WHEN: Final = "when"
"""Nor is this: how what began at a time that the question names is marked, where few of the others are of then."""


class Lanes(NamedTuple):
    """The searched lanes; ``None`` for one that is not requested or not available.

    ``words_worth`` is the weight of words beside these vectors, as a share of that beside the default ones. ``over``
    gives the lanes of what is shown of a period, where these have nothing but what is shown now.
    """

    text: text_lane.TextLane | None
    vector: vector_lane.VectorLane | None
    entity: bool
    words_worth: float = 1.0
    over: Callable[[valid_period.Choice], "Lanes"] | None = None


class _Links(NamedTuple):
    """The shares that candidates are lent, by the turns before them and by hits along edges.

    ``talks`` are the best hits of the talk that each is said in.
    """

    following: dict[int, dict[int, float]]
    joined: dict[int, dict[int, float]]
    talks: dict[int, list[int]]


class Ranked(NamedTuple):
    """A candidate with its score, its rank in each lane, and what each lane added.

    ``is_latest``: it was proposed for being among the last to refer to somebody.
    """

    passed: candidates.Passed
    score: float
    ranks: dict[str, int]
    parts: dict[str, float]
    is_latest: bool = False

    @property
    def order(self) -> tuple[float, int]:
        """By score, best first; ties in log order, but newest first among the latest."""
        node = self.passed.node
        return -round(self.score, 6), -node if self.is_latest else node


class Guiding(NamedTuple):
    """Worlds that say how to answer: standing instructions, preferences and choices."""

    rules: Sequence[int] = ()
    tastes: Sequence[int] = ()


NO_GUIDE: Final = Guiding()
Places = tuple[tuple[int, int], ...]
"""Places that are kept, each with the world that has it, the first place first; they are counted from 0."""


class Ranking:
    """Candidates by score, best first; the parts of a score are computed on demand.

    ``k``: for how many hits there are enough of them. ``kept``: the lowest places of some of them. ``asked``: the words
    by which the openings of turns are compared, if they are.
    """

    def __init__(
        self,
        nodes: list[int],
        look_up: Callable[[int], Ranked],
        k: int,
        kept: Places = (),
        asked: text_lane.AskedWords | None = None,
    ) -> None:
        self.k = k
        self._nodes = nodes
        self._look_up = look_up
        self.kept = kept
        self.asked = asked

    def __iter__(self) -> Iterator[Ranked]:
        return map(self._look_up, self._nodes)

    def find(self, node: int) -> Ranked | None:
        """A candidate by its node; None if it is no candidate."""
        return self._look_up(node) if node in self._nodes else None


STEADY: Final = DEPTH // 2
"""Up to so many wanted hits the candidates are the same: the answer to fewer is the beginning of that to more."""


def depth_for(k: int) -> int:
    """The number of candidates that each lane proposes for ``k`` hits."""
    return max(DEPTH, 2 * k)


def _leaders_for(k: int) -> int:
    """The number of hits of each lane whose following turns are candidates, for ``k`` hits."""
    return candidates.MAX_LEADERS if k <= STEADY else k


def fuse_lanes(
    snapshot: VisibleSnapshot,
    gate: candidates.Gate,
    lanes: Lanes,
    request: Request,
    about: candidates.Named,
    guiding: Guiding = NO_GUIDE,
    statements: int = 0,
) -> Ranking:
    """The candidates of all lanes together, best first, ties in log order.

    Of those after the first ``k`` some that are better may be missing. Up to :data:`STEADY` the answer does not depend
    on ``k``. With ``statements`` there are enough for so many hits where any candidate is a statement.
    """
    k, fusion = request.k, request.fusion
    named = about if lanes.entity else candidates.NOBODY
    vector, proposed, pool = _propose_candidates(gate, lanes, request, depth_for(k))
    few, latest = _find_referring(snapshot, gate, named, len(pool), max(STEADY, k))
    if statements > k and _has_statement(gate, (*pool, *few, *latest)):
        k = statements
        vector, proposed, pool = _propose_candidates(gate, lanes, request, depth_for(k))
        few, latest = _find_referring(snapshot, gate, named, len(pool), max(STEADY, k))
    following: dict[int, dict[int, float]] = {}
    leaders: dict[int, candidates.Passed] = {}
    answers: Iterable[int] = ()
    if request.covers is not None:
        answers = tuple(candidates.lend_to_later_turns(snapshot, gate, pool.values(), candidates.LATER_TURN_SHARES[:1]))
    elif fusion == CONVEX and not request.question.is_remark:
        # What a remark brings to mind is seldom what was spoken of around it.
        leaders = {passed.node: passed for found in proposed.values() for passed in found[: _leaders_for(k)]}
        following = candidates.lend_to_later_turns(snapshot, gate, leaders.values())
    best = {passed.node: passed for found in proposed.values() for passed in found[: request.neighbours]}
    joined = candidates.lend_to_neighbours(snapshot, gate, best.values()) if best else {}
    latest -= pool.keys()
    weighing = lanes._replace(vector=vector)
    dated = _find_begun_then(gate, request, weighing, pool.values(), depth_for(k) // 2)
    paired = () if request.fields is None else tuple(request.fields.partners(snapshot, gate, pool))
    for node in (*few, *latest, *following, *answers, *joined, *guiding.rules, *guiding.tastes, *paired, *dated):
        seen = None if node in pool else gate.seen(node)
        if seen is not None:
            pool[node] = candidates.Passed(node, seen, 0.0)
    lends = leaders and request.group is None
    talks = candidates.find_leaders_in_talks(gate, pool, leaders, named.user) if lends else {}
    links = _Links(candidates.lend_to_answers(snapshot, pool, following, talks), joined, talks)
    evidence = _collect_evidence(snapshot, weighing, request, proposed, pool, named, links, gate)
    asked = _asked_words(lanes, request, about, leaders.values()) if lends else None
    if talks and asked is not None:
        evidence |= _find_words_around(snapshot, asked, pool, evidence, links, max(STEADY, k))
        asked = None  # What people say to one another is short, and all of it is looked at.
    evidence, kept = _mark_guides(snapshot, request.question, pool, evidence, guiding, is_compared=vector is not None)
    ranks = {lane: [passed.node for passed in found] for lane, found in proposed.items()}
    ranks |= _rank_marked(joined, dated, evidence) if joined or dated else {}
    if lanes.entity:
        fitting = [node for node in pool if evidence[node].entity > 0]
        ranks[ENTITY] = sorted(fitting, key=lambda node: (-evidence[node].vector, -evidence[node].text, node))
    return _rank_pool(pool, evidence, ranks, fusion, latest, k, kept, asked)


def _asked_words(
    lanes: Lanes, request: Request, about: candidates.Named, leaders: Iterable[candidates.Passed]
) -> text_lane.AskedWords | None:
    """The words of a question, where words are searched and a turn of a talk is among the best."""
    if lanes.text is None or all(passed.seen.row.type != _TURN for passed in leaders):
        return None
    return text_lane.AskedWords(lanes.text, request.compared_text, about.names)


def _find_words_around(
    snapshot: VisibleSnapshot,
    asked: text_lane.AskedWords,
    pool: Mapping[int, candidates.Passed],
    evidence: Mapping[int, scoring.Evidence],
    links: _Links,
    first: int,
) -> dict[int, scoring.Evidence]:
    """The evidence of the first candidates that gain by a talk, with what the words around each add."""
    scores = [(-scoring.total_score(found), node) for node, found in evidence.items() if found.talk > 0]
    best = [node for _, node in sorted(scores)[:first]]
    gains = candidates.gains_by_words_around(snapshot, pool, asked, best, links.following, links.talks)
    return {node: evidence[node]._replace(around=gain) for node, gain in gains.items()}


def _has_statement(gate: candidates.Gate, nodes: Iterable[int]) -> bool:
    """True if any of some worlds that the gate admits says something and is no turn of a talk."""
    said = (seen for seen in map(gate.seen, nodes) if seen is not None and seen.row.type != _TURN)
    return any(body is not None and bool(body.content) for body in (gate.snapshot.body(seen.row) for seen in said))


def _propose_candidates(
    gate: candidates.Gate, lanes: Lanes, request: Request, depth: int
) -> tuple[vector_lane.VectorLane | None, dict[str, list[candidates.Passed]], dict[int, candidates.Passed]]:
    """The vector lane as weighted for the question, the best candidates of each lane, up to a depth, and all of them
    by node."""
    text, vector, through, compared = lanes.text, lanes.vector, gate.snapshot.place.moment.seq, request.compared_text
    # Where a world is searched, each that is fetched is looked for in it.
    first_texts = text.fetched_for(depth) if text is not None and gate.is_open else depth
    proposed: dict[str, list[candidates.Passed]] = {
        lane: [] for lane, asked in ((TEXT, text), (VECTOR, vector)) if asked is not None
    }
    # By meaning first, and beside it what is searched by words.
    if vector is not None:
        if text is not None:
            text.begin(compared, limit=first_texts, through=through, nodes=gate.members)

        def propose(lane: vector_lane.VectorLane) -> list[candidates.Passed]:
            near = partial(search_vectors, lane, wide=1 if gate.is_open else WIDE)
            return list(islice(gate.passing(near, depth, 2 * depth), depth))

        if request.fusion == CONVEX:
            vector, proposed[VECTOR] = propose_by_meaning(vector, request.question, propose, gate.snapshot.vector)
        else:
            proposed[VECTOR] = propose(vector)
    if text is not None:
        worded = partial(search_words, text, compared, through)
        proposed[TEXT] = list(islice(gate.passing(worded, depth, first_texts), depth))
    return vector, proposed, {passed.node: passed for found in proposed.values() for passed in found}


def _find_begun_then(
    gate: candidates.Gate,
    request: Request,
    lanes: Lanes,
    known: Iterable[candidates.Passed],
    wanted: int,
) -> list[int]:
    """Of what began at a time that the question names the best by words and by meaning, as many of each as are wanted.

    Nothing where as many are known. Of what is too much to be listed, those among the best of all are found.
    """
    times = request.question.times if request.fusion == CONVEX and request.covers is None else ()

    def began_then(passed: candidates.Passed) -> bool:
        return _is_within(times, passed.seen.validity.start)

    if not times or sum(map(began_then, known)) >= wanted:
        return []
    listed = candidates.worlds_begun_within(gate.snapshot, times)
    if listed is not None and gate.members is not None:
        listed = Nodes(listed.nodes & gate.members.nodes)
    if listed is not None and not listed:
        return []
    begun_among = partial(candidates.filter_begun_within, gate.snapshot, times)
    deep = DEEP_INSIDE if gate.snapshot.place.is_confined else DEEP

    def best(fetch: candidates.Fetch, lane: str) -> Iterator[candidates.Passed]:
        # Of what is listed nearly all pass, and only a vector may be one of several of a world.
        first = deep if listed is None else depth_for(wanted) if lane == VECTOR else wanted + _SPARE

        def among(limit: int, nodes: Collection[int] | None) -> Sequence[candidates.Proposed]:
            return begun_among(fetch(min(limit, deep), nodes)) if listed is None else fetch(limit, listed)

        return islice(filter(began_then, gate.passing(among, wanted, first)), wanted)

    found: dict[str, candidates.Fetch] = {}
    if lanes.text is not None:
        found[TEXT] = partial(search_words, lanes.text, request.compared_text, gate.snapshot.place.moment.seq)
    if lanes.vector is not None:
        found[VECTOR] = partial(search_vectors, lanes.vector)
    return list(dict.fromkeys(passed.node for lane, fetch in found.items() for passed in best(fetch, lane)))


_SPARE: Final = 8
"""So many more texts than are wanted are fetched, for those that do not pass."""


DEEP: Final = 256
"""Among so many of the best of each lane what began at a time is looked for, where that is too much to be listed."""
DEEP_INSIDE: Final = 1_024
"""The same in a confined view, where nothing is listed, and whose lanes have less to search."""


def find_nearest(
    snapshot: VisibleSnapshot, gate: candidates.Gate, lanes: Lanes, request: Request
) -> dict[int, float | None]:
    """The worlds nearest to a text by its words and its meaning, best first, each with its cosine if it has a vector.

    Only the text counts: no names, earlier turns or form.
    """
    k, compared, text, vector = request.k, request.compared_text, lanes.text, lanes.vector
    through, meant, worded = snapshot.place.moment.seq, list[candidates.Passed](), list[candidates.Passed]()
    if vector is not None:

        def propose(lane: vector_lane.VectorLane) -> list[candidates.Passed]:
            near = partial(search_vectors, lane, wide=1 if gate.is_open else WIDE)
            return list(islice(gate.passing(near, k, 2 * k), k))

        if text is not None:
            text.begin(compared, limit=depth_for(k), through=through, nodes=gate.members)
        meant = propose(vector)
    if text is not None:
        worded = list(islice(gate.passing(partial(search_words, text, compared, through), k, depth_for(k)), k))
    pool = {passed.node: passed for passed in (*meant, *worded)}
    if any(passed.seen.row.type == ENRICHMENT_TYPE for passed in pool.values()):
        from worlddb.query.enrichment.inferred import without_enrichments

        pool = {passed.node: passed for passed in without_enrichments(snapshot, pool.values())}
    cosines = _vector_scores(vector, meant, pool)
    words = _text_scores(snapshot, lanes, compared, worded, [], pool, gate)
    scores = {node: round(similarity_score(words.get(node, 0.0), cosines.get(node, 0.0)), 6) for node in pool}
    best = sorted(pool, key=lambda node: (-scores[node], node))[:k]
    return {node: round(cosines[node], 6) if node in cosines else None for node in best}


PLACES_OF_RULES: Final = (4, 6)
"""The places that the standing instructions have at the latest that come nearest to a question; so many govern it."""
PLACES_OF_TASTES: Final = (5, 7, 9)
"""The same of what somebody likes, where advice is asked for."""
GOVERNED_NEAR: Final = 0.25
"""The least cosine of a question with an instruction for something: 2.5 times as much as the default model's scatter
with unrelated texts. Of the instructions that one half of BEAM's questions ask for all come nearer."""
GOVERNED: Final = 0.5
"""What an instruction gains, where the nearest are chosen, by the share of what it is about that the question has."""


def _mark_guides(
    snapshot: VisibleSnapshot,
    question: Question,
    pool: Mapping[int, candidates.Passed],
    evidence: dict[int, scoring.Evidence],
    guiding: Guiding,
    *,
    is_compared: bool,
) -> tuple[dict[int, scoring.Evidence], Places]:
    """The evidence with the governing instructions marked, and the places kept for instructions and preferences.

    What an instruction says it is for ("if I ask for recipes") governs only what has a word of that or comes near it
    in meaning, where meaning is compared (``is_compared``): else any, since it seldom has the question's words.
    """
    # At another time than they were looked for at some may not hold.
    held = (node for node in (*guiding.rules, *guiding.tastes) if node in evidence)
    said = [node for node in held if evidence[node].when != UNSAID]
    if not said:
        return evidence, ()
    asked = text_lane.query_stems(question.text)

    def instruction_of(node: int) -> str:
        body = snapshot.body(pool[node].seen.row)
        return "" if body is None else standing_instruction(body.content)

    def may_govern(node: int) -> bool:
        if not is_compared or evidence[node].vector >= GOVERNED_NEAR:
            return True
        subject = governed_stems(instruction_of(node))
        return not subject or not subject.isdisjoint(asked)

    def near(node: int, more: float = 0.0) -> tuple[float, int]:
        return -round(similarity_score(evidence[node].text, evidence[node].vector) + more, 6), node

    def governed_share(node: int) -> float:
        subject = instruction_stems(instruction_of(node))
        return len(subject & asked) / max(len(subject), 1)

    ruling = [node for node in guiding.rules if node in said and may_govern(node)]
    rules = sorted(ruling, key=lambda node: near(node, GOVERNED * governed_share(node)))[: len(PLACES_OF_RULES)]
    tastes = sorted(set(guiding.tastes).intersection(said).difference(rules), key=near)
    kept = (*zip(PLACES_OF_RULES, rules, strict=False), *zip(PLACES_OF_TASTES, tastes, strict=False))
    marked = evidence | {node: evidence[node]._replace(governs=1.0) for node in rules}
    return marked, tuple(sorted(kept))


def _rank_marked(
    joined: Mapping[int, Mapping[int, float]], dated: Iterable[int], evidence: Mapping[int, scoring.Evidence]
) -> dict[str, list[int]]:
    """What edges join to hits, and what began at a time that the question names, by what words and meaning say."""
    alone = {node: similarity_score(found.text, found.vector) for node, found in evidence.items()}
    of_then = sorted((node for node in dated if node in alone), key=lambda node: (-round(alone[node], 6), node))
    marked = {EDGE: _rank_neighbours(joined, alone) if joined else [], WHEN: of_then}
    return {lane: nodes for lane, nodes in marked.items() if nodes}


def _rank_neighbours(joined: Mapping[int, Mapping[int, float]], own: Mapping[int, float]) -> list[int]:
    """Neighbours by what they are lent, most first, ties in log order."""
    best = {node: max(share * own[leader] for leader, share in leaders.items()) for node, leaders in joined.items()}
    return sorted(best, key=lambda node: (-round(best[node], 6), node))


def _find_referring(
    snapshot: VisibleSnapshot, gate: candidates.Gate, named: candidates.Named, others: int, k: int
) -> tuple[list[int], set[int]]:
    """The worlds that refer to whom a question names: all if they are few, or the latest of them.

    If they are very many, the other lanes propose instead; if these propose too few, the latest of them are proposed.
    """
    anybody = named.entities | named.sides
    few = candidates.find_referring_nodes(snapshot, anybody, MAX_REFERRING)
    if few or not anybody or others >= k:
        return few, set()
    return [], set(candidates.find_latest_referring(snapshot, gate, anybody, k))


def _rank_pool(
    pool: dict[int, candidates.Passed],
    evidence: dict[int, scoring.Evidence],
    ranks: dict[str, list[int]],
    fusion: str,
    latest: set[int],
    k: int,
    kept: Places,
    asked: text_lane.AskedWords | None,
) -> Ranking:
    parts = scoring.strongest_part if fusion == COMBMAX else scoring.weighted_parts
    if fusion == RRF:
        scores = scoring.reciprocal_rank_scores(ranks)
    elif fusion == COMBMAX:
        scores = {node: sum(scoring.strongest_part(evidence[node]).values()) for node in pool}
    else:
        scores = {node: scoring.total_score(evidence[node]) for node in pool}
    ranks_by_lane = {lane: {node: rank for rank, node in enumerate(found, 1)} for lane, found in ranks.items()}

    def look_up(node: int) -> Ranked:
        at = {lane: found[node] for lane, found in ranks_by_lane.items() if node in found}
        return Ranked(pool[node], scores[node], at, parts(evidence[node]), node in latest)

    return Ranking(_in_order(scores, latest), look_up, k, kept, asked)


_ROUNDED_APART: Final = 1.01e-6
"""Scores that differ by more are in the same order when they are rounded to six places, and no two become equal."""


def _in_order(scores: Mapping[int, float], latest: Collection[int]) -> list[int]:
    """Nodes by their scores as :attr:`Ranked.order` has them; rounding takes longer, and seldom decides."""
    placed = sorted(scores, key=scores.__getitem__, reverse=True)
    best = list(map(scores.__getitem__, placed))
    near = {at for at, more in enumerate(map(sub, best, best[1:])) if more <= _ROUNDED_APART}
    for first in sorted(near):
        # Each stretch of scores that are near one another, from where it begins.
        if first - 1 not in near:
            end = next(at for at in range(first + 1, len(best)) if at not in near) + 1
            placed[first:end] = sorted(
                placed[first:end], key=lambda node: (-round(scores[node], 6), -node if node in latest else node)
            )
    return placed


def search_words(
    lane: text_lane.TextLane,
    text: str,
    through: int,
    limit: int,
    nodes: Collection[int] | None,
    *,
    or_more: bool = False,
) -> Sequence[candidates.Proposed]:
    """The best hits of the text lane; with ``or_more`` perhaps some that come next."""
    return lane.search(text, limit=limit, through=through, nodes=nodes, or_more=or_more)


def search_vectors(
    lane: vector_lane.VectorLane, limit: int, nodes: Collection[int] | None, *, wide: int = 1
) -> Sequence[candidates.Proposed]:
    """The best hits of the vector lane; among all worlds it searches for ``wide`` times as many."""
    return lane.search(limit=limit, nodes=nodes, wide=wide)


def _collect_evidence(
    snapshot: VisibleSnapshot,
    lanes: Lanes,
    request: Request,
    proposed: dict[str, list[candidates.Passed]],
    pool: dict[int, candidates.Passed],
    named: candidates.Named,
    links: _Links,
    gate: candidates.Gate,
) -> dict[int, scoring.Evidence]:
    compared, times = request.compared_text, request.question.times
    until = request.question.asked + DAY_MICROSECONDS  # Who gives a day alone means all of it.
    cosines = _vector_scores(lanes.vector, proposed.get(VECTOR, []), pool)
    # What has no vector (yet) is judged by the rest, as if its meaning were that of a middling candidate.
    middling = fsum(cosines.values()) / len(cosines) if cosines else 0.0
    entities = _entity_evidence(snapshot, pool, named)
    worded = proposed.get(TEXT, [])
    known = {passed.node for passed in worded}
    texts = _text_scores(snapshot, lanes, compared, worded, [node for node in pool if node not in known], pool, gate)
    alone = {node: similarity_score(texts.get(node, 0.0), cosines.get(node, middling)) for node in pool}
    if named.mentioned and named.entities:
        worded_nodes = texts if lanes.text is not None else pool
        entities = _mention_evidence(snapshot, pool, named.mentioned, alone, worded_nodes) | entities
    entities |= _entity_corrections(snapshot, pool, named, alone, entities)
    before, edge = (
        candidates.gains_from_earlier_turns(alone, links.following),
        candidates.gains_from_earlier_turns(alone, links.joined),
    )
    at_home = candidates.find_nodes_at_home(snapshot, gate.inside, named.entities, pool)
    if at_home:
        # What refers to whom the question names, or has the name, is no stranger to them, wherever it lies.
        at_home |= entities.keys()
        strange = sorted((node for node in pool if node not in at_home), key=lambda node: (-alone[node], node))
        at_home |= candidates.find_naming_nodes(
            snapshot, named.names, [pool[node] for node in strange[:MAX_STRANGE]]
        ).keys()
    talk = candidates.gains_in_talks(alone, links.talks, pool.keys() - at_home if at_home else set())
    # Nearly all of them were said before a question that names no time.
    told = pool if times else [node for node, passed in pool.items() if passed.seen.validity.start >= until]
    when = {node: _time_evidence(times, until, pool[node].seen) for node in told}
    if times:
        when |= _told_evidence(snapshot, request.question, pool, alone, when)
    nodes, home = list(pool), dict.fromkeys(at_home, 1.0)
    rest = (_of_each(nodes, found, 0.0) for found in (entities, when, before, edge, home, {}, talk, {}))
    columns = zip(_of_each(nodes, texts, 0.0), _of_each(nodes, cosines, middling), *rest, strict=False)
    return dict(zip(nodes, map(_make_evidence, columns), strict=False))


def _of_each(nodes: Iterable[int], found: Mapping[int, float], other: float) -> Iterator[float]:
    """What was found of each node, or the other number: of most evidence there is none of any."""
    return map(found.get, nodes, repeat(other)) if found else repeat(other)


_make_evidence: Final = partial(tuple.__new__, scoring.Evidence)
"""Makes evidence of a tuple without a call in Python, for each of some hundred candidates."""


ABOUT_OTHERS: Final = -1.5
"""Beside 1 for what somebody said whom a question names."""
BESIDE_TURNS: Final = 1.0
"""As much for what begins with the name of whom a question names, where turns of theirs are among the candidates."""


def _entity_corrections(
    snapshot: VisibleSnapshot,
    pool: Mapping[int, candidates.Passed],
    named: candidates.Named,
    alone: Mapping[int, float],
    referring: Collection[int],
) -> dict[int, float]:
    """What counts against statements about others alone, where a question names somebody, and for those that begin with
    the name and refer to nobody: as if they referred to whoever has it.

    Beside turns that begin with the name, as their speaker's, what begins with it counts twice: all that somebody says
    has the name, whatever it is about. ``referring``: what refers to whom the question names.

    Where a user asks in their own world for what is theirs, "I" is the user; see :func:`_own_evidence`.

    A turn of a talk is left as it is: who is spoken of in it is often said in another one.
    """
    anybody = (named.entities - named.partly) | named.sides
    of_user = not named.sides.isdisjoint(named.user)
    if not anybody or not (named.names or of_user):
        return {}
    said = [node for node, passed in pool.items() if passed.seen.row.type != _TURN]
    if not said:
        return {}
    about: dict[int, set[int]] = {}
    for node, entity in candidates.find_references(snapshot, said, None):
        about.setdefault(node, set()).add(entity)
    own = {}
    if named.is_of_user:
        own = _own_evidence(snapshot, pool, said, about, named, alone, referring)
    elif of_user:
        own = {node: 1.0 for node in said if pool[node].seen.row.type not in _MERE_NAMES}
    if not named.names:
        return own
    strange = [node for node in said if not about.get(node, set()) & named.entities]
    strange.sort(key=lambda node: (-alone[node], node))
    others, looked_at = [node for node in strange if node in about], [pool[node] for node in strange[:MAX_STRANGE]]
    looked_at += [pool[node] for node in others[:MAX_STRANGE] if pool[node] not in looked_at]
    known = candidates.find_naming_nodes(snapshot, named.names, looked_at) if strange else {}
    theirs = 1.0 if named.sides else 0.5
    against = {node: ABOUT_OTHERS for node in others if node not in known}
    found = against | {node: theirs for node, begins in known.items() if begins and node not in about}
    stated = [pool[node] for node in said if node in referring or node in found]
    stated = [passed for passed in stated if passed.seen.row.type != ENRICHMENT_TYPE]
    turns = (pool[node] for node in sorted(referring) if pool[node].seen.row.type == _TURN) if stated else ()
    if any(candidates.find_naming_nodes(snapshot, named.names, islice(turns, MAX_STRANGE)).values()):
        begun = candidates.find_naming_nodes(snapshot, named.names, stated)
        found |= {node: BESIDE_TURNS for node, begins in begun.items() if begins}
    return own | found


OF_NOBODY: Final = 0.5
"""Beside 1 for what refers to a user, or begins with the name or "I": as much has in the user's world what refers to
nobody, where the user asks for what is theirs; what refers to others alone has none. Chosen on one half of some
everyday questions and judged on the other."""


def _own_evidence(
    snapshot: VisibleSnapshot,
    pool: Mapping[int, candidates.Passed],
    said: Iterable[int],
    about: Mapping[int, Collection[int]],
    named: candidates.Named,
    alone: Mapping[int, float],
    referring: Collection[int],
) -> dict[int, float]:
    """What speaks for statements in a user's own world, where the user asks for what is theirs: "I" is their name."""
    own = {node: 0.0 if node in about else OF_NOBODY for node in said if pool[node].seen.row.type not in _MERE_NAMES}
    own |= {node: 1.0 for node in own if node in referring or not named.user.isdisjoint(about.get(node, ()))}
    rest = sorted((node for node in own if own[node] < 1), key=lambda node: (-alone[node], node))
    looked_at = [pool[node] for node in [*rest[:MAX_STRANGE], *[node for node in rest if node in about][:MAX_STRANGE]]]
    begins = candidates.find_naming_nodes(snapshot, (named.user_name, *FIRST_PERSON), looked_at)
    return own | {node: 1.0 for node, is_first in begins.items() if is_first}


UNSAID: Final = -1.0
"""Beside 1 for what began at a time that the question names: of a turn that was said after the question is asked."""


def _time_evidence(times: tuple[Span, ...], until: int, seen: SeenVersion) -> float:
    """The nearness to the times that a question names, or :data:`UNSAID` for a turn from ``until`` on.

    Nobody asks for what is not said yet, unless by its time. What is no turn may begin later: it may be planned.
    """
    if seen.validity.start >= until and seen.row.type == _TURN and not _is_within(times, seen.validity.start):
        return UNSAID
    return _nearness(times, seen) if times else 0.0


MAX_DATED: Final = 32
"""Of so many of the best candidates it is read which days their texts tell of."""
ANOTHER_DAY: Final = -0.5
"""Beside 1 for what is of a time that the question names: of what tells of other days alone."""
FOR_WHATEVER: Final = 3.0
"""The same where the question asks for whatever is on then: nothing else in it tells one text from another."""


def _told_evidence(
    snapshot: VisibleSnapshot,
    question: Question,
    pool: Mapping[int, candidates.Passed],
    alone: Mapping[int, float],
    when: Mapping[int, float],
) -> dict[int, float]:
    """The evidence of time with the days that texts tell of, as far as they change it.

    "The circus is on 5 December" is of that day, whenever it was said. Where a time is not over what tells of other
    days is not of the day on which it was said; a stated start of what is no turn counts for itself. What somebody said
    on a day is asked for by when it was said alone.
    """
    times, found, facts = question.times, dict[int, float](), candidates.text_facts(snapshot)
    is_past = question.asks_of == "past" or all(end <= question.asked for _, end, _ in times)
    factor = FOR_WHATEVER if question.asks_only_for_time else 1.0
    best = sorted(sorted(pool), key=alone.__getitem__, reverse=True)[:MAX_DATED]
    for node in {*best, *(node for node, near in when.items() if near >= 1)}:
        seen = pool[node].seen
        is_dated = when[node] >= 1 and (is_past or (seen.row.type != _TURN and bool(seen.row.stated & START_STATED)))
        if when[node] == factor if is_dated else question.is_of_saying:
            continue
        if seen.row.type in _MERE_NAMES:
            continue
        began = seen.validity.start
        told = () if is_dated else facts.tell(told_days, pool[node], began)
        shared = max((_shared(each, span) for each in told for span in times), default=0.0)
        if is_dated or shared >= _HALF:
            found[node] = factor
        elif told and not shared and not is_past and not facts.tell(is_yearly, pool[node]):
            found[node] = ANOTHER_DAY
    return found


def _shared(one: Span, other: Span) -> float:
    """How much two stretches share of the shorter of them."""
    shared = min(one.end, other.end) - max(one.start, other.start)
    return max(0, shared) / max(1, min(one.end - one.start, other.end - other.start))


_HALF: Final = 0.5


def _nearness(times: tuple[Span, ...], seen: SeenVersion) -> float:
    """How near to the named times something began; of a state that has ended, how near to them it held.

    What begins at midnight is most often dated by its day, and stands for the middle of it: it is no nearer to the day
    before than to the day after.
    """
    start, end = seen.validity.start, seen.validity.end
    if _is_within(times, start):
        return 1.0
    start += _HALF_DAY if start % (2 * _HALF_DAY) == 0 else 0
    return nearness(times, start, None if end == FOREVER or seen.row.type == _TURN else end)


def _is_within(times: Iterable[Span], at: int) -> bool:
    for start, end, _ in times:  # noqa: SIM110 - a generator takes longer than the look.
        if start <= at < end:
            return True
    return False


_HALF_DAY: Final = DAY_MICROSECONDS // 2
_TURN: Final = type_digest("Turn")
_MERE_NAMES: Final = frozenset((type_digest("Entity"), type_digest("Session"), ENRICHMENT_TYPE, NO_TYPE))
"""Types of what states nothing by itself, and of what is erased."""


def _entity_evidence(snapshot: VisibleSnapshot, pool: Iterable[int], named: candidates.Named) -> dict[int, float]:
    """1 for statements by whom a question is about, half for texts that name an entity in it.

    A name in a question may be that of a bystander; what is a part of a longer name is most often somebody else's.
    """
    anybody = (named.entities - named.partly) | named.sides
    if not anybody:
        return {}
    found: dict[int, float] = {}
    for node, entity in candidates.find_references(snapshot, pool, anybody):
        found[node] = max(found.get(node, 0.5), 1.0 if entity in named.sides else 0.5)
    return found


MAX_MENTIONING: Final = 32
"""Of so many candidates that have a word of the question it is looked at whether they have a name in it."""


def _mention_evidence(
    snapshot: VisibleSnapshot,
    pool: Mapping[int, candidates.Passed],
    names: Sequence[str],
    alone: Mapping[int, float],
    worded: Iterable[int],
) -> dict[int, float]:
    """Half for what has one of some names in its text, as if it referred to whoever has it; for turns, and for
    statements that refer to nobody."""
    stated = (node for node in worded if node in pool and pool[node].seen.row.type not in _MERE_NAMES)
    best = sorted(stated, key=lambda node: (-alone[node], node))[:MAX_MENTIONING]
    said = [node for node in best if pool[node].seen.row.type != _TURN]
    about = {node for node, _ in candidates.find_references(snapshot, said, None)}
    naming = candidates.find_naming_nodes(snapshot, names, [pool[node] for node in best if node not in about])
    return dict.fromkeys(naming, 0.5)


def _text_scores(
    snapshot: VisibleSnapshot,
    lanes: Lanes,
    text: str,
    proposed: Iterable[candidates.Passed],
    missing: list[int],
    pool: dict[int, candidates.Passed],
    gate: candidates.Gate,
) -> dict[int, float]:
    """BM25 of each candidate as a share of the most that the query could reach, by what words are worth.

    Those that the lane has not proposed are searched here: a second thread cost twice as much as it saved.
    """
    lane = lanes.text
    if lane is None:
        return {}
    through = snapshot.place.moment.seq
    most = lane.ceiling(text, through=through)
    if most <= 0:
        return {}
    scores = {passed.node: passed.score for passed in proposed}
    limit = _PER_NODE * len(missing)
    while missing:
        hits = lane.search(text, limit=limit, through=through, nodes=missing)
        said = False
        for hit in hits:
            is_literal = hit.version >= FIRST_LITERAL
            said |= is_literal
            if hit.node in scores:
                continue
            if is_literal and gate.stating(hit.node, hit.version) is not None:
                scores[hit.node] = hit.score
                pool[hit.node] = pool[hit.node]._replace(literal=hit.version)
            elif hit.version == pool[hit.node].seen.number:
                scores[hit.node] = hit.score
        # What one world states may be more than all that others say.
        if not said or len(hits) < limit or all(node in scores for node in missing):
            break
        limit *= _PER_NODE
    unit = most / lanes.words_worth
    return {node: score / unit for node, score in scores.items()}


def _vector_scores(
    lane: vector_lane.VectorLane | None, proposed: Iterable[candidates.Passed], pool: dict[int, candidates.Passed]
) -> dict[int, float]:
    """The cosine of each candidate that has a vector."""
    if lane is None:
        return {}
    scores = {passed.node: passed.score for passed in proposed}
    missing = [(node, passed.seen.number) for node, passed in pool.items() if node not in scores]
    scores.update({node: score for (node, _), score in lane.scores(missing).items()})
    return scores


RESCORED_AT_ONCE: Final = 4
"""How many hits are rescored at once beyond those that are wanted, and into so many parts at most many of those are
divided: their places in sessions are looked up together, and each raises what the next ones have to reach."""
MAX_MORE: Final = 64
"""How many hits are rescored beyond those that are wanted, for groups."""


def rescore(snapshot: VisibleSnapshot, question: Question, ranked: Ranking, k: int) -> list[Ranked]:
    """The best ``k`` candidates by their scores and their texts, for any ``k``.

    Reads the texts of the best until no other can reach the first ``k``; only texts that the view can see.
    """
    left, wanted = iter(ranked), k
    # Where an instruction comes among the first does not depend on how many of them are wanted.
    k = max(k, PLACES_OF_RULES[-1] + 1) if ranked.kept else k
    # Nor does which turn has which place by its opening.
    first = list(islice(left, k if ranked.asked is None else max(k, OPENINGS)))
    most = scoring.max_form_score(question.answer_form)
    placed = [(hit.order, hit) for hit in _rescore_hits(snapshot, question, first, scoring.LATER_WEIGHT)]
    placed.sort(key=_placed_order)
    while following := list(islice(left, max(RESCORED_AT_ONCE, k // RESCORED_AT_ONCE))):
        least = -placed[:k][-1][0][0]
        reaching = [each for each in following if round(each.score + most, 6) >= least]
        if not reaching:
            break
        more = _rescore_hits(snapshot, question, reaching, scoring.LATER_WEIGHT, least)
        placed += [(hit.order, hit) for hit in more]
        placed.sort(key=_placed_order)
    best = [hit for _, hit in placed]
    if ranked.asked is not None:
        best = _order_by_openings(snapshot, ranked.asked, best, {hit.passed.node for hit in first[:OPENINGS]})
    best = best[:k]
    for place, node in reversed(ranked.kept):
        best = _move_behind_better_words(best, place, node)
    for place, node in ranked.kept:
        best = _move_to_place(best, place, node, partial(rescore_one, snapshot, question, ranked))[:k]
    return best[:wanted]


_placed_order: Final = itemgetter(0)

OPENINGS: Final = 16
"""Among so many candidates turns are put in order with what their openings say."""
UNMOVED: Final = 5
"""So many of the best hits stay as they are whatever openings say."""
OPENING: Final = 100
"""The characters of a turn's opening."""
OPENING_WEIGHT: Final = 0.3
"""What a turn gains there if its opening has all words of the question. Chosen on one half of the development questions
and judged on the other; see docs/retrieval.md."""


def _order_by_openings(
    snapshot: VisibleSnapshot, asked: text_lane.AskedWords, best: list[Ranked], compared: Collection[int]
) -> list[Ranked]:
    """The hits, with those turns ``compared`` that are behind the first ones in another order: by their scores and by
    what their openings have of the question.

    A long message tells at its beginning what it is about, and may have the question's words anywhere. The first hits
    stay, since what is told in passing is found among them, and so do the places of all that is no turn. A turn has the
    score of the hit whose place it takes.
    """
    turns = (at for at, hit in enumerate(best) if hit.passed.node in compared and hit.passed.seen.row.type == _TURN)
    places, facts = [at for at in turns if at >= UNMOVED], candidates.text_facts(snapshot)
    if len(places) < 2:
        return best

    def gain(hit: Ranked) -> float:
        return OPENING_WEIGHT * max(map(asked.share_of, facts.tell(_openings, hit.passed)))

    gains = {at: gain(best[at]) for at in places}
    ordered = list(best)
    for place, at in zip(places, sorted(places, key=lambda at: -round(best[at].score + gains[at], 6)), strict=True):
        hit, more = best[at], best[place].score - best[at].score
        ordered[place] = (
            hit if place == at else hit._replace(score=hit.score + more, parts=hit.parts | {scoring.OPENING: more})
        )
    return ordered


def _openings(turn: str) -> list[str]:
    """The beginning of what is said in a turn, and of each aside, since a text goes on to something else there."""
    text = without_speaker(turn)
    lowered = text[: scoring.MAX_CHARACTERS].lower()
    begins = [0, *(at for at in map(lowered.find, _ASIDES) if at > 0)]
    return [text[at : at + OPENING] for at in begins]


_ASIDES: Final = ("by the way", "btw", "speaking of")


def _move_to_place(best: list[Ranked], place: int, node: int, find: Callable[[int], Ranked | None]) -> list[Ranked]:
    """The hits, with one of them moved up to its place at the latest, with the score of the hit that had it."""
    at = next((at for at, hit in enumerate(best) if hit.passed.node == node), len(best))
    if at <= place:
        return best
    hit = best[at] if at < len(best) else find(node)
    if hit is None:
        return best
    more = best[place].score - hit.score
    lifted = hit._replace(score=hit.score + more, parts=hit.parts | {scoring.KEPT: more})
    return [*best[:place], lifted, *(each for each in best[place:] if each.passed.node != node)]


def _move_behind_better_words(best: list[Ranked], place: int, node: int) -> list[Ranked]:
    """The hits, with an instruction behind those that have more of the question's words, but not behind its place.

    It says how to answer and not what: by what it gains it came first in a small store, whatever was asked.
    """
    at = next((at for at, hit in enumerate(best) if hit.passed.node == node), len(best))
    rule, *others = best[at : place + 1] or (None,)
    if rule is None or scoring.GOVERNS not in rule.parts:
        return best
    least = rule.parts.get(TEXT, 0.0)
    behind = max((count for count, hit in enumerate(others, 1) if hit.parts.get(TEXT, 0.0) > least), default=0)
    if not behind:
        return best
    less = others[behind - 1].score - rule.score
    parts = rule.parts | {scoring.GOVERNS: rule.parts[scoring.GOVERNS] + less}
    moved = rule._replace(score=rule.score + less, parts=parts)
    return [*best[:at], *others[:behind], moved, *best[at + behind + 1 :]]


def rescore_one(snapshot: VisibleSnapshot, question: Question, ranked: Ranking, node: int) -> Ranked | None:
    """One candidate with the score of its text; None if it is no candidate."""
    found = ranked.find(node)
    return found and next(_rescore_hits(snapshot, question, [found], scoring.LATER_WEIGHT))


def rescore_all(snapshot: VisibleSnapshot, question: Question, ranked: Iterable[Ranked], k: int) -> list[Ranked]:
    """All candidates in their new order, the first of them rescored by their texts, for ``k`` groups."""
    left = iter(ranked)
    return _sort_by_score(
        [*_rescore_hits(snapshot, question, list(islice(left, k + MAX_MORE)), scoring.LATER_IN_GROUPS), *left]
    )


def _rescore_hits(
    snapshot: VisibleSnapshot, question: Question, first: Iterable[Ranked], later: float, least: float | None = None
) -> Iterator[Ranked]:
    """The hits, with what their texts and their places add, but for those that cannot come to ``least`` by their texts.

    A place takes something away, and takes longer to find than a text to read.
    """
    wanted = question.answer_form
    facts = candidates.text_facts(snapshot)
    told: list[tuple[Ranked, dict[str, float]]] = []
    for hit in first:
        states_taste = facts.tell(scoring.prefers, hit.passed) if wanted.taste else None
        more = facts.tell(scoring.form_scores, hit.passed, wanted, scoring.TALK in hit.parts, states_taste)
        if least is None or round(hit.score + sum(more.values()), 6) >= least:
            told.append((hit, more))
    at = count_earlier_turns(snapshot, [hit.passed for hit, _ in told])
    for hit, form in told:
        more = form | scoring.place_penalty(at.get(hit.passed.node, 0), later)
        yield Ranked(hit.passed, hit.score + sum(more.values()), hit.ranks, {**hit.parts, **more}, hit.is_latest)


def _sort_by_score(hits: Iterable[Ranked]) -> list[Ranked]:
    return sorted(hits, key=lambda hit: hit.order)
