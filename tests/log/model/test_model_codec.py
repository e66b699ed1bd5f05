"""Tests the codec: round trips, newer formats said to be newer, damage said to be damage."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.test_golden import HEADER, HEADER_HEX, RECORD, RECORD_HEX
from tests.support.golden.blobs import BLOBS
from tests.support.golden.events import EVENTS
from worlddb import DamagedStore, NewerFormat
from worlddb.log.model import codec, hashing
from worlddb.log.model.codec import Events, Header
from worlddb.log.model.events import Event

DECODERS: dict[str, Callable[[bytes, int], Any]] = {
    "header": codec.decode_header,
    "events": codec.decode_events,
    "blob": codec.decode_blob,
}
EVERY_EVENT: Any = [event for event, _, _ in EVENTS.values()]
STORED = {
    "header": bytes.fromhex(HEADER_HEX),
    "events": codec.encode(Events(bytes(64), False, [], [], EVERY_EVENT)),
    "blob": bytes.fromhex(BLOBS["details"][1]),
}
plain: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=12,
)


def decoded(what: str, stored: bytes) -> Any:
    """What comes out; an error other than the two that are foreseen ends the test."""
    try:
        return DECODERS[what](stored, 7)
    except DamagedStore as error:
        assert error.details["seq"] == 7 and what in error.message
    except NewerFormat as error:
        assert error.remedy
    return None


@given(what=st.sampled_from(list(DECODERS)), stored=st.binary(max_size=60))
def test_garbage_is_damage_or_a_newer_format_and_never_another_error(what: str, stored: bytes) -> None:
    decoded(what, stored)


@given(what=st.sampled_from(list(DECODERS)), value=plain)
def test_sound_msgpack_of_any_shape_is_damage_or_a_newer_format(what: str, value: Any) -> None:
    decoded(what, msgspec.msgpack.encode(value))


@given(
    what=st.sampled_from(list(DECODERS)),
    tag=st.sampled_from(["commit", "events", "body", "details", "command", "secret", "created", 1, None]),
    rest=st.lists(plain, max_size=11),
)
def test_a_record_with_a_known_tag_and_anything_behind_it_is_read_or_reported(
    what: str, tag: Any, rest: list[Any]
) -> None:
    decoded(what, msgspec.msgpack.encode([tag, *rest]))


@given(what=st.sampled_from(list(DECODERS)), at=st.integers(0, 2000), byte=st.integers(0, 255), cut=st.booleans())
def test_one_changed_byte_or_a_cut_is_read_or_reported(what: str, at: int, byte: int, cut: bool) -> None:
    stored = STORED[what]
    at %= len(stored)
    decoded(what, stored[:at] if cut else stored[:at] + bytes([byte]) + stored[at + 1 :])


@pytest.mark.parametrize("depth", [10, 600, 100_000])
def test_nesting_without_end_is_damage(depth: int) -> None:
    for what, stored in (
        ("events", b"\x91" * depth + b"\x90"),
        ("blob", b"\x95\xa7details\xc4\x00\x90\xa0" + b"\x81\xa1a" * depth),
    ):
        with pytest.raises((DamagedStore, NewerFormat)):
            DECODERS[what](stored, 1)


@pytest.mark.parametrize(
    "properties",
    [
        b"\x81\x90\x01",
        b"\x81\x80\x01",
        b"\xd6\xff\xff\xff\xff\xff",
        b"\xd7\xff" + b"\xff" * 8,
        b"\xc7\x0c\xff" + b"\xff" * 12,
        b"\xc1",
    ],
    ids=["a list as key", "a map as key", "a time", "a long time", "an impossible time", "no msgpack"],
)
def test_properties_that_cannot_be_built_are_damage(properties: bytes) -> None:
    stored = b"\x96\xa7details\xc4\x00\x90\xa0\x80\x81\xa1a" + properties
    decoded("blob", stored)


def test_an_event_that_this_release_does_not_know_is_a_newer_format() -> None:
    raw = msgspec.msgpack.decode(bytes.fromhex(RECORD_HEX))
    raw[5].append(["renamed", bytes(16), 1])
    with pytest.raises(NewerFormat):
        codec.decode_events(msgspec.msgpack.encode(raw), 1)


def test_a_blob_of_a_kind_that_this_release_does_not_know_is_a_newer_format() -> None:
    with pytest.raises(NewerFormat):
        codec.decode_blob(msgspec.msgpack.encode(["hologram", bytes(16), bytes(64)]), 1)


def test_a_header_of_a_higher_format_is_a_newer_format_whatever_else_it_holds() -> None:
    newer = msgspec.structs.replace(HEADER, format=2)
    with pytest.raises(NewerFormat):
        codec.decode_header(codec.encode(newer), 7)
    with pytest.raises(NewerFormat):
        codec.decode_header(msgspec.msgpack.encode(["commit", 2, "all", {"is": "different"}]), 7)


@pytest.mark.parametrize("kind", [Header, Events])
def test_a_field_that_a_later_release_put_at_the_end_is_passed_over(kind: type) -> None:
    record: Any = HEADER if kind is Header else RECORD
    longer = [*msgspec.msgpack.decode(codec.encode(record)), "a new field"]
    decode = codec.decode_header if kind is Header else codec.decode_events
    assert decode(msgspec.msgpack.encode(longer), 7) == record


@given(value=st.dictionaries(st.text(max_size=3), plain, max_size=4))
def test_equal_records_have_equal_bytes_whatever_the_order_of_their_keys(value: dict[str, Any]) -> None:
    turned = dict(reversed(list(value.items())))
    try:
        assert codec.encode(value) == codec.encode(turned)
    except TypeError:
        assert any(not isinstance(key, str) for key in _keys(value))


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return [key for inner in value for key in _keys(inner)] if isinstance(value, list) else []


@given(st.frozensets(st.sampled_from(sorted({type(event) for event in EVERY_EVENT}, key=lambda kind: kind.__name__))))
def test_some_events_are_those_of_their_kinds_among_all(kinds: frozenset[type[Event]]) -> None:
    """Also of a record that is newer, or damaged: what is said of it is the same."""
    found = codec.decode_some_events(STORED["events"], 7, kinds)
    assert found == [event for event in EVERY_EVENT if type(event) in kinds]
    for changed in (STORED["events"].replace(b"\xa7created", b"\xa7creator"), STORED["events"][:-1], b"", b"\xc0"):
        with pytest.raises((DamagedStore, NewerFormat)) as expected:
            codec.decode_events(changed, 7)
        with pytest.raises(expected.type, match=re.escape(expected.value.message)):
            codec.decode_some_events(changed, 7, kinds)


def test_many_blobs_are_held_against_their_ids_as_one_is() -> None:
    stored, newer = STORED["blob"], msgspec.msgpack.encode(["hologram", bytes(16), bytes(64)])
    good = stored, hashing.blob_id(stored), 1
    assert codec.decode_checked_blobs([good, (None, bytes(32), 1)]) == [codec.decode_checked_blob(*good), None]
    with pytest.raises(DamagedStore, match="not what was written"):
        codec.decode_checked_blobs([good, (stored, bytes(32), 2)])
    with pytest.raises(NewerFormat):
        codec.decode_checked_blobs([(newer, hashing.blob_id(newer), 1)])
