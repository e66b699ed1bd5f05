"""Turns of a conversation: what ``ingest`` takes when the caller has text and no extraction."""

from __future__ import annotations

from typing import Any

import msgspec

from worlddb.log.model.times import TimeLike


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One utterance.

    ``at`` is valid time (when it was said); without it, the time given to ``ingest``, else commit time.
    ``session`` groups turns into one world each. ``source`` says where the text came from (file, position, the
    original's own id), and stays attached as provenance.
    """

    text: str
    speaker: str = ""
    at: TimeLike | None = None
    session: str = ""
    name: str = ""
    source: dict[str, Any] = {}
