"""Near statements: what a write would repeat, replace or contradict, and the order of two competing facts.

The 200 pairs are in bench/near_pairs.jsonl: an earlier and a later statement about one subject, with a label. All pairs
of a half are in one store with the default embedder, each pair in its own world. The program writes the earlier
statement, asks what is near the later one, writes that too, without a link, and asks the pair's question.

- near: the share of replacements, contradictions and repetitions whose earlier statement is found, with any relation;
- told: the same with one of these three relations; labelled: with the relation of the label;
- falsely_near: the share of unrelated pairs whose earlier statement is found;
- falsely_told: the share of unrelated and compatible pairs reported as a replacement or a contradiction;
- strangers: the statements about other subjects that were found in the whole store, for all pairs;
- later_first: the share of replacements and contradictions whose later statement ranks above the earlier;
- earlier_asked: the same with the earlier statement as the question, which is hardest;
- competing: the share of questions whose answer says that the two compete.

--beam FILE adds BEAM's questions about changes and contradictions, one store for each conversation: the share of
evidence messages among the first 20 hits, and the number of answers with several of them whose latest message ranks
first. The rules above never reorder messages, so this shows their limits. --longmemeval FILE does the same for its
questions about changes, with the turns that have the answer as evidence.

For both, the evidence is also written as statements, as an agent would: the user's sentences in the first person, and
of one that ends with a question what stands before its last dash or semicolon. Those of the last session (or message,
if there is one session) are compared with the earlier ones. written: the questions with sentences on both sides; near:
the share of these with an earlier one found near a later one; told: found as a replacement or a contradiction;
later_first: a later one ranks above every earlier one among the first ten hits. asked_first: the same, but
of the three questions of LongMemEval that ask for the earlier value ("what was my previous status?") an earlier one has
to be first, which later_first counts as a miss.

Half of the pairs is held out: nothing was fitted to it, although one author wrote both the pairs and the rules.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

import worlddb
from bench.beam import Conversation, Question, read
from bench.measuring.report import ended, parser, report
from bench.public_data import haystacks
from worlddb import Database, ManualClock, StaticEmbedder, Turn
from worlddb.projections.indexes import analysis
from worlddb.tools.agents import remember

PAIRS: Final = Path(__file__).with_name("near_pairs.jsonl")
EARLIER: Final = "2024-01-01"
KINDS: Final = ("knowledge_update", "contradiction_resolution")
UPDATED: Final = "knowledge-update"
LATER: Final = "2025-06-01"
NOW: Final = "2025-09-01T12:00:00Z"
TOLD: Final = ("replacement", "contradiction", "same")


class Pair(msgspec.Struct, frozen=True):
    """An earlier and a later statement about the same subjects, and how they relate."""

    label: str
    topic: str
    about: list[str]
    earlier: str
    later: str
    held_out: bool
    question: str = ""


def main() -> None:
    arguments = _arguments()
    pairs = [msgspec.json.decode(line, type=Pair) for line in PAIRS.read_text("utf-8").splitlines()]
    halves = {"designed": [pair for pair in pairs if not pair.held_out]}
    if arguments.held_out:
        halves["held_out"] = [pair for pair in pairs if pair.held_out]
    result = {name: measure_pairs(chosen) for name, chosen in halves.items()}
    beam = read(arguments.beam) if arguments.beam else []
    rows = [(key, *(told[key] for told in result.values())) for key in KEYS]
    heads = ("share or number", *result)
    talks = {"beam": _of_beam(beam, arguments.size), "longmemeval": _of_longmemeval(arguments.longmemeval)}
    result |= {name: measure_conversations(given) for name, given in talks.items() if given}
    notes = [f"{kind}: {told}" for name in talks for kind, told in result.get(name, {}).items()]
    report(arguments, "near", result, heads, rows, notes)


KEYS: Final = (
    *("pairs", "near", "told", "labelled", "falsely_near", "falsely_told", "strangers"),
    *("later_first", "earlier_asked", "competing"),
)


def _arguments() -> Any:
    arguments = parser(__doc__)
    arguments.add_argument("--held-out", action="store_true", help="also the held-out half")
    arguments.add_argument("--beam", type=Path, help="BEAM's file, packed by xz")
    arguments.add_argument("--longmemeval", type=Path, help="LongMemEval's file, packed or not")
    arguments.add_argument("--size", default="100K", help="which of BEAM's conversations (default: 100K)")
    return arguments.parse_args()


class Talk(NamedTuple):
    """A conversation: its texts by id in time order, sessions and questions."""

    turns: dict[int, Turn]
    questions: list[Question]
    asks_of_before: bool = False
    """Its question asks for the earlier value, so that an earlier sentence has to be first."""


def _of_beam(conversations: list[Conversation], size: str) -> list[Talk]:
    return [
        Talk(
            {turn.source["id"]: turn for turn in one.turns()},
            [each for each in one.questions if each.kind in KINDS and each.evidence],
        )
        for one in conversations
        if one.size == size
    ]


def _of_longmemeval(path: Path | None) -> list[Talk]:
    talks: list[Talk] = []
    for record in [] if path is None else haystacks.load(path):
        if record.question_type != UPDATED or haystacks.ABSTAINING in record.question_id:
            continue
        gold, turns, evidence = haystacks.question(record).turns, dict[int, Turn](), list[int]()
        for session in sorted(record.sessions, key=lambda each: each.at or 0):
            for at, turn in enumerate(session.turns):
                number = len(turns)
                turns[number] = Turn(
                    speaker=turn.role, text=turn.content, session=session.name, at=session.at, source={"id": number}
                )
                evidence += [number] if haystacks.turn_id(session.name, at) in gold else []
        talks.append(
            Talk(turns, [Question(UPDATED, record.question, evidence)], record.question_id in ASKING_OF_BEFORE)
        )
    return talks


def measure_conversations(talks: list[Talk]) -> dict[str, Any]:
    """The order of evidence among the first hits and as statements, by kind of question."""
    found: dict[str, dict[str, list[Any]]] = {}
    for talk in talks:
        with tempfile.TemporaryDirectory() as folder, worlddb.open(folder, embedder=StaticEmbedder()) as db:
            db.ingest(list(talk.turns.values()), conversation="talk")
            db.embed()
            for asked in talk.questions:
                ranks = found.setdefault(asked.kind, {key: [] for key in ("share", "latest", *AS_STATEMENTS)})
                hits = db.view().recall(asked.question, k=20)
                order = [id for hit in hits if (id := hit.source.get("id")) in asked.evidence]
                ranks["share"].append(len(set(order)) / len(set(asked.evidence)))
                ranks["latest"] += [order[0] == max(order)] if len(order) > 1 else []
                for key, value in _write_as_statements(talk, asked).items():
                    ranks[key].append(value)
    return {
        kind: {
            "questions": len(ranks["share"]),
            "recall@20": round(sum(ranks["share"]) / max(len(ranks["share"]), 1), 3),
            "with_several": len(ranks["latest"]),
            "latest_first": _share(ranks["latest"]),
            "written": len(ranks["near"]),
            **{key: _share(ranks[key]) for key in AS_STATEMENTS},
        }
        for kind, ranks in found.items()
    }


ASKING_OF_BEFORE: Final = frozenset(("50635ada", "10e09553", "89941a94"))
"""The ids of LongMemEval's updates that ask for the earlier value, by their answers."""
AS_STATEMENTS: Final = ("near", "told", "later_first", "asked_first")


def _write_as_statements(talk: Talk, asked: Question) -> dict[str, bool]:
    """Results of writing the user's evidence as statements; empty if it has only one side."""
    said = [
        talk.turns[id] for id in sorted(set(asked.evidence)) if id in talk.turns and talk.turns[id].speaker == "user"
    ]
    first = next((at for at, turn in enumerate(said) if turn.session == said[-1].session), 0) or len(said) - 1
    earlier, later = (
        [each for turn in turns for each in _statements(turn.text)] for turns in (said[:first], said[first:])
    )
    if not earlier or not later:
        return {}
    clock = ManualClock(worlddb.parse_time(NOW))
    with tempfile.TemporaryDirectory() as folder, worlddb.open(folder, clock=clock, embedder=StaticEmbedder()) as db:
        for each in earlier:
            remember(db, each, about="user", since=EARLIER)
        db.embed()
        near = [one for each in later for one in db.near(each, about="user", since=LATER) if one.text in earlier]
        for each in later:
            remember(db, each, about="user", since=LATER)
        db.embed()
        order = [hit.content for hit in db.view().recall(asked.question) if hit.content in (*earlier, *later)]
        is_later = bool(order) and order[0] in later
        return {
            "near": bool(near),
            "told": any(one.relation in TOLD[:2] for one in near),
            "later_first": is_later,
            "asked_first": bool(order) and is_later != talk.asks_of_before,
        }


def _statements(text: str) -> list[str]:
    """The first-person sentences of a text, without the questions that end some of them."""
    found: list[str] = []
    for sentence in analysis.sentences(text):
        told = sentence.strip()
        if told.rstrip('"”)').endswith("?"):
            told = _BEFORE_QUESTION.sub(".", told, 1)
        found += analysis.extract_statements(told).statements
    return list(dict.fromkeys(found))


_BEFORE_QUESTION: Final = re.compile(r"(?:\s+[-–—]+\s+|;\s+|—)(?:(?!\s[-–—]+\s|;\s|—).)*$", re.DOTALL)
"""The last part of a sentence, from a dash or a semicolon on."""


def measure_pairs(pairs: list[Pair]) -> dict[str, Any]:
    """The shares that the module's docstring lists."""
    with tempfile.TemporaryDirectory() as folder:
        clock = ManualClock(worlddb.parse_time(NOW))
        with worlddb.open(folder, clock=clock, embedder=StaticEmbedder()) as db:
            worlds = [db.create("Topic", f"pair {number}").ref for number, _ in enumerate(pairs)]
            for pair, world in zip(pairs, worlds, strict=True):
                remember(db, pair.earlier, about=pair.about[0], since=EARLIER, world=world)
            db.embed()
            return _measure(db, pairs, worlds)


def _measure(db: Database, pairs: list[Pair], worlds: list[str]) -> dict[str, Any]:
    found: list[str] = []
    strangers = 0
    for pair, world in zip(pairs, worlds, strict=True):
        near = db.near(pair.later, about=pair.about, world=world, since=LATER)
        found.append(near[0].relation if near else "")
        for each in db.near(pair.later, about=pair.about, since=LATER):
            strangers += not any(other.earlier == each.text and other.about == pair.about for other in pairs)
    for pair, world in zip(pairs, worlds, strict=True):
        if pair.question:
            remember(db, pair.later, about=pair.about[0], since=LATER, world=world)
    db.embed()
    asked = [(pair, world) for pair, world in zip(pairs, worlds, strict=True) if pair.question]
    answers = [db.view().recall(pair.question, world=world) for pair, world in asked]
    hard = [db.view().recall(pair.earlier, world=world) for pair, world in asked]
    given = list(zip(pairs, found, strict=True))
    return {
        "pairs": len(pairs),
        "near": _share([bool(one) for pair, one in given if pair.label in TOLD]),
        "told": _share([one in TOLD for pair, one in given if pair.label in TOLD]),
        "labelled": _share([one == pair.label for pair, one in given if pair.label in TOLD]),
        "falsely_near": _share([bool(one) for pair, one in given if pair.label == "unrelated"]),
        "falsely_told": _share([one in TOLD[:2] for pair, one in given if pair.label not in TOLD]),
        "strangers": strangers,
        "later_first": _share([_is_later_first(pair, one) for (pair, _), one in zip(asked, answers, strict=True)]),
        "earlier_asked": _share([_is_later_first(pair, one) for (pair, _), one in zip(asked, hard, strict=True)]),
        "competing": _share([bool(getattr(one, "competing", ())) for one in answers]),
        "missed": [
            f"{pair.label}: {pair.earlier} / {pair.later} ({one})" for pair, one in given if _is_wrong(pair, one)
        ],
    }


def _is_wrong(pair: Pair, relation: str) -> bool:
    is_told = relation in TOLD
    return not is_told if pair.label in TOLD else is_told or (pair.label == "unrelated" and bool(relation))


def _is_later_first(pair: Pair, answer: worlddb.Recall) -> bool:
    """True if the later statement is found, and before the earlier one."""
    order = [hit.content for hit in answer.hits if hit.content in (pair.earlier, pair.later)]
    return bool(order) and order[0] == pair.later


def _share(values: list[bool]) -> float:
    return round(sum(values) / max(len(values), 1), 3)


if __name__ == "__main__":
    ended(main)
