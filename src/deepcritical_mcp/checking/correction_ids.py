"""Where identifiers stand in a reference, and the reference with others in their place.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from deepcritical_mcp.identifiers import normalize_doi, normalize_pmcid, normalize_pmid, normalize_trial
from deepcritical_mcp.models import ReferenceProblem
from deepcritical_mcp.search.references.written import DOI, LINK, PMCID, PMID, TRIAL

_ENDS = ".,;:'’”*_"


class Edit(NamedTuple):
    """`new` for what stands at `start` to `end`."""

    start: int
    end: int
    new: str


def applied(text: str, edits: Iterable[Edit]) -> str:
    """`text` with the edits that do not overlap with earlier ones."""
    parts, at = list[str](), 0
    for edit in sorted(edits):
        if edit.start >= at:
            parts += text[at : edit.start], edit.new
            at = edit.end
    return "".join([*parts, text[at:]])


class IdPlace(NamedTuple):
    """Where an identifier stands: with what leads to it ("doi:"), and without; `value` is normalized."""

    field: str
    lead: int
    start: int
    end: int
    value: str


def id_places(text: str) -> Iterator[IdPlace]:
    """The identifiers in a text."""
    if text.strip(" .:#\n").isdecimal() and (number := re.search(r"[1-9][0-9]{0,8}", text)):
        yield IdPlace("pmid", number.start(), number.start(), number.end(), number[0])
    for found in DOI.finditer(text):
        value = _bare(found[1])
        yield IdPlace("doi", found.start(), found.start(1), found.start(1) + len(value), normalize_doi(unquote(value)))
    for field, pattern, in_one_form in (
        ("pmid", PMID, normalize_pmid),
        ("pmcid", PMCID, normalize_pmcid),
        ("nct", TRIAL, normalize_trial),
    ):
        for found in pattern.finditer(text):
            yield IdPlace(field, found.start(), found.start(1), found.end(), in_one_form(found[1]))


def id_edits(text: str, problem: ReferenceProblem, pmid: str) -> Iterator[Edit]:
    """What changes an identifier that is wrong; one that the record does not have gives way to its PMID."""
    places = list(id_places(text))
    wrong = [one for one in places if one.field == problem.field and one.value != problem.true.lower()]
    if problem.field != "doi":
        wrong = [one for one in places if one.field == problem.field and one.value != problem.true]
    has_pmid = any(one.field == "pmid" for one in places)
    for one in wrong:
        if problem.true:
            yield Edit(one.start, _end_of_broken(text, one, problem.true), problem.true)
        elif one.field == "pmid" or not pmid or has_pmid:
            yield _without(text, one)
        elif (link := LINK.match(text, _link_start(text, one.start))) and link.end() >= one.end:
            yield Edit(link.start(), one.end, f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/")
        else:
            yield Edit(one.lead, one.end, f"PMID: {pmid}")


def _end_of_broken(text: str, place: IdPlace, true: str) -> int:
    """Where a number ends that blanks break, if what stands there is the start of `true`; otherwise where it ends."""
    if not true.lower().startswith(place.value.lower()):
        return place.end
    at = place.end
    for letter in true[len(place.value) :].lower():
        while text[at : at + 1].isspace():
            at += 1
        if text[at : at + 1].lower() != letter:
            return place.end
        at += 1
    return at


def _bare(value: str) -> str:
    """A DOI without the punctuation of the sentence that it ends."""
    while value and (value[-1] in _ENDS or (value[-1] == ")" and value.count(")") > value.count("("))):
        value = value[:-1]
    return value


def _link_start(text: str, at: int) -> int:
    """Where a link begins that `at` may be in."""
    return max(text.rfind("http://", 0, at), text.rfind("https://", 0, at), 0)


def _without(text: str, place: IdPlace) -> Edit:
    """Without an identifier, what leads to it and the mark that follows."""
    start, end = place.lead, place.end
    link = LINK.match(text, _link_start(text, place.start))
    if link and link.end() >= end:
        start = link.start()
    while start and text[start - 1] == " ":
        start -= 1
    if text[end : end + 1] == "." and text[:start].endswith("."):
        end += 1
    return Edit(start, end, "")
