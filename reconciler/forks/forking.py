"""Fork a world: copy it as of a commit, under new ids.

A fork is decided like an import of the world's own bundle with other lineages. No handler and no resolver run, since
everything was decided before. The texts keep their ids, so their vectors need not be made again. Edges between worlds
inside get new ids, and so do edges that lead out, if their type may; the others stay with the original alone.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

import msgspec

from worlddb.log.model import bundle as fr
from worlddb.log.model import events as ev
from worlddb.log.model import hashing, ids
from worlddb.log.store.bundle_contents import BundledWorld, Contents
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.forks import fork_rows
from worlddb.projections.tables.storage import schema
from worlddb.reconciler.bundle_import import bundle_merge, import_settings
from worlddb.reconciler.commands.commands import Fork, Merge
from worlddb.reconciler.transaction import context

_NAMED: Final = 20
"""How many edges a note names."""
_REFERS_TO: Final = "refers_to"
_SAME_AS: Final = "same_as"
_F = TypeVar("_F", fr.EdgeFrame, fr.ProposalFrame)


def fork(ctx: context.Context, command: Fork, details: int) -> bytes:
    """Decide a fork; returns the lineage of its world."""
    assert ctx.arrival is not None, "a request to fork brings what the world was"
    contents, tables = ctx.arrival.contents, ctx.tables
    node = context.node_ref(ctx, command.ref)
    if node == schema.ROOT_NODE:
        ctx.refuse(
            "root_is_permanent", "The root world cannot be forked", "Fork a world inside it, or back up the store"
        )
    into = _fork_container(ctx, node, command)
    _refuse_erased_meanwhile(ctx, [world.frame.lineage for world in contents.worlds])
    names = _Names(contents, lambda *what: ctx.draft.nonce("fork", *what))
    renamed, dropped_edges = _rename_contents(contents, names, lambda name: _crosses_out_of_world(ctx, name, into))
    merge = bundle_merge.BundleMerge(ctx.draft, renamed)
    events = merge.events()
    assert not merge.conflicts, "nothing of it is here"
    for event in events:
        ctx.draft.emit(event)
    lineage = renamed.heading.world
    origins = [world.frame.lineage for world in contents.worlds]
    copies = [names.lineages[each] for each in origins]
    origin = contents.heading.world
    ctx.draft.emit(
        ev.Forked(lineage, origin, contents.heading.seq, origins, copies, details, sorted(merge.blobs.absent))
    )
    if command.aliases:
        ctx.draft.emit(ev.Named(lineage, details, 0))
    top = tables.node_of(lineage)
    assert top is not None, "it was created"
    ctx.link(into, schema.CONTAINS, top, valid_from=tables.version(top, 1).valid_from)
    for kind in (import_settings.ArrivingTypes, import_settings.ArrivingTunings, import_settings.ArrivingProfiles):
        kind(ctx, renamed, merge.blobs).set_missing()
    _copy_guards(ctx, names)
    if dropped_edges:
        ctx.note("edges_not_forked", *dropped_edges[:_NAMED])
    return lineage


def _fork_container(ctx: context.Context, node: int, command: Fork) -> int:
    """The container of the fork: the one that the command names, or the first container of the world."""
    if command.into is None:
        return next(iter(ctx.tables.containers(node)), schema.ROOT_NODE)
    into = context.node_ref(ctx, command.into)
    if ctx.inside(into, node):
        told = f"{ctx.shown(into)} lies inside the world to fork"
        ctx.refuse("containment_cycle", told, "Put the fork beside that world, or into one outside it")
    return into


def _refuse_erased_meanwhile(ctx: context.Context, lineages: list[bytes]) -> None:
    """Refuse if a text was erased between the read of the world and this commit."""
    assert ctx.arrival is not None
    for lineage in lineages:
        node = ctx.tables.node_of(lineage)
        found = None if node is None else erasure_of(ctx.tables, node)
        if found is not None and found.seq > ctx.arrival.read_at:
            ctx.refuse("changed_meanwhile", "Texts of the world were erased during the fork", "Fork it again")
    log, kinds = ctx.draft.log, frozenset((ev.Struck,))
    for seq in range(ctx.arrival.read_at + 1, log.head().seq + 1):
        if any(isinstance(each, ev.Struck) and each.lineage in lineages for each in log.some_events(seq, kinds)):
            ctx.refuse("changed_meanwhile", "Literals of the world were erased during the fork", "Fork it again")


def _crosses_out_of_world(ctx: context.Context, type_name: str, into: int) -> bool:
    """True if edges of a type may lead out of a world (law 7), by the registrations at the fork's container."""
    if type_name == _REFERS_TO:
        return True
    found = settings.RegistrationFinder(ctx.tables, type_name, ctx.draft.seq).at(into, ctx.tables.containers)
    return found is not None and "cross_worlds" in found.rewrites


def _copy_guards(ctx: context.Context, names: "_Names") -> None:
    """Copy the guards for credentials and personal data to the fork."""
    for known in settings.guards_known(ctx.tables, ctx.draft.seq):
        copy = names.lineages.get(ctx.tables.node(known.world).lineage)
        if copy is not None:
            ctx.draft.emit(ev.Guarded(copy, *known.modes, ev.NONE))


def record_merge(ctx: context.Context, command: Merge, details: int) -> bytes:
    """Record how far a fork is merged by this commit; returns the world that it is merged into."""
    tables = ctx.tables
    fork_node, into = context.node_ref(ctx, command.ref), context.node_ref(ctx, command.into)
    row = fork_rows.top_of(tables, fork_node, ctx.draft.seq)
    if row is None or row.origin != into:
        ctx.refuse(
            "not_a_fork",
            f"{ctx.shown(fork_node)} is not a fork of {ctx.shown(into)}",
            "Look at view.forked_from(...)",
        )
    origins, copies = (
        [ids.Lineage(tables.node(context.node_ref(ctx, ref)).lineage) for ref in refs]
        for refs in (command.origins, command.copies)
    )
    lineage = tables.node(into).lineage
    of = tables.node(fork_node).lineage
    ctx.draft.emit(ev.Merged(lineage, of, ctx.draft.head.seq, list(origins), list(copies), details))
    return lineage


class _Names:
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


def _rename_contents(
    contents: Contents, names: _Names, leads_out: Callable[[str], bool]
) -> tuple[Contents, list[bytes]]:
    """A bundle's contents under new lineages, and the edges that are left out."""
    left: list[bytes] = []
    worlds = [_renamed_world(world, names, leads_out, left) for world in contents.worlds]
    heading = msgspec.structs.replace(contents.heading, world=names.of(contents.heading.world))
    named = {end for world in worlds for edge in world.edges for end in (edge.source, edge.target)}
    outside = [frame for frame in contents.outside if frame.lineage in named]
    return contents._replace(heading=heading, worlds=worlds, outside=outside), left


def _renamed_world(
    world: BundledWorld, names: _Names, leads_out: Callable[[str], bool], left: list[bytes]
) -> BundledWorld:
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
            made = _renamed_identity(_SAME_AS, proposal, ends, home)
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
