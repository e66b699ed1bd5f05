"""``worlddb embed``, ``reembed`` and ``spaces``: vectors and their embedding models."""

import os
import shlex

import msgspec

from worlddb import EMBEDDERS, Database, Reembedding, embedder_named
from worlddb.tools.cli.base import BUSY, DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire


def _arguments(parser: Parser) -> None:
    _add_limit(parser)
    arguments.add_embedder(parser)
    arguments.add_author(parser)


def _add_limit(parser: Parser) -> None:
    parser.add_argument("--limit", metavar="N", type=arguments.count, help="stop after about N texts (default: all)")


def _embed(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        with out.progress("Embedding texts") as report:
            counting = None if report is None else lambda done: report(done, None, "")
            done = db.embed(limit=args.limit, progress=counting)
        head = db.head()
    document = {**done._asdict(), "seq": head.seq, "root": head.root}

    def write(page: Page) -> None:
        if done.embedded:
            page.line(f"{wire.counted(done.embedded, 'text')} got vectors in {wire.counted(done.commits, 'commit')}")
        else:
            page.line("every text has vectors already, so nothing was written" if not done.pending else "no text yet")
        if done.pending:
            out.hint(f"{wire.counted(done.pending, 'text')} are left: run the command again.")

    out.answer(document, write)
    return DONE


def _reembed_arguments(parser: Parser) -> None:
    listed = "; ".join(f"{name}: {description}" for name, description in EMBEDDERS.items())
    parser.add_argument("--to", "--model", metavar="NAME", dest="to", help=f"the embedding model to move to. {listed}")
    parser.add_argument(
        "--space",
        metavar="NAME",
        help="the name of its embedding space (default: that of the model, or its newest space)",
    )
    parser.add_argument(
        "--drop", metavar="SPACE", help="drop an embedding space that is no longer in use, and delete its index"
    )
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason for dropping it, stored with it")
    _add_limit(parser)
    arguments.add_author(parser)


def _reembed(args: Namespace, out: Output) -> int:
    if args.to is None and args.drop is None:
        raise arguments.UsageError("No action was given", "Give a model with --to, or a space with --drop")
    with stores.open_existing(args, author=args.author) as db:
        done = None if args.to is None else _moved_document(db, args, out)
        dropped = False
        if args.drop is not None and (done is None or done.in_use):
            receipt = db.drop_space(args.drop, why=args.why)
            receipt.raise_if_refused()
            dropped = True
        head = db.head()
    document = {**({} if done is None else done._asdict()), "dropped": args.drop if dropped else None}
    document |= {"seq": head.seq, "root": head.root}

    def write(page: Page) -> None:
        if done is not None:
            page.line(f"{wire.counted(done.embedded, 'text')} got vectors by {done.model} in the space {done.space!r}")
            if done.in_use:
                page.line(f"It answers now, instead of {done.before!r}" if _has_replaced(done) else "It answers")
            else:
                page.line(
                    f"{done.before!r} still answers questions: {wire.counted(done.pending, 'text')} are left. Run the"
                    " command again."
                )
        if dropped:
            page.line(f"The space {args.drop!r} was dropped")
        elif done is not None and _has_replaced(done):
            out.hint(
                f"To drop {done.before!r}: {stores.command_prefix(args)} reembed --drop {shlex.quote(done.before)}"
            )

    out.answer(document, write)
    return DONE if done is None or done.in_use or args.limit is not None else BUSY


def _moved_document(db: Database, args: Namespace, out: Output) -> Reembedding:
    to = embedder_named(args.to, key=os.environ.get("WORLDDB_EMBEDDER_KEY"))
    with out.progress("Embedding texts") as report:
        counting = None if report is None else lambda done: report(done, None, "")
        return db.reembed(to, space=args.space, limit=args.limit, progress=counting)


def _has_replaced(done: Reembedding) -> bool:
    return done.in_use and done.before not in ("", done.space)


def _spaces_arguments(parser: Parser) -> None:
    pass


def _spaces(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        found = db.spaces()

    def write(page: Page) -> None:
        if not found:
            page.line("No text has been embedded yet.")
        for space in found:
            state = "dropped" if space.dropped is not None else "in use" if space.in_use else "kept"
            style = "good" if space.in_use else "dim"
            page.line((f"{state:8}", style), f"{space.name}  {space.model}, {space.dimension} numbers")
            page.line(f"{wire.counted(space.texts, 'text')}, up to commit {space.through}", indent=2)

    out.answer({"spaces": [msgspec.structs.asdict(space) for space in found]}, write)
    return DONE


COMMANDS = (
    Command(
        "embed",
        "give vectors to the texts that have none yet, so that they are found by their meaning",
        _arguments,
        _embed,
        (
            ("embed", "all of them; `worlddb ingest` also does it"),
            ("embed --limit 10000", "a part, and the rest another time"),
            ("embed --embedder minilm", "a store's first vectors by another model than the default one"),
        ),
    ),
    Command(
        "reembed",
        "move to another embedding model: the old vectors answer until the new ones are complete",
        _reembed_arguments,
        _reembed,
        (
            ("reembed --to minilm", "a stronger model, offline: pip install 'worlddb[embed]'"),
            (
                "reembed --to endpoint:nomic-embed-text@http://localhost:11434/v1",
                "an endpoint; a key is in $WORLDDB_EMBEDDER_KEY",
            ),
            ("reembed --drop default", "drop vectors that are no longer in use"),
        ),
    ),
    Command(
        "spaces",
        "list the embedding spaces: which model made their vectors, and which one answers",
        _spaces_arguments,
        _spaces,
        (("spaces", "the space in use, the others, and the dropped ones"),),
    ),
)
