"""The exact tier of the resolver: open worlds with a candidate's name.

The worlds have compatible types and are in one scope. Names and aliases are compared case-folded and normalised. Two
types are compatible if they are equal, or if one is a subtype of the other. One subtype is built in: a Person is an
Entity. All others are ``subtype_of`` edges between worlds of type ``Type`` that are named after the types. They count
where they count for queries: inside the world, and directly in its containers.

If many worlds have a name, the inside of the scope is listed and searched for the name, so that worlds elsewhere change
nothing, and the time taken does not reveal their number.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from worlddb.projections.tables.names.blocks import holders, is_held_by_more
from worlddb.projections.tables.names.canonical import NO_NAME, name_digest, type_digest
from worlddb.projections.tables.reads.asof import alias_known, newest_version
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, LIVE, ROOT_NODE
from worlddb.reconciler.commands.commands import Create
from worlddb.reconciler.entity_resolution.equivalence import is_apart
from worlddb.reconciler.transaction.context import Context, KeyedWorld, node_ref
from worlddb.reconciler.transaction.interiors import Interior

TYPE: Final = "Type"
BUILT_IN: Final = {"Person": "Entity"}
"""Built-in subtypes, with their supertypes."""
_SESSION: Final = type_digest("Session")

MAX_CONSIDERED: Final = 512
"""How many holders of a name inside the scope are considered, the earliest first."""

MAX_SCANNED: Final = 2048
"""Scopes of up to this many worlds are scanned one by one."""

MAX_CHECKED_SINGLY: Final = 32
"""Up to how many worlds of one name are tested singly for being inside; with more, the scope is listed."""


class Match(NamedTuple):
    """A world that the candidate may be, and why."""

    node: int
    evidence: dict[str, Any]


class Candidate(NamedTuple):
    """An entity to resolve: names, type, and the world to search in.

    ``node`` is set if the candidate is an existing world.
    """

    names: tuple[str, ...]
    type: str
    world: int
    node: int | None = None


class Resolution(NamedTuple):
    """The result of resolving one command: the world of its key, and the worlds that it may be the same as."""

    keyed: KeyedWorld | None
    matches: Sequence[Match]


UNRESOLVED: Final = Resolution(None, ())


class SearchScope:
    """The world that a search is limited to, with everything inside it.

    The inside is listed on first need.
    """

    def __init__(self, world: int) -> None:
        self.world = world
        self._listed: Interior | None = None
        self._is_inside_by_node: dict[int, bool] = {}

    @property
    def is_everywhere(self) -> bool:
        """True if the world is the root: nobody is outside."""
        return self.world == ROOT_NODE

    def interior_of_scope(self, ctx: Context) -> Interior:
        """The world and those inside it."""
        if self._listed is None:
            self._listed = ctx.interior(self.world)
        return self._listed

    def has(self, ctx: Context, node: int) -> bool:
        """True if a world is inside."""
        if self.world in (ROOT_NODE, node):
            return True
        if self._listed is not None:
            return node in self._listed.nodes
        if ctx.ancestry is not None:
            return ctx.ancestry.is_inside(node, self.world)
        if node not in self._is_inside_by_node:
            self._walk_up(ctx, node)
        return self._is_inside_by_node[node]

    def _walk_up(self, ctx: Context, node: int) -> None:
        """Walk up from a world, no further than earlier walks: deep structures share most of the path."""
        through: dict[int, int] = {node: node}
        pending = [node]
        while pending:
            here = pending.pop()
            if here == self.world or self._is_inside_by_node.get(here):
                while here != node:
                    here = through[here]
                    self._is_inside_by_node[here] = True
                return
            for above in ctx.containers(here) if here not in self._is_inside_by_node else ():
                if above not in through:
                    through[above] = here
                    pending.append(above)
        self._is_inside_by_node.update(dict.fromkeys(through, False))

    def namesakes(self, ctx: Context, digest: bytes) -> Iterator[int]:
        """The earliest nodes inside that have had a name, in log order; if there are few, some may be outside."""
        named = ctx.tables.named
        if self.is_everywhere or len(list(islice(named(digest), MAX_CHECKED_SINGLY + 1))) <= MAX_CHECKED_SINGLY:
            rows = named(digest)
        elif ctx.ancestry is not None:
            # In a read transaction the paths up are cached, and many scopes are searched.
            rows = (row for row in named(digest) if self.has(ctx, row[0]))
        else:
            rows = named(digest, nodes=self.interior_of_scope(ctx).in_order())
        return (node for node, _ in islice(rows, MAX_CONSIDERED))

    def holders(self, ctx: Context, text: str, here: Callable[[int], bool]) -> Iterator[int]:
        """The earliest holders of a form for which ``here`` is true; ``here`` must be false for nodes outside."""
        tables = ctx.tables
        if self.is_everywhere or not is_held_by_more(tables, text, MAX_CHECKED_SINGLY):
            return holders(tables, text, here)
        if ctx.ancestry is not None:
            return holders(tables, text, here, inside=partial(self.has, ctx))
        return holders(tables, text, here, nodes=self.interior_of_scope(ctx).in_order())

    def has_holder(self, ctx: Context, text: str) -> bool:
        """True if a world inside ever had a form."""
        return next(self.holders(ctx, text, partial(self.has, ctx)), None) is not None


def members_of(ctx: Context, world: int) -> Iterator[int]:
    """The members of a world, each once, in log order."""
    known = set[int]()
    for _, row in ctx.tables.outgoing(world, CONTAINS_CODE):
        if row.unlinked == LIVE and row.target not in known:
            known.add(row.target)
            yield row.target


def match_exactly(ctx: Context, command: Create) -> tuple[Match, ...]:
    """The earliest open world of a compatible type in scope that has the name, else an alias."""
    candidate = candidate_of(ctx, command)
    found = next(holders_of(ctx, candidate, SearchScope(candidate.world)), None)
    return () if found is None else (Match(found[0], {"tier": "exact", "name": found[1], "score": 1.0}),)


def scope_of(ctx: Context, node: int) -> int:
    """The world to search for namesakes of a world.

    That is its container; of a session, the conversation.
    """
    world = ctx.home_of(node)
    if world != ROOT_NODE and ctx.tables.version(world, ctx.tables.node(world).versions).type == _SESSION:
        return ctx.home_of(world)
    return world


def candidate_of(ctx: Context, command: Create) -> Candidate:
    within = command.world if command.scope is None else command.scope
    world = ROOT_NODE if within is None else node_ref(ctx, within)
    return Candidate((command.name, *command.aliases), command.type, world)


def holders_of(ctx: Context, candidate: Candidate, inside: SearchScope) -> Iterator[tuple[int, str]]:
    """Open worlds of compatible types in the scope that have a name of the candidate.

    Those with an alias come after them.
    """
    seen: set[int] = set()
    for name in candidate.names:
        digest = name_digest(name)
        if digest == NO_NAME:
            continue
        for node in inside.namesakes(ctx, digest):
            if node not in seen and _has_name_now(ctx, node, digest) and is_open(ctx, node, candidate, inside):
                seen.add(node)
                yield node, name


def _has_name_now(ctx: Context, node: int, digest: bytes) -> bool:
    """True if a world has the name now, not only before."""
    seen = newest_version(ctx.tables, node, ctx.draft.seq)
    return seen is not None and (
        seen.row.name == digest
        or any(alias.name == digest and alias_known(alias, ctx.draft.seq) for _, alias in ctx.tables.aliases(node))
    )


def is_open(ctx: Context, node: int, candidate: Candidate, inside: SearchScope) -> bool:
    """True if a world may be the candidate.

    That is: compatible type, open, not erased, in scope, not known to be another.
    """
    row = ctx.tables.node(node)
    if node in (ROOT_NODE, candidate.world, candidate.node) or (row.ended and ctx.has_ended(node)):
        return False
    kind = ctx.tables.version(node, row.versions).type
    if not any(kind) or not inside.has(ctx, node):
        return False
    if kind != type_digest(candidate.type) and not are_compatible(ctx, candidate.type, node, candidate.world):
        return False
    return candidate.node is None or not is_apart(ctx, node, candidate.node)


def are_compatible(ctx: Context, one: str, node: int, world: int) -> bool:
    """True if a candidate of a type, in a world, may be a given world of another type."""
    body = ctx.body(node)
    other = "" if body is None else body.type
    return other in _supertypes_above(ctx, one, world) or one in _supertypes_above(ctx, other, world)


def _supertypes_above(ctx: Context, type_name: str, world: int) -> Iterator[str]:
    """The supertypes of a type, at any remove."""
    is_stated = next(iter(ctx.tables.typed(type_digest(TYPE))), None) is not None
    pending = [type_name]
    for name in pending:
        stated = _stated_supertypes(ctx, name, world) if is_stated else ()
        for above in (*stated, *filter(None, (BUILT_IN.get(name),))):
            if above not in pending:
                pending.append(above)
                yield above


def _stated_supertypes(ctx: Context, type_name: str, world: int) -> Iterator[str]:
    """The supertypes that ``subtype_of`` edges state for a type."""
    for node, _ in ctx.tables.named(name_digest(type_name)):
        if _is_world_of_type(ctx, node, type_name, world):
            for target in ctx.targets(node, "subtype_of"):
                body = ctx.body(target)
                if body is not None and not ctx.has_ended(target):
                    yield body.name


def _is_world_of_type(ctx: Context, node: int, type_name: str, world: int) -> bool:
    """True if a world stands for a type, and counts inside a given world."""
    body = ctx.body(node)
    if body is None or (body.type, body.name) != (TYPE, type_name) or ctx.has_ended(node):
        return False
    around = (above == ROOT_NODE or ctx.inside(world, above) for above in ctx.containers(node))
    return any(around) or ctx.inside(node, world)
