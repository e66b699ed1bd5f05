"""Tests law 7 where something is bounded or counted: nothing outside takes a place, or makes one scarce.

Of each pair of stores every answer inside one world is compared byte for byte: ``tests/support/isolation/pairs.py``.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.isolation.pairs import Store, lower_bounds
from worlddb.projections.tables.names import blocks
from worlddb.query.snapshot.confined_tables import ConfinedTables
from worlddb.reconciler.background import reclustering
from worlddb.reconciler.entity_resolution import namesakes, resolver
from worlddb.reconciler.transaction.interiors import Interiors

pytestmark = pytest.mark.long

PLAIN_PAIRS = 3
SOAK_PAIRS = 200
CANARY_PAIRS = 24
TURNS = 14


def compare(folder: Path, seed: int, seen: Counter[str]) -> None:
    """One pair of stores: every receipt, and at the end every answer."""
    crowded, alone = Store(folder / "crowded", seed, crowded=True), Store(folder / "alone", seed, crowded=False)
    with crowded.db, alone.db:
        for turn in range(2, TURNS + 2):
            told = []
            for store in (crowded, alone):
                store.neighbour(turn)
                drawn = random.Random(f"{seed} {turn}")
                told.append(store.write(turn, drawn) if drawn.random() < 0.2 else store.inside(turn, drawn))
            assert told[0] == told[1], (f"receipt of turn {turn}", *told)
            assert crowded.refs == alone.refs
        for answered in zip(*(store.answers(random.Random(seed)) for store in (crowded, alone)), strict=True):
            assert answered[0] == answered[1]
            seen["answers"] += 1
            seen["long answers"] += len(answered[0][1]) > 200
        seen["proposals"] += crowded.db.view(world=crowded.mine).counts()["proposals"]
        seen["notes"] += crowded.notes
        one, other = (store.reclustered(TURNS + 10) for store in (crowded, alone))
        assert one == other, "reclustered"
        seen["worlds outside"] += len(crowded.outside) - len(alone.outside)
        seen["worlds"] += len(crowded.refs)


def run(folder: Path, seed: int, pairs: int) -> Counter[str]:
    """So many pairs; the seed of the one that differs is told."""
    seen: Counter[str] = Counter()
    seeds = random.Random(seed)
    for _ in range(pairs):
        drawn = seeds.randrange(2**32)
        place = folder / f"pair-{drawn}"
        try:
            compare(place, drawn, seen)
        except BaseException as error:
            error.add_note(f"pair {drawn}: repeat it with compare(folder, {drawn}, Counter())")
            raise
        shutil.rmtree(place)
    return seen


def assert_not_trivial(seen: Counter[str], pairs: int) -> None:
    assert seen["answers"] >= 90 * pairs and seen["long answers"] >= 20 * pairs, seen
    assert seen["worlds outside"] >= 20 * pairs and seen["worlds"] >= 5 * pairs, seen
    assert seen["proposals"] >= 2 * pairs and seen["notes"] >= pairs // 2, seen


def test_what_is_bounded_or_counted_inside_a_world_is_the_same_whatever_is_outside(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower_bounds(monkeypatch)
    assert_not_trivial(run(tmp_path, seed, PLAIN_PAIRS), PLAIN_PAIRS)


@pytest.mark.soak
def test_nothing_that_is_bounded_tells_of_others_in_hundreds_of_pairs_of_stores(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lower_bounds(monkeypatch)
    seen = run(tmp_path, seed, SOAK_PAIRS)
    assert_not_trivial(seen, SOAK_PAIRS)
    with capsys.disabled():
        print(f"\n{SOAK_PAIRS} pairs of stores, no difference: {dict(seen)}")


# -- the canary: bounds that count the whole store are seen


def _everywhere(self: namesakes.SearchScope, ctx: Any, digest: bytes) -> Any:
    return (node for node, _ in islice(ctx.tables.named(digest), namesakes.MAX_CONSIDERED))


def _all_holders(self: namesakes.SearchScope, ctx: Any, text: str, here: Callable[[int], bool]) -> Any:
    return blocks.holders(ctx.tables, text, here)


def _fullest(ctx: Any, place: blocks.Place, search: Any) -> blocks.NearbyForms:
    return blocks.forms_around(ctx.tables, place)


def _together(ctx: Any, after: int, head: int, most: int, _: Any) -> reclustering.ChangedWorlds:
    named = (event for seq in range(after + 1, head + 1) for event in ctx.draft.log.events(seq).events)
    news = dict.fromkeys(node for event in named for node in reclustering._worlds_in_event(ctx, event)[0])
    scopes = {namesakes.scope_of(ctx, node) for node in news}
    around = reclustering.Neighbourhoods(ctx)
    near = {node for scope in scopes for node in around.neighbourhood(scope, news)}
    return reclustering.ChangedWorlds(tuple(sorted(near)), head)


LEAKS: dict[str, tuple[Any, str, Any]] = {
    "holders of a name": (namesakes.SearchScope, "namesakes", _everywhere),
    "holders of a form": (namesakes.SearchScope, "holders", _all_holders),
    "forms of a block": (resolver, "_forms_around", _fullest),
    "forms that were looked at": (resolver.Search, "_count_inside", lambda self, ctx, texts: len(texts)),
    "what is new": (reclustering, "changed_worlds", _together),
    "names that nobody sees": (ConfinedTables, "named", lambda self, digest, nodes=None: self._tables.named(digest)),
    "references that nobody sees": (
        ConfinedTables,
        "incoming",
        lambda self, node, code=None, **known: self._tables.incoming(node, code, **known),
    ),
    "the members of a world as they were": (Interiors, "_apply_events", lambda self, tables, events: None),
}


@pytest.mark.parametrize("leak", sorted(LEAKS))
def test_a_bound_that_counts_others_is_caught(
    leak: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower_bounds(monkeypatch)
    owner, name, leaking = LEAKS[leak]
    monkeypatch.setattr(owner, name, leaking)
    with pytest.raises((AssertionError, worlddb.WorldDBError)):
        run(tmp_path, seed, CANARY_PAIRS)
