"""Decide changes of belief: believe, contract, roll back, and take a commit back.

They emit the same events as revisions, retirements, tags and deprecations, so every read, export and replay understands
them. Beliefs and their entrenchment are read from :mod:`worlddb.projections.tables.beliefs.belief_rows`, by plans as
well as here.
"""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any, Final, NoReturn

from worlddb.log.beliefs import atoms
from worlddb.log.model import blobs, errors, ids, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.beliefs import belief_rows
from worlddb.projections.tables.consolidation.interior_witness import DREAM_AUTHOR, DREAM_REPORT
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema, timeline_rows
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.decisions import worlds
from worlddb.reconciler.edge_types.handler import WorldText
from worlddb.reconciler.transaction import context, draft, recorded_texts, windows


class _BeliefReader:
    """Reads beliefs inside a transaction, including what it has decided so far."""

    def __init__(self, ctx: context.Context) -> None:
        self._ctx = ctx
        self.tables = ctx.tables

    def content(self, node: int, number: int) -> atoms.VersionContent | None:
        body = self._ctx.body(node, number)
        if body is None:
            return None
        return atoms.VersionContent(body.type, body.name, body.content, self._ctx.properties_of(node, number))

    def tag_rows(self, node: int) -> Iterator[tuple[int, schema.AliasRow]]:
        return mark_rows.names_of(self._ctx.tables, mark_rows.TAGS, node)

    def assigned(self, node: int, tag: int) -> int:
        return mark_rows.assigned(self._ctx.tables, node, tag, self._ctx.draft.seq)


def beliefs_at(ctx: context.Context, valid: int) -> belief_rows.Beliefs:
    """The beliefs at a valid time, including what was decided so far."""
    settings = belief_rows.settings_at(ctx.tables, ctx.draft.seq)
    return belief_rows.Beliefs(_BeliefReader(ctx), asof.Moment(ctx.draft.seq, valid), settings)


# -- believe


def believe(ctx: context.Context, command: cmd.Believe, details: int) -> draft.Decision:
    """Make a world state claims, and give up the beliefs that conflict with them."""
    node, lineage = _node(ctx, command.ref)
    begins = ctx.now if command.valid_from is None else command.valid_from
    beliefs = beliefs_at(ctx, begins)
    single, given = beliefs.settings.single, command.properties
    _refuse_inconsistent(ctx, given, single)
    known, claims = _BeliefReader(ctx), [claim for claim, _ in atoms.parse_claims(given, single)]
    bearing = beliefs.bearing_versions(node)
    number = bearing.pop(belief_rows.CURRENT, 0)
    before = known.content(node, number) if number else None
    window = _window(ctx, command, node, begins)
    said = _preceding_content(ctx, node, window) if before is None else before
    others = {tag: content for tag, at in bearing.items() if (content := known.content(node, at)) is not None}
    bases = (said, *others.values())
    if command.how == "expand" and any(atoms.find_conflicts(each, claims, single) for each in bases):
        disputed = {claim[0] for claim in claims if any(atoms.find_conflicts(each, [claim], single) for each in bases)}
        ctx.refuse(
            "conflicts",
            f"{ids.short(lineage)} has other beliefs under predicates that take one value: "
            f"{', '.join(map(errors.shown, sorted(disputed)))}",
            "Revise it: believe(item, A) replaces what conflicts",
        )
    change = atoms.replace_claims if command.how == "replace" else atoms.apply_claims
    new = change(said, given, single)
    position = ev.NONE
    if before is None or _claims_in(new, single) != _claims_in(before, single):
        of_version = _details(ctx, command, new, command.source)
        if said == atoms.NOTHING and not {atoms.TYPE, atoms.TITLE} <= given.keys():
            ctx.note("said_alone", lineage)
        position = _write_version(
            ctx, node, of_version, window, new, draft.stated_ends(command.valid_from, command.valid_to)
        )
        number = ctx.tables.node(node).versions
    for tag, content in others.items():
        if atoms.find_conflicts(content, claims, single):
            left = atoms.apply_claims(content, given, single)
            is_same = _claims_in(left, single) == _claims_in(new, single)
            _set_tag(
                ctx, node, tag, number if is_same else _write_tagged_version(ctx, node, command, left, {}), command.why
            )
    return draft.Decision(lineage, position)


def _preceding_content(ctx: context.Context, node: int, window: times.Interval) -> atoms.VersionContent:
    """The content that a statement builds on if its world holds nothing where it begins.

    A start that was only defaulted yields to a stated one, so what began so and is taken begins earlier from then on.
    Else nothing is believed there, and nothing stays.
    """
    taken = windows.pieces_in(ctx.draft, node, window)
    if taken and not windows.is_start_stated(ctx.draft, ctx.tables.version(node, taken[-1].number)):
        return _BeliefReader(ctx).content(node, taken[-1].number) or atoms.NOTHING
    return atoms.NOTHING


def _claims_in(content: atoms.VersionContent, single: Collection[str]) -> set[atoms.Claim]:
    return atoms.claims_of(content, single)


def _refuse_inconsistent(ctx: context.Context, given: dict[str, Any], single: Collection[str]) -> None:
    for predicate, value in given.items():
        forms = {atoms.comparable_form(each) for each in value} if isinstance(value, list | tuple) else set()
        if predicate in single and len(forms) > 1:
            ctx.refuse("inconsistent", f"{predicate[:80]!r} takes one value, and {len(forms)} were given", "Give one")


def _node(ctx: context.Context, ref: cmd.Ref) -> tuple[int, bytes]:
    """The world that a command is about.

    Raises as a refusal: it is the root, or its text was erased.
    """
    node = context.node_ref(ctx, ref)
    lineage = ctx.tables.node(node).lineage
    if node == schema.ROOT_NODE:
        ctx.refuse(
            "root_is_permanent",
            "The root world bears no beliefs",
            "Name a world inside it",
        )
    if ctx.body(node) is None:
        ctx.refuse("erased", f"The text of {ids.short(lineage)} was erased", "Create another")
    return node, lineage


def _window(ctx: context.Context, command: cmd.Believe | cmd.Rollback, node: int, begins: int) -> times.Interval:
    until = getattr(command, "valid_to", None)
    if until is not None:
        return times.checked_interval(begins, until, given=getattr(command, "valid_from", None) is not None)
    return windows.window_of(ctx.draft, node, begins)


def _details(ctx: context.Context, command: cmd.Command, said: atoms.VersionContent, source: dict[str, Any]) -> int:
    """The details of a new version's event; the command's own details hold the request."""
    return ctx.draft.add_details(why=command.why, source=source, properties=dict(said.properties))


def _source_of_repeat(ctx: context.Context, node: int, number: int, how: str) -> dict[str, Any]:
    """The source of a version that repeats another one, or a part of it: that version's source and its number.

    Who said it and where stays known by it, and how far that is trusted.
    """
    source = _source(ctx, node, number)
    return {name: value for name, value in source.items() if name not in blobs.REPEATS} | {how: number}


def _source(ctx: context.Context, node: int, number: int) -> dict[str, Any]:
    """The source of a version; empty if it was erased."""
    row = ctx.tables.version(node, number)
    given = ctx.draft.blobs.details(row.details) if row.seq == ctx.draft.seq else None
    given = given or recorded_texts.details_at(ctx.draft.log, row.seq, row.details)
    return {} if given is None else given.source


def _write_version(
    ctx: context.Context, node: int, details: int, window: times.Interval, said: atoms.VersionContent, stated: int
) -> int:
    """Write a version in a window; returns the position of its body."""
    holding = windows.pieces_in(ctx.draft, node, window)
    text = WorldText(said.type, said.name, said.content)
    return worlds.write_version(ctx, node, details, window, holding, text, stated).body


def _stated_ends(ctx: context.Context, node: int, number: int) -> int:
    """Which ends of a version's window were stated; a stated start counts for later statements."""
    row = ctx.tables.version(node, number)
    return row.stated or (ev.START_STATED if windows.is_start_stated(ctx.draft, row) else ev.DEFAULTED)


def _write_tagged_version(
    ctx: context.Context, node: int, command: cmd.Command, said: atoms.VersionContent, source: dict[str, Any]
) -> int:
    """Write a version that holds at no time, for a tag to point to; returns its number."""
    draft_, lineage = ctx.draft, ctx.tables.node(node).lineage
    position = draft_.add_body(said.type, said.name, said.content)
    details = _details(ctx, command, said, source)
    draft_.emit(ev.Revised(lineage, position, details, ctx.now, ctx.now, ev.DEFAULTED))
    return ctx.tables.node(node).versions


def _set_tag(ctx: context.Context, node: int, tag: int, version: int, why: str) -> None:
    """Point a tag of a world to another version; 0 removes it."""
    row = dict(mark_rows.names_of(ctx.tables, mark_rows.TAGS, node))[tag]
    is_own = row.seq == ctx.draft.seq
    log, own = ctx.draft.log, ctx.draft.blobs
    given = own.details(row.details) if is_own else recorded_texts.details_at(log, row.seq, row.details)
    if given is None or row.position >= len(given.aliases):
        ctx.refuse(
            "erased",
            f"The tags of {ids.short(ctx.tables.node(node).lineage)} were erased",
            "Undo the changes of other worlds one by one",
        )
    details = ctx.draft.add_details(aliases=(given.aliases[row.position],), why=why)
    ctx.draft.emit(ev.Tagged(ctx.tables.node(node).lineage, tag, version, details))


# -- contract


def contract(ctx: context.Context, command: cmd.Contract, details: int) -> draft.Decision:
    """Remove claims from every version of a world that bears beliefs, wherever it holds."""
    node, lineage = _node(ctx, command.ref)
    beliefs = beliefs_at(ctx, ctx.now if command.at is None else command.at)
    claims = _claims_to_contract(command, beliefs)
    if command.among:
        given_up = _contraction_plan(ctx, command, beliefs)
        claims = {claim for claim in claims if (node, claim) in given_up}
    changes = list(beliefs.contraction(node, claims))
    if command.expects is not None and belief_rows.outlook(changes) != command.expects:
        ctx.refuse(
            "changed_meanwhile",
            f"The beliefs of {ids.short(lineage)}, or where they hold, changed after the contraction was planned",
            "Make a new plan",
        )
    for change in changes:
        if command.whole:
            _remove_version(ctx, node, change, command, details)
        else:
            _remove_statements(ctx, node, change, command)
    return draft.Decision(lineage)


def _claims_to_contract(command: cmd.Contract, beliefs: belief_rows.Beliefs) -> set[atoms.Claim]:
    return {claim for claim, _ in atoms.parse_claims(command.properties, beliefs.settings.single)}


def _contraction_plan(
    ctx: context.Context, command: cmd.Contract, beliefs: belief_rows.Beliefs
) -> Collection[tuple[int, atoms.Claim]]:
    """The changes that contract a compound, decided with the first of its commands."""
    found = ctx.compounds.get(command.among)
    if found is None:
        parts = [each for each in ctx.request if isinstance(each, cmd.Contract) and each.among == command.among]
        compound = [
            (context.node_ref(ctx, each.ref), claim) for each in parts for claim in _claims_to_contract(each, beliefs)
        ]
        found = ctx.compounds[command.among] = beliefs.claims_to_give_up(compound)
    assert isinstance(found, set)
    return found


def _remove_statements(ctx: context.Context, node: int, change: belief_rows.Change, command: cmd.Contract) -> None:
    """Replace a version by one without the contracted claims, in every span in which it holds."""
    source = _source_of_repeat(ctx, node, change.version, blobs.LEAVES)
    if not change.spans:
        number = _write_tagged_version(ctx, node, command, change.left, source)
    else:
        stated = _stated_ends(ctx, node, change.version)
        number = 0
        for span in change.spans:
            _write_version(ctx, node, _details(ctx, command, change.left, source), span, change.left, stated)
            number = number or ctx.tables.node(node).versions
    for tag in change.tags:
        if tag != belief_rows.CURRENT:
            _set_tag(ctx, node, tag, number, command.why)


def _remove_version(
    ctx: context.Context, node: int, change: belief_rows.Change, command: cmd.Contract, details: int
) -> None:
    """Make a version bear no beliefs: remove its tags, and make a hole wherever it holds."""
    for tag in change.tags:
        if tag != belief_rows.CURRENT:
            _set_tag(ctx, node, tag, 0, command.why)
        else:
            for span in change.spans:
                worlds.end_or_void(ctx, node, span, details)


# -- back


def rollback(ctx: context.Context, command: cmd.Rollback, details: int) -> draft.Decision:
    """Make a world say again, from now on, what an earlier version says; the new version names that one."""
    node, lineage = _node(ctx, command.ref)
    if command.version > ctx.tables.node(node).versions:
        raise errors.UnknownReference(
            f"{ids.short(lineage)} has no version {command.version}", "Look at its versions with history"
        )
    said = _BeliefReader(ctx).content(node, command.version)
    if said is None:
        ctx.refuse("erased", f"The text of version {command.version} was erased", "Choose another version")
    begins = ctx.now if command.valid_from is None else command.valid_from
    held = asof.version_at(ctx.tables, node, asof.Moment(ctx.draft.seq, begins))
    if held is not None and (
        held.number == command.version or _is_rollback_of(ctx, node, held.number, command.version)
    ):
        return draft.Decision(lineage)
    source = _source_of_repeat(ctx, node, command.version, blobs.RESTORES)
    of_version = _details(ctx, command, said, source)
    window = _window(ctx, command, node, begins)
    position = _write_version(ctx, node, of_version, window, said, draft.stated_ends(command.valid_from, None))
    return draft.Decision(lineage, position)


def _is_rollback_of(ctx: context.Context, node: int, number: int, version: int) -> bool:
    """True if a version is a rollback to another one and says all of it."""
    known = _BeliefReader(ctx)
    is_again = _source(ctx, node, number).get(blobs.RESTORES) == version
    return is_again and known.content(node, number) == known.content(node, version)


_OF_TIME: Final = (ev.Revised, ev.Closed, ev.Lost, ev.Voided, ev.Ended)
_OF_MARKS: Final = (ev.Tagged, ev.Deprecated, ev.Pinned)
_REVERSIBLE: Final = (*_OF_TIME, *_OF_MARKS, ev.Embedded, ev.EmbeddedThrough)
"""Events that a commit may have which is taken back; vectors go with what they are of."""


def take_back(ctx: context.Context, command: cmd.TakeBack, details: int) -> draft.Decision:
    """Restore what a commit changed: beliefs, tags, pins and deprecations.

    Validity never opens again, so the versions from before come back as new ones, each naming the one that it repeats.
    """
    seq, head = command.commit, ctx.draft.head.seq
    if seq > head:
        raise errors.InputError(f"There is no commit {seq}", f"The store has commits 1 to {head}")
    events = ctx.draft.log.events(seq).events
    for event in events:
        if not isinstance(event, _REVERSIBLE) or (isinstance(event, ev.Closed | ev.Lost | ev.Ended) and event.by):
            kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(event).__name__).lower()
            ctx.refuse(
                "not_taken_back",
                f"Commit {seq} changed more than beliefs and marks: {kind}",
                "Undo its changes one by one: unlink, retire, undo a proposal",
            )
    _refuse_report(ctx, seq, events)
    named = dict.fromkeys(event.lineage for event in events if isinstance(event, _OF_TIME + _OF_MARKS))
    if not named:
        ctx.refuse("not_taken_back", f"Commit {seq} changed neither beliefs nor marks", "Name another commit")
    for lineage in dict.fromkeys(event.lineage for event in events if isinstance(event, _OF_TIME)):
        _restore(ctx, seq, lineage, command)
    for event in events:
        if isinstance(event, ev.Tagged):
            node = _lineage_node(ctx, event.lineage)
            before = mark_rows.assigned(ctx.tables, node, event.tag, seq - 1)
            if mark_rows.assigned(ctx.tables, node, event.tag, ctx.draft.seq) != event.version:
                _refuse_changed(ctx, seq, event.lineage)
            _set_tag(ctx, node, event.tag, before, command.why)
        elif isinstance(event, ev.Deprecated):
            _undo_mark(ctx, seq, event, mark_rows.is_deprecated, event.is_deprecated, command.why)
        elif isinstance(event, ev.Pinned):
            _undo_mark(ctx, seq, event, mark_rows.is_pinned, event.is_pinned, command.why)
    return draft.Decision(next(iter(named)))


def _refuse_report(ctx: context.Context, seq: int, events: Collection[ev.AnyEvent]) -> None:
    """Refuse to take back the commit that ends a dream: it holds only the report, so that would undo nothing."""
    log = ctx.draft.log
    if log.header(seq).author != DREAM_AUTHOR:
        return
    for event in events:
        node = _lineage_node(ctx, event.lineage) if isinstance(event, ev.Revised) else None
        body = None if node is None else ctx.body(node)
        if node is None or body is None or body.type != DREAM_REPORT:
            continue
        made = range(ctx.tables.node(node).created + 1, seq)
        done = [at for at in made if log.header(at).author == DREAM_AUTHOR and _is_revertible_deprecation(ctx, at)]
        several = ", ".join(f"`worlddb undo --commit {at}`" for at in done)
        ctx.refuse(
            "not_taken_back",
            f"Commit {seq} is the report of a dream: undoing it empties the report and leaves everything else as it is",
            f"Undo the commits that deprecated memories: {several}"
            if done
            else "Restore memories one by one: `worlddb deprecate REF --remove`; the report lists them",
        )


def _is_revertible_deprecation(ctx: context.Context, seq: int) -> bool:
    """True if a commit deprecated something and can be taken back."""
    events = ctx.draft.log.events(seq).events
    return any(isinstance(event, ev.Deprecated) for event in events) and all(
        isinstance(event, _REVERSIBLE) for event in events
    )


def _lineage_node(ctx: context.Context, lineage: bytes) -> int:
    node = ctx.tables.node_of(ids.Lineage(lineage))
    assert node is not None, "events name worlds that are there"
    return node


def _undo_mark(
    ctx: context.Context, seq: int, event: ev.Deprecated | ev.Pinned, stands: Any, is_set: bool, why: str
) -> None:
    node = _lineage_node(ctx, event.lineage)
    if stands(ctx.tables, node, ctx.draft.seq) != is_set:
        _refuse_changed(ctx, seq, event.lineage)
    ctx.draft.emit(type(event)(event.lineage, not is_set, ctx.draft.add_details(why=why)))


def _refuse_changed(ctx: context.Context, seq: int, lineage: bytes) -> NoReturn:
    ctx.refuse(
        "changed_since",
        f"{ids.short(lineage)} was changed since commit {seq}, and undoing that commit would undo the later change too",
        "State what holds now: believe, rollback, tag",
    )


def _restore(ctx: context.Context, seq: int, lineage: bytes, command: cmd.TakeBack) -> None:
    """Restore what a world held before a commit, in the spans that the commit changed."""
    node, known = _lineage_node(ctx, lineage), _BeliefReader(ctx)
    before, after, now = (_timeline_as_of(ctx, node, at) for at in (seq - 1, seq, ctx.draft.head.seq))
    for span, number in _changed_spans(before, after):
        if _clip_to_window(now, span) != _clip_to_window(after, span):
            _refuse_changed(ctx, seq, lineage)
        if number in timeline_rows.NO_VERSION:
            worlds.end_or_void(ctx, node, span, ctx.draft.add_details(why=command.why))
            continue
        said = known.content(node, number)
        if said is None:
            ctx.refuse("erased", f"The text of version {number} of {ids.short(lineage)} was erased", "State it again")
        details = _details(ctx, command, said, _source_of_repeat(ctx, node, number, blobs.RESTORES))
        _write_version(ctx, node, details, span, said, _stated_ends(ctx, node, number))


def _timeline_as_of(ctx: context.Context, node: int, seq: int) -> list[timeline_rows.Piece]:
    """The timeline of a world as of a commit, in the order of time, without spans without statements."""
    pieces = [
        timeline_rows.Piece(span, seen.number)
        for seen in asof.versions_as_of(ctx.tables, node, seq)
        for span in seen.validity.pieces
    ]
    return sorted(pieces)


def _clip_to_window(line: list[timeline_rows.Piece], window: times.Interval) -> list[timeline_rows.Piece]:
    return [timeline_rows.Piece(span.intersect(window), number) for span, number in line if span.overlaps(window)]


def _changed_spans(before: list[timeline_rows.Piece], after: list[timeline_rows.Piece]) -> list[timeline_rows.Piece]:
    """The spans that changed, with what held there before; :data:`timeline_rows.HOLE` for nothing."""
    bounds = sorted({bound for span, _ in (*before, *after) for bound in span})
    found: list[timeline_rows.Piece] = []
    for start, end in pairwise(bounds):
        was, became = (_version_at(line, start) for line in (before, after))
        if was != became:
            if found and found[-1].number == was and found[-1].span.end == start:
                start = found.pop().span.start
            found.append(timeline_rows.Piece(times.Interval(start, end), was))
    return found


def _version_at(line: list[timeline_rows.Piece], at: int) -> int:
    return next((number for span, number in line if span.contains(at)), timeline_rows.HOLE)


# -- settings


def set_beliefs(ctx: context.Context, command: cmd.SetBeliefs, details: int) -> draft.Decision:
    """Set what counts as a belief; the same settings again emit no event."""
    name = command.named if command.what == "predicate" else command.named.casefold()
    if belief_rows.setting_at(ctx.tables, command.what, name, ctx.draft.seq) != command.how:
        ctx.draft.emit(ev.BeliefsSet(command.what, name, command.how, details))
    return draft.Decision(ctx.tables.node(schema.ROOT_NODE).lineage)
