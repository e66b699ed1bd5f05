"""A second catalogue: the 32 tools that Kumiho's paper names, for agents that were written for them.

The paper counts 51 tools and names these; the others are not invented here. A server offers either this catalogue or
the first one, since some tools of both have the same name and different arguments.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from worlddb import InputError
from worlddb.tools.mcp import catalogue, tool_arguments, tool_results
from worlddb.tools.mcp.kumiho import kumiho_arguments as kumiho
from worlddb.tools.mcp.kumiho import kumiho_tools as tools

NAME: Final = "kumiho"
_ROWS: Final[tuple[tuple[str, str, str, Callable[..., msgspec.Struct], type[Any], type[msgspec.Struct], str], ...]] = (
    (
        *("memory_ingest", "Take a memory in"),
        "Buffer what was said, return what is known about it, and with a title write the memory: one commit.",
        *(tools.ingest, kumiho.Ingest, kumiho.Unit, "w"),
    ),
    (
        *("memory_recall", "Recall"),
        "Find answers to a question, best first; also by other wordings, and along edges.",
        *(tools.recall, kumiho.Recall, kumiho.Found, "r"),
    ),
    (
        *("memory_consolidate", "Consolidate a session"),
        "Make one memory of a session's buffer, from your summary or its sentences, without personal data.",
        *(tools.consolidate, kumiho.ConsolidateSession, kumiho.Done, "w"),
    ),
    (
        *("memory_discover_edges", "Discover edges"),
        "Link a memory to what it names, competes with, or what answers its follow-up questions.",
        *(tools.discover, kumiho.Discover, kumiho.Edges, "w"),
    ),
    (
        *("memory_store_execution", "Store an execution"),
        "Keep the input and output of a tool as an item of the kind execution.",
        *(tools.store_execution, kumiho.StoreExecution, kumiho.Done, "w"),
    ),
    (
        *("memory_dream_state", "Dream"),
        "Assess new memories and deprecate useless ones, within bounds. By default a dry run.",
        *(tools.dream, kumiho.DreamState, tool_results.Dreamt, "d"),
    ),
    (
        *("memory_add_response", "Note your answer"),
        "Add your answer to the session's buffer. It is no memory and is gone in an hour.",
        *(tools.add_response, kumiho.AddResponse, kumiho.Done, "w"),
    ),
    (
        *("chat_add", "Note a message"),
        "Add a message to the session's buffer. It is no memory and is gone in an hour.",
        *(tools.chat_add, kumiho.ChatAdd, kumiho.Done, "w"),
    ),
    (
        *("chat_get", "Read the session"),
        "List the messages of the session that have not expired, oldest first.",
        *(tools.chat_get, kumiho.ChatGet, kumiho.Messages, "r"),
    ),
    (
        *("chat_clear", "Clear the session"),
        "Remove the session's messages for good. Memories stay.",
        *(tools.chat_clear, kumiho.Buffered, kumiho.Done, "d"),
    ),
    (
        *("get_project", "Read a project", "Read a project by its name."),
        *(tools.get_project, kumiho.Project, kumiho.Told, "r"),
    ),
    (
        *("get_spaces", "List spaces", "List the spaces of a project, at any depth."),
        *(tools.get_spaces, kumiho.Project, kumiho.Found, "r"),
    ),
    (
        *("get_item", "Read an item", "Read an item in its current revision."),
        *(tools.get_item, kumiho.OfItem, kumiho.Told, "r"),
    ),
    (
        *("get_revision", "Read a revision", "Read one revision: a kref with ?r=N."),
        *(tools.get_item, kumiho.OfItem, kumiho.Told, "r"),
    ),
    (
        *("get_artifacts", "List artifacts", "List where the raw content of a revision is. The server never opens it."),
        *(tools.get_artifacts, kumiho.OfItem, kumiho.Pointers, "r"),
    ),
    (
        *("search_items", "Search", "Find items by words and meaning, of a kind or a project."),
        *(tools.search_items, kumiho.Search, kumiho.Found, "r"),
    ),
    (
        *("get_edges", "List edges", "List the valid edges of an item."),
        *(tools.get_edges, kumiho.GetEdges, kumiho.Edges, "r"),
    ),
    (
        *("get_dependencies", "What it depends on", "List what an item depends on, or was made of, at any distance."),
        *(tools.get_dependencies, kumiho.Walk, kumiho.Found, "r"),
    ),
    (
        *("get_dependents", "What depends on it", "List what depends on an item, at any distance."),
        *(tools.get_dependents, kumiho.Walk, kumiho.Found, "r"),
    ),
    (
        *("analyze_impact", "Analyse impact", "List all that may be wrong if an item is, nearest first."),
        *(tools.get_dependents, kumiho.Walk, kumiho.Found, "r"),
    ),
    (
        *("find_path", "Find a path", "Show a shortest path of edges from one item to another."),
        *(tools.find_path, kumiho.FindPath, kumiho.Edges, "r"),
    ),
    (
        *("get_provenance_summary", "Provenance", "List all that an item was made of, the nearest first."),
        *(tools.provenance, kumiho.OfItem, kumiho.Found, "r"),
    ),
    (
        *("get_item_revisions", "List revisions", "List every revision of an item, oldest first."),
        *(tools.get_item_revisions, kumiho.OfItem, kumiho.Found, "r"),
    ),
    (
        *("get_revision_by_tag", "Revision by tag", "Read the revision of a tag; current is the valid one."),
        *(tools.get_revision_by_tag, kumiho.ByTag, kumiho.Told, "r"),
    ),
    (
        *("get_revision_as_of", "Revision as of", "Read what was true of an item at a time, or known of it then."),
        *(tools.get_revision_as_of, kumiho.AsOf, kumiho.Told, "r"),
    ),
    (
        *("resolve_kref", "Resolve a kref", "Read what a kref names: an item, a revision or an artifact."),
        *(tools.resolve_kref, kumiho.Kref, tool_results.Resolved, "r"),
    ),
    (
        *("create_item", "Create an item", "Make an item, with project and spaces; the same again changes nothing."),
        *(tools.create_item, kumiho.CreateItem, kumiho.Done, "w"),
    ),
    (
        *("create_revision", "Revise an item", "Give an item a new revision, from now on or from a time."),
        *(tools.create_revision, kumiho.CreateRevision, kumiho.Done, "w"),
    ),
    (
        *("tag_revision", "Tag a revision", "Put a tag on a revision, or move it there."),
        *(tools.tag_revision, kumiho.TagRevision, kumiho.Done, "w"),
    ),
    (
        *("create_edge", "Create an edge", "Write an edge of one of six types. SUPERSEDES ends the target."),
        *(tools.create_edge, kumiho.CreateEdge, kumiho.Done, "d"),
    ),
    (
        *("set_metadata", "Set metadata", "Give an item a revision that has these fields too; null takes one away."),
        *(tools.set_metadata, kumiho.SetMetadata, kumiho.Done, "w"),
    ),
    (
        *("deprecate_item", "Deprecate an item", "Leave an item out of searches and lists, or bring it back."),
        *(tools.deprecate_item, kumiho.Deprecate, kumiho.Done, "w"),
    ),
)


def _tool(
    name: str,
    title: str,
    description: str,
    run: Callable[..., msgspec.Struct],
    takes: type[tool_arguments.Arguments],
    gives: type[msgspec.Struct],
    effect: str,
) -> catalogue.Tool:
    reads = effect == "r"
    return catalogue.Tool(
        *(name, title, description, takes, gives, run), read_only=reads, destructive=effect == "d", idempotent=reads
    )


KUMIHO_TOOLS: Final = tuple(_tool(*row) for row in _ROWS)
"""The tools, in the order of the paper."""


def tools_of(sets: str) -> tuple[catalogue.Tool, ...]:
    """Return the tools of sets whose names are joined by commas; ``kumiho`` stands alone.

    Raises:
        InputError: there is no such set, or ``kumiho`` was named beside another.
    """
    named = [each.strip() for each in sets.split(",")]
    if NAME not in named:
        return catalogue.tools_in_sets(sets)
    if set(named) != {NAME}:
        raise InputError(
            f"{NAME} was given with other sets, whose tools have the same names", f"Give {NAME} alone, or the others"
        )
    return KUMIHO_TOOLS
