"""Ingest a memory in one call: buffer the message, recall what is known, and write everything as one commit.

The item is named by whoever writes, by its kref, key or id, and never guessed. Whom a new item may already be is
proposed, as the resolver does for any world, and what it may repeat or contradict is told.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.beliefs import artifact, kref
from worlddb.log.model import errors, ids, limits
from worlddb.query.recall.near_claims import Near
from worlddb.query.records import records
from worlddb.query.view.view import View
from worlddb.reconciler.commands.outcome import Receipt, retry_while_changed

RELATIONS: Final = ("derived_from", "created_from", "depends_on", "refers_to")
"""The types of edges that an ingested memory may have to what is there already."""


class IngestedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The result of :meth:`Database.ingest_memory`.

    ``receipt`` is of the one commit, and ``ref`` the item, ``is_new`` if it was made; without a memory to write they
    are ``None``, empty and false. ``relevant`` is what memory had to say before, ``near`` the statements that the new
    one may repeat, replace or contradict, and ``verdicts`` are the proposals that the resolver staged, with their
    evidence. ``messages`` counts those in the session's buffer, 0 if nothing was buffered. ``edges`` were discovered.
    """

    ref: str = ""
    is_new: bool = False
    receipt: Receipt | None = None
    relevant: tuple[records.Hit, ...] = ()
    near: tuple[Near, ...] = ()
    verdicts: tuple[records.Proposal, ...] = ()
    messages: int = 0
    edges: tuple[str, ...] = ()


class MemoryUnit(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of one commit: an item and its version, its relations, bundles and tags."""

    at: Any
    said: dict[str, Any]
    artifacts: Sequence[artifact.Artifact] = ()
    relations: Mapping[str, Iterable[Any]] = {}
    bundles: Iterable[Any] = ()
    tags: Iterable[str] = ()


class SessionMessage(NamedTuple):
    """A message of a session, and the recall to make for it, or for ``question``."""

    message: str | None
    session: str
    user: str
    role: str
    question: str | None
    k: int


def ingested(db: Any, spoken: SessionMessage, unit: MemoryUnit, within: Any, *, discover: bool) -> IngestedMemory:
    """Buffer what was said, look up what is known, and write the unit as one commit; see ``Database.ingest_memory``."""
    limits.checked_number(spoken.k, "k", 0, 1_000)
    top = None if within is None else db.view()._reference_to_write(within)
    content, messages = limits.checked_text(unit.said["content"], "content", limits.MAX_CONTENT_BYTES), 0
    limits.checked_text(spoken.question or "", "question", limits.MAX_CONTENT_BYTES)
    if spoken.message is not None:
        scope = {"session": spoken.session, "user": spoken.user, "role": spoken.role}
        messages = db.working.add(spoken.message, world=top, **scope)
    asked = next((each for each in (spoken.question, spoken.message, content) if each), "")
    relevant = db.view(world=top).recall(asked, k=spoken.k).hits if spoken.k and asked.strip() else ()
    if unit.at is None:
        return IngestedMemory(relevant=relevant, messages=messages)
    receipt, known, near = _commit(db, unit, top)
    ref = known or db.view(world=top).reference_of(unit.at)
    after = db.view()
    found = IngestedMemory(
        ref=ref,
        is_new=not known,
        receipt=receipt,
        relevant=relevant,
        near=tuple(each for each in near if each.ref != ref),
        verdicts=tuple(after.proposal(each) for each in receipt.proposals),
        messages=messages,
    )
    if not discover:
        return found
    edges = db.discover_edges(ref, within=top, link=True, why=unit.said["why"])
    return msgspec.structs.replace(found, edges=tuple(each.edge for each in edges if each.edge))


def _commit(db: Any, unit: MemoryUnit, top: str | None) -> tuple[Receipt, str, list[Near]]:
    """Write a unit as one commit, again if others changed its basis; also returns an existing item's reference."""

    def attempt() -> tuple[Receipt, str, list[Near]]:
        whole, view = db.view(), db.view(world=top)
        content = unit.said["content"]
        near = view.near(content) if content.strip() else []
        with db.batch(seen=whole) as tx:
            known = write(tx, view, unit, top)
        return tx.receipt, known, near

    return retry_while_changed(attempt)


def write(tx: Any, view: View, unit: MemoryUnit, within: Any) -> str:
    """Write all of a unit into a batch; returns the reference of an existing item, else empty.

    Raises:
        InputError: a relation is none of :data:`RELATIONS`, or ``at`` is no kref and names nothing that is there.
    """
    unknown = [each for each in unit.relations if each not in RELATIONS]
    if unknown:
        raise errors.InputError(
            f"There is no relation {errors.shown(unknown[0])} here", f"Give some of: {', '.join(RELATIONS)}"
        )
    known, item = _item(tx, view, unit, within)
    begins, why = unit.said["valid_from"], unit.said["why"]
    for relation, targets in unit.relations.items():
        for target in limits.checked_list(targets, relation):
            other = view._reference_to_write(target)
            tx.link(item, relation, other, key=f"ingest/{relation}/{other}", valid_from=begins, why=why)
    for bundle in limits.checked_list(unit.bundles, "bundles"):
        tx.link(view._reference_to_write(bundle), "contains", item, key="ingest/bundle", valid_from=begins, why=why)
    for tag in limits.checked_list(unit.tags, "tags"):
        tx.tag(item, tag, why=why)
    return known


def _item(tx: Any, view: View, unit: MemoryUnit, within: Any) -> tuple[str, Any]:
    said = unit.said
    if isinstance(unit.at, kref.Kref) or (isinstance(unit.at, str) and ids.is_kref(unit.at)):
        there = _find_existing(view, str(unit.at))
        made = tx.create_at(unit.at, artifacts=unit.artifacts, within=within, resolve="all", **said)
        return ("" if there is None else there.ref), made
    ref = view._reference_to_write(unit.at)
    item = view.get(ref, include_superseded=True, include_deprecated=True, include_expired=True)
    assert item is not None, "a known world has a newest version"
    properties = said["properties"]
    if unit.artifacts:
        attached = [artifact.checked_artifact(each) for each in unit.artifacts]
        properties = artifact.with_artifacts(properties or item.properties, attached)
    is_same = item.content == said["content"] and properties in (None, {}, item.properties) and not item.closed
    if is_same and (said["valid_from"], said["valid_to"]) == (None, None):
        return ref, ref
    tx.revise(ref, **(said | {"properties": properties}))
    return ref, ref


def _find_existing(view: View, at: str) -> records.World | None:
    try:
        return view.get(kref.item_of(at).item_key, include_superseded=True)
    except errors.AmbiguousReference:
        raise
    except errors.UnknownReference:
        return None
