"""The built-in edge types that only record a relation: they change neither end.

Each class states the laws of its type (paper Table 2), its place in an order, and what it asks of queries.
"""

from typing import ClassVar

from worlddb.log.model.events import RewriteName
from worlddb.reconciler.edge_types.handler import AcyclicHandler, BulkContext, PlainHandler, Q


class _Relation(PlainHandler):
    """A relation between two worlds; the only law is that nothing has it to itself."""

    rewrite: ClassVar[RewriteName | None] = None

    def only_records(self, ctx: BulkContext, source: int, target: int) -> bool:
        return source != target

    def on_query_rewrite(self, query: Q) -> Q:
        changed: Q = query if self.rewrite is None else getattr(query, self.rewrite)(self.name)
        return changed


class _Order(_Relation, AcyclicHandler):
    """A strict order: following it never leads back."""

    def only_records(self, ctx: BulkContext, source: int, target: int) -> bool:
        return source != target and not ctx.reaches(target, source, self.name)


class RefersTo(_Relation):
    """The source mentions the target, wherever the two are (paper Table 2: pierces containment).

    Laws:
        * It changes neither end, and its ends may lie in different worlds.
        * It is the only edge type that a traversal may follow out of the world that a query is in.
        * Nothing refers to itself.
    """

    name = "refers_to"
    rewrite = "cross_worlds"


class Implies(_Relation):
    """If the source holds, the target holds.

    Paper Table 2: preserved for the inferred-edge pass.

    Laws:
        * It changes neither end.
        * Nothing implies itself; two statements may imply each other.
    """

    name = "implies"


class DerivedFrom(_Order):
    """The source was made from the target (paper Table 2: preserved for the inferred-edge pass).

    A summary is derived from its details.

    Laws:
        * It changes neither end; the target may have ended.
        * Derivation has no cycles: nothing is, at any remove, its own evidence.
    """

    name = "derived_from"


class InstanceOf(_Relation):
    """The source is an instance of the type that the target stands for.

    Paper Table 2: schema-like lookups.

    Laws:
        * It changes neither end.
        * A filter by type also sees the instances of the worlds that stand for that type.
        * Nothing is an instance of itself.
    """

    name = "instance_of"
    rewrite = "widen_types"


class SubtypeOf(_Order):
    """Every instance of the source is an instance of the target.

    Paper Table 2: schema-like lookups.

    Laws:
        * It changes neither end.
        * It is a strict order: no type is, at any remove, a subtype of itself.
        * A filter by type also sees its subtypes.
    """

    name = "subtype_of"
    rewrite = "widen_types"


class Causes(_Order):
    """The source brought about the target (paper Table 2: causal ordering).

    Laws:
        * It changes neither end.
        * It is a strict order: nothing is, at any remove, its own cause.
    """

    name = "causes"


class Precedes(_Order):
    """The source comes before the target (paper Table 2: temporal ordering).

    Laws:
        * It changes neither end, and makes no claim about their validity intervals.
        * It is a strict order: nothing, at any remove, comes before itself.
    """

    name = "precedes"
