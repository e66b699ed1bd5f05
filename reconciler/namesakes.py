"""Who has a name, or a form of one, inside the world that somebody is looked for in.

Where many have it, what is inside is listed and each of that is asked for the name: those elsewhere then hide nobody,
and how many they are cannot be told from the time that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Final

from worlddb.projections.tables.names.blocks import holders, is_held_by_more
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, LIVE, ROOT_NODE
from worlddb.reconciler.context import Context

MAX_CONSIDERED: Final = 512
"""How many holders of a name are looked at: of five thousand people with one name, the earliest will do."""

MAX_WALKED: Final = 2048
"""How many worlds inside the one that is looked in are looked at one by one."""

FEW: Final = 32
"""Of how many with one name it is asked of each whether it is inside, before what is inside is listed."""


class Inside:
    """The inside of a world while somebody is looked for in it. It is listed when that is first needed."""

    def __init__(self, world: int) -> None:
        self.world = world
        self._near: list[int] | None = None
        self._places: dict[int, bool] = {}

    def near(self, ctx: Context) -> list[int]:
        """The world and those inside, level by level as far as they are looked at, in log order."""
        if self._near is None:
            self._near = sorted(_near_in(ctx, self.world))
        return self._near

    def has(self, ctx: Context, node: int) -> bool:
        """True if a world is inside."""
        if self.world in (ROOT_NODE, node):
            return True
        if ctx.ways is not None:
            return ctx.ways.lead(node, self.world)
        if node not in self._places:
            self._look(ctx, node)
        return self._places[node]

    def _look(self, ctx: Context, node: int) -> None:
        """Walk up from a world, no further than from others before: in deep structures they share most of the way."""
        through: dict[int, int] = {node: node}
        pending = [node]
        while pending:
            here = pending.pop()
            if here == self.world or self._places.get(here):
                while here != node:
                    here = through[here]
                    self._places[here] = True
                return
            for above in ctx.containers(here) if here not in self._places else ():
                if above not in through:
                    through[above] = here
                    pending.append(above)
        self._places.update(dict.fromkeys(through, False))

    def namesakes(self, ctx: Context, digest: bytes) -> Iterator[int]:
        """Nodes that have had a name, all of those inside among them, in log order. If those inside are too many to be
        listed, the earliest that there are, and then those that are listed."""
        named = ctx.tables.named
        if self.world != ROOT_NODE and len(list(islice(named(digest), FEW + 1))) > FEW and self._is_listed(ctx):
            yield from (node for node, _ in named(digest, nodes=self.near(ctx)))
            return
        rows = named(digest)
        yield from (node for node, _ in islice(rows, MAX_CONSIDERED))
        if self.world != ROOT_NODE and next(rows, None) is not None:
            yield from self.near(ctx)

    def holders(self, ctx: Context, text: str, here: Callable[[int], bool]) -> Iterator[int]:
        """The earliest of those who ever had a form and are ``here``, which nobody is who is not inside."""
        tables = ctx.tables
        many = self.world != ROOT_NODE and is_held_by_more(tables, text, FEW)
        return holders(tables, text, here, nodes=self.near(ctx) if many and self._is_listed(ctx) else None)

    def _is_listed(self, ctx: Context) -> bool:
        """True if everything inside is looked at one by one."""
        return len(self.near(ctx)) <= MAX_WALKED


def _near_in(ctx: Context, world: int) -> set[int]:
    found, pending = {world}, [world]
    members = partial(members_of, ctx) if ctx.ways is None else ctx.ways.members
    for around_it in pending:
        for node in members(around_it):
            if len(found) > MAX_WALKED:
                return found
            if node not in found:
                found.add(node)
                pending.append(node)
    return found


def members_of(ctx: Context, world: int) -> Iterator[int]:
    """The members of a world, in log order."""
    return (row.target for _, row in ctx.tables.outgoing(world, CONTAINS_CODE) if row.unlinked == LIVE)
