"""What a caller says beside a command: reason, provenance, properties, aliases. Kept as one erasable blob."""

from __future__ import annotations

from worlddb.log.model.events import NONE
from worlddb.reconciler.commands import Command
from worlddb.reconciler.draft import Draft
from worlddb.reconciler.recording import DETAIL_FIELDS


def add_details(draft: Draft, command: Command, given: list[str]) -> int:
    """Keep the command's reason, provenance, properties and aliases as a blob; its position, or ``NONE`` of nothing.

    ``given`` are the names of the texts that the caller gave.
    """
    if DETAIL_FIELDS.isdisjoint(given):
        return NONE
    return draft.add_details(
        aliases=getattr(command, "aliases", ()),
        why=command.why,
        source=getattr(command, "source", None),
        properties=getattr(command, "properties", None),
    )
