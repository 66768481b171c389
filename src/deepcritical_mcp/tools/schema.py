"""JSON Schemas that every client supports: no `$ref`, no `anyOf`, and nothing that a model does not need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

_NOISE_IN_INPUT = frozenset({"title"})
_NOISE_IN_OUTPUT = frozenset(
    {
        "title",
        "description",
        "default",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "pattern",
        "additionalProperties",
        "required",
        "enum",
    }
)


def input_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's parameters: references inlined, titles dropped, unknown names forbidden."""
    return _plain(schema, schema.get("$defs", {}), _NOISE_IN_INPUT) | {"additionalProperties": False}


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The shape of a tool's structured result. Bounds, closed sets and prose are left out: the server keeps to them
    itself, and a client that validates must not break when a set grows."""
    schema = model.model_json_schema(mode="serialization")
    plain = _plain(schema, schema.get("$defs", {}), _NOISE_IN_OUTPUT)
    return {**plain, "required": schema.get("required", [])}


def _plain(node: Mapping[str, Any], definitions: Mapping[str, Any], noise: frozenset[str]) -> dict[str, Any]:
    if "$ref" in node:
        target = definitions[str(node["$ref"]).rsplit("/", 1)[-1]]
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _plain({**target, **rest}, definitions, noise)
    plain: dict[str, Any] = {}
    for key, value in node.items():
        if key == "$defs" or key in noise:
            continue
        if key == "properties":
            plain[key] = {
                name: _plain(child, definitions, noise)
                for name, child in cast("Mapping[str, Mapping[str, Any]]", value).items()
            }
        elif key == "items":
            plain[key] = _plain(value, definitions, noise)
        else:
            plain[key] = value
    return plain
