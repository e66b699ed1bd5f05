"""The index of one world for confined views: its texts, validity times and vectors, kept up to date with the log.

A confined view may not search the store's own indexes: how rare a word is there reveals other worlds (docs/decisions,
18). So a world that is queried from inside has postings, vectors and rectangles of its own (:mod:`.world_texts`,
:mod:`.world_moments`). They follow the log: each commit that concerns the world is read once.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.model import blobs, codec
from worlddb.log.model import events as ev
from worlddb.projections.indexes import (
    fields,
    vector_rows,
    world_moments,
    world_texts,
)
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema

if TYPE_CHECKING:
    from worlddb.log.store.log import LmdbLog
    from worlddb.projections.indexes.vector_rows import Numbers
    from worlddb.projections.tables.storage.rows import Tables

EVENTS_FOR_A_TEXT: Final = 20
FEW_EVENTS: Final = 20_000
"""After more events than these, plus so many for each text, rebuilding the index is quicker."""
_TAKEN_IN_AT_ONCE: Final = 10_000
_MAX_SEEN: Final = 8
"""How many moments and choices of one world are kept."""


class _CachedView(NamedTuple):
    """A cached view: the commit, the choice of versions and the period that it is valid for, and its texts."""

    seq: int
    wanted: world_moments.VersionChoice
    stay: world_moments.Stability
    seen: world_texts.VisibleTexts


class WorldIndex:
    """One world's postings, vectors and rectangles, up to a commit."""

    def __init__(self, node: int, secret: bytes) -> None:
        self.guard = threading.RLock()
        self.keys = world_texts.TokenKeys(secret)
        self.marker: tuple[int, bytes] | None = None
        self.moments = world_moments.Moments(node)
        self.places: dict[int, int] = {}
        self.segments: tuple[world_texts.Segment, ...] = ()
        self.spaces: dict[int, world_texts.SpaceVectors] = {}
        self.unsaved = 0
        """How many texts and vectors are not in the file yet."""
        self.saved_at = 0
        self.lineage = b""
        self._telling_commits: list[int] = []
        self._cached_views: list[_CachedView] = []
        self._near_cache: OrderedDict[tuple[int, int, int], world_texts.VisibleVectors] = OrderedDict()

    @property
    def count(self) -> int:
        """The number of texts."""
        return len(self.moments.texts)

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory in use."""
        arrays = (array for segment in self.segments for array in segment[1:])
        return (
            sum(int(array.nbytes) for array in arrays)
            + sum(space.size_bytes for space in self.spaces.values())
            + 300 * self.count
        )

    def mark_restored(self) -> None:
        """Note that the contents come from a file."""
        assert self.marker is not None
        self._telling_commits = [self.marker[0]]

    # -- following the log

    def catch_up(self, log: LmdbLog, tables: Tables) -> bool:
        """Read the commits since; False if the index has to be rebuilt."""
        head = log.head()
        if self.marker is None:
            self._begin(log, tables)
        elif head.seq <= self.marker[0]:
            return True
        elif not self._follow(log, tables, self.marker[0], head.seq):
            return False
        self.marker = head.seq, head.chain
        return True

    def _begin(self, log: LmdbLog, tables: Tables) -> None:
        self._add_place(self.moments.top)
        self._read_worlds(log, tables, self._place_reachable(tables, [self.moments.top]))
        self._telling_commits = [log.head().seq]

    def _follow(self, log: LmdbLog, tables: Tables, after: int, through: int) -> bool:
        touched: set[int] = set()
        restated: dict[int, set[int]] = {}
        edges: dict[int, schema.EdgePlace] = {}
        changed: set[int] = set()
        telling_commits: list[int] = []
        remaining_events = FEW_EVENTS + EVENTS_FOR_A_TEXT * self.count
        for seq in range(after + 1, through + 1):
            remaining_events -= log.header(seq).event_count
            if remaining_events < 0:
                return False
            is_telling = False
            for event in log.events(seq).events:
                if isinstance(event, ev.ErasureEvent):
                    if tables.node_of(event.lineage) in self.places:
                        return False
                    continue
                if isinstance(event, ev.Linked) and event.type != schema.CONTAINS:
                    continue
                if isinstance(event, ev.Linked | ev.Unlinked | ev.EdgeClosed | ev.EdgeLost):
                    place = tables.place_of(event.edge)
                    if place is not None and place.type == schema.CONTAINS_CODE and place.source in self.places:
                        edges[place.edge] = place
                        is_telling = True
                        if not isinstance(event, ev.Linked):
                            changed.add(place.edge)
                elif isinstance(event, ev.Stated | ev.Unstated):
                    node = tables.node_of(event.lineage)
                    if node is not None and node in self.places:
                        restated.setdefault(node, set()).update(event.quads[2::4])
                        is_telling = True
                elif isinstance(event, _ABOUT_TEXTS):
                    node = tables.node_of(event.lineage)
                    if node is not None and node in self.places:
                        touched.add(node)
                        is_telling = True
            if is_telling:
                telling_commits.append(seq)
        fresh: list[int] = []
        lines: list[world_moments.Line] = []
        rows = [(place, tables.edge(place)) for place in edges.values()]
        for _, row in rows:
            if row.target not in self.places:
                self._add_place(row.target)
                fresh.append(row.target)
        for place, row in rows:
            lines += self._edge_lines(tables, place, row)
        self.moments.add_containment(lines, changed)
        if fresh:
            # The commits in between were not searched for events of these worlds.
            telling_commits = list(range(telling_commits[0], through + 1))
            self._read_worlds(log, tables, self._place_reachable(tables, fresh))
        self._reread_worlds(log, tables, touched)
        restated.pop(self.moments.top, None)
        self._reread_literals(log, tables, restated)
        self._telling_commits += telling_commits
        return True

    def _add_place(self, node: int) -> None:
        self.places[node] = len(self.places)
        self.moments.nodes.add([(node,)])

    def _edge_lines(self, tables: Tables, place: schema.EdgePlace, row: schema.EdgeRow) -> list[world_moments.Line]:
        found = []
        for line, complete in world_moments.edge_lines(
            tables, place, row, self.places[place.source], self.places[row.target]
        ):
            found.append(line)
            self.moments.raise_complete_from(complete)
        return found

    def _place_reachable(self, tables: Tables, starts: list[int]) -> list[int]:
        """Give places to some worlds and to all that they ever contained, and return them."""
        found, level = list(starts), list(starts)
        while level:
            lines: list[world_moments.Line] = []
            fresh: list[int] = []
            for place, row in tables.between(sorted(level), schema.CONTAINS_CODE, None):
                if row.target not in self.places:
                    self.places[row.target] = len(self.places)
                    fresh.append(row.target)
                lines += self._edge_lines(tables, place, row)
            self.moments.nodes.add([(node,) for node in fresh])
            self.moments.containing.add(lines)
            found += fresh
            level = fresh
        return found

    def _read_worlds(self, log: LmdbLog, tables: Tables, nodes: list[int]) -> None:
        """Add all versions and statements of worlds that are new here."""
        stating = _worlds_with_statements(tables)
        for first in range(0, len(nodes), _TAKEN_IN_AT_ONCE):
            texts: list[world_moments.Line] = []
            holding: list[world_moments.Line] = []
            documents: list[fields.TextDocument | None] = []
            for node in nodes[first : first + _TAKEN_IN_AT_ONCE]:
                if node == self.moments.top:
                    continue  # A world is not inside itself.
                versions = list(tables.version_rows(node))
                numbered: dict[int, int] = {}
                for number, row in versions:
                    numbered[number] = self.count + len(texts)
                    self._add_version(log, node, number, row, texts, documents)
                self._add_times(tables, node, versions, numbered, holding)
                if node in stating:
                    self._add_literals(log, tables, node, None, {}, texts, documents, holding)
            self._index_texts(log, tables, texts, documents)
            self.moments.holding.add(holding)

    def _reread_worlds(self, log: LmdbLog, tables: Tables, touched: set[int]) -> None:
        """Update worlds that are here: add new versions, and read all validity times again."""
        import numpy as np

        touched.discard(self.moments.top)
        if not touched:
            return
        lines = self.moments.texts.lines
        places = np.fromiter((self.places[node] for node in touched), dtype=np.int64)
        own = np.flatnonzero(np.isin(lines[0], places) & (lines[3] != world_moments.LITERAL)).tolist()
        known = {(int(lines[0][text]), int(lines[1][text])): text for text in own if lines[3][text]}
        texts: list[world_moments.Line] = []
        holding: list[world_moments.Line] = []
        documents: list[fields.TextDocument | None] = []
        numbered_of: dict[int, dict[int, int]] = {}
        for node in sorted(touched):
            versions, numbered = list(tables.version_rows(node)), numbered_of.setdefault(node, {})
            for number, row in versions:
                text = known.get((self.places[node], number))
                if text is None:
                    text = self.count + len(texts)
                    self._add_version(log, node, number, row, texts, documents)
                numbered[number] = text
            self._add_times(tables, node, versions, numbered, holding)
        self.moments.holding.without(own)
        self._index_texts(log, tables, texts, documents)
        self.moments.holding.add(holding)
        for number, space in list(self.spaces.items()):
            has = set(space.lines.lines[0][np.isin(space.lines.lines[0], np.array(own, dtype=np.int64))].tolist())
            rows: list[tuple[int, vector_rows.VectorRow]] = []
            for node, numbered in numbered_of.items():
                for version, text in numbered.items():
                    if text < self.count - len(texts):
                        place = asof.vector_place(tables, number, node, version)
                        if place is not None and text not in has:
                            rows += self._read_vector(log, place, node, version, text)
                        elif place is not None and place.seq > (self.marker or (0, b""))[0]:
                            self.spaces.pop(number, None)  # Recorded once more: read all of them again.
            space.add(rows)
            self.unsaved += len(rows)

    def _reread_literals(self, log: LmdbLog, tables: Tables, restated: dict[int, set[int]]) -> None:
        """Read again when literals hold that commits stated or unstated."""
        import numpy as np

        if not restated:
            return
        lines = self.moments.texts.lines
        places = np.fromiter((self.places[node] for node in restated), dtype=np.int64)
        own = np.flatnonzero(np.isin(lines[0], places) & (lines[3] == world_moments.LITERAL)).tolist()
        known = {(int(lines[0][text]), int(lines[1][text])): text for text in own}
        texts: list[world_moments.Line] = []
        holding: list[world_moments.Line] = []
        documents: list[fields.TextDocument | None] = []
        for node, terms in sorted(restated.items()):
            self._add_literals(log, tables, node, terms, known, texts, documents, holding)
        self.moments.holding.without({line[0] for line in holding})
        self._index_texts(log, tables, texts, documents)
        self.moments.holding.add(holding)

    def _add_literals(
        self,
        log: LmdbLog,
        tables: Tables,
        node: int,
        terms: Set[int] | None,
        known: dict[tuple[int, int], int],
        texts: list[world_moments.Line],
        documents: list[fields.TextDocument | None],
        holding: list[world_moments.Line],
    ) -> None:
        """Add the literals of a world that are not known yet, and when each of them holds.

        With ``terms`` only the literals with these numbers, else all.
        """
        from worlddb.projections.tables.statements import literal_rows

        for said in literal_rows.literals_of_world(log, tables, node, terms):
            held = list(literal_rows.statings(tables, node, said.number))
            if not held:
                continue
            text = known.get((self.places[node], said.number))
            if text is None:
                text = self.count + len(texts)
                documents.append(fields.TextDocument(node, said.number, said.seq, "", said.text))
                texts.append((self.places[node], said.number, said.seq, world_moments.LITERAL))
            holding += [world_moments.statement_line(text, *each[1:5]) for each in held]

    def _add_version(
        self,
        log: LmdbLog,
        node: int,
        number: int,
        row: schema.VersionRow,
        texts: list[world_moments.Line],
        documents: list[fields.TextDocument | None],
    ) -> None:
        stored = None if row.position == ev.NONE else log.blob(row.seq, row.position)
        body = None if stored is None else codec.decode_checked_blob(stored, row.body, row.seq)
        if isinstance(body, blobs.Body):
            documents.append(fields.TextDocument(node, number, row.seq, body.name, body.content, body.type))
            texts.append((self.places[node], number, row.seq, 1 if body.content else 2))
        else:
            documents.append(None)
            texts.append((self.places[node], number, row.seq, 0))

    def _add_times(
        self,
        tables: Tables,
        node: int,
        versions: Sequence[tuple[int, schema.VersionRow]],
        numbered: dict[int, int],
        holding: list[world_moments.Line],
    ) -> None:
        for line, complete in world_moments.version_lines(tables, node, versions, numbered):
            holding.append(line)
            self.moments.raise_complete_from(complete)

    def _index_texts(
        self,
        log: LmdbLog,
        tables: Tables,
        texts: list[world_moments.Line],
        documents: list[fields.TextDocument | None],
    ) -> None:
        if not texts:
            return
        first = self.count
        self.moments.texts.add(texts)
        self.segments = world_texts.append_segment(
            self.segments, world_texts.build_segment(documents, first, self.keys)
        )
        self.unsaved += len(texts)
        for number, space in self.spaces.items():
            space.add(list(self._read_vectors(log, tables, number, first)))

    def _read_vectors(
        self, log: LmdbLog, tables: Tables, space: int, first: int
    ) -> Iterator[tuple[int, vector_rows.VectorRow]]:
        """The vectors of the texts from ``first`` on."""
        nodes = self.moments.nodes.lines[0]
        places, versions, _, has = self.moments.texts.lines[:, first:]
        owners = nodes[places].tolist()
        for at, (node, version, kind) in enumerate(zip(owners, versions.tolist(), has.tolist(), strict=True)):
            has_vector = kind and kind != world_moments.LITERAL
            place = asof.vector_place(tables, space, node, version) if has_vector else None
            if place is not None:
                yield from self._read_vector(log, place, node, version, first + at)

    def _read_vector(
        self, log: LmdbLog, place: asof.VectorPlace, node: int, version: int, text: int
    ) -> Iterator[tuple[int, vector_rows.VectorRow]]:
        stored = log.blob(place.seq, place.position)
        found = None if stored is None else codec.decode_blob(stored, place.seq)
        if isinstance(found, blobs.Vector):
            yield text, vector_rows.VectorRow(node, version, place.seq, found.values, found.statements, found.stated)

    # -- what a view sees

    def seen(self, moment: asof.Moment, wanted: world_moments.VersionChoice) -> world_texts.VisibleTexts | None:
        """The texts that a view sees; ``None`` if the index does not reach back to its moment."""
        if moment.seq < self.moments.complete_from:
            return None
        seq = self._last_telling_commit(moment.seq)
        for held in self._cached_views:
            if held.seq == seq and held.wanted == wanted and held.stay.start <= moment.valid < held.stay.end:
                return held.seen
        inside, stay = self.moments.inside(moment)
        mask, other = self.moments.seen(moment, wanted, inside)
        seen = world_texts.VisibleTexts(self.moments, self.places, self.keys, self.segments, inside, mask)
        both = world_moments.Stability(max(stay.start, other.start), min(stay.end, other.end))
        if wanted.span is None:
            self._cached_views = [_CachedView(seq, wanted, both, seen), *self._cached_views[: _MAX_SEEN - 1]]
        return seen

    def near(
        self,
        log: LmdbLog,
        tables: Tables,
        seen: world_texts.VisibleTexts,
        moment: asof.Moment,
        space: int,
        dimension: int,
    ) -> world_texts.VisibleVectors | None:
        """The vectors of a space that a view sees; ``None`` if the transaction is too old to read all of them."""
        kept = self.space(log, tables, space, dimension)
        if kept is None:
            return None
        key = (id(seen), self._last_telling_commit(moment.seq), space)
        found = self._near_cache.get(key)
        if found is None or found._seen is not seen:
            found = self._near_cache[key] = world_texts.VisibleVectors(seen, kept, moment.seq)
            if len(self._near_cache) > _MAX_SEEN:
                self._near_cache.popitem(last=False)
        return found

    def space(self, log: LmdbLog, tables: Tables, number: int, dimension: int) -> world_texts.SpaceVectors | None:
        """The vectors of a space, read at the first use."""
        found = self.spaces.get(number)
        if found is None or found.dimension != dimension:
            if self.marker is None or log.head().seq < self.marker[0]:
                return None
            found = world_texts.SpaceVectors(dimension)
            found.add(list(self._read_vectors(log, tables, number, 0)))
            self.spaces[number] = found
            self.unsaved += len(found.lines)
        return found

    def members(self, moment: asof.Moment, world: int) -> fields.Nodes | None:
        """The worlds inside another world of this index."""
        place = self.places.get(world)
        if place is None:
            return None
        inside, _ = self.moments.inside(moment, place)
        return fields.Nodes(frozenset(self.moments.nodes.lines[0][: len(inside)][inside].tolist()))

    def dump(self) -> dict[str, bytes]:
        """Everything in the index in a canonical order, for comparing two indexes."""
        import numpy as np

        nodes, texts = self.moments.nodes.lines[0], self.moments.texts.lines
        names = np.stack((nodes[texts[0]], texts[1]))
        there = texts[3] > 0
        held = self.moments.holding.lines
        held = held[:, there[held[0]]]
        around = self.moments.containing.lines
        tables = {
            "texts": np.concatenate((names, texts[2:]))[:, there],
            "times": np.concatenate((names[:, held[0]], held[1:])),
            "members": np.concatenate((nodes[around[[0, 5]]], around[1:5])),
        }
        segment = world_texts.merge_segments(self.segments) if self.segments else None
        if segment is not None:
            words = np.repeat(segment.keys.view(np.int64), np.diff(segment.ends, prepend=0))
            tables["words"] = np.concatenate((names[:, segment.places], [words, segment.often.astype(np.int64)]))
            places = np.concatenate([np.arange(each.first, each.first + each.texts) for each in self.segments])
            counts = np.concatenate([np.concatenate((each.lengths, each.codes)) for each in self.segments], axis=1)
            tables["lengths"] = np.concatenate((names[:, places], counts))[:, counts.any(axis=0)]
        found = {what: _sort_columns(lines).tobytes() for what, lines in tables.items() if lines.size}
        for number, space in self.spaces.items():
            owners, seqs = space.lines.lines
            order = np.lexsort((names[1][owners], names[0][owners]))
            rows = np.concatenate(space.parts(len(owners)))[order]
            found[f"vectors of space {number}"] = (
                rows.tobytes() + names[:, owners[order]].tobytes() + seqs[order].tobytes()
            )
        return found

    def _last_telling_commit(self, seq: int) -> int:
        """The last known commit up to ``seq`` that concerns the world."""
        at = bisect_right(self._telling_commits, seq)
        return self._telling_commits[at - 1] if at else seq


def _worlds_with_statements(tables: Tables) -> Set[int]:
    """The worlds that ever had statements."""
    if not tables.has_rows("by_object"):
        return frozenset()
    from worlddb.projections.tables.statements import statement_rows

    return frozenset(statement_rows.worlds(tables))


def _sort_columns(lines: Numbers) -> Numbers:
    import numpy as np

    found: Numbers = np.ascontiguousarray(lines[:, np.lexsort(lines)])
    return found


_ABOUT_TEXTS: Final = (ev.Created, ev.Revised, ev.Closed, ev.Lost, ev.Ended, ev.Voided, ev.Filled, ev.Embedded)


class WorldView(NamedTuple):
    """One world as a view sees it."""

    world: WorldIndex
    seen: world_texts.VisibleTexts
    moment: asof.Moment

    def near(self, log: LmdbLog, tables: Tables, space: int, dimension: int) -> world_texts.VisibleVectors | None:
        """The vectors of a space; ``None`` as :meth:`WorldIndex.near` gives it."""
        with self.world.guard:
            return self.world.near(log, tables, self.seen, self.moment, space, dimension)

    def members(self, node: int) -> fields.Nodes | None:
        """The worlds inside another world that the view sees."""
        with self.world.guard:
            return self.world.members(self.moment, node)
