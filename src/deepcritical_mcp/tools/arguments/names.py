"""Names of arguments and tools as models write them, and which of ours they stand for."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

from deepcritical_mcp.data_files import data_table

_ROWS = data_table(__file__, "synonyms.txt")


def synonyms(kind: str) -> dict[str, str]:
    """The rows of one kind in `synonyms.txt`."""
    return {key.removeprefix(f"{kind} "): text for key, text in _ROWS.items() if key.startswith(f"{kind} ")}


_PARTS = {name: f"(?:{pattern})" for name, pattern in synonyms("part").items()}
INSTRUCTION = synonyms("request")["instruction"].format_map(_PARTS)
_ALIASES, _SWITCHES, _ADDED, _TOOLS = (
    {name: pattern.format_map(_PARTS) for name, pattern in synonyms(kind).items()}
    for kind in ("argument", "switch", "added", "tool")
)
_TOOL_ADVICE = synonyms("advice")
_KINDS = synonyms("kind")
_POLARITY = frozenset(_KINDS["polarity"].split())
TYPO, SIMILAR = 0.87, 0.75
"""How alike two names are, if one is the other with a typing error, and if it may stand for the other."""


def alias(name: str, known: Collection[str]) -> str:
    """The known name that is another name for the same; "" if there is none."""
    plain = plain_name(name) if name.isascii() else ""
    same = (one for one in known if plain_name(one) == plain)
    return next(same, "") or next((one for one, it in _ALIASES.items() if one in known and re.fullmatch(it, plain)), "")


def argument_named(name: str, known: Collection[str], likeness: float = TYPO) -> str:
    """The known name that `name` stands for: another name for it, or one so much alike; "" if there is none."""
    return alias(name, known) or (_alike(name, known, likeness) if name.isascii() or likeness < TYPO else "")


def switch(name: str, known: Collection[str]) -> tuple[str, object] | None:
    """The argument that the switch `name` sets, and its value when the switch is on."""
    found = next((target for target, it in _SWITCHES.items() if re.fullmatch(it, plain_name(name))), "")
    own, _, on = found.partition("=")
    return (own, False if on == "false" else on) if own in known else None


def instead(name: str, tool: str, known: Collection[str]) -> str:
    """The end of a sentence about an argument that `tool` lacks: what to pass instead; "." if that is not certain."""
    if tool == "check_citations" and is_of_kind(name, "file"):
        return ": read the file and pass what it contains as text."
    if near := argument_named(name, known, SIMILAR):
        return f': did you mean "{near}"?'
    if tool != "pubmed_search":
        return "."
    added = next(text for text, it in _ADDED.items() if re.fullmatch(it, plain_name(name)))
    return f'. Other filters are part of the query, e.g. query="(…) {added}".'


def is_of_kind(name: str, kind: str) -> bool:
    """Whether a name is one of those for which `synonyms.txt` has a pattern of this kind."""
    return re.fullmatch(_KINDS[kind], plain_name(name)) is not None


def is_ignorable(name: str, value: object) -> bool:
    """Whether an argument cannot change what a call means."""
    is_pubmed = str(value).lower() in ("pubmed", "medline")
    return is_of_kind(name, "ignored") or (is_pubmed and plain_name(name) in ("db", "database"))


def tool_hint(name: str, tools: Collection[str]) -> str:
    """What to call instead of the unknown tool `name`. `clear_session` only for a name that says "delete"."""
    own = re.split(r"__|[./:]", name[:200])[-1]
    plain = plain_name(own)
    if advice := next((text for pattern, text in _TOOL_ADVICE.items() if re.fullmatch(pattern, plain)), ""):
        return advice
    deletes = not _words(own).isdisjoint(("clear", "delete", "remove"))
    offered = [tool for tool in tools if deletes or tool != "clear_session"]
    near = next((tool for tool in offered if plain.endswith(plain_name(tool))), "")
    near = near or next((tool for tool, it in _TOOLS.items() if tool in offered and re.fullmatch(it, plain)), "")
    near = near or _alike(own, offered, SIMILAR)
    return f"Did you mean {near}?" if near else f"There are {', '.join(tools)}."


def plain_name(name: str) -> str:
    """A name without case and punctuation; "" if it is too long to be one."""
    return "".join(filter(str.isalnum, name.casefold())) if len(name) <= 80 else ""


def _alike(name: str, known: Collection[str], cutoff: float) -> str:
    polarity = _POLARITY & _words(name)
    same = {plain_name(one): one for one in known if polarity == _POLARITY & _words(one)}
    long = [word for word in same if len(word) > len("sort")]  # which is not "short"
    close = get_close_matches(plain_name(name[:80]), long, n=1, cutoff=cutoff)
    return same[close[0]] if close else ""


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name[:200])}
