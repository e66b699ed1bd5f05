"""The driver: which format a file is in, what reaches the façade, and how an import goes on."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import worlddb
from worlddb import Extractor
from worlddb.log.model.errors import InputError, MalformedFile, RefusedError
from worlddb.reconciler.ingest.extraction import Turn
from worlddb.tools.importers import FORMATS, IngestSummary, format_of, ingest_files, jsonlines


class Receipt(SimpleNamespace):
    """Stands for the façade's: false when refused."""

    def __bool__(self) -> bool:
        return bool(self.outcome != "Refused")


class Memory:
    """A store in a dictionary with keyed upserts, as the façade promises."""

    def __init__(self, dies_at: int | None = None, refuses: str = "") -> None:
        self.texts: dict[tuple[str, str, str, int], str] = {}
        self.calls: list[tuple[str, int | None, Any, int]] = []
        self.seq = 0
        self.dies_at = dies_at
        self.refuses = refuses

    def batch(self) -> Any:
        raise AssertionError("documents are taken in by tests of their own")

    def view(self) -> Any:
        raise AssertionError("documents are taken in by tests of their own")

    def ingest(
        self,
        turns: list[Turn],
        /,
        *,
        conversation: str,
        session: str,
        at: int | None,
        into: Any,
        format: str,
        start: int,
        revive: bool,
        extractor: Extractor | None,
    ) -> Receipt:
        if self.dies_at == len(self.calls):
            raise KeyboardInterrupt
        self.calls.append((session, at, into, start))
        if session == self.refuses:
            return Receipt(seq=self.seq, root="ab", events=0, revised=0, notes=(), outcome="Refused")
        written = {(format, conversation, session, start + n): turn.text for n, turn in enumerate(turns)}
        revised = sum(self.texts.get(place, text) != text for place, text in written.items())
        events = len(written.items() - self.texts.items())
        self.texts |= written
        self.seq += events > 0
        root = f"{self.seq:02x}"
        return Receipt(seq=self.seq, root=root, events=events, revised=revised, notes=(), outcome="Committed")


@pytest.fixture
def write(tmp_path: Path):
    def written(name: str, turns: Iterable[tuple[str, str]]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        lines = (json.dumps({"session": session, "text": text}) for session, text in turns)
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return written


def locomo_file(path: Path, **sessions: list[str]) -> Path:
    conversation: dict[str, Any] = {"speaker_a": "Ann", "speaker_b": "Ben"}
    for name, texts in sessions.items():
        conversation[name] = [{"speaker": "Ann", "dia_id": f"D{n}", "text": t} for n, t in enumerate(texts)]
        conversation[f"{name}_date_time"] = "1:56 pm on 8 May, 2023"
    path.write_text(json.dumps([{"qa": [], "sample_id": "conv-1", "conversation": conversation}]))
    return path


def test_every_session_goes_to_the_facade_with_its_time_and_world(tmp_path):
    db = Memory()
    path = locomo_file(tmp_path / "talks.json", session_1=["a", "b"], session_2=["c"], session_3=[])
    summary = ingest_files(db, [path], into="W")
    assert summary == IngestSummary(events=3, commits=2, worlds=3, turns=3, seq=2, root="02")
    assert db.calls == [("session_1", 1683554160000000, "W", 0), ("session_2", 1683554160000000, "W", 0)]
    assert set(db.texts) == {
        ("locomo", "conv-1", "session_1", 0),
        ("locomo", "conv-1", "session_1", 1),
        ("locomo", "conv-1", "session_2", 0),
    }


def test_the_same_file_twice_is_one_import(write):
    db = Memory()
    path = write("chat.jsonl", [("s", "a"), ("t", "b")])
    first = ingest_files(db, path)
    again = ingest_files(db, [path, str(path)])
    assert (first.events, first.commits) == (2, 2)
    assert again == IngestSummary(events=0, commits=0, worlds=3, turns=2, seq=2, root="02")


def test_an_import_goes_on_after_it_was_killed_wherever_that_was(write, monkeypatch):
    monkeypatch.setattr(jsonlines, "MAX_PORTION_TURNS", 4)
    path = write("chat.jsonl", [("abc"[n % 3], str(n)) for n in range(20)])
    whole = Memory()
    ingest_files(whole, path)
    for point in range(len(whole.calls)):
        db = Memory(dies_at=point)
        with pytest.raises(KeyboardInterrupt):
            ingest_files(db, path)
        had, db.dies_at = len(db.texts), None
        assert ingest_files(db, path).events == 20 - had
        assert db.texts == whole.texts


def test_a_file_that_grew_adds_its_tail_and_a_changed_text_is_one_event(write):
    db = Memory()
    ingest_files(db, write("chat.jsonl", [("s", "a"), ("s", "b")]))
    assert ingest_files(db, write("chat.jsonl", [("s", "a"), ("s", "b"), ("s", "c")])).events == 1
    assert ingest_files(db, write("chat.jsonl", [("s", "a"), ("s", "B"), ("s", "c")])).events == 1


def test_turns_that_were_there_with_other_words_are_counted(write):
    db = Memory()
    assert ingest_files(db, write("chat.jsonl", [("s", "a"), ("s", "b")])).revised == 0
    assert ingest_files(db, write("chat.jsonl", [("s", "a"), ("s", "b"), ("s", "c")])).revised == 0
    assert ingest_files(db, write("other/chat.jsonl", [("s", "x"), ("s", "b"), ("s", "y")])).revised == 2


def test_a_conversation_that_is_named_is_not_the_one_of_the_files_stem(write, tmp_path):
    db = Memory()
    ingest_files(db, write("chat.jsonl", [("s", "a")]))
    second = write("other/chat.jsonl", [("s", "b")])
    done = ingest_files(db, second, conversation="other")
    assert (done.events, done.revised) == (1, 0)
    assert set(db.texts) == {("jsonl", "chat", "s", 0), ("jsonl", "other", "s", 0)}
    for name in ("", "x" * 1025):
        with pytest.raises(InputError, match="name of the conversation"):
            ingest_files(db, second, conversation=name)
    with pytest.raises(InputError, match="for 2 files"):
        ingest_files(db, [second, write("chat.jsonl", [("s", "a")])], conversation="other")
    with pytest.raises(InputError, match="their own names"):
        ingest_files(db, locomo_file(tmp_path / "talks.json", session_1=["a"]), conversation="other")


def test_texts_that_were_erased_are_counted_once_when_they_stay_out(write, tmp_path):
    path = write("chat.jsonl", [("s", "a"), ("s", "b")])
    with worlddb.open(tmp_path / "store") as db:
        ingest_files(db, path)
        (turn,) = (hit.ref for hit in db.view().recall("b", exact=True).hits if hit.content == "b")
        assert db.erase([turn], reason="request 7")
        again = ingest_files(db, path)
        assert (again.events, again.notes) == (0, {"not_restored": 1})
        back = ingest_files(db, path, restore_erased=True)
        assert (back.revised, back.notes) == (1, {})


def test_a_malformed_file_anywhere_leaves_nothing_written(write):
    db = Memory()
    good = write("good.jsonl", [("s", "a")])
    bad = write("bad.jsonl", [("s", "a")] * 10_000)
    with bad.open("a") as grown:
        grown.write('{"text": 7}\n')
    with pytest.raises(MalformedFile, match="line 10001"):
        ingest_files(db, [good, bad])
    with pytest.raises(InputError, match="missing"):
        ingest_files(db, [good, good.with_name("missing.jsonl")])
    assert db.calls == []


def test_two_files_with_one_name_are_not_taken_for_one_conversation(write):
    db = Memory()
    paths = [write("a/chat.jsonl", [("s", "a")]), write("b/chat.jsonl", [("s", "b")])]
    with pytest.raises(InputError, match="both have a conversation named 'chat'"):
        ingest_files(db, paths)
    assert db.calls == []


def test_a_refusal_is_an_error_that_names_the_session(write):
    db = Memory(refuses="t")
    with pytest.raises(RefusedError, match="Session 't' of 'chat'"):
        ingest_files(db, write("chat.jsonl", [("s", "a"), ("t", "b")]))
    assert len(db.texts) == 1


def test_a_file_without_turns_writes_nothing(write):
    summary = ingest_files(Memory(), write("chat.jsonl", []), format="jsonl")
    assert summary == IngestSummary(events=0, commits=0, worlds=0, turns=0, seq=None, root=None)


def test_progress_counts_turns_up_to_all_of_them(write):
    told: list[tuple[int, int | None, str]] = []
    path = write("chat.jsonl", [("s", "a"), ("s", "b"), ("t", "c")])
    ingest_files(Memory(), path, progress=lambda *each: told.append(each))
    assert told == [
        (0, None, f"checking {path}"),
        (0, 3, "chat, s"),
        (2, 3, "chat, t"),
        (3, 3, "done"),
    ]


ONE = {"sample_id": "c", "conversation": {"speaker_a": "A", "session_1": []}}
LONG_QA = {"qa": [{"question": "q" * 100}] * 2000, **ONE}


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (json.dumps([ONE]), "locomo"),
        (json.dumps(ONE), "locomo"),
        (json.dumps(ONE, indent=2), "locomo"),
        (json.dumps([LONG_QA]), "locomo"),
        ("\ufeff\n " + json.dumps([ONE]), "locomo"),
        (json.dumps([ONE])[:-9], "locomo"),
        ('{"text": "a"}\n', "jsonl"),
        ('\n\n{"text": "my \\"conversation\\": {"}\n{"text": "b"}', "jsonl"),
        ('{"text": "a", "conversation": {"id": 1}}', "jsonl"),
        ('{"speaker": "no text"}', "jsonl"),
        ('{"speaker": "a", "text": broken}\n{"conversation": {}}', "jsonl"),
        ('{"text": "' + "x" * (2 << 20) + '"}', "jsonl"),
    ],
)
def test_a_format_is_known_by_content(tmp_path, content, name):
    for path, data in (
        (tmp_path / "plain.anything", content.encode()),
        (tmp_path / "packed.gz", gzip.compress(content.encode())),
    ):
        path.write_bytes(data)
        assert format_of(path).name == name


@pytest.mark.parametrize("content", ["# Notes\n", "[1, 2]", '{\n "a": 1\n}', "text: a"])
def test_a_file_of_no_known_format_gets_the_list_of_them(tmp_path, content):
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(MalformedFile) as caught:
        format_of(path)
    assert str(path) in str(caught.value)
    assert all(each.name in str(caught.value) for each in FORMATS)


def test_a_format_may_be_named_and_an_unknown_name_is_an_error(tmp_path):
    path = tmp_path / "file"
    assert [format_of(path, each.name) for each in FORMATS] == list(FORMATS)
    with pytest.raises(InputError, match=r"no format 'xml'.*auto and chatgpt .*; longmemeval"):
        format_of(path, "xml")
    with pytest.raises(InputError, match="no format"):
        ingest_files(Memory(), path, format="xml")


def test_no_format_has_the_name_that_stands_for_asking():
    names = [each.name for each in FORMATS]
    assert len(set(names)) == len(names)
    assert "auto" not in names


def test_a_speaker_too_long_for_a_key_is_found_before_anything_is_written(tmp_path: Path) -> None:
    # Such a name passed the check and was refused at its own session, after earlier sessions had been written.
    lines = ['{"session": "1", "speaker": "Ada", "text": "hello"}']
    lines.append('{"session": "2", "speaker": "' + "x" * 1025 + '", "text": "hello"}')
    (tmp_path / "talk.jsonl").write_text("\n".join(lines) + "\n")
    with worlddb.open(tmp_path / "store") as db:
        before = db.head()
        with pytest.raises(worlddb.MalformedFile) as raised:
            ingest_files(db, [tmp_path / "talk.jsonl"])
        assert raised.value.details["record"] == 2
        assert db.head() == before


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"session": "2", "text": "a\\u0000b"}', "its text has a NUL"),
        ('{"session": "2", "text": "x", "speaker": "a\\nb"}', "its speaker 'a\\nb' has a line end"),
        ('{"session": "a\\u0007", "text": "x"}', "control character, U+0007"),
        ('{"session": "2", "text": "x", "source": {"k": ["\\u0000"]}}', "its source has a NUL"),
        ('{"messages": [{"role": "user", "content": "a\\u0000b"}]}', "its text has a NUL"),
    ],
)
def test_what_cannot_be_stored_is_found_before_anything_is_written(tmp_path: Path, line: str, told: str) -> None:
    """Such a line was refused in its turn without a word of the file, after sessions before it had been written."""
    first = (
        '{"messages": [{"role": "user", "content": "hi"}]}' if "messages" in line else '{"session": "1", "text": "hi"}'
    )
    (tmp_path / "talk.jsonl").write_text(f"{first}\n{line}\n")
    with worlddb.open(tmp_path / "store") as db:
        before = db.head()
        with pytest.raises(worlddb.MalformedFile, match="nothing was written") as raised:
            ingest_files(db, [tmp_path / "talk.jsonl"], strict=True)
        assert told in str(raised.value) and "talk.jsonl" in str(raised.value)
        assert db.head() == before


def test_a_refused_session_is_named_with_its_records_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text('{"text": "one"}\n{"text": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}\n')
    with worlddb.open(tmp_path / "store") as db, pytest.raises(worlddb.RefusedError) as raised:
        ingest_files(db, [tmp_path / "talk.jsonl"])
    assert "(talk.jsonl, records 1 to 2) was refused: The content holds" in str(raised.value)
    assert "Refused(" not in str(raised.value)
