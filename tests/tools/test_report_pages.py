"""Every page of ``tools/reports`` in Chromium: measured, and looked at as it is shown."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import worlddb
from tests.support.pages import in_browser, read, seen_in_browser
from tests.support.running import small_store
from tests.support.tidy.tree import ROOT
from worlddb.tools.reports import difference_report, timeline_report


def compared(folder: Path) -> str:
    small = small_store(folder / "a")
    shutil.copytree(folder / "a", folder / "b")
    with worlddb.open(folder / "b") as db:
        db.revise(small.sarah, name="Sarah " + "von " * 40 + "Chen", content="word" * 200)
    return difference_report.render(worlddb.diff(folder / "a", folder / "b"), "a", "b")


def drawn(folder: Path) -> str:
    small = small_store(folder / "a")
    with worlddb.open(folder / "a") as db:
        db.revise(small.sarah, name="Sarah " + "von " * 40 + "Chen", content="word" * 200, valid_from="2025-06-01")
        view = db.view()
        return timeline_report.render(view, "Sarah", small.sarah, view.history(small.sarah), view.timeline(small.sarah))


PAGES: dict[str, Callable[[Path], str]] = {"difference": compared, "timeline": drawn}


def test_every_page_is_here() -> None:
    templates = {path.name.removesuffix(".html.j2") for path in (ROOT / "tools" / "reports").glob("*.html.j2")}
    assert templates == PAGES.keys()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_stands_on_its_own_and_fits_wide_and_narrow_windows(name: str, tmp_path: Path) -> None:
    page = PAGES[name](tmp_path)
    read(page)
    for width, told in seen_in_browser(page, tmp_path).items():
        assert told["overflow"] == 0, f"{width} pixels are too few by {told['overflow']}"
        assert told["scripts"] == told["dangling"] == 0
        assert told["title"] and told["heading"] and told["rows"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_painted(name: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGES[name](tmp_path), "utf-8")
    in_browser(tmp_path, "page.html", f"--screenshot={tmp_path / 'page.png'}", "--window-size=1100,1400")
    assert (tmp_path / "page.png").stat().st_size > 20_000
