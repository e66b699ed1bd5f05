"""Tests laws that hold whatever the commands were; a model tests those of meaning."""

from __future__ import annotations

import ast
import shutil
import socket
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import worlddb
from tests.support.faults import forge
from tests.support.faults.answers import answers
from tests.support.faults.children import Acknowledged, call
from tests.support.faults.growth import DAY, Growth
from tests.support.faults.jobs import read_under_audit
from tests.support.faults.remote import Remote
from tests.support.tidy.tree import Source, parsed_sources

COMMANDS, MORE_AT_MOST = 340, 6
QUERIES = ("team office", "engineering lead in Bern", "lamp")
EVENTS = {"created", "revised", "closed", "ended", "named", "unnamed", "linked", "unlinked", "edge_closed"}
PRODUCT = ("log", "projections", "reconciler", "query", "worlddb", "tools")


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A closed store with a few hundred random commands in it, and with some more of a seed that is late with one."""
    from tests.conftest import ROOT_SEED

    store = tmp_path_factory.mktemp("grown") / "store"
    clock, seed = worlddb.ManualClock(), request.config.stash[ROOT_SEED]
    with worlddb.open(store, author="grower", clock=clock, entropy=worlddb.SeededEntropy(seed)) as db:
        growth = Growth(db, clock, seed)
        growth.grow(COMMANDS)
        wanted = EVENTS | {"proposed", "decided"}
        for _ in range(MORE_AT_MOST):
            if {entry.event for entry in db.log()} >= wanted:
                break
            growth.grow(COMMANDS // 2)
        assert {entry.event for entry in db.log()} >= wanted
        assert len(growth.done) >= 10 and growth.done.total() > COMMANDS // 2, growth.done
        assert db.verify(deep=True).ok
    return store


def moments(store: Path, count: int) -> list[tuple[int, int]]:
    """Pairs of a commit and a valid time, over the whole history on both axes."""
    with worlddb.open(store, author="x") as db:
        head = db.head()
        first = db.view(seq=1).ingested
    seqs = [1 + (head.seq - 1) * step // (count - 1) for step in range(count)]
    span = head.ingested_at - first + 60 * DAY
    return [(seq, first - 30 * DAY + span * (step * 7 % count) // count) for step, seq in enumerate(seqs)]


# -- law 1: no raw append


def sources() -> tuple[Source, ...]:
    return tuple(source for source in parsed_sources() if source.folder in PRODUCT)


def appends(tree: ast.AST) -> list[int]:
    """Lines that call a log's append: with three arguments, or on something called a log."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            called = {part.id for part in ast.walk(node.func.value) if isinstance(part, ast.Name)}
            called |= {part.attr for part in ast.walk(node.func.value) if isinstance(part, ast.Attribute)}
            if called & {"log", "_log", "LmdbLog", "Log"} or len(node.args) + len(node.keywords) >= 3:
                found.append(node.lineno)
    return found


@pytest.mark.sources
def test_only_the_reconciler_appends_to_the_log() -> None:
    callers = {source.path for source in sources() if appends(source.tree)}
    assert callers == {"reconciler/pipeline.py", "reconciler/backup/commit_copier.py"}
    assert appends(ast.parse("LmdbLog(txn).append(record)")) == appends(ast.parse("x.append(a, 1, h)")) == [1]
    assert appends(ast.parse("rows.append(row)")) == []


def test_what_a_caller_can_reach_has_no_way_to_write_but_commands(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="x") as db:
        public = {name for name in dir(db) if not name.startswith("_")}
        writing = {name for name in dir(worlddb.Batch) if not name.startswith("_")}
        keeping = {"backup", "catch_up", "rebuild", "replay", "snapshot", "verify", "close", "finish_erasures"}
        keeping |= {"erasure_plan", "literal_erasure_plan", "erasure_receipt", "check_erasure", "redecide"}
        reading = {"author", "path", "bookmarks", "follow", "full_ref", "head", "log", "proposals", "stats", "view"}
        reading |= {"steps", "reading", "checkpoint", "prove", "prove_consistency", "near", "refs_of_user"}
        reading |= {"stamp", "now", "one_state", "last_written"}
        reading |= {"export", "export_jsonl", "export_lines", "check_world", "import_plan"}
        writing |= {"import_bundle", "embed", "reembed", "keep_up", "forget_user"}
        reading |= {"spaces", "background", "check_recall", "prove_recall", "was_written"}
        # Each of these comes to commands: of items, of a withdrawal, and of receipts that are kept.
        writing |= {"create_at", "rename", "attach", "detach", "prefer", "withdraw", "keep_receipt", "write_receipts"}
        others = {"batch", "as_author", "ingest", "load", "embed", "recluster", "background_error", "at_close"}
        # Sums up and links by commands, as reclustering does; buffers of messages lie beside the log.
        others |= {"consolidate", "dream", "enrich", "fork", "merge", "working", "accessed", "write_accesses"}
        others |= {"forget_buffers"}
        others |= {"refreshed", "write_refreshes"}
        others |= {"ingest_memory", "extract", "discover_edges"}
        # Statements and files of RDF come to commands; accounts lie beside the log, as buffers do.
        writing |= {"state", "unstate", "change_statements", "sparql_update", "read_rdf"}
        others |= {"accounts"}
        assert public <= writing | keeping | reading | others


# -- law 2: projections = replay(log)


@pytest.mark.parametrize("how", ["rebuild", "delete", "replay"])
def test_every_answer_is_the_same_when_every_projection_was_derived_again(
    how: str, grown: Path, tmp_path: Path
) -> None:
    store = forge.copy_store(grown, tmp_path / "store")
    places = moments(store, 2)
    expected = all_answers(store, places)
    if how == "delete":
        assert forge.delete(store, lambda key: key[0] >= forge.FIRST_TABLE)
        shutil.rmtree(store / "indexes", ignore_errors=True)
    else:
        with worlddb.open(store, author="x") as db:
            if how == "rebuild":
                assert set(db.rebuild().rebuilt) == {"tables", "text", "vectors"}
            else:
                db.replay(tmp_path / "replayed")
    assert all_answers(tmp_path / "replayed" if how == "replay" else store, places) == expected


def all_answers(store: Path, places: list[tuple[int, int]]) -> list[object]:
    with worlddb.open(store, author="x") as db:
        assert db.verify(deep=True).ok
        return [answers(db.view(seq=seq, valid=valid), queries=QUERIES) for seq, valid in places]


# -- law 4: acknowledged means durable


def test_every_commit_is_synced_before_it_is_acknowledged(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="x") as db:
        flags = db._env._shared.env.flags()
        assert (flags["sync"], flags["metasync"], flags["map_async"], flags["writemap"]) == (True, True, False, False)


# -- law 9: as of


@pytest.mark.parametrize("count", [2, pytest.param(33, marks=pytest.mark.soak)])
def test_a_view_as_of_a_commit_equals_the_same_view_of_a_store_replayed_to_it(
    grown: Path, tmp_path: Path, count: int
) -> None:
    seen = set()
    with worlddb.open(grown, author="x") as db:
        for seq, valid in moments(grown, count):
            replayed = db.replay(tmp_path / str(seq), seq=seq)
            assert replayed.matches_recorded
            with worlddb.open(tmp_path / str(seq), author="x") as past:
                for at in (valid, valid + 25 * DAY, past.head().ingested_at):
                    now = answers(db.view(seq=seq, valid=at), queries=QUERIES)
                    assert now == answers(past.view(valid=at), queries=QUERIES), f"as of {seq}, valid {at}"
                    seen.add(repr(now["worlds"]))
            by_time = db.view(ingested=db.view(seq=seq).ingested, valid=valid)
            assert by_time.seq == seq
            shutil.rmtree(tmp_path / str(seq))
    assert len(seen) > 1.7 * count


def test_a_view_as_of_a_time_between_two_commits_is_that_of_the_earlier_one(grown: Path) -> None:
    with worlddb.open(grown, author="x") as db:
        head = db.head().seq
        for seq in range(2, head, head // 2):
            earlier, later = db.view(seq=seq), db.view(seq=seq + 1)
            between = db.view(ingested=later.ingested - 1, valid=earlier.valid)
            assert between.seq == seq
            assert answers(between, queries=()) == answers(db.view(seq=seq, valid=earlier.valid), queries=())


# -- law 10: idempotent


def test_a_retry_under_its_key_has_one_effect_and_the_same_receipt_also_from_another_process(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="x") as db, Remote(store) as there:
        first = db.create("Fact", "once", content="a text", idempotency_key="k")
        seq = db.create("Fact", "between").seq
        assert db.create("Fact", "once", content="a text", idempotency_key="k") == first
        assert there.ask("create", "once", "a text", "k") == first
        others: tuple[dict[str, Any], ...] = (
            {"content": "another"},
            {"content": "a text", "why": "because"},
            {"valid_from": "2025-01-01"},
        )
        for different in others:
            with pytest.raises(worlddb.IdempotencyConflict):
                db.create("Fact", "once", idempotency_key="k", **different)
        with pytest.raises(worlddb.IdempotencyConflict):
            db.revise(first, content="a text", idempotency_key="k")
        assert db.head().seq == seq
        assert [world.name for world in db.view().children()] == ["once", "between"]


def test_a_refusal_under_a_key_writes_nothing_and_is_judged_afresh(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="x") as db:
        outer, inner = db.create("Topic", "outer"), db.create("Topic", "inner")
        held = db.link(outer, "contains", inner)
        refused = db.link(inner, "contains", outer, idempotency_key="k")
        assert isinstance(refused.outcome, worlddb.Refused)
        assert db.head().seq == held.seq
        assert isinstance(db.link(inner, "contains", outer, idempotency_key="k").outcome, worlddb.Refused)
        db.unlink(held)
        accepted = db.link(inner, "contains", outer, idempotency_key="k")
        assert accepted
        assert db.link(inner, "contains", outer, idempotency_key="k") == accepted


# -- law 11: deterministic reads


def test_the_same_view_gives_the_same_answer_twice_and_in_two_processes(grown: Path, tmp_path: Path) -> None:
    store = forge.copy_store(grown, tmp_path / "store")
    with worlddb.open(store, author="x") as db, Remote(store) as there:
        assert db.catch_up()
        for seq, valid in moments(store, 2):
            view = db.view(seq=seq, valid=valid)
            expected = answers(view, queries=QUERIES)
            assert answers(view, queries=QUERIES) == expected
            assert there.ask("answers", seq, valid, QUERIES) == expected
            for text in QUERIES:
                hits = list(view.recall(text, k=50).hits)
                assert list(view.recall(text, k=50).hits) == hits == there.ask("hits", seq, valid, text)


# -- law 12: no model and no network on the read path


CLOSED_ELSEWHERE: Final = {
    "query/sparql/sparql_workers.py": {"subprocess"},
    "query/sparql/rdf_formats.py": {"pyoxigraph"},
    "query/sparql/sparql_worker.py": {"pyoxigraph"},
}
"""SPARQL is evaluated by a library, in processes that can be ended, where SERVICE and LOAD are closed."""


@pytest.mark.sources
def test_the_query_room_imports_nothing_that_could_be_a_model_or_a_network() -> None:
    allowed = sys.stdlib_module_names - {
        "socket",
        "ssl",
        "http",
        "urllib",
        "asyncio",
        "subprocess",
        "ftplib",
        "smtplib",
    }
    for source in sources():
        if source.folder != "query":
            continue
        for node in ast.walk(source.tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                root = name.partition(".")[0]
                if name == "urllib.parse":
                    continue  # It takes addresses apart, and opens none.
                closed = CLOSED_ELSEWHERE.get(source.path, set())
                assert root in allowed | {"msgspec", "worlddb"} | closed, f"{source.path}: {name}"


def test_reads_create_no_socket_and_start_no_process(grown: Path, tmp_path: Path) -> None:
    events = Acknowledged(tmp_path / "events")
    assert call(read_under_audit, forge.copy_store(grown, tmp_path / "store"), events.file) == 0
    lines = events.lines()
    assert lines[0] == "canary socket.__new__"
    assert lines[1:] == ["done"]


def test_reads_work_where_no_socket_can_be_made(grown: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with worlddb.open(grown, author="x") as db:

        def forbidden(*arguments: object, **keywords: object) -> None:
            raise AssertionError("a socket was asked for")

        for name in ("socket", "create_connection", "getaddrinfo"):
            monkeypatch.setattr(socket, name, forbidden)
        found = answers(db.view(), queries=QUERIES)
        assert found["worlds"]
        assert any(db.view().recall(text).hits for text in QUERIES)
