"""The check of a draft: its parts checked together, its findings put together in a report, the gravest first, which the
session keeps with the papers that are cited."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import anyio
from anyio.to_thread import run_sync
from pydantic import ValidationError

from deepcritical_mcp.checking.cited_texts import (
    CitedPapers,
    check_texts,
    has_full_text,
    read_full_texts,
    without_notes,
)
from deepcritical_mcp.checking.draft import Draft, DraftReference, read_draft
from deepcritical_mcp.checking.reference_checker import ReferenceChecker, ReferenceOutcome
from deepcritical_mcp.checking.reference_meaning import corrected, with_status
from deepcritical_mcp.checking.report_text import RANKS, STATUSES, brief, rank_of, report_text, status_ranks
from deepcritical_mcp.deadline import (
    TO_CHECK_TEXTS,
    TO_KEEP_RESULTS,
    Progress,
    no_progress,
    phase,
    seconds_before,
    seconds_left,
)
from deepcritical_mcp.errors import DeadlineExceededError, EvidenceStoreError, InvalidInputError, SessionBusyError
from deepcritical_mcp.evidence.session_access import PassageEmbedder
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import (
    CHECK_TOOL,
    CheckedClaim,
    CheckedQuotation,
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    FindingKind,
    Publication,
    ReferenceVerdict,
    Value,
    findings_of,
    vancouver,
    with_findings,
)
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.search_steps import Recording, lookup_entry
from deepcritical_mcp.search.witness import OutageRemark
from deepcritical_mcp.sources import off_for
from deepcritical_mcp.text import clean_line, clipped, counted

REPORT = "citations"
"""The name under which a session keeps the report of its last check."""
REFERENCES = "references of a draft"
"""What the log of searches calls them."""
MAX_REFERENCES = 400
"""References of a part: more than one answer shows, and few enough to be looked up and kept in time."""
TOGETHER = 100
"""References that are looked up at once: what was found of them is kept, also where there is no time for the others."""
NO_REFERENCES = (
    "No references were found in this text. Pass the whole draft with its list of references (Markdown or plain text), "
    "a BibTeX, RIS or CSL-JSON file, or a bare list: one reference a line, each with its PMID or DOI, or with authors, "
    "title, journal and year. If it cites by keys, such as [@smith2020], pass its bibliography (.bib) together with it."
)
NOT_KEPT = "This session does not keep the check of this text: offset=0 shows the {} before these, the gravest ones."
STUCK = "Nothing from offset {} on could be checked in time. Pass fewer references in one call, or offset=0 to restart."


class KeptCheck(Value):
    """A check as far as it went, as a session keeps it.

    Attributes:
        key: identifies the draft, and how it is checked.
        sentences: where the citing sentences start whose claims were checked.
        tried: the ids of the records whose full texts were looked for.
        remarks: what the references' services had to say besides, for the warnings of the report.
        order: that of the report, which is not written with it.
    """

    key: str
    report: CitationReport
    sentences: frozenset[int] = frozenset()
    tried: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()
    order: tuple[FindingKind, ...] = ()

    def left(self, draft: Draft) -> Draft:
        """The references, sentences and quotations of a draft that were not checked yet."""
        references, quotations = self.report.references, self.report.quotations
        checked, quoted = ({one.index for one in some} for some in (references, quotations))
        return Draft(
            tuple(one for one in draft.references if one.index not in checked),
            tuple(one for one in draft.sentences if one.start not in self.sentences),
            tuple(one for one in draft.quotations if one.number not in quoted),
        )

    def is_complete(self, draft: Draft) -> bool:
        """Whether everything was checked."""
        return self.left(draft) == Draft()


async def kept_check(session: EvidenceStore) -> KeptCheck | None:
    """The last check of a session; None if there was none that this version can read."""
    try:
        kept = KeptCheck.model_validate_json(await session.document(REPORT))
    except ValidationError:
        return None
    return kept.model_copy(update={"report": kept.report.model_copy(update={"order": kept.order})})


@dataclass(frozen=True)
class CitationChecker:
    """Checks drafts; `seconds` is how long one part takes at most where no deadline is set around it."""

    references: ReferenceChecker
    full_texts: FullTexts
    embedder: PassageEmbedder
    _: KW_ONLY
    seconds: float = 45.0

    async def check(
        self,
        text: str,
        session: EvidenceStore,
        *,
        offset: int = 0,
        read: bool = False,
        progress: Progress = no_progress,
    ) -> CitationReport:
        """The report on everything from `offset` on that there was time for, the gravest first.

        Findings (references, quotations, claims) are counted in the order of the report, see `findings_of`; what was
        reported stays where it is, and `next_offset` is -1 when everything was checked and is in the report. `offset` =
        0 checks the draft anew; a larger one goes on with the same text, from the report that the session keeps if it
        has one. With `read`, full texts of cited records are fetched for quotations and claims.

        Raises:
            InvalidInputError: the draft has no references, or `offset` is beyond the end.
            DeadlineExceededError: not even a part could be checked in time.
        """
        await progress(0.0, "reading the draft")
        draft, problem = await run_sync(read_draft, text, abandon_on_cancel=True), ""
        if not draft.references:
            unread = [f'Not read: "{clipped(clean_line(one.text), 80)}" ({one.reason}).' for one in draft.unread[:3]]
            raise InvalidInputError(" ".join([NO_REFERENCES, *unread]))
        key = hashlib.sha256(f"{read:d}{text}".encode(errors="surrogatepass")).hexdigest()
        papers, kept = await CitedPapers.of(session), await kept_check(session) if offset else None
        goes_on = kept is not None and kept.key == key
        if kept is None or not goes_on:
            kept = KeptCheck(key=key, report=CitationReport(session_id=session.session_id))
        if offset < len(findings_of(kept.report)):
            kept = kept.model_copy(update={"report": await self._current(kept.report, offset, papers)})
        elif not kept.is_complete(draft):
            before, part = kept, _Part(self, draft, kept, session, papers, read=read, progress=progress)
            kept, problem = await part.check()
            has_new = len(findings_of(kept.report)) > offset or kept.is_complete(draft)
            is_same = (kept.sentences, kept.tried) == (before.sentences, before.tried)
            if not has_new and (is_same or (offset and not goes_on)):
                raise DeadlineExceededError(STUCK.format(offset))
        start = NOT_KEPT.format(counted(offset, "finding")) if offset and not goes_on else ""
        findings, is_complete = findings_of(kept.report), kept.is_complete(draft)
        if is_complete and offset >= len(findings):
            beyond = f"offset {offset} is beyond the end: the report has {counted(len(findings), 'finding')}."
            raise InvalidInputError(f"{beyond} Pass 0 to check the draft anew.")
        report = with_findings(kept.report, findings[offset:])
        evidence = await session.publications(_ids(report))
        changes = {
            "warnings": tuple(filter(None, (start, *report.warnings, problem))),
            "cited": tuple(one.index for one in report.references if one.record and one.record.id not in evidence),
            "unread": report.unread if not offset else (),
            "next_offset": -1 if is_complete else max(offset, len(findings)),
        }
        return report.model_copy(update=changes)

    async def _current(self, report: CitationReport, offset: int, papers: CitedPapers) -> CitationReport:
        """A kept report, the status of its records from `offset` on asked again, unless that was for a part before."""
        shown = with_findings(report, findings_of(report)[offset:])
        remarks = await self.references.ask_again(_ids(shown), papers)
        await papers.keep()
        current = with_current_status(report, await papers.publications(_ids(report)))
        return with_remarks(current, [*current.warnings, *remarks], current.errors)

    async def kept_report(self, session: EvidenceStore) -> CitationReport | None:
        """The whole report of the last check in a session, as far as it went, with the status that its records have
        now; None if there was none."""
        kept, papers = await kept_check(session), await CitedPapers.of(session)
        return with_current_status(kept.report, await papers.publications(_ids(kept.report))) if kept else None

    async def written_report(self, session: EvidenceStore) -> str:
        """The report of the last check for a file, the status of its records asked again; "" if there was none."""
        kept = await kept_check(session)
        return report_text(brief(await self._current(kept.report, 0, await CitedPapers.of(session)))) if kept else ""


@dataclass
class _Part:
    """The part of a check after what `kept` has: as much as there is time for in one call; `read` is whether open full
    texts are read."""

    checker: CitationChecker
    draft: Draft
    kept: KeptCheck
    session: EvidenceStore
    papers: CitedPapers
    _: KW_ONLY
    read: bool
    progress: Progress

    # What this part adds; the papers by the indexes of their references.
    _cited: dict[int, Publication] = field(init=False, default_factory=dict[int, Publication])
    _tried: set[str] = field(init=False, default_factory=set[str])
    _errors: list[str] = field(init=False, default_factory=list[str])
    _remarks: list[str] = field(init=False, default_factory=list[str])

    async def check(self) -> tuple[KeptCheck, str]:
        """Check what is left, keep the whole check so far in the session (with the references only if time is short),
        log it as a search, and return it with the reason why it could not be logged, or ""."""
        texts, earlier = self.kept.left(self.draft), self.kept.report.references
        references, findings, sentences = None, list[Finding](), frozenset[int]()
        done = {one.index for one in earlier}
        async with Recording(lookup_entry(CHECK_TOOL, [REFERENCES]), self.session) as recording:
            with anyio.move_on_after(seconds_before(TO_KEEP_RESULTS, cap=self.checker.seconds)):
                named = {one.index: one.record.id for one in earlier if one.record}
                held = await self.papers.publications(list(named.values()))
                self._cited |= {index: held[id] for index, id in named.items() if id in held}
                references = await self._references(texts.references[:MAX_REFERENCES])
                verdicts: dict[int, ReferenceVerdict] = {one.index: one.verdict for one in (*earlier, *references)}
                if open_ones := {one.index for one in self.draft.references} - verdicts.keys():
                    texts = replace(texts.without(open_ones), quotations=())  # these may stand in any of the papers
                texts = await self._with_full_texts(texts) if self.read else texts
                records = {index: without_notes(one) for index, one in self._cited.items()}
                sources = records, verdicts, await self.papers.others()
                progress = phase(self.progress, 0.8, 0.95)
                findings, sentences = await check_texts(texts, sources, self.checker.embedder, progress)
            if references is None:  # there was no time even for these
                raise DeadlineExceededError("The draft was not checked in time. Try again, or pass it in pieces.")
            found = await self._keep([*references, *findings], sentences)
            new = [one for one in found.report.references if one.index not in done]
            ids = list(dict.fromkeys(one.record.id for one in new if one.record))
            recording.checked([one.verdict for one in new], ids, errors=found.report.errors)
        return found, recording.problem

    async def _references(self, left: Sequence[DraftReference]) -> list[CheckedReference]:
        """Those of the references that there was time for, their records kept as what the draft cites."""
        outcomes = list[ReferenceOutcome]()
        follows, took = TO_CHECK_TEXTS if self.draft.sentences or self.draft.quotations else TO_KEEP_RESULTS, 0.0
        with anyio.move_on_after(seconds_before(follows)):
            for at in range(0, len(left), TOGETHER):
                if seconds_left() < took:  # there is no time for as many again
                    break
                begun, progress = anyio.current_time(), phase(self.progress, 0.02 + 0.48 * at / len(left), 0.5)
                some = left[at : at + TOGETHER]
                found, errors, remarks = await self.checker.references.check(some, self.papers, progress=progress)
                self._errors += errors
                self._remarks += remarks
                outcomes += (one for one in found if not one.pending)
                took = anyio.current_time() - begun
        records = list({one.publication.id: one.publication for one in outcomes if one.publication}.values())
        await self.progress(0.5, "keeping the records")
        kept = await self.papers.add_evidence(records)
        as_kept = {one.id: each.publication for one, each in zip(records, kept, strict=True)}
        self._cited |= {one.reference.index: as_kept[one.publication.id] for one in outcomes if one.publication}
        return await run_sync(checked_references, outcomes, as_kept, abandon_on_cancel=True)

    async def _with_full_texts(self, texts: Draft) -> Draft:
        """The texts for which every open full text was read or looked for."""
        progress, full_texts = phase(self.progress, 0.52, 0.8), self.checker.full_texts
        tried, errors = await read_full_texts(full_texts, self._unread(texts), self.papers, progress)
        self._tried |= tried
        self._errors += errors
        held = await self.papers.publications([one.id for one in self._cited.values()])
        self._cited = {index: held.get(one.id, one) for index, one in self._cited.items()}
        later = {one.id for one in self._unread(texts)}
        return texts.without({index for index, one in self._cited.items() if one.id in later})

    def _unread(self, texts: Draft) -> list[Publication]:
        """The records that these texts cite, and whose full texts were not looked for yet."""
        indexes = {index for one in (*texts.quotations, *texts.sentences) for index in one.references}
        cited = {self._cited[index].id: self._cited[index] for index in sorted(indexes & self._cited.keys())}
        tried = self.kept.tried | self._tried
        return [one for one in cited.values() if one.id not in tried and not has_full_text(one)]

    async def _keep(self, findings: Sequence[Finding], sentences: frozenset[int]) -> KeptCheck:
        """The check with these findings after those that it has, and what must be known about it, kept in the
        session."""
        await self.progress(0.95, "keeping the report in the session")
        kept, draft = self.kept, self.draft
        told = {"references": len(draft.references), "unread": len(draft.unread)}
        unread = [f"“{clipped(clean_line(one.text), MAX_UNREAD)}” ({one.reason})" for one in draft.unread]
        quotations = (one for one in (*kept.report.quotations, *findings) if isinstance(one, CheckedQuotation))
        quoted = [one for one in quotations if one.passage]
        new = [one for one in findings if not any(_is_told_with(one, each) for each in quoted)]
        new.sort(key=lambda one: RANKS.index(rank_of(one)))
        whole = with_findings(kept.report, (*findings_of(kept.report), *new))
        whole = whole.model_copy(update={"counts": told, "unread": tuple(unread)})
        report = whole.model_copy(update={"counts": counts_of(whole)})
        remarks = tuple(dict.fromkeys((*kept.remarks, *self._remarks)))
        checked = {"sentences": kept.sentences | sentences, "tried": kept.tried | self._tried, "remarks": remarks}
        check = kept.model_copy(update={"report": report, **checked})
        warnings, errors = [*self._warnings(check)], [*kept.report.errors, *self._errors]
        report = with_remarks(report, warnings, errors)
        check = check.model_copy(update={"report": report, "order": report.order})
        try:
            await self.papers.keep()
            await self.session.keep_document(REPORT, check.model_dump_json())
        except (SessionBusyError, EvidenceStoreError) as error:
            told = f"The report could not be kept, so the next part checks the draft again: {error.message}"
            return check.model_copy(update={"report": with_remarks(report, warnings, [*errors, told])})
        return check

    def _warnings(self, check: KeptCheck) -> Iterator[str]:
        """What to know of the draft and its check as a whole."""
        yield from self.draft.remarks
        same = dict[str, list[str]]()
        for one in sorted(check.report.references, key=lambda one: one.index):
            if one.record and one.verdict in ("verified", "minor"):
                same.setdefault(one.record.id, []).append(f"[{one.label}]" if one.label else str(one.index))
        if several := [f"{' and '.join(names)} ({id})" for id, names in same.items() if len(names) > 1]:
            yield f"The same paper is listed more than once: references {', '.join(several)}."
        if names := off_for({"pmid", "doi", "reference"}, self.checker.full_texts.off):
            are_off = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} switched off here (DEEPCRITICAL_OFF)"
            yield f"{are_off} and not asked: checking again changes nothing about that."
        yield from check.remarks
        left = check.left(self.draft)
        texts = (left.references, "reference"), (left.quotations, "quotation"), (left.sentences, "citing sentence")
        if named := [counted(len(some), noun) for some, noun in texts if some]:
            yield f"Not checked yet, for lack of time: {', '.join(named)}. The next part goes on with them."
        compared = {index for one in (*check.report.quotations, *check.report.claims) for index in one.references}
        read = (one for index, one in self._cited.items() if index in compared)
        if count := len({one.id for one in read if not has_full_text(one)}):
            told = "could be compared with the draft: what is not found there may stand in the full text."
            advice = "" if self.read else " read=true reads the full texts that are open."
            yield f"Of {counted(count, 'cited paper')} only the abstract (or the title) {told}{advice}"


def _ids(report: CitationReport) -> list[str]:
    """The ids of its records."""
    return list(dict.fromkeys(one.record.id for one in report.references if one.record))


MAX_KEPT, MAX_UNREAD = 1_500, 300
"""Characters of a reference in a report, and of what is not read; a consortium's list of authors can be longer."""


def counts_of(report: CitationReport) -> dict[str, int]:
    """See `CitationReport.counts`."""
    checked, references = report.references, report.counts.get("references", 0)
    unread, quotations = report.counts.get("unread", 0), len(report.quotations)
    known = {"entries": references + unread, "unread": unread, "references": references, "checked": len(checked)}
    counts = Counter[str](f"quotations_{one.verdict}" for one in report.quotations)
    for one in checked:
        told = {*status_ranks(one), *({one.status} & {*STATUSES})}
        counts.update(told if one.verdict == "verified" and told else {one.verdict, *told})
    counts.update(claims_with_numbers_missing=sum(bool(one.numbers_missing) for one in report.claims))
    return known | {"quotations": quotations, "claims": len(report.claims)} | {**counts}


def checked_references(outcomes: Iterable[ReferenceOutcome], kept: Mapping[str, Publication]) -> list[CheckedReference]:
    """What clients see of the outcomes; `kept` are the records as they are kept, by the ids that they were found under.
    Takes about a millisecond a reference."""
    return [
        CheckedReference(
            index=one.reference.index,
            label=one.reference.label,
            written=clipped(clean_line(one.reference.text), MAX_KEPT),
            verdict=one.verdict,
            record=_record(one.publication, kept[one.publication.id].id) if one.publication else None,
            problems=one.problems,
            reason=one.reason,
            corrected=corrected(one.reference.text, one.publication, one.problems) if one.publication else "",
            candidates=tuple(_record(each, each.id) for each in one.candidates),
        )
        for one in outcomes
    ]


def _record(publication: Publication, id: str) -> CheckedRecord:
    same = ("pmid", "doi", "status", "status_notices", "status_checked")
    return CheckedRecord(id=id, reference=vancouver(publication), **{name: getattr(publication, name) for name in same})


def _is_told_with(one: Finding, quoted: CheckedQuotation) -> bool:
    """Whether the passage of a sentence is told with what the sentence quotes: most of it, so that nothing else is to
    be said of it."""
    if not isinstance(one, CheckedClaim) or (one.where, rank_of(one)) != (quoted.where, "claim"):
        return False
    is_there = quoted.passage in one.passage and quoted.quote in one.sentence
    return is_there and 2 * len(quoted.quote) >= len(one.sentence)


def with_remarks(report: CitationReport, warnings: Iterable[str], errors: Iterable[str]) -> CitationReport:
    """The report with these remarks, each once, instead of its own; remarks on outages are errors."""
    told = [*filter(None, warnings)]
    outages = (one for one in told if isinstance(one, OutageRemark))
    others = (one for one in told if not isinstance(one, OutageRemark))
    update = {"warnings": tuple(dict.fromkeys(others)), "errors": tuple(dict.fromkeys((*errors, *outages)))}
    return report.model_copy(update=update)


def with_current_status(report: CitationReport, held: Mapping[str, Publication]) -> CitationReport:
    """The report, its findings where they were, with the status that its records have now; `held` has these by id."""
    references = [*report.references]
    for at, one in enumerate(references):
        if one.record and (publication := held.get(one.record.id)):
            now = {name: getattr(publication, name) for name in ("status", "status_notices", "status_checked")}
            problems = with_status([each for each in one.problems if each.field != "status"], publication, one.written)
            changes = {"record": one.record.model_copy(update=now), "problems": problems}
            references[at] = one.model_copy(update=changes)
    current = report.model_copy(update={"references": tuple(references)})
    return current.model_copy(update={"counts": counts_of(current)})
