"""What an update comes to by its steps is what a comparison of the whole dataset before and after says."""

from __future__ import annotations

import random
import time
from typing import Any

import pyoxigraph as ox
import pytest

from worlddb.log.model import errors
from worlddb.query.sparql import sparql_worker
from worlddb.query.sparql.sparql_tokens import PREFIXES, read_sparql
from worlddb.query.sparql.update_steps import WRITTEN, steps, using, without_later_prologues

TERMS = ("<urn:a>", "<urn:b>", "x:c", "'t;x}'", '"""{ ; """@en', "01", "_:n")
VARIABLES = ("?s", "?p", "?o", "?never")


class Updates:
    """Updates at random, of several operations each."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def text(self) -> str:
        operations = [self.operation() for _ in range(self.rng.randrange(1, 4))]
        return "PREFIX x: <urn:x:> " + " ; # a } comment {\n".join(operations) + self.rng.choice(["", " ;"])

    def operation(self) -> str:
        rng = self.rng
        kind = rng.randrange(9)
        where = self.where()
        if kind == 0:
            return f"INSERT DATA {{ {self.quads(TERMS)} }}"
        if kind == 1:
            return f"delete data {{ {self.quads(TERMS[:-1])} }}"
        if kind == 2:
            return f"DELETE WHERE {{ {self.quads((*TERMS[:-1], *VARIABLES[:3]))} }}"
        if kind == 3:
            return rng.choice(["CLEAR DEFAULT", "COPY DEFAULT TO <urn:a>"])
        if kind == 4:
            return f"PREFIX x: <urn:y:> INSERT {{ {self.quads((*TERMS, *VARIABLES))} }} {where}"
        removed, added = self.quads((*TERMS[:-1], *VARIABLES)), self.quads((*TERMS, *VARIABLES))
        begins = rng.choice(["", "", "WITH <urn:a> "]) + f"DELETE {{ {removed} }}"
        return f"{begins} {where}" if kind == 5 else f"{begins} INSERT {{ {added} }} {where}"

    def where(self) -> str:
        return self.rng.choice(
            [
                "WHERE { ?s ?p ?o }",
                "WHERE { GRAPH ?p { ?s <urn:p> ?o } FILTER(?s != <urn:a>) }",
                "WHERE { ?s ?p [] OPTIONAL { ?s <urn:p> ?o FILTER isBlank(?o) } }",
                "WHERE { { SELECT ?s (COUNT(*) AS ?o) { ?s ?q ?v } GROUP BY ?s } BIND (<urn:p> AS ?p) }",
                "WHERE { { ?s <urn:p> ?o } UNION { GRAPH <urn:b> { ?s ?p ?o } } }",
                "WHERE { ?s <urn:p>+ ?o BIND ('1; }' AS ?p) }",
                "USING <urn:a> USING <urn:b> WHERE { ?s ?p ?o }",
                "USING <urn:b> USING NAMED <urn:a> WHERE { { ?s <urn:p> ?o } UNION { GRAPH ?p { ?s <urn:q> ?o } } }",
                "USING NAMED <urn:a> WHERE { { ?s ?p ?o } UNION { GRAPH <urn:a> { ?s ?p ?o } } }",
                "{ }",
            ]
        )

    def quads(self, among: tuple[str, ...]) -> str:
        rng, found = self.rng, []
        subjects = [each for each in among if each[0] in "<_x?"]
        for _ in range(rng.randrange(1, 3)):
            predicate = rng.choice(["<urn:p>", "<urn:q>", *(["?p"] if "?p" in among else [])])
            triple = f"{rng.choice(subjects)} {predicate} {rng.choice(among)}"
            found.append(f"GRAPH <urn:{rng.choice('ab')}> {{ {triple} }}" if rng.random() < 0.3 else f"{triple} .")
        return " ".join(found)


def dataset(rng: random.Random) -> ox.Store:
    store, graphs = ox.Store(), [ox.NamedNode("urn:a"), ox.NamedNode("urn:b")]
    nodes: list[Any] = [*graphs, ox.NamedNode("urn:x:c"), ox.BlankNode("k"), ox.BlankNode("l")]
    objects: list[Any] = [*nodes, ox.Literal("t;x}"), ox.Literal("{ ; ", language="en"), ox.Literal(1)]
    for _ in range(rng.randrange(12)):
        predicate, graph = ox.NamedNode(f"urn:{rng.choice('pq')}"), rng.choice([None, None, *graphs])
        store.add(ox.Quad(rng.choice(nodes), predicate, rng.choice(objects), graph))
    return store


def changed(store: ox.Store, text: str, by_steps: bool) -> sparql_worker.Changed:
    found, head = sparql_worker.Changed(store), {"prefixes": PREFIXES}
    if by_steps:
        for step in steps(read_sparql(text)):
            found.step(head, *step)
    else:
        found.compare(head, text)
    return found


def canonical(store: ox.Store) -> list[str]:
    held = ox.Dataset(store)
    held.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return sorted(map(str, held))


@pytest.mark.parametrize("updates", [400, pytest.param(40_000, marks=pytest.mark.soak)])
def test_steps_change_what_a_comparison_finds(root_seed: int, updates: int) -> None:
    rng, told, stepped = random.Random(root_seed), 0, 0
    for _ in range(updates):
        text, store = without_later_prologues(read_sparql(Updates(rng).text())).text, dataset(rng)
        try:
            one, other = ox.Store(), ox.Store()
            one.extend(store)
            other.extend(store)
            compared = changed(one, text, by_steps=False)
        except SyntaxError:
            continue
        stepped += not any(step.whole for step in steps(read_sparql(text)))
        found = changed(other, text, by_steps=True)
        assert set(found.removed) == set(compared.removed), text
        assert len(found.added) == len(compared.added), text
        assert canonical(one) == canonical(other), text
        found.undo()
        assert set(other) == set(store), text
        told += bool(found.removed or found.added)
    assert stepped > updates / 3 and told > updates / 8


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("CLEAR ALL", [True]),
        ("PREFIX x: <urn:x:> WITH x:a DELETE { ?s ?p ?o } USING x:b WHERE { ?s ?p ?o }", [False]),
        ("BASE <urn:x:> WITH <urn:a> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", [True]),
        ("BASE <urn:x:> DELETE { ?s ?p ?o } USING <urn:a> WHERE { ?s ?p ?o }", [True]),
        ("INSERT DATA { <urn:a> <urn:p> 1 } ; DROP SILENT GRAPH <urn:a> ; CLEAR ALL", [False, True]),
        ("INSERT DATA { _:a <urn:p> 1 } ; INSERT DATA { _:b <urn:p> 1 }", [False, False]),
        ("INSERT DATA { _:a <urn:p> 1 } ; INSERT DATA { _:a <urn:p> 2 }", [True]),
    ],
)
def test_no_more_is_compared_than_has_to_be(text: str, compared: list[bool]) -> None:
    assert [bool(step.whole) for step in steps(read_sparql(text))] == compared


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("1,+5", ["1 integer", "+5 integer"]),
        ("-.5, 1.e3 ,2E-1, 3.0.", ["-.5 decimal", "1.e3 double", "2E-1 double", "3.0 decimal"]),
        ("TRUE, 'a 01'@en, '1'^^x:t, 'x'", ["true boolean"]),
        ("'''0'1'''^^xsd:integer, '1'^^<http://www.w3.org/2001/XMLSchema#date> # 01", ["0'1 integer", "1 date"]),
    ],
)
def test_a_literal_of_a_template_stands_as_it_was_written(given: str, written: list[str]) -> None:
    (step,) = steps(read_sparql(f"PREFIX x: <urn:x:> INSERT DATA {{ x:a1 x:b-2 {given}\n}}"))
    store = ox.Store()
    store.update(step.added + " WHERE {}", prefixes=PREFIXES)
    found = [each.object for each in store if each.object.datatype.value.startswith(WRITTEN)]
    begin = WRITTEN + "http://www.w3.org/2001/XMLSchema#"
    assert sorted(f"{each.value} {each.datatype.value.removeprefix(begin)}" for each in found) == sorted(written)
    assert WRITTEN == sparql_worker.WRITTEN


def test_a_long_update_takes_no_more_than_its_length() -> None:
    """Its steps are found in this process, which answers others meanwhile."""

    def seconds(literals: int) -> float:
        read = read_sparql("INSERT DATA { " + " ".join(f"<urn:s> <urn:p> {n}.5 ." for n in range(literals)) + " }")
        before = time.process_time()
        assert len(steps(read)) == 1
        return time.process_time() - before

    assert min(seconds(16_000) for _ in range(3)) < 12 * min(seconds(4_000) for _ in range(3))
    begins = f"PREFIX a: <urn:{'a' * 100_000}> "
    (step,) = steps(read_sparql(begins + " ; ".join(["INSERT DATA { a:b a:c 1 }"] * 200)))
    assert step.whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "DELETE WHERE { ?s ?p 'WHERE {' } # end",
            "DELETE  { ?s ?p 'WHERE {' } USING <urn:g> USING NAMED <urn:h> WHERE",
        ),
        (
            "PREFIX where: <urn:w:> INSERT { ?s ?p where:a } WHERE { { SELECT * WHERE { ?s ?p ?o } } }",
            "} USING <urn:g>",
        ),
        ("INSERT DATA { <urn:a> <urn:p> 'USING' } ; CLEAR DEFAULT", ""),
    ],
)
def test_an_update_looks_at_the_graphs_that_are_given_with_it(text: str, expected: str) -> None:
    made = using(read_sparql(text), ["urn:g"], ["urn:h"])
    ox.Store().update(made, prefixes=PREFIXES)
    assert made.count("USING <urn:g> USING NAMED <urn:h>") == bool(expected)
    assert expected in made and (expected or made == text)


@pytest.mark.parametrize(
    "text",
    ["WITH <urn:a> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "INSERT { ?s ?p 1 } USING <urn:a> WHERE { ?s ?p ?o }"],
)
def test_graphs_are_not_given_beside_those_of_the_update(text: str) -> None:
    with pytest.raises(errors.InvalidSparql, match="conflicts with") as refused:
        using(read_sparql(text), ["urn:g"], [])
    assert refused.value.details["line"] == 1


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (
            "INSERT DATA { x:a rdf:b '1'^^x:t } ; PREFIX x: <urn:y:> INSERT DATA { x:a x:b 'x:c' ; x:d.e x:\\~f }",
            "INSERT DATA { x:a rdf:b '1'^^x:t . <urn:y:a> <urn:y:b> 'x:c' ; <urn:y:d.e> <urn:y:~f> }",
        ),
        ("CLEAR ALL ; prefix y: <urn:y:> # y:z\n INSERT DATA { y:a x:b 1 } ; DROP ALL ; PREFIX z: <urn:z:>", ""),
        (
            "BASE <urn:b:> PREFIX r: <r> CLEAR ALL ; PREFIX y: <urn:y:>"
            " INSERT { GRAPH y:g { r:a ?p <c> } } WHERE { ?s x:p/^x:q ?p }",
            "",
        ),
    ],
)
def test_prefixes_that_a_later_operation_declares_are_written_out(text: str, same: str) -> None:
    given = "PREFIX x: <urn:x:> " + text
    with pytest.raises(SyntaxError):
        ox.Store().update(given, prefixes=PREFIXES)  # Once the engine takes it, this is to go.
    one, other = ox.Store(), ox.Store()
    one.update(without_later_prologues(read_sparql(given)).text, prefixes=PREFIXES)
    other.update("PREFIX x: <urn:x:> " + same, prefixes=PREFIXES)
    assert set(map(str, one)) == set(map(str, other))


@pytest.mark.parametrize(
    "text", ["CLEAR ALL ; BASE <urn:b:> DROP ALL", "CLEAR ALL ; PREFIX y: <y> DROP ALL", "CLEAR ALL"]
)
def test_what_is_relative_to_a_later_base_is_left_to_the_engine(text: str) -> None:
    assert without_later_prologues(read_sparql(text)).text == text
