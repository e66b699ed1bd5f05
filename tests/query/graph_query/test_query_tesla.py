"""Tests the paper's Tesla scenario (§7.5): six queries whose answers are exact sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

import worlddb
from tests.support.model.stores import new_store
from worlddb import Database, Subgraph

Q1, Q2, Q3, Q4 = "2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01"
IN_Q1, IN_Q3 = "2024-02-15", "2024-08-15"


class Tesla(NamedTuple):
    """The scenario; what it holds is named by what it says."""

    db: Database
    refs: dict[str, str]

    def names(self, found: Subgraph) -> set[str]:
        told = {ref: name for name, ref in self.refs.items()}
        return {told[ref] for ref in found.refs}


def _worlds(db: Database) -> dict[str, str]:
    refs = {"tesla": db.create("Topic", "Tesla", valid_from=Q1).ref}

    def add(name: str, type_name: str, content: str, begins: str) -> None:
        world = refs["tesla"]
        refs[name] = db.create(type_name, name, content=content, world=world, valid_from=begins).ref

    add("elon", "Entity", "Elon Musk, chief executive", Q1)
    add("zach", "Entity", "Zach Kirkhorn, finance", Q1)
    add("growth", "Fact", "Deliveries are guided to grow by half in the year.", Q1)
    add("margin", "Fact", "Automotive gross margin is 19 percent.", Q1)
    add("flat", "Fact", "Deliveries are guided to be flat over the year.", Q3)
    add("thin margin", "Fact", "Automotive gross margin is 15 percent.", Q3)
    add("hold prices", "Decision", "Prices are held through the year.", Q1)
    add("build Mexico", "Decision", "A factory is built in Mexico.", Q1)
    add("cut prices", "Decision", "Prices are cut in every market.", Q2)
    add("pause Mexico", "Decision", "The factory in Mexico is put on hold.", Q3)
    add("keep cash", "Decision", "Spending is held to what comes in.", Q3)
    return refs


@pytest.fixture
def tesla() -> Iterator[Tesla]:
    with new_store() as db:
        refs = _worlds(db)
        for source, type_name, target in (
            ("flat", "supersedes", "growth"),
            ("thin margin", "supersedes", "margin"),
            ("cut prices", "contradicts", "hold prices"),
            ("keep cash", "contradicts", "hold prices"),
            ("pause Mexico", "contradicts", "build Mexico"),
            ("cut prices", "causes", "thin margin"),
            ("thin margin", "causes", "flat"),
            ("pause Mexico", "causes", "flat"),
            *((name, "refers_to", "elon") for name in ("hold prices", "build Mexico", "cut prices", "pause Mexico")),
            ("keep cash", "refers_to", "zach"),
        ):
            db.link(refs[source], type_name, refs[target]).raise_if_refused()
        yield Tesla(db, refs)


def test_what_was_guided_in_the_first_quarter(tesla: Tesla) -> None:
    query = tesla.db.view().query(world=tesla.refs["tesla"]).filter_type("Fact").as_of(valid=IN_Q1)
    assert tesla.names(query.run()) == {"growth", "margin"}


def test_what_is_guided_since_the_third_quarter(tesla: Tesla) -> None:
    query = tesla.db.view().query(world=tesla.refs["tesla"]).filter_type("Fact").as_of(valid=IN_Q3)
    assert tesla.names(query.run()) == {"flat", "thin margin"}


def test_what_the_third_quarter_took_back(tesla: Tesla) -> None:
    query = (
        tesla.db.view()
        .query(world=tesla.refs["tesla"])
        .include_superseded()
        .filter_type("Fact")
        .where_connected("supersedes", "in")
    )
    found = query.run()
    assert tesla.names(found) == {"growth", "margin"}
    assert {worlddb.format_time(world.valid.end)[:10] for world in found} == {Q3}


def test_whatever_drove_the_new_guidance_however_far_back(tesla: Tesla) -> None:
    query = tesla.db.view().query(seeds=tesla.refs["flat"]).traverse("causes", depth=2, direction="in")
    found = query.run()
    assert tesla.names(found) == {"thin margin", "pause Mexico", "cut prices"}
    assert {(edge.source, edge.target) for edge in found.edges} == {
        (tesla.refs["thin margin"], tesla.refs["flat"]),
        (tesla.refs["pause Mexico"], tesla.refs["flat"]),
        (tesla.refs["cut prices"], tesla.refs["thin margin"]),
    }
    assert found.passed == (tesla.refs["flat"],)


def test_the_decisions_of_one_era_and_of_the_next(tesla: Tesla) -> None:
    decisions = tesla.db.view().query(world=tesla.refs["tesla"]).filter_type("Decision")
    assert tesla.names(decisions.as_of(valid=IN_Q1).run()) == {"hold prices", "build Mexico"}
    later = decisions.where_connected("contradicts", "in", absent=True)
    assert tesla.names(later.run()) == {"cut prices", "pause Mexico", "keep cash"}


def test_the_decisions_of_elon_that_drove_the_change(tesla: Tesla) -> None:
    query = (
        tesla.db.view()
        .query(text="Elon", world=tesla.refs["tesla"])
        .traverse("refers_to", direction="in")
        .filter_type("Decision")
        .where_connected("contradicts", "out", tesla.refs["hold prices"])
    )
    found = query.run()
    assert tesla.names(found) == {"cut prices"}
    assert found.nodes[0].conflicts == (tesla.refs["hold prices"],)
    assert [edge.type for edge in found.edges] == ["refers_to"]
