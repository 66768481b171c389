"""What differs between a written reference and the record that it means, field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from deepcritical_mcp.checking.author_differences import author_problem
from deepcritical_mcp.evidence.titles import is_translation, tokens
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.models import UNKNOWN_DATE, Publication, ReferenceProblem
from deepcritical_mcp.search.record_finder import agree, ids_of
from deepcritical_mcp.search.references import (
    Agreement,
    FieldAgreement,
    Statements,
    WrittenReference,
    is_living_work,
    journals_agree,
)
from deepcritical_mcp.search.references.name_forms import people_agree
from deepcritical_mcp.search.references.statements import names_in
from deepcritical_mcp.search.references.title_forms import similarity
from deepcritical_mcp.search.references.written import title_words
from deepcritical_mcp.spelling import GREEK_NAMES

ORDER_OF_FIELDS = (
    "status",
    "work",
    "pmid",
    "doi",
    "pmcid",
    "title",
    "authors",
    "year",
    "journal",
    "volume",
    "issue",
    "pages",
)
IDS = ("pmid", "doi", "pmcid")
_PREPRINT_SERVER = re.compile(
    r"\b(?:bio|med|chem|psy|soc|edu|agri|eco|earth)?a?rxiv\b|\bresearch square\b|\bpreprints?\b|\bssrn\b|\bosf\b",
    re.IGNORECASE,
)
_TRANSLITERATED = "ara bul chi gre heb jpn kor mac per rus srp tha ukr".split()
"""Languages of journals that PubMed transliterates, and people translate."""
_NUMBER = re.compile(r"0{0,9}(\d{1,12})")
_MEDIUM = re.compile(r"\[[A-Z/]{1,4}\]?\Z")
"""What Chinese references put behind a title: "[J]"."""
_GREEK = frozenset(GREEK_NAMES.values())
_INITIALS = re.compile(r"\A(?:[A-Z]\.[ -]?){1,3}")
"""Those of the last author, where no title stands between the names and the journal."""
_CUT = 60
"""Characters after which a program may cut off a title."""
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_PERSON = re.compile(r"[^\W\d_][\w'’-]{1,40}(?:,? (?:[A-Z]{1,3}|(?:[A-Z]\.[ -]?){1,3}))?")
"""What can be a journal's name or a person's, where no title stands before it."""
_PINPOINT = re.compile(r"\((?:[A-Z][a-z]{2,8}\.?(?: \d{1,2},)? )?(?:1[5-9]|20)\d\d\): (?:p\. )?(\d{1,6})\.?\s{0,3}\Z")
_RANGE = re.compile(r"(\d{1,6})[-–](\d{1,6})\Z")
_FIRST_PAGE = re.compile(r"([a-z]{0,8}?)0{0,6}(\d{1,10})", re.IGNORECASE)


def is_preprint_server(journal: str) -> bool:
    """Whether what a reference names as its journal is a server of preprints."""
    return _PREPRINT_SERVER.search(journal) is not None


def problems_of(reference: WrittenReference, agreement: Agreement, record: Publication) -> list[ReferenceProblem]:
    """What the reference says otherwise than its record, the gravest first; () if nothing. Numbers are not compared."""
    says, found = agreement.says, list[ReferenceProblem | None]()
    found.append(_title(agreement, record))
    found.append(author_problem(says, record.authors))
    if is_its_preprint(agreement, record):
        found.append(ReferenceProblem(field="journal", written=says.journal, true=_journal_name(record), minor=True))
    else:
        found.append(_year(says, record))
        found.append(_journal(reference, agreement, record))
        found += _place(reference, agreement, record)
    return in_order(one for one in found if one)


def is_its_preprint(agreement: Agreement, record: Publication) -> bool:
    """Whether the preprint of an article is meant, which was published elsewhere and in another year."""
    is_theirs = agreement.verdict("authors") in ("agrees", "minor")
    return record.form != "preprint" and is_theirs and is_preprint_server(agreement.says.journal)


def in_order(problems: Iterator[ReferenceProblem] | Sequence[ReferenceProblem]) -> list[ReferenceProblem]:
    """The gravest first: numbers, then the title and so on; minor ones last."""
    return sorted(problems, key=lambda one: (one.minor, ORDER_OF_FIELDS.index(one.field)))


def number_problems(written: RecordIds, record: Publication) -> list[ReferenceProblem]:
    """The numbers in a reference that are not those of its record, as far as the record has any."""
    own, found = ids_of(record), list[ReferenceProblem]()
    for name in IDS:
        one, true = getattr(written, name), getattr(own, name)
        if one and true and not agree(RecordIds(**{name: one}), RecordIds(**{name: true})):
            is_tail = name == "doi" and _is_tail(one, true)
            found.append(ReferenceProblem(field=name, written=one, true=true, minor=is_tail))
    return found


def _is_tail(written: str, true: str) -> bool:
    """Whether a DOI is followed by what belongs to an address: "10.1000/1.pdf", "10.1000/1/full"."""
    rest = normalize_doi(written).removeprefix(true.lower())
    return bool(rest) and rest != normalize_doi(written) and not rest[0].isalnum()


def _field(agreement: Agreement, name: str) -> FieldAgreement:
    return next(one for one in agreement.fields if one.field == name)


def _title(agreement: Agreement, record: Publication) -> ReferenceProblem | None:
    found = _field(agreement, "title")
    if found.verdict in ("agrees", "absent"):
        return None
    minor = (
        found.verdict == "minor"
        or _is_cut(found.written, record.title)
        or is_translation(found.written, record.title)
        or (_all_else_agrees(agreement) and _lacks_greek(found.written, record.title))
    )
    own = record.vernacular_title
    is_own = bool(own) and similarity(found.written, own) > similarity(found.written, record.title)
    return ReferenceProblem(field="title", written=found.written, true=own if is_own else record.title, minor=minor)


def _all_else_agrees(agreement: Agreement) -> bool:
    others = ("authors", "journal", "year", "volume", "pages")
    return all(agreement.verdict(field) in ("agrees", "minor") for field in others)


def _lacks_greek(written: str, title: str) -> bool:
    """Whether Greek letters were lost in copying, and nothing else: "A strains" for "Aβ strains"."""
    words, whole = title_words(_MEDIUM.sub("", written)), title_words(title)
    left = [word for word in words if word in _GREEK]
    lost = [word for word in whole if word in _GREEK]
    bare = ([word for word in one if word not in _GREEK] for one in (words, whole))
    return len(left) < len(lost) and set(left) <= set(lost) and next(bare) == next(bare)


def _is_cut(written: str, title: str) -> bool:
    """Whether it is the beginning of a long title, cut off by "…" or by a program."""
    words, whole = tokens(written.rstrip(" .…")), tokens(title)
    is_cut = written.rstrip().endswith(("…", "...")) or len(written) >= _CUT
    return is_cut and 0 < len(words) < len(whole) and whole[: len(words)] == words


def _year(says: Statements, record: Publication) -> ReferenceProblem | None:
    dates = (record.issue_date, record.date, record.electronic_date, record.revised_date)
    years = [int(year) for date in dates if date != UNKNOWN_DATE for year in _YEAR.findall(date)]
    first = 0 if is_living_work(record) else min(years, default=0)
    if not says.year or not years or first <= int(says.year) <= max(years):
        return None
    distance = min(abs(int(says.year) - year) for year in years)
    return ReferenceProblem(field="year", written=says.year, true=str(years[0]), minor=distance == 1)


def _journal(reference: WrittenReference, agreement: Agreement, record: Publication) -> ReferenceProblem | None:
    found, says = _field(agreement, "journal"), agreement.says
    if found.verdict != "differs" or _is_named(reference, agreement.says, record):
        return None
    has_english_name = any(one in record.language for one in _TRANSLITERATED)
    is_there = "differs" not in (agreement.verdict("volume"), agreement.verdict("pages"), agreement.verdict("year"))
    if not agreement.says.title and _PERSON.fullmatch(found.written):
        true = ", ".join(map(str, record.authors[:3]))
        if people_agree(names_in(found.written), record.authors) != "differs":
            return None
        if " " in found.written:
            return ReferenceProblem(field="authors", written=found.written, true=true)
    if not any((says.title, says.authors, says.year, says.volume, says.pages)) and " " not in found.written:
        return None  # a word beside a number, "Asthma (PMID 1)", is rather its subject
    minor = has_english_name and is_there
    return ReferenceProblem(field="journal", written=found.written, true=_journal_name(record), minor=minor)


def _journal_name(record: Publication) -> str:
    return record.journal or record.journal_abbreviation or record.book_title


def _is_named(reference: WrittenReference, says: Statements, record: Publication) -> bool:
    """Whether the journal stands somewhere behind the title, although it was not read as the journal."""
    title_end = reference.text.find(says.title) + len(says.title) if says.title else 0
    behind = reference.text[title_end:]
    parts = [part.strip() for part in re.split(r"[.,;:()\[\]]", behind) if part.strip()]
    names = [name for name in (record.journal, record.journal_abbreviation, record.medline_abbreviation) if name]
    joined = [" ".join(parts[at : at + size]) for at in range(min(len(parts), 12)) for size in (1, 2, 3)]
    joined.append(_INITIALS.sub("", says.journal))
    if f" J. {says.journal}" in reference.text:  # rather than the last author's initial: "Lee, B. M. J. Toxicol."
        joined.append(f"J {says.journal}")
    return any(journals_agree(part, names) for part in joined if any(map(str.isalpha, part)))


def _place(reference: WrittenReference, agreement: Agreement, record: Publication) -> Iterator[ReferenceProblem]:
    """Volume, issue and pages. Of one of them that is another number, the other two tell how grave that is."""
    says = agreement.says
    volume = _field(agreement, "volume").verdict == "differs" and not _is_same_number(says.volume, record)
    pages = _field(agreement, "pages")
    other_pages = pages.verdict == "differs" and not _is_same_page(says.pages, record.pages)
    other_pages = other_pages and not _is_pinpoint(reference.text, says.pages, record.pages)
    if volume:
        yield ReferenceProblem(field="volume", written=says.volume, true=record.volume)
    if says.issue and record.issue and _other_issue(says.issue, record.issue):
        yield ReferenceProblem(field="issue", written=says.issue, true=record.issue, minor=not (volume and other_pages))
    if other_pages:
        minor = not volume and _is_other_numbering(says.pages, record.pages)
        yield ReferenceProblem(field="pages", written=says.pages, true=record.pages, minor=minor)
    elif _is_pinpoint(reference.text, says.pages, record.pages):
        return
    elif pages.verdict != "absent" and (pages.verdict == "minor" or _field(agreement, "pages").verdict == "differs"):
        yield ReferenceProblem(field="pages", written=says.pages, true=record.pages, minor=True)


def _is_same_number(volume: str, record: Publication) -> bool:
    """Whether what is written as the volume is the record's issue or year, or another way to write its volume."""
    numbers = {number for text in (record.issue, record.date[:4]) for number in _NUMBER.findall(text)}
    written = _NUMBER.findall(volume)
    return bool(written) and (written[0] in numbers or written == _NUMBER.findall(record.volume)[:1])


def _other_issue(written: str, true: str) -> bool:
    first, second = set(_NUMBER.findall(written)), set(_NUMBER.findall(true))
    return bool(first and second) and first.isdisjoint(second)


def _is_same_page(written: str, true: str) -> bool:
    """Whether first pages are one number, with letters before it in one of them only: "e123", "123"; "CD1.pub2"."""
    first, second = (_FIRST_PAGE.search(text.replace("/", "")) for text in (written, true))
    return first is not None and second is not None and first[2] == second[2]


def _is_pinpoint(text: str, written: str, true: str) -> bool:
    """Whether the page is the one cited in a note, "310, no. 5 (2013): 510.", which is one of the record's."""
    found, bounds = _PINPOINT.search(text), _RANGE.match(true)
    if not found or found[1] != written or not bounds:
        return False
    first, last = bounds[1], bounds[2]
    last = first[: len(first) - len(last)] + last
    return int(first) <= int(written) <= int(last)


def _is_other_numbering(written: str, true: str) -> bool:
    """Whether one is a range that begins at 1, as of a PDF, and the other the number of an article."""
    return any(
        re.match(r"1\s?[-–—‐−]", one) and not re.search(r"[-–—‐−]", other)
        for one, other in ((written, true), (true, written))
    )
