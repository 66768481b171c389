"""What a work looks like that stands in an entry or a note together with others: names, a title, a date.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re

from deepcritical_mcp.checking.draft.entry_forms import has_date_or_id, is_bare_id, starts_with_names, tells
from deepcritical_mcp.checking.draft.leading_names import end_of_names

_QUOTED_WORK = re.compile(r"[^\W\d_][^\d“”\"„«»;\n]{2,150}[,.:]\s{1,3}[“\"„«][^“”\"„«»\n]{12,500}[”\"“»]")
"""Names and a title in quotation marks."""
_TITLE_FIRST = re.compile(r"[“„\"«][^“”„\"«»\n]{12,500}[”“\"»]|[*_]{0,3}\[[^\[\]]{8,600}\]\(")
"""A title in quotation marks, or as the text of a link, before everything else."""
_TITLE = re.compile(
    r"[.)?!:]\s{1,3}[^\W\d_a-zß-öø-ÿ][^.?!;\n]{0,300}?(?:\s[a-zß-öø-ÿ]{2,30}){3}"
    r"|[.)?!:]\s{1,3}(?:[^\W_][\w'’,:()/‐-]{0,30}\s{1,2}){5}"
)
"""A title without quotation marks: three words in small letters in a row, or five without a full stop."""
_PLACE = re.compile(
    r"\b(?:19|20)\d\d[a-z]?(?: [A-Z][a-z]{2,8}\.?(?: \d{1,2})?)?[;:,]\s?\d{1,4}(?:\s?\([^()]{1,15}\))?[:,]"
    r"\s?[A-Za-z]{0,5}\d"
)
AUTHORS_AGAIN = re.compile(r"\s/\s[^/]{1,300}\s//\s")
"""The authors behind the title and before the journal, as in Russian references: "Title / J. Berg // Journal"."""
_NO_WORK = re.compile(
    r"(?:In|On|By|Comment(?:s|ary)?|Erratum|Errata|Correction|Corrigendum|Reply|Retract\w{1,5}|Update|Epub|E-?pub|"
    r"PubMed|PMID|Available|Accessed|Retrieved|Presented|Published|Translated|Reprinted|Reviewed|Edited|Supplement\w{0,4}|"
    r"Vol(?:ume)?|Pages?|Chapter|Band|Hrsg|Eds?|Editors?)\b",
)
"""Words with which no work begins, but what is said of the one before."""
_EDITORS = re.compile(r"[\s,(]{0,3}(?:[Ee]ds?\b|[Ee]ditors?\b|Hrsg\b|Hg\b|[Tt]rans\b)")
_NEAR = 1_000
_BEHIND_NAMES = 300


def is_work(text: str) -> bool:
    """Whether a text begins with a work: names, a title and a date or number."""
    text = text[:_NEAR]
    if _NO_WORK.match(text):
        return False
    if _TITLE_FIRST.match(text):
        return has_date_or_id(text)
    if found := _QUOTED_WORK.search(text):
        return has_date_or_id(text[found.end() : found.end() + 400])
    return starts_with_names(text) and has_date_or_id(text) and _TITLE.search(text) is not None


def is_short_work(text: str) -> bool:
    """Whether a text is a work without names and title: a number of a record, or a journal with its place."""
    return is_bare_id(text) or _PLACE.search(text[:_NEAR]) is not None


def begins_work(text: str, *, is_dated: bool = True) -> bool:
    """Whether a text begins with a work, even if nothing sets it apart from what stands before: names with initials or
    with a title in quotation marks, then a title or a place, and a date or number if it must have one (`is_dated`)."""
    text = text[:_NEAR]
    if _NO_WORK.match(text) or tells(text):
        return False
    if _TITLE_FIRST.match(text):
        return has_date_or_id(text)
    if found := _QUOTED_WORK.match(text):
        return starts_with_names(text) and has_date_or_id(text[found.end() : found.end() + 400])
    end = end_of_names(text)
    if end < 0 or _EDITORS.match(text, end):
        return False
    behind = text[max(0, end - 1) : end + _BEHIND_NAMES]
    place = _PLACE.search(behind)
    has_journal = place is not None and any(map(str.isalpha, behind[2 : place.start()]))
    return (not is_dated or has_date_or_id(text[end:])) and (has_journal or _TITLE.search(behind) is not None)


def names_start(text: str) -> bool:
    """Whether a text begins with names and has a date: "Berg and Ruiz 2019,"."""
    return not _NO_WORK.match(text) and starts_with_names(text) and has_date_or_id(text)
