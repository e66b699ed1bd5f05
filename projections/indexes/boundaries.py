"""Where the text index on disk may end: at boundaries that follow from the log alone.

Tantivy weighs a text by the average length of those that it has, so scores depend on which texts are indexed and which
are searched beside them. Were the index to end wherever somebody happened to catch up, a rebuild would change answers.
So the log is cut into stretches: a commit ends one when it brings the stretch to so many texts, characters or commits.
The index ends at the last boundary that there is, in every process and after every rebuild; the texts behind it are few
and are searched in memory.
"""

from copy import copy
from typing import Final, Self

from worlddb.projections.indexes.fields import TextDocument

STRETCH_DOCUMENTS: Final = 64
STRETCH_CHARACTERS: Final = 30_000
STRETCH_COMMITS: Final = 1_024
"""What ends a stretch: so many texts, so much text, or so many commits, which are read when a store is opened. Other
numbers divide the log elsewhere, so :data:`worlddb.projections.indexes.analysis.FORMAT` goes up with them."""


class Walk:
    """A walk through the texts of a log, from one boundary on, that tells where the next ones are.

    A text is held back until it is known to lie at or before a boundary. Before the first text of a log there is none.
    """

    def __init__(self, base: int) -> None:
        self.boundary = base
        """The last boundary that was found."""
        self.held: list[TextDocument] = []
        """The texts behind it, so far."""
        self._characters = 0

    def copy(self) -> Self:
        """A walk that goes on from here by itself."""
        made = copy(self)
        made.held = list(self.held)
        return made

    def add(self, document: TextDocument) -> list[TextDocument]:
        """Take the next text; returns those, in order, that lie at or before the last boundary by now."""
        if document.seq <= self.boundary:
            return [document]  # The rest of the commit that is the boundary.
        released = self.end(document.seq - 1)
        self.held.append(document)
        self._characters += len(document.name) + len(document.content)
        if (
            len(self.held) >= STRETCH_DOCUMENTS
            or self._characters >= STRETCH_CHARACTERS
            or document.seq - self.boundary >= STRETCH_COMMITS
        ):
            released += self._cut(document.seq)
        return released

    def end(self, head: int) -> list[TextDocument]:
        """Learn that no other text comes up to commit ``head``; returns what :meth:`add` does."""
        stretches = (head - self.boundary) // STRETCH_COMMITS
        if stretches < 1 or not (self.boundary or self.held):
            return []
        return self._cut(self.boundary + stretches * STRETCH_COMMITS)

    def _cut(self, boundary: int) -> list[TextDocument]:
        released, self.held = self.held, []
        self.boundary, self._characters = boundary, 0
        return released
