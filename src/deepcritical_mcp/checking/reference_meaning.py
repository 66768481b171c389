"""Which record a reference means: by its numbers, or by what else it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.evidence.titles import content_words, identifies, is_generic, is_translation, tokens
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.search.references import Agreement, FieldAgreement, WrittenReference, are_parts, are_similar
from deepcritical_mcp.search.references.number_places import MONTHS
from deepcritical_mcp.search.references.word_lists import listed_words

_LONGEST = 8
"""Words of a note; a reference with a title is longer."""
_OF_PAPERS = frozenset(words_of("al article clinical cohort et letter meta analysis paper review rct study trial"))
"""Words for any paper."""
_NAME = r"[^\W\d_a-z][\w'’-]{2,40}"
_CITED_ALONE = re.compile(
    rf"\A[\W\d]{{0,8}}({_NAME})(?:,? et al\b\.?|,? (?:and|&) (?:colleagues|co-?workers|others|{_NAME}))?"
    r",? \(?(?:1[5-9]|20)\d\d[a-z]?[\W_]{0,8}\Z"
)
"""Names and a year, with nothing else beside a number."""
_LINK = re.compile(r"\[([^\[\]]{1,600})\]\(")
_LEAST_WORDS, _SHARED = 6, 0.25
"""Words of a link's text that may be a title; the share that a record has of its own title's."""
_UNIQUE_TITLE = 6
"""Content words of a title that no second paper has, so that it alone tells which paper is meant."""


def is_note(reference: WrittenReference, record: Publication) -> bool:
    """Whether what stands beside a number is a note on `record` and no reference: a few words, each of them one of the
    record's or one for any paper."""
    words = words_of(reference.text).keys() - _OF_PAPERS
    words = {word for word in words if len(word) > 1}
    return 0 < len(words) <= _LONGEST and not reference.is_labelled and words <= _words_of(record)


def is_cited_alone(text: str) -> bool:
    """Whether it says nothing but one or two names and a year: "Berg 2019"."""
    found = _CITED_ALONE.search(text)
    return found is not None and found[1].lower() not in listed_words("connectives") | MONTHS


def is_other_work(written: str, text: str, candidates: Sequence[CandidateRecord]) -> bool:
    """Whether the authors and the year, or the title that a link has as its text, are those of another work than all
    the records; `text` is what is written without numbers.

    Authors count without the year if they stand alone, unless the record's are groups only: the name may be of one of
    their members. A title counts if the record has almost none of its words, and is in the same language.
    """
    link, is_alone = _LINK.match(written), is_cited_alone(text)
    if link and len(content_words(tokens(link[1]))) >= _LEAST_WORDS:
        return not any(_may_mean(link[1], one.record) for one in candidates)
    return all(
        one.agreement.verdict("authors") == "differs"
        and (one.agreement.verdict("year") == "differs" or (is_alone and any(who.given for who in one.record.authors)))
        for one in candidates
    )


def _may_mean(label: str, record: Publication) -> bool:
    """Whether the text of a link has words of a record, or is in another language."""
    words = words_of(label).keys()
    is_near = len(words & _words_of(record)) >= _SHARED * len(words)
    return is_near or any(is_translation(label, text) for text in (record.title, record.vernacular_title) if text)


def _words_of(record: Publication) -> set[str]:
    said = (record.title, record.vernacular_title, record.journal, record.date[:4], record.electronic_date[:4])
    texts = (one.content for one in record.texts if one.content != NO_ABSTRACT)
    names = map(str, record.authors)
    return {*words_of(" ".join((*said, *names, *record.mesh_terms, *record.keywords, *texts)))}


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
        """Although another title is written: with a few words changed, or by all else."""
        title, found, is_theirs = self._title, self.agreement, self.agreement.says("authors")
        if are_similar(title.written, title.true):
            is_elsewhere = "differs" in (found.verdict("volume"), found.verdict("pages"))
            if is_elsewhere and are_parts(tokens(title.written), tokens(title.true)):
                return False
            return (self.by_number and found.support > 0) or (is_theirs and found.conflicts <= 2 <= found.support)
        is_there = found.says("journal") and (found.has_place or found.says("year"))
        return is_theirs and is_there and (self.by_number or found.support == 4)

    @property
    def _title(self) -> FieldAgreement:
        return self.agreement.field("title")


def meant(candidates: Sequence[CandidateRecord]) -> list[CandidateRecord]:
    """Those that a reference means, one unless it cannot be told which."""
    found = [one for one in candidates if one.is_meant]
    best = max((one.rank for one in found), default=None)
    return [one for one in found if one.rank == best]
