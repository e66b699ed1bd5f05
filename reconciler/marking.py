"""Naming moments: a bookmark is a name for a commit, and never moves unless told to."""

from __future__ import annotations

from worlddb.log.model import events as ev
from worlddb.log.model.errors import InputError
from worlddb.log.model.times import format_time
from worlddb.projections.tables.apply.log_marks import bookmark_at
from worlddb.reconciler import commands as cmd
from worlddb.reconciler.context import Context


def bookmark(ctx: Context, command: cmd.Bookmark) -> tuple[int, int]:
    """Decide a bookmark: the commit that it stands for, and the position of the blob with its name.

    The same name for the same moment again changes nothing.

    Raises:
        InputError: there is no such commit, or nothing had been committed by then.
    """
    marked = _marked(ctx, command)
    known = bookmark_at(ctx.tables, command.name, ctx.draft.seq)
    if known is not None and known[1].marked == marked:
        return marked, ev.NONE
    if known is not None and not command.move:
        ctx.refuse(
            "bookmark_exists",
            f"The bookmark {command.name[:80]!r} stands for commit {known[1].marked}, set by commit {known[0]}",
            "Choose another name, or move it with move=True",
        )
    return marked, ctx.draft.add_body("Bookmark", command.name, "")


def _marked(ctx: Context, command: cmd.Bookmark) -> int:
    head = ctx.draft.head.seq
    if command.at is not None:
        marked = min(ctx.draft.log.seq_at(command.at), head)  # Decided again, the log goes on beyond.
        if not marked:
            raise InputError(f"Nothing had been committed by {format_time(command.at)}", "Name a later time")
        return marked
    marked = head if command.seq is None else command.seq
    if marked > head:
        raise InputError(f"There is no commit {marked}", f"The store has commits 1 to {head}")
    return marked
