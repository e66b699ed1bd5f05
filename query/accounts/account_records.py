"""Accounts, their plans and their access keys, at the head of a store.

They have no past: the last commit alone decides who may come in.
"""

from collections.abc import Iterator

import msgspec

from worlddb.log.accounts import plan_limits
from worlddb.log.model import blobs, codec
from worlddb.log.model.events import KeyRight
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.accounts import account_rows
from worlddb.projections.tables.storage.rows import Tables


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An account: whose keys these are, and under which plan.

    ``id`` is random, in hexadecimal digits. ``name`` is empty once erased, ``plan`` where it is the one without limits.
    ``seq`` is the commit that changed it last.
    """

    id: str
    name: str
    plan: str
    is_open: bool
    seq: int


class AccountPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of accounts, and what it allows, as commit ``seq`` set it."""

    name: str
    limits: plan_limits.Limits
    seq: int


class AccessKey(msgspec.Struct, frozen=True, kw_only=True):
    """An access key, without its secret, which nobody has but its owner.

    ``account`` is the id of its account, ``world`` the full reference of the world that it opens with what that
    contains, ``None`` for the whole store; ``user`` is whose memory is meant where a call names none. It opens nothing
    from ``expires_at`` on (microseconds), nor once commit ``ended`` ended it (0: none did). ``seq`` made it. ``usable``
    says that this copy of the store takes it: a restored one does not.
    """

    id: str
    name: str
    account: str
    world: str | None
    right: KeyRight
    user: str
    expires_at: int
    seq: int
    ended: int
    usable: bool


class AccountState(msgspec.Struct, frozen=True, kw_only=True):
    """All of it at one head; ``digests`` has the keyed hash of each key by its id."""

    accounts: tuple[Account, ...]
    plans: tuple[AccountPlan, ...]
    keys: tuple[AccessKey, ...]
    digests: dict[str, bytes]

    def account(self, named: str) -> Account | None:
        """The account of an id, or the open one of a name."""
        by_name = (each for each in self.accounts if each.is_open and each.name == named)
        return next((each for each in self.accounts if each.id == named), None) or next(by_name, None)

    def key(self, named: str) -> AccessKey | None:
        """The key of an id, or the one of a name that has not ended."""
        by_name = (each for each in self.keys if not each.ended and each.name == named)
        return next((each for each in self.keys if each.id == named), None) or next(by_name, None)

    def limits(self, plan: str) -> plan_limits.Limits:
        """What a plan allows; everything where there is no such plan."""
        return next((each.limits for each in self.plans if each.name == plan), plan_limits.UNLIMITED)


def read_accounts(log: LmdbLog, tables: Tables, in_force: frozenset[str]) -> AccountState:
    """Read all accounts, plans and keys; ``in_force`` are the ids of the keys that this copy of the store takes."""
    plans = [
        AccountPlan(name=row.plan, limits=plan_limits.limits_of(row.limits, row.features), seq=row.seq)
        for row in account_rows.plans(tables)
    ]
    rows = sorted(account_rows.access_keys(tables), key=lambda row: (row.made, row.key))
    return AccountState(
        accounts=tuple(_accounts(log, tables)),
        plans=tuple(plans),
        keys=tuple(_key(log, row, in_force) for row in rows),
        digests={row.key.hex(): bytes(row.digest) for row in rows},
    )


def _accounts(log: LmdbLog, tables: Tables) -> Iterator[Account]:
    for row in sorted(account_rows.accounts(tables), key=lambda row: (row.named, row.account)):
        body = _body(log, row.named, row.position)
        name = "" if body is None else body.name
        yield Account(id=row.account.hex(), name=name, plan=row.plan, is_open=bool(row.is_open), seq=row.seq)


def _key(log: LmdbLog, row: account_rows.KeyRow, in_force: frozenset[str]) -> AccessKey:
    body, key_id = _body(log, row.made, row.position), row.key.hex()
    return AccessKey(
        id=key_id,
        name="" if body is None else body.name,
        account=row.account.hex(),
        world=None if row.world == account_rows.STORE else row.world.hex(),
        right=account_rows.RIGHTS[row.right],
        user="" if body is None else body.content,
        expires_at=row.expires_at,
        seq=row.made,
        ended=row.ended,
        usable=not row.ended and key_id in in_force,
    )


def _body(log: LmdbLog, seq: int, position: int) -> blobs.Body | None:
    stored = log.blob(seq, position)
    found = None if stored is None else codec.decode_blob(stored, seq)
    return found if isinstance(found, blobs.Body) else None
