"""Read HTML pages strictly and in Chromium, with texts that try to break out of their element."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
HOSTILE = (
    "</table></article></main></body><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "{{ 7 * 7 }}{% raw %}",
    '" onmouseover="alert(1)" \'',
    "]]>--><!--",
    "&lt;b&gt; &amp;",
    "\x1b[31mred\x1b[0m\x01 \u202egnp.exe",
    "../../../../etc/passwd",
    "javascript:alert(1)",
)
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Structure(HTMLParser):
    """Elements in their order, with what must not be on a page that stands on its own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes.extend((name, value or "") for name, value in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Structure:
    """The page as a strict reader finds it: well-formed, and in need of nothing else."""
    found = Structure()
    found.feed(page)
    found.close()
    assert not found.open
    assert page.startswith("<!DOCTYPE html>")
    assert not {"script", "iframe", "object", "embed", "img", "link", "form", "base"} & set(found.elements)
    names = {name for name, _ in found.attributes}
    targets = {value for name, value in found.attributes if name == "id"}
    assert {value for name, value in found.attributes if name == "href"} <= {f"#{target}" for target in targets}
    assert not {"src", "style", "srcset", "action"} & names
    assert not [name for name in names if name.startswith("on")]
    assert "@import" not in page and "url(" not in page
    assert ("content", next(v for n, v in found.attributes if v.startswith("default-src 'none'"))) in found.attributes
    return found


PROBE = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const widths = %(widths)s, told = {}, frames = [];
const box = each => each.getBoundingClientRect();
function cut(text) {
  const own = box(text), around = box(text.ownerSVGElement);
  return own.width && (own.left < around.left - 1 || own.right > around.right + 1 || own.bottom > around.bottom + 1);
}
function crowded(page) {
  const seen = [...page.querySelectorAll("svg text")].filter(each => box(each).width);
  return seen.filter((each, place) => seen.slice(place + 1).some(other => {
    const one = box(each), two = box(other);
    return one.left < two.right && two.left < one.right && one.top < two.bottom - 3 && two.top < one.bottom - 3;
  }));
}
function unmarked(label) {
  const clamped = label.ownerDocument.defaultView.getComputedStyle(label).textOverflow == "ellipsis";
  return label.scrollWidth > label.clientWidth && !clamped;
}
function seen(frame, width) {
  const page = frame.contentDocument, root = page.documentElement;
  const links = [...page.querySelectorAll("svg a")];
  const link = links[Math.min(%(link)d, links.length - 1)];
  const found = {
    title: page.title, heading: page.querySelector("h1").textContent,
    overflow: root.scrollWidth - root.clientWidth, height: root.scrollHeight,
    links: links.length, rows: page.querySelectorAll("tbody tr").length,
    dangling: links.filter(each => !page.querySelector(each.getAttribute("href"))).length,
    cut: [...page.querySelectorAll("svg text")].filter(cut).map(each => each.textContent),
    crowded: crowded(page).map(each => each.textContent),
    unmarked: [...page.querySelectorAll(".label")].filter(unmarked).length,
    shortened: [...page.querySelectorAll(".label")].filter(each => each.scrollWidth > each.clientWidth).length,
    scripts: page.scripts.length, background: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
  };
  if (link) {
    const tip = link.querySelector(".tip"), visibility = () => frame.contentWindow.getComputedStyle(tip).visibility;
    found.before = visibility();
    link.focus();
    found.focused = visibility();
    found.said = [...tip.querySelectorAll("p")].map(each => each.textContent);
    found.room = tip.firstElementChild.scrollHeight <= tip.firstElementChild.clientHeight;
    found.label = link.getAttribute("aria-label");
    found.shapes = links.map(each => each.querySelector(".area").getBoundingClientRect())
      .map(box => [box.left, box.top, box.width, box.height]);
  }
  told[width] = found;
}
for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.src = %(page)s;
  frame.onload = () => {
    seen(frame, width);
    if (Object.keys(told).length == widths.length) {
      document.body.innerHTML = "<pre id='told'></pre>";
      document.getElementById("told").textContent = JSON.stringify(told);
    }
  };
  document.body.append(frame);
}
</script></body>
"""


NO_BROWSER = "there is no Chromium here; the other tests have read the page without one"


def found_browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


has_browser = pytest.mark.skipif(found_browser() is None, reason=NO_BROWSER)
"""For tests whose fixtures cost much: they are not made to be skipped."""


def browser() -> str:
    """The path of Chromium; skips the test if there is none."""
    found = found_browser()
    if found is None:
        pytest.skip(NO_BROWSER)
    return found


def seen_in_browser(page: str, folder: Path, widths: tuple[int, ...] = (320, 1200), *, link: int = 0) -> dict[str, Any]:
    """Measure a page in Chromium at some widths, and what it shows when a link has focus."""
    (folder / "page.html").write_text(page, "utf-8")
    asked = {"widths": json.dumps(widths), "link": link, "page": json.dumps((folder / "page.html").as_uri())}
    (folder / "probe.html").write_text(PROBE % asked, "utf-8")
    dom = in_browser(
        folder, "probe.html", "--allow-file-access-from-files", "--dump-dom", "--virtual-time-budget=20000"
    )
    found = Structure()
    found.feed(dom)
    told: dict[str, Any] = json.loads(next(text for text in found.text if text.startswith("{")))
    assert told.keys() == {str(width) for width in widths}
    return told


def in_browser(folder: Path, page: str, *asked: str) -> str:
    """What Chromium prints when it opens a page in a folder with a profile of its own."""
    quiet = ("disable-gpu", "disable-quic", "no-first-run", "disable-background-networking")
    settings = ("headless", "no-sandbox", *quiet, "disable-component-update", "disable-sync", "hide-scrollbars")
    command = [browser(), *(f"--{name}" for name in settings), f"--user-data-dir={folder / 'profile'}", *asked]
    uri = (folder / page).as_uri()
    done = subprocess.run([*command, uri], capture_output=True, timeout=240, check=True, cwd=folder)
    return done.stdout.decode()
