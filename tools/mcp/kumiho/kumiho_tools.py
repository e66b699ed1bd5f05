"""The tools by the names of Kumiho's paper (section 11.2), each by calls of this store.

Where the two differ, WorldDB's meaning counts: an item is a world and a revision one of its versions, ``current`` is
the version that holds, no memory is found by guessing, and no artifact is opened. Krefs are resolved inside the served
world.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from worlddb import (
    Artifact,
    ExtractiveSummarizer,
    Hit,
    InputError,
    Kref,
    Member,
    Receipt,
    UnknownReference,
    View,
    World,
    format_time,
    parse_kref,
    redact,
)
from worlddb.memory_scopes import embed_new
from worlddb.tools.mcp import mcp_wording, tool_results
from worlddb.tools.mcp.kumiho import kumiho_arguments as kumiho
from worlddb.tools.mcp.session import Call, Session

EDGES: Final = {
    "DEPENDS_ON": "depends_on",
    "DERIVED_FROM": "derived_from",
    "SUPERSEDES": "supersedes",
    "REFERENCED": "refers_to",
    "CONTAINS": "contains",
    "CREATED_FROM": "created_from",
}
_DEPENDING: Final = ("depends_on", "derived_from", "supersedes", "created_from")
_NEIGHBOURS: Final = 10
_MAX_WALKED: Final = 500


# -- what is told


def _item_record(view: View, found: World | Hit, *, score: float | None = None, reason: str = "") -> kumiho.Told:
    fields = tool_results.memory(found) if isinstance(found, World) else None
    return kumiho.Told(
        id=found.ref,
        kref=_kref_by_place(view, found.ref, found.name, found.type),
        name=found.name[: tool_results.MAX_NAME],
        kind=found.type,
        text=found.content[: tool_results.MAX_LISTED_TEXT],
        revision=found.number if isinstance(found, World) else None,
        metadata=dict(found.properties) if isinstance(found, World) else {},
        valid_from=None if fields is None else fields.valid_from,
        valid_to=None if fields is None else fields.valid_to,
        author=found.author,
        score=score,
        reason=reason[: tool_results.MAX_LISTED_TEXT],
    )


def _kref_by_place(view: View, ref: str, name: str, kind: str) -> str:
    """The kref of an item by where it lies; empty unless that leads back to it."""
    spaces: list[str] = []
    around = view.containers(ref)
    for _ in range(20):
        found = [world for each in around if (world := view.get(each)) is not None]
        space = next((each for each in found if each.type in ("Space", "Project")), None)
        if space is None or (not spaces and space.type == "Project"):
            return ""
        if space.type == "Project":
            break
        spaces.insert(0, space.name)
        around = view.containers(space.ref)
    else:
        return ""
    with suppress(InputError):
        text = str(parse_kref(str(Kref(space.name, tuple(spaces), name, kind))))
        there = view.resolve_kref(text)
        return text if isinstance(there, World) and there.ref == ref else ""
    return ""


def _find_item(session: Session, view: View, kref: str) -> World:
    """The item of an id or a kref, whether it holds or not; of a revision the version of that number."""
    if kref.lower().startswith("kref://"):
        wanted = parse_kref(kref)
        if wanted.revision is not None or wanted.artifact:
            found = view.resolve_kref(wanted, include_deprecated=True)
            if isinstance(found, World):
                return found
            raise InputError("An artifact was given", "Give its item")
    return session.get(view, kref)


def _found_answer(view: View, worlds: Iterable[World | None], limit: int) -> kumiho.Found:
    there = [world for world in worlds if world is not None]
    return kumiho.Found(items=[_item_record(view, each) for each in there[:limit]], more=max(0, len(there) - limit))


def _done_answer(session: Session, receipt: Receipt, ref: str, count: int = 0) -> kumiho.Done:
    receipt.raise_if_refused()
    outcome = type(receipt.outcome).__name__.lower() if receipt.events else "unchanged"
    notes = [] if session.world is not None else [mcp_wording.explain_note(note) for note in receipt.notes]
    return kumiho.Done(id=ref, outcome=outcome, seq=session.commit_number(receipt.seq), count=count, notes=notes)


def _at(project: str, space: str, title: str, kind: str) -> str:
    return str(Kref(project, tuple(part for part in space.split("/") if part), title, kind))


def _scope(session: Session, given: Any) -> dict[str, Any]:
    inside = "" if session.world is None else f"{session.world} "
    user = given.user_id if given.user_id is not None else session.user
    named = {"project": inside + given.project, "context": given.context, "user": user or ""}
    return named | {"session": given.session_id}


# -- the life of a memory


def ingest(session: Session, given: kumiho.Ingest, call: Call) -> kumiho.Unit:
    """``memory_ingest``."""
    view, messages = session.view(), 0
    if given.message is not None:
        messages = session.db.working.add(given.message, world=session.world, **_scope(session, given))
    kref = None if given.title is None else _at(given.project, given.space, given.title, given.memory_type)
    properties = {"topics": list(given.topics)} if given.topics else None
    done = session.db.ingest_memory(
        kref,
        given.summary,
        question=given.message or given.summary,
        k=given.limit and session.most_hits(given.limit),
        derived_from=[session.get(view, each).ref for each in given.sources],
        depends_on=[session.get(view, each).ref for each in given.depends_on],
        bundles=[session.get(view, each).ref for each in given.bundles],
        artifacts=[Artifact(name="content", location=given.artifact)] if given.artifact else [],
        tags=given.tags,
        within=session.world,
        properties=properties,
        source=call.source,
    )
    if kref is not None:
        embed_new(session.db)
    seen = session.view()
    return kumiho.Unit(
        id=done.ref,
        kref=kref or "",
        is_new=done.is_new,
        seq=None if done.receipt is None else session.commit_number(done.receipt.seq),
        messages=messages,
        relevant=[_item_record(seen, hit, score=hit.score, reason=hit.reason) for hit in done.relevant],
        near=[each.ref for each in done.near],
        proposals=[each.ref for each in done.verdicts],
    )


def recall(session: Session, given: kumiho.Recall, call: Call) -> kumiho.Found:
    """``memory_recall``."""
    view, best, mode = session.view(), dict[str, Hit](), ""
    for query in (given.query, *given.queries):
        around = _NEIGHBOURS if given.follow_edges else 0
        found = view.recall(query, k=given.limit, neighbours=around, lanes=session.lanes())
        mode = mode or found.search_mode
        for hit in found.hits:
            if hit.ref not in best or hit.score > best[hit.ref].score:
                best[hit.ref] = hit
    ranked = sorted(best.values(), key=lambda each: -each.score)[: given.limit]
    return kumiho.Found(
        items=[_item_record(view, hit, score=hit.score, reason=hit.reason) for hit in ranked], search_mode=mode
    )


def consolidate(session: Session, given: kumiho.ConsolidateSession, call: Call) -> kumiho.Done:
    """``memory_consolidate``: a session's buffer becomes one memory, without personal data."""
    scope = _scope(session, given)
    messages = session.db.working.get(**scope)
    if not messages:
        raise InputError(f"The session {mcp_wording.named(given.session_id)} has no messages", "Add some with chat_add")
    text = given.summary
    if not text:
        said = [Member("", "Turn", "", f"{each.role}: {each.content}", each.at) for each in messages]
        text = ExtractiveSummarizer()(Member("", "Session", "", "", messages[0].at), said)
    done = session.db.ingest_memory(
        _at(given.project, given.space, given.title, "conversation"),
        redact(text)[0],
        k=0,
        within=session.world,
        properties={"topics": list(given.topics)} if given.topics else None,
        source=call.source,
    )
    assert done.receipt is not None, "an item was named"
    if given.clear:
        session.db.working.clear(**scope)
    embed_new(session.db)
    return _done_answer(session, done.receipt, done.ref, len(messages))


def discover(session: Session, given: kumiho.Discover, call: Call) -> kumiho.Edges:
    """``memory_discover_edges``."""
    view = session.view()
    found = session.db.discover_edges(
        session.get(view, given.kref).ref,
        questions=(lambda world: list(given.questions)) if given.questions else None,
        limit=given.limit,
        within=session.world,
        link=not given.dry_run,
    )
    source = session.get(view, given.kref).ref
    return kumiho.Edges(
        edges=[
            kumiho.Joined(id=each.edge, type=each.type, source=source, target=each.target, reason=each.reason)
            for each in found
        ]
    )


def store_execution(session: Session, given: kumiho.StoreExecution, call: Call) -> kumiho.Done:
    """``memory_store_execution``."""
    view = session.view()
    done = session.db.ingest_memory(
        _at(given.project, given.space, given.title, "execution"),
        given.result,
        k=0,
        created_from=[session.get(view, each).ref for each in given.sources],
        artifacts=[Artifact(name=name, location=location) for name, location in given.artifacts.items()],
        within=session.world,
        properties={"tool": given.tool, "arguments": given.arguments, "succeeded": given.succeeded},
        source=call.source,
    )
    assert done.receipt is not None, "an item was named"
    embed_new(session.db)
    return _done_answer(session, done.receipt, done.ref)


def dream(session: Session, given: kumiho.DreamState, call: Call) -> tool_results.Dreamt:
    """``memory_dream_state``: what is published stays, which is for an operator to say otherwise."""
    if session.world is not None:
        raise InputError("This server serves one world, and a dream covers the whole store", "An operator does it")
    ratio = given.max_deprecation_ratio
    return tool_results.dreamt(
        session.db.dream(dry_run=given.dry_run, max_deprecation_ratio=ratio, batch_size=given.batch_size)
    )


def add_response(session: Session, given: kumiho.AddResponse, call: Call) -> kumiho.Done:
    """``memory_add_response``."""
    count = session.db.working.add(given.response, role="assistant", world=session.world, **_scope(session, given))
    return kumiho.Done(id="", outcome="buffered", seq=None, count=count)


def chat_add(session: Session, given: kumiho.ChatAdd, call: Call) -> kumiho.Done:
    """``chat_add``."""
    count = session.db.working.add(given.message, role=given.role, world=session.world, **_scope(session, given))
    return kumiho.Done(id="", outcome="buffered", seq=None, count=count)


def chat_get(session: Session, given: kumiho.ChatGet, call: Call) -> kumiho.Messages:
    """``chat_get``."""
    found = session.db.working.get(last=given.limit, **_scope(session, given))
    return kumiho.Messages(
        messages=[kumiho.Message(role=each.role, message=each.content, at=format_time(each.at)) for each in found]
    )


def chat_clear(session: Session, given: kumiho.Buffered, call: Call) -> kumiho.Done:
    """``chat_clear``."""
    return kumiho.Done(id="", outcome="cleared", seq=None, count=session.db.working.clear(**_scope(session, given)))


# -- looking around


def get_project(session: Session, given: kumiho.Project, call: Call) -> kumiho.Told:
    """``get_project``."""
    view = session.view()
    return _item_record(view, _project(view, given.project))


def _project(view: View, name: str) -> World:
    found = view.find(type="Project", name=name, limit=1)
    if not found:
        raise UnknownReference(
            f"There is no project {mcp_wording.named(name)}", "memory_ingest and create_item create one"
        )
    return found[0]


def get_spaces(session: Session, given: kumiho.Project, call: Call) -> kumiho.Found:
    """``get_spaces``."""
    view = session.view()
    return _found_answer(view, view.find(type="Space", world=_project(view, given.project).ref), 200)


def get_item(session: Session, given: kumiho.OfItem, call: Call) -> kumiho.Told:
    """``get_item`` and ``get_revision``."""
    view = session.view()
    return _item_record(view, _find_item(session, view, given.kref))


def get_artifacts(session: Session, given: kumiho.OfItem, call: Call) -> kumiho.Pointers:
    """``get_artifacts``."""
    view = session.view()
    found = view.artifacts(given.kref if "?" in given.kref else session.get(view, given.kref).ref)
    return kumiho.Pointers(artifacts=[kumiho.Pointer(name=each.name, location=each.location) for each in found])


def search_items(session: Session, given: kumiho.Search, call: Call) -> kumiho.Found:
    """``search_items``."""
    view = session.view()
    inside = None if given.project is None else _project(view, given.project).ref
    found = view.recall(given.query, k=given.limit, world=inside, type=given.kind, lanes=session.lanes())
    items = [_item_record(view, hit, score=hit.score, reason=hit.reason) for hit in found.hits]
    return kumiho.Found(items=items, search_mode=found.search_mode)


# -- reasons and origins


def get_edges(session: Session, given: kumiho.GetEdges, call: Call) -> kumiho.Edges:
    """``get_edges``."""
    view = session.view()
    wanted = None if given.edge_type is None else EDGES[given.edge_type]
    found = view.edges(session.get(view, given.kref).ref, type=wanted, direction=given.direction)
    return kumiho.Edges(
        edges=[
            kumiho.Joined(id=each.ref, type=each.type, source=each.source, target=each.target, reason=each.why)
            for each in found[:200]
        ]
    )


def get_dependencies(session: Session, given: kumiho.Walk, call: Call) -> kumiho.Found:
    """``get_dependencies``."""
    view = session.view()
    level, seen = [session.get(view, given.kref).ref], dict[str, None]()
    seen[level[0]] = None
    for _ in range(given.depth):
        edges = [edge for ref in level for type in _DEPENDING for edge in view.edges(ref, type=type, direction="out")]
        level = list(dict.fromkeys(edge.target for edge in edges if edge.target not in seen))
        seen |= dict.fromkeys(level)
        if not level or len(seen) > _MAX_WALKED:
            break
    return _found_answer(view, (view.get(ref, include_superseded=True) for ref in list(seen)[1:]), given.limit)


def get_dependents(session: Session, given: kumiho.Walk, call: Call) -> kumiho.Found:
    """``get_dependents`` and ``analyze_impact``."""
    view = session.view()
    found = view.impact(session.get(view, given.kref).ref, depth=given.depth)
    return _found_answer(view, (view.get(each.ref, include_superseded=True) for each in found.worlds), given.limit)


def find_path(session: Session, given: kumiho.FindPath, call: Call) -> kumiho.Edges:
    """``find_path``."""
    view = session.view()
    found = view.shortest_path(
        session.get(view, given.source).ref, session.get(view, given.target).ref, depth=given.depth
    )
    if found is None:
        return kumiho.Edges(edges=[], reached=False)
    walked = [view.edge(each) for each in found.edges]
    return kumiho.Edges(
        edges=[
            kumiho.Joined(id=each.ref, type=each.type, source=each.source, target=each.target, reason=each.why)
            for each in walked
        ]
    )


def provenance(session: Session, given: kumiho.OfItem, call: Call) -> kumiho.Found:
    """``get_provenance_summary``."""
    view = session.view()
    found = view.provenance(session.get(view, given.kref).ref)
    return _found_answer(view, (view.get(each.ref, include_superseded=True) for each in found), 50)


# -- time


def get_item_revisions(session: Session, given: kumiho.OfItem, call: Call) -> kumiho.Found:
    """``get_item_revisions``."""
    view = session.view()
    item = session.get(view, given.kref)
    kref = _kref_by_place(view, item.ref, item.name, item.type)
    return kumiho.Found(
        items=[
            kumiho.Told(
                id=item.ref,
                kref=f"{kref}?r={each.number}" if kref else "",
                name=each.name[: tool_results.MAX_NAME],
                kind=each.type,
                text=each.content[: tool_results.MAX_LISTED_TEXT],
                revision=each.number,
                metadata=dict(each.properties),
                valid_from=format_time(each.valid.start),
                valid_to=None,
                author=each.author,
            )
            for each in view.history(item.ref)
        ]
    )


def get_revision_by_tag(session: Session, given: kumiho.ByTag, call: Call) -> kumiho.Told:
    """``get_revision_by_tag``: ``current``, and ``latest`` where nobody set it, are what holds."""
    view = session.view()
    ref = session.get(view, given.kref).ref
    found = None
    with suppress(UnknownReference):
        found = view.get(ref, include_deprecated=True, tag=None if given.tag == "current" else given.tag)
    if found is None and given.tag == "latest":
        found = view.get(ref, include_deprecated=True)
    if found is None:
        raise UnknownReference(
            f"No revision of it has the tag {mcp_wording.named(given.tag)}", "See get_item_revisions"
        )
    return _item_record(view, found)


def get_revision_as_of(session: Session, given: kumiho.AsOf, call: Call) -> kumiho.Told:
    """``get_revision_as_of``."""
    ref = session.get(session.view(), given.kref).ref
    view = session.view(valid=given.time, known=given.time if given.known else None)
    found = view.get(ref, include_deprecated=True)
    if found is None:
        raise UnknownReference("It had no valid revision then", "Ask for another time, or see get_item_revisions")
    return _item_record(view, found)


def resolve_kref(session: Session, given: kumiho.Kref, call: Call) -> tool_results.Resolved:
    """``resolve_kref``."""
    wanted = parse_kref(given.kref)
    return tool_results.resolved(str(wanted), session.view().resolve_kref(wanted))


# -- changing the graph


def create_item(session: Session, given: kumiho.CreateItem, call: Call) -> kumiho.Done:
    """``create_item``."""
    receipt = session.db.create_at(
        _at(given.project, given.space, given.name, given.kind),
        content=given.text,
        properties=given.metadata or None,
        within=session.world,
        source=call.source,
    )
    embed_new(session.db)
    return _done_answer(session, receipt, receipt.ref)


def create_revision(session: Session, given: kumiho.CreateRevision, call: Call) -> kumiho.Done:
    """``create_revision``."""
    ref = session.get(session.view(), given.kref).ref
    receipt = session.db.revise(
        ref,
        content=given.text,
        properties=given.metadata or None,
        valid_from=given.valid_from,
        source=call.source,
        why=given.why,
    )
    embed_new(session.db)
    return _done_answer(session, receipt, ref)


def tag_revision(session: Session, given: kumiho.TagRevision, call: Call) -> kumiho.Done:
    """``tag_revision``."""
    ref = session.get(session.view(), given.kref).ref
    return _done_answer(session, session.db.tag(ref, given.tag, version=given.revision), ref)


def create_edge(session: Session, given: kumiho.CreateEdge, call: Call) -> kumiho.Done:
    """``create_edge``."""
    view = session.view()
    ends = [session.get(view, each).ref for each in (given.source, given.target)]
    home = None if given.edge_type == "CONTAINS" else session.world
    receipt = session.db.link(ends[0], EDGES[given.edge_type], ends[1], home=home, why=given.why)
    return _done_answer(session, receipt, receipt.ref if receipt else "")


def set_metadata(session: Session, given: kumiho.SetMetadata, call: Call) -> kumiho.Done:
    """``set_metadata``: a new revision that has these fields too, since a revision never changes."""
    item = session.get(session.view(), given.kref)
    properties = {name: value for name, value in {**item.properties, **given.metadata}.items() if value is not None}
    receipt = session.db.revise(item.ref, properties=properties, source=call.source)
    return _done_answer(session, receipt, item.ref)


def deprecate_item(session: Session, given: kumiho.Deprecate, call: Call) -> kumiho.Done:
    """``deprecate_item``."""
    ref = session.get(session.view(), given.kref).ref
    receipt = (session.db.undeprecate if given.undo else session.db.deprecate)(ref, why=given.why)
    return _done_answer(session, receipt, ref)
