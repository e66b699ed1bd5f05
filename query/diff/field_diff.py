"""Compare the two states of one world field by field. Pure functions.

Between related histories they also list differences outside the state of any world: ends of edges, identities, other
events.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from worlddb.log.model import ids, times
from worlddb.log.statements import bundled_statements
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.diff import diff_side
from worlddb.query.history.journal import Entry

_TEXTS: Final = ("type", "name", "content")

Name = Callable[[bytes], str]


def state_details(
    one: diff_side.State, other: diff_side.State, moved: Iterable[diff_side.Detail]
) -> Iterator[diff_side.Detail]:
    """The differences between two states of a world, and where it ``moved``."""
    yield from _texts(one, other)
    yield from moved
    yield from _validity(one, other)
    yield from _names(one, other)
    if one.body == other.body:
        yield from _provenance(one, other)


def _texts(one: diff_side.State, other: diff_side.State) -> Iterator[diff_side.Detail]:
    """Compare type, name and content; a body with another nonce alone is another version too."""
    revised = one.body != other.body or len(one.validities) != len(other.validities)
    if bool(one.lacks) != bool(other.lacks):
        kind = "revised" if revised or diff_side.BY_REFERENCE in (one.lacks, other.lacks) else "erased"
        yield diff_side.Detail(kind=kind, field="content", a=_text(one), b=_text(other))
        return
    kind = "revised" if revised else "altered"
    found = [
        diff_side.Detail(kind=kind, field=field, a=getattr(one, field), b=getattr(other, field))
        for field in _TEXTS
        if getattr(one, field) != getattr(other, field)
    ]
    if revised and not found:
        numbers = [str(len(state.validities)) for state in (one, other)]
        found = [diff_side.Detail(kind=kind, field="version", a=numbers[0], b=numbers[1])]
    yield from found


def _text(state: diff_side.State) -> str:
    return state.lacks or state.content or state.name


def moved(one: Sequence[bytes], other: Sequence[bytes], name: Name) -> Iterator[diff_side.Detail]:
    """A world that left one container and joined another, as one move.

    One that only joined shows as a member of the other.
    """
    left = [ref for ref in one if ref not in other]
    joined = [ref for ref in other if ref not in one]
    if left and joined:
        yield diff_side.Detail(kind="moved", field="container", a=_join_names(left, name), b=_join_names(joined, name))


def _join_names(refs: Iterable[bytes], name: Name) -> str:
    return ", ".join(name(ref) for ref in refs)


def _validity(one: diff_side.State, other: diff_side.State) -> Iterator[diff_side.Detail]:
    """The newest version's, and the others' where no revision explains that they were closed."""
    if one.validities[0] != other.validities[0]:
        kind = "validity" if one.body == other.body else "revised"
        yield diff_side.Detail(
            kind=kind, field="valid", a=diff_side.span(one.validities[0]), b=diff_side.span(other.validities[0])
        )
    if len(one.validities) == len(other.validities):
        numbers = range(len(one.validities), 0, -1)
        for number, left, right in list(zip(numbers, one.validities, other.validities, strict=True))[1:]:
            if left != right:
                yield diff_side.Detail(
                    kind="validity", field=f"valid of version {number}", a=diff_side.span(left), b=diff_side.span(right)
                )
    if one.ended != other.ended:
        yield diff_side.Detail(kind="validity", field="ended", a=_yes_or_no(one.ended), b=_yes_or_no(other.ended))


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def _names(one: diff_side.State, other: diff_side.State) -> Iterator[diff_side.Detail]:
    mine, theirs = Counter(one.aliases), Counter(other.aliases)
    for text in (mine - theirs).elements():
        yield diff_side.Detail(kind="names", field="alias", a=text, b="")
    for text in (theirs - mine).elements():
        yield diff_side.Detail(kind="names", field="alias", a="", b=text)


def _provenance(one: diff_side.State, other: diff_side.State) -> Iterator[diff_side.Detail]:
    if one.why != other.why:
        yield diff_side.Detail(kind="provenance", field="why", a=one.why, b=other.why)
    if one.source != other.source:
        yield diff_side.Detail(kind="provenance", field="source", a=as_text(one.source), b=as_text(other.source))


def as_text(value: Any) -> str:
    """A value that a caller stored, as JSON; empty for an empty one."""
    return msgspec.json.encode(value, order="deterministic", enc_hook=str).decode() if value else ""


def whole(state: diff_side.State, side: str) -> Iterator[diff_side.Detail]:
    """A world that only one side has: its text, and what it is."""
    kind = "removed" if side == "a" else "added"
    for field in _TEXTS:
        text = getattr(state, field)
        if text:
            yield diff_side.Detail(kind=kind, field=field, a=text if side == "a" else "", b=text if side == "b" else "")
    if state.lacks:
        texts = (state.lacks, "") if side == "a" else ("", state.lacks)
        yield diff_side.Detail(kind=kind, field="content", a=texts[0], b=texts[1])


def statement_details(one: diff_side.Side, other: diff_side.Side, lineage: bytes) -> Iterator[diff_side.Detail]:
    """The statements of a world that one side has not, or for another time."""
    mine, theirs = one.statements(lineage), other.statements(lineage)
    for line in sorted(mine.keys() | theirs.keys()):
        windows = mine.get(line, ()), theirs.get(line, ())
        if windows[0] != windows[1]:
            told = [f"{line} ({bundled_statements.windows_in_words(each)})" if each else "" for each in windows]
            yield diff_side.Detail(kind="statements", field="statement", a=told[0], b=told[1])


def edge_validity(one: diff_side.EdgeState, other: diff_side.EdgeState) -> Iterator[diff_side.Detail]:
    """An edge that both sides have, for another time."""
    if one.known and other.known and one.validity != other.validity:
        field = f"valid of {one.text}"
        yield diff_side.Detail(
            kind="validity",
            field=field,
            a=diff_side.span(one.validity),
            b=diff_side.span(other.validity),
            ref=one.edge.hex(),
        )


_KINDS: Final[dict[str, str]] = {
    "erased": "erased",
    "erased_elsewhere": "erased",
    "space": "vectors",
    "embedded": "vectors",
    "embedded_through": "vectors",
    "space_chosen": "vectors",
    "space_dropped": "vectors",
}
"""What kind of change an event is that only one history has; all others are ``registered``."""


def outside_details(sides: diff_side.Sides, since: diff_side.LaterEvents) -> dict[bytes, list[diff_side.Detail]]:
    """Changes that later events made outside the states of worlds, by the world they belong to."""
    found: defaultdict[bytes, list[diff_side.Detail]] = defaultdict(list)
    for ref in since.edges():
        named = since.naming(ref)
        kinds = {later.entry.event for later in named}
        if kinds & {"proposed", "decided"}:
            _proposal(sides, ref, found)
        # An edge that both histories made after they parted: one of them was forged, and may end it at another time.
        if (
            kinds & {"edge_closed", "edge_lost"}
            or len({later.side for later in named}) == len(sides)
            or since.is_silent(ref)
        ):
            _edge(sides, ref, found)
        if kinds & {"linked", "unlinked"}:
            _membership(sides, ref, found)
    _other_events(sides, since.others, found)
    _merge_rewritten(since, found)
    return found


def _merge_rewritten(since: diff_side.LaterEvents, found: dict[bytes, list[diff_side.Detail]]) -> None:
    """Merge commits in which both sides decide the same with another author, time or words.

    Only a forger who made all hashes anew leaves such commits, or two people who did the same by chance.
    """
    for seq, entries in since.commits["a"].items():
        others = since.commits["b"].get(seq, [])
        if not entries or [(e.event, e.data) for e in entries] != [(e.event, e.data) for e in others]:
            continue
        by = [f"by {each[0].author}, {times.format_time(each[0].ingested_at)}" for each in (entries, others)]
        for one, other in zip(entries, others, strict=True):
            ref = next((ref for ref in one.refs if len(ref) == 2 * ids.LINEAGE_BYTES), "")
            if ref:
                found[bytes.fromhex(ref)].extend(_is_same_decision(one, other, (by[0], by[1])))


def _is_same_decision(one: Entry, other: Entry, by: tuple[str, str]) -> Iterator[diff_side.Detail]:
    for field, a, b in (("name", one.name, other.name), ("content", one.text, other.text), ("why", one.why, other.why)):
        if a != b:
            yield diff_side.Detail(kind="altered", field=field, a=a, b=b)
    if by[0] != by[1]:
        yield diff_side.Detail(kind="provenance", field=f"commit {one.seq}", a=by[0], b=by[1])


def _edge(sides: diff_side.Sides, edge: bytes, found: dict[bytes, list[diff_side.Detail]]) -> None:
    one, other = (side.edge(edge) for side in sides)
    if one is not None and other is not None:
        found[one.source if one.type == CONTAINS else one.home].extend(edge_validity(one, other))


def _membership(sides: diff_side.Sides, edge: bytes, found: dict[bytes, list[diff_side.Detail]]) -> None:
    """A common membership at other times, which no hash covers."""
    states = [side.edge(edge) for side in sides]
    known = [state is not None and state.known for state in states]
    state = next((state for state, is_known in zip(states, known, strict=True) if is_known), None)
    if state is None or all(known) or state.type != CONTAINS:
        return
    if all(state.source in side.containers(state.target) for side in sides):
        span = diff_side.span(state.validity)
        found[state.source].append(
            diff_side.Detail(
                kind="validity",
                field=f"valid of {state.text}",
                a=span if known[0] else "",
                b=span if known[1] else "",
                ref=edge.hex(),
            )
        )


def _proposal(sides: diff_side.Sides, proposal: bytes, found: dict[bytes, list[diff_side.Detail]]) -> None:
    states = [side.proposal(proposal) for side in sides]
    texts = [state.text if state else "" for state in states]
    ends = next(((state.source, state.target) for state in states if state), ())
    for lineage in ends if texts[0] != texts[1] else ():
        found[lineage].append(
            diff_side.Detail(kind="identity", field="proposal", a=texts[0], b=texts[1], ref=proposal.hex()),
        )


def _other_events(
    sides: diff_side.Sides, others: list[diff_side.LaterEvent], found: dict[bytes, list[diff_side.Detail]]
) -> None:
    """Registrations, erasures and the like that one history has, by the world they name."""
    statements = [Counter(_event_text(later) for later in others if later.side == side.label) for side in sides]
    root = sides[0].root()
    for label, only in (("a", statements[0] - statements[1]), ("b", statements[1] - statements[0])):
        for (event, ref, data), _ in only.items():
            kind = _KINDS.get(event, "registered")
            texts = (data, "") if label == "a" else ("", data)
            found[bytes.fromhex(ref) or root].append(diff_side.Detail(kind=kind, field=event, a=texts[0], b=texts[1]))


def _event_text(later: diff_side.LaterEvent) -> tuple[str, str, str]:
    """The event's name, the first world that it names, and its content as text."""
    entry = later.entry
    ref = next((ref for ref in entry.refs if len(ref) == 2 * ids.LINEAGE_BYTES), "")
    return entry.event, ref, " ".join(filter(None, (entry.name, entry.why or as_text(entry.data))))
