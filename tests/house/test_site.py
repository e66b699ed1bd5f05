"""Builds the documentation as a site without a warning, to be read without a network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.pages import has_browser, in_browser
from tests.support.tidy.tree import ROOT
from worlddb.tools.cli.main import COMMANDS

ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//|<link[^>]*\srel="stylesheet"[^>]*href="(?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built in a folder of its own from sources of its own; a link that leads nowhere ends the build."""
    if find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: `make site` or `make test` installs it")
    folder = tmp_path_factory.mktemp("site")
    config = ROOT / "docs" / "site" / "mkdocs.yml"
    words = ["build", "--quiet", "--strict", "--config-file", str(config), "--site-dir", str(folder)]
    own = os.environ | {"SITE_SOURCES": str(tmp_path_factory.mktemp("sources"))}
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", *words], check=False, capture_output=True, text=True, timeout=300, env=own
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.soak
def test_the_site_has_every_page_and_all_that_is_public(site: Path) -> None:
    pages = {str(path.relative_to(site)): path.read_text("utf-8") for path in site.rglob("*.html")}
    expected = {f"{page.relative_to(ROOT / 'docs').with_suffix('')}.html" for page in (ROOT / "docs").rglob("*.md")}
    assert {page.replace("README.html", "index.html") for page in expected} <= pages.keys()
    asking = [name for name, text in pages.items() if ELSEWHERE.search(text)]
    assert not asking, "these ask something of the network"
    library = (site / "library.html").read_text("utf-8")
    for name in worlddb.__all__:
        if isinstance(getattr(worlddb, name), type):
            assert f".{name}" in library, f"{name} has an anchor"
    commands = (site / "command-line.html").read_text("utf-8")
    assert not [command.name for command in COMMANDS if f'id="{command.name}"' not in commands]


def test_pictures_have_alternative_texts() -> None:
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
    assert len(pictures) >= 4
    for picture in pictures:
        text = picture.read_text("utf-8")
        assert "<title" in text and "<desc" in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")


PICTURES = """<!DOCTYPE html><meta charset="utf-8"><body>%(pictures)s<script>
const told = [...document.querySelectorAll("svg")].map(picture => {
  const around = picture.getBoundingClientRect(), texts = [...picture.querySelectorAll("text")];
  const box = each => each.getBoundingClientRect();
  const outside = texts.filter(each => box(each).left < around.left || box(each).right > around.right ||
    box(each).top < around.top || box(each).bottom > around.bottom);
  const crossed = texts.filter((each, place) => texts.slice(place + 1).some(other =>
    box(each).left < box(other).right && box(other).left < box(each).right &&
    box(each).top < box(other).bottom - 4 && box(other).top < box(each).bottom - 4));
  return {texts: texts.length, outside: outside.map(each => each.textContent),
    crossed: crossed.map(each => each.textContent)};
});
const shown = document.createElement("pre");
shown.textContent = "TOLD" + JSON.stringify(told) + "TOLD";
document.body.append(shown);
</script></body>
"""


def told_by(page: str) -> Any:
    """What a probe has written on its page."""
    return json.loads(page.split("TOLD")[-2].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))


def test_a_browser_draws_each_picture_with_all_its_words_inside_and_apart(tmp_path: Path) -> None:
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
    drawn = "".join(f"<div>{picture.read_text('utf-8')}</div>" for picture in pictures)
    (tmp_path / "probe.html").write_text(PICTURES % {"pictures": drawn}, "utf-8")
    told = told_by(in_browser(tmp_path, "probe.html", "--dump-dom", "--window-size=900,2000"))
    assert len(told) == len(pictures)
    for picture, found in zip(pictures, told, strict=True):
        assert found["texts"] > 3 and (found["outside"], found["crossed"]) == ([], []), picture.name


AT_ONCE = 10
LAID_OUT = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const pages = %(pages)s, told = {};
for (const name of pages) {
  const frame = document.createElement("iframe");
  frame.width = 400; frame.height = 800; frame.src = name;
  frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    told[name] = {
      overflow: root.scrollWidth - root.clientWidth, heading: page.querySelector("h1").textContent.length,
      pictures: page.images.length,
      lost: [...page.images].filter(each => !each.naturalWidth).map(each => each.getAttribute("src")),
    };
    if (Object.keys(told).length == pages.length) {
      const shown = document.createElement("pre");
      shown.textContent = "TOLD" + JSON.stringify(told) + "TOLD";
      document.body.append(shown);
    }
  };
  document.body.append(frame);
}
</script></body>
"""


def laid_out(site: Path, pages: list[str]) -> dict[str, dict[str, Any]]:
    """What a browser makes of pages in a narrow window, some at a time."""
    told: dict[str, dict[str, Any]] = {}
    for first in range(0, len(pages), AT_ONCE):
        some = pages[first : first + AT_ONCE]
        (site / "probe.html").write_text(LAID_OUT % {"pages": json.dumps(some)}, "utf-8")
        asked = ("--allow-file-access-from-files", "--dump-dom", "--virtual-time-budget=30000")
        told |= told_by(in_browser(site, "probe.html", *asked))
    assert told.keys() == {*pages}
    return told


def is_whole(found: dict[str, Any]) -> bool:
    return found["overflow"] <= 0 and not found["lost"] and found["heading"] > 0


@pytest.mark.soak
@has_browser
def test_a_browser_shows_the_page_with_pictures_whole_in_a_narrow_window(site: Path) -> None:
    (found,) = laid_out(site, ["concepts.html"]).values()
    assert is_whole(found) and found["pictures"] == 4, found


@pytest.mark.soak
@has_browser
def test_a_browser_shows_every_page_whole_in_a_narrow_window(site: Path) -> None:
    pages = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    pages = [page for page in pages if not page.startswith(("probe", "404"))]
    assert len(pages) > 80
    assert {page: found for page, found in laid_out(site, pages).items() if not is_whole(found)} == {}


CODE_THAT_IS_CUT = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const pages = %(pages)s, widths = [400, 1200], cut = [];
let waiting = pages.length * widths.length, seen = 0;
for (const page of pages) for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.src = page;
  frame.onload = () => {
    for (const code of frame.contentDocument.querySelectorAll(".language-sh code, .language-python code")) {
      seen += 1;
      if (code.scrollWidth > code.clientWidth + 1) cut.push([page, width, code.textContent.slice(0, 60)]);
    }
    if (--waiting == 0) {
      const told = document.createElement("pre");
      told.textContent = "TOLD" + JSON.stringify({seen: seen, cut: cut}) + "TOLD";
      document.body.append(told);
    }
  };
  document.body.append(frame);
}
</script></body>
"""


@pytest.mark.soak
@has_browser
def test_no_code_is_cut_off_in_a_narrow_or_a_wide_window(site: Path) -> None:
    pages = ["index.html", "guide.html", "mcp.html", "howto/erase-a-person.html", "howto/answer-an-audit-question.html"]
    (site / "probe.html").write_text(CODE_THAT_IS_CUT % {"pages": json.dumps(pages)}, "utf-8")
    asked = ("--allow-file-access-from-files", "--dump-dom", "--virtual-time-budget=30000")
    told = told_by(in_browser(site, "probe.html", *asked))
    assert told["cut"] == [] and told["seen"] > 40
