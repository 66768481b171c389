"""Which record a reference means: by its numbers, or by what else it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deepcritical_mcp.evidence.titles import (
    content_words,
    identifies,
    is_generic,
    is_notice,
    is_translation,
    tokens,
)
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references import Agreement, FieldAgreement, are_parts, are_similar

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


def _is_beginning(written: str, title: str) -> bool:
    """Whether a title is the beginning of another, and long enough to tell which paper is meant."""
    words = tokens(written)
    return len(content_words(words)) >= _UNIQUE_TITLE and tokens(title)[: len(words)] == words


def meant(candidates: Sequence[CandidateRecord]) -> list[CandidateRecord]:
    """Those that a reference means, one unless it cannot be told which."""
    found = [one for one in candidates if one.is_meant]
    best = max((one.rank for one in found), default=None)
    return [one for one in found if one.rank == best]
