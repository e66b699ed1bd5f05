"""``worlddb export``, as a person and as a program use it."""

from __future__ import annotations

import shutil

import pytest

import worlddb
from tests.support.running import LocalRunner


@pytest.fixture
def run(writing: LocalRunner) -> LocalRunner:
    return writing


def test_an_export_says_what_it_wrote_and_the_bundle_says_the_same(run, small, tmp_path):
    file = tmp_path / "team.bundle"
    told = run.json("export", "Search team", "--out", file)
    stated = worlddb.check_bundle(file)
    assert (told["world"], told["hash"], told["bundle"]) == (small.team, stated.world_hash, stated.hash)
    assert (told["seq"], told["root"]) == (11, run.json("head")["root"])
    assert (told["worlds"], told["frames"], told["bytes"]) == (stated.worlds, stated.frames, stated.size)
    again = run("export", small.team, "--out", file)
    assert (again.code, again.error) == (2, "input")
    assert f"bundle {stated.hash}" in run("export", small.team, "--out", file, "--overwrite").out


def test_an_export_of_an_earlier_moment_has_the_root_of_then(run, tmp_path):
    told = run.json("export", "--out", tmp_path / "then.bundle.zst", "--ingested", 6)
    assert told["root"] == told["hash"] == run.json("hash", "--ingested", 6)["root"]
    assert run.json("at", 6, "export", "--out", tmp_path / "at.bundle")["bundle"] == told["bundle"]


def test_an_export_as_json_lines_goes_to_the_output_or_to_a_file(run, small, tmp_path):
    lines = run("export", "--format", "jsonl").lines
    assert [lines[0]["kind"], lines[-1]["kind"]] == ["export", "end"]
    assert small.sarah in {line["ref"] for line in lines[1:-1]}
    told = run.json("export", small.team, "--format", "jsonl", "--out", tmp_path / "team.jsonl")
    assert (told["seq"], told["world"], told["worlds"]) == (11, small.team, 7)
    assert len((tmp_path / "team.jsonl").read_text("utf-8").splitlines()) == 2 + told["worlds"] + told["edges"] + 1


def test_a_bundle_is_not_written_to_a_terminal_or_over_something_else(run, tmp_path):
    nowhere = run("export", "--json")
    assert (nowhere.code, nowhere.error) == (2, "input")
    assert "--out FILE" in nowhere.err
    assert run("export", "Nobody", "--out", tmp_path / "x").error == "unknown_reference"
    assert run("export", "--out", tmp_path / "no" / "folder").error == "input"
    assert run("export", "--out", tmp_path, "--overwrite").code == 2
    assert not (tmp_path / "x").exists()


def test_an_import_says_what_came_and_the_second_one_that_nothing_did(run, small, tmp_path, capsys):
    file = tmp_path / "team.bundle.zst"
    sent = run.json("export", "Search team", "--out", file)
    other = LocalRunner(capsys, tmp_path / "other")
    told = other.json("import", file, "--why", "moved", "--author", "importer")
    assert (told["ref"], told["world_hash"], told["bundle"]["hash"]) == (small.team, sent["hash"], sent["hash"])
    assert (told["bundle"]["seq"], told["bundle"]["store"]) == (sent["seq"], sent["store"])
    assert (told["seq"], told["root"]) == (2, other.json("head")["root"])
    assert other.json("hash", "Search team")["root"] == sent["hash"]
    assert other.json("verify", "--deep")["ok"]
    log = other("log", "--json").lines
    assert {entry["author"] for entry in log[1:]} == {"importer"}
    assert log[1]["event"] == "imported"
    assert "imported" in other("log").out
    assert other.json("import", file)["events"] == 0
    assert "nothing was written" in other("import", file).out
    assert "Sarah Chen" in other("show", small.sarah).out
    shelf = other.json("children")["children"][0]["ref"]
    assert other("import", file, "--into", shelf).error == "refused"
    assert other("import", file, "--into", "Nobody").error == "unknown_reference"


def test_a_bundle_can_be_checked_without_a_store(run, tmp_path, capsys):
    file = tmp_path / "team.bundle"
    sent = run.json("export", "--out", file)
    nowhere = LocalRunner(capsys, tmp_path / "nowhere")
    told = nowhere.json("import", file, "--check")
    assert (told["ok"], told["bundle"]["bundle"], told["bundle"]["hash"]) == (True, sent["bundle"], sent["hash"])
    assert nowhere("import", file, "--check").out.startswith("holds  ")
    assert not (tmp_path / "nowhere").exists()


def test_what_a_bundle_does_outside_of_it_is_listed_refused_and_done_only_if_it_is_allowed(
    run, small, tmp_path, capsys
):
    file = tmp_path / "newer.bundle"
    shutil.copytree(run.store, tmp_path / "copy")
    with worlddb.open(tmp_path / "copy") as copy:
        newer = copy.create("Note", "newer").ref
        begins = copy.view().history(small.yes)[0].valid.start
        copy.link(newer, "supersedes", small.yes, valid_from=begins, home=newer)
        copy.export(newer, file)
    told = run.json("import", file, "--check")
    assert {(one["kind"], one["world"], one["by"]) for one in told["outside"]} >= {("ends", small.yes, newer)}
    assert told["refused"] is None and told["events"] > 0
    assert "--allow-outside" in run("import", file, "--check").out
    refused = run("import", file)
    assert (refused.code, refused.error) == (3, "refused")
    assert small.yes[:12] in refused.err and "--allow-outside" in refused.err and "--check" in refused.err
    assert "as you allowed" in run("import", file, "--allow-outside").out
    assert run.json("import", file, "--check")["outside"] == []


@pytest.mark.parametrize("harm", ["cut", "changed", "empty", "missing"])
def test_a_bundle_that_does_not_hold_makes_no_store(harm, run, tmp_path, capsys):
    file = tmp_path / "team.bundle"
    run.json("export", "--out", file)
    whole = file.read_bytes()
    harmed = {
        "cut": whole[:-40],
        "changed": whole[:300] + b"!" + whole[301:],
        "empty": b"",
    }
    file.unlink()
    if harm in harmed:
        file.write_bytes(harmed[harm])
    for argv in (["import", file], ["import", file, "--check"]):
        refused = LocalRunner(capsys, tmp_path / "new")(*argv, "--json")
        assert (refused.code, refused.error) == (2, "input" if harm == "missing" else "invalid_bundle")
        assert refused.json["error"]["remedy"]
    assert ("worlddb ingest" in refused.err) == (harm == "empty")
    assert not (tmp_path / "new").exists()


def test_a_file_of_conversations_is_taken_in_and_not_with_what_is_for_bundles(run, tmp_path):
    file = tmp_path / "chat.jsonl"
    file.write_bytes(b'{"speaker": "Ann", "text": "hello"}\n')
    for option in ("--check", "--allow-outside"):
        refused = run("import", file, option)
        assert refused.code == 2 and "for bundles" in refused.err
    assert run.json("import", file)["turns"] == 1


def test_no_command_writes_in_the_place_of_a_file_beside_a_store(run, small):
    """An export with --overwrite replaced the secrets of the access keys."""
    run("keys", "add", "k", "--all", "--read")
    secrets = run.store.with_name(f"{run.store.name}.accounts")
    before = secrets.read_bytes()
    for name in ("accounts", "keys", "usage", "accounts.lock"):
        place = f"{run.store}.{name}"
        for argv in (
            ("export", "--out", place, "--overwrite"),
            ("export", "--format", "jsonl", "--out", place, "--overwrite"),
            ("prove", small.team, "--out", place, "--overwrite"),
            ("backup", place),
            ("replay", "--until", 3, "--into", place),
        ):
            refused = run(*argv)
            assert refused.code == 2 and "belongs to the store" in refused.err, (argv, refused)
    assert secrets.read_bytes() == before and not run.store.with_name(f"{run.store.name}.keys").exists()


def test_no_file_that_a_command_writes_replaces_one_of_the_store(run, small):
    """With --overwrite, a proof or a report could be written over the data file."""
    store = run.store
    for words in (
        ("export", "--out", store / "data.mdb", "--overwrite"),
        ("prove", small.team, "--out", store / "data.mdb", "--overwrite"),
        ("diff", store, "--at-a", "3", "--html", store / "data.mdb", "--overwrite"),
        ("erase", small.yes, "--reason", "asked", "--yes", "--receipt", store / "receipt.json"),
    ):
        told = run(*words)
        assert (told.code, told.error) == (2, "input"), words
        assert "lies inside the store" in told.err
    assert run("verify", "--deep").code == 0


@pytest.mark.parametrize("ending", ["", ".zst"])
def test_what_was_exported_and_is_taken_in_the_wrong_way_is_told_the_right_one(ending, run, tmp_path, capsys):
    lines, bundle = tmp_path / f"all.jsonl{ending}", tmp_path / f"all.bundle{ending}"
    assert run("export", "--format", "jsonl", "--out", lines).code == 0
    assert run("export", "--out", bundle).code == 0
    other = LocalRunner(capsys, tmp_path / "other")
    for words in (("ingest", lines), ("ingest", lines, "--format", "jsonl"), ("import", lines)):
        told = other(*words)
        assert told.code == 2 and "an export" in told.err and "worlddb export --out FILE" in told.err, words
        assert "keeps identifiers" in told.err
    for words in (("ingest", bundle), ("ingest", bundle, "--format", "jsonl")):
        told = other(*words)
        assert (told.code, told.error) == (2, "malformed_file") and "`worlddb import FILE`" in told.err, words
    assert not other.store.exists()
    assert other("import", bundle).code == 0


def test_a_conversation_that_speaks_of_exports_is_still_one(run, tmp_path, capsys):
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"speaker": "Ann", "text": "worlddb-bundle 1 is what it begins with"}\n', "utf-8")
    assert run("ingest", chat).code == 0


def test_a_copy_that_has_not_erased_what_was_erased_here_is_not_joined(run, small, tmp_path, capsys):
    file, back = tmp_path / "team.bundle", tmp_path / "back.bundle"
    run("export", "Search team", "--out", file)
    other = LocalRunner(capsys, tmp_path / "other")
    other("import", file)
    other("export", small.team, "--out", back)
    run("erase", small.sarah, "--reason", "request 7", "--yes")
    told = run("import", back, "--join")
    assert (told.code, told.error) == (3, "refused") and small.sarah[:12] in told.err and "Erase them in" in told.err
    assert "erased here" in run("import", back, "--check", "--join").out
    other("erase", small.sarah, "--reason", "request 7", "--yes")
    other("export", small.team, "--out", back, "--overwrite")
    assert run("import", back, "--join").code == 0
