"""Retrieval on LongMemEval: which sessions, or which turns, with the evidence are recalled. No model but the embedder.

Every question has a haystack of its own, in a store of its own, or with --pooled in one store that holds all of them.
Which sessions answer is asked of recall as such (group=1); those of a baseline are the sessions of its turns.
At turn level the gold turns are those that are marked has_answer, or all of the answer sessions' if none is. All of
the variants in bench/_retrieval.py and the baselines in bench/_baselines.py are asked the same in the same run.

With --answer a model that you name answers each question from what the default recalls, and with --judge a model judges
the answers (bench/_answering.py). Both are reached at --endpoint; the key is read from the environment variable that
--key-variable names. With --transcript each question is kept when it is done, and a run that broke off goes on there.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

import msgspec

import worlddb
from bench import _baselines
from bench._answering import Panel, add_arguments, panel_of, summed_up
from bench._report import p50, p95, parser, report
from bench._retrieval import VARIANTS, ndcg, recall_all, recall_any, summary
from worlddb import LANES, Database, Turn, WorldDBError
from worlddb.tools.importers import files
from worlddb.tools.importers.longmemeval import parse_date

GRANULARITIES: Final = ("session", "turn")
CUTS: Final = (1, 5, 10)
DEPTH: Final = 100
"""How many turns are fetched; of a baseline so that ten sessions are among them."""
SESSIONS: Final = 10


class _Turn(msgspec.Struct, frozen=True):
    role: str
    content: str
    has_answer: bool | None = None


class Record(msgspec.Struct, frozen=True):
    """A question and its haystack, as in the file."""

    question_id: str
    question_type: str
    question: str
    question_date: str
    answer_session_ids: list[str]
    haystack_dates: list[str]
    haystack_session_ids: list[str]
    haystack_sessions: list[list[_Turn]]
    answer: str | int | float = ""


class Question(NamedTuple):
    """What is asked, and what counts as found: names of sessions (:func:`_called`), and of turns."""

    record: Record
    sessions: frozenset[str]
    turns: frozenset[str]


def main() -> None:
    arguments = _arguments()
    questions = [_question(record) for record in _records(arguments)]
    panel = panel_of(arguments)
    result = measure(questions, arguments, panel)
    rows = []
    for name, found in result["variants"].items():
        for granularity in GRANULARITIES:
            told = found[granularity]
            rows.append(
                (
                    name,
                    granularity,
                    *(told[f"recall_any@{k}"] for k in CUTS),
                    told["recall_all@5"],
                    told["recall_all@10"],
                    told["ndcg@10"],
                )
            )
    for kind, told in result["by_type"].items():
        rows.append(
            (
                kind,
                f"{arguments.granularity}, n={told['n']}",
                *(told[f"recall_any@{k}"] for k in CUTS),
                told["recall_all@5"],
                told["recall_all@10"],
                told["ndcg@10"],
            )
        )
    heads = ("variant", "granularity", "any@1", "any@5", "any@10", "all@5", "all@10", "ndcg@10")
    notes = (
        f"{result['n']} questions, {result['turns']:,} turns; ingested in {result['ingest_s']:.1f} s, embedded in"
        f" {result['embed_s']:.1f} s.",
        f"Latency of the default, ten hits: p50 {result['p50_ms']:.1f} ms, p95 {result['p95_ms']:.1f} ms.",
    )
    report(arguments, "longmemeval", result, heads, rows, (*notes, *summed_up(result)))


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LongMemEval's JSON, compressed or not")
    arguments.add_argument("--granularity", choices=GRANULARITIES, default="session")
    arguments.add_argument("--pooled", action="store_true", help="all haystacks in one store")
    arguments.add_argument("--lanes", nargs="+", choices=LANES, default=LANES, help="the lanes of the default")
    arguments.add_argument("--entities", action="store_true", help="also with what turns mention, by EntityExtractor")
    arguments.add_argument("--limit", type=int, help="only the first so many questions")
    add_arguments(arguments)
    arguments.add_argument("--half", type=int, choices=(0, 1), help="only one half of them, by a hash of their ids")
    return arguments.parse_args()


def _records(arguments: argparse.Namespace) -> list[Record]:
    records = msgspec.json.decode(files.whole(arguments.file), type=list[Record])
    if arguments.half is not None:
        records = [record for record in records if half(record.question_id) == arguments.half]
    return records[: arguments.limit]


def half(question_id: str) -> int:
    """In which half of the questions one is; recall was designed on half 0 of the development questions."""
    return int(hashlib.sha256(question_id.encode()).hexdigest(), 16) % 2


def _question(record: Record) -> Question:
    gold = frozenset(record.answer_session_ids) & frozenset(record.haystack_session_ids)
    sessions = [
        (name, turns)
        for name, turns in zip(record.haystack_session_ids, record.haystack_sessions, strict=True)
        if name in gold
    ]
    marked = {f"{name}:{at}" for name, turns in sessions for at, turn in enumerate(turns) if turn.has_answer}
    every = {f"{name}:{at}" for name, turns in sessions for at, _ in enumerate(turns)}
    return Question(record, frozenset(map(_called, gold)), frozenset(marked or every))


def measure(questions: list[Question], arguments: argparse.Namespace, panel: Panel | None = None) -> dict[str, Any]:
    """Ask every question in every variant, and sum up; with a panel, have each answered and judged too."""
    rows: defaultdict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    kinds: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    taken: list[float] = []
    spent = {"turns": 0, "ingest_s": 0.0, "embed_s": 0.0}
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        for number, asked in enumerate(_stores(questions, arguments.pooled)):
            with worlddb.open(Path(folder) / str(number), author="bench") as db:
                _fill(db, asked, spent, worlddb.EntityExtractor() if arguments.entities else None)
                view = db.view()
                peers = _baselines.built(_baselines.available(), _texts(asked))
                for question in asked:
                    text, asked_at = question.record.question, parse_date(question.record.question_date)
                    for variant, options in VARIANTS.items():
                        chosen = {"lanes": tuple(arguments.lanes)} if variant == "default" else options
                        found = view.recall(text, k=DEPTH, asked=asked_at, **chosen)
                        groups = view.recall(text, k=SESSIONS, group=1, asked=asked_at, **chosen).groups
                        if variant == "default":
                            began = perf_counter()
                            view.recall(text, asked=asked_at, **chosen)
                            taken.append(1000 * (perf_counter() - began))
                        turns = [hit.source["id"] for hit in found.hits if hit.type == "Turn"]
                        scored = _scores(question, turns, [group.name for group in groups if group.type == "Session"])
                        for granularity, scores in scored.items():
                            rows[variant, granularity].append(scores)
                        if variant == "default" and panel is not None:
                            panel.hear(question.record, found.hits)
                        if variant == "default":
                            kinds[question.record.question_type].append(scored[arguments.granularity])
                    for name, peer in peers.items():
                        turns = peer.search(text, DEPTH)
                        for granularity, scores in _scores(question, turns, _sessions_of(turns)).items():
                            rows[name, granularity].append(scores)
    variants = {
        variant: {each: summary(rows[variant, each], arguments.seed) for each in GRANULARITIES}
        for variant in (*VARIANTS, *_baselines.available())
    }
    return {
        **variants["default"][arguments.granularity],
        "granularity": arguments.granularity,
        "pooled": arguments.pooled,
        "entities": arguments.entities,
        "by_type": {kind: summary(found, arguments.seed) for kind, found in sorted(kinds.items())},
        "variants": variants,
        "p50_ms": round(p50(taken), 3),
        "p95_ms": round(p95(taken), 3),
        **spent,
        **({} if panel is None else panel.figures()),
    }


def _stores(questions: list[Question], pooled: bool) -> Iterator[list[Question]]:
    """The questions by the store that they are asked in."""
    if pooled:
        yield questions
    else:
        yield from ([question] for question in questions)


def _fill(db: Database, questions: list[Question], spent: dict[str, Any], extractor: worlddb.Extractor | None) -> None:
    """Take in the haystacks, a session that several of them have once."""
    began = perf_counter()
    held: set[str] = set()
    for question in questions:
        record = question.record
        for name, date, turns in zip(
            record.haystack_session_ids, record.haystack_dates, record.haystack_sessions, strict=True
        ):
            if name in held or not turns:
                continue
            held.add(name)
            said = [
                Turn(text=turn.content, speaker=turn.role, source={"id": f"{name}:{at}"})
                for at, turn in enumerate(turns)
            ]
            where: dict[str, Any] = {"conversation": "haystack", "session": _called(name), "format": "longmemeval"}
            db.ingest(said, at=parse_date(date), extractor=extractor, **where)
            spent["turns"] += len(turns)
    spent["ingest_s"] += perf_counter() - began
    began = perf_counter()
    db.embed()
    assert db.catch_up(), "nobody else has the indexes of this store"
    spent["embed_s"] += perf_counter() - began


def _texts(questions: list[Question]) -> dict[str, str]:
    """What was said in the haystacks, by the turns' ids."""
    return {
        f"{name}:{at}": turn.content
        for question in questions
        for name, turns in zip(question.record.haystack_session_ids, question.record.haystack_sessions, strict=True)
        for at, turn in enumerate(turns)
    }


def _sessions_of(turns: list[str]) -> list[str]:
    """The sessions of some turns, each where the best of its turns is."""
    return list(dict.fromkeys(_called(turn.rpartition(":")[0]) for turn in turns))


def _called(session: str) -> str:
    """The name of a session in the store: those of the file say which of them have the answer."""
    return hashlib.sha256(session.encode()).hexdigest()[:16]


def _scores(question: Question, turns: list[str], sessions: list[str]) -> dict[str, dict[str, float]]:
    return {
        granularity: {
            **{f"recall_any@{k}": recall_any(names, gold, k) for k in CUTS},
            **{f"recall_all@{k}": recall_all(names, gold, k) for k in CUTS},
            **{f"ndcg@{k}": ndcg(names, gold, k) for k in CUTS},
        }
        for granularity, names, gold in (
            ("session", sessions, question.sessions),
            ("turn", turns, question.turns),
        )
    }


if __name__ == "__main__":
    try:
        main()
    except WorldDBError as error:
        sys.exit(f"error[{error.code}]: {error}")
