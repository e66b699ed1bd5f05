"""Search for names like a candidate's.

It finds the likeliest forms of every block that the candidate's forms are in. The text of a form bounds how alike it
can be; the greatest bounds come first, so that whoever weighs the forms may stop as soon as nobody behind can be
nearer.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from rapidfuzz.distance import JaroWinkler
from rapidfuzz.process import extract

from worlddb.projections.tables.names import blocks, canonical
from worlddb.reconciler.entity_resolution import namesakes
from worlddb.reconciler.similarity import name_guards, scores
from worlddb.reconciler.similarity.thresholds import Thresholds
from worlddb.reconciler.transaction.context import Context

_INITIAL: Final = re.compile(r" \w\b")


class Search:
    """One search for candidates: its scope, its least scores, and counts of what was looked at."""

    def __init__(self, world: int, thresholds: Thresholds) -> None:
        self.inside = namesakes.Inside(world)
        self.fuzzy = thresholds.fuzzy
        self.least = min(thresholds.fuzzy, thresholds.phonetic)
        self.looked_at: list[list[str]] = []
        """The forms that were looked at, for each form of the candidate; some may be nobody's inside."""
        self.blocks_in_part = 0
        """Of how many blocks only what is nearest was looked at."""
        self.left: list[str] = []
        """Forms that may be alike and were not weighed; some may be nobody's inside."""
        self.kept_apart = 0
        """How many forms are alike but for what a guard says."""

    @property
    def by_given_name(self) -> bool:
        """True if a given name alone may name somebody.

        It may in a conversation, but not in the whole store.
        """
        return not self.inside.is_everywhere

    def as_evidence(self, ctx: Context) -> dict[str, int]:
        """The counts for the evidence, without zeros, of what is inside alone."""
        told = {
            "forms": sum(self._inside(ctx, texts) for texts in self.looked_at),
            "kept_apart": self.kept_apart,
            "blocks_in_part": self.blocks_in_part,
            "forms_left": self._inside(ctx, self.left),
        }
        return {name: count for name, count in told.items() if count}

    def _inside(self, ctx: Context, texts: list[str]) -> int:
        if self.inside.is_everywhere:
            return len(texts)
        return sum(self.inside.has_holder(ctx, text) for text in texts)


def likeliest(ctx: Context, names: tuple[str, ...], search: Search) -> list[tuple[float, str]]:
    """The forms that may be like the names, likeliest first.

    Each comes with the greatest score it can have.
    """
    bounds: dict[str, float] = {}
    for name in names:
        for form in canonical.forms(name):
            for text, bound in _bounds(form, _looked_at(ctx, form, search), search):
                if bound > bounds.get(text, 0.0):
                    bounds[text] = bound
    return [(-less, text) for less, text in sorted((-bound, text) for text, bound in bounds.items())]


class _Looked(NamedTuple):
    """The forms that were looked at.

    Their texts, the same with their words in order, and the texts that sound like the candidate's.
    """

    texts: list[str]
    ordered: list[str]
    same_sound: list[str]


def _looked_at(ctx: Context, form: canonical.Form, search: Search) -> _Looked:
    seen: dict[bytes, bytes] = {}
    same_sound: list[bytes] = []
    seen_whole: set[bytes] = set()
    in_part: set[bytes] = set()
    for place in places_of(form, search):
        if place.key not in seen_whole:
            found = _around(ctx, place, search)
            seen |= found.forms
            same_sound += islice(found.forms, found.alone)
            (seen_whole if found.is_whole else in_part).add(place.key)
    if (missing := len(in_part - seen_whole)) and not search.inside.is_everywhere:
        listed = search.inside.listed(ctx)
        if len(listed.nodes) <= namesakes.MAX_WALKED:
            # In a small world all can be looked at; what is nearest in a block need not be the most alike.
            names = listed.names(ctx.tables)
            seen |= names.forms
            same_sound += names.sounds.get(form.sound, ())
    search.blocks_in_part += missing
    search.looked_at.append(texts := _decoded(seen))
    return _Looked(texts, _decoded(value or key for key, value in seen.items()), _decoded(same_sound))


def _around(ctx: Context, place: blocks.Place, search: Search) -> blocks.Around:
    """The forms around a place of a block; of one that has too many for a look, those inside alone."""
    found = blocks.around(ctx.tables, place)
    if found.is_whole or search.inside.is_everywhere:
        return found
    return search.inside.listed(ctx).names(ctx.tables).around(place)


def _decoded(texts: Iterable[bytes]) -> list[str]:
    """Decode many texts at once, which is quicker."""
    joined = b"\n".join(texts).decode()
    return joined.split("\n") if joined else []


def places_of(form: canonical.Form, search: Search) -> Iterator[blocks.Place]:
    """The blocks that may hold forms like this one.

    They include those for another given name of the same person.
    """
    yield from blocks.looked_up(form, by_given_name=search.by_given_name)
    first, *rest = form.words
    for given in name_guards.others_for(first) if form.text.startswith(first) else ():
        yield from blocks.looked_up_instead(form, (given, *rest), by_given_name=search.by_given_name)


def _bounds(form: canonical.Form, looked: _Looked, search: Search) -> Iterator[tuple[str, float]]:
    """Bound the score that each text can reach against a form.

    Gives pairs of a text and the greatest score that a form can have against it, for those that can be alike.
    """
    least = search.fuzzy
    alike = extract(form.text, looked.texts, scorer=JaroWinkler.similarity, score_cutoff=least, limit=None)
    yield from ((text, score) for text, score, _ in alike)
    alike = extract(form.ordered, looked.ordered, scorer=JaroWinkler.similarity, score_cutoff=least, limit=None)
    yield from ((looked.texts[at], score) for _, score, at in alike)
    yield from ((text, search.least) for text in looked.same_sound)
    yield from _shortened(form, looked.texts, search)


def _shortened(form: canonical.Form, texts: list[str], search: Search) -> Iterator[tuple[str, float]]:
    """Pairs of a text and its score, for shorter or longer forms of the same name."""
    first, blank, rest = form.text.partition(" ")
    last, blanks, spelled_out = rest.rpartition(" ")[2], form.text.count(" "), not form.initials
    if blank and not search.by_given_name:
        # Whole names of one person, one of them shorter, end in the same word.
        texts = [text for text in texts if text.endswith(last)]
    for text in texts:
        theirs = text.partition(" ")[0]
        if theirs == first:
            if spelled_out and text.count(" ") == blanks and not _INITIAL.search(text):
                continue
        elif not name_guards.is_short_for(theirs, first):
            continue
        score = scores.shortened(form.text, text)
        if score >= search.fuzzy and (search.by_given_name or bool(blank) == (" " in text)):
            yield text, score
