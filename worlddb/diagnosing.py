"""What is wrong with a store or an installation, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from worlddb.log.model.clock import Clock, SystemClock
from worlddb.reconciler.diagnostics.examination import examine, examine_installation
from worlddb.reconciler.diagnostics.symptom import Diagnosis
from worlddb.reconciler.edge_types.builtin import DEFAULT_ONTOLOGY
from worlddb.reconciler.edge_types.handler import EdgeHandler
from worlddb.reconciler.edge_types.registry import Ontology, given_handlers
from worlddb.store import folder_of


def diagnose(
    path: str | Path | None = None,
    *,
    deep: bool = False,
    edge_types: Iterable[EdgeHandler] = (),
    clock: Clock | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Look for whatever is wrong with the installation and, with ``path``, with a store, and explain it.

    Changes nothing in the store, which need not open; as any reader it makes LMDB's lock file if there is none. With
    ``deep`` every row of the tables is compared with what the log says, in a scratch store in the system's temporary
    directory. ``edge_types`` are the handlers that this process has.

    Raises:
        InputError: the path is none; one of ``edge_types`` is no handler.
    """
    if path is None:
        return examine_installation()
    folder = folder_of(path)
    ontology = Ontology(DEFAULT_ONTOLOGY)
    for handler in given_handlers(edge_types):
        ontology.add(handler)
    return examine(folder, ontology, clock or SystemClock(), deep=deep, progress=progress)
