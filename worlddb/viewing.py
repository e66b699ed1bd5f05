"""Views of an open store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worlddb.log.model.clock import Clock
from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import HIGHEST_SEQ, checked_number
from worlddb.log.model.times import TimeLike, parse_time
from worlddb.log.store.environment import Environment
from worlddb.projections.tables.apply.settings import registered
from worlddb.projections.tables.reads.asof import Moment
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.query.reads.store_facts import marked_commit
from worlddb.query.reads.window import Window
from worlddb.query.records.records import Bookmark, Proposal
from worlddb.query.snapshot.edge_rules import Spec, spec_of
from worlddb.query.snapshot.snapshot import Snapshot
from worlddb.query.snapshot.visible import Place
from worlddb.query.view.view import View
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.store import VectorReader


class Viewing:
    """How an open store is read: through views, each pinned to a moment on both time axes."""

    path: Path
    _env: Environment
    _reader: VectorReader
    _clock: Clock
    _spec: Spec
    _ontology: Ontology
    _made_spec: tuple[int, Spec] | None = None

    def view(
        self,
        *,
        valid: TimeLike | None = None,
        ingested: TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        world: Any = None,
        unify: bool = False,
    ) -> View:
        """A pinned view: ``ingested`` (or the commit ``seq``, or a bookmark) is what was known, ``valid`` what should
        have been true.

        ``ingested`` defaults to the head; ``valid`` to ``ingested``'s time if that was given, else to now. With
        ``world`` the view is confined: it sees that world and what it contains at the view's moment, and nothing else.
        With ``unify`` it sees worlds that accepted proposals make one as one: ``find``, ``children`` and ``recall``
        give each identity once, and the edges and members of a world are those of all that are one with it.

        Raises:
            InputError: several moments were given, there is no such commit, or ``unify`` is no boolean.
            UnknownReference: there is no such bookmark, or no such world at that moment.
        """
        if not isinstance(unify, bool):
            raise InputError(f"unify is {type(unify).__name__}, not a boolean", "Give True or False")
        past = self._one_moment(ingested, seq, bookmark)
        with self._reader.snapshot() as snapshot:
            at = self._commit(snapshot, ingested, seq, bookmark)
            known = snapshot.log.header(at).ingest_time if at else 0
            spec = self._spec_at(snapshot, at)
        if ingested is not None:
            known = parse_time(ingested, "ingested")
        default = known if past else max(self._clock.now(), known)
        true_at = default if valid is None else parse_time(valid, "valid")
        place = Place(Moment(at, true_at), ROOT_NODE)
        view = View(Window(self._reader, place, self._spec, spec, unify=unify), known)
        return view if world is None else view.confined(world)

    def _spec_at(self, snapshot: Snapshot, seq: int) -> Spec:
        """How queries see edges at a commit. It is made again only when a registration or a handler was added."""
        changed, codes = snapshot.tables.last_registration(), self._ontology.codes()
        if not changed or seq < changed:
            return spec_of(self._spec, registered(snapshot.tables, seq) if changed else [], codes)
        made = self._made_spec
        if made is None or made[0] != changed or made[1].codes != codes:
            made = changed, spec_of(self._spec, registered(snapshot.tables, seq), codes)
            self._made_spec = made
        return made[1]

    def bookmarks(self) -> list[Bookmark]:
        """The named moments, in the order in which they were set."""
        return self.view().bookmarks()

    @staticmethod
    def _one_moment(ingested: TimeLike | None, seq: int | None, bookmark: str | None) -> bool:
        """True if a moment was given; more than one is an error."""
        moments = {"ingested": ingested, "seq": seq, "bookmark": bookmark}
        given = [name for name, moment in moments.items() if moment is not None]
        if len(given) > 1:
            raise InputError(f"Both {given[0]} and {given[1]} were given", "Give one of them")
        return bool(given)

    @staticmethod
    def _commit(snapshot: Snapshot, ingested: TimeLike | None, seq: int | None, bookmark: str | None) -> int:
        """The last commit of the moment that was given; the head if none was."""
        log = snapshot.log
        head = log.head().seq
        if ingested is not None:
            return log.seq_at(parse_time(ingested, "ingested"))
        if bookmark is not None:
            return marked_commit(snapshot, bookmark, head)
        if seq is None:
            return head
        checked_number(seq, "seq", -HIGHEST_SEQ, HIGHEST_SEQ)
        if not 0 <= seq <= head:
            raise InputError(f"There is no commit {seq}", f"The store has commits 1 to {head}")
        return seq

    def proposals(self, *, status: str | None = "pending") -> list[Proposal]:
        """Staged identities; ``status=None`` for decided ones too."""
        return self.view().proposals(status=status)

    def full_ref(self, ref: Any) -> str:
        """The full hex id of the world that a reference or prefix stands for."""
        found = self.view().get(ref, include_superseded=True)
        assert found is not None, "a known world has a newest version"
        return found.ref
