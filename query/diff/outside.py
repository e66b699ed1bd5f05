"""What differs between related histories and lies in no world's own state: ends of edges, identity, other events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from worlddb.log.model.ids import LINEAGE_BYTES
from worlddb.log.model.times import format_time
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.diff.details import as_text, edge_validity
from worlddb.query.diff.parting import Since, Told
from worlddb.query.diff.records import Detail
from worlddb.query.diff.side import Sides
from worlddb.query.journal import Entry

_KINDS: Final[dict[str, str]] = {
    "erased": "erased",
    "space": "vectors",
    "embedded": "vectors",
    "embedded_through": "vectors",
    "space_chosen": "vectors",
    "space_dropped": "vectors",
}
"""What kind of change an event is that only one history has; all others are ``registered``."""


def outside_details(sides: Sides, since: Since) -> dict[bytes, list[Detail]]:
    """What the events after the parting changed outside of the states of worlds, by the world that it belongs to."""
    found: defaultdict[bytes, list[Detail]] = defaultdict(list)
    for ref in since.edges():
        named = since.naming(ref)
        kinds = {told.entry.event for told in named}
        if kinds & {"proposed", "decided"}:
            _proposal(sides, ref, found)
        # An edge that both histories made after they parted: one of them was forged, and may end it at another time.
        if "edge_closed" in kinds or len({told.side for told in named}) == len(sides) or since.is_silent(ref):
            _edge(sides, ref, found)
    _others(sides, since.others, found)
    _retold(since, found)
    return found


def _retold(since: Since, found: dict[bytes, list[Detail]]) -> None:
    """Commits in which both sides decide the same, and say it in other words, by somebody else or at another time.

    Only a forger who made all hashes anew leaves such commits, or two people who did the same by chance.
    """
    for seq, entries in since.commits["a"].items():
        others = since.commits["b"].get(seq, [])
        if not entries or [(e.event, e.data) for e in entries] != [(e.event, e.data) for e in others]:
            continue
        by = [f"by {said[0].author}, {format_time(said[0].ingested_at)}" for said in (entries, others)]
        for one, other in zip(entries, others, strict=True):
            ref = next((ref for ref in one.refs if len(ref) == 2 * LINEAGE_BYTES), "")
            if ref:
                found[bytes.fromhex(ref)].extend(_in_other_words(one, other, (by[0], by[1])))


def _in_other_words(one: Entry, other: Entry, by: tuple[str, str]) -> Iterator[Detail]:
    for field, a, b in (("name", one.name, other.name), ("content", one.text, other.text), ("why", one.why, other.why)):
        if a != b:
            yield Detail(kind="altered", field=field, a=a, b=b)
    if by[0] != by[1]:
        yield Detail(kind="provenance", field=f"commit {one.seq}", a=by[0], b=by[1])


def _edge(sides: Sides, edge: bytes, found: dict[bytes, list[Detail]]) -> None:
    one, other = (side.edge(edge) for side in sides)
    if one is not None and other is not None:
        found[one.source if one.type == CONTAINS else one.home].extend(edge_validity(one, other))


def _proposal(sides: Sides, proposal: bytes, found: dict[bytes, list[Detail]]) -> None:
    states = [side.proposal(proposal) for side in sides]
    texts = [state.text if state else "" for state in states]
    ends = next(((state.source, state.target) for state in states if state), ())
    for lineage in ends if texts[0] != texts[1] else ():
        found[lineage].append(
            Detail(kind="identity", field="proposal", a=texts[0], b=texts[1], ref=proposal.hex()),
        )


def _others(sides: Sides, others: list[Told], found: dict[bytes, list[Detail]]) -> None:
    """Registrations, erasures, vectors, and whatever else only one history says: by the world that it names."""
    said = [Counter(_said(told) for told in others if told.side == side.label) for side in sides]
    root = sides[0].root()
    for label, only in (("a", said[0] - said[1]), ("b", said[1] - said[0])):
        for (event, ref, data), _ in only.items():
            kind = _KINDS.get(event, "registered")
            texts = (data, "") if label == "a" else ("", data)
            found[bytes.fromhex(ref) or root].append(Detail(kind=kind, field=event, a=texts[0], b=texts[1]))


def _said(told: Told) -> tuple[str, str, str]:
    """The event's name, the first world that it names, and what it says as text."""
    entry = told.entry
    ref = next((ref for ref in entry.refs if len(ref) == 2 * LINEAGE_BYTES), "")
    return entry.event, ref, " ".join(filter(None, (entry.name, entry.why or as_text(entry.data))))
