"""The protocol of summarizers, and an extractive one that uses the members' own sentences.

The stand-in needs no model. It ranks sentences by how near they are to the whole: their words to those of all members,
and, where texts have vectors, their member's to the composed vector of the world (paper §5). What is chosen is dated,
in order of time, and says nothing that the members do not say.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from worlddb.log.model import times
from worlddb.projections.indexes import analysis

MAX_SENTENCES: Final = 12
MAX_CHARACTERS: Final = 1_600
"""The length of an extractive summary: a title, and this much of the members' texts."""
MAX_SENTENCE_CHARACTERS: Final = 400
MAX_READ_CHARACTERS: Final = 4_000
"""How much of each member the extractive summarizer reads."""
_WIDE_STOP: Final = re.compile(r"(?<=[。！？])")
_DATE_CHARACTERS: Final = len("2026-11-22")
_DATED: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}: ")


class Member(NamedTuple):
    """A world as a summarizer is shown it.

    ``content`` is its text, or its own summary's where it has a fresh one. ``since`` is when that began to hold, in
    microseconds; ``nearness`` the cosine to the composed vector of the world that is summed up, if there are vectors.
    """

    ref: str
    type: str
    name: str
    content: str
    since: int
    nearness: float | None = None


class Summarizer(Protocol):
    """Makes one text of a world and its members: a model, a program, a person.

    It is called while the store is not locked, and what it says is recorded: nothing asks it again. One that has a
    ``name`` is named by it in the provenance of what it made. What it raises leaves the world without a new summary,
    and is told in the result; :class:`~worlddb.LimitExceeded` ends the asking.
    """

    def __call__(self, world: Member, members: Sequence[Member], /) -> str:
        """The summary of a world, or an empty text if there is nothing to say."""


class _Sentence(NamedTuple):
    text: str
    member: int
    place: int
    words: Mapping[str, int]


class ExtractiveSummarizer:
    """The summarizer without a model: the members' sentences that are nearest to the whole, each with its date.

    The same members give the same text. ``sentences`` and ``characters`` bound it.
    """

    name = "extractive/1"

    def __init__(self, *, sentences: int = MAX_SENTENCES, characters: int = MAX_CHARACTERS) -> None:
        self._sentences, self._characters = sentences, characters

    def __call__(self, world: Member, members: Sequence[Member], /) -> str:
        """The sentences in order of time, a line each; a member with a title alone gives its title."""
        found = [sentence for at, member in enumerate(members) for sentence in _sentences_of(at, member)]
        whole: Counter[str] = Counter()
        for sentence in found:
            whole.update(sentence.words.keys())
        length = _length(whole)
        scored = sorted(
            found, key=lambda each: (-_score(each, members[each.member], whole, length), each.member, each.place)
        )
        chosen: list[_Sentence] = []
        said: set[str] = set()
        left = self._characters
        for sentence in scored:
            same = " ".join(sentence.text.casefold().split())
            if len(chosen) == self._sentences or left <= 0:
                break
            if same not in said and len(sentence.text) <= max(left, 1):
                said.add(same)
                chosen.append(sentence)
                left -= len(sentence.text)
        chosen.sort(key=lambda each: (members[each.member].since, each.member, each.place))
        return "\n".join(_with_date(each.text, members[each.member].since) for each in chosen)


def _sentences_of(at: int, member: Member) -> list[_Sentence]:
    text = member.content.strip()[:MAX_READ_CHARACTERS] or member.name
    split = (part for sentence in analysis.sentences(text) for part in _WIDE_STOP.split(sentence))
    parts = (" ".join(part.split())[:MAX_SENTENCE_CHARACTERS] for part in split)
    told = [part for part in parts if part]
    return [_Sentence(part, at, place, Counter(_content_stems(part))) for place, part in enumerate(told)]


def _content_stems(text: str) -> list[str]:
    """The stems of a text's words without function words, and their counterparts in scripts without spaces."""
    found = analysis.analyze(text)
    told = zip(found.words, found.stems, strict=True)
    return [*(stem for word, stem in told if word not in analysis.STOP_WORDS), *analysis.grams(found.runs)]


def _score(sentence: _Sentence, member: Member, whole: Mapping[str, int], length: float) -> float:
    """The cosine of a sentence's words and those of all, and of its member to the composed vector."""
    own = _length(sentence.words)
    shared = sum(count * whole[word] for word, count in sentence.words.items())
    by_words = shared / (own * length) if own and length else 0.0
    return round(by_words + (member.nearness or 0.0), 9)


def _length(words: Mapping[str, int]) -> float:
    return math.sqrt(sum(count * count for count in words.values()))


def _with_date(sentence: str, since: int) -> str:
    """A sentence with its date, but for what has always held, or has the date of the summary that it is from."""
    if since <= times.MIN_TIME or _DATED.match(sentence):
        return sentence
    return f"{times.format_time(since)[:_DATE_CHARACTERS]}: {sentence}"
