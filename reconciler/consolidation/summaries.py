"""Find worlds that are due for a summary, build the summarizer's input, and make the commands that store its answer.

A summary lies inside its world and holds from the run on. It is ``derived_from`` the direct members of the world and
the summaries whose texts stand for them. Its witness records what it was made of: see
:mod:`worlddb.projections.tables.consolidation.interior_witness`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.beliefs import atoms
from worlddb.log.model import ids, limits
from worlddb.projections.indexes import composition
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.consolidation import interior_witness as witness
from worlddb.projections.tables.forks import fork_rows
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.consolidation.summarizer import Member
from worlddb.reconciler.transaction import context

if TYPE_CHECKING:
    from worlddb.projections.indexes.composition import Anchors

MAX_MEMBERS: Final = 4_096
"""A world that contains more directly gets no summary: its edges to all of them would be one commit."""
DETAILS: Final = "details"
"""The property of a summary that counts what its world contains directly."""
_DERIVED_FROM: Final = "derived_from"
_NAMED: Final = "Summary of "


class ReadState(NamedTuple):
    """What a step reads from, as of one commit and a valid time, inside one read transaction."""

    ctx: context.Context
    moment: asof.Moment
    secret: bytes
    anchors: "Anchors | None"
    """The vectors of texts, where there are any."""
    interiors: witness.Interiors
    """What worlds contain, at that moment."""


class Due(NamedTuple):
    """A world without a fresh summary, and the material for one."""

    world: Member
    members: tuple[Member, ...]
    witness: str
    summary: bytes
    """The reference of its present or former summary; empty if there never was one."""
    erased: bool
    """True if the text of the summary was erased."""
    linked: dict[bytes, bytes]
    """The edges from the summary to what it was derived from, by their targets."""
    member_summaries: tuple[bytes, ...]
    """The summaries whose texts stand for members."""
    has_ended: bool
    """True if the summary is not valid, or there never was one."""


def scope_filter(ctx: context.Context, worlds: Sequence[bytes], moment: asof.Moment) -> Callable[[int], bool]:
    """A test whether a world is one of some worlds or inside one; it is always true if none are named.

    What lies there by way of forks alone is not, beside what they go on from; a fork that is named is.
    """
    tables = ctx.tables
    given = [tables.node_of(ids.Lineage(lineage)) for lineage in worlds]
    has_forks = tables.has_rows("marks") and fork_rows.has_forks(tables)
    if not given and not has_forks:
        return lambda node: True
    known = {node: True for node in given if node is not None} if given else {schema.ROOT_NODE: True}

    def origin(node: int) -> int | None:
        return fork_rows.origin_beside(tables, tables, node, moment, lambda each: True) if has_forks else None

    def holds(node: int) -> bool:
        path, on_path = [node], {node}
        while path:
            current = path[-1]
            if current in known:
                on_path.discard(path.pop())
                continue
            above, beside = ctx.containers(current), origin(current)
            missing = [each for each in above if each not in known]
            if beside is not None and beside not in known and beside not in on_path:
                missing.append(beside)
            if missing:
                path += missing
                on_path.update(missing)
                continue
            is_tried = beside is not None and known.get(beside, False)
            known[path.pop()] = not is_tried and (any(known[each] for each in above) or not (given or above))
            on_path.discard(current)
        return known[node]

    return holds


def levels_by_height(
    tables: rows.Tables, moment: asof.Moment, scope_filter: Callable[[int], bool]
) -> Iterator[list[int]]:
    """The containers at a moment, without the root, by level: first those without a member that is a container.

    Each level is in log order. What a world says in short rests on what its members say so.
    """
    members: dict[int, list[int]] = {}
    nodes = range(schema.ROOT_NODE + 1, tables.progress().next_node)
    for place, row in tables.between(nodes, schema.CONTAINS_CODE, None, known_by=moment.seq):
        if asof.edge_seen(tables, place, row, moment) and scope_filter(place.source):
            members.setdefault(place.source, []).append(row.target)
    height: dict[int, int] = {}
    for start in sorted(members):
        path = [start]
        while path:
            node = path[-1]
            inner = [each for each in members[node] if each in members]
            missing = [each for each in inner if each not in height]
            if missing:
                path += missing
                continue
            path.pop()
            height.setdefault(node, 1 + max((height[each] for each in inner), default=0))
    for level in range(1, max(height.values(), default=0) + 1):
        yield sorted(node for node, high in height.items() if high == level)


def due_summary(read: ReadState, node: int, created_by: int) -> Due | None:
    """The summary that a world is due for; ``None`` if it was created after a time or its summary is fresh."""
    ctx, moment = read.ctx, read.moment
    tables = ctx.tables
    row = tables.node(node)
    valid_version = asof.version_at(tables, node, moment)
    if row.t_create > created_by or valid_version is None or valid_version.row.type == witness.SUMMARY_TYPE:
        return None
    marks = marks_at(tables, moment)
    if marks is not None and marks.hides(node):
        return None
    body = ctx.body(node, valid_version.number)
    interior = read.interiors.of(node)
    summary = witness.summary_node(tables, read.secret, node)
    holds = summary is not None and ctx.body(summary) and asof.version_at(tables, summary, moment) is not None
    if body is None or len(interior.members) > MAX_MEMBERS or not (interior.members or holds):
        return None
    if summary is not None and node not in ctx.containers(summary):
        return None  # Somebody has moved it elsewhere: it is theirs now.
    if summary is not None and is_fresh(read, summary, interior):
        return None
    cosines = _cosines_to_world(read, node, interior.members)
    member_summaries: list[bytes] = []
    members = [_member(read, each, cosines.get(each), member_summaries) for each in interior.members]
    linked: dict[bytes, bytes] = {}
    for edge in () if summary is None else ctx.edges(summary, _DERIVED_FROM):
        linked[ctx.lineage(edge.target)] = edge.id
    return Due(
        Member(row.lineage.hex(), body.type, body.name, body.content, valid_version.validity.start),
        tuple(each for each in members if each is not None),
        interior.witness,
        b"" if summary is None else ctx.lineage(summary),
        summary is not None and ctx.body(summary) is None,
        linked,
        tuple(member_summaries),
        not holds,
    )


def interiors_at(tables: rows.Tables, moment: asof.Moment) -> witness.Interiors:
    """What worlds contain at a moment, without what is hidden then."""
    return witness.Interiors(tables, moment, marks_at(tables, moment))


def marks_at(tables: rows.Tables, moment: asof.Moment) -> witness.Marks | None:
    """The hidden worlds at a moment; ``None`` if no world was ever marked."""
    if not tables.has_rows("marks"):
        return None
    seq, valid = moment

    def hides(node: int) -> bool:
        return mark_rows.is_deprecated(tables, node, seq) or mark_rows.is_hidden(tables, node, seq, valid)

    def deadline(node: int) -> int | None:
        found = mark_rows.deadline_at(tables, node, seq)
        return None if found is None else found.at

    return witness.Marks(hides, deadline, tables)


def is_fresh(read: ReadState, summary: int, interior: witness.Interior) -> bool:
    """True if a summary is valid at the moment and was made from exactly the interior that is valid then."""
    summary_version = asof.version_at(read.ctx.tables, summary, read.moment)
    if summary_version is None or summary_version.row.type != witness.SUMMARY_TYPE:
        return False
    return read.ctx.properties_of(summary, summary_version.number).get(witness.WITNESS) == interior.witness


def _cosines_to_world(read: ReadState, node: int, members: Collection[int]) -> dict[int, float]:
    """The cosine of each member's vector and the composed embedding of the world, where texts have vectors."""
    if read.anchors is None:
        return {}
    tables = read.ctx.tables
    made = composition.Composition(composition.POOLS[composition.ATTENTION])
    made.fill(tables, read.anchors, {node, *members}, read.moment, top=node)
    whole = made.vector(tables, read.anchors, node)
    if whole is None:
        return {}
    vectors = ((each, made.vector(tables, read.anchors, each)) for each in members)
    return {each: round(float((vector * whole).sum()), 4) for each, vector in vectors if vector is not None}


def _member(read: ReadState, node: int, nearness: float | None, source_refs: list[bytes]) -> Member | None:
    """A member as a summarizer gets it, with the text of its own summary if that is fresh.

    The reference of such a summary is appended to ``source_refs``.
    """
    ctx, moment = read.ctx, read.moment
    seen = asof.version_at(ctx.tables, node, moment)
    body = None if seen is None else ctx.body(node, seen.number)
    if seen is None or body is None:
        return None
    content = body.content
    summary = witness.summary_node(ctx.tables, read.secret, node)
    if summary is not None and node in ctx.containers(summary):
        inside = read.interiors.of(node)
        version = asof.version_at(ctx.tables, summary, moment)
        told = None if version is None else ctx.body(summary, version.number)
        if told is not None and is_fresh(read, summary, inside):
            content = f"{content}\n{told.content}" if content else told.content
            source_refs.append(ctx.lineage(summary))
    return Member(ctx.lineage(node).hex(), body.type, body.name, content, seen.validity.start, nearness)


def commands_of(each: Due, text: str, valid: int, by: str, at: int) -> list[cmd.Command]:
    """The commands that store a summary, from position ``at`` of a request on; ``by`` names who made the text.

    The summary of a world that contains nothing any more is retired.
    """
    if not each.members:
        return [cmd.Retire(ref=each.summary, at=valid, why="its world contains nothing now")]
    world = bytes.fromhex(each.world.ref)
    members = [bytes.fromhex(member.ref) for member in each.members]
    bases = [*members, *each.member_summaries]
    key = witness.summary_key(world)
    fields: dict[str, Any] = {
        "content": text,
        "properties": {witness.WITNESS: each.witness, DETAILS: len(members)},
        "source": {"by": witness.AUTHOR, "summarizer": by},
        "valid_from": valid,
        "why": "what its world contains in short",
    }
    summary_ref: cmd.Ref = each.summary or at
    name = _NAMED + each.world.name[: limits.MAX_NAME_BYTES // 4 - len(_NAMED)]
    if not each.summary or each.erased:
        creation: dict[str, Any] = {"type": witness.SUMMARY, "name": name, "world": world, "key": key, "resolve": False}
        commands: list[cmd.Command] = [cmd.Create(**creation, revive=each.erased, **fields)]
    elif each.has_ended:
        claims = {atoms.TYPE: witness.SUMMARY, atoms.TITLE: name, atoms.SUMMARY: fields.pop("content")}
        commands = [cmd.Believe(ref=each.summary, **(fields | {"properties": claims | fields["properties"]}))]
    else:
        commands = [cmd.Revise(ref=each.summary, **fields)]
    removed_edges = [edge for target, edge in each.linked.items() if target not in set(bases)]
    commands += (cmd.Unlink(edge=edge, why="it is a detail no more") for edge in removed_edges)
    commands += (
        cmd.Link(
            source_ref=summary_ref,
            type=_DERIVED_FROM,
            target_ref=base,
            home=world,
            key=f"{key}/{base.hex()}",
            valid_from=valid,
        )
        for base in bases
        if base not in each.linked
    )
    return commands


def checked(text: object) -> str:
    """A summarizer's answer, checked.

    Raises:
        InputError: it is no text, or too long.
    """
    return limits.checked_text(text, "a summary", limits.MAX_CONTENT_BYTES).strip()


def refs_of(some: Iterable[Due]) -> tuple[bytes, ...]:
    """The worlds that summaries rest on, which must be unchanged when these are written."""
    shown = (ref for each in some for ref in (each.world.ref, *(one.ref for one in each.members)))
    return (*map(bytes.fromhex, shown), *(ref for each in some for ref in each.member_summaries))
