"""Any content of a file gives WorldDB's errors and no other, or can be stored."""

from __future__ import annotations

import gzip
import json
import lzma
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from tests.support.examples import examples
from worlddb.log.model.errors import WorldDBError
from worlddb.log.model.times import MAX_TIME, MIN_TIME
from worlddb.tools.importers import FORMATS, detect, input_files
from worlddb.tools.importers.documents import Document

KEYS = (
    *("text", "speaker", "at", "session", "sample_id", "conversation", "speaker_a", "speaker_b", "dia_id"),
    *("session_1", "session_2", "session_01", "session_1_date_time", "blip_caption", "qa", "extra", ""),
)
TIMES = ("1:56 pm on 8 May, 2023", "12:00 am on 30 February, 2023", "2024-05-08T13:56:00Z", "2024-05-08")
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(MIN_TIME - 2, MAX_TIME + 2),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(TIMES),
    st.datetimes(timezones=st.timezones(), allow_imaginary=False).map(lambda moment: moment.isoformat()),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
TURNS = st.fixed_dictionaries(
    {"text": SCALARS, "speaker": SCALARS, "dia_id": SCALARS},
    optional={"at": SCALARS, "session": SCALARS, "blip_caption": SCALARS, "more": VALUES},
)
TALKS = st.fixed_dictionaries(
    {"sample_id": st.text(max_size=4), "conversation": st.dictionaries(st.sampled_from(KEYS), VALUES)},
    optional={"qa": VALUES},
)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


CONTENTS = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(lambda text: text.encode(errors="surrogatepass")),
    VALUES.map(as_json),
    st.lists(TALKS, max_size=3).map(as_json),
    st.lists(TURNS, max_size=4).map(lambda turns: b"\n".join(map(as_json, turns))),
)
PACKINGS = st.sampled_from(
    [bytes, partial(lzma.compress, preset=0), lambda data: gzip.compress(data, mtime=0), zstandard.compress]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def judge_document(document: Document) -> None:
    """Each block is inside one before it, has a key of its own, and can be stored."""
    keys = [(block.kind, block.key) for block in document.blocks]
    assert len(set(keys)) == len(keys)
    for place, block in enumerate(document.blocks):
        assert -1 <= block.parent < place or place == 0
        assert block.at is None or MIN_TIME <= block.at <= MAX_TIME
        assert "\0" not in block.content
    msgspec.msgpack.encode(document.blocks)


def judge(path: Path) -> int:
    """Count the formats that accept the file; what they accept must be whole and storable."""
    accepted = 0
    for name in (detect.AUTO, *(each.name for each in FORMATS)):
        try:
            _, source = detect.load(path, name)
        except WorldDBError as error:
            str(error).encode()
            assert error.remedy
            continue
        accepted += 1
        if isinstance(source, Document):
            judge_document(source)
            continue
        portions = list(source.portions())
        assert portions == list(source.portions())
        assert sum(len(portion.turns) for portion in portions) == source.turns
        assert {portion.conversation for portion in portions} <= set(source.conversations)
        places = [(p.conversation, p.session, p.start + n) for p in portions for n in range(len(p.turns))]
        assert len(set(places)) == len(places)
        for portion in portions:
            for time in (portion.at, *(turn.at for turn in portion.turns)):
                assert time is None or (isinstance(time, int) and MIN_TIME <= time <= MAX_TIME)
        msgspec.msgpack.encode(portions)
    return accepted


@examples(20, suppress_health_check=[HealthCheck.too_slow])
@given(
    content=CONTENTS,
    pack=PACKINGS,
    suffix=st.sampled_from(["", ".json", ".jsonl", ".md", ".txt", ".xz", ".gz", ".zst"]),
)
@example(content=b'{"text": "a"}', pack=bytes, suffix=".jsonl")
def test_no_content_raises_anything_but_worlddb_errors(folder, content, pack, suffix):
    path = folder / f"file{suffix}"
    path.write_bytes(pack(content))
    judge(path)


@examples(24)
@given(data=st.data())
def test_no_damage_to_a_compressed_file_raises_anything_but_worlddb_errors(folder, data):
    pack = data.draw(PACKINGS)
    packed = bytearray(pack(as_json([{"sample_id": "c", "conversation": {"session_1": []}}]) * 5))
    for place in data.draw(st.lists(st.integers(0, len(packed) - 1), max_size=4)):
        packed[place] = data.draw(st.integers(0, 255))
    path = folder / "damaged"
    path.write_bytes(packed[: data.draw(st.integers(0, len(packed)))])
    try:
        input_files.read_whole(path)
    except WorldDBError:
        pass
    judge(path)


def test_the_fuzz_reaches_what_is_accepted(folder):
    """A canary: if the judge took no file at all, the tests above would prove nothing."""
    path = folder / "good"
    path.write_bytes(as_json({"text": "a"}))
    assert judge(path) == 4, "by itself, as JSON Lines, and as either kind of document"
    path.write_bytes(as_json([{"sample_id": "c", "conversation": {"session_1": []}}]))
    assert judge(path) == 4
