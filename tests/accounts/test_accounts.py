"""Accounts and access keys: who is admitted, and that nothing brings an ended key back."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule, run_state_machine_as_test

import worlddb
from tests.support.faults.traces import find_traces
from tests.support.running import LocalRunner
from worlddb import Database, InputError, ManualClock, PlanLimit, RefusedError, UnknownReference
from worlddb.log.accounts.secrets_file import SecretsFile
from worlddb.tools.mcp import tool_arguments, write_tools
from worlddb.tools.mcp.access_keys import KeyFile
from worlddb.tools.mcp.session import Call, Session


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as found:
        yield found


def test_a_key_opens_its_world_with_its_right_and_user_in_every_process(db: Database) -> None:
    world = db.create("Team", "Search")
    made = db.accounts.create_key("laptop", world=world, right="write", user="ana")
    with worlddb.open(db.path, embedder=None) as other:
        grant = other.accounts.authenticate(made.secret)
        assert grant is not None
        assert (grant.name, grant.world, grant.right, grant.user) == ("laptop", world.ref, "write", "ana")
        assert grant.account_name == "default" and grant.limits == worlddb.Limits()
        db.accounts.end_key("laptop")
        assert other.accounts.authenticate(made.secret) is None
    for wrong in ("", "worlddb_", made.secret[:-1], made.secret + "x", "\ud800", None, 7):
        assert db.accounts.authenticate(wrong) is None


def test_a_store_with_a_plan_of_every_limit_verifies_deeply(db: Database) -> None:
    names = [name for name in worlddb.Limits.__struct_fields__ if name != "features"]
    limits: dict[str, Any] = {name: number for number, name in enumerate(names, 1)}
    for named in (limits, dict(reversed(limits.items()))):
        db.accounts.define_plan(f"plan {len(db.accounts.plans())}", **named)
    assert db.verify(deep=True).findings == ()
    root = db.view().hash()
    assert db.rebuild("tables").root == root and db.verify(deep=True).ok
    assert {each.limits for each in db.accounts.plans()} == {worlddb.Limits(**limits)}


def test_a_key_opens_nothing_once_it_has_expired(tmp_path: Path) -> None:
    clock = ManualClock()
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as db:
        made = db.accounts.create_key("k", expires_at=clock.now() + 5)
        clock.advance(4)
        assert db.accounts.authenticate(made.secret) is not None
        clock.advance(1)
        assert db.accounts.authenticate(made.secret) is None
        before = db.head().seq
        with pytest.raises(InputError, match="has passed"):
            db.accounts.create_key("late", expires_at=clock.now())
        assert db.head().seq == before


def test_an_expired_key_stays_so_when_the_clock_goes_back(tmp_path: Path) -> None:
    """The log knew a later time than that at which the key ended, and it opened the store again."""
    clock = ManualClock()
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as db:
        expires_at = clock.now() + 5_000_000
        made, other = (
            db.accounts.create_key(name, expires_at=expires_at + more) for name, more in (("k", 0), ("o", 9_000_000))
        )
        clock.advance(5_000_000)
        db.create("Note", "Tea")
        clock.advance(-4_000_000)
        with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as again:
            for handle in (db, again):
                assert handle.accounts.authenticate(made.secret) is None
                assert handle.accounts.grant(made.key.id) is None
                assert handle.accounts.authenticate(other.secret) is not None
        with pytest.raises(InputError, match="has passed"):
            db.accounts.create_key("late", expires_at=expires_at)


def test_keys_that_cannot_be_locked_are_a_typed_error(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        for name in ("accounts", "keys"):
            (tmp_path / f"store.{name}.lock").symlink_to(tmp_path / "elsewhere")
        keys = KeyFile(tmp_path / "store.keys")
        for use in (lambda: db.accounts.create_key("k"), lambda: keys.add(db.head().store_id, "k", None, write=True)):
            with pytest.raises(worlddb.UnavailableError, match="cannot be locked"):
                use()
    assert not (tmp_path / "elsewhere").exists()


def test_names_and_ids_are_unique_and_wrong_ones_write_nothing(db: Database) -> None:
    db.accounts.create_key("k")
    db.accounts.create_account("ana")
    before = db.head().seq
    for call in (
        lambda: db.accounts.create_key("k"),
        lambda: db.accounts.create_account("ana"),
        lambda: db.accounts.create_account("ben", plan="none such"),
    ):
        with pytest.raises(RefusedError):
            call()
    wrong: list[Any] = [
        lambda: db.accounts.create_key("no blanks"),
        lambda: db.accounts.create_key("x", right="own"),  # type: ignore[arg-type]
        lambda: db.accounts.create_key("x", world="00" * 16),
        lambda: db.accounts.create_key("x", account="nobody"),
        lambda: db.accounts.create_account(""),
        lambda: db.accounts.define_plan("p", worlds=-1),
        lambda: db.accounts.define_plan("p", worms=1),
        lambda: db.accounts.end_key("nobody"),
    ]
    for call in wrong:
        with pytest.raises(InputError):
            call()
    assert db.head().seq == before
    with pytest.raises(UnknownReference):
        db.accounts.account("ben")


def test_an_account_that_ends_takes_its_keys_along_for_good(db: Database) -> None:
    account = db.accounts.create_account("ana")
    keys = [db.accounts.create_key(name, account="ana") for name in ("a", "b")]
    other = db.accounts.create_key("c")
    db.accounts.end_account("ana")
    assert [db.accounts.authenticate(each.secret) for each in keys] == [None, None]
    assert db.accounts.authenticate(other.secret) is not None
    with pytest.raises(RefusedError):
        db.accounts.change_account(account.id, name="ana again")
    assert [each.name for each in db.accounts.accounts()] == ["default"]
    assert [each.name for each in db.accounts.accounts(closed=True)] == ["ana", "default"]


def test_plans_hold_for_the_next_request_of_every_process(db: Database) -> None:
    made = db.accounts.create_key("k")
    with worlddb.open(db.path, embedder=None) as other:
        db.accounts.define_plan("free", requests_per_minute=2, writes_per_minute=1, worlds=3, features=["vectors"])
        db.accounts.set_plan("default", "free")
        grant = other.accounts.authenticate(made.secret)
        assert grant is not None and grant.has("vectors")
        grant.require_quota("worlds", 3)
        grant.require_quota("bytes_stored", 10**12)
        for met, kind in (
            (lambda: grant.require_quota("worlds", 4), "quota"),
            (lambda: grant.require_feature("sparql"), "feature"),
        ):
            with pytest.raises(PlanLimit) as refused:
                met()
            assert refused.value.details["kind"] == kind
        other.accounts.admit(grant, write=True)
        with pytest.raises(PlanLimit) as refused:
            other.accounts.admit(grant, write=True)
        assert refused.value.details["limit"] == "writes_per_minute"
        assert 0 < refused.value.details["retry_after"] <= 60
        other.accounts.admit(grant)
        with pytest.raises(PlanLimit):
            other.accounts.admit(grant)
        db.accounts.define_plan("free", requests_per_minute=100)
        again = other.accounts.authenticate(made.secret)
        assert again is not None and again.has("sparql") and again.limits.worlds is None
        other.accounts.admit(again, write=True)


def test_the_file_of_secrets_is_its_owners_and_holds_no_secret(db: Database) -> None:
    made = db.accounts.create_key("laptop")
    file = Path(f"{db.path}.accounts")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert made.secret not in file.read_text("utf-8") and "laptop" not in file.read_text("utf-8")
    assert made.secret.encode() not in (db.path / "data.mdb").read_bytes()
    file.chmod(0o644)
    assert db.accounts.authenticate(made.secret) is None and "other than its owner" in db.accounts.trouble
    file.chmod(0o600)
    assert db.accounts.authenticate(made.secret) is not None
    file.write_text("{}", "utf-8")
    assert db.accounts.authenticate(made.secret) is None and "does not hold the secrets" in db.accounts.trouble


def test_no_copy_restore_or_replay_has_a_valid_key_until_one_is_made_there(db: Database, tmp_path: Path) -> None:
    made = db.accounts.create_key("laptop")
    db.backup(tmp_path / "backup")
    worlddb.restore(tmp_path / "backup", tmp_path / "restored")
    db.replay(tmp_path / "replayed")
    shutil.copytree(db.path, tmp_path / "copied")
    for name in ("restored", "replayed", "copied"):
        with worlddb.open(tmp_path / name, embedder=None) as other:
            assert other.accounts.authenticate(made.secret) is None, name
            found = other.accounts.keys()
            assert [(each.name, each.usable) for each in found] == [("laptop", False)], name
            fresh = other.accounts.create_key("fresh")
            assert other.accounts.authenticate(fresh.secret) is not None
            assert other.accounts.authenticate(made.secret) is None
            assert db.accounts.authenticate(fresh.secret) is None


def test_a_store_that_was_rolled_back_admits_nobody_until_a_new_key_is_made(tmp_path: Path) -> None:
    store, old = tmp_path / "store", tmp_path / "old"
    with worlddb.open(store, embedder=None) as db:
        kept, ended = db.accounts.create_key("kept"), db.accounts.create_key("ended")
    shutil.copytree(store, old)
    with worlddb.open(store, embedder=None) as db:
        db.accounts.end_key("ended")
    shutil.rmtree(store)
    shutil.copytree(old, store)
    with worlddb.open(store, embedder=None) as db:
        assert [db.accounts.authenticate(each.secret) for each in (kept, ended)] == [None, None]
        assert "rolled back" in db.accounts.trouble
        fresh = db.accounts.create_key("fresh")
        assert db.accounts.trouble == "" and db.accounts.authenticate(fresh.secret) is not None
        assert [db.accounts.authenticate(each.secret) for each in (kept, ended)] == [None, None]


def test_a_key_is_ended_before_its_commit_so_that_a_failure_leaves_it_ended(db: Database) -> None:
    made = db.accounts.create_key("laptop")
    accounts = db.accounts
    accounts._execute = lambda *_: (_ for _ in ()).throw(OSError("full"))
    with pytest.raises(OSError, match="full"):
        accounts.end_key("laptop")
    assert db.accounts.authenticate(made.secret) is None
    db.accounts.end_key("laptop")
    assert db.accounts.keys() == []


def test_accounts_change_no_world_hash_and_go_into_no_bundle(db: Database, tmp_path: Path) -> None:
    world = db.create("Team", "Search")
    root = db.head().root
    db.accounts.define_plan("free", worlds=1)
    db.accounts.create_key("secret-agent-key", world=world)
    assert db.head().root == root
    db.export(world, tmp_path / "team.wdb")
    assert b"secret-agent-key" not in (tmp_path / "team.wdb").read_bytes()
    assert db.verify(deep=True).ok
    db.rebuild("tables")
    found = db.accounts.keys()
    assert [each.name for each in found] == ["secret-agent-key"]


def test_an_erasure_takes_the_names_of_the_keys_of_a_world(db: Database) -> None:
    world = db.create("Person", "Alma Quist")
    made = db.accounts.create_key("alma.quist", world=world, user="Alma Quist")
    db.erase(world, reason="asked")
    assert b"alma.quist" not in (db.path / "data.mdb").read_bytes()
    grant = db.accounts.authenticate(made.secret)
    assert grant is not None and grant.user == "" and "alma" not in grant.name


class Machine(RuleBasedStateMachine):
    """Keys made and ended, stores restored, replayed and put back, beside a set of the keys that are valid here."""

    folder: Path
    runs = 0
    keys: Bundle[Any] = Bundle("keys")

    def __init__(self) -> None:
        super().__init__()
        Machine.runs += 1
        self.base = self.folder / str(Machine.runs)
        self.base.mkdir()
        self.at, self.count = self.base / "store", 0
        self.db = worlddb.open(self.at, embedder=None)
        self.valid: set[str] = set()
        self.ever: list[str] = []
        self.copies: list[Path] = []

    @rule(target=keys)
    def make(self) -> tuple[str, str]:
        self.count += 1
        made = self.db.accounts.create_key(f"k{self.count}")
        self.valid.add(made.secret)
        self.ever.append(made.secret)
        return made.secret, made.key.id

    @rule(key=keys)
    def end(self, key: tuple[str, str]) -> None:
        if any(each.id == key[1] for each in self.db.accounts.keys(ended=True)):
            self.db.accounts.end_key(key[1])
            self.valid.discard(key[0])

    @rule()
    def write(self) -> None:
        self.db.create("Note", "something")

    @rule()
    def copy(self) -> None:
        self.count += 1
        self.db.close()
        shutil.copytree(self.at, self.base / f"copy{self.count}")
        self.copies.append(self.base / f"copy{self.count}")
        self.db = worlddb.open(self.at, embedder=None)

    @rule(which=st.integers(0, 9))
    def put_back(self, which: int) -> None:
        """An earlier copy takes the store's place: what was ended since stays ended."""
        if not self.copies:
            return
        self.db.close()
        shutil.rmtree(self.at)
        shutil.copytree(self.copies[which % len(self.copies)], self.at)
        self.db = worlddb.open(self.at, embedder=None)
        if self.db.accounts.trouble:
            self.valid.clear()

    @rule(how=st.sampled_from(["restore", "replay"]))
    def move_on(self, how: str) -> None:
        """The store goes on as a restored or replayed one, which has no valid key."""
        self.count += 1
        into = self.base / f"{how}{self.count}"
        if how == "restore":
            self.db.backup(self.base / f"backup{self.count}")
            worlddb.restore(self.base / f"backup{self.count}", into)
        else:
            self.db.replay(into)
        self.db.close()
        self.at, self.copies = into, []
        self.db = worlddb.open(into, embedder=None)
        self.valid.clear()

    def check_invariants(self, *_: Any, **__: Any) -> None:
        assert {each for each in self.ever if self.db.accounts.authenticate(each)} == self.valid

    def teardown(self) -> None:
        self.check_invariants()
        self.db.close()
        shutil.rmtree(self.base)


@pytest.mark.parametrize("examples", [pytest.param(4), pytest.param(300, marks=pytest.mark.soak)])
def test_an_ended_key_never_authenticates_whatever_becomes_of_the_store(tmp_path: Path, examples: int) -> None:
    Machine.folder = tmp_path
    told = settings(max_examples=examples, stateful_step_count=10, deadline=None)
    run_state_machine_as_test(Machine, settings=told)


@pytest.mark.parametrize("how", ["forget_user", "erase"])
def test_a_forgotten_user_is_the_default_of_no_key(db: Database, how: str) -> None:
    """Their name stayed in the log for ever, in the only texts that no erasure reached; without it a key opens more."""
    mem = worlddb.memory(db, user="zara.quux")
    mem.add("Zara likes plums.")
    worlddb.memory(db, user="zara").add("Another one.")
    asked: Any = {"right": "write", "why": "zara.quux has a phone"}
    phone = db.accounts.create_key("zara.quux-phone", user="zara.quux", **asked)
    (scope,) = db.view().find(name="user:zara.quux")
    tablet = db.accounts.create_key("tablet", user="zara.quux", world=scope)
    db.accounts.end_key("tablet")
    desk, other = db.accounts.create_key("desk"), db.accounts.create_key("other", user="zara")
    assert db.erasure_plan(scope, members=True).keys == ("zara.quux-phone",)
    with worlddb.open(db.path, embedder=None) as server:
        assert server.accounts.authenticate(phone.secret) is not None
        done = mem.forget_user(reason="request 7") if how == "forget_user" else db.erase(scope, reason="request 7")
        assert [note.refs[1:] for note in done.notes if note.code == "keys_ended"] == [(phone.key.id,)]
        for each in (db, server):
            opens = [each.accounts.authenticate(made.secret) is not None for made in (phone, tablet, desk, other)]
            assert opens == [False, False, True, True]
            assert [key.name for key in each.accounts.keys(ended=False)] == [
                "desk",
                "other",
            ] and not each.accounts.trouble
    folder = db.path.parent
    assert find_traces(folder, ["zara.quux"]) == [] and b'"zara"' not in (folder / "store.accounts").read_bytes()
    assert db.check_erasure(db.erasure_receipt(done)).ok and db.verify(deep=True).ok
    copied = db.backup(folder / "backup")
    assert copied.root == db.view().hash() and find_traces(folder, ["zara.quux"]) == []
    made = db.replay(folder / "replayed", seq=done.seq)
    assert made.matches_recorded


@pytest.mark.parametrize("reason", ["", None, "x" * 100_000])
def test_a_refused_erasure_of_a_user_who_never_wrote_writes_no_name(db: Database, reason: Any) -> None:
    db.accounts.create_key("phone", user="zara")
    head = db.head()
    for forget in (partial(db.forget_user, "zara"), worlddb.memory(db, user="zara").forget_user):
        with pytest.raises(worlddb.InputError):
            forget(reason=reason)
    assert db.head() == head and len(db.accounts.keys()) == 1


def test_a_key_of_a_user_of_one_tenant_goes_with_them_there_alone(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    tenant = str(db.create("Topic", "tenant").ref)
    key = db.accounts.create_key("phone", user="zara", world=tenant)
    run = LocalRunner(capsys, db.path)
    for told in ([], ["--dry-run"]):
        assert run("forget-user", "zara", "--reason", "request 7", *told).error == "unknown_reference"
    assert db.accounts.authenticate(key.secret) is not None
    for asked in (["--dry-run"], []):
        assert "access keys" in run("forget-user", "zara", "--reason", "request 7", "--world", tenant, *asked).out
    assert db.accounts.authenticate(key.secret) is None


@pytest.mark.parametrize("door", ["library", "front door", "command line", "mcp"])
def test_a_key_of_a_user_who_never_wrote_goes_with_them(
    db: Database, door: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """There was no such user until they wrote, and until then the log kept their name in the texts of their key."""
    phone = db.accounts.create_key("zara.quux-phone", user="zara.quux")
    db.accounts.create_key("old", user="zara.quux")
    db.accounts.end_key("old")
    desk = db.accounts.create_key("desk", user="zara")
    if door == "library":
        db.forget_user("zara.quux", reason="request 7")
    elif door == "front door":
        worlddb.memory(db, user="zara.quux").forget_user(reason="request 7")
    elif door == "command line":
        run = LocalRunner(capsys, db.path)
        assert "access keys that name them" in run("forget-user", "zara.quux", "--dry-run").out
        assert db.accounts.authenticate(phone.secret) is not None
        receipt = db.path.parent / "receipt.json"
        assert run("forget-user", "zara.quux", "--reason", "request 7", "--receipt", str(receipt)).code == 0
        assert run("check-receipt", str(receipt)).code == 0
        assert run("forget-user", "nobody", "--reason", "request 7").error == "unknown_reference"
    else:
        asked = tool_arguments.ForgetUser(user_id="zara.quux", reason="request 7", confirm="user:zara.quux")
        write_tools.forget_user(Session(db), asked, Call("test", "memory_forget_user"))
    assert db.accounts.authenticate(phone.secret) is None and db.accounts.authenticate(desk.secret) is not None
    assert find_traces(db.path.parent, ["zara.quux"]) == [] and db.verify(deep=True).ok
    with pytest.raises(worlddb.UnknownReference):
        db.forget_user("zara.quux", reason="request 7")


def test_a_user_who_comes_back_is_forgotten_again_with_their_new_key(db: Database) -> None:
    for _ in range(2):
        mem = worlddb.memory(db, user="zara.quux")
        mem.add("Zara likes plums.")
        made = db.accounts.create_key("phone", user="zara.quux")
        mem.forget_user(reason="request 7")
        assert db.accounts.authenticate(made.secret) is None
    assert find_traces(db.path.parent, ["zara.quux"]) == []


def test_an_erasure_is_told_whose_ended_key_stays_in_the_file(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It raised, as if nothing was erased, and the caches of the erased texts stayed."""
    mem = worlddb.memory(db, user="zara")
    mem.add("Zara likes plums.")
    phone = db.accounts.create_key("phone", user="zara")

    def refuse(_: SecretsFile, secrets: object) -> None:
        raise worlddb.UnavailableError("store.accounts cannot be written: No space left", "Check disk space")

    with monkeypatch.context() as patch:
        patch.setattr(SecretsFile, "write", refuse)
        done = mem.forget_user(reason="request 7")
    assert [note.code for note in done.notes][-2:] == ["keys_ended", "keys_in_file"]
    assert "No space left" in str(done.notes[-1]) and db.check_erasure(db.erasure_receipt(done)).ok
    assert db.accounts.authenticate(phone.secret) is None


def test_a_user_of_the_same_name_in_another_tenants_world_keeps_their_key(db: Database) -> None:
    homes = [None, *(db.create("Tenant", name) for name in ("Acme", "Globex"))]
    keys = [db.accounts.create_key(f"key-{number}", user="ana", world=home) for number, home in enumerate(homes)]
    for number, home in enumerate(homes):
        scope = db.create("Scope", "user:ana", world=home, resolve=False)
        db.create("Fact", "", content=f"Ana has {number} cats.", world=scope)
        if home is not None:
            db.forget_user("ana", world=home, reason="request 7")
        left = [db.accounts.authenticate(each.secret) is not None for each in keys]
        assert left == [True, number < 1, number < 2]
