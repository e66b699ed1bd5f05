"""A cache of the indexes of worlds that are queried by confined views, in memory and on disk.

All handles of a process share it. On disk each world has one file, ``indexes/worlds/LINEAGE.bin``, which is replaced as
a whole, may be deleted at any time, and is used only if it is sealed under the store's secret:

    u64 bytes of all arrays | u64 bytes of the description | zeros up to 64 | arrays, each at a multiple of 64 bytes
    | the description, as JSON: its store, history and commit, where the arrays are, their hash, a seal

It has no texts, and words only as keyed hashes. An erasure deletes all files, and drops every world that ever contained
the erased one; the others are written again when they are next queried.
"""

from __future__ import annotations

import json
import mmap
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from blake3 import blake3

from worlddb.log.model import events as ev
from worlddb.log.store.durable import sync_file
from worlddb.projections.indexes import (
    analysis,
    text_index,
    text_snapshot,
    witness,
    world_index,
    world_moments,
    world_texts,
)
from worlddb.projections.tables.reads import asof

if TYPE_CHECKING:
    from worlddb.log.store.log import LmdbLog
    from worlddb.projections.tables.storage.rows import Tables

FORMAT: Final = 1
"""Raised with any change of the file; a file with another format is rebuilt."""
FOLDER: Final = "worlds"
MAX_WORLDS: Final = 256
MAX_BYTES: Final = 1 << 30
"""How many worlds a process keeps in memory, the most recently used ones, and how large they may be together."""
MAX_FILE_BYTES: Final = 4 << 30
"""How large their files are together."""
WORTH_KEEPING: Final = 256
"""With so many new texts, and at least a tenth of all, a world is written to disk."""
LONG_STRETCH: Final = 20_000
"""A file that is behind by more commits is written again, even if they brought little."""
_SUFFIX: Final = ".bin"

Erasures = tuple[int, int | None]
"""How often the data file was replaced, and the erasure whose bytes may still be in the files."""


class WorldCache:
    """The indexes of the worlds of a store that are queried by confined views, shared by the handles of a process.

    ``folder`` is that of the store's indexes. A file that cannot be read is made again; one that cannot be written is
    kept in memory only.
    """

    def __init__(self, folder: Path, store_id: bytes, secret: bytes) -> None:
        self.handles = 0
        self._folder = folder / FOLDER
        self._store_id = store_id
        self._secret = secret
        self._guard = threading.Lock()
        self._erasures: Erasures = (0, None)
        self._kept: OrderedDict[int, world_index.WorldIndex] = OrderedDict()

    def at(
        self,
        log: LmdbLog,
        tables: Tables,
        world: int,
        moment: asof.Moment,
        wanted: world_moments.VersionChoice,
        erasures: Erasures,
    ) -> world_index.WorldView | None:
        """A world as a view sees it; ``None`` if the index does not reach back to that moment."""
        index = self._get_or_create(log, tables, world, erasures)
        with index.guard:
            if index.marker is None:
                self._load(index, log, tables, erasures)
            elif not _is_of(log, index.marker):
                index = self._replace(world, index)
            if not index.catch_up(log, tables):
                index = self._replace(world, index)
                index.catch_up(log, tables)
            seen = index.seen(moment, wanted)
        return None if seen is None else world_index.WorldView(index, seen, moment)

    def _get_or_create(self, log: LmdbLog, tables: Tables, world: int, erasures: Erasures) -> world_index.WorldIndex:
        with self._guard:
            self._apply_erasures_locked(log, tables, erasures)
            found = self._kept.get(world)
            if found is None:
                found = self._kept[world] = world_index.WorldIndex(world, self._secret)
                sizes = [each.size_bytes for each in self._kept.values()]
                while len(sizes) > MAX_WORLDS or (len(sizes) > 1 and sum(sizes) > MAX_BYTES):
                    self._kept.popitem(last=False)
                    del sizes[0]
            self._kept.move_to_end(world)
            return found

    def apply_erasures(self, log: LmdbLog, tables: Tables, erasures: Erasures) -> None:
        """Drop worlds that contained erased texts."""
        with self._guard:
            self._apply_erasures_locked(log, tables, erasures)

    def _apply_erasures_locked(self, log: LmdbLog, tables: Tables, erasures: Erasures) -> None:
        if self._erasures != erasures:
            self._drop_erased(log, tables)
            self._erasures = erasures

    def _drop_erased(self, log: LmdbLog, tables: Tables) -> None:
        """Drop worlds that may contain something of a text erased since, and mark the others unsaved.

        The erasure has deleted their files.
        """
        head = log.head().seq
        known = {world: index.marker[0] for world, index in self._kept.items() if index.marker is not None}
        near = {world: seq for world, seq in known.items() if head - LONG_STRETCH <= seq <= head}
        erased: set[int | None] = set()
        for seq in range(min(near.values(), default=head) + 1, head + 1):
            for event in log.events(seq).events:
                if isinstance(event, ev.ErasureEvent):
                    erased.add(tables.node_of(event.lineage))
        for world, index in list(self._kept.items()):
            if world in near and erased.isdisjoint(index.places):
                index.unsaved = max(index.unsaved, index.count)
            else:
                del self._kept[world]

    def _replace(self, world: int, old: world_index.WorldIndex) -> world_index.WorldIndex:
        with self._guard:
            fresh = world_index.WorldIndex(world, self._secret)
            if self._kept.get(world) is old:
                self._kept[world] = fresh
            return fresh

    def forget(self) -> None:
        """Drop all worlds in memory, which may contain erased texts."""
        with self._guard:
            self._kept.clear()

    def delete(self) -> None:
        """Drop all worlds in memory, and delete the files, unless another process is writing them."""
        self.forget()
        with suppress(text_snapshot.IndexUnwritable, OSError), text_index.index_lock(self._folder, 0.0):
            text_index.reset(self._folder)

    # -- on the disk

    def keep(self, world: int, check: Callable[[], Erasures]) -> None:
        """Write a world to disk if much of it is new. Must be called outside of transactions.

        ``check`` returns the present erasures. If the file cannot be written, the next process makes the index again.
        """
        with self._guard:
            index, erasures = self._kept.get(world), self._erasures
        if index is None or index.marker is None:
            return
        is_much = index.unsaved >= max(WORTH_KEEPING, index.count // 10)
        if not is_much and not (index.saved_at and index.marker[0] - index.saved_at > LONG_STRETCH):
            return
        with index.guard:
            index.unsaved, index.saved_at = 0, index.marker[0]
            try:
                with text_index.index_lock(self._folder, 0.0):
                    # An erasure deletes the folder after its commit, so nothing that was read before is written then.
                    if check() == erasures:
                        self._folder.mkdir(exist_ok=True)
                        write(self._file(index.lineage), index, self._store_id, self._secret)
                        self._prune()
            except (text_snapshot.IndexUnwritable, OSError):
                pass

    def _file(self, lineage: bytes) -> Path:
        return self._folder / f"{lineage.hex()}{_SUFFIX}"

    def _prune(self) -> None:
        """Delete the least recently used files, if there are too many."""
        files = sorted(
            ((looks.st_mtime_ns, looks.st_size, file) for file in files_in(self._folder) for looks in (file.stat(),)),
            reverse=True,
        )
        total = 0
        for at, (_, size, file) in enumerate(files):
            total += size
            if at and total > MAX_FILE_BYTES:
                file.unlink(missing_ok=True)

    def _load(self, index: world_index.WorldIndex, log: LmdbLog, tables: Tables, erasures: Erasures) -> None:
        """Restore an index from its file, if that belongs to this history and is not older than a due erasure."""
        index.lineage = tables.node(index.moments.top).lineage
        file = self._file(index.lineage)
        due = erasures[1]
        stored = load(file, self._secret)
        if stored is None or stored.told["store"] != self._store_id.hex():
            return
        marker = int(stored.told["seq"]), bytes.fromhex(stored.told["chain"])
        if stored.told["node"] != index.moments.top or (due is not None and marker[0] < due) or not _is_of(log, marker):
            return
        if marker[0] > log.head().seq:
            return
        stored.restore(index)
        index.marker, index.saved_at = marker, marker[0]
        index.mark_restored()
        with suppress(OSError):
            os.utime(file)


def find_faults(log: LmdbLog, tables: Tables, file: Path, secret: bytes) -> list[str]:
    """Find faults of a world's file. One of another format or history has none: it is simply made again."""
    stored = _read(file, secret)
    if stored is None:
        return ["was altered"]
    if not isinstance(stored, StoredWorld):
        return []
    if file.name != f"{tables.node(stored.told['node']).lineage.hex()}{_SUFFIX}":
        return ["belongs to another world"]
    marker = int(stored.told["seq"]), bytes.fromhex(stored.told["chain"])
    if marker[0] > log.head().seq or not _is_of(log, marker):
        return []
    kept, anew = (world_index.WorldIndex(stored.told["node"], secret) for _ in range(2))
    stored.restore(kept)
    kept.marker = marker
    if not kept.catch_up(log, tables) or not anew.catch_up(log, tables):
        return []
    for number, space in kept.spaces.items():
        anew.space(log, tables, number, space.dimension)
    one, other = kept.dump(), anew.dump()
    differing = [what for what in {**one, **other} if one.get(what) != other.get(what)]
    return [f"differs from the log in its {', '.join(differing)}"] if differing else []


def _is_of(log: LmdbLog, marker: tuple[int, bytes]) -> bool:
    """True if a commit belongs to the log, or is later than the transaction sees."""
    return marker[0] > log.head().seq or log.chain(marker[0]) == marker[1]


def files_in(folder: Path) -> list[Path]:
    """The files of worlds in their folder."""
    try:
        return [file for file in folder.iterdir() if file.suffix == _SUFFIX]
    except OSError:
        return []


def file_stamp(file: Path) -> tuple[int, int] | None:
    """A stamp that changes whenever the file is replaced."""
    try:
        looks = file.stat()
    except OSError:
        return None
    return looks.st_ino, looks.st_mtime_ns


class StoredWorld(NamedTuple):
    """The contents of an intact file."""

    told: dict[str, Any]
    arrays: dict[str, Any]

    def restore(self, index: world_index.WorldIndex) -> None:
        """Copy the contents into an empty index."""
        arrays, moments = self.arrays, index.moments
        for name in _COLUMNS:
            setattr(moments, name, world_moments.Column(len(arrays[name]), arrays[name]))
        moments.complete_from = int(self.told["complete_from"])
        index.places = {node: place for place, node in enumerate(arrays["nodes"][0].tolist())}
        index.segments = (
            (world_texts.Segment(0, *(arrays[name] for name in world_texts.ARRAYS)),) if len(moments.texts) else ()
        )
        for number, dimension in self.told["spaces"]:
            index.spaces[number] = world_texts.SpaceVectors(
                dimension, arrays[f"vectors-{number}"], arrays[f"rows-{number}"]
            )


_COLUMNS: Final = ("nodes", "texts", "holding", "containing")
_ALIGNED: Final = 64


def write(file: Path, index: world_index.WorldIndex, store_id: bytes, secret: bytes) -> None:
    """Put another file in the place of the one that is there.

    Raises:
        OSError: it cannot be written; what is there stays.
    """
    import numpy as np

    assert index.marker is not None
    if len(index.segments) > 1:
        index.segments = (world_texts.merge_segments(index.segments),)
    arrays: dict[str, Any] = {name: getattr(index.moments, name).lines for name in _COLUMNS}
    if index.segments:
        arrays |= dict(zip(world_texts.ARRAYS, index.segments[0][1:], strict=True))
    for number, space in index.spaces.items():
        arrays[f"vectors-{number}"] = space.lines.lines
        arrays[f"rows-{number}"] = np.concatenate(space.parts(len(space.lines)))
    fresh = file.with_suffix(".new")
    digest, offset = blake3(), 0
    lines: list[tuple[str, str, list[int], int]] = []
    with fresh.open("wb") as out:
        out.write(bytes(_ALIGNED))
        for name, array in arrays.items():
            plain = np.ascontiguousarray(array)
            stored = plain.tobytes()
            stored += bytes(-len(stored) % _ALIGNED)
            lines.append((name, plain.dtype.str, list(plain.shape), offset))
            out.write(stored)
            digest.update(stored)
            offset += len(stored)
        header: dict[str, Any] = {
            "format": FORMAT,
            "analysis": analysis.FORMAT,
            "store": store_id.hex(),
            "node": index.moments.top,
            "seq": index.marker[0],
            "chain": index.marker[1].hex(),
            "complete_from": index.moments.complete_from,
            "spaces": [(number, space.dimension) for number, space in index.spaces.items()],
            "arrays": lines,
            "bytes": offset,
            "digest": digest.digest().hex(),
        }
        header["seal"] = _seal(secret, header)
        tail = json.dumps(header).encode()
        out.write(tail)
        out.seek(0)
        out.write(offset.to_bytes(8, "big") + len(tail).to_bytes(8, "big"))
    # A file that was not synced may have its length after a crash, and zeros in it.
    sync_file(fresh)
    os.replace(fresh, file)


def load(file: Path, secret: bytes) -> StoredWorld | None:
    """The contents of a file; ``None`` if it is unreadable or not sealed under the secret."""
    found = _read(file, secret)
    return found if isinstance(found, StoredWorld) else None


class _Unused(NamedTuple):
    """A file that is not used: it is missing, or has another format."""


def _read(file: Path, secret: bytes) -> StoredWorld | _Unused | None:
    """What is in a file; ``None`` if it is not as it was written under the secret."""
    import numpy as np

    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            head = mapped[:_ALIGNED]
            size, length = int.from_bytes(head[:8], "big"), int.from_bytes(head[8:16], "big")
            header = json.loads(mapped[_ALIGNED + size : _ALIGNED + size + length])
            if len(mapped) != _ALIGNED + size + length or any(head[16:]) or header["bytes"] != size:
                return None
            if header["seal"] != _seal(secret, header):
                return None
            if header["format"] != FORMAT or header["analysis"] != analysis.FORMAT:
                return _Unused()
        payload = np.memmap(file, dtype=np.uint8, mode="r", offset=_ALIGNED, shape=(size,))
        digest = blake3(max_threads=blake3.AUTO)
        digest.update(memoryview(payload))  # type: ignore[arg-type]
        if digest.hexdigest() != header["digest"]:
            return None
        plain = payload.view(np.ndarray)
        arrays = {}
        for name, kind, shape, at in header["arrays"]:
            width = np.dtype(kind).itemsize * int(np.prod(shape))
            arrays[name] = plain[at : at + width].view(kind).reshape(shape)
        return StoredWorld(header, arrays)
    except OSError:
        return _Unused()
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError):
        return None


def _seal(secret: bytes, told: dict[str, Any]) -> str:
    """The seal over the header of a file, with its digest."""
    rest = json.dumps({name: value for name, value in told.items() if name != "seal"}, sort_keys=True)
    return witness.seal(secret, witness.WORLD, {"told": rest.encode()}).hex()


_SHARED: dict[tuple[str, bytes], WorldCache] = {}
_SHARING: Final = threading.Lock()


def acquire_worlds(folder: Path, store_id: bytes, secret: bytes) -> WorldCache:
    """The worlds of a store, which all handles of this process share until each has given them back."""
    key = os.path.realpath(folder), store_id
    with _SHARING:
        found = _SHARED.get(key)
        if found is None:
            found = _SHARED[key] = WorldCache(folder, store_id, secret)
        found.handles += 1
        return found


def release_worlds(worlds: WorldCache) -> None:
    """End the use of a handle; the last one frees the memory."""
    with _SHARING:
        worlds.handles -= 1
        if worlds.handles <= 0:
            worlds.forget()
            for key in [key for key, each in _SHARED.items() if each is worlds]:
                del _SHARED[key]
