"""Read views of random moments and compare every answer with the model."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.model.compare import Compared
from tests.support.model.ranking import newest_first
from tests.support.model.rules.edge_rules import TYPES
from tests.support.model.rules.world_rules import normal
from tests.support.model.state import ROOT
from tests.support.simulation.drawing import WORDS, Drawing
from tests.support.simulation.engine import Engine
from worlddb import Database, Recall, View, recall_receipt_text

_KEPT = 4
_ALL = 1_000


class _Kept(NamedTuple):
    """A view and its open store."""

    view: View
    db: Database


class _Receipt(NamedTuple):
    """The receipt of a recall as text, its question, and how often texts had been erased by then."""

    text: str
    question: str
    erased: int


class Reader:
    """Reads the store through one handle."""

    def __init__(self, engine: Engine, rng: random.Random, drawing: Drawing, handle: int) -> None:
        self._engine = engine
        self._rng = rng
        self._drawing = drawing
        self.handle = handle
        self._kept: list[_Kept] = []
        self._ranked: dict[tuple[Any, ...], Recall] = {}
        """What a view of a moment answered to a question, which it has to answer for ever."""
        self._texts_erased = 0
        self._receipts: list[_Receipt] = []

    def look(self) -> str:
        """Read through a new or a kept view; returns a description."""
        kept = self._rng.choice(self._kept) if self._kept and self._rng.random() < 0.6 else None
        if kept is None:
            view = self._new_view()
            self._kept = [*self._kept, _Kept(view, self._engine.db(self.handle))][-_KEPT:]
        else:
            view = self._still_open(kept)
        look = self._rng.choice(_LOOKS)
        look(self, self._engine.compared(view))
        self._engine.seen["looks"] += 1
        return f"{look.__name__.strip('_')} at commit {view.seq}, valid {view.valid}"

    def look_in_between(self, durable: bool) -> None:
        """Read in the middle of another's write: nothing uncommitted shows, kept views stay."""
        engine, db = self._engine, self._engine.db(self.handle)
        engine.seen["looks in between"] += 1
        view = db.view(seq=self._rng.randint(1, engine.head)) if durable else db.view()
        compared = engine.compared(view)
        number = self._any_world(compared)
        # The model knows of nothing yet that is committed; an erasure changes texts of the past, but no hash.
        assert view.hash(compared.names.refs[number]) == compared.hashes[number]
        if not durable:
            assert view.seq == engine.head, "a commit was seen before it was one"
            compared.world(number)

    def look_at_kept(self) -> None:
        """Check that all kept views still answer as before."""
        for kept in self._kept:
            compared = self._engine.compared(self._still_open(kept))
            compared.world(self._any_world(compared))
            compared.identities()

    # -- views

    def _new_view(self) -> View:
        """Make a view of the present or of any commit: by number, time, or just before the next."""
        engine, rng = self._engine, self._rng
        db = engine.db(self.handle)
        valid = rng.choice((None, self._drawing.moment()))
        if rng.random() < 0.4:
            view = db.view(valid=valid)
            assert view.seq == engine.head, "a view of the present is not of the last commit"
            return view
        seq = rng.randint(1, engine.head)
        if rng.random() < 0.5:
            view = db.view(seq=seq, valid=valid)
        else:
            following = engine.times[seq + 1] if seq < engine.head else engine.times[seq] + 1
            view = db.view(ingested=rng.choice((engine.times[seq], following - 1)), valid=valid)
        assert view.seq == seq
        return view

    def _still_open(self, kept: _Kept) -> View:
        """The same view, opened again if its process or machine restarted."""
        db = self._engine.db(self.handle)
        return kept.view if db is kept.db else db.view(seq=kept.view.seq, valid=kept.view.valid)

    # -- looks

    def _any_world(self, compared: Compared) -> int:
        return self._rng.choice(list(compared.state.worlds))

    def _world(self, compared: Compared) -> None:
        number = self._any_world(compared)
        compared.world(number)
        compared.sides(number, self._rng.choice(TYPES))

    def _edges(self, compared: Compared) -> None:
        for number in (*compared.state.edges, *compared.state.unlinked):
            compared.edge(number)

    def _lookups(self, compared: Compared) -> None:
        compared.lookups(self._any_world(compared))

    def _identities(self, compared: Compared) -> None:
        compared.identities()

    def _unknown(self, compared: Compared) -> None:
        compared.unknown(self._engine.state)

    def _words(self, compared: Compared) -> None:
        """By words, from the present index or a scratch index: what has the word and is in force, whatever newer
        contradicts that, and nothing else."""
        word, exact = self._rng.choice(WORDS), self._rng.random() < 0.5
        found = compared.view.recall(word, lanes=("text",), k=_ALL, exact=exact)
        said = [(number, 1.0) for number in compared.state.worlds if _says(compared, number, word)]
        ranked = newest_first(compared.reads, compared.state.worlds.keys() - {ROOT}, said)
        expected = {compared.names.refs[number] for number, _ in ranked}
        assert {hit.ref for hit in found} == expected, f"recall of {word!r}, exact={exact}"
        for hit in found:
            shown = compared.view.get(hit.ref)
            assert shown is not None and (hit.version, hit.content) == (shown.version, shown.content)
        if exact:
            self._same_as_before((compared.view.seq, compared.view.valid, word), found)
        self._engine.seen["words found"] += bool(expected)

    def _receipt(self, compared: Compared) -> None:
        """One is left, and one that was is recomputed, whatever became of the store, until texts are erased."""
        word, engine = self._rng.choice(WORDS), self._engine
        found = compared.view.recall(word, lanes=("text",), k=5, exact=True, receipt=True)
        assert found.receipt is not None and list(found.receipt.refs) == [hit.ref for hit in found]
        left = _Receipt(recall_receipt_text(found.receipt), word, self._erasures())
        self._receipts = [*self._receipts, left][-2 * _KEPT :]
        known, db = self._rng.choice(self._receipts), engine.db(self.handle)
        verdict = db.check_recall(known.text, known.question).verdict
        assert verdict == "holds" or (verdict == "cannot_recompute" and self._erasures() > known.erased), verdict
        assert db.check_recall(known.text, f"{known.question}?").verdict == "another_question"
        engine.seen["receipts that hold"] += verdict == "holds" and known.text != left.text

    def _erasures(self) -> int:
        """The number of erasures so far."""
        return self._engine.seen["erase"] + self._engine.seen["erase_literal"]

    def _artifacts(self, compared: Compared) -> None:
        for number in compared.state.worlds:
            compared.artifacts(number)

    def _withdrawal(self, compared: Compared) -> None:
        """Plan a withdrawal; nothing is changed."""
        said = {version.author for world in compared.state.worlds.values() for version in world.versions}
        telling = [author for author in sorted(said) if compared.reads.withdrawn(author)[1]]
        author = self._rng.choice(telling or sorted(said))
        self._engine.seen["rests on an author"] += compared.withdrawal(author) > 0

    def _same_as_before(self, asked: tuple[Any, ...], found: Recall) -> None:
        """Scores and order too, until an erasure takes texts away."""
        erased = self._erasures()
        if erased != self._texts_erased:
            self._ranked, self._texts_erased = {}, erased
        assert self._ranked.setdefault(asked, found) == found, f"{asked} is answered otherwise than before"


def _says(compared: Compared, number: int, word: str) -> bool:
    at = compared.reads.version_at(number)
    if at is None or number == ROOT or compared.state.worlds[number].deprecated:
        return False
    version = compared.state.worlds[number].versions[at - 1]
    states = compared.state.worlds[number].states
    literals = [each.quad[2] for each in states if each.holds(compared.view.valid) and each.quad[2][0] == '"']
    return word in re.findall(r"\w+", normal(" ".join((version.name, version.content, *literals))))


_LOOKS: tuple[Callable[[Reader, Compared], None], ...] = (
    Reader._world,
    Reader._world,
    Reader._world,
    Reader._edges,
    Reader._lookups,
    Reader._identities,
    Reader._unknown,
    Reader._words,
    Reader._receipt,
    Reader._artifacts,
    Reader._withdrawal,
)
