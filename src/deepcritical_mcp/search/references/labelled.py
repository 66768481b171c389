"""References whose parts are labelled: BibTeX, RIS and CSL-JSON, and where their fields stand.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json.decoder import JSONDecoder
from typing import Literal, NamedTuple

from deepcritical_mcp.identifiers import RecordIds, arxiv_doi, normalize_doi, normalize_pmcid, normalize_pmid
from deepcritical_mcp.net.json_fields import list_of, mapping_of, text_of
from deepcritical_mcp.search.references.guesses import Statements
from deepcritical_mcp.search.references.latex import without_latex
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.text import clean_line, normalized

EntryForm = Literal["bibtex", "ris", "csl"]
_BIBTEX = re.compile(r"\s{0,20}@(\w{1,30})\s{0,20}\{")
_BIBTEX_FIELD = re.compile(r"(?:^|[,{\n])\s{0,20}(\w{1,30})\s{0,20}=\s{0,20}(?=[{\"\w])")
_RIS_LINE = re.compile(r"^\s{0,4}([A-Z][A-Z0-9]) {1,3}- ?(.*)$", re.MULTILINE)
_YEAR = re.compile(r"(?:1[5-9]|20)[0-9]{2}")
_AND = re.compile(r"\s{1,20}and\s{1,20}")
_SPACE = re.compile(r"[ \t\r\n]*")
_PUBMED = re.compile(r"\b(?:pubmed|pmid|medline|nlm|ncbi)\b", re.IGNORECASE)
_ACCESSION = re.compile(r"0{0,3}[1-9][0-9]{4,7}")
FIELD_NAMES: Mapping[EntryForm, Mapping[str, tuple[str, ...]]] = {
    "bibtex": {
        "title": ("title",),
        "authors": ("author",),
        "year": ("year", "date"),
        "journal": ("journal", "journaltitle", "booktitle"),
        "volume": ("volume",),
        "issue": ("number", "issue"),
        "pages": ("pages",),
        "doi": ("doi",),
        "pmid": ("pmid",),
        "pmcid": ("pmcid",),
    },
    "ris": {
        "title": ("TI", "T1"),
        "authors": ("AU", "A1"),
        "year": ("PY", "Y1", "DA"),
        "journal": ("JO", "JF", "T2", "JA", "J2"),
        "volume": ("VL",),
        "issue": ("IS",),
        "pages": ("SP",),
        "doi": ("DO",),
    },
    "csl": {
        "title": ("title",),
        "authors": ("author",),
        "year": ("issued",),
        "journal": ("container-title",),
        "volume": ("volume",),
        "issue": ("issue",),
        "pages": ("page",),
        "doi": ("DOI",),
        "pmid": ("PMID",),
        "pmcid": ("PMCID",),
    },
}
"""The fields that say a statement, the first one that is filled counts."""


class EntryField(NamedTuple):
    """A field of an entry: its name, and where name and value stand."""

    name: str
    key: Span
    value: Span


@dataclass(frozen=True)
class LabelledEntry:
    """An entry, the type of work that it names, and what it says."""

    text: str
    form: EntryForm
    type: str
    fields: tuple[EntryField, ...]

    def field(self, statement: str) -> EntryField | None:
        """The field that says a statement; None if it is missing or empty."""
        names = FIELD_NAMES[self.form].get(statement, ())
        return next((one for name in names for one in self.fields if one.name == name and self.raw(one).strip()), None)

    def raw(self, field: EntryField) -> str:
        """A value as it is written."""
        return self.text[slice(*field.value)]

    def value(self, field: EntryField) -> str:
        """A value as text, on one line."""
        raw = self.raw(field)
        if self.form == "csl":
            loaded: object = json.loads(raw)
            return clean_line(text_of(loaded))
        return clean_line(without_latex(raw).replace("{", "").replace("}", "") if self.form == "bibtex" else raw)

    @property
    def says(self) -> Statements:
        """What its fields say."""
        said = {
            name: normalized("NFKC", self.value(field))
            for name in ("title", "journal", "volume", "issue", "pages")
            if (field := self.field(name))
        }
        year = _YEAR.search(self.raw(field)) if (field := self.field("year")) else None
        last = next((self.value(one) for one in self.fields if one.name == "EP" and self.form == "ris"), "")
        said["pages"] = "-".join(filter(None, (said.get("pages", "").replace("--", "-"), last)))
        people = [normalized("NFKC", one) for one in self._people()]
        authors = tuple(one.partition(",")[0].strip() for one in people if one != "et al")
        return Statements(year=year[0] if year else "", people="; ".join(people), authors=authors, **said)

    def _people(self) -> Iterator[str]:
        """The names, "others" as "et al"."""
        field = self.field("authors")
        if field and self.form == "bibtex":
            # Names of organizations stand in braces.
            listed = clean_line(without_latex(self.raw(field).replace("{", "").replace("}", "")))
            yield from ("et al" if name == "others" else name for name in _AND.split(listed) if name.strip())
        elif field and self.form == "ris":
            names = FIELD_NAMES["ris"]["authors"]
            yield from (name for one in self.fields if one.name in names and (name := self.value(one)))
        elif field:
            for one in map(mapping_of, list_of(json.loads(self.raw(field)))):
                family = text_of(one.get("family"))
                particle = text_of(one.get("non-dropping-particle"))
                parts = (f"{particle} {family}".strip(), text_of(one.get("given")), text_of(one.get("suffix")))
                yield clean_line(", ".join(filter(None, parts)) if family else text_of(one.get("literal")))

    @property
    def ids(self) -> RecordIds:
        """The identifiers in fields that name no kind of number in their value."""
        fields = {one.name.lower(): self.value(one) for one in self.fields if one.name.lower() in _NUMBERS}
        if self.form == "ris":
            number = fields.get("an", "")
            is_pubmed = _PUBMED.search(fields.get("db") or fields.get("dp") or "pubmed")
            return _ids(
                {"pmid": number if is_pubmed and _ACCESSION.fullmatch(number) else "", "doi": fields.get("do", "")}
            )
        number, archive = fields.get("eprint", ""), fields.get("eprinttype") or fields.get("archiveprefix", "")
        if _PUBMED.search(archive):
            fields.setdefault("pmid", number)
        elif archive.lower() == "arxiv":
            fields.setdefault("doi", arxiv_doi(f"arXiv:{number}"))
        return _ids(fields)


_NUMBERS = frozenset("pmid pmcid doi an db dp do eprint eprinttype archiveprefix".split())


def _ids(fields: Mapping[str, str]) -> RecordIds:
    doi, pmcid = normalize_doi(fields.get("doi", "")), fields.get("pmcid", "")
    return RecordIds(
        pmid=normalize_pmid(fields.get("pmid", "")),
        pmcid=normalize_pmcid(f"PMC{pmcid}" if pmcid.isdecimal() else pmcid),
        doi=doi if doi.startswith("10.") else "",
    )


def read_entry(text: str) -> LabelledEntry | None:
    """The entry that a text is; None if it is none."""
    if found := _BIBTEX.match(text):
        return LabelledEntry(text, "bibtex", found[1].lower(), tuple(_bibtex_fields(text)))
    if text.lstrip().startswith(("TY  -", "TY -")):
        fields = tuple(EntryField(found[1], found.span(1), found.span(2)) for found in _RIS_LINE.finditer(text))
        return LabelledEntry(text, "ris", text[slice(*fields[0].value)].strip().lower() if fields else "", fields)
    return _from_csl(text) if text.lstrip()[:1] in ("{", "[") else None


def _from_csl(text: str) -> LabelledEntry | None:
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    item: Mapping[str, object] = mapping_of(list_of(loaded)[0] if list_of(loaded) else loaded)
    if "title" not in item and "DOI" not in item:
        return None
    return LabelledEntry(text, "csl", text_of(item.get("type")).lower(), tuple(members(text, text.find("{"))))


def _bibtex_fields(text: str) -> Iterator[EntryField]:
    """The fields of a BibTeX entry, names in small letters, values without their braces or quotation marks."""
    at = 0
    while found := _BIBTEX_FIELD.search(text, at):
        value = _value(text, found.end())
        yield EntryField(found[1].lower(), found.span(1), value)
        at = max(value[1], found.end())


def _value(text: str, at: int) -> Span:
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


def members(text: str, at: int) -> Iterator[EntryField]:
    """The members of the JSON object that begins at `at`, which is known to be valid."""
    decoder = JSONDecoder()
    at += 1
    while True:
        at = _skip(text, at)
        if text[at : at + 1] != '"':
            return
        name, end = decoder.raw_decode(text, at)
        start = _skip(text, _skip(text, end) + 1)
        _, stop = decoder.raw_decode(text, start)
        yield EntryField(str(name), (at + 1, end - 1), (start, stop))
        at = _skip(text, stop)
        if text[at : at + 1] != ",":
            return
        at += 1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
