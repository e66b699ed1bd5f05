"""Run the checks in their order.

A check that an earlier finding makes impossible is reported as skipped.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from worlddb.log.model.clock import Clock
from worlddb.log.model.errors import DamagedStore, NewerFormat, NotAStore, WorldDBError
from worlddb.log.store import environment, log
from worlddb.projections.runner import Progress
from worlddb.reconciler.diagnostics import installation, location, stored_state
from worlddb.reconciler.diagnostics.installation import Diagnosis, Symptom, command_for, quoted, restore_command
from worlddb.reconciler.edge_types.registry import Ontology

Check = Callable[[], Iterator[Symptom]]

_AUTHOR: Final = "doctor"
_TIMEOUT_SECONDS: Final = 10.0


class _Examination:
    """The checks made so far, and their symptoms."""

    def __init__(self) -> None:
        self.checked: list[str] = []
        self.skipped: list[tuple[str, str]] = []
        self.symptoms: list[Symptom] = []

    def check(self, name: str, look: Check) -> bool:
        """Make a check; false if it found something wrong or could not be made."""
        found: list[Symptom] = []
        try:
            found.extend(look())
        except (WorldDBError, OSError) as error:
            found.append(_not_checked(name, error))
            self.skip(name, "it could not be made, as the findings say")
            return False
        finally:
            self.symptoms.extend(found)
        self.checked.append(name)
        return not any(symptom.wrong for symptom in found)

    def skip(self, name: str, why: str) -> None:
        """Record why a check was skipped."""
        self.skipped.append((name, why))

    def diagnosis(self, store: str, deep: bool) -> Diagnosis:
        """The whole diagnosis, errors first."""
        ordered = sorted(self.symptoms, key=lambda symptom: not symptom.wrong)
        is_ok = not any(symptom.wrong for symptom in ordered)
        return Diagnosis(is_ok, store, deep, tuple(self.checked), tuple(self.skipped), tuple(ordered))


def examine_installation() -> Diagnosis:
    """Check Python and the libraries only."""
    return _check_installation().diagnosis("", False)


def examine(
    folder: Path, ontology: Ontology, clock: Clock, *, deep: bool, progress: Progress | None = None
) -> Diagnosis:
    """Examine the installation and a store.

    Nothing in the store is changed, and it need not open.
    """
    examination = _check_installation()
    if examination.check("store", partial(location.is_store, folder)):
        examination.check("file system", partial(location.file_system, folder))
        examination.check("room", partial(location.disk_space, folder))
        examination.check("permissions", partial(location.permissions, folder))
        examination.check("leftovers", partial(location.leftovers, folder))
        examination.check("locks", partial(location.locks, folder))
        examination.check("noted damage", partial(location.noted_damage, folder))
        examination.check("mark", partial(location.mark, folder))
        examination.check("working memory", partial(location.working_memory, folder))
        try:
            env = environment.Environment(folder, author=_AUTHOR, timeout_seconds=_TIMEOUT_SECONDS)
        except WorldDBError as error:
            examination.symptoms.append(_cannot_open(folder, error))
            examination.skip("log, tables and indexes", "the data file cannot be opened")
        else:
            with closing(env):
                env.folder = folder  # Symptoms name the path that was given, not the whole one.
                _open_and_check(examination, env, ontology, clock, deep, progress)
    return examination.diagnosis(str(folder), deep)


def _check_installation() -> _Examination:
    examination = _Examination()
    for name, look in installation.CHECKS:
        examination.check(name, look)
    return examination


def _open_and_check(
    examination: _Examination,
    env: environment.Environment,
    ontology: Ontology,
    clock: Clock,
    deep: bool,
    progress: Progress | None,
) -> None:
    if not examination.check("pages", partial(stored_state.pages, env)):
        examination.skip("log, tables and indexes", "the damaged pages could mislead LMDB")
        return
    if not examination.check("format", partial(_check_format, env)):
        examination.skip("log, tables and indexes", "this release cannot read their format")
        return
    examination.check("map", partial(stored_state.map_size, env, *env.map_bytes()))
    examination.check("kind", partial(stored_state.kind, env))
    examination.check("clock", partial(stored_state.moment, env, clock))
    whole = examination.check("log", partial(stored_state.chain, env, progress))
    if not examination.check("layout", partial(stored_state.layout, env)):
        examination.skip("tables and indexes", "the tables have another layout")
        return
    if deep and not whole:
        examination.skip("every row of the tables", "the log, the base of the comparison, is damaged")
    if not examination.check("tables", partial(stored_state.tables, env, deep and whole, progress)):
        examination.skip("indexes, vectors and handlers", "the tables, which list them, cannot be read")
        return
    examination.check("snapshots", partial(stored_state.snapshots, env, deep and whole, progress))
    readable = examination.check("text index", partial(stored_state.text_index, env))
    if examination.check("vector indexes", partial(stored_state.vector_indexes, env)) and readable:
        examination.check("index contents", partial(stored_state.contents, env, deep))
    else:
        examination.skip("index contents", "an index is damaged, as the findings say")
    examination.check("vectors", partial(stored_state.vectors_pending, env))
    examination.check("models", partial(stored_state.models, env))
    examination.check("handlers", partial(stored_state.handlers, env, ontology))
    examination.check("access keys", partial(stored_state.access_keys, env))
    examination.check("supposed", partial(stored_state.hypothetical, env))


def _check_format(env: environment.Environment) -> Iterator[Symptom]:
    try:
        with env.read() as txn:
            begun = log.LmdbLog(txn).check_format()
    except WorldDBError as error:
        yield _cannot_open(env.folder, error)
        return
    if not begun:
        yield Symptom(
            "not_a_store",
            True,
            str(env.folder),
            "The data file holds nothing",
            "A process ended while it created the store",
            "Write to it: that creates the store",
            command_for(env.folder, "ingest FILE"),
        )


def _not_checked(name: str, error: WorldDBError | OSError) -> Symptom:
    """The symptom of a check that ended in an error."""
    what, remedy = (error.message, error.remedy) if isinstance(error, WorldDBError) else (error.strerror or error, "")
    location = os.fsdecode(error.filename) if isinstance(error, OSError) and error.filename is not None else ""
    return Symptom(
        "cannot_look",
        True,
        location or f"the check '{name}'",
        f"The check '{name}' failed: {what}",
        "The state that it checks is unknown, and programs may fail in the same way",
        remedy or "Run it as a user who may read the files, and check that the disk is intact",
        f"ls -la {quoted(Path(location))}" if location else "",
    )


def _cannot_open(folder: Path, error: WorldDBError) -> Symptom:
    """The symptom of a store that does not open, by its error."""
    if isinstance(error, NewerFormat):
        return stored_state.newer_format(folder, error)
    if isinstance(error, NotAStore):
        return Symptom("not_a_store", True, str(folder), error.message, "There is nothing to look at", error.remedy)
    if isinstance(error, DamagedStore):
        return Symptom(
            "damaged",
            True,
            str(folder),
            error.message,
            "The store does not open, so nothing in it is readable",
            error.remedy or "Restore the store from a backup, and check the disk",
            restore_command(folder),
        )
    return Symptom(
        "cannot_open",
        True,
        str(folder),
        error.message,
        "The store cannot be read or written from here",
        error.remedy or "Check the path and its permissions",
        f"ls -la {quoted(folder)}",
    )
