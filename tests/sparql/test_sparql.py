"""SPARQL over the memory: forms, formats, moments, confinement, and the limits that end a query."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time

import pytest

import worlddb
from worlddb.log.statements.terms import Literal, Triple
from worlddb.query.sparql import sparql_workers
from worlddb.query.sparql.sparql_tokens import read_sparql, unknown_names
from worlddb.query.sparql.sparql_workers import workers

NAMES = "SELECT ?name FROM wdb:memory { ?world wdb:name ?name } ORDER BY ?name"
ENDLESS = "SELECT (COUNT(*) AS ?n) FROM wdb:memory { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o . ?p ?q ?r }"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store") as db:
        town = db.create("Topic", "New York")
        for name in ("Luigi", "Mario"):
            place = db.create("Restaurant", name, content="a cozy place", world=town, valid_from="2020-01-01")
            db.link(place, "refers_to", town)
        db.create("Secret", "Elsewhere", content="nothing to see")
        yield db


def names(view: worlddb.View, query: str = NAMES) -> list[str]:
    return [str(row["name"].value) for row in view.sparql(query)]


def test_every_world_and_edge_is_there(db: worlddb.Database) -> None:
    assert names(db.view()) == ["Elsewhere", "Luigi", "Mario", "New York"]
    path = "ASK { GRAPH wdb:memory { ?a <https://worlddb.dev/ns#edge/refers_to>+ ?b . ?b wdb:name 'New York' } }"
    assert db.view().sparql(path)
    assert not db.view().sparql("ASK FROM wdb:memory { ?a wdb:name 'Paris' }")


def test_a_query_that_names_no_graph_is_not_asked_of_the_memory(db: worlddb.Database) -> None:
    assert list(db.view().sparql("SELECT * { ?a wdb:name ?b }")) == []


def test_each_form_has_its_values_and_its_formats(db: worlddb.Database) -> None:
    view = db.view()
    built = view.sparql("CONSTRUCT { ?a <urn:is> ?n } { GRAPH wdb:memory { ?a wdb:name ?n } FILTER(?n = 'Luigi') }")
    (triple,) = built
    assert isinstance(triple, Triple) and triple.object == Literal("Luigi")
    assert json.loads(view.sparql(NAMES, format="json").body)["head"] == {"vars": ["name"]}
    assert view.sparql(NAMES, format="csv").body.startswith(b"name\r\nElsewhere\r\n")
    assert b"<sparql" in view.sparql(NAMES, format="application/sparql-results+xml").body
    described = view.sparql("DESCRIBE ?a FROM wdb:memory { ?a wdb:name 'Luigi' }", format="turtle")
    assert described.media_type == "text/turtle" and b"cozy place" in described.body


def test_a_query_in_the_past_sees_what_was_known_and_true(db: worlddb.Database) -> None:
    before = db.head().seq
    db.create("Restaurant", "Nino", valid_from="2021-01-01")
    assert "Nino" in names(db.view())
    assert "Nino" not in names(db.view(seq=before))
    assert names(db.view(valid="2020-06-01")) == ["Luigi", "Mario"]


def test_a_confined_view_learns_nothing_of_what_is_outside(db: worlddb.Database) -> None:
    inside = db.view(world="New York")
    assert names(inside) == ["Luigi", "Mario", "New York"]
    everything = "SELECT ?c { { GRAPH ?g { ?a ?b ?c } } UNION { ?a ?b ?c } UNION { GRAPH wdb:memory { ?a ?b ?c } } }"
    assert b"Elsewhere" not in inside.sparql(everything).body
    # What a wider view has hydrated is not asked.
    assert b"Elsewhere" in db.view().sparql(everything).body
    assert b"Elsewhere" not in inside.sparql(everything).body


def test_an_erased_text_leaves_the_workers(db: worlddb.Database) -> None:
    view = db.view()
    assert b"Luigi" in view.sparql(NAMES).body
    held = workers().processes
    db.erase(view.reference_of("Luigi"), reason="asked for")
    assert not set(held) & set(workers().processes)
    assert b"Luigi" not in view.sparql(NAMES).body


@pytest.mark.parametrize(
    ("query", "allowed", "limit"),
    [
        (ENDLESS, {"timeout_seconds": 0.2}, "time"),
        (ENDLESS.replace("(COUNT(*) AS ?n)", "*") + " ORDER BY ?a", {"max_memory_bytes": 300 << 20}, "memory"),
        (ENDLESS.replace("(COUNT(*) AS ?n)", "*"), {"max_rows": 10}, "rows"),
        (ENDLESS.replace("(COUNT(*) AS ?n)", "*"), {"max_bytes": 10_000}, "bytes"),
        (f"SELECT * {'{' * 50_000}{'}' * 50_000}", {}, "depth"),
    ],
)
def test_a_query_is_ended_at_its_limit_and_the_next_is_answered(
    db: worlddb.Database, query: str, allowed: dict[str, float], limit: str
) -> None:
    with pytest.raises(worlddb.QueryLimit) as caught:
        db.view().sparql(query, **allowed)  # type: ignore[arg-type]
    assert caught.value.details["limit"] == limit
    assert len(names(db.view())) == 4


def nested_triples(depth: int) -> str:
    return "<<(<urn:a> <urn:b> " * depth + "<urn:c>" + ")>>" * depth


@pytest.mark.parametrize("depth", [9, 1_000, 3_000, 20_000])
@pytest.mark.parametrize(
    "text", ["SELECT * { ?s ?p %s }", "INSERT DATA { <urn:s> <urn:p> %s }", "DELETE WHERE { ?s ?p %s }"]
)
def test_triples_nested_deeper_than_any_that_is_stored_are_refused_at_once(
    db: worlddb.Database, text: str, depth: int
) -> None:
    """An update took seconds for some thousands of them, and then told of Python's recursion depth."""
    ask = (
        db.view().sparql if text.startswith("SELECT") else partial(db.sparql_update, world=db.create("Topic", "nested"))
    )
    ask(text % ("'<<(<<(', " + ", ".join([nested_triples(8)] * 3)) + " # <<(<<(")
    with pytest.raises(worlddb.LimitExceeded, match="nested too deep at line 1, column") as caught:
        ask(text % nested_triples(depth))
    assert "at most 8" in caught.value.remedy


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
@pytest.mark.usefixtures("names_of_any_kind")
def test_rows_are_counted_exactly(db: worlddb.Database, format: str) -> None:
    db.create("Trap", 'a},{b\r\n<result>"},{"\n\tc')
    assert db.view().sparql(NAMES, format=format, max_rows=5).body
    with pytest.raises(worlddb.QueryLimit):
        db.view().sparql(NAMES, format=format, max_rows=4)


def test_a_wrong_query_is_an_error_with_its_place(db: worlddb.Database) -> None:
    with pytest.raises(worlddb.InvalidSparql) as caught:
        db.view().sparql("SELECT *\n { ?a ?b }")
    assert (caught.value.details["line"], caught.value.details["column"]) == (2, 11)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://127.0.0.1:{port}/> { ?a ?b ?c } }",
        "SELECT * { { SELECT * { service SILENT <http://127.0.0.1:{port}/> { ?a ?b ?c } } } }",
        "SELECT * { FILTER EXISTS { SERVICE ?x { ?a ?b ?c } } BIND (<http://127.0.0.1:{port}/> AS ?x) }",
        "SELECT * { FILTER(1<2)SERVICE<http://127.0.0.1:{port}/>{ ?a ?b ?c } }",
    ],
)
def test_no_other_server_is_asked(db: worlddb.Database, query: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        with pytest.raises(worlddb.InvalidSparql, match="not allowed here"):
            db.view().sparql(query.replace("{port}", str(server.getsockname()[1])))
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_worker_can_open_no_socket(db: worlddb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a SERVICE to pass unseen, the kernel would still refuse it."""
    monkeypatch.setattr("worlddb.query.sparql.sparql_tokens._CLOSED", {})
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        with pytest.raises(worlddb.InputError):
            db.view().sparql(f"SELECT * {{ SERVICE <http://127.0.0.1:{server.getsockname()[1]}/> {{ ?a ?b ?c }} }}")
        with pytest.raises(TimeoutError):
            server.accept()


def test_the_words_of_what_is_closed_are_free_in_texts_names_and_comments(db: worlddb.Database) -> None:
    query = """PREFIX load: <urn:service:> # SERVICE <http://a/>
        SELECT ?service FROM wdb:memory { ?service wdb:name 'LOAD',
            "SERVICE", '''it's a SERVICE''' ; load:service ?x }"""
    assert list(db.view().sparql(query)) == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
def test_a_worker_ends_with_its_parent_even_in_the_middle_of_a_query(tmp_path: Path) -> None:
    program = (
        "import sys, threading, worlddb\n"
        "from worlddb.query.sparql.sparql_workers import workers\n"
        "db = worlddb.open(sys.argv[1])\n"
        "[db.create('Note', f'n{i}') for i in range(40)]\n"
        "view = db.view(); view.sparql('ASK {}')\n"
        "print(workers().processes[0], flush=True)\n"
        f"view.sparql({ENDLESS!r}, timeout_seconds=60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "store")], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent, parent.stdout as out:
        worker = int(out.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        # It is nobody's child then, or is waited for by the process that takes orphans.
        ended = os.path.exists(f"/proc/{worker}")
        for _ in range(2_000_000):
            ended = not os.path.exists(f"/proc/{worker}") or " Z " in _stat(worker)
            if ended:
                break
        assert ended


@pytest.fixture
def no_worker() -> Iterator[None]:
    """The next query begins a worker, and none of this test's is left to another."""
    workers().end()
    yield
    workers().end()


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE])
def test_a_worker_that_the_machine_has_no_room_for_is_no_fault_of_the_query(
    db: worlddb.Database, no_worker: None, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It was an error without a code, which the server answers with 500."""

    def refused(*args: object, **how: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refused)
        for _ in range(4):  # More than there are workers: none of these is counted as one.
            with pytest.raises(worlddb.UnavailableError, match=f"could not start: {os.strerror(number)}") as caught:
                db.view().sparql("ASK {}")
            assert "one more process" in caught.value.remedy
    assert not db.view().sparql("ASK { ?a ?b ?c }")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("raise MemoryError", "it ended with code 1, MemoryError"),
        ("import sys; sys.exit(127)", r"it ended with code 127\. Check"),
        ("raise ImportError('/lib/ox.so: failed to map segment')", r"it ended with code 1, ImportError\. Check"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", r"it ended with code -9\. Check"),
        ("print('no frame', flush=True)", "could not start"),
        ("import time; time.sleep(60)", "it did not start within 0.2 s"),
    ],
)
def test_a_worker_that_ends_before_it_is_there_is_not_a_query_that_needs_too_much(
    db: worlddb.Database, no_worker: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, why: str
) -> None:
    """It was reported as a query that "needs more than 2,048 MiB of memory"."""
    (tmp_path / "worker.py").write_text(program, "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sparql_workers, "_PROGRAM", tmp_path / "worker.py")
        if "sleep" in program:
            patch.setattr(sparql_workers, "START_SECONDS", 0.2)
        with pytest.raises(worlddb.UnavailableError, match=why) as caught:
            db.view().sparql(NAMES)
    assert caught.value.remedy and workers().processes == []
    assert names(db.view())[0] == "Elsewhere"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_a_limit_below_what_a_worker_takes_is_said_to_be_that(db: worlddb.Database, no_worker: None) -> None:
    with pytest.raises(worlddb.QueryLimit, match=r"A worker takes \d+ MiB of memory .* 1 MiB are allowed") as caught:
        db.view().sparql("ASK {}", max_memory_bytes=1024**2)
    assert caught.value.details["limit"] == "memory" and "max_memory_bytes" in caught.value.remedy
    before = workers().processes
    assert names(db.view())[0] == "Elsewhere"
    assert workers().processes == before  # The worker had nothing to do with it, and goes on.


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the kernel limits no address space")
def test_the_limit_of_the_machine_is_named_where_it_is_the_smaller_one(
    db: worlddb.Database, no_worker: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As under ``ulimit -v``: the worker says which limit it was begun with."""
    begun = sparql_workers._PROGRAM
    limit = "import resource as r\nr.setrlimit(r.RLIMIT_AS, (700 * 2**20, 700 * 2**20))\n"
    # Its own imports come behind the limit, as they would in a shell that has it.
    (tmp_path / "worker.py").write_text(limit + begun.read_text("utf-8"), "utf-8")
    values = " ".join(f"<urn:{number}>" for number in range(60))
    wide = " ".join(f"VALUES ?v{number} {{ {values} }}" for number in range(5))
    with monkeypatch.context() as patch:
        patch.setattr(sparql_workers, "_PROGRAM", tmp_path / "worker.py")
        with pytest.raises(worlddb.QueryLimit, match="needs more than 700 MiB"):
            db.view().sparql(f"SELECT DISTINCT * {{ {wide} }} ORDER BY ?v0", timeout_seconds=60, max_bytes=2**39)


def test_a_worker_that_is_killed_is_not_a_query_that_took_too_long(db: worlddb.Database, no_worker: None) -> None:
    """The kernel kills what takes the last memory; it was reported as "ended after 60 s"."""
    db.view().sparql("ASK {}")
    (worker,) = workers().processes
    threading.Timer(0.3, os.kill, (worker, signal.SIGKILL)).start()
    with pytest.raises(worlddb.UnavailableError, match="killed from outside"):
        db.view().sparql(ENDLESS, timeout_seconds=60)
    assert names(db.view())[0] == "Elsewhere"


def _stat(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8")
    except OSError:
        return " Z "


@pytest.mark.parametrize("part", ["\\'", "a.", "\\", "<a", '"""\n\\', "'''\n\\"])
def test_what_never_ends_is_read_in_time_in_proportion(part: str) -> None:
    began = process_time()
    read_sparql("'" * (part != "a.") + part * 50_000)
    assert process_time() - began < 3  # It was minutes where each quote was looked for to the end.


def test_texts_in_three_quotes_end_where_they_do_and_what_follows_is_read() -> None:
    found = read_sparql('SELECT * { ?s ?p """a "" \\""" b""" , \'\'\'SERVICE\'\'\' . ?s ?q """open\n\\""" }')
    assert [token.text for token in found.tokens if token.kind == "text"] == [
        '"""a "" \\""" b"""',
        "'''SERVICE'''",
        '""',
        '""',
    ]
    with pytest.raises(worlddb.InvalidSparql, match="SERVICE at line 2"):
        read_sparql('SELECT * { ?s ?p """\nSERVICE <http://a.example/> {}')


def test_a_query_of_too_many_tokens_is_refused_with_the_place() -> None:
    with pytest.raises(worlddb.LimitExceeded, match="500,000 tokens: the limit is reached at line 2, column 300001"):
        read_sparql("?" * 200_000 + "\n" + "?" * 400_000)


def test_names_that_are_none_are_compared_until_enough_are_told() -> None:
    began = process_time()
    told = unknown_names(read_sparql(" ".join(f"wdb:typ{number}" for number in range(50_000))))
    assert told.count("did you mean wdb:type?") == 8
    assert process_time() - began < 3  # It was minutes where all of them were.
