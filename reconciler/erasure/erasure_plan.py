"""Plan an erasure: find every text that it has to erase.

Those are every text that belongs to a world, and every text that was made of those. Everything that a caller said about
a lineage is a blob of the log: the bodies of its versions; their vectors; the details (reasons, provenance, aliases,
properties, evidence) of its events, of the edges at either end of it, of its proposals; and those of commands about any
of these. One pass over the log finds them, however many worlds are erased at once. Derived texts go too: a summary
repeats in other words what it sums up, and an extracted world bears a name from a turn.
"""

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from worlddb.log.model import codec, errors
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Cause
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply import trust_levels
from worlddb.projections.tables.names.canonical import NAME_DIGEST_BYTES, normalised
from worlddb.projections.tables.reads.lookup import find_node
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.commands.commands import Erase
from worlddb.reconciler.transaction import context, forbidden_texts, inputs, recorded_texts

MENTION: Final = "mention"
"""The role that an extractor gives the edge from a turn to what the turn mentions."""
SUMMARY: Final = "Summary"
"""The type of worlds that say in short what others say at length (paper §6)."""
_DERIVED_FROM: Final = schema.EDGE_TYPE_CODES["derived_from"]
_REFERS_TO: Final = schema.EDGE_TYPE_CODES["refers_to"]
_NO_USE: Final = frozenset((schema.CONTAINS_CODE, schema.SAME_AS_CODE))
"""Edges by which nobody says anything of a world: where it lies, and who it may be."""


def made_of(log: LmdbLog, tables: rows.Tables, nodes: Collection[int], *, besides: Collection[int]) -> dict[int, int]:
    """Find the worlds that were made of the texts of some nodes, at any remove.

    Returns each with one that it was made of, without those in ``besides``, which are all erased anyway.

    * What is ``derived_from`` one of them by an edge that was not unlinked.
    * Summaries that contain one of them.
    * What nothing but erased turns mention, if all that is known of it is a name.

    Worlds without any text left are none of these, nor is what was made of them.
    """
    found: dict[int, int] = {}
    reached = {*nodes, *besides}
    pending = deque(nodes)
    mentioned: dict[int, int] = {}
    while pending:
        node = pending.popleft()
        for other in _mentions(log, tables, node):
            mentioned.setdefault(other, node)
        made = {other: node for other in _restatements(log, tables, node)}
        if not pending:
            made |= {other: by for other, by in mentioned.items() if _only_mentioned(log, tables, other, reached)}
        for other in sorted(made.keys() - reached):
            if _says_anything(log, tables, other):
                found[other] = made[other]
                reached.add(other)
                pending.append(other)
    return found


def _restatements(log: LmdbLog, tables: rows.Tables, node: int) -> Iterator[int]:
    """Worlds that restate what a world says."""
    for place, row in tables.incoming(node, _DERIVED_FROM):
        if row.unlinked == schema.LIVE:
            yield place.source
    for place, row in tables.incoming(node, schema.CONTAINS_CODE):
        if row.unlinked == schema.LIVE and any(
            body.type == SUMMARY for body in recorded_texts.bodies_of(log, tables, place.source)
        ):
            yield place.source


def _mentions(log: LmdbLog, tables: rows.Tables, node: int) -> Iterator[int]:
    for _, row in tables.outgoing(node, _REFERS_TO):
        details = recorded_texts.details_at(log, row.seq, row.details)
        if details is not None and details.properties.get("role") == MENTION:
            yield row.target


def _only_mentioned(log: LmdbLog, tables: rows.Tables, node: int, reached: Collection[int]) -> bool:
    """True if all that is known of a world is its name, and only erased worlds refer to it."""
    if next(tables.aliases(node), None) is not None or any(
        body.content for body in recorded_texts.bodies_of(log, tables, node)
    ):
        return False
    users = [place.source for place, _ in tables.incoming(node) if place.type not in _NO_USE]
    users += [row.target for place, row in tables.outgoing(node) if place.type not in _NO_USE]
    return not any(user not in reached and _says_anything(log, tables, user) for user in users)


def _says_anything(log: LmdbLog, tables: rows.Tables, node: int) -> bool:
    return node != schema.ROOT_NODE and next(recorded_texts.bodies_of(log, tables, node), None) is not None


def plan(log: LmdbLog, tables: rows.Tables, commands: Sequence[Erase]) -> inputs.PlannedErasure:
    """Find what the commands erase.

    Reads the whole log once, and all bodies once more if one says everywhere.

    Raises:
        InputError: a reference is none of a world; ``details["command"]`` is its position.
    """
    seq = log.head().seq
    named: list[int] = []
    targets: list[list[inputs.ErasureTarget]] = []
    for position, command in enumerate(commands):
        try:
            assert not isinstance(command.ref, int), "checked before"
            node = find_node(tables, command.ref, seq)
        except errors.InputError as error:
            error.details.setdefault("command", position)
            raise
        named.append(node)
        found = [node, *(_turns_of(log, tables, node) if command.turns else ())]
        targets.append([inputs.ErasureTarget(node, False) for node in found])
    for command, own in zip(commands, targets, strict=True):
        if command.everywhere:
            nodes = {target.node for target in own}
            own.extend(
                inputs.ErasureTarget(node, True) for node in _with_texts_of(log, tables, nodes) if node not in nodes
            )
    targets = _without_repeated(targets)
    _add_derived(log, tables, commands, targets)
    marks: dict[int, list[inputs.BlobPlace]] = {}
    for command, own in zip(commands, targets, strict=True):
        if command.everywhere and own:
            reached = [target.node for target in own if not target.derived]
            taken = {place for each in marks.values() for place in each}
            naming = {place for mark in settings_naming(log, tables, reached) for place in mark.blobs}
            marks[own[0].node] = sorted(naming - taken)
    return inputs.PlannedErasure(
        named, targets, blobs_of(log, tables, seq, [target.node for own in targets for target in own]), marks
    )


class SettingNaming(NamedTuple):
    """A bookmark or a level of trust that names somebody: what it is of, and the blobs of its name and its reason."""

    name: str
    blobs: tuple[inputs.BlobPlace, ...]
    is_bookmark: bool


def settings_naming(log: LmdbLog, tables: rows.Tables, nodes: Collection[int]) -> Iterator[SettingNaming]:
    """What is the whole store's and names some worlds, by a name or an alias: in the order of the log.

    It does so in the name or the reason of a bookmark, or in those of a level of trust that is said of no world.
    """
    sought = sought_names(log, tables, nodes)
    if sought is None:
        return
    set_by = {int.from_bytes(key[NAME_DIGEST_BYTES:], "big") for key, _ in tables.bookmarks.scan(b"")}
    for seq in sorted(set_by | {said.seq for said in trust_levels.trusts_said(tables)}):
        for event in log.events(seq).events:
            if isinstance(event, ev.Bookmarked) or (isinstance(event, ev.Trusted) and event.of != "world"):
                body = recorded_texts.body_at(log, seq, event.body)
                details = recorded_texts.details_at(log, seq, event.details)
                is_bookmark = isinstance(event, ev.Bookmarked)
                named = "" if body is None else body.name if is_bookmark else f"{body.type} {body.name}"
                if sought.search(normalised(f"{named} {'' if details is None else details.why}")):
                    kept = ((seq, event.body, body), (seq, event.details, details))
                    blobs = tuple((at, position) for at, position, text in kept if text is not None)
                    if isinstance(event, ev.Trusted):
                        named = _told(event.of, body)
                    yield SettingNaming(named, blobs, is_bookmark)


def _told(of: ev.TrustOf, body: Body | None) -> str:
    """What a level of trust is said of."""
    if body is None:
        return "all the rest" if of == "rest" else of
    return body.name if of == "author" else f"{body.type}={body.name}"


def sought_names(log: LmdbLog, tables: rows.Tables, nodes: Collection[int]) -> re.Pattern[str] | None:
    """What finds the names and aliases that worlds ever had in a normalised text; ``None`` if they have none."""
    names = sorted({name for node in nodes for name in _names(log, tables, node) if name})
    if not names:
        return None
    # Scripts without spaces have no ends of words; elsewhere "Al" does not occur in "also".
    return re.compile("|".join(rf"\b{re.escape(name)}\b" if name.isascii() else re.escape(name) for name in names))


def _names(log: LmdbLog, tables: rows.Tables, node: int) -> Iterator[str]:
    for _, row in tables.version_rows(node):
        body = recorded_texts.body_at(log, row.seq, row.position)
        if body is not None:
            yield normalised(body.name)
    for _, given in tables.aliases(node):
        details = recorded_texts.details_at(log, given.seq, given.details)
        if details is not None and given.position < len(details.aliases):
            yield normalised(details.aliases[given.position])


def _without_repeated(targets: list[list[inputs.ErasureTarget]]) -> list[list[inputs.ErasureTarget]]:
    """Keep each world only where it is reached first."""
    seen: set[int] = set()
    kept: list[list[inputs.ErasureTarget]] = []
    for own in targets:
        fresh = list({target.node: target for target in reversed(own) if target.node not in seen}.values())[::-1]
        seen.update(target.node for target in fresh)
        kept.append(fresh)
    return kept


def _add_derived(
    log: LmdbLog, tables: rows.Tables, commands: Sequence[Erase], targets: list[list[inputs.ErasureTarget]]
) -> None:
    """Add derived worlds to the targets of the commands that ask for them."""
    by = {target.node: position for position, own in enumerate(targets) for target in own if commands[position].derived}
    reached = {target.node for own in targets for target in own}
    for node, source in made_of(log, tables, by, besides=reached).items():
        by[node] = by[source]
        targets[by[node]].append(inputs.ErasureTarget(node, False, derived=True))


def erase(ctx: context.Context, command: Erase, details: int) -> bytes:
    """Record the erasure of everything that one command reaches.

    Returns the lineage that the command named.
    """
    found = ctx.erasure
    assert found is not None, "planned before anything was decided"
    position = len(ctx.draft.commands)
    named = ctx.tables.node(found.named[position]).lineage
    changed = False
    for target in found.targets[position]:
        lineage = ctx.tables.node(target.node).lineage
        if target.node == schema.ROOT_NODE:
            ctx.refuse("root_is_permanent", "The root world cannot be erased")
        blobs = found.blobs.get(target.node, [])
        bodies = forbidden_by(ctx.draft.log, target, blobs) if command.forbid else []
        texts = {recorded_texts.text_of(body) for body in bodies}
        if any(body.content for body in bodies):
            texts |= {said for said in _spoken_in(ctx.draft.log, ctx.tables, target.node, bodies) if said}
        forbidden = sorted(forbidden_texts.digest_of(ctx.secret, text) for text in texts)
        gone = sorted([*blobs, *found.marks.get(target.node, [])])
        if gone:
            trusted = _trusted_by_name(ctx, gone)
            ctx.draft.emit(ev.Erased(lineage, gone, details, target.everywhere, forbidden))
            for event in trusted:
                ctx.draft.emit(event)
            changed = True
            if forbidden:
                ctx.forbid()
        if any(not body.content for body in bodies):
            ctx.note("name_forbidden", lineage)
    if not changed:
        ctx.note("already_erased", named)
    return named


def _trusted_by_name(ctx: context.Context, gone: Sequence[inputs.BlobPlace]) -> list[ev.Trusted]:
    """What says again how far somebody is trusted of whom nothing but the name was recorded, and that is gone."""
    again: list[ev.Trusted] = []
    for said in trust_levels.trusts_known(ctx.tables, ctx.draft.seq):
        place = said.seq, said.row.body
        body = recorded_texts.body_at(ctx.draft.log, *place) if said.is_named and place in gone else None
        if body is not None and said.level is not None:
            about = trust_levels.keyed_digest(ctx.secret, body.type, body.name)
            again.append(ev.Trusted(said.kind, about, ev.NONE, trust_levels.LEVELS[said.level], ev.NONE))
    return again


def forbidden_by(log: LmdbLog, target: inputs.ErasureTarget, blobs: Sequence[inputs.BlobPlace]) -> list[Body]:
    """The bodies of an erased world whose texts may not be written again.

    They are compared by content, or by name where there is none. A derived text may come again, from others.
    """
    bodies = (recorded_texts.body_at(log, *place) for place in blobs)
    return [] if target.derived else [body for body in bodies if body is not None and recorded_texts.text_of(body)]


def _spoken_in(log: LmdbLog, tables: rows.Tables, node: int, bodies: Sequence[Body]) -> Iterator[str]:
    """What a turn says without the names of its speakers, which is forbidden to others too."""
    for _, row in tables.outgoing(node, _REFERS_TO):
        details = recorded_texts.details_at(log, row.seq, row.details)
        if details is not None and details.properties.get("role") == recorded_texts.SPEAKER:
            names = {body.name for body in recorded_texts.bodies_of(log, tables, row.target)}
            yield from (recorded_texts.spoken(body.content, name) for name in names for body in bodies)


# -- which worlds


def _turns_of(log: LmdbLog, tables: rows.Tables, node: int) -> Iterator[int]:
    """The turns of a speaker, as ``ingest`` linked them."""
    code = tables.type_code("refers_to")
    prefixes = tuple(f"{body.name}: " for body in recorded_texts.bodies_of(log, tables, node) if body.name)
    for place, row in tables.incoming(node, code):
        details = recorded_texts.details_at(log, row.seq, row.details)
        if details is not None:
            said = details.properties.get("role") == recorded_texts.SPEAKER
        else:
            # The edge lost its text to an earlier erasure; a turn that was restored since says who speaks.
            said = any(text.startswith(prefixes) for text in recorded_texts.texts_of_world(log, tables, place.source))
        if said:
            yield place.source


def _with_texts_of(log: LmdbLog, tables: rows.Tables, nodes: set[int]) -> list[int]:
    """Every world with a version, past ones included, that has a text of these."""
    texts = {text for node in nodes for text in recorded_texts.texts_of_world(log, tables, node)}
    everyone = range(1, tables.progress().next_node)
    return [node for node in everyone if not texts.isdisjoint(recorded_texts.texts_of_world(log, tables, node))]


# -- which blobs


def blobs_of(log: LmdbLog, tables: rows.Tables, last: int, nodes: list[int]) -> dict[int, list[inputs.BlobPlace]]:
    """The blobs of some nodes that still exist up to commit ``last``.

    Each is listed under one node only.
    """
    owners = _owners(tables, nodes)
    found: dict[inputs.BlobPlace, int] = {}
    for seq in range(1, last + 1):
        events = log.events(seq)
        for place, owner in _owned(log, seq, events, owners):
            if place[1] != ev.NONE and place not in found and log.blob(*place) is not None:
                found[place] = owner
    blobs: dict[int, list[inputs.BlobPlace]] = {}
    for place in sorted(found):
        blobs.setdefault(found[place], []).append(place)
    return blobs


def _owners(tables: rows.Tables, nodes: list[int]) -> dict[bytes, int]:
    """The owner of each lineage, edge and proposal; one between two nodes belongs to the first."""
    owners = {tables.node(node).lineage: node for node in nodes}
    for node in nodes:
        for _, row in (*tables.outgoing(node), *tables.incoming(node)):
            owners.setdefault(row.edge, node)
    wanted = set(nodes)
    for proposal, staged in tables.all_proposals():
        for node in (staged.source, staged.target):
            if node in wanted:
                owners.setdefault(proposal, node)
    return owners


def _owned(
    log: LmdbLog, seq: int, events: codec.Events, owners: dict[bytes, int]
) -> Iterator[tuple[inputs.BlobPlace, int]]:
    """The places of an owner's texts in a commit, in its events and its commands."""
    for event in events.events:
        owner = owners.get(_subject(event))
        if owner is not None:
            yield (seq, getattr(event, "body", ev.NONE)), owner
            yield (seq, getattr(event, "details", ev.NONE)), owner
            yield (seq, getattr(event, "vector", ev.NONE)), owner
    if not any(ref in owners for ref in events.refs):
        return
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    if isinstance(cause, Cause):
        # A command's texts need not stand in any event: the reason of an unlink, the names of an unalias.
        for ref, (code, body, details, *_) in zip(events.refs, cause.commands, strict=False):
            if ref in owners and code != Erase.CODE:
                yield (seq, body), owners[ref]
                yield (seq, details), owners[ref]


def _subject(event: ev.Event) -> bytes:
    """The lineage, edge or proposal that the texts of an event are about.

    An erasure's own reason stays.
    """
    if isinstance(event, ev.Created | ev.Revised | ev.Ended | ev.Voided | ev.Named | ev.Filled | ev.Embedded):
        return event.lineage
    if isinstance(event, ev.Registered | ev.Unregistered | ev.Imported | ev.Tuned | ev.Untuned):
        return event.world
    if isinstance(event, ev.Trusted):
        return event.world if event.of == "world" else b""
    if isinstance(event, ev.Linked):
        return event.edge
    if isinstance(event, ev.Proposed | ev.Decided):
        return event.proposal
    return b""
