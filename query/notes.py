"""What a reader of an answer should know about how it was made: as notes in words, and as fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from worlddb.query.dates import times
from worlddb.query.fusion import COMBMAX, RRF
from worlddb.query.period import Choice
from worlddb.query.ranking import TEXT, VECTOR
from worlddb.query.records import Recall, Valid
from worlddb.query.spec import Spec

_NOTHING: Final = "nothing was asked: there is no word in the question"
_WEAK: Final = (
    "perhaps nothing here is about that: these are the nearest, but hardly a word of the question occurs in them, and"
    " unrelated texts come as near in meaning"
)
_EARLIER: Final = "the question asks for change, so what was valid before is shown with what is valid now"
_THEN: Final = (
    "at the time that the question names something else held, whose place what is shown has taken: ask as of that time"
)
_STATISTICS: Final = (
    "term statistics are the present index's, not the view's; only an exact ranking is that of a replayed store"
)
_REWRITES: Final = (
    "the edge types {} change what is shown; their handlers are not here, and what was registered of them was followed"
)
_UNREAD: Final = "not understood as a time, and not counted: {}; name dates, or ask for a span"
_UNCOUNTED: Final = "the time that the question names was not counted, for {}; ask for a span"
_BY_LANE: Final[dict[tuple[str, ...], str]] = {
    (TEXT,): "only words were compared",
    (VECTOR,): "only meaning was compared",
}
_BY_FUSION: Final = {RRF: "only ranks were", COMBMAX: "only the greater of words and meaning was"}


def nothing_asked(seq: int) -> Recall:
    """The answer to a question without a word."""
    return Recall(
        hits=(), groups=(), exact=True, indexed=seq, lanes=(), note=_NOTHING, unavailable={}, pending=0, space=""
    )


def noted(spec: Spec, choice: Choice, *, then: bool, at_present: bool) -> str:
    """What is to be known of an answer: of what it is shown, what it leaves out that held ``then``, by which statistics
    it was ranked, and which rewrites are missing."""
    told = (
        _EARLIER if choice.earlier and not choice.include_superseded else "",
        _THEN if then else "",
        _STATISTICS if at_present else "",
        rewrites_unseen(spec),
    )
    return joined(told)


def joined(notes: Iterable[str]) -> str:
    """Several notes as one; empty ones leave nothing."""
    return "; ".join(note for note in notes if note)


def rewrites_unseen(spec: Spec) -> str:
    """In words which registered types change what is shown without their handlers being here; empty if none does."""
    unseen = [name for name in spec.missing_types if name in spec.rewriting_types]
    return _REWRITES.format(", ".join(unseen)) if unseen else ""


def with_times(answer: Recall, question: str, asked: int, fusion: str) -> Recall:
    """The answer with the times that the question names, those that counted, and the notes that hang on the question:
    of times that did not count, and that nothing seems to answer it."""
    named, unread = times(question, asked)
    without = _BY_LANE.get(answer.lanes) or _BY_FUSION.get(fusion)
    uncounted = _UNCOUNTED.format(without) if named and without else ""
    told = _UNREAD.format(", ".join(f'"{words}"' for words in unread)) if unread else ""
    return msgspec.structs.replace(
        answer,
        times=() if uncounted else tuple(Valid(*span) for span in named),
        unread=unread,
        note=joined((_WEAK if answer.weak else "", answer.note, uncounted, told)),
    )
