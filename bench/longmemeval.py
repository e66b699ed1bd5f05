"""Retrieval on LongMemEval: whether the sessions or turns with the evidence are recalled, without a chat model.

Every question has its own haystack in its own store, or with --pooled all haystacks are in one store. Recall returns
sessions itself (group=1); the sessions of a baseline are those of its turns. At turn level the gold turns are those
marked has_answer, or all turns of the answer sessions if none is marked. The variants in bench/public_data/retrieval.py
and the baselines in bench/public_data/baselines.py answer the same questions in the same run; --ideas adds the default
without each of its ideas.

With --answer a model that you name answers each question from the default's hits, and with --judge a model judges the
answers (bench/public_data/answering.py). Both are reached at --endpoint; the key is read from the environment variable
that --key-variable names. --transcript saves each finished question, so that an interrupted run can resume.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import worlddb
from bench.measuring.report import ended, p50, p95, parser, positive, report
from bench.public_data import baselines
from bench.public_data.answering import Panel, add_arguments, panel_of, summary_lines
from bench.public_data.haystacks import ABSTAINING, Question, Record, half, load, question, session_name, texts, turn_id
from bench.public_data.ideas import ablated, add_argument, variants
from bench.public_data.retrieval import ndcg, recall_all, recall_any, summary
from worlddb import EMBEDDERS, LANES, Database, InputError, Turn, embedder_named

GRANULARITIES: Final = ("session", "turn")
CUTS: Final = (1, 5, 10)
AUTHORS: Final = ("recall_all@5", "ndcg@5", "recall_all@10", "ndcg@10")
"""What the benchmark's authors print, of the questions that can be answered."""
DEPTH: Final = 100
"""How many turns are fetched; of a baseline so that ten sessions are among them."""
SESSIONS: Final = 10


def main() -> None:
    arguments = _arguments()
    questions = [question(record) for record in _records(arguments)]
    panel = panel_of(arguments)
    if not any(each.turns for each in questions):
        raise InputError(f"Of {len(questions)} questions, none has its answer in its haystack", "Ask others")
    if arguments.judge and (nothing := [each.record for each in questions if not each.record.answer]):
        raise InputError(f"The question {nothing[0].question_id!r:.80} has no expected answer", "Leave out --judge")
    result = measure(questions, arguments, panel)
    rows = []
    for name, found in result["variants"].items():
        for granularity in GRANULARITIES:
            figures = found[granularity]
            rows.append(
                (
                    name,
                    granularity,
                    *(figures[f"recall_any@{k}"] for k in CUTS),
                    figures["recall_all@5"],
                    figures["recall_all@10"],
                    figures["ndcg@10"],
                )
            )
    for kind, figures in result["by_type"].items():
        rows.append(
            (
                kind,
                f"{arguments.granularity}, n={figures['n']}",
                *(figures[f"recall_any@{k}"] for k in CUTS),
                figures["recall_all@5"],
                figures["recall_all@10"],
                figures["ndcg@10"],
            )
        )
    heads = ("variant", "granularity", "any@1", "any@5", "any@10", "all@5", "all@10", "ndcg@10")
    notes = (
        f"{result['n']} questions, {result['turns']:,} turns; ingested in {result['ingest_s']:.1f} s, embedded in"
        f" {result['embed_s']:.1f} s.",
        f"Left out: {result['left_out']} questions without an answer in their haystack. The others:"
        f" {_granularity_cells(result['answerable'][arguments.granularity])}.",
        f"95 % intervals of the default, {arguments.granularity} level: {_intervals(result)}.",
        f"Latency of the default, ten hits: p50 {result['p50_ms']:.1f} ms, p95 {result['p95_ms']:.1f} ms.",
    )
    report(arguments, "longmemeval", result, heads, rows, (*notes, *summary_lines(result)))


def _granularity_cells(found: Mapping[str, Any]) -> str:
    """The number of questions, and the authors' figures for a granularity."""
    told = (f"{metric} {found[metric]}" for metric in AUTHORS if metric in found)
    return ", ".join((f"n={found['n']}", *told))


def _intervals(found: Mapping[str, Any]) -> str:
    """The intervals, by metric."""
    return ", ".join(
        f"{key[:-3]} {low:.0f}–{high:.0f}" for key in found if key.endswith("_95") for low, high in [found[key]]
    )


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LongMemEval's JSON, compressed or not")
    arguments.add_argument("--granularity", choices=GRANULARITIES, default="session")
    arguments.add_argument("--pooled", action="store_true", help="all haystacks in one store")
    arguments.add_argument("--lanes", nargs="+", choices=LANES, default=LANES, help="the lanes of the default")
    arguments.add_argument(
        "--entities", action="store_true", help="also with the entities of turns, by EntityExtractor"
    )
    arguments.add_argument("--embedder", default="static", help=f"the model: {', '.join(EMBEDDERS)}")
    arguments.add_argument("--limit", type=positive, help="only the first N questions")
    add_argument(arguments)
    add_arguments(arguments)
    arguments.add_argument("--half", type=int, choices=(0, 1), help="only one half of them, by a hash of their ids")
    return arguments.parse_args()


def _records(arguments: argparse.Namespace) -> list[Record]:
    records = load(arguments.file)
    if arguments.half is not None:
        records = [record for record in records if half(record.question_id) == arguments.half]
    return records[: arguments.limit]


def measure(questions: list[Question], arguments: argparse.Namespace, panel: Panel | None = None) -> dict[str, Any]:
    """Ask every question in every variant, and sum up; with a panel, have each answered and judged too.

    A question whose haystack has nothing that answers is left out of what is summed up, and counted.
    """
    scores, compared = _Scores(), variants(arguments)
    latencies_ms: list[float] = []
    embedder = embedder_named(arguments.embedder)
    spent = {"turns": 0, "ingest_s": 0.0, "embed_s": 0.0}
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        for number, asked in enumerate(_stores(questions, arguments.pooled)):
            with worlddb.open(Path(folder) / str(number), author="bench", embedder=embedder) as db:
                fill(db, asked, spent, worlddb.EntityExtractor() if arguments.entities else None)
                if panel is not None:
                    panel.prepare(db, [each.record for each in asked])
                view = db.view()
                peers = baselines.build(baselines.available(), texts([each.record for each in asked]), embedder)
                for each in asked:
                    text = each.record.question
                    when: dict[str, Any] = {"asked": each.record.asked}
                    # What a question takes is measured while nothing has been looked up for it.
                    began = perf_counter()
                    view.recall(text, lanes=arguments.lanes, **when)
                    latencies_ms.append(1000 * (perf_counter() - began))
                    for variant, options in compared.items():
                        chosen = {"lanes": arguments.lanes} if variant == "default" else options
                        with ablated(variant):
                            found = view.recall(text, k=DEPTH, **when, **chosen)
                            groups = view.recall(text, k=SESSIONS, group=1, **when, **chosen).groups
                        turns = [hit.source["id"] for hit in found.hits if hit.type == "Turn"]
                        scores.add(variant, each, turns, [group.name for group in groups if group.type == "Session"])
                        if variant == "default" and panel is not None:
                            panel.evaluate(each.record, view, found.hits, lanes=arguments.lanes, **when)
                    for name, peer in peers.items():
                        turns = peer.search(text, DEPTH)
                        scores.add(name, each, turns, _sessions_of(turns))
    results = {
        variant: {each: summary(scores.by_variant[variant, each], arguments.seed) for each in GRANULARITIES}
        for variant in (*compared, *baselines.available())
    }
    return {
        **results["default"][arguments.granularity],
        "granularity": arguments.granularity,
        "pooled": arguments.pooled,
        "entities": arguments.entities,
        "model": embedder.model,
        "left_out": sum(not each.turns for each in questions),
        "answerable": {each: summary(scores.answerable[each], arguments.seed) for each in GRANULARITIES},
        "by_type": {
            kind: summary(found[arguments.granularity], arguments.seed)
            for kind, found in sorted(scores.by_type.items())
        },
        "variants": results,
        "p50_ms": round(p50(latencies_ms), 3),
        "p95_ms": round(p95(latencies_ms), 3),
        **spent,
        **({} if panel is None else (panel.calibration() if arguments.calibrate else {}) | panel.figures()),
    }


class _Scores:
    """What was found of every question that counts: by variant and granularity, and of the default also by type, and of
    the questions that can be answered, both by granularity."""

    def __init__(self) -> None:
        self.by_variant: defaultdict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
        self.by_type: defaultdict[str, defaultdict[str, list[dict[str, float]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.answerable: defaultdict[str, list[dict[str, float]]] = defaultdict(list)

    def add(self, variant: str, asked: Question, turns: list[str], sessions: list[str]) -> None:
        """What a variant found, the best first."""
        if not asked.turns:
            return
        for granularity, scores in _scores(asked, turns, sessions).items():
            self.by_variant[variant, granularity].append(scores)
            if variant == "default":
                self.by_type[asked.record.question_type][granularity].append(scores)
                if ABSTAINING not in asked.record.question_id:
                    self.answerable[granularity].append(scores)


def _stores(questions: list[Question], pooled: bool) -> Iterator[list[Question]]:
    """The questions by the store that they are asked in."""
    if pooled:
        yield questions
    else:
        yield from ([question] for question in questions)


def fill(db: Database, questions: list[Question], spent: dict[str, Any], extractor: worlddb.Extractor | None) -> None:
    """Ingest the haystacks; a session of several haystacks is ingested once."""
    began = perf_counter()
    held: set[str] = set()
    for session in (session for each in questions for session in each.record.sessions):
        if session.name in held or not session.turns:
            continue
        held.add(session.name)
        turns = [
            Turn(text=turn.content, speaker=turn.role, source={"id": turn_id(session.name, at)})
            for at, turn in enumerate(session.turns)
        ]
        where: dict[str, Any] = {
            "conversation": "haystack",
            "session": session_name(session.name),
            "format": "longmemeval",
        }
        db.ingest(turns, at=session.at, extractor=extractor, **where)
        spent["turns"] += len(turns)
    spent["ingest_s"] += perf_counter() - began
    began = perf_counter()
    db.embed()
    assert db.catch_up(), "nobody else has the indexes of this store"
    spent["embed_s"] += perf_counter() - began


def _sessions_of(turns: list[str]) -> list[str]:
    """The sessions of some turns, in the order of their best turns."""
    return list(dict.fromkeys(session_name(turn.rpartition(":")[0]) for turn in turns))


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
    ended(main)
