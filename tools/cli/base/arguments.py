"""The command frame: commands, parsing of arguments, and options that many commands share.

Global options may stand before or after the command. Usage errors are raised as :class:`UsageError`, never as exits.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from worlddb import EMBEDDERS, InputError, InvalidText, __version__
from worlddb.tools.cli.base.output import Output

DONE: Final = 0
NO: Final = 1
"""Exit code of a negative answer: a verification failed, stores differ."""
BUSY: Final = 5
"""Exit code of unfinished work, or work that another process is doing."""


ONE_DOCUMENT: Final = "print one JSON document and nothing else"
ONE_A_LINE: Final = "print one JSON object a line and nothing else"


class Command(NamedTuple):
    """A command of the command line.

    ``summary`` is its line in the list of commands; ``examples`` are pairs of a command line and what it does.
    ``arguments`` adds its own options to a parser; ``run`` does the work and returns the exit code. ``json`` is the
    help text of ``--json``.
    """

    name: str
    summary: str
    arguments: Callable[[Parser], None]
    run: Callable[[Namespace, Output], int]
    examples: tuple[tuple[str, str], ...]
    json: str = ONE_DOCUMENT


DESCRIPTION: Final = "A memory engine for AI agents: every change is an event, and everything else is derived from it."
EPILOG: Final = """\
start here:
  worlddb demo                                  the whole story in a few seconds, on a sample
  worlddb ingest talks.json                     take in a conversation (makes ./worlddb-store)
  worlddb recall "where does Mara live?"        ask it
  worlddb COMMAND --help                        a command's options, with examples

exit codes: 0 done, 1 the answer is no, 2 usage, 3 refused, 4 store damaged, 5 busy or unavailable,
6 done, but the answer could not be printed.
"""


_UNKNOWN_COMMAND: Final = re.compile(
    r"argument COMMAND: invalid choice: '(?P<given>.*)' \(choose from (?P<known>.*)\)", re.S
)


_OPTION: Final = re.compile(r"--[a-z][a-z-]+")
_SYNONYMS: Final = (
    ("--valid-from", "--since", "--at"),
    ("--valid-to", "--until"),
    ("--ingested", "--known", "--seq", "--as-of"),
    ("--why", "--reason"),
    ("--limit", "--k", "--top-k"),
    ("--content", "--text"),
    ("--user", "--user-id"),
    ("--confine", "--world"),
    ("--out", "--into", "--output"),
)
"""Names of one option here and in the library, REST and MCP, for suggestions on an unknown option."""


MEANT_COMMANDS: Final = {
    **dict.fromkeys(("add", "write", "save", "store"), ("remember",)),
    **dict.fromkeys(("update", "edit", "correct", "change"), ("revise",)),
    **dict.fromkeys(("forget", "delete", "remove", "rm"), ("retire", "erase")),
    **dict.fromkeys(("search", "find", "ask"), ("recall",)),
    **dict.fromkeys(("list", "ls", "members"), ("children", "query")),
    **dict.fromkeys(("get", "read"), ("show",)),
    **dict.fromkeys(("unretire", "resume"), ("reassert",)),
    **{f"un{name}": (f"{name} --remove",) for name in ("label", "pin", "tag", "deprecate")},
    "unexpire": ("expire --never",),
    "contradict": ("link REF contradicts REF",),
    "as-of": ("recall --valid TIME",),
}
"""Names that the library, other programs or a habit have for a command, with the command or several."""


class UsageError(InputError):
    """The command line cannot be understood."""

    code = "usage"


class MissingFile(InputError):
    """A named file is missing or is a directory, or the directory for a new file is missing."""

    code = "missing_file"


def _closest(given: str, known: list[str]) -> list[str]:
    """Return the closest known name, if any; difflib is loaded only for this."""
    from difflib import get_close_matches

    return get_close_matches(given, known, n=1)


def _suggest_option(given: str, known: list[str]) -> list[str]:
    """Return an option of the command with the same meaning as an unknown one, else one with a similar name."""
    normalized = given.replace("_", "-")
    synonyms = next((names for names in _SYNONYMS if normalized in names), ())
    named = {each.lstrip("-"): each for each in known}
    near = [named[each] for each in _closest(given.lstrip("-"), [*named])]
    return [each for each in (normalized, *synonyms) if each in known][:1] or near


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of exiting.

    It takes no abbreviated options: they break when an option is added.
    """

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        unknown = _UNKNOWN_COMMAND.match(message)
        if unknown is None:
            raise UsageError(message, f"See `{self.prog} --help`")
        known = unknown["known"].replace("'", "").split(", ")
        near = MEANT_COMMANDS.get(unknown["given"]) or _closest(unknown["given"], known)
        meant = f"Did you mean {' or '.join(f'`{self.prog} {each}`' for each in near)}? " if near else ""
        raise UsageError(f"There is no command {unknown['given']!r}", f"{meant}See `{self.prog} --help`")


class _GroupedHelp(argparse.RawDescriptionHelpFormatter):
    """Help that lists commands in groups, each under a title."""

    groups: tuple[tuple[str, str], ...] = ()

    def _format_action(self, action: argparse.Action) -> str:
        if not self.groups or not isinstance(action, argparse._SubParsersAction):
            return super()._format_action(action)
        lines = {each.dest: each for each in action._get_subactions()}
        parts = list[str]()
        for title, names in self.groups:
            parts.append(f"\n  {title}:\n")
            self._indent()
            parts += [super(_GroupedHelp, self)._format_action(lines[name]) for name in names.split()]
            self._dedent()
        return "".join(parts)


def build_parser(commands: Sequence[Command], groups: tuple[tuple[str, str], ...] = ()) -> Parser:
    """Build the parser of some commands; its help lists them in ``groups``, pairs of a title and names."""
    grouped = type("Grouped", (_GroupedHelp,), {"groups": groups})
    parser = Parser(prog="worlddb", description=DESCRIPTION, epilog=EPILOG, formatter_class=grouped)
    parser.add_argument("--version", action="version", version=f"worlddb {__version__}")
    _add_global(parser, {"store": None, "json": False, "quiet": False})
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=False)
    for command in commands:
        lines = [f"  worlddb {line}\n      {meaning}" for line, meaning in command.examples]
        own = subparsers.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[:1].upper() + command.summary[1:] + ".",
            epilog="examples:\n" + "\n".join(lines),
        )
        command.arguments(own)
        # A default here would overwrite an option given before the command.
        _add_global(own, dict.fromkeys(("store", "json", "quiet"), argparse.SUPPRESS), command.json)
        own.set_defaults(run=command.run, parser=own)
    return parser


def parse_line(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line.

    Raises:
        UsageError: it cannot be understood; the remedy names the help of the command, not that of the whole.
    """
    args, unknown = parser.parse_known_args(words)
    if not unknown:
        return args
    own = parser if args.command is None else args.parser
    given = unknown[0].partition("=")[0]
    near = _suggest_option(given, _OPTION.findall(own.format_help())) if given.startswith("-") else []
    meant = f"Did you mean {near[0]}? " if near else ""
    what = f"There is no option {given}" if given.startswith("-") else f"{given!r:.80} is an extra argument"
    raise UsageError(what, f"{meant}See `{own.prog} --help`")


def _add_global(parser: argparse.ArgumentParser, defaults: dict[str, Any], json: str = ONE_DOCUMENT) -> None:
    group = parser.add_argument_group("options of every command")
    group.add_argument(
        "--store",
        metavar="DIR",
        default=defaults["store"],
        help="the store's directory (default: $WORLDDB_STORE, else ./worlddb-store)",
    )
    group.add_argument("--json", action="store_true", default=defaults["json"], help=json)
    group.add_argument(
        "--quiet", action="store_true", default=defaults["quiet"], help="only the answer: no progress, no hints"
    )


# -- options that several commands take


def add_moment(parser: argparse.ArgumentParser, *, valid: bool = True) -> None:
    """Add ``--valid`` and ``--ingested``."""
    if valid:
        parser.add_argument("--valid", metavar="TIME", help="what was true at this time (default: now)")
    parser.add_argument(
        "--ingested",
        metavar="TIME_OR_SEQ",
        help="what the store knew at this time, commit or bookmark (default: the last commit)",
    )


def add_confine(parser: argparse.ArgumentParser) -> None:
    """Add ``--confine`` and ``--user``, for commands that read through one view."""
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument(
        "--confine", metavar="WORLD", help="see only this world and what it contains, as its tenant would"
    )
    whose.add_argument("--user", metavar="NAME", help="see only the worlds of this user")


def add_unify(parser: argparse.ArgumentParser) -> None:
    """Add ``--unify``."""
    parser.add_argument("--unify", action="store_true", help="read worlds of one accepted identity as one world")


def add_superseded(parser: argparse.ArgumentParser) -> None:
    """Add ``--include-superseded``."""
    parser.add_argument(
        "--include-superseded", action="store_true", help="include worlds and edges that are not valid at that time"
    )


def add_expired(parser: argparse.ArgumentParser) -> None:
    """Add ``--include-expired`` and ``--include-deprecated``."""
    parser.add_argument(
        "--include-expired", action="store_true", help="include worlds that a deadline hides at that time"
    )
    parser.add_argument("--include-deprecated", action="store_true", help="include deprecated worlds")


def visibility_flags(args: Namespace) -> dict[str, bool]:
    """Return the arguments of a read for ``--include-expired`` and ``--include-deprecated``."""
    return {"include_expired": args.include_expired, "include_deprecated": args.include_deprecated}


def add_spans(parser: argparse.ArgumentParser) -> None:
    """Add ``--during`` and ``--overlaps``, for commands that read what is valid."""
    for name, meaning in (
        ("during", "only what is valid throughout this span"),
        ("overlaps", "only what is valid at some time in it"),
    ):
        parser.add_argument(
            f"--{name}", metavar="A..B", type=span, help=f"{meaning}, from A until before B; either end may be missing"
        )


def add_between(parser: argparse.ArgumentParser) -> None:
    """Add ``--between``, for commands that show a history."""
    parser.add_argument(
        "--between",
        metavar="A..B",
        type=span,
        help="only versions that were learned or changed from A until before B",
    )


def span(text: str) -> tuple[str | None, str | None]:
    """Parse two times joined by ``..``, for ``type=``."""
    start, dots, end = text.partition("..")
    if not dots:
        raise argparse.ArgumentTypeError(f"{text!r} is not a span; write it as 2024-01-01..2024-07-01")
    return start.strip() or None, end.strip() or None


def add_limit(parser: argparse.ArgumentParser, meaning: str, *, default: int | None = None) -> None:
    """Add ``--limit`` and ``-k``, for commands that list."""
    parser.add_argument("--limit", "-k", metavar="N", type=count, default=default, help=meaning)


def add_author(parser: argparse.ArgumentParser) -> None:
    """Add ``--author``, for commands that write."""
    parser.add_argument(
        "--author", default="local", help="the author of the write, recorded with its commit (default: local)"
    )


def add_model(parser: argparse.ArgumentParser, option: str, meaning: str) -> None:
    """Add an option that names a model behind an endpoint, with its interface and limits; see :func:`model_options`."""
    parser.add_argument(option, metavar="MODEL@URL", help=meaning)
    parser.add_argument(
        "--interface", choices=("openai", "anthropic"), default="openai", help="the endpoint's (default: %(default)s)"
    )
    parser.add_argument("--max-calls", metavar="N", type=count, help="ask the model at most N times")
    parser.add_argument("--max-tokens", metavar="N", type=count, help="let the model use at most N tokens")


def model_options(args: Namespace, option: str) -> dict[str, Any] | None:
    """Return the arguments of the model class for the options of :func:`add_model`; None if no model is named.

    Raises:
        UsageError: it is not ``MODEL@URL``, or a bound was given without one.
    """
    named = getattr(args, option.removeprefix("--"))
    if named is None:
        if args.max_calls is not None or args.max_tokens is not None:
            raise UsageError("A limit for a model was given without a model", f"Add {option} MODEL@URL")
        return None
    bounds = {"interface": args.interface, "max_calls": args.max_calls, "max_tokens": args.max_tokens}
    return parse_endpoint(named, option) | bounds


def parse_endpoint(named: str, option: str) -> dict[str, Any]:
    """Split ``MODEL@URL`` into the model and the URL.

    Raises:
        UsageError: it is not of that form.
    """
    model, at, url = named.partition("@")
    if not (model and at and url):
        raise UsageError(f"{option} names {named[:80]!r}", "Give MODEL@URL, such as qwen3:8b@http://localhost:11434/v1")
    return {"model": model, "url": url}


def add_embedder(parser: argparse.ArgumentParser) -> None:
    """Add ``--embedder``, for commands that compare meanings or embed texts."""
    parser.add_argument(
        "--embedder",
        metavar="NAME",
        help="the embedding model (default: $WORLDDB_EMBEDDER, else the one that made the store's vectors):"
        f" {', '.join(EMBEDDERS)}",
    )


def add_keys(parser: ArgumentParser) -> None:
    """Add ``--key``, for commands that check a checkpoint's signatures."""
    parser.add_argument(
        "--key",
        dest="keys",
        metavar="VERIFIER",
        action="append",
        default=[],
        help="a verifier key that must have signed the head, or a file with one; repeatable",
    )


def count(text: str) -> int:
    """Parse a whole number from 1 up, for ``type=``."""
    return _parse_whole(text, 1)


def count_from_zero(text: str) -> int:
    """Parse a whole number from 0 up, for ``type=``."""
    return _parse_whole(text, 0)


def seconds(text: str) -> float:
    """Parse a length of time, for ``type=``."""
    return _parse_decimal(
        text, "a number of seconds; write an hour as 3600, a day as 86400, half a second as 0.5", least=0
    )


def number(text: str) -> float:
    """Parse a number that may have a fraction, for ``type=``."""
    return _parse_decimal(text, "a number; write it as 2 or as 0.5")


def _parse_decimal(text: str, what: str, *, least: float = -inf) -> float:
    try:
        if isfinite(value := float(text)) and value >= least:
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text[:80]!r} is not {what}")


def _parse_whole(text: str, least: int) -> int:
    # 18 digits exceed every limit, and Python refuses to convert thousands.
    number = int(text[:18]) if text.isascii() and text.isdigit() else -1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} up")
    return number


def refuse_existing(file: str, *, overwrite: bool | None) -> None:
    """Refuse to write over an existing file or inside a store.

    ``overwrite`` is ``None`` for files that are never replaced.

    Raises:
        InputError: the file exists and may not be replaced, is a directory, or would lie in a store.
        MissingFile: its directory does not exist.
    """
    check_writable_path(file)
    for folder in Path(file).absolute().parents:
        if (folder / "data.mdb").exists():
            raise InputError(f"{file!r:.200} lies inside the store {folder} itself", "Give a path outside the store")
    if Path(file).is_dir():
        raise InputError(f"{file!r:.200} is a directory", "Give a file in it")
    if not overwrite and os.path.lexists(file):
        remedy = "Choose another name" if overwrite is None else "Choose another name, or replace it with --overwrite"
        raise InputError(f"{file!r:.200} exists already", remedy)


def check_writable_path(file: str) -> None:
    """Check that a file can be created at a path before the work that fills it begins.

    Raises:
        InputError: the path is empty, or that of a file beside a store, such as those of its access keys.
        MissingFile: its directory does not exist.
    """
    from worlddb.store import refuse_companion

    folder = Path(file).parent
    if not file:
        raise InputError("The name of the output file is empty", "Name one")
    if not folder.is_dir():
        raise MissingFile(
            f"There is no directory {str(folder)!r:.200} to write into", "Create it first, or give another file"
        )
    refuse_companion(Path(file))


_OBJECT_EXAMPLE: Final = """For example: --properties '{"role": "lead"}'"""


def add_properties(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add ``--properties``, a JSON object."""
    parser.add_argument("--properties", metavar="JSON", type=json_object, help=meaning)


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        UsageError: it is none, or has a name twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--properties is not JSON: {error}", _OBJECT_EXAMPLE) from None
    if not isinstance(value, dict):
        raise UsageError("--properties is not a JSON object", _OBJECT_EXAMPLE)
    return value


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; refuse a repeated name, since the parser would silently drop one value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        doubled = next(name for at, (name, _) in enumerate(pairs) if name in dict(pairs[:at]))
        raise ValueError(f"it has {doubled!r:.80} twice")
    return found


def parse_source(given: Sequence[str] | None) -> dict[str, str] | None:
    """Return what ``--source FIELD=VALUE`` named; None if it was not given.

    Raises:
        InputError: one of them names no field, or no value, or a field is named twice.
    """
    parts = [each.partition("=") for each in given or ()]
    for at, (name, equals, _) in enumerate(parts):
        if any(name == other for other, _, _ in parts[:at]):
            raise InputError(f"--source names {name!r:.80} twice", "Give each field one value")
        if not (name and equals):
            raise InputError(f"--source {name!r:.80} has no value", "Give FIELD=VALUE, such as session=24")
    return {name: value for name, _, value in parts} if parts else None


def read_standard_input(remedy: str) -> str:
    """Read a text from standard input, without the line feed at its end.

    Raises:
        InputError: standard input is closed, or is not UTF-8.
    """
    if sys.stdin is None:
        raise InputError("Standard input is closed", remedy)
    try:
        return sys.stdin.read().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise not_utf8_error("Standard input", error) from None


_GIVE_UTF8: Final = "Give it in UTF-8: `iconv -f latin1 -t utf-8` makes it of a text in Latin-1"


def not_utf8_error(what: str, error: UnicodeDecodeError) -> InvalidText:
    """Return the error for input that is not UTF-8, with the byte and its place."""
    before = error.object[: error.start]
    line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
    return InvalidText(
        f"{what} is not UTF-8: the byte 0x{error.object[error.start]:02x} at byte {column} of line {line}",
        _GIVE_UTF8,
    )


def decode_utf8(given: bytes, what: str) -> str:
    """Decode the bytes of a file as UTF-8.

    Raises:
        InvalidText: it is not UTF-8.
    """
    try:
        return given.decode()
    except UnicodeDecodeError as error:
        raise not_utf8_error(what, error) from None


def join_question(words: Sequence[str]) -> str:
    """Join the words of a question.

    Raises:
        InvalidText: a typed byte is not UTF-8; the question would be asked without it.
    """
    text = " ".join(words)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        # Python decodes such bytes of the command line as U+DC80 to U+DCFF.
        found = f"the byte 0x{ord(text[error.start]) & 0xFF:02x} at character {error.start}"
        raise InvalidText(f"The question is not UTF-8: {found}", _GIVE_UTF8) from None
    return text
