"""All that a view knows of one identity, as a document for an access request (paper §3.1)."""

from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.history.lineage import history
from worlddb.query.reads import adjacency, build, world_lookup
from worlddb.query.records import records
from worlddb.query.snapshot import edge_rules, visible


def identity_document(
    snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, node: int, *, unify: bool
) -> records.Identity:
    """The equivalence class of a world: names, versions, sources, and facts that name it.

    With ``unify`` the edges of each member are those of the whole class, and those that make it one are left out.
    """
    moment = snapshot.place.moment
    members = world_lookup.class_of(snapshot, node, moment.seq, spec)
    refs = {member: snapshot.tables.node(member).lineage.hex() for member in members}
    worlds = [_newest(snapshot, member, spec) for member in members]
    versions = {refs[member]: tuple(history(snapshot, member)) for member in members}
    links: dict[str, records.Edge] = {}
    facts: dict[str, records.KnownFact] = {}
    every = adjacency.EdgeFilter(None, "both", include_superseded=True, period=None)
    for member in members:
        for edge in adjacency.edges_of(snapshot, members if unify else [member], every):
            if adjacency.unifies(snapshot, spec, edge):
                if not unify:
                    links[edge.ref] = edge
            elif edge.type != CONTAINS:
                other = edge.target if edge.source in versions else edge.source
                known = None if other in versions else _world_of(snapshot, other, spec)
                facts[edge.ref] = records.KnownFact(edge=edge, world=known)
    shown = tuple(world for world in worlds if world is not None)
    names = (name for world in shown for name in (*(each.name for each in versions[world.ref]), *world.aliases))
    found = [version.source for known in versions.values() for version in known]
    found += [fact.world.source for fact in facts.values() if fact.world is not None]
    return records.Identity(
        refs=tuple(refs.values()),
        names=tuple(dict.fromkeys(filter(None, names))),
        worlds=shown,
        versions=versions,
        links=tuple(links.values()),
        facts=tuple(facts.values()),
        sources=tuple(source for at, source in enumerate(found) if source and source not in found[:at]),
    )


def _world_of(snapshot: visible.VisibleSnapshot, ref: str, spec: edge_rules.Spec) -> records.World | None:
    node = snapshot.tables.node_of(bytes.fromhex(ref))
    return None if node is None else _newest(snapshot, node, spec)


def _newest(snapshot: visible.VisibleSnapshot, node: int, spec: edge_rules.Spec) -> records.World | None:
    """The record of a world, whether it is valid at the view's moment or no longer."""
    return build.world(snapshot, node, snapshot.place.moment, spec, include_superseded=True)
