"""Forensic diff: which worlds differ between two stores, and which events made them differ.

It descends from the roots only where hashes differ (paper §2.1), and finds what lies outside the world hash
(validity, aliases, identity) from the events after the point where the two logs part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES, short
from worlddb.log.model.trie import difference
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.asof import newest_version
from worlddb.projections.tables.schema import ROOT_NODE
from worlddb.projections.tables.settle import roots_of
from worlddb.projections.tables.tables import Tables
from worlddb.query.journal import Entry, journal
from worlddb.query.snapshot import Reader, Snapshot

MAX_INHERITED = 100
"""How many events of its members a container lists."""

_NOW = 2**64 - 1


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One world that differs.

    ``path`` are the names from the root down, joined by ``/``. ``change`` is ``added``, ``removed``, ``revised``,
    ``members``, ``edges`` (of the world's own interior), or ``outside`` for what its hash does not cover. ``a`` and
    ``b`` are the world hashes on either side, empty where it does not exist. ``events`` name the commits that did it.
    """

    path: str
    ref: str
    change: str
    a: str
    b: str
    events: tuple[dict[str, Any], ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer. ``parted`` is the last commit that both logs share; ``visited`` counts the worlds read."""

    equal: bool
    related: bool
    parted: int
    seq_a: int
    seq_b: int
    root_a: str
    root_b: str
    visited: int
    worlds: tuple[Change, ...]


class _Side(NamedTuple):
    label: str
    snapshot: Snapshot
    events: dict[str, list[Entry]]


def diff(a: Reader, b: Reader, world: str | None = None) -> Difference:
    """What differs between the heads of two stores, below ``world`` (a full lineage in hex) if one is given."""
    with a.snapshot() as left, b.snapshot() as right:
        parted = last_common(left.log, right.log)
        ends = left.log.head().seq, right.log.head().seq
        sides = (
            _Side("a", left, _by_ref(a, parted, ends[0])),
            _Side("b", right, _by_ref(b, parted, ends[1])),
        )
        if world is None:
            starts = [side.snapshot.tables.node(ROOT_NODE).lineage for side in sides]
        else:
            starts = [bytes.fromhex(world)] * 2
        walk = _Walk(sides)
        # Strangers have different root worlds: one is only in a, the other only in b.
        worlds = walk.with_causes([change for start in dict.fromkeys(starts) for change in walk.descend(start)])
        if world is None and parted:
            listed = {change.ref for change in worlds}
            worlds.extend(walk.outside(listed))
        roots = [_hash(side.snapshot.tables, start) for side, start in zip(sides, starts, strict=True)]
    return Difference(
        equal=not worlds,
        related=parted > 0,
        parted=parted,
        seq_a=ends[0],
        seq_b=ends[1],
        root_a=roots[0].hex(),
        root_b=roots[1].hex(),
        visited=walk.visited,
        worlds=tuple(worlds),
    )


def last_common(one: LmdbLog, other: LmdbLog) -> int:
    """The last commit that two logs share, found by halving: equal chain hashes mean equal histories."""
    low, high = 0, min(one.head().seq, other.head().seq)
    while low < high:
        middle = (low + high + 1) // 2
        if one.chain(middle) == other.chain(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _by_ref(reader: Reader, after: int, last: int) -> dict[str, list[Entry]]:
    """Events after the point where the logs part, by every world and edge that they name."""
    found: dict[str, list[Entry]] = {}
    for entry in journal(reader, after + 1, last):
        for ref in dict.fromkeys(entry.refs):
            found.setdefault(ref, []).append(entry)
    return found


class _Walk:
    """Descends two stores together. Depth costs no stack."""

    def __init__(self, sides: tuple[_Side, _Side]) -> None:
        self._sides = sides
        self._above: dict[str, list[str]] = {}
        self.visited = 0

    def descend(self, start: bytes) -> Iterator[Change]:
        pending: list[tuple[bytes, str]] = [(start, "")]
        seen: set[bytes] = set()
        while pending:
            lineage, above = pending.pop()
            left, right = (_hash(side.snapshot.tables, lineage) for side in self._sides)
            if left == right or lineage in seen:
                continue
            seen.add(lineage)
            self.visited += 1
            path = f"{above}/{self._name(lineage)}".lstrip("/")
            yield self._change(lineage, path, left, right)
            if left and right:
                below = list(self._differing_members(lineage))
                for member in below:
                    self._above.setdefault(member.hex(), []).append(lineage.hex())
                pending.extend((member, path) for member in reversed(below))

    def with_causes(self, changes: list[Change]) -> list[Change]:
        """A world that differs through its members is given the events that changed those."""
        causes = {change.ref: list(change.events) for change in changes}
        for change in changes:
            for ref in self._containing(change.ref) if change.events else ():
                room = MAX_INHERITED - len(causes[ref])
                if room > 0:
                    causes[ref].extend([event for event in change.events if event not in causes[ref]][:room])
        return [msgspec.structs.replace(change, events=tuple(causes[change.ref])) for change in changes]

    def _containing(self, ref: str) -> Iterator[str]:
        """The differing worlds that contain one, at any distance; a world may be in several."""
        seen, pending = {ref}, [ref]
        while pending:
            for above in self._above.get(pending.pop(), ()):
                if above not in seen:
                    seen.add(above)
                    pending.append(above)
                    yield above

    def outside(self, listed: set[str]) -> Iterator[Change]:
        """Worlds that events named after the parting and whose hashes agree all the same."""
        refs = dict.fromkeys(ref for side in self._sides for ref in side.events if len(ref) == 2 * LINEAGE_BYTES)
        for ref in refs:
            lineage = bytes.fromhex(ref)
            hashes = [_hash(side.snapshot.tables, lineage) for side in self._sides]
            told = [[(e.event, e.data) for e in side.events.get(ref, [])] for side in self._sides]
            kinds = {"closed", "ended", "named", "unnamed", "edge_closed", "proposed", "decided", "erased"}
            if ref in listed or hashes[0] != hashes[1] or told[0] == told[1]:
                continue
            if any(event in kinds for side in told for event, _ in side):
                yield self._changed(lineage, self._name(lineage), "outside", hashes[0], hashes[1])

    def _change(self, lineage: bytes, path: str, left: bytes, right: bytes) -> Change:
        if not left or not right:
            return self._changed(lineage, path, "removed" if left else "added", left, right)
        rows = [side.snapshot.tables.node(_node(side, lineage)) for side in self._sides]
        if rows[0].body != rows[1].body:
            return self._changed(lineage, path, "revised", left, right)
        members = [self._roots(side, lineage)[0] for side in self._sides]
        kind = "members" if members[0] != members[1] else "edges"
        return self._changed(lineage, path, kind, left, right)

    def _changed(self, lineage: bytes, path: str, kind: str, left: bytes, right: bytes) -> Change:
        events = tuple(
            {
                "side": side.label,
                "seq": entry.seq,
                "index": entry.index,
                "event": entry.event,
                "author": entry.author,
                "ingested_at": entry.ingested_at,
                "why": entry.why,
            }
            for side in self._sides
            for entry in side.events.get(lineage.hex(), [])
        )
        return Change(path=path, ref=lineage.hex(), change=kind, a=left.hex(), b=right.hex(), events=events)

    def _differing_members(self, lineage: bytes) -> Iterator[bytes]:
        left, right = (side.snapshot.tables.members(_node(side, lineage)).nodes for side in self._sides)
        for member, _, _ in difference(left, right, LINEAGE_BYTES, HASH_BYTES):
            yield member

    def _roots(self, side: _Side, lineage: bytes) -> tuple[bytes, bytes]:
        found = side.snapshot.tables.hash_row(_node(side, lineage), _NOW)
        assert found is not None
        return roots_of(found[1])

    def _name(self, lineage: bytes) -> str:
        for side in self._sides:
            node = side.snapshot.tables.node_of(lineage)
            seen = None if node is None else newest_version(side.snapshot.tables, node, _NOW)
            body = None if seen is None else side.snapshot.body(seen.row)
            if body is not None:
                return body.name or short(lineage)
        return short(lineage)


def _node(side: _Side, lineage: bytes) -> int:
    node = side.snapshot.tables.node_of(lineage)
    assert node is not None
    return node


def _hash(tables: Tables, lineage: bytes) -> bytes:
    """The world hash at the head; empty if the lineage does not exist."""
    node = tables.node_of(lineage)
    found = None if node is None else tables.hash_row(node, _NOW)
    return b"" if found is None else found[1][:HASH_BYTES]
