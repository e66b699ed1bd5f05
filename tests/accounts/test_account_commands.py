"""``worlddb accounts``, ``keys`` and ``plans``."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb.tools.mcp import access_keys


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> LocalRunner:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.create("Team", "Search")
    return LocalRunner(capsys, tmp_path / "store")


def test_a_key_is_made_shown_once_and_ended(run: LocalRunner) -> None:
    run("plans", "set", "free", "--requests-per-minute", "60", "--features", "vectors,sparql")
    run("accounts", "add", "ana", "--plan", "free")
    how = ("--account", "ana", "--world", "Search", "--write", "--user", "ana", "--expires-at", "2100-01-01")
    made = run.json("keys", "add", "laptop", *how)
    with worlddb.open(run.store, embedder=None) as db:
        grant = db.accounts.authenticate(made["secret"])
        assert grant is not None and (grant.account_name, grant.plan, grant.right) == ("ana", "free", "write")
        assert grant.limits == worlddb.Limits(requests_per_minute=60, features=("sparql", "vectors"))
    listed = run.json("keys", "list", "--account", "ana")
    assert [(each["name"], each["expires_at"][:4]) for each in listed["keys"]] == [("laptop", "2100")]
    assert made["secret"] not in run("keys", "list").out and "laptop" in run("keys", "list").out
    assert "no longer opens anything" in run("keys", "end", "laptop").out
    with worlddb.open(run.store, embedder=None) as db:
        assert db.accounts.authenticate(made["secret"]) is None
    assert run.json("keys", "list")["keys"] == []
    assert [each["name"] for each in run.json("keys", "list", "--ended")["keys"]] == ["laptop"]
    plain = run("keys", "add", "plain", "--all", "--read")
    assert plain.out.startswith("worlddb_") and "only time" in plain.err


def test_an_account_is_made_changed_and_closed(run: LocalRunner) -> None:
    assert run("accounts", "list").out.startswith("there are no accounts")
    assert run("plans", "list").out.startswith("there are no plans")
    assert "has no limits" in run("accounts", "add", "ana").out
    assert run.json("plans", "set", "free", "--worlds", "3")["limits"]["worlds"] == 3
    assert "has the plan free" in run("accounts", "set", "ana", "--plan", "free", "--rename", "ana-2").out
    assert "free: 3 worlds; all features" in run("plans", "list").out
    assert "is closed" in run("accounts", "end", "ana-2").out
    assert run.json("accounts", "list")["accounts"] == []
    assert "closed" in run("accounts", "list", "--closed").out


@pytest.mark.parametrize(
    "line",
    [
        "accounts list ana",
        "accounts add",
        "accounts set ana",
        "accounts end ana --plan free",
        "keys add k",
        "keys add k --all",
        "keys add k --read",
        "keys add k --all --read --ended",
        "keys end k --all",
        "keys list --all",
        "plans set",
        "plans list --worlds 3",
    ],
)
def test_arguments_of_another_action_are_refused_and_write_nothing(run: LocalRunner, line: str) -> None:
    before = run.json("head")
    ended = run(*line.split())
    assert (ended.code, ended.error) == (2, "usage") and "Write it as: worlddb " in ended.err
    assert run.json("head") == before


def test_help_says_which_keys_are_which(run: LocalRunner) -> None:
    assert "`worlddb key`" in run("keys", "--help").out and "`keys`" in run("key", "--help").out


@pytest.mark.parametrize("damage", ["garbage", ""])
def test_a_damaged_or_missing_file_of_secrets_is_told_by_the_list_the_doctor_and_the_server(
    damage: str, run: LocalRunner, caplog: pytest.LogCaptureFixture
) -> None:
    """All three said nothing, while every client was refused."""
    run("keys", "add", "laptop", "--all", "--read")
    file = Path(f"{run.store}.accounts")
    if damage:
        file.write_text(damage, "utf-8")
    else:
        file.unlink()
    code, told = ("access_keys_unusable", "does not hold the secrets") if damage else ("access_keys_missing", "missing")
    listed = run("keys", "list")
    assert listed.code == 1 and told in listed.out
    found = {each.code: each for each in worlddb.diagnose(run.store).symptoms}
    assert found[code].where == str(file) and found[code].wrong is bool(damage)
    with worlddb.open(run.store, embedder=None) as db:
        gate = access_keys.Gate(db, access_keys.KeyFile(access_keys.default_key_file(run.store)), 1)
        gate.report_trouble()
        assert gate.authenticate("wrong") is None
    assert [told in line for line in caplog.messages] == [True]


def test_the_doctor_finds_a_damaged_file_of_keys_and_of_usage(run: LocalRunner) -> None:
    for name in ("keys", "usage"):
        file = Path(f"{run.store}.{name}")
        file.write_text("{bad", "utf-8")
        file.chmod(0o600)
    found = {each["code"]: each for each in run.json("doctor", code=1)["symptoms"]}
    assert found["key_file_unusable"]["wrong"] and "is not a key file" in found["key_file_unusable"]["what"]
    assert not found["usage_unusable"]["wrong"] and "cannot be read" in found["usage_unusable"]["what"]
