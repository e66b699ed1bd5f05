"""Computes the format's hashes from its description, over whole sets."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from blake3 import blake3


def tagged(tag: str, *fields: bytes) -> bytes:
    """``len(tag) | tag | (len(field) | field)*``: what every hash of the format is taken of."""
    raw = tag.encode()
    return bytes([len(raw)]) + raw + b"".join(len(field).to_bytes(4, "big") + field for field in fields)


def h(tag: str, *fields: bytes) -> bytes:
    return blake3(tagged(tag, *fields)).digest()


def trie_node(entries: Mapping[bytes, bytes], depth: int = 0) -> bytes:
    """The stored bytes of the trie node for entries that agree in ``depth`` digits."""
    if len(entries) <= 128:
        return b"\x00" + b"".join(key + entries[key] for key in sorted(entries))
    below: dict[int, dict[bytes, bytes]] = {}
    for key, value in entries.items():
        below.setdefault(int(key.hex()[depth], 16), {})[key] = value
    bitmap = sum(1 << digit for digit in below)
    children = [
        struct.pack(">I", len(below[digit])) + trie_hash(trie_node(below[digit], depth + 1)) for digit in sorted(below)
    ]
    return b"\x01" + struct.pack(">H", bitmap) + b"".join(children)


def trie_hash(node: bytes) -> bytes:
    return h("worlddb/trie-bucket/1" if node[0] == 0 else "worlddb/trie-branch/1", node)


def trie_root(entries: Mapping[bytes, bytes]) -> bytes:
    """The root hash of a set: the same for the same set, however it came about."""
    return trie_hash(trie_node(entries))


def world(body: bytes, members: Mapping[bytes, bytes], edges: set[bytes], made: int) -> bytes:
    """Equation 2 of the paper: a world's hash of its body, members and interior edges."""
    interior = trie_root(dict.fromkeys(edges, b""))
    return h("worlddb/world/1", body, trie_root(members), interior, struct.pack(">q", made))


def blob(stored: bytes) -> bytes:
    return h("worlddb/blob/1", stored)


def edge(
    type_name: str, ends: tuple[bytes, bytes, bytes, bytes], home: bytes, start: int, details: bytes, nonce: bytes
) -> bytes:
    """An edge's id; ``ends`` are source, its version, target and its version."""
    return h("worlddb/edge/1", type_name.encode(), *ends, home, struct.pack(">q", start), details, nonce)
