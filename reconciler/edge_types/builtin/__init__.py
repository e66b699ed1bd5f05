"""The default ontology: the built-in edge types, those of the paper's Table 2 first."""

from __future__ import annotations

from typing import Final

from worlddb.reconciler.edge_types.builtin.contains import Contains
from worlddb.reconciler.edge_types.builtin.contradicts import Contradicts
from worlddb.reconciler.edge_types.builtin.relations import (
    Causes,
    DerivedFrom,
    Implies,
    InstanceOf,
    Precedes,
    RefersTo,
    SubtypeOf,
)
from worlddb.reconciler.edge_types.builtin.same_as import SameAs
from worlddb.reconciler.edge_types.builtin.supersedes import Supersedes
from worlddb.reconciler.edge_types.handler import EdgeHandler

DEFAULT_ONTOLOGY: Final[tuple[EdgeHandler, ...]] = (
    Contains(),
    RefersTo(),
    Supersedes(),
    SameAs(),
    Contradicts(),
    Implies(),
    DerivedFrom(),
    InstanceOf(),
    SubtypeOf(),
    Causes(),
    Precedes(),
)
