"""The tools that only read: recall, lists, history, proposals, conflicts and verification.

Each takes the session, its checked arguments and the call, and returns one record.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from worlddb import (
    DamagedStore,
    Hit,
    InputError,
    Recall,
    RecallReceipt,
    Streams,
    View,
    Withdrawal,
    World,
    group_hits,
    parse_kref,
    read_recall_receipt,
    recall_receipt_text,
)
from worlddb.memory_scopes import recall_statements, replacement_chain, with_conflicts
from worlddb.tools.mcp import answer_notes, tool_arguments, tool_results
from worlddb.tools.mcp.session import (
    PAIR_BYTES,
    PLACE_BYTES,
    WORLD_BYTES,
    Call,
    ListRequest,
    PagedView,
    Session,
    combine_passes,
)

_PROPOSAL_BYTES: Final = 32
MAX_VERSIONS: Final = 100
MAX_FINDINGS: Final = 10


def listing(session: Session, given: tool_arguments.Listing, call: Call) -> tool_results.Memories:
    """``memory_list``."""
    paged = session.resume(given.cursor, ListRequest("memory_list", given), behind=PLACE_BYTES)
    view = paged.view
    scopes = session.scope_refs(view, given, include_retired=given.include_retired)
    behind = session.memories_after(view, scopes, paged.behind, include_retired=given.include_retired)
    retired = given.include_retired
    said = (each for each in behind if retired or each[1].name or each[1].content)
    page, cursor = paged.page_after(list(islice(said, given.limit + 1)), given.limit, lambda each: each[0])
    unknown = [label for label in session.labels(given) if not session.scopes(view, label, include_retired=retired)]
    return tool_results.Memories(
        memories=[tool_results.memory(world, session.owners_to_name(view, world.ref, given)) for _, world in page],
        notes=[session.explain_unknown_scope(view, label) for label in unknown],
        next_cursor=cursor,
        **session.moment(view),
    )


def read(session: Session, given: tool_arguments.Read, call: Call) -> tool_results.Whole:
    """``memory_read``."""
    view = session.view()
    found = session.memory(view, given.id)
    # A memory that is still to come does not read as retired.
    then = session.later(view, found.valid.start)
    found = session.get(then, found.ref)
    scopes = session.scopes_of(view, found.ref)
    return tool_results.whole(found, scopes, session.owners(then, found.ref), given.offset)


def list_scopes(session: Session, given: tool_arguments.ListScopes, call: Call) -> tool_results.Scopes:
    """``memory_list_scopes``."""
    paged = session.resume(given.cursor, ListRequest("memory_list_scopes", given), behind=WORLD_BYTES)
    behind = paged.behind.hex() or None
    found = session.all_scopes(paged.view, include_retired=given.include_retired, after=behind)
    wanted = (world for world in found if given.kind in (None, world.name.partition(":")[0]))
    part = list(islice(wanted, given.limit + 1))
    page, cursor = paged.page_after(part, given.limit, lambda each: bytes.fromhex(each.ref))
    scopes = [
        tool_results.Scope(
            id=world.ref,
            kind=world.name.partition(":")[0],
            scope_id=world.name.partition(":")[2],
            retired=world.closed,
            since=tool_results.time(world.ingested_at) or "",
        )
        for world in page
    ]
    return tool_results.Scopes(scopes=scopes, next_cursor=cursor)


def history(session: Session, given: tool_arguments.History, call: Call) -> tool_results.Versions:
    """``memory_history``."""
    view = session.view()
    start = session.memory(view, given.id).ref
    return versions(session, session.around(view, start), start)


def versions(session: Session, view: View, start: str) -> tool_results.Versions:
    """Return the versions of a world and of the worlds that it replaced or was replaced by."""
    chain, is_whole = replacement_chain(view, start)
    found = [(ref, version) for ref in chain for version in view.history(ref)]
    found.sort(key=lambda each: each[1].seq)
    complete = is_whole and len(found) <= MAX_VERSIONS
    shown = [
        tool_results.version_entry(ref, version, session.commit_number(version.seq))
        for ref, version in found[-MAX_VERSIONS:]
    ]
    return tool_results.Versions(versions=shown, complete=complete)


def proposals(session: Session, given: tool_arguments.Proposals, call: Call) -> tool_results.Pairs:
    """``memory_proposals``."""
    paged = session.resume(given.cursor, ListRequest("memory_proposals", given), behind=_PROPOSAL_BYTES)
    status = None if given.status == "all" else given.status
    found = paged.view.proposals(status=status, limit=given.limit + 1, after=paged.behind.hex() or None)
    page, cursor = paged.page_after(found, given.limit, lambda each: bytes.fromhex(each.ref))
    owners = partial(session.owners, paged.view)
    return tool_results.Pairs(proposals=[tool_results.pair(proposal, owners) for proposal in page], next_cursor=cursor)


def conflicts(session: Session, given: tool_arguments.Conflicts, call: Call) -> tool_results.Contradictions:
    """``memory_conflicts``."""
    paged = session.resume(given.cursor, ListRequest("memory_conflicts", given), behind=PAIR_BYTES)
    view = paged.view
    if given.id is None:
        found = session.conflicts_after(view, session.scope_refs(view, given), paged.behind)
    else:
        found = _conflict_pairs(view, session.memory(view, given.id, given), paged.behind)
    page, cursor = paged.page_after(list(islice(found, given.limit + 1)), given.limit, lambda each: each[0])

    def shown(world: World) -> tool_results.Memory:
        return tool_results.memory(world, session.owners_to_name(view, world.ref, given))

    listed = [tool_results.Conflict(first=shown(one), second=shown(other)) for _, one, other in page]
    return tool_results.Contradictions(conflicts=listed, next_cursor=cursor)


def impact(session: Session, given: tool_arguments.Reach, call: Call) -> tool_results.Impact:
    """``memory_impact``."""
    view = session.view()
    found = view.impact(session.memory(view, given.id).ref, depth=given.depth)
    shown = [tool_results.affected(each, tool_results.called_in(view)) for each in found.worlds[: given.limit]]
    return tool_results.Impact(
        affected=shown, more=len(found) - len(shown), cut_off=list(found.cut_off[: tool_arguments.MAX_PAGE])
    )


def provenance(session: Session, given: tool_arguments.Provenance, call: Call) -> tool_results.Origins:
    """``memory_provenance``."""
    view = session.view()
    found = view.provenance(session.memory(view, given.id).ref)
    shown = [tool_results.origin(each, tool_results.called_in(view)) for each in found[: given.limit]]
    return tool_results.Origins(rests_on=shown, more=len(found) - len(shown))


def make_withdrawal_plan(session: Session, view: View, given: tool_arguments.PlanWithdrawal) -> Withdrawal:
    """Plan the withdrawal that the arguments describe, of what a view of now sees."""
    return view.withdrawal(
        None if given.id is None else session.get(view, given.id).ref,
        author=given.author,
        since=given.since,
        until=given.until,
        how=given.how,
        dependents=given.dependents,
        questions=given.questions,
    )


def plan_withdrawal(session: Session, given: tool_arguments.PlanWithdrawal, call: Call) -> tool_results.WithdrawalPlan:
    """``memory_plan_withdrawal``: nothing is done."""
    view = session.view()
    plan = make_withdrawal_plan(session, view, given)
    return tool_results.withdrawal_plan(plan, given.limit, tool_results.called_in(view))


def recall_receipt(session: Session, given: tool_arguments.RecallReceipt, call: Call) -> tool_results.Receipted:
    """``memory_recall_receipt``: an exact recall in at most one scope, since a receipt covers one recall."""
    view = session.view(valid=given.valid, known=given.known, given=given)
    scopes = session.scope_refs(view, given)
    if session.user is not None and not any(label.kind == "user" for label in session.labels(given)):
        raise InputError(
            "A receipt covers all that is in a scope, and this one may hold what others have", "Name user_id alone"
        )
    if scopes is not None and len(scopes) != 1:
        labels = session.labels(given)
        unknown = [session.explain_unknown_scope(view, each) for each in labels if not session.scopes(view, each)]
        several = "Several scopes were given, and a receipt covers one"
        raise InputError("; ".join(unknown) or several, "Name one scope, or none")
    inside, about = None if scopes is None else scopes[0], given.about
    answer = view.recall(
        given.query,
        world=inside,
        k=given.limit,
        exact=True,
        receipt=True,
        about=about,
        type=given.type,
        lanes=session.lanes(),
    )
    assert answer.receipt is not None, "it was asked for"
    return tool_results.Receipted(
        memories=[tool_results.hit(hit, given.query) for hit in answer],
        receipt=recall_receipt_text(answer.receipt),
        reference=answer.receipt.reference,
        **session.moment(view),
    )


def receipts_of(session: Session, given: tool_arguments.ReceiptsOf, call: Call) -> tool_results.KeptReceipts:
    """``memory_receipts_of``."""
    view = session.view()
    found = view.receipts_of(session.memory(view, given.id).ref)[::-1]
    shown = [tool_results.kept_receipt(each, session.commit_number(each.seq)) for each in found[: given.limit]]
    return tool_results.KeptReceipts(receipts=shown, more=len(found) - len(shown))


def receipt_of(session: Session, text: str) -> RecallReceipt:
    """Parse a receipt that this server may check; a server of one world accepts only those of that world.

    Raises:
        InputError: it is of another world.
    """
    receipt = read_recall_receipt(text)
    if session.world is not None and getattr(receipt.head, "world", None) != session.world:
        raise InputError(
            "This server serves one world, and the receipt is from another",
            "Give a receipt that was made in this world",
        )
    return receipt


def profiles(session: Session, given: tool_arguments.Profiles, call: Call) -> tool_results.Profiles:
    """``memory_profiles``."""
    view = session.view()
    found = view.profiles(None if given.id is None else session.get(view, given.id).ref)
    names = {each.world: view.get(each.world, include_superseded=True) for each in found}
    return tool_results.Profiles(
        profiles=[
            tool_results.Profile(
                id=each.world,
                name="" if (world := names[each.world]) is None else world.name[: tool_results.MAX_NAME],
                profile=each.name,
                node_types=list(each.node_types),
                relations=list(each.relations),
                why=each.why,
            )
            for each in found
        ]
    )


def belief_settings(session: Session, given: tool_arguments.BeliefSettings, call: Call) -> tool_results.BeliefSettings:
    """``memory_belief_settings``: those of the whole store, which hold in each of its worlds."""
    found = session.view(known=given.known).belief_settings()
    return tool_results.BeliefSettings(
        tags=list(found.tags), single=list(found.single), entrenchment=dict(found.entrenchment)
    )


def check_recall(session: Session, given: tool_arguments.CheckRecall, call: Call) -> tool_results.RecallChecked:
    """``memory_check_recall``; a server of one world checks the receipts of that world alone."""
    receipt = receipt_of(session, given.receipt)
    found = session.db.check_recall(receipt, given.question, **given.filters)
    return tool_results.RecallChecked(
        verdict=found.verdict,
        problems=list(found.problems),
        proved=found.proved,
        erased=list(found.erased),
        reference=found.reference,
    )


def path(session: Session, given: tool_arguments.Way, call: Call) -> tool_results.Path:
    """``memory_path``."""
    view = session.view()
    ends = [session.memory(view, each).ref for each in (given.id, given.to)]
    found = view.shortest_path(*ends, depth=given.depth)
    steps, called = [], tool_results.called_in(view)
    for ref, edge in () if found is None else zip(found.path, found.edges, strict=True):
        walked = view.edge(edge)
        steps.append(tool_results.Walked(id=ref, name=called(ref), relation=walked.type, back=walked.source == ref))
    return tool_results.Path(steps=steps)


def resolve_kref(session: Session, given: tool_arguments.ResolveKref, call: Call) -> tool_results.Resolved:
    """``memory_resolve_kref``."""
    wanted = parse_kref(given.kref)
    return tool_results.resolved(str(wanted), session.view(valid=given.valid, known=given.known).resolve_kref(wanted))


def preferences(session: Session, given: tool_arguments.Preferences, call: Call) -> tool_results.Preferences:
    """``memory_preferences``."""
    view = session.view()
    subject = session.reference(view, given.subject, writes=False)
    found = view.preferences(subject, relation=given.relation)
    shown = [tool_results.preference(each) for each in found[: given.limit]]
    return tool_results.Preferences(preferences=shown, more=len(found) - len(shown))


def states(session: Session, given: tool_arguments.States, call: Call) -> tool_results.States:
    """``memory_states``."""
    view = session.view(valid=given.valid, known=given.known)
    source = session.reference(view, given.id, writes=False)
    target = None if given.to is None else session.reference(view, given.to, writes=False)
    found = view.states(source, target, type=given.relation)[::-1]
    shown = []
    for state in found[: given.limit]:
        other = state.target if state.source == source else state.source
        shown.append(tool_results.state(state, tool_results.called_in(view)(other)))
    return tool_results.States(states=shown, more=len(found) - len(shown))


def beliefs(session: Session, given: tool_arguments.Beliefs, call: Call) -> tool_results.Believed:
    """``memory_beliefs``."""
    view = session.view(valid=given.valid, known=given.known)
    item = session.memory(view, given.id).ref
    return tool_results.Believed(beliefs=[tool_results.belief(atom) for atom in sorted(view.belief_base(of=item))])


def _conflict_pairs(view: View, one: World, behind: bytes) -> Iterator[tuple[bytes, World, World]]:
    """Yield the conflicts of one memory behind a given pair, each after its place."""
    last = behind[PLACE_BYTES:].hex()
    for ref in one.conflicts[one.conflicts.index(last) + 1 if last in one.conflicts else 0 :]:
        other = view.get(ref)
        if other is not None:
            yield bytes(PLACE_BYTES) + bytes.fromhex(ref), one, other


def verify(session: Session, given: tool_arguments.Verify, call: Call) -> tool_results.Verified:
    """``memory_verify``.

    A server of one world checks only that world: its answer reveals neither the state nor the size of the rest.
    """
    if session.world is not None:
        return _verify_world(session)
    found = session.db.verify(deep=given.deep, progress=combine_passes(call.step, 2 if given.deep else 1))
    view = session.view()
    findings = [str(finding) for finding in found.findings[:MAX_FINDINGS]]
    return tool_results.Verified(ok=found.ok, seq=view.seq, root=view.hash(), commits=found.commits, findings=findings)


def _verify_world(session: Session) -> tool_results.Verified:
    view = session.view()
    try:
        session.db.check_world(session.world, seq=view.seq)
        findings = []
    except DamagedStore:
        findings = ["Something in this world was altered"]
    return tool_results.Verified(ok=not findings, seq=None, root=view.hash(), commits=None, findings=findings)


RANKED_HITS: Final = 128
"""Best memories by which sessions are ranked; the same for every page, so that pages agree."""
SESSION_KIND: Final = "run"
"""Kind of scope that is a session; memories of one user or app need not belong together."""


def _resume_recall(session: Session, resume: Callable[[], PagedView]) -> PagedView:
    """Return the view and offset of a page of a recall, in which what was written last has vectors, if that is soon."""
    paged = resume()
    return resume() if session.db._due.await_vectors(paged.view, session.lanes()) else paged


def recall(session: Session, given: tool_arguments.Recall, call: Call) -> tool_results.Recalled:
    """``memory_recall``."""
    paged = _resume_recall(session, lambda: session.resume(given.cursor, ListRequest("memory_recall", given)))
    if given.group is None:
        return _answer_recall(session, paged, given, given.query, given.neighbours)
    return _answer_by_session(session, paged, given, given.group)


def as_of(session: Session, given: tool_arguments.AsOf, call: Call) -> tool_results.Recalled:
    """``memory_as_of``."""
    if given.valid is None and given.known is None and given.cursor is None:
        raise InputError("The moment is missing", "Give valid, known, or both")
    if (given.query is None) == (given.id is None):
        raise InputError(
            "Give a query to recall, or an id to read one memory", "Both a query and an id were given, or neither"
        )
    asked = ListRequest("memory_as_of", given)
    resume = partial(session.resume, given.cursor, asked, valid=given.valid, known=given.known)
    if given.query is not None:
        return _answer_recall(session, _resume_recall(session, resume), given, given.query)
    assert given.id is not None
    paged = resume()
    memory = session.memory(paged.view, given.id, given)
    found = None if memory.valid.start > paged.view.valid else paged.view.get(memory.ref)
    hits = (
        [] if found is None else [tool_results.looked_up(found, session.owners_to_name(paged.view, found.ref, given))]
    )
    return tool_results.Recalled(
        memories=hits,
        groups=[],
        paths=[],
        notes=[],
        space=None,
        confidence=None,
        next_cursor=None,
        **session.moment(paged.view),
    )


_MAX_WIDENED: Final = 16
"""The most scopes that a widening recall goes through."""


class _ScopedRecall:
    """A recall in some scopes: its hits, best first, and notes on them."""

    def __init__(self, session: Session, view: View, given: tool_arguments.Paged, query: str, neighbours: int) -> None:
        self._session, self._view, self._query, self._neighbours = session, view, query, neighbours
        self._given = given
        self._scopes = session.scope_refs(view, given)
        self._missing = [label for label in session.labels(given) if not session.scopes(view, label)]
        self._answers: list[Recall] = []
        self._is_single_scope = len(session.labels(given)) == 1
        self._options: dict[str, Any] = {"lanes": session.lanes()}
        self._is_widening = False
        if isinstance(given, tool_arguments.Recall | tool_arguments.AsOf):
            self._options["min_trust"] = given.min_trust
        if isinstance(given, tool_arguments.Recall):
            self._options |= {"about": given.about, "type": given.type, "label": given.label, "tag": given.tag}
            self._options |= {"min_confidence": given.min_confidence or None, "properties": given.properties or None}
            if given.paths or given.detail == "full":
                self._options["streams"] = Streams(paths=given.paths, describe=given.detail == "full")
            self._is_widening = given.widen and bool(self._scopes)

    def hits(self, wanted: int) -> list[Hit]:
        """Return at least ``wanted`` memories if there are as many, best first."""
        found: dict[str, Hit] = {}
        self._answers = []
        # Scopes are ordered from the widest, the user, to the narrowest, the run.
        scopes: list[Any] = [None] if self._scopes is None else self._scopes
        is_of_several_worlds = self._is_single_scope and len(scopes) > 1 and not self._is_widening
        if is_of_several_worlds:
            from worlddb.agent_memory import LOOKED_AT, joined

            wanted = max(wanted, LOOKED_AT)
        for scope in [scopes[::-1][:_MAX_WIDENED]] if self._is_widening else scopes:
            answer = self._recall_scope(scope, wanted)
            self._answers.append(answer)
            found |= {hit.ref: hit for hit in answer}
        if is_of_several_worlds:
            # As after the import of a bundle: compare their statements.
            merged = joined(self._answers, len(found) or 1, self._query, self._view.valid)
            self._answers[0] = replace(self._answers[0], note=merged.note, competing=merged.competing)
            return with_conflicts(self._view, [self._view.confined(scope) for scope in scopes], merged.hits)
        # One answer is in its order, which rules may have changed after the scores were counted.
        return [*found.values()] if len(self._answers) == 1 else sorted(found.values(), key=lambda hit: -hit.score)

    def _recall_scope(self, scope: Any, wanted: int) -> Recall:
        where = {"scopes": scope} if self._is_widening else {"world": scope}
        options = {"neighbours": self._neighbours, **where, **self._options}
        return recall_statements(
            lambda k: self._view.recall(self._query, k=k, **options), wanted, tool_arguments.MAX_OFFSET
        )[0]

    def found(self, hit: Hit) -> tool_results.Found:
        """Return a hit as a memory."""
        return tool_results.hit(hit, self._query, self._session.owners_to_name(self._view, hit.ref, self._given))

    @property
    def paths(self) -> list[tool_results.Way]:
        """The paths from what the question names, best first, each once."""
        found = {path.edges: path for answer in self._answers for path in answer.paths}
        return [tool_results.way(each) for each in sorted(found.values(), key=lambda each: -each.score)]

    @property
    def space(self) -> str | None:
        """The embedding space of the recall; ``None`` on a server of one world."""
        if self._session.world is not None:
            return None
        return next((answer.space for answer in self._answers if answer.space), None)

    @property
    def confidence(self) -> float | None:
        """The highest confidence of all scopes that one of the memories answers."""
        known = [answer.confidence for answer in self._answers if answer.confidence is not None]
        return max(known, default=None)

    @property
    def weak(self) -> bool:
        """Whether perhaps none of the memories answers; a weak answer in one scope does not matter beside another's."""
        return answer_notes.are_weak(self._answers)

    def competing(self, shown: Iterable[str]) -> list[tool_results.Rivals] | UnsetType:
        """Return the pairs that compete of those memories that are shown."""
        known = {*shown}
        pairs = {(each.ref, each.earlier): each.relation for answer in self._answers for each in answer.competing}
        told = [
            tool_results.Rivals(id=ref, earlier=earlier, relation=relation)
            for (ref, earlier), relation in pairs.items()
            if {ref, earlier} <= known
        ]
        return told or UNSET

    def notes(self, shown: Sequence[Hit]) -> list[str]:
        """Return notes on the answer for its reader, with the texts of no memories but those that are shown."""
        absent = [self._session.explain_unknown_scope(self._view, label) for label in self._missing]
        plan_notes = [] if "vector" in self._options["lanes"] else [answer_notes.WITHOUT_VECTORS]
        found = answer_notes.recall_notes(self._answers, in_one_world=self._session.world is not None, to_model=True)
        refs = {hit.ref for hit in shown}
        unshown = [hit for answer in self._answers for hit in answer.hits if hit.ref not in refs]
        return absent + answer_notes.without_texts(found, unshown, shown) + plan_notes


def _answer_recall(
    session: Session, paged: PagedView, given: tool_arguments.Paged, query: str, neighbours: int = 0
) -> tool_results.Recalled:
    scoped_recall = _ScopedRecall(session, paged.view, given, query, neighbours)
    # One hit more than the page holds tells whether there is a next page.
    hits = scoped_recall.hits(min(paged.offset + given.limit + 1, tool_arguments.MAX_OFFSET))
    page, cursor = paged.page(hits, given.limit)
    return tool_results.Recalled(
        memories=[scoped_recall.found(hit) for hit in page],
        groups=[],
        paths=scoped_recall.paths,
        notes=scoped_recall.notes(hits[: paged.offset + given.limit]),
        space=scoped_recall.space,
        confidence=scoped_recall.confidence,
        weak=scoped_recall.weak,
        competing=scoped_recall.competing(hit.ref for hit in page),
        next_cursor=cursor,
        **session.moment(paged.view),
    )


def _answer_by_session(
    session: Session, paged: PagedView, given: tool_arguments.Recall, most: int
) -> tool_results.Recalled:
    scoped_recall = _ScopedRecall(session, paged.view, given, given.query, given.neighbours)
    hits = scoped_recall.hits(RANKED_HITS)
    sessions = _SessionLookup(session, paged.view)
    found = group_hits(hits, sessions.keys(hits))
    page, cursor = paged.page(found, min(given.limit, tool_arguments.MAX_PAGE // most))
    memories = {hit.ref: scoped_recall.found(hit) for group in page for hit in group.hits[:most]}
    return tool_results.Recalled(
        memories=list(memories.values()),
        groups=[tool_results.session(group, sessions.world(group.key), most) for group in page],
        paths=scoped_recall.paths,
        notes=scoped_recall.notes([hit for group in page for hit in group.hits[:most]]),
        space=scoped_recall.space,
        confidence=scoped_recall.confidence,
        weak=scoped_recall.weak,
        competing=scoped_recall.competing(memories),
        next_cursor=cursor,
        **session.moment(paged.view),
    )


class _SessionLookup:
    """Looks up the sessions and documents that contain memories directly."""

    def __init__(self, session: Session, view: View) -> None:
        self._session, self._view = session, view
        self._known: dict[str, bool] = {}

    def world(self, ref: str) -> World | None:
        """Return a session; ``None`` if it was erased."""
        return self._view.get(ref, include_superseded=True)

    def keys(self, hits: list[Hit]) -> Callable[[Hit], list[str]]:
        """Return a function that lists the sessions of a hit.

        A hit stands for itself if it is in no session, or if it is the session of other hits.
        """
        sessions = {hit.ref: [ref for ref in self._view.containers(hit.ref) if self._is_session(ref)] for hit in hits}
        containing = {ref for refs in sessions.values() for ref in refs}

        def keys_of(hit: Hit) -> list[str]:
            own = [hit.ref] if hit.ref in containing or not sessions[hit.ref] else []
            return own + sessions[hit.ref]

        return keys_of

    def _is_session(self, ref: str) -> bool:
        if ref not in self._known:
            world = self.world(ref)
            scope = world is not None and self._session.is_scope(self._view, world)
            of_a_run = world is not None and world.name.partition(":")[0] == SESSION_KIND
            self._known[ref] = ref != self._session.top and (of_a_run or not scope)
        return self._known[ref]
