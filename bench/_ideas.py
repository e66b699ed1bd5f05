"""Recall without one of its ideas, so that a benchmark can say what each is worth in the same run (``--ideas``).

Each is left out where recall calls it, and nothing else is changed; a name that is no longer there is an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final
from unittest.mock import patch

from bench._retrieval import VARIANTS
from worlddb.query.question.question import Question
from worlddb.query.recall import candidates, ranking, recall, retrieve, scoring


def _nothing_lent(*_: Any) -> dict[int, dict[int, float]]:
    """No turn is lent anything by those before it."""
    return {}


def _no_talk(*_: Any) -> dict[int, list[int]]:
    """No talk has other turns that lend."""
    return {}


def _nobody_at_home(*_: Any) -> set[int]:
    """No candidate lies where somebody is at home."""
    return set()


def _nothing_governs(*_: Any) -> tuple[int, ...]:
    """No standing instruction is looked for."""
    return ()


def _no_place_kept(best: list[Any], *_: Any) -> list[Any]:
    """The hits, whatever says how to answer."""
    return best


def _near_no_time(*_: Any) -> float:
    """Nothing is near the times that a question names."""
    return 0.0


def _as_they_are(snapshot: Any, question: Any, first: list[Any], later: float) -> list[Any]:
    """The first hits, with nothing added."""
    return first


def _all_of_it(question: str, names: Any) -> str:
    """The question with the names in it."""
    return question


def _by_cosine(
    lane: Any, question: Any, propose: Callable[[Any], list[Any]], stored: Any = None
) -> tuple[Any, list[Any]]:
    """What a lane proposes for a question, also for what is none."""
    return lane, propose(lane)


def _as_ranked(snapshot: Any, spec: Any, gate: Any, ranked: Any, k: int, find: Any) -> list[Any]:
    """The hits, whichever are newer."""
    return list(ranked)


_WITHOUT: Final[Mapping[str, Callable[[], AbstractContextManager[Any]]]] = {
    "without context": partial(patch.object, candidates, "followers", _nothing_lent),
    "without talks": partial(patch.object, candidates, "in_talks", _no_talk),
    "without times": partial(patch.object, ranking, "nearness", _near_no_time),
    "without the second look": partial(patch.object, ranking, "_rescored", _as_they_are),
    "without leaving names out": partial(patch.object, recall, "without_names", _all_of_it),
    "without where names are at home": partial(patch.object, candidates, "at_home", _nobody_at_home),
    "without standing instructions": partial(patch.object, retrieve, "_standing", _nothing_governs),
    "without kept places": partial(patch.object, ranking, "_placed", _no_place_kept),
    "without tastes": partial(patch.object, scoring, "TASTE_WEIGHT", 0.0),
    "without exchanges": partial(patch.object, Question, "may_ask_for_all", False),
    "without remarks": partial(patch.object, ranking, "proposed_by_meaning", _by_cosine),
    "without the newest first": partial(patch.object, retrieve, "newest_first", _as_ranked),
}


def add_argument(arguments: argparse.ArgumentParser) -> None:
    """The option that asks for them."""
    arguments.add_argument("--ideas", action="store_true", help="also the default without each of its ideas")


def variants(arguments: argparse.Namespace) -> dict[str, Mapping[str, Any]]:
    """What a run compares: by name, what recall is given."""
    return {**VARIANTS, **({idea: {} for idea in _WITHOUT} if arguments.ideas else {})}


def asked_as(variant: str) -> AbstractContextManager[Any]:
    """While it lasts, recall leaves out what a variant leaves out."""
    return _WITHOUT.get(variant, nullcontext)()
