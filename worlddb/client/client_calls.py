"""The calls of the client as HTTP requests, and its errors."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple, Self
from urllib.parse import quote, unquote

import msgspec

from worlddb.client import wire_records as wire
from worlddb.log.model import errors, limits, times


class NotAdmitted(errors.WorldDBError):
    """The key is missing or invalid (``unauthorized``), lacks a right (``forbidden``), or opens one world only, and
    the request is about the whole store (``beyond_key``)."""

    code = "unauthorized"


class PreconditionFailed(errors.WorldDBError):
    """The world's hash differs from the one that the write rests on: read the world again."""

    code = "precondition_failed"


class RateLimited(errors.UnavailableError):
    """Too many requests; ``details["retry_after"]`` has the seconds to wait."""

    code = "too_many_requests"


class RequestRejected(errors.InputError):
    """The server does not accept the request."""

    code = "invalid"


class JobFailed(errors.WorldDBError):
    """A job failed without a known error; see the server's log."""

    code = "job_failed"


_BY_STATUS: Final[Mapping[int, type[errors.WorldDBError]]] = {
    401: NotAdmitted,
    403: NotAdmitted,
    412: PreconditionFailed,
    429: RateLimited,
    500: errors.UnavailableError,
    502: errors.UnavailableError,
    503: errors.UnavailableError,
    504: errors.UnavailableError,
}


def _by_code() -> dict[str, type[errors.WorldDBError]]:
    """All error classes by code."""
    found: dict[str, type[errors.WorldDBError]] = {}
    left = [errors.WorldDBError]
    while left:
        kind = left.pop()
        if kind.__module__ == errors.__name__:
            found.setdefault(kind.code, kind)
        left += kind.__subclasses__()
    return found


_BY_CODE: Final = _by_code()


def response_error(status: int, body: bytes, retry_after: str | None = None) -> errors.WorldDBError:
    """Return the error of a response: the class that the library would raise, if it has one."""
    try:
        problem = msgspec.json.decode(body, type=wire.Problem)
    except msgspec.DecodeError:
        kind = _BY_STATUS.get(status, RequestRejected)
        return kind(
            f"The server answered {status}, but not in the format of WorldDB",
            "Check the proxy or server between client and WorldDB",
        )
    kind = _BY_CODE.get(problem.code) or _BY_STATUS.get(problem.status, RequestRejected)
    details: dict[str, Any] = {"status": problem.status, "request_id": problem.request_id}
    if problem.reason is not None:
        details["reason"] = problem.reason
    if retry_after is not None:
        details["retry_after"] = retry_after
    error = kind(problem.detail, problem.remedy, **details)
    # Several codes share a status, such as those of a wrong key and of one that opens too little.
    vars(error)["code"] = problem.code
    return error


def problem_error(problem: wire.Problem | None) -> errors.WorldDBError:
    """Return the error of a failed job."""
    if problem is None:
        return JobFailed("The job failed", "Ask the operator of the server for its log")
    return response_error(problem.status, msgspec.json.encode(problem))


class SparqlBytes(bytes):
    """The bytes of a query's answer, with the ``media_type`` of their format.

    ``note`` lists names below ``wdb:`` in the query that are none, and says why a search in it could not go by meaning.
    """

    media_type: str = ""
    note: str = ""

    @classmethod
    def answered(cls, body: bytes, headers: Mapping[str, str]) -> Self:
        """Return a body with what its headers say of it."""
        found = cls(body)
        found.media_type = headers.get("content-type", "").partition(";")[0]
        found.note = unquote(headers.get("worlddb-note", ""))
        return found


class Request(NamedTuple):
    """A request, and the type of its answer; ``bytes`` for an answer that is returned unread."""

    method: str
    path: str
    answer: Any
    params: Mapping[str, Any] = {}
    body: Any = None
    headers: Mapping[str, str] = {}

    @property
    def writes(self) -> bool:
        """Whether the request may change something; long queries are sent by POST too."""
        return self.method != "GET" and self.answer not in (wire.Recalled, wire.RecallCheck, SparqlBytes)


def _with_iso_times(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given arguments, with times as ISO 8601."""
    return {name: _plain(name, value) for name, value in values.items() if value is not None}


_TIMES: Final = frozenset(
    ("ingested", "valid", "valid_from", "valid_to", "asked", "since", "until", "expires_at", "at")
)
_NEVER: Final = "never"
_SPANS: Final = frozenset(("during", "overlaps", "between"))
_OPEN: Final = ".."
_ENDS: Final = ("source", "type", "target")


_REFS: Final = frozenset(("about", "contradicts", "derived_from", "replaces", "scopes"))


_DEPTH: Final = 2 * limits.MAX_RECORD_DEPTH
_LARGEST: Final = limits.MAX_BUNDLE_BYTES
_IN_A_HEADER: Final = "Give letters, digits and signs of ASCII, on one line and without blanks around them"


def check_encodable(name: str, value: Any) -> None:
    """Check that a value can be written as JSON and in a URL.

    Raises:
        InputError: it has half of a pair, or a number that is not finite; or it is nested too deeply.
    """
    pending = [(name, value, 0)]
    while pending:
        place, each, depth = pending.pop()
        if isinstance(each, str):
            limits.checked_text(str(each), place, _LARGEST)
        elif isinstance(each, float) and not math.isfinite(each):
            raise errors.InputError(f"{place} is {each}", "Leave it out, or give a finite number")
        elif isinstance(each, list | tuple | dict):
            if depth > _DEPTH:
                raise errors.LimitExceeded(f"{place} is nested too deeply", "Nest it less")
            inside = (*each, *each.values()) if isinstance(each, dict) else each
            pending.extend((place, inner, depth + 1) for inner in inside)


def check_header(name: str, value: Any) -> str:
    """Return the value of a header, if a header can have it.

    Raises:
        InvalidText: it cannot.
    """
    given = limits.checked_text(value, name, limits.MAX_KEY_BYTES, empty=False)
    wrong = next((each for each in given if not (each.isascii() and each.isprintable())), None)
    if wrong is None and given != given.strip():
        wrong = " "
    if wrong is not None:
        raise errors.InvalidText(
            f"{name} is {errors.shown(value)}, and a header cannot have {wrong!r} there", _IN_A_HEADER
        )
    return given


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES and value != _NEVER:
        return times.format_time(times.parse_time(value, name))
    if name in _SPANS:
        if hasattr(value, "start") and hasattr(value, "end"):
            value = [None if each in (times.ALWAYS, times.FOREVER) else each for each in (value.start, value.end)]
        if not isinstance(value, list | tuple):
            remedy = "Give a list of two times; None leaves an end open"
            raise errors.InputError(f"{name} is {errors.shown(value)}, not two times", remedy)
        return [_OPEN if each in (None, _OPEN) else times.format_time(times.parse_time(each, name)) for each in value]
    if name in _REFS and isinstance(value, list | tuple):
        return [getattr(each, "ref", each) for each in value]
    if name in _REFS and name != "about" and not isinstance(value, str):
        return [getattr(value, "ref", value)]
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, dict):
        limits.checked_record(value, name)
    return getattr(value, "ref", value)


def _params(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in their form in URLs."""
    return {name: _param(name, value) for name, value in _with_iso_times(values).items()}


def _param(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    for each in value if isinstance(value, list | tuple) else (value,):
        if not isinstance(each, str | int | float):
            raise errors.InputError(
                f"{name} has {errors.shown(each)}, which a URL cannot have", "Give text or a number"
            )
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def _world(ref: Any) -> str:
    return _place("worlds", ref)


def _place(name: str, ref: Any) -> str:
    given = getattr(ref, "ref", ref)
    given = limits.checked_text(given, name.removesuffix("s"), limits.MAX_NAME_BYTES, empty=False)
    return f"/v1/{name}/" + quote(given, safe="")


def _take_headers(given: dict[str, Any]) -> dict[str, str]:
    """Remove the arguments of a write that are headers, and return them."""
    named = {name: given.pop(name, None) for name in ("idempotency_key", "if_match")}
    headers = {name: check_header(name, value) for name, value in named.items() if value is not None}
    marked = {"Idempotency-Key": headers.get("idempotency_key"), "If-Match": headers.get("if_match")}
    return {name: f'"{value}"' if name == "If-Match" else value for name, value in marked.items() if value}


def _encoded(name: str, text: Any) -> bytes:
    return limits.checked_text(text, name, _LARGEST).encode()


def _statements_body(statements: Iterable[Any]) -> dict[str, Any]:
    """Return statements as a request body, with their terms in N-Triples."""
    try:
        return {"statements": [[None if term is None else str(term) for term in each] for each in statements]}
    except (TypeError, RecursionError):
        remedy = "Give a list of (subject, predicate, object) or (subject, predicate, object, graph)"
        raise errors.InputError(f"statements is {errors.shown(statements)}", remedy) from None


def _pattern(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a pattern, with its terms in N-Triples; ``graph=None`` is the default graph."""
    values = {name: "default" if name == "graph" and value is None else value for name, value in options.items()}
    named = ("subject", "predicate", "object", "graph")
    return {name: str(value) if name in named and value is not None else value for name, value in values.items()}


@limits.typed_calls
class Calls(ABC):
    """What can be asked of a server. A world is a reference, a name, or a record or receipt with a ``ref``.

    Reads take ``ingested`` (or ``seq``) and ``valid``; lists take ``limit`` and ``cursor``; writes take
    ``idempotency_key``, and those of a world ``if_match``, a world hash. Other arguments are those of the library's
    call of the same name. Errors are those that the library raises.
    """

    @abstractmethod
    def _send(self, request: Request) -> Any:
        """Send a request; returns its answer, or an awaitable of it."""

    def _read(self, path: str, answer: Any, options: Mapping[str, Any]) -> Any:
        return self._send(Request("GET", path, answer, _params(options)))

    def _write(
        self, method: str, path: str, answer: Any, options: Mapping[str, Any], *, as_params: bool = False
    ) -> Any:
        given = dict(options)
        headers = _take_headers(given)
        if as_params:
            return self._send(Request(method, path, answer, _params(given), headers=headers))
        return self._send(Request(method, path, answer, body=_with_iso_times(given), headers=headers))

    # -- worlds

    def worlds(self, **options: Any) -> Any:
        """A page of :class:`~worlddb.client.wire_records.Worlds`: by ``name``, ``type``, ``label``."""
        return self._read("/v1/worlds", wire.Worlds, options)

    def get(self, ref: Any, **options: Any) -> Any:
        """A world."""
        return self._read(_world(ref), wire.World, options)

    def create(self, type: str, name: str, **fields: Any) -> Any:
        """Make a world; returns a receipt."""
        return self._write("POST", "/v1/worlds", wire.Receipt, {"type": type, "name": name, **fields})

    def claim(self, name: str) -> Any:
        """The world of a name, created if it is missing."""
        return self._send(Request("PUT", _world(name), wire.World))

    def revise(self, ref: Any, **fields: Any) -> Any:
        """Give a world a new version; returns a receipt."""
        return self._write("PATCH", _world(ref), wire.Receipt, fields)

    def retire(self, ref: Any, **fields: Any) -> Any:
        """End the validity of a world; returns a receipt."""
        return self._write("DELETE", _world(ref), wire.Receipt, fields, as_params=True)

    def reassert(self, ref: Any, **fields: Any) -> Any:
        """Resume a world that had ended; returns a receipt."""
        return self._write("POST", f"{_world(ref)}/reassert", wire.Receipt, fields)

    def move(self, ref: Any, to: Any, **fields: Any) -> Any:
        """Move a world into another one; returns a receipt."""
        return self._write("POST", f"{_world(ref)}/move", wire.Receipt, {"to": to, **fields})

    def alias(self, ref: Any, *aliases: str, **fields: Any) -> Any:
        """Give a world further names; returns a receipt."""
        return self._write("POST", f"{_world(ref)}/aliases", wire.Receipt, {"aliases": aliases, **fields})

    def members(self, ref: Any, **options: Any) -> Any:
        """A page of what a world contains, at any depth."""
        return self._read(f"{_world(ref)}/members", wire.Worlds, options)

    def add(self, ref: Any, type: str, name: str, **fields: Any) -> Any:
        """Create a world inside another one, which is created if it is missing; returns a receipt."""
        return self._write("POST", f"{_world(ref)}/members", wire.Receipt, {"type": type, "name": name, **fields})

    def history(self, ref: Any, **options: Any) -> Any:
        """Every version of a world."""
        return self._read(f"{_world(ref)}/history", wire.Versions, options)

    def timeline(self, ref: Any, **options: Any) -> Any:
        """The history of what was known about a world's validity."""
        return self._read(f"{_world(ref)}/timeline", wire.Steps, options)

    # -- edges

    def link(self, *ends: Any, **fields: Any) -> Any:
        """Write an edge, as ``link(source, type, target)`` or with these by name; returns a receipt.

        ``source`` is the world that it leads from. Where it was learned goes into ``why``, ``properties`` or
        ``context``, as ``{"evidence": ...}``.

        Raises:
            InputError: one of the three is missing, or was given twice, as where ``source`` is to be a provenance.
        """
        named = dict(zip(_ENDS, ends, strict=False))
        twice = [name for name in named if name in fields]
        missing = [name for name in _ENDS if name not in named and name not in fields]
        if twice or missing or len(ends) > len(_ENDS):
            what = "There are more positional arguments than source, type and target"
            if twice or missing:
                what = f"{twice[0]} was given twice" if twice else f"{missing[0]} is missing"
            raise errors.InputError(
                f"link(source, type, target): {what}",
                "Give each once: source is the world at the start of the edge. Put the provenance into why,"
                " properties, or context={'evidence': ...}",
            )
        return self._write("POST", "/v1/edges", wire.Receipt, {**named, **fields})

    def unlink(self, edge: Any, **fields: Any) -> Any:
        """Retract an edge; with ``valid_from`` or ``valid_to`` end it, or suspend it; returns a receipt."""
        return self._write("DELETE", _place("edges", edge), wire.Receipt, fields, as_params=True)

    def edge(self, ref: Any, **options: Any) -> Any:
        """An edge."""
        return self._read(_place("edges", ref), wire.Edge, options)

    def edges(self, ref: Any, **options: Any) -> Any:
        """A page of the edges of a world."""
        return self._read(f"{_world(ref)}/edges", wire.Edges, options)

    # -- memories

    def remember(self, world: Any, text: str, **fields: Any) -> Any:
        """Remember a statement in a world, which is created if it is missing."""
        return self._write("POST", f"{_world(world)}/memories", wire.Remembered, {"text": text, **fields})

    def recall(self, text: str, **options: Any) -> Any:
        """The best answers to a question, inside ``world`` if one is given."""
        return self._write("POST", "/v1/recall", wire.Recalled, {"text": text, **options})

    def check_recall(self, receipt: str, text: str, **filters: Any) -> Any:
        """Check a recall's receipt by asking again, with the filters that hold texts."""
        return self._write("POST", "/v1/recall/check", wire.RecallCheck, {"receipt": receipt, "text": text, **filters})

    def mark(self, ref: Any, **marks: Any) -> Any:
        """Pin, label, hide, deprecate or tag a world; returns a receipt.

        ``pinned``, ``expires_at`` (``"never"`` lifts it) or ``ttl``, ``add_labels``, ``remove_labels``, ``deprecated``,
        ``tag`` with ``version``, ``untag``.
        """
        return self._write("POST", f"{_world(ref)}/marks", wire.Receipt, marks)

    def context(self, world: Any, text: str, **options: Any) -> Any:
        """The memories of a world for a question, as a text for a prompt."""
        return self._read(f"{_world(world)}/context", wire.Context, {"text": text, **options})

    # -- statements, and forks

    def statements(self, world: Any, **options: Any) -> Any:
        """A page of the statements of a world: by ``subject``, ``predicate``, ``object``, ``graph``."""
        return self._read(f"{_world(world)}/statements", wire.Statements, _pattern(options))

    def erased_statements(self, world: Any, **options: Any) -> Any:
        """Statements of a world with an erased text, and who erased it and when."""
        return self._read(f"{_world(world)}/statements/erased", wire.ErasedStatements, options)

    def state(self, world: Any, statements: Iterable[Any], **fields: Any) -> Any:
        """State RDF statements in a world, which is created if it is missing; returns a receipt.

        A statement is (subject, predicate, object) or (subject, predicate, object, graph), of terms or their texts.
        """
        return self._write("POST", f"{_world(world)}/statements", wire.Receipt, _statements_body(statements) | fields)

    def unstate(self, world: Any, statements: Iterable[Any] | None = None, **fields: Any) -> Any:
        """Retract statements of a world: the given ones, or those that match a pattern; returns a receipt."""
        body = None if statements is None else _statements_body(statements)
        given = _pattern(fields)
        headers = _take_headers(given)
        path = f"{_world(world)}/statements"
        return self._send(Request("DELETE", path, wire.Receipt, _params(given), body, headers))

    def sparql(self, query: str, *, world: Any = None, format: str = "", **options: Any) -> Any:
        """The :class:`SparqlBytes` of a SPARQL query, in a ``format`` that is a media type."""
        path = "/v1/sparql" if world is None else f"{_world(world)}/sparql"
        headers = {"Content-Type": "application/sparql-query"}
        headers |= {"Accept": check_header("format", format)} if format else {}
        return self._send(Request("POST", path, SparqlBytes, _params(options), _encoded("query", query), headers))

    def sparql_update(
        self,
        update: str,
        *,
        world: Any,
        using_graphs: Any = (),
        using_named_graphs: Any = (),
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> Any:
        """Change the statements of a world by a SPARQL 1.1 update; returns a receipt."""
        using = {"using-graph-uri": using_graphs, "using-named-graph-uri": using_named_graphs}
        conditions = _take_headers({"idempotency_key": idempotency_key, "if_match": if_match})
        headers = {"Content-Type": "application/sparql-update"} | conditions
        path, options = f"{_world(world)}/sparql", _params(using)
        return self._send(Request("POST", path, wire.Receipt, options, _encoded("update", update), headers))

    def fork(self, world: Any, name: str | None = None, **fields: Any) -> Any:
        """Fork a world; returns a receipt, whose ``ref`` is the fork."""
        return self._write("POST", f"{_world(world)}/fork", wire.Receipt, {"name": name, **fields})

    def forks(self, world: Any, **options: Any) -> Any:
        """The forks of a world, and its own origin."""
        return self._read(f"{_world(world)}/forks", wire.Forks, options)

    def merge(self, fork: Any, **fields: Any) -> Any:
        """Merge a fork into its origin, or return the plan of the merge."""
        return self._write("POST", f"{_world(fork)}/merge", wire.Merged, fields)

    # -- decisions, and the store as a whole

    def proposals(self, **options: Any) -> Any:
        """A page of staged identities."""
        return self._read("/v1/proposals", wire.Proposals, options)

    def accept(self, proposal: Any, **fields: Any) -> Any:
        """Accept a staged identity; returns a receipt."""
        return self._write("POST", f"{_place('proposals', proposal)}/accept", wire.Receipt, fields)

    def reject(self, proposal: Any, **fields: Any) -> Any:
        """Reject a staged identity; returns a receipt."""
        return self._write("POST", f"{_place('proposals', proposal)}/reject", wire.Receipt, fields)

    def undo(self, proposal: Any, **fields: Any) -> Any:
        """Undo an accepted identity; returns a receipt."""
        return self._write("POST", f"{_place('proposals', proposal)}/undo", wire.Receipt, fields)

    def conflicts(self, **options: Any) -> Any:
        """A page of contradictions between worlds that both hold."""
        return self._read("/v1/conflicts", wire.Conflicts, options)

    def log(self, **options: Any) -> Any:
        """A page of the events of the log."""
        return self._read("/v1/log", wire.Entries, options)

    def head(self, **options: Any) -> Any:
        """The state of the store."""
        return self._read("/v1/head", wire.Head, options)

    def prove(self, ref: Any, **options: Any) -> Any:
        """A proof that a world or an edge existed, with its text as ``proof``."""
        return self._read("/v1/proofs", wire.Proof, {"ref": ref, **options})

    def erasure_receipt(self, seq: int) -> Any:
        """The receipt of the erasure by a commit."""
        number = limits.checked_number(seq, "seq", 0, limits.HIGHEST_SEQ)
        return self._read(f"/v1/erasures/{number}", wire.ErasureReceipt, {})

    def usage(self, key: str | None = None, **options: Any) -> Any:
        """The usage of the key, or for an admin of the store of every key: ``since``, ``until``, ``by``."""
        return self._read("/v1/usage", wire.UsageFigures, {"key": key, **options})

    # -- jobs; `wait` gives what came of one

    def begin_verify(self, **options: Any) -> Any:
        """Start a verification; returns a job."""
        return self._write("POST", "/v1/verify", wire.Job, options)

    def begin_erase(self, ref: Any, reason: str, **fields: Any) -> Any:
        """Start an erasure, or with ``plan=True`` its plan; returns a job."""
        return self._write("POST", f"{_world(ref)}/erase", wire.Job, {"reason": reason, **fields})

    def begin_export(self, world: Any = None, **options: Any) -> Any:
        """Start exporting a world as a bundle; returns a job, whose file is the bundle."""
        return self._write("POST", "/v1/bundles", wire.Job, {"world": world, **options})

    def begin_import(self, bundle: bytes, **options: Any) -> Any:
        """Start importing a bundle; returns a job."""
        if not isinstance(bundle, bytes):
            raise errors.InputError(f"bundle is {type(bundle).__name__}, not bytes", "Give the bytes of its file")
        return self._send(Request("POST", "/v1/bundles/import", wire.Job, _params(options), bundle))

    def job(self, job: Any) -> Any:
        """The state of a job."""
        return self._read(_place("jobs", getattr(job, "id", job)), wire.Job, {})

    def file(self, job: Any) -> Any:
        """The bytes of a job's file."""
        return self._read(f"{_place('jobs', getattr(job, 'id', job))}/file", bytes, {})
