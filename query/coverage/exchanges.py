"""Answer a question that asks for all of something by whole exchanges.

An exchange is a turn of the asker and the answer to it. One of the two often says little about the topic and the other
much, so both get the mean of their scores. People bring a subject up early in a session and go into it later, so a
turn's score falls with its position in the session. Words weigh more than in other questions, since a whole
conversation is near its topic in meaning. If the question asks for what the asker brought up, only that is shown.
A question for all of a type needs no score: what is of the type answers it.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple

from worlddb.projections.tables.names.canonical import type_digest
from worlddb.query.coverage.covering import AllOfType, Covering, all_of_type
from worlddb.query.coverage.covering import covering as asked_for
from worlddb.query.question.question import ASKERS, CONVEX, MAX_K, Request
from worlddb.query.reads.window import Window
from worlddb.query.reads.world_lookup import IdentityClasses
from worlddb.query.recall import candidates, filters, ranking, scoring
from worlddb.query.recall.retrieve import Found, retrieve, searched_world
from worlddb.query.snapshot import visible

WIDE: Final = 64
"""For how many hits candidates are looked for at least, or for :data:`TIMES` as many as are wanted; all are ranked."""
TIMES: Final = 2
WORDS: Final = 2.0
"""How many times as much words are worth as for other questions."""
LATER: Final = scoring.LATER_IN_GROUPS
"""What each turn of its session that stands before a turn takes away from it."""
PLACES: Final = 64
"""So many of them count. Both this and :data:`WORDS` were chosen on one half of the development questions and judged on
the other; see docs/retrieval.md."""
_NOTE: Final = (
    'the question asks for all of "{topic}" ("{words}"), so {shown}; {found:,} such hits were found, and k says how'
    " many are shown"
)
_OWN: Final = "only the asker's own turns are shown, each ranked together with its answer"
_BOTH: Final = "the asker's turns and the answers to them are ranked together"


def covering_all(window: Window, request: Request) -> Request:
    """The request, answered by exchanges if its question asks for all of something, or by a type if for all of that.

    It stays as it is where nobody is known as its asker and nothing is of the type, and where it wants groups or
    summaries; exchanges also need the evidence of several lanes added up.

    Raises:
        InputError: the request cannot be answered.
    """
    request.check()
    if request.group is not None or request.prefer_summaries:
        return request
    if (wanted := all_of_type(request.question.text)) is not None:
        return _covering_type(window, request, wanted)
    covering = asked_for(request.question.text)
    if covering is None or request.fusion != CONVEX or len(set(request.lanes)) == 1:
        return request
    with window.snapshot() as snapshot:
        return request._replace(covers=Coverage(covering)) if _askers(snapshot) else request


class Coverage(NamedTuple):
    """How a request for all of something is answered."""

    covering: Covering

    @property
    def topic(self) -> str:
        """What is compared by words and by meaning."""
        return self.covering.topic

    def retrieved(
        self,
        window: Window,
        snapshot: visible.VisibleSnapshot,
        request: Request,
        about: candidates.Named,
        lanes: ranking.Lanes,
    ) -> tuple[Found, str]:
        """The best exchanges, and a note that says so; up to 32 wanted hits are the beginning of the answer to more."""
        wide = request._replace(k=min(MAX_K, max(WIDE, TIMES * request.k)))
        worded = lanes._replace(words_worth=WORDS * lanes.words_worth)
        found = retrieve(window, snapshot, wide, about, worded)
        hits = {each.passed.node: each for each in _weigh_by_place(snapshot, found.ranked)}
        said = {node for node, _ in candidates.find_references(snapshot, hits, _askers(snapshot))}
        judged = [
            hit for hit in _score_exchanges(snapshot, hits, said) if hit.passed.node in said or not self.covering.own
        ]
        judged.sort(key=lambda each: each.order)
        ranked = judged[: request.k]
        nodes = {each.passed.node for each in ranked}
        note = _NOTE.format(
            topic=self.covering.topic,
            words=self.covering.words,
            shown=_OWN if self.covering.own else _BOTH,
            found=len(judged),
        )
        return found._replace(ranked=ranked, rivals=tuple(each for each in found.rivals if each.later in nodes)), note


def _covering_type(window: Window, request: Request, wanted: AllOfType) -> Request:
    """The request, answered by what is of a type, if anything ever was; of several types those that are asked for."""
    given = frozenset(() if request.filters is None else request.filters.types)
    with window.snapshot() as snapshot:
        held = (name for name in wanted.names if next(iter(snapshot.tables.typed(type_digest(name))), None) is not None)
        types = tuple(name for name in held if not given or name in given)
    return request._replace(covers=TypeCoverage(request.question.subject_text, types)) if types else request


class TypeCoverage(NamedTuple):
    """How a request for all of a type is answered; ``topic`` is compared by words and by meaning where none is left."""

    topic: str
    types: tuple[str, ...]

    def retrieved(
        self,
        window: Window,
        snapshot: visible.VisibleSnapshot,
        request: Request,
        about: candidates.Named,
        lanes: ranking.Lanes,
    ) -> tuple[Found, str]:
        """What is of the type, the latest to begin first, and a note that says so; the usual answer if nothing is.

        Of more than :data:`~worlddb.query.recall.filters.MAX_LISTED` it is the usual answer among those.
        """
        plain = request._replace(covers=None)
        given = filters.Filters() if request.filters is None else request.filters
        limited = given._replace(types=self.types)
        fitting = filters.Filter(snapshot, window.spec, limited)
        if (listed := fitting.listed()) is None:
            return retrieve(window, snapshot, plain._replace(filters=limited), about, lanes), ""
        inside = searched_world(window, snapshot, request)
        gate = candidates.Gate(snapshot, inside, request.choice, request.least_trust, fitting, memories=True)
        gate.look_ahead(listed)
        seen = ((node, gate.seen(node)) for node in listed)
        shown = [candidates.Passed(node, version, 1.0) for node, version in seen if version is not None]
        if not shown:
            return retrieve(window, snapshot, plain, about, lanes), ""
        shown.sort(key=lambda each: (-each.seen.row.valid_from, -each.node))
        if window.unify:
            classes = IdentityClasses(snapshot, window.spec)
            shown = [each for each in shown if classes.is_new(each.node)]
        found = retrieve(window, snapshot, plain._replace(filters=limited), about, lanes)
        ranked = [ranking.Ranked(each, 1.0, {}, {scoring.OF_TYPE: 1.0}) for each in shown[: request.k]]
        nodes = {each.passed.node for each in ranked}
        rivals = tuple(each for each in found.rivals if each.later in nodes)
        passed_forks = gate.passed_forks or found.passed_forks
        note = _TYPE_NOTE.format(types=" and ".join(self.types), found=len(shown))
        return Found(ranked, found.lanes, rivals=rivals, passed_forks=passed_forks), note


_TYPE_NOTE: Final = (
    "the question asks for all of type {types}, so nothing else is shown, and the latest comes first; {found:,} such"
    " hits were found, and k says how many are shown"
)


def _weigh_by_place(snapshot: visible.VisibleSnapshot, ranked: Sequence[ranking.Ranked]) -> Iterator[ranking.Ranked]:
    """The hits, each with what its place in its session takes away."""
    at = candidates.count_earlier_turns(snapshot, [hit.passed for hit in ranked], PLACES)
    for hit in ranked:
        less = -LATER * at.get(hit.passed.node, 0)
        yield hit._replace(score=hit.score + less, parts=hit.parts | {scoring.PLACE: less}) if less else hit


def _score_exchanges(
    snapshot: visible.VisibleSnapshot, hits: Mapping[int, ranking.Ranked], said: Set[int]
) -> Iterator[ranking.Ranked]:
    """The hits with the scores of their exchanges; a turn that was not found counts as the last that was.

    What the asker ``said`` and nobody answered keeps its own score.
    """
    least = min((hit.score for hit in hits.values()), default=0.0)
    after = ((node, candidates.turn_after(snapshot, node)) for node in said)
    other = {node: answer for node, answer in after if answer is not None and answer not in said}
    other |= {answer: node for node, answer in other.items()}
    for node, hit in hits.items():
        beside = hits.get(other[node]) if node in other else hit if node in said else None
        score = (hit.score + (least if beside is None else beside.score)) / 2
        yield hit._replace(score=score, parts=hit.parts | {scoring.EXCHANGE: score - hit.score})


def _askers(snapshot: visible.VisibleSnapshot) -> Set[int]:
    """The entities that stand for the person who talks to a machine."""
    return {node for name in ASKERS for node in candidates.find_referenced_nodes(snapshot, name)}
