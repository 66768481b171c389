"""Generates the README's tables from the code: `python scripts/readme_tables.py`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from deepcritical_mcp.config import Settings, every_setting
from deepcritical_mcp.server import create_server
from deepcritical_mcp.tools import TOOLS
from deepcritical_mcp.tools.spec import listed_default

README = Path(__file__).resolve().parents[1] / "README.md"
IMPORTANT = (
    "NCBI_EMAIL",
    "NCBI_API_KEY",
    "TAVILY_API_KEY",
    "BRAVE_API_KEY",
    "SERPAPI_API_KEY",
    "DEEPCRITICAL_DATA_DIR",
    "DEEPCRITICAL_SESSION_TTL",
)
"""The settings that most people need; docs/reference.md lists all."""


def tools_table() -> str:
    """Each tool with its description and its parameters with their defaults; required ones are bold."""
    rows = ["| Tool | What it does | Parameters |", "| --- | --- | --- |"]
    for name, description, schema in _tools():
        required = schema.get("required", [])
        parameters = ", ".join(
            f"**`{parameter}`**" if parameter in required else f"`{parameter}{_default(listed_default(field))}`"
            for parameter, field in schema["properties"].items()
            if parameter != "session_id"
        )
        rows.append(f"| `{name}` | {_escaped(description)} | {parameters} |")
    return "\n".join(rows)


def settings_table() -> str:
    """The `IMPORTANT` settings with their defaults and meanings."""
    settings = {setting.variable: setting for setting in every_setting()}
    rows = ["| Variable | Default | Meaning |", "| --- | --- | --- |"]
    for variable in IMPORTANT:
        info = settings[variable].info
        known = info.default if isinstance(info.default, str | int | float) else ""
        default = f"`{_default(known)[1:]}`" if _default(known) else ""
        rows.append(f"| `{variable}` | {default} | {_escaped(settings[variable].description)} |")
    return "\n".join(rows)


def with_tables(readme: str) -> str:
    """`readme` with both tables as the code has them now."""
    for name, table in (("tools", tools_table()), ("settings", settings_table())):
        before, found, rest = readme.partition(f"<!-- {name}: scripts/readme_tables.py -->\n")
        _, end, after = rest.partition(f"\n<!-- /{name} -->")
        if not found or not end:
            raise SystemExit(f"README.md has no place for the table of {name}")
        readme = f"{before}{found}{table}{end}{after}"
    return readme


def _tools() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for tool in anyio.run(create_server(Settings()).list_tools):
        yield tool.name, re.sub(r"\s+", " ", tool.description or ""), tool.input_schema


def _default(value: object) -> str:
    """E.g. "=10"; "" for an empty default, which means "not given"."""
    if isinstance(value, bool):
        return f"={str(value).lower()}"
    return "" if value in ("", None, []) else f"={value}"


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    print(f"{README.name}: {len(TOOLS)} tools, {len(IMPORTANT)} settings")
