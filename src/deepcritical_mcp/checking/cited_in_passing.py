"""What stands right beside a number in a sentence, "(Berg et al., 2019; PMID 1)" or "[Title](https://…)", against the
record that the number leads to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepcritical_mcp.checking.reference_meaning import CandidateRecord
from deepcritical_mcp.evidence.titles import content_words, is_translation, tokens
from deepcritical_mcp.models import NO_ABSTRACT, Publication

_RIGHT_BESIDE = re.compile(
    r"\b(?:1[5-9]|20)\d\d[a-z]?[)\]]{0,3}[\s,;:.(\[]{0,4}(?:PMIDs?\b|PubMed\b|PMC\d|doi\b|10\.\d|https?:)",
    re.IGNORECASE,
)
_WITH_OTHERS = re.compile(
    r"\bet al\b|\b(?:and|&) (?:colleagues|co-?workers|others)\b"
    r"|\b[A-Z][^\W\d_]{1,30} (?:and|&) [A-Z][^\W\d_]{1,30},? \(?(?:1[5-9]|20)\d\d"
)
_LINK = re.compile(r"\[([^\[\]]{1,600})\]\(")
_NAME_AND_YEAR = re.compile(
    r"[\W\d]{0,8}(?!(?:In|On|Since|From|Until|Published|Updated|Accessed|Online|January|February|March|April|May|June|"
    r"July|August|September|October|November|December|Spring|Summer|Autumn|Winter|Epub|Preprint)\b)"
    r"[^\W\d_a-z][\w'’-]{2,40}(?: (?:&|and) [^\W\d_a-z][\w'’-]{2,40})?,? \(?(?:1[5-9]|20)\d\d[a-z]?\)?[\W_]{0,8}"
)
_LEAST_WORDS = 6
_SHARED = 0.25
"""Of the words of a link's text, how many its record has at most if the text is the title of another paper."""


def is_name_and_year(text: str) -> bool:
    """Whether it says nothing but one or two names and a year: "Berg 2019"."""
    return _NAME_AND_YEAR.fullmatch(text) is not None


def is_other_work(written: str, candidates: Sequence[CandidateRecord]) -> bool:
    """Whether the authors, or the title that a link has as its text, are those of another work than all the records.

    Authors count with "et al." or in pairs right beside the number, unless the record's are groups only: the name may
    be of one of their members. A title counts if the record has almost none of its words, so that the text of a
    link that says something of the record is none.
    """
    link = _LINK.match(written)
    if link and len(words := content_words(tokens(link[1]))) >= _LEAST_WORDS:
        return not any(_may_mean(link[1], words, one.record) for one in candidates)
    if not (_RIGHT_BESIDE.search(written) and _WITH_OTHERS.search(written)):
        return False
    return all(one.agreement.verdict("authors") == "differs" and not _is_by_group(one.record) for one in candidates)


def is_of_other_year(written: str, candidate: CandidateRecord) -> bool:
    """Whether the authors right beside a number are the record's, and the year is not."""
    says = candidate.agreement.verdict
    is_theirs = says("authors") in ("agrees", "minor") and says("year") == "differs"
    return is_theirs and _RIGHT_BESIDE.search(written) is not None


def _may_mean(label: str, words: Sequence[str], record: Publication) -> bool:
    """Whether the text of a link has words of a record, or another language."""
    texts = [
        record.title,
        record.vernacular_title,
        *(one.content for one in record.texts if one.content != NO_ABSTRACT),
    ]
    known = {*tokens(" ".join((*texts, record.journal)))}
    is_near = sum(word in known for word in words) >= _SHARED * len(words)
    return is_near or any(is_translation(label, text) for text in texts if text)


def _is_by_group(record: Publication) -> bool:
    return all(not one.given and not one.initials for one in record.authors)
