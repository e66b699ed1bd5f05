"""Ablations: recall without one of its ideas, so that a benchmark can measure each in one run (``--ideas``).

Each idea is patched out at its call in recall, and nothing else changes. A name that no longer exists is an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final
from unittest.mock import patch

from bench.public_data.retrieval import VARIANTS
from worlddb.query.question.question import Question
from worlddb.query.recall import candidates, ranking, recall, retrieve, rivalry, scoring


def _no_lending(*_: Any) -> dict[int, dict[int, float]]:
    """No turn lends its score to later turns."""
    return {}


def _no_conversations(*_: Any) -> dict[int, list[int]]:
    """No conversation has turns that lend their score."""
    return {}


def _no_words_around(*_: Any) -> dict[int, float]:
    """No turn gains by the words around it."""
    return {}


def _no_home_boost(*_: Any) -> set[int]:
    """No candidate gets the boost of a named person's own world."""
    return set()


def _no_instructions(*_: Any) -> tuple[int, ...]:
    """Find no standing instruction."""
    return ()


def _no_reserved_places(best: list[Any], *_: Any) -> list[Any]:
    """The hits, without places reserved for instructions."""
    return best


def _no_time_nearness(*_: Any) -> float:
    """No text is near the times in a question."""
    return 0.0


def _no_rescoring(snapshot: Any, question: Any, first: Iterable[Any], *_: Any) -> Iterator[Any]:
    """The first hits, with nothing added."""
    return iter(first)


def _keep_names(question: str, names: Any) -> str:
    """The question with its names kept."""
    return question


def _propose_always(
    lane: Any, question: Any, propose: Callable[[Any], list[Any]], stored: Any = None
) -> tuple[Any, list[Any]]:
    """The lane's candidates, also for a text that is not a question."""
    return lane, propose(lane)


def _keep_ranking(snapshot: Any, spec: Any, gate: Any, ranked: Any, k: int, find: Any) -> list[Any]:
    """The hits in their ranking, without the newest fact first."""
    return list(ranked)


_WITHOUT: Final[Mapping[str, Callable[[], AbstractContextManager[Any]]]] = {
    "without context": partial(patch.object, candidates, "lend_to_later_turns", _no_lending),
    "without talks": partial(patch.object, candidates, "find_leaders_in_talks", _no_conversations),
    "without the words around": partial(patch.object, candidates, "gains_by_words_around", _no_words_around),
    "without times": partial(patch.object, ranking, "_nearness", _no_time_nearness),
    "without the second look": partial(patch.object, ranking, "_rescore_hits", _no_rescoring),
    "without leaving names out": partial(patch.object, recall, "without_names", _keep_names),
    "without where names are at home": partial(patch.object, candidates, "find_nodes_at_home", _no_home_boost),
    "without standing instructions": partial(patch.object, retrieve, "_standing_instructions", _no_instructions),
    "without kept places": partial(patch.object, ranking, "_move_to_place", _no_reserved_places),
    "without openings": partial(patch.object, ranking, "OPENING_WEIGHT", 0.0),
    "without tastes": partial(patch.object, scoring, "TASTE_WEIGHT", 0.0),
    "without exchanges": partial(patch.object, Question, "may_ask_for_all", False),
    "without remarks": partial(patch.object, ranking, "propose_by_meaning", _propose_always),
    "without the newest first": partial(patch.object, rivalry, "lift_newer_facts", _keep_ranking),
}


def add_argument(arguments: argparse.ArgumentParser) -> None:
    """The option that asks for them."""
    arguments.add_argument("--ideas", action="store_true", help="also measure the default without each of its parts")


def variants(arguments: argparse.Namespace) -> dict[str, Mapping[str, Any]]:
    """The variants of a run, by name, with their arguments of recall."""
    return {**VARIANTS, **({idea: {} for idea in _WITHOUT} if arguments.ideas else {})}


def ablated(variant: str) -> AbstractContextManager[Any]:
    """Switch off the idea that a variant leaves out, until the block ends."""
    return _WITHOUT.get(variant, nullcontext)()
