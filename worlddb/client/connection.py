"""The two clients: a blocking one and an asynchronous one."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final, Self

import msgspec

from worlddb.client import wire_records as wire
from worlddb.client.client_calls import (
    Calls,
    Request,
    SparqlBytes,
    check_encodable,
    check_header,
    problem_error,
    response_error,
)
from worlddb.log.model import errors, limits

try:
    import httpx
except ModuleNotFoundError as error:
    raise errors.UnavailableError(f"The client cannot be loaded: {error}", "pip install 'worlddb[server]'") from None

TIMEOUT_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.1
_OWN_OPTIONS: Final = frozenset(("base_url", "headers", "timeout"))
"""Options of httpx that a client sets itself."""


@limits.typed_arguments
def connect(url: str, key: str | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS, **options: Any) -> "Client":
    """Return a client of the server at a URL; ``options`` go to ``httpx.Client``.

    No request is made yet. Close it, or use it in a ``with`` block.

    Raises:
        InputError: the URL is none of HTTP, no header can carry the key, or the time is no number.
    """
    return Client(httpx.Client(**_client_options(url, key, timeout_seconds, options), **options))


@limits.typed_arguments
def connect_async(
    url: str, key: str | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS, **options: Any
) -> "AsyncClient":
    """Return an asynchronous client; ``options`` go to ``httpx.AsyncClient``."""
    return AsyncClient(httpx.AsyncClient(**_client_options(url, key, timeout_seconds, options), **options))


def _client_options(url: Any, key: Any, timeout_seconds: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked arguments of an httpx client besides its other ``options``."""
    others = (name for name in limits.argument_names(httpx.Client.__init__) if name not in _OWN_OPTIONS)
    limits.check_argument_names("connect", options, ("url", "key", "timeout_seconds", *others))
    why = ""
    try:
        parsed = httpx.URL(url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            why = ", which does not begin with http:// or https:// and a host"
    except (httpx.InvalidURL, TypeError, UnicodeError) as error:
        why = f", which is not a URL: {error}"
    if why:
        raise errors.InputError(f"url is {errors.shown(url)}{why}", "Give it as http://127.0.0.1:8767")
    if timeout_seconds is not None:
        limits.checked_amount(timeout_seconds, "timeout_seconds")
    return {"base_url": url, "headers": _headers(key), "timeout": timeout_seconds}


def _headers(key: Any) -> dict[str, str]:
    if key is None:
        return {}
    try:
        return {"Authorization": f"Bearer {check_header('key', key)}"}
    except errors.InputError:  # Which shows what it is about, and a key is a secret.
        raise errors.InputError(
            "key has characters that a header cannot have", "Give the key as it was made, without a line end"
        ) from None


def _httpx_request(http: httpx.Client | httpx.AsyncClient, request: Request) -> dict[str, Any]:
    """Return a request as arguments of httpx.

    Raises:
        StoreClosed: the client was closed.
        InputError: something in it cannot be sent.
    """
    if http.is_closed:
        raise errors.StoreClosed(f"The client of {_server_address(http)} was closed", "Connect again")
    for part in (request.params, request.body):
        for name, value in part.items() if isinstance(part, Mapping) else ():
            check_encodable(name, value)
    told: dict[str, Any] = {"params": dict(request.params), "headers": dict(request.headers)}
    if isinstance(request.body, bytes):
        told["content"] = request.body
        told["headers"].setdefault("Content-Type", "application/octet-stream")
    elif request.body is not None:
        try:
            told["content"] = msgspec.json.encode(request.body)
        except TypeError as error:
            raise errors.InputError(
                f"The request cannot be sent: {error}", "Give values that JSON can express"
            ) from None
        told["headers"]["Content-Type"] = "application/json"
    return told


def _answer(request: Request, response: httpx.Response) -> Any:
    if not response.is_success:
        raise response_error(response.status_code, response.content, response.headers.get("retry-after"))
    if request.answer is bytes:
        return response.content
    if request.answer is SparqlBytes:
        return SparqlBytes.answered(response.content, response.headers)
    try:
        return msgspec.json.decode(response.content, type=request.answer)
    except msgspec.DecodeError as error:
        raise errors.UnavailableError(f"The answer has an unexpected form: {error}", "Upgrade the client") from None


_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def _connection_error(
    http: httpx.Client | httpx.AsyncClient, request: Request, error: Exception
) -> errors.WorldDBError:
    """Return the error for a request without an answer; the outcome of a sent write is unknown."""
    if isinstance(error, httpx.InvalidURL):
        return errors.InputError(f"The request has no URL: {error}", "Shorten the names and texts in it")
    server, why = f"The server at {_server_address(http)}", type(error).__name__
    if isinstance(error, _NOT_SENT):
        return errors.UnavailableError(f"{server} was not reached: {why}", "Try again")
    if not request.writes:
        return errors.UnavailableError(f"{server} did not answer: {why}", "Try again")
    remedy = (
        "Send it again unchanged: under its idempotency_key it has one effect"
        if "Idempotency-Key" in request.headers
        else "Check its effect before you send it again; with an idempotency_key it has one effect"
    )
    return errors.UnavailableError(f"{server} did not answer, and may have carried out the request: {why}", remedy)


def _server_address(http: httpx.Client | httpx.AsyncClient) -> str:
    """Return the server's address, without a password that the URL may have."""
    return http.base_url.netloc.decode()


class _Events:
    """Parses server-sent events line by line."""

    def __init__(self) -> None:
        self.last = ""
        self._data = ""

    def read(self, line: str) -> wire.Entry | None:
        """Read a line; returns an entry when one is complete."""
        name, _, value = line.partition(": ")
        if name == "id":
            self.last = value
        elif name == "data":
            self._data = value
        elif not line and self._data:
            data, self._data = self._data, ""
            return msgspec.json.decode(data, type=wire.Entry)
        return None


def _follow_request(after: str | None) -> Request:
    return Request("GET", "/v1/events", None, {} if after is None else {"after": after})


@limits.typed_calls
class Client(Calls):
    """A blocking client. Threads may share it."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def _send(self, request: Request) -> Any:
        try:
            response = self._http.request(request.method, request.path, **_httpx_request(self._http, request))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _connection_error(self._http, request, error) from None
        return _answer(request, response)

    def wait(self, job: wire.Job) -> wire.Job:
        """Wait until a job has ended.

        Raises:
            WorldDBError: it failed; as the library would have raised it.
        """
        pause = threading.Event()
        while job.status == "running":
            pause.wait(_LOOK_SECONDS)
            job = self.job(job)
        if job.status == "failed":
            raise problem_error(job.problem)
        return job

    def follow(self, after: str | None = None) -> Iterator[tuple[str, wire.Entry]]:
        """Yield events of the log as they come, each with its id for ``after``; ends with the connection."""
        read, request = _Events(), _follow_request(after)
        try:
            with self._http.stream(
                "GET", request.path, **_httpx_request(self._http, request), timeout=None
            ) as response:
                if not response.is_success:
                    raise response_error(response.status_code, response.read())
                for line in response.iter_lines():
                    entry = read.read(line)
                    if entry is not None:
                        yield read.last, entry
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _connection_error(self._http, request, error) from None

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@limits.typed_calls
class AsyncClient(Calls):
    """A client whose calls are awaited."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def _send(self, request: Request) -> Any:
        try:
            response = await self._http.request(request.method, request.path, **_httpx_request(self._http, request))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _connection_error(self._http, request, error) from None
        return _answer(request, response)

    async def wait(self, job: wire.Job) -> wire.Job:
        """Wait until a job has ended; raises as :meth:`Client.wait`."""
        while job.status == "running":
            await asyncio.sleep(_LOOK_SECONDS)
            job = await self.job(job)
        if job.status == "failed":
            raise problem_error(job.problem)
        return job

    async def follow(self, after: str | None = None) -> AsyncIterator[tuple[str, wire.Entry]]:
        """Yield events of the log as they come, each with its id for ``after``; ends with the connection."""
        read, request = _Events(), _follow_request(after)
        try:
            async with self._http.stream(
                "GET", request.path, **_httpx_request(self._http, request), timeout=None
            ) as response:
                if not response.is_success:
                    raise response_error(response.status_code, await response.aread())
                async for line in response.aiter_lines():
                    entry = read.read(line)
                    if entry is not None:
                        yield read.last, entry
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _connection_error(self._http, request, error) from None

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
