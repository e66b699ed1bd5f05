"""Preview an erasure without writing anything.

It shows what the erasure would reach, and where a name would still occur.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Literal, NamedTuple

import msgspec

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.accounts import account_rows
from worlddb.projections.tables.names.canonical import normalise_name
from worlddb.projections.tables.reads.table_reads import find_node
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands.commands import Erase, EraseLiteral
from worlddb.reconciler.commands.outcome import Note
from worlddb.reconciler.erasure import erased_worlds
from worlddb.reconciler.erasure.erasure_plan import (
    MAX_TOLD,
    find_naming_settings,
    forbidden_bodies,
    names_pattern,
    plan,
)
from worlddb.reconciler.transaction.inputs import KeptMember, PlannedErasure
from worlddb.reconciler.transaction.recorded_texts import bodies_of, body_at, details_at, text_of, texts_of_details


class KeptWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A world that an erasure would keep although an erased world contains or mentions it, and why.

    * ``contained``: the worlds in ``by`` contain it too.
    * ``referred_to``: those in ``by`` refer to it.
    * ``left``: it was not asked for.
    * ``outside``: what is erased refers to it, and it lies elsewhere and says more than a name.
    """

    ref: str
    why: Literal["contained", "referred_to", "left", "outside"]
    by: tuple[str, ...] = ()


class ErasurePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The effect that an erasure would have.

    ``worlds`` would be erased, which takes ``texts`` blobs; ``derived`` are those of them whose texts were made of
    others'. ``mentions`` are other worlds in whose texts a name or an alias of those that were named occurs, or of a
    user's scope the name of the user: they would stay as they are. With ``forbid``, ``contents_forbidden`` counts the
    contents that could not be written again, and ``names_forbidden`` has the names that could not, of worlds that had
    no content. ``bookmarks`` are those whose names or reasons hold a name or an alias: they lose both if the erasure
    reaches everywhere, and stay otherwise. ``trusts`` are the authors and sources of which trust was said, likewise;
    the levels go on to hold. ``members`` are those ``worlds`` that lie inside of one that was named, and ``kept`` what
    stays although it lies there, or is mentioned. ``same_words`` are other worlds that say, or ever said, word for word
    what one that was named does: they would stay. ``telling`` are others whose texts may tell it, by a code, a name or
    most of its words: at most 32 by each of these are looked at, and they would stay. ``keys`` are the names of access
    keys whose default user is erased: they would end.
    """

    worlds: tuple[str, ...]
    texts: int
    mentions: tuple[str, ...]
    derived: tuple[str, ...] = ()
    contents_forbidden: int = 0
    names_forbidden: tuple[str, ...] = ()
    bookmarks: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    kept: tuple[KeptWorld, ...] = ()
    same_words: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


def preview(log: LmdbLog, tables: Tables, commands: Sequence[Erase]) -> ErasurePlan:
    """Preview erasures. Reads all of the log, and every text.

    Raises:
        InputError: a reference is not that of a world.
        MembersNotSaid: a world has members of its own, and the command does not say whether they are erased too.
    """
    planned = plan(log, tables, commands)
    reached = {target.node: target for own in planned.targets for target in own if planned.blobs.get(target.node)}
    bodies = [
        body
        for own, command in zip(planned.targets, commands, strict=True)
        for target in (own if command.forbid else ())
        for body in forbidden_bodies(log, target, planned.blobs.get(target.node, []))
    ]
    naming = list(find_naming_settings(log, tables, _worlds_to_search_names_of(planned, commands)))
    mentioned = _mentioning_worlds(log, tables, set(planned.named), set(reached))
    alike = erased_worlds.worlds_saying_the_same(log, tables, set(planned.named))
    live = {key for own in planned.keys.values() for key in own}
    keys = (each for each in account_rows.access_keys(tables) if each.key in live)
    named = (body_at(log, key.made, key.position) for key in keys)
    same_words = sorted({node for others in alike.values() for node in others} - reached.keys())
    return ErasurePlan(
        worlds=tuple(tables.node(node).lineage.hex() for node in reached),
        texts=sum(map(len, (*planned.blobs.values(), *planned.marks.values()))),
        mentions=tuple(tables.node(node).lineage.hex() for node in mentioned),
        derived=tuple(tables.node(node).lineage.hex() for node, target in reached.items() if target.derived),
        contents_forbidden=len({body.content for body in bodies if body.content}),
        bookmarks=tuple(dict.fromkeys(each.name for each in naming if each.is_bookmark)),
        trusts=tuple(dict.fromkeys(each.name for each in naming if not each.is_bookmark)),
        names_forbidden=tuple(dict.fromkeys(body.name for body in bodies if not body.content)),
        members=tuple(tables.node(node).lineage.hex() for node, target in reached.items() if target.member),
        keys=tuple(body.name for body in named if body is not None),
        kept=tuple(
            KeptWorld(
                ref=tables.node(each.node).lineage.hex(),
                why=each.why,
                by=tuple(tables.node(other).lineage.hex() for other in each.by),
            )
            for each in (*(each for own in planned.kept for each in own), *_referred_outside(log, tables, planned))
        ),
        same_words=tuple(tables.node(node).lineage.hex() for node in same_words),
    )


class LiteralErasurePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The effect that the erasure of a literal would have.

    ``worlds`` are the one that was named and its forks, or all of the store, as far as they have it; ``statements``
    counts the statements in them that would lose a text, past ones too, and ``texts`` the places in the log at which it
    stands. ``elsewhere`` are other worlds that state it: they would keep it.
    """

    worlds: tuple[str, ...]
    statements: int
    texts: int
    elsewhere: tuple[str, ...] = ()


def literal_preview(log: LmdbLog, tables: Tables, command: EraseLiteral) -> LiteralErasurePlan:
    """Preview the erasure of a literal. Reads the events of all commits.

    Raises:
        InputError: the reference is none of a world.
    """
    from worlddb.reconciler.statements.statement_changes import literal_places

    assert not isinstance(command.ref, int), "checked before"
    node = find_node(tables, command.ref, log.head().seq)
    literals = literal_places(log, tables, node, command.literal, everywhere=command.everywhere)
    erased_terms = {each.node: set(each.terms) for each in literals}
    quads = {
        (each.node, stating.quad)
        for each in literals
        for stating in statement_rows.matching(tables, each.node, (None,) * 4)
        if not erased_terms[each.node].isdisjoint(stating.quad)
    }
    others = (node for node in statement_rows.worlds(tables) if node not in erased_terms)
    stating = [node for node in others if statement_rows.number_of(tables, node, command.literal) is not None]
    return LiteralErasurePlan(
        worlds=tuple(tables.node(each.node).lineage.hex() for each in literals),
        statements=len(quads),
        texts=sum(len(places) for each in literals for places in each.blobs.values()),
        elsewhere=tuple(tables.node(node).lineage.hex() for node in stating),
    )


class TextsReached(NamedTuple):
    """What erasures reach: texts (names only if there is no content), the names of the worlds, and ``beside``.

    That is what was said of them beside: properties, reasons, aliases, labels and tags.
    """

    texts: list[str]
    names: list[str]
    beside: list[str]


def texts_reached(log: LmdbLog, tables: Tables, commands: Sequence[Erase]) -> TextsReached:
    """The texts that erasures reach."""
    found = plan(log, tables, commands)
    places = [place for places in found.blobs.values() for place in places]
    bodies = (body_at(log, *place) for place in places)
    names = (body.name for node in found.named for body in bodies_of(log, tables, node))
    beside = (text for place in places for text in texts_of_details(details_at(log, *place)))
    texts = (text_of(body) for body in bodies if body is not None)
    return TextsReached(*(list(dict.fromkeys(each)) for each in (texts, names, beside)))


def same_words_before(log: LmdbLog, tables: Tables, commands: Sequence[Erase]) -> dict[int, list[int]]:
    """What has to be read before an erasure: for each named world the others that say the same word for word."""
    named = {find_node(tables, each.ref, log.head().seq) for each in commands if not isinstance(each.ref, int)}
    return erased_worlds.worlds_saying_the_same(log, tables, named)


def same_words_notes(log: LmdbLog, tables: Tables, before: Mapping[int, Sequence[int]]) -> list[Note]:
    """After an erasure, name the worlds that said the same as an erased one and still have a text.

    The log has no such note: with it, whoever reads one of these texts would know the erased one.
    """
    found = []
    for node, others in before.items():
        left = list(islice((each for each in others if erased_worlds.has_any_text(log, tables, each)), MAX_TOLD))
        if left and not erased_worlds.has_any_text(log, tables, node):
            refs = (tables.node(each).lineage.hex() for each in (node, *left))
            found.append(Note("same_words_stay", tuple(refs)))
    return found


def telling_notes(log: LmdbLog, tables: Tables, before: Mapping[str, Sequence[str]]) -> list[Note]:
    """The same for the worlds that may tell what an erased one said."""
    found = []
    for ref, others in before.items():
        is_left = partial(_has_text, log, tables)
        left = list(islice(filter(is_left, others), MAX_TOLD))
        if left and not is_left(ref):
            found.append(Note("still_told", (ref, *left)))
    return found


def _has_text(log: LmdbLog, tables: Tables, ref: str) -> bool:
    return erased_worlds.has_any_text(log, tables, find_node(tables, ref, log.head().seq))


def _worlds_to_search_names_of(found: PlannedErasure, commands: Sequence[Erase]) -> set[int]:
    """The worlds whose names are searched for in settings: those named, and those that ``everywhere`` reaches."""
    reached = (
        target.node
        for own, command in zip(found.targets, commands, strict=True)
        for target in own
        if command.everywhere and not target.derived and not target.member
    )
    return {*found.named, *reached}


def _referred_outside(log: LmdbLog, tables: Tables, found: PlannedErasure) -> Iterator[KeptMember]:
    """Worlds with texts that lie elsewhere and that members of erased worlds refer to."""
    gone = {target.node for own in found.targets for target in own}
    told = {each.node for own in found.kept for each in own}
    mentioned = (each for node in sorted(found.whole) for each in tables.live_targets(node, erased_worlds.REFERS_TO))
    for node in dict.fromkeys(mentioned):
        if node not in gone and node not in told and erased_worlds.has_any_text(log, tables, node):
            users = erased_worlds.referring_worlds(log, tables, node, gone)
            yield KeptMember(node, "referred_to" if users else "outside", tuple(users))


def _mentioning_worlds(log: LmdbLog, tables: Tables, named: set[int], besides: set[int]) -> Iterator[int]:
    """Worlds outside ``besides`` that mention a name or alias of ``named``.

    It occurs in their versions, compared case-folded.
    """
    sought = names_pattern(log, tables, named, owners=True)
    if sought is None:
        return
    for node in range(1, tables.progress().next_node):
        bodies = (body_at(log, row.seq, row.position) for _, row in tables.version_rows(node))
        said = (normalise_name(f"{body.name} {body.content}") for body in bodies if body is not None)
        if node not in besides and any(map(sought.search, said)):
            yield node
