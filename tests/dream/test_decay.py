"""Decay: how memories fade and what use does to that, as a function of the log; and that it is off by default."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import exp, log
from pathlib import Path

import pytest

import worlddb
from worlddb import Database, Decay, InputError, ManualClock, parse_time
from worlddb.log.store.lock import WriterLock

DAY = 86_400_000_000
START = parse_time("2026-01-01")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None, clock=clock) as found:
        yield found


def retention(db: Database, ref: str, at: int, decay: Decay | None = None, seq: int | None = None) -> float:
    found = db.view(valid=at, seq=seq).retention(ref, decay)
    assert found is not None
    return found.retention


def test_r_falls_by_half_in_a_half_life_and_rises_with_each_access_as_the_formula_says(db: Database) -> None:
    plain = db.create("Fact", "", content="It is so.", valid_from="2026-01-01").ref
    light = db.create("Fact", "", content="So so.", properties={"importance": 0.5}, valid_from="2026-01-01").ref
    decay = Decay(half_life_days=10, boost=0.3)
    assert retention(db, plain, START, decay) == 1.0 and retention(db, plain, START + 10 * DAY, decay) == 0.5
    assert retention(db, light, START + 10 * DAY, decay) == 0.25
    db.accessed(plain, at=START)
    assert db.view().retention(plain) == worlddb.Retained(1.0, "hot", (), False), "it is not written yet"
    db.accessed(plain, light, at=START + 0)
    written = db.write_accesses()
    assert written is not None and written.events == 1 and db.write_accesses() is None
    at = START + 6 * DAY
    assert retention(db, plain, at, decay) == round(exp(-log(2) * 0.6) + 0.3 * 2 / 6, 6)
    assert retention(db, plain, START + DAY // 2, decay) == round(exp(-log(2) / 20) + 0.6, 6), "a day at least"
    assert [entry.event for entry in db.log()][-1] == "accessed"


def test_tiers_are_ranges_of_r_and_what_is_pinned_or_published_never_falls(db: Database) -> None:
    ref = db.create("Fact", "", content="It is so.", valid_from="2026-01-01").ref
    decay = Decay(half_life_days=10, hot=0.5, warm=0.25, cold=0.125)
    tiers = [db.view(valid=START + days * DAY).retention(ref, decay) for days in (10, 11, 20, 21, 30, 31)]
    assert [found.tier for found in tiers if found] == ["hot", "warm", "warm", "cold", "cold", "hidden"]
    for keep, let in ((db.pin, db.unpin), (lambda r: db.tag(r, "published"), lambda r: db.untag(r, "published"))):
        keep(ref)
        kept = db.view(valid=START + 90 * DAY).retention(ref, decay)
        assert kept is not None and kept.kept and kept.tier == "hot"
        let(ref)
        fallen = db.view(valid=START + 90 * DAY).retention(ref, decay)
        assert fallen is not None and not fallen.kept and fallen.tier == "hidden"


def test_r_is_a_function_of_the_log_as_of_any_commit_beside_a_plain_model(
    db: Database, clock: ManualClock, root_seed: int, tmp_path: Path
) -> None:
    draw = random.Random(root_seed)
    refs = [db.create("Fact", "", content=str(number), valid_from="2026-01-01").ref for number in range(3)]
    known: dict[int, dict[str, list[int]]] = {db.head().seq: {ref: [] for ref in refs}}
    waiting: list[tuple[str, int]] = []
    for _ in range(25):
        clock.value += draw.randrange(DAY)
        if draw.random() < 0.7:
            ref, at = draw.choice(refs), draw.randrange(START, clock.value + 1)
            db.accessed(ref, at=at)
            waiting.append((ref, at))
        elif waiting:
            db.write_accesses()
            latest = known[max(known)]
            known[db.head().seq] = {ref: [*latest[ref], *(at for one, at in waiting if one == ref)] for ref in refs}
            waiting = []
    db.write_accesses()
    db.rebuild()
    db.replay(tmp_path / "again")
    with worlddb.open(tmp_path / "again", embedder=None) as again:
        for seq, used in known.items():
            for ref, times in used.items():
                at = draw.randrange(START, clock.value)
                seen = [each for each in times if each <= at]
                expected = exp(-log(2) * (at - START) / DAY / 30)
                expected += 0.3 * sum(1 / max((at - each) / DAY, 1) for each in seen)
                assert retention(db, ref, at, seq=seq) == pytest.approx(expected, abs=1e-6)
                assert retention(again, ref, at, seq=seq) == retention(db, ref, at, seq=seq)
    assert db.verify(deep=True).ok


def test_a_recall_writes_nothing_and_what_it_found_is_recorded_with_others(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None, record_accesses=True) as db:
        ref = db.create("Fact", "", content="The bridge is open.").ref
        other = db.create("Fact", "", content="A cat.").ref
        before = db.head()
        for _ in range(260):
            assert [hit.ref for hit in db.view().recall("bridge").hits] == [ref]
        assert db.head() == before
        db.create("Fact", "", content="Something else.")
        assert db.head().seq == before.seq + 2
        db.view().recall("cat")
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        view = db.view()
        used, once = view.retention(ref), view.retention(other)
        assert used is not None and len(used.accesses) == 256 and once is not None and len(once.accesses) == 1
        assert db.verify(deep=True).ok and db.rebuild().root == db.head().root
        db.erase(ref, reason="request 7")
        db.accessed(ref, other)
        db.write_accesses()
        assert db.verify(deep=True).ok
        (entry,) = [each for each in db.log(db.head().seq)]
        assert entry.event == "accessed" and entry.refs == (other,)


def test_accesses_that_another_writer_kept_out_are_written_with_the_next(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None, timeout_seconds=0.0) as db:
        ref = db.create("Fact", "", content="The bridge is open.").ref
        db.accessed(ref)
        with WriterLock(db.path, "another", 5.0).held(), pytest.raises(worlddb.WriterBusy):
            db.write_accesses()
        receipt = db.write_accesses()
        assert receipt is not None and receipt.events == 1 and db.write_accesses() is None


def test_a_confined_view_is_told_nothing_of_what_was_used(db: Database) -> None:
    inside, outside = db.create("Topic", "one").ref, db.create("Topic", "two").ref
    refs = [db.create("Fact", "", content="A bridge.", world=world).ref for world in (inside, outside)]
    db.accessed(*refs)
    db.write_accesses()
    assert list(db.view(world=inside).log(db.head().seq)) == []
    found = db.view(world=inside).retention(refs[0])
    assert found is not None and len(found.accesses) == 1
    with pytest.raises(worlddb.UnknownReference):
        db.view(world=inside).retention(refs[1])


def test_a_recall_ranks_by_decay_only_if_it_is_asked_to(db: Database, clock: ManualClock) -> None:
    old, new, kept = (
        db.create("Fact", "", content=text, valid_from=day, resolve=False).ref
        for text, day in (
            ("A bridge is open.", "2026-01-01"),
            ("A bridge in the far north of the country is open for boats.", "2026-05-30"),
            ("Some bridge or other was seen.", "2026-01-01"),
        )
    )
    db.pin(kept)
    clock.value = parse_time("2026-06-01")
    plain = db.view().recall("bridge open")
    assert plain.hits[0].ref == old
    faded = db.view().recall("bridge open", decay=Decay(half_life_days=10, weight=1))
    by_ref = {hit.ref: hit for hit in faded.hits}
    assert faded.hits[0].ref == new and by_ref[old].score < by_ref[kept].score
    assert by_ref[kept].score == {hit.ref: hit for hit in plain.hits}[kept].score
    unweighted = db.view().recall("bridge open", decay=Decay(half_life_days=10, weight=0))
    assert [(hit.ref, hit.score) for hit in unweighted.hits] == [(hit.ref, hit.score) for hit in plain.hits]
    db.accessed(*[old] * 5)
    db.write_accesses()
    assert db.view().recall("bridge open", decay=Decay(half_life_days=10, weight=1)).hits[0].ref == old
    with pytest.raises(InputError, match="receipt"):
        db.view().recall("bridge", decay=Decay(), receipt=True)
    for wrong in (Decay(weight=2), Decay(half_life_days=-1), 30):
        with pytest.raises(InputError):
            db.view().recall("bridge", decay=wrong)  # type: ignore[arg-type]


def test_what_has_faded_is_deprecated_by_a_dream_that_is_told_how_it_fades(db: Database, clock: ManualClock) -> None:
    old, used, pinned, mattering, new = (
        db.create("Fact", "", content=text, properties=properties, valid_from=day).ref
        for text, properties, day in (
            ("An ash.", {}, "2026-01-01"),
            ("A birch.", {}, "2026-01-01"),
            ("A cedar.", {}, "2026-01-01"),
            ("An elm.", {"importance": 0.01}, "2026-05-01"),
            ("A fir.", {}, "2026-05-30"),
        )
    )
    db.pin(pinned)
    clock.value = parse_time("2026-06-01")
    db.accessed(used)
    db.write_accesses()
    assert db.dream().deprecated == ()
    assert db.dream().events == 0
    done = db.dream(decay=Decay(), max_deprecation_ratio=0.9)
    assert set(done.deprecated) | set(done.held_back) == {old, mattering} and len(done.deprecated) == 1
    assert db.dream(decay=Decay(), max_deprecation_ratio=0.9).events == 0
    assert new in {world.ref for world in db.view().find(type="Fact")}
    clock.value = parse_time("2026-07-20")
    done = db.dream(decay=Decay(), max_deprecation_ratio=0.9)
    assert done.protected == 0 or pinned not in done.deprecated
    assert {used} <= set(done.deprecated) | set(done.held_back)
