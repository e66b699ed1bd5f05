"""Output of a command: one JSON document for a program, a page for a person.

Progress and hints are for people only. Error remedies of the engine name calls of the library; this module translates
them to commands and options.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, NamedTuple, TextIO, TypeAlias

from worlddb import WorldDBError
from worlddb.tools.cli.base.page import Page, Span, visible, visible_json

Report: TypeAlias = Callable[[int, "int | None", str], None]


class Output:
    """The output of one run: standard output and error, as JSON or for a person."""

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
        """The page on which a person reads the answer."""
        if not _is_interactive(sys.stdout):
            from worlddb.tools.cli.base.page import PlainPage

            return PlainPage(sys.stdout)
        from worlddb.tools.cli.base.terminal import TerminalPage

        return TerminalPage(sys.stdout)

    def answer(self, document: Mapping[str, Any], write: Callable[[Page], None]) -> None:
        """Print the whole answer: the document as JSON, or whatever ``write`` puts on the page."""
        if self.json:
            self.document(document, indent=2)
        else:
            write(self.page)

    def verbatim(self, document: Mapping[str, Any], text: str) -> None:
        """As :meth:`answer`, but a person gets the text exactly as it is, to sign or to keep."""
        if self.json:
            self.document(document, indent=2)
        else:
            sys.stdout.write(text)

    def document(self, document: Mapping[str, Any], *, indent: int | None = None) -> None:
        """Print a JSON document; without ``indent`` on one line."""
        text = json.dumps(document, ensure_ascii=not self.utf8, indent=indent, default=_plain_value)
        sys.stdout.write(visible_json(text) + "\n")

    def hint(self, *spans: Span) -> None:
        """Print a hint on how to go on; for people only."""
        if not self.quiet and not self.json:
            self.page.line(*((span, "dim") if isinstance(span, str) else span for span in spans))

    def warn(self, text: str) -> None:
        """Warn a person on standard error; a program finds the same in the document."""
        if not self.quiet and not self.json:
            sys.stderr.write(f"{visible(text)}\n")

    def failed(self, error: WorldDBError) -> None:
        """Print an error: for a person on standard error, as JSON where it was asked for."""
        message, advice = explain_error(error)
        remedy = f"  {advice}\n" if advice else ""
        label = f"error[{error.code}]:"
        if _is_interactive(sys.stderr) and not os.environ.get("NO_COLOR"):
            label = f"\x1b[1;31m{label}\x1b[0m"
        sys.stderr.write(f"{label} {visible(message)}\n{visible(remedy)}")
        if self.json:
            described: dict[str, Any] = {"code": error.code, "message": message, "remedy": advice}
            if error.details:
                described["details"] = error.details
            self.document({"error": described}, indent=2)

    @contextmanager
    def progress(self, what: str) -> Iterator[Report | None]:
        """Show a progress bar on standard error; yields None if nobody is watching."""
        if self.quiet or not _is_interactive(sys.stderr):
            yield None
            return
        from worlddb.tools.cli.base.terminal import progress_bar

        with progress_bar(sys.stderr, what) as report:
            yield report

    @contextmanager
    def steps(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """As :meth:`progress`, for work that reports (done, total)."""
        with self.progress(what) as report:
            yield None if report is None else lambda done, total: report(done, total, what)


def _is_terminal(stream: TextIO | None) -> bool:
    """True for a terminal; the stream is None if it was closed before the start."""
    return stream is not None and stream.isatty()


def _is_interactive(stream: TextIO) -> bool:
    """True if the stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _plain_value(value: Any) -> Any:
    """Convert a value of provenance or evidence that JSON cannot express."""
    return value.hex() if isinstance(value, bytes) else str(value)


LOOK_FOR_IT: Final = "Look for it with `worlddb recall TEXT`, or walk down from `worlddb children`"
NAME_A_STORE: Final = (
    "Name one with --store DIR or $WORLDDB_STORE, or make one: `worlddb ingest FILE`, `remember TEXT` or `create`"
)
ASK_WITH_VALID: Final = "To read what was true at a time, give --valid TIME"
NOTHING_THEN: Final = f"Nothing had been committed by then. {ASK_WITH_VALID}."

_PHRASES: Final = (
    ("Look for it with recall or find", LOOK_FOR_IT),
    ("Look it up by name with find", LOOK_FOR_IT),
    ("Check the path, or write to it first", NAME_A_STORE),
    ("Use a later view; to read what was true at a time by today's knowledge, give valid=", ASK_WITH_VALID),
    ("Send it as one, by sparql_update", "Send it with `worlddb sparql --update`"),
    ("Send it as one, by view.sparql", "Send it without --update"),
    ("List them with proposals()", "List them with `worlddb proposals --status all`"),
    ("List them with `worlddb bookmark` or bookmarks()", "List them with `worlddb bookmark`"),
    ("The edges of a world are listed with it", "`worlddb show WORLD` lists the edges of a world"),
    ("See db.accounts.accounts()", "`worlddb accounts list` has them"),
    ("See db.accounts.keys()", "`worlddb keys list` has them"),
    ("Define it with db.accounts.define_plan", "Define it with `worlddb plans set PLAN`"),
    ("See the thresholds in force with view.tunings()", "`worlddb tunings` lists what is set where"),
    ("See the registered types with view.edge_types()", "`worlddb types` lists what is registered where"),
    (
        "; or declare your own with db.define_relation(...), or register its handler with db.register(...)",
        "; or declare it with `worlddb relation NAME`; programs register handlers, see docs/howto/define-edge-types.md",
    ),
    (
        "Open the store with it: worlddb.open(path, edge_types=[...])",
        "Write it from a program that has the handler; reading needs none",
    ),
    ("with db.register(...)", "from a program"),
    (
        "Reassert it if it holds again, or give a valid_from before its end",
        "If it holds again, resume it with `worlddb reassert REF`; or give --valid-from a time before its end",
    ),
    (
        "For other times give valid_from and valid_to that do not overlap; if those are wrong, unlink the edge",
        "For other times give --valid-from and --valid-to that do not overlap; if those are wrong, `worlddb unlink` the"
        " edge, which `worlddb show MEMBER --include-superseded` lists",
    ),
    ("Write it with Query.to_json", "Write it with `worlddb query ... --print`"),
    (". A view finds it by name: db.view().reference_of('Alice')", ""),
    ("Look at view.forks(...)", "`worlddb show WORLD` lists the forks of a world"),
    ("Look at view.forked_from(...)", "`worlddb show FORK` says what a fork goes on from"),
    ("Look at merge(..., plan=True)", "`worlddb merge FORK --plan` lists the conflicts, each with its id"),
    (
        "Decode the bytes with errors='replace' or correct them at their source",
        "Give it in UTF-8: `iconv -f latin1 -t utf-8` makes it of a text in Latin-1",
    ),
    ("Look at its aliases with show", "`worlddb show WORLD` lists its aliases"),
    ("only an exact ranking equals that of a replayed store", "--exact ranks as a replayed store would"),
    ("ask as of that time", "ask as of that time with --valid"),
    ("replace it with overwrite", "replace it with --overwrite"),
    ("members=False", "--no-members"),
    ("; pass revive=True if it may come back", "; a program brings it back with `revive=True`, if it may"),
    ("; see view.edge_types()", "; `worlddb types` lists them"),
    ("; see view.tunings()", "; `worlddb tunings` lists them"),
    ("; see view.profiles()", "; `worlddb vocabulary` lists what is set"),
    (": see view.belief_settings() and set_beliefs", ": see `worlddb belief-settings`"),
    (
        "db.erasure_receipt lists all of them under not_reached",
        "the receipt of the erasure lists all under not_reached",
    ),
    ("Look at db.import_plan(...)", "Look at `worlddb import FILE --check`"),
    ("use resolve_kref", "use `worlddb kref`"),
    ("Make it with create_at", "Make it with `worlddb kref KREF --content TEXT`"),
    ("a world, author=, source=, since=, until= or", "a world, --of-author, --source, --since, --until or"),
    ("Give node_types=[...], or one that ships: ", "Give --node-type TYPE, or one that ships: --profile "),
    ("; lift_profile opens a world", "; --lift opens a world"),
    ("See the profiles in force with profiles()", "`worlddb vocabulary` lists what is set"),
    ("Open it with embedder=...", "Name one with --embedder"),
    ("lift the deadline", "lift the deadline with `worlddb expire REF --never`"),
)
"""Phrases of the engine, and what they are called on the command line."""
_PROVE: Final = re.compile(r"prove\('([0-9a-f]+)', world='([0-9a-f]+)'\)")
_REPLACES: Final = re.compile(r'replaces="([0-9a-f]+)"')
_ARGUMENT: Final = re.compile(r"(?<![-\w$.`'\"])([a-z][a-z_]+)=(?:True|\.\.\.)?(?=$|[\s,;.)])")


class ErrorText(NamedTuple):
    """Message and remedy of an error, as the command line prints them."""

    message: str
    remedy: str


def explain_error(error: WorldDBError) -> ErrorText:
    """Translate an error for a person at the command line."""
    return ErrorText(error.message, translate_remedy(error.remedy))


def translate_remedy(text: str) -> str:
    """Replace calls and arguments of the library in a text by commands and options."""
    for library_phrase, command_phrase in _PHRASES:
        text = text.replace(library_phrase, command_phrase)
    text = _PROVE.sub(r"`worlddb prove \1 --world \2`", text)
    text = _REPLACES.sub(r"--replaces \1", text)
    return _ARGUMENT.sub(lambda found: f"--{found[1].replace('_', '-')}", text)
