"""Finds which entries the citations of a draft mean, and what is cited without an entry."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.author_year import NamedCitation, NameIndex, named_citations
from deepcritical_mcp.checking.draft.citation_marks import citation_marks, numbers_cited
from deepcritical_mcp.checking.draft.inline_references import stated_ids
from deepcritical_mcp.checking.draft.named_numbers import misnamed
from deepcritical_mcp.checking.draft.works_cited import WorkCitation, work_citations
from deepcritical_mcp.text import clean_line

_JOINT = re.compile(r"[\s,;/–—-]{0,5}(?:(?:and|und|&|see also|see|e\.g\.,?)\s)?")


_FOOTNOTE = re.compile(r"\[(\^[^\]\s]{1,60})\]:")
_BEFORE_ID = re.compile(r"[,;:.)\]]?[^()\[\]\d\n;]{0,120}[(\[]?")


class CitedEntry(NamedTuple):
    """An entry of a list as far as citations are concerned: its labels (also of entries that only repeat it), and the
    number of its list in the draft."""

    text: str
    labels: tuple[str, ...]
    section: int


class DraftCitation(NamedTuple):
    """A place of a draft that cites: references by their indexes from 1, and whether it is a mark, which the claim is
    read without, rather than words."""

    start: int
    end: int
    references: tuple[int, ...]
    is_mark: bool = True


class Citations:
    """The citations of a draft, in order."""

    def __init__(self, citations: Sequence[DraftCitation], body: str) -> None:
        self.all = sorted(citations)
        self.cited = frozenset(number for one in citations for number in one.references)
        self._starts = [one.start for one in self.all]
        self._body = body

    def between(self, low: int, high: int) -> Sequence[DraftCitation]:
        """Those that begin between two places."""
        return self.all[bisect_left(self._starts, low) : bisect_left(self._starts, high)]

    def marks(self, low: int, high: int) -> list[tuple[int, int]]:
        """Where the marks between two places stand, counted from the first; neighbors with what joins them."""
        found = list[tuple[int, int]]()
        for one in self.between(low, high):
            if one.is_mark:
                joined = found and _JOINT.fullmatch(self._body, found[-1][1] + low, max(one.start, found[-1][1] + low))
                found[-1:] = (
                    [(found[-1][0], one.end - low)] if joined else [*found[-1:], (one.start - low, one.end - low)]
                )
        return found

    def within(self, low: int, high: int, *, last: bool = False) -> tuple[int, ...]:
        """The references cited between two places; of the last citation only, if so asked."""
        here = self.between(low, high)
        return tuple(dict.fromkeys(number for one in (here[-1:] if last else here) for number in one.references))

    def right_behind(self, at: int) -> tuple[int, ...]:
        """The references of the citation that stands right behind a closing quotation mark."""
        here = self.between(at, at + 12)[:1]
        is_near = bool(here) and not any(map(str.isalnum, self._body[at : here[0].start]))
        return here[0].references if is_near else ()

    def around(self, low: int, high: int) -> bool:
        """Whether what stands between two places is part of a citation."""
        at = bisect_right(self._starts, low)
        return any(one.end >= high for one in self.all[max(0, at - 2) : at])

    def in_block(self, low: int, high: int) -> tuple[int, ...]:
        """The references cited in a quoted block, as the line below it does: "— Berg 2020"."""
        return self.within(low, high) if self._body[low : low + 1] == ">" else ()


class InlineReference(NamedTuple):
    """A reference that stands in the text only: its identifier, with names and year if they stand next to it."""

    text: str
    start: int
    end: int


class FoundCitations(NamedTuple):
    """All citations of a draft, the references that stand in the text only, what is without an entry, and citations
    with another year or with other names than their entry."""

    citations: Citations
    inline: Sequence[InlineReference]
    unknown: Sequence[str]
    other_years: Sequence[str] = ()
    misnamed: Sequence[str] = ()


def find_citations(
    body: str, entries: Sequence[CitedEntry], sections: Sequence[int], placed: Sequence[DraftCitation] = ()
) -> FoundCitations:
    """The citations in `body`, a draft without its lists of references, which begin at `sections`; `placed` are known
    before."""
    labels = _Labels(entries, sections)
    citations, without_entry, names = [*placed], dict[str, None](), list[str]()
    for mark in citation_marks(body, labels.names):
        found = [one + 1 for label in mark.labels for one in labels.entries(label, mark.start)]
        without_entry |= dict.fromkeys(label for label in mark.labels if label not in labels.names)
        citations.append(DraftCitation(mark.start, mark.end, tuple(dict.fromkeys(found))))
        if not any(label[:1] == "^" for label in mark.labels):
            names.append(misnamed(body, mark.start, mark.end, [entries[one - 1].text for one in found]))
    named, missing, other_years = _named(body, entries)
    works = list[WorkCitation]()
    if not named and not labels.names:
        works = [*work_citations(body, [one.text for one in entries])]
        named = [DraftCitation(one.start, one.end, tuple(number + 1 for number in one.entries)) for one in works]
    inline = _inline(body, entries, citations, missing)
    covered = Citations(citations, body)
    apart = [one for one in missing if one.is_sure and not covered.around(max(one.start, one.opened), one.end)]
    # A footnote that is no reference is not missing.
    explained = frozenset(_FOOTNOTE.findall(body))
    unknown = dict.fromkeys(f"[{label}]" for label in without_entry if label not in explained)
    unknown |= dict.fromkeys(name for one in works for name in one.unknown)
    if named or not any(entry.labels for entry in entries):
        unknown |= dict.fromkeys(clean_line(body[one.start : one.end]) for one in apart)
    return FoundCitations(
        Citations([*citations, *named], body), inline, [*unknown], other_years, [*filter(None, names)]
    )


def numbered_by_place(body: str, labels: Sequence[str]) -> bool:
    """Whether a list whose entries have no labels is cited by numbers."""
    cited = numbers_cited(body)
    return bool(cited) and not any(labels) and max(cited) <= len(labels)


class _Labels:
    """Entries by label: those of the list that follows a citation first, because each section may have its own."""

    def __init__(self, entries: Sequence[CitedEntry], sections: Sequence[int]) -> None:
        self._sections = sections
        self._by_label = dict[str, dict[int, list[int]]]()
        for number, one in enumerate(entries):
            for place, label in enumerate(one.labels):
                known = self._by_label.setdefault(label, {}).setdefault(one.section, [number])
                if number not in known and (place or label[:1] == "^"):  # a note may name several entries
                    known.append(number)
                if label[:1].isdigit() and label[-1:].isalpha():  # "3" means "3a" and "3b", too.
                    self._by_label.setdefault(label[:-1], {}).setdefault(one.section, []).append(number)
                elif (whole := label.partition(" (")[0]) != label:  # "^n" means "^n (a)" and "^n (b)", too.
                    self._by_label.setdefault(whole, {}).setdefault(one.section, []).append(number)

    @property
    def names(self) -> dict[str, dict[int, list[int]]]:
        return self._by_label

    def entries(self, label: str, at: int) -> list[int]:
        """The entry that a label means at a place of the draft, several of "3a", "3b", or []."""
        found = self._by_label.get(label)
        if not found:
            return []
        if label[:1] == "^":
            return [one for numbers in found.values() for one in numbers]
        section = bisect_right(self._sections, at)
        return found[section] if section in found else next(iter(found.values()))


def _inline(
    body: str, entries: Sequence[CitedEntry], citations: list[DraftCitation], names: Sequence[NamedCitation]
) -> list[InlineReference]:
    """Add what cites by an identifier to the citations; the references that no entry has."""
    known = dict[str, int]()
    for number, entry in enumerate(entries):
        for one in stated_ids(entry.text):
            known.setdefault(one.key, number)
    inline, by_end = list[InlineReference](), [one.end for one in names]
    for one in stated_ids(body):
        is_next = body[one.start].isdigit() and one.key.startswith("pmid:")  # of a list, behind the first one's names
        named = names[at] if not is_next and (at := bisect_right(by_end, one.end) - 1) >= 0 else None
        start, end, written = one.start, one.end, one.written
        if named and named.start >= one.start:  # "[Berg et al., 2020](https://…)"
            written = f"{body[named.start : named.end]} {one.written}"
        elif named and _BEFORE_ID.fullmatch(body, named.end, one.start):  # "(Berg et al., 2020; PMID 1)"
            end += named.opened >= 0 and body[end : end + 1] in (")", "]")
            start, written = named.start if named.opened < 0 else named.opened, body[named.start : end]
        elif one.has_title:
            written = body[one.start : one.end]
        if one.key not in known and not one.is_record:
            continue
        if one.key not in known:
            known[one.key] = len(entries) + len(inline)
            inline.append(InlineReference(clean_line(written), one.start, one.end))
        citations.append(DraftCitation(start, end, (known[one.key] + 1,), is_mark=not one.is_link_text))
    return inline


def _named(body: str, entries: Sequence[CitedEntry]) -> tuple[list[DraftCitation], list[NamedCitation], Sequence[str]]:
    """The citations by names and years of entries, those that no entry has, and what cites an entry of another year."""
    index, found = NameIndex([one.text for one in entries]), list[DraftCitation]()
    missing, other_years = list[NamedCitation](), dict[str, None]()
    for one in named_citations(body):
        if meant := index.entries(one):
            start = one.opened if one.opened >= 0 else one.start
            found.append(DraftCitation(start, one.end, tuple(number + 1 for number in meant)))
        elif one.is_sure and (near := index.near(one)):
            found.append(DraftCitation(one.start, one.end, (near[0] + 1,)))
            other_years[clean_line(body[one.start : one.end])] = None
        else:
            missing.append(one)
    return found, missing, [*other_years]
