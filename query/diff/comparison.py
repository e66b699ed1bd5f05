"""Compare two stores: how their histories relate, which worlds differ, whether bytes do."""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice

import msgspec

from worlddb.log.model.errors import InputError, UnknownReference, WorldDBError, shown
from worlddb.query.diff import common_past, content_diff, diff_side, field_diff, store_side, stored_bytes, world_diff
from worlddb.query.snapshot.snapshot import SnapshotSource

_STRANGERS = (
    "These stores have no history in common, so they share no hashes; they can be compared by content instead,"
    " matching worlds by path of names or by the keys of importers (--by path, --by key)"
)
_NOT_DEEP = "Hashes, and what no hash covers, were compared; the stored bytes were not (--deep)"
_SAME_WORLDS = "All worlds are equal on both sides, but their histories differ"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The request of a comparison: the world (hex), the commits, and the criterion.

    ``byte by byte`` compares stored records too.

    ``deep`` is ``None`` for "if nothing else differs".
    """

    world: str | None = None
    by: str | None = None
    seq_a: int | None = None
    seq_b: int | None = None
    deep: bool | None = None


def diff(a: SnapshotSource, b: SnapshotSource, asked: Asked) -> diff_side.Difference:
    """Compare two stores, each at a commit (default: its head).

    Raises:
        InputError: nothing had been committed by then, or ``by`` is nothing to compare by.
    """
    if asked.by is not None and asked.by not in content_diff.BY:
        raise InputError(
            f"by is {shown(asked.by)}", f"Give one of: {', '.join(content_diff.BY)}; None compares by hashes"
        )
    reads = [0]
    with a.snapshot() as left, b.snapshot() as right:
        ends = (asked.seq_a, left.log.head().seq), (asked.seq_b, right.log.head().seq)
        seqs = [end if seq is None else seq for seq, end in ends]
        if not all(seqs):
            raise InputError("Nothing had been committed by then", "Compare with a later moment")
        numbers: dict[bytes, int] = {}
        sides = (
            store_side.StoreSide("a", left, seqs[0], reads, numbers),
            store_side.StoreSide("b", right, seqs[1], reads, numbers),
        )
        return compare(sides, asked, lambda: reads[0])


def compare(sides: diff_side.LogSides, asked: Asked, trie_reads: Callable[[], int]) -> diff_side.Difference:
    """Compare any two sides."""
    comparison = _Comparison(sides, asked)
    with comparison.noting_damage():
        comparison.walk()
    with comparison.noting_damage():
        comparison.compare_bytes()
    return comparison.answer(trie_reads())


class _Comparison:
    """A running comparison. Damage ends one part of it and becomes a note; earlier findings stay."""

    def __init__(self, sides: diff_side.LogSides, asked: Asked) -> None:
        self._sides = sides
        self._asked = asked
        self._parted = common_past.last_common(sides)
        self._relation = common_past.relation_of(sides, self._parted)
        self._worlds: list[diff_side.Change] = []
        self._altered: list[diff_side.AlteredRecord] = []
        self._problems: list[str] = []
        self._notes: list[str] = []
        self._deep = False
        self._visited = 0

    @contextmanager
    def noting_damage(self) -> Iterator[None]:
        """Note damage that is met; raise errors of the caller."""
        try:
            yield
        except InputError:
            raise
        except WorldDBError as error:
            self._problems.append(error.message)
        except (struct.error, ValueError, KeyError, IndexError, OverflowError, AssertionError) as error:
            self._problems.append(f"A record has impossible content: {type(error).__name__}: {error}")

    def walk(self) -> None:
        """Compare worlds: by content if requested, else by hashes and events."""
        if self._asked.by is not None:
            content = content_diff.Content(self._sides, self._asked.by)
            self._worlds = content.changes(self._world())
            self._visited = content.visited
            self._notes.extend(content.notes())
            return
        strangers = self._relation == "strangers"
        if strangers:
            self._notes.append(_STRANGERS)
        since = common_past.LaterEvents(() if strangers else common_past.later_events_since(self._sides, self._parted))
        walk = world_diff.Walk(self._sides, self._descent(since), since, field_diff.outside_details(self._sides, since))
        world = self._world()
        # Strangers have different root worlds: one is only in a, the other only in b.
        for start in dict.fromkeys((side.root() for side in self._sides) if world is None else (world,)):
            walk.descend(start)
        self._visited = walk.visited
        self._worlds = walk.changes(world)

    def compare_bytes(self) -> None:
        """Compare the stored bytes, if requested or if nothing else differs."""
        asked = self._asked.deep
        wanted = not self._worlds and not self._asked.by if asked is None else asked
        if not wanted or self._relation == "strangers":
            if asked is None and self._relation != "strangers" and not self._asked.by:
                self._notes.append(_NOT_DEEP)
            return
        self._deep = True
        stored = stored_bytes.StoredBytes(self._sides)
        self._add(stored.records(self._parted))
        if self._relation == "same" and all(side.present for side in self._sides):
            self._add(stored.rows())

    def _descent(self, since: common_past.LaterEvents) -> world_diff.Descent:
        """Choose tries at two heads, else events: tries are kept for the present only."""
        if all(side.present for side in self._sides):
            return world_diff.TrieDescent(self._sides)
        return world_diff.EventDescent(self._sides, since)

    def _world(self) -> bytes | None:
        """The world that the comparison is limited to.

        Raises:
            UnknownReference: neither side has it at its moment.
        """
        if self._asked.world is None:
            return None
        world = bytes.fromhex(self._asked.world)
        if not any(side.hash(world) for side in self._sides):
            raise UnknownReference(
                f"Neither side has the world {self._asked.world[:12]} at that moment", "Compare with a later moment"
            )
        return world

    def _add(self, found: Iterator[stored_bytes.Altered]) -> None:
        """Note records that differ, and the worlds that they belong to."""
        by_world: dict[bytes, list[stored_bytes.Altered]] = {}
        for altered in islice(found, stored_bytes.MAX_FINDINGS):
            if altered.record is not None:
                self._altered.append(altered.record)
            for world in altered.worlds:
                by_world.setdefault(world, []).append(altered)
        known = {bytes.fromhex(change.ref): position for position, change in enumerate(self._worlds)}
        for world, records in by_world.items():
            details = tuple(detail for altered in records for detail in altered.details)
            seqs = {altered.seq for altered in records} - {0}
            later = list(self._later(world, sorted(seqs)))
            if world in known:
                self._worlds[known[world]] = world_diff.with_details(self._worlds[known[world]], details, later)
            else:
                self._worlds.append(world_diff.lone_change(self._sides, world, details, later))

    def _later(self, world: bytes, seqs: list[int]) -> Iterator[common_past.LaterEvent]:
        """The events of some commits about a world, on each side."""
        for seq in seqs:
            for side in self._sides:
                try:
                    yield from (common_past.LaterEvent(side.label, entry) for entry in side.entries(seq, world.hex()))
                except WorldDBError:
                    # The record that tells of it is the one that was altered.
                    continue

    def answer(self, trie_reads: int) -> diff_side.Difference:
        one, other = self._sides
        self._notes.extend(
            f"{side.label} is hypothetical: {side.supposes()}" for side in self._sides if side.supposes()
        )
        headers = [side.header(side.seq) for side in self._sides]
        found = bool(self._worlds or self._altered or self._problems)
        whole = self._asked.by is None and self._asked.world is None
        same = self._relation == "same" or not whole
        if not found and not same:
            self._notes.append(_SAME_WORLDS)
        return diff_side.Difference(
            equal=same and not found,
            related=self._relation != "strangers",
            relation=self._relation,
            parted=self._parted,
            parted_at=one.header(self._parted).ingest_time if self._parted else 0,
            seq_a=one.seq,
            seq_b=other.seq,
            time_a=headers[0].ingest_time,
            time_b=headers[1].ingest_time,
            root_a=one.hash(one.root()).hex(),
            root_b=other.hash(other.root()).hex(),
            store_a=one.store_id().hex(),
            store_b=other.store_id().hex(),
            by=self._asked.by or "hash",
            deep=self._deep,
            worlds_visited=self._visited,
            trie_nodes_visited=trie_reads,
            worlds=tuple(self._worlds),
            altered=tuple(self._altered),
            problems=tuple(self._problems),
            notes=tuple(self._notes),
        )
