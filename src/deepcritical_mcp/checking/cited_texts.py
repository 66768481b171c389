"""The texts of the records that a draft cites: read if they are open, and laid against its quotations and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.checking.claim_check import check_claims
from deepcritical_mcp.checking.draft import CitingSentence, DraftQuotation
from deepcritical_mcp.checking.quotation_check import check_quotation
from deepcritical_mcp.deadline import TO_KEEP_RESULTS, TO_READ_CITED_TEXTS, Progress, seconds_before, seconds_for
from deepcritical_mcp.errors import AllProvidersFailedError
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.models import CheckedClaim, CheckedQuotation, Publication, ReferenceVerdict
from deepcritical_mcp.search.documents import DocumentId
from deepcritical_mcp.search.full_texts import READ_KINDS, FullTexts
from deepcritical_mcp.search.record_finder import AT_ONCE
from deepcritical_mcp.search.search_steps import ReadingSession
from deepcritical_mcp.text import batches, counted

SENTENCES_AT_ONCE = 16
"""Citing sentences whose claims are checked together, before the time is looked at."""
NO_SOURCE = "the draft names no source for it"
_WHY_UNREAD = {"not_found": "not found", "outage": "a service failed", "unchecked": "of a kind that is not looked up"}
"""Why there is no record, by the verdict of a reference; of others, no record is sure."""


_Sources = tuple[Mapping[int, Publication], Mapping[int, ReferenceVerdict], Sequence[Publication]]
"""What is cited, the verdicts on the references, and other papers: see `check_texts`."""


@dataclass(frozen=True)
class CitingTexts:
    """Quotations, with their numbers, and citing sentences of a draft."""

    quotations: Sequence[tuple[int, DraftQuotation]]
    sentences: Sequence[CitingSentence]

    @property
    def cited(self) -> set[int]:
        """The indexes of the references that they cite."""
        texts = (*(quotation for _, quotation in self.quotations), *self.sentences)
        return {index for one in texts for index in one.references}

    def without(self, references: AbstractSet[int]) -> CitingTexts:
        """Those that cite none of these."""
        quotations = [one for one in self.quotations if references.isdisjoint(one[1].references)]
        return CitingTexts(quotations, [one for one in self.sentences if references.isdisjoint(one.references)])


def has_full_text(publication: Publication) -> bool:
    """Whether more of it can be read than an abstract."""
    return any(one.kind in READ_KINDS and one.parts for one in publication.texts)


async def read_full_texts(
    full_texts: FullTexts, records: Sequence[Publication], session: ReadingSession, progress: Progress
) -> tuple[set[str], list[str]]:
    """Read the open full texts of `records`, as far as there is time, and keep them in the session; the ids of those
    that were looked for, and what failed, in words."""
    started: dict[str, bool] = {}  # whether it has ended, too
    failed: list[str] = []
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async def read(record: Publication) -> None:
        async with limiter:
            started[record.id] = False
            await progress(len(started) / len(records), f"reading full texts, {len(started)} of {len(records)}")
            try:
                found = await full_texts.read(DocumentId(record.id, evidence=record.id), session, tool="")
                failed.extend(found.errors)
            except AllProvidersFailedError as error:
                failed.append(error.message)
            started[record.id] = True

    with anyio.move_on_after(seconds_for(TO_READ_CITED_TEXTS)):
        async with anyio.create_task_group() as tasks:
            for record in records:
                tasks.start_soon(read, record)
    if unread := [id for id, has_ended in started.items() if not has_ended]:
        failed.append(f"{counted(len(unread), 'full text')} could not be read in time: {', '.join(unread)}.")
    return {*started}, [*dict.fromkeys(failed)]


async def check_texts(
    texts: CitingTexts,
    cited: Mapping[int, Publication],
    verdicts: Mapping[int, ReferenceVerdict],
    others: Sequence[Publication],
    embedder: PassageEmbedder,
    progress: Progress,
) -> tuple[list[CheckedQuotation | CheckedClaim], frozenset[int]]:
    """Check quotations, then claims, for as long as there is time, but always some; and where the sentences start whose
    claims these are. `cited` are the records of the draft by the indexes of their references, `others` those of the
    session."""
    end = anyio.current_time() + seconds_before(TO_KEEP_RESULTS)
    quotations: list[CheckedQuotation] = []
    claims: list[CheckedClaim] = []
    done: set[int] = set()
    for number, quotation in texts.quotations:
        if quotations and anyio.current_time() > end:
            break
        await progress(0.5 * len(quotations) / len(texts.quotations), "checking quotations")
        quotations.append(await _checked_quotation(number, quotation, (cited, verdicts, others)))
    for some in batches(texts.sentences, SENTENCES_AT_ONCE):
        if (quotations or done) and anyio.current_time() > end:
            break
        await progress(0.5 + 0.5 * len(done) / len(texts.sentences), "looking for the passages nearest to claims")
        claims += await check_claims(some, cited, embedder)
        done.update(one.start for one in some)
    return [*quotations, *claims], frozenset(done)


async def _checked_quotation(number: int, quotation: DraftQuotation, sources: _Sources) -> CheckedQuotation:
    references, (cited, verdicts, more) = quotation.references, sources
    named = {cited[one].id: cited[one] for one in references if one in cited}
    others = {one.id: one for one in (*cited.values(), *more) if one.id not in named}
    asked, rest = (named, others) if references else (others, {})
    found = await run_sync(check_quotation, quotation.text, [*asked.values()], [*rest.values()], abandon_on_cancel=True)
    verdict, remark = found.verdict, "" if references else NO_SOURCE
    unread = [(one, verdicts.get(one, "")) for one in references if one not in cited]
    if unread and verdict in ("misattributed", "not_found"):
        reasons = (f"reference {index} ({_WHY_UNREAD.get(why, 'no record is sure')})" for index, why in unread)
        remark = f"nothing could be read of {', '.join(reasons)}"
        if any(why in ("outage", "unchecked") for _, why in unread):  # it may stand there, too
            verdict = "unchecked"
    told = {"index": number, "quote": quotation.text, "references": references, "verdict": verdict}
    return found.model_copy(update=told | {"difference": "; ".join(filter(None, (found.difference, remark)))})


def abstracts_warning(cited: Sequence[Publication], *, read: bool) -> str:
    """Of how many of the papers that were compared with the draft only the abstract could be; "" if of none."""
    count = len({one.id for one in cited if not has_full_text(one)})
    advice = "" if read else " read=true reads the full texts that are open."
    told = "could be compared with the draft: what is not found there may stand in the full text."
    return f"Of {counted(count, 'cited paper')} only the abstract (or the title) {told}{advice}" if count else ""
