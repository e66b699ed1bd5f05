"""The HTML report: whole, self-contained, safe with any text, and readable in a browser."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import worlddb
from tests.query.diff.test_diff_altered import forged_text, text_of
from tests.support.faults import forge
from tests.support.pages import HOSTILE, read
from tests.support.running import small_store
from worlddb.tools.cli.main import main
from worlddb.tools.reports.difference_report import MAX_WORLDS, pieces, render
from worlddb.tools.reports.report_parts import visible, write_page


@pytest.fixture
def altered(tmp_path: Path) -> tuple[worlddb.Difference, Path, Path]:
    small_store(tmp_path / "memory")
    shutil.copytree(tmp_path / "memory", tmp_path / "suspect")
    key, value, _ = text_of(tmp_path / "suspect", "The office is in Lisbon.")
    forge.rewrite(tmp_path / "suspect", [(key, forged_text(value, "The office is in Madrid."))])
    return worlddb.diff(tmp_path / "memory", tmp_path / "suspect"), tmp_path / "memory", tmp_path / "suspect"


def test_the_report_says_what_was_compared_what_differs_before_and_after_and_who_wrote_it(
    altered: tuple[worlddb.Difference, Path, Path],
) -> None:
    found, a, b = altered
    page = read(render(found, str(a), str(b)))
    text = re.sub(r"\s+", " ", " ".join(page.text))
    for told in (
        "One world was altered behind the engine’s back.",
        str(a),
        str(b),
        found.root_a,
        "root › Search team",
        "Office",
        "In B, what is stored for commit 5 (blob 2) no longer has the fingerprint",
        "The office is in Lisbon .",
        "The office is in Madrid .",
        "agent-7",
        "How to read this page",
    ):
        assert told in text, told
    assert "<del>Lisbon</del>" in render(found, "a", "b")
    assert "<ins>Madrid</ins>" in render(found, "a", "b")


@pytest.mark.usefixtures("names_of_any_kind")
def test_no_text_can_leave_its_place_on_the_page(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "a") as db:
        world = db.create("Topic", HOSTILE[0])
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    with worlddb.open(tmp_path / "b", author=HOSTILE[1]) as db:
        for text in HOSTILE:
            db.create("Note", text, content=text, world=world, aliases=[text], resolve=False)
        db.revise(world, name=HOSTILE[1], content=HOSTILE[0], why=HOSTILE[2])
        db.alias(world, HOSTILE[4])
    found = worlddb.diff(tmp_path / "a", tmp_path / "b")
    plain = read(render(worlddb.diff(tmp_path / "a", tmp_path / "a"), "a", "b"))
    page = render(found, HOSTILE[0], HOSTILE[1])
    shown = read(page)
    assert set(shown.elements) <= set(plain.elements) | {"article", "table", "thead", "tbody", "tr", "th", "td", "h3",
                                                         "details", "summary", "ul", "li", "span", "em"}  # fmt: skip
    text = "".join(shown.text)
    for hostile in HOSTILE:
        assert visible(hostile) in text, hostile
    assert "49" not in {piece.strip() for piece in shown.text}
    assert not set("\x1b\x01\u202e") & set(page)


def test_a_report_on_equal_stores_says_so_and_one_on_very_many_worlds_says_what_it_leaves_out(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "a") as db:
        db.create("Note", "one")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert "The two are equal." in render(worlddb.diff(tmp_path / "a", tmp_path / "b"), "a", "b")
    with worlddb.open(tmp_path / "b") as db, db.batch() as tx:
        for number in range(MAX_WORLDS + 5):
            tx.create("Note", f"note {number}", resolve=False)
    page = render(worlddb.diff(tmp_path / "a", tmp_path / "b"), "a", "b")
    assert page.count("<article") == MAX_WORLDS
    assert "6 more worlds differ" in page
    read(page)


def test_only_the_words_that_differ_are_marked() -> None:
    a, b = pieces("The deposit is 1,450 euros", "The deposit is 1,950 euros")
    assert [piece.text for piece in a if piece.differs] == ["450"]
    assert [piece.text for piece in b if piece.differs] == ["950"]
    assert "".join(piece.text for piece in a) == "The deposit is 1,450 euros"
    assert pieces("", "new") == ([], [("new", False)])
    long = "word " * 5000
    assert pieces(long, long + "x")[0] == [(long, False)]


def test_the_command_writes_the_page_whole_or_not_at_all(
    altered: tuple[worlddb.Difference, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, a, b = altered
    file = tmp_path / "report.html"
    assert main(["diff", str(a), str(b), "--html", str(file)]) == 1
    assert file.read_text("utf-8") == render(found, str(a), str(b))
    assert str(file) in capsys.readouterr().out
    file.write_text("mine", "utf-8")
    assert main(["diff", str(a), str(b), "--html", str(file)]) == 2
    assert "--overwrite" in capsys.readouterr().err and file.read_text("utf-8") == "mine"
    assert main(["diff", str(a), str(b), "--html", str(file), "--overwrite"]) == 1
    assert file.read_text("utf-8") == render(found, str(a), str(b))
    capsys.readouterr()
    for wrong, told in ((tmp_path / "nowhere" / "report.html", "no directory"), (a, "is a directory")):
        assert main(["diff", str(a), str(b), "--html", str(wrong), "--overwrite"]) == 2
        assert told in capsys.readouterr().err
    with pytest.raises(worlddb.InputError, match="cannot be written: Is a directory"):
        write_page("a page", tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".report")]
