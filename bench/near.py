"""Near statements: what a write would repeat, replace or contradict, and which of two competing facts comes first.

The 200 pairs are in bench/near_pairs.jsonl: an earlier and a later statement about one subject, with a label. All pairs
of a half are in one store with the default embedder, each in a world of its own: the earlier is written, the later
asked for as near, then written too, without a word about the other, and the pair's question asked.

- near: of replacements, contradictions and repetitions, the share whose earlier statement is given, with any relation;
- told: the same with one of these three relations; labelled: with the very relation of the label;
- falsely_near: of unrelated pairs, the share whose earlier statement is given;
- falsely_told: of unrelated and compatible pairs, the share that is given as a replacement or a contradiction;
- strangers: the statements of other subjects that were given in the whole store, for all pairs;
- later_first: of replacements and contradictions, the share of questions at which the later comes before the earlier;
- earlier_asked: the same where the question is the earlier statement itself, the hardest that there is;
- competing: the share of the questions at which the answer says that the two compete.

With --beam FILE also BEAM's questions of what changed and of what is contradicted, each conversation a store: of the
messages that are evidence the share among the first 20 hits, and in how many answers with several of them the latest
message comes before the others. Messages of a talk are never moved by the rules above, so this shows where they end.

Half of the pairs is held out: nothing was fitted to it, though the hand that wrote it wrote the rules too.
"""

from __future__ import annotations

import lzma
import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec

import worlddb
from bench._report import ended, parser, report
from worlddb import Database, ManualClock, StaticEmbedder
from worlddb.tools.agents import remember

PAIRS: Final = Path(__file__).with_name("near_pairs.jsonl")
EARLIER: Final = "2024-01-01"
KINDS: Final = ("knowledge_update", "contradiction_resolution")
LATER: Final = "2025-06-01"
NOW: Final = "2025-09-01T12:00:00Z"
TOLD: Final = ("replacement", "contradiction", "same")


class Message(msgspec.Struct):
    """A message of a conversation, as in BEAM's file."""

    id: int
    role: str
    session: int
    time: str | None
    content: str


class Asked(msgspec.Struct):
    """A question about a conversation, with the messages that hold its answer."""

    kind: str
    question: str
    evidence: list[int]


class Conversation(msgspec.Struct):
    """A conversation of BEAM's file."""

    size: str
    messages: list[Message]
    questions: list[Asked]


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
    result = {name: measured(chosen) for name, chosen in halves.items()}
    beam = (
        msgspec.json.decode(lzma.decompress(arguments.beam.read_bytes()), type=list[Conversation])
        if arguments.beam
        else []
    )
    if beam:
        result["beam"] = in_talks(beam, arguments.size)
    rows = [(name, *(told[key] for key in KEYS)) for name, told in result.items() if name != "beam"]
    notes = [f"{kind}: {told}" for kind, told in result.get("beam", {}).items()]
    report(arguments, "near", result, ("half", *KEYS), rows, notes)


KEYS: Final = (
    *("pairs", "near", "told", "labelled", "falsely_near", "falsely_told", "strangers"),
    *("later_first", "earlier_asked", "competing"),
)


def _arguments() -> Any:
    arguments = parser(__doc__)
    arguments.add_argument("--held-out", action="store_true", help="also the half that is held out")
    arguments.add_argument("--beam", type=Path, help="BEAM's file, packed by xz")
    arguments.add_argument("--size", default="100K", help="which of BEAM's conversations (default: 100K)")
    return arguments.parse_args()


def in_talks(conversations: list[Conversation], size: str) -> dict[str, Any]:
    """How the evidence of BEAM's questions is ordered among the first hits, by kind of question."""
    shares: dict[str, list[float]] = {kind: [] for kind in KINDS}
    latest_first: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    for conversation in (one for one in conversations if one.size == size):
        with tempfile.TemporaryDirectory() as folder, worlddb.open(folder, embedder=StaticEmbedder()) as db:
            turns = [
                worlddb.Turn(speaker=each.role, text=each.content, session=str(each.session))
                for each in conversation.messages
                if each.content.strip()
            ]
            db.ingest(turns, conversation="talk")
            db.embed()
            places = {f"{each.role}: {each.content}": each.id for each in conversation.messages}
            for asked in (one for one in conversation.questions if one.kind in KINDS and one.evidence):
                hits = db.view().recall(asked.question, k=20)
                found = [id for hit in hits if (id := places.get(hit.content)) in asked.evidence]
                shares[asked.kind].append(len(set(found)) / len(set(asked.evidence)))
                if len(found) > 1:
                    latest_first[asked.kind].append(found[0] == max(found))
    return {
        kind: {
            "questions": len(shares[kind]),
            "recall@20": round(sum(shares[kind]) / max(len(shares[kind]), 1), 3),
            "with_several": len(latest_first[kind]),
            "latest_first": _share(latest_first[kind]),
        }
        for kind in KINDS
    }


def measured(pairs: list[Pair]) -> dict[str, Any]:
    """The shares, of some pairs, as the docstring of this program has them."""
    with tempfile.TemporaryDirectory() as folder:
        clock = ManualClock(worlddb.parse_time(NOW))
        with worlddb.open(folder, clock=clock, embedder=StaticEmbedder()) as db:
            worlds = [db.create("Topic", f"pair {number}").ref for number, _ in enumerate(pairs)]
            for pair, world in zip(pairs, worlds, strict=True):
                remember(db, pair.earlier, about=pair.about[0], since=EARLIER, world=world)
            db.embed()
            return _measured(db, pairs, worlds)


def _measured(db: Database, pairs: list[Pair], worlds: list[str]) -> dict[str, Any]:
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
        "later_first": _share([_later_first(pair, one) for (pair, _), one in zip(asked, answers, strict=True)]),
        "earlier_asked": _share([_later_first(pair, one) for (pair, _), one in zip(asked, hard, strict=True)]),
        "competing": _share([bool(getattr(one, "competing", ())) for one in answers]),
        "missed": [f"{pair.label}: {pair.earlier} / {pair.later} ({one})" for pair, one in given if _wrong(pair, one)],
    }


def _wrong(pair: Pair, relation: str) -> bool:
    is_told = relation in TOLD
    return not is_told if pair.label in TOLD else is_told or (pair.label == "unrelated" and bool(relation))


def _later_first(pair: Pair, answer: worlddb.Recall) -> bool:
    """True if the later statement is found, and before the earlier one."""
    order = [hit.content for hit in answer.hits if hit.content in (pair.earlier, pair.later)]
    return bool(order) and order[0] == pair.later


def _share(values: list[bool]) -> float:
    return round(sum(values) / max(len(values), 1), 3)


if __name__ == "__main__":
    ended(main)
