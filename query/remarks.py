"""Remarks: what is said to somebody who remembers, and asks nothing.

"I booked the train, but only seats that face forward." shares neither words nor meaning with "I get sick in the back of
a car.", which it brings to mind. Where nothing stands out by its meaning, how near texts come says little, and how
likely each is to be worth remembering says more: that is the higher, the more of it is what its speaker says of
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from worlddb.projections.indexes.analysis import is_remark
from worlddb.query.candidates import Passed
from worlddb.query.lanes.vector import VectorLane

STATING: Final = 0.1
"""How much nearer to a remark a text comes that is nothing but statements of its speaker about themselves."""
STATING_ALONE: Final = 0.3
"""The same where nothing stands out."""
OUTSTANDING: Final = 0.14
"""Something stands out if the nearest text is nearer by so much than the middle one of the nearest."""
NEAREST: Final = 64
"""How many texts are the nearest ones."""


def proposed_by_meaning(
    lane: VectorLane, text: str, propose: Callable[[VectorLane], list[Passed]]
) -> tuple[VectorLane, list[Passed]]:
    """What a vector lane proposes for a text, best first, and the lane as it was asked."""
    if not is_remark(text):
        return lane, propose(lane)
    weighing = lane.weighing(STATING)
    found = propose(weighing)
    if not _stands_out(found):
        weighing = lane.weighing(STATING_ALONE)
        found = propose(weighing)
    return weighing, found


def _stands_out(found: list[Passed]) -> bool:
    nearest = found[:NEAREST]
    return bool(nearest) and nearest[0].score - nearest[len(nearest) // 2].score >= OUTSTANDING
