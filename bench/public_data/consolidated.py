"""The effect of a consolidation on recall at equal tokens, on LoCoMo, LongMemEval and BEAM.

LoCoMo's file is one store; each conversation of the other files is its own store. All questions are asked before and
after a consolidation. Hits are read from the best on until a number of tokens is spent (four characters each), and the
share of the question's evidence that was read is averaged. A turn counts as read if it is a hit, or if a sentence of it
is in a summary among the hits. ``off`` is the store before, ``on`` the store after with the same recall, ``summaries``
with ``prefer_summaries``. The number of tokens of ten hits is printed too.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import worlddb
from bench import beam
from bench.locomo import questions_of
from bench.longmemeval import fill
from bench.public_data import haystacks
from worlddb import Database, Hit, StaticEmbedder, View
from worlddb.tools.importers import locomo
from worlddb.tools.importers.run import ingest_files

BUDGETS: Final = (250, 500, 1_000, 2_000)
_CHARACTERS_A_TOKEN: Final = 4
_HITS: Final = 50
_FIRST: Final = 10
_LEAST: Final = 24
"""Characters of a sentence that is known again in a summary."""
_SENTENCE: Final = re.compile(r"[^.!?\n]+")


class Question(NamedTuple):
    """A question, its evidence by ids of turns, and the name of the world that it is asked in, if not of the store."""

    text: str
    evidence: frozenset[Any]
    world: str = ""


class Store(NamedTuple):
    """A store: what fills it, and the questions that it is asked."""

    fill: Callable[[Database], None]
    questions: list[Question]


def add_arguments(arguments: argparse.ArgumentParser) -> None:
    """Add the files of questions."""
    for name in _READERS:
        arguments.add_argument(f"--{name}", type=Path, help=f"ask the questions of {name}'s file before and after")
    arguments.add_argument("--stores", type=int, default=5, help="the first N stores of each file (default: 5)")


def measure_files(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure every file that was named, by its name."""
    files = {name: path for name in _READERS if (path := getattr(arguments, name)) is not None}
    return {name: _measure_stores(_READERS[name](path), arguments) for name, path in files.items()}


def rows_of(found: dict[str, Any]) -> list[tuple[object, ...]]:
    """The table: a row for each benchmark and way of asking."""
    return [
        (name, way, told["questions"], *(each[way][f"recall@{most}"] for most in BUDGETS), each[way]["tokens_of_ten"])
        for name, told in found.items()
        for each in (told["ways"],)
        for way in each
    ]


COLUMNS: Final = ("questions of", "asked", "n", *(f"{most} tokens" for most in BUDGETS), "tokens of 10 hits")


def _measure_stores(given: Iterator[Store], arguments: argparse.Namespace) -> dict[str, Any]:
    shares: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    tokens: dict[str, list[int]] = defaultdict(list)
    summaries = questions = stores = 0
    for number, one in enumerate(given):
        if number == arguments.stores:
            break
        stores += 1
        questions += len(one.questions)
        with (
            tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder,
            worlddb.open(Path(folder) / "store", author="bench", embedder=StaticEmbedder()) as db,
        ):
            one.fill(db)
            _ask_questions(db.view(), one, "off", {}, shares, tokens)
            summaries += len(db.consolidate(min_age=0).summaries)
            db.catch_up()
            _ask_questions(db.view(), one, "on", {}, shares, tokens)
            _ask_questions(db.view(), one, "summaries", {"prefer_summaries": True}, shares, tokens)
    ways = {
        way: {f"recall@{most}": round(statistics.fmean(of[most]), 4) for most in BUDGETS}
        | {"tokens_of_ten": round(statistics.fmean(tokens[way]))}
        for way, of in shares.items()
    }
    return {"stores": stores, "questions": questions, "summaries": summaries, "ways": ways}


def _ask_questions(
    view: View,
    one: Store,
    way: str,
    how: dict[str, Any],
    shares: dict[str, dict[int, list[float]]],
    tokens: dict[str, list[int]],
) -> None:
    inside = {world.name: world.ref for world in view.children()} | {"": None}
    texts = {
        name: {each.source["id"]: each.content for each in view.find(type="Turn", world=ref) if "id" in each.source}
        for name, ref in inside.items()
        if name in {each.world for each in one.questions}
    }
    for question, evidence, name in one.questions:
        hits = view.recall(question, k=_HITS, world=inside[name], **how).hits
        tokens[way].append(sum(map(_tokens, hits[:_FIRST])))
        for most in BUDGETS:
            read = _within_budget(hits, most)
            ids = {hit.source["id"] for hit in read if "id" in hit.source}
            told = " ".join(hit.content for hit in read if hit.type == "Summary")
            found = sum(each in ids or _is_summarised(texts[name].get(each, ""), told) for each in evidence)
            shares[way][most].append(found / len(evidence))


def _within_budget(hits: tuple[Hit, ...], most: int) -> list[Hit]:
    """The first hits that fit into a number of tokens; the first one that does not fit ends the list."""
    read, left = [], most
    for hit in hits:
        left -= _tokens(hit)
        if left < 0:
            break
        read.append(hit)
    return read


def _tokens(hit: Hit) -> int:
    return len(hit.content) // _CHARACTERS_A_TOKEN + 1


def _is_summarised(text: str, told: str) -> bool:
    return any(len(each.strip()) >= _LEAST and each.strip() in told for each in _SENTENCE.findall(text))


def _locomo(path: Path) -> Iterator[Store]:
    known = {found.name: found for found in locomo.read(path)}
    questions, _, _ = questions_of(path, known)

    def fill_store(db: Database) -> None:
        ingest_files(db, [path])
        db.embed()
        db.catch_up()

    yield Store(fill_store, [Question(each.text, each.evidence, each.conversation) for each in questions])


def _longmemeval(path: Path) -> Iterator[Store]:
    for record in haystacks.load(path):
        question = haystacks.question(record)
        if question.turns:

            def fill_store(db: Database, question: haystacks.Question = question) -> None:
                fill(db, [question], {"turns": 0, "ingest_s": 0.0, "embed_s": 0.0}, None)

            yield Store(fill_store, [Question(record.question, question.turns)])


def _beam(path: Path) -> Iterator[Store]:
    for one in beam.read(path):

        def fill_store(db: Database, one: beam.Conversation = one) -> None:
            db.ingest(one.turns(), conversation="talk")
            db.embed()
            db.catch_up()

        asked = [Question(each.question, frozenset(each.evidence)) for each in one.questions if each.evidence]
        yield Store(fill_store, asked)


_READERS: Final = {"locomo": _locomo, "longmemeval": _longmemeval, "beam": _beam}
