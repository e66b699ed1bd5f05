"""Settings of a world: its registered edge types and the thresholds the resolver uses.

They are decided as every command is, so the log says from when on each held where.
"""

from typing import Final

from worlddb.log.model import errors, ids, limits
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.edge_types.relation_laws import NEVER_FUNCTIONAL
from worlddb.reconciler.similarity.verdict import Thresholds
from worlddb.reconciler.transaction import recorded_texts
from worlddb.reconciler.transaction.context import Context, node_ref


def register_type(ctx: Context, command: cmd.Register, details: int) -> bytes:
    """Register a type for a world; returns the world's reference.

    Registering the same again is no event.
    """
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    if command.digest_of == "built_in":
        _check_built_in(ctx, command)
    elif command.digest_of == "laws":
        _check_declared(ctx, command, world)
    else:
        _check_callers_type(ctx, command)
    lineage = ctx.lineage(world)
    if is_same_registration(settings.registration_in(ctx.tables, command.type, world, ctx.draft.seq), command):
        return lineage
    known = settings.type_names(ctx.tables)
    if command.type not in known and len(known) >= limits.MAX_EDGE_TYPES:
        ctx.refuse(
            "too_many_edge_types",
            f"{limits.MAX_EDGE_TYPES:,} edge types were registered in this store, which is the limit",
            "Use properties of edges instead of more types",
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
    """Take back the registration of a type in a world; returns the world's reference.

    The edges of the type stay.
    """
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    if settings.registration_in(ctx.tables, command.type, world, ctx.draft.seq) is None:
        ctx.refuse(
            "not_registered",
            f"The edge type {command.type[:80]!r} is not registered for {ctx.shown(world)} itself",
            "See the registered types with view.edge_types()",
        )
    ctx.draft.emit(ev.Unregistered(ctx.lineage(world), command.type, details))
    ctx.scopes.forget()
    return ctx.lineage(world)


def _check_built_in(ctx: Context, command: cmd.Register) -> None:
    if command.type not in ctx.scopes.built_in:
        raise errors.UnknownEdgeType(
            f"{command.type[:80]!r} is not a built-in edge type, so its name alone does not define it",
            "Give its handler, or one of: " + ", ".join(sorted(set(ctx.scopes.built_in) - NEVER_FUNCTIONAL)),
        )
    if command.functional and command.type in NEVER_FUNCTIONAL:
        ctx.refuse(
            "never_functional",
            f"{command.type} cannot be functional: several of its edges from one world are not a contradiction",
            "Give one of: " + ", ".join(sorted(set(ctx.scopes.built_in) - NEVER_FUNCTIONAL)),
        )


def _check_declared(ctx: Context, command: cmd.Register, world: int) -> None:
    """Refuse a relation that is registered with other laws, or a name that reads as that of another relation."""
    laws = ev.Laws.unpacked(command.digest)
    if command.type in ctx.scopes.built_in:
        ctx.refuse(
            "built_in_type",
            f"{command.type} is a built-in edge type, and its laws hold in every world",
            "Choose another name for the relation; to make a built-in type functional, register its name",
        )
    known = settings.registration_in(ctx.tables, command.type, world, ctx.draft.seq)
    if known is not None and not is_same_registration(known, command):
        ctx.refuse(
            "other_laws",
            f"{command.type[:80]!r} is registered for {ctx.shown(world)} as {_describe_registration(known)}, "
            f"not as {_describe_laws(laws, functional=command.functional)}",
            f"Use another name, or first unregister it: db.unregister({command.type[:80]!r})",
        )
    if laws.inverse in ctx.scopes.built_in or laws.inverse in settings.type_names(ctx.tables):
        ctx.refuse(
            "inverse_taken",
            f"The inverse {laws.inverse[:80]!r} of {command.type[:80]!r} is itself an edge type",
            "Choose another name for the inverse",
        )
    for other in settings.registered(ctx.tables, ctx.draft.seq):
        taken = None if other.laws is None else other.laws.inverse
        if taken and other.type != command.type and taken in (command.type, laws.inverse):
            ctx.refuse(
                "inverse_taken",
                f"{taken[:80]!r} is the inverse of the relation {other.type[:80]!r}",
                "Choose another name for the relation or its inverse",
            )


def _describe_registration(known: settings.Registration) -> str:
    """Describe a registration in words."""
    laws = known.laws
    if laws is None:
        return f"a type with a handler of version {known.row.handler_version}"
    return _describe_laws(laws, functional=known.is_functional)


def _describe_laws(laws: ev.Laws, *, functional: bool) -> str:
    names = [*(["functional"] if functional else []), *laws.names]
    names += [f"inverse {laws.inverse[:80]!r}"] if laws.inverse else []
    return ", ".join(names) or "a relation without laws"


def _check_callers_type(ctx: Context, command: cmd.Register) -> None:
    if command.type in ctx.scopes.built_in and command.type not in schema.LATER_BUILT_IN:
        ctx.refuse(
            "built_in_type",
            f"{command.type} is a built-in edge type, and its laws hold in every world",
            "Choose another name for your type; to make a built-in one functional, register its name",
        )


def is_same_registration(known: settings.Registration | None, command: cmd.Register) -> bool:
    """True if a registration equals what the command would register, in any world."""
    if known is None:
        return False
    row = known.row
    return (row.digest, known.digest_of, row.handler_version, known.rewrites, known.is_functional) == (
        command.digest or bytes(ids.HASH_BYTES),
        command.digest_of,
        command.handler_version,
        tuple(command.rewrites),
        command.functional,
    )


def set_profile(ctx: Context, command: cmd.SetProfile, details: int) -> bytes:
    """Close the vocabulary of a world, or open it again; returns the world's reference.

    The same again is no event. What is there already stays, whatever it is.
    """
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    lineage = ctx.lineage(world)
    known = next((one for one in settings.profiles_known(ctx.tables, ctx.draft.seq) if one.world == world), None)
    if not command.node_types and known is None:
        ctx.refuse(
            "no_profile",
            f"No profile is set for {ctx.shown(world)} itself",
            "See the profiles in force with profiles()",
        )
    said = None if known is None else (known.name, known.node_types, known.relations)
    if said != (command.profile, command.node_types, command.relations):
        ctx.draft.emit(
            ev.Profiled(lineage, command.profile, list(command.node_types), list(command.relations), details)
        )
        ctx.scopes.forget()
    return lineage


FIELDS: Final = Thresholds.__struct_fields__
"""The names of the thresholds, in their order in commands, events and rows."""


def set_thresholds(ctx: Context, command: cmd.Tune, details: int) -> bytes:
    """Set thresholds for a world; returns the world's reference.

    Setting the same numbers again is no event.
    """
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    lineage = ctx.lineage(world)
    if not is_same_tuning(settings.tuning_in(ctx.tables, world, command.type, ctx.draft.seq), command):
        # Whole numbers would be stored as such, and read back as something that hashes otherwise.
        scores = float(command.fuzzy), float(command.phonetic), float(command.embedding), float(command.margin)
        ctx.draft.emit(ev.Tuned(lineage, command.type, *scores, command.most, details))
        ctx.tuned = True
    return lineage


def unset_thresholds(ctx: Context, command: cmd.Untune, details: int) -> bytes:
    """Take back the thresholds of a world; returns the world's reference.

    Existing proposals stay.
    """
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    if settings.tuning_in(ctx.tables, world, command.type, ctx.draft.seq) is None:
        what = f"the node type {command.type[:80]!r}" if command.type else "every type"
        ctx.refuse(
            "not_tuned",
            f"No thresholds are set for {what} in {ctx.shown(world)} itself",
            "See the thresholds in force with view.tunings()",
        )
    ctx.draft.emit(ev.Untuned(ctx.lineage(world), command.type, details))
    return ctx.lineage(world)


def set_guard(ctx: Context, command: cmd.Guard, details: int) -> bytes:
    """Set how credentials and personal data in a world are handled; returns the world's reference.

    Saying the same again is no event.
    """
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    known = settings.guard_in(ctx.tables, world, ctx.draft.seq)
    before = settings.Guards("", "") if known is None else known.modes
    credentials = before.credentials if command.credentials is None else command.credentials
    personal = before.personal if command.personal is None else command.personal
    if (credentials, personal) != before:
        ctx.draft.emit(ev.Guarded(ctx.lineage(world), credentials, personal, details))
        ctx.guarded = True
    return ctx.lineage(world)


def set_trust(ctx: Context, command: cmd.Trust, details: int) -> tuple[bytes, int]:
    """Set a level of trust; returns the world that it is about, and the position of its name.

    To say the same again is no event.
    """
    world = ROOT_NODE if command.of != "world" or command.world is None else node_ref(ctx, command.world)
    lineage, is_named = ctx.lineage(world), command.of in ("author", "source")
    about = lineage if command.of == "world" else b""
    if is_named:
        about = settings.trust_digest(ctx.secret, command.type, command.name)
    known = settings.trust_statements(ctx.tables, command.of, about, ctx.draft.seq)
    earlier = _level_said_by_name(ctx, command) if is_named else None
    before = known.level if known is not None else None if earlier is None else earlier.level
    level = settings.TRUST_LEVELS.index(command.level) if command.level else None
    if level == before:
        return lineage, ev.NONE
    is_new = known is None and earlier is None
    if is_new and len(settings.trusts_known(ctx.tables, ctx.draft.seq)) >= limits.MAX_TRUSTED:
        ctx.refuse(
            "too_many_trusted",
            f"{limits.MAX_TRUSTED:,} levels of trust are in force in this store, which is the limit",
            "Set one level for a world or for all other sources, or remove some",
        )
    body = ev.NONE
    # A name that was erased does not come back with another level: it is known without.
    if is_named and (known is None or _has_name(ctx, known)):
        body = ctx.draft.add_body(command.type, command.name, "")
    if earlier is not None:
        ctx.draft.emit(ev.Trusted(command.of, b"", body, "", details))
    ctx.draft.emit(ev.Trusted(command.of, about, body, command.level, details))
    return lineage, body


def _level_said_by_name(ctx: Context, command: cmd.Trust) -> settings.TrustStatement | None:
    """The level in force that an earlier release recorded under a name."""
    digest = settings.legacy_trust_digest(command.type, command.name)
    found = settings.trust_statements(ctx.tables, command.of, digest, ctx.draft.seq, is_named=True)
    return None if found is None or found.level is None else found


def _has_name(ctx: Context, said: settings.TrustStatement) -> bool:
    """True if the name that a level of trust is recorded under was not erased."""
    if said.seq == ctx.draft.seq:
        return said.row.body != ev.NONE
    return recorded_texts.body_at(ctx.draft.log, said.seq, said.row.body) is not None


def is_same_tuning(known: settings.Tuning | None, command: cmd.Tune) -> bool:
    """True if a tuning equals what the command would set, in any world."""
    return known is not None and all(getattr(known.row, name) == getattr(command, name) for name in FIELDS)
