"""Where answers go: one JSON document for a program, a page for a person; progress and hints for people only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TextIO, TypeAlias

from worlddb import WorldDBError
from worlddb.tools.cli.base.cli_wording import explain_error
from worlddb.tools.cli.base.page import Page, Span, visible

Told: TypeAlias = Callable[[int, "int | None", str], None]


class Output:
    """The two streams of a run, and how they are to be used."""

    def __init__(self, *, json: bool, quiet: bool) -> None:
        self.json = json
        self.quiet = quiet

    @property
    def utf8(self) -> bool:
        """True if standard output can show every character."""
        return (sys.stdout.encoding or "ascii").lower().replace("-", "") == "utf8"

    @property
    def can_ask(self) -> bool:
        """True if a person is there to answer a question, and no JSON was asked for."""
        return not self.json and _is_terminal(sys.stdin) and _is_terminal(sys.stderr)

    @cached_property
    def page(self) -> Page:
        """What a person reads the answer from."""
        if not _for_a_person(sys.stdout):
            from worlddb.tools.cli.base.page import PlainPage

            return PlainPage(sys.stdout)
        from worlddb.tools.cli.base.terminal import TerminalPage

        return TerminalPage(sys.stdout)

    def answer(self, document: Mapping[str, Any], write: Callable[[Page], None]) -> None:
        """The whole answer: the document as JSON, or what ``write`` writes on the page."""
        if self.json:
            self.document(document, indent=2)
        else:
            write(self.page)

    def verbatim(self, document: Mapping[str, Any], text: str) -> None:
        """As :meth:`answer`, where people too are to get a text of ours exactly as it is, to sign or to keep."""
        if self.json:
            self.document(document, indent=2)
        else:
            sys.stdout.write(text)

    def document(self, document: Mapping[str, Any], *, indent: int | None = None) -> None:
        """A JSON document; without ``indent`` it is one line."""
        text = json.dumps(document, ensure_ascii=not self.utf8, indent=indent, default=_plain_value)
        sys.stdout.write(text + "\n")

    def hint(self, *spans: Span) -> None:
        """A line for a person who may wonder how to go on."""
        if not self.quiet and not self.json:
            self.page.line(*((span, "dim") if isinstance(span, str) else span for span in spans))

    def warn(self, text: str) -> None:
        """Say on standard error what a person might miss; a program finds it in the document."""
        if not self.quiet and not self.json:
            sys.stderr.write(f"{visible(text)}\n")

    def failed(self, error: WorldDBError) -> None:
        """Say an error to the person, and in JSON to the program that asked for it."""
        message, advice = explain_error(error)
        remedy = f"  {advice}\n" if advice else ""
        label = f"error[{error.code}]:"
        if _for_a_person(sys.stderr) and not os.environ.get("NO_COLOR"):
            label = f"\x1b[1;31m{label}\x1b[0m"
        sys.stderr.write(f"{label} {visible(message)}\n{visible(remedy)}")
        if self.json:
            told: dict[str, Any] = {"code": error.code, "message": message, "remedy": advice}
            if error.details:
                told["details"] = error.details
            self.document({"error": told}, indent=2)

    @contextmanager
    def progress(self, what: str) -> Iterator[Told | None]:
        """A progress bar on the error stream if a person is watching; None if nobody is."""
        if self.quiet or not _for_a_person(sys.stderr):
            yield None
            return
        from worlddb.tools.cli.base.terminal import progress_bar

        with progress_bar(sys.stderr, what) as told:
            yield told

    @contextmanager
    def steps(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """As :meth:`progress`, for work that tells (done, in all)."""
        with self.progress(what) as told:
            yield None if told is None else lambda done, total: told(done, total, what)


def _is_terminal(stream: TextIO | None) -> bool:
    """True if somebody sits at the other end; Python has no object for a stream that was closed before the start."""
    return stream is not None and stream.isatty()


def _for_a_person(stream: TextIO) -> bool:
    """True if the stream is a terminal whose cursor can be moved."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _plain_value(value: Any) -> Any:
    """What JSON has no form for, in values that callers stored as provenance or evidence."""
    return value.hex() if isinstance(value, bytes) else str(value)
