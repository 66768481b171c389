"""The structured form of results as a client reads it: what is absent has its default."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from mcp.client import Client
from mcp_types import CallToolResult, InputRequiredResult, TextContent
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from deepcritical_mcp import models


def _defaults() -> dict[str, Any]:
    """By the name of the field, as JSON has it."""
    found: dict[str, Any] = {}
    for kind in vars(models).values():
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, field in kind.model_fields.items():
                if (default := field.get_default(call_default_factory=True)) is not PydanticUndefined:
                    found.setdefault(name, [*default] if isinstance(default, tuple) else default)
    return found | {"status": "ok", "source": "pubmed", "kind": "abstract"}


DEFAULTS = _defaults()


class Wire(dict[str, Any]):
    """An object of the structured form."""

    def __missing__(self, name: str) -> Any:
        return DEFAULTS[name]


def filled(value: Any) -> Any:
    """JSON with `Wire` for objects."""
    if isinstance(value, Mapping):
        return Wire({name: filled(one) for name, one in cast("Mapping[str, Any]", value).items()})
    return [filled(one) for one in cast("Sequence[Any]", value)] if isinstance(value, list) else value


def wire(result: CallToolResult | InputRequiredResult) -> dict[str, Any]:
    """The structured form of a result, with the citation of a publication in all of its texts; {} if it has none."""
    assert isinstance(result, CallToolResult)
    found = filled(result.structured_content or {})
    first: dict[str, Any] = {}
    for item in found.get("evidence", ()):
        first.setdefault(item["id"].partition("~")[0], item.get("citation"))
        item.setdefault("citation", first[item["id"].partition("~")[0]])
    return found


def text_of(result: CallToolResult | InputRequiredResult) -> str:
    """The readable form of a result: its one block of text."""
    assert isinstance(result, CallToolResult)
    (text,) = (block.text for block in result.content if isinstance(block, TextContent))
    return text


async def both(client: Client, tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
    """Both forms of an answer that must not be an error, the readable one first."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return text_of(result), wire(result)


async def called(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured form of an answer that must not be an error."""
    return (await both(client, tool, **arguments))[1]
