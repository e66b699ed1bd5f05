"""The OpenAPI 3.1 document, generated from the routes and their request and answer types."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

import worlddb
from worlddb.client.wire_records import Problem
from worlddb.tools.server.problems import MEDIA_TYPE
from worlddb.tools.server.route import BYTES, FORM, JSON, NoParameters, Route

_REF: Final = "#/components/schemas/{name}"
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same request of one account under the same key has one effect.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "ETag of the world that the write relies on; 412 if it has changed since.",
    "schema": {"type": "string"},
}
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "ETag of the answer that the client has; 304 if it is still the same.",
    "schema": {"type": "string"},
}
_LAST_EVENT_ID: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event received, as event-stream clients send it; it overrides `after`.",
    "schema": {"type": "string"},
}
_PATH_MEANINGS: Final = {
    "world": "A full reference, or the exact name of a top-level world.",
    "edge": "A full reference.",
    "proposal": "A full reference.",
    "account": "Its name or id.",
    "key": "Its name or id.",
    "plan": "Its name.",
    "job": "Its id.",
    "seq": "The number of the commit of the erasure.",
}
"""What stands in a path."""
_QUERY_MEANINGS: Final = {
    "about": "The subjects: references or names.",
    "after": "The id of an event; the stream begins after it.",
    "allow_outside": "Allow changes to worlds outside of the bundle.",
    "base": "The base IRI of relative IRIs.",
    "by": "The span of time that each figure covers.",
    "cursor": "The next_cursor of the page before.",
    "default-graph-uri": "An IRI that replaces FROM.",
    "direction": "Outgoing edges, incoming edges, or both.",
    "exact": "Rank by exactly what was known at that moment; slower.",
    "include_deprecated": "Include deprecated worlds.",
    "include_expired": "Include worlds that a deadline hides.",
    "include_superseded": "Include versions that are no longer valid.",
    "join": "Keep both sides where this store and the bundle have diverged.",
    "k": "The most hits to return.",
    "key": "Only this key.",
    "label": "Only with this label; several: with all of them.",
    "max_rows": "An answer with more rows is an error.",
    "max_tokens": "The longest text, in tokens.",
    "members": "Also end the worlds inside it.",
    "min_confidence": "The least confidence of a hit, from 0 to 1.",
    "name": "Only of this name or alias, whatever its capitals.",
    "named-graph-uri": "An IRI that replaces FROM NAMED.",
    "query": "SPARQL: SELECT, ASK, CONSTRUCT or DESCRIBE.",
    "status": "The state of the decision.",
    "text": "A question, or words.",
    "timeout_seconds": "The query is cancelled after so many seconds.",
    "type": "Only of this type.",
    "update": "A SPARQL update, by POST only; it takes no moment.",
    "using-graph-uri": "An IRI that replaces USING.",
    "using-named-graph-uri": "An IRI that replaces USING NAMED.",
    "why": "The reason, kept in the log.",
    "with_text": "Include the text in the proof.",
}
"""What parameters of a query are, where their types do not say it: the same on every route."""
_ABOUT: Final = (
    "A memory engine for AI agents. Send a key as Authorization: Bearer KEY. "
    "The first write to /v1/worlds/NAME/statements, /members, /memories or /sparql makes that world. "
    "Each read can be as of any moment on two axes: ingested (what was known then) and valid (what was true then)."
)
_DESCRIPTIONS: Final = {
    200: "The answer.",
    201: "Written.",
    202: "The job has begun: see Location.",
    304: "Unchanged since that ETag.",
}


def page(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the OpenAPI document of some routes."""
    listed = list(routes)
    wanted = [Problem, *_types(listed)]
    _, components = msgspec.json.schema_components(wanted, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "WorldDB",
            "version": worlddb.__version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": _ABOUT,
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _types(routes: Iterable[Route]) -> Iterator[Any]:
    for route in routes:
        if route.answer is not None:
            yield route.answer
        if route.body not in (None, bytes):
            yield route.body
        if route.query is not NoParameters:
            yield route.query


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": list(_parameters(route)),
        "responses": _responses(route),
    }
    if route.body is not None:
        operation["requestBody"] = {"required": route.needs_body, "content": _bodies(route)}
    if not route.right:
        operation["security"] = []
    return operation


def _bodies(route: Route) -> dict[str, Any]:
    if route.body is bytes and not route.takes:
        return {BYTES: {"schema": {"type": "string", "format": "binary"}}}
    content = {} if route.body is bytes else {JSON: {"schema": {"$ref": _REF.format(name=route.body.__name__)}}}
    return content | {
        each: {"schema": _form_schema(route) if each == FORM else {"type": "string"}} for each in route.takes
    }


def _form_schema(route: Route) -> dict[str, Any]:
    """Return the schema of a form that has the parameters of a route."""
    described = _query_schema(route)
    fields = {name: _parameter_schema(schema) for name, schema in described["properties"].items()}
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _query_schema(route: Route) -> dict[str, Any]:
    _, components = msgspec.json.schema_components([route.query], ref_template=_REF)
    described: dict[str, Any] = components.get(route.query.__name__, {})
    return described


def _parameters(route: Route) -> Iterator[dict[str, Any]]:
    for segment in route.path.split("/"):
        if segment.startswith("{"):
            yield {
                "name": segment[1:-1],
                "in": "path",
                "required": True,
                "description": _PATH_MEANINGS[segment[1:-1]],
                "schema": {"type": "string", "minLength": 1},
            }
    described = _query_schema(route)
    for name, schema in described.get("properties", {}).items():
        parameter, is_required = _parameter_schema(schema), name in described.get("required", ())
        # An object stands in a URL as its JSON.
        how = {"content": {JSON: {"schema": parameter}}} if parameter.get("type") == "object" else {"schema": parameter}
        description = {} if "description" in parameter else {"description": _QUERY_MEANINGS[name]}
        yield {"name": name, "in": "query", "required": is_required, **description, **how}
    if route.may_write or (route.method != "GET" and route.right in ("write", "admin")):
        if route.keyed:
            yield _KEY
        if route.path.startswith("/v1/worlds/") or route.may_write:
            yield _IF_MATCH
    elif route.stream:
        yield _LAST_EVENT_ID
    elif route.method == "GET":
        yield _IF_NONE_MATCH


def _parameter_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter, which is left out rather than null."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    kept = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return kept if not choices else kept | (choices[0] if len(choices) == 1 else {"anyOf": choices})


def _responses(route: Route) -> dict[str, Any]:
    schema = {} if route.answer is None else {"schema": {"$ref": _REF.format(name=route.answer.__name__)}}
    content = {produced: schema if produced == JSON else {} for produced in route.produces}
    found: dict[str, Any] = {
        str(status): {"description": _DESCRIPTIONS[status], "content": content} for status in route.statuses
    }
    if route.method == "GET" and not route.stream:
        found["304"] = {"description": _DESCRIPTIONS[304]}
    found["default"] = {
        "description": "What was wrong, and what to do next.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}},
    }
    return found
