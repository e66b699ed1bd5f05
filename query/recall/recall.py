"""Recall the worlds that answer a question best, each with its reason (laws 7, 9 and 12).

A recall opens two read transactions: one for the log's head, whom the question names and which embedding space answers,
before the indexes catch up and the model runs; and one snapshot for all else. An index that is behind opens its own.
Where words alone are compared and the index is not behind, one is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from typing import Final, NamedTuple, TypeVar

import msgspec

from worlddb.log.model import errors, times
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.reads.asof import OpenSpace
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.query.claims import asked_terms
from worlddb.query.lanes import text_lane, vector_lane
from worlddb.query.question.question import (
    ENTITY,
    MAX_K,
    TEXT,
    VECTOR,
    Question,
    Request,
    in_first_person,
    without_names,
)
from worlddb.query.reads import world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.recall import answer, candidates, ranking, scoring
from worlddb.query.recall.filters import Filter, tag_digest
from worlddb.query.recall.retrieve import (
    Found,
    begin_search,
    has_past_version,
    retrieve,
    searched_world,
)
from worlddb.query.records import records
from worlddb.query.snapshot import valid_period, visible
from worlddb.query.snapshot.snapshot import members_below

NO_VECTORS: Final = "no text in this view has a vector yet"
_MAX_COUNTED: Final = 2_000
"""For confidence, a world with more members counts as large as everything visible."""


Answered = TypeVar("Answered")
_Opened = AbstractContextManager[visible.VisibleSnapshot]
"""The snapshot that an answer is made in, which is opened for it or was before."""


class _QuestionFacts(NamedTuple):
    """What is read before the indexes catch up and the model runs."""

    head: int
    about: candidates.Named = candidates.NOBODY
    spaces: Sequence[OpenSpace] = ()


class _Subject(NamedTuple):
    """The entities and the vector of a question, or the reason that it has no vector."""

    about: candidates.Named = candidates.NOBODY
    query: vector_lane.VectorQuery | None = None
    judging: vector_lane.VectorQuery | None = None
    """The question without any name, if it asks something in particular of whom it mentions."""
    unavailable: str = ""
    """Why nothing is compared by meaning, where that is asked for."""
    spaces: Sequence[OpenSpace] = ()
    """The embedding spaces that a question may be compared in."""


class _Indexes(NamedTuple):
    """The indexes that the lanes search: the present ones, or scratch indexes of exactly the visible texts."""

    lanes: ranking.Lanes
    indexed: int
    pending: int = 0
    """Texts without a vector, if scratch indexes are searched."""
    unavailable: str = ""
    """Why nothing is compared by meaning, if scratch indexes show it."""


def version_choice(
    question: Question,
    include_superseded: bool | None,
    during: valid_period.Span | None,
    overlaps: valid_period.Span | None,
    tag: str | None,
) -> valid_period.Choice:
    """The versions of a world that a recall is asked for, by the arguments of :meth:`worlddb.View.recall`."""
    if tag is not None and (digest := tag_digest(tag)) != world_lookup.CURRENT:
        ways = {"include_superseded": include_superseded, "during": during, "overlaps": overlaps}
        given = [name for name, way in ways.items() if way]
        if given:
            raise errors.InputError(
                f"Both tag and {given[0]} were given",
                "Give one of them: a tag stands for one version, whenever it holds",
            )
        return valid_period.Choice(tag=digest)
    period = valid_period.parse_period(during, overlaps, include_superseded=bool(include_superseded))
    by_default = include_superseded is None and period is None
    earlier = question.asks_for_change if by_default else bool(include_superseded)
    return valid_period.Choice(bool(include_superseded), period, earlier)


def recall(window: Window, request: Request) -> records.Recall:
    """The worlds in the view that answer the request best, and which of them a span leaves out.

    ``exact`` searches scratch indexes of precisely what the view sees, so that the ranking is the same on any store
    with the same history; otherwise candidates and term statistics come from the present indexes. A confined view is
    always exact: how rare a word is in the present index tells of what lies outside.

    Raises:
        InputError: ``k``, ``group`` or ``neighbours`` is out of bounds, or there is no such lane or fusion.
    """
    return _recall(window, request)[0]


def _recall(window: Window, request: Request) -> tuple[records.Recall, bool]:
    """The answer, and whether something that is not shown may be shown at another time."""
    answered = _answer_with_indexes(window, request, _answer)
    return (answer.empty_recall(window.place.moment.seq), False) if answered is None else answered


def recall_with_future(window: Window, request: Request) -> records.Recall:
    """The answer with what holds at a named future time, and a note if nothing in it is of a time that is named."""
    found = _recall_with_future(window, request)
    told = answer.note_of_no_time(found, request)
    return msgspec.structs.replace(found, note=answer.joined((found.note, told))) if told else found


def _recall_with_future(window: Window, request: Request) -> records.Recall:
    """The answer with what holds at a named future time before what holds now.

    A question about the future without a time means any future time. The answer does not change if nothing that
    answers begins by then, or if another time than the present is asked about. If a world says something else by
    then, both texts are shown.
    """
    found, may_come = _recall(window, request)
    now = window.place.moment.valid
    named = _coming_intervals(request, found, now) if may_come else []
    coming = times.Interval(named[0].start, max(each.end for each in named)) if named else None
    is_plain = request.group is None and request.covers is None and request.choice == valid_period.Choice()
    if coming is None or not is_plain:
        return found
    period = valid_period.Period(coming, throughout=False)
    # Who is in a world by the end of that time may not be yet.
    by_end = window.at_valid(coming.end - 1)
    # The same first hits are looked at whatever is wanted.
    request, wanted = request._replace(k=max(request.k, ranking.LOOKED_AT)), request.k
    spanned = recall(by_end, request._replace(choice=valid_period.Choice(period=period)))
    # What begins between two times that are named is not meant.
    by_then = tuple(hit for hit in spanned.hits if hit.valid.start <= now or _is_within(hit, named))
    begins = [hit.valid.start for hit in by_then if hit.valid.start > now]
    begins += [version.valid.start for hit in by_then for version in hit.others if version.valid.start > now]
    at = max(begins, default=coming.start)
    then = recall(window.at_valid(at), request)
    # By the last of several named times the first is past; what held then alone is taken as it was found by then.
    holding = [hit for hit in then.hits if len(named) == 1 or hit.valid.end > at]
    held = {hit.version for hit in holding}
    # What is over again by the last of it answers as well as it did.
    over = [hit for hit in by_then if hit.valid.start > now and hit.version not in held]
    first = sorted([*holding, *over], key=lambda hit: -round(hit.score, 6)) if over else holding
    first = [hit for hit in first if hit.valid.start <= now or len(named) == 1 or _is_within(hit, named)]
    rest = request.question.without_times if request.question.times else ""
    if request.question.asks_only_for_time or (rest and asked_terms.has_only_light_words(rest)):
        # Of what somebody has on a day, that day's appointments come first.
        first.sort(key=lambda hit: all(hit.valid.start < each.start or hit.valid.end > each.end for each in named))
    held |= {hit.version for hit in over}
    now_said = [hit for hit in found.hits if hit.version not in held]
    merged = _with_present(first, now_said, request.question)
    unknown = _not_known_yet(merged, request.question, now)
    hits = tuple(_after_what_holds(merged, unknown, now)[:wanted])
    new = [hit for hit in first if hit.valid.start > now]
    if not new:
        return found
    shown = {hit.ref for hit in hits}
    pairs = dict.fromkeys(pair for pair in (*then.competing, *found.competing) if {pair.ref, pair.earlier} <= shown)
    ahead = [hit for hit in new if hit.ref in shown and hit not in unknown]
    # What then has what is asked is not weak for that nothing has it now.
    is_dated = request.question.asks_only_for_time and answer.is_of_time(hits[0].scores)
    is_asked = is_dated or answer.has_asked_word(hits[0], request.question)
    coming_judged = spanned if then.weak else then
    is_told = found.weak and not coming_judged.weak and hits[0] in new and is_asked
    judged = coming_judged if is_told else found
    told = answer.note_of_future(ahead, unknown, request.question, hits[:1], weak=judged.weak)
    return msgspec.structs.replace(
        found,
        hits=hits,
        competing=tuple(pairs),
        note=answer.joined((told, judged.note)),
        weak=judged.weak,
        confidence=judged.confidence,
    )


def _with_present(
    first: Sequence[records.Hit], now_said: Sequence[records.Hit], question: Question
) -> list[records.Hit]:
    """What holds then, each with what its world says now behind it, and the other hits of now.

    "When does the train go?" may ask for now as well, so what holds until a coming hit begins stays before it.
    """
    asks_when = question.asks_when and not question.times
    until = {hit.valid.end: hit.ref for hit in reversed(now_said)} if asks_when else {}
    left, hits = {hit.ref: hit for hit in now_said}, list[records.Hit]()
    for hit in first:
        earlier = until.get(hit.valid.start)
        if earlier is not None and earlier in left:
            hits.append(left.pop(earlier))
        hits.append(hit)
        if hit.ref in left:
            hits.append(left.pop(hit.ref))
    return [*hits, *left.values()]


def _not_known_yet(hits: Sequence[records.Hit], question: Question, now: int) -> list[records.Hit]:
    """What begins after the time of a view, and was written after it, where "when is …?" may be of what held then.

    In the present there is none: what is still to begin is a plan that is known.
    """
    if not question.asks_when or question.times or question.is_of_what_comes:
        return []
    return [hit for hit in hits if hit.valid.start > now and hit.ingested_at > now]


def _after_what_holds(hits: Sequence[records.Hit], unknown: Sequence[records.Hit], now: int) -> list[records.Hit]:
    """Hits, of which those not known yet come behind the others that answer about as well."""
    if not unknown:
        return [*hits]
    least = answer.NOTED_SHARE * max(hit.score for hit in hits)
    before = [hit for hit in hits if hit not in unknown and hit.score >= least]
    return [*before, *unknown, *(hit for hit in hits if hit not in unknown and hit not in before)]


def _coming_intervals(request: Request, found: records.Recall, now: int) -> list[times.Interval]:
    """The future parts of the named times that are not over; none for past times."""
    if request.question.asks_of == "past":
        return []
    if not request.question.times:
        return [times.Interval(now + 1, times.FOREVER)] if request.question.asks_of == "ahead" else []
    spans = (times.Interval(max(span.start, now + 1), span.end) for span in found.times)
    return sorted(span for span in spans if span.start < span.end)


def _is_within(hit: records.Hit, named: Sequence[times.Interval]) -> bool:
    """True if a hit holds at some time of one of these intervals."""
    return any(hit.valid.start < each.end and each.start < hit.valid.end for each in named)


Compare = Callable[[visible.VisibleSnapshot, candidates.Gate, dict[int, float | None]], Answered]


def compared(
    window: Window, request: Request, compare: Compare[Answered], names: Sequence[str] | None = None
) -> Answered:
    """The results of ``compare`` for the worlds nearest to a text, best first, each with its cosine if it has a vector.

    It is given the snapshot in which they were found, and the gate through which they passed. No records are made of
    them. ``names`` are what the text calls whom it is about, if that is known; else they are looked up.

    Raises:
        InputError: as :func:`recall` does.
    """

    def gate_in(snapshot: visible.VisibleSnapshot) -> candidates.Gate:
        return candidates.Gate(snapshot, searched_world(window, snapshot, request), request.choice, memories=True)

    def by(
        window: Window,
        request: Request,
        looked_up: _QuestionFacts,
        text: text_lane.PresentTextLane | None,
        opened: _Opened,
    ) -> tuple[Answered]:
        # Statements of one subject all have its names, which would make them near one another.
        about = looked_up.about._replace(speakers=looked_up.about.names, mentioned=())
        subject = _embed_question(window, request, looked_up._replace(about=about))
        with opened as snapshot:
            present = None if text is None else _present_indexes(window, snapshot, request, text, subject.query)
            indexes, gate = present or _exact_indexes(window, snapshot, request, subject), gate_in(snapshot)
            return (compare(snapshot, gate, ranking.find_nearest(snapshot, gate, indexes.lanes, request)),)

    answered = _answer_with_indexes(window, request, by, names)
    if answered is not None:
        return answered[0]
    with window.snapshot() as snapshot:
        return compare(snapshot, gate_in(snapshot), {})


def _answer_with_indexes(
    window: Window,
    request: Request,
    by: Callable[[Window, Request, _QuestionFacts, text_lane.PresentTextLane | None, _Opened], Answered],
    names: Sequence[str] | None = None,
) -> Answered | None:
    """The answer to a request, made by the present indexes, or of precisely what is seen; none to no question."""
    request.check()
    if not answer.asks_something(request.question.text):
        with window.snapshot() as snapshot:
            searched_world(window, snapshot, request)
        return None
    exact, through = request.exact or window.place.is_confined, window.place.moment.seq
    with window.snapshot() as snapshot:
        looked_up = _read_question_facts(window, snapshot, request, names, exact=exact)
        answered: Answered | None = None
        if not exact and set(request.lanes) == {TEXT}:
            with closing(window.present_lane(looked_up.head)) as text:
                if text.is_ready(through=through):
                    answered = by(window, request, looked_up, text, nullcontext(snapshot))
    if exact:
        answered = by(window, request, looked_up, None, window.snapshot())
    elif answered is None:
        with closing(window.present_lane(looked_up.head)) as text:
            # The index catches up here, which must not happen inside of a transaction.
            text.prepare(through=through)
            begin_search(window, request, text)
            answered = by(window, request, looked_up, text, window.snapshot())
    window.keep()
    return answered


def _answer(
    window: Window,
    request: Request,
    looked_up: _QuestionFacts,
    text: text_lane.PresentTextLane | None,
    opened: _Opened,
) -> tuple[records.Recall, bool]:
    """The answer by the present indexes, of which ``text`` is one, or by scratch ones, with what ``_recall`` adds."""
    seq, exact = window.place.moment.seq, text is None
    subject = _embed_question(window, request, looked_up)
    query = subject.query
    with opened as snapshot:
        present = None if text is None else _present_indexes(window, snapshot, request, text, query)
        indexes = present or _exact_indexes(window, snapshot, request, subject)
        request = _of_oneself(request, subject.about, indexes.lanes.text)
        found, in_short = _retrieve_hits(window, snapshot, request, subject, indexes)
        model = "" if query is None else query.model
        apart = _cosines_without_names(indexes.lanes.vector, subject, found)
        judge = answer.Judge(request, found.lanes, model, subject.about, apart)
        every, groups, judged = _shown_hits(window, snapshot, request, found, judge)
        searched = partial(_count_searched, window, snapshot, request)
        rests_on_nothing = answer.is_by_chance(judged, found.lanes, request, model, searched, subject.about)
        confidence = judge.answer(by_chance=rests_on_nothing)
        weak = bool(every) and (
            rests_on_nothing or judge.is_unlikely(confidence, searched) or judge.lacks_asked_kind(confidence)
        )
        hits, groups, left = answer.likely(every, groups, request.min_confidence)
        rivals = answer.competing(snapshot, found.rivals)
        then = _held_then(window, snapshot, request, found)
        left_out = _worlds_left_out(window, snapshot, request, subject, present)
        pending = indexes.pending if present is None else _count_pending(window, snapshot, request, query)
        limited = None if request.filters is None else Filter(snapshot, window.spec, request.filters)
        unknown = [] if limited is None else limited.unknown()
        unheld = [] if limited is None or every else limited.unheld()
    if present is not None and query is not None and pending:
        window.reader.wake_embedding()
    unavailable = indexes.unavailable or subject.unavailable
    at_present = not exact and seq < indexes.indexed and TEXT in found.lanes
    recalled = records.Recall(
        hits=hits,
        groups=groups,
        exact=exact,
        indexed=indexes.indexed,
        lanes=found.lanes,
        unavailable={VECTOR: unavailable} if unavailable else {},
        pending=pending,
        space=query.name if query is not None and VECTOR in found.lanes else "",
        left_out=left_out,
        weak=weak,
        confidence=confidence,
        competing=rivals,
        **answer.notes_of(
            window.spec,
            request,
            found.lanes,
            unknown,
            unheld,
            weak=judge.note_of_weak(by_chance=rests_on_nothing) if weak else "",
            left=left,
            judged=confidence is not None,
            then=then,
            at_present=at_present,
            now=window.place.moment.valid,
            rivals=rivals,
            hits=hits,
        ),
    )
    told = tuple(filter(None, (in_short, answer.IN_FORKS if found.passed_forks else "")))
    recalled = msgspec.structs.replace(recalled, note=answer.joined((*told, recalled.note))) if told else recalled
    return recalled, found.left_out


def _of_oneself(request: Request, about: candidates.Named, text: text_lane.TextLane | None) -> Request:
    """A request in a user's world that names them, as they would ask it, if no text there has their name.

    Their own statements say "I" and "my", and a name that is nowhere would make all words that are there count less.
    """
    user, question = about.user_name, request.question
    called = user.casefold() in (name.casefold() for name in about.names)
    if not called or about.user or text is None:
        return request
    terms = analysis.query_terms(user)
    if any(text.counts(terms).having.get(term) for term in terms):
        return request
    return request._replace(question=Question(in_first_person(question.text, user), question.asked))


def _retrieve_hits(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, subject: _Subject, indexes: _Indexes
) -> tuple[Found, str]:
    """The best candidates; where summaries are preferred those in the place of what they sum up, where all of something
    is asked for the best exchanges, and a note of that."""
    if request.covers is not None:
        covered: tuple[Found, str] = request.covers.retrieved(window, snapshot, request, subject.about, indexes.lanes)
        return covered
    if not request.prefer_summaries:
        return retrieve(window, snapshot, request, subject.about, indexes.lanes), ""
    if request.group is not None or request.choice != valid_period.Choice():
        return retrieve(window, snapshot, request, subject.about, indexes.lanes), _NO_SUMMARIES
    # Loaded by who asks for it; a recall from the shell waits for what it loads.
    from worlddb.query.consolidation.fresh_summaries import summaries_in, summaries_of_containers

    wider = request._replace(k=min(MAX_K, _WIDER * request.k))
    found = retrieve(window, snapshot, wider, subject.about, indexes.lanes)
    filters = None if request.filters is None else Filter(snapshot, window.spec, request.filters)
    inside = searched_world(window, snapshot, request)
    gate = candidates.Gate(snapshot, inside, request.choice, request.least_trust, filters, memories=True)
    short = summaries_in(snapshot)
    shown: dict[int, ranking.Ranked] = {}
    summed_up: set[int] = set()
    for each in found.ranked:
        node, seen, score = each.passed[:3]
        if short.made_of(node) is not None and not short.is_fresh(node, seen):
            continue
        fresh = next((one for one in summaries_of_containers(snapshot, node) if gate.seen(one.node) is not None), None)
        if fresh is not None:
            summed_up.add(node)
            each = each._replace(passed=candidates.Passed(fresh.node, fresh.seen, score))
        if each.passed.node not in shown and len(shown) == request.k:
            break
        shown.setdefault(each.passed.node, each)
    told = (
        f"{len(summed_up)} hits are replaced by summaries of their worlds" if summed_up else "",
        f"{len(short.stale)} summaries are stale and were not used" if short.stale else "",
    )
    rivals = tuple(pair for pair in found.rivals if pair.later in shown)
    found = found._replace(ranked=list(shown.values()), behind=(), rivals=rivals)
    return found, "; ".join(each for each in told if each)


_WIDER: Final = 4
"""The factor by which more hits are ranked if one summary may replace several."""
_NO_SUMMARIES: Final = "summaries are not used with groups, spans of time or superseded versions"


def _read_question_facts(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, names: Sequence[str] | None, *, exact: bool
) -> _QuestionFacts:
    """Look up the entities in the question, unless they are known, and the embedding spaces to compare it in.

    A request that compares words alone looks nothing up.
    """
    head = 0 if snapshot.whole is None else snapshot.whole.log.head().seq
    if set(request.lanes) == {TEXT}:
        return _QuestionFacts(head)
    if window.place.is_confined:
        window.use_kept_world(snapshot, request.choice)
    if names is None:
        inside = searched_world(window, snapshot, request)
        user = "" if inside == ROOT_NODE else world_lookup.user_of(snapshot, inside)
        about = candidates.find_named_entities(snapshot, request.question, window.spec, user)
    else:
        about = candidates.NOBODY._replace(names=tuple(names))
    return _QuestionFacts(head, about, snapshot.answering_spaces(exact=exact) if VECTOR in request.lanes else ())


def _embed_question(window: Window, request: Request, looked_up: _QuestionFacts) -> _Subject:
    """Embed the question, unless nothing is compared by meaning.

    The names of those who speak in a talk are left out, because they would bring near all that they say; entities are
    a lane of their own. Any other name stays, since what has it tells of whoever has it; but it counts less than what
    is asked in particular, or each short text with the name would be nearer than what answers.
    """
    about, spaces = looked_up.about, looked_up.spaces
    if VECTOR not in request.lanes:
        return _Subject(about)
    made = window.reader.vector_query(without_names(request.compared_text, about.speakers), spaces)
    if isinstance(made, str):
        return _Subject(about, None, None, made, spaces)
    rest = without_names(request.compared_text, about.names) if about.mentioned else ""
    judging = window.reader.vector_query(rest, spaces) if rest and answer.asks_in_particular(rest) else ""
    if isinstance(judging, str):
        return _Subject(about, made, None, "", spaces)
    return _Subject(about, vector_lane.with_share(judging, made, NAME_SHARE), judging, "", spaces)


NAME_SHARE: Final = 0.4
"""The share of a question with its names beside what it asks in particular of whom it mentions; chosen on one half of
some everyday questions and judged on the other."""


def _cosines_without_names(
    vector: vector_lane.VectorLane | None, subject: _Subject, found: Found
) -> Mapping[int, float]:
    """By hit the cosine with what a question asks of whom it mentions: a name alone brings what has it near."""
    if vector is None or subject.judging is None:
        return {}
    pairs = [(hit.passed.node, hit.passed.seen.number) for hit in (*found.shown(), *found.behind)]
    return {node: cosine for (node, _), cosine in vector.asking(subject.judging).scores(pairs).items()}


def _lanes(
    request: Request, text: text_lane.TextLane, vector: vector_lane.VectorLane | None, model: str = ""
) -> ranking.Lanes:
    """The requested lanes that are available; ``model`` made the vectors."""
    worth = 1.0 if vector is None else scoring.WORD_WEIGHT_BY_MODEL.get(model, 1.0)
    return ranking.Lanes(text if TEXT in request.lanes else None, vector, ENTITY in request.lanes, worth)


def _present_indexes(
    window: Window,
    snapshot: visible.VisibleSnapshot,
    request: Request,
    text: text_lane.PresentTextLane,
    query: vector_lane.VectorQuery | None,
) -> _Indexes:
    """The present indexes."""
    vector = None if query is None else window.present_vectors(snapshot, query, text.indexed)
    return _Indexes(_lanes(request, text, vector, "" if query is None else query.model), text.indexed)


def _count_pending(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, query: vector_lane.VectorQuery | None
) -> int:
    """How many texts of the store have no vector, if the vector lane is asked for."""
    if VECTOR not in request.lanes or snapshot.whole is None:
        return 0
    return window.reader.pending_vectors(snapshot.whole, None if query is None else query.space)


def _exact_indexes(window: Window, snapshot: visible.VisibleSnapshot, request: Request, subject: _Subject) -> _Indexes:
    """Scratch indexes of precisely what is seen, and of a period when asked for."""
    made = _exact_lanes(window, snapshot, request, subject)

    def over(choice: valid_period.Choice) -> ranking.Lanes:
        return _exact_lanes(window, snapshot, request._replace(choice=choice), subject).lanes

    return made._replace(lanes=made.lanes._replace(over=over))


def _exact_lanes(window: Window, snapshot: visible.VisibleSnapshot, request: Request, subject: _Subject) -> _Indexes:
    """Scratch indexes of precisely what a choice shows."""
    text, query = window.exact_lane(snapshot, request.choice), subject.query
    if VECTOR not in request.lanes:
        return _Indexes(_lanes(request, text, None), text.indexed)
    if query is None:
        # Where no text has been embedded, no vector is of space 0: spaces are counted from 1.
        space, dimension = next(((each.number, each.row.dimension) for each in subject.spaces), (0, 1))
        waiting = window.exact_vectors(snapshot, space, dimension, request.choice).pending
        return _Indexes(_lanes(request, text, None), text.indexed, waiting)
    seen = window.exact_vectors(snapshot, query.space, query.dimension, request.choice)
    if not len(seen.vectors):
        return _Indexes(_lanes(request, text, None), text.indexed, seen.pending, NO_VECTORS)
    lanes = _lanes(request, text, vector_lane.ExactVectorLane(seen, query), query.model)
    return _Indexes(lanes, text.indexed, seen.pending)


def _shown_hits(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, found: Found, judge: answer.Judge
) -> tuple[tuple[records.Hit, ...], tuple[records.Group, ...], tuple[records.Hit, ...]]:
    """The hits as records, the groups of them, if groups are asked for, and those by which an answer is judged."""
    scope = snapshot.scope(searched_world(window, snapshot, request))
    asked = (window, snapshot, scope, request)
    if found.groups is None:
        hits = tuple(answer.hit_of(*asked, ranked, judge) for ranked in (*found.ranked, *found.behind))
        return hits[: len(found.ranked)], (), hits[: ranking.LOOKED_AT]
    groups = tuple(answer.group_of(*asked, group, judge) for group in found.groups)
    hits = tuple(hit for group in groups for hit in group.hits)
    return hits, groups, hits


def _held_then(window: Window, snapshot: visible.VisibleSnapshot, request: Request, found: Found) -> bool:
    """True if a hit replaced what held at a time in the question, or held then and no longer does."""
    past = request.past_times(snapshot.place.moment.valid)
    if not past:
        return False
    earlier = candidates.Gate(
        snapshot,
        searched_world(window, snapshot, request),
        valid_period.Choice(include_superseded=True),
        request.least_trust,
        memories=True,
    )
    return has_past_version(snapshot, earlier, found.shown(), past)


def _worlds_left_out(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, subject: _Subject, present: _Indexes | None
) -> tuple[str, ...]:
    """The worlds valid at some instant of a span, but not throughout it, that would be hits."""
    period = request.choice.period
    if period is None or not period.throughout:
        return ()
    # At most one version is valid throughout a span, and then no other one is valid in it.
    wider = request._replace(choice=valid_period.Choice(period=period.touched))
    indexes = present or _exact_indexes(window, snapshot, wider, subject)
    found = retrieve(window, snapshot, wider, subject.about, indexes.lanes)
    short = (hit.passed.node for hit in found.shown() if not period.admits(hit.passed.seen.validity))
    return tuple(snapshot.tables.node(node).lineage.hex() for node in dict.fromkeys(short))


def _count_searched(window: Window, snapshot: visible.VisibleSnapshot, request: Request) -> int:
    """About how many worlds are searched: those inside if they are few, else all that are seen."""
    moment, top = snapshot.place.moment, snapshot.place.top
    inside = searched_world(window, snapshot, request)
    if inside == top:
        return snapshot.population()
    # What is cached for a view for users has the members that belong to others, too.
    known = None if snapshot.others is not None else snapshot.known_members(inside)
    members = known or members_below(snapshot.tables, inside, moment, _MAX_COUNTED)
    return snapshot.population() if members is None or len(members) > _MAX_COUNTED else len(members)
