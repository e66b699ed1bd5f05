"""The resolver: score who a candidate might already be.

Its matches only ever stage proposals (paper §3.1). The exact tier (:mod:`.namesakes`) comes first. If it finds nobody,
the others score what blocking brings up (:mod:`.candidate_search`); ``similarity/`` has the scores, the guards and the
verdict.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from worlddb.projections.tables.names.canonical import Form, form_of, forms
from worlddb.reconciler.commands.commands import Create
from worlddb.reconciler.entity_resolution import candidate_search, namesakes
from worlddb.reconciler.similarity import name_guards, scores
from worlddb.reconciler.similarity.thresholds import TIERS, Thresholds
from worlddb.reconciler.similarity.verdict import Ambiguous, Considered, Resolved, Tiebreaker, Verdict, judge
from worlddb.reconciler.transaction.context import Context

MAX_WEIGHED: Final = 32
"""How many of the likeliest are looked up and weighed name by name."""

MIN_WEIGHED: Final = 2
"""How many of the likeliest are weighed although somebody is surely nearer: they stand beside the answer."""

MAX_KEPT_APART: Final = 2
"""How many forms that a guard keeps apart from the candidate's are looked up all the same, to be shown."""


def all_tiers(
    ctx: Context,
    command: Create,
    thresholds: Thresholds,
    near: Mapping[int, float] | None = None,
    tiebreaker: Tiebreaker | None = None,
) -> tuple[namesakes.Match, ...]:
    """The matches of all tiers: one world, several equally likely ones, or nobody.

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
    """Judge a candidate by all tiers, stopping at the exact one if that finds anybody."""
    candidate = namesakes.candidate_of(ctx, command)
    held = considered(ctx, candidate, thresholds, near, every=tiebreaker is not None)
    return judge(held.considered, thresholds, tiebreaker, looked_at=held.looked_at)


class Comparisons(NamedTuple):
    """The worlds that a candidate was compared with, and counts of what was looked at."""

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

    These are the worlds of its name, else of names like it and of texts near it in meaning. ``near`` has the cosines of
    the latter.

    Those who cannot be the answer, since somebody else is surely nearer, are left out, unless ``every`` contender is
    asked for.
    """
    found: list[Considered] = []
    search = candidate_search.Search(candidate.world, thresholds)
    for node, name in namesakes.holders_of(ctx, candidate, search.inside):
        found.append(Considered(node, _lineage(ctx, node), name, name, scores.Likeness(exact=1.0)))
        if len(found) > thresholds.most:
            break
    if found:
        return Comparisons(found, {})
    for node, meaning in (near or {}).items():
        if namesakes.is_open(ctx, node, candidate, search.inside):
            found.append(_weighed(ctx, candidate, node, meaning))
    _weigh_alike(ctx, candidate, search, found, thresholds.margin if not every else 1.0)
    if not search.by_given_name:
        found = [each for each in found if not each.likeness.given_name or each.embedding]
    return Comparisons(found, search.as_evidence(ctx) if _is_anybody_near(found, thresholds) else {})


def _is_anybody_near(found: list[Considered], thresholds: Thresholds) -> bool:
    """True if a tier is confident of somebody, so that there will be evidence to keep."""
    return any(each.score(tier) >= getattr(thresholds, tier) for each in found for tier in TIERS[1:])


def _weigh_alike(
    ctx: Context,
    candidate: namesakes.Candidate,
    search: candidate_search.Search,
    found: list[Considered],
    margin: float,
) -> None:
    """Add worlds with names like the candidate's, likeliest first.

    It stops when none behind can come within the margin.
    """
    known = {each.node for each in found}
    best = max((each.likeness.fuzzy for each in found if not each.likeness.given_name), default=0.0)
    best = best if best >= search.fuzzy else 0.0

    def here(node: int) -> bool:
        return node not in known and namesakes.is_open(ctx, node, candidate, search.inside)

    alike = candidate_search.likeliest(ctx, candidate.names, search)
    mine = [form for name in candidate.names for form in forms(name)]
    before = len(known)
    for position, (bound, text) in enumerate(alike):
        weighed = len(known) - before
        if best - bound > margin and weighed >= MIN_WEIGHED:
            return
        if weighed >= MAX_WEIGHED:
            if not search.inside.is_everywhere and not search.inside.has_holder(ctx, text):
                continue
            search.left = [text for _, text in alike[position:]]
            return
        if _are_kept_apart(mine, text) and (search.inside.is_everywhere or search.inside.has_holder(ctx, text)):
            search.kept_apart += 1
            if search.kept_apart > MAX_KEPT_APART:
                continue
        for node in search.inside.holders(ctx, text, here):
            known.add(node)
            each = _weighed(ctx, candidate, node, 0.0)
            found.append(each)
            if each.likeness.fuzzy >= search.fuzzy and not each.likeness.given_name:
                best = max(best, each.likeness.fuzzy)


def _are_kept_apart(mine: list[Form], text: str) -> bool:
    theirs = form_of(text)
    return theirs is None or all(name_guards.kept_apart(form, theirs) is not None for form in mine)


def _weighed(ctx: Context, candidate: namesakes.Candidate, node: int, meaning: float) -> Considered:
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
