"""One request to an endpoint, with an end to everything that may take long."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from worlddb.log.model.clock import monotonic
from worlddb.log.model.errors import InputError

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
        raise InputError(f"The endpoint is {type(url).__name__}", remedy)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"The endpoint {url!r:.80} is no URL: {error}", remedy) from None
    if parts.username is not None or parts.password is not None:
        raise InputError("The endpoint's URL holds a name or a password", "Give the key apart from it")
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not plain:
        raise InputError(f"The endpoint {url!r:.80} is no plain URL of HTTP", remedy)
    return Address(parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/"))


def post(to: Address, path: str, body: bytes, headers: Mapping[str, str], *, seconds: float, most_bytes: int) -> Reply:
    """Send a body and take the answer, in so many seconds at most from when the connection stands. No redirects.

    Raises:
        Unanswered: the endpoint was not reached, hung up, took too long, or said more than ``most_bytes``.
    """
    kind = http.client.HTTPSConnection if to.secure else http.client.HTTPConnection
    connection = kind(to.host, to.port, timeout=seconds)
    began = monotonic()
    try:
        connection.connect()
        with _ended_after(connection.sock, seconds):
            connection.request("POST", f"{to.path}{path}", body, dict(headers))
            response = connection.getresponse()
            answer = _read(response, most_bytes)
            if monotonic() - began >= seconds:
                raise TimeoutError
            return Reply(response.status, answer, response.headers.get("Retry-After", ""))
    except (OSError, http.client.HTTPException, ValueError, Unanswered) as error:
        # Hanging up looks like the endpoint's own doing, to whoever waits for it.
        slow = isinstance(error, TimeoutError) or monotonic() - began >= seconds
        raise Unanswered(f"it took longer than {seconds:g} seconds" if slow else _told(error)) from error
    finally:
        connection.close()


@contextmanager
def _ended_after(sock: socket.socket, seconds: float) -> Iterator[None]:
    """Hang up after so many seconds, however often a little comes: a socket's own timeout is of each wait alone."""

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
