"""The neighbours of a memory, and how they relate to it.

Neighbours lie in a world that contains the memory directly, or are joined to it by an edge whose home contains both, so
that no user's memory is judged by what another user said. Of the members of a container only the nearest by words are
neighbours. The sweep of a consolidation finds near-duplicates here too.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from worlddb.log.model import blobs, codec
from worlddb.projections.indexes import analysis, vector_rows
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.names import canonical
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema
from worlddb.reconciler.consolidation import summaries
from worlddb.reconciler.dream import assessor
from worlddb.reconciler.entity_resolution import equivalence
from worlddb.reconciler.transaction import context

MOST: Final = 8
"""How many neighbours a memory has at most, in its containers and by edges each."""
MAX_COMPARED: Final = 20_000
"""In larger worlds only the latest members are compared."""
MAX_OF_A_WORD: Final = 512
RAREST: Final = 12
"""How many of a memory's rarest words are used to find its nearest members."""
MAX_READ_CHARACTERS: Final = 4_000
ALIKE: Final = 0.8
"""Two longer texts with at least this share of common words are duplicates, if numbers and denials agree."""
MEANT: Final = 0.92
"""From this cosine on two texts say the same, if nothing that they tell differs."""
MAX_MEANT: Final = 8_192
"""In a world of more members the latest of them are compared by meaning."""
_WORTH_A_LOOK: Final = 0.6
"""The share of words in common from which two texts are compared for the sweep."""
_NEAR_IN_MEANING: Final = 0.8
"""The cosine from which they are."""
_NEARLY_THE_SAME_WORDS: Final = 0.5
"""The share of words in common from which a single word tells two texts apart."""
_ROWS_AT_ONCE: Final = 512
_COMPETING: Final = ("replacement", "contradiction")
CONTRADICTS: Final = "contradicts"
TURN: Final = "Turn"
"""Turns are the record of a conversation: none of them stands for another."""
_NO_MEMORY: Final = frozenset({"Summary", "Enrichment", "Extraction", "Dreams", "DreamReport"})
_NUMBER: Final = re.compile(
    r"\d+(?:[.,:]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty"
    r"|seventy|eighty|ninety|hundred|thousand)\b",
    re.I,
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_DENIAL: Final = re.compile(
    r"\b(?:no|not|never|none|nothing|without|cannot|nicht|kein\w*|pas|jamais|nunca)\b|n't\b", re.I
)

Relate = Callable[[str, str], str | None]
"""How the later of two short statements relates to the earlier one, by their words; nothing where they tell nothing."""


class VisibleMemory(NamedTuple):
    """A visible memory: the version that holds, and its body."""

    seen: asof.SeenVersion
    body: blobs.Body


Known = dict[tuple[int, int], frozenset[str]]
"""The words of versions, kept from one look to the next."""
_MAX_KNOWN: Final = 2 * MAX_COMPARED


class _Members(NamedTuple):
    words: dict[int, frozenset[str]]
    holding: dict[str, list[int]]


class MemoryNeighbourhood:
    """The memories of a store as of a moment and the neighbours of each, inside one read transaction."""

    def __init__(self, ctx: context.Context, moment: asof.Moment, relate: Relate, known: Known) -> None:
        self._ctx, self._moment, self._relate, self._known = ctx, moment, relate, known
        self._has_marks = ctx.tables.has_rows("marks")
        self._is_known = summaries.scope_filter(ctx, (), moment)
        self._members: dict[int, _Members] = {}
        self._shown: dict[int, VisibleMemory | None] = {}

    def memory(self, node: int) -> VisibleMemory | None:
        """A world as a memory, if it holds, has a text, and is not hidden; else ``None``.

        What was tried in a fork is none, nor is one that it repeats: else a memory would give way to its own copy.
        """
        if node not in self._shown:
            self._shown[node] = self._read_memory(node)
        return self._shown[node]

    def _read_memory(self, node: int) -> VisibleMemory | None:
        tables, (seq, valid) = self._ctx.tables, self._moment
        seen = None if node == schema.ROOT_NODE else asof.version_at(tables, node, self._moment)
        if seen is None or not self._is_known(node):
            return None
        if self._has_marks and (
            mark_rows.is_deprecated(tables, node, seq) or mark_rows.is_hidden(tables, node, seq, valid)
        ):
            return None
        body = self._ctx.body(node, seen.number)
        return (
            VisibleMemory(seen, body)
            if body is not None and body.content.strip() and body.type not in _NO_MEMORY
            else None
        )

    def of(self, node: int) -> tuple[assessor.Neighbour, ...]:
        """The neighbours of a memory: first those joined by edges, then the nearest in its containers."""
        own = self.memory(node)
        assert own is not None, "only memories are judged"
        joined = dict(self._joined_by_edges(node))
        beside: dict[int, float] = {}
        for container in self._ctx.containers(node):
            for other, share in self._nearest_members(node, container):
                beside[other] = max(share, beside.get(other, 0.0))
        nearest = sorted(beside, key=lambda other: (-beside[other], other))[:MOST]
        found = [(other, joined[other], beside.get(other, 0.0)) for other in joined]
        found += ((other, "", beside[other]) for other in nearest if other not in joined)
        return tuple(self._neighbour(own, other, edge, share) for other, edge, share in found)

    def _neighbour(self, own: VisibleMemory, node: int, edge: str, share: float) -> assessor.Neighbour:
        other = self.memory(node)
        assert other is not None, "looked at before"
        ref, since = self._ctx.lineage(node).hex(), other.seen.validity.start
        # Somebody recorded that the two contradict each other: words do not decide which of them is so.
        relation = "contradiction" if edge == CONTRADICTS else self._relation_between(own, other, share)
        return assessor.Neighbour(
            ref, other.body.type, other.body.name, other.body.content, since, edge, relation, round(share, 4)
        )

    def _relation_between(self, own: VisibleMemory, other: VisibleMemory, share: float) -> str:
        if TURN in (own.body.type, other.body.type):
            return ""
        one, two = own.body.content, other.body.content
        if one.casefold().split() == two.casefold().split():
            return "same"
        if share >= ALIKE and not differ(one, two) and not say_otherwise(one, two):
            return "same"
        if own.seen.validity.start <= other.seen.validity.start:
            return self._relate(one, two) or ""
        said = self._relate(two, one)
        return said if said in ("same", "contradiction", "compatible") else ""

    def _joined_by_edges(self, node: int) -> Iterator[tuple[int, str]]:
        """The memories at the other ends of edges, with the type of the first edge to each, up to the limit.

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

    def _nearest_members(self, node: int, container: int) -> Iterator[tuple[int, float]]:
        """The nearest members of a container by words in common, each with the share of all their words."""
        members = self._read(container)
        own = members.words.get(node)
        if not own:
            return
        held = Counter[int]()
        for word in sorted(own, key=lambda word: (len(members.holding[word]), word))[:RAREST]:
            held.update(members.holding[word][-MAX_OF_A_WORD:])
        del held[node]
        shares = ((len(own & members.words[other]) / len(own | members.words[other]), other) for other in held)
        for share, other in sorted(shares, key=lambda each: (-each[0], each[1]))[:MOST]:
            yield other, share

    def _read(self, container: int) -> _Members:
        """The words of the members of a container, and which of these have each."""
        if container not in self._members:
            words: dict[int, frozenset[str]] = {}
            holding: dict[str, list[int]] = {}
            for node in sorted(self._ctx.targets(container, schema.CONTAINS))[-MAX_COMPARED:]:
                shown = self.memory(node)
                if shown is not None:
                    words[node] = self._words(node, shown)
                    for word in words[node]:
                        holding.setdefault(word, []).append(node)
            self._members[container] = _Members(words, holding)
        return self._members[container]

    # -- near-duplicates

    def duplicates(self, container: int) -> Iterator["Duplicate"]:
        """The near-duplicates of earlier members in a world, each with the nearest one by lane.

        The lanes are not fused: two texts in other words are far apart by words, and two of one kind near by meaning.
        Of two that have names the resolver tells whether they are one.
        """
        nodes = sorted(self._ctx.targets(container, schema.CONTAINS))[-MAX_COMPARED:]
        found = {node: shown for node in nodes if (shown := self.memory(node)) is not None and shown.body.type != TURN}
        if len(found) < 2 or all(_has_name(shown) for shown in found.values()):
            return
        by_meaning = dict(self._nearest_in_meaning(found))
        for node, by_words in self._nearest_in_words(found):
            told: dict[int, Duplicate] = {}
            for lane, others in (("words", by_words), ("meaning", by_meaning.get(node, ()))):
                first = next((each for each in others if self._is_duplicate(node, each[1], lane, each[0])), None)
                if first is not None and first[1] not in told:
                    told[first[1]] = Duplicate(node, first[1], lane, round(first[0], 4))
            yield from (each for each in told.values() if not self._is_pair_decided(each))

    def _nearest_in_words(self, found: dict[int, VisibleMemory]) -> Iterator[tuple[int, list[tuple[float, int]]]]:
        """For each memory the earlier ones that share most of its words, with the share.

        Two of which so much is common have one of their rarest words in common, so these alone are looked up.
        """
        words = {node: self._words(node, shown) for node, shown in found.items()}
        count = Counter(word for own in words.values() for word in own)
        holding: dict[str, list[int]] = defaultdict(list)
        for node, own in words.items():
            rarest = sorted(own, key=lambda word: (count[word], word))
            rarest = rarest[: len(own) - int(_WORTH_A_LOOK * len(own)) + 1]
            others = {other for word in rarest for other in holding[word][-MAX_OF_A_WORD:]}
            shares = ((len(own & words[other]) / len(own | words[other]), other) for other in others)
            near = sorted((each for each in shares if each[0] >= _WORTH_A_LOOK), key=lambda each: (-each[0], each[1]))
            yield node, near[:MOST]
            for word in rarest:
                if count[word] > 1:
                    holding[word].append(node)

    def _nearest_in_meaning(self, found: dict[int, VisibleMemory]) -> Iterator[tuple[int, list[tuple[float, int]]]]:
        """For each memory that has a vector the earlier ones that are near to it in meaning, with the cosine."""
        tables, log = self._ctx.tables, self._ctx.draft.log
        space = asof.space_in_use(log, tables)
        if space is None:
            return
        import numpy as np

        nodes, vectors = [], []
        for node in list(found)[-MAX_MEANT:]:
            place = asof.vector_place(tables, space.number, node, found[node].seen.number)
            stored = None if place is None else log.blob(place.seq, place.position)
            blob = None if stored is None or place is None else codec.decode_blob(stored, place.seq)
            if isinstance(blob, blobs.Vector):
                nodes.append(node)
                vectors.append(vector_rows.whole_text(blob.values, space.row.dimension))
        if len(nodes) < 2:
            return
        matrix: Any = np.stack(vectors)
        for start in range(0, len(nodes), _ROWS_AT_ONCE):
            end = min(start + _ROWS_AT_ONCE, len(nodes))
            cosines = np.tril(matrix[start:end] @ matrix[:end].T, start - 1)
            near: dict[int, list[tuple[float, int]]] = defaultdict(list)
            for row, column in zip(*np.nonzero(cosines >= _NEAR_IN_MEANING), strict=True):
                near[nodes[start + row]].append((float(cosines[row, column]), nodes[column]))
            for node, others in near.items():
                yield node, sorted(others, key=lambda each: (-each[0], each[1]))[:MOST]

    def _is_duplicate(self, node: int, earlier: int, lane: str, near: float) -> bool:
        """True if a memory nearly repeats an earlier one and neither text nor edges contradict that."""
        own, other = self.memory(node), self.memory(earlier)
        assert own is not None and other is not None, "looked at before"
        if own.body.type != other.body.type or (_has_name(own) and _has_name(other)):
            return False
        one, two = other.body.content, own.body.content
        if own.seen.validity.start < other.seen.validity.start:
            one, two = two, one
        if differ(one, two) or self._are_about_others(node, earlier):
            return False
        if one.casefold().split() == two.casefold().split():
            return True
        said = self._relate(one, two)
        if said == "same":
            return True
        words, others = (self._words(at, shown) for at, shown in ((node, own), (earlier, other)))
        if len(words & others) >= _NEARLY_THE_SAME_WORDS * len(words | others) and say_otherwise(one, two):
            return False
        if lane == "words" and near >= ALIKE:
            return said not in _COMPETING
        return not said and lane == "meaning" and near >= MEANT

    def _are_about_others(self, one: int, other: int) -> bool:
        """True if two memories contradict each other, or refer to different worlds."""
        ctx = self._ctx
        if other in (*ctx.targets(one, CONTRADICTS), *ctx.sources(one, CONTRADICTS)):
            return True
        told, heard = (frozenset(ctx.targets(node, "refers_to")) for node in (one, other))
        return not (told <= heard or heard <= told)

    def _is_pair_decided(self, found: "Duplicate") -> bool:
        """True if a pair is pending, decided, or one identity already."""
        ctx, (node, earlier) = self._ctx, found[:2]
        return equivalence.is_settled(ctx, node, earlier) or earlier in equivalence.class_of(ctx, node)

    def _words(self, node: int, shown: VisibleMemory) -> frozenset[str]:
        version = node, shown.seen.number
        if version not in self._known:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[version] = _words(shown.body.content)
        return self._known[version]


class Duplicate(NamedTuple):
    """A near-duplicate of an earlier memory, the lane that found it, and the share of words or the cosine."""

    node: int
    earlier: int
    lane: str
    near: float


def near_duplicates(
    ctx: context.Context, moment: asof.Moment, containers: Iterable[int], relate: Relate
) -> Iterator[Duplicate]:
    """The near-duplicates among the members of some worlds, each pair once."""
    met: set[tuple[int, int]] = set()
    for container in containers:
        # What was looked at is let go behind each world: a large store is more than memory should hold.
        for each in MemoryNeighbourhood(ctx, moment, relate, {}).duplicates(container):
            if each[:2] not in met:
                met.add(each[:2])
                yield each


def _has_name(shown: VisibleMemory) -> bool:
    return bool(canonical.normalise_name(shown.body.name))


def _words(text: str) -> frozenset[str]:
    """The terms by which texts are compared: word stems, and their counterparts in scripts without spaces."""
    found = analysis.analyze(text[:MAX_READ_CHARACTERS])
    told = zip(found.words, found.stems, strict=True)
    return frozenset((*(stem for word, stem in told if word not in analysis.STOP_WORDS), *analysis.grams(found.runs)))


def _numbers_and_denials(text: str) -> tuple[list[str], int]:
    """The numbers of a text, and its count of denials: texts that differ in these are no duplicates."""
    return sorted(_NUMBER.findall(text)), len(_DENIAL.findall(text))


def differ(one: str, other: str) -> bool:
    """True if two texts differ in numbers or denials, or each has a name that the other lacks."""
    return _numbers_and_denials(one) != _numbers_and_denials(other) or bool(
        _names_not_shared(one, other) and _names_not_shared(other, one)
    )


def say_otherwise(one: str, other: str) -> bool:
    """True if two texts in nearly the same words may say different things, or each has a word of its own that counts.

    Words that only stress what is said do not count.
    """
    said, heard = _words(one) - _stressing(), _words(other) - _stressing()
    return bool(said - heard and heard - said) or analysis.say_otherwise(one, other)


@cache
def _stressing() -> frozenset[str]:
    return _words("really apparently actually again also very quite just still simply clearly certainly indeed truly")


def _names_not_shared(one: str, other: str) -> set[str]:
    """The capitalised words of a text that are not in another one, such as names, days and months."""
    said = {word.casefold() for word in _WORD.findall(other)}
    capitals = {word.casefold() for word in _WORD.findall(one) if word[0].isupper()}
    return capitals - said - analysis.STOP_WORDS
