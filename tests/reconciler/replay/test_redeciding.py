"""Decides a history again: the same rules give the same, and the store never changes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from tests.support.faults.growth import Growth
from tests.support.running import LocalRunner, SmallRefs, small_store
from worlddb import HandledEdge, HandlerContext, Insert, ManualClock, PlainHandler, SeededEntropy, Thresholds

FEW_OR_MORE = pytest.mark.parametrize("histories", [6, pytest.param(12, marks=pytest.mark.soak)])
COMMANDS = 60


def bytes_of(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in ("lock.mdb",))
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Employs(PlainHandler):
    """Everybody has one employer at a time: a new one ends the one before."""

    name = "employs"

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        for known in ctx.edges(edge.target, self.name, incoming=True):
            ctx.close_edge(known.id, edge.valid_from)
        return super().on_insert(ctx, edge)


class EmploysForLife(Employs):
    """Everybody has one employer, and keeps it."""

    version = 2

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        if any(True for _ in ctx.edges(edge.target, self.name, incoming=True)):
            ctx.refuse("employed", f"{ctx.shown(edge.target)} has an employer")
        return Insert.WRITE


@FEW_OR_MORE
def test_random_histories_are_decided_alike_by_the_rules_that_decided_them(
    tmp_path: Path, seed: int, histories: int
) -> None:
    decided = 0
    for number in range(histories):
        clock = ManualClock()
        with worlddb.open(tmp_path / str(number), clock=clock, entropy=SeededEntropy(seed + number)) as db:
            growth = Growth(db, clock, seed + number)
            growth.grow(COMMANDS)
            found = db.redecide()
            assert (found.differing, found.undecidable) == ((), ())
            assert found.same == db.head().seq - 1
            decided += found.same
    assert decided > histories * COMMANDS // 3


@given(
    keys=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(("x", "y", "")), st.booleans()), max_size=12),
    batched=st.booleans(),
)
@examples(8)
def test_the_world_of_a_key_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[str, str, bool]], batched: bool
) -> None:
    with worlddb.open(tmp_path_factory.mktemp("keys") / "store", embedder=None) as db:
        ends = [db.create("Topic", name) for name in ["one", "two", "three"]]
        for number, (key, text, unlinks) in enumerate(keys):
            target = ends["abc".index(key)]
            if batched:
                with db.batch() as tx:
                    made = tx.create("Fact", key, content=text, key=key, aliases=["alias"], why="because")
                    tx.link(made, "refers_to", target, key=key, properties={"of": key})
                    tx.create("Fact", f"beside {number}", content=text)
                edge = tx.receipt.refs[1]
            else:
                fact = db.create("Fact", key, content=text, key=key, source={"n": number})
                edge = db.link(fact, "refers_to", target, key=key).ref
            if unlinks:
                db.unlink(edge, why="moved on")
        found = db.redecide()
        assert (found.differing, found.undecidable) == ((), ())
        assert found.same == db.head().seq - 1


def test_every_command_is_decided_alike_however_its_references_were_given(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", edge_types=[Employs()]) as db:
        db.register(Employs(), why="a rule of ours")
        team = db.create("Topic", "Team").ref
        ann, bob = (db.create("Person", name, world=team[:8], key=name).ref for name in ("Ann", "Bob"))
        db.link(team[:12], "employs", ann[:10])
        db.link(bob, "employs", ann, properties={"role": "lead"})
        twin = db.create("Person", "ann")
        (proposal,) = twin.proposals
        db.accept(proposal[:16])
        db.undo(proposal, why="a slip")
        db.bookmark("first", seq=2)
        db.bookmark("then", at=db.view(seq=4).ingested)
        db.bookmark("now")
        db.move([ann[:9]], bob)
        db.ingest([{"speaker": "Ann", "text": "Tea is at four."}], conversation="c", session="s")
        db.ingest([{"speaker": "Ann", "text": "Tea is at four."}, {"text": "Good."}], conversation="c", session="s")
        db.embed()
        db.retire(db.view().edges(bob, type="employs")[0].ref[:20])
        db.unregister("employs")
        found = db.redecide()
        assert (found.differing, found.undecidable) == ((), ())
        assert (found.first, found.last, found.same) == (2, db.head().seq, db.head().seq - 1)
        assert db.redecide(first=5, seq=7).same == 3


def test_another_version_of_a_handler_decides_otherwise_and_nothing_is_written(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", edge_types=[Employs()]) as db:
        db.register(Employs())
        one, other, ann = (db.create("Thing", name) for name in ("One", "Other", "Ann"))
        first, second = (db.link(each, "employs", ann) for each in (one, other))
        db.link(other, "refers_to", ann)
        before = bytes_of(tmp_path)
        found = db.redecide(edge_types=[EmploysForLife()])
        assert bytes_of(tmp_path) == before
        (other_way,) = found.differing
        assert (other_way.seq, other_way.then, other_way.now) == (second.seq, "committed", "refused")
        assert (other_way.code, other_way.commands, other_way.author) == ("employed", ("link",), "local")
        assert [event.event for event in other_way.events_then] == ["edge_closed", "linked"]
        assert other_way.events_then[0].data["edge"] == first.ref
        assert found.same == db.head().seq - 2
    with worlddb.open(tmp_path / "store") as db:
        # Without the code that decided then, and with none in its place, nothing can be said.
        found = db.redecide()
        assert [(each.seq, each.code) for each in found.undecidable] == [
            (first.seq, "handler"),
            (second.seq, "handler"),
        ]
        assert found.differing == ()
        assert [each.seq for each in db.redecide(edge_types=[EmploysForLife()]).differing] == [second.seq]
        with pytest.raises(worlddb.InputError):
            db.redecide(edge_types=[type("Refers", (PlainHandler,), {"name": "refers_to"})()])


def test_other_thresholds_of_the_resolver_stage_other_proposals(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.create("Entity", "Jonathan Smith")
        staged = db.create("Entity", "Jonathan Smyth", resolve="all")
        assert len(staged.proposals) == 1
        db.create("Entity", "Somebody Else", resolve="all")
        assert db.redecide(resolver=Thresholds(fuzzy=0.9)).differing == ()
        (stricter,) = db.redecide(resolver=Thresholds(fuzzy=1.0, phonetic=1.0)).differing
        assert (stricter.seq, stricter.now, stricter.events_now) == (staged.seq, "committed", ())
        assert [event.event for event in stricter.events_then] == ["proposed"]
        assert db.redecide(resolver={"Other": Thresholds(fuzzy=1.0)}).differing == ()


def test_undecidable_commits_are_reported(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other") as other:
        other.create("Topic", "Elsewhere")
        other.export(None, tmp_path / "b.bundle")
    with worlddb.open(tmp_path / "store") as db:
        note = db.create("Note", "Secret", content="what must go")
        revised = db.revise(note, content="what must go too", why="because")
        plain = db.create("Topic", "Plain")
        said_again = db.reassert(_ended(db, note))
        imported = db.import_bundle(tmp_path / "b.bundle")
        erasure = db.erase(note, reason="request 7")
        found = db.redecide()
        assert {each.seq: each.code for each in found.undecidable} == {
            note.seq: "erased",
            revised.seq: "erased",
            said_again.seq: "erased",
            imported.seq: "import",
            erasure.seq: "erasure",
        }
        assert found.differing == () and all(each.reason and each.then for each in found.undecidable)
        assert found.same == db.head().seq - 1 - len(found.undecidable) and plain


def _ended(db: worlddb.Database, ref: Any) -> Any:
    db.retire(ref)
    return ref


def test_a_text_that_nothing_came_of_and_that_was_not_kept_is_said(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.bookmark("start", seq=1)
        with db.batch() as tx:
            tx.bookmark("start", seq=1)
            tx.create("Topic", "Beside")
        (told,) = db.redecide().undecidable
        assert (told.seq, told.code, told.commands) == (tx.receipt.seq, "not_kept", ("bookmark", "create"))


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalRunner:
    small_store(tmp_path / "store")
    return LocalRunner(capsys, tmp_path / "store")


def test_the_command_line_lists_what_would_differ(
    run: LocalRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.json("redecide") == {"first": 2, "last": 11, "same": 10, "differing": [], "undecidable": []}
    assert "0 commits would be decided differently, 10 have the same result" in run("redecide").out
    assert run.json("redecide", "--from", "4", "--until", "6")["same"] == 3
    (tmp_path / "rules.py").write_text(
        "import worlddb\n\n\nclass Likes(worlddb.PlainHandler):\n    name = 'likes'\n\n"
        "    def on_insert(self, ctx, edge):\n        ctx.refuse('no_likes', 'nobody likes anybody')\n"
    )
    monkeypatch.chdir(tmp_path)

    class Likes(PlainHandler):
        name = "likes"

    with worlddb.open(run.store, edge_types=[Likes()]) as db:
        db.register(Likes())
        known: SmallRefs = SmallRefs(*(world.ref for world in db.view().find(type="Topic")), *[""] * 7)
        liked = db.link(db.create("Person", "Ann"), "likes", known.team)
    assert [each["code"] for each in run.json("redecide")["undecidable"]] == ["handler"]
    (told,) = run.json("redecide", "--handler", "rules:Likes", code=1)["differing"]
    assert (told["seq"], told["now"], told["code"]) == (liked.seq, "refused", "no_likes")
    shown = run("redecide", "--handler", "rules:Likes")
    assert shown.code == 1 and "refused (no_likes): nobody likes anybody" in shown.out
    assert "1 commit would be decided differently" in shown.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--handler", "no_such_module:X"), "input"),
        (("--handler", "nothing"), "input"),
        (("--handler", "json:loads"), "input"),
        (("--threshold", "fuzzy"), "usage"),
        (("--threshold", "fuzzy=2"), "input"),
        (("--threshold", "sharp=0.5"), "input"),
        (("--until", "99"), "input"),
    ],
)
def test_an_impossible_request_is_reported(run: LocalRunner, words: tuple[str, ...], code: str) -> None:
    wrong = run("redecide", *words)
    assert (wrong.code, wrong.error) == (2, code)


def test_a_history_with_a_text_that_was_changed_behind_the_engine_is_neither_decided_again_nor_supposed(
    tmp_path: Path,
) -> None:
    """Both went by what stood there: a what-if made a store that verified out of one that did not."""
    with worlddb.open(tmp_path / "store") as db:
        left_out = db.create("Fact", "A", content="the library")
        db.create("Fact", "B", content="the harbour")
        db.create("Fact", "C", content="the station")
    data = tmp_path / "store" / "data.mdb"
    data.write_bytes(data.read_bytes().replace(b"harbour", b"airport"))
    with worlddb.open(tmp_path / "store") as db:
        assert not db.verify().ok
        with pytest.raises(worlddb.DamagedStore, match="Commit 3 is not what was written"):
            db.redecide()
        with pytest.raises(worlddb.DamagedStore, match="Commit 3 is not what was written"):
            db.replay(tmp_path / "supposed", without=[left_out.seq])


@pytest.mark.parametrize(
    "mark",
    [
        lambda db, ref: db.expire(ref, ttl=500),
        lambda db, ref: db.pin(ref),
        lambda db, ref: db.deprecate(ref),
        lambda db, ref: db.label(ref, "red"),
        lambda db, ref: db.refreshed(ref),
    ],
    ids=["expire", "pin", "deprecate", "label", "access"],
)
def test_a_mark_on_a_world_that_was_erased_later_is_decided_again(tmp_path: Path, mark: Any) -> None:
    """The text that was not there any more was taken for damage, and the whole history could not be decided."""
    with worlddb.open(tmp_path / "store", embedder=None, record_accesses=True) as db:
        first = db.create("Note", "left out").seq
        ref = db.create("Fact", "", content="Ana likes plums.", ttl=1_000, labels=["fruit"]).ref
        mark(db, ref)
        db.write_refreshes()
        db.erase(ref, reason="request 7")
        assert db.redecide().differing == ()
        assert db.replay(tmp_path / "supposed", seq=db.head().seq, without=[first]).hypothesis is not None
        for call in (db.pin, db.deprecate):
            assert call(ref).outcome.code == "erased"
