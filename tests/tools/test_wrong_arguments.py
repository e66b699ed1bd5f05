"""Every argument of every public call, given a value of a wrong kind: an answer or a typed error."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb.reconciler.diagnostics import installation
from worlddb.tools import agents
from worlddb.tools.agents.langgraph import WorldDBStore


class Unprintable:
    """A value whose class raises wherever it is asked."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __str__ = __repr__


def deep() -> Any:
    """A list that nests deeper than Python prints, compares or copies."""
    made: list[Any] = []
    for _ in range(100_000):
        made = [made]
    return made


WRONG: tuple[Any, ...] = (
    object(),
    b"z",
    [],
    float("nan"),
    2**70,
    "\ud800",
    deep(),
    Unprintable(),
    [deep()],
    [Unprintable()],
    {"a": deep()},
)
NOT_TRIED = {"close", "signed", "follow"}
"""They end the handle, or wait."""
CALLABLES = {"progress", "tiebreaker", "extractor", "clock", "entropy", "embedder"}


class Calls:
    """An open store, and what its calls need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0
        self.db = worlddb.open(folder / "store", embedder=None)
        one, other = self.db.create("Note", "a", content="x"), self.db.create("Note", "b", content="y")
        edge = self.db.link(one, "refers_to", other)
        self.db.backup(folder / "backup")
        self.db.export(None, folder / "x.bundle")
        erased = self.db.erase(other, reason="r").seq
        head, ref = self.db.checkpoint(), one.ref
        self.memory = worlddb.memory(self.db, user="ana")
        said, other = self.memory.add("Ana likes tea."), self.memory.add("Ana likes cocoa.")
        self.needed: dict[str, Any] = {
            **{"given": "Ana has a dog.", "id": said.id, "one": said, "other": other, "query": "tea"},
            **{"ref": ref, "refs": ref, "source": ref, "target": ref, "world": ref, "edge": edge.ref, "a": folder},
            **{"type": "Note", "name": "zz", "content": "q", "reason": "r", "text": "x", "question": "x", "old": 1},
            **{"turns": [{"text": "hi"}], "to": "static", "proof": self.db.prove(one), "checkpoint": head},
            **{"erasure": erased, "receipt": self.db.erasure_receipt(erased), "proposal": "0" * 64, "micros": 1},
            **{"backup": folder / "backup", "signing_key": worlddb.new_key("example.com/a").signing},
            **{"kref": "kref://p/s/n.k", "artifact": worlddb.Artifact(name="f", location="s3://f"), "level": "low"},
            **{"item": ref, "subject": ref, "object": ref, "relation": "prefers", "beliefs": (ref, "summary", "x")},
            **{"tag": "t", "version": 1, "user": "ana", "key": "k", "between": ("2026-01-01", "2027-01-01")},
            **{"plan": self.db.view().withdrawal(one, how="flag"), "min_age": 0, "value": "2026-01-01"},
        }

    def need(self, name: str) -> Any:
        """A right value for a parameter; a new place each time."""
        if name in ("path", "into"):
            self.made += 1
            return self.folder / str(self.made)
        return self.needed[name]

    def public(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The methods of the store and of a view, and the functions."""
        view = self.db.view()
        for what, of in (("db", self.db), ("view", view)):
            for name, method in inspect.getmembers(of, callable):
                if not name.startswith("_") and name not in NOT_TRIED:
                    yield f"{what}.{name}", method
        for name in (
            "add",
            "correct",
            "contradict",
            "forget",
            "expire",
            "label",
            "as_of",
            "recall",
            "context",
            "history",
        ):
            yield f"memory.{name}", getattr(self.memory, name)
        for function in (agents.remember, agents.recall, agents.forget):
            yield f"agents.{function.__name__}", partial(function, self.db)
        for name in worlddb.__all__:
            if inspect.isfunction(getattr(worlddb, name)):
                yield name, getattr(worlddb, name)

    def tried(self, call: Callable[..., Any], wrong: inspect.Parameter, value: Any) -> None:
        """Call with one wrong value, and read the first of what comes."""
        named: dict[str, Any] = {}
        rest: list[Any] = []
        for each in inspect.signature(call).parameters.values():
            is_given = each.default is each.empty and each.kind is not each.VAR_POSITIONAL
            if not is_given and each.name != wrong.name:
                continue
            given = value if each.name == wrong.name else self.need(each.name)
            if each.kind is each.VAR_POSITIONAL:
                rest.append(given)
            elif rest or wrong.kind is not wrong.VAR_POSITIONAL:
                named[each.name] = given
            else:
                rest.append(given)
        answer = call(*rest, **named)
        if isinstance(answer, Iterator):
            next(answer, None)
        if isinstance(answer, worlddb.Database):
            answer.close()


def test_a_wrong_value_of_any_argument_gives_an_answer_or_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`verify(progress=5)` ended in a plain TypeError, as did every other `progress`, and keys that are no list."""
    monkeypatch.chdir(tmp_path)
    # They load libraries, which takes a second.
    monkeypatch.setattr(installation, "CHECKS", installation.CHECKS[:2])
    calls, untyped, refused = Calls(tmp_path), [], set()
    for name, call in calls.public():
        try:
            parameters = inspect.signature(call).parameters.values()
            for each in parameters:
                if each.default is each.empty and each.kind is not each.VAR_POSITIONAL:
                    calls.need(each.name)
        except (ValueError, KeyError):
            continue  # What it needs cannot be given in a line; others try it.
        for parameter in parameters:
            for value in WRONG[4:8] if name.startswith(("memory.", "agents.")) else WRONG:
                try:
                    calls.tried(call, parameter, value)
                except worlddb.WorldDBError:
                    refused.add((name, parameter.name))
                except Exception as error:
                    number = next(at for at, each in enumerate(WRONG) if each is value)
                    untyped.append(f"{name}({parameter.name}=value {number}): {type(error).__name__}: {error}")
    calls.db.close()
    assert not untyped, "\n".join(untyped)
    functions = {where for where in refused if where[1] in CALLABLES}
    assert len(functions) >= 18 and len(refused) > 150, sorted(functions)


def test_what_a_model_or_a_host_gives_the_agents_functions_is_told_whatever_it_is(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        for wrong in WRONG:
            answer = agents.call(db, wrong, {})
            assert "error" in answer
            with pytest.raises(worlddb.WorldDBError):
                WorldDBStore(db, min_trust=wrong)


def test_a_read_that_is_a_views_says_so_where_it_is_asked_of_the_store(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        with pytest.raises(AttributeError, match=r"reads go through a view, as db\.view\(\)\.recall\("):
            db.recall("x")  # type: ignore[attr-defined]
        for name in ("remember", "_view", "__deepcopy__"):
            with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
                getattr(db, name)
        assert not hasattr(db, "children") and copy.copy(db).path == db.path


def test_an_unknown_missing_or_surplus_argument_of_any_public_call_is_a_typed_error(tmp_path: Path) -> None:
    """`view.recall("x", kk=3)` and `db.create("Entity", "x", vaild_from=...)` ended in Python's TypeError."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        with db.batch() as batch:
            batch.create("Note", "a")
        untyped, tried, before = [], 0, db.head()
        for owner in (db, db.view(), batch, db.accounts, db.working):
            for name, call in inspect.getmembers(owner, inspect.ismethod):
                taken = inspect.signature(call).parameters.values()
                needed = [each for each in taken if each.default is each.empty and each.kind <= 1]
                if name.startswith("_") or any(each.kind is each.VAR_KEYWORD for each in taken):
                    continue
                tried += 1
                for given, named, told in (
                    (["x"] * len(needed), {"zzz": 1}, "takes no argument 'zzz'"),
                    ([], {}, f"needs {needed[0].name}" if needed else ""),
                    (
                        ["x"] * 99,
                        {},
                        ""
                        if any(each.kind is each.VAR_POSITIONAL for each in taken)
                        else "was given 99 values without",
                    ),
                    (["x"], {needed[0].name: "x"} if needed else {}, f"{needed[0].name} twice" if needed else ""),
                ):
                    try:
                        if told:
                            call(*given, **named)
                            untyped.append(f"{name}: no error for {named}")
                    except worlddb.InputError as error:
                        untyped += [] if told in str(error) else [str(error)]
        assert not untyped and tried > 200, "\n".join(untyped)
        assert db.head() == before
        loose: Any = worlddb
        for wrong, remedy in (
            (lambda: loose.open(tmp_path, embeder=None), "open takes no argument 'embeder'. Did you mean embedder?"),
            (lambda: loose.restore(tmp_path), "restore needs into"),
            (lambda: loose.memory(user="ana"), "memory needs place"),
            (lambda: loose.check_proof("x", key=[]), "check_proof takes no argument 'key'. Did you mean keys?"),
            (
                lambda: loose.memory(db).recall("x", 5),
                "recall was given 2 values without a name, and takes only question so",
            ),
        ):
            with pytest.raises(worlddb.InputError) as raised:
                wrong()
            assert remedy in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "given", "named", "told"),
    [
        (worlddb.Thresholds, (), {"fuzz": 0.9}, "Thresholds takes no argument 'fuzz'. Did you mean fuzzy"),
        (worlddb.Thresholds, (0.9,), {}, "Thresholds was given 1 value without a name, and takes none so"),
        (worlddb.Decay, (), {"half_life": 3}, "Decay takes no argument 'half_life'. Did you mean half_life_days"),
        (worlddb.Decay, (30,), {"half_life_days": 3}, "Decay was given half_life_days twice"),
        (worlddb.Turn, (), {}, "Turn needs text"),
        (worlddb.Streams, (), {"path": 5}, "Streams takes no argument 'path'. Did you mean paths"),
        (worlddb.DreamSchedule, (), {"hours": 2}, "DreamSchedule takes no argument 'hours'"),
    ],
)
def test_a_wrong_field_of_settings_is_a_typed_error(
    kind: Callable[..., object], given: tuple[Any, ...], named: dict[str, Any], told: str
) -> None:
    with pytest.raises(worlddb.InputError) as caught:
        kind(*given, **named)
    assert str(caught.value).startswith(told)


def test_a_wrong_path_a_missing_id_and_a_reversed_span_are_named_as_what_they_are(tmp_path: Path) -> None:
    """`export(None, None)` was told of the store's path, and None that it is NoneType."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        view = db.view()
        none: Any = None
        wrong: dict[str, Callable[[], Any]] = {
            "The path to export to is NoneType. Give it as text": lambda: db.export(None, none),
            "The path to export to is '  '. Name a place": lambda: db.export_jsonl(None, "  "),
            "The bundle's path is NoneType": lambda: db.import_bundle(none),
            "into is ''": lambda: db.backup(""),
            "backup is NoneType": lambda: worlddb.restore(none, tmp_path / "x"),
            "None is not a reference. Give a receipt": lambda: view.get(None),
            "since 2027-01-01T00:00:00Z is not before until 2026-01-01T00:00:00Z": lambda: view.recall(
                "x", since="2027-01-01", until="2026-01-01"
            ),
        }
        for told, call in wrong.items():
            with pytest.raises(worlddb.InputError) as raised:
                call()
            assert str(raised.value).startswith(told)


def test_a_type_error_of_a_callers_own_function_is_not_taken_for_wrong_arguments(tmp_path: Path) -> None:
    """A call has begun once its own functions run, and what they raise is theirs."""

    def raises(*_: object) -> None:
        raise TypeError("mine")

    with worlddb.open(tmp_path / "store", embedder=None) as db, pytest.raises(TypeError, match="mine"):
        db.create("Note", "a")
        db.backup(tmp_path / "copy", progress=raises)
