"""Foreign texts as one safe line: no line ends, cursor movement or change of writing direction."""

import re
from collections import Counter
from collections.abc import Container
from typing import Final

from worlddb.log.model import errors, limits, times

JOINERS: Final = frozenset("\u200c\u200d")
"""Characters that shape those around them, in Persian and in emoji."""
beginning = errors.beginning
clipped = errors.clipped
concealed = errors.concealed
is_blank = limits.is_blank
meant_arguments = limits.meant_arguments
format_bound = times.format_bound


def escaped(text: str, kept: frozenset[str] = JOINERS) -> str:
    """Replace each character that is not shown by its escape, as ``\\n`` or ``\\u2028``."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in kept else ascii(character)[1:-1] for character in text
    )


def shown(value: object) -> str:
    """Return the beginning of a given value for a message, even if it cannot be printed."""
    return escaped(errors.shown(value))


def one_line(text: str) -> str:
    """Return a text as one line, with blanks for its line ends and escapes for what is not shown."""
    return escaped(" ".join(text.split()))


WHOLE_PAIR: Final = "Write both halves, such as \\ud83d\\ude00, or leave the half out"
_ESCAPE: Final = re.compile(rb"\\(?:u([0-9A-Fa-f]{4})|.)", re.DOTALL)


def half_surrogate(given: bytes) -> re.Match[bytes] | None:
    """Return the first escape in a JSON text that is half of a surrogate pair; ``None`` if all have both halves."""
    half: re.Match[bytes] | None = None
    for found in _ESCAPE.finditer(given):
        is_high, is_low = (found[1] is not None and int(found[1][:2], 16) & 0xFC == kind for kind in (0xD8, 0xDC))
        if half is not None and not (is_low and found.start() == half.end()):
            break
        if is_high or (is_low and half is None):
            half = found
            if is_low:
                break
        else:
            half = None
    return half


_WORD: Final = re.compile(r"\w{2,}")
_BEGINNING: Final = 5
"""Letters by which a word of a text is one of a question: "live" and "lives", "moved" and "moving"."""
_CUT: Final = "…"


_STRETCH: Final = 4096
"""Characters of a stretch of a long text, or of an excerpt that is longer."""
_READ: Final = 8
"""Stretches of a long text that are read word by word; of one with twice as many, all are."""
_CHOOSING: Final = 32
"""Words of a question by which they are chosen."""


def around(text: str, question: str, limit: int) -> str:
    """Return a text, or its excerpt of ``limit`` characters with the most words of a question, as :class:`Excerpts`."""
    return text if len(text) <= limit else Excerpts(text, question, limit).at_most(limit)


class Excerpts:
    """Excerpts of one text, each of up to ``longest`` characters, with the most words of a question.

    A word counts for less the more often the text has it, and of a long text the more of its stretches do. Of a long
    text only the stretches with the most are read, so an excerpt costs little more than a search for each word.
    """

    def __init__(self, text: str, question: str, longest: int) -> None:
        self._text = text
        asked = dict.fromkeys(word[:_BEGINNING] for word in _WORD.findall(question.casefold()))
        step = max(_STRETCH, longest)
        self._often: Counter[str] = Counter()
        self._places: list[list[tuple[int, str]]] = []
        if not asked:
            return
        if len(text) <= 2 * _READ * step:
            self._places = [_places(text, asked)]
            self._often.update(word for _, word in self._places[0])
        else:
            self._places = self._read_best(list(asked)[:_CHOOSING], step)

    def _read_best(self, asked: list[str], step: int) -> list[list[tuple[int, str]]]:
        """Return the places in the stretches with the most words, and count the stretches that have each."""
        begins = [(word, re.compile(rf"\b{re.escape(word)}").search) for word in asked]
        held: list[tuple[int, list[str]]] = []
        for start in range(0, len(self._text), step):
            # What begins in a stretch may reach into the next.
            stretch = self._text[start : start + step + step // 2].casefold()
            words = [word for word, search in begins if word in stretch and search(stretch)]
            held.append((start, words))
            self._often.update(words)
        held.sort(key=lambda each: -sum(1 / self._often[word] for word in each[1]))
        best = sorted(start for start, words in held[:_READ] if words)
        return [_places(self._text[start : start + step + step // 2], asked, start) for start in best]

    def at_most(self, limit: int) -> str:
        """Return the text, or its best excerpt of ``limit`` characters.

        Of equal pieces the first is taken; one that leaves something out in front or behind has an ellipsis there, and
        begins and ends with a word.
        """
        if len(self._text) <= limit:
            return self._text
        best, start = 0.0, 0
        for places in self._places:
            first, held = 0, Counter[str]()
            for at, word in places:
                held[word] += 1
                while at - places[first][0] > limit // 2:
                    held[places[first][1]] -= 1
                    first += 1
                worth = sum(1 / self._often[each] for each, count in held.items() if count)
                if worth > best:
                    best, start = worth, places[first][0]
        return _piece(self._text, max(0, start - limit // 4), limit)


def _places(text: str, asked: Container[str], offset: int = 0) -> list[tuple[int, str]]:
    """Return where a text has words that are asked for, each with its beginning."""
    there = ((match.start() + offset, match[0].casefold()[:_BEGINNING]) for match in _WORD.finditer(text))
    return [(at, word) for at, word in there if word in asked]


def _piece(text: str, start: int, limit: int) -> str:
    """Return an excerpt of a text, cut at word boundaries."""
    start = min(start, len(text) - limit + 1) if start else 0
    if start:
        space = text.find(" ", start, start + limit // 4)
        start = space + 1 if space >= 0 else start
    room = limit - (start > 0)
    end = len(text) if len(text) - start <= room else start + room - 1
    if end < len(text):
        space = text.rfind(" ", start + limit // 2, end + 1)
        end = space if space >= 0 else end
    return (_CUT if start else "") + text[start:end].rstrip() + (_CUT if end < len(text) else "")
