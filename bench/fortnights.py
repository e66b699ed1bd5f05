"""What a memory makes of a fortnight of a user in four languages, beside the same fortnight in English.

bench/fortnights.jsonl has 32 statements of each user, one after the other on fourteen days, with moves, new jobs, ends,
plans and preferences, and questions a day later; each with its English. All was written before any rule for these
languages. French is held out: nobody looked at what was missed in it.

- told: of the statements that end an earlier one, the share that is told so at the write; falsely: how many others are;
- right: the share of answerable questions whose answer comes first: of now, before, a day, who and when;
- stale: how many questions are answered first by what is over; silent: how many of those without a word of it;
- refused: the share of questions without an answer, or after an end that a statement names, where the answer says so.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import msgspec

import worlddb
from bench.measuring.report import ended, parser, report
from worlddb import ManualClock, Memory

LINES: Final = Path(__file__).with_name("fortnights.jsonl")
MODELS: Final = ("words", "static", "multilingual")
BEGIN: Final = worlddb.parse_time("2026-03-01T09:00:00Z")
DAY: Final = 86_400_000_000
MINUTE: Final = 60_000_000


class Line(msgspec.Struct, frozen=True):
    """A statement, with those that it ends by their numbers, or a question, with its answers and what is over."""

    language: str
    day: int
    text: str
    english: str
    number: int = 0
    ends: tuple[int, ...] = ()
    asks: str = ""
    right: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()


class Fortnight(msgspec.Struct, frozen=True):
    """How well a fortnight is remembered."""

    told: float
    falsely: int
    right: float
    stale: int
    silent: int
    refused: float


def main() -> None:
    arguments = _arguments()
    lines = [msgspec.json.decode(line, type=Line) for line in LINES.read_text("utf-8").splitlines()]
    languages = arguments.languages or list(dict.fromkeys(line.language for line in lines))
    result: dict[str, Any] = {}
    said = []
    for model in arguments.models:
        try:
            result[model] = {
                language: {
                    way: measure([line for line in lines if line.language == language], model, in_english=way != "own")
                    for way in ("own", "english")
                }
                for language in languages
            }
        except worlddb.ModelUnavailable as error:
            said.append(f"{model} is left out: {error}")
    rows = [
        (model, f"{language}, {way}", *msgspec.structs.astuple(found))
        for model, by_language in result.items()
        for language, ways in by_language.items()
        for way, found in ways.items()
    ]
    columns = ("model", "fortnight", "told", "falsely", "right", "stale", "silent", "refused")
    report(arguments, "fortnights", msgspec.to_builtins(result), columns, rows, said)


def _arguments() -> Any:
    arguments = parser(__doc__)
    arguments.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, help="which models (default: all)")
    arguments.add_argument("--languages", nargs="+", default=(), help="which languages (default: all)")
    return arguments.parse_args()


def measure(lines: list[Line], model: str, *, in_english: bool) -> Fortnight:
    """Live through a fortnight, in a store of its own, and ask its questions.

    Raises:
        ModelUnavailable: the model is not installed.
    """
    counts: dict[str, int] = defaultdict(int)
    clock = ManualClock(BEGIN)
    embedder = None if model == "words" else model
    with (
        tempfile.TemporaryDirectory() as folder,
        worlddb.memory(Path(folder), user="user", clock=clock, embedder=embedder) as memory,
    ):
        numbers = dict[str, int]()
        for place, line in enumerate(line for line in lines if line.number):
            clock.value = BEGIN + line.day * DAY + place * MINUTE
            _write(memory, line, line.english if in_english else line.text, numbers, counts)
        if embedder is not None:
            memory.db.embed()
        for line in lines:
            if line.asks:
                clock.value = BEGIN + line.day * DAY
                _ask(memory, line, line.english if in_english else line.text, numbers, counts)
    return Fortnight(
        round(counts["told"] / counts["changes"], 2),
        counts["falsely"],
        round(counts["right"] / counts["answerable"], 2),
        counts["stale"],
        counts["silent"],
        round(counts["refused"] / counts["unanswerable"], 2),
    )


def _write(memory: Memory, line: Line, text: str, numbers: dict[str, int], counts: dict[str, int]) -> None:
    added = memory.add(text)
    numbers[added.id] = line.number
    told = {numbers[near.ref] for near in added.near if near.relation in ("replacement", "contradiction")}
    counts["changes"] += len(line.ends)
    counts["told"] += len(told.intersection(line.ends))
    counts["falsely"] += len(told.difference(line.ends))


def _ask(memory: Memory, line: Line, text: str, numbers: dict[str, int], counts: dict[str, int]) -> None:
    answer = memory.recall(text)
    first = answer.hits[0] if answer.hits else None
    number = 0 if first is None else numbers[first.ref]
    is_stale = number in line.stale
    counts["stale"] += is_stale
    counts["silent"] += is_stale and not (answer.note or answer.weak)
    if line.right:
        counts["answerable"] += 1
        counts["right"] += number in line.right
        return
    counts["unanswerable"] += 1
    counts["refused"] += answer.weak or (line.asks != "none" and (bool(answer.note) or not is_stale))


if __name__ == "__main__":
    ended(main)
