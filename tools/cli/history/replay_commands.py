"""``worlddb replay``, ``snapshot`` and ``redecide``: apply or decide the history again.

``replay`` makes the store of an earlier moment, shows decisions one by one (``--step``), or makes the store without
some commits (``--without``). ``redecide`` lists what other handlers or thresholds would decide.
"""

import json
import os
import pkgutil
import sys
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import worlddb
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.tools.cli.history.log_commands import write_events


def _replay_arguments(parser: Parser) -> None:
    parser.add_argument("--until", metavar="TIME_OR_SEQ", help="the last moment, or commit, to replay")
    parser.add_argument("--into", metavar="DIR", help="a new directory for the replayed store")
    parser.add_argument("--step", action="store_true", help="write no store; show the decisions of each commit in turn")
    add_without(parser)


def _replay(args: Namespace, out: Output) -> int:
    if args.step:
        return step_through(args, out)
    supposes = bool(args.without or args.without_author)
    missing = [name for name in ("until", "into") if getattr(args, name) is None and not (supposes and name == "until")]
    if missing:
        raise arguments.UsageError(
            f"--{missing[0]} is missing", "For example: worlddb replay --until 12 --into then; or worlddb replay --step"
        )
    if supposes:
        with stores.open_existing(args) as db:
            return make_hypothetical(db, args, db.view(**stores.parse_moment(args.until)).seq, out)
    with stores.open_existing(args) as db, out.steps("Replaying commits") as report:
        made = db.replay(args.into, progress=report, seq=db.view(**stores.parse_moment(args.until)).seq)
        made_at = db.view(seq=made.seq).ingested
    document = {
        "seq": made.seq,
        "root": made.root,
        "matches_recorded": made.matches_recorded,
        "ingested_at": wire.time(made_at),
        "into": args.into,
        "snapshot": made.snapshot,
    }

    def write(page: Page) -> None:
        page.line(f"replayed commits 1 to {made.seq} ({wire.moment(made_at)}) into {args.into}")
        if made.snapshot:
            page.line(f"commits 1 to {made.snapshot} came from a snapshot")
        agrees = ("the root recorded then", "good") if made.matches_recorded else ("not the root recorded then", "bad")
        page.line(f"root {made.root}: ", agrees)

    out.answer(document, write)
    return DONE if made.matches_recorded else NO


def _snapshot_arguments(parser: Parser) -> None:
    parser.add_argument("--at", metavar="TIME_OR_SEQ", help="the moment to keep (default: the last commit)")


def _snapshot(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db, out.steps("Replaying commits") as report:
        made = db.snapshot(seq=db.view(**stores.parse_moment(args.at)).seq, progress=report)
    document = {"seq": made.seq, "root": made.root, "bytes": made.size_bytes}

    def write(page: Page) -> None:
        page.line(f"kept the store as of commit {made.seq} ({made.size_bytes:,} bytes); root {made.root}")
        out.hint("Replays to that commit or a later one start from it. You may delete it at any time.")

    out.answer(document, write)
    return DONE


def step_through(args: Namespace, out: Output) -> int:
    """Show the commits up to a moment; a person at a terminal is asked before each next one."""
    if args.without or args.without_author:
        raise arguments.UsageError("--step cannot leave commits out", "Leave out --without, or --step")
    if args.into is not None:
        raise arguments.UsageError("--step writes no store", "Leave out --into, or --step")
    with stores.open_existing(args) as db:
        last = None if args.until is None else db.view(**stores.parse_moment(args.until)).seq
        asks = out.can_ask and not out.quiet
        for step in db.steps(last=last):
            if asks and step.receipt.seq > 1 and not _wants_next():
                break
            if out.json:
                out.document(_document(step))
            else:
                _write_step(out.page, step)
            sys.stdout.flush()
    return DONE


def _wants_next() -> bool:
    """Return whether the person asks for the next commit; end of input means no."""
    sys.stderr.write("Enter for the next commit, q to stop: ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    return bool(answer) and not answer.strip().lower().startswith("q")


def _write_step(page: Page, step: worlddb.Step) -> None:
    receipt = step.receipt
    state = "staged" if isinstance(receipt.outcome, worlddb.Staged) else "committed"
    when = f"  {wire.moment(receipt.ingest_time)}  {step.author}"
    page.line((f"{receipt.seq}", "title"), when, (f"  {state}", "warn" if state == "staged" else "good"))
    if step.commands:
        page.line((f"{'asked':12}{counted_commands(step.commands)}", "dim"), indent=4)
    write_events(page, step.events, whole=False)
    for note in receipt.notes:
        page.line((f"{'note':12}{note}", "warn"), indent=4)
    page.line((f"{'root':12}{wire.short(receipt.root)}", "dim"), indent=4)


def counted_commands(commands: tuple[str, ...]) -> str:
    """List commands by name; consecutive equal ones once, with their number."""
    runs: list[tuple[str, int]] = []
    for name in commands:
        if runs and runs[-1][0] == name:
            runs[-1] = name, runs[-1][1] + 1
        else:
            runs.append((name, 1))
    return ", ".join(name if count == 1 else f"{name} x {count}" for name, count in runs)


def _document(step: worlddb.Step) -> dict[str, object]:
    """Describe a commit: its receipt, and its decisions as `worlddb log --json` has them."""
    return wire.receipt(step.receipt) | {
        "author": step.author,
        "commands": list(step.commands),
        "decisions": [wire.entry(entry) for entry in step.events],
    }


_SHOWN_CHARACTERS = 240
_WORDS = {
    "left_out": ("left out", "dim"),
    "refused": ("refused", "bad"),
    "unchanged": ("nothing to write", "dim"),
    "undecidable": ("cannot be decided again, left out", "bad"),
    "taken_over": ("cannot be decided again, copied", "dim"),
    "committed": ("decided otherwise", "warn"),
    "staged": ("decided differently: staged", "warn"),
}


def add_without(parser: Parser) -> None:
    """Add ``--without`` and ``--without-author``."""
    parser.add_argument(
        "--without",
        metavar="SEQ[,SEQ...]",
        action="extend",
        default=[],
        type=_numbers,
        help="without these commits; later ones are decided again",
    )
    parser.add_argument(
        "--without-author",
        metavar="NAME",
        action="append",
        default=[],
        help="without the commits of this author",
    )


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isascii() and part.strip().isdigit() and len(part) < 20 for part in parts):
        raise ArgumentTypeError(f"{text!r} is not a list of commits; write it as 7,9")
    return [int(part) for part in parts]


def make_hypothetical(db: worlddb.Database, args: Namespace, seq: int, out: Output) -> int:
    """Create the hypothetical store without some commits, and print what changed."""
    with out.steps("Deciding commits") as report:
        made = db.replay(args.into, seq=seq, without=args.without, without_author=args.without_author, progress=report)
    found = made.hypothesis
    assert found is not None, "something was to be left out"
    document = {
        "seq": made.seq,
        "root": made.root,
        "matches_recorded": made.matches_recorded,
        "into": args.into,
        "hypothetical": True,
        "supposes": found.supposes,
        "store": found.store_id,
        "parted": found.parted,
        "same": found.same,
        "differing": [redecision(each) for each in found.differing],
    }
    out.answer(document, lambda page: _write(page, made, args, out))
    return DONE


def redecision(each: worlddb.Redecision) -> dict[str, Any]:
    """Describe a commit that comes out differently, as JSON."""
    document = wire.record(each)
    for side in ("events_then", "events_now"):
        document[side] = [{"event": event.event, "data": event.data} for event in getattr(each, side)]
    return document


def _without_vectors(differing: Iterable[worlddb.Redecision]) -> tuple[list[worlddb.Redecision], Counter[str]]:
    """Split differing commits into others and those of vectors, counted by outcome.

    Commits of vectors follow every few writes, and differ because what they follow does.
    """
    others: list[worlddb.Redecision] = []
    vectors: Counter[str] = Counter()
    for each in differing:
        if each.code or set(each.commands) != {"embed"}:
            others.append(each)
        else:
            vectors[each.now] += 1
    return others, vectors


def _write(page: Page, made: worlddb.Replayed, args: Namespace, out: Output) -> None:
    found = made.hypothesis
    assert found is not None, "something was to be left out"
    page.line(("hypothetical", "warn"), f"  {found.supposes}, in {args.into}")
    others, vectors = _without_vectors(found.differing)
    for each in others:
        word, style = _WORDS[each.now]
        why = f" ({each.code})" if each.code else ""
        why += f": {wire.one_line(each.reason, _SHOWN_CHARACTERS)}" if each.reason else ""
        about = f"  {each.author}  {counted_commands(each.commands)}  "
        page.line((f"{each.seq}", "title"), about, (word, style), why)
    for now, number in vectors.items():
        page.line((f"{wire.counted(number, 'commit')} of vectors", "dim"), "  ", _WORDS[now])
    page.line(f"{found.same:,} later commits were decided again with the same result; root {made.root}")
    here = stores.folder_of(args)
    out.hint(f"You can read and compare it: `worlddb diff {here} {args.into}`. It takes no writes.")


_SHOWN_DATA_CHARACTERS: Final = 400


def _redecide_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--handler",
        metavar="MODULE:NAME",
        action="append",
        default=[],
        help="use this handler for its edge type; the module may be in the working directory",
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


def _handler(text: str) -> worlddb.EdgeHandler:
    """Import the handler ``MODULE:NAME``: an instance, or a class to instantiate.

    Raises:
        InputError: there is none, or the module cannot be imported.
    """
    module_name, colon, name = text.partition(":")
    if not (module_name and colon and name):
        raise worlddb.InputError(f"{text!r:.200} is not the name of a handler", "Write it as MODULE:NAME")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    try:
        found: Any = pkgutil.resolve_name(text)
        return found() if isinstance(found, type) else found  # type: ignore[no-any-return]
    except Exception as error:
        raise worlddb.InputError(
            f"The handler {text!r:.200} cannot be loaded: {type(error).__name__}: {error}", "Check its module and name"
        ) from error


def _thresholds(given: list[tuple[str, float]]) -> worlddb.Thresholds | None:
    named: dict[str, Any] = dict(given)
    unknown = sorted(set(named) - set(worlddb.Thresholds.__struct_fields__))
    if unknown:
        raise worlddb.InputError(
            f"There is no threshold {unknown[0]!r:.80}",
            f"Name one of: {', '.join(worlddb.Thresholds.__struct_fields__)}",
        )
    return worlddb.Thresholds(**named) if named else None


def _redecide(args: Namespace, out: Output) -> int:
    handlers = [_handler(text) for text in args.handler]
    with stores.open_existing(args) as db, out.steps("Deciding commits") as report:
        last = None if args.until is None else db.view(**stores.parse_moment(args.until)).seq
        found = db.redecide(
            edge_types=handlers, resolver=_thresholds(args.threshold), first=args.first, seq=last, progress=report
        )
    document = {
        "first": found.first,
        "last": found.last,
        "same": found.same,
        "differing": [redecision(each) for each in found.differing],
        "undecidable": [redecision(each) for each in found.undecidable],
    }
    out.answer(document, lambda page: _write_redecided(page, found))
    return NO if found.differing else DONE


def _write_redecided(page: Page, found: worlddb.Redecided) -> None:
    for each in (*found.differing, *found.undecidable):
        asked = ", ".join(each.commands)
        page.line((f"{each.seq}", "title"), f"  {wire.moment(each.ingested_at)}  {each.author}  {asked}")
        _write_outcome(page, "then", each.then, "", each.events_then)
        why = f" ({each.code}): {wire.one_line(each.reason, _SHOWN_DATA_CHARACTERS)}" if each.reason else ""
        _write_outcome(page, "now", each.now, why, each.events_now)
    same = f"{found.same:,} have the same result"
    if found.undecidable:
        same += f", {len(found.undecidable):,} cannot be decided again"
    differing = f"{len(found.differing):,} commit{'s' * (len(found.differing) != 1)}"
    page.line(f"{differing} would be decided differently, {same}. Nothing was written.")


def _write_outcome(page: Page, when: str, outcome: str, why: str, events: tuple[worlddb.DecidedEvent, ...]) -> None:
    page.line(f"{when:6}", (outcome, "bad" if outcome == "refused" else "dim"), why, indent=4)
    for event in events:
        data = {name: value for name, value in event.data.items() if value not in (None, "", [])}
        shortened = wire.one_line(json.dumps(data, ensure_ascii=False, default=str), _SHOWN_DATA_CHARACTERS)
        page.line(f"{event.event:12}", (shortened, "dim"), indent=10)


COMMANDS = (
    Command(
        "replay",
        "rebuild the store as it was at an earlier moment, in a new directory",
        _replay_arguments,
        _replay,
        (
            ("replay --until 12 --into then", "as it was after commit 12"),
            ("replay --until 2026-11-01T09:00:00Z --into then", "as it was at that time"),
            ("replay --step --until 12", "what each commit up to 12 decided: Enter for the next one, q to stop"),
            ("replay --without 5,7 --into what-if", "without two commits; prints what changes"),
            ("replay --without-author agent-9 --into what-if", "as if that author had never written"),
        ),
    ),
    Command(
        "snapshot",
        "save the state of a commit beside the log, so that later replays start from there",
        _snapshot_arguments,
        _snapshot,
        (("snapshot", "as it is now"), ("snapshot --at 2026-06-30T23:59:59Z", "as it was then")),
    ),
)


REDECIDE_COMMANDS = (
    Command(
        "redecide",
        "decide the kept commands again, and list the decisions that would differ",
        _redecide_arguments,
        _redecide,
        (
            ("redecide", "by this program's own rules; exit code 1 if a decision would differ"),
            ("redecide --threshold fuzzy=0.97 --from 2", "with a stricter resolver"),
            ("redecide --until 12 --json", "the first commits, for a program"),
        ),
    ),
)
