"""Make the views of an open store: choose the commit and the edge rules in force then."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from worlddb.log.model.clock import Clock
from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import HIGHEST_SEQ, checked_number
from worlddb.log.model.times import TimeLike, parse_time
from worlddb.projections.tables.apply.settings import registered
from worlddb.projections.tables.reads.asof import Moment
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.query.reads.store_facts import marked_commit
from worlddb.query.reads.window import Reader, Window
from worlddb.query.snapshot.edge_rules import Spec, spec_of
from worlddb.query.snapshot.snapshot import Snapshot
from worlddb.query.snapshot.visible import Place
from worlddb.query.view.view import View

HandlerCodes = frozenset[tuple[str, int, bytes]]
"""Type, version and digest of the edge handlers that a process has."""


class Known(NamedTuple):
    """A caller's moment on the ingest axis: a time, a commit or a bookmark; with none, the head."""

    ingested: TimeLike | None
    seq: int | None
    bookmark: str | None

    def named(self) -> str:
        """The name of the one that was given; empty for the head.

        Raises:
            InputError: more than one was.
        """
        given = [name for name, moment in zip(self._fields, self, strict=True) if moment is not None]
        if len(given) > 1:
            raise InputError(f"Both {given[0]} and {given[1]} were given", "Give one of them")
        return given[0] if given else ""

    def commit(self, snapshot: Snapshot) -> int:
        """The last commit of the moment.

        Raises:
            InputError: there is no such commit.
            UnknownReference: there is no such bookmark.
        """
        log = snapshot.log
        head = log.head().seq
        if self.ingested is not None:
            return log.seq_at(parse_time(self.ingested, "ingested"))
        if self.bookmark is not None:
            return marked_commit(snapshot, self.bookmark, head)
        if self.seq is None:
            return head
        checked_number(self.seq, "seq", -HIGHEST_SEQ, HIGHEST_SEQ)
        if not 0 <= self.seq <= head:
            raise InputError(f"There is no commit {self.seq}", f"The store has commits 1 to {head}")
        return self.seq


class ViewFactory:
    """Pins views of one open store. ``codes`` tells which edge handlers the process has."""

    def __init__(self, reader: Reader, clock: Clock, built_in: Spec, codes: Callable[[], HandlerCodes]) -> None:
        self._reader = reader
        self._clock = clock
        self._built_in = built_in
        self._codes = codes
        self._newest: tuple[int, Spec] | None = None

    def view(self, known: Known, valid: TimeLike | None, *, unify: bool) -> View:
        """The view of a moment; ``valid`` defaults to the time of a given moment, else to now."""
        is_past = bool(known.named())
        with self._reader.snapshot() as snapshot:
            at = known.commit(snapshot)
            ingested = snapshot.log.header(at).ingest_time if at else 0
            spec = self._spec_at(snapshot, at)
        if known.ingested is not None:
            ingested = parse_time(known.ingested, "ingested")
        default = ingested if is_past else max(self._clock.now(), ingested)
        true_at = default if valid is None else parse_time(valid, "valid")
        place = Place(Moment(at, true_at), ROOT_NODE)
        return View(Window(self._reader, place, self._built_in, spec, unify=unify), ingested)

    def _spec_at(self, snapshot: Snapshot, seq: int) -> Spec:
        """How queries see edges at a commit; made again only after a new registration or handler."""
        changed, codes = snapshot.tables.last_registration(), self._codes()
        if seq < changed:
            return spec_of(self._built_in, registered(snapshot.tables, seq), codes)
        newest = self._newest
        if newest is None or newest[0] != changed or newest[1].codes != codes:
            newest = changed, spec_of(self._built_in, registered(snapshot.tables, seq), codes)
            self._newest = newest
        return newest[1]
