"""The memory in the hands of agent frameworks.

``functions`` is the memory as three plain functions with JSON schemas, for a program or for any loop that lets a model
call tools; ``langgraph`` is it as a store of LangGraph's, for which the extra ``langgraph`` is needed.
"""

from typing import TYPE_CHECKING, Any
from warnings import warn

from worlddb import UnavailableError
from worlddb.tools.agents.functions import TOOLS, Tool, call, definitions, forget, recall, remember
from worlddb.tools.mcp.answer_notes import ResultList

if TYPE_CHECKING:
    from worlddb.tools.agents.langgraph import WorldDBStore

__all__ = ["TOOLS", "ResultList", "Tool", "WorldDBStore", "call", "definitions", "forget", "recall", "remember"]


def __getattr__(name: str) -> Any:
    """Load what needs LangGraph when it is asked for, and answer to the name that ``ResultList`` had before.

    Raises:
        UnavailableError: LangGraph is not installed.
    """
    if name == "Noted":
        warn("worlddb.tools.agents.Noted is called ResultList", DeprecationWarning, stacklevel=2)
        return ResultList
    if name != "WorldDBStore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from worlddb.tools.agents.langgraph import WorldDBStore
    except ImportError as error:
        raise UnavailableError(f"LangGraph cannot be loaded: {error}", "pip install 'worlddb[langgraph]'") from None
    return WorldDBStore
