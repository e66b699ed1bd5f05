"""Routes of worlds and edges: create, read, revise and end them, and read their history."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec import structs

from worlddb import UnknownReference, View, World
from worlddb.client import wire_records as wire
from worlddb.memory_statements import begin_earlier, revise_where_it_lies
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.problems import refusal
from worlddb.tools.server.route import LINES, Reply, Request, Route
from worlddb.write_notes import same_words_beside, with_revision_notes, with_sentences

WORLD = "/v1/worlds/{world}"
_WORLD_BYTES = 16
_EDGE_BYTES = 32


def precondition(store: ClientStore, request: Request, view: View, ref: str) -> tuple[View, str] | None:
    """Return the view and world that a write relies on by ``If-Match``; ``None`` without it or for ``*``."""
    if request.if_match is None or request.if_match.strip() == "*":
        return None
    tag = view.hash(ref)
    given = {each.strip().removeprefix("W/").strip('"').partition(".")[0] for each in request.if_match.split(",")}
    key = store.key(request.idempotency_key)
    # A retry is answered as the first time, whatever has changed in the world since.
    if tag not in given and not (key and store.db.was_written(key)):
        raise refusal(412, "The world has changed", "Read it again, and send its new ETag")
    return view, ref


def write_options(store: ClientStore, request: Request) -> dict[str, Any]:
    """Return the options of a write into a world that may have to be created: its key and its precondition."""
    rests_on = None if request.if_match is None else partial(precondition, store, request)
    return {"key": request.idempotency_key, "rests_on": rests_on}


def receipt_reply(store: ClientStore, receipt: Any, status: int = 200, *, location: bool = False) -> Reply:
    """Return a receipt as an answer; with ``location`` also the address of the new world."""
    document = store.receipt(receipt)
    headers = {"Location": f"/v1/worlds/{document['refs'][0]}"} if location and document["refs"] else {}
    return Reply(document, status, headers=headers)


def list_worlds(store: ClientStore, request: Request) -> Reply:
    """The visible worlds, in log order."""
    return _list_page(store, request, None)


def _span_options(query: types.InSpan | types.AtSpan) -> dict[str, Any]:
    """Return the requested span of valid time as arguments of a read."""
    return {"during": query.during, "overlaps": query.overlaps}


def _list_page(store: ClientStore, request: Request, within: str | None) -> Reply:
    query: types.FindWorlds = request.query
    listed = "the list of worlds" if within is None else f"the list of what {within!r} contains"
    paged = store.page_view(listed, query, _WORLD_BYTES)
    view = paged.view
    ref = None if within is None else store.ref(view, within)
    find = partial(
        view.find,
        name=query.name,
        type=query.type,
        label=query.label or None,
        properties=query.properties,
        world=ref,
        after=paged.behind.hex() or None,
        include_superseded=query.include_superseded,
        include_expired=query.include_expired,
        include_deprecated=query.include_deprecated,
        **_span_options(query),
    )
    found, limit = find(limit=query.limit + 1), query.limit
    while len(found) > limit and found[-1].ref == found[limit - 1].ref:
        # A span may have several versions of a world, and the next page has to begin behind a whole world.
        limit += 1
        found = found if len(found) > limit else find(limit=2 * limit + 1)
    page, cursor = paged.page_after(found[: limit + 1], limit, lambda each: bytes.fromhex(each.ref))
    document = {"worlds": store.to_wire(page), "moment": store.moment(view), "next_cursor": cursor}
    return Reply(document, tag=view.hash(ref))


def create_world(store: ClientStore, request: Request) -> Reply:
    """Create a world."""
    within: str | None = request.body.world
    home, view = store.home(), None
    if within is not None or home is not None:  # Otherwise skip the view, which costs as much as a small read.
        view = store.session.view_to_write()
        home = home if within is None else store.ref(view, within)
    rests_on = precondition(store, request, view, home) if view is not None and home is not None else None
    receipt = store.commit_write(
        partial(_creation(store, request.body), home), key=request.idempotency_key, rests_on=rests_on
    )
    return receipt_reply(store, receipt, 201 if receipt.events else 200, location=True)


def _creation(store: ClientStore, body: types.NewWorld) -> Callable[..., Any]:
    """Return the function that creates a world in a given container; ``None`` is the root."""

    def write(home: Any, target: Any, **key: Any) -> Any:
        named: dict[str, Any] = {} if home is None else {"world": home}
        if body.key is not None and store.home() is not None:
            named["key_within"] = store.home()
        return target.create(
            body.type,
            body.name,
            content=body.content,
            aliases=body.aliases,
            key=body.key,
            valid_from=body.valid_from,
            valid_to=body.valid_to,
            source=body.source,
            properties=body.properties,
            why=body.why,
            resolve={"none": False}.get(body.resolve, body.resolve),
            revive=body.revive,
            anew=body.anew,
            expires_at=body.expires_at,
            ttl=body.ttl,
            labels=body.labels,
            pinned=body.pinned,
            **named,
            **key,
        )

    return write


def get_world(store: ClientStore, request: Request) -> Reply:
    """A world as of a moment, or its version in a span."""
    view, span = store.view(request.query), _span_options(request.query)
    found: World | None = store.world(view, request.path["world"])
    if any(span.values()) and found is not None:
        found = store.session.around(view, found.ref).get(found.ref, **span)
    if found is None:
        raise UnknownReference(
            "No version of this world is valid throughout that span",
            "overlaps= finds versions that are valid in a part of it, and …/history lists all versions",
        )
    return Reply(store.to_wire(found), tag=view.hash(found.ref))


def claim_world(store: ClientStore, request: Request) -> Reply:
    """Return the world of a name, creating it if there is none."""
    view = store.session.view_to_write()
    if request.if_match is not None:
        # Before anything is created: a missing world has no hash.
        precondition(store, request, view, store.ref(view, request.path["world"]))
    ref = store.claim(request.path["world"])
    view = store.session.view_to_write()
    return Reply(store.to_wire(store.world(view, ref)), tag=view.hash(ref))


def revise_world(store: ClientStore, request: Request) -> Reply:
    """Give a world a new version."""
    body: types.Revision = request.body
    view = store.view_of_write(store.key(request.idempotency_key))
    ref = store.target_ref(view, request.path["world"])

    changes = {name: getattr(body, name) for name in types.Revision.__struct_fields__}

    def write(target: Any, **key: Any) -> Any:
        if target is store.db:
            return revise_where_it_lies(store.db, ref, world=store.home(), **changes, **key)
        if body.valid_from is not None:
            begin_earlier(target, view, ref, body.valid_from, body.why)
        return target.revise(ref, **changes)

    rests_on = precondition(store, request, view, ref)
    receipt = store.commit_write(write, key=request.idempotency_key, rests_on=rests_on)
    receipt = structs.replace(receipt, requested=receipt.requested[-1:])
    span = body.valid_from, body.valid_to
    return receipt_reply(store, with_revision_notes(store.db, receipt, body.content, span, "give replace_later"))


def retire_world(store: ClientStore, request: Request) -> Reply:
    """End a world. Nothing is deleted."""
    query: types.Ending = request.query
    view = store.view_of_write(store.key(request.idempotency_key))
    ref = store.target_ref(view, request.path["world"])

    def write(target: Any, **key: Any) -> Any:
        ends = {"valid_from": query.valid_from, "valid_to": query.valid_to, "members": query.members}
        return target.retire(ref, why=query.why, **ends, **key)

    rests_on = precondition(store, request, view, ref)
    receipt = store.commit_write(write, key=request.idempotency_key, rests_on=rests_on)
    alike = same_words_beside(store.db, store.session.view_to_write(), ref, "DELETE that too, or PATCH it")
    return receipt_reply(store, with_sentences(receipt, alike))


def reassert_world(store: ClientStore, request: Request) -> Reply:
    """Resume a world that had ended."""
    body: types.Resumption = request.body
    view = store.view_of_write(store.key(request.idempotency_key))
    ref = store.target_ref(view, request.path["world"])

    def write(target: Any, **key: Any) -> Any:
        window = {"valid_from": body.valid_from, "valid_to": body.valid_to}
        return target.reassert(ref, content=body.content, why=body.why, **window, **key)

    rests_on = precondition(store, request, view, ref)
    return receipt_reply(store, store.commit_write(write, key=request.idempotency_key, rests_on=rests_on))


def move_world(store: ClientStore, request: Request) -> Reply:
    """Move a world into another one."""
    body: types.Removal = request.body
    view = store.view_of_write(store.key(request.idempotency_key))
    ref, to = store.target_ref(view, request.path["world"]), store.ref(view, body.to)
    out_of = None if body.out_of is None else store.ref(view, body.out_of)
    rests_on = precondition(store, request, view, ref)

    def write(target: Any, **key: Any) -> Any:
        window = {"valid_from": body.valid_from, "valid_to": body.valid_to}
        return target.move(ref, to, out_of=out_of, why=body.why, **window, **key)

    return receipt_reply(store, store.commit_write(write, key=request.idempotency_key, rests_on=rests_on))


def add_aliases(store: ClientStore, request: Request) -> Reply:
    """Give a world further names."""
    view = store.view_of_write(store.key(request.idempotency_key))
    ref = store.target_ref(view, request.path["world"])

    def write(target: Any, **key: Any) -> Any:
        return target.alias(ref, *request.body.aliases, why=request.body.why, **key)

    rests_on = precondition(store, request, view, ref)
    return receipt_reply(store, store.commit_write(write, key=request.idempotency_key, rests_on=rests_on))


def list_members(store: ClientStore, request: Request) -> Reply:
    """What a world contains, at any depth, in log order."""
    return _list_page(store, request, request.path["world"])


def add_member(store: ClientStore, request: Request) -> Reply:
    """Create a world inside another one, creating that too if needed; or move one there."""
    body: types.NewMember = request.body
    how = write_options(store, request)
    if body.ref is None:
        receipt = store.write_into(request.path["world"], _creation(store, body), **how)
        return receipt_reply(store, receipt, 201 if receipt.events else 200, location=True)
    ref = store.ref(store.view_of_write(store.key(request.idempotency_key)), body.ref)
    window = {"valid_from": body.valid_from, "valid_to": body.valid_to}

    def write(home: Any, target: Any, **key: Any) -> Any:
        return target.move(ref, home, why=body.why, **window, **key)

    return receipt_reply(store, store.write_into(request.path["world"], write, **how))


def list_edges(store: ClientStore, request: Request) -> Reply:
    """The edges of a world, in log order."""
    query: types.ListEdges = request.query
    paged = store.page_view(f"the list of edges of {request.path['world']!r}", query, _EDGE_BYTES)
    view = paged.view
    ref = store.ref(view, request.path["world"])
    how: Any = {"type": query.type, "direction": query.direction, "include_superseded": query.include_superseded}
    how |= {"limit": query.limit + 1, "after": paged.behind.hex() or None, **_span_options(query)}
    page, cursor = paged.page_after(view.edges(ref, **how), query.limit, lambda each: bytes.fromhex(each.ref))
    document = {"edges": store.to_wire(page), "moment": store.moment(view), "next_cursor": cursor}
    return Reply(document, tag=view.hash(ref))


def link(store: ClientStore, request: Request) -> Reply:
    """Write an edge. An identity is staged, not written."""
    body: types.NewEdge = request.body
    view = store.view_of_write(store.key(request.idempotency_key))
    source, target = store.refs(view, (body.source, body.target))
    key_within: dict[str, Any] = {} if body.key is None or store.home() is None else {"key_within": store.home()}

    def write(to: Any, **key: Any) -> Any:
        window = {"valid_from": body.valid_from, "valid_to": body.valid_to}
        how = {"properties": body.properties, "why": body.why, "key": body.key, "versions": body.versions}
        return to.link(source, body.type, target, context=body.context, **how, **window, **key_within, **key)

    receipt = store.commit_write(write, key=request.idempotency_key)
    return receipt_reply(store, receipt, 201 if receipt.events else 200)


def get_edge(store: ClientStore, request: Request) -> Reply:
    """An edge."""
    return Reply(store.to_wire(store.view(request.query).edge(request.path["edge"])))


def unlink(store: ClientStore, request: Request) -> Reply:
    """Retract an edge, or with a window end it there. Views of earlier commits still see it."""
    query: types.EdgeEnding = request.query
    ref = store.view_of_write(store.key(request.idempotency_key)).edge(request.path["edge"]).ref

    def write(target: Any, **key: Any) -> Any:
        if query.valid_from is None and query.valid_to is None:
            return target.unlink(ref, why=query.why, **key)
        return target.retire(ref, valid_from=query.valid_from, valid_to=query.valid_to, why=query.why, **key)

    return receipt_reply(store, store.commit_write(write, key=request.idempotency_key))


def history(store: ClientStore, request: Request) -> Reply:
    """Every version of a world, oldest first."""
    query: types.FindVersions = request.query
    view = store.view(query)
    ref = store.ref(view, request.path["world"])
    found = view.history(ref, between=query.between, **_span_options(query))
    document = {"versions": store.to_wire(found), "moment": store.moment(view)}
    return Reply(document, tag=view.hash(ref))


def timeline(store: ClientStore, request: Request) -> Reply:
    """What was learned about when a world is valid, step by step."""
    view = store.view(request.query)
    ref = store.ref(view, request.path["world"])
    document = {"steps": store.to_wire(view.timeline(ref)), "moment": store.moment(view)}
    return Reply(document, tag=view.hash(ref))


def download(store: ClientStore, request: Request) -> Reply:
    """A world and all inside it as lines of JSON."""
    query: types.AtCommit = request.query
    view = store.session.for_user(store.db.view(ingested=query.ingested, seq=query.seq), None)
    ref = store.ref(view, request.path["world"])
    lines: Iterator[dict[str, Any]] = store.db.export_lines(ref, seq=view.seq)
    return Reply(lines, tag=view.hash(ref), media_type=LINES)


def memory_graph(store: ClientStore, request: Request) -> Reply:
    """A world and its interior at a moment, as lines for MCP's reference server ``memory``."""
    view = store.view(request.query)
    ref = store.ref(view, request.path["world"])
    return Reply(view.memory_graph(ref), tag=view.hash(ref), media_type=LINES)


ROUTES = (
    Route("GET", "/v1/worlds", "list_worlds", list_worlds, "List worlds.", wire.Worlds, types.FindWorlds, small=True),
    Route(
        "POST",
        "/v1/worlds",
        "create_world",
        create_world,
        "Create a world.",
        wire.Receipt,
        body=types.NewWorld,
        right="write",
        statuses=(201, 200),
    ),
    Route("GET", WORLD, "get_world", get_world, "Read a world.", wire.World, types.AtSpan, quick=True),
    Route(
        "PUT",
        WORLD,
        "claim_world",
        claim_world,
        "Create a world if it is missing.",
        wire.World,
        body=types.Claim,
        right="write",
        needs_body=False,
    ),
    Route(
        "PATCH",
        WORLD,
        "revise_world",
        revise_world,
        "Give a world a new version.",
        wire.Receipt,
        body=types.Revision,
        right="write",
    ),
    Route(
        "DELETE",
        WORLD,
        "retire_world",
        retire_world,
        "End a world.",
        wire.Receipt,
        types.Ending,
        right="write",
    ),
    Route(
        "POST",
        f"{WORLD}/reassert",
        "reassert_world",
        reassert_world,
        "Resume a world that had ended.",
        wire.Receipt,
        body=types.Resumption,
        right="write",
        needs_body=False,
    ),
    Route(
        "POST",
        f"{WORLD}/move",
        "move_world",
        move_world,
        "Move a world into another one.",
        wire.Receipt,
        body=types.Removal,
        right="write",
    ),
    Route(
        "POST",
        f"{WORLD}/aliases",
        "add_aliases",
        add_aliases,
        "Give a world further names.",
        wire.Receipt,
        body=types.Names,
        right="write",
    ),
    Route(
        "GET",
        f"{WORLD}/members",
        "list_members",
        list_members,
        "List the members of a world.",
        wire.Worlds,
        types.FindWorlds,
        small=True,
    ),
    Route(
        "POST",
        f"{WORLD}/members",
        "add_member",
        add_member,
        "Create a world inside another one, or move one there.",
        wire.Receipt,
        body=types.NewMember,
        right="write",
        statuses=(201, 200),
    ),
    Route(
        "GET",
        f"{WORLD}/edges",
        "list_edges",
        list_edges,
        "List the edges of a world.",
        wire.Edges,
        types.ListEdges,
        small=True,
    ),
    Route(
        "GET",
        f"{WORLD}/history",
        "history",
        history,
        "Read all versions of a world.",
        wire.Versions,
        types.FindVersions,
        small=True,
    ),
    Route(
        "GET",
        f"{WORLD}/timeline",
        "timeline",
        timeline,
        "Read when the validity of a world was learned.",
        wire.Steps,
        types.AsOf,
        small=True,
    ),
    Route(
        "GET",
        f"{WORLD}/download",
        "download",
        download,
        "Read a world and all inside it as lines of JSON.",
        None,
        types.AtCommit,
        whole=True,
        stream=True,
        produces=(LINES,),
    ),
    Route(
        "GET",
        f"{WORLD}/memory-graph",
        "memory_graph",
        memory_graph,
        "Read a world and all inside it as entities and relations, as MCP's server `memory` keeps them.",
        None,
        types.AsOf,
        stream=True,
        produces=(LINES,),
    ),
    Route(
        "POST",
        "/v1/edges",
        "link",
        link,
        "Write an edge.",
        wire.Receipt,
        body=types.NewEdge,
        right="write",
        statuses=(201, 200),
    ),
    Route("GET", "/v1/edges/{edge}", "get_edge", get_edge, "Read an edge.", wire.Edge, types.AsOf, quick=True),
    Route(
        "DELETE",
        "/v1/edges/{edge}",
        "unlink",
        unlink,
        "Retract an edge, or end it.",
        wire.Receipt,
        types.EdgeEnding,
        right="write",
    ),
)
