"""WorldDB and other libraries on the same work: times, durability, and what deletion leaves behind.

Every peer gets the same texts and, where it compares vectors, the same ones, made by WorldDB's default embedder. It is
used in the process, on disk, as its documentation has it (bench/_peers/ says how). Times of the writes are by turns.

A peer that is not installed has a row that says so: pip install 'worlddb[bench-peers]' installs them.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from pathlib import Path
from typing import Any, Final

from bench._peers import complaints, hops, hybrid, langgraph, speed
from bench._peers.contract import Absent, Kind, Peer, dimension, vectors_of
from bench._peers.registry import KINDS
from bench._peers.syncs import syncs_per_write
from bench.made_up.workload import CONTENT_WORDS, words
from bench.measuring.report import parser, positive, report

_ASKED_WORDS: Final = 8
_FIGURES: Final = {
    "write_p50_ms": "write\np50 ms",
    "write_p95_ms": "\np95 ms",
    "syncs_per_write": "syncs\na write",
    "write_found_p50_ms": "until found\np50 ms",
    "load_per_s": "load\n/s",
    "load_found_per_s": "until found\n/s",
    "search_p50_ms": "search\np50 ms",
    "search_p95_ms": "\np95 ms",
    "bytes_per_text": "bytes\na text",
    "bytes_per_text_cleaned": "cleaned\nup",
}
_SEARCHED: Final = (
    *(
        "write_found_p50_ms",
        "write_found_p95_ms",
        "written_found",
        "load_found_per_s",
        "search_p50_ms",
        "search_p95_ms",
    ),
    *("found_at_10", "new_text_found", "replaced_text_found", "other_process_finds"),
)
"""What cannot be said of who searches nothing."""
_HOPS: Final = {
    "one_hop_p50_ms": "one hop\np50 ms",
    "one_hop_p95_ms": "\np95 ms",
    "two_hops_p50_ms": "two hops\np50 ms",
    "two_hops_p95_ms": "\np95 ms",
    "load_per_s": "load\n/s",
}
_APART: Final = {langgraph.KIND.name: hybrid.KIND.name}
"""Who does not run beside whom: both load sqlite-vec, which works for one SQLite of a process, and bring two."""
_ANSWERS: Final = (
    "searches\nby",
    "replaced\ntext found",
    "past\nanswered",
    "deleted:\ntext, vector\nleft",
    "cleaned up:\ntext, vector\nleft",
    "kept\nwhen\nkilled",
    "two writers\nat one time",
    "found by\na process\nopen before",
)


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir, ignore_cleanup_errors=True) as folder:
        result = measure(Path(folder), arguments)
    rows: list[tuple[Any, ...]] = []
    answers: list[tuple[Any, ...]] = []
    for name, figures in result["peers"].items():
        if "absent" in figures:
            rows.append((name, "absent"))
            continue
        rows.append((name, *(_cell(figures[key]) for key in _FIGURES)))
        answers.append((name, *_answers(figures)))
    floor = result["floor"]
    rows.append(("floor: fsync", floor["write_p50_ms"], floor["write_p95_ms"], 1))
    notes = (
        f"{arguments.texts:,} texts of {CONTENT_WORDS} words, then {arguments.writes} writes one by one;"
        f" {arguments.questions} questions of {_ASKED_WORDS} words, ten hits each.",
        f"Vectors have {dimension()} numbers. WorldDB makes them after the write, the others within it."
        f" Load average {result['load_average']}.",
        ", ".join(f"{name}: {figures.get('version') or figures['absent']}" for name, figures in result["peers"].items())
        + ".",
    )
    more = (("", *_ANSWERS), answers)
    walked = [(name, *(figures[key] for key in _HOPS)) for name, figures in result["hops"].items()]
    report(
        arguments, "peers", result, ("", *_FIGURES.values()), rows, notes, more, (("graph", *_HOPS.values()), walked)
    )


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument(
        "--texts", type=positive, default=3_000, help="the number of texts to search (default: 3,000)"
    )
    arguments.add_argument(
        "--writes", type=int, default=60, help="the number of texts then written one by one (default: 60)"
    )
    arguments.add_argument(
        "--questions", type=positive, default=100, help="the number of searches to time (default: 100)"
    )
    arguments.add_argument("--only", nargs="+", metavar="NAME", help="only these, by their names in the table")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures and answers of every peer."""
    vectors_of(["This loads the model before the first timing."], query=False)
    draw = random.Random(arguments.seed)
    texts = {f"fact {number}": words(draw, CONTENT_WORDS) for number in range(arguments.texts)}
    fresh = {f"new {number}": words(draw, CONTENT_WORDS) for number in range(arguments.writes)}
    marked = complaints.Marked(draw)
    results, kinds = _available_peers(arguments.only)
    peers: dict[str, Peer] = {kind.name: kind.open(folder / kind.name / "main") for kind in kinds}
    floor = speed.Floor(folder / "floor")
    try:
        parts = [speed.loads(peers, marked.texts | texts, next(iter(texts.values())))]
        parts.append(speed.searches(peers, _questions(draw, list(texts.values()), arguments.questions)))
        times, floor_times = speed.writes(peers, floor, fresh)
        parts.append(times)
    finally:
        floor.close()
        for peer in peers.values():
            peer.close()
    count = len(marked.texts) + len(texts) + len(fresh)
    for kind in kinds:
        for part in parts:
            results[kind.name] |= part[kind.name]
        results[kind.name] |= _measure_files(kind, folder / kind.name, count, marked)
        if kind.searches == "nothing":
            results[kind.name] |= dict.fromkeys(_SEARCHED)
    sizes = {"texts": arguments.texts, "writes": arguments.writes, "questions": arguments.questions}
    walked = hops.measured(folder, arguments.seed, arguments.texts, arguments.questions) if kinds else {}
    return {
        "peers": results,
        "hops": walked,
        "floor": floor_times,
        **sizes,
        "load_average": round(os.getloadavg()[0], 1),
    }


def _available_peers(only: list[str] | None) -> tuple[dict[str, dict[str, Any]], list[Kind]]:
    """The facts known of each peer without opening it, and the installed peers."""
    told: dict[str, dict[str, Any]] = {}
    kinds = list[Kind]()
    for kind in KINDS:
        if only and kind.name not in only:
            continue
        try:
            told[kind.name] = {"version": kind.version(), "searches": kind.searches}
            beside = _APART.get(kind.name)
            if beside is not None and any(each.name == beside for each in kinds):
                raise Absent(f"not in one process with {beside}: both load sqlite-vec; run it with --only")
            kinds.append(kind)
        except Absent as absent:
            told[kind.name] = {"absent": str(absent)}
    return told, kinds


def _questions(draw: random.Random, texts: list[str], count: int) -> list[tuple[str, str]]:
    """Questions of some of a text's words, with the text."""
    chosen = draw.choices(texts, k=count)
    return [(" ".join(draw.sample(text.split(), _ASKED_WORDS)), text) for text in chosen]


def _measure_files(kind: Kind, folder: Path, texts: int, marked: complaints.Marked) -> dict[str, Any]:
    main = folder / "main"
    return {
        "bytes_per_text": speed.bytes_on_disk(main) // texts,
        **marked.left(kind, main),
        "bytes_per_text_cleaned": speed.bytes_on_disk(main) // texts,
        "syncs_per_write": syncs_per_write(kind.name, folder / "traced"),
        **complaints.ask_all(kind, folder),
    }


def _answers(told: dict[str, Any]) -> tuple[str, ...]:
    together = told["two_writers"]
    both = f"{together['lost']} of {together['acknowledged']} lost" if together["lost"] else "both kept"
    return (
        told["searches"],
        _cell(told["replaced_text_found"]),
        "not offered" if told["past_answered"] is None else _cell(told["past_answered"]),
        ", ".join(_cell(left) for left in told["left_after_delete"].values()),
        ", ".join(_cell(left) for left in told["left_after_cleaning"].values()),
        _cell(told["killed_write_kept"]),
        both + (f", refused: {together['refused'].partition(':')[0]}" if together["refused"] else ""),
        "-"
        if told["searches"] == "nothing"
        else "refused"
        if told["other_process_finds"] is None
        else _cell(told["other_process_finds"]),
    )


def _cell(value: Any) -> Any:
    """A cell for people: figures unchanged, answers in words."""
    if value is None:
        return "-"
    return ("no", "yes")[value] if isinstance(value, bool) else value


if __name__ == "__main__":
    main()
