"""Find the handler that decides about an edge.

It is a built-in one, or the registration in force at the edge's home.
"""

from typing import Final, NoReturn

from worlddb.log.model import errors, ids
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.apply.settings import Registration, RegistrationFinder, registered
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import LATER_BUILT_IN
from worlddb.reconciler.edge_types import registry, relation_laws, sandbox
from worlddb.reconciler.edge_types.handler import EdgeHandler, HandlerContext

_UNIFY: Final = "unify_identities"


class Scopes:
    """The registrations that one transaction sees, and the code that this process has for them."""

    def __init__(self, tables: Tables, ontology: registry.Ontology, seq: int) -> None:
        self.built_in = ontology.built_in
        self._tables = tables
        self._ontology = ontology
        self._seq = seq
        self._nearest: dict[str, RegistrationFinder] = {}
        self._unifying: list[str] | None = None
        self._profiles: list[settings.Profile] | None = None
        self.any_registered = tables.last_registration() != 0
        """Nearly every write is to a store in which nothing is registered."""

    def forget(self) -> None:
        """Clear the cache after a registration was written or taken back."""
        self._nearest.clear()
        self._unifying = None
        self._profiles = None
        self.any_registered = self._tables.last_registration() != 0

    def in_force(self, type_name: str, home: int) -> Registration | None:
        """The registration of a type that is in force for edges at home in a world."""
        nearest = self._nearest.get(type_name)
        if nearest is None:
            nearest = self._nearest[type_name] = RegistrationFinder(self._tables, type_name, self._seq)
        return nearest.at(home, self._tables.containers)

    def functional(self, type_name: str, home: int) -> int | None:
        """The world whose registration makes a type functional for edges at home in a world."""
        if not self.any_registered:
            return None
        known = self.in_force(type_name, home)
        return known.world if known is not None and known.is_functional else None

    def succession(self, type_name: str, home: int) -> int | None:
        """The world whose registration makes a type a succession for edges at home in a world."""
        if not self.any_registered:
            return None
        known = self.in_force(type_name, home)
        return known.world if known is not None and known.laws is not None and known.laws.succession else None

    def symmetric(self, type_name: str, home: int) -> bool:
        """True if a type reads the same from both ends for edges at home in a world."""
        known = self.in_force(type_name, home) if self.any_registered else None
        return known is not None and known.laws is not None and known.laws.symmetric

    @property
    def any_closed(self) -> bool:
        """True if the vocabulary of any world is closed."""
        if not self.any_registered:
            return False
        if self._profiles is None:
            self._profiles = settings.profiles_known(self._tables, self._seq)
        return bool(self._profiles)

    def profiles(self, home: int) -> list[settings.Profile]:
        """The profiles that hold in a world."""
        if not self.any_closed:
            return []
        return settings.profiles_around(self._profiles or (), home, self._tables.containers)

    def unifying_types(self) -> list[str]:
        """The types registered anywhere with ``unify_identities``."""
        if not self.any_registered:
            return []
        if self._unifying is None:
            known = registered(self._tables, self._seq)
            self._unifying = sorted({one.type for one in known if _UNIFY in one.rewrites})
        return self._unifying

    def unifies(self, type_name: str, home: int) -> bool:
        """True if an edge of a registered type, at home in a world, makes its ends one."""
        if type_name not in self.unifying_types():
            return False
        known = self.in_force(type_name, home)
        return known is not None and _UNIFY in known.rewrites

    def handler(self, ctx: HandlerContext, type_name: str, home: int) -> EdgeHandler:
        """The handler that decides about a new edge.

        Raises:
            UnknownEdgeType: the type is not registered there; the message lists those that are.
            Refusal: it is, and this process does not have that handler's code.
        """
        known = self._built_in(type_name, home)
        if known is not None:
            return known
        registration = self.in_force(type_name, home)
        if registration is None:
            self._refuse_unknown_type(ctx, type_name, home)
        return self._sandboxed(ctx, registration)

    def _built_in(self, type_name: str, home: int) -> EdgeHandler | None:
        """The built-in type of a name, unless the store has a type of its own by a name that became built in later."""
        known = self.built_in.get(type_name)
        if known is not None and type_name in LATER_BUILT_IN and self.any_registered:
            own = self.in_force(type_name, home)
            return known if own is None or own.is_built_in else None
        return known

    def deciding_handler(self, type_name: str, home: int) -> EdgeHandler | None:
        """The built-in or declared type that decides about edges; ``None`` if code of a caller does."""
        built_in = self._built_in(type_name, home)
        if built_in is not None or not self.any_registered:
            return built_in
        known = self.in_force(type_name, home)
        return (
            None
            if known is None or known.laws is None
            else relation_laws.declared(type_name, known.laws, functional=known.is_functional)
        )

    def handler_for_cleanup(self, ctx: HandlerContext, type_name: str, home: int) -> EdgeHandler | None:
        """The handler that cleans up after an edge.

        None if its type is not registered there any more.

        Raises:
            Refusal: the type is registered, and this process does not have that handler's code.
        """
        known = self._built_in(type_name, home)
        if known is not None:
            return known
        registration = self.in_force(type_name, home)
        return None if registration is None else self._sandboxed(ctx, registration)

    def _sandboxed(self, ctx: HandlerContext, known: Registration) -> EdgeHandler:
        handler = self._ontology.find(known.type, known.row.handler_version, known.row.digest)
        if handler is None and known.laws is not None:
            return relation_laws.declared(known.type, known.laws, functional=known.is_functional)
        if handler is not None:
            return sandbox.SandboxedHandler(handler, known.type, known.row.handler_version)
        what = f"the edge type {known.type!r}, version {known.row.handler_version}"
        code = f"{known.row.digest.hex()[:12]}, made of its {known.digest_of}"
        given = self._ontology.versions(known.type)
        if not given:
            ctx.refuse(
                "missing_handler",
                f"This process lacks the handler of {what} (digest {code})",
                "Open the store with it: worlddb.open(path, edge_types=[...])",
            )
        ctx.refuse(
            "other_handler",
            f"This process has version {', '.join(map(str, given))} of the handler, not the registered one of "
            f"{what} (digest {code})",
            f"Register your handler with db.register(...), for {ctx.shown(known.world)}, or open the store "
            "with the registered one",
        )

    def _refuse_unknown_type(self, ctx: HandlerContext, type_name: str, home: int) -> NoReturn:
        elsewhere = sorted({known.world for known in registered(self._tables, self._seq) if known.type == type_name})
        every = registered(self._tables, self._seq)
        here = {known.type for known in every} - {type_name}
        turned = [known.type for known in every if known.laws is not None and known.laws.inverse == type_name]
        if turned:
            raise errors.UnknownEdgeType(
                f"{type_name[:80]!r} is the inverse of {turned[0]!r}, for reading only",
                f"Link in the other direction: db.link(target, {turned[0]!r}, source)",
            )
        usable = sorted(name for name in here if self.in_force(name, home) is not None)
        if elsewhere:
            where = ", ".join(ids.short(self._tables.node(world).lineage) for world in elsewhere[:8])
            raise errors.UnknownEdgeType(
                f"The edge type {type_name[:80]!r} is registered for {where}, and the edge's home "
                f"{ctx.shown(home)} lies outside that",
                "Register it with db.register(...) for that world or a container of it, or give home=...",
            )
        raise errors.UnknownEdgeType(
            f"No handler is registered for the edge type {type_name[:80]!r}",
            f"Use one of: {', '.join(sorted([*self.built_in, *usable]))}; or declare your own with"
            " db.define_relation(...), or register its handler with db.register(...)",
        )
