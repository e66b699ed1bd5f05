"""The import driver: checks every file to its end, then writes session by session.

The façade keys each record by (format, conversation, session, position), and the parts of a document by their path of
headings; with ``into``, by that world too. So running again resumes an import that was killed, a grown file adds its
tail, and the same file twice into the same world is one import.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, cast

import msgspec

from worlddb import Extractor, InputError, MalformedFile, RefusedError, Turn, View
from worlddb.tools.importers import detect, documents, input_files, markdown
from worlddb.tools.importers.conversation import Broken, Portion, ReadOptions, RereadableSource, Source

PathLike: TypeAlias = str | os.PathLike[str]

MAX_TOLD: Final = 20
"""How many files that cannot be imported an error names."""

Progress: TypeAlias = Callable[[int, int | None, str], None]
"""Callback for (turns done, total, activity); the total is None while files are being checked."""


class ReceiptNote(Protocol):
    """The fields of a receipt's note that the driver reads."""

    @property
    def code(self) -> str: ...

    @property
    def refs(self) -> Sequence[str]: ...


class Ingested(Protocol):
    """The fields of a receipt that the driver reads; false if the command was refused."""

    @property
    def seq(self) -> int: ...

    @property
    def root(self) -> str: ...

    @property
    def events(self) -> int: ...

    @property
    def revised(self) -> int: ...

    @property
    def notes(self) -> Sequence[ReceiptNote]: ...

    @property
    def outcome(self) -> object: ...

    def __bool__(self) -> bool: ...


class Ingests(Protocol):
    """The calls of an open store that the driver makes."""

    def ingest(
        self,
        turns: list[Turn],
        /,
        *,
        conversation: str,
        session: str,
        at: int | None,
        into: Any,
        format: str,
        start: int,
        revive: bool,
        extractor: Extractor | None,
    ) -> Ingested:
        """Write the turns of one session as one commit; write nothing where nothing changed."""
        ...

    def batch(self) -> Any:
        """Run several commands as one commit, in a ``with`` block."""
        ...

    def view(self) -> View:
        """Return the present view."""
        ...


class IngestSummary(msgspec.Struct, frozen=True):
    """The result of an import.

    ``events`` and ``commits`` were written; both are 0 when everything was there already. ``worlds`` counts the
    conversations and sessions in the files, ``turns`` their turns, whether new or not. ``seq`` and ``root`` (hex) are
    the store's after the last turn, None when the files hold no turn. ``revised`` counts texts that were there with
    other words, or came back after an erasure. ``notes`` counts the notes of the receipts by code, "not_restored" for
    erased texts that stayed out; and messages of exported chats that were not taken: "other_branches", which were
    edited away or answered anew, "instructions" to a model, and "without_text". ``gone`` are the references of the
    paragraphs that documents had by an earlier import and have no more: they stay, until somebody retires them. Of
    documents, "linked" counts the links between them, "links_unknown" names of others that no document has, or several,
    "empty_files" what was passed over in a folder, and "dated_in_utc", "dated_by_year" and "dated_by_month" those whose
    date named no zone, or no day. ``chats`` counts the chats of exports that were read, new or not, and ``broken``
    names those that were left out since they cannot be read.
    """

    events: int
    commits: int
    worlds: int
    turns: int
    seq: int | None
    root: str | None
    revised: int = 0
    notes: dict[str, int] = {}
    gone: tuple[str, ...] = ()
    chats: int = 0
    broken: tuple[Broken, ...] = ()


def ingest_files(
    db: Ingests,
    paths: PathLike | Iterable[PathLike],
    *,
    format: str = detect.AUTO,
    conversation: str | None = None,
    ignore_unknown: bool = False,
    into: Any = None,
    restore_erased: bool = False,
    extractor: Extractor | None = None,
    user: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> IngestSummary:
    """Import files of conversations; nothing is written unless all of them are sound.

    Of an export of chats those are left out that cannot be read, and the result names them (``broken``).

    Args:
        db: an open store.
        paths: files, compressed or not; one that is named twice is read once. Of a folder all Markdown and plain text
            at any depth, but for what is hidden or empty.
        format: the name of a format in ``detect.FORMATS``, or "auto" to go by the content of each file.
        conversation: the name of the conversation in place of the file's stem, by which JSON Lines are known; for one
            file. Lines that name their conversation themselves keep it.
        ignore_unknown: keep fields of JSON Lines that are not known in the turns' source; otherwise they are an error.
        restore_erased: let texts come back that were erased; otherwise they stay out.
        into: the world that all is put into, or a callable that makes it once all files are sound; None for the root.
        user: whose chats they are: what an exported chat has of the role ``user`` is theirs, under their name.
        extractor: finds candidates in the turns of each session, and in the paragraphs of each document.
        strict: refuse an export of chats if one of them cannot be read.
        progress: told now and then how far the import is.

    Raises:
        InputError: a file cannot be read, two files are the same conversation by name, or a conversation is named
            for several files or for a format that names its conversations itself.
        MalformedFile: a file breaks its format; file, record and path are named. If several do, each is.
        RefusedError: the reconciler refused a session; what was committed before it stays.
    """
    files, empty = _files_of(paths)
    if conversation is not None and (len(files) != 1 or files[0].folder is not None):
        raise InputError(
            f"One conversation name, {conversation[:80]!r}, was given for {len(files):,} files",
            "Name the conversation of one file at a time",
        )
    loaded = _load_all(files, format, ReadOptions(conversation, ignore_unknown, strict=strict), progress)
    into = into() if callable(into) else into
    total, totals = sum(source.turns for _, _, source in loaded), _Totals()
    notes = {"empty_files": empty} if empty else {}
    for written in _write_sources(db, loaded, into, restore_erased, extractor, user, notes):
        if progress is not None:
            progress(totals.turns, total, written.what)
        totals.add(written)
    if progress is not None:
        progress(totals.turns, total, "done")
    return totals.summary(notes, [source for _, _, source in loaded])


class _Part(NamedTuple):
    """A commit of an import: its label and receipt, how many worlds begin with it, and how many turns it has.

    One of a document has that document (``container``) and the ``links`` in it; the last one of it has the references
    of the paragraphs that have ``gone`` from it.
    """

    what: str
    receipt: Ingested
    worlds: int
    turns: int
    gone: Sequence[str] = ()
    links: Sequence[documents.Link] = ()
    container: str = ""


class _Totals:
    """What the commits of an import have in sum."""

    def __init__(self) -> None:
        self.turns = 0
        self._events = self._commits = self._revised = self._worlds = 0
        self._refs_by_code: dict[str, set[str]] = {}
        self._last: Ingested | None = None
        self._gone: list[str] = []

    def add(self, written: _Part) -> None:
        """Count a commit."""
        receipt = self._last = written.receipt
        self._worlds, self.turns = self._worlds + written.worlds, self.turns + written.turns
        self._events, self._commits = self._events + receipt.events, self._commits + (receipt.events > 0)
        self._revised += receipt.revised
        for note in receipt.notes:
            about = note.refs[:1] if note.code == "not_changed" else note.refs
            self._refs_by_code.setdefault(note.code, set()).update(about)
        self._gone += written.gone

    def summary(self, notes: dict[str, int], sources: Sequence[Source]) -> IngestSummary:
        """The result, with what the sources left out."""
        notes = notes | {code: len(refs) for code, refs in self._refs_by_code.items()}
        for source in sources:
            if isinstance(source, RereadableSource | documents.Document):
                for code, count in source.left_out.items():
                    notes[code] = notes.get(code, 0) + count
        exports = [source for source in sources if isinstance(source, RereadableSource)]
        return IngestSummary(
            self._events,
            self._commits,
            self._worlds,
            self.turns,
            None if self._last is None else self._last.seq,
            None if self._last is None else self._last.root,
            self._revised,
            notes,
            tuple(self._gone),
            sum(source.chats for source in exports),
            tuple(each for source in exports for each in source.broken),
        )


def _write_sources(
    db: Ingests,
    loaded: list[tuple[Path, str, Source]],
    into: Any,
    revive: bool,
    extractor: Extractor | None,
    user: str | None,
    notes: dict[str, int],
) -> Iterator[_Part]:
    """Write all sources, then the links between documents, and count these in ``notes``."""
    links, written_documents = list[documents.Link](), dict[str, documents.Document]()
    for _, format, source in loaded:
        for written in _write_source(db, format, source, into, revive, extractor, user):
            links += written.links
            if isinstance(source, documents.Document) and written.container:
                written_documents[written.container] = source
            yield written
    if links:
        receipt, unknown = documents.link(db, links, documents.documents_by_name(written_documents), into)
        notes |= {code: count for code, count in (("linked", receipt.events), ("links_unknown", len(unknown))) if count}
        yield _Part("links", receipt, 0, 0)


def _write_source(
    db: Ingests,
    format: str,
    source: Source,
    into: Any,
    revive: bool,
    extractor: Extractor | None,
    user: str | None,
) -> Iterator[_Part]:
    """Write a source part by part: turns through ``ingest``, documents as worlds inside worlds."""
    if isinstance(source, documents.Document):
        worlds, root = source.worlds, ""
        for written in documents.write(db, source, into, revive):
            root = written.receipt.refs[0] if worlds else root
            yield _Part(source.name, written.receipt, worlds, written.paragraphs, written.gone, written.links, root)
            worlds = 0
        if extractor is not None and root:
            # Only who extracts from documents needs a store that does.
            yield _Part(source.name, cast(Any, db).extract(root, extractor), 0, 0)
        return
    seen: set[str] = set()
    for portion in source.portions():
        if user is not None:
            portion = msgspec.structs.replace(portion, turns=[_with_user_name(turn, user) for turn in portion.turns])
        receipt = _ingest(db, format, portion, into, revive, extractor)
        worlds = (portion.conversation not in seen) + (not portion.start)
        seen.add(portion.conversation)
        yield _Part(f"{portion.conversation}, {portion.session}", receipt, worlds, len(portion.turns))


class _File(NamedTuple):
    """A file to import; ``folder`` is the one that was named, if not the file itself."""

    path: Path
    folder: Path | None = None


def _files_of(paths: PathLike | Iterable[PathLike]) -> tuple[list[_File], int]:
    """Return the named files and those in named folders, each once, and how many empty ones the folders have.

    Raises:
        InputError: a folder has nothing to import.
    """
    files, empty = dict[str, _File](), 0
    for named in map(Path, [paths] if isinstance(paths, str | os.PathLike) else paths):
        if not named.is_dir():
            files.setdefault(os.path.realpath(named), _File(named))
            continue
        found = input_files.files_in(named, (*markdown.SUFFIXES, *documents.SUFFIXES))
        told = [path for path in found if not detect.is_empty(path)]
        if not told:
            suffixes = ", ".join((*markdown.SUFFIXES, *documents.SUFFIXES))
            raise InputError(
                f"The folder {input_files.printable(named)} has no documents ({suffixes})",
                "Name a folder that has some, or other files one by one",
            )
        empty += len(found) - len(told)
        for path in told:
            files.setdefault(os.path.realpath(path), _File(path, named))
    return list(files.values()), empty


def _load_all(
    files: list[_File], format: str, reading: ReadOptions, progress: Progress | None
) -> list[tuple[Path, str, Source]]:
    """Check every file; returns each with the name of its format. No conversation may be in two."""
    loaded: list[tuple[Path, str, Source]] = []
    owners: dict[tuple[str, str], Path] = {}
    wrong = list[InputError]()
    for path, folder in files:

        def turns_read(turns: int, path: Path = path) -> None:
            if progress is not None:
                progress(turns, None, f"checking {input_files.printable(path)}")

        turns_read(0)
        try:
            found, source = detect.load(path, format, turns_read, msgspec.structs.replace(reading, folder=folder))
            for conversation in source.conversations:
                other = owners.setdefault((found.name, conversation), path)
                if other != path and not found.shared:
                    raise InputError(
                        f"{input_files.printable(other)} and {input_files.printable(path)}"
                        f" both have a conversation named {conversation!r}",
                        "Rename one of them, or import them one by one and name the conversation of one; otherwise the"
                        " second would revise the first",
                    )
        except InputError as error:
            wrong.append(error)
            continue
        loaded.append((path, found.name, source))
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        told = "; ".join(error.message for error in wrong[:MAX_TOLD])
        more = f"; and {len(wrong) - MAX_TOLD:,} more" if len(wrong) > MAX_TOLD else ""
        raise MalformedFile(
            f"{len(wrong):,} of {len(files):,} files cannot be imported: {told}{more}",
            "Correct them, or leave them out; nothing was written from any file",
            files=[error.details.get("file", "") for error in wrong],
        )
    return loaded


def _with_user_name(turn: Turn, user: str) -> Turn:
    """Return a turn with the user's name as speaker, if its role is ``user``."""
    is_theirs = turn.speaker == turn.source.get("role") == "user"
    return msgspec.structs.replace(turn, speaker=user) if is_theirs else turn


def _ingest(
    db: Ingests, format: str, portion: Portion, into: Any, revive: bool, extractor: Extractor | None
) -> Ingested:
    # Only formats whose sessions have titles need a store that takes them.
    titled: dict[str, Any] = {} if portion.title is None else {"title": portion.title}
    receipt = db.ingest(
        portion.turns,
        conversation=portion.conversation,
        session=portion.session,
        at=portion.at,
        into=into,
        format=format,
        start=portion.start,
        revive=revive,
        extractor=extractor,
        **titled,
    )
    if not receipt:
        reason, remedy = (str(getattr(receipt.outcome, name, "")) for name in ("reason", "remedy"))
        raise RefusedError(
            f"Session {portion.session!r} of {portion.conversation!r} ({_records_of(portion)}) was refused: {reason}",
            f"{remedy}. The sessions before it were written and stay; import again afterwards".removeprefix(". "),
        )
    return receipt


def _records_of(portion: Portion) -> str:
    """The file and the first and last of the records that a portion was read from."""
    read = [turn.source.get("record") for turn in portion.turns]
    file = portion.turns[0].source.get("file", "")
    return f"{file}, record {read[0]}" if len(set(read)) == 1 else f"{file}, records {read[0]} to {read[-1]}"
