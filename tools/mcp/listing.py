"""What is listed to a client, in the words of the protocol."""

from __future__ import annotations

import msgspec
from mcp_types import Prompt as ListedPrompt
from mcp_types import PromptArgument, ToolAnnotations
from mcp_types import Resource as ListedResource
from mcp_types import ResourceTemplate as ListedTemplate
from mcp_types import Tool as ListedTool

from worlddb import World
from worlddb.tools.mcp.catalogue import Tool, schema
from worlddb.tools.mcp.prompts import Prompt
from worlddb.tools.mcp.resources import TEXT, Template, world_uri


def tool(of: Tool) -> ListedTool:
    """A tool with its schemas and what it may change."""
    return ListedTool(
        name=of.name,
        title=of.title,
        description=of.description,
        input_schema=of.input_schema,
        output_schema=of.output_schema,
        annotations=ToolAnnotations(
            read_only_hint=of.read_only,
            destructive_hint=of.destructive,
            idempotent_hint=of.idempotent,
            open_world_hint=False,
        ),
    )


def scope(of: World) -> ListedResource:
    """A scope as a resource."""
    return ListedResource(
        uri=world_uri(of.ref), name=of.name, description="A scope and the first memories in it.", mime_type=TEXT
    )


def template(of: Template) -> ListedTemplate:
    """A family of resources; each can be had as text and as JSON, so no type is promised."""
    return ListedTemplate(uri_template=str(of.uri), name=of.name, title=of.title, description=of.description)


def prompt(of: Prompt) -> ListedPrompt:
    """A prompt; its arguments are described as those of tools are, and are all texts."""
    told = schema(of.takes).get("properties", {})
    arguments = [
        PromptArgument(name=field.name, description=told[field.name].get("description"), required=field.required)
        for field in msgspec.structs.fields(of.takes)
    ]
    return ListedPrompt(name=of.name, title=of.title, description=of.description, arguments=arguments)
