"""Forbidden texts, which may not be written again: stored as keyed hashes, and searched for in every command.

An erasure forbids a whole text, letter for letter. Every decided command is checked here, with everything that
handlers, extractors and bundles added, so a forbidden text is found wherever a caller puts it.
"""

from collections.abc import Iterator
from typing import Any, Final

from worlddb.log.model import blobs, hashing
from worlddb.log.model import events as ev
from worlddb.log.statements import terms
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.transaction import context, recorded_texts

_NAMES_A_TYPE: Final = (cmd.Register, cmd.Tune)
"""Commands whose ``type`` is in their event, and in no blob."""


def digest_of(secret: bytes, text: str) -> bytes:
    """The keyed hash under which a text is forbidden."""
    return hashing.keyed(secret, hashing.FORBIDDEN, text.encode())


def refuse_written(ctx: context.Context, command: cmd.Command) -> None:
    """Refuse a command that was just decided, if it has written a forbidden text.

    A command that came to nothing has written nothing. What it takes back stands here already, and what the resolver
    repeats of it too.
    """
    if not ctx.has_forbidden_texts():
        return
    draft, taken_back = ctx.draft, _removed_texts(command)
    blobs_before, fills_before, events_before = ctx.checked
    ctx.checked = len(draft.blobs.ids), len(draft.blobs.fills), len(draft.events)
    for blob in draft.blobs.said_since(blobs_before, fills_before):
        # One by one: together those of a bundle would take as much memory as it.
        if any(text not in taken_back and _is_forbidden(ctx, text) for text in _texts_in(blob)):
            _refuse(ctx)
    beside = _texts_outside_blobs(command) if len(draft.events) > events_before else ()
    if any(_is_forbidden(ctx, text) for text in (*beside, *_text_of_turn(ctx, command))):
        _refuse(ctx)


def _refuse(ctx: context.Context) -> None:
    ctx.refuse("forbidden_text", "This text was erased and may not be written again", "Leave it out")


def _is_forbidden(ctx: context.Context, text: str) -> bool:
    if not text:
        return False
    digest = digest_of(ctx.secret, text)
    if ctx.tables.forbidden.get(digest) is not None:
        return True
    # What lies beside the log explains nothing, but until an upgrade has looked at it, it may still refuse.
    return ctx.draft.log.has_untied() and ctx.draft.log.untied.forbids(digest)


def _removed_texts(command: cmd.Command) -> tuple[str, ...]:
    """The texts by which a command names what it removes."""
    if isinstance(command, cmd.Unalias):
        return command.aliases
    if isinstance(command, cmd.Unlabel | cmd.Untag):
        return command.labels
    if isinstance(command, cmd.Contract):
        return tuple(_texts_under(command.properties))
    return (command.type, command.name) if isinstance(command, cmd.Trust) and not command.level else ()


def _texts_outside_blobs(command: cmd.Command) -> Iterator[str]:
    """The texts of a command that are in no blob."""
    key = getattr(command, "key", None)
    if isinstance(key, str):
        yield key
    if isinstance(command, _NAMES_A_TYPE):
        yield command.type
    if isinstance(command, cmd.State):
        # A literal stands in the log in its canonical form, and is forbidden by what it says.
        yield from (text for term in command.aliases for text in terms.values_in(terms.term_of(term)))
    if isinstance(command, cmd.SetPlan):
        yield from (command.plan, *(command.features or ()))
    if isinstance(command, cmd.SetBeliefs):
        yield command.named
    if isinstance(command, cmd.SetProfile):
        yield from (command.profile, *command.node_types, *command.relations)
    if isinstance(command, cmd.Register) and command.digest_of == "laws":
        yield ev.Laws.unpacked(command.digest).inverse


def _text_of_turn(ctx: context.Context, command: cmd.Command) -> Iterator[str]:
    """The text of a turn that this commit wrote, without the speaker's name: other speakers may not write it either."""
    if isinstance(command, cmd.Link) and command.properties.get("role") == recorded_texts.SPEAKER:
        turn, speaker = context.node_ref(ctx, command.source_ref), context.node_ref(ctx, command.target_ref)
        said, who = ctx.body(turn), ctx.body(speaker)
        newest = ctx.tables.version(turn, ctx.tables.node(turn).versions)
        if newest.seq == ctx.draft.seq and said is not None and who is not None:
            yield recorded_texts.text_without_speaker(said.content, who.name)


def _texts_in(blob: blobs.Blob | None) -> Iterator[str]:
    """Every text in a blob, including field names."""
    if isinstance(blob, blobs.Body):
        yield from (blob.type, blob.name, blob.content)
    elif isinstance(blob, blobs.Details):
        yield from (*blob.aliases, blob.why)
        yield from _texts_under(blob.source)
        yield from _texts_under(blob.properties)
    elif isinstance(blob, blobs.Space):
        yield from (blob.name, blob.model)


def _texts_under(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _texts_under(name)
            yield from _texts_under(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts_under(each)
