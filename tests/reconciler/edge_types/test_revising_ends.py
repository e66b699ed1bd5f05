"""A revision says which versions it leaves at no time, and what leads past an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.model.stores import day, new_store
from worlddb import FOREVER, Receipt, Refused, Valid
from worlddb.tools.cli.main import main


def told(receipt: Receipt) -> list[tuple[str, tuple[str, ...]]]:
    return [(note.code, note.refs) for note in receipt.notes]


def remedy(receipt: Receipt) -> str:
    assert isinstance(receipt.outcome, Refused)
    return receipt.outcome.remedy


def test_a_revision_from_the_end_of_its_world_on_is_said_to_be_valid_at_no_time() -> None:
    with new_store() as db:
        rent = db.create("Fact", "Rent", content="900", valid_from=day(1), valid_to=day(4)).ref
        assert told(db.revise(rent, content="950", valid_from=day(2))) == []
        assert told(db.revise(rent, content="1000", valid_from=day(4))) == [("revision_never_valid", (rent,))]
        assert [version.valid for version in db.view().history(rent)] == [
            Valid(day(1), day(2)),
            Valid(day(2), day(4)),
            Valid(day(4), day(4)),
        ]


@pytest.mark.parametrize("closed_by", ["an empty version", "its creation"])
def test_the_remedies_of_what_was_given_an_end_lead_past_it(closed_by: str) -> None:
    with new_store() as db:
        rent = db.create("Fact", "Rent", content="900", valid_from=day(1), valid_to=day(4)).ref
        if closed_by == "an empty version":
            assert db.revise(rent, content="1000", valid_from=day(4))
        for refused in (db.revise(rent, content="1000", valid_from=day(5)), db.reassert(rent)):
            assert remedy(refused) == "Retire it at its end, then reassert it as a new lineage"
        assert told(db.retire(rent, at=day(4))) == []
        again = db.reassert(rent, content="1000", valid_from=day(4)).ref
        view = db.view(valid=day(6))
        assert (view.get(rent), view.get(again).content) == (None, "1000")  # type: ignore[union-attr]
        assert db.view(valid=day(3)).get(rent).content == "900"  # type: ignore[union-attr]


def test_what_is_open_is_revised_rather_than_reasserted() -> None:
    with new_store() as db:
        assert remedy(db.reassert(db.create("Fact", "Rent"))) == "Revise it instead"


@pytest.mark.parametrize("ends", [None, day(4)])
def test_versions_that_begin_after_a_revision_are_said_to_be_valid_at_no_time(ends: int | None) -> None:
    with new_store() as db:
        fee = db.create("Fact", "Fee", content="5", valid_from=day(1)).ref
        assert told(db.revise(fee, content="7", valid_from=day(6))) == []
        receipt = db.revise(fee, content="6", valid_from=day(3), valid_to=ends)
        assert told(receipt) == [("later_never_valid", (fee,))]
        assert [version.valid for version in db.view().history(fee)] == [
            Valid(day(1), day(3)),
            Valid(day(6), day(6)),
            Valid(day(3), FOREVER if ends is None else ends),
        ]
        assert db.redecide().differing == () and db.verify(deep=True).ok


def test_a_revision_for_the_same_time_and_one_after_lost_versions_take_nothing_further_away() -> None:
    with new_store() as db:
        fee = db.create("Fact", "Fee", content="5", valid_from=day(1)).ref
        assert db.revise(fee, content="7", valid_from=day(6))
        assert told(db.revise(fee, content="8", valid_from=day(6))) == []
        assert told(db.revise(fee, content="6", valid_from=day(3))) == [("later_never_valid", (fee,))]
        assert told(db.revise(fee, content="9", valid_from=day(5))) == [], "what begins then was lost before"


def test_the_command_line_shows_the_notes_and_the_way_past_an_end(tmp_path: Path, capsys: Any) -> None:
    def run(*words: str) -> tuple[int, str]:
        code = main(["--store", str(tmp_path / "store"), *words])
        shown = capsys.readouterr()
        return code, " ".join((shown.out + shown.err).split())

    times = ("--valid-from", "2024-01-01", "--valid-to", "2025-01-01")
    assert run("create", "Fact", "Rent", "--content", "900", *times)[0] == 0
    code, shown = run("revise", "Rent", "--content", "1000", "--valid-from", "2025-01-01")
    assert code == 0 and "is valid at no time: it begins where an end was set" in shown
    for words in (("revise", "Rent", "--content", "1000"), ("reassert", "Rent")):
        code, shown = run(*words)
        assert code == 3 and "`worlddb retire REF`" in shown and "`worlddb reassert REF`" in shown
    assert run("retire", "Rent")[0] == 0
    assert run("reassert", "Rent")[0] == 0
