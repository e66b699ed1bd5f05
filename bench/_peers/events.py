"""The eventsourcing library with SQLite: appended events, and aggregates replayed from them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from bench._peers.contract import Kind, Peer, installed


def _opened(folder: Path) -> Peer:
    made: Peer = import_module("bench._peers.aggregates").Facts(folder)
    return made


KIND = Kind("eventsourcing", installed("eventsourcing"), "nothing", _opened)
