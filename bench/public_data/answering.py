"""Answer LongMemEval's questions by a model from recalled turns, and judge the answers by a model.

A protocol (bench/public_data/protocols.py) gives the rules: what an extractor keeps of the turns, in which other
wordings a question is asked, and how it is answered and judged. Each part can be switched off. All prompts are in our
own words, and the result names the protocol and says so. An unclear verdict counts as wrong, and is counted. No figure
is printed for a question that was not asked.
"""

from __future__ import annotations

import argparse
import typing
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.measuring.report import positive
from bench.public_data import protocols
from bench.public_data.endpoint import INTERFACES, endpoint_of
from bench.public_data.haystacks import ABSTAINING
from worlddb import (
    Database,
    EndpointEnricher,
    Enrichment,
    Hit,
    InputError,
    MalformedFile,
    Segment,
    Streams,
    UnavailableError,
    View,
    format_time,
)

ANSWER_TOKENS: Final = 512
WORDING_TOKENS: Final = 256
_CHARACTERS_A_TURN: Final = 4_000

WORDING_PROMPT: Final = """\
Ask the following in {count} other ways: in other words, with its times made plain, and in the terms of those who \
would have told of it. Write one a line and nothing else.

{question}
"""

EXTRACTION, WORDINGS = "extraction", "wordings"
PARTS: Final = (EXTRACTION, WORDINGS, "resolved", "preferences", "constraints", "events", "questions")
"""What of a protocol can be left out, for ablations."""


class BenchmarkQuestion(typing.Protocol):
    """The fields of a benchmark question that answering needs."""

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


class Model(typing.Protocol):
    """The part of an endpoint that answering needs."""

    def ask(self, prompt: str, *, most_tokens: int) -> str: ...


class Judgement(msgspec.Struct, frozen=True):
    """The result for one question. ``verdict`` is ``right``, ``wrong``, ``unclear``, or empty if not judged.

    ``by`` is the protocol, with what was left out of it. ``score`` is the judge's, where it gives one, ``f1`` that of
    the answer's words, 0 or 1 for a question that cannot be answered.
    """

    question_id: str
    question_type: str
    answer: str
    verdict: str
    by: str = protocols.WORLDDB.name
    score: float | None = None
    f1: float | None = None


def passages(hits: Sequence[Hit], protocol: protocols.Protocol = protocols.WORLDDB) -> str:
    """The recalled turns with times and inferred fields, oldest first or in order of recall."""
    ordered = sorted(hits, key=lambda hit: (hit.valid.start, hit.seq)) if protocol.by_time else hits
    return "\n".join(_passage(hit) for hit in ordered)


def _passage(hit: Hit) -> str:
    said = f"[{format_time(hit.valid.start)[:16]}] {hit.content[:_CHARACTERS_A_TURN]}"
    facts = [
        f"{name}: {_joined_values(value)}" for name, value in hit.inferred.items() if name not in ("questions", "used")
    ]
    return f"{said}\n  ({'; '.join(facts)})" if facts else said


def _joined_values(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return ", ".join(_event_text(each) if isinstance(each, dict) else str(each) for each in value)


def _event_text(event: Mapping[str, str]) -> str:
    return " → ".join(filter(None, (event.get("event"), event.get("consequence"))))


def kind_of(question: BenchmarkQuestion) -> str:
    """The question type that selects the rules."""
    return protocols.UNANSWERABLE if ABSTAINING in question.question_id else question.question_type


def ask_answerer(
    model: Model, question: BenchmarkQuestion, hits: Sequence[Hit], protocol: protocols.Protocol = protocols.WORLDDB
) -> str:
    """Ask the model; its answer is the text after the last mark, or all of it if there is none.

    The answerer is never told that a question cannot be answered, whatever its source did: that is what is asked.
    """
    now = question.question_date or "not known"
    prompt = protocol.answer_prompt(question.question_type, question.question, now, passages(hits, protocol))
    return protocol.answer(model.ask(prompt, most_tokens=ANSWER_TOKENS))


def ask_judge(
    model: Model,
    question: BenchmarkQuestion,
    expected: str,
    given: str,
    protocol: protocols.Protocol = protocols.WORLDDB,
) -> protocols.Verdict:
    """Ask the judge; ``unclear`` if the reply does not have the form of a verdict."""
    prompt = protocol.judge_prompt(kind_of(question), question.question, expected, given)
    return protocol.read(model.ask(prompt, most_tokens=protocol.verdict_tokens))


class FieldFilter:
    """An enricher that keeps only some fields of another enricher's result."""

    asks_a_model = True

    def __init__(self, enricher: EndpointEnricher, fields: Sequence[str]) -> None:
        self._enricher, self._fields = enricher, tuple(fields)
        self.name = f"{enricher.name} {'+'.join(self._fields)}"

    def __call__(self, segment: Segment, window: Sequence[Segment], /) -> Enrichment:
        said = self._enricher(segment, window)
        return Enrichment(**{name: getattr(said, name) for name in self._fields}, used=said.used)


class Transcript:
    """Finished questions, one a line, so that an interrupted run can resume."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.done: dict[str, Judgement] = {}
        if path is not None and path.exists():
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                try:
                    known = msgspec.json.decode(line, type=Judgement)
                except msgspec.MsgspecError as error:
                    raise MalformedFile(
                        f"{path}, line {number}: {error}", "Delete that line, and its question is asked again"
                    ) from None
                self.done[known.question_id] = known

    def add(self, found: Judgement) -> None:
        self.done[found.question_id] = found
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(found) + b"\n")


class Panel:
    """The models of a run, their protocol, and the judgements so far."""

    def __init__(
        self,
        answerer: Model,
        judge: Model | None,
        transcript: Transcript,
        turns: int,
        protocol: protocols.Protocol = protocols.WORLDDB,
        without: Sequence[str] = (),
        enricher: EndpointEnricher | None = None,
    ) -> None:
        self._answerer = answerer
        self._judge = judge
        self._transcript = transcript
        self._turns = turns
        self._protocol = protocol
        self._fields = tuple(name for name in protocol.fields if name not in without and EXTRACTION not in without)
        self._wordings = 0 if WORDINGS in without else protocol.wordings
        self._enricher = FieldFilter(enricher, self._fields) if enricher is not None and self._fields else None
        left_out = [name for name in PARTS if name in without]
        self._by = " without ".join(filter(None, (protocol.name, ", ".join(left_out))))
        self._judgements: list[Judgement] = []
        self._enriched = 0
        for known in transcript.done.values():
            if known.by != self._by:
                raise InputError(
                    f"The transcript has answers of the protocol {known.by}, not {self._by}",
                    "Give another file with --transcript",
                )

    def prepare(self, db: Database, questions: Sequence[BenchmarkQuestion]) -> None:
        """Have the turns enriched as the protocol's source does, unless all questions of the store are done.

        Raises:
            UnavailableError: a turn could not be enriched: what is measured would not be the protocol.
        """
        if self._enricher is None or all(self._complete_judgement(each) is not None for each in questions):
            return
        done = db.enrich(self._enricher)
        self._enriched += len(done.segments)
        if done.failed or done.left:
            why = done.failed[0][1] if done.failed else "others changed them"
            raise UnavailableError(
                f"{done.left:,} turns were not enriched: {why}", "Leave out extraction with --without"
            )

    def evaluate(self, question: BenchmarkQuestion, view: View, recalled: Sequence[Hit], **asked: Any) -> None:
        """Have a question answered and the answer judged, unless the transcript has it already.

        ``recalled`` are the hits of the question alone; ``asked`` is what else they were asked by.
        """
        known = self._complete_judgement(question)
        if known is None:
            known = self._transcript.done.get(question.question_id)
            given = known.answer if known else self._answer(question, view, recalled, asked)
            expected = str(question.answer)
            verdict = protocols.Verdict("")
            if self._judge is not None:
                verdict = ask_judge(self._judge, question, expected, given, self._protocol)
            f1 = protocols.token_f1(expected, given)
            if kind_of(question) == protocols.UNANSWERABLE:
                f1 = float(protocols.is_refusal(given))
            known = Judgement(
                question.question_id, question.question_type, given, verdict.verdict, self._by, verdict.score, f1
            )
            self._transcript.add(known)
        self._judgements.append(known)

    def _complete_judgement(self, question: BenchmarkQuestion) -> Judgement | None:
        """The transcript's entry for a question, if it is complete."""
        known = self._transcript.done.get(question.question_id)
        return known if known is not None and (self._judge is None or known.verdict) else None

    def _answer(
        self, question: BenchmarkQuestion, view: View, recalled: Sequence[Hit], asked: Mapping[str, Any]
    ) -> str:
        hits = recalled
        if self._wordings or self._fields:
            streams = Streams(expand=self._expand if self._wordings else None, describe=bool(self._fields))
            hits = view.recall(question.question, streams=streams, k=max(len(recalled), 1), **asked).hits
        return ask_answerer(self._answerer, question, hits[: self._turns], self._protocol)

    def _expand(self, question: str) -> list[str]:
        """Other wordings of a question, by the model that answers."""
        prompt = WORDING_PROMPT.format(count=self._wordings, question=question)
        lines = self._answerer.ask(prompt, most_tokens=WORDING_TOKENS).splitlines()
        return [line.strip(" -*•\t") for line in lines if line.strip(" -*•\t")][: self._wordings]

    def calibration(self) -> dict[str, Any]:
        """The number of calibration cases that the judge decides by the rules; empty without a judge."""
        judge = self._judge
        if judge is None:
            return {}
        tokens = self._protocol.verdict_tokens
        found = protocols.calibrate(self._protocol, lambda prompt: judge.ask(prompt, most_tokens=tokens))
        return {"calibration": found._asdict()}

    def figures(self) -> dict[str, Any]:
        """The measured figures, under the keys of the result."""
        facts = {"protocol": self._by, "rules_of": self._protocol.source, "prompts": "our own words"}
        return {**facts, "answered": len(self._judgements), "enriched": self._enriched, **accuracy(self._judgements)}


def add_arguments(arguments: argparse.ArgumentParser) -> None:
    """Add the options for answering and judging."""
    half = arguments.add_argument_group("answers and verdicts of models of your choice")
    half.add_argument("--answer", action="store_true", help="answer each question from the recalled turns")
    half.add_argument(
        "--protocol",
        choices=protocols.PROTOCOLS,
        default=protocols.WORLDDB.name,
        help="the protocol whose rules extractor, answer and judge follow, in our own words (default: %(default)s)",
    )
    half.add_argument("--without", nargs="+", choices=PARTS, default=(), help="parts of the protocol to leave out")
    half.add_argument("--calibrate", action="store_true", help="also ask the judge about cases of our own")
    half.add_argument("--judge", action="store_true", help="judge each answer")
    half.add_argument(
        "--endpoint", metavar="URL", help="the endpoint's address up to the version, such as http://127.0.0.1:8000/v1"
    )
    half.add_argument("--interface", choices=INTERFACES, default=INTERFACES[0], help="the interface of the endpoint")
    half.add_argument("--model", help="the model that answers")
    half.add_argument("--judge-model", help="the model that judges (default: the one that answers)")
    half.add_argument("--key-variable", metavar="NAME", help="the environment variable with the key")
    half.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="for one request (default: 120)")
    half.add_argument("--turns", type=positive, default=50, help="the number of recalled turns for an answer")
    half.add_argument(
        "--transcript", type=Path, metavar="FILE", help="record finished questions here, and continue from them"
    )


def panel_of(arguments: argparse.Namespace) -> Panel | None:
    """The models that the command line names; ``None`` if no answers are asked for.

    Raises:
        InputError: a part of the endpoint is missing or wrong, or verdicts are asked for without answers.
        MalformedFile: the transcript holds something else.
    """
    if not arguments.answer:
        if arguments.judge:
            raise InputError("--judge was given without --answer", "Give both: only answers can be judged")
        return None
    protocol = protocols.PROTOCOLS[arguments.protocol]
    given = (arguments.interface, arguments.key_variable, arguments.timeout)
    answerer = endpoint_of(arguments.endpoint, arguments.model, *given)
    judge = None
    if arguments.judge:
        judge = endpoint_of(arguments.endpoint, arguments.judge_model or arguments.model, *given)
    enricher = EndpointEnricher(
        answerer.url,
        answerer.model,
        interface=answerer.interface,
        key=answerer.key or None,
        timeout_seconds=answerer.timeout_seconds,
    )
    transcript = Transcript(arguments.transcript)
    return Panel(answerer, judge, transcript, arguments.turns, protocol, arguments.without, enricher)


def summary_lines(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Lines for people about answers and verdicts; none if there were none."""
    if "answered" not in result:
        return ()
    by = f"By the protocol {result['protocol']}: rules of {result['rules_of']}, prompts in our own words."
    if not result.get("judged"):
        return (by, f"{result['answered']} questions answered, none judged.")
    lines = [
        by,
        f"{result['judged']} answers judged: {result['accuracy']} % right, {result['task_averaged']} % as the mean of"
        f" the types; {result['unclear']} verdicts were unclear and count as wrong.",
    ]
    lines += [f"{kind}: {each['accuracy']} % of {each['n']}" for kind, each in result["accuracy_by_type"].items()]
    if "calibration" in result:
        of = result["calibration"]
        lines.append(f"The judge decided {of['agreed']} of {of['cases']} calibration cases of ours as the rules say.")
    return tuple(lines)


def accuracy(found: Iterable[Judgement]) -> dict[str, Any]:
    """Accuracy in percent over the judged answers: of all, by type, and as the mean of the types."""
    kinds: defaultdict[str, list[bool]] = defaultdict(list)
    unclear, listed = 0, list(found)
    for each in listed:
        if each.verdict:
            kinds[each.question_type].append(each.verdict == "right")
            unclear += each.verdict == "unclear"
    shares = {kind: 100 * sum(right) / len(right) for kind, right in sorted(kinds.items())}
    every = [right for rights in kinds.values() for right in rights]
    scores = [each.score for each in listed if each.score is not None]
    words = [each.f1 for each in listed if each.f1 is not None]
    return {
        "judged": len(every),
        "unclear": unclear,
        "accuracy": round(100 * sum(every) / len(every), 2) if every else None,
        "task_averaged": round(sum(shares.values()) / len(shares), 2) if shares else None,
        "mean_score": round(100 * sum(scores) / len(scores), 2) if scores else None,
        "token_f1": round(sum(words) / len(words), 4) if words else None,
        "accuracy_by_type": {kind: {"n": len(kinds[kind]), "accuracy": round(shares[kind], 2)} for kind in shares},
    }
