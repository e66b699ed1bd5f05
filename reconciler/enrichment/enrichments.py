"""Find segments that are due for an enrichment, and make the commands that store the answers.

An enrichment lies inside its segment, is ``derived_from`` it and from the segments around it that it rests on, and
holds from when its segment began to hold. It lists the bodies that it was made of: it counts where all of them are
still what they were (:mod:`worlddb.query.enrichment.inferred`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.projections.tables.consolidation import interior_witness as witness
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.consolidation.summaries import ReadState, marks_at
from worlddb.reconciler.enrichment.enricher import Enrichment, Segment

ENRICHER: Final = "enricher"
"""The field of an enrichment's source that names its enricher."""
_DERIVED_FROM: Final = "derived_from"


class Due(NamedTuple):
    """A segment without a fresh enrichment, and the segments around it; ``window`` includes itself.

    ``bodies`` are the hashes of their bodies by reference. ``own`` is the enrichment that it has or had, ``linked``
    that one's edges to what it was made of, by their targets.
    """

    segment: Segment
    window: tuple[Segment, ...]
    bodies: Mapping[str, str]
    own: bytes
    is_erased: bool
    linked: Mapping[bytes, bytes]
    seq: int


def runs(tables: rows.Tables, moment: asof.Moment, types: Sequence[str]) -> Iterator[list[int]]:
    """The segments of some types that lie one after another in a world, at a moment; each in the first such world."""
    digests = frozenset(map(type_digest, types))
    members: dict[int, list[int]] = {}
    known: set[int] = set()
    nodes = range(schema.ROOT_NODE, tables.progress().next_node)
    for place, row in tables.between(nodes, schema.CONTAINS_CODE, None, known_by=moment.seq):
        if row.target not in known and asof.edge_seen(tables, place, row, moment):
            seen = asof.version_at(tables, row.target, moment)
            if seen is not None and seen.row.type in digests:
                known.add(row.target)
                members.setdefault(place.source, []).append(row.target)
    yield from (members[each] for each in sorted(members))


def due_enrichment(
    read: ReadState, run: Sequence[int], place: int, around: tuple[int, int], maker: str, *, is_free: bool
) -> Due | None:
    """The due segment at a place of a run; ``None`` if it has no text, or has a fresh enrichment.

    An enrichment by another enricher is replaced, unless this one is free. ``around`` counts segments before and after.
    """
    tables, moment = read.ctx.tables, read.moment
    said = _segment(read, run[place])
    if said is None or not said[0].content.strip():
        return None
    segment = said[0]
    node = witness.enrichment_node(tables, read.secret, run[place])
    if node is not None:
        number = tables.node(node).versions
        properties, stored = read.ctx.properties_of(node, number), read.ctx.body(node)
        by = (read.ctx.source(node, number) or {}).get(ENRICHER)
        if (
            stored is not None
            and witness.is_as_made(tables, moment, witness.made_of(properties))
            and (by == maker or is_free)
        ):
            return None
    before, after = around
    shown = run[max(0, place - before) : place + after + 1]
    window_or_none = [said if each == run[place] else _segment(read, each) for each in shown]
    window = [each for each in window_or_none if each is not None]
    linked: dict[bytes, bytes] = {}
    for edge in () if node is None else read.ctx.edges(node, _DERIVED_FROM):
        linked[read.ctx.lineage(edge.target)] = edge.id
    return Due(
        segment,
        tuple(each for each, _ in window),
        {each.ref: body for each, body in window},
        b"" if node is None else read.ctx.lineage(node),
        node is not None and read.ctx.body(node) is None,
        linked,
        moment.seq,
    )


def _segment(read: ReadState, node: int) -> tuple[Segment, str] | None:
    """A segment as the enricher gets it, and the hash of its body; ``None`` if it is hidden or erased."""
    ctx, moment = read.ctx, read.moment
    seen = asof.version_at(ctx.tables, node, moment)
    body = None if seen is None else ctx.body(node, seen.number)
    marks = marks_at(ctx.tables, moment)
    if seen is None or body is None or (marks is not None and marks.hides(node)):
        return None
    shown = Segment(ctx.lineage(node).hex(), body.type, body.name, body.content, seen.validity.start)
    return shown, seen.row.body.hex()


def commands_of(each: Due, enrichment: Enrichment, maker: str, at: int) -> list[cmd.Command]:
    """The commands that store the enrichment of a segment, from position ``at`` of a request on."""
    used = [each.segment.ref, *(enrichment.used if enrichment.used is not None else (one.ref for one in each.window))]
    bases = list(dict.fromkeys(used))
    properties = {name: value for name, value in msgspec.to_builtins(enrichment).items() if value and name != "used"}
    segment = bytes.fromhex(each.segment.ref)
    key = witness.enrichment_key(segment)
    version: dict[str, Any] = {
        "content": "\n".join(enrichment.lines) or enrichment.embedding_text,
        "properties": properties | {witness.MADE_OF: [[ref, each.bodies[ref]] for ref in bases]},
        "source": {"by": witness.ENRICH_AUTHOR, ENRICHER: maker},
        "valid_from": each.segment.since,
        "why": "what a text means, told from those around it",
    }
    enrichment_ref: cmd.Ref = each.own or at
    if not each.own or each.is_erased:
        creation: dict[str, Any] = {
            "type": witness.ENRICHMENT,
            "name": "",
            "world": segment,
            "key": key,
            "resolve": False,
        }
        commands: list[cmd.Command] = [cmd.Create(**creation, revive=each.is_erased, **version)]
    else:
        commands = [cmd.Revise(ref=each.own, **version)]
    base_refs = {bytes.fromhex(ref) for ref in bases}
    commands += (
        cmd.Unlink(edge=edge, why="it rests on that no more") for to, edge in each.linked.items() if to not in base_refs
    )
    commands += (
        cmd.Link(
            source_ref=enrichment_ref,
            type=_DERIVED_FROM,
            target_ref=base,
            home=segment,
            key=f"{key}/{base.hex()}",
            valid_from=each.segment.since,
        )
        for base in map(bytes.fromhex, bases)
        if base not in each.linked
    )
    return commands


def refs_of(some: Sequence[Due]) -> tuple[bytes, ...]:
    """The segments that enrichments rest on, which must be unchanged when these are written."""
    return tuple(bytes.fromhex(shown.ref) for each in some for shown in each.window)
