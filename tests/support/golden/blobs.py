"""One blob of each type: its value, its bytes, and its id."""

from __future__ import annotations

from tests.support.golden.values import HASH, NONCE
from worlddb.log.model.blobs import Body, Cause, Details, Evidence, Secret, Space, Vector

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
    "evidence": (
        Evidence(NONCE, b"\x01\x02", b"\x03", [(4, b"\x05")]),
        "95a865766964656e6365c410606162636465666768696a6b6c6d6e6fc4020102c40103919204c40105",
        "9c23577b1593298a690668563b6d548b03336d0592e5d57522c6c21ecc3bc15e",
    ),
    "vector": (
        Vector(NONCE, bytes(range(4)), 1, 66),
        "95a6766563746f72c410606162636465666768696a6b6c6d6e6fc404000102030142",
        "8fd30b8f1bd0be95fabadf84c39fac1465e59a292acfc178a036a5bb764b337d",
    ),
}
