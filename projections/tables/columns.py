"""The rows of new worlds and of new edges, made many at once, column by column, with the loops in C.

A load and a replay spend most of their time on these two. There is no other way that such rows are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from worlddb.log.model import events as ev
from worlddb.projections.tables.blocks import UNNAMED_TYPES, put_first_names
from worlddb.projections.tables.names import NO_NAME, NO_TYPE, name_digest, type_digest
from worlddb.projections.tables.schema import EDGE, EDGE_KEY, LIVE, U64, U64_U64, VERSION, VERSION_KEY
from worlddb.projections.tables.tables import Tables

if TYPE_CHECKING:
    from worlddb.projections.tables.owed import CommitBlobs

Alias = tuple[int, bytes, str]
"""A further name of a new world: its node, the name's digest, and the name."""

Edge = tuple[ev.Linked, int, int, int, int]
"""A new edge with its type, source, target and home as numbers."""


def put_worlds(
    tables: Tables,
    blobs: CommitBlobs,
    seq: int,
    events: Sequence[ev.Created],
    nodes: range,
    aliases: Sequence[Alias],
) -> None:
    """Put the rows of new lineages, but for those of the ``nodes`` table."""
    lineages, positions, details, begins, ends, _ = zip(*map(astuple, events), strict=True)
    ids = list(map(blobs.blob_id, positions))
    bodies = list(map(blobs.body, positions))
    names = [NO_NAME if body is None else name_digest(body.name) for body in bodies]
    types = [NO_TYPE if body is None else type_digest(body.type) for body in bodies]
    numbers = list(map(U64.pack, nodes))
    tables.lineages.put_new(list(lineages), numbers)
    versions = map(VERSION.pack, ids, repeat(seq), begins, ends, repeat(0), positions, details, names, types)
    tables.versions.put_new(list(map(VERSION_KEY.pack, nodes, repeat(1))), versions)
    first_seen = repeat(U64.pack(seq))
    named = [name + number for name, number in zip(names, numbers, strict=True) if name != NO_NAME]
    named += [digest + U64.pack(node) for node, digest, _ in aliases if digest != NO_NAME]
    tables.names.put_new(list(dict.fromkeys(named)), first_seen)
    typed = [kind + number for kind, number, body in zip(types, numbers, bodies, strict=True) if body is not None]
    tables.types.put_new(typed, first_seen)
    known = [body is not None and body.type not in UNNAMED_TYPES for body in bodies]
    texts = [body.name for body in compress(bodies, known) if body]
    others = [U64.pack(node) for node, _, _ in aliases]
    put_first_names(tables, chain(compress(numbers, known), others), chain(texts, [text for _, _, text in aliases]))


def put_edges(tables: Tables, seq: int, edges: Sequence[Edge], numbers: range) -> None:
    """Put the rows of new edges."""
    events, codes, sources, targets, homes = zip(*edges, strict=True)
    (
        ids,
        _,
        _,
        source_versions,
        _,
        target_versions,
        _,
        begins,
        until,
        details,
        nonces,
        keyed,
        handler_versions,
    ) = zip(*map(astuple, events), strict=True)
    places = list(map(EDGE_KEY.pack, sources, codes, numbers))
    rows = map(
        EDGE.pack,
        ids,
        targets,
        homes,
        source_versions,
        target_versions,
        repeat(seq),
        repeat(LIVE),
        begins,
        until,
        repeat(0),
        details,
        handler_versions,
    )
    tables.out.put_new(places, rows)
    tables.back.put_new(list(map(EDGE_KEY.pack, targets, codes, numbers)), map(U64_U64.pack, sources, repeat(LIVE)))
    tables.edges.put_new(list(ids), places)
    if any(keyed):
        unique = [(nonce, place) for nonce, place, only in zip(nonces, places, keyed, strict=True) if only]
        tables.edge_keys.put_new([nonce for nonce, _ in unique], [place for _, place in unique])
