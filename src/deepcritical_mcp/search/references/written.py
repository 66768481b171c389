"""A reference as it is written: its identifiers, and what else it says.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from deepcritical_mcp.evidence.titles import content_words, tokens
from deepcritical_mcp.identifiers import RecordIds, arxiv_doi, normalize_doi, normalize_trial, record_ids
from deepcritical_mcp.search.references.labelled import labelled_ids, read_labelled
from deepcritical_mcp.search.references.latex import without_latex
from deepcritical_mcp.search.references.statements import ET_AL, Statements, journal_before_place, statements_around
from deepcritical_mcp.search.references.untitled import start_of_journal
from deepcritical_mcp.spelling import GREEK_NAMES
from deepcritical_mcp.text import clean_line, normalized

MAX_REFERENCE = 4_000
"""Characters of a reference that are read."""
_LEAST_TITLE = 3
"""Content words of what can be a title."""
_LINK = re.compile(r"https?://[^\s\"'<>\]}|]{1,1000}")
_PMID = re.compile(
    r"(?:\b(?:PMIDs?|PubMed(?: ID)?)\b[\s:#={\"]{0,6}|"
    r"(?<![\w/.])(?:www\.)?(?:pubmed(?:\.ncbi\.nlm\.nih\.gov|\.gov)?|ncbi\.nlm\.nih\.gov/pubmed)/)"
    r"0{0,3}([1-9][0-9]{0,8})\b",
    re.IGNORECASE,
)
_NOTED_PMID = re.compile(r"[-*• ]{0,4}([1-9][0-9]{7})(?: \(([^()]{1,60})\)| ?[–—:-] ([^\d()]{1,60}))\.?")
"""A bare number with a note: "30000001 (zinc)"."""
_PMCID = re.compile(r"\b(?:PMCID\b[\s:]{0,3})?(PMC[1-9][0-9]{2,9})(?:\.[0-9]{1,2})?\b", re.IGNORECASE)
_TRIAL = re.compile(r"\b(NCT[0-9]{8}|ISRCTN[0-9]{5,10})\b", re.IGNORECASE)
_DOI = re.compile(
    r"(?:\bdoi(?:\.org/|\b)[\s:]{0,3})?(10\.[0-9]{4,9}(?:\.[0-9]{1,6}){0,3}/[^\s\"<>\]}|]{1,300})", re.IGNORECASE
)
_ARXIV_NUMBER = re.compile(
    r"\barXiv ?: ?(?:[a-z.-]{2,20}/[0-9]{7}|[0-9]{4}\.[0-9]{4,5})(?:v[0-9]{1,3})?\b", re.IGNORECASE
)
_QUOTED = re.compile(r"[“„«\"]([^“”„«»\"]{8,600})[”“»\"]")
_LINK_TEXT = re.compile(r"\[([^\[\]]{8,600})\]\((?=https?:)")
_WORD = re.compile(r"[^\W_]+|[<>≤≥&]")
_ARROW = re.compile(r"<?[-–=]{1,3}>")
_GREEK = re.compile(f"({'|'.join(name for name in GREEK_NAMES.values() if len(name) > 3)})")
_MARKUP = re.compile(
    r"(?<!\w)\*{1,3}|\*{1,3}(?!\w)|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)|\\(?=\W)|</?(?:i|b|em|sub|sup)>"
)
_BREAK = re.compile(
    r"(?<=[.?!])[”\"]?\s{1,3}|(?<=[A-Z]\.)(?=[A-Z][a-z])|:\s|(?:(?<=[0-9]{4}\))|(?<=[0-9][a-z]\)))[.,:]?\s|[”“\"]"
    r"|\s[–—|]\s"
)
_LEGAL_MARKS = re.compile(r"[™®©℠]|(?<=\w)\((?:R|TM)\)")
_KIND_OF_WORK = re.compile(r"\s?\[(?:[JMCDRSPNZ]|[JMCDRN]/OL|EB/OL|DB/OL|OL)\]")
"""Of Chinese references: "[J]" is an article in a journal."""
_NOT_IN_TITLES = re.compile(r"\bet\.? al\b|\b(?:19|20)[0-9]{2}[a-z]?\b|;")
_ABBREVIATED = re.compile(r"[^\W\d_]{1,15}\.?")
_LEAST_SCORE = 1.5
_LONG_WORD = re.compile(r"[^\W\d_]{4,20}")
_MOST_WORDS = 3
"""Long words that do not stand between a journal and its volume: two may be the names of months."""
_NUMBER_NEXT = re.compile(r"[\s.,;:(]{0,6}(?:[0-9]{1,4}\b|[A-Z][a-z]{2}[a-z]{0,6} [0-9]{1,2}\b)")


class Word(NamedTuple):
    """A word of a text in one spelling, as `titles.tokens`, and where it stands."""

    token: str
    start: int
    end: int


@dataclass(frozen=True)
class WrittenReference:
    """A reference as it is written.

    Attributes:
        text: on one line, without markup and identifiers.
        ids: the identifiers that stand in it.
        says: what else it says. Unless `is_labelled`, where the title begins and ends is a guess.
        words: those of `text`.
    """

    text: str
    ids: RecordIds
    says: Statements
    is_labelled: bool
    words: tuple[Word, ...]

    @property
    def has_title(self) -> bool:
        """Whether it says more than identifiers, names and places."""
        return len(content_words(tokens(self.says.title))) >= (1 if self.is_labelled else _LEAST_TITLE)

    @property
    def journal_before_place(self) -> str:
        """The journal as what stands right before year and volume."""
        return journal_before_place(self.text, self.says.volume, self.says.pages)

    @property
    def says_more(self) -> bool:
        """Whether it says anything besides identifiers that a record can be compared with."""
        return self.has_title or bool(self.says.volume and self.says.pages) or bool(self.says.authors)


def read_reference(written: str) -> WrittenReference:
    """The reference in a text of any style; of a long one, the first 4,000 characters."""
    raw = normalized("NFKC", _LEGAL_MARKS.sub("", written[:MAX_REFERENCE].strip()))
    labelled = read_labelled(raw)
    plain = clean_line(raw if labelled else _KIND_OF_WORK.sub("", without_latex(raw)))
    linked = _LINK_TEXT.search(plain)
    bare, ids = _without_ids(plain)
    text = clean_line(_MARKUP.sub("", bare))
    if labelled:
        own = labelled_ids(raw)
        known = RecordIds(*(one or other for one, other in zip(own, ids, strict=True)))
        return WrittenReference(text, known, labelled, True, _words(text))
    start, end = _title_span(text, clean_line(_MARKUP.sub("", linked[1])) if linked else "")
    return WrittenReference(text, ids, statements_around(text, start, end), False, _words(text))


def title_words(text: str) -> tuple[str, ...]:
    """The words of a title as `tokens`, with the names of Greek letters apart: PPARalpha is PPARα."""
    return tuple(part for token in tokens(_ARROW.sub(" ", text)) for part in _GREEK.split(token) if part)


def _words(text: str) -> tuple[Word, ...]:
    text = _ARROW.sub(lambda found: " " * len(found[0]), text)
    return tuple(
        Word(token, found.start(), found.end()) for found in _WORD.finditer(text) for token in title_words(found[0])
    )


def _without_ids(text: str) -> tuple[str, RecordIds]:
    """The text without identifiers and addresses, and these; the first of each kind counts."""
    found = RecordIds()

    def note(ids: RecordIds) -> None:
        nonlocal found
        found = RecordIds(*(old or new for old, new in zip(found, ids, strict=True)))

    def take(kind: str, match: re.Match[str]) -> str:
        value, rest = _balanced(match[1] if match.re.groups else match[0])
        if kind == "link":
            note(record_ids(value))
        elif kind == "doi":
            note(RecordIds(doi=normalize_doi(value)))
        elif kind == "arxiv":
            note(RecordIds(doi=arxiv_doi(value)))
        else:
            note(RecordIds(**{kind: normalize_trial(value) if kind == "nct" else value.upper()}))
        return f" {rest} "

    patterns = (("link", _LINK), ("doi", _DOI), ("pmcid", _PMCID), ("pmid", _PMID), ("nct", _TRIAL))
    for kind, pattern in patterns:
        text = pattern.sub(lambda match, kind=kind: take(kind, match), text)
    if not any(found):  # an article may have both, and its own numbers count
        text = _ARXIV_NUMBER.sub(lambda match: take("arxiv", match), text)
    if text.strip(" .:#").isdigit() and not any(found):
        note(RecordIds(pmid=text.strip(" .:#").lstrip("0")[:9]))
    elif not any(found) and (noted := _NOTED_PMID.fullmatch(text)):
        note(RecordIds(pmid=noted[1]))
        text = noted[2] or noted[3]
    return text, found


def _balanced(address: str) -> tuple[str, str]:
    """An identifier without the punctuation of the sentence that it ends, and that punctuation."""
    value = address
    while value and (value[-1] in ".,;:'’”*_" or (value[-1] == ")" and value.count(")") > value.count("("))):
        value = value[:-1]
    return value, address[len(value) :]


def _title_span(text: str, linked: str) -> tuple[int, int]:
    """Where the title stands as far as one can tell without a record; (n, n) behind the names if there is none."""
    if (found := _QUOTED.search(text)) and len(found[1].split()) >= _LEAST_TITLE:
        return found.span(1)
    if not linked and (start := start_of_journal(text)) >= 0:
        return start, start
    low, high = (text.find(linked), text.find(linked) + len(linked)) if linked in text and linked else (0, len(text))
    segments, at, journal_at = list[tuple[int, int]](), low, -1
    for end, following in [*((one.start(), one.end()) for one in _BREAK.finditer(text, low, high)), (high, high)]:
        is_journal = _NUMBER_NEXT.match(text, end) and _is_place(text[end : end + 60])
        journal_at = at if is_journal and journal_at < 0 else journal_at
        segments.append((at, at if is_journal else end))
        at = following
    scores = [_score(text[slice(*one)]) for one in segments]
    best = max(range(len(segments)), key=scores.__getitem__)
    if scores[best] < _LEAST_SCORE:
        before = [one for one in segments if one[0] < journal_at]
        while before and _ABBREVIATED.fullmatch(text[slice(*before[-1])]):
            journal_at = before.pop()[0]
        return max(journal_at, low), max(journal_at, low)
    first = last = best
    while first and _is_one_title(text, segments[first - 1], segments[first], scores[first - 1]):
        first -= 1
    while last + 1 < len(segments) and _is_one_title(text, segments[last], segments[last + 1], scores[last + 1]):
        last += 1
    start, end = segments[first][0], segments[last][1]
    if (others := ET_AL.search(text, start, end)) and len(text[others.end() : end].split()) >= _LEAST_TITLE:
        start = others.end() + len(text[others.end() : end]) - len(text[others.end() : end].lstrip(" .,:;*"))
    return start, end


def _is_one_title(text: str, one: tuple[int, int], following: tuple[int, int], score: float) -> bool:
    """Whether two parts are a title and its subtitle; `score` is that of the part in question."""
    between, both = text[one[1] : following[0]], f"{text[slice(*one)]} {text[slice(*following)]}"
    return between == ": " and score >= 1 and not _NOT_IN_TITLES.search(both)


def _score(segment: str) -> float:
    """How much a part of a reference looks like a title: many words in small letters, no initials."""
    words = re.findall(r"[^\W\d_]{2,}", segment)
    initials = sum(word.isupper() and len(word) <= 3 for word in re.findall(r"[^\W\d_]+", segment))
    small = sum(word[0].islower() for word in words)
    return small + 0.5 * (len(words) - small) - 1.5 * initials


def _is_place(text: str) -> bool:
    """Whether a text begins with a year or volume and pages, as what follows a journal's name does."""
    said = statements_around(text, 0, 0)
    if not (said.volume and (said.year or said.pages or said.issue)):
        return False
    return len(_LONG_WORD.findall(text[: text.find(said.volume)])) < _MOST_WORDS  # "2. Ester hydrolases. Br J Derm 93"
