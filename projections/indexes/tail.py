"""What the log has beyond the index on disk, in memory: a few texts as they are, or more of them indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from worlddb.projections.indexes.few_texts import FewTexts, SeenTexts
from worlddb.projections.indexes.fields import Marker, TextDocument
from worlddb.projections.indexes.text import TextIndex
from worlddb.projections.indexes.view import TextView

LONG_TAIL_DOCUMENTS: Final = 512
LONG_TAIL_CHARACTERS: Final = 4_000_000
"""A tail of more documents or more text is moved to disk before it is searched."""

Feed = Callable[[int, int], Iterable[TextDocument]]
"""The documents of the commits in ``(from_seq, to_seq]``, in log order."""


class Tail:
    """The texts of the commits in ``(base, head]``; the head moves on with the log's."""

    def __init__(self, store_id: bytes, base: int) -> None:
        self.base = base
        self.head = base
        self._store_id = store_id
        self._documents = 0
        self._characters = 0
        self._few: FewTexts | None = FewTexts()
        self._texts = TextIndex.in_memory()

    @property
    def view(self) -> TextView | SeenTexts | None:
        """What can be searched: everything up to the head. Of which kind it is follows from what is in it alone."""
        if self._few is None:
            return self._texts.view
        return self._few.seen() if self._documents else None

    def extend(self, feed: Feed, head: int, *, bounded: bool) -> bool:
        """Take in the commits up to ``head``; False, and nothing is taken in, if that would make a long tail."""
        if head <= self.head:
            return True
        documents, characters = self._documents, self._characters
        fresh: list[TextDocument] = []
        for document in feed(self.head, head):
            fresh.append(document)
            documents += 1
            characters += len(document.name) + len(document.content)
            if bounded and (documents > LONG_TAIL_DOCUMENTS or characters > LONG_TAIL_CHARACTERS):
                return False
        if fresh:
            self._take_in(fresh, head)
        self.head, self._documents, self._characters = head, documents, characters
        return True

    def _take_in(self, fresh: list[TextDocument], head: int) -> None:
        if self._few is not None:
            if self._few.add(fresh):
                return
            fresh = [*self._few.documents, *fresh]
            self._few = None
        self._texts.apply(fresh, Marker(self._store_id, head, b""))
