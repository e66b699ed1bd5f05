"""Preview an erasure without writing anything.

It shows what the erasure would reach, and where a name would still occur.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.names.canonical import normalised
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands.commands import Erase
from worlddb.reconciler.erasure.erasure_plan import forbidden_by, plan
from worlddb.reconciler.transaction.recorded_texts import body_at, details_at


class ErasurePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The effect that an erasure would have.

    ``worlds`` would be erased, which takes ``texts`` blobs; ``derived`` are those of them whose texts were made of
    others'. ``mentions`` are other worlds in whose texts a name or an alias of those that were named occurs: they would
    stay as they are. With ``forbid``, ``contents_forbidden`` counts the contents that could not be written again, and
    ``names_forbidden`` has the names that could not, of worlds that had no content.
    """

    worlds: tuple[str, ...]
    texts: int
    mentions: tuple[str, ...]
    derived: tuple[str, ...] = ()
    contents_forbidden: int = 0
    names_forbidden: tuple[str, ...] = ()


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
    mentioned = _mentions(log, tables, set(found.named), set(reached))
    return ErasurePlan(
        worlds=tuple(tables.node(node).lineage.hex() for node in reached),
        texts=sum(map(len, found.blobs.values())),
        mentions=tuple(tables.node(node).lineage.hex() for node in mentioned),
        derived=tuple(tables.node(node).lineage.hex() for node, target in reached.items() if target.derived),
        contents_forbidden=len({body.content for body in bodies if body.content}),
        names_forbidden=tuple(dict.fromkeys(body.name for body in bodies if not body.content)),
    )


def _mentions(log: LmdbLog, tables: Tables, named: set[int], besides: set[int]) -> Iterator[int]:
    """Worlds outside ``besides`` that mention a name or alias of ``named``.

    It occurs in their versions, compared case-folded.
    """
    names = sorted({name for node in named for name in _names(log, tables, node) if name})
    if not names:
        return
    # Scripts without spaces have no ends of words; elsewhere "Al" does not occur in "also".
    sought = re.compile("|".join(rf"\b{re.escape(name)}\b" if name.isascii() else re.escape(name) for name in names))
    for node in range(1, tables.progress().next_node):
        bodies = (body_at(log, row.seq, row.position) for _, row in tables.version_rows(node))
        said = (normalised(f"{body.name} {body.content}") for body in bodies if body is not None)
        if node not in besides and any(map(sought.search, said)):
            yield node


def _names(log: LmdbLog, tables: Tables, node: int) -> Iterator[str]:
    for _, row in tables.version_rows(node):
        body = body_at(log, row.seq, row.position)
        if body is not None:
            yield normalised(body.name)
    for _, given in tables.aliases(node):
        details = details_at(log, given.seq, given.details)
        if details is not None and given.position < len(details.aliases):
            yield normalised(details.aliases[given.position])
