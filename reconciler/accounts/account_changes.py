"""Decide about accounts, their plans and their access keys.

No decision knows a secret: a command brings a keyed hash of it. What hashes lies beside the store, so that a copy of
the log opens nothing.
"""

from collections.abc import Iterator
from typing import Final

from worlddb.log.accounts import plan_limits
from worlddb.log.model import errors, ids, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.accounts import account_rows
from worlddb.projections.tables.storage import schema
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.transaction import context, draft, recorded_texts

MAX_ACCOUNTS: Final = 10_000
MAX_PLANS: Final = 100
MAX_KEYS: Final = 10_000
"""How many keys may be in force at a time."""
ACCOUNT_TYPE: Final = "Account"
KEY_TYPE: Final = "Key"
"""The types of the bodies that hold names."""


def set_plan(ctx: context.Context, command: cmd.SetPlan, details: int) -> draft.Decision:
    """Set what a plan allows; the same again is no event."""
    known = account_rows.plan(ctx.tables, command.plan)
    features = None if command.features is None else sorted({*command.features})
    if known is None and len(account_rows.plans(ctx.tables)) >= MAX_PLANS:
        ctx.refuse("too_many_plans", f"There are {MAX_PLANS} plans, which is the limit", "Change one of them")
    if known is None or (known.limits, known.features) != (command.limits, features):
        numbers = {name: command.limits[name] for name in plan_limits.NAMES if name in command.limits}
        ctx.draft.emit(ev.PlanSet(command.plan, numbers, features, details))
    return draft.Decision(_root(ctx))


def set_account(ctx: context.Context, command: cmd.SetAccount, details: int) -> draft.Decision:
    """Make, change or close an account; an account that is closed stays so, and its keys end with it."""
    known = account_rows.account(ctx.tables, command.account)
    if known is not None and not known.is_open:
        if command.is_open:
            ctx.refuse("account_closed", "The account was closed for good", "Make another one")
        return draft.Decision(_root(ctx))
    plan = command.plan if command.plan is not None else "" if known is None else known.plan
    if plan and account_rows.plan(ctx.tables, plan) is None:
        ctx.refuse(
            "unknown_plan", f"The plan {errors.shown(plan)} is unknown", "Define it with db.accounts.define_plan"
        )
    name = "" if known is None else _name_at(ctx, known.named, known.position)
    body = ev.NONE
    if command.name and command.name != name:
        _refuse_taken_name(ctx, command)
        body = ctx.draft.add_body(ACCOUNT_TYPE, command.name, "")
    elif known is None:
        ctx.refuse("account_unknown", "The account is unknown, and a new one needs a name", "Give a name")
    if known is None or body != ev.NONE or (plan, command.is_open) != (known.plan, known.is_open):
        ctx.draft.emit(ev.AccountSet(command.account, plan, command.is_open, body, details))
    for key in () if command.is_open else list(_live_keys(ctx)):
        if key.account == command.account:
            ctx.draft.emit(ev.KeyEnded(key.key, details))
    return draft.Decision(_root(ctx), body)


def _refuse_taken_name(ctx: context.Context, command: cmd.SetAccount) -> None:
    others = [each for each in account_rows.accounts(ctx.tables) if each.account != command.account]
    if any(each.is_open and _name_at(ctx, each.named, each.position) == command.name for each in others):
        ctx.refuse("account_exists", f"An account {errors.shown(command.name)} already exists", "Choose another name")
    if len(others) >= MAX_ACCOUNTS:
        ctx.refuse("too_many_accounts", f"There are {MAX_ACCOUNTS:,} accounts, which is the limit")


def make_key(ctx: context.Context, command: cmd.MakeKey, details: int) -> draft.Decision:
    """Give an account another key."""
    world = schema.ROOT_NODE if command.world is None else context.node_ref(ctx, command.world)
    lineage = ctx.lineage(world)
    owner = account_rows.account(ctx.tables, command.account)
    if owner is None or not owner.is_open:
        ctx.refuse("account_unknown", "The account is unknown or was closed", "See db.accounts.accounts()")
    if account_rows.access_key(ctx.tables, command.key_id) is not None:
        ctx.refuse("key_exists", f"A key {command.key_id.hex()[:12]} already exists", "Create the key again")
    live = list(_live_keys(ctx))
    if len(live) >= MAX_KEYS:
        ctx.refuse(
            "too_many_keys", f"There are {MAX_KEYS:,} keys, which is the limit", "End keys that are no longer used"
        )
    if any(_name_at(ctx, each.made, each.position) == command.name for each in live):
        told = f"A key {errors.shown(command.name)} already exists"
        ctx.refuse("key_exists", told, "Choose another name, or end it")
    body = ctx.draft.add_body(KEY_TYPE, command.name, command.content)
    confined = b"" if command.world is None else lineage
    expires_at = times.FOREVER if command.expires_at is None else command.expires_at
    opens = (confined, command.right, command.digest, expires_at)
    ctx.draft.emit(ev.KeyMade(command.key_id, command.account, *opens, body, details))
    return draft.Decision(lineage, body)


def end_key(ctx: context.Context, command: cmd.EndKey, details: int) -> draft.Decision:
    """End a key; one that has ended is left as it is."""
    known = account_rows.access_key(ctx.tables, command.key_id)
    if known is None:
        ctx.refuse("key_unknown", f"The key {command.key_id.hex()[:12]} is unknown", "See db.accounts.keys()")
    if not known.ended:
        ctx.draft.emit(ev.KeyEnded(command.key_id, details))
    return draft.Decision(_root(ctx))


def _live_keys(ctx: context.Context) -> Iterator[account_rows.KeyRow]:
    return (each for each in account_rows.access_keys(ctx.tables) if not each.ended)


def _name_at(ctx: context.Context, seq: int, position: int) -> str:
    """A name as it was given; empty once erased. What this commit writes is compared too."""
    own = seq == ctx.draft.seq
    body = ctx.draft.blobs.body(position) if own else recorded_texts.body_at(ctx.draft.log, seq, position)
    return "" if body is None else body.name


def _root(ctx: context.Context) -> ids.Lineage:
    return ids.Lineage(ctx.lineage(schema.ROOT_NODE))
