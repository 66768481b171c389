"""The parts of a reference that no field of a record explains: whether they go on with its title, name another journal,
or are a work of their own.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from deepcritical_mcp.evidence.titles import content_words, is_notice, tokens
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references.guesses import sentences_back
from deepcritical_mcp.search.references.number_places import YEAR, numbers_of
from deepcritical_mcp.search.references.people_places import ET_AL, has_author
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.word_lists import listed_words

LEAST_WORDS = 3
"""Content words that look like a title."""
_ADDED_WORDS = 3
"""Content words that a title may have besides the record's: "a randomised trial", "results of a cohort study"."""
_MOST_SMALL = 4
"""Words in small letters of a journal's name."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_LETTERS = re.compile(r"[^\W\d_]+")
_STOP = re.compile(r"[.:?!“”„«»\"‘(\[*|/]|\d|\s[–—-]\s")
_SENTENCE_END = re.compile(r"[.?!](?:\s|\Z)|[“”\"]")
_SAME_SENTENCE = re.compile(r"\s?[\w:–—-]|\s[^.?!”\"’*_,;)\](“]")
_BRACKETS = re.compile(
    r"\[[^\[\]]{0,120}\]|\((?=[^()]{0,120}\b(?:in|see|article|author|transl\w*|abstract|suppl\w*)\b)[^()]{0,120}\)",
    re.IGNORECASE,
)
_BRACKETED_YEAR = re.compile(r"\(?\b(?:1[5-9]|20)\d\d[a-z]?\b\)?")
_FAMILY = r"[^\W\d_a-zß-öø-ÿ][\w'’‐-]{1,40}"
_NAMED = re.compile(
    rf"{_FAMILY} [A-Z]{{1,3}}[,.]|{_FAMILY}, [A-Z]\.|\b[A-Z]\. {_FAMILY}|"
    rf"{_FAMILY} (?:et al\b|(?:and|und|y|et|&) {_FAMILY}, )"
)
_NAMES_END = re.compile(rf"{_FAMILY} [A-Z]{{1,3}}\.?\s")
_VOLUME_AND_PAGE = r"\b\d{1,4}(?:\s?\([^()]{1,15}\))?[:,]\s?[A-Za-z]?\d{1,8}"
_OTHER_PLACE = re.compile(
    rf"\b(?:19|20)\d\d\b.{{0,30}}?{_VOLUME_AND_PAGE}|{_VOLUME_AND_PAGE}.{{0,40}}?\b(?:19|20)\d\d\b|"
    r"\b\d{1,4}\(\d{1,4}\):\d{1,8}"
)


def content_left(text: str, known: Collection[str]) -> list[str]:
    """The content words of a text that are neither known nor connectives."""
    return [
        word for word in content_words(tokens(text)) if word not in known and word not in listed_words("connectives")
    ]


def start_of_longer_title(text: str, start: int, record: Publication) -> int:
    """Where a title begins that has words before the record's, which begins at `start`: "No effect of zinc", and what
    makes it another document: "Correction: Effect of zinc"."""
    before = text[:start]
    low = max((one.end() for pattern in (_STOP, ET_AL) for one in pattern.finditer(before)), default=0)
    lead = before[low:]
    words = _WORD.findall(lead)
    is_open = text[start : start + 1].islower() or any(map(str.islower, words))
    if words and is_open and "," not in lead.rstrip(" ,") and not has_author(lead, record.authors):
        return low + len(lead) - len(lead.lstrip())
    sentence = max(
        (before.rfind(mark) + len(mark) for mark in (". ", "? ", "“", '"', ") ") if mark in before), default=0
    )
    notice = before[sentence:].strip()
    is_other = notice.endswith(":") and is_notice(tokens(notice)) and not is_notice(tokens(record.title))
    return sentence if is_other else start


def end_of_longer_title(text: str, end: int, stop: int, record: Publication) -> int:
    """Where a title ends that goes on behind the record's, which ends at `end`, as another subtitle does; `stop` is
    where the next field begins."""
    if not record.pmid:  # Crossref keeps subtitles elsewhere
        return end
    rest = _BRACKETS.sub(lambda found: " " * len(found[0]), text[end:stop])
    known = {*tokens(f"{record.title} {record.vernacular_title} {' '.join(map(str, record.authors))}")}
    goes_on = _SAME_SENTENCE.match(rest) is not None
    reach, at = end, 0
    for found in (*_SENTENCE_END.finditer(rest), None):
        part = rest[at : found.start() if found else len(rest)]
        left = content_left(part, known)
        small = [word for word in left if f" {word}" in f" {part}" and not word.isdigit()]
        if at == 0 and goes_on and not part.lstrip().startswith((":", "-", "–", "—")):
            is_title = bool(left) and any(map(str.islower, _WORD.findall(part)))
        else:
            is_title = len(left if at == 0 and goes_on else small) > _ADDED_WORDS
        if is_title:
            reach = end + at + len(part.rstrip())
        at = found.end() if found else at
    return reach


def other_journal(text: str, parts: Iterator[Span], record: Publication) -> Span | None:
    """What stands where the journal should, if that can be one's name: the last sentence of the first part that has
    one."""
    for start, end in parts:
        part = _BRACKETS.sub(lambda found: " " * len(found[0]), text[start:end])
        part = _BRACKETED_YEAR.sub(lambda found: " " * len(found[0]), part)
        for first, last in sentences_back(part):
            names = [one.end() for one in _NAMES_END.finditer(part, first, last) if has_author(one[0], record.authors)]
            first = max((one for one in names if one < last), default=first)
            words = _LETTERS.findall(part[first:last])
            has_capitals = any(word != word.lower() for word in words)
            is_name = has_capitals and sum(map(str.islower, words)) <= _MOST_SMALL
            is_person = len(words) < LEAST_WORDS and has_author(part[first:last], record.authors)
            if is_name and not is_person and any(word.lower() not in listed_words("connectives") for word in words):
                return start + first, start + last
    return None


def further_work(behind: str, own: Collection[str]) -> str:
    """A work in what stands behind everything that a record explains: a place other than its `own` numbers, or names
    with words of a title or a year; "" if there is none."""
    words = {word.lower().replace("-", "") for word in re.findall(r"[^\W\d_](?:-?[^\W\d_])*", behind)}
    if not words.isdisjoint(listed_words("of the work")) or (
        numbers_of(behind) <= {*own} and not _NAMED.search(behind)
    ):
        return ""
    words = [word for word in content_left(behind, ()) if f" {word}" in behind and word.isalpha()]
    is_told = len(words) >= LEAST_WORDS or (bool(words) and YEAR.search(behind) is not None)
    is_work = _OTHER_PLACE.search(behind) or (is_told and _NAMED.search(behind))
    return behind.strip(" .,;)/–|[") if is_work else ""
