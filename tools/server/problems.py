"""Errors as RFC 9457 problem details: a status, a stable code, what was wrong, and a remedy."""

import re
from math import ceil
from typing import Any, Final

import msgspec
from starlette.responses import Response

from worlddb import (
    AmbiguousReference,
    IdempotencyConflict,
    InputError,
    InvalidSparql,
    LimitExceeded,
    Note,
    PlanLimit,
    QueryLimit,
    RefusedError,
    UnavailableError,
    UnknownReference,
    WorldDBError,
)
from worlddb.client.wire_records import Problem
from worlddb.tools.mcp.session import Session
from worlddb.writing import CHANGED_MEANWHILE

MEDIA_TYPE: Final = "application/problem+json"
_TYPE: Final = "about:blank"
_TITLES: Final = {
    400: "Bad request",
    401: "No key",
    403: "Not allowed",
    404: "Not found",
    405: "No such method",
    406: "Not acceptable",
    408: "Too slow",
    409: "Refused",
    412: "Changed meanwhile",
    413: "Too large",
    415: "Unsupported type",
    421: "Another server",
    422: "Invalid",
    429: "Too many requests",
    500: "Unexpected",
    501: "Not implemented",
    503: "Unavailable",
}
_CODES: Final = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "no_such_method",
    406: "not_acceptable",
    408: "timeout",
    412: "precondition_failed",
    413: "too_large",
    415: "unsupported_type",
    421: "misdirected",
    422: "invalid",
    429: "too_many_requests",
    500: "unexpected",
    501: "not_implemented",
}
_REMEDIES: Final = (
    ("db.accounts.accounts()", "/v1/accounts"),
    ("db.accounts.keys()", "/v1/keys"),
    ("Define it with db.accounts.define_plan", "Define it with PUT /v1/plans/{plan}"),
    ("Send it as one, by sparql_update", "Send it by POST, as the parameter update or as application/sparql-update"),
    ("Send it as one, by view.sparql", "Send it as the parameter query or as application/sparql-query"),
    ("them with proposals()", "them with /v1/proposals"),
    ("memory_proposals shows them with status=all", "GET /v1/proposals?status=all has them"),
    ("memory_proposals shows with status=all", "GET /v1/proposals?status=all has"),
    ("Look it up by name with find", "Look it up by name with GET /v1/worlds?name=…"),
    ("Give known as a time", "Give ingested as a time"),
    ("Give expires_at or ttl, or call unexpire", "Give expires_at, which may be never, or ttl"),
    ("Give a number of seconds, or a timedelta,", "Give a number of seconds"),
    ("Look for it with recall or find", "Look for it with GET /v1/worlds?name=… or /v1/recall?text=…"),
    ("Look at what there is with find", "Look at what there is with GET /v1/worlds"),
    ("Look at its versions with history", "Look at its versions with GET /v1/worlds/{world}/history"),
    ("Look at merge(..., plan=True)", 'Send {"plan": true} to see its conflicts, each with its id'),
    ("Look at view.forks(...)", "Name the fork, as POST /v1/worlds/{world}/fork answered it"),
    (
        "Use a later view; to read what was true at a time by today's knowledge, give valid=",
        "Give a later time or commit; to read what was true at a time by today's knowledge, give valid",
    ),
    (
        "; or declare your own with db.define_relation(...), or register its handler with db.register(...)",
        "; or have the operator declare it with `worlddb relation NAME`",
    ),
    ("Give a file that `worlddb export` wrote", "Give the file of a job of POST /v1/bundles"),
    ("; take in conversations and documents with `worlddb ingest`", ""),
    (
        "Pass members=True to erase that too, or members=False to leave it",
        'Send {"members": true} to erase that too, or {"members": false} to leave it',
    ),
    (
        "Look at db.import_plan(...); if you accept all of it, import with allow_outside=True",
        "If you accept all of it, send it again with ?allow_outside=true",
    ),
    ("Import it with join=True, which keeps both,", "Send it again with ?join=true, which keeps both,"),
)
"""Phrases of remedies that name Python calls, and their replacements for HTTP."""
_NOTES: Final = {
    "not_changed": "{first} existed under its key, and these fields are unchanged: {others}; PATCH it, or POST to"
    " its aliases or move",
    "members_remain": "{first} ends, and its members stay valid: {others}; DELETE these too, or it with ?members=true",
    "members_left": "{first} was erased, and the texts of its members stay: {others}; erase these too, or send"
    ' {{"members": true}}, if necessary',
    "same_words_stay": "{first} was erased, and the same words stay in {others}; erase these too, or send"
    ' {{"everywhere": true}}, if they have to go',
    "copies_remain": "earlier copies of the store still have the texts, those of one world if they lay in it: {}. Make"
    " new ones, or delete them; the receipt at /v1/erasures lists all of them under not_reached",
    "not_restored": '{} was erased and its text was left out; send {{"revive": true}} if it may come back',
    "types_differ": "the edge types {} have other registrations here, which are unchanged",
    "tunings_differ": "for {} the resolver has other thresholds here, which are unchanged",
    "profiles_set": "the vocabulary of {} is now closed, as in the exporting store",
    "profiles_differ": "{} has another profile here, which is unchanged",
    "beliefs_differ": "the exporting store has belief settings for {}; those of this whole store are unchanged",
}
"""Texts for notes of receipts that name Python calls, in terms of HTTP."""
_STATUSES: Final[tuple[tuple[type[WorldDBError], int], ...]] = (
    (UnknownReference, 404),
    (AmbiguousReference, 409),
    (IdempotencyConflict, 409),
    (RefusedError, 409),
    (InvalidSparql, 400),
    (QueryLimit, 422),
    (LimitExceeded, 413),
    (InputError, 422),
    (PlanLimit, 403),
    (UnavailableError, 503),
    (WorldDBError, 503),
)


class RequestError(Exception):
    """A request that is answered with a problem."""

    def __init__(self, problem: Problem, headers: dict[str, str] | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers = headers or {}


def refusal(status: int, detail: str, remedy: str = "", *, code: str = "", **headers: Any) -> RequestError:
    """Return the error for a request that the server itself refuses."""
    problem = Problem(
        type=_TYPE,
        title=_TITLES[status],
        status=status,
        detail=detail,
        code=code or _CODES[status],
        remedy=remedy,
    )
    return RequestError(problem, {name.replace("_", "-"): str(value) for name, value in headers.items()})


def problem_of(error: WorldDBError, session: Session, *, conditional: bool) -> RequestError:
    """Return the problem details for an error of the engine, without what the session may not see.

    ``conditional``: the request had ``If-Match``, so a concurrent change is a failed precondition (412).
    """
    status = next(status for kind, status in _STATUSES if isinstance(error, kind))
    wait = 1 if status == 503 else 0
    if isinstance(error, PlanLimit) and error.details.get("kind") == "rate":
        status, wait = 429, ceil(error.details["retry_after"])
    if isinstance(error, PlanLimit) and error.details.get("limit") == "bytes_per_request":
        status = 413
    detail_name = "limit" if isinstance(error, QueryLimit | PlanLimit) else "reason"
    reason = str(error.details.get(detail_name, "")) or None
    if conditional and reason in CHANGED_MEANWHILE:
        return refusal(
            412, "The world has changed meanwhile", "Read it again, and send its new ETag", code="precondition_failed"
        )
    hidden = session.hidden(error)
    message, _, hidden_remedy = (hidden or "").partition(". ")
    detail, remedy = (message, hidden_remedy) if hidden is not None else (error.message, error.remedy)
    if isinstance(error, IdempotencyConflict):  # As the store has it, the key is of an account.
        by = f", by commit {error.details['seq']}" if hidden is None else ""
        how = f": {error.details['differs']}" if hidden is None and "differs" in error.details else ""
        detail = f"Another request was made under this Idempotency-Key{by}{how}"
        remedy = "Use a new key for a new request"
    remedy = _translate_remedy(remedy)
    problem = Problem(
        type=_TYPE, title=_TITLES[status], status=status, detail=detail, code=error.code, remedy=remedy, reason=reason
    )
    return RequestError(problem, {"Retry-After": str(wait)} if wait else None)


def _translate_remedy(remedy: str) -> str:
    """Return a remedy with routes instead of Python calls."""
    for call, route in _REMEDIES:
        remedy = remedy.replace(call, route)
    return remedy


def note_text(note: Note) -> str:
    """Return the text of a receipt's note, with routes instead of Python calls."""
    return note.told(_NOTES[note.code]) if note.code in _NOTES else str(note)


def response(problem: Problem, **headers: Any) -> Response:
    """Return problem details as an ASGI response, for guards."""
    named = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return Response(msgspec.json.encode(problem), problem.status, named, MEDIA_TYPE)


def guard_response(status: int, message: str, **headers: Any) -> Response:
    """Return the refusal of a guard, as :func:`worlddb.tools.mcp.http_guards.error_response` does for MCP.

    What its message says behind a colon or semicolon is the remedy.
    """
    detail, *remedy = re.split("[:;] ", message, maxsplit=1)
    return response(refusal(status, detail, *(each[:1].upper() + each[1:] for each in remedy)).problem, **headers)
