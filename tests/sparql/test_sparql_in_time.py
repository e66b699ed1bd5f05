"""A query as of a moment of both axes answers what it answers on a store that was replayed to that moment.

The answer as of a moment comes from a worker, with all that workers keep from one query to the next. The one that it is
compared with comes from a bare store of the engine, filled anew from the replayed copy.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox
import pytest

import worlddb
from worlddb import Literal
from worlddb.log.statements import terms
from worlddb.query.sparql import datasets
from worlddb.query.sparql.sparql_tokens import PREFIXES, read_sparql

YEARS: Final = ("2019-01-01", "2021-01-01", "2023-01-01", "2025-01-01", "2030-01-01")
QUERIES: Final = (
    "SELECT * { ?s ?p ?o }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?a ?b { ?a (<urn:x:p>|^<urn:x:q>)+ ?b }",
    "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p",
    "SELECT ?s ?v { ?s <urn:x:p> ?x OPTIONAL { ?s <urn:x:q> ?v } FILTER NOT EXISTS { ?x <urn:x:q> ?s } }",
    "SELECT ?s (STR(?o) AS ?text) (LANG(?o) AS ?l) { ?s ?p ?o FILTER isLiteral(?o) }",
    "ASK { ?s <urn:x:p> ?b . ?b ?q ?o FILTER isBlank(?b) }",
    "CONSTRUCT { ?o ?p ?s } { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } FILTER isIRI(?o) }",
    "DESCRIBE <urn:x:a>",
    "SELECT * FROM wdb:memory { ?s ?p ?o FILTER(?p != wdb:ingestedAt) }",
    "SELECT ?w ?o { GRAPH wdb:memory { ?w wdb:name ?name } GRAPH ?w { ?s ?p ?o } }",
    "SELECT * { GRAPH <WORLD?valid=2021-01-01> { ?s ?p ?o } MINUS { ?s ?p ?o } }",
    "SELECT ?w ?n ?o { GRAPH <https://worlddb.dev/ns#search?text=town+now> { ?w wdb:score ?n } OPTIONAL { ?o ?p ?w } }",
    "SELECT * { GRAPH <https://worlddb.dev/ns#search?text=pub+or+bar&valid=2023-01-01> { ?w ?p ?n } }",
)
Answer = tuple[str, ...]


def answer_as_of(view: worlddb.View, query: str, world: str | None) -> Answer:
    """What a worker answers."""
    found = view.sparql(query, world=world)
    if found.form == "select":
        return tuple(sorted(str(sorted((name, str(term)) for name, term in row.items())) for row in found.rows))
    return (str(bool(found)),) if found.form == "ask" else tuple(sorted(map(str, found)))


def answer_anew(view: worlddb.View, query: str, world: str | None) -> Answer:
    """What a bare store answers, which holds what the view reads now."""
    store = ox.Store()
    for named in datasets.parts(view._query_source(), read_sparql(query), world):
        part = named.read()
        graph = None if part.graph is None else ox.NamedNode(part.graph)
        if graph is not None:
            store.add_graph(graph)
        for line in part.lines:
            for quad in ox.parse(line, ox.RdfFormat.N_QUADS, lenient=True):
                store.add(quad if graph is None else ox.Quad(quad.subject, quad.predicate, quad.object, graph))
    found = store.query(query, prefixes=PREFIXES)
    if isinstance(found, ox.QueryBoolean):
        return (str(bool(found)),)
    if isinstance(found, ox.QueryTriples):
        return tuple(sorted(map(str, map(_triple, found))))
    names = [variable.value for variable in found.variables]
    rows = ([(name, row[name]) for name in names] for row in found)
    return tuple(
        sorted(str(sorted((name, str(_term(term))) for name, term in row if term is not None)) for row in rows)
    )


def _term(term: Any) -> Any:
    return terms.term_of(str(term))


def _triple(triple: ox.Triple) -> Any:
    return _term(f"<<( {triple} )>>")


class History:
    """A store that is changed at random, and the moments of valid time at which anything happened."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng
        clock = worlddb.ManualClock(1_700_000_000_000_000)
        self.db = worlddb.open(
            folder / "store",
            create=True,
            embedder=None,
            clock=clock,
            entropy=worlddb.SeededEntropy(rng.getrandbits(32)),
        )
        self.clock = clock
        self.worlds = [self.db.create("Place", name, valid_from=YEARS[0]).ref for name in ("Town", "Pub")]
        self.worlds.append(self.db.create("Place", "Bar", world=self.worlds[0], valid_from=YEARS[0]).ref)
        self.forks: list[str] = []

    def change(self) -> None:
        """Do one thing at random."""
        self.clock.advance(self.rng.randrange(1, 10**9))
        often: tuple[Callable[[], object], ...] = (self._state, self._unstate, self._change, self._update, self._read)
        seldom: tuple[Callable[[], object], ...] = (self._revise, self._fork, self._merge, self._erase)
        self.rng.choice(often * 3 + seldom)()

    def _world(self) -> str:
        found: str = self.rng.choice(self.worlds + self.forks)
        return found

    def _iri(self) -> str:
        return f"<urn:x:{self.rng.choice('abcd')}>"

    def _statement(self) -> tuple[str, ...]:
        rng = self.rng
        texts = (str(Literal("thé\n\"'", language="fr")), '"1"', str(Literal("01", "urn:x:type")))
        object_ = rng.choice([self._iri(), self._iri(), "_:x", rng.choice(texts)])
        subject, graph = rng.choice([self._iri(), self._iri(), "_:x"]), rng.choice([(), (), (self._iri(),)])
        return subject, f"<urn:x:{rng.choice('pq')}>", object_, *graph

    def _statements(self) -> list[tuple[str, ...]]:
        return [self._statement() for _ in range(self.rng.randrange(1, 6))]

    def _window(self) -> dict[str, str]:
        begins = self.rng.randrange(len(YEARS) - 1)
        window = {"valid_from": YEARS[begins], "valid_to": YEARS[self.rng.randrange(begins + 1, len(YEARS))]}
        kept = self.rng.choice([(), ("valid_from",), ("valid_from", "valid_to")])
        return {name: window[name] for name in kept}

    def _state(self) -> None:
        self.db.state(self._world(), self._statements(), **self._window())  # type: ignore[arg-type]

    def _unstate(self) -> None:
        pattern = self.rng.choice([{"predicate": "<urn:x:p>"}, {"subject": self._iri()}, {"object": self._iri()}])
        self.db.unstate(self._world(), **pattern, at=self.rng.choice([None, *YEARS]))

    def _change(self) -> None:
        world = self._world()
        held = self.db.view().statements(world)
        removed = self.rng.sample(held, min(len(held), 2))
        self.db.change_statements(world, remove=removed, add=self._statements())

    def _update(self) -> None:
        one, two = self._iri(), self._iri()
        update = self.rng.choice(
            [
                f"INSERT DATA {{ {one} <urn:x:p> {two}, [] . GRAPH {two} {{ {one} <urn:x:q> 'tea'@en }} }}",
                f"DELETE {{ ?s ?p ?o }} INSERT {{ ?o ?p ?s }} WHERE {{ ?s ?p ?o FILTER(isIRI(?o) && ?s != {one}) }}",
                f"DELETE WHERE {{ {one} ?p ?o }}",
                f"INSERT {{ GRAPH {one} {{ ?w a {two} }} }} WHERE {{ GRAPH wdb:memory {{ ?w wdb:name ?n }} }}",
                f"COPY {one} TO DEFAULT",
            ]
        )
        self._known(lambda world: self.db.sparql_update(update, world=world))

    def _known(self, call: Callable[[str], object]) -> None:
        """Call it of a world that can be seen, if there is one."""
        view = self.db.view()
        seen = [each for each in self.worlds + self.forks if view.get(each) is not None]
        if seen:
            call(self.rng.choice(seen))

    def _read(self) -> None:
        text = "@prefix : <urn:x:> . :a :p [ :q :b, 'x' ] . :c :q :d, ( :a :b ) ."
        graphs = "@prefix : <urn:x:> . :a { :a :p [ :q :b ] }"
        sent, format = self.rng.choice([(text, "turtle"), (graphs, "trig")])
        self.db.read_rdf(self._world(), sent.encode(), format, valid_from=self.rng.choice([None, *YEARS[:3]]))

    def _revise(self) -> None:
        self._known(lambda world: self.db.revise(world, content=f"now {self.rng.randrange(9)}"))

    def _fork(self) -> None:
        if len(self.forks) < 2:
            self._known(lambda world: self.forks.append(self.db.fork(world).ref or world))

    def _merge(self) -> None:
        view = self.db.view()
        for fork in [each for each in self.forks if each not in self.worlds and view.get(each) is not None][:1]:
            self.db.merge(fork, on_conflict="theirs")

    def _erase(self) -> None:
        if self.rng.random() < 0.5:
            self._known(lambda world: self.db.erase(world, reason="asked for", members=self.rng.random() < 0.5))


def follow(history: History) -> bool:
    """Ask of the present, or of a year of it, which the workers come to by what changed."""
    rng, view = history.rng, history.db.view(valid=history.rng.choice([None, YEARS[1]]))
    return _compared(view, view, rng.choice(QUERIES[:9]), history.worlds[0])


def compare(history: History, moments: int, queries: int) -> int:
    """Compare at some moments; how many of the answers had anything in them."""
    db, rng, told = history.db, history.rng, 0
    for seq in rng.sample(range(4, db.head().seq + 1), min(moments, db.head().seq - 3)):
        copy = history.folder / f"copy{seq}"
        assert db.replay(copy, seq=seq).matches_recorded
        with worlddb.open(copy, embedder=None) as other:
            for valid in rng.sample([None, *YEARS], 2):
                valid = db.view(seq=seq).valid if valid is None else valid  # type: ignore[assignment]
                here, there = db.view(seq=seq, valid=valid), other.view(valid=valid)
                assert here.count_statements() == there.count_statements()
                for query in rng.sample(QUERIES, queries):
                    top = rng.choice(history.worlds)
                    text = query.replace("WORLD", f"urn:worlddb:world:{top}")
                    world = rng.choice([None, top, top])
                    told += _compared(here, there, text, world)
    return told


def _compared(here: worlddb.View, there: worlddb.View, query: str, world: str | None) -> bool:
    try:
        found = answer_as_of(here, query, world)  # First: what is read for the other one is noted too.
    except worlddb.UnknownReference:
        with pytest.raises(worlddb.UnknownReference):
            answer_anew(there, query, world)
        return False
    assert found == answer_anew(there, query, world), (query, world, here.seq, here.valid)
    return bool(found)


@pytest.mark.parametrize("histories", [4, pytest.param(1_000, marks=pytest.mark.soak)])
def test_any_query_as_of_a_moment_equals_that_of_a_store_replayed_to_it(
    tmp_path: Path, root_seed: int, histories: int
) -> None:
    told = 0
    for number in range(histories):
        seed = root_seed + number
        history = History(tmp_path / str(number), random.Random(seed))
        with history.db:
            for _ in range(14):
                history.change()
                told += follow(history)
            try:
                told += compare(history, moments=2, queries=3)
            except AssertionError:
                print(f"history of seed {seed}", file=sys.stderr)
                raise
        shutil.rmtree(history.folder)  # Those of a soak run would fill a disk.
    assert told > histories * 4
