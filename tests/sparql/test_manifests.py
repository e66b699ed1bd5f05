"""Cases in the form of the W3C's manifests: our own, and those of a folder that WORLDDB_W3C names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import pyoxigraph as ox
import pytest

import worlddb
from worlddb.query.sparql.sparql_tokens import read_sparql

OWN: Final = Path(__file__).with_name("manifests") / "manifest.ttl"
BASE: Final = "https://base.example/"
MF: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT: Final = "http://www.w3.org/2009/sparql/tests/test-update#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL: Final = "http://www.w3.org/2000/01/rdf-schema#label"
EXCEPTIONS: Final = {
    "service": "SERVICE is closed",
    "load": "LOAD is closed",
    "entailment": "statements are taken as they are said",
}
"""Words of a case's file names that are passed over, and why; a case of syntax is read all the same."""


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
                yield Case(self, kind, self.value(node, MF + "name").value, node)
                at = self.value(at, RDF + "rest")


def run(db: worlddb.Database, case: Case) -> None:
    """Do what a case says in a world of its own, and see that it comes to what it says."""
    manifest, action = case.manifest, case.manifest.value(case.node, MF + "action")
    world = db.create("Case", f"{case}", key=f"{case} after {db.head().seq}").ref
    if "Syntax" in case.kind:
        _parse(db, world, manifest.file(action), case.kind)
        return
    updates = case.kind.startswith("Update")
    space = UT if updates else QT
    asked = manifest.file(manifest.value(action, UT + "request" if updates else QT + "query"))
    held = _held(manifest, action, space)
    if not updates and "FROM" in read_sparql(asked.read_text("utf-8")).words():
        # What FROM names is read from there, and here there are graphs of a world.
        files = [manifest.file(each) for each in manifest.values(action, QT + "data")]
        held += [(*row[:3], f"<{BASE}{file.name}>") for file in files for row in _rows(file)]
    db.state(world, held)
    text = f"BASE <{BASE}{asked.name}>\n{asked.read_text('utf-8')}"
    result = manifest.value(case.node, MF + "result")
    if updates:
        db.sparql_update(text, world=world)
        expected = _dataset(" ".join(map(str, row)) + " ." for row in _held(manifest, result, UT))
        assert _dataset([db.view().write_rdf(world, "nquads").decode()]) == expected
        return
    _same(db.view(), world, text, manifest.file(result))


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
    kind = ox.RdfFormat.from_extension(file.suffix[1:])
    found = ox.parse(file.read_bytes(), kind, base_iri=BASE + file.name)
    return [tuple(str(term) for term in quad if str(term) != "DEFAULT") for quad in found]


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

    if "Negative" in kind:
        with pytest.raises(worlddb.InputError):
            ask()
        return
    try:
        ask()
    except worlddb.InvalidSparql as error:
        # It was read to its end: a graph that is not there, or one of the operations that are closed.
        if not error.message.startswith("The query cannot be evaluated") and "is closed here" not in error.message:
            raise


def _same(view: worlddb.View, world: str, query: str, file: Path) -> None:
    if file.suffix in (".ttl", ".nt", ".rdf"):
        found = view.sparql(query, world=world, format="ntriples").body.decode()
        assert _dataset([found]) == _dataset(" ".join(row) + " ." for row in _rows(file))
    elif file.suffix == ".csv":
        found = view.sparql(query, world=world, format="csv").body.decode()
        assert sorted(found.split()) == sorted(file.read_text("utf-8").split())
    else:
        body = view.sparql(query, world=world, format="json").body
        expected = file.read_bytes()
        kind = ox.QueryResultsFormat.from_extension(file.suffix[1:])
        assert _solutions(body, ox.QueryResultsFormat.JSON) == _solutions(expected, kind)


def _solutions(body: bytes, kind: Any) -> Any:
    found = ox.parse_query_results(body, kind)
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    names = [variable.value for variable in found.variables]
    lines = []
    for number, row in enumerate(found):
        lines.append(f"_:row{number} <urn:is> <urn:row> .")
        lines += [f"_:row{number} <urn:var:{name}> {row[name]} ." for name in names if row[name] is not None]
    return _dataset(lines)


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
                    told = f"FAIL {type(error).__name__}: {str(error)[:200]}"
                    failed.append(str(case))
            with capsys.disabled():
                print(f"{case}: {told}")
    assert not failed
