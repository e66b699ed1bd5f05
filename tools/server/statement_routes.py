"""Routes of RDF statements: list, state and retract them, and query or update them by SPARQL."""

from struct import Struct
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

import worlddb
from worlddb import ErasedStatement, InputError, Receipt, Statement
from worlddb.client import wire_records as wire
from worlddb.statements import sent_statements, updating
from worlddb.tools.mcp import answer_notes
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.problems import refusal
from worlddb.tools.server.route import FORM, JSON, Reply, Request, Route, note_header
from worlddb.tools.server.world_routes import WORLD, precondition, receipt_reply, write_options

_STATEMENTS: Final = f"{WORLD}/statements"
_PATTERN: Final = ("subject", "predicate", "object")
"""What a plan calls the right to ask in SPARQL."""
_QUERY: Final = "application/sparql-query"
_UPDATE: Final = "application/sparql-update"
_ROW: Final = Struct(">IIIIx")
"""Format of a statement's place in a cursor; its length differs from a world's."""
_ANSWERS: Final = (*sent_statements.ROW_TYPES, *sent_statements.RDF_TYPES, JSON)


def _pattern_options(query: types.FindStatements | types.TakenBack) -> dict[str, Any]:
    graph = None if query.graph == "default" else query.graph
    return {name: getattr(query, name) for name in _PATTERN} | {"graph": graph}


def _statement_record(store: ClientStore, found: Statement | ErasedStatement) -> dict[str, Any]:
    """Return a statement as the client may see it, with terms in N-Triples."""
    document = {name: getattr(found, name) for name in (*_PATTERN, "graph")}
    return {name: None if term is None else str(term) for name, term in document.items()} | {
        "world": found.world,
        "valid": store.to_wire(worlddb.Valid(found.valid_from, found.valid_to)),
        "ingested_at": worlddb.format_time(found.ingested_at),
        "seq": found.seq if store.commits else None,
        "author": found.author,
        "source": found.source,
        "id": found.id,
    }


def list_statements(store: ClientStore, request: Request) -> Reply:
    """The statements of a world that match a pattern."""
    query: types.FindStatements = request.query
    paged = store.page_view(f"the list of statements of {request.path['world']!r}", query, _ROW.size)
    view = paged.view
    ref = store.ref(view, request.path["world"])
    if request.accepts != JSON:
        if (
            query.cursor is not None
            or any(_pattern_options(query)[name] is not None for name in _PATTERN)
            or query.graph != "any"
        ):
            raise InputError(
                f"A pattern or a cursor needs {JSON}; {request.accepts} has all statements",
                f"Leave them out, or use CONSTRUCT with {WORLD}/sparql",
            )
        text = view.write_rdf(ref, request.accepts, reifiers=query.reifiers)
        return Reply(text, tag=view.hash(ref), media_type=request.accepts)
    if query.reifiers:
        raise InputError(f"Reifiers need a format of RDF; {JSON} has all of their data", "Leave them out")
    after: Any = _ROW.unpack(paged.behind) if paged.behind else None
    found = view.statements(ref, **_pattern_options(query), limit=query.limit + 1, after=after)
    page, cursor = paged.page_after(found, query.limit, lambda each: _ROW.pack(*each.row))
    document = {
        "statements": [_statement_record(store, each) for each in page],
        "moment": store.moment(view),
        "next_cursor": cursor,
    }
    return Reply(document, tag=view.hash(ref))


def list_erased(store: ClientStore, request: Request) -> Reply:
    """The remains of the erased statements of a world, and who erased each and when."""
    view = store.view(request.query)
    found = view.erased_statements(store.ref(view, request.path["world"]))
    statements = [
        _statement_record(store, each)
        | {"erased": list(each.erased), "erasure": each.erasure and store.to_wire(each.erasure)}
        for each in found
    ]
    return Reply({"statements": statements, "moment": store.moment(view)})


def state(store: ClientStore, request: Request) -> Reply:
    """State something in a world, which is created if there is none of that name."""
    query: types.Stated = request.query
    window = {"valid_from": query.valid_from, "valid_to": query.valid_to}
    if isinstance(request.body, types.NewStatements):
        body: types.NewStatements = request.body
        if (body.valid_from or body.valid_to) and any(window.values()):
            raise InputError("The window was given twice", "Give it only in the body")
        if body.valid_from or body.valid_to:
            window = {"valid_from": body.valid_from, "valid_to": body.valid_to}
        statements: list[Any] = list(body.statements)
        source = body.source
    elif not request.body:
        # An empty RDF file is valid, but an empty body is nearly always a mistake.
        raise InputError("The body is empty", "Send statements; curl reads text after @ as a file name: use --data-raw")
    else:
        statements = list(sent_statements.read(request.body, request.media_type, query.base))
        source = {}

    def write(ref: Any, target: Any, **key: Any) -> Any:
        return target.state(ref, statements, **window, source=source, **key)

    receipt = store.write_into(request.path["world"], write, **write_options(store, request))
    return _statements_reply(store, receipt, 201 if receipt.events else 200)


def _statements_reply(store: ClientStore, receipt: Receipt, status: int = 200) -> Reply:
    """Return the receipt of statements as an answer, naming each world once."""
    reply = receipt_reply(store, receipt, status)
    return reply._replace(value=reply.value | {"refs": list(dict.fromkeys(reply.value["refs"]))})


def unstate(store: ClientStore, request: Request) -> Reply:
    """Retract statements: those of the body, or else those that hold and match a pattern."""
    query: types.TakenBack = request.query
    view = store.session.view_to_write()
    ref = store.target_ref(view, request.path["world"])

    def write(target: Any, **key: Any) -> Any:
        return target.unstate(ref, request.body.statements, **_pattern_options(query), at=query.at, **key)

    rests_on = precondition(store, request, view, ref)
    return _statements_reply(store, store.commit_write(write, key=request.idempotency_key, rests_on=rests_on))


def sparql(store: ClientStore, request: Request) -> Reply:
    """Answer a SPARQL query as of a moment, or run an update on the statements of the world."""
    query: types.SparqlAsked = request.query
    if request.media_type == FORM:
        query = _query_from_form(request.body, query)
    elif request.body:
        query = _query_from_body(query, "update" if request.media_type == _UPDATE else "query", request.body)
    if query.update is not None:
        return _run_update(store, request, query)
    if query.query is None:
        raise InputError("The query is missing", "Give it as the parameter query, or by POST as the body")
    if query.using_graphs or query.using_named_graphs:
        raise InputError("A query takes no using-graph-uri", "Give default-graph-uri and named-graph-uri")
    view = store.view(query)
    world = request.path.get("world")
    ref = None if world is None else store.ref(view, world)
    # Without a format there is JSON for rows, and N-Triples for what has none.
    format = None if request.accepts in (JSON, sent_statements.ROW_TYPES[0]) else request.accepts
    bounds: dict[str, Any] = {"timeout_seconds": query.timeout_seconds, "max_rows": query.max_rows}
    if query.default_graphs or query.named_graphs:
        bounds |= {"default_graphs": query.default_graphs, "named_graphs": query.named_graphs}
    lanes = store.session.lanes()
    answer = view.sparql(query.query, world=ref, format=format, lanes=lanes, **bounds)
    searched = answer_notes.search_note(answer.unavailable, in_one_world=not store.commits)
    headers = _note_headers(lanes, query.query, searched, answer.note)
    return Reply(answer.body, media_type=answer.media_type, headers=headers)


def _note_headers(lanes: tuple[str, ...], text: str, searched: str = "", misspelt: str = "") -> dict[str, str]:
    """Return the header with notes on how the query was searched and on unknown names.

    A body of RDF or rows has no room for them.
    """
    if "vector" not in lanes and updating.searches_by_meaning(text):
        searched = answer_notes.WITHOUT_VECTORS
    return note_header("; ".join(filter(None, (searched, misspelt))))


def _run_update(store: ClientStore, request: Request, query: types.SparqlAsked) -> Reply:
    if query.query is not None:
        raise InputError("Both a query and an update were given", "Give one of them")
    if not store.grant.may("write"):
        raise refusal(403, f"This key has the right {store.grant.right}, and an update needs write", "Use another key")
    if query.default_graphs or query.named_graphs:
        raise InputError("An update takes no default-graph-uri", "Give using-graph-uri and using-named-graph-uri")
    if (query.ingested, query.valid, query.seq) != (None, None, None):
        raise InputError("An update takes no moment", "Leave out ingested, valid and seq")
    if query.max_rows is not None:
        raise InputError("An update takes no max_rows", "Leave out max_rows")
    world = request.path.get("world") or store.home()
    if world is None:
        raise InputError("An update changes one world", f"Send it to {WORLD}/sparql")
    store.count_write()
    lanes, text = store.session.lanes(), str(query.update)
    named: dict[str, Any] = write_options(store, request) | {"lanes": lanes, "timeout_seconds": query.timeout_seconds}
    if query.using_graphs or query.using_named_graphs:
        named |= {"using_graphs": query.using_graphs, "using_named_graphs": query.using_named_graphs}
    receipt = store.update_into(world, text, **named)
    noted = {note.code: note.refs[0] for note in receipt.notes if note.code in ("searched_by_words", "names_unknown")}
    missed = {lane: why for lane, why in (("vector", noted.get("searched_by_words")),) if why}
    searched = answer_notes.search_note(missed, in_one_world=not store.commits)
    headers = _note_headers(lanes, text, searched, noted.get("names_unknown", ""))
    return _statements_reply(store, receipt)._replace(headers=headers)


def _query_from_body(query: types.SparqlAsked, name: str, body: bytes) -> types.SparqlAsked:
    if query.query is not None or query.update is not None:
        raise InputError("Both a parameter and the body have a query", "Give one of them")
    try:
        return msgspec.structs.replace(query, **{name: body.decode()})
    except UnicodeDecodeError:
        raise InputError("The query is not UTF-8", "Encode it as UTF-8") from None


_FORM_REMEDY: Final = f"A form has query= or update=; for plain text send Content-Type: {_QUERY} or {_UPDATE}"
_LIST_PARAMETERS: Final = ("default-graph-uri", "named-graph-uri", "using-graph-uri", "using-named-graph-uri")


def _query_from_form(body: bytes, query: types.SparqlAsked) -> types.SparqlAsked:
    """Parse a form, which may have every parameter of the route."""
    try:
        pairs = parse_qsl(body.decode("ascii"), True, errors="strict", max_num_fields=20)
        given: dict[str, Any] = {name: [text for other, text in pairs if other == name] for name, _ in pairs}
        for name, texts in given.items():
            if name not in _LIST_PARAMETERS:
                given[name] = texts[0]
                if len(texts) > 1:
                    raise InputError("The form has a field twice", "Give it once")
        read = msgspec.convert(given, types.SparqlAsked, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"The form is invalid: {error}", _FORM_REMEDY) from None
    except ValueError:
        raise InputError("The form cannot be read", "Percent-encode it as UTF-8") from None
    if query != types.SparqlAsked():
        raise InputError("Parameters were sent with a form", "Put all of them in the form")
    return read


def _sparql_route(method: str, path: str, name: str, summary: str) -> Route:
    how: Any = {"body": bytes, "takes": (_QUERY, FORM, _UPDATE), "may_write": True} if method == "POST" else {}
    how["feature"] = "sparql"
    return Route(method, path, name, sparql, summary, None, types.SparqlAsked, produces=_ANSWERS, **how)


def sparql_get(store: ClientStore, request: Request) -> Reply:
    """As :func:`sparql`, but refuse updates: a GET changes nothing."""
    if request.query.update is not None:
        raise InputError("An update was sent by GET", "Send it by POST")
    return sparql(store, request)


ROUTES = (
    Route(
        "GET",
        _STATEMENTS,
        "list_statements",
        list_statements,
        "List the statements of a world that match a pattern; all of them in a format of RDF, if Accept names one.",
        wire.Statements,
        types.FindStatements,
        small=True,
        produces=(JSON, *sent_statements.RDF_TYPES),
    ),
    Route(
        "GET",
        f"{_STATEMENTS}/erased",
        "list_erased",
        list_erased,
        "List the remains of the erased statements of a world, and who erased each and when.",
        wire.ErasedStatements,
        types.AsOf,
    ),
    Route(
        "POST",
        _STATEMENTS,
        "state",
        state,
        "State something in a world: as JSON, or in a format of RDF.",
        wire.Receipt,
        types.Stated,
        types.NewStatements,
        right="write",
        statuses=(201, 200),
        takes=sent_statements.RDF_TYPES,
    ),
    Route(
        "DELETE",
        _STATEMENTS,
        "unstate",
        unstate,
        "Retract the statements of the body, or those that match a pattern; without either, all.",
        wire.Receipt,
        types.TakenBack,
        types.ListedStatements,
        right="write",
        needs_body=False,
    ),
    _sparql_route("GET", f"{WORLD}/sparql", "query_world", "Query the statements of a world in SPARQL.")._replace(
        call=sparql_get
    ),
    _sparql_route("POST", f"{WORLD}/sparql", "sparql_world", "Query or update the statements of a world in SPARQL."),
    _sparql_route("GET", "/v1/sparql", "query", "Query everything that the key may see in SPARQL.")._replace(
        call=sparql_get
    ),
    _sparql_route(
        "POST",
        "/v1/sparql",
        "sparql",
        "Query everything that the key may see in SPARQL, or update its outermost world.",
    ),
)
