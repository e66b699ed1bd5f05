"""The first hits, looked at again by what costs too much to ask of every candidate: their texts, and their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from worlddb.projections.indexes.analysis import is_remark
from worlddb.query.conversation import places
from worlddb.query.ranking import Ranked
from worlddb.query.sight import Sight
from worlddb.query.telling import LATER_IN_GROUPS, LATER_WEIGHT, NOTHING, by_form, wanted

MOST_MORE: Final = 64
"""How many hits are looked at beyond those that are wanted: as many again, but no more than these; for groups these."""


def looked_at_again(snapshot: Sight, question: str, ranked: Iterable[Ranked], k: int) -> list[Ranked]:
    """The candidates that may be among the first ``k``, in order anew by what their texts tell.

    Nobody's text is read who is not seen.
    """
    return _in_order(_looked_at(snapshot, question, list(islice(ranked, k + min(k, MOST_MORE))), LATER_WEIGHT))


def all_looked_at_again(snapshot: Sight, question: str, ranked: Iterable[Ranked], k: int) -> list[Ranked]:
    """All candidates in order anew, the first of them by what their texts tell: what ``k`` groups are made of."""
    left = iter(ranked)
    return _in_order([*_looked_at(snapshot, question, list(islice(left, k + MOST_MORE)), LATER_IN_GROUPS), *left])


def _looked_at(snapshot: Sight, question: str, first: list[Ranked], later: float) -> Iterator[Ranked]:
    """The hits, with what their texts and their places add."""
    asked = NOTHING if is_remark(question) else wanted(question)
    at = places(snapshot, [hit.passed for hit in first])
    for hit in first:
        body = snapshot.body(hit.passed.seen.row)
        more = {} if body is None else by_form(body.content, at.get(hit.passed.node, 0), asked, later)
        yield hit._replace(score=hit.score + sum(more.values()), parts={**hit.parts, **more})


def _in_order(hits: Iterable[Ranked]) -> list[Ranked]:
    return sorted(hits, key=lambda hit: (-round(hit.score, 6), hit.passed.node))
