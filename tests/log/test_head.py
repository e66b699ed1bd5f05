"""Finds a forged or shortened log by a head that was kept elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import worlddb
from tests.support.faults import forge
from tests.support.faults.damaged import verify_or_error
from tests.support.running import LocalRunner
from worlddb.log.model.codec import chain_hash
from worlddb.log.model.merkle import Frontier, tree_root
from worlddb.projections.tables.apply.log_marks import LogTree

KEY = worlddb.new_key("example.com/ada", entropy=worlddb.SeededEntropy(1))
OTHER = worlddb.new_key("example.com/tom", entropy=worlddb.SeededEntropy(2))


def held_against(store: Path, head: str, *keys: str, deep: bool = False) -> worlddb.Verified:
    with worlddb.open(store, author="x", create=False) as db:
        return db.verify(deep=deep, head=head, keys=keys)


def checkpoint(store: Path, seq: int | None = None) -> str:
    with worlddb.open(store, author="x", create=False) as db:
        return db.checkpoint(seq=seq)


def test_the_tables_tree_is_that_of_the_headers_at_every_commit(whole: Path) -> None:
    with worlddb.open(whole, author="x") as db, db._reader.snapshot() as snapshot:
        tree, last = Frontier(), snapshot.log.head().seq
        for seq in range(1, last + 1):
            tree.append(chain_hash(snapshot.log.stored_header(seq)[1]))
            assert tree_root(LogTree(snapshot.log, snapshot.tables), seq) == tree.root()
            assert db.head(seq=seq).tree == tree.root().hex()
        assert last > 20
        assert db.head().tree == tree.root().hex()


def test_every_head_that_a_store_ever_had_still_holds(whole: Path) -> None:
    with worlddb.open(whole, author="x") as db:
        last = db.head().seq
        for seq in range(1, last + 1):
            head = db.checkpoint(seq=seq)
            assert head.splitlines()[:2] == [f"worlddb/{db.head().store_id}", str(seq)]
            assert db.verify(head=head).ok
        then = db.head(ingested=db.head(seq=5).ingested_at)
        assert then == db.head(seq=5) and then.seq == 5
        with pytest.raises(worlddb.InputError, match="Nothing had been committed"):
            db.head(seq=0)
        with pytest.raises(worlddb.InputError, match="no commit"):
            db.checkpoint(seq=last + 1)


def test_a_forged_log_with_recomputed_hashes_is_found_with_a_head_and_not_without(whole: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged"
    victim = forge.forged_history(whole, forged, "engineering lead", "engineering fool")
    assert victim > 1
    without = verify_or_error(forged, deep=True)
    assert isinstance(without, worlddb.Verified) and without.ok, "a perfect forgery"
    with worlddb.open(forged, author="x") as db:
        assert any(entry.text == "engineering fool" for entry in db.log())
    last = without.commits
    for seq in range(1, last + 1):
        found = held_against(forged, checkpoint(whole, seq=seq))
        assert found.ok == (seq < victim), seq
        if seq >= victim:
            assert found.first_bad_seq == seq
            assert "one of them was rewritten" in found.findings[0].problem


def test_a_truncated_log_is_found_with_a_head_and_not_without(whole: Path, tmp_path: Path) -> None:
    head, short = checkpoint(whole), tmp_path / "short"
    with worlddb.open(whole, author="x") as db:
        last = db.head().seq
        assert db.replay(short, seq=last - 3).matches_recorded
        erased_since = any(entry.event == "erased" for entry in db.log(last - 2))
    without = verify_or_error(short, deep=True)
    assert isinstance(without, worlddb.Verified) and without.ok
    found = held_against(short, head)
    assert (found.head, found.first_bad_seq) == ("shorter", 0), "a commit that is not there cannot be bad"
    assert f"covers {last} commits and the log ends at {last - 3 + erased_since}" in found.findings[0].problem
    assert held_against(short, checkpoint(whole, seq=last - 3)).ok


def test_a_head_of_another_store_is_told_apart_from_a_rewritten_log(whole: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other", author="x") as other:
        found = held_against(whole, other.checkpoint())
    assert (found.head, found.first_bad_seq) == ("other_store", 0)
    assert "belongs to another store" in found.findings[0].problem


def test_a_head_that_says_something_else_of_its_commit_is_found(whole: Path) -> None:
    head = checkpoint(whole)
    for word in ("chain", "root", "time"):
        lines = head.splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith(word))
        changed = f"{word} {'ab' * 32}" if word != "time" else "time 2027-01-01T00:00:00Z"
        assert changed != lines[at]
        found = held_against(whole, "\n".join([*lines[:at], changed, *lines[at + 1 :], ""]))
        assert (found.ok, found.head) == (False, "untrusted") and word in found.findings[0].problem


def test_the_keys_that_are_given_must_have_signed_the_head(whole: Path) -> None:
    with worlddb.open(whole, author="x") as db:
        signed = db.checkpoint(sign_with=[KEY.signing])
        assert db.verify(head=signed, keys=[KEY.verifier]).ok
        both = db.checkpoint(sign_with=[KEY.signing, OTHER.signing])
        assert both == worlddb.sign_checkpoint(signed, OTHER.signing)
        assert db.verify(head=both, keys=[KEY.verifier, OTHER.verifier]).ok
        found = db.verify(head=signed, keys=[KEY.verifier, OTHER.verifier])
        assert [finding.seq for finding in found.findings] == [0]
        assert "no valid signature of example.com/tom" in found.findings[0].problem
        for wrong in ([KEY.verifier], KEY.signing):
            with pytest.raises(worlddb.InputError):
                db.checkpoint(sign_with=wrong)


def test_a_forged_tree_in_the_tables_does_not_get_past_a_head(store: Path) -> None:
    head = checkpoint(store)
    table = forge.FIRST_TABLE + list(_tables()).index("log_tree")
    rows = [pair for pair in forge.pairs(store) if pair[0][0] == table]
    forge.rewrite(store, [(key, value[::-1]) for key, value in rows])
    found = held_against(store, head)
    (problem,) = [finding.problem for finding in found.findings]
    assert "the tables' Merkle tree over the commits" in problem, "the log itself is as it was"
    with worlddb.open(store, author="x") as db:
        assert db.checkpoint() != head
        db.rebuild("tables")
        assert db.checkpoint() == head


def _tables():
    from worlddb.projections.tables.storage.schema import TABLES

    return TABLES


def test_a_damaged_log_is_a_finding_beside_a_head_too(store: Path) -> None:
    head = checkpoint(store)
    assert forge.delete(store, lambda key: key[0] == forge.COMMIT and forge.seq_of(key) == 9)
    found = held_against(store, head)
    assert found.first_bad_seq == 9
    assert any("cannot be compared with the head" in finding.problem for finding in found.findings)


# -- on the command line


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], store: Path) -> LocalRunner:
    return LocalRunner(capsys, store)


def test_a_head_is_printed_kept_signed_and_held_against_the_store(run: LocalRunner, tmp_path: Path) -> None:
    key, head = tmp_path / "ada.key", tmp_path / "monday.head"
    made = run("keygen", "example.com/ada", "--out", key)
    assert made.code == 0 and made.out.startswith("example.com/ada+")
    assert key.stat().st_mode & 0o077 == 0
    told = run("head", "--sign", key)
    head.write_text(told.out, encoding="utf-8")
    public = tmp_path / "ada.pub"
    public.write_text(made.out, encoding="utf-8")
    for given in (public, made.out.strip()):
        assert run("verify", "--head", head, "--key", given).out.startswith("intact")
    document = run.json("verify", "--head", head, "--deep")
    assert (document["ok"], document["head"], document["keys"]) == (True, str(head), [])
    assert "signatures were not checked" in run("verify", "--head", head).out
    refused = run.json("verify", "--head", head, "--key", OTHER.verifier, code=1)
    assert (refused["ok"], refused["first_bad_seq"]) == (False, 0)
    assert "the head cannot be trusted" in run("verify", "--head", head, "--key", OTHER.verifier).out


def test_the_json_of_a_head_is_taken_as_a_head(run: LocalRunner, tmp_path: Path) -> None:
    document = run.json("head", "--ingested", "7")
    assert document.keys() >= {"seq", "chain", "root", "tree", "store", "checkpoint", "ingested_at"}
    assert document["seq"] == 7
    assert f"chain {document['chain']}\nroot {document['root']}\n" in document["checkpoint"]
    (tmp_path / "head.json").write_text(json.dumps(document))
    assert run("verify", "--head", tmp_path / "head.json").code == 0


def test_a_rewritten_and_a_shortened_store_end_in_no(run: LocalRunner, whole: Path, tmp_path: Path) -> None:
    (tmp_path / "head").write_text(run("head").out)
    forge.forged_history(whole, tmp_path / "forged", "engineering lead", "engineering fool")
    run("replay", "--until", "9", "--into", tmp_path / "short")
    for name, problem, verdict in (
        ("forged", "one of them was rewritten", "the log was rewritten"),
        ("short", "it was cut short", "the log is shorter"),
    ):
        elsewhere = LocalRunner(run._capsys, tmp_path / name)
        assert elsewhere("verify", "--deep").code == 0
        told = elsewhere("verify", "--head", tmp_path / "head")
        assert told.code == 1 and problem in told.out and verdict in told.out
        assert "first bad commit" not in told.out and "commit 10:" not in told.out


def test_a_head_that_cannot_be_trusted_or_is_of_another_store_says_nothing_of_this_one(
    run: LocalRunner, whole: Path, tmp_path: Path
) -> None:
    with worlddb.open(whole, author="x") as db:
        signed = db.checkpoint(sign_with=[KEY.signing])
    size = next(line for line in signed.splitlines()[1:])
    (tmp_path / "forged").write_text(signed.replace(f"\n{size}\n", f"\n{int(size) + 5}\n", 1))
    told = run("verify", "--head", tmp_path / "forged", "--key", KEY.verifier)
    assert told.code == 1 and "the head cannot be trusted" in told.out and "no valid signature" in told.out
    with worlddb.open(tmp_path / "other", author="x") as other:
        (tmp_path / "other.head").write_text(other.checkpoint())
    other_told = run("verify", "--head", tmp_path / "other.head")
    assert other_told.code == 1 and "the head belongs to another store" in other_told.out
    for each in (told, other_told):
        assert "damaged" not in each.out and "first bad commit" not in each.out and "Restore" not in each.out


def test_files_that_are_no_heads_or_keys_are_told_apart_from_damage(run: LocalRunner, tmp_path: Path) -> None:
    bad = {
        "empty": (b"", "malformed_file"),
        "noise": (bytes(range(256)), "malformed_file"),
        "json": (b'{"seq": 1}', "malformed_file"),
        "large": (b"a" * 300_000, "limit_exceeded"),
    }
    for name, (stored, code) in bad.items():
        (tmp_path / name).write_bytes(stored)
        told = run("verify", "--head", tmp_path / name)
        assert (told.code, told.error) == (2, code), name
        assert run("head", "--sign", tmp_path / name).error == "input", name
        assert run("verify", "--key", tmp_path / name).error == "input", name
    assert run("verify", "--head", tmp_path / "none").error == "missing_file"
    assert run("verify", "--head", tmp_path).error == "missing_file"
    assert run("head", "--sign", tmp_path / "none").error == "missing_file"
    assert run("verify", "--key", "ada").error == "input"
    assert run("keygen", "two words", "--out", tmp_path / "k").error == "input"
    assert not (tmp_path / "k").exists()
    assert run("keygen", "ada", "--out", tmp_path / "noise").error == "input"
    assert (tmp_path / "noise").read_bytes() == bytes(range(256))
    shutil.rmtree(tmp_path / "store")
    assert run("head").error == "not_a_store"
