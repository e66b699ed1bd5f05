"""The server: the protocol on one side, the tools on the other. Calls run in threads, so none waits for another."""

from __future__ import annotations

from typing import Any, Final, cast

import anyio
import anyio.to_thread
import msgspec
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, ToolAnnotations
from mcp_types import Tool as ListedTool

from worlddb import Database, WorldDBError, __version__
from worlddb.tools.mcp.catalogue import INSTRUCTIONS, TOOLS, Tool
from worlddb.tools.mcp.desk import Desk
from worlddb.tools.mcp.stdin import Lines
from worlddb.tools.mcp.writing import Stamp

CALLS_AT_ONCE: Final = 4
MAX_CLIENT_NAME: Final = 100


class MemoryServer(MCPServer[Any]):
    """The tools of :data:`TOOLS` on a store, or inside one world of it.

    The schemas are those of the tools' own types, so listing and calling are answered here; the rest is the SDK's.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(
            "worlddb", title="WorldDB memory", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
        )
        self._desk = desk
        self._at_once = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def list_tools(self) -> list[ListedTool]:
        """Every tool with its schemas."""
        return [_listed(tool) for tool in TOOLS]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult:
        """Run a tool.

        Raises:
            MCPError: there is no such tool.
            ToolError: the arguments are wrong, or the store said no; the text says what to do.
        """
        tool = next((tool for tool in TOOLS if tool.name == name), None)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name[:100]}")
        stamp = Stamp(_client(context), name)
        try:
            given = msgspec.convert(arguments, tool.takes)
            call = (self._desk, given) if tool.read_only else (self._desk, given, stamp)
            answer = await anyio.to_thread.run_sync(tool.run, *call, limiter=self._at_once)
        except msgspec.ValidationError as error:
            raise ToolError(f"invalid_arguments: {error}") from error
        except WorldDBError as error:
            raise ToolError(f"{error.code}: {error}") from error
        except Exception as error:
            raise UnexpectedToolError(f"{name} failed; the server's log says more") from error
        text = msgspec.json.encode(answer)
        return CallToolResult(
            content=[TextContent(type="text", text=text.decode())], structured_content=msgspec.json.decode(text)
        )

    async def run_stdio_async(self) -> None:
        """Answer what comes in on standard input until it ends."""
        # The SDK asks of standard input only that it can be iterated.
        async with stdio_server(stdin=cast("anyio.AsyncFile[str]", Lines(0))) as (incoming, outgoing):
            lowlevel = self._lowlevel_server
            await lowlevel.run(incoming, outgoing, lowlevel.create_initialization_options())


def serve(db: Database, world: str | None) -> None:
    """Speak the protocol over standard input and output until one of them is closed.

    Raises:
        UnknownReference, AmbiguousReference: there is no such world, or there are several.
        BrokenPipeError: nobody reads the answers any more.
    """
    try:
        MemoryServer(Desk(db, world)).run()
    except BaseExceptionGroup as several:
        if several.subgroup(BrokenPipeError) is not None:
            raise BrokenPipeError from several
        raise


def _listed(tool: Tool) -> ListedTool:
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _client(context: Context[Any, Any] | None) -> str:
    """How the connected program calls itself."""
    known = None if context is None else context.session.client_params
    return "" if known is None else known.client_info.name[:MAX_CLIENT_NAME]
