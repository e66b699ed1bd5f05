"""Pages of the site that are not in this folder: made from the repository's other pages, and from the code itself.

The README is the first page, each room's README is a page, and the library and the command line are written out from
docstrings and from help. Links that lead out of the documentation into sources become plain words.
"""

from __future__ import annotations

import inspect
import os
import posixpath
import re
import shutil
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files

import worlddb
from worlddb.tools.cli.base.arguments import build_parser
from worlddb.tools.cli.main import COMMANDS

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = Path(os.environ.get("SITE_SOURCES", ROOT / "build" / "site-sources"))
"""The sources as installed; two builds at the same time want a folder each."""
ROOMS: Final = ("log", "projections", "reconciler", "query", "worlddb", "tools", "tests", "bench")
FROM_ELSEWHERE: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    **{f"{room}/README.md": f"rooms/{room}.md" for room in ROOMS},
}
"""Pages of the repository outside of docs/, and where the site has them."""
_LINK: Final = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<to>[^)\s]+)\)")


def on_startup(command: str, dirty: bool) -> None:
    """Lay the sources out as they are installed, for a reader of docstrings that wants an ``__init__.py`` each."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    for room in ROOMS[:6]:
        into = SOURCES / "worlddb" if room == "worlddb" else SOURCES / "worlddb" / room
        shutil.copytree(ROOT / room, into, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    for folder in (each for each in (SOURCES / "worlddb").rglob("*") if each.is_dir()):
        (folder / "__init__.py").touch()


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""
    made = {to: (ROOT / page).read_text("utf-8") for page, to in FROM_ELSEWHERE.items()}
    made |= {"library.md": _library(), "command-line.md": _command_line()}
    made["site.css"] = (ROOT / "docs/site/site.css").read_text("utf-8")
    for to, text in made.items():
        files.append(File.generated(config, to, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links at pages of the site, wherever in the repository they lead."""
    uri = page.file.src_uri
    source = next((each for each, to in FROM_ELSEWHERE.items() if to == uri), f"docs/{uri}")

    def pointed(link: re.Match[str]) -> str:
        to, _, anchor = link["to"].partition("#")
        if not to or ":" in to:
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), to.rstrip("/")))
        target = "README.md" if target == "docs/README.md" else target
        inside = FROM_ELSEWHERE.get(target, target.removeprefix("docs/") if target.startswith("docs/") else None)
        if inside is None or files.get_file_from_path(inside) is None:
            return f"{link['text']}"
        near = posixpath.relpath(inside, posixpath.dirname(uri) or ".")
        return f"[{link['text']}]({near}{'#' if anchor else ''}{anchor})"

    return _LINK.sub(pointed, markdown)


def _library() -> str:
    """A page of all that is public, from its docstrings; errors and records after what returns them."""
    lines = ["# The library", "", "Everything that `import worlddb` has, from the docstrings.", ""]
    documented = [getattr(worlddb, name) for name in worlddb.__all__]
    named = sorted(
        (each for each in documented if inspect.isclass(each) or inspect.isfunction(each)),
        key=lambda each: (inspect.isclass(each) and issubclass(each, Exception), each.__name__.lower()),
    )
    lines += [f"::: {each.__module__}.{each.__qualname__}" for each in named]
    return "\n".join(lines) + "\n"


def _command_line() -> str:
    """A page of every command's help, as a terminal of 100 columns shows it."""
    os.environ["COLUMNS"] = "100"
    commands = build_parser(COMMANDS)
    choices = next(action.choices for action in commands._actions if action.dest == "command")
    lines = ["# The command line", "", "What `worlddb COMMAND --help` says of each command.", ""]
    for command in COMMANDS:
        lines += [f"## {command.name}", "", "```text", choices[command.name].format_help().rstrip(), "```", ""]
    return "\n".join(lines)
