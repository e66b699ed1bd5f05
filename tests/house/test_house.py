"""The house stays liveable: sizes, names, one-way imports, and how many files one write and one read enter."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bench import house
from tests.house.test_docs import text_of
from tests.house.test_docs_facts import section


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return house.measure()


def test_there_are_few_modules_and_few_small_ones(found: dict[str, Any]) -> None:
    assert found["modules"] <= house.MAX_MODULES
    assert max(found["capabilities"].values()) <= house.MAX_OF_A_CAPABILITY
    assert found["small_modules"] < 40


def test_few_lines_are_imports(found: dict[str, Any]) -> None:
    assert found["import_percent"] <= 7


def test_a_folder_can_be_taken_in_at_a_glance(found: dict[str, Any]) -> None:
    assert found["fullest_folder_modules"] <= 20, found["fullest_folder"]


def test_a_module_has_a_name_of_its_own(found: dict[str, Any]) -> None:
    assert not found["repeated_names"]


def test_imports_go_round_in_no_circle(found: dict[str, Any]) -> None:
    assert not found["module_circles"]
    assert not found["folder_circles"]


def test_a_create_and_a_recall_can_be_walked_in_one_sitting(found: dict[str, Any]) -> None:
    assert found["create_files"] <= 35, found["walks"]["create"]
    assert found["recall_files"] <= 35, found["walks"]["recall"]
    assert found["recall_transactions"] <= 3


def test_a_create_reads_with_nothing_of_the_query_room_and_a_recall_decides_nothing(found: dict[str, Any]) -> None:
    assert not [path for path in found["walks"]["create"] if path.startswith("query/")]
    assert not [path for path in found["walks"]["recall"] if path.startswith("reconciler/")]


def test_the_readme_tells_the_walk_that_is_true(found: dict[str, Any]) -> None:
    walk = section(text_of("README.md"), "## Where a write goes")
    named = re.findall(r"`((?:log|projections|reconciler|worlddb)/[\w/]+\.py)`", walk)
    entered = found["walks"]["create"]
    assert len(named) >= 5 and set(named) <= set(entered), set(named) - set(entered)


def test_canary_circles_are_seen() -> None:
    assert house.circles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"]}) == [["b", "c"]]
    assert not house.circles({"a": ["b", "c"], "b": ["c"], "c": []})


def test_canary_a_walk_sees_the_files_that_a_call_enters() -> None:
    walk = house.traced(lambda: None)
    assert not walk.functions
    from worlddb.log.model.times import parse_time

    walk = house.traced(lambda: parse_time("2026-03-01"))
    assert list(walk.functions) == ["log/model/times.py"] and not walk.read_transactions
