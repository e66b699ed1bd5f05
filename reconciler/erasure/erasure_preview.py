"""Preview an erasure without writing anything.

It shows what the erasure would reach, and where a name would still occur.
"""

from collections.abc import Iterator, Sequence

import msgspec

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.names.canonical import normalised
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands.commands import Erase
from worlddb.reconciler.erasure.erasure_plan import forbidden_by, plan, settings_naming, sought_names
from worlddb.reconciler.transaction.inputs import PlannedErasure
from worlddb.reconciler.transaction.recorded_texts import body_at


class ErasurePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The effect that an erasure would have.

    ``worlds`` would be erased, which takes ``texts`` blobs; ``derived`` are those of them whose texts were made of
    others'. ``mentions`` are other worlds in whose texts a name or an alias of those that were named occurs: they would
    stay as they are. With ``forbid``, ``contents_forbidden`` counts the contents that could not be written again, and
    ``names_forbidden`` has the names that could not, of worlds that had no content. ``bookmarks`` are those whose names
    or reasons hold a name or an alias: they lose both if the erasure reaches everywhere, and stay otherwise. ``trusts``
    are the authors and sources of which trust was said, likewise; the levels go on to hold.
    """

    worlds: tuple[str, ...]
    texts: int
    mentions: tuple[str, ...]
    derived: tuple[str, ...] = ()
    contents_forbidden: int = 0
    names_forbidden: tuple[str, ...] = ()
    bookmarks: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()


def preview(log: LmdbLog, tables: Tables, commands: Sequence[Erase]) -> ErasurePlan:
    """Preview erasures. Reads all of the log, and every text.

    Raises:
        InputError: a reference is none of a world.
    """
    found = plan(log, tables, commands)
    reached = {target.node: target for own in found.targets for target in own if found.blobs.get(target.node)}
    bodies = [
        body
        for own, command in zip(found.targets, commands, strict=True)
        for target in (own if command.forbid else ())
        for body in forbidden_by(log, target, found.blobs.get(target.node, []))
    ]
    naming = list(settings_naming(log, tables, _named_by(found, commands)))
    mentioned = _mentions(log, tables, set(found.named), set(reached))
    return ErasurePlan(
        worlds=tuple(tables.node(node).lineage.hex() for node in reached),
        texts=sum(map(len, (*found.blobs.values(), *found.marks.values()))),
        mentions=tuple(tables.node(node).lineage.hex() for node in mentioned),
        derived=tuple(tables.node(node).lineage.hex() for node, target in reached.items() if target.derived),
        contents_forbidden=len({body.content for body in bodies if body.content}),
        bookmarks=tuple(dict.fromkeys(each.name for each in naming if each.is_bookmark)),
        trusts=tuple(dict.fromkeys(each.name for each in naming if not each.is_bookmark)),
        names_forbidden=tuple(dict.fromkeys(body.name for body in bodies if not body.content)),
    )


def _named_by(found: PlannedErasure, commands: Sequence[Erase]) -> set[int]:
    """Whose names are looked for in settings: what is named, and whatever else an erasure everywhere reaches."""
    reached = (
        target.node
        for own, command in zip(found.targets, commands, strict=True)
        for target in own
        if command.everywhere and not target.derived
    )
    return {*found.named, *reached}


def _mentions(log: LmdbLog, tables: Tables, named: set[int], besides: set[int]) -> Iterator[int]:
    """Worlds outside ``besides`` that mention a name or alias of ``named``.

    It occurs in their versions, compared case-folded.
    """
    sought = sought_names(log, tables, named)
    if sought is None:
        return
    for node in range(1, tables.progress().next_node):
        bodies = (body_at(log, row.seq, row.position) for _, row in tables.version_rows(node))
        said = (normalised(f"{body.name} {body.content}") for body in bodies if body is not None)
        if node not in besides and any(map(sought.search, said)):
            yield node
