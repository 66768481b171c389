"""Which record a reference means: by its numbers, or by what else it says."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from deepcritical_mcp.evidence.titles import (
    content_words,
    identifies,
    is_generic,
    is_notice,
    is_translation,
    tokens,
)
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.search.references import Agreement, FieldAgreement, WrittenReference, are_parts, are_similar
from deepcritical_mcp.search.references.number_places import MONTHS
from deepcritical_mcp.search.references.plain_text import listed_words

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
    for words for any paper, is one of the record's. The abstract's words count beside the first author."""
    if (reference.is_labelled and reference.has_title) or reference.says.volume or reference.says.pages:
        return False
    words = [word for word in content_words(tokens(reference.text)) if len(word) > 1 and word not in _OF_PAPERS]
    is_theirs = bool(record.authors) and {*tokens(record.authors[0].family)} <= {*words}
    known = _words_of(record, has_texts=is_theirs)
    return 0 < len(words) <= _LONGEST and all(_is_known(word, known) for word in words)


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


def _is_known(word: str, known: Collection[str]) -> bool:
    """Whether it is a known word or another form of one: "statins", "statin"."""
    stem = word[: max(_STEM, len(word) - 2)]
    is_form = len(word) >= _STEM and any(len(one) >= _STEM and one[: len(stem)] == stem[: len(one)] for one in known)
    return is_form or word in known or word.removesuffix("s") in known


_UNIQUE_TITLE = 6
"""Content words of a title that no second paper has, so that it alone tells which paper is meant."""


@dataclass(frozen=True)
class CandidateRecord:
    """A record that a reference may mean; `by_number` is whether a number in the reference leads to it."""

    record: Publication
    agreement: Agreement
    by_number: bool = False

    @property
    def is_title_right(self) -> bool:
        """Whether the title that is written is the record's."""
        return self.agreement.says("title")

    @property
    def is_title_other(self) -> bool:
        """Whether the title that is written may be another paper's."""
        title = self._title
        return title.verdict == "differs" and not are_similar(title.written, title.true)

    @property
    def rank(self) -> tuple[object, ...]:
        """Larger for one that is more likely to be meant."""
        return self.is_title_right, self.by_number, *self.agreement.rank

    @property
    def is_meant(self) -> bool:
        """Whether what is written, apart from numbers, means this record, although something in it may be wrong."""
        title = self.agreement.verdict("title")
        if title == "differs":
            return self._is_meant_despite_title
        return self._is_meant_by_place if title == "absent" else self._is_meant_by_title

    @property
    def _is_meant_by_title(self) -> bool:
        words, found = tokens(self._title.written), self.agreement
        is_telling = not is_generic(words) and (self.by_number or identifies(words))
        if not is_telling and not self.by_number:
            return found.support >= 2
        is_unique = is_telling and (self.by_number or len(content_words(words)) >= _UNIQUE_TITLE)
        return is_unique or found.support > 0 or found.conflicts == 0

    @property
    def _is_meant_by_place(self) -> bool:
        found, says = self.agreement, self.agreement.says
        if self.by_number:
            is_theirs = says("authors") and found.conflicts == 1
            return found.conflicts == 0 or is_theirs or (found.support >= 2 and found.verdict("authors") != "differs")
        if found.has_place and found.conflicts == 0:
            return says("journal") and says("year")
        is_near = found.conflicts == 1 and found.support >= 2
        return is_near and says("authors") and (says("volume") or says("pages"))

    @property
    def _is_meant_despite_title(self) -> bool:
        """Although another title is written: with a few words changed, translated, or by all else."""
        title, found, is_theirs = self._title, self.agreement, self.agreement.says("authors")
        others, is_there = found.conflicts - 1, found.says("journal") and (found.has_place or found.says("year"))
        if is_translation(title.written, title.true):
            return is_theirs and (self.by_number or is_there)
        if are_similar(title.written, title.true):
            if "differs" in (found.verdict("volume"), found.verdict("pages")) and _is_other_part(
                title.written, title.true
            ):
                return False
            return (self.by_number and found.support > 0) or (is_theirs and others <= 1 and found.support >= 2)
        if self.by_number:
            is_cut = others == 0 and found.support > 0 and _is_beginning(title.written, title.true)
            return is_cut or (is_theirs and is_there)
        return found.has_place and found.support == 4

    @property
    def _title(self) -> FieldAgreement:
        return self.agreement.field("title")


def _is_other_part(one: str, other: str) -> bool:
    """Whether two like titles are those of two parts of a series, or of an article and its correction."""
    first, second = tokens(one), tokens(other)
    return are_parts(first, second) or is_notice(first) != is_notice(second)


def meant(candidates: Sequence[CandidateRecord]) -> list[CandidateRecord]:
    """Those that a reference means, one unless it cannot be told which."""
    found = [one for one in candidates if one.is_meant]
    best = max((one.rank for one in found), default=None)
    return [one for one in found if one.rank == best]


def _is_beginning(written: str, title: str) -> bool:
    """Whether a title is the beginning of another, and long enough to tell which paper is meant."""
    words = tokens(written)
    return len(content_words(words)) >= _UNIQUE_TITLE and tokens(title)[: len(words)] == words
