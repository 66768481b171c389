"""What is wrong with references: their records, laid against what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from deepcritical_mcp.checking.draft import DraftReference
from deepcritical_mcp.checking.reference_meaning import unchecked_work, with_status
from deepcritical_mcp.checking.reference_verdicts import ReferenceOutcome, TracedReference, outcome_of
from deepcritical_mcp.deadline import TO_KEEP_RESULTS, Progress, no_progress, seconds_before
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.full_texts import FullTexts, stub_of
from deepcritical_mcp.search.record_finder import Lookup
from deepcritical_mcp.search.references import read_reference
from deepcritical_mcp.search.search_steps import ReadingSession
from deepcritical_mcp.search.witness import OutageRemark, Witness
from deepcritical_mcp.sources.full_text import Wanted

SECONDS = 45.0
"""How long a check takes at most where no deadline is set around it."""
OF_ONE_CHECK = 600.0
"""Seconds within which a further part belongs to the check whose first part was asked for."""


@dataclass(frozen=True)
class ReferenceOutcomes:
    """What became of each reference, in order, the outages on the way, and what else to know, in words."""

    outcomes: tuple[ReferenceOutcome, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


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
        traced = await anyio.to_thread.run_sync(lambda: [_read(one) for one in references])
        await progress(0.05, "looking up the numbers of the references")
        await self._by_number(traced, session, end)
        await progress(0.3, "looking for references without a number")
        if open_ones := [one for one in traced if one.needs_search]:
            seconds = max(0.0, end - anyio.current_time())
            matches = await self._full_texts.references.find([one.reference for one in open_ones], seconds)
            for one, match in zip(open_ones, matches, strict=True):
                one.match = match
        off = self._full_texts.off
        outcomes = await anyio.to_thread.run_sync(lambda: [outcome_of(one, off) for one in traced])
        await progress(0.9, "checking for retractions")
        outcomes, remarks = await self._with_status(outcomes, anyio.current_time() - begun)
        errors = [error.message for one in traced for error in one.failures]
        errors += [one for one in remarks if isinstance(one, OutageRemark)]
        warnings = [one for one in remarks if not isinstance(one, OutageRemark)]
        return ReferenceOutcomes(tuple(outcomes), tuple(dict.fromkeys(errors)), tuple(dict.fromkeys(warnings)))

    async def ask_again(self, ids: Sequence[str], session: ReadingSession) -> tuple[str, ...]:
        """Ask again for the status of records that an earlier part of a check was about, and keep it; gives remarks."""
        return (await self._witness.refresh(session, ids, within=OF_ONE_CHECK)).remarks

    async def _by_number(self, traced: Sequence[TracedReference], session: ReadingSession, end: float) -> None:
        """Look up each PMID and DOI by itself, since they may be those of two papers; a PMCID only alone."""
        numbers = list(dict.fromkeys(number for one in traced for number in one.numbers))
        held = await _held(numbers, session)
        found: dict[RecordIds, Lookup] = {number: Lookup.of(record) for number, record in held.items()}
        if missing := [number for number in numbers if number not in held]:
            seconds = max(0.0, end - anyio.current_time())
            lookups = await self._full_texts.records.find([*map(Wanted, missing)], seconds)
            found |= zip(missing, lookups, strict=True)
        for one in traced:
            one.lookups = {number: found[number] for number in one.numbers}

    async def _with_status(
        self, outcomes: Sequence[ReferenceOutcome], within: float
    ) -> tuple[list[ReferenceOutcome], Sequence[str]]:
        """The outcomes with what happened to their records, which is asked again unless it was asked within the last
        seconds."""
        named = (each for one in outcomes for each in (one.publication, *one.candidates) if each)
        records = list({one.id: one for one in named}.values())
        asked = await self._witness.rechecked(records, within=within)
        current = {old.id: new for old, new in zip(records, asked.publications, strict=True)}
        return [_with_record(one, current) for one in outcomes], asked.remarks


def _read(one: DraftReference) -> TracedReference:
    return TracedReference(one, said := read_reference(one.text), unchecked_work(one.text, said))


def _with_record(outcome: ReferenceOutcome, current: Mapping[str, Publication]) -> ReferenceOutcome:
    outcome = replace(outcome, candidates=tuple(current[one.id] for one in outcome.candidates))
    record = outcome.publication and current[outcome.publication.id]
    problems = with_status(outcome.problems, record, outcome.reference.text) if record else outcome.problems
    return replace(outcome, publication=record, problems=problems)


async def _held(numbers: Sequence[RecordIds], session: ReadingSession) -> dict[RecordIds, Publication]:
    """The records that a session has, by their numbers."""
    ids = await session.known([stub_of(number) for number in numbers]) if numbers else []
    found = await session.publications(list(dict.fromkeys(filter(None, ids))))
    held = ((number, found.get(id)) for number, id in zip(numbers, ids, strict=True))
    return {number: one for number, one in held if one and one.is_record and not one.is_users and not one.awaits_pubmed}
