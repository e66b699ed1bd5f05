"""Cue retrieval on LoCoMo-Plus: whether a remark recalls the earlier turn that explains it.

Each pair is a cue, two turns, and a trigger, which somebody says some time later without the cue's words. A pair is
asked inside one of LoCoMo's conversations, in a store of its own: the trigger when the last session began, the cue as a
session at its time gap before that, with the conversation's speakers. Recall@k is the share of pairs of which a turn of
the cue is among the first k hits. All of the variants in bench/public_data/retrieval.py and the baselines in
bench/public_data/baselines.py are asked the same in the same run. No model runs but the embedder.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import msgspec

import worlddb
from bench.measuring.report import ended, parser, positive, report
from bench.public_data import baselines
from bench.public_data.ideas import ablated, add_argument, variants
from bench.public_data.retrieval import recall_any, summary
from worlddb import EMBEDDERS, Embedder, InputError, Turn, embedder_named
from worlddb.tools.importers import input_files, locomo
from worlddb.tools.importers.conversation import Conversation, Session
from worlddb.tools.importers.input_files import Place, decode_at

_LINE: Final = re.compile(r"(?:^|\\n|\n)\s*(?P<side>[AB]):\s*(?P<text>.*?)(?=(?:\\n|\n)\s*[AB]:|\Z)", re.S)
_NUMBERS: Final = {
    **{word: number for number, word in enumerate(("a", "two", "three", "four", "five", "six", "seven", "eight"), 1)},
    **{word: number for number, word in enumerate(("nine", "ten", "eleven", "twelve", "thirteen", "fourteen"), 9)},
    **{word: number for number, word in enumerate(("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"), 15)},
    **{"an": 1, "one": 1, "the next": 1, "the following": 1, "couple": 2, "few": 3, "some": 3, "several": 4},
    **{"half a": 0.5, "twenty": 20},
}
_DAYS: Final = {"day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}
_GAP: Final = re.compile(
    rf"\b(?P<count>\d+(?:\.\d+)?|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})(?: of)?(?P<half> and a half)?"
    rf" (?P<unit>{'|'.join(_DAYS)})s?\b(?P<more> and a half)?",
    re.I,
)
_SIDE: Final = re.compile(r"\A\s*[AB]:\s*")
_UNKNOWN_GAP: Final = "one month later"
CUE: Final = "cue"


class Pair(msgspec.Struct, frozen=True):
    """A cue and its trigger, as in the file."""

    cue_dialogue: str
    trigger_query: str
    time_gap: str | None = None
    relation_type: str = "unknown"


_PAIRS: Final = msgspec.json.Decoder(list[Pair])


def main() -> None:
    arguments = _arguments()
    pairs = decode_at(Place(arguments.file), _PAIRS.decode, input_files.read_whole(arguments.file).strip())[
        : arguments.limit
    ]
    conversations = [found for found in locomo.read(arguments.conversations) if _last_session(found) is not None]
    if not pairs or not conversations:
        lacking = f"{arguments.conversations} has no dated session" if pairs else f"{arguments.file} has no pair"
        raise InputError(lacking, "Give a file of LoCoMo-Plus, and one of LoCoMo")
    result = measure(pairs, conversations, arguments)
    key = f"recall@{arguments.k}"
    rows = [
        (name, figures["n"], figures[key], _interval_text(figures[f"{key}_95"]))
        for name, figures in result["by_category"].items()
    ]
    rows.extend(
        (f"all, {name}", figures["n"], figures[key], _interval_text(figures[f"{key}_95"]))
        for name, figures in result["variants"].items()
    )
    notes = (f"Of {result['unknown_gaps']} pairs the time gap was not understood; it was taken for one month.",)
    report(arguments, "locomo_plus", result, ("relation", "pairs", key, "95 %"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LoCoMo-Plus's JSON, compressed or not")
    arguments.add_argument("conversations", type=Path, help="LoCoMo's JSON, compressed or not")
    arguments.add_argument("--limit", type=positive, help="only the first N pairs")
    arguments.add_argument("-k", type=positive, default=10)
    add_argument(arguments)
    arguments.add_argument("--embedder", default="static", help=f"the model: {', '.join(EMBEDDERS)}")
    return arguments.parse_args()


def measure(pairs: list[Pair], conversations: list[Conversation], arguments: argparse.Namespace) -> dict[str, Any]:
    """Ask every trigger inside the conversation whose turn it is, and sum up."""
    key = f"recall@{arguments.k}"
    rows: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    kinds: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    embedder = embedder_named(arguments.embedder)
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        for number, pair in enumerate(pairs):
            conversation = conversations[number % len(conversations)]
            turns = cue_turns(pair.cue_dialogue, conversation.speakers)
            gold = {f"{CUE}:{at}" for at, _ in enumerate(turns)}
            found = _recall_variants(Path(folder) / str(number), pair, turns, conversation, embedder, arguments)
            for variant, ids in found.items():
                score = {key: recall_any(ids, gold, arguments.k)}
                rows[variant].append(score)
                if variant == "default":
                    kinds[pair.relation_type].append(score)
    told = {variant: summary(found, arguments.seed) for variant, found in rows.items()}
    return {
        **told["default"],
        "by_category": {kind: summary(found, arguments.seed) for kind, found in sorted(kinds.items())},
        "variants": told,
        "unknown_gaps": sum(gap_before(pair.time_gap, 0) is None for pair in pairs),
        "k": arguments.k,
    }


def _last_session(conversation: Conversation) -> int | None:
    """When the last session began, if any is dated."""
    return max((session.at for session in conversation.sessions if session.at is not None), default=None)


def _recall_variants(
    folder: Path,
    pair: Pair,
    turns: list[Turn],
    conversation: Conversation,
    embedder: Embedder,
    arguments: argparse.Namespace,
) -> dict[str, list[str]]:
    """The ids of the first k hits, by variant."""
    asked_at = _last_session(conversation)
    assert asked_at is not None, "conversations without a date are not asked"
    said_at = gap_before(pair.time_gap, asked_at) or gap_before(_UNKNOWN_GAP, asked_at)
    sessions = sorted((*conversation.sessions, Session(CUE, said_at, turns)), key=lambda session: session.at or 0)
    texts: dict[str, str] = {}
    trigger = _SIDE.sub("", pair.trigger_query, count=1)
    with worlddb.open(folder, author="bench", embedder=embedder) as db:
        for session in (session for session in sessions if session.turns):
            said = []
            for at, turn in enumerate(session.turns):
                texts[f"{session.name}:{at}"] = turn.text
                said.append(Turn(text=turn.text, speaker=turn.speaker, source={"id": f"{session.name}:{at}"}))
            db.ingest(said, conversation=conversation.name, session=session.name, at=session.at, format="locomo")
        db.embed()
        view = db.view()
        found = {}
        for variant, options in variants(arguments).items():
            with ablated(variant):
                hits = view.recall(trigger, k=arguments.k, asked=asked_at, **options).hits
            found[variant] = [str(hit.source.get("id", "")) for hit in hits]
    peers = baselines.build(baselines.available(), texts, embedder)
    return found | {name: peer.search(trigger, arguments.k) for name, peer in peers.items()}


def cue_turns(dialogue: str, speakers: list[str]) -> list[Turn]:
    """The turns of a cue, said by the conversation's speakers."""
    said = [(match["side"], match["text"].strip()) for match in _LINE.finditer(dialogue)] or [("A", dialogue)]
    sides = dict(zip("AB", (*speakers, "A", "B"), strict=False))
    return [Turn(text=text, speaker=sides[side]) for side, text in said]


def gap_before(gap: str | None, at: int) -> int | None:
    """The time of a cue from a gap such as "two months later", in microseconds; ``None`` if it is none."""
    found = _GAP.search(gap or "")
    if found is None:
        return None
    said = found["count"].lower()
    count = _NUMBERS[said] if said in _NUMBERS else float(said)
    count += 0.5 * bool(found["half"] or found["more"])
    return at - round(count * _DAYS[found["unit"].lower()] * 86_400_000_000)


def _interval_text(interval: list[float]) -> str:
    return f"{interval[0]:.0f}–{interval[1]:.0f}"


if __name__ == "__main__":
    ended(main)
