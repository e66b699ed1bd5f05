"""The tools that only read, beside those that recall. Each takes the desk, its checked arguments and the call, and
returns one record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from worlddb import DamagedStore, View, World
from worlddb.tools.mcp import arguments, results
from worlddb.tools.mcp.call import Call, in_passes
from worlddb.tools.mcp.desk import SCOPE, Desk

MAX_STEPS: Final = 50
"""How many memories that replace one another are followed by ``memory_history``."""
MAX_VERSIONS: Final = 100
MAX_FINDINGS: Final = 10


def listing(desk: Desk, given: arguments.Listing, call: Call) -> results.Memories:
    """``memory_list``."""
    turned = desk.continued(given.cursor)
    scopes = desk.insides(turned.view, given, include_retired=given.include_retired)
    found = desk.inside(turned.view, scopes, include_retired=given.include_retired)
    shown, cursor = turned.page(found, given.limit)
    memories = [results.memory(world) for world in shown]
    return results.Memories(memories=memories, next_cursor=cursor, **desk.moment(turned.view))


def read(desk: Desk, given: arguments.Read, call: Call) -> results.Whole:
    """``memory_read``."""
    view = desk.view()
    found = desk.memory(view, given.id)
    # What is still to come is not retired by that.
    found = desk.get(desk.later(view, found.valid.start), found.ref)
    return results.whole(found, desk.scopes_of(view, found.ref), given.offset)


def list_scopes(desk: Desk, given: arguments.ListScopes, call: Call) -> results.Scopes:
    """``memory_list_scopes``."""
    turned = desk.continued(given.cursor)
    view = turned.view

    def wanted() -> Iterator[World]:
        for world in view.find(type=SCOPE, include_superseded=given.include_retired):
            kind = world.name.partition(":")[0]
            if desk.is_scope(view, world) and given.kind in (None, kind):
                yield world

    shown, cursor = turned.page(wanted(), given.limit)
    scopes = [
        results.Scope(
            id=world.ref,
            kind=world.name.partition(":")[0],
            scope_id=world.name.partition(":")[2],
            retired=world.closed,
            since=results.time(world.ingested_at) or "",
        )
        for world in shown
    ]
    return results.Scopes(scopes=scopes, next_cursor=cursor)


def history(desk: Desk, given: arguments.History, call: Call) -> results.Versions:
    """``memory_history``."""
    view = desk.view()
    start = desk.memory(view, given.id).ref
    return versions(desk, desk.around(view, start), start)


def versions(desk: Desk, view: View, start: str) -> results.Versions:
    """The versions of a world and of those that it replaced or was replaced by."""
    chain, waiting = [start], [start]
    while waiting and len(chain) < MAX_STEPS:
        for edge in view.edges(waiting.pop(), type="supersedes", include_superseded=True):
            for ref in (edge.source, edge.target):
                if ref not in chain:
                    chain.append(ref)
                    waiting.append(ref)
    found = [(ref, version) for ref in chain for version in view.history(ref)]
    found.sort(key=lambda each: each[1].seq)
    complete = not waiting and len(found) <= MAX_VERSIONS
    shown = [results.told(ref, version, desk.number(version.seq)) for ref, version in found[-MAX_VERSIONS:]]
    return results.Versions(versions=shown, complete=complete)


def proposals(desk: Desk, given: arguments.Proposals, call: Call) -> results.Pairs:
    """``memory_proposals``."""
    turned = desk.continued(given.cursor)
    found = turned.view.proposals(status=None if given.status == "all" else given.status)
    shown, cursor = turned.page(found, given.limit)
    return results.Pairs(proposals=[results.pair(proposal) for proposal in shown], next_cursor=cursor)


def conflicts(desk: Desk, given: arguments.Conflicts, call: Call) -> results.Contradictions:
    """``memory_conflicts``."""
    turned = desk.continued(given.cursor)
    view = turned.view
    if given.id is not None:
        seen: Iterator[World] = iter([desk.memory(view, given.id)])
    else:
        seen = desk.inside(view, desk.insides(view, given))
    shown, cursor = turned.page(_pairs(view, seen), given.limit)
    return results.Contradictions(conflicts=shown, next_cursor=cursor)


def _pairs(view: View, worlds: Iterator[World]) -> Iterator[results.Conflict]:
    """Each pair of contradicting memories once."""
    told: set[frozenset[str]] = set()
    for world in worlds:
        for ref in world.conflicts:
            pair = frozenset((world.ref, ref))
            other = None if pair in told else view.get(ref)
            if other is not None:
                told.add(pair)
                yield results.Conflict(first=results.memory(world), second=results.memory(other))


def verify(desk: Desk, given: arguments.Verify, call: Call) -> results.Verified:
    """``memory_verify``. Of one world all that is in it is checked, and nothing else: neither the state of the rest of
    the store nor its size can be told from the answer."""
    if desk.world is not None:
        return _verify_world(desk)
    found = desk.db.verify(deep=given.deep, progress=in_passes(call.step, 2 if given.deep else 1))
    view = desk.view()
    findings = [str(finding) for finding in found.findings[:MAX_FINDINGS]]
    return results.Verified(ok=found.ok, seq=view.seq, root=view.hash(), commits=found.commits, findings=findings)


def _verify_world(desk: Desk) -> results.Verified:
    view = desk.view()
    try:
        desk.db.check_world(desk.world, seq=view.seq)
        findings = []
    except DamagedStore:
        findings = ["Something in this world is not what was written"]
    return results.Verified(ok=not findings, seq=None, root=view.hash(), commits=None, findings=findings)
