"""Reads LoCoMo, and the published conversations; errors name record and path."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from worlddb.log.model.errors import InvalidTime, MalformedFile
from worlddb.log.model.times import format_time, parse_time
from worlddb.tools.importers import locomo


def turn(number: int, text: str = "words", **more: Any) -> dict[str, Any]:
    return {"speaker": "Ann", "dia_id": f"D1:{number}", "text": text, **more}


def record(name: str = "conv-1", **more: Any) -> dict[str, Any]:
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [turn(1), turn(2)],
        **more,
    }
    return {"qa": [], "sample_id": name, "conversation": conversation}


@pytest.fixture
def write(tmp_path: Path):
    def written(content: Any) -> Path:
        path = tmp_path / "talks.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return written


def test_sessions_turns_times_and_provenance_are_read(write):
    said = [turn(1, "hello"), {"speaker": "Cid", "dia_id": "D2:2", "text": "Me too", "img_url": ["u"]}]
    (first, second) = locomo.read(write([record(), record("conv-2", session_2=said)]))
    assert (first.format, first.name, first.speakers) == ("locomo", "conv-1", ["Ann", "Ben"])
    assert [session.name for session in second.sessions] == ["session_1", "session_2"]
    assert second.speakers == ["Ann", "Ben", "Cid"]
    one, two = second.sessions
    assert one.at == parse_time("2023-05-08T13:56:00Z")
    assert two.at is None
    assert (two.turns[1].text, two.turns[1].speaker, two.turns[1].name) == ("Me too", "Cid", "D2:2")
    assert two.turns[1].session == "session_2"
    assert two.turns[1].source == {
        "file": "talks.json",
        "record": 1,
        "path": "$[1].conversation.session_2[1]",
        "id": "D2:2",
    }


def test_one_conversation_needs_no_list(write):
    (conversation,) = locomo.read(write(record()))
    assert conversation.sessions[0].turns[0].source["path"] == "$.conversation.session_1[0]"


def test_a_shared_picture_speaks_through_its_caption(write):
    shown = [
        turn(1, "Look!", blip_caption="a cat"),
        turn(2, "", blip_caption="a dog"),
        turn(3, blip_caption=None),
    ]
    (conversation,) = locomo.read(write(record(session_1=shown)))
    assert [each.text for each in conversation.sessions[0].turns] == [
        "Look! [shares a photo: a cat]",
        "[shares a photo: a dog]",
        "words",
    ]


def test_an_empty_turn_keeps_its_position_and_an_empty_session_is_no_portion(write):
    path = write(record(session_1=[turn(1, ""), turn(2)], session_2=[]))
    (conversation,) = locomo.read(path)
    assert [[each.text for each in session.turns] for session in conversation.sessions] == [["", "words"], []]
    assert [portion.session for portion in locomo.load(path).portions()] == ["session_1"]


def test_sessions_stand_in_the_order_of_their_numbers(write):
    (conversation,) = locomo.read(write(record(session_10=[], session_2=[], session_9=[])))
    assert [s.name for s in conversation.sessions] == ["session_1", "session_2", "session_9", "session_10"]


def test_a_date_of_a_session_that_is_not_there_is_passed_over(write):
    (conversation,) = locomo.read(write(record(session_7_date_time="some day")))
    assert len(conversation.sessions) == 1


def test_a_byte_order_mark_is_passed_over(write):
    assert len(locomo.read(write(b"\xef\xbb\xbf\n " + json.dumps([record()]).encode()))) == 1


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z"),
        ("12:40 am on 27 March, 2022", "2022-03-27T00:40:00Z"),
        ("12:05 pm on 29 february 2024", "2024-02-29T12:05:00Z"),
    ],
)
def test_a_date_is_read_as_utc(text, iso):
    assert format_time(locomo.parse_date_time(text)) == iso


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8 May, 2023",
        "13:56 pm on 8 May, 2023",
        "0:10 am on 8 May, 2023",
        "1:60 pm on 8 May, 2023",
        "1:56 pm on 31 June, 2023",
        "1:56 pm on 8 Floreal, 2023",
        "1:56 pm on 8 May, 0000",
        "1:56 pm on ٨ May, 2023",
    ],
)
def test_a_date_of_another_form_is_an_error(text):
    with pytest.raises(InvalidTime):
        locomo.parse_date_time(text)


def with_turn(**fields: Any) -> dict[str, Any]:
    return record(session_3=[turn(1)] * 7 + [{**turn(8), **fields}])


BAD: list[tuple[Any, str, str]] = [
    (with_turn(text=7), "$[2].conversation.session_3[7].text", "Expected `str`, got `int`"),
    (with_turn(speaker=None), "$[2].conversation.session_3[7].speaker", "got `null`"),
    (with_turn(blip_caption=[]), "$[2].conversation.session_3[7].blip_caption", "got `array`"),
    (with_turn(speaker="x" * 16_385), "$[2].conversation.session_3[7]", "speaker has 16,385 bytes"),
    (
        record(session_3=[{"speaker": "a", "dia_id": "D1:1"}]),
        "$[2].conversation.session_3[0]",
        "field `text`",
    ),
    (record(session_3=[turn(1), "words"]), "$[2].conversation.session_3[1]", "got `str`"),
    (record(session_3={}), "$[2].conversation.session_3", "Expected `array`, got `object`"),
    (record(session_1_date_time="8 May"), "$[2].conversation.session_1_date_time", "not have LoCoMo's form"),
    (record(session_1_date_time=8), "$[2].conversation.session_1_date_time", "got `int`"),
    (record(speaker_b=8), "$[2].conversation.speaker_b", "got `int`"),
    ({"sample_id": "c", "conversation": []}, "$[2].conversation", "Expected `object`, got `array`"),
    ({"sample_id": "c"}, "$[2]", "missing required field `conversation`"),
    ({"conversation": {}}, "$[2]", "missing required field `sample_id`"),
    (record(""), "$[2].sample_id", "empty"),
    (record("x" * 1025), "$[2].sample_id", "1,025 bytes"),
    (record("conv-1"), "$[2].sample_id", "already record 1"),
    (7, "$[2]", "Expected `object`, got `int`"),
]


@pytest.mark.parametrize(("bad", "path", "told"), BAD, ids=[told[:24] + str(n) for n, (*_, told) in enumerate(BAD)])
def test_an_error_names_file_record_and_path(write, bad, path, told):
    file = write([record("conv-0"), record("conv-1"), bad])
    with pytest.raises(MalformedFile, match=told) as caught:
        locomo.read(file)
    assert caught.value.details == {"file": str(file), "record": 2, "path": path}
    assert str(caught.value).startswith(f"{file}, record 2, at `{path}`: ")
    assert caught.value.remedy


def test_a_session_that_is_there_twice_is_an_error_and_not_a_loss(write):
    text = json.dumps(record()).replace('"session_1": [', '"session_1": [], "session_1": [')
    with pytest.raises(MalformedFile, match="'session_1' occurs twice") as caught:
        locomo.read(write(f"[{text}]".encode()))
    assert caught.value.details["record"] == 0


def test_broken_json_is_told_with_the_record_and_the_line(write):
    whole = json.dumps([record("a"), record("b"), record("c")], indent=1).encode()
    for cut in (len(whole) // 2, len(whole) - 2):
        with pytest.raises(MalformedFile, match=r"near line \d+, column \d+") as caught:
            locomo.read(write(whole[:cut]))
        assert caught.value.details["record"] == (1 if cut == len(whole) // 2 else 3)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "neither"),
        (b'"words"', "neither"),
        (b"[" * 100_000, "nested too deeply"),
        (
            b'{"sample_id": "c", "conversation": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
            "nested too deeply",
        ),
        (b'[{"sample_id": "c"}, {,}]', "record 1"),
        (b'{"sample_id": "caf\xe9"}', r"byte 18 \(0xe9\) is not valid UTF-8"),
        (b'\xef\xbb\xbf{"sample_id": "caf\xe9"}', r"byte 21 \(0xe9\) is not valid UTF-8"),
    ],
)
def test_a_file_of_another_kind_is_malformed_for_locomo(write, content, told):
    with pytest.raises(MalformedFile, match=told):
        locomo.read(write(content))


def published() -> Path:
    named = os.environ.get("WORLDDB_TEST_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "data"
    path = folder / "locomo_dev.json.xz"
    if not path.is_file():
        pytest.skip(f"no {path.name}: name its folder in WORLDDB_TEST_DATA")
    return path


def test_the_published_conversations_are_read_to_the_last_turn():
    read = {conversation.name: conversation for conversation in locomo.read(published())}
    counts = {name: (len(c.sessions), sum(len(s.turns) for s in c.sessions)) for name, c in read.items()}
    assert counts == {
        "conv-26": (19, 419),
        "conv-41": (32, 663),
        "conv-43": (29, 680),
        "conv-47": (31, 689),
        "conv-49": (25, 509),
    }
    assert all(len(conversation.speakers) == 2 for conversation in read.values())
    for conversation in read.values():
        times = [session.at for session in conversation.sessions]
        assert None not in times
        for session in conversation.sessions:
            number = session.name.removeprefix("session_")
            assert [t.name for t in session.turns] == [f"D{number}:{n + 1}" for n in range(len(session.turns))]
    assert format_time(read["conv-26"].sessions[0].at or 0) == "2023-05-08T13:56:00Z"
