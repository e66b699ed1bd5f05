"""Decide the statements of a world, and their retractions.

A quad that holds in the window already is not stated again, and one that holds in a part of it only in the rest. The
text of a literal is erased wherever the statements of its world have it: in all details that list it, with all triples
that are terms and have it as a part, and in the forks of the world or, if that is asked for, in every world.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from worlddb.log.model import blobs, codec, errors, ids, times
from worlddb.log.model import bundle as fr
from worlddb.log.model import events as ev
from worlddb.log.statements import terms as rdf
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.forks import fork_rows
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.storage import rows
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.transaction import context, draft


def state(ctx: context.Context, command: cmd.State, details: int) -> draft.Decision:
    """State quads; their terms are numbered here, so that a replay that has no texts any more numbers them so too."""
    node = context.node_ref(ctx, command.ref)
    lineage = ctx.lineage(node)
    if node and ctx.body(node) is None:
        ctx.refuse("erased", f"The text of {ids.short(lineage)} was erased", "Create another world")
    begins = ctx.now if command.valid_from is None else command.valid_from
    until = times.FOREVER if command.valid_to is None else command.valid_to
    window = times.checked_interval(begins, until, given=command.valid_from is not None)
    terms, first_new = _number_terms(ctx, node, command.aliases)
    named = [*terms, statement_rows.DEFAULT_GRAPH]  # Position -1 is the default graph's.
    quads = dict.fromkeys(ev.quads_of([named[at] for at in command.quads]))
    lacking: dict[times.Interval, list[statement_rows.Quad]] = defaultdict(list)
    for quad in quads:
        if max(quad) >= first_new:
            lacking[window].append(quad)
            continue
        for piece in missing(statement_rows.live(ctx.tables, node, quad), window):
            lacking[piece].append(quad)
    for piece, stated in lacking.items() if window.start < window.end else ():
        event = ev.Stated(lineage, details, terms, statement_rows.flat_quads(stated), piece.start, piece.end)
        ctx.draft.emit(event)
    return draft.Decision(lineage)


def _number_terms(ctx: context.Context, node: int, texts: tuple[str, ...]) -> tuple[list[int], int]:
    """The numbers of terms in a world, and the first that is given out here."""
    last = statement_rows.last_term(ctx.tables, node)
    first_new, numbers = last + 1, []
    for text in texts:
        found = statement_rows.number_of(ctx.tables, node, text)
        if found is None:
            found = last = last + 1
        numbers.append(found)
    if last > statement_rows.MAX_TERMS:
        raise errors.LimitExceeded("The world has too many terms", "State the rest in another world")
    return numbers, first_new


def missing(held: Iterable[statement_rows.Stating | fr.StatedFrame], window: times.Interval) -> list[times.Interval]:
    """The parts of a window in which a quad does not hold."""
    left, at = [], window.start
    for start, end in sorted((each.valid_from, each.valid_to) for each in held):
        if end <= at or start >= window.end:
            continue
        if start > at:
            left.append(times.Interval(at, start))
        at = end
    if at < window.end:
        left.append(times.Interval(at, window.end))
    return left


def unstate(ctx: context.Context, command: cmd.Unstate, details: int) -> draft.Decision:
    """Let quads hold no longer; those that do not hold anyway are passed over."""
    node = context.node_ref(ctx, command.ref)
    lineage, at = ctx.lineage(node), times.ALWAYS if command.at is None else command.at
    numbers = [statement_rows.number_of(ctx.tables, node, text) for text in command.aliases]
    named = [*numbers, statement_rows.DEFAULT_GRAPH]
    ending: list[statement_rows.Quad] = []
    for start in range(0, len(command.quads), 4):
        subject, predicate, object_, graph = (named[place] for place in command.quads[start : start + 4])
        if subject is None or predicate is None or object_ is None or graph is None:
            continue
        quad = (subject, predicate, object_, graph)
        if any(each.valid_to > at for each in statement_rows.live(ctx.tables, node, quad)):
            ending.append(quad)
    if ending:
        ctx.draft.emit(ev.Unstated(lineage, details, statement_rows.flat_quads(dict.fromkeys(ending)), at))
    return draft.Decision(lineage)


# -- erasing one literal


class LiteralPlaces(NamedTuple):
    """Where the statements of a world have the text of a literal, and the terms that it is, or is a part of.

    Each blob of details is named by commit and position, with the places of the texts among its aliases.
    """

    node: int
    blobs: dict[tuple[int, int], list[int]]
    terms: list[int]


def literal_places(
    log: LmdbLog, tables: rows.Tables, node: int, literal: str, *, everywhere: bool = False
) -> list[LiteralPlaces]:
    """Where a world and its forks, or all worlds, have a literal; of each only where there is one.

    Reads the events of all commits.
    """
    nodes = dict.fromkeys([node, *fork_rows.with_copies(tables, [node])])
    if everywhere:
        nodes |= dict.fromkeys(statement_rows.worlds(tables))
    places_by_lineage = {tables.node(each).lineage: LiteralPlaces(each, {}, []) for each in nodes}
    kinds: frozenset[type[ev.Event]] = frozenset((ev.Stated, ev.Unstated))
    for seq in range(1, log.head().seq + 1):
        stored = log.stored_events(seq)
        if not everywhere and not any(lineage in stored for lineage in places_by_lineage):
            continue
        listed: dict[int, list[int]] = {}
        for event in log.some_events(seq, kinds):
            if (
                not isinstance(event, ev.Stated | ev.Unstated)
                or event.lineage not in places_by_lineage
                or event.details == ev.NONE
            ):
                continue
            if event.details not in listed:
                listed[event.details] = _places_in(log.blob(seq, event.details), literal, seq)
            places, of_world = listed[event.details], places_by_lineage[event.lineage]
            if places:
                of_world.blobs[seq, event.details] = places
                term_numbers = event.terms if isinstance(event, ev.Stated) else []
                of_world.terms.extend(
                    term_numbers[place] for place in places if place < len(term_numbers) and term_numbers[place]
                )
    return [each._replace(terms=sorted(set(each.terms))) for each in places_by_lineage.values() if each.blobs]


def _places_in(stored: bytes | None, literal: str, seq: int) -> list[int]:
    """The places among the aliases of details at which a literal stands, alone or as a part of a triple."""
    if stored is None or literal[1:-1].encode()[:8] not in stored:
        return []
    details = codec.decode_blob(stored, seq)
    aliases = details.aliases if isinstance(details, blobs.Details) else []
    return [place for place, text in enumerate(aliases) if text == literal or has_part(text, literal)]


def has_part(text: str, literal: str) -> bool:
    """Whether a term is a triple that has a literal as a part, at any depth."""
    if not text.startswith("<<(") or literal not in text:
        return False
    return any(rdf.stored_text(each) == literal for each in _parts_of_term(rdf.term_of(text)))


def _parts_of_term(term: rdf.Term) -> Iterator[rdf.Term]:
    if isinstance(term, rdf.Triple):
        for part in (term.subject, term.predicate, term.object):
            yield from _parts_of_term(part)
    else:
        yield term


def erase_literal(ctx: context.Context, command: cmd.EraseLiteral, details: int) -> draft.Decision:
    """Record the erasure of a literal in a world and its forks, or in all worlds, with the hashes of the remaining
    blobs."""
    node = context.node_ref(ctx, command.ref)
    lineage, strikes = ctx.lineage(node), ctx.draft.blobs.strikes
    found = literal_places(ctx.draft.log, ctx.tables, node, command.literal, everywhere=command.everywhere)
    if not found:
        of = "any world" if command.everywhere else ids.short(lineage)
        told = f"No statement of {of} has such a literal, or its text was erased before"
        ctx.refuse("literal_not_stated", told, "Give it with its language or datatype, as the statement has it")
    for each in found:
        hashes = []
        for place, gone in sorted(each.blobs.items()):
            stored = strikes.get(place) or ctx.draft.log.blob(*place)
            assert stored is not None, "a text of it was read"
            left = strikes[place] = codec.strike_texts(stored, gone, place[0])
            struck = codec.struck_in(left)
            assert struck is not None, "it was made so"
            hashes.append(struck.hash)
        places = sorted(each.blobs)
        ctx.draft.emit(
            ev.Struck(ctx.lineage(each.node), places, [each.blobs[at] for at in places], hashes, each.terms, details)
        )
    return draft.Decision(lineage)
