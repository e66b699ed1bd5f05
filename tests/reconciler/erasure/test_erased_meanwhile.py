"""What was made of a text outside of the lock is not written once that text was erased."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import worlddb
from tests.reconciler.embedding.test_embedding import Letters
from tests.support.faults.traces import find_traces
from worlddb import Assessment, Database, Enrichment, Turn
from worlddb.reconciler import dispatch
from worlddb.reconciler.commands import commands as cmd

SECRET = "a bad cabbage faced a dead beef"
OTHER = "a decade of aged bagged feed"


class Erasing(Letters):
    """A model that is slow enough for an erasure to come between; it is asked to do so once."""

    meanwhile: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        found = super().embed(texts, query=query)
        erase, self.meanwhile = self.meanwhile, None
        if erase is not None and not query:
            erase()
        return found


def is_erased(db: Database, ref: str) -> bool:
    found = db.view().get(ref, include_superseded=True)
    return found is not None and found.erased


def events(db: Database) -> list[str]:
    return [entry.event for entry in db.log() if entry.event in ("embedded", "erased")]


@pytest.mark.parametrize("way", ["embed", "reembed", "background"])
def test_a_text_that_is_erased_while_a_model_reads_it_gets_no_vector(tmp_path: Path, way: str) -> None:
    model, receipts = Erasing(), list[worlddb.Receipt]()
    with worlddb.open(tmp_path / "store", embedder=model, background=way == "background") as db:
        with db.batch() as tx:
            for text in (OTHER, SECRET):
                tx.create("Note", "", content=text, resolve=False)
            model.meanwhile = lambda: receipts.append(db.erase(tx.receipt.refs[1], reason="request 7"))
        if way == "reembed":
            db.reembed(model)
        elif way == "embed":
            db.embed()
        for _ in range(1_000 if way == "background" else 0):  # Its thread alone asks the model.
            if "embedded" in events(db):
                break
            sleep(0.01)
        assert events(db) == ["erased", "embedded"] and db.embed().pending == 0
        hits = db.view().recall(SECRET, lanes=["vector"]).hits
        assert [hit.ref for hit in hits] == [tx.receipt.refs[0]]
        assert db.check_erasure(db.erasure_receipt(receipts[0])).ok and db.verify(deep=True).ok


def test_a_vector_that_is_later_than_the_erasure_is_told_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier releases wrote such vectors: here by a log that says that the text is there while it is decided."""
    with worlddb.open(tmp_path / "store", embedder=Letters()) as db:
        ref = db.create("Note", "", content=SECRET, resolve=False).ref
        db.create("Note", "", content=OTHER, resolve=False)
        model = Erasing()
        decisions: dict[Any, Any] = dispatch._DECIDE
        decide = decisions[cmd.Embed]

        def as_before(ctx: Any, command: Any, details: int) -> Any:
            with monkeypatch.context() as patched:
                patched.setattr(type(ctx.draft.log), "blob", lambda *_: b"there")
                return decide(ctx, command, details)

        with worlddb.open(tmp_path / "store", embedder=model) as other:
            receipt = list[worlddb.Receipt]()
            model.meanwhile = lambda: receipt.append(other.erase(ref, reason="request 7"))
            monkeypatch.setitem(decisions, cmd.Embed, as_before)
            other.embed()
        assert events(db) == ["erased", "embedded", "embedded"]
        proof = db.erasure_receipt(receipt[0])
        assert f"erase {ref} again" in db.check_erasure(proof).problems[0]
        (finding,) = db.verify(deep=True).findings
        assert f"erase {ref} --reason" in finding.problem
        assert ref not in [hit.ref for hit in db.view().recall(SECRET).hits]
        assert ref not in [hit.ref for hit in db.view().recall(SECRET, lanes=["vector"], exact=True).hits]
        db.erase(ref, reason="request 7")
        assert db.check_erasure(proof).ok and db.verify(deep=True).ok


def test_nothing_is_kept_of_what_was_said_of_a_memory_that_is_erased_while_it_is_judged(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        gone, kept = (db.create("Fact", "", content=text, resolve=False).ref for text in (SECRET, "an oak"))

        def assess(memories: Sequence[worlddb.AssessedMemory], /) -> list[Assessment]:
            if not is_erased(db, gone):
                db.erase(gone, reason="request 7")
            return [
                Assessment(each.ref, 0.5, False, f"other: {each.content}", tags=(each.content,)) for each in memories
            ]

        done = db.dream(assessor=assess)
        assert (done.assessed, done.left, done.labelled) == (1, 1, (kept,)) and done.report
        assert find_traces(db.path, [SECRET]) == []
        assert db.dream(assessor=assess).failed == ()


def test_a_receipt_that_waits_while_what_it_names_is_erased_is_not_written(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        gone, kept = (db.create("Note", "", content=text, resolve=False).ref for text in (SECRET, OTHER))
        for asked in ("cabbage", "decade"):
            receipt = db.view().recall(asked, exact=True, receipt=True).receipt
            assert receipt is not None and len(receipt.hits) == 1
            db.keep_receipt(receipt)
        db.erase(gone, reason="request 7")
        assert db.write_receipts() is not None
        assert db.view().receipts_of(gone) == [] and len(db.view().receipts_of(kept)) == 1


@pytest.mark.parametrize("way", ["consolidate", "enrich"])
def test_no_summary_and_nothing_inferred_is_kept_of_a_text_that_is_erased_meanwhile(tmp_path: Path, way: str) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.ingest([Turn(text=text, speaker="Ana", at="2026-03-09") for text in (OTHER, SECRET)], conversation="talk")
        gone = next(each.ref for each in db.view().find(type="Turn") if SECRET in each.content)
        told = list[str]()

        def said(texts: Iterable[str]) -> str:
            told.append("\n".join(texts))
            if not is_erased(db, gone):
                db.erase(gone, reason="request 7")
            return told[-1]

        if way == "consolidate":
            done = db.consolidate(
                min_age=0, summarizer=lambda world, members: said([world.content, *(each.content for each in members)])
            )
            assert done.summaries
        else:
            db.enrich(enricher=lambda segment, window: Enrichment(embedding_text=said(each.content for each in window)))
        assert any(SECRET in each for each in told) and find_traces(db.path, [SECRET]) == []


def test_nobody_is_proposed_who_was_erased_while_somebody_was_asked(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        refs = [db.create("Person", name, resolve=False).ref for name in ("Katharina Ambrosch", "Katharina Ambrosh")]
        asked = list[int]()

        def asking(contenders: Sequence[Any]) -> Sequence[Any]:
            asked.append(len(contenders))
            if not is_erased(db, refs[0]):
                db.erase(refs[0], reason="request 7")
            return contenders

        db.recluster(tiebreaker=asking)
        assert asked and db.proposals() == [] and find_traces(db.path, ["Ambrosch"]) == []
