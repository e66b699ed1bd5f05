"""Rows of large tables in packed runs, so that a commit writes pages in proportion to its rows.

A key that is a digest, or begins with an old world, lies anywhere: in one tree over all of time each row of a commit
would copy a leaf of its own. So what is put into a large table is packed, sorted, into a *run*: pages that are full and
written one behind the other. Four runs of like size become one, so a row is packed again only as often as its table has
grown fourfold, and a look asks few runs, each of them by a filter first. All lie in the one environment and the one
transaction of a commit.

| first byte | rest of the key | value |
|---|---|---|
| 0xF0 | | msgpack ``{table: [[number, rows, mark and digest of the filter], …]}``, the oldest run first |
| 0xF0 | table's byte, u32 run, what sets the page apart from the one before | a page, see below |
| 0xF1 | table's byte, u32 run | filter: three bits for each group of keys, by its CRC; without a mark the first |

The mark is 0x03, or 0x04 if the filter knows whole keys too.

A page is msgpack ``[keys, values]``. Rows of one length are columns of bytes instead, most of which are the same all
over a page: u16 how many rows, a bit for each column (the lowest first) that is set if the rows differ in it, the bytes
of the columns in which they do not, and those of the others, row by row.

What lies in the table's own place is newer than any run, and a later run than an earlier one. A deleted row goes out of
all of them at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from heapq import merge
from itertools import accumulate, chain, islice, product
from operator import itemgetter, sub
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias
from zlib import crc32

import lmdb
import msgspec
from blake3 import blake3

from worlddb.log.model.errors import DamagedStore
from worlddb.projections.tables.storage import schema, write_buffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RUNS_KEY: Final = b"\xf0"
"""Where the runs of all tables are listed, and what the keys of their pages begin with."""
FILTERS: Final = b"\xf1"
MAX_UNPACKED: Final = 1 << 18
"""So many rows a table has in its own place before any are packed; half of that where a commit brings many.

Each of those copies most leaves of the table, and leaves as many pages free. Reads are quicker where nothing is packed.
"""
MAX_TAKEN: Final = 1 << 19
"""A table that has more in its own place, of a release that packed none, stays so until the tables are rebuilt."""
FEW: Final = 1 << 10
"""Fewer rows than these go into a table's own place, where they wait for others."""
MAX_MERGED: Final = 1 << 20
"""Runs stay apart beyond so many rows, so that no commit has much more to merge."""
MAX_MERGED_LOGGED: Final = 1 << 19
"""The same where groups lie in log order: world hashes, whose rows are of a hundred bytes, so that a commit that made
one run of a million would be the largest of all, and LMDB keeps its memory. A look there ends with the first run that
has any of a group, so that more runs take it no longer."""
MAX_MERGED_AT_ONCE: Final = 1 << 18
"""Beside other merges a commit has none that brings it above so many rows: all tables grow at one pace, and would be
merged together, in a commit that takes long and much memory."""
_ALIKE: Final = 4
PAGE_ROOM: Final = 4096 - 16 - 8
"""What a page has for rows, behind LMDB's header and ours."""
_ROW_BYTES: Final = 4
_MAX_APART: Final = 480
"""LMDB takes keys of at most 511 bytes."""
_TOGETHER: Final = 16
"""How many pages of each run a merge holds."""
_MORE_TOGETHER: Final = 64
"""The same where rows are of one length."""
_DRAINED: Final = 8_192
"""How many rows are taken out of a table's own place at once."""
_GUESSED: Final = 128
"""So many rows a page is supposed to have until one was filled."""
_MAX_ROWS: Final = 0xFFFF
_MANY: Final = 64
"""From so many looks on each run is gone through once for all of them: NumPy takes as long for few as for these."""
_AT_ONCE: Final = 1_024
_MAX_KEPT: Final = 4_096
"""Of so many keys and groups what is stored is kept until the transaction ends, or has put what is in memory."""
_MAX_FILTER_BYTES: Final = 64 << 20
_SECOND: Final = 0x9E3779B1
_THIRD: Final = 0x85EBCA77
_SPREAD: Final = (1, _SECOND, _THIRD)
"""By what a CRC is multiplied for each of its bits in a filter. With three one look in a hundred for what a run has not
goes into it in vain; with one, of as many in all, it was one in twelve."""
_THREE_BITS: Final = b"\x03"
_WHOLE_KEYS: Final = b"\x04"
"""What is before the digest of a filter with three bits for each group, and of one that knows whole keys as well."""
_DIGEST_BYTES: Final = 16

Page = tuple[list[bytes], list[bytes]]
"""Sorted keys, and their values."""
Rows: TypeAlias = "NDArray[np.uint8]"
"""Rows of one length, each a key and its value in one."""
Crcs: TypeAlias = "NDArray[np.uint32]"
Columns: TypeAlias = "NDArray[np.intp]"
_key = itemgetter(0)
_ENCODER: Final = msgspec.msgpack.Encoder()
_PAGES: Final = msgspec.msgpack.Decoder(Page)
_filters: dict[bytes, bytes] = {}
"""Filters that this process has read, by their digests: runs do not change but by what is deleted."""


class _Page(Protocol):
    """Some rows of a run, sorted."""

    count: int

    def find(self, key: bytes) -> bytes | None:
        """The value of a key, if it is here."""

    def key(self, at: int) -> bytes: ...

    def pairs(self, begin: int, end: int) -> list[write_buffer.Pair]:
        """The pairs from one place up to another one."""

    def place(self, key: bytes) -> int:
        """Where a key is, or would be."""

    def stretch(self, prefix: bytes) -> tuple[int, int]:
        """Where the keys begin and end that begin so."""


class _ListPage:
    """A page that was decoded."""

    __slots__ = ("_keys", "_values", "count")

    def __init__(self, keys: list[bytes], values: list[bytes]) -> None:
        self._keys = keys
        self._values = values
        self.count = len(keys)

    def find(self, key: bytes) -> bytes | None:
        at = bisect_left(self._keys, key)
        return self._values[at] if at < self.count and self._keys[at] == key else None

    def key(self, at: int) -> bytes:
        return self._keys[at]

    def place(self, key: bytes) -> int:
        return bisect_left(self._keys, key)

    def pairs(self, begin: int, end: int) -> list[write_buffer.Pair]:
        return list(zip(self._keys[begin:end], self._values[begin:end], strict=True))

    def stretch(self, prefix: bytes) -> tuple[int, int]:
        keys, count = self._keys, self.count
        begin = end = bisect_left(keys, prefix)
        while end < count and keys[end].startswith(prefix):
            end += 1
        return begin, end


Taken: TypeAlias = Callable[[bytes], tuple[bytes, ...]]
"""Takes some pieces out of a key."""


class _Layout:
    """Which bytes of its rows a page has once for all of them, and which once for each."""

    __slots__ = (
        *("_columns", "_key_taken", "_taken", "alike", "alike_at", "alike_pieces", "apart", "apart_pieces"),
        *("key_apart", "key_bytes", "key_stretches", "pieces", "row_bytes", "rows_at"),
    )

    def __init__(self, mask: bytes, key_bytes: int, row_bytes: int) -> None:
        """``mask``: what a page begins with, one bit for each column, set where rows differ."""
        bits = int.from_bytes(mask, "little")
        self.key_bytes = key_bytes
        self.alike = tuple(at for at in range(row_bytes) if not bits >> at & 1)
        """The columns that are the same in all rows, ..."""
        self.apart = tuple(at for at in range(row_bytes) if bits >> at & 1)
        """... and those that are not."""
        self.alike_at = _COUNT_BYTES + len(mask)
        self.rows_at = self.alike_at + len(self.alike)
        self.row_bytes = len(self.apart)
        stretches = _ranges_of(self.apart)
        ends = (0, *chain.from_iterable(stretches), row_bytes)
        self.alike_pieces = _of_sizes(map(sub, ends[1::2], ends[::2]))
        """What is the same, before, between and behind the stretches of a row ..."""
        self.apart_pieces = _of_sizes(end - start for start, end in stretches)
        """... that are not."""
        self.pieces = 2 * len(stretches) + 1
        self.key_stretches = _ranges_of([at for at in self.apart if at < key_bytes])
        self.key_apart = sum(end - start for start, end in self.key_stretches)
        self._taken: dict[int, tuple[Taken, int, Taken]] = {}
        *_, self._key_taken = self.split_prefix(key_bytes)
        self._columns: tuple[Columns, Columns] | None = None

    def columns(self) -> tuple[Columns, Columns]:
        """The columns that are alike and those that are not, as NumPy takes them: soonest if it need not make them."""
        import numpy as np  # As in `_filter_of`.

        if self._columns is None:
            self._columns = np.array(self.alike, dtype=np.intp), np.array(self.apart, dtype=np.intp)
        return self._columns

    def split_prefix(self, prefix_bytes: int) -> tuple[Taken, int, Taken]:
        """What of a beginning of a key is alike in all keys, in how many columns, and what is apart."""
        found = self._taken.get(prefix_bytes)
        if found is None:
            alike = [at for at in self.alike if at < prefix_bytes]
            apart = [at for at in self.apart if at < prefix_bytes]
            found = self._taken[prefix_bytes] = _byte_taker(alike), len(alike), _byte_taker(apart)
        return found

    def count_of(self, stored: bytes) -> int:
        """How many rows a stored page has."""
        count = stored[0] << 8 | stored[1]
        if not count or len(stored) != self.rows_at + count * self.row_bytes:
            raise _damaged_error("a packed page cannot be read")
        return count

    def first_from(self, stored: bytes, count: int, apart: bytes) -> int:
        """The first row of a stored page of which what is apart in its key does not come before this."""
        begins, width, size = self.rows_at, self.row_bytes, self.key_apart
        low, high = 0, count
        while low < high:
            middle = (low + high) >> 1
            at = begins + middle * width
            if stored[at : at + size] < apart:
                low = middle + 1
            else:
                high = middle
        return low

    def value_of(self, stored: bytes, key: bytes) -> bytes | None:
        """The value of a key in a stored page, if it is there."""
        count, apart = self.count_of(stored), b"".join(self._key_taken(key))
        first = self.first_from(stored, count, apart)
        at = self.rows_at + first * self.row_bytes
        if first == count or not stored.startswith(apart, at):
            return None
        pieces = [b""] * self.pieces
        pieces[::2] = self.alike_pieces.unpack_from(stored, self.alike_at)
        pieces[1::2] = self.apart_pieces.unpack_from(stored, at)
        row = b"".join(pieces)
        # What is the same all over the page may be something else in this key.
        return row[self.key_bytes :] if row.startswith(key) else None

    def rows_under(self, stored: bytes, prefix: bytes) -> list[write_buffer.Pair]:
        """The rows of a stored page whose keys begin so."""
        count, apart = self.count_of(stored), b"".join(self.split_prefix(len(prefix))[2](prefix))
        here, width = self.first_from(stored, count, apart), self.row_bytes
        at = self.rows_at + here * width
        found: list[write_buffer.Pair] = []
        if here == count or not stored.startswith(apart, at):
            return found
        pieces, size, apart_of = [b""] * self.pieces, self.key_bytes, self.apart_pieces.unpack_from
        pieces[::2] = self.alike_pieces.unpack_from(stored, self.alike_at)
        while here < count and stored.startswith(apart, at):
            pieces[1::2] = apart_of(stored, at)
            row = b"".join(pieces)
            if not row.startswith(prefix):
                break
            found.append((row[:size], row[size:]))
            here += 1
            at += width
        return found


_layout: Final = lru_cache(maxsize=1_024)(_Layout)


def _byte_taker(places: Sequence[int]) -> Taken:
    # Of two slices and more it makes a tuple.
    return itemgetter(*(slice(*each) for each in _ranges_of(places)), slice(0), slice(0))


def _ranges_of(places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Numbers in order as ranges."""
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place:
            found[-1] = found[-1][0], place + 1
        else:
            found.append((place, place + 1))
    return tuple(found)


def _of_sizes(sizes: Iterable[int]) -> Struct:
    return Struct("".join(f"{size}s" for size in sizes))


class _FixedPage:
    """A page as it is stored, of rows of one length: to look for one row takes a fifth of the time of decoding all."""

    __slots__ = ("_layout", "_stored", "count")

    def __init__(self, stored: bytes, key_bytes: int, value_bytes: int) -> None:
        row_bytes = key_bytes + value_bytes
        self._layout = _layout(stored[_COUNT_BYTES : _COUNT_BYTES + (row_bytes + 7) // 8], key_bytes, row_bytes)
        self._stored = stored
        self.count = self._layout.count_of(stored)

    def rows(self) -> Rows:
        """All rows, each a key and its value in one."""
        import numpy as np  # As in `_filter_of`.

        stored, layout = np.frombuffer(self._stored, dtype=np.uint8), self._layout
        found = np.empty((self.count, len(layout.alike) + len(layout.apart)), dtype=np.uint8)
        alike, apart = layout.columns()
        found[:, alike] = stored[layout.alike_at : layout.rows_at]
        found[:, apart] = stored[layout.rows_at :].reshape(self.count, layout.row_bytes)
        return found

    def key(self, at: int) -> bytes:
        return self.pairs(at, at + 1)[0][0]

    def pairs(self, begin: int, end: int) -> list[write_buffer.Pair]:
        layout, stored = self._layout, self._stored
        width, size, rows_at = layout.row_bytes, layout.key_bytes, layout.rows_at
        apart_of = layout.apart_pieces.unpack_from
        pieces = [b""] * layout.pieces
        pieces[::2] = layout.alike_pieces.unpack_from(stored, layout.alike_at)
        found: list[write_buffer.Pair] = []
        for at in range(begin, end):
            pieces[1::2] = apart_of(stored, rows_at + at * width)
            row = b"".join(pieces)
            found.append((row[:size], row[size:]))
        return found

    def find(self, key: bytes) -> bytes | None:
        return self._layout.value_of(self._stored, key) if len(key) == self._layout.key_bytes else None

    def stretch(self, prefix: bytes) -> tuple[int, int]:
        layout, stored = self._layout, self._stored
        alike_of, alike_bytes, apart_of = layout.split_prefix(len(prefix))
        alike_at = layout.alike_at
        if b"".join(alike_of(prefix)) != stored[alike_at : alike_at + alike_bytes]:
            return 0, 0
        apart, width, count = b"".join(apart_of(prefix)), layout.row_bytes, self.count
        begin = end = layout.first_from(stored, count, apart)
        at = layout.rows_at + end * width
        while end < count and stored.startswith(apart, at):
            end += 1
            at += width
        return begin, end

    def place(self, key: bytes) -> int:
        # Where a key differs from what is the same in all keys here, it is before or behind those that agree so far.
        begin, apart, first = 0, b"", self.key(0)
        key_bytes = self._layout.key_bytes
        for start, end in (*self._layout.key_stretches, (key_bytes, 1 << 16)):
            mine, alike = key[begin:start], first[begin:start]
            if mine != alike and not alike.startswith(mine):
                apart += b"\xff" * (key_bytes + 1) if mine > alike else b""
                break
            apart += key[start:end]
            begin = end
        return self._layout.first_from(self._stored, self.count, apart)


_COUNT_BYTES: Final = 2
_NO_PAGE: Final = _ListPage([], [])
_BEHIND_ALL: Final = b"\xff" * 512
"""Greater than any key."""


class Run(NamedTuple):
    """Rows that were packed together; ``filter`` is the digest of their filter, and how many bits that has of each."""

    number: int
    rows: int
    filter: bytes


_Asked: TypeAlias = tuple[bytes, int, bool, bool, bytes, Run]
"""A run with its filter before it: how many bits that has, whether it has three of each group, and of whole keys, and
what the keys of its pages begin with.

Each look takes many of these apart, and a tuple with names takes twice as long.
"""


class _Runs(NamedTuple):
    """The runs of a table, the newest first; ``know_keys``: the filters of all of them know whole keys."""

    asked: list[_Asked]
    know_keys: bool
    last_keys: list[bytes]
    """For each run, the oldest first, a key that none of it or of an older one is behind.

    Worlds are numbered as they come, so that what lies under the number of one is in no run from before.
    """

    def reaching(self, prefix: bytes) -> list[_Asked]:
        """Those that do not end before a key."""
        ended = bisect_left(self.last_keys, prefix)
        return self.asked[: len(self.asked) - ended] if ended else self.asked


_asked_before: dict[bytes, tuple[list[Run], _Runs]] = {}
"""By a table's byte, the runs that a read of this process asked last."""
_LISTS: Final = msgspec.msgpack.Decoder(dict[str, list[Run]])


_listed_before: list[tuple[bytes, dict[str, list[Run]]]] = [(b"", {})]
"""The list that the last read came to: it is told from another sooner than its hash is made."""


def listed_runs(stored: bytes) -> dict[str, list[Run]]:
    """The runs of each table that has any, the oldest first, as they are stored; the lists are for reading only."""
    [(before, runs)] = _listed_before
    if before != stored:
        runs = _decoded_list(stored)
        _listed_before[0] = stored, runs
    return dict(runs)


@lru_cache(maxsize=8)
def _decoded_list(stored: bytes) -> dict[str, list[Run]]:
    """Every read begins with the list, of a hundred runs and more in a large store."""
    try:
        return _LISTS.decode(stored)
    except msgspec.DecodeError as error:
        raise _damaged_error("the list of packed runs cannot be read") from error


def put_runs(txn: lmdb.Transaction, runs: dict[str, list[Run]]) -> None:
    """Store which runs there are."""
    txn.put(RUNS_KEY, _ENCODER.encode({name: found for name, found in runs.items() if found}))


def _damaged_error(what: str) -> DamagedStore:
    return DamagedStore(f"In the tables, {what}", "Run `worlddb verify --deep`, then `worlddb rebuild tables`")


class PackedTable(write_buffer.Table):
    """A table of which some rows are packed in runs."""

    __slots__ = (
        "_alone",
        "_asked",
        "_filtered",
        "_fixed",
        "_groups",
        "_is_all_packed",
        "_logged",
        "_shape",
        "_shortest_first",
        "_whole",
        "runs",
    )

    def __init__(
        self,
        txn: lmdb.Transaction,
        first_byte: bytes,
        prefix_bytes: int,
        filtered: tuple[int, ...],
        is_logged: bool,
        runs: list[Run],
        fixed: tuple[int, int] | None = None,
        whole: int | None = None,
    ) -> None:
        """``fixed`` is how long all keys are, and all values, if each of them is as long as the others; ``whole`` is
        how long keys are of which filters know the whole as well."""
        super().__init__(txn, first_byte, prefix_bytes)
        self._filtered = filtered
        self._shortest_first = filtered[::-1]
        self._logged = is_logged
        self.runs = runs
        self._fixed = fixed
        self._shape = None if fixed is None else (_COUNT_BYTES + (sum(fixed) + 7) // 8, fixed[0], sum(fixed))
        """Where the mask of a page ends, and how long keys and rows are, if each is as long as the others."""
        self._whole = whole
        self._alone = filtered[0] if len(filtered) == 1 else None
        """How much of a key a filter knows that knows nothing else."""
        self._asked: _Runs | None = None
        self._groups: dict[bytes, list[_Asked]] = {}
        """By what keys begin with, those of ``_asked`` that may hold any of them."""
        self._is_all_packed: bool | None = None

    # -- reading

    def get(self, key: bytes) -> bytes | None:
        if self._columns:
            self._take_in()
        if self._pending and key in self._pending:
            return self._pending[key]
        known = self._ahead.get(key)
        if known is not None:
            return known[0][1] if known else None
        found = self._stored_value(key)
        if self._fixed is not None:
            self._cache_rows(key, [] if found is None else [(key, found)])
        return found

    def _stored_value(self, key: bytes) -> bytes | None:
        if not self._all_packed():
            found: bytes | None = self._txn.get(self._first + key)  # type: ignore[assignment]
            if found is not None:
                return found
        runs = self._asked or self._runs_to_search()
        if (known := self._whole if runs.know_keys else self._alone) is not None:
            # Looked at one by one: the first run that may have a key mostly has it.
            held: Iterable[_Asked] = _runs_with_crc(runs.reaching(key), crc32(key[:known]))
        else:
            held = self._may_hold(key)
        for each in held:
            value = self._value_in(each[4], key)
            if value is not None:
                return value
        return None

    def _value_in(self, place: bytes, key: bytes) -> bytes | None:
        """The value of a key in the run at a place; most reads come here many times."""
        cursor, shape = self._own_cursor(), self._shape
        if shape is None or len(key) != shape[1]:
            return self._page_till(cursor, place, key)[0].find(key)
        at = place + key
        if not cursor.set_range(at):
            cursor.last()
        elif cursor.key() != at:
            cursor.prev()
        first, stored = cursor.item()
        if not first.startswith(place):  # type: ignore[union-attr]
            return None
        mask_end, key_bytes, row_bytes = shape
        layout = _layout(stored[_COUNT_BYTES:mask_end], key_bytes, row_bytes)
        return layout.value_of(stored, key)  # type: ignore[arg-type]

    def _all_packed(self) -> bool:
        """True if the table has no row in its own place, as behind a large load; that is found out once."""
        known = self._is_all_packed
        if known is None:
            cursor, first = self._own_cursor(), self._first
            has_own = cursor.set_range(first) and cursor.key().startswith(first)  # type: ignore[union-attr]
            known = self._is_all_packed = not has_own
        return known

    def _forget(self) -> None:
        super()._forget()
        self._is_all_packed = None

    def _cache_rows(self, prefix: bytes, rows: list[write_buffer.Pair]) -> None:
        """Have at hand what is stored under a key or a prefix: a read asks for the same few rows many times over."""
        if len(self._ahead) < _MAX_KEPT:
            self._ahead[prefix] = rows

    def _short_group(self, prefix: bytes) -> list[write_buffer.Pair] | None:
        """The stored rows of a group, if they are few and their keys are of one length."""
        rows = self._ahead.get(prefix)
        if rows is not None or self._fixed is None or len(prefix) < self._filtered[-1]:
            return rows
        most = write_buffer.SHORT
        rows = [] if self._all_packed() else self._loose_rows(prefix, most + 1)
        runs = self._may_hold(prefix)
        for each in runs:
            rows += self._rows_in(each[4], prefix, most)
        if len(rows) > most:
            return None
        if runs and len(rows) > 1:
            rows = list(_newest_pairs(sorted(rows, key=_key)))
        self._cache_rows(prefix, rows)
        return rows

    def _loose_rows(self, prefix: bytes, most: int) -> list[write_buffer.Pair]:
        """The first rows of a group in the table's own place."""
        within, cursor = self._first + prefix, self._own_cursor()
        stored: Any = cursor.iternext() if cursor.set_range(within) else ()
        return list(islice(write_buffer.under(within, stored), most))

    def scan(self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False) -> Iterator[write_buffer.Pair]:
        if self._columns:
            self._take_in()
        fresh = self._scan_pending(prefix, start, reverse=reverse) if self._pending else []
        few = self._short_group(prefix)
        if few is not None:
            if start is not None:
                few = [row for row in few if (row[0] <= start if reverse else row[0] >= start)]
            rows = reversed(few) if reverse else iter(few)
            return self._merged(rows, fresh, reverse=reverse) if fresh else rows
        stored = self._scan_stored(prefix, start, reverse=reverse)
        return self._merged(stored, fresh, reverse=reverse) if fresh else stored

    def scan_groups(self, prefix: bytes, groups: Iterable[bytes]) -> Iterator[write_buffer.Pair]:
        few = None if self._columns or self._pending else self._short_group(prefix)
        return super().scan_groups(prefix, groups) if few is None else iter(few)

    def get_each(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if self._columns or self._pending or len(keys) < _MANY:
            return list(map(self.get, keys))
        loose = {} if self._all_packed() else super().stored_each(sorted(set(keys)))
        found = {key: rows[0][1] for key, rows in loose.items()}
        for run, held in self._holding_each([key for key in sorted(set(keys)) if key not in found]):
            for key, value in self._pairs_of(run, [key for key in held if key not in found]):
                found[key] = value
        return list(map(found.get, keys))

    def scan_each(self, prefixes: Iterable[bytes]) -> Iterator[Iterator[write_buffer.Pair]]:
        left = iter(prefixes)
        while some := list(islice(left, _AT_ONCE)):
            if self._columns or self._pending or len(some) < _MANY:
                yield from map(self.scan, some)
                continue
            groups = self.stored_each(some)
            for prefix in some:
                rows = groups.get(prefix)
                if rows is not None:
                    is_long = len(rows) > write_buffer.SHORT
                    yield self._scan_stored(prefix, None, reverse=False) if is_long else iter(rows)

    def scan_on_each(self, groups: Iterable[tuple[bytes, bytes]]) -> Iterator[Iterator[write_buffer.Pair]]:
        return (self.scan(prefix, prefix + start) for prefix, start in groups)

    def stored_each(self, prefixes: Sequence[bytes]) -> dict[bytes, list[write_buffer.Pair]]:
        wanted = sorted(set(prefixes))
        few = [] if len(wanted) >= _MANY else [(prefix, self._short_group(prefix)) for prefix in wanted]
        if few and not any(rows is None for _, rows in few):
            return {prefix: list(rows) for prefix, rows in few if rows}
        groups = {} if self._all_packed() else super().stored_each(wanted)
        several = set()
        for run, held in self._holding_each(wanted):
            for prefix, rows in self._rows_of(run, held):
                if prefix in groups:
                    groups[prefix] += rows
                    several.add(prefix)
                else:
                    groups[prefix] = rows
        for prefix in several:
            groups[prefix] = list(_newest_pairs(sorted(groups[prefix], key=_key)))
        return groups

    def stored(self, prefix: bytes) -> list[write_buffer.Pair]:
        few = self._short_group(prefix)
        if few is not None:
            return list(few)
        found = super().stored(prefix)
        runs = self._may_hold(prefix)
        if not runs:
            return found
        found += chain.from_iterable(self._rows_in(each[4], prefix) for each in runs)
        found.sort(key=_key)
        return list(_newest_pairs(found))

    def few(self, prefix: bytes, most: int, cursor: lmdb.Cursor) -> list[write_buffer.Pair] | None:
        """Nothing: runs are found by whole groups."""
        return None

    def only(self, prefix: bytes, group: bytes, cursor: lmdb.Cursor) -> None:
        """Nothing: as above."""

    def groups_each(self, prefixes: Iterable[bytes]) -> None:
        """Never: as above."""

    def _has_stored(self, prefix: bytes) -> bool:
        # Mostly no run has any, which is not worth keeping.
        if prefix not in self._ahead and self._all_packed() and not self._may_hold(prefix):
            return False
        few = self._short_group(prefix)
        if few is not None:
            return bool(few)
        return super()._has_stored(prefix) or any(
            True for run in self._holding(prefix) for _ in self._walk(run, prefix, None)
        )

    def _scan_stored(self, prefix: bytes, start: bytes | None, *, reverse: bool) -> Iterator[write_buffer.Pair]:
        loose = super()._scan_stored(prefix, start, reverse=reverse)
        runs = self._holding(prefix)
        if not runs:
            return loose
        walks = [loose, *(self._walk(run, prefix, start, reverse=reverse) for run in runs)]
        some = [list(islice(walk, write_buffer.SHORT)) for walk in walks]
        if max(map(len, some)) < write_buffer.SHORT:
            return _newest_pairs(sorted(chain.from_iterable(some), key=_key, reverse=reverse))
        return _newest_pairs(merge(*map(chain, some, walks), key=_key, reverse=reverse))

    def _stored_around(
        self, within: bytes, start: bytes, most: int
    ) -> tuple[list[write_buffer.Pair], list[write_buffer.Pair]]:
        behind, before = super()._stored_around(within, start, most)
        prefix, at = within[1:], start[1:]
        for run in self._holding(prefix):
            behind += ((self._first + key, value) for key, value in islice(self._walk(run, prefix, at), most))
            earlier = self._walk(run, prefix, at, reverse=True)
            lower = ((self._first + key, value) for key, value in earlier if key != at)
            before += islice(lower, most)
        return (
            list(islice(_newest_pairs(sorted(behind, key=_key)), most)),
            list(islice(_newest_pairs(sorted(before, key=_key, reverse=True)), most)),
        )

    def _last_stored(self, prefix: bytes, upto: bytes) -> write_buffer.Pair | None:
        found = super()._last_stored(prefix, upto)
        for run in self._holding(prefix):
            if found is not None and self._logged:
                break
            pair = next(self._walk(run, prefix, upto, reverse=True), None)
            if pair is not None and (found is None or pair[0] > found[0]):
                found = pair
        return found

    def _holding(self, prefix: bytes) -> list[Run]:
        """The runs that may hold a key that begins so, the newest first."""
        return [run for *_, run in self._may_hold(prefix)]

    def _runs_to_search(self) -> _Runs:
        found = self._asked = self._ready()
        self._groups = {}
        return found

    def _may_hold(self, prefix: bytes) -> list[_Asked]:
        """As :meth:`_holding`."""
        runs, size = self._asked or self._runs_to_search(), len(prefix)
        if size == self._whole and runs.know_keys:
            # A group may be in many runs, as that of all that lies in one world; a key is in one, or few.
            return list(_runs_with_crc(runs.reaching(prefix), crc32(prefix)))
        # Of a group several others are asked that are a part of it: of a world its edges of each type.
        asked: list[_Asked] | None = None
        for shorter in self._shortest_first:
            if shorter > size:
                break
            group = prefix[:shorter]
            known = self._groups.get(group)
            if known is None:
                asked = runs.reaching(prefix) if asked is None else asked
                known = list(_runs_with_crc(asked, crc32(group))) if asked else asked
                if len(self._groups) < _MAX_KEPT:
                    self._groups[group] = known
            asked = known
        if asked is None:
            return runs.reaching(prefix)
        if size == self._whole and asked:
            whole = list(_runs_with_crc(asked, crc32(prefix)))
            asked = [each for each in asked if each in whole or not each[3]]
        return asked

    def _ready(self) -> _Runs:
        """The runs with their filters, the newest first, as the last read of the same runs left them."""
        known = _asked_before.get(self._first)
        if known is not None and known[0] == self.runs:
            return known[1]
        asked: list[_Asked] = []
        for run in reversed(self.runs):
            bits, place = _filters.get(run.filter) or self._read_filter(run), self._place(RUNS_KEY, run.number)
            asked.append((bits, 8 * len(bits), len(run.filter) > _DIGEST_BYTES, _is_of_keys(run), place, run))
        last_keys = list(accumulate((self._last_key(each[4]) for each in reversed(asked)), max))
        found = _Runs(asked, all(_is_of_keys(run) for run in self.runs), last_keys)
        _asked_before[self._first] = list(self.runs), found
        return found

    def _last_key(self, place: bytes) -> bytes:
        try:
            page = self._page_till(self._own_cursor(), place, _BEHIND_ALL)[0]
        except DamagedStore:
            return _BEHIND_ALL  # A read of the damaged page reports it.
        return page.key(page.count - 1) if page.count else b""

    def _holding_each(self, prefixes: Sequence[bytes]) -> Iterator[tuple[Run, list[bytes]]]:
        """The runs, the newest first, each with those of some prefixes of one length that it may hold."""
        import numpy as np  # As in `_filter_of`.

        size = len(prefixes[0]) if prefixes else 0
        sizes = [each for each in self._filtered if size >= each]
        crcs = [_as_crcs([crc32(prefix[:each]) for prefix in prefixes]) for each in sizes]
        of_keys = [_as_crcs(list(map(crc32, prefixes)))] if size and size == self._whole else crcs
        for run in reversed(self.runs):
            bits = _filters.get(run.filter) or self._read_filter(run)
            stored, held = np.frombuffer(bits, dtype=np.uint8), np.arange(len(prefixes))
            factors = _SPREAD if len(run.filter) > _DIGEST_BYTES else _SPREAD[:1]
            # One in five passes the first bit of a run that has it not.
            for crc, factor in product(of_keys if _is_of_keys(run) else crcs, factors):
                at = crc[held] * np.uint32(factor) % np.uint32(len(bits) * 8)
                held = held[(stored[at >> 3] >> (at & 7) & 1).astype(bool)]
            yield run, [prefixes[at] for at in held.tolist()]

    def _read_filter(self, run: Run) -> bytes:
        stored: bytes | None = self._txn.get(self._place(FILTERS, run.number))  # type: ignore[assignment]
        if not stored or _digest(stored) != run.filter[-_DIGEST_BYTES:]:
            raise _damaged_error(f"the filter of packed run {run.number} is not what was written")
        _keep_filter(run.filter, stored)
        return stored

    def _place(self, kind: bytes, number: int) -> bytes:
        return kind + self._first + schema.U32.pack(number)

    def _read(self, stored: bytes) -> Page:
        if self._fixed is not None:
            page = _FixedPage(stored, *self._fixed)
            pairs = page.pairs(0, page.count)
            return [key for key, _ in pairs], [value for _, value in pairs]
        try:
            keys, values = _PAGES.decode(stored)
        except msgspec.DecodeError as error:
            raise _damaged_error("a packed page cannot be read") from error
        if len(keys) != len(values) or not keys:
            raise _damaged_error("a packed page has keys without values")
        return keys, values

    def _pairs_of(self, run: Run, wanted: Sequence[bytes]) -> list[write_buffer.Pair]:
        """The pairs of a run with some keys, which come in order: each page is read once."""
        return [pair for key, rows in self._rows_of(run, wanted) for pair in rows if pair[0] == key]

    def _rows_of(
        self, run: Run, prefixes: Sequence[bytes], most: int = write_buffer.SHORT
    ) -> Iterator[tuple[bytes, list[write_buffer.Pair]]]:
        """The rows of a run under each of some prefixes, which come in order, that has any.

        Of one hardly more than ``most``. Each page is read once, and all of it before anybody else uses the cursor.
        """
        cursor, place = self._own_cursor(), self._place(RUNS_KEY, run.number)
        page: _Page = _NO_PAGE
        till = b""
        for prefix in prefixes:
            # What comes before the page behind is in the one at hand.
            if prefix >= till:
                page, till = self._page_till(cursor, place, prefix)
            begin, end = page.stretch(prefix)
            rows = page.pairs(begin, end) if begin < end else []
            if till.startswith(prefix) or (not till and end == page.count):
                rows += self._rows_behind(cursor, place, prefix, most - len(rows))
                till = b""
            if rows:
                yield prefix, rows

    def _rows_behind(self, cursor: lmdb.Cursor, place: bytes, prefix: bytes, most: int) -> list[write_buffer.Pair]:
        """The rows under a prefix on the pages behind the one that a cursor is at, hardly more than ``most``."""
        rows: list[write_buffer.Pair] = []
        while len(rows) <= most and cursor.next() and (page := self._page_under(cursor, place)).count:
            begin, end = page.stretch(prefix)
            rows += page.pairs(begin, end)
            if end < page.count:
                break
        return rows

    def _page_at(self, cursor: lmdb.Cursor, place: bytes, key: bytes) -> _Page:
        """The page of a run in which a key is, or would be."""
        return self._page_till(cursor, place, key)[0]

    def _page_till(self, cursor: lmdb.Cursor, place: bytes, key: bytes) -> tuple[_Page, bytes]:
        """As :meth:`_page_at`, and the first key that is surely not on it; nothing if that is not known."""
        at = place + key[:_MAX_APART]
        if not cursor.set_range(at):
            cursor.last()
            return self._page_under(cursor, place), _BEHIND_ALL
        behind: bytes = cursor.key()  # type: ignore[assignment]
        if behind == at:
            return self._page_under(cursor, place), b""
        page: _Page = _NO_PAGE
        if cursor.prev():
            first, stored = cursor.item()
            if (fixed := self._fixed) is None:
                page = self._page_under(cursor, place)
            elif first.startswith(place):  # type: ignore[union-attr]
                page = _FixedPage(stored, *fixed)  # type: ignore[arg-type]
        if not behind.startswith(place):
            return page, _BEHIND_ALL
        if not page.count:
            # All are behind it.
            cursor.set_range(at)
            return self._page_under(cursor, place), b""
        return page, behind[len(place) :]

    def _page_under(self, cursor: lmdb.Cursor, place: bytes) -> _Page:
        """The page that a cursor is at; an empty one if that is none of the run's."""
        key, stored = cursor.item()
        if not key.startswith(place):  # type: ignore[union-attr]
            return _NO_PAGE
        fixed = self._fixed
        if fixed is not None:
            return _FixedPage(stored, *fixed)  # type: ignore[arg-type]
        return _ListPage(*self._read(stored))  # type: ignore[arg-type]

    def _rows_in(self, place: bytes, prefix: bytes, most: int = MAX_TAKEN) -> list[write_buffer.Pair]:
        """The rows of the run at a place whose key begins with ``prefix``, hardly more than ``most``."""
        cursor, shape = self._own_cursor(), self._shape
        if shape is not None:
            return self._fixed_rows_in(cursor, place, prefix, most, shape)
        page, till = self._page_till(cursor, place, prefix)
        begin, end = page.stretch(prefix)
        rows = page.pairs(begin, end) if begin < end else []
        if till.startswith(prefix) or (not till and end == page.count):
            rows += self._rows_behind(cursor, place, prefix, most - len(rows))
        return rows

    def _fixed_rows_in(
        self, cursor: lmdb.Cursor, place: bytes, prefix: bytes, most: int, shape: tuple[int, int, int]
    ) -> list[write_buffer.Pair]:
        """As :meth:`_rows_in`, where rows are of one length; most reads come here many times."""
        at, behind = place + prefix, b""
        if not cursor.set_range(at):
            cursor.last()
        elif (behind := cursor.key()) != at:  # type: ignore[assignment]
            cursor.prev()
        first, stored = cursor.item()
        rows: list[write_buffer.Pair] = []
        if first.startswith(place):  # type: ignore[union-attr]
            mask_end, key_bytes, row_bytes = shape
            layout = _layout(stored[_COUNT_BYTES:mask_end], key_bytes, row_bytes)
            rows = layout.rows_under(stored, prefix)  # type: ignore[arg-type]
        # The page behind has more of them if what sets it apart says so, or if the one that begins with them is full.
        if behind.startswith(at) and (behind != at or len(rows) == layout.count_of(stored)):  # type: ignore[arg-type]
            rows += self._rows_behind(cursor, place, prefix, most - len(rows))
        return rows

    def _walk(
        self, run: Run, prefix: bytes, start: bytes | None, *, reverse: bool = False
    ) -> Iterator[write_buffer.Pair]:
        """The rows of a run whose key begins with ``prefix``, from ``start`` on."""
        place = self._place(RUNS_KEY, run.number)
        with self._txn.cursor() as cursor:
            if reverse:
                yield from self._walk_back(cursor, place, prefix, start)
                return
            at = prefix if start is None else start
            page = self._page_at(cursor, place, at)
            here = page.place(at)
            while page.count:
                for each in range(here, page.count):
                    [pair] = page.pairs(each, each + 1)
                    if not pair[0].startswith(prefix):
                        return
                    yield pair
                page, here = self._page_under(cursor, place) if cursor.next() else _NO_PAGE, 0

    def _walk_back(
        self, cursor: lmdb.Cursor, place: bytes, prefix: bytes, start: bytes | None
    ) -> Iterator[write_buffer.Pair]:
        beyond = write_buffer.successor(prefix) if start is None else None
        at = beyond if start is None else start
        page = self._page_at(cursor, place, b"\xff" * _MAX_APART if at is None else at)
        while page.count:
            last = page.count if at is None else page.place(at)
            if start is not None and last < page.count and page.key(last) == at:
                last += 1
            for here in range(last - 1, -1, -1):
                [pair] = page.pairs(here, here + 1)
                if not pair[0].startswith(prefix):
                    return
                yield pair
            page = self._page_under(cursor, place) if cursor.prev() else _NO_PAGE

    # -- writing

    def flush(self) -> None:
        """Write what is in memory, sorted, into the table's own place."""
        self._delete_packed()
        super().flush()

    def _delete_packed(self) -> None:
        if self._deletes:
            for key, value in self._pending.items():
                if value is None:
                    self._delete_from_runs(key)

    def _delete_from_runs(self, key: bytes) -> None:
        cursor = self._own_cursor()
        for run in self._holding(key):
            found = self._page_at(cursor, self._place(RUNS_KEY, run.number), key)
            at = found.place(key)
            if at < found.count and found.key(at) == key:
                page = bytes(cursor.key())
                keys, values = self._read(cursor.value())  # type: ignore[arg-type]
                del keys[at], values[at]
                if not keys:
                    self._txn.delete(page)
                elif self._fixed is None:
                    self._txn.put(page, _ENCODER.encode((keys, values)))
                else:
                    rows = next(_as_rows(iter([(keys, values)]), self._fixed))
                    self._txn.put(page, _pack_rows(rows, (rows != rows[0]).any(axis=0)))

    def take_from(self, table: write_buffer.Table) -> None:
        """Take over what is in memory of this table, which had no runs until now."""
        self._deletes, self._columns, self._pending = table._deletes, table._columns, table._pending
        self._grouped, self._ungrouped = table._grouped, table._ungrouped

    def pack(self, merged: int = 0) -> int:
        """Write what is in memory, and all that the table has in its own place, as a run.

        Runs of like size become one, if that is not too much beside so many rows that this commit has ``merged`` of
        other tables; else they wait. Returns how many rows it has merged by now.
        """
        self._delete_packed()
        columns, pending = self._columns, self._pending
        if self._deletes:
            for key in [key for key, value in pending.items() if value is None]:
                self._txn.delete(self._first + key)
            pending = {key: value for key, value in pending.items() if value is not None}
        if pending:
            columns.insert(0, (list(pending), list(pending.values())))  # type: ignore[arg-type]
        del pending
        self._forget()
        if columns or self.own_rows(1):
            self._write_newest(columns)
        columns.clear()
        for runs in self._runs_to_merge():
            rows = sum(run.rows for run in runs)
            if not merged or merged + rows <= MAX_MERGED_AT_ONCE:
                self._merge(runs)
                return merged + rows
        return merged

    @property
    def runs_waiting(self) -> int:
        """How many of the newest runs are to become one."""
        return len(next(self._runs_to_merge(), ()))

    def _drain_rows(self) -> Iterator[Page]:
        """Take the rows out of the table's own place, in order, some at a time."""
        first = self._first
        while True:
            with self._txn.cursor() as cursor:
                if not cursor.set_range(first) or not cursor.key().startswith(first):  # type: ignore[union-attr]
                    return  # At once, for what is behind are the rows of another table.
                pairs: list[write_buffer.Pair] = list(islice(cursor.iternext(), _DRAINED))  # type: ignore[arg-type]
                if not pairs[-1][0].startswith(first):
                    del pairs[bisect_left(pairs, True, key=lambda pair: not pair[0].startswith(first)) :]
                cursor.set_range(first)
                deque(islice(iter(cursor.delete, False), len(pairs)), maxlen=0)
            yield [key[1:] for key, _ in pairs], [value for _, value in pairs]

    def _write_newest(self, columns: Sequence[Page]) -> None:
        """Pack what the table has in its own place, and columns of pairs in any order, the oldest first."""
        fixed = self._fixed
        if fixed is None:
            pages = (iter([write_buffer.in_order(*column)]) for column in columns)
            self._write(_merged_pages([self._drain_rows(), *pages]))
        else:
            # Rows that nobody has read go from their columns into one of bytes: no dictionary and no row is made.
            rows = [_in_order(list(_as_rows(reversed(columns), fixed)), fixed)] if columns else []
            self._write_rows(_merged_rows([_as_rows(self._drain_rows(), fixed), iter(rows)], fixed), fixed)

    def _runs_to_merge(self) -> Iterator[list[Run]]:
        """The newest runs that are to become one: the most, and the fewer that could in their place.

        Four or more are of the largest size among them; those that are smaller count as one if they come to it. Where
        groups lie in log order, and four such would be too many rows, two are enough.
        """
        found: list[int] = []
        largest = several = alike = smaller = rows = 0
        most = MAX_MERGED_LOGGED if self._logged else MAX_MERGED
        for length, run in enumerate(reversed(self.runs), 1):
            if rows + run.rows > most:
                if self._logged and 1 < several < _ALIKE and rows * _ALIKE > most * several:
                    found.append(length - 1)
                break
            if _size(run.rows) > largest:
                largest, alike, smaller = _size(run.rows), 0, rows
            rows += run.rows
            if _size(run.rows) == largest:
                alike += 1
            several = alike + (smaller > 0 and _size(smaller) >= largest)
            if several >= _ALIKE:
                found.append(length)
        return (self.runs[-length:] for length in reversed(found))

    def _merge(self, runs: Sequence[Run]) -> None:
        """Make one run of some that were written one after the other."""
        places = [self._place(RUNS_KEY, run.number) for run in runs]
        pages = [self._page_keys(place) for place in places]
        del self.runs[-len(runs) :]
        self._asked = None
        if self._fixed is None:
            self._write(_merged_pages([self._read_pages(found) for found in pages]))
        else:
            fixed = self._fixed
            self._write_rows(_merged_rows([self._read_rows(found, fixed) for found in pages], fixed), fixed)
        for page in (page for found in pages for page in found):
            self._txn.delete(page)
        for run in runs:
            self._txn.delete(self._place(FILTERS, run.number))
            _filters.pop(run.filter, None)

    def _page_keys(self, place: bytes) -> list[bytes]:
        with self._txn.cursor() as cursor:
            found = cursor.iternext(values=False) if cursor.set_range(place) else iter(())
            return list(_beginning(place, found))  # type: ignore[arg-type]

    def _read_pages(self, pages: Sequence[bytes]) -> Iterator[Page]:
        for begin in range(0, len(pages), _TOGETHER):
            keys: list[bytes] = []
            values: list[bytes] = []
            for page in pages[begin : begin + _TOGETHER]:
                more_keys, more_values = self._read(self._txn.get(page))  # type: ignore[arg-type]
                keys += more_keys
                values += more_values
            yield keys, values

    def _read_rows(self, pages: Sequence[bytes], fixed: tuple[int, int]) -> Iterator[Rows]:
        for begin in range(0, len(pages), _MORE_TOGETHER):
            stored = map(self._txn.get, pages[begin : begin + _MORE_TOGETHER])
            yield _join_parts([_FixedPage(page, *fixed).rows() for page in stored])  # type: ignore[arg-type]

    def _write_rows(self, parts: Iterable[Rows], fixed: tuple[int, int]) -> None:
        """As :meth:`_write`, of rows of one length: many at once takes a third of the time."""
        number, last, count = self._next_number(), b"", 0
        place, groups = self._place(RUNS_KEY, number), list[Crcs]()
        for rows, is_apart in _fill_pages(self._collect_groups(parts, groups)):
            first = _key_at(rows, fixed, 0)
            apart = first[: _common_prefix_bytes(last, first) + 1] if last else b""
            self._txn.put(place + apart, _pack_rows(rows, is_apart))
            last = _key_at(rows, fixed, len(rows) - 1)
            count += len(rows)
        self._list_run(number, count, groups)

    def _collect_groups(self, parts: Iterable[Rows], groups: list[Crcs]) -> Iterator[Rows]:
        """Note what a filter is to know of some rows that are passed on."""
        for rows in parts:
            sizes = self._filtered if self._whole is None else (self._whole, *self._filtered)
            groups += _crcs(rows, sizes)
            yield rows

    def _write(self, parts: Iterable[Page]) -> None:
        """Pack rows that come in order as the newest run."""
        number = self._next_number()
        place, rows = self._place(RUNS_KEY, number), 0
        import numpy as np  # As in `_filter_of`.

        beginnings = {size: bytearray() for size in self._filtered}
        for apart, keys, values in _separate_pages(_pages(parts)):
            self._txn.put(place + apart, _ENCODER.encode((keys, values)))
            rows += len(keys)
            for size, found in beginnings.items():
                found += b"".join([key[:size] for key in keys])
        groups = list[Crcs]()
        for size, found in beginnings.items():
            groups += _crcs(np.frombuffer(found, dtype=np.uint8).reshape(-1, size), (size,))
        self._list_run(number, rows, groups)

    def _next_number(self) -> int:
        number = max((run.number for run in self.runs), default=0) + 1
        while self._txn.get(self._place(FILTERS, number)) is not None:
            number += 1  # It is being merged into this one.
        return number

    def _list_run(self, number: int, rows: int, groups: Sequence[Crcs]) -> None:
        stored = _filter_of(groups)
        self._txn.put(self._place(FILTERS, number), stored)
        found = (_THREE_BITS if self._whole is None else _WHOLE_KEYS) + _digest(stored)
        _keep_filter(found, stored)
        self.runs.append(Run(number, rows, found))
        self._asked = None

    def faults(self) -> Iterator[str]:
        """What a look for one row could be led astray by, though a scan of all is not."""
        for run in self.runs:
            stored: bytes | None = self._txn.get(self._place(FILTERS, run.number))  # type: ignore[assignment]
            if not stored or _digest(stored) != run.filter[-_DIGEST_BYTES:]:
                yield f"the filter of packed run {run.number} is not what was written"
            place, last = self._place(RUNS_KEY, run.number), b""
            for page in self._page_keys(place):
                keys, _ = self._read(self._txn.get(page))  # type: ignore[arg-type]
                apart = page[len(place) :]
                if (last and apart <= last) or apart > keys[0] or sorted(set(keys)) != keys:
                    yield f"a page of packed run {run.number} is out of order"
                last = keys[-1]

    def clear(self) -> None:
        super().clear()
        self.runs.clear()
        self._asked = None


def clear_runs(txn: lmdb.Transaction) -> None:
    """Delete all runs of all tables."""
    with txn.cursor() as cursor:
        found = cursor.set_range(RUNS_KEY)
        while found and cursor.key()[:1] in (RUNS_KEY, FILTERS):
            found = cursor.delete()


def is_of_runs(key: bytes, tables: dict[bytes, list[Run]]) -> bool:
    """True if a key is of a run that is listed, by the tables' bytes."""
    if key == RUNS_KEY:
        return bool(tables)
    numbers = {run.number for run in tables.get(key[1:2], ())}
    return key[:1] in (RUNS_KEY, FILTERS) and int.from_bytes(key[2:6], "big") in numbers


def _size(rows: int) -> int:
    """How often a run has grown fourfold."""
    return (rows // FEW).bit_length() // 2


def _merged_pages(readers: Sequence[Iterator[Page]]) -> Iterator[Page]:
    """The rows of some readers in order, a part at a time: up to where each has been read.

    Of equal keys the last reader's row is the newest.
    """
    heads = [(reader, page) for reader in readers if (page := next(reader, None)) is not None]
    while len(heads) > 1:
        upto = min(keys[-1] for _, (keys, _) in heads)
        part: dict[bytes, bytes] = {}
        left: list[tuple[Iterator[Page], Page]] = []
        for reader, (keys, values) in heads:
            till = bisect_right(keys, upto)
            part.update(zip(keys[:till], values[:till], strict=True))
            after = (keys[till:], values[till:]) if till < len(keys) else next(reader, None)
            if after is not None:
                left.append((reader, after))
        heads, ordered = left, sorted(part)
        yield ordered, list(map(part.__getitem__, ordered))
    for reader, page in heads:
        yield page
        yield from reader


def _merged_rows(readers: Sequence[Iterator[Rows]], fixed: tuple[int, int]) -> Iterator[Rows]:
    """As :func:`_merged_pages`, of rows of one length."""
    heads = [(reader, first) for reader in reversed(readers) if (first := next(reader, None)) is not None]
    while len(heads) > 1:
        upto = min(_key_at(rows, fixed, len(rows) - 1) for _, rows in heads)
        part: list[Rows] = []
        left: list[tuple[Iterator[Rows], Rows]] = []
        for reader, rows in heads:
            till = bisect_right(range(len(rows)), upto, key=lambda at: _key_at(rows, fixed, at))
            part.append(rows[:till])
            after = rows[till:] if till < len(rows) else next(reader, None)
            if after is not None:
                left.append((reader, after))
        heads = left
        yield _in_order(part, fixed)
    for reader, rows in heads:
        yield rows
        yield from reader


def _filter_of(groups: Sequence[Crcs]) -> bytes:
    """Three bits for each of some CRCs, among twelve times as many."""
    import numpy as np  # Most processes read and write no packed rows.

    crcs = np.concatenate(groups)
    bits = np.zeros((len(crcs) * 12 // 8 + 1) * 8, dtype=np.uint8)
    for factor in _SPREAD:
        bits[crcs * np.uint32(factor) % np.uint32(len(bits))] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def _as_crcs(found: Sequence[int]) -> Crcs:
    import numpy as np  # As above.

    return np.array(found, dtype=np.uint32)


@cache
def _crcs_of_bytes() -> Crcs:
    """What each byte makes of a CRC of zero."""
    return _as_crcs([crc32(bytes([byte ^ 0xFF]), 0) ^ 0xFF000000 for byte in range(256)])


def _crcs(rows: Rows, sizes: Sequence[int]) -> list[Crcs]:
    """The CRCs of beginnings of keys of some sizes; each once, as they come in order."""
    import numpy as np  # As above.

    table, crcs, found = _crcs_of_bytes(), np.full(len(rows), 2**32 - 1, dtype=np.uint32), list[Crcs]()
    is_new = np.zeros(len(rows), dtype=np.bool_)
    is_new[0] = True
    for size, column in enumerate(np.ascontiguousarray(rows[:, : max(sizes)].T), 1):
        crcs = table.take(crcs.astype(np.uint8) ^ column) ^ (crcs >> 8)
        is_new[1:] |= column[1:] != column[:-1]
        if size in sizes:
            found.append(~crcs[is_new])
    return found


def _as_texts(keys: Rows) -> Any:
    """Keys of one length as NumPy compares and sorts them: byte by byte."""
    import numpy as np  # As above.

    return np.ascontiguousarray(keys).view(f"S{keys.shape[1]}").ravel()


def _in_order(parts: Sequence[Rows], fixed: tuple[int, int]) -> Rows:
    """Rows by their keys, of equal ones the first."""
    import numpy as np  # As above.

    rows = np.concatenate(parts)
    keys = _as_texts(rows[:, : fixed[0]])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    found: Rows = rows[order[np.append(True, keys[1:] != keys[:-1])]]
    return found


def _as_rows(pages: Iterable[Page], fixed: tuple[int, int]) -> Iterator[Rows]:
    return (_rows(_column(keys, fixed[0]), _column(values, fixed[1])) for keys, values in pages)


def _column(fields: Sequence[bytes], width: int) -> Rows:
    import numpy as np  # As above.

    return np.frombuffer(b"".join(fields), dtype=np.uint8).reshape(len(fields), width)


def _rows(keys: Rows, values: Rows) -> Rows:
    import numpy as np  # As above.

    return np.concatenate((keys, values), axis=1)


def _key_at(rows: Rows, fixed: tuple[int, int], at: int) -> bytes:
    return rows[at, : fixed[0]].tobytes()


def _pack_rows(rows: Rows, is_apart: NDArray[np.bool_]) -> bytes:
    """A page of rows of one length, given in which columns they differ."""
    import numpy as np  # As above.

    mask = np.packbits(is_apart, bitorder="little").tobytes()
    apart = rows.take(np.flatnonzero(is_apart), axis=1)
    return b"".join((len(rows).to_bytes(_COUNT_BYTES, "big"), mask, rows[0, ~is_apart].tobytes(), apart.tobytes()))


def _fill_pages(parts: Iterable[Rows]) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
    """Rows that come in parts, as many at a time as fill a page, with the columns in which these differ."""
    remainder: Rows | None = None
    guess = _GUESSED
    for part in parts:
        rows = part if remainder is None else _join_parts([remainder, part])
        begin = 0
        while begin < len(rows):
            count, is_apart = _page_fill(rows[begin : begin + guess])
            if begin + count == len(rows):
                break
            if count == guess:
                guess *= 2
                continue
            yield rows[begin : begin + count], is_apart
            begin, guess = begin + count, count + count // 8 + _GUESSED // 8
        remainder = rows[begin:]
    while remainder is not None and len(remainder):
        count, is_apart = _page_fill(remainder)
        yield remainder[:count], is_apart
        remainder = remainder[count:]


def _page_fill(rows: Rows) -> tuple[int, NDArray[np.bool_]]:
    """How many of some rows fill a page, and in which columns these differ."""
    import numpy as np  # As above.

    # Where all are alike it is 0, as the first row does not differ from itself.
    first = (rows != rows[0]).argmax(axis=0)
    first[first == 0] = len(rows)
    ends = np.full(len(first) + 1, len(rows))
    ends[:-1] = np.sort(first)
    count = min(max(1, int(np.minimum(ends, _fitting(len(first), PAGE_ROOM)).max())), _MAX_ROWS)
    return count, first < count


@lru_cache(maxsize=64)
def _fitting(columns: int, room: int) -> Columns:
    """How many rows fit into so many bytes, by how many of their columns are apart."""
    import numpy as np  # As above.

    apart = np.arange(columns + 1)
    left = room - _COUNT_BYTES - (columns + 7) // 8 - (columns - apart)
    return np.where(apart, left // np.maximum(apart, 1), _MAX_ROWS)


def _join_parts(parts: Sequence[Rows]) -> Rows:
    import numpy as np  # As above.

    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _is_of_keys(run: Run) -> bool:
    return len(run.filter) > _DIGEST_BYTES and run.filter.startswith(_WHOLE_KEYS)


def _runs_with_crc(asked: Iterable[_Asked], crc: int) -> Iterator[_Asked]:
    """Those of some runs whose filter has all bits of a CRC. Each read comes here many times."""
    for each in asked:
        bits, many = each[0], each[1]
        at = crc % many
        if bits[at >> 3] >> (at & 7) & 1:
            if each[2]:
                at = (crc * _SECOND & 0xFFFFFFFF) % many
                if not bits[at >> 3] >> (at & 7) & 1:
                    continue
                at = (crc * _THIRD & 0xFFFFFFFF) % many
                if not bits[at >> 3] >> (at & 7) & 1:
                    continue
            yield each


def _digest(stored: bytes) -> bytes:
    return blake3(stored).digest(_DIGEST_BYTES)


def _keep_filter(digest: bytes, stored: bytes) -> None:
    if sum(map(len, list(_filters.values()))) + len(stored) > _MAX_FILTER_BYTES:
        _filters.clear()
    _filters[digest] = stored


def _beginning(place: bytes, keys: Iterator[bytes]) -> Iterator[bytes]:
    for key in keys:
        if not key.startswith(place):
            return
        yield key


def _newest_pairs(pairs: Iterable[write_buffer.Pair]) -> Iterator[write_buffer.Pair]:
    """The first of each key: pairs come in order, and of equal keys the newest first."""
    last = None
    for pair in pairs:
        if pair[0] != last:
            last = pair[0]
            yield pair


def _pages(parts: Iterable[Page]) -> Iterator[Page]:
    """Rows that come in order, as many together as fill a page."""
    keys: list[bytes] = []
    values: list[bytes] = []
    guess = _GUESSED
    for more_keys, more_values in parts:
        keys += more_keys
        values += more_values
        begin = 0
        while True:
            # A page has about as many rows as the one before: the sizes of these are added up at once.
            end = min(begin + guess, len(keys))
            size = sum(map(len, keys[begin:end])) + sum(map(len, values[begin:end])) + _ROW_BYTES * (end - begin)
            while size <= PAGE_ROOM and end < len(keys):
                size += len(keys[end]) + len(values[end]) + _ROW_BYTES
                end += 1
            while size > PAGE_ROOM and end > begin + 1:
                end -= 1
                size -= len(keys[end]) + len(values[end]) + _ROW_BYTES
            if end == len(keys):
                break
            yield keys[begin:end], values[begin:end]
            guess, begin = end - begin, end
        keys, values = keys[begin:], values[begin:]
    if keys:
        yield keys, values


def _separate_pages(pages: Iterator[Page]) -> Iterator[tuple[bytes, list[bytes], list[bytes]]]:
    """Each page with the shortest bytes that its keys do not come before, and those of the page before do.

    Two pages whose keys agree for longer than a key of LMDB can be are one.
    """
    apart, held = b"", next(pages, None)
    for page in pages:
        assert held is not None
        agree = _common_prefix_bytes(held[0][-1], page[0][0])
        if agree >= _MAX_APART:
            held = held[0] + page[0], held[1] + page[1]
            continue
        yield apart, *held
        apart, held = page[0][0][: agree + 1], page
    if held is not None:
        yield apart, *held


def _common_prefix_bytes(one: bytes, other: bytes) -> int:
    """In how many bytes two keys begin alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (mine, theirs) in enumerate(pairs) if mine != theirs), len(one))
