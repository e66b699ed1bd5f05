"""A revision says which versions it leaves at no time, and what leads past an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.model.stores import day, new_store
from worlddb import FOREVER, Receipt, Refused, Valid
from worlddb.tools.cli.main import main


def notes_of(receipt: Receipt) -> list[tuple[str, tuple[str, ...]]]:
    return [(note.code, note.refs) for note in receipt.notes]


def remedy(receipt: Receipt) -> str:
    assert isinstance(receipt.outcome, Refused)
    return receipt.outcome.remedy


def test_a_revision_goes_on_from_the_stated_end_of_what_came_before() -> None:
    with new_store() as db:
        rent = db.create("Fact", "Rent", content="900", valid_from=day(1), valid_to=day(4)).ref
        assert notes_of(db.revise(rent, content="1000", valid_from=day(4))) == []
        assert notes_of(db.revise(rent, content="950", valid_from=day(2))) == []
        assert [version.valid for version in db.view().history(rent)] == [
            Valid(day(1), day(2)),
            Valid(day(4), FOREVER),
            Valid(day(2), day(4)),
        ]


def test_a_revision_whose_window_has_no_instant_is_said_to_be_valid_at_no_time() -> None:
    with new_store() as db:
        rent = db.create("Fact", "Rent", content="900", valid_from=day(1)).ref
        receipt = db.revise(rent, content="1000", valid_from=day(4), valid_to=day(4))
        assert notes_of(receipt) == [("revision_never_valid", (rent,))] and receipt.lost == ()
        assert [version.valid for version in db.view().history(rent)] == [
            Valid(day(1), FOREVER),
            Valid(day(4), day(4)),
        ]


def test_what_a_stated_end_left_is_resumed_and_keeps_its_id() -> None:
    with new_store() as db:
        rent = db.create("Fact", "Rent", content="900", valid_from=day(1), valid_to=day(4)).ref
        assert remedy(db.reassert(rent, at=day(3))) == "Revise it instead"
        again = db.reassert(rent, content="1000", valid_from=day(6)).ref
        assert again == rent
        shown = {number: db.view(valid=day(number)).get(rent) for number in (3, 5, 7)}
        assert [world and world.content for world in shown.values()] == ["900", None, "1000"]


def test_what_is_open_is_revised_rather_than_reasserted() -> None:
    with new_store() as db:
        assert remedy(db.reassert(db.create("Fact", "Rent"))) == "Revise it instead"


def test_a_late_statement_takes_its_place_before_what_was_stated_to_begin_later() -> None:
    with new_store() as db:
        fee = db.create("Fact", "Fee", content="5", valid_from=day(1)).ref
        assert notes_of(db.revise(fee, content="7", valid_from=day(6))) == []
        receipt = db.revise(fee, content="6", valid_from=day(3))
        assert notes_of(receipt) == []
        assert [(loss.version, loss.valid_from) for loss in receipt.lost] == [(1, day(3))]
        assert [version.valid for version in db.view().history(fee)] == [
            Valid(day(1), day(3)),
            Valid(day(6), FOREVER),
            Valid(day(3), day(6)),
        ]
        assert db.redecide().differing == () and db.verify(deep=True).ok


@pytest.mark.parametrize("ends", [None, day(9)])
def test_versions_that_a_window_takes_whole_are_said_to_be_valid_at_no_time(ends: int | None) -> None:
    with new_store() as db:
        fee = db.create("Fact", "Fee", content="5", valid_from=day(1)).ref
        assert db.revise(fee, content="7", valid_from=day(6), valid_to=day(8))
        receipt = db.revise(fee, content="6", valid_from=day(3), valid_to=ends, replace_later=ends is None)
        assert notes_of(receipt) == [("later_never_valid", (fee,))]
        assert [(loss.version, loss.valid_from, loss.valid_to) for loss in receipt.lost] == (
            [(2, day(6), FOREVER), (1, day(3), FOREVER)]
            if ends is None
            else [(2, day(6), FOREVER), (1, day(3), day(9))]
        )
        first, second, third = db.view().history(fee)
        assert first.spans == (() if ends is None else (Valid(day(1), day(3)), Valid(day(9), FOREVER)))
        assert second.valid == Valid(day(6), day(6))
        assert third.valid == Valid(day(3), FOREVER if ends is None else ends)
        assert db.redecide().differing == () and db.verify(deep=True).ok


def test_a_start_that_nobody_stated_yields_to_one_that_somebody_did() -> None:
    with new_store() as db:
        fee = db.create("Fact", "Fee", content="5").ref
        assert notes_of(db.revise(fee, content="6", valid_from="2020-01-01")) == []
        first, second = db.view().history(fee)
        assert (first.start, second.start) == ("defaulted", "stated")
        assert first.valid.start == first.valid.end and second.valid.end == FOREVER


def test_the_command_line_shows_the_notes_and_the_way_past_an_end(tmp_path: Path, capsys: Any) -> None:
    def run(*words: str) -> tuple[int, str]:
        code = main(["--store", str(tmp_path / "store"), *words])
        shown = capsys.readouterr()
        return code, " ".join((shown.out + shown.err).split())

    assert run("create", "Fact", "Rent", "--content", "900", "--valid-from", "2024-01-01")[0] == 0
    code, shown = run("revise", "Rent", "--content", "1", "--valid-from", "2025-01-01", "--valid-to", "2025-01-01")
    assert code == 0 and "is valid at no time: its validity is empty" in shown
    assert run("retire", "Rent")[0] == 0
    code, shown = run("revise", "Rent", "--content", "1000")
    assert code == 3 and "`worlddb reassert REF`" in shown
    assert run("reassert", "Rent")[0] == 0
