"""The steps in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from worlddb.tools.demo import forensics, memory
from worlddb.tools.demo.stage import Section, Stage

STEPS: Final[tuple[Callable[[Stage], Section], ...]] = (
    memory.a_conversation_becomes_memory,
    memory.an_answer_names_its_source,
    memory.a_home_moves,
    memory.a_date_is_corrected,
    memory.two_people_stay_two,
    memory.a_contradiction_is_kept,
    forensics.everything_is_derived_again,
    forensics.an_earlier_moment_comes_back,
    forensics.a_change_is_traced,
    forensics.a_forgery_is_found,
)


def tell(stage: Stage) -> Iterator[Section]:
    """Play the story; each section comes when it has happened."""
    for step in STEPS:
        yield step(stage)
