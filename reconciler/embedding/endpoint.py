"""Models behind HTTP endpoints that speak OpenAI's protocol, and an embedder behind one.

Every request has an end: connecting, waiting and reading are bounded in time and size.
"""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn
from urllib.parse import urlsplit

import msgspec

from worlddb.log.model import clock, errors, limits
from worlddb.reconciler.embedding.adapter import Adapter, checked_model

if TYPE_CHECKING:
    from worlddb.reconciler.embedding.embedder import Vectors

_CHUNK_BYTES: Final = 65_536


class Unanswered(Exception):
    """No whole answer came, and why."""


class Address(NamedTuple):
    """Where an endpoint is."""

    secure: bool
    host: str
    port: int | None
    path: str


class Reply(NamedTuple):
    """An answer as it came."""

    status: int
    body: bytes
    retry_after: str


def address_of(url: object) -> Address:
    """Where a URL leads.

    Raises:
        InputError: it is no URL of HTTP, or holds a name and password, which would be told in errors.
    """
    remedy = "Give one such as https://host/v1"
    if not isinstance(url, str):
        raise errors.InputError(f"The endpoint is {type(url).__name__}", remedy)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise errors.InputError(f"The endpoint {url!r:.80} is no URL: {error}", remedy) from None
    if parts.username is not None or parts.password is not None:
        raise errors.InputError("The endpoint's URL holds a name or a password", "Give the key apart from it")
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not plain:
        raise errors.InputError(f"The endpoint {url!r:.80} is no plain URL of HTTP", remedy)
    return Address(parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/"))


def post(to: Address, path: str, body: bytes, headers: Mapping[str, str], *, seconds: float, most_bytes: int) -> Reply:
    """Send a body and take the answer, without following redirects.

    It takes so many seconds at most from when the connection stands.

    Raises:
        Unanswered: the endpoint was not reached, hung up, took too long, or said more than ``most_bytes``.
    """
    kind = http.client.HTTPSConnection if to.secure else http.client.HTTPConnection
    connection = kind(to.host, to.port, timeout=seconds)
    began = clock.monotonic()
    try:
        connection.connect()
        with _ended_after(connection.sock, seconds):
            connection.request("POST", f"{to.path}{path}", body, dict(headers))
            response = connection.getresponse()
            answer = _read(response, most_bytes)
            if clock.monotonic() - began >= seconds:
                raise TimeoutError
            return Reply(response.status, answer, response.headers.get("Retry-After", ""))
    except (OSError, http.client.HTTPException, ValueError, Unanswered) as error:
        # Hanging up looks like the endpoint's own doing, to whoever waits for it.
        slow = isinstance(error, TimeoutError) or clock.monotonic() - began >= seconds
        raise Unanswered(f"it took longer than {seconds:g} seconds" if slow else _told(error)) from error
    finally:
        connection.close()


@contextmanager
def _ended_after(sock: socket.socket, seconds: float) -> Iterator[None]:
    """Hang up after so many seconds, however often a little comes.

    A socket's own timeout is of each wait alone.
    """

    def hang_up() -> None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    timer = Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read(response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := response.read1(_CHUNK_BYTES):
        parts.append(part)
        size += len(part)
        if size > most_bytes:
            raise Unanswered(f"it said more than {most_bytes:,} bytes")
    if response.length:
        raise Unanswered("it hung up in the middle of its answer")
    return b"".join(parts)


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__


TIMEOUT_SECONDS: Final = 30.0
MAX_RETRIES: Final = 10
MAX_BATCH_TEXTS: Final = 2_048
FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 10.0
"""Between two attempts: twice as long each time, or as long as the endpoint asks for, but no longer than this."""
MAX_CHARACTERS: Final = 24_000
"""How much of a text is sent; models read no more."""

_BYTES_A_NUMBER: Final = 40
_PASSING: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""What an endpoint says that may be otherwise in a moment."""


ANTHROPIC_VERSION: Final = "2023-06-01"


def _nothing(body: bytes) -> None:
    """Let every request be sent."""


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Row]


class Endpoint:
    """A model behind a URL; see :class:`EndpointEmbedder` for its arguments.

    Raises:
        InputError: an argument is not what it should be.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None,
        timeout_seconds: float,
        retries: int,
        interface: str = "openai",
    ) -> None:
        self._interface = interface
        self.before_post: Callable[[bytes], None] = _nothing
        """Called with each body before it is sent; what it raises ends the asking."""
        self.address: Address = address_of(url)
        self.model = checked_model(model)
        if key is not None and not (key.isascii() and key.isprintable()):
            raise errors.InputError(
                "The endpoint's key has characters that no header may have", "Check it for line ends"
            )
        self._key = key
        self._seconds = limits.checked_amount(timeout_seconds, "timeout_seconds")
        if not self._seconds:
            raise errors.InputError("timeout_seconds is 0", "Give the endpoint some time")
        self.retries = limits.checked_number(retries, "retries", 0, MAX_RETRIES)

    def asked(self, path: str, body: bytes, most_bytes: int) -> bytes:
        """Post a body and return the answer; what failed and may succeed later is repeated.

        Raises:
            ModelUnavailable: the endpoint was not reached, did not answer in time, or refused.
        """
        wait = FIRST_WAIT_SECONDS
        for attempt in range(self.retries + 1):
            try:
                reply = self._post(path, body, most_bytes)
            except Unanswered as error:
                told = f"did not answer: {error}"
            else:
                if reply.status == 200:
                    return reply.body
                told = f"answered with {reply.status}"
                if reply.status not in _PASSING:
                    self._refused(reply)
                wait = _asked_wait(reply, wait)
            if attempt < self.retries:
                clock.pause(min(wait, LONGEST_WAIT_SECONDS))
                wait *= 2
        attempts = f"{self.retries + 1} attempts" if self.retries else "one attempt"
        raise errors.ModelUnavailable(
            f"The endpoint at {self.address.host} {told}, after {attempts}", "Try again later, or look at the endpoint"
        )

    def _post(self, path: str, body: bytes, most_bytes: int) -> Reply:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._interface == "anthropic":
            headers |= {"anthropic-version": ANTHROPIC_VERSION} | ({"x-api-key": self._key} if self._key else {})
        elif self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self.before_post(body)
        return post(self.address, path, body, headers, seconds=self._seconds, most_bytes=most_bytes)

    def _refused(self, reply: Reply) -> NoReturn:
        if reply.status in (401, 403):
            # What it says may hold a part of the key.
            given = "the key that was given" if self._key else "a request without a key"
            raise errors.ModelUnavailable(
                f"The endpoint at {self.address.host} answered with {reply.status} to {given}", "Check the key"
            )
        said = " ".join(reply.body[:2_000].decode("utf-8", "replace").split())
        if self._key:
            said = said.replace(self._key, "***")
        raise errors.ModelUnavailable(
            f"The endpoint at {self.address.host} answered with {reply.status}: {said[:200]}",
            f"Check its URL and that it has the model {self.model!r:.80}",
        )


class EndpointEmbedder(Adapter):
    """A model behind ``POST <url>/embeddings``, as OpenAI and most local servers have it.

    ``url`` ends before ``/embeddings``, such as ``http://localhost:11434/v1``. ``key`` is sent as a bearer token and is
    recorded nowhere. An attempt takes ``timeout_seconds`` at most; one that failed and may succeed later is repeated up
    to ``retries`` times. ``batch_texts`` go into one request. Without a ``dimension`` the endpoint is asked once.

    Raises:
        InputError: an argument is not what it should be.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        dimension: int | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = 2,
        batch_texts: int = 64,
    ) -> None:
        self._endpoint = Endpoint(url, model, key=key, timeout_seconds=timeout_seconds, retries=retries)
        self._name = self._endpoint.model
        super().__init__(f"endpoint/{self._name}", dimension)
        self._batch = limits.checked_number(batch_texts, "batch_texts", 1, MAX_BATCH_TEXTS)
        self._given = dimension

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """One row for each text; zeros for one that is blank, which endpoints refuse.

        Raises:
            ModelUnavailable: the endpoint was not reached, did not answer in time, refused, or answered with something
                else than an embedding of each text.
        """
        import numpy as np

        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        said = [place for place, text in enumerate(texts) if text.strip()]
        for first in range(0, len(said), self._batch):
            places = said[first : first + self._batch]
            rows = self._asked([texts[place] for place in places])
            if len(rows[0]) != self.dimension:
                raise errors.InputError(
                    f"The endpoint gave {len(rows[0])} numbers for a text with the model {self._name!r:.80}, not"
                    f" {self.dimension}",
                    "Name the dimension that the model has, or the model that was meant",
                )
            with np.errstate(over="ignore"):  # What is too large becomes infinite, which is told of later.
                found[places] = rows
        return found

    def __repr__(self) -> str:
        return f"<EndpointEmbedder {self._name!r} at {self._endpoint.address.host}>"

    def _first(self, texts: Sequence[str]) -> list[list[float]]:
        return self._asked(texts)

    def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        body = msgspec.json.encode({"model": self._name, "input": [text[:MAX_CHARACTERS] for text in texts]})
        most = len(texts) * (limits.MAX_DIMENSION if self._given is None else self._given) * _BYTES_A_NUMBER + 65_536
        return self._rows(self._endpoint.asked("/embeddings", body, most), len(texts))

    def _rows(self, body: bytes, count: int) -> list[list[float]]:
        try:
            rows = {row.index: row.embedding for row in msgspec.json.decode(body, type=_Answer).data}
        except (msgspec.DecodeError, ValueError) as error:
            self._misunderstood(str(error))
        if set(rows) != set(range(count)):
            self._misunderstood(f"it has embeddings of {len(rows)} texts, not of {count}")
        if len({len(row) for row in rows.values()}) != 1 or not rows[0]:
            self._misunderstood("its embeddings are not of one length")
        return [rows[place] for place in range(count)]

    def _misunderstood(self, why: str) -> NoReturn:
        raise errors.ModelUnavailable(
            f"The endpoint at {self._endpoint.address.host} did not answer with embeddings: {why}",
            "Check that its URL ends before /embeddings",
        )


def _asked_wait(reply: Reply, wait: float) -> float:
    """How long the endpoint asks to wait, if it says so in seconds."""
    asked = reply.retry_after
    return float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else wait
