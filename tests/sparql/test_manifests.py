"""Cases in the form of the W3C's manifests: our own, and those of a folder that WORLDDB_W3C names."""

from __future__ import annotations

import itertools
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import pyoxigraph as ox
import pytest

import worlddb
from tests.support import sparql_results
from worlddb.query.sparql import rdf_formats
from worlddb.query.sparql.sparql_tokens import read_sparql

OWN: Final = Path(__file__).with_name("manifests") / "manifest.ttl"
BASE: Final = "https://base.example/"
MF: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT: Final = "http://www.w3.org/2009/sparql/tests/test-update#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL: Final = "http://www.w3.org/2000/01/rdf-schema#label"
FILES: Final = {
    "turtle": "http://www.w3.org/2013/TurtleTests/",
    "trig": "http://www.w3.org/2013/TriGTests/",
    "rdf-xml": "http://www.w3.org/2013/RDFXMLTests/",
}
"""What files of the suites of formats are relative to, by the folders of their manifests."""
WRITTEN: Final = (ox.RdfFormat.N_QUADS, ox.RdfFormat.TRIG, ox.RdfFormat.JSON_LD)
EXCEPTIONS: Final = {
    "load": "LOAD is closed",
    "entailment": "statements are taken as they are said",
    "protocol": "what is sent is told in words; tests/server has it",
    "description": "what is sent is told in words; tests/server has it",
    "service": "SERVICE is closed",
}
"""Words of a case's file names that are passed over, and why; a case of syntax is read all the same."""


BY_VALUE: Final = "the engine knows literals by their value: 01 as 1, of xsd:byte as of xsd:integer"
SHARED: Final = "a graph that FROM and FROM NAMED name is one, and so are its blank nodes"
OLDER: Final = "RDF 1.1 has one kind of plain text, and RDF 1.0 had two"
LABELS: Final = "the engine gives a label one blank node in all rows"
PATHS: Final = "the engine finds what several ways of a path with | lead to once"
NO_TRIPLES: Final = "the engine takes GRAPH for any name where nothing inside is a triple"
XML_LITERALS: Final = "the engine takes no empty literal of XML, and writes none in its canonical form"
DOT: Final = "in SPARQL 1.1 no number ends with a point"
KNOWN: Final = {
    "aggregates/Aggregate over empty group resulting in a row with unbound variables": "no solution makes no group",
    "algebra-interactions/mixed-overlapping-arm": PATHS,
    "algebra-interactions/mixed-predicate-inverse-sequence": PATHS,
    "basic/Basic - Term 6": DOT,
    "basic/Basic - Term 7": DOT,
    "bindings/graph-from-named-1": NO_TRIPLES,
    "bindings/graph-from-named-2": NO_TRIPLES,
    "bindings/graph-from-named-3": NO_TRIPLES,
    "csv-tsv-res/tsv03 - TSV Result Format": BY_VALUE,
    "dataset/dataset-09": SHARED,
    "dataset/dataset-10": SHARED,
    "dataset/dataset-12": SHARED,
    "distinct/All: Distinct": BY_VALUE,
    "distinct/Numbers: Distinct": BY_VALUE,
    "distinct/Strings: Distinct": OLDER,
    "expr-builtin/sameTerm-eq": BY_VALUE,
    "expr-builtin/sameTerm-not-eq": BY_VALUE,
    "expr-builtin/sameTerm-simple": BY_VALUE,
    "expr-builtin/str-1": BY_VALUE,
    "expr-builtin/str-2": BY_VALUE,
    "expr-equals/Equality 1-1 -- graph": BY_VALUE,
    "expr-equals/Equality 1-2 -- graph": BY_VALUE,
    "expr-builtin/datatype-2 : Literals with a datatype": OLDER,
    "functions/BNODE(str)": LABELS,
    "functions/STRDT() TypeErrors": OLDER,
    "functions/STRLANG() TypeErrors": OLDER,
    "open-world/date-2": "the engine knows that a date with a time zone is another, by XML Schema 1.1",
    "open-world/open-eq-01": BY_VALUE,
    "optional-filter/dawg-optional-filter-005-simplified": "its double braces are kept: the case beside it has that",
    "rdf-xml/xml-canon-test001": XML_LITERALS,
    "rdf-xml-non-normative/rdfms-empty-property-elements-test003": XML_LITERALS,
    "rdf-xml-non-normative/rdfms-empty-property-elements-test009": XML_LITERALS,
    "rdf-xml-non-normative/rdfms-xml-literal-namespaces-test001": XML_LITERALS,
    "rdf-xml-non-normative/rdfms-xml-literal-namespaces-test002": XML_LITERALS,
    "syntax-sparql1/syntax-lit-08.rq": DOT,
    "syntax-sparql3/syn-bad-26.rq": "the engine reads ?x<?a&&?b>?y as comparisons, and not as an IRI",
    "syntax-sparql2/syntax-esc-04.rq": "the engine takes \\u in texts and IRIs, and in no name",
    "syntax-sparql2/syntax-esc-05.rq": "the engine takes \\u in texts and IRIs, and in no name",
}
"""Cases of the suites that come to something else, and why."""


class Case(NamedTuple):
    """A case: its kind, its name, and its node in its manifest."""

    manifest: Manifest
    kind: str
    name: str
    node: Any

    def __str__(self) -> str:
        return f"{self.manifest.folder.name}/{self.name}"


class Manifest:
    """A manifest, whose relative IRIs are names of files beside it."""

    def __init__(self, file: Path) -> None:
        self.folder = file.parent
        quads = ox.parse(file.read_bytes(), ox.RdfFormat.TURTLE, base_iri=BASE + file.name)
        self._held = ox.Dataset(quads)

    def values(self, node: Any, iri: str) -> list[Any]:
        """What stands at a property of a node."""
        return [quad.object for quad in self._held.quads_for_subject(node) if quad.predicate.value == iri]

    def value(self, node: Any, iri: str) -> Any:
        """What stands there, if anything does."""
        return next(iter(self.values(node, iri)), None)

    def file(self, node: Any) -> Path:
        """The file that an IRI names."""
        return self.folder / unquote(node.value.removeprefix(BASE))

    def cases(self) -> Iterator[Case]:
        """The entries, in their order."""
        heads = [quad.object for quad in self._held if quad.predicate.value == MF + "entries"]
        for at in heads:
            while at is not None and at.value != RDF + "nil":
                node = self.value(at, RDF + "first")
                kind = self.value(node, RDF + "type").value.rpartition("#")[2]
                yield Case(self, kind, min(each.value for each in self.values(node, MF + "name")), node)
                at = self.value(at, RDF + "rest")


def run(db: worlddb.Database, case: Case) -> None:
    """Do what a case says in a world of its own, and see that it comes to what it says."""
    manifest, action = case.manifest, case.manifest.value(case.node, MF + "action")
    world = db.create("Case", f"{case}", key=f"{case} after {db.head().seq}").ref
    if case.kind.startswith("Test"):
        _read(db, world, case, manifest.file(action))
        return
    if "Syntax" in case.kind:
        _parse(db, world, manifest.file(action), case.kind)
        return
    updates = case.kind.startswith("Update")
    space = UT if updates else QT
    asked = manifest.file(manifest.value(action, UT + "request" if updates else QT + "query"))
    held = _held(manifest, action, space)
    if not updates and "FROM" in read_sparql(asked.read_text("utf-8")).words():
        # What FROM names is read from there, and here there are graphs of a world.
        named = {BASE + manifest.file(each).name for each in manifest.values(action, QT + "data")}
        named |= set(re.findall(r"\bFROM\s+(?:NAMED\s+)?<([^>]*)>", asked.read_text("utf-8")))
        files = [manifest.folder / each.removeprefix(BASE) for each in sorted(named)]
        held += [(*row[:3], f"<{BASE}{file.name}>") for file in files if file.exists() for row in _rows(file)]
    db.state(world, held)
    text = f"BASE <{BASE}{asked.name}>\n{asked.read_text('utf-8')}"
    result = manifest.value(case.node, MF + "result")
    if updates:
        db.sparql_update(text, world=world)
        expected = _dataset(" ".join(map(str, row)) + " ." for row in _held(manifest, result, UT))
        assert _dataset([db.view().write_rdf(world, "nquads").decode()]) == expected
        return
    _same(db.view(), world, text, manifest.file(result))


def _read(db: worlddb.Database, world: str, case: Case, file: Path) -> None:
    """Take in a file of a suite of a format of RDF, whose statements another file has, or which breaks the format."""
    wrong, folder = "Negative" in case.kind, case.manifest.folder
    try:
        db.read_rdf(world, file, base=FILES.get(folder.name, BASE) + file.relative_to(folder).as_posix())
        assert not wrong, "It was read, and breaks the format"
    except worlddb.InputError:
        if not wrong:
            raise
        return
    result = case.manifest.value(case.node, MF + "result")
    written = [db.view().write_rdf(world, each) for each in ("nquads", "trig", "jsonld")]
    found = [
        _dataset(f"{quad} ." for quad in ox.parse(text, kind, lenient=True))
        for text, kind in zip(written, WRITTEN, strict=True)
    ]
    for each in found:
        assert each == (found[0] if result is None else _dataset([case.manifest.file(result).read_text("utf-8")]))


def _held(manifest: Manifest, node: Any, space: str) -> list[tuple[str, ...]]:
    held: list[tuple[str, ...]] = []
    for each in manifest.values(node, space + "data"):
        held += _rows(manifest.file(each))
    for each in manifest.values(node, space + "graphData"):
        inner = manifest.value(each, UT + "graph") if space == UT else each
        name = manifest.value(each, LABEL).value if space == UT else each.value
        held += [(*row[:3], f"<{name}>") for row in _rows(manifest.file(inner))]
    return held


def _rows(file: Path) -> list[tuple[str, ...]]:
    """The statements of a file, whose blank nodes no other file has."""
    labels = (f"{file.stem.replace('-', '')}x{uuid.uuid4().hex}" for _ in itertools.count())
    found = rdf_formats.read_rows(file.read_bytes(), labels.__next__, file.suffix[1:], base=BASE + file.name)
    return [tuple(text for text in row if text is not None) for row in found]


def _dataset(lines: Any) -> ox.Dataset:
    found = ox.Dataset(ox.parse("\n".join(lines).encode(), ox.RdfFormat.N_QUADS, lenient=True))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def _parse(db: worlddb.Database, world: str, file: Path, kind: str) -> None:
    text = f"BASE <{BASE}{file.name}>\n{file.read_text('utf-8')}"

    def ask() -> None:
        if "Update" in kind or file.suffix == ".ru":
            db.sparql_update(text, world=world)
        else:
            db.view().sparql(text, world=world)

    wrong = "Negative" in kind
    try:
        ask()
        assert not wrong, "It was read, and breaks the grammar"
    except worlddb.InvalidSparql as error:
        if wrong:
            return
        # It was read to its end: a graph that is not there, or one of the operations that are closed.
        if not error.message.startswith("The query cannot be evaluated") and "is not allowed here" not in error.message:
            raise


def _same(view: worlddb.View, world: str, query: str, file: Path) -> None:
    suffix = file.suffix[1:]
    is_graph = suffix in ("ttl", "nt", "rdf")
    if is_graph and not sparql_results.is_result_set(file):
        kind = ox.RdfFormat.from_extension(suffix)
        body = view.sparql(query, world=world, format="ntriples").body
        wanted = sparql_results.graph(ox.parse(file.read_bytes(), kind, base_iri=BASE + file.name))
        assert sparql_results.graph(ox.parse(body, ox.RdfFormat.N_TRIPLES)) == wanted
        return
    suffix = {"srx": "xml", "tsv": "tsv", "csv": "csv"}.get(suffix, "json")
    body = view.sparql(query, world=world, format=suffix).body
    found = sparql_results.read(body, {"xml": "srx", "json": "srj"}.get(suffix, suffix))
    expected = sparql_results.read(file.read_bytes(), file.suffix[1:], BASE + file.name)
    words = read_sparql(query).words()
    sparql_results.assert_same(found, expected, ordered="ORDER" in words, reduced="REDUCED" in words)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path_factory.mktemp("cases") / "store", create=True, embedder=None) as opened:
        yield opened


@pytest.mark.parametrize("case", list(Manifest(OWN).cases()), ids=str)
def test_a_case_of_ours_comes_to_what_it_says(db: worlddb.Database, case: Case) -> None:
    run(db, case)


@pytest.mark.skipif("WORLDDB_W3C" not in os.environ, reason="WORLDDB_W3C names no folder of manifests")
def test_the_cases_of_a_folder_come_to_what_they_say(db: worlddb.Database, capsys: pytest.CaptureFixture[str]) -> None:
    failed = []
    for file in sorted(Path(os.environ["WORLDDB_W3C"]).rglob("manifest.ttl")):
        for case in Manifest(file).cases():
            named = "" if "Syntax" in case.kind else f"{file.parent.name} {case.name}".lower()
            why = next((EXCEPTIONS[word] for word in EXCEPTIONS if word in named), None)
            told = f"passed over: {why}" if why else "pass"
            if why is None:
                try:
                    run(db, case)
                except Exception as error:  # Each case is told, whatever becomes of it.
                    known = KNOWN.get(str(case))
                    told = f"known: {known}" if known else f"FAIL {type(error).__name__}: {str(error)[:200]}"
                    failed += [] if known else [str(case)]
            with capsys.disabled():
                print(f"{case}: {told}")
    assert not failed


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("a,b\r\n1.0E6,_:x\r\n,_:x\r\n", "b,a\n_:y,\n_:y,1000000\n", True),
        ("a,b\n1,_:x\n,_:x\n", "a,b\n1,_:x\n,_:y\n", False),
        ("a\n1\n1\n", "a\n1\n", False),
        ("a\nx\ny\n", "a\ny\nx\n", True),
        ("a\n01.50\n", "a\n1.5\n", True),
        ("a\n1\n", "a\n2\n", False),
    ],
)
def test_answers_are_compared_by_value_and_as_bags(one: str, other: str, is_same: bool) -> None:
    found, expected = (sparql_results.read(each.encode(), "csv") for each in (one, other))
    if is_same:
        sparql_results.assert_same(found, expected, ordered=False)
    else:
        with pytest.raises(AssertionError):
            sparql_results.assert_same(found, expected, ordered=False)


def test_the_kind_of_a_number_and_the_order_of_rows_count() -> None:
    typed = [
        sparql_results.read(f"?a\n{text}\n".encode(), "tsv")
        for text in ("1.50\n2.0", "1.5\n2.00", "2.0\n1.5", '"1.5"^^<http://www.w3.org/2001/XMLSchema#double>\n2.0')
    ]
    sparql_results.assert_same(*typed[:2], ordered=True)
    sparql_results.assert_same(typed[0], typed[2], ordered=False)
    for other, ordered in ((typed[2], True), (typed[3], False)):
        with pytest.raises(AssertionError):
            sparql_results.assert_same(typed[0], other, ordered=ordered)
