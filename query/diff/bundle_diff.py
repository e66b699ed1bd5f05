"""Comparing a bundle with a store, or with another bundle: one world and what it holds.

The store's side is what an export of that world would hold, so that both sides know the same: worlds outside have no
text on either. Everything that a bundle holds is compared, apart from what an import gives anew (commits, the order of
arrival) or cannot keep (who wrote an edge, what was unlinked).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from worlddb.log.model.errors import AmbiguousReference, InputError, UnknownReference
from worlddb.log.model.ids import MIN_PREFIX_DIGITS, short
from worlddb.log.store.bundle_contents import Contents, gathered
from worlddb.query.diff.bundle_facts import apart
from worlddb.query.diff.bundle_side import BundleDescent, BundleSide, BundleSides
from worlddb.query.diff.common_past import SHOWN_EVENTS, LaterEvent, Since, told_by
from worlddb.query.diff.diff_records import Difference
from worlddb.query.diff.field_diff import outside_details
from worlddb.query.diff.world_diff import Walk
from worlddb.query.export.bundle_export import bundle_frames
from worlddb.query.history.journal import journal
from worlddb.query.snapshot.snapshot import SnapshotSource

RELATION: Final = "bundle"
_ERASED: Final = "erased"
_SHOWN: Final = 8
_OTHER_LOG: Final = (
    "At the bundle's commit the store's log is another one than that of the store which the bundle comes from: one of"
    " the two was rewritten, or they grew apart"
)


class StoreMoment(NamedTuple):
    """A store at one of its commits."""

    reader: SnapshotSource
    store_id: bytes
    seq: int


Given = Contents | StoreMoment


def diff_bundles(a: Given, b: Given, world: bytes | str | None) -> Difference:
    """What differs between two sides of which one is a bundle; of all that both hold, or of ``world`` in it.

    Raises:
        UnknownReference: a store does not have the bundle's world, or neither side has ``world``.
        AmbiguousReference: ``world`` is the beginning of several references.
    """
    top = _shared_world(a, b)
    sides = BundleSide("a", _contents(a, top)), BundleSide("b", _contents(b, top))
    start = top if world is None else _named(sides, world)
    parted, notes = _parting(a, b)
    found = apart(sides)
    since = Since([*_by_log(sides, (a, b), parted), *_by_facts(found.told, (a, b), parted)], found.silent)
    outside = outside_details(sides, since)
    for lineage, details in found.details.items():
        outside.setdefault(lineage, []).extend(details)
    walk = Walk(sides, BundleDescent(sides), since, outside)
    walk.descend(start)
    worlds = tuple(walk.changes(start))
    one, other = (side.contents.heading for side in sides)
    return Difference(
        equal=not worlds,
        related=True,
        relation=RELATION,
        parted=parted,
        parted_at=next(each.ingest_time for each in (one, other) if each.seq == parted) if parted else 0,
        seq_a=one.seq,
        seq_b=other.seq,
        time_a=one.ingest_time,
        time_b=other.ingest_time,
        root_a=sides[0].hash(start).hex(),
        root_b=sides[1].hash(start).hex(),
        store_a=one.store_id.hex(),
        store_b=other.store_id.hex(),
        by="hash",
        deep=False,
        worlds_visited=walk.visited,
        trie_nodes_visited=0,
        worlds=worlds,
        altered=(),
        problems=(),
        notes=tuple(notes),
    )


def _shared_world(a: Given, b: Given) -> bytes:
    """The world that is compared: the one that a bundle was made of; of two, the one that lies in the other."""
    bundles = [given for given in (a, b) if isinstance(given, Contents)]
    for bundle in bundles:
        world = bundle.heading.world
        if all(any(group.frame.lineage == world for group in each.worlds) for each in bundles):
            return world
    named = " and ".join(short(bundle.heading.world) for bundle in bundles)
    raise UnknownReference(
        f"The bundles are of two worlds, {named}, and neither lies in the other",
        "Compare bundles of one world",
    )


def _contents(given: Given, world: bytes) -> Contents:
    if isinstance(given, Contents):
        return given
    if not given.seq:
        raise InputError("Nothing had been committed by then", "Compare with a later moment")
    try:
        return gathered(bundle_frames(given.reader, world, given.seq, given.store_id))
    except UnknownReference:
        raise UnknownReference(
            f"The store does not have the bundle's world {world.hex()} at commit {given.seq}",
            "Compare with a later moment, or with the store that it was exported from or imported into",
        ) from None


def _named(sides: BundleSides, world: bytes | str) -> bytes:
    """The world on either side that has a reference, or one that begins so."""
    digits = world if isinstance(world, str) else world.hex()
    worlds = dict.fromkeys(lineage.hex() for side in sides for lineage in side.groups)
    found = [ref for ref in worlds if ref.startswith(digits)] if len(digits) >= MIN_PREFIX_DIGITS else []
    if len(found) > 1:
        raise AmbiguousReference(
            f"{len(found):,} worlds begin with {digits[:40]!r}", "Give more digits", candidates=found[:_SHOWN]
        )
    if not found:
        raise UnknownReference(
            f"Neither side holds a world {digits[:40]!r} in the world of the bundle, {short(sides[0].root())}",
            f"Give at least {MIN_PREFIX_DIGITS} digits of a reference that lies in it, or leave it out",
        )
    return bytes.fromhex(found[0])


def _parting(a: Given, b: Given) -> tuple[int, list[str]]:
    """The bundle's commit, if the store's log has it, too; and what to know otherwise."""
    stores = [given for given in (a, b) if isinstance(given, StoreMoment)]
    if not stores:
        return 0, []
    (store,) = stores
    (heading,) = (given.heading for given in (a, b) if isinstance(given, Contents))
    if heading.store_id != store.store_id or heading.seq > store.seq:
        return 0, []
    with store.reader.snapshot() as snapshot:
        if snapshot.log.chain(heading.seq) == heading.chain:
            return heading.seq, []
    return 0, [_OTHER_LOG]


def _by_log(sides: BundleSides, given: tuple[Given, Given], parted: int) -> Iterator[LaterEvent]:
    """What the store's log says since the bundle was made, of what either side holds."""
    for side, each in zip(sides, given, strict=True):
        if not parted or isinstance(each, Contents):
            continue
        known = {ref.hex() for other in sides for ref in other.refs()}
        for entry in journal(each.reader, parted + 1, each.seq):
            if (entry.event in SHOWN_EVENTS or entry.event == _ERASED) and not known.isdisjoint(entry.refs):
                yield told_by(side, entry, sides)


def _by_facts(told: list[LaterEvent], given: tuple[Given, Given], parted: int) -> Iterator[LaterEvent]:
    """What only one side holds, where no log says so."""
    logged = {label for label, each in zip("ab", given, strict=True) if isinstance(each, StoreMoment) and parted}
    return (each for each in told if each.side not in logged or each.entry.seq <= parted)
