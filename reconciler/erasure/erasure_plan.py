"""Plan an erasure: find every text that it has to erase.

Everything that a caller said about a lineage is a blob of the log: the bodies of its versions; their vectors; the
details (reasons, provenance, aliases, properties, evidence) of its events, of the edges at either end of it, of its
proposals; and those of commands about any of these. One pass over the log finds them, however many worlds are erased at
once. Which worlds these are is found in :mod:`worlddb.reconciler.erasure.erased_worlds`.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple
from unicodedata import normalize

from worlddb.log.model import errors, ids
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.accounts import account_rows
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.consolidation.interior_witness import ENRICHMENT_TYPE
from worlddb.projections.tables.forks import fork_rows
from worlddb.projections.tables.names.canonical import NAME_DIGEST_BYTES, normalise_name
from worlddb.projections.tables.reads.table_reads import find_node
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.commands.commands import Erase
from worlddb.reconciler.erasure import erased_worlds
from worlddb.reconciler.transaction import context, forbidden_texts, inputs, recorded_texts

MAX_TOLD: Final = 20
"""How many members that stay a note of the receipt names."""
_LEAST_OF_USER: Final = 2
"""The fewest characters of a user's name that are looked for in the texts of others."""


def plan(log: LmdbLog, tables: rows.Tables, commands: Sequence[Erase]) -> inputs.PlannedErasure:
    """Find what the commands erase.

    It reads the whole log once, and all bodies once more if a command says ``everywhere``.

    Raises:
        InputError: a reference is not that of a world; ``details["command"]`` is the position of the command.
        MembersNotSaid: a world has members of its own, and the command does not say whether they are erased too.
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
        nodes_found = [node, *(erased_worlds.turns_by_speaker(log, tables, node) if command.turns else ())]
        targets.append([inputs.ErasureTarget(node, False) for node in nodes_found])
    inside = _member_effects(log, tables, commands, named)
    for command, command_targets, members in zip(commands, targets, inside.erased, strict=True):
        command_targets.extend(inputs.ErasureTarget(node, False, member=True) for node in members)
        if command.everywhere:
            nodes = {target.node for target in command_targets}
            nodes_found = erased_worlds.worlds_sharing_texts(log, tables, nodes)
            command_targets.extend(inputs.ErasureTarget(node, True) for node in nodes_found if node not in nodes)
    targets = _drop_repeated(targets)
    _add_derived(log, tables, commands, targets, inside.whole)
    _add_forks(tables, targets)
    marks: dict[int, list[inputs.BlobPlace]] = {}
    for command, command_targets in zip(commands, targets, strict=True):
        if command.everywhere and command_targets:
            reached = [target.node for target in command_targets if not target.derived and not target.member]
            assigned_places = {place for each in marks.values() for place in each}
            naming_places = {place for mark in find_naming_settings(log, tables, reached) for place in mark.blobs}
            marks[command_targets[0].node] = sorted(naming_places - assigned_places)
    reached_nodes = [target.node for command_targets in targets for target in command_targets]
    blobs = recorded_texts.places_of_texts(log, tables, seq, reached_nodes, inside.whole)
    keys = _add_keys_of_users(log, tables, reached_nodes, blobs)
    return inputs.PlannedErasure(named, targets, blobs, marks, inside.kept, inside.whole, keys)


def _add_keys_of_users(
    log: LmdbLog, tables: rows.Tables, nodes: Sequence[int], blobs: dict[int, list[inputs.BlobPlace]]
) -> dict[int, list[bytes]]:
    """Add the texts of access keys to those of the user who is their default; returns by node the keys in force."""
    made = [key for key in account_rows.access_keys(tables) if log.blob(key.made, key.position) is not None]
    if not made:
        return {}
    users = [(user, node) for node in nodes for user in erased_worlds.users_of(log, tables, node)]
    found: dict[int, list[bytes]] = {}
    for key in made:
        body = recorded_texts.body_at(log, key.made, key.position)
        name = normalize("NFC", body.content) if body is not None else ""
        own_scopes = (node for user, node in users if user == name)
        node = next((each for each in own_scopes if erased_worlds.is_scope_for_key(tables, each, key.world)), None)
        if node is None:
            continue
        events = (each for each in log.events(key.made).events if isinstance(each, ev.KeyMade) and each.key == key.key)
        places = {(key.made, position) for each in events for position in (each.body, each.details)}
        own = {place for place in places if place[1] != ev.NONE and log.blob(*place) is not None}
        blobs[node] = sorted({*blobs.get(node, []), *own})
        found.setdefault(node, []).extend([] if key.ended else [key.key])
    return found


class _MemberEffects(NamedTuple):
    """For each command the members that are erased and those that stay; and all worlds erased with their interiors."""

    erased: list[list[int]]
    kept: list[list[inputs.KeptMember]]
    whole: set[int]


def _member_effects(
    log: LmdbLog, tables: rows.Tables, commands: Sequence[Erase], named: Sequence[int]
) -> _MemberEffects:
    """Divide the members of the named worlds.

    Raises:
        MembersNotSaid: it is to be asked for, and was not.
    """
    goes = [
        erased_worlds.is_owner_world(log, tables, node) if command.members is None else command.members
        for command, node in zip(commands, named, strict=True)
    ]
    for position, (command, node) in enumerate(zip(commands, named, strict=True)):
        if command.members is None and not goes[position]:
            _require_members_decided(log, tables, named, node, position)
    tops = [node for node, its in zip(named, goes, strict=True) if its]
    if not tops:
        left = [_members_left(log, tables, node, named) for node in named]
        return _MemberEffects([[] for _ in named], left, set())
    derived = {node for command, node in zip(commands, named, strict=True) if command.derived}
    interiors = erased_worlds.ErasedInteriors(log, tables, tops, set(named) - {*tops}, derived)
    erased = [interiors.erased_nodes(node) if its else [] for node, its in zip(named, goes, strict=True)]
    gone = {*named, *(each for its in erased for each in its)}
    kept = [
        interiors.kept_members(node) if its else _members_left(log, tables, node, gone)
        for node, its in zip(named, goes, strict=True)
    ]
    return _MemberEffects(erased, kept, {*tops, *(each for its in erased for each in its)})


def _members_left(log: LmdbLog, tables: rows.Tables, node: int, gone: Collection[int]) -> list[inputs.KeptMember]:
    """The members of a world that keep their texts, since only the world's own texts are erased."""
    members = dict.fromkeys(tables.live_targets(node, schema.CONTAINS_CODE))
    return [
        inputs.KeptMember(each, "left")
        for each in members
        if each not in gone and erased_worlds.has_any_text(log, tables, each)
    ]


def _require_members_decided(log: LmdbLog, tables: rows.Tables, named: Sequence[int], node: int, position: int) -> None:
    """Refuse unless the caller said what becomes of members that only this world contains and that have texts."""
    if node == schema.ROOT_NODE or not tables.live_targets(node, schema.CONTAINS_CODE):
        return
    inside = erased_worlds.ErasedInteriors(log, tables, [node], set(named) - {node}).erased_nodes(node)
    alone = [each for each in inside if each not in named and erased_worlds.has_any_text(log, tables, each)]
    # Enrichments derive from a text, and are erased or kept like all derived texts.
    alone = [each for each in alone if tables.version(each, 1).type != ENRICHMENT_TYPE]
    if alone:
        what = "another world with" if len(alone) == 1 else f"{len(alone):,} other worlds with"
        raise errors.MembersNotSaid(
            f"{ids.short(tables.node(node).lineage)} contains {what} text, and the call does not say whether "
            "to erase that too",
            "Pass members=True to erase that too, or members=False to leave it",
            members=len(alone),
            command=position,
        )


class SettingNaming(NamedTuple):
    """A bookmark or level of trust that names an erased world, with the blobs of its name and reason."""

    name: str
    blobs: tuple[inputs.BlobPlace, ...]
    is_bookmark: bool


def find_naming_settings(log: LmdbLog, tables: rows.Tables, nodes: Collection[int]) -> Iterator[SettingNaming]:
    """Find store-wide settings that mention a name or alias of some worlds, in log order.

    These are bookmarks, and levels of trust of no world; their names and reasons are searched.
    """
    sought = names_pattern(log, tables, nodes)
    if sought is None:
        return
    set_by = {int.from_bytes(key[NAME_DIGEST_BYTES:], "big") for key, _ in tables.bookmarks.scan(b"")}
    for seq in sorted(set_by | {said.seq for said in settings.trust_history(tables)}):
        for event in log.events(seq).events:
            if isinstance(event, ev.Bookmarked) or (isinstance(event, ev.Trusted) and event.of != "world"):
                body = recorded_texts.body_at(log, seq, event.body)
                details = recorded_texts.details_at(log, seq, event.details)
                is_bookmark = isinstance(event, ev.Bookmarked)
                named = "" if body is None else body.name if is_bookmark else f"{body.type} {body.name}"
                if sought.search(normalise_name(f"{named} {'' if details is None else details.why}")):
                    kept = ((seq, event.body, body), (seq, event.details, details))
                    blobs = tuple((at, position) for at, position, text in kept if text is not None)
                    if isinstance(event, ev.Trusted):
                        named = _trust_subject(event.of, body)
                    yield SettingNaming(named, blobs, is_bookmark)


def _trust_subject(of: ev.TrustOf, body: Body | None) -> str:
    """Describe the subject of a level of trust."""
    if body is None:
        return "all the rest" if of == "rest" else of
    return body.name if of == "author" else f"{body.type}={body.name}"


def names_pattern(
    log: LmdbLog, tables: rows.Tables, nodes: Collection[int], *, owners: bool = False
) -> re.Pattern[str] | None:
    """A pattern for all names and aliases that worlds ever had, for normalised texts; ``None`` if they had none.

    With ``owners`` of a user's scope also the name of the user.
    """
    names = {name for node in nodes for name in _normalised_names(log, tables, node) if name}
    if owners:
        users = {name.removeprefix("user:").strip() for name in names if name.startswith("user:")}
        names |= {user for user in users if len(user) >= _LEAST_OF_USER}
    if not names:
        return None
    # Scripts without spaces have no word boundaries; elsewhere "Al" must not match in "also".
    return re.compile(
        "|".join(rf"\b{re.escape(name)}\b" if name.isascii() else re.escape(name) for name in sorted(names))
    )


def _normalised_names(log: LmdbLog, tables: rows.Tables, node: int) -> Iterator[str]:
    for _, row in tables.version_rows(node):
        body = recorded_texts.body_at(log, row.seq, row.position)
        if body is not None:
            yield normalise_name(body.name)
    for _, given in tables.aliases(node):
        details = recorded_texts.details_at(log, given.seq, given.details)
        if details is not None and given.position < len(details.aliases):
            yield normalise_name(details.aliases[given.position])


def _drop_repeated(targets: list[list[inputs.ErasureTarget]]) -> list[list[inputs.ErasureTarget]]:
    """Keep each world only where it is reached first."""
    seen: set[int] = set()
    kept: list[list[inputs.ErasureTarget]] = []
    for own in targets:
        fresh = list({target.node: target for target in reversed(own) if target.node not in seen}.values())[::-1]
        seen.update(target.node for target in fresh)
        kept.append(fresh)
    return kept


def _add_derived(
    log: LmdbLog,
    tables: rows.Tables,
    commands: Sequence[Erase],
    targets: list[list[inputs.ErasureTarget]],
    whole: Collection[int],
) -> None:
    """Add derived worlds to the targets of the commands that ask for them."""
    by = {target.node: position for position, own in enumerate(targets) for target in own if commands[position].derived}
    reached = {target.node for own in targets for target in own}
    for node, source in erased_worlds.derived_worlds(log, tables, by, besides=reached, whole=whole).items():
        by[node] = by[source]
        targets[by[node]].append(inputs.ErasureTarget(node, False, derived=True))


def _add_forks(tables: rows.Tables, targets: list[list[inputs.ErasureTarget]]) -> None:
    """Add the copies of erased worlds in forks, which have the same texts."""
    reached = {target.node for own in targets for target in own}
    for own in targets:
        for node in fork_rows.with_copies(tables, [target.node for target in own]):
            if node not in reached:
                reached.add(node)
                own.append(inputs.ErasureTarget(node, False))


def erase(ctx: context.Context, command: Erase, details: int) -> bytes:
    """Record the erasure of everything that one command reaches.

    Returns the lineage that the command named.
    """
    planned = ctx.erasure
    assert planned is not None, "planned before anything was decided"
    position = len(ctx.draft.commands)
    named_lineage = ctx.tables.node(planned.named[position]).lineage
    changed = False
    for target in planned.targets[position]:
        lineage = ctx.tables.node(target.node).lineage
        if target.node == schema.ROOT_NODE:
            ctx.refuse("root_is_permanent", "The root world cannot be erased", "Name a world inside it")
        blobs = planned.blobs.get(target.node, [])
        bodies = forbidden_bodies(ctx.draft.log, target, blobs) if command.forbid else []
        texts = {recorded_texts.text_of(body) for body in bodies}
        if any(body.content for body in bodies):
            texts |= {said for said in _spoken_texts(ctx.draft.log, ctx.tables, target.node, bodies) if said}
        forbidden = sorted(forbidden_texts.digest_of(ctx.secret, text) for text in texts)
        erased_places = sorted([*blobs, *planned.marks.get(target.node, [])])
        if erased_places:
            trust_events = _restated_trust(ctx, erased_places)
            ctx.draft.emit(ev.Erased(lineage, erased_places, details, target.everywhere, forbidden))
            for event in trust_events:
                ctx.draft.emit(event)
            keys = planned.keys.get(target.node, [])
            for key in keys:
                ctx.draft.emit(ev.KeyEnded(key, details))
            if keys:
                ctx.note("keys_ended", lineage, *keys[:MAX_TOLD])
            changed = True
            if forbidden:
                ctx.forbid()
        if any(not body.content for body in bodies):
            ctx.note("name_forbidden", lineage)
    for code, whys in (("shared_kept", ("contained", "referred_to")), ("members_left", ("left",))):
        kept_lineages = [ctx.tables.node(each.node).lineage for each in planned.kept[position] if each.why in whys]
        if kept_lineages:
            ctx.note(code, named_lineage, *kept_lineages[:MAX_TOLD])
    if not changed:
        ctx.note("already_erased", named_lineage)
    return named_lineage


def _restated_trust(ctx: context.Context, gone: Sequence[inputs.BlobPlace]) -> list[ev.Trusted]:
    """Events that record levels of trust again under a keyed hash, where the only record was the erased name."""
    restated: list[ev.Trusted] = []
    for said in settings.trusts_known(ctx.tables, ctx.draft.seq):
        place = said.seq, said.row.body
        body = recorded_texts.body_at(ctx.draft.log, *place) if said.is_named and place in gone else None
        if body is not None and said.level is not None:
            about = settings.trust_digest(ctx.secret, body.type, body.name)
            restated.append(ev.Trusted(said.kind, about, ev.NONE, settings.TRUST_LEVELS[said.level], ev.NONE))
    return restated


def forbidden_bodies(log: LmdbLog, target: inputs.ErasureTarget, blobs: Sequence[inputs.BlobPlace]) -> list[Body]:
    """The bodies of an erased world whose texts may not be written again.

    They are compared by content, or by name if there is none. A derived text may be written again from other sources.
    """
    bodies = (recorded_texts.body_at(log, *place) for place in blobs)
    return [] if target.derived else [body for body in bodies if body is not None and recorded_texts.text_of(body)]


def _spoken_texts(log: LmdbLog, tables: rows.Tables, node: int, bodies: Sequence[Body]) -> Iterator[str]:
    """The texts of a turn without the names of its speakers; other speakers may not write them either."""
    for _, row in tables.outgoing(node, erased_worlds.REFERS_TO):
        details = recorded_texts.details_at(log, row.seq, row.details)
        if details is not None and details.properties.get("role") == recorded_texts.SPEAKER:
            names = {body.name for body in recorded_texts.bodies_of(log, tables, row.target)}
            yield from (recorded_texts.text_without_speaker(body.content, name) for name in names for body in bodies)
