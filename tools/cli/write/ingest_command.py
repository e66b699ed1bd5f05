"""``worlddb ingest``: import files of conversations and documents."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

import worlddb
from worlddb import Database, Extractor, InputError, MalformedFile, Turn, View, memory_scopes
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.writing import retry_while_changed

if TYPE_CHECKING:
    from worlddb.tools.importers import IngestSummary

_STDIN: Final = "-"
_FORMATS: Final = "auto, chatgpt, claude, sharegpt, messages, locomo, longmemeval, jsonl, markdown or text"


_LOOKED_AT: Final = 10_000
"""Worlds that the resolver compares again at the end; `worlddb recluster` continues."""


_BROKEN_SHOWN: Final = 20


class _LazyStore:
    """Opens or creates the store at the first write, so that a refused file creates none."""

    def __init__(self, args: Namespace) -> None:
        self._args = args
        self.db: Database | None = None

    def ingest(self, turns: list[Turn], /, **settings: Any) -> Any:
        return self.opened().ingest(turns, **settings)

    def extract(self, document: Any, extractor: Extractor | None, /) -> Any:
        return self.opened().extract(document, extractor)

    def batch(self) -> Any:
        return self.opened().batch()

    def view(self) -> View:
        return self.opened().view()

    def opened(self) -> Database:
        if self.db is None:
            self.db = stores.open_store(
                self._args,
                stores.folder_of(self._args),
                author=self._args.author,
                embedder=stores.embedder_of(self._args),
            )
        return self.db

    def close(self) -> None:
        if self.db is not None:
            self.db.close()


def _arguments(parser: Parser) -> None:
    formats = (
        "exports of ChatGPT and Claude (conversations.json or the .zip), ShareGPT, messages of OpenAI, Anthropic or"
        " LangChain, LoCoMo, LongMemEval, JSON Lines, Markdown (.md) or text (.txt); compressed as .xz, .gz or .zst"
        " too; a folder stands for all Markdown and text in it"
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help=f"{formats}; - is standard input")
    parser.add_argument("--format", default="auto", help=f"{_FORMATS} (default: auto, by the file's content)")
    parser.add_argument(
        "--conversation",
        metavar="NAME",
        help="name of the conversation or document in the file (default: the file's name without folder and"
        " suffix); another file of the same conversation is a changed copy of the first, and revises its turns",
    )
    parser.add_argument(
        "--ignore-unknown",
        action="store_true",
        help="keep unknown fields of JSON Lines as provenance (default: they are an error)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--into", metavar="WORLD", help="import the conversations into this world (default: the root)")
    where.add_argument("--user", metavar="NAME", help="import them into the user's scope, as with `remember --user`")
    parser.add_argument(
        "--entities",
        action="store_true",
        help="also create worlds for names, dates, amounts and addresses in turns and paragraphs",
    )
    parser.add_argument(
        "--extract",
        metavar="MODEL@URL",
        help="after the import, let a model extract facts from turns and documents, behind an endpoint with OpenAI's"
        " protocol; its key is in $WORLDDB_EXTRACTOR_KEY",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="write nothing of an export if a chat in it cannot be read (default: that chat is left out and named, and"
        " the exit code is 1)",
    )
    parser.add_argument("--restore-erased", action="store_true", help="also write texts that were erased before")
    arguments.add_embedder(parser)
    arguments.add_author(parser)


def ingest_files_with(args: Namespace, out: Output, files: list[str]) -> int:
    """Import files for another command, with its options only."""
    unsaid = {
        "format": "auto",
        "conversation": None,
        "ignore_unknown": False,
        "entities": False,
        "extract": None,
        "user": None,
        "strict": False,
    }
    return _ingest(Namespace(**{**unsaid, "restore_erased": False, "user": None, **vars(args), "files": files}), out)


def _ingest(args: Namespace, out: Output) -> int:
    from worlddb.tools.importers import ingest_files

    store, extractor = _LazyStore(args), _make_extractor(args)
    try:
        into: Any = None
        if args.into is not None:
            store.db = stores.open_existing(args, author=args.author)
            view = store.db.view()
            into = stores.resolve_place(view, args.into)
            if hint := stores.hint_of_user(view, args.into, into):
                out.hint(hint)
        elif args.user is not None:
            memory_scopes.check_scope_name(args.user, "user")
            into = partial(_user_world, store, args.user)
        with out.progress("Reading") as report, _named_files(args) as files:
            done = ingest_files(
                store,
                files,
                format=args.format,
                conversation=args.conversation,
                ignore_unknown=args.ignore_unknown,
                into=into,
                restore_erased=args.restore_erased,
                extractor=extractor,
                user=args.user,
                strict=args.strict,
                progress=report,
            )
        db = store.opened()
        with out.progress("Indexing"):
            embedding = stores.embed_new(db, out)
            db.catch_up()
            try:
                looked = db.recluster(limit=_LOOKED_AT)
            except worlddb.UnavailableError as error:
                looked = worlddb.Reclustering(0, (), 0, 0, 0, 0)
                out.warn(f"The import is committed, but identities were not looked at: {error.message}")
        head = db.head()
    finally:
        store.close()

    def write(page: Page) -> None:
        is_of_one = len(args.files) == 1 and not os.path.isdir(args.files[0])
        _write_done(page, out, done, restored=args.restore_erased, is_of_one=is_of_one)
        page.line(f"commit {head.seq}, root {head.root}")
        start = stores.command_prefix(args)
        if done.gone:
            out.hint(
                f"To end passages that are no longer in the file: {start} retire {done.gone[0][:12]}   (--json lists"
                " all)"
            )
        if looked.proposals:
            out.hint(f"{wire.counted(len(looked.proposals), 'proposal')} of identities: {start} proposals --review")
        out.hint(f'Next: {start} recall "..."   {start} children   {start} log')

    out.answer(_document(done, embedding, looked, head), write)
    return NO if done.broken else DONE


def _document(
    done: IngestSummary, embedding: worlddb.Embedding | None, looked: worlddb.Reclustering, head: worlddb.Head
) -> dict[str, Any]:
    """What was imported, embedded and proposed, as ``--json`` prints it."""
    return {
        "events": done.events + (embedding.events if embedding else 0) + looked.events,
        "commits": done.commits + (embedding.commits if embedding else 0) + looked.commits,
        "worlds": done.worlds,
        "turns": done.turns,
        "revised": done.revised,
        "gone": done.gone,
        "notes": done.notes,
        "chats": done.chats,
        "broken": [msgspec.structs.asdict(each) for each in done.broken],
        "embedded": embedding.embedded if embedding else 0,
        "pending": embedding.pending if embedding else None,
        "proposed": len(looked.proposals),
        "seq": head.seq,
        "root": head.root,
    }


def _user_world(store: _LazyStore, user: str) -> str:
    """Return the world of a user, creating it if needed."""
    db = store.opened()
    scopes, label = memory_scopes.Scopes(db), memory_scopes.Label("user", user)

    def write() -> str:
        look = db.view()
        key = scopes.key(look, label)
        if (came := memory_scopes.imported_scope_ref(key)) is not None:
            return came
        with db.batch(seen=look) as tx:
            scopes.write_scope(tx, key)
        return str(tx.receipt.ref)

    return retry_while_changed(write)


def _make_extractor(args: Namespace) -> Extractor | None:
    if args.extract is None:
        return worlddb.EntityExtractor() if args.entities else None
    if args.entities:
        raise arguments.UsageError(
            "--entities and --extract were both given", "Import the files twice, once with each option"
        )
    named = arguments.parse_endpoint(args.extract, "--extract")
    return worlddb.EndpointExtractor(**named, key=os.environ.get("WORLDDB_EXTRACTOR_KEY"))


@contextmanager
def _named_files(args: Namespace) -> Iterator[list[str | Path]]:
    """Yield the named files; standard input is copied to a file, since files are read twice.

    Raises:
        UsageError: standard input is one of several, or its conversation has no name.
    """
    from worlddb.tools.importers.detect import format_of

    if _STDIN not in args.files:
        yield args.files
        return
    if len(args.files) > 1:
        raise arguments.UsageError(
            "Standard input was given with other files", "Import other files with a separate command"
        )
    if sys.stdin is None:
        raise InputError("Standard input is closed", "Name a file")
    with worlddb.scratch_folder(stores.folder_of(args)) as folder:
        path = folder / "standard input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            if args.conversation is None and format_of(path, args.format).load_as is not None:
                raise arguments.UsageError(
                    "Standard input has no file name to name its conversation",
                    "Give one with --conversation NAME",
                )
            yield [path]
        except MalformedFile as error:
            details = {**error.details, "file": _STDIN}
            raise MalformedFile(error.message.replace(str(path), path.name), error.remedy, **details) from None


def _write_done(page: Page, out: Output, done: IngestSummary, *, restored: bool, is_of_one: bool) -> None:
    """Report what was read and written, what was revised, and what was left out.

    ``is_of_one``: one file was read, so that its conversation can be named.
    """
    left_out = done.notes.get("not_restored", 0)
    if done.broken:
        chats = wire.counted(len(done.broken), "chat")
        told = f"left out {chats} of {done.chats + len(done.broken):,} that cannot be read, and imported the others:"
        page.line((told, "warn"))
        for each in done.broken[:_BROKEN_SHOWN]:
            page.line((f"  {each.reason}", "warn"))
        if len(done.broken) > _BROKEN_SHOWN:
            page.line((f"  and {len(done.broken) - _BROKEN_SHOWN:,} more (--json lists all)", "warn"))
    read = f"{wire.counted(done.turns, 'turn')} in {wire.counted(done.worlds, 'world')}"
    if done.events:
        page.line(f"{read}: {wire.counted(done.events, 'event')} in {wire.counted(done.commits, 'commit')}")
    elif left_out:
        page.line(f"{read}: nothing was written")
    elif not done.turns:
        page.line("nothing to import was found, so nothing was written")
    else:
        page.line(f"{read}: everything was there already, so nothing was written")
    if done.revised and restored:
        page.line((f"revised or restored {wire.counted(done.revised, 'text')}", "warn"))
    elif done.revised:
        verb = "was" if done.revised == 1 else "were"
        told = f"revised {wire.counted(done.revised, 'text')} that {verb} there with other words or another beginning"
        page.line((told, "warn"))
        if is_of_one:
            out.hint("If it is a different conversation, give it another name: --conversation NAME")
    if twins := done.notes.get("beside_imported", 0):
        which = f"{wire.counted(twins, 'conversation')} came in a bundle before, which brings no keys"
        page.line((f"{which}: the same texts may be there twice now; retire one of the two", "warn"))
    if done.gone:
        verb, stays = ("is", "stays") if len(done.gone) == 1 else ("are", "stay")
        passages = wire.counted(len(done.gone), "passage")
        page.line((f"{passages} {verb} no longer in the file and {stays} current", "warn"))
    if kept := done.notes.get("stays_corrected", 0):
        page.line((f"left {wire.counted(kept, 'text')} as corrected after its import", "warn"))
    skipped = {
        "other_branches": "of branches that were edited or regenerated",
        "instructions": "of instructions to a model",
        "without_text": "without a text",
    }
    for code, which in skipped.items():
        if done.notes.get(code):
            page.line((f"left out {wire.counted(done.notes[code], 'message')} {which}", "dim"))
    dated = {
        "dated_in_utc": "have a date with a time and no zone, read as UTC",
        "dated_by_year": "have a year as their date, and are valid from its beginning on",
        "dated_by_month": "have a month as their date, and are valid from its beginning on",
    }
    for code, how in dated.items():
        if count := done.notes.get(code):
            one = how.replace("have", "has", 1).replace("are", "is").replace("their", "its")
            page.line((f"{wire.counted(count, 'document')} {one if count == 1 else how}", "dim"))
    if linked := done.notes.get("linked"):
        page.line((f"linked documents by {wire.counted(linked, '[[link]]')}", "dim"))
    if unknown := done.notes.get("links_unknown"):
        page.line((f"{wire.counted(unknown, 'name')} in [[links]] led to no document, or to one of several", "dim"))
    if empty := done.notes.get("empty_files"):
        page.line((f"left out {wire.counted(empty, 'empty file')}", "dim"))
    if done.notes.get("not_extracted"):
        page.line(("the model failed for a part; repeat the command to ask it again", "warn"))
    if left_out:
        page.line(
            (f"left out {wire.counted(left_out, 'text')} erased before; --restore-erased writes them again", "warn")
        )


COMMANDS = (
    Command(
        "ingest",
        "import conversations and documents: sessions and headings become worlds, turns and paragraphs their members",
        _arguments,
        _ingest,
        (
            ("ingest talks.jsonl", 'lines of {"speaker": ..., "text": ..., "at": ..., "session": ...}'),
            (
                "ingest march/talks.jsonl --conversation march",
                "with a name of its own, since both files would be one conversation",
            ),
            ("ingest - --conversation march", "the output of another program, which has no file name"),
            ("ingest claude-export.zip", "all chats of an account; a newer export adds new ones"),
            ("ingest vault", "a folder of notes, with their front matter and [[links]]"),
            ("ingest notes.md", "headings become nested worlds; repeat it to add what is new at the end"),
            ("ingest locomo10.json.xz --store memory", "a compressed LoCoMo file, into another store"),
            ("ingest talks.jsonl --entities", "names in the turns become worlds, to which they refer"),
            ("ingest talks.jsonl --user ana", "for the user ana: `recall --user ana` finds them"),
            ('ingest talks.jsonl --into "Search team"', "into an existing world; a repetition writes only what is new"),
        ),
    ),
)
