"""Thresholds of the resolver for a world: decided as every command is, and looked up when a candidate is resolved."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.projections.tables.apply.settings import Tuning, is_anything_tuned, tuning_at, tuning_in
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler import commands as cmd
from worlddb.reconciler.context import Context
from worlddb.reconciler.references import node_ref
from worlddb.reconciler.resolving.thresholds import Resolving, Thresholds

FIELDS: Final = Thresholds.__struct_fields__
"""What is set, in the order in which commands, events and rows have it."""


class Setting(NamedTuple):
    """The thresholds that apply to a candidate, and the world that they were set for, if they were set for one."""

    thresholds: Thresholds
    world: bytes | None = None

    def told(self) -> dict[str, Any]:
        """What the evidence says of it, beside the thresholds themselves."""
        return {} if self.world is None else {"tuned": self.world.hex()}


def setting_for(ctx: Context, resolving: Resolving, type_name: str, home: int) -> Setting:
    """The thresholds for a candidate of a type in a world: the nearest that were set, else those of the open store."""
    if ctx.tuned is None:
        ctx.tuned = is_anything_tuned(ctx.tables)
    if not ctx.tuned or resolving.instead:
        return Setting(resolving.of(type_name))
    found = tuning_at(ctx.tables, home, type_name, ctx.tables.containers, ctx.draft.seq)
    if found is None:
        return Setting(resolving.of(type_name))
    return Setting(thresholds_of(found), ctx.lineage(found.world))


def set_thresholds(ctx: Context, command: cmd.Tune, details: int) -> bytes:
    """Set thresholds for a world; the world's reference. What is set already, number by number, is no event."""
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    lineage = ctx.lineage(world)
    if not sets_the_same(tuning_in(ctx.tables, world, command.type, ctx.draft.seq), command):
        # Whole numbers would be stored as such, and read back as something that hashes otherwise.
        scores = float(command.fuzzy), float(command.phonetic), float(command.embedding), float(command.margin)
        ctx.draft.emit(ev.Tuned(lineage, command.type, *scores, command.most, details))
        ctx.tuned = True
    return lineage


def take_thresholds_back(ctx: Context, command: cmd.Untune, details: int) -> bytes:
    """Take thresholds of a world back; the world's reference. Proposals that there are stay."""
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    if tuning_in(ctx.tables, world, command.type, ctx.draft.seq) is None:
        what = f"the node type {command.type[:80]!r}" if command.type else "every type"
        ctx.refuse(
            "not_tuned",
            f"No thresholds are set for {what} in {ctx.shown(world)} itself",
            "See what is set where with view.tunings()",
        )
    ctx.draft.emit(ev.Untuned(ctx.lineage(world), command.type, details))
    return ctx.lineage(world)


def thresholds_of(known: Tuning) -> Thresholds:
    """What was set, as thresholds."""
    return Thresholds(**{name: getattr(known.row, name) for name in FIELDS})


def sets_the_same(known: Tuning | None, command: cmd.Tune) -> bool:
    """True if what is set is what a command would set, wherever that is."""
    return known is not None and all(getattr(known.row, name) == getattr(command, name) for name in FIELDS)
