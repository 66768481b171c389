"""A reference as it is written: its words, its numbers, and the identifiers that stand in it.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from deepcritical_mcp.evidence.titles import content_words, tokens
from deepcritical_mcp.identifiers import RecordIds, arxiv_doi, normalize_doi, normalize_trial, record_ids
from deepcritical_mcp.search.references.guesses import Statements, guessed
from deepcritical_mcp.search.references.labelled import LabelledEntry, read_entry
from deepcritical_mcp.search.references.latex import plain_latex
from deepcritical_mcp.search.references.plain_text import PlainText, Span
from deepcritical_mcp.spelling import GREEK_NAMES
from deepcritical_mcp.text import clean_line, clean_text

MAX_REFERENCE = 12_000
"""Characters of a reference that are read; of an entry of BibTeX, RIS or CSL-JSON, which may have an abstract, all."""
_LEAST_TITLE = 3
"""Content words of what can be a title."""
LINK = re.compile(r"https?://[^\s\"'<>\]}|]{1,1000}")
PMID = re.compile(
    r"(?:\b(?:PMIDs?|PubMed(?: ID)?)(?![^\W\d])[\s:#={\"]{0,6}|"
    r"(?<![\w.])(?:www\.)?(?:pubmed(?:\.ncbi\.nlm\.nih\.gov|\.gov)?|ncbi\.nlm\.nih\.gov/pubmed)/)"
    r"0{0,3}([1-9][0-9]{0,8})\b(?:\s?[,;/]\s?[1-9][0-9]{6,7}\b){0,40}",
    re.IGNORECASE,
)
_NOTED_PMID = re.compile(r"[-*• ]{0,4}([1-9][0-9]{7})(?: \(([^()]{1,60})\)| ?[–—:-] ([^\d()]{1,60}))\.?")
"""A bare number with a note: "30000001 (zinc)"."""
BARE_PMID = re.compile(r"[.;)\]]\s{1,3}[(\[]?([1-9][0-9]{6,7})[)\].\s]{0,4}\Z")
"""A number at the end that can only be a PMID."""
PMCID = re.compile(r"\b(?:PMCID\b[\s:]{0,3})?(PMC[1-9][0-9]{2,9})(?:\.[0-9]{1,2})?\b", re.IGNORECASE)
TRIAL = re.compile(r"\b(NCT[0-9]{8}|ISRCTN[0-9]{5,10})\b", re.IGNORECASE)
DOI = re.compile(
    r"(?:\bdoi(?:\.org/|\b)[\s:]{0,3})?(10\.[0-9]{4,9}(?:\.[0-9]{1,6}){0,3}/[^\s\"<>\]}|]{1,300})", re.IGNORECASE
)
_ARXIV_NUMBER = re.compile(
    r"\barXiv ?: ?(?:[a-z.-]{2,20}/[0-9]{7}|[0-9]{4}\.[0-9]{4,5})(?:v[0-9]{1,3})?\b", re.IGNORECASE
)
_ID_FORMS = (("link", LINK), ("doi", DOI), ("pmcid", PMCID), ("pmid", PMID), ("nct", TRIAL))
_MARKUP = re.compile(
    r"(?<!\w)\*{1,3}|\*{1,3}(?!\w)|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)|\\(?=\W)|</?(?:i|b|em|sub|sup|strong)>|"
    r"[™®©℠]|(?<=\w)\((?:R|TM)\)|\s?\[(?:[JMCDRSPNZ]|[JMCDRN]/OL|EB/OL|DB/OL|OL)\]|"
    r"\s?[(\[](?i:retracted|withdrawn)(?: (?i:article))?[)\]]"
)
"""With the mark of Chinese references for a kind of work: "[J]" is an article in a journal."""
_ARROW = re.compile(r"<?[-–=]{1,3}>")
_WORD = re.compile(r"[^\W_]+|[<>≤≥&]")
_GREEK = re.compile(f"({'|'.join(name for name in GREEK_NAMES.values() if len(name) > 3)})")


class Word(NamedTuple):
    """A word of a text in one spelling, as `titles.tokens`, and where it stands."""

    token: str
    start: int
    end: int


@dataclass(frozen=True)
class WrittenReference:
    """A reference as it is written.

    Attributes:
        plain: on one line, without markup and identifiers.
        ids: the identifiers that stand in it; the first of each kind counts.
        says: what it says, as far as that can be told without a record.
        entry: the fields of an entry of BibTeX, RIS or CSL-JSON; None of any other reference.
        bare_pmid: a number at its end that may be a PMID, although nothing says so.
    """

    plain: PlainText
    ids: RecordIds
    says: Statements
    entry: LabelledEntry | None = None
    bare_pmid: str = ""

    @property
    def text(self) -> str:
        """What is written, without markup and identifiers."""
        return self.plain.text

    @property
    def is_labelled(self) -> bool:
        """Whether its parts are labelled."""
        return self.entry is not None

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Those of `text`."""
        text = _ARROW.sub(lambda found: " " * len(found[0]), self.text)
        return tuple(
            Word(token, found.start(), found.end()) for found in _WORD.finditer(text) for token in title_words(found[0])
        )

    @property
    def has_title(self) -> bool:
        """Whether it says more than identifiers, names and places."""
        return len(content_words(tokens(self.says.title))) >= (1 if self.is_labelled else _LEAST_TITLE)

    @property
    def says_more(self) -> bool:
        """Whether it says anything besides identifiers that a record can be compared with."""
        return self.has_title or bool(self.says.volume and self.says.pages) or bool(self.says.authors)

    def __hash__(self) -> int:
        return hash((self.text, self.ids, self.says))


def read_reference(written: str) -> WrittenReference:
    """The reference in a text of any style; of a long one, the first 12,000 characters."""
    raw = clean_text(written)
    if entry := read_entry(raw):
        bare, ids = _without_ids(PlainText.of(clean_line(raw[:MAX_REFERENCE])))
        known = RecordIds(*(one or other for one, other in zip(entry.ids, ids, strict=True)))
        return WrittenReference(bare, known, entry.says, entry)
    line = clean_line(raw[: MAX_REFERENCE + 1])
    line = line if len(line) <= MAX_REFERENCE else line[:MAX_REFERENCE].rpartition(" ")[0]
    bare, ids = _without_ids(plain_latex(PlainText.of(line)))
    plain, number = bare.sub(_MARKUP, ""), BARE_PMID.search(bare.text)
    plain = plain.sub(BARE_PMID, ".") if number else plain
    return WrittenReference(plain, ids, guessed(plain.text), bare_pmid=number[1] if number else "")


def title_words(text: str) -> tuple[str, ...]:
    """The words of a title as `tokens`, with the names of Greek letters apart: PPARalpha is PPARα."""
    return tuple(part for token in tokens(_ARROW.sub(" ", text)) for part in _GREEK.split(token) if part)


def _without_ids(text: PlainText) -> tuple[PlainText, RecordIds]:
    """The text without identifiers and addresses, and these; the first of each kind counts."""
    found = RecordIds()

    def note(ids: RecordIds) -> None:
        nonlocal found
        found = RecordIds(*(old or new for old, new in zip(found, ids, strict=True)))

    def take(kind: str, match: re.Match[str]) -> str:
        value, rest = balanced(match[1] if match.re.groups else match[0])
        if kind == "link":
            note(record_ids(value))
        elif kind == "doi":
            note(RecordIds(doi=normalize_doi(value)))
        elif kind == "arxiv":
            note(RecordIds(doi=arxiv_doi(value)))
        else:
            note(RecordIds(**{kind: normalize_trial(value) if kind == "nct" else value.upper()}))
        return f" {rest} "

    for kind, pattern in _ID_FORMS:
        text = text.sub(pattern, lambda match, kind=kind: take(kind, match))
    if not any(found):  # an article may have both, and its own numbers count
        text = text.sub(_ARXIV_NUMBER, lambda match: take("arxiv", match))
    bare = text.text.strip(" .:#\"'[],")
    if bare.isdigit() and not any(found):
        return text.part(0, 0), RecordIds(pmid=bare.lstrip("0")[:9])
    if not any(found) and (noted := _NOTED_PMID.fullmatch(text.text)):
        group = 2 if noted[2] else 3
        kept: Span = noted.span(group)
        return text.part(*kept), RecordIds(pmid=noted[1])
    return text, found


def balanced(address: str) -> tuple[str, str]:
    """An identifier without the punctuation of the sentence that it ends, and that punctuation."""
    value = address
    while value and (value[-1] in ".,;:'’”*_" or (value[-1] == ")" and value.count(")") > value.count("("))):
        value = value[:-1]
    return value, address[len(value) :]
