"""Lists of words from `words.txt`."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files


def listed_words(name: str) -> frozenset[str]:
    """The words of a list."""
    return _lists()[name]


@lru_cache(maxsize=1)
def _lists() -> dict[str, frozenset[str]]:
    rows = (files("deepcritical_mcp.search.references") / "words.txt").read_text("utf-8").splitlines()
    named = (row.split("\t") for row in rows if not row.startswith("#"))
    return {name: frozenset(words.split()) for name, words in named}
