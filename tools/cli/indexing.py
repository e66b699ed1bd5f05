"""``worlddb embed``, and what follows a write of texts: their vectors, if there is a model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from worlddb import Database, Embedding, ModelUnavailable
from worlddb.tools.cli import arguments, stores
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page, counted


def embed_new(db: Database, out: Output) -> Embedding | None:
    """Give the new texts their vectors; ``None`` without a model, when they are found by their words alone."""
    try:
        return db.embed()
    except ModelUnavailable as error:
        out.hint(f"note: texts are found by their words, not by their meaning: {error}")
        return None


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", metavar="N", type=arguments.count, help="stop after about N texts (default: all)")
    arguments.add_author(parser)


def _embed(args: Namespace, out: Output) -> int:
    with stores.existing(args, author=args.author) as db:
        with out.progress("Embedding texts") as told:
            counting = None if told is None else lambda done: told(done, None, "")
            done = db.embed(limit=args.limit, progress=counting)
        head = db.head()
    document = {**done._asdict(), "seq": head.seq, "root": head.root}

    def write(page: Page) -> None:
        if done.embedded:
            page.line(f"{counted(done.embedded, 'text')} got vectors in {counted(done.commits, 'commit')}")
        else:
            page.line("every text has its vectors already, nothing was written" if not done.pending else "no text yet")
        if done.pending:
            out.hint(f"{counted(done.pending, 'text')} are left: run it again.")

    out.answer(document, write)
    return DONE


COMMANDS = (
    Command(
        "embed",
        "give vectors to the texts that have none yet, so that they are found by their meaning",
        _arguments,
        _embed,
        (
            ("embed", "all of them; `worlddb ingest` does it by itself"),
            ("embed --limit 10000", "so many, and the rest another time"),
        ),
    ),
)
