"""The default ontology: the built-in edge types, those of the paper's Table 2 first."""

from typing import Final

from worlddb.reconciler.edge_types.builtin import contains, contradicts, relations, same_as, supersedes
from worlddb.reconciler.edge_types.handler import EdgeHandler

DEFAULT_ONTOLOGY: Final[tuple[EdgeHandler, ...]] = (
    contains.Contains(),
    relations.RefersTo(),
    supersedes.Supersedes(),
    same_as.SameAs(),
    contradicts.Contradicts(),
    relations.Implies(),
    relations.DerivedFrom(),
    relations.InstanceOf(),
    relations.SubtypeOf(),
    relations.Causes(),
    relations.Precedes(),
)
