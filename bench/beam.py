"""Evidence retrieval on BEAM: whether the messages with the answer are recalled, by kind of question.

Every conversation of the file is its own store; messages have the time of their session. Each question with evidence is
asked at the time of the last session. recall@k is the share of its evidence (by message id) among the first k hits,
averaged over questions. Two more counts are printed: unanswerable questions that recall calls weak, and other questions
that it falsely calls weak. The variants in bench/public_data/retrieval.py and the baselines in
bench/public_data/baselines.py answer the same questions in the same run. The embedder is the only model.

With --half only the conversations of one half are asked (by a hash of their ids): ideas are chosen on half 0 and
confirmed on half 1.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

import worlddb
from bench.measuring.report import ended, p50, p95, parser, report
from bench.public_data import baselines, haystacks, unanswerable
from bench.public_data.ideas import ablated, add_argument, variants
from bench.public_data.retrieval import interval, recall_share
from worlddb import EMBEDDERS, Database, Turn, embedder_named
from worlddb.tools.importers import input_files
from worlddb.tools.importers.input_files import Place, decode_at

ABSTENTION: Final = "abstention"
COVERING: Final = ("event_ordering", "summarization")
"""Kinds that ask for all of something; the variants are told of them apart, too."""
KS: Final = (10, 20)


class Message(msgspec.Struct):
    """A message of a conversation, as in the file; the first of a session has its day."""

    id: int
    role: str
    session: int
    content: str
    time: str | None = None


class Question(msgspec.Struct):
    """A question about a conversation, with the messages that hold its answer."""

    kind: str
    question: str
    evidence: list[int]


class Conversation(msgspec.Struct):
    """A conversation of the file."""

    id: str
    size: str
    messages: list[Message]
    questions: list[Question]

    def turns(self) -> list[Turn]:
        """The turns with a text, each at its session's day if the file has it."""
        days = {each.session: day_of(each.time) for each in reversed(self.messages) if each.time}
        return [
            Turn(
                text=each.content,
                speaker=each.role,
                session=str(each.session),
                source={"id": each.id},
                at=days.get(each.session),
            )
            for each in self.messages
            if each.content.strip()
        ]


_CONVERSATIONS: Final = msgspec.json.Decoder(list[Conversation])


def day_of(written: str) -> datetime:
    """A day as the file writes it: "March-15-2024"."""
    return datetime.strptime(written, "%B-%d-%Y").replace(tzinfo=UTC)


def read(path: Path) -> list[Conversation]:
    """The conversations of a file, compressed or not.

    Raises:
        MalformedFile: it breaks the format.
    """
    return decode_at(Place(path), _CONVERSATIONS.decode, bytes(input_files.read_whole(path)))


def main() -> None:
    arguments = _arguments()
    result = measure(arguments)
    rows = [
        (
            name,
            figures["n"],
            *(cell for k in KS for cell in (figures[f"recall@{k}"], _interval_text(figures[f"recall@{k}_95"]))),
        )
        for name, figures in (result["by_kind"] | result["by_size"] | result["variants"]).items()
    ]
    flagged = result["weak"]
    notes = (
        f"{result['conversations']} conversations, {result['turns']:,} turns.",
        f"Called weak: {flagged[ABSTENTION]} of {flagged['abstaining']} without an answer, and {flagged['answered']}"
        f" of {flagged['answerable']} others.",
        *(
            f"With the threshold of the other half, {name}: {figures['abstaining_flagged']} of {figures['abstaining']},"
            f" and {figures['answerable_flagged']} of {figures['answerable']} others."
            for name, figures in result["flagged"].items()
        ),
        f"Latency p50 {result['p50_ms']:.2f} ms, p95 {result['p95_ms']:.2f} ms.",
        f"Left out: {result['left_out']} questions without evidence.",
    )
    report(
        arguments,
        "beam",
        result,
        ("asked", "questions", *(c for k in KS for c in (f"recall@{k}", "95 %"))),
        rows,
        notes,
    )


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="BEAM's JSON, compressed or not")
    arguments.add_argument(
        "--sizes", nargs="+", default=("100K", "500K", "1M"), help="sizes of the conversations to use"
    )
    arguments.add_argument("--half", type=int, choices=(0, 1), help="only the conversations of one half")
    arguments.add_argument("--embedder", default="static", help=f"the model: {', '.join(EMBEDDERS)}")
    add_argument(arguments)
    return arguments.parse_args()


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Fill a store with each conversation, ask its questions, and sum up by kind, size and variant."""
    chosen = [
        each
        for each in read(arguments.file)
        if each.size in arguments.sizes and arguments.half in (None, haystacks.half(each.id))
    ]
    if not chosen:
        raise worlddb.InputError(f"{arguments.file} has no conversation of {arguments.sizes}", "Give other sizes")
    scores: defaultdict[str, list[tuple[float, ...]]] = defaultdict(list)
    flagged: defaultdict[bool, list[bool]] = defaultdict(list)
    signals: list[unanswerable.Signals] = []
    latencies_ms: list[float] = []
    turns = left_out = 0
    embedder = embedder_named(arguments.embedder)
    for one in chosen:
        conversation_turns = one.turns()
        turns += len(conversation_turns)
        texts = {str(turn.source["id"]): turn.text for turn in conversation_turns}
        gathering = unanswerable.QuestionCoverage(texts.values())
        peers = baselines.build(baselines.available(), texts, embedder)
        with (
            tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder,
            worlddb.open(folder, author="bench", embedder=embedder) as db,
        ):
            fill(db, conversation_turns)
            view, last = db.view(), max((turn.at for turn in conversation_turns if turn.at is not None), default=None)
            for asked in one.questions:
                began = perf_counter()
                found = view.recall(asked.question, k=max(KS), asked=last)
                latencies_ms.append(1000 * (perf_counter() - began))
                if asked.evidence or asked.kind == ABSTENTION:
                    flagged[asked.kind == ABSTENTION].append(found.weak)
                    which = haystacks.half(one.id), asked.kind == ABSTENTION
                    signals.append(
                        unanswerable.Signals(*which, found.confidence or 0.0, gathering.count(asked.question))
                    )
                if not asked.evidence:
                    left_out += asked.kind != ABSTENTION
                    continue
                gold = {str(each) for each in asked.evidence}
                default = _shares([str(hit.source.get("id")) for hit in found.hits], gold)
                scores[asked.kind].append(default)
                scores[one.size].append(default)
                scores["all"].append(default)
                for variant, options in variants(arguments).items():
                    with ablated(variant):
                        hits = view.recall(asked.question, k=max(KS), asked=last, **options).hits
                    shares = _shares([str(hit.source.get("id")) for hit in hits], gold)
                    for name in ("all", asked.kind) if asked.kind in COVERING else ("all",):
                        scores[f"{name}, {variant}"].append(shares)
                for name, peer in peers.items():
                    scores[f"all, {name}"].append(_shares(peer.search(asked.question, max(KS)), gold))
    sizes = {each.size for each in chosen} | {"all"}
    summed = {name: _summary(found, arguments.seed) for name, found in scores.items()}
    return {
        "by_kind": {
            name: figures for name, figures in sorted(summed.items()) if name not in sizes and ", " not in name
        },
        "by_size": {name: figures for name, figures in summed.items() if name in sizes},
        "variants": {name: figures for name, figures in summed.items() if ", " in name},
        "weak": _count_flagged(flagged[True], flagged[False]),
        "flagged": unanswerable.flagged(signals),
        "conversations": len(chosen),
        "turns": turns,
        "left_out": left_out,
        "p50_ms": round(p50(latencies_ms), 3),
        "p95_ms": round(p95(latencies_ms), 3),
    }


def _count_flagged(abstaining: list[bool], others: list[bool]) -> dict[str, int]:
    """Answers called weak among unanswerable questions and among the others."""
    return {
        ABSTENTION: sum(abstaining),
        "abstaining": len(abstaining),
        "answered": sum(others),
        "answerable": len(others),
    }


def fill(db: Database, said: Sequence[Turn]) -> None:
    """Write what was said, and index it."""
    db.ingest(list(said), conversation="talk")
    db.embed()
    assert db.catch_up(), "nobody else has the indexes of this store"


def _shares(found: list[str], gold: set[str]) -> tuple[float, ...]:
    return tuple(recall_share(found, gold, k) for k in KS)


def _summary(scores: Sequence[tuple[float, ...]], seed: int) -> dict[str, Any]:
    told: dict[str, Any] = {"n": len(scores)}
    for k, of_k in zip(KS, zip(*scores, strict=True), strict=True):
        told[f"recall@{k}"] = round(statistics.fmean(of_k), 4)
        told[f"recall@{k}_95"] = [round(end, 4) for end in interval(of_k, seed)]
    return told


def _interval_text(spread: list[float]) -> str:
    return f"{spread[0]:.3f}–{spread[1]:.3f}"


if __name__ == "__main__":
    ended(main)
