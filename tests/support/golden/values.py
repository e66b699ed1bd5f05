"""Ids and a time for golden values."""

from __future__ import annotations

ONE, TWO = bytes(range(16)), bytes(range(16, 32))
EDGE_ID, HASH, NONCE = bytes(range(32, 64)), bytes(range(64, 96)), bytes(range(96, 112))
TIME = 1_795_219_200_000_000
