"""Several streams of one recall: other wordings of the question, ways between entities, and what each hit leads to.

Hydra DB asks a question in several wordings (§2.6.1), walks the graph from what the question names (§2.6.3) and from
what each hit refers to (§2.6.4), and gives hits and ways side by side (equation 16). Each stream is asked for by
itself. The engine makes no wordings: a caller's function does, before anything is read.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from worlddb.log.model import errors, limits
from worlddb.query.coverage.scope_widening import joined
from worlddb.query.enrichment.inferred import told_of
from worlddb.query.graph_query.traversal import Ground
from worlddb.query.question.question import MAX_K, Question, Request
from worlddb.query.reads.window import Window
from worlddb.query.recall.retrieve import searched_world
from worlddb.query.records import records
from worlddb.query.streams.entity_paths import PathFinder

MAX_WORDINGS: Final = 8
"""Each is a recall of its own."""
MAX_DEPTH: Final = 4


class Streams(msgspec.Struct, frozen=True, kw_only=True):
    """What a recall is asked for beside the hits of its question.

    ``expand`` gives other wordings of a question, up to 8: each is asked too, and a hit has the best of its scores.
    ``paths`` ways are given from what the question names, ``hit_paths`` from what each hit refers to, of at most
    ``depth`` edges (1 to 4), those with most of the question's words first. ``describe``: each hit has what was
    inferred of it (``Hit.inferred``), so that a caller's own model can choose among hits by it.
    """

    expand: Callable[[str], Sequence[str]] | None = None
    paths: int = 0
    hit_paths: int = 0
    depth: int = 2
    describe: bool = False


def checked(streams: object) -> Streams:
    """The streams that a caller asks for.

    Raises:
        InputError: it is none, or a number is out of bounds.
    """
    if not isinstance(streams, Streams):
        raise errors.InputError(f"streams is {type(streams).__name__}", "Give Streams(...)")
    limits.checked_callable(streams.expand, "expand")
    limits.checked_number(streams.paths, "paths", 0, MAX_K)
    limits.checked_number(streams.hit_paths, "hit_paths", 0, MAX_K)
    limits.checked_number(streams.depth, "depth", 1, MAX_DEPTH)
    limits.checked_flag(streams.describe, "describe")
    return streams


Ask = Callable[[Request], records.Recall]


def streamed(window: Window, request: Request, streams: Streams, ask: Ask) -> records.Recall:
    """The answer to a request in several streams; ``ask`` answers one wording of it.

    Raises:
        InputError: ``expand`` gave something else than a few texts.
    """
    question = request.question
    wordings = [] if streams.expand is None else _wordings(streams.expand(question.text), question.text)
    answers = [ask(request), *(ask(request._replace(question=Question(each, question.asked))) for each in wordings)]
    found = joined(answers, request.k) if wordings else answers[0]
    if wordings:
        note = f"asked in {len(answers)} wordings; the hits of all are ranked together"
        found = replace(found, note="; ".join(filter(None, (note, found.note))))
    if not (streams.paths or streams.hit_paths or streams.describe):
        return found
    with window.snapshot() as snapshot:
        inside = searched_world(window, snapshot, request)
        ground = Ground(snapshot, window.spec, inside, superseded=False, unified=window.unify)
        finder = PathFinder(ground, question, streams.depth)
        nodes = [snapshot.tables.node_of(bytes.fromhex(hit.ref)) for hit in found.hits]
        paths = finder.best(finder.named(), streams.paths) if streams.paths else ()
        for node, hit in zip(nodes, found.hits, strict=True) if streams.hit_paths else ():
            if node is not None:
                paths += finder.best(finder.referred(node), streams.hit_paths, hit.ref)
        if streams.describe:
            told = [{} if node is None else told_of(snapshot, node) for node in nodes]
            hits = tuple(replace(hit, inferred=each) for hit, each in zip(found.hits, told, strict=True))
            found = replace(found, hits=hits)
    return replace(found, paths=paths)


def _wordings(given: Any, question: str) -> list[str]:
    """The other wordings that a caller's function gave, each once.

    Raises:
        InputError: they are no list of texts, or too many.
    """
    listed = limits.checked_list(given, "what expand gave")
    if len(listed) > MAX_WORDINGS:
        raise errors.InputError(f"expand gave {len(listed)} wordings", f"Give {MAX_WORDINGS} at most")
    texts = [limits.checked_text(each, "a wording", limits.MAX_CONTENT_BYTES) for each in listed]
    return [each for each in dict.fromkeys(texts) if each != question and each.strip()]
