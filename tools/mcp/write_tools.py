"""The tools that write.

The server records the author and the channel of each write; no argument of the model sets them.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec

from worlddb import (
    FOREVER,
    Artifact,
    IdempotencyConflict,
    InputError,
    Loss,
    Near,
    Receipt,
    UnknownReference,
    Valid,
    View,
    World,
    format_time,
    memory_scopes,
    memory_statements,
    parse_kref,
    parse_time,
    write_notes,
)
from worlddb.memory_scopes import Label, ScopeKey, check_scope_name, embed_new, is_visible, notes_inside
from worlddb.memory_statements import check_statement_type, revise_where_it_lies
from worlddb.plain_text import is_blank
from worlddb.tools.mcp import answer_notes, mcp_wording, read_tools, tool_arguments, tool_results
from worlddb.tools.mcp.session import Call, Session
from worlddb.write_notes import is_same_text
from worlddb.writing import retry_while_changed

ABOUT: Final = "refers_to"
MAX_LOST: Final = 10
"""Spans that an answer lists as lost."""
_NEVER: Final = "never"
"""The value of ``expires_at`` that removes a deadline."""


def write(session: Session, given: tool_arguments.Write, call: Call) -> tool_results.Saved:
    """``memory_write``."""
    labels = session.labels(given, writes=True)
    if not labels:
        raise InputError("No scope was given", "Give at least one of user_id, agent_id, app_id and run_id")
    _check_labels(labels)
    _check_text(given.text)
    check_statement_type(given.type)
    key, scoped = given.idempotency_key, given
    if key is not None:
        is_known = session.db.was_written(session.idempotency_key(key) or "")
        scoped = msgspec.structs.replace(given, idempotency_key=_scoped_key(labels, key))
        if is_known:
            # Earlier releases shared keys between scopes; retry under that form first.
            with suppress(IdempotencyConflict):
                return _write_from_any_client(session, labels, given, call)
    try:
        return _write_from_any_client(session, labels, scoped, call)
    except IdempotencyConflict as error:
        stored_key = session.idempotency_key(scoped.idempotency_key) or ""
        error.message = error.message.replace(repr(stored_key[:80]), repr(key))
        error.args = (error.message, error.remedy)
        raise


def _scoped_key(labels: list[Label], key: str) -> str:
    """Return an idempotency key distinct for the user, else for the scopes, so that users' keys never clash."""
    owners = [label for label in labels if label.kind == "user"] or labels
    return msgspec.json.encode([[memory_scopes.composed(str(label)) for label in owners], key]).decode()


def _write_from_any_client(
    session: Session, labels: list[Label], given: tool_arguments.Write, call: Call
) -> tool_results.Saved:
    """Write a memory; a retry counts as the same call whichever client program sends it."""
    try:
        return retry_while_changed(lambda: _compare_and_write(session, labels, given, call))
    except IdempotencyConflict as error:
        for client in _recorded_clients(session, error.details["seq"]) - {call.client}:
            with suppress(IdempotencyConflict):
                same_call = call._replace(client=client)
                return retry_while_changed(partial(_compare_and_write, session, labels, given, same_call))
        raise


def _recorded_clients(session: Session, seq: int) -> set[str]:
    """Return the client programs named as sources in a commit of this author."""
    view, found = session.db.view(seq=seq), set[str]()
    (step,) = session.db.steps(seq, seq)
    for entry in step.events if step.author == session.db.author else ():
        if entry.event in ("created", "revised", "restated"):
            world = view.get(entry.refs[0], include_superseded=True)
            sources = () if world is None else (world.source, *(each.source for each in world.restated))
            found |= {str(source["client"]) for source in sources if "client" in source}
    return found


def _compare_and_write(
    session: Session, labels: list[Label], given: tool_arguments.Write, call: Call
) -> tool_results.Saved:
    """Write a memory, or record that it was said again; a retry under its key reads the state before the first call."""
    key = session.idempotency_key(given.idempotency_key)
    is_retry, view = key is not None and session.db.was_written(key), session.view_to_write()
    if is_retry:
        before = memory_statements.view_for_write(session.db, key)
        view = session.db.view(seq=before.seq, valid=before.valid, world=session.world)
    named = _named_memories(session, view, given)
    known = [session.scopes(view, label, include_retired=True) for label in labels]
    keys = [session.key_after(view, label, scopes) for label, scopes in zip(labels, known, strict=True)]
    subjects = session.subjects(view, keys[0], given.about, session.for_user(view, given))
    place = _place(
        session, view, given, call, subjects, [each.ref for some in known for each in some if not each.closed], keys
    )
    is_retired = is_retry and [session.key(session.view_to_write(), label) for label in labels] != keys
    done = memory_statements.write_statement(session.db, _statement(given, call, len(subjects), named), place)
    if done.is_restated:
        return _describe_restatement(session, given, done)
    memory, receipt = done.ref, done.receipt
    new_refs = iter(receipt.refs)
    homes = [session.existing_scope_ref(key) or next(new_refs) for key in keys]
    if not is_retry:
        # Another process may have ended a scope between the read and the write.
        now = session.view_to_write()
        for label, key_of_scope, scope in zip(labels, keys, homes, strict=True):
            if scope not in [each.ref for each in session.scopes(now, label)]:
                session.move_to_new_scope(key_of_scope, [memory], given.valid_from)
    embed_new(session.db)
    answer = _answer(session, receipt, memory)
    if is_retired:
        answer.notes.append(
            f"{memory} was written by the same call under this idempotency_key, and one of its scopes was retired"
            " later, so nothing was written now. Use a new key to write it again"
        )
        return tool_results.Saved(**msgspec.structs.asdict(answer), near=[])
    begun = () if is_retry else zip(labels, known, strict=True)
    answer.notes.extend([*done.notes, *_slip_notes(session, view, begun, named)])
    answer.notes.extend(write_notes.subject_notes(session, session.for_user(view, given), keys[0], subjects))
    return tool_results.Saved(**msgspec.structs.asdict(answer), near=_near_records(done, named))


def _statement(
    given: tool_arguments.Write, call: Call, subjects: int, named: dict[str, list[str]]
) -> memory_statements.Statement:
    """Return what is to be written, as the library writes it."""
    return memory_statements.Statement(
        text=given.text,
        type=given.type,
        name=given.name,
        subjects=subjects,
        since=None if given.valid_from is None else parse_time(given.valid_from, "valid_from"),
        until=given.valid_to,
        source=call.source,
        why=given.why,
        on_near=given.on_near,
        marks=_marks(given),
        named=named,
    )


def _place(
    session: Session,
    view: View,
    given: tool_arguments.Write,
    call: Call,
    subjects: list[memory_scopes.Subject],
    scopes: list[str],
    keys: list[ScopeKey],
) -> memory_statements.Place:
    """Return where a memory is written: into the scopes of some keys, compared with what lies in some scopes."""
    own, is_new = session.for_user(view, given), not (given.contradicts or given.derived_from)

    return memory_statements.Place(
        look=view,
        nearby=[(own, partial(_near_in_scope, given=given, about=subjects, scope=scope)) for scope in scopes],
        homes=lambda tx: [session.write_scope(tx, key) for key in keys],
        entries=lambda tx, home: [session.write_subject(tx, keys[0], home, each, call.source) for each in subjects],
        ending=lambda old, _: f'use memory_retire with the id "{old}"',
        batch={
            "idempotency_key": session.idempotency_key(given.idempotency_key),
            "rests_on": memory_scopes.imported_scope_refs(keys),
        },
        created={"resolve": "all"},
        may_repeat=lambda _: is_new and len(keys) == 1,
    )


def _slip_notes(
    session: Session,
    view: View,
    known: Iterable[tuple[Label, list[World]]],
    named: dict[str, list[str]],
) -> list[str]:
    """Return notes on what may be meant otherwise than it was given: new and ended scopes, named memories."""
    notes = [session.note_on_scope(view, label) for label, scopes in known if all(each.closed for each in scopes)]
    bases = (session.get(view, ref) for ref in named["derived_from"])
    notes += write_notes.erased_basis_notes(bases)
    return [*filter(None, notes)]


def _near_in_scope(
    view: View, given: tool_arguments.Write, about: list[memory_scopes.Subject], scope: str
) -> list[Near]:
    return view.near(
        given.text,
        about=[each.given for each in about],
        world=scope,
        since=given.valid_from,
        until=given.valid_to,
        include_expired=memory_statements.is_past(given.expires_at, view.valid),
    )


def _describe_restatement(
    session: Session, given: tool_arguments.Write, done: memory_statements.StatementWritten
) -> tool_results.Saved:
    """Answer that a memory has one more source."""
    answer = _answer(session, done.receipt, done.ref)
    changed = write_notes.restatement_changes(session.db, done.receipt, done.ref, session.world)
    besides = ["it is linked to near memories"] if done.links else []
    besides += ["more was written about it"] if changed else []
    effects = " and ".join(besides) or "nothing else was written"
    source = "" if done.end is not None and done.end.was_ended else "it has one more source now, and "
    answer.notes.extend([f"{done.ref} says so already: {source}{effects}", *done.notes])
    return tool_results.Saved(**msgspec.structs.asdict(answer), near=_near_records(done, {}))


def _marks(given: tool_arguments.Write) -> dict[str, Any]:
    """Return the marks of a memory for the commit that writes or restates it."""
    lasting: dict[str, Any] = {"expires_at": given.expires_at, "ttl": given.ttl, "pinned": given.pinned}
    return lasting | {"labels": given.labels, "properties": given.properties or None}


def _near_records(
    done: memory_statements.StatementWritten, named: dict[str, list[str]]
) -> list[tool_results.NearMemory]:
    """Return the near memories as records, each with the type of its edge."""
    types = {ref: edge_type for edge_type, refs in named.items() for ref in refs} | done.links
    return [tool_results.NearMemory(**answer_notes.near_record(each, types.get(each.ref, ""))) for each in done.near]


def _named_memories(session: Session, view: View, given: tool_arguments.Write) -> dict[str, list[str]]:
    """Return the memories to link a new one to, by edge type, each once.

    Raises:
        UnknownReference, AmbiguousReference: no visible memory has an id; several have.
        InputError: a memory to contradict has ended.
    """
    for name in given.about:
        if not name.strip():
            raise InputError("A name in about is blank", "Give the name of a person or thing, or leave it out")
    own = session.for_user(view, given)
    sources = [session.memory(own, ref, given) for ref in given.derived_from]
    contradicted = [session.memory(own, ref, given) for ref in given.contradicts]
    for other in contradicted:
        if answer_notes.has_ended(view, other):
            raise InputError(
                f"{other.ref} is no longer valid, so nothing can contradict it: {_excerpt(other)}",
                "Leave it out of contradicts",
            )
    by_edge_type = {"derived_from": sources, "contradicts": contradicted}
    return {edge_type: list(dict.fromkeys(world.ref for world in worlds)) for edge_type, worlds in by_edge_type.items()}


def mark(session: Session, given: tool_arguments.MarkMemory, call: Call) -> tool_results.Done:
    """``memory_mark``."""
    view = session.view_to_write()
    memory = session.statement(view, given.id, entries=True)
    if given.pinned is None and given.expires_at is None and not (given.add_labels or given.remove_labels):
        raise InputError("No mark was given", "Give pinned, expires_at, add_labels or remove_labels")
    deadline = None if given.expires_at in (None, _NEVER) else parse_time(given.expires_at, "expires_at")
    with session.db.batch() as tx:
        if given.pinned is not None:
            (tx.pin if given.pinned else tx.unpin)(memory.ref, why=given.why)
        if given.expires_at == _NEVER:
            tx.unexpire(memory.ref, why=given.why)
        elif deadline is not None:
            tx.expire(memory.ref, expires_at=deadline, why=given.why)
        if given.add_labels:
            tx.label(memory.ref, *given.add_labels, why=given.why)
        if given.remove_labels:
            tx.unlabel(memory.ref, *given.remove_labels, why=given.why)
    answer = _answer(session, tx.receipt, memory.ref)
    if deadline is not None or given.pinned or given.add_labels:
        now = session.view_to_write()
        answer.notes.extend(write_notes.mark_notes(now, memory.ref, deadline=deadline is not None))
    answer.notes.extend(session.notes_on_other_user(view, memory.ref))
    return answer


def tag(session: Session, given: tool_arguments.TagMemory, call: Call) -> tool_results.Done:
    """``memory_tag``."""
    if given.remove and given.version is not None:
        raise InputError("Both remove and version were given", "Give one of them")
    found = session.statement(session.view_to_write(), given.id, entries=True).ref
    if given.remove:
        receipt = session.db.untag(found, given.tag, why=given.why)
    else:
        receipt = session.db.tag(found, given.tag, version=given.version, why=given.why)
    return _answer(session, receipt, found)


def deprecate(session: Session, given: tool_arguments.DeprecateMemory, call: Call) -> tool_results.Done:
    """``memory_deprecate``."""
    found = session.statement(session.view_to_write(), given.id, entries=True).ref
    receipt = (session.db.undeprecate if given.undo else session.db.deprecate)(found, why=given.why)
    return _answer(session, receipt, found)


def write_at(session: Session, given: tool_arguments.WriteAt, call: Call) -> tool_results.Done:
    """``memory_write_at``."""
    _check_text(given.text)
    wanted = parse_kref(given.kref)
    check_statement_type(wanted.kind)
    receipt = session.db.create_at(
        wanted,
        content=given.text,
        within=session.world,
        valid_from=given.valid_from,
        source=call.source,
        why=given.why,
    )
    embed_new(session.db)
    return _answer(session, receipt, receipt.ref)


def prefer(session: Session, given: tool_arguments.Prefer, call: Call) -> tool_results.Done:
    """``memory_prefer``."""
    view = session.view()
    ends = [session.reference(view, each) for each in (given.subject, given.object)]
    receipt = session.db.prefer(
        ends[0],
        given.relation,
        ends[1],
        outcome=given.outcome,
        inferred=given.inferred,
        within=session.world,
        why=given.why,
    )
    return _answer(session, receipt, receipt.ref)


_BY_OTHER_TOOLS: Final = {
    "contains": "memories stay where they are",
    "same_as": "decide by memory_decide",
    "supersedes": "use memory_amend or memory_write",
}
"""Relations that other tools write, and what to do instead."""
_CONTEXT: Final = ("alternatives", "optimises_for", "sentiment", "evidence")


def relate(session: Session, given: tool_arguments.Relate, call: Call) -> tool_results.Done:
    """``memory_relate``."""
    view = session.view()
    ends = [session.reference(view, each) for each in (given.id, given.to)]
    # Accept only relations that this view lists: an error must not reveal those registered elsewhere.
    known = view.edge_types(session.world)
    inverse_of = next((one.name for one in known if one.inverse == given.relation), None)
    relation = given.relation if inverse_of is None else inverse_of
    _check_relation(relation, [one.name for one in known])
    context = {name: value for name in _CONTEXT if (value := getattr(given, name))}
    receipt = session.db.link(
        *(ends[0], relation, ends[1]) if inverse_of is None else (ends[1], relation, ends[0]),
        home=session.world,
        valid_from=given.valid_from,
        valid_to=given.valid_to,
        context=context or None,
        why=given.why,
    )
    return _answer_with_losses(session, receipt, receipt.ref)


def unrelate(session: Session, given: tool_arguments.Unrelate, call: Call) -> tool_results.Done:
    """``memory_unrelate``."""
    edge = session.view_to_write().edge(given.relation)
    _check_relation(edge.type, [edge.type])
    if given.ended is None:
        receipt = session.db.unlink(edge.ref, why=given.why)
    else:
        receipt = session.db.retire(edge.ref, valid_from=given.ended, why=given.why)
    return _answer_with_losses(session, receipt, edge.ref)


def _check_relation(relation: str, known: list[str]) -> None:
    if relation in _BY_OTHER_TOOLS:
        raise InputError(f"The relation {relation!r} decides about memories", _BY_OTHER_TOOLS[relation].capitalize())
    if relation not in known:
        usable = ", ".join(name for name in known if name not in _BY_OTHER_TOOLS)
        raise InputError(f"There is no relation {relation!r:.80}", f"Use one of: {usable}; an operator declares others")


def believe(session: Session, given: tool_arguments.Believe, call: Call) -> tool_results.Done:
    """``memory_believe``."""
    _check_beliefs(given.beliefs)
    item = session.statement(session.view_to_write(), given.id).ref
    options: dict[str, Any] = {"valid_from": given.valid_from, "source": call.source, "why": given.why}
    if given.how == "expand":
        receipt = session.db.expand(item, given.beliefs, **options)
    else:
        receipt = session.db.believe(item, given.beliefs, whole=given.how == "replace", **options)
    embed_new(session.db)
    return _answer(session, receipt, item)


def _check_beliefs(beliefs: dict[str, Any]) -> None:
    if len(beliefs) > tool_arguments.MAX_BELIEFS:
        raise InputError(f"{len(beliefs)} predicates were given", f"Give {tool_arguments.MAX_BELIEFS} at most")
    for predicate, value in beliefs.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                _check_text(text)
        if predicate == "type" and isinstance(value, str):
            check_statement_type(value)


def contract(session: Session, given: tool_arguments.Contract, call: Call) -> tool_results.Contraction:
    """``memory_contract``."""
    view = session.view()
    claims = [(session.statement(view, each.id).ref, each.predicate, each.value) for each in given.beliefs]
    plan = view.contraction(claims, whole=given.whole, each=given.each)
    answer = None
    if given.do:
        receipt = session.db.contract(plan, why=given.why)
        embed_new(session.db)
        answer = _answer(session, receipt, claims[0][0])
    return tool_results.contraction(plan, answer, tool_results.called_in(view))


def rollback(session: Session, given: tool_arguments.Rollback, call: Call) -> tool_results.Done:
    """``memory_rollback``."""
    item = session.statement(session.view_to_write(), given.id).ref
    receipt = session.db.rollback(item, given.version, why=given.why)
    embed_new(session.db)
    return _answer(session, receipt, item)


def attach(session: Session, given: tool_arguments.Attach, call: Call) -> tool_results.Done:
    """``memory_attach``: attaches a pointer and never opens it."""
    if given.remove == (given.location is not None):
        raise InputError(
            "Both location and remove were given, or neither", "Give location to attach it, remove=true to remove it"
        )
    item = session.statement(session.view_to_write(), given.id).ref
    if given.location is None:
        receipt = session.db.detach(item, given.name, why=given.why)
    else:
        added = Artifact(name=given.name, location=given.location, media_type=given.media_type)
        receipt = session.db.attach(item, added, why=given.why)
    return _answer(session, receipt, item)


def amend(session: Session, given: tool_arguments.Amend, call: Call) -> tool_results.Done:
    """``memory_amend``."""
    _check_text(given.text)
    answer = retry_while_changed(lambda: _amend_memory(session, given, call))
    assert answer.id is not None, "a memory was amended"
    return _told_of_its_owner(session, answer)


def _amend_memory(session: Session, given: tool_arguments.Amend, call: Call) -> tool_results.Done:
    """Write the successor of a memory, in view of what holds now."""
    view = session.view_to_write()
    old = session.statement(view, given.id)
    if old.erased:
        raise InputError(f"The text of {old.ref} was erased", "Save what is true with memory_write")
    if given.valid_to is not None or given.replace_later:
        return _rewrite_span(session, view, old.ref, given, call)
    since = answer_notes.start_of_successor(view, old, given.valid_from)
    begins = view.valid if since is None else parse_time(since, "valid_from")
    until = answer_notes.end_of_successor(session.around(view, old.ref), old)
    is_same_end = old.valid.end == (FOREVER if until is None else parse_time(until, "valid_to"))
    if is_same_text(old.content, given.text) and is_same_end and old.valid.start <= begins < old.valid.end:
        unchanged = _unchanged_answer(session, view, old.ref, f"{old.ref} says so already: nothing was written")
        unchanged.notes.extend(write_notes.still_hidden_notes(old, view.valid))
        return unchanged
    replacements = _current_replacements(session, view, old, since)
    is_over = answer_notes.has_ended(view, old, since) and not answer_notes.held_at(view, old, since)
    if is_over or any(is_same_text(successor.content, given.text) for successor in replacements):
        return _answer_repeated_amendment(session, view, old, given.text, replacements)
    # A future memory has its containers and subjects at its start.
    then = session.later(view, old.valid.start)
    first, *others = then.containers(old.ref) or [session.top]
    is_over = old.expires_at is not None and old.expires_at <= max(view.valid, begins)
    with session.db.batch(seen=view) as tx:
        amended = tx.create(
            old.type,
            old.name,
            content=given.text,
            world=first,
            valid_from=since,
            valid_to=until,
            source=call.source,
            why=given.why,
            resolve=False,
            expires_at=None if is_over else old.expires_at,
            labels=old.labels,
            pinned=old.pinned,
            properties=old.properties or None,
        )
        for scope in others:
            tx.link(scope, "contains", amended, valid_from=since)
        # The new memory is about the same worlds as the old one.
        for edge in then.edges(old.ref, type=ABOUT, direction="out"):
            tx.link(amended, ABOUT, edge.target, valid_from=since)
        tx.link(amended, "supersedes", old.ref, valid_from=since, why=given.why)
    embed_new(session.db)
    # What is said of the old memory below says that too, and since when it was valid.
    told = tuple(note for note in tx.receipt.notes if (note.code, note.refs) != ("never_valid", (old.ref,)))
    answer = _answer(session, msgspec.structs.replace(tx.receipt, notes=told), tx.receipt.refs[0])
    answer.notes.append(_describe_ended(session, old))
    remedy = "amend that too, or retire it"
    answer.notes.extend(write_notes.same_words_beside(session.db, view, old.ref, remedy, instead=given.text))
    remedy = "if it is about somebody else, retire it and save it with memory_write and about"
    answer.notes.extend(write_notes.left_subject_notes(then, old, given.text, remedy, ref=answer.id or ""))
    if until is not None:
        answer.notes.append(f"It is valid until {until}, the former end of {old.ref}")
    if is_over:
        answer.notes.append(write_notes.dropped_deadline_note(old.ref))
    answer.notes.extend(_future_notes(session, answer.id, since))
    return answer


def _current_replacements(session: Session, view: View, old: World, since: str | None) -> list[World]:
    """Return what holds in place of a memory; for one that has ended and a past time, what replaced it then comes
    first.

    At a time at which the memory itself held, nothing replaces it.
    """
    around = session.around(view, old.ref)
    current = answer_notes.successors(view, old.ref, around)
    if since is None or not answer_notes.has_ended(view, old):
        return current
    moment = parse_time(since, "valid_from")
    if moment >= view.valid:
        return current
    if answer_notes.held_at(view, old, since):
        return []
    then = session.db.view(seq=view.seq, valid=moment, world=session.world)
    then_current = answer_notes.successors(then, old.ref, around)
    return [*(each for each in then_current if each.valid.start <= moment < each.valid.end), *current]


def _rewrite_span(session: Session, view: View, ref: str, given: tool_arguments.Amend, call: Call) -> tool_results.Done:
    """Amend a span of a memory, which keeps its id.

    Nothing is written if the same text holds throughout the span already.
    """
    since = view.valid if given.valid_from is None else parse_time(given.valid_from, "valid_from")
    end_of_last = max(version.valid.end for version in view.history(ref))
    until = end_of_last if given.valid_to is None else parse_time(given.valid_to, "valid_to")
    holding = view.history(ref, during=Valid(since, until)) if since < until else []
    if any(is_same_text(version.content, given.text) for version in holding):
        return _unchanged_answer(session, view, ref, f"{ref} already says that in this span: nothing was written")
    receipt = revise_where_it_lies(
        session.db,
        ref,
        world=session.world,
        content=given.text,
        valid_from=given.valid_from,
        valid_to=given.valid_to,
        replace_later=given.replace_later,
        source=call.source,
        why=given.why,
    )
    embed_new(session.db)
    answer = _answer(session, receipt, ref)
    answer.notes.extend(_loss_notes(session, receipt))
    answer.notes.extend(write_notes.displaced_notes(session.view_to_write(), receipt, ref))
    answer.notes.extend(write_notes.still_hidden_notes(session.get(view, ref), view.valid))
    answer.notes.extend(_future_notes(session, ref, given.valid_from))
    return answer


def _answer_repeated_amendment(
    session: Session, view: View, old: World, text: str, replacements: list[World]
) -> tool_results.Done:
    """Answer an amendment of a memory that has ended or has a successor.

    A retry of the same amendment writes nothing. Any other is refused, since two statements would take its place.

    Raises:
        InputError: something else holds in its place, or nothing.
    """
    has_ended, ends = answer_notes.has_ended(view, old), format_time(old.valid.end)
    if not replacements:
        message = f"ended {ends}" if has_ended else f"ends {ends}"
        message = message if old.valid.start < old.valid.end else "is never valid"
        message = f"{old.ref} {message}, and nothing replaced it"
        raise InputError(message, "Save what is true with memory_write")
    same = next((successor for successor in replacements if is_same_text(successor.content, text)), None)
    if same is None:
        message = (
            f"is no longer valid: {replacements[0].ref} took"
            if has_ended
            else f"holds until {ends}: {replacements[0].ref} takes"
        )
        said = "" if session.notes_on_other_user(view, old.ref) else f", and says {_excerpt(replacements[0])}"
        raise InputError(
            f"{old.ref} {message} its place{said}",
            f"Amend {replacements[0].ref} if that is wrong too",
        )
    return _unchanged_answer(session, view, same.ref, f"{old.ref} already had this amendment: nothing was written")


def _unchanged_answer(session: Session, view: View, ref: str, message: str) -> tool_results.Done:
    """Return the answer of a write that changed nothing."""
    return tool_results.Done(
        id=ref,
        outcome="unchanged",
        seq=session.commit_number(view.seq),
        written_at=None,
        retired=0,
        proposals=[],
        notes=[message],
    )


def _future_notes(session: Session, ref: str | None, valid_from: str | None) -> list[str]:
    """Return a note if a memory begins in the future."""
    if ref is None or valid_from is None:
        return []
    view = session.view_to_write()
    return write_notes.future_start_notes([session.get(view, ref).valid.start], view.valid)


def _describe_ended(session: Session, old: World) -> str:
    """Describe the memory that an amendment ended, and its validity."""
    view = session.view_to_write()
    found = next(each for each in session.around(view, old.ref).history(old.ref) if each.number == old.number)
    start, end = (format_time(time) for time in (found.valid.start, found.valid.end))
    held = f"was valid from {start} until {end}" if start != end else f"is never valid now: it began at {start}"
    return f"Superseded {old.ref}, which {held}: {_excerpt(old)}"


def _excerpt(memory: World) -> str:
    """Return the beginning of a memory, quoted on one line."""
    return mcp_wording.quoted(memory.content or memory.name)


def retire(session: Session, given: tool_arguments.Retire, call: Call) -> tool_results.Done:
    """``memory_retire``."""
    view = session.view_to_write()
    memory = session.statement(view, given.id, members=given.members)
    receipt = session.db.retire(memory.ref, at=given.at, valid_to=given.valid_to, members=given.members, why=given.why)
    receipt.raise_if_refused()
    losses = _visible_losses(session, receipt) if given.members else []
    ended = len({loss.ref for loss in losses if loss.version is not None}) if given.members else 1
    answer = _answer(session, receipt, memory.ref, retired=ended if receipt.events else 0)
    if given.valid_to is not None or given.members:
        answer.notes.extend(_loss_notes(session, receipt))
    now = session.view_to_write()
    answer.notes.extend(write_notes.concurrent_change_notes(session.db, view.seq, receipt, memory.ref))
    answer.notes.extend([] if receipt.events else answer_notes.continuation_notes(now, memory.ref))
    answer.notes.extend(write_notes.same_words_beside(session.db, view, memory.ref, "retire that too, or amend it"))
    return _told_of_its_owner(session, answer)


def _told_of_its_owner(session: Session, answer: tool_results.Done) -> tool_results.Done:
    """Return the answer of a change; of another user's memory its notes say whose it is and no text.

    A change by its id is done, and a read by it is not.
    """
    assert answer.id is not None, "a memory was changed"
    if told := session.notes_on_other_user(session.view_to_write(), answer.id):
        answer.notes[:] = told
    return answer


def _loss_notes(session: Session, receipt: Receipt) -> list[str]:
    """Return notes on the times that earlier texts and relations lost, inside the served world."""
    lost = _visible_losses(session, receipt)
    notes = []
    for loss in lost[:MAX_LOST]:
        until = "on" if loss.valid_to == FOREVER else f"to {format_time(loss.valid_to)}"
        since = format_time(loss.valid_from)
        version = "" if loss.version is None else f", in its version {loss.version},"
        what = "The relation " if loss.version is None else ""
        notes.append(f"{what}{loss.ref} is no longer valid{version} from {since} {until}")
    return notes + ([f"{len(lost) - MAX_LOST} more lost times"] if len(lost) > MAX_LOST else [])


def _visible_losses(session: Session, receipt: Receipt) -> list[Loss]:
    if session.world is None:
        return list(receipt.lost)
    view = session.view_to_write()
    world = partial(session.get, view)
    return [loss for loss in receipt.lost if is_visible(view.edge if loss.version is None else world, loss.ref)]


def _answer_with_losses(session: Session, receipt: Receipt, ref: str) -> tool_results.Done:
    answer = _answer(session, receipt, ref)
    answer.notes.extend(_loss_notes(session, receipt))
    return answer


def retire_all(session: Session, given: tool_arguments.RetireAll, call: Call) -> tool_results.Done:
    """``memory_retire_all``."""
    scopes = _require_scopes(session, session.view_to_write(), given)
    return _retire_memories(session, call, scopes, given.why, itself=False)


def retire_scope(session: Session, given: tool_arguments.RetireScope, call: Call) -> tool_results.Done:
    """``memory_retire_scope``."""
    scopes = _require_scopes(session, session.view_to_write(), given)
    if any(scope.ref == session.world for scope in scopes):
        raise InputError(f"{scopes[0].name} is the world of this server", "Retire its memories with memory_retire_all")
    if not _is_scope_name(given.confirm, scopes[0].name) and not _ask_confirmation(session, given, scopes, call):
        raise InputError(
            f"confirm is {given.confirm!r:.80}, so nothing was done",
            f"This retires the scope and everything in it. To continue, give confirm={scopes[0].name!r}",
        )
    return _retire_memories(session, call, scopes, given.why, itself=True)


def _is_scope_name(given: str, name: str) -> bool:
    return memory_scopes.composed(given) == memory_scopes.composed(name)


def _ask_confirmation(session: Session, given: tool_arguments.RetireScope, scopes: list[World], call: Call) -> bool:
    """Ask the person who uses the client, if the model named no scope; false if that is impossible or refused."""
    if given.confirm or call.ask is None or not call.ask.can("elicitation/create"):
        return False
    memories = len(_current_and_future(session, session.view_to_write(), [scope.ref for scope in scopes]))
    question = f"Retire {mcp_wording.named(scopes[0].name)} and the {memories} memories in it? Nothing is erased."
    answer = call.ask({"confirm": tool_arguments.yes_or_no(question)})["confirm"]
    return bool(answer.get("action") == "accept" and (answer.get("content") or {}).get("yes") is True)


def withdraw(session: Session, given: tool_arguments.Withdraw, call: Call) -> tool_results.WithdrawalPlan:
    """``memory_withdraw``, which a server has only if its operator says so, and for the whole store alone."""
    session.require_whole_store("only an operator withdraws", "An operator uses `worlddb withdraw`")
    view = session.view()
    plan = read_tools.make_withdrawal_plan(session, view, given)
    if len(plan.changes) != given.changes:
        raise InputError(
            f"This would change {len(plan.changes)} memories, not {given.changes}, so nothing was done",
            "Call memory_plan_withdrawal with the same arguments, and give its number of changes",
        )
    receipt = session.db.withdraw(plan, why=given.reason)
    receipt.raise_if_refused()
    answer = tool_results.withdrawal_plan(plan, given.limit, tool_results.called_in(view))
    answer.done_at, answer.seq = format_time(receipt.ingest_time), session.commit_number(receipt.seq)
    return answer


def undo(session: Session, given: tool_arguments.Undo, call: Call) -> tool_results.Done:
    """``memory_undo``, which a server has only if its operator says so, and for the whole store alone."""
    session.require_whole_store("a commit may reach beyond it", "An operator uses `worlddb undo`")
    receipt = session.db.undo(given.seq, why=given.reason)
    embed_new(session.db)
    return _answer(session, receipt, receipt.ref)


MAX_INSIDE: Final = 50
"""Memories of a fork that an answer lists."""
_MAX_EXCERPT: Final = 200
"""Characters of each."""


def fork(session: Session, given: tool_arguments.ForkWorld, call: Call) -> tool_results.Forked:
    """``memory_fork``."""
    session.require("forks")
    view = session.view()
    then = view if given.known is None else session.view(known=given.known)
    ref = session.get(then, given.id).ref
    _refuse_to_fork_of_others(session, then, ref, given.known)
    seq = None if given.known is None else then.seq
    receipt = session.db.fork(ref, given.name, seq=seq, into=session.fork_container(view, ref), why=given.why)
    receipt.raise_if_refused()
    inside, more = _fork_contents(session.view(), receipt.ref, MAX_INSIDE)
    answer = _answer(session, receipt, receipt.ref)
    return tool_results.Forked(**msgspec.structs.asdict(answer), inside=inside, more=more)


def _refuse_to_fork_of_others(session: Session, seen: View, ref: str, known: str | int | None) -> None:
    """Check that a world holds nothing of others: their memories' copies in a fork would be everybody's.

    Raises:
        InputError: it does, on a server of a user.
    """
    if session.user is None:
        return
    every: dict[str, Any] = {"world": ref} | {
        f"include_{each}": True for each in ("superseded", "expired", "deprecated")
    }
    if len(session.view_to_write(known=known).find(**every)) > len(seen.find(**every)):
        raise InputError(
            f"{ref} holds what belongs to other users, whose copies would be everybody's, so nothing was done",
            "Fork what is yours alone, or ask an operator, who uses `worlddb fork`",
        )


def _fork_contents(view: View, ref: str, most: int) -> tuple[list[tool_results.ForkedMemory], bool]:
    found = view.find(world=ref, limit=most + 1)
    told = [
        tool_results.ForkedMemory(
            id=each.ref, type=each.type, name=each.name[:_MAX_EXCERPT], text=each.content[:_MAX_EXCERPT]
        )
        for each in found[:most]
    ]
    return told, len(found) > most


def forks(session: Session, given: tool_arguments.ListForks, call: Call) -> tool_results.Forks:
    """``memory_forks``."""
    view = session.view()
    ref = session.get(view, given.id).ref
    origin = view.forked_from(ref)
    inside, more = _fork_contents(view, ref, given.limit)
    return tool_results.Forks(
        forks=[tool_results.fork(each) for each in view.forks(ref)],
        forked_from=None if origin is None else tool_results.fork(origin),
        inside=inside,
        more=more,
    )


def merge(session: Session, given: tool_arguments.MergeFork, call: Call) -> tool_results.Merged:
    """``memory_merge``."""
    session.require("forks")
    ref = session.get(session.view(), given.id).ref
    session.check_merge(ref)
    how: dict[str, Any] = {"decide": given.decide, "on_conflict": given.on_conflict, "why": given.why}
    found = session.db.merge(ref, plan=given.plan, **how)
    done = None if found.receipt is None else _answer(session, found.receipt, found.into)
    if found.receipt is not None:
        embed_new(session.db)
    return tool_results.merged(found, done, is_plan=given.plan)


def define_relation(session: Session, given: tool_arguments.DefineRelation, call: Call) -> tool_results.Done:
    """``memory_define_relation``, for the whole store; a server has it only if its operator says so."""
    session.require_whole_store("a relation is for the whole store", "An operator declares it with `worlddb relation`")
    receipt = session.db.define_relation(
        given.relation,
        functional=given.functional,
        succession=given.succession,
        acyclic=given.acyclic,
        symmetric=given.symmetric,
        inverse=given.inverse,
        why=given.why,
    )
    return _answer(session, receipt, receipt.ref)


def keep_receipt(session: Session, given: tool_arguments.KeepReceipt, call: Call) -> tool_results.Done:
    """``memory_keep_receipt``: the receipt is in the log when the call returns."""
    session.db.keep_receipt(read_tools.receipt_of(session, given.receipt))
    receipt = session.db.write_receipts()
    assert receipt is not None, "one was waiting"
    return _answer(session, receipt, session.top)


def set_profile(session: Session, given: tool_arguments.SetProfile, call: Call) -> tool_results.Done:
    """``memory_set_profile``; a server has it only if its operator says so, since it decides what others may write."""
    session.require_whole_store("only an operator sets profiles", "An operator uses `worlddb vocabulary`")
    world = None if given.id is None else session.get(session.view_to_write(), given.id).ref
    if given.lift:
        if given.profile or given.node_types or given.relations:
            raise InputError("lift was given with a profile", "Leave one of them out")
        receipt = session.db.lift_profile(world, why=given.why)
    else:
        types, relations = given.node_types, given.relations
        receipt = session.db.set_profile(world, given.profile, node_types=types, relations=relations, why=given.why)
    return _answer(session, receipt, receipt.ref)


def set_beliefs(session: Session, given: tool_arguments.SetBeliefs, call: Call) -> tool_results.Done:
    """``memory_set_beliefs``, for the whole store; a server has it only if its operator says so."""
    session.require_whole_store(
        "belief settings are for the whole store", "An operator sets it with `worlddb belief-settings`"
    )
    receipt = session.db.set_beliefs(
        tags=given.tags,
        plain_tags=given.plain_tags,
        single=given.single,
        many=given.many,
        entrenchment=given.entrenchment,
        why=given.why,
    )
    return _answer(session, receipt, receipt.ref)


def forget_user(session: Session, given: tool_arguments.ForgetUser, call: Call) -> tool_results.Forgotten:
    """``memory_forget_user``, which a server has only if its operator says so, and for the whole store alone."""
    session.require_whole_store(
        "the data of a user may reach beyond it", "An operator does it with `worlddb forget-user`"
    )
    label = Label("user", given.user_id)
    view = session.view_to_write()
    keys = sum(key.user == given.user_id for key in session.db.accounts.keys(ended=True))
    known = session.refs_at_any_time(view, label) or session.db.working.count_of_user(given.user_id) + keys
    refs = _all_scopes_of(session, label) if not isinstance(known, int) or not known else []
    if not _is_scope_name(given.confirm, str(label)):
        raise InputError(
            f"confirm is {given.confirm!r:.80}, so nothing was done",
            f"This erases all of their data for good. To continue, give confirm={str(label)!r}",
        )
    if not refs:
        receipt = session.db.forget_user(given.user_id, reason=given.reason)
        return tool_results.Forgotten(user_id=given.user_id, seq=receipt.seq, erased=0, kept=[], receipt={})
    kept = session.db.erasure_plan(refs, members=True).kept
    shown = [(each, view.get(each.ref, include_superseded=True)) for each in kept]
    look = partial(_all_scopes_of, session, label)
    receipt = memory_scopes.erase_found(session.db, look, reason=given.reason)
    receipt.raise_if_refused()
    proof = session.db.erasure_receipt(receipt)
    return tool_results.Forgotten(
        user_id=given.user_id,
        seq=receipt.seq,
        erased=len(proof.worlds),
        kept=[
            tool_results.KeptMemory(
                id=each.ref, name="" if world is None else world.name or _excerpt(world), why=each.why
            )
            for each, world in shown
        ],
        receipt=msgspec.to_builtins(proof),
    )


def erase_literal(session: Session, given: tool_arguments.EraseLiteral, call: Call) -> tool_results.ErasedLiteral:
    """``memory_erase_literal``, which a server has only if its operator says so, and for the whole store alone."""
    session.require_whole_store("its forks may lie beyond it", "An operator uses `worlddb erase --literal`")
    ref, db = session.get(session.view_to_write(), given.id).ref, session.db
    plan = db.literal_erasure_plan(ref, given.literal, everywhere=given.everywhere)
    answer = tool_results.ErasedLiteral(
        outcome="planned", statements=plan.statements, worlds=list(plan.worlds), elsewhere=list(plan.elsewhere)
    )
    if given.statements is None:
        return answer
    if given.statements != plan.statements:
        raise InputError(
            f"{plan.statements} statements would lose it, not {given.statements}, so nothing was done",
            "Leave statements out to see the plan, and give its number",
        )
    receipt = db.erase_literal(ref, given.literal, reason=given.reason, everywhere=given.everywhere)
    receipt.raise_if_refused()
    answer.outcome, answer.seq = "erased", session.commit_number(receipt.seq)
    answer.receipt = msgspec.to_builtins(db.erasure_receipt(receipt))
    return answer


def _buffer_scope(session: Session, given: tool_arguments.WorkingScope) -> dict[str, Any]:
    """Return the arguments that select a buffer; buffers of different served worlds are distinct."""
    inside = "" if session.world is None else f"{session.world} "
    user = given.user_id if given.user_id is not None else session.user
    named = {"project": inside + (given.app_id or ""), "context": given.agent_id or "", "user": user or ""}
    return named | {"session": given.run_id}


def working_add(session: Session, given: tool_arguments.WorkingAdd, call: Call) -> tool_results.Buffered:
    """``memory_working_add``."""
    scope = _buffer_scope(session, given)
    ttl = given.ttl_minutes * 60
    count = session.db.working.add(given.text, role=given.role, ttl=ttl, world=session.world, **scope)
    return tool_results.Buffered(messages=count)


def working_get(session: Session, given: tool_arguments.WorkingGet, call: Call) -> tool_results.Buffer:
    """``memory_working_get``."""
    found = session.db.working.get(last=given.limit, **_buffer_scope(session, given))
    return tool_results.Buffer(
        messages=[tool_results.Message(role=each.role, text=each.content, at=format_time(each.at)) for each in found]
    )


def working_clear(session: Session, given: tool_arguments.WorkingScope, call: Call) -> tool_results.Buffered:
    """``memory_working_clear``."""
    session.db.working.clear(**_buffer_scope(session, given))
    return tool_results.Buffered(messages=0)


def dream(session: Session, given: tool_arguments.Dream, call: Call) -> tool_results.Dreamt:
    """``memory_dream``, which asks no model; a server has it only if its operator says so."""
    session.require_whole_store("a dream covers the whole store", "An operator does it with `worlddb dream`")
    return tool_results.dreamt(
        session.db.dream(dry_run=given.dry_run, max_deprecation_ratio=given.max_deprecation_ratio, halt=given.halt)
    )


def consolidate(session: Session, given: tool_arguments.Consolidate, call: Call) -> tool_results.Consolidation:
    """``memory_consolidate``, which asks no model; a server has it only if its operator says so."""
    session.require_whole_store(
        "a consolidation covers the whole store", "An operator does it with `worlddb consolidate`"
    )
    done = session.db.consolidate(min_age=given.min_age_hours * 3600, dry_run=given.dry_run, limit=given.limit)
    return tool_results.Consolidation(
        summaries=list(done.summaries),
        closed=done.closed,
        retracted=done.retracted,
        conflicts=done.conflicts,
        proposals=len(done.pairs or done.proposals),
        marked=done.marked,
        left=done.left,
        dry_run=done.dry_run,
        busy=done.busy,
    )


def _all_scopes_of(session: Session, label: Label) -> list[str]:
    refs: list[str] = session.refs_at_any_time(session.view_to_write(), label)
    if not refs:
        raise UnknownReference(f"There is no scope {mcp_wording.named(str(label))}", "See memory_list_scopes")
    return refs


def decide(session: Session, given: tool_arguments.Decide, call: Call) -> tool_results.Done:
    """``memory_decide``."""
    known = session.view_to_write().proposals(status=None)
    matching = [each for each in known if each.ref.startswith(given.proposal.lower())]
    if len(matching) != 1:
        problem = "There is no proposal" if not matching else "There are several proposals that begin with"
        raise UnknownReference(f"{problem} {mcp_wording.named(given.proposal)}", "List them with memory_proposals")
    methods = {"accept": session.db.accept, "reject": session.db.reject, "undo": session.db.undo}
    receipt = methods[given.decision](matching[0].ref, why=given.why)
    return _answer(session, receipt, matching[0].ref)


def _retire_memories(session: Session, call: Call, scopes: list[World], why: str, *, itself: bool) -> tool_results.Done:
    """Retire all current and future memories of scopes in one commit; with ``itself`` also the scopes."""
    scope_refs, view = [scope.ref for scope in scopes], session.view_to_write()
    found = _current_and_future(session, view, scope_refs)
    call.tell(f"{len(found)} memories are retired")
    with session.db.batch(progress=call.step) as tx:
        # Retire members before their containers, so that no note says that they go on.
        for ref in [*reversed(found), *(scope_refs if itself else ())]:
            tx.retire(ref, why=why)
    later = (ref for ref, world in found.items() if world.valid.start > view.valid)
    whole = session.db.view(seq=view.seq, valid=view.valid)
    planned = {ref for ref in later if all(each.valid.start > view.valid for each in whole.history(ref))}
    hidden = [ref for ref, world in found.items() if ref not in planned and _is_hidden(world, view)]
    receipt = tx.receipt
    kept = (note for note in receipt.notes if note.code != "never_valid" or not planned.issuperset(note.refs))
    answer = _answer(session, msgspec.structs.replace(receipt, notes=tuple(kept)), scope_refs[0], retired=len(found))
    of_all = f"of the {len(found)}"
    answer.notes += [f"Ended before they began: {len(planned)} {of_all}, which are never valid now"] if planned else []
    answer.notes += [f"Ended while hidden, by a deadline or as deprecated: {len(hidden)} {of_all}"] if hidden else []
    return answer


def _current_and_future(session: Session, view: View, scopes: list[str]) -> dict[str, World]:
    """Return the current and future memories of scopes by reference, including hidden ones."""
    found = {world.ref: world for world in session.memories_in(view, scopes, hidden=True)}
    later = [*session.future_memories(view, scopes, found)]
    return {**found, **{world.ref: world for world in later}}


def _is_hidden(world: World, view: View) -> bool:
    is_over = world.expires_at is not None and world.expires_at <= view.valid and not world.pinned
    return world.deprecated or is_over


def _require_scopes(session: Session, view: View, given: tool_arguments.RetireAll) -> list[World]:
    label = Label(given.kind, given.scope_id)
    found = session.scopes(view, label)
    if not found:
        raise UnknownReference(f"There is no scope {mcp_wording.named(str(label))}", "See memory_list_scopes")
    return found


def _check_text(text: str) -> None:
    if is_blank(text):
        raise InputError("text is blank", "Give one statement, understandable by itself")


def _check_labels(labels: list[Label]) -> None:
    """Refuse scope ids that are blank or contain invisible characters."""
    for kind, identity in labels:
        check_scope_name(identity, f"{kind}_id")


def _answer(session: Session, receipt: Receipt, ref: str, *, retired: int = 0) -> tool_results.Done:
    """Convert a receipt to an answer, without anything outside the served world.

    Raises:
        RefusedError: the write was refused.
    """
    receipt.raise_if_refused()
    # The call did not ask to change the entities that the memory is about.
    proposals, notes = list(receipt.proposals), [note for note in receipt.notes if note.code != "not_changed"]
    if session.world is not None and (proposals or notes):
        view = session.view_to_write()
        lookups = (view.reference_of, partial(session.get, view))
        proposals = [proposal for proposal in proposals if is_visible(view.proposal, proposal)]
        own = {*proposals, ref}
        notes = notes_inside(
            notes, view, lambda other: other in own or any(is_visible(look, other) for look in lookups)
        )
    outcome = type(receipt.outcome).__name__.lower() if receipt.events else "unchanged"
    if outcome == "staged" and not proposals:
        outcome = "committed"
    return tool_results.Done(
        id=ref,
        outcome=outcome,
        seq=session.commit_number(receipt.seq),
        written_at=format_time(receipt.ingest_time) if receipt.events else None,
        retired=retired,
        proposals=proposals,
        notes=[mcp_wording.explain_note(note) for note in notes],
    )
