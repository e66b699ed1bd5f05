"""What files of every format take of memory while they are read: at most twice what they unpack to.

Each shape is repetitive, so that its compressed file is a thousandth of it, and has as many small values, or as large
ones, as a format allows. A child of its own reads it, so that its peak is that of nothing else.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from bench.measuring.memory import AnonPeak
from tests.support.examples import examples
from tests.support.faults.children import call
from tests.support.faults.memory import folder_in_memory
from worlddb.tools.importers import conversation, detect, documents, ingest_files, input_files, json_pieces, markdown
from worlddb.tools.importers.documents import Document

MIB = 1 << 20
KIB = 1 << 10
ALLOWED = 24 * MIB
"""For what does not grow with the file: portions, windows, decompressors. ..."""
ALLOWED_OF_A_LIST = 96 * MIB
"""... A list in Markdown is taken apart as a whole, and refused where it is longer than that allows."""


def _filled(begin: bytes, each: Callable[[int], bytes], end: bytes, size: int) -> bytes:
    one = each(0)
    return begin + b"".join(map(each, range(size // len(one)))) + end


def _turns(size: int) -> bytes:
    end = b'{"speaker":"","dia_id":"","text":""}]}}]'
    return _filled(b'[{"sample_id":"c","conversation":{"session_1":[', lambda _: end[:-4] + b",", end, size)


def _sessions(size: int) -> bytes:
    begin = b'[{"sample_id":"c","conversation":{'
    return _filled(begin, lambda at: b'"session_%08d":[],' % (at + 1), b'"session_0":[]}}]', size)


def _records(size: int) -> bytes:
    return _filled(
        b"[", lambda at: b'{"sample_id":"%08d","conversation":{}},' % at, b'{"sample_id":"c","conversation":{}}]', size
    )


def _questions(size: int) -> bytes:
    begin = b'[{"sample_id":"c","conversation":{},"qa":['
    return _filled(begin, lambda _: b"[],{},", b"[]]}]", size)


def _haystack(size: int) -> bytes:
    begin = b'[{"question_id":"q","haystack_session_ids":["s"],"haystack_sessions":[['
    return _filled(begin, lambda _: b'{"role":"","content":""},', b'{"role":"","content":""}]]}]', size)


def _haystacks(size: int) -> bytes:
    one = b'{"question_id":"%08d","haystack_session_ids":["s"],"haystack_sessions":[[{"role":"u","content":"a"}]]}'
    return _filled(b"[", lambda at: one % at + b",", one % 99_999_999 + b"]", size)


def _lines(size: int) -> bytes:
    return _filled(b"", lambda _: b'{"text":""}\n', b"", size)


def _lines_of_sessions(size: int) -> bytes:
    return _filled(b"", lambda at: b'{"text":"","session":%08d}\n' % (at + 10_000_000), b"", size)


def _line_of_fields(size: int) -> bytes:
    return _filled(b'{"text":""', lambda at: b',"%08d":1' % at, b"}\n", size)


def _line_of_source(size: int) -> bytes:
    return _filled(b'{"text":"","source":{"a":[', lambda _: b"[],", b"[]]}}\n", size)


def _nested(size: int) -> bytes:
    return b'{"text":"","source":' + b"[" * (size // 2) + b"]" * (size // 2) + b"}\n"


def _nodes(size: int) -> bytes:
    end = b'"a":{"message":{"author":{"role":"u"},"content":"x"}}}}]'
    return _filled(b'[{"mapping":{', lambda at: b'"%029d":{},' % at, end, size)


def _messages(size: int) -> bytes:
    return _filled(b"[", lambda _: b'{"role":"u","content":""},', b'{"role":"u","content":"x"}]', size)


def _message_of_parts(size: int) -> bytes:
    return _filled(b'[{"role":"u","content":[', lambda _: b"[],", b"[]]}]", size)


SHAPES: dict[str, tuple[str, Callable[[int], bytes], bool]] = {
    "text: paragraphs of a letter": ("text", lambda size: b"a\n\n" * (size // 3), True),
    "text: one paragraph": ("text", lambda size: b"a" * size, True),
    "text: one wide letter, many narrow": ("text", lambda size: "\N{PILE OF POO}".encode() + b"a" * size, True),
    "text: empty lines": ("text", lambda size: b"\n" * size, True),
    "markdown: paragraphs of a letter": ("markdown", lambda size: b"a\n\n" * (size // 3), True),
    "markdown: headings": ("markdown", lambda size: _filled(b"", lambda at: b"## h%06d\n" % at, b"", size // 4), True),
    "markdown: one list": ("markdown", lambda size: b"- a\n" * (size // 4), False),
    "markdown: one fence": ("markdown", lambda size: b"```\n" + b"a\n" * (2 * size), False),
    "markdown: lists in lists": ("markdown", lambda size: (b"- " * 20 + b"a\n\nb\n\n") * (size // 64), True),
    "jsonl: turns": ("jsonl", _lines, True),
    "jsonl: sessions": ("jsonl", _lines_of_sessions, True),
    "jsonl: fields": ("jsonl", _line_of_fields, False),
    "jsonl: source": ("jsonl", _line_of_source, False),
    "jsonl: nested": ("jsonl", _nested, False),
    "locomo: turns": ("locomo", _turns, True),
    "locomo: sessions": ("locomo", lambda size: _sessions(size + MIB), False),
    "locomo: records": ("locomo", _records, True),
    "locomo: questions": ("locomo", _questions, True),
    "chatgpt: nodes": ("chatgpt", _nodes, False),
    "messages: messages": ("messages", _messages, True),
    "messages: parts": ("messages", _message_of_parts, False),
    "longmemeval: turns": ("longmemeval", _haystack, True),
    "longmemeval: records": ("longmemeval", _haystacks, True),
}


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def read_all(path: Path, format: str, told: Path) -> None:
    """Check a file and read it to its end, as an import does, and say what that took."""
    __import__("markdown_it")
    before, answer = _peak_bytes(), "read"
    try:
        _, source = detect.load(path, format)
        for _ in source.read() if isinstance(source, Document) else source.portions():
            pass
    except worlddb.InputError as error:
        assert error.remedy and str(path) in error.message
        answer = error.code
    told.write_text(json.dumps([answer, _peak_bytes() - before]))


def _measured(tmp_path: Path, format: str, content: Callable[[int], bytes], size: int) -> tuple[str, int, int]:
    unpacked = content(size)
    path, told = tmp_path / "given.zst", tmp_path / "told.json"
    path.write_bytes(zstandard.compress(unpacked))
    assert call(read_all, path, format, told) == 0
    answer, taken = json.loads(told.read_text())
    return answer, taken, len(unpacked)


PLAIN = ("text: one wide letter, many narrow", "markdown: lists in lists", "longmemeval: turns")
"""The shapes that took the most before; a soak run has all."""


@pytest.mark.parametrize(
    "shape", [each if each in PLAIN else pytest.param(each, marks=pytest.mark.soak) for each in SHAPES]
)
def test_a_file_takes_at_most_twice_what_it_unpacks_to(tmp_path: Path, shape: str) -> None:
    """Before, these took from 15 to 500 times that."""
    format, content, is_read = SHAPES[shape]
    size = (
        128 * KIB
        if format == "markdown"
        else MIB // 2
        if format == "text"
        else MIB
        if is_read or shape in ("jsonl: sessions", "messages: messages")
        else 2 * MIB
    )
    answer, taken, unpacked = _measured(tmp_path, format, content, size)
    assert (answer == "read") is is_read, answer
    is_by_turns = size == MIB and "sessions" not in shape
    allowed = ALLOWED_OF_A_LIST if "one list" in shape else ALLOWED // 2 if is_by_turns else ALLOWED
    assert taken <= 2 * unpacked + allowed, f"{taken / MIB:.0f} MiB for {unpacked / MIB:.0f}"


WORDS = b"the walrus is patient " * 50
LARGE: dict[str, tuple[Callable[[int], bytes], bool]] = {
    "text": (lambda size: _filled(b"", lambda _: WORDS + b"\n\n", b"", size), True),
    "markdown": (lambda size: _filled(b"", lambda _: WORDS + b"\n\n", b"", size), True),
    "jsonl": (lambda size: _filled(b"", lambda _: b'{"text":"' + WORDS + b'"}\n', b"", size), True),
    "locomo": (
        lambda size: _filled(
            b'[{"sample_id":"c","conversation":{"session_1":[',
            lambda _: b'{"speaker":"a","dia_id":"1","text":"' + WORDS + b'"},',
            b'{"speaker":"a","dia_id":"1","text":""}]}}]',
            size,
        ),
        False,
    ),
    "longmemeval": (
        lambda size: _filled(
            b'[{"question_id":"q","haystack_session_ids":["s"],"haystack_sessions":[[',
            lambda _: b'{"role":"user","content":"' + WORDS + b'"},',
            b'{"role":"","content":""}]]}]',
            size,
        ),
        False,
    ),
}
"""For each format, a file of usual turns or paragraphs; whether it is read as a stream."""


@pytest.mark.soak
@pytest.mark.parametrize("format", LARGE)
def test_300_mebibytes_in_a_small_file_take_at_most_twice_that_and_a_stream_takes_64(
    tmp_path: Path, format: str
) -> None:
    content, is_streamed = LARGE[format]
    answer, taken, unpacked = _measured(tmp_path, format, content, 300 * MIB)
    assert answer == "read" and (tmp_path / "given.zst").stat().st_size < 200 * KIB
    assert taken <= (64 * MIB if is_streamed else 2 * unpacked), f"{taken / MIB:.0f} MiB"


def take_in(path: Path, format: str, store: Path, told: Path) -> None:
    """Import a file, and say what that took of memory that is no file's, and how many turns it has."""
    with worlddb.open(store, embedder=None) as db:
        db.create("Note", "so that all that a write needs is loaded")
        with AnonPeak() as peak:
            before = peak.bytes
            done = ingest_files(db, path, format=format)
        told.write_text(json.dumps([done.turns, peak.bytes - before]))


@pytest.mark.soak
@pytest.mark.parametrize("format", LARGE)
def test_what_is_written_of_100_mebibytes_takes_at_most_twice_that_and_a_commit(tmp_path: Path, format: str) -> None:
    unpacked = LARGE[format][0](100 * MIB)
    path, told = tmp_path / "given.zst", tmp_path / "told.json"
    path.write_bytes(zstandard.compress(unpacked))
    assert call(take_in, path, format, tmp_path / "store", told) == 0
    turns, taken = json.loads(told.read_text())
    # The commit that is being written takes some 100 MiB beside what is read.
    assert turns > 80_000 and taken <= 2 * len(unpacked) + 64 * MIB, f"{taken / MIB:.0f} MiB"


def test_nothing_more_is_unpacked_once_a_file_is_larger_than_one_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "talks.json.zst"
    path.write_bytes(zstandard.compress(b"[" + b" " * (64 * MIB)))
    monkeypatch.setattr(input_files, "MAX_WHOLE_BYTES", MIB)
    unpacked: list[int] = []
    decompress = input_files._ZstdFile._decompress

    def counted(file: input_files._ZstdFile, taken: bytes) -> None:
        decompress(file, taken)
        unpacked.append(len(file._ready))

    monkeypatch.setattr(input_files._ZstdFile, "_decompress", counted)
    with pytest.raises(worlddb.LimitExceeded, match="more than 1,048,576 bytes after decompression") as raised:
        detect.load(path, "locomo")
    assert str(path) in raised.value.message and raised.value.remedy == "Split it into several files"
    assert MIB < sum(unpacked) <= 34 * MIB, "two pieces of what is packed were unpacked at most"


SPACES = st.sampled_from(["", " ", "\t", "\f", "\x85", "\u2028", "\n", "\n\n", "\r\n", "\r", "\n \n", " \f\n", "\n\f"])


@examples(50)
@given(st.lists(st.tuples(SPACES, st.sampled_from(["a", "bb", "\N{PILE OF POO}", ""])), max_size=30), st.integers(1, 7))
def test_text_that_is_read_piece_by_piece_has_the_paragraphs_of_the_whole(
    parts: list[tuple[str, str]], size: int
) -> None:
    text = "".join(f"{space}{word}" for space, word in parts)
    with folder_in_memory() as folder, pytest.MonkeyPatch.context() as patch:
        path = folder / "notes.txt"
        path.write_bytes(text.encode())
        whole = [(block.line, block.content) for block in documents.load(path).blocks]
        patch.setattr(documents, "PIECE_BYTES", size)
        assert [(block.line, block.content) for block in documents.load(path).blocks] == whole
    one = text.replace("\r\n", "\n").replace("\r", "\n")
    pieces = re.split(r"\n(?:[^\S\n]*\n)+|\f", one)
    assert [content for _, content in whole[1:]] == [each.strip("\n").rstrip() for each in pieces if each.strip()]


LINES = st.sampled_from(
    [
        *(
            "",
            "",
            "",
            "a",
            "b c",
            "# A",
            "## B",
            "# A",
            "===",
            "---",
            "***",
            "- a",
            "- b",
            "  - c",
            "  d",
            "1. e",
            "2) f",
        ),
        *("> g", "> - h", "```", "~~~", "    code", "\tcode", "| a | b |", "|---|---|", "| 1 | 2 |", "<!-- i", "-->"),
        *("<div>", "</div>", "[j]: /k", "[l]: /m 'n", "o'", "* p", "+ q", "## 2024-05-01", "   ", "<p>", "\\"),
    ]
)


@examples(100)
@given(st.lists(LINES, max_size=40), st.integers(1, 40))
def test_markdown_that_is_parsed_window_by_window_has_the_blocks_of_the_whole(lines: list[str], weight: int) -> None:
    with folder_in_memory() as folder, pytest.MonkeyPatch.context() as patch:
        path = folder / "notes.md"
        path.write_bytes("\n".join(lines).encode())
        whole = markdown.load(path)
        patch.setattr(markdown, "WINDOW_WEIGHT", weight)
        windowed = markdown.load(path)
        assert windowed.blocks == whole.blocks
        assert (windowed.turns, windowed.worlds, windowed.title) == (whole.turns, whole.worlds, whole.title)


def _talks(sessions: list[list[str]]) -> bytes:
    """LoCoMo's sessions, the last first, as its importer reads them in the order of their numbers."""
    named = {
        f"session_{number}": [
            {"speaker": "a", "dia_id": f"{number}:{at}", "text": each} for at, each in enumerate(said)
        ]
        for number, said in reversed([*enumerate(sessions)])
    }
    return json.dumps([{"sample_id": f"c{at}", "conversation": named} for at in range(2)]).encode()


def _haystacks_of(sessions: list[list[str]]) -> bytes:
    """LongMemEval's sessions, the first of them a second time at the end."""
    ids = [f"session_{number}" for number in range(len(sessions))]
    listed = [[{"role": "a", "content": each} for each in said] for said in sessions]
    whole = {"haystack_session_ids": [*ids, ids[0]], "haystack_sessions": [*listed, listed[0]]}
    return json.dumps([{"question_id": f"c{at}"} | whole for at in range(2)]).encode()


def _chats_of(sessions: list[list[str]]) -> bytes:
    """Claude's chats, of which the importer reads the messages twice."""
    return json.dumps(
        [
            {
                "uuid": f"c{at} {number}",
                "chat_messages": [
                    {"uuid": f"{number}:{place}", "sender": "human", "text": each} for place, each in enumerate(said)
                ],
            }
            for at in range(2)
            for number, said in enumerate(sessions)
        ]
    ).encode()


@pytest.mark.parametrize(
    ("format", "written"), [("locomo", _talks), ("longmemeval", _haystacks_of), ("claude", _chats_of)]
)
def test_what_was_read_a_second_time_is_given_back_and_nothing_that_is_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, written: Callable[[list[list[str]]], bytes]
) -> None:
    """All of a file stayed in memory until the last of it was written."""
    sessions = [[f"{number} {at} " + "x" * 3_000 for at in range(number)] for number in (5, 1, 40, 0, 9)]
    path = tmp_path / "talks.json"
    path.write_bytes(written(sessions))
    source = detect.load(path, format)[1]
    assert isinstance(source, conversation.RereadableSource)
    data = input_files.read_again(path, source.size, source.digest)
    monkeypatch.setattr(input_files, "read_again", lambda *given: data)
    monkeypatch.setattr(json_pieces, "_GIVEN_BACK_BYTES", 8 * KIB)
    read: list[str] = []
    kept = 0
    for portion in source.portions():
        read += [turn.text for turn in portion.turns]
        kept = len(data) - data[:].count(0)
    assert read == [text for said in sessions for text in said] * 2
    # Left at the last portion: what is behind it, the last pages, and the last chat, which is given back as a whole.
    assert sys.platform != "linux" or kept < 40 * KIB, f"{kept} of {len(data)}"


def test_a_long_session_is_written_in_portions_that_are_one_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [{"speaker": "Ann", "dia_id": f"D1:{at}", "text": f"turn {at}"} for at in range(10)]
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([{"sample_id": "c", "conversation": {"session_1": said}}]))
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        with monkeypatch.context() as patch:
            patch.setattr(conversation, "MAX_PORTION_TURNS", 4)
            done = ingest_files(db, path)
        assert (done.commits, done.turns, done.worlds) == (3, 10, 2)
        again = ingest_files(db, path)
        assert (again.events, again.turns, again.worlds) == (0, 10, 2)


def test_a_file_that_changes_between_the_check_and_the_import_is_not_imported_unchecked(tmp_path: Path) -> None:
    path = tmp_path / "talks.json"
    path.write_text('[{"sample_id":"c","conversation":{"session_1":[{"speaker":"a","dia_id":"1","text":"b"}]}}]')
    source = detect.load(path)[1]
    path.write_text(path.read_text().replace('"b"', '"c"'))
    with pytest.raises(worlddb.MalformedFile, match="was replaced after the check"):
        list(source.portions())
