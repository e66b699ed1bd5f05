"""``worlddb create``, ``revise``, ``link`` and the other single writes, each one commit."""

from typing import Final, TypedDict

import worlddb
from worlddb import Database, Receipt
from worlddb.memory_statements import revise_where_it_lies
from worlddb.plain_text import is_blank
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.write_notes import same_words_beside, with_revision_notes, with_sentences

_FROM_STDIN: Final = "-"
_RESOLVING: Final[dict[str, bool | str]] = {"exact": "exact", "all": "all", "none": False}


class Deadline(TypedDict):
    """When something is to be hidden, as arguments of the writes."""

    expires_at: int | None
    ttl: float | None


class _Validity(TypedDict):
    """Both ends of a validity, as arguments of the writes."""

    valid_from: int | None
    valid_to: int | None


def _add_text(parser: Parser) -> None:
    parser.add_argument("--content", metavar="TEXT", help="the text; - reads it from standard input")
    _add_validity(parser)


def _add_validity(parser: Parser, since: str = "now") -> None:
    parser.add_argument("--valid-from", metavar="TIME", help=f"start of its validity (default: {since})")
    parser.add_argument("--valid-to", metavar="TIME", help="end of its validity (default: open)")


def add_deadline(parser: Parser) -> None:
    """Add ``--expires-at`` and ``--ttl``."""
    parser.add_argument("--expires-at", metavar="TIME", help="hide it from then on; it stays valid")
    parser.add_argument(
        "--ttl",
        metavar="SECONDS",
        type=arguments.seconds,
        help="hide it so many seconds from now, or from a later refresh",
    )


def parse_deadline(args: Namespace) -> Deadline:
    """Parse a deadline before a store is opened."""
    at = args.expires_at
    return {"expires_at": None if at is None else worlddb.parse_time(at, "expires_at"), "ttl": args.ttl}


def add_common(parser: Parser) -> None:
    """Add what every write takes: ``--why``, ``--idempotency-key`` and ``--author``."""
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    parser.add_argument("--idempotency-key", metavar="KEY", help="repeating the command with the same key writes once")
    arguments.add_author(parser)


def _create_arguments(parser: Parser) -> None:
    parser.add_argument("type", metavar="TYPE", help="its type, such as Entity, Fact, Note or Topic")
    parser.add_argument("name", metavar="NAME", help="its name; may be empty")
    parser.add_argument("--world", metavar="WORLD", help="the world that contains it (default: the root)")
    parser.add_argument("--alias", metavar="NAME", action="append", default=[], help="a further name; several times")
    parser.add_argument(
        "--key", metavar="KEY", help="a key of the same world in later commands; a changed text revises it"
    )
    add_deadline(parser)
    arguments.add_properties(parser, "its properties, as a JSON object")
    parser.add_argument("--label", metavar="LABEL", action="append", default=[], help="a label; several times")
    parser.add_argument("--pin", action="store_true", help="it comes first, and no deadline hides it")
    parser.add_argument(
        "--resolve",
        choices=tuple(_RESOLVING),
        default="exact",
        help="propose identities by equal names (default), by any similarity, or not at all",
    )
    _add_text(parser)
    add_common(parser)


def _create(args: Namespace, out: Output) -> int:
    content = _content(args, out)
    times = _parse_validity(args)
    with _open_or_create(args) as db:
        world = None if args.world is None else stores.resolve_place(db.view(), args.world)
        receipt = db.create(
            args.type,
            args.name,
            content="" if content is None else content,
            aliases=args.alias,
            world=world,
            key=args.key,
            resolve=_RESOLVING[args.resolve],
            properties=args.properties,
            labels=args.label,
            pinned=args.pin,
            **parse_deadline(args),
            why=args.why,
            idempotency_key=args.idempotency_key,
            **times,
        )
        return answer_receipt(args, db, out, receipt, has_text=True)


def _revise_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, or a name")
    parser.add_argument("--name", metavar="NAME", help="its new name (default: unchanged)")
    parser.add_argument("--type", metavar="TYPE", help="its new type (default: unchanged)")
    parser.add_argument(
        "--replace-later", action="store_true", help="also replace everything later, even with a stated start"
    )
    arguments.add_properties(parser, "its new properties, which replace all of them (default: unchanged)")
    _add_text(parser)
    add_common(parser)


def _revise(args: Namespace, out: Output) -> int:
    if all(each is None for each in (args.content, args.name, args.type, args.properties)):
        raise arguments.UsageError(
            "No new content, name, type or properties were given", "Give --content, --name, --type or --properties"
        )
    content = _content(args, out)
    if content is not None and is_blank(content):
        raise worlddb.InputError("The new content is blank", "Say what holds instead, or retire it")
    validity = _parse_validity(args)
    with stores.open_existing(args, author=args.author) as db:
        receipt = revise_where_it_lies(
            db,
            stores.resolve_to_write(db.view(), args.ref),
            content=content,
            name=args.name,
            type=args.type,
            replace_later=args.replace_later,
            properties=args.properties,
            why=args.why,
            idempotency_key=args.idempotency_key,
            **validity,
        )
        receipt.raise_if_refused()
        span = validity["valid_from"], validity["valid_to"]
        receipt = with_revision_notes(db, receipt, content, span, "give --replace-later")
        return answer_receipt(args, db, out, receipt, has_text=True)


def _retire_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a world (reference or name), or an edge's reference")
    parser.add_argument(
        "--at", "--valid-from", metavar="TIME", help="the time from which it is not valid (default: now)"
    )
    parser.add_argument(
        "--until", "--valid-to", metavar="TIME", help="the time from which it is valid again (default: never)"
    )
    parser.add_argument("--members", action="store_true", help="also retire its members that nothing else contains")
    add_common(parser)


def _retire(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        ref = stores.resolve_world_or_edge(db.view(), args.ref, writes=True)
        receipt = db.retire(
            ref,
            at=args.at,
            valid_to=args.until,
            members=args.members,
            why=args.why,
            idempotency_key=args.idempotency_key,
        )
        alike = same_words_beside(db, db.view(), ref, "retire that too, or revise it") if receipt.events else []
        return answer_receipt(args, db, out, with_sentences(receipt, alike))


def _reassert_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="the retired or superseded world: a reference, or its first digits")
    _add_text(parser)
    add_common(parser)


def _reassert(args: Namespace, out: Output) -> int:
    content = _content(args, out)
    times = _parse_validity(args)
    with stores.open_existing(args, author=args.author) as db:
        ref = stores.resolve_to_write(db.view(), args.ref)
        receipt = db.reassert(ref, content=content, why=args.why, idempotency_key=args.idempotency_key, **times)
        return answer_receipt(args, db, out, receipt, has_text=True)


def _move_arguments(parser: Parser) -> None:
    parser.add_argument("refs", metavar="REF", nargs="+", help="references or names of the worlds that move together")
    parser.add_argument("--to", metavar="WORLD", required=True, help="their new container")
    parser.add_argument("--out-of", metavar="WORLD", help="the container to leave, if they have several")
    parser.add_argument("--valid-from", metavar="TIME", help="the start of the membership (default: their own start)")
    parser.add_argument(
        "--valid-to", metavar="TIME", help="the end of the membership; after it they are back in the old container"
    )
    add_common(parser)


def _move(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        view = db.view()
        receipt = db.move(
            [stores.resolve_to_write(view, ref) for ref in args.refs],
            stores.resolve_to_write(view, args.to),
            out_of=None if args.out_of is None else stores.resolve_to_write(view, args.out_of),
            why=args.why,
            idempotency_key=args.idempotency_key,
            **_parse_validity(args),
        )
        return answer_receipt(args, db, out, receipt)


def _link_arguments(parser: Parser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a reference, its first digits, or a name")
    parser.add_argument("type", metavar="TYPE", help="an edge type; `worlddb types` lists them")
    parser.add_argument("target", metavar="TARGET", help="as SOURCE")
    parser.add_argument("--home", metavar="WORLD", help="the world that holds the edge (default: the source's)")
    parser.add_argument(
        "--key", metavar="KEY", help="a key of the same edge in later commands: linked twice, it is one edge"
    )
    arguments.add_properties(parser, "further properties, as a JSON object")
    _add_validity(parser, "the start of its source's newest version; of contains, of its member")
    add_common(parser)


def _link(args: Namespace, out: Output) -> int:
    properties = args.properties
    with stores.open_existing(args, author=args.author) as db:
        view = db.view()
        receipt = db.link(
            stores.resolve_to_write(view, args.source),
            args.type,
            stores.resolve_to_write(view, args.target),
            home=None if args.home is None else stores.resolve_to_write(view, args.home),
            key=args.key,
            properties=properties,
            why=args.why,
            idempotency_key=args.idempotency_key,
            **_parse_validity(args),
        )
        return answer_receipt(args, db, out, receipt)


def _unlink_arguments(parser: Parser) -> None:
    parser.add_argument("edge", metavar="EDGE", help="an edge's reference, or its first digits; `show --json` has it")
    add_common(parser)


def _unlink(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        return answer_receipt(args, db, out, db.unlink(args.edge, why=args.why, idempotency_key=args.idempotency_key))


def _init_arguments(parser: Parser) -> None:
    arguments.add_author(parser)


def _init(args: Namespace, out: Output) -> int:
    folder = stores.folder_of(args)
    with stores.open_store(args, folder, author=args.author, embedder=None) as db:
        head, root = db.head(), db.view().hash()
        is_new = head.seq == 1

    def write(page: Page) -> None:
        what = "an empty store" if is_new else f"an existing store of {wire.counted(head.seq, 'commit')}"
        page.line((str(folder), "ref"), f"  {what}", (f"  root {wire.short(root)}", "dim"))
        out.hint(f"Next: {stores.command_prefix(args)} create Topic NAME, or ingest FILE")

    out.answer({"seq": head.seq, "root": root, "store": str(folder), "empty": is_new}, write)
    return DONE


# -- what they share


def _open_or_create(args: Namespace) -> Database:
    """Open the store; create it for a first world, unless another world was named."""
    if args.world is not None:
        return stores.open_existing(args, author=args.author)
    return stores.open_store(args, stores.folder_of(args), author=args.author, embedder=stores.embedder_of(args))


def _parse_validity(args: Namespace) -> _Validity:
    """Parse the validity before a store is opened, so that a mistyped time makes none."""
    begins, ends = args.valid_from, args.valid_to
    return {
        "valid_from": None if begins is None else worlddb.parse_time(begins, "valid_from"),
        "valid_to": None if ends is None else worlddb.parse_time(ends, "valid_to"),
    }


def _content(args: Namespace, out: Output) -> str | None:
    """Return the content, read from standard input for ``-``; warn if that was empty.

    Raises:
        InputError: standard input is closed, or is not UTF-8.
    """
    if args.content != _FROM_STDIN:
        return str(args.content) if args.content is not None else None
    content = arguments.read_standard_input("Give the text with --content TEXT")
    if not content:
        out.warn("Standard input held no text, so the content is empty.")
    return content


def answer_receipt(args: Namespace, db: Database, out: Output, receipt: Receipt, *, has_text: bool = False) -> int:
    """Print the receipt of a write, or raise its refusal."""
    receipt.raise_if_refused()
    if has_text and receipt.events:
        with out.progress("Indexing"):
            stores.embed_new(db, out)

    def write(page: Page) -> None:
        done = "staged" if receipt.proposals == (receipt.ref,) else "written" if receipt.events else "unchanged"
        page.line(
            (receipt.ref, "ref"), f"  {done}", (f"  commit {receipt.seq}, root {wire.short(receipt.root)}", "dim")
        )
        for loss in receipt.lost:
            page.line((str(loss), "dim"))
        for note in receipt.notes:
            page.line((f"note: {wire.one_line(wire.note_text(note), 400)}", "dim"))
        if receipt.proposals:
            out.hint(f"Next: {stores.command_prefix(args)} proposals --review")

    out.answer(wire.receipt(receipt) | {"ref": receipt.ref}, write)
    return DONE


COMMANDS = (
    Command(
        "init",
        "create an empty store; an existing one stays as it is",
        _init_arguments,
        _init,
        (("init", "the default one"), ("init --store memory", "in a directory of that name")),
    ),
    Command(
        "create",
        "create a world: a fact, a person, a note, or a topic that holds others",
        _create_arguments,
        _create,
        (
            ('create Topic "Search team"', "prints its reference; the first one makes the store"),
            ('create Entity "Sarah Chen" --world "Search team" --content "engineering lead"', "inside of another"),
            ('create Fact Office --content "The office is in Porto." --valid-from 2025-03-01 --json', "for a program"),
        ),
    ),
    Command(
        "revise",
        "give a world a new version in a window of time, in place of what held there",
        _revise_arguments,
        _revise,
        (('revise "Sarah Chen" --content "VP of engineering" --why announced', "exit code 3 if the world has ended"),),
    ),
    Command(
        "retire",
        "end a world or an edge from a time on, or for a while; nothing is deleted",
        _retire_arguments,
        _retire,
        (
            ("retire 3fa9c2d1 --at 2025-06-01", "not valid from then on"),
            ("retire 3fa9c2d1 --at 2025-06-01 --until 2025-07-01", "not valid in June"),
        ),
    ),
    Command(
        "reassert",
        "resume what was retired or superseded: the same world, with its key, members and edges",
        _reassert_arguments,
        _reassert,
        (('reassert 3fa9c2d1 --why "it was true after all"', "valid again from now on"),),
    ),
    Command(
        "move",
        "move worlds with everything inside them from one world to another",
        _move_arguments,
        _move,
        (('move "On call" --to "Search team"', "with the edges between them"),),
    ),
    Command(
        "link",
        "write an edge between two worlds, through its type's rules",
        _link_arguments,
        _link,
        (
            ('link "Sarah Chen" refers_to "Search team"', "prints the edge's reference"),
            (
                "link 3fa9c2d1 supersedes 77ab01cd --valid-from 2025-02-01",
                "the second one ends then",
            ),
            ('link "S. Chen" same_as "Sarah Chen"', "is proposed, and waits for a decision"),
        ),
    ),
    Command(
        "unlink",
        "retract an edge; views of earlier commits still see it",
        _unlink_arguments,
        _unlink,
        (('unlink 3fa9c2d1 --why "a slip"', "what it ended stays ended"),),
    ),
)
