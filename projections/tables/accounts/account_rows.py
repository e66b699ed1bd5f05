"""The rows of accounts, plans and access keys: one each, as they are at the head.

No row says how it was before: who may come in is judged at the head alone. Keys of the table ``marks``:

    13, u64 1, 16-byte id of an account    u64 seq of the last change, u8 is open, u64 seq and i32 position of its name,
                                           its plan
    13, u64 2, digest of a plan's name     msgpack: seq, the name, limits by their names, features
    13, u64 3, 16-byte id of a key         16-byte account, 16-byte lineage (zeros: the store), 32-byte keyed hash,
                                           u8 right, i64 expiry, u64 seq that made and u64 seq that ended it (0: none),
                                           i32 position of its name
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol, get_args

import msgspec

from worlddb.log.accounts import plan_limits
from worlddb.log.model import events as ev
from worlddb.log.model import hashing, ids
from worlddb.projections.tables.storage import schema, write_buffer

_ACCOUNTS, _PLANS, _KEYS = 1, 2, 3
_ACCOUNT = struct.Struct(">Q?Qi")
_KEY = struct.Struct(">16s16s32sBqQQi")
RIGHTS: Final[tuple[ev.KeyRight, ...]] = get_args(ev.KeyRight)
STORE: Final = bytes(ids.NONCE_BYTES)
"""Stands for the lineage of a key that opens the whole store."""


class AccountRow(NamedTuple):
    """An account; ``named`` and ``position`` are where its name is."""

    account: bytes
    seq: int
    is_open: bool
    named: int
    position: int
    plan: str


class PlanRow(NamedTuple):
    """A plan as it was set by commit ``seq``."""

    seq: int
    plan: str
    limits: dict[str, int]
    features: list[str] | None


class KeyRow(NamedTuple):
    """An access key; ``made`` is the commit that has its name at ``position``, ``ended`` the one that ended it."""

    key: bytes
    account: bytes
    world: bytes
    digest: bytes
    right: int
    expires_at: int
    made: int
    ended: int
    position: int


class _Tables(Protocol):
    @property
    def marks(self) -> write_buffer.Table: ...


_PLAN: Final = msgspec.msgpack.Decoder(PlanRow)


def apply_change(tables: _Tables, seq: int, event: ev.AccountEvent) -> None:
    """Write what commit ``seq`` says."""
    if isinstance(event, ev.PlanSet):
        # The log gives the names back in another order than a command does.
        numbers = {name: event.limits[name] for name in plan_limits.NAMES if name in event.limits}
        row = PlanRow(seq, event.plan, numbers, event.features)
        tables.marks.put(_plan_key(event.plan), msgspec.msgpack.encode(row))
    elif isinstance(event, ev.AccountSet):
        before = account(tables, event.account)
        named = (seq, event.body) if event.body != ev.NONE or before is None else (before.named, before.position)
        packed = _ACCOUNT.pack(seq, event.is_open, *named) + event.plan.encode()
        tables.marks.put(_key(_ACCOUNTS, event.account), packed)
    elif isinstance(event, ev.KeyMade):
        world, right = event.world or STORE, RIGHTS.index(event.right)
        made = (event.account, world, event.digest, right, event.expires_at, seq, 0, event.body)
        tables.marks.put(_key(_KEYS, event.key), _KEY.pack(*made))
    else:
        known = access_key(tables, event.key)
        if known is None:
            raise KeyError(f"commit {seq} names the unknown access key {event.key.hex()}")
        tables.marks.put(_key(_KEYS, event.key), _KEY.pack(*known._replace(ended=seq)[1:]))


def account(tables: _Tables, account_id: bytes) -> AccountRow | None:
    """An account by its id."""
    stored = tables.marks.get(_key(_ACCOUNTS, account_id))
    return None if stored is None else _account(account_id, stored)


def accounts(tables: _Tables) -> Iterator[AccountRow]:
    """Every account, closed ones too."""
    return (_account(key[-ids.NONCE_BYTES :], row) for key, row in tables.marks.scan(_group(_ACCOUNTS)))


def plan(tables: _Tables, name: str) -> PlanRow | None:
    """A plan by its name."""
    stored = tables.marks.get(_plan_key(name))
    return None if stored is None else _PLAN.decode(stored)


def plans(tables: _Tables) -> list[PlanRow]:
    """Every plan, by its name."""
    return sorted((_PLAN.decode(row) for _, row in tables.marks.scan(_group(_PLANS))), key=lambda each: each.plan)


def access_key(tables: _Tables, key_id: bytes) -> KeyRow | None:
    """An access key by its id."""
    stored = tables.marks.get(_key(_KEYS, key_id))
    return None if stored is None else KeyRow(key_id, *_KEY.unpack(stored))


def access_keys(tables: _Tables) -> Iterator[KeyRow]:
    """Every access key, ended ones too."""
    return (KeyRow(key[-ids.NONCE_BYTES :], *_KEY.unpack(row)) for key, row in tables.marks.scan(_group(_KEYS)))


def _account(account_id: bytes, stored: bytes) -> AccountRow:
    seq, is_open, named, position = _ACCOUNT.unpack_from(stored)
    plan_name = bytes(stored[_ACCOUNT.size :]).decode()
    return AccountRow(bytes(account_id), seq, is_open, named, position, plan_name)


def _group(kind: int) -> bytes:
    return schema.ACCOUNTS + schema.U64.pack(kind)


def _key(kind: int, its: bytes) -> bytes:
    return schema.ACCOUNT_KEY.pack(schema.ACCOUNTS[0], kind, its)


def _plan_key(name: str) -> bytes:
    return _key(_PLANS, hashing.digest(hashing.NAME, b"plan", name.encode())[: ids.NONCE_BYTES])
