"""The other half of LongMemEval: a model answers from what was recalled, and a model judges the answers.

The protocol is that of the benchmark's authors: an answer for each question from retrieved turns in the order of their
dates, a yes or no from a judge who knows the right answer, and accuracy by type of question. The prompts are our own.
What a verdict does not say clearly counts as wrong, and is counted. No figure is printed for a question that was not
asked.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from bench._endpoint import INTERFACES, endpoint_of
from bench._haystacks import ABSTAINING
from bench._report import positive
from worlddb import Hit, InputError, MalformedFile, format_time

ANSWER_TOKENS: Final = 512
VERDICT_TOKENS: Final = 8
_CHARACTERS_A_TURN: Final = 4_000
_MARK: Final = "ANSWER:"

ANSWER_PROMPT: Final = """\
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
"""

JUDGE_PROMPT: Final = """\
A question was asked about earlier conversations. Compare the answer that was given with the expected one.

Question: {question}
Expected: {expected}
Given: {given}

The given answer is right if it says the same as the expected one in whatever words, more detail included, as long as \
nothing in it contradicts the expected one. Numbers, names and dates have to be the same, unless the expected answer \
itself says that they are approximate. {rule}

Reply with one word: RIGHT or WRONG.
"""

_RULES: Final = {
    "unanswerable": "The question cannot be answered from the conversations: right is only an answer that says so.",
    "single-session-preference": "The expected text describes what a fitting answer takes into account: right is an "
    "answer that takes up what it says about the person, even if not all of it.",
    "temporal-reasoning": "Where days, weeks or months are counted, one more or less is right as well.",
    "knowledge-update": "An answer that also tells how it was before is right if it gives the present state as such.",
}


class Asked(Protocol):
    """What is needed of a question of the benchmark."""

    @property
    def question_id(self) -> str: ...

    @property
    def question_type(self) -> str: ...

    @property
    def question(self) -> str: ...

    @property
    def question_date(self) -> str: ...

    @property
    def answer(self) -> object: ...


class Model(Protocol):
    """What is needed of an endpoint."""

    def ask(self, prompt: str, *, most_tokens: int) -> str: ...


class Judged(msgspec.Struct, frozen=True):
    """What became of one question. ``verdict`` is ``right``, ``wrong``, ``unclear``, or empty if nobody judged."""

    question_id: str
    question_type: str
    answer: str
    verdict: str


def passages(hits: Sequence[Hit]) -> str:
    """The recalled turns, oldest first, with their times."""
    ordered = sorted(hits, key=lambda hit: (hit.valid.start, hit.seq))
    return "\n".join(f"[{format_time(hit.valid.start)[:16]}] {hit.content[:_CHARACTERS_A_TURN]}" for hit in ordered)


def answered(model: Model, question: Asked, hits: Sequence[Hit]) -> str:
    """What the model answers: what stands behind the last mark, or all of it if there is none."""
    prompt = ANSWER_PROMPT.format(
        now=question.question_date or "not known", passages=passages(hits), question=question.question
    )
    said = model.ask(prompt, most_tokens=ANSWER_TOKENS)
    place = said.upper().rfind(_MARK)
    return said[place + len(_MARK) :].strip() if place >= 0 else said.strip()


def judged(model: Model, question: Asked, expected: str, given: str) -> str:
    """``right``, ``wrong``, or ``unclear`` for anything that is neither."""
    kind = "unanswerable" if ABSTAINING in question.question_id else question.question_type
    rule = _RULES.get(kind, "")
    prompt = JUDGE_PROMPT.format(question=question.question, expected=expected, given=given, rule=rule)
    said = model.ask(prompt, most_tokens=VERDICT_TOKENS).strip().strip("*\"'.").upper()
    return said.lower() if said in ("RIGHT", "WRONG") else "unclear"


class Transcript:
    """What was asked already, one question a line, so that a run that broke off goes on where it stopped."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.done: dict[str, Judged] = {}
        if path is not None and path.exists():
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                try:
                    known = msgspec.json.decode(line, type=Judged)
                except msgspec.MsgspecError as error:
                    raise MalformedFile(
                        f"{path}, line {number}: {error}", "Delete that line: its question is asked again"
                    ) from None
                self.done[known.question_id] = known

    def add(self, found: Judged) -> None:
        self.done[found.question_id] = found
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(found) + b"\n")


class Panel:
    """The models of a run, and what they have said so far."""

    def __init__(self, answerer: Model, judge: Model | None, transcript: Transcript, turns: int) -> None:
        self._answerer = answerer
        self._judge = judge
        self._transcript = transcript
        self._turns = turns
        self._heard: list[Judged] = []

    def hear(self, question: Asked, hits: Sequence[Hit]) -> None:
        """Have a question answered, and the answer judged, unless the transcript has it already."""
        known = self._transcript.done.get(question.question_id)
        if known is None or (self._judge is not None and not known.verdict):
            given = known.answer if known else answered(self._answerer, question, hits[: self._turns])
            verdict = "" if self._judge is None else judged(self._judge, question, str(question.answer), given)
            known = Judged(question.question_id, question.question_type, given, verdict)
            self._transcript.add(known)
        self._heard.append(known)

    def figures(self) -> dict[str, Any]:
        """What was measured, under the keys of the result."""
        return {"answered": len(self._heard), **accuracy(self._heard)}


def add_arguments(arguments: argparse.ArgumentParser) -> None:
    """The options of the answering half."""
    half = arguments.add_argument_group("answers and verdicts by models that you name")
    half.add_argument("--answer", action="store_true", help="have each question answered from what is recalled")
    half.add_argument("--judge", action="store_true", help="have each answer judged")
    half.add_argument("--endpoint", metavar="URL", help="up to the version, such as http://127.0.0.1:8000/v1")
    half.add_argument("--interface", choices=INTERFACES, default=INTERFACES[0], help="what the endpoint speaks")
    half.add_argument("--model", help="the model that answers")
    half.add_argument("--judge-model", help="the model that judges (default: the one that answers)")
    half.add_argument("--key-variable", metavar="NAME", help="the environment variable with the key")
    half.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="for one request (default: 120)")
    half.add_argument("--turns", type=positive, default=50, help="how many recalled turns an answer is made from")
    half.add_argument("--transcript", type=Path, metavar="FILE", help="keep each question that is done; go on from it")


def panel_of(arguments: argparse.Namespace) -> Panel | None:
    """The models that the command line names; ``None`` if no answers are asked for.

    Raises:
        InputError: a part of the endpoint is missing or wrong, or verdicts are asked for without answers.
        MalformedFile: the transcript holds something else.
    """
    if not arguments.answer:
        if arguments.judge:
            raise InputError("--judge was given without --answer", "Give both: there is nothing else to judge")
        return None
    given = (arguments.interface, arguments.key_variable, arguments.timeout)
    answerer = endpoint_of(arguments.endpoint, arguments.model, *given)
    judge = None
    if arguments.judge:
        judge = endpoint_of(arguments.endpoint, arguments.judge_model or arguments.model, *given)
    return Panel(answerer, judge, Transcript(arguments.transcript), arguments.turns)


def summed_up(result: Mapping[str, Any]) -> tuple[str, ...]:
    """What a person is told of answers and verdicts; nothing if there were none."""
    if not result.get("judged"):
        return (f"{result['answered']} questions answered, none judged.",) if "answered" in result else ()
    lines = [
        f"{result['judged']} answers judged: {result['accuracy']} % right, {result['task_averaged']} % as the mean of"
        f" the types; {result['unclear']} verdicts were unclear and count as wrong."
    ]
    lines += [f"{kind}: {each['accuracy']} % of {each['n']}" for kind, each in result["accuracy_by_type"].items()]
    return tuple(lines)


def accuracy(found: Iterable[Judged]) -> dict[str, Any]:
    """Accuracy in percent, over all questions, by type, and as the mean of the types; only of what was judged."""
    kinds: defaultdict[str, list[bool]] = defaultdict(list)
    unclear = 0
    for each in found:
        if each.verdict:
            kinds[each.question_type].append(each.verdict == "right")
            unclear += each.verdict == "unclear"
    shares = {kind: 100 * sum(right) / len(right) for kind, right in sorted(kinds.items())}
    every = [right for rights in kinds.values() for right in rights]
    return {
        "judged": len(every),
        "unclear": unclear,
        "accuracy": round(100 * sum(every) / len(every), 2) if every else None,
        "task_averaged": round(sum(shares.values()) / len(shares), 2) if shares else None,
        "accuracy_by_type": {kind: {"n": len(kinds[kind]), "accuracy": round(shares[kind], 2)} for kind in shares},
    }
