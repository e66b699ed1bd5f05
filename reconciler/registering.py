"""Registrations: decided as every command is, so that the log says from when on which edge type held where."""

from __future__ import annotations

from typing import Final

from worlddb.log.model import events as ev
from worlddb.log.model.errors import UnknownEdgeType
from worlddb.log.model.ids import HASH_BYTES
from worlddb.log.model.limits import MAX_EDGE_TYPES
from worlddb.projections.tables.apply.settings import Registration, registration_in, type_names
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler import commands as cmd
from worlddb.reconciler.context import Context
from worlddb.reconciler.functional import NEVER_FUNCTIONAL
from worlddb.reconciler.references import node_ref

RESERVED_REWRITES: Final = frozenset({"cross_worlds", "unify_identities"})
"""What only built-in types may ask of queries: containment is pierced by ``refers_to`` alone (law 7), and identity is
what was accepted as ``same_as``."""


def register_type(ctx: Context, command: cmd.Register, details: int) -> bytes:
    """Register a type for a world; the world's reference. What is registered already, word for word, is no event."""
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    if command.digest_of == "built_in":
        _check_built_in(ctx, command)
    else:
        _check_own(ctx, command)
    lineage = ctx.lineage(world)
    if says_the_same(registration_in(ctx.tables, command.type, world, ctx.draft.seq), command):
        return lineage
    known = type_names(ctx.tables)
    if command.type not in known and len(known) >= MAX_EDGE_TYPES:
        ctx.refuse(
            "too_many_edge_types",
            f"{MAX_EDGE_TYPES:,} edge types were registered in this store, which is the limit",
            "Use properties of an edge for what need not be a type",
        )
    ctx.draft.emit(
        ev.Registered(
            lineage,
            command.type,
            command.handler_version,
            command.digest,
            command.digest_of,
            list(command.rewrites),
            command.functional,
            details,
        )
    )
    ctx.scopes.forget()
    return lineage


def unregister_type(ctx: Context, command: cmd.Unregister, details: int) -> bytes:
    """Take the registration of a type in a world back; the world's reference. Edges that there are stay."""
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    if registration_in(ctx.tables, command.type, world, ctx.draft.seq) is None:
        ctx.refuse(
            "not_registered",
            f"The edge type {command.type[:80]!r} is not registered for {ctx.shown(world)} itself",
            "See what is registered where with view.edge_types()",
        )
    ctx.draft.emit(ev.Unregistered(ctx.lineage(world), command.type, details))
    ctx.scopes.forget()
    return ctx.lineage(world)


def _check_built_in(ctx: Context, command: cmd.Register) -> None:
    if command.type not in ctx.scopes.built_in:
        raise UnknownEdgeType(
            f"{command.type[:80]!r} is no built-in edge type, so its name alone does not say what it does",
            "Give its handler, or one of: " + ", ".join(sorted(set(ctx.scopes.built_in) - NEVER_FUNCTIONAL)),
        )
    if command.functional and command.type in NEVER_FUNCTIONAL:
        ctx.refuse(
            "never_functional",
            f"{command.type} cannot be functional: several of its edges from one world are no contradiction",
        )


def _check_own(ctx: Context, command: cmd.Register) -> None:
    if command.type in ctx.scopes.built_in:
        ctx.refuse(
            "built_in_type",
            f"{command.type} is a built-in edge type, and its laws hold in every world",
            "Give your type a name of its own; to make a built-in one functional, register its name",
        )
    reserved = sorted(RESERVED_REWRITES & set(command.rewrites))
    if reserved:
        ctx.refuse(
            "reserved_rewrite",
            f"The handler of {command.type} asks queries to {', '.join(reserved)}, which only built-in types may",
            "Link with refers_to to lead out of a world, and with same_as to propose an identity",
        )


def says_the_same(known: Registration | None, command: cmd.Register) -> bool:
    """True if what is registered is what a command would register, wherever that is."""
    if known is None:
        return False
    row = known.row
    return (row.digest, known.digest_of, row.handler_version, known.rewrites, known.is_functional) == (
        command.digest or bytes(HASH_BYTES),
        command.digest_of,
        command.handler_version,
        tuple(command.rewrites),
        command.functional,
    )
