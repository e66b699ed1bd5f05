"""Any world of any store is the same wherever it is imported, and stays so as both grow."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import worlddb
from tests.support.bundling import hashed, proposals_inside, visible_state
from tests.support.model import strategies as draw
from tests.support.model.session import Session
from tests.support.model.state import ROOT
from tests.support.model.stores import day
from tests.support.model.strategies import CommandTemplate
from worlddb import ManualClock, SeededEntropy

ALL_OF_TIME = day(10_000)


def built(folder: Path, seed: int, recipes: list[CommandTemplate]) -> Session:
    session = Session(folder, seed, Counter())
    grown(session, recipes)
    return session


def grown(session: Session, recipes: list[CommandTemplate]) -> None:
    for recipe in recipes:
        if recipe.is_possible(session.state):
            session.write([recipe.to_command(session.state)])
            session.clock.advance(draw.TICK)


lives = st.tuples(st.lists(draw.create, min_size=3, max_size=6), st.lists(draw.commands, min_size=5, max_size=25)).map(
    lambda parts: [*parts[0], *parts[1]]
)


@given(
    life=lives,
    more=st.lists(draw.commands, max_size=12),
    other=lives,
    which=st.integers(0, 99),
    seed=st.integers(0, 99),
)
def any_world(life, more, other, which, seed):
    with tempfile.TemporaryDirectory(prefix="worlddb-test-") as top:
        folder = Path(top)
        source = built(folder / "source", seed, life)
        target = built(folder / "target", seed + 1000, other)
        empty = worlddb.open(folder / "empty", clock=ManualClock(), entropy=SeededEntropy(seed + 2000))
        try:
            numbers = [number for number in source.state.worlds if number != ROOT or which % 3 == 0]
            world = source.names.refs[numbers[which % len(numbers)]]
            for turn, recipes in enumerate(([], more)):
                grown(source, recipes)
                file = folder / f"{turn}.bundle"
                bundle = source.db().export(world, file)
                view = source.db().view(valid=ALL_OF_TIME)
                staged = proposals_inside(source.db(), world)
                for db in (empty, target.db()):
                    receipt = db.import_bundle(file)
                    assert receipt.ref == world
                    assert hashed(db, world) == bundle.world_hash == view.hash(world)
                    assert visible_state(db.view(valid=ALL_OF_TIME), world, staged) == visible_state(
                        view, world, staged
                    )
                    assert db.import_bundle(file).events == 0
                    found = db.verify(deep=True)
                    assert found.ok, found
        finally:
            source.close()
            target.close()
            empty.close()


def test_any_world_of_any_store_is_the_same_in_any_other_and_stays_so_as_it_grows():
    settings(max_examples=4, phases=[Phase.generate])(any_world)()


@pytest.mark.soak
def test_any_world_of_very_many_stores_is_the_same_in_any_other_and_stays_so_as_it_grows():
    settings(max_examples=1000, phases=[Phase.generate])(any_world)()
