"""Exchanges and shortens rows of the tables: what reads and writes meet there is told as damage, with its type."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import worlddb
from tests.support.faults import forge
from worlddb.log.store.environment import Environment

PROPOSAL, VERSION = 0x50, 0x43


def raises_damage(
    store: Path, changes: list[tuple[bytes, bytes | None]], use: Callable[[worlddb.Database], object]
) -> bool:
    """Use a changed copy of a store; true if that raised ``DamagedStore``. Any other error but a typed one fails."""
    damaged = forge.copy_store(store, store.with_name("damaged"))
    forge.rewrite(damaged, changes)
    try:
        with worlddb.open(damaged, author="x", create=False) as db:
            use(db)
    except worlddb.DamagedStore:
        return True
    except worlddb.WorldDBError:
        return False
    finally:
        shutil.rmtree(damaged)
    return False


def of_table(store: Path, table: int) -> list[tuple[bytes, bytes]]:
    return [pair for pair in forge.pairs(store) if pair[0][0] == table]


def test_a_shortened_row_of_a_proposal_is_told_by_an_export(tmp_path: Path) -> None:
    store, bundle = tmp_path / "store", tmp_path / "out.wb"
    with worlddb.open(store, author="ada") as db:
        db.create("Entity", "Mara Jones", content="doctor")
        db.create("Entity", "Mara Jones", content="surgeon")
        db.accept(db.proposals()[0].ref, why="one")
    rows = of_table(store, PROPOSAL)
    assert rows
    for use in (lambda db: db.export(None, bundle, overwrite=True), lambda db: db.check_world(None)):
        assert any(raises_damage(store, [(key, value[:-1])], use) for key, value in rows)


def test_exchanged_rows_of_versions_are_told_by_reads(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="ada") as db:
        for number in range(3):
            ref = db.create("Note", f"n{number}", content=f"tea {number}").ref
            db.revise(ref, content="coffee")
    rows = of_table(store, VERSION)
    pairs = [(one, other) for one in rows for other in rows if one < other and one[1] != other[1]]
    found = [
        raises_damage(store, [(one[0], other[1]), (other[0], one[1])], lambda db: db.view().recall("tea coffee"))
        for one, other in pairs
    ]
    assert any(found)


def test_what_a_host_raises_within_a_transaction_stays_what_it_is(tmp_path: Path) -> None:
    env = Environment(tmp_path, author="x", timeout_seconds=1.0)
    try:
        for error in (IndexError("mine"), AssertionError("mine"), ValueError("x not in list"), StopIteration("mine")):

            def fail(_: object, error: Exception = error) -> None:
                raise error

            with pytest.raises(type(error)) as raised:
                env.write(fail)
            assert raised.value is error
    finally:
        env.close()
