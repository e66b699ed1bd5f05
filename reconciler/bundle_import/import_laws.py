"""Laws for both stores of an import together, which no edge handler could check.

Handlers ran in the store that a bundle comes from, and each saw that store alone. An order there and another here can
be a cycle together, and a class of identical worlds can come to hold a pair that was rejected.
"""

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final

from worlddb.log.model import bundle, hashing, ids, times
from worlddb.log.model import events as ev
from worlddb.log.statements import bundled_statements
from worlddb.log.store import bundle_contents
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.storage.schema import CONTAINS, ERASURE, ROOT_NODE, ErasureRow
from worlddb.reconciler.bundle_import.bundle_merge import BundleMerge
from worlddb.reconciler.edge_types import handler, relation_laws, supersession
from worlddb.reconciler.entity_resolution.equivalence import refuse_joined
from worlddb.reconciler.transaction import windows
from worlddb.reconciler.transaction.context import Context

_SHOWN: Final = 20
"""How many links of a chain a refusal spells out."""


def refuse_joint_violations(ctx: Context, events: Sequence[ev.AnyEvent], merge: BundleMerge) -> None:
    """Check a bundle's edges and decisions against this store.

    The check is made once all of the bundle's events have taken effect. A world that the bundle says was superseded
    ends no later than that, also in versions that only this store has; and so does what it had replaced here or there,
    if it had not begun by then. One that was resumed since, as the bundle or this store says, is left as it is. Of
    worlds that are joined by ``supersedes`` at most one holds at a time.
    """
    ordered: dict[str, list[ev.Linked]] = {}
    for event in events:
        if isinstance(event, ev.Linked):
            if event.source == event.target and _is_loop(ctx, event):
                reason = f"In the bundle {ids.short(event.source)} has an edge of type {event.type} to itself"
                ctx.refuse("self_reference", reason)
            if isinstance(ctx.scopes.deciding_handler(event.type, ctx.node_known(event.home)), handler.AcyclicHandler):
                ordered.setdefault(event.type, []).append(event)
    for type_name, edges in ordered.items():
        _refuse_cycle(ctx, type_name, edges)
    for edge in ordered.get(supersession.SUPERSEDES, ()):
        _end_superseded_target(ctx, edge, merge)
    revised = [event for event in events if isinstance(event, ev.Revised)]
    _end_replaced_worlds(ctx, revised, merge)
    _settle_succession(
        ctx, [*(edge.source for edge in ordered.get(supersession.SUPERSEDES, ())), *(each.lineage for each in revised)]
    )
    if ctx.scopes.any_closed:
        _refuse_outside_profiles(ctx, events)
    decided = (ctx.tables.proposal(event.proposal) for event in events if isinstance(event, ev.Decided))
    refuse_joined(ctx, (row.source for row in decided if row is not None))


def _refuse_outside_profiles(ctx: Context, events: Sequence[ev.AnyEvent]) -> None:
    """Refuse types and relations that the profile of a world here does not allow."""
    for event in events:
        if isinstance(event, ev.Linked):
            home = ctx.node_known(event.home)
            if event.type == CONTAINS:
                relation_laws.refuse_member(ctx, ctx.scopes, ctx.node_known(event.target), home)
            else:
                relation_laws.refuse_relation(ctx, ctx.scopes, event.type, home)
        elif isinstance(event, ev.Revised):
            node = ctx.node_known(event.lineage)
            text = ctx.text(node)
            if text is not None:
                for container in ctx.containers(node):
                    relation_laws.refuse_type(ctx, ctx.scopes, text.type, container)


def _is_loop(ctx: Context, edge: ev.Linked) -> bool:
    """True if an edge leads from a world to itself, and not from a later version to an earlier one."""
    known = ctx.scopes.deciding_handler(edge.type, ctx.node_known(edge.home))
    if not isinstance(known, handler.PlainHandler):
        return False
    return not known.joins_versions or edge.source_version <= edge.target_version


def refuse_containment_cycles(ctx: Context, memberships: Sequence[ev.Linked]) -> None:
    """Refuse containment cycles.

    A bundle has none in itself, so one must lead through a known world.
    """
    for edge in memberships:
        source, target = ctx.node_known(edge.source), ctx.node_known(edge.target)
        way = _path_to_container(ctx, source, target) if target < ctx.tables.first_new_node else []
        if way:
            told = [f"{ctx.shown(one)} is in {ctx.shown(other)}" for one, other in pairwise(way)]
            ctx.refuse(
                "containment_cycle",
                f"The bundle puts {ids.short(edge.target)} into {ids.short(edge.source)}, which would then "
                f"contain itself: {_describe_links(told)}",
                "Move one of them first",
            )


def record_joint_conflicts(ctx: Context, events: Sequence[ev.AnyEvent]) -> bool:
    """Record functional conflicts between edges of a bundle and edges here; true if any changed.

    Conflicts end that were caused by edges which the bundle closes or retracts.
    """
    before = len(ctx.draft.events)
    for event in events:
        if not isinstance(event, ev.Linked | ev.EdgeClosed | ev.EdgeLost | ev.Unlinked):
            continue
        place = ctx.tables.place_of(event.edge)
        row = None if place is None else ctx.tables.edge(place)
        if place is None or row is None:
            continue
        edge = ctx.handled(place, row)
        if not isinstance(event, ev.Linked):
            if row.seq < ctx.draft.seq:
                if isinstance(event, ev.EdgeLost):
                    relation_laws.end_conflicts(ctx, ctx.scopes, edge, event.valid_from, event.valid_to)
                    continue
                relation_laws.end_conflicts(
                    ctx, ctx.scopes, edge, event.valid_to if isinstance(event, ev.EdgeClosed) else None
                )
        elif edge.type not in relation_laws.NEVER_FUNCTIONAL:
            relation_laws.settle_written(ctx, ctx.scopes, edge, before=ctx.draft.seq)
    return len(ctx.draft.events) > before


def _refuse_cycle(ctx: Context, type_name: str, edges: Sequence[ev.Linked]) -> None:
    """Refuse a cycle in an order, and list every link of it with its origin."""
    code = ctx.tables.type_code(type_name)
    assert code is not None, "edges of the type were written"
    order: TopologicalSorter[int] = TopologicalSorter()
    pending = [ctx.node_known(edge.source) for edge in edges]
    seen = set(pending)
    for node in pending:
        # An edge to the world itself joins two versions of it, of which the one is later.
        targets = [target for target in ctx.tables.live_targets(node, code) if target != node]
        order.add(node, *targets)
        new = [target for target in targets if target not in seen]
        seen.update(new)
        pending.extend(new)
    try:
        order.prepare()
    except CycleError as error:
        arriving = {(ctx.node_known(edge.source), ctx.node_known(edge.target)) for edge in edges}
        told = [
            f"{ctx.shown(one)} {type_name} {ctx.shown(other)} ({'bundle' if (one, other) in arriving else 'here'})"
            for one, other in pairwise(reversed(error.args[1]))
        ]
        ctx.refuse(
            f"{type_name}_cycle",
            f"The bundle and the store would together close a cycle: {_describe_links(told)}",
            "Unlink one of the store's edges, or export again without one of the others",
        )


def _end_superseded_target(ctx: Context, edge: ev.Linked, merge: BundleMerge) -> None:
    target = ctx.node_known(edge.target)
    if target == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The bundle supersedes this store's root world")
    bundle_holes = merge.lineages.history_of(target).holes
    if edge.valid_to != times.FOREVER:
        window = times.Interval(edge.valid_from, edge.valid_to)
        if not (
            window.is_empty
            or merge.is_timeline_from_bundle(edge.target)
            or any(hole.span == window for hole in bundle_holes)
        ):
            ctx.void(target, window)
        return
    takeover, first = supersession.first_takeover(ctx, ctx.node_known(edge.source), edge.valid_from)
    by = ctx.lineage(first)
    if merge.is_timeline_from_bundle(edge.target):
        # There it was said then that it holds nothing; what it holds now was resumed since.
        remaining: times.Validity = times.Interval(edge.valid_from, times.FOREVER)
        for hole in bundle_holes:
            remaining = remaining.without(hole.span)
        if remaining.is_empty:
            return
    elif any(
        (hole.by in (by, edge.source) or hole.span.start == takeover)
        and hole.span.is_open
        and _was_resumed_since(ctx, target, hole)
        for hole in bundle_holes
    ):
        return
    began = supersession.has_begun_by(ctx, target, takeover)
    ctx.close(target, takeover, by=by)
    if not began and not _are_predecessors_from_bundle(ctx, target, merge):
        supersession.end_predecessors(ctx, target, takeover, by)
    if not ctx.has_ended(target) or (merge.went_apart(edge.target) and not _is_empty_from(ctx, target, takeover)):
        # Of what went apart the same bundle would say it when it comes again, since nothing contradicts it then.
        ctx.draft.emit(ev.Ended(edge.target, takeover, ev.NONE, by))


def _was_resumed_since(ctx: Context, node: int, hole: bundle.Hole) -> bool:
    """True if a world was resumed after it had ended, by a version that was written later and begins after the end."""
    versions = ctx.tables.version_rows(node)
    return any(number > hole.after and row.valid_from >= hole.span.start for number, row in versions)


def _is_empty_from(ctx: Context, node: int, at: int) -> bool:
    """True if a world has a hole from a time on."""
    hole = windows.hole_at(ctx.draft, node, at)
    return hole is not None and hole.last


def _settle_succession(ctx: Context, lineages: Sequence[bytes]) -> None:
    """Make at most one of the worlds of each succession hold at a time."""
    seen: set[int] = set()
    for lineage in dict.fromkeys(lineages):
        node = ctx.node_known(lineage)
        if node not in seen and supersession.is_joined(ctx, node):
            seen.update(supersession.joined(ctx, node))
            supersession.settle(ctx, node)


def _are_predecessors_from_bundle(ctx: Context, node: int, merge: BundleMerge) -> bool:
    """True if the timelines of all worlds that a world replaces come from the bundle."""
    return all(
        merge.is_timeline_from_bundle(ctx.lineage(target)) for target in ctx.targets(node, supersession.SUPERSEDES)
    )


def _end_replaced_worlds(ctx: Context, versions: Sequence[ev.Revised], merge: BundleMerge) -> None:
    """End the worlds that a world had replaced here, where an arriving version begins.

    It is ended only if none of the world's other versions had begun, and the bundle does not say when it ended.
    """
    earliest: dict[bytes, int] = {}
    for version in versions:
        if version.valid_from < version.valid_to:
            earliest[version.lineage] = min(version.valid_from, earliest.get(version.lineage, times.FOREVER))
    for lineage, begins in earliest.items():
        node = ctx.node_known(lineage)
        if not _are_predecessors_from_bundle(ctx, node, merge) and not any(
            row.valid_from < begins or (row.valid_from == begins and row.seq < ctx.draft.seq)
            for _, row in ctx.tables.version_rows(node)
        ):
            supersession.end_predecessors(ctx, node, begins, lineage)


def _path_to_container(ctx: Context, world: int, container: int) -> list[int]:
    """The path from a world up to one of its containers, or to itself; empty if there is none."""
    below = {world: world}
    pending = [world]
    for here in pending:
        if here == container:
            way = [here]
            while below[way[-1]] != way[-1]:
                way.append(below[way[-1]])
            return way[::-1]
        for above in ctx.containers(here):
            if above not in below:
                below[above] = here
                pending.append(above)
    return []


def _describe_links(links: list[str]) -> str:
    more = f", and {len(links) - _SHOWN:,} more" if len(links) > _SHOWN else ""
    return ", ".join(links[:_SHOWN]) + more


# -- what was erased here


def refuse_unerased_texts(ctx: Context, contents: bundle_contents.Contents, apart: Mapping[bytes, bytes]) -> None:
    """Refuse to join a bundle that has a text that was erased here: its store has not followed the erasure.

    A bundle shows it by itself, since of what its store erased it has identifiers alone. ``apart`` has of each rest
    in ``contents`` what it was parted from: it is named by the world that it is of in the bundle's store.
    """

    def named(lineage: bytes) -> str:
        while lineage in apart:
            lineage = apart[lineage]
        return ids.short(lineage)

    found = [f"{named(lineage)} by commit {seq}" for lineage, seq in _worlds_with_erased_texts(ctx, contents)]
    found += [f"a literal of {named(lineage)}" for lineage in _worlds_with_erased_literals(ctx, contents)]
    if found:
        more = f"; and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
        of_bundle = f"The bundle of the store {ids.short(contents.heading.store_id)} (commit {contents.heading.seq})"
        ctx.refuse(
            "erasure_not_obeyed",
            f"{of_bundle} has texts that were erased here: {'; '.join(found[:_SHOWN])}{more}",
            "Erase them in that store too, export the world again, and join that bundle",
        )


def _worlds_with_erased_texts(ctx: Context, contents: bundle_contents.Contents) -> Iterator[tuple[bytes, int]]:
    """The worlds with a text in the bundle that was erased here, each with the commit of the erasure.

    What was written here may stand in a world of its own there, since the two were joined, or in a rest of one.
    """
    first_bodies = {world.frame.lineage: world.versions[0].body for world in contents.worlds}
    bundled_bodies: dict[bytes, list[bytes]] = {}
    for world in contents.worlds:
        node = ctx.tables.node_of(world.frame.lineage)
        if node is None or erasure_of(ctx.tables, node) is not None:  # What holds here may be there.
            for each in world.versions:
                if contents.blob(each.body, world) is not None:
                    bundled_bodies.setdefault(each.body, []).append(world.frame.lineage)
    for key, stored in ctx.tables.erasures.scan(b"") if bundled_bodies else ():
        node, erasure = int.from_bytes(key, "big"), ErasureRow._make(ERASURE.unpack(stored))
        erased = ctx.tables.node(node).lineage
        rows = (
            row for _, row in ctx.tables.version_rows(node) if row.seq <= erasure.seq and row.body in bundled_bodies
        )
        for body in {row.body for row in rows if ctx.draft.log.blob(row.seq, row.position) is None}:
            for lineage in bundled_bodies[body]:
                origins = (erased, *(each.lineage for each in contents.outside), *first_bodies)
                if lineage == erased or any(
                    bundle_contents.divergent_lineage(o, first_bodies[lineage]) == lineage for o in origins
                ):
                    yield lineage, erasure.seq


def _worlds_with_erased_literals(ctx: Context, contents: bundle_contents.Contents) -> Iterator[bytes]:
    """The worlds with the text of a term in the bundle that was erased here and not stated again."""
    for world in contents.worlds:
        node = ctx.tables.node_of(world.frame.lineage) if world.terms else None
        if node is None or erasure_of(ctx.tables, node) is not None:
            continue
        erased = {
            row.identity
            for _, row in statement_rows.terms_of(ctx.tables, node)
            if row.digest == statement_rows.NO_DIGEST
        }
        told = (
            (each, bundled_statements.texts_of(contents.blob(each.details, world), each.seq)) for each in world.terms
        )
        if erased and any(
            text
            and hashing.term_identity(frame.details, place) in erased
            and statement_rows.number_of(ctx.tables, node, text) is None
            for frame, texts in told
            for place, text in enumerate(texts or ())
        ):
            yield world.frame.lineage
