"""All tables in one LMDB transaction: opening, progress, flushing, clearing, and caches.

A :class:`RowCache` lives as long as the transaction. :class:`KnownWorlds` holds what new edges need to know of their
ends, and a :class:`CommitCache` hands it from one commit to the next. :class:`TrieNodes` is a trie inside a table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, starmap, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeAlias
from zlib import crc32

import lmdb
import msgspec

from worlddb.log.model import hashing, ids, trie
from worlddb.log.model.errors import DamagedStore, NewerFormat, OlderTables
from worlddb.log.model.times import Interval
from worlddb.log.store import environment
from worlddb.projections.tables.storage import packed_runs, schema, write_buffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_KNOWN: Final = 50_000
"""How many worlds a writer knows from one batch to the next: about half a kilobyte each."""
HASHED: Final = struct.Struct(">16s32sq")
"""Lineage, newest body and time of creation of a world."""


class EdgeEndpoint(NamedTuple):
    """One end of an edge, with what the edge inherits if it is its source: a start and a home.

    ``end`` is the lineage and its newest body as the edge's hash has them, ``home`` the first world that contains it.
    """

    node: int
    lineage: bytes
    versions: int
    end: bytes
    begins: int
    home: int
    home_lineage: bytes


class JoinedWorlds(Protocol):
    """Worlds that belong together, as the reconciler keeps them."""

    retimed: set[int]
    """Those of which versions have changed since it looked."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[int]: ...


class KnownWorlds:
    """What new edges need to know of their ends, by lineage.

    It follows from the log up to one commit.
    """

    __slots__ = (
        "chain",
        "columns",
        "containers",
        "endpoints",
        "hashed",
        "joined",
        "joins",
        "most_rows",
        "noted",
        "numbers",
        "trie_nodes",
    )

    def __init__(self) -> None:
        self.chain = b""
        """The chain hash of the commit up to which all of it is true."""
        self.endpoints: dict[bytes, EdgeEndpoint] = {}
        self.columns: WorldColumns | None = None
        """What was once among these and is still true."""
        self.hashed: dict[int, bytes] = {}
        """The stored hashes of worlds that a commit changed and that hold others, as those that change again do.

        Before each stand the lineage and what else the hash is made of, see :data:`HASHED`: a commit asks for all of
        it, of worlds in no order.
        """
        self.containers: dict[int, list[int]] = {}
        """Which worlds contain these same ones."""
        self.joined: dict[int, JoinedWorlds] = {}
        """For a world, those that ``supersedes`` joins with it: all of them, but for what ``joins`` adds."""
        self.joins: list[tuple[int, int, Interval]] = []
        """The ``supersedes`` edges written since to or from these: source, target, and when each is in force."""
        self.most_rows: dict[str, int] = {}
        """How many rows a table that was counted has at most, packed ones apart."""
        self.trie_nodes: dict[bytes, bytes] = {}
        """The nodes of tries that were written last, by their hashes: of a world that changes again most do, too."""
        self.noted: AllNoted | None = None
        """What is noted in tries, as the tables are after that commit."""
        self.numbers: LineageColumns | None = None
        """The numbers of worlds that a rebuild has met: it knows that as much again is to come."""

    def forget(self, lineage: bytes, node: int) -> None:
        """Drop a world that changed, or that gets its first container."""
        self.endpoints.pop(lineage, None)
        self.hashed.pop(node, None)
        if self.columns is not None:
            self.columns.forget(node)

    def recall(self, lineages: Sequence[bytes]) -> None:
        """Take up again what was known of some worlds."""
        if self.columns is not None and lineages:
            self.columns.give_back(lineages, self.endpoints)

    def keep_numbers(self, numbers: Mapping[bytes, int]) -> None:
        """Take in the numbers of worlds by their lineages."""
        import numpy as np  # Only a rebuild comes here.

        self.numbers = self.numbers or LineageColumns()
        found = [(lineage, node) for lineage, node in numbers.items() if node < self.numbers.MOST]
        if found:
            lineages = np.frombuffer(b"".join([lineage for lineage, _ in found]), dtype=np.uint8)
            nodes = np.array([node for _, node in found], dtype=np.int64)
            self.numbers.add(nodes, lineages.reshape(len(found), -1))

    def numbers_of(self, lineages: Sequence[bytes]) -> dict[bytes, int]:
        """The numbers of some worlds, as far as they have been taken in."""
        if self.numbers is None or not lineages:
            return {}
        found = zip(lineages, self.numbers.numbers(lineages).tolist(), strict=True)
        return {lineage: node for lineage, node in found if node >= 0}

    def retimed(self, node: int) -> None:
        """Note that a world got a version, or that one of its versions lost a time."""
        if self.joined and (worlds := self.joined.get(node)) is not None:
            worlds.retimed.add(node)

    def superseded(self, source: int, target: int, when: Interval) -> None:
        """Note a new ``supersedes`` edge."""
        if source in self.joined or target in self.joined:
            self.joins.append((source, target, when))

    def rehashed(self, hashed: Mapping[int, bytes], containers: Mapping[int, list[int]]) -> None:
        """Note the new hashes of worlds that were there before or hold something, and which worlds contain those."""
        self.hashed.update(hashed)
        self.containers.update(containers)
        for held in (self.hashed, self.containers):
            if len(held) > 2 * MAX_KNOWN:
                self._trim(held, MAX_KNOWN)

    def forget_joined(self) -> None:
        """Drop what is known of worlds that ``supersedes`` joins."""
        self.joined.clear()
        self.joins.clear()

    def trim(self) -> None:
        """Let the oldest entries go if there are too many, and the smallest sets of joined worlds."""
        # Of very many worlds few are asked for again soon, and what is in columns is soon given back.
        most = MAX_KNOWN
        if len(self.endpoints) > most // 4 and self.columns is not None and self.columns.count() > 4 * most:
            most //= 5
        leaving = [*map(self.endpoints.pop, [*islice(self.endpoints, max(0, len(self.endpoints) - most))])]
        if leaving:
            self.columns = self.columns or WorldColumns()
            self.columns.keep(leaving)
        for held in (self.hashed, self.containers):
            self._trim(held, MAX_KNOWN)
        if len(self.joined) + len(self.joins) <= MAX_KNOWN:
            return
        kept: dict[int, JoinedWorlds] = {}
        for worlds in sorted({id(each): each for each in self.joined.values()}.values(), key=len, reverse=True):
            if len(kept) + len(worlds) > MAX_KNOWN // 2:
                break
            kept.update(dict.fromkeys(worlds, worlds))
        self.joined = kept
        self.joins = [join for join in self.joins if join[0] in kept or join[1] in kept]
        if len(self.joins) > MAX_KNOWN // 2:
            self.forget_joined()

    @staticmethod
    def _trim(held: dict[Any, Any], most: int) -> None:
        for each in list(islice(held, max(0, len(held) - most))):
            del held[each]


class LineageColumns:
    """The lineages of worlds by number, and the numbers by lineage: 25 bytes each, where objects would take 200."""

    MOST: Final = 1 << 20
    """Worlds with higher numbers are looked up in the tables."""

    def __init__(self) -> None:
        import numpy as np  # Only large writes come here. Unused pages take no memory.

        self.lineages = np.zeros((self.MOST, ids.LINEAGE_BYTES), dtype=np.uint8)
        self._named = np.zeros(self.MOST, dtype=np.bool_)
        self._slots = np.zeros(2 * self.MOST, dtype=np.uint32)
        """Numbers, and one more each, by the beginning of the lineage or behind: 0 where there is none."""

    def add(self, nodes: NDArray[np.int64], lineages: NDArray[np.uint8]) -> None:
        """Take in the lineages of some worlds, which stay what they are."""
        import numpy as np  # As above.

        new, first = np.unique(nodes, return_index=True)
        is_new = ~self._named[new]
        new, first = new[is_new], first[is_new]
        self._named[new], self.lineages[new] = True, lineages[first]
        at = self._first_slots(self.lineages[new])
        while len(new):
            free = self._slots[at] == 0
            self._slots[at[free]] = new[free] + 1
            left = self._slots[at] != new + 1
            new, at = new[left], (at[left] + 1) % len(self._slots)

    def numbers(self, lineages: Sequence[bytes]) -> NDArray[np.int64]:
        """The numbers of some worlds, -1 where one is not here."""
        import numpy as np  # As above.

        wanted = np.frombuffer(b"".join(lineages), dtype=np.uint8).reshape(len(lineages), -1)
        nodes, at = np.full(len(lineages), -1, dtype=np.int64), self._first_slots(wanted)
        left = np.arange(len(lineages))
        while len(left):
            there = self._slots[at].astype(np.int64) - 1
            same = (self.lineages[there] == wanted[left]).all(axis=1) & (there >= 0)
            nodes[left[same]] = there[same]
            go_on = ~same & (there >= 0)
            left, at = left[go_on], (at[go_on] + 1) % len(self._slots)
        return nodes

    def _first_slots(self, lineages: NDArray[np.uint8]) -> NDArray[np.int64]:
        import numpy as np  # As above.

        begun = np.ascontiguousarray(lineages[:, :4]).view(np.uint32).ravel()
        return begun.astype(np.int64) % len(self._slots)


class WorldColumns:
    """What new edges need to know of many worlds, by their numbers: 61 bytes each, where objects would take 500."""

    _LINEAGE: Final = slice(4, 4 + ids.LINEAGE_BYTES)
    """Where an end as it is hashed has the lineage, and the hash of the newest body: the rest is in all the same."""
    _BODY: Final = slice(_LINEAGE.stop + 4, _LINEAGE.stop + 4 + ids.HASH_BYTES)
    _NO_END: Final = hashing.edge_end(bytes(ids.LINEAGE_BYTES), bytes(ids.HASH_BYTES))

    def __init__(self) -> None:
        import numpy as np  # Only large writes come here. Unused pages take no memory.

        self._lineages = LineageColumns()
        most = self._lineages.MOST
        self._bodies = np.zeros((most, ids.HASH_BYTES), dtype=np.uint8)
        self._versions = np.zeros(most, dtype=np.uint32)
        self._begins = np.zeros(most, dtype=np.int64)
        self._homes = np.zeros(most, dtype=np.uint32)
        self._holds = np.zeros(most, dtype=np.bool_)

    def count(self) -> int:
        """Of how many worlds something is known."""
        import numpy as np  # As above.

        return int(np.count_nonzero(self._holds))

    def forget(self, node: int) -> None:
        """Drop a world that changed."""
        if node < self._lineages.MOST:
            self._holds[node] = False

    def keep(self, known: Sequence[EdgeEndpoint]) -> None:
        """Take in what is true of some worlds."""
        import numpy as np  # As above.

        # Most were given back from here, and nothing has changed of them.
        held = self._holds[np.minimum([end.node for end in known], self._lineages.MOST - 1)].tolist()
        others = [end for end, is_held in zip(known, held, strict=True) if not is_held]
        known = [end for end in others if max(end.node, end.home) < self._lineages.MOST]
        if not known:
            return
        nodes = np.array([end.node for end in known], dtype=np.int64)
        homes = np.array([end.home for end in known], dtype=np.int64)
        at_home = np.frombuffer(b"".join([end.home_lineage for end in known]), dtype=np.uint8)
        ends = np.frombuffer(b"".join([end.end for end in known]), dtype=np.uint8).reshape(len(known), -1)
        self._lineages.add(
            np.concatenate((nodes, homes)), np.concatenate((ends[:, self._LINEAGE], at_home.reshape(len(known), -1)))
        )
        self._bodies[nodes] = ends[:, self._BODY]
        self._versions[nodes] = [end.versions for end in known]
        self._begins[nodes] = [end.begins for end in known]
        self._homes[nodes] = homes
        self._holds[nodes] = True

    def give_back(self, lineages: Sequence[bytes], endpoints: dict[bytes, EdgeEndpoint]) -> None:
        """Put what is known of some worlds where it is looked for."""
        import numpy as np  # As above.

        nodes = self._lineages.numbers(lineages)
        homes = self._homes[nodes]
        told = (nodes >= 0) & self._holds[nodes]
        nodes, homes = nodes[told], homes[told]
        size, width, lineages_of = len(self._NO_END), ids.LINEAGE_BYTES, self._lineages.lineages
        each_end = np.tile(np.frombuffer(self._NO_END, dtype=np.uint8), (len(nodes), 1))
        each_end[:, self._LINEAGE], each_end[:, self._BODY] = lineages_of[nodes], self._bodies[nodes]
        ends, at_home = each_end.tobytes(), lineages_of[homes].tobytes()
        whole = [ends[at : at + size] for at in range(0, len(ends), size)]
        its = [end[self._LINEAGE] for end in whole]
        theirs = [at_home[at : at + width] for at in range(0, len(at_home), width)]
        numbers, begins = self._versions[nodes].tolist(), self._begins[nodes].tolist()
        found = zip(nodes.tolist(), its, numbers, whole, begins, homes.tolist(), theirs, strict=True)
        endpoints.update(zip(its, map(edge_endpoint, found), strict=True))


edge_endpoint: Final[Callable[[tuple[Any, ...]], EdgeEndpoint]] = partial(tuple.__new__, EdgeEndpoint)


class CommitCache:
    """Hands a writer's :class:`KnownWorlds` to its next commit.

    It does not if somebody else commits in between.
    """

    def __init__(self) -> None:
        self._known = KnownWorlds()

    def take(self, chain: bytes) -> KnownWorlds:
        """Take what is true after the commit with this hash; the next commit puts it back."""
        known, self._known = self._known, KnownWorlds()
        return known if known.chain == chain else KnownWorlds()

    def put(self, known: KnownWorlds, chain: bytes) -> None:
        """Remember what is true after the commit with this hash."""
        known.trim()
        known.chain = chain
        self._known = known


_UNSAID: Final = struct.pack(">Qq", *schema.ELSEWHERE)
_NOWHERE: Final = schema.U64.pack(schema.NO_CONTAINER)


def _pack_nodes(rows: Iterable[schema.NodeRow]) -> Iterator[bytes]:
    """The stored form of nodes' rows."""
    for packed in starmap(schema.NODE.pack, rows):
        yield packed if not packed.startswith(_NOWHERE, schema.CONTAINER_AT) else packed[: schema.CONTAINER_AT]


def unpack_node(stored: bytes) -> tuple[Any, ...]:
    """The columns of a node's stored row."""
    return schema.NODE.unpack(stored if len(stored) != schema.CONTAINER_AT else stored + _UNSAID)


class RowCache:
    """What one transaction has read and put, as rows.

    A write reads the same few rows many times over.
    """

    __slots__ = ("containers", "hashes", "nodes", "numbers", "put_nodes", "put_versions", "versions")

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.nodes: dict[int, schema.NodeRow] = {}
        self.put_nodes: set[int] = set()
        self.versions: dict[tuple[int, int], schema.VersionRow] = {}
        self.put_versions: set[tuple[int, int]] = set()
        self.containers: dict[int, list[int]] = {}
        self.hashes: dict[int, bytes] = {}


TRIE_CHANGES: Final = b"\xf2"
"""What the keys begin with under which commits note what they changed in tries."""
MANY_BUCKETS: Final = 1 << 10
"""A commit that changes so many buckets and branches notes what it changed in them, and does not write them."""
MERGES: Final = 4
"""Of the stretches of its turn, one in so many, a large commit makes one note of all that there are."""
MAX_NOTED: Final = 160
"""Or it writes their buckets, if so many bytes are noted of each of them, and up to twice as many of some stretches.

So they are not all written by the same commits, and LMDB keeps the memory of the largest.
"""
MAX_OF_ONE: Final = 512
"""And a bucket of which more bytes are noted: each commit changes much of it, and each look would put all of it in."""
_MANY_LOOKS: Final = 512
"""From so many looks on all notes are read at once."""
_NOTE_BYTES: Final = 12
"""What msgpack takes at most beside the bytes of a note; and a page of them."""
_KIND_AT: Final = schema.U64.size
_BUCKET_AT: Final = len(TRIE_CHANGES) + schema.U32.size
"""Where the key of the first bucket begins in the key of a page of notes."""
_MERGED: Final = TRIE_CHANGES + schema.U32.pack(0)
"""What the keys of merged notes begin with. Whatever else is noted is later."""
ENTRY_BYTES: Final = {schema.TRIE_MEMBERS: (16, 32), schema.TRIE_EDGES: (32, 0)}
"""Of the tries of a kind, how long keys and values are."""
_ENTRIES: Final = {kind: struct.Struct(f"{key}s{value}s") for kind, (key, value) in ENTRY_BYTES.items()}
_KEYS: Final = {kind: struct.Struct(f"{key}s") for kind, (key, _) in ENTRY_BYTES.items()}

Noted = tuple[bytes, bytes]
"""Entries that came into a bucket or have another value, and keys that went.

Of a branch it is the children that came or changed, each behind its digit, and :data:`_OF_BRANCH`.
Neither: the node was written, and what was noted before is in it."""
_WRITTEN: Final[Noted] = (b"", b"")
_OF_BRANCH: Final = b"\x01"
"""Shorter than any key. A branch of which a child went is written."""
Note: TypeAlias = bytes | Noted
"""In memory mostly the entries that came, where no keys went."""
_UNSEEN: Final = bytes(4)
_CRC_BYTES: Final = len(_UNSEEN)
_CHANGED: Final = b""
"""In memory in the place of a bucket that will not be written, of which there is what has changed. No node is empty."""
_NOTES: Final = msgspec.msgpack.Decoder(dict[bytes, Noted])
_ENCODER: Final = msgspec.msgpack.Encoder()


class AllNoted:
    """All that is noted in tries: a writer hands it to its next commit, which would read megabytes for it."""

    __slots__ = ("mixed", "notes", "numbers", "rows", "transaction")

    MOST: Final = 1 << 18
    """Of more buckets it is read again, which makes a commit of 10,000 writes an eighth longer.

    3,500,000 writes leave 120,000 that are noted."""

    def __init__(self, numbers: Sequence[bytes]) -> None:
        self.transaction = 0
        """The number of the transaction that left it so."""
        self.numbers = [*numbers]
        """What the keys of the pages of each note begin with, the oldest first."""
        self.notes: dict[int, dict[bytes, Note]] = {}
        """By stretches: what was noted of a bucket since it was written, in one.

        Entries that came alone have four bytes before them: the CRC of the stored bucket where it was seen to be, with
        what was noted of it, what was written, else zeros.

        Of bytes in dictionaries the cycle collector knows nothing. Of lists it would go through a hundred thousand.
        """
        self.rows: dict[int, list[bytes]] = {}
        """By stretches: the keys of pages."""
        self.mixed: set[bytes] = set()
        """The keys of pages that have several stretches, which earlier releases wrote."""

    def of(self, key: bytes) -> Sequence[Note]:
        """What was noted of a node since it was written, in one; nothing if nothing was."""
        return self.seen(key)[1]

    def seen(self, key: bytes) -> tuple[bytes, Sequence[Note]]:
        """As :meth:`of`, behind the CRC of the stored bucket, or zeros."""
        notes = self.notes.get(_stretch_of(key))
        note = None if notes is None else notes.get(key)
        if note is None:
            return _UNSEEN, ()
        return (note[:_CRC_BYTES], (note[_CRC_BYTES:],)) if isinstance(note, bytes) else (_UNSEEN, (note,))

    def read(self, row: bytes, page: Mapping[bytes, Noted]) -> None:
        """Take in a page; those of earlier notes come first."""
        by_stretch: dict[int, dict[bytes, Note]] = {}
        for key, (came, gone) in page.items():
            by_stretch.setdefault(_stretch_of(key), {})[key] = (came, gone) if gone or not came else came
        for stretch, notes in by_stretch.items():
            self.rows.setdefault(stretch, []).append(row)
            self.add(stretch, notes, {})
        if len(by_stretch) > 1:
            self.mixed.add(row)

    def add(self, stretch: int, later: Mapping[bytes, Note], seen: Mapping[bytes, int]) -> None:
        """Take in what was noted of buckets later than all else of them.

        ``seen`` has the CRCs of those stored buckets that were seen to be what was written, and were not before.
        """
        notes = self.notes.setdefault(stretch, {})
        for key, note in later.items():
            if note == _WRITTEN:
                notes.pop(key, None)
                continue
            before = notes.get(key, _UNSEEN)
            if isinstance(before, bytes):
                if key in seen:
                    before = seen[key].to_bytes(_CRC_BYTES, "big") + before[_CRC_BYTES:]
                if isinstance(note, bytes):
                    # Of what is noted of members half would be older hashes of the same ones.
                    if len(before) > _CRC_BYTES and key[_KIND_AT : _KIND_AT + 1] == schema.TRIE_MEMBERS:
                        before = _without(before, note)
                    notes[key] = before + note
                    continue
                before = before[_CRC_BYTES:]
            whole = _behind(key, before, note)
            notes[key] = _UNSEEN + whole if isinstance(whole, bytes) else whole


class TrieTable(write_buffer.Table):
    """The tries of all worlds.

    A large commit changes an entry or two in each of many buckets, and would write all of their pages for it. So it
    notes the changes alone, in pages sorted by bucket, and a look puts them into the bucket. Each such commit writes a
    part of the buckets that are noted, in turn, and of a larger part it makes one note of several, so that a look meets
    few. A small commit writes its buckets, and takes them out of the notes. Of a branch it notes the children likewise.

    From the time on that there are so many that they will be noted, it holds none of the buckets, which are megabytes.
    """

    __slots__ = ("_all", "_changes", "_looks", "_numbers", "_pages", "_seen")

    def __init__(self, txn: lmdb.Transaction, first_byte: bytes, prefix_bytes: int = 0) -> None:
        super().__init__(txn, first_byte, prefix_bytes)
        self._changes: dict[bytes, Note] = {}
        """What has changed since the last flush in buckets that are stored."""
        self._seen: dict[bytes, int] = {}
        """The CRCs of stored buckets that were read to be checked."""
        self._forget_notes()

    def _forget_notes(self) -> None:
        self._looks = 0
        self._numbers: list[bytes] | None = None
        """What the keys of the pages of each note begin with."""
        self._pages: dict[bytes, dict[bytes, Noted]] = {}
        self._all: AllNoted | None = None

    def take(self, noted: AllNoted | None) -> None:
        """Take up what an earlier commit left, if nobody has written since."""
        if noted is not None and 0 <= self._txn.id() - noted.transaction <= 1:
            self._all, self._numbers = noted, noted.numbers

    def left(self) -> AllNoted | None:
        """What the next commit may take up."""
        noted = self._all
        if noted is None or sum(map(len, noted.notes.values())) > noted.MOST:
            return None
        noted.transaction = self._txn.id()
        return noted

    def get(self, key: bytes) -> bytes | None:
        return self.read(key, to_check=False)[0]

    def read(self, key: bytes, *, to_check: bool = True) -> trie.Read:
        """As :meth:`get`, with the entries of the bucket if they are at hand.

        ``to_check``: it must be what was written, else all fails. Of a bucket of which that was seen before, and what
        is stored has the same CRC still, there are the entries alone.
        """
        if key in self._pending and (found := self._pending[key]) != _CHANGED:
            return found, None
        stored: bytes | None = self._txn.get(self._first + key)  # type: ignore[assignment]
        if stored is None:
            return None, None
        seen, noted = (_UNSEEN, self._noted(key)) if self._all is None else self._all.seen(key)
        if key in self._changes:
            noted = (*noted, self._changes[key])
        if to_check and not stored[0]:
            crc = crc32(stored)
            if crc == int.from_bytes(seen, "big") != 0:
                return None, trie.changed_entries(stored, *_sizes_in(key), noted)
            self._seen[key] = crc
        return trie.with_changes(stored, *_sizes_in(key), noted) if noted else (stored, None)

    def scan(self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False) -> Iterator[write_buffer.Pair]:
        noted = self._all_noted()
        for key, value in super().scan(prefix, start, reverse=reverse):
            if key in self._pending:
                yield key, value if value != _CHANGED else self.get(key)  # type: ignore[misc]
            else:
                notes = noted.of(key)
                yield key, trie.with_changes(value, *_sizes_in(key), notes)[0] if notes else value

    def put(self, key: bytes, value: bytes | None) -> None:
        super().put(key, value)
        self._changes.pop(key, None)

    def put_changed(self, key: bytes, node: bytes, changes: Sequence[trie.Change]) -> None:
        """Store a bucket that was one before, or a branch that was, given what has changed in it."""
        noted = self._changes
        if key in noted:
            noted[key] = _behind(key, noted[key], _note_of(changes, node))
        elif key not in self._pending:
            noted[key] = _note_of(changes, node)
            if len(noted) == MANY_BUCKETS:
                self._pending.update(dict.fromkeys(noted, _CHANGED))
        self._pending[key] = _CHANGED if len(noted) >= MANY_BUCKETS and key in noted else node

    def flush(self) -> None:
        if len(self._changes) >= MANY_BUCKETS:
            self._note()
        elif self._pending:
            # Of those that were many others have been made anew since.
            self._pending.update({key: self.get(key) for key in self._changes if self._pending[key] == _CHANGED})
            for number in self._listed():
                self._take_out(number)
            self._forget_notes()
        super().flush()
        self._changes, self._seen = {}, {}

    def faults(self) -> Iterator[str]:
        """What only a look for one bucket meets, or nobody, so that a scan of all is as it should be."""
        written: set[bytes] = set()
        """Buckets that a later commit has written, of which nothing older was found yet."""
        void: set[bytes] = set()
        for number in reversed(self._listed()):
            last, later = b"", set[bytes]()
            for row, page in self._pages_of(number):
                keys, first = list(page), row[_BUCKET_AT:]
                changed = [key for key in keys if any(page[key])]
                if not keys or first > keys[0] or (last and first <= last) or sorted(keys) != keys:
                    yield f"noted changes under {row.hex()[:40]} are out of order"
                for key in changed:
                    if key not in void and not self._is_of(key, page[key]):
                        yield f"noted changes are of no bucket, at key {key.hex()[:40]}"
                last = max(keys, default=last)
                later.update(set(keys).difference(changed))
                written.difference_update(changed)
            written |= later
            void |= later
        yield from (f"no older noted changes are of the bucket {key.hex()[:40]}" for key in sorted(written))

    def _is_of(self, key: bytes, change: Noted) -> bool:
        """True if there is such a bucket or branch, and what was noted are whole entries and keys of it."""
        stored: bytes | None = self._txn.get(self._first + key)  # type: ignore[assignment]
        sizes = ENTRY_BYTES.get(key[_KIND_AT : _KIND_AT + 1])
        if sizes is None or stored is None:
            return False
        if trie.children(stored):
            digits = change[0][:: trie.NOTED_CHILD_BYTES]
            return (
                change[1] == _OF_BRANCH
                and len(change[0]) == len(set(digits)) * trie.NOTED_CHILD_BYTES
                and (max(digits) < trie.FANOUT)
            )
        return not len(change[0]) % sum(sizes) and not len(change[1]) % sizes[0]

    def _listed(self) -> list[bytes]:
        """What the keys of each note begin with, the oldest first."""
        if self._numbers is None:
            self._numbers = []
            cursor = self._own_cursor()
            found = cursor.set_range(TRIE_CHANGES)
            while found and (row := bytes(cursor.key())).startswith(TRIE_CHANGES):
                self._numbers.append(row[:_BUCKET_AT])
                beyond: bytes = write_buffer.successor(row[:_BUCKET_AT])  # type: ignore[assignment]
                found = cursor.set_range(beyond)
        return self._numbers

    def _noted(self, key: bytes) -> Sequence[Note]:
        """What was noted of a bucket since it was written, where not all notes were read."""
        numbers = self._listed()
        self._looks += 1
        if not numbers or self._looks <= _MANY_LOOKS:
            changes = (self._page_at(number, key)[1].get(key) for number in reversed(numbers))
            since = takewhile(any, (change for change in changes if change is not None))
            return list(since)[::-1]
        return self._all_noted().of(key)

    def _all_noted(self) -> AllNoted:
        """What was noted of each bucket since it was written."""
        if self._all is None:
            self._all = AllNoted(self._listed())
            for row, page in chain.from_iterable(map(self._pages_of, self._listed())):
                self._all.read(row, page)
        return self._all

    def _pages_of(self, number: bytes) -> Iterator[tuple[bytes, dict[bytes, Noted]]]:
        with self._txn.cursor() as cursor:
            found = cursor.set_range(number)
            while found and cursor.key().startswith(number):  # type: ignore[union-attr]
                yield bytes(cursor.key()), _notes_in(cursor.value())  # type: ignore[arg-type]
                found = cursor.next()

    def _page_at(self, number: bytes, key: bytes) -> tuple[bytes, dict[bytes, Noted]]:
        """The page of a note in which a bucket is, or would be, and its key; an empty one if all are behind it."""
        cursor, at = self._own_cursor(), number + key
        if not cursor.set_range(at):
            cursor.last()
        elif cursor.key() != at:
            cursor.prev()
        row = bytes(cursor.key())
        if not row.startswith(number):
            return row, {}
        if row not in self._pages:
            self._pages[row] = _notes_in(cursor.value())  # type: ignore[arg-type]
        return row, self._pages[row]

    def _take_out(self, number: bytes) -> None:
        """Take out of a note what will be written."""
        changed: dict[bytes, dict[bytes, Noted]] = {}
        for key in sorted(self._pending):
            row, page = self._page_at(number, key)
            if page.pop(key, None) is not None:
                changed[row] = page
        for row, page in changed.items():
            if page:
                self._txn.put(row, _ENCODER.encode(page))
            else:
                self._txn.delete(row)

    def _note(self) -> None:
        """Note what has changed instead of writing it; write and merge what is noted of the stretches of this turn."""
        noted = self._all_noted()
        turn = 1 + (int.from_bytes(noted.numbers[-1][len(TRIE_CHANGES) :], "big") if noted.numbers else 0)
        fresh: dict[int, dict[bytes, Note]] = {}
        for key, note in self._changes.items():
            fresh.setdefault(_stretch_of(key), {})[key] = note
        self._pending = {key: node for key, node in self._pending.items() if key not in self._changes}
        for key in self._pending:
            if noted.of(key):
                fresh.setdefault(_stretch_of(key), {})[key] = _WRITTEN
        for stretch, notes in fresh.items():
            noted.add(stretch, notes, self._seen)
        merged = list[int]()
        for stretch in [each for each in noted.notes.keys() | fresh.keys() if (each - turn) % MERGES == 0]:
            several = noted.notes.pop(stretch, {})
            self._drop(noted, stretch)
            sizes = [
                len(note) if isinstance(note, bytes) else _CRC_BYTES + sum(map(len, note)) for note in several.values()
            ]
            most = MAX_OF_ONE if sum(sizes) <= len(several) * (_CRC_BYTES + _most_noted(stretch)) else 0
            large = [key for key, size in zip(several, sizes, strict=True) if size > _CRC_BYTES + most]
            self._write({key: several.pop(key) for key in large})
            if several:
                noted.notes[stretch] = several
                merged.append(stretch)
        self._put_notes(noted, _MERGED, {stretch: noted.notes[stretch] for stretch in merged}, _CRC_BYTES)
        late = {stretch: notes for stretch, notes in fresh.items() if (stretch - turn) % MERGES}
        self._put_notes(noted, TRIE_CHANGES + schema.U32.pack(turn), late)
        noted.numbers[:] = sorted({row[:_BUCKET_AT] for rows in noted.rows.values() for row in rows})
        self._numbers, self._pages = noted.numbers, {}

    def _write(self, noted: Mapping[bytes, Note]) -> None:
        """Write the buckets of which all this is noted, but for those that are written anyway."""
        # The difference of keys would go through all that are pending, for each stretch.
        for key in sorted([key for key in noted if key not in self._pending]):
            stored: bytes | None = self._txn.get(self._first + key)  # type: ignore[assignment]
            if stored is not None:
                changed, _ = trie.with_changes(stored, *_sizes_in(key), (_behind_crc(noted[key]),))
                self._txn.put(self._first + key, changed)

    def _drop(self, noted: AllNoted, stretch: int) -> None:
        """Drop the pages of a stretch; those of earlier releases have several."""
        for row in noted.rows.pop(stretch, ()):
            page = _notes_in(self._txn.get(row)) if row in noted.mixed else {}  # type: ignore[arg-type]
            kept = {key: note for key, note in page.items() if _stretch_of(key) != stretch}
            if kept:
                self._txn.put(row, _ENCODER.encode(kept))
            else:
                self._txn.delete(row)

    def _put_notes(
        self, noted: AllNoted, number: bytes, notes: Mapping[int, Mapping[bytes, Note]], before: int = 0
    ) -> None:
        """Put a note, in pages of one stretch each. In memory so many bytes are ``before`` entries that came alone."""
        pages: list[tuple[bytes, dict[bytes, Noted]]] = []
        page: dict[bytes, Noted] = {}
        for stretch, of_it in notes.items():
            room = 0
            for key in sorted(of_it):
                note = of_it[key]
                whole = (note[before:], b"") if isinstance(note, bytes) else note
                taken = len(key) + len(whole[0]) + len(whole[1]) + _NOTE_BYTES
                if taken > room:
                    page = {}
                    pages.append((number + key, page))
                    noted.rows.setdefault(stretch, []).append(number + key)
                    room = packed_runs.PAGE_ROOM - _NOTE_BYTES
                page[key] = whole
                room -= taken
        pages.sort(key=itemgetter(0))
        with self._txn.cursor() as cursor:
            cursor.putmulti([(row, _ENCODER.encode(page)) for row, page in pages])

    def _delete_notes(self) -> None:
        with self._txn.cursor() as cursor:
            found = cursor.set_range(TRIE_CHANGES)
            while found and cursor.key().startswith(TRIE_CHANGES):  # type: ignore[union-attr]
                found = cursor.delete()

    def clear(self) -> None:
        super().clear()
        self._delete_notes()
        self._changes, self._seen = {}, {}
        self._forget_notes()


def _notes_in(stored: bytes) -> dict[bytes, Noted]:
    try:
        return _NOTES.decode(stored)
    except msgspec.DecodeError as error:
        remedy = "Run `worlddb verify --deep`, then `worlddb rebuild tables`"
        raise DamagedStore("In the tables, noted changes of tries cannot be read", remedy) from error


def _stretch_of(key: bytes) -> int:
    """To which 1,024 worlds a bucket belongs: those are written together, as several small ones share a page."""
    return int.from_bytes(key[: _KIND_AT - 1], "big") >> 2


def _most_noted(stretch: int) -> int:
    return MAX_NOTED * (8 + stretch // MERGES % 9) // 8


def _note_of(changes: Sequence[trie.Change], node: bytes = b"\x00") -> Note:
    """Changes of different keys as they are noted; ``node`` has them, if that is not a bucket."""
    try:
        came = b"".join(chain.from_iterable(changes))  # type: ignore[arg-type]
        return (came, _OF_BRANCH) if node[0] else came
    except TypeError:
        gone = b"".join([entry for entry, value in changes if value is None])
        return b"".join([entry + value for entry, value in changes if value is not None]), gone


def _behind(key: bytes, before: Note, later: Note) -> Note:
    """What was noted of a bucket and what was noted of it later, in one note."""
    if isinstance(before, bytes) and isinstance(later, bytes):
        return before + later
    if not isinstance(later, bytes) and later[1] == _OF_BRANCH:
        came, size = before if isinstance(before, bytes) else before[0], trie.NOTED_CHILD_BYTES
        for digit in later[0][::size]:
            at = size * came[::size].find(digit)
            if at >= 0:
                came = came[:at] + came[at + size :]
        return came + later[0], _OF_BRANCH
    kind = key[_KIND_AT : _KIND_AT + 1]
    entries, changes = _ENTRIES[kind], dict[bytes, bytes | None]()
    for note in (before, later):
        came, gone = (note, b"") if isinstance(note, bytes) else note
        changes.update(entries.iter_unpack(came))
        changes.update((entry, None) for (entry,) in _KEYS[kind].iter_unpack(gone))
    return _note_of(list(changes.items()))


def _without(before: bytes, later: bytes) -> bytes:
    """Members that came into a bucket, behind a CRC, but for those that came again later."""
    width, value_bytes = ENTRY_BYTES[schema.TRIE_MEMBERS]
    size = width + value_bytes
    for begins in range(0, len(later), size):
        at = before.find(later[begins : begins + width], _CRC_BYTES)
        if at > 0 and not (at - _CRC_BYTES) % size:
            before = before[:at] + before[at + size :]
    return before


def _behind_crc(note: Note) -> Note:
    return note[_CRC_BYTES:] if isinstance(note, bytes) else note


def _sizes_in(key: bytes) -> tuple[int, int]:
    """How long the keys and values are in a bucket."""
    return ENTRY_BYTES[key[_KIND_AT : _KIND_AT + 1]]


class TrieNodes:
    """One trie's nodes inside the ``tries`` table."""

    __slots__ = ("_table", "prefix", "put_changed", "read")

    def __init__(self, table: TrieTable, prefix: bytes) -> None:
        self._table = table
        self.prefix = prefix
        self.put_changed = table.put_changed
        self.read = table.read

    def get(self, path: bytes) -> bytes | None:
        return self._table.get(self.prefix + path)

    def put(self, path: bytes, node: bytes) -> None:
        self._table.put(self.prefix + path, node)

    def delete(self, path: bytes) -> None:
        self._table.put(self.prefix + path, None)


class TableTrie(trie.Trie):
    """A trie in the ``tries`` table."""

    nodes: TrieNodes

    def __init__(self, table: TrieTable, node: int, kind: bytes, written: dict[bytes, bytes]) -> None:
        super().__init__(TrieNodes(table, schema.U64.pack(node) + kind), *ENTRY_BYTES[kind], written)
        self._kind = kind

    def turned_to(self, node: int) -> Self:
        """This one as the trie of another world: a commit changes ten thousand."""
        self.nodes.prefix = schema.U64.pack(node) + self._kind
        return self

    def _read(self, path: bytes, *, to_check: bool) -> trie.Read:
        nodes = self.nodes
        return nodes.read(nodes.prefix + path, to_check=to_check)

    def _put_changed(self, path: bytes, node: bytes, changes: Sequence[trie.Change]) -> None:
        nodes = self.nodes
        nodes.put_changed(nodes.prefix + path, node, changes)


_APPLIED: Final = b"applied"
_APPLIED_KEY: Final = bytes([schema.FIRST_TABLE_BYTE]) + _APPLIED
COUNTED_EVERY: Final = 1 << 14
MUCH: Final = 1 << 10
"""A commit of so many worlds and edges holds megabytes, so that they are to go back when it is done."""
MAX_ROWS_OF_ONE: Final = 2
"""A world or an edge has no more rows in most tables; so nothing is counted where that many are too few to pack."""
SUPPOSED: Final = b"supposed"
LAST_CHANGE: Final = schema.U16.pack(0)
"""The key of the last registration's commit. No type has an empty name."""
_NUMBERS: Final = struct.Struct(">QQQ")
_UNNUMBERED_BYTES: Final = schema.PROGRESS.size - schema.LAYOUT_BYTES
_ROOMS: Final = {
    name: (bytes([schema.FIRST_TABLE_BYTE + position]), schema.PREFIX_BYTES.get(name, 0))
    for position, name in enumerate(schema.TABLES)
}
"""What every read would otherwise work out again for each table."""


def missing_row(what: str) -> DamagedStore:
    """The error for a row that another row names and that is not there."""
    return DamagedStore(f"The tables have no {what}", "Run `worlddb verify --deep`, then `worlddb rebuild tables`")


def _given_out(applied: bytes | None) -> tuple[int, int]:
    """Up to which commit, and how many, worlds and edges have numbers, by the row ``applied``."""
    if applied is None or len(applied) < _UNNUMBERED_BYTES:
        return 0, 0
    seq, nodes, edges = _NUMBERS.unpack_from(applied)
    return int(seq), int(nodes + edges)


def _layout_of(applied: bytes | None) -> int | None:
    """Read the tables' layout from the row ``applied``.

    Every later row has it in the same place; 0 for the shorter row that named none. ``None`` if there is no row, or one
    that no release wrote: then the tables are derived again.
    """
    if applied is None or len(applied) == _UNNUMBERED_BYTES:
        return None if applied is None else 0
    layout = int.from_bytes(applied[_UNNUMBERED_BYTES : schema.PROGRESS.size], "big")
    return layout if layout > schema.LAYOUT or (layout and len(applied) == schema.PROGRESS.size) else None


def _refuse_newer(layout: int) -> None:
    if layout > schema.LAYOUT:
        raise NewerFormat(
            f"The store's tables have layout {layout}; this release knows layouts up to {schema.LAYOUT}",
            "Upgrade WorldDB; the store itself is untouched",
        )


class RowsDeferred(Protocol):
    """New worlds and edges whose rows are not in the tables yet (``apply/deferred_rows.py``)."""

    def flush(self) -> None:
        """Put the rows."""

    def deferred_first_version(self, node: int) -> schema.VersionRow | None:
        """The row of a node's first version, if that is deferred."""

    def has_deferred_name(self, digest: bytes) -> bool:
        """True if a new lineage has the name, and the tables do not know it yet."""

    def deferred_targets(self, node: int, code: int) -> list[int]:
        """The targets of a node's edges of a type that are not in the tables yet."""

    def deferred_sources(self, node: int, code: int) -> list[int]:
        """The sources of the edges of a type to a node that are not in the tables yet."""

    def has_deferred_edge(self, node: int, code: int, *, incoming: bool) -> bool:
        """True if an edge of a type from a node, or to it, is not in the tables yet."""

    def deferred_edges(self, node: int, code: int, *, incoming: bool) -> list[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """The edges of a type from a node, or to it, that are not in the tables yet."""


class _Opened:
    """A table that most reads do not need, created when it is first used.

    It is an attribute: to make all of them would take longer than many a read does. Those that most need are made at
    once, as their attributes are found faster.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __set_name__(self, owner: type, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, tables: WholeTables, owner: type) -> write_buffer.Table:
        found = tables.table(self._name)
        setattr(tables, self._attribute, found)
        return found


class WholeTables:
    """All tables in one LMDB transaction; writes stay in memory until :meth:`flush`.

    While a commit is decided, rows of new worlds and edges may be deferred: they are put all at once, in columns,
    before anybody reads a table that they belong to. Those tables are properties here for no other reason.
    """

    timelines = _Opened("timelines")
    _types = _Opened("types")
    _names = _Opened("names")
    _out = _Opened("out")
    _back = _Opened("back")
    alias_table = _Opened("aliases")
    _edges = _Opened("edges")
    _edge_keys = _Opened("edge_keys")
    edge_types = _Opened("edge_types")
    tries = _Opened("tries")
    hashes = _Opened("hashes")
    proposals = _Opened("proposals")
    decisions = _Opened("decisions")
    pairs = _Opened("pairs")
    keys = _Opened("keys")
    bookmarks = _Opened("bookmarks")
    log_tree = _Opened("log_tree")
    erasures = _Opened("erasures")
    forbidden = _Opened("forbidden")
    registrations = _Opened("registrations")
    spaces = _Opened("spaces")
    vectors = _Opened("vectors")
    _forms = _Opened("forms")
    _blocks = _Opened("blocks")
    tunings = _Opened("tunings")
    trusts = _Opened("trusts")
    restated_table = _Opened("restatements")
    marks = _Opened("marks")
    terms = _Opened("terms")
    term_places = _Opened("term_places")
    by_subject = _Opened("by_subject")
    by_predicate = _Opened("by_predicate")
    by_object = _Opened("by_object")
    space_changes = _Opened("space_changes")
    _holders = _Opened("holders")
    retracted = _Opened("retracted")

    def __init__(self, txn: lmdb.Transaction) -> None:
        self.first_new_node = 2**64
        """Nodes from here on were made in this transaction, so nothing about them is stored yet."""
        self.writing = False
        """Set while a commit is being applied: rows that were read are kept until the flush."""
        self.deferred: RowsDeferred | None = None
        self.known_worlds = KnownWorlds()
        """What new edges need to know of worlds; the writer hands it on."""
        self.coming = 0.0
        """How many times as many rows as wait in memory are known to come behind them: a rebuild knows."""
        self._cache = RowCache()
        self._txn = txn
        self._opened: dict[str, write_buffer.Table] = {}
        self._runs: dict[str, list[packed_runs.Run]] | None = None
        self._glance: lmdb.Cursor | None = None
        self.unused: set[str] | None = None
        """The tables found without a row, which reads of one state of the store tell each other; of a writer none."""
        self.progress_table = self.table("progress")
        self.nodes = self.table("nodes")
        self._lineages = self.table("lineages")
        self._versions = self.table("versions")

    def table(self, name: str) -> write_buffer.Table:
        """A table by its name in the schema, whether or not all of its rows are in it."""
        found = self._opened.get(name)
        if found is None:
            runs = self._runs
            if runs is None and name in schema.PACKED:
                runs = self.runs()
            if runs and (of_it := runs.get(name)):
                of_it = runs[name] = list(of_it)
                found = self._packed(name, of_it)
            else:
                kind = TrieTable if name == "tries" else write_buffer.Table
                found = kind(self._txn, *_ROOMS[name])
                if isinstance(found, TrieTable):
                    found.take(self.known_worlds.noted)
            self._opened[name] = found
        return found

    def runs(self) -> dict[str, list[packed_runs.Run]]:
        """The packed runs of each table that has any."""
        if self._runs is None:
            stored: bytes | None = self._txn.get(packed_runs.RUNS_KEY)  # type: ignore[assignment]
            self._runs = {} if stored is None else packed_runs.listed_runs(stored)
        return self._runs

    def _packed(self, name: str, runs: list[packed_runs.Run]) -> packed_runs.PackedTable:
        return packed_runs.PackedTable(
            self._txn,
            *_ROOMS[name],
            schema.PACKED[name],
            name in schema.LOGGED_GROUPS,
            runs,
            schema.FIXED_ROWS.get(name),
            schema.WHOLE_KEYS.get(name),
        )

    def has_rows(self, name: str) -> bool:
        """True if a table may have any row: nearly no store has of some, and this is quicker than to look into them."""
        unused = self.unused
        if unused is None:
            return self._may_have_rows(name)
        if name in unused:
            return False
        found = self._may_have_rows(name)
        if not found:
            unused.add(name)
        return found

    def _may_have_rows(self, name: str) -> bool:
        if name in self._opened or self.deferred is not None:
            return next(iter(self.table(name).scan(b"")), None) is not None
        first, _ = _ROOMS[name]
        cursor = self._glance
        if cursor is None:
            cursor = self._glance = self._txn.cursor()
        return bool(cursor.set_range(first)) and cursor.key().startswith(first)  # type: ignore[union-attr]

    @property
    def shared_cursor(self) -> lmdb.Cursor:
        """A shared cursor for brief use in any table: creating one takes as long as several lookups."""
        if self._glance is None:
            self._glance = self._txn.cursor()
        return self._glance

    def _complete(self, table: write_buffer.Table) -> write_buffer.Table:
        """Put the deferred rows, so that the table has all of its rows."""
        if self.deferred is not None:
            self.deferred.flush()
        return table

    @property
    def lineages(self) -> write_buffer.Table:
        return self._complete(self._lineages)

    @property
    def versions(self) -> write_buffer.Table:
        return self._complete(self._versions)

    @property
    def names(self) -> write_buffer.Table:
        return self._complete(self._names)

    @property
    def types(self) -> write_buffer.Table:
        return self._complete(self._types)

    @property
    def out(self) -> write_buffer.Table:
        # As all here, but most reads ask for this and the next one, many times over.
        if self.deferred is not None:
            self.deferred.flush()
        return self._out

    @property
    def back(self) -> write_buffer.Table:
        if self.deferred is not None:
            self.deferred.flush()
        return self._back

    @property
    def edges(self) -> write_buffer.Table:
        return self._complete(self._edges)

    @property
    def edge_keys(self) -> write_buffer.Table:
        return self._complete(self._edge_keys)

    @property
    def forms(self) -> write_buffer.Table:
        return self._complete(self._forms)

    @property
    def blocks(self) -> write_buffer.Table:
        return self._complete(self._blocks)

    @property
    def holders(self) -> write_buffer.Table:
        return self._complete(self._holders)

    def last_registration(self) -> int:
        """The commit that last registered an edge type or took one back; 0 if none did."""
        stored = self.registrations.get(LAST_CHANGE)
        return 0 if stored is None else int.from_bytes(stored, "big")

    def supposed_at(self) -> int:
        """The commit at which the log left the original; 0 if it is itself one."""
        stored = self.progress_table.get(SUPPOSED)
        return 0 if stored is None else int.from_bytes(stored, "big")

    def progress(self) -> schema.Progress:
        """How far the tables have applied.

        Raises:
            OlderTables, NewerFormat: they have another layout than this release's.
        """
        stored = self.progress_table.get(_APPLIED)
        layout = _layout_of(stored)
        if stored is None or layout is None:
            return schema.NOTHING_APPLIED
        if layout != schema.LAYOUT:
            _refuse_newer(layout)
            raise OlderTables(
                f"The store's tables have layout {layout}; this release reads and writes layout {schema.LAYOUT}",
                "Run `worlddb upgrade`: it makes a backup, then derives the tables from the log again",
            )
        return schema.Progress(*schema.PROGRESS.unpack(stored))

    def layout(self) -> int:
        """The version of the tables' layout.

        0 if they are older than that number, today's if there are none.

        Raises:
            NewerFormat: a newer release has written them.
        """
        stored = self.progress_table.get(_APPLIED)
        found = _layout_of(stored)
        layout = schema.LAYOUT if found is None else found
        _refuse_newer(layout)
        return layout

    def put_progress(self, progress: schema.Progress) -> None:
        self.progress_table.put(_APPLIED, schema.PROGRESS.pack(*progress))

    def flush(self) -> None:
        """Write what has been put, table by table and sorted."""
        if self.deferred is not None:
            self.deferred.flush()
        cache = self._cache
        rows = map(cache.nodes.__getitem__, cache.put_nodes)
        self.nodes.put_new(list(map(schema.U64.pack, cache.put_nodes)), _pack_nodes(rows))
        for key in cache.put_versions:
            self._versions.put(schema.VERSION_KEY.pack(*key), schema.VERSION.pack(*cache.versions[key]))
        if self.coming:
            self.known_worlds.keep_numbers(cache.numbers)
        self._cache = RowCache()
        self._pack()
        for name in filter(self._opened.__contains__, schema.TABLES):
            self._opened[name].flush()
        tries = self._opened.get("tries")
        if isinstance(tries, TrieTable):
            self.known_worlds.noted = tries.left()

    def _pack(self) -> None:
        """Pack what is put into large tables, if it is much, or if much has come together there."""
        most = self.known_worlds.most_rows
        for name in most:
            most[name] += self._opened[name].waiting if name in self._opened else 0
        now = self.progress_table.get(_APPLIED)
        if now is None:
            return
        before, known = _given_out(self._txn.get(_APPLIED_KEY))  # type: ignore[arg-type]
        if before <= 1:
            # Before, there was no more than a new store has: what comes now is all that there is to count.
            most.update((name, self._opened[name].waiting if name in self._opened else 0) for name in schema.PACKED)
        if _given_out(now)[1] - known >= MUCH:
            environment.release_large_blocks()
        # A count of rows takes time: it is made once for so many worlds and edges, and not of all tables at once.
        step, numbered = COUNTED_EVERY // len(schema.PACKED), _given_out(now)[1]
        came, goes = known // step, numbered // step
        runs = self.runs()
        if not runs and (came == goes or numbered * MAX_ROWS_OF_ONE <= packed_runs.MAX_UNPACKED // 2):
            return
        due = {turn % len(schema.PACKED) for turn in range(came + 1, min(goes, came + len(schema.PACKED)) + 1)}
        packed, merged = False, 0
        # The first has its runs merged however many rows they have, so it is the one of which the most wait.
        tables = sorted(enumerate(schema.PACKED), key=lambda each: -self._runs_waiting(each[1]))
        for turn, name in tables:
            table = self._opened.get(name)
            if table is None or not (turn in due or name in runs):
                continue
            is_much = bool(runs.get(name)) and table.waiting >= packed_runs.FEW
            if is_much or (turn in due and self._is_full(name, table)):
                merged = self._pack_table(name, table, merged)
                packed = True
        if packed:
            packed_runs.put_runs(self._txn, runs)

    def _runs_waiting(self, name: str) -> int:
        """How many runs of a table are to become one."""
        table = self._opened.get(name)
        return table.runs_waiting if isinstance(table, packed_runs.PackedTable) else 0

    def _is_full(self, name: str, table: write_buffer.Table) -> bool:
        """True if a table has so many rows of its own that they are to be packed, and no more than one commit can take.

        They are counted where they may be too many by what was counted before and has come since. Those that are still
        to come count too: to take rows out again takes longer than to write them.
        """
        most = self.known_worlds.most_rows
        unpacked = packed_runs.MAX_UNPACKED // 2 if name in schema.ONE_A_WORLD else packed_runs.MAX_UNPACKED
        if table.waiting >= packed_runs.FEW:
            unpacked //= 2
        unpacked -= int(table.waiting * self.coming)
        if most.get(name, packed_runs.MAX_TAKEN) <= unpacked:
            return False
        own = table.own_rows(packed_runs.MAX_TAKEN)
        most[name] = own + table.waiting
        return own < packed_runs.MAX_TAKEN and most[name] > unpacked

    def _pack_table(self, name: str, table: write_buffer.Table, merged: int) -> int:
        if not isinstance(table, packed_runs.PackedTable):
            found = self._packed(name, self.runs().setdefault(name, []))
            found.take_from(table)
            self._opened[name] = found
            for attribute, value in list(vars(self).items()):
                if value is table:
                    setattr(self, attribute, found)
            table = found
        return table.pack(merged)

    def clear(self) -> None:
        self.deferred = None
        self.known_worlds = KnownWorlds()
        self._cache = RowCache()
        for name in schema.TABLES:
            self.table(name).clear()
        packed_runs.clear_runs(self._txn)
        for key in self.strays():
            self._txn.delete(key)

    def strays(self) -> list[bytes]:
        """The keys after the last table; normally there are none."""
        beyond = bytes([schema.FIRST_TABLE_BYTE + len(schema.TABLES)])
        with self._txn.cursor() as cursor:
            found = cursor.iternext(values=False) if cursor.set_range(beyond) else iter(())
            tables = {_ROOMS[name][0]: runs for name, runs in self.runs().items() if name in schema.PACKED}
            packed = (key for key in found if not packed_runs.is_of_runs(key, tables))  # type: ignore[arg-type]
            return [bytes(key) for key in packed if key[:1] != TRIE_CHANGES or len(key) <= _BUCKET_AT + _KIND_AT]

    def by_name(self) -> dict[str, write_buffer.Table]:
        """Every table by its name, in the order of the schema."""
        if self.deferred is not None:
            self.deferred.flush()
        return {name: self.table(name) for name in schema.TABLES}
