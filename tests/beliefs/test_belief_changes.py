"""What is believed, contracted, planned, rolled back and taken back: values, refusals, time, erasure, retries."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import worlddb
from tests.support.model.stores import refusal
from worlddb import FOREVER, Database, ManualClock, View
from worlddb.log.beliefs import atoms

START = worlddb.parse_time("2026-01-01")
DAY = 86_400_000_000


class Stage(NamedTuple):
    db: Database
    clock: ManualClock

    def tick(self, by: int = 1_000_000) -> View:
        self.clock.advance(by)
        return self.db.view()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    clock = ManualClock(START)
    with worlddb.open(tmp_path / "store", author="ada", clock=clock, embedder=None) as db:
        yield Stage(db, clock)


def said(view: View, ref: str) -> set[tuple[str, str]]:
    return {(atom.predicate, atom.value) for atom in view.belief_base() if atom.item == ref}


# -- atoms


def test_a_version_is_taken_apart_into_atoms(stage: Stage) -> None:
    properties = {
        "topic": ["a", " b ", "a"],
        "port": 8080,
        "open": True,
        "at": {"y": 1, "x": 2},
        "title": "not the name",
        "none": None,
        "blank": " ",
    }
    ref = stage.db.create("Fact", " cafe\u0301 ", content="tea\n", properties=properties).ref
    assert said(stage.tick(), ref) == {
        *(("type", "Fact"), ("title", "caf\u00e9"), ("summary", "tea"), ("topic", "a"), ("topic", "b")),
        *(("port", "8080"), ("open", "true"), ("at", '{"x":2,"y":1}'), ("property.title", "not the name")),
    }
    assert {atoms.predicate_of(atoms.property_of(name)) for name in ("topic", "property.title")} == {
        *("topic", "property.title")
    }


def test_what_is_believed_is_kept_letter_for_letter_and_compared_without_that(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Fact", "api", content=" runs ", properties={"port": 8080, "topic": "a"}).ref
    stage.tick()
    assert db.believe(ref, {"summary": "runs", "port": "8080", "topic": ["a"]}).events == 0
    db.believe(ref, {"topic": ["b", "c"], "note": ["one"]})
    world = stage.tick().get(ref)
    assert world is not None and world.content == " runs "
    assert world.properties == {"port": 8080, "topic": ["a", "b", "c"], "note": ["one"]}
    db.contract([(ref, "topic", "a"), (ref, "port", "8080")], each=True)
    world = stage.tick().get(ref)
    assert world is not None and world.properties == {"topic": ["b", "c"], "note": ["one"]}


def test_a_predicate_takes_one_value_where_that_was_set(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Task", "paint", properties={"state": "open"}).ref
    before = db.head().seq
    stage.tick()
    db.believe(ref, {"state": "done"})
    assert ("state", "open") in said(stage.tick(), ref)
    db.set_beliefs(single=["state"])
    stage.tick()
    db.believe(ref, {"state": "late"})
    assert {value for name, value in said(stage.tick(), ref) if name == "state"} == {"late"}
    assert db.believe(ref, {"state": ["a", "b"]}).outcome.code == "inconsistent"
    assert db.view().belief_settings().single == ("confidence", "importance", "state", "summary", "title", "type")
    assert "state" not in db.view(seq=before).belief_settings().single
    db.set_beliefs(many=["state"])
    stage.tick()
    db.believe(ref, {"state": ["a", "b"]})
    assert {value for name, value in said(stage.tick(), ref) if name == "state"} == {"late", "a", "b"}


@pytest.mark.parametrize("name", ["confidence", "importance"])
def test_a_property_that_is_read_as_one_number_is_replaced_and_not_doubled(stage: Stage, name: str) -> None:
    """A lowered confidence became a list of two, which no filter, entrenchment or decay reads."""
    db = stage.db
    ref = db.create("Belief", "", content="Spindles cause it.", properties={name: 0.7}).ref
    stage.tick()
    db.believe(ref, {name: 0.4}, why="a replication failed")
    world = stage.tick().get(ref)
    assert world is not None and world.properties == {name: 0.4} and world.content == "Spindles cause it."
    assert db.view().find(properties={name: {"$lt": 0.5}}) == [world]
    assert db.expand(ref, {name: 0.9}).outcome.code == "conflicts"


@pytest.mark.parametrize("how", ["believe", "expand", "batch"])
@pytest.mark.parametrize(
    ("beliefs", "told"),
    [
        ({"confidence": 1.7}, "confidence is 1.7"),
        ({"confidence": -0.1}, "from 0 to 1"),
        ({"confidence": "high"}, "confidence is 'high'"),
        ({"confidence": True}, "confidence is True"),
        ({"summary": "x", "importance": 5}, "importance is 5"),
        ({"Confidence": 0.7}, "confidence is"),
        ({"confidense": 0.7}, "Give confidence"),
        ({"content": "x"}, "Give summary"),
        ({"name": "x"}, "Give title"),
        ({"text": "x"}, "Give summary"),
        ({"kind": "Fact"}, "Give type"),
        ({"Title": "x"}, "Give title"),
    ],
)
def test_a_belief_that_would_be_a_property_that_nothing_reads_is_refused(
    stage: Stage, how: str, beliefs: dict[str, Any], told: str
) -> None:
    """Each was written as a free property, beside the belief that it was to replace."""
    db = stage.db
    ref, head = db.create("Belief", "", content="Spindles cause it.").ref, db.head()
    with pytest.raises(worlddb.InputError) as raised:
        if how == "batch":
            with db.batch() as tx:
                tx.believe(ref, beliefs)
        else:
            getattr(db, how)(ref, beliefs)
    assert told in str(raised.value) and db.head().seq == head.seq


def test_artifacts_are_no_beliefs_and_stay(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Fact", "runs", content="fast").ref
    db.attach(ref, worlddb.Artifact(name="runs.csv", location="s3://bucket/runs.csv"))
    stage.tick()
    for change in (
        lambda: db.believe(ref, {"summary": "slow"}, whole=True),
        lambda: db.contract((ref, "summary", "slow")),
    ):
        change()
        view = stage.tick()
        assert [each.name for each in view.artifacts(ref)] == ["runs.csv"]
        assert not any(name == "artifacts" for name, _ in said(view, ref))
    with pytest.raises(worlddb.InputError, match="not beliefs"):
        db.believe(ref, {"artifacts": "x"})


BAD: dict[str, tuple[Any, type[Exception]]] = {
    "nothing": ({}, worlddb.InputError),
    "an empty text": ({"summary": " "}, worlddb.InvalidText),
    "none": ({"topic": None}, worlddb.InvalidText),
    "an empty list": ({"topic": []}, worlddb.InvalidText),
    "a number as summary": ({"summary": 7}, worlddb.InvalidText),
    "a type that says nothing": ({"type": "Untyped"}, worlddb.InputError),
    "a nul": ({"topic": "a\0b"}, worlddb.InvalidText),
    "no pairs": (["summary"], worlddb.InputError),
    "a number": (7, worlddb.InputError),
    "a set as value": ({"topic": {"a"}}, worlddb.InputError),
    "an origin": ({"imported": "x"}, worlddb.InputError),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_believed_is_an_error_and_writes_nothing(stage: Stage, what: str) -> None:
    given, kind = BAD[what]
    ref, head = stage.db.create("Fact", "one").ref, stage.db.head().seq
    with pytest.raises(kind):
        stage.db.believe(ref, given)
    assert stage.db.head().seq == head


@pytest.mark.parametrize("given", [[], "summary", ("one", "two"), [("a", 1, "b")], 7, [("nowhere", "summary", "x")]])
def test_an_impossible_contraction_is_an_error(stage: Stage, given: Any) -> None:
    for ask in (stage.db.contract, stage.db.view().contraction, stage.db.view().entrenchment):
        with pytest.raises(worlddb.InputError):
            ask(given)


# -- time


def test_believing_speaks_of_its_own_time_and_contracting_of_all_of_the_versions(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Fact", "colour", content="blue", valid_from="2026-02-05").ref
    db.believe(ref, {"summary": "black"}, valid_from="2026-02-07", valid_to="2026-02-09")
    days = ("2026-02-06", "2026-02-08", "2026-02-10")

    def told(seq: int | None = None) -> list[str]:
        return [getattr(db.view(valid=day, seq=seq).get(ref), "content", "-") for day in days]

    head = db.head().seq
    assert told() == ["blue", "black", "blue"]
    plan = db.view(valid="2026-02-10").contraction((ref, "summary", "blue"))
    (change,) = plan.changes
    assert [span[1] for span in change.spans] == [worlddb.parse_time("2026-02-07"), FOREVER]
    assert db.contract((ref, "summary", "blue"), at="2026-02-10")
    assert told() == ["", "black", ""] and told(head) == ["blue", "black", "blue"]
    # What is said later stops where it would have: the starts are stated as they were.
    db.revise(ref, content="green", valid_from="2026-02-01")
    assert getattr(db.view(valid="2026-02-03").get(ref), "content", "") == "green" and told() == ["", "black", ""]


def test_what_holds_nothing_says_nothing_but_what_is_believed_of_it(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Fact", "colour", content="blue", key="colour").ref
    stage.tick()
    db.retire(ref)
    stage.tick()
    db.believe(ref, {"summary": "black"})
    assert said(stage.tick(), ref) == {("summary", "black")}
    assert getattr(db.view().get(ref), "type", "") == atoms.UNTYPED and db.view().keyed("colour") is not None
    db.believe(ref, {"type": "Fact", "title": "colour"})
    assert said(stage.tick(), ref) == {("type", "Fact"), ("title", "colour"), ("summary", "black")}


def test_what_began_when_it_was_written_keeps_what_it_says_when_it_is_believed_from_before(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Fact", "colour", content="blue", properties={"topic": "paint"}).ref
    stage.tick()
    db.believe(ref, {"summary": "navy"})
    stage.tick()
    assert db.expand(ref, {"summary": "grey"}, valid_from="2025-10-01").outcome.code == "conflicts"
    assert db.believe(ref, {"topic": "walls"}, valid_from="2025-10-01")
    for day in ("2025-10-02", "2026-02-01"):
        base = {("type", "Fact"), ("title", "colour"), ("summary", "navy"), ("topic", "paint"), ("topic", "walls")}
        assert said(db.view(valid=day), ref) == base
    # A beginning that was stated stays, and nothing was believed before it.
    db.believe(ref, {"summary": "white"}, valid_from="2025-09-01")
    assert said(db.view(valid="2025-09-02"), ref) == {("summary", "white")}
    assert said(db.view(valid="2025-10-02"), ref) == base


# -- tags


def test_a_tag_that_bears_beliefs_moves_with_them_and_a_historic_one_does_not(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Plan", "release", content="Friday", properties={"topic": "ops"}).ref
    for tag in ("published", "initial"):
        db.tag(ref, tag)
    db.set_beliefs(tags=["Published"])
    stage.tick()
    db.believe(ref, {"topic": "web"})
    world = stage.tick().get(ref)
    assert world is not None and world.tags == {"published": 1, "initial": 1}
    db.believe(ref, {"summary": "Monday"})
    view = stage.tick()
    published = view.get(ref, tag="published")
    assert published is not None and published.content == "Monday" and published.properties == {"topic": "ops"}
    assert published.closed and view.get(ref, tag="initial").content == "Friday"  # type: ignore[union-attr]
    # Both versions say so, and both lose it; the tag's own holds at no time.
    plan = view.contraction((ref, "summary", "Monday"))
    assert [(change.tags, len(change.spans)) for change in plan.changes] == [(("current",), 1), (("published",), 0)]
    db.contract(plan)
    view = stage.tick()
    assert said(view, ref) == {("type", "Plan"), ("title", "release"), ("topic", "ops"), ("topic", "web")}
    db.contract((ref, "topic", "ops"), whole=True)
    view = stage.tick()
    assert said(view, ref) == set() and view.get(ref, tag="published") is None
    db.set_beliefs(plain_tags=["published"])
    assert db.view().belief_settings().tags == ("current",)
    with pytest.raises(worlddb.InputError, match="always bears"):
        db.set_beliefs(tags=["current"])


def test_the_surface_is_without_what_reads_leave_out(stage: Stage) -> None:
    db = stage.db
    kept, old, late = (db.create("Fact", name).ref for name in ("kept", "old", "late"))
    db.deprecate(old)
    db.expire(late, expires_at="2026-01-02")
    view = stage.tick(2 * DAY)
    assert {atom.item for atom in view.belief_base()} == {kept, old, late}
    assert {atom.item for atom in view.retrieval_surface()} == {kept}


# -- plans, and taking back


def test_a_plan_is_refused_once_anything_would_come_out_otherwise(stage: Stage) -> None:
    db = stage.db
    one, other = (db.create("Fact", name, content="said").ref for name in ("one", "other"))
    view = stage.tick()
    both = [(one, "summary", "said"), (other, "summary", "said")]
    plan = view.contraction(both)
    assert [atom.item for atom in plan.goes] == [one] and str(plan).startswith(
        "1 of 2 atoms are dropped, from 1 versions"
    )
    # What has nothing to do with it may change, and what decides may not.
    db.create("Fact", "third")
    db.link(db.create("Note", "rests"), "derived_from", one, valid_from="2026-01-01")
    assert db.contract(plan).outcome.code == "changed_meanwhile"
    plan = stage.tick().contraction(both)
    assert [atom.item for atom in plan.goes] == [other]
    db.revise(other, content="said", properties={"topic": "new"}, valid_from="2026-01-01")
    stage.tick()
    head, base = db.head().seq, db.view().belief_base()
    assert db.contract(plan).outcome.code == "changed_meanwhile"
    assert db.head().seq == head and db.view().belief_base() == base
    plan = db.view().contraction(both)
    db.create("Fact", "fourth")
    assert db.contract(plan)
    assert base - stage.tick().belief_base() == set(plan.goes)


def test_a_plan_says_what_rests_on_it_and_names_no_text_that_stays_in_the_log(stage: Stage) -> None:
    db = stage.db
    base, mid, top = (db.create("Fact", name, content=f"{name} says").ref for name in ("base", "mid", "top"))
    db.link(mid, "derived_from", base)
    db.link(top, "derived_from", mid)
    plan = stage.tick().contraction((base, "summary", "base says"))
    assert [(each.ref, each.depth) for each in plan.rests_on] == [(mid, 1), (top, 2)] and plan.receipts == ()
    db.contract(plan, why="a slip")
    assert {each.ref for each in stage.tick().stale()} == {mid, top}


def test_a_batch_takes_beliefs_together_and_a_compound_for_itself(stage: Stage) -> None:
    db = stage.db
    refs = [db.create("Fact", f"f{at}", content=f"c{at}").ref for at in range(4)]
    stage.tick()
    claims = [(ref, "summary", f"c{at}") for at, ref in enumerate(refs)]
    with db.batch() as tx:
        tx.contract(claims[:2])
        tx.contract(claims[2:])
        tx.believe(tx.create("Fact", "new"), {"summary": "made here"})
    gone = [claim[0] for claim in claims if claim not in stage.tick().belief_base()]
    assert gone == [refs[0], refs[2]] and tx.receipt.events > 4
    assert "made here" in {atom.value for atom in db.view().belief_base()}


def test_only_changes_of_beliefs_and_marks_are_taken_back(stage: Stage) -> None:
    db = stage.db
    made = db.create("Fact", "one", content="a", properties={"topic": "t"})
    linked = db.link(made, "refers_to", db.create("Fact", "two"))
    stage.tick()
    preferred = db.prefer(made, "prefers", "two")
    for receipt in (made, linked, preferred, db.head().seq):
        assert db.undo(receipt).outcome.code == "not_taken_back"
    with pytest.raises(worlddb.InputError):
        db.undo(10_000)
    with pytest.raises(worlddb.UnknownReference):
        db.undo(linked.ref)
    base = db.view().belief_base()
    for change in (
        lambda: db.revise(made, content="b", properties={"topic": "u"}),
        lambda: db.retire(made),
        lambda: db.retire(made, valid_from="2026-01-01", valid_to="2026-06-01"),
        lambda: db.tag(made, "published"),
        lambda: db.deprecate(made),
        lambda: db.pin(made),
        lambda: db.contract((made, "topic", "t"), whole=True),
        lambda: db.believe(made, {"summary": "c"}, valid_to="2026-07-01"),
    ):
        marks = db.view().get(made)
        receipt = change()
        stage.tick()
        undone = db.undo(receipt, why="a slip")
        assert undone and undone.events, undone
        view = stage.tick()
        now = view.get(made)
        assert view.belief_base() == base and now is not None and marks is not None
        assert (now.tags, now.pinned, now.properties) == (marks.tags, marks.pinned, marks.properties)
        if receipt.lost:
            assert view.history(made)[-1].source == {"restores": 1} or view.history(made)[-1].source["restores"] > 1
        # Taking it back is a change like any other.
        again = db.undo(undone.seq)
        assert again or again.outcome.code == "changed_since"
        stage.tick()
        if again:
            db.undo(again.seq)
            stage.tick()
    receipt = db.believe(made, {"summary": "d"})
    stage.tick()
    db.believe(made, {"summary": "e"})
    assert db.undo(receipt).outcome.code == "changed_since"


def test_a_rollback_says_what_it_restores_and_opens_nothing(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Decision", "api", content="REST", properties={"topic": "v1"}).ref
    for content in ("REST + WebSocket", "gRPC"):
        stage.tick()
        db.believe(ref, {"summary": content})
    stage.tick()
    assert db.rollback(ref, 3).events == 0
    receipt = db.rollback(ref, 1, why="the benchmarks were wrong")
    assert [(loss.version, loss.valid_to) for loss in receipt.lost] == [(3, FOREVER)]
    version = stage.tick().history(ref)[-1]
    assert (version.content, version.properties, version.source, version.why) == (
        *("REST", {"topic": "v1"}, {"restores": 1}, "the benchmarks were wrong"),
    )
    assert [each.valid.end for each in db.view().history(ref)][:3].count(FOREVER) == 0
    with pytest.raises(worlddb.UnknownReference):
        db.rollback(ref, 9)


def test_what_is_brought_back_is_still_said_by_whoever_said_it(stage: Stage) -> None:
    db, mallory = stage.db, stage.db.as_author("mallory")
    code = mallory.create("Fact", "code", content="1234", source={"mail": "7"}, properties={"mood": "sure"}).ref
    db.trust("low", author="mallory")

    def looked_at() -> tuple[str | None, list[str], list[str], int, int]:
        view = stage.tick()
        now = view.get(code)
        assert now is not None
        return (
            now.trust,
            [hit.ref for hit in view.recall("1234", author="mallory")],
            [hit.ref for hit in view.recall("1234", source={"mail": "7"}, min_trust="fair")],
            len(view.withdrawal(author="mallory").changes),
            len(view.withdrawal(source={"mail": "7"}).changes),
        )

    before = looked_at()
    assert before == ("low", [code], [], 1, 1)
    for _ in range(2):
        done = db.withdraw(db.view().withdrawal(author="mallory"), why="incident 7")
        stage.tick()
        assert db.undo(done) and looked_at() == before
    done = db.contract((code, "mood", "sure"))
    assert done.events and looked_at() == before
    assert db.undo(done) and looked_at() == before
    db.believe(code, {"summary": "4321"})
    assert stage.tick().get(code).trust is None  # type: ignore[union-attr]
    assert db.rollback(code, 1) and looked_at() == before
    assert stage.tick().history(code)[-1].source == {"mail": "7", "restores": 1}


def test_a_new_name_or_artifact_makes_nothing_more_trusted(stage: Stage) -> None:
    db, mallory = stage.db, stage.db.as_author("mallory")
    code = mallory.create("Fact", "code", content="1234", source={"mail": "7"}).ref
    db.trust("low", author="mallory")
    pdf = worlddb.Artifact(name="code.pdf", location="s3://bucket/code.pdf")

    def looked_at() -> tuple[Any, ...]:
        view = stage.tick()
        now = view.get(code)
        assert now is not None
        plans = view.withdrawal(author="mallory"), view.withdrawal(source={"mail": "7"})
        return now.trust, [hit.ref for hit in view.recall("1234", min_trust="fair")], *(len(p.changes) for p in plans)

    before = looked_at()
    assert before == ("low", [], 1, 1)
    for change in (
        lambda: db.rename(code, "the code"),
        lambda: db.attach(code, pdf),
        lambda: db.detach(code, "code.pdf"),
        lambda: db.rollback(code, 2),
    ):
        assert change().events and looked_at() == before
    with db.batch() as tx:
        tx.rename(code, "code of the vault")
        tx.attach(code, pdf)
    assert looked_at() == before and stage.tick().history(code)[-1].source == {"mail": "7", "leaves": 5}
    with db.batch() as tx:
        tx.revise(code, content="4321")
        tx.attach(code, worlddb.Artifact(name="own.pdf", location="s3://bucket/own.pdf"))
    assert looked_at()[0] is None and stage.tick().history(code)[-1].source == {}


def test_a_source_that_claims_to_repeat_a_version_makes_nothing_more_trusted(stage: Stage) -> None:
    db, mallory = stage.db, stage.db.as_author("mallory")
    code = db.create("Fact", "code", content="1234").ref
    db.trust("low", author="mallory")
    stage.tick()
    mallory.revise(code, content="4321", source={"restores": 1})
    for wrong in (2, 9, -1, True, "1", [1]):
        stage.tick()
        mallory.revise(code, content="4321", source={"leaves": wrong})
    now = stage.tick().get(code)
    assert now is not None and now.trust == "low" and db.verify(deep=True).ok


def test_what_others_restated_stays_when_its_source_is_withdrawn_once_more(stage: Stage) -> None:
    db, eve = stage.db, stage.db.as_author("eve")
    fact = db.create("Fact", "remote", content="Fridays", source={"file": "handbook"}).ref
    eve.restate(fact, source={"mail": "1"})
    other = db.create("Fact", "vacation", content="30 days", source={"file": "handbook"}).ref
    stage.tick()
    db.undo(db.withdraw(db.view().withdrawal(author=["ada", "eve"]), why="all of it"))
    plan = stage.tick().withdrawal(source={"file": "handbook"})
    assert {each.ref for each in plan.changes} == {other}
    assert {(each.ref, each.said_again_by) for each in plan.kept} == {(fact, ("eve",))}


# -- the log


SECRET = "the launch is on 4 July"


def test_an_erasure_reaches_beliefs_contractions_and_reasons(stage: Stage) -> None:
    db = stage.db
    one, other = (db.create("Fact", name, content=SECRET).ref for name in ("one", "other"))
    stage.tick()
    db.believe(one, {"topic": f"{SECRET} as topic"}, why=f"{SECRET} as reason")
    stage.tick()
    plan = db.view().contraction([(one, "summary", SECRET), (other, "summary", SECRET)])
    receipt = db.contract(plan, why=f"{SECRET} again")
    stage.tick()
    db.undo(receipt, why=f"{SECRET} after all")
    stage.tick()
    db.erase([one, other], reason="request 7")
    db.close()
    files = [path for path in Path(db.path).rglob("*") if path.is_file()]
    assert files and not any(b"launch" in path.read_bytes() for path in files)
    with worlddb.open(db.path, author="ada", clock=stage.clock, embedder=None) as again:
        assert not any("launch" in atom.value for atom in again.view().belief_base())
        assert again.verify(deep=True).ok
        assert again.believe(one, {"summary": "x"}).outcome.code == "erased"


@pytest.mark.parametrize("taken_off", [False, True])
def test_a_tag_whose_item_was_erased_since_is_not_taken_back(stage: Stage, taken_off: bool) -> None:
    db = stage.db
    one = db.create("Fact", "one", content="said").ref
    done = db.tag(one, "final")
    if taken_off:
        done = db.untag(one, "final")
    db.erase(one, reason="request 7")
    assert refusal(db.undo(done)) == "erased"
    assert db.verify(deep=True).ok


def test_a_forbidden_text_does_not_come_back_by_belief_or_rollback(stage: Stage) -> None:
    db = stage.db
    gone = db.create("Fact", "gone", content=SECRET).ref
    ref = db.create("Fact", "kept", content=SECRET).ref
    stage.tick()
    db.believe(ref, {"summary": "otherwise"})
    stage.tick()
    db.erase(gone, reason="request 8", forbid=True)
    stage.tick()
    assert db.believe(ref, {"summary": SECRET}).outcome.code == "forbidden_text"
    assert db.rollback(ref, 1).outcome.code == "forbidden_text"


def test_a_store_that_sets_and_believes_nothing_has_the_same_bytes(stage: Stage) -> None:
    """Settings are read from marks: without any there is nothing that a read could tell apart."""
    db = stage.db
    ref = db.create("Fact", "one", content="a").ref
    assert db.view().belief_settings() == worlddb.BeliefSettings(
        tags=("current",),
        single=("confidence", "importance", "summary", "title", "type"),
        entrenchment={"fact": "support", "inferred": "confidence", "preference": "recency"},
    )
    root = db.head().root
    stage.tick()
    db.set_beliefs(tags=["published"])
    assert db.head().root == root
    db.revise(ref, content="b")
    db.rebuild()
    assert db.view().belief_settings().tags == ("current", "published")


def test_a_retry_under_its_key_has_one_effect(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Fact", "one", content="a").ref
    for call in (
        lambda key: db.believe(ref, {"summary": "b", "topic": "t"}, idempotency_key=key),
        lambda key: db.contract((ref, "topic", "t"), idempotency_key=key),
        lambda key: db.rollback(ref, 1, idempotency_key=key),
        lambda key: db.set_beliefs(tags=["x"], idempotency_key=key),
    ):
        stage.tick()
        key = str(random.random())
        first = call(key)
        stage.tick()
        assert first.events and call(key) == first
        with pytest.raises(worlddb.IdempotencyConflict):
            db.believe(ref, {"summary": "another"}, idempotency_key=key)


# -- identities, and stores that cannot be written to


def test_what_is_said_of_one_of_two_that_are_the_same_leaves_the_other_alone_and_survives_undoing_it(
    stage: Stage,
) -> None:
    db = stage.db
    ana, anna = (db.create("Person", name, content=f"{name} likes tea").ref for name in ("Ana", "Anna"))
    rests = db.create("Fact", "rests", content="tea for Anna").ref
    db.link(rests, "derived_from", anna)
    pair = db.accept(db.link(ana, "same_as", anna)).ref
    stage.tick()
    other = said(db.view(), anna)
    for change in (
        lambda: db.believe(ana, {"summary": "Ana likes milk"}),
        lambda: db.contract((ana, "summary", "Ana likes milk")),
        lambda: db.tag(ana, "published"),
        lambda: db.pin(ana),
        lambda: db.deprecate(ana),
    ):
        done = change()
        assert done.events and said(stage.tick(), anna) == other
        assert not db.view().get(anna).deprecated and not db.view().get(anna).tags  # type: ignore[union-attr]
    base = said(db.view(), ana)
    assert db.undo(done) and said(stage.tick(), ana) == base
    assert db.undo(pair) and (said(stage.tick(), ana), said(stage.tick(), anna)) == (base, other)
    plan = db.view().withdrawal(anna)
    assert [each.ref for each in plan.changes] == [anna] and [each.ref for each in plan.rests_on_it] == [rests]
    withdrawn = db.withdraw(plan)
    assert db.undo(withdrawn) and said(stage.tick(), anna) == other and db.verify(deep=True).ok


def test_a_store_that_cannot_be_written_to_is_read_and_planned_in_and_nothing_else(
    stage: Stage, tmp_path: Path
) -> None:
    db, pdf = stage.db, worlddb.Artifact(name="a.pdf", location="s3://b/a.pdf")
    ref = db.create("Fact", "colour", content="blue", properties={"topic": "paint"}).ref
    db.tag(ref, "published")
    stage.tick()
    db.revise(ref, content="navy")
    seq = db.head().seq
    db.backup(tmp_path / "copy")
    with worlddb.open(tmp_path / "copy", embedder=None) as copy:
        view = copy.view(valid=db.view().valid)
        assert view.belief_base() == db.view().belief_base()
        contraction, withdrawal = view.contraction((ref, "topic", "paint")), view.withdrawal(author="ada")
        assert contraction.changes and withdrawal.changes and view.entrenchment((ref, "topic", "paint"))
        calls: tuple[Any, ...] = (
            lambda: copy.believe(ref, {"summary": "grey"}),
            lambda: copy.expand(ref, {"topic": "walls"}),
            lambda: copy.contract(contraction),
            lambda: copy.withdraw(withdrawal),
            lambda: copy.rollback(ref, 1),
            lambda: copy.undo(seq),
            lambda: copy.tag(ref, "decided"),
            lambda: copy.untag(ref, "published"),
            lambda: copy.deprecate(ref),
            lambda: copy.set_beliefs(single=["topic"]),
            lambda: copy.define_relation("works_at"),
            lambda: copy.prefer(ref, "prefers", ref),
            lambda: copy.set_profile(ref, "arbiter"),
            lambda: copy.attach(ref, pdf),
            lambda: copy.rename(ref, "other"),
            lambda: copy.create_at("kref://a/b/c.fact", content="x"),
        )
        for call in calls:
            with pytest.raises(worlddb.ReadOnlyBackup):
                call()
        assert copy.head() == db.head() and copy.verify(deep=True).ok


def test_what_is_believed_of_what_holds_nothing_is_said_alone_and_told(stage: Stage) -> None:
    db = stage.db
    ref = db.create("Fact", "colour", content="blue", valid_from="2025-12-01").ref

    def codes(receipt: Any) -> list[str]:
        return [note.code for note in receipt.notes]

    assert codes(db.believe(ref, {"summary": "red"})) == []
    assert codes(db.believe(ref, {"summary": "green"}, valid_from="2025-11-01")) == ["said_alone"]
    assert said(db.view(valid="2025-11-15"), ref) == {("summary", "green")}
    stage.tick()
    db.retire(ref)
    stage.tick()
    assert codes(db.believe(ref, {"summary": "grey", "type": "Fact", "title": "colour"})) == []
    stage.tick()
    db.retire(ref)
    stage.tick()
    assert codes(db.rollback(ref, 1)) == [] and len(said(stage.tick(), ref)) == 3
    begun = db.create("Fact", "hue", content="blue").ref
    assert codes(db.believe(begun, {"summary": "red"}, valid_from="2025-01-01")) == [], "its start was not stated"
