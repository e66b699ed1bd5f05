"""Argument and answer types of the tools with Kumiho's names."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from worlddb.tools.mcp.tool_arguments import Arguments, Count, Identity, KrefText, Label, Text, Time, Why

Item = Annotated[str, Meta(min_length=4, max_length=4_000, description="A kref, or an id.")]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Depth = Annotated[int, Meta(ge=1, le=20, description="How many steps at most.")]
Metadata = Annotated[dict[str, Any], Meta(description="Fields of the version, by name.")]
Items = Annotated[tuple[Item, ...], Meta(max_length=20)]
Labels = Annotated[tuple[Label, ...], Meta(max_length=20)]
EdgeType = Literal["DEPENDS_ON", "DERIVED_FROM", "SUPERSEDES", "REFERENCED", "CONTAINS", "CREATED_FROM"]
"""The six types of edges that the paper has."""


class Buffered(Arguments, kw_only=True):
    """The session and user of a buffer."""

    session_id: Annotated[Identity, Meta(description="The session.")]
    user_id: Identity | None = None
    context: Annotated[str, Meta(max_length=200, description="Such as personal or work.")] = ""
    project: Name = "CognitiveMemory"


class ChatAdd(Buffered, kw_only=True):
    """``chat_add``, and with the role of the assistant ``memory_add_response``."""

    message: Text
    role: Label = "user"


class AddResponse(Buffered, kw_only=True):
    """``memory_add_response``."""

    response: Text


class ChatGet(Buffered, kw_only=True):
    """``chat_get``."""

    limit: Count = 50


class Placed(Arguments, kw_only=True):
    """Where an item lies: project, space (with / between spaces) and title, which together are its kref."""

    project: Name
    space: Annotated[Name, Meta(description="Such as user, or work/designs.")]
    title: Annotated[Name, Meta(description="The item's name. The same name makes a new revision.")]


class Ingest(Arguments, kw_only=True):
    """``memory_ingest``."""

    message: Annotated[Text | None, Meta(description="What the user said, for the session's buffer.")] = None
    session_id: Identity = "session"
    user_id: Identity | None = None
    context: Annotated[str, Meta(max_length=200)] = ""
    project: Name = "CognitiveMemory"
    space: Name = "user"
    title: Annotated[Name | None, Meta(description="The item to create or revise; none: only recall.")] = None
    summary: Annotated[str, Meta(max_length=100_000, description="The whole new text of the memory.")] = ""
    memory_type: Literal["summary", "decision", "fact", "reflection", "error"] = "fact"
    topics: Labels = ()
    tags: Labels = ()
    sources: Annotated[Items, Meta(description="What it was derived from.")] = ()
    depends_on: Items = ()
    bundles: Annotated[Items, Meta(description="Also its containers.")] = ()
    artifact: Annotated[str, Meta(max_length=4_000, description="Where its raw content is; never opened.")] = ""
    limit: Annotated[int, Meta(ge=0, le=50, description="Relevant memories to return.")] = 5


class Recall(Arguments, kw_only=True):
    """``memory_recall``."""

    query: Text
    queries: Annotated[Labels, Meta(description="Also search by these wordings.")] = ()
    follow_edges: Annotated[bool, Meta(description="Also what edges join to the best.")] = False
    limit: Count = 10


class ConsolidateSession(Buffered, kw_only=True):
    """``memory_consolidate``."""

    space: Name
    title: Annotated[Name, Meta(description="The item to create.")]

    summary: Annotated[str, Meta(max_length=100_000, description="Default: its nearest sentences.")] = ""
    topics: Labels = ()
    clear: Annotated[bool, Meta(description="Then clear the buffer.")] = True


class Discover(Arguments, kw_only=True):
    """``memory_discover_edges``."""

    kref: Item
    questions: Annotated[Labels, Meta(description="Follow-up questions; default: its sentences.")] = ()
    dry_run: Annotated[bool, Meta(description="Write no edges.")] = False
    limit: Count = 10


class StoreExecution(Placed, kw_only=True):
    """``memory_store_execution``."""

    tool: Name
    result: Text
    arguments: Metadata = msgspec.field(default_factory=dict)
    succeeded: bool = True
    artifacts: Annotated[dict[str, str], Meta(description="Where the files are.")] = msgspec.field(default_factory=dict)
    sources: Items = ()


class DreamState(Arguments, kw_only=True):
    """``memory_dream_state``."""

    dry_run: bool = True
    max_deprecation_ratio: Annotated[float, Meta(ge=0.1, le=0.9)] = 0.5
    batch_size: Annotated[int, Meta(ge=1, le=1_000)] = 20


class Project(Arguments, kw_only=True):
    """``get_project`` and ``get_spaces``."""

    project: Name


class OfItem(Arguments, kw_only=True):
    """Tools that take an item, or a revision of it by ``?r=N``."""

    kref: Item


class Search(Arguments, kw_only=True):
    """``search_items``."""

    query: Text
    kind: Label | None = None
    project: Name | None = None
    limit: Count = 10


class GetEdges(Arguments, kw_only=True):
    """``get_edges``."""

    kref: Item
    edge_type: EdgeType | None = None
    direction: Literal["both", "in", "out"] = "both"


class Walk(Arguments, kw_only=True):
    """``get_dependencies``, ``get_dependents`` and ``analyze_impact``."""

    kref: Item
    depth: Depth = 5
    limit: Count = 20


class FindPath(Arguments, kw_only=True):
    """``find_path``."""

    source: Item
    target: Item
    depth: Depth = 10


class ByTag(Arguments, kw_only=True):
    """``get_revision_by_tag``."""

    kref: Item
    tag: Label


class AsOf(Arguments, kw_only=True):
    """``get_revision_as_of``."""

    kref: Item
    time: Time
    known: Annotated[bool, Meta(description="As known then, not as known now.")] = False


class Kref(Arguments, kw_only=True):
    """``resolve_kref``."""

    kref: KrefText


class CreateItem(Arguments, kw_only=True):
    """``create_item``."""

    project: Name
    space: Name
    name: Name
    kind: Label = "fact"
    text: Annotated[str, Meta(max_length=100_000)] = ""
    metadata: Metadata = msgspec.field(default_factory=dict)


class CreateRevision(Arguments, kw_only=True):
    """``create_revision``."""

    kref: Item
    text: Text
    metadata: Metadata = msgspec.field(default_factory=dict)
    valid_from: Time | None = None
    why: Why = ""


class TagRevision(Arguments, kw_only=True):
    """``tag_revision``."""

    kref: Item
    tag: Label
    revision: Annotated[Annotated[int, Meta(ge=1, le=2**31)] | None, Meta(description="Default: the current one.")] = (
        None
    )


class CreateEdge(Arguments, kw_only=True):
    """``create_edge``."""

    source: Item
    edge_type: EdgeType
    target: Item
    why: Why = ""


class SetMetadata(Arguments, kw_only=True):
    """``set_metadata``."""

    kref: Item
    metadata: Metadata


class Deprecate(Arguments, kw_only=True):
    """``deprecate_item``."""

    kref: Item
    undo: bool = False
    why: Why = ""


class Told(msgspec.Struct, kw_only=True):
    """An item, or a revision of it. ``kref`` is empty of what was not begun under one."""

    id: str
    kref: str
    name: str
    kind: str
    text: str
    revision: int | None
    metadata: dict[str, Any]
    valid_from: str | None
    valid_to: str | None
    author: str
    score: float | None = None
    reason: str = ""


class Found(msgspec.Struct, kw_only=True):
    """Items, the best or nearest first; ``more`` is how many are not shown.

    ``search_mode`` says how they were searched for, if they were: ``hybrid``, or ``fulltext`` without vectors.
    """

    items: list[Told]
    more: int = 0
    search_mode: str = ""


class Pointer(msgspec.Struct, kw_only=True):
    """An artifact: a name and a location."""

    name: str
    location: str


class Pointers(msgspec.Struct, kw_only=True):
    """The artifacts of a revision."""

    artifacts: list[Pointer]


class Joined(msgspec.Struct, kw_only=True):
    """An edge, by its name here: ``refers_to`` is what the paper calls referenced."""

    id: str
    type: str
    source: str
    target: str
    reason: str


class Edges(msgspec.Struct, kw_only=True):
    """Edges, or the steps of a way; ``reached`` says whether there is one."""

    edges: list[Joined]
    reached: bool = True


class Unit(msgspec.Struct, kw_only=True):
    """What an ingestion did: the item, what is relevant, what may be the same or compete, and who it may already be."""

    id: str
    kref: str
    is_new: bool
    seq: int | None
    messages: int
    relevant: list[Told]
    near: list[str]
    proposals: list[str]


class Done(msgspec.Struct, kw_only=True):
    """The effect of a write: of what, and how; ``count`` of what, where it was several."""

    id: str
    outcome: str
    seq: int | None
    count: int = 0
    notes: list[str] = []


class Message(msgspec.Struct, kw_only=True):
    """A message of a buffer."""

    role: str
    message: str
    at: str


class Messages(msgspec.Struct, kw_only=True):
    """The messages of a session that are not gone, the oldest first."""

    messages: list[Message]
