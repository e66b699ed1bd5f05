"""A trie's nodes in memory, which count how often they are read."""

from __future__ import annotations


class Nodes:
    def __init__(self) -> None:
        self.stored: dict[bytes, bytes] = {}
        self.reads = 0

    def get(self, path: bytes) -> bytes | None:
        self.reads += 1
        return self.stored.get(path)

    def put(self, path: bytes, node: bytes) -> None:
        self.stored[path] = node

    def delete(self, path: bytes) -> None:
        self.stored.pop(path, None)
