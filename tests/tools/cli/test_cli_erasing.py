"""``worlddb erase`` and ``check-receipt``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from tests.support.running import LocalRunner, SmallRefs, small_store


@pytest.fixture
def small(tmp_path: Path) -> SmallRefs:
    return small_store(tmp_path / "store")


@pytest.fixture
def run(tmp_path: Path, small: SmallRefs, capsys: pytest.CaptureFixture[str]) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def test_erase_prints_a_receipt_that_can_be_checked(run: LocalRunner, small: SmallRefs, tmp_path: Path) -> None:
    done = run.json("erase", small.lisbon, "--reason", "request 7", "--author", "desk", "--forbid", "--yes")
    receipt = done["receipt"]
    assert (done["outcome"], done["finished"], done["refs"]) == ("committed", True, [small.lisbon])
    assert (receipt["seq"], receipt["author"], receipt["worlds"][0]["reason"]) == (12, "desk", "request 7")
    assert receipt["ingested_at"] == done["ingested_at"]
    assert find_traces(run.store, ["The office is in Lisbon."]) == []
    for document in (done, receipt):
        (tmp_path / "receipt.json").write_text(json.dumps(document), "utf-8")
        assert run.json("check-receipt", tmp_path / "receipt.json") == {"ok": True, "problems": []}
    receipt["author"] = "somebody else"
    (tmp_path / "receipt.json").write_text(json.dumps(receipt), "utf-8")
    found = run.json("check-receipt", tmp_path / "receipt.json", code=1)
    assert found == {"ok": False, "problems": ["commit 12 has another value for author"]}
    assert "does not hold" in run("check-receipt", tmp_path / "receipt.json").out


def test_no_more_of_a_receipt_is_read_than_one_may_have(run: LocalRunner) -> None:
    """A file without end filled the memory before."""
    assert run("check-receipt", "/dev/zero").error == "limit_exceeded"


def test_erase_tells_a_person_what_went_and_where_the_name_still_is(run: LocalRunner, small: SmallRefs) -> None:
    with worlddb.open(run.store) as db:
        db.create("Note", "Minutes", content="Sarah Chen spoke first.")
    told = run("erase", small.sarah, "--dry-run")
    assert told.code == 0 and "would erase" in told.out and "Minutes" in told.out
    assert run.json("head")["seq"] == 12
    told = run("erase", small.sarah, "--reason", "request 7", "--yes")
    assert told.code == 0, told
    assert (
        "of 1 world " in told.out
        and "check-receipt" in told.out
        and "Minutes" in told.out
        and "not reached: backups" in told.out
    )
    again = run("erase", small.sarah, "--reason", "request 8", "--yes")
    assert again.code == 0 and "no text left" in again.out
    assert run.json("erase", small.sarah, "--reason", "request 8", "--yes")["receipt"] is None
    shown = run("show", small.sarah)
    assert "(erased)" in shown.out and "by local, under: request 7" in shown.out
    assert run.json("show", small.sarah)["erasure"]["reason"] == "request 7"
    assert "(erased: commit 13" in run("history", small.sarah).out
    assert run.json("verify", "--deep")["ok"] is True
    assert any(entry["event"] == "erased" for entry in run("log", "--json").lines)


def test_somebody_at_a_terminal_is_asked(
    run: LocalRunner, small: SmallRefs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Person:
        def __init__(self, says: str) -> None:
            self.says = says

        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return self.says

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for says in ("no\n", "\n", ""):
        monkeypatch.setattr("sys.stdin", Person(says))
        refused = run("erase", small.yes, "--reason", "request 7", "--quiet")
        assert refused.code == 1 and "nothing was erased" in refused.out and "cannot be undone" in refused.err
    monkeypatch.setattr("sys.stdin", Person("yes\n"))
    assert run("erase", small.yes, "--reason", "request 7", "--quiet").code == 0
    monkeypatch.setattr("sys.stdin", Person("no\n"))
    assert "cannot be undone" not in run("erase", small.no, "--reason", "request 7", "--yes", "--quiet").err


def test_an_erasure_that_nobody_confirms_is_refused(
    run: LocalRunner, small: SmallRefs, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run.json("head")
    for asked in ((), ("--json",)):
        refused = run("erase", small.yes, "--reason", "request 7", *asked)
        assert (refused.code, refused.error) == (2, "usage") and "--yes" in refused.err
    monkeypatch.setattr("sys.stdin", None)
    assert run("erase", small.yes, "--reason", "request 7").error == "usage"
    assert run.json("head") == before


def test_what_cannot_be_erased_or_checked_ends_with_a_typed_error(
    run: LocalRunner, small: SmallRefs, tmp_path: Path
) -> None:
    for asked in ((), ("--yes",), ("--json",)):
        assert run("erase", small.yes, *asked).error == "usage"
    assert run("erase", small.yes, "--reason", " ", "--yes").error == "invalid_text"
    assert run("erase", "nobody", "--reason", "r", "--yes").error == "unknown_reference"
    assert run("erase", "root", "--reason", "r", "--yes").code == 3
    broken = tmp_path / "broken.json"
    for text in ("", "[", "[]", "3", '{"receipt": null}', '{"seq": 1}'):
        broken.write_text(text, "utf-8")
        assert run("check-receipt", broken).error == "input"
    assert run("check-receipt", tmp_path / "missing.json").error == "missing_file"
    assert run.json("head")["seq"] == 11


def test_an_erasure_whose_bytes_are_still_there_says_so(run: LocalRunner, small: SmallRefs) -> None:
    (run.store / ".scrub").write_text("in the way")
    done = run("erase", small.yes, "--reason", "request 7", "--yes")
    assert done.code == 5 and "still in the files" in done.out
    assert run.json("verify", code=1)["first_bad_seq"] == 12
    (run.store / ".scrub").unlink()
    assert run.json("verify")["ok"] is True
    assert find_traces(run.store, ["Dogs are allowed"]) == []


def test_a_receipt_is_written_into_a_new_file_and_checked_later(
    run: LocalRunner, small: SmallRefs, tmp_path: Path
) -> None:
    kept, again = tmp_path / "7.json", tmp_path / "8.json"
    done = run("erase", small.lisbon, "--reason", "request 7", "--yes", "--receipt", kept)
    assert done.code == 0 and f"check-receipt {shlex.quote(str(kept))}" in done.out
    assert json.loads(kept.read_text("utf-8"))["worlds"][0]["ref"] == small.lisbon
    assert run("create", "Note", "later").code == 0
    assert run.json("check-receipt", kept)["ok"] is True
    before = run.json("head")
    assert run("erase", small.porto, "--reason", "r", "--yes", "--receipt", kept).error == "input"
    assert (
        run("erase", small.porto, "--reason", "r", "--yes", "--receipt", tmp_path / "no" / "r").error == "missing_file"
    )
    assert run("erase", "root", "--reason", "r", "--yes", "--receipt", again).code == 3
    assert run("erase", small.lisbon, "--reason", "r", "--yes", "--receipt", again).code == 0
    assert not again.exists(), "nothing was left to erase"
    assert run.json("head")["seq"] == before["seq"]


def test_a_name_of_several_worlds_erases_none_of_them_and_lists_all(run: LocalRunner, small: SmallRefs) -> None:
    with worlddb.open(run.store) as db:
        first = db.create("Person", "Ann Lee", content="the former one", valid_from="2020-01-01").ref
        db.retire(first, at="2021-01-01")
        second = db.create("Person", "Ann Lee", content="the present one", resolve=False).ref
    told = run("erase", "Ann Lee", "--reason", "request 9", "--yes")
    assert told.code == 2 and first[:12] in told.err and second[:12] in told.err
    done = run.json("erase", second[:12], second, "--reason", "request 9", "--yes")
    assert [world["ref"] for world in done["receipt"]["worlds"]] == [second]


def test_who_spoke_and_who_was_mentioned_under_one_name_are_told_apart_and_go_together_if_asked(
    run: LocalRunner, tmp_path: Path
) -> None:
    chat = tmp_path / "chat.jsonl"
    turns = [("Leah", "Hello, I lead it now."), ("Tom", "We should ask Leah about it.")]
    chat.write_text("".join(json.dumps({"speaker": who, "text": text}) + "\n" for who, text in turns), "utf-8")
    assert run("ingest", chat, "--entities").code == 0
    before = run.json("head")
    refused = run("erase", "Leah", "--turns", "--reason", "request 9", "--yes")
    assert (refused.code, refused.error) == (2, "ambiguous_reference") and "none was erased" in refused.err
    each = [line.split() for line in refused.err.splitlines() if line.startswith("    ")]
    assert [line[line.index("erase") + 1 :][1:] for line in each] == [
        ["Entity", "Leah", "in", "chat,", "who", "spoke", "1", "turn"],
        ["Entity", "Leah", "in", "chat,", "mentioned", "in", "1", "turn"],
    ]
    assert "erase Leah --all" in refused.err and "--dry-run" in refused.err
    plan = run.json("erase", "leah", "--all", "--dry-run")
    refs = [line[line.index("erase") + 1] for line in each]
    assert [ref[:12] for ref in plan["worlds"]] == refs
    assert run.json("head") == before
    done = run.json("erase", "Leah", "--all", "--turns", "--reason", "request 9", "--yes")
    assert {world["ref"][:12] for world in done["receipt"]["worlds"]} > set(refs)
    assert run("erase", "Leah", "--all", "--dry-run").error == "unknown_reference"


def test_all_of_a_name_is_not_all_of_the_references_that_begin_so(run: LocalRunner, small: SmallRefs) -> None:
    with worlddb.open(run.store, entropy=worlddb.SeededEntropy(7)) as db:
        with db.batch() as tx:
            for number in range(1000):
                tx.create("Note", f"note {number}", resolve=False)
        digits = [ref[:4] for ref in tx.receipt.refs]
        common = next(four for four in digits if digits.count(four) > 1)
        db.create("Note", common, resolve=False)
        db.create("Note", common, resolve=False)
    assert run("erase", common, "--all", "--dry-run").error == "ambiguous_reference"


def test_what_may_not_be_written_again_is_said_before_and_after(run: LocalRunner, small: SmallRefs) -> None:
    with worlddb.open(run.store) as db:
        bare = db.create("Person", "Zoltan Fekete").ref
        told = db.create("Fact", "the key", content="The key lies under the mat.").ref
    plan = run("erase", bare, told, "--forbid", "--dry-run").out
    assert "1 content; the names of these worlds may" in plan
    assert "for lack of content: the name Zoltan Fekete, even of other worlds" in plan
    assert "may not be written again" not in run("erase", bare, told, "--dry-run").out
    done = run.json("erase", bare, told, "--forbid", "--reason", "request 9", "--yes")
    assert (done["contents_forbidden"], done["names_forbidden"]) == (1, ["Zoltan Fekete"])
    assert {"code": "name_forbidden", "refs": [bare]}.items() <= done["notes"][0].items()
    with worlddb.open(run.store) as db:
        assert not db.create("Person", "Zoltan Fekete")
        assert db.create("Fact", "the key")


def test_a_receipt_that_would_replace_a_file_is_refused_with_a_remedy_that_works(
    run: LocalRunner, small: SmallRefs, tmp_path
):
    (tmp_path / "receipt.json").write_text("{}")
    told = run("erase", small.lisbon, "--reason", "x", "--yes", "--receipt", tmp_path / "receipt.json")
    assert told.code == 2 and "Choose another name" in told.err and "--overwrite" not in told.err


def test_who_is_or_may_be_the_same_person_is_named_and_stays(run: LocalRunner, small: SmallRefs) -> None:
    run.json("create", "Person", "Ilse Grünwald", "--content", "keeps the mill")
    staged = run.json("create", "Person", "Ilse Gruenwald", "--content", "signed the permit", "--resolve", "all")
    other = staged["ref"]
    assert run.json("erase", "Ilse Grünwald", "--dry-run")["identities"] == {other: "pending"}
    assert run("accept", staged["proposals"][0]).code == 0
    told = run("erase", "Ilse Grünwald", "--reason", "request 9", "--yes")
    assert told.code == 0 and "known to be the same" in told.out and other[:12] in told.out
    assert "because   of what was erased" in run("proposals", "--status", "all").out


def test_erase_tells_what_was_made_of_the_texts_and_leaves_it_if_that_is_said(
    run: LocalRunner, small: SmallRefs
) -> None:
    with worlddb.open(run.store) as db:
        digest = db.create("Summary", "Digest", content="where the office is").ref
        db.link(digest, "derived_from", small.lisbon)
    told = run("erase", small.lisbon, "--dry-run").out
    assert "of 2 worlds:" in told and "and 1 world derived from these texts:" in told and "Digest" in told
    assert run.json("erase", small.lisbon, "--dry-run")["derived"] == [digest]
    assert run.json("erase", small.lisbon, "--dry-run", "--keep-derived")["worlds"] == [small.lisbon]
    kept = run.json("erase", small.lisbon, "--keep-derived", "--reason", "request 7", "--yes")
    assert [world["ref"] for world in kept["receipt"]["worlds"]] == [small.lisbon]
    done = run("erase", small.lisbon, "--reason", "request 8", "--yes").out
    assert "of 1 world, 1 world of these were derived from the others' texts" in done
