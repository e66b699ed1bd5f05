"""Timelines: the version that is valid at each time, as every commit knew it (paper §2.3).

A timeline is a step function from valid time to a number: of a lineage, the version that holds; of an edge,
:data:`HOLDS` where it is in force. A lineage of one version, or an edge, that never lost anything needs none: its own
row says it all. A row of the table ``timelines`` has the steps from one commit on:

| key | value |
|---|---|
| u8 kind, u64 node or edge, u32 0, u64 seq | ``00``, then for each step i64 start, u32 number |
| | ``01``, u32 chunks so far, then for each chunk i64 start, u32 chunk: the steps lie in chunks |
| u8 kind, u64 node or edge, u32 chunk, u64 seq | as the first |

A step holds until the next one begins, the last one for ever. A timeline of more than :data:`MAX_STEPS` is cut into
chunks, so that a commit writes those that it changes, and one point is read by two look-ups however long the line is.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
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

MAX_STEPS: Final = 64

_STEP: Final = struct.Struct(">qI")
_start: Final = itemgetter(0)
_LEAF, _DIRECTORY = b"\x00", b"\x01"
_HEAD_BYTES: Final = {0: 1, 1: 5}

Steps = list[tuple[int, int]]
"""Starts, each with the number from there on, in order; neighbours differ."""


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
    """The number at a valid time as of a commit, with the span around it; ``None`` without a timeline by then."""
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


class Stretch(NamedTuple):
    """Neighbouring steps of a timeline, and where the last one ends."""

    steps: Steps
    beyond: int


def pieces_in(table: Readable, place: Place, seq: int, window: Interval) -> list[Piece] | None:
    """The whole spans that a window touches, in order; ``None`` if there is no timeline by then."""
    found = stretch(table, place, seq, window)
    return None if found is None else list(pieces(*found))


def stretch(table: Readable, place: Place, seq: int, window: Interval) -> Stretch | None:
    """The steps that hold in a window; ``None`` if there is no timeline by then.

    Of a long timeline the chunks that the window touches are read.
    """
    found = _row(table, place, 0, seq)
    if found is None:
        return None
    if window.is_empty:
        return Stretch([], window.end)
    beyond = FOREVER
    if found[:1] == _LEAF:
        line = _decoded(found)
    else:
        chunks = _decoded(found)
        first = max(0, bisect_right(chunks, window.start, key=_start) - 1)
        last = max(first + 1, bisect_left(chunks, window.end, key=_start))
        line = [step for _, chunk in chunks[first:last] for step in _decoded(_chunk(table, place, chunk, seq))]
        beyond = chunks[last][0] if last < len(chunks) else FOREVER
    first = max(0, bisect_right(line, window.start, key=_start) - 1)
    last = max(first + 1, bisect_left(line, window.end, key=_start))
    return Stretch(line[first:last], line[last][0] if last < len(line) else beyond)


def pieces(line: Sequence[tuple[int, int]], beyond: int = FOREVER) -> Iterator[Piece]:
    """The spans of a timeline, in order, those in which nothing holds among them; the last one ends at ``beyond``."""
    for at, (start, number) in enumerate(line):
        yield Piece(Interval(start, line[at + 1][0] if at + 1 < len(line) else beyond), number)


def changes(table: Readable, place: Place, seq: int) -> list[int]:
    """The commits up to ``seq`` that changed a timeline, in order; the first one wrote what was cut first."""
    prefix = _PREFIX.pack(*place)
    return sorted({at for key, _ in table.scan(prefix) if (at := schema.TIMELINE_KEY.unpack(key)[3]) <= seq})


def overlaid(line: Sequence[tuple[int, int]], window: Interval, number: int) -> Steps:
    """A timeline in which a window is replaced."""
    if window.is_empty:
        return list(line)
    first = bisect_left(line, window.start, key=_start)
    beyond = len(line) if window.end == FOREVER else bisect_right(line, window.end, key=_start)
    made = [*line[:first], (window.start, number)]
    if window.end != FOREVER:
        made.append((window.end, line[beyond - 1][1] if beyond else NOTHING))
        made += line[beyond:]
    return [step for at, step in enumerate(made) if not at or step[1] != made[at - 1][1]]


def put(
    table: write_buffer.Table,
    place: Place,
    seq: int,
    window: Interval,
    number: int,
    born: Callable[[], tuple[int, Interval]],
) -> None:
    """Let a number hold in a window from a commit on.

    ``born`` gives the commit and the window of the first version, or of the edge, where there is no timeline yet: what
    held before.
    """
    root = _row(table, place, 0, seq)
    if root is None:
        written, held = born()
        line = _overlaid(_LEAF + _STEP.pack(ALWAYS, NOTHING), held, HOLDS)
        if written != seq:
            table.put(_key(place, 0, written), line)
        table.put(_key(place, 0, seq), _overlaid(line, window, number))
    elif root[:1] == _LEAF:
        _put_line(table, place, seq, _overlaid(root, window, number))
    else:
        _put_in_chunks(table, place, seq, root, window, number)


def put_last(table: write_buffer.Table, place: Place, seq: int, begins: int, number: int) -> bool:
    """Let a number hold for ever from a time from which nothing was ever said, if one short row says that of it.

    False if it does not: nothing is put then.
    """
    line = _row(table, place, 0, seq)
    if line is None or line[:1] != _LEAF or (count := _count(line)) >= MAX_STEPS:
        return False
    start, last = _STEP.unpack_from(line, len(line) - _STEP.size)
    if last != NOTHING or start > begins:
        return False
    kept = count - 1 if start == begins else count
    made = line[: 1 + kept * _STEP.size]
    if not kept or _number(line, kept - 1) != number:
        made += _STEP.pack(begins, number)
    table.put(_key(place, 0, seq), made)
    return True


def _overlaid(line: bytes, window: Interval, number: int) -> bytes:
    """Stored steps in which a window is replaced.

    They are cut and joined as bytes: the steps of a long timeline would take longer to unpack than all else here.
    """
    if window.is_empty:
        return line
    count = _count(line)
    first = _first_from(line, count, window.start)
    made = line[: 1 + first * _STEP.size]
    if not first or _number(line, first - 1) != number:
        made += _STEP.pack(window.start, number)
    if window.end == FOREVER:
        return made
    beyond = _first_from(line, count, window.end + 1)
    behind = _number(line, beyond - 1) if beyond else NOTHING
    if behind != number:
        made += _STEP.pack(window.end, behind)
    return made + line[1 + beyond * _STEP.size :]


def _put_line(table: write_buffer.Table, place: Place, seq: int, line: bytes) -> None:
    if _count(line) <= MAX_STEPS:
        table.put(_key(place, 0, seq), line)
        return
    directory = _put_chunks(table, place, seq, line, [], 1)
    table.put(_key(place, 0, seq), _directory(directory, 1 + len(directory)))


def _put_in_chunks(
    table: write_buffer.Table, place: Place, seq: int, root: bytes, window: Interval, number: int
) -> None:
    """Write the chunks that a window touches anew, and what leads to them if they are others now."""
    if window.is_empty:
        return
    count = (len(root) - 5) // _STEP.size
    at = _find(root, 5, count, window.start - 1)
    if at + 1 == count or window.end < _STEP.unpack_from(root, 5 + (at + 1) * _STEP.size)[0]:
        chunk = _STEP.unpack_from(root, 5 + at * _STEP.size)[1]
        line = _overlaid(_chunk(table, place, chunk, seq), window, number)
        if _count(line) <= MAX_STEPS:
            # Most statements change one chunk, and not where it begins.
            table.put(_key(place, chunk, seq), line)
            return
    known, following = _decoded(root), int.from_bytes(root[1:5], "big")
    # From the chunk before the window on, so that neighbours which come to be equal meet in one chunk.
    first = max(0, bisect_right(known, window.start - 1, key=_start) - 1)
    beyond = len(known) if window.end == FOREVER else bisect_right(known, window.end, key=_start)
    touched = known[first:beyond]
    line = _LEAF + b"".join(_chunk(table, place, chunk, seq)[1:] for _, chunk in touched)
    made = _put_chunks(table, place, seq, _overlaid(line, window, number), [chunk for _, chunk in touched], following)
    if made != touched:
        following = max(following, 1 + max(chunk for _, chunk in made))
        table.put(_key(place, 0, seq), _directory([*known[:first], *made, *known[beyond:]], following))


def _put_chunks(
    table: write_buffer.Table, place: Place, seq: int, line: bytes, reused: Sequence[int], following: int
) -> Steps:
    """Write steps as chunks, under the numbers of those that they replace as far as these go."""
    made: Steps = []
    count = _count(line)
    chunks = -(-count // MAX_STEPS)
    size = _STEP.size * -(-count // chunks)
    for at, chunk in zip(range(1, len(line), size), chain(reused, range(following, following + chunks)), strict=False):
        made.append((_STEP.unpack_from(line, at)[0], chunk))
        table.put(_key(place, chunk, seq), _LEAF + line[at : at + size])
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


def _directory(chunks: Steps, following: int) -> bytes:
    return _DIRECTORY + following.to_bytes(4, "big") + b"".join(_STEP.pack(*chunk) for chunk in chunks)


def _decoded(value: bytes) -> Steps:
    return list(_STEP.iter_unpack(memoryview(value)[_HEAD_BYTES[value[0]] :]))


def _count(line: bytes) -> int:
    """How many steps there are."""
    return (len(line) - 1) // _STEP.size


def _number(line: bytes, at: int) -> int:
    return int(_STEP.unpack_from(line, 1 + at * _STEP.size)[1])


def _first_from(line: bytes, count: int, time: int) -> int:
    """The first step that begins at a time or later."""
    if not count or _STEP.unpack_from(line, len(line) - _STEP.size)[0] < time:
        # Most statements are about the present.
        return count
    unpack, size = _STEP.unpack_from, _STEP.size
    return bisect_left(range(count), time, key=lambda at: unpack(line, 1 + at * size)[0])


def _find(value: bytes, head: int, count: int, valid: int) -> int:
    """The last entry that begins at or before a time; most look for the last one of all."""
    unpack, size = _STEP.unpack_from, _STEP.size
    if count and unpack(value, head + (count - 1) * size)[0] <= valid:
        return count - 1
    return max(0, bisect_right(range(count), valid, key=lambda at: unpack(value, head + at * size)[0]) - 1)
