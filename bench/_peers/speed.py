"""Speed of the peers: they take turns at each piece of work, in one process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Final

from bench._peers.contract import Peer
from bench.measuring.report import p50, p95

LOADS: Final = 4
"""The texts are loaded in so many parts."""


class Floor:
    """A line appended to a file and synced: what any durable write pays."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(folder / "lines", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def write(self, text: str) -> float:
        began = perf_counter()
        os.write(self._file, f"{text}\n".encode())
        os.fsync(self._file)
        return 1000 * (perf_counter() - began)

    def close(self) -> None:
        os.close(self._file)


def loads(peers: Mapping[str, Peer], texts: Mapping[str, str], question: str) -> dict[str, dict[str, float]]:
    """Texts a second until all are acknowledged, and until a search among all of them has been answered."""
    size = -(-len(texts) // LOADS)
    items = iter(texts.items())
    seconds_by_peer = dict.fromkeys(peers, 0.0)
    while part := dict(islice(items, size)):
        for name, peer in peers.items():
            began = perf_counter()
            peer.load(part)
            seconds_by_peer[name] += perf_counter() - began
    results = {}
    for name, peer in peers.items():
        began = perf_counter()
        peer.settle()
        peer.search(question)
        found = seconds_by_peer[name] + perf_counter() - began
        results[name] = {
            "load_per_s": round(len(texts) / seconds_by_peer[name], 1),
            "load_found_per_s": round(len(texts) / found, 1),
        }
    return results


def writes(
    peers: Mapping[str, Peer], floor: Floor, texts: Mapping[str, str]
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Milliseconds until a write is acknowledged, and until a search has found it; and those of the floor."""
    latencies_ms: dict[str, list[float]] = {name: [] for name in peers}
    until_found: dict[str, list[float]] = {name: [] for name in peers}
    found = dict.fromkeys(peers, 0)
    floor_taken = []
    for number, (key, text) in enumerate(texts.items()):
        for name, peer in _turns(peers, number):
            began = perf_counter()
            peer.write(key, text)
            latencies_ms[name].append(1000 * (perf_counter() - began))
            peer.settle()
            found[name] += text in peer.search(text)
            until_found[name].append(1000 * (perf_counter() - began))
        floor_taken.append(floor.write(text))
    results = {
        name: {
            **_times("write", latencies_ms[name]),
            **_times("write_found", until_found[name]),
            "written_found": round(found[name] / len(texts), 4),
        }
        for name in peers
    }
    return results, _times("write", floor_taken)


def searches(peers: Mapping[str, Peer], questions: Sequence[tuple[str, str]]) -> dict[str, dict[str, float]]:
    """Milliseconds of a search, and the share of questions whose own text is among the hits."""
    taken: dict[str, list[float]] = {name: [] for name in peers}
    found = dict.fromkeys(peers, 0)
    for number, (question, text) in enumerate(questions):
        for name, peer in _turns(peers, number):
            began = perf_counter()
            hits = peer.search(question)
            taken[name].append(1000 * (perf_counter() - began))
            found[name] += text in hits
    return {
        name: {**_times("search", taken[name]), "found_at_10": round(found[name] / len(questions), 4)} for name in peers
    }


def _turns(peers: Mapping[str, Peer], number: int) -> Iterator[tuple[str, Peer]]:
    """All peers, each time beginning with another one."""
    items = list(peers.items())
    first = number % max(1, len(items))
    yield from items[first:] + items[:first]


def _times(name: str, milliseconds: Sequence[float]) -> dict[str, float]:
    return {f"{name}_p50_ms": round(p50(milliseconds), 3), f"{name}_p95_ms": round(p95(milliseconds), 3)}


def bytes_on_disk(folder: Path) -> int:
    """What the files of a folder take, in whole blocks."""
    return sum(512 * file.stat().st_blocks for file in folder.rglob("*") if file.is_file())
