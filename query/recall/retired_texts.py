"""What was said before and retired, so that whoever says it again word for word is told."""

from collections.abc import Iterable
from itertools import islice
from threading import Lock
from typing import Final

from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.names.blocks import TURN
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage.schema import CUT
from worlddb.query.claims import wording
from worlddb.query.reads.window import Window
from worlddb.query.snapshot import visible
from worlddb.query.snapshot.snapshot import Snapshot

MAX_RETIRED: Final = 20_000
"""Of so many of the last worlds that were retired it is known what they said."""
_MAX_COMMITS: Final = 20_000
"""In so many of the last commits they are looked for, ..."""
_MAX_EVENTS: Final = 200_000
"""... and among so many events."""
_TELLING_WORDS: Final = 3
"""A text with fewer words, and without a digit, is said again and again, as "yes, please"."""


class RetiredTexts:
    """What the last worlds that were retired said, as hashes of this process; it follows the log. Thread-safe.

    It begins anew after an erasure, so that it has no hash of an erased text.
    """

    holds_texts: Final = True

    def __init__(self, _place: object) -> None:
        self._guard = Lock()
        self._erasures: object = None
        self._through = 0
        self._hashes: dict[int, int] = {}
        """By world the hash of its text, in the order in which they ended."""
        self._nodes: dict[int, dict[int, int]] = {}
        """By hash the worlds, each with the commit that ended it."""

    def write(self) -> None:
        """Write nothing to the disk."""

    def nodes(self, snapshot: Snapshot, asked: Iterable[int], erasures: object) -> list[int]:
        """The worlds that may have said texts with some hashes; ``erasures`` tells those of the store apart."""
        with self._guard:
            if erasures != self._erasures:
                self._hashes.clear()
                self._nodes.clear()
                self._erasures, self._through = erasures, 0
            head = snapshot.log.head().seq
            if head > self._through:
                self._follow(snapshot, head)
            return [node for each in asked for node, seq in self._nodes.get(each, {}).items() if seq <= head]

    def _follow(self, snapshot: Snapshot, head: int) -> None:
        ended, left = dict[int, int](), _MAX_EVENTS
        for seq in range(head, max(self._through, head - _MAX_COMMITS), -1):
            left -= snapshot.log.header(seq).event_count
            if left < 0 or len(ended) >= MAX_RETIRED:
                break
            for event in reversed(snapshot.log.some_events(seq, _ENDS)):
                node = snapshot.tables.node_of(event.lineage) if isinstance(event, ev.Ended) and not event.by else None
                if node is not None:
                    ended.setdefault(node, seq)
        self._through = head
        for node, seq in reversed([*islice(ended.items(), MAX_RETIRED)]):
            self._add(snapshot, node, seq)

    def _add(self, snapshot: Snapshot, node: int, seq: int) -> None:
        row = snapshot.tables.node(node)
        body = snapshot.body(snapshot.tables.version(node, row.versions)) if row.ended and row.versions else None
        if body is None or not _is_telling(said := _statement_of(body)):
            return
        self._drop(node)
        self._hashes[node] = told = _text_hash(said)
        self._nodes.setdefault(told, {})[node] = seq
        if len(self._hashes) > MAX_RETIRED:
            self._drop(next(iter(self._hashes)))

    def _drop(self, node: int) -> None:
        told = self._hashes.pop(node, None)
        if told is not None:
            del self._nodes[told][node]
            if not self._nodes[told]:
                del self._nodes[told]


_ENDS: Final[frozenset[type[ev.Event]]] = frozenset({ev.Ended})


def retired_saying(window: Window, texts: Iterable[str]) -> dict[str, list[str]]:
    """By each of some texts the worlds that said so word for word, blanks aside, and that were retired.

    What something else superseded is not among them, nor what holds again. Short texts are left out, such as answers.
    """
    asked = {_text_hash(text): text for text in texts if _is_telling(text)}
    found: dict[str, list[str]] = {}
    with window.snapshot() as snapshot:
        kept = snapshot.shared_cache(RetiredTexts) if asked else None
        erasures = window.reader.generation, snapshot.erasure_due()
        for node in () if kept is None else kept.nodes(snapshot.stored, asked, erasures):
            row = snapshot.store_tables.node(node)
            body = snapshot.stored.body(snapshot.store_tables.version(node, row.versions))
            text = "" if body is None else asked.get(_text_hash(_statement_of(body)), "")
            if body is not None and wording.says_again(text, _statement_of(body)) and _is_retired(snapshot, node):
                found.setdefault(text, []).append(row.lineage.hex())
    return found


def _is_retired(snapshot: visible.VisibleSnapshot, node: int) -> bool:
    row = snapshot.store_tables.node(node)
    if row.ended in (0, CUT) or row.ended > snapshot.place.moment.seq:
        return False
    events = snapshot.stored.log.some_events(row.ended, _ENDS)
    return any(isinstance(event, ev.Ended) and event.lineage == row.lineage and not event.by for event in events)


def _statement_of(body: Body) -> str:
    return analysis.without_speaker(body.content) if body.type == TURN else body.content


def _is_telling(text: str) -> bool:
    return len(text.split(maxsplit=_TELLING_WORDS)) >= _TELLING_WORDS or any(map(str.isdigit, text))


def _text_hash(text: str) -> int:
    return hash(wording.fold_blanks(text))


def has_replaced(snapshot: visible.VisibleSnapshot, node: int, seen: asof.SeenVersion, text: str) -> bool:
    """True if a statement was made of one in the words of a text, as a correction does: who says it again goes back."""
    known = asof.versions_as_of(snapshot.tables, node, snapshot.place.moment.seq)
    before = (snapshot.body(each.row) for each in known if each.number < seen.number)
    return any(body is not None and wording.says_again(body.content, text) for body in before)
