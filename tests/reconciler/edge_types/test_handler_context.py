"""What a handler may do beside writing its own edge, and what it may not, whatever it tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import HandledEdge, HandlerContext, Insert, PlainHandler
from worlddb.reconciler.edge_types import handler
from worlddb.reconciler.edge_types.sandbox import SandboxedContext
from worlddb.reconciler.transaction.context import Context


class LivesIn(PlainHandler):
    """Nobody lives in two places, so a second one is a conflict of the two places."""

    name = "lives_in"

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        for known in ctx.edges(edge.source, self.name):
            ctx.conflict(edge.target, known.target)
        return super().on_insert(ctx, edge)


class Scripted(PlainHandler):
    """Does what a test tells it to."""

    name = "scripted"

    def __init__(self, insert: Callable[..., Any] | None = None, delete: Callable[..., Any] | None = None) -> None:
        self.insert = insert
        self.delete = delete

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        answer: Insert = Insert.WRITE if self.insert is None else self.insert(ctx, edge)
        return answer

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> Any:
        return None if self.delete is None else self.delete(ctx, edge)


class Store:
    """A store with three worlds and a scripted edge type."""

    def __init__(self, db: worlddb.Database) -> None:
        self.db = db
        self.handler = Scripted()
        db.register(self.handler)
        self.team = db.create("Topic", "Team", valid_from="2020-01-01").ref
        made = {"world": self.team, "valid_from": "2021-01-01"}
        self.ann = db.create("Person", "Ann", content="a person", **made).ref
        self.bob = db.create("Person", "Bob", content="another", **made).ref

    def link(self, insert: Callable[..., Any]) -> worlddb.Receipt:
        self.handler.insert = insert
        receipt = self.db.link(self.ann, "scripted", self.bob, properties={"role": "lead"})
        assert isinstance(receipt, worlddb.Receipt)
        return receipt


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with worlddb.open(tmp_path / "store") as db:
        yield Store(db)
        assert db.verify(deep=True).ok


def test_a_handler_records_a_conflict_in_the_commit_of_its_edge_and_reads_show_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", edge_types=[LivesIn()]) as db:
        db.register(LivesIn())
        ann, lisbon, porto = (db.create("Entity", name) for name in ("Ann", "Lisbon", "Porto"))
        assert db.link(ann, "lives_in", lisbon).events == 1
        assert db.view().conflicts(lisbon) == []
        assert db.link(ann, "lives_in", porto).events == 2
        view = db.view()
        for place, other in ((lisbon, porto), (porto, lisbon)):
            seen = view.get(place)
            assert seen is not None and seen.conflicts == (other.ref,)
        assert [edge.type for edge in view.edges(ann, direction="out")] == ["lives_in", "lives_in"]
        assert db.verify(deep=True).ok
    with worlddb.open(tmp_path / "store") as db:
        # Without the handler everything is read and rebuilt, and only new writes of the type are refused.
        assert [edge.type for edge in db.view().edges(ann, type="lives_in")] == ["lives_in", "lives_in"]
        assert db.rebuild("tables").root == db.head().root


def test_the_contexts_have_what_the_protocol_documents_and_the_guarded_one_no_more() -> None:
    documented = {name for name in vars(handler.HandlerContext) if not name.startswith("_")}
    assert {name for name in dir(SandboxedContext) if not name.startswith("_")} == documented | {"end_call"}
    assert documented - {"now", "root", "author"} <= set(dir(Context))


def test_a_handler_reads_what_its_edge_is_about(store: Store) -> None:
    told: dict[str, Any] = {}

    def look(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        team = ctx.home_of(edge.source)
        told.update(
            text=ctx.text(edge.source),
            properties=ctx.properties(edge),
            home=edge.home == team,
            containers=list(ctx.containers(edge.target)) == [team],
            inside=(ctx.inside(edge.source, team), ctx.inside(edge.source, ctx.root), ctx.inside(team, edge.source)),
            reaches=(ctx.reaches(team, edge.target, "contains"), ctx.reaches(edge.target, team, "contains")),
            lineage=ctx.lineage(edge.source).hex(),
            shown=ctx.shown(edge.source),
            begins=ctx.begins(edge.source) == edge.valid_from,
            members=[known.target == end for known, end in zip(ctx.edges(team, "contains"), edge[1:3], strict=True)],
            around=[known.source == ctx.root for known in ctx.edges(team, "contains", incoming=True)],
            proposal=ctx.proposal(edge.source, edge.target),
        )
        ctx.link(edge.source, "same_as", edge.target)
        staged = ctx.proposal(edge.source, edge.target)
        told["staged"] = None if staged is None else (staged.status, staged.changed)
        return Insert.WRITE

    receipt = store.link(look)
    assert len(receipt.proposals) == 1
    assert told == {
        "text": ("Person", "Ann", "a person"),
        "properties": {"role": "lead"},
        "home": True,
        "containers": True,
        "inside": (True, True, False),
        "reaches": (True, False),
        "lineage": store.ann,
        "shown": store.ann[:12],
        "begins": True,
        "members": [True, True],
        "around": [True],
        "proposal": None,
        "staged": ("pending", False),
    }


def test_a_handler_closes_chains_and_tells_within_the_laws(store: Store) -> None:
    def act(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        first = ctx.link(edge.target, "refers_to", edge.source, properties={"by": "handler"}, valid_from=ctx.now)
        assert ctx.close_edge(first.id, ctx.now + 5)
        second = ctx.link(edge.target, "refers_to", edge.source)
        ctx.unlink(second.id)
        ctx.end(edge.target, ctx.now + 10, by=ctx.lineage(edge.source))
        assert ctx.close(edge.source, ctx.now + 20) and not ctx.close(edge.source, ctx.now + 30)
        ctx.note("told_by_handler", ctx.lineage(edge.source))
        return Insert.WRITE

    receipt = store.link(act)
    at = receipt.ingest_time
    view = store.db.view(valid=at)
    ann, bob = view.get(store.ann), view.get(store.bob)
    assert ann is not None and bob is not None
    assert (ann.valid.end, bob.valid.end, bob.ended) == (at + 20, at + 10, True)
    [made] = view.edges(store.bob, type="refers_to")
    assert (made.properties, made.valid.end) == ({"by": "handler"}, at + 5)
    assert [str(note) for note in receipt.notes] == ["told_by_handler"]


def test_cleaning_up_after_an_unlink_sees_the_edge_as_it_was_written(store: Store) -> None:
    edge = store.link(lambda ctx, edge: Insert.WRITE)
    seen: list[Any] = []
    store.handler.delete = lambda ctx, old: seen.append((old.id.hex(), ctx.properties(old), old.seq, old.key))
    store.db.unlink(edge)
    assert seen == [(edge.ref, {"role": "lead"}, edge.seq, None)]


def _swallow(call: Callable[[HandlerContext, HandledEdge], Any]) -> Callable[[HandlerContext, HandledEdge], Insert]:
    def insert(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        try:
            call(ctx, edge)
        except Exception:
            pass
        return Insert.WRITE

    return insert


def _raise(error: BaseException) -> Callable[..., Any]:
    def insert(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        ctx.end(edge.target, ctx.now)
        raise error

    return insert


def _without_end(edge: HandledEdge) -> Any:
    return _without_end(edge)


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


async def _asynchronous(ctx: HandlerContext, edge: HandledEdge) -> Insert:
    return Insert.WRITE


BROKEN: dict[str, Callable[..., Any]] = {
    "raises": _raise(ZeroDivisionError("by nothing")),
    "raises something empty": _raise(KeyError()),
    "recurses": lambda ctx, edge: _without_end(edge),
    "returns nothing": lambda ctx, edge: None,
    "returns something true": lambda ctx, edge: True,
    "names no world": lambda ctx, edge: ctx.begins(10_000),
    "names a world by its reference": lambda ctx, edge: ctx.text(ctx.lineage(edge.source)),
    "names no edge": lambda ctx, edge: ctx.unlink(b"no edge"),
    "gives a time as text": lambda ctx, edge: ctx.end(edge.target, "2020-01-01"),
    "gives a code that is none": lambda ctx, edge: ctx.note("{} says who", ctx.lineage(edge.source)),
    "refuses with a code that is none": lambda ctx, edge: ctx.refuse("No Way", "because"),
    "notes what is no reference": lambda ctx, edge: ctx.note("fine", "who"),
    "notes a text": lambda ctx, edge: ctx.note("fine", b"a text of sixteen bytes and more"),
    "notes a part of a reference": lambda ctx, edge: ctx.note("fine", ctx.lineage(edge.source)[:8]),
    "notes by a code of the engine's": lambda ctx, edge: ctx.note("proposal_staged", ctx.lineage(edge.source)),
    "names an edge type in a note": lambda ctx, edge: ctx.note("types_registered", b"\xff" * 16),
    "raises what cannot be printed": _raise(_Unprintable()),
    "returns what cannot be printed": lambda ctx, edge: _Unprintable(),
    "names a world that cannot be printed": lambda ctx, edge: ctx.begins(_Unprintable()),
    "is a coroutine": _asynchronous,
    "reaches for the tables": lambda ctx, edge: ctx.tables,
    "reaches for the draft": lambda ctx, edge: ctx.draft.emit("anything"),
    "sets something": lambda ctx, edge: setattr(ctx, "now", 0),
    "calls what does not exist": lambda ctx, edge: ctx.delete(edge.target),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_handler_that_breaks_leaves_nothing_behind_and_is_named(store: Store, how: str) -> None:
    before = store.db.head()
    with pytest.raises(worlddb.HandlerFailed, match="handler of 'scripted'") as caught:
        store.link(BROKEN[how])
    assert caught.value.details["command"] == 0
    assert caught.value.code == "handler_failed"
    assert store.db.head() == before
    assert store.link(lambda ctx, edge: Insert.WRITE).events == 1, "the store goes on"


def test_a_handlers_exception_is_the_cause_of_the_error(store: Store) -> None:
    with pytest.raises(worlddb.HandlerFailed, match="on_insert: ZeroDivisionError: by nothing") as caught:
        store.link(BROKEN["raises"])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_what_another_handler_left_by_half_is_not_written_even_if_its_end_is_swallowed(
    store: Store, end: BaseException
) -> None:
    """Only exceptions stopped the commit: what ends a process, and is swallowed, left a half-done write in it."""

    class Inner(worlddb.PlainHandler):
        name = "inner"

        def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
            ctx.link(edge.source, "refers_to", edge.target)
            raise end

    def swallow(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        with suppress(BaseException):
            ctx.link(edge.source, "inner", edge.target)
        return Insert.WRITE

    store.db.register(Inner())
    before = store.db.head()
    with pytest.raises(worlddb.HandlerFailed, match=f"handler of 'inner' failed.*{type(end).__name__}"):
        store.link(swallow)
    assert store.db.head() == before


def test_a_clean_up_that_nobody_runs_is_no_clean_up(store: Store) -> None:
    edge = store.link(lambda ctx, edge: Insert.WRITE)

    async def later(ctx: HandlerContext, edge: HandledEdge) -> None:
        ctx.end(edge.target, ctx.now)

    store.handler.delete = later
    with pytest.raises(worlddb.HandlerFailed, match="which the engine does not await"):
        store.db.unlink(edge)


def test_a_note_may_be_about_worlds_edges_and_proposals(store: Store) -> None:
    def tell(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        made = ctx.link(edge.target, "refers_to", edge.source)
        staged = ctx.stage(edge.source, edge.target)
        ctx.note("told", ctx.lineage(edge.source), made.id, staged.id)
        return Insert.WRITE

    (note,) = (note for note in store.link(tell).notes if note.code == "told")
    assert [len(ref) for ref in note.refs] == [32, 64, 64]


def test_an_edge_of_a_handler_under_a_key_that_is_taken_is_refused_as_a_callers_is(store: Store) -> None:
    """It was dropped without a word: the handler, and whoever linked, took it for written."""

    def act(ctx: HandlerContext, edge: HandledEdge, **more: Any) -> Insert:
        given: dict[str, Any] = {
            "source": edge.target,
            "type_name": "refers_to",
            "target": edge.source,
            "key": "once",
        } | more
        ctx.link(given.pop("source"), given.pop("type_name"), given.pop("target"), **given)
        return Insert.WRITE

    assert store.link(partial(act, valid_from=5, properties={"page": 1})).events == 2
    assert store.link(act).events == 1, "the same, as far as it says anything"
    assert store.link(partial(act, valid_from=5, properties={"page": 1})).events == 1
    changes: list[dict[str, Any]] = [
        {"type_name": "implies"},
        {"target": 0},
        {"valid_from": 6},
        {"valid_to": 2_000_000_000_000_000},
        {"properties": {"page": 2}},
    ]
    for change in changes:
        refused = store.link(partial(act, **change))
        assert isinstance(refused.outcome, worlddb.Refused) and refused.outcome.code == "key_taken", change
    for key in ("", "x" * 5_000, 7):
        with pytest.raises(worlddb.WorldDBError, match="key"):
            store.link(partial(act, key=key))


def test_an_interrupt_is_not_swallowed_and_nothing_is_written(store: Store) -> None:
    before = store.db.head()
    with pytest.raises(KeyboardInterrupt):
        store.link(_raise(KeyboardInterrupt()))
    assert store.db.head() == before


def test_one_bad_edge_of_a_batch_aborts_all_of_it(store: Store) -> None:
    before = store.db.head()
    store.handler.insert = BROKEN["raises"]
    with pytest.raises(worlddb.HandlerFailed) as caught, store.db.batch() as tx:
        tx.create("Note", "kept out")
        tx.link(store.ann, "scripted", store.bob)
    assert caught.value.details["command"] == 1
    assert store.db.head() == before and store.db.view().find(name="kept out") == []


SWALLOWED: dict[str, tuple[Callable[[Any, HandledEdge], Any], str]] = {
    "its own refusal": (lambda ctx, edge: ctx.refuse("not_today", "It is Sunday"), "not_today"),
    "another handler's refusal": (lambda ctx, edge: ctx.link(edge.source, "implies", edge.source), "self_reference"),
    "the permanence of the root": (lambda ctx, edge: ctx.end(ctx.root, ctx.now), "root_is_permanent"),
    "an endless chain": (lambda ctx, edge: ctx.link(edge.source, "scripted", edge.target), "chain_too_deep"),
}


@pytest.mark.parametrize("what", SWALLOWED)
def test_a_handler_that_swallows_a_refusal_is_refused_all_the_same(store: Store, what: str) -> None:
    call, code = SWALLOWED[what]
    before = store.db.head()
    receipt = store.link(_swallow(call))
    assert isinstance(receipt.outcome, worlddb.Refused) and receipt.outcome.code == code
    assert store.db.head() == before


def test_a_handler_that_swallows_the_failure_of_a_write_fails_all_the_same(store: Store) -> None:
    before = store.db.head()
    with pytest.raises(worlddb.UnknownEdgeType):
        store.link(_swallow(lambda ctx, edge: ctx.link(edge.source, "nothing_of_the_kind", edge.target)))
    with pytest.raises(worlddb.InvalidInterval):
        store.link(_swallow(lambda ctx, edge: ctx.link(edge.source, "implies", edge.target, valid_from=5, valid_to=1)))
    assert store.db.head() == before


def test_an_identity_that_somebody_accepted_is_not_a_handlers_to_undo(store: Store) -> None:
    accepted = store.db.link(store.ann, "same_as", store.bob)
    store.db.accept(accepted)
    receipt = store.link(lambda ctx, edge: ctx.unlink(bytes.fromhex(accepted.ref)))
    assert isinstance(receipt.outcome, worlddb.Refused) and receipt.outcome.code == "is_a_proposal"


def test_a_context_that_was_kept_writes_nothing_after_its_call(store: Store) -> None:
    kept: list[Any] = []

    def keep(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        kept.append(ctx)
        return Insert.WRITE

    store.link(keep)
    before = store.db.head()
    for use in (
        lambda: kept[0].refuse("late", "too late"),
        lambda: kept[0].link(1, "implies", 2),
        lambda: kept[0].shown(1),
    ):
        with pytest.raises(worlddb.HandlerFailed, match="after its call"):
            use()
    assert store.db.head() == before
