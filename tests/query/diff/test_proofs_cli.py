"""Tests ``prove`` and ``check-proof``: output, exit codes and malformed files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.proving import changes
from tests.support.running import LocalRunner, SmallRefs


@pytest.fixture
def run(reading: LocalRunner) -> LocalRunner:
    return reading


@pytest.fixture
def head(run: LocalRunner, tmp_path: Path) -> Path:
    file = tmp_path / "now.head"
    file.write_text(run("head").out, encoding="utf-8")
    return file


def test_a_proof_is_made_by_name_and_checked_where_there_is_no_store(
    run: LocalRunner, head: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.proof"
    name = next(world["name"] for world in run.json("children")["children"])
    told = run("prove", name, "--with-text", "--out", file)
    assert told.code == 0 and f"{file.stat().st_size:,} bytes" in told.out
    again = run("prove", name, "--out", file)
    assert (again.code, again.error) == (2, "input") and "--overwrite" in again.err
    assert run("prove", name, "--with-text", "--out", file, "--overwrite").code == 0
    nowhere = LocalRunner(capsys, tmp_path / "nowhere")
    found = nowhere("check-proof", file, "--head", head)
    assert found.code == 0 and found.out.startswith("holds  at commit 11 of 11, version ")
    assert name in found.out and "signatures were not checked" in found.out
    document = nowhere.json("check-proof", file, "--head", head)
    assert (document["ok"], document["reason"], document["kind"]) == (True, "", "inclusion")
    assert document["claim"]["name"] == name and document["claim"]["ingested_at"].endswith("Z")


def test_a_proof_that_was_to_show_an_erased_text_says_that_it_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, file = LocalRunner(capsys, tmp_path / "memory"), tmp_path / "p"
    with worlddb.open(tmp_path / "memory", author="ada") as db:
        kept, gone = (db.create("Note", name, content="text").ref for name in ("kept", "gone"))
        assert db.erase(gone, reason="asked for")
    shown, empty = (here("prove", ref, "--with-text", "--out", file, "--overwrite") for ref in (kept, gone))
    assert shown.code == empty.code == 0
    assert not shown.err and "The proof has no text" in empty.err
    assert [here.json("prove", ref, "--with-text")["shows_text"] for ref in (kept, gone)] == [True, False]
    assert not here("prove", gone, "--out", file, "--overwrite").err


def test_the_times_of_a_checked_claim_are_dates_and_the_author_is_that_of_the_commit_it_is_as_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, file, head = LocalRunner(capsys, tmp_path / "memory"), tmp_path / "p", tmp_path / "head"
    with worlddb.open(tmp_path / "memory", author="ada") as db:
        one, other = (db.create("Note", name).ref for name in ("one", "other"))
    with worlddb.open(tmp_path / "memory", author="ben") as db:
        edge = db.link(one, "refers_to", other, valid_from="2024-01-01").ref
    head.write_text(here("head").out, encoding="utf-8")
    here("prove", one, "--out", file)
    claim = here.json("check-proof", file, "--head", head)["claim"]
    assert claim["commit_author"] == "ben" and "author" not in claim
    assert claim["created_at"].endswith("Z") and claim["created_at"] in here("check-proof", file, "--head", head).out
    here("prove", edge, "--out", file, "--overwrite")
    assert here.json("check-proof", file, "--head", head)["claim"]["edge"]["valid_from"] == "2024-01-01T00:00:00Z"


def test_a_proof_printed_as_text_or_as_json_is_the_same_proof(
    run: LocalRunner, head: Path, small: SmallRefs, tmp_path: Path
) -> None:
    plain, told = run("prove", small.porto), run.json("prove", small.porto)
    assert told["ok"] is True and told["proof"] == json.loads(plain.out)
    for text in (plain.out, json.dumps(told)):
        (tmp_path / "p").write_text(text, encoding="utf-8")
        assert run.json("check-proof", tmp_path / "p", "--head", head)["ok"]


def test_a_proof_of_the_past_an_edge_and_a_prefix(
    run: LocalRunner, head: Path, small: SmallRefs, tmp_path: Path
) -> None:
    edge = next(entry for entry in run("log", "--json").lines if entry["data"].get("type") == "supersedes")["refs"][0]
    (tmp_path / "old.head").write_text(run("head", "--ingested", "8").out, encoding="utf-8")
    for argv in (["prove", small.lisbon, "--ingested", "6"], ["prove", edge], ["prove", "--consistency", "8"]):
        (tmp_path / "p").write_text(run(*argv, "--json").out, encoding="utf-8")
        assert run("check-proof", tmp_path / "p", "--head", head).out.startswith("holds")
    assert run("check-proof", tmp_path / "p", "--head", tmp_path / "old.head", "--head", head).code == 0
    text = run("at", "6", "prove", small.lisbon, "--head", tmp_path / "old.head").out
    (tmp_path / "p").write_text(text, encoding="utf-8")
    assert run.json("check-proof", tmp_path / "p", "--head", tmp_path / "old.head")["claim"]["seq"] == 6
    assert "of 8 commits" in run("check-proof", tmp_path / "p", "--head", head).out
    told = run.json("check-proof", tmp_path / "p", "--head", head, code=1)
    assert (told["ok"], told["claim"]) == (False, {})


def test_a_head_of_another_store_and_a_missing_signature_are_a_no(run: LocalRunner, head: Path, tmp_path: Path) -> None:
    run("prove", "--consistency", "3", "--out", tmp_path / "p")
    with worlddb.open(tmp_path / "other") as db:
        (tmp_path / "other.head").write_text(db.checkpoint(), encoding="utf-8")
    told = run("check-proof", tmp_path / "p", "--head", tmp_path / "other.head")
    assert told.code == 1 and "another store" in told.out
    pair = worlddb.new_key("ada")
    told = run("check-proof", tmp_path / "p", "--head", head, "--key", pair.verifier)
    assert told.code == 1 and "no valid signature of ada" in told.out
    signed = worlddb.sign_checkpoint(head.read_bytes(), pair.signing)
    head.write_text(signed, encoding="utf-8")
    told = run("check-proof", tmp_path / "p", "--head", head, "--key", pair.verifier)
    assert told.code == 0 and "not checked" not in told.out


def test_files_that_are_no_proofs_or_cut_short_are_told_as_such(
    run: LocalRunner, head: Path, small: SmallRefs, tmp_path: Path
) -> None:
    whole = run("prove", small.porto).out
    for name, text in (("empty", ""), ("cut", whole[:-40]), ("half", whole[: len(whole) // 2]), ("noise", "\x00\x01")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        told = run("check-proof", tmp_path / name, "--head", head)
        assert (told.code, told.error) == (2, "malformed_file"), name
    assert run("check-proof", head, "--head", head).error == "malformed_file"
    (tmp_path / "p").write_text(whole, encoding="utf-8")
    assert run("check-proof", tmp_path / "p", "--head", tmp_path / "p").error == "malformed_file"
    assert run("check-proof", tmp_path / "p").error == "usage"
    assert run("check-proof", tmp_path / "none", "--head", head).error == "missing_file"
    with (tmp_path / "large").open("wb") as file:
        file.truncate(worlddb.MAX_PROOF_BYTES + 1)
    assert run("check-proof", tmp_path / "large", "--head", head).error == "limit_exceeded"


def test_unprovable_facts_are_reported(run: LocalRunner, head: Path, small: SmallRefs, tmp_path: Path) -> None:
    for argv, code, error in (
        (["prove"], 2, "usage"),
        (["prove", small.porto, "--consistency", "3"], 2, "usage"),
        (["prove", "--consistency", "1", "2", "3"], 2, "usage"),
        (["prove", "--consistency", "first"], 2, "usage"),
        (["prove", "--consistency", "0"], 2, "input"),
        (["prove", "--consistency", "3", "99"], 2, "input"),
        (["prove", "nobody"], 1, "unknown_reference"),
        (["prove", small.porto, "--world", small.lisbon], 1, "unknown_reference"),
        (["prove", small.porto, "--world", "nowhere"], 1, "unknown_reference"),
        (["prove", small.porto, "--head", "99"], 2, "input"),
        (["prove", small.porto, "--head", tmp_path / "none"], 2, "missing_file"),
        (["prove", small.porto, "--ingested", "0"], 1, "unknown_reference"),
        (["prove", small.porto, "--out", tmp_path / "no" / "dir"], 2, "missing_file"),
    ):
        told = run(*argv)
        assert (told.code, told.error) == (code, error), argv
    shutil.copy(head, tmp_path / "copy.head")
    assert run("prove", small.porto, "--head", tmp_path / "copy.head").code == 0


def test_a_witness_signs_a_head_that_goes_on_from_the_last_and_no_other(
    run: LocalRunner, head: Path, tmp_path: Path
) -> None:
    old, proof, key = tmp_path / "old.head", tmp_path / "p", tmp_path / "w.key"
    verifier = run("keygen", "example.com/witness", "--out", key).out
    old.write_text(run("head", "--ingested", "8").out, encoding="utf-8")
    run("prove", "--consistency", "8", "--out", proof)
    signed = run("cosign", head, "--sign", key, "--since", old, "--proof", proof)
    assert signed.code == 0 and signed.out.startswith(head.read_text(encoding="utf-8"))
    (tmp_path / "signed").write_text(signed.out, encoding="utf-8")
    assert run("verify", "--head", tmp_path / "signed", "--key", verifier.strip()).code == 0
    assert run("cosign", old, "--sign", key).error == "usage", "nothing is signed unseen"
    assert run("cosign", old, "--sign", key, "--first", "--since", old, "--proof", proof).error == "usage"
    first = run.json("cosign", old, "--sign", key, "--first")
    assert first["ok"] and "example.com/witness" in first["checkpoint"]
    forged, inclusion = tmp_path / "forged", tmp_path / "inclusion"
    lines = head.read_text(encoding="utf-8").splitlines()
    forged.write_text("\n".join([*lines[:2], old.read_text(encoding="utf-8").splitlines()[2], *lines[3:], ""]), "utf-8")
    inclusion.write_text(run("prove", run.json("children")["children"][0]["ref"]).out, encoding="utf-8")
    for which, since, by in ((forged, old, proof), (head, head, proof), (old, head, proof), (head, old, inclusion)):
        told = run("cosign", which, "--sign", key, "--since", since, "--proof", by)
        assert told.code == 1 and "not signed" in told.out and "—" not in told.out
        assert run.json("cosign", which, "--sign", key, "--since", since, "--proof", by, code=1)["ok"] is False
    assert run("cosign", head, "--sign", key, "--since", old).error == "usage"
    assert run("cosign", head, "--sign", head, "--first").error == "input"
    assert run("cosign", proof, "--sign", key, "--first").error == "malformed_file"


def test_nothing_that_is_told_beside_a_proof_can_be_altered(
    run: LocalRunner, head: Path, small: SmallRefs, tmp_path: Path
) -> None:
    """The answer of `prove --json` is read back, and all but one member of it was passed over."""
    edge = next(entry for entry in run("log", "--json").lines if entry["data"].get("type") == "supersedes")["refs"][0]
    refused = 0
    for argv in ([small.porto, "--with-text"], [small.porto], [edge, "--with-text"], ["--consistency", "8"]):
        genuine = run.json("prove", *argv)
        # Where it was written to says nothing of the proof, and what is not told is not altered.
        beside = {name: value for name, value in genuine.items() if name not in ("file", "proof")}
        for changed in changes(beside):
            document = genuine | changed if changed.keys() >= beside.keys() else None
            if document not in (None, genuine) and not only_untold(document, genuine):
                assert ends(json.dumps(document), head.read_text()) == "malformed_file", document
                refused += 1
    assert refused > 30


def test_nothing_that_is_told_beside_a_head_can_be_altered(run: LocalRunner, small: SmallRefs) -> None:
    genuine = run.json("head")
    with worlddb.open(run.store, create=False) as db:
        proof, last = db.prove(small.porto), db.head().seq
    assert ends(proof, json.dumps(genuine)) == "holds" and genuine["seq"] == last
    refused = 0
    for changed in changes({name: value for name, value in genuine.items() if name != "checkpoint"}):
        document = genuine | changed
        if document != genuine and not only_untold(document, genuine):
            assert ends(proof, json.dumps(document)) == "malformed_file", document
            refused += 1
    assert refused > 40
    assert ends(proof, json.dumps({"checkpoint": genuine["checkpoint"], "ok": True, "reason": ""})) == "holds"


def only_untold(document: dict[str, Any], genuine: dict[str, Any]) -> bool:
    """True if a document tells less than the genuine one, and nothing else."""
    return {name: value for name, value in document.items() if value is not None}.items() <= genuine.items()


def ends(proof: str, head: str) -> str:
    """How a check ends: "holds", "fails", or the code of the typed error."""
    try:
        return "holds" if worlddb.check_proof(proof, head).ok else "fails"
    except worlddb.InputError as error:
        return error.code


def test_a_member_that_comes_twice_is_no_proof(run: LocalRunner, head: Path, small: SmallRefs) -> None:
    with worlddb.open(run.store, create=False) as db:
        proof = db.prove(small.porto)
    twice = proof.replace('{"proof"', '{"seq":1,"proof"', 1)
    assert ends(twice, head.read_text()) == "malformed_file"
