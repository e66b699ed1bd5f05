"""A language model behind the user's endpoint, by OpenAI's or Anthropic's interface.

One request at a time, each with a time limit, and no redirects: the key goes to the endpoint and to nobody else.
Nothing of WorldDB needs a model; this is for the benchmark that measures what one makes of what was recalled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from http import HTTPStatus
from time import sleep
from typing import Any, Final, NamedTuple, NoReturn

from worlddb import InputError, UnavailableError
from worlddb.reconciler.model_endpoints.endpoint import NoAnswer, Reply, address_of, post

INTERFACES: Final = ("openai", "anthropic")
MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
ATTEMPTS: Final = 3
"""How often a request is made that was turned away for now, or timed out."""
_TURNED_AWAY: Final = (408, 429, 500, 502, 503, 504, 529)
_SHOWN: Final = 300
_ANTHROPIC_VERSION: Final = "2023-06-01"


class EndpointUnavailable(UnavailableError):
    """The endpoint could not be reached, timed out, or was overloaded."""

    code = "endpoint_unavailable"


class EndpointRefused(InputError):
    """The endpoint refused the request: a wrong key, an unknown model, or an unsupported request."""

    code = "endpoint_refused"


class EndpointMalformed(UnavailableError):
    """The endpoint's answer does not follow the interface."""

    code = "endpoint_malformed"


class Endpoint(NamedTuple):
    """Where a model is asked, and how. ``key`` is sent and never shown."""

    url: str
    model: str
    interface: str
    key: str
    timeout_seconds: float
    pause_seconds: float = 2.0

    def __repr__(self) -> str:
        return f"<{self.model} at {self.url}>"

    def ask(self, prompt: str, *, most_tokens: int) -> str:
        """The model's answer to a prompt, at temperature 0.

        Raises:
            EndpointUnavailable: no answer within the time limit, also not when asked again.
            EndpointRefused: the endpoint does not take the request.
            EndpointMalformed: the answer has not the form of the interface.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._text(self._post(prompt, most_tokens))
            except EndpointUnavailable:
                if attempt == ATTEMPTS:
                    raise
                sleep(self.pause_seconds * attempt)
        raise AssertionError("the last attempt returns or raises")

    def _post(self, prompt: str, most_tokens: int) -> bytes:
        said = {"model": self.model, "max_tokens": most_tokens, "temperature": 0.0}
        said["messages"] = [{"role": "user", "content": prompt}]
        path, headers, seconds = _PATHS[self.interface], _headers(self.interface, self.key), self.timeout_seconds
        to, body = address_of(self.url), json.dumps(said).encode()
        try:
            reply = post(to, path, body, headers, seconds=seconds, most_bytes=MAX_ANSWER_BYTES)
        except NoAnswer as error:
            told = f"{self!r} did not answer: {error}"
            raise EndpointUnavailable(told, "Check the address, or allow more time with --timeout") from None
        if reply.status != HTTPStatus.OK:
            self._refusal(reply)
        return reply.body

    def _refusal(self, reply: Reply) -> NoReturn:
        told = reply.body.decode(errors="replace")
        told = told.replace(self.key, "***") if self.key else told
        said = f"{self!r} answered {reply.status}: {told[:_SHOWN]}"
        if reply.status in _TURNED_AWAY:
            raise EndpointUnavailable(said, "Try again later; with --transcript it continues where it stopped")
        raise EndpointRefused(said, "Check --endpoint, --interface, --model and the key")

    def _text(self, held: bytes) -> str:
        """The model's words in the answer.

        Raises:
            EndpointMalformed: there are none.
        """
        try:
            answer = json.loads(held)
            found = _reply_text(self.interface, answer)
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            found = None
        if not isinstance(found, str):
            shown = held[:_SHOWN].decode(errors="replace")
            raise EndpointMalformed(
                f"{self!r} gave an answer that the {self.interface} interface does not have: {shown}",
                "Check --interface",
            )
        return found


_PATHS: Final = {"openai": "/chat/completions", "anthropic": "/messages"}


def _headers(interface: str, key: str) -> Mapping[str, str]:
    sent = {"Content-Type": "application/json"}
    if interface == "anthropic":
        return sent | {"anthropic-version": _ANTHROPIC_VERSION} | ({"x-api-key": key} if key else {})
    return sent | ({"Authorization": f"Bearer {key}"} if key else {})


def _reply_text(interface: str, answer: Any) -> Any:
    if interface == "anthropic":
        return "".join(part["text"] for part in answer["content"] if part["type"] == "text")
    return answer["choices"][0]["message"]["content"]


def endpoint_of(
    url: str | None, model: str | None, interface: str, key_variable: str | None, timeout_seconds: float
) -> Endpoint:
    """The endpoint that the command line names.

    Raises:
        InputError: a part of it is missing or wrong, or the variable with the key is not set.
    """
    if not url:
        raise InputError("No endpoint was named", "Give --endpoint, such as http://127.0.0.1:8000/v1")
    address_of(url)
    if not model:
        raise InputError("No model was named", "Give --model")
    key = os.environ.get(key_variable, "") if key_variable else ""
    if key_variable and not key:
        raise InputError(f"The environment variable {key_variable!r:.80} is not set", "Put the key into it")
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            f"The key in {key_variable!r:.80} has characters that an HTTP header cannot have", "Check it for line ends"
        )
    if not 0 < timeout_seconds < float("inf"):
        raise InputError(f"The time limit is {timeout_seconds}", "Give seconds, more than 0")
    return Endpoint(url, model, interface, key, timeout_seconds)
