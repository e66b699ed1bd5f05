"""Make proofs of a store: checkpoints, inclusion, consistency (``log/model/proof.py`` checks them)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from worlddb.log.model import bundle, checkpoint, codec, errors, ids, limits, merkle, proof, trie
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import log_marks, rehash
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.storage import rows, schema, transaction
from worlddb.query.snapshot.snapshot import Snapshot, SnapshotSource

_FRAME_OVERHEAD_BYTES: Final = 64


class Goal(NamedTuple):
    """The subject of a proof, for somebody who has a head of ``size`` commits.

    That a world, or an edge in its home ``node``, was inside ``world`` at commit ``seq``.
    """

    node: int
    edge: bytes | None
    world: int
    seq: int
    size: int


def checkpoint_at(snapshot: Snapshot, store_id: bytes, seq: int) -> checkpoint.OwnCheckpoint:
    """The checkpoint of a store after a commit.

    Raises:
        InputError: ``seq`` is 0, when there was nothing.
    """
    if not seq:
        raise errors.InputError("Nothing had been committed by then", "Give a later time, or a commit from 1 on")
    header = snapshot.log.header(seq)
    commit_state = checkpoint.CommitState(snapshot.log.chain(seq), header.root, header.ingest_time)
    return checkpoint.OwnCheckpoint(
        checkpoint.origin_of(store_id),
        seq,
        merkle.tree_root(log_marks.LogTree(snapshot.log, snapshot.tables), seq),
        commit_state,
    )


def prove_consistency(snapshot: Snapshot, store_id: bytes, old: int, new: int) -> proof.Consistency:
    """Prove that a log of ``old`` commits begins one of ``new``; ``0 < old <= new <= head``."""
    tree = log_marks.LogTree(snapshot.log, snapshot.tables)
    path = [each.hex() for each in merkle.consistency_path(tree, old, new)]
    roots = merkle.tree_root(tree, old).hex(), merkle.tree_root(tree, new).hex()
    return proof.Consistency(proof.PROOF_VERSION, store_id.hex(), old, new, *roots, path)


Tries = dict[tuple[int, int], trie.NodeStore]
"""Tries of members that were made for a proof, by world and commit: who proves much of one commit makes each once."""


def prove_inclusion(
    snapshot: Snapshot, store_id: bytes, goal: Goal, *, with_text: bool, made: Tries | None = None
) -> proof.Inclusion:
    """The newest version of a world, or an edge in its home, inside a world at a commit.

    Raises:
        UnknownReference: it was not inside that world then.
    """
    steps = _steps(snapshot.tables, _route(snapshot.tables, goal), goal.seq, {} if made is None else made)
    edge = None if goal.edge is None else _edge_step(snapshot, goal)
    tree = log_marks.LogTree(snapshot.log, snapshot.tables)
    return proof.Inclusion(
        proof.PROOF_VERSION,
        store_id.hex(),
        goal.size,
        goal.seq,
        snapshot.log.stored_header(goal.seq)[1].hex(),
        [each.hex() for each in merkle.inclusion_path(tree, goal.seq, goal.size)],
        _find_node(snapshot.tables, goal.world),
        steps,
        edge,
        _stored_bytes(snapshot, goal) if with_text else None,
    )


def steps_to(tables: rows.Tables, node: int, top: int, seq: int, made: Tries) -> list[proof.WorldStep] | None:
    """The way from a world down to one inside of it at a commit, which its hash covers; ``None`` if there is none."""
    route = _path_up(tables, node, top, seq)
    return None if route is None else _steps(tables, route, seq, made)


def _steps(tables: rows.Tables, route: list[int], seq: int, made: Tries) -> list[proof.WorldStep]:
    return [_step(tables, *pair, seq, made) for pair in zip(route, [*route[1:], None], strict=True)]


def bundle_proof(
    reader: SnapshotSource, store_id: bytes, ref: bytes | str, seq: int, head: str | bytes | int
) -> bundle.ProofFrame:
    """The frame that proves a world's hash at commit ``seq``, for a head given as text or size.

    Raises:
        UnknownReference: there was no such world then.
        InputError: the head is of another store, of fewer commits than ``seq``, or of more than there are.
        LimitExceeded: the world lies so deep that the proof would be too large.
    """
    with reader.snapshot() as snapshot:
        size = size_of_head(head, store_id, snapshot.log.head().seq)
        goal = goal_of(snapshot, ref, None, seq, size)
        stored = proof.proof_text(prove_inclusion(snapshot, store_id, goal, with_text=False)).encode()
    largest = limits.MAX_FRAME_BYTES - _FRAME_OVERHEAD_BYTES
    if len(stored) > largest:
        raise errors.LimitExceeded(
            f"The proof would have {len(stored):,} bytes, above the limit of {largest:,} in a bundle",
            "Export without a proof; `worlddb prove` makes larger ones",
        )
    return bundle.ProofFrame(stored)


def goal_of(snapshot: Snapshot, ref: bytes | str, world: bytes | str | None, seq: int, size: int) -> Goal:
    """Resolve references to the subject of a proof; raises as :meth:`worlddb.Database.prove` does."""
    tables = snapshot.tables
    if not seq:
        raise errors.InputError("Nothing had been committed by then", "Give a later time, or a commit from 1 on")
    if seq > size:
        raise errors.InputError(
            f"The head covers {size} commits, and the moment is commit {seq}", "Give a later head, or an earlier moment"
        )
    found = table_reads.find_node_or_edge(tables, ref, seq)
    within = schema.ROOT_NODE if world is None else table_reads.find_node(tables, world, seq)
    if isinstance(found, int):
        return Goal(found, None, within, seq, size)
    place = tables.place_of(found)
    if place is None:
        raise transaction.missing_row(f"edge {found.hex()}")
    row = tables.edge(place)
    if place.type == schema.CONTAINS_CODE:
        raise errors.InputError(
            f"{ids.short(found)} is a contains edge, which a world's hash covers as its member",
            f"Prove the member: prove({ids.short(tables.node(row.target).lineage)!r}, "
            f"world={ids.short(tables.node(place.source).lineage)!r})",
        )
    if not asof.edge_known(row, seq):
        raise errors.UnknownReference(
            f"The edge {ids.short(found)} had been unlinked by commit {seq}", "Give an earlier commit"
        )
    return Goal(row.home, found, within, seq, size)


def _find_node(tables: rows.Tables, node: int) -> str:
    return proof.ROOT if node == schema.ROOT_NODE else tables.node(node).lineage.hex()


def size_of_head(head: str | bytes | int | None, store_id: bytes, last: int) -> int:
    """The number of commits of a head, given as such, as the head's text, or the last one's.

    Raises:
        InputError: the head is of another store, or of more commits than there are.
        MalformedFile: it is no checkpoint.
    """
    if isinstance(head, str | bytes):
        known = checkpoint.read_checkpoint(head)[0]
        if known.origin != checkpoint.origin_of(store_id):
            raise errors.InputError(
                f"The head belongs to another store: {known.origin[:80]}", "Give a head of this store"
            )
        head = known.size
    return last if head is None else limits.checked_number(head, "the head's number of commits", 1, last)


# -- the way down


def _route(tables: rows.Tables, goal: Goal) -> list[int]:
    """The way from the root world through ``goal.world`` to the goal, shortest on either side."""
    below = _path_up(tables, goal.node, goal.world, goal.seq)
    if below is None or (goal.edge is None and len(below) == 1 and goal.world != schema.ROOT_NODE):
        raise errors.UnknownReference(
            f"{ids.short(tables.node(goal.node).lineage)} was not inside {ids.short(tables.node(goal.world).lineage)} "
            f"at commit {goal.seq}",
            "`worlddb show` lists its containers; or prove it in the root world",
        )
    above = _path_up(tables, goal.world, schema.ROOT_NODE, goal.seq)
    if above is None:
        raise transaction.missing_row(f"way from node {goal.world} to the root at commit {goal.seq}")
    return [*above, *below[1:]]


def _path_up(tables: rows.Tables, start: int, goal: int, seq: int) -> list[int] | None:
    """The worlds from ``goal`` down to ``start``, both included; ``None`` if there is no way."""
    towards: dict[int, int | None] = {start: None}
    pending = [start]
    for node in pending:
        if node == goal:
            break
        for place, row in tables.incoming(node, schema.CONTAINS_CODE):
            if asof.edge_known(row, seq) and place.source not in towards:
                towards[place.source] = node
                pending.append(place.source)
    if goal not in towards:
        return None
    route, here = [goal], towards[goal]
    while here is not None:
        route.append(here)
        here = towards[here]
    return route


def _step(tables: rows.Tables, node: int, below: int | None, seq: int, made: Tries) -> proof.WorldStep:
    """A world at a commit, and the nodes of its members trie that lead to the next one."""
    members, edges = _roots(tables, node, seq)
    newest = asof.newest_version(tables, node, seq)
    if newest is None:
        raise transaction.missing_row(f"version of node {node} at commit {seq}")
    nodes: list[bytes] = []
    if below is not None:
        if (node, seq) not in made:
            made[node, seq] = _members_trie_at(tables, node, seq)
        nodes = trie.proof_nodes(made[node, seq], tables.node(below).lineage)
    return proof.WorldStep(
        _find_node(tables, node),
        newest.row.body.hex(),
        members.hex(),
        edges.hex(),
        tables.node(node).t_create,
        [each.hex() for each in nodes],
    )


def _roots(tables: rows.Tables, node: int, seq: int) -> tuple[bytes, bytes]:
    found = tables.hash_row(node, seq)
    if found is None:
        raise transaction.missing_row(f"world hash of node {node} at commit {seq}")
    return rehash.roots_of(found[1])


# -- tries of the past


def _members_trie_at(tables: rows.Tables, node: int, seq: int) -> trie.NodeStore:
    """A world's members trie at a commit: the stored one if it is the same, else rebuilt."""
    members = _roots(tables, node, seq)[0]
    if members == _roots(tables, node, schema.LIVE)[0]:
        return tables.members(node).nodes

    def entries() -> Iterator[tuple[bytes, bytes]]:
        for _, row in tables.outgoing(node, schema.CONTAINS_CODE):
            if asof.edge_known(row, seq):
                found = tables.hash_row(row.target, seq)
                if found is None:
                    raise transaction.missing_row(f"world hash of node {row.target} at commit {seq}")
                yield tables.node(row.target).lineage, found[1][: ids.HASH_BYTES]

    return _checked(
        trie.build_trie(entries(), ids.LINEAGE_BYTES, ids.HASH_BYTES), members, f"members of node {node}", seq
    )


def _edges_trie_at(tables: rows.Tables, home: int, seq: int) -> trie.NodeStore:
    """A world's trie of interior edges at a commit: the stored one if it is the same, else rebuilt."""
    edges = _roots(tables, home, seq)[1]
    if edges == _roots(tables, home, schema.LIVE)[1]:
        return tables.interior_edges(home).nodes

    def entries() -> Iterator[tuple[bytes, bytes]]:
        for _, row in tables.interior_edges_ever(home):
            if asof.edge_known(row, seq):
                yield row.edge, b""
        yield from ((each, b"") for each in statement_rows.leaves(tables, home, seq))

    return _checked(trie.build_trie(entries(), ids.HASH_BYTES, 0), edges, f"edges of node {home}", seq)


def _checked(nodes: trie.NodeStore, expected: bytes, what: str, seq: int) -> trie.NodeStore:
    if trie.root_of(nodes) != expected:
        raise errors.DamagedStore(
            f"The {what} do not have the hash that was recorded at commit {seq}",
            "Run `worlddb verify --deep`, then `worlddb rebuild tables`",
            seq=seq,
        )
    return nodes


# -- edges, and what is shown


def _edge_step(snapshot: Snapshot, goal: Goal) -> proof.EdgeStep:
    tables, edge = snapshot.tables, goal.edge
    place = None if edge is None else tables.place_of(edge)
    if edge is None or place is None:
        raise transaction.missing_row(f"edge {goal.edge!r}")
    row = tables.edge(place)
    said = next(
        event for event in snapshot.log.events(row.seq).events if isinstance(event, ev.Linked) and event.edge == edge
    )
    blob = _details_of(snapshot, edge, row)
    made = proof.EdgeStep(
        said.type,
        said.source.hex(),
        tables.version(place.source, row.source_version).body.hex(),
        said.target.hex(),
        tables.version(row.target, row.target_version).body.hex(),
        said.home.hex(),
        said.valid_from,
        "" if blob is None else snapshot.log.events(blob[0]).blob(blob[1]).hex(),
        said.nonce.hex(),
        [each.hex() for each in trie.proof_nodes(_edges_trie_at(tables, row.home, goal.seq), edge)],
    )
    if made.id != edge:
        raise errors.DamagedStore(
            f"The edge {edge.hex()} does not have the identity of what was written", "Run `worlddb verify --deep`"
        )
    return made


def _details_of(snapshot: Snapshot, edge: bytes, row: schema.EdgeRow) -> tuple[int, int] | None:
    """Commit and position of the details in an edge's identity; of a proposal, its own."""
    proposal = snapshot.tables.proposal(edge)
    seq, position = (row.seq, row.details) if proposal is None else (proposal.seq, proposal.details)
    return None if position == ev.NONE else (seq, position)


def _stored_bytes(snapshot: Snapshot, goal: Goal) -> str | None:
    """The stored bytes of a body or of an edge's details; ``None`` if there are none any more.

    Raises:
        DamagedStore: they are not what was written.
    """
    tables = snapshot.tables
    if goal.edge is None:
        newest = asof.newest_version(tables, goal.node, goal.seq)
        blob = None if newest is None else (newest.row.seq, newest.row.position)
    else:
        place = tables.place_of(goal.edge)
        blob = None if place is None else _details_of(snapshot, goal.edge, tables.edge(place))
    stored = None if blob is None else snapshot.log.blob(*blob)
    if blob is None or stored is None:
        return None
    codec.decode_checked_blob(stored, snapshot.log.events(blob[0]).blob(blob[1]), blob[0])
    return stored.hex()
