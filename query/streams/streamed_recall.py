"""Run several streams of one recall: other wordings, paths between entities, and what each hit leads to.

Hydra DB asks a question in several wordings (§2.6.1), walks the graph from what the question names (§2.6.3) and from
what each hit refers to (§2.6.4), and returns hits and paths side by side (equation 16). Each stream is requested by
itself. The engine makes no wordings: a caller's function does, before anything is read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from worlddb.log.model import errors, limits
from worlddb.projections.indexes import analysis
from worlddb.query.coverage.scope_widening import joined, widened
from worlddb.query.enrichment.inferred import inferred_fields, parse_weights
from worlddb.query.graph_query.traversal import Ground
from worlddb.query.lanes.text_lane import TextLane
from worlddb.query.question.question import CONVEX, MAX_K, VECTOR, Question, Request
from worlddb.query.reads.window import Window
from worlddb.query.reads.world_lookup import named_node
from worlddb.query.recall.retrieve import searched_world
from worlddb.query.records import records
from worlddb.query.streams.entity_paths import PathFinder

MAX_WORDINGS: Final = 8
"""Each is a recall of its own."""
MAX_DEPTH: Final = 4


class Streams(msgspec.Struct, frozen=True, kw_only=True, metaclass=limits.TypedFields):
    """The streams that a recall runs beside the hits of its question.

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
    """Check the streams that a caller requests.

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
_VARIANTS: Final = {
    "scopes": "several scopes",
    "fields": "field weights",
    "streams": "streams",
    "type_weights": "type weights",
    "siblings": "siblings",
    "fuzzy": "corrected words",
}
"""What a recall may ask for besides, as a refusal calls it."""


def recall_in_variants(
    window: Window, request: Request, ask: Ask, asked: Mapping[str, Any], *, with_receipt: bool
) -> records.Recall:
    """The answer of the first of several scopes that suffices, by weights and words of other kinds, or in streams.

    ``asked`` has at least one of the arguments of :meth:`worlddb.View.recall` that are called as in ``_VARIANTS``.

    Raises:
        InputError: one of them is not what it should be, or a receipt is wanted too.
    """
    if with_receipt:
        several = next(_VARIANTS[name] for name in asked)
        raise errors.InputError(f"A receipt cannot cover {several}", "Leave one of the two out")
    weights: Any = {
        "fields": parse_weights(asked.get("fields")),
        "type_weights": parse_type_weights(asked.get("type_weights")),
    }
    request = request._replace(**weights)
    request = request._replace(siblings=least_likeness(asked.get("siblings"), request))
    if limits.checked_flag(asked.get("fuzzy", False), "fuzzy"):
        ask = partial(respell_unknown, window, ask)
    if "scopes" in asked:
        with window.snapshot() as snapshot:
            nodes = [named_node(snapshot, window.spec, each, unify=window.unify) for each in asked["scopes"]]
            scopes = [snapshot.ref(node) for node in nodes]
        ask = partial(widened, scopes=scopes, ask=ask)
    return ask(request) if "streams" not in asked else streamed(window, request, checked(asked["streams"]), ask)


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
        note = f"searched with {len(answers)} wordings; all their hits are ranked together"
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
            told = [{} if node is None else inferred_fields(snapshot, node) for node in nodes]
            hits = tuple(replace(hit, inferred=each) for hit, each in zip(found.hits, told, strict=True))
            found = replace(found, hits=hits)
    return replace(found, paths=paths)


def _wordings(given: Any, question: str) -> list[str]:
    """The other wordings from a caller's function, without duplicates.

    Raises:
        InputError: they are no list of texts, or too many.
    """
    listed = limits.checked_list(given, "what expand gave")
    if len(listed) > MAX_WORDINGS:
        raise errors.InputError(f"expand gave {len(listed)} wordings", f"Give {MAX_WORDINGS} at most")
    texts = [limits.checked_text(each, "a wording", limits.MAX_CONTENT_BYTES) for each in listed]
    return [each for each in dict.fromkeys(texts) if each != question and each.strip()]


MAX_TYPE_WEIGHT: Final = 10.0


def parse_type_weights(given: Any) -> Mapping[str, float] | None:
    """Check a caller's weights of hits by type.

    Raises:
        InputError: it is no mapping of types to numbers from 0 to 10.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise errors.InputError(f"type_weights is {type(given).__name__}", "Give a mapping of types to weights")
    for name, weight in given.items():
        limits.checked_text(name, "a type", limits.MAX_TYPE_BYTES)
        if type(weight) not in (int, float) or not 0 <= weight <= MAX_TYPE_WEIGHT:
            raise errors.InputError(
                f"The weight of {errors.shown(name)} is {errors.shown(weight)}", f"Give 0 to {MAX_TYPE_WEIGHT:g}"
            )
    return dict(given)


def least_likeness(given: Any, request: Request) -> float | None:
    """Check a caller's lowest cosine for siblings of hits.

    Raises:
        InputError: it is no number from 0 to 1, or nothing is compared by meaning whose cosines scores tell.
    """
    if given is None:
        return None
    if type(given) not in (int, float) or not 0 <= given <= 1:
        raise errors.InputError(f"siblings is {errors.shown(given)}, not a number from 0 to 1", "Give one, such as 0.3")
    if VECTOR not in request.lanes or request.fusion != CONVEX or request.fields is not None:
        raise errors.InputError(
            "siblings are compared by their meaning", "Use the lane vector, with fusion='convex' and without fields"
        )
    return float(given)


LEAST_LETTERS: Final = 5
"""Shorter words have too many neighbours."""
MAX_RESPELLED: Final = 8
"""So many words of a question are looked for in other spellings, the first ones that no text has."""
_WRITTEN: Final = re.compile(r"[\w\u0300-\u036f]+")
"""A word as it is written, with accents that are characters of their own."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def respell_unknown(window: Window, ask: Ask, request: Request) -> records.Recall:
    """Answer a question after replacing each long word that no text has with the commonest one a letter off.

    A letter is left out, put in, exchanged, or has changed places with the next (Levenshtein 1, as Kumiho's index has
    it, and Damerau's swap). What the words are is seen in the texts that the recall searches; a word that is there in
    another form, by its stem, stays as it is, and so does what only holds a question together.
    """
    request.check()
    text = request.question.text
    words = _long_words(text)
    read = _find_respellings(window, request, list(dict.fromkeys(words.values()))) if words else {}
    if not read:
        return ask(request)
    known = _WRITTEN.sub(lambda found: read.get(words.get(found[0], ""), found[0]), text)
    note = "; ".join(f'"{word}" is in no text and was read as "{other}"' for word, other in read.items())
    found = ask(request._replace(question=Question(known, request.question.asked)))
    return replace(found, note="; ".join(filter(None, (note, found.note))))


def _long_words(text: str) -> dict[str, str]:
    """The words of a question that may be respelled: as written, and as searched for."""
    text = text[: analysis.MAX_QUERY_CHARACTERS]
    holding = analysis.function_words(analysis.analyze(text).words, text)
    found: dict[str, str] = {}
    for written in dict.fromkeys(_WRITTEN.findall(text)):
        words = analysis.analyze(written).words
        if len(words) == 1 and len(words[0]) >= LEAST_LETTERS and words[0].isascii() and words[0].isalpha():
            found[written] = words[0]
            if len(found) == analysis.MAX_QUERY_WORDS:
                break
    return {written: word for written, word in found.items() if word not in holding}


def _find_respellings(window: Window, request: Request, words: Sequence[str]) -> dict[str, str]:
    """Map words that no text has to the commonest word one letter off, if there is one."""
    with window.snapshot() as snapshot:
        if request.exact or window.place.is_confined or snapshot.whole is None:
            return _spelled(window.exact_lane(snapshot, request.choice), words)
        head = snapshot.whole.log.head().seq
    with closing(window.present_lane(head)) as lane:
        # The index catches up here, which must not happen inside of a transaction.
        lane.prepare(through=window.place.moment.seq)
        return _spelled(lane, words)


def _spelled(lane: TextLane, words: Sequence[str]) -> dict[str, str]:
    forms = {word: analysis.query_terms(word) for word in words}
    known = lane.counts([term for terms in forms.values() for term in terms]).having
    unknown = [word for word, terms in forms.items() if not any(known[term] for term in terms)]
    read: dict[str, str] = {}
    for word in unknown[:MAX_RESPELLED]:
        near = lane.counts(
            [analysis.Term(analysis.PLAIN, each, 1.0) for each in sorted(_one_letter_variants(word))]
        ).having
        best = max(near, key=lambda term: (near[term], term.text))
        if near[best]:
            read[word] = best.text
    return read


def _one_letter_variants(word: str) -> set[str]:
    """The words at edit distance one from a word; a transposition counts as one edit."""
    parts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    shorter = {left + right[1:] for left, right in parts if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in parts if len(right) > 1}
    others = {left + letter + right[1:] for left, right in parts if right for letter in _LETTERS}
    longer = {left + letter + right for left, right in parts for letter in _LETTERS}
    return (shorter | swapped | others | longer) - {word}
