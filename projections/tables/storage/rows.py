"""The tables of one transaction as rows: the reads and writes that all who use tables share.

Rows are made by ``tuple.__new__``, since ``_make`` would count the values first and a read makes hundreds of rows.

Edges of one type lie in log order, so a read of the past stops at the first later one: it costs what there was then,
however much has come since (paper §2.3).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import count, product, repeat, starmap
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, hashing, ids, times
from worlddb.log.model.ids import short
from worlddb.projections.tables.storage import schema, transaction, write_buffer

Values = tuple[Any, ...]

node_row: Final[Callable[[Values], schema.NodeRow]] = partial(tuple.__new__, schema.NodeRow)
version_row: Final[Callable[[Values], schema.VersionRow]] = partial(tuple.__new__, schema.VersionRow)
_node_key: Final = schema.U64.pack
_node_columns: Final = schema.NODE.unpack
_NODE_BYTES: Final = schema.NODE.size
edge_row: Final[Callable[[Values], schema.EdgeRow]] = partial(tuple.__new__, schema.EdgeRow)
edge_place: Final[Callable[[Values], schema.EdgePlace]] = partial(tuple.__new__, schema.EdgePlace)


def outgoing_edge(pair: write_buffer.Pair) -> tuple[schema.EdgePlace, schema.EdgeRow]:
    """A pair of ``out`` as an edge."""
    return edge_place(schema.EDGE_KEY.unpack(pair[0])), edge_row(schema.EDGE.unpack(pair[1]))


def _number(edge: tuple[schema.EdgePlace, schema.EdgeRow]) -> int:
    return edge[0].edge


_LAST_CODE = 2**16 - 1
_FEW_EDGES: Final = 8
_DERIVED_FROM: Final = schema.EDGE_TYPE_CODES["derived_from"]
_CONTAINED, _DERIVED = ([schema.U16.pack(code)] for code in (schema.CONTAINS_CODE, _DERIVED_FROM))
_HARDLY_ANY: Final = (_CONTAINED, _DERIVED, [*_CONTAINED, *_DERIVED])
"""Types of the edges to a world that is alone."""
_MAX_NODES: Final = 2_048
"""How many nodes' rows a read keeps: one looks at each several times, be it of few worlds or a walk over many."""

Decode = Callable[[write_buffer.Pair], tuple[schema.EdgePlace, schema.EdgeRow] | None]
"""An edge of a pair; ``None`` for one that was not requested."""


def edges_known(
    table: write_buffer.Table,
    node: int,
    code: int | None,
    pairs: Iterator[write_buffer.Pair],
    decode: Decode,
    known_by: int,
) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
    """Yield those of a node's edges that were written up to commit ``known_by``.

    They are among its pairs in ``out`` or ``back``. ``pairs`` are of one type, or of all for no ``code``.
    """
    while True:
        for pair in pairs:
            found = decode(pair)
            if found is None:
                continue
            if found[1].seq > known_by:
                break
            yield found
        else:
            return
        if code is not None or found[0].type == _LAST_CODE:
            return
        pairs = table.scan(schema.U64.pack(node), schema.EDGE_PREFIX.pack(node, found[0].type + 1))


_CODE_NAMES = {code: name for name, code in schema.EDGE_TYPE_CODES.items()}


class Staged(NamedTuple):
    """A proposal, after when it was staged.

    That is by which commit, and as which of those of the commit, from 0 on.
    """

    seq: int
    place: int
    proposal: bytes


class SparseNode(NamedTuple):
    """The stored pairs of ``back`` by which worlds contain a node, and whether it was ever derived from others."""

    placed: list[write_buffer.Pair]
    is_derived: bool


class Tables(transaction.WholeTables):
    """The rows of all tables in one LMDB transaction; writes stay in memory until :meth:`flush`."""

    # -- nodes and versions

    def node_of(self, lineage: bytes) -> int | None:
        """The number of a lineage."""
        number = self._cache.numbers.get(lineage)
        if number is None:
            end = self.known_worlds.endpoints.get(lineage)
            if end is not None:
                return end.node
            # Those that are new in this transaction are in the cache.
            stored = self._lineages.get(lineage)
            if stored is None:
                return None
            number = int.from_bytes(stored, "big")
            if self.writing:
                self._cache.numbers[lineage] = number
        return number

    def numbers_of(self, lineages: Sequence[bytes]) -> dict[bytes, int]:
        """The numbers of those of some lineages that there are, looked up at once and not kept."""
        known = self._cache.numbers
        new = [lineage for lineage in lineages if lineage not in known]
        stored = zip(new, self._lineages.get_each(new), strict=True)
        found = {lineage: int.from_bytes(number, "big") for lineage, number in stored if number is not None}
        return found | {lineage: known[lineage] for lineage in lineages if lineage in known}

    def numbers_in_order(self, lineages: Sequence[bytes]) -> dict[bytes, int]:
        """As :meth:`numbers_of`, of worlds in the order in which they were created.

        They have been numbered in that order, so the number of the first leads to the rows of all.
        """
        first = self.node_of(lineages[0]) if len(lineages) > 1 else None
        if first is None:
            return self.numbers_of(lineages)
        rows = self.nodes.scan(b"", _node_key(first))
        numbers = zip(lineages, count(first), rows, strict=False)
        found = {lineage: number for lineage, number, (_, row) in numbers if row.startswith(lineage)}
        return found | self.numbers_of([each for each in lineages if each not in found])

    def know_numbers(self, lineages: Iterable[bytes]) -> None:
        """Look up the numbers of many lineages at once, for a transaction that writes."""
        known = self._cache.numbers
        # Those that are new in this transaction are in the cache.
        new = [each for each in dict.fromkeys(lineages) if each not in known]
        known.update(self.known_worlds.numbers_of(new))
        found = self._lineages.stored_each([each for each in new if each not in known])
        known.update((lineage, int.from_bytes(number, "big")) for lineage, [(_, number)] in found.items())

    def known_numbers(self, lineages: Iterable[bytes]) -> Iterator[int | None]:
        """The numbers of lineages, as far as this transaction knows them.

        It does where it has looked them up or given them out before.
        """
        return map(self._cache.numbers.get, lineages)

    def number_new(self, lineage: bytes, node: int, row: schema.NodeRow) -> None:
        """Number a new lineage.

        Its row is written with those of all nodes, and its others are deferred.
        """
        self._cache.numbers[lineage] = node
        self._cache.nodes[node] = row
        self._cache.put_nodes.add(node)

    def number_all_new(self, lineages: Sequence[bytes], nodes: range, rows: Iterable[schema.NodeRow]) -> None:
        """As :meth:`number_new`, for many."""
        self._cache.numbers.update(zip(lineages, nodes, strict=True))
        self._cache.nodes.update(zip(nodes, rows, strict=False))
        self._cache.put_nodes.update(nodes)

    def node(self, node: int) -> schema.NodeRow:
        row = self._cache.nodes.get(node)
        if row is None:
            stored = self.nodes.get(_node_key(node))
            if stored is None:
                raise transaction.missing_row(f"node {node}")
            row = node_row(_node_columns(stored) if len(stored) == _NODE_BYTES else transaction.unpack_node(stored))
            if self.writing or len(self._cache.nodes) < _MAX_NODES:
                self._cache.nodes[node] = row
        return row

    def nodes_of(self, nodes: Sequence[int]) -> list[schema.NodeRow]:
        """As :meth:`node`, of many; as many as are kept need not be looked up again."""
        known = self._cache.nodes
        new = [node for node in dict.fromkeys(nodes) if node not in known]
        if new:
            found = self.nodes.get_each(list(map(schema.U64.pack, new)))
            if None in found:
                raise transaction.missing_row(f"node {new[found.index(None)]}")
            rows = zip(new, map(node_row, map(transaction.unpack_node, found)), strict=True)  # type: ignore[arg-type]
            if not (self.writing or len(known) + len(new) <= _MAX_NODES):
                known = {node: known[node] for node in nodes if node in known}
            known.update(rows)
        return list(map(known.__getitem__, nodes))

    def put_node(self, node: int, row: schema.NodeRow) -> None:
        self.known_worlds.forget(row.lineage, node)
        self._cache.nodes[node] = row
        self._cache.put_nodes.add(node)

    def version(self, node: int, version: int) -> schema.VersionRow:
        row = self._cache.versions.get((node, version))
        if row is None:
            if self.deferred is not None and (deferred := self.deferred.deferred_first_version(node)) is not None:
                self._cache.versions[node, version] = deferred
                return deferred
            stored = self._versions.get(schema.VERSION_KEY.pack(node, version))
            if stored is None:
                raise transaction.missing_row(f"version {version} of node {node}")
            row = version_row(schema.VERSION.unpack(stored))
            if self.writing or len(self._cache.versions) < _MAX_NODES:
                self._cache.versions[node, version] = row
        return row

    @property
    def _looks_one_by_one(self) -> bool:
        """True if versions that are asked may be none of the table's, or are likely known."""
        return self.deferred is not None or (self.writing and bool(self._cache.versions))

    def newest_versions(self, nodes: Sequence[int]) -> list[tuple[int, schema.VersionRow]]:
        """The newest version of each of some nodes, by its number."""
        numbers = [row.versions for row in self.nodes_of(nodes)]
        return list(zip(numbers, self.versions_of(list(zip(nodes, numbers, strict=True))), strict=True))

    def versions_of(self, versions: Sequence[tuple[int, int]]) -> list[schema.VersionRow]:
        """As :meth:`version`, of many."""
        if self._looks_one_by_one:
            return [self.version(node, number) for node, number in versions]
        found = self._versions.get_each(list(starmap(schema.VERSION_KEY.pack, versions)))
        if None in found:
            node, number = versions[found.index(None)]
            raise transaction.missing_row(f"version {number} of node {node}")
        return list(map(version_row, map(schema.VERSION.unpack, found)))  # type: ignore[arg-type]

    def version_starts(self, each: Sequence[tuple[int, int]]) -> list[int]:
        """When each of some versions of nodes began, as written; ``NEVER_BEGUN`` where there is none."""
        if self._looks_one_by_one:
            return [self.version(node, version).valid_from for node, version in each]
        found = self._versions.get_each([schema.VERSION_KEY.pack(node, version) for node, version in each])
        began = schema.VERSION_BEGAN.unpack_from
        return [schema.NEVER_BEGUN if row is None else began(row)[0] for row in found]

    def put_version(self, node: int, version: int, row: schema.VersionRow) -> None:
        self.known_worlds.retimed(node)
        self._cache.versions[node, version] = row
        self._cache.put_versions.add((node, version))

    def version_rows(self, node: int) -> Iterator[tuple[int, schema.VersionRow]]:
        """All versions, newest first."""
        for version in range(self.node(node).versions, 0, -1):
            yield version, self.version(node, version)

    def aliases(self, node: int) -> Iterator[tuple[int, schema.AliasRow]]:
        """All aliases ever, in the order they were given."""
        for key, value in self.alias_table.scan(schema.U64.pack(node)):
            yield schema.VERSION_KEY.unpack(key)[1], schema.AliasRow._make(schema.ALIAS.unpack(value))

    def put_alias(self, node: int, alias: int, row: schema.AliasRow) -> None:
        self.alias_table.put(schema.VERSION_KEY.pack(node, alias), schema.ALIAS.pack(*row))

    def restatements(self, node: int) -> Iterator[schema.RestatedRow]:
        """Every time that a version of a lineage was said again, in log order."""
        for key, _ in self.restated_table.scan(schema.U64.pack(node)):
            _, seq, details, version = schema.RESTATED_KEY.unpack(key)
            yield schema.RestatedRow(seq, details - 1, version)

    def put_restatement(self, node: int, row: schema.RestatedRow) -> None:
        self.restated_table.put(schema.RESTATED_KEY.pack(node, row.seq, row.details + 1, row.version), b"")

    def named(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]:
        """Yield (node, seq of first use) of every lineage that ever had the name.

        In log order; or those among ``nodes``, in ascending order.
        """
        return _first_uses(self.names, digest, nodes)

    def is_name_known(self, digest: bytes) -> bool:
        """True if some lineage has, or had, the name."""
        if self.deferred is not None and self.deferred.has_deferred_name(digest):
            return True
        return self._names.has_group(digest, fresh=False)

    def are_names(self, digests: Collection[bytes]) -> Set[bytes]:
        """Those of some digests that some lineage has, or had, as a name."""
        return self.names.each_under(list(digests)).keys()

    def typed(self, digest: bytes, *, nodes: Sequence[int] | None = None, after: int = -1) -> Iterator[tuple[int, int]]:
        """As :meth:`named`, of lineages that ever had the type; those behind the node ``after``."""
        return _first_uses(self.types, digest, nodes, after)

    def endpoint(self, lineage: bytes) -> transaction.EdgeEndpoint | None:
        """This lineage as the end of an edge; ``None`` if there is no such node.

        The root world has the beginning of time as the start of edges from it.
        """
        found = self.known_worlds.endpoints.get(lineage)
        node = None if found is not None else self.node_of(lineage)
        if node is not None:
            row = self.node(node)
            begins = self.version(node, row.versions).valid_from
            home = next(iter(self.containers(node)), schema.ROOT_NODE)
            end, at = hashing.edge_end(lineage, row.body), self.node(home).lineage
            found = transaction.EdgeEndpoint(node, lineage, row.versions, end, begins, home, at)
            self.known_worlds.endpoints[lineage] = found
        return found

    def look_up_ends(self, lineages: Sequence[bytes]) -> None:
        """Take in what new edges need to know of many worlds as :meth:`endpoint` does of one, all at once."""
        known, new = self.known_worlds, self._unknown(lineages)
        if known.columns is not None:
            known.recall(new)
            new = self._unknown(new)
        numbers = zip(new, self._lineages.get_each(new), strict=True)
        nodes = {int.from_bytes(stored, "big"): lineage for lineage, stored in numbers if stored is not None}
        rows = self.nodes_of(list(nodes))
        self.know_containers(list(nodes))
        versions = self.versions_of([(node, row.versions) for node, row in zip(nodes, rows, strict=True)])
        homes = [next(iter(self.containers(node)), schema.ROOT_NODE) for node in nodes]
        for node, row, version, home, at in zip(nodes, rows, versions, homes, self.nodes_of(homes), strict=True):
            end = hashing.edge_end(row.lineage, row.body)
            found = node, row.lineage, row.versions, end, version.valid_from, home, at.lineage
            known.endpoints[row.lineage] = transaction.EdgeEndpoint(*found)

    def _unknown(self, lineages: Iterable[bytes]) -> list[bytes]:
        ends = self.known_worlds.endpoints
        return [each for each in dict.fromkeys(lineages) if each not in ends]

    # -- edges

    def type_code(self, name: str) -> int | None:
        """The code of an edge type; ``None`` if nothing of that type was ever written."""
        code = schema.EDGE_TYPE_CODES.get(name)
        if code is None:
            stored = self.edge_types.get(name.encode())
            return None if stored is None else int.from_bytes(stored, "big")
        return code

    def give_type_code(self, name: str) -> int:
        """The code of an edge type, given out now if it has none."""
        code = schema.EDGE_TYPE_CODES.get(name) or self.type_code(name)
        if code is None:
            code = schema.FIRST_CUSTOM_CODE + sum(1 for _ in self.edge_types.scan(b""))
            self.edge_types.put(name.encode(), schema.U16.pack(code))
        return code

    def type_name(self, code: int) -> str:
        """The name of an edge type."""
        name = _CODE_NAMES.get(code)
        if name is not None:
            return name
        wanted = schema.U16.pack(code)
        return next(key.decode() for key, value in self.edge_types.scan(b"") if value == wanted)

    def place_of(self, edge: bytes) -> schema.EdgePlace | None:
        """The place of an edge's row."""
        stored = self.edges.get(edge)
        return None if stored is None else schema.EdgePlace._make(schema.EDGE_PLACE.unpack(stored))

    def written_edge(self, edge: bytes) -> tuple[schema.EdgePlace, schema.EdgeRow] | None:
        """An edge with its place; ``None`` if it is missing or deferred: then it has not changed."""
        stored = self._edges.get(edge)
        if stored is None:
            return None
        place = edge_place(schema.EDGE_PLACE.unpack(stored))
        return place, self._edge_at(schema.EDGE_KEY.pack(*place), place, self._out)

    def place_of_key(self, nonce: bytes) -> schema.EdgePlace | None:
        """The place of the row of the edge with a keyed nonce."""
        stored = self.edge_keys.get(nonce)
        return None if stored is None else schema.EdgePlace._make(schema.EDGE_PLACE.unpack(stored))

    def edge(self, place: schema.EdgePlace) -> schema.EdgeRow:
        return self._edge_at(schema.EDGE_KEY.pack(*place), place)

    def _edge_at(self, key: bytes, place: schema.EdgePlace, table: write_buffer.Table | None = None) -> schema.EdgeRow:
        """The row of an edge by its key in ``out``, or in that table without the deferred rows."""
        stored = (self.out if table is None else table).get(key)
        if stored is None:
            raise transaction.missing_row(f"edge {place.edge} from node {place.source}")
        return edge_row(schema.EDGE.unpack(stored))

    def put_edge(self, place: schema.EdgePlace, row: schema.EdgeRow) -> None:
        """Put the row of an edge that something has changed of."""
        if place.type == schema.SUPERSEDES_CODE:
            self.known_worlds.forget_joined()
        self.out.put(schema.EDGE_KEY.pack(*place), schema.EDGE.pack(*row))

    def put_unlinked_back(self, target: int, place: schema.EdgePlace, unlinked: int) -> None:
        """An edge as seen from its target, retracted by commit ``unlinked``."""
        self.back.put(schema.EDGE_KEY.pack(target, place.type, place.edge), schema.U64_U64.pack(place.source, unlinked))
        if place.type == schema.CONTAINS_CODE:
            # Another edge may say that the same world contains it at other times.
            pairs = self.back.scan(schema.EDGE_PREFIX.pack(target, schema.CONTAINS_CODE))
            self._cache.containers[target] = _live_sources(pairs)
            self.known_worlds.containers.pop(target, None)
            self.known_worlds.forget(self.node(target).lineage, target)

    def contained(self, target: int, source: int, begins: int, ends: int) -> None:
        """Keep what is known of a node's containers true, now that one contains it between two valid times.

        They are read before the first change of them is put.
        """
        is_lasting = source < target >= self.first_new_node and ends == times.FOREVER
        if is_lasting and (row := self.node(target))[-2:] == schema.UNPLACED:
            self._cache.nodes[target] = node_row((*row[:-2], source, begins))
            self._cache.put_nodes.add(target)
        else:
            self.displaced(target)
        containers = self.containers(target)
        if source not in containers:
            containers.append(source)
        if len(containers) == 1:
            self.known_worlds.forget(self.node(target).lineage, target)

    def displaced(self, target: int) -> None:
        """Say no longer in the row of a node where it lies: its edges do."""
        row = self.node(target)
        if row[-2:] != schema.ELSEWHERE:
            self._cache.nodes[target] = node_row((*row[:-2], *schema.ELSEWHERE))
            self._cache.put_nodes.add(target)

    def outgoing(
        self, node: int, code: int | None = None, after: int = 0, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """Yield the edges from a node written up to commit ``known_by``.

        By type and then in log order; ``after`` an edge number with one type.
        """
        fresh = node >= self.first_new_node and code is not None and not after
        pairs = self._group(self.out, node, code, after, fresh=fresh)
        if known_by == schema.LIVE:
            return map(outgoing_edge, pairs)
        return edges_known(self.out, node, code, pairs, outgoing_edge, known_by)

    def outgoing_behind(
        self, places: Iterable[schema.EdgePlace]
    ) -> Iterator[Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]]:
        """Yield, for each of some edges, those from its node of its type that come after it, in log order.

        Each are read, as far as is wanted, before the next ones are asked for.
        """
        groups = (
            (schema.EDGE_PREFIX.pack(place.source, place.type), schema.U64.pack(place.edge + 1)) for place in places
        )
        return (map(outgoing_edge, pairs) for pairs in self.out.scan_on_each(groups))

    def edge_spans(self) -> Iterator[tuple[int, int]]:
        """Yield of every edge the commit that wrote it and the one that retracted it, or ``LIVE``."""
        return (schema.EDGE_KNOWN.unpack_from(value) for _, value in self.out.scan(b""))

    def between(
        self, sources: Iterable[int], code: int, targets: Set[int] | None, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """Yield the edges of a type from any of some nodes to any of others.

        Or to any at all; those written up to commit ``known_by``. The rows of edges to other nodes are not decoded.
        """
        for group in self.out.scan_each(schema.EDGE_PREFIX.pack(source, code) for source in sources):
            for pair in group:
                target, seq = schema.EDGE_TARGET_SEQ.unpack_from(pair[1])
                if seq > known_by:
                    break
                if targets is None or target in targets:
                    yield outgoing_edge(pair)

    def edges_of_each(
        self, nodes: Sequence[int], codes: Sequence[int], *, incoming: bool, known_by: int
    ) -> dict[int, list[tuple[schema.EdgePlace, schema.EdgeRow]] | None]:
        """The edges of some types from, or to, each of many nodes, in log order.

        ``None`` for a node that has more of one type than :data:`write_buffer.SHORT`, nothing for one that has none. Of
        the edges to a node those that were unlinked up to commit ``known_by`` are left out.
        """
        edges_by_node: dict[int, list[tuple[schema.EdgePlace, schema.EdgeRow]] | None] = {}
        pairs: list[write_buffer.Pair] = []
        table, groups = self.back if incoming else self.out, product(sorted(nodes), sorted(codes))
        for prefix, entries in table.each_under(list(starmap(schema.EDGE_PREFIX.pack, groups))).items():
            if len(entries) <= write_buffer.SHORT:
                pairs += entries
            else:
                edges_by_node[schema.U64.unpack_from(prefix)[0]] = None
        if incoming:
            size, known = schema.U64.size, schema.U64.pack(known_by)
            places = [value[:size] + key[size:] for key, value in pairs if value[size:] > known]
            stored = self.out.get_each(places)
            if None in stored:
                raise transaction.missing_row(f"edge {schema.EDGE_KEY.unpack(places[stored.index(None)])[2]}")
        else:
            places, stored = [key for key, _ in pairs], [value for _, value in pairs]
        rows = map(edge_row, map(schema.EDGE.unpack, stored))  # type: ignore[arg-type]
        for edge in zip(map(edge_place, map(schema.EDGE_KEY.unpack, places)), rows, strict=True):
            place, row = edge
            if row.seq <= known_by:
                node = row.target if incoming else place.source
                if node not in edges_by_node:
                    edges_by_node[node] = [edge]
                elif (edges := edges_by_node[node]) is not None:
                    edges.append(edge)
        if len(codes) > 1:
            for edges in edges_by_node.values():
                if edges is not None and len(edges) > 1:
                    edges.sort(key=_number)
        return edges_by_node

    def read_ahead(self, outgoing: Sequence[bytes], incoming: Sequence[bytes], names: Sequence[bytes] = ()) -> None:
        """Read in one pass what would be read one by one: edges of many nodes, of one type each, and the holders of
        many names.

        Edges are given by what their keys begin with, names by their digests.
        """
        self._out.read_ahead(outgoing)
        self._back.read_ahead(incoming)
        self._names.read_ahead(names)

    def live_targets(self, node: int, code: int) -> list[int]:
        """The targets of a node's edges of a type that have not been unlinked, in log order; each member once."""
        if self.deferred is not None and code in schema.UNFOLLOWED:
            self.deferred.flush()
        prefix = schema.EDGE_PREFIX.pack(node, code)
        pairs = self._out.scan_fresh(prefix) if node >= self.first_new_node else self._out.scan(prefix)
        ends = [schema.EDGE_TARGET.unpack_from(value) for _, value in pairs]
        targets = [target for target, unlinked in ends if unlinked == schema.LIVE]
        if self.deferred is not None:
            targets += self.deferred.deferred_targets(node, code)
        return list(dict.fromkeys(targets)) if code == schema.CONTAINS_CODE else targets

    def live_sources(self, node: int, code: int) -> list[int]:
        """The sources of the edges of a type to a node that have not been unlinked, in log order."""
        if self.deferred is not None and code in schema.UNFOLLOWED:
            self.deferred.flush()
        prefix = schema.EDGE_PREFIX.pack(node, code)
        pairs = self._back.scan_fresh(prefix) if node >= self.first_new_node else self._back.scan(prefix)
        ends = [schema.U64_U64.unpack(value) for _, value in pairs]
        sources = [source for source, unlinked in ends if unlinked == schema.LIVE]
        if self.deferred is not None:
            sources += self.deferred.deferred_sources(node, code)
        return sources

    def incoming(
        self,
        node: int,
        code: int | None = None,
        after: int = 0,
        *,
        known_after: int = 0,
        known_by: int = schema.LIVE,
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """Yield the edges to a node written up to commit ``known_by``.

        By type and then in log order, but for those unlinked up to commit ``known_after``; ``after`` an edge number
        with one type.
        """
        if code is not None:
            return self._incoming_of(self._group(self.back, node, code, after), known_after, known_by)

        def decode(pair: write_buffer.Pair) -> tuple[schema.EdgePlace, schema.EdgeRow] | None:
            key, value = pair
            if schema.U64_U64.unpack(value)[1] <= known_after:
                return None
            # The key in ``out`` is this one, but for the node that it begins with.
            there = value[: schema.U64.size] + key[schema.U64.size :]
            place = edge_place(schema.EDGE_KEY.unpack(there))
            return place, self._edge_at(there, place)

        return edges_known(self.back, node, code, self._group(self.back, node, code), decode, known_by)

    def _incoming_of(
        self, pairs: Iterator[write_buffer.Pair], known_after: int, known_by: int
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """As :meth:`incoming`, of one type."""
        for key, value in pairs:
            if schema.U64_U64.unpack(value)[1] <= known_after:
                continue
            there = value[: schema.U64.size] + key[schema.U64.size :]
            place = edge_place(schema.EDGE_KEY.unpack(there))
            row = self._edge_at(there, place)
            if row.seq > known_by:
                return
            yield place, row

    def followed(self, node: int, code: int, *, incoming: bool) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """The edges of a type from a node, or to it, in log order; deferred rows are not written for it."""
        if self.deferred is not None and code in schema.UNFOLLOWED:
            self.deferred.flush()
        last = [] if self.deferred is None else self.deferred.deferred_edges(node, code, incoming=incoming)
        table, prefix = self._back if incoming else self._out, schema.EDGE_PREFIX.pack(node, code)
        for key, value in table.scan_fresh(prefix) if node >= self.first_new_node else table.scan(prefix):
            if incoming:
                there = value[: schema.U64.size] + key[schema.U64.size :]
                place = edge_place(schema.EDGE_KEY.unpack(there))
                yield place, self._edge_at(there, place, self._out)
            else:
                yield outgoing_edge((key, value))
        yield from last

    def latest_incoming(
        self, node: int, code: int, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """As :meth:`incoming` of one type, the latest first.

        What was written later still is passed over.
        """
        prefix = schema.EDGE_PREFIX.pack(node, code)
        for key, value in self.back.scan(prefix, prefix + schema.U64.pack(schema.LIVE), reverse=True):
            there = value[: schema.U64.size] + key[schema.U64.size :]
            place = edge_place(schema.EDGE_KEY.unpack(there))
            row = self._edge_at(there, place)
            if row.seq <= known_by:
                yield place, row

    def edges_at_home(self, home: int) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """Yield every edge that a world was ever the home of.

        Its members' come first, then those of its interior, then retracted ones.

        Raises:
            DamagedStore: the interior holds an edge that the tables do not have, or have elsewhere.
        """
        yield from self.outgoing(home, schema.CONTAINS_CODE)
        yield from self.interior_edges_ever(home)

    def interior_edges_ever(self, home: int) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """As :meth:`edges_at_home`, but for its members'."""
        for edge, _ in self.interior_edges(home).entries():
            place = self.place_of(edge)
            if place is None and self._has_statements(home):
                continue
            if place is None:
                raise transaction.missing_row(f"edge {ids.short(edge)} of the interior of node {home}")
            yield place, self._edge_at_home(place, home)
        for _, stored in self.retracted.scan(schema.U64.pack(home)):
            place = schema.EdgePlace._make(schema.EDGE_PLACE.unpack(stored))
            yield place, self._edge_at_home(place, home)

    def _has_statements(self, home: int) -> bool:
        """Whether anything was ever stated in a world: then leaves of statements lie among its edges."""
        return self.has_rows("term_places") and next(self.term_places.scan(schema.U64.pack(home)), None) is not None

    def _edge_at_home(self, place: schema.EdgePlace, home: int) -> schema.EdgeRow:
        row = self.edge(place)
        if row.home != home:
            raise errors.DamagedStore(
                f"The edge {ids.short(row.edge)} is in the interior of node {home}, but its row names node {row.home}",
                "Run `worlddb verify --deep`, then `worlddb rebuild tables`",
            )
        return row

    def put_retracted(self, home: int, place: schema.EdgePlace) -> None:
        """Keep where a retracted edge was, under its home.

        Members are found by their container anyway.
        """
        if place.type != schema.CONTAINS_CODE:
            self.retracted.put(schema.U64_U64.pack(home, place.edge), schema.EDGE_PLACE.pack(*place))

    def _group(
        self, table: write_buffer.Table, node: int, code: int | None, after: int = 0, *, fresh: bool = False
    ) -> Iterator[write_buffer.Pair]:
        """The pairs of a node in ``out`` or ``back``, of one type or of all."""
        if code is None:
            return table.scan_groups(schema.U64.pack(node), self._prefixes(node))
        prefix = schema.EDGE_PREFIX.pack(node, code)
        return table.scan_fresh(prefix) if fresh else table.scan(prefix, prefix + schema.U64.pack(after + 1))

    def type_codes(self) -> list[int]:
        """The code of every edge type, registered ones too."""
        return [
            *schema.EDGE_TYPE_CODES.values(),
            *(int.from_bytes(code, "big") for _, code in self.edge_types.scan(b"")),
        ]

    def _prefixes(self, node: int) -> Iterator[bytes]:
        """The groups of a node in ``out`` or ``back``, type by type."""
        yield from (schema.EDGE_PREFIX.pack(node, code) for code in schema.EDGE_TYPE_CODES.values())
        yield from sorted(schema.U64.pack(node) + code for _, code in self.edge_types.scan(b""))

    def has_incoming(self, node: int, code: int) -> bool:
        """True if a node was ever the target of an edge of a type."""
        if self.deferred is not None:
            if code in schema.UNFOLLOWED:
                self.deferred.flush()
            elif self.deferred.has_deferred_edge(node, code, incoming=True):
                return True
        return self._back.has_group(schema.EDGE_PREFIX.pack(node, code), fresh=node >= self.first_new_node)

    def has_edges(self, node: int, code: int) -> bool:
        """True if a node was ever an end of an edge of a type."""
        if self.deferred is not None:
            return self.has_outgoing(node, code) or self.has_incoming(node, code)
        prefix, fresh = schema.EDGE_PREFIX.pack(node, code), node >= self.first_new_node
        return self._out.has_group(prefix, fresh=fresh) or self._back.has_group(prefix, fresh=fresh)

    def has_outgoing(self, node: int, code: int) -> bool:
        """True if a node was ever the source of an edge of a type."""
        if self.deferred is not None:
            if code in schema.UNFOLLOWED:
                self.deferred.flush()
            elif self.deferred.has_deferred_edge(node, code, incoming=False):
                return True
        return self._out.has_group(schema.EDGE_PREFIX.pack(node, code), fresh=node >= self.first_new_node)

    def containers(self, node: int) -> list[int]:
        """The worlds that contain a node now, at whatever times, each once and in log order.

        The list may be the cache's own: for reading only.
        """
        found = self._cache.containers.get(node)
        if found is None:
            found = self.known_worlds.containers.get(node)
            if found is None:
                found = [] if node >= self.first_new_node else self._stored_containers(node)
            if self.writing:
                self._cache.containers[node] = found
        return found

    def know_containers(self, nodes: Sequence[int]) -> None:
        """Read which worlds contain many nodes, all at once, for a transaction that writes."""
        known, before = self._cache.containers, self.known_worlds.containers
        known.update((node, before[node]) for node in nodes if node in before and node not in known)
        prefixes = {
            schema.EDGE_PREFIX.pack(node, schema.CONTAINS_CODE): node
            for node in nodes
            if node < self.first_new_node and node not in known
        }
        found = self._back.stored_each(list(prefixes))
        for prefix, node in prefixes.items():
            pairs = found.get(prefix, [])
            if len(pairs) <= write_buffer.SHORT:
                known[node] = _live_sources(pairs)

    def lone(self, node: int) -> SparseNode | None:
        """What is stored of a node that has hardly any edges but those by which worlds contain it.

        That is none but a few by which others are derived from it, and any by which it is derived from others. ``None``
        of any other node, and where that is not quick to say. Most have no others: one look answers for all types.
        """
        within, cursor = schema.U64.pack(node), self.shared_cursor
        if self.deferred is not None:
            return None
        is_derived = self._out.only(within, schema.EDGE_PREFIX.pack(node, _DERIVED_FROM), cursor)
        if is_derived is None:
            return None
        pairs, by = self._back.few(within, _FEW_EDGES, cursor), schema.EDGE_PREFIX.pack(node, schema.CONTAINS_CODE)
        if pairs is None:
            return None
        others, found = schema.EDGE_PREFIX.pack(node, _DERIVED_FROM), list[write_buffer.Pair]()
        for pair in pairs:
            if pair[0].startswith(by):
                found.append(pair)
            elif not pair[0].startswith(others):
                return None
        return SparseNode(found, is_derived)

    def sparse_nodes(self, nodes: Sequence[int]) -> dict[int, bool]:
        """Those of some nodes of which :meth:`lone` would tell, however many are derived from each; as there, whether
        it was derived from others itself."""
        if self.deferred is not None or not nodes:
            return {}
        prefixes = list(map(schema.U64.pack, sorted(set(nodes))))
        outgoing, incoming = self._out.groups_each(prefixes), self._back.groups_each(prefixes)
        if outgoing is None or incoming is None:
            return {}
        return {
            schema.U64.unpack(node)[0]: node in outgoing
            for node in prefixes
            if outgoing.get(node, _DERIVED) == _DERIVED and incoming.get(node, _CONTAINED) in _HARDLY_ANY
        }

    def placed_pairs(self, node: int) -> list[write_buffer.Pair]:
        """The stored pairs of ``back`` by which worlds contain a node, or did, in log order."""
        return self._back.stored(schema.EDGE_PREFIX.pack(node, schema.CONTAINS_CODE))

    def placed(
        self, node: int, known: Sequence[write_buffer.Pair] | None = None
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """The stored edges by which worlds contain a node, or did, in log order; faster than :meth:`incoming`.

        ``known``: what :meth:`placed_pairs` gives, if somebody has read it.
        """
        for key, value in self.placed_pairs(node) if known is None else known:
            there = value[: schema.U64.size] + key[schema.U64.size :]
            place = edge_place(schema.EDGE_KEY.unpack(there))
            yield place, self._edge_at(there, place)

    def _stored_containers(self, node: int) -> list[int]:
        return _live_sources(self.placed_pairs(node))

    # -- identity

    def proposal(self, proposal: bytes) -> schema.ProposalRow | None:
        stored = self.proposals.get(proposal)
        return None if stored is None else schema.ProposalRow._make(schema.PROPOSAL.unpack(stored))

    def put_proposal(self, proposal: bytes, row: schema.ProposalRow) -> None:
        self.proposals.put(proposal, schema.PROPOSAL.pack(*row))

    def staged(self, nodes: Sequence[int] | None = None) -> Iterator[Staged]:
        """Yield every proposal, pair by pair.

        Or those alone of which both sides are among ``nodes``, in ascending order.
        """
        return proposals_by_pair(self, nodes)

    def all_proposals(self) -> Iterator[tuple[bytes, schema.ProposalRow]]:
        for key, value in self.proposals.scan(b""):
            yield key, schema.ProposalRow._make(schema.PROPOSAL.unpack(value))

    # -- world hashes

    def members(self, node: int) -> transaction.TableTrie:
        """The trie of a world's members: lineage to world hash."""
        return self._trie(node, schema.TRIE_MEMBERS)

    def interior_edges(self, node: int) -> transaction.TableTrie:
        """The trie of a world's interior edges: edge ids."""
        return self._trie(node, schema.TRIE_EDGES)

    def _trie(self, node: int, kind: bytes) -> transaction.TableTrie:
        table: transaction.TrieTable = self.tries  # type: ignore[assignment]
        return transaction.TableTrie(table, node, kind, self.known_worlds.trie_nodes)

    def put_hashes(self, nodes: Sequence[int], seq: int, stored: Sequence[bytes]) -> None:
        """Put the world hashes of nodes after a commit, as they are stored."""
        self._cache.hashes.update(zip(nodes, stored, strict=True))
        self.hashes.put_new(list(map(schema.U64_U64.pack, nodes, repeat(seq))), stored)

    def current_hash(self, node: int) -> bytes | None:
        """The stored value of the world hash in force now."""
        found = self._cache.hashes.get(node) or self.known_worlds.hashed.get(node, b"")[transaction.HASHED.size :]
        if not found:
            row = self.hash_row(node, schema.LIVE)
            if row is None:
                return None
            found = row[1]
            if self.writing:
                self._cache.hashes[node] = found
        return found

    def hash_row(self, node: int, seq: int) -> tuple[int, bytes] | None:
        """(commit, stored value) of the world hash in force at ``seq``."""
        found = self.hashes.last(schema.U64.pack(node), schema.U64_U64.pack(node, seq))
        return None if found is None else (schema.U64_U64.unpack(found[0])[1], found[1])


def _live_sources(pairs: Iterable[write_buffer.Pair]) -> list[int]:
    """The sources of the pairs of ``back`` that have not been unlinked, each once, in log order."""
    ends = [schema.U64_U64.unpack(value) for _, value in pairs]
    return list(dict.fromkeys(source for source, unlinked in ends if unlinked == schema.LIVE))


def _first_uses(
    table: write_buffer.Table, digest: bytes, nodes: Sequence[int] | None, after: int = -1
) -> Iterator[tuple[int, int]]:
    """Node and commit of pairs of ``names`` or ``types``."""
    start = None if after < 0 else digest + schema.U64.pack(after + 1)
    pairs = table.scan(digest, start) if nodes is None else write_buffer.scan_nodes(table, digest, nodes)
    for key, value in pairs:
        yield int.from_bytes(key[len(digest) :], "big"), int.from_bytes(value, "big")


def latest_proposal(tables: transaction.WholeTables, one: int, other: int) -> bytes | None:
    """The latest proposal about an unordered pair of nodes."""
    pair = _pair_prefix(one, other)
    found = tables.pairs.last(pair, pair + b"\xff" * (schema.PAIR_KEY.size - schema.U64_U64.size))
    return None if found is None else found[1]


def latest_proposals_among(tables: transaction.WholeTables, nodes: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
    """Yield the latest proposal about each pair of some nodes.

    It comes after the lower and the higher of the two. ``nodes`` are in ascending order, and so are the pairs.
    """
    latest = {(lower, higher): staged.proposal for lower, higher, staged in _proposals_about(tables.pairs, nodes)}
    yield from ((lower, higher, latest[lower, higher]) for lower, higher in sorted(latest))


def proposals_by_pair(tables: transaction.WholeTables, nodes: Sequence[int] | None = None) -> Iterator[Staged]:
    """Yield every proposal, pair by pair.

    Or those alone of which both sides are among ``nodes``, in ascending order.
    """
    if nodes is not None:
        yield from (staged for *_, staged in _proposals_about(tables.pairs, nodes))
        return
    for key, proposal in tables.pairs.scan(b""):
        _, _, seq, place = schema.PAIR_KEY.unpack(key)
        yield Staged(seq, place, proposal)


def staging_of(tables: transaction.WholeTables, proposal: bytes, row: schema.ProposalRow) -> Staged:
    """When a proposal was staged."""
    for key, found in tables.pairs.scan(_pair_prefix(row.source, row.target) + schema.U64.pack(row.seq)):
        if found == proposal:
            return Staged(row.seq, schema.PAIR_KEY.unpack(key)[3], proposal)
    raise transaction.missing_row(f"place of the proposal {short(proposal)} in commit {row.seq}")


def _proposals_about(pairs: write_buffer.Table, nodes: Sequence[int]) -> Iterator[tuple[int, int, Staged]]:
    for node in nodes:
        for key, proposal in write_buffer.scan_nodes(pairs, schema.U64.pack(node), nodes):
            higher, lower, seq, place = schema.PAIR_KEY.unpack(key)
            yield lower, higher, Staged(seq, place, proposal)


def _pair_prefix(one: int, other: int) -> bytes:
    """The key prefix of an unordered pair of nodes."""
    return schema.U64_U64.pack(max(one, other), min(one, other))
