"""``worlddb demo``: the story of one conversation, on real stores."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size, which
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from worlddb import PlaceTaken
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser

if TYPE_CHECKING:
    from worlddb.tools.demo.story import Section

_FOLDER: Final = "my-demo"
_WIDEST: Final = 100


def _arguments(parser: Parser) -> None:
    parser.add_argument("--keep", metavar="DIR", help="keep the stores of the demo in this new or empty directory")


def _demo(args: Namespace, out: Output) -> int:
    from worlddb.tools.demo.story import Stage, tell

    with _place(args.keep) as folder:
        stage = Stage(folder)
        if not out.json:
            out.page.line(("Mara, her agent Sol, and a memory: the story of WorldDB in ten steps.", "title"))
        steps: list[dict[str, Any]] = []
        kept_promises = True
        for number, section in enumerate(tell(stage), 1):
            steps.append({"step": section.title, "ok": section.ok, **section.result})
            kept_promises = kept_promises and section.ok
            if not out.json:
                _write_section(out.page, number, section)
        with stage.open() as db:
            head = db.head()
        out.answer({"root": head.root, "seq": head.seq, "steps": steps}, lambda page: _write_end(page, head.root))
        if not args.keep:
            out.hint(f"To look around in these stores: {_program()} demo --keep {_FOLDER}, then")
        _write_next(out, Path(args.keep or _FOLDER))
    return DONE if kept_promises else NO


@contextmanager
def _place(keep: str | None) -> Iterator[Path]:
    """Yield the directory of the story: the one to keep, or a temporary one."""
    if keep is None:
        with TemporaryDirectory(prefix="worlddb-demo-") as temporary:
            yield Path(temporary)
        return
    folder = Path(keep)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlaceTaken(f"{folder} exists already and is not an empty directory", "Give a new directory")
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


def _write_section(page: Page, number: int, section: Section) -> None:
    page.line("")
    page.line((f"{number:>2}  {section.title}", "name"))
    width = max((len(line.asked) for line in section.lines if line.answer), default=0)
    for line in section.lines:
        remark = (f"  {line.remark}" if line.remark else "", "dim")
        if line.answer:
            page.line(f"{line.asked:{width}}  ", (line.answer, line.style), remark, indent=6)
            continue
        *lines, last = wrap(line.asked, min(get_terminal_size().columns, _WIDEST) - 4)
        for text in lines:
            page.line(text, indent=4)
        page.line(last, remark, indent=4)


def _write_end(page: Page, root: str) -> None:
    page.line("")
    page.line("The memory ends with the root ", (root, "title"))


def _write_next(out: Output, folder: Path) -> None:
    memory = folder / "memory"
    for line in (
        f'--store {memory} recall "what did Mara pay Jon?" --explain',
        f'--store {memory} history "The clinic"',
        f"--store {memory} log --from 8",
        f"diff {memory} {folder / 'altered'}",
        f"diff {memory} {folder / 'forged'}",
    ):
        out.hint(f"  {_program()} {line}")


def _program() -> str:
    """Return what a person types to run the command line, also where it is not on the PATH."""
    run = sys.argv[0]
    return "worlddb" if which("worlddb") or Path(run).name != "worlddb" else shlex.quote(run)


COMMANDS = (
    Command(
        "demo",
        "tell the whole story in a few seconds, on a sample conversation",
        _arguments,
        _demo,
        (
            ("demo", "in a temporary directory"),
            ("demo --keep my-demo", "and keep its stores there, to look around in"),
        ),
    ),
)
