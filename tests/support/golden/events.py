"""One event of each type with its bytes and hash. New types go at the end."""

from __future__ import annotations

from tests.support.golden.values import EDGE_ID, HASH, NONCE, ONE, TIME, TWO
from worlddb.log.model import events as ev
from worlddb.log.model.times import FOREVER

EVENTS: dict[str, tuple[object, str, str]] = {
    "store": (
        ev.StoreCreated(ONE, TWO, 1, 2),
        "95a573746f7265c410000102030405060708090a0b0c0d0e0fc410101112131415161718191a1b1c1d1e1f0102",
        "d28a0634ad96ad4f398201a958997dd846ee4518f064e1a7cb456631d72d81f1",
    ),
    "created": (
        ev.Created(ONE, 1, -1, TIME, FOREVER, None, ev.DEFAULTED),
        "98a763726561746564c410000102030405060708090a0b0c0d0e0f01ffcf000660be0ab5c000cf7fffffffffffffffc001",
        "27e5b0f8ccbdd22951df2e6935a84f60510a587db30bddd93a87517e91e3f2b8",
    ),
    "revised": (
        ev.Revised(ONE, 1, 2, TIME, TIME + 1, ev.START_STATED | ev.END_STATED),
        "97a772657669736564c410000102030405060708090a0b0c0d0e0f0102cf000660be0ab5c000cf000660be0ab5c00106",
        "ad3466eb68278dd8537d234fead3838c8ff4ebc366e0d59d9edddb95e4f57dc6",
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
    "erased_elsewhere": (
        ev.ErasedElsewhere(ONE, [(2, 1), (300, 7)], 1, 300, False, [HASH], True),
        (
            "98b06572617365645f656c73657768657265c410000102030405060708090a0b0c0d0e0f9292020192cd012c0701cd01"
            "2cc291c420404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5fc3"
        ),
        "039b660211b416cc5d13e7ca84b06a2a4909acc8ac1504098a0c7a5e6f9106a0",
    ),
    "trusted": (
        ev.Trusted("source", b"", 1, "low", 2),
        "96a774727573746564a6736f75726365c40001a36c6f7702",
        "6466164b0f39ac7a9d7414ccff336bb9db101c52cbda1ea44dd6bbc5899c6efb",
    ),
    "lost": (
        ev.Lost(ONE, 1, TIME, TIME + 1, TWO),
        (
            "96a46c6f7374c410000102030405060708090a0b0c0d0e0f01cf000660be0ab5c000cf000660be0ab5c001c410101112"
            "131415161718191a1b1c1d1e1f"
        ),
        "eb2f48fc88fcebbb7737e9f524bd1ff3c89fe9f9c64549b09bdff72fb5511b5f",
    ),
    "voided": (
        ev.Voided(ONE, TIME, TIME + 1, -1),
        "95a6766f69646564c410000102030405060708090a0b0c0d0e0fcf000660be0ab5c000cf000660be0ab5c001ff",
        "39d1f56a8367fa38ff1f222edac487bb260d352ae5ebf37f78bf97a06425f150",
    ),
    "edge_lost": (
        ev.EdgeLost(EDGE_ID, TIME, TIME + 1),
        (
            "94a9656467655f6c6f7374c420202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3fcf0006"
            "60be0ab5c000cf000660be0ab5c001"
        ),
        "0bdc6742fe714d8a1a7331430c53cd3167149b054e24aa392e1cb72d09d71b98",
    ),
    "restated": (
        ev.Restated(ONE, 2, 3),
        "94a87265737461746564c410000102030405060708090a0b0c0d0e0f0203",
        "a082145a1fd6281263c8c20e277ecaa99e5b2396c087e918718819c0e393d5a1",
    ),
    "expires": (
        ev.Expires(ONE, TIME, 60_000_000, -1),
        "95a765787069726573c410000102030405060708090a0b0c0d0e0fcf000660be0ab5c000ce03938700ff",
        "f01de388472867bb4e3be9717991925acc3055d5caf4e6f781832f434d9506b0",
    ),
    "labelled": (
        ev.Labelled(ONE, 2, 0),
        "94a86c6162656c6c6564c410000102030405060708090a0b0c0d0e0f0200",
        "36e50e7accdcae1b9c26cd364c538869649e24f9bb0d508c0fbb2ad6e2ed458e",
    ),
    "unlabelled": (
        ev.Unlabelled(ONE, 1, -1),
        "94aa756e6c6162656c6c6564c410000102030405060708090a0b0c0d0e0f01ff",
        "d1bdf863d2508fdf7a550a9eef5202376f0cf0e3b883b72952631b8de11a0fbd",
    ),
    "pinned": (
        ev.Pinned(ONE, True, 3),
        "94a670696e6e6564c410000102030405060708090a0b0c0d0e0fc303",
        "a6d9255143e28ce4c6d3ae2eca401e767b40f62768b499ba0be4680636f60a18",
    ),
    "tagged": (
        ev.Tagged(ONE, 1, 2, 3),
        "95a6746167676564c410000102030405060708090a0b0c0d0e0f010203",
        "f1a0b23d4a357cd9494cebfe1c45280d2975dbcf043f383ddc6236ca821c4fda",
    ),
    "deprecated": (
        ev.Deprecated(ONE, True, -1),
        "94aa64657072656361746564c410000102030405060708090a0b0c0d0e0fc3ff",
        "be866721db22d7e78cfbeaec86a9412c1fff95b8fad238bf3cf06648d77ca292",
    ),
    "beliefs_set": (
        ev.BeliefsSet("predicate", "status", "single", 3),
        "95ab62656c696566735f736574a9707265646963617465a6737461747573a673696e676c6503",
        "009b386a36b203e03193c3258e24b08bb307d735001769a490b6deed22fe72a2",
    ),
    "accessed": (
        ev.Accessed([ONE, TWO], [3, 4]),
        "93a8616363657373656492c410000102030405060708090a0b0c0d0e0fc410101112131415161718191a1b1c1d1e1f920304",
        "43fd4733669a7563682ea4a373dac4d4b97fc004667f0aec01a220ca1d85c141",
    ),
    "forked": (
        ev.Forked(ONE, TWO, 7, [TWO], [ONE], 3, [4]),
        (
            "98a6666f726b6564c410000102030405060708090a0b0c0d0e0fc410101112131415161718191a1b1c1d1e1f0791c410"
            "101112131415161718191a1b1c1d1e1f91c410000102030405060708090a0b0c0d0e0f039104"
        ),
        "8da2780675ec2d5d711e4efd83bbbe501c6e65978a60bda8176d333ee4ee2372",
    ),
    "merged": (
        ev.Merged(ONE, TWO, 7, [TWO], [ONE], 3),
        (
            "97a66d6572676564c410000102030405060708090a0b0c0d0e0fc410101112131415161718191a1b1c1d1e1f0791c410"
            "101112131415161718191a1b1c1d1e1f91c410000102030405060708090a0b0c0d0e0f03"
        ),
        "dcc4c9ac34b81c04d9135fdbaacec3e85ee0997b5103849c6cf27e969a7c981b",
    ),
    "recalled": (
        ev.Recalled(ONE, [TWO], 3),
        "94a8726563616c6c6564c410000102030405060708090a0b0c0d0e0f91c410101112131415161718191a1b1c1d1e1f03",
        "3d2051028f3e9ca9f535fe60ebdda412fef2a388c4456bbd96bb0f0884b9ccd6",
    ),
    "profiled": (
        ev.Profiled(ONE, "arbiter", ["user"], ["supports", "refines"], -1),
        (
            "96a870726f66696c6564c410000102030405060708090a0b0c0d0e0fa76172626974657291a47573657292a8737570"
            "706f727473a7726566696e6573ff"
        ),
        "3bc5acde592806ab75d69e27d4e797651bb9314011f197b78785309b54684aba",
    ),
    "guarded": (
        ev.Guarded(ONE, "warn", "enforce", -1),
        "95a767756172646564c410000102030405060708090a0b0c0d0e0fa47761726ea7656e666f726365ff",
        "b9264a7a384475da62e1cd4a413630290a0ffbc5b932af8e1be045d5b020dd1d",
    ),
    "plan_set": (
        ev.PlanSet("free", {"worlds": 3, "recall_k": 20}, ["vectors"], -1),
        "95a8706c616e5f736574a46672656582a8726563616c6c5f6b14a6776f726c64730391a7766563746f7273ff",
        "2ac89992a5650289fe004f085ab3299872561aa79f190e34edfdfec6510d7763",
    ),
    "account_set": (
        ev.AccountSet(ONE, "free", True, 1, -1),
        "96ab6163636f756e745f736574c410000102030405060708090a0b0c0d0e0fa466726565c301ff",
        "472ea9640cacb40bc7da612ecf20968ac7ab7575c8564e6fae75bc39631094fd",
    ),
    "key_made": (
        ev.KeyMade(TWO, ONE, b"", "write", HASH, TIME, 2, -1),
        (
            "99a86b65795f6d616465c410101112131415161718191a1b1c1d1e1fc410000102030405060708090a0b0c0d0e0fc400"
            "a57772697465c420404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5fcf000660be0ab5c0"
            "0002ff"
        ),
        "7f40e41e4a7d4dc71acb88cd93b2adfc8e9e4028ea21b0bb5a0060cadf6ffcbc",
    ),
    "key_ended": (
        ev.KeyEnded(TWO, -1),
        "93a96b65795f656e646564c410101112131415161718191a1b1c1d1e1fff",
        "feeb859ba9c55104a21ad32718d16bf009bc0537dc671712a8fdaa0efedc47a7",
    ),
    "stated": (
        ev.Stated(ONE, 1, [1, 2, 3], [1, 2, 3, 0], TIME, FOREVER),
        "97a6737461746564c410000102030405060708090a0b0c0d0e0f01930102039401020300cf000660be0ab5c000cf7fffffffffffffff",
        "446603e53d31fd3c88fc835e90abbc429857fc40d8b5e5a15fe7e96b070af700",
    ),
    "unstated": (
        ev.Unstated(ONE, 2, [1, 2, 3, 0], TIME),
        "95a8756e737461746564c410000102030405060708090a0b0c0d0e0f029401020300cf000660be0ab5c000",
        "debbe249c5d798792a337eb75bdadcf83de6ca48f503ed7e16c2a0fb3b71c8d8",
    ),
    "struck": (
        ev.Struck(ONE, [(7, 1)], [[0, 2]], [HASH], [4], 1),
        (
            "97a673747275636bc410000102030405060708090a0b0c0d0e0f919207019192000291c420404142434445464748494a"
            "4b4c4d4e4f505152535455565758595a5b5c5d5e5f910401"
        ),
        "c22349e6ca255abd3a928d4af9e0851ca373dcda2cbdd69b63bf965c9ce6ceea",
    ),
    "struck_elsewhere": (
        ev.StruckElsewhere(ONE, [(7, 1)], [[0, 2]], [HASH], [4], 1, 8),
        (
            "98b073747275636b5f656c73657768657265c410000102030405060708090a0b0c0d0e0f919207019192000291c42040"
            "4142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f91040108"
        ),
        "9e6e4d0fa57a4eea1495a1ea9afad704637b13088052376c6efc240a39958542",
    ),
}
