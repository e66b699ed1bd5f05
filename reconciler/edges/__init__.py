"""The default ontology: the eleven edge types of the paper's Table 2, one file each."""

from __future__ import annotations

from typing import Final

from worlddb.reconciler.edges.causes import Causes
from worlddb.reconciler.edges.contains import Contains
from worlddb.reconciler.edges.contradicts import Contradicts
from worlddb.reconciler.edges.derived_from import DerivedFrom
from worlddb.reconciler.edges.implies import Implies
from worlddb.reconciler.edges.instance_of import InstanceOf
from worlddb.reconciler.edges.precedes import Precedes
from worlddb.reconciler.edges.refers_to import RefersTo
from worlddb.reconciler.edges.same_as import SameAs
from worlddb.reconciler.edges.subtype_of import SubtypeOf
from worlddb.reconciler.edges.supersedes import Supersedes
from worlddb.reconciler.handler import EdgeHandler

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
