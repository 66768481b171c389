"""One part of a check: as much of a draft as there is time for in one call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.checking.cited_papers import CitedPapers, without_notes
from deepcritical_mcp.checking.cited_texts import (
    CitedRecords,
    CitingTexts,
    abstracts_warning,
    check_texts,
    has_full_text,
    read_full_texts,
)
from deepcritical_mcp.checking.draft import Draft
from deepcritical_mcp.checking.kept_check import KeptCheck, keep_check, kept_check
from deepcritical_mcp.checking.reference_checker import ReferenceChecker, ReferenceOutcome
from deepcritical_mcp.checking.report_making import checked_references, with_part, with_remarks
from deepcritical_mcp.deadline import TO_CHECK_TEXTS, TO_KEEP_RESULTS, seconds_before
from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import CheckedReference, Finding, Publication, ReferenceVerdict
from deepcritical_mcp.progress import Progress, phase
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.sources import off_for
from deepcritical_mcp.text import counted

MAX_REFERENCES = 400
"""References of a part: more than one answer shows, and few enough to be looked up and kept in time."""
MAX_DUPLICATES = 5


@dataclass(frozen=True)
class Checkers:
    """What checks references, reads full texts, and compares claims with passages."""

    references: ReferenceChecker
    full_texts: FullTexts
    embedder: PassageEmbedder


@dataclass
class CheckPart:
    """The part of a check after what `kept` has; `read` is whether open full texts are read."""

    checkers: Checkers
    draft: Draft
    kept: KeptCheck
    session: EvidenceStore
    papers: CitedPapers
    _: KW_ONLY
    read: bool
    progress: Progress

    def __post_init__(self) -> None:
        self._cited: dict[int, Publication] = {}  # by the indexes of their references
        self._tried = set(self.kept.tried)
        self._errors, self._remarks = list(self.kept.report.errors), list(self.kept.remarks)
        self._references_done: KeptCheck | None = None

    async def check(self) -> KeptCheck:
        """The whole check so far, kept in the session."""
        earlier = self.kept.report.references
        named = {one.index: one.record.id for one in earlier if one.record}
        held = await self.papers.publications(list(named.values()))
        self._cited |= {index: held[id] for index, id in named.items() if id in held}
        references = await self._references()
        self._references_done = self._with(references, frozenset())
        texts = self.kept.texts(self.draft, checked=False)
        checked: dict[int, ReferenceVerdict] = {one.index: one.verdict for one in (*earlier, *references)}
        if open_ones := {one.index for one in self.draft.references} - checked.keys():
            texts = CitingTexts([], texts.without(open_ones).sentences)  # quotations may stand in any of the papers
        if self.read:
            texts = await self._with_full_texts(texts)
        records = {index: without_notes(one) for index, one in self._cited.items()}
        cited = CitedRecords(records, checked, await self.papers.others())
        found = await check_texts(texts, cited, self.checkers.embedder, phase(self.progress, 0.8, 0.95))
        return await self._keep(self._with([*references, *found.quotations, *found.claims], found.sentences))

    async def without_texts(self) -> KeptCheck | None:
        """The check with this part's references only, kept in the session, where there was no time for the quotations
        and claims; None if the references were not checked."""
        return await self._keep(self._references_done) if self._references_done else None

    def _with(self, findings: Sequence[Finding], sentences: frozenset[int]) -> KeptCheck:
        return KeptCheck(
            key=self.kept.key,
            report=with_part(self.kept.report, self.draft, findings),
            sentences=self.kept.sentences | sentences,
            tried=frozenset(self._tried),
            remarks=tuple(dict.fromkeys(self._remarks)),
        )

    async def _references(self) -> list[CheckedReference]:
        """The references that there was time for, their records kept as what the draft cites."""
        outcomes = await self._outcomes()
        found = list({one.publication.id: one.publication for one in outcomes if one.publication}.values())
        await self.progress(0.5, "keeping the records")
        kept = await self.papers.add_evidence(found)
        as_kept = {one.id: each.publication for one, each in zip(found, kept, strict=True)}
        self._cited |= {one.reference.index: as_kept[one.publication.id] for one in outcomes if one.publication}
        return await run_sync(checked_references, outcomes, as_kept, abandon_on_cancel=True)

    async def _outcomes(self) -> list[ReferenceOutcome]:
        left = self.kept.references_left(self.draft)[:MAX_REFERENCES]
        if not left:
            return []
        follows = TO_CHECK_TEXTS if self.draft.sentences or self.draft.quotations else TO_KEEP_RESULTS
        progress = phase(self.progress, 0.02, 0.5)
        with anyio.move_on_after(seconds_before(follows)):
            found = await self.checkers.references.check(left, self.papers, progress=progress)
            self._errors += found.errors
            self._remarks += found.warnings
            return [one for one in found.outcomes if not one.pending]
        return []

    async def _with_full_texts(self, texts: CitingTexts) -> CitingTexts:
        """The texts for which every open full text was read or looked for."""
        progress = phase(self.progress, 0.52, 0.8)
        tried, errors = await read_full_texts(self.checkers.full_texts, self._unread(texts), self.papers, progress)
        self._tried |= tried
        self._errors += errors
        held = await self.papers.publications([one.id for one in self._cited.values()])
        self._cited = {index: held.get(one.id, one) for index, one in self._cited.items()}
        later = {one.id for one in self._unread(texts)}
        return texts.without({index for index, one in self._cited.items() if one.id in later})

    def _unread(self, texts: CitingTexts) -> list[Publication]:
        """The records that these texts cite, and whose full texts were not looked for yet."""
        cited = {self._cited[index].id: self._cited[index] for index in sorted(texts.cited & self._cited.keys())}
        return [one for one in cited.values() if one.id not in self._tried and not has_full_text(one)]

    async def _keep(self, check: KeptCheck) -> KeptCheck:
        """The check with what must be known about it, kept in the session."""
        await self.progress(0.95, "keeping the report in the session")
        cited = check.texts(self.draft, checked=True).cited
        warnings = [
            *self.draft.remarks,
            _duplicates(check.report.references),
            _switched_off(self.checkers.full_texts.off),
            *check.remarks,
            _left(check, self.draft),
            abstracts_warning([one for index, one in self._cited.items() if index in cited], read=self.read),
        ]
        check = check.with_report(with_remarks(check.report, warnings, self._errors))
        try:
            await self.papers.keep()
            latest = await kept_check(self.session) if self.kept.report.order else None
            if latest and latest.key == check.key and len(latest.report.order) > len(self.kept.report.order):
                return latest  # another call has gone on meanwhile: what it reported stays where it is
            await keep_check(check, self.session)
        except (SessionBusyError, EvidenceStoreError) as error:
            told = f"The report could not be kept, so the next part checks the draft again: {error.message}"
            return check.with_report(with_remarks(check.report, warnings, [*self._errors, told]))
        return check


def _duplicates(references: Sequence[CheckedReference]) -> str:
    """Which references are the same paper; "" if none are."""
    same: dict[str, list[str]] = {}
    for one in sorted(references, key=lambda one: one.index):
        if one.record and one.verdict in ("verified", "minor"):
            same.setdefault(one.record.id, []).append(f"[{one.label}]" if one.label else str(one.index))
    several = [f"{' and '.join(names)} ({id})" for id, names in same.items() if len(names) > 1]
    more = f", and {len(several) - MAX_DUPLICATES} more" if len(several) > MAX_DUPLICATES else ""
    named = f"{', '.join(several[:MAX_DUPLICATES])}{more}"
    return f"The same paper is listed more than once: references {named}." if several else ""


def _switched_off(off: Collection[str]) -> str:
    """Which services that know references are not asked here; "" if all are."""
    names = off_for({"pmid", "doi", "reference"}, off)
    are_off = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} switched off here (DEEPCRITICAL_OFF)"
    return f"{are_off} and not asked: checking again changes nothing about that." if names else ""


def _left(check: KeptCheck, draft: Draft) -> str:
    """What there was no time for; "" if nothing is left."""
    texts = check.texts(draft, checked=False)
    counts = {
        "reference": len(check.references_left(draft)),
        "quotation": len(texts.quotations),
        "citing sentence": len(texts.sentences),
    }
    named = [counted(count, noun) for noun, count in counts.items() if count]
    return f"Not checked yet, for lack of time: {', '.join(named)}. The next part goes on with them." if named else ""
