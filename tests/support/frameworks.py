"""Stand-ins for the models of agent frameworks, which answer by rule.

A framework's page says ``model``, which is one of these here. It quotes what its instructions know, so that a page on
which memory did not reach the model prints something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

_KNOWN = re.compile(r"^- [\d-]+: (?P<text>.+?) \[.*; (?P<id>[0-9a-f]{12})\]$", re.MULTILINE)


class Call(NamedTuple):
    """A tool that the model calls, with its arguments."""

    tool: str
    arguments: dict[str, str]


def answer(instructions: str, said: str, result: str | None) -> str | Call:
    """Return what a model says to a user, or which tool it calls; ``result`` is what a tool has just answered."""
    if result is not None:
        return f"Done: {result}"
    known = [match.groupdict() for match in _KNOWN.finditer(instructions)]
    about_nuts = next((each for each in known if "allergic" in each["text"] and ": " not in each["text"]), None)
    if said.startswith("I am"):
        return Call("remember", {"text": said.replace("I am", "Ana is")})
    if said.startswith("No,") and about_nuts:
        return Call("correct", {"id": about_nuts["id"], "text": "Ana is allergic to peanuts alone."})
    if said.startswith("Forget") and about_nuts:
        return Call("forget", {"id": about_nuts["id"]})
    if said.startswith("Forget"):
        return Call("forget", {"id": "ffffffffffff"})
    return f"As far as I know: {about_nuts['text']}" if about_nuts else "I do not know."


def openai_model() -> Any:
    """Return a model of OpenAI's agents SDK."""
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):
        async def get_response(
            self, system_instructions: str | None, input: str | list[Any], *given: Any, **named: Any
        ) -> ModelResponse:
            items = [{"role": "user", "content": input}] if isinstance(input, str) else [dict(each) for each in input]
            said = [each["content"] for each in items if each.get("role") == "user"][-1]
            last = items[-1]
            result = last["output"] if last.get("type") == "function_call_output" else None
            told = answer(system_instructions or "", said, result)
            output: Any
            if isinstance(told, Call):
                output = ResponseFunctionToolCall(
                    call_id=f"call-{len(items)}-{abs(hash(told.tool))}",
                    name=told.tool,
                    arguments=json.dumps(told.arguments),
                    type="function_call",
                )
            else:
                text = ResponseOutputText(annotations=[], text=told, type="output_text")
                output = ResponseOutputMessage(
                    id="message", content=[text], role="assistant", status="completed", type="message"
                )
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
            raise RuntimeError("the pages do not stream")

    return Scripted()


def pydantic_ai_model() -> Any:
    """Return a model of Pydantic AI."""
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages if message.kind == "request" for part in message.parts]
        said = [str(part.content) for part in parts if part.part_kind == "user-prompt"][-1]
        last = parts[-1]
        result = str(last.content) if last.part_kind in ("tool-return", "retry-prompt") else None
        told = answer(info.instructions or "", said, result)
        return ModelResponse(
            parts=[ToolCallPart(told.tool, told.arguments) if isinstance(told, Call) else TextPart(told)]
        )

    return FunctionModel(respond)


def llama_index_model() -> Any:
    """Return a model of LlamaIndex."""
    from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    def respond(messages: Sequence[ChatMessage], **named: Any) -> ChatMessage:
        instructions = "\n".join(each.content or "" for each in messages if each.role.value == "system")
        said = [each.content or "" for each in messages if each.role.value == "user"][-1]
        result = messages[-1].content if messages[-1].role.value == "tool" else None
        told = answer(instructions, said, result)
        block = (
            ToolCallBlock(tool_name=told.tool, tool_kwargs=told.arguments, tool_call_id="call")
            if isinstance(told, Call)
            else TextBlock(text=told)
        )
        return ChatMessage(role="assistant", blocks=[block])

    return MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)
