"""Questions of LoCoMo, BEAM and LongMemEval, each asked in its own store and in another one.

Half 0 has the first two of LoCoMo's five conversations, and those of the others by a hash of their names.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import worlddb
from bench.beam import ABSTENTION, read
from bench.locomo import questions_of
from bench.longmemeval import fill
from bench.public_data import haystacks
from worlddb import View
from worlddb.tools.importers import locomo
from worlddb.tools.importers.run import ingest_files

ANSWERABLE: Final = "answerable"
HERE: Final = "unanswerable"
ELSEWHERE: Final = "of others"
KINDS: Final = (ANSWERABLE, HERE, ELSEWHERE)
_NONE: Final[frozenset[str]] = frozenset()


class PosedQuestion(NamedTuple):
    """A question with its view; ``evidence`` are ids, none in a view that does not have them.

    ``about`` is what kind of question its benchmark calls it.
    """

    view: View
    source: str
    half: int
    kind: str
    about: str
    evidence: frozenset[str]
    text: str
    where: dict[str, Any]

    def is_gold(self, hit: worlddb.Hit) -> bool:
        return str(hit.source.get("id")) in self.evidence


def add_files(arguments: argparse.ArgumentParser) -> None:
    """The options that name the files."""
    arguments.add_argument("--locomo", type=Path, help="LoCoMo's JSON, compressed or not")
    arguments.add_argument("--beam", type=Path, help="BEAM's file, packed by xz")
    arguments.add_argument("--longmemeval", type=Path, help="LongMemEval's JSON, compressed or not")
    arguments.add_argument("--embedder", default="static", help="the model: static or multilingual")


def pose_questions(arguments: argparse.Namespace) -> Iterator[PosedQuestion]:
    """Every question of the files that were named.

    Raises:
        InputError: none was named; raised by the call, and not by the first step of the iterator.
    """
    read = {"locomo": _locomo, "beam": _beam, "longmemeval": _longmemeval}
    named = {source: path for source in read if (path := getattr(arguments, source))}
    if not named:
        raise worlddb.InputError("No file of questions was given", "Give --locomo, --beam, --longmemeval, or several")
    return chain.from_iterable(read[source](path, arguments.embedder) for source, path in named.items())


def _locomo(path: Path, embedder: str) -> Iterator[PosedQuestion]:
    conversations = {found.name: found for found in locomo.read(path)}
    questions, _, _ = questions_of(path, conversations)
    names = list(conversations)
    fitted = max(1, 2 * len(names) // 5)
    with tempfile.TemporaryDirectory() as folder, worlddb.open(folder, embedder=embedder) as db:
        ingest_files(db, [path])
        db.embed()
        db.catch_up()
        view = db.view()
        worlds = {world.name: world.ref for world in view.children() if world.name in conversations}
        ends = {name: max(each.valid.start for each in view.children(world)) for name, world in worlds.items()}
        for question in questions:
            place = names.index(question.conversation)
            half = int(place >= fitted)
            kind = HERE if question.category == "adversarial" else ANSWERABLE
            # The next conversation of the same half: nothing that is judged lies in what was fitted.
            first, beyond = (fitted, len(names)) if half else (0, fitted)
            other = names[first + (place - first + 1) % (beyond - first)]
            places = {question.conversation: kind} | ({other: ELSEWHERE} if other != question.conversation else {})
            for name, told in places.items():
                where: dict[str, Any] = {"world": worlds[name], "asked": ends[name]}
                gold = _NONE if told == ELSEWHERE else question.evidence
                yield PosedQuestion(view, "LoCoMo", half, told, question.category, gold, question.text, where)


def _beam(path: Path, embedder: str) -> Iterator[PosedQuestion]:
    conversations = read(path)
    for half in (0, 1):
        chosen = [one for one in conversations if haystacks.half(one.id) == half]
        for place, one in enumerate(chosen):
            with tempfile.TemporaryDirectory() as folder, worlddb.open(folder, embedder=embedder) as db:
                db.ingest(one.turns(), conversation="talk")
                db.embed()
                db.catch_up()
                view = db.view()
                for question in one.questions:
                    kind = HERE if question.kind == ABSTENTION else ANSWERABLE
                    gold = frozenset(map(str, question.evidence))
                    if gold or kind == HERE:
                        yield PosedQuestion(view, "BEAM", half, kind, question.kind, gold, question.question, {})
                for question in chosen[(place + 1) % len(chosen)].questions:
                    yield PosedQuestion(view, "BEAM", half, ELSEWHERE, question.kind, _NONE, question.question, {})


def _longmemeval(path: Path, embedder: str) -> Iterator[PosedQuestion]:
    records = [haystacks.question(record) for record in haystacks.load(path)]
    for half in (0, 1):
        chosen = [each for each in records if haystacks.half(each.record.question_id) == half]
        for place, each in enumerate(chosen):
            with tempfile.TemporaryDirectory() as folder, worlddb.open(folder, embedder=embedder) as db:
                fill(db, [each], {"turns": 0, "ingest_s": 0.0, "embed_s": 0.0}, None)
                view = db.view()
                kind = HERE if haystacks.ABSTAINING in each.record.question_id else ANSWERABLE
                one, where = each.record, {"asked": each.record.asked}
                if each.turns or kind == HERE:
                    yield PosedQuestion(
                        view, "LongMemEval", half, kind, one.question_type, each.turns, one.question, where
                    )
                other = chosen[(place + 1) % len(chosen)].record
                yield PosedQuestion(
                    view, "LongMemEval", half, ELSEWHERE, other.question_type, _NONE, other.question, where
                )
