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
from deepcritical_mcp.search.references.written import BARE_PMID, DOI, LINK, PMCID, PMID, TRIAL, balanced

_FORMS = (
    ("doi", DOI, normalize_doi),
    ("pmid", PMID, normalize_pmid),
    ("pmcid", PMCID, normalize_pmcid),
    ("nct", TRIAL, normalize_trial),
)


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
    if number := BARE_PMID.search(text):
        yield IdPlace("pmid", number.start(1), *number.span(1), number[1])
    for field, pattern, in_one_form in _FORMS:
        for found in pattern.finditer(text):
            value, at = balanced(found[1])[0], found.start(1)
            yield IdPlace(field, found.start(), at, at + len(value), in_one_form(unquote(value)))


def id_edits(text: str, problem: ReferenceProblem, pmid: str) -> Iterator[Edit]:
    """What changes an identifier that is wrong; one that the record does not have gives way to its PMID."""
    places = list(id_places(text))
    true = problem.true.lower() if problem.field == "doi" else problem.true
    for one in places:
        if one.field != problem.field or one.value == true:
            continue
        link = LINK.match(text, max(text.rfind("http://", 0, one.start), text.rfind("https://", 0, one.start), 0))
        link = link if link and link.end() >= one.end else None
        if problem.true:
            is_start = true.startswith(one.value)
            # Blanks may break a number.
            tail = (
                re.compile(r"\s*".join(map(re.escape, ("", *true[len(one.value) :]))), re.IGNORECASE)
                if is_start
                else None
            )
            rest = tail.match(text, one.end) if tail else None
            yield Edit(one.start, rest.end() if rest else one.end, problem.true)
        elif one.field == "pmid" or not pmid or any(other.field == "pmid" for other in places):
            before = text[: link.start() if link else one.lead].rstrip(" ")
            yield Edit(len(before), one.end + (text[one.end :].startswith(".") and before.endswith(".")), "")
        elif link:
            yield Edit(link.start(), one.end, f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/")
        else:
            yield Edit(one.lead, one.end, f"PMID: {pmid}")
