"""Which record a reference means: by its numbers, or by what else it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deepcritical_mcp.evidence.titles import content_words, identifies, is_generic, is_translation, tokens
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references import Agreement, FieldAgreement, are_similar

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
        if self.is_title_right:
            return self._is_meant_by_title
        if self.agreement.verdict("title") == "absent":
            return self._is_meant_by_place
        return self._is_meant_despite_title

    @property
    def _is_meant_by_title(self) -> bool:
        words = tokens(self._title.true)
        if self.by_number:
            return not is_generic(words) or self.agreement.support > 0 or self.agreement.conflicts == 0
        if identifies(words) and not is_generic(words):
            is_unique = len(content_words(words)) >= _UNIQUE_TITLE
            return self.agreement.support > 0 or self.agreement.conflicts == 0 or is_unique
        return self.agreement.support >= 2

    @property
    def _is_meant_by_place(self) -> bool:
        if self.by_number:
            is_theirs = self.agreement.says("authors") and self.agreement.conflicts == 1
            return (
                self.agreement.conflicts == 0 or is_theirs or (self.agreement.support >= 2 and not self._is_by_others)
            )
        if self.agreement.has_place and self.agreement.conflicts == 0:
            return self.agreement.says("journal") and self.agreement.says("year")
        place = self.agreement.says("volume") or self.agreement.says("pages")
        return (
            self.agreement.conflicts == 1 and self.agreement.support >= 2 and self.agreement.says("authors") and place
        )

    @property
    def _is_meant_despite_title(self) -> bool:
        """Although another title is written: with a few words changed, translated, or by all else."""
        others = self.agreement.conflicts - 1
        place = self.agreement.says("journal") and (self.agreement.has_place or self.agreement.says("year"))
        if is_translation(self._title.written, self._title.true):
            return self.agreement.says("authors") and (self.by_number or place)
        if are_similar(self._title.written, self._title.true):
            return (self.by_number and self.agreement.support > 0) or (
                self.agreement.says("authors") and others <= 1 and self.agreement.support >= 2
            )
        if self.by_number:
            is_cut = others == 0 and self.agreement.support > 0 and _is_beginning(self._title.written, self._title.true)
            return is_cut or (self.agreement.says("authors") and place)
        return self.agreement.has_place and self.agreement.support == 4

    @property
    def _is_by_others(self) -> bool:
        return self.agreement.verdict("authors") == "differs"

    @property
    def _title(self) -> FieldAgreement:
        return self.agreement.field("title")


def _is_beginning(written: str, title: str) -> bool:
    """Whether a title is the beginning of another, and long enough to tell which paper is meant."""
    words = tokens(written)
    return len(content_words(words)) >= _UNIQUE_TITLE and tokens(title)[: len(words)] == words


def meant(candidates: Sequence[CandidateRecord]) -> list[CandidateRecord]:
    """Those that a reference means, one unless it cannot be told which."""
    found = [one for one in candidates if one.is_meant]
    best = max((one.rank for one in found), default=None)
    return [one for one in found if one.rank == best]
