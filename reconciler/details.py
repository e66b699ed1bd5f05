"""What a caller says beside a command: reason, provenance, properties, aliases. Kept as one erasable blob."""

from __future__ import annotations

from worlddb.log.model import codec
from worlddb.log.model.errors import InputError, LimitExceeded
from worlddb.log.model.events import NONE
from worlddb.log.model.limits import (
    MAX_ALIASES,
    MAX_NAME_BYTES,
    MAX_REASON_BYTES,
    MAX_RECORD_BYTES,
    checked_text,
)
from worlddb.reconciler.commands import Command
from worlddb.reconciler.draft import Draft


def add_details(draft: Draft, command: Command) -> int:
    """Keep the command's reason, provenance, properties and aliases as a blob."""
    why = checked_text(command.why, "why", MAX_REASON_BYTES)
    source = getattr(command, "source", {})
    properties = getattr(command, "properties", {})
    aliases = getattr(command, "aliases", ())
    if not (why or source or properties or aliases):
        return NONE
    for what, value in (("source", source), ("properties", properties)):
        _check_record(what, value)
    if len(aliases) > MAX_ALIASES:
        raise LimitExceeded(f"{len(aliases)} aliases, above the limit of {MAX_ALIASES}", "Give fewer")
    checked = tuple(checked_text(alias, "alias", MAX_NAME_BYTES, empty=False) for alias in aliases)
    return draft.add_details(aliases=checked, why=why, source=source, properties=properties)


def _check_record(what: str, value: object) -> None:
    if not value:
        return
    try:
        size = len(codec.encode(value))
    except (TypeError, ValueError, UnicodeEncodeError, OverflowError, RecursionError) as error:
        raise InputError(f"{what} cannot be stored: {error}", "Use text, numbers, lists and dictionaries") from None
    if size > MAX_RECORD_BYTES:
        raise LimitExceeded(
            f"{what} has {size:,} bytes, above the limit of {MAX_RECORD_BYTES:,}", "Put long text into content"
        )
