"""Proposals by their pair of worlds, found without a scan of all proposals."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from worlddb.log.model.ids import short
from worlddb.projections.tables.storage import schema, transaction, write_buffer


class Staged(NamedTuple):
    """A proposal, after when it was staged.

    That is by which commit, and as which of those of the commit, from 0 on.
    """

    seq: int
    place: int
    proposal: bytes


def latest_about(tables: transaction.WholeTables, one: int, other: int) -> bytes | None:
    """The latest proposal about an unordered pair of nodes."""
    pair = _pair(one, other)
    found = tables.pairs.last(pair, pair + b"\xff" * (schema.PAIR_KEY.size - schema.U64_U64.size))
    return None if found is None else found[1]


def latest_among(tables: transaction.WholeTables, nodes: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
    """Yield the latest proposal about each pair of some nodes.

    It comes after the lower and the higher of the two. ``nodes`` are in ascending order, and so are the pairs.
    """
    latest = {(lower, higher): staged.proposal for lower, higher, staged in _about(tables.pairs, nodes)}
    yield from ((lower, higher, latest[lower, higher]) for lower, higher in sorted(latest))


def staged_by_pair(tables: transaction.WholeTables, nodes: Sequence[int] | None = None) -> Iterator[Staged]:
    """Yield every proposal, pair by pair.

    Or those alone of which both sides are among ``nodes``, in ascending order.
    """
    if nodes is not None:
        yield from (staged for *_, staged in _about(tables.pairs, nodes))
        return
    for key, proposal in tables.pairs.scan(b""):
        _, _, seq, place = schema.PAIR_KEY.unpack(key)
        yield Staged(seq, place, proposal)


def staging_of(tables: transaction.WholeTables, proposal: bytes, row: schema.ProposalRow) -> Staged:
    """When a proposal was staged."""
    for key, found in tables.pairs.scan(_pair(row.source, row.target) + schema.U64.pack(row.seq)):
        if found == proposal:
            return Staged(row.seq, schema.PAIR_KEY.unpack(key)[3], proposal)
    raise transaction.missing_row(f"place of the proposal {short(proposal)} in commit {row.seq}")


def _about(pairs: write_buffer.Table, nodes: Sequence[int]) -> Iterator[tuple[int, int, Staged]]:
    for node in nodes:
        for key, proposal in write_buffer.scan_nodes(pairs, schema.U64.pack(node), nodes):
            higher, lower, seq, place = schema.PAIR_KEY.unpack(key)
            yield lower, higher, Staged(seq, place, proposal)


def _pair(one: int, other: int) -> bytes:
    """The key prefix of an unordered pair of nodes."""
    return schema.U64_U64.pack(max(one, other), min(one, other))
