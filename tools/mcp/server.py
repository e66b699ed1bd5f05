"""The MCP server: lists and runs tools, resources and prompts over the SDK.

Calls run on worker threads, so none waits for another; progress and messages are sent while they run.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, cast

import anyio
import anyio.to_thread
import mcp_types as protocol
import msgspec
from mcp.server.lowlevel import Server as LowLevelServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import AnyUrl

from worlddb import InputError, World, WorldDBError, __version__
from worlddb.plain_text import escaped
from worlddb.tools.mcp import (
    access_log,
    catalogue,
    following,
    mcp_wording,
    resources,
    standard_streams,
    tool_arguments,
    tool_results,
)
from worlddb.tools.mcp import resources as completing
from worlddb.tools.mcp.resources import PROMPTS, Prompt, prompt_text
from worlddb.tools.mcp.session import Call, Session


def describe_tool(tool: catalogue.Tool) -> protocol.Tool:
    """Describe a tool to a client: its schemas and what it may change."""
    return protocol.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        # Hints that are what a client assumes without them are left out, as is the schema of the answer.
        annotations=protocol.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=None if tool.read_only else tool.destructive,
            idempotent_hint=True if tool.idempotent and not tool.read_only else None,
        ),
    )


def describe_scope(scope: World) -> protocol.Resource:
    """Describe a scope as a resource."""
    return protocol.Resource(
        uri=resources.world_uri(scope.ref),
        name=escaped(scope.name),
        description="A scope and the first memories in it.",
        mime_type=resources.TEXT,
    )


def describe_template(template: resources.Template) -> protocol.ResourceTemplate:
    """Describe a family of resources; each is served as text and as JSON."""
    return protocol.ResourceTemplate(
        uri_template=str(template.uri), name=template.name, title=template.title, description=template.description
    )


def describe_prompt(prompt: Prompt) -> protocol.Prompt:
    """Describe a prompt; its arguments are texts, described as those of tools are."""
    properties = catalogue.schema(prompt.takes).get("properties", {})
    arguments = [
        protocol.PromptArgument(
            name=field.name, description=properties[field.name].get("description"), required=field.required
        )
        for field in msgspec.structs.fields(prompt.takes)
    ]
    return protocol.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)


CALLS_AT_ONCE: Final = 4
MAX_CLIENT_NAME: Final = 100

T = TypeVar("T")
Admit = Callable[[catalogue.Tool, tool_arguments.Arguments, bool], tool_arguments.Arguments]
"""What checks a call before it is run; it also learns whether a ``limit`` was given, and returns the arguments."""


class MemoryServer(MCPServer[Any]):
    """Serves the tools, resources and prompts of a store, or of one world in it.

    The schemas come from the tools' own types, so listing and calling are answered here; the SDK does the rest.
    """

    tools: tuple[catalogue.Tool, ...] = catalogue.TOOLS
    templates: tuple[resources.Template, ...] = resources.TEMPLATES
    prompts: tuple[Prompt, ...] = PROMPTS

    def __init__(
        self,
        session: Session,
        *,
        tools: tuple[catalogue.Tool, ...] | None = None,
        threads: anyio.CapacityLimiter | None = None,
        admit: Admit | None = None,
        withheld: tuple[catalogue.Tool, ...] = (),
    ) -> None:
        """``tools`` are the allowed tools, default all; ``threads`` are shared with other servers.

        ``withheld`` are those that the client's key has no right to.

        ``admit`` is asked before each call of a tool, and may refuse it with an error.
        """
        self.tools = self.tools if tools is None else tools
        super().__init__(
            "worlddb",
            title="WorldDB memory",
            instructions=catalogue.instructions(self.tools),
            version=__version__,
            log_level="WARNING",
            extensions=[following.Tasks(self._is_long)],
        )
        self._session = session
        self._admit = admit
        self._withheld = frozenset(tool.name for tool in withheld)
        self._at_once = anyio.CapacityLimiter(CALLS_AT_ONCE)
        self._threads = threads or anyio.CapacityLimiter(CALLS_AT_ONCE)
        self.completion()(self._complete)  # type: ignore[no-untyped-call]
        self._follow()

    @property
    def protocol_server(self) -> LowLevelServer[Any]:
        """What a session manager serves."""
        return self._lowlevel_server

    def _follow(self) -> None:
        """Serve what the SDK leaves to its users: levels of messages, and subscriptions to resources."""
        subscriptions = following.Subscriptions(self._subscriptions, following.Watch(self._read_watched, self._commit))
        add = self._lowlevel_server.add_request_handler
        add("logging/setLevel", protocol.SetLevelRequestParams, following.set_level)
        add("subscriptions/listen", protocol.SubscriptionsListenRequestParams, subscriptions)
        add("resources/subscribe", protocol.SubscribeRequestParams, self._subscribe_with(subscriptions))
        add("resources/unsubscribe", protocol.UnsubscribeRequestParams, subscriptions.unsubscribe)

    def _subscribe_with(self, subscriptions: following.Subscriptions) -> Callable[..., Any]:
        async def subscribe(
            ctx: following.RequestContext, params: protocol.SubscribeRequestParams
        ) -> protocol.EmptyResult:
            try:
                await self.read_resource(params.uri)
            except ResourceNotFoundError as error:
                raise MCPError(protocol.INVALID_PARAMS, str(error), {"uri": str(params.uri)}) from error
            return await subscriptions.subscribe(ctx, params)

        return subscribe

    async def _read_watched(self, uri: str) -> str:
        if uri == following.LIST:
            return "\n".join(f"{world.ref} {world.name}" for world in await self._in_thread(resources.list_scopes))
        return (await self._in_thread(resources.read, self.templates, uri)).text

    async def _commit(self) -> int:
        return await self._in_thread(lambda session: session.view().seq)

    # -- tools

    def _tool(self, name: str) -> catalogue.Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def _is_long(self, name: str) -> bool:
        tool = self._tool(name)
        return tool is not None and tool.long

    def _tool_input_schema(self, name: str) -> dict[str, Any] | None:
        """Return a tool's schema, which the SDK holds headers against that repeat an argument."""
        tool = self._tool(name)
        return None if tool is None else tool.input_schema

    async def list_tools(self) -> list[protocol.Tool]:
        """List every tool allowed here, with its schemas."""
        return [describe_tool(tool) for tool in self.tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> protocol.CallToolResult:
        """Run a tool; it may end with questions to the client, and is run again with the answers.

        Raises:
            MCPError: there is no such tool.
            ToolError: the arguments are wrong, or the store said no; the text says what to do.
        """
        tool = self._tool(name)
        if tool is None:
            message = mcp_wording.explain_unknown("tool", name, [tool.name for tool in self.tools])
            hint = "Your key has no right to it" if name in self._withheld else catalogue.hint_of_set(name)
            raise MCPError(protocol.INVALID_PARAMS, ". ".join(filter(None, (message, hint))))
        try:
            given = tool.takes.parse(arguments)
            if self._admit is not None:
                given = self._admit(tool, given, arguments.get("limit") is not None)
            answer = await self._run(tool, given, context)
        except msgspec.ValidationError as error:
            raise ToolError(mcp_wording.explain_invalid(error, catalogue.schema(tool.takes))) from error
        except WorldDBError as error:
            raise ToolError(self._session.explain(error)) from error
        except following.QuestionsPending as questions:
            return _questions_result(questions, protocol.CallToolResult)
        except MCPError:
            raise
        except Exception as error:
            raise UnexpectedToolError(f"{name} failed; the server's log has the details") from error
        return self._result(given, answer)

    def _result(self, given: tool_arguments.Arguments, answer: msgspec.Struct) -> protocol.CallToolResult:
        """Return an answer as lines of text, or structured with the same as JSON beside it."""
        is_brief = isinstance(given, tool_arguments.Listed) and given.detail == "brief"
        if is_brief and isinstance(answer, tool_results.Memories | tool_results.Recalled):
            brief = tool_results.brief(answer, self._session.db.author)
            return protocol.CallToolResult(content=[protocol.TextContent(type="text", text=brief)])
        text = msgspec.json.encode(answer)
        return protocol.CallToolResult(
            content=[protocol.TextContent(type="text", text=text.decode())],
            structured_content=msgspec.json.decode(text),
        )

    async def _run(
        self, tool: catalogue.Tool, given: tool_arguments.Arguments, context: Context[Any, Any] | None
    ) -> msgspec.Struct:
        """Run a tool on a thread; report progress and messages if the client asked for them."""
        task = following.current_task()

        async def report(done: float, total: float) -> None:
            if context is not None and (task is None or not task.is_shown):
                await context.report_progress(done, total)

        async def say(level: protocol.LoggingLevel, text: str) -> None:
            if context is not None and (task is None or not task.is_shown):
                await following.send_message(context.request_context, tool.name, level, text)

        progress = following.Progress(report, say)
        asks = following.Questions(context, task)
        call = Call(_client_name(context), tool.name, progress.step, progress.message, asks)
        async with anyio.create_task_group() as beside:
            beside.start_soon(progress.tell)
            try:
                outcome: msgspec.Struct | Exception = await self._in_thread(tool.run, given, call)
            except Exception as error:
                # Raised inside the task group, it would leave as an exception group.
                outcome = error
            finally:
                progress.end()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _in_thread(self, work: Callable[..., T], *given: object) -> T:
        async with self._at_once:
            return await anyio.to_thread.run_sync(work, self._session, *given, limiter=self._threads)

    # -- resources

    async def list_resources(self) -> list[protocol.Resource]:
        """List the scopes; every other world and timeline is found by a template."""
        return [describe_scope(world) for world in await self._in_thread(resources.list_scopes)]

    async def list_resource_templates(self) -> list[protocol.ResourceTemplate]:
        """List the families of resources."""
        return [describe_template(template) for template in self.templates]

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents]:
        """Read a resource.

        Raises:
            ResourceNotFoundError: nothing that the server sees has this address.
        """
        try:
            found = await self._in_thread(resources.read, self.templates, str(uri))
        except msgspec.ValidationError as error:
            raise ResourceNotFoundError(
                mcp_wording.explain_invalid(error, catalogue.schema(tool_arguments.Shown))
            ) from error
        except InputError as error:
            raise ResourceNotFoundError(self._session.explain(error)) from error
        except WorldDBError as error:
            raise self._unavailable(error) from error
        return [ReadResourceContents(content=found.text, mime_type=found.mime_type)]

    # -- prompts

    async def list_prompts(self) -> list[protocol.Prompt]:
        """List every prompt with its arguments."""
        return [describe_prompt(prompt) for prompt in self.prompts]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> protocol.GetPromptResult:
        """Return the message of a prompt, or questions to the client that come first.

        Raises:
            MCPError: there is no such prompt, or the arguments are wrong.
        """
        prompt = next((prompt for prompt in self.prompts if prompt.name == name), None)
        if prompt is None:
            raise MCPError(
                protocol.INVALID_PARAMS,
                mcp_wording.explain_unknown("prompt", name, [prompt.name for prompt in self.prompts]),
            )
        try:
            text = await self._in_thread(prompt_text, prompt, arguments or {}, following.Questions(context))
        except msgspec.ValidationError as error:
            raise MCPError(
                protocol.INVALID_PARAMS, mcp_wording.explain_invalid(error, catalogue.schema(prompt.takes))
            ) from error
        except following.QuestionsPending as questions:
            return _questions_result(questions, protocol.GetPromptResult)
        except InputError as error:
            raise MCPError(protocol.INVALID_PARAMS, self._session.explain(error)) from error
        except WorldDBError as error:
            raise self._unavailable(error) from error
        message = protocol.PromptMessage(role="user", content=protocol.TextContent(type="text", text=text))
        return protocol.GetPromptResult(description=prompt.description, messages=[message])

    async def _complete(
        self,
        ref: protocol.PromptReference | protocol.ResourceTemplateReference,
        argument: protocol.CompletionArgument,
        context: protocol.CompletionContext | None,
    ) -> protocol.Completion:
        """Complete an argument; all resources and prompts share argument names."""
        try:
            found = await self._in_thread(completing.completions, argument.name, argument.value)
        except WorldDBError as error:
            raise self._unavailable(error) from error
        shown = found[: completing.MAX_COMPLETIONS]
        return protocol.Completion(values=shown, has_more=len(found) > len(shown))

    def _unavailable(self, error: WorldDBError) -> MCPError:
        return MCPError(protocol.INTERNAL_ERROR, self._session.explain(error))

    # -- streams

    async def run_stdio_async(self) -> None:
        """Answer standard input until it ends, then finish writing answers within a time limit."""
        answers = standard_streams.StandardOutput(standard_streams.claim_stdout())
        lines = standard_streams.StandardInput(0, answers.write)
        # The SDK only iterates one stream and writes to the other.
        streams = stdio_server(cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", answers))
        lowlevel = self._lowlevel_server
        with anyio.CancelScope() as until:
            async with streams as (incoming, outgoing):
                lines.answers = standard_streams.AnswerStream(outgoing)
                await lowlevel.run(incoming, lines.answers, lowlevel.create_initialization_options())
                until.deadline = anyio.current_time() + standard_streams.LAST_WORDS_SECONDS


def serve(session: Session, tools: tuple[catalogue.Tool, ...]) -> None:
    """Offer tools over standard input and output until one of them closes.

    Raises:
        BrokenPipeError: nobody reads the answers any more.
    """
    access_log.log_to(sys.stderr)
    try:
        MemoryServer(session, tools=tools).run()
    except BaseExceptionGroup as several:
        if several.subgroup(BrokenPipeError) is not None:
            raise BrokenPipeError from several
        raise


def _questions_result(questions: following.QuestionsPending, answer: type[T]) -> T:
    """Return questions in the place of an answer, as the SDK has it; who calls without a client is never asked."""
    return cast(T, questions.result)


def _client_name(context: Context[Any, Any] | None) -> str:
    """Return the name under which the client introduced itself."""
    known = None if context is None else context.session.client_params
    return "" if known is None else known.client_info.name[:MAX_CLIENT_NAME]
