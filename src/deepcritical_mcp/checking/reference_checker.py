"""What is wrong with references: their records, laid against what is written, and the verdict on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import anyio
import anyio.to_thread

from deepcritical_mcp.checking.draft import DraftReference
from deepcritical_mcp.checking.reference_meaning import (
    IDS,
    SHOWN,
    CandidateRecord,
    UncheckedWork,
    in_order,
    is_cited_alone,
    is_note,
    is_other_work,
    is_tail,
    meant,
    problems_of,
    unchecked_work,
    with_status,
)
from deepcritical_mcp.deadline import TO_KEEP_RESULTS, Progress, no_progress, seconds_before
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication, ReferenceProblem, ReferenceVerdict
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.search.documents import DocumentId
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.item_finder import differences
from deepcritical_mcp.search.record_finder import LABELS, Lookup, compared, distinct_records, ids_of, stub_of
from deepcritical_mcp.search.reference_finder import ReferenceMatch
from deepcritical_mcp.search.references import Agreement, WrittenReference, read_reference
from deepcritical_mcp.search.search_steps import ReadingSession
from deepcritical_mcp.search.witness import OutageRemark, Witness
from deepcritical_mcp.sources.lookup import Wanted
from deepcritical_mcp.text import clipped

SEVERAL = "Several works seem to stand in this entry. It was not checked: give each an entry of its own."
OTHER_NAMES = "The names or the year beside its number are not those of the record: compare the two."
OF_NOTICE = "This and the record found are two works, a notice (a correction, comment or reply) and its article: {}: {}"
_MAX_CANDIDATES = 3


@dataclass(frozen=True)
class ReferenceOutcome:
    """What became of a reference; the attributes are those of `CheckedReference`.

    Attributes:
        publication: the record that it means, as it is to be kept; None if none is sure.
        pending: whether there was no time left to look for it.
    """

    reference: DraftReference
    verdict: ReferenceVerdict
    publication: Publication | None = None
    problems: tuple[ReferenceProblem, ...] = ()
    reason: str = ""
    candidates: tuple[Publication, ...] = ()
    pending: bool = False


@dataclass
class TracedReference:
    """A reference on its way: what it says, and what was found.

    Attributes:
        work: what it is to, if not to an article.
        lookups: what is known about each of its numbers.
        match: what was found by its text; None if that was not looked for.
    """

    draft: DraftReference
    reference: WrittenReference
    work: UncheckedWork | None
    lookups: Mapping[RecordIds, Lookup] = field(default_factory=dict[RecordIds, Lookup])
    match: ReferenceMatch | None = None

    @cached_property
    def by_number(self) -> list[CandidateRecord]:
        """The records that its numbers lead to."""
        found = [record for one in self.lookups.values() if one.record for record in (one.record, *one.others)]
        records = {record.id: record for record in found}.values()
        return [CandidateRecord(one, Agreement(self.reference, one), True) for one in records]

    def candidates(self) -> list[CandidateRecord]:
        """All records that it may mean; of two records of one paper, PubMed's decides."""
        known = {one.record.id: one.record for one in self.by_number}
        considered = {**self.match.considered} if self.match else {}
        records = distinct_records([*known.values(), *(record for record, _ in considered.values())])
        return [*self.by_number, *(CandidateRecord(*considered[one.id]) for one in records if one.id not in known)]

    def nearest(self) -> list[Publication]:
        """The records that come nearest to its text, where none agrees."""
        return distinct_records([record for record, _ in self.match.nearest]) if self.match else []

    def further(self, chosen: CandidateRecord) -> list[str]:
        """What stands in it besides the work that a record is of: a work with names and a place, numbers of other
        records, and a title, elsewhere, of another record."""
        further, found, known = chosen.agreement.further, list[str](), list[str]()
        for kind in ("pmid",) if self.reference.entry else ("pmid", "doi"):
            own = getattr(self.reference.ids, kind).lower()
            known += [f"{kind}:{own}"] if own else []
            for key in (one for one in self.reference.stated if own and one.startswith(f"{kind}:")):
                # "doi:10.1000/1" and "doi:10.1000/1/full" are one.
                forms = (one for one in known if kind == "doi" and (key.startswith(one) or one.startswith(key)))
                if key not in known and not any(forms):
                    found.append(f"{LABELS[kind]} {key.removeprefix(f'{kind}:')}")
                    known.append(key)
        agreements = (one.agreement for one in self.candidates() if one.is_meant and one.agreement.says("title"))
        low, high = chosen.agreement.field("title").span or (0, len(self.reference.text))
        for title in (one.field("title") for one in agreements):
            if title.span and (title.span[0] >= high or low >= title.span[1]) and title.written not in further:
                found.append(title.written)
        return [*dict.fromkeys(filter(None, (clipped(further, SHOWN), *found)))]

    def failures(self) -> list[ProviderError]:
        """The services that did not answer."""
        failed = [error for one in self.lookups.values() if one.record is None for error in one.failures]
        return [*failed, *(self.match.failures if self.match else ())]


def outcome_of(one: TracedReference, off: Sequence[str]) -> ReferenceOutcome:
    """The verdict on a reference; `off` are the services that are switched off."""
    text, records = one.reference.text, one.by_number
    has_note = bool(records) and is_note(one.reference, records[0].record)
    is_number_alone = bool(records) and not one.reference.says_more
    if has_note or (is_number_alone and not (is_cited_alone(text) and is_other_work(text, records))):
        compared = replace(one, reference=replace(read_reference(""), ids=one.reference.ids)) if has_note else one
        is_bare = all(each.verdict == "absent" for each in records[0].agreement.fields)
        return _by_number_alone(compared, off, is_bare=is_bare)
    found = [candidate for candidate in meant(one.candidates()) if one.work is None or not candidate.is_about_it]
    papers = distinct_records([candidate.record for candidate in found])
    if len(papers) > 1 and not one.further(found[0]):
        return _ambiguous(one, papers, "several records agree with it")
    if papers:
        return _compared(one, next(candidate for candidate in found if candidate.record is papers[0]), off)
    may_be_other = any(each.is_across_notice and each.agreement.has_place for each in records)
    return _misdirected(one, off) if records and not may_be_other else _not_found(one, off)


def _ambiguous(one: TracedReference, records: Sequence[Publication], reason: str) -> ReferenceOutcome:
    return ReferenceOutcome(one.draft, "ambiguous", reason=reason, candidates=tuple(records[:_MAX_CANDIDATES]))


def _by_number_alone(one: TracedReference, off: Sequence[str], *, is_bare: bool = False) -> ReferenceOutcome:
    """The verdict on a number with nothing beside it that could be compared."""
    records = distinct_records([candidate.record for candidate in one.by_number])
    if len(records) > 1:
        same = "its numbers lead to different records" if len(one.lookups) > 1 else "several records have this DOI"
        return _ambiguous(one, records, same)
    outcome = _compared(one, one.by_number[0], off)
    remark = only_a_number(records[0]) if is_bare else ""
    return replace(outcome, reason=" ".join(filter(None, (remark, outcome.reason))))


def only_a_number(record: Publication) -> str:
    """What a reader must compare, since nothing but a number is written."""
    title = clipped(record.title.rstrip("."), SHOWN)
    return f"Only its number is written: compare what you cite it for with the record's title, “{title}”."


def _compared(one: TracedReference, candidate: CandidateRecord, off: Sequence[str]) -> ReferenceOutcome:
    """The verdict on a reference whose record is sure; an entry that holds several works is not checked."""
    record, agreement, further = candidate.record, candidate.agreement, one.further(candidate)
    unasked = {number: told for number in one.lookups if (told := _why_unasked(one, number, off))}
    leading = [*_number_problems(one, record, unasked)]
    numbers = [problem for problem, _ in leading]
    is_unsure = one.reference.entry is not None or not one.reference.says_more
    works = [ReferenceProblem(field="work", written=written, minor=is_unsure) for written in further]
    problems = in_order([*numbers, *problems_of(agreement), *works])
    verdict: ReferenceVerdict = "minor" if problems else "verified"
    if any(not problem.minor for problem in problems):
        verdict = "wrong_id" if any(not problem.minor for problem in numbers) else "differs"
    if further and not one.reference.entry and verdict != "wrong_id":
        return ReferenceOutcome(one.draft, "unchecked", record, tuple(works), SEVERAL)
    settled = {*filter(None, ids_of(record)), *(problem.written for problem in numbers)}
    unchecked = (told for number, told in unasked.items() if settled.isdisjoint(number))
    told = [where for problem, where in leading if not problem.minor]
    told += unchecked
    if agreement.names_left_out:
        told.append(f"{agreement.names_left_out} of {len(record.authors)} authors are named, without “et al.”.")
    if agreement.unread:
        told.append(f"Its {' and '.join(agreement.unread)} could not be read, so not compared.")
    if agreement.left_over:
        left_over = ", ".join(f"“{one}”" for one in agreement.left_over[:3])
        told.append(f"Not compared, because the record does not have it: {left_over}.")
    if agreement.is_preprint:
        told.append(f"The preprint is written; the record is the article: {clipped(vancouver(record), SHOWN)}")
    if further:
        told.append(SEVERAL)
    return ReferenceOutcome(one.draft, verdict, record, tuple(problems), " ".join(told))


def _why_unasked(one: TracedReference, number: RecordIds, off: Sequence[str]) -> str:
    """Why nobody can say whether a number is known; "" if it is, or if all who could know it have answered."""
    lookup = one.lookups[number]
    if lookup.record:
        return ""
    label = next(f"{LABELS[name]} {value}" for name, value in number._asdict().items() if value)
    if lookup.failures:
        return f"{label} could not be checked: {lookup.failures[0].message}"
    not_asked = "" if number.doi else DocumentId(label, ids=number).not_asked(number, off)
    return f"{not_asked}." if not_asked else ""


def _number_problems(
    one: TracedReference, record: Publication, unasked: Mapping[RecordIds, str]
) -> Iterator[tuple[ReferenceProblem, str]]:
    """Numbers that are not the record's, and where they lead; one that leads to the same paper under another number is
    minor. One of a kind that the record lacks is wrong if it leads to another paper, or if nobody knows it."""
    same = {record.id, *(each.record.id for each in one.by_number if each.is_meant and not each.is_title_other)}
    same |= {each.record.id for each in one.by_number if each.agreement.says("title")}  # a further work in the entry
    for name in IDS:
        number, own = (RecordIds(**{name: getattr(each, name)}) for each in (one.reference.ids, ids_of(record)))
        written, true, lookup = getattr(number, name), getattr(own, name), one.lookups.get(number)
        if not written or (true and compared(number, own) != "different"):
            continue
        found = lookup.record if lookup else None
        said = [attempt.detail for attempt in lookup.attempts] if lookup and number not in unasked else None
        is_dead = said is not None and (name == "pmid" or any("may be wrong" in detail for detail in said))
        if true or (found.id not in same if found else is_dead):
            minor = found.id in same if found else name == "doi" and is_tail(written, true)
            problem = ReferenceProblem(field=name, written=written, true=true, minor=minor and bool(true))
            yield problem, _where_it_leads(problem, lookup, record)


def _where_it_leads(problem: ReferenceProblem, lookup: Lookup | None, record: Publication | None) -> str:
    label = f"{LABELS[problem.field]} {problem.written}"
    if lookup and lookup.record and (record is None or lookup.record.id != record.id):
        return f"{label} leads to another paper: {clipped(vancouver(lookup.record), SHOWN)}"
    if lookup and lookup.record is None and not lookup.failures:
        return f"{label} is not known; the record was found by the text."
    return f"{label} is not that of the record."


def _misdirected(one: TracedReference, off: Sequence[str]) -> ReferenceOutcome:
    """Of a reference with numbers that lead to another paper, where nothing agrees with the rest of it."""
    others = distinct_records([candidate.record for candidate in one.by_number])
    if one.draft.is_inline and not is_other_work(one.reference.text, one.by_number):
        says = one.by_number[0].agreement
        if len(others) > 1 or (says.says("authors") and says.verdict("year") == "differs"):
            return _by_number_alone(one, off)
        reason = only_a_number(others[0]) if one.draft.text.startswith("[") else OTHER_NAMES
        return ReferenceOutcome(one.draft, "verified", others[0], reason=reason)
    known = ((number, lookup) for number, lookup in one.lookups.items() if lookup.record)
    named = ((name, getattr(number, name), lookup) for number, lookup in known for name in IDS)
    found = [(ReferenceProblem(field=name, written=value), lookup) for name, value, lookup in named if value]
    leads = (_where_it_leads(problem, lookup, None) for problem, lookup in found)
    not_asked = one.failures() or DocumentId("it", reference=one.reference.text).not_asked(RecordIds(), off)
    rest = "The rest could not be looked for everywhere." if not_asked else "No record agrees with the rest of it."
    candidates = tuple(distinct_records([*one.nearest(), *others])[:_MAX_CANDIDATES])
    problems = tuple(problem for problem, _ in found)
    return ReferenceOutcome(one.draft, "wrong_id", None, problems, " ".join((*leads, rest)), candidates)


def _not_found(one: TracedReference, off: Sequence[str]) -> ReferenceOutcome:
    """Of a reference for which there is no sure record."""
    nearest, unasked = one.nearest(), one.match.unasked if one.match else ()
    details = [attempt.detail for lookup in one.lookups.values() for attempt in lookup.attempts]
    elsewhere = next((detail for detail in details if "registered with" in detail), "")  # and nobody has it here
    if one.work or elsewhere:
        return ReferenceOutcome(one.draft, "unchecked", reason=one.work.kind if one.work else elsewhere)
    document = DocumentId("this reference", ids=one.reference.ids, reference=one.reference.text)
    failed = " ".join(dict.fromkeys(error.message for error in one.failures()))
    late = f"There was no time left to ask {' and '.join(unasked)}." if unasked else ""
    off_for_it = document.not_asked(one.reference.ids, off)  # a service that is switched off may have it
    if reason := failed or late or (f"{off_for_it}." if off_for_it else ""):
        is_late = any(error.code == "provider_timeout" and "no time left" in error.message for error in one.failures())
        pending = is_late if failed else bool(late)
        return ReferenceOutcome(one.draft, "outage", reason=reason, candidates=tuple(nearest), pending=pending)
    if other := next((each.record for each in one.candidates() if each.is_across_notice), None):
        told = OF_NOTICE.format(other.id, clipped(vancouver(other), SHOWN))
        return ReferenceOutcome(one.draft, "unchecked", reason=told)
    if one.match and nearest:
        told = (_how_near(record, agreement) for record, agreement in one.match.nearest if record in nearest)
        return _ambiguous(one, nearest, f"no record agrees with it as a whole; these come nearest: {'; '.join(told)}")
    asked = [detail for detail in details if detail]
    if one.match:
        services = " and ".join(("PubMed's search", *one.match.asked))
        asked.append(f"Not found by its text in {services}.")
    asked = asked or ["It says too little to be looked for: neither a title nor a number that anybody has."]
    return ReferenceOutcome(one.draft, "not_found", reason=" ".join(dict.fromkeys(asked)))


def _how_near(record: Publication, agreement: Agreement) -> str:
    """What agrees with a record, and what does not."""
    same = ", ".join(one.field for one in agreement.fields if one.verdict == "agrees")
    told = differences(agreement) or "too little is written to be sure"
    return clipped(f"{record.id} has the same {same}; but {told}" if same else f"{record.id}: {told}", 2 * SHOWN)


SECONDS = 45.0
"""How long a check takes at most where no deadline is set around it."""
OF_ONE_CHECK = 600.0
"""Seconds within which a further part belongs to the check whose first part was asked for."""


ReferenceOutcomes = tuple[Sequence[ReferenceOutcome], Sequence[str], Sequence[str]]
"""What became of each reference, in order, the outages on the way, and what else to know, in words."""


def _traced(reference: DraftReference) -> TracedReference:
    read = read_reference(reference.text)
    return TracedReference(reference, read, unchecked_work(reference.text, read))


class ReferenceChecker:
    """Checks references, all of them together in as few requests as the services allow."""

    def __init__(self, full_texts: FullTexts, witness: Witness) -> None:
        self._full_texts = full_texts
        self._witness = witness

    async def check(
        self, references: Sequence[DraftReference], session: ReadingSession, *, progress: Progress = no_progress
    ) -> ReferenceOutcomes:
        """What became of each reference, in order. Keeps nothing in the session, but uses what it has."""
        begun = anyio.current_time()
        end = begun + seconds_before(TO_KEEP_RESULTS, cap=SECONDS)
        traced = await anyio.to_thread.run_sync(lambda: [_traced(one) for one in references])
        await progress(0.05, "looking up the numbers of the references")
        await self._by_number(traced, session, end)
        await progress(0.3, "looking for references without a number")
        open_ones = list[TracedReference]()
        for one in traced:
            is_sure = any(not (each.is_title_other or each.agreement.by_others) for each in meant(one.by_number))
            may_be_found = one.work is None or not one.work.is_certain or one.by_number
            if one.reference.says_more and not is_sure and may_be_found:
                open_ones.append(one)
        if open_ones:
            seconds = max(0.0, end - anyio.current_time())
            matches = await self._full_texts.references.find([one.reference for one in open_ones], seconds)
            for one, match in zip(open_ones, matches, strict=True):
                one.match = match
        found = await anyio.to_thread.run_sync(lambda: [outcome_of(one, self._full_texts.off) for one in traced])
        await progress(0.9, "checking for retractions")
        named = (each for one in found for each in (one.publication, *one.candidates) if each)
        records = list({one.id: one for one in named}.values())
        asked = await self._witness.rechecked(records, within=anyio.current_time() - begun)
        current = {old.id: new for old, new in zip(records, asked.publications, strict=True)}
        outcomes = list[ReferenceOutcome]()
        for one in found:
            record = current[one.publication.id] if one.publication else None
            problems = with_status(one.problems, record, one.reference.text) if record else one.problems
            candidates = tuple(current[each.id] for each in one.candidates)
            outcomes.append(replace(one, publication=record, problems=problems, candidates=candidates))
        errors = [error.message for one in traced for error in one.failures()]
        errors += [one for one in asked.remarks if isinstance(one, OutageRemark)]
        warnings = dict.fromkeys(one for one in asked.remarks if not isinstance(one, OutageRemark))
        return outcomes, [*dict.fromkeys(errors)], [*warnings]

    async def ask_again(self, ids: Sequence[str], session: ReadingSession) -> tuple[str, ...]:
        """Ask again for the status of records that an earlier part of a check was about, and keep it; gives remarks."""
        return (await self._witness.refresh(session, ids, within=OF_ONE_CHECK)).remarks

    async def _by_number(self, traced: Sequence[TracedReference], session: ReadingSession, end: float) -> None:
        """Look up each PMID and DOI by itself, since they may be those of two papers; a PMCID only alone. What the
        session has is not looked up."""
        own = list[list[RecordIds]]()
        for one in traced:
            each = [RecordIds(**{name: value}) for name, value in one.reference.ids._asdict().items() if value]
            own.append([ids for ids in each if ids.pmid or ids.doi] or sorted(each, key=lambda ids: not ids.pmcid)[:1])
        numbers = list(dict.fromkeys(chain.from_iterable(own)))
        ids = await session.known([stub_of(number) for number in numbers]) if numbers else []
        kept = await session.publications(list(dict.fromkeys(filter(None, ids))))
        found = dict[RecordIds, Lookup]()
        for number, one in zip(numbers, map(kept.get, ids), strict=True):
            if one and one.is_record and not one.is_users and not one.awaits_pubmed:
                found[number] = Lookup.of(one)
        if missing := [number for number in numbers if number not in found]:
            seconds = max(0.0, end - anyio.current_time())
            lookups = await self._full_texts.records.find([*map(Wanted, missing)], seconds)
            found |= zip(missing, lookups, strict=True)
        for one, some in zip(traced, own, strict=True):
            one.lookups = {number: found[number] for number in some}
