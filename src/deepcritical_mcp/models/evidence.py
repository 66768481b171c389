"""A publication with the texts that a session has of it, and the parts of a long text, each with an anchor."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field

from deepcritical_mcp.identifiers import (
    RecordIds,
    normalize_doi,
    normalize_pmcid,
    normalize_pmid,
    normalize_trial,
    record_ids,
)
from deepcritical_mcp.models.publication import (
    FINER_DATE,
    FIRST,
    FIRST_KNOWN,
    LATEST_DATE,
    LATEST_DECISION,
    PREPRINT,
    UNION,
    UNKNOWN_DATE,
    Accession,
    AuthorName,
    Bibliography,
    Line,
    MergeRule,
    Paragraph,
    PartialDate,
    PublicationStatus,
    Screening,
    Url,
    Value,
    as_of,
    is_open_claim,
    may_hold,
    united,
)
from deepcritical_mcp.text import clean_text
from deepcritical_mcp.urls import normalize_url

PartKind = Literal["section", "table", "figure", "references", "sub_article"]
PARAGRAPH_BREAK = "\n\n"
"""Separates the paragraphs of a text with parts, and occurs nowhere inside one."""
NOT_OWN = "Not the paper's own text"
"""The path of a sub-article begins with this."""
ANCHOR = r"(?:abstract|[a-z][0-9.]{1,20}(?:[a-z][0-9.]{1,20})?)(?:p[0-9]{1,4}(?:[-–]p?[0-9]{1,4})?)?"
"""What an anchor looks like, as a pattern: "s3.2", "x2f1", "s3.2p4", "s3.2p4-6"."""
_PARAGRAPH_ANCHOR = re.compile(r"(?P<part>.+?)p(?P<first>[1-9][0-9]{0,3})(?:[-–]p?(?P<last>[1-9][0-9]{0,3}))?")


class Part(Value):
    """A part of a text: from `start` in its content up to the next part's.

    Attributes:
        anchor: "s3.2" the second section of the third one, "s0" text before the first section, "t1" a table, "f2" a
            figure, "b1" a section after the body (acknowledgements, appendix), "a1" another abstract than the main one,
            "r1" a list of references, "x1" a sub-article (a translation, a decision letter), "x1.2" a section of it.
        kind: what it is; boxes are sections.
        path: titles from the outermost section in, without labels such as "2.1"; of a table or figure, the path of the
            section that it stands in and its label, e.g. ("Results", "Table 1").
        start: the position of its first character in the text's content.
        parent: the anchor of the part that it belongs to; "" for outermost ones.
    """

    anchor: Line
    kind: PartKind = "section"
    path: tuple[Line, ...] = ()
    start: int = 0
    parent: Line = ""


def own_spans(parts: Sequence[Part], length: int) -> Iterator[tuple[Part, int, int]]:
    """Each part with the start and end of its own text, without its sub-parts', in a content of `length` characters."""
    ends = [*(part.start for part in parts[1:]), *([length] if parts else [])]
    return ((part, part.start, end) for part, end in zip(parts, ends, strict=True))


def with_descendants(parts: Sequence[Part], anchor: str) -> Iterator[Part]:
    """The part with that anchor and everything inside it, in order; nothing if there is none."""
    inside = {anchor}
    for part in parts:
        if part.anchor == anchor or part.parent in inside:
            inside.add(part.anchor)
            yield part


def section_of(part: Part) -> tuple[str, ...]:
    """The path of a part, with a mark in front if the text is not the publication's own."""
    if part.kind != "sub_article":
        return part.path
    return (f"{NOT_OWN}: {part.path[0] if part.path else part.anchor}", *part.path[1:])


class ParagraphAnchor(NamedTuple):
    """What an anchor means: paragraphs `first` to `last` of a part; 0 and 0 for all of it."""

    part: str
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        if not self.first:
            return self.part
        return f"{self.part}p{self.first}" + (f"-{self.last}" if self.last > self.first else "")


def split_paragraph_anchor(anchor: str) -> ParagraphAnchor:
    """The part and the paragraphs in "s3.2p4" or "s3.2p4-6"."""
    match = _PARAGRAPH_ANCHOR.fullmatch(anchor)
    if not match:
        return ParagraphAnchor(anchor)
    return ParagraphAnchor(match["part"], int(match["first"]), int(match["last"] or match["first"]))


TextKind = Literal["abstract", "full_text", "page", "note", "registration"]

PREFERENCE: tuple[TextKind, ...] = ("abstract", "registration", "full_text", "page", "note")
"""Which text represents a publication if only one is shown; the user's texts always come last."""
RECORD_KINDS: tuple[TextKind, ...] = ("abstract", "registration")
USER = "user"
"""Provider of what the user wrote or pasted."""
LIBRARY, FILE = "library", "your file"
"""The provider of what a file of references says, and of a text that was read from the user's own file."""
NO_ABSTRACT = "[No abstract]"
DECLARED = "declared the same by the user"
"""Why two descriptions are of one publication, if the user says so."""
AHEAD_OF_PRINT = "aheadofprint"
"""PubMed's publication stage of an article without an issue yet."""
PublicationForm = Literal[
    "article", "preprint", "chapter", "book", "thesis", "report", "conference", "trial", "page", "other"
]
FORM_TYPES: Mapping[str, PublicationForm] = {"Thesis": "thesis", "Report": "report", "Conference Paper": "conference"}
"""Types of publications that libraries name, and what those are cited as."""
UTC_SECOND = "2026-11-23T05:00:00Z"
"""The format of the time of a decision."""
_TEXT_ID = re.compile(r"(.+)~([0-9]{1,4})", re.DOTALL)
_WEB_ADDRESS = re.compile(r"https?://[^\s/]", re.IGNORECASE)


class Text(Value):
    """One text of a publication. Texts of different kinds, and the user's own, never overwrite each other.

    Attributes:
        parts: of a full text or page, its parts in order, which cover all of `content`; () for others. A text with
            parts consists of paragraphs with `PARAGRAPH_BREAK` between them; titles of sections stand in `parts` only.
        licence: as its source says it, e.g. "https://creativecommons.org/licenses/by/4.0/"; "" if unknown.
        url: where this copy was read, if that is not the publication's own address.
        is_ocr: whether it was read from scanned pages by a machine, so that it may contain errors.
        remarks: what a reader of the text must know, e.g. what is missing of it.
    """

    kind: TextKind
    content: Annotated[str, AfterValidator(clean_text), Field(min_length=1)]
    provider: Line = ""
    parts: tuple[Part, ...] = ()
    licence: Line = ""
    url: Url = ""
    is_ocr: bool = False
    remarks: tuple[Line, ...] = ()

    @property
    def is_users(self) -> bool:
        """Whether the user supplied it."""
        return self.provider == USER


def _merged_texts(first: Sequence[Text], second: Sequence[Text]) -> tuple[Text, ...]:
    """All texts of both. Of two with the same kind and origin, the one with parts is kept, then the longer one; all
    notes and files are kept, and the record of a trial besides its whole registration, which has parts."""
    kept: dict[tuple[object, ...], Text] = {}
    for text in (*first, *second):
        is_kept_apart = text.kind == "note" or (text.is_users and text.kind == "page") or text.provider == FILE
        place = (text.kind, _is_whole_trial(text), text.is_users, text.content if is_kept_apart else "")
        kept[place] = max(kept.get(place, text), text, key=_fullness)
    return tuple(sorted(kept.values(), key=_rank))


def _rank(text: Text) -> tuple[bool, bool, int, bool, bool]:
    is_none, place = text.content == NO_ABSTRACT, PREFERENCE.index(text.kind)
    return text.is_users, is_none, place, _is_whole_trial(text), text.provider == FILE


def _is_whole_trial(text: Text) -> bool:
    return text.kind == "registration" and bool(text.parts)


def _fullness(text: Text) -> tuple[bool, bool, bool, int, str]:
    return text.content != NO_ABSTRACT, bool(text.parts), not text.is_ocr, len(text.content), text.content


class Publication(Bibliography):
    """A publication and its texts in a session. Its id does not depend on which texts it has.

    A session stores all of these fields; clients get an `Evidence` made of it instead.

    Attributes:
        vernacular_title: the title in the publication's own language; `title` is then a translation in brackets.
        issue_date: PubMed's words for a season or a range, which `date` cannot hold: "1990 Spring", "2013 Nov-Dec".
        medline_abbreviation: NLM's own of the journal, where `journal_abbreviation` is another one.
        electronic_date: when it was published online; `date` is that of the issue, or of the contribution to a book.
        publication_stage: PubMed's "ppublish", "epublish" or "aheadofprint".
        book_title: the book that it is a chapter of, or `title` again for a whole book.
        book_years: "1993-2025" for a book that was published over years, "1993-" if it still is.
        bookshelf_id: NCBI Bookshelf's number, e.g. "NBK1403".
        revised_date: the last revision of a chapter.
        preprint_number: Europe PMC's of a preprint, e.g. "PPR1036674".
        accessed: the day (UTC) on which a web page, a search result that leads to it, or a registration was last read.
        similar: ids of nearly identical publications in its session; filled for exports.
        grants: number, agency and country of each.
        substances: MEDLINE's chemicals.
        screening: what the user decided about it; `screening_reason` in the user's words.
        screened: when that, or its tags, was last set or taken back (UTC), e.g. "2026-11-23T05:00:00Z".
        decided: when it became relevant or was excluded (UTC, with microseconds); another reason changes nothing in it.
        decisions: each decision that was made or taken back, the oldest first, see `history`.
        tags: the user's.
        accessions: the databases that files of the user's had it from, with its number in each.
        declared: marks that it shares with others which the user declared to be the same publication.
    """

    id: str
    texts: Annotated[tuple[Text, ...], MergeRule(_merged_texts), Field(min_length=1)]
    authors: Annotated[tuple[AuthorName, ...], FIRST_KNOWN] = ()
    found_by: Annotated[tuple[Line, ...], UNION] = ()
    vernacular_title: Annotated[Line, FIRST_KNOWN] = ""
    issn: Annotated[Line, FIRST_KNOWN] = ""
    issue_date: Annotated[Line, FIRST_KNOWN] = ""
    medline_abbreviation: Annotated[Line, FIRST_KNOWN] = ""
    electronic_date: Annotated[PartialDate, FINER_DATE] = UNKNOWN_DATE
    publication_stage: Annotated[Line, FIRST_KNOWN] = ""
    publisher_place: Annotated[Line, FIRST_KNOWN] = ""
    book_title: Annotated[Line, FIRST_KNOWN] = ""
    editors: Annotated[tuple[AuthorName, ...], FIRST_KNOWN] = ()
    book_years: Annotated[Line, FIRST_KNOWN] = ""
    isbn: Annotated[Line, FIRST_KNOWN] = ""
    bookshelf_id: Annotated[Line, FIRST_KNOWN] = ""
    revised_date: Annotated[PartialDate, FINER_DATE] = UNKNOWN_DATE
    preprint_number: Annotated[Line, FIRST_KNOWN] = ""
    accessed: Annotated[PartialDate, LATEST_DATE] = UNKNOWN_DATE
    similar: Annotated[tuple[str, ...], FIRST] = ()
    grants: Annotated[tuple[Line, ...], UNION] = ()
    conflict_of_interest: Annotated[Paragraph, FIRST_KNOWN] = ""
    substances: Annotated[tuple[Line, ...], UNION] = ()
    screening: Annotated[Screening, LATEST_DECISION] = ""
    screening_reason: Annotated[Line, LATEST_DECISION] = ""
    screened: Annotated[Line, LATEST_DECISION] = ""
    decided: Annotated[Line, LATEST_DECISION] = ""
    decisions: Annotated[tuple[Line, ...], UNION] = ()
    tags: Annotated[tuple[Line, ...], UNION] = ()
    accessions: Annotated[tuple[Accession, ...], UNION] = ()
    declared: Annotated[tuple[Line, ...], UNION] = ()

    @classmethod
    def of(cls, kind: TextKind, content: str, *, provider: str, **fields: object) -> Self:
        """A publication with one text, which may have `parts` and a `licence`, under its stable id (see
        `publication_id`)."""
        own = {name: fields.pop(name) for name in ("parts", "licence") if name in fields}
        text = Text.model_validate({"kind": kind, "content": content, "provider": provider, **own})
        bare = cls.model_validate({**fields, "id": "new", "texts": (text,)})
        return bare.model_copy(update={"id": publication_id(bare)})

    @property
    def text(self) -> Text:
        """The text that represents the publication if only one is shown."""
        return self.texts[0]

    def id_of(self, text: Text) -> str:
        """The id under which one of its texts is read: its own for the first one, "pubmed:1~2" for the second."""
        place = self.texts.index(text) if text in self.texts else 0
        return f"{self.id}~{place + 1}" if place else self.id

    def text_with(self, id: str) -> Text | None:
        """The text with that id, made by `id_of`; None if there is none."""
        number = split_text_id(id)[1] if id != self.id else 1
        return self.texts[number - 1] if 1 <= number <= len(self.texts) else None

    @property
    def is_record(self) -> bool:
        """Whether a bibliographic source described it, which is more reliable than a web page or a user."""
        return self.source != LIBRARY and any(one.kind in RECORD_KINDS and not one.is_users for one in self.texts)

    @property
    def own_ids(self) -> RecordIds:
        """Its numbers; of a record, and of a note, which is about what it names, also those in its address."""
        ids = RecordIds(self.pmid, self.pmcid, self.doi, self.nct)
        return ids.completed(record_ids(self.url)) if self.is_record or self.is_own_note else ids

    @property
    def claimed_ids(self) -> RecordIds:
        """The numbers that it only claims, or that its address names; none of a record or note."""
        return self._claimed(is_open_claim)

    @property
    def stated_ids(self) -> RecordIds:
        """Those, and the numbers that nobody has a record of."""
        return self._claimed(may_hold)

    def _claimed(self, holds: Callable[[str], bool]) -> RecordIds:
        if self.is_record or self.is_own_note:
            return RecordIds()
        found = RecordIds()
        for one in (claim.partition(" (")[0] for claim in filter(holds, self.claims)):
            doi = normalize_doi(one) if one.startswith("doi:") else ""
            read = RecordIds(normalize_pmid(one), normalize_pmcid(one), doi, normalize_trial(one))
            found = found.completed(read)
        return found.completed(record_ids(self.url))

    @property
    def given_claims(self) -> tuple[str, ...]:
        """Its claims without what became known about them."""
        return tuple(dict.fromkeys(one.partition(" (")[0] for one in self.claims))

    def as_claim(self) -> Self:
        """The same with its numbers as claims: a page or text under its own address."""
        ids = RecordIds(self.pmid, self.pmcid, self.doi, self.nct).completed(record_ids(self.url))
        bare = self.model_copy(update={**RecordIds()._asdict(), "claims": united(self.claims, _as_claims(ids))})
        return bare.model_copy(update={"id": publication_id(bare)})

    def with_refuted(self, ids: RecordIds, why: str) -> Self:
        """The same, where it is told of the claims of these numbers why they do not hold."""
        refuted = {*_as_claims(ids)}
        claims = (f"{one} ({why})" if one in refuted else one for one in self.claims)
        return self.model_copy(update={"claims": tuple(dict.fromkeys(claims))})

    @property
    def awaits_pubmed(self) -> bool:
        """Whether it is a paper's record from elsewhere whose status is unconfirmed, as PubMed did not answer."""
        is_elsewhere = self.is_record and all(text.provider != "pubmed" for text in self.texts)
        return is_elsewhere and not self.status_checked and bool(self.pmid or self.pmcid or self.doi)

    def with_status(self, status: PublicationStatus, day: str, **changes: object) -> Self:
        """The same with that status as of that day, "" if nobody was asked (see `as_of`)."""
        return self.model_copy(update={"status": as_of(status, day), "status_checked": day, **changes})

    @property
    def form(self) -> PublicationForm:
        """What it is cited as."""
        if self.book_title:
            return "book" if self.book_title == self.title else "chapter"
        for name in self.publication_types if self.source == LIBRARY else ():
            if name in FORM_TYPES:
                return FORM_TYPES[name]
        if self.source == "preprint" or PREPRINT in self.publication_types:
            return "preprint"
        if self.source == "trial":
            return "trial"
        is_claim = bool(self.claims) and not self.is_record and self.source != LIBRARY
        if (self.journal or self.journal_abbreviation) and not is_claim:
            return "article"
        return "page" if self.is_on_the_web and not (self.pmid or self.doi) else "other"

    @property
    def history(self) -> tuple[str, ...]:
        """When, by whom (if the server knows) and what was decided, "2026-11-23T05:00:00Z: excluded: no controls", the
        oldest first; version 0.2 kept the last decision only."""
        last = ": ".join(filter(None, (self.screened, self.screening, self.screening_reason)))
        return self.decisions or ((last,) if self.screening or self.screening_reason else ())

    @property
    def about(self) -> str:
        """What a user's note is on: "PMID 3180084", else a DOI, another number or a URL; "" for anything else."""
        pmid = f"PMID {self.pmid}" if self.pmid else ""
        return (pmid or self.doi or self.pmcid or self.nct or self.url) if self.source == "user" else ""

    @property
    def short_journal(self) -> str:
        """The journal's abbreviation without full stops, as NLM writes it: "Proc Natl Acad Sci U S A"."""
        return self.medline_abbreviation or re.sub(r"\.(?=\w)", " ", self.journal_abbreviation).replace(".", "")

    @property
    def is_ahead_of_print(self) -> bool:
        """Whether it has no issue yet; some records still say so when they have one."""
        return self.publication_stage == AHEAD_OF_PRINT and not self.volume

    @property
    def is_on_the_web(self) -> bool:
        """Whether its URL leads to the web: a script's address is not where a source can be found."""
        return bool(_WEB_ADDRESS.match(self.url))

    @property
    def is_users(self) -> bool:
        """Whether all of its texts come from the user."""
        return all(text.is_users for text in self.texts)

    @property
    def is_own_note(self) -> bool:
        """Whether it is what the user says, perhaps about the publication whose numbers it bears."""
        return self.source == "user" and self.is_users

    @property
    def is_note(self) -> bool:
        """Whether it is only what the user wrote, without anything by which others could find it."""
        where = self.authors or self.journal or self.is_on_the_web or self.date != UNKNOWN_DATE
        return self.is_users and self.source == "user" and not where


_DECLARED = ((name, one) for name, field in Publication.model_fields.items() for one in field.metadata)
_MERGE_RULES = {name: one for name, one in _DECLARED if isinstance(one, MergeRule)}


def decision_of(publication: Publication) -> str:
    """The decision and its reason, "excluded: no control group"; "" if there is none."""
    return ": ".join(filter(None, (publication.screening, publication.screening_reason)))


def decision_line(publication: Publication) -> str:
    """The decision and the tags, "excluded: no control group; tags: rct, adults"; "" if there is neither."""
    tags = f"tags: {', '.join(publication.tags)}" if publication.tags else ""
    return "; ".join(filter(None, (decision_of(publication), tags)))


def _as_claims(ids: RecordIds) -> tuple[str, ...]:
    named = (f"PMID {ids.pmid}", ids.pmcid, f"doi:{normalize_doi(ids.doi)}", ids.nct)
    return tuple(one for one, number in zip(named, ids, strict=False) if number)


def split_text_id(id: str) -> tuple[str, int]:
    """The publication's id and the number of the text in an id made by `Publication.id_of`."""
    match = _TEXT_ID.fullmatch(id)
    return (match[1], int(match[2])) if match else (id, 1)


def merged(kept: Publication, other: Publication) -> Publication:
    """Two descriptions of a publication, merged under the id of `kept`.

    A record counts more than a page, a page more than what the user pasted, and that more than the user's notes; of
    equals, `kept` counts more. Of what the user added, and of what only claims the numbers of a record, others take
    only the texts: what is claimed never completes what a source says. Of two decisions the later one holds; its reason
    says if the other was different.
    """
    first, second = (other, kept) if authority(other) > authority(kept) else (kept, other)
    decided = [(one.screening != "", one.decided or one.screened) for one in (first, second)]
    latest, earlier = (second, first) if decided[1] > decided[0] else (first, second)
    is_claim = bool(second.claims) and first.is_record
    own = {"texts", "tags", "accessions", "declared"}
    combined = own if authority(second) < min(authority(first), 2) or is_claim else _MERGE_RULES.keys()
    values = {name: getattr(latest if rule == LATEST_DECISION else first, name) for name, rule in _MERGE_RULES.items()}
    values |= {name: _MERGE_RULES[name].combine(values[name], getattr(second, name)) for name in combined}
    values["status"] = as_of(values["status"], values["status_checked"])
    if latest.screening and earlier.screening not in ("", latest.screening):
        also = f"merged with a description that was {earlier.screening}"
        values["screening_reason"] = "; ".join(filter(None, (latest.screening_reason, also)))
    if latest.screening == earlier.screening:
        values["decided"] = min(one.decided or one.screened for one in (first, second))
    values["decisions"] = tuple(sorted(united(first.history, second.history), key=lambda made: made[: len(UTC_SECOND)]))
    return kept.model_copy(update={**values, "found_by": united(kept.found_by, other.found_by)})


def authority(publication: Publication) -> int:
    """How reliable a description is: 4 a record, 3 one of a library, 2 a page, 1 what the user pasted, 0 what the user
    wrote."""
    if publication.is_users:
        return 0 if publication.source == "user" else 1
    return 4 if publication.is_record else 3 if publication.source == LIBRARY else 2


def publication_id(publication: Publication) -> str:
    """`pubmed:<pmid>`, else `doi:<doi>`, `nct:<number>`, `url:<hash of the normalized URL>`, `text:<hash>`.

    The user's texts always have the last form, because their identifiers may be those of a publication they are about.
    """
    if publication.is_users and publication.source == "user":
        return f"text:{_digest(publication.text.content)}"
    if publication.pmid:
        return f"pubmed:{publication.pmid}"
    if publication.doi:
        return f"doi:{normalize_doi(publication.doi)}"
    if publication.nct:
        return f"nct:{publication.nct}"
    if publication.url and publication.source != LIBRARY:  # databases give one address to many
        return f"url:{_digest(normalize_url(publication.url))}"
    if (content := publication.text.content) != NO_ABSTRACT:
        return f"text:{_digest(content)}"
    if publication.source != LIBRARY:
        return f"text:{_digest(publication.title)}"
    names = ("authors", "date", "journal", "volume", "issue", "pages", "book_title", "claims", "accessions")
    return f"text:{_digest(repr((publication.title, *(getattr(publication, name) for name in names))))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]
