"""Routes of forks: branch a world, list its branches, and merge one back."""

from typing import Any

from worlddb import Fork, InputError, Merge
from worlddb.client import wire_records as wire
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.route import Reply, Request, Route
from worlddb.tools.server.world_routes import WORLD, precondition, receipt_reply


def fork(store: ClientStore, request: Request) -> Reply:
    """Let a world go on a second time, beside itself or in another world."""
    body: types.Forking = request.body
    view = store.session.view_to_write()
    if body.at is not None and body.seq is not None:
        raise InputError("Both at and seq were given", "Give one of them")
    then = store.session.view_to_write(known=body.at if body.seq is None else body.seq)
    ref = store.target_ref(then, request.path["world"])
    into = None if body.into is None else store.ref(view, body.into)
    into = store.session.fork_container(view, ref) if into is None else into
    # The number of the commit is that of the view: a time could be read again as another one.
    seq = None if (body.at, body.seq) == (None, None) else then.seq
    precondition(store, request, view, ref)

    def write(target: Any, **key: Any) -> Any:
        return target.fork(ref, body.name, seq=seq, into=into, why=body.why, **key)

    receipt = store.commit_write(write, key=request.idempotency_key)
    return receipt_reply(store, receipt, 201, location=True)


def list_forks(store: ClientStore, request: Request) -> Reply:
    """The visible forks of a world, oldest first, and its own origin if it is in a fork itself."""
    view = store.view(request.query)
    ref = store.ref(view, request.path["world"])
    origin = view.forked_from(ref)
    document = {"forks": [_fork_record(store, each) for each in view.forks(ref)], "moment": store.moment(view)}
    return Reply(
        document | {"forked_from": None if origin is None else _fork_record(store, origin)}, tag=view.hash(ref)
    )


def _fork_record(store: ClientStore, found: Fork) -> dict[str, Any]:
    document: dict[str, Any] = store.to_wire(found)
    numbers = {name: document[name] or None if store.commits else None for name in ("as_of", "merged", "through")}
    return document | {"is_merged": bool(found.merged)} | numbers


def merge(store: ClientStore, request: Request) -> Reply:
    """Bring what a fork has come to into the world that it was forked from; or say what that would be."""
    body: types.Merging = request.body
    key = store.key(request.idempotency_key)
    view = store.view_of_write(key)
    ref = store.target_ref(view, request.path["world"])
    precondition(store, request, view, ref)
    store.session.check_merge(ref)
    how: Any = {"decide": body.decide, "on_conflict": body.on_conflict, "why": body.why}
    found: Merge = store.db.merge(ref, plan=body.plan, idempotency_key=key, **how)
    if found.receipt is not None:
        found.receipt.raise_if_refused()
    document: dict[str, Any] = {name: getattr(found, name) for name in ("fork", "into", "erased")}
    document |= {name: store.to_wire(getattr(found, name)) for name in ("changes", "conflicts", "undecided")}
    return Reply(document | {"receipt": None if found.receipt is None else store.receipt(found.receipt)})


ROUTES = (
    Route("GET", f"{WORLD}/forks", "list_forks", list_forks, "List the forks of a world.", wire.Forks, types.AsOf),
    Route(
        "POST",
        f"{WORLD}/fork",
        "fork",
        fork,
        "Fork a world.",
        wire.Receipt,
        body=types.Forking,
        right="write",
        feature="forks",
        statuses=(201,),
        needs_body=False,
    ),
    Route(
        "POST",
        f"{WORLD}/merge",
        "merge",
        merge,
        "Merge a fork into the world that it was forked from.",
        wire.Merged,
        body=types.Merging,
        right="write",
        feature="forks",
        needs_body=False,
    ),
)
