"""What a caller says beside a command: reason, provenance, properties, aliases. Kept as one erasable blob."""

from __future__ import annotations

from worlddb.reconciler.commands import Command
from worlddb.reconciler.draft import Draft


def add_details(draft: Draft, command: Command) -> int:
    """Keep the command's reason, provenance, properties and aliases as a blob; its position, or ``NONE`` of nothing."""
    return draft.add_details(
        aliases=getattr(command, "aliases", ()),
        why=command.why,
        source=getattr(command, "source", None),
        properties=getattr(command, "properties", None),
    )
