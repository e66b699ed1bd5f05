"""Reads events of earlier versions as those of today; their bytes in the log stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from tests.log.test_golden import RECORD_HEX
from tests.support.golden.values import EDGE_ID
from worlddb.log.model import codec
from worlddb.log.model import events as ev
from worlddb.log.model.codec import Events, chain_hash, events_hash
from worlddb.log.model.ids import HASH_BYTES


class Weighed(msgspec.Struct, frozen=True, array_like=True, tag_field="event", tag="weighed/3"):
    """An event of a later release, in its third version: who weighed what, and in which unit."""

    edge: bytes
    grams: int
    by: str


Later = ev.AnyEvent | Weighed


@pytest.fixture
def later_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later release, whose third version of an event has grams for pounds, and a name."""
    monkeypatch.setitem(codec.UPCASTERS, ("weighed", 1), lambda fields: [*fields, "nobody"])
    monkeypatch.setitem(codec.UPCASTERS, ("weighed", 2), lambda fields: [fields[0], fields[1] * 454, fields[2]])

    class LaterEvents(Events, frozen=True, array_like=True, tag="events"):
        events: list[Later]  # type: ignore[assignment]

    monkeypatch.setattr(codec, "_EVENTS", msgspec.msgpack.Decoder(LaterEvents))


def decode_stored(stored: bytes) -> list[Any]:
    return list(codec.decode_events(stored, 1).events)


def record(*events: list[Any]) -> bytes:
    raw = msgspec.msgpack.decode(bytes.fromhex(RECORD_HEX))
    raw[5] = list(events)
    return msgspec.msgpack.encode(raw)


@pytest.mark.usefixtures("later_release")
def test_an_event_of_an_earlier_version_passes_through_every_version_since() -> None:
    stored = record(["weighed", EDGE_ID, 2], ["unlinked", EDGE_ID], ["weighed/2", EDGE_ID, 1, "ada"])
    assert decode_stored(stored) == [
        Weighed(EDGE_ID, 908, "nobody"),
        ev.Unlinked(EDGE_ID),
        Weighed(EDGE_ID, 454, "ada"),
    ]
    assert decode_stored(record(["weighed/3", EDGE_ID, 7, "bob"])) == [Weighed(EDGE_ID, 7, "bob")]


@pytest.mark.usefixtures("later_release")
@pytest.mark.parametrize("event", [["weighed/4", EDGE_ID, 7, "bob", 1], ["measured", EDGE_ID], ["unlinked/2", EDGE_ID]])
def test_a_version_or_an_event_of_the_future_is_a_newer_format_with_the_remedy(event: list[Any]) -> None:
    with pytest.raises(worlddb.NewerFormat, match="Upgrade WorldDB") as error:
        codec.decode_events(record(event, ["weighed", EDGE_ID, 2]), 7)
    assert error.value.details["seq"] == 7 and "commit 7" in error.value.message


@pytest.mark.usefixtures("later_release")
@pytest.mark.parametrize("event", [["weighed"], ["weighed", EDGE_ID], ["weighed", EDGE_ID, "much"]])
def test_an_earlier_version_that_does_not_hold_what_it_should_is_damage(event: list[Any]) -> None:
    with pytest.raises(worlddb.DamagedStore):
        codec.decode_events(record(event), 7)


@pytest.mark.usefixtures("later_release")
def test_every_upcaster_leads_to_a_type_of_event_that_there_is() -> None:
    assert codec.UPCASTERS
    kinds: list[type[msgspec.Struct]] = [*ev.Event.__subclasses__(), Weighed]
    tags = {str(kind.__struct_config__.tag) for kind in kinds}
    for type_name, version in codec.UPCASTERS:
        assert (type_name, version + 1) in codec.UPCASTERS or f"{type_name}/{version + 1}" in tags


def test_a_store_with_an_event_of_the_future_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    import lmdb

    with worlddb.open(tmp_path / "store", embedder=None) as db:
        made = db.create("Topic", "Today")
    number = made.seq.to_bytes(8, "big")
    with lmdb.open(str(tmp_path / "store"), map_size=1 << 26) as env, env.begin(write=True) as txn:
        raw = msgspec.msgpack.decode(txn.get(b"\x03" + number) or b"")
        raw[5].append(["dreamt", bytes(16)])
        events = msgspec.msgpack.encode(raw)
        header = codec.decode_header((txn.get(b"\x02" + number) or b"")[HASH_BYTES:], made.seq)
        header = msgspec.structs.replace(header, events_hash=events_hash(events), event_count=header.event_count + 1)
        stored = codec.encode(header)
        txn.put(b"\x03" + number, events)
        txn.put(b"\x02" + number, chain_hash(stored) + stored)
        txn.put(b"\x01head", chain_hash(stored) + number)
    (tmp_path / "store" / "high-water").unlink()
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        with pytest.raises(worlddb.NewerFormat, match="commit 2"):
            list(db.log())
        assert not db.verify().ok
