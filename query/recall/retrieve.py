"""Retrieve the best candidates of a recall, the best of each identity, or groups of them.

Of facts that contradict each other the newest comes first, followed by what it superseded where a question asks for
change; of statements about one subject that compete by their words, the later one. A group is a world with the hits
that it contains. The best session need not contain the best turn: a session with two near turns may answer better
than one with a single turn that is a little nearer. So a group has a score of its own, the soft maximum of its hits'
scores: the best of them where one stands out, and more where others come close.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.model.times import ALWAYS, Interval
from worlddb.projections.indexes.analysis import STANDING_WORDS, TASTE_WORDS, analyze, is_asking, query_stems
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads.asof import SeenVersion, edge_seen, has_ended
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.query.claims import asked_terms, wording
from worlddb.query.claims.foreign_statements import in_english
from worlddb.query.claims.wording import MAX_CHARACTERS
from worlddb.query.lanes.text_lane import TextLane, WorldTextLane
from worlddb.query.question.question import CONVEX, LANES, MAX_K, TEXT, VECTOR, Request
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.recall import asked_first, candidates, filters, ranking, rivalry, scoring
from worlddb.query.records.records import soft_maximum
from worlddb.query.snapshot import valid_period, visible

if TYPE_CHECKING:
    from worlddb.projections.tables.dream.retention import Decay

_SUPERSEDES: Final = EDGE_TYPE_CODES["supersedes"]
_MAX_SUPERSEDED: Final = 3
"""The number of replaced worlds shown after their replacement."""


_TURN: Final = type_digest("Turn")


def add_superseded(
    snapshot: visible.VisibleSnapshot, earlier: candidates.Gate, ranked: Sequence[ranking.Ranked], k: int
) -> list[ranking.Ranked]:
    """The hits, each of the first ``k`` followed by the worlds that it has superseded.

    Only what ``earlier`` lets through is shown.
    """
    found: dict[int, ranking.Ranked] = {}
    for place, hit in enumerate(ranked):
        found.setdefault(hit.passed.node, hit)
        for node, seen in _superseded(snapshot, earlier, hit.passed.node) if place < k else ():
            found.setdefault(
                node, ranking.Ranked(candidates.Passed(node, seen, 0.0), hit.score, {}, {scoring.SUPERSEDED: hit.score})
            )
    return list(found.values())


def show_past_versions(
    snapshot: visible.VisibleSnapshot,
    then: Sequence[candidates.Gate],
    ranked: Sequence[ranking.Ranked],
) -> list[ranking.Ranked]:
    """The hits, and before each what it took the place of, if that held at a time in the question and the hit did not.

    A world that says something else by now is shown as it was then, but for turns of a conversation: who corrects one
    says what was said. ``then`` let through what held at one of the times.
    """
    found: dict[int, ranking.Ranked] = {}
    for hit in ranked:
        node, seen, *_ = hit.passed
        for gate in then:
            if gate.choice.admits(snapshot.place.moment, seen.validity):
                continue
            for other, held in _superseded(snapshot, gate, node):
                passed = candidates.Passed(other, held, 0.0)
                found.setdefault(other, ranking.Ranked(passed, hit.score, {}, {scoring.THEN: hit.score}))
            own = gate.seen(node) if seen.row.type != _TURN else None
            if own is not None and build.says_the_same(snapshot, own, seen):
                break
            if own is not None and snapshot.body(own.row) is not None:
                hit = hit._replace(passed=hit.passed._replace(seen=own), parts={**hit.parts, scoring.THEN: 0.0})
                break
        found.setdefault(node, hit)
    return list(found.values())


def has_past_version(
    snapshot: visible.VisibleSnapshot,
    earlier: candidates.Gate,
    shown: Iterable[ranking.Ranked],
    past: Sequence[valid_period.Period],
) -> bool:
    """True if a hit replaced something that held at one of these times, or is what did.

    Only what ``earlier`` lets through counts.
    """
    tables, moment = snapshot.tables, snapshot.place.moment
    for hit in shown:
        if scoring.THEN in hit.parts:
            return True
        before = (seen for _, seen in _superseded(snapshot, earlier, hit.passed.node))
        if any(period.admits(seen.validity) for seen in before for period in past):
            return True
        own = (seen for period in past for seen in valid_period.versions_in(tables, hit.passed.node, moment, period))
        if any(
            snapshot.body(seen.row) is not None and not build.says_the_same(snapshot, seen, hit.passed.seen)
            for seen in own
            if seen.number != hit.passed.seen.number
        ):
            return True
    return False


def _superseded(
    snapshot: visible.VisibleSnapshot, earlier: candidates.Gate, node: int
) -> Iterator[tuple[int, SeenVersion]]:
    """The worlds that a world has superseded, directly or through others, nearest first."""
    tables, moment = snapshot.tables, snapshot.place.moment
    visited, pending, given = {node}, [node], 0
    for here in pending:
        for place, row in tables.outgoing(here, _SUPERSEDES, known_by=moment.seq):
            if row.target in visited or not edge_seen(tables, place, row, moment):
                continue
            visited.add(row.target)
            pending.append(row.target)
            seen = earlier.seen(row.target)
            if seen is not None and snapshot.body(seen.row) is not None:
                yield row.target, seen
                given += 1
            if given == _MAX_SUPERSEDED:
                return


class Grouped(NamedTuple):
    """A world with the hits that it contains directly, best first, and their number."""

    node: int
    score: float
    size: int
    hits: list[ranking.Ranked]


def group_by_container(
    snapshot: visible.VisibleSnapshot,
    inside: int,
    ranked: Sequence[ranking.Ranked],
    classes: world_lookup.IdentityClasses | None,
) -> list[Grouped]:
    """The containers of the hits inside the world that is searched, best first.

    Ties are in the order of their best hits.

    A hit directly in the searched world is its own group. A hit that contains other hits counts for its own group
    too, like a title. With ``classes`` containers of one identity are one group, and a group has of each identity the
    best hit.
    """
    scope = snapshot.scope(inside)
    nodes = [hit.passed.node for hit in ranked]
    around = {node: [each for each in snapshot.containers(node) if scope.holds(each)] for node in nodes}
    containing = {container for containers in around.values() for container in containers}
    found: dict[int, Grouped] = {}
    held: set[tuple[int, int]] = set()
    for node, hit in zip(nodes, ranked, strict=True):
        of_its_own = [node] if node in containing or not around[node] else []
        for container in (*of_its_own, *around[node]):
            group = _class_of(classes, container)
            if (group, _class_of(classes, node)) not in held:
                held.add((group, _class_of(classes, node)))
                found.setdefault(group, Grouped(container, 0.0, 0, [])).hits.append(hit)
    most = max((hit.score for hit in ranked), default=0.0)
    scored = [
        group._replace(score=soft_maximum((hit.score for hit in group.hits), most), size=len(group.hits))
        for group in found.values()
    ]
    return sorted(scored, key=lambda group: -round(group.score, 6))


def _class_of(classes: world_lookup.IdentityClasses | None, node: int) -> int:
    """What stands for a node and for all that are one with it."""
    return node if classes is None else min(classes.members(node))


_WIDER: Final = 4
"""The factor by which more hits are ranked if several share an identity or there are few groups."""
_MAX_GROUPED_HITS: Final = 512
"""How many hits are ranked at most where there are too few groups of them; or 16 for each group."""


def _find_nothing(node: int) -> None:
    """Find no candidate: all of them are among the hits, or a lane was asked alone."""


class Found(NamedTuple):
    """The hits, the lanes that they come from, and the groups of them, if groups are asked for.

    ``find`` looks up a candidate that was not good enough. ``rivals`` compete, the later one among the hits.
    ``passed_forks``: something was left out since it lies in a fork. ``left_out``: something may be shown at another
    time that is not shown at this one. ``whole`` gives all hits that are wanted, where these are the first of them.
    ``behind`` come next, up to :data:`ranking.LOOKED_AT` with the hits: an answer is judged by the same ones, however
    few are wanted.
    """

    ranked: list[ranking.Ranked]
    lanes: tuple[str, ...]
    groups: list[Grouped] | None = None
    find: Callable[[int], ranking.Ranked | None] = _find_nothing
    rivals: tuple[rivalry.Rivals, ...] = ()
    passed_forks: bool = False
    left_out: bool = True
    whole: Callable[[], list[ranking.Ranked]] | None = None
    behind: Sequence[ranking.Ranked] = ()

    def shown(self) -> Iterator[ranking.Ranked]:
        """The hits in the order in which they are shown."""
        return iter(self.ranked) if self.groups is None else (hit for group in self.groups for hit in group.hits)


def begin_search(window: Window, request: Request, text: TextLane) -> None:
    """Begin the first search of the text lane, if it is known before anything was read."""
    if request.world is None and not window.unify and TEXT in request.lanes and VECTOR in request.lanes:
        limit = text.fetched_for(ranking.depth_for(request.k))
        text.begin(request.compared_text, limit=limit, through=window.place.moment.seq)


def retrieve(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, about: candidates.Named, lanes: ranking.Lanes
) -> Found:
    """The best candidates; where identities are unified, the best of each identity."""
    if request.group is not None:
        return _find_groups(window, snapshot, request, about, lanes)
    if not window.unify:
        return _find(window, snapshot, request, about, lanes)
    asked = wanted = max(request.k, ranking.LOOKED_AT)
    while True:
        asked = min(MAX_K, _WIDER * asked)
        found = _find(window, snapshot, request._replace(k=asked), about, lanes)
        classes = world_lookup.IdentityClasses(snapshot, window.spec)
        best = [ranked for ranked in found.ranked if classes.is_new(ranked.passed.node)][:wanted]
        if len(best) == wanted or len(found.ranked) < asked or asked == MAX_K:
            return found._replace(ranked=best[: request.k], behind=best[request.k :])


def searched_world(window: Window, snapshot: visible.VisibleSnapshot, request: Request) -> int:
    """The world that is searched."""
    top = snapshot.place.top
    return (
        top
        if request.world is None
        else world_lookup.named_node(snapshot, window.spec, request.world, unify=window.unify)
    )


def _find_groups(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, about: candidates.Named, lanes: ranking.Lanes
) -> Found:
    """The best groups of all candidates; asks for more hits while there are too few groups."""
    asked, most = request.k, min(MAX_K, max(_MAX_GROUPED_HITS, _WIDER * _WIDER * request.k))
    inside, before = searched_world(window, snapshot, request), -1
    while True:
        found = _find(window, snapshot, request._replace(k=asked), about, lanes)
        classes = world_lookup.IdentityClasses(snapshot, window.spec) if window.unify else None
        groups = group_by_container(snapshot, inside, found.ranked, classes)[: request.k]
        if len(groups) == request.k or len(found.ranked) == before or asked == most:
            return found._replace(groups=[group._replace(hits=group.hits[: request.group]) for group in groups])
        asked, before = min(most, _WIDER * max(asked, ranking.DEPTH // 2)), len(found.ranked)


class _Search(NamedTuple):
    """A search: what it goes through, what its question asks of the order of the hits, and how deep it looks.

    ``gate_of`` makes the gate of another time than that of ``gate``. ``looked_at`` hits are ranked for any number of
    wanted ones, so that the answer to fewer is the beginning of that to more; ``statements``, which may be more, where
    a candidate is a statement. ``compares``: competing statements are put in order. ``numbers``, ``past`` and
    ``before`` are the numbers, the past times and the event that the question names, ``previous`` and ``state`` are
    what :attr:`Question.asks_previous` and :func:`asked_terms.asked_state` give. ``asks_all``: it says no more than
    whom and when.
    """

    window: Window
    request: Request
    about: candidates.Named
    lanes: ranking.Lanes
    guiding: ranking.Guiding
    gate_of: Callable[[valid_period.Choice], candidates.Gate]
    gate: candidates.Gate
    looked_at: int
    statements: int
    compares: bool
    numbers: dict[str, set[str]]
    past: Sequence[valid_period.Period]
    before: str
    previous: str
    state: tuple[frozenset[str], frozenset[str]] | None
    asks_all: bool

    @property
    def snapshot(self) -> visible.VisibleSnapshot:
        return self.gate.snapshot

    @property
    def shows_all(self) -> bool:
        """True if all that were ranked are shown, for groups of them."""
        return self.request.group is not None or self.request.covers is not None

    @property
    def leaves_out_any(self) -> bool:
        """True if something that was proposed, or may be, is not shown now."""
        return self.lanes.over is not None or self.gate.left_out_any

    def rank(self, gate: candidates.Gate, lanes: ranking.Lanes) -> Found:
        """The best candidates that a gate admits, as many as the rules read."""
        return self._ranked(self.request._replace(k=self.looked_at), gate, lanes)

    def first_rank(self, weighings: Sequence["_Weighing"]) -> Found:
        """The best candidates before any rule puts them in another order: more of them where some may be left out or
        fall behind, and only the first where a number is asked for, which is seldom among the rest alone."""
        if weighings or self.request.siblings is not None:
            k = min(MAX_K, _WIDER * max(self.looked_at, self.statements))
            return self._ranked(self.request._replace(k=k, decay=None), self.gate, self.lanes)
        # One more than is wanted tells that there are more.
        first = max(self.request.k + 1, ranking.LOOKED_AT) if self.numbers else None
        return self._ranked(self.request._replace(k=self.looked_at), self.gate, self.lanes, first)

    def _ranked(self, request: Request, gate: candidates.Gate, lanes: ranking.Lanes, first: int | None = None) -> Found:
        return _ranked(self.snapshot, gate, request, self.about, lanes, self.guiding, first, self.statements)


def _plan(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, about: candidates.Named, lanes: ranking.Lanes
) -> _Search:
    """What is searched for a request, and what its question asks of the order of the hits."""
    fitting = None if request.filters is None else filters.Filter(snapshot, window.spec, request.filters)
    inside = searched_world(window, snapshot, request)

    def gate_of(choice: valid_period.Choice) -> candidates.Gate:
        return candidates.Gate(snapshot, inside, choice, request.least_trust, fitting, memories=True)

    gate, choice, is_grouped = gate_of(request.choice), request.choice, request.group is not None
    shows_now = not is_grouped and choice == valid_period.Choice()
    without_times = request.question.without_times
    shows_earlier = not is_grouped and choice.earlier and not choice.include_superseded
    before, previous = (request.question.asks_before, request.question.asks_previous) if shows_earlier else ("", "")
    # "Does she still drive it?" asks of now, and what was before is shown beside that.
    asks_of_both = shows_earlier and choice == valid_period.Choice(earlier=True) and not (before or previous)
    adds_up = not is_grouped and request.covers is None and request.fusion == CONVEX
    numbers = scoring.find_numbers(without_times) if adds_up else {}
    past = request.past_times(snapshot.place.moment.valid) if shows_now else []
    asks_of_time = shows_now and request.question.asks_of_begun_times(snapshot.place.moment.valid)
    state = asked_terms.asked_state(without_times) if asks_of_time else None
    asks_all = bool(past) and asked_terms.has_only_light_words(without_times)
    compares = shows_now or asks_of_both
    looked_at = max(
        request.k,
        ranking.LOOKED_AT if compares or before or previous or adds_up else 0,
        ranking.DEPTH if numbers else 0,
        _LOOKED_AT_THEN if asks_all else 0,
    )
    return _Search(
        window=window,
        request=request,
        about=about,
        lanes=lanes,
        guiding=_find_guides(window, gate, lanes, request),
        gate_of=gate_of,
        gate=gate,
        looked_at=looked_at,
        # Only a statement tells a state.
        statements=max(looked_at, _LOOKED_AT_THEN) if state else looked_at,
        compares=compares,
        numbers=numbers,
        past=past,
        before=before,
        previous=previous,
        state=state,
        asks_all=asks_all,
    )


def _find(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, about: candidates.Named, lanes: ranking.Lanes
) -> Found:
    """The best candidates of the lanes, put in order by each of :data:`_RULES`; for groups, all that were ranked."""
    search = _plan(window, snapshot, request, about, lanes)
    weighings = _weighings(snapshot, request)
    found = search.first_rank(weighings)
    for weighing in weighings:
        found = _apply_weighing(found, weighing)
    for rule in _RULES:
        found = rule(search, found)
    ranked = found.ranked if search.shows_all else found.ranked[: request.k]
    behind = () if search.shows_all else found.ranked[request.k : ranking.LOOKED_AT]
    shown = {hit.passed.node for hit in ranked} if found.rivals else ()
    # Of what may have changed the note tells, however few hits are wanted.
    rivals = tuple(pair for pair in found.rivals if (pair.earlier if pair.is_unsure else pair.later) in shown)
    gate = search.gate
    # Those that are listed or looked into are who lies in a world now, or refers to somebody now.
    is_of_now = not gate.is_open or gate.members is not None
    left_out = is_of_now or search.leaves_out_any
    return found._replace(
        ranked=ranked, behind=behind, rivals=rivals, passed_forks=gate.passed_forks, left_out=left_out
    )


def _keep_best_of_siblings(search: _Search, found: Found) -> Found:
    """Show the best hit of each world, and others of it only if they come near enough in meaning, as is asked for."""
    least = search.request.siblings
    if least is None or VECTOR not in found.lanes:
        return found
    return found._replace(ranked=_drop_siblings(search.snapshot, search.gate.inside, found.ranked, least))


def _put_asked_messages_first(search: _Search, found: Found) -> Found:
    """Put what tells a value of the kind that is asked for first, and of a chat what was said by the time asked."""
    question, ranked = search.request.question, found.ranked
    is_in_order = search.request.in_order and search.request.fusion == CONVEX and not search.shows_all
    has_turns = any(hit.passed.seen.row.type == _TURN for hit in ranked[: ranking.LOOKED_AT])
    if not is_in_order or not ranked or (question.asks_of == "past" and not has_turns):
        return found
    ranked = asked_first.lift_asked_kind(search.snapshot, ranked, question)
    if has_turns and question.asks_what_held:
        ranked = asked_first.lift_said_by_then(search.gate, search.request, search.lanes.text, ranked, search.past)
    return found._replace(ranked=ranked)


def _put_newer_first(search: _Search, found: Found) -> Found:
    """Put the newer of two facts that contradict each other first, and the later of two statements that compete.

    Only the newer one holds, though an older one may have more of the question's words.
    """
    snapshot, request = search.snapshot, search.request
    # Those behind the wanted hits are looked at as well, since the answer is judged by them.
    first = max(request.k, ranking.LOOKED_AT)
    ranked = rivalry.lift_newer_facts(snapshot, search.window.spec, search.gate, found.ranked, first, found.find)
    # To put some before others changes which there are where some are left out.
    if not search.compares or not (request.in_order or len(ranked) > request.k):
        return found._replace(ranked=ranked, rivals=())
    looked_at = ranked[: ranking.LOOKED_AT]
    said = {hit.passed.node: one for hit in looked_at if (one := rivalry.statement_of(snapshot, hit)) is not None}
    has_turns = any(hit.passed.seen.row.type == _TURN for hit in looked_at)
    own, asker = ranked, search.about.user_name if search.about.is_of_user else ""
    if said and (has_turns or asker or any(one.may_have_owner for one in said.values())):
        own = asked_first.lift_own_statements(snapshot, ranked, said, request.question.text, asker)
    until, asked = request.question.horizon(snapshot.place.moment.valid), request.question.words_of_now
    past = request.question.asks_of == "past" and not request.question.asks_of_now
    claims = (
        {} if past or not has_turns else rivalry.claims_of_turns(snapshot, own, request.question.text, alone=not said)
    )
    # What somebody has done, as far as it is not counted, is no state that changes, though it may have been planned.
    is_event = request.question.asks_of == "past" and not request.question.answer_form.number
    changes, added = list[rivalry.Rivals](), list[ranking.Ranked]()
    if has_turns:
        by = max((period.span.end for period in search.past), default=None)
        changes, added = rivalry.changes_told(
            search.gate, request, search.lanes.text, own, said, of_plans=by is None and (past or is_event), by=by
        )
    kept, rivals = rivalry.lift_later_statements(
        snapshot,
        [*own, *added],
        said | claims,
        until=until,
        by_trust=request.trust_weight > 0,
        asked=asked,
        question=request.question.text,
        changes=changes,
    )
    # What was looked up to be put beside a hit, and was not (it is trusted less), is none.
    kept = [hit for hit in kept if hit.parts] if added else kept
    kept = rivalry.lift_update(snapshot, request, search.lanes.vector, kept, said | claims, until) if kept else kept
    if has_turns:
        kept = asked_first.lift_derived_statements(snapshot, kept, request.question.text)
    if has_turns and request.fusion == CONVEX:
        kept = asked_first.put_replies_behind(snapshot, kept, search.about, request.question.text)
        kept = asked_first.put_calls_behind(snapshot, kept, request.question)
    return found._replace(ranked=kept, rivals=rivals)


def _put_asked_number_first(search: _Search, found: Found) -> Found:
    """Put what has the number that is asked for before what has another: meeting 5 is not meeting 6, which is as near.

    It is looked for among all hits only where another number is among the first.
    """
    numbers = search.numbers
    if not numbers:
        return found
    known = dict[int, int]()

    def fit_of(hit: ranking.Ranked) -> int:
        node = hit.passed.node
        if node not in known:
            known[node] = asked_first.number_fit(search.snapshot, hit, numbers)
        return known[node]

    if found.whole is not None and any(fit_of(hit) < 0 for hit in found.ranked):
        found = _put_newer_first(search, found._replace(ranked=found.whole()))
    return found._replace(ranked=asked_first.lift_matching_numbers(found.ranked, fit_of, found.rivals))


def _show_history(search: _Search, found: Found) -> Found:
    """Show after each hit what it superseded, and before an event that is named what held until then, where a question
    asks for change."""
    if not search.request.choice.earlier or not search.request.question.asks_for_change:
        return found
    superseded = search.gate_of(valid_period.Choice(include_superseded=True))
    ranked = add_superseded(search.snapshot, superseded, found.ranked, search.looked_at)
    if search.previous:
        return found._replace(ranked=_lift_previous(search, ranked))
    return found._replace(ranked=_lift_predecessors(search, ranked) if search.before else ranked)


def _put_what_held_then_first(search: _Search, found: Found) -> Found:
    """Put what held at a past time that is named in the place of what holds now."""
    if not search.past:
        return found
    snapshot = search.snapshot
    then = [search.gate_of(valid_period.Choice(period=period)) for period in search.past]
    merged = sorted([*found.ranked, *_find_ended(search, then)], key=lambda hit: -round(hit.score, 6))
    ranked = _put_last_to_hold_first(search, show_past_versions(snapshot, then, merged))
    if search.asks_all:
        # Of what somebody did in a week, what began and ended in it comes first.
        ranked.sort(key=lambda hit: not any(each.span.covers(hit.passed.seen.validity) for each in search.past))
    return found._replace(ranked=ranked)


def _put_last_to_hold_first(search: _Search, ranked: list[ranking.Ranked]) -> list[ranking.Ranked]:
    """The hits, the last to hold at the past times before those with which it competes, or that say as much in nearly
    the same words: whose turn it is changes every week, and nobody takes anybody's place."""
    snapshot, question = search.snapshot, search.request.question
    first = ranked[: ranking.LOOKED_AT]
    said = {hit.passed.node: one for hit in first if (one := rivalry.statement_of(snapshot, hit)) is not None}
    if not search.compares or len(said) < 2:
        return ranked
    until, by_trust = question.horizon(snapshot.place.moment.valid), search.request.trust_weight > 0
    ranked, _ = rivalry.lift_later_statements(
        snapshot, ranked, said, until=until, by_trust=by_trust, question=question.text
    )
    # What is near a statement of the past is not asked for as it was then.
    return _put_alike_in_order(search, ranked, said) if is_asking(question.text) else ranked


def _put_alike_in_order(
    search: _Search, ranked: list[ranking.Ranked], said: Mapping[int, rivalry.Statement]
) -> list[ranking.Ranked]:
    """The hits, each statement before those in nearly the same words that held sooner at the past times, or not then.

    "Before May" and "by May" ask what held last, "in May" what held on any day of it.
    """

    def lateness(node: int) -> int:
        held = [each.span for each in search.past if each.admits(said[node].seen.validity)]
        is_last = any(each.start > ALWAYS or said[node].seen.validity.contains(each.end - 1) for each in held)
        return 2 if is_last else 1 if held else 0

    order = {node: lateness(node) for node in said}
    if list(order.values()) == sorted(order.values(), reverse=True):
        return ranked
    asked = query_stems(search.request.question.without_times)
    words = {node: frozenset(analyze(one.text).stems) for node, one in said.items()}

    def is_alike(node: int, other: int) -> bool:
        mine, theirs = words[node], words[other]
        is_asked = bool(theirs & asked) and theirs & asked <= mine
        return is_asked and max(len(mine - theirs), len(theirs - mine)) <= _OTHER_WORDS

    placed = list[ranking.Ranked]()
    for hit in ranked:
        node = hit.passed.node
        later = (
            place
            for place, other in enumerate(placed)
            if node in order and order.get(other.passed.node, 2) < order[node] and is_alike(node, other.passed.node)
        )
        at = next(later, len(placed))
        if at < len(placed):
            score = placed[at].score
            hit = hit._replace(score=score, parts={**hit.parts, scoring.UNTIL: score - hit.score})
        placed.insert(at, hit)
    return placed


_OTHER_WORDS: Final = 2
"""The number of words that one of two statements in nearly the same words has, and the other has not."""


def _put_asked_state_first(search: _Search, found: Found) -> Found:
    """Put the state that is asked for first, if the question names a time: a deadline in May is nearer to May."""
    if search.state is None:
        return found
    now = search.snapshot.place.moment.valid
    spans = [Interval(span.start, min(span.end, now + 1)) for span in search.request.question.times]
    then = [search.gate_of(valid_period.Choice(period=valid_period.Period(span, throughout=False))) for span in spans]
    return found._replace(ranked=_lift_asked_states(search.snapshot, then, found.ranked, *search.state))


def _add_what_is_over(search: _Search, found: Found) -> Found:
    """Add what came to its own end, where a question of the past names no time: it may be what is asked for.

    Where it asks what was before, that is also what was retired.
    """
    if search.request.group is not None or not search.request.asks_about_past:
        return found
    return found._replace(ranked=_merge_ended(search, found.ranked))


_RULES: Final[tuple[Callable[[_Search, Found], Found], ...]] = (
    _keep_best_of_siblings,
    _put_asked_messages_first,
    _put_newer_first,
    _put_asked_number_first,
    _show_history,
    _put_what_held_then_first,
    _put_asked_state_first,
    _add_what_is_over,
)
"""What changes the order of the ranked hits, or which there are, each where the question asks for it; first to last."""


def _find_ended(search: _Search, then: Sequence[candidates.Gate]) -> list[ranking.Ranked]:
    """What held at a time in the question and has ended since without a replacement, best first.

    Turns of a conversation are left out, and hidden worlds stay hidden.
    """
    gate, lanes = search.gate, search.lanes
    if not search.leaves_out_any:
        return []
    snapshot, found = gate.snapshot, dict[int, ranking.Ranked]()
    for one in then:
        for hit in search.rank(one, lanes if lanes.over is None else lanes.over(one.choice)).ranked:
            node, seen, *_ = hit.passed
            if gate.seen(node) is None and seen.row.type != _TURN and not snapshot.hides(node, None):
                found.setdefault(node, hit._replace(parts={**hit.parts, scoring.THEN: 0.0}))
    return [hit for hit in found.values() if snapshot.body(hit.passed.seen.row) is not None]


_LOOKED_AT_THEN: Final = 64
"""The number of best hits among which states and events at a time in the question are searched."""


def _lift_asked_states(
    snapshot: visible.VisibleSnapshot,
    then: Sequence[candidates.Gate],
    ranked: list[ranking.Ranked],
    words: frozenset[str],
    telling: frozenset[str],
) -> list[ranking.Ranked]:
    """Put statements first that say of the person in the question what it asks for, and held at its time.

    Events of that time have more of its words: "what did Mira do in November" is not where she lived.
    """
    moment, said = snapshot.place.moment, dict[int, ranking.Ranked]()
    for hit in ranked[:_LOOKED_AT_THEN]:
        seen = hit.passed.seen
        body = None if seen.row.type == _TURN else snapshot.body(seen.row)
        if body is None or not any(gate.choice.admits(moment, seen.validity) for gate in then):
            continue
        if len(body.content) <= MAX_CHARACTERS and asked_terms.tells_state(body.content, words, telling):
            said[hit.passed.node] = hit
    best = ranked[0].score if ranked else 0.0
    lifted = [hit._replace(score=best, parts={**hit.parts, scoring.STATE: best - hit.score}) for hit in said.values()]
    return [*lifted, *(hit for hit in ranked if hit.passed.node not in said)]


def _merge_ended(search: _Search, ranked: list[ranking.Ranked]) -> list[ranking.Ranked]:
    """The hits with what came to its own end, by score; of what scores as much the present first, then the last to end.

    Retired worlds may never have been true, and are shown only if it is asked what was before; what was replaced is
    shown behind its replacement then.
    """
    snapshot, text = search.snapshot, search.lanes.text
    tables, moment = snapshot.tables, snapshot.place.moment
    up_to_now = valid_period.Choice(period=valid_period.Period(Interval(ALWAYS, moment.valid + 1), throughout=False))
    asks_before, shown = search.request.choice.earlier, {hit.passed.node for hit in ranked}
    if isinstance(text, WorldTextLane) and not asks_before:
        # Where all that ever held holds now, nothing is ranked again.
        ever = search.window.exact_lane(snapshot, up_to_now)
        if ever.counts(()).documents == text.counts(()).documents:
            return ranked
    ever_shown = valid_period.Choice(include_superseded=True, earlier=True) if asks_before else up_to_now
    over = [
        hit._replace(
            parts={name: part for name, part in hit.parts.items() if name != scoring.THEN} | {scoring.OVER: 0.0}
        )
        for hit in (_find_ended(search, [search.gate_of(ever_shown)]) if search.leaves_out_any else ())
        if (hit.passed.node not in shown if asks_before else not has_ended(tables, hit.passed.node, moment.seq))
    ]
    over.sort(key=lambda hit: -hit.passed.seen.validity.end)
    return sorted([*ranked, *over], key=lambda hit: -round(hit.score, 6))


def _lift_predecessors(search: _Search, ranked: Sequence[ranking.Ranked]) -> list[ranking.Ranked]:
    """The hits, and before the first statement that names what the question does what held until that began.

    That is what it superseded, said before, or competes with by its words, whether that has ended or not. Of what was
    said again the last is meant, and what was said the first time is behind that.
    """
    snapshot, words = search.snapshot, wording.words_of(search.before)
    naming = [hit for hit in ranked[: ranking.LOOKED_AT] if _has_all_words(snapshot, hit, words)]
    if not naming or naming[0].passed.seen.validity.start <= ALWAYS:
        return list(ranked)
    alike = {hit.passed.node: hit for hit in naming if _says_the_same(snapshot, hit, naming[0])}
    named = max(alike.values(), key=lambda hit: rivalry.start_order(hit.passed.seen))
    node, began = named.passed.node, named.passed.seen.validity.start
    just_before = valid_period.Period(Interval(began - 1, began), throughout=False)
    then = search.gate_of(valid_period.Choice(period=just_before))
    found = {hit.passed.node: hit for hit in [*ranked[: ranking.LOOKED_AT], *_find_ended(search, [then])]}
    said = {each: one for each, hit in found.items() if (one := rivalry.statement_of(snapshot, hit)) is not None}
    earlier = {pair.earlier for pair in rivalry.competing_pairs(snapshot, said) if pair.later == node}
    earlier |= {other for other, _ in _superseded(snapshot, then, node)} & found.keys()
    order = [node, *sorted(earlier, key=lambda each: rivalry.start_order(found[each].passed.seen))][::-1]
    if (own := then.seen(node)) is not None and snapshot.body(own.row) is not None:
        named = named._replace(passed=named.passed._replace(seen=own), parts={**named.parts, scoring.PRECEDED: 0.0})
    found[node] = named
    at = next(place for place, hit in enumerate(ranked) if hit.passed.node in alike)
    above = [hit for hit in ranked[:at] if hit.passed.node not in earlier]
    moved = earlier | {node}
    until = [
        found[each]
        if each == node
        else found[each]._replace(
            score=named.score, parts={**found[each].parts, scoring.PRECEDED: named.score - found[each].score}
        )
        for each in order
    ]
    return [*above, *until, *(hit for hit in ranked[at:] if hit.passed.node not in moved)]


def _lift_previous(search: _Search, ranked: list[ranking.Ranked]) -> list[ranking.Ranked]:
    """The hits, the first that was replaced, or competes with a later one, before what took its place.

    Of several the last is the first, or the first where the question asks for that. They come before hits that have no
    word for what is asked.
    """
    snapshot, question, last = search.snapshot, search.request.question.text, search.request.question.asks_previous
    hits = {hit.passed.node: hit for hit in ranked[: ranking.LOOKED_AT]}
    said = {node: one for node, hit in hits.items() if (one := rivalry.statement_of(snapshot, hit)) is not None}
    claims = rivalry.claims_of_turns(snapshot, list(hits.values()), question, alone=not said)
    asked = asked_terms.asked_stems(question) | asked_terms.asked_stems(in_english(question))
    fitting = {
        node
        for node, hit in hits.items()
        if (body := snapshot.body(hit.passed.seen.row)) is not None
        and not asked.isdisjoint(analyze(f"{body.name} {body.content} {in_english(body.content)}").stems)
    }
    superseded = search.gate_of(valid_period.Choice(include_superseded=True))
    beside: dict[int, set[int]] = {}
    pairs = [(node, other) for node in hits for other, _ in _superseded(snapshot, superseded, node) if other in hits]
    rivals = rivalry.competing_pairs(snapshot, said | claims, snapshot.place.moment.valid, question=question)
    for later, earlier in [*pairs, *((pair.later, pair.earlier) for pair in rivals if not pair.is_plan)]:
        beside.setdefault(later, {later}).add(earlier)
        beside.setdefault(earlier, {earlier}).add(later)
    of_one = next((beside[node] for node in hits if not fitting.isdisjoint(beside.get(node, ()))), None)
    if of_one is None:
        return _show_previous_version(search, ranked, next((node for node in hits if node in fitting), None))
    order = sorted(of_one, key=lambda node: rivalry.start_order(hits[node].passed.seen))
    order = order if last == "first" else [*order[-2::-1], order[-1]]
    # What began no sooner than the last of them was not before, either.
    begun = hits[order[-1]].passed.seen.validity.start
    late = {node for node, hit in hits.items() if hit.passed.seen.validity.start >= begun} if last != "first" else set()
    at = next(place for place, node in enumerate(hits) if node in of_one | late or node not in fitting)
    score = ranked[at].score
    moved = [hits[node]._replace(score=score, parts={**hits[node].parts, scoring.BEFORE: 0.0}) for node in order[:-1]]
    rest = [hit for hit in ranked if hit.passed.node not in of_one]
    shown = [*moved, hits[order[-1]]._replace(score=score)]
    return [*rest[:at], *shown, *rest[at:]]


def _show_previous_version(search: _Search, ranked: list[ranking.Ranked], node: int | None) -> list[ranking.Ranked]:
    """The hits, of which one is shown as it was before it was changed, if it is a statement that was."""
    snapshot = search.snapshot
    if node is None:
        return ranked
    at = next(place for place, hit in enumerate(ranked) if hit.passed.node == node)
    shown = ranked[at].passed.seen
    ever = valid_period.Period(Interval(ALWAYS, shown.validity.start), throughout=False)
    held = [
        each
        for each in valid_period.versions_in(snapshot.tables, node, snapshot.place.moment, ever)
        if each.number != shown.number and snapshot.body(each.row) is not None
    ]
    if shown.row.type == _TURN or shown.validity.start <= ALWAYS or not held:
        return ranked
    pick = min if search.previous == "first" else max
    seen = pick(held, key=lambda each: each.validity.start)
    before = ranked[at]._replace(
        passed=ranked[at].passed._replace(seen=seen), parts={**ranked[at].parts, scoring.BEFORE: 0.0}
    )
    return [*ranked[:at], before, *ranked[at + 1 :]]


def _has_all_words(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked, words: frozenset[str]) -> bool:
    """True if a hit is a statement that has some words."""
    body = None if hit.passed.seen.row.type == _TURN else snapshot.body(hit.passed.seen.row)
    return body is not None and bool(words) and words <= wording.words_of(body.content)


def _says_the_same(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked, other: ranking.Ranked) -> bool:
    """True if two hits have the same text."""
    one, two = snapshot.body(hit.passed.seen.row), snapshot.body(other.passed.seen.row)
    return one is not None and two is not None and wording.says_again(one.content, two.content)


def _find_guides(window: Window, gate: candidates.Gate, lanes: ranking.Lanes, request: Request) -> ranking.Guiding:
    """The worlds that say how to answer, for single hits."""
    text, fused = lanes.text, request.fusion == CONVEX and (lanes.vector is not None or lanes.entity)
    if text is None or not fused or request.group is not None or request.covers is not None:
        return ranking.NO_GUIDE
    rules = _standing_instructions(window, gate, text, request) if request.question.may_be_instructed else ()
    if not request.question.answer_form.taste:
        return ranking.Guiding(rules)
    wanted = f"{request.compared_text} {TASTE_WORDS}"
    search = partial(ranking.search_words, text, wanted, window.place.moment.seq, or_more=gate.is_open)
    return ranking.Guiding(rules, candidates.find_tastes(gate, search))


def _standing_instructions(window: Window, gate: candidates.Gate, text: TextLane, request: Request) -> Sequence[int]:
    """The worlds with standing instructions for every answer."""
    search = partial(ranking.search_words, text, STANDING_WORDS, window.place.moment.seq)
    if request.filters is not None:
        return candidates.find_standing_instructions(gate, search)
    # All questions about a world have the same.
    asked = gate.inside, gate.choice, request.least_trust, text.indexed
    return window.standing(gate.snapshot, asked, partial(candidates.find_standing_instructions, gate, search))


_Weighing = Callable[[ranking.Ranked], tuple[str, float]]
"""What is added to the score of a candidate, and under which name."""


def _weighings(snapshot: visible.VisibleSnapshot, request: Request) -> list[_Weighing]:
    """The weightings of scores beside the evidence: trust, decay, and the type of a hit."""
    weighings: list[_Weighing] = []
    if request.trust_weight and snapshot.has_trust_statements:
        trust_weight = request.trust_weight
        weighings.append(
            lambda each: (scoring.TRUST, -candidates.trust_penalty(snapshot, each.passed, each.score, trust_weight))
        )
    decay: Decay | None = request.decay
    if decay is not None:

        def faded(each: ranking.Ranked) -> tuple[str, float]:
            retained = snapshot.retained(each.passed.node, each.passed.seen, decay)
            return scoring.DECAY, 0.0 if retained.kept else -abs(each.score) * (1 - decay.factor(retained.retention))

        weighings.append(faded)
    if request.type_weights:
        worth = {type_digest(name): weight for name, weight in request.type_weights.items()}
        weighings.append(
            lambda each: (scoring.TYPED, abs(each.score) * (worth.get(each.passed.seen.row.type, 1.0) - 1.0))
        )
    return weighings


def _apply_weighing(found: Found, weighing: _Weighing) -> Found:
    """The hits in the order of their weighted scores."""

    def weighed(each: ranking.Ranked | None) -> ranking.Ranked | None:
        if each is None:
            return None
        name, more = weighing(each)
        return each._replace(score=each.score + more, parts=each.parts | {name: more}) if more else each

    ranked = [each for each in map(weighed, found.ranked) if each is not None]
    ranked.sort(key=lambda each: -round(each.score, 6))
    return found._replace(ranked=ranked, find=lambda node: weighed(found.find(node)))


def _drop_siblings(
    snapshot: visible.VisibleSnapshot, inside: int, ranked: Iterable[ranking.Ranked], least: float
) -> list[ranking.Ranked]:
    """The hits, of each world that contains them directly the best, and others as near in meaning as is asked for.

    What lies directly in the world that is searched has no siblings.
    """
    scope, begun, kept = snapshot.scope(inside), set[int](), []
    for hit in ranked:
        around = {each for each in snapshot.containers(hit.passed.node) if scope.holds(each)}
        if not around or not around <= begun or hit.parts.get(VECTOR, 0.0) >= least:
            kept.append(hit)
        begun |= around
    return kept


def _ranked(
    snapshot: visible.VisibleSnapshot,
    gate: candidates.Gate,
    request: Request,
    about: candidates.Named,
    lanes: ranking.Lanes,
    guiding: ranking.Guiding,
    first: int | None = None,
    statements: int = 0,
) -> Found:
    """The best candidates; what was inferred of one is no other, and stands for it.

    With ``first`` so many of them may be enough, where nothing was inferred. ``statements``: as many as for so many
    hits, where any candidate is a statement.
    """
    is_less = first is not None or statements > request.k
    if is_less and next(iter(snapshot.tables.typed(visible.ENRICHMENT_TYPE)), None) is not None:
        first, request = None, request._replace(k=max(request.k, statements))
    if request.fields is None:
        found = _by_lanes(snapshot, gate, request, about, lanes, guiding, first, statements)
        if all(hit.passed.seen.row.type != visible.ENRICHMENT_TYPE for hit in found.ranked):
            return found
    # Loaded where something was inferred; a recall from the shell waits for what it loads.
    from worlddb.query.enrichment import inferred

    def rank(k: int) -> Found:
        return _by_lanes(snapshot, gate, request._replace(k=k), about, lanes, guiding)

    if request.fields is None:
        shown: Found = inferred.folded(snapshot, gate, request, rank)
    else:
        shown = inferred.weighed(snapshot, gate, request, request.fields, rank)
    return shown


def _by_lanes(
    snapshot: visible.VisibleSnapshot,
    gate: candidates.Gate,
    request: Request,
    about: candidates.Named,
    lanes: ranking.Lanes,
    guiding: ranking.Guiding,
    first: int | None = None,
    statements: int = 0,
) -> Found:
    """The best candidates as lanes rank them, or the ``first`` of them. A lane alone is ranked by its own scores."""
    seq, k = snapshot.place.moment.seq, max(request.k, statements)
    of_one = k if request.group is None else ranking.depth_for(k)
    text, vector, entity = lanes[:3]
    if text is not None and vector is None and not entity and not request.neighbours:
        worded = partial(ranking.search_words, text, request.question.text, seq, or_more=gate.is_open)
        passing = gate.passing(worded, of_one, gate.first_fetch(of_one))
        return Found(_rank_hits(TEXT, islice(passing, of_one)), (TEXT,))
    if vector is not None and request.lanes == (VECTOR,) and not request.neighbours:
        near = partial(ranking.search_vectors, vector, wide=ranking.WIDE_ALONE)
        return Found(_rank_hits(VECTOR, islice(gate.passing(near, of_one), of_one)), (VECTOR,))
    names = tuple(lane for lane, asked in zip(LANES, (text, vector, entity), strict=True) if asked)
    best = ranking.fuse_lanes(snapshot, gate, lanes, request, about, guiding, statements)
    k = best.k
    if request.fusion != CONVEX or request.covers is not None:
        whole = request.group is not None or request.covers is not None
        return Found(list(best if whole else islice(best, k)), names, find=best.find)
    if request.group is not None:
        return Found(ranking.rescore_all(snapshot, request.question, best, k), names)
    rescored = partial(ranking.rescore, snapshot, request.question, best)
    find = partial(ranking.rescore_one, snapshot, request.question, best)
    if first is None or first >= k:
        return Found(rescored(k), names, find=find)
    return Found(rescored(first), names, find=find, whole=partial(rescored, k))


def _rank_hits(lane: str, passing: Iterator[candidates.Passed]) -> list[ranking.Ranked]:
    return [
        ranking.Ranked(passed, passed.score, {lane: rank}, {lane: passed.score})
        for rank, passed in enumerate(passing, 1)
    ]
