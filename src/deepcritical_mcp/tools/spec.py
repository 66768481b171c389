"""How a tool module describes its tool to the server, and JSON Schemas that every client supports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from inspect import get_annotations
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from mcp_types import Icon, ResourceLink, ToolAnnotations
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from deepcritical_mcp.models import Citation
from deepcritical_mcp.tools.answers.render import to_markdown

BOARD_URI = "ui://deepcritical/board.html"
_IN_URIS = "/:=',"

LISTED_AS = "listedAs"
"""A mark of choices that another place of the list has spelled out: models see these words instead."""
# Gemini's converter fails on additionalProperties; the server refuses unknown names itself.
_NOT_IN_MEASURES = frozenset({"$defs", "title", "additionalProperties", "propertyNames"})
# An error names the limit of a length or a number, and what is too little or too much; strict modes know none of these.
_NOT_IN_INPUT = _NOT_IN_MEASURES | {
    "maxLength",
    "minLength",
    "ifTooLong",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    LISTED_AS,
}
FEW_FIELDS = 3
"""Of objects in lists that have no more, an output schema does not spell the fields out."""
_NOT_IN_OUTPUT = _NOT_IN_INPUT | set(
    "description default minLength maxLength minimum maximum pattern enum required".split()
)
_SENT = {"Citation": Citation.SENT, "CheckedRecord": ("id", "reference", "status")}
"""Of objects, the fields that the structured form has."""


@dataclass(frozen=True, eq=False)
class ToolSpec:
    """One MCP tool.

    Attributes:
        run: the function; its docstring is the description, its parameters are the input schema.
        title: shown to people.
        icon: one character, likewise.
        read_only: a hint for clients: it changes nothing but what the session has found.
        destructive: likewise: it may delete something; repeating any other call changes nothing more.
        open_world: likewise: it asks services outside.
        render: the readable form of the result.
        changes_session: whether it may change a session's evidence.
        if_late: advice when a call did not finish before its deadline.
        is_basic: whether a host that loads tools when they are needed should always load it.
        source: the name of the source without which it is not offered; "" for none.
        link: the resource that a result names, if it names one.
        on_board: whether hosts that support MCP Apps show its result on the evidence board.
    """

    run: Callable[..., Awaitable[BaseModel]]
    title: str
    icon: str
    read_only: bool = False
    destructive: bool = False
    open_world: bool = False
    render: Callable[[Any], str] = to_markdown
    changes_session: bool = False
    if_late: str = "What was kept so far stays in the session. Try again, asking for less in one call if possible."
    on_board: bool = False
    link: Callable[[Any], ResourceLink | None] | None = None
    is_basic: bool = False
    source: str = ""

    @property
    def name(self) -> str:
        """The wire name."""
        return self.run.__name__

    @property
    def result(self) -> type[BaseModel]:
        """The type that it returns, and so its output schema."""
        return get_annotations(self.run, eval_str=True)["return"]

    @property
    def annotations(self) -> ToolAnnotations:
        """The hints for the client."""
        return ToolAnnotations(
            read_only_hint=self.read_only,
            destructive_hint=self.destructive,
            idempotent_hint=None if self.read_only else not self.destructive,
            open_world_hint=self.open_world,
        )

    @property
    def meta(self) -> dict[str, Any] | None:
        """The `_meta` of the tool in the list."""
        board: dict[str, Any] = {"ui": {"resourceUri": BOARD_URI}} if self.on_board else {}
        return board | ({"anthropic/alwaysLoad": True} if self.is_basic else {}) or None

    @property
    def icons(self) -> list[Icon]:
        """The icon as a picture."""
        shape = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0,-13,16,16'><text>{self.icon}</text></svg>"
        return [Icon(src=f"data:image/svg+xml,{quote(shape, safe=_IN_URIS)}")]


asking_tool = partial(ToolSpec, read_only=True, open_world=True, changes_session=True)
"""One that asks services outside and keeps what it finds in the session."""


def input_schema(schema: Mapping[str, Any], *, with_lengths: bool = False) -> dict[str, Any]:
    """A tool's parameters: references inlined, titles dropped; `with_lengths` for us, without them and without empty
    defaults, or the first of the choices, for models."""
    return _plain(schema, schema.get("$defs", {}), _NOT_IN_MEASURES if with_lengths else _NOT_IN_INPUT)


def listed_default(field: Mapping[str, Any]) -> Any:
    """The default of a parameter of a listed schema: the first of its choices, where that is left out; else None."""
    return field.get("default", next(iter(field.get("enum", ())), None))


@cache
def output_schemas(tools: tuple[ToolSpec, ...]) -> Mapping[str, dict[str, Any]]:
    """The shapes of the structured results, by the tools' names. What an earlier tool has spelled out, later ones name
    in words: not every client resolves references."""
    spelled: dict[str, str] = {}
    return {spec.name: output_schema(spec.result, spelled, spec.name) for spec in tools}


def output_schema(model: type[BaseModel], spelled: dict[str, str] | None = None, tool: str = "") -> dict[str, Any]:
    """The shape of a structured result. Bounds, enums and descriptions are omitted: the server respects them anyway,
    and a client that validates must not break when an enum grows. Of the result itself nothing is required, since
    clients also validate the one that holds only an error; of objects within it what is never empty. What is in a list
    is spelled out only if it is objects, to two levels of lists. Objects that `spelled` names with another tool are
    named in words."""
    schema = model.model_json_schema(mode="serialization", schema_generator=_WithoutDefaults)
    definitions = schema.get("$defs", {})
    for name, sent in _SENT.items():
        if held := definitions.get(name):
            held["properties"] = {field: held["properties"][field] for field in sent}
            held["required"] = [field for field in held["required"] if field in sent]
    known = {} if spelled is None else spelled
    told = {name: f"as in {other}" for name, other in known.items() if other != tool}
    shape = _plain(schema, definitions, _NOT_IN_OUTPUT, lists=1, told=told)
    shape.pop("required", None)
    known.update({name: tool for name in definitions if name not in known})
    return shape


class _WithoutDefaults(GenerateJsonSchema):
    """An output schema shows no defaults, and to write one takes as long as the rest of its field."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def _plain(
    node: Mapping[str, Any],
    definitions: Mapping[str, Any],
    noise: frozenset[str],
    *,
    lists: int = 9,
    told: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in told:
            return {"type": "object", "description": told[name]}
        node = {**definitions[name], **node}
    plain = {key: value for key, value in node.items() if key not in noise and key != "$ref"}
    if noise is _NOT_IN_INPUT and LISTED_AS in node:
        plain = {"type": plain["type"], **({"description": node[LISTED_AS]} if node[LISTED_AS] else {})}
    if "properties" in plain:
        named = plain["properties"].items()
        plain["properties"] = {name: _plain(one, definitions, noise, lists=lists, told=told) for name, one in named}
    if "items" in plain:
        plain["items"] = _plain(plain["items"], definitions, noise, lists=lists - 1, told=told)
    if noise is _NOT_IN_INPUT and plain.get("default") in ("", [], False, 0, *plain.get("enum", ())[:1]):
        del plain["default"]
    if "properties" in plain:  # what the code says of an object is for its readers
        plain.pop("description", None)
    if noise is _NOT_IN_OUTPUT and "description" in plain.get("items", {}):
        return {"type": "array", "description": plain["items"]["description"]}
    if not lists or (noise is _NOT_IN_OUTPUT and len(plain.get("items", {}).get("properties", ())) <= FEW_FIELDS):
        plain.pop("items", None)
    return plain
