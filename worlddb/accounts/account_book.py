"""Accounts of an open store: accounts, plans and access keys, and authentication of requests."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from worlddb.accounts import usage_meter
from worlddb.accounts.admission import Admission
from worlddb.accounts.grant import Grant
from worlddb.log.accounts import secrets_file, usage_file
from worlddb.log.model import clock, errors, ids, limits, times
from worlddb.log.model.events import KeyRight
from worlddb.projections.tables.accounts import account_rows
from worlddb.query.accounts import account_records
from worlddb.query.snapshot.snapshot import Snapshot
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome

PREFIX: Final = "worlddb_"
"""Prefix of every key, by which secret scanners recognise one."""
SECRET_BYTES: Final = 32
DEFAULT_ACCOUNT: Final = "default"
"""The account of keys for which none is named; it is made with the first of them."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")

Execute = Callable[[Sequence[cmd.Command], str | None], outcome.Receipt]


class Store(NamedTuple):
    """The parts of the open store that accounts need; ``generation`` counts replacements of its file."""

    folder: Path
    id: bytes
    snapshot: Callable[[], AbstractContextManager[Snapshot]]
    generation: Callable[[], int]
    clock: clock.Clock
    entropy: clock.Entropy


class NewKey(NamedTuple):
    """A new key and its secret, which is shown only once and stored nowhere."""

    key: account_records.AccessKey
    secret: str


class _State(NamedTuple):
    """The state for judging requests: grants by the keyed hash of a secret, and when it was read."""

    seen: secrets_file.FileStamp
    generation: int
    salt: bytes
    grants: Mapping[bytes, Grant]
    trouble: str


class Keyring:
    """A cache of a store's accounts in memory; shared by all authors of a handle."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.file = secrets_file.SecretsFile(secrets_file.secrets_path(store.folder), store.id)
        self.admission = Admission()
        self.meter = usage_meter.UsageMeter(
            usage_file.UsageFile(usage_file.usage_path(store.folder), store.id), store.clock
        )
        self._lock = threading.Lock()
        self._state: _State | None = None

    def authenticate(self, secret: str) -> Grant | None:
        """The grant of a secret; ``None`` if it opens nothing."""
        state = self._current_state()
        digest = secrets_file.keyed_hash(state.salt, secret)
        # Nobody can steer a keyed hash, so how long this look takes says nothing of the secrets that there are.
        return self._if_unexpired(state.grants.get(digest))

    def grant_of_key(self, key: str) -> Grant | None:
        """The grant of a key by its id; ``None`` if it opens nothing."""
        return self._if_unexpired(
            next((each for each in self._current_state().grants.values() if each.key == key), None)
        )

    def _if_unexpired(self, grant: Grant | None) -> Grant | None:
        if grant is None or grant.expires_at == times.FOREVER:
            return grant
        return None if grant.expires_at <= self.now() else grant

    def now(self) -> int:
        """The clock's time, or that of the last commit if the clock is behind: what has expired stays so."""
        with self.store.snapshot() as snapshot:
            last = snapshot.log.header(snapshot.log.head().seq)
            return max(self.store.clock.now(), last.ingest_time)

    def trouble(self) -> str:
        """Why no key is admitted, if the file is damaged or missing, or the store was rolled back; else empty."""
        return self._current_state().trouble

    def forget(self) -> None:
        """Drop all cached names; the next request reads them again."""
        self._state = None

    def _current_state(self) -> _State:
        state = self._state
        if state is not None and state.seen == self.file.seen() and state.generation == self.store.generation():
            return state
        with self._lock:
            self._state = state = self._read()
        return state

    def _read(self) -> _State:
        seen, generation = self.file.seen(), self.store.generation()
        try:
            read = self.file.read()
        except (errors.WorldDBError, OSError) as error:
            return _State(seen, generation, b"", {}, str(error))
        with self.store.snapshot() as snapshot:
            if read.secrets is None:
                waiting = any(not each.ended for each in account_rows.access_keys(snapshot.tables))
                trouble = f"{self.file.path} is missing: {secrets_file.MISSING}" if waiting else ""
                return _State(seen, generation, b"", {}, trouble)
            if not read.secrets.has_last_change(snapshot.log):
                trouble = (
                    f"The store does not have commit {read.secrets.seq}, which {self.file.path} knows: it was rolled"
                    " back, or restored, and no earlier key opens it. Make new keys"
                )
                return _State(read.seen, generation, b"", {}, trouble)
            known = account_records.read_accounts(snapshot.log, snapshot.tables, frozenset(read.secrets.keys))
        return _State(read.seen, generation, bytes.fromhex(read.secrets.salt), _grants(known), "")


def _grants(known: account_records.AccountState) -> dict[bytes, Grant]:
    accounts = {each.id: each for each in known.accounts if each.is_open}
    allowed = {each.plan: known.limits(each.plan) for each in known.accounts}
    found: dict[bytes, Grant] = {}
    for key in known.keys:
        owner = accounts.get(key.account)
        if key.usable and owner is not None:
            found[known.digests[key.id]] = Grant(
                key=key.id,
                name=key.name or f"key-{key.id[:12]}",
                account=owner.id,
                account_name=owner.name,
                world=key.world,
                right=key.right,
                user=key.user,
                plan=owner.plan,
                limits=allowed[owner.plan],
                expires_at=key.expires_at,
            )
    return found


@limits.typed_calls
class Accounts:
    """Accounts, their plans and their access keys; ``db.accounts`` of an open store.

    Every change is a command and lands in the log, without a secret and without a name in it. Only the head counts: no
    view of the past, replay, restore, bundle or copy brings a key back.
    """

    def __init__(self, keyring: Keyring, execute: Execute) -> None:
        self._keyring, self._execute = keyring, execute
        self._store, self._file = keyring.store, keyring.file

    # -- who may come in

    def authenticate(self, secret: object) -> Grant | None:
        """The grant of a secret, with the changes of all processes; ``None`` if it opens nothing."""
        return self._keyring.authenticate(secret) if isinstance(secret, str) else None

    def grant(self, key: str) -> Grant | None:
        """The grant of a key by its id; ``None`` if it ended or expired, or its account is closed."""
        return self._keyring.grant_of_key(key)

    def admit(self, grant: Grant, *, request: bool = True, write: bool = False) -> None:
        """Count a request, a write, or both against the rates of its plan.

        Raises:
            PlanLimit: there were as many in this minute as the plan allows; ``details["retry_after"]`` has seconds.
        """
        self._keyring.admission.admit(grant, request=request, write=write)

    @property
    def meter(self) -> usage_meter.UsageMeter:
        """The counter of the requests of keys, for the program that serves the store."""
        return self._keyring.meter

    def usage(
        self,
        key: str | None = None,
        *,
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        by: usage_meter.Span = "day",
        names: Mapping[str, str] | None = None,
    ) -> usage_meter.UsageReport:
        """Requests by key and span of time (``minute``, ``hour``, ``day`` in UTC, ``total``).

        ``key`` is the id of one, or its name; ``since`` and ``until`` are times, down to the minute. ``names`` are
        those of keys that belong to no account, by id.

        Raises:
            UnknownReference: there is no such key.
            LimitExceeded: it is more than :data:`~worlddb.accounts.usage_meter.MAX_ROWS` rows.
        """
        if by not in (*usage_meter.SPANS, "total"):
            raise errors.InputError(f"by is {errors.shown(by)}", "Give minute, hour, day or total")
        known = {each.id: each.name for each in self.keys(ended=True)} | dict(names or {})
        if key is not None and key not in known:
            # Of keys of one name the last one, which alone can be in force.
            key = next((each for each in reversed(known) if known[each] == key), None) or self.key(key).id
        begins = 0 if since is None else times.parse_time(since, "since") // usage_meter.MINUTE
        ends = usage_meter.NEVER if until is None else times.parse_time(until, "until") // usage_meter.MINUTE
        rows, trouble = self.meter.minutes(begins, ends, key)
        return usage_meter.UsageReport(usage=usage_meter.sum_usage(rows, by, known), trouble=trouble)

    @property
    def trouble(self) -> str:
        """Why no key is admitted: the file of secrets is damaged or gone, or the store was rolled back. Else empty."""
        return self._keyring.trouble()

    # -- accounts

    def create_account(self, name: str, *, plan: str = "", why: str = "") -> account_records.Account:
        """Make an account; without a plan it has no limits.

        Raises:
            RefusedError: the name is taken (``account_exists``), or there is no such plan (``unknown_plan``).
        """
        made = self._store.entropy.bytes(ids.NONCE_BYTES)
        limits.checked_text(name, "the name of the account", limits.MAX_AUTHOR_BYTES, empty=False)
        self._commit_change([cmd.SetAccount(account=made, name=name, plan=plan, why=why)])
        return self.account(made.hex())

    def change_account(
        self, account: str, *, name: str | None = None, plan: str | None = None, why: str = ""
    ) -> account_records.Account:
        """Give an account, by id or name, another name or plan, at once in all processes."""
        known = self.account(account)
        self._commit_change([cmd.SetAccount(account=bytes.fromhex(known.id), name=name or "", plan=plan, why=why)])
        return self.account(known.id)

    def set_plan(self, account: str, plan: str, *, why: str = "") -> account_records.Account:
        """Put an account under another plan; an empty name means no limits."""
        return self.change_account(account, plan=plan, why=why)

    def end_account(self, account: str, *, why: str = "") -> account_records.Account:
        """Close an account for good, with all of its keys."""
        known = self.account(account)
        ended = {each.id for each in self.keys(account=known.id)}
        self._commit_change([cmd.SetAccount(account=bytes.fromhex(known.id), is_open=False, why=why)], ended=ended)
        return self.account(known.id)

    def account(self, account: str) -> account_records.Account:
        """The account of an id, or the open one of a name.

        Raises:
            UnknownReference: there is none.
        """
        found = self._read_known().account(account)
        if found is None:
            raise errors.UnknownReference(f"There is no account {errors.shown(account)}", "See db.accounts.accounts()")
        return found

    def accounts(self, *, closed: bool = False) -> list[account_records.Account]:
        """Every open account, oldest first; with ``closed`` closed ones too."""
        return [each for each in self._read_known().accounts if each.is_open or closed]

    # -- plans

    def define_plan(
        self, name: str, *, features: Sequence[str] | None = None, why: str = "", **limits: int | None
    ) -> account_records.AccountPlan:
        """Define or replace a plan, at once in all processes.

        ``limits`` are those of :class:`Limits`, by their names; what is not given, or ``None``, has no limit.
        ``features`` are the ones that it has, by default all.
        """
        numbers = {limit: number for limit, number in limits.items() if number is not None}
        listed = None if features is None else tuple(features)
        self._commit_change([cmd.SetPlan(plan=name, limits=numbers, features=listed, why=why)])
        return next(each for each in self.plans() if each.name == name)

    def plans(self) -> list[account_records.AccountPlan]:
        """Every plan, by name."""
        return list(self._read_known().plans)

    # -- keys

    def create_key(
        self,
        name: str,
        *,
        account: str | None = None,
        world: Any = None,
        right: KeyRight = "read",
        user: str = "",
        expires_at: times.TimeLike | None = None,
        why: str = "",
    ) -> NewKey:
        """Make a key of an account for a world and its interior (default: the whole store).

        Without an account it is one of the account ``default``, which is made if need be.

        Returns:
            The key, and its secret, which is stored nowhere.

        Raises:
            InputError: the name is none, or the key would have expired.
            RefusedError: the name is taken by a key in force (``key_exists``), or the account is not there.
        """
        if not _NAME.fullmatch(limits.checked_text(name, "the name of the key", limits.MAX_AUTHOR_BYTES)):
            raise errors.InputError(
                f"{errors.shown(name)} cannot be the name of a key",
                "Use 1 to 64 letters, digits, dots, underscores, hyphens and @, beginning with a letter or digit",
            )
        expires = None if expires_at is None else times.parse_time(expires_at, "expires_at")
        if expires is not None and expires <= self._keyring.now():
            raise errors.InputError(
                f"expires_at {times.format_time(expires)} has passed, so the key would open nothing",
                "Give a later time, or none",
            )
        secret = PREFIX + base64.urlsafe_b64encode(self._store.entropy.bytes(SECRET_BYTES)).rstrip(b"=").decode()
        with self._file.changing():
            secrets = self._secrets()
            owner, commands = self._owner(account)
            key = cmd.MakeKey(
                account=owner,
                key_id=self._store.entropy.bytes(ids.NONCE_BYTES),
                digest=secrets.digest(secret),
                right=right,
                name=name,
                content=user,
                world=None if world is None else ids.as_ref(world),
                expires_at=expires,
                why=why,
            )
            self._commit(secrets, [*commands, key], frozenset({key.key_id.hex()}))
        return NewKey(self.key(key.key_id.hex()), secret)

    def end_key(self, key: str, *, why: str = "") -> account_records.AccessKey:
        """End a key for good, by id or name; servers refuse it from their next request on.

        Raises:
            UnknownReference: there is none.
        """
        known = self.key(key)
        self._commit_change([cmd.EndKey(key_id=bytes.fromhex(known.id), why=why)], ended={known.id})
        return self.key(known.id)

    def key(self, key: str) -> account_records.AccessKey:
        """The key of an id, or the unended key of a name.

        Raises:
            UnknownReference: there is none.
        """
        found = self._read_known().key(key)
        if found is None:
            raise errors.UnknownReference(f"There is no key {errors.shown(key)}", "See db.accounts.keys()")
        return found

    def keys(self, *, account: str | None = None, ended: bool = False) -> list[account_records.AccessKey]:
        """The keys in force, of one account or all, oldest first; with ``ended`` all keys."""
        owner = None if account is None else self.account(account).id
        found = self._read_known().keys
        return [each for each in found if owner in (None, each.account) and (ended or not each.ended)]

    # -- how it is done

    def _owner(self, account: str | None) -> tuple[bytes, list[cmd.Command]]:
        """The id of the account of a key, and a command that makes the account if it is missing."""
        if account is not None:
            return bytes.fromhex(self.account(account).id), []
        known = self._read_known().account(DEFAULT_ACCOUNT)
        if known is not None:
            return bytes.fromhex(known.id), []
        made = self._store.entropy.bytes(ids.NONCE_BYTES)
        return made, [cmd.SetAccount(account=made, name=DEFAULT_ACCOUNT)]

    def _read_known(self) -> account_records.AccountState:
        """All there is at the head, read from the store."""
        try:
            secrets = self._file.read().secrets
        except (errors.WorldDBError, OSError):
            secrets = None
        with self._store.snapshot() as snapshot:
            in_force = secrets.keys if secrets is not None and secrets.has_last_change(snapshot.log) else ()
            return account_records.read_accounts(snapshot.log, snapshot.tables, frozenset(in_force))

    def _secrets(self) -> secrets_file.Secrets:
        """The contents of the file; empty if it is missing or the store was rolled back behind it."""
        secrets = self._file.read().secrets
        with self._store.snapshot() as snapshot:
            if secrets is not None and secrets.has_last_change(snapshot.log):
                return secrets
        return self._file.new_secrets(self._store.entropy.bytes(secrets_file.SALT_BYTES))

    def _commit_change(self, commands: Sequence[cmd.Command], *, ended: Collection[str] = ()) -> None:
        with self._file.changing():
            secrets = self._secrets()
            if not {*ended}.isdisjoint(secrets.keys):
                secrets = replace(secrets, keys=tuple(each for each in secrets.keys if each not in ended))
                # First: whatever becomes of the commit, the keys have ended.
                self._file.write(secrets)
            self._commit(secrets, commands, frozenset())

    def _note_keys_ended(self, seq: int) -> None:
        """Take the keys that a commit has ended out of the file, so that no restored log brings them back."""
        with self._file.changing():
            secrets = self._secrets()
            ended = {each.id for each in self._read_known().keys if each.ended}
            with self._store.snapshot() as snapshot:
                chain = snapshot.log.chain(seq).hex()
            kept = tuple(each for each in secrets.keys if each not in ended)
            self._file.write(replace(secrets, seq=seq, chain=chain, keys=kept))

    def _commit(self, secrets: secrets_file.Secrets, commands: Sequence[cmd.Command], made: frozenset[str]) -> None:
        """Commit, then write the file, by which every process notices the change."""
        receipt = self._execute(commands, None)
        receipt.raise_if_refused()
        if not receipt.events:
            return
        with self._store.snapshot() as snapshot:
            chain = snapshot.log.chain(receipt.seq).hex()
        self._file.write(replace(secrets, seq=receipt.seq, chain=chain, keys=(*secrets.keys, *sorted(made))))
