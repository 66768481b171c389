"""A further work in one entry of a reference list that could not be split off, so that nobody checks it.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from deepcritical_mcp.checking.draft.inline_references import are_forms, stated_ids
from deepcritical_mcp.checking.draft.work_forms import begins_work
from deepcritical_mcp.evidence.titles import content_words, tokens
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import ReferenceProblem
from deepcritical_mcp.search.record_finder import LABELS
from deepcritical_mcp.search.references import MAX_REFERENCE, Statements, WrittenReference
from deepcritical_mcp.text import clipped

WAS_NOT_CHECKED = "A further work seems to stand in this entry. It was not checked: give it an entry of its own."
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
_BEGINS = re.compile(r"(?<=\S)\s{1,3}(?=[^\W\d_]|[\"“„«\[])")
_OF_THE_SAME = re.compile(r"\b(?:in|by|from|on|of|to|with|eds?|editors?)[.:]?\Z", re.IGNORECASE)
"""What stands before the names of editors, or of who comments on the work."""
_FIELD = "work"
"""Of a problem that is no statement of the reference, see `ReferenceProblem.is_further_work`."""
_SHOWN = 240
"""Characters of a further work that are shown."""
_BARE_PMID = re.compile(r"[.;)\]] {1,3}[(\[]?([1-9][0-9]{7})[)\].]{0,2}\Z")
"""A number at the end that can only be a PMID."""
_LETTERS = re.compile(r"[^\W\d_]{2}")
_KINDS = ("pmid", "doi")


def further_works(
    written: str, reference: WrittenReference, says: Statements, pmid: str = "", apart: Collection[str] = ()
) -> Iterator[ReferenceProblem]:
    """What stands in a reference besides the work with the title and place of `says` and with `pmid`, and was not
    checked: a work with names and a title or place, and numbers of other records, but for those that are checked
    `apart`."""
    if found := _second_work(reference, says):
        yield ReferenceProblem(field=_FIELD, written=clipped(found, _SHOWN))
    bare = None if reference.is_labelled else _BARE_PMID.search(reference.text)
    if bare and bare[1] != pmid:
        yield ReferenceProblem(field=_FIELD, written=bare[1])
    for kind in _KINDS[:1] if reference.is_labelled else _KINDS:
        for value in _numbers_besides(written, reference.ids, kind, apart):
            # The abstract of an entry of a reference manager may name other records.
            yield ReferenceProblem(field=_FIELD, written=f"{LABELS[kind]} {value}", minor=reference.is_labelled)


def _second_work(reference: WrittenReference, says: Statements) -> str:
    """A second work has names, a title, a year and a place, so that notes and comments are none; behind the place of
    the first, names with initials and a title or a place will do."""
    if reference.is_labelled:
        return ""
    start = reference.text.find(says.title) if says.title else -1
    before, after = (
        (reference.text[:start], reference.text[start + len(says.title) :]) if start >= 0 else ("", reference.text)
    )
    behind = _behind_place(after, says.pages)
    if found := next((side.strip(" .,;") for side in (behind, before) if _is_work(side)), ""):
        return found
    return _begun(after if _LETTERS.search(before) else behind)  # the names may stand behind the title


def _begun(text: str) -> str:
    """The part of a text that begins like a work."""
    for found in _BEGINS.finditer(f". {text}"):
        at = max(0, found.end() - 2)
        if (
            not text[at : at + 1].islower()
            and not _OF_THE_SAME.search(text[:at].rstrip())
            and begins_work(text[at:], is_dated=False)
        ):
            return text[at:].strip(" .,;")
    return ""


def _numbers_besides(written: str, own: RecordIds, kind: str, apart: Collection[str]) -> Iterator[str]:
    """The PMIDs or DOIs in a reference besides its own one, and besides other forms of it: "10.1000/1/full"."""
    known = [f"{kind}:{getattr(own, kind).lower()}", *apart] if getattr(own, kind) else []
    for one in stated_ids(written[:MAX_REFERENCE]) if known else ():
        if one.key.startswith(f"{kind}:") and not any(are_forms(one.key, key) for key in known):
            yield one.key.removeprefix(f"{kind}:")
            known.append(one.key)


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
