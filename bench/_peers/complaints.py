"""Checks of common complaints about memory stores; nothing here knows which peer it checks."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench._peers.contract import Kind, Peer, vectors_of
from bench._peers.processes import Process, Refused

WRITES: Final = 10
"""How many texts each of two processes writes."""

_MARKED: Final = ("marked one", "marked two")
_MARKER_LETTERS: Final = 24
_BEFORE: Final = "Ada lives in Lisbon, close to the river."
_AFTER: Final = "Ada lives in Porto, close to the sea."
_KEY: Final = "home"
_SLICE_BYTES: Final = 32
_SLICES: Final = 8


def ask_all(kind: Kind, folder: Path) -> dict[str, Any]:
    """Run all checks on one peer, in a folder of its own."""
    return {
        **check_updates(kind, folder / "updated"),
        "killed_write_kept": check_kill(kind, folder / "killed"),
        "two_writers": check_two_writers(kind, folder / "together"),
        "other_process_finds": check_other_process(kind, folder / "others"),
    }


def check_updates(kind: Kind, folder: Path) -> dict[str, bool | None]:
    """Whether a replaced text is still found as current, and whether it can be read as of the past.

    The latter is ``None`` where the peer has no way to ask.
    """
    peer = kind.open(folder)
    try:
        peer.load({f"other {number}": f"Somebody else lives in town {number}." for number in range(20)})
        peer.write(_KEY, _BEFORE)
        peer.settle()
        moment = peer.moment()
        peer.replace(_KEY, _AFTER)
        peer.settle()
        found = peer.search("Where does Ada live, close to the river?")
        past = None if moment is None else peer.read_at(moment, _KEY) == _BEFORE
        return {"new_text_found": _AFTER in found, "replaced_text_found": _BEFORE in found, "past_answered": past}
    finally:
        peer.close()


def check_kill(kind: Kind, folder: Path) -> bool:
    """Whether a write survives a kill right after it was acknowledged."""
    with Process(kind.name, folder) as process:
        process.ready()
        process.write({_KEY: _BEFORE})
        process.kill()
    return _read(kind, folder, [_KEY]) == [_BEFORE]


def check_two_writers(kind: Kind, folder: Path) -> dict[str, Any]:
    """Acknowledged texts lost when two processes write at the same time, and their errors."""
    kind.open(folder).close()
    texts = [{f"{who} {number}": f"Text {number} of {who}." for number in range(WRITES)} for who in ("one", "two")]
    kept: dict[str, str] = {}
    refused = None
    with Process(kind.name, folder) as one, Process(kind.name, folder) as two:
        both = list(zip((one, two), texts, strict=True))
        for process, _ in both:
            refused = _refusal(process.ready) or refused
        for process, mine in both:
            refused = _refusal(lambda process=process, mine=mine: process.begin(mine)) or refused
        for process, mine in both:
            told = _refusal(process.answer)
            refused = told or refused
            kept |= {} if told else mine
    return {"acknowledged": len(kept), "lost": _count_lost(kind, folder, kept), "refused": refused}


def _refusal(call: Any) -> str | None:
    try:
        call()
    except Refused as error:
        return str(error)
    return None


def _count_lost(kind: Kind, folder: Path, texts: dict[str, str]) -> int:
    found = _read(kind, folder, list(texts))
    return sum(one != other for one, other in zip(found, texts.values(), strict=True))


def check_other_process(kind: Kind, folder: Path) -> bool | None:
    """Whether an open process finds another's write; ``None`` if it was refused."""
    peer = kind.open(folder)
    try:
        peer.load({f"other {number}": f"Somebody else lives in town {number}." for number in range(20)})
        peer.settle()
        peer.search(_BEFORE)
        with Process(kind.name, folder) as process:
            process.ready()
            process.write({_KEY: _BEFORE})
        return _BEFORE in peer.search(_BEFORE)
    except Refused:
        return None
    finally:
        peer.close()


def _read(kind: Kind, folder: Path, keys: Sequence[str]) -> list[str | None]:
    peer = kind.open(folder)
    try:
        return [peer.read(key) for key in keys]
    finally:
        peer.close()


class Marked:
    """Two texts with unique letters, to search for in files after deletion."""

    def __init__(self, draw: random.Random) -> None:
        self._letters = {key: "".join(draw.choices(string.ascii_lowercase, k=_MARKER_LETTERS)) for key in _MARKED}
        self.texts = {key: f"The word of the day is {letters}." for key, letters in self._letters.items()}

    def left(self, kind: Kind, folder: Path) -> dict[str, dict[str, bool | None]]:
        """What is left of the one after it was deleted, and of the other after the clean-up that a peer has."""
        deleted, expunged = _MARKED
        return {
            "left_after_delete": self._left(kind, folder, deleted, expunge=False),
            "left_after_cleaning": self._left(kind, folder, expunged, expunge=True),
        }

    def _left(self, kind: Kind, folder: Path, key: str, *, expunge: bool) -> dict[str, bool | None]:
        """Of text and vector: whether it is left; ``None`` if it could not be seen in any file before either."""
        needles = {"text": [self._letters[key].encode()], "vector": _slices(self.texts[key])}
        before = {name: _find_in_files(folder, each) for name, each in needles.items()}
        peer: Peer = kind.open(folder)
        try:
            assert peer.read(key) == self.texts[key], f"{kind.name} does not have {key}"
            (peer.expunge if expunge else peer.delete)(key)
            assert peer.read(key) is None, f"{kind.name} did not delete {key}"
        finally:
            peer.close()
        return {name: _find_in_files(folder, each) if before[name] else None for name, each in needles.items()}


def _slices(text: str) -> list[bytes]:
    """Pieces of a text's vector, in 32-bit and in 16-bit numbers; a page may end anywhere in it."""
    (vector,) = vectors_of([text], query=False)
    pieces = []
    for data in (vector.tobytes(), vector.astype("float16").tobytes()):
        step = len(data) // _SLICES
        pieces += [data[first : first + _SLICE_BYTES] for first in range(0, len(data) - _SLICE_BYTES, step)]
    return pieces


def _find_in_files(folder: Path, needles: Sequence[bytes]) -> bool:
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            if any(needle in data for needle in needles):
                return True
    return False
