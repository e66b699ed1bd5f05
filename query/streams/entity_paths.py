"""Find paths over edges from entities, each described as a text (Hydra DB §2.6.3 and §2.6.4).

One stream starts at what a question names, the other at what a hit refers to. A path is described by the names of its
worlds, the relations between them with their context, and since when these hold, so that words, a reranker or a model
can judge it as a text. Turns, enrichments and summaries mention entities and are no part of a path.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from worlddb.log.model import times
from worlddb.projections.tables.names.canonical import NO_NAME, name_digest, type_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.query.graph_query.traversal import Arrival, Ground
from worlddb.query.lanes import text_lane
from worlddb.query.question.question import Question
from worlddb.query.records import records

MAX_STARTS: Final = 32
"""So many entities of a question, or of a hit, are begun at."""
MAX_REACHED: Final = 256
"""So many worlds are reached from one of them at most, the nearest first."""
MAX_ONWARD: Final = 64
"""So many edges of a world are walked, the earliest."""
MAX_NAME_CHARACTERS: Final = 120
_DATE: Final = len("2026-11-22")
_REFERS_TO: Final = EDGE_TYPE_CODES["refers_to"]
_TELLING: Final = frozenset(
    map(type_digest, ("Turn", "Enrichment", "Summary", "Extraction", "Session", "Conversation"))
)
"""Types of what tells of entities. A way over one would join all that two people ever spoke of."""
CONTEXT: Final = "context"
"""The property of an edge that says how its two ends are related."""


class _Path(NamedTuple):
    """A path: the edges walked so far, and the world that they lead to."""

    node: int
    steps: tuple[Arrival, ...]


class PathFinder:
    """Finds paths from entities in one snapshot, and ranks them by the words of a question."""

    def __init__(self, ground: Ground, question: Question, depth: int) -> None:
        self._ground = ground
        self._snapshot = ground.snapshot
        self._question = question
        self._depth = depth
        self._names: dict[int, str] = {}

    def named(self) -> list[int]:
        """The visible worlds that the question names exactly."""
        found: dict[int, None] = {}
        seq = self._snapshot.place.moment.seq
        for name in self._question.names:
            digest = name_digest(name)
            for node, first in () if digest == NO_NAME else self._snapshot.tables.named(digest):
                if first <= seq and self._is_entity(node):
                    found[node] = None
        return list(islice(found, MAX_STARTS))

    def referred(self, node: int) -> list[int]:
        """The entities that a world refers to; the world itself, if it is one."""
        tables, moment = self._snapshot.tables, self._snapshot.place.moment
        edges = tables.outgoing(node, _REFERS_TO, known_by=moment.seq)
        found = (row.target for place, row in edges if asof.edge_seen(tables, place, row, moment))
        return list(islice((each for each in dict.fromkeys((node, *found)) if self._is_entity(each)), MAX_STARTS))

    def best(self, starts: Iterable[int], most: int, of: str = "") -> tuple[records.EntityPath, ...]:
        """The paths from some worlds with the most words of the question; among equals, shorter ones first."""
        ways = {
            tuple(step.row.edge for step in way.steps): way
            for start in starts
            for way in self._shortest_paths_from(start)
        }
        told = [(self._path_text(way, of), place) for place, way in enumerate(ways.values())]
        told.sort(key=lambda each: (-each[0].score, len(each[0].edges), each[1]))
        return tuple(each for each, _ in told[:most])

    def _shortest_paths_from(self, start: int) -> Iterator[_Path]:
        """A shortest path to each world around one, nearest first."""
        came, level, left = {start}, [_Path(start, ())], MAX_REACHED
        for _ in range(self._depth):
            onward: list[_Path] = []
            for way in level:
                for arrival in islice(self._ground.arrivals(way.node, (), "both"), MAX_ONWARD):
                    if arrival.node in came or arrival.seen.row.type in _TELLING or not left:
                        continue
                    came.add(arrival.node)
                    left -= 1
                    onward.append(_Path(arrival.node, (*way.steps, arrival)))
            yield from onward
            level = onward

    def _is_entity(self, node: int) -> bool:
        seen = self._ground.seen(node) if self._ground.scope.sees(node) else None
        return seen is not None and seen.row.type not in _TELLING and self._snapshot.body(seen.row) is not None

    def _path_text(self, way: _Path, of: str) -> records.EntityPath:
        tables = self._snapshot.tables
        nodes = (way.steps[0].origin, *(step.node for step in way.steps))
        context = "; ".join(map(self._edge_sentence, way.steps))
        words = text_lane.matched(self._question.text, "", context)
        return records.EntityPath(
            nodes=tuple(tables.node(node).lineage.hex() for node in nodes),
            edges=tuple(step.row.edge.hex() for step in way.steps),
            context=context,
            score=round(text_lane.coverage(self._question.text, words), 6),
            of=of,
        )

    def _edge_sentence(self, step: Arrival) -> str:
        """An edge as a sentence: who, how related, to whom, in which context and since when."""
        tables, moment = self._snapshot.tables, self._snapshot.place.moment
        relation = tables.type_name(step.place.type).replace("_", " ")
        said = self._snapshot.details(step.row.seq, step.row.details).properties.get(CONTEXT)
        held = times.piece_at(asof.edge_validity(tables, step.place, step.row, moment.seq), moment.valid)
        since = times.format_time(held[0])[:_DATE] if held[0] > times.MIN_TIME else ""
        until = times.format_time(held[1])[:_DATE] if held[1] < times.FOREVER else ""
        span = f"from {since} to {until}" if since and until else f"since {since}" if since else f"until {until}"
        when = f" ({span})" if since or until else ""
        why = f", {' '.join(said.split())}" if isinstance(said, str) and said.strip() else ""
        return f"{self._name(step.place.source)} {relation} {self._name(step.row.target)}{why}{when}"

    def _name(self, node: int) -> str:
        if node not in self._names:
            seen = self._ground.seen(node)
            body = None if seen is None else self._snapshot.body(seen.row)
            said = "" if body is None else body.name or body.content
            self._names[node] = " ".join(said.split())[:MAX_NAME_CHARACTERS]
        return self._names[node]
