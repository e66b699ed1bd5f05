"""How long a confined server takes does not tell what another tenant has."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import methodcaller
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import anyio
import pytest
from mcp.server.mcpserver.exceptions import ToolError

import worlddb
from worlddb.projections.tables.reads.asof import Moment
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.query.reads import build
from worlddb.query.snapshot import confined_tables, visible
from worlddb.query.snapshot import snapshot as containment
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session

SCOPES, MEMORIES = 50, 10
"""Scopes of each tenant, and memories of each scope."""
PAIRS = 3_000
MAX_APART = 0.02
"""How far the medians may be apart; before the paths were made the same it was 9 and 15 per cent."""


class Stores(NamedTuple):
    """A confined server, and what another tenant of the same store has."""

    db: worlddb.Database
    mine: str
    server: MemoryServer
    theirs: list[str]


@contextmanager
def stores(folder: Path) -> Iterator[Stores]:
    with worlddb.open(folder, embedder=None) as db:
        mine, theirs = (db.create("Tenant", name).ref for name in ("mine", "theirs"))
        refs: dict[str, list[str]] = {mine: [], theirs: []}
        for tenant, whose in ((mine, "mine"), (theirs, "theirs")):
            with db.batch() as tx:
                for number in range(SCOPES):
                    scope = tx.create("Scope", f"user:{whose}-{number:04}", world=tenant, resolve=False)
                    for _ in range(MEMORIES):
                        tx.create("Fact", "", content=f"fact {number}", world=scope, resolve=False)
            refs[tenant] = [ref for at, ref in enumerate(tx.receipt.refs) if at % (MEMORIES + 1)]
        yield Stores(db, mine, MemoryServer(Session(db, mine)), refs[theirs])


def walks(found: Stores, read: Any) -> int:
    """How many containers a confined read asks for, in a view that has read nothing before."""
    asked = [0]
    original = containment.containers_at

    def counted(*given: Any) -> Any:
        asked[0] += 1
        return original(*given)

    with pytest.MonkeyPatch.context() as patched, suppress(worlddb.UnknownReference):
        patched.setattr(containment, "containers_at", counted)
        patched.setattr(confined_tables, "containers_at", counted)
        read(found.db.view(world=found.mine))
    return asked[0]


def test_a_look_for_what_nobody_has_walks_as_far_as_one_for_what_somebody_else_has(tmp_path: Path) -> None:
    rng = random.Random(1)
    with stores(tmp_path / "store") as found:
        edges = [edge.ref for ref in found.theirs for edge in found.db.view().edges(ref)]
        for read, whose, digits in (("get", found.theirs, 32), ("edge", edges, 64), ("get", found.theirs, 16)):
            theirs = [
                walks(found, methodcaller(read, ref)) for ref in (each[:digits] for each in rng.sample(whose, 40))
            ]
            nobody = [
                walks(found, methodcaller(read, ref)) for ref in (rng.randbytes(32).hex()[:digits] for _ in range(40))
            ]
            assert min(theirs) >= 1 and abs(sum(theirs) - sum(nobody)) <= 40, (digits, theirs, nobody)
        theirs = [walks(found, methodcaller("find", name=f"user:theirs-{n:04}")) for n in range(40)]
        nobody = [walks(found, methodcaller("find", name=f"user:nobody-{n:04}")) for n in range(40)]
        assert min(theirs) >= 1 and abs(sum(theirs) - sum(nobody)) <= 40, (theirs, nobody)


def test_what_is_walked_for_nothing_changes_no_answer(tmp_path: Path) -> None:
    with stores(tmp_path / "store") as found, found.db._reader.snapshot() as snapshot:
        node = snapshot.tables.node_of(bytes.fromhex(found.mine)) or ROOT_NODE
        moment = Moment(snapshot.log.head().seq, found.db.view().valid)
        known: dict[int, bool] = {}
        tables = visible.VisibleSnapshot(snapshot, visible.Place(moment, node), known).tables
        for number in range(200):
            assert tables.node_of(number.to_bytes(16, "big")) is None
            assert tables.place_of(number.to_bytes(32, "big")) is None
            assert tables.proposal(number.to_bytes(32, "big")) is None
        inside = containment.members_below(snapshot.tables, node, moment) or set()
        assert len(known) > 100 and [at for at in known if at >= 0 and at not in inside] == [node]


def test_a_confined_look_for_worlds_of_a_type_builds_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of an unknown scope, which names some that there are, built every memory for that: 50 µs each."""
    built: list[int] = []
    original = build.world_of

    def counted(snapshot: Any, node: int, *given: Any, **how: Any) -> Any:
        built.append(node)
        return original(snapshot, node, *given, **how)

    with stores(tmp_path / "store") as found:
        scopes = found.db.view(world=found.mine).find(type="Scope")
        note = found.db.view(world=found.mine).find(type="Fact", limit=1)[0].ref
        found.db.revise(note, type="Scope", name="once a fact")
        monkeypatch.setattr(build, "world_of", counted)
        for view, more in ((found.db.view(world=found.mine), 1), (found.db.view(world=found.mine, seq=4), 0)):
            for asked in ({}, {"include_superseded": True}, {"overlaps": (None, None)}):
                built.clear()
                told = view.find(type="Scope", **asked)
                assert len(told) == len(built) == len(scopes) + more
                assert (note in {each.ref for each in told}) == bool(more)


def apart(found: Stores, tool: str, theirs: Sequence[dict[str, Any]], nobody: Sequence[dict[str, Any]]) -> float:
    """By what share of itself the median of calls about others' is longer; negative if shorter."""
    took: tuple[list[float], list[float]] = ([], [])

    async def call(arguments: dict[str, Any]) -> float:
        begun = time.process_time()
        try:
            await found.server.call_tool(tool, arguments)
        except ToolError as error:
            assert str(error).startswith("unknown_reference: "), error
        return time.process_time() - begun

    async def work() -> None:
        for number, pair in enumerate(zip(theirs, nobody, strict=True)):
            for side in (0, 1) if number % 2 else (1, 0):
                took[side].append(await call(pair[side]))

    anyio.run(work)
    wins = sum(one > other for one, other in zip(*took, strict=True))
    share = median(took[0]) / median(took[1]) - 1
    z = (wins - len(theirs) / 2) / (len(theirs) / 4) ** 0.5
    print(
        f"\n{tool}: {median(took[0]) * 1e6:.0f} and {median(took[1]) * 1e6:.0f} µs, {share:+.2%}, sign test z = {z:.1f}"
    )
    return share


@pytest.mark.soak
def test_what_another_tenant_has_takes_as_long_as_what_nobody_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(7)
    with stores(tmp_path / "store") as found, capsys.disabled():
        reads = apart(
            found,
            "memory_read",
            [{"id": rng.choice(found.theirs)} for _ in range(PAIRS)],
            [{"id": rng.randbytes(16).hex()} for _ in range(PAIRS)],
        )
        lists = apart(
            found,
            "memory_list",
            [{"user_id": f"theirs-{rng.randrange(SCOPES):04}"} for _ in range(PAIRS)],
            [{"user_id": f"nobody-{rng.randrange(SCOPES):04}"} for _ in range(PAIRS)],
        )
        assert max(abs(reads), abs(lists)) < MAX_APART
