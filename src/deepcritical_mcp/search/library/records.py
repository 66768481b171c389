"""Publications as a user's library describes them. `fields.txt` says what each form of entry calls their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from deepcritical_mcp.data_files import data_lines, data_table
from deepcritical_mcp.dates import readings
from deepcritical_mcp.identifiers import (
    BARE_DOI,
    RecordIds,
    normalize_doi,
    normalize_pmcid,
    normalize_pmid,
    record_ids,
)
from deepcritical_mcp.models import (
    LIBRARY,
    NO_ABSTRACT,
    UNKNOWN_DATE,
    Accession,
    AuthorName,
    Publication,
    Text,
    Verdict,
    language_code,
    split_name,
    split_names,
)
from deepcritical_mcp.net.fields import plain_abstract, plain_line
from deepcritical_mcp.reading.library_entries import LibraryForm, WrittenEntry
from deepcritical_mcp.search.references.plain_text import without_latex
from deepcritical_mcp.text import clean_line, clean_text

_FORMS: Sequence[LibraryForm] = get_args(LibraryForm)
_ROWS = [[cell.strip() for cell in row.split("|")] for row in data_lines(__file__, "fields.txt")]
_NAMES = {row[0]: [[set(names.split("+")) for names in cell.split(", ")] for cell in row[1:]] for row in _ROWS}
"""By field, for each form: sets of names that count together, the first that is filled."""
_KINDS = {word: kind for kind, words in data_table(__file__, "kinds.txt").items() for word in words.split()}
_DATABASES = [[cell.strip() for cell in row.split("|", 2)] for row in data_lines(__file__, "databases.txt")]
_PLAIN_FIELDS = ("volume", "issue", "version", "publisher", "publisher_place", "vernacular_title")
_NOTHING = re.compile(r"\W*(?:n/?a|none|not available|(?:no|\[?no) abstract(?: available)?)?\W*", re.IGNORECASE)
_PAGE = re.compile(r".*[0-9]|[ivxlcIVXLC]+\b")
_NUMBERED = re.compile(r"(?im)^\W*(PMID|PMCID)\s?:?\s{0,2}((?:PMC)?[0-9]{1,9})\W*$")
_SEPARATED = re.compile(r"\s*;\s*|\n")
_ESCAPED, _LATEX = re.compile(r"\\([&%$#_{}])"), re.compile(r"\\|``|~|\$")
_COMMA = re.compile(r",(?![^{}]*\})")
_RAYYAN = re.compile(r"RAYYAN-(INCLUSION|LABELS|EXCLUSION-REASONS):\s*(.*?)\s*(?=\||RAYYAN-|$)", re.DOTALL)
_VOTE = re.compile(r"=>\s*\"?(\w+)")
_YEAR = re.compile(r"(?<![0-9])(?:1[5-9]|20|21)[0-9]{2}(?![0-9])")
_SEVERAL = re.compile(r"[A-Z][a-z]{2,8}[-/–][A-Z][a-z]{2,8}|(?:Spring|Summer|Autumn|Fall|Winter)(?![a-z])")
"""Months of an issue, or its season."""
_ACCESSION = re.compile(r"[?&]AN=([\w.-]+)")
"""In addresses of Ovid and EBSCO."""
_ASREVIEW = re.compile(r"ASReview_(relevant|irrelevant|not_seen|prior)\W*")
_OF_DATABASES = re.compile("|".join(data_lines(__file__, "database_notes.txt")))
"""What databases write where users write notes."""
_DECISIONS: Mapping[str, Verdict] = {
    **dict.fromkeys(("included", "include", "yes", "true", "1", "relevant"), "included"),
    **dict.fromkeys(("excluded", "exclude", "no", "false", "0", "irrelevant"), "excluded"),
    "cited": "cited",
}


@dataclass(frozen=True)
class LibraryRecord:
    """A publication of a library, and what the user decided about it there; or why it cannot be read.

    Attributes:
        line: of the file, from 1.
        files: addresses of its files, as the library gives them.
    """

    line: int
    publication: Publication | None = None
    reason: str = ""
    decision: Verdict = ""
    decision_reason: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def read_entry(entry: WrittenEntry, form: LibraryForm) -> LibraryRecord:
    """The record that an entry is."""
    if entry.reason:
        return LibraryRecord(entry.line, reason=entry.reason)
    fields = _Fields(entry, form)
    if not (fields.line("title") or any(fields.ids)):
        return LibraryRecord(entry.line, reason="it has neither a title nor a number")
    notes, decision, reason, tags = fields.decided()
    library = {"kind": "abstract", "content": fields.abstract or NO_ABSTRACT, "provider": LIBRARY}
    texts = [Text.model_validate(library)]
    texts += [Text(kind="note", content=notes, provider="user")] if notes else []
    described = fields.described() | fields.ids._asdict()
    publication = Publication.model_validate({**described, "source": LIBRARY, "id": "new", "texts": tuple(texts)})
    files = tuple(fields.all("files"))
    return LibraryRecord(entry.line, publication.as_claim(), "", decision, reason, tags, files)


class _Fields:
    """The fields of an entry by those of a publication."""

    def __init__(self, entry: WrittenEntry, form: LibraryForm) -> None:
        self._form, self._place, self._fields = form, _FORMS.index(form), entry.fields

    def _written(self, field: str) -> list[str]:
        """Every value of a field as it is written."""
        for names in _NAMES[field][self._place]:
            if found := [value for name, value in self._fields if name in names and value.strip()]:
                return found
        return []

    def all(self, field: str) -> list[str]:
        """Every value of a field, without LaTeX."""
        found = self._written(field)
        return [*map(_plain, found)] if self._form == "bibtex" else found

    def line(self, field: str) -> str:
        """The first value of a field on one line, without markup; "" if there is none."""
        return plain_line(next(iter(self.all(field)), "").replace("\n", " "))

    def listed(self, field: str) -> tuple[str, ...]:
        """The values of a field of several: on lines of their own, or separated by semicolons, else by commas if there
        is one text only."""
        values = [one for value in self._written(field) for one in _SEPARATED.split(value)]
        if len(values) == 1 and self._form in ("bibtex", "csv", "json"):
            values = _COMMA.split(values[0])
        values = map(_plain, values) if self._form == "bibtex" else values
        return tuple(dict.fromkeys(filter(None, map(plain_line, values))))

    @cached_property
    def kind(self) -> str:
        """What it is: "article", "chapter", …; "other" if nothing says so."""
        words = ("_".join(value.lower().split()) for value in self.all("types"))
        return next((_KINDS[word] for word in words if word in _KINDS), "other")

    @cached_property
    def abstract(self) -> str:
        """The abstract; "" if there is none, in whatever words."""
        text = plain_abstract(" ".join(self.all("abstract")[:1]).replace("\n", " "))
        return "" if _NOTHING.fullmatch(text) else text

    @cached_property
    def ids(self) -> RecordIds:
        """The numbers that it gives itself."""
        stated = [found[0] for value in self.all("doi") if (found := BARE_DOI.search(normalize_doi(value)))]
        own = RecordIds(normalize_pmid(self.line("pmid")), normalize_pmcid(self.line("pmcid")), *stated[:1])
        if self.accession.database in ("PubMed", "MEDLINE"):
            own = own.completed(RecordIds(pmid=normalize_pmid(self.accession.number.rpartition(":")[2])))
        for value in self.all("numbers"):
            own = own.completed(record_ids(value.strip()))
            for kind, number in _NUMBERED.findall(value):
                read = RecordIds(pmid=normalize_pmid(number)) if kind.upper() == "PMID" else None
                own = own.completed(read or RecordIds(pmcid=normalize_pmcid(number)))
        return own

    @cached_property
    def accession(self) -> Accession:
        """The database that it came from and its number there, as far as it says so: by the form of the number, else
        by the name of the database."""
        numbers, names, addresses = (self.all(field) for field in ("accession", "database", "addresses"))
        numbers += [found[1] for one in addresses if (found := _ACCESSION.search(one))]
        for name, _, form in _DATABASES:
            told = " ".join([*numbers, *addresses])
            if form and (found := re.search(rf"(?<![\w.-])(?:{form})(?![\w.-])", told, re.IGNORECASE)):
                return Accession(name, found[0])
        number = clean_line(next(iter(numbers), ""))
        for told in (names, addresses):
            for name, words, _ in _DATABASES:
                if any(word in " ".join(told).lower() for word in words.split(", ")):
                    return Accession(name, number)
        own = {"nbib": "PubMed", "wos": "Web of Science"}.get(self._form, "")
        return Accession(plain_line(names[0]) if names else own, number) if names or own else Accession("")

    def described(self) -> dict[str, object]:
        """The fields that describe the publication, without its numbers."""
        container, kind = self.line("journal"), self.kind
        journal = "" if kind in ("book", "chapter") else container
        short = self.line("journal_abbreviation")
        first, last = self.line("pages").replace("–", "-").replace("--", "-"), self.line("last")
        pages = "-".join(dict.fromkeys(one for one in (first, last) if _PAGE.match(one)))
        numbers = [
            one
            for value in (*self.all("issn"), *self.all("isbn"))
            for one in re.findall(r"[0-9X-]{8,17}", value.upper())
        ]
        digits = {one: len(one.replace("-", "")) for one in numbers}
        types = [] if self._form == "ris" else self.listed("types")
        return {
            **{name: self.line(name) for name in _PLAIN_FIELDS},
            "version": "" if "/" in self.line("version") else self.line("version"),  # EndNote has a date there
            "title": self.line("title"),
            "authors": self._people("authors"),
            "editors": self._people("editors") if kind in ("book", "chapter") else (),
            **self._dates(),
            "journal": journal,
            "journal_abbreviation": short if short != journal and journal else "",
            "book_title": {"book": self.line("title"), "chapter": self.line("book_title") or container}.get(kind, ""),
            "pages": pages,
            "issn": next((f"{one[:4]}-{one[-4:]}" for one, count in digits.items() if count == 8), ""),
            "isbn": next((one for one, count in digits.items() if count in (10, 13)), ""),
            "language": ", ".join(language_code(one) for one in self._languages()),
            "publication_types": ("Preprint",) if kind == "preprint" else types if self._form == "nbib" else (),
            "keywords": self.listed("keywords"),
            **{name: self.listed(name) for name in ("mesh_terms", "substances", "grants", "registrations")},
            "mesh_terms": tuple(dict.fromkeys(one.strip("*").partition("/")[0] for one in self.listed("mesh_terms"))),
            "url": self.line("url"),
            "accessions": (self.accession,) if any(self.accession) else (),
        }

    def _languages(self) -> Iterator[str]:
        yield from (one for value in self.all("language") for one in re.split(r"[,;\n]\s*| and ", value) if one)

    def _people(self, field: str) -> tuple[AuthorName, ...]:
        return tuple(self._names(field))

    def _names(self, field: str) -> Iterator[AuthorName]:
        if self._form == "bibtex":
            from bibtexparser.middlewares.names import split_multiple_persons_names

            names = split_multiple_persons_names("".join(self._written(field)[:1]))
            values = [*map(_plain, names)]
        else:
            values = [one for value in self.all(field) for one in value.split("\n")]
        for value in map(plain_line, values):
            if self._form == "csv":
                yield from split_names(value)
            elif value.endswith(","):  # a group, as RIS marks it
                yield AuthorName(value.rstrip(", "))
            elif value.lower() not in ("others", "et al", "et al.", ""):
                yield split_name(value)

    def _dates(self) -> dict[str, str]:
        """The finest date of its year that any of its fields gives, and the words for a season or several months."""
        year = next(iter(_YEAR.findall(self.line("year"))), "")
        texts = [plain_line(value).strip("/ ") for value in self.all("date")]
        cells = [(one.split("/") + [""] * 3)[:3] for one in texts]
        several = next((found[0] for one in texts if (found := _SEVERAL.search(one))), "")
        parts = ["-".join(filter(None, some)) if some[0] == year else some[0] for some in cells]
        first = [re.split(r"[-/–]", several)[0]] if several else []
        told = [one for text in (*texts, *parts, *first) for one in (text, f"{year} {text}")]
        known = (found[0] for one in told if len(found := readings(one)) == 1 and found[0].startswith(year))
        date = max(known, key=len, default=year) or UNKNOWN_DATE
        return {"date": date, "issue_date": f"{year} {several}" if several and year else ""}

    def decided(self) -> tuple[str, Verdict, str, tuple[str, ...]]:
        """The notes as plain text, the decision, its reason, and the tags, also as Rayyan and ASReview write them into
        notes."""
        notes = "\n".join(clean_text(plain_abstract(value)) for value in self.all("notes"))
        told = {name: " ".join(value.split()) for name, value in _RAYYAN.findall(notes)}
        votes = {_DECISIONS.get(vote.lower(), "") for vote in _VOTE.findall(told.get("INCLUSION", ""))}
        marks = {_DECISIONS.get(mark, "") for mark in _ASREVIEW.findall(notes)} - {""}
        own = _DECISIONS.get(self.line("decision").lower(), "")
        both = (votes or marks) if not own else {own}
        if len(votes) < 2:
            notes = _RAYYAN.sub("", notes)
        notes = "\n".join(line for line in notes.split("\n") if not _OF_DATABASES.match(line))
        notes = _NUMBERED.sub("", _ASREVIEW.sub("", notes)).strip(" |\n")
        labels = tuple(filter(None, (one.strip() for one in told.get("LABELS", "").split(","))))
        reason = self.line("reason") or told.get("EXCLUSION-REASONS", "")
        decision = both.pop() if len(both) == 1 else ""
        return notes, decision, reason if decision else "", self.listed("tags") + labels


def _plain(value: str) -> str:
    """A value of BibTeX as text. Reading LaTeX takes ten milliseconds for an abstract: most have but a few escapes."""
    simple = _ESCAPED.sub(r"\1", value).replace("{", "").replace("}", "")
    return without_latex(value).replace("{", "").replace("}", "") if _LATEX.search(simple) else simple
