"""Shapes of reads for the reading benchmarks, and questions about a store of bench/made_up/workload.py."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

from bench.made_up.workload import WORLD_EVERY, LoadedNodes, Loader, words
from bench.measuring.report import p50
from worlddb import UnknownReference, View

_QUESTION_WORDS: Final = 3
_NAMES: Final = 64


class Shape(NamedTuple):
    """A read: the kind of its question, and the call that reads from a view."""

    ask_about: str
    ask: Callable[[View, Any], Any]
    ranked: bool = False


SHAPES: Final[dict[str, Shape]] = {
    "get": Shape("node", lambda view, node: view.get(node)),
    "find_by_name": Shape("name", lambda view, name: view.find(name=name)),
    "children": Shape("world", lambda view, world: list(view.children(world))),
    "edges_out": Shape("node", lambda view, node: view.edges(node, direction="out")),
    "edges_both": Shape("node", lambda view, node: view.edges(node)),
    "traversal": Shape("node", lambda view, node: view.query(seeds=node).traverse(depth=2).run()),
    "bm25": Shape("text", lambda view, text: view.recall(text, lanes=("text",)), True),
    "vector": Shape("text", lambda view, text: view.recall(text, lanes=("vector",)), True),
    "recall": Shape("text", lambda view, text: view.recall(text), True),
    "recall_in_world": Shape(
        "text and world", lambda view, asked: view.recall(asked[0], world=asked[1], lanes=("text",)), True
    ),
}
"""`edges_out` is one hop, `traversal` two, `recall` all lanes together."""

EXACT: Final[dict[str, Shape]] = {
    "recall_exact": Shape("text", lambda view, text: view.recall(text, exact=True), True),
}
"""What builds an index of all that the view sees, every time."""


class Questions:
    """Draws questions about the first ``nodes`` worlds of a store."""

    def __init__(self, view: View, loader: Loader | LoadedNodes, nodes: int, seed: int) -> None:
        self._draw = random.Random(seed)
        self._loader = loader
        self._nodes = nodes
        found = (view.get(self._node(), include_superseded=True) for _ in range(_NAMES))
        self._names = [seen.name for seen in found if seen is not None]

    def ask_about(self, kind: str) -> Any:
        """A question of a kind."""
        drawn: dict[str, Callable[[], Any]] = {
            "node": self._node,
            "world": self._world,
            "name": lambda: self._draw.choice(self._names),
            "text": self._text,
            "text and world": lambda: (self._text(), self._world()),
        }
        return drawn[kind]()

    def _node(self) -> bytes:
        return self._loader.ref(self._draw.randrange(self._nodes))

    def _world(self) -> bytes:
        return self._loader.ref(self._draw.randrange(-(-self._nodes // WORLD_EVERY)) * WORLD_EVERY)

    def _text(self) -> str:
        return words(self._draw, _QUESTION_WORDS)


def known_nodes(view: View, loader: Loader | LoadedNodes, nodes: int) -> int:
    """How many of the first ``nodes`` worlds of a store had been made by the moment of a view."""

    def is_later(position: int) -> bool:
        try:
            view.get(loader.ref(position))
        except UnknownReference:
            return True
        return False

    return bisect_left(range(nodes), True, key=is_later)


class Latencies(NamedTuple):
    """How long reads took, in milliseconds on the clock and of the processor."""

    clock_ms: list[float]
    processor_ms: list[float]

    def take(self, ask: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        """Run once and record the time."""
        clock, processor = perf_counter(), process_time()
        ask(*arguments, **named)
        self.processor_ms.append(1000 * (process_time() - processor))
        self.clock_ms.append(1000 * (perf_counter() - clock))


def side_by_side(
    shape: Shape, views: tuple[View, ...], questions: Questions, samples: int, warm_up: int
) -> list[Latencies]:
    """Ask several views the same questions, each question of each in turn, so that a busy machine is busy for all."""
    taken = [Latencies([], []) for _ in views]
    for number in range(-warm_up, samples):
        asked = questions.ask_about(shape.ask_about)
        order = list(zip(views, taken, strict=True))
        for view, times in order[:: 1 if number % 2 else -1]:
            if number < 0:
                shape.ask(view, asked)
            else:
                times.take(shape.ask, view, asked)
    return taken


def ratio_of(one: Latencies, other: Latencies) -> float:
    """The ratio of the first one's CPU time to the second's."""
    return p50(one.processor_ms) / p50(other.processor_ms)
