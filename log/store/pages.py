"""The structure of LMDB's pages, read with plain reads and without LMDB.

LMDB maps its file into memory and follows what the pages say: a flipped bit in a page header can send it outside the
file, and the kernel then ends the process without a word. So verification walks the pages first, and so does opening
a file that is shorter than its page count (LMDB leaves pages out that a transaction took at the end and gave back,
so such a file may be whole).

Layout of LMDB's data version 1 on 64-bit machines, in the machine's byte order:

    page      u64 number, u16 pad, u16 flags, u16 lower, u16 upper (overflow: u32 pages), then u16 node offsets
    node      u16 low, u16 high, u16 flags, u16 key size, key, value
              leaf: value size = low | high << 16; branch: child page = low | high << 16 | flags << 32
    meta      page header, u32 magic, u32 version, u64 address, u64 map size, two trees, u64 last page, u64 transaction
    tree      u32 pad (page size in the first), u16 flags, u16 depth, u64 branch, leaf, overflow pages, entries, root
    free      u64 transaction: u64 count, and so many u64 pages, the last one first
"""

import os
import struct
import sys
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Final, NamedTuple

_MAGIC: Final = 0xBEEFC0DE
_VERSION: Final = 1
_PAGE = struct.Struct("=QHHHH")
_NODE = struct.Struct("=HHHH")
_META = struct.Struct("=IIQQ")
_TREE = struct.Struct("=IHHQQQQQ")
_TAIL = struct.Struct("=QQ")
_U64 = struct.Struct("=Q")
_META_BYTES: Final = _PAGE.size + _META.size + 2 * _TREE.size + _TAIL.size
_PAGE_SIZES: Final = tuple(1 << power for power in range(8, 17))
_FREE_FLAGS: Final = 0x08
"""Numbers as keys, as LMDB has them in the tree of free pages. The tree of records has none of LMDB's flags."""
_BRANCH, _LEAF, _OVERFLOW = 0x01, 0x02, 0x04
_BIG_VALUE: Final = 0x01
_NO_PAGE: Final = 2**64 - 1
_META_PAGES: Final = (0, 1)
_FIRST_PAGE: Final = len(_META_PAGES)
MAX_PAGE_FINDINGS: Final = 20


class PageFinding(NamedTuple):
    """A page that cannot be followed, and what is wrong with it.

    It also names the key that the page should begin at (if known).
    """

    page: int
    key: bytes
    problem: str


class _Tree(NamedTuple):
    depth: int
    entries: int
    root: int


class _Meta(NamedTuple):
    page_size: int
    free: _Tree
    main: _Tree
    last_page: int
    transaction: int
    checksum: int
    plain: bool


class MetaPage(NamedTuple):
    """One of the two metas: its transaction's number, its checksum, and what its tree has under some keys.

    The checksum covers both trees and the last page. ``plain`` says that the flags of the trees are those of a store.
    ``values`` is ``None`` if the tree cannot be followed.
    """

    transaction: int
    checksum: int
    plain: bool
    values: tuple[bytes | None, ...] | None


class _DamagedPage(Exception):
    """A page that cannot be followed."""


def damaged_pages(file: Path, transaction: int, keys: Sequence[bytes] = ()) -> list[PageFinding] | None:
    """Find faults in the pages of one snapshot, at most :data:`MAX_PAGE_FINDINGS`.

    Reads all of them, or only those on the way to ``keys``: so little that it can be done at every opening.
    ``transaction`` is the id of a read transaction that the caller keeps open, so that no page of the snapshot is used
    again meanwhile. ``None`` if the file has no such snapshot (any more), or a layout that this module does not know.
    """
    with open(file, "rb", buffering=0) as opened:
        metas = [_read_meta(opened.fileno(), page) for page in _meta_offsets(opened.fileno())]
        found = next((meta for meta in metas if meta is not None and meta.transaction == transaction), None)
        if found is None:
            return None
        walk = _PageWalk(opened.fileno(), found)
        findings: list[PageFinding] = []
        if keys:
            return [finding for key in keys for finding in walk.path(key)]
        for name, tree in (("free pages", found.free), ("records", found.main)):
            for finding in walk.tree(tree, name):
                findings.append(finding)
                if len(findings) == MAX_PAGE_FINDINGS:
                    return findings
        return findings + list(islice(walk.free_pages(), MAX_PAGE_FINDINGS - len(findings)))


def some_damaged_pages(
    file: Path, transaction: int, begin: bytes, count: int
) -> tuple[list[PageFinding], bytes] | None:
    """Find faults in ``count`` leaves of records from a key on, in what leads to them, and in their long values.

    As :func:`damaged_pages`; also gives the key from which on to look next, empty after the last leaf.
    """
    with open(file, "rb", buffering=0) as opened:
        metas = [_read_meta(opened.fileno(), page) for page in _meta_offsets(opened.fileno())]
        found = next((meta for meta in metas if meta is not None and meta.transaction == transaction), None)
        if found is None:
            return None
        walk, following = _PageWalk(opened.fileno(), found), begin
        for _ in range(count):
            findings = list(walk.path(following, whole=True))
            if findings or not walk.following:
                return findings, b""
            following = walk.following
        return [], following


def read_metas(file: Path, keys: Sequence[bytes]) -> tuple[MetaPage, MetaPage] | None:
    """Read the two metas and the values under some keys in the tree of each, in the order of their pages.

    LMDB writes them by turns and uses no page again that the last two transactions left, so that both can be read.
    Whoever reads while others write may see half of a page, and looks again. ``None`` if the file has no two metas of
    a layout that this module knows.

    Raises:
        OSError: it cannot be read.
    """
    with open(file, "rb", buffering=0) as opened:
        fd = opened.fileno()
        metas = [_read_meta(fd, place) for place in _meta_offsets(fd)]
        found = [
            MetaPage(meta.transaction, meta.checksum, meta.plain, _read_values(_PageWalk(fd, meta), keys))
            for meta in metas
            if meta is not None
        ]
    return (found[0], found[1]) if len(found) == len(_META_PAGES) else None


def counted_bytes(file: Path) -> int:
    """The length of the file by the page count of its metas, the larger of the two.

    Raises:
        OSError: it cannot be read.
    """
    with open(file, "rb", buffering=0) as opened:
        metas = [_read_meta(opened.fileno(), place) for place in _meta_offsets(opened.fileno())]
    return max(((meta.last_page + 1) * meta.page_size for meta in metas if meta is not None), default=0)


def has_damaged_page_size(file: Path) -> bool:
    """True if the metas do not name one size of pages that LMDB can work with, which it does not look at.

    Raises:
        OSError: it cannot be read.
    """
    with open(file, "rb", buffering=0) as opened:
        sizes: list[int] = []
        for _ in _META_PAGES:
            stored = _read_at(opened.fileno(), _META_BYTES, sum(sizes))
            if len(stored) < _META_BYTES or _META.unpack_from(stored, _PAGE.size)[:2] != (_MAGIC, _VERSION):
                return False  # LMDB refuses that itself.
            sizes.append(_TREE.unpack_from(stored, _PAGE.size + _META.size)[0])
            if sizes[0] not in _PAGE_SIZES or sizes[-1] != sizes[0]:
                return True
    return False


def checksum_of(fd: int, transaction: int, page_bytes: int) -> int | None:
    """The checksum of the meta that a transaction has just left; ``None`` if it wrote none."""
    meta = _read_meta(fd, (transaction & 1) * page_bytes)
    return meta.checksum if meta is not None and meta.transaction == transaction else None


def _read_values(walk: "_PageWalk", keys: Sequence[bytes]) -> tuple[bytes | None, ...] | None:
    try:
        return tuple(walk.value(key) for key in keys)
    except _DamagedPage:
        return None


def set_transaction(file: Path, transaction: int) -> None:
    """Set the number of the last transaction in a data file that nobody has open.

    A file that takes another one's place has to go on counting where that one was: LMDB's lock file, which processes
    that still have the old file open share with those that open the new one, holds that number too. Both metas become
    the newest one, under this number and the one before.

    Raises:
        OSError: it cannot be read or written.
    """
    fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        places = _meta_offsets(fd)
        metas = [(meta, place) for place in places for meta in (_read_meta(fd, place),) if meta is not None]
        newest, begins = max(metas, key=lambda found: found[0].transaction)
        size = _META_BYTES - _PAGE.size - _U64.size
        body = _read_at(fd, size, begins + _PAGE.size)
        for place in places:
            number = place // newest.page_size
            # LMDB finds the meta of a transaction by whether its number is even or odd.
            counted = transaction - (transaction - number) % 2
            os.pwrite(fd, body + _U64.pack(counted), place + _PAGE.size)
        os.fsync(fd)
    finally:
        os.close(fd)


def _read_at(fd: int, count: int, at: int) -> bytes:
    """Read so many bytes, or fewer at the end of the file.

    A call that gives fewer before it is no end.
    """
    found = b""
    while len(found) < count and (part := os.pread(fd, count - len(found), at + len(found))):
        found += part
    return found


def _meta_offsets(fd: int) -> tuple[int, ...]:
    """Find where the two metas begin.

    The second is one page after the first, if the first can say how long that is.
    """
    first = _read_meta(fd, 0)
    return (0,) if first is None else (0, first.page_size)


def _read_meta(fd: int, at: int) -> _Meta | None:
    stored = _read_at(fd, _META_BYTES, at)
    if len(stored) < _META_BYTES:
        return None
    magic, version, _, _ = _META.unpack_from(stored, _PAGE.size)
    if (magic, version) != (_MAGIC, _VERSION):
        return None
    trees = _PAGE.size + _META.size
    page_size, free_flags, free_depth, _, _, _, free_entries, free_root = _TREE.unpack_from(stored, trees)
    _, flags, depth, _, _, _, entries, root = _TREE.unpack_from(stored, trees + _TREE.size)
    last_page, transaction = _TAIL.unpack_from(stored, trees + 2 * _TREE.size)
    if page_size not in _PAGE_SIZES:
        return None
    free, main = _Tree(free_depth, free_entries, free_root), _Tree(depth, entries, root)
    plain = (free_flags, flags) == (_FREE_FLAGS, 0)
    return _Meta(page_size, free, main, last_page, transaction, zlib.crc32(stored[trees : -_U64.size]), plain)


class _PageWalk:
    """Follows a snapshot's trees; every page may be reached once."""

    def __init__(self, fd: int, meta: _Meta) -> None:
        self._fd = fd
        self._meta = meta
        self._size = meta.page_size
        self._seen: set[int] = set()
        self._parsed: dict[tuple[int, int], list[tuple[bytes, int, tuple[int, int]]]] = {}
        self._free: list[tuple[int, bytes]] = []
        self.following = b""
        """The first key of the leaf after the last path's leaf; empty if there is none."""

    def tree(self, tree: _Tree, name: str) -> Iterator[PageFinding]:
        if tree.root == _NO_PAGE:
            return
        entries, is_intact = 0, True
        records = tree is self._meta.main
        pending: list[tuple[int, int, bytes, bytes | None]] = [(tree.root, 1, b"", None)]
        while pending:
            page, level, lower, upper = pending.pop()
            try:
                stored, is_leaf = self._read_page(page, leaf=level == tree.depth)
                nodes = self._parse_nodes(stored, is_leaf)
                # The first key of a branch page means nothing: its child begins where the page does.
                first_keys = [found if is_leaf or place else lower for place, (found, _, _) in enumerate(nodes)]
                if not records:
                    first_keys = [_number_key(key) if is_leaf or place else key for place, key in enumerate(first_keys)]
                _check_order(first_keys, lower, upper)
                if is_leaf:
                    entries += len(nodes)
                    for _, flags, (at, size) in nodes:
                        if flags & _BIG_VALUE:
                            self._check_overflow(at, size)
                        if not records:
                            self._free.append((page, self._read_value(stored, flags, at, size)))
                else:
                    next_keys = [*first_keys[1:], upper]
                    below = [
                        (value[0], level + 1, begin, end)
                        for begin, end, (_, _, value) in zip(first_keys, next_keys, nodes, strict=True)
                    ]
                    pending.extend(reversed(below))
            except _DamagedPage as bad:
                is_intact = False
                yield PageFinding(page, lower if records else b"", str(bad))
        if is_intact and entries != tree.entries:
            yield PageFinding(tree.root, b"", f"the tree of {name} counts {entries} entries and has {tree.entries}")

    def free_pages(self) -> Iterator[PageFinding]:
        """Find pages that are listed as free although the walked trees use them.

        LMDB takes pages for a write from these lists without further checks, and would overwrite them.
        """
        free: set[int] = set()
        for page, stored in self._free:
            try:
                free.update(self._free_list(stored, free))
            except _DamagedPage as bad:
                yield PageFinding(page, b"", str(bad))

    def _free_list(self, stored: bytes, before: set[int]) -> tuple[int, ...]:
        count = _U64.unpack_from(stored)[0] if len(stored) >= _U64.size else -1
        # A list may be shorter than its place: LMDB takes places before it knows how much it has to put there.
        if not 0 <= count < len(stored) // _U64.size:
            raise _DamagedPage("a list of free pages is longer than its page")
        listed: tuple[int, ...] = struct.unpack_from(f"={count}Q", stored, _U64.size)
        if any(one <= other for one, other in pairwise(listed)):
            raise _DamagedPage("a list of free pages is not in order")
        for page in listed:
            if not _FIRST_PAGE <= page <= self._meta.last_page:
                raise _DamagedPage(f"page {page} is listed as free and does not exist")
            if page in self._seen:
                raise _DamagedPage(f"page {page} is listed as free and is in use")
            if page in before:
                raise _DamagedPage(f"page {page} is listed as free twice")
        return listed

    def path(self, key: bytes, *, whole: bool = False) -> Iterator[PageFinding]:
        """Check only the path to a key; with ``whole`` also all long values of its leaf."""
        page, level, lower = self._meta.main.root, 1, b""
        upper: bytes | None = None
        self.following = b""
        while page != _NO_PAGE:
            is_leaf = level == self._meta.main.depth
            try:
                nodes = self._parsed.get((page, level))
                if nodes is None:
                    nodes = self._parse_nodes(self._read_page(page, leaf=is_leaf)[0], is_leaf)
                    self._parsed[page, level] = nodes
                begins = [found if is_leaf or place else lower for place, (found, _, _) in enumerate(nodes)]
                _check_order(begins, lower, upper)
                place = bisect_right(begins, key) - 1
                if is_leaf:
                    self.following = upper or b""
                    for _, flags, value in nodes if whole else ():
                        if flags & _BIG_VALUE:
                            self._check_overflow(*value)
                    if not whole and place >= 0 and begins[place] == key and nodes[place][1] & _BIG_VALUE:
                        self._check_overflow(*nodes[place][2])
                    return
                place = max(place, 0)
                page, level, lower = nodes[place][2][0], level + 1, begins[place]
                upper = begins[place + 1] if place + 1 < len(begins) else upper
            except _DamagedPage as bad:
                yield PageFinding(page, lower, str(bad))
                return

    def value(self, key: bytes) -> bytes | None:
        """The value of a key; ``None`` if there is none.

        Raises:
            _Bad: a page on the way cannot be followed.
        """
        self._seen.clear()
        page, level, lower = self._meta.main.root, 1, b""
        upper: bytes | None = None
        while page != _NO_PAGE:
            is_leaf = level == self._meta.main.depth
            stored, _ = self._read_page(page, leaf=is_leaf)
            nodes = self._parse_nodes(stored, is_leaf)
            keys = [found if is_leaf or place else lower for place, (found, _, _) in enumerate(nodes)]
            _check_order(keys, lower, upper)
            place = bisect_right(keys, key) - 1
            if is_leaf:
                if place < 0 or keys[place] != key:
                    return None
                _, flags, (at, size) = nodes[place]
                if flags & _BIG_VALUE:
                    self._check_overflow(at, size)
                return self._read_value(stored, flags, at, size)
            page, level, lower = nodes[place][2][0], level + 1, keys[place]
            upper = keys[place + 1] if place + 1 < len(keys) else upper
        return None

    def _read_value(self, page: bytes, flags: int, at: int, size: int) -> bytes:
        """A value, in its page or in others that :meth:`_check_overflow` has looked at."""
        if flags & _BIG_VALUE:
            return _read_at(self._fd, size, at * self._size + _PAGE.size)
        return page[at : at + size]

    def _read(self, page: int) -> bytes:
        if not _FIRST_PAGE <= page <= self._meta.last_page:
            raise _DamagedPage(f"there is no page {page}")
        if page in self._seen:
            raise _DamagedPage(f"page {page} is referenced twice")
        self._seen.add(page)
        stored = _read_at(self._fd, self._size, page * self._size)
        if len(stored) < self._size:
            raise _DamagedPage(f"page {page} lies beyond the end of the file")
        if _PAGE.unpack_from(stored)[0] != page:
            raise _DamagedPage(f"page {page} has the number of another page")
        return stored

    def _read_page(self, page: int, *, leaf: bool) -> tuple[bytes, bool]:
        stored = self._read(page)
        flags = _PAGE.unpack_from(stored)[2]
        if flags != (_LEAF if leaf else _BRANCH):
            raise _DamagedPage(f"page {page} is not a {'leaf' if leaf else 'branch'}")
        return stored, leaf

    def _parse_nodes(self, stored: bytes, is_leaf: bool) -> list[tuple[bytes, int, tuple[int, int]]]:
        """List key, flags and value of each node.

        A value is (child page, 0), (overflow page, size) of a big value, or (place in the page, size) of another.
        """
        page, _, _, lower, upper = _PAGE.unpack_from(stored)
        if not _PAGE.size <= lower <= upper <= self._size or lower % 2:
            raise _DamagedPage(f"page {page} has wrong bounds")
        offsets = struct.unpack_from(f"={(lower - _PAGE.size) // 2}H", stored, _PAGE.size)
        if not offsets:
            raise _DamagedPage(f"page {page} is empty")
        nodes = []
        for at in offsets:
            if not upper <= at <= self._size - _NODE.size:
                raise _DamagedPage(f"page {page} refers to a record outside itself")
            low, high, flags, key_size = _NODE.unpack_from(stored, at)
            begin = at + _NODE.size
            end = begin + key_size
            key = stored[begin:end]
            if not is_leaf:
                value = (low | high << 16 | flags << 32, 0)
            else:
                size = low | high << 16
                big = flags == _BIG_VALUE
                if not big and flags:
                    raise _DamagedPage(f"page {page} has a record of an unknown kind")
                value = (_U64.unpack_from(stored, end)[0], size) if big and end + 8 <= self._size else (end, size)
                end += 8 if big else size
            if end > self._size:
                raise _DamagedPage(f"page {page} has a record that is longer than the page")
            nodes.append((key, flags if is_leaf else 0, value))
        return nodes

    def _check_overflow(self, page: int, size: int) -> None:
        stored = self._read(page)
        _, _, flags, low, high = _PAGE.unpack_from(stored)
        count = struct.unpack("=I", struct.pack("=HH", low, high))[0]
        if flags != _OVERFLOW:
            raise _DamagedPage(f"page {page} does not hold an overflow value")
        if not 0 < count <= self._meta.last_page - page + 1 or _PAGE.size + size > count * self._size:
            raise _DamagedPage(f"page {page} holds a value that is longer than its pages")
        others = range(page + 1, page + count)
        if not self._seen.isdisjoint(others):
            raise _DamagedPage(f"page {page} holds a value in pages that are referenced twice")
        self._seen.update(others)
        if os.fstat(self._fd).st_size < page * self._size + _PAGE.size + size:
            raise _DamagedPage(f"page {page} holds a value that reaches beyond the end of the file")


def _number_key(key: bytes) -> bytes:
    """A key of the tree of free pages, in bytes that have the order of its numbers."""
    if len(key) != _U64.size:
        raise _DamagedPage("one of its keys is not a number")
    return key if sys.byteorder == "big" else key[::-1]


def _check_order(keys: list[bytes], lower: bytes, upper: bytes | None) -> None:
    """Check that keys ascend from ``lower`` and stay below ``upper``, so that a search finds what a scan finds."""
    if keys[0] < lower or any(one >= other for one, other in pairwise(keys)):
        raise _DamagedPage("its keys are not in order")
    if upper is not None and keys[-1] >= upper:
        raise _DamagedPage("its keys reach beyond the beginning of the next page")
