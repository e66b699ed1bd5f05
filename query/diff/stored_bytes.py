"""Compare the stored bytes of two stores, to find changes made behind the engine's back.

A comparison by hashes trusts stored hashes, which a forger leaves alone. If two logs claim to be one history, all
records of both must be the same byte by byte; if both stand at one commit, so must all rows of the tables.
"""

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any, Final, NamedTuple

from worlddb.log.model import blobs, codec, errors, ids
from worlddb.log.model.events import NONE
from worlddb.log.store.log import RecordPlace, place_of_key
from worlddb.projections.tables.storage import schema
from worlddb.query.diff import diff_side, field_diff

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
        except errors.WorldDBError:
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
    except errors.WorldDBError as error:
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
