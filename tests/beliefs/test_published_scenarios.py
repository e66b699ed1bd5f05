"""Kumiho's published scenarios of belief change, as they are in the file that WORLDDB_AGM names (it is not in here).

It is ``kumiho_eval/agm_compliance_eval.py`` of github.com/kumihoclouds/kumiho-benchmarks: its scenarios and its checks
run as they are, and what it takes for Kumiho's library is an adapter of a line a method.
"""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.beliefs.test_agm_scenarios import Suite

FILE = os.environ.get("WORLDDB_AGM", "")


class Revision:
    """A version of an item, from which edges lead to those of others."""

    def __init__(self, suite: Suite, key: str) -> None:
        self.suite, self.key = suite, key

    def create_edge(self, target_revision: Revision, edge_type: str) -> None:
        self.suite.edge(self.key, edge_type.lower(), target_revision.key)


class Published:
    """What the file asks of a memory: an item of one value is a belief, and a space holds those of a scenario."""

    def __init__(self, db: worlddb.Database) -> None:
        self.db = db

    def create_scenario_space(self, scenario_id: str) -> str:
        return f"agm/{scenario_id}"

    def store_belief(self, space_path: str, key: str, value: str, metadata: Any = None) -> dict[str, Any]:
        assert self._at(space_path).add(key, value)
        return {"_revision": Revision(self._at(space_path), key)}

    expand_belief = store_belief

    def revise_belief(self, space_path: str, key: str, new_value: str) -> dict[str, Any]:
        assert self._at(space_path).revise(key, new_value)
        return {"_revision": Revision(self._at(space_path), key)}

    def contract_belief(self, space_path: str, key: str) -> None:
        assert self._at(space_path).contract(key)

    def restore_belief(self, space_path: str, key: str) -> None:
        assert self._at(space_path).restore(key)

    def get_published_value(self, space_path: str, key: str) -> str | None:
        return self._at(space_path).get(key)

    def get_revision_count(self, space_path: str, key: str) -> int:
        return self._at(space_path).count(key)

    def is_item_active(self, space_path: str, key: str) -> bool:
        return self._at(space_path).get(key) is not None

    def get_space_item_count(self, space_path: str) -> int:
        return self._at(space_path).size()

    def get_edges_for_belief(
        self, space_path: str, key: str, edge_type: str = "", direction: str = "both"
    ) -> list[dict[str, str]]:
        view, item = self.db.view(), self._at(space_path).at(key)
        edges = view.edges(item, type=edge_type.lower(), direction=direction.removesuffix("going"))
        return [{"source": edge.source, "target": edge.target} for edge in edges]

    def _item_kref_str(self, space_path: str, key: str) -> str:
        return self.db.view().reference_of(self._at(space_path).at(key))

    def _at(self, space_path: str) -> Suite:
        return Suite(self.db, space_path.partition("/")[2])


@pytest.mark.skipif(not FILE, reason="WORLDDB_AGM names no file of scenarios")
def test_the_published_scenarios_pass(tmp_path: Path) -> None:
    spec = spec_from_file_location("published_scenarios", FILE)
    assert spec is not None and spec.loader is not None
    published = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(published)
    with worlddb.open(tmp_path / "store", author="suite", embedder=None) as db:
        found = [published.run_scenario(Published(db), scenario) for scenario in published.ALL_SCENARIOS]
    wrong = [
        (each.scenario_id, each.error or [check.name + check.error for check in each.assertions if not check.passed])
        for each in found
        if not each.passed
    ]
    assert found and not wrong
