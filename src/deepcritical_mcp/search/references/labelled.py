"""References whose parts are labelled: BibTeX, RIS and CSL-JSON.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from deepcritical_mcp.net.json_fields import field_at, list_of, mapping_of, text_of
from deepcritical_mcp.search.references.statements import Statements
from deepcritical_mcp.text import clean_line

_BIBTEX = re.compile(r"\s*@\w{1,30}\s*\{")
_BIBTEX_FIELD = re.compile(r"(?:^|[,{\n])\s{0,20}(\w{1,30})\s{0,20}=\s{0,20}(?=[{\"\w])")
_RIS = re.compile(r"^\s{0,4}([A-Z][A-Z0-9]) {1,3}- ?(.*)$", re.MULTILINE)
_LATEX = re.compile(r"\\[a-zA-Z]{1,20}\s?|\\[^a-zA-Z\s]|[{}]")
_YEAR = re.compile(r"(?:1[5-9]|20)[0-9]{2}")


def read_labelled(text: str) -> Statements | None:
    """What a BibTeX entry, a RIS record or an item of CSL-JSON says; None for anything else."""
    if _BIBTEX.match(text):
        return _from_bibtex(text)
    if text.lstrip().startswith(("TY  -", "TY -")):
        return _from_ris(text)
    return _from_csl(text) if text.lstrip()[:1] in ("{", "[") else None


def _from_bibtex(text: str) -> Statements:
    fields = {found[1].lower(): _value(text, found.end()) for found in _BIBTEX_FIELD.finditer(text)}
    names = fields["author"].split(" and ") if fields.get("author") else []
    return Statements(
        fields.get("title", ""),
        tuple(name.partition(",")[0].strip() for name in names if name.strip() and name.strip() != "others"),
        _year(fields.get("year") or fields.get("date", "")),
        fields.get("journal") or fields.get("journaltitle", ""),
        fields.get("volume", ""),
        fields.get("number") or fields.get("issue", ""),
        fields.get("pages", "").replace("--", "-"),
    )


def _value(text: str, at: int) -> str:
    """The value that begins at `at`: in braces, in quotes, or bare."""
    opener, depth = text[at], 0
    for end in range(at, len(text)):
        letter = text[end]
        if opener not in '{"' and letter in ",}\n":
            return _plain(text[at:end])
        depth += (letter == "{") - (letter == "}")
        if (opener == "{" and depth == 0) or (opener == '"' and letter == '"' and depth == 0 and end > at):
            return _plain(text[at + 1 : end])
    return _plain(text[at + 1 :])


def _plain(value: str) -> str:
    return clean_line(_LATEX.sub("", value))


def _from_ris(text: str) -> Statements:
    rows = [(found[1], found[2].strip()) for found in _RIS.finditer(text)]

    def first(*tags: str) -> str:
        return next((value for tag in tags for name, value in rows if name == tag and value), "")

    pages = "-".join(filter(None, (first("SP"), first("EP"))))
    authors = tuple(value.partition(",")[0].strip() for tag, value in rows if tag in ("AU", "A1") and value)
    journal = first("JO", "JF", "T2", "JA", "J2")
    return Statements(
        first("TI", "T1"), authors, _year(first("PY", "Y1", "DA")), journal, first("VL"), first("IS"), pages
    )


def _from_csl(text: str) -> Statements | None:
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    item: Mapping[str, object] = mapping_of(list_of(loaded)[0] if list_of(loaded) else loaded)
    if "title" not in item and "DOI" not in item:
        return None
    people = [mapping_of(one) for one in list_of(item.get("author"))]
    date = list_of(field_at(item, "issued", "date-parts"))
    year = text_of(list_of(date[0])[0]) if date and list_of(date[0]) else text_of(field_at(item, "issued", "raw"))
    return Statements(
        clean_line(text_of(item.get("title"))),
        tuple(filter(None, (clean_line(text_of(one.get("family")) or text_of(one.get("literal"))) for one in people))),
        _year(year),
        clean_line(text_of(item.get("container-title"))),
        clean_line(text_of(item.get("volume"))),
        clean_line(text_of(item.get("issue"))),
        clean_line(text_of(item.get("page"))),
    )


def _year(text: str) -> str:
    found = _YEAR.search(text)
    return found[0] if found else ""
