"""The resolver: who a candidate might already be. Its matches only ever stage proposals (paper §3.1).

The exact tier looks for equal names or aliases, case-folded and normalised, of one type and in one scope. The others
score what blocking brings up; see ``resolving/`` for the scores, the guards and the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest
from typing import Any, Final, NamedTuple

from rapidfuzz.distance import JaroWinkler

from worlddb.projections.tables.asof import alias_known, newest_version
from worlddb.projections.tables.blocks import block, block_keys
from worlddb.projections.tables.matching import Form, forms, sound_of
from worlddb.projections.tables.names import NO_NAME, name_digest, type_digest
from worlddb.projections.tables.schema import ROOT_NODE
from worlddb.reconciler.commands import Create
from worlddb.reconciler.context import Context
from worlddb.reconciler.references import node_ref
from worlddb.reconciler.resolving.scores import Likeness, likeness
from worlddb.reconciler.resolving.thresholds import Thresholds
from worlddb.reconciler.resolving.verdict import Ambiguous, Considered, Resolved, Verdict, judge

MAX_CONSIDERED: Final = 512
"""How many holders of a name are looked at: of five thousand people with one name, the earliest will do."""

MAX_BLOCK: Final = 512
"""How many entries of a block are scored. A block is only so full where very many names begin or sound alike."""

MAX_WEIGHED: Final = 16
"""How many of the likeliest are looked up and weighed name by name."""


class Match(NamedTuple):
    """A world that the candidate may be, and why."""

    node: int
    evidence: dict[str, Any]


def exact(ctx: Context, command: Create) -> tuple[Match, ...]:
    """The earliest open world of the same type inside the command's world that has its name, or else an alias of it."""
    world = _scope(ctx, command)
    found = next(_holders(ctx, command, world), None)
    return () if found is None else (Match(found[0], {"tier": "exact", "name": found[1], "score": 1.0}),)


def all_tiers(ctx: Context, command: Create, thresholds: Thresholds) -> tuple[Match, ...]:
    """Whom a verdict of all tiers names: one world, several where they are equally likely, or nobody."""
    found = verdict(ctx, command, thresholds)
    if isinstance(found, Resolved):
        return (Match(found.match.node, found.evidence),)
    if isinstance(found, Ambiguous):
        return tuple(Match(each.node, found.evidence) for each in found.matches)
    return ()


def verdict(ctx: Context, command: Create, thresholds: Thresholds) -> Verdict:
    """Judge a candidate by all tiers, stopping at the exact one if that finds anybody."""
    world = _scope(ctx, command)
    considered: list[Considered] = []
    for node, name in _holders(ctx, command, world):
        considered.append(Considered(node, _lineage(ctx, node), name, name, Likeness(exact=1.0)))
        if len(considered) > thresholds.most:
            break
    if not considered:
        for node in likeliest(ctx, (command.name, *command.aliases), thresholds):
            if _is_open(ctx, node, command.type, world):
                considered.append(_weighed(ctx, command, node))
    return judge(considered, thresholds)


def likeliest(ctx: Context, names: tuple[str, ...], thresholds: Thresholds) -> list[int]:
    """The worlds, the likeliest first, whose names a glance at the forms in their blocks finds alike."""
    scores: dict[int, float] = {}
    for name in names:
        for form in forms(name):
            for score, node in _glances(ctx, form, thresholds):
                if score > scores.get(node, 0.0):
                    scores[node] = score
    return nsmallest(MAX_WEIGHED, scores, key=lambda node: (-scores[node], node))


def _glances(ctx: Context, form: Form, thresholds: Thresholds) -> Iterator[tuple[float, int]]:
    seen: dict[str, float] = {}
    least = min(thresholds.fuzzy, thresholds.phonetic)
    for key in block_keys(form):
        for position, (text, node) in enumerate(block(ctx.tables, key)):
            if position >= MAX_BLOCK:
                break
            score = seen.get(text)
            if score is None:
                score = seen[text] = _glance(form, text, least)
            if score:
                yield score, node


def _glance(form: Form, text: str, least: float) -> float:
    """The greatest score that a form can have against another, of which only the text is known; 0 below ``least``."""
    score = JaroWinkler.similarity(form.text, text, score_cutoff=least)
    words = text.split()
    if score < 1.0 and len(words) > 1:
        score = max(score, JaroWinkler.similarity(form.ordered, " ".join(sorted(words)), score_cutoff=least))
    if not score and sorted(map(sound_of, words)) == sorted(map(sound_of, form.text.split())):
        score = least
    return score


def _scope(ctx: Context, command: Create) -> int:
    within = command.world if command.scope is None else command.scope
    return ROOT_NODE if within is None else node_ref(ctx, within)


def _holders(ctx: Context, command: Create, world: int) -> Iterator[tuple[int, str]]:
    """Open worlds of the type in the scope that have the name, then those that have an alias of it, in log order."""
    seen: set[int] = set()
    for name in (command.name, *command.aliases):
        digest = name_digest(name)
        if digest == NO_NAME:
            continue
        for considered, (node, _) in enumerate(ctx.tables.named(digest)):
            if considered >= MAX_CONSIDERED:
                break
            if node not in seen and _is_called(ctx, node, digest) and _is_open(ctx, node, command.type, world):
                seen.add(node)
                yield node, name


def _is_called(ctx: Context, node: int, digest: bytes) -> bool:
    """True if a world has the name now, not only before."""
    seen = newest_version(ctx.tables, node, ctx.draft.seq)
    return seen is not None and (
        seen.row.name == digest
        or any(alias.name == digest and alias_known(alias, ctx.draft.seq) for _, alias in ctx.tables.aliases(node))
    )


def _is_open(ctx: Context, node: int, type_name: str, world: int) -> bool:
    """True if a world is of the type, neither ended nor erased, and inside the scope."""
    row = ctx.tables.node(node)
    if node == ROOT_NODE or row.ended:
        return False
    kind = ctx.tables.version(node, row.versions).type
    return kind == type_digest(type_name) and any(kind) and node != world and ctx.inside(node, world)


def _weighed(ctx: Context, command: Create, node: int) -> Considered:
    """A world held against the candidate, by the two of their names that are nearest to each other."""
    body = ctx.body(node)
    known = ([] if body is None else [body.name]) + ctx.aliases(node)
    best: Considered | None = None
    for mine in (command.name, *command.aliases):
        for theirs in known:
            found = Considered(node, _lineage(ctx, node), mine, theirs, likeness(mine, theirs))
            if best is None or _strength(found.likeness) > _strength(best.likeness):
                best = found
    return best or Considered(node, _lineage(ctx, node), command.name, "", Likeness())


def _strength(found: Likeness) -> tuple[float, float, float]:
    return found.exact, found.fuzzy, found.phonetic


def _lineage(ctx: Context, node: int) -> str:
    return ctx.tables.node(node).lineage.hex()
