"""A second work in one entry of a reference list: "See also: …", "(a) … (b) …".

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re

from deepcritical_mcp.checking.draft.inline_references import stated_ids
from deepcritical_mcp.evidence.titles import content_words, tokens
from deepcritical_mcp.search.references import Statements, WrittenReference

_YEAR = r"(?:19|20)\d\d[a-z]?"
_VOLUME = r"\d{1,4}(?:\s?\([^()]{1,15}\))?[:,]\s?[A-Za-z]?\d{1,8}"
_PLACE = re.compile(
    rf"\b{_YEAR}(?: [A-Z][a-z]{{2,8}}\.?(?: \d{{1,2}})?)?[;:,]\s?{_VOLUME}|\b{_VOLUME}[-–—‐−][A-Za-z]?\d{{1,8}}"
)
_DATED = re.compile(rf"\b{_YEAR}(?!\w)")
_NAMED = re.compile(r"[^\W\d_]{2,30} [A-Z]{1,3}[,.]|[^\W\d_]{2,30}, [A-Z]\.|\b[A-Z]\. [A-Z][^\W\d_]{1,30}")
_PART = re.compile(r"[.?!:”\"“]\s{1,3}")
_LEAST_TITLE = 3
"""Content words in small letters that make a title."""


def second_work(reference: WrittenReference, says: Statements) -> str:
    """What a reference says of a work besides the one with the title and place of `says`; "" if nothing.

    A second work has names, a title, a year and a place, so that notes and comments are none.
    """
    start = reference.text.find(says.title) if says.title and not reference.is_labelled else -1
    if start < 0:
        return ""
    before, after = reference.text[:start], reference.text[start + len(says.title) :]
    return next((side.strip(" .,;") for side in (_behind_place(after, says.pages), before) if _is_work(side)), "")


def second_pmid(written: str, first: str) -> str:
    """A PMID in a reference besides its `first` one; "" if there is none."""
    others = (
        one.key.removeprefix("pmid:")
        for one in stated_ids(written)
        if one.key.startswith("pmid:") and one.key != f"pmid:{first}"
    )
    return next(others, "") if first else ""


def _behind_place(text: str, pages: str) -> str:
    at = text.find(pages) if pages else -1
    if at >= 0:
        return text[at + len(pages) :]
    found = _PLACE.search(text)
    return text[found.end() :] if found else ""


def _is_work(text: str) -> bool:
    if not (_NAMED.search(text) and _DATED.search(text) and _PLACE.search(text)):
        return False
    return any(_is_title(part) for part in _PART.split(text))


def _is_title(part: str) -> bool:
    return len([word for word in content_words(tokens(part)) if f" {word}" in part and word.isalpha()]) >= _LEAST_TITLE
