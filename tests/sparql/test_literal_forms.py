"""Literals that the engine of SPARQL writes otherwise: what is written, read back and taken away is what was given."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from worlddb.query.sparql import rdf_formats

XSD = "http://www.w3.org/2001/XMLSchema#"
P = "<urn:x:p>"
ALIKE = [
    ["1", "01", "+1", f'"1"^^<{XSD}byte>', f'"1"^^<{XSD}nonNegativeInteger>'],
    ["1.0", "1.00", f'"1"^^<{XSD}decimal>'],
    ["1.5e0", "15E-1", f'"1.50"^^<{XSD}double>'],
    ["true", f'"1"^^<{XSD}boolean>'],
    [f'"2020-01-01T00:00:00{zone}"^^<{XSD}dateTime>' for zone in ("Z", "+00:00", ".000Z")],
    [f'"P12M"^^<{XSD}yearMonthDuration>', f'"P1Y"^^<{XSD}yearMonthDuration>'],
]
"""Literals in groups that the engine takes for one each."""
OTHERS = ['"x"@en', '"01"', f'"01"^^<{XSD}string>', f'"x"^^<{XSD}integer>', "<urn:x:01>", "2.5"]
GRAPHS = ["", "<urn:x:g>", "<urn:x:h>"]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        yield db


def held(db: worlddb.Database, world: str) -> set[tuple[str, str]]:
    """Objects and graphs, by their texts."""
    return {
        (str(each.object), "" if each.graph is None else str(each.graph))
        for each in db.view().statements(world, graph="any")
    }


def term(text: str) -> str:
    """The text of a literal as it is kept."""
    ((_, _, found, _),) = rdf_formats.read_rows(f"<urn:s> {P} {text} .".encode(), None, "turtle")
    return found


@pytest.mark.parametrize("text", [each for group in ALIKE for each in group] + ['"x"@EN-gb'])
def test_a_literal_is_written_and_taken_away_in_the_form_that_is_given(db: worlddb.Database, text: str) -> None:
    world = db.create("Place", "Town").ref
    db.sparql_update(f"INSERT DATA {{ <urn:x:s> {P} {text} }}", world=world)
    assert held(db, world) == {(term(text), "")}
    assert term(text) in db.view().write_rdf(world, "ntriples").decode()
    head = db.head().seq
    db.sparql_update(f"INSERT DATA {{ <urn:x:s> {P} {text} }}", world=world)
    assert db.view().count_statements(world) == 1
    for update in (
        "COPY DEFAULT TO <urn:x:g> ; MOVE <urn:x:g> TO <urn:x:h>",
        "INSERT { GRAPH <urn:x:h> { ?s ?p ?o } } USING <urn:x:h> WHERE { ?s ?p ?o }",
        "DELETE { ?s ?p ?o } INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        f"DELETE {{ ?s ?p ?o }} INSERT {{ ?s ?p {text} }} WHERE {{ ?s ?p ?o }}",
    ):
        db.sparql_update(update, world=world)
        assert held(db, world) == {(term(text), ""), (term(text), "<urn:x:h>")}, update
    db.sparql_update("DROP GRAPH <urn:x:h>", world=world)
    db.sparql_update(f"DELETE DATA {{ <urn:x:s> {P} {text} }}", world=world)
    assert held(db, world) == set()
    for update in ("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "DELETE WHERE { ?s ?p ?o }", "CLEAR ALL"):
        db.sparql_update(f"INSERT DATA {{ <urn:x:s> {P} {text} }}", world=world)
        db.sparql_update(update, world=world)
        assert held(db, world) == set()
    assert db.view(seq=head).count_statements(world) == 1


def test_what_an_answer_shows_can_be_taken_away(db: worlddb.Database) -> None:
    """The engine shows 1.50 as 1.5: whoever saw that takes it away so."""
    world = db.create("Place", "Town").ref
    db.sparql_update(f"INSERT DATA {{ <urn:x:s> {P} 1.50 , 2.50 , 2.5 }}", world=world)
    db.sparql_update(f"DELETE DATA {{ <urn:x:s> {P} 1.5 , 2.5 }}", world=world)
    assert held(db, world) == {(term("2.50"), "")}


def test_a_triple_as_a_term_comes_in_and_keeps_its_literals(db: worlddb.Database) -> None:
    world = db.create("Place", "Town").ref
    reified = f"<urn:x:r> rdf:reifies <<( <urn:x:s> {P} 01 )>>"
    db.sparql_update(f"INSERT DATA {{ {reified} }}", world=world)
    whole = db.view().write_rdf(world, "nquads")
    assert b'"01"^^' in whole
    db.read_rdf(db.create("Place", "Pub").ref, whole, "nquads")
    db.sparql_update(f"DELETE DATA {{ {reified} }}", world=world)
    assert db.view().count_statements(world) == 0


@pytest.mark.parametrize("rounds", [30, pytest.param(600, marks=pytest.mark.soak)])
def test_updates_at_random_keep_what_a_plain_model_keeps(db: worlddb.Database, root_seed: int, rounds: int) -> None:
    """An update takes away the form that it names, or else all that the engine takes for it; it adds what it names.

    A batch finds what it said before, a query the value of each statement that is held, whatever was taken away.
    """
    rng, world = random.Random(root_seed), db.create("Place", "Town").ref
    model: set[tuple[str, str]] = set()
    groups = [[term(each) for each in group] for group in ALIKE] + [[term(each)] for each in OTHERS]
    alike = {each: group for group in groups for each in group}

    def operation() -> str:
        graph, into, text = rng.choice(GRAPHS), rng.choice(GRAPHS[1:]), rng.choice(rng.choice([*ALIKE, OTHERS]))
        triple = f"<urn:x:s> {P} {text}"
        quad = f"GRAPH {graph} {{ {triple} }}" if graph else triple
        named = f"GRAPH {graph}" if graph else "DEFAULT"
        match rng.randrange(8):
            case 0 | 1 | 2:
                model.add((term(text), graph))
                return f"INSERT DATA {{ {quad} }}"
            case 3 | 4:
                taken = {(term(text), graph)}
                if not taken <= model:
                    taken = {(each, graph) for each in alike[term(text)]}
                model.difference_update(taken)
                return f"DELETE DATA {{ {quad} }}"
            case 5:
                model.difference_update([each for each in model if each[1] == graph])
                return f"CLEAR SILENT {named}"
            case 6:
                if graph != into:
                    model.difference_update([each for each in model if each[1] == into])
                    model.update([(each[0], into) for each in model if each[1] == graph])
                return f"COPY SILENT {named} TO {into}"
            case _:
                model.difference_update([each for each in model if each[1] == into])
                return f"DELETE WHERE {{ GRAPH {into} {{ ?s ?p ?o }} }}"

    for _ in range(rounds):
        if rng.random() < 0.3:
            with db.batch() as batch:
                for _ in range(2):
                    batch.sparql_update(operation(), world=world)
        else:
            db.sparql_update(operation(), world=world)
        assert held(db, world) == model
        answer = db.view().sparql("SELECT ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }", world=world)
        shown = sorted(f"{row['o']} {row.get('g') or ''}" for row in answer)
        made = rdf_formats.engine_forms(each for each, _ in model)
        assert shown == sorted({f"{made[each]} {graph}" for each, graph in model})
