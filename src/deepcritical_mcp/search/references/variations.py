"""The one table of what is a difference, field by field.

| field   | none                                             | minor                        | a difference         |
|---------|--------------------------------------------------|------------------------------|----------------------|
| title   | case, accents, Greek letters, punctuation,       | a slip, another small word,  | another content word |
|         | spelling, subtitle left out, a short one added   | cut off, translated          |                      |
| authors | initials, order of a name's parts, names left    | a slip, one other initial    | another name, another|
|         | out, "et al." at any place                       |                              | first author         |
| year    | that of the issue, of the publication online     | off by one                   | another year         |
| journal | abbreviations of it, its initials, a former name | a translated name, a preprint| another journal      |
| volume  | "45 Suppl 2", the year or issue as the volume    |                              | another number       |
| issue   | one of several                                   | another number               |                      |
| pages   | abbreviated, with letters, the first one only    | last page, those of the PDF  | another first page   |

A field that is absent is no field that differs.
"""

from __future__ import annotations

import re

from deepcritical_mcp.evidence.titles import is_translation, tokens
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.search.references.agreement import FieldVerdict
from deepcritical_mcp.search.references.number_places import YEAR, number_in, numbers_of
from deepcritical_mcp.search.references.title_places import similarity
from deepcritical_mcp.search.references.written import title_words
from deepcritical_mcp.spelling import GREEK_NAMES

TRANSLITERATED = frozenset("ara bul chi gre heb jpn kor mac per rus srp tha ukr".split())
"""Languages of journals that PubMed transliterates, and people translate."""
PREPRINT_SERVER = re.compile(
    r"\b(?:bio|med|chem|psy|soc|edu|agri|eco|earth)?a?rxiv\b|\bresearch square\b|\bpreprints?\b|\bssrn\b|\bosf\b",
    re.IGNORECASE,
)
_GREEK = frozenset(GREEK_NAMES.values())
_CUT = 60
"""Characters after which a program may cut off a title."""
_RANGE = re.compile(r"([A-Za-z]{0,5}\d{1,8}[A-Za-z]?)(?:\s{0,2}[-–—‐−]{1,2}\s{0,2}([A-Za-z]{0,5}\d{1,8}[A-Za-z]?))?")
_MOST_VOLUMES = 6
"""Volumes that one range joins."""


def is_living_work(record: Publication) -> bool:
    """Whether it is a part of a book that is revised again and again, such as GeneReviews, which has years of its
    own."""
    return record.form in ("chapter", "book") and record.revised_date != UNKNOWN_DATE


def years_of(record: Publication) -> list[int]:
    """The years of a record: that of its date first."""
    dates = (record.date, record.electronic_date, record.issue_date, record.revised_date)
    return [int(year) for date in dates if date != UNKNOWN_DATE for year in YEAR.findall(date)]


def year_agrees(written: str, record: Publication) -> FieldVerdict:
    """A year, "2019" or "2019b"."""
    years = years_of(record)
    if not written[:4].isdecimal() or not years:
        return "absent"
    year = int(written[:4])
    if (0 if is_living_work(record) else min(years)) <= year <= max(years):
        return "agrees"
    return "minor" if min(abs(year - one) for one in years) == 1 else "differs"


def volume_agrees(written: str, record: Publication) -> FieldVerdict:
    """A volume, with a supplement or without."""
    if not written or not record.volume:
        return "absent"
    first, second = _volumes(written), _volumes(record.volume)
    if first & second or tokens(written) == tokens(record.volume) or not second:
        return "agrees"
    also = {*numbers_of(record.issue), *map(str, years_of(record))}
    return "agrees" if number_in(written) in also else "differs"


def _volumes(text: str) -> frozenset[int]:
    """The numbers of a volume that may be several: "181-182"; that of its supplement is none."""
    found = _RANGE.search(re.split(r"(?i)\bsuppl?", text)[0])
    if not found or not number_in(found[0]):
        return frozenset()
    first = int(number_in(found[1]))
    last = int(number_in(found[2] or "") or first)
    return frozenset(range(first, last + 1)) if 0 <= last - first <= _MOST_VOLUMES else frozenset((first, last))


def issue_agrees(written: str, record: Publication) -> FieldVerdict:
    """An issue."""
    first, second = numbers_of(written), numbers_of(record.issue)
    return "absent" if not first or not second else "minor" if first.isdisjoint(second) else "agrees"


def pages_agree(written: str, record: Publication) -> FieldVerdict:
    """Pages, or the number of an article."""
    first, second = _pages(written), _pages(record.pages)
    if not first or not second:
        return "absent"
    if number_in(first[0]) == number_in(second[0]):
        return "agrees" if len(first) == 1 or len(second) == 1 or first[1] == second[1] else "minor"
    is_pdf = any(
        len(one) == 2 and number_in(one[0]) == "1" and len(other) == 1
        for one, other in ((first, second), (second, first))
    )
    if is_pdf:
        return "minor"
    parts = (number_in(part) for part in re.split(r"[;,]", record.pages)[1:])  # "1825-34, 1839-40"
    return "agrees" if number_in(first[0]) in {*parts} else "differs"


def _pages(text: str) -> list[str]:
    """First and last page without abbreviation: "327-57" is 327 to 357."""
    found = _RANGE.search(re.split(r"[;,]", text.replace("/", ""))[0])
    if not found:
        return []
    pages = [one.lower() for one in found.groups() if one]
    if len(pages) == 2 and len(pages[1]) < len(pages[0]) and pages[1].isdigit():
        pages[1] = pages[0][: len(pages[0]) - len(pages[1])] + pages[1]
    return pages


def is_minor_title(written: str, true: str, *, all_else_agrees: bool) -> bool:
    """Whether a title that is not the record's as a whole is cut off, translated, or has lost its Greek letters."""
    words, whole = tokens(written.rstrip(" .…")), tokens(true)
    is_cut = written.rstrip().endswith(("…", "...")) or len(written) >= _CUT
    if is_cut and 0 < len(words) < len(whole) and whole[: len(words)] == words:
        return True
    return is_translation(written, true) or (all_else_agrees and _lacks_greek(written, true))


def _lacks_greek(written: str, title: str) -> bool:
    """Whether Greek letters were lost in copying, and nothing else: "A strains" for "Aβ strains"."""
    words, whole = title_words(written), title_words(title)
    left, lost = ([word for word in one if word in _GREEK] for one in (words, whole))
    bare, true = ([word for word in one if word not in _GREEK] for one in (words, whole))
    return len(left) < len(lost) and set(left) <= set(lost) and bare == true


def nearer_title(written: str, record: Publication) -> str:
    """Of a record's titles the one that is written: its own, or that in its own language."""
    own = record.vernacular_title
    return own if own and similarity(written, own) > similarity(written, record.title) else record.title
