"""The first hits, looked at again by what costs too much to ask of every candidate: their texts, and their places."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from worlddb.projections.indexes.statements import is_remark
from worlddb.query.conversation import places
from worlddb.query.ranking import Ranked
from worlddb.query.sight import Sight
from worlddb.query.telling import NOTHING, by_form, wanted

MOST_MORE: Final = 64
"""Twice as many hits are looked at as are wanted, but no more than so many beyond them."""


def looked_at_again(snapshot: Sight, question: str, ranked: Iterable[Ranked], k: int) -> list[Ranked]:
    """The candidates that may be among the first ``k``, in order anew by what their texts tell.

    Nobody's text is read who is not seen.
    """
    first = list(islice(ranked, k + min(k, MOST_MORE)))
    asked = NOTHING if is_remark(question) else wanted(question)
    at = places(snapshot, [hit.passed for hit in first])
    again: list[Ranked] = []
    for hit in first:
        body = snapshot.body(hit.passed.seen.row)
        more = {} if body is None else by_form(body.content, at.get(hit.passed.node, 0), asked)
        again.append(hit._replace(score=hit.score + sum(more.values()), parts={**hit.parts, **more}))
    again.sort(key=lambda hit: (-round(hit.score, 6), hit.passed.node))
    return again
