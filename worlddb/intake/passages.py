"""Extraction from documents: paragraphs are read like turns, and the results have keys.

A passage is a paragraph of what a world inside the document says, or of what the document itself says. The same
document read again writes nothing; a paragraph that was changed gives what is new, and keeps what it gave before.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model import errors, limits, times
from worlddb.query.records import records
from worlddb.query.view.view import View
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.ingest.extraction import Extraction, Turn, checked_extraction

READ: Final = frozenset(("Document", "Section", "Paragraph"))
"""Types of worlds inside a document whose texts are passages; the document itself may be of any type."""
MAX_PASSAGES: Final = 20_000
_GAP: Final = re.compile(r"\n\s*\n")


class Passage(NamedTuple):
    """A paragraph, and its world."""

    ref: str
    turn: Turn


def passages_of(view: View, document: str) -> list[Passage]:
    """The passages of a document, in the order of writing.

    Raises:
        LimitExceeded: there are more than ``MAX_PASSAGES``.
    """
    found: list[Passage] = []
    for world in _texts(view, document):
        for piece in _GAP.split(world.content):
            if piece.strip():
                at = None if world.valid.start == times.ALWAYS else world.valid.start
                found.append(Passage(world.ref, Turn(text=piece.strip(), at=at, name=world.name)))
        if len(found) > MAX_PASSAGES:
            raise errors.LimitExceeded(
                f"{document[:12]} has more than {MAX_PASSAGES:,} paragraphs", "Extract from its sections, one by one"
            )
    return found


def _texts(view: View, document: str) -> Iterator[records.World]:
    itself = view.get(document)
    if itself is not None and itself.content:
        yield itself
    for world in view.find(world=document):
        if world.type in READ and world.content and world.ref != document:
            yield world


def candidate_key(document: str, kind: str, *parts: object) -> str:
    """The key of something found in a document; its length does not depend on the parts."""
    digest = sha256(msgspec.json.encode((document, kind, *parts))).hexdigest()
    return f"extracted/{kind}/{digest}"


def commands_of(document: str, passages: list[Passage], found: object, why: str) -> list[cmd.Command]:
    """The commands for the worlds and edges of an extraction, each keyed, so that it is written once.

    Raises:
        InputError: the extractor gave something else than an extraction.
    """
    given: Extraction = checked_extraction(found, len(passages))
    home = bytes.fromhex(document)
    places = {node.label: at for at, node in enumerate(given.nodes)}
    named = {node.label: node.key or node.label for node in given.nodes}
    commands: list[cmd.Command] = [
        cmd.Create(
            type=node.type,
            name=node.name,
            content=node.content,
            aliases=node.aliases,
            source=node.source,
            world=home,
            key=candidate_key(document, "world", node.key or node.label),
            valid_from=None if node.at is None else times.parse_time(node.at, "at"),
            resolve="all" if node.resolve is None else node.resolve,
            why=why,
        )
        for node in given.nodes
    ]
    for edge in given.edges:
        ends: list[Any] = []
        keyed: list[object] = []
        for end in (edge.source, edge.target):
            ref = passages[end].ref if isinstance(end, int) else end
            ends.append(places[ref] if ref in places else bytes.fromhex(ref) if len(ref) == 32 else ref)
            keyed.append(named.get(ref, ref))
        commands.append(
            cmd.Link(
                source_ref=ends[0],
                type=edge.type,
                target_ref=ends[1],
                key=candidate_key(document, "edge", edge.type, edge.key, *keyed),
                properties=edge.properties,
                valid_from=None if edge.at is None else times.parse_time(edge.at, "at"),
                why=why,
            )
        )
    return _without_repeats(commands)


def _without_repeats(commands: list[cmd.Command]) -> list[cmd.Command]:
    """Drop repeated edges, which two paragraphs of one world may give; positions of worlds stay."""
    seen: set[object] = set()
    kept = []
    for command in commands:
        if isinstance(command, cmd.Link):
            if command.key in seen:
                continue
            seen.add(command.key)
        kept.append(command)
    return kept


class PassageReader:
    """What an extractor finds in a document, as commands; texts that were read before are not read again.

    Raises:
        InputError: the extractor cannot be called.
    """

    def __init__(self, extractor: Any, document: Any, why: str) -> None:
        limits.checked_callable(extractor, "extractor")
        self._asked = getattr(extractor, "of_documents", extractor)
        self._asks_a_model = getattr(extractor, "asks_a_model", False)
        self._document, self._why = document, why
        self._known: dict[tuple[Any, ...], Any] = {}

    def __call__(self, view: View) -> tuple[list[cmd.Command], list[str]]:
        """The commands, and the worlds that they rest on."""
        ref = view._reference_to_write(self._document)
        said = passages_of(view, ref)

        def recorded(key: str) -> Any:
            return recorded_answer(view, candidate_key(ref, "world", key))

        texts = (ref, *((each.ref, each.turn.text) for each in said))
        if texts not in self._known:
            more = {"recorded": recorded} if self._asks_a_model else {}
            self._known[texts] = self._asked([each.turn for each in said], **more)
        return commands_of(ref, said, self._known[texts], self._why), sorted({ref, *(each.ref for each in said)})


def recorded_answer(view: View, key: str) -> Any:
    """What a model said when the world of a key was written."""
    found = view.keyed(key)
    return None if found is None or found.erased else found.source.get("answer")
