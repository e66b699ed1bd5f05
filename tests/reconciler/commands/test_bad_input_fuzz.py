"""Any argument of any public call gives an answer or a typed error; the store verifies."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import new_store
from worlddb import Database, Extraction, Node, Relation, Turn, WorldDBError

pytestmark = pytest.mark.long


class Colour(Enum):
    RED = "red"


class Text(str):
    """A text that is none by type."""


RECURSIVE: dict[str, Any] = {"a": []}
RECURSIVE["a"].append(RECURSIVE)

odd: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [
            *(None, True, False, 0, 1, -1, 2**63, -(2**63) - 1, 2**64, 10**400, 0.0, -0.5, math.nan, math.inf, 1j),
            *("", " ", "\x00", "\ud800", "abc", "abcd", "00" * 16, "00" * 32, "x" * 70_000, "name", "Thing", "implies"),
            *(b"", b"\x00", bytes(16), bytes(32), b"\xff" * 40, bytearray(16), memoryview(bytes(16))),
            *(
                [],
                (),
                {},
                set(),
                frozenset({"a"}),
                [None],
                ["a"],
                [b"a"],
                ["\ud800"],
                [[]],
                {"a": 1},
                {1: 2},
                {"a": math.nan},
            ),
            *(RECURSIVE, {"a": object()}, {"a": {"b": b"c"}}, {"a": Decimal("1")}, {"a": Colour.RED}, Colour.RED),
            *(object(), Ellipsis, print, Database, Exception("e"), range(3), slice(1), Text("name")),
            *(datetime(2025, 1, 1), datetime(2025, 1, 1, tzinfo=UTC), date(2025, 1, 1), datetime.min, datetime.max),
            *("2025-01-01", "2025-01-01T00:00:00Z", "9999-12-31T23:59:59Z", 1_795_219_200_000_000, Decimal("1.5")),
            *(
                Path("there"),
                Turn(text="t"),
                Node(label="l", type="T", name="n"),
                Extraction(),
                iter([]),
                (n for n in "abc"),
            ),
        ]
    ),
    st.text(max_size=6),
    st.integers(),
    st.binary(max_size=34),
    st.dictionaries(st.text(max_size=2), st.integers() | st.none() | st.text(max_size=3), max_size=2),
)

# Every argument of every call, with a value that it may have: one or two at a time are put out of place.
WRITES: dict[str, dict[str, Any]] = {
    "create": {
        **{"type": "Thing", "name": "t", "content": "c", "aliases": ["a"], "world": "$one", "key": "k"},
        **{"valid_from": "2025-01-01", "valid_to": "2030-01-01", "source": {}, "why": "w", "resolve": True},
        "idempotency_key": "i",
    },
    "revise": {
        **{"ref": "$one", "type": "Thing", "name": "n", "content": "c", "valid_from": "2026-01-01", "valid_to": None},
        **{"source": {"file": "f"}, "why": "w", "idempotency_key": None},
    },
    "retire": {"ref": "$edge", "at": "2026-01-01", "why": "", "idempotency_key": "r"},
    "reassert": {
        "ref": "$ended",
        "content": "c",
        "valid_from": None,
        "valid_to": None,
        "why": "",
        "idempotency_key": None,
    },
    "link": {
        **{"source": "$one", "type": "implies", "target": "$other", "home": None, "key": None, "properties": {}},
        **{"valid_from": None, "valid_to": None, "why": "", "idempotency_key": None},
    },
    "unlink": {"edge": "$edge", "why": "", "idempotency_key": None},
    "move": {
        **{"refs": "$one", "to": "$other", "out_of": None, "valid_from": None, "why": "", "idempotency_key": None},
    },
    "alias": {"ref": "$one", "why": "", "idempotency_key": None},
    "unalias": {"ref": "$one", "why": "", "idempotency_key": None},
    "accept": {"proposal": "$proposal", "why": "", "idempotency_key": None},
    "reject": {"proposal": "$proposal", "why": "", "idempotency_key": None},
    "undo": {"proposal": "$proposal", "why": "", "idempotency_key": None},
    "trust": {"level": "low", "author": "ann", "source": None, "world": None, "why": "", "idempotency_key": None},
    "bookmark": {"name": "now", "at": None, "seq": None, "move": False, "why": "", "idempotency_key": None},
    "ingest": {
        **{
            "turns": [{"text": "hello", "speaker": "Ada"}],
            "conversation": "c",
            "session": "s",
            "at": None,
            "into": None,
        },
        **{"format": "turns", "start": 0, "extractor": None, "idempotency_key": None},
    },
}
READS: dict[str, dict[str, Any]] = {
    "get": {"ref": "$one", "include_superseded": False},
    "find": {"name": "t", "type": "Thing", "world": None, "limit": 5, "include_superseded": False},
    "children": {"ref": None, "include_superseded": False},
    "edges": {"ref": "$one", "type": None, "direction": "both", "include_superseded": True},
    "edge": {"ref": "$edge"},
    "history": {"ref": "$one"},
    "hash": {"ref": "$one"},
    "conflicts": {"ref": "$one"},
    "containers": {"ref": "$one"},
    "equivalence_class": {"ref": "$one"},
    "proposals": {"status": "pending"},
    "recall": {
        **{"text": "thing", "world": None, "k": 5, "exact": False, "include_superseded": False},
        **{"min_trust": "low", "trust_weight": 0.5},
    },
}
OPEN: dict[str, dict[str, Any]] = {
    "view": {"valid": None, "ingested": None, "seq": 1},
    "log": {"first": 1, "last": None, "ref": None},
    "full_ref": {"ref": "$one"},
    "replay": {"into": "a name with a \x00", "until": None, "seq": None},
}
SEEN: Counter[str] = Counter()


def calls(table: dict[str, dict[str, Any]]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """A call with one to three of its arguments replaced by anything."""

    def of(method: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
        names = st.lists(st.sampled_from(list(table[method])), min_size=1, max_size=3, unique=True)
        wrong = names.flatmap(lambda chosen: st.fixed_dictionaries(dict.fromkeys(chosen, odd)))
        return st.tuples(st.just(method), wrong.map(lambda values: table[method] | values))

    return st.sampled_from(list(table)).flatmap(of)


def prepared(db: Database) -> dict[str, str]:
    """What the calls name as ``$one`` and so on."""
    one, other, ended = (db.create("Thing", name, valid_from="2024-01-01", resolve=False).ref for name in "xyz")
    db.retire(ended)
    edge, proposal = db.link(one, "implies", other).ref, db.link(one, "same_as", other).ref
    return {"$one": one, "$other": other, "$ended": ended, "$edge": edge, "$proposal": proposal}


def attempt(on: Any, method: str, arguments: dict[str, Any], known: dict[str, str], *more: Any) -> None:
    given = {name: known.get(value, value) if isinstance(value, str) else value for name, value in arguments.items()}
    positional = [given.pop("ref"), *more] if more else []
    SEEN[f"{method} asked"] += 1
    try:
        answer = getattr(on, method)(*positional, **given)
        if hasattr(answer, "__next__"):
            list(answer)
    except WorldDBError as error:
        assert error.message
        str(error)
        SEEN[f"{method} refused"] += 1


def any_writes(asked: list[tuple[str, dict[str, Any]]], names: list[Any], batch: bool) -> None:
    with new_store() as db:
        known = prepared(db)
        for method, arguments in asked:
            more = names or ["another"] if method in ("alias", "unalias") else []
            head = db.head()
            if batch and method != "ingest":
                try:
                    with db.batch() as tx:
                        attempt(tx, method, arguments | {"idempotency_key": None}, known, *more)
                except WorldDBError:
                    assert db.head() == head
            else:
                attempt(db, method, arguments, known, *more)
            view = db.view()
            assert all(view.get(child.ref, include_superseded=True) for child in view.children())
            assert len(list(db.log())) >= db.head().seq


def any_reads(asked: list[tuple[str, dict[str, Any]]]) -> None:
    with new_store() as db:
        known = prepared(db)
        view, head = db.view(), db.head()
        for method, arguments in asked:
            attempt(view, method, arguments, known)
        assert db.head() == head


def any_other_calls(asked: list[tuple[str, dict[str, Any]]]) -> None:
    with new_store() as db:
        known, head = prepared(db), db.head()
        for method, arguments in asked:
            # A replay would make a directory wherever it is told to.
            if not isinstance(arguments.get("into"), str | Path) or "\x00" in str(arguments["into"]):
                attempt(db, method, arguments, known)
        assert db.head() == head


@examples(14)
@given(
    turn=st.fixed_dictionaries({}, optional=dict.fromkeys(("text", "speaker", "at", "session", "name", "source"), odd)),
    node=st.fixed_dictionaries(
        {"label": odd | st.just("n"), "type": odd | st.just("Fact"), "name": odd | st.just("n")},
        optional=dict.fromkeys(("content", "aliases", "at", "source"), odd),
    ),
    edge=st.fixed_dictionaries(
        {"source": odd | st.just("n"), "type": odd | st.just("implies"), "target": odd | st.just("n")},
        optional=dict.fromkeys(("at", "properties"), odd),
    ),
)
def test_turns_and_extractions_of_anything_are_taken_in_or_refused(
    turn: dict[str, Any], node: dict[str, Any], edge: dict[str, Any]
) -> None:
    with new_store() as db:
        for turns, extraction in (
            ([turn], None),
            ([{"text": "hello"}], Extraction(nodes=[Node(**node)], edges=[Relation(**edge)])),
        ):
            extractor = None if extraction is None else lambda _, found=extraction: found
            head = db.head()
            try:
                assert db.ingest(turns, extractor=extractor).seq >= head.seq
            except WorldDBError:
                assert db.head() == head


def run(rounds: int, attempts: Any, table: dict[str, dict[str, Any]], most: int, **further: Any) -> None:
    """Every call was made, and of the whole some were refused and some were not."""
    SEEN.clear()
    asked_for = given(asked=st.lists(calls(table), min_size=1, max_size=most), **further)
    settings(max_examples=rounds)(asked_for(attempts))()
    asked = {method: SEEN[f"{method} asked"] for method in table}
    refused = sum(SEEN[f"{method} refused"] for method in table)
    assert min(asked.values()) > 0, asked
    assert 0.1 < refused / sum(asked.values()) < 0.99, SEEN


def rounds(plain: int) -> pytest.MarkDecorator:
    """Ten times as many in a soak run."""
    return pytest.mark.parametrize("rounds", [plain, pytest.param(10 * plain, marks=pytest.mark.soak)])


@rounds(80)
def test_a_write_with_anything_as_its_arguments_is_decided_or_refused(rounds: int) -> None:
    run(rounds, any_writes, WRITES, 6, names=st.lists(odd, max_size=2), batch=st.booleans())


@rounds(60)
def test_a_read_with_anything_as_its_arguments_is_answered_or_refused(rounds: int) -> None:
    run(rounds, any_reads, READS, 8)


@rounds(30)
def test_the_other_calls_with_anything_as_their_arguments_are_answered_or_refused(rounds: int) -> None:
    run(rounds, any_other_calls, OPEN, 8)
