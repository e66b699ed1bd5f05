"""The whole memory as RDF: every world and edge that a view sees, as lines of N-Triples.

The vocabulary, all of it below ``wdb:``; docs/sparql.md has it as a table. A world is a ``wdb:World``, an edge a
``wdb:Edge``, and an edge is there as one triple too, whose predicate is its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol
from urllib.parse import quote

from worlddb.log.model import times
from worlddb.log.statements.terms import EDGE_URN, NAMESPACE, RDF, WORLD_URN, XSD, Literal
from worlddb.query.records import records


class Memory(Protocol):
    """The reads of a view that the graph is made from."""

    @property
    def world(self) -> str | None:
        """The world that it is confined to, if it is."""

    def get(self, ref: Any) -> records.World | None:
        """The world of a reference."""

    def find(self) -> list[records.World]:
        """Every world that it sees."""

    def edges(self, ref: Any, *, direction: str) -> list[records.Edge]:
        """The edges of a world."""


def memory_lines(memory: Memory) -> Iterator[bytes]:
    """The graph, line by line: a confined view's own world first; each world with the edges that leave it."""
    top = None if memory.world is None else memory.get(memory.world)
    for world in ([] if top is None else [top]) + memory.find():
        yield from _triples(WORLD_URN + world.ref, _world(world))
        for edge in memory.edges(world.ref, direction="out"):
            about = WORLD_URN + edge.target
            yield _line(f"<{WORLD_URN}{world.ref}>", edge_iri(edge.type), f"<{about}>")
            yield from _triples(EDGE_URN + edge.ref, _edge(edge))


def edge_iri(name: str) -> str:
    """The predicate that an edge type is: ``wdb:edge/`` and its name."""
    return f"<{NAMESPACE}edge/{quote(name, safe='')}>"


def _world(world: records.World) -> Iterator[tuple[str, str]]:
    yield f"<{RDF}type>", f"<{NAMESPACE}World>"
    yield _own("type"), _text(world.type)
    yield _own("name"), _text(world.name)
    if world.content:
        yield _own("content"), _text(world.content)
    for name in world.aliases:
        yield _own("alias"), _text(name)
    for label in world.labels:
        yield _own("label"), _text(label)
    yield _own("author"), _text(world.author)
    yield _own("version"), str(Literal(str(world.number), XSD + "integer"))
    yield from _times(world.valid, world.ingested_at)


def _edge(edge: records.Edge) -> Iterator[tuple[str, str]]:
    yield f"<{RDF}type>", f"<{NAMESPACE}Edge>"
    yield _own("edgeType"), edge_iri(edge.type)
    yield _own("source"), f"<{WORLD_URN}{edge.source}>"
    yield _own("target"), f"<{WORLD_URN}{edge.target}>"
    if edge.why:
        yield _own("why"), _text(edge.why)
    yield from _times(edge.valid)


def _times(valid: records.Valid, ingested: int | None = None) -> Iterator[tuple[str, str]]:
    yield _own("validFrom"), _time(valid.start)
    if valid.end < times.FOREVER:
        yield _own("validTo"), _time(valid.end)
    if ingested is not None:
        yield _own("ingestedAt"), _time(ingested)


def _own(name: str) -> str:
    return f"<{NAMESPACE}{name}>"


def _text(value: str) -> str:
    return str(Literal(value))


def _time(micros: int) -> str:
    return str(Literal(times.format_time(micros), XSD + "dateTime"))


def _triples(subject: str, said: Iterable[tuple[str, str]]) -> Iterator[bytes]:
    return (_line(f"<{subject}>", predicate, value) for predicate, value in said)


def _line(subject: str, predicate: str, value: str) -> bytes:
    return f"{subject} {predicate} {value} .\n".encode()
