"""Memory for agent frameworks.

``functions`` offers three plain functions with JSON schemas, for any loop that lets a model call tools. ``langgraph``
is a LangGraph store and needs the extra ``langgraph``.
"""

from typing import TYPE_CHECKING, Any
from warnings import warn

from worlddb import UnavailableError
from worlddb.tools.agents.functions import TOOLS, Tool, call, definitions, forget, recall, remember
from worlddb.tools.mcp.answer_notes import ResultList

if TYPE_CHECKING:
    from worlddb.tools.agents.langgraph import AsyncWorldDBStore, WorldDBStore

__all__ = [
    "TOOLS",
    "AsyncWorldDBStore",
    "ResultList",
    "Tool",
    "WorldDBStore",
    "call",
    "definitions",
    "forget",
    "recall",
    "remember",
]


def __getattr__(name: str) -> Any:
    """Load the LangGraph store on demand, and answer to ``Noted``, the old name of ResultList.

    Raises:
        UnavailableError: LangGraph is not installed.
    """
    if name == "Noted":
        warn("worlddb.tools.agents.Noted is called ResultList", DeprecationWarning, stacklevel=2)
        return ResultList
    if name not in ("WorldDBStore", "AsyncWorldDBStore"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from worlddb.tools.agents import langgraph
    except ImportError as error:
        raise UnavailableError(f"LangGraph cannot be loaded: {error}", "pip install 'worlddb[langgraph]'") from None
    return getattr(langgraph, name)
