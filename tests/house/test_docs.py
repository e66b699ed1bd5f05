"""Runs the examples of the documentation, follows its links, compares its lists with code.

A ``text`` block right after a ``python`` block is what that block prints; three dots stand for anything. In an ``sh``
block, lines that begin with ``worlddb`` are run, and the exit code is 0 unless a comment says ``exit code N``. The
blocks of one page share a namespace and an empty working directory.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.tidy.tree import ROOT, repository_files
from worlddb.tools.cli.main import COMMANDS, main

PAGES = sorted(name for name in repository_files() if name.endswith(".md"))
ROOMS = ("log", "projections", "reconciler", "query", "worlddb", "tools", "tests", "bench")

FENCE = re.compile(r"^(?P<left><!-- not run -->\n)?```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*(?:\n[^\]\n]*)?\]\((?P<to>[^)\s]+)\)")
EXIT_CODE = re.compile(r"exit code (\d)")


class Block(NamedTuple):
    """A fenced block: language, text, line of its fence, and text that follows at once."""

    kind: str
    body: str
    line: int
    printed: str | None


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks(text: str) -> Iterator[Block]:
    found = list(FENCE.finditer(text))
    for match, after in zip_longest(found, found[1:]):
        follows = after is not None and after["kind"] == "text" and not text[match.end() : after.start()].strip()
        if match["left"] is None:
            line = text.count("\n", 0, match.start("kind")) + 1
            yield Block(match["kind"], match["body"], line, after["body"] if after and follows else None)


def agrees(printed: str, expected: str) -> bool:
    return re.fullmatch(re.escape(expected).replace(r"\.\.\.", ".*"), printed, re.DOTALL) is not None


def run_python(block: Block, page: str, names: dict[str, Any]) -> str:
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile("\n" * block.line + block.body, page, "exec", dont_inherit=True), names)
    return said.getvalue()


def run_commands(block: Block) -> Iterator[tuple[str, int, int, str]]:
    """Run each ``worlddb`` line: expected exit code, actual one, and output."""
    for line in block.body.splitlines():
        command, _, comment = line.partition(" #")
        words = shlex.split(command)
        if words[:1] == ["worlddb"]:
            wanted = EXIT_CODE.search(comment)
            said = io.StringIO()
            with redirect_stdout(said), redirect_stderr(said):
                code = main(words[1:])
            yield line, int(wanted[1]) if wanted else 0, code, said.getvalue()


def run(text: str, page: str, **given: Any) -> Iterator[str]:
    """What does not hold about a page's examples; ``given`` are names that the page takes for granted."""
    names: dict[str, Any] = {"__name__": "documentation", **given}
    for block in blocks(text):
        if block.kind == "python":
            printed = run_python(block, page, names)
            if not agrees(printed, block.printed or ""):
                yield f"{page}:{block.line}: this block prints\n{printed}"
        elif block.kind == "sh":
            for line, wanted, code, said in run_commands(block):
                if code != wanted:
                    yield f"{page}:{block.line}: `{line}` ended with {code}, not {wanted}\n{said}"


FRAMEWORK_PAGES = {
    "docs/howto/use-with-openai-agents.md": "agents",
    "docs/howto/use-with-pydantic-ai.md": "pydantic_ai",
    "docs/howto/use-with-llamaindex.md": "llama_index",
}
"""Pages whose examples need a framework, by its module: tests/tools/test_frameworks.py runs them."""
EXAMPLES = [page for page in PAGES if any(block.kind in ("python", "sh") for block in blocks(text_of(page)))]
RUNNABLE = [page for page in EXAMPLES if page not in FRAMEWORK_PAGES]


@pytest.mark.parametrize("page", RUNNABLE)
def test_the_examples_run_and_print_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORLDDB_STORE", raising=False)
    findings = list(run(text_of(page), page))
    assert not findings, "\n".join(findings)


def test_the_pages_that_promise_examples_have_them() -> None:
    assert {"README.md", "docs/guide.md", "docs/format.md"} <= set(RUNNABLE)


def test_a_wrong_example_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prints = "```python\nprint(1 + 1)\n```\n\n```text\n{}\n```\n"
    assert not list(run(prints.format("2"), "a.md"))
    assert list(run(prints.format("3"), "a.md"))
    assert not list(run("```python\nprint(7)\n```\n\n```text\n...\n```\n", "a.md"))
    assert list(run("```python\nprint(7)\n```\n", "a.md")), "output that the page does not show"
    assert not list(run("```sh\nworlddb --store no head  # exit code 2\n```\n", "a.md"))
    assert list(run("```sh\nworlddb --store no head\n```\n", "a.md"))
    assert not list(run("<!-- not run -->\n```python\nraise SystemExit\n```\n", "a.md"))
    with pytest.raises(ZeroDivisionError):
        list(run("```python\n1 / 0\n```\n", "a.md"))


# -- links


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#{1,6} (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: str, text: str) -> Iterator[str]:
    for match in LINK.finditer(FENCE.sub("", text)):
        path, _, anchor = match["to"].partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists():
            yield f"{page}: {match['to']} leads nowhere"
        elif anchor and anchor not in anchors(target.read_text("utf-8") if path else text):
            yield f"{page}: {match['to']} names no heading"


def test_every_relative_link_leads_somewhere() -> None:
    findings = [finding for page in PAGES for finding in broken_links(page, text_of(page))]
    assert not findings, "\n".join(findings)


def test_a_broken_link_is_found() -> None:
    text = "# One heading, two\n[a](README.md) [b](#one-heading-two) [c](none.md) [d](#none) [e](https://a.example/b)"
    assert list(broken_links("README.md", text)) == [
        "README.md: none.md leads nowhere",
        "README.md: #none names no heading",
    ]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, pending = {"README.md"}, ["README.md"]
    while pending:
        page = pending.pop()
        for match in LINK.finditer(text_of(page)):
            target = ((ROOT / page).parent / match["to"].partition("#")[0]).resolve()
            name = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
            if name.endswith(".md") and target.exists() and name not in reached:
                reached.add(name)
                pending.append(name)
    assert reached == set(PAGES)


def test_the_index_of_the_docs_lists_every_page_beside_it() -> None:
    linked = {match["to"].partition("#")[0] for match in LINK.finditer(text_of("docs/README.md"))}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"} <= linked


def test_every_room_has_a_page() -> None:
    assert {f"{room}/README.md" for room in ROOMS} <= set(PAGES)


# -- words


def test_every_file_that_a_page_names_exists() -> None:
    """A page that names a test or a module as its proof must not outlive it."""
    named = re.compile(r"`((?:[a-z_]+/)*[a-z_]+\.py)`")
    known = {name for name in repository_files() if name.endswith(".py")}
    findings = [
        f"{page} names {name}"
        for page in PAGES
        for name in named.findall(FENCE.sub("", text_of(page)))
        if not any(f"/{path}".endswith(f"/{name}") for path in known)
    ]
    assert not findings, "\n".join(findings)


def test_every_command_is_in_the_docs_and_shown_in_its_own_help() -> None:
    page = text_of("docs/howto/use-the-command-line.md").split("## Commands", 1)[1]
    documented = set(re.findall(r"[|,] `([a-z][a-z-]*)(?: [^`]*)?`", page))
    assert documented == {command.name for command in COMMANDS}
    assert all(command.examples for command in COMMANDS)


def test_the_changelog_begins_with_the_version_that_is_being_made() -> None:
    from worlddb import __version__

    first = re.findall(r"^## (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)[0]
    assert first.split(": ")[-1] == __version__ or first == "Unreleased"
