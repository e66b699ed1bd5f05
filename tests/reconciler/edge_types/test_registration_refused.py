"""What is no handler, and what no registered type may do: told before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.reconciler.edge_types.test_registration import Employs, refusal
from tests.support.model.ontology import Showing, Tagged, Widening
from worlddb import PlainHandler
from worlddb.log.model import limits


class Meddling(PlainHandler):
    name = "meddles"

    def on_query_rewrite(self, query: Any) -> Any:
        return query.widen_types("refers_to")


class Forgetful(PlainHandler):
    name = "forgets"

    def on_query_rewrite(self, query: Any) -> Any:
        query.hide_closed()


class Broken(PlainHandler):
    name = "breaks"

    def on_query_rewrite(self, query: Any) -> Any:
        return query.everything()


class Causes(PlainHandler):
    name = "causes"


class Numbered(PlainHandler):
    name = "numbered"
    version = 0


def test_forbidden_acts_of_registered_types_are_refused(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        before = db.head()
        assert refusal(db.register(Causes())) == "built_in_type"
        for name in ("contains", "same_as", "supersedes", "contradicts"):
            assert refusal(db.register(name, functional=True)) == "never_functional"
        assert refusal(db.unregister("employs")) == "not_registered"
        assert db.head() == before


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        (Employs, worlddb.InputError, "is a class"),
        (object(), worlddb.InputError, "lacks default_valid_from, on_insert"),
        (PlainHandler(), worlddb.InputError, "the name of PlainHandler is empty"),
        (Numbered(), worlddb.InputError, "the version of Numbered"),
        (Meddling(), worlddb.InputError, "'refers_to'"),
        (Forgetful(), worlddb.HandlerFailed, "'forgets' failed: on_query_rewrite returned NoneType"),
        (Broken(), worlddb.HandlerFailed, "'breaks' failed in on_query_rewrite"),
    ],
)
def test_what_is_no_handler_is_told_so_by_register_and_by_open(
    tmp_path: Path, given: Any, error: type[worlddb.WorldDBError], told: str
) -> None:
    with worlddb.open(tmp_path / "store") as db, pytest.raises(error, match=told):
        db.register(given)
    with pytest.raises(error, match=told):
        worlddb.open(tmp_path / "other", edge_types=[given])
    assert not (tmp_path / "other").exists()


def test_wrong_arguments_of_a_registration_are_reported(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        for call in (
            lambda: db.register(Employs(), functional=1),  # type: ignore[arg-type]
            lambda: db.register(Employs(), world="00000000"),
            lambda: db.register("likes"),
            lambda: db.unregister(7),  # type: ignore[arg-type]
            lambda: worlddb.open(tmp_path / "b", edge_types=Employs()),  # type: ignore[arg-type]
            lambda: worlddb.open(tmp_path / "b", edge_types=[Causes()]),
        ):
            with pytest.raises(worlddb.InputError):
                call()
        assert db.head().seq == 1


def test_the_number_of_types_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(limits, "MAX_EDGE_TYPES", 3)
    with worlddb.open(tmp_path / "store") as db:
        for number in range(3):
            assert db.register(Tagged(f"type {number}", 1))
        assert refusal(db.register(Tagged("type 3", 1))) == "too_many_edge_types"
        assert db.register(Tagged("type 2", 2)), "a newer version of a known type is no new type"


def test_the_digest_is_of_the_source_of_a_handler_and_its_bases_or_of_its_name_where_there_is_none() -> None:
    from worlddb.reconciler.edge_types.registry import describe

    def told(handler: Any) -> tuple[bytes, str]:
        described = describe(handler)
        return described.digest, described.digest_of

    assert told(Tagged("a", 1)) == told(Tagged("a", 1, []))
    distinct = [Tagged("a", 1), Tagged("b", 1), Tagged("a", 2), Showing("a", 1), Widening("a", 1)]
    assert len({told(handler)[0] for handler in distinct}) == len(distinct)
    assert {told(handler)[1] for handler in distinct} == {"source"}
    made: dict[str, Any] = {"__name__": "nowhere", "PlainHandler": PlainHandler}
    exec("class A(PlainHandler):\n  name = 'a'\nclass B(A):\n  pass\nclass C(A):\n  version = 2", made)
    assert [told(made[name]())[1] for name in "ABC"] == ["name", "name", "name"]
    assert len({told(made[name]())[0] for name in "ABC"}) == 3
