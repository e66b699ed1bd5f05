"""The façade: one object for a store, which hands every call to the room that does it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, get_args

from msgspec.structs import replace

from worlddb.embedding import AUTO, Embeds, models_of
from worlddb.erasing import Erasing
from worlddb.interchange import Interchange
from worlddb.keeping import Keeping
from worlddb.log.model.clock import Clock, Entropy, SystemClock, SystemEntropy
from worlddb.log.model.errors import InputError, ModelUnavailable, NotAStore, UnavailableError
from worlddb.log.model.ids import as_ref
from worlddb.log.model.limits import MAX_AUTHOR_BYTES, checked_amount, checked_text
from worlddb.log.model.times import TimeLike, parse_time
from worlddb.log.store.group_commit import Group
from worlddb.projections.scrub import finish_erasures
from worlddb.projections.tables.storage.transaction import CommitCache
from worlddb.query.snapshot.edge_rules import rewritten
from worlddb.reclustering import Reclusters
from worlddb.reconciler.background.worker import Background
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands.outcome import Note, Receipt
from worlddb.reconciler.edge_types.builtin import DEFAULT_ONTOLOGY
from worlddb.reconciler.edge_types.handler import EdgeHandler
from worlddb.reconciler.edge_types.registry import Ontology, given_handlers
from worlddb.reconciler.embedding.embedder import Embedder
from worlddb.reconciler.ingest.extraction import Extractor, Ingest, Turn
from worlddb.reconciler.pipeline import Progress, Task, Writer, create_store, execute
from worlddb.reconciler.similarity.thresholds import ByType, Resolving, Thresholds
from worlddb.replaying import Replaying
from worlddb.store import DEFAULT_TIMEOUT_SECONDS, VectorReader, folder_of, has_begun, open_environment
from worlddb.writing import Batch, Writing

DEFAULT_CLOCK_JUMP_DAYS: Final = 3653
_DAY: Final = 86_400_000_000

Durability = Literal["commit", "group"]


class Database(Writing, Embeds, Reclusters, Keeping, Replaying, Erasing, Interchange):
    """An open store. Writes are commands that return receipts; reads go through views.

    Use :func:`open`. Handles are cheap, may be shared between threads, and any number of processes may open one
    directory.
    """

    def __init__(
        self,
        folder: Path,
        *,
        author: str,
        create: bool,
        timeout_seconds: float,
        max_clock_jump_days: float,
        durability: Durability,
        embedder: Embedder | str | None,
        resolver: Thresholds | ByType | None,
        background: bool,
        clock: Clock,
        entropy: Entropy,
        ontology: Ontology,
    ) -> None:
        self.path = folder
        self.author = checked_text(author, "author", MAX_AUTHOR_BYTES, empty=False)
        resolving = Resolving(resolver)
        self._models = models_of(embedder)
        self._env = open_environment(folder, author=author, create=create, timeout_seconds=timeout_seconds)
        self._clock = clock
        self._ontology = ontology
        self._background = Background(self._keep_up_behind) if background else None
        self._writer = Writer(
            self._env,
            clock,
            entropy,
            self._ontology,
            self.author,
            int(max_clock_jump_days * _DAY),
            resolving,
            CommitCache(),
            Group(timeout_seconds) if durability == "group" else None,
        )
        try:
            if not has_begun(self._env):
                if not create:
                    raise NotAStore(f"There is no store at {folder}", "Check the path, or write to it first")
                create_store(self._writer)
            finish_erasures(self._env, wait_seconds=0.0)
            self._reader = VectorReader(self._env, self._models)
            if self._background is not None:
                self._reader.told_of_pending = self._background.nudge
        except BaseException:
            self._env.close()
            raise
        self._spec = rewritten(
            tuple(handler.on_query_rewrite for handler in DEFAULT_ONTOLOGY),
            tuple((handler.name, handler.version) for handler in DEFAULT_ONTOLOGY),
        )

    # -- writing

    def _execute(
        self, commands: Sequence[cmd.Command], idempotency_key: str | None, progress: Progress | None = None
    ) -> Receipt:
        receipt = execute(self._writer, commands, idempotency_key, progress)
        if any(isinstance(command, cmd.DropSpace) for command in commands):
            self._reader.vector_indexes()
        if self._background is not None and receipt.events:
            self._background.nudge()
        return receipt

    def signed(self, author: str) -> Database:
        """The same open store, with another author for what is written through it.

        It shares everything with this handle, and closing either closes both.
        """
        other = copy(self)
        other.author = checked_text(author, "author", MAX_AUTHOR_BYTES, empty=False)
        # Writes that share a transaction are those of one writer, so each author has a queue of its own.
        group = None if self._writer.group is None else Group[Task, Receipt](self._writer.group.timeout_seconds)
        other._writer = self._writer._replace(author=other.author, group=group)
        return other

    def batch(self, *, idempotency_key: str | None = None, progress: Progress | None = None) -> Batch:
        """Many commands, one commit: ``with db.batch() as tx: ...``; ``tx.receipt`` afterwards.

        Calls on ``tx`` return pending references that later calls in the batch may use. One refusal, or an exception
        in the block, aborts all of it; a refusal is raised as :class:`RefusedError` when the block ends.

        ``progress(done, total)`` is called as the commands are decided, when the block has ended; what it raises aborts
        the batch too. It holds up every other writer, so it should return at once.
        """
        return Batch(partial(self._execute, progress=progress), self._ontology, idempotency_key)

    def ingest(
        self,
        turns: Sequence[Turn | dict[str, Any]],
        *,
        conversation: str = "conversation",
        session: str | None = None,
        at: TimeLike | None = None,
        into: Any = None,
        format: str = "turns",
        start: int = 0,
        extractor: Extractor | None = None,
        revive: bool = False,
        resolve: bool | str = "all",
        embed: bool = False,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Take in turns of a conversation as one commit: worlds for conversation, sessions, turns and speakers.

        With ``session`` all turns belong to that one; without it each belongs to the session that it names.

        Every record is keyed by format, conversation, session and position (from ``start``), so the same input
        changes nothing, a longer one adds its tail, and changed text is a revision. ``extractor`` may add candidates;
        it is called before the store is locked. ``resolve`` says which tiers of the resolver run for speakers and
        candidates, as in :meth:`create`: all of them by default. What was erased stays out, unless ``revive`` lets
        it come back.

        With ``embed`` the call also waits for what otherwise is due later: once the turns are committed, texts get
        their vectors, and :meth:`recluster` proposes who else may be one, by meaning too. What it stages has commits of
        its own, so it is in :meth:`proposals` and not in the receipt. If the model fails then, what was said is kept,
        and the receipt has a note.

        Raises:
            InputError: an argument or a turn is wrong; nothing was written.
            ModelUnavailable: ``embed`` is asked of a store that was opened without an embedder; nothing was written.
        """
        if not isinstance(turns, list | tuple):
            raise InputError(f"turns is {type(turns).__name__}, not a list of turns", "Give a list of Turn or dict")
        if extractor is not None and not callable(extractor):
            raise InputError(f"extractor is {type(extractor).__name__}, which cannot be called", "Give a function")
        request = Ingest(
            tuple(turn if isinstance(turn, Turn) else _turn(turn, position) for position, turn in enumerate(turns)),
            conversation,
            session,
            None if at is None else parse_time(at, "at"),
            None if into is None else as_ref(into),
            format,
            start,
            extractor,
            revive,
            resolve,
        )
        if not isinstance(embed, bool):
            raise InputError(f"embed is {type(embed).__name__}, not a boolean", "Give True or False")
        if embed and not self._models.any:
            raise ModelUnavailable("The store was opened without an embedder", "Open it with embedder=...")
        receipt = execute(self._writer, request, idempotency_key)
        if embed and receipt:
            return self._kept_up(receipt)
        if self._background is not None and receipt.events:
            self._background.nudge()
        return receipt

    def _kept_up(self, receipt: Receipt) -> Receipt:
        """What is due after a commit, done at once; the commit stands whatever becomes of it."""
        try:
            self._keep_up()
        except (UnavailableError, InputError) as error:
            return replace(receipt, notes=(*receipt.notes, Note("not_embedded", (str(error),))))
        return receipt

    def _keep_up(self) -> None:
        """What is due after a write."""
        if self._models.any:
            self.embed()
        self._recluster()

    def _keep_up_behind(self) -> bool:
        """The same in the background, as far as no other process is at it; false if one is."""
        done = self._embed_behind() if self._models.any else True
        return not self._recluster().busy and done

    def close(self) -> None:
        """Let go of the store. Committed writes are durable whether or not it is called; work in the background is
        waited for, half a minute at most."""
        if self._background is not None:
            self._background.finish()
        self._reader.end()
        self._env.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<worlddb.Database {str(self.path)!r}>"


def open(
    path: str | Path,
    *,
    author: str = "local",
    create: bool = True,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    max_clock_jump_days: float = DEFAULT_CLOCK_JUMP_DAYS,
    durability: Durability = "commit",
    embedder: Embedder | str | None = AUTO,
    resolver: Thresholds | ByType | None = None,
    background: bool = False,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    edge_types: Iterable[EdgeHandler] = (),
) -> Database:
    """Open the store in a directory; it is created if there is none, unless ``create=False``.

    Args:
        author: who writes through this handle; recorded with every commit.
        timeout_seconds: how long a write waits for another process's before :class:`WriterBusy`.
        max_clock_jump_days: how far the clock may be ahead of the last commit before :class:`ClockJump`.
        durability: ``commit``: every write has a transaction and a sync of its own; ``group``: writes that threads ask
            of this handle while another is under way share one, each a commit of its own. Either way a write that has
            returned is on the disk.
        embedder: the model that gives texts vectors, or the name of one (see :data:`EMBEDDERS`); ``None`` for none. By
            default the model that filled the space in use, if it is one of this release. Nothing is loaded before it is
            needed.
        resolver: from where on the resolver is confident: ``Thresholds(...)``, or a dict of them by node type.
        background: after each write, a thread of this handle gives new texts their vectors and looks again at who is
            who; see :meth:`Database.embed` and :meth:`Database.recluster`, which do the same when they are called. For
            servers: one process of a store does it at a time, and the others see to it that it is done.
        clock, entropy: where time and randomness come from; for tests and simulations.
        edge_types: the handlers of edge types of your own, for this process; see :meth:`Database.register`.

    Raises:
        NotAStore, NewerFormat, DamagedStore: what is there cannot be opened, and why.
        InputError, HandlerFailed: an argument is wrong; one of ``edge_types`` is no handler, or does not work.
    """
    return Database(
        folder_of(path),
        author=author,
        create=create,
        timeout_seconds=checked_amount(timeout_seconds, "timeout_seconds"),
        max_clock_jump_days=checked_amount(max_clock_jump_days, "max_clock_jump_days"),
        durability=_durability(durability),
        embedder=embedder,
        resolver=resolver,
        background=_flag(background),
        clock=clock or SystemClock(),
        entropy=entropy or SystemEntropy(),
        ontology=_ontology(edge_types),
    )


def _flag(background: object) -> bool:
    if not isinstance(background, bool):
        raise InputError(f"background is {type(background).__name__}, not a boolean", "Give True or False")
    return background


def _durability(given: Durability) -> Durability:
    if given not in get_args(Durability):
        raise InputError(f"durability is {given!r:.80}", f"Give one of: {', '.join(get_args(Durability))}")
    return given


def _ontology(edge_types: object) -> Ontology:
    ontology = Ontology(DEFAULT_ONTOLOGY)
    for handler in given_handlers(edge_types):
        ontology.add(handler)
    return ontology


def _turn(given: dict[str, Any], position: int) -> Turn:
    try:
        return Turn(**given)
    except TypeError as error:
        raise InputError(
            f"turns[{position}] cannot be made of {given!r:.80}: {error}", "Give text, speaker, at, session"
        ) from None
