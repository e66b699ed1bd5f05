"""A request for a recall: the question, where it is asked, its lanes and its bounds."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import checked_number
from worlddb.query.question.question import Question
from worlddb.query.recall.scoring import CONVEX, FUSIONS
from worlddb.query.snapshot.valid_period import Choice

MAX_K: Final = 10_000

TEXT: Final = "text"
VECTOR: Final = "vector"
ENTITY: Final = "entity"
LANES: Final = (TEXT, VECTOR, ENTITY)


class Request(NamedTuple):
    """A recall as it is asked of a view; see :meth:`worlddb.query.view.view.View.recall`."""

    question: Question
    world: Any
    k: int
    exact: bool
    choice: Choice
    lanes: tuple[str, ...]
    fusion: str
    group: int | None = None
    neighbours: int = 0

    @property
    def compared_text(self) -> str:
        """The text that is compared by words and by meaning.

        Where evidence is added up, for groups all but the times that the question names, which are evidence of their
        own. Among turns, "three weeks ago" also brings near the one that tells a time.
        """
        by_several = len(set(self.lanes)) > 1 and self.fusion == CONVEX
        return self.question.without_times if self.group is not None and by_several else self.question.text

    def check(self) -> None:
        """Refuse a request that cannot be answered.

        Raises:
            InputError: ``k``, ``group`` or ``neighbours`` is out of bounds, or there is no such lane or fusion.
        """
        checked_number(self.k, "k", 1, MAX_K)
        if self.group is not None:
            checked_number(self.group, "group", 1, MAX_K)
        checked_number(self.neighbours, "neighbours", 0, MAX_K)
        for lane in self.lanes:
            if lane not in LANES:
                raise InputError(f"There is no lane {lane!r:.80}", f"Name some of: {', '.join(LANES)}")
        if not self.lanes:
            raise InputError("No lane was named", f"Name some of: {', '.join(LANES)}")
        if self.fusion not in FUSIONS:
            raise InputError(f"There is no fusion {self.fusion!r:.80}", f"Name one of: {', '.join(FUSIONS)}")
