"""Reads JSON Lines of turns in portions; errors name line and field."""

from __future__ import annotations

import gc
import gzip
import json
import weakref
from pathlib import Path
from typing import Any

import pytest

from worlddb.log.model.errors import MalformedFile
from worlddb.log.model.times import parse_time
from worlddb.tools.importers import detect, jsonlines
from worlddb.tools.importers.conversation import ReadOptions


@pytest.fixture
def write(tmp_path: Path):
    def written(*lines: bytes | str | dict[str, Any], name: str = "chat.jsonl") -> Path:
        path = tmp_path / name
        encoded = (json.dumps(line) if isinstance(line, dict) else line for line in lines)
        path.write_bytes(b"".join((e if isinstance(e, bytes) else e.encode()) + b"\n" for e in encoded))
        return path

    return written


def test_a_turn_keeps_its_fields_and_where_it_stood(write):
    path = write(
        {"speaker": " Mara ", "text": " Hello ", "at": "2024-05-08T13:56:00+02:00", "session": " one "},
    )
    conversation = jsonlines.read(path)
    assert (conversation.format, conversation.name) == ("jsonl", "chat")
    assert conversation.speakers == ["Mara"]
    (session,) = conversation.sessions
    (turn,) = session.turns
    assert session.name == turn.session == "one"
    assert session.at == turn.at == parse_time("2024-05-08T11:56:00Z")
    assert (turn.speaker, turn.text, turn.name) == ("Mara", " Hello ", "")
    assert turn.source == {"file": "chat.jsonl", "record": 1, "path": "$"}


def test_all_fields_but_text_may_be_missing_or_null(write):
    path = write({"text": "a"}, {"text": "", "speaker": None, "at": None, "session": None})
    (session,) = jsonlines.read(path).sessions
    assert (session.name, session.at) == ("default", None)
    assert [(turn.text, turn.speaker, turn.at) for turn in session.turns] == [("a", "", None), ("", "", None)]


@pytest.mark.parametrize(
    ("at", "micros"), [("2024-05-08", 1_715_126_400_000_000), (1_715_126_400_000_001, 1_715_126_400_000_001)]
)
def test_a_time_may_be_a_date_or_microseconds(write, at, micros):
    assert jsonlines.read(write({"text": "a", "at": at})).sessions[0].turns[0].at == micros


def test_a_session_may_be_a_number(write):
    assert jsonlines.read(write({"text": "a", "session": 3})).sessions[0].name == "3"


def test_a_session_has_the_time_of_its_first_turn_that_has_one(write):
    path = write({"text": "a"}, {"text": "b", "at": "2024-05-09"}, {"text": "c", "at": "2024-05-08"})
    assert jsonlines.read(path).sessions[0].at == parse_time("2024-05-09")


def test_an_unknown_field_is_refused_with_its_line_and_the_known_ones(write):
    path = write({"text": "a"}, {"text": "b", "when": "2024-05-08"})
    with pytest.raises(MalformedFile) as caught:
        jsonlines.load(path)
    assert caught.value.details == {"file": str(path), "record": 2, "path": "$.when"}
    told = str(caught.value)
    assert (
        "the field 'when' is unknown; known fields are speaker, text, at, session, name, source, conversation" in told
    )
    assert "--ignore-unknown" in told


def test_unknown_fields_stay_with_the_source_if_they_are_let_in(write):
    path = write({"text": "a", "id": 7, "tags": ["x", {"y": None}]})
    (turn,) = jsonlines.read(path, ReadOptions(ignore_unknown=True)).sessions[0].turns
    assert turn.source["extra"] == {"id": 7, "tags": ["x", {"y": None}]}


def test_a_line_may_name_its_turn_its_source_and_its_conversation(write):
    path = write(
        {"text": "a", "name": " opening ", "source": {"url": "x"}, "conversation": " phone "},
        {"text": "b", "conversation": 7},
        {"text": "c"},
        {"text": "d", "conversation": "phone", "source": None, "name": None},
    )
    source = jsonlines.load(path)
    assert source.conversations == ["phone", "7", "chat"]
    portions = [(p.conversation, p.session, p.start, [t.text for t in p.turns]) for p in source.portions()]
    assert portions == [
        ("phone", "default", 0, ["a", "d"]),
        ("7", "default", 0, ["b"]),
        ("chat", "default", 0, ["c"]),
    ]
    (turn, *_) = next(source.portions()).turns
    assert (turn.name, turn.source["given"]) == ("opening", {"url": "x"})
    named = jsonlines.load(path, None, ReadOptions(conversation="desk"))
    assert named.conversations == ["phone", "7", "desk"]


def test_blank_lines_a_byte_order_mark_and_carriage_returns_are_passed_over(write):
    path = write(b'\xef\xbb\xbf{"text": "a"}\r', "", "  \t", '{"text": "b"}')
    turns = jsonlines.read(path).sessions[0].turns
    assert [(turn.text, turn.source["record"]) for turn in turns] == [("a", 1), ("b", 4)]


def test_the_last_line_needs_no_end(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b"}')
    assert jsonlines.load(path).turns == 2


def test_a_compressed_file_is_read_as_the_plain_one(write, tmp_path):
    plain = write({"text": "a", "session": "s"}, name="chat.jsonl")
    packed = tmp_path / "chat.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert jsonlines.read(packed).name == "chat"
    assert jsonlines.read(packed).sessions[0].turns[0].text == "a"


def test_a_session_that_comes_back_goes_on_with_its_positions(write, monkeypatch):
    monkeypatch.setattr(jsonlines, "MAX_PORTION_TURNS", 3)
    path = write(*({"text": str(n), "session": "ab"[n % 2]} for n in range(8)))
    portions = list(jsonlines.load(path).portions())
    assert [(p.session, p.start, [turn.text for turn in p.turns]) for p in portions] == [
        ("b", 0, ["1"]),
        ("a", 0, ["0", "2"]),
        ("a", 2, ["4"]),
        ("b", 1, ["3", "5"]),
        ("a", 3, ["6"]),
        ("b", 3, ["7"]),
    ]


def test_sessions_one_after_another_are_one_portion_each(write, monkeypatch):
    monkeypatch.setattr(jsonlines, "MAX_PORTION_TURNS", 5)
    path = write(*({"text": str(n), "session": n // 3} for n in range(20)))
    portions = list(jsonlines.load(path).portions())
    assert [(p.session, p.start, len(p.turns)) for p in portions] == [
        *((str(n), 0, 3) for n in range(6)),
        ("6", 0, 2),
    ]


def test_a_file_that_grew_has_the_same_turns_at_the_same_positions(write, monkeypatch):
    monkeypatch.setattr(jsonlines, "MAX_PORTION_TURNS", 3)
    lines = [{"text": str(n), "session": "abc"[n % 3]} for n in range(11)]

    def placed(path: Path) -> dict[tuple[str, int], str]:
        return {
            (portion.session, portion.start + n): turn.text
            for portion in jsonlines.load(path).portions()
            for n, turn in enumerate(portion.turns)
        }

    short, long = placed(write(*lines[:7])), placed(write(*lines))
    assert len(long) == 11
    assert short.items() <= long.items()


def test_a_portion_is_bounded_in_characters_too(write, monkeypatch):
    monkeypatch.setattr(jsonlines, "MAX_PORTION_CHARACTERS", 10)
    source = jsonlines.load(write(*({"text": "x" * 6} for _ in range(5))))
    assert [len(portion.turns) for portion in source.portions()] == [2, 2, 1]


def test_what_is_appended_after_the_check_waits_for_the_next_import(write):
    path = write({"text": "a"})
    source = jsonlines.load(path)
    with path.open("a") as grown:
        grown.write('{"text": "b"}\n{"text": half a li')
    assert [len(portion.turns) for portion in source.portions()] == [1]


def test_a_file_that_lost_lines_after_the_check_is_an_error(write):
    path = write({"text": "a"}, {"text": "b"})
    source = jsonlines.load(path)
    path.write_text('{"text": "a"}\n')
    with pytest.raises(MalformedFile, match="had 2 turns"):
        list(source.portions())


def test_a_file_that_is_rewritten_between_the_readings_raises_no_other_error(write):
    source = jsonlines.load(write({"text": "a", "session": "s"}))
    write({"text": "b", "session": "t"})
    assert [(portion.session, portion.at) for portion in source.portions()] == [("t", None)]


def test_portions_are_not_held_together_in_memory(write, monkeypatch):
    monkeypatch.setattr(jsonlines, "MAX_PORTION_TURNS", 10)
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    real = jsonlines._turn

    class Text(str):
        """A text whose life can be watched."""

    def watched(*given: Any) -> Any:
        session, turn = real(*given)
        text = Text(turn.text)
        alive.add(text)
        return session, type(turn)(text=text, session=turn.session)

    monkeypatch.setattr(jsonlines, "_turn", watched)
    most = 0
    for portion in jsonlines.load(write(*({"text": f"t{n}"} for n in range(300)))).portions():
        gc.collect()
        most = max(most, len(alive))
        assert len(portion.turns) == 10
    assert most <= 30


@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_a_line_of_another_memory_says_how_statements_are_added(write: Any, ignore_unknown: bool) -> None:
    """It said to rename one field after the other."""
    path = write({"id": "8f1c", "memory": "Prefers morning meetings", "user_id": "rhea"})
    with pytest.raises(MalformedFile, match="missing required field `text`") as raised:
        jsonlines.load(path, None, ReadOptions(ignore_unknown=ignore_unknown))
    assert "memory.add" in raised.value.remedy


BAD: list[tuple[bytes, str, str]] = [
    (b'{"speaker": "a"}', "$", "missing required field `text`"),
    (b'{"text": 7}', "$.text", "Expected `str`, got `int`"),
    (b'{"text": null}', "$.text", "got `null`"),
    (b'{"text": "a", "speaker": ["b"]}', "$.speaker", "got `array`"),
    (b'{"text": "a", "session": 1.5}', "$.session", "got `float`"),
    (b'{"text": "a", "session": true}', "$.session", "got `bool`"),
    (b'{"text": "a", "at": 1.5}', "$.at", "got `float`"),
    (b'{"text": "a", "at": "8 May"}', "$.at", "not a time"),
    (b'{"text": "a", "at": "2024-05-08T13:56:00"}', "$.at", "no time zone"),
    (b'{"text": "a", "at": "2024-02-30"}', "$.at", "not a time"),
    (b'{"text": "a", "at": 999999999999999999}', "$.at", "outside the years"),
    (b'{"text": "a", "at": "0001-01-01T00:00:00+14:00"}', "$.at", "outside the years"),
    (b'{"text": "a"', "$", "truncated"),
    (b'{"text": "a"} {"text": "b"}', "$", "trailing characters"),
    (b'{"text": NaN}', "$", "malformed"),
    (b'{"text": "\\ud800"}', "$", r"half of a surrogate pair, \\ud800"),
    (b'["text"]', "$", "Expected `object`, got `array`"),
    (b"plain words", "$", "malformed"),
    (b'{"text": "a", "deep": ' + b"[" * 50 + b"]" * 50 + b"}", "$.deep", "nested more than 32"),
    (b'{"text": "a", "deep": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "$", "nested too deeply"),
    (b'{"text": "a", "big": 99999999999999999999}', "$", "64 bits"),
    (b'{"text": "a", "large": "' + b"x" * 70_000 + b'"}', "$", "large"),
    (b'{"text": "a", "source": {"big": 99999999999999999999}}', "$", "source has an integer of more than 64 bits"),
    (b'{"text": "a", "source": "a.txt"}', "$.source", "Expected `object | null`, got `str`"),
    (b'{"text": "a", "conversation": {"id": 1}}', "$.conversation", "got `object`"),
    (b'{"text": "a", "conversation": "' + b"s" * 1025 + b'"}', "$.conversation", "1,025 bytes"),
    (b'{"text": "a", "session": "' + b"s" * 1025 + b'"}', "$.session", "1,025 bytes"),
    (b'{"text": "a", "speaker": "' + b"s" * 16_385 + b'"}', "$.speaker", "16,385 bytes"),
    (b'{"text": "a\xff"}', "$", r"byte 26 of the file \(0xff\)"),
    (b"\xff\xfe{\x00}\x00", "$", r"byte 15 of the file \(0xff\)"),
]


@pytest.mark.parametrize(("line", "path", "told"), BAD, ids=[told[:20] + str(n) for n, (*_, told) in enumerate(BAD)])
def test_an_error_names_file_line_and_field(write, line, path, told):
    file = write('{"text": "a"}', "", line)
    with pytest.raises(MalformedFile, match=told) as caught:
        jsonlines.load(file, None, ReadOptions(ignore_unknown=True))
    assert caught.value.details == {"file": str(file), "record": 3, "path": path}
    assert str(caught.value).startswith(f"{file}, line 3, at `{path}`: ")
    assert caught.value.remedy


def test_a_line_without_end_is_not_read_into_memory(write, monkeypatch):
    monkeypatch.setattr(jsonlines, "MAX_LINE_BYTES", 1000)
    with pytest.raises(MalformedFile, match=r"line 2.*longer than 1,000 bytes"):
        jsonlines.load(write({"text": "a"}, b'{"text": "' + b"x" * 1000))


def test_a_text_above_the_limit_is_refused_before_anything_is_written(write):
    with pytest.raises(MalformedFile, match=r"at `\$.text`: text has 16,777,217 bytes"):
        jsonlines.load(write({"text": "x" * (16 * 1024 * 1024 + 1)}))


def test_a_check_tells_how_far_it_is(write, monkeypatch):
    monkeypatch.setattr(jsonlines, "_HEARD_EVERY", 2)
    heard: list[int] = []
    detect.load(write(*({"text": "a"} for _ in range(5))), turns_read=heard.append)
    assert heard == [2, 4]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"text": "first", "text": "second"}', "text"),
        ('{"text": "first", "speaker": "Mara", "te\\u0078t": "second"}', "text"),
        ('{"text": "a", "source": {"page": 1, "page": 2}}', "page"),
        ('{"text": "a", "source": {"pages": [{"": 1, "": 2}]}}', ""),
        ('{"text": "a", "note": {"by": {"x": 1}, "by": 2}}', "by"),
    ],
)
def test_a_field_that_is_there_twice_is_an_error_and_not_the_last_of_them(write, line, key):
    """Decoders keep the last and drop the first without a word: half of what a line says was gone."""
    with pytest.raises(MalformedFile, match=f"the field '{key}' occurs twice") as broken:
        jsonlines.read(write({"text": "before"}, line), ReadOptions(ignore_unknown=True))
    assert (broken.value.details["record"], broken.value.details["path"]) == (2, f"$..{key}")


@pytest.mark.parametrize(
    "line",
    [
        {"text": '"text": "said", "text": "again"', "speaker": '\\" "text":'},
        {"text": "a", "source": {"text": 1, "of": [{"text": 2}, {"text": 3}]}},
        {"text": "a", "source": {f"key {number}": {"text": number} for number in range(2_000)}},
    ],
    ids=["in a text", "in other objects", "among many"],
)
def test_the_same_name_in_texts_and_in_other_objects_is_no_repetition(write, line):
    [turn] = jsonlines.read(write(line)).sessions[0].turns
    assert (turn.text, turn.source.get("given")) == (line["text"], line.get("source"))
