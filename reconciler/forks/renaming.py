"""Rename the lineages in a bundle, so that its worlds can be written once more. Pure.

Texts keep their ids, so their vectors need not be made again. Edges between worlds inside get new ids, and so do edges
that lead out, if their type may; the others stay with the original alone.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import msgspec

from worlddb.log.model import bundle as fr
from worlddb.log.model import hashing
from worlddb.log.store.bundle_contents import BundledWorld, Contents

SAME_AS = "same_as"
_F = TypeVar("_F", fr.EdgeFrame, fr.ProposalFrame)


class Names:
    """The new lineages of worlds, and the nonces of their edges."""

    def __init__(self, contents: Contents, nonce: Callable[..., bytes]) -> None:
        self.lineages = {world.frame.lineage: nonce("world", world.frame.lineage) for world in contents.worlds}
        self._nonce = nonce
        self._nonces: dict[bytes, bytes] = {}

    def of(self, lineage: bytes) -> bytes:
        """The new lineage of a world inside; the same one for a world outside."""
        return self.lineages.get(lineage, lineage)

    def nonce_of(self, edge: bytes) -> bytes:
        """The nonce of an edge; the edge of an accepted proposal has that of the proposal."""
        found = self._nonces.get(edge)
        if found is None:
            found = self._nonces[edge] = self._nonce("edge", edge)
        return found


class _EdgeEnds(NamedTuple):
    source: bytes
    target: bytes
    nonce: bytes


def rename_contents(contents: Contents, names: Names, leads_out: Callable[[str], bool]) -> tuple[Contents, list[bytes]]:
    """A bundle's contents under new lineages, and the edges that are left out."""
    left: list[bytes] = []
    worlds = [_world(world, names, leads_out, left) for world in contents.worlds]
    heading = msgspec.structs.replace(contents.heading, world=names.of(contents.heading.world))
    named = {end for world in worlds for edge in world.edges for end in (edge.source, edge.target)}
    outside = [frame for frame in contents.outside if frame.lineage in named]
    return contents._replace(heading=heading, worlds=worlds, outside=outside), left


def _world(world: BundledWorld, names: Names, leads_out: Callable[[str], bool], left: list[bytes]) -> BundledWorld:
    home = names.of(world.frame.lineage)
    edges = []
    for edge in world.edges:
        inside = edge.source in names.lineages, edge.target in names.lineages
        if all(inside) or (inside[0] and leads_out(edge.type)):
            ends = _EdgeEnds(names.of(edge.source), names.of(edge.target), names.nonce_of(edge.edge))
            made = _renamed_identity(edge.type, edge, ends, home)
            edges.append(msgspec.structs.replace(edge, edge=made, **ends._asdict(), keyed=False))
        else:
            left.append(edge.edge)
    proposals = []
    for proposal in world.proposals:
        if proposal.source in names.lineages and proposal.target in names.lineages:
            ends = _EdgeEnds(names.of(proposal.source), names.of(proposal.target), names.nonce_of(proposal.proposal))
            made = _renamed_identity(SAME_AS, proposal, ends, home)
            proposals.append(msgspec.structs.replace(proposal, proposal=made, **ends._asdict()))
    return world._replace(
        frame=msgspec.structs.replace(world.frame, lineage=home),
        versions=[msgspec.structs.replace(each, by=names.of(each.by)) for each in world.versions],
        ended=[msgspec.structs.replace(each, by=names.of(each.by)) for each in world.ended],
        voided=[msgspec.structs.replace(each, by=names.of(each.by)) for each in world.voided],
        edges=edges,
        proposals=proposals,
        retracted=[],
    )


def _renamed_identity(type_name: str, frame: _F, ends: _EdgeEnds, home: bytes) -> bytes:
    source, target, nonce = ends
    return hashing.edge_id(
        type_name, source, frame.source_body, target, frame.target_body, home, frame.valid_from, frame.details, nonce
    )
