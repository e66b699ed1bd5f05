"""Worlds that handlers create in the commit of their edge, what they stage, and who they see as its author."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.reconciler.edge_types.test_handler_context import Store
from worlddb import HandledEdge, HandlerContext, Insert, PlainHandler
from worlddb.reconciler.transaction.context import MAX_DERIVED

FEW_OR_MORE = pytest.mark.parametrize("histories", [4, pytest.param(8, marks=pytest.mark.soak)])
STEPS = 14


class Meets(PlainHandler):
    """Of every meeting there is a note beside the two who met; meeting oneself proposes nothing."""

    name = "meets"

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        super().on_insert(ctx, edge)
        one, other = ctx.text(edge.source), ctx.text(edge.target)
        if one is None or other is None:
            return Insert.WRITE
        note = ctx.create(
            "Note",
            f"{one.name} met {other.name}",
            content=f"{one.content} met {other.content}",
            aliases=["meeting"],
            valid_from=edge.valid_from,
            source={"by": ctx.author},
        )
        ctx.link(note, "refers_to", edge.source)
        if one.name == other.name:
            ctx.stage(edge.source, edge.target, evidence={"met": True})
        return Insert.WRITE

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> None:
        ctx.create("Note", "did not meet after all")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with worlddb.open(tmp_path / "store", author="keeper") as db:
        yield Store(db)
        assert db.verify(deep=True).ok


def code_of(receipt: worlddb.Receipt) -> str:
    assert isinstance(receipt.outcome, worlddb.Refused), receipt
    return receipt.outcome.code


def test_a_created_world_is_as_one_that_was_asked_for_and_says_who_made_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="keeper") as db:
        db.register(Meets())
        team = db.create("Topic", "Team").ref
        ann = db.create("Person", "Ann", content="a painter", world=team).ref
        bob = db.create("Person", "Bob", content="a plumber", world=team).ref
        before = db.view()
        root = db.head().root
        receipt = db.link(ann, "meets", bob, why="seen at noon", idempotency_key="k")
        [made] = receipt.derived
        assert str(receipt.notes[0]).startswith("the handler of an edge created ")
        assert db.link(ann, "meets", bob, why="seen at noon", idempotency_key="k") == receipt
        view = db.view()
        note = view.get(made)
        assert note is not None and db.head().root != root
        assert (note.type, note.name, note.content) == ("Note", "Ann met Bob", "a painter met a plumber")
        assert (note.author, note.seq) == ("keeper", receipt.seq)
        assert note.source == {"by": "keeper", "handler": "meets", "handler_version": 1}
        assert [each.ref for each in view.children(team)] == [ann, bob, made]
        assert [each.ref for each in view.find(name="meeting")] == [made]
        assert {edge.target for edge in view.edges(made, type="derived_from")} == {ann, bob}
        assert view.recall("painter plumber", world=team).hits[0].ref == made
        assert before.find(name="meeting") == [] and db.view(seq=before.seq).find(name="meeting") == []
        [told] = [entry for entry in db.log() if entry.event == "created" and entry.refs == (made,)]
        assert told.why == "Created by the handler of meets, version 1"
        assert told.why in {field.why for field in view.blame(made).fields}
        db.embed()
        assert made in {hit.ref for hit in db.view().recall("a painter", lanes=["vector"]).hits}
        db.erase(ann, reason="request 7")
        erased = db.view().get(made)
        assert erased is not None and erased.erased and erased.content == ""
        assert db.verify(deep=True).ok


def test_a_handler_that_cleans_up_creates_too_and_stages_once(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register(Meets())
        one, other = (db.create("Person", "Ann", resolve=False).ref for _ in range(2))
        first = db.link(one, "meets", other)
        [proposal] = first.proposals
        assert db.proposals()[0].evidence == {"met": True}
        assert not db.link(one, "meets", other).proposals, "the pair waits for a decision"
        db.reject(proposal)
        assert not db.link(one, "meets", other).proposals, "and was decided"
        [made] = db.unlink(first).derived
        found = db.view().get(made)
        assert found is not None and found.name == "did not meet after all"
        assert not db.redecide().differing and db.verify(deep=True).ok


def test_a_handler_stages_its_ends_in_place_of_its_edge(store: Store) -> None:
    receipt = store.link(lambda ctx, edge: Insert.STAGE)
    [proposal] = receipt.proposals
    assert isinstance(receipt.outcome, worlddb.Staged) and receipt.ref == proposal
    [known] = store.db.proposals()
    assert (known.source, known.target, known.evidence) == (store.ann, store.bob, {"role": "lead"})
    assert store.db.view().edges(store.ann, type="scripted") == []
    assert code_of(store.link(lambda ctx, edge: Insert.STAGE)) == "already_proposed"
    store.db.accept(proposal)
    assert store.db.view().equivalence_class(store.ann) == [store.ann, store.bob]
    assert not store.db.redecide().differing


def test_a_handler_sees_the_author_and_does_so_when_it_decides_again(store: Store) -> None:
    seen: list[str] = []

    def see(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        seen.append(ctx.author)
        return Insert.WRITE

    store.handler.insert = see
    store.db.as_author("visitor").link(store.ann, "scripted", store.bob)
    assert not store.db.redecide().differing
    assert seen == ["visitor", "visitor"]


REFUSED: dict[str, tuple[Callable[[Any, HandledEdge], Any], str]] = {
    "more worlds than a command may": (
        lambda ctx, edge: [ctx.create("Note", str(number)) for number in range(MAX_DERIVED + 1)],
        "too_many_derived",
    ),
    "a world that leads to another without end": (
        lambda ctx, edge: ctx.link(ctx.create("Note", "next", derived_from=()), "scripted", edge.target),
        "chain_too_deep",
    ),
    "a world outside of its edge's home": (lambda ctx, edge: ctx.create("Note", "n", world=ctx.root), "outside_home"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_goes_too_far_is_refused_whole_even_if_the_handler_swallows_it(store: Store, what: str) -> None:
    call, code = REFUSED[what]

    def insert(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        try:
            call(ctx, edge)
        except Exception:
            pass
        return Insert.WRITE

    before = store.db.head()
    assert code_of(store.link(insert)) == code
    assert store.db.head() == before
    assert store.link(lambda ctx, edge: Insert.WRITE)


def test_as_many_worlds_as_a_command_may_are_created_for_each_command_of_a_batch(store: Store) -> None:
    def insert(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        for number in range(MAX_DERIVED):
            ctx.create("Note", str(number), derived_from=())
        return Insert.WRITE

    store.handler.insert = insert
    with store.db.batch() as tx:
        for _ in range(2):
            tx.link(store.ann, "scripted", store.bob)
    assert len(set(tx.receipt.derived)) == 2 * MAX_DERIVED
    assert not store.db.redecide().differing


WRONG: dict[str, Callable[[Any, HandledEdge], Any]] = {
    "no type": lambda ctx, edge: ctx.create("", "name"),
    "a number for a name": lambda ctx, edge: ctx.create("Note", 7),
    "half a character": lambda ctx, edge: ctx.create("Note", "n", content="\ud800"),
    "one text for aliases": lambda ctx, edge: ctx.create("Note", "n", aliases="meeting"),
    "a source that cannot be kept": lambda ctx, edge: ctx.create("Note", "n", source={"at": float("nan")}),
    "an interval that ends before it begins": lambda ctx, edge: ctx.create("Note", "n", valid_from=9, valid_to=1),
    "a world that is none": lambda ctx, edge: ctx.create("Note", "n", world=10_000),
    "an origin that is none": lambda ctx, edge: ctx.create("Note", "n", derived_from=[ctx.lineage(edge.source)]),
    "evidence that is none": lambda ctx, edge: ctx.stage(edge.source, edge.target, evidence=[1]),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_aborts_the_commit_even_if_the_handler_swallows_it(store: Store, what: str) -> None:
    def insert(ctx: HandlerContext, edge: HandledEdge) -> Insert:
        try:
            WRONG[what](ctx, edge)
        except worlddb.WorldDBError:
            raise
        except Exception as error:
            raise AssertionError("an untyped error") from error
        return Insert.WRITE

    before = store.db.head()
    with pytest.raises((worlddb.InputError, worlddb.HandlerFailed)):
        store.link(insert)
    assert store.db.head() == before


def test_no_world_is_created_while_a_time_is_asked_for(store: Store) -> None:
    class Early(PlainHandler):
        name = "early"

        def default_valid_from(self, ctx: HandlerContext, source: int, target: int) -> int:
            return ctx.create("Note", "too early")

    store.db.register(Early())
    with pytest.raises(worlddb.HandlerFailed, match="created a world in default_valid_from"):
        store.db.link(store.ann, "early", store.bob)


def test_a_handler_creates_nothing_outside_of_where_its_edge_is_at_home(tmp_path: Path) -> None:
    class Elsewhere(PlainHandler):
        """Tries every world that it can reach as the place of a note."""

        name = "elsewhere"

        def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
            ctx.create("Note", "secret", world=edge.target, derived_from=())
            return Insert.WRITE

    with worlddb.open(tmp_path / "store") as db:
        db.register(Elsewhere())
        tenants = [db.create("Scope", name).ref for name in ("mine", "theirs")]
        inner, outer = (db.create("Topic", "t", world=tenant, resolve=False).ref for tenant in tenants)
        assert code_of(db.link(inner, "elsewhere", outer)) == "outside_home"
        assert code_of(db.link(inner, "elsewhere", tenants[1])) == "outside_home"
        assert db.link(inner, "elsewhere", inner).derived
        assert [each.name for each in db.view(world=tenants[1]).children(tenants[1])] == ["t"]


def history(db: worlddb.Database, rng: random.Random) -> None:
    """Meetings, some of which are taken back, among people who are revised, retired, merged and erased."""
    worlds = [db.create("Topic", f"W{number}").ref for number in range(2)]
    people = [
        db.create("Person", rng.choice("ABC"), content=f"c{number}", world=rng.choice(worlds)).ref
        for number in range(5)
    ]
    edges: list[str] = []
    for step in range(STEPS):
        act = rng.randrange(8)
        one, other = rng.sample(people, 2)
        if act <= 3:
            receipt = db.link(one, "meets", other)
            if receipt:
                edges.append(receipt.ref)
                people.extend(receipt.derived[:1])
        elif act == 4 and edges:
            db.unlink(edges.pop(rng.randrange(len(edges))))
        elif act == 5:
            db.revise(one, content=f"later {step}")
        elif act == 6:
            for proposal in db.proposals()[:1]:
                (db.accept if rng.random() < 0.5 else db.reject)(proposal.ref)
        else:
            with db.batch() as tx:
                made = tx.create("Person", rng.choice("ABC"), world=rng.choice(worlds))
                tx.link(one, "meets", made)
                tx.link(made, "meets", other)
            people.append(tx.receipt.refs[0])
    if rng.random() < 0.5:
        db.erase(rng.choice(people), reason="request")


def state(view: worlddb.View) -> list[Any]:
    """Everything that an unranked read shows of a view."""
    found = list(view.find())
    return [(world, view.edges(world, include_superseded=True), view.equivalence_class(world)) for world in found]


@FEW_OR_MORE
def test_replay_rebuild_and_every_moment_agree_on_what_handlers_created(
    tmp_path: Path, seed: int, histories: int
) -> None:
    derived = 0
    for number in range(histories):
        rng = random.Random(f"{seed} {number}")
        with worlddb.open(tmp_path / f"store-{number}", edge_types=[Meets()]) as db:
            db.register(Meets())
            history(db, rng)
            root, shown = db.head().root, state(db.view(valid="2999-01-01"))
            derived += sum(entry.why.startswith("Created by the handler") for entry in db.log())
            redecided = db.redecide()
            assert not redecided.differing, (seed, number, redecided.differing)
            moment = rng.randrange(2, db.head().seq + 1)
            then = state(db.view(seq=moment, valid="2999-01-01"))
            db.rebuild()
            assert (db.head().root, state(db.view(valid="2999-01-01"))) == (root, shown), (seed, number)
            assert db.verify(deep=True).ok, (seed, number)
            replayed = db.replay(tmp_path / f"then-{number}", seq=moment)
            assert replayed.matches_recorded
        with worlddb.open(tmp_path / f"then-{number}") as other:
            assert state(other.view(valid="2999-01-01")) == then, (seed, number)
    assert derived > 5 * histories, "the run was not trivial"


def test_what_is_left_out_of_a_history_takes_other_names_along(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", edge_types=[Meets()]) as db:
        db.register(Meets())
        ann, bob = (db.create("Person", name, content=name).ref for name in ("Ann", "Bob"))
        slip = db.revise(ann, content="a slip")
        [note] = db.link(ann, "meets", bob).derived
        db.revise(note, name="their meeting")
        supposed = db.replay(tmp_path / "other", without=[slip.seq])
        assert supposed.hypothesis is not None
    with worlddb.open(tmp_path / "other") as other:
        [found] = other.view().find(name="their meeting")
        assert found.content == "Ann met Bob" and found.ref != note
