"""The text lane: BM25 over names and contents.

It searches the present index, or a scratch index of precisely what a view sees.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple, Protocol

from worlddb.projections.indexes import analysis, catchup, tail, text_index, text_snapshot, world_texts
from worlddb.projections.indexes.fields import Counts, Marker, TextDocument, TextHit, ceiling
from worlddb.query.claims import foreign_statements
from worlddb.query.snapshot import valid_period, visible


@lru_cache(maxsize=64)
def _terms(text: str) -> tuple[analysis.Term, ...]:
    terms = analysis.query_terms(text)
    if not analysis.may_be_foreign(text) or not (forms := _forms(text)):
        return terms
    known = {term.text for term in terms if term.field == analysis.STEM}
    others = {other: weight for stem, found in forms.items() if stem in known for weight, other in found}
    more = (analysis.Term(analysis.STEM, other, weight, instead=True) for other, weight in others.items())
    return (*terms, *(term for term in more if term.text not in known))


@lru_cache(maxsize=64)
def _forms(text: str) -> dict[str, tuple[tuple[float, str], ...]]:
    """By the stem of a word in another language those of its other forms and of what tells it, each with its worth."""
    found = dict[str, tuple[tuple[float, str], ...]]()
    for word, (same, told) in foreign_statements.other_forms(text).items():
        stems = [(analysis.OTHERWISE_BOOST, stem) for each in told for stem in _stems_of(each)]
        stems += [(1.0, stem) for each in same for stem in _stems_of(each)]
        for stem in _stems_of(word):
            found[stem] = (*found.get(stem, ()), *stems)
    return found


@lru_cache(maxsize=64)
def _sought(text: str) -> analysis.Sought:
    return analysis.sought(_terms(text))


def query_stems(text: str) -> frozenset[str]:
    """The stems that a query looks for; as :func:`analysis.query_stems`, for what is asked for several times."""
    return frozenset(term.text for term in _terms(text) if term.field == analysis.STEM and not term.instead)


def matched(text: str, name: str, content: str) -> list[str]:
    """The words of a world by which the query found it."""
    return _sought(text).matched(f"{name}\n{content}")


def forget() -> None:
    """Forget all questions, as an erasure asks for."""
    _terms.cache_clear()
    _forms.cache_clear()
    _sought.cache_clear()
    _query_size.cache_clear()
    _places.cache_clear()
    _stems_of.cache_clear()


@lru_cache(maxsize=64)
def _query_size(text: str) -> tuple[int, int]:
    """How many stems, and how many characters of unspaced script, a query looks for."""
    terms = _terms(text)
    single = (term for term in terms if term.field == analysis.GRAMS and len(term.text) == 1)
    return sum(term.field == analysis.STEM and not term.instead for term in terms), sum(1 for _ in single)


def coverage(text: str, words: Sequence[str]) -> float:
    """The share of a query's words that :func:`matched` found; of unspaced script the share of characters."""
    stems, characters = _query_size(text)
    if not characters:
        return min(1.0, _count_asked(text, words) / stems) if stems else 0.0
    spaced = [word for word in words if word.isascii()]
    found = sum(len(word) for word in words if not word.isascii())
    return min(1.0, (found + _count_asked(text, spaced)) / (stems + characters))


def _count_asked(text: str, words: Sequence[str]) -> int:
    """How many words of a query some words of a text stand for; one that is no form of any counts as one."""
    if not words:
        return 0
    places, found, others = _places(text), set[str](), 0
    for word in words:
        known = [places[stem] for stem in _stems_of(word) if stem in places]
        found.update(*known)
        others += not known
    return len(found) + others


def stood_for(text: str, words: Sequence[str]) -> frozenset[str]:
    """The stems of those words of a query that some words of a text stand for."""
    places = _places(text)
    return frozenset(place for word in words for stem in _stems_of(word) for place in places.get(stem, ()))


@lru_cache(maxsize=4096)
def _stems_of(word: str) -> frozenset[str]:
    """The stems of one word, which hits of one question share."""
    return frozenset(analysis.analyze(word).stems)


@lru_cache(maxsize=64)
def _places(text: str) -> dict[str, frozenset[str]]:
    """By a stem those of a query's words that it is, is another form of, or tells: "car" is what somebody drives."""
    found: dict[str, frozenset[str]] = {}
    for term in _terms(text):
        if term.field == analysis.STEM and not term.instead:
            forms = [form.get(term.text, ()) for form in (analysis.other_forms(), analysis.told_by())]
            if analysis.may_be_foreign(text):
                forms.append(tuple(stem for _, stem in _forms(text).get(term.text, ())))
            for stem in (term.text, *chain.from_iterable(forms)):
                found[stem] = found.get(stem, frozenset()) | {term.text}
    return found


class AskedWords:
    """The words of a question, and the share of them that texts have, by how rare each word is.

    The words of names (``left_out``) do not count, nor numbers, most of which are of days and times.
    """

    def __init__(self, lane: "TextLane", text: str, left_out: Iterable[str]) -> None:
        called = " ".join(left_out)
        names = analysis.analyze(called).stems if called else ()
        counts = lane.counts(_terms(text))
        stems = [term for term in _terms(text) if term.field == analysis.STEM and not term.instead]
        words = [term for term in stems if term.text not in names and not term.text[0].isdigit()]
        rarities = {term.text: counts.rarity(term) for term in words}
        self._rarities = list(rarities.values())
        self._most = sum(self._rarities) or 1.0
        self._places = {
            form: place for place, stem in enumerate(rarities) for form in (stem, *analysis.other_forms().get(stem, ()))
        }
        self._sought = analysis.sought_stems(frozenset(self._places))

    def places_in(self, text: str) -> frozenset[int]:
        """The places in the question of the words that a text has."""
        stems, places = self._sought.stems_in(text), self._places
        return frozenset([places[stem] for stem in stems])

    def share(self, places: Iterable[int]) -> float:
        """The share of the question's words at some places, from 0 to 1; 0 for a question without words."""
        return sum(map(self._rarities.__getitem__, places)) / self._most

    def share_of(self, text: str) -> float:
        """The share of the question's words that a text has."""
        return self.share(self.places_in(text))


class TextLane(Protocol):
    """Where a recall gets its text hits; ``indexed`` is the commit that its statistics reach to."""

    indexed: int

    def begin(self, text: str, *, limit: int, through: int, nodes: Collection[int] | None = None) -> None:
        """Say that this is going to be searched, so that it may be begun beside other work."""

    def search(
        self, text: str, *, limit: int, through: int, nodes: Collection[int] | None = None, or_more: bool = False
    ) -> list[TextHit]:
        """The best documents of commits up to ``through``, best first, ties in log order.

        With ``or_more`` those that come next may be found too, where their order is known anyway.
        """

    def fetched_for(self, wanted: int) -> int:
        """The number of hits to search for so that as many as are ``wanted`` are shown, if a second search takes long.

        Where one text in ten was superseded 70 are needed for 64.
        """

    def ceiling(self, text: str, *, through: int) -> float:
        """The highest score that any document could reach by its words."""

    def counts(self, terms: Sequence[analysis.Term]) -> Counts:
        """How many documents there are, and how many have each of some terms."""


class _Search(NamedTuple):
    """What a search is asked for."""

    text: str
    limit: int
    through: int
    nodes: Collection[int] | None


class PresentTextLane:
    """The index on disk, with commits that it has not applied yet as a tail.

    The caller that began a search must close the lane.
    """

    def __init__(self, follower: catchup.TextFollower, head: int, threads: Executor | None) -> None:
        self._follower = follower
        self.indexed = head
        self._threads = threads
        self._begun: tuple[_Search, tail.StartedSearch] | None = None

    def begin(self, text: str, *, limit: int, through: int, nodes: Collection[int] | None = None) -> None:
        """Begin a search on another thread; a second one takes the place of the first."""
        asked = _Search(text, limit, through, nodes)
        if self._begun is not None and self._begun[0] == asked:
            return
        self.close()
        if self._threads is not None:
            begun = self._follower.begin(
                text_snapshot.TextSearch(_terms(text), limit, through, nodes), head=self.indexed, threads=self._threads
            )
            self._begun = asked, begun

    def search(
        self, text: str, *, limit: int, through: int, nodes: Collection[int] | None = None, or_more: bool = False
    ) -> list[TextHit]:
        begun = self._begun
        if begun is not None and begun[0] == (text, limit, through, nodes):
            self._begun = None
            return begun[1].result()
        search = text_snapshot.TextSearch(_terms(text), limit, through, nodes, or_more)
        return self._follower.find(search, head=self.indexed)

    def close(self) -> None:
        """Cancel a search that was begun."""
        if self._begun is not None:
            self._begun[1].cancel()
            self._begun = None

    def prepare(self, *, through: int) -> None:
        """Let the index catch up, which must not happen inside of a transaction."""
        self._follower.prepare(head=self.indexed, through=through)

    def fetched_for(self, wanted: int) -> int:
        return wanted + 3 * wanted // 8 if self._follower.has_many else wanted

    def is_ready(self, *, through: int) -> bool:
        """True if :meth:`prepare` has nothing to do."""
        return self._follower.is_ready(head=self.indexed, through=through)

    def ceiling(self, text: str, *, through: int) -> float:
        return self._follower.ceiling(_terms(text), head=self.indexed, through=through)

    def counts(self, terms: Sequence[analysis.Term]) -> Counts:
        return self._follower.counts(terms, head=self.indexed)


class ExactTextLane:
    """A scratch index of precisely what a view sees, built in log order (law 9)."""

    def __init__(self, snapshot: visible.VisibleSnapshot, choice: valid_period.Choice) -> None:
        self.indexed = snapshot.place.moment.seq
        self._index = text_index.TextIndex.in_memory()
        documents = sorted(_visible_documents(snapshot, choice), key=lambda doc: (doc.seq, doc.node))
        self._index.apply(documents, Marker(b"", self.indexed, b""))
        # The first look is what makes the index ready for several threads.
        assert self._index.view is not None

    def begin(self, text: str, *, limit: int, through: int, nodes: Collection[int] | None = None) -> None:
        """Nothing: there is little to be searched."""

    def search(
        self, text: str, *, limit: int, through: int, nodes: Collection[int] | None = None, or_more: bool = False
    ) -> list[TextHit]:
        return self._index.search(text, limit=limit, through=through, nodes=nodes)

    def fetched_for(self, wanted: int) -> int:
        """As many: it has nothing but what is shown."""
        return wanted

    def ceiling(self, text: str, *, through: int) -> float:
        view = self._index.view
        return 0.0 if view is None else ceiling(_terms(text), view.counts(_terms(text)))

    def counts(self, terms: Sequence[analysis.Term]) -> Counts:
        view = self._index.view
        return Counts(0, dict.fromkeys(terms, 0)) if view is None else view.counts(terms)


class WorldTextLane:
    """Searches the cached visible texts of one world; scores equal those of a scratch index."""

    def __init__(self, seen: world_texts.VisibleTexts, indexed: int) -> None:
        self.indexed = indexed
        self._seen = seen
        self._scored: tuple[str, world_texts.TextScores] | None = None

    def begin(self, text: str, *, limit: int, through: int, nodes: Collection[int] | None = None) -> None:
        """Nothing: all texts are scored at once, and a second search finds their scores there."""

    def search(
        self, text: str, *, limit: int, through: int, nodes: Collection[int] | None = None, or_more: bool = False
    ) -> list[TextHit]:
        return self._seen.best(self._scores(text).values, limit, nodes) if limit > 0 else []

    def fetched_for(self, wanted: int) -> int:
        """As many: it has nothing but what is shown."""
        return wanted

    def ceiling(self, text: str, *, through: int) -> float:
        return ceiling(_terms(text), self._scores(text).counts)

    def counts(self, terms: Sequence[analysis.Term]) -> Counts:
        return self._seen.scores(terms).counts

    def _scores(self, text: str) -> world_texts.TextScores:
        asked = self._scored
        if asked is None or asked[0] != text:
            asked = self._scored = text, self._seen.scores(_terms(text))
        return asked[1]


def _visible_documents(snapshot: visible.VisibleSnapshot, choice: valid_period.Choice) -> Iterator[TextDocument]:
    tables, moment, left_out = snapshot.tables, snapshot.place.moment, snapshot.excluded.texts
    whole = snapshot.stored
    states = whole.tables.has_rows("by_object")
    for node in snapshot.inhabitants():
        is_shown = False
        for seen in choice.versions(tables, node, moment) if node not in left_out else ():
            body = snapshot.body(seen.row)
            if body is not None:
                is_shown = True
                yield TextDocument(node, seen.number, seen.row.seq, body.name, body.content, body.type)
        if is_shown and states:
            from worlddb.projections.tables.statements import literal_rows

            admits = partial(choice.admits, moment)
            for said in literal_rows.literals_of_world(whole.log, whole.tables, node):
                if said.seq <= moment.seq and literal_rows.holds(whole.tables, node, said.number, moment.seq, admits):
                    yield TextDocument(node, said.number, said.seq, "", said.text)
