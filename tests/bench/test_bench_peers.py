"""Tests ``bench.peers`` with whatever is installed: every adapter does what it claims.

SQLite's full-text index comes with Python, so that there is always one peer.
"""

from __future__ import annotations

import argparse
import sqlite3
from pathlib import Path

import pytest

from bench import peers
from bench._peers import complaints, fts5, ours, syncs
from bench._peers.child import MARK
from bench._peers.contract import Absent, Kind, dimension, vectors_of
from bench._peers.processes import Process, Refused
from bench._peers.registry import KINDS, kind_of
from tests.bench.test_bench import run

FIGURES = {"write_p50_ms", "write_p95_ms", "write_found_p50_ms", "write_found_p95_ms", "load_per_s"}
FIGURES |= {"load_found_per_s", "search_p50_ms", "search_p95_ms", "bytes_per_text", "bytes_per_text_cleaned"}
SHARES = {"written_found", "found_at_10"}
ANSWERS = {"new_text_found", "replaced_text_found", "past_answered", "left_after_delete", "left_after_cleaning"}
ANSWERS |= {"killed_write_kept", "two_writers", "other_process_finds"}


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    try:
        found.version()
    except Absent as absent:
        pytest.skip(f"{found.name}: {absent}")
    return found


def test_a_peer_keeps_replaces_finds_and_deletes(kind: Kind, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    peer = kind.open(folder)
    peer.load({f"k{number}": f"Somebody lives in town {number}." for number in range(30)})
    peer.write("bird", "A heron stands still.")
    peer.settle()
    moment = peer.moment()
    peer.replace("bird", "An owl turns its head.")
    peer.settle()
    assert peer.read("bird") == "An owl turns its head." and peer.read("fish") is None
    assert peer.search("Which owl turns its head?")[:1] == ["An owl turns its head."] * (kind.searches != "nothing")
    if moment is None:
        with pytest.raises(LookupError):
            peer.read_at(moment, "bird")
    else:
        assert peer.read_at(moment, "bird") == "A heron stands still." and peer.read("k1") is not None
    peer.delete("k1")
    peer.expunge("k2")
    assert [peer.read(key) for key in ("k1", "k2")] == [None, None]
    peer.close()
    again = kind.open(folder)
    assert (again.read("bird"), again.read("k3")) == ("An owl turns its head.", "Somebody lives in town 3.")
    again.close()


def test_the_program_has_a_row_for_each_peer_and_finds_out_what_is_said_of_it() -> None:
    told = run("peers", "--texts", "60", "--writes", "3", "--questions", "3")
    rows = told["peers"]
    assert isinstance(rows, dict) and list(rows) == [kind.name for kind in KINDS]
    present = {name: row for name, row in rows.items() if "absent" not in row}
    assert present.keys() >= {"WorldDB", "SQLite FTS5"}
    for row in present.values():
        assert row.keys() == FIGURES | SHARES | ANSWERS | {"version", "searches", "syncs_per_write"}
        if row["searches"] == "nothing":
            assert all(row[key] is None for key in peers._SEARCHED) and row["killed_write_kept"]
            continue
        assert all(row[key] > 0 for key in FIGURES) and all(row[key] == 1.0 for key in SHARES)
        assert row["new_text_found"] and not row["replaced_text_found"]
    world, words = rows["WorldDB"], rows["SQLite FTS5"]
    assert (world["past_answered"], words["past_answered"]) == (True, None)
    assert world["left_after_delete"] == {"text": True, "vector": True}, "what is retired stays"
    assert world["left_after_cleaning"] == {"text": False, "vector": False}, "what is erased does not"
    assert words["left_after_cleaning"] == {"text": False, "vector": None}
    for row in (world, words):
        assert row["killed_write_kept"] and row["other_process_finds"]
        assert row["two_writers"] == {"acknowledged": 2 * complaints.WRITES, "lost": 0, "refused": None}
        assert row["syncs_per_write"] is None or row["syncs_per_write"] >= 1
    assert isinstance(told["hops"], dict) and told["hops"].keys() == {"WorldDB", "SQLite"}
    assert isinstance(told["floor"], dict) and told["floor"].keys() == {"write_p50_ms", "write_p95_ms"}


def test_a_peer_that_cannot_run_here_is_a_row_that_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def version() -> str:
        raise Absent("not installed")

    monkeypatch.setattr(peers, "KINDS", (Kind("nobody", version, "words", fts5.FullText),))
    sizes = argparse.Namespace(seed=1, texts=10, writes=1, questions=1, only=None)
    assert peers.measure(tmp_path, sizes)["peers"] == {"nobody": {"absent": "not installed"}}


def test_two_peers_that_no_process_survives_are_not_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("sqlite-vec, FTS5", "LangGraph")
    monkeypatch.setattr(peers, "KINDS", [Kind(name, lambda: "1", "both", fts5.FullText) for name in names])
    told, kinds = peers._available_peers(None)
    assert [kind.name for kind in kinds] == ["sqlite-vec, FTS5"] and "--only" in told["LangGraph"]["absent"]
    assert [kind.name for kind in peers._available_peers(["LangGraph"])[1]] == ["LangGraph"]


class Hoarder(fts5.FullText):
    """A store that replaces nothing, and adds to it."""

    def replace(self, key: str, text: str) -> None:
        self.write(f"{key} again", text)


class Forgetful(fts5.FullText):
    """A store that acknowledges what it does not write."""

    def replace(self, key: str, text: str) -> None:
        self.delete(key)


def test_a_store_that_keeps_or_loses_what_it_should_not_is_found_out(tmp_path: Path) -> None:
    told = complaints.check_updates(Kind("hoarder", lambda: "1", "words", Hoarder), tmp_path / "one")
    assert told == {"new_text_found": True, "replaced_text_found": True, "past_answered": None}
    told = complaints.check_updates(Kind("forgetful", lambda: "1", "words", Forgetful), tmp_path / "two")
    assert told == {"new_text_found": False, "replaced_text_found": False, "past_answered": None}


def test_acknowledged_writes_that_are_gone_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complaints, "_read", lambda kind, folder, keys: [None for _ in keys])
    assert not complaints.check_kill(fts5.KIND, tmp_path / "one")
    assert complaints.check_two_writers(fts5.KIND, tmp_path / "two")["lost"] == 2 * complaints.WRITES


def test_what_a_peer_raises_in_another_process_is_told_in_its_words(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    fts5.KIND.open(folder).close()
    with sqlite3.connect(folder / "facts.db") as connection:
        connection.execute("DROP TABLE words")
        connection.execute("CREATE TABLE words (empty TEXT)")
    connection.close()
    with Process("SQLite FTS5", folder) as process:
        process.ready()
        with pytest.raises(Refused, match=r"^OperationalError: .*words"):
            process.search("anything")
    (tmp_path / "file").write_text("not a folder")
    with Process("SQLite FTS5", tmp_path / "file") as process, pytest.raises(Refused, match=r"^FileExistsError"):
        process.ready()


def test_syncs_are_counted_between_the_last_two_marks() -> None:
    mark = f'7 access("{MARK}", F_OK) = -1 ENOENT'
    opened = '7 openat(AT_FDCWD, "/x/data.mdb", O_RDWR|O_DSYNC|O_CLOEXEC, 0644) = 9'
    lines = [opened, mark, "7 fsync(3) = 0", mark, "7 fsync(3) = 0", mark]
    lines += ["7 fdatasync(4) = 0", '8 pwrite64(9, "..."..., 48, 4120) = 48', '7 write(1, "null"..., 5) = 5']
    lines += [
        "7 <... fsync resumed>) = 0",
        "7 close(9) = 0",
        '7 pwrite64(9, "..."..., 48, 0) = 48',
        mark,
        "7 fsync(3) = 0",
    ]
    assert syncs.count_syncs(lines) == 2
    assert syncs.count_syncs([]) == 0


def test_every_peer_compares_vectors_of_length_one_and_of_one_dimension() -> None:
    found = vectors_of(["A heron stands still.", "An owl turns its head."], query=False)
    assert found.shape == (2, dimension())
    assert (found**2).sum(axis=1) == pytest.approx([1.0, 1.0])
    assert kind_of("WorldDB") is ours.KIND
