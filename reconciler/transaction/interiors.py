"""Caches of containment: ancestors in a read transaction, and interiors of searched worlds in a writer.

Ancestors are cached while nothing is written, so that each is read once. Worlds with a single container are stored as
paths: the places of two worlds on one path tell which contains the other. A chain of thousands of worlds is one path;
paths end at worlds with several containers.

Interiors are cached between commits. The bounds of a search count only worlds inside its scope: how many worlds
elsewhere have a name, and how full name blocks are with others, must not change its result. If there are many others,
the interior is listed once, with the blocks of its names, and follows the log from then on. A world is inside if it is
a member as of now, even if the membership begins later.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Final

from worlddb.log.model import events as ev
from worlddb.projections.tables.names import blocks
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.transaction.draft import Draft

MAX_KEPT: Final = 64
"""Members of a world are cached if there are at most this many: in a deep structure most worlds have few."""


class _Path:
    """A path of worlds, each contained only in the one before it; ``above`` are the containers of the first."""

    def __init__(self, above: Sequence[int]) -> None:
        self.above = above
        self.length = 0


class Ancestry:
    """A cache of containment over two functions, whose answers must not change while it is used."""

    def __init__(self, containers: Callable[[int], Sequence[int]], members: Callable[[int], Iterable[int]]) -> None:
        self._read = containers
        self._members = members
        self._above: dict[int, Sequence[int]] = {}
        self._places: dict[int, tuple[_Path, int]] = {}
        self._known: dict[int, list[int]] = {}

    def containers(self, node: int) -> Sequence[int]:
        """The worlds that contain a world, read once."""
        known = self._above.get(node)
        if known is None:
            known = self._above[node] = self._read(node)
        return known

    def members(self, world: int) -> Iterable[int]:
        """The members of a world; if they are few, they are cached."""
        known = self._known.get(world)
        if known is None:
            rest = iter(self._members(world))
            known = list(islice(rest, MAX_KEPT + 1))
            if len(known) > MAX_KEPT:
                return chain(known, rest)
            self._known[world] = known
        return known

    def is_inside(self, node: int, world: int) -> bool:
        """True if a world contains another, directly or through others, or is it."""
        pending, visited_paths = [node], set[_Path]()
        while pending:
            path, place = self._place_on_path(pending.pop())
            world_place = self._places.get(world)
            if world_place is not None and world_place[0] is path and world_place[1] <= place:
                return True
            if path not in visited_paths:
                visited_paths.add(path)
                pending.extend(path.above)
        return False

    def _place_on_path(self, node: int) -> tuple[_Path, int]:
        """The path of a world, and its position on the path from the top."""
        walked: list[int] = []
        above: Sequence[int] = (node,)
        while len(above) == 1 and above[0] not in self._places:
            walked.append(above[0])
            above = self.containers(above[0])
        if walked:
            known = self._places.get(above[0]) if len(above) == 1 else None
            if known is not None and known[1] + 1 == known[0].length:
                path = known[0]
            else:
                path = _Path(above)
            for here in reversed(walked):
                self._places[here] = (path, path.length)
                path.length += 1
        return self._places[node]


MAX_WORLDS: Final = 16
"""How many interiors are cached, the most recently used."""
MAX_MEMBERS: Final = 400_000
"""How many members all cached interiors may have; the last one is kept in any case."""
MAX_COMMITS: Final = 256
"""After more commits by other writers, interiors are listed again."""

_NAMING: Final = (ev.Created, ev.Revised, ev.Named, ev.Filled)


class Interior:
    """A world with all worlds inside it, and the blocks of the names that these ever had."""

    def __init__(self, tables: rows.Tables, world: int) -> None:
        self.world = world
        self.nodes: set[int] = {world}
        self._sorted: list[int] | None = None
        self._names: blocks.NameBlocks | None = None
        self._add_members_of(tables, world)

    def in_order(self) -> Sequence[int]:
        """The nodes in log order."""
        if self._sorted is None:
            self._sorted = sorted(self.nodes)
        return self._sorted

    def names(self, tables: rows.Tables) -> blocks.NameBlocks:
        """The blocks of the names inside; built on first use."""
        if self._names is None:
            self._names = blocks.NameBlocks()
            for node in self.in_order():
                self._names.add_all(blocks.forms_held(tables, node))
        return self._names

    def add(self, tables: rows.Tables, node: int) -> None:
        """Add a node that a world inside contains, with all of its members."""
        if node not in self.nodes:
            self._add_node(tables, node)
            self._add_members_of(tables, node)

    def add_names(self, tables: rows.Tables, node: int) -> None:
        """Add the names of a node, if it is inside and the names were built."""
        if self._names is not None and node in self.nodes:
            self._names.add_all(blocks.forms_held(tables, node))

    def _add_node(self, tables: rows.Tables, node: int) -> None:
        if self._sorted is not None:
            if self._sorted[-1] < node:
                self._sorted.append(node)
            else:
                self._sorted = None
        self.nodes.add(node)
        self.add_names(tables, node)

    def _add_members_of(self, tables: rows.Tables, top: int) -> None:
        level = [top]
        while level:
            found: list[int] = []
            for _, row in tables.between(sorted(level), schema.CONTAINS_CODE, None):
                if row.unlinked == schema.LIVE and row.target not in self.nodes:
                    self._add_node(tables, row.target)
                    found.append(row.target)
            level = found


class Interiors:
    """A cache of the interiors used last, as the draft of the next commit sees them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Interior] = OrderedDict()
        self._seq = 0
        self._chain = b""
        self._draft: object | None = None
        """Identifies the draft whose events are applied; ``None`` if only events of commits are."""
        self._events = 0
        """How many of that draft's events are applied."""

    def of(self, draft: Draft, world: int) -> Interior:
        """The interior of a world, including everything that the draft has decided."""
        if draft.interiors_token is None or draft.interiors_token is not self._draft:
            self._sync_to_head(draft)
        tables = draft.tables
        self._apply_events(tables, draft.events[self._events :])
        self._events = len(draft.events)
        found = self._kept.get(world)
        if found is None:
            found = self._kept[world] = Interior(tables, world)
        self._kept.move_to_end(world)
        while len(self._kept) > 1 and (len(self._kept) > MAX_WORLDS or self._members() > MAX_MEMBERS):
            self._kept.popitem(last=False)
        return found

    def committed(self, draft: Draft, seq: int, chain: bytes) -> None:
        """Keep the interiors of a draft that was committed."""
        if draft.interiors_token is self._draft:
            self._apply_events(draft.tables, draft.events[self._events :])
            self._draft, self._seq, self._chain = None, seq, chain

    def _members(self) -> int:
        return sum(len(each.nodes) for each in self._kept.values())

    def _sync_to_head(self, draft: Draft) -> None:
        """Bring the cache up to the commit that a draft is based on, or clear it."""
        head, log = draft.head, draft.log
        behind = head.seq - self._seq
        is_undecided = self._draft is not None and self._events > 0
        if is_undecided or not 0 <= behind <= MAX_COMMITS:
            self._kept.clear()
        if self._kept and (log.header(self._seq + 1).previous if behind else head.chain) != self._chain:
            self._kept.clear()
        for seq in range(self._seq + 1, head.seq + 1) if self._kept else ():
            self._apply_events(draft.tables, log.events(seq).events)
        self._seq, self._chain, self._events = head.seq, head.chain, 0
        self._draft = draft.interiors_token = object()

    def _apply_events(self, tables: rows.Tables, events: Iterable[ev.Event]) -> None:
        for event in events if self._kept else ():
            if isinstance(event, _NAMING):
                self._add_names_of(tables, event.lineage)
            elif isinstance(event, ev.Linked):
                if event.type == schema.CONTAINS:
                    self._add_member(tables, event.source, event.target)
            elif isinstance(event, ev.Unlinked):
                self._drop_on_unlink(tables, event.edge)
            elif isinstance(event, ev.Erased | ev.Struck):
                # Erased names must not stay in memory either.
                self._kept.clear()
                return

    def _add_names_of(self, tables: rows.Tables, lineage: bytes) -> None:
        node = tables.node_of(lineage)
        for kept in self._kept.values() if node is not None else ():
            kept.add_names(tables, node)  # type: ignore[arg-type]

    def _add_member(self, tables: rows.Tables, container: bytes, member: bytes) -> None:
        source, target = tables.node_of(container), tables.node_of(member)
        for kept in self._kept.values():
            if source in kept.nodes and target is not None:
                kept.add(tables, target)

    def _drop_on_unlink(self, tables: rows.Tables, edge: bytes) -> None:
        place = tables.place_of(edge)
        if place is not None and place.type == schema.CONTAINS_CODE:
            for world in [world for world, kept in self._kept.items() if place.source in kept.nodes]:
                del self._kept[world]
