"""The resolver: score who a candidate might already be.

Its matches only ever stage proposals (paper §3.1). The exact tier (:mod:`.namesakes`) comes first. If it finds nobody,
the others score what blocking brings up: the likeliest forms of every block that the candidate's forms are in. A form's
text bounds how alike it can be; the greatest bounds come first, so that weighing stops as soon as nobody behind can be
nearer. ``similarity/`` has the scores, the guards and the verdict.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from rapidfuzz.distance import JaroWinkler
from rapidfuzz.process import extract

from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.names import blocks, canonical
from worlddb.projections.tables.names.canonical import Form, form_of, forms
from worlddb.reconciler.commands.commands import Create
from worlddb.reconciler.entity_resolution import namesakes
from worlddb.reconciler.similarity import scores
from worlddb.reconciler.similarity.verdict import (
    TIERS,
    Ambiguous,
    Considered,
    Resolved,
    StoreThresholds,
    Thresholds,
    Tiebreaker,
    Verdict,
    judge,
)
from worlddb.reconciler.transaction.context import Context

_INITIAL: Final = re.compile(r" \w\b")


class ThresholdSetting(NamedTuple):
    """The thresholds for a candidate, and the world that they were set for, if any."""

    thresholds: Thresholds
    world: bytes | None = None

    def as_evidence(self) -> dict[str, Any]:
        """The part of the evidence that names the world, beside the thresholds themselves."""
        return {} if self.world is None else {"tuned": self.world.hex()}


def thresholds_for(ctx: Context, resolving: StoreThresholds, type_name: str, home: int) -> ThresholdSetting:
    """Find the thresholds for a candidate of a type in a world.

    They are the nearest ones set, else those of the open store.
    """
    if ctx.tuned is None:
        ctx.tuned = settings.is_anything_tuned(ctx.tables)
    if not ctx.tuned or resolving.instead:
        return ThresholdSetting(resolving.of(type_name))
    found = settings.tuning_at(ctx.tables, home, type_name, ctx.tables.containers, ctx.draft.seq)
    if found is None:
        return ThresholdSetting(resolving.of(type_name))
    return ThresholdSetting(_thresholds_of(found), ctx.lineage(found.world))


def _thresholds_of(known: settings.Tuning) -> Thresholds:
    """The thresholds of a tuning."""
    return Thresholds(**{name: getattr(known.row, name) for name in Thresholds.__struct_fields__})


class Search:
    """One search: its scope, its thresholds, and counts of the considered worlds."""

    def __init__(self, world: int, thresholds: Thresholds) -> None:
        self.inside = namesakes.SearchScope(world)
        self.fuzzy = thresholds.fuzzy
        self.least = min(thresholds.fuzzy, thresholds.phonetic)
        self.looked_at: list[list[str]] = []
        """The considered forms, for each form of the candidate; no world inside the scope may have some of them."""
        self.blocks_in_part = 0
        """The number of blocks of which only the nearest forms were considered."""
        self.left: list[str] = []
        """Similar forms that were not compared; no world inside the scope may have some of them."""
        self.kept_apart = 0
        """The number of similar forms that a guard excluded."""

    @property
    def by_given_name(self) -> bool:
        """True if a given name alone may match.

        It may in a conversation, but not in the whole store.
        """
        return not self.inside.is_everywhere

    def as_evidence(self, ctx: Context) -> dict[str, int]:
        """The nonzero counts for the evidence; they count only what is inside the scope."""
        told = {
            "forms": sum(self._count_inside(ctx, texts) for texts in self.looked_at),
            "kept_apart": self.kept_apart,
            "blocks_in_part": self.blocks_in_part,
            "forms_left": self._count_inside(ctx, self.left),
        }
        return {name: count for name, count in told.items() if count}

    def _count_inside(self, ctx: Context, texts: list[str]) -> int:
        if self.inside.is_everywhere:
            return len(texts)
        return sum(self.inside.has_holder(ctx, text) for text in texts)


def likeliest_forms(ctx: Context, names: tuple[str, ...], search: Search) -> list[tuple[float, str]]:
    """The forms similar to the names, likeliest first.

    Each comes with the greatest score it can have.
    """
    bounds: dict[str, float] = {}
    for name in names:
        for form in canonical.forms(name):
            for text, bound in _score_bounds(form, _look_at_forms(ctx, form, search), search):
                if bound > bounds.get(text, 0.0):
                    bounds[text] = bound
    return [(-less, text) for less, text in sorted((-bound, text) for text, bound in bounds.items())]


class _FormsLookedAt(NamedTuple):
    """The forms that were considered.

    Their texts, the same with their words in order, and the texts that sound like the candidate's.
    """

    texts: list[str]
    ordered: list[str]
    same_sound: list[str]


def _look_at_forms(ctx: Context, form: canonical.Form, search: Search) -> _FormsLookedAt:
    seen: dict[bytes, bytes] = {}
    same_sound: list[bytes] = []
    seen_whole: set[bytes] = set()
    in_part: set[bytes] = set()
    for place in places_of(form, search):
        if place.key not in seen_whole:
            found = _forms_around(ctx, place, search)
            seen |= found.forms
            same_sound += islice(found.forms, found.alone)
            (seen_whole if found.is_whole else in_part).add(place.key)
    if (missing := len(in_part - seen_whole)) and not search.inside.is_everywhere:
        interior_of_scope = search.inside.interior_of_scope(ctx)
        if len(interior_of_scope.nodes) <= namesakes.MAX_SCANNED:
            # In a small world all can be looked at; what is nearest in a block need not be the most alike.
            names = interior_of_scope.names(ctx.tables)
            seen |= names.forms
            same_sound += names.sounds.get(form.sound, ())
    search.blocks_in_part += missing
    search.looked_at.append(texts := _decode_all(seen))
    return _FormsLookedAt(
        texts,
        _decode_all(blocks.in_order(key) if value else key for key, value in seen.items()),
        _decode_all(same_sound),
    )


def _forms_around(ctx: Context, place: blocks.Place, search: Search) -> blocks.NearbyForms:
    """The forms around a place of a block; in a block with too many forms, only those inside the scope."""
    found = blocks.forms_around(ctx.tables, place)
    if found.is_whole or search.inside.is_everywhere:
        return found
    return search.inside.interior_of_scope(ctx).names(ctx.tables).around(place)


def _decode_all(texts: Iterable[bytes]) -> list[str]:
    """Decode many texts at once, which is faster."""
    joined = b"\n".join(texts).decode()
    return joined.split("\n") if joined else []


def places_of(form: canonical.Form, search: Search) -> Iterator[blocks.Place]:
    """The blocks that may hold forms like this one.

    They include those for another given name of the same person.
    """
    yield from blocks.places_to_search(form, by_given_name=search.by_given_name)
    first, *rest = form.words
    for given in scores.equivalent_given_names(first) if form.text.startswith(first) else ():
        yield from blocks.fallback_places(form, (given, *rest), by_given_name=search.by_given_name)


def _score_bounds(form: canonical.Form, looked: _FormsLookedAt, search: Search) -> Iterator[tuple[str, float]]:
    """Bound the score that each text can reach against a form.

    Gives pairs of a text and the greatest score that a form can have against it, for those that can be alike.
    """
    least = search.fuzzy
    alike = extract(form.text, looked.texts, scorer=JaroWinkler.similarity, score_cutoff=least, limit=None)
    yield from ((text, score) for text, score, _ in alike)
    alike = extract(form.ordered, looked.ordered, scorer=JaroWinkler.similarity, score_cutoff=least, limit=None)
    yield from ((looked.texts[at], score) for _, score, at in alike)
    yield from ((text, search.least) for text in looked.same_sound)
    yield from _shortened_scores(form, looked.texts, search)


def _shortened_scores(form: canonical.Form, texts: list[str], search: Search) -> Iterator[tuple[str, float]]:
    """Pairs of a text and its score, for shorter or longer forms of the same name."""
    first, blank, rest = form.text.partition(" ")
    last, blanks, spelled_out = rest.rpartition(" ")[2], form.text.count(" "), not form.initials
    if blank and not search.by_given_name:
        # Whole names of one person, one of them shorter, end in the same word.
        texts = [text for text in texts if text.endswith(last)]
    for text in texts:
        theirs = text.partition(" ")[0]
        if theirs == first:
            if spelled_out and text.count(" ") == blanks and not _INITIAL.search(text):
                continue
        elif not scores.is_short_form_of(theirs, first):
            continue
        score = scores.shortened(form.text, text)
        if score >= search.fuzzy and (search.by_given_name or bool(blank) == (" " in text)):
            yield text, score


MAX_WEIGHED: Final = 32
"""How many of the likeliest forms are looked up and compared name by name."""

MIN_WEIGHED: Final = 2
"""How many of the likeliest forms are compared even if another world is certainly nearer, to be shown as evidence."""

MAX_KEPT_APART: Final = 2
"""How many forms that a guard excludes are looked up nevertheless, to be shown as evidence."""


def match_all_tiers(
    ctx: Context,
    command: Create,
    thresholds: Thresholds,
    near: Mapping[int, float] | None = None,
    tiebreaker: Tiebreaker | None = None,
) -> tuple[namesakes.Match, ...]:
    """The matches of all tiers: one world, several equally likely ones, or none.

    ``near`` has the cosines of worlds whose texts are near in meaning.
    """
    found = verdict(ctx, command, thresholds, near, tiebreaker)
    if isinstance(found, Resolved):
        return (namesakes.Match(found.match.node, found.evidence),)
    if isinstance(found, Ambiguous):
        return tuple(namesakes.Match(each.node, found.evidence) for each in found.matches)
    return ()


def verdict(
    ctx: Context,
    command: Create,
    thresholds: Thresholds,
    near: Mapping[int, float] | None = None,
    tiebreaker: Tiebreaker | None = None,
) -> Verdict:
    """Judge a candidate by all tiers, stopping at the exact one if that finds a match."""
    candidate = namesakes.candidate_of(ctx, command)
    held = considered(ctx, candidate, thresholds, near, every=tiebreaker is not None)
    return judge(held.considered, thresholds, tiebreaker, looked_at=held.looked_at)


class Comparisons(NamedTuple):
    """The worlds that a candidate was compared with, and counts of the considered worlds."""

    considered: list[Considered]
    looked_at: dict[str, int]


def considered(
    ctx: Context,
    candidate: namesakes.Candidate,
    thresholds: Thresholds,
    near: Mapping[int, float] | None = None,
    *,
    every: bool = False,
) -> Comparisons:
    """Compare a candidate with the worlds that it might be.

    These are worlds of the same name, else worlds of similar names and of texts near in meaning, whose cosines are in
    ``near``. Worlds that cannot be the answer, since another one is certainly nearer, are left out unless ``every``
    contender is wanted.
    """
    compared_worlds: list[Considered] = []
    search = Search(candidate.world, thresholds)
    for node, name in namesakes.holders_of(ctx, candidate, search.inside):
        compared_worlds.append(Considered(node, _lineage(ctx, node), name, name, scores.Likeness(exact=1.0)))
        if len(compared_worlds) > thresholds.most:
            break
    if compared_worlds:
        return Comparisons(compared_worlds, {})
    for node, meaning in (near or {}).items():
        if namesakes.is_open(ctx, node, candidate, search.inside):
            compared_worlds.append(_compare_names(ctx, candidate, node, meaning))
    _add_similar_names(ctx, candidate, search, compared_worlds, thresholds.margin if not every else 1.0)
    if not search.by_given_name:
        compared_worlds = [each for each in compared_worlds if not each.likeness.given_name or each.embedding]
    return Comparisons(
        compared_worlds, search.as_evidence(ctx) if _is_any_confident(compared_worlds, thresholds) else {}
    )


def _is_any_confident(found: list[Considered], thresholds: Thresholds) -> bool:
    """True if a tier is confident of a world, so that there will be evidence to store."""
    return any(each.score(tier) >= getattr(thresholds, tier) for each in found for tier in TIERS[1:])


def _add_similar_names(
    ctx: Context,
    candidate: namesakes.Candidate,
    search: Search,
    compared_worlds: list[Considered],
    margin: float,
) -> None:
    """Add worlds with names like the candidate's, likeliest first.

    It stops when none behind can come within the margin.
    """
    known_nodes = {compared.node for compared in compared_worlds}
    best = max(
        (compared.likeness.fuzzy for compared in compared_worlds if not compared.likeness.given_name), default=0.0
    )
    best = best if best >= search.fuzzy else 0.0

    def is_new(node: int) -> bool:
        return node not in known_nodes and namesakes.is_open(ctx, node, candidate, search.inside)

    similar_forms = likeliest_forms(ctx, candidate.names, search)
    own_forms = [form for name in candidate.names for form in forms(name)]
    before = len(known_nodes)
    for position, (bound, text) in enumerate(similar_forms):
        weighed = len(known_nodes) - before
        if best - bound > margin and weighed >= MIN_WEIGHED:
            return
        if weighed >= MAX_WEIGHED:
            if not search.inside.is_everywhere and not search.inside.has_holder(ctx, text):
                continue
            search.left = [text for _, text in similar_forms[position:]]
            return
        if _is_kept_apart_by_guard(own_forms, text) and (
            search.inside.is_everywhere or search.inside.has_holder(ctx, text)
        ):
            search.kept_apart += 1
            if search.kept_apart > MAX_KEPT_APART:
                continue
        for node in search.inside.holders(ctx, text, is_new):
            known_nodes.add(node)
            compared = _compare_names(ctx, candidate, node, 0.0)
            compared_worlds.append(compared)
            if compared.likeness.fuzzy >= search.fuzzy and not compared.likeness.given_name:
                best = max(best, compared.likeness.fuzzy)


def _is_kept_apart_by_guard(mine: list[Form], text: str) -> bool:
    theirs = form_of(text)
    return theirs is None or all(scores.kept_apart(form, theirs) is not None for form in mine)


def _compare_names(ctx: Context, candidate: namesakes.Candidate, node: int, meaning: float) -> Considered:
    """Compare a world with the candidate, by the pair of their names that is nearest.

    Numbers, generations and the like keep apart whatever the texts say; that the words are others does not.
    """
    body = ctx.body(node)
    known = ([] if body is None else [body.name]) + ctx.aliases(node)
    best: Considered | None = None
    for mine in candidate.names:
        for theirs in known:
            found = Considered(node, _lineage(ctx, node), mine, theirs, scores.likeness(mine, theirs))
            if best is None or _strength(found.likeness) > _strength(best.likeness):
                best = found
    best = best or Considered(node, _lineage(ctx, node), candidate.names[0], "", scores.Likeness())
    return best._replace(embedding=meaning) if best.likeness.guard in (None, "words") else best


def _strength(found: scores.Likeness) -> tuple[float, float, float]:
    return found.exact, found.fuzzy, found.phonetic


def _lineage(ctx: Context, node: int) -> str:
    return ctx.tables.node(node).lineage.hex()
