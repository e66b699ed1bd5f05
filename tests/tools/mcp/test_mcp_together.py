"""Runs several servers on one store at once: every acknowledged write is seen by all."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client

import worlddb
from tests.support.mcp_clients import answer, connect_client, run_bounded
from tests.support.serving import serve_http

PATIENCE_SECONDS = 240
PAGE = 50
WRITES_PER_RUN = 30
"""Then another session begins, so that all memories of one fit on a page."""
OFTEN = "2000"
"""Requests a second that each server lets through."""


class Known:
    """What was acknowledged to any of the clients, and what may be on its way."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.runs: dict[str, str] = {}
        self.authors: dict[str, str] = {}
        self.ending: set[str] = set()
        self.ended: set[str] = set()
        self.calls: Counter[str] = Counter()

    @property
    def run(self) -> str:
        """The session that is being written into."""
        return str(len(self.texts) // WRITES_PER_RUN)

    def of(self, run: str) -> set[str]:
        """The memories of a session."""
        return {ref for ref, where in self.runs.items() if where == run}


class Talker:
    """One client's calls, each with what it must be answered."""

    def __init__(self, name: str, client: Client, known: Known, seed: int) -> None:
        self._name = name
        self._client = client
        self._known = known
        self._random = random.Random(seed)
        self._said = 0

    async def talk(self, seconds: float) -> None:
        """Call for a time, however many calls that is, and until every kind was called; or until something is wrong."""
        kinds: list[Callable[[], Awaitable[None]]] = [self.write, self.read, self.listed, self.recall]
        kinds += [self.retire, self.amend, self.past]
        weights = (6, 6, 3, 1, 1, 2, 2)
        until = anyio.current_time() + seconds
        left = {kind.__name__ for kind in kinds}
        while anyio.current_time() < until or left:
            (kind,) = self._random.choices(kinds, weights)
            await kind()
            self._known.calls[kind.__name__] += 1
            left.discard(kind.__name__)

    async def write(self) -> None:
        known, run = self._known, self._known.run
        self._said += 1
        text = f"{self._name} said z{self._name}q{self._said}x"
        made = (await answer(self._client, "memory_write", text=text, run_id=run))["id"]
        known.texts[made], known.runs[made], known.authors[made] = text, run, self._name

    async def amend(self) -> None:
        """One that holds gives way to another, which is where it was."""
        known = self._known
        ref = self._one_that_holds()
        if ref is None:
            return
        known.ending.add(ref)
        self._said += 1
        text = f"{self._name} corrects z{self._name}q{self._said}x"
        made = (await answer(self._client, "memory_amend", id=ref, text=text))["id"]
        known.texts[made], known.runs[made], known.authors[made] = text, known.runs[ref], self._name
        known.ended.add(ref)

    async def past(self) -> None:
        """What was said stays in the history, by whom it was."""
        known = self._known
        if not known.texts:
            return
        ref = self._random.choice(list(known.texts))
        found = await answer(self._client, "memory_history", id=ref)
        told = {version["id"]: (version["text"], version["author"]) for version in found["versions"]}
        assert told[ref] == (known.texts[ref], known.authors[ref])

    async def read(self) -> None:
        known = self._known
        if not known.texts:
            return
        ref = self._random.choice(list(known.texts))
        ended = ref in known.ended
        found = await answer(self._client, "memory_read", id=ref)
        assert (found["text"], found["author"]) == (known.texts[ref], known.authors[ref])
        assert found["retired"] or not ended

    async def listed(self) -> None:
        known = self._known
        run = str(self._random.randrange(int(known.run) + 1))
        written, ended = known.of(run), known.of(run) & known.ended
        found = await answer(self._client, "memory_list", run_id=run, limit=PAGE)
        shown = {memory["id"] for memory in found["memories"]}
        assert found["next_cursor"] is None and not shown & ended
        assert written - known.ending <= shown

    async def recall(self) -> None:
        known = self._known
        open_ = [ref for ref in known.texts if ref not in known.ending]
        if not open_:
            return
        ref = self._random.choice(open_)
        word = known.texts[ref].split()[-1]
        found = await answer(self._client, "memory_recall", query=word, limit=PAGE)
        assert ref in {memory["id"] for memory in found["memories"]} or ref in known.ending

    def _one_that_holds(self) -> str | None:
        """One that nobody is about to end, while there are enough."""
        open_ = [ref for ref in self._known.texts if ref not in self._known.ending]
        return None if len(open_) < WRITES_PER_RUN else self._random.choice(open_)

    async def retire(self) -> None:
        known = self._known
        ref = self._one_that_holds()
        if ref is None:
            return
        known.ending.add(ref)
        assert (await answer(self._client, "memory_retire", id=ref))["retired"] == 1
        known.ended.add(ref)


def converse(store: Path, *, pipes: int, ports: int, seconds: float) -> Known:
    """Serve a store by many servers, let a client of each talk; return what was acknowledged."""
    known = Known()
    with worlddb.open(store):
        pass
    with ExitStack() as held:
        names = [f"port{number}" for number in range(ports)]
        served = [
            held.enter_context(serve_http(store, "--no-keys", "--author", name, "--rate", OFTEN)) for name in names
        ]

        async def work() -> None:
            async with AsyncExitStack() as stack:
                talkers: list[Talker] = []
                for number in range(pipes):
                    name = f"pipe{number}"
                    client = await stack.enter_async_context(connect_client(store, "--author", name))
                    talkers.append(Talker(name, client, known, len(talkers)))
                for name, server in zip(names, served, strict=True):
                    client = await stack.enter_async_context(Client(server.url))
                    talkers.append(Talker(name, client, known, len(talkers)))
                async with anyio.create_task_group() as tasks:
                    for talker in talkers:
                        tasks.start_soon(talker.talk, seconds)

        run_bounded(work, PATIENCE_SECONDS + seconds)
    return known


def check(store: Path, known: Known) -> None:
    """What is in the store in the end is what was acknowledged, all of it, by whom it was."""
    with worlddb.open(store, create=False) as db:
        found = {world.ref: world for world in db.view().find(type="Fact", include_superseded=True)}
        assert {ref: (world.content, world.author) for ref, world in found.items()} == {
            ref: (text, known.authors[ref]) for ref, text in known.texts.items()
        }
        assert {ref for ref, world in found.items() if world.closed} == known.ended == known.ending
        assert db.verify(deep=True).ok
    assert all(known.calls[kind] for kind in ("write", "read", "listed", "recall", "amend", "past"))
    assert len(set(known.authors.values())) > 2


def test_three_servers_on_one_store_lose_nothing_and_show_at_once_what_was_acknowledged(tmp_path: Path) -> None:
    known = converse(tmp_path / "store", pipes=1, ports=2, seconds=1.5)
    check(tmp_path / "store", known)


@pytest.mark.soak
def test_three_servers_of_each_kind_for_a_minute(tmp_path: Path) -> None:
    known = converse(tmp_path / "store", pipes=3, ports=3, seconds=60)
    check(tmp_path / "store", known)
    assert known.ended
    print(dict(known.calls))
