"""Ids, hashing, limits, plain records and the error tree."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import worlddb
from tests.support.model import hashes
from worlddb import InputError, InvalidText, LimitExceeded, WorldDBError, checked_text
from worlddb.log.model import codec, errors, hashing
from worlddb.log.model.blobs import Details
from worlddb.log.model.hashing import digest
from worlddb.log.model.ids import parse_hex, short
from worlddb.log.model.limits import HIGHEST_SEQ, MAX_RECORD_BYTES, MAX_RECORD_DEPTH, checked_number, checked_record

TAGS = [
    value for name, value in vars(hashing).items() if name.isupper() and isinstance(value, bytes) and name != "GENESIS"
]
TAGS = [tag for tag in TAGS if tag[1:].startswith(b"worlddb/")]


def test_every_hash_has_a_tag_of_its_own_with_a_format_version() -> None:
    assert len(TAGS) >= 11
    assert len(set(TAGS)) == len(TAGS)
    for tag in TAGS:
        assert tag[0] == len(tag) - 1 and tag.rpartition(b"/")[2].isdigit()


@given(one=st.lists(st.binary(max_size=8), max_size=4), other=st.lists(st.binary(max_size=8), max_size=4))
def test_two_lists_of_fields_share_a_hash_only_if_they_are_the_same(one: list[bytes], other: list[bytes]) -> None:
    assert (digest(hashing.EDGE, *one) == digest(hashing.EDGE, *other)) == (one == other)
    assert digest(hashing.EDGE, *one) != digest(hashing.WORLD, *one)
    assert digest(hashing.EDGE, *one) == hashes.h("worlddb/edge/1", *one)


@given(secret=st.binary(min_size=32, max_size=32), key=st.text(max_size=20))
def test_a_key_stands_for_one_lineage_in_a_store_and_for_another_in_the_next(secret: bytes, key: str) -> None:
    assume(secret != bytes(32))
    one = hashing.keyed_lineage(secret, key.encode())
    assert len(one) == 16
    assert one == hashing.keyed_lineage(secret, key.encode()) != hashing.keyed_lineage(bytes(32), key.encode())


@given(identifier=st.binary(min_size=16, max_size=32), digits=st.integers(4, 64))
def test_digits_of_an_id_are_read_in_either_case(identifier: bytes, digits: int) -> None:
    text = identifier.hex()[:digits]
    assert parse_hex(text) == parse_hex(f" {text.upper()}\n") == text
    assert short(identifier) == short(identifier.hex()) == identifier.hex()[:12]


@pytest.mark.parametrize("text", ["", "abc", "abcg", "0x1234", "12 34", "a" * 65, "１２３４", "\ud800" * 4, "-123"])
def test_invalid_digits_of_an_id_are_an_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_hex(text)


@given(text=st.text(max_size=30), limit=st.integers(0, 40))
def test_a_text_is_measured_in_bytes_of_utf8(text: str, limit: int) -> None:
    size = len(text.encode())
    if size > limit:
        with pytest.raises(LimitExceeded, match=f"note has {size}"):
            checked_text(text, "note", limit)
    else:
        assert checked_text(text, "note", limit) is text


@pytest.mark.parametrize("text", [None, 5, b"bytes", ["text"], "a\ud800", "\udfff"], ids=repr)
def test_what_is_not_text_is_an_error_that_names_its_place(text: Any) -> None:
    with pytest.raises(InvalidText, match="the note"):
        checked_text(text, "the note", 100)


@pytest.mark.parametrize("text", ["", " ", "\t\n", "\u3000"])
def test_an_empty_text_is_an_error_where_something_is_needed(text: str) -> None:
    assert checked_text(text, "type", 100) == text
    with pytest.raises(InvalidText):
        checked_text(text, "type", 100, empty=False)


@pytest.mark.parametrize("number", [None, "5", 5.0, True, -1, 11, 2**70, math.nan], ids=repr)
def test_a_number_that_is_not_whole_or_lies_outside_is_an_error(number: Any) -> None:
    assert checked_number(10, "k", 0, 10) == 10
    with pytest.raises(InputError, match="k is"):
        checked_number(number, "k", 0, 10)


@pytest.mark.parametrize(("lowest", "told"), [(-(2**63), "a whole number,"), (0, "from 0 up"), (1, "from 1 up")])
def test_the_bounds_of_64_bits_are_written_in_words(lowest: int, told: str) -> None:
    for number in (2**70, "5"):
        with pytest.raises(InputError) as raised:
            checked_number(number, "seq", lowest, HIGHEST_SEQ)
        assert told in raised.value.remedy and "9,223" not in str(raised.value)
    with pytest.raises(InputError, match="Give 0 to 10"):
        checked_number(11, "k", 0, 10)


records = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=10,
    ),
    max_size=4,
)


@given(record=records)
def test_a_plain_record_reads_back_as_it_was(record: dict[str, Any]) -> None:
    checked_record(record, "properties")
    stored = codec.encode(Details(b"", [], "", {}, record))
    found = codec.decode_blob(stored, 1)
    assert isinstance(found, Details) and found.properties == record


def _recursive() -> dict[str, Any]:
    record: dict[str, Any] = {"more": []}
    record["more"].extend([record, record])
    return record


def _deep() -> dict[str, Any]:
    record: dict[str, Any] = {}
    for _ in range(MAX_RECORD_DEPTH + 1):
        record = {"more": record}
    return record


WRONG: list[tuple[Any, type[InputError], str]] = [
    (None, InputError, "properties is NoneType"),
    ([], InputError, "properties is list"),
    ({1: 2}, InputError, "key 1"),
    ({"a": {"b": [0, {None: 1}]}}, InputError, r"properties\.a\.b\[1\]"),
    ({"a": [1.0, math.nan]}, InputError, r"properties\.a\[1\] is nan"),
    ({"a": -math.inf}, InputError, r"properties\.a is -inf"),
    ({"a": 2**64}, InputError, "64 bits"),
    ({"a": object()}, InputError, r"properties\.a is object"),
    ({"a": b"bytes"}, InputError, r"properties\.a is bytes"),
    ({"a": {1, 2}}, InputError, r"properties\.a is set"),
    ({"a": "\ud800"}, InvalidText, r"properties\.a"),
    ({"\ud800": 1}, InvalidText, "a key of properties"),
    ({"a": "x" * (MAX_RECORD_BYTES + 1)}, LimitExceeded, r"properties\.a"),
    ({"a": ["x" * 1000] * 300}, LimitExceeded, "properties has"),
    ({"a": [0] * (MAX_RECORD_BYTES + 1)}, LimitExceeded, r"properties\.a"),
    (_recursive(), LimitExceeded, "nested too deeply"),
    (_deep(), LimitExceeded, "nested too deeply"),
]


@pytest.mark.parametrize(("record", "error", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_a_record_that_would_not_read_back_is_an_error_that_names_the_place(
    record: Any, error: type[InputError], message: str
) -> None:
    with pytest.raises(error, match=message):
        checked_record(record, "properties")


def error_classes(of: type[WorldDBError] = WorldDBError) -> list[type[WorldDBError]]:
    """The classes of the one file that errors are defined in."""
    below = [kind for kind in of.__subclasses__() if kind.__module__ == errors.__name__]
    return [of, *(found for kind in below for found in error_classes(kind))]


def test_every_error_has_a_code_of_its_own_an_exit_code_and_a_place_in_the_drawn_tree() -> None:
    classes = error_classes()
    assert len({error.code for error in classes}) == len(classes)
    assert {error.exit_code for error in classes} <= {1, 2, 3, 4, 5}
    for error in classes:
        assert error.__name__ in (errors.__doc__ or "")
        assert getattr(worlddb, error.__name__) is error


def test_an_error_says_what_was_wrong_and_what_to_do() -> None:
    error = InputError("The name is empty", "Give one", place="name")
    assert str(error) == "The name is empty. Give one"
    assert (error.message, error.remedy, error.details) == ("The name is empty", "Give one", {"place": "name"})
