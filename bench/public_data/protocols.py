"""Answering and judging protocols of four sources, in our own words.

A protocol defines what an extractor keeps of a turn, how a question is answered from the hits, how the answer is
judged, and the form of a verdict. The rules are those of the source, but no prompt is copied, so a protocol's figures
are not its source's figures. Where a source does not give a rule, the form is ours and the protocol says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from worlddb.projections.indexes import analysis

RIGHT, WRONG, UNCLEAR = "right", "wrong", "unclear"
UNANSWERABLE: Final = "unanswerable"
PREFERENCE, UPDATE, TEMPORAL = "single-session-preference", "knowledge-update", "temporal-reasoning"
USER, ASSISTANT, SESSIONS = "single-session-user", "single-session-assistant", "multi-session"


class Verdict(NamedTuple):
    """What a judge said: ``right``, ``wrong`` or ``unclear``, and its score from 0 to 1 where it gives one."""

    verdict: str
    score: float | None = None


class Protocol(NamedTuple):
    """The rules of a source in our words.

    ``rules`` go into the answerer's prompt by type of question, ``judging`` into the judge's. ``fields`` of an
    enrichment are those that its extractor keeps. ``by_time``: what was recalled is shown oldest first, else best
    first. ``mark`` is what stands before the answer. ``read`` reads a verdict.
    """

    name: str
    source: str
    answering: str
    rules: Mapping[str, str]
    mark: str
    by_time: bool
    judge: str
    judging: Mapping[str, str]
    verdict_tokens: int
    read: Callable[[str], Verdict]
    fields: tuple[str, ...]
    wordings: int = 0
    """How many other wordings of a question its source asks a model for."""

    def answer_prompt(self, kind: str, question: str, now: str, passages: str) -> str:
        """The prompt of the answerer."""
        return self.answering.format(
            rule=self.rules.get(kind, self.rules.get("", "")), question=question, now=now, passages=passages
        )

    def judge_prompt(self, kind: str, question: str, expected: str, given: str) -> str:
        """The prompt of the judge."""
        rule = self.judging.get(kind, self.judging.get("", ""))
        return self.judge.format(rule=rule, question=question, expected=expected, given=given)

    def answer(self, said: str) -> str:
        """The answer in what the model said: what stands behind the last mark, or all of it if there is none."""
        place = said.upper().rfind(self.mark.upper())
        return said[place + len(self.mark) :].strip() if place >= 0 else said.strip()


def _one_word(right: str, wrong: str) -> Callable[[str], Verdict]:
    def read(said: str) -> Verdict:
        word = said.strip().strip("*\"'.").upper()
        return Verdict({right: RIGHT, wrong: WRONG}.get(word, UNCLEAR))

    return read


class _ScoredVerdict(msgspec.Struct):
    is_correct: bool
    correctness_score: float


def _parse_scored(said: str) -> Verdict:
    """A verdict as an object with a flag and a score: only a whole score is right (Hydra DB, tables 4 to 8)."""
    begin, end = said.find("{"), said.rfind("}")
    try:
        found = msgspec.json.decode(said[begin : end + 1], type=_ScoredVerdict)
    except msgspec.MsgspecError:
        return Verdict(UNCLEAR)
    if not 0 <= found.correctness_score <= 1 or found.is_correct != (found.correctness_score == 1):
        return Verdict(UNCLEAR)
    return Verdict(RIGHT if found.is_correct else WRONG, found.correctness_score)


WORLDDB: Final = Protocol(
    name="worlddb",
    source="our own",
    answering="""\
You are helping a person by what was said in earlier conversations with them. Below are passages from these \
conversations, oldest first, each with the time at which it was said. The present time is {now}; work out expressions \
such as "last week" from the time of the passage that they stand in, and those of the question from the present.

Passages:
{passages}

The person asks: {question}

Work it out in these steps, briefly. First write down which passages are about exactly what is asked, and not merely \
about something like it. If the same thing is told differently at different times, the latest passage holds, unless \
the person asks how it was before. If a number or a list is asked for, write down every instance that the passages \
hold, each once, and count them then. If a piece of advice is asked for, give one that fits what the person said that \
they like, own or avoid. If the passages do not hold what is asked, say that they do not.

End with one line that begins with "ANSWER:" and holds the answer alone.
""",
    rules={},
    mark="ANSWER:",
    by_time=True,
    judge="""\
A question was asked about earlier conversations. Compare the answer that was given with the expected one.

Question: {question}
Expected: {expected}
Given: {given}

The given answer is right if it says the same as the expected one in whatever words, more detail included, as long as \
nothing in it contradicts the expected one. Numbers, names and dates have to be the same, unless the expected answer \
itself says that they are approximate. {rule}

Reply with one word: RIGHT or WRONG.
""",
    judging={
        UNANSWERABLE: "The question cannot be answered from the conversations: right is only an answer that says so.",
        PREFERENCE: "The expected text describes what a fitting answer takes into account: right is an "
        "answer that takes up what it says about the person, even if not all of it.",
        TEMPORAL: "Where days, weeks or months are counted, one more or less is right as well.",
        UPDATE: "An answer that also tells how it was before is right if it gives the present state as such.",
    },
    verdict_tokens=8,
    read=_one_word("RIGHT", "WRONG"),
    fields=(),
)

HYDRA: Final = Protocol(
    name="hydra",
    source="Hydra DB, appendix A",
    answering="""\
{rule}

The question: {question}
It is asked at: {now}

What was recalled:
{passages}

Answer by what was recalled alone, directly and by facts; make nothing up. If it does not suffice, say that you do not \
know. Write two parts: "Reasoning:" with how you come to it, step by step, then "Answer:" with the answer.
""",
    rules={
        "": "The question is about what was said in earlier conversations.",
        USER: "The question is about something that the user told in an earlier conversation. Say what they told.",
        ASSISTANT: "The question is about something that you, the assistant, said earlier. Say again just that.",
        PREFERENCE: "The question wants an answer made for this user. Do not list what they like, dislike or own, but "
        "use it; where nothing answers directly, conclude from what there is.",
        SESSIONS: "The answer lies in several conversations: bring together, compare or add up what they say.",
        UPDATE: "What is asked about may have changed. Give the latest state; an earlier one may be told beside it.",
        TEMPORAL: "The question is about times. Mind dates, spans and order, and calculate where it is needed.",
        UNANSWERABLE: "What is asked may never have been said. If you do not find it, say so, and invent nothing.",
    },
    mark="Answer:",
    by_time=False,
    judge="""\
Hold an answer against the one that is expected.

Question: {question}
Given: {given}
Expected: {expected}

{rule}

What counts is whether the core of the expected answer is in the given one; other words for it do not matter. Reply \
with one JSON object and nothing else: "is_correct" (true or false), "correctness_score" (0.0 to 1.0), "explanation" \
(a sentence), "key_matches" and "key_misses" (lists of facts).
""",
    judging={
        "": "True with 1.0: it has the expected answer, with or without further details that are so. False with 0.3 to "
        "0.7: it has only some of the key facts. False with 0.0: it is wrong, or says that it does not know.",
        PREFERENCE: "The expected text is no answer but says what a personal one takes up; not every point has to be. "
        "True with 1.0: it uses rightly what is known of the user. False with 0.3 to 0.9: it mentions their "
        "preferences and hardly uses them. False with 0.0: it passes over or goes against them.",
        UPDATE: "True with 1.0: it has the latest state, with or without an earlier one beside it. False with 0.2 to "
        "0.4: it takes old and new for one another. False with 0.0: it has only what is outdated.",
        TEMPORAL: "True with 1.0: the time that it comes to is the expected one. False with less: it is not, the less "
        "the further off.",
        UNANSWERABLE: "What is asked was never said. True with 1.0: it says so, says that it does not know, or is "
        "unsure. False with 0.0: it answers all the same.",
    },
    verdict_tokens=400,
    read=_parse_scored,
    fields=("resolved", "preferences", "constraints"),
    wordings=3,
)

LONGMEMEVAL: Final = Protocol(
    name="longmemeval",
    source="LongMemEval (Wu et al. 2025), its evaluation and its reading in steps",
    answering="""\
These are pieces of earlier chats with a user, in the order of their dates:

{passages}

Today is {now}. The user asks: {question}

First take from each piece what bears on the question, or say that nothing does. Then think by what you took, and \
give the answer behind "Answer:".
""",
    rules={},
    mark="Answer:",
    by_time=True,
    judge="""\
{rule}

Question: {question}
Expected: {expected}
Response: {given}

Reply with yes or no alone.
""",
    judging={
        "": "Say yes if the response has the expected answer, or says as much, or has all steps that lead to it; no if "
        "it has only a part of what is expected.",
        TEMPORAL: "Say yes if the response has the expected answer, or says as much, or has all steps that lead to it; "
        "no if it has only a part. A count of days, weeks or months that is off by one is no fault.",
        UPDATE: "Say yes if the response has the updated answer, also if it tells what was before beside it.",
        PREFERENCE: "The expected text says what a response that suits the user would have. Say yes if the response "
        "recalls and uses rightly what is known of the user; it need not have every point.",
        UNANSWERABLE: "The question cannot be answered, for the reason that is given as expected. Say yes if the "
        "response sees that: it says that this is not known, or that something else is.",
    },
    verdict_tokens=10,
    read=_one_word("YES", "NO"),
    fields=(),
)

KUMIHO: Final = Protocol(
    name="kumiho",
    source="Kumiho §15.2 and §15.3; it does not print its judge's form, which is ours",
    answering="""\
You talk with somebody whom you have known for long. What you recall, the most relevant first:

{passages}

It is {now}. They say: {question}

Answer as somebody who remembers this: where what you recall bears on it, though other words were used, let the answer \
show it, above all where the two do not go together. Do not be carried off by the tone of what they say. Say in \
a few words what is asked for, by what you recall alone; if that does not hold it, say "No information available". \
Write the answer behind "Answer:".
""",
    rules={},
    mark="Answer:",
    by_time=False,
    judge="""\
Somebody said something a while ago that bears on what they say now. Does the reply show that it is remembered?

What they say now: {question}
What is to be remembered, or the expected answer: {expected}
The reply: {given}

{rule} Reply with one word: CORRECT or WRONG.
""",
    judging={
        "": "Correct: it takes up what is to be remembered, or says what is expected, in whatever words. Wrong: it "
        "passes over it, or makes up what nobody said in its place.",
        UNANSWERABLE: "Nothing was said of it. Correct: it says that there is no such information. Wrong: it answers.",
    },
    verdict_tokens=8,
    read=_one_word("CORRECT", "WRONG"),
    fields=("resolved", "events", "questions"),
    wordings=4,
)

PROTOCOLS: Final = {each.name: each for each in (WORLDDB, HYDRA, LONGMEMEVAL, KUMIHO)}


class Case(NamedTuple):
    """A calibration case: what a judge that follows the rules says of an answer."""

    kind: str
    question: str
    expected: str
    given: str
    right: bool


_CAT: Final = "What is the name of Nora's cat?"
_RENT: Final = "What is the rent now?"
_GIFT: Final = "What shall I cook tonight?"
_TASTE: Final = "It takes into account that the user eats no meat and likes to cook with lentils."
_SPAN: Final = "How many days passed between the two visits?"
_BOAT: Final = "What did I pay for the boat?"
_NEVER: Final = "A boat was never spoken of."
CASES: Final = (
    Case(USER, _CAT, "Pickle", "The cat is called Pickle.", right=True),
    Case(USER, _CAT, "Pickle", "Pickle, a grey tabby, if I recall it well.", right=True),
    Case(USER, _CAT, "Pickle", "The cat is called Pepper.", right=False),
    Case(USER, _CAT, "Pickle", "I do not know.", right=False),
    Case(SESSIONS, "Which towns did we visit?", "Bergen and Oslo", "To Bergen alone.", right=False),
    Case(SESSIONS, "Which towns did we visit?", "Bergen and Oslo", "Oslo, and before it Bergen.", right=True),
    Case(UPDATE, _RENT, "950 euros", "950 euros; it was 900 before.", right=True),
    Case(UPDATE, _RENT, "950 euros", "900 euros.", right=False),
    Case(TEMPORAL, _SPAN, "14 days", "Two weeks.", right=True),
    Case(TEMPORAL, _SPAN, "14 days", "About a month.", right=False),
    Case(PREFERENCE, _GIFT, _TASTE, "A lentil stew would be something for you, without meat.", right=True),
    Case(PREFERENCE, _GIFT, _TASTE, "Roast a chicken.", right=False),
    Case(UNANSWERABLE, _BOAT, _NEVER, "You have not told me of a boat.", right=True),
    Case(UNANSWERABLE, _BOAT, _NEVER, "4,000 euros.", right=False),
)
"""Of our own: nothing of them is of a benchmark."""


class Calibration(NamedTuple):
    """How many of the calibration cases a judge decided as the rules say; ``missed`` are the places of the others."""

    cases: int
    agreed: int
    missed: tuple[int, ...]


def calibrate(protocol: Protocol, ask: Callable[[str], str]) -> Calibration:
    """Ask a judge about every case."""
    prompts = (protocol.judge_prompt(each.kind, each.question, each.expected, each.given) for each in CASES)
    said = [protocol.read(ask(prompt)).verdict for prompt in prompts]
    wanted = [RIGHT if each.right else WRONG for each in CASES]
    missed = tuple(place for place, pair in enumerate(zip(said, wanted, strict=True)) if pair[0] != pair[1])
    return Calibration(len(CASES), len(CASES) - len(missed), missed)


_WORD: Final = re.compile(r"[^\W_]+")
_ARTICLES: Final = frozenset(("a", "an", "the", "and"))
_REFUSING: Final = re.compile(
    r"\bno (?:such )?information\b|\bnot (?:mentioned|available|known|said|told)\b|\b(?:do not|don['’]t) know\b"
    r"|\b(?:cannot|can['’]t) (?:be answered|tell|say|answer)\b|\b(?:never|not) (?:told|spoken|said|mentioned)\b",
    re.I,
)


def token_f1(expected: str, given: str) -> float:
    """The harmonic mean of precision and recall of an answer's stems, as LoCoMo counts them (Kumiho §15.2).

    Words are those of letters and digits without articles, in small letters. The stems are Snowball's for English,
    where the benchmark has Porter's.
    """
    wanted, said = (_stems(text) for text in (expected, given))
    shared = (wanted & said).total()
    return 2 * shared / (wanted.total() + said.total()) if shared else 0.0


def _stems(text: str) -> Counter[str]:
    words = [word for word in _WORD.findall(text.lower()) if word not in _ARTICLES]
    return Counter(analysis.analyze(" ".join(words)).stems)


def is_refusal(given: str) -> bool:
    """True if an answer says that it is not known; of a question without an answer only that counts."""
    return _REFUSING.search(given) is not None
