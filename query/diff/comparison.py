"""Compare two stores: how their histories relate, which worlds differ, whether bytes do.

A comparison by hashes trusts stored hashes, which a forger leaves alone. If two logs claim to be one history, all
records of both must be the same byte by byte; if both stand at one commit, so must all rows of the tables.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice, zip_longest
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model import blobs, codec, ids
from worlddb.log.model.errors import InputError, UnknownReference, WorldDBError, shown
from worlddb.log.model.events import NONE
from worlddb.log.store.log import RecordPlace, place_of_key
from worlddb.projections.tables.storage import schema
from worlddb.query.diff import diff_side, field_diff, store_side, world_diff
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
    if asked.by is not None and asked.by not in world_diff.BY:
        raise InputError(
            f"by is {shown(asked.by)}", f"Give one of: {', '.join(world_diff.BY)}; None compares by hashes"
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
        self._parted = diff_side.last_common(sides)
        self._relation = diff_side.relation_of(sides, self._parted)
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
            content = world_diff.ContentWalk(self._sides, self._asked.by)
            self._worlds = content.changes(self._world())
            self._visited = content.visited
            self._notes.extend(content.notes())
            return
        strangers = self._relation == "strangers"
        if strangers:
            self._notes.append(_STRANGERS)
        since = diff_side.LaterEvents(() if strangers else diff_side.later_events_since(self._sides, self._parted))
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
        stored = StoredBytes(self._sides)
        self._add(stored.records(self._parted))
        if self._relation == "same" and all(side.present for side in self._sides):
            self._add(stored.rows())

    def _descent(self, since: diff_side.LaterEvents) -> world_diff.Descent:
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

    def _add(self, found: Iterator["Altered"]) -> None:
        """Note records that differ, and the worlds that they belong to."""
        by_world: dict[bytes, list[Altered]] = {}
        for altered in islice(found, MAX_FINDINGS):
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

    def _later(self, world: bytes, seqs: list[int]) -> Iterator[diff_side.LaterEvent]:
        """The events of some commits about a world, on each side."""
        for seq in seqs:
            for side in self._sides:
                try:
                    yield from (diff_side.LaterEvent(side.label, entry) for entry in side.entries(seq, world.hex()))
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


# -- stored bytes

MAX_FINDINGS: Final = 1000
"""How many records that differ are reported."""

MISSING: Final = "(missing)"
ERASED: Final = "(erased)"
_NAMED_WORLDS: Final = 8
"""How many worlds a header or an events record is said to belong to, if no single event of it differs."""


class Altered(NamedTuple):
    """A record that differs: as it is reported (``None``: erased), and field by field."""

    seq: int
    record: diff_side.AlteredRecord | None
    worlds: tuple[bytes, ...]
    details: tuple[diff_side.Detail, ...]


class Mismatch(NamedTuple):
    """One key with the values that the two sides hold for it; ``None`` where there is none."""

    key: bytes
    a: bytes | None
    b: bytes | None


def mismatches(one: Iterator[diff_side.Pair], other: Iterator[diff_side.Pair]) -> Iterator[Mismatch]:
    """The pairs in which two sorted streams differ."""
    left, right = next(one, None), next(other, None)
    while left is not None or right is not None:
        if left == right:
            left, right = next(one, None), next(other, None)
        elif right is None or (left is not None and left[0] < right[0]):
            assert left is not None
            yield Mismatch(left[0], left[1], None)
            left = next(one, None)
        elif left is None or right[0] < left[0]:
            yield Mismatch(right[0], None, right[1])
            right = next(other, None)
        else:
            yield Mismatch(left[0], left[1], right[1])
            left, right = next(one, None), next(other, None)


class StoredBytes:
    """Compare the stored records of two sides byte by byte; erased ones are reported as such."""

    def __init__(self, sides: diff_side.LogSides) -> None:
        self._sides = sides
        self._erasures: tuple[diff_side.Erasures, diff_side.Erasures] | None = None

    def records(self, last: int) -> Iterator[Altered]:
        """The log's records up to a commit that both histories share."""
        one, other = self._sides
        commits: tuple[_Commit, _Commit] | None = None
        for found in mismatches(one.log_pairs(last), other.log_pairs(last)):
            place = place_of_key(found.key)
            if place is None:
                continue
            if commits is None or commits[0].seq != place.seq:
                commits = _Commit(one, place.seq), _Commit(other, place.seq)
            yield _record_alteration(commits, place, found, erased=self._is_erased(place, found))

    def rows(self) -> Iterator[Altered]:
        """The tables of two stores that stand at the same commit of one history."""
        for (name, one), (_, other) in zip_longest(*(side.table_pairs() for side in self._sides)):
            for found in mismatches(one, other):
                if name == "nodes" and schema.is_node_unsaid(*sorted((found.a or b"", found.b or b""))):
                    continue
                altered = _row_alteration(self._sides, name, found)
                # An erasure that only one side knows of has also taken the digests of the names that are gone.
                if not self._is_erased_on_either(altered.worlds):
                    yield altered

    def _known(self) -> tuple[diff_side.Erasures, diff_side.Erasures]:
        """The erasures of either side, read once something is missing, since it takes all events."""
        if self._erasures is None:
            self._erasures = self._sides[0].erasures(), self._sides[1].erasures()
        return self._erasures

    def _is_erased(self, place: RecordPlace, found: Mismatch) -> bool:
        """True if a blob, or a text of it, is missing on a side that erased it."""
        if place.kind != "blob":
            return False
        gone = next(
            (at for at, value in enumerate((found.a, found.b)) if value is None or codec.is_struck(value)), None
        )
        if gone is None:
            return False
        erasures = self._known()[gone]
        return (place.seq, place.position) in erasures.blobs

    def _is_erased_on_either(self, worlds: tuple[bytes, ...]) -> bool:
        one, other = self._known()
        return any((world in one.worlds) != (world in other.worlds) for world in worlds)


class _Commit:
    """One side's commit, as far as it can be read."""

    def __init__(self, side: diff_side.LogSide, seq: int) -> None:
        self.seq = seq
        self._header: codec.Header | None = None
        self.events: codec.Events | None = None
        try:
            self._header = codec.decode_header(side.stored_header(seq)[1], seq)
            self.events = codec.decode_events(side.stored_events(seq), seq)
        except WorldDBError:
            # What cannot be read is not sound, and belongs to no world.
            return

    def worlds(self, place: RecordPlace) -> Iterator[bytes]:
        """The worlds that a blob belongs to; for other records the first few that the commit names."""
        if self.events is None:
            return
        if place.kind != "blob":
            yield from islice((lineage for event in self.events.events for lineage in _lineages(event)), _NAMED_WORLDS)
            return
        for event in self.events.events:
            if place.position in (getattr(event, "body", NONE), getattr(event, "details", NONE)):
                yield from islice(_lineages(event), 1)

    def is_sound(self, place: RecordPlace, value: bytes | None) -> bool:
        """True if the stored bytes have the hash that this side's own log names for them."""
        if value is None:
            return False
        if place.kind == "header":
            return codec.chain_hash(value[ids.HASH_BYTES :]) == value[: ids.HASH_BYTES]
        if place.kind == "events":
            return self._header is not None and codec.events_hash(value) == self._header.events_hash
        return self.events is not None and codec.named_id(value) == self.events.blob(place.position)


def _lineages(event: Any) -> Iterator[bytes]:
    """The worlds that an event is about, its own first."""
    for name in ("lineage", "root", "source", "target"):
        lineage = getattr(event, name, None)
        if isinstance(lineage, bytes):
            yield lineage


def _differing_worlds(commits: tuple[_Commit, _Commit]) -> tuple[bytes, ...]:
    """The worlds of those events that the two sides tell differently."""
    if commits[0].events is None or commits[1].events is None:
        return ()
    one, other = (commit.events.events if commit.events else [] for commit in commits)
    found: dict[bytes, None] = {}
    for left, right in zip_longest(one, other):
        if left != right:
            found.update((lineage, None) for event in (left, right) for lineage in _lineages(event))
    left_blobs, right_blobs = commits[0].events, commits[1].events
    for position in range(max(left_blobs.blob_count, right_blobs.blob_count)):
        if left_blobs.blob(position) != right_blobs.blob(position):
            place = RecordPlace("blob", commits[0].seq, position)
            found.update((lineage, None) for commit in commits for lineage in commit.worlds(place))
    return tuple(found)


def _row_alteration(sides: diff_side.LogSides, table: str, found: Mismatch) -> Altered:
    rows = [
        side.table_row(table, found.key, value) if value is not None else None
        for side, value in zip(sides, (found.a, found.b), strict=True)
    ]
    world = next((row.lineage for row in rows if row is not None and row.lineage), b"")
    columns = [row.fields if row is not None else {} for row in rows]
    details = tuple(
        diff_side.Detail(kind="altered", field=f"{name} (table {table})", a=a, b=b)
        for name in dict.fromkeys((*columns[0], *columns[1]))
        for a, b in ((columns[0].get(name, MISSING), columns[1].get(name, MISSING)),)
        if a != b
    )
    record = diff_side.AlteredRecord(
        seq=0,
        where=f"table {table}, key {found.key.hex()[:40]}",
        ref=world.hex(),
        side="",
        problem="the row differs; `verify --deep` says which store's tables differ from its log",
    )
    return Altered(0, record, (world,) if world else (), details)


def _record_alteration(
    commits: tuple[_Commit, _Commit], place: RecordPlace, found: Mismatch, *, erased: bool
) -> Altered:
    values = (found.a, found.b)
    worlds = tuple(dict.fromkeys(world for commit in commits for world in commit.worlds(place)))
    if place.kind == "events":
        worlds = _differing_worlds(commits) or worlds
    if erased and worlds:
        return Altered(place.seq, None, worlds, tuple(_details("erased", place, values)))
    sound = [commit.is_sound(place, value) for commit, value in zip(commits, values, strict=True)]
    side = {(True, True): "", (False, True): "a", (True, False): "b", (False, False): "both"}[sound[0], sound[1]]
    where = f"blob {place.position}" if place.kind == "blob" else place.kind
    record = diff_side.AlteredRecord(
        seq=place.seq, where=where, ref=worlds[0].hex() if worlds else "", side=side, problem=_problem(values, side)
    )
    return Altered(place.seq, record, worlds, tuple(_details("altered", place, values)))


def _problem(values: tuple[bytes | None, bytes | None], side: str) -> str:
    missing = [label for label, value in zip("ab", values, strict=True) if value is None]
    if missing:
        return f"{missing[0]} does not have it"
    if side in ("a", "b"):
        return f"{side} has bytes that do not match the hash in its own log"
    return "neither matches the hash in its log" if side else "both match the hash in their own log"


def _details(kind: str, place: RecordPlace, values: tuple[bytes | None, bytes | None]) -> Iterator[diff_side.Detail]:
    fields = [_fields(place, value) for value in values]
    named = [name for name in dict.fromkeys((*fields[0], *fields[1])) if fields[0].get(name) != fields[1].get(name)]
    gone = ERASED if kind == "erased" else MISSING
    for name in named or ["bytes"]:
        a, b = (
            gone if value is None else side.get(name, "" if named else value.hex()[:200])
            for side, value in zip(fields, values, strict=True)
        )
        yield diff_side.Detail(kind=kind, field=name, a=a, b=b)


def _fields(place: RecordPlace, value: bytes | None) -> dict[str, str]:
    """The fields of a stored record."""
    if value is None:
        return {}
    try:
        if place.kind == "header":
            header = codec.decode_header(value[ids.HASH_BYTES :], place.seq)
            named = {name: _plain(getattr(header, name)) for name in header.__struct_fields__}
            return named | {"chain hash": value[: ids.HASH_BYTES].hex()}
        if place.kind == "events":
            events = codec.decode_events(value, place.seq).events
            return {f"event {index}": f"{type(event).__name__} {_event(event)}" for index, event in enumerate(events)}
        blob = codec.decode_blob(value, place.seq)
    except WorldDBError as error:
        return {"content": f"({error.message})"}
    if isinstance(blob, blobs.Body | blobs.Details):
        return {name: _plain(getattr(blob, name)) for name in blob.__struct_fields__ if name != "nonce"}
    return {}


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return (
        value if isinstance(value, str) else field_diff.as_text(value) if isinstance(value, dict | list) else str(value)
    )


def _event(event: Any) -> str:
    return ", ".join(f"{name} {_plain(getattr(event, name))}" for name in event.__struct_fields__ if name != "nonce")
