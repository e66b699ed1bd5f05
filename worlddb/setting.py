"""The write calls that say what holds from now on: edge types, the resolver's thresholds, and which space answers."""

from __future__ import annotations

from typing import Any

from worlddb.calling import Calling
from worlddb.log.model.errors import InputError
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.edge_types.handler import EdgeHandler
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.reconciler.similarity.thresholds import Thresholds


class Setting(Calling):
    """Settings as commands: single ones, or of a batch."""

    _ontology: Ontology

    def register(
        self,
        edge_type: EdgeHandler | str,
        *,
        world: Any = None,
        functional: bool = False,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Let an edge type hold for a world (default: the whole store) and all that it contains, from now on.

        Give the type's handler; of a built-in type its name, to say whether it is ``functional``: then a second edge
        of the type from one world, valid at the same time and with another target, is a conflict of the two targets.
        Of several registrations the one nearest to an edge's home holds. What is registered already is no event; other
        code takes the place of what was registered for the same world. The reference of the receipt is the world's.
        """
        told = self._ontology.described(edge_type)
        command = cmd.Register(
            type=told.type,
            handler_version=told.handler_version,
            digest=told.digest,
            digest_of=told.digest_of,
            rewrites=told.rewrites,
            functional=functional,
            world=None if world is None else self._ref(world),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def unregister(
        self, edge_type: str, *, world: Any = None, why: str = "", idempotency_key: str | None = None
    ) -> Any:
        """Take the registration of an edge type in a world (default: the store's) back; its edges stay."""
        where = None if world is None else self._ref(world)
        return self._execute([cmd.Unregister(type=edge_type, world=where, why=why)], idempotency_key)

    def tune(
        self,
        thresholds: Thresholds,
        *,
        world: Any = None,
        type: str = "",
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Set the resolver's thresholds for a world (default: the whole store) and all that it contains, from now on.

        They hold for candidates of ``type``, or of every type where none is given. Of several the nearest hold, and in
        one world those of the candidate's type; where none are set, those that the store was opened with. What is set
        already is no event. The reference of the receipt is the world's.
        """
        if not isinstance(thresholds, Thresholds):
            raise InputError(f"thresholds is {thresholds.__class__.__name__}", "Give Thresholds(...)")
        command = cmd.Tune(
            fuzzy=thresholds.fuzzy,
            phonetic=thresholds.phonetic,
            embedding=thresholds.embedding,
            margin=thresholds.margin,
            most=thresholds.most,
            type=type,
            world=None if world is None else self._ref(world),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def untune(self, *, world: Any = None, type: str = "", why: str = "", idempotency_key: str | None = None) -> Any:
        """Take back what was set for a type (default: for every type) in a world (default: the whole store)."""
        where = None if world is None else self._ref(world)
        return self._execute([cmd.Untune(type=type, world=where, why=why)], idempotency_key)

    def use_space(self, name: str, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Let another embedding space answer: one that has vectors for all that the present one has them for.

        ``reembed`` does it when it has filled a space. Views of earlier commits go on with the space of their time. The
        receipt's ``ref`` is the chain hash of the commit that opened the space.
        """
        return self._execute([cmd.UseSpace(name=name, why=why)], idempotency_key)

    def drop_space(self, name: str, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Give an embedding space up that does not answer any more: its index is deleted, and it takes no vectors.

        Its vectors stay in the log, where only :meth:`erase` deletes: ``exact`` reads of the time before compare them.
        """
        return self._execute([cmd.DropSpace(name=name, why=why)], idempotency_key)
