"""Embedding spaces: list them, choose the one in use, drop one."""

from collections.abc import Iterator
from typing import Final

import msgspec

from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes.catchup import documents_without_vector
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.transaction.context import Context

DEFAULT_SPACE: Final = "default"
"""The default name of the first space of a store."""

_BODY_TYPE: Final = "Space"


class EmbeddingSpace(msgspec.Struct, frozen=True, kw_only=True):
    """An embedding space: its name, its model, and its dimension.

    The model is the one that made its vectors; the dimension is how many numbers each of them has. ``in_use``: it is
    the one that answers. ``texts`` have vectors in it; all that commits up to ``through`` wrote have. ``opened`` and
    ``dropped`` are commits; ``dropped`` is ``None`` while it is there.
    """

    name: str
    model: str
    dimension: int
    in_use: bool
    texts: int
    through: int
    opened: int
    dropped: int | None


def describe_spaces(log: LmdbLog, tables: Tables) -> Iterator[EmbeddingSpace]:
    """Every space, described for its owner."""
    used, counted = asof.active_space(tables, log.head().seq), log_marks.totals(tables)
    for space in asof.all_spaces(log, tables):
        yield EmbeddingSpace(
            name=space.name,
            model=space.model,
            dimension=space.row.dimension,
            in_use=space.number == used,
            texts=sum(1 for _ in asof.vectors_of(tables, space.number))
            if counted is None
            else counted.embedded.get(space.number, 0),
            through=space.row.through,
            opened=space.row.seq,
            dropped=space.dropped,
        )


def change(ctx: Context, command: cmd.UseSpace | cmd.DropSpace, details: int) -> tuple[bytes, int]:
    """Decide which space is in use from now on, or drop one.

    Returns:
        The chain hash of the commit that opened the space, and where the blob with its name is.
    """
    space = _space_named(ctx, command.name)
    opening_chain = ctx.draft.log.chain(space.row.seq)
    used_space = asof.space_in_use(ctx.draft.log, ctx.tables, ctx.draft.seq)
    is_used = used_space is not None and used_space.number == space.number
    if isinstance(command, cmd.DropSpace):
        if is_used:
            ctx.refuse(
                "space_in_use",
                f"The embedding space {space.name[:80]!r} answers queries",
                "First move to another one: `worlddb reembed --to MODEL`",
            )
        body = _repeat_name(ctx, command.name)
        ctx.draft.emit(ev.SpaceDropped(space.number, body, details))
        return opening_chain, body
    if used_space is None or is_used:
        return opening_chain, ev.NONE
    first_missing = next(documents_without_vector(ctx.draft.log, ctx.tables, space, used_space.row.through), None)
    if first_missing is not None:
        ctx.refuse(
            "space_behind",
            f"The embedding space {space.name[:80]!r} lacks vectors from commit {first_missing.seq} on that "
            f"{used_space.name[:80]!r}, the one that answers, has",
            "First fill it: `worlddb reembed --to MODEL`",
        )
    body = _repeat_name(ctx, command.name)
    ctx.draft.emit(ev.SpaceChosen(space.number, body, details))
    return opening_chain, body


def _repeat_name(ctx: Context, name: str) -> int:
    """The position of a body that repeats the name of an existing space."""
    body = ctx.draft.add_body(_BODY_TYPE, name, "")
    ctx.draft.blobs.repeated.add(body)
    return body


def _space_named(ctx: Context, name: str) -> asof.OpenSpace:
    found = asof.find_space(ctx.draft.log, ctx.tables, name)
    if found is None:
        names = [each.name for each in asof.all_spaces(ctx.draft.log, ctx.tables) if each.dropped is None]
        ctx.refuse(
            "unknown_space",
            f"The embedding space {name[:80]!r} is unknown",
            f"There are: {', '.join(repr(each[:80]) for each in names)}" if names else "No text has been embedded yet",
        )
    return found
