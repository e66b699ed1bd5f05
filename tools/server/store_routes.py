"""Routes of proposals, conflicts, head, proofs, log and health."""

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

import worlddb
from worlddb import Receipt, View
from worlddb.client import wire_records as wire
from worlddb.tools.server import request_types as types
from worlddb.tools.server import wire_values
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.route import Reply, Request, Route

_PROPOSAL: Final = "/v1/proposals/{proposal}"
_PROPOSAL_BYTES: Final = 32
_WORLD_BYTES: Final = 16


def health(store: ClientStore, request: Request) -> Reply:
    """That the server answers."""
    return Reply({"status": "ok", "version": worlddb.__version__})


def list_proposals(store: ClientStore, request: Request) -> Reply:
    """Staged identities, in the order in which they were staged."""
    query: types.ListProposals = request.query
    paged = store.page_view("the list of proposals", query, _PROPOSAL_BYTES)
    status = None if query.status == "all" else query.status
    found = paged.view.proposals(status=status, limit=query.limit + 1, after=paged.behind.hex() or None)
    page, cursor = paged.page_after(found, query.limit, lambda each: bytes.fromhex(each.ref))
    proposals = [wire_values.proposal(each, commits=store.commits) for each in page]
    return Reply({"proposals": proposals, "next_cursor": cursor})


def get_proposal(store: ClientStore, request: Request) -> Reply:
    """A staged identity, whatever was decided about it."""
    found = store.view(request.query).proposal(request.path["proposal"])
    return Reply(wire_values.proposal(found, commits=store.commits))


def _decide_handler(name: str) -> Callable[[ClientStore, Request], Reply]:
    def decide(store: ClientStore, request: Request) -> Reply:
        ref = store.session.view_to_write().proposal(request.path["proposal"]).ref

        def write(target: Any, **key: Any) -> Any:
            return getattr(target, name)(ref, why=request.body.why, **key)

        receipt: Receipt = store.commit_write(write, key=request.idempotency_key)
        return Reply(store.receipt(receipt))

    return decide


def list_conflicts(store: ClientStore, request: Request) -> Reply:
    """The pairs of worlds that contradict each other while both hold."""
    query: types.ListConflicts = request.query
    paged = store.page_view("the list of conflicts", query, 2 * _WORLD_BYTES)
    view: View = paged.view
    within = None if query.world is None else store.ref(view, query.world)
    behind = paged.behind[:_WORLD_BYTES].hex(), paged.behind[_WORLD_BYTES:].hex()
    found = view.contradictions(world=within, after=behind if paged.behind else None)
    taken = list(islice(found, query.limit + 1))
    page, cursor = paged.page_after(taken, query.limit, lambda pair: bytes.fromhex(pair[0].ref + pair[1].ref))
    conflicts = [{"first": store.to_wire(first), "second": store.to_wire(second)} for first, second in page]
    return Reply({"conflicts": conflicts, "next_cursor": cursor})


def head(store: ClientStore, request: Request) -> Reply:
    """The state of the store at a commit."""
    found = store.db.head(ingested=request.query.ingested, seq=request.query.seq)
    document = found._asdict() | {"ingested_at": wire_values.time(found.ingested_at)}
    return Reply(document, tag=found.root)


def prove(store: ClientStore, request: Request) -> Reply:
    """A proof that a world or an edge was inside a world at a moment."""
    query: types.Prove = request.query
    how: Any = {"ingested": query.ingested, "seq": query.seq, "with_text": query.with_text}
    store.check_seen_by_user(query.ref, ingested=query.ingested, seq=query.seq)
    return Reply({"proof": store.db.prove(query.ref, world=query.world, **how)})


def log(store: ClientStore, request: Request) -> Reply:
    """Events, in log order."""
    query: types.ReadLog = request.query
    if not store.commits and (query.first, query.last) != (1, None):
        raise worlddb.InputError("Commits have no numbers in this world", "Leave out first and last")
    paged = store.page_view("the log", query)
    ref = None if query.ref is None else store.ref(paged.view, query.ref)
    found = paged.view.log(query.first, query.last, ref=ref, skip=paged.offset)
    page, cursor = paged.page_of_rest(found, query.limit)
    entries = [wire_values.entry(each, commits=store.commits) for each in page]
    return Reply({"entries": entries, "next_cursor": cursor})


def _decision_route(name: str, summary: str) -> Route:
    path = f"{_PROPOSAL}/{name}"
    how: Any = {"body": types.Why, "right": "write", "needs_body": False}
    return Route("POST", path, f"{name}_proposal", _decide_handler(name), summary, wire.Receipt, **how)


ROUTES = (
    Route("GET", "/healthz", "health", health, "Check that the server answers.", wire.Health, right="", quick=True),
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
    _decision_route("accept", "Accept a staged identity."),
    _decision_route("reject", "Reject a staged identity."),
    _decision_route("undo", "Undo an accepted identity."),
    Route(
        "GET",
        "/v1/conflicts",
        "list_conflicts",
        list_conflicts,
        "List contradictions between valid worlds.",
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
        "Prove that the store had a world or an edge.",
        wire.Proof,
        types.Prove,
        whole=True,
    ),
    Route("GET", "/v1/log", "log", log, "Read the events of the log.", wire.Entries, types.ReadLog),
)
