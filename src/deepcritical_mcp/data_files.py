"""Words, tables and patterns that stand in text files next to the modules that use them."""

from __future__ import annotations

import re
from pathlib import Path


def data_lines(module: str, name: str) -> list[str]:
    """The lines of the data file `name` next to a module (its `__file__`), without blank ones and comments (#)."""
    lines = Path(module).with_name(name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def data_table(module: str, name: str) -> dict[str, str]:
    """The lines "key: value" of such a file, by key."""
    return dict(line.split(": ", 1) for line in data_lines(module, name))


def data_patterns(module: str, name: str, **words: str) -> dict[str, str]:
    """The patterns "NAME: pattern" of such a file, in which <NAME> stands for an earlier one, or one of `words`."""
    found = words
    for key, pattern in data_table(module, name).items():
        found[key] = re.sub("<([A-Z_]+)>", lambda part: f"(?:{found[part[1]]})", pattern)
    return found
