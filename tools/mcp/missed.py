"""What may have been missed by a recall, in sentences for a model: for the MCP server and for agent frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from worlddb import Recall


def missed(answers: Sequence[Recall], *, in_one_world: bool) -> list[str]:
    """What a reader should know of one question's answers, each in a scope of its own.

    ``in_one_world`` is for whoever sees one world alone: how far the store is would tell of what others write.
    """
    told: list[str] = []
    is_weak = all(answer.weak for answer in answers if answer.hits)
    for answer in answers:
        told += _of_vectors(answer, in_one_world)
        # What is weak in one scope does not matter where another one answers.
        told += [answer.note] if answer.note and (is_weak or not answer.weak) else []
    return list(dict.fromkeys(told))


def _of_vectors(answer: Recall, in_one_world: bool) -> Iterator[str]:
    if in_one_world:
        if answer.pending or answer.unavailable:
            yield "Memories may be found by their words and names only for now, not by their meaning"
        return
    for lane, why in answer.unavailable.items():
        yield f"Not searched by meaning, only by words and names ({lane}: {why})"
    if answer.pending and not answer.unavailable:
        waiting = "One memory" if answer.pending == 1 else f"{answer.pending:,} memories"
        have = "has" if answer.pending == 1 else "have"
        yield f"{waiting} of this store {have} no vector yet: found by words and names only for now"
