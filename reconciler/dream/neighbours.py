"""Which memories lie within reach of one, and how they relate to it.

Within reach is what lies in a world that contains it directly, or is joined to it by an edge at home in a world that
contains both: so nobody's memory is judged by what somebody else was told. Of what lies beside it the nearest by words
are shown.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from worlddb.log.model import blobs
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema
from worlddb.reconciler.consolidation import summaries
from worlddb.reconciler.dream import assessor
from worlddb.reconciler.transaction import context

MOST: Final = 8
"""How many that lie beside a memory it is shown with, and how many that edges join to it."""
MOST_COMPARED: Final = 20_000
"""In a world of more members the latest of them are compared."""
MOST_OF_A_WORD: Final = 512
RAREST: Final = 12
"""By so many of its rarest words what lies beside a memory is found."""
MAX_READ_CHARACTERS: Final = 4_000
ALIKE: Final = 0.8
"""From this share of words in common on two longer texts say the same, if no number and no denial differs."""
CONTRADICTS: Final = "contradicts"
TURN: Final = "Turn"
"""Turns are the record of a conversation: none of them stands for another."""
_NO_MEMORY: Final = frozenset({"Summary", "Enrichment", "Extraction", "Dreams", "DreamReport"})
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_DENIAL: Final = re.compile(
    r"\b(?:no|not|never|none|nothing|without|cannot|nicht|kein\w*|pas|jamais|nunca)\b|n't\b", re.I
)

Relate = Callable[[str, str], str]
"""How the later of two short statements relates to the earlier one, by their words; empty where they tell nothing."""


class Shown(NamedTuple):
    """A memory that is looked at: the version that holds, and what that says."""

    seen: asof.SeenVersion
    body: blobs.Body


Known = dict[tuple[int, int], frozenset[str]]
"""The words of versions, kept from one look to the next."""
_MOST_KNOWN: Final = 2 * MOST_COMPARED


class _Members(NamedTuple):
    words: dict[int, frozenset[str]]
    holding: dict[str, list[int]]


class Reach:
    """The memories of a store as of a moment, and what lies within reach of each, inside one read transaction."""

    def __init__(self, ctx: context.Context, moment: asof.Moment, relate: Relate, known: Known) -> None:
        self._ctx, self._moment, self._relate, self._known = ctx, moment, relate, known
        self._has_marks = ctx.tables.has_rows("marks")
        self._is_known = summaries.within(ctx, (), moment)
        self._members: dict[int, _Members] = {}
        self._shown: dict[int, Shown | None] = {}

    def memory(self, node: int) -> Shown | None:
        """What a world says, if it is a memory that is worth a look: it holds, has a text, and nothing hides it.

        What was tried in a fork is none, nor is one that it repeats: else a memory would give way to its own copy.
        """
        if node not in self._shown:
            self._shown[node] = self._looked_at(node)
        return self._shown[node]

    def _looked_at(self, node: int) -> Shown | None:
        tables, (seq, valid) = self._ctx.tables, self._moment
        seen = None if node == schema.ROOT_NODE else asof.version_at(tables, node, self._moment)
        if seen is None or not self._is_known(node):
            return None
        if self._has_marks and (
            mark_rows.is_deprecated(tables, node, seq) or mark_rows.is_hidden(tables, node, seq, valid)
        ):
            return None
        body = self._ctx.body(node, seen.number)
        return Shown(seen, body) if body is not None and body.content.strip() and body.type not in _NO_MEMORY else None

    def of(self, node: int) -> tuple[assessor.Neighbour, ...]:
        """What lies within reach of a memory: first what edges join to it, then the nearest that lie beside it."""
        own = self.memory(node)
        assert own is not None, "only memories are judged"
        joined = dict(self._joined(node))
        beside: dict[int, float] = {}
        for container in self._ctx.containers(node):
            for other, share in self._beside(node, container):
                beside[other] = max(share, beside.get(other, 0.0))
        nearest = sorted(beside, key=lambda other: (-beside[other], other))[:MOST]
        found = [(other, joined[other], beside.get(other, 0.0)) for other in joined]
        found += ((other, "", beside[other]) for other in nearest if other not in joined)
        return tuple(self._neighbour(own, other, edge, share) for other, edge, share in found)

    def _neighbour(self, own: Shown, node: int, edge: str, share: float) -> assessor.Neighbour:
        other = self.memory(node)
        assert other is not None, "looked at before"
        ref, since = self._ctx.lineage(node).hex(), other.seen.validity.start
        # Somebody recorded that the two contradict each other: words do not decide which of them is so.
        relation = "contradiction" if edge == CONTRADICTS else self._related(own, other, share)
        return assessor.Neighbour(
            ref, other.body.type, other.body.name, other.body.content, since, edge, relation, round(share, 4)
        )

    def _related(self, own: Shown, other: Shown, share: float) -> str:
        if TURN in (own.body.type, other.body.type):
            return ""
        one, two = own.body.content, other.body.content
        if _signs(one) == _signs(two) and (share >= ALIKE or one.casefold().split() == two.casefold().split()):
            return "same"
        if own.seen.validity.start <= other.seen.validity.start:
            return self._relate(one, two)
        said = self._relate(two, one)
        return said if said in ("same", "contradiction", "compatible") else ""

    def _joined(self, node: int) -> Iterator[tuple[int, str]]:
        """The memories at the other ends of edges, and the type of the first edge to each; as many as are shown.

        Those that contradict it come first: one that has ended does so no more.
        """
        ctx, seen = self._ctx, {node}
        for name in (CONTRADICTS, *assessor.RELATIONS):
            for incoming in (False, True):
                for edge in ctx.edges(node, name, incoming=incoming):
                    other = edge.source if incoming else edge.target
                    holds = name != CONTRADICTS or edge.valid_from <= self._moment.valid < edge.valid_to
                    is_near = holds and ctx.inside(other, edge.home) and ctx.inside(node, edge.home)
                    if len(seen) <= MOST and other not in seen and is_near and self.memory(other) is not None:
                        seen.add(other)
                        yield other, name

    def _beside(self, node: int, container: int) -> Iterator[tuple[int, float]]:
        """The nearest members of a container by words in common, each with the share of all their words."""
        members = self._read(container)
        own = members.words.get(node)
        if not own:
            return
        held = Counter[int]()
        for word in sorted(own, key=lambda word: (len(members.holding[word]), word))[:RAREST]:
            held.update(members.holding[word][-MOST_OF_A_WORD:])
        del held[node]
        shares = ((len(own & members.words[other]) / len(own | members.words[other]), other) for other in held)
        for share, other in sorted(shares, key=lambda each: (-each[0], each[1]))[:MOST]:
            yield other, share

    def _read(self, container: int) -> _Members:
        """The words of the members of a container, and which of these have each."""
        if container not in self._members:
            words: dict[int, frozenset[str]] = {}
            holding: dict[str, list[int]] = {}
            for node in sorted(self._ctx.targets(container, schema.CONTAINS))[-MOST_COMPARED:]:
                shown = self.memory(node)
                if shown is not None:
                    words[node] = self._words(node, shown)
                    for word in words[node]:
                        holding.setdefault(word, []).append(node)
            self._members[container] = _Members(words, holding)
        return self._members[container]

    def _words(self, node: int, shown: Shown) -> frozenset[str]:
        version = node, shown.seen.number
        if version not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[version] = _words(shown.body.content)
        return self._known[version]


def _words(text: str) -> frozenset[str]:
    """What a text is compared by: the stems of its words, and what unspaced scripts have in their place."""
    found = analysis.analyze(text[:MAX_READ_CHARACTERS])
    told = zip(found.words, found.stems, strict=True)
    return frozenset((*(stem for word, stem in told if word not in analysis.STOP_WORDS), *analysis.grams(found.runs)))


def _signs(text: str) -> tuple[list[str], int]:
    """Its numbers, and how often it denies: two texts that differ in these do not say the same."""
    return sorted(_NUMBER.findall(text)), len(_DENIAL.findall(text))
