"""``worlddb redecide``: what other handlers, or other thresholds, would have decided over the same history."""

from __future__ import annotations

import json
import os
import pkgutil
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any, Final

from worlddb import DecidedEvent, EdgeHandler, InputError, Redecided, Thresholds
from worlddb.tools.cli.base import arguments, stores, wire
from worlddb.tools.cli.base.arguments import DONE, NO, Command
from worlddb.tools.cli.base.output import Output
from worlddb.tools.cli.base.page import Page, one_line
from worlddb.tools.cli.history.replay_command import redecision

_SHOWN_CHARACTERS: Final = 400


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--handler",
        metavar="MODULE:NAME",
        action="append",
        default=[],
        help="decide about its edge type with this handler; the module is looked for in the working directory too",
    )
    parser.add_argument(
        "--threshold",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_threshold,
        help="a threshold of the resolver: fuzzy, phonetic, embedding, margin or most",
    )
    parser.add_argument(
        "--from", dest="first", metavar="SEQ", type=arguments.count, default=1, help="the first commit (default: 1)"
    )
    parser.add_argument("--until", metavar="TIME_OR_SEQ", help="the last moment, or commit (default: the last)")


def _threshold(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        number = int(value) if name == "most" else float(value)
    except ValueError:
        number = -1
    if not equals or number < 0:
        raise ArgumentTypeError(f"{text!r} is not a threshold; write it as fuzzy=0.9")
    return name, number


def _handler(text: str) -> EdgeHandler:
    """The handler of a name in a module: an instance, or a class that is made one.

    Raises:
        InputError: there is none, or the module cannot be imported.
    """
    module_name, colon, name = text.partition(":")
    if not (module_name and colon and name):
        raise InputError(f"{text!r:.200} does not name a handler", "Write it as MODULE:NAME")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    try:
        found: Any = pkgutil.resolve_name(text)
        return found() if isinstance(found, type) else found  # type: ignore[no-any-return]
    except Exception as error:
        raise InputError(
            f"The handler {text!r:.200} cannot be had: {type(error).__name__}: {error}", "Check its module and name"
        ) from error


def _thresholds(given: list[tuple[str, float]]) -> Thresholds | None:
    named: dict[str, Any] = dict(given)
    unknown = sorted(set(named) - set(Thresholds.__struct_fields__))
    if unknown:
        raise InputError(
            f"There is no threshold {unknown[0]!r:.80}", f"Name one of: {', '.join(Thresholds.__struct_fields__)}"
        )
    return Thresholds(**named) if named else None


def _redecide(args: Namespace, out: Output) -> int:
    handlers = [_handler(text) for text in args.handler]
    with stores.existing(args) as db, out.steps("Deciding commits") as told:
        last = None if args.until is None else db.view(**stores.when(args.until)).seq
        found = db.redecide(
            edge_types=handlers, resolver=_thresholds(args.threshold), first=args.first, seq=last, progress=told
        )
    document = {
        "first": found.first,
        "last": found.last,
        "same": found.same,
        "differing": [redecision(each) for each in found.differing],
        "undecidable": [redecision(each) for each in found.undecidable],
    }
    out.answer(document, lambda page: _write(page, found))
    return NO if found.differing else DONE


def _write(page: Page, found: Redecided) -> None:
    for each in (*found.differing, *found.undecidable):
        asked = ", ".join(each.commands)
        page.line((f"{each.seq}", "title"), f"  {wire.moment(each.ingested_at)}  {each.author}  {asked}")
        _write_side(page, "then", each.then, "", each.events_then)
        why = f" ({each.code}): {one_line(each.reason, _SHOWN_CHARACTERS)}" if each.reason else ""
        _write_side(page, "now", each.now, why, each.events_now)
    counted = f"{found.same:,} come out the same"
    if found.undecidable:
        counted += f", {len(found.undecidable):,} cannot be decided again"
    differing = f"{len(found.differing):,} commit{'s' * (len(found.differing) != 1)}"
    page.line(f"{differing} would be decided differently, {counted}. Nothing was written.")


def _write_side(page: Page, when: str, outcome: str, why: str, events: tuple[DecidedEvent, ...]) -> None:
    page.line(f"{when:6}", (outcome, "bad" if outcome == "refused" else "dim"), why, indent=4)
    for event in events:
        data = {name: value for name, value in event.data.items() if value not in (None, "", [])}
        said = one_line(json.dumps(data, ensure_ascii=False, default=str), _SHOWN_CHARACTERS)
        page.line(f"{event.event:12}", (said, "dim"), indent=10)


COMMANDS = (
    Command(
        "redecide",
        "decide the history again from the commands that were kept, and list what would come out differently",
        _arguments,
        _redecide,
        (
            ("redecide", "by this program's own rules; exit code 1 if a decision would differ"),
            ("redecide --threshold fuzzy=0.97 --from 2", "had the resolver been stricter"),
            ("redecide --until 12 --json", "the first commits, for a program"),
        ),
    ),
)
