"""What is asked of a recall, and whether it can be."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import checked_number
from worlddb.query.recall.fusion import FUSIONS
from worlddb.query.recall.ranking import LANES
from worlddb.query.snapshot.valid_period import Choice

MAX_K: Final = 10_000


class Request(NamedTuple):
    """What is asked of a view; see :meth:`worlddb.query.view.view.View.recall`."""

    text: str
    world: Any
    k: int
    exact: bool
    choice: Choice
    lanes: tuple[str, ...]
    fusion: str
    asked: int
    group: int | None = None
    neighbours: int = 0


def check(request: Request) -> None:
    """See that a recall can be asked so.

    Raises:
        InputError: ``k``, ``group`` or ``neighbours`` is out of bounds, ``text`` is no text, or there is no such lane
            or fusion.
    """
    if not isinstance(request.text, str):
        raise InputError(f"The query is {type(request.text).__name__}, not text", "Give it as str")
    checked_number(request.k, "k", 1, MAX_K)
    if request.group is not None:
        checked_number(request.group, "group", 1, MAX_K)
    checked_number(request.neighbours, "neighbours", 0, MAX_K)
    for lane in request.lanes:
        if lane not in LANES:
            raise InputError(f"There is no lane {lane!r:.80}", f"Name some of: {', '.join(LANES)}")
    if not request.lanes:
        raise InputError("No lane was named", f"Name some of: {', '.join(LANES)}")
    if request.fusion not in FUSIONS:
        raise InputError(f"There is no fusion {request.fusion!r:.80}", f"Name one of: {', '.join(FUSIONS)}")
