"""docs/reference.md, made from the code: `python scripts/reference.py` writes it.

What the code does not say of a parameter or of a result's field stands in reference.toml beside this. What has no
meaning, and a meaning of what is no longer there, end the script with an error.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import anyio
from mcp_types import Tool as MCPTool
from pydantic import BaseModel
from typer import Typer
from typer.models import ArgumentInfo, OptionInfo

from deepcritical_mcp import errors
from deepcritical_mcp.cli.app import app
from deepcritical_mcp.config import Settings, variable_name
from deepcritical_mcp.prompts import PROMPTS
from deepcritical_mcp.server import create_server
from deepcritical_mcp.tools import PROFILES, TOOLS, ToolSpec
from deepcritical_mcp.tools.schema import INTERNAL_FIELDS, output_schema

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference.md"
TEXTS = Path(__file__).with_name("reference.toml")

HEAD = """\
<!-- Made by scripts/reference.py; a change here is lost, a change in the code must be followed by running it. -->

# Reference

Everything that the server offers, as the code has it: [tools](#tools), [what they return](#what-tools-return),
[prompts](#prompts), [resources](#resources), [errors](#errors), [settings](#settings), [commands](#commands). What it
means for your research is in the [guide](guide.md), how to connect clients in [clients](clients.md).
"""

TOOLS_HEAD = """\
## Tools

An unknown argument is an error that names the nearest valid one. An empty string or list, or a `null`, means "not
given"; what leaves no doubt is taken as it is meant (digits for a text, one item for a list of it). Every tool returns
the same twice: as Markdown, and as the structured value named here.

What a tool finds or keeps belongs to a *session*. `session_id` is `""` for your connection's own session, `"new"` for a
fresh one, or an id that an earlier result named.
"""

SEARCH_FETCH_HEAD = """\
### The profile search-fetch

`serve --profile search-fetch` offers these two and nothing else, for hosts that require them. Their results are JSON,
in the text as in the structured form, and ids carry their session.
"""

ERRORS_HEAD = """\
## Errors

A failing tool answers with `isError`, a sentence for the model, and
`{"error": {"code", "message", "retryable", "retry_after", "details"}}`. `retry_after` is in seconds, 0 when unknown.
`details.provider` names the source that failed; `details.causes` lists one cause for each when all failed; when PubMed
found records but could not deliver them, `details.count` and `details.pmids` tell what they were. *Again?* says whether
the same call may succeed later.
"""

SETTINGS_HEAD = """\
## Settings

Environment variables; an empty one counts as not set. A wrong value ends the server at once with a sentence that names
the variable, never its value; a name that looks like a setting and is none is pointed out. Lists are separated by
commas or spaces. The cache folder of each system stands in the [guide](guide.md#where-things-are).
"""

COMMANDS_HEAD = """\
## Commands

`--debug`, anywhere in a command, shows where a failure came from. Exit codes: 0 done, 1 failed, 2 wrong use or a wrong
setting, 130 stopped by Ctrl-C.
"""


def reference() -> str:
    """The whole page."""
    listed, words = anyio.run(_listed), Words("parameters")
    parts = [HEAD, TOOLS_HEAD, *(_tool(listed[spec.name], spec, words) for spec in TOOLS)]
    pair = PROFILES["search-fetch"]
    parts += [SEARCH_FETCH_HEAD, *(_tool(listed[spec.name], spec, words) for spec in pair)]
    words.close()
    parts += [_values((*TOOLS, *pair)), _prompts(), anyio.run(_resources), _errors(), _settings(), _commands()]
    return "\n".join(parts)


class Words:
    """The texts of one table of reference.toml, by `owner.name` before `name`."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._texts: dict[str, str] = tomllib.loads(TEXTS.read_text(encoding="utf-8"))[table]
        self._unused = set(self._texts)

    def of(self, owner: str, name: str, *, said: str = "") -> str:
        """The text for a name, before what the code has `said` of it; ends the script when there is neither."""
        key = f"{owner}.{name}" if f"{owner}.{name}" in self._texts else name
        self._unused.discard(key)
        meaning = "; ".join(filter(None, (self._texts.get(key, ""), said)))
        if not meaning:
            raise SystemExit(f"{TEXTS.name}, [{self._table}], lacks {owner}.{name}")
        return meaning

    def close(self) -> None:
        """End the script when a text is left that belongs to nothing."""
        if self._unused:
            raise SystemExit(f"{TEXTS.name}, [{self._table}], holds what is not there: {sorted(self._unused)}")


async def _listed() -> dict[str, MCPTool]:
    tools = [tool for profile in PROFILES for tool in await create_server(Settings(), profile=profile).list_tools()]
    return {tool.name: tool for tool in tools}


def _tool(tool: MCPTool, spec: ToolSpec, words: Words) -> str:
    rows = list(_parameters(tool.input_schema, tool.name, words))
    table = _table(("Parameter", "Type", "Default", "Meaning"), rows)
    result = spec.result.__name__
    returns = f"Returns [`{result}`](#{result.lower()})."
    return f"### {tool.name}\n\n{tool.description}\n\n{_hints(spec)} {returns}\n\n{table}"


def _hints(spec: ToolSpec) -> str:
    hints = spec.annotations
    changes = "Changes nothing." if hints.read_only_hint else "Keeps what it finds in the session."
    if spec.name == "add_evidence":
        changes = "Adds to the session; twice is once."
    if hints.destructive_hint:
        changes = "Deletes for good."
    asks = "Asks the outside world." if hints.open_world_hint else "Asks nobody outside."
    board = " Drawn as the evidence board where a host can." if spec.on_board else ""
    return f"{changes} {asks}{board}"


def _parameters(schema: Mapping[str, Any], tool: str, words: Words, within: str = "") -> Iterator[tuple[str, ...]]:
    for name, field in schema["properties"].items():
        required = name in schema.get("required", [])
        default = "**required**" if required else _shown_default(field.get("default"))
        meaning = words.of(tool, f"{within}{name}", said=field.get("description", ""))
        yield f"`{within}{name}`", _type_of(field), default, _with_bounds(meaning, field)
        items = field.get("items", {})
        if "properties" in items:
            yield from _parameters(items, tool, words, f"{within}{name}[].")


def _values(specs: Sequence[ToolSpec]) -> str:
    """Every value that a tool returns, outermost first, and the values within them."""
    known: dict[str, type[BaseModel]] = {}
    waiting = [spec.result for spec in specs]
    while waiting:
        model = waiting.pop(0)
        if model.__name__ not in known:
            known[model.__name__] = model
            waiting += [inner for inner in _inner_models(model) if inner.__name__ not in known]
    words = Words("fields")
    parts = ["## What tools return\n", *(_value(model, words) for model in known.values())]
    words.close()
    return "\n".join(parts)


def _inner_models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for name, field in model.model_fields.items():
        if name not in INTERNAL_FIELDS:
            yield from _models_in(field.annotation)


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _value(model: type[BaseModel], words: Words) -> str:
    properties = output_schema(model)["properties"]
    rows: list[tuple[str, ...]] = []
    for name, field in properties.items():
        inner = next(_models_in(model.model_fields[name].annotation), None)
        rows.append((f"`{name}`", _type_of(field, inner), words.of(model.__name__, name)))
    prose = [part for part in _paragraphs(model) if not any(f"`{name}`" in part for name in INTERNAL_FIELDS)]
    text = "\n\n".join(prose)
    return f"### {model.__name__}\n\n{text}\n\n{_table(('Field', 'Type', 'Meaning'), rows)}"


def _prompts() -> str:
    rows = [
        (
            f"`{prompt.name}`",
            prompt.title or "",
            prompt.description or "",
            ", ".join(map(_argument, prompt.arguments or [])),
        )
        for prompt in PROMPTS
    ]
    head = "## Prompts\n\nWays of working that a person starts by name.\n\n"
    return head + _table(("Prompt", "Title", "What it does", "Arguments"), rows)


def _argument(argument: Any) -> str:
    name = f"**`{argument.name}`**" if argument.required else f"`{argument.name}`"
    return f"{name} ({argument.description})" if argument.description else name


async def _resources() -> str:
    server = create_server(Settings())
    rows = [
        (f"`{one.uri_template}`", one.title or "", f"`{one.mime_type}`", one.description or "")
        for one in await server.list_resource_templates()
    ]
    rows += [
        (f"`{one.uri}`", one.title or "", f"`{one.mime_type}`", one.description or "The board's page, for MCP Apps.")
        for one in await server.list_resources()
    ]
    head = (
        "## Resources\n\nA client's list shows its own session and the newest pieces in it; a notice tells when they "
        "change.\n\n"
    )
    return head + _table(("Address", "Title", "Type", "What it holds"), rows)


def _errors() -> str:
    kinds = [
        kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, errors.DeepCriticalError)
    ]
    rows = [(f"`{kind.code}`", "yes" if kind.retryable else "no", _error_meaning(kind)) for kind in kinds]
    return ERRORS_HEAD + "\n" + _table(("Code", "Again?", "Meaning"), rows)


def _error_meaning(kind: type[errors.DeepCriticalError]) -> str:
    if kind is errors.DeepCriticalError:
        return "A bug in this server; its log tells more."
    return _paragraphs(kind)[0]


def _settings() -> str:
    properties = Settings.model_json_schema()["properties"]
    rows: list[tuple[str, ...]] = []
    for name, info in Settings.model_fields.items():
        variable = variable_name(name)
        schema = properties[variable if variable in properties else name]
        schema = next((one for one in schema.get("anyOf", []) if one.get("type") != "null"), schema)
        default = "the user's cache folder" if info.default_factory else _shown_default(_plain_default(info.default))
        secret = schema.get("format") == "password"
        kind = "secret" if secret else "path" if schema.get("format") == "path" else _type_of(schema)
        rows.append((f"`{variable}`", kind, default, _with_bounds(info.description or "", schema)))
    return SETTINGS_HEAD + "\n" + _table(("Variable", "Type", "Default", "Meaning"), rows)


def _plain_default(default: object) -> object:
    return default if isinstance(default, str | int | float) else ""


def _commands() -> str:
    parts = [COMMANDS_HEAD]
    for words, run in _callbacks(app, ("deepcritical-mcp",)):
        line = " ".join((*words, *(_usage(*one) for one in _cli_parameters(run) if isinstance(one[1], ArgumentInfo))))
        title = " ".join(words) if len(words) > 1 else "deepcritical-mcp, without a command"
        text = _paragraphs(run)[0] if len(words) > 1 else "Serves one client over stdio, as MCP clients start it."
        rows = [_cli_row(*one) for one in _cli_parameters(run)]
        table = "\n" + _table(("Option", "Type", "Default", "Meaning"), rows) if rows else ""
        parts.append(f"### {title}\n\n```text\n{line}\n```\n\n{text}\n{table}")
    return "\n".join(parts)


def _callbacks(group: Typer, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Callable[..., object]]]:
    if group.registered_callback and group.registered_callback.callback:
        yield words, group.registered_callback.callback
    for command in group.registered_commands:
        if command.callback:
            yield (*words, command.name or command.callback.__name__.replace("_", "-")), command.callback
    for inner in group.registered_groups:
        if inner.typer_instance:
            yield from _callbacks(inner.typer_instance, (*words, str(inner.name)))


def _cli_parameters(run: Callable[..., object]) -> list[tuple[str, OptionInfo | ArgumentInfo, object, object]]:
    """Name, what Typer is told of it, type and default."""
    found: list[tuple[str, OptionInfo | ArgumentInfo, object, object]] = []
    hints = get_type_hints(run, include_extras=True)
    for name, parameter in inspect.signature(run).parameters.items():
        if get_origin(hints[name]) is Annotated:
            kind, info, *_ = get_args(hints[name])
            found.append((name, info, kind, parameter.default))
    return found


def _usage(name: str, _info: object, _kind: object, default: object) -> str:
    return name.upper() if default is inspect.Parameter.empty else f"[{name.upper()}]"


def _cli_row(name: str, info: OptionInfo | ArgumentInfo, kind: object, default: object) -> tuple[str, ...]:
    is_argument = isinstance(info, ArgumentInfo)
    # Of several names Typer keeps the first in the place of the default.
    given = [str(one) for one in (info.default, *(info.param_decls or ())) if str(one).startswith("-")]
    names = [name.upper()] if is_argument else given or [f"--{name.replace('_', '-')}"]
    shown = "" if isinstance(default, bool) else _shown_default(str(default) if isinstance(default, Path) else default)
    default_shown = "**required**" if default is inspect.Parameter.empty else shown
    limits = f" ({info.min} to {info.max})" if info.min is not None and info.max is not None else ""
    meaning = f"{info.help}{limits}"
    return ", ".join(f"`{one}`" for one in names), _cli_type(kind), default_shown, meaning


def _cli_type(kind: object) -> str:
    if get_origin(kind) is Literal:
        return " \\| ".join(f"`{one}`" for one in get_args(kind))
    names: dict[object, str] = {bool: "switch", str: "text", int: "whole number", float: "number", Path: "path"}
    return names.get(kind, "text, repeatable")


def _type_of(schema: Mapping[str, Any], inner: type[BaseModel] | None = None) -> str:
    if "enum" in schema or "const" in schema:
        return " \\| ".join(f"`{one}`" for one in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type_of(schema['items'], inner)}"
    if schema.get("type") == "object":
        return f"[`{inner.__name__}`](#{inner.__name__.lower()})" if inner else "object"
    return {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` \\| `false`"}[
        schema["type"]
    ]


def _with_bounds(meaning: str, schema: Mapping[str, Any]) -> str:
    bounds = _bounds(schema)
    return f"{meaning} ({bounds})" if bounds else meaning


def _bounds(schema: Mapping[str, Any]) -> str:
    """E.g. "1 to 100", "at most 64 characters"; "" where nothing is left to say."""
    if schema.get("type") in ("integer", "number"):
        least, most = schema.get("minimum"), schema.get("maximum")
        above = schema.get("exclusiveMinimum")
        if above is not None:
            return f"above {above:g}" + (f", at most {most:g}" if most is not None else "")
        if least is not None and most is not None:
            return f"{least:g} to {most:g}"
        return f"{least:,g} or more" if least else ""
    unit = " items" if schema.get("type") == "array" else " characters"
    least = schema.get("minItems", schema.get("minLength"))
    most = schema.get("maxItems", schema.get("maxLength"))
    if most is None:
        return ""
    return f"{least:,} to {most:,}{unit}" if least else f"at most {most:,}{unit}"


def _shown_default(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "" if value in ("", None, [], ()) or value is inspect.Parameter.empty else f"`{value}`"


def _paragraphs(documented: object) -> list[str]:
    """The docstring's paragraphs up to its first section, each on one line."""
    text = inspect.cleandoc(getattr(documented, "__doc__", None) or "")
    text = re.split(r"^(?:Attributes|Args|Raises):$", text, flags=re.MULTILINE)[0]
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [[_cell(cell) for cell in row] for row in rows]
    if not cells:
        return ""
    lines = [head, ["---"] * len(head), *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8", newline="\n")
    print(f"{REFERENCE.name}: {len(TOOLS)} tools, {len(Settings.model_fields)} settings")
