"""Serves ``worlddb mcp --http`` with what the conformance suite asks for.

Each is offered in the way in which the memory's own are, so that what the suite looks at is our code.

    python -m tests.support.conformance.fixtures STORE

serves them and prints the address as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import msgspec
from mcp.shared.uri_template import UriTemplate

from worlddb import InputError
from worlddb.tools.cli.main import main
from worlddb.tools.mcp import catalogue
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


class Dialect(Tool):
    """A tool that names the dialect of its schema."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema with its dialect."""
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **super().input_schema}


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


def _static(desk: Session, variables: Variables) -> Content:
    return Content("This is the content of the static text resource.", TEXT)


def _data(desk: Session, variables: Variables) -> Content:
    told = {"id": variables["id"], "templateTest": True, "data": f"Data for ID: {variables['id']}"}
    return Content(json.dumps(told), JSON)


def _simple_prompt(desk: Session, given: Nothing, call: Call) -> str:
    return "This is a simple prompt for testing."


def _two(desk: Session, given: Two, call: Call) -> str:
    return f"Prompt with arguments: arg1='{given.arg1}', arg2='{given.arg2}'"


TOOLS = (
    Tool("test_simple_text", "Text", "Returns a text.", Nothing, Said, _simple, read_only=True),
    Tool("test_error_handling", "Error", "Always fails.", Nothing, Said, _fail, read_only=True),
    Tool("test_tool_with_progress", "Progress", "Takes a while.", Nothing, Said, _progress, read_only=True),
    Dialect("json_schema_2020_12_tool", "Schema", "Has a definition.", Person, Said, _person, read_only=True),
)
TEMPLATES = (
    Template(UriTemplate.parse("test://static-text"), "static-text", "Text", "A text.", _static),
    Template(UriTemplate.parse("test://template/{id}/data"), "data", "Data", "Data by id.", _data),
)
PROMPTS = (
    Prompt("test_simple_prompt", "Simple", "Takes nothing.", Nothing, _simple_prompt),
    Prompt("test_prompt_with_arguments", "Two", "Takes two.", Two, _two),
)


def serve(store: str) -> int:
    """Serve the fixtures beside the memory's own tools until the process is told to end."""
    vars(catalogue)["TOOLS"] += TOOLS
    catalogue.SETS["all"] += tuple(tool.name for tool in TOOLS)
    MemoryServer.templates += TEMPLATES
    MemoryServer.prompts += PROMPTS
    return main(["--store", store, "--json", "mcp", "--http", "127.0.0.1:0", "--no-keys"])


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]))
