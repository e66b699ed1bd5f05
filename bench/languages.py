"""Share of questions whose note comes first, in nine languages, with each embedding model.

The notes are in bench/language_notes.jsonl: the same fifty things that an agent may be told, in each language, each
with a question that seldom repeats their words. All notes of a language are in one store. Every second question is
held out: nothing was fitted to it, though the hand that wrote the questions wrote the rules for words too.

- r@1: the share of questions whose note comes first; r@3: among the first three;
- scatter: the standard deviation of a question's cosines with the notes that do not answer it, the mean of all
  questions: by this words are weighed beside the cosines of a model;
- ms: what a recall takes of the processor, the question's vector with it, in milliseconds.

A model that is not installed is left out, and said so.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from time import process_time
from typing import Any, Final

import msgspec

import worlddb
from bench.measuring.report import ended, parser, report

NOTES: Final = Path(__file__).with_name("language_notes.jsonl")
MODELS: Final = ("words", "static", "minilm", "multilingual")
FIRST: Final = 3


class Note(msgspec.Struct, frozen=True):
    """A note and the question that it answers."""

    language: str
    held_out: bool
    note: str
    question: str


class LanguageResult(msgspec.Struct, frozen=True):
    """How well one model does in one language."""

    questions: int
    first: float
    among_three: float
    scatter: float
    cpu_ms: float


def main() -> None:
    arguments = _arguments()
    notes = [msgspec.json.decode(line, type=Note) for line in NOTES.read_text("utf-8").splitlines()]
    languages = [
        one
        for one in dict.fromkeys(note.language for note in notes)
        if one in arguments.languages or not arguments.languages
    ]
    result: dict[str, Any] = {}
    said = []
    for model in arguments.models:
        try:
            result[model] = {
                language: measure_language(
                    [one for one in notes if one.language == language], model, held_out=arguments.held_out
                )
                for language in languages
            }
        except worlddb.ModelUnavailable as error:
            said.append(f"{model} is left out: {error}")
    rows = [
        (model, language, found.questions, found.first, found.among_three, found.scatter, found.cpu_ms)
        for model, by_language in result.items()
        for language, found in by_language.items()
    ]
    report(
        arguments,
        "languages",
        msgspec.to_builtins(result),
        ("model", "language", "questions", "r@1", "r@3", "scatter", "ms"),
        rows,
        said,
    )


def _arguments() -> Any:
    arguments = parser(__doc__)
    arguments.add_argument("--held-out", action="store_true", help="only the held-out half")
    arguments.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, help="which models (default: all)")
    arguments.add_argument("--languages", nargs="+", default=(), help="which languages (default: all)")
    return arguments.parse_args()


def measure_language(notes: list[Note], model: str, *, held_out: bool) -> LanguageResult:
    """Write the notes of a language to a store of their own, and ask the questions of one half.

    Raises:
        ModelUnavailable: the model is not installed.
    """
    places = list[int | None]()
    spent = list[float]()
    scatters = list[float]()
    embedder = None if model == "words" else model
    with tempfile.TemporaryDirectory() as folder, worlddb.open(folder, author="bench", embedder=embedder) as db:
        with db.batch() as batch:
            for one in notes:
                batch.create("Memory", "", content=one.note)
        if model != "words":
            db.embed()
        view = db.view()
        for one in notes:
            if one.held_out == held_out:
                begun = process_time()
                hits = view.recall(one.question)
                spent.append(process_time() - begun)
                contents = [hit.content for hit in hits]
                places.append(contents.index(one.note) if one.note in contents else None)
                if model != "words":
                    near = view.recall(one.question, k=len(notes), lanes=("vector",))
                    scatters.append(statistics.pstdev(hit.scores["vector"] for hit in near if hit.content != one.note))
    count = len(places)
    return LanguageResult(
        count,
        round(sum(place == 0 for place in places) / count, 2),
        round(sum(place is not None and place < FIRST for place in places) / count, 2),
        round(statistics.fmean(scatters), 3) if scatters else 0.0,
        round(1000 * statistics.median(spent), 1),
    )


if __name__ == "__main__":
    ended(main)
