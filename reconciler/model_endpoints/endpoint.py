"""Models behind HTTP endpoints that speak OpenAI's or Anthropic's protocol.

Every request has an end: connecting, waiting and reading are bounded in time and size, and a chat's costs are counted.
"""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, TypeVar
from urllib.parse import urlsplit

import msgspec

from worlddb.log.model import clock, errors, limits

_CHUNK_BYTES: Final = 65_536
_T = TypeVar("_T")


class NoAnswer(Exception):
    """No complete answer arrived; the message tells why."""


class Address(NamedTuple):
    """The address of an endpoint."""

    secure: bool
    host: str
    port: int | None
    path: str


class Reply(NamedTuple):
    """An answer as it was received."""

    status: int
    body: bytes
    retry_after: str


def address_of(url: object) -> Address:
    """The address in a URL.

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
        raise errors.InputError(f"The endpoint {url!r:.80} is not a URL: {error}", remedy) from None
    if parts.username is not None or parts.password is not None:
        raise errors.InputError("The endpoint's URL contains a name or a password", "Give the key separately")
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not plain:
        raise errors.InputError(f"The endpoint {url!r:.80} is not a plain HTTP URL", remedy)
    return Address(parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/"))


def post(to: Address, path: str, body: bytes, headers: Mapping[str, str], *, seconds: float, most_bytes: int) -> Reply:
    """Post a body and read the answer, without following redirects.

    It takes so many seconds at most from when the connection stands.

    Raises:
        Unanswered: the endpoint was not reached, hung up, took too long, or said more than ``most_bytes``.
    """
    kind = http.client.HTTPSConnection if to.secure else http.client.HTTPConnection
    connection = kind(to.host, to.port, timeout=seconds)
    began = clock.monotonic()
    try:
        connection.connect()
        with _deadline(connection.sock, seconds):
            connection.request("POST", f"{to.path}{path}", body, dict(headers))
            response = connection.getresponse()
            answer = _read(response, most_bytes)
            if clock.monotonic() - began >= seconds:
                raise TimeoutError
            return Reply(response.status, answer, response.headers.get("Retry-After", ""))
    except (OSError, http.client.HTTPException, ValueError, NoAnswer) as error:
        # Our own deadline looks as if the endpoint had closed the connection.
        slow = isinstance(error, TimeoutError) or clock.monotonic() - began >= seconds
        raise NoAnswer(f"it took longer than {seconds:g} seconds" if slow else _describe_error(error)) from error
    finally:
        connection.close()


@contextmanager
def _deadline(sock: socket.socket, seconds: float) -> Iterator[None]:
    """Close the connection after so many seconds, even if data still arrives.

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
            raise NoAnswer(f"its answer exceeds {most_bytes:,} bytes")
    if response.length:
        raise NoAnswer("it closed the connection in the middle of its answer")
    return b"".join(parts)


def _describe_error(error: Exception) -> str:
    return str(error) or type(error).__name__


TIMEOUT_SECONDS: Final = 30.0
MAX_RETRIES: Final = 10
FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 10.0
"""Between two attempts: twice as long each time, or as long as the endpoint asks for, but no longer than this."""

_PASSING: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Status codes after which a retry may succeed."""


ANTHROPIC_VERSION: Final = "2023-06-01"


def _send_all(body: bytes) -> None:
    """Allow every request."""


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
        self.before_post: Callable[[bytes], None] = _send_all
        """Called with each body before it is sent; what it raises ends the asking."""
        self.address: Address = address_of(url)
        self.model = limits.checked_text(model, "the name of the model", limits.MAX_NAME_BYTES, empty=False)
        if key is not None and not (key.isascii() and key.isprintable()):
            raise errors.InputError(
                "The endpoint's key has characters that an HTTP header cannot have", "Check it for line ends"
            )
        self._key = key
        self._seconds = limits.checked_amount(timeout_seconds, "timeout_seconds")
        if not self._seconds:
            raise errors.InputError("timeout_seconds is 0", "Give a longer time")
        self.retries = limits.checked_number(retries, "retries", 0, MAX_RETRIES)

    def post(self, path: str, body: bytes, most_bytes: int) -> bytes:
        """Post a body and return the answer; failures that may pass are retried.

        Raises:
            ModelUnavailable: the endpoint was not reached, did not answer in time, or refused.
        """
        wait = FIRST_WAIT_SECONDS
        for attempt in range(self.retries + 1):
            try:
                reply = self._post(path, body, most_bytes)
            except NoAnswer as error:
                told = f"did not answer: {error}"
            else:
                if reply.status == 200:
                    return reply.body
                told = f"answered with {reply.status}"
                if reply.status not in _PASSING:
                    self._refusal(reply)
                wait = _retry_after(reply, wait)
            if attempt < self.retries:
                clock.pause(min(wait, LONGEST_WAIT_SECONDS))
                wait *= 2
        attempts = f"{self.retries + 1} attempts" if self.retries else "one attempt"
        raise errors.ModelUnavailable(
            f"The endpoint at {self.address.host} {told}, after {attempts}", "Try again later, or check the endpoint"
        )

    def _post(self, path: str, body: bytes, most_bytes: int) -> Reply:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._interface == "anthropic":
            headers |= {"anthropic-version": ANTHROPIC_VERSION} | ({"x-api-key": self._key} if self._key else {})
        elif self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self.before_post(body)
        return post(self.address, path, body, headers, seconds=self._seconds, most_bytes=most_bytes)

    def _refusal(self, reply: Reply) -> NoReturn:
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
            f"Check its URL, and whether it has the model {self.model!r:.80}",
        )


def _retry_after(reply: Reply, wait: float) -> float:
    """The wait that the endpoint asks for, in seconds, else the given one."""
    asked = reply.retry_after
    return float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else wait


INTERFACES: Final = ("openai", "anthropic")
CHAT_SECONDS: Final = 120.0
MAX_PROMPT_BYTES: Final = 64 * 1024
MAX_ANSWER_BYTES: Final = 1 << 20
MAX_ANSWER_TOKENS: Final = 4_096
"""The default limit of an answer in tokens; Anthropic's interface requires one."""
_CHARACTERS_A_TOKEN: Final = 3
"""As few as that, where an endpoint does not say how many tokens it took, so that a bound is kept."""
_MOST: Final = 1 << 53
_CHAT_PATHS: Final = {"openai": "/chat/completions", "anthropic": "/messages"}


class _ChatText(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _ChatText


class _Part(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class _ChatAnswer(msgspec.Struct):
    choices: list[_Choice] = []
    content: list[_Part] = []
    usage: _Usage | None = None


class Chat:
    """A language model that gets one prompt and separate material.

    It is behind ``POST <url>/chat/completions``, or ``<url>/messages`` with ``interface="anthropic"``. ``key`` is sent
    to it and recorded nowhere. An attempt takes ``timeout_seconds`` at most; one that failed and may succeed later, or
    was answered with something else than ``what``, is repeated up to ``retries`` times.

    ``max_calls`` and ``max_tokens`` bound what all requests may cost together, attempts included: one that could pass
    a bound is not made. ``calls`` and ``tokens`` say what they cost so far, by what the endpoint says, else by a high
    guess.

    Raises:
        InputError: an argument is not what it should be.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        what: str,
        prompt: str,
        interface: str = "openai",
        key: str | None = None,
        timeout_seconds: float = CHAT_SECONDS,
        retries: int = 2,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        answer_tokens: int | None = None,
    ) -> None:
        if interface not in INTERFACES:
            raise errors.InputError(
                f"The interface {errors.shown(interface)} is unknown", f"Give one of: {', '.join(INTERFACES)}"
            )
        self._endpoint = Endpoint(
            url, model, key=key, timeout_seconds=timeout_seconds, retries=retries, interface=interface
        )
        self._endpoint.before_post = self._count_request
        self._interface, self._what = interface, what
        self.prompt = limits.checked_text(prompt, "prompt", MAX_PROMPT_BYTES, empty=False)
        self._max_calls = _checked_bound(max_calls, "max_calls")
        self._max_tokens = _checked_bound(max_tokens, "max_tokens")
        if answer_tokens is not None:
            limits.checked_number(answer_tokens, "answer_tokens", 1, _MOST)
        self._answer_tokens = answer_tokens
        self._guessed = 0
        self.calls = 0
        """The number of requests sent, retries included."""
        self.tokens = 0
        """The number of tokens used, requests and answers together."""

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._endpoint.model

    @property
    def host(self) -> str:
        """The host of the endpoint."""
        return self._endpoint.address.host

    def request(self, material: object, prompt: str | None = None) -> bytes:
        """The body of a request that shows some material as JSON; the same material gives the same bytes.

        ``prompt`` takes the place of the one that the model is told otherwise.
        """
        told = self.prompt if prompt is None else prompt
        user = {"role": "user", "content": msgspec.json.encode(material).decode()}
        body: dict[str, Any] = {"model": self.model}
        if self._interface == "anthropic":
            body |= {"system": told, "messages": [user], "temperature": 0}
            body["max_tokens"] = self._answer_tokens or MAX_ANSWER_TOKENS
        else:
            body |= {"messages": [{"role": "system", "content": told}, user], "temperature": 0}
            if self._answer_tokens is not None:
                body["max_tokens"] = self._answer_tokens
        return msgspec.json.encode(body)

    def answer(self, asked: bytes, read: Callable[[str], _T]) -> _T:
        """Ask, and parse the answer with ``read``; asked again while ``read`` raises, a bounded number of times.

        Raises:
            ModelUnavailable: the endpoint was not reached, did not answer in time, refused, or said something else.
            LimitExceeded: the next request could pass ``max_calls`` or ``max_tokens``.
        """
        problem = ""
        for _ in range(self._endpoint.retries + 1):
            body = self._endpoint.post(_CHAT_PATHS[self._interface], asked, MAX_ANSWER_BYTES)
            try:
                return read(self._text(body))
            except (msgspec.MsgspecError, ValueError, errors.InputError) as error:
                problem = str(error)
        raise errors.ModelUnavailable(
            f"The model {self.model!r:.80} at {self.host} did not answer with {self._what}: {problem[:200]}",
            "Try again, or name a model that follows instructions",
        )

    def _count_request(self, body: bytes) -> None:
        """Count a request before it is sent.

        Raises:
            LimitExceeded: it could pass a bound.
        """
        guess = len(body.decode("utf-8", "replace")) // _CHARACTERS_A_TOKEN + 1
        guess += self._answer_tokens or MAX_ANSWER_TOKENS
        for spent, more, bound, what in (
            (self.calls, 1, self._max_calls, "calls"),
            (self.tokens, guess, self._max_tokens, "tokens"),
        ):
            if spent + more > bound:
                raise errors.LimitExceeded(
                    f"The model {self.model!r:.80} has used {spent:,} of {bound:,} {what}, and the next "
                    f"request could use {more:,}",
                    f"Raise the bound with max_{what}; finished work is kept",
                )
        self.calls += 1
        self.tokens += guess
        self._guessed = guess

    def _text(self, body: bytes) -> str:
        """The text of an answer, without the reasoning before it."""
        answer = msgspec.json.decode(body, type=_ChatAnswer)
        if (usage := answer.usage) is not None:
            took = usage.prompt_tokens + usage.completion_tokens + usage.input_tokens + usage.output_tokens
            if took > 0:
                self.tokens += took - self._guessed
        if self._interface == "anthropic":
            said = "".join(part.text for part in answer.content if part.type == "text")
        else:
            said = (answer.choices[0].message.content or "") if answer.choices else ""
        text = limits.checked_text(said.rpartition("</think>")[2], "an answer", MAX_ANSWER_BYTES).strip()
        if not text:
            raise ValueError("it is empty")
        return text


class ChatModel:
    """The base of adapters that ask a :class:`Chat`, with the number of requests and tokens.

    A class of it says what it asks for and with which prompt, unless it makes its own ``_chat``, and may have another
    timeout and number of retries. Arguments are those of :class:`Chat`; ``name`` is that of the model.

    Raises:
        InputError: an argument is not what it should be.
    """

    _WHAT: ClassVar[str]
    _PROMPT: ClassVar[str]
    _ANSWER_TOKENS: ClassVar[int | None] = None
    _SECONDS: ClassVar[float] = CHAT_SECONDS
    _RETRIES: ClassVar[int] = 2

    def __init__(
        self,
        url: str,
        model: str,
        *,
        interface: str = "openai",
        key: str | None = None,
        prompt: str | None = None,
        timeout_seconds: float | None = None,
        retries: int | None = None,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        answer_tokens: int | None = None,
    ) -> None:
        self._chat = Chat(
            url,
            model,
            what=self._WHAT,
            prompt=self._PROMPT if prompt is None else prompt,
            interface=interface,
            key=key,
            timeout_seconds=self._SECONDS if timeout_seconds is None else timeout_seconds,
            retries=self._RETRIES if retries is None else retries,
            max_calls=max_calls,
            max_tokens=max_tokens,
            answer_tokens=self._ANSWER_TOKENS if answer_tokens is None else answer_tokens,
        )
        self.name = f"endpoint/{self._chat.model}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._chat.model!r} at {self._chat.host}>"

    @property
    def calls(self) -> int:
        """The number of requests sent, retries included."""
        return self._chat.calls

    @property
    def tokens(self) -> int:
        """The number of tokens used, requests and answers together."""
        return self._chat.tokens


def find_json_object(text: str, type: type[_T]) -> _T:
    """Parse the JSON object in a model's answer, whatever text is around it.

    Raises:
        ValueError, MsgspecError: there is none, or it is another.
    """
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        raise ValueError(f"it is {text[:80]!r}")
    return msgspec.json.decode(text[begin : end + 1], type=type)


def _checked_bound(value: int | None, what: str) -> int:
    return _MOST if value is None else limits.checked_number(value, what, 0, _MOST)
