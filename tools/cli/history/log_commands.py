"""``worlddb log``, ``stats``, ``bookmark``, ``at`` and ``blame``: the log, named moments in it, and authorship."""

import shlex
import sys
from argparse import REMAINDER
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, Final

import worlddb
from worlddb import FOREVER, Blame, BlamedEdge, BlamedField, Bookmark, Database, Entry, InputError, Thresholds
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire
from worlddb.tools.reports.report_parts import VECTORS

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


def _log_arguments(parser: Parser) -> None:
    parser.add_argument("--from", dest="first", metavar="SEQ", help="from this commit, time or bookmark on")
    parser.add_argument("--to", dest="ingested", metavar="SEQ", help="up to this commit, time or bookmark")
    parser.add_argument("--ref", metavar="REF", help="only events that name this world, edge or proposal")
    parser.add_argument(
        "--all", action="store_true", help="list commits of vectors one by one, not folded into one line"
    )
    parser.add_argument("--follow", action="store_true", help="then wait for new commits of this and other processes")
    parser.add_argument(
        "--patience",
        metavar="SECONDS",
        type=arguments.seconds,
        help="with --follow: stop after SECONDS without a new commit",
    )


def _log(args: Namespace, out: Output) -> int:
    if args.follow and args.ingested is not None:
        raise arguments.UsageError("--follow cannot go with --to", "Leave out --to, or --follow")
    with stores.open_existing(args) as db:
        first = _first_commit(db, args.first)
        last = None if args.ingested is None else _last_commit(db, args.ingested)
        if last is not None and last < first <= db.head().seq:
            raise arguments.UsageError(f"--to, commit {last}, lies before --from, commit {first}", "Swap the two")
        named = _full_reference(db, args.ref)
        events = db.follow(first, patience_seconds=args.patience) if args.follow else db.log(first, last)
        entries = events if named is None else (entry for entry in events if named in entry.refs)
        if out.json:
            for entry in entries:
                out.document(wire.entry(entry))
                if args.follow:
                    sys.stdout.flush()
        else:
            whole = args.all or args.follow
            if _write_log(out.page, entries, whole=whole):
                out.hint("Vectors of texts are folded into one line; --all lists them.")
            if first > db.head().seq and not args.follow:
                out.hint(f"The log ends at commit {db.head().seq:,}.")
    return DONE


def _first_commit(db: Database, text: str | None) -> int:
    moment = stores.parse_moment(text)
    if "ingested" in moment:
        return db.view(ingested=moment["ingested"] - 1).seq + 1
    return moment["seq"] if "seq" in moment else db.view(**moment).seq if moment else 1


def _last_commit(db: Database, text: str) -> int:
    moment = stores.parse_moment(text)
    return min(moment["seq"], db.head().seq) if "seq" in moment else db.view(**moment).seq


def _full_reference(db: Database, text: str | None) -> str | None:
    """Return the full reference to filter by; edges and proposals only if given in full."""
    full_edge_digits = 64
    if text is None or (len(text) == full_edge_digits and set(text.lower()) <= set("0123456789abcdef")):
        return text and text.lower()
    return stores.resolve_world(db.view(), text)


def _write_log(page: Page, entries: Iterable[Entry], *, whole: bool) -> bool:
    """Write events below the lines of their commits; returns whether any vectors were folded.

    Unless ``whole``, consecutive commits of vectors are folded into one line.
    """
    commits, texts, has_folded = 0, 0, False
    first = last = 0

    def fold() -> None:
        which = f"{last}" if commits == 1 else f"{first} to {last}"
        page.line(
            (which, "title"), (f"  {wire.counted(commits, 'commit')} of vectors, {wire.counted(texts, 'text')}", "dim")
        )

    for seq, events in groupby(entries, key=lambda entry: entry.seq):
        head, commit = _peek(events)
        if not whole and head.event in VECTORS:
            first, last, commits = first if commits else seq, seq, commits + 1
            texts += sum(entry.event == "embedded" for entry in commit)
            has_folded = True
            continue
        if commits:
            fold()
            commits, texts = 0, 0
        page.line((f"{seq}", "title"), (f"  {wire.moment(head.ingested_at)}  {head.author}", "dim"))
        has_folded |= write_events(page, commit, whole=whole) > 0
    if commits:
        fold()
    return has_folded


def _peek(entries: Iterator[Entry]) -> tuple[Entry, Iterator[Entry]]:
    """Return the first entry, and an iterator over all of them."""
    head = next(entries)
    return head, chain((head,), entries)


def write_events(page: Page, entries: Iterable[Entry], *, whole: bool) -> int:
    """Write a commit's events below its line; returns how many texts' vectors were folded."""
    texts = 0
    for entry in entries:
        if whole or entry.event not in VECTORS:
            write_event(page, entry)
        texts += not whole and entry.event == "embedded"
    if texts:
        page.line(f"{'vectors':12}of {wire.counted(texts, 'text')}", indent=4)
    return texts


def write_event(page: Page, entry: Entry) -> None:
    """Write one event below the line of its commit."""
    page.line(*_event_line(entry), indent=4)


def _event_line(entry: Entry) -> list[Span]:
    spans: list[Span] = [f"{entry.event:12}"]
    if entry.event == "linked":
        spans.append((f"{entry.data['type']}  ", "name"))
        spans.append((f"{wire.short(entry.data['source'])} to {wire.short(entry.data['target'])}", "ref"))
    else:
        spans.append((wire.short(entry.refs[0]) if entry.refs else "", "ref"))
    if entry.event in ("registered", "unregistered", "tuned", "untuned"):
        spans.append((f"  {entry.data['type'] or 'every type'}", "name"))
    if entry.event == "registered":
        spans.append(f"  version {entry.data['handler_version']}" + "  functional" * entry.data["functional"])
    if entry.event == "tuned":
        spans.append("  " + ", ".join(f"{name} {entry.data[name]:g}" for name in Thresholds.__struct_fields__))
    if "decision" in entry.data:
        spans.append(f"  {entry.data['decision']}")
    text = wire.one_line(entry.name or entry.text, 80)
    if text:
        spans.append(f"  {text}")
    spans += _mark_spans(entry)
    if entry.event in ("closed", "edge_closed"):
        spans.append(("  until " + wire.moment(entry.data["valid_to"]), "dim"))
    if entry.event in ("lost", "edge_lost", "voided"):
        begins, ends = (wire.moment(entry.data[name]) for name in ("valid_from", "valid_to"))
        spans.append((f"  not from {begins} to {ends}", "dim"))
    if entry.why:
        spans.append((f"  because {wire.one_line(entry.why, 160)}", "dim"))
    return spans


def _mark_spans(entry: Entry) -> list[Span]:
    """Return what a mark says beyond its name: the version of a tag, and what was taken off."""
    if entry.event == "tagged":
        version = entry.data["version"]
        return [f"  version {version}" if version else "  no more"]
    if entry.event in ("deprecated", "pinned") and not entry.data[f"is_{entry.event}"]:
        return ["  no more"]
    if entry.event == "expires":
        at = entry.data["at"]
        return ["  at no time" if at == FOREVER else ("  from " + wire.moment(at), "dim")]
    return []


def _no_arguments(parser: Parser) -> None:
    """Add nothing: the command has no options of its own."""


def _stats(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        stats: dict[str, Any] = db.stats()
    supposes = stats["supposes"]
    fields: list[tuple[str, list[Span]]] = [("hypothetical", [(supposes, "warn")])] if supposes else []
    fields += [(name, [f"{number:,}"]) for name, number in stats["counts"].items()]
    fields += [(f"{name} on disk", [_size(number)]) for name, number in stats["bytes"].items()]
    for name, seq in stats["checkpoints"].items():
        behind = stats["counts"]["commits"] - seq
        rest = f"; the {behind:,} after it are searched in memory" if behind else ""
        fields.append((name, [f"up to commit {seq:,}{rest}"]))
    for space in stats["vectors"]:
        texts = wire.counted(space["texts"], "text")
        fields.append(("vectors", [f"{texts} up to commit {space['through']:,}, by {space['model']}"]))
    if not stats["vectors"]:
        fields.append(("vectors", ["none: texts are found by their words alone; `worlddb embed` makes some"]))
    out.answer(stats, lambda page: page.fields(fields))
    return DONE


def _size(size_bytes: float) -> str:
    unit = 0
    while size_bytes >= 1024 and unit < len(_UNITS) - 1:
        size_bytes, unit = size_bytes / 1024, unit + 1
    return f"{size_bytes:,.0f} {_UNITS[unit]}" if unit == 0 else f"{size_bytes:,.1f} {_UNITS[unit]}"


COMMANDS = (
    Command(
        "log",
        "list the events of the log, commit by commit",
        _log_arguments,
        _log,
        (
            ("log", "every commit"),
            ("log --from 10 --to 12", "three commits"),
            ("log --all", "with the vectors of every text"),
            ("log --from 10 --follow --json", "continue with the commits of any process until interrupted"),
            ("log --from 2026-11-01", "what was committed since a time"),
            ("log --ref 3fa9c2d1", "what happened to one world"),
        ),
        json=arguments.ONE_A_LINE,
    ),
    Command(
        "stats",
        "show counts, sizes, and the checkpoint of each projection",
        _no_arguments,
        _stats,
        (("stats", "of the default store"), ("stats --store memory --json", "of another, for a program")),
    ),
)


def _bookmark_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="the name to give (default: list the bookmarks)")
    parser.add_argument("--at", metavar="TIME_OR_SEQ", help="the moment to name (default: the last commit)")
    parser.add_argument("--move", action="store_true", help="move an existing name to this moment")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with the bookmark")
    arguments.add_author(parser)


def _bookmark(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        if args.name is None:
            return _list_bookmarks(db.bookmarks(), out)
        marked = db.view(**stores.parse_moment(args.at)).seq
        if not marked:
            raise InputError(f"Nothing had been committed by {args.at}", "Give a later time, or a commit from 1 on")
        db.bookmark(args.name, seq=marked, move=args.move, why=args.why).raise_if_refused()
        (made,) = (each for each in db.bookmarks() if each.seq == marked and each.name == args.name)

        def write(page: Page) -> None:
            start, name = stores.command_prefix(args), shlex.quote(args.name)
            page.line((made.name, "good"), f"  is commit {made.seq}, {wire.moment(made.ingested)}")
            out.hint(f"Read it: {start} at {name} children   {start} replay --until {name} --into DIR")

        out.answer(_document(made), write)
    return DONE


def _list_bookmarks(found: Sequence[Bookmark], out: Output) -> int:
    def write(page: Page) -> None:
        for each in found:
            why = f"  {each.why}" if each.why else ""
            page.line((each.name, "good"), f"  commit {each.seq}, {wire.moment(each.ingested)}", (why, "dim"))
        if not found:
            page.line("No bookmarks.")

    out.answer({"bookmarks": [_document(each) for each in found]}, write)
    return DONE


def _document(made: Bookmark) -> dict[str, object]:
    return wire.record(made) | {"ingested": wire.time(made.ingested)}


def at(commands: Callable[[Sequence[str]], Sequence[Command]]) -> Command:
    """Return the command that runs another one as of a moment.

    ``commands`` returns those that a line needs.
    """

    def add(parser: Parser) -> None:
        parser.add_argument("moment", metavar="TIME", help="a time, the number of a commit, or a bookmark")
        parser.add_argument("words", metavar="COMMAND...", nargs=REMAINDER, help="a read command with its arguments")

    def run(args: Namespace, out: Output) -> int:
        if not args.words:
            raise arguments.UsageError(
                "The command after the moment is missing", "For example: worlddb at 2026-03-01 children"
            )
        inner = arguments.parse_line(arguments.build_parser(commands(args.words)), args.words)
        if not hasattr(inner, "ingested"):
            raise arguments.UsageError(
                f"`{args.words[0]}` cannot read the past",
                "Use a read command: recall, query, show, history, children, hash, log or proposals",
            )
        if inner.ingested is not None:
            raise arguments.UsageError(
                "The moment was given twice", "Give it after `at`, or with the command's own option"
            )
        inner.ingested = args.moment
        inner.store = args.store if inner.store is None else inner.store
        out.json, out.quiet = out.json or inner.json, out.quiet or inner.quiet
        code: int = inner.run(inner, out)
        return code

    return Command(
        "at",
        "run a read command as of an earlier moment",
        add,
        run,
        (
            ("at 2026-03-01 children", "what the store knew then, and what was true then"),
            ('at "before the move" recall "where does Mara live?"', "as of a bookmark"),
            ("at 12 show Mara --json", "as of a commit"),
        ),
    )


BOOKMARK_COMMANDS = (
    Command(
        "bookmark",
        "give a name to a moment, or list the names given",
        _bookmark_arguments,
        _bookmark,
        (
            ('bookmark "before the move"', "what the store knows now"),
            ("bookmark audit-2026 --at 2026-06-30T23:59:59Z", "what it knew at a time"),
            ("bookmark", "all names"),
        ),
    ),
)


_TIMES: Final = ("valid_from", "valid_to")
"""Fields whose values are times."""


def _blame_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a world, by reference, prefix or name")
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _blame(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        found = view.blame(stores.resolve_world(view, args.ref))
        document = {
            "ref": found.ref,
            "version": found.number,
            "fields": [wire.record(field) for field in found.fields],
            "edges": [wire.record(edge) for edge in found.edges],
            "view": wire.view(view),
        }
        name = stores.name_of(view, found.ref)
        out.answer(document, lambda page: _write_blame(page, found, name))
    return DONE


def _write_blame(page: Page, found: Blame, name: str) -> None:
    page.line((name, "name"), "  ", (wire.short(found.ref), "ref"), (f"  version {found.number}", "dim"))
    rows = [[*_commit(field), *_field_blame(field)] for field in found.fields if field.value]
    rows += [[*_commit(edge), *_edge_blame(edge, found.ref)] for edge in found.edges]
    page.table(("seq", "when", "who", "what", "value", "why"), rows)


def _commit(blamed: BlamedField | BlamedEdge) -> list[Span]:
    return [(str(blamed.seq), "ref"), (wire.moment(blamed.ingested_at), "dim"), blamed.author]


def _field_blame(field: BlamedField) -> list[Any]:
    value = wire.moment(worlddb.parse_time(field.value)) if field.field in _TIMES else field.value
    return [(field.field, "name"), wire.one_line(value, 80), (wire.one_line(field.why, 80), "dim")]


def _edge_blame(edge: BlamedEdge, ref: str) -> list[Any]:
    arrow = f"{edge.type} >" if edge.source == ref else f"< {edge.type}"
    ended = f", closed in commit {edge.closed}" if edge.closed else ""
    return [(arrow, "name"), wire.one_line(edge.name, 80) + ended, (wire.one_line(edge.why, 80), "dim")]


BLAME_COMMANDS = (
    Command(
        "blame",
        "show which commit last set each field and each edge of a world, by whom and why",
        _blame_arguments,
        _blame,
        (
            ('blame "Sarah Chen"', "her name, text, aliases, validity, containers and edges"),
            ("blame 3fa9c2d1 --ingested 12 --json", "as it was known at commit 12, for a program"),
        ),
    ),
)
