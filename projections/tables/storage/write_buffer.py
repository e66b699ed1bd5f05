"""A table in one transaction: reads see writes that wait in memory; a flush writes them.

LMDB is quickest when a commit's pairs arrive sorted and each page is touched once, so nothing is written until the
end of the commit.
"""

import sys
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, islice, pairwise
from operator import itemgetter
from typing import Any, Final, TypeVar

import lmdb

from worlddb.log.store import log
from worlddb.projections.tables.storage.schema import U64

Pair = tuple[bytes, bytes]
Pending = tuple[bytes, bytes | None]
Item = TypeVar("Item")


_key = itemgetter(0)

_FEW: Final = 4
"""How many pairs are read at first: most groups have no more."""
SHORT: Final = 32
"""How many pairs of a group are read at most where many groups are."""
_COUNTED_AT_ONCE: Final = 4_096
_FEW_GROUPS: Final = 16
_MANY_ROWS: Final = 1 << 15
"""So many rows at once are sorted by numpy, in half of the time; of fewer it would not make good that it is loaded."""
_SOME_ROWS: Final = 1 << 11
"""So many are, too, where it is loaded already."""
_BEHIND_ALL: Final = b"\xff" * 512
"""Greater than any key."""


class Table:
    """Get, put, delete and scan over LMDB and what has been put since."""

    __slots__ = (
        "_ahead",
        "_columns",
        "_cursor",
        "_deletes",
        "_first",
        "_grouped",
        "_pending",
        "_prefix_bytes",
        "_txn",
        "_ungrouped",
    )

    def __init__(self, txn: lmdb.Transaction, first_byte: bytes, prefix_bytes: int = 0) -> None:
        self._txn = txn
        self._first = first_byte
        self._deletes = False
        self._prefix_bytes = prefix_bytes
        self._ahead: dict[bytes, list[Pair]] = {}
        self._pending: dict[bytes, bytes | None] = {}
        self._columns: list[tuple[list[bytes], list[bytes]]] = []
        self._grouped: defaultdict[bytes, list[bytes]] | None = None
        self._cursor: lmdb.Cursor | None = None
        self._ungrouped: list[bytes] = []

    def get(self, key: bytes) -> bytes | None:
        if self._columns:
            self._take_in()
        if self._pending and key in self._pending:
            return self._pending[key]
        return self._txn.get(self._first + key)  # type: ignore[return-value]

    def put(self, key: bytes, value: bytes | None) -> None:
        """Store a pair; ``None`` deletes the key."""
        if self._columns:
            self._take_in()
        if self._prefix_bytes and key not in self._pending:
            self._ungrouped.append(key)
        self._pending[key] = value
        if value is None:
            self._deletes = True

    def put_new(self, keys: list[bytes], values: Iterable[bytes]) -> None:
        """Store many pairs, whose keys differ; values beyond the last key are left.

        They stay as they come until somebody reads or puts: of most tables, nobody does before they are written.
        """
        if keys:
            self._columns.append((keys, list(islice(values, len(keys)))))

    def _take_in(self) -> None:
        """Merge rows that came in columns with the others in memory."""
        columns, self._columns = self._columns, []
        for keys, values in columns:
            if self._prefix_bytes:
                known = self._pending.keys()
                self._ungrouped += keys if known.isdisjoint(keys) else [key for key in keys if key not in known]
            self._pending.update(zip(keys, values, strict=True))

    def scan(self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False) -> Iterator[Pair]:
        """Yield the pairs whose key begins with ``prefix``, in key order.

        From ``start`` on (inclusive, either direction).
        """
        if self._columns:
            self._take_in()
        fresh = self._scan_pending(prefix, start, reverse=reverse) if self._pending else []
        if start is None and not reverse and prefix in self._ahead:
            return self._merged(iter(self._ahead[prefix]), fresh, reverse=False) if fresh else iter(self._ahead[prefix])
        if not fresh and not reverse:
            return self._scan_on(self._first + prefix, self._first + (prefix if start is None else start))
        if self._seek(prefix) is None:
            return _live(fresh)
        stored = self._scan_stored(prefix, start, reverse=reverse)
        return self._merged(stored, fresh, reverse=reverse) if fresh else stored

    def _scan_on(self, within: bytes, at: bytes) -> Iterator[Pair]:
        """Yield the stored pairs from a key on.

        The first few are read at once, by the cursor of single look-ups: most groups are short, and to open another
        cursor and find the place again would cost more than they do.
        """
        cursor = self._own_cursor()
        pairs: list[Pair] = []
        if cursor.set_range(at):
            stored: Iterator[Pair] = cursor.iternext()  # type: ignore[assignment]
            for key, value in stored:
                if not key.startswith(within):
                    break
                if len(pairs) == _FEW:
                    return chain(pairs, self._scan_stored(within[1:], key[1:], reverse=False))
                pairs.append((key[1:], value))
        return iter(pairs)

    def scan_each(self, prefixes: Iterable[bytes]) -> Iterator[Iterator[Pair]]:
        """As :meth:`scan`, of many groups one after the other, with one cursor.

        Each is read, as far as is wanted, before the next one is asked for. One that is empty may be left out.
        """
        if self._columns or self._pending:
            yield from map(self.scan, prefixes)
        else:
            yield from self._scan_each_stored(prefixes)

    def _scan_each_stored(self, prefixes: Iterable[bytes]) -> Iterator[Iterator[Pair]]:
        with self._txn.cursor() as cursor:
            # Between the last row that was read and the one behind it there is nothing: groups there need no look.
            looked, behind = b"", b""
            for within in map(self._first.__add__, prefixes):
                if not looked <= within <= behind:
                    looked = within
                    behind = cursor.key() if cursor.set_range(within) else _BEHIND_ALL  # type: ignore[assignment]
                if not behind.startswith(within):
                    continue
                pairs: list[Pair] = []
                while behind.startswith(within) and len(pairs) < _FEW:
                    looked = behind
                    pairs.append((behind[1:], cursor.value()))  # type: ignore[arg-type]
                    behind = cursor.key() if cursor.next() else _BEHIND_ALL  # type: ignore[assignment]
                if behind.startswith(within):
                    yield chain(pairs, under(within, cursor.iternext()))  # type: ignore[arg-type]
                    looked, behind = b"", b""
                else:
                    yield iter(pairs)

    def scan_on_each(self, groups: Iterable[tuple[bytes, bytes]]) -> Iterator[Iterator[Pair]]:
        """As :meth:`scan`, of many groups, each from what its keys go on with, with one cursor.

        Each is read, as far as is wanted, before the next one is asked for.
        """
        if self._columns or self._pending:
            yield from (self.scan(prefix, prefix + start) for prefix, start in groups)
            return
        with self._txn.cursor() as cursor:
            for prefix, start in groups:
                within = self._first + prefix
                is_there = cursor.set_range(within + start)
                yield under(within, cursor.iternext()) if is_there else iter(())  # type: ignore[arg-type]

    def stored_each(self, prefixes: Sequence[bytes]) -> dict[bytes, list[Pair]]:
        """The stored pairs of each of some short groups that has any; of a longer one there are more than ``SHORT``.

        Prefixes are of one length. They are read in order, for each page of the file is looked at once then.
        """
        groups: dict[bytes, list[Pair]] = {}
        with self._txn.cursor() as cursor:
            # Between the last row that was read and the one behind it lies nothing: groups there need no look.
            behind = b""
            for within in sorted(map(self._first.__add__, prefixes)):
                if behind < within:
                    behind = cursor.key() if cursor.set_range(within) else _BEHIND_ALL  # type: ignore[assignment]
                if not behind.startswith(within) or within[1:] in groups:
                    continue
                rows = groups[within[1:]] = list[Pair]()
                while behind.startswith(within) and len(rows) <= SHORT:
                    rows.append((behind[1:], cursor.value()))  # type: ignore[arg-type]
                    behind = cursor.key() if cursor.next() else _BEHIND_ALL  # type: ignore[assignment]
        return groups

    def each_under(self, prefixes: Sequence[bytes]) -> dict[bytes, list[Pair]]:
        """As :meth:`scan`, of each of some groups that has any pair; of a longer one there are more than ``SHORT``.

        Prefixes are of one length.
        """
        if self._columns or self._pending:
            groups = ((prefix, list(islice(self.scan(prefix), SHORT + 1))) for prefix in sorted(set(prefixes)))
            return {prefix: rows for prefix, rows in groups if rows}
        return self.stored_each(prefixes)

    def read_ahead(self, prefixes: Sequence[bytes]) -> None:
        """Read many groups at once, so that they are at hand when this transaction asks for them one by one.

        What is put is in memory until the flush, so what is stored does not change before.
        """
        ahead = self._ahead
        wanted = [prefix for prefix in dict.fromkeys(prefixes) if prefix not in ahead]
        found = self.stored_each(wanted)
        for prefix in wanted:
            rows = found.get(prefix)
            if rows is None or len(rows) <= SHORT:
                ahead[prefix] = rows or []

    def get_each(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """As :meth:`get`, of many keys, which are of one length."""
        if self._columns or self._pending:
            return list(map(self.get, keys))
        return list(map(self._txn.get, map(self._first.__add__, keys)))  # type: ignore[arg-type]

    def stored(self, prefix: bytes) -> list[Pair]:
        """As :meth:`scan`, for a short group that nothing has been put into since.

        Gives all of it at once.
        """
        if prefix in self._ahead:
            return list(self._ahead[prefix])
        within, cursor = self._first + prefix, self._seek(prefix)
        pairs: list[Pair] = []
        while cursor is not None and cursor.key().startswith(within):  # type: ignore[union-attr]
            pairs.append((cursor.key()[1:], cursor.value()))  # type: ignore[arg-type]
            if not cursor.next():
                break
        return pairs

    def few(self, prefix: bytes, most: int, cursor: lmdb.Cursor) -> list[Pair] | None:
        """The stored pairs under a prefix, if there are no more than ``most``: ``None`` says nothing.

        The prefix may be shorter than a group's. ``cursor`` is one that may be moved.
        """
        if self._pending or self._columns:
            return None
        within, pairs = self._first + prefix, list[Pair]()
        there = cursor.set_range(within)
        while there:
            key, value = cursor.item()
            if not key.startswith(within):  # type: ignore[union-attr]
                break
            if len(pairs) == most:
                return None
            pairs.append((key[1:], value))  # type: ignore[arg-type]
            there = cursor.next()
        return pairs

    def only(self, prefix: bytes, group: bytes, cursor: lmdb.Cursor) -> bool | None:
        """True if there are stored pairs under a prefix, all of them of one group, False if there are none.

        ``None`` says nothing. ``cursor`` is one that may be moved.
        """
        if self._pending or self._columns:
            return None
        within = self._first + prefix
        if not (cursor.set_range(within) and (key := cursor.key()).startswith(within)):  # type: ignore[union-attr]
            return False
        beyond = successor(group)
        if beyond is None or not key.startswith(self._first + group):  # type: ignore[union-attr]
            return None
        is_more = cursor.set_range(self._first + beyond) and cursor.key().startswith(within)  # type: ignore[union-attr]
        return None if is_more else True

    def groups_each(self, prefixes: Iterable[bytes]) -> dict[bytes, list[bytes]] | None:
        """What the keys of each group go on with that has any stored pair under a prefix; ``None`` says nothing.

        Prefixes are in order, of one length, and shorter than a group's. The pairs are not read.
        """
        if self._pending or self._columns:
            return None
        found: dict[bytes, list[bytes]] = {}
        with self._txn.cursor() as cursor:
            # Between the last look and what it came to lies nothing: prefixes there need no look.
            behind = b""
            for prefix in prefixes:
                within, size = self._first + prefix, 1 + self._prefix_bytes
                if behind < within:
                    behind = cursor.key() if cursor.set_range(within) else _BEHIND_ALL  # type: ignore[assignment]
                while behind.startswith(within):
                    found.setdefault(prefix, []).append(behind[len(within) : size])
                    beyond = successor(behind[:size])
                    is_more = beyond is not None and cursor.set_range(beyond)
                    behind = cursor.key() if is_more else _BEHIND_ALL  # type: ignore[assignment]
        return found

    def around(self, group: bytes, at: bytes, most: int) -> tuple[list[Pair], bool]:
        """The ``most`` pairs of a whole group that stand nearest to ``group + at``.

        As many before it as behind it if there are so many; and whether these are all of the group. The keys have the
        table's byte before them.
        """
        if self._columns:
            self._take_in()
        start, fresh = self._first + group + at, self._group(group)
        behind, before = self._stored_around(self._first + group, start, most + 1 + len(fresh))
        if fresh:
            behind, before = self._with_pending(fresh, start, behind, before)
        return nearest(behind, before, most)

    def _with_pending(
        self, fresh: Sequence[bytes], start: bytes, behind: list[Pair], before: list[Pair]
    ) -> tuple[list[Pair], list[Pair]]:
        """Stored pairs on both sides of a place, the nearest first, as those in memory change them."""
        pending, first = self._pending, self._first
        some = {first + key: value for key in fresh if (value := pending[key]) is not None}
        behind = [pair for pair in behind if pair[0][1:] not in pending]
        before = [pair for pair in before if pair[0][1:] not in pending]
        behind += [pair for pair in some.items() if pair[0] >= start]
        before += [pair for pair in some.items() if pair[0] < start]
        return sorted(behind), sorted(before, reverse=True)

    def _stored_around(self, within: bytes, start: bytes, most: int) -> tuple[list[Pair], list[Pair]]:
        """The stored pairs from ``start`` on and those before it, the nearest first."""
        cursor = self._own_cursor()
        found = cursor.set_range(start)
        behind = _within(cursor.iternext(), within, most) if found else []
        if len(start) == len(within) or not (cursor.set_range(start) and cursor.prev() if found else cursor.last()):
            return behind, []
        return behind, _within(cursor.iterprev(), within, most)

    def _seek(self, prefix: bytes) -> lmdb.Cursor | None:
        """Set a cursor on the first stored pair under a prefix.

        None if there is no pair, which is cheaper than a scan.
        """
        within, cursor = self._first + prefix, self._own_cursor()
        found = cursor.set_range(within) and cursor.key().startswith(within)  # type: ignore[union-attr]
        return cursor if found else None

    def _own_cursor(self) -> lmdb.Cursor:
        """The cursor of single look-ups; it stays where the last one was."""
        if self._cursor is None:
            self._cursor = self._txn.cursor()
        return self._cursor

    def _merged(self, stored: Iterator[Pair], fresh: list[Pending], *, reverse: bool) -> Iterator[Pair]:
        live = ((key, value) for key, value in stored if key not in self._pending)
        return _live(merge(live, fresh, key=_key, reverse=reverse))

    def scan_groups(self, prefix: bytes, groups: Iterable[bytes]) -> Iterator[Pair]:
        """As :meth:`scan`, for a prefix that is shorter than a group's.

        ``groups`` are those it has, in order. What is in memory is looked up by group. To go through all of it for each
        of many prefixes would be quadratic.
        """
        if self._columns:
            self._take_in()
        stored = self._scan_stored(prefix, None, reverse=False)
        if not self._pending:
            return stored
        fresh = [(key, self._pending[key]) for group in groups for key in sorted(self._group(group))]
        return self._merged(stored, fresh, reverse=False) if fresh else stored

    def scan_fresh(self, prefix: bytes) -> Iterator[Pair]:
        """As :meth:`scan`, for a whole group that nothing was committed under."""
        return _live([(key, self._pending[key]) for key in self._group(prefix)])

    def has_group(self, prefix: bytes, *, fresh: bool) -> bool:
        """True if there is, or in this transaction was, a pair in a whole group.

        ``fresh``: none was committed.
        """
        if (self._pending or self._columns) and self._group(prefix):
            return True
        return not fresh and self._has_stored(prefix)

    def _has_stored(self, prefix: bytes) -> bool:
        if self._ahead and (ahead := self._ahead.get(prefix)) is not None:
            return bool(ahead)
        within, cursor = self._first + prefix, self._cursor or self._own_cursor()
        return cursor.set_range(within) and cursor.key().startswith(within)  # type: ignore[union-attr]

    def last(self, prefix: bytes, upto: bytes) -> Pair | None:
        """The pair with the greatest key at or below ``upto``."""
        if self._columns:
            self._take_in()
        pending = self._pending
        if not pending:
            return self._last_stored(prefix, upto)
        if self._deletes:
            return next(self.scan(prefix, upto, reverse=True), None)
        at = upto if upto in pending else None
        if at is None:
            at = self._last_pending(prefix, upto)
            stored = self._last_stored(prefix, upto)
            if at is None or (stored is not None and stored[0] > at):
                return stored
        return at, pending[at]  # type: ignore[return-value]

    def _last_pending(self, prefix: bytes, upto: bytes) -> bytes | None:
        """The greatest key in memory at or below ``upto``. A rebuild has thousands of one group there."""
        size = self._prefix_bytes
        if not size or len(prefix) < size:
            return max((key for key in self._pending if key <= upto and key.startswith(prefix)), default=None)
        keys = self._group(prefix[:size])
        place = bisect_right(keys, upto)
        return keys[place - 1] if place and keys[place - 1].startswith(prefix) else None

    def _last_stored(self, prefix: bytes, upto: bytes) -> Pair | None:
        cursor = self._own_cursor()
        at, within = self._first + upto, self._first + prefix
        if not cursor.set_range(at):
            found = cursor.last()
        else:
            found = cursor.key() == at or cursor.prev()
        if not found or not cursor.key().startswith(within):  # type: ignore[union-attr]
            return None
        return cursor.key()[1:], cursor.value()  # type: ignore[return-value]

    def flush(self) -> None:
        """Write what is in memory, sorted."""
        if self._columns and not self._pending:
            self._write_columns()
            return
        if self._columns:
            self._take_in()
        if not self._pending:
            return
        first, pending = self._first, self._pending
        keys = sorted(pending)
        if self._deletes:
            for key in keys:
                if pending[key] is None:
                    self._txn.delete(first + key)
            keys = [key for key in keys if pending[key] is not None]
        self._put([first + key for key in keys], [pending[key] for key in keys])  # type: ignore[misc]
        self._forget()

    def _write_columns(self) -> None:
        """Write pairs that came in columns and that nobody has read."""
        columns, self._columns = self._columns, []
        keys, values = columns[0]
        for more_keys, more_values in columns[1:]:
            keys += more_keys
            values += more_values
        keys, values = in_order(keys, values)
        self._put(list(map(self._first.__add__, keys)), values)
        self._forget()

    def _put(self, keys: list[bytes], values: list[bytes]) -> None:
        """Write pairs in order, of which each key has the table's byte before it.

        Of few groups each is written for itself, for it may grow at its end.
        """
        ends, size = [0], self._prefix_bytes
        head = len(self._first) + size
        while size and len(keys) >= log.MANY_TOGETHER and ends[-1] < len(keys) and len(ends) <= _FEW_GROUPS:
            ends.append(bisect_right(keys, keys[ends[-1]][:head], lo=ends[-1], key=itemgetter(slice(head))))
        for begin, end in pairwise(ends if ends[-1] == len(keys) else [0, len(keys)]):
            room = keys[begin][:head] if len(ends) > 2 else self._first
            log.put_sorted(self._txn, room, keys[begin:end], values[begin:end])

    @property
    def waiting(self) -> int:
        """How many pairs are in memory."""
        return len(self._pending) + sum(len(keys) for keys, _ in self._columns)

    def own_rows(self, most: int) -> int:
        """How many rows are in the table's own place, counted up to ``most``."""
        with self._txn.cursor() as cursor:
            found = cursor.iternext(values=False) if cursor.set_range(self._first) else iter(())
            count, keys = 0, [*islice(found, min(most, _COUNTED_AT_ONCE))]
            while keys and keys[-1][:1] == self._first:
                count += len(keys)
                keys = [*islice(found, min(most - count, _COUNTED_AT_ONCE))]
            return count + sum(1 for key in keys if key[:1] == self._first)

    def _forget(self) -> None:
        self._deletes, self._columns, self._ahead = False, [], {}
        self._pending, self._grouped, self._ungrouped = {}, None, []

    def clear(self) -> None:
        """Delete every pair of the table."""
        self._forget()
        with self._txn.cursor() as cursor:
            found = cursor.set_range(self._first)
            while found and cursor.key()[:1] == self._first:
                found = cursor.delete()

    def _scan_stored(self, prefix: bytes, start: bytes | None, *, reverse: bool) -> Iterator[Pair]:
        within = self._first + prefix
        at = None if start is None else self._first + start
        with self._txn.cursor() as cursor:
            if reverse:
                pairs = cursor.iterprev() if _seek_last(cursor, within, at) else iter(())
            else:
                pairs = cursor.iternext() if cursor.set_range(at or within) else iter(())
            for key, value in pairs:
                if not key.startswith(within):  # type: ignore[union-attr]
                    return
                yield key[1:], value  # type: ignore[misc]

    def _group(self, prefix: bytes) -> Sequence[bytes]:
        """The keys in memory of one group, in order.

        Keys are only sorted into groups when one is asked for: a replay puts many at once and scans little.
        """
        if self._columns:
            self._take_in()
        if not self._pending:
            return ()
        if self._grouped is None:
            self._grouped = defaultdict(list)
        if self._ungrouped:
            size, grouped = self._prefix_bytes, self._grouped
            for key in self._ungrouped:
                group = grouped[key[:size]]
                if group and key < group[-1]:
                    insort(group, key)
                else:
                    group.append(key)
            self._ungrouped.clear()
        return self._grouped.get(prefix, ())

    def _scan_pending(self, prefix: bytes, start: bytes | None, *, reverse: bool) -> list[Pending]:
        size = self._prefix_bytes
        if size and len(prefix) >= size:
            group = self._group(prefix[:size])
            if not group:
                return []
            keys = group if len(prefix) == size else [key for key in group if key.startswith(prefix)]
        else:
            keys = [key for key in self._pending if key.startswith(prefix)]
        if start is not None:
            keys = [key for key in keys if (key <= start if reverse else key >= start)]
        return [(key, self._pending[key]) for key in sorted(keys, reverse=reverse)]


def in_order(keys: list[bytes], values: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Keys in their order, and their values."""
    order = _order_of(keys)
    return list(map(keys.__getitem__, order)), list(map(values.__getitem__, order))


def _order_of(keys: list[bytes]) -> list[int]:
    """Where the keys are, in their order."""
    if len(keys) >= (_SOME_ROWS if "numpy" in sys.modules else _MANY_ROWS) and len(set(map(len, keys))) == 1:
        import numpy as np  # Most processes write few rows at once.

        order: list[int] = np.frombuffer(b"".join(keys), dtype=f"S{len(keys[0])}").argsort(kind="stable").tolist()
        return order
    return sorted(range(len(keys)), key=keys.__getitem__)


def scan_nodes(table: Table, prefix: bytes, nodes: Sequence[int]) -> Iterator[Pair]:
    """The pairs under a prefix whose key goes on with one of ``nodes`` (u64 each), in key order.

    ``nodes`` are in ascending order. As many rows are read as there are such pairs, and at most one more for each node:
    how many belong to others cannot be told from the time that it takes.
    """
    at, begins = 0, len(prefix)
    while at < len(nodes):
        for key, value in table.scan(prefix, prefix + U64.pack(nodes[at])):
            node = int(U64.unpack_from(key, begins)[0])
            at = bisect_left(nodes, node, at)
            if at == len(nodes) or nodes[at] != node:
                break
            yield key, value
        else:
            return


def nearest(behind: list[Item], before: list[Item], most: int) -> tuple[list[Item], bool]:
    """The ``most`` of what stands behind and before a place, half of each; and whether these are all.

    Each side has the nearest first, and more than ``most`` if there are more.
    """
    if len(behind) + len(before) <= most:
        return behind + before, True
    few = min(len(before), max(most // 2, most - len(behind)))
    return behind[: most - few] + before[:few], False


def under(within: bytes, pairs: Iterator[Pair]) -> Iterator[Pair]:
    """Stored pairs, as long as their keys begin so."""
    for key, value in pairs:
        if not key.startswith(within):
            return
        yield key[1:], value


def _within(pairs: Iterator[Any], prefix: bytes, most: int) -> list[Pair]:
    """The first of some pairs, as long as their keys begin with a prefix. Most groups are small."""
    found: list[Pair] = []
    for together in (_FEW, 4 * _FEW, 16 * _FEW, most):
        found += islice(pairs, min(together, most - len(found)))
        if len(found) < together or not found[-1][0].startswith(prefix):
            break
    while found and not found[-1][0].startswith(prefix):
        found.pop()
    return found


def _live(pairs: Iterable[Pending]) -> Iterator[Pair]:
    """Pairs without those that were deleted."""
    return ((key, value) for key, value in pairs if value is not None)


def _seek_last(cursor: lmdb.Cursor, prefix: bytes, start: bytes | None) -> bool:
    """Put the cursor on the last key at or below ``start``, or the last with the prefix."""
    if start is None:
        beyond = successor(prefix)
        if beyond is None or not cursor.set_range(beyond):
            return bool(cursor.last())
        return bool(cursor.prev())
    if not cursor.set_range(start):
        return bool(cursor.last())
    return True if cursor.key() == start else bool(cursor.prev())


def successor(prefix: bytes) -> bytes | None:
    """The least key that is greater than every key with the prefix."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
