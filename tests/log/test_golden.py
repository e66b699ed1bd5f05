"""Holds the format to written-out bytes and hashes; changing one is a format change."""

from __future__ import annotations

import pytest
from blake3 import blake3
from msgspec.structs import replace

from tests.support.golden.blobs import BLOBS
from tests.support.golden.events import EVENTS
from tests.support.golden.values import EDGE_ID, HASH, NONCE, ONE, TIME, TWO
from tests.support.model import hashes
from tests.support.model.nodes import Nodes
from worlddb.log.model import codec
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Details, Vector
from worlddb.log.model.codec import Events, Header, Note, chain_hash, events_hash
from worlddb.log.model.hashing import IDEMPOTENCY, KEYED_EDGE, blob_id, edge_id, keyed, keyed_lineage, world_hash
from worlddb.log.model.times import FOREVER
from worlddb.log.model.trie import EMPTY_ROOT, Trie
from worlddb.projections.tables.names.canonical import name_digest, type_digest

HEADER = Header(1, 7, TIME, TIME + 5, "agent-7", b"", HASH, EDGE_ID, NONCE + NONCE, 2)
HEADER_HEX = (
    "9ba6636f6d6d69740107cf000660be0ab5c000cf000660be0ab5c005a76167656e742d37c400c420404142434445464748"
    "494a4b4c4d4e4f505152535455565758595a5b5c5d5e5fc420202122232425262728292a2b2c2d2e2f3031323334353637"
    "38393a3b3c3d3e3fc420606162636465666768696a6b6c6d6e6f606162636465666768696a6b6c6d6e6f02"
)
CHAIN = "7f210920a6d2f65542bf3b16a91da19053c530eb395d7ed80533b180673e9f55"

RECORD = Events(
    HASH, False, [ONE, EDGE_ID], [Note("proposal_staged", [EDGE_ID])], [ev.Unlinked(EDGE_ID), ev.Named(ONE, 2, 0)]
)
RECORD_HEX = (
    "96a66576656e7473c420404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5fc292c410000102"
    "030405060708090a0b0c0d0e0fc420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f9192"
    "af70726f706f73616c5f73746167656491c420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d"
    "3e3f9292a8756e6c696e6b6564c420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f94a5"
    "6e616d6564c410000102030405060708090a0b0c0d0e0f0200"
)
RECORD_HASH = "ca06260d461813143f0e4831256d0f45bf947e738e4dba91ba44ab90a9f4ac9f"

MEMBER_ROOTS = {
    0: "fb20d95fcf29594af6686d7220d6cabc19defb7b0cc056a23f0da4a05e70d6e5",
    1: "36aab6b672fdf209e4bf6ce5155e11868d637e78f5096473270f695a5d78c5fe",
    32: "ad960033c99baf2c8f74eb11c5dd704d995205f2b96cdabfffce1849413d3105",
    128: "0436dfa3ffbfb2ddefaf8ba4a61fcfdc620bd94ba0e54dfb1fb318619f4cd43d",
    129: "38e71ff89ec243d98ba7c312f5d05785be223c055054501c8f2ed7e12dddf2d7",
    1000: "a2258720aac6f49490d4f74c11d02e3330aeffecc4d805051c10f835da35de10",
}
EDGE_ROOTS = {
    0: "fb20d95fcf29594af6686d7220d6cabc19defb7b0cc056a23f0da4a05e70d6e5",
    1: "8db0adb20a9dc6464e8806e8e16fe0e0c19b1ccfd07c2f763181abeb43a794bf",
    32: "2ba52ee2e9c1097730762761d3e2d5687499bfff7fcd203018ff37ee588d70b3",
    128: "4c09332750fe332408b5325db5e9800a1f5272800cde5baab10721e1567383b0",
    129: "79f4bbcb1f928ff82600b6c122f71ade3c25e7906e9d79eb991ba103ac6c7928",
    1000: "c28c9b7e0345d6f09c17439efc19963599c0a053084038bba0c43cee05ac60ba",
}


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_has_these_bytes_and_this_hash(name: str) -> None:
    event, stored, hashed = EVENTS[name]
    assert codec.encode(event).hex() == stored
    assert (
        events_hash(bytes.fromhex(stored)).hex() == hashed == hashes.h("worlddb/events/1", bytes.fromhex(stored)).hex()
    )
    whole = Events(b"", False, [], [], [event])  # type: ignore[list-item]
    assert codec.decode_events(codec.encode(whole), 1) == whole


def test_every_type_of_event_is_written_out() -> None:
    tags = {str(kind.__struct_config__.tag) for kind in ev.Event.__subclasses__()}
    assert tags == set(EVENTS)


@pytest.mark.parametrize("name", BLOBS)
def test_a_blob_has_these_bytes_and_this_id(name: str) -> None:
    blob, stored, identifier = BLOBS[name]
    assert codec.encode(blob).hex() == stored
    assert blob_id(bytes.fromhex(stored)).hex() == identifier == hashes.blob(bytes.fromhex(stored)).hex()
    assert codec.decode_blob(bytes.fromhex(stored), 1) == blob


STRUCK = (
    "94a673747275636bc420cc90ed87e356be1254c131c4ab3cc7f65009e6d78fe0ab800c288499edcd9487c420506f73f9"
    "720e32d504613d15ccb1164e83a911a022b0e17349475fa5abd47ebcc43c96a764657461696c73c41060616263646566"
    "6768696a6b6c6d6e6f91a0a9616e6e6f756e63656481a4706167650781a4726f6c65a7737065616b6572"
)


def test_what_is_left_of_details_without_a_text_has_these_bytes_and_their_id() -> None:
    whole, stored, identifier = BLOBS["details"]
    assert isinstance(whole, Details)
    left = codec.strike_texts(bytes.fromhex(stored), [0], 1)
    assert left.hex() == STRUCK and codec.strike_texts(left, [0], 1) == left
    assert codec.named_id(left).hex() == identifier
    assert codec.decode_checked_blob(left, bytes.fromhex(identifier), 1) == replace(whole, aliases=[""])


def test_a_header_has_these_bytes_and_this_chain_hash() -> None:
    stored = bytes.fromhex(HEADER_HEX)
    assert codec.encode(HEADER) == stored
    assert codec.decode_header(stored, 7) == HEADER
    assert chain_hash(stored).hex() == CHAIN == hashes.h("worlddb/chain/1", stored).hex()


def test_an_events_record_has_these_bytes_and_this_hash() -> None:
    stored = bytes.fromhex(RECORD_HEX)
    assert codec.encode(RECORD) == stored
    assert codec.decode_events(stored, 7) == RECORD
    assert events_hash(stored).hex() == RECORD_HASH == hashes.h("worlddb/events/1", stored).hex()
    assert (RECORD.blob_count, RECORD.blob(0)) == (1, HASH)


def test_an_edge_has_this_id() -> None:
    bare = edge_id("supersedes", ONE, HASH, TWO, EDGE_ID, ONE, TIME, b"", NONCE)
    assert bare.hex() == "1849490cbac871503ce4034237b93eab2ae7af854c314541d16106e3a822957c"
    assert bare == hashes.edge("supersedes", (ONE, HASH, TWO, EDGE_ID), ONE, TIME, b"", NONCE)
    telling = edge_id("supersedes", ONE, HASH, TWO, EDGE_ID, ONE, TIME, HASH, NONCE)
    assert telling.hex() == "6ac54cb98aba34953a0621ae72f8bd24b0bd8053a032799c862571bae36f331c"
    assert telling == hashes.edge("supersedes", (ONE, HASH, TWO, EDGE_ID), ONE, TIME, HASH, NONCE)


def test_a_world_has_this_hash() -> None:
    found = world_hash(HASH, EMPTY_ROOT, EMPTY_ROOT, TIME)
    assert found.hex() == "d047ea0506b819a2d75b4509a276cccf890505114171923ae204c61dfebccf6d"
    assert found == hashes.world(HASH, {}, set(), TIME)


def test_keys_stand_for_these_ids_under_a_secret() -> None:
    assert keyed_lineage(HASH, b"turns/7").hex() == "c7cd3892a79161f225cbb06a5a14d891"
    assert keyed(HASH, KEYED_EDGE, b"turns/7")[:16].hex() == "b61ab6494e709fdf730d640a5fdbb6bc"
    idempotency = "6d1d3efcf58aa143caa6d000286ea4fb3c7da03e0c3b5655b1a0af6459b5e883"
    assert keyed(HASH, IDEMPOTENCY, b"turns/7").hex() == idempotency
    tagged = hashes.tagged("worlddb/keyed-lineage/1", b"turns/7")
    assert keyed_lineage(HASH, b"turns/7") == blake3(tagged, key=HASH).digest()[:16]


def test_names_and_types_have_these_digests() -> None:
    assert name_digest("Sarah  CHEN").hex() == "c78f3c8ca2b03acf84cee4e1277f4344"
    assert type_digest("Entity").hex() == "c760dbc0313c20aa"


@pytest.mark.parametrize("size", MEMBER_ROOTS)
def test_a_trie_of_so_many_members_has_this_root(size: int) -> None:
    entries: dict[bytes, bytes | None] = {
        blake3(b"key %d" % number).digest()[:16]: blake3(b"value %d" % number).digest() for number in range(size)
    }
    assert Trie(Nodes(), 16, 32).update(entries).hex() == MEMBER_ROOTS[size]
    assert hashes.trie_root({key: value or b"" for key, value in entries.items()}).hex() == MEMBER_ROOTS[size]


@pytest.mark.parametrize("size", EDGE_ROOTS)
def test_a_trie_of_so_many_edges_has_this_root(size: int) -> None:
    entries: dict[bytes, bytes | None] = {blake3(b"key %d" % number).digest(): b"" for number in range(size)}
    assert Trie(Nodes(), 32, 0).update(entries).hex() == EDGE_ROOTS[size]
    assert hashes.trie_root(dict.fromkeys(entries, b"")).hex() == EDGE_ROOTS[size]


def test_format_1_is_what_this_release_writes() -> None:
    assert ev.FORMAT == 1
    assert codec.encode(("worlddb", ev.FORMAT)).hex() == "92a7776f726c64646201"
    assert (FOREVER, ev.NONE) == (2**63 - 1, -1)


def test_a_world_created_here_is_written_as_it_was_before_worlds_could_be_imported() -> None:
    """The time of creation came with imports: an event without it is read, and is of its own commit's time."""
    old = bytes.fromhex(
        "96a763726561746564c410000102030405060708090a0b0c0d0e0f01ffcf000660be0ab5c000cf7fffffffffffffff"
    )
    whole = b"\x96\xa6events\xc4\x00\xc2\x90\x90\x91" + old
    assert codec.decode_events(whole, 1).events == [ev.Created(ONE, 1, -1, TIME, FOREVER)]


def test_what_was_written_before_stated_starts_were_recorded_is_read_and_says_that_nobody_did() -> None:
    """The bytes of the first release, which told neither which ends were stated nor what a version lost in between."""
    created = bytes.fromhex(
        "97a763726561746564c410000102030405060708090a0b0c0d0e0f01ffcf000660be0ab5c000cf7fffffffffffffffc0"
    )
    revised = bytes.fromhex(
        "96a772657669736564c410000102030405060708090a0b0c0d0e0f0102cf000660be0ab5c000cf000660be0ab5c001"
    )
    whole = b"\x96\xa6events\xc4\x00\xc2\x90\x90\x92" + created + revised
    assert codec.decode_events(whole, 1).events == [
        ev.Created(ONE, 1, -1, TIME, FOREVER, None, ev.UNKNOWN),
        ev.Revised(ONE, 1, 2, TIME, TIME + 1, ev.UNKNOWN),
    ]


def test_a_vector_from_before_statements_had_vectors_has_none() -> None:
    stored = bytes.fromhex("93a6766563746f72c410606162636465666768696a6b6c6d6e6fc40400010203")
    assert codec.decode_blob(stored, 1) == Vector(NONCE, bytes(range(4)), 0)


def test_a_vector_from_before_the_share_of_statements_was_kept_has_none() -> None:
    stored = bytes.fromhex("94a6766563746f72c410606162636465666768696a6b6c6d6e6fc4040001020301")
    assert codec.decode_blob(stored, 1) == Vector(NONCE, bytes(range(4)), 1, 0)
