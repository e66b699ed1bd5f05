"""RDF comes in and goes out, and updates in SPARQL do to a world what they do to a store of another engine."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any
from xml.etree import ElementTree

import pyoxigraph
import pytest

import worlddb
from worlddb import Iri, Literal
from worlddb.query.sparql import rdf_formats

A, B, C, P, G = (Iri(f"urn:x:{name}") for name in "abcpg")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store") as db:
        yield db


@pytest.mark.parametrize("format", ["turtle", "trig", "ntriples", "nquads", "jsonld", "rdfxml"])
def test_what_is_written_in_a_format_is_read_again(db: worlddb.Database, tmp_path: Path, format: str) -> None:
    town, copy = db.create("Place", "Town").ref, db.create("Place", "Copy").ref
    db.state(town, [(A, P, Literal("thé\n", language="fr")), (A, P, "_:x"), ("_:x", P, '"1"'), (B, P, C)])
    odd = [Iri("https://a.example/é%20?q=1&r='x'#f"), Iri("urn:uuid:00000000-0000-0000-0000-000000000000")]
    typed = [Literal("01", f"http://www.w3.org/2001/XMLSchema#{name}") for name in ("integer", "decimal", "string")]
    said = [Literal(" <&>\"' \\ \t😀 ]]>"), Literal(""), Literal("x", language="en-gb"), Literal("<b/>", "urn:x:t")]
    db.state(town, [(each, P, end) for each, end in zip(odd, reversed(odd), strict=True)])
    db.state(town, [("_:x", P, each) for each in (*typed, *said)])
    if format in ("trig", "nquads", "jsonld"):
        db.state(town, [(A, P, B, G), ("_:y", P, "_:z", odd[0]), ("_:z", P, said[0], "_:g")])
    written = db.view().write_rdf(town, format)
    streamed = io.BytesIO()
    assert db.view().write_rdf(town, format, streamed) == b"" and streamed.getvalue() == written
    db.read_rdf(copy, written, format)
    told = [
        {
            pyoxigraph.Quad(*quad)
            for quad in pyoxigraph.parse(db.view().write_rdf(each, "nquads"), pyoxigraph.RdfFormat.N_QUADS)
        }
        for each in (town, copy)
    ]
    one, other = (pyoxigraph.Dataset(each) for each in told)
    one.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    other.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    assert one == other and len(one) >= 12


def test_a_file_goes_into_a_named_graph(db: worlddb.Database) -> None:
    world = str(db.create("Topic", "graphs").ref)
    db.read_rdf(world, b"<urn:a> <urn:b> 'c' .", "turtle", graph="<urn:g>")
    db.read_rdf(world, b"<urn:a> <urn:b> 'd' . <urn:h> { <urn:a> <urn:b> 'e' }", "trig", graph=worlddb.Iri("urn:g"))
    lines = db.view().write_rdf(world, "nquads").decode().splitlines()
    assert sorted(line.partition(" <urn:b> ")[2] for line in lines) == [
        *('"c" <urn:g> .', '"d" <urn:g> .', '"e" <urn:h> .'),
    ]
    for wrong in ("any", "urn:g", 3):
        with pytest.raises(worlddb.InputError):
            db.read_rdf(world, b"", "turtle", graph=wrong)


def test_what_looks_like_a_blank_node_in_an_iri_or_a_text_stays_as_it_is(db: worlddb.Database) -> None:
    world = str(db.create("Topic", "labels").ref)
    line = b'<urn:x/_:a> <urn:p/_:a> "_:a"^^<urn:t/_:a> <urn:g/_:a> .'
    db.read_rdf(world, line + b"\n_:a <urn:p> _:a .\n", "nquads")
    lines = db.view().write_rdf(world, "nquads").splitlines()
    assert line in lines
    (other,) = set(lines) - {line}
    subject, predicate, value, _ = other.split(b" ")
    assert subject == value and subject.startswith(b"_:") and predicate == b"<urn:p>"


def test_a_file_is_one_commit_and_a_bad_line_writes_nothing(db: worlddb.Database, tmp_path: Path) -> None:
    town, file = db.create("Place", "Town").ref, tmp_path / "a.nt"
    file.write_text("".join(f"<urn:x:{n}> <urn:x:p> <urn:x:{n + 1}> .\n" for n in range(1_200)))
    receipt = db.read_rdf(town, file, valid_from="2020-01-01", source={"file": "a.nt"})
    assert receipt.events >= 3 and db.view(valid="2021-01-01").count_statements(town) == 1_200
    assert db.view().statements(town, limit=1)[0].source == {"file": "a.nt"}
    head = db.head().seq
    file.write_text(file.read_text().replace("1200", "other") + "<urn:x:a> nonsense\n")
    with pytest.raises(worlddb.MalformedFile) as caught:
        db.read_rdf(town, file)
    assert caught.value.details["line"] == 1_201 and db.head().seq == head
    for given, format in ((b"<urn:a> <urn:b> <urn:c> .", None), (b"", "docx"), (tmp_path / "none.ttl", None)):
        with pytest.raises(worlddb.InputError):
            db.read_rdf(town, given, format)
    db.state(town, [(A, P, B, G)])
    with pytest.raises(worlddb.InputError, match="no graphs"):
        db.view().write_rdf(town, "turtle")


def test_an_update_changes_the_present_and_leaves_the_past(db: worlddb.Database) -> None:
    town, other = db.create("Place", "Town").ref, db.create("Place", "Pub").ref
    db.state(town, [(A, P, B), ("_:x", P, B)], valid_from="2020-01-01")
    db.state(other, [(C, P, A)])
    receipt = db.sparql_update("DELETE { ?s ?p <urn:x:b> } INSERT { ?s ?p <urn:x:c> } WHERE { ?s ?p ?o }", world=town)
    assert receipt and receipt.seq == db.head().seq
    assert {each.object for each in db.view().statements(town)} == {C}
    assert db.view().count_statements(town) == 2 and db.view().count_statements(other) == 1
    assert {each.object for each in db.view(valid="2021-01-01").statements(town)} == {B}
    # What another world says may be read.
    db.sparql_update(f"INSERT {{ ?s ?p ?o }} WHERE {{ GRAPH <urn:worlddb:world:{other}> {{ ?s ?p ?o }} }}", world=town)
    assert db.view().statements(town, subject=C)
    head = db.head().seq
    for wrong in (
        f"INSERT DATA {{ GRAPH <urn:worlddb:world:{other}> {{ <urn:a> <urn:b> <urn:c> }} }}",
        f"CLEAR GRAPH <urn:worlddb:world:{other}>",
        "INSERT DATA { GRAPH wdb:memory { <urn:a> <urn:b> <urn:c> } }",
        "DELETE WHERE { ?s }",
        "LOAD <file:///etc/hosts>",
    ):
        with pytest.raises(worlddb.InputError):
            db.sparql_update(wrong, world=town)
    with pytest.raises(worlddb.UnknownReference):
        db.sparql_update("CLEAR ALL", world="nowhere")
    assert db.head().seq == head


def test_an_update_says_what_was_not_searched_and_which_names_are_none(db: worlddb.Database) -> None:
    town = db.create("Place", "Town", content="warm").ref
    said = "INSERT { ?x <urn:x:p> ?n } WHERE { GRAPH <https://worlddb.dev/ns#search?text=warm> { ?x wdb:scroe ?n } }"
    notes = db.sparql_update(said, world=town).notes
    assert [note.code for note in notes] == ["searched_by_words", "names_unknown"]
    assert "words only" in str(notes[0])
    assert "the memory has no name wdb:scroe" in str(notes[1]) and "wdb:score" in str(notes[1])
    assert not db.sparql_update("INSERT DATA { <urn:a> <urn:b> <urn:c> }", world=town).notes


def test_an_update_is_evaluated_again_if_others_wrote(db: worlddb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    from worlddb.statements import updating

    town, change_of, others = db.create("Place", "Town").ref, updating.change_of, [B]

    def slowly(*given: Any, **asked: Any) -> updating.Change:
        found = change_of(*given, **asked)
        if others:
            db.state(town, [(A, P, others.pop())])
        return found

    monkeypatch.setattr(updating, "change_of", slowly)
    db.sparql_update("INSERT { ?s <urn:x:q> ?o } WHERE { ?s <urn:x:p> ?o }", world=town)
    assert db.view().count_statements(town) == 2


def test_random_updates_equal_those_of_a_bare_store(db: worlddb.Database, root_seed: int) -> None:
    rng, town, bare = random.Random(root_seed), db.create("Place", "Town").ref, pyoxigraph.Store()
    seen = []
    for _ in range(12):
        one, two, three = (f"<urn:x:{rng.choice('abc')}>" for _ in range(3))
        update = rng.choice(
            [
                f"INSERT DATA {{ {one} {two} {three} . GRAPH {three} {{ {one} {two} {one} }} }}",
                f"DELETE WHERE {{ {one} ?p ?o }}",
                f"DELETE {{ ?s ?p ?o }} INSERT {{ ?o ?p ?s }} WHERE {{ ?s ?p ?o FILTER(?s != {one}) }}",
                f"COPY {one} TO DEFAULT",
                f"DROP SILENT GRAPH {two}",
            ]
        )
        receipt = db.sparql_update(update, world=town)
        bare.update(update)
        expected = sorted((bare.dump(format=pyoxigraph.RdfFormat.N_QUADS) or b"").splitlines())
        assert sorted(db.view().write_rdf(town, "nquads").splitlines()) == expected, update
        seen.append((receipt.seq if receipt.events else db.head().seq, db.view().valid, expected))
    for seq, valid, expected in seen:
        told = db.view(seq=seq, valid=valid)
        assert sorted(told.write_rdf(town, "nquads").splitlines()) == expected
        assert len(list(told.sparql("SELECT * { ?s ?p ?o } LIMIT 100", world=town))) == sum(
            b" " in x and x.count(b"<") == 3 for x in expected
        )


_LONG = {
    "ntriples": '<urn:x:a> <urn:x:p> "tea" .\n# of tea\n<urn:x:b> <urn:x:p> "%s" .\n',
    "turtle": '@prefix x: <urn:x:> .\nx:a x:p "tea" .\nx:b x:p """%s\n""" .\n',
    "trig": '<urn:x:a> <urn:x:p> "tea" .\n\n<urn:x:g> { <urn:x:b> <urn:x:p> """%s""" }\n',
    "jsonld": '[{"@id": "urn:x:a", "urn:x:p": "tea"}, {"@id": "urn:x:b", "urn:x:p": "%s"}]',
    "rdfxml": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="urn:x:"><r:Description'
    ' r:about="urn:x:a"><x:p>tea</x:p></r:Description>\n\n<r:Description r:about="urn:x:b"><x:p>%s</x:p>'
    "</r:Description></r:RDF>",
}


class _Pipe(io.BytesIO):
    """A stream that can be read once."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError

    def seek(self, offset: int, whence: int = 0) -> int:
        raise OSError


@pytest.mark.parametrize("format", _LONG)
def test_a_text_that_is_too_long_is_refused_where_it_is_before_all_of_it_is_read(
    db: worlddb.Database, tmp_path: Path, format: str
) -> None:
    """A parser's MemoryError ended the program; of RDF/XML all was read, five times its size in memory."""
    town, head = db.create("Place", "Town").ref, db.head().seq + 1
    file = tmp_path / "long.rdf"
    file.write_text(_LONG[format] % ("x" * (24 << 20)), encoding="utf-8")
    with pytest.raises(worlddb.LimitExceeded, match="long") as refused:
        db.read_rdf(town, file, format)
    told = str(refused.value)
    assert "1,048,576 bytes" in told and "as their content" in told and len(told) < 800
    assert format == "jsonld" or "line 3" in told
    assert ("after <urn:x:a> <urn:x:p>" if format in ("jsonld", "rdfxml") else "xxx") in told
    pipe = _Pipe(file.read_bytes())
    with pytest.raises(worlddb.LimitExceeded, match="urn:x:a"):
        db.read_rdf(town, pipe, format)
    assert format == "jsonld" or len(pipe.read()) > 4 << 20
    file.write_text(_LONG[format] % ("x" * (2 << 20)), encoding="utf-8")
    with pytest.raises(worlddb.LimitExceeded, match="a term of <urn:x:b> <urn:x:p> has 2,097,15"):
        db.read_rdf(town, file, format)
    assert db.head().seq == head - 1


_XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="a:">%s</rdf:RDF>'
_NESTED = "<<( <a:a> <a:b> " * 20_000 + '"1"' + " )>>" * 20_000


def _entities(levels: int, used: str) -> str:
    """RDF/XML of a few hundred bytes, of whose entities each stands for ten of the one before."""
    bigger = "".join(f'<!ENTITY a{at + 1} "{f"&a{at};" * 10}">' for at in range(levels))
    said = _XML % f'<rdf:Description rdf:about="a:x">{f"<e:p>{used}</e:p>" * 3000}</rdf:Description>'
    return f'<!DOCTYPE r [<!ENTITY a0 "aaaaaaaaaa">{bigger}]>{said}'


_BOMBS: dict[str, tuple[str, str, set[str | None]]] = {
    "entities declared": ("rdfxml", _entities(9, ""), {"memory"}),
    "entities used": ("rdfxml", _entities(4, "&a4;"), {"bytes"}),
    "nested XML": ("rdfxml", _XML % ("<rdf:Description><e:p>" * 20_000), {"time", None}),
    "triples in Turtle": ("turtle", f"<a:a> <a:b> {_NESTED} .", {"depth"}),
    "triples in TriG": ("trig", f"<a:g> {{ <a:a> <a:b> {_NESTED} }}", {"depth"}),
    "triples in N-Triples": ("ntriples", f"<a:a> <a:b> {_NESTED} .", {"depth"}),
    "triples in N-Quads": ("nquads", f"<a:a> <a:b> {_NESTED} <a:g> .", {"depth"}),
    "a few too many triples": ("turtle", "<a:a> <a:b> " + "<<( <a:a> <a:b> " * 9 + "1" + " )>>" * 9 + " .", {None}),
    "a long prefix": ("turtle", f"@prefix e: <a:{'x' * 900_000}> .\n" + "e:a e:b e:c .\n" * 50, {"bytes"}),
    "nested JSON-LD": ("jsonld", '{"@id":"a:b","a:p":' + '{"a:p":' * 4000 + "1" + "}" * 4001, {"memory"}),
    "contexts": (
        "jsonld",
        '{"@context":{' + ",".join(f'"a{n}":"a{n - 1}:b"' for n in range(1, 20_000)) + '},"@id":"a:b","a19999:p":1}',
        {"depth"},
    ),
}
_TRY_BOMB = """
import io, json, resource, sys, worlddb
from worlddb.query.sparql import rdf_formats, sparql_workers
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sparql_workers.SECONDS_PER_MIB = 0.0
rdf_formats._LIMITS = rdf_formats._LIMITS._replace(seconds=float(sys.argv[3]))
with worlddb.open(sys.argv[1], create=True, embedder=None) as db:
    world = db.create("Place", "Town").ref
    head = db.head()
    told = None, None, "It was read."
    try:
        db.read_rdf(world, io.BytesIO(sys.stdin.buffer.read()), sys.argv[2])
    except worlddb.InputError as error:
        told = [type(error).__name__, error.details.get("limit"), str(error)]
    assert told[0] is None or db.head() == head
    rdf_formats._LIMITS = sparql_workers.Limits()
    db.read_rdf(world, b"<urn:a> <urn:b> 1 .", "turtle")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most
print(json.dumps([*told, grown // 1024]))
"""


@pytest.mark.parametrize("bomb", _BOMBS)
def test_a_text_that_stands_for_more_than_any_may_ends_no_process_but_its_own(tmp_path: Path, bomb: str) -> None:
    """700 bytes took 10 GB in the process of the server, and 400 kB ended it by a signal."""
    format, text, limits = _BOMBS[bomb]
    asked = [sys.executable, "-c", _TRY_BOMB, str(tmp_path / "store"), format, "0.2" if "time" in limits else "60"]
    done = subprocess.run(asked, input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-400:]
    kind, limit, told, grown = json.loads(done.stdout)
    assert limit in limits and (kind == "QueryLimit" or None in limits), told
    assert limit is None or (told.startswith("The text, from line ") and "Nest it less" in told and len(told) < 800)
    assert grown < 300


def test_the_time_that_the_reader_of_rows_takes_is_not_that_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdf_formats, "_LIMITS", rdf_formats._LIMITS._replace(seconds=1.0))
    text = b"<urn:a> <urn:b> 1 .\n" * 50_000
    rows = rdf_formats.read_rows(io.BytesIO(text), None, "turtle")
    first = next(rows)
    sleep(2)
    assert sum(1 for _ in rows) == 49_999 and first[0] == "<urn:a>"


def test_entities_that_stand_for_namespaces_are_read(db: worlddb.Database) -> None:
    town = db.create("Place", "Town").ref
    declared = '<!ENTITY xsd "http://www.w3.org/2001/XMLSchema#"><!ENTITY whole "&xsd;integer">'
    said = '<rdf:Description rdf:about="a:x"><e:p rdf:datatype="&whole;">1</e:p></rdf:Description>'
    db.read_rdf(town, f"<!DOCTYPE r [{declared}]>{_XML % said}".encode(), "rdfxml")
    assert [each.object for each in db.view().statements(town)] == [
        Literal("1", "http://www.w3.org/2001/XMLSchema#integer")
    ]


@pytest.mark.parametrize("seed", range(12))
def test_any_nesting_is_read_or_refused(db: worlddb.Database, seed: int) -> None:
    rng, town = random.Random(seed), db.create("Place", "Town").ref
    pairs = {
        "turtle": ["[ <a:b> | ]", "( | )", "<<( <a:a> <a:b> | )>>", "<a:c> {| <a:b> | |}", "<< <a:a> <a:b> | >>"],
        "rdfxml": ["<e:p><rdf:Description>|</rdf:Description></e:p>", '<e:p rdf:parseType="Resource">|</e:p>'],
        "jsonld": ['{"a:p":|}', "[|]", '{"@list":[|]}', '{"@graph":|}', '{"@context":{"x":"a:x"},"x":|}'],
    }
    format = rng.choice(sorted(pairs))
    used = rng.choices([each.split("|", 1) for each in pairs[format]], k=rng.choice((3, 30, 300)))
    inner = {"turtle": "1", "rdfxml": "", "jsonld": "1"}[format]
    nested = "".join(begin for begin, _ in used) + inner + "".join(end for _, end in reversed(used))
    whole = {
        "turtle": f"<a:a> <a:b> {nested} .",
        "rdfxml": _XML % f"<rdf:Description>{nested}</rdf:Description>",
        "jsonld": f'{{"@id":"a:a","a:p":{nested}}}',
    }[format]
    cut = whole.encode()[: rng.choice((len(whole), rng.randrange(len(whole))))]
    with suppress(worlddb.InputError):
        db.read_rdf(town, cut, format)
    assert db.read_rdf(town, b"<urn:a> <urn:b> 1 .", "turtle").events == 1


def test_reifiers_say_of_each_statement_when_it_holds_who_stated_it_and_how_sure(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "reified", create=True, embedder=None, author="ann") as db:
        world = db.create("Place", "Bar").ref
        said: list[Any] = [("<urn:a>", "<urn:p>", '"t\\"ea"@en'), ("_:x", "<urn:p>", "<urn:o>", "<urn:g>")]
        window = {"valid_from": "2024-01-01", "valid_to": "2025-01-01"}
        db.state(world, said, source={"file": "menu", "confidence": 0.7}, **window)
        db.state(world, [("<urn:a>", "<urn:q>", "<<( <urn:a> <urn:p> <urn:o> )>>")], valid_from="2024-01-01")
        view = db.view(valid="2024-06-01")
        plain, whole = (set(view.write_rdf(world, "nquads", reifiers=each).splitlines()) for each in (False, True))
        assert plain < whole and len(view.statements(world)) == 3
        there = db.create("Place", "Copy").ref
        db.read_rdf(there, view.write_rdf(world, "trig", reifiers=True), "trig")
        asked = """SELECT ?s ?sure ?to ?who ?from {
            ?r rdf:reifies <<( ?s <urn:p> ?o )>> ; wdb:confidence ?sure ; wdb:validTo ?to ; wdb:author ?who ;
               wdb:source ?from } ORDER BY ?who"""
        rows = [*db.view().sparql(asked, world=there)]
        assert [str(row["s"]) for row in rows] == ["<urn:a>"]
        assert rows[0]["sure"].value == "0.7" and rows[0]["to"].value == "2025-01-01T00:00:00Z"
        assert (rows[0]["who"].value, rows[0]["from"].value) == ("ann", '{"confidence":0.7,"file":"menu"}')
        with pytest.raises(worlddb.InputError, match="cannot write"):
            view.write_rdf(world, "jsonld", reifiers=True)


@pytest.mark.parametrize("format", ["turtle", "trig", "ntriples", "nquads", "jsonld", "rdfxml"])
def test_a_character_that_a_format_has_not_is_refused_and_comes_back_from_all_others(
    tmp_path: Path, format: str
) -> None:
    """RDF/XML was written with a NUL in it, which no other reader of XML takes."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        one, other = db.create("Note", "one").ref, db.create("Note", "other").ref
        db.state(one, [("<urn:a>", "<urn:b>", '"a\\u0000b\\u0001"')])
        if format == "rdfxml":
            with pytest.raises(worlddb.InputError, match=r"a text of <urn:a> has U\+0000, which XML does not allow"):
                db.view().write_rdf(one, format)
            for query in ("SELECT ?o { ?s ?p ?o }", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"):
                assert b"u0000" in db.view().sparql(query, world=one).body
                with pytest.raises(worlddb.InputError, match=r"has U\+0000, which XML does not allow"):
                    db.view().sparql(query, world=one, format="xml")
            return
        db.read_rdf(other, io.BytesIO(db.view().write_rdf(one, format)), format)
        assert [each.object for each in db.view().statements(other)] == [Literal("a\0b\x01")]


def test_a_carriage_return_comes_back_from_any_reader_of_xml(tmp_path: Path) -> None:
    """It was written as it is, of which XML makes a line feed."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        one = db.create("Note", "one").ref
        db.state(one, [("<urn:a>", "<urn:b/c>", '"a\\r\\nb\\rc"')])
        answers = [db.view().write_rdf(one, "rdfxml")]
        for query in ("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", "SELECT ?o { ?s ?p ?o }"):
            answers.append(db.view().sparql(query, world=one, format="xml").body)
        for answer in answers:
            assert "a\r\nb\rc" in ElementTree.fromstring(answer).itertext()
