"""The resolver: who a candidate might already be. Its matches only ever stage proposals (paper §3.1).

The exact tier looks for equal names or aliases, case-folded and normalised, of compatible types and in one scope. The
others score what blocking brings up; see ``resolving/`` for the scores, the guards and the verdict.

Which types may be of one and the same world: equal ones, and those of which one is a subtype of the other.

One subtype is built in: a Person is an Entity, which is what speakers of conversations are. All others are what
``subtype_of`` says between the worlds of type ``Type`` that are named after them; these count where they count for
queries too: inside the world, and directly in a world around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from worlddb.projections.tables.names.canonical import NO_NAME, Form, form_of, forms, name_digest, type_digest
from worlddb.projections.tables.reads.asof import alias_known, newest_version
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.commands.commands import Create
from worlddb.reconciler.entity_resolution.candidate_search import Inside, Search, likeliest
from worlddb.reconciler.entity_resolution.equivalence import is_apart
from worlddb.reconciler.similarity.name_guards import kept_apart
from worlddb.reconciler.similarity.scores import Likeness, likeness
from worlddb.reconciler.similarity.thresholds import Thresholds
from worlddb.reconciler.similarity.verdict import Ambiguous, Considered, Resolved, Verdict, judge
from worlddb.reconciler.transaction.context import Context, node_ref

TYPE: Final = "Type"
BUILT_IN: Final = {"Person": "Entity"}
"""Subtypes that nobody has to state, with what is above them."""


def are_compatible(ctx: Context, one: str, node: int, world: int) -> bool:
    """True if a candidate of a type, in a world, may be a world that is there and has another type."""
    body = ctx.body(node)
    other = "" if body is None else body.type
    return other in _above(ctx, one, world) or one in _above(ctx, other, world)


def _above(ctx: Context, type_name: str, world: int) -> Iterator[str]:
    """The types that a type is a subtype of, at any remove."""
    is_stated = next(iter(ctx.tables.typed(type_digest(TYPE))), None) is not None
    pending = [type_name]
    for name in pending:
        stated = _stated(ctx, name, world) if is_stated else ()
        for above in (*stated, *filter(None, (BUILT_IN.get(name),))):
            if above not in pending:
                pending.append(above)
                yield above


def _stated(ctx: Context, type_name: str, world: int) -> Iterator[str]:
    """The names of what worlds that stand for a type are ``subtype_of``."""
    for node, _ in ctx.tables.named(name_digest(type_name)):
        if _stands_for(ctx, node, type_name, world):
            for target in ctx.targets(node, "subtype_of"):
                body = ctx.body(target)
                if body is not None and not ctx.tables.node(target).ended:
                    yield body.name


def _stands_for(ctx: Context, node: int, type_name: str, world: int) -> bool:
    """True if a world stands for a type, and is one that counts in a world."""
    body = ctx.body(node)
    if body is None or (body.type, body.name) != (TYPE, type_name) or ctx.tables.node(node).ended:
        return False
    around = (above == ROOT_NODE or ctx.inside(world, above) for above in ctx.containers(node))
    return any(around) or ctx.inside(node, world)


MAX_WEIGHED: Final = 32
"""How many of the likeliest are looked up and weighed name by name."""

MIN_WEIGHED: Final = 2
"""How many of the likeliest are weighed although somebody is surely nearer: they stand beside the answer."""

MAX_KEPT_APART: Final = 2
"""How many forms that a guard keeps apart from the candidate's are looked up all the same, to be shown."""

_SESSION: Final = type_digest("Session")


class Match(NamedTuple):
    """A world that the candidate may be, and why."""

    node: int
    evidence: dict[str, Any]


class Candidate(NamedTuple):
    """Somebody who may be known: the names, the type, and the world inside which is looked. ``node`` is that of a
    candidate that is a world already."""

    names: tuple[str, ...]
    type: str
    world: int
    node: int | None = None


def exact(ctx: Context, command: Create) -> tuple[Match, ...]:
    """The earliest open world of a compatible type inside the command's world that has its name, or else an alias."""
    candidate = _candidate(ctx, command)
    found = next(_holders(ctx, candidate, Inside(candidate.world)), None)
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
    held = considered(ctx, _candidate(ctx, command), thresholds)
    return judge(held.considered, thresholds, looked_at=held.looked_at)


class Held(NamedTuple):
    """Whom a candidate is held against, and how much was looked at to find them."""

    considered: list[Considered]
    looked_at: dict[str, int]


def considered(
    ctx: Context,
    candidate: Candidate,
    thresholds: Thresholds,
    near: Mapping[int, float] | None = None,
    *,
    every: bool = False,
) -> Held:
    """Whom a candidate is held against: those of its name, or else those of a name like it, and those whose text is
    near to its own in meaning, with the cosines in ``near``.

    Those who cannot be the answer, since somebody else is surely nearer, are left out, unless ``every`` contender is
    asked for.
    """
    found: list[Considered] = []
    search = Search(candidate.world, thresholds)
    for node, name in _holders(ctx, candidate, search.inside):
        found.append(Considered(node, _lineage(ctx, node), name, name, Likeness(exact=1.0)))
        if len(found) > thresholds.most:
            break
    if found:
        return Held(found, {})
    for node, meaning in (near or {}).items():
        if _is_open(ctx, node, candidate, search.inside):
            found.append(_weighed(ctx, candidate, node, meaning))
    _weigh_alike(ctx, candidate, search, found, thresholds.margin if not every else 1.0)
    if not search.by_given_name:
        found = [each for each in found if not each.likeness.given_name or each.embedding]
    return Held(found, search.told())


def _weigh_alike(ctx: Context, candidate: Candidate, search: Search, found: list[Considered], margin: float) -> None:
    """Add those of a name like the candidate's, the likeliest first, until nobody behind can come within the margin."""
    known = {each.node for each in found}
    best = max((each.likeness.fuzzy for each in found if not each.likeness.given_name), default=0.0)
    best = best if best >= search.fuzzy else 0.0

    def here(node: int) -> bool:
        return node not in known and _is_open(ctx, node, candidate, search.inside)

    alike = likeliest(ctx, candidate.names, search)
    mine = [form for name in candidate.names for form in forms(name)]
    before = len(known)
    for position, (bound, text) in enumerate(alike):
        weighed = len(known) - before
        if best - bound > margin and weighed >= MIN_WEIGHED:
            return
        if weighed >= MAX_WEIGHED:
            search.forms_left = len(alike) - position
            return
        if _are_kept_apart(mine, text):
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
    return theirs is None or all(kept_apart(form, theirs) is not None for form in mine)


def scope_of(ctx: Context, node: int) -> int:
    """The world inside which another like this one is looked for: the one around it; of a session, the conversation."""
    world = ctx.home_of(node)
    if world != ROOT_NODE and ctx.tables.version(world, ctx.tables.node(world).versions).type == _SESSION:
        return ctx.home_of(world)
    return world


def _candidate(ctx: Context, command: Create) -> Candidate:
    within = command.world if command.scope is None else command.scope
    world = ROOT_NODE if within is None else node_ref(ctx, within)
    return Candidate((command.name, *command.aliases), command.type, world)


def _holders(ctx: Context, candidate: Candidate, inside: Inside) -> Iterator[tuple[int, str]]:
    """Open worlds of compatible types in the scope that have the name, then those with an alias of it, in log order."""
    seen: set[int] = set()
    for name in candidate.names:
        digest = name_digest(name)
        if digest == NO_NAME:
            continue
        for node in inside.namesakes(ctx, digest):
            if node not in seen and _is_called(ctx, node, digest) and _is_open(ctx, node, candidate, inside):
                seen.add(node)
                yield node, name


def _is_called(ctx: Context, node: int, digest: bytes) -> bool:
    """True if a world has the name now, not only before."""
    seen = newest_version(ctx.tables, node, ctx.draft.seq)
    return seen is not None and (
        seen.row.name == digest
        or any(alias.name == digest and alias_known(alias, ctx.draft.seq) for _, alias in ctx.tables.aliases(node))
    )


def _is_open(ctx: Context, node: int, candidate: Candidate, inside: Inside) -> bool:
    """True if a world is of a compatible type, open, not erased, inside the scope, and not known to be another one."""
    row = ctx.tables.node(node)
    if node in (ROOT_NODE, candidate.world, candidate.node) or row.ended:
        return False
    kind = ctx.tables.version(node, row.versions).type
    if not any(kind) or not inside.has(ctx, node):
        return False
    if kind != type_digest(candidate.type) and not are_compatible(ctx, candidate.type, node, candidate.world):
        return False
    return candidate.node is None or not is_apart(ctx, node, candidate.node)


def _weighed(ctx: Context, candidate: Candidate, node: int, meaning: float) -> Considered:
    """A world held against the candidate, by the two of their names that are nearest to each other.

    Numbers, generations and the like keep apart whatever the texts say; that the words are others does not.
    """
    body = ctx.body(node)
    known = ([] if body is None else [body.name]) + ctx.aliases(node)
    best: Considered | None = None
    for mine in candidate.names:
        for theirs in known:
            found = Considered(node, _lineage(ctx, node), mine, theirs, likeness(mine, theirs))
            if best is None or _strength(found.likeness) > _strength(best.likeness):
                best = found
    best = best or Considered(node, _lineage(ctx, node), candidate.names[0], "", Likeness())
    return best._replace(embedding=meaning) if best.likeness.guard in (None, "words") else best


def _strength(found: Likeness) -> tuple[float, float, float]:
    return found.exact, found.fuzzy, found.phonetic


def _lineage(ctx: Context, node: int) -> str:
    return ctx.tables.node(node).lineage.hex()
