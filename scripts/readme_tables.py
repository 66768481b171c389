"""The README's tables of tools and settings, made from the code: `python scripts/readme_tables.py` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deepcritical_mcp.config import Settings, variable_name
from deepcritical_mcp.server import create_server
from deepcritical_mcp.tools import TOOLS

README = Path(__file__).resolve().parents[1] / "README.md"


def tools_table() -> str:
    """Each tool with its description, and its parameters with their defaults; a required one in bold."""
    rows = ["| Tool | What it does | Parameters |", "| --- | --- | --- |"]
    for name, description, schema in _tools():
        required = schema.get("required", [])
        parameters = ", ".join(
            f"**`{parameter}`**" if parameter in required else f"`{parameter}{_default(field.get('default'))}`"
            for parameter, field in schema["properties"].items()
            if parameter != "session_id"
        )
        rows.append(f"| `{name}` | {_escaped(description)} | {parameters} |")
    return "\n".join(rows)


def settings_table() -> str:
    """Each setting's variable, its default and its meaning, in the order of the code."""
    rows = ["| Variable | Default | Meaning |", "| --- | --- | --- |"]
    for field, info in Settings.model_fields.items():
        known = info.default if isinstance(info.default, str | int | float) else ""
        default = f"`{_default(known)[1:]}`" if _default(known) else ""
        if info.default_factory is not None:
            default = "the user's cache folder"
        rows.append(f"| `{variable_name(field)}` | {default} | {_escaped(info.description or '')} |")
    return "\n".join(rows)


def with_tables(readme: str) -> str:
    """`readme` with both tables as the code has them now."""
    for name, table in (("tools", tools_table()), ("settings", settings_table())):
        pattern = rf"(<!-- {name}: .*? -->\n).*?(\n<!-- /{name} -->)"
        readme, count = re.subn(pattern, lambda found: found[1] + table + found[2], readme, flags=re.DOTALL)  # noqa: B023
        if count != 1:
            raise SystemExit(f"README.md needs one pair of <!-- {name}: … --> and <!-- /{name} -->")
    return readme


def _tools() -> Iterator[tuple[str, str, dict[str, Any]]]:
    import anyio

    for tool in anyio.run(create_server(Settings()).list_tools):
        yield tool.name, tool.description or "", tool.input_schema


def _default(value: object) -> str:
    """`=10`; nothing for an empty default, which means "not given"."""
    if isinstance(value, bool):
        return f"={str(value).lower()}"
    return "" if value in ("", None, []) else f"={value}"


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    print(f"{README.name}: {len(TOOLS)} tools, {len(Settings.model_fields)} settings")
