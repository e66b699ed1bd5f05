"""Serves ``worlddb mcp --http`` with what the conformance suite asks for.

Each is offered in the way in which the memory's own are, so that what the suite looks at is our code.

    python -m tests.support.conformance.fixtures STORE

serves them and prints the address as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Annotated, Any

import anyio
import msgspec
from mcp import types as protocol
from mcp.server.mcpserver.server import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from worlddb import InputError
from worlddb.tools.cli.main import main
from worlddb.tools.mcp import catalogue, following, tenants
from worlddb.tools.mcp.catalogue import Tool
from worlddb.tools.mcp.resources import JSON, TEXT, Content, Prompt, Template, Variables
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Call, Session
from worlddb.tools.mcp.tool_arguments import Arguments, Label

STEPS = (0, 50, 100)
STEP_SECONDS = 0.05


class Nothing(Arguments):
    """No arguments."""


class Said(msgspec.Struct):
    """A text."""

    text: str


class address(msgspec.Struct):
    """Named as the suite wants it among the definitions."""

    street: str = ""
    city: str = ""


class Person(Arguments):
    """Arguments with a definition of their own."""

    name: str = ""
    address: address = msgspec.field(default_factory=address)


class Two(Arguments):
    """The arguments of a prompt."""

    arg1: Label
    arg2: Label


class Named(Arguments):
    """A name, by default that of nobody."""

    name: str = "nobody"


class File(Arguments):
    """The arguments of a tool that asks before it does anything."""

    filename: str = ""


class Length(Arguments):
    """The arguments of a tool that takes a while."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=60)] = 0
    label: str = ""


class Region(Arguments):
    """An argument that a header repeats."""

    region: Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})] = ""


class Bare(msgspec.Struct):
    """A text that is the whole answer."""

    text: str


class Dialect(Tool):
    """A tool that names the dialect of its schema, and has the keywords that a listing must not lose."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema with its dialect."""
        schema = super().input_schema
        schema["$defs"]["address"]["$anchor"] = "addressDef"
        name = {"properties": {"name": {"type": "string"}}}
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **schema,
            "allOf": [{"anyOf": [name, {"required": []}]}],
            "if": name,
            "then": name,
            "else": {"required": []},
        }


def _simple(desk: Session, given: Nothing, call: Call) -> Said:
    return Said("This is a simple text response for testing.")


def _fail(desk: Session, given: Nothing, call: Call) -> Said:
    raise InputError("This tool intentionally returns an error for testing", "Do not call it")


def _progress(desk: Session, given: Nothing, call: Call) -> Said:
    for done in STEPS:
        call.step(done, STEPS[-1])
        threading.Event().wait(STEP_SECONDS)
    return Said("done")


def _person(desk: Session, given: Person, call: Call) -> Said:
    return Said(given.name)


def _greet(desk: Session, given: Named, call: Call) -> Bare:
    return Bare(f"Hello, {given.name}!")


def _message(desk: Session, given: Nothing, call: Call) -> Said:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        call.tell(text)
        threading.Event().wait(STEP_SECONDS)
    return Said("done")


def _compute(desk: Session, given: Length, call: Call) -> Bare:
    steps = round(given.seconds / STEP_SECONDS)
    for done in range(steps):
        call.step(done, steps)
        threading.Event().wait(STEP_SECONDS)
    return Bare(f"Computed {given.label}")


def _pause(call: Call) -> None:
    """Take longer than a call that is answered at once."""
    _compute(None, Length(seconds=2 * following.TASK_SECONDS), call)  # type: ignore[arg-type]


def _failing_job(desk: Session, given: Nothing, call: Call) -> Said:
    _pause(call)
    raise InputError("This job intentionally fails", "Do not call it")


def _broken_job(desk: Session, given: Nothing, call: Call) -> Said:
    _pause(call)
    raise MCPError(protocol.INTERNAL_ERROR, "This job ends with an error of the protocol")


def _question(name: str, property: str, kind: str = "string", message: str = "What is your name?") -> dict[str, Any]:
    form = {"type": "object", "properties": {property: {"type": kind}}, "required": [property]}
    return {name: {"method": "elicitation/create", "params": {"message": message, "requestedSchema": form}}}


def _sample(name: str, text: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return {name: {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}}


ROOTS = {"client_roots": {"method": "roots/list", "params": {}}}


def _asked(call: Call, requests: dict[str, Any]) -> dict[str, Any]:
    assert call.ask is not None
    return call.ask(requests)


def _ask(*rounds: dict[str, Any]) -> Any:
    """What asks in rounds, one after the other, and then says what it was told."""

    def run(desk: Session, given: Arguments, call: Call) -> Bare:
        told: dict[str, Any] = {}
        for requests in rounds:
            told |= _asked(call, requests)
        return Bare("state-ok " + json.dumps(told))

    return run


def _ask_later(*rounds: dict[str, Any]) -> Any:
    """The same, once it has become a task."""

    def run(desk: Session, given: Arguments, call: Call) -> Bare:
        _pause(call)
        return Bare(_ask(*rounds)(desk, given, call).text)

    return run


def _ask_then_work(desk: Session, given: Nothing, call: Call) -> Bare:
    told = _asked(call, _question("user_name", "name"))
    _pause(call)
    return Bare(f"Hello, {told['user_name']['content']['name']}!")


def _ask_as_declared(desk: Session, given: Nothing, call: Call) -> Bare:
    wanted = {**_sample("capital", "What is the capital of France?"), **_question("user_name", "name"), **ROOTS}
    assert call.ask is not None
    return Bare(json.dumps(call.ask({name: one for name, one in wanted.items() if call.ask.can(one["method"])})))


def _ask_in_prompt(desk: Session, given: Nothing, call: Call) -> str:
    return f"About {_asked(call, _question('user_context', 'context'))['user_context']}"


def _region(desk: Session, given: Region, call: Call) -> Said:
    return Said(given.region)


def _static(desk: Session, variables: Variables) -> Content:
    return Content("This is the content of the static text resource.", TEXT)


def _data(desk: Session, variables: Variables) -> Content:
    told = {"id": variables["id"], "templateTest": True, "data": f"Data for ID: {variables['id']}"}
    return Content(json.dumps(told), JSON)


def _simple_prompt(desk: Session, given: Nothing, call: Call) -> str:
    return "This is a simple prompt for testing."


def _two(desk: Session, given: Two, call: Call) -> str:
    return f"Prompt with arguments: arg1='{given.arg1}', arg2='{given.arg2}'"


TOOLS: tuple[Tool, ...] = (
    Tool("test_simple_text", "Text", "Returns a text.", Nothing, Said, _simple, read_only=True),
    Tool("test_error_handling", "Error", "Always fails.", Nothing, Said, _fail, read_only=True),
    Tool("test_tool_with_progress", "Progress", "Takes a while.", Nothing, Said, _progress, read_only=True),
    Tool("test_tool_with_logging", "Messages", "Sends messages.", Nothing, Said, _message, read_only=True),
    Tool("test_logging_tool", "Messages", "Sends messages.", Nothing, Said, _message, read_only=True),
    Tool(
        "test_x_mcp_header", "Header", "Has an argument that a header repeats.", Region, Said, _region, read_only=True
    ),
    Dialect("json_schema_2020_12_tool", "Schema", "Has a definition.", Person, Said, _person, read_only=True),
)
CONFIRM = _question("confirm", "ok", "boolean", "Please confirm")
ASKING = {
    "test_missing_capability": _ask(_sample("needed", "Anything?")),
    "test_streaming_elicitation": _ask(_question("user_name", "name")),
    "test_input_required_result_elicitation": _ask(_question("user_name", "name")),
    "test_input_required_result_sampling": _ask(_sample("capital_question", "What is the capital of France?")),
    "test_input_required_result_list_roots": _ask(ROOTS),
    "test_input_required_result_request_state": _ask(CONFIRM),
    "test_input_required_result_tampered_state": _ask(CONFIRM),
    "test_input_required_result_multiple_inputs": _ask(
        {**_question("user_name", "name"), **_sample("greeting", "Generate a greeting"), **ROOTS}
    ),
    "test_input_required_result_multi_round": _ask(_question("step1", "name"), _question("step2", "color")),
    "test_input_required_result_capabilities": _ask_as_declared,
}
TOOLS += tuple(Tool(name, name, "Asks the client.", Nothing, Bare, run, read_only=True) for name, run in ASKING.items())
LONG: dict[str, tuple[type[Arguments], Any]] = {
    "slow_compute": (Length, _compute),
    "failing_job": (Nothing, _failing_job),
    "protocol_error_job": (Nothing, _broken_job),
    "confirm_delete": (File, _ask_later(_question("confirm", "confirm", "boolean"))),
    "multi_input": (Nothing, _ask_later({**_question("first", "name"), **_question("second", "name")})),
    "test_tool_with_task": (Nothing, _ask_then_work),
}
TOOLS += (
    Tool("greet", "Greet", "Greets.", Named, Bare, _greet, read_only=True),
    Tool("test_reconnection", "Reconnection", "Ends its stream.", Nothing, Said, _simple, read_only=True),
    *(Tool(name, name, "Takes a while.", takes, Bare, run, long=True) for name, (takes, run) in LONG.items()),
)
NEEDS_TASKS = ("failing_job", "test_tool_with_task")
CHANGES = {"test_trigger_tool_change": "notify_tools_changed", "test_trigger_prompt_change": "notify_prompts_changed"}
TOOLS += tuple(Tool(name, name, "Tells of a change.", Nothing, Said, _simple) for name in CHANGES)
TEMPLATES = (
    Template(UriTemplate.parse("test://watched-resource"), "watched", "Watched", "A text.", _static),
    Template(UriTemplate.parse("test://static-text"), "static-text", "Text", "A text.", _static),
    Template(UriTemplate.parse("test://template/{id}/data"), "data", "Data", "Data by id.", _data),
)
PROMPTS = (
    Prompt("test_simple_prompt", "Simple", "Takes nothing.", Nothing, _simple_prompt),
    Prompt("test_input_required_result_prompt", "Asks", "Asks the client.", Nothing, _ask_in_prompt),
    Prompt("test_prompt_with_arguments", "Two", "Takes two.", Two, _two),
)


class Fixtures(MemoryServer):
    """The memory's own server, with what the suite wants of tools that the memory does not have."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> protocol.CallToolResult:
        """Run a tool; some need tasks, some stand for a change of what is listed, and one cuts its client off."""
        if name in NEEDS_TASKS:
            require_client_extension(context.request_context, following.TASKS)
        if name in CHANGES:
            await getattr(context, CHANGES[name])()
        if name == "test_reconnection":
            await context.close_sse_stream()
            await anyio.sleep(STEP_SECONDS)
        return await super().call_tool(name, arguments, context)

    def _result(self, given: Arguments, answer: msgspec.Struct) -> protocol.CallToolResult:
        if isinstance(answer, Bare):
            return protocol.CallToolResult(content=[protocol.TextContent(type="text", text=answer.text)])
        return super()._result(given, answer)


def serve(store: str) -> int:
    """Serve the fixtures beside the memory's own tools until the process is told to end."""
    vars(catalogue)["TOOLS"] += TOOLS
    catalogue.SETS["all"] += tuple(tool.name for tool in TOOLS)
    Fixtures.templates += TEMPLATES
    Fixtures.prompts += PROMPTS
    vars(tenants)["MemoryServer"] = Fixtures
    return main(["--store", store, "--json", "mcp", "--http", "127.0.0.1:0", "--no-keys"])


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]))
