"""Statements at the command line: files of RDF go in and come out, and an update changes the present."""

import io
import sys
from pathlib import Path

import pytest

from tests.support.running import LocalRunner

pytest.importorskip("pyoxigraph")

CAKE = "<https://a.example/luna> <https://a.example/serves> 'cake' ."


def test_a_file_goes_in_and_comes_out_as_of_any_moment(writing: LocalRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    writing("create", "Topic", "cafes")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CAKE.encode())))
    assert writing("state", "cafes", "-").code == 2, "nothing says the format"
    assert writing("state", "cafes", "-", "--format", "turtle", "--valid-from", "2026-01-01").code == 0
    update = """DELETE { ?c ?p 'cake' } INSERT { ?c ?p 'tea'@en } WHERE { ?c ?p 'cake' }"""
    assert writing("sparql", "--update", update).code == 2, "an update needs a world"
    assert writing.json("sparql", "--world", "cafes", "--update", update)["outcome"] == "committed"
    told = writing.json("statements", "cafes")
    assert [(each["object"], each["graph"]) for each in told["statements"]] == [('"tea"@en', None)]
    assert writing.json("statements", "--valid", "2026-02-01")["statements"][0]["object"] == '"cake"'
    assert writing.json("statements", "--limit", "1")["more"] is False
    then = writing("statements", "cafes", "--format", "ntriples", "--valid", "2026-02-01").out
    assert then == '<https://a.example/luna> <https://a.example/serves> "cake" .\n'
    assert writing("statements", "--format", "turtle").code == 2, "of which world?"
    assert writing("unstate", "cafes").code == 2
    assert writing("unstate", "cafes", "--object", '"tea"@en', "--at", "2090-01-01").code == 0
    assert "tea" in writing("statements", "cafes").out
    assert writing("unstate", "cafes", "--all").code == 0
    assert "no statements" in writing("statements", "cafes").out
    assert "there was nothing to change" in writing("unstate", "cafes", "--all").out


def test_a_wrong_line_is_named_and_writes_nothing(writing: LocalRunner) -> None:
    writing("create", "Topic", "cafes")
    before = writing.json("head")
    (writing.store.parent / "wrong.ttl").write_text(f"{CAKE}\n<https://a.example/luna> serves 'tea' .\n")
    wrong = writing("state", "cafes", str(writing.store.parent / "wrong.ttl"))
    assert wrong.code != 0 and "wrong.ttl, line 2" in wrong.err
    assert writing.json("head") == before


def test_a_file_that_is_nested_too_deep_is_refused_by_its_name(writing: LocalRunner, tmp_path: Path) -> None:
    writing("create", "Topic", "cafes")
    nested = "<<( <a:a> <a:b> " * 20_000 + "1" + " )>>" * 20_000
    (tmp_path / "deep.ttl").write_text(f"{CAKE}\n<a:a> <a:b> {nested} .")
    deep = writing("state", "cafes", str(tmp_path / "deep.ttl"))
    assert deep.code == 2 and "deep.ttl, from line 2 on, after" in deep.err and "too deep" in deep.err
    assert "no statements" in writing("statements", "cafes").out


def test_one_literal_is_erased_with_a_plan_and_a_receipt(writing: LocalRunner, tmp_path: Path) -> None:
    writing("create", "Topic", "cafes")
    (tmp_path / "told.ttl").write_text(f"{CAKE}\n<https://a.example/luna> <https://a.example/serves> 'tea' .")
    writing("state", "cafes", str(tmp_path / "told.ttl"))
    asked = ("erase", "cafes", "--literal", '"cake"')
    assert writing(*asked, "--dry-run").out.startswith("would erase a literal of 1 statement of 1 world:")
    assert writing(*asked, "--reason", "request 7").code == 2, "there is no terminal to confirm it"
    assert writing(*asked, "--reason", "request 7", "--turns", "--yes").code == 2
    done = writing.json(*asked, "--reason", "request 7", "--yes", "--receipt", str(tmp_path / "receipt"))
    assert done["statements"] == 1 and done["receipt"]["worlds"][0]["literals"]
    assert writing("check-receipt", str(tmp_path / "receipt")).code == 0
    assert [each["object"] for each in writing.json("statements", "cafes")["statements"]] == ['"tea"']
    [left] = writing.json("statements", "cafes", "--erased")["statements"]
    assert (left["object"], left["erased"], left["erasure"]["reason"]) == (None, ["object"], "request 7")
    shown = writing("statements", "cafes", "--erased").out
    assert "https://a.example/serves> (erased) ." in shown and "request 7" in shown
    assert writing("statements", "--erased").code == 2, "of which world?"
    assert "(erased)" in writing("log").out and "request 7" in writing("log").out
    assert writing(*asked, "--reason", "request 8", "--yes").code == 2
