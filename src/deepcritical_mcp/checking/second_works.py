"""A further work in one entry of a reference list that could not be split off, so that nobody checks it.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from deepcritical_mcp.checking.draft.inline_references import are_forms, stated_ids
from deepcritical_mcp.checking.draft.work_forms import AUTHORS_AGAIN, begins_work
from deepcritical_mcp.evidence.titles import content_words, tokens
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import ReferenceProblem
from deepcritical_mcp.search.record_finder import LABELS
from deepcritical_mcp.search.references import MAX_REFERENCE, Statements, WrittenReference
from deepcritical_mcp.search.references.stated_years import MONTHS
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
_FAMILY = r"[^\W\d_a-zß-öø-ÿ][\w'’‐-]{1,40}"
_OTHERS = rf"(?: et al\.?| and (?:colleagues|others|co-?workers)|(?:, {_FAMILY}){{0,3}},? (?:and|und|y|et|&) {_FAMILY})"
_POINTED_AT = re.compile(
    r"[.;,:(\[)\]–—-]\s{0,3}(?i:(?:(?:but|and|und)\s)?(?:see|cf\.?|compare|contra|also|vgl\.?|siehe|voir|véase|vedi)"
    r"(?:\s(?:also|auch|aussi|también|e\.g\.,?))?:?\s)"
    rf"(?P<work>{_FAMILY}{_OTHERS}?[\s,.:(].{{0,160}})"
)
"""A work that a reference points at: "Cf. Berg and Ruiz, Zinc in burns, 2018."."""
_NAMED_WORK = re.compile(rf"[.;]\s{{1,3}}(?P<work>{_FAMILY}{_OTHERS},\s[^.;]{{0,120}}?\s[a-zß-ÿ]{{4,30}}\b.{{0,100}})")
"""A work by names without initials, with a word of its title: "Berg and Ruiz, Zinc in burns, 2018."."""
_QUOTED_WORK = re.compile(rf"(?:\A|[\s(\[])(?P<work>{_FAMILY}{_OTHERS}?, ?[“„\"][^“”„\"]{{8,200}}[”“\"][^;]{{0,100}})")
"""A work by names and a title in quotation marks, without a year: "Berg, “Zinc in Burns,” Lancet 399."."""
_OTHER_PLACE = re.compile(
    rf"(?P<journal>(?!(?:{MONTHS})\b)[^\W\d_a-z][\w.]{{2,30}})"
    r",?\s(?:(?:1[89]|20)\d\d[a-z]?[;:,]\s?)?(?P<volume>\d{1,4})(?:\s?\([^()]{1,15}\))?"
    r"[:,]\s?(?P<page>[A-Za-z]?\d{1,8})"
)
"""A journal with another place: "NEJM 382:e102"."""
_SECOND_PLACE = re.compile(
    rf"(?P<year>\b{_YEAR}\)?[;:,]?\s{{0,2}})?\b(?P<volume>\d{{1,4}})(?:\s?\([^()]{{1,15}}\))?"
    r"(?P<mark>[:,])\s?(?P<page>[A-Za-z]?\d{1,8})"
)
_PLACE_WITH_BRACKETS = re.compile(
    rf"\b\d{{1,4}}(?:, [A-Za-z]?\d{{1,8}}(?:[–-]\d{{1,8}})? \({_YEAR}\)| \({_YEAR}\),? [A-Za-z]?\d{{1,8}})"
)
_BEFORE_PLACE = re.compile(
    r"[^\w;,.]{0,3}[\d–—‐−-]{0,8}[;,.]?\s{0,3}(?:(?:and|und|&|y|et)\s)?(?:ibid(?:em)?[.,]{0,2}\s)?"
    r"(?:(?:[A-Z][\w-]{0,20}|of|the|and|&)[.,]{0,2}\s){0,7}[(]?\Z"
)
"""What may stand between two places: marks, the end of a range of pages, "and", the name of another journal."""
_OF_THE_WORK = re.compile(
    r"\b(?:errat\w{1,3}|correct\w{1,5}|corrigend\w{1,2}|addend\w{1,2}|comment\w{0,5}|discussion|repl(?:y|ies)|quiz|"
    r"reprint\w{0,3}|e-?pub\w{0,5}|published|online|retract\w{0,5}|update\w{0,2}|suppl\w{0,8}|appendix|preprints?|"
    r"available|accessed|retrieved|presented|abstracts?|translat\w{1,5}|summary|editorial|response|letters?|tables?|"
    r"fig\w{0,5}|chapter|section|pages?|proceedings|meeting|conference|in:|eds?|editors?|pii|quoted|cited)\b",
    re.IGNORECASE,
)
"""What is said of the one work, or what belongs to it."""
_FIRST_PAGE = re.compile(r"[A-Za-z]{0,5}\d{1,8}")
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
    found = _second_work(reference, says)
    if found and not any(one in found for one in apart):
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
    after = AUTHORS_AGAIN.sub(". ", after)
    behind = _behind_place(after, says.pages)
    if found := next((side.strip(" .,;") for side in (behind, before) if _is_work(side)), ""):
        return found
    # The names may stand behind the title.
    return (
        _begun(after if _LETTERS.search(before) else behind)
        or _mentioned(after, behind)
        or _placed(behind, says)
        or _elsewhere(behind, says)
    )


def _mentioned(after: str, behind: str) -> str:
    """A work that is named in a few words behind the first one."""
    for pattern, text in ((_POINTED_AT, after), (_NAMED_WORK, f". {behind.lstrip(' .;')}")):
        for found in pattern.finditer(text):
            if _DATED.search(found["work"]) and not _OF_THE_WORK.search(found["work"]):
                return found["work"].strip(" .,;)]")
    return ""


def _placed(behind: str, says: Statements) -> str:
    """The place of a second work whose names and title are not written: "2019;50:2522; 2018;49:1122"."""
    first = _FIRST_PAGE.match(says.pages)
    for found in _SECOND_PLACE.finditer(behind):
        is_place = found["year"] or found["mark"] == ":"
        is_first = bool(first) and (found["volume"], found["page"]) == (says.volume, first[0])
        before = behind[: found.start()]
        if is_place and not is_first and _BEFORE_PLACE.match(before) and not _OF_THE_WORK.search(behind):
            return behind.strip(" .,;")
    found = _PLACE_WITH_BRACKETS.search(behind)
    is_next = found is not None and _BEFORE_PLACE.match(behind[: found.start()]) and not _OF_THE_WORK.search(behind)
    return behind.strip(" .,;") if is_next else ""


def _elsewhere(behind: str, says: Statements) -> str:
    """A work that is named with its journal and place, or with its title, somewhere behind the first one."""
    if found := _QUOTED_WORK.search(behind):
        return "" if _OF_THE_WORK.search(behind[: found.end()]) else found["work"].strip(" .,;)]")
    first = _FIRST_PAGE.match(says.pages)
    for found in _OTHER_PLACE.finditer(behind):
        is_first = found["volume"] == says.volume and bool(first) and found["page"] == first[0]
        is_dated = _DATED.search(behind[: found.end()]) is not None
        if is_dated and not is_first and not _OF_THE_WORK.search(behind):
            return behind.strip(" .,;)]([")
    return ""


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
