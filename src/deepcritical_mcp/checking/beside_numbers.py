"""What stands right beside a number and is no reference: a note in one's own words, "PMID 30000001 – Müller, zinc", or
a citation in passing, "(Berg et al., 2019; PMID 1)" or "[Title](https://…)"; against the record of the number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from deepcritical_mcp.checking.reference_meaning import CandidateRecord
from deepcritical_mcp.evidence.titles import content_words, is_translation, tokens
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.search.references import WrittenReference
from deepcritical_mcp.search.references.number_places import MONTHS
from deepcritical_mcp.search.references.word_lists import listed_words

_LONGEST = 8
"""Words of a note; a reference with a title is longer."""
_STEM = 5
_OF_PAPERS = frozenset("al article clinical cohort et letter meta analysis paper review rct study trial".split())
"""Words for any paper."""
_NAME = r"[^\W\d_a-z][\w'’-]{2,40}"
_OTHERS = rf",? et al\b\.?|,? (?:and|&) (?:colleagues|co-?workers|others|{_NAME})"
_CITED = re.compile(
    rf"(?P<alone>\A[\W\d]{{0,8}})?(?P<name>{_NAME})(?P<others>{_OTHERS})?,? \(?(?:1[5-9]|20)\d\d[a-z]?[\W_]{{0,8}}\Z"
)
"""Names and a year at the end of what is written beside a number."""
_LINK = re.compile(r"\[([^\[\]]{1,600})\]\(")
_LEAST_WORDS = 6
_SHARED = 0.25
"""Of the words of a link's text, how many its record has at most if the text is the title of another paper."""


def is_note(reference: WrittenReference, record: Publication) -> bool:
    """Whether what stands beside a number is a note on `record` and no reference: no place, and every word of it, but
    for words for any paper, is one of the record's; abbreviations of its title count. The abstract's words count beside
    the first author."""
    if (reference.is_labelled and reference.has_title) or reference.says.volume or reference.says.pages:
        return False
    words = [word for word in content_words(tokens(reference.text)) if len(word) > 1 and word not in _OF_PAPERS]
    is_theirs = bool(record.authors) and {*tokens(record.authors[0].family)} <= {*words}
    known, titles = _words_of(record, has_texts=is_theirs), tokens(record.title)
    short = {part for word in reference.text.split() if word.strip("().,:;").isupper() for part in tokens(word)}
    return 0 < len(words) <= _LONGEST and all(
        _is_known(word, known) or (word in short and _abbreviates(word, titles)) for word in words
    )


def is_cited_alone(text: str) -> bool:
    """Whether it says nothing but one or two names and a year: "Berg 2019"."""
    found = _CITED.search(text)
    if not found or found["alone"] is None:
        return False
    return found["name"].lower() not in listed_words("connectives") | MONTHS


def is_other_work(written: str, text: str, candidates: Sequence[CandidateRecord]) -> bool:
    """Whether the authors and the year, or the title that a link has as its text, are those of another work than all
    the records; `text` is what is written without numbers.

    Authors count without the year if they stand alone, with "et al." or in pairs right beside the number, unless the
    record's are groups only: the name may be of one of their members. A title counts if the record has almost none of
    its words, so that the text of a link that says something of the record is none.
    """
    link, cited = _LINK.match(written), _CITED.search(text)
    if link and len(words := content_words(tokens(link[1]))) >= _LEAST_WORDS:
        return not any(_may_mean(link[1], words, one.record) for one in candidates)
    is_cited = bool(cited and cited["others"]) or is_cited_alone(text)
    return all(
        one.agreement.verdict("authors") == "differs"
        and (one.agreement.verdict("year") == "differs" or (is_cited and any(who.given for who in one.record.authors)))
        for one in candidates
    )


def is_of_other_year(text: str, candidate: CandidateRecord) -> bool:
    """Whether the authors right beside a number are the record's, and the year is not."""
    says = candidate.agreement
    return says.says("authors") and says.verdict("year") == "differs" and _CITED.search(text) is not None


def _may_mean(label: str, words: Sequence[str], record: Publication) -> bool:
    """Whether the text of a link has words of a record, or is in another language."""
    known = _words_of(record, has_texts=True)
    is_near = sum(word in known for word in words) >= _SHARED * len(words)
    return is_near or any(is_translation(label, text) for text in (record.title, record.vernacular_title) if text)


def _words_of(record: Publication, *, has_texts: bool) -> frozenset[str]:
    said = (record.title, record.vernacular_title, record.journal, *map(str, record.authors))
    texts = (one.content for one in record.texts if has_texts and one.content != NO_ABSTRACT)
    words = tokens(" ".join((*said, *record.mesh_terms, *record.keywords, *texts)))
    return frozenset((*words, record.date[:4], record.electronic_date[:4]))


def _abbreviates(short: str, words: Sequence[str]) -> bool:
    """Whether its letters stand in a few words in order, the first one at the start: "HCC", hepatocellular cancer."""
    starts = [at for at, word in enumerate(words) if word[0] == short[0]]
    letters = (iter("".join(words[at : at + len(short)])) for at in starts)
    return any(all(letter in left for letter in short) for left in letters)


def _is_known(word: str, known: Collection[str]) -> bool:
    """Whether it is a known word or another form of one: "statins", "statin"."""
    stem = word[: max(_STEM, len(word) - 2)]
    is_form = len(word) >= _STEM and any(len(one) >= _STEM and one[: len(stem)] == stem[: len(one)] for one in known)
    return is_form or word in known or word.removesuffix("s") in known
