"""The answer of a recall: hits and groups as records, notes for a reader, and confidence.

Recall always returns the nearest worlds, however far away they are, so an answer says if it rests on nothing. The
figures are in ``docs/confidence.md``. Nothing here changes what is found, or in which order.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log, sqrt
from types import MappingProxyType
from typing import Any, Final, TypedDict

import msgspec

from worlddb.log.model.errors import InputError, beginning, shown
from worlddb.log.model.times import ALWAYS, FOREVER, format_time, lazy
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads import asof
from worlddb.query.claims import asked_terms, chat_changes, claim_frame, lexicon
from worlddb.query.lanes import text_lane
from worlddb.query.question import question_dates
from worlddb.query.question.question import (
    COMBMAX,
    CONVEX,
    ENTITY,
    INFERRED,
    RRF,
    TEXT,
    VECTOR,
    Question,
    Request,
    without_names,
    without_opening,
)
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.recall import candidates, ranking, retrieve, rivalry, scoring
from worlddb.query.records import records
from worlddb.query.snapshot import edge_rules, provenance, valid_period, visible
from worlddb.query.snapshot.snapshot import Scope

_TURN: Final = type_digest("Turn")
MAX_OTHERS: Final = 20
"""How many other versions of a world a hit shows."""
_REASON_FROM: Final = {
    **{VECTOR: 0.1, scoring.TALK: 0.1, "when": 0.1 * scoring.WHEN_WEIGHT},
    **{scoring.EXCHANGE: 1e-6, scoring.FITS: 1e-6},
}
"""The least contribution to a score that is named as a reason: the cosines of unrelated texts scatter by 0.1, and
every text is a little near every time."""


LOOKED_AT: Final = ranking.LOOKED_AT
"""From so many first hits, as far as they state something, the confidence of an answer is computed."""


class Judge:
    """Computes the confidence of each hit, and then of the answer; see :class:`scoring.Fitted`.

    There is none where no coefficients were fitted: for other models, single lanes and other fusions. ``apart`` are the
    cosines of hits with the question without its names, by which they are judged where a name brought them near.
    """

    def __init__(
        self,
        request: Request,
        lanes: Sequence[str],
        model: str,
        about: candidates.Named,
        apart: Mapping[int, float] = MappingProxyType({}),
    ) -> None:
        self._apart = apart
        self._fitted: scoring.Fitted | None = None
        if (
            request.fusion == CONVEX
            and request.fields is None
            and not request.type_weights
            and TEXT in lanes
            and (VECTOR in lanes or ENTITY in lanes)
        ):
            self._fitted = scoring.FITTED.get(model if VECTOR in lanes else scoring.WORDS_ALONE)
        self._lane = VECTOR if VECTOR in lanes else TEXT
        self._scatter = SCATTER.get(model, 0.0)
        self._is_little_known = model in _ENGLISH_ALONE and bool(analysis.language_of(request.question.text))
        self._is_german = analysis.language_of(request.question.text) == "de"
        self._names = ENTITY in lanes and bool(about.entities or about.sides)
        self._person = ENTITY in lanes and about.is_about_one_of_several
        # All that a user says has the name, so that it tells nothing.
        told = [name for name in about.names if name.casefold() == about.user_name.casefold()]
        self._asks_only_for_time = request.question.asks_only_for_time
        self._may_lack = not request.question.times
        self._text = without_names(request.question.subject_text, told)
        self._telling = without_names(_HOW_MANY.sub("", without_opening(request.question.without_times)), told)
        self._untold = frozenset(word.casefold() for name in told for word in name.split())
        # All in a user's world is said by or to them, so that a name in a text is whom or what it is about.
        self._calls = [frozenset(name.casefold().split()) for name in about.names] if about.user else []
        # Among what one user says and is told, a bank that they use is any that is theirs.
        asked = analysis.query_stems(self._telling) if about.user_name else frozenset[str]()
        called = " ".join(" ".join(call) for call in self._calls)
        self._called = frozenset(analysis.analyze(called).stems) if called else frozenset[str]()
        if asked:
            asked = asked - asked_terms.little_stems() - analysis.query_stems(request.question.wish)
        self._required = asked
        self._top, self._best, self._is_complete = 0.0, 0.0, False
        self._seen, self._shown, self._contents = 0, list[scoring.HitFeatures](), list[str]()
        self._is_of_type = False
        # In a user's world whoever lives with them leads wherever their name is asked for.
        self._is_by_name_alone = bool(self._calls and about.user_name)

    def hit(self, found: ranking.Ranked, content: str, words: Sequence[str]) -> float | None:
        """The probability that a hit answers; ``words`` are those that it shares with the question.

        It is compared with the best hit before it, so that more hits change nothing. The best one, if it has all words
        of the question but its times, has at least what an answer needs that is not weak: in a long text they score
        little. So it has if the question asks for whatever is at a time, and it is of that.
        """
        if scoring.OF_TYPE in found.parts:
            self._is_of_type = True
            return 1.0
        if self._fitted is None:
            return None
        parts = found.parts
        if self._is_german:
            # A word of the question may be a part of one in the text, or the other way round.
            read = chat_changes.in_asked_words(self._text, content[:_COMPOUNDS_WITHIN])
            words = text_lane.matched(self._text, "", read)
        words = [word for word in words if word.casefold() not in self._untold] if self._untold else words
        covered = text_lane.coverage(self._text, words)
        said = {word.casefold() for word in words} if self._calls else frozenset[str]()
        is_of = parts.get(ENTITY, 0.0) > 0 or any(call <= said for call in self._calls)
        compared = parts.get(self._lane, 0.0)
        less = compared - self._apart[found.passed.node] if found.passed.node in self._apart else 0.0
        score = bare(found)
        seen = scoring.HitFeatures(score - less, compared - less, covered, is_of)
        is_best = score >= self._top
        self._top, self._best = max(self._top, score), max(self._best, seen.score)
        is_told = parts.get(scoring.TOLD, 0.0) > 0
        is_complete = is_best and (
            covered >= 1
            or (self._asks_only_for_time and is_of_time(parts))
            or self._has_all_telling(words, content, is_told=is_told)
        )
        self._seen += 1
        if content and self._seen <= LOOKED_AT:
            self._is_complete = is_complete if is_best else self._is_complete
            self._shown.append(seen)
            self._contents.append(content)
            self._may_lack = self._may_lack and found.passed.seen.row.type != _TURN
            if self._is_by_name_alone:
                self._is_by_name_alone = self._called.issuperset(analysis.analyze(" ".join(words)).stems)
        likely = scoring.likelihood(self._fitted.hit, scoring.hit_evidence(seen, self._best, names=self._names))
        return round(max(likely, scoring.WEAK_BELOW) if is_complete else likely, 4)

    def _has_all_telling(self, words: Sequence[str], content: str, *, is_told: bool) -> bool:
        """True if a hit, which has not all words of the question, has all telling ones.

        In a user's world those that tell little need not be there, of what states something; what has the number that
        is asked for tells what is paid.
        """
        found, said = words, " ".join(words)
        if self._telling != self._text or not said.isascii():
            found = text_lane.matched(self._telling, "", said)
            if text_lane.coverage(self._telling, found) >= 1:
                return True
        required = self._required - lexicon.stem_set(_PAYING) if is_told else self._required
        # "How much does Ben earn?" is not told by what something of Ben's costs.
        is_there = not required <= self._called and required <= text_lane.stood_for(self._telling, found)
        return is_there and not analysis.is_asking(content)

    def answer(self, *, by_chance: bool) -> float | None:
        """The probability that one of the hits answers, computed from those that state something.

        ``by_chance``: they are no nearer than unrelated texts are by chance. If the best of them has all words of the
        question, it has at least what an answer needs that is not weak, as the hit has. What is of the type that a
        question asks for all of answers it.
        """
        if self._is_of_type:
            return 1.0
        if self._fitted is None:
            return None
        if not self._shown:
            return 0.0
        evidence = scoring.answer_evidence(self._shown, person=self._person and not self._is_by_name_alone)
        likely = scoring.likelihood(self._fitted.answer, evidence)
        if self._is_complete:
            likely = max(likely, scoring.WEAK_BELOW)
        return round(min(likely, scoring.BY_CHANCE) if by_chance else likely, 4)

    def is_unlikely(self, confidence: float | None, searched: Callable[[], int]) -> bool:
        """True if an answer by meaning is weak for its confidence alone.

        Of fewer worlds than in a conversation of the fit that takes less of it, as by chance they come less near.
        ``searched`` counts them, and is only called if it matters.
        """
        if self._fitted is None or confidence is None or confidence >= scoring.WEAK_BELOW or self._lane != VECTOR:
            return False
        count = searched()
        if count < scoring.FEWEST:
            return False
        nearer = chance_level(self._scatter, _FITTED_ON) - chance_level(self._scatter, count)
        return confidence < scoring.shifted(scoring.WEAK_BELOW, -self._fitted.answer[1] * max(0.0, nearer))

    def lacks_asked_kind(self, confidence: float | None) -> bool:
        """True if statements answer that are not likely to, and none has a value of the kind that is asked for.

        That is a time, a number, a person, a place or a colour, in what has a word for what is asked: of whose
        birthday nothing is known, the day of their choir is no answer.
        """
        asks = self._text
        # What is said in a conversation, or held at a time in the question, is told by when it was so, too.
        is_open = self._may_lack and confidence is not None and confidence < _LIKELY
        if self._fitted is None or not is_open or analysis.language_of(asks) or not chat_changes.kind_asked(asks):
            return False
        whom = _BESIDE.split(asks, 1)[0]
        named = (self._called | chat_changes.people_in(whom)) & chat_changes.content_of(whom)
        asked = asked_terms.asked_of(asks).all - named
        is_for_person = chat_changes.kind_asked(asks) == "name"

        def may_tell(content: str) -> bool:
            words = chat_changes.words_of(content)
            stems = lexicon.stems(words)
            if any(some and some.isdisjoint(stems) for some in (named, asked)):
                return False
            return chat_changes.tells_asked_kind(content, asks) or (is_for_person and not _SPEAKING.isdisjoint(words))

        return not any(map(may_tell, self._contents))

    def note_of_weak(self, *, by_chance: bool) -> str:
        """The note of a weak answer: what speaks against its hits, as far as that can be said in words.

        Where the question is in a language that the model does not know, it says that too.
        """
        return self._what_speaks_against(by_chance=by_chance) + _LITTLE_KNOWN * self._is_little_known

    def _what_speaks_against(self, *, by_chance: bool) -> str:
        if by_chance:
            is_shared = any(hit.coverage for hit in self._shown)
            return _LOW_CONFIDENCE.format(_COMMON_WORDS if is_shared else _NO_WORDS)
        if not self._shown:
            return _SELDOM
        _, coverage, lead, _ = scoring.answer_evidence(self._shown, person=self._person)
        against = [_FEW_WORDS] * (coverage <= _FEW) + [_OF_OTHERS] * (lead < 0)
        return ", since ".join((_SELDOM, *filter(None, [" and ".join(against)])))


_BESIDE: Final = re.compile(r"\b(?:before|after|since|until|with)\b", re.I)
"""Behind such a word others are named than those of whom a question asks."""
_SPEAKING: Final = lexicon.word_set("i we")
_LIKELY: Final = 0.35
"""The confidence below which an answer needs a value of the kind that is asked for."""
_ANYTHING: Final = lazy(
    r"\b(?:tell|show|summar\w+|overview|updates?|news|any|anything|something|everything|whatever|info(?:rmation)?"
    r"|facts?|details?|not(?:es?|ed)|remember|recall|mind|mentioned|heard|about)\b",
    re.I,
)
"""Words of a question for whatever is known of somebody or something."""


def asks_in_particular(rest: str) -> bool:
    """True if a question without the names in it asks something of them, and not for whatever is known."""
    return not asked_terms.has_only_light_words(_ANYTHING.sub(" ", rest))


_FITTED_ON: Final = 500
"""About the number of messages in a conversation of the fit."""


_COMPOUNDS_WITHIN: Final = 1200
"""The characters of a German text in which parts of compounds are looked for."""
_PAYING: Final = "pay paying cost price spend charge earn make"
_HOW_MANY: Final = lazy(r"\bhow (?:many|much)\b", re.I)
_FEW: Final = 0.5
"""The share of a question's words that is called few."""


def likely(
    hits: tuple[records.Hit, ...], groups: tuple[records.Group, ...], least: float | None
) -> tuple[tuple[records.Hit, ...], tuple[records.Group, ...], int]:
    """The hits and groups without hits of less confidence than wanted, and the number left out.

    Hits without a confidence stay. A group without any hit left is dropped, too.
    """
    if least is None:
        return hits, groups, 0

    def kept(some: tuple[records.Hit, ...]) -> tuple[records.Hit, ...]:
        return tuple(hit for hit in some if hit.confidence is None or hit.confidence >= least)

    left = kept(hits)
    cut = (msgspec.structs.replace(group, hits=kept(group.hits)) for group in groups)
    return left, tuple(group for group in cut if group.hits), len(hits) - len(left)


_NOT_BARE: Final = (
    *("home", "governs", scoring.TALK, scoring.AROUND, scoring.EXCHANGE, scoring.PLACE, scoring.KEPT),
    *(scoring.OPENING, scoring.FITS),
)


def bare(found: ranking.Ranked) -> float:
    """A score without the parts for home, instructions, exchanges, talks, openings and exchanged places."""
    parts = found.parts
    return found.score - sum([parts[part] for part in _NOT_BARE if part in parts])


def _since_its_text(snapshot: visible.VisibleSnapshot, node: int, number: int, valid: records.Valid) -> records.Valid:
    """When a hit holds, from the first of the versions on that say the same without a gap."""
    if snapshot.tables.node(node).versions == 1:
        return valid
    from worlddb.query.history import lineage  # A recall from the shell waits for what it loads.

    return records.Valid(lineage.start_of_text(lineage.coalesced(snapshot, node), number, valid.start), valid.end)


def _versions_then(
    snapshot: visible.VisibleSnapshot, request: Request, found: ranking.Ranked
) -> list[asof.SeenVersion]:
    """What a statement says beside what is shown of it, at a time in the question or now: what was corrected.

    What replaced another world is a hit beside that. Turns of a conversation are left out: who corrects one says what
    was said.
    """
    past = request.past_times(snapshot.place.moment.valid)
    node, seen, *_ = found.passed
    if not past or seen.row.type == _TURN:
        return []
    tables, moment = snapshot.tables, snapshot.place.moment
    if scoring.THEN in found.parts:
        now = request.choice.version(tables, node, moment)
        return [] if now is None or snapshot.body(now.row) is None else [now]
    held = (each for period in past for each in valid_period.versions_in(tables, node, moment, period))
    said = {
        each.number: each for each in held if each.row.body != seen.row.body and snapshot.body(each.row) is not None
    }
    return list(said.values())


def hit_of(
    window: Window,
    snapshot: visible.VisibleSnapshot,
    scope: Scope,
    request: Request,
    found: ranking.Ranked,
    judge: Judge,
) -> records.Hit:
    """A ranked candidate as a record; its ``world`` is the first container that is searched."""
    node, seen, _, literal = found.passed
    text, choice = request.question.subject_text, request.choice
    containers = snapshot.containers(node)
    is_short = False
    if request.prefer_summaries:
        # Loaded by who asks for it; a recall from the shell waits for what it loads.
        from worlddb.query.consolidation.fresh_summaries import summaries_in

        is_short = summaries_in(snapshot).is_fresh(node, seen)
    world = build.world_of(
        snapshot, node, seen, window.place.moment, window.spec, choice.period, without_bases=is_short
    )
    container = next(filter(scope.sees, containers), containers[0] if containers else None)
    each = choice.versions(snapshot.tables, node, window.place.moment) if choice.allows_several else ()
    others = [other for other in (*each, *_versions_then(snapshot, request, found)) if other.number != seen.number]
    if others and request.least_trust and snapshot.has_trust_statements:
        trust = provenance.trust_in(snapshot)
        others = [other for other in others if trust.is_at_least(node, other.row, request.least_trust)]
    said = world.content
    if literal:
        from worlddb.projections.tables.statements import literal_rows

        said += f"\n{literal_rows.text_of(snapshot.stored.log, snapshot.stored.tables, node, literal)}"
    implied: dict[str, Any] = {}
    if INFERRED in found.parts:
        from worlddb.query.enrichment.inferred import inferred_fields

        implied = inferred_fields(snapshot, node)
    words = text_lane.matched(text, world.name, said) if TEXT in found.parts else []
    return records.Hit(
        ref=world.ref,
        version=world.version,
        type=world.type,
        name=world.name,
        content=world.content,
        score=round(found.score, 6),
        lanes=found.ranks,
        reason=_reason(words, found),
        world="" if container is None else snapshot.tables.node(container).lineage.hex(),
        valid=world.valid if choice.allows_several else _since_its_text(snapshot, node, seen.number, world.valid),
        seq=world.seq,
        ingested_at=world.ingested_at,
        author=world.author,
        source=world.source,
        conflicts=world.conflicts,
        scores={lane: round(part, 6) for lane, part in found.parts.items()},
        others=tuple(build.version(snapshot, node, other) for other in others[:MAX_OTHERS]),
        others_left=max(0, len(others) - MAX_OTHERS),
        rests_on=world.rests_on,
        rests_on_more=world.rests_on_more,
        trust=world.trust,
        stale=world.stale,
        restated=world.restated,
        expires_at=world.expires_at,
        pinned=world.pinned,
        labels=world.labels,
        properties=world.properties,
        in_ended=world.in_ended,
        confidence=judge.hit(found, world.content, words),
        inferred=implied,
    )


def group_of(
    window: Window,
    snapshot: visible.VisibleSnapshot,
    scope: Scope,
    request: Request,
    found: retrieve.Grouped,
    judge: Judge,
) -> records.Group:
    """A group as a record, named as in the version that the view shows, else in the newest."""
    tables, moment = snapshot.tables, window.place.moment
    seen = request.choice.version(tables, found.node, moment) or asof.newest_version(tables, found.node, moment.seq)
    body = None if seen is None else snapshot.body(seen.row)
    return records.Group(
        ref=tables.node(found.node).lineage.hex(),
        type="" if body is None else body.type,
        name="" if body is None else body.name,
        score=round(found.score, 6),
        count=found.size,
        hits=tuple(hit_of(window, snapshot, scope, request, hit, judge) for hit in found.hits),
    )


MAX_ASKED: Final = 1_000
"""The number of hits requested to explain why a world is none."""


_FILTERS: Final = frozenset(
    (
        *("world", "scopes", "about", "speaker", "type", "author", "source", "since", "until", "label", "properties"),
        *("tag", "min_trust", "min_confidence", "prefer_summaries", "siblings"),
    )
)
"""The options of a recall that leave something out."""
_SHOWING: Final = ("include_superseded", "include_expired", "include_deprecated", "during", "overlaps")
"""Those that show what a view does not."""


def why_not(
    window: Window, ref: Any, k: int, options: Mapping[str, Any], ask: Callable[..., records.Recall]
) -> records.Absence:
    """Why a world is not among the ``k`` hits of ``ask(k=k, **options)``; see :meth:`worlddb.View.why_not`."""
    for name in ("group", "receipt"):
        if options.get(name):
            raise InputError(f"why_not explains single hits, and {name} was given", f"Leave {name} out")
    with window.snapshot() as snapshot:
        node = world_lookup.named_node(snapshot, window.spec, ref, unify=window.unify)
        lineage = snapshot.ref(node)
    found = ask(k=k, **options)
    shown = any(hit.ref == lineage for hit in found.hits)
    with window.snapshot() as snapshot:
        seen = build.world(snapshot, node, window.place.moment, window.spec)
    if seen is None and not shown and not any(options.get(way) for way in _SHOWING):
        reason = "the view does not show it: it has ended, begins later, is hidden, or has lost its text"
        least = min((hit.score for hit in found.hits), default=0.0)
        return records.Absence(
            ref=lineage, step="view", rank=0, score=0.0, least=least, lanes={}, scores={}, reason=reason
        )
    most = max(k, MAX_ASKED)
    wider = ask(k=most, **options)
    unfit = [name for name in options if name in _FILTERS and options[name]]
    if unfit and all(hit.ref != lineage for hit in wider.hits):
        free = ask(k=most, **{name: options[name] for name in options.keys() - unfit})
        unfit = unfit if any(hit.ref == lineage for hit in free.hits) else []
    else:
        unfit = []
    if all(hit.ref != lineage for hit in wider.hits) and (reason := _why_no_memory(window, node, seen, options)):
        unfit.append(reason)
    return _why_below(lineage, k, found, wider, unfit)


def _why_no_memory(window: Window, node: int, seen: records.World | None, options: Mapping[str, Any]) -> str:
    """Why a recall leaves out a world that is no memory; empty if it does not."""
    from worlddb.query.forks import fork_reads

    if seen is not None and seen.type == "DreamReport":
        return "" if options.get("type") else 'reports of Dream State are found by type="DreamReport"'
    with window.snapshot() as snapshot:
        if not snapshot.has_forks:
            return ""
        given = options.get("world")
        inside = window.place.top
        if given is not None:
            inside = world_lookup.named_node(snapshot, window.spec, given, unify=window.unify)
        is_apart = fork_reads.ForkMembership(snapshot, inside)(node)
    return "it lies in a fork; search inside the fork to find it" if is_apart else ""


def _why_below(ref: str, k: int, found: records.Recall, wider: records.Recall, unfit: Sequence[str]) -> records.Absence:
    """Why a visible world is not among the ``k`` hits ``found``, judged by those of a ``wider`` recall.

    ``unfit`` names the filter that leaves it out, if one does.
    """
    least = min((hit.score for hit in found.hits), default=0.0)
    rank, hit = next(((rank, hit) for rank, hit in enumerate(wider.hits, 1) if hit.ref == ref), (0, None))
    shown = next((rank for rank, each in enumerate(found.hits, 1) if each.ref == ref), 0)

    def told(step: str, reason: str) -> records.Absence:
        if hit is None:
            return records.Absence(
                ref=ref, step=step, rank=0, score=0.0, least=least, lanes={}, scores={}, reason=reason
            )
        at = shown or rank
        return records.Absence(
            ref=ref, step=step, rank=at, score=hit.score, least=least, lanes=hit.lanes, scores=hit.scores, reason=reason
        )

    if shown:
        return told("", f"it is hit {shown}")
    if unfit:
        return told("filters", f"a filter leaves it out: {', '.join(unfit)}")
    if hit is None:
        return told("lanes", f"no lane proposes it, even for {MAX_ASKED:,} hits")
    depth, last = ranking.depth_for(k), found.hits[-1] if found.hits else None
    ranks = ", ".join(f"{lane} rank {place}" for lane, place in hit.lanes.items())
    if not any(place <= depth for place in hit.lanes.values()):
        return told("lanes", f"no lane has it among its first {depth}" + (f" ({ranks})" if ranks else ""))
    lacking = {} if last is None else {lane: part - hit.scores.get(lane, 0.0) for lane, part in last.scores.items()}
    worst = sorted((-lack, lane) for lane, lack in lacking.items() if lack > 0)[:_LACKS_SHOWN]
    lacks = ", ".join(f"{lane} by {-lack:.3f}" for lack, lane in worst)
    reason = f"it has rank {rank} with a score of {hit.score:.3f}; the last hit has {least:.3f}"
    return told(
        "score", reason + (f", and it scores less in {lacks}" if lacks else "") + (f" ({ranks})" if ranks else "")
    )


_LACKS_SHOWN: Final = 2


def _reason(words: Sequence[str], found: ranking.Ranked) -> str:
    """The reason of a hit in words: the words that it shares, and other evidence."""
    shared = f"text: {', '.join(words)}" if words else "text"
    if found.passed.literal:
        shared += " (in a statement)"
    speaking = {lane for lane, part in found.parts.items() if part >= _REASON_FROM.get(lane, part)}
    said = [shared if lane == TEXT else reason for lane, reason in _REASONS.items() if lane in speaking]
    return "; ".join(said) or "among the nearest"


_REASONS: Final = {
    TEXT: "text",
    VECTOR: "close in meaning",
    ENTITY: "by or about a person in the question",
    "when": "near the time in the question",
    "before": "follows a matching turn",
    scoring.TALK: "in a matching conversation",
    "governs": "the nearest standing instruction",
    scoring.KEPT: "says how to answer the question; a place is reserved for such hits",
    scoring.EXCHANGE: "in a matching exchange",
    scoring.NEWER: "newer than a hit that it contradicts",
    scoring.SUPERSEDED: "superseded by the hit before it",
    scoring.THEN: "was true at the time in the question, and no longer is",
    scoring.STATE: "was true at the time in the question",
    scoring.OVER: "is over, and the question is about the past",
    scoring.MADE: "derived from a matching turn",
    scoring.REPLIED: "beside a short reply, which comes behind what it replies to",
    scoring.BEFORE: "was so before the hit behind it, as the question asks",
    scoring.PRECEDED: "was true until what the question names began",
    scoring.FITS: "tells what is asked for, where a better hit does not or was said too late",
    scoring.EXACT: "has the number in the question, and the next best hit has another",
    scoring.IN_WORDS: "said in words, as the question asks, where a better hit is a call of a tool or its result",
    scoring.LATER: "later than a competing hit about the same subject",
    scoring.UPDATED: "later than the best hit and near it in meaning, so that it may be an update",
    scoring.UNTIL: "true until a better hit begins, which is a plan or after the time in the question",
    scoring.NOW: "true now, where a better hit is past, possible, occasional or denied",
    scoring.OWN: "about the person in the question, where a better hit is about somebody or something else",
    scoring.TOLD: "has a number, a time, an age or a price, as the question asks",
    scoring.OF_TYPE: "of the type in the question",
    "taste": "states a preference, and the question asks for advice",
    ranking.EDGE: "connected to a hit by an edge",
    INFERRED: "by its inferred words",
}


_NOTHING: Final = "the question has no words, so nothing was searched"
_UNKNOWN: Final = "no world here has the name {}, so nothing was found for it"
_UNFIT: Final = "nothing that is valid at that time and not hidden matches {}"
_UNHELD: Final = "nothing here has the {}, so nothing was found"
_LOW_CONFIDENCE: Final = (
    "perhaps nothing here is about that: these hits are the nearest, but {}, and unrelated texts are as near in meaning"
)
_COMMON_WORDS: Final = "they share only common words with the question"
_NO_WORDS: Final = "none of them has a telling word of the question"
_SELDOM: Final = "perhaps nothing here answers that: such hits seldom do"
_FEW_WORDS: Final = "none of the first has more than half of the question's words"
_OF_OTHERS: Final = "the nearest of them in meaning is not by or about whom or what the question names"
_ENGLISH_ALONE: Final = frozenset(("wordllama/l2_supercat_256",))
"""Models that know hardly another language."""
_LITTLE_KNOWN: Final = (
    " (the embedding model knows little but English, so that only the same words are found:"
    " `multilingual` knows others)"
)
IN_FORKS: Final = "worlds in forks are left out; search inside a fork to find them"
_LEFT: Final = "{:,} hits are left out, since their confidence is below {:g}"
_ONE_LEFT: Final = "1 hit is left out, since its confidence is below {:g}"
_NOT_JUDGED: Final = (
    "min_confidence left out no hit: confidence is known only for words with meaning by the models `static` and"
    " `multilingual`, and for words with names"
)
_EARLIER: Final = 'the question asks for change ("{}"), so earlier versions are shown with current ones'
_EARLIER_LEFT_OUT: Final = 'the question asks for change ("{}"), but earlier versions are left out here'
_PRESENT: Final = 'the question asks for the present ("{}"): that is the valid time of the view'
_READ: Final = "read as times: {}"
_THEN: Final = (
    "the question names a past time; this was true then, no longer is, and comes first: {}{}; ask as of that time"
    " for all that was true then"
)
_THEN_BEHIND: Final = (
    "the question names a past time; this was true then and no longer is: {}{}; ask as of that time for all that was"
    " true then"
)
_THEN_BESIDE: Final = (
    "the question names a past time; this was true then, no longer is, and is shown beside the current version:"
    " {}{}; ask as of that time for all that was true then"
)
_THEN_UNSHOWN: Final = (
    "the question names a past time, and the hits are as of now: ask as of that time for what was true then"
)
_REPLACED: Final = "what was true before comes before what took its place: {}{}"
_SAID_BEFORE: Final = (
    "statements compete, and the earlier one comes first, as the question asks: {}{}; nothing records which is true"
)
_OVER: Final = "the question is about the past, and this is over: {}{}"
_ENDED_BY_TEXT: Final = "its text says that this has ended: {}{}"
_BEGUN_LATER: Final = "the first hit begins after the time in the question: {}{}"
_NONE_OF_THEN: Final = "nothing found is known to have been true then"
_NONE_OF_TIME: Final = "none of these is of the time that the question names ({}), as far as their dates tell"
_COMING: Final = "the question names a future time; what is true then comes first, and this begins by then: {}{}"
_AHEAD: Final = "the question asks about the future, so what is true then comes first, and this is still to begin: {}{}"
_UNKNOWN_YET: Final = "this begins after that time and was written later, so what held then comes first: {}{}"
_OPEN: Final = " until forever"
_STATISTICS: Final = (
    "term statistics come from the present index, not from the view; only an exact ranking equals that of a replayed"
    " store"
)
_COMPETING: Final = (
    "statements compete, and the later one comes first: {}{}; nothing records which is true: link supersedes or"
    " contradicts"
)
_PERHAPS: Final = "a later message may change this: {}{}"
_CONTRADICTING: Final = "statements are recorded as contradictory, and the later one comes first: {}{}"
MAX_TOLD: Final = 3
"""The most competing pairs that a note names; the answer lists all."""
NOTED_SHARE: Final = 0.5
"""The share of the best score that one of a competing pair has if a note names it: in a small store the first hits are
all that there is, whatever is asked."""
_REWRITES: Final = (
    "the edge types {} change what is shown; this program lacks their handlers, so the recorded rules apply"
)
_UNREAD: Final = "not understood as a time, and ignored: {}{}; name dates, or ask for a span"
_UNCOUNTED: Final = "the time in the question was ignored, since {}; ask for a span"
_BY_LANE: Final[dict[tuple[str, ...], str]] = {
    (TEXT,): "only words were compared",
    (VECTOR,): "only meaning was compared",
}
_BY_FUSION: Final = {RRF: "only ranks were compared", COMBMAX: "only the greater of words and meaning counts"}


def empty_recall(seq: int) -> records.Recall:
    """The answer to a question without a word."""
    return records.Recall(
        hits=(), groups=(), exact=True, indexed=seq, lanes=(), note=_NOTHING, unavailable={}, pending=0, space=""
    )


def competing(snapshot: visible.VisibleSnapshot, rivals: Iterable[rivalry.Rivals]) -> tuple[records.Competing, ...]:
    """The pairs of statements that compete, as records."""

    def ref(node: int) -> str:
        return snapshot.tables.node(node).lineage.hex()

    return tuple(
        records.Competing(
            ref=ref(pair.later),
            earlier=ref(pair.earlier),
            relation="perhaps" if pair.is_unsure else pair.relation,
            reason=pair.reason,
            doubt=pair.doubt,
        )
        for pair in rivals
    )


def _is_linked(pair: records.Competing, hits: Iterable[records.Hit]) -> bool:
    """Whether an edge already records the contradiction of two competing statements."""
    ends = {pair.ref, pair.earlier}
    return any(hit.ref in ends and not ends.isdisjoint(hit.conflicts) for hit in hits)


def _note_of_pairs(
    pairs: Sequence[records.Competing], note: str, hits: Sequence[records.Hit], question: Question
) -> str:
    """The note of competing statements: the beginnings of their texts, and full references, since not every interface
    accepts a shorter one; empty if none compete of those that the question is about.

    Where a question of English asks for something, one of the two has a telling word of it that is no name, or a word
    for the attribute that it asks for.
    """
    scores = {hit.ref: hit.score for hit in hits}
    least = NOTED_SHARE * max(scores.values(), default=0.0)
    pairs = [pair for pair in pairs if any(scores.get(ref, 0.0) >= least for ref in (pair.ref, pair.earlier))]
    asked = _asked_words(question) if pairs else ""
    by_ref = {hit.ref: hit for hit in hits} if pairs else {}
    if asked:
        both = {ref: by_ref[ref] for pair in pairs for ref in (pair.ref, pair.earlier) if ref in by_ref}
        fits = {ref for ref, hit in both.items() if text_lane.matched(asked, hit.name, hit.content)}
        pairs = [pair for pair in pairs if not fits.isdisjoint((pair.ref, pair.earlier))]
    if not pairs:
        return ""

    def named(ref: str) -> str:
        hit = by_ref.get(ref)
        return f"{beginning(hit.content)} ({ref})" if hit is not None and hit.content else ref

    if note is _PERHAPS:
        told = (f"{named(pair.ref)} after {named(pair.earlier)}" for pair in pairs[:MAX_TOLD])
    else:
        told = (f"{named(pair.ref)} before {named(pair.earlier)} ({pair.reason})" for pair in pairs[:MAX_TOLD])
    left = len(pairs) - MAX_TOLD
    return note.format(", ".join(told), f" and {left} more" if left > 0 else "")


_ASKS: Final = lazy(
    r"\W*(?:\w+ )?(?:who|whom|whose|what|which|where|when|why|how|is|are|do|does|did|has|have)(?:['’]s)?\b", re.I
)


def _asked_words(question: Question) -> str:
    """The stems for what a question of English asks for; empty for another text, or if it asks for nothing special."""
    text = without_opening(question.without_times)
    if _ASKS.match(text) is None:
        return ""
    return " ".join(sorted(asked_terms.asked_stems(text) - analysis.STOP_WORDS))


def has_asked_word(hit: records.Hit, question: Question) -> bool:
    """True if a hit states what a question asks for, by a word of it or the attribute."""
    asked = _asked_words(question)
    return bool(asked) and _answers(question, asked, hit.name, hit.content)


def _answers(question: Question, asked: str, name: str, content: str) -> bool:
    """True if a text states what a question asks for, by a telling word of it or by the attribute, or if nothing
    special is asked for."""
    if not asked:
        return True
    if not text_lane.matched(asked, name, content):
        return False
    telling = asked_terms.asked_of(without_opening(question.without_times)).telling
    told = claim_frame.frame(content)
    is_worded = bool(text_lane.matched(" ".join(telling), name, content))
    return is_worded or told is None or not told.attributes.isdisjoint(lexicon.attributes_of(telling))


def _answering(
    hits: Sequence[records.Hit], question: Question, first: Sequence[records.Hit], *, weak: bool
) -> list[records.Hit]:
    """Those hits that state what a question asks for, and those of the ``first``, unless the answer is ``weak``.

    Of what perhaps answers nothing it is not said when it is true.
    """
    if weak:
        return [hit for hit in hits if has_asked_word(hit, question)]
    asked = _asked_words(question) if hits else ""
    found = [hit for hit in hits if _answers(question, asked, hit.name, hit.content)]
    return [hit for hit in hits if hit in found or hit in first]


def _note_of_past(hits: Sequence[records.Hit], question: Question, *, weak: bool) -> str:
    """The note of what held at a time that the question names, with its text and dates; empty if only others held."""
    held = [hit for hit in hits if scoring.THEN in hit.scores]
    beside = [] if held else [hit for hit in hits if hit.others]
    if not held and not beside:
        return "" if weak else _THEN_UNSHOWN
    if told := _answering(held, question, hits[:1], weak=weak):
        return _note_of_times(told, _THEN if told[0] is hits[0] else _THEN_BEHIND)
    then = [version for hit in _answering(beside, question, hits[:1], weak=weak) for version in hit.others]
    return _note_of_times(then, _THEN_BESIDE) if then else ""


def _note_of_previous(hits: Sequence[records.Hit]) -> str:
    """The note of what was before, where a question asks for that: it was replaced, or only said earlier."""
    before = [hit for hit in hits if scoring.BEFORE in hit.scores]
    over, open_ = ([hit for hit in before if (hit.valid.end < FOREVER) == is_over] for is_over in (True, False))
    # Ranked behind another hit it does not come first.
    open_ = open_ if hits and hits[0] in open_ else []
    return joined(
        _note_of_times(told, note) if told else "" for told, note in ((over, _REPLACED), (open_, _SAID_BEFORE))
    )


def _note_of_ended(hits: Sequence[records.Hit], question: Question, *, weak: bool) -> str:
    """The note of what is over, where a question of the past names no time."""
    over = [hit for hit in hits if scoring.OVER in hit.scores]
    told = _answering(over, question, hits[:1], weak=weak)
    return _note_of_times(told, _OVER) if told else ""


def _note_of_ended_by_text(hits: Sequence[records.Hit], question: Question, now: int, *, weak: bool) -> str:
    """The note of what an answer of now has as if it held, and that ended by its own words; empty if nothing did."""
    if question.times or not question.words_of_now:
        return ""
    over = [hit for hit in hits if has_ended_by_text(hit, now)]
    told = _answering(over, question, hits[:1], weak=weak)
    return _note_of_times(told, _ENDED_BY_TEXT) if told else ""


def has_ended_by_text(found: records.World | records.Hit | records.Version, now: int) -> bool:
    """True if what holds ``now``, and has no end, ended by the words of its text."""
    if not found.content or found.valid.start > now or found.valid.end < FOREVER:
        return False
    ends = question_dates.end_named(found.content, found.valid.start)
    return ends is not None and ends <= now


def _past_before(request: Request, hits: Sequence[records.Hit], now: int) -> list[valid_period.Period]:
    """The past times that a question names, if the first hit is so only after them; else none.

    Turns, long texts and what is told in the past tense may tell of what was before; a change of no stated time, such
    as "moved in", begins what is so since.
    """
    past = request.past_times(now) if hits and request.question.asks_of == "past" else []
    if not past or hits[0].type == "Turn" or any(period.span.end > hits[0].valid.start for period in past):
        return []
    told = claim_frame.frame(hits[0].content)
    if told is None or told.former:
        return []
    is_change = bool(told.change) and not Question(hits[0].content, hits[0].valid.start).times
    return past if is_change or not told.past else []


def _note_of_later(hits: Sequence[records.Hit], past: Sequence[valid_period.Period], *, then: bool) -> str:
    """The note of a first hit that is so only after past times, and of none that was so ``then``; else empty."""
    if not past:
        return ""
    # What has a name and no text, such as a person, tells nothing of a time.
    spans = [(hit.valid.start, hit.valid.end) for hit in hits if hit.content]
    is_held = then or any(start < each.span.end and each.span.start < end for start, end in spans for each in past)
    return joined((_note_of_times(hits[:1], _BEGUN_LATER), "" if is_held else _NONE_OF_THEN))


def note_of_no_time(found: records.Recall, request: Request) -> str:
    """The note of an answer of which nothing is of a time that its question names; empty if something is.

    What holds then is of it, unless the question asks what was said then, or for whatever was on.
    """
    question = request.question
    if not found.hits or not found.times or request.fusion != CONVEX or found.begins_later:
        return ""
    spans = [(span.start, span.end) for span in found.times]
    if any(start == ALWAYS or end == FOREVER for start, end in spans):
        return ""
    is_of_day = question.asks_only_for_time or question.is_of_saying
    for hit in found.hits:
        holds = any(hit.valid.start < end and start < hit.valid.end for start, end in spans)
        if is_of_time(hit.scores) or (holds and (hit.valid.end < FOREVER or not (is_of_day or hit.type == "Turn"))):
            return ""
    return _NONE_OF_TIME.format(" and ".join(f'"{time.words}"' for time in question.times_read))


def note_of_future(
    hits: Sequence[records.Hit],
    unknown: Sequence[records.Hit],
    question: Question,
    first: Sequence[records.Hit],
    *,
    weak: bool,
) -> str:
    """The note of what holds at a future time, but not yet: one that the question names, or any; ``unknown`` as well.

    Of those it was not known at the time of the view. Those are named that state what is asked, and the ``first`` hit
    of the answer; of a ``weak`` answer only those.
    """
    ahead = _answering(hits, question, first, weak=weak)
    told = _note_of_times(ahead, _COMING if question.times else _AHEAD) if ahead else ""
    later = _answering(unknown, question, (), weak=weak) or unknown[: not weak]
    return joined((told, _note_of_times(later, _UNKNOWN_YET) if later else ""))


def _note_of_times(hits: Sequence[records.Hit | records.Version], note: str) -> str:
    told = (
        f"{shown(' '.join(hit.content.split()))} ({_format_span(hit.valid.start, hit.valid.end).removesuffix(_OPEN)})"
        for hit in hits[:MAX_TOLD]
    )
    left = len(hits) - MAX_TOLD
    return note.format(", ".join(told), f" and {left} more" if left > 0 else "")


def note_of_competing(pairs: Sequence[records.Competing], hits: Sequence[records.Hit], question: Question) -> str:
    """The note of those hits that compete without a recorded contradiction, if the question is about them."""
    return _note_of_pairs(pairs, _COMPETING, hits, question)


class Notes(TypedDict):
    """The fields of an answer that say how it was made."""

    note: str
    times: tuple[records.Valid, ...]
    unread: tuple[str, ...]
    begins_later: str


def _left_out(count: int, least: float) -> str:
    return _LEFT.format(count, least) if count > 1 else _ONE_LEFT.format(least) if count else ""


def notes_of(
    spec: edge_rules.Spec,
    request: Request,
    lanes: tuple[str, ...],
    unknown: Sequence[str],
    unheld: Sequence[str],
    *,
    weak: str,
    left: int,
    judged: bool,
    then: bool,
    at_present: bool,
    now: int,
    rivals: Sequence[records.Competing] = (),
    hits: Sequence[records.Hit] = (),
) -> Notes:
    """The times that counted, the unresolved ones, a first hit after a past one, and the notes of an answer in words.

    ``unknown`` are the names of filters that nobody has, ``unheld`` types and marks. ``weak`` is the note of a
    weak answer. ``left``: so many hits were less likely than wanted; ``judged``: it is known how likely they are.
    ``then``: something else held at the time that the question names. ``at_present``: term statistics are those of the
    present index. ``now`` is the valid time of the view. ``rivals`` are those of the ``hits`` that compete.
    """
    choice, question = request.choice, request.question
    named, unresolved, unlisted = question.times, question.unresolved_times, question.unlisted_times
    told = () if weak else rivals  # Of what perhaps answers nothing, none comes first.
    recorded = [pair for pair in told if _is_linked(pair, hits)]
    unrecorded = [pair for pair in told if pair not in recorded]
    past = _past_before(request, hits, now)
    without = _BY_LANE.get(lanes) or _BY_FUSION.get(request.fusion)
    uncounted = _UNCOUNTED.format(without) if named and without else ""
    is_refused = not choice.allows_several and not choice.include_superseded and choice.period is None
    parts = (
        _UNKNOWN.format(", ".join(unknown)) if unknown else "",
        _UNHELD.format(" and no ".join(unheld)) if unheld else "",
        _UNFIT.format(" and ".join(request.filters.asked)) if _has_no_match(request, hits, unknown, unheld) else "",
        weak,
        _left_out(left, request.min_confidence or 0.0),
        _NOT_JUDGED if request.min_confidence is not None and not judged else "",
        _EARLIER.format(question.wish) if _are_earlier_shown(request, hits) else "",
        _EARLIER_LEFT_OUT.format(question.wish) if is_refused and question.wish else "",
        _PRESENT.format(question.asks_for_present) if question.asks_for_present and not question.wish else "",
        _note_of_past(hits, question, weak=bool(weak)) if then else "",
        _note_of_later(hits, past, then=then),
        _note_of_previous(hits),
        _note_of_ended(hits, question, weak=bool(weak)),
        _note_of_ended_by_text(hits, question, now, weak=bool(weak)),
        _note_of_pairs([pair for pair in unrecorded if pair.relation != "perhaps"], _COMPETING, hits, question),
        _note_of_pairs([pair for pair in unrecorded if pair.relation == "perhaps"], _PERHAPS, hits, question),
        _note_of_pairs(recorded, _CONTRADICTING, hits, question),
        _STATISTICS if at_present else "",
        missing_handlers(spec),
        uncounted or (_READ.format(", ".join(map(_format_time, question.times_read))) if named else ""),
        _UNREAD.format(", ".join(f'"{words}"' for words in unresolved), f" and {unlisted} more" * bool(unlisted))
        if unresolved
        else "",
    )
    times = () if uncounted else tuple(records.Valid(*span[:2]) for span in named)
    return Notes(note=joined(parts), times=times, unread=unresolved, begins_later=hits[0].ref if past else "")


def _are_earlier_shown(request: Request, hits: Sequence[records.Hit]) -> bool:
    """True if a question asks what was before; of "is it still open?" only where an answer shows that."""
    if not request.choice.earlier or request.choice.include_superseded:
        return False
    if request.question.asks_only_of_still:
        return any(hit.others or scoring.SUPERSEDED in hit.scores for hit in hits)
    return True


def _has_no_match(request: Request, hits: Sequence[records.Hit], unknown: Sequence[str], unheld: Sequence[str]) -> bool:
    """True if there are no hits, and filters are the only reason."""
    return request.filters is not None and not (hits or unknown or unheld)


def _format_time(time: question_dates.Time) -> str:
    """The words of a time and its days; the last day is excluded."""
    return f'"{time.words}" is {_format_span(*time.span[:2])}'


def _format_span(start: int, end: int) -> str:
    """The days of a span; the last one is excluded."""
    since = "" if start == ALWAYS else f"from {format_time(start)[:10]} "
    return f"{since}on" if end == FOREVER else f"{since}until {format_time(end)[:10]}"


def joined(notes: Iterable[str]) -> str:
    """Several notes as one; empty ones leave nothing."""
    return "; ".join(note for note in notes if note)


def missing_handlers(spec: edge_rules.Spec) -> str:
    """A note of edge types that change what is shown without their handlers; else empty."""
    missing = [name for name in spec.missing_types if name in spec.rewriting_types]
    return _REWRITES.format(", ".join(missing)) if missing else ""


SCATTER: Final[Mapping[str, float]] = {
    "wordllama/l2_supercat_256": 0.1,
    "multilingual-e5-small/q4+use-multilingual-3/2": 0.12,
}
"""By the model of an embedding space, how much the cosines of questions with unrelated texts scatter, as measured.
The answers of models that nobody measured never have low confidence."""
_MOST: Final = 10**9
LEAST_WORDS: Final = 0.2
"""The share of the question's greatest possible word score below which the words found say nothing."""


def asks_something(question: str) -> bool:
    """True if there is a letter, a digit or a pictogram in a question."""
    return any(_is_meaningful(unicodedata.category(character)) for character in question)


def _is_meaningful(category: str) -> bool:
    return category[0] in "LN" or category == "So"


def is_by_chance(
    hits: Sequence[records.Hit],
    lanes: Sequence[str],
    request: Request,
    model: str,
    searched: Callable[[], int],
    about: candidates.Named,
) -> bool:
    """True if nothing speaks for any hit: no words, meaning, name or time beyond chance.

    All words of the question in one hit are more than chance, however little they score in a long text. That a hit is
    by who asks speaks for nothing: all that they say is.
    ``searched`` counts the worlds that were searched, and is only called if it matters.
    """
    scatter, question = SCATTER.get(model), request.question.subject_text
    if not hits or scatter is None or VECTOR not in lanes or request.fusion == COMBMAX:
        return False
    if any(scoring.OF_TYPE in hit.scores for hit in hits):
        return False
    names = about.is_about_one_of_several
    if not all(_is_noise(hit.scores, chance_level(scatter, _MOST), names=names) for hit in hits):
        return False
    level = chance_level(scatter, searched())
    return all(_is_noise(hit.scores, level, names=names) for hit in hits) and not any(
        text_lane.coverage(question, text_lane.matched(question, hit.name, hit.content)) >= 1 for hit in hits
    )


def chance_level(scatter: float, count: int) -> float:
    """The expected cosine of the nearest of that many unrelated texts.

    It is the expected greatest of as many normal deviates, to first order, in units of their standard deviation
    ``scatter`` (Cramér 1946, §28.6).
    """
    return scatter * sqrt(2 * log(max(count, 2)))


def is_of_time(scores: Mapping[str, float]) -> bool:
    """True if a time of the question is that of a hit."""
    return scores.get("when", 0.0) > scoring.WHEN_WEIGHT - 1e-6


def _is_noise(scores: Mapping[str, float], level: float, *, names: bool) -> bool:
    return (
        scores.get(VECTOR, 0.0) < level
        and scores.get(TEXT, 0.0) < LEAST_WORDS * scoring.TEXT_WEIGHT
        and not (names and scores.get(ENTITY))
        and scores.get("when", 0.0) < scoring.WHEN_WEIGHT / 2
    )
