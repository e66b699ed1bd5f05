"""The tools that write. What is recorded of who wrote, and by which way, is the server's word and never the model's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from worlddb import InputError, Receipt, UnknownReference, View, World, format_time
from worlddb.tools.mcp import arguments, results
from worlddb.tools.mcp.call import Call
from worlddb.tools.mcp.desk import SCOPE, Desk, Label, labels_of

_TOLD: Final = 120
"""Characters of a memory that an amendment ended."""


def write(desk: Desk, given: arguments.Write, call: Call) -> results.Done:
    """``memory_write``."""
    labels = labels_of(given)
    if not labels:
        raise InputError("No scope was named", "Give at least one of user_id, agent_id, app_id and run_id")
    _check_type(given.type)
    view = desk.view()
    with desk.db.batch(idempotency_key=desk.once(given.idempotency_key)) as tx:
        first, *others = [desk.write_scope(tx, view, label) for label in labels]
        made = tx.create(
            given.type,
            given.name,
            content=given.text,
            world=first,
            valid_from=given.valid_from,
            source=call.source,
            why=given.why,
            resolve="all",
        )
        for scope in others:
            tx.link(scope, "contains", made, valid_from=given.valid_from)
    desk.keep_up()
    return _done(desk, tx.receipt, tx.receipt.refs[len(labels)])


def amend(desk: Desk, given: arguments.Amend, call: Call) -> results.Done:
    """``memory_amend``."""
    view = desk.view()
    old = desk.memory(view, given.id)
    first, *others = view.containers(old.ref) or [desk.top]
    with desk.db.batch() as tx:
        made = tx.create(
            old.type,
            old.name,
            content=given.text,
            world=first,
            valid_from=given.valid_from,
            source=call.source,
            why=given.why,
            resolve=False,
        )
        for scope in others:
            tx.link(scope, "contains", made, valid_from=given.valid_from)
        tx.link(made, "supersedes", old.ref, valid_from=given.valid_from, why=given.why)
    desk.keep_up()
    done = _done(desk, tx.receipt, tx.receipt.refs[0])
    done.notes.append(_closed(desk, old))
    return done


def _closed(desk: Desk, old: World) -> str:
    """What an amendment ended, and when: the memory that held until then."""
    found = desk.view().get(old.ref, include_superseded=True) or old
    start, end = (format_time(time) for time in (found.valid.start, found.valid.end))
    text = " ".join((old.content or old.name).split())
    told = f"{text[: _TOLD - 1]}…" if len(text) > _TOLD else text
    held = f"held from {start} until {end}" if start != end else f"holds at no time any more: it began at {start}"
    return f"Superseded {old.ref}, which {held}: {told}"


def retire(desk: Desk, given: arguments.Retire, call: Call) -> results.Done:
    """``memory_retire``."""
    found = desk.memory(desk.view(), given.id)
    receipt = desk.db.retire(found.ref, at=given.at, why=given.why)
    receipt.raise_if_refused()
    return _done(desk, receipt, found.ref, retired=1 if receipt.events else 0)


def retire_all(desk: Desk, given: arguments.RetireAll, call: Call) -> results.Done:
    """``memory_retire_all``."""
    return _retired(desk, call, _scope(desk, desk.view(), given), given.why, itself=False)


def purge_scope(desk: Desk, given: arguments.PurgeScope, call: Call) -> results.Done:
    """``memory_purge_scope``."""
    scope = _scope(desk, desk.view(), given)
    if given.confirm != scope.name:
        raise InputError(
            f"confirm is {given.confirm!r:.80}, so nothing was done",
            f"This retires the scope and everything in it. To go on, give confirm={scope.name!r}",
        )
    return _retired(desk, call, scope, given.why, itself=True)


def decide(desk: Desk, given: arguments.Decide, call: Call) -> results.Done:
    """``memory_decide``."""
    fitting = [each for each in desk.view().proposals(status=None) if each.ref.startswith(given.proposal.lower())]
    if len(fitting) != 1:
        told = "There is no proposal" if not fitting else "There are several proposals that begin with"
        raise UnknownReference(f"{told} {given.proposal}", "List them with memory_proposals")
    deciding = {"accept": desk.db.accept, "reject": desk.db.reject, "undo": desk.db.undo}
    receipt = deciding[given.decision](fitting[0].ref, why=given.why)
    receipt.raise_if_refused()
    return _done(desk, receipt, fitting[0].ref)


def _retired(desk: Desk, call: Call, scope: World, why: str, *, itself: bool) -> results.Done:
    """Retire all that a scope contains and that still holds, as one commit; with ``itself`` the scope too."""
    refs = [world.ref for world in desk.inside(desk.view(), [scope.ref])]
    with desk.db.batch(progress=call.step) as tx:
        for ref in refs:
            tx.retire(ref, why=why)
        if itself:
            tx.retire(scope.ref, why=why)
    return _done(desk, tx.receipt, scope.ref, retired=len(refs))


def _scope(desk: Desk, view: View, given: arguments.RetireAll) -> World:
    label = Label(given.kind, given.scope_id)
    found = desk.scopes(view, label)
    if not found:
        raise UnknownReference(f"There is no scope {label}", "See memory_list_scopes")
    return found[0]


def _check_type(name: str) -> None:
    if name.casefold() == SCOPE.casefold():
        raise InputError("A memory cannot be a scope", "Scopes are made when a memory is written into them")


def _done(desk: Desk, receipt: Receipt, ref: str, *, retired: int = 0) -> results.Done:
    """A receipt, without what lies outside of the world that the server is confined to."""
    proposals, notes = list(receipt.proposals), list(receipt.notes)
    if desk.world is not None and (proposals or notes):
        view = desk.view()
        proposals = [proposal for proposal in proposals if _sees(view.proposal, proposal)]
        seen = {*proposals, ref}
        notes = [note for note in notes if all(other in seen or _sees(view.reference_of, other) for other in note.refs)]
    outcome = type(receipt.outcome).__name__.lower() if receipt.events else "unchanged"
    if outcome == "staged" and not proposals:
        outcome = "committed"
    return results.Done(
        id=ref,
        outcome=outcome,
        seq=desk.number(receipt.seq),
        written_at=format_time(receipt.ingest_time) if receipt.events else None,
        retired=retired,
        proposals=proposals,
        notes=[str(note) for note in notes],
    )


def _sees(look: Callable[[str], object], ref: str) -> bool:
    try:
        return look(ref) is not None
    except InputError:
        return False
