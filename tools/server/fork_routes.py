"""Routes of forks: a world goes on a second time, and what came of it is brought back."""

from typing import Any

from worlddb import Fork, InputError, Merge
from worlddb.client import wire_records as wire
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_desk import Desk
from worlddb.tools.server.route import Asked, Reply, Route
from worlddb.tools.server.world_routes import WORLD, precondition, written


def fork(desk: Desk, asked: Asked) -> Reply:
    """Let a world go on a second time, beside itself or in another world."""
    body: types.Forking = asked.body
    view = desk.session.view()
    if body.at is not None and body.seq is not None:
        raise InputError("Both at and seq were given", "Give one of them")
    then = desk.session.view(known=body.at if body.seq is None else body.seq)
    ref = desk.place(then, asked.path["world"])
    into = None if body.into is None else desk.ref(view, body.into)
    into = desk.session.fork_container(view, ref) if into is None else into
    # The number of the commit is that of the view: a time could be read again as another one.
    seq = None if (body.at, body.seq) == (None, None) else then.seq
    precondition(desk, asked, view, ref)

    def write(target: Any, **key: Any) -> Any:
        return target.fork(ref, body.name, seq=seq, into=into, why=body.why, **key)

    receipt = desk.written(write, key=asked.idempotency_key)
    return written(desk, receipt, 201, location=True)


def list_forks(desk: Desk, asked: Asked) -> Reply:
    """The forks of a world that are seen, oldest first, and what it goes on from, if it is in a fork itself."""
    view = desk.view(asked.query)
    ref = desk.ref(view, asked.path["world"])
    origin = view.forked_from(ref)
    told = {"forks": [_shown(desk, each) for each in view.forks(ref)], "moment": desk.moment(view)}
    return Reply(told | {"forked_from": None if origin is None else _shown(desk, origin)}, tag=view.hash(ref))


def _shown(desk: Desk, found: Fork) -> dict[str, Any]:
    told: dict[str, Any] = desk.shown(found)
    numbers = {name: told[name] or None if desk.commits else None for name in ("as_of", "merged", "through")}
    return told | {"is_merged": bool(found.merged)} | numbers


def merge(desk: Desk, asked: Asked) -> Reply:
    """Bring what a fork has come to into the world that it was forked from; or say what that would be."""
    body: types.Merging = asked.body
    key = desk.key(asked.idempotency_key)
    view = desk.seen_by(key)
    ref = desk.place(view, asked.path["world"])
    precondition(desk, asked, view, ref)
    desk.session.check_merge(ref)
    how: Any = {"decide": body.decide, "on_conflict": body.on_conflict, "why": body.why}
    found: Merge = desk.db.merge(ref, plan=body.plan, idempotency_key=key, **how)
    if found.receipt is not None:
        found.receipt.raise_if_refused()
    told: dict[str, Any] = {name: getattr(found, name) for name in ("fork", "into", "erased")}
    told |= {name: desk.shown(getattr(found, name)) for name in ("changes", "conflicts", "undecided")}
    return Reply(told | {"receipt": None if found.receipt is None else desk.receipt(found.receipt)})


ROUTES = (
    Route("GET", f"{WORLD}/forks", "list_forks", list_forks, "List the forks of a world.", wire.Forks, types.AsOf),
    Route(
        "POST",
        f"{WORLD}/fork",
        "fork",
        fork,
        "Let a world go on a second time.",
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
        "Bring what a fork has come to into the world that it was forked from.",
        wire.Merged,
        body=types.Merging,
        right="write",
        feature="forks",
        needs_body=False,
    ),
)
