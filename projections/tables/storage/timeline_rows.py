"""Timelines: what holds at each valid time, as every commit knew it (paper §2.3).

A timeline is a step function from valid time to a number: of a lineage, the version that holds; of an edge,
:data:`HOLDS` where it is in force. A lineage of one version, or an edge, that never lost anything needs none: its own
row says it all. A row of the table ``timelines`` has the steps from one commit on:

| key | value |
|---|---|
| u8 kind, u64 node or edge, u32 0, u64 seq | ``00``, then for each step i64 start, u32 number |
| | ``01``, u32 chunks so far, then for each chunk i64 start, u32 chunk: the steps lie in chunks |
| u8 kind, u64 node or edge, u32 chunk, u64 seq | as the first |

A step holds until the next one begins, the last one for ever. A timeline of more than :data:`MOST_STEPS` is cut into
chunks, so that a commit writes those that it changes, and one point is read by two look-ups however long the line is.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from worlddb.log.model.times import ALWAYS, FOREVER, Interval
from worlddb.projections.tables.storage import schema, transaction, write_buffer

OF_LINEAGE: Final = 0
OF_EDGE: Final = 1

NOTHING: Final = 0
"""Nothing was ever said of these times."""
HOLE: Final = 2**32 - 1
"""It was said that nothing holds, by retiring or superseding."""
NO_VERSION: Final = frozenset({NOTHING, HOLE})
HOLDS: Final = 1
"""The number of an edge where it is in force."""

MOST_STEPS: Final = 64

_STEP: Final = struct.Struct(">qI")
_LEAF, _DIRECTORY = b"\x00", b"\x01"
_HEAD_BYTES: Final = {0: 1, 1: 5}

Steps = list[tuple[int, int]]
"""Starts and what holds from there, in order; neighbours differ."""


class Readable(Protocol):
    """A table in which the last entry up to a key can be found, and that can be gone through."""

    def last(self, prefix: bytes, upto: bytes) -> write_buffer.Pair | None: ...

    def scan(self, prefix: bytes) -> Iterator[write_buffer.Pair]: ...


class Piece(NamedTuple):
    """A span in which the same holds."""

    span: Interval
    number: int


class Place(NamedTuple):
    """Whose timeline: the kind, and the number of the node or edge."""

    kind: int
    number: int


def piece_at(table: Readable, place: Place, seq: int, valid: int) -> Piece | None:
    """What holds at a valid time as of a commit, with the span around it; ``None`` if there is no timeline by then."""
    found = _row(table, place, 0, seq)
    if found is None:
        return None
    beyond = FOREVER
    if found[:1] == _DIRECTORY:
        count = (len(found) - 5) // _STEP.size
        at = _find(found, 5, count, valid)
        if at + 1 < count:
            beyond = _STEP.unpack_from(found, 5 + (at + 1) * _STEP.size)[0]
        found = _chunk(table, place, _STEP.unpack_from(found, 5 + at * _STEP.size)[1], seq)
    count = (len(found) - 1) // _STEP.size
    at = _find(found, 1, count, valid)
    start, number = _STEP.unpack_from(found, 1 + at * _STEP.size)
    end = beyond if at + 1 == count else _STEP.unpack_from(found, 1 + (at + 1) * _STEP.size)[0]
    return Piece(Interval(start, end), number)


def steps(table: Readable, place: Place, seq: int) -> Steps | None:
    """All steps as of a commit; ``None`` if there is no timeline by then."""
    found = _row(table, place, 0, seq)
    if found is None:
        return None
    if found[:1] == _LEAF:
        return _decoded(found)
    return [step for _, chunk in _decoded(found) for step in _decoded(_chunk(table, place, chunk, seq))]


def pieces(line: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """The spans of a timeline, in order, those in which nothing holds among them."""
    for at, (start, number) in enumerate(line):
        yield Piece(Interval(start, line[at + 1][0] if at + 1 < len(line) else FOREVER), number)


def changes(table: Readable, place: Place, seq: int) -> list[int]:
    """The commits up to ``seq`` that changed a timeline, in order; the first one wrote what was cut first."""
    prefix = _PREFIX.pack(*place)
    return sorted({at for key, _ in table.scan(prefix) if (at := schema.TIMELINE_KEY.unpack(key)[3]) <= seq})


def overlaid(line: Sequence[tuple[int, int]], window: Interval, number: int) -> Steps:
    """A timeline with what holds in a window replaced."""
    if window.is_empty:
        return list(line)
    first = bisect_left(line, window.start, key=lambda step: step[0])
    beyond = len(line) if window.end == FOREVER else bisect_right(line, window.end, key=lambda step: step[0])
    made = [*line[:first], (window.start, number)]
    if window.end != FOREVER:
        made.append((window.end, line[beyond - 1][1] if beyond else NOTHING))
        made += line[beyond:]
    return [step for at, step in enumerate(made) if not at or step[1] != made[at - 1][1]]


def put(
    table: write_buffer.Table, place: Place, seq: int, window: Interval, number: int, born: tuple[int, Interval]
) -> None:
    """Let a number hold in a window from a commit on.

    ``born`` is the commit and the window of the first version, or of the edge: what held before there was a timeline.
    """
    root = _row(table, place, 0, seq)
    if root is None:
        line = overlaid([(ALWAYS, NOTHING)], born[1], HOLDS)
        if born[0] != seq:
            table.put(_key(place, 0, born[0]), _encoded(line))
        table.put(_key(place, 0, seq), _encoded(overlaid(line, window, number)))
    elif root[:1] == _LEAF:
        _put_line(table, place, seq, overlaid(_decoded(root), window, number))
    else:
        _put_in_chunks(table, place, seq, root, window, number)


def _put_line(table: write_buffer.Table, place: Place, seq: int, line: Steps) -> None:
    if len(line) <= MOST_STEPS:
        table.put(_key(place, 0, seq), _encoded(line))
        return
    directory = _put_chunks(table, place, seq, line, [], 1)
    table.put(_key(place, 0, seq), _directory(directory, 1 + len(directory)))


def _put_in_chunks(
    table: write_buffer.Table, place: Place, seq: int, root: bytes, window: Interval, number: int
) -> None:
    """Write the chunks that a window touches anew, and what leads to them if they are others now."""
    if window.is_empty:
        return
    known, following = _decoded(root), int.from_bytes(root[1:5], "big")
    starts = [start for start, _ in known]
    # From the chunk before the window on, so that neighbours which come to be equal meet in one chunk.
    first = max(0, bisect_right(starts, window.start - 1) - 1)
    beyond = len(known) if window.end == FOREVER else bisect_right(starts, window.end)
    touched = known[first:beyond]
    line = [step for _, chunk in touched for step in _decoded(_chunk(table, place, chunk, seq))]
    made = _put_chunks(table, place, seq, overlaid(line, window, number), [chunk for _, chunk in touched], following)
    if made != touched:
        following = max(following, 1 + max(chunk for _, chunk in made))
        table.put(_key(place, 0, seq), _directory([*known[:first], *made, *known[beyond:]], following))


def _put_chunks(
    table: write_buffer.Table, place: Place, seq: int, line: Steps, reused: Sequence[int], following: int
) -> Steps:
    """Write steps as chunks, under the numbers of those that they replace as far as these go."""
    made: Steps = []
    numbers = iter([*reused, *range(following, following + 1 + len(line))])
    size = -(-len(line) // -(-len(line) // MOST_STEPS))
    for at in range(0, len(line), size):
        chunk = next(numbers)
        made.append((line[at][0], chunk))
        table.put(_key(place, chunk, seq), _encoded(line[at : at + size]))
    return made


_PREFIX: Final = struct.Struct(">BQ")


def _key(place: Place, chunk: int, seq: int) -> bytes:
    return schema.TIMELINE_KEY.pack(place.kind, place.number, chunk, seq)


def _row(table: Readable, place: Place, chunk: int, seq: int) -> bytes | None:
    key = _key(place, chunk, seq)
    found = table.last(key[: schema.TIMELINE_PREFIX_BYTES], key)
    return None if found is None else found[1]


def _chunk(table: Readable, place: Place, chunk: int, seq: int) -> bytes:
    found = _row(table, place, chunk, seq)
    if found is None:
        raise transaction.missing_row(f"chunk {chunk} of the timeline {place.kind}/{place.number} at commit {seq}")
    return found


def _encoded(line: Steps) -> bytes:
    return _LEAF + b"".join(_STEP.pack(*step) for step in line)


def _directory(chunks: Steps, following: int) -> bytes:
    return _DIRECTORY + following.to_bytes(4, "big") + b"".join(_STEP.pack(*chunk) for chunk in chunks)


def _decoded(value: bytes) -> Steps:
    return list(_STEP.iter_unpack(memoryview(value)[_HEAD_BYTES[value[0]] :]))


def _find(value: bytes, head: int, count: int, valid: int) -> int:
    """The last entry that begins at or before a time."""
    unpack, size = _STEP.unpack_from, _STEP.size
    return max(0, bisect_right(range(count), valid, key=lambda at: unpack(value, head + at * size)[0]) - 1)
