"""What stands right beside a number in a sentence, "(Berg et al., 2019; PMID 1)" or "[Title](https://…)", against the
record that the number leads to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepcritical_mcp.checking.reference_meaning import CandidateRecord
from deepcritical_mcp.evidence.titles import content_words, is_translation, tokens
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.search.references.number_places import MONTHS
from deepcritical_mcp.search.references.word_lists import listed_words

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
    """Whether the text of a link has words of a record, or another language."""
    texts = [one.content for one in record.texts if one.content != NO_ABSTRACT]
    texts += [record.title, record.vernacular_title]
    known = {*tokens(" ".join((*texts, record.journal)))}
    is_near = sum(word in known for word in words) >= _SHARED * len(words)
    return is_near or any(is_translation(label, text) for text in texts if text)
