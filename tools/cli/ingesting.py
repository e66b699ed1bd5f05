"""``worlddb ingest``: files of conversations become worlds."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, Final

import worlddb
from worlddb import Database, Embedding, ModelUnavailable, Turn
from worlddb.tools.cli import arguments, stores
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page

_FORMATS: Final = "auto, locomo or jsonl"


class _MadeWhenWritten:
    """The store, opened (and made, if it is not there) at the first write: a file that is refused makes none."""

    def __init__(self, args: Namespace) -> None:
        self._args = args
        self.db: Database | None = None

    def ingest(self, turns: list[Turn], /, **settings: Any) -> Any:
        return self.opened().ingest(turns, **settings)

    def opened(self) -> Database:
        if self.db is None:
            self.db = worlddb.open(stores.folder_of(self._args), author=self._args.author)
        return self.db

    def close(self) -> None:
        if self.db is not None:
            self.db.close()


def _arguments(parser: ArgumentParser) -> None:
    formats = "LoCoMo, LongMemEval or JSON Lines; .xz, .gz and .zst as they are"
    parser.add_argument("files", metavar="FILE", nargs="+", help=formats)
    parser.add_argument("--format", default="auto", help=f"{_FORMATS} (default: auto, by the file's content)")
    parser.add_argument("--into", metavar="WORLD", help="put the conversations into this world (default: the root)")
    parser.add_argument("--restore-erased", action="store_true", help="let texts come back that were erased")
    arguments.add_author(parser)


def _ingest(args: Namespace, out: Output) -> int:
    from worlddb.tools.importers import ingest_files

    store = _MadeWhenWritten(args)
    try:
        into = None
        if args.into is not None:
            store.db = stores.existing(args, author=args.author)
            into = stores.world_of(store.db, store.db.view(), args.into)
        with out.progress("Reading") as told:
            done = ingest_files(
                store, args.files, format=args.format, into=into, restore_erased=args.restore_erased, progress=told
            )
        db = store.opened()
        with out.progress("Indexing"):
            embedding = _embed(db, out)
            db.catch_up()
        head = db.head()
    finally:
        store.close()
    document = {
        "events": done.events + (embedding.events if embedding else 0),
        "commits": done.commits + (embedding.commits if embedding else 0),
        "worlds": done.worlds,
        "turns": done.turns,
        "embedded": embedding.embedded if embedding else 0,
        "pending": embedding.pending if embedding else None,
        "seq": head.seq,
        "root": head.root,
    }

    def write(page: Page) -> None:
        read = f"{done.turns:,} turns in {done.worlds:,} conversations and sessions"
        if done.events:
            page.line(f"{read}: {done.events:,} events in {done.commits:,} commits")
        else:
            page.line(f"{read}: all of it was there already, nothing was written")
        page.line(f"commit {head.seq}, root {head.root}")
        out.hint('Next: worlddb recall "..."   worlddb children   worlddb log')

    out.answer(document, write)
    return DONE


def _embed(db: Database, out: Output) -> Embedding | None:
    """Give the new texts their vectors; ``None`` without a model, when they are found by their words alone."""
    try:
        return db.embed()
    except ModelUnavailable as error:
        out.hint(f"note: texts are found by their words, not by their meaning: {error}")
        return None


COMMANDS = (
    Command(
        "ingest",
        "take in conversations: sessions become worlds, turns their members, speakers entities",
        _arguments,
        _ingest,
        (
            ("ingest talks.jsonl", 'lines of {"speaker": ..., "text": ..., "at": ..., "session": ...}'),
            ("ingest locomo10.json.xz --store memory", "a compressed LoCoMo file, into another store"),
            ('ingest talks.jsonl --into "Search team"', "below a world that exists; again, and only news is written"),
        ),
    ),
)
