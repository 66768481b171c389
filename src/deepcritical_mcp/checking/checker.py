"""The check of a draft: its parts checked together, the report kept in the session with the papers that it cites."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.checking.check_part import Checkers, CheckPart
from deepcritical_mcp.checking.cited_papers import CitedPapers
from deepcritical_mcp.checking.draft import Draft, read_draft
from deepcritical_mcp.checking.kept_check import KeptCheck, kept_check, key_of
from deepcritical_mcp.checking.reference_checker import ReferenceChecker
from deepcritical_mcp.checking.report_making import with_current_status, with_remarks
from deepcritical_mcp.checking.report_text import brief, report_text
from deepcritical_mcp.deadline import TO_KEEP_RESULTS, seconds_before
from deepcritical_mcp.errors import DeadlineExceededError, InvalidInputError
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import CHECK_TOOL, CitationReport, findings_of, with_findings
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.recording import lookup_entry, recorded
from deepcritical_mcp.search.witness import OutageRemark
from deepcritical_mcp.text import clean_line, clipped, counted

NO_REFERENCES = (
    "No references were found in this text. Pass the whole draft with its list of references (Markdown or plain text), "
    "a BibTeX, RIS or CSL-JSON file, or a bare list: one reference a line, each with its PMID or DOI, or with authors, "
    "title, journal and year."
)
BY_KEYS = " This one cites by keys, such as [@smith2020]: pass its bibliography (.bib) together with it."
ANOTHER_TEXT = "This session does not keep the check of this text, so it was checked from the start."
REFERENCES = "references of a draft"
"""What the log of searches calls them."""
_KEYS = ("[@", "[-@", "\\cite")


def _stuck(kept: KeptCheck, offset: int) -> str:
    count = counted(len(findings_of(kept.report)), "finding")
    return (
        f"Nothing from offset {offset} on could be checked in the time of one call ({count} so far). Pass fewer "
        "references in one call, a few sections with the references that they cite, or offset=0 to begin again."
    )


class CitationChecker:
    """Checks drafts; `seconds` is how long one part takes at most where no deadline is set around it."""

    def __init__(
        self, references: ReferenceChecker, full_texts: FullTexts, embedder: PassageEmbedder, *, seconds: float = 45.0
    ) -> None:
        self._checkers = Checkers(references, full_texts, embedder)
        self._seconds = seconds

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
            raise InvalidInputError(_no_references(text, draft))
        key, papers = key_of(text, read=read), await CitedPapers.of(session)
        kept = await kept_check(session) if offset else None
        goes_on = kept is not None and kept.key == key
        if kept is None or not goes_on:
            kept = KeptCheck(key=key, report=CitationReport(session_id=session.session_id))
        if offset < len(findings_of(kept.report)):
            kept = kept.with_report(await self._current(kept.report, offset, papers))
        elif not kept.is_complete(draft):
            part = CheckPart(self._checkers, draft, kept, session, papers, read=read, progress=progress)
            before = kept
            kept, problem = await self._checked(part, kept, session)
            has_new = len(findings_of(kept.report)) > offset or kept.is_complete(draft)
            if not has_new and (kept.progress == before.progress or (offset and not goes_on)):
                raise DeadlineExceededError(_stuck(kept, offset))
        remarks = [problem] if goes_on or not offset else [_from_the_start(offset), problem]
        return await _shown(kept, draft, offset, papers, remarks)

    async def _checked(self, part: CheckPart, before: KeptCheck, session: EvidenceStore) -> tuple[KeptCheck, str]:
        """The check with one part more, which is in the log of searches as a check; and why it is not."""
        done = {one.index for one in before.report.references}
        async with recorded(lookup_entry(CHECK_TOOL, [REFERENCES]), session) as recording:
            found: KeptCheck | None = None
            with anyio.move_on_after(seconds_before(TO_KEEP_RESULTS, cap=self._seconds)) as scope:
                found = await part.check()
            if scope.cancelled_caught:
                found = await part.without_texts()
            if found is None:
                raise DeadlineExceededError("The draft was not checked in time. Try again, or pass it in pieces.")
            checked = [one for one in found.report.references if one.index not in done]
            records = dict.fromkeys(one.record.id for one in checked if one.record)
            recording.checked([one.verdict for one in checked], [*records], errors=found.report.errors)
        return found, recording.problem

    async def _current(self, report: CitationReport, offset: int, papers: CitedPapers) -> CitationReport:
        """A kept report, the status of its records from `offset` on asked again, unless that was for a part before."""
        shown = with_findings(report, findings_of(report)[offset:])
        remarks = await self._checkers.references.ask_again(_ids(shown), papers)
        await papers.keep()
        current = await _as_held(report, papers)
        outages = [one for one in remarks if isinstance(one, OutageRemark)]
        told = [one for one in remarks if not isinstance(one, OutageRemark)]
        return with_remarks(current, (*current.warnings, *told), (*current.errors, *outages))

    async def kept_report(self, session: EvidenceStore) -> CitationReport | None:
        """The whole report of the last check in a session, as far as it went, with the status that its records have
        now; None if there was none."""
        kept = await kept_check(session)
        return await _as_held(kept.report, await CitedPapers.of(session)) if kept else None

    async def written_report(self, session: EvidenceStore) -> str:
        """The report of the last check for a file, the status of its records asked again; "" if there was none."""
        kept = await kept_check(session)
        return report_text(brief(await self._current(kept.report, 0, await CitedPapers.of(session)))) if kept else ""


def _no_references(text: str, draft: Draft) -> str:
    unread = [f'Not read: "{clipped(clean_line(one.text), 80)}" ({one.reason}).' for one in draft.unread[:3]]
    return " ".join([NO_REFERENCES + BY_KEYS * any(key in text for key in _KEYS), *unread])


def _from_the_start(offset: int) -> str:
    return f"{ANOTHER_TEXT} offset=0 shows the {counted(offset, 'finding')} before these, the gravest ones."


async def _shown(
    kept: KeptCheck, draft: Draft, offset: int, papers: CitedPapers, remarks: Sequence[str]
) -> CitationReport:
    """What there is from `offset` on."""
    findings, is_complete = findings_of(kept.report), kept.is_complete(draft)
    if is_complete and offset >= len(findings):
        beyond = f"offset {offset} is beyond the end: the report has {counted(len(findings), 'finding')}."
        raise InvalidInputError(f"{beyond} Pass 0 to check the draft anew.")
    report = with_findings(kept.report, findings[offset:])
    beside = await papers.beside(_ids(report))
    changes = {
        "warnings": tuple(filter(None, (*remarks[:-1], *report.warnings, remarks[-1]))),
        "cited": tuple(one.index for one in report.references if one.record and one.record.id in beside),
        "unread": report.unread if not offset else (),
        "next_offset": -1 if is_complete else max(offset, len(findings)),
    }
    return report.model_copy(update=changes)


def _ids(report: CitationReport) -> list[str]:
    """The ids of its records."""
    return list(dict.fromkeys(one.record.id for one in report.references if one.record))


async def _as_held(report: CitationReport, papers: CitedPapers) -> CitationReport:
    return with_current_status(report, await papers.publications(_ids(report)))
