"""Letters in one spelling, blanks in place of parts of a text, the lists of words of `words.txt`, and the identifiers
and addresses in a text.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.identifiers import (
    RecordIds,
    arxiv_doi,
    normalize_doi,
    normalize_pmcid,
    normalize_trial,
    record_ids,
)

Span = tuple[int, int]
WORD = re.compile(r"[^\W\d_]+")
BRACKETED = re.compile(
    r"\[[^\[\]]{0,120}\]|\((?=[^()]{0,120}\b(?:in|see|article|author|transl\w*|abstract|suppl\w*)\b)[^()]{0,120}\)",
    re.IGNORECASE,
)
"""Remarks on a work."""


WORD_LISTS = {name: frozenset(words.split()) for name, words in data_table(__file__, "words.txt").items()}


def blanked(text: str, spans: Iterable[Span]) -> str:
    """A text with blanks in some places; line breaks stay."""
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        if end > at:
            start = max(start, at)
            parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
            at = end
    return "".join((*parts, text[at:]))


_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


def unaccented(text: str) -> str:
    """Small letters of the plain alphabet: "ł" is "l"."""
    return plain_letters(text.casefold().translate(_LETTERS))


def folded(text: str) -> str:
    """Letters in one spelling: "Müller", "Mueller" and "Muller" are the same."""
    return unaccented(text).replace("ae", "a").replace("oe", "o").replace("ue", "u")


def without(pattern: re.Pattern[str], text: str) -> str:
    """A text with blanks for what a pattern finds."""
    return pattern.sub(lambda found: " " * len(found[0]), text)


def without_latex(text: str) -> str:
    """The text with letters for LaTeX's accents, and without its commands; as it is if it has none."""
    if any(mark in text for mark in ("\\", "``", "{")) or ("~" in text and "/" not in text):
        from deepcritical_mcp.search.references.latex_text import latex_as_text

        return latex_as_text(text)
    return text


STATED = re.compile(
    r"""(?P<link>https?://[^\s"'<>\]}|]{1,1000})
    | (?:\b(?:PMIDs?|PubMed(?:\ IDs?)?)(?![^\W\d])[\s:#={"]{0,6}
        |(?<![\w.])(?:www\.)?(?:pubmed(?:\.ncbi\.nlm\.nih\.gov|\.gov)?|ncbi\.nlm\.nih\.gov/pubmed)/)
        0{0,3}(?P<pmids>[1-9][0-9]{0,8}(?![0-9])
        (?:(?:\s\([^()\n]{1,60}\))?(?:\s{0,2}[,;/]\s{0,2}(?:(?:and|or|und|&)\s{1,2})?|\s(?:and|or|und|&)\s)
        (?:PMID:?\s?)?[1-9][0-9]{4,8}(?![0-9])){0,40})
    | \b(?:PMCID\b[\s:]{0,3})?(?P<pmcid>PMC[1-9][0-9]{2,9})(?:\.[0-9]{1,2})?\b
    | \b(?P<nct>NCT[0-9]{8}|ISRCTN[0-9]{5,10})\b
    | (?<!\w)(?:doi(?:\.org/|\b)[\s:]{0,3})?(?P<doi>10\.[0-9]{4,9}(?:\.[0-9]{1,6}){0,3}/[^\s"<>\]}|]{1,300})
    | \b(?P<arxiv>arXiv\ ?:\ ?(?:[a-z.-]{2,20}/[0-9]{7}|[0-9]{4}\.[0-9]{4,5})(?:v[0-9]{1,3})?)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(r"\([^()]{1,60}\)|([1-9][0-9]{0,8})")
"""A number, which is none within brackets: "30000001 (Berg 2019) and 30000002"."""
_NORMALIZED = {"doi": normalize_doi, "nct": normalize_trial, "pmcid": normalize_pmcid}


class StatedId(NamedTuple):
    """An identifier or an address in a text: its ids, if it leads to a paper, a preprint or a trial and not just to
    some site; a key ("pmid:1", "doi:10.1/x", an address); its kind; what is written, and where it stands."""

    ids: RecordIds
    key: str
    kind: str
    written: str
    start: int
    end: int


def stated_ids(text: str) -> Iterator[StatedId]:
    """The identifiers and addresses in a text, in order."""
    for found in STATED.finditer(text):
        kind = str(found.lastgroup)
        if kind == "pmids":
            at, numbers = found.start(kind), [one for one in _NUMBER.finditer(found[kind]) if one[1]]
            for one in numbers:
                start = at + one.start() if one is not numbers[0] else found.start()
                ids, key = RecordIds(pmid=one[1]), f"pmid:{one[1]}"
                yield StatedId(ids, key, "pmid", f"PMID {one[1]}", start, at + one.end())
            continue
        value, address = balanced(found[kind]), ""
        end = found.end() if kind == "pmcid" else found.start(kind) + len(value)
        if kind == "link":
            ids, address = record_ids(value), value.rstrip("/").lower() if "." in value else ""
        elif kind == "arxiv":
            ids = RecordIds(doi=arxiv_doi(value))
        else:
            ids = RecordIds(**{kind: _NORMALIZED[kind](value)})
        key = next((f"{name}:{one.lower()}" for name, one in ids._asdict().items() if one), address)
        yield StatedId(ids, key, kind, value, found.start(), end)


def balanced(address: str) -> str:
    """An identifier without the punctuation of the sentence that it ends."""
    value = address
    while value and (value[-1] in ".,;:'’”*_!?" or (value[-1] == ")" and value.count(")") > value.count("("))):
        value = value[:-1]
    return value
