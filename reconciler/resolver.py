"""The resolver: who a candidate might already be. Its matches only ever stage proposals (paper §3.1).

The exact tier looks for equal names or aliases, case-folded and normalised, of compatible types and in one scope. The
others score what blocking brings up; see ``resolving/`` for the scores, the guards and the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import nsmallest
from itertools import islice
from typing import Any, Final, NamedTuple

from rapidfuzz.distance import JaroWinkler

from worlddb.projections.tables.asof import alias_known, newest_version
from worlddb.projections.tables.blocks import MAX_FORMS, block, ends_keys, given_name_keys, lookup_keys
from worlddb.projections.tables.matching import Form, forms, sound_of
from worlddb.projections.tables.names import NO_NAME, name_digest, type_digest
from worlddb.projections.tables.schema import CONTAINS_CODE, LIVE, ROOT_NODE
from worlddb.reconciler.commands import Create
from worlddb.reconciler.context import Context
from worlddb.reconciler.kinds import are_compatible
from worlddb.reconciler.references import node_ref
from worlddb.reconciler.resolving.given_names import SHORTEST, others_for
from worlddb.reconciler.resolving.scores import Likeness, likeness
from worlddb.reconciler.resolving.thresholds import Thresholds
from worlddb.reconciler.resolving.verdict import Ambiguous, Considered, Resolved, Verdict, judge
from worlddb.reconciler.staging import is_apart

MAX_CONSIDERED: Final = 512
"""How many holders of a name are looked at: of five thousand people with one name, the earliest will do."""

MAX_WALKED: Final = 2048
"""How many members of the scope are looked at for a name that more than so many others have."""

MAX_GLANCES: Final = 512
"""How many forms are looked at for one of a candidate's, in all of its blocks together."""

MAX_WEIGHED: Final = 16
"""How many of the likeliest are looked up and weighed name by name."""


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
    found = next(_holders(ctx, _candidate(ctx, command)), None)
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
    return judge(considered(ctx, _candidate(ctx, command), thresholds), thresholds)


def considered(
    ctx: Context, candidate: Candidate, thresholds: Thresholds, near: Mapping[int, float] | None = None
) -> list[Considered]:
    """Whom a candidate is held against: those of its name, or else those of a name like it, and those whose text is
    near to its own in meaning, with the cosines in ``near``."""
    found: list[Considered] = []
    for node, name in _holders(ctx, candidate):
        found.append(Considered(node, _lineage(ctx, node), name, name, Likeness(exact=1.0)))
        if len(found) > thresholds.most:
            break
    if found:
        return found
    search = Search(candidate.world, min(thresholds.fuzzy, thresholds.phonetic), {})
    close = near or {}
    for node in dict.fromkeys((*likeliest(ctx, candidate.names, search), *close)):
        if _is_open(ctx, node, candidate):
            found.append(_weighed(ctx, candidate, node, close.get(node, 0.0)))
    if not search.by_given_name:
        found = [each for each in found if not each.likeness.given_name or each.embedding]
    return found


def scope_of(ctx: Context, node: int) -> int:
    """The world inside which another like this one is looked for: the one around it; of a session, the conversation."""
    world = ctx.home_of(node)
    if world != ROOT_NODE and ctx.tables.version(world, ctx.tables.node(world).versions).type == _SESSION:
        return ctx.home_of(world)
    return world


class Search(NamedTuple):
    """Where somebody is looked for, and from which score on."""

    world: int
    least: float
    places: dict[int, bool]
    """Which nodes are inside the world, as far as they were asked about."""

    @property
    def by_given_name(self) -> bool:
        """In the whole store a given name alone is nobody; in a conversation it is one of those who take part."""
        return self.world != ROOT_NODE


def likeliest(ctx: Context, names: tuple[str, ...], search: Search) -> list[int]:
    """The worlds, the likeliest first, whose names a glance at the forms in their blocks finds alike."""
    scores: dict[int, float] = {}
    for name in names:
        for form in forms(name):
            for score, node in _glances(ctx, form, search):
                if score > scores.get(node, 0.0):
                    scores[node] = score
    return nsmallest(MAX_WEIGHED, scores, key=lambda node: (-scores[node], node))


def _glances(ctx: Context, form: Form, search: Search) -> Iterator[tuple[float, int]]:
    """(score, node) of whoever is in a block of the form, or of what the same name is with another given name."""
    seen: dict[str, float] = {}
    left = MAX_GLANCES
    for sought, key in _looked_up(form, search):

        def alike(text: str, sought: Form = sought) -> bool:
            nonlocal left
            left -= 1
            score = seen.get(text)
            if score is None or (sought is not form and not score):
                score = seen[text] = _glance(sought, text, search)
            return score > 0.0

        def here(node: int) -> bool:
            if node not in search.places:
                search.places[node] = ctx.inside(node, search.world)
            return search.places[node]

        for text, node in block(ctx.tables, key, alike, here, min(left, MAX_FORMS)):
            yield seen[text], node


def _looked_up(form: Form, search: Search) -> Iterator[tuple[Form, bytes]]:
    """The blocks to look into, and what is looked for in each."""
    yield from ((form, key) for key in lookup_keys(form))
    if search.by_given_name:
        yield from ((form, key) for key in given_name_keys(form))
    first, *rest = form.text.split()
    for given in others_for(first) if first == form.words[0] else ():
        for other in forms(" ".join((given, *rest))):
            yield from ((other, key) for key in ends_keys(other))
            if search.by_given_name:
                yield from ((other, key) for key in given_name_keys(other))


def _glance(form: Form, text: str, search: Search) -> float:
    """The greatest score that a form can have against another, of which only the text is known; 0 if too small."""
    score: float = JaroWinkler.similarity(form.text, text, score_cutoff=search.least)
    words = text.split()
    if score < 1.0 and len(words) > 1:
        score = max(score, JaroWinkler.similarity(form.ordered, " ".join(sorted(words)), score_cutoff=search.least))
    if score:
        return score
    own = form.text.split()
    if sorted(map(sound_of, words)) == sorted(map(sound_of, own)):
        return search.least
    if words[0] == own[0]:
        alone = 1 in (len(words), len(own))
        return search.least if (search.by_given_name if alone else words[-1] == own[-1]) else 0.0
    shorter, longer = sorted((text, form.text), key=len)
    return search.least if len(shorter) >= SHORTEST and longer.startswith(shorter) and " " not in longer else 0.0


def _candidate(ctx: Context, command: Create) -> Candidate:
    within = command.world if command.scope is None else command.scope
    world = ROOT_NODE if within is None else node_ref(ctx, within)
    return Candidate((command.name, *command.aliases), command.type, world)


def _holders(ctx: Context, candidate: Candidate) -> Iterator[tuple[int, str]]:
    """Open worlds of compatible types in the scope that have the name, then those with an alias of it, in log order."""
    seen: set[int] = set()
    for name in candidate.names:
        digest = name_digest(name)
        if digest == NO_NAME:
            continue
        for node in _namesakes(ctx, digest, candidate.world):
            if node not in seen and _is_called(ctx, node, digest) and _is_open(ctx, node, candidate):
                seen.add(node)
                yield node, name


def _namesakes(ctx: Context, digest: bytes, world: int) -> Iterator[int]:
    """Nodes that have had a name, in log order; of very many the earliest, and then whoever is near in the scope.

    Without the latter, nobody would find a name that is common elsewhere in a world of their own.
    """
    rows = ctx.tables.named(digest)
    yield from (node for node, _ in islice(rows, MAX_CONSIDERED))
    if world != ROOT_NODE and next(rows, None) is not None:
        yield from sorted(_near(ctx, world))


def _near(ctx: Context, world: int) -> set[int]:
    """The worlds inside a world, level by level, as far as they are looked at."""
    found, pending = {world}, [world]
    for around in pending:
        for _, row in ctx.tables.outgoing(around, CONTAINS_CODE):
            if len(found) > MAX_WALKED:
                return found
            if row.unlinked == LIVE and row.target not in found:
                found.add(row.target)
                pending.append(row.target)
    return found


def _is_called(ctx: Context, node: int, digest: bytes) -> bool:
    """True if a world has the name now, not only before."""
    seen = newest_version(ctx.tables, node, ctx.draft.seq)
    return seen is not None and (
        seen.row.name == digest
        or any(alias.name == digest and alias_known(alias, ctx.draft.seq) for _, alias in ctx.tables.aliases(node))
    )


def _is_open(ctx: Context, node: int, candidate: Candidate) -> bool:
    """True if a world is of a compatible type, open, not erased, inside the scope, and not known to be another one."""
    row = ctx.tables.node(node)
    if node in (ROOT_NODE, candidate.world, candidate.node) or row.ended:
        return False
    kind = ctx.tables.version(node, row.versions).type
    if not any(kind) or not ctx.inside(node, candidate.world):
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
