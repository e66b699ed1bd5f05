"""The page for terminals: Rich's tables, trees, colours and progress bars."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Final, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from worlddb.tools.cli.base.page import MAX_LEVELS, Branch, Span, layout_lines, safe_span, visible

STYLES: Final = {
    "": "",
    "title": "bold",
    "name": "bold cyan",
    "ref": "cyan",
    "dim": "dim",
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
}
_PAGE_ROWS: Final = 200


class TerminalPage:
    """Writes to a terminal, row by row."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False)

    @property
    def width(self) -> int:
        return self._console.width

    def line(self, *spans: Span, indent: int = 0) -> None:
        self._console.print(Padding(_text(spans), (0, 0, 0, indent), expand=False))

    def fields(self, rows: Iterable[tuple[str, Sequence[Span]]], *, indent: int = 0) -> None:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, spans in rows:
            grid.add_row(Text(name), _text(spans, in_a_line=False))
        self._console.print(Padding(grid, (0, 0, 0, indent), expand=False))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Span]]) -> None:
        remaining = iter(rows)
        first = next(remaining, None)
        while first is not None:
            table = Table(box=None, header_style="dim", pad_edge=False)
            for column in columns:
                table.add_column(column, overflow="fold", no_wrap=column in ("ref", "seq"))
            for row in chain([first], islice(remaining, _PAGE_ROWS - 1)):
                table.add_row(*(_text([cell]) for cell in row))
            self._console.print(table)
            first = next(remaining, None)

    def tree(self, root: Branch) -> None:
        drawn = Tree(_branch_text(root), guide_style="dim")
        above = [drawn]
        for branch, level in layout_lines(root):
            if level:
                del above[min(level, MAX_LEVELS) :]
                above.append(above[-1].add(_branch_text(branch)))
        self._console.print(drawn)


def _text(spans: Iterable[Span], *, in_a_line: bool = True) -> Text:
    made = Text()
    for span in spans:
        text, style = safe_span(span, in_a_line=in_a_line)
        made.append(text, STYLES[style])
    return made


def _branch_text(branch: Branch) -> Text:
    lines = [_text(branch.line), *(Text("  ") + _text(note) for note in branch.notes)]
    return Text("\n").join(lines)


@contextmanager
def progress_bar(stream: TextIO, what: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show a progress bar until the work ends; yields a function of (done, total or None, what)."""
    console = Console(file=stream, force_terminal=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)

        def report(done: int, total: int | None, doing: str) -> None:
            progress.update(task, completed=done, total=total, description=visible(doing or what))

        yield report
