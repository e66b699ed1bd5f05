"""Routes of accounts, keys, plans, limits and usage."""

from typing import Any, Final

from worlddb import InputError, UnknownReference
from worlddb.client import wire_records as wire
from worlddb.tools.mcp.access_keys import Gate
from worlddb.tools.server import request_types as types
from worlddb.tools.server import wire_values
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.route import Reply, Request, Route


def list_accounts(store: ClientStore, request: Request) -> Reply:
    """The open accounts."""
    return Reply({"accounts": store.to_wire(store.db.accounts.accounts())})


def create_account(store: ClientStore, request: Request) -> Reply:
    """Make an account."""
    body: types.NewAccount = request.body
    return Reply(store.to_wire(store.db.accounts.create_account(body.name, plan=body.plan)), 201)


def change_account(store: ClientStore, request: Request) -> Reply:
    """Give an account another name or plan, from the next request on."""
    body: types.ChangedAccount = request.body
    if body.name is None and body.plan is None:
        raise InputError("Neither name nor plan was given", "Give name, plan or both")
    return Reply(
        store.to_wire(store.db.accounts.change_account(request.path["account"], name=body.name, plan=body.plan))
    )


def end_account(store: ClientStore, request: Request) -> Reply:
    """Close an account for good, with all of its keys."""
    return Reply(store.to_wire(store.db.accounts.end_account(request.path["account"])))


def _key(found: Any) -> dict[str, Any]:
    document: dict[str, Any] = wire_values.to_wire(found, commits=True)
    return document | {"expires_at": wire_values.time(found.expires_at)}


def list_keys(store: ClientStore, request: Request) -> Reply:
    """The keys of accounts that have not ended, without their secrets."""
    found = store.db.accounts.keys()
    return Reply({"keys": [_key(each) for each in found]})


def create_key(store: ClientStore, request: Request) -> Reply:
    """Make a key; only this answer has its secret."""
    body: types.NewKeyAsked = request.body
    world = None if body.world is None else store.ref(store.session.view_to_write(), body.world)
    how: Any = {"account": body.account, "right": body.right, "user": body.user, "expires_at": body.expires_at}
    made = store.db.accounts.create_key(body.name, world=world, **how)
    return Reply(_key(made.key) | {"secret": made.secret}, 201)


def end_key(store: ClientStore, request: Request) -> Reply:
    """End a key: it opens nothing from the next request on, and nothing brings it back."""
    return Reply(_key(store.db.accounts.end_key(request.path["key"])))


def list_plans(store: ClientStore, request: Request) -> Reply:
    """The plans, by name."""
    return Reply({"plans": store.to_wire(store.db.accounts.plans())})


def define_plan(store: ClientStore, request: Request) -> Reply:
    """Say what accounts of a plan may do, in place of what was said before."""
    body: types.PlanAsked = request.body
    said = {name: getattr(body, name) for name in types.PLAN_LIMITS}
    return Reply(store.to_wire(store.db.accounts.define_plan(request.path["plan"], features=body.features, **said)))


def limits(store: ClientStore, request: Request) -> Reply:
    """What the key that asks may do."""
    grant, account = store.grant, store.grant.account
    plan_limits = None if account is None else store.to_wire(account.limits)
    plan = "" if account is None else account.plan
    return Reply({"name": grant.name, "world": grant.world, "right": grant.right, "plan": plan, "limits": plan_limits})


def usage_route(gate: Gate) -> Route:
    """Return the route of usage, which names the keys of a gate."""

    def usage(store: ClientStore, request: Request) -> Reply:
        """What keys asked for: an admin of the store sees all of them, every other key itself alone."""
        query: types.UsageAsked = request.query
        grant = store.grant
        sees_all = grant.right == "admin" and grant.world is None
        named = {grant.id: grant.name} | (gate.names() if sees_all else {})
        wanted = query.key if sees_all else grant.id
        if not sees_all and query.key not in (None, grant.id, grant.name):
            raise UnknownReference(f"There is no key {query.key!r:.80}", "Leave it out: each key sees its own usage")
        book = store.db.accounts
        found = book.usage(wanted, since=query.since, until=query.until, by=query.by, names=named)
        rows = [store.to_wire(each) | {"at": wire_values.time(each.at)} for each in found.usage]
        return Reply({"usage": rows, "by": query.by, "trouble": found.trouble if sees_all else ""})

    summary = "Read the usage of keys by time."
    return Route("GET", "/v1/usage", "usage", usage, summary, wire.UsageFigures, types.UsageAsked)


_ADMIN: Final[Any] = {"right": "admin", "whole": True, "keyed": False}

ROUTES = (
    Route("GET", "/v1/accounts", "list_accounts", list_accounts, "List accounts.", wire.Accounts, **_ADMIN),
    Route(
        "POST",
        "/v1/accounts",
        "create_account",
        create_account,
        "Make an account.",
        wire.Account,
        body=types.NewAccount,
        statuses=(201,),
        **_ADMIN,
    ),
    Route(
        "PATCH",
        "/v1/accounts/{account}",
        "change_account",
        change_account,
        "Give an account another name or plan.",
        wire.Account,
        body=types.ChangedAccount,
        **_ADMIN,
    ),
    Route("DELETE", "/v1/accounts/{account}", "end_account", end_account, "Close an account.", wire.Account, **_ADMIN),
    Route("GET", "/v1/keys", "list_keys", list_keys, "List keys.", wire.Keys, **_ADMIN),
    Route(
        "POST",
        "/v1/keys",
        "create_key",
        create_key,
        "Make a key.",
        wire.NewKey,
        body=types.NewKeyAsked,
        statuses=(201,),
        **_ADMIN,
    ),
    Route("DELETE", "/v1/keys/{key}", "end_key", end_key, "End a key.", wire.Key, **_ADMIN),
    Route("GET", "/v1/plans", "list_plans", list_plans, "List plans.", wire.Plans, **_ADMIN),
    Route(
        "PUT",
        "/v1/plans/{plan}",
        "define_plan",
        define_plan,
        "Set the limits and features of a plan.",
        wire.Plan,
        body=types.PlanAsked,
        **_ADMIN,
    ),
    Route("GET", "/v1/limits", "limits", limits, "Read what this key may do.", wire.Allowed),
)
