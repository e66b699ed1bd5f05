"""Usage of keys: what is counted, kept and told, and what becomes of a file that is damaged."""

from __future__ import annotations

import random
import signal
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import worlddb
from tests.support.faults.children import PATIENCE_SECONDS, Acknowledged, start, wait_for_exit
from tests.support.faults.jobs import count_until_killed
from tests.support.running import DAY, LocalRunner
from worlddb import Database, InputError, LimitExceeded, ManualClock, PlanLimit, UnknownReference
from worlddb.accounts import usage_meter
from worlddb.log.accounts import usage_file

MINUTE = 60_000_000
START = worlddb.parse_time("2026-11-22T10:00:00Z")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as found:
        yield found


def file_of(db: Database) -> Path:
    return usage_file.usage_path(db.path)


def test_requests_are_summed_by_key_and_span_whether_written_or_not(
    db: Database, clock: ManualClock, seed: int
) -> None:
    rng = random.Random(seed)
    names = [db.accounts.create_key(name).key.id for name in ("a", "b", "c")]
    wanted: Counter[tuple[int, str]] = Counter()
    with worlddb.open(db.path, embedder=None, clock=clock) as other:
        for _ in range(400):
            key, meter = rng.choice(names), rng.choice((db, other)).accounts.meter
            meter.count(key, write=True, bytes_in=3, bytes_out=5, failed=True)
            wanted[clock.now() // MINUTE, key] += 1
            if rng.random() < 0.1:
                meter.flush()
            clock.advance(rng.randrange(90 * 1_000_000))
        other.accounts.meter.flush()
    for by, span in usage_meter.SPANS.items():
        told = db.accounts.usage(by=by)  # type: ignore[arg-type]
        summed: Counter[tuple[int, str]] = Counter()
        for (minute, key), count in wanted.items():
            summed[(minute - minute % span) * MINUTE, key] += count
        assert {(each.at, each.key): each.requests for each in told.usage} == summed
        assert [each.at for each in told.usage] == sorted(each.at for each in told.usage)
        assert all(
            (each.writes, each.bytes_in, each.bytes_out, each.errors)
            == (each.requests, 3 * each.requests, 5 * each.requests, each.requests)
            for each in told.usage
        )
    half = START + 100 * MINUTE
    parts = [db.accounts.usage("b", by="total", until=half), db.accounts.usage("b", by="total", since=half)]
    assert sum(each.usage[0].requests for each in parts) == sum(
        count for (_, key), count in wanted.items() if key == names[1]
    )
    assert told.trouble == ""


def test_what_is_kept_has_no_texts_belongs_to_its_owner_and_is_in_no_backup(db: Database, tmp_path: Path) -> None:
    before = db.head()
    db.accounts.meter.count("ab" * 16)
    assert not file_of(db).exists()
    db.accounts.meter.flush()
    assert stat.S_IMODE(file_of(db).stat().st_mode) == 0o600
    assert db.head() == before
    db.accounts.create_key("laptop-of-ana", user="ana")
    db.accounts.meter.count(db.accounts.key("laptop-of-ana").id)
    db.accounts.meter.flush()
    assert b"ana" not in file_of(db).read_bytes()
    db.backup(tmp_path / "backup")
    worlddb.restore(tmp_path / "backup", tmp_path / "restored")
    assert not usage_file.usage_path(tmp_path / "restored").exists()
    file_of(db).chmod(0o644)
    db.accounts.meter.count("ab" * 16)
    assert "other than its owner" in db.accounts.usage().trouble
    file_of(db).chmod(0o600)
    assert sum(each.requests for each in db.accounts.usage().usage) == 3


def test_minutes_that_are_too_old_are_dropped(db: Database, clock: ManualClock) -> None:
    db.accounts.meter.days = 2
    for _ in range(5):
        db.accounts.meter.count("k")
        db.accounts.meter.flush()
        clock.advance(DAY)
    assert len(db.accounts.usage().usage) == 3
    with sqlite3.connect(file_of(db)) as base:
        assert base.execute("SELECT COUNT(*) FROM minutes").fetchone() == (3,)


@pytest.mark.parametrize("harm", ["cut", "emptied", "overwritten", "another file", "other tables"])
def test_a_damaged_file_is_reported_and_set_aside(db: Database, harm: str, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(300):
        db.accounts.meter.count(f"{number:032x}")
    db.accounts.meter.flush()
    file = file_of(db)
    stored = file.read_bytes()
    middle = len(stored) // 2
    if harm == "other tables":
        file.unlink()
        with sqlite3.connect(file) as base:
            base.execute("CREATE TABLE others (number)")
        file.chmod(0o600)
    else:
        harmed = {
            "cut": stored[:middle],
            "emptied": b"",
            "overwritten": bytes(100) + stored[100:],
            "another file": b"hello",
        }
        file.write_bytes(harmed[harm])
    told = db.accounts.usage()
    assert told.usage == () and "cannot be read" in told.trouble
    db.accounts.meter.count("k")
    told = db.accounts.usage()
    assert [each.key for each in told.usage] == ["k"]
    assert [each.getMessage().endswith(".damaged") for each in caplog.records] == [True]
    assert str(file) + ".damaged" in told.trouble
    Path(f"{file}.damaged").unlink()
    assert db.accounts.usage().trouble == ""


def test_a_changed_number_is_told_and_no_byte_of_the_file_is_fatal(db: Database, seed: int) -> None:
    rng = random.Random(seed)
    for number in range(40):
        db.accounts.meter.count(f"{number:032x}", bytes_in=number)
    db.accounts.meter.flush()
    file = file_of(db)
    with sqlite3.connect(file) as base:
        base.execute("UPDATE minutes SET requests = 7 WHERE key = ?", (f"{3:032x}",))
    told = db.accounts.usage()
    assert len(told.usage) == 39 and "1 minutes are damaged" in told.trouble
    stored = file.read_bytes()
    for _ in range(60):
        at = rng.randrange(len(stored))
        file.write_bytes(stored[:at] + bytes([stored[at] ^ (1 << rng.randrange(8))]) + stored[at + 1 :])
        found = db.accounts.usage()
        assert len(found.usage) == 39 or found.trouble
        assert all(each.requests == 1 for each in found.usage)
        db.accounts.meter.count("k")
        db.accounts.meter.flush()
        db.accounts.usage()


def test_a_file_that_cannot_be_written_loses_nothing(db: Database) -> None:
    file_of(db).mkdir(0o700)
    db.accounts.meter.count("k")
    assert "cannot be used" in db.accounts.usage().trouble
    file_of(db).rmdir()
    assert [each.requests for each in db.accounts.usage().usage] == [1]
    assert db.accounts.usage().trouble == ""


def test_the_file_of_another_store_is_not_added_to(db: Database, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other", embedder=None) as other:
        other.accounts.meter.count("k")
    usage_file.usage_path(tmp_path / "other").rename(file_of(db))
    db.accounts.meter.count("k")
    assert "another store" in db.accounts.usage().trouble


def test_what_a_plan_allows_for_good_is_used_up_over_restarts(db: Database) -> None:
    db.accounts.define_plan("small", worlds=3, bytes_stored=100)
    db.accounts.create_account("ana", plan="small")
    grant = db.accounts.authenticate(db.accounts.create_key("k", account="ana").secret)
    assert grant is not None
    db.accounts.meter.take(grant, worlds=2, bytes_stored=60)
    db.accounts.meter.flush()
    with worlddb.open(db.path, embedder=None) as other:
        meter = other.accounts.meter
        with pytest.raises(PlanLimit) as refused:
            meter.take(grant, worlds=2)
        assert (refused.value.details["limit"], refused.value.details["allowed"]) == ("worlds", 3)
        assert "this would be 4" in refused.value.message and refused.value.remedy
        meter.take(grant, worlds=1, bytes_stored=40)
        with pytest.raises(PlanLimit):
            meter.take(grant, bytes_stored=1)
        meter.give_back(grant, bytes_stored=1)
        meter.take(grant, bytes_stored=1)


def test_threads_together_use_up_no_more_than_there_is(db: Database) -> None:
    db.accounts.define_plan("small", worlds=50)
    db.accounts.create_account("ana", plan="small")
    grant = db.accounts.authenticate(db.accounts.create_key("k", account="ana").secret)
    assert grant is not None
    meter = db.accounts.meter

    def use(number: int) -> int:
        done = 0
        for _ in range(20):
            try:
                meter.take(grant, worlds=1)
                done += 1
            except PlanLimit:
                pass
            if number == 0:
                meter.flush()
        return done

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(use, range(4))) == 50
    meter.flush()
    assert usage_file.UsageFile(file_of(db), bytes.fromhex(db.head().store_id)).totals() == {grant.account: [50, 0]}


def test_a_kill_loses_what_was_not_written_yet_and_damages_nothing(tmp_path: Path, seed: int) -> None:
    rng, wanted = random.Random(seed), 0
    for kill in range(3):
        acknowledged = Acknowledged(tmp_path / f"acks-{kill}")
        process = start(count_until_killed, tmp_path / "store", acknowledged.file)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not acknowledged.lines() and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.05)
        process.kill()
        assert wait_for_exit(process) == -signal.SIGKILL
        wanted += len(acknowledged.lines())
        with worlddb.open(tmp_path / "store", embedder=None) as db:
            told = db.accounts.usage(by="total")
        # The last one of each process may have been written, and nobody told.
        assert told.trouble == "" and wanted <= told.usage[0].requests <= wanted + kill + 1
    assert wanted > 3


def test_wrong_arguments_are_refused(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownReference):
        db.accounts.usage("nobody")
    with pytest.raises(InputError):
        db.accounts.usage(by="year")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        db.accounts.usage(since="soon")
    monkeypatch.setattr(usage_meter, "MAX_ROWS", 2)
    for number in range(3):
        db.accounts.meter.count(str(number))
    with pytest.raises(LimitExceeded):
        db.accounts.usage()


def test_the_command_line_shows_it(capsys: pytest.CaptureFixture[str], db: Database) -> None:
    run = LocalRunner(capsys, db.path)
    assert run("usage").out.startswith("no server had requests")
    db.accounts.create_key("laptop")
    db.accounts.meter.count(db.accounts.key("laptop").id, bytes_in=1_234)
    db.accounts.meter.flush()
    assert "laptop" in run("usage").out and "1,234" in run("usage").out
    told = run.json("usage", "laptop", "--by", "minute", "--since", "2026-11-22")
    assert [(each["at"], each["requests"]) for each in told["usage"]] == [("2026-11-22T10:00:00Z", 1)]
    unknown = run("usage", "nobody")
    assert unknown.error == "unknown_reference" and "`worlddb keys list`" in unknown.err
