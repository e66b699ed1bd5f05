"""Import a bundle as one commit, with everything as it was decided in the store that it comes from.

No handler runs. The import itself enforces the laws that only hold for both stores together, which no handler could
check.
"""

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, ids
from worlddb.log.model import events as ev
from worlddb.log.store import bundle_contents
from worlddb.log.store.bundle_contents import Contents
from worlddb.projections.tables.storage.schema import CONTAINS, CONTAINS_CODE, LIVE, ROOT_NODE
from worlddb.reconciler.bundle_import import bundle_merge, import_laws, import_settings, outside_effects
from worlddb.reconciler.commands.commands import Import
from worlddb.reconciler.edge_types import supersession
from worlddb.reconciler.transaction import context, forbidden_texts, inputs

_MAX_LISTED: Final = 20
"""How many conflicts a refusal lists, and how many worlds a note names."""
_CONTRADICTS: Final = "contradicts"
_CONTAINER_TYPES: Final = frozenset(("scope", "user", "session", "turn", "conversation"))
"""Types, whatever their case, of worlds that stay two even with equal texts."""


def import_bundle(ctx: context.Context, command: Import) -> bytes:
    """Decide what the bundle at hand adds to this store; returns the lineage of its world.

    Lineages, versions, edges, proposals and world hashes are those of the bundle. Nothing is emitted if all is known.

    Raises:
        Rehearsed: it was decided, and is only a rehearsal.
    """
    assert ctx.arrival is not None, "a request to import brings it"
    world, outside = _import_contents(ctx, command, ctx.arrival)
    forbidden_texts.refuse_written(ctx, command)
    if ctx.arrival.outside == "rehearse":
        raise outside_effects.ImportRehearsed(len(ctx.draft.events), outside)
    if outside and ctx.arrival.outside == "refuse":
        _refuse_outside(ctx, outside)
    elif outside:
        ctx.note("reached_outside", *_affected_worlds(outside))
    return world


def _import_contents(
    ctx: context.Context, command: Import, arriving: inputs.Arrival
) -> tuple[bytes, list[outside_effects.OutsideEffect]]:
    """Decide the events of an import; returns its world, and the effects on worlds outside of the bundle."""
    contents = arriving.contents
    into = None if command.into is None else context.node_ref(ctx, command.into)
    contents, apart = _separate_diverged(ctx, contents) if arriving.joins else (contents, [])
    if arriving.joins:
        import_laws.refuse_unerased_texts(
            ctx, contents, {told.theirs: lineage for _, lineage, told in apart if told.theirs}
        )
    merge = bundle_merge.BundleMerge(ctx.draft, contents, joins=arriving.joins)
    events = merge.events()
    if merge.conflicts:
        _refuse_conflicts(ctx, merge.conflicts)
    world = contents.heading.world
    known = ctx.tables.node_of(world)
    are_all_new = not any(ctx.tables.node_of(group.frame.lineage) is not None for group in contents.worlds)
    arriving_settings = (
        import_settings.ArrivingTypes(ctx, contents, merge.blobs),
        import_settings.ArrivingTunings(ctx, contents, merge.blobs),
        import_settings.ArrivingProfiles(ctx, contents, merge.blobs),
        import_settings.ArrivingBeliefs(ctx, contents, merge.blobs, may_reach_outside=arriving.outside == "allow"),
    )
    in_place = not events and not _is_outside_named_container(ctx, known, into)
    if in_place and not any(each.is_any_missing() for each in arriving_settings):
        for each in arriving_settings:
            each.note_differing()
        _note_left_out(ctx, merge)
        return world, []
    outside = outside_effects.OutsideWorlds(ctx, contents, merge)
    ctx.draft.emit(_imported_event(ctx, arriving, merge))
    for event in events:
        ctx.draft.emit(event)
    _put_into_container(ctx, world, into)
    _put_stubs_into_containers(ctx, merge, ROOT_NODE if into is None else into)
    import_laws.refuse_containment_cycles(ctx, merge.memberships)
    _refuse_double_membership(ctx, merge.memberships)
    import_laws.refuse_joint_violations(ctx, events, merge)
    _adopt_orphans(ctx, events)
    for each in arriving_settings:
        each.set_missing()
    is_hash_unchanged = _has_hash_of_bundle(ctx, contents, are_all_new)
    if arriving.joins:
        _join_diverged(ctx, apart, merge)
    decided = len(ctx.draft.events)
    if import_laws.record_joint_conflicts(ctx, events) and is_hash_unchanged:
        ctx.note("knows_more", world)
    _note_left_out(ctx, merge)
    # A recorded conflict that ends with the edge that caused it takes nothing from the worlds that it named.
    counted = [*ctx.draft.events[:decided], *(e for e in ctx.draft.events[decided:] if isinstance(e, ev.Linked))]
    where = ROOT_NODE if into is None else into
    return world, outside_effects.outside_effects(ctx, outside, counted, where)


def _refuse_outside(ctx: context.Context, outside: Sequence[outside_effects.OutsideEffect]) -> None:
    shown = "; ".join(str(effect) for effect in outside[:_MAX_LISTED])
    more = f"; and {len(outside) - _MAX_LISTED:,} more" if len(outside) > _MAX_LISTED else ""
    ctx.refuse(
        "reaches_outside",
        f"The bundle would change worlds outside it: {shown}{more}",
        "Look at db.import_plan(...); if you accept all of it, import with allow_outside=True",
    )


def _affected_worlds(outside: Sequence[outside_effects.OutsideEffect]) -> list[bytes]:
    return [bytes.fromhex(world) for world in dict.fromkeys(effect.world for effect in outside)][:_MAX_LISTED]


def _refuse_conflicts(ctx: context.Context, conflicts: Sequence[str]) -> None:
    shown = "; ".join(conflicts[:_MAX_LISTED])
    more = f"; and {len(conflicts) - _MAX_LISTED:,} more" if len(conflicts) > _MAX_LISTED else ""
    ctx.refuse(
        "bundle_conflict",
        f"The bundle contradicts the store: {shown}{more}",
        "Import it with join=True, which keeps both, or into another store",
    )


def _imported_event(ctx: context.Context, arrival: inputs.Arrival, merge: bundle_merge.BundleMerge) -> ev.Imported:
    command, contents, head, *_ = arrival
    assert isinstance(command, Import), "a fork says where it is from by an event of its own"
    heading = contents.heading
    source: dict[str, Any] = {
        "store": heading.store_id.hex(),
        "seq": heading.seq,
        "world": heading.world.hex(),
        "bundle": command.bundle.hex(),
    }
    if head is not None:
        source["head"] = {"origin": head.origin, "commits": head.size, "tree": head.tree.hex()}
    commits = [[commit.seq, commit.ingest_time, commit.author] for commit in contents.commits.values()]
    first = {group.frame.lineage: group.versions[0].seq for group in contents.worlds}
    # A membership that was written with its member says nothing that the member's version does not.
    written = {
        edge.edge.hex(): edge.seq
        for group in contents.worlds
        for edge in group.edges
        if edge.type != CONTAINS or edge.seq != first.get(edge.target)
    }
    staged = {proposal.proposal.hex(): proposal.seq for group in contents.worlds for proposal in group.proposals}
    origins = {"commits": commits, "edges": written, "proposals": staged}
    details = ctx.draft.add_details(why=command.why, source=source, properties=origins)
    return ev.Imported(
        command.bundle,
        heading.store_id,
        heading.seq,
        heading.world,
        heading.world_hash,
        details,
        sorted(merge.blobs.absent),
    )


# -- containers


def _is_outside_named_container(ctx: context.Context, known: int | None, into: int | None) -> bool:
    """True if the world is not yet in the container that the command names."""
    return known is None or (into is not None and into not in ctx.tables.containers(known))


def _put_into_container(ctx: context.Context, world: bytes, into: int | None) -> None:
    """Put the world into the named container.

    Without one, a world that is here stays where it is.
    """
    node = ctx.tables.node_of(world)
    assert node is not None, "it was created, or known"
    if node == ROOT_NODE:
        if into is not None:
            ctx.refuse(
                "containment_cycle", "The bundle holds this store's own root world, and no world can contain that"
            )
        return
    where = ROOT_NODE if into is None else into
    containers = ctx.tables.containers(node)
    if where not in containers and (into is not None or not containers):
        ctx.link(where, CONTAINS, node, valid_from=ctx.tables.version(node, 1).valid_from)


def _put_stubs_into_containers(ctx: context.Context, merge: bundle_merge.BundleMerge, where: int) -> None:
    """Give every world a container.

    A world that is known by reference only lies beside the world that refers to it, until its text arrives.
    """
    for lineage in merge.stubs:
        node = ctx.tables.node_of(lineage)
        assert node is not None, "it was created"
        ctx.link(where, CONTAINS, node)
    for lineage in merge.filled:
        node = ctx.tables.node_of(lineage)
        assert node is not None, "it was here"
        _leave_placeholder(ctx, node)
    if merge.stubs:
        ctx.note("known_by_reference", *merge.stubs[:_MAX_LISTED])
    if merge.filled:
        ctx.note("texts_arrived", *merge.filled[:_MAX_LISTED])


def _leave_placeholder(ctx: context.Context, node: int) -> None:
    """Remove a world whose text has arrived from the containers that it was in as a reference.

    This is done only if it has another container. It was a reference if its first version has no details.
    """
    if ctx.tables.version(node, 1).details != ev.NONE:
        return
    created = ctx.tables.node(node).created
    live = [(place, row) for place, row in ctx.tables.incoming(node, CONTAINS_CODE) if row.unlinked == LIVE]
    here = {place.source for place, row in live if row.seq == created}
    if any(place.source not in here for place, _ in live):
        for place, row in live:
            if place.source in here:
                ctx.draft.emit(ev.Unlinked(row.edge))


def _refuse_double_membership(ctx: context.Context, memberships: Sequence[ev.Linked]) -> None:
    for edge in memberships:
        source, target = ctx.tables.node_of(edge.source), ctx.tables.node_of(edge.target)
        assert source is not None and target is not None, "both ends were created, or known"
        if target >= ctx.tables.first_new_node:
            continue
        placed = [known for known in ctx.edges(target, CONTAINS, incoming=True) if known.source == source]
        held = sorted(span for known in placed for span in ctx.times_of(known))
        if any(one.overlaps(following) for one, following in pairwise(held)):
            said = f"{ids.short(edge.target)} is in {ids.short(edge.source)} by another edge here"
            _refuse_conflicts(ctx, [f"{said}, at the same time"])


def _adopt_orphans(ctx: context.Context, events: Sequence[ev.AnyEvent]) -> None:
    """Put worlds that left their last container into the root."""
    for event in events:
        place = ctx.tables.place_of(event.edge) if isinstance(event, ev.Unlinked) else None
        if place is not None and place.type == CONTAINS_CODE:
            node = ctx.tables.edge(place).target
            if not ctx.tables.containers(node):
                ctx.link(ROOT_NODE, CONTAINS, node)
                ctx.note("adopted_by_root", ctx.tables.node(node).lineage)


# -- joining two stores that diverged


class _DivergedWorld(NamedTuple):
    """A world whose history differs here and in the bundle, with the bundle as it was before they were separated."""

    whole: Contents
    lineage: bytes
    told: bundle_contents.Divergence


def _separate_diverged(ctx: context.Context, contents: Contents) -> tuple[Contents, list[_DivergedWorld]]:
    """Move each diverged history of the bundle to a world of its own; returns the bundle and the diverged worlds.

    The rest of a world may have diverged too, as may one that an earlier join made, so this repeats until nothing
    differs.
    """
    found: list[_DivergedWorld] = []
    common: dict[bytes, int] = {}
    taken_back: dict[bytes, bundle_contents.BundledWorld] = {}
    while True:
        told = bundle_merge.BundleMerge(ctx.draft, contents).apart()
        told = {lineage: each for lineage, each in told.items() if each.common > common.get(lineage, 0)}
        if not told:
            return contents, found
        found += [_DivergedWorld(contents, lineage, each) for lineage, each in told.items()]
        common |= {lineage: each.common for lineage, each in told.items()}
        groups = {each.frame.lineage: each for each in contents.worlds}
        contents = bundle_contents.split_divergent(contents, told, taken_back)
        taken_back |= {lineage: groups[each.ours] for lineage, each in told.items() if each.ours}


def _join_diverged(ctx: context.Context, apart: Sequence[_DivergedWorld], merge: bundle_merge.BundleMerge) -> None:
    """Record each contradiction once, and let one of two equal statements supersede the other."""
    for world, lineage, divergence in apart:
        one, other = ctx.tables.node_of(lineage), ctx.tables.node_of(divergence.theirs)
        if one is None or other is None or _are_in_conflict(ctx, one, other):
            continue
        _contradict(ctx, one, other)
        if other >= ctx.tables.first_new_node:
            ctx.note("went_apart", lineage, divergence.theirs)
            uncarried = bundle_contents.list_uncarried(world, lineage, divergence)
            if uncarried:
                ctx.note("not_carried", *(text.encode() for text in (ids.short(divergence.theirs), *uncarried)))
    for _, lineage, divergence in apart:
        one, other = ctx.tables.node_of(lineage), ctx.tables.node_of(divergence.theirs)
        for third in () if one is None or other is None else _other_diverged_versions(ctx, one, other):
            for way in (one, other):
                if way is not None and not _are_in_conflict(ctx, *sorted((way, third))):
                    _contradict(ctx, *sorted((way, third)))
    if merge.goes_on:
        ctx.note("goes_on_here", *merge.goes_on[:_MAX_LISTED])
    _supersede_repeated(ctx)


def _contradict(ctx: context.Context, one: int, other: int) -> None:
    """Record that two histories of a world contradict each other, from the time at which both hold, if they differ."""
    pairs = product(ctx.spans(one), ctx.spans(other))
    both = [max(here.start, there.start) for here, there in pairs if here.overlaps(there)]
    if both and _comparable_text(ctx, one) != _comparable_text(ctx, other):
        ctx.link(one, _CONTRADICTS, other, valid_from=min(both))


def _other_diverged_versions(ctx: context.Context, one: int, other: int) -> list[int]:
    """Further diverged histories of the same world, found among the worlds that contradict these two."""
    code = ctx.tables.type_code(_CONTRADICTS)
    assert code is not None, "it is built in"
    near: dict[int, None] = {}
    for way in (one, other):
        near |= dict.fromkeys(row.target for _, row in ctx.tables.outgoing(way, code))
        near |= dict.fromkeys(place.source for place, _ in ctx.tables.incoming(way, code))
    found = [each for each in near if each not in (one, other)]
    for first in map(ctx.lineage, (one, other, *found)):

        def is_way(node: int, first: bytes = first) -> bool:
            lineage = ctx.lineage(node)
            return lineage in (first, bundle_contents.divergent_lineage(first, ctx.tables.version(node, 1).body))

        if is_way(one) and is_way(other):
            return [each for each in found if is_way(each)]
    return []


def _are_in_conflict(ctx: context.Context, one: int, other: int) -> bool:
    code = ctx.tables.type_code(_CONTRADICTS)
    assert code is not None, "it is built in"
    pairs = ((one, other), (other, one))
    return any(row.target == end for start, end in pairs for _, row in ctx.tables.outgoing(start, code))


def _comparable_text(ctx: context.Context, node: int) -> tuple[str, str, str] | None:
    """The text of a world for comparison; ``None`` if it has ended, has no text or is only a container."""
    body = ctx.body(node)
    if body is None or not ctx.spans(node) or ctx.has_ended(node) or body.type.casefold() in _CONTAINER_TYPES:
        return None
    return body.type, body.name, body.content


def _supersede_repeated(ctx: context.Context) -> None:
    """Where both stores state the same in one container, let the earlier statement supersede the later."""
    first_new = ctx.tables.first_new_node
    said: dict[int, dict[tuple[str, str, str], list[int]]] = {}
    for node in range(first_new, ctx.draft.applier.next_node):
        text = _comparable_text(ctx, node)
        if text is None or not ctx.tables.node(node).versions:
            continue
        for container in ctx.tables.containers(node):
            if container not in said and container < first_new:
                said[container] = _members_by_text(ctx, container, first_new)
            for known in said.get(container, {}).get(text, ()):
                _supersede_later(ctx, node, known)


def _members_by_text(ctx: context.Context, container: int, before: int) -> dict[tuple[str, str, str], list[int]]:
    found: dict[tuple[str, str, str], list[int]] = {}
    for member in ctx.tables.live_targets(container, CONTAINS_CODE):
        text = _comparable_text(ctx, member) if member < before else None
        if text is not None:
            found.setdefault(text, []).append(member)
    return found


def _supersede_later(ctx: context.Context, one: int, other: int) -> None:
    if supersession.is_joined(ctx, one) and other in supersession.joined(ctx, one):
        return

    def told(node: int) -> tuple[int, bytes]:
        row = ctx.tables.node(node)
        return row.t_create, ctx.tables.version(node, row.versions).body

    first, second = sorted((one, other), key=told)
    begins = max(span.start for node in (first, second) for span in ctx.spans(node)[:1])
    notes_before = len(ctx.draft.notes)
    ctx.link(first, supersession.SUPERSEDES, second, valid_from=begins)
    # Drop the notes of this link: the caller asked for its effects.
    del ctx.draft.notes[notes_before:]
    ctx.note("said_in_both", ctx.lineage(first), ctx.lineage(second))


# -- notes


def _has_hash_of_bundle(ctx: context.Context, contents: Contents, are_all_new: bool) -> bool:
    """True if the world has the hash that the bundle states.

    If this store knows more about the world, the different hash is noted.

    Raises:
        InvalidBundle: all worlds are new, and the hash differs nevertheless.
    """
    ctx.draft.applier.rehash()
    node = ctx.tables.node_of(contents.heading.world)
    stored = None if node is None else ctx.tables.current_hash(node)
    if stored is not None and stored[: ids.HASH_BYTES] == contents.heading.world_hash:
        return True
    if are_all_new:
        raise errors.InvalidBundle(
            f"Imported here, the world {ids.short(contents.heading.world)} of the bundle would have another "
            "hash than the bundle states",
            "Nothing was written; this is a defect of the program that made the bundle, or of this release",
        )
    ctx.note("knows_more", contents.heading.world)
    return False


def _note_left_out(ctx: context.Context, merge: bundle_merge.BundleMerge) -> None:
    if merge.left_erased:
        ctx.note("left_erased", *merge.left_erased[:_MAX_LISTED])
    if merge.ended_before:
        ctx.note("reference_ended", *merge.ended_before[:_MAX_LISTED])
    if merge.without_text:
        ctx.note("texts_missing", *merge.without_text[:_MAX_LISTED])
    if merge.left_rejected:
        ctx.note("stays_rejected", *merge.left_rejected[:_MAX_LISTED])
    if merge.left_waiting:
        ctx.note("waits_here", *merge.left_waiting[:_MAX_LISTED])
