"""Cuts files of reference managers into their entries: BibTeX, RIS and CSL-JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple, cast

_BIBTEX = re.compile(r"\\.|[{}]|^[ \t]{0,8}@(\w{1,30})[ \t]{0,8}([{(])[ \t]{0,8}([^\s,{}()=\"]{0,200})", re.MULTILINE)
_BARE_VALUE = re.compile(r"(=\s{0,20})([A-Za-z][\w.:+/-]{0,60})(?=\s{0,20}[,}\n])")
_MACRO = re.compile(r"@string\s{0,8}[{(]\s{0,8}([\w.:+/-]{1,60})\s{0,8}=\s{0,8}[{\"]([^{}\"\n]{1,300})", re.IGNORECASE)
_NO_ENTRIES = frozenset({"comment", "preamble", "string"})
_RIS_START = re.compile(r"^[ \t]{0,4}TY {1,2}-", re.MULTILINE)
_RIS_END = re.compile(r"^[ \t]{0,4}ER {1,2}-[^\n]{0,20}", re.MULTILINE)
_RIS_ID = re.compile(r"^[ \t]{0,4}ID {1,2}- ?(\S{1,100})", re.MULTILINE)
_BETWEEN_ITEMS = re.compile(r"[\s,]*")


class FileEntry(NamedTuple):
    """An entry of a file, its key ("" without one), and where it stands."""

    text: str
    key: str
    start: int
    end: int


def bibtex_entries(text: str) -> list[FileEntry]:
    """The entries of BibTeX in a text, with the values of their macros. An entry whose brace is never closed ends
    where the next one starts."""
    macros = {name.lower(): value for name, value in _MACRO.findall(text)} if "@" in text else {}
    return [
        FileEntry(_expanded(text[start:end].strip(), macros), key, start, end)
        for kind, key, start, end in _bibtex_spans(text)
        if kind not in _NO_ENTRIES and key
    ]


def bibtex_spans(text: str) -> list[tuple[int, int]]:
    """Where BibTeX stands in a text, macros and comments included."""
    return [(start, end) for _, _, start, end in _bibtex_spans(text)]


def _bibtex_spans(text: str) -> Iterator[tuple[str, str, int, int]]:
    opening: re.Match[str] | None = None
    depth = 0
    for found in _BIBTEX.finditer(text):
        if found[1]:
            if opening:
                yield opening[1].lower(), opening[3], opening.start(), found.start()
            opening, depth = found, 1 if found[2] == "{" else 0
        elif opening and found[0] in "{}":
            depth += 1 if found[0] == "{" else -1
            if depth == 0 and found[0] == "}":
                yield opening[1].lower(), opening[3], opening.start(), found.end()
                opening = None
    if opening:
        yield opening[1].lower(), opening[3], opening.start(), len(text)


def _expanded(entry: str, macros: dict[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[2].lower()
        return f"{found[1]}{{{macros[name]}}}" if name in macros else found[0]

    return _BARE_VALUE.sub(value, entry) if macros else entry


def ris_entries(text: str) -> list[FileEntry]:
    """The records of RIS in a text; the last line of one may be missing."""
    starts = [found.start() for found in _RIS_START.finditer(text)]
    entries = list[FileEntry]()
    for start, following in zip(starts, [*starts[1:], len(text)], strict=True):
        found = _RIS_END.search(text, start, following)
        end = found.end() if found else start + len(text[start:following].rstrip())
        key = _RIS_ID.search(text, start, end)
        entries.append(FileEntry(text[start:end].strip(), key[1] if key else "", start, end))
    return entries


def listed_strings(text: str) -> str:
    """The strings of a JSON array of nothing but strings, one a paragraph; any other text as it is."""
    if not text.lstrip().startswith("["):
        return text
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    values = cast(list[object], loaded)
    return "\n\n".join(one for one in values if isinstance(one, str)) if _are_strings(values) else text


def _are_strings(values: list[object]) -> bool:
    return bool(values) and all(isinstance(one, str) for one in values)


def csl_entries(text: str) -> list[FileEntry]:
    """The items of CSL-JSON: of an array, of an object with "items", or one alone; [] for anything else."""
    start = _BETWEEN_ITEMS.match(text).end()  # type: ignore[union-attr]
    if text[start : start + 1] not in ("{", "["):
        return []
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(loaded, dict):
        fields = cast(dict[str, object], loaded)
        if not isinstance(fields.get("items"), list):
            return [_item(fields, text, start, len(text.rstrip()))] if "title" in fields or "DOI" in fields else []
        start = text.find("[", text.find('"items"'))
    return list(_items(text, start + 1))


def _items(text: str, at: int) -> Iterator[FileEntry]:
    decoder = json.JSONDecoder()
    at = _BETWEEN_ITEMS.match(text, at).end()  # type: ignore[union-attr]
    while text[at : at + 1] not in ("]", ""):
        item, end = cast(tuple[object, int], decoder.raw_decode(text, at))
        if isinstance(item, dict):
            yield _item(cast(object, item), text, at, end)
        at = _BETWEEN_ITEMS.match(text, end).end()  # type: ignore[union-attr]


def _item(item: object, text: str, start: int, end: int) -> FileEntry:
    fields = cast(dict[str, object], item)
    key = fields.get("id") or fields.get("citation-key") or ""
    return FileEntry(text[start:end], str(key)[:200], start, end)
