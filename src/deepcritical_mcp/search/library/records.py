"""Publications as a user's library describes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from deepcritical_mcp.data_files import data_lines, data_table
from deepcritical_mcp.dates import readings
from deepcritical_mcp.identifiers import (
    BARE_DOI,
    RecordIds,
    normalize_pmcid,
    normalize_pmid,
    normalize_trial,
    record_ids,
)
from deepcritical_mcp.models import (
    FORM_TYPES,
    LIBRARY,
    NO_ABSTRACT,
    PREPRINT,
    UNKNOWN_DATE,
    Accession,
    AuthorName,
    Publication,
    Text,
    Verdict,
    language_code,
    split_name,
    split_names,
    without_retraction_mark,
)
from deepcritical_mcp.net.fields import plain_abstract, plain_line
from deepcritical_mcp.reading.library_entries import LibraryForm, WrittenEntry
from deepcritical_mcp.search.references import Statements, read_reference
from deepcritical_mcp.search.references.entry_fields import OTHERS, PMID, SEPARATED, EntryFields, without_braces
from deepcritical_mcp.text import clean_line

_TYPES = {"preprint": PREPRINT} | {form: name for name, form in FORM_TYPES.items()}
_KINDS = {word: kind for kind, words in data_table(__file__, "kinds.txt").items() for word in words.split()}
_DATABASES = [
    (name.strip(), words.strip().replace(", ", "|"), form.strip())
    for name, words, form in (row.split("|", 2) for row in data_lines(__file__, "databases.txt"))
]
_OF_FORMS: Mapping[LibraryForm, str] = {"nbib": "PubMed", "wos": "Web of Science"}
_OF_DATABASES = re.compile("|".join(data_lines(__file__, "database_notes.txt")), re.IGNORECASE | re.MULTILINE)
"""What databases write where users write notes."""
_NOTHING = frozenset(("", "na", "none", "notavailable", "noabstract", "noabstractavailable"))
"""The letters of values that say nothing."""
_PAGE = re.compile(r".*[0-9]|[ivxlcIVXLC]+\b")
_HYPHENS = str.maketrans(dict.fromkeys("‐‑–—", "-"))
_NUMBERED = re.compile(r"(?i)(?<![^\s;])(PMID|PMCID): ?(?:NLM)?((?:PMC)?[0-9]{1,9})(?![^\s;.])")
_YEAR = re.compile(r"(?<![0-9])(?:1[5-9]|20|21)[0-9]{2}(?![0-9])")
_SEVERAL = re.compile(r"[A-Z][a-z]{2,8}[-/–][A-Z][a-z]{2,8}|(?:Spring|Summer|Autumn|Fall|Winter)(?![a-z])")
"""Months of an issue, or its season."""
_ACCESSION = re.compile(r"[?&]AN=([\w.-]{4,40})|Accession Number: ?([\w.-]{4,40})")
"""In addresses of Ovid and EBSCO, and in EBSCO's notes."""
_ACCESSIONS = re.compile(r"Accession numbers: ([^.]{1,500}(?:\.(?! |$)[^.]{1,100}){0,20})\.(?: |$)", re.MULTILINE)
_NAMING = r"(?:[A-Z]?[a-z]*[A-Z0-9][\w+&/'’-]{0,30}|\([A-Z][\w+&/'’-]{0,30}\)|of|and|the|for|in|&)"
_NAME = re.compile(rf"[A-Za-z]*[A-Z0-9][\w+&/'’-]{{0,30}}(?: {_NAMING}){{0,4}}")
"""Of a database that is not known: words with capitals, since it stands in sentences as a name."""
_IN_EMBASE = re.compile(r"EMBASE ([0-9]{7,12})\b")
_ORIGINAL_TITLE = re.compile(r"^Original title: (.{1,1000})$", re.MULTILINE)
_WITHOUT_COMMA = re.compile(r"(?:\{[^{}]*\}|[^,])+")
_RAYYAN = re.compile(r"(?:^|\|) ?(?:RAYYAN-|USER-)(INCLUSION|LABELS|EXCLUSION-REASONS|NOTES): ?([^|]*)")
_VOTE, _QUOTED = re.compile(r"=>\s?\"?(\w{1,20})"), re.compile(r'"([^"]*)"(=>)?')
_ASREVIEW = re.compile(r"^ASReview_(relevant|irrelevant|not_seen|prior)(?:\W*$|[.;|]\W*)")
_SCREENED = re.compile(r"Screening: (?:(included|excluded|cited)(?:: (.{1,500}?))?)?(?:;? ?tags: (.{1,2000}))?$")
"""What this server's RIS says of a record: "Screening: excluded: no controls; tags: rct, adults"."""
_COVIDENCE = re.compile(r"^Exclusion reason: ?([^;]{1,300});")
_OWN_ID = re.compile(r"(?:pubmed|doi|nct|url|text):\S{1,300}")
_DECISIONS: Mapping[str, Verdict] = {
    **dict.fromkeys(("included", "include", "yes", "true", "1", "1.0", "relevant", "i"), "included"),
    **dict.fromkeys(("excluded", "exclude", "no", "false", "0", "0.0", "-1", "irrelevant", "e"), "excluded"),
    "cited": "cited",
}


@dataclass(frozen=True)
class LibraryRecord:
    """A publication of a library, and what the user decided about it there; or why it cannot be read.

    Attributes:
        line: of the file, from 1.
        files: addresses of its files, as the library gives them.
        own_id: the id that it had in a session, in a table of this server.
        is_undecided: whether people disagreed about it, or could not decide.
    """

    line: int
    publication: Publication | None = None
    reason: str = ""
    decision: Verdict = ""
    decision_reason: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    own_id: str = ""
    is_undecided: bool = False


def read_entry(entry: WrittenEntry, form: LibraryForm) -> LibraryRecord:
    """The record that an entry is."""
    if entry.reason:
        return LibraryRecord(entry.line, reason=entry.reason)
    if form == "json" and any(name.startswith("texts.") for name, _ in entry.fields):
        return LibraryRecord(entry.line, reason="it is of a session's JSON Lines: import its RIS or its table instead")
    fields = _Fields(entry, form)
    if not (fields.line("title") or any(fields.ids)):
        return LibraryRecord(entry.line, reason="it has neither a title nor a number")
    described = ("authors", "year", "journal", "book_title", "abstract", "publisher")
    if form == "json" and not (any(fields.ids) or any(map(fields.line, described))):
        return LibraryRecord(entry.line, reason="it has a title and nothing else that describes a publication")
    notes, decision, reason, tags, is_undecided = fields.decided()
    library = {"kind": "abstract", "content": fields.abstract or NO_ABSTRACT, "provider": LIBRARY}
    texts = [Text.model_validate(library)]
    texts += [Text(kind="note", content=notes, provider="user")] if notes else []
    described = fields.described() | fields.ids._asdict()
    publication = Publication.model_validate({**described, "source": LIBRARY, "id": "new", "texts": tuple(texts)})
    files = tuple(fields.all("files"))
    claim = publication.as_claim()
    if fields.own_id.startswith(("text:", "url:")):  # a table of this server says too little to tell records apart
        claim = claim.but(id=fields.own_id)
    return LibraryRecord(entry.line, claim, "", decision, reason, tags, files, fields.own_id, is_undecided)


class _Fields(EntryFields):
    """The fields of an entry by those of a publication."""

    def listed(self, field: str) -> tuple[str, ...]:
        """The values of a field of several: on lines of their own, or separated by semicolons, else by commas if there
        is one text only."""
        values = [one for value in self.written(field) for one in SEPARATED.split(value)]
        if self.form == "wos":  # its lines are of one text
            values = [one for value in self.written(field) for one in value.replace("\n", " ").split(";")]
        if len(values) == 1 and self.form in ("bibtex", "csv", "json"):
            values = _WITHOUT_COMMA.findall(values[0])
        values = map(without_braces, values) if self.form == "bibtex" else values
        return tuple(dict.fromkeys(one for value in values if not _is_nothing(one := plain_line(value).lstrip("*"))))

    @cached_property
    def kind(self) -> str:
        """What it is: "article", "chapter", …, the one that says most; "other" if nothing says so."""
        words = ("_".join(one.lower().split()) for value in self.all("types") for one in SEPARATED.split(value))
        known = [_KINDS[word] for word in words if word in _KINDS]
        return next((one for one in known if one not in ("article", "book")), next(iter(known), "other"))

    @cached_property
    def abstract(self) -> str:
        """The abstract; "" if there is none, in whatever words."""
        text = plain_abstract(" ".join(self.all("abstract")[:1]).replace("\n", " "))
        return "" if _is_nothing(text) else text

    @cached_property
    def ids(self) -> RecordIds:
        """The numbers that it gives itself."""
        custom = (PMID.search(value.strip()) for value in self.all("custom_pmid"))
        own = self.own_numbers.completed(RecordIds(pmid=next((found[1] for found in custom if found), "")))
        if self.accession.database in ("PubMed", "MEDLINE") and self.accession.number.isdecimal():
            own = own.completed(RecordIds(pmid=normalize_pmid(self.accession.number)))
        for value in self.all("numbers"):
            own = own.completed(record_ids(value.strip()))
            for kind, number in _NUMBERED.findall(value):
                is_pmid = kind.upper() == "PMID"
                read = normalize_pmid(number) if is_pmid else normalize_pmcid(number)
                own = own.completed(RecordIds(pmid=read) if is_pmid else RecordIds(pmcid=read))
        kind, _, number = self.own_id.partition(":")
        named = {"pubmed": "pmid", "doi": "doi", "nct": "nct"}
        own = own.completed(RecordIds(**{named[kind]: number.partition("#")[0]})) if kind in named else own
        registered = filter(None, (normalize_trial(one.rstrip(",")) for one in self.all("authors")))
        return own.completed(RecordIds(nct=next(registered, "")))  # CENTRAL's registrations have it there

    @cached_property
    def accession(self) -> Accession:
        """The database that it came from and its number there, as far as it says so: by the form of the number, else
        by the name of the database, else by its address."""
        addresses, notes = self.all("addresses"), self.all("notes")
        # Short keys are numbers of a library, as Rayyan's are, not a database's.
        keys = (one for one in self.all("key") if len(one) > 6)
        numbers = [one for one in self.all("accession") or keys if not one.startswith("rayyan-")]
        found = (_ACCESSION.search(one) for one in (*addresses, *notes))
        numbers += [one[1] or one[2] for one in found if one]
        lines = [line for note in notes for line in note.split("\n") if len(line) < 20]
        told = " ".join([*numbers, *addresses, *lines])
        for name, _, form in _DATABASES:
            if form and (read := re.search(rf"(?<![\w.-])(?:{form})(?![\w.-])", told, re.IGNORECASE)):
                return Accession(name, read[0])
        number, names = clean_line(next(iter(numbers), "")), self.all("database")
        if known := _known_database(" ".join((*names, *self.all("provider")))):
            return Accession(known, number)
        name = plain_line(next(iter(names), "").replace("\n", " "))
        if _NAME.fullmatch(name) and self.form != "csv":  # a table's "source" may be anything
            return Accession(name, number)
        if known := _known_database(" ".join(addresses)):
            return Accession(known, number)
        if self.all("citation") and self.form == "csv":
            return Accession("PubMed", self.own_numbers.pmid)
        return Accession(
            _OF_FORMS.get(self.form, ""), number if self.form in _OF_FORMS or self.all("accession") else ""
        )

    def described(self) -> dict[str, object]:
        """The fields that describe the publication, without its numbers."""
        cited = self._cited
        container, kind = self.line("journal") or cited.journal, self.kind
        title = without_retraction_mark(self.line("title"))
        journal = "" if kind in ("book", "chapter") else container
        short, version = self.line("journal_abbreviation"), self.line("version")
        is_item_version = any(name.startswith("data.") for name, _ in self.fields)  # Zotero's own
        first, last = (self.line("pages") or cited.pages).replace("--", "-").translate(_HYPHENS), self.line("last")
        pages = "-".join(dict.fromkeys(one for one in (first, last) if _PAGE.match(one)))
        serials = re.findall(r"[0-9X-]{8,17}", " ".join(self.all("serials")).upper().translate(_HYPHENS))
        digits = {one: len(one.replace("-", "")) for one in serials}
        mesh = (one.strip("*").partition("/")[0].strip("*") for one in self.listed("mesh_terms"))
        types = [one for one in self.listed("publication_types") if not BARE_DOI.search(one)]
        own_types = {_TYPES[kind]: None} if kind in _TYPES else {}
        is_retracted = title != self.line("title") or "Retracted Publication" in types
        return {
            **{name: self.line(name) for name in ("publisher", "publisher_place")},
            **{name: self.line(name) or getattr(cited, name) for name in ("volume", "issue")},
            "url": next(iter("\n".join(self.all("url")).split()), ""),
            "vernacular_title": self.line("vernacular_title") or self._said(_ORIGINAL_TITLE),
            **{name: self.listed(name) for name in ("keywords", "substances", "grants", "registrations")},
            "authors": tuple(self._people("authors")),
            "editors": tuple(self._people("editors")) if kind in ("book", "chapter") else (),
            **self._dates(),
            "status": "retracted" if is_retracted else "unchecked",
            "title": title,
            "journal": journal,
            "journal_abbreviation": short if short != journal and journal else "",
            "book_title": {"book": self.line("title"), "chapter": self.line("book_title") or container}.get(kind, ""),
            "pages": pages.rstrip("-"),
            "version": "" if is_item_version or _YEAR.match(version) else version,  # EndNote has a date there
            "issn": next((f"{one[:4]}-{one[-4:]}" for one, count in digits.items() if count == 8), ""),
            "isbn": next((one for one, count in digits.items() if count in (10, 13)), ""),
            "language": ", ".join(map(language_code, self._languages())),
            "publication_types": tuple(own_types | dict.fromkeys(types)),
            "mesh_terms": tuple(dict.fromkeys(mesh)),
            "accessions": tuple(dict.fromkeys(one for one in (self.accession, *self._noted()) if any(one))),
        }

    @cached_property
    def _cited(self) -> Statements:
        """What a line such as "J Foo. 2020;1:2-3" says, where journal and volume have no fields of their own."""
        lines = [] if self.line("journal") and self.line("volume") else self.all("citation")
        return read_reference(f"Berg J. What it is about. {lines[0]}").says if lines else Statements()

    def _said(self, pattern: re.Pattern[str]) -> str:
        """What a line of the notes says, as this server's exports write it."""
        found = (pattern.search(note) for note in self.all("notes"))
        return next((one[1] for one in found if one), "")

    def _noted(self) -> Iterator[Accession]:
        """Further databases and numbers, as this server's exports and CENTRAL write them."""
        for one in filter(None, self._said(_ACCESSIONS).split("; ")):
            database, _, number = one.rpartition(" ")
            yield Accession(database, number)
        for value in self.all("elsewhere"):  # CENTRAL: "PUBMED 21314913,EMBASE 643589775"
            for number in _IN_EMBASE.findall(value):
                yield Accession("Embase", f"L{number}")

    def _languages(self) -> list[str]:
        return [one for value in self.all("language") for one in re.split(r"[,;\n]\s*| and ", value) if one]

    def _people(self, field: str) -> Iterator[AuthorName]:
        for value in self.names(field):
            if normalize_trial(value.rstrip(",")):
                continue
            if value.endswith(","):  # a group, as RIS marks it
                yield AuthorName(value.rstrip(", "))
            elif value.lower().strip(".") not in (*OTHERS, "[no author name available]"):
                yield from split_names(value) if self.form == "csv" else [split_name(value)]

    def _dates(self) -> dict[str, str]:
        """The finest date of its year that any of its fields gives, and the words for a season or several months."""
        year = next(iter(_YEAR.findall(self.line("year"))), "")
        texts = [plain_line(value).strip("/ ") for value in self.all("date")]
        cells = [(one.split("/") + [""] * 3)[:3] for one in texts]
        several = next((found[0] for one in texts if (found := _SEVERAL.search(one))), "")
        parts = ["-".join(filter(None, some)) if some[0] == year else some[0] for some in cells if year in some[0]]
        first = [re.split(r"[-/–]", several)[0]] if several else []
        told = [one for text in (*texts, *parts, *first) for one in (text, f"{year} {text}")]
        known = (found[0] for one in told if len(found := readings(one)) == 1 and found[0].startswith(year))
        date = max(known, key=len, default=year) or UNKNOWN_DATE
        return {"date": date, "issue_date": f"{year} {several}" if several and year else ""}

    @cached_property
    def own_id(self) -> str:
        """The id that it had in a session of this server."""
        found = _OWN_ID.fullmatch(self.line("own_id"))
        return found[0] if found else ""

    def decided(self) -> tuple[str, Verdict, str, tuple[str, ...], bool]:
        """The notes as plain text, the decision, its reason, and the tags, also as Rayyan, ASReview and Covidence write
        them into notes; and whether there is no decision though people voted: then the notes keep what each said."""
        lines = [*self._noted_lines()]
        told = {name: value.strip() for line in lines for name, value in _RAYYAN.findall(line)}
        votes: set[Verdict] = {_verdict(vote) for vote in _VOTE.findall(told.get("INCLUSION", ""))}
        marks: set[Verdict] = {one for line in lines for mark in _ASREVIEW.findall(line) if (one := _verdict(mark))}
        found = votes or marks
        covidence = next(filter(None, map(_COVIDENCE.search, lines)), None)
        reason = self.line("reason") or told.get("EXCLUSION-REASONS", "") or (covidence[1] if covidence else "")
        own = next(filter(None, map(_SCREENED.match, lines)), None)
        said = next(iter(found)) if len(found) == 1 else "excluded" if covidence and not found else ""
        decision: Verdict = _verdict(self.line("decision")) or (_verdict(own[1] or "") if own else said)
        reason = (own[2] or "") if own else reason
        labels = (clean_line(one) for one in (own[3] or "" if own else told.get("LABELS", "")).split(","))
        if decision or not votes:
            lines = [_RAYYAN.sub("", line) for line in lines]
        lines += [text for text, is_name in _QUOTED.findall(told.get("NOTES", "")) if not is_name]
        lines = [line for line in lines if not _SCREENED.match(line)]
        kept = (_COVIDENCE.sub("", _NUMBERED.sub("", _ASREVIEW.sub("", line))).strip(" |") for line in lines)
        notes, tags = "\n".join(filter(None, kept)), (*self.listed("tags"), *filter(None, labels))
        return notes, decision, reason if decision else "", tags, bool(votes) and not decision

    def _noted_lines(self) -> Iterator[str]:
        """The lines of the notes that no database wrote; a list of references goes on to the end of its note."""
        for note in self.all("notes"):
            for line in plain_abstract(note).split("\n"):
                if line.startswith("References:"):
                    break
                if not _OF_DATABASES.match(line.strip()):
                    yield line


def _is_nothing(text: str) -> bool:
    """Whether a value is only there because there is none: "N/A", "[No abstract available]"."""
    return len(text) < 100 and "".join(filter(str.isalnum, text.lower())) in _NOTHING


def _verdict(word: str) -> Verdict:
    """The decision that a program has this word for; "" if it is none, as "Maybe"."""
    return _DECISIONS.get(word.lower(), "")


def _known_database(text: str) -> str:
    """The database that a text names by one of its words; "" if there is none."""
    return next((name for name, words, _ in _DATABASES if re.search(rf"\b(?:{words})", text.lower())), "")
