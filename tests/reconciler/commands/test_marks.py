"""Marks of worlds: deadlines, labels and pins. They hide and order, and change nothing that is true."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, ManualClock, View
from worlddb.projections.tables.storage import transaction

NOON = worlddb.parse_time("2025-06-01T12:00:00Z")
HOUR = 3_600 * 1_000_000
SAID = "The gate code is 4711."


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="ada", clock=clock, embedder=None) as opened:
        yield opened


def contents(found: Any) -> list[str]:
    return [each.content for each in found]


def is_seen(view: View, ref: str, world: Any) -> list[bool]:
    """Whether each way of reading finds a memory."""
    return [
        view.get(ref) is not None,
        ref in [each.ref for each in view.find(type="Fact")],
        ref in [each.ref for each in view.find(type="Fact", world=world)],
        ref in [each.ref for each in view.children(world)],
        ref in [each.ref for each in view.recall("gate code").hits],
        ref in [each.ref for each in view.recall("gate code", world=world, exact=True).hits],
        ref in [each.ref for each in view.query(seeds=[world]).traverse("contains").run().nodes],
        ref in [each.ref for each in view.confined(world).recall("gate code").hits],
        ref in [each.ref for each in view.confined(world).find()],
    ]


def test_a_deadline_hides_from_every_read_and_makes_nothing_untrue(db: Database, clock: ManualClock) -> None:
    topic = db.create("Topic", "house")
    fact = db.create("Fact", "", content=SAID, world=topic, expires_at="2025-06-01T13:00:00Z")
    other = db.create("Fact", "", content="The gate code of the garden is 12.", world=topic)
    before = db.view()
    assert all(is_seen(before, fact.ref, topic.ref))
    assert before.get(fact).expires_at == NOON + HOUR  # type: ignore[union-attr]
    clock.advance(HOUR)
    after = db.view()
    assert not any(is_seen(after, fact.ref, topic.ref))
    assert all(is_seen(after, other.ref, topic.ref))
    # Whoever asks finds it, valid as it was; so does a view of a time before the deadline, and one pinned before.
    assert all(is_seen(after.revealing(), fact.ref, topic.ref))
    shown = after.get(fact, include_expired=True)
    assert shown is not None and not shown.closed and shown.content == SAID
    assert fact.ref in [each.ref for each in after.recall("gate code", include_expired=True).hits]
    assert fact.ref in [each.ref for each in after.find(type="Fact", include_expired=True)]
    assert fact.ref in [each.ref for each in after.children(topic, include_expired=True)]
    assert [each.ref for each in after.expired()] == [fact.ref] == [each.ref for each in after.expired(topic)]
    assert all(is_seen(before, fact.ref, topic.ref))
    assert all(is_seen(db.view(valid=NOON + HOUR - 1), fact.ref, topic.ref))
    assert not any(is_seen(db.view(valid=NOON + HOUR), fact.ref, topic.ref))
    # By its id it is there for whoever asks what holds no more, and its history is whole.
    assert after.get(fact, include_superseded=True) is not None and len(after.history(fact)) == 1


def test_a_recall_finds_as_many_as_are_asked_for_beside_what_is_hidden(db: Database, clock: ManualClock) -> None:
    with db.batch() as tx:
        for number in range(300):
            tx.create("Fact", "", content=f"gate code {number}", ttl=60)
        kept = [tx.create("Fact", "", content=f"a longer note that has the gate code {number}") for number in range(5)]
    clock.advance(HOUR)
    found = {hit.ref for hit in db.view().recall("gate code", k=5).hits}
    assert found == {tx.receipt.refs[each.position] for each in kept}


def test_a_period_has_what_is_shown_in_it(db: Database) -> None:
    fact = db.create("Fact", "", content=SAID, valid_from="2025-01-01", expires_at="2025-09-01")
    view = db.view()
    assert view.get(fact, during=("2025-02-01", "2025-09-01")) is not None
    assert view.get(fact, during=("2025-02-01", "2025-10-01")) is None
    assert view.get(fact, overlaps=("2025-08-01", "2025-10-01")) is not None
    assert view.get(fact, overlaps=("2025-09-01", "2025-10-01")) is None
    assert contents(view.find(type="Fact", overlaps=("2025-09-01", "2025-10-01"))) == []
    hits = [view.recall("gate", during=("2025-02-01", end)).hits for end in ("2025-09-01", "2025-10-01")]
    assert [len(found) for found in hits] == [1, 0]


def test_a_time_to_live_is_refreshed_and_a_fixed_deadline_is_not(db: Database, clock: ManualClock) -> None:
    lasting = db.create("Fact", "", content="one", ttl=timedelta(hours=2))
    fixed = db.create("Fact", "", content="two", expires_at=NOON + 2 * HOUR)
    none = db.create("Fact", "", content="three")
    clock.advance(HOUR)
    receipt = db.refresh([lasting, fixed, none])
    assert receipt.events == 1
    deadlines = [world.expires_at for world in db.view().find(type="Fact")]
    assert deadlines == [receipt.ingest_time + 2 * HOUR, NOON + 2 * HOUR, None]
    clock.advance(4 * HOUR)
    # What is hidden is not brought back by being read.
    assert not db.refresh(lasting).events and db.view().get(lasting) is None
    again = db.expire(lasting, ttl=60.0)
    assert db.view().get(lasting).expires_at == again.ingest_time + 60_000_000  # type: ignore[union-attr]
    assert db.unexpire(lasting, why="worth keeping").events == 1 and not db.unexpire(lasting).events
    assert db.view().get(lasting).expires_at is None  # type: ignore[union-attr]
    kinds = [(mark.kind, mark.ttl, mark.why) for mark in db.view().marks(lasting)]
    assert kinds == [
        ("expires", 7200.0, ""),
        ("expires", 7200.0, ""),
        ("expires", 60.0, ""),
        ("unexpires", None, "worth keeping"),
    ]
    assert [mark.expires_at for mark in db.view(seq=lasting.seq).marks(lasting)] == [lasting.ingest_time + 2 * HOUR]
    journal = [entry.event for entry in db.log(ref=lasting)]
    assert journal.count("expires") == 4


def test_a_refresh_counts_from_when_a_memory_was_used_and_only_forwards(db: Database, clock: ManualClock) -> None:
    fact = db.create("Fact", "", content="one", ttl=3_600)
    clock.advance(HOUR // 2)
    used = clock.now()
    clock.advance(HOUR)
    assert not db.refresh(fact).events, "it is hidden by now"
    assert db.refresh(fact, at=used).events == 1 and db.view().get(fact) is None
    assert db.view().get(fact, include_expired=True).expires_at == used + HOUR  # type: ignore[union-attr]
    assert not db.refresh(fact, at=used - 60).events, "what was known later counts"


def test_what_was_read_is_refreshed_together_and_before_it_would_be_hidden(db: Database, clock: ManualClock) -> None:
    facts = [db.create("Fact", "", content=f"fact {number}", ttl=3_600) for number in range(3)]
    fixed = db.create("Fact", "", content="fixed", expires_at=NOON + HOUR)
    head = db.head().seq
    clock.advance(HOUR // 2)
    db.refreshed(*facts[:2], fixed)
    db.refreshed(db.view().get(facts[0]))
    assert db.head().seq == head and db.write_accesses() is None
    clock.advance(HOUR // 4)
    assert len(db.view().find(type="Fact")) == 4 and db.head().seq == head, "nobody needs it yet"
    clock.advance(HOUR // 2)
    assert len(db.view().find(type="Fact")) == 2 and db.head().seq == head + 1, (
        "the third was not read, nor moves the fixed"
    )
    assert [each.event for each in db.log(head + 1, head + 1)] == ["expires"] * 2
    assert db.write_refreshes() is None
    with pytest.raises(worlddb.UnknownReference):
        db.refreshed("0bad0bad")
    assert db.verify(deep=True).ok


def test_what_was_read_is_written_at_the_close_at_many_and_not_lost_where_the_lock_is_held(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with worlddb.open(tmp_path / "many", clock=clock, embedder=None) as db:
        with db.batch() as tx:
            for _ in range(260):
                tx.create("Fact", "", content="one", ttl=3_600, resolve=False)
        head, facts = db.head().seq, db.view().find(type="Fact")
        clock.advance(HOUR // 2)
        db.refreshed(*facts[:255])
        assert db.head().seq == head
        db.refreshed(facts[255])
        assert db.head().seq == head + 1
        db.refreshed(facts[256])
        with monkeypatch.context() as patch:
            patch.setattr(db, "_execute", _busy)
            with pytest.raises(worlddb.WriterBusy):
                db.write_refreshes()
            clock.advance(3 * HOUR // 4)
            assert len(db.view().find(type="Fact")) == 256, "whoever cannot write sees what is written"
    with worlddb.open(tmp_path / "many", clock=clock, embedder=None) as db:
        assert len(db.view().find(type="Fact")) == 257


def test_what_was_read_through_one_author_s_handle_is_kept_by_the_others_too(
    tmp_path: Path, clock: ManualClock
) -> None:
    with worlddb.open(tmp_path / "signed", clock=clock, embedder=None) as db:
        facts = [db.create("Fact", "", content=f"fact {number}", ttl=3_600) for number in range(3)]
        ana = db.as_author("ana")
        clock.advance(HOUR // 2)
        db.refreshed(facts[0])
        assert ana.write_refreshes() is not None and db.write_refreshes() is None
        ana.refreshed(facts[1])
        clock.advance(3 * HOUR // 4)
        assert {each.content for each in db.view().find(type="Fact")} == {"fact 0", "fact 1"}
        db.refreshed(facts[0])
        assert ana.last_written == db.last_written
    with worlddb.open(tmp_path / "signed", clock=clock, embedder=None) as db:
        assert [db.view().get(fact) is None for fact in facts] == [False, False, True]
        clock.advance(HOUR // 2)
        assert db.view().get(facts[0]) is not None, "the last use was written at the close"


def _busy(*_: object) -> None:
    raise worlddb.WriterBusy("Another process writes", "Try again")


def test_a_sweep_retires_only_hidden_worlds(db: Database, clock: ManualClock) -> None:
    with db.batch() as tx:
        over, kept = tx.create("Fact", "", content="over", ttl=60), tx.create("Fact", "", content="kept", ttl=7_200)
        pinned = tx.create("Fact", "", content="pinned", ttl=60, pinned=True)
    refs = [tx.receipt.refs[each.position] for each in (over, kept, pinned)]
    clock.advance(HOUR)
    before = db.view()
    swept = db.sweep(refs, why="over")
    assert swept.events > 0 and not db.sweep(refs).events
    worlds = [db.view().get(ref, include_superseded=True) for ref in refs]
    assert [world.ended for world in worlds if world] == [True, False, False]
    assert before.expired() != [] and db.view().expired() == []
    assert db.view(valid=tx.receipt.ingest_time).get(refs[0]) is not None, "it held then"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"expires_at": "2026-01-01", "ttl": 5}, "Both expires_at and ttl"),
        ({}, "No deadline was given"),
        ({"ttl": 0}, "ttl is 0 seconds"),
        ({"ttl": -1.5}, "ttl is -1.5 seconds"),
        ({"ttl": float("nan")}, "ttl is nan seconds"),
        ({"ttl": float("inf")}, "ttl is inf seconds"),
        ({"ttl": 10**30}, "ttl is 1000"),
        ({"ttl": True}, "ttl is bool"),
        ({"ttl": "1h"}, "ttl is str"),
        ({"expires_at": "soon"}, "soon"),
    ],
)
def test_a_wrong_deadline_is_refused_by_its_value(db: Database, given: dict[str, Any], said: str) -> None:
    fact = db.create("Fact", "", content=SAID)
    with pytest.raises(worlddb.InputError, match=said):
        db.expire(fact, **given)
    assert db.head().seq == fact.seq


def test_labels_are_put_on_and_taken_off_with_their_history(db: Database) -> None:
    fact = db.create("Fact", "", content=SAID, labels=["Home", "code"])
    assert len(db.view().find()) == 1 and fact.ref == fact.refs[-1]
    before = db.view()
    assert before.recall("gate").hits[0].labels == ("Home", "code")
    assert before.get(fact).labels == ("Home", "code")  # type: ignore[union-attr]
    assert not db.label(fact, "home").events, "a label is compared as a name is"
    taken = db.unlabel(fact, "HOME", why="moved out")
    put = db.label(fact, "garden", "home")
    assert db.view().get(fact).labels == ("code", "garden", "home")  # type: ignore[union-attr]
    assert before.get(fact).labels == ("Home", "code")  # type: ignore[union-attr]
    told = [(mark.kind, mark.label, mark.why, mark.seq) for mark in db.view().marks(fact)]
    assert told == [
        ("labelled", "Home", "", fact.seq),
        ("labelled", "code", "", fact.seq),
        ("unlabelled", "Home", "moved out", taken.seq),
        ("labelled", "garden", "", put.seq),
        ("labelled", "home", "", put.seq),
    ]
    with pytest.raises(worlddb.UnknownReference, match="has no label 'blue'"):
        db.unlabel(fact, "blue")
    for wrong in ("", "   ", "x" * 300, 7):
        with pytest.raises(worlddb.InputError):
            db.label(fact, wrong)  # type: ignore[arg-type]
    with pytest.raises(worlddb.InputError, match="No label was given"):
        db.label(fact)


def test_what_is_pinned_is_listed_and_no_deadline_hides_it(db: Database, clock: ManualClock) -> None:
    topic = db.create("Topic", "house")
    fact = db.create("Fact", "", content=SAID, world=topic, ttl=60, pinned=True)
    clock.advance(HOUR)
    assert all(is_seen(db.view(), fact.ref, topic.ref)) and db.view().expired() == []
    assert [world.ref for world in db.view().pinned()] == [fact.ref] == [w.ref for w in db.view().pinned(topic)]
    assert [world.ref for world in db.view(world=topic).pinned()] == [fact.ref]
    assert not db.pin(fact).events
    taken = db.unpin(fact, why="changed")
    assert not any(is_seen(db.view(), fact.ref, topic.ref)) and db.view().pinned() == []
    marks = [(mark.kind, mark.why) for mark in db.view().marks(fact)]
    assert marks == [("expires", ""), ("pinned", ""), ("unpinned", "changed")]
    assert [world.ref for world in db.view(seq=taken.seq - 1).pinned()] == [fact.ref]


def test_marks_change_no_hash_and_the_root_takes_none(db: Database) -> None:
    fact = db.create("Fact", "", content=SAID)
    root = db.view().hash()
    with db.batch() as tx:
        tx.expire(fact, ttl=5)
        tx.label(fact, "home")
        tx.pin(fact)
    assert tx.receipt.events == 3 and db.view().hash() == root
    for mark in (db.pin, lambda ref: db.label(ref, "x"), lambda ref: db.expire(ref, ttl=5), db.refresh):
        with pytest.raises(worlddb.RefusedError, match="root world cannot have marks"):
            mark(db.view().reference_of("root")).raise_if_refused()


def create_marked_fact(db: Database) -> tuple[str, str]:
    topic = db.create("Topic", "house")
    fact = db.create(
        "Fact", "", content=SAID, world=topic, expires_at=NOON + HOUR, labels=["home", "code"], pinned=True
    )
    db.unlabel(fact, "code", why="SECRETCODE is no more")
    return topic.ref, fact.ref


def test_a_rebuild_a_replay_and_a_store_decided_again_have_the_same_marks(db: Database, tmp_path: Path) -> None:
    noise = db.create("Fact", "", content="noise")
    _, fact = create_marked_fact(db)
    shown, marks, old = db.view().get(fact), db.view().marks(fact), db.view(seq=noise.seq + 2)
    db.rebuild()
    assert (db.view().get(fact), db.view().marks(fact)) == (shown, marks)
    assert db.verify(deep=True).ok
    db.replay(tmp_path / "copy", seq=old.seq)
    with worlddb.open(tmp_path / "copy", embedder=None) as copy:
        assert old.get(fact) is not None and copy.view(valid=old.valid).get(fact) == old.get(fact)
    db.replay(tmp_path / "then", without=[noise.seq])
    with worlddb.open(tmp_path / "then", embedder=None) as then:
        (found,) = then.view(valid=old.valid).find(type="Fact")
        assert (found.labels, found.pinned, found.expires_at) == (("home",), True, NOON + HOUR)


def test_an_erasure_takes_the_texts_of_marks_along(db: Database, tmp_path: Path) -> None:
    _, fact = create_marked_fact(db)
    db.label(fact, "SECRETLABEL", why="SECRETWHY")
    db.erase(fact, reason="request 1")
    assert {mark.label for mark in db.view().marks(fact)} == {""}
    assert {mark.why for mark in db.view().marks(fact)} == {""}
    assert db.view().get(fact, include_superseded=True).labels == ()  # type: ignore[union-attr]
    db.close()
    stored = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    for word in (b"SECRETLABEL", b"SECRETWHY", b"SECRETCODE"):
        assert word not in stored


def test_a_bundle_carries_the_marks_that_stand_and_takes_none_back(db: Database, tmp_path: Path) -> None:
    topic, fact = create_marked_fact(db)
    db.export(topic, tmp_path / "one.wdb")
    with worlddb.open(tmp_path / "other", author="eve", clock=ManualClock(NOON + 60), embedder=None) as other:
        for _ in range(2):
            assert other.import_bundle(tmp_path / "one.wdb")
        shown = other.view().get(fact)
        assert shown is not None
        assert (shown.labels, shown.pinned, shown.expires_at) == (("home",), True, NOON + HOUR)
        assert sorted(mark.kind for mark in other.view().marks(fact)) == ["expires", "labelled", "pinned"]
        # What was decided here since stays: the pin taken off, the label too; of two deadlines the later stands.
        other.unpin(fact)
        other.unlabel(fact, "home")
        other.expire(fact, expires_at=NOON + 5 * HOUR)
        other.label(fact, "theirs")
        assert other.import_bundle(tmp_path / "one.wdb")
        shown = other.view().get(fact)
        assert shown is not None
        assert (shown.labels, shown.pinned, shown.expires_at) == (("theirs",), False, NOON + 5 * HOUR)
        other.export(topic, tmp_path / "two.wdb")
    assert db.import_bundle(tmp_path / "two.wdb")
    shown = db.view().get(fact)
    assert shown is not None
    assert (shown.labels, shown.pinned, shown.expires_at) == (("home", "theirs"), True, NOON + 5 * HOUR)


def test_a_view_from_inside_another_world_learns_nothing_of_marks(db: Database) -> None:
    _, fact = create_marked_fact(db)
    other = db.create("Topic", "other")
    inside = db.view(world=other)
    assert inside.pinned() == [] == inside.expired()
    with pytest.raises(worlddb.UnknownReference):
        inside.marks(fact)


def test_a_retry_under_its_key_has_one_effect(db: Database, clock: ManualClock) -> None:
    first = db.create("Fact", "", content=SAID, ttl=60, labels=["home"], pinned=True, idempotency_key="k")
    clock.advance(HOUR)
    assert db.create("Fact", "", content=SAID, ttl=60, labels=["home"], pinned=True, idempotency_key="k") == first
    with pytest.raises(worlddb.IdempotencyConflict):
        db.create("Fact", "", content=SAID, ttl=61, labels=["home"], pinned=True, idempotency_key="k")
    with pytest.raises(worlddb.IdempotencyConflict):
        db.create("Fact", "", content=SAID, ttl=60, labels=["house"], pinned=True, idempotency_key="k")


def test_what_was_erased_takes_no_mark_and_is_pinned_no_more(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        ref = db.create("Fact", "", content="the code is 77", pinned=True).ref
        db.erase(ref, reason="r")
        assert db.view().pinned() == []
        for mark in (lambda: db.pin(ref), lambda: db.expire(ref, ttl=60), lambda: db.label(ref, "codes")):
            refused = mark().outcome
            assert isinstance(refused, worlddb.Refused) and refused.code == "erased"
        assert db.unpin(ref).events and db.unexpire(ref).seq


# -- tags and deprecation


def world_of(view: View, ref: str, **how: Any) -> worlddb.World:
    found = view.get(ref, **how)
    assert found is not None
    return found


def test_a_tag_stands_for_a_version_and_is_moved_with_its_history(db: Database) -> None:
    ref = db.create("Decision", "api-design", content="Use REST.").ref
    db.tag(ref, "initial")
    db.revise(ref, content="Use REST and WebSocket.")
    db.tag(ref, "published", why="released")
    db.revise(ref, content="Use gRPC.")
    before = db.head().seq
    assert world_of(db.view(), ref).tags == {"initial": 1, "published": 2}
    db.tag(ref, "PUBLISHED", version=3)
    db.untag(ref, "initial")
    for view in (db.view(), _rebuilt(db).view()):
        assert world_of(view, ref).tags == {"published": 3}
        assert world_of(view, ref, tag="published").content == "Use gRPC."
        assert world_of(view, ref, tag="current").content == "Use gRPC."
        assert view.get(ref, tag="initial") is None
        assert contents(view.tagged("Published")) == ["Use gRPC."]
        assert view.tagged("initial") == []
    then = db.view(seq=before)
    assert world_of(then, ref).tags == {"initial": 1, "published": 2}
    assert (world_of(then, ref, tag="published").content, world_of(then, ref, tag="published").closed) == (
        "Use REST and WebSocket.",
        True,
    )
    told = [(mark.kind, mark.version, mark.why) for mark in db.view().tag_history(ref, "published")]
    assert told == [("tagged", 2, "released"), ("tagged", 3, "")]
    assert [mark.kind for mark in db.view().tag_history(ref, "initial")] == ["tagged", "untagged"]


def _rebuilt(db: Database) -> Database:
    db.rebuild("tables")
    return db


def test_what_no_tag_can_stand_for_is_refused_and_changes_nothing(db: Database) -> None:
    ref = db.create("Decision", "api-design", content="Use REST.").ref
    with pytest.raises(worlddb.InputError, match="stands for the valid version"):
        db.tag(ref, "Current")
    with pytest.raises(worlddb.UnknownReference, match="has no version 2"):
        db.tag(ref, "published", version=2)
    with pytest.raises(worlddb.UnknownReference, match="has no tag"):
        db.untag(ref, "published")
    db.retire(ref)
    refused = db.tag(ref, "published").outcome
    assert isinstance(refused, worlddb.Refused) and refused.code == "holds_no_more"
    assert db.tag(ref, "published", version=1)
    db.tag(ref, "published", version=1)
    assert len(db.view().tag_history(ref, "published")) == 1


def test_tags_and_deprecation_change_no_hash(db: Database) -> None:
    ref = db.create("Fact", "", content=SAID).ref
    root = db.head().root
    db.tag(ref, "published")
    db.deprecate(ref)
    assert db.head().root == root


def test_what_is_deprecated_is_seen_only_if_it_is_asked_for(db: Database) -> None:
    world = db.create("Place", "home").ref
    ref = db.create("Fact", "gate", content=SAID, world=world).ref
    db.pin(ref)
    before = db.head().seq
    db.deprecate(ref, why="outdated")
    view = db.view()
    assert not any(is_seen(view, ref, world)) and all(is_seen(view.revealing(deprecated=True), ref, world))
    assert not any(is_seen(view.revealing(), ref, world))
    assert all(is_seen(db.view(seq=before), ref, world))
    assert contents(view.deprecated()) == contents(view.deprecated(world)) == [SAID]
    assert world_of(view, ref, include_deprecated=True).deprecated
    assert contents(view.find(type="Fact", include_deprecated=True)) == [SAID]
    assert contents(view.children(world, include_deprecated=True)) == [SAID]
    assert contents(view.recall("gate code", include_deprecated=True).hits) == [SAID]
    assert view.history(ref)[0].content == SAID
    db.undeprecate(ref)
    assert all(is_seen(db.view(), ref, world))
    assert [(mark.kind, mark.why) for mark in db.view().marks(ref)][1:] == [
        ("deprecated", "outdated"),
        ("undeprecated", ""),
    ]


def test_tags_and_deprecation_travel_in_a_bundle_and_stay_as_they_are_here(db: Database, tmp_path: Path) -> None:
    world = db.create("Place", "home").ref
    ref = db.create("Fact", "gate", content=SAID, world=world).ref
    db.revise(ref, content="The gate code is 4712.")
    db.tag(ref, "published", version=1)
    db.deprecate(ref)
    db.export(world, tmp_path / "one.wdb")
    db.undeprecate(ref)
    db.tag(ref, "published", version=2)
    db.tag(ref, "later", version=2)
    db.export(world, tmp_path / "two.wdb")
    with worlddb.open(tmp_path / "other", author="bob", embedder=None) as other:
        for path in ("one.wdb", "two.wdb", "two.wdb"):
            other.import_bundle(tmp_path / path)
            found = world_of(other.view(), ref, include_deprecated=True)
            assert found.deprecated
            assert found.tags == {"published": 1} | ({"later": 2} if path == "two.wdb" else {})
        assert other.verify(deep=True).ok


def test_an_erasure_takes_the_names_of_tags(db: Database, tmp_path: Path) -> None:
    ref = db.create("Fact", "gate", content=SAID).ref
    db.tag(ref, "released to Ottokar")
    db.erase(ref, reason="asked")
    assert world_of(db.view(), ref).tags == {} and db.view().tagged("released to Ottokar") == []
    assert {mark.tag for mark in db.view().marks(ref)} == {""}
    db.rebuild("tables")
    assert world_of(db.view(), ref).tags == {} and db.verify(deep=True).ok
    refused = db.tag(ref, "again", version=1).outcome
    assert isinstance(refused, worlddb.Refused) and refused.code == "erased"
    stored = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not any(b"Ottokar" in each for each in stored)


def test_reads_of_a_state_look_once_for_marks_and_see_the_first_one_at_once(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    look = transaction.WholeTables._may_have_rows

    def counted(tables: transaction.WholeTables, name: str) -> bool:
        looks.append(name)
        return look(tables, name)

    monkeypatch.setattr(transaction.WholeTables, "_may_have_rows", counted)
    ref = db.create("Fact", "gate", content=SAID).ref
    looks.clear()
    for _ in range(3):
        assert world_of(db.view(), ref).labels == ()
    assert looks.count("marks") == 1
    with worlddb.open(tmp_path / "store", author="bob", embedder=None) as other:
        other.label(ref, "urgent")
        assert world_of(db.view(), ref).labels == ("urgent",) == world_of(other.view(), ref).labels
        other.trust("low", author="ada")
        other.deprecate(ref)
    assert db.view().get(ref) is None and world_of(db.view(), ref, include_deprecated=True).trust == "low"
