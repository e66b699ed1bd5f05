"""The REST application of a store in this process, and clients with several keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgspec

import worlddb
from worlddb import Database
from worlddb.tools.mcp import access_keys
from worlddb.tools.mcp.access_keys import Gate
from worlddb.tools.server import serving
from worlddb.tools.server.rest import Rest, ServedStore

BASE = "http://127.0.0.1"


class RestClient:
    """A client with a key, or without one; each call is a request to the application itself."""

    def __init__(self, rest: Any, key: str | None) -> None:
        self._rest, self._headers = rest, {} if key is None else {"Authorization": f"Bearer {key}"}

    def __call__(self, method: str, path: str, **how: Any) -> httpx.Response:
        headers = httpx.Headers([*self._headers.items(), *httpx.Headers(how.pop("headers", {})).multi_items()])

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._rest, raise_app_exceptions=True)
            async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
                return await client.request(method, path, headers=headers, **how)

        return anyio.run(ask)

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of a read that must succeed."""
        answer = self("GET", path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, method: str, path: str, **body: Any) -> Any:
        """The JSON of a write that must succeed."""
        answer = self(method, path, json=body)
        assert answer.status_code in (200, 201, 202), answer.text
        return answer.json()


class RestServer:
    """A store that is served in this process."""

    def __init__(self, db: Database, rest: Rest, keys: access_keys.KeyFile) -> None:
        self.db, self.rest, self.keys = db, rest, keys
        self._store = db.head().store_id

    def caller(self, name: str, world: str | None = None, *, write: bool = True) -> RestClient:
        """A client with a new key."""
        return RestClient(self.rest, self.keys.add(self._store, name, world, write=write))

    def stranger(self, key: str | None = None) -> RestClient:
        """A client without a key, or with one that opens nothing."""
        return RestClient(self.rest, key)


@contextmanager
def serve_store(folder: Path, **options: Any) -> Iterator[RestServer]:
    """A store that is served in this process, without a socket."""
    with worlddb.open(folder / "store", author="operator", durability="group", **options) as db:
        keys = access_keys.KeyFile(folder / "store.keys")
        rest = Rest(ServedStore(db, Gate(db, keys, per_second=10_000), serving.ROUTES))
        try:
            yield RestServer(db, rest, keys)
        finally:
            rest.close()


def check_type(value: Any, kind: Any) -> Any:
    """Check that an answer has exactly the fields of its type."""
    found = msgspec.convert(value, kind)
    assert msgspec.json.decode(msgspec.json.encode(found)) == value
    return found
