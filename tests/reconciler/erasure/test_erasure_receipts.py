"""The receipt of an erasure: it can be kept, and checked against the log later."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from tests.support.proving import changes
from tests.support.running import LocalRunner
from worlddb import Database, ErasureReceipt, InputError

NOTHING: list[Any] = [{}, [], 3, None]


@pytest.fixture
def db(tmp_path: Path) -> Database:
    made = worlddb.open(tmp_path / "store", author="keeper")
    made.create("Note", "A", content="alpha", aliases=["Al"])
    made.create("Note", "B", content="beta, of which A is a part", resolve=False)
    return made


def erased(db: Database) -> ErasureReceipt:
    return db.erasure_receipt(db.erase(db.view().find(name="A")[0], reason="request 1", forbid=True))


def test_a_receipt_names_what_was_erased_by_whom_when_and_under_which_reference(db: Database) -> None:
    with db:
        blobs = {entry.data["lineage"]: entry for entry in db.log() if entry.event == "created"}
        receipt = erased(db)
        head = db.head()
        assert (receipt.store, receipt.seq, receipt.chain) == (head.store_id, head.seq, head.chain)
        assert (receipt.author, receipt.ingested_at) == ("keeper", head.ingested_at)
        (world,) = receipt.worlds
        assert (world.reason, world.everywhere, world.forbidden) == ("request 1", False, 1)
        assert world.ref in blobs and {text.seq for text in world.texts} == {2}
        version = db.view().history(world.ref)[0].version
        assert version in {text.hash for text in world.texts}
        assert len(receipt.not_reached) == 1
        assert db.check_erasure(receipt) == worlddb.ErasureCheck(True, ())


def test_a_receipt_holds_after_later_commits_in_a_copy_of_the_store_and_as_json(db: Database, tmp_path: Path) -> None:
    with db:
        receipt = erased(db)
        db.create("Note", "later")
        document: Any = msgspec.json.decode(msgspec.json.encode(receipt))
        assert db.check_erasure(document).ok
        document["ingested_at"] = worlddb.format_time(receipt.ingested_at)
        assert db.check_erasure(document).ok
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with worlddb.open(tmp_path / "copy") as copy:
        assert copy.check_erasure(receipt).ok


def test_a_receipt_that_was_altered_or_is_of_another_store_does_not_hold(db: Database, tmp_path: Path) -> None:
    with db, worlddb.open(tmp_path / "other") as other:
        receipt = erased(db)
        assert "receipt is from store" in other.check_erasure(receipt).problems[0]
        (world,) = receipt.worlds
        for change in (
            {"author": "somebody"},
            {"chain": "00" * 32},
            {"worlds": ()},
            {"worlds": (msgspec.structs.replace(world, texts=world.texts[1:]),)},
            {"worlds": (msgspec.structs.replace(world, reason="another"),)},
            {"seq": 2},
            {"seq": 99},
            {"ingested_at": 1},
        ):
            found = db.check_erasure(msgspec.structs.replace(receipt, **change))
            assert not found.ok and found.problems, change


def test_a_receipt_does_not_hold_in_a_store_whose_text_came_back_behind_the_engines_back(
    db: Database, tmp_path: Path
) -> None:
    with db:
        with db._env.read() as txn:
            kept = {bytes(key): bytes(value) for key, value in txn.cursor() if key[:1] == b"\x04"}
        receipt = erased(db)
        text = receipt.worlds[0].texts[0]
        key = b"\x04" + text.seq.to_bytes(8, "big") + text.position.to_bytes(4, "big")
        db._env.write(lambda txn: txn.put(key, kept[key]))
        assert db.check_erasure(receipt).problems == (f"the text {text.hash[:12]} of commit 2 still exists",)


def test_a_receipt_lists_the_copies_that_the_store_made_and_that_may_hold_the_text(
    db: Database, tmp_path: Path
) -> None:
    with db:
        db.replay(tmp_path / "whole")
        db.replay(tmp_path / "before it was written", seq=1)
        db.export(None, tmp_path / "all.bundle")
        db.export_jsonl(None, tmp_path / "all.jsonl")
        receipt = erased(db)
        db.replay(tmp_path / "after it was erased")
        told = [("replay", "whole"), ("bundle", "all.bundle"), ("JSON Lines", "all.jsonl")]
        assert list(receipt.not_reached[:-1]) == [f"{kind} at {tmp_path / name}" for kind, name in told]
        assert db.erasure_receipt(receipt.seq) == receipt


def test_a_file_is_named_once_and_no_more_when_a_later_export_was_written_over_it(db: Database, tmp_path: Path) -> None:
    """A nightly export was named once for each night, and still after it had been written again, as the note asks."""
    with db:
        other = db.create("Note", "C", content="another world").ref
        for night in range(3):
            db.export(None, tmp_path / "all.bundle", overwrite=True)
            db.export_jsonl(other, tmp_path / "c.jsonl", overwrite=True)
            if night == 0:
                (tmp_path / "all.bundle").rename(tmp_path / "kept.bundle")
                os.link(tmp_path / "c.jsonl", tmp_path / "linked.jsonl")
            db.create("Note", f"night {night}")
        receipt = erased(db)
        of_world = f"JSON Lines of {other} at {tmp_path / 'c.jsonl'}"
        assert list(receipt.not_reached[:-1]) == [f"bundle at {tmp_path / 'all.bundle'}", of_world]
        db.export_jsonl(other, tmp_path / "c.jsonl", overwrite=True)
        assert of_world in db.erasure_receipt(receipt.seq).not_reached, "another link leads to the first one"
        db.export(None, tmp_path / "all.bundle", overwrite=True)
        left = db.erasure_receipt(receipt.seq).not_reached
        assert f"bundle at {tmp_path / 'all.bundle'}" in left, "the first one was moved away"
        (tmp_path / "new").mkdir()
        db.export(None, tmp_path / "new" / "x.bundle")
        later = db.erase(db.create("Note", "D", content="some other text").ref, reason="r")
        assert not any("x.bundle" in name for name in db.erasure_receipt(later).not_reached), "it is of before"
        gone = db.create("Note", "E", content="a text of its own").ref
        db.export(None, tmp_path / "new" / "x.bundle", overwrite=True)
        erasure = db.erase(gone, reason="r")
        named = f"bundle at {tmp_path / 'new' / 'x.bundle'}"
        assert named in db.erasure_receipt(erasure).not_reached
        db.export(None, tmp_path / "new" / "x.bundle", overwrite=True)
        assert named not in db.erasure_receipt(erasure).not_reached
        (db.path / "copies.jsonl").unlink()
        assert named not in db.erasure_receipt(erasure).not_reached and db.check_erasure(receipt).ok
        db.backup(tmp_path / "backup")
        worlddb.restore(tmp_path / "backup", tmp_path / "restored")
    with worlddb.open(tmp_path / "restored", embedder=None) as restored:
        assert named not in restored.erasure_receipt(erasure).not_reached


def test_what_is_no_receipt_is_an_error_that_names_the_place(db: Database) -> None:
    with db:
        receipt = erased(db)
        document: Any = msgspec.to_builtins(receipt)
        for change in ({"worlds": [{"ref": 3}]}, {"seq": "one"}, {"ingested_at": "soon"}):
            with pytest.raises(InputError):
                db.check_erasure(document | change)
        for nothing in NOTHING:
            with pytest.raises(InputError):
                db.check_erasure(nothing)
        for commit in (2, 0, -1, 99, "1", True, None):
            with pytest.raises(InputError):
                db.erasure_receipt(commit)  # type: ignore[arg-type]


def test_a_plan_says_what_would_go_and_where_the_name_still_occurs_and_writes_nothing(db: Database) -> None:
    with db:
        a, b = (db.view().find(name=name)[0].ref for name in ("A", "B"))
        also = db.create("Note", "C", content="Also, and algae, and ALTO; but no name").ref
        cited = db.create("Note", "D", content="said al, twice: al").ref
        head = db.head()
        plan = db.erasure_plan(a)
        assert (plan.worlds, plan.mentions) == ((a,), (b, cited))
        assert plan.texts == sum(len(world.texts) for world in erased(db).worlds)
        assert also not in plan.mentions and head.seq + 1 == db.head().seq
        assert db.erasure_plan([a]).worlds == ()
        with pytest.raises(worlddb.UnknownReference):
            db.erasure_plan("feed5eed")


# -- both lists of copies


def test_receipts_name_copies_whose_file_was_deleted_altered_or_made_up(db: Database, tmp_path: Path) -> None:
    """Deleting `copies.jsonl` took the known copies out of the receipts that came after."""
    with db:
        db.backup(tmp_path / "backup")
        db.export(None, tmp_path / "all.bundle")
        listed = db.path / "copies.jsonl"
        whole = listed.read_bytes()
        listed.unlink()
        found = db.verify()
        assert found.ok and "copies.jsonl lacks 2 of 2" in found.remarks[0], "no damage: nothing is lost"
        forged = {"kind": "backup", "path": str((tmp_path / "backup").resolve()), "seq": 99, "head": 99}
        listed.write_bytes(msgspec.json.encode(forged) + b"\n{\xff\n" + msgspec.json.encode(forged | {"seq": 2**70}))
        receipt = erased(db)
        told = {f"backup at {tmp_path / 'backup'}", f"bundle at {tmp_path / 'all.bundle'}"}
        assert set(receipt.not_reached[:-1]) == told
        assert set(whole.splitlines()) <= set(listed.read_bytes().splitlines()), "the erasure writes it again"
        assert db.verify().ok
        db.backup(tmp_path / "backup")
        assert set(db.erasure_receipt(receipt.seq).not_reached[:-1]) == {f"bundle at {tmp_path / 'all.bundle'}"}


@pytest.mark.usefixtures("untried")
def test_copies_that_an_earlier_release_noted_in_the_file_alone_are_kept_with_the_next(
    db: Database, tmp_path: Path
) -> None:
    listed = db.path / "copies.jsonl"
    older = msgspec.json.encode({"kind": "bundle", "path": "/gone/old.bundle", "seq": 3, "head": 3})
    with db:
        listed.write_bytes(older + b"\n")
        before = _data(db)
        assert db.verify().remarks == () and db.view().find(name="A") and worlddb.diagnose(db.path).ok
        assert _data(db) == before, "who reads or checks writes nothing"
        db.export_jsonl(None, tmp_path / "all.jsonl")
        listed.unlink()
        assert "copies_altered" in {symptom.code for symptom in worlddb.diagnose(db.path).symptoms}
        assert _data(db) != before
        told = ["bundle at /gone/old.bundle", f"JSON Lines at {tmp_path}/all.jsonl"]
        assert list(erased(db).not_reached[:-1]) == told


def test_a_copy_is_noted_while_somebody_else_writes_and_a_note_that_was_lost_is_found(
    db: Database, tmp_path: Path
) -> None:
    with db:
        holding, done = threading.Event(), threading.Event()

        def hold(_: object) -> None:
            holding.set()
            done.wait(30)

        writer = threading.Thread(target=db._env.write, args=(hold,))
        writer.start()
        holding.wait(10)
        db.export(None, tmp_path / "one.bundle")
        done.set()
        writer.join()
        assert _copy_notes(db) == [] and (db.path / "copies.jsonl").exists()
        db.export(None, tmp_path / "two.bundle")
        assert len(_copy_notes(db)) == 2
        db._env.write(lambda txn: txn.delete(b"\x06" + (1).to_bytes(8, "big")))
        assert "of the 2 copies" in db.verify().findings[0].problem


def _data(db: Database) -> bytes:
    return (db.path / "data.mdb").read_bytes()


def _copy_notes(db: Database) -> list[bytes]:
    with db._env.read() as txn:
        return [bytes(value) for key, value in txn.cursor() if key[:1] == b"\x06"]


# -- every field of a receipt


def test_no_receipt_holds_with_another_field(db: Database, tmp_path: Path) -> None:
    """The list of copies could be altered, and anything put beside it, and `check_erasure` said that it holds."""
    with db:
        db.backup(tmp_path / "backup")
        db.export(None, tmp_path / "all.bundle")
        receipt = erased(db)
        genuine: Any = msgspec.to_builtins(receipt)
        assert list(genuine["authors"]) == ["keeper"]
        # As receipts of earlier releases are.
        unsealed = {name: value for name, value in genuine.items() if name not in ("seal", "authors")}
        assert db.check_erasure(receipt).ok and db.check_erasure(unsealed).ok
        for made_up in ({"authors": ["another"]}, {"kept": ["00" * 16]}, {"kept_count": 1}):
            assert not db.check_erasure(unsealed | made_up).ok and not db.check_erasure(genuine | made_up).ok
        for whole in (genuine, unsealed):
            tried = 0
            for changed in changes(whole):
                # Without its seal it is held against the lists of copies, and everything in it is still so.
                if changed not in (genuine, unsealed, {**unsealed, "authors": genuine["authors"]}):
                    assert not is_valid_receipt(db, changed), changed
                    tried += 1
            assert tried > 60
        db.backup(tmp_path / "backup")
        assert db.check_erasure(unsealed).ok, "the backup was there then"
        assert db.check_erasure(msgspec.structs.replace(db.erasure_receipt(receipt.seq), seal="")).ok


def test_a_receipt_that_was_altered_does_not_hold_on_the_command_line(
    db: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with db:
        db.export(None, tmp_path / "all.bundle")
    run, kept = LocalRunner(capsys, db.path), tmp_path / "receipt.json"
    receipt = run.json("erase", "A", "--reason", "request 1", "--yes")["receipt"]
    for document, code in (
        (receipt, 0),
        (receipt | {"not_reached": receipt["not_reached"][1:]}, 1),
        (receipt | {"also_erased": "all copies"}, 2),
        (receipt | {"ingested_at": "2020-01-01T00:00:00Z"}, 1),
    ):
        kept.write_text(json.dumps(document), encoding="utf-8")
        assert run("check-receipt", kept).code == code, document
    kept.write_text('{"not_reached": [], ' + json.dumps(receipt)[1:], encoding="utf-8")
    assert run("check-receipt", kept).error == "input"


def is_valid_receipt(db: Database, document: Any) -> bool:
    try:
        return db.check_erasure(document).ok
    except InputError:
        return False


@pytest.mark.parametrize("original", [False, True])
def test_a_restored_store_knows_the_copies_that_its_original_knew(db: Database, tmp_path: Path, original: bool) -> None:
    """The list stayed with the original, so that an erasure in a restored store named the backup alone."""
    with db:
        db.export(None, tmp_path / "all.bundle")
        db.backup(tmp_path / "backup")
        db.create("Note", "C")
        db.export_jsonl(None, tmp_path / "late.jsonl")
        worlddb.restore(tmp_path / "backup", tmp_path / "restored", erasures_of=db.path if original else None)
        db.backup(tmp_path / "backup")
        worlddb.restore(tmp_path / "backup", tmp_path / "later")
    names = {"bundle": "all.bundle", "backup": "backup", "JSON Lines": "late.jsonl"}
    told = {kind: f"{kind} at {tmp_path / name}" for kind, name in names.items()}
    for place, kinds in (
        ("restored", ["bundle", "backup", *(["JSON Lines"] if original else [])]),
        ("later", [*names]),
    ):
        with worlddb.open(tmp_path / place) as restored:
            assert restored.verify().ok and restored.verify().remarks == ()
            assert sorted(erased(restored).not_reached[:-1]) == sorted(told[kind] for kind in kinds), place
    with worlddb.open(tmp_path / "backup") as backup:
        assert backup.verify(deep=True).ok and backup.verify().remarks == ()
