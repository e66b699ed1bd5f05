"""The default ontology: the eleven edge types of the paper's Table 2, one file each."""

from __future__ import annotations

from typing import Final

from worlddb.reconciler.edge_types.builtin.causes import Causes
from worlddb.reconciler.edge_types.builtin.contains import Contains
from worlddb.reconciler.edge_types.builtin.contradicts import Contradicts
from worlddb.reconciler.edge_types.builtin.derived_from import DerivedFrom
from worlddb.reconciler.edge_types.builtin.implies import Implies
from worlddb.reconciler.edge_types.builtin.instance_of import InstanceOf
from worlddb.reconciler.edge_types.builtin.precedes import Precedes
from worlddb.reconciler.edge_types.builtin.refers_to import RefersTo
from worlddb.reconciler.edge_types.builtin.same_as import SameAs
from worlddb.reconciler.edge_types.builtin.subtype_of import SubtypeOf
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
