"""The oracle for the order of competing facts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tests.support.model.reads import Reads
from tests.support.model.state import Version


def newest_first(reads: Reads, inside: Collection[int], found: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Order newer contradictions before what they contradict, by repeated passes.

    What was erased says nothing, and is nobody's newer one.
    """
    places = {number: (round(score, 6), 0) for number, score in found}

    def version(number: int) -> Version:
        at = reads.version_at(number)
        assert at is not None
        return reads.state.worlds[number].versions[at - 1]

    def is_newer(one: Version, other: Version) -> bool:
        return one.erasure is None and (one.start, one.seq) > (other.start, other.seq)

    before: dict[int, tuple[float, int]] = {}
    while before != places:
        before = dict(places)
        for older, (score, level) in before.items():
            for newer in reads.opponents(older):
                wanted = score, level + 1
                if (
                    newer in inside
                    and is_newer(version(newer), version(older))
                    and places.get(newer, (0.0, 0)) < wanted
                ):
                    places[newer] = wanted
    given = [number for number, _ in found]
    order = [*given, *sorted(places.keys() - set(given))]
    order.sort(key=lambda number: (-places[number][0], -places[number][1]))
    return [(number, places[number][0]) for number in order]
