"""The format, written out: bytes and hashes of one of everything. Changing one of them is a format change."""

from __future__ import annotations

import pytest
from blake3 import blake3

from tests.model import hashes
from tests.model.nodes import Nodes
from worlddb.log.model import codec
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Cause, Details, Secret, Space, Vector
from worlddb.log.model.commit import Events, Header, Note, chain_hash, events_hash
from worlddb.log.model.hashing import (
    IDEMPOTENCY,
    KEYED_EDGE,
    blob_id,
    edge_id,
    keyed,
    keyed_lineage,
    world_hash,
)
from worlddb.log.model.times import FOREVER
from worlddb.log.model.trie import EMPTY_ROOT, Trie
from worlddb.projections.tables.names import name_digest, type_digest

ONE, TWO = bytes(range(16)), bytes(range(16, 32))
EDGE_ID, HASH, NONCE = bytes(range(32, 64)), bytes(range(64, 96)), bytes(range(96, 112))
TIME = 1_795_219_200_000_000

EVENTS: dict[str, tuple[object, str, str]] = {
    "store": (
        ev.StoreCreated(ONE, TWO, 1, 2),
        "95a573746f7265c410000102030405060708090a0b0c0d0e0fc410101112131415161718191a1b1c1d1e1f0102",
        "d28a0634ad96ad4f398201a958997dd846ee4518f064e1a7cb456631d72d81f1",
    ),
    "created": (
        ev.Created(ONE, 1, -1, TIME, FOREVER),
        "97a763726561746564c410000102030405060708090a0b0c0d0e0f01ffcf000660be0ab5c000cf7fffffffffffffffc0",
        "a01766eed1b38ead32baa8bbff19eb383bb9963e0353af5d481cb06e2ae12b99",
    ),
    "revised": (
        ev.Revised(ONE, 1, 2, TIME, TIME + 1),
        "96a772657669736564c410000102030405060708090a0b0c0d0e0f0102cf000660be0ab5c000cf000660be0ab5c001",
        "c7a85e1147a27ae4f92176536656b24049d2812cbd48e84521c4fd8aadaba3ab",
    ),
    "closed": (
        ev.Closed(ONE, 1, TIME, TWO),
        (
            "95a6636c6f736564c410000102030405060708090a0b0c0d0e0f01cf000660be0ab5c000c41010111213141516171819"
            "1a1b1c1d1e1f"
        ),
        "787e8719f8277cdc896db94e6237700d2db1e109359bdfd7d6ae75c160f029e5",
    ),
    "ended": (
        ev.Ended(ONE, TIME, -1, b""),
        "95a5656e646564c410000102030405060708090a0b0c0d0e0fcf000660be0ab5c000ffc400",
        "3b138d3a55b926c30a75bf548558c4cdcdccc985711332970f95103ec0d963c0",
    ),
    "named": (
        ev.Named(ONE, 2, 0),
        "94a56e616d6564c410000102030405060708090a0b0c0d0e0f0200",
        "5b279cdf7ed37689c21c0148d610fa63a801f3c4b72859697877c75894754e10",
    ),
    "unnamed": (
        ev.Unnamed(ONE, 1),
        "93a7756e6e616d6564c410000102030405060708090a0b0c0d0e0f01",
        "42fa3a500d709812b3c0e002f0e6fef91f407feeb73cfdfb70cb66236d5d2b51",
    ),
    "linked": (
        ev.Linked(EDGE_ID, "refers_to", ONE, 1, TWO, 2, ONE, TIME, FOREVER, -1, NONCE, False, 1),
        (
            "9ea66c696e6b6564c420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3fa97265666572"
            "735f746fc410000102030405060708090a0b0c0d0e0f01c410101112131415161718191a1b1c1d1e1f02c41000010203"
            "0405060708090a0b0c0d0e0fcf000660be0ab5c000cf7fffffffffffffffffc410606162636465666768696a6b6c6d6e"
            "6fc201"
        ),
        "14925deeb2693b86cc6ab62d0e083f50dec044cab94f0098c56dc7b7fd4576f7",
    ),
    "unlinked": (
        ev.Unlinked(EDGE_ID),
        "92a8756e6c696e6b6564c420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
        "9ee96621860a2abd42c3d6d902432c907b5bc74a0d06e176380256dfa448c9ae",
    ),
    "edge_closed": (
        ev.EdgeClosed(EDGE_ID, TIME),
        (
            "93ab656467655f636c6f736564c420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3fcf"
            "000660be0ab5c000"
        ),
        "ff1a7b29943e35b4c7a18e940a0cf342473da4a7cb971224e018acbe0ee30613",
    ),
    "proposed": (
        ev.Proposed(EDGE_ID, ONE, 1, TWO, 2, ONE, TIME, 3, NONCE, 1),
        (
            "9ba870726f706f736564c420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3fc4100001"
            "02030405060708090a0b0c0d0e0f01c410101112131415161718191a1b1c1d1e1f02c410000102030405060708090a0b"
            "0c0d0e0fcf000660be0ab5c00003c410606162636465666768696a6b6c6d6e6f01"
        ),
        "bf9df62fb149052e172baea16d51f01b5f93c2b2619c9bbaa5cafca1b0a8647a",
    ),
    "decided": (
        ev.Decided(EDGE_ID, "accepted", -1),
        ("94a764656369646564c420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3fa86163636570746564ff"),
        "221c2906835c719a1c55d446749685aa65ed346650f5d1cac8cf4245fb9b230d",
    ),
    "imported": (
        ev.Imported(HASH, ONE, 7, TWO, EDGE_ID, 2, [3]),
        (
            "98a8696d706f72746564c420404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5fc4100001"
            "02030405060708090a0b0c0d0e0f07c410101112131415161718191a1b1c1d1e1fc420202122232425262728292a2b2c"
            "2d2e2f303132333435363738393a3b3c3d3e3f029103"
        ),
        "428216be714b874ce4d72441965734f4b884e241cd5b7b3a0031e3e965246232",
    ),
    "filled": (
        ev.Filled(ONE, 1, 2),
        "94a666696c6c6564c410000102030405060708090a0b0c0d0e0f0102",
        "2c90782a5aba11060c73fa90a52ec7fe3f5f89b7a2f5b81b4a0da3273c6d3950",
    ),
    "bookmarked": (
        ev.Bookmarked(1, -1, 7),
        "94aa626f6f6b6d61726b656401ff07",
        "ab18e046561481a034bde10bf2ac8cb61444e83655db1333dc32a7b2d912c03d",
    ),
    "erased": (
        ev.Erased(ONE, [(2, 1), (300, 7)], -1, True, [HASH]),
        (
            "96a6657261736564c410000102030405060708090a0b0c0d0e0f9292020192cd012c07ffc391c420404142434445464748"
            "494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
        ),
        "7f808fc576b646b7409762d02bd1174b36f3239c011d5e004d36f58ef94ec888",
    ),
    "registered": (
        ev.Registered(ONE, "employs", 2, HASH, "source", ["show_conflicts"], True, -1),
        (
            "99aa72656769737465726564c410000102030405060708090a0b0c0d0e0fa7656d706c6f797302c420404142434445464748494a"
            "4b4c4d4e4f505152535455565758595a5b5c5d5e5fa6736f7572636591ae73686f775f636f6e666c69637473c3ff"
        ),
        "36d752877ba154499dbdeab06814c5041fa1fc980ce0ce92a652eca010caa7ef",
    ),
    "unregistered": (
        ev.Unregistered(ONE, "employs", 3),
        "94ac756e72656769737465726564c410000102030405060708090a0b0c0d0e0fa7656d706c6f797303",
        "4d704daece42585942ba409e42bdbffba588d89607674ccfbd9d9db9f3c2f732",
    ),
    "space": (
        ev.SpaceOpened(1, 256, 2),
        "94a5737061636501cd010002",
        "5199f228bba1b71684823438ef1ad9821d62ceb799a1eea790dcc3750470b8db",
    ),
    "embedded": (
        ev.Embedded(1, ONE, 2, 3),
        "95a8656d62656464656401c410000102030405060708090a0b0c0d0e0f0203",
        "47558cf18b9c23a993b6f35e0ba46bf63ae87446a55924a5f62091f5dbb63a5a",
    ),
    "embedded_through": (
        ev.EmbeddedThrough(1, 7),
        "93b0656d6265646465645f7468726f7567680107",
        "0f06a63baf95aae4850f020e247920efbb42b36e7af323b4bd038d1176aa4e95",
    ),
    "reclustered": (
        ev.Reclustered(7),
        "92ab7265636c7573746572656407",
        "30f421a1b43a8ae2cea87105b7df63aa52e51a2c78dd5d76071fbca7217201a4",
    ),
    "supposed": (
        ev.Supposed(ONE, HASH, 1),
        (
            "94a8737570706f736564c410000102030405060708090a0b0c0d0e0fc420404142434445464748494a4b4c4d4e4f505152535455"
            "565758595a5b5c5d5e5f01"
        ),
        "e94a1b6623af5331bd358c72ea64b7d00286239d9887f27e9f767602404d02e6",
    ),
    "left_out": (
        ev.LeftOut(HASH, "refused", 1),
        ("94a86c6566745f6f7574c420404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5fa77265667573656401"),
        "30a112d2faf0ff231f702cb32799e5bb225c980923a8990443206729e1829ab4",
    ),
    "taken_over": (
        ev.TakenOver(HASH, 3, [1, 2]),
        "94aa74616b656e5f6f766572c420404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f03920102",
        "ad4d0486d37c72792e4678c346f18d58599ab7f9525eee315b2db57385c1b635",
    ),
    "tuned": (
        ev.Tuned(ONE, "Person", 0.95, 0.9, 0.88, 0.02, 3, -1),
        (
            "99a574756e6564c410000102030405060708090a0b0c0d0e0fa6506572736f6ecb3fee666666666666cb3feccccccccc"
            "cccdcb3fec28f5c28f5c29cb3f947ae147ae147b03ff"
        ),
        "775479e1db3dfb3104c42c75c7d1f20d7835376273247eb8c8295f859af14a28",
    ),
    "untuned": (
        ev.Untuned(ONE, "Person", 3),
        "94a7756e74756e6564c410000102030405060708090a0b0c0d0e0fa6506572736f6e03",
        "6cd63ec33a6f3c3e6b27a278591bd36bc710dbd7e37a012595272a6144ba4c41",
    ),
    "space_chosen": (
        ev.SpaceChosen(2, 1, -1),
        "94ac73706163655f63686f73656e0201ff",
        "c4527b867179eb4c50115b896d8a664055f2c16aefd81b7719b9830104e9146a",
    ),
    "space_dropped": (
        ev.SpaceDropped(1, 1, 2),
        "94ad73706163655f64726f70706564010102",
        "e9b6fb9a020871234c566489c728fb5349b93399351aa2478462bee64e6a0b7a",
    ),
}
BLOBS: dict[str, tuple[object, str, str]] = {
    "body": (
        Body(NONCE, "Entity", "Sarah Chen", "leitet die Suche 東京"),
        (
            "95a4626f6479c410606162636465666768696a6b6c6d6e6fa6456e74697479aa5361726168204368656eb76c65697465"
            "742064696520537563686520e69db1e4baac"
        ),
        "c2785421854afa2085e32a878816b76d1db13d8f253d0bd3246b7673a811bcfd",
    ),
    "details": (
        Details(NONCE, ["Sarah"], "announced", {"page": 7}, {"role": "speaker"}),
        (
            "96a764657461696c73c410606162636465666768696a6b6c6d6e6f91a55361726168a9616e6e6f756e63656481a47061"
            "67650781a4726f6c65a7737065616b6572"
        ),
        "cc90ed87e356be1254c131c4ab3cc7f65009e6d78fe0ab800c288499edcd9487",
    ),
    "command": (
        Cause(NONCE, [["create", 1, 2, ["type", "name"], None, None, None, None, True]]),
        (
            "93a7636f6d6d616e64c410606162636465666768696a6b6c6d6e6f9199a6637265617465010292a474797065a46e616d"
            "65c0c0c0c0c3"
        ),
        "19ea115d4768769e28232c1b3124e03d3be3135eb29dd4230e2810b9f1b3189f",
    ),
    "secret": (
        Secret(NONCE, HASH),
        (
            "93a6736563726574c410606162636465666768696a6b6c6d6e6fc420404142434445464748494a4b4c4d4e4f50515253"
            "5455565758595a5b5c5d5e5f"
        ),
        "9e65cfe705bab38f8fc69d0db71aca8c43c0c4e783d7c90461d9fdbbc51099d6",
    ),
    "space": (
        Space(NONCE, "default", "letters/1", bytes(4)),
        "95a57370616365c410606162636465666768696a6b6c6d6e6fa764656661756c74a96c6574746572732f31c40400000000",
        "f5a402a554c4b4b894a6cfa205df014021b995136200d488634c2de257a5d1f5",
    ),
    "vector": (
        Vector(NONCE, bytes(range(4)), 1),
        "94a6766563746f72c410606162636465666768696a6b6c6d6e6fc4040001020301",
        "38e23dbe171d769152e9a73e1fb6d20eea44ee35246b4879ac82aa08b7c2e7c6",
    ),
}

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


def test_a_vector_from_before_statements_had_vectors_has_none() -> None:
    stored = bytes.fromhex("93a6766563746f72c410606162636465666768696a6b6c6d6e6fc40400010203")
    assert codec.decode_blob(stored, 1) == Vector(NONCE, bytes(range(4)), 0)
