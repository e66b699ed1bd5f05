"""Loads of columns: the same log as batches of the same calls, and every bad row named."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worlddb
from worlddb import Database, InputError, LimitExceeded, ManualClock, RefusedError, SeededEntropy

Columns = dict[str, list[Any]]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store") as opened:
        yield opened


def draw_tables(seed: int) -> tuple[Columns, Columns]:
    """Two small tables with a bit of everything."""
    draw = random.Random(seed)
    count = draw.randrange(1, 9)
    worlds: Columns = {
        "name": [draw.choice(("Ann", "Bo", f"thing {row}")) for row in range(count)],
        "type": [draw.choice(("Person", "Fact")) for _ in range(count)],
        "world": [draw.choice((None, draw.randrange(row))) if row else None for row in range(count)],
        "content": [draw.choice((None, f"text {row}")) for row in range(count)],
        "aliases": [draw.choice((None, [f"alias {row}"])) for row in range(count)],
        "key": [draw.choice((None, f"key {row}")) for row in range(count)],
        "valid_from": [draw.choice((None, "2024-01-02", 1_700_000_000_000_000)) for _ in range(count)],
        "source": [draw.choice((None, {"line": row})) for row in range(count)],
        "properties": [draw.choice((None, {"weight": row / 2})) for row in range(count)],
        "why": [draw.choice((None, "because")) for _ in range(count)],
        "resolve": [draw.choice((None, False, "all")) for _ in range(count)],
    }
    ends = [draw.sample(range(count), 2) for _ in range(draw.randrange(8))] if count > 1 else []
    edges: Columns = {
        "source": [source for source, _ in ends],
        "target": [target for _, target in ends],
        "type": [draw.choice(("refers_to", "implies")) for _ in ends],
        "properties": [draw.choice((None, {"weight": 1})) for _ in ends],
        "valid_to": [draw.choice((None, datetime(2030, 1, 1, tzinfo=UTC))) for _ in ends],
    }
    return worlds, edges if ends else {}


def in_batches(db: Database, worlds: Columns, edges: Columns, size: int) -> tuple[list[str], list[str]]:
    """The same by calls."""
    rows = [
        (True, {name: column[row] for name, column in worlds.items() if column[row] is not None})
        for row in range(len(worlds["name"]))
    ]
    rows += [
        (False, {name: column[row] for name, column in edges.items() if column[row] is not None})
        for row in range(len(edges.get("source", [])))
    ]
    made: list[Any] = []
    for first in range(0, len(rows), size):
        begun = len(made)
        with db.batch() as tx:
            for is_world, given in rows[first : first + size]:
                named = {
                    name: made[value] if name in ("world", "target") or (name == "source" and not is_world) else value
                    for name, value in given.items()
                }
                if is_world:
                    made.append(tx.create(named.pop("type"), named.pop("name"), **named))
                else:
                    made.append(tx.link(named.pop("source"), named.pop("type"), named.pop("target"), **named))
        made[begun:] = tx.receipt.refs
    return made[: len(worlds["name"])], made[len(worlds["name"]) :]


def open_seeded(folder: Path) -> Database:
    return worlddb.open(folder, clock=ManualClock(), entropy=SeededEntropy(1))


@pytest.mark.parametrize("seed", range(6))
def test_a_load_writes_the_log_that_batches_of_the_same_calls_write(tmp_path: Path, seed: int) -> None:
    worlds, edges = draw_tables(seed)
    size = 1 + seed % 5
    with open_seeded(tmp_path / "one") as one, open_seeded(tmp_path / "other") as other:
        told: list[tuple[int, int]] = []
        loaded = one.load(worlds, edges, batch=size, progress=lambda *done: told.append(done))
        refs = in_batches(other, worlds, edges, size)
        assert one.head() == other.head()
        assert (list(loaded.worlds), list(loaded.edges)) == refs
        total = len(refs[0]) + len(refs[1])
        assert told[-1] == (total, total) and len(told) == loaded.commits == -(-total // size)
        assert loaded.events == sum(1 for _ in one.log(2))
        assert loaded.proposals == len(one.view().proposals(status="pending"))


def test_arrays_lists_and_tuples_are_columns_alike(tmp_path: Path) -> None:
    moments = ["2024-01-02T03:04:05.000006", "NaT", "1969-12-31T23:59:59"]
    with open_seeded(tmp_path / "one") as one, open_seeded(tmp_path / "other") as other:
        one.load(
            {
                "type": np.array(["Fact"] * 3),
                "name": np.array(["a", "b", "c"], dtype=object),
                "world": np.ma.masked_array([7, 0, 1], mask=[True, False, False]),
                "valid_from": np.array(moments, dtype="datetime64[ns]"),
            },
            {"source": np.array([2]), "type": ("refers_to",), "target": np.array([0], dtype=np.int8)},
        )
        times = [datetime.fromisoformat(f"{each}+00:00") if each != "NaT" else None for each in moments]
        other.load(
            {"type": ("Fact",) * 3, "name": ["a", "b", "c"], "world": [None, 0, 1], "valid_from": times},
            {"source": [2], "type": ["refers_to"], "target": [0]},
        )
        assert one.head() == other.head()


def test_tables_of_arrow_are_columns_alike(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    rows = {
        "type": ["Fact"] * 3,
        "name": ["a", "b", "c"],
        "world": [None, 0, 1],
        "aliases": [None, ["x", "y"], []],
        "valid_from": [None, datetime(2024, 1, 2, tzinfo=UTC), datetime(1960, 1, 1, 1, tzinfo=UTC)],
        "properties": [{"a": 1}, None, {"b": "x"}],
    }
    table = arrow.table(rows | {"valid_from": arrow.array(rows["valid_from"], arrow.timestamp("ns", "UTC"))})
    given = [
        table,
        table.to_batches(max_chunksize=2),
        arrow.RecordBatchReader.from_batches(table.schema, table.to_batches(2)),
        {name: table[name] for name in rows},
    ]
    heads = []
    for number, each in enumerate([rows, *given]):
        with open_seeded(tmp_path / str(number)) as db:
            db.load(each)
            heads.append(db.head())
    assert heads == [heads[0]] * len(heads)
    with (
        open_seeded(tmp_path / "naive") as db,
        pytest.raises(InputError, match=r"worlds row 1: valid_from .* no time zone"),
    ):
        db.load(
            {
                "type": ["T", "T"],
                "name": ["a", "b"],
                "valid_from": arrow.array([None, datetime(2024, 1, 1)], arrow.timestamp("s")),
            }
        )


FACTS = {"type": ["Fact"] * 3, "name": ["a", "b", "c"]}
WRONG: dict[str, tuple[Any, Any, str]] = {
    "a name that is a number": ({"type": ["T", "T"], "name": ["a", 7]}, None, "worlds row 1: name is int"),
    "a name that is missing": ({"type": ["T", "T"], "name": ["a", None]}, None, "worlds row 1: name is missing"),
    "a time that is none": (FACTS | {"valid_from": [None, None, "soon"]}, None, "worlds row 2: .*valid_from|soon"),
    "a row that comes later": (FACTS | {"world": [None, 2, None]}, None, "worlds row 1: world is 2.*before it"),
    "a row before the first": (FACTS | {"world": [None, -1, None]}, None, "worlds row 1: world is -1"),
    "an end beyond the last row": (
        FACTS,
        {"source": [0, 1], "type": ["implies"] * 2, "target": [1, 3]},
        "edges row 1: target is 3",
    ),
    "a reference that is none": (FACTS | {"world": [None, 1.5, None]}, None, "worlds row 1: .*1.5"),
    "aliases that are one text": (FACTS | {"aliases": [None, "x", None]}, None, "worlds row 1: aliases is str"),
    "a source that is a list": (FACTS | {"source": [None, None, [1]]}, None, "worlds row 2: source is list"),
    "columns of two lengths": (FACTS | {"content": ["x"]}, None, "column content of worlds has 1 rows"),
    "a column of no kind": (FACTS | {"colour": [1] * 3}, None, "worlds have the unknown column 'colour'"),
    "a column that is a text": ({"type": "Fact", "name": "a"}, None, "column type of worlds is str"),
    "a column that is needed": ({"name": ["a"]}, None, "worlds lack the column type"),
    "rows in place of columns": ([{"type": "Fact", "name": "a"}], None, "worlds are list, not a table"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_value_that_is_none_of_its_column_is_named_before_anything_is_written(db: Database, case: str) -> None:
    worlds, edges, said = WRONG[case]
    before = db.head()
    with pytest.raises(InputError, match=said) as caught:
        db.load(worlds, edges, batch=1)
    assert db.head() == before
    if " row " in said:
        assert {"table", "row"} <= set(caught.value.details)


def test_a_row_that_cannot_be_written_is_named_and_the_commits_before_stay(db: Database) -> None:
    with pytest.raises(LimitExceeded, match="worlds row 2: name") as caught:
        db.load({"type": ["Fact"] * 3, "name": ["a", "b", "c" * 17_000]}, batch=2)
    assert caught.value.details["row"] == 2 and db.view().counts()["worlds"] == 3
    edges = {"source": [0, 1], "type": ["supersedes"] * 2, "target": [1, 0]}
    with pytest.raises(RefusedError, match="edges row 1: ") as refused:
        db.load({"type": ["Fact"] * 2, "name": ["d", "e"]}, edges, batch=3)
    assert refused.value.details["reason"] == "supersedes_cycle"
    assert db.view().counts() == {"worlds": 5, "edges": 5, "proposals": 0}


def test_a_load_that_broke_off_goes_on_under_its_key(db: Database) -> None:
    worlds = {"type": ["Fact"] * 7, "name": [f"fact {row}" for row in range(7)], "world": [None, 0, 0, 0, 3, 3, 3]}

    def breaks(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.load(worlds, batch=2, idempotency_key="first load", progress=breaks)
    assert db.view().counts()["worlds"] == 5
    loaded = db.load(worlds, batch=2, idempotency_key="first load")
    assert db.view().counts()["worlds"] == 8 and len(set(loaded.worlds)) == 7
    assert db.view().containers(loaded.worlds[6]) == [loaded.worlds[3]]
    assert db.load().commits == 0


def test_a_reference_may_be_a_world_that_is_there_or_its_name(db: Database) -> None:
    home = db.create("Topic", "home").ref
    loaded = db.load(
        {"type": ["Fact"] * 3, "name": ["a", "b", "c"], "world": [home, "home", bytes.fromhex(home)]},
        {"source": [home], "type": ["refers_to"], "target": [1]},
    )
    assert [child.ref for child in db.view().children(home)] == list(loaded.worlds)
    assert loaded.edges[-1] == db.view().edges(home, type="refers_to")[0].ref
    assert loaded.worlds[1:] == list(loaded.worlds)[1:] and len(loaded.edges) == 1
    with pytest.raises(IndexError):
        loaded.worlds[3]
