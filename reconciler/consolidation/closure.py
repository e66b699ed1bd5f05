"""The transitive closure of edges with validity (paper §6), and the changes that bring it up to date.

An inferred edge joins the two ends of a path of two or more stated edges, and holds when all edges of the path hold. Of
several paths, the shortest counts for a span, then the one with the earliest edges. Nothing is inferred where a stated
edge joins the ends directly. The home of an inferred edge is the nearest world that contains all parts of the path, so
that a view of the edge may see them. Its properties are ``inferred`` and ``via``, the ids of the path's edges. An
inferred edge is never a part of another path.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from worlddb.log.model import times
from worlddb.projections.tables.consolidation.interior_witness import AUTHOR
from worlddb.projections.tables.storage import schema
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.transaction import context

INFERRED: Final = "inferred"
VIA: Final = "via"
MAX_PATHS: Final = 200_000
"""The most pairs that paths of a type may join; a type with more is left as it is: a chain of n edges has n²/2 pairs.
"""


class StatedEdge(NamedTuple):
    """A stated edge: its number in the log, id, ends, home, and when it holds."""

    number: int
    id: bytes
    source: int
    target: int
    home: int
    spans: tuple[times.Interval, ...]


class Path(NamedTuple):
    """A path of edges, and a span in which it stands for its two ends."""

    parts: tuple[StatedEdge, ...]
    span: times.Interval


class TooManyPaths(Exception):
    """More pairs are joined than :data:`MAX_PATHS`."""


def paths(parts: Iterable[StatedEdge]) -> Iterator[Path]:
    """The paths of two or more edges, each with the span in which it stands for its ends, by source and target.

    Edges that lead back to where they came from, which no handler lets through, are passed over.

    Raises:
        TooManyWays: more pairs of worlds are joined than may be.
    """
    leaving: dict[int, list[StatedEdge]] = {}
    for part in sorted(parts):
        leaving.setdefault(part.source, []).append(part)
    reached: dict[int, dict[int, list[Path]]] = {}
    pairs = 0
    for node in _targets_first(leaving):
        candidates: dict[int, list[Path]] = {}
        for part in leaving[node]:
            candidates.setdefault(part.target, []).extend(Path((part,), span) for span in part.spans)
            for target, known in reached.get(part.target, {}).items():
                if target == node:
                    continue
                further = candidates.setdefault(target, [])
                for span in part.spans:
                    both = ((way, span.intersect(way.span)) for way in known)
                    further.extend(Path((part, *way.parts), span) for way, span in both if not span.is_empty)
        reached[node] = {target: list(_shortest_paths(found)) for target, found in candidates.items()}
        pairs += len(reached[node])
        if pairs > MAX_PATHS:
            raise TooManyPaths
    for _, found in sorted(reached.items()):
        for _, known in sorted(found.items()):
            yield from (way for way in known if len(way.parts) > 1)


def _targets_first(leaving: Mapping[int, Sequence[StatedEdge]]) -> Iterator[int]:
    """The sources, each after all worlds that its edges lead to; iterative, so depth costs no stack."""
    done: set[int] = set()
    for start in sorted(leaving):
        path = [(start, iter(leaving[start]))] if start not in done else []
        done.add(start)
        while path:
            node, edges = path[-1]
            for part in edges:
                if part.target in leaving and part.target not in done:
                    done.add(part.target)
                    path.append((part.target, iter(leaving[part.target])))
                    break
            else:
                path.pop()
                yield node


def _shortest_paths(candidates: Iterable[Path]) -> Iterator[Path]:
    """The paths that stand for two ends, by span: the shortest wins, then the one with the earliest edges."""
    covered: list[times.Interval] = []
    for way in sorted(candidates, key=lambda way: (len(way.parts), [part.number for part in way.parts], way.span)):
        at = way.span.start
        for span in [*covered, times.Interval(way.span.end, way.span.end)]:
            if at < min(span.start, way.span.end):
                yield Path(way.parts, times.Interval(at, min(span.start, way.span.end)))
            at = max(at, span.end)
        covered = sorted([*covered, way.span])


class InferredEdge(NamedTuple):
    """An inferred edge, expected or stored; ``key`` identifies all of its values."""

    type: str
    source: bytes
    target: bytes
    home: bytes
    span: times.Interval
    via: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key under which the edge is written, so that a repeat finds it."""
        said = (self.source, self.target, self.home, repr(tuple(self.span)).encode(), "".join(self.via).encode())
        return f"{AUTHOR}/{INFERRED}/{self.type}/{sha256(b'/'.join(said)).hexdigest()}"

    def command(self) -> cmd.Link:
        """The command that writes it."""
        return cmd.Link(
            source_ref=self.source,
            type=self.type,
            target_ref=self.target,
            home=self.home,
            key=self.key,
            properties={INFERRED: True, VIA: list(self.via)},
            valid_from=self.span.start,
            valid_to=None if self.span.is_open else self.span.end,
            why="it follows from other edges",
        )


class ClosureChanges(NamedTuple):
    """The inferred edges of one type to write and to retract."""

    missing: tuple[InferredEdge, ...]
    obsolete: tuple[bytes, ...]

    def commands(self) -> list[cmd.Command]:
        """The commands that apply the changes, retractions first."""
        gone = [cmd.Unlink(edge=edge, why="the edges that it followed from do so no more") for edge in self.obsolete]
        return [*gone, *(each.command() for each in self.missing)]


def closure_changes(ctx: context.Context, type_name: str, within: Callable[[int], bool]) -> ClosureChanges:
    """The missing and the obsolete inferred edges of a type; ``within`` filters edges by their homes.

    Raises:
        TooManyWays: more pairs of worlds are joined than may be.
    """
    tables, code = ctx.tables, ctx.tables.type_code(type_name)
    parts: list[StatedEdge] = []
    inferred: dict[InferredEdge, bytes] = {}
    obsolete: list[bytes] = []
    for place, row in () if code is None else tables.between(range(ctx.draft.applier.next_node), code, None):
        if row.unlinked != schema.LIVE or not within(row.home):
            continue
        edge = ctx.handled(place, row, type_name)
        properties = ctx.kept_properties(edge)
        spans = ctx.times_of(edge)
        if properties is None:
            continue  # Its texts were erased, and with them whether it was stated.
        if properties.get(INFERRED) is not True:
            parts.append(StatedEdge(place.edge, row.edge, place.source, row.target, row.home, spans))
            continue
        known = _stored_edge(ctx, type_name, place.source, row, spans, properties)
        if known is None or known in inferred:
            obsolete.append(row.edge)
        else:
            inferred[known] = row.edge
    homes = _NearestContainers(ctx)
    expected = {_expected_edge(ctx, type_name, way, homes): None for way in paths(parts)}
    obsolete += (edge for known, edge in inferred.items() if known not in expected)
    return ClosureChanges(tuple(each for each in expected if each not in inferred), tuple(obsolete))


def _stored_edge(
    ctx: context.Context,
    type_name: str,
    source: int,
    row: schema.EdgeRow,
    spans: Sequence[times.Interval],
    properties: Mapping[str, Any],
) -> InferredEdge | None:
    """A stored inferred edge; ``None`` if it was changed since it was written."""
    via = properties.get(VIA)
    if len(spans) != 1 or not isinstance(via, list):
        return None
    ends = ctx.lineage(source), ctx.lineage(row.target), ctx.lineage(row.home)
    return InferredEdge(type_name, *ends, spans[0], tuple(map(str, via)))


def _expected_edge(ctx: context.Context, type_name: str, way: Path, homes: "_NearestContainers") -> InferredEdge:
    first, last = way.parts[0], way.parts[-1]
    home = homes.nearest_above(way.parts)
    ends = ctx.lineage(first.source), ctx.lineage(last.target), ctx.lineage(home)
    return InferredEdge(type_name, *ends, way.span, tuple(part.id.hex() for part in way.parts))


class _NearestContainers:
    """The nearest worlds around some others."""

    def __init__(self, ctx: context.Context) -> None:
        self._containers = ctx.containers
        self._above: dict[int, dict[int, int]] = {}

    def nearest_above(self, parts: Sequence[StatedEdge]) -> int:
        """The nearest world that contains the homes and all inner worlds of a path; at last the root world."""
        homes = {part.home for part in parts}
        inner = {part.target for part in parts[:-1]}
        above = [self._levels_above(home) for home in sorted(homes)]
        shared = set(above[0]).intersection(*above[1:], *map(self._levels_above, inner)) - inner
        return min(shared, key=lambda node: (max(each[node] for each in above), node))

    def _levels_above(self, node: int) -> dict[int, int]:
        """A world and its containers, each with its distance in levels; the root world contains all."""
        found = self._above.get(node)
        if found is None:
            found, level, up = {node: 0}, [node], 0
            while level:
                up += 1
                level = [above for here in level for above in self._containers(here) if above not in found]
                found.update(dict.fromkeys(level, up))
            found.setdefault(schema.ROOT_NODE, up)
            self._above[node] = found
        return found
