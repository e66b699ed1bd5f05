"""Cue retrieval on LoCoMo-Plus: whether what was said long ago is recalled by what it explains now.

Each pair is a cue, two turns, and a trigger, which somebody says some time later without the cue's words. A pair is
asked inside one of LoCoMo's conversations, in a store of its own: the trigger when the last session began, the cue as a
session at its time gap before that, with the conversation's speakers. Recall@k is the share of pairs of which a turn of
the cue is among the first k hits. All of the variants in bench/_retrieval.py and the baselines in bench/_baselines.py
are asked the same in the same run. No model runs but the embedder.
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
from bench import _baselines
from bench._report import parser, report
from bench._retrieval import VARIANTS, recall_any, summary
from worlddb import EMBEDDERS, Embedder, Turn, embedder_named
from worlddb.query.dates import spans
from worlddb.reconciler.models import DEFAULT_EMBEDDER
from worlddb.tools.importers import files, locomo
from worlddb.tools.importers.conversation import Conversation, Session

_LINE: Final = re.compile(r"(?:^|\\n|\n)\s*(?P<side>[AB]):\s*(?P<text>.*?)(?=(?:\\n|\n)\s*[AB]:|\Z)", re.S)
_LATER: Final = re.compile(r"\b(?:later|after)\b")
CUE: Final = "cue"


class Pair(msgspec.Struct, frozen=True):
    """A cue and its trigger, as in the file."""

    relation_type: str
    cue_dialogue: str
    trigger_query: str
    time_gap: str


def main() -> None:
    arguments = _arguments()
    pairs = msgspec.json.decode(files.whole(arguments.file), type=list[Pair])[: arguments.limit]
    result = measure(pairs, locomo.load(arguments.conversations).loaded, arguments)
    key = f"recall@{arguments.k}"
    rows = [(name, told["n"], told[key], _shown(told[f"{key}_95"])) for name, told in result["by_category"].items()]
    rows.extend(
        (f"all, {name}", told["n"], told[key], _shown(told[f"{key}_95"])) for name, told in result["variants"].items()
    )
    report(arguments, "locomo_plus", result, ("relation", "pairs", key, "95 %"), rows)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LoCoMo-Plus's JSON, compressed or not")
    arguments.add_argument("conversations", type=Path, help="LoCoMo's JSON, compressed or not")
    arguments.add_argument("--limit", type=int, help="only the first so many pairs")
    arguments.add_argument("-k", type=int, default=10)
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
            found = _found(Path(folder) / str(number), pair, conversation, arguments.k, embedder)
            for variant, ids in found.items():
                score = {key: recall_any(ids, {f"{CUE}:0", f"{CUE}:1"}, arguments.k)}
                rows[variant].append(score)
                if variant == "default":
                    kinds[pair.relation_type].append(score)
    variants = {variant: summary(found, arguments.seed) for variant, found in rows.items()}
    return {
        **variants["default"],
        "by_category": {kind: summary(found, arguments.seed) for kind, found in sorted(kinds.items())},
        "variants": variants,
        "k": arguments.k,
    }


def _found(
    folder: Path, pair: Pair, conversation: Conversation, k: int, embedder: Embedder = DEFAULT_EMBEDDER
) -> dict[str, list[str]]:
    """The ids of the first k hits, by variant."""
    asked_at = max(session.at for session in conversation.sessions if session.at is not None)
    cue = Session(CUE, gap_before(pair.time_gap, asked_at), cue_turns(pair.cue_dialogue, conversation.speakers))
    sessions = sorted((*conversation.sessions, cue), key=lambda session: session.at or 0)
    texts: dict[str, str] = {}
    trigger = pair.trigger_query.partition(": ")[2] or pair.trigger_query
    with worlddb.open(folder, author="bench", embedder=embedder) as db:
        for session in sessions:
            said = []
            for at, turn in enumerate(session.turns):
                texts[f"{session.name}:{at}"] = turn.text
                said.append(Turn(text=turn.text, speaker=turn.speaker, source={"id": f"{session.name}:{at}"}))
            db.ingest(said, conversation=conversation.name, session=session.name, at=session.at, format="locomo")
        db.embed()
        view = db.view()
        found = {}
        for variant, options in VARIANTS.items():
            hits = view.recall(trigger, k=k, asked=asked_at, **options).hits
            found[variant] = [str(hit.source.get("id", "")) for hit in hits]
    peers = _baselines.built(_baselines.available(), texts, embedder)
    return found | {name: peer.search(trigger, k) for name, peer in peers.items()}


def cue_turns(dialogue: str, speakers: list[str]) -> list[Turn]:
    """The turns of a cue, said by the conversation's speakers."""
    said = [(match["side"], match["text"].strip()) for match in _LINE.finditer(dialogue)] or [("A", dialogue)]
    return [Turn(text=text, speaker=speakers["AB".index(side)]) for side, text in said]


def gap_before(gap: str, at: int) -> int:
    """When a cue was said whose trigger followed "two months later", in microseconds: the middle of what that means."""
    named = spans(_LATER.sub("ago", gap), at)
    assert named, f"the time gap {gap!r} is understood"
    return (named[0].start + named[0].end) // 2


def _shown(interval: list[float]) -> str:
    return f"{interval[0]:.0f}–{interval[1]:.0f}"


if __name__ == "__main__":
    main()
