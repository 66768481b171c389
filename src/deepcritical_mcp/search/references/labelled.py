"""References whose parts are labelled: BibTeX, RIS and CSL-JSON.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from deepcritical_mcp.identifiers import RecordIds, arxiv_doi, normalize_doi, normalize_pmcid, normalize_pmid
from deepcritical_mcp.net.json_fields import field_at, list_of, mapping_of, text_of
from deepcritical_mcp.search.references.latex import without_latex
from deepcritical_mcp.search.references.statements import Statements
from deepcritical_mcp.text import clean_line

_BIBTEX = re.compile(r"\s*@\w{1,30}\s*\{")
_BIBTEX_FIELD = re.compile(r"(?:^|[,{\n])\s{0,20}(\w{1,30})\s{0,20}=\s{0,20}(?=[{\"\w])")
_RIS = re.compile(r"^\s{0,4}([A-Z][A-Z0-9]) {1,3}- ?(.*)$", re.MULTILINE)
_BRACES = re.compile(r"[{}]")
_YEAR = re.compile(r"(?:1[5-9]|20)[0-9]{2}")
_PUBMED = re.compile(r"\b(?:pubmed|pmid|medline|nlm|ncbi)\b", re.IGNORECASE)
_ACCESSION = re.compile(r"0{0,3}[1-9][0-9]{4,7}")


class EntryField(NamedTuple):
    """A field of an entry: its name, and where name and value stand."""

    name: str
    key: tuple[int, int]
    value: tuple[int, int]


def read_labelled(text: str) -> Statements | None:
    """What a BibTeX entry, a RIS record or an item of CSL-JSON says; None for anything else."""
    if _BIBTEX.match(text):
        return _from_bibtex(text)
    if text.lstrip().startswith(("TY  -", "TY -")):
        return _from_ris(text)
    return _from_csl(text) if text.lstrip()[:1] in ("{", "[") else None


def labelled_ids(text: str) -> RecordIds:
    """The identifiers in the fields of an entry that name no kind of number in their value."""
    if _BIBTEX.match(text):
        fields = {one.name: _plain(text[slice(*one.value)]) for one in bibtex_fields(text)}
        return _ids(fields | _eprint(fields))
    if text.lstrip().startswith(("TY  -", "TY -")):
        rows = {found[1].lower(): found[2].strip() for found in _RIS.finditer(text)}
        is_pubmed = _PUBMED.search(rows.get("db") or rows.get("dp") or "pubmed")
        number = rows.get("an", "") if is_pubmed and _ACCESSION.fullmatch(rows.get("an", "")) else ""
        return _ids({"pmid": number, "doi": rows.get("do", "")})
    item = _csl_item(text) or {}
    return _ids({name.lower(): text_of(value) for name, value in item.items() if name in ("PMID", "PMCID", "DOI")})


def _eprint(fields: Mapping[str, str]) -> dict[str, str]:
    """The number that "eprint" has, of the archive that another field names."""
    number, archive = fields.get("eprint", ""), fields.get("eprinttype") or fields.get("archiveprefix", "")
    if _PUBMED.search(archive):
        return {} if fields.get("pmid") else {"pmid": number}
    is_arxiv = archive.lower() == "arxiv" and not fields.get("doi")
    return {"doi": arxiv_doi(f"arXiv:{number}")} if is_arxiv else {}


def _ids(fields: Mapping[str, str]) -> RecordIds:
    doi = normalize_doi(fields.get("doi", ""))
    pmcid = fields.get("pmcid", "")
    return RecordIds(
        pmid=normalize_pmid(fields.get("pmid", "")),
        pmcid=normalize_pmcid(f"PMC{pmcid}" if pmcid.isdecimal() else pmcid),
        doi=doi if doi.startswith("10.") else "",
    )


def _from_bibtex(text: str) -> Statements:
    fields = {one.name: _plain(text[slice(*one.value)]) for one in bibtex_fields(text)}
    names = fields["author"].split(" and ") if fields.get("author") else []
    return Statements(
        fields.get("title", ""),
        tuple(name.partition(",")[0].strip() for name in names if name.strip() and name.strip() != "others"),
        _year(fields.get("year") or fields.get("date", "")),
        fields.get("journal") or fields.get("journaltitle", ""),
        fields.get("volume", ""),
        fields.get("number") or fields.get("issue", ""),
        fields.get("pages", "").replace("--", "-"),
        fields.get("author", ""),
    )


def bibtex_fields(text: str) -> Iterator[EntryField]:
    """The fields of a BibTeX entry, names in small letters, values without their braces or quotation marks."""
    at = 0
    while found := _BIBTEX_FIELD.search(text, at):
        value = _value(text, found.end())
        yield EntryField(found[1].lower(), found.span(1), value)
        at = max(value[1], found.end())


def _value(text: str, at: int) -> tuple[int, int]:
    """Where the value stands that begins at `at`: in braces, even doubled, in quotation marks, or bare."""
    opener, depth = text[at], 0
    for end in range(at, len(text)):
        letter = text[end]
        if opener not in '{"' and letter in ",}\n":
            return at, end
        depth += (letter == "{") - (letter == "}")
        if (opener == "{" and depth == 0) or (opener == '"' and letter == '"' and depth == 0 and end > at):
            inner = text[at + 1 : end]
            is_double = inner[:1] == "{" and inner.find("}") == len(inner) - 1
            return (at + 2, end - 1) if is_double else (at + 1, end)
    return at + 1, len(text)


def _plain(value: str) -> str:
    return clean_line(_BRACES.sub("", without_latex(value)))


def _from_ris(text: str) -> Statements:
    rows = [(found[1], found[2].strip()) for found in _RIS.finditer(text)]

    def first(*tags: str) -> str:
        return next((value for tag in tags for name, value in rows if name == tag and value), "")

    pages = "-".join(filter(None, (first("SP"), first("EP"))))
    people = [value for tag, value in rows if tag in ("AU", "A1") and value]
    authors = tuple(value.partition(",")[0].strip() for value in people)
    title, year, journal = first("TI", "T1"), _year(first("PY", "Y1", "DA")), first("JO", "JF", "T2", "JA", "J2")
    return Statements(title, authors, year, journal, first("VL"), first("IS"), pages, "; ".join(people))


def _csl_item(text: str) -> Mapping[str, object] | None:
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    item: Mapping[str, object] = mapping_of(list_of(loaded)[0] if list_of(loaded) else loaded)
    return item if "title" in item or "DOI" in item else None


def _from_csl(text: str) -> Statements | None:
    item = _csl_item(text)
    if item is None:
        return None
    people = [mapping_of(one) for one in list_of(item.get("author"))]
    families = [clean_line(text_of(one.get("family")) or text_of(one.get("literal"))) for one in people]
    date = list_of(field_at(item, "issued", "date-parts"))
    year = text_of(list_of(date[0])[0]) if date and list_of(date[0]) else text_of(field_at(item, "issued", "raw"))
    return Statements(
        clean_line(text_of(item.get("title"))),
        tuple(filter(None, families)),
        _year(year),
        clean_line(text_of(item.get("container-title"))),
        clean_line(text_of(item.get("volume"))),
        clean_line(text_of(item.get("issue"))),
        clean_line(text_of(item.get("page"))),
        ", ".join(filter(None, families)),
    )


def _year(text: str) -> str:
    found = _YEAR.search(text)
    return found[0] if found else ""
