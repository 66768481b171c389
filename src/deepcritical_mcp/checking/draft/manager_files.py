"""Entries of reference managers, in a file or among text: BibTeX, RIS, PubMed's own form and CSL-JSON."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import NamedTuple, cast

from deepcritical_mcp.checking.draft.draft_parts import ListEntry
from deepcritical_mcp.search.references.written import TAG, bibtex_block, csl_entry, read_entry

_ENTRY = re.compile(
    r"^[ \t]{0,20}(?=@[A-Za-z]\w{0,30}[ \t]{0,8}\{)"
    r"|^[ \t]{0,4}(?=TY {1,3}-|PMID- ?[0-9]{1,9}[ \t]{0,4}\n[A-Z]{2,4} {0,2}- )",
    re.MULTILINE,
)
"""What an entry of BibTeX, or a record of RIS or PubMed's form begins with."""
_MACRO = re.compile(r"(=\s{0,20})([A-Za-z][\w:.+-]{0,60})(?=\s{0,20}[,})])")


class ManagerEntries(NamedTuple):
    """The entries in a text, of BibTeX with the values of its macros, those that cannot be read, and the rest of the
    text, where each entry has left its `entry_place`."""

    entries: list[ListEntry]
    unread: list[ListEntry]
    rest: str


def entry_place(number: int) -> str:
    """What stands in the rest of a text for one of its entries, as the label of a note: no word, and on no keyboard."""
    return f"@{chr(0xF0000 + number)}"


def manager_entries(text: str) -> ManagerEntries:
    """What a text has of reference managers, in its order."""
    if (found := _csl(text)).entries:
        return found
    found, macros, kept, at = ManagerEntries([], [], ""), dict[str, str](), list[str](), 0
    starts = [one.end() for one in _ENTRY.finditer(text)]
    for start, end in pairwise((*starts, len(text))):
        count, piece = len(found.entries), text[start:end]
        if raw := _bibtex(piece, found, macros) if piece.startswith("@") else _record(piece, found):
            kept += text[at:start], "\n\n", *(f"[^{entry_place(one)}]:\n\n" for one in range(count, len(found.entries)))
            at = start + len(raw)
    return found._replace(rest="".join((*kept, text[at:])))


def _bibtex(piece: str, found: ManagerEntries, macros: dict[str, str]) -> str:
    """Add the entry with which a piece of a text begins; what it takes of this. If it is not closed, it ends where the
    next one, or another paragraph, starts."""
    block = bibtex_block(piece)
    if block.macro:
        macros |= [block.macro]
    elif block.entry and block.entry.key:
        found.entries.append(ListEntry(_expanded(block.entry.text, macros), label=block.entry.key))
    elif block.reason:
        raw = piece.partition("\n\n")[0].rstrip()
        found.unread.append(ListEntry(raw, reason=f"BibTeX that cannot be read: {block.reason}"))
        return raw
    return block.raw


def _expanded(entry: str, macros: dict[str, str]) -> str:
    """An entry with the values of macros, which other text does not have."""
    return _MACRO.sub(lambda one: f"{one[1]}{{{macros[key]}}}" if (key := one[2].lower()) in macros else one[0], entry)


def _record(piece: str, found: ManagerEntries) -> str:
    """Add the record with which a piece of a text begins; what it takes of this. If its last line is missing, it ends
    with the paragraph of its last tag."""
    tags = [*TAG.finditer(piece)]
    last = next((one for one in tags if one[1].strip() == "ER"), tags[-1])
    end = piece.find("\n" if last[1].strip() == "ER" else "\n\n", last.end())
    raw = piece[: end if end >= 0 else None].rstrip()
    entry = read_entry(raw)
    found.entries.append(ListEntry(raw, label=entry.key if entry else ""))
    return raw


def _csl(text: str) -> ManagerEntries:
    """The items of an array, of an object with "items", or one alone, up to where the JSON breaks off."""
    found, start = ManagerEntries([], [], ""), len(text) - len(text.lstrip(" [\n\t"))
    at = text.find("{", max(start, text.find('"items"'))) if text.startswith("{", start) else -1
    while at >= 0:
        try:
            item, end = cast(tuple[object, int], json.JSONDecoder().raw_decode(text, at))
        except (ValueError, RecursionError):
            found.unread.append(ListEntry(text[at:], reason="JSON that cannot be read"))
            break
        if entry := csl_entry(text[at:end], item):
            found.entries.append(ListEntry(entry.text, label=entry.key))
        else:
            found.unread.append(ListEntry(text[at:end], reason="an item of CSL-JSON without title and DOI"))
        at = text.find("{", end)
    return found
