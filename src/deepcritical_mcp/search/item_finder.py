"""The records that a caller's items name, by numbers, by a reference, or both; and which of them cannot be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import anyio

from deepcritical_mcp.evidence.comparisons import same_author
from deepcritical_mcp.evidence.identity import bears_out, identity_of
from deepcritical_mcp.evidence.titles import bare_title, changes, tokens
from deepcritical_mcp.identifiers import RecordIds, preprint_number
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.documents import DocumentId, FoundRecord
from deepcritical_mcp.search.record_finder import (
    LABELS,
    PUBMED,
    RECORDS,
    Lookup,
    RecordFinder,
    compared,
    distinct_records,
    has_record,
    other_number,
)
from deepcritical_mcp.search.reference_finder import ReferenceFinder, ReferenceMatch
from deepcritical_mcp.search.references import Agreement, WrittenReference, read_reference, title_agreement
from deepcritical_mcp.search.references.agreement import FieldAgreement
from deepcritical_mcp.sources.lookup import Wanted
from deepcritical_mcp.text import clean_line, clipped
from deepcritical_mcp.urls import host_of

_SHOWN = 80
_OTHER_YEAR = ("year", "minor")
"""A year off by one, which does not speak against a record, but is told."""
_FEW_WORDS = 8
"""Words in which two titles differ that are shown alone."""


@dataclass
class _Item:
    """An item on its way: what it names, and what was found."""

    document: DocumentId
    reference: WrittenReference | None
    ids: RecordIds
    lookup: Lookup | None = None
    match: ReferenceMatch | None = None
    wrong: str = ""

    @property
    def record(self) -> Publication | None:
        """The record that its numbers lead to."""
        return self.lookup.record if self.lookup else None


@dataclass(frozen=True)
class ItemFinder:
    """Finds the records of items. Numbers are looked up for all items together, then references that are still open."""

    records: RecordFinder
    references: ReferenceFinder
    off: Sequence[str] = ()

    async def find(
        self, documents: Sequence[DocumentId], held: Sequence[Publication | None], seconds: float
    ) -> list[FoundRecord]:
        """What is found for each document, in order, within so many seconds. `held` are records that need not be looked
        up."""
        end = anyio.current_time() + seconds
        items = [_item(one) for one in documents]
        for item, record in zip(items, held, strict=True):
            item.lookup = Lookup.of(record) if record else None
        unknown = [one for one in items if one.lookup is None]
        wanted = [Wanted(one.ids, (url,) if preprint_number(url := one.document.url) else ()) for one in unknown]
        asked = [pair for pair in zip(unknown, wanted, strict=True) if has_record(pair[1])]
        found = await self.records.find([one for _, one in asked], seconds) if asked else ()
        for (item, _), lookup in zip(asked, found, strict=True):
            item.lookup = lookup
        for item in items:
            lookup, text = item.lookup, item.document.text
            title = item.document.title or (item.reference.says.title if item.reference else text.title if text else "")
            if lookup and lookup.record and lookup.others and title:
                # Of several records with one DOI, those with the title that is written.
                several = (lookup.record, *lookup.others)
                if fitting := [one for one in several if title_agreement(title, one) != "differs"]:
                    lookup.record, lookup.others = fitting[0], fitting[1:]
            item.wrong = _contradiction(item)
        # A reference that leads to no record, or what is written beside a number that leads to another one.
        open_ones = [one for one in items if not one.document.text and (one.wrong or not one.record)]
        written = [(one, one.reference or read_reference(one.document.title if one.wrong else "")) for one in open_ones]
        written = [(one, reference) for one, reference in written if reference.says_more]
        left = max(0.0, end - anyio.current_time())
        matches = await self.references.find([one for _, one in written], left) if written else ()
        for (item, _), match in zip(written, matches, strict=True):
            item.match = match
        return [_outcome(one, self.off) for one in items]


def _item(document: DocumentId) -> _Item:
    """An item with the numbers that it or its reference names; its own count more."""
    reference = read_reference(document.reference) if document.reference else None
    if reference is None:
        return _Item(document, None, document.ids)
    named = RecordIds() if compared(document.ids, reference.ids) == "different" else reference.ids
    return _Item(document, reference, RecordIds(*(own or one for own, one in zip(document.ids, named, strict=True))))


def _contradiction(item: _Item) -> str:
    """What speaks against the record that its numbers lead to; "" if nothing, or if there is none."""
    if (record := item.record) is None:
        return ""
    if text := item.document.text:
        other = "its title or first author is another one"
        return "" if bears_out(identity_of(record), identity_of(text)) else other
    if problem := other_number(item.ids, record):
        return problem
    title = bare_title(item.document.title, host_of(item.document.url))
    if title and title_agreement(title, record) == "differs":
        return f"its title is not {_quoted(title)}"
    if (people := item.document.authors) and not any(
        same_author(*pair) for pair in (*product(people, record.authors[:1]), *product(people[:1], record.authors))
    ):
        return f"its authors are not {_quoted(', '.join(map(str, people)))}" if record.authors else ""
    if item.reference and item.reference.says_more:
        agreement = Agreement(item.reference, record)
        if not agreement.is_accepted and "differs" in (agreement.verdict("title"), agreement.verdict("authors")):
            return f"it differs from what is written: {differences(agreement)}"
    return ""


def _outcome(item: _Item, off: Sequence[str]) -> FoundRecord:
    lookup, match = item.lookup, item.match
    if item.wrong and lookup and lookup.record:
        fitting = [one for one, _ in match.accepted or match.nearest] if match else []
        lead = "lead" if sum(map(bool, item.ids)) > 1 else "leads"
        reason = f"{_named(item.ids)} {lead} to a record that does not agree: {item.wrong}"
        return FoundRecord(None, "wrong", reason, tuple(distinct_records([*fitting, lookup.record])))
    if lookup and lookup.record:
        return _found(item, lookup)
    failures = [*(lookup.failures if lookup else ()), *(match.failures if match else ())]
    if match and match.accepted:
        return _matched(item, match)
    not_asked = item.document.not_asked(item.ids, off)
    if match and match.nearest:
        return _near(match, [*(error.message for error in failures), *([f"{not_asked}."] if not_asked else [])])
    if failures:
        told = " ".join(dict.fromkeys(error.message for error in failures))
        return FoundRecord(None, "outage", f"it could not be looked up, so send it again later: {told}", unasked=told)
    if match and match.unasked:
        asked = " and ".join(("PubMed's search", *match.asked))
        so_far = f"not found so far, by {asked}, but not everybody was asked."
        return FoundRecord(None, "outage", f"{so_far} {_unasked(match)}")
    details = [attempt.detail for attempt in lookup.attempts if attempt.detail] if lookup else []
    told = " ".join(dict.fromkeys(details))
    if not_asked:
        return FoundRecord(None, "outage", f"{not_asked}. {told}".rstrip())
    if item.reference:
        return FoundRecord(None, "not_found", f"no record agrees with this reference. {told}".rstrip())
    name = clipped(clean_line(item.document.name), _SHOWN)
    return FoundRecord(None, "not_found", told or f"nobody has a record of {name}")


def _found(item: _Item, lookup: Lookup) -> FoundRecord:
    """The record that an item's numbers lead to, or which of several it may be."""
    record = lookup.record
    assert record
    if lookup.others:
        reason = f"several records have {_named(item.ids)}: send the PMID of the one you mean"
        return FoundRecord(None, "ambiguous", reason, (record, *lookup.others))
    remark = differences(Agreement(item.reference, record)) if item.reference else ""
    told = f"differs from what is written: {remark}" if remark else ""
    return FoundRecord(record, remark=told, unasked=lookup.unasked)


def _matched(item: _Item, match: ReferenceMatch) -> FoundRecord:
    """The record that agrees with a reference."""
    records = distinct_records([one for one, _ in match.accepted])
    if len(records) > 1:
        reason = "several records agree with this reference: send the number of the one you mean"
        return FoundRecord(None, "ambiguous", reason, tuple(records))
    remarks = [f"differs from what is written: {told}"] if (told := differences(match.accepted[0][1])) else []
    if any(item.ids):
        unknown = "could not be looked up" if item.lookup and item.lookup.failures else "is not known"
        remarks.append(f"{_named(item.ids)} {unknown}; this record was found by the text")
    # Why PubMed did not say whether it has the record, if it did not.
    failures = match.failures if records[0].awaits_pubmed else ()
    late = (error.message for error in failures if error.provider in (PUBMED, RECORDS))
    unasked = match.without_pubmed.get(records[0].id) or next(late, "")
    return FoundRecord(records[0], remark="; ".join(remarks), unasked=unasked)


def _unasked(match: ReferenceMatch) -> str:
    return f"There was no time left to ask {' and '.join(match.unasked)}: send it again in a call of its own."


def _near(match: ReferenceMatch, outages: Sequence[str]) -> FoundRecord:
    record, agreement = match.nearest[0]
    told = differences(agreement) or "too little is written to be sure"
    if not outages and match.unasked:
        outages = [_unasked(match)]
    down = f" Not everybody could be asked: {outages[0]}" if outages else ""
    named = f"PMID {record.pmid}" if record.pmid else record.doi or record.id
    reason = f"no record agrees with this reference. {named} comes nearest: {told}.{down}"
    return FoundRecord(None, "ambiguous", reason, tuple(distinct_records([one for one, _ in match.nearest])))


def differences(agreement: Agreement) -> str:
    """What differs between a reference and a record, for the caller; "" if nothing does."""
    told = (one for one in agreement.fields if one.verdict == "differs" or (one.field, one.verdict) == _OTHER_YEAR)
    return "; ".join(map(_difference, told))


def _difference(field: FieldAgreement) -> str:
    """E.g. 'year "2008", in the record "2006"'; of a title that is nearly the same, only the words that differ."""
    written, true = field.written, field.true
    if field.field == "title":
        found = changes(tokens(written), tokens(true))
        if sum(len(gone) + len(come) for gone, come, _ in found) <= _FEW_WORDS:
            written = " … ".join(" ".join(gone) for gone, *_ in found if gone)
            true = " … ".join(" ".join(come) for _, come, _ in found if come)
    return f"{field.field} {_quoted(written)}, in the record {_quoted(true)}"


def _quoted(text: str) -> str:
    return f'"{clipped(clean_line(text), _SHOWN)}"'


def _named(ids: RecordIds) -> str:
    named = (f"{LABELS[name]} {value}" for name, value in ids._asdict().items() if value)
    return " and ".join(named)
