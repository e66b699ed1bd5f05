"""The write pipeline: extract, resolve, reconcile, commit (paper §3).

:func:`execute` is the entry. This module is the only caller of the log's append (law 1).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Final, NamedTuple, Protocol

import lmdb

from worlddb.log.model import codec, errors, times
from worlddb.log.model.blobs import Vector
from worlddb.log.model.clock import RELEASED_AT, Clock, Entropy, now_of
from worlddb.log.model.events import NONE, Created, Erased, StoreCreated, Struck
from worlddb.log.redaction import credentials
from worlddb.log.redaction.personal_data import Redactor
from worlddb.log.store import copies, environment, high_water, lock
from worlddb.log.store.log import LmdbLog
from worlddb.projections import runner, scrub
from worlddb.projections.tables.apply.log_marks import add_commit, refuse_supposed, secret_of
from worlddb.projections.tables.storage import rows, schema, transaction
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome, validation
from worlddb.reconciler.decisions import bulk, model_evidence, worlds
from worlddb.reconciler.dispatch import decide
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.reconciler.entity_resolution import equivalence, namesakes, resolver
from worlddb.reconciler.erasure import erasure_plan, extraction_guard
from worlddb.reconciler.ingest.extraction import Ingest, ingest_commands
from worlddb.reconciler.redaction import text_guard
from worlddb.reconciler.similarity.verdict import StoreThresholds
from worlddb.reconciler.transaction import context, forbidden_texts, inputs, interiors, receipts
from worlddb.reconciler.transaction.draft import Draft, FreshNonces

WRITES_PER_CHECK: Final = 32
"""A handle checks a further part of the store after this many writes."""
LARGE_BATCH: Final = 1_000
"""Batches of at least this many commands are decided with the garbage collector paused."""

MIN_BULK_COMMANDS: Final = 2
"""Requests of at least this many commands try the short way of :class:`~.bulk.BulkDecider` for each of them."""

CHUNK_BYTES: Final = 1 << 20
"""Size of the chunks in which the texts of a commit are searched for credentials."""

MAX_EXTRACTION_ATTEMPTS: Final = 8
"""How often a request starts again because texts were erased between its extraction and its commit."""

_COPIES: Final = {
    copies.BACKUP: ("a backup", "First restore it: `worlddb restore DIR --into NEW`"),
    copies.RESTORING: (
        "an interrupted restore",
        "Run the same `worlddb restore` again: it continues",
    ),
    "snapshot": ("a snapshot", "Replay to its commit: `worlddb replay --until SEQ --into NEW`"),
}

Request = Ingest | inputs.Arrival | Sequence[cmd.Command]


ENDING_COMMANDS: Final = (cmd.Retire, cmd.Unlink, cmd.Unstate, cmd.Erase, cmd.EraseLiteral, cmd.EndKey)
"""Commands that end something. A commit of these alone uses no bytes of a quota, so an account at its limit can still
remove things."""


class Quota(Protocol):
    """The quota of a plan, shared by all writers under it."""

    def take(self, worlds: int, bytes_stored: int) -> None:
        """Reserve some of the quota.

        Raises:
            PlanLimit: too little is left; nothing was reserved.
        """

    def give_back(self, worlds: int, bytes_stored: int) -> None:
        """Release a reservation that was not used."""


_MAX_COPIES_NAMED: Final = 8
"""How many copies that still hold erased texts a receipt names."""


class QuotaReservation:
    """What one transaction has reserved of a quota; released if the transaction fails."""

    def __init__(self, quota: Quota | None) -> None:
        self._quota = quota
        self._worlds = self._bytes = 0

    def take(self, draft: Draft, commands: Sequence[cmd.Command]) -> None:
        """Reserve what a decided commit needs.

        Raises:
            PlanLimit: too little of the quota is left.
        """
        if self._quota is None:
            return
        worlds = sum(type(event) is Created for event in draft.events)
        kept = 0 if all(isinstance(each, ENDING_COMMANDS) for each in commands) else draft.blobs.size_bytes
        self._quota.take(worlds, kept)
        self._worlds += worlds
        self._bytes += kept

    def give_back(self) -> None:
        """Release the whole reservation: the transaction failed, or starts again."""
        if self._quota is not None and (self._worlds or self._bytes):
            self._quota.give_back(self._worlds, self._bytes)
        self._worlds = self._bytes = 0


@contextmanager
def reserve_quota(quota: Quota | None) -> Iterator[QuotaReservation]:
    """Reserve quota in a transaction, and release it if the block raises."""
    reservation = QuotaReservation(quota)
    try:
        yield reservation
    except BaseException:
        reservation.give_back()
        raise


class Task(NamedTuple):
    """A request whose text was turned into commands, ready to be decided under the lock.

    ``progress`` is called for each decided command. ``guard`` checks that no turn of the extraction was erased since.
    ``look`` is the moment of the view that the caller decided by.
    """

    commands: list[cmd.Command]
    idempotency_key: str | None
    arrival: inputs.Arrival | None
    progress: runner.Progress | None
    guard: extraction_guard.ExtractionGuard | None
    look: inputs.Look | None = None
    read: text_guard.Read | None = None
    """The results of the caller's redactor, by text."""


class Writer(NamedTuple):
    """Everything that a write needs: the store, clock, entropy, ontology and models."""

    env: environment.Environment
    clock: Clock
    entropy: Entropy
    ontology: Ontology
    author: str
    max_clock_jump: int
    """Microseconds that the clock may be ahead of the last commit; see the law on the clock in the architecture."""
    resolving: StoreThresholds
    """The resolver's thresholds for worlds that have none of their own."""
    memory: transaction.CommitCache
    interiors: interiors.Interiors
    group: lock.CommitQueue[Task, outcome.Receipt] | None = None
    """Groups concurrent threads into one transaction (group commit); ``None`` gives each its own."""
    advisers: model_evidence.ResolverModels | None = None
    """The models that judge new worlds before the store is locked."""
    redactor: Redactor | None = None
    """Searches texts of guarded worlds for personal data, in place of the rules."""
    quota: Quota | None = None
    """The quota of the writer's plan; ``None`` if it has no plan."""


def execute(
    writer: Writer,
    request: Request,
    idempotency_key: str | None = None,
    progress: runner.Progress | None = None,
    look: inputs.Look | None = None,
) -> outcome.Receipt:
    """Decide a request as one commit, or refuse it whole.

    ``progress`` is called with the number of decided commands and of all; an exception from it ends the work with
    nothing written. With a ``look``, the request is refused if what it restates, links or creates has changed since.

    Raises:
        InputError: a value in the request is wrong; nothing was written.
        IdempotencyConflict: another request was committed under the key.
        UnavailableError: the store is busy or closed, or its clock cannot be trusted.
    """
    for _ in range(MAX_EXTRACTION_ATTEMPTS):
        with suppress(outcome.OutdatedTexts):
            return _execute_once(writer, request, idempotency_key, progress, look)
    raise errors.UnavailableError("Erasures kept interrupting the extraction", "Try again")


def _execute_once(
    writer: Writer,
    request: Request,
    idempotency_key: str | None,
    progress: runner.Progress | None,
    look: inputs.Look | None,
) -> outcome.Receipt:
    arrival = request if isinstance(request, inputs.Arrival) else None
    guard = extraction_guard.ExtractionGuard(writer.env, idempotency_key) if isinstance(request, Ingest) else None
    commands, failure = extract(request, guard), ""
    if writer.advisers is not None and any(type(each) is cmd.Create and each.resolve == "all" for each in commands):
        store = model_evidence.Store(writer.env, writer.ontology, writer.resolving, FreshNonces(writer.entropy))
        commands, failure = model_evidence.add_model_evidence(store, writer.advisers, commands, idempotency_key)
    read = None if writer.redactor is None else text_guard.read_ahead_of_lock(writer.env, writer.redactor, commands)
    receipt = _execute_task(writer, Task(commands, idempotency_key, arrival, progress, guard, look, read))
    if failure and receipt:
        return receipt.with_notes([outcome.Note("not_compared", (failure,))])
    return receipt


def _execute_task(writer: Writer, task: Task) -> outcome.Receipt:
    if not writer.env.end_seen:
        from worlddb.projections import check  # A process that only reads does not load it.

        check.refuse_damaged_end(writer.env)
        writer.env.end_seen = True
    writer.env.unlooked += 1
    if writer.env.unlooked > WRITES_PER_CHECK:
        from worlddb.projections import check

        writer.env.unlooked = 0
        check.check_more_commits(writer.env)
    is_large = len(task.commands) >= LARGE_BATCH or task.arrival is not None
    # A ``progress`` callback may stop the work half way, so other threads do not share its transaction.
    if writer.group is not None and not is_large and task.progress is None:
        return writer.group.submit(task, partial(_execute_together, writer))
    with runner.collector_paused(is_much=True) if is_large else nullcontext():
        return _execute_alone(writer, task)


def _execute_alone(writer: Writer, task: Task) -> outcome.Receipt:
    """Decide a request in a transaction of its own."""
    try:
        with reserve_quota(writer.quota) as reservation:
            receipt, is_scrub_due = writer.env.write(lambda txn: _decide_and_commit(writer, txn, task, reservation))
    except outcome.Refusal as refusal:
        with writer.env.read() as txn:
            log = LmdbLog(txn)
            return receipts.refused(log.header(log.head().seq), refusal)
    return _scrub_erased_bytes(writer, [task], [receipt], is_scrub_due)[0]  # type: ignore[return-value]


def _execute_together(writer: Writer, tasks: Sequence[Task]) -> list[outcome.Receipt | Exception]:
    """Decide several requests in one transaction, each as its own commit.

    An error belongs to its request alone. If a request fails while it is committed, the transaction is rolled back and
    each request gets its own transaction.
    """
    try:
        with reserve_quota(writer.quota) as reservation:
            answers, is_scrub_due = writer.env.write(lambda txn: _decide_each(writer, txn, tasks, reservation))
    except _PartialCommit:
        return [_receipt_or_error(writer, task) for task in tasks]
    return _scrub_erased_bytes(writer, tasks, answers, is_scrub_due)


def _scrub_erased_bytes(
    writer: Writer, tasks: Sequence[Task], answers: Sequence[outcome.Receipt | Exception], is_scrub_due: bool
) -> list[outcome.Receipt | Exception]:
    """Scrub the bytes of erased texts from the file, and note in the receipts where such texts remain."""
    obstacle = scrub.try_finish_erasures(writer.env) if is_scrub_due else ""
    remaining = [outcome.Note("bytes_remain", (obstacle,))] if obstacle else []
    return [
        answer.with_notes([*remaining, *_notes_of_remaining_copies(writer, answer)])
        if isinstance(answer, outcome.Receipt) and not _ERASING_COMMANDS.isdisjoint(map(type, task.commands))
        else answer
        for task, answer in zip(tasks, answers, strict=True)
    ]


_ERASING_COMMANDS: Final = frozenset((cmd.Erase, cmd.EraseLiteral))


def _notes_of_remaining_copies(writer: Writer, receipt: outcome.Receipt) -> list[outcome.Note]:
    """Name the first backups and snapshots that still hold texts that a commit erased."""
    if not receipt.events:
        return []
    with writer.env.read() as txn:
        log = LmdbLog(txn)
        erased = (event for event in log.events(receipt.seq).events if isinstance(event, Erased | Struck))
        places = [place for event in erased for place, _ in event.blobs]
        known_copies = copies.latest_copies(copies.noted_copies(writer.env.folder, log)) if places else []
    holders = copies.copies_holding(known_copies, min(places), receipt.seq) if known_copies else []
    return [outcome.Note("copies_remain", tuple(holders[:_MAX_COPIES_NAMED]))] if holders else []


def _receipt_or_error(writer: Writer, task: Task) -> outcome.Receipt | Exception:
    try:
        return _execute_alone(writer, task)
    except Exception as error:
        return error


# -- the four stages


def extract(request: Request, guard: extraction_guard.ExtractionGuard | None) -> list[cmd.Command]:
    """Turn text into commands. This runs before the store is locked, since an extractor may be slow."""
    if isinstance(request, Ingest):
        assert guard is not None, "made for every ingest"
        into = None if request.into is None else guard.container_of(request.into)
        commands = ingest_commands(request._replace(into=into), guard.are_gone)
    else:
        commands = [request.command] if isinstance(request, inputs.Arrival) else list(request)
    validation.check(commands)
    return commands


def resolve(ctx: context.Context, command: cmd.Command, resolving: StoreThresholds) -> namesakes.Resolution:
    """Find the world that the key of a create stands for, or existing worlds that it may be the same as.

    Matches only become proposals.
    """
    if not isinstance(command, cmd.Create):
        return namesakes.UNRESOLVED
    keyed = None
    if command.key is not None:
        keyed = ctx.keyed_world(command.key, anew=command.anew, revive=command.revive)
    if not command.resolve or (keyed is not None and keyed.node is not None):
        return namesakes.Resolution(keyed, ())
    if command.resolve == "all":
        home = schema.ROOT_NODE if command.world is None else context.node_ref(ctx, command.world)
        setting = resolver.thresholds_for(ctx, resolving, command.type, home)
        return namesakes.Resolution(keyed, model_evidence.find_matches(ctx, command, setting))
    return namesakes.Resolution(keyed, namesakes.match_exactly(ctx, command))


def reconcile(ctx: context.Context, command: cmd.Command, resolution: namesakes.Resolution) -> None:
    """Decide a command through the handlers; later commands see its events."""
    draft, given = ctx.draft, receipts.given(command)
    details, events_before = draft.add_details_of(command, given), len(draft.events)
    decided = decide(ctx, command, details, resolution)
    if ctx.scopes.any_registered:
        equivalence.refuse_joined_by_types(ctx, draft.events[events_before:])
    # A part of a compound contraction keeps its details even if the plan leaves that part as it is.
    is_compound_part = type(command) is cmd.Contract and command.among
    if details != NONE and len(draft.events) == events_before and not is_compound_part:
        # A repeated import must not bring back texts about a world that was erased meanwhile.
        draft.drop_details(details)
        details = NONE
    draft.refs.append(decided.ref)
    draft.staged = decided.staged and (draft.staged or not draft.commands)
    draft.commands.append(receipts.record(command, given, decided.body, details, ctx.secret))
    if ctx.has_forbidden_texts():
        forbidden_texts.refuse_written(ctx, command)


def commit(
    memory: transaction.CommitCache | None, log: LmdbLog, tables: rows.Tables, draft: Draft, key: bytes
) -> outcome.Receipt:
    """Append the finished record to the log and write the tables, in one transaction.

    ``memory`` caches rows for the writer's next commit; ``None`` caches nothing.
    """
    finished = draft.finish(key)
    head = log.append(finished.record, draft.seq, draft.head)
    add_commit(tables, head.seq, head.chain, draft.head.chain)
    for (seq, position), stored in draft.blobs.fills.items():
        log.fill(seq, position, stored)
    tables.flush()
    if memory is not None:
        memory.put(tables.known_worlds, head.chain)
    erased = [blob for event in finished.events.events if type(event) is Erased for blob in event.blobs]
    if erased:
        log.erase(erased, draft.seq)
    if draft.blobs.strikes:
        log.strike(draft.blobs.strikes, draft.seq)
    return receipts.receipt_of(finished.header, finished.events)


# -- transactions
def _commit_and_cache(writer: Writer, log: LmdbLog, tables: rows.Tables, draft: Draft, key: bytes) -> outcome.Receipt:
    """Commit, and keep the caches that the next request may need."""
    receipt = commit(writer.memory, log, tables, draft, key)
    if draft.interiors_token is not None:
        writer.interiors.committed(draft, *log.head())
    return receipt


class _PartialCommit(Exception):
    """One of several requests in a transaction failed half way through its commit."""


def _decide_and_commit(
    writer: Writer, txn: lmdb.Transaction, task: Task, reservation: QuotaReservation
) -> tuple[outcome.Receipt, bool]:
    """Decide a request and commit it.

    Returns the receipt, and whether erased bytes, of this commit or an earlier one, still have to be scrubbed.
    """
    reservation.give_back()
    log, tables = LmdbLog(txn), rows.Tables(txn)
    _require_writable(writer, log, tables)
    decided = _decide(writer, log, tables, task, reservation)
    receipt = decided if isinstance(decided, outcome.Receipt) else _commit_and_cache(writer, log, tables, *decided)
    return receipt, log.scrub_due() is not None


def _decide_each(
    writer: Writer, txn: lmdb.Transaction, tasks: Sequence[Task], reservation: QuotaReservation
) -> tuple[list[outcome.Receipt | Exception], bool]:
    """Decide several requests, each as its own commit.

    A request that is refused or fails has written nothing to the transaction. Returns the receipts or errors, and
    whether erased bytes still have to be scrubbed.
    """
    reservation.give_back()
    log = LmdbLog(txn)
    _require_writable(writer, log, rows.Tables(txn))
    answers: list[outcome.Receipt | Exception] = []
    for task in tasks:
        tables = rows.Tables(txn)
        try:
            decided = _decide(writer, log, tables, task, reservation)
        except outcome.Refusal as refusal:
            answers.append(receipts.refused(log.header(log.head().seq), refusal))
        except lmdb.Error:
            raise
        except Exception as error:
            answers.append(error)
        else:
            answers.append(
                decided
                if isinstance(decided, outcome.Receipt)
                else _commit_in_shared_transaction(writer, log, tables, *decided)
            )
    return answers, log.scrub_due() is not None


def _commit_in_shared_transaction(
    writer: Writer, log: LmdbLog, tables: rows.Tables, draft: Draft, key: bytes
) -> outcome.Receipt:
    try:
        return _commit_and_cache(writer, log, tables, draft, key)
    except lmdb.Error:
        raise
    except Exception as error:
        raise _PartialCommit from error


def _require_writable(writer: Writer, log: LmdbLog, tables: rows.Tables) -> None:
    """Check that the store may be written to, and bring the tables level with the log."""
    if not log.check_format():
        raise errors.NotAStore(f"{writer.env.folder} holds no store", "Open it with create=True")
    refuse_copy(writer, log)
    high_water.refuse_damaged(writer.env.folder)
    if tables.progress().seq != log.head().seq:
        runner.rebuild_if_behind(log, tables)
    if tables.supposed_at():
        refuse_supposed(tables, "it cannot be written to")


def _decide(
    writer: Writer, log: LmdbLog, tables: rows.Tables, task: Task, reservation: QuotaReservation
) -> outcome.Receipt | tuple[Draft, bytes]:
    """Decide a request.

    Returns the draft to commit and the digest of its idempotency key, or a receipt if there is nothing to commit.
    """
    commands = task.commands
    if task.guard is not None:
        task.guard.require_nothing_erased(log)
    secret = secret_of(log)
    key = receipts.key_digest(secret, task.idempotency_key)
    repeated = tables.keys.get(key) if key else None
    if repeated is not None:
        return receipts.repeated_receipt(
            log,
            tables,
            int.from_bytes(repeated, "big"),
            commands,
            str(task.idempotency_key),
            secret,
            text_guard.as_recorded(tables, task.read, commands),
            looked=task.look is not None,
        )
    draft = _open_draft(writer, log, tables)
    tables.known_worlds = writer.memory.take(draft.head.chain)
    ctx = context.Context(draft, writer.ontology, secret)
    ctx.interiors = writer.interiors
    ctx.arrival = task.arrival
    ctx.is_ingest = task.guard is not None
    ctx.request = commands
    kinds = frozenset(map(type, commands))
    if cmd.Erase in kinds:
        erasures = [command for command in commands if isinstance(command, cmd.Erase)]
        ctx.erasure = erasure_plan.plan(log, tables, erasures)
    bulk_decider = bulk.BulkDecider(ctx) if len(commands) >= MIN_BULK_COMMANDS else None
    if bulk_decider is not None:
        bulk_decider.look_ahead(commands)
    guard: text_guard.TextGuard | None = None
    concurrent_changes = None if task.look is None else worlds.ConcurrentChanges(ctx, task.look)
    for position, command in enumerate(commands):
        try:
            if concurrent_changes is not None:
                concurrent_changes.refuse(command)
            if ctx.guarded is not False and ctx.is_guarded():
                guard = guard or text_guard.TextGuard(ctx, task.read)
                command = guard.without_personal_data(position, command)
            if bulk_decider is None or not bulk_decider.decide(command):
                reconcile(ctx, command, resolve(ctx, command, writer.resolving))
        except outcome.Refusal as refusal:
            refusal.command = position
            raise
        except errors.InputError as error:
            error.details.setdefault("command", position)
            raise
        if task.progress is not None:
            task.progress(position + 1, len(commands))
    if not draft.events:
        return receipts.unchanged(log.header(draft.head.seq), draft)
    if _may_hold_credentials(draft) or not text_guard.ALWAYS_SCANNED_COMMANDS.isdisjoint(kinds):
        (guard or text_guard.TextGuard(ctx, task.read)).refuse_credentials(commands)
    if guard is not None:
        guard.note()
    reservation.take(draft, commands)
    return draft, key


def _may_hold_credentials(draft: Draft) -> bool:
    """True if a text of the draft may hold a credential: a quick test that is nearly always false."""
    for chunk_bytes in _chunks(draft):
        if len(chunk_bytes) <= credentials.SHORT_BYTES:
            is_marked = credentials.ANY_MARK.search(chunk_bytes) is not None
        else:
            some = (marks for sign, marks in credentials.MARKS.items() if sign in chunk_bytes)
            is_marked = any(mark.search(chunk_bytes) is not None for marks in some for mark in marks)
        if is_marked:
            return True
        if credentials.HIDING.search(chunk_bytes) is not None and credentials.may_be_disguised(chunk_bytes):
            return True
    return False


def _chunks(draft: Draft) -> Iterator[bytes]:
    """The texts that a draft would write, in chunks of about :data:`CHUNK_BYTES`."""
    chunk, size = [draft.author.encode()], 0
    for stored in (*draft.blobs.stored, *draft.blobs.fills.values()):
        # Vectors are no texts. Random nonces hold every mark sooner or later, as vectors do, and would have all texts
        # searched for nothing.
        if stored is not None and not stored.startswith(_VECTOR_TAG, 1):
            chunk.append(stored[_nonce_end(stored) :])
            size += len(stored)
            if size >= CHUNK_BYTES:
                yield b"\0".join(chunk)
                chunk, size = [], 0
    yield b"\0".join(chunk)


_NONCE_HEAD: Final = b"\xc4\x10"
"""The msgpack head of a 16-byte string."""
_VECTOR_TAG: Final = codec.encode(str(Vector.__struct_config__.tag))
"""What is behind the first byte of the stored vectors of a text."""


def _nonce_end(stored: bytes) -> int:
    """The offset behind the nonce of a stored blob, which follows its tag; 0 if the blob has none."""
    begins = 2 + (stored[1] & 0x1F) if len(stored) > 1 else 0
    return begins + 18 if stored[begins : begins + 2] == _NONCE_HEAD else 0


def refuse_copy(writer: Writer, log: LmdbLog) -> None:
    """Refuse to write to a copy.

    A backup with commits of its own could not be brought up to date again.
    """
    kind = log.copy_kind()
    if kind:
        what, remedy = _COPIES.get(kind, (f"a copy of kind {kind!r}", "Upgrade WorldDB"))
        raise errors.ReadOnlyBackup(f"{writer.env.folder} is {what} and was not written to", remedy)


def _open_draft(writer: Writer, log: LmdbLog, tables: rows.Tables) -> Draft:
    """Open a draft on the present head, with the commit's time.

    Raises:
        ClockJump: the clock is too far ahead of the last commit.
        InvalidTime: no later time can be stored.
    """
    head = log.head()
    wall = now_of(writer.clock)
    last = log.header(head.seq).ingest_time if head.seq else RELEASED_AT
    if wall - last > writer.max_clock_jump:
        raise errors.ClockJump(
            f"The clock shows {times.format_time(wall)}, but the last commit was at {times.format_time(last)}",
            "Correct the clock; if it is right, open the store with a larger max_clock_jump_days",
        )
    ingest_time = max(wall, last + 1) if head.seq else wall
    if ingest_time > times.MAX_TIME:
        raise errors.InvalidTime("The last commit has the last time of the year 9999", "No commit can follow it")
    nonces = FreshNonces(writer.entropy)
    return Draft(log, tables, head, nonces, ingest_time=ingest_time, wall_time=wall, author=writer.author)


def create_store(writer: Writer) -> None:
    """Write the first commit, unless another process was quicker."""

    def first_commit(txn: lmdb.Transaction) -> None:
        log, tables = LmdbLog(txn), rows.Tables(txn)
        if log.check_format():
            return
        draft = _open_draft(writer, log, tables)
        body = draft.add_body("Root", "root", "")
        secret = draft.add_secret(writer.entropy.bytes(32))
        draft.emit(StoreCreated(draft.nonce(), draft.nonce(), body, secret))
        commit(writer.memory, log, tables, draft, b"")

    writer.env.write(first_commit)
