"""``worlddb remember``, ``context`` and ``profile``: an agent's memory of a user, by :func:`worlddb.memory`."""

from typing import Any

import worlddb
from worlddb.memory_scopes import Label, Scopes, composed
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import add_common, add_deadline, parse_deadline

_STATED = (
    ("about", "NAME", "a person or thing that it is about, or the id of one"),
    ("replaces", "REF", "a memory that it replaces from then on"),
    ("contradicts", "REF", "a memory that cannot be true beside it"),
    ("derived-from", "REF", "a memory that it was derived from"),
)


def _add_user(parser: Parser) -> None:
    parser.add_argument("--user", metavar="NAME", help="the user of the memory (default: the whole store)")


def _remember_arguments(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="+", help="one statement; - reads it from standard input")
    _add_user(parser)
    for name, what, meaning in _STATED:
        parser.add_argument(f"--{name}", metavar=what, action="append", default=[], help=f"{meaning}; repeatable")
    parser.add_argument("--since", metavar="TIME", help="since when it is true (default: now)")
    parser.add_argument("--until", metavar="TIME", help="until when it is true, if that is known")
    parser.add_argument("--type", metavar="TYPE", default="Fact", help="its type (default: Fact)")
    parser.add_argument("--name", metavar="NAME", default="", help="a name to look it up by")
    parser.add_argument("--session", metavar="NAME", help="the conversation that it comes from")
    parser.add_argument(
        "--source", metavar="FIELD=VALUE", action="append", help="a further field of its source; repeatable"
    )
    parser.add_argument(
        "--on-near",
        choices=worlddb.ON_NEAR,
        default=worlddb.ON_NEAR[0],
        help="what to do with memories that it may replace or contradict: report them (default), link"
        " contradictions, or also replace memories about the same subject",
    )
    add_deadline(parser)
    arguments.add_properties(parser, "its properties, as a JSON object")
    parser.add_argument("--label", metavar="LABEL", action="append", default=[], help="a label; several times")
    parser.add_argument("--pin", action="store_true", help="it comes first, and no deadline hides it")
    add_common(parser)
    arguments.add_embedder(parser)


def _remember(args: Namespace, out: Output) -> int:
    text, source = _text(args), arguments.parse_source(args.source)
    for name in ("since", "until"):
        if getattr(args, name) is not None:
            worlddb.parse_time(getattr(args, name), name)
    deadline = parse_deadline(args)
    folder, embedder = stores.folder_of(args), stores.embedder_of(args)
    with stores.open_store(args, folder, author=args.author, embedder=embedder) as db:
        memory = worlddb.memory(db, user=args.user, session=args.session)
        added = memory.add(
            text,
            about=args.about,
            type=args.type,
            name=args.name,
            since=args.since,
            until=args.until,
            contradicts=args.contradicts,
            derived_from=args.derived_from,
            replaces=args.replaces,
            source=source,
            why=args.why,
            on_near=args.on_near,
            labels=args.label,
            pinned=args.pin,
            properties=args.properties,
            idempotency_key=args.idempotency_key,
            **deadline,
        )
        notes = [wire.note_text(note) for note in added.notes]

        def write(page: Page) -> None:
            done = "repeated: the memory has one more source" if added.repeated else "remembered"
            page.line((added.id, "ref"), f"  {done}", (f"  commit {added.seq}", "dim"))
            for near in added.near:
                page.line(("near: ", "warn"), f"{wire.short(near.ref)}  {near.reason}", indent=2)
                page.line(wire.one_line(near.text), indent=4)
            for note in notes:
                page.line((f"note: {wire.one_line(note, 400)}", "dim"))
            if added.proposals:
                out.hint(f"Next: {stores.command_prefix(args)} proposals --review")

        out.answer({"ref": added.id, **wire.record(added), "notes": notes}, write)
    return DONE


def _text(args: Namespace) -> str:
    """Return the statement, read from standard input for ``-``.

    Raises:
        InputError: standard input is closed, or is not UTF-8.
    """
    if args.text != ["-"]:
        return " ".join(args.text)
    return arguments.read_standard_input("Give the text as an argument")


def _add_reading(parser: Parser) -> None:
    _add_user(parser)
    arguments.add_moment(parser)


def _memory(db: worlddb.Database, args: Namespace) -> worlddb.Memory:
    """Return a user's memory, at the moment that the options name."""
    memory = worlddb.memory(db, user=args.user)
    if args.valid is None and args.ingested is None:
        return memory
    known = None if args.ingested is None else db.view(**stores.parse_moment(args.ingested)).seq
    return memory.as_of(args.valid, known=known)


def _note(db: worlddb.Database, args: Namespace) -> str:
    """Return a note if the world of a user ended, or if there never was one, as where the name is misspelt."""
    if args.user is None:
        return ""
    label, scopes = Label("user", composed(args.user)), Scopes(db)
    ended = scopes.ended(db.view(valid=args.valid, **stores.parse_moment(args.ingested)), label)
    if ended is not None:
        return (
            f"the world of the user {args.user!r} ended at {wire.time(ended.valid.end)}:"
            f" --valid with a time before reads it, `worlddb reassert {wire.short(ended.ref)}` resumes it"
        )
    if scopes.scopes(db.view(), label, include_retired=True):
        return ""
    return f"nothing was written for the user {args.user!r} before (capitals count)"


def _context_arguments(parser: Parser) -> None:
    parser.add_argument("question", metavar="QUESTION", nargs="+", help="the question for the model")
    parser.add_argument(
        "--max-tokens", metavar="N", type=arguments.count, default=800, help="the budget (default: 800)"
    )
    _add_reading(parser)
    arguments.add_embedder(parser)


def _context(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        text = _memory(db, args).context(arguments.join_question(args.question), max_tokens=args.max_tokens)
        unfit = text.note.replace("max_tokens=", "--max-tokens ")
        note = "; ".join(filter(None, (unfit, _note(db, args))))

        def write(page: Page) -> None:
            for line in text.splitlines():
                page.line(line)
            if not text:
                is_cut = "--max-tokens" in unfit
                page.line("What is known about that does not fit." if is_cut else "Nothing is known about that.")
            if note:
                out.hint(f"note: {note}")

        out.answer({"context": str(text), "note": note}, write)
    return DONE


def _profile_arguments(parser: Parser) -> None:
    arguments.add_limit(parser, "how many statements of each type (default: 50)", default=50)
    _add_reading(parser)


def _profile(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        found, note = _memory(db, args).profile(limit=args.limit), _note(db, args)

        def write(page: Page) -> None:
            for line in str(found).splitlines():
                page.line(line)
            page.line(
                (f"{wire.counted(found.messages, 'message')} in {wire.counted(found.sessions, 'session')}", "dim")
            )
            if note:
                out.hint(f"note: {note}")

        kinds: dict[str, Any] = {kind: [wire.record(world) for world in worlds] for kind, worlds in found.kinds.items()}
        told = note or (found.note if found.messages else "")  # The printed profile says the latter by itself.
        out.answer(wire.record(found) | {"at": wire.time(found.at), "kinds": kinds, "note": told}, write)
    return DONE


COMMANDS = (
    Command(
        "remember",
        "remember one statement, and show memories that it may repeat, replace or contradict",
        _remember_arguments,
        _remember,
        (
            (
                'remember "Ana lives in Porto." --user ana --about Ana --since 2025-03-01',
                "the first one creates the store",
            ),
            ("remember - --user ana --session today", "from standard input"),
        ),
    ),
    Command(
        "context",
        "print what is known about a question as text for a prompt: dated, sourced, within a budget",
        _context_arguments,
        _context,
        (('context "where does Ana live?" --user ana --max-tokens 400', "empty if nothing is known"),),
    ),
    Command(
        "profile",
        "list what currently holds about a user, by type",
        _profile_arguments,
        _profile,
        (
            ("profile --user ana", "the newest first"),
            ("profile --valid 2024-05-01", "what was true then, of everybody"),
        ),
    ),
)
