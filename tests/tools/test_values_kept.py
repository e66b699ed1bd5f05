"""What cannot be kept is refused by every entrance with a typed error, and never changed on the way."""

import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec
import pytest

import worlddb
from worlddb import Database, InputError, InvalidTime
from worlddb.tools.cli.main import main

NOT_KEPT: Final[dict[str, Any]] = {
    "not a number": math.nan,
    "infinity": -math.inf,
    "bytes": b"x",
    "a decimal": Decimal("1.5"),
    "a set": {1},
    "a time": datetime(2024, 1, 1, tzinfo=UTC),
    "an id": UUID(int=7),
    "a key that is no text": {1: 2},
    "half of a character": "\ud800",
    "an object": object(),
}
NO_TIME: Final[dict[str, Any]] = {
    "seconds": 1_700_000_000,
    "round milliseconds": 1_700_000_000_000,
    "milliseconds": 1_700_000_000_123,
    "a fraction": 1_700_000_000.0,
    "not a number": math.nan,
    "true": True,
    "no zone": datetime(2024, 1, 1),
    "no zone in words": "2024-01-01T10:00:00",
    "digits": "1700000000",
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", background=False) as opened:
        yield opened


@pytest.mark.parametrize("value", NOT_KEPT.values(), ids=NOT_KEPT)
@pytest.mark.parametrize("within", [lambda value: value, lambda value: [{"deep": [value]}]], ids=["itself", "inside"])
def test_a_source_or_a_value_that_would_come_back_as_another_is_refused(
    db: Database, value: Any, within: Callable[[Any], Any]
) -> None:
    head = db.head()
    with pytest.raises(InputError):
        db.create("Fact", "", content="text", source={"given": within(value)})
    with pytest.raises(InputError):
        db.ingest([worlddb.Turn(text="text", source={"given": within(value)})], conversation="talk")
    assert db.head() == head


@pytest.mark.parametrize("value", NOT_KEPT.values(), ids=NOT_KEPT)
def test_so_does_a_store_for_langgraph(db: Database, value: Any) -> None:
    pytest.importorskip("langgraph.store.base", reason="the extra langgraph is not installed")
    from worlddb.tools.agents import WorldDBStore

    store, head = WorldDBStore(db), db.head()
    with pytest.raises(InputError, match="A value"):
        store.put(("users",), "one", {"given": [{"deep": [value]}]})
    with pytest.raises(InputError, match="A value"):
        store.search(("users",), filter={"given": value})
    assert db.head() == head


@pytest.mark.parametrize("value", [[1], "text", 7])
def test_a_value_of_a_store_for_langgraph_is_a_mapping(db: Database, value: Any) -> None:
    pytest.importorskip("langgraph.store.base")
    from worlddb.tools.agents import WorldDBStore

    with pytest.raises(InputError, match="not a mapping"):
        WorldDBStore(db).put(("users",), "one", value)


@pytest.mark.parametrize("wanted", [{"$in": [1]}, {"$regex": "a"}, {"$gt": 1, "other": 2}])
def test_an_operator_that_no_search_knows_is_refused(db: Database, wanted: Any) -> None:
    pytest.importorskip("langgraph.store.base")
    from worlddb.tools.agents import WorldDBStore

    store = WorldDBStore(db)
    store.put(("users",), "one", {"age": 1})
    assert len(store.search(("users",), filter={"age": {"$gte": 1}})) == 1
    with pytest.raises(InputError, match="filter of 'age'"):
        store.search(("users",), filter={"age": wanted})


@pytest.mark.parametrize("value", NO_TIME.values(), ids=NO_TIME)
def test_a_time_in_another_unit_or_without_a_zone_is_refused(db: Database, tmp_path: Path, value: Any) -> None:
    head = db.head()
    calls: tuple[Callable[[], Any], ...] = (
        lambda: db.create("Fact", "", content="text", valid_from=value),
        lambda: db.ingest([worlddb.Turn(text="text", at=value)], conversation="talk"),
        lambda: db.view(valid=value),
        lambda: db.view(ingested=value),
        lambda: db.view().recall("text", asked=value),
    )
    for call in calls:
        with pytest.raises(InvalidTime):
            call()
    assert db.head() == head


def test_microseconds_are_times_as_they_were(db: Database) -> None:
    for moment in ("1970-02-14", "1970-02-12T13:46Z", "2024-05-01T10:00:00.123456Z"):
        micros = worlddb.parse_time(moment)
        assert worlddb.parse_time(micros) == micros
    assert worlddb.parse_time(date(1970, 1, 2)) == 86_400_000_000


def test_a_file_with_times_in_seconds_is_refused_at_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"text": "hello", "at": 1700000000}\n')
    assert main(["--store", str(tmp_path / "store"), "ingest", str(path)]) != 0
    told = capsys.readouterr().err
    assert "line 1" in told and "seems to count seconds" in told
    with worlddb.open(tmp_path / "store") as db:
        assert not db.view().find(type="Turn")


@pytest.mark.parametrize("value", NOT_KEPT.values(), ids=NOT_KEPT)
def test_an_edge_or_a_revision_that_would_hold_another_value_is_refused(db: Database, value: Any) -> None:
    ada, team = db.create("Person", "Ada").ref, db.create("Team", "Search").ref
    head = db.head()
    calls: tuple[Callable[[], Any], ...] = (
        lambda: db.link(ada, "refers_to", team, properties={"given": [value]}),
        lambda: db.revise(ada, content="text", source={"given": [value]}),
    )
    for call in calls:
        with pytest.raises(InputError):
            call()
    assert db.head() == head


NOT_JSON: Final = [
    "NaN",
    "-Infinity",
    "1e400",
    "18446744073709551616",
    "1" * 40,
    '"\\ud800"',
    "[" * 3_000 + "]" * 3_000,
]


@pytest.mark.parametrize("text", [*NOT_JSON, '{"a": 1, "a": 2}'])
def test_json_on_the_command_line_that_would_be_kept_as_another_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    store = str(tmp_path / "store")
    with worlddb.open(store, embedder=None) as opened:
        ada, team = opened.create("Person", "Ada").ref, opened.create("Team", "Search").ref
        head = opened.head()
    properties = f'{{"role": {text}}}'
    assert main(["--store", store, "link", str(ada), "refers_to", str(team), "--properties", properties]) != 0
    assert "properties" in capsys.readouterr().err
    with worlddb.open(store, embedder=None) as opened:
        assert opened.head() == head


@pytest.mark.parametrize("text", NOT_JSON)
def test_a_file_with_a_value_that_would_be_kept_as_another_is_refused_at_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(f'{{"text": "hello", "source": {{"given": {text}}}}}\n')
    assert main(["--store", str(tmp_path / "store"), "ingest", str(path)]) != 0
    assert "line 1" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("value", [*NOT_KEPT.values(), 5, True, 1.5, ["text"]])
def test_an_argument_of_a_tool_that_is_no_text_is_refused(value: Any) -> None:
    pytest.importorskip("mcp")
    from worlddb.tools.mcp import tool_arguments

    if value == "\ud800":
        return
    for name in ("text", "user_id", "valid_from", "why", "idempotency_key", "type", "name"):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"text": "x", "user_id": "ada", name: value}, tool_arguments.Write)
    for name in ("valid", "known", "query"):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({name: value if name != "known" or value != 5 else 5.5}, tool_arguments.AsOf)


def test_half_of_a_character_in_an_argument_of_a_tool_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    from worlddb.tools.mcp import tool_arguments, write_tools
    from worlddb.tools.mcp.session import Call, Session

    with worlddb.open(tmp_path / "store", embedder=None) as opened:
        head = opened.head()
        for name in ("text", "user_id", "why", "idempotency_key", "type", "name"):
            given = msgspec.convert({"text": "x", "user_id": "ada", name: "\ud800"}, tool_arguments.Write)
            with pytest.raises(InputError):
                write_tools.write(Session(opened, None), given, Call("", "test"))
        assert opened.head() == head
