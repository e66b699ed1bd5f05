"""The effect of decay on recall: evidence found by half-life, and the share of memories that are kept.

Each question is asked at its own time, about the turns before it. Each half-life is used in two ways: recall ranks by
it at several weights, as ``recall(decay=...)`` does; and everything in the tier ``hidden`` is left out, as a dream with
decay would deprecate it. For the second, the share of turns that are kept is printed too. There are no accesses and no
importance, so R is a function of age alone.

--locomo asks about the conversations of LoCoMo's file at their end; --longmemeval asks each question of its file in its
own store, at the time in the file.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import worlddb
from bench.locomo import questions_of
from bench.longmemeval import fill
from bench.measuring.report import ended, parser, positive, report
from bench.public_data import haystacks
from bench.public_data.retrieval import interval
from worlddb import Database, Decay, InputError, StaticEmbedder
from worlddb.tools.importers import locomo
from worlddb.tools.importers.run import ingest_files

HALF_LIVES: Final = (1.0, 3.0, 10.0, 30.0, 90.0, 365.0)
"""In days."""
WEIGHTS: Final = (0.1, 0.5, 1.0)
_MOST: Final = 1_000
"""As many hits are looked through for what is kept; a recall fetches no more."""


Asked = TypeVar("Asked")


class Question(NamedTuple):
    """A question, its evidence by ids of turns, when it is asked (microseconds), and the name of its conversation, if
    it is not asked of the whole store."""

    text: str
    evidence: frozenset[str]
    asked: int
    conversation: str = ""


class Curve:
    """Shares of evidence by half-life and by what was done, and the shares of turns that are kept."""

    def __init__(self) -> None:
        self.found: defaultdict[tuple[float, str], list[float]] = defaultdict(list)
        self.kept: defaultdict[float, list[float]] = defaultdict(list)
        self.without: list[float] = []

    def told(self, seed: int) -> dict[str, Any]:
        """All figures as means; the interval is of the recall without decay."""
        return {
            "questions": len(self.without),
            "without": round(statistics.fmean(self.without), 4),
            "without_95": [round(end, 4) for end in interval(self.without, seed)],
            "by_half_life": {
                f"{days:g}": {
                    "kept": round(statistics.fmean(self.kept[days]), 4),
                    **{way: round(statistics.fmean(self.found[days, way]), 4) for way in _WAYS},
                }
                for days in self.kept
            },
        }


_WAYS: Final = (*(f"weight {weight:g}" for weight in WEIGHTS), "without hidden")


def main() -> None:
    arguments = _arguments()
    asked = {name: read for name, read in _READERS.items() if getattr(arguments, name) is not None}
    if not asked:
        raise InputError("No file of questions was given", "Name one: --locomo FILE, --longmemeval FILE")
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        curves = {name: _curve(read(Path(folder) / name, arguments), arguments) for name, read in asked.items()}
    result = {name: curve.told(arguments.seed) for name, curve in curves.items()}
    rows: list[tuple[object, ...]] = []
    for name, figures in result.items():
        rows.append((name, "none", 1.0, *(figures["without"] for _ in _WAYS)))
        rows.extend(
            (name, days, each["kept"], *(each[way] for way in _WAYS)) for days, each in figures["by_half_life"].items()
        )
    notes = [
        f"{name}: {figures['questions']} questions, without decay {figures['without']} (95 %: {figures['without_95']})"
        for name, figures in result.items()
    ]
    heads = ("questions of", "half-life, days", "kept", *_WAYS)
    report(arguments, "decay", {"k": arguments.k, **result}, heads, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--locomo", type=Path, help="LoCoMo's JSON, compressed or not")
    arguments.add_argument("--longmemeval", type=Path, help="LongMemEval's JSON, compressed or not")
    arguments.add_argument("--half-lives", type=float, nargs="+", default=HALF_LIVES, help="in days")
    arguments.add_argument("-k", type=positive, default=10, help="the number of hits to read")
    arguments.add_argument("--limit", type=positive, help="use N questions of each file, evenly spaced")
    return arguments.parse_args()


def _curve(given: Iterator[tuple[Database, list[Question]]], arguments: argparse.Namespace) -> Curve:
    curve = Curve()
    for db, questions in given:
        for of_one in _by_conversation(questions):
            view = db.view(valid=of_one[0].asked)
            inside = _named(view, of_one[0].conversation)
            turns = {turn.source["id"]: turn for turn in view.find(type="Turn", world=inside) if "id" in turn.source}
            for question in of_one:
                _ask(view, inside, turns, question, arguments, curve)
    return curve


def _by_conversation(questions: list[Question]) -> list[list[Question]]:
    of_one: defaultdict[str, list[Question]] = defaultdict(list)
    for question in questions:
        of_one[question.conversation].append(question)
    return list(of_one.values())


def _ask(
    view: worlddb.View,
    inside: str | None,
    turns: dict[Any, worlddb.World],
    question: Question,
    arguments: argparse.Namespace,
    curve: Curve,
) -> None:
    where: dict[str, Any] = {"world": inside, "asked": question.asked}
    plain = view.recall(question.text, k=max(arguments.k, min(_MOST, len(turns))), **where).hits
    curve.without.append(_share(plain[: arguments.k], question.evidence))
    for days in arguments.half_lives:
        for weight in WEIGHTS:
            faded = Decay(half_life_days=days, weight=weight)
            found = view.recall(question.text, k=arguments.k, decay=faded, **where).hits
            curve.found[days, f"weight {weight:g}"].append(_share(found, question.evidence))
        decay = Decay(half_life_days=days)
        kept = {name for name, turn in turns.items() if decay.tier(_half_life_score(decay, turn, question)) != "hidden"}
        curve.kept[days].append(len(kept) / max(1, len(turns)))
        left = tuple(hit for hit in plain if hit.source.get("id") in kept)[: arguments.k]
        curve.found[days, "without hidden"].append(_share(left, question.evidence))


def _half_life_score(decay: Decay, turn: worlddb.World, question: Question) -> float:
    return decay.retention(1.0, question.asked - turn.valid.start, ())


def _named(view: worlddb.View, name: str) -> str | None:
    return next((world.ref for world in view.children() if world.name == name), None) if name else None


def _share(hits: tuple[worlddb.Hit, ...], evidence: frozenset[str]) -> float:
    return len(evidence & {hit.source.get("id") for hit in hits}) / len(evidence)


def _spread(asked: list[Asked], limit: int | None) -> list[Asked]:
    most = min(limit or len(asked), len(asked))
    return [asked[number * len(asked) // most] for number in range(most)]


def _locomo(path: Path, arguments: argparse.Namespace) -> Iterator[tuple[Database, list[Question]]]:
    """All conversations in one store; each is asked about when its last session began."""
    known = {found.name: found for found in locomo.read(arguments.locomo)}
    questions, _, _ = questions_of(arguments.locomo, known)
    with worlddb.open(path, author="bench", embedder=StaticEmbedder()) as db:
        ingest_files(db, [arguments.locomo])
        db.embed()
        db.catch_up()
        view = db.view()
        ends = {talk.name: max(each.valid.start for each in view.children(talk.ref)) for talk in view.children()}
        asked = [Question(each.text, each.evidence, ends[each.conversation], each.conversation) for each in questions]
        yield db, _spread(asked, arguments.limit)


def _longmemeval(path: Path, arguments: argparse.Namespace) -> Iterator[tuple[Database, list[Question]]]:
    """A store for each question."""
    given = [haystacks.question(record) for record in haystacks.load(arguments.longmemeval)]
    asked = [each for each in given if each.turns and each.record.asked is not None]
    for number, each in enumerate(_spread(asked, arguments.limit)):
        with worlddb.open(path / str(number), author="bench", embedder=StaticEmbedder()) as db:
            fill(db, [each], {"turns": 0, "ingest_s": 0.0, "embed_s": 0.0}, None)
            assert each.record.asked is not None
            yield db, [Question(each.record.question, each.turns, each.record.asked)]


_READERS: Final = {"locomo": _locomo, "longmemeval": _longmemeval}


if __name__ == "__main__":
    ended(main)
