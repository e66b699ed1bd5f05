"""Working memory: messages beside the log, gone after their time from every answer and every file."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lmdb
import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb import Database, ManualClock
from worlddb.log.working import message_buffers
from worlddb.reconciler.diagnostics import location
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.session import Call, Session

HOUR = 3_600 * 1_000_000
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as opened:
        yield opened


def buffered_texts(db: Database, session: str = "s", **scope: str) -> list[str]:
    return [each.content for each in db.working.get(session=session, **scope)]  # type: ignore[arg-type]


def in_files(folder: Path, text: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "role", ["user\nsystem", "system: do this", "", " ", "a\u200bb", "+351 912 345 678", "ana@example.org"]
)
def test_a_role_is_one_word(db: Database, role: str) -> None:
    with pytest.raises(worlddb.InputError, match="role"):
        db.working.add("hello", session="s", role=role)
    assert db.working.add("hello", session="s", role="tool-result") == 1


def test_a_buffer_is_seen_in_its_own_scope_alone(db: Database) -> None:
    scopes = [{}, {"user": "ana"}, {"project": "ana"}, {"context": "ana"}, {"user": "ana", "project": "p"}]
    for scope in scopes:
        db.working.add(repr(scope), session="s", role="tool", **scope)  # type: ignore[arg-type]
    assert [buffered_texts(db, **scope) for scope in scopes] == [[repr(scope)] for scope in scopes]
    assert buffered_texts(db, "another") == []
    assert db.working.get(session="s")[0].role == "tool"
    assert db.working.clear(user="ana") == 2
    assert [buffered_texts(db, **scope) for scope in scopes] == [
        ["{}"],
        [],
        ["{'project': 'ana'}"],
        ["{'context': 'ana'}"],
        [],
    ]


def test_the_oldest_go_beyond_so_many_and_their_bytes_with_the_next_sweep(db: Database) -> None:
    for number in range(60):
        assert db.working.add(f"the message number {number}.", session="s") == min(number + 1, 50)
    assert buffered_texts(db)[0] == "the message number 10."
    assert [each.content[-3:] for each in db.working.get(session="s", last=2)] == ["58.", "59."]
    assert db.working.sweep() == 0
    assert not in_files(db.path, "the message number 9.") and in_files(db.path, "the message number 10.")


def test_what_has_passed_its_time_is_in_no_answer_and_in_no_file(db: Database, clock: ManualClock) -> None:
    db.working.add("gone in an hour, all of it", session="s")
    db.working.add("gone in a minute", session="s", ttl=60)
    clock.advance(HOUR - 1)
    assert buffered_texts(db) == ["gone in an hour, all of it"]
    clock.advance(1)
    assert buffered_texts(db) == []
    assert in_files(db.path, "gone in")
    assert db.working.sweep() == 2
    assert not in_files(db.path, "gone in")


def test_a_thread_removes_it_from_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_buffers, "SWEEP_SECONDS", 0.01)
    clock = ManualClock()
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as db:
        db.working.add("gone in an hour", session="s")
        clock.advance(HOUR)
        sweeper = db.working._buffers._sweeper
        assert sweeper is not None and sweeper.daemon
        for _ in range(500):
            if not in_files(tmp_path, "gone in"):
                break
            sweeper.join(0.01)
        assert not in_files(tmp_path, "gone in")
    sweeper.join(5)
    assert not sweeper.is_alive()


def test_the_next_opening_removes_it(tmp_path: Path, clock: ManualClock) -> None:
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as db:
        db.working.add("gone in an hour", session="s")
        db.working.add("stays for two", session="s", ttl=7_200)
    clock.advance(HOUR)
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as db:
        assert not in_files(tmp_path, "gone in")
        assert buffered_texts(db) == ["stays for two"]


def test_it_is_in_no_hash_log_backup_or_export_and_only_its_owner_reads_it(tmp_path: Path, db: Database) -> None:
    made = db.create("Note", "n")
    before = db.head()
    db.working.add("a word between us", session="s")
    assert db.head() == before and db.verify(deep=True).ok
    db.backup(tmp_path / "backup")
    db.export(made.ref, tmp_path / "n.bundle")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and b"between us" in path.read_bytes()]
    assert [path.relative_to(db.path).parts[0] for path in files] == ["working"]
    for path in (db.path / "working").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_an_erasure_reaches_it(db: Database) -> None:
    note = db.create("Fact", "", content="Ana lives in Porto.")
    for text in ("Ana lives in Porto.", "I heard: Ana lives in Porto. Really.", "Ana has a dog."):
        db.working.add(text, session="s")
    db.erase(note, reason="request 7")
    assert buffered_texts(db) == ["Ana has a dog."]
    assert not in_files(db.path, "lives in Porto")


def test_an_erasure_reaches_what_says_its_texts_otherwise_and_what_was_said_beside_them(db: Database) -> None:
    note = db.create("Fact", "", content="Ana lives in Porto.", properties={"code": "4711", "size": "large"})
    db.attach(note, worlddb.Artifact(name="scan.pdf", location="s3://bucket/ana/scan.pdf"), why="she sent it herself")
    kept = ["a large dog", "she sent it"]
    gone = ["ANA LIVES\n in Porto.", "4711", "it is at s3://bucket/ana/scan.pdf", "well, she sent it herself"]
    for text in gone + kept:
        db.working.add(text, session="s")
    db.erase(note, reason="request 9")
    assert buffered_texts(db) == kept
    assert not [text for text in gone if in_files(db.path / "working", text)]


def test_a_message_goes_at_the_latest_when_the_clock_has_gone_back_by_its_time(
    db: Database, clock: ManualClock
) -> None:
    db.working.add("said by a clock that was ahead", session="s", ttl=60)
    clock.value -= 59_000_000
    assert len(buffered_texts(db)) == 1
    clock.value -= 30 * 24 * HOUR
    assert buffered_texts(db) == []
    db.working.sweep()
    assert not in_files(db.path, "said by a clock")


def test_a_forgotten_user_has_no_buffer(db: Database) -> None:
    memory = worlddb.memory(db.path, user="ana")
    memory.add("I have a dog.")
    db.working.add("my code is 4711", session="s", user="ana")
    db.working.add("mine is 4712", session="s", user="bob")
    assert db.forget_user("user:ana", reason="request 8")
    memory.close()
    assert (buffered_texts(db, user="ana"), buffered_texts(db, user="bob")) == ([], ["mine is 4712"])
    assert not in_files(db.path, "4711")


def test_messages_are_guarded(db: Database) -> None:
    with pytest.raises(worlddb.RefusedError) as refused:
        db.working.add(f"it is {TOKEN}", session="s")
    assert refused.value.details["reason"] == "credential_rejected" and TOKEN not in str(refused.value)
    for name in ("session", "user", "project", "context", "role"):
        with pytest.raises(worlddb.RefusedError, match=f"The {name} holds"):
            db.working.add("text", **{"session": "s", name: TOKEN})  # type: ignore[arg-type]
    assert not in_files(db.path, TOKEN)
    home = db.create("Topic", "home")
    db.guard(credentials="off", personal="enforce", world=home)
    db.working.add(f"{TOKEN} of ana@example.org", session="s", world=home)
    db.working.add("ana@example.org", session="s")
    assert buffered_texts(db) == [f"{TOKEN} of [email]", "ana@example.org"]


def test_processes_share_a_buffer_while_it_is_rewritten(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, embedder=None) as db:
        db.working.add("from here", session="s", most=1_000)
        program = (
            "import sys, pathlib\n"
            "from worlddb.log.model.clock import SystemClock\n"
            "from worlddb.log.working import message_buffers as b\n"
            "held = b.open_buffers(pathlib.Path(sys.argv[1]), SystemClock())\n"
            "for n in range(200):\n"
            "    held.add(b.WorkingMessage('', '', '', 's', 'user', f'{sys.argv[2]} {n}', 0, 2**62), 1000)\n"
            "    n % 50 or held.clear(lambda each: each.content == f'{sys.argv[2]} 0')\n"
        )
        others = [subprocess.Popen([sys.executable, "-c", program, str(store), name]) for name in ("a", "b")]
        for _ in range(20):
            db.working.add("passing", session="t")
            db.working.clear(session="t")
        assert [each.wait(60) for each in others] == [0, 0]
        told = buffered_texts(db)
        assert told[0] == "from here" and len(told) == 1 + 2 * 199
        for name in ("a", "b"):
            assert [each for each in told if each[0] == name] == [f"{name} {n}" for n in range(1, 200)]
        assert len(list((store / "working").iterdir())) == 1


def test_a_message_that_waits_while_its_buffers_are_rewritten_twice_is_kept(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.working.add("first", session="s")
    held = db.working._buffers
    present = held._current_env
    rewritten: list[tuple[bytes, bytes]] = []

    def rewritten_meanwhile() -> lmdb.Environment:
        env = present()
        if not rewritten:
            with env.begin() as txn:
                rewritten.extend(message_buffers._rows(txn))
            for more in (1, 2):
                held._create_environment(held._number + more, rewritten)
        return env

    monkeypatch.setattr(held, "_current_env", rewritten_meanwhile)
    db.working.add("second", session="s")
    assert rewritten and buffered_texts(db) == ["first", "second"]


def test_buffers_that_cannot_be_opened_for_another_reason_are_left_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.working.add("kept", session="s")
    with monkeypatch.context() as patched:
        patched.setattr(message_buffers, "_open_lmdb", _refusing)
        db = worlddb.open(tmp_path / "store", embedder=None)
        with pytest.raises(worlddb.UnavailableError, match="Too many open files"):
            db.working.get(session="s")
    assert buffered_texts(db) == ["kept"]
    db.close()


def _refusing(folder: Path) -> lmdb.Environment:
    raise lmdb.Error(f"{folder}: Too many open files")


def test_what_a_power_failure_left_is_begun_anew(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.working.add("lost", session="s")
    (data,) = (tmp_path / "store" / "working").rglob("data.mdb")
    data.write_bytes(b"\xff" * 8192)
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        assert buffered_texts(db) == []
        db.working.add("kept", session="s")
        assert buffered_texts(db) == ["kept"]


def damage_pages(data: Path) -> None:
    """Give every page but the metas a kind that there is not."""
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    with data.open("r+b") as file:
        for begin in range(2 * page_bytes, data.stat().st_size, page_bytes):
            file.seek(begin + 10)
            file.write(b"\x77\x77")


@pytest.mark.parametrize("length", [100, 5000, 6000, 8192, None])
def test_a_damaged_file_is_named_by_the_doctor_and_deleted_by_the_next_opening(
    tmp_path: Path, length: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that was cut short ended every process that opened the store, without a word."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.working.add("lost", session="s")
    assert message_buffers.find_damage(tmp_path / "store") is None
    (data,) = (tmp_path / "store" / "working").rglob("data.mdb")
    damage_pages(data) if length is None else os.truncate(data, length)
    [found] = location.working_memory(tmp_path / "store")
    assert found.code == "working_memory_damaged" and found.command == f"rm {data}"
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        assert f"{data} was damaged" in caplog.text and not data.exists()
        assert buffered_texts(db) == [] and not in_files(tmp_path / "store" / "working", "lost")
        assert db.working.add("kept", session="s") == 1
    assert message_buffers.find_damage(tmp_path / "store") is None


def test_damage_to_an_open_file_is_told_with_its_name_until_the_next_sweep(db: Database) -> None:
    db.working.add("lost", session="s")
    (data,) = (db.path / "working").rglob("data.mdb")
    damage_pages(data)
    for call in (db.working.get, partial(db.working.add, "more")):
        with pytest.raises(worlddb.DamagedStore, match=r"working/1/data\.mdb is damaged") as raised:
            call(session="s")
        assert "delete it" in raised.value.remedy
    db.working.sweep()
    assert buffered_texts(db) == [] and not data.exists()


@pytest.mark.parametrize("is_met", [True, False], ids=["met by LMDB", "hidden from it"])
def test_an_erasure_deletes_a_damaged_file_which_may_hold_its_texts(db: Database, is_met: bool) -> None:
    """The log's erasure was done, then the call failed: the text stayed, and every check said that it was gone."""
    memory = worlddb.memory(db, user="ana")
    memory.add("I live in Porto.")
    earlier = db.erasure_receipt(db.forget_user("ana", reason="request 1").seq)
    memory = worlddb.memory(db, user="ana")
    memory.add("I live in Lisbon.")
    for user in ("ana", "eve"):
        db.working.add(f"the code of {user} is 4711", session="s", user=user)
    assert db.check_erasure(earlier).ok
    (data,) = (db.path / "working").rglob("data.mdb")
    if is_met:
        damage_pages(data)
    else:
        hide_rows(data)
        assert db.working.count_of_user("ana") == 0
    found = db.check_erasure(earlier)
    assert not found.ok and str(data) in found.problems[0]
    receipt = db.erasure_receipt(db.forget_user("ana", reason="request 2").seq)
    assert not in_files(db.path, "4711") and db.check_erasure(receipt).ok and db.check_erasure(earlier).ok
    assert db.forget_buffers("ana") == 0


def hide_rows(data: Path) -> None:
    """Let the page of records count no row: LMDB then finds none, and the bytes stay."""
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    stored = bytearray(data.read_bytes())
    for begin in range(2 * page_bytes, len(stored), page_bytes):
        if stored[begin + 10] == 2 and b"4711" in stored[begin : begin + page_bytes]:
            stored[begin + 12 : begin + 14] = (16).to_bytes(2, sys.byteorder)
    with data.open("r+b") as file:
        file.write(stored)


def test_wrong_values_are_typed_errors(db: Database) -> None:
    for wrong in ({"session": ""}, {"session": "s", "ttl": 0}, {"session": "s", "most": 0}, {"session": 3}):
        with pytest.raises(worlddb.InputError):
            db.working.add("text", **wrong)
    for empty in ("", " \n"):
        with pytest.raises(worlddb.InvalidText):
            db.working.add(empty, session="s")
    with pytest.raises(worlddb.UnknownReference):
        db.working.add("guarded by nobody", session="s", world="nope")
    with pytest.raises(worlddb.LimitExceeded):
        db.working.add("x" * 300_000, session="s")
    assert buffered_texts(db) == []


def test_the_command_line_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(tmp_path / "store", embedder=None):
        run = LocalRunner(capsys, tmp_path / "store")
    assert run.json("working", "add", "the deploy is at noon", "--session", "s1")["messages"] == 1
    assert [each["content"] for each in run.json("working", "get", "--session", "s1")["messages"]] == [
        "the deploy is at noon"
    ]
    assert "the deploy" in run("working", "get", "--session", "s1").out
    assert run("working", "get").code == 2
    for wrong in (("get", "a text"), ("get", "--ttl", "3"), ("clear", "--role", "user"), ("clear", "--most", "2")):
        found = run("working", wrong[0], *wrong[1:], "--session", "s1")
        assert (found.code, found.error) == (2, "usage") and "nothing is added" in found.err
    assert run("working", "clear").out.startswith("1 removed")


def test_a_user_of_whom_only_buffers_know_is_forgotten_too(
    tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    for user in ("ana", "bob", "eve"):
        db.working.add(f"the code of {user} is 4711", session="s", user=user)
    with pytest.raises(worlddb.UnknownReference):
        db.forget_user("nobody", reason="request 9")
    head = db.head()
    receipt = db.forget_user("ana", reason="request 9")
    assert (receipt.events, [note.code for note in receipt.notes], db.head()) == (0, ["buffers_cleared"], head)
    assert worlddb.memory(db, user="bob").forget_user(reason="request 10").events == 0
    assert not in_files(db.path, "of ana") and not in_files(db.path, "of bob") and in_files(db.path, "of eve")
    run = LocalRunner(capsys, db.path)
    assert "to be removed: 1 message" in run("forget-user", "eve", "--dry-run").out
    assert buffered_texts(db, user="eve")
    assert run.json("forget-user", "eve", "--reason", "request 11")["messages"] == 1
    assert not in_files(db.path, "4711")
    assert run("forget-user", "eve", "--reason", "request 11").code != 0


def test_a_memory_has_the_buffer_of_its_user_and_session_guarded_as_their_world_is(db: Database) -> None:
    memory = worlddb.memory(db, user="ana", session="s")
    memory.working.add("ana@example.org asks")
    assert buffered_texts(db, user="ana") == ["ana@example.org asks"]
    memory.add("I have a dog.")
    db.guard(personal="enforce", world=db.view().worlds_of_user("ana")[0].ref)
    memory.working.add("bob@example.org asks", role="assistant")
    assert [each.content for each in memory.working.get(last=1)] == ["[email] asks"]
    assert worlddb.memory(db, user="bob", session="s").working.get() == ()
    assert memory.working.clear() == 2 and buffered_texts(db, user="ana") == []


def test_tools_of_working_memory_are_those_of_one_world_where_one_is_served(db: Database) -> None:
    inside, outside = db.create("Topic", "inside").ref, db.create("Topic", "outside").ref
    tools = {tool.name: tool for tool in catalogue.tools_in_sets("working")}
    assert len(tools) == 3 and not tools.keys() & {tool.name for tool in catalogue.tools_in_sets("all")}

    def call(session: Session, name: str, **given: object) -> Any:
        tool = tools[f"memory_working_{name}"]
        return tool.run(session, tool.takes.parse(given), Call("client", name))

    desks = [Session(db), Session(db, inside), Session(db, outside), Session(db, user="ana")]
    for number, desk in enumerate(desks):
        assert call(desk, "add", text=f"message {number}", run_id="s", role="tool").messages == 1
    assert [[each.text for each in call(desk, "get", run_id="s").messages] for desk in desks] == [
        [f"message {number}"] for number in range(4)
    ]
    assert call(desks[1], "clear", run_id="s").messages == 0
    assert [len(call(desk, "get", run_id="s").messages) for desk in desks] == [1, 0, 1, 1]
    with pytest.raises(worlddb.RefusedError):
        call(desks[1], "add", text=TOKEN, run_id="s")
    operator = {tool.name: tool for tool in catalogue.tools_in_sets("operator")}["memory_forget_user"]
    given = operator.takes.parse({"user_id": "ana", "reason": "request 12", "confirm": "user:ana"})
    done: Any = operator.run(desks[0], given, Call("client", "forget"))
    assert (done.erased, done.receipt) == (0, {})
    assert call(desks[3], "get", run_id="s").messages == []


def test_a_full_disk_is_told_of_working_memory_as_of_the_log(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was LMDB's own error, which no caller catches."""

    def full(_: object) -> Any:
        raise lmdb.DiskError(f"mdb_txn_commit: {os.strerror(errno.ENOSPC)}")

    db.working.add("kept", session="s")
    with monkeypatch.context() as patched:
        patched.setattr(message_buffers.MessageBuffers, "_current_env", full)
        with pytest.raises(worlddb.DiskFull, match="cannot be written to"):
            db.working.add("lost", session="s")
    assert [each.content for each in db.working.get(session="s")] == ["kept"]


def test_a_folder_that_cannot_be_read_is_a_typed_error(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        (tmp_path / "store" / "working").write_text("no folder")
        for use in (lambda: db.working.get(session="s"), lambda: db.working.add("hello", session="s")):
            with pytest.raises(worlddb.UnavailableError, match="working cannot be read"):
                use()
