"""An enricher without a model: it resolves references of a segment from earlier segments, by rules.

Three things, each by rules of English that the same window gives the same answer to: a pronoun, a "that framework" and
a short reply are told by what was named or asked last, a "yesterday" by the date on which it was said, and a segment of
few words by the words that were said again and again before it. It says nothing of preferences, events or questions:
who wants these lets a model say them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from worlddb.log.model import times
from worlddb.projections.indexes import analysis
from worlddb.query.question import question_dates
from worlddb.reconciler.enrichment.enricher import Enrichment, Segment
from worlddb.reconciler.ingest.extraction import Turn
from worlddb.reconciler.ingest.mentions.mention_extractor import EntityExtractor
from worlddb.reconciler.ingest.mentions.surface_forms import NAME
from worlddb.reconciler.similarity.scores import is_known

MAX_CHARACTERS: Final = 2_000
"""Of a segment that says more little is left open: it is read so far."""
FEW_WORDS: Final = 12
"""A segment with no more words that mean something carries on the topic before it."""
SHORT_REPLY: Final = 3
"""One with no more of them that asks nothing is told by what it replies to."""
MAX_TOPICS: Final = 4
MAX_REPLIED_CHARACTERS: Final = 240

_PERSON: Final = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.I)
_THING: Final = re.compile(
    r"\b(?:it|its)\b(?!(?:['’]s|\s+is|\s+was|\s+will\s+be)\s+(?:\w+ly\s+)?"
    # Where "it" stands for nothing.
    r"(?:time|late|early|hard|easy|possible|important|clear|true|raining|snowing|cold|hot|dark|nice|good|worth|been)\b)"
    r"|\b(?:this|that|these|those)\s+(?:one|ones|(?!is\b|was\b|are\b|were\b|has\b|will\b|would\b|can\b|could\b|day\b"
    r"|week\b|month\b|year\b|morning\b|evening\b|afternoon\b|night\b|weekend\b|time\b|way\b|I\b|he\b|she\b|we\b|you\b"
    r"|they\b|the\b|my\b|your\b|it\b)[a-z]{3,})\b",
    re.I,
)
_OWN_DATE: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DAY: Final = len("2026-11-22")


class _Utterance(NamedTuple):
    """A segment of the window: its speaker, text, names in order and content words."""

    ref: str
    speaker: str
    text: str
    names: tuple[str, ...]
    words: tuple[str, ...]


class ContextEnricher:
    """Resolves a segment's references by rules: names for pronouns, dates for "yesterday", and the topic."""

    name = "context/1"
    asks_a_model = False

    def __init__(self) -> None:
        self._names = EntityExtractor(kinds=(NAME,))

    def __call__(self, segment: Segment, window: Sequence[Segment], /) -> Enrichment:
        """The segment with what it leaves open, or nothing if it leaves nothing open."""
        if len(segment.content) > MAX_CHARACTERS:
            return Enrichment()
        utterances = self._read(window)
        at = next(place for place, each in enumerate(utterances) if each.ref == segment.ref)
        own, before = utterances[at], utterances[:at][::-1]
        used: list[str] = []
        text = _with_dates(own.text, segment.since)
        text = _with_names(text, own, before, used)
        is_reply = len(own.words) <= SHORT_REPLY and not own.text.rstrip().endswith("?")
        if is_reply and before and before[0].speaker != own.speaker:
            asked = analysis.sentences(before[0].text.strip())[-1].strip()[-MAX_REPLIED_CHARACTERS:]
            if asked:
                used.append(before[0].ref)
                text = f"{asked} {text}"
        topic = list(_topic(own, before, used)) if len(own.words) <= FEW_WORDS else []
        if topic:
            text = f"{text} ({', '.join(topic)})"
        if text == own.text:
            return Enrichment(used=())
        speaker = f"{own.speaker}: " if own.speaker else ""
        return Enrichment(resolved=f"{speaker}{text}", used=tuple(dict.fromkeys(used)))

    def _read(self, window: Sequence[Segment]) -> list[_Utterance]:
        split_texts = [analysis.split_speaker(each.content[:MAX_CHARACTERS]) for each in window]
        turns = [Turn(text=text, speaker=speaker) for speaker, text in split_texts]
        found = self._names.mentions(turns)
        return [
            _Utterance(each.ref, speaker, text, tuple(mention.form for mention in names), tuple(_content_words(text)))
            for each, (speaker, text), names in zip(window, split_texts, found, strict=True)
        ]


def _content_words(text: str) -> Iterator[str]:
    """The lower-case words of a text without stop words and numbers."""
    return (word for word in analysis.analyze(text).words if word not in analysis.STOP_WORDS and not word.isdigit())


def _with_dates(text: str, since: int) -> str:
    """The text with dates after its relative times, counted from when it was said."""
    if since <= times.MIN_TIME:
        return text
    for time in question_dates.parse_times(text, since).read:
        start, end = time.span.start, time.span.end
        is_dated = time.is_bound or _OWN_DATE.search(time.words)
        if is_dated or end <= start or start <= times.MIN_TIME or end == times.FOREVER:
            continue
        first, last = (times.format_time(each)[:_DAY] for each in (start, end - 1))
        on = first if end - start <= times.DAY_MICROSECONDS or first == last else f"{first} to {last}"
        place = re.search(re.escape(time.words).replace(r"\ ", r"\s+"), text, re.I)
        if place is not None:
            text = f"{text[: place.end()]} ({on}){text[place.end() :]}"
    return text


def _with_names(text: str, own: _Utterance, before: Sequence[_Utterance], used: list[str]) -> str:
    """The text with the last possible name after the first pronoun of each kind."""
    for form, is_person in ((_PERSON, True), (_THING, False)):
        match = form.search(text)
        if match is None or any(_is_person(name) == is_person and name in text[: match.start()] for name in own.names):
            continue
        for each in before:
            named = next((name for name in reversed(each.names) if _is_antecedent(name, own, is_person)), None)
            if named is not None:
                used.append(each.ref)
                text = f"{text[: match.end()]} ({named}){text[match.end() :]}"
                break
    return text


def _is_antecedent(name: str, own: _Utterance, is_person: bool) -> bool:
    return name != own.speaker and name not in own.names and _is_person(name) == is_person


def _is_person(name: str) -> bool:
    return is_known(name.split(maxsplit=1)[0].casefold())


def _topic(own: _Utterance, before: Sequence[_Utterance], used: list[str]) -> Iterator[str]:
    """Words that two or more earlier segments have and this one lacks, the most frequent first."""
    said = Counter(word for each in before for word in set(each.words))
    words = [word for word, count in said.items() if count > 1 and word not in own.words]
    chosen = sorted(words, key=lambda word: (-said[word], word))[:MAX_TOPICS]
    used += (each.ref for each in before if not set(chosen).isdisjoint(each.words))
    return iter(chosen)
