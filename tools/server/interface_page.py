"""The page of the interface: OpenAPI 3.1, made of the routes and of the types that check them."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

import worlddb
from worlddb.client.wire_records import Problem
from worlddb.tools.server.problems import MEDIA_TYPE
from worlddb.tools.server.route import BYTES, FORM, JSON, Nothing, Route

_REF: Final = "#/components/schemas/{name}"
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same request of one account under the same key is done once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "ETag of the world that the write rests on; 412 if it has another one by now.",
    "schema": {"type": "string"},
}
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "ETag of the answer that is known; 304 if it is still the same.",
    "schema": {"type": "string"},
}
_LAST_EVENT_ID: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that came, as clients of such streams send it; it counts before `after`.",
    "schema": {"type": "string"},
}
_DESCRIPTIONS: Final = {
    200: "The answer.",
    201: "It was written.",
    202: "It is under way: see Location.",
    304: "It is as the ETag says.",
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
            "description": "A memory engine for AI agents. Each read may be as of any moment of two axes.",
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
        if route.query is not Nothing:
            yield route.query


def _operation(route: Route) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": list(_parameters(route)),
        "responses": _responses(route),
    }
    if route.body is not None:
        told["requestBody"] = {"required": route.needs_body, "content": _bodies(route)}
    if not route.right:
        told["security"] = []
    return told


def _bodies(route: Route) -> dict[str, Any]:
    if route.body is bytes and not route.takes:
        return {BYTES: {"schema": {"type": "string", "format": "binary"}}}
    told = {} if route.body is bytes else {JSON: {"schema": {"$ref": _REF.format(name=route.body.__name__)}}}
    return told | {each: {"schema": _form(route) if each == FORM else {"type": "string"}} for each in route.takes}


def _form(route: Route) -> dict[str, Any]:
    """Return the schema of a form that has the parameters of a route."""
    described = _described(route)
    fields = {name: _plain(schema) for name, schema in described["properties"].items()}
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _described(route: Route) -> dict[str, Any]:
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
                "schema": {"type": "string", "minLength": 1},
            }
    described = _described(route)
    for name, schema in described.get("properties", {}).items():
        told, is_required = _plain(schema), name in described.get("required", ())
        # An object stands in a URL as its JSON.
        how = {"content": {JSON: {"schema": told}}} if told.get("type") == "object" else {"schema": told}
        yield {"name": name, "in": "query", "required": is_required, **how}
    if route.may_write or (route.method != "GET" and route.right in ("write", "admin")):
        yield _KEY
        if route.path.startswith("/v1/worlds/") or route.may_write:
            yield _IF_MATCH
    elif route.stream:
        yield _LAST_EVENT_ID
    elif route.method == "GET":
        yield _IF_NONE_MATCH


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
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
