"""The query specification that edge handlers may rewrite (paper §2.2, ``on_query_rewrite``)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """How a query sees edges. Each edge type's rewrite adds to it; the names are those of edge types."""

    hides_closed: bool = False
    conflict_types: frozenset[str] = frozenset()
    lattice_types: frozenset[str] = frozenset()
    crossing_types: frozenset[str] = frozenset()
    identity_types: frozenset[str] = frozenset()
    scoped_types: frozenset[str] = frozenset()
    """Types whose rewrite holds for some worlds only: of their edges, the home says whether it does."""
    missing_types: tuple[str, ...] = ()
    """Registered types whose registered code this process does not have."""
    built_in: tuple[tuple[str, int], ...] = ()
    """Names and versions of the built-in types."""
    codes: frozenset[tuple[str, int, bytes]] = frozenset()
    """Type, version and digest of the handlers that the process was given."""

    @property
    def rewriting_types(self) -> frozenset[str]:
        """Types that change how queries see their edges."""
        return self.conflict_types | self.lattice_types | self.crossing_types | self.identity_types

    def hide_closed(self) -> Spec:
        return msgspec.structs.replace(self, hides_closed=True)

    def show_conflicts(self, edge_type: str) -> Spec:
        return msgspec.structs.replace(self, conflict_types=self.conflict_types | {edge_type})

    def widen_types(self, edge_type: str) -> Spec:
        return msgspec.structs.replace(self, lattice_types=self.lattice_types | {edge_type})

    def cross_worlds(self, edge_type: str) -> Spec:
        return msgspec.structs.replace(self, crossing_types=self.crossing_types | {edge_type})

    def unify_identities(self, edge_type: str) -> Spec:
        return msgspec.structs.replace(self, identity_types=self.identity_types | {edge_type})


Rewrite = Callable[[Spec], Spec]
"""An edge type's rewrite, handed to the query by the façade as a value."""


def rewritten(rewrites: tuple[Rewrite, ...], built_in: tuple[tuple[str, int], ...]) -> Spec:
    """The specification after every built-in edge type has rewritten it."""
    spec = Spec(built_in=built_in)
    for rewrite in rewrites:
        spec = rewrite(spec)
    return spec
