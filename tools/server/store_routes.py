"""Routes of decisions, and of the store as a whole: proposals, conflicts, head, proofs, log, keys."""

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

import worlddb
from worlddb import Receipt, View
from worlddb.client import wire_records as wire
from worlddb.tools.server import request_types as types
from worlddb.tools.server import wire_values
from worlddb.tools.server.client_desk import Desk
from worlddb.tools.server.route import Asked, Reply, Route

_PROPOSAL: Final = "/v1/proposals/{proposal}"
_PROPOSAL_BYTES: Final = 32
_WORLD_BYTES: Final = 16


def health(desk: Desk, asked: Asked) -> Reply:
    """That the server answers."""
    return Reply({"status": "ok", "version": worlddb.__version__})


def list_proposals(desk: Desk, asked: Asked) -> Reply:
    """Staged identities, in the order in which they were staged."""
    query: types.ListProposals = asked.query
    resumed = desk.resumed("the list of proposals", query, _PROPOSAL_BYTES)
    status = None if query.status == "all" else query.status
    found = resumed.view.proposals(status=status, limit=query.limit + 1, after=resumed.behind.hex() or None)
    page, cursor = resumed.page_after(found, query.limit, lambda each: bytes.fromhex(each.ref))
    told = [wire_values.proposal(each, commits=desk.commits) for each in page]
    return Reply({"proposals": told, "next_cursor": cursor})


def get_proposal(desk: Desk, asked: Asked) -> Reply:
    """A staged identity, whatever was decided about it."""
    found = desk.view(asked.query).proposal(asked.path["proposal"])
    return Reply(wire_values.proposal(found, commits=desk.commits))


def _decided(name: str) -> Callable[[Desk, Asked], Reply]:
    def decide(desk: Desk, asked: Asked) -> Reply:
        ref = desk.session.view().proposal(asked.path["proposal"]).ref

        def write(target: Any, **key: Any) -> Any:
            return getattr(target, name)(ref, why=asked.body.why, **key)

        receipt: Receipt = desk.written(write, key=asked.idempotency_key)
        return Reply(desk.receipt(receipt))

    return decide


def list_conflicts(desk: Desk, asked: Asked) -> Reply:
    """The pairs of worlds that contradict each other while both hold."""
    query: types.ListConflicts = asked.query
    resumed = desk.resumed("the list of conflicts", query, 2 * _WORLD_BYTES)
    view: View = resumed.view
    within = None if query.world is None else desk.ref(view, query.world)
    behind = resumed.behind[:_WORLD_BYTES].hex(), resumed.behind[_WORLD_BYTES:].hex()
    found = view.contradictions(world=within, after=behind if resumed.behind else None)
    taken = list(islice(found, query.limit + 1))
    page, cursor = resumed.page_after(taken, query.limit, lambda pair: bytes.fromhex(pair[0].ref + pair[1].ref))
    told = [{"first": desk.shown(first), "second": desk.shown(second)} for first, second in page]
    return Reply({"conflicts": told, "next_cursor": cursor})


def head(desk: Desk, asked: Asked) -> Reply:
    """The state of the store at a commit."""
    found = desk.db.head(ingested=asked.query.ingested, seq=asked.query.seq)
    told = found._asdict() | {"ingested_at": wire_values.time(found.ingested_at)}
    return Reply(told, tag=found.root)


def prove(desk: Desk, asked: Asked) -> Reply:
    """A proof that a world or an edge was inside a world at a moment."""
    query: types.Prove = asked.query
    how: Any = {"ingested": query.ingested, "seq": query.seq, "with_text": query.with_text}
    return Reply({"proof": desk.db.prove(query.ref, world=query.world, **how)})


def log(desk: Desk, asked: Asked) -> Reply:
    """Events, in log order."""
    query: types.ReadLog = asked.query
    if not desk.commits and (query.first, query.last) != (1, None):
        raise worlddb.InputError("Commits have no numbers here", "Leave out first and last")
    resumed = desk.resumed("the log", query)
    ref = None if query.ref is None else desk.ref(resumed.view, query.ref)
    found = resumed.view.log(query.first, query.last, ref=ref, skip=resumed.offset)
    page, cursor = resumed.page_of_rest(found, query.limit)
    told = [wire_values.entry(each, commits=desk.commits) for each in page]
    return Reply({"entries": told, "next_cursor": cursor})


def _decision(name: str, told: str) -> Route:
    path = f"{_PROPOSAL}/{name}"
    how: Any = {"body": types.Why, "right": "write", "needs_body": False}
    return Route("POST", path, f"{name}_proposal", _decided(name), told, wire.Receipt, **how)


ROUTES = (
    Route("GET", "/healthz", "health", health, "Tell whether the server answers.", wire.Health, right="", quick=True),
    Route(
        "GET",
        "/v1/proposals",
        "list_proposals",
        list_proposals,
        "List staged identities.",
        wire.Proposals,
        types.ListProposals,
    ),
    Route("GET", _PROPOSAL, "get_proposal", get_proposal, "Read a staged identity.", wire.Proposal, types.AsOf),
    _decision("accept", "Accept a staged identity."),
    _decision("reject", "Reject a staged identity."),
    _decision("undo", "Undo an accepted identity."),
    Route(
        "GET",
        "/v1/conflicts",
        "list_conflicts",
        list_conflicts,
        "List contradictions of which both sides hold.",
        wire.Conflicts,
        types.ListConflicts,
    ),
    Route(
        "GET",
        "/v1/head",
        "head",
        head,
        "Read the state of the store.",
        wire.Head,
        types.AtCommit,
        whole=True,
        quick=True,
    ),
    Route(
        "GET",
        "/v1/proofs",
        "prove",
        prove,
        "Prove that a world or an edge was there.",
        wire.Proof,
        types.Prove,
        whole=True,
    ),
    Route("GET", "/v1/log", "log", log, "Read the events of the log.", wire.Entries, types.ReadLog),
)
