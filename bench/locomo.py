"""Evidence retrieval on LoCoMo: whether the turns with the answer are recalled.

Every conversation of the file is ingested. Every question with evidence is asked inside its conversation's world.
recall@k is the share of its evidence turns (by `dia_id`) among the first k hits, averaged over questions. The questions
have no date and are asked at the start of the conversation's last session. Evidence that names no turn of the
conversation is left out, and so is a question without other evidence; both are counted. The variants in
bench/public_data/retrieval.py and the baselines in bench/public_data/baselines.py answer the same questions in the same
run. The embedder is the only model.

With --pooled questions are asked in the whole store, where the speakers of other conversations are strangers. For
questions that name a speaker, two counts are printed: first hits said by or naming a named speaker, and first hits in a
conversation in which none of them speaks.
"""

from __future__ import annotations

import argparse
import codecs
import re
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

import msgspec

import worlddb
from bench.measuring.report import ended, p50, p95, parser, positive, report
from bench.public_data import baselines
from bench.public_data.ideas import ablated, add_argument, variants
from bench.public_data.retrieval import interval, recall_share
from worlddb import EMBEDDERS, LANES, Database, EntityExtractor, InputError, View, embedder_named
from worlddb.tools.importers import input_files, locomo
from worlddb.tools.importers.conversation import Conversation
from worlddb.tools.importers.input_files import Place, decode_at
from worlddb.tools.importers.run import ingest_files

CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
OTHER: Final = "of no category"
_TURN_ID: Final = re.compile(r"D:?(\d+):(\d+)")


class _RawQuestion(msgspec.Struct, frozen=True):
    question: str
    evidence: list[str] | str | None = None
    category: int | None = None


class _RawConversation(msgspec.Struct, frozen=True):
    sample_id: str
    qa: list[_RawQuestion] = []


_RECORDS: Final = msgspec.json.Decoder(list[_RawConversation])
_RECORD: Final = msgspec.json.Decoder(_RawConversation)


class Question(NamedTuple):
    """A question, the conversation that it is asked in, and the turns that answer it."""

    text: str
    conversation: str
    category: str
    evidence: frozenset[str]


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        result = measure(Path(folder) / "store", arguments)
    key = f"recall@{arguments.k}"
    rows = [
        (name, found["n"], found[key], _interval_text(found[f"{key}_95"]))
        for name, found in result["by_category"].items()
    ]
    rows.append(("all", result["n"], result[key], _interval_text(result[f"{key}_95"])))
    rows.extend(
        (f"all, {name}", result["n"], told[key], _interval_text(told[f"{key}_95"]))
        for name, told in result["variants"].items()
    )
    named = result["named"]
    notes = (
        f"Of {named['questions']} questions that name a speaker, the first hit is by one for"
        f" {named['named_first']:.1%}, and from a conversation of strangers for {named['strangers_first']:.1%}.",
        f"{result['conversations']:,} conversations, {result['turns']:,} turns, ingested in"
        f" {result['ingest_s']:.2f} s.",
        f"Latency p50 {result['p50_ms']:.2f} ms, p95 {result['p95_ms']:.2f} ms.",
        *_enrichment_lines(result["enriched"]),
        f"Left out: {result['unknown_evidence']} evidence ids without a turn,"
        f" {result['left_out']} questions without evidence.",
    )
    report(arguments, "locomo", result, ("category", "questions", key, "95 %"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LoCoMo's JSON, compressed or not")
    arguments.add_argument("--lanes", nargs="+", choices=LANES, default=LANES)
    arguments.add_argument("-k", type=positive, default=10)
    arguments.add_argument("--pooled", action="store_true", help="recall in the whole store, not in one conversation")
    add_argument(arguments)
    arguments.add_argument("--enrich", action="store_true", help="also recall after enriching turns without a model")
    arguments.add_argument(
        "--entities", action="store_true", help="also with the entities of turns, by EntityExtractor"
    )
    arguments.add_argument("--embedder", default="static", help=f"the model: {', '.join(EMBEDDERS)}")
    return arguments.parse_args()


def measure(store: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Ingest the file, ask its questions, and sum up by category."""
    conversations = {found.name: found for found in locomo.read(arguments.file)}
    questions, left_out, unknown = questions_of(arguments.file, conversations)
    if not questions:
        raise InputError(f"{arguments.file} has no question with evidence in what was said", "Give a file of LoCoMo")
    embedder, compared = embedder_named(arguments.embedder), variants(arguments)
    with worlddb.open(store, author="bench", embedder=embedder) as db:
        began = perf_counter()
        ingested = ingest_files(db, [arguments.file], extractor=EntityExtractor() if arguments.entities else None)
        seconds = perf_counter() - began
        model = db.embed().model
        assert db.catch_up(), "nobody else has the indexes of this store"
        view = db.view()
        worlds = {name: _world(db, view, name) for name in {question.conversation for question in questions}}
        ends = {name: max(session.valid.start for session in view.children(world)) for name, world in worlds.items()}
        talks = {session.ref: name for name, world in worlds.items() for session in view.children(world)}
        compared_with = () if arguments.pooled else baselines.available()
        peers = {name: baselines.build(compared_with, texts_of(conversations[name]), embedder) for name in worlds}
        speakers = {name: _speakers(found) for name, found in conversations.items()}
        named: dict[str, list[tuple[bool, bool]]] = {"default": [], **{variant: [] for variant in compared}}
        scores: defaultdict[str, list[float]] = defaultdict(list)
        latencies_ms = []
        others: defaultdict[str, list[float]] = defaultdict(list)
        for question in questions:
            where: dict[str, Any] = {"asked": ends[question.conversation]}
            if not arguments.pooled:
                where["world"] = worlds[question.conversation]
            asked_of = _named_in(question.text, frozenset().union(*speakers.values()))
            began = perf_counter()
            found = view.recall(question.text, k=arguments.k, lanes=arguments.lanes, **where)
            latencies_ms.append(1000 * (perf_counter() - began))
            scores[question.category].append(_share(question, found, talks))
            for variant, options in compared.items():
                with ablated(variant):
                    asked = view.recall(question.text, k=arguments.k, **where, **options)
                others[variant].append(_share(question, asked, talks))
                if asked_of:
                    named[variant].append(_first_hit_speaker(asked, asked_of, speakers, talks))
            for name, peer in peers[question.conversation].items():
                others[name].append(
                    recall_share(peer.search(question.text, arguments.k), question.evidence, arguments.k)
                )
        enriched = _enriched(db, arguments.enrich)
        for name, fields in ENRICHED.items() if enriched else ():
            others[name] = _recall_enriched(db.view(), questions, fields, arguments, ends, worlds, talks)
    key = f"recall@{arguments.k}"
    summed = partial(_summary, key, arguments.seed)
    every = [score for found_scores in scores.values() for score in found_scores]
    return {
        **summed(every),
        "by_category": {name: summed(scores[name]) for name in (*CATEGORIES.values(), OTHER) if scores[name]},
        "variants": {
            variant: summed(found) | (_named_shares(named[variant]) if variant in named else {})
            for variant, found in others.items()
        },
        "named": _named_shares(named["default"]),
        "pooled": arguments.pooled,
        "p50_ms": round(p50(latencies_ms), 3),
        "p95_ms": round(p95(latencies_ms), 3),
        "conversations": len(conversations),
        "turns": ingested.turns,
        "ingest_s": round(seconds, 3),
        "unknown_evidence": unknown,
        "left_out": left_out,
        "k": arguments.k,
        "entities": arguments.entities,
        "enriched": enriched,
        "model": model,
    }


ENRICHED: Final[Mapping[str, Mapping[str, float] | None]] = {"enriched": None, "enriched, fields added up": {}}
"""How questions are asked once turns are enriched: the better of a turn and what was inferred of it, or both added."""


def _enriched(db: Database, wanted: bool) -> dict[str, Any]:
    """Enrich the turns by the stand-in; returns their number and the milliseconds of each."""
    if not wanted:
        return {}
    began = process_time()
    done = db.enrich()
    every = len(done.segments) + done.unsaid
    return {
        "segments": len(done.segments),
        "unsaid": done.unsaid,
        "ms": 1000 * (process_time() - began) / max(every, 1),
    }


def _enrichment_lines(enriched: Mapping[str, Any]) -> tuple[str, ...]:
    """Lines for people about the enrichment, if there was one."""
    if not enriched:
        return ()
    said = f"{enriched['segments']:,} turns were enriched and {enriched['unsaid']:,} say what they mean"
    return (f"{said}; {enriched['ms']:.1f} ms of the processor a turn.",)


def _recall_enriched(
    view: View,
    questions: list[Question],
    fields: Mapping[str, float] | None,
    arguments: argparse.Namespace,
    ends: Mapping[str, int],
    worlds: Mapping[str, str],
    talks: Mapping[str, str],
) -> list[float]:
    """Evidence recall of each question with enriched turns."""
    scores = []
    for question in questions:
        world = None if arguments.pooled else worlds[question.conversation]
        asked: dict[str, Any] = {"asked": ends[question.conversation], "world": world, "fields": fields}
        found = view.recall(question.text, k=arguments.k, lanes=arguments.lanes, **asked)
        scores.append(_share(question, found, talks))
    return scores


def _summary(key: str, seed: int, scores: list[float]) -> dict[str, Any]:
    """The mean of some questions' scores, and its interval."""
    spread = [round(end, 4) for end in interval(scores, seed)]
    return {"n": len(scores), key: round(statistics.fmean(scores), 4), f"{key}_95": spread}


def _interval_text(spread: list[float]) -> str:
    return f"{spread[0]:.3f}–{spread[1]:.3f}"


def texts_of(conversation: Conversation) -> dict[str, str]:
    """What was said in a conversation, as the importer takes it in, by the turns' ids."""
    return {turn.source["id"]: turn.text for session in conversation.sessions for turn in session.turns}


def _share(question: Question, found: worlddb.Recall, talks: Mapping[str, str]) -> float:
    hits = (hit for hit in found.hits if talks.get(hit.world) == question.conversation)
    recalled = question.evidence & {hit.source.get("id", hit.name) for hit in hits}
    return len(recalled) / len(question.evidence)


def _speakers(conversation: Conversation) -> frozenset[str]:
    """Who speaks in a conversation."""
    return frozenset(turn.speaker for session in conversation.sessions for turn in session.turns if turn.speaker)


def _named_in(text: str, speakers: frozenset[str]) -> frozenset[str]:
    """The speakers that a text names."""
    return frozenset(name for name in speakers if re.search(rf"\b{re.escape(name)}\b", text))


def _first_hit_speaker(
    found: worlddb.Recall, named: frozenset[str], speakers: Mapping[str, frozenset[str]], talks: Mapping[str, str]
) -> tuple[bool, bool]:
    """Whether the first hit is of a named person, and whether none of them speaks in its conversation."""
    if not found.hits:
        return False, False
    first = found.hits[0]
    around = speakers.get(talks.get(first.world, ""), named)
    return bool(_named_in(f"{first.name}\n{first.content}", named)), around.isdisjoint(named)


def _named_shares(told: list[tuple[bool, bool]]) -> dict[str, Any]:
    """The number of questions that name a speaker, and two shares of them."""
    shares = [round(sum(column) / max(len(told), 1), 4) for column in zip(*told, strict=True)] or [0.0, 0.0]
    return {"questions": len(told), "named_first": shares[0], "strangers_first": shares[1]}


def questions_of(path: Path, conversations: Mapping[str, Conversation]) -> tuple[list[Question], int, int]:
    """The questions with evidence, and the counts of those without and of unknown evidence ids."""
    questions = []
    left_out = unknown = 0
    for record in decode_at(Place(path), _decoded, bytes(input_files.read_whole(path))):
        turns = {_normal_id(name): name for name in texts_of(conversations[record.sample_id])}
        for asked in record.qa:
            told = _evidence_ids(asked.evidence)
            evidence = frozenset(turns[name] for name in told if name in turns)
            unknown += len(told - turns.keys())
            left_out += not evidence
            if evidence:
                category = CATEGORIES.get(asked.category or 0, OTHER)
                questions.append(Question(asked.question, record.sample_id, category, evidence))
    return questions, left_out, unknown


def _decoded(data: bytes) -> list[_RawConversation]:
    text = data.removeprefix(codecs.BOM_UTF8).strip()
    return [_RECORD.decode(text)] if text.startswith(b"{") else _RECORDS.decode(text)


def _evidence_ids(evidence: list[str] | str | None) -> set[str]:
    """The ids of evidence turns; some entries hold several ids in one text."""
    entries = [evidence] if isinstance(evidence, str) else evidence or []
    ids = (_TURN_ID.finditer(entry) for entry in entries)
    return {
        name
        for entry, found in zip(entries, ids, strict=True)
        for name in [_turn_id(match) for match in found] or [entry]
    }


def _normal_id(name: str) -> str:
    """A turn's id in one form: the file also writes "D30:05" and "D:11:26"."""
    found = _TURN_ID.fullmatch(name)
    return name if found is None else _turn_id(found)


def _turn_id(match: re.Match[str]) -> str:
    return f"D{int(match[1])}:{int(match[2])}"


def _world(db: Database, view: View, name: str) -> str:
    """The conversation's world."""
    named = [world.ref for world in view.children() if world.name == name]
    assert len(named) == 1, f"{name} was ingested {len(named)} times into {db.path}"
    return named[0]


if __name__ == "__main__":
    ended(main)
