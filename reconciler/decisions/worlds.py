"""Decide the commands about worlds: create, revise, retire, reassert, alias and move.

A world that moves takes along the interior edges whose both ends move.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

from worlddb.log.beliefs import artifact
from worlddb.log.model import blobs, errors, ids, limits, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import timeline_rows
from worlddb.projections.tables.storage.schema import CONTAINS, LIVE, ROOT_NODE, EdgePlace, EdgeRow
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.edge_types import relation_laws, supersession
from worlddb.reconciler.edge_types.handler import WorldText
from worlddb.reconciler.entity_resolution.namesakes import Resolution
from worlddb.reconciler.transaction import context, draft, inputs, recorded_texts, windows

MAX_READ_BACK: Final = 4_096
"""Up to how many commits since a look, of up to as many events each, are searched for concurrent changes."""


def create(ctx: context.Context, command: cmd.Create, details: int, resolution: Resolution) -> draft.Decision:
    world = ROOT_NODE if command.world is None else context.node_ref(ctx, command.world)
    if resolution.keyed is None:
        lineage = ids.Lineage(ctx.draft.nonce("lineage", len(ctx.draft.commands))[: ids.LINEAGE_BYTES])
    else:
        lineage, existing, ended = resolution.keyed
        if existing is not None:
            return _create_under_known_key(ctx, command, existing, details)
        if ended:
            ctx.note("begun_anew", lineage, ended)
    begins = ctx.now if command.valid_from is None else command.valid_from
    ends = times.FOREVER if command.valid_to is None else command.valid_to
    validity = times.checked_interval(begins, ends, given=command.valid_from is not None)
    text = WorldText(command.type, command.name, command.content)
    stated = draft.stated_ends(command.valid_from, command.valid_to)
    node, body = ctx.add_world(lineage, text, command.aliases, details, validity, world, stated)
    if validity.is_empty:
        ctx.note("never_valid", lineage)
    for match in resolution.matches:
        ctx.propose(node, match.node, evidence=match.evidence)
    return draft.Decision(lineage, body)


def _create_under_known_key(ctx: context.Context, command: cmd.Create, node: int, details: int) -> draft.Decision:
    """Decide a create whose key is known.

    The same text changes nothing, another text is a revision, an ended world stays ended, and erased text stays erased
    without ``revive``. A text of a conversation that was corrected since stays corrected.
    """
    row = ctx.tables.node(node)
    begins = ctx.now if command.valid_from is None else command.valid_from
    newest = ctx.body(node)
    if ctx.is_ingest and newest is not None and _repeats_corrected_text(ctx, command, node, newest):
        ctx.note("stays_corrected", row.lineage)
        return draft.Decision(row.lineage)
    body = None if newest is None else _text_at(ctx, node, begins, may_follow=command.valid_from is None)
    if body is not None and (body.type, body.name, body.content) == (command.type, command.name, command.content):
        if _is_key_given_by_caller(ctx, command) and windows.hole_at(ctx.draft, node, begins) is not None:
            ctx.note("not_revived", row.lineage)
        else:
            _note_unchanged_fields(ctx, command, node, begins)
        return draft.Decision(row.lineage)
    if windows.hole_at(ctx.draft, node, begins) is not None or (newest is None and ctx.has_ended(node)):
        # A world that was erased after its end is not revived: no read would show a text that is put there.
        ctx.note("not_revived", row.lineage)
        return draft.Decision(row.lineage)
    if newest is None and not command.revive:
        ctx.note("not_restored", row.lineage)
        return draft.Decision(row.lineage)
    revision = cmd.Revise(
        ref=row.lineage,
        type=command.type,
        name=command.name,
        content=command.content,
        properties=command.properties,
        valid_from=command.valid_from,
        valid_to=command.valid_to,
    )
    if newest is None:
        for position in draft.new_aliases(command.aliases, ctx.aliases(node)):
            ctx.draft.emit(ev.Named(row.lineage, details, position))
    _note_unchanged_fields(ctx, command, node, None)
    window = _window(ctx, revision, node)
    return _write_revision(ctx, revision, details, node, window, windows.pieces_in(ctx.draft, node, window), newest)


def _repeats_corrected_text(ctx: context.Context, command: cmd.Create, node: int, newest: blobs.Body) -> bool:
    """True if a conversation repeats its last text of a world that another write has changed since."""
    told = command.type, command.name, command.content
    if ctx.tables.node(node).versions == 1 or (newest.type, newest.name, newest.content) == told:
        return False
    lineage = ctx.lineage(node)
    for number, row in ctx.tables.version_rows(node):
        if row.seq == ctx.draft.seq or recorded_texts.is_by(ctx.draft.log, row.seq, lineage, cmd.Create.CODE):
            body = ctx.body(node, number)
            is_newest = number == ctx.tables.node(node).versions
            return not is_newest and body is not None and (body.type, body.name, body.content) == told
    return False


def _is_key_given_by_caller(ctx: context.Context, command: cmd.Create) -> bool:
    """True if the caller gave the key of a command; conversations and bundles derive theirs and may repeat texts."""
    return not (isinstance(command.key, cmd.KnownKey) or ctx.is_ingest)


def _note_unchanged_fields(ctx: context.Context, command: cmd.Create, node: int, unchanged_at: int | None) -> None:
    """Note the given fields that a create under a known key does not change, since it only repeats a text.

    ``unchanged_at`` is the time at which the same text was found; ``None`` for a revision, which writes its source and
    window. If nothing holds at that time, ``valid_from`` is noted too.
    """
    if not _is_key_given_by_caller(ctx, command):
        return
    differing = []
    if command.aliases and not set(command.aliases) <= set(ctx.aliases(node)):
        differing.append("aliases")
    if unchanged_at is not None:
        holding = windows.pieces_in(ctx.draft, node, times.Interval(unchanged_at, times.FOREVER))
        number = holding[0].number if holding else ctx.tables.node(node).versions
        if command.source and ctx.source(node, number) not in (None, command.source):
            differing.append("source")
        if command.properties and ctx.properties_of(node, number) != command.properties:
            differing.append("properties")
        holds = [piece.span.end for piece in holding if piece.span.start <= unchanged_at]
        if not holds:
            differing.append("valid_from")
        if command.valid_to is not None and holds and command.valid_to != holds[0]:
            differing.append("valid_to")
    if command.world is not None:
        container = context.node_ref(ctx, command.world)
        if all(edge.source != container for edge in ctx.edges(node, CONTAINS, incoming=True)):
            differing.append("world")
    if differing:
        told = [ctx.lineage(node).hex(), *differing]
        ctx.note("not_changed", *(text.encode() for text in told))


def _text_at(ctx: context.Context, node: int, at: int, *, may_follow: bool = True) -> blobs.Body | None:
    """The text that a lineage has at a time, else the last one before.

    With ``may_follow`` it is at last the newest text, even if that begins later. ``None`` if there is none, or if it
    was erased.
    """
    number = _version_at(ctx, node, at) or (ctx.tables.node(node).versions if may_follow else 0)
    return ctx.body(node, number) if number else None


def _version_at(ctx: context.Context, node: int, at: int) -> int:
    """The version that a lineage has at a time, else the last one before; 0 for none."""
    holding = windows.pieces_in(ctx.draft, node, times.Interval(at, at + 1))
    return holding[0].number if holding else windows.last_begun(ctx.draft, node, at)


def revise(ctx: context.Context, command: cmd.Revise, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    row = ctx.tables.node(node)
    if node == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot be revised", "Name a world inside it")
    newest = ctx.body(node)
    if newest is None:
        _refuse_erased(ctx, row.lineage)
    window = _window(ctx, command, node)
    holding = windows.pieces_in(ctx.draft, node, window)
    hole = None if _starts_with_window(holding, window) else windows.hole_at(ctx.draft, node, window.start)
    if hole is not None and hole.last:
        ctx.refuse(
            "ended",
            f"{ids.short(row.lineage)} ended at {times.format_time(hole.span.start)}, and the revision would begin"
            f" at {times.format_time(window.start)}",
            "Reassert it if it holds again, or give a valid_from before its end",
        )
    if command == cmd.Revise(ref=command.ref) and _holds_throughout(ctx, node, window, holding):
        return draft.Decision(row.lineage)
    return _write_revision(ctx, command, details, node, window, holding, newest)


def _holds_throughout(
    ctx: context.Context, node: int, window: times.Interval, holding: Sequence[timeline_rows.Piece]
) -> bool:
    """True if one version, whose text was not erased, holds in all of a window."""
    return len(holding) == 1 and holding[0].span == window and ctx.body(node, holding[0].number) is not None


def _starts_with_window(holding: Sequence[timeline_rows.Piece], window: times.Interval) -> bool:
    """True if a version holds at the start of a window."""
    return bool(holding) and holding[0].span.start == window.start


def _window(ctx: context.Context, command: cmd.Revise | cmd.Reassert, node: int) -> times.Interval:
    """The window that a statement about a lineage takes."""
    begins = ctx.now if command.valid_from is None else command.valid_from
    if command.valid_to is not None:
        return times.checked_interval(begins, command.valid_to, given=command.valid_from is not None)
    if isinstance(command, cmd.Revise) and command.replace_later:
        hole = windows.hole_at(ctx.draft, node, times.FOREVER - 1)
        return times.Interval(begins, times.FOREVER if hole is None else max(begins, hole.span.start))
    return windows.window_of(ctx.draft, node, begins)


def _write_revision(
    ctx: context.Context,
    command: cmd.Revise,
    details: int,
    node: int,
    window: times.Interval,
    holding: Sequence[timeline_rows.Piece],
    newest: blobs.Body | None,
) -> draft.Decision:
    """Write a new version of a lineage in a window, which the versions in ``holding`` lose.

    ``newest`` is the text of the newest version. If the preceding text was erased, the command gives the whole text.
    """
    row = ctx.tables.node(node)
    number = holding[0].number if _starts_with_window(holding, window) else 0
    number = number or _version_at(ctx, node, window.start)
    if not number and not window.is_empty:
        _note_containers_joined_later(ctx, node, window.start)
    told, number = newest, number or row.versions
    if number != row.versions:
        told = ctx.body(node, number)
        number = number if told is not None else row.versions
    before = told or newest or blobs.Body(b"", "", "", "")
    kept = ctx.properties_of(node, number)
    properties = artifact.keep_artifacts(command.properties, kept) if command.properties else kept
    if properties != command.properties:
        details = ctx.draft.with_properties(details, properties)
    name = before.name if command.name is None else command.name
    content = before.content if command.content is None else command.content
    text = WorldText(before.type if command.type is None else command.type, name, content)
    stated = draft.stated_ends(command.valid_from, command.valid_to)
    if (command.type, command.name, command.content) == (None, None, None) and _starts_with_window(holding, window):
        # The text is the same with other properties: the start stays stated, or not, as it was.
        same = ctx.tables.version(node, holding[0].number)
        if same.valid_from == window.start and not windows.is_start_stated(ctx.draft, same):
            stated = stated & ~ev.START_STATED or ev.DEFAULTED
    return write_version(ctx, node, details, window, holding, text, stated)


def write_version(
    ctx: context.Context,
    node: int,
    details: int,
    window: times.Interval,
    holding: Sequence[timeline_rows.Piece],
    text: WorldText,
    stated: int,
) -> draft.Decision:
    """Write a version in a window, which the versions in ``holding`` lose."""
    row = ctx.tables.node(node)
    if ctx.scopes.any_closed and (before := ctx.text(node)) is not None and before.type != text.type:
        for container in ctx.containers(node):
            relation_laws.refuse_type(ctx, ctx.scopes, text.type, container)
    position = ctx.draft.add_body(text.type, text.name, text.content)
    if window.is_empty:
        ctx.note("revision_never_valid", row.lineage)
    elif windows.displaces_later_version(ctx.draft, node, window, holding):
        ctx.note("later_never_valid", row.lineage)
    is_settled = windows.is_covered(holding, window) and not supersession.replaces_from(ctx, node, window.start)
    is_joined = not is_settled and supersession.is_joined(ctx, node)
    began = not is_joined or window.is_empty or supersession.has_begun_by(ctx, node, window.start)
    if not window.is_empty and any(True for _ in supersession.derived_edges(ctx, node)):
        _note_derived_worlds(ctx, node, window, holding, text)
    windows.lose(ctx.draft, node, window, b"", holding)
    if not began:
        supersession.end_predecessors(ctx, node, window.start, row.lineage)
    ctx.draft.emit(ev.Revised(row.lineage, position, details, window.start, window.end, stated))
    if is_joined:
        supersession.settle(ctx, node)
    return draft.Decision(row.lineage, position)


def _note_derived_worlds(
    ctx: context.Context,
    node: int,
    window: times.Interval,
    holding: Sequence[timeline_rows.Piece],
    text: WorldText,
) -> None:
    """Note the worlds derived from a lineage whose text is about to change in a window."""
    before = {number for _, number in holding} or {
        _version_at(ctx, node, window.start) or ctx.tables.node(node).versions
    }
    bodies = [ctx.body(node, number) for number in before]
    if any(body is None or (body.type, body.name, body.content) != text for body in bodies):
        supersession.note_derived(ctx, node)


def _note_containers_joined_later(ctx: context.Context, node: int, begins: int) -> None:
    """Note the containers that a lineage joined later than it now begins: before that, it is not visible in them."""
    placed: dict[int, int] = {}
    for edge in ctx.edges(node, CONTAINS, incoming=True):
        placed[edge.source] = min(edge.valid_from, placed.get(edge.source, edge.valid_from))
    others = [ctx.lineage(each) for each, since in placed.items() if since > begins and each != ROOT_NODE]
    if others:
        ctx.note("outside_before", ctx.lineage(node), *others)


def retire(ctx: context.Context, command: cmd.Retire, details: int) -> draft.Decision:
    at = ctx.now if command.at is None else command.at
    until = times.FOREVER if command.until is None else command.until
    window = times.checked_interval(at, until, given=command.at is not None)
    target = context.node_or_edge_ref(ctx, command.ref)
    if isinstance(target, bytes):
        if command.members:
            raise errors.InputError("members was given for an edge, which has none", "Leave it out")
        _refuse_empty(ctx, window)
        if not ctx.close_edge(target, window.start, window.end):
            ctx.note("already_closed", target)
        return draft.Decision(target)
    if target == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot be retired", "Name a world inside it")
    _refuse_empty(ctx, window)
    ending_nodes = [target, *(_exclusive_members(ctx, target) if command.members else ())]
    for node in ending_nodes:
        end_or_void(ctx, node, window, details)
    supersession.note_touched(ctx, target, [window], {*ending_nodes})
    return draft.Decision(ctx.tables.node(target).lineage)


def _refuse_empty(ctx: context.Context, window: times.Interval) -> None:
    if window.is_empty:
        ctx.refuse("empty_window", "The window to retire it for is empty", "Give a later end")


def end_or_void(ctx: context.Context, node: int, window: times.Interval, details: int) -> None:
    """Make a lineage hold nothing in a window: an end if the window is open, else a hole."""
    if window.end != times.FOREVER:
        ctx.void(node, window, details)
        return
    before = supersession.predecessors_ended_at_start(ctx, node)
    is_called_off = _took_place_of_text(ctx, node, window.start)
    ctx.end(node, window.start, details=details)
    if is_called_off:
        ctx.note("revision_called_off", ctx.lineage(node))
    if before and not windows.holds_ever(ctx.draft, node):
        for earlier in before:
            ctx.note("ends_unreplaced", ctx.lineage(earlier), ctx.lineage(node))


def _took_place_of_text(ctx: context.Context, node: int, at: int) -> bool:
    """True if a version that begins at a time took the place of another text just then."""
    around = windows.pieces_in(ctx.draft, node, times.Interval(at - 1, at + 1))
    bodies = [ctx.body(node, piece.number) for piece in around] if len(around) > 1 else []
    return len({body.content for body in bodies if body is not None}) > 1


def _exclusive_members(ctx: context.Context, world: int) -> list[int]:
    """The members of a world, at any depth, that no world outside of it contains."""
    inside, order = {world}, [world]
    contains = ctx.tables.type_code(CONTAINS)
    assert contains is not None, "the type is built in"
    for node in order:
        for member in ctx.tables.live_targets(node, contains):
            if member not in inside:
                inside.add(member)
                order.append(member)
    shared = [node for node in order[1:] if not inside.issuperset(ctx.containers(node))]
    for node in shared:
        if node in inside:
            inside.discard(node)
            shared += [member for member in ctx.tables.live_targets(node, contains) if member in inside]
    return [node for node in order[1:] if node in inside]


def reassert(ctx: context.Context, command: cmd.Reassert, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    row = ctx.tables.node(node)
    if node == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world never ends", "Name a world inside it")
    window = _window(ctx, command, node)
    holding = windows.pieces_in(ctx.draft, node, window)
    if _starts_with_window(holding, window) or windows.pieces_in(
        ctx.draft, node, times.Interval(window.start, window.start + 1)
    ):
        ctx.refuse(
            "not_ended",
            f"{ids.short(row.lineage)} is valid at {times.format_time(window.start)}: there is nothing to resume",
            "Revise it instead",
        )
    newest = ctx.body(node)
    if newest is None:
        _refuse_erased(ctx, row.lineage)
    again = cmd.Revise(
        ref=row.lineage, content=command.content, valid_from=command.valid_from, valid_to=command.valid_to
    )
    decision = _write_revision(ctx, again, details, node, window, holding, newest)
    ended = [member for member in ctx.targets(node, CONTAINS) if ctx.has_ended(member)]
    if ended:
        ctx.note("members_ended", row.lineage, *(ctx.lineage(member) for member in ended[: supersession.MAX_TOLD]))
    return decision


def alias(ctx: context.Context, command: cmd.Alias, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    lineage = ctx.tables.node(node).lineage
    if ctx.body(node) is None:
        _refuse_erased(ctx, lineage)
    given = draft.new_aliases(command.aliases, ctx.aliases(node))
    if ctx.tables.node(node).aliases + len(given) > limits.MAX_ALIASES:
        ctx.refuse(
            "too_many_aliases",
            f"{ids.short(lineage)} would have more than {limits.MAX_ALIASES} aliases",
            "Give fewer names",
        )
    for position in given:
        ctx.draft.emit(ev.Named(lineage, details, position))
    return draft.Decision(lineage)


def restate(ctx: context.Context, command: cmd.Restate, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    lineage = ctx.tables.node(node).lineage
    if node == ROOT_NODE:
        ctx.refuse(
            "root_is_permanent",
            "The root world has no text to restate",
            "Name a world inside it",
        )
    if ctx.body(node) is None:
        _refuse_erased(ctx, lineage)
    now = ctx.draft.ingest_time
    seen = asof.version_at(ctx.tables, node, asof.Moment(ctx.draft.seq, now))
    # A version that begins later may be restated before it holds.
    seen = seen or asof.newest_version(ctx.tables, node, ctx.draft.seq)
    if seen is None or seen.validity.start >= seen.validity.end or (seen.validity.end <= now and not _is_whole(seen)):
        ctx.refuse(
            "holds_no_more",
            f"{ids.short(lineage)} has no valid version now, so there is nothing to restate",
            "Reassert it, or create another",
        )
    ctx.draft.emit(ev.Restated(lineage, seen.number, details))
    return draft.Decision(lineage)


def _is_whole(seen: asof.SeenVersion) -> bool:
    """True if a version still holds in the whole window that it was written with, whose end was stated."""
    return bool(seen.row.stated & ev.END_STATED) and not seen.row.closed


def unalias(ctx: context.Context, command: cmd.Unalias, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    lineage = ctx.tables.node(node).lineage
    for text in command.aliases:
        digest = name_digest(text)
        found = [number for number, row in ctx.tables.aliases(node) if row.name == digest and row.removed == LIVE]
        if not found:
            raise errors.UnknownReference(
                f"{ids.short(lineage)} has no alias {text[:80]!r}", "Look at its aliases with show"
            )
        for number in found:
            ctx.draft.emit(ev.Unnamed(lineage, number))
    return draft.Decision(lineage)


def _refuse_erased(ctx: context.Context, lineage: bytes) -> NoReturn:
    ctx.refuse(
        "erased",
        f"The text of {ids.short(lineage)} was erased",
        "Create another, or create this one again under its key with revive",
    )


def move(ctx: context.Context, command: cmd.Move, details: int) -> draft.Decision:
    moved = [context.node_ref(ctx, ref) for ref in command.refs]
    to = context.node_ref(ctx, command.to)
    out_of = None if command.out_of is None else context.node_ref(ctx, command.out_of)
    begins = ctx.now if command.valid_from is None else command.valid_from
    end = times.FOREVER if command.valid_to is None else max(begins, command.valid_to)
    leaving = {node: _container_to_leave(ctx, node, out_of, times.Interval(begins, end)) for node in moved}
    if command.valid_to is not None:
        window = times.checked_interval(begins, command.valid_to, given=command.valid_from is not None)
        if window.is_empty:
            ctx.refuse("empty_window", "The window for the membership is empty", "Give a later end")
        for node, (_, edges) in leaving.items():
            ctx.link(to, CONTAINS, node, valid_from=window.start, valid_to=window.end, details=details)
            for edge in edges:
                ctx.close_edge(edge, window.start, window.end)
        return draft.Decision(ctx.tables.node(moved[0]).lineage)
    for node, (_, edges) in leaving.items():
        ctx.link(to, CONTAINS, node, valid_from=command.valid_from, details=details)
        for edge in edges:
            ctx.unlink(edge)
        if command.valid_from is None or to == ROOT_NODE:
            continue
        if supersession.has_begun_by(ctx, node, command.valid_from - 1):
            ctx.note("outside_before", ctx.lineage(node), ctx.lineage(to))
    _carry_edges(ctx, set(moved), {source for source, _ in leaving.values()}, to)
    return draft.Decision(ctx.tables.node(moved[0]).lineage)


def _container_to_leave(
    ctx: context.Context, node: int, out_of: int | None, window: times.Interval
) -> tuple[int, list[bytes]]:
    """The container that a move takes a node out of, and the contains edges that it retracts.

    Without ``out_of`` this is the only container, or the only one that contains the node at some time of the window.
    """
    if node == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot be moved", "Name a world inside it")
    code = ctx.tables.type_code(CONTAINS)
    edges: dict[int, list[bytes]] = {}
    then: dict[int, None] = {}
    for place, row in ctx.tables.incoming(node, code, known_after=ctx.draft.seq):
        edges.setdefault(place.source, []).append(row.edge)
        if asof.edge_validity(ctx.tables, place, row, ctx.draft.seq).overlaps(window):
            then[place.source] = None
    if out_of is not None:
        if out_of not in edges:
            ctx.refuse(
                "not_a_member",
                f"{ctx.shown(node)} is not a member of {ctx.shown(out_of)}",
                "Name a direct container, or leave out_of out",
            )
        return out_of, edges[out_of]
    if len(then) == 1 < len(edges):
        (source,) = then
        return source, edges[source]
    if len(edges) != 1:
        names = [ids.short(ctx.tables.node(source).lineage) for source in edges]
        raise errors.AmbiguousReference(
            f"{ctx.shown(node)} is in {len(edges)} worlds: {', '.join(names)}",
            "Name the one that it leaves as out_of",
            candidates=names,
        )
    return next(iter(edges.items()))


def _carry_edges(ctx: context.Context, moved: set[int], left: set[int], to: int) -> None:
    """Rehome the interior edges whose two ends both move, under new ids; the others stay and are noted."""
    carried: list[bytes] = []
    behind: list[bytes] = []
    contains = ctx.tables.type_code(CONTAINS)
    interior = {}
    for node in moved:
        for place, row in (*ctx.tables.outgoing(node), *ctx.tables.incoming(node, known_after=ctx.draft.seq)):
            if row.unlinked == LIVE and place.type != contains and row.home in left:
                interior[row.edge] = (place, row)
    for edge, (place, row) in interior.items():
        is_identity = ctx.tables.proposal(edge) is not None
        if place.source in moved and row.target in moved and not is_identity:
            ctx.rehome(place, row, to)
            carried.append(edge)
        else:
            behind.append(edge)
    if carried:
        ctx.note("edges_carried", *carried)
    if behind:
        ctx.note("edges_left_behind", *behind)


class ConcurrentChanges:
    """Optimistic concurrency: refuses commands that rest on what others changed since the caller's look.

    The caller reads again and decides anew. A restated world must have the same text, containers and marks as at the
    look, and the ends of a new edge the same texts. A text that is created without a key must not have been written by
    another request in the same world. A new container must not have arrived in a bundle.
    """

    def __init__(self, ctx: context.Context, look: inputs.Look) -> None:
        self._ctx = ctx
        self._look = look
        self._head = ctx.draft.head.seq
        self._written: set[int] | None = None
        self._placed: set[int] = set()
        """Worlds that were found unchanged, and to lie where they lay: what several rest on is looked at once."""
        self._imported: set[int] = set()
        if look.whole and self._head != look.seq:
            self._refuse("changed_meanwhile", "Another write was committed")
        if not all(self._is_unchanged(ref, is_placed=True) for ref in look.rests_on):
            self._refuse("changed_meanwhile", "Another write changed what it rests on, or where that lies")
        if not all(map(self._has_its_hash, look.unchanged)):
            self._refuse("changed_meanwhile", "A world that must be unchanged, or its interior, was changed")
        if any(map(self._is_erased, look.texts)):
            self._refuse("changed_meanwhile", "A text that it was made from was erased")
        if any(map(self._is_retained, look.free)):
            self._refuse("changed_meanwhile", "A world that it would change was pinned or published")

    def refuse(self, command: cmd.Command) -> None:
        """Refuse a command that rests on a concurrent change."""
        match command:
            case _ if self._look.only_these:
                pass
            case cmd.Restate() if not self._is_unchanged(command.ref, is_placed=True):
                self._refuse("changed_meanwhile", "Another write changed its text or its containers")
            case cmd.Link() if not all(map(self._is_unchanged, (command.source_ref, command.target_ref))):
                self._refuse("changed_meanwhile", "Another write changed the text of one end of the edge")
            case cmd.Create(key=None) if (
                command.content and self._head > self._look.seq and self._is_already_said(command)
            ):
                self._refuse("said_meanwhile", "Another write states the same in the same world")
            case cmd.Create(content="", resolve=False, revive=True) if (
                self._head > self._look.seq and self._came_in_bundle(command)
            ):
                self._refuse("said_meanwhile", "A bundle brought a world of this type and name")
            case _:
                pass

    def _refuse(self, code: str, reason: str) -> NoReturn:
        self._ctx.refuse(code, f"{reason} since commit {self._look.seq}", "Read again, and decide by what holds now")

    def _is_unchanged(self, ref: cmd.Ref, *, is_placed: bool = False) -> bool:
        if isinstance(ref, int):
            return True
        ctx, head, seq = self._ctx, self._head, self._look.seq
        node = context.node_ref(ctx, ref)
        now, then = asof.Moment(head, ctx.now), asof.Moment(seq, self._look.valid)
        passed = self._placed if is_placed else set[int]()
        above = [] if node == ROOT_NODE or node in passed else [node]
        passed.update(above)
        for each in above:
            one, other = (asof.version_at(ctx.tables, each, moment) for moment in (now, then))
            if self._is_erased(ctx.lineage(each)) or (one and one.number) != (other and other.number):
                return False
            if is_placed:
                placed = [(place.source, row) for place, row in self._containing_edges(each)]
                if any(seq < commit <= head for _, row in placed for commit in (row.seq, row.closed, row.unlinked)):
                    return False
                further = {source for source, _ in placed} - passed - {ROOT_NODE}
                passed |= further
                above += sorted(further)
        return not is_placed or self._hidden_state(node, head) == self._hidden_state(node, seq)

    def _has_its_hash(self, ref: cmd.Ref) -> bool:
        """True if a world, with all that it contains, has the hash that it had at the look."""
        tables, node = self._ctx.tables, context.node_ref(self._ctx, ref)
        now, then = (tables.hash_row(node, seq) for seq in (self._head, self._look.seq))
        return now is not None and then is not None and now[1][: ids.HASH_BYTES] == then[1][: ids.HASH_BYTES]

    def _is_erased(self, ref: cmd.Ref) -> bool:
        """True if texts of a world were erased since the look."""
        erasure = erasure_of(self._ctx.tables, context.node_ref(self._ctx, ref))
        return erasure is not None and self._look.seq < erasure.seq <= self._head

    def _is_retained(self, ref: cmd.Ref) -> bool:
        """True if a world is pinned now, or published."""
        from worlddb.projections.tables.dream import retention

        tables, node = self._ctx.tables, context.node_ref(self._ctx, ref)
        return mark_rows.is_pinned(tables, node, self._head) or (
            not self._look.published and retention.is_published(tables, node, self._head)
        )

    def _hidden_state(self, node: int, seq: int) -> tuple[int | None, bool]:
        """What hides a world as known at a commit: its deadline, and whether it is deprecated."""
        deadline = mark_rows.deadline_at(self._ctx.tables, node, seq)
        return None if deadline is None else deadline.at, mark_rows.is_deprecated(self._ctx.tables, node, seq)

    def _containing_edges(self, node: int) -> Iterator[tuple[EdgePlace, EdgeRow]]:
        """The edges by which worlds contain a node now, or contained it at the look."""
        tables = self._ctx.tables
        return tables.incoming(node, tables.type_code(CONTAINS), known_after=self._look.seq, known_by=self._head)

    def _is_already_said(self, command: cmd.Create) -> bool:
        ctx = self._ctx
        home = ROOT_NODE if command.world is None else context.node_ref(ctx, command.world)
        for node in self._worlds_written_since():
            said = ctx.body(node) if home in ctx.containers(node) else None
            if said is not None and (said.type, said.name, said.content) == (
                command.type,
                command.name,
                command.content,
            ):
                return True
        return False

    def _came_in_bundle(self, command: cmd.Create) -> bool:
        """True if a world of the same type and name arrived in a bundle, inside the world of the command."""
        ctx = self._ctx
        home = ROOT_NODE if command.world is None else context.node_ref(ctx, command.world)
        self._worlds_written_since()
        held = ((node, ctx.body(node)) for node in self._imported)
        return any(
            said is not None and (said.type, said.name) == (command.type, command.name) and ctx.inside(node, home)
            for node, said in held
        )

    def _worlds_written_since(self) -> set[int]:
        """The worlds that were created, revised or put into a container since the look; caches those from bundles."""
        if self._written is None:
            ctx, self._written = self._ctx, set()
            since = range(self._look.seq + 1, self._head + 1)
            if len(since) > MAX_READ_BACK or any(
                ctx.draft.log.header(seq).event_count > MAX_READ_BACK for seq in since
            ):
                self._refuse("said_meanwhile", "Too much was written since to read through")
            for seq in since:
                written, is_import = set[int](), False
                for event in ctx.draft.log.events(seq).events:
                    is_import |= isinstance(event, ev.Imported)
                    lineage = event.lineage if isinstance(event, ev.Created | ev.Revised) else None
                    if isinstance(event, ev.Linked) and event.type == CONTAINS:
                        lineage = event.target
                    node = None if lineage is None else ctx.tables.node_of(ids.Lineage(lineage))
                    written |= set() if node is None else {node}
                self._written |= written
                self._imported |= written if is_import else set()
        return self._written
