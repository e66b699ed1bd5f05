"""Dream State's stand-in on labelled memories: what it should remove, near-duplicates, and its cost.

A consolidation also sweeps the same stores and proposes near-duplicates, with and without vectors.

Memories about people are drawn from a seed, each with a label. To remove: repetitions in the same words, with moved or
added words, or in other words; statements that a later one replaces; and what was derived from something that has
ended. To keep, although similar: other people, other numbers, denials, facts that hold together, and the same text in
another person's world. The rules were written before the texts, and no text was dropped to suit them. One fault that
the texts showed was corrected ("In room 12" was taken for a subject), so the figures are those of a development set.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any, Final, NamedTuple

import worlddb
from bench.measuring.report import parser, positive, report, rounded
from worlddb import Database, Embedder, ManualClock, SeededEntropy, StaticEmbedder, parse_time

_FIRST = [
    "Ana",
    "Bo",
    "Clara",
    "Dmitri",
    "Elif",
    "Farouk",
    "Greta",
    "Hiro",
    "Ines",
    "Jonas",
    "Kemal",
    "Lena",
    "Mateo",
    "Nadia",
    "Oscar",
    "Priya",
]
_LAST = [
    "Silva",
    "Berg",
    "Okafor",
    "Petrov",
    "Yilmaz",
    "Haddad",
    "Lund",
    "Sato",
    "Costa",
    "Weber",
    "Demir",
    "Novak",
    "Ruiz",
    "Rahman",
    "Lindt",
    "Nair",
]
_TOWNS = (
    *("Porto", "Riga", "Lisbon", "Oslo", "Vienna", "Ghent"),
    *("Turin", "Krakow", "Malmo", "Bergen", "Graz", "Bilbao"),
)
_THINGS = [
    "cello",
    "pottery",
    "chess",
    "sailing",
    "baking",
    "archery",
    "photography",
    "fencing",
    "gardening",
    "judo",
    "knitting",
    "rowing",
]
_DAYS = (
    *("Monday", "Tuesday", "Wednesday", "Thursday"),
    *("Friday", "Saturday", "Sunday"),
)


class LabelledText(NamedTuple):
    """A text, its label and its origin; ``rests``: it was derived from something that has ended."""

    text: str
    goes: bool
    kind: str
    rests: bool = False


def _long(draw: random.Random, name: str) -> str:
    town, thing, day = draw.choice(_TOWNS), draw.choice(_THINGS), draw.choice(_DAYS)
    return (
        f"On {day} {name} told the club in {town} that the {thing} course begins at {draw.randrange(7, 21)} and costs"
        f" {draw.randrange(10, 90)} euros for {draw.randrange(3, 12)} weeks, with a break in the holidays."
    )


def draw_labelled(draw: random.Random, name: str) -> Iterator[LabelledText]:
    """Draw what is known of one person, oldest first; a text and its replacement are neighbours."""
    one, other = draw.sample(_TOWNS, 2)
    thing, second = draw.sample(_THINGS, 2)
    long = _long(draw, name)
    yield LabelledText(long, True, "same words")
    yield LabelledText(long, False, "kept")
    edited = _long(draw, name)
    yield LabelledText(edited, True, "words added")
    yield LabelledText(f"{edited} Everybody is welcome.", False, "kept")
    yield LabelledText(f"{name} does {thing} in the evening hours with friends.", True, "other words")
    yield LabelledText(f"After work {name} meets some people to practise {thing} together.", False, "kept")
    yield LabelledText(f"{name} lives in {one}.", True, "replaced")
    yield LabelledText(f"{name} lives in {other} now.", False, "kept")
    yield LabelledText(f"{name}'s rent is {draw.randrange(400, 900)} euros.", True, "replaced")
    yield LabelledText(f"{name}'s rent is {draw.randrange(901, 1500)} euros.", False, "kept")
    yield LabelledText(f"Bring an umbrella for {name} to the open-air concert.", True, "rests on nothing", rests=True)
    yield LabelledText(f"{name} likes {second}.", False, "holds beside")
    yield LabelledText(f"{name} likes the sea.", False, "holds beside")
    room = draw.randrange(10, 50)
    yield LabelledText(f"In room {room} the projector of {name} stands on the left shelf.", False, "another number")
    yield LabelledText(f"In room {room + 1} the projector of {name} stands on the left shelf.", False, "another number")
    yield LabelledText(f"In summer the office lets {name} work from the lake house for a week.", False, "a denial")
    yield LabelledText(
        f"In winter the office never lets {name} work from the lake house for a week.", False, "a denial"
    )
    yield LabelledText("The library card is in the second drawer of the kitchen cupboard.", False, "another's world")
    yield LabelledText(f"{name} visited {draw.choice(_TOWNS)} in {draw.randrange(2001, 2024)}.", False, "an event")
    yield LabelledText(f"{name} has a meeting about {draw.choice(_THINGS)} on {draw.choice(_DAYS)}.", False, "an event")


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        judged = measure_deprecations(Path(folder) / "labelled", arguments)
        planted = measure_near_duplicates(Path(folder) / "planted", arguments)
        swept = measure_sweeps(Path(folder), arguments)
    rows: list[tuple[Any, ...]] = [
        (f"{judged['memories']} labelled", judged["precision"], judged["recall"], judged["ms_per_memory"]),
        (f"{planted['memories']}, {planted['planted']} planted", planted["precision"], planted["recall"], ""),
    ]
    rows += (
        (f"sweep of {name}", figures["precision"], figures["recall"], figures["ms_per_memory"])
        for name, figures in swept.items()
    )
    for name, figures in swept.items():
        rows += ((f"sweep of {name}, proposed: {kind}", "", share, "") for kind, share in figures["by_kind"].items())
        rows += ((f"sweep of {name}, wrongly: {kind}", n, "", "") for kind, n in figures["wrong_by_kind"].items())
    rows += ((f"goes: {kind}", "", share, "") for kind, share in judged["recall_by_kind"].items())
    rows += ((f"stays: {kind}, wrongly gone", count, "", "") for kind, count in judged["wrong_by_kind"].items())
    notes = (
        "Precision and recall of the stand-in's deprecations, with the breaker at 0.9; by kind: the deprecated share.",
        "Planted: texts of which one to three words were changed, moved or added, among as many others and a half.",
    )
    measured = {**{key: judged[key] for key in ("precision", "recall", "ms_per_memory")}, "planted": planted}
    measured |= {"swept": swept, "by_kind": judged["recall_by_kind"], "wrong_by_kind": judged["wrong_by_kind"]}
    report(arguments, "dream", measured, ("memories", "precision", "recall", "ms each"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--memories", type=positive, default=1_000, help="labelled ones, in steps of 20")
    arguments.add_argument("--planted", type=positive, default=500, help="near-duplicates among others")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def _open_store(path: Path, seed: int, embedder: Embedder | None = None) -> Database:
    """Open a store at a day on which all texts hold."""
    clock = ManualClock(parse_time("2026-06-01"))
    return worlddb.open(path, author="bench", embedder=embedder, clock=clock, entropy=SeededEntropy(seed))


def measure_deprecations(path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """What the stand-in deprecates among labelled memories."""
    with _open_store(path, arguments.seed) as db:
        labels = _fill_labelled(db, arguments)
        began = process_time()
        done = db.dream(max_deprecation_ratio=0.9)
        spent = process_time() - began
    deprecated = set(done.deprecated)
    wanted = {ref for ref, each in labels.items() if each.goes}
    kinds = Counter(labels[ref].kind for ref in wanted)
    found = Counter(labels[ref].kind for ref in wanted & deprecated)
    wrong = Counter(labels[ref].kind for ref in deprecated - wanted)
    return {
        "memories": len(labels),
        "precision": _share(len(deprecated & wanted), len(deprecated)),
        "recall": _share(len(deprecated & wanted), len(wanted)),
        "recall_by_kind": {kind: _share(found[kind], count) for kind, count in kinds.items()},
        "wrong_by_kind": dict(wrong),
        "ms_per_memory": rounded(1_000 * spent / len(labels)),
    }


def _fill_labelled(db: Database, arguments: argparse.Namespace) -> dict[str, LabelledText]:
    draw = random.Random(arguments.seed)
    labels: dict[str, LabelledText] = {}
    for number in range(max(arguments.memories // 20, 1)):
        name = f"{_FIRST[number % 16]} {_LAST[(number // 16 + number) % 16]}"
        world = db.create("Person", name, resolve=False).ref
        for day, each in enumerate(draw_labelled(draw, name), 1):
            ref = _write_fact(db, each.text, world, day)
            labels[ref] = each
            if each.rests:
                ground = db.create("Event", f"concert {number}", valid_from="2025-01-01").ref
                db.link(ref, "derived_from", ground)
                db.retire(ground, at="2025-12-01")
    return labels


def _fill_planted(db: Database, arguments: argparse.Namespace) -> list[frozenset[str]]:
    """Fill one world; returns the pairs whose second text was planted."""
    draw = random.Random(arguments.seed + 1)
    pairs: list[frozenset[str]] = []
    world = db.create("Topic", "everything", resolve=False).ref
    for number in range(arguments.planted * 3 // 2):
        text = _long(draw, f"{draw.choice(_FIRST)} {draw.choice(_LAST)}")
        ref = _write_fact(db, text, world, 1 + number % 28)
        if number < arguments.planted:
            pairs.append(frozenset((ref, _write_fact(db, _paraphrase(draw, text), world, 1 + number % 28))))
    return pairs


_TWICE: Final = ("same words", "words added", "other words")
"""What of the labelled memories is said again by the one behind it."""


def measure_sweeps(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Near-duplicates that a consolidation proposes in both kinds of stores, with and without vectors."""
    found: dict[str, Any] = {}
    for way, embedder in (("", None), (", with vectors", StaticEmbedder())):
        with _open_store(folder / f"planted{way}-swept", arguments.seed, embedder) as db:
            pairs = _fill_planted(db, arguments)
            found[f"the planted{way}"] = _measure_sweep(
                db, dict.fromkeys(pairs, "planted"), {}, 2.5 * arguments.planted
            )
        with _open_store(folder / f"labelled{way}-swept", arguments.seed, embedder) as db:
            labels = _fill_labelled(db, arguments)
            refs = list(labels)
            told = [(pair, labels[pair[0]].kind) for pair in pairwise(refs)]
            wanted = {frozenset(pair): kind for pair, kind in told if kind in _TWICE}
            kinds = {ref: each.kind for ref, each in labels.items()}
            found[f"the labelled{way}"] = _measure_sweep(db, wanted, kinds, len(refs))
        with _open_store(folder / f"statements{way}-swept", arguments.seed, embedder) as db:
            pairs, kinds = _fill_statements(db)
            same = {pair: "same" for pair in pairs if "same" in {kinds[ref] for ref in pair}}
            found[f"statements{way}"] = _measure_sweep(db, same, kinds, len(kinds))
    return found


def _fill_statements(db: Database) -> tuple[list[frozenset[str]], dict[str, str]]:
    """The pairs of bench.near, each in a world of its own, and the labels."""
    pairs: list[frozenset[str]] = []
    kinds: dict[str, str] = {}
    for line in Path(__file__).with_name("near_pairs.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        world = db.create("Topic", f"pair {len(pairs)}", resolve=False).ref
        refs = [_write_fact(db, told[key], world, day) for day, key in enumerate(("earlier", "later"), 1)]
        pairs.append(frozenset(refs))
        kinds |= dict.fromkeys(refs, told["label"])
    return pairs, kinds


def _measure_sweep(
    db: Database, wanted: dict[frozenset[str], str], kinds: dict[str, str], memories: float
) -> dict[str, Any]:
    db.keep_up()  # Vectors are made, and names compared, before the time is taken.
    began = process_time()
    done = db.consolidate(min_age=timedelta(days=10_000))  # Nothing is so old: no summary is made.
    spent = process_time() - began
    assert db.consolidate(min_age=timedelta(days=10_000)).events == 0, "nothing is proposed twice"
    proposed = {frozenset((each.source, each.target)) for each in db.proposals()}
    assert len(proposed) == len(done.proposals), "each pair once"
    right = proposed & wanted.keys()
    count, got = Counter(wanted.values()), Counter(wanted[pair] for pair in right)
    wrong = Counter(" and ".join(sorted({kinds.get(ref, "other") for ref in pair})) for pair in proposed - right)
    return {
        "precision": _share(len(right), len(proposed)),
        "recall": _share(len(right), len(wanted)),
        "by_kind": {kind: _share(got[kind], n) for kind, n in count.items()},
        "wrong_by_kind": dict(wrong),
        "ms_per_memory": rounded(1_000 * spent / memories),
    }


def measure_near_duplicates(path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Planted near-duplicates of one world that are removed, and other removals."""
    with _open_store(path, arguments.seed) as db:
        planted = set().union(*_fill_planted(db, arguments))
        done = db.dream(max_deprecation_ratio=0.9)
        said = {ref: db.view().marks(ref)[-1].why for ref in done.deprecated}
    # Either of two that say the same may go, and not both.
    right = sum(ref in planted and why.startswith("duplicate") for ref, why in said.items())
    right = min(right, arguments.planted)
    return {
        "memories": arguments.planted * 3 // 2 + arguments.planted,
        "planted": arguments.planted,
        "precision": _share(right, len(said)),
        "recall": _share(right, arguments.planted),
    }


def _paraphrase(draw: random.Random, text: str) -> str:
    """A text with one to three of its words left out, moved or joined by another; its numbers stay."""
    words = text.split()
    for _ in range(draw.randint(1, 3)):
        at = draw.choice([place for place, word in enumerate(words) if word.isalpha() and word.islower()])
        match draw.randrange(3):
            case 0:
                del words[at]
            case 1:
                words.insert(draw.randrange(len(words)), words.pop(at))
            case _:
                words.insert(at, draw.choice(("really", "apparently", "today", "again", "actually")))
    return " ".join(words)


def _write_fact(db: Database, text: str, world: str, day: int) -> str:
    made = db.create("Fact", "", content=text, world=world, valid_from=f"2026-01-{day:02}", resolve=False)
    return str(made.ref)


def _share(part: int, whole: int) -> float:
    return rounded(part / whole) if whole else 1.0


if __name__ == "__main__":
    main()
