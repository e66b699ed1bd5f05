"""The tables of a store restricted to one world, for views that are confined to it (law 7).

They return rows of the world's interior and nothing else. Everything that is built on them (records, lookups by prefix,
counts and error messages) therefore cannot tell that there is more.

* A **node** is inside if it is the world itself or if the world contains it at the view's moment, through any of its
  containers. A lineage is inside with all of its versions.
* An **edge** is inside if both of its ends and its home are.
* A **proposal** is inside if the edge that it would become is.

The tables of a view for some users are restricted in the same way: what belongs to other users is outside.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import filterfalse, islice
from typing import Final
from zlib import crc32

from worlddb.log.model.blobs import Body
from worlddb.projections.tables.names.canonical import compose_name, type_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.reads.table_reads import Scannable, Seekable, TableReads
from worlddb.projections.tables.storage import rows, schema, timeline_rows, transaction, write_buffer
from worlddb.query.snapshot.snapshot import (
    Scope,
    Snapshot,
    containers_at,
    members_below,
)

USER_SCOPE: Final = "user:"
"""How the names of users' scopes begin; a scope that was retired and one that took its place have the same name."""
USER_TYPE: Final = "user"
"""The type, whatever its case, of a world that holds what is a user's."""
ERASED_USER: Final = "\0"
"""In place of the name of a world at the top that was erased without its members: it may have been a user's."""
_TYPES: Final = frozenset(map(type_digest, ("Scope", "User", "user", "USER")))
"""The usual types of users' worlds: of other worlds no text is read."""
_DERIVED_FROM: Final = schema.EDGE_TYPE_CODES["derived_from"]

MAX_CHECKED_NAMESAKES: Final = 32
"""Up to so many worlds of one name are checked one by one for being inside; for more, the interior is listed and
searched for the name."""
LEAST_CHECKED: Final = 4
"""At least so many worlds are checked for being inside: for a name that nobody has, arbitrary ones."""


def user_named(body: Body | None) -> str:
    """The name of the user whose world one with this body is; empty for the world of a tenant or an agent."""
    if body is None:
        return ""
    is_scope = body.type == "Scope" and body.name.startswith(USER_SCOPE)
    return body.name.removeprefix(USER_SCOPE) if is_scope or body.type.casefold() == USER_TYPE else ""


class OtherUsers:
    """Tells what belongs to users, and to none of some: a view for those users leaves it out.

    A world belongs to those whose world it is, or in whose worlds it lies, at any depth: at the moment, or where no
    world contains it then, at any time. What belongs to nobody, such as the summary of an agent's world, belongs to
    those from whose memories it was derived. What lies around the outermost world of the view does not count.
    """

    def __init__(self, snapshot: Snapshot, users: frozenset[str], moment: asof.Moment, top: int) -> None:
        self._snapshot = snapshot
        self._users = users
        self._moment = moment
        self._top = top
        self._named: dict[int, str] = {top: ""}
        self._owners: dict[int, frozenset[str]] = {top: frozenset()}
        self._others: dict[int, bool] = {}

    def __call__(self, node: int) -> bool:
        """Whether a world belongs to other users alone."""
        found = self._others.get(node)
        if found is None:
            found = self._others[node] = self._belongs_to_others(node)
        return found

    def owners(self, node: int) -> frozenset[str]:
        """The names of the users to whom a world belongs, :data:`ERASED_USER` too, without what it was derived from."""
        found = self._owners.get(node)
        if found is None:
            around = self._around(node)
            for each in around:
                if each not in self._owners:
                    self._owners[each] = self._walk_up(each)
            own = {self._user(node)} - {""} if self._type(node) in _TYPES else set()
            found = self._owners[node] = frozenset(own).union(*(self._owners[each] for each in around))
        return found

    def _belongs_to_others(self, node: int) -> bool:
        pending, seen, tables = [node], {node}, self._snapshot.tables
        for each in pending:
            owners = self.owners(each)
            if owners:
                if owners.isdisjoint(self._users):
                    return True
            elif tables.has_outgoing(each, _DERIVED_FROM):
                edges = tables.outgoing(each, _DERIVED_FROM, known_by=self._moment.seq)
                bases = {row.target for _, row in edges} - seen
                seen |= bases
                pending += sorted(bases)
        return False

    def _walk_up(self, start: int) -> frozenset[str]:
        seen, pending, users = {start, self._top}, [start], set[str]()
        for here in pending:
            known = self._owners.get(here)
            if known is not None:
                users |= known
                continue
            users.add(self._user(here))
            new = [each for each in self._around(here) if each not in seen]
            seen.update(new)
            pending += new
        return frozenset(users - {""})

    def _around(self, node: int) -> list[int]:
        tables, seq = self._snapshot.tables, self._moment.seq
        around = containers_at(tables, node, self._moment)
        if not around:
            placed = tables.incoming(node, schema.CONTAINS_CODE, known_after=seq, known_by=seq)
            around = sorted({place.source for place, row in placed if row.unlinked > seq})
        return around

    def _type(self, node: int) -> bytes:
        newest = asof.newest_version(self._snapshot.tables, node, self._moment.seq)
        return b"" if newest is None else newest.row.type

    def _user(self, node: int) -> str:
        found = self._named.get(node)
        if found is None:
            newest = asof.newest_version(self._snapshot.tables, node, self._moment.seq)
            body = None if newest is None else self._snapshot.body(newest.row)
            is_scope = body is None and newest is not None and set(self._around(node)) <= {self._top, schema.ROOT_NODE}
            found = self._named[node] = ERASED_USER if is_scope else compose_name(user_named(body))
        return found


class ConfinedTables:
    """The tables of a store as far as they are about one world and its interior at a moment.

    Callers pass only node numbers that these tables returned; any other number is a bug, and raises as if there were
    no such row.
    """

    def __init__(
        self,
        tables: TableReads,
        world: int,
        moment: asof.Moment,
        known: dict[int, bool],
        *,
        whole: rows.Tables | None = None,
        others: OtherUsers | None = None,
    ) -> None:
        """``whole`` are the same tables, if they are those of the whole store and all of it lies in its worlds.

        ``others`` tells what is left out as other users'.
        """
        self._tables = tables
        self._world = world
        self._moment = moment
        self._known = known
        self._scope = Scope(tables, world, moment, known)
        self._holds: Callable[[int], bool] | None = None
        self._list: Callable[[], list[int]] | None = None
        self._listed: list[int] | None = None
        self._whole = whole
        self._others = others
        self._nodes = 0
        self.timelines: timeline_rows.Readable = tables.timelines
        self.decisions: Seekable = tables.decisions
        self.lineages: Scannable = VisibleRows(
            tables.lineages, lambda number: self._sees(int.from_bytes(number, "big")), self._walk_up_from_decoy
        )
        self.edges: Scannable = VisibleRows(
            tables.edges,
            lambda place: self._shows_place(schema.EdgePlace._make(schema.EDGE_PLACE.unpack(place))),
            self._walk_up_from_decoy_edge,
        )

    # -- nodes and versions

    def node_of(self, lineage: bytes) -> int | None:
        node = self._tables.node_of(lineage)
        if node is None:
            self._walk_up_from_decoy(lineage)
            return None
        return node if self._sees(node) else None

    def node(self, node: int) -> schema.NodeRow:
        return self._tables.node(self._require_inside(node))

    def nodes_of(self, nodes: Sequence[int]) -> list[schema.NodeRow]:
        return self._tables.nodes_of(list(map(self._require_inside, nodes)))

    def version(self, node: int, version: int) -> schema.VersionRow:
        return self._tables.version(self._require_inside(node), version)

    def newest_versions(self, nodes: Sequence[int]) -> list[tuple[int, schema.VersionRow]]:
        return self._tables.newest_versions(list(map(self._require_inside, nodes)))

    def versions_of(self, versions: Sequence[tuple[int, int]]) -> list[schema.VersionRow]:
        return self._tables.versions_of([(self._require_inside(node), number) for node, number in versions])

    def version_rows(self, node: int) -> Iterator[tuple[int, schema.VersionRow]]:
        return self._tables.version_rows(self._require_inside(node))

    def aliases(self, node: int) -> Iterator[tuple[int, schema.AliasRow]]:
        return self._tables.aliases(self._require_inside(node))

    def restatements(self, node: int) -> Iterator[schema.RestatedRow]:
        return self._tables.restatements(self._require_inside(node))

    def named(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]:
        return self._first_uses(digest, partial(self._tables.named, digest), nodes)

    def are_names(self, digests: Collection[bytes]) -> Set[bytes]:
        """The digests that are names in the whole store; this reveals nothing about the interior."""
        return self._tables.are_names(digests)

    def typed(self, digest: bytes, *, nodes: Sequence[int] | None = None, after: int = -1) -> Iterator[tuple[int, int]]:
        found = self._first_uses(digest, partial(self._tables.typed, digest), nodes)
        return found if after < 0 else (each for each in found if each[0] > after)

    # -- edges

    def type_code(self, name: str) -> int | None:
        return self._tables.type_code(name)

    def type_codes(self) -> list[int]:
        return self._tables.type_codes()

    def type_name(self, code: int) -> str:
        return self._tables.type_name(code)

    def place_of(self, edge: bytes) -> schema.EdgePlace | None:
        place = self._tables.place_of(edge)
        if place is None:
            self._walk_up_from_decoy_edge(edge)
            return None
        return place if self._shows_place(place) else None

    def edge(self, place: schema.EdgePlace) -> schema.EdgeRow:
        row = self._tables.edge(place)
        if not self._shows(place, row):
            raise transaction.missing_row(f"edge {place.edge} from node {place.source}")
        return row

    def outgoing(
        self, node: int, code: int | None = None, after: int = 0, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        found = self._tables.outgoing(self._require_inside(node), code, after, known_by=known_by)
        return ((place, row) for place, row in found if self._shows(place, row))

    def outgoing_behind(
        self, places: Iterable[schema.EdgePlace]
    ) -> Iterator[Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]]:
        inside = (place._replace(source=self._require_inside(place.source)) for place in places)
        for found in self._tables.outgoing_behind(inside):
            yield (each for each in found if self._shows(*each))

    def edges_of_each(
        self, nodes: Sequence[int], codes: Sequence[int], *, incoming: bool, known_by: int
    ) -> dict[int, list[tuple[schema.EdgePlace, schema.EdgeRow]] | None]:
        inside = list(map(self._require_inside, nodes))
        found = self._tables.edges_of_each(inside, codes, incoming=incoming, known_by=known_by)
        return {
            node: None if edges is None else [edge for edge in edges if self._shows(*edge)]
            for node, edges in found.items()
        }

    def between(
        self, sources: Iterable[int], code: int, targets: Set[int] | None, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        found = self._tables.between(map(self._require_inside, sources), code, targets, known_by=known_by)
        return ((place, row) for place, row in found if self._shows(place, row))

    def incoming(
        self,
        node: int,
        code: int | None = None,
        after: int = 0,
        *,
        known_after: int = 0,
        known_by: int = schema.LIVE,
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        found = self._tables.incoming(
            self._require_inside(node), code, after, known_after=known_after, known_by=known_by
        )
        return ((place, row) for place, row in found if self._shows(place, row))

    def latest_incoming(
        self, node: int, code: int, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        found = self._tables.latest_incoming(self._require_inside(node), code, known_by=known_by)
        return ((place, row) for place, row in found if self._shows(place, row))

    # -- identity and hashes

    def proposal(self, proposal: bytes) -> schema.ProposalRow | None:
        row = self._tables.proposal(proposal)
        if row is None:
            self._walk_up_from_decoy(proposal)
            return None
        return row if self._shows_proposal(row) else None

    def staged(self, nodes: Sequence[int] | None = None) -> Iterator[rows.Staged]:
        if nodes is not None:
            nodes = [node for node in nodes if self._sees(node)]
        elif self._world != schema.ROOT_NODE:
            nodes = self._interior()
        for found in self._tables.staged(nodes):
            row = self._tables.proposal(found.proposal)
            if row is not None and self._shows_proposal(row):
                yield found

    def hash_row(self, node: int, seq: int) -> tuple[int, bytes] | None:
        return self._tables.hash_row(self._require_inside(node), seq)

    # -- what is inside

    def use_interior(self, holds: Callable[[int], bool], listed: Callable[[], list[int]]) -> None:
        """Use a known interior, which saves walking up and listing."""
        self._holds, self._list = holds, listed

    def _sees(self, node: int) -> bool:
        if self._others is not None and self._others(node):
            return False
        if self._holds is not None:
            return node == self._world or self._holds(node)
        return self._scope.sees(node)

    def below(self, world: int) -> set[int]:
        """The members, at any depth, of a world inside. They are inside too, so they need no check."""
        found = members_below(self._tables, self._require_inside(world), self._moment) or set()
        if self._others is not None:
            found = set(filterfalse(self._others, found))
        self._known.update(dict.fromkeys(found, True))
        return found

    def _interior(self) -> list[int]:
        """All nodes inside, in ascending order."""
        if self._listed is None and self._list is not None:
            self._listed = sorted([*self._list(), self._world])
        if self._listed is None:
            self._listed = sorted(self.below(self._world) | {self._world})
        return self._listed

    # Response times must not reveal whether something is outside or does not exist. For a world outside, containers are
    # looked up as far as the root; if nothing is found, the same is done for an arbitrary world.

    def _walk_up_from_decoy(self, key: bytes) -> None:
        """Walk up from an arbitrary world, chosen by the key, whether it is inside or not."""
        if self._whole is not None:
            self._walk_up(self._decoy_node(self._whole, key))

    def _walk_up_from_decoy_edge(self, key: bytes) -> None:
        """As :meth:`_walk_up_from_decoy`, from an edge."""
        if self._whole is not None:
            node = self._decoy_node(self._whole, key)
            for place, _ in islice(self._tables.incoming(node, schema.CONTAINS_CODE), 1):
                self._walk_up(place.source)

    def _decoy_node(self, whole: rows.Tables, key: bytes) -> int:
        if not self._nodes:
            self._nodes = whole.progress().next_node - 1
        return 1 + crc32(key) % self._nodes

    def _walk_up(self, node: int) -> None:
        """Walk as far as from a world outside, and remember the visited nodes as such a walk does."""
        while ~node not in self._known and self._known.get(node) is not False:
            self._known[~node] = False
            containers = containers_at(self._tables, node, self._moment)
            if not containers:
                return
            node = containers[0]

    def _first_uses(
        self, digest: bytes, look: Callable[..., Iterator[tuple[int, int]]], nodes: Sequence[int] | None
    ) -> Iterator[tuple[int, int]]:
        """The visible rows that ``look`` finds.

        If worlds outside have many, reading these and walking up from each would reveal their number by its duration.
        """
        if self._world == schema.ROOT_NODE:
            yield from ((node, first) for node, first in look(nodes=nodes) if self._sees(node))
            return
        found = list(islice(look(), MAX_CHECKED_NAMESAKES + 1) if nodes is None else look(nodes=nodes))
        if nodes is None and len(found) > MAX_CHECKED_NAMESAKES:
            yield from look(nodes=self._interior())
            return
        seen = [(node, first) for node, first in found if self._sees(node)]
        for number in range(len(found), LEAST_CHECKED if nodes is None else 0):
            self._walk_up_from_decoy(digest + bytes([number]))
        yield from seen

    def _require_inside(self, node: int) -> int:
        if not self._sees(node):
            raise transaction.missing_row(f"node {node}")
        return node

    def _shows(self, place: schema.EdgePlace, row: schema.EdgeRow) -> bool:
        if not self._sees(place.source):
            return False
        if place.type == schema.CONTAINS_CODE and asof.edge_seen(self._tables, place, row, self._moment):
            self._scope.admit(row.target)
        return self._sees(row.target) and self._sees(row.home)

    def _shows_place(self, place: schema.EdgePlace) -> bool:
        return self._shows(place, self._tables.edge(place))

    def _shows_proposal(self, row: schema.ProposalRow) -> bool:
        return self._sees(row.source) and self._sees(row.target) and self._sees(row.home)


class VisibleRows:
    """A table without the pairs whose value stands for something outside.

    ``look`` is called where nothing is found, and takes as long as finding such a pair.
    """

    def __init__(self, table: Scannable, sees: Callable[[bytes], bool], look: Callable[[bytes], None]) -> None:
        self._table = table
        self._sees = sees
        self._look = look

    def scan(self, prefix: bytes) -> Iterator[write_buffer.Pair]:
        is_there = False
        for key, value in self._table.scan(prefix):
            is_there = True
            if self._sees(value):
                yield key, value
        if not is_there:
            self._look(prefix)
