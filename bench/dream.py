"""Dream State's stand-in beside labels: memories that should go, near-duplicates among others, and what it costs.

Memories about people are drawn from a seed, each with a label. What should go: what is said again in the same words, in
words that are moved or added, or in other words; what a later statement replaces; what was derived from something that
has ended. What should stay looks alike: other people, other numbers, denials, several things that hold together, and
the same said in another person's world. The rules were written before the texts, and no text was dropped for them; one
fault that they showed was mended ("In room 12" was taken for a subject), so the figures are of a development set.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import worlddb
from bench._report import parser, positive, report, rounded
from worlddb import Database, ManualClock, SeededEntropy, parse_time

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


class Labelled(NamedTuple):
    """A text, the label of it, and how it came about; ``rests``: it was derived from what has ended."""

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


def labelled(draw: random.Random, name: str) -> Iterator[Labelled]:
    """What is known of one person, the earlier first; each pair of what goes and what takes its place lies together."""
    one, other = draw.sample(_TOWNS, 2)
    thing, second = draw.sample(_THINGS, 2)
    long = _long(draw, name)
    yield Labelled(long, True, "same words")
    yield Labelled(long, False, "kept")
    edited = _long(draw, name)
    yield Labelled(edited, True, "words added")
    yield Labelled(f"{edited} Everybody is welcome.", False, "kept")
    yield Labelled(f"{name} does {thing} in the evening hours with friends.", True, "other words")
    yield Labelled(f"After work {name} meets some people to practise {thing} together.", False, "kept")
    yield Labelled(f"{name} lives in {one}.", True, "replaced")
    yield Labelled(f"{name} lives in {other} now.", False, "kept")
    yield Labelled(f"{name}'s rent is {draw.randrange(400, 900)} euros.", True, "replaced")
    yield Labelled(f"{name}'s rent is {draw.randrange(901, 1500)} euros.", False, "kept")
    yield Labelled(f"Bring an umbrella for {name} to the open-air concert.", True, "rests on nothing", rests=True)
    yield Labelled(f"{name} likes {second}.", False, "holds beside")
    yield Labelled(f"{name} likes the sea.", False, "holds beside")
    room = draw.randrange(10, 50)
    yield Labelled(f"In room {room} the projector of {name} stands on the left shelf.", False, "another number")
    yield Labelled(f"In room {room + 1} the projector of {name} stands on the left shelf.", False, "another number")
    yield Labelled(f"In summer the office lets {name} work from the lake house for a week.", False, "a denial")
    yield Labelled(f"In winter the office never lets {name} work from the lake house for a week.", False, "a denial")
    yield Labelled("The library card is in the second drawer of the kitchen cupboard.", False, "another's world")
    yield Labelled(f"{name} visited {draw.choice(_TOWNS)} in {draw.randrange(2001, 2024)}.", False, "an event")
    yield Labelled(f"{name} has a meeting about {draw.choice(_THINGS)} on {draw.choice(_DAYS)}.", False, "an event")


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        judged = deprecations(Path(folder) / "labelled", arguments)
        planted = near_duplicates(Path(folder) / "planted", arguments)
    rows: list[tuple[Any, ...]] = [
        (f"{judged['memories']} labelled", judged["precision"], judged["recall"], judged["ms_per_memory"]),
        (f"{planted['memories']}, {planted['planted']} planted", planted["precision"], planted["recall"], ""),
    ]
    rows += ((f"goes: {kind}", "", share, "") for kind, share in judged["recall_by_kind"].items())
    rows += ((f"stays: {kind}, wrongly gone", count, "", "") for kind, count in judged["wrong_by_kind"].items())
    notes = (
        "Precision and recall of what the stand-in deprecates, with the breaker at 0.9; by kind: the share that went.",
        "Planted: texts of which one to three words were changed, moved or added, among as many others and a half.",
    )
    measured = {**{key: judged[key] for key in ("precision", "recall", "ms_per_memory")}, "planted": planted}
    measured |= {"by_kind": judged["recall_by_kind"], "wrong_by_kind": judged["wrong_by_kind"]}
    report(arguments, "dream", measured, ("memories", "precision", "recall", "ms each"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--memories", type=positive, default=1_000, help="labelled ones, in steps of 20")
    arguments.add_argument("--planted", type=positive, default=500, help="near-duplicates among others")
    arguments.add_argument("--dir", help="where the stores are made (default: the system's temporary folder)")
    return arguments.parse_args()


def _opened(path: Path, seed: int) -> Database:
    """A store on a day on which all that is said holds."""
    clock = ManualClock(parse_time("2026-06-01"))
    return worlddb.open(path, author="bench", embedder=None, clock=clock, entropy=SeededEntropy(seed))


def deprecations(path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """What the stand-in deprecates of labelled memories."""
    draw = random.Random(arguments.seed)
    labels: dict[str, Labelled] = {}
    with _opened(path, arguments.seed) as db:
        for number in range(max(arguments.memories // 20, 1)):
            name = f"{_FIRST[number % 16]} {_LAST[(number // 16 + number) % 16]}"
            world = db.create("Person", name, resolve=False).ref
            for day, each in enumerate(labelled(draw, name), 1):
                ref = _written(db, each.text, world, day)
                labels[ref] = each
                if each.rests:
                    ground = db.create("Event", f"concert {number}", valid_from="2025-01-01").ref
                    db.link(ref, "derived_from", ground)
                    db.retire(ground, at="2025-12-01")
        began = process_time()
        done = db.dream(max_deprecation_ratio=0.9)
        spent = process_time() - began
    gone = set(done.deprecated)
    wanted = {ref for ref, each in labels.items() if each.goes}
    kinds = Counter(labels[ref].kind for ref in wanted)
    found = Counter(labels[ref].kind for ref in wanted & gone)
    wrong = Counter(labels[ref].kind for ref in gone - wanted)
    return {
        "memories": len(labels),
        "precision": _share(len(gone & wanted), len(gone)),
        "recall": _share(len(gone & wanted), len(wanted)),
        "recall_by_kind": {kind: _share(found[kind], count) for kind, count in kinds.items()},
        "wrong_by_kind": dict(wrong),
        "ms_per_memory": rounded(1_000 * spent / len(labels)),
    }


def near_duplicates(path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """How many of the near-duplicates that were planted in one world go, and what else does."""
    draw = random.Random(arguments.seed + 1)
    planted: set[str] = set()
    with _opened(path, arguments.seed) as db:
        world = db.create("Topic", "everything", resolve=False).ref
        for number in range(arguments.planted * 3 // 2):
            text = _long(draw, f"{draw.choice(_FIRST)} {draw.choice(_LAST)}")
            ref = _written(db, text, world, 1 + number % 28)
            if number < arguments.planted:
                planted |= {ref, _written(db, _changed(draw, text), world, 1 + number % 28)}
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


def _changed(draw: random.Random, text: str) -> str:
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


def _written(db: Database, text: str, world: str, day: int) -> str:
    made = db.create("Fact", "", content=text, world=world, valid_from=f"2026-01-{day:02}", resolve=False)
    return str(made.ref)


def _share(part: int, whole: int) -> float:
    return rounded(part / whole) if whole else 1.0


if __name__ == "__main__":
    main()
