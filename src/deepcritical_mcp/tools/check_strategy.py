"""The tool `check_strategy`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, get_args

from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi
from deepcritical_mcp.models import StrategyReport, Target, matches_mark
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.arguments.call_session import ToolContext, application, progress_of, session_for
from deepcritical_mcp.tools.arguments.params import GivenId, OtherSession, at_most, id_parts, read_document_id
from deepcritical_mcp.tools.spec import asking_tool

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

MAX_STRATEGY, MAX_SEEDS = 40_000, 200
"""Characters of a strategy; records that it is tested with."""


async def check_strategy(
    ctx: ToolContext,
    strategy: Annotated[
        str,
        at_most(MAX_STRATEGY, else_told="Test it in parts."),
        Field(description="PubMed syntax, or lines: 3. 1 AND 2"),
    ],
    seeds: Annotated[list[GivenId], Field(max_length=MAX_SEEDS, description='PMIDs, DOIs, "marked:included"')] = [],  # noqa: B006  # pydantic copies it
    targets: Annotated[list[Target], Field(max_length=len(get_args(Target)))] = [],  # noqa: B006
    session_id: OtherSession = "",
) -> StrategyReport:
    """Test (peer review, PRESS) a search strategy: hits a line, `seeds` it loses and why, errors; translate it for
    `targets`."""
    session = await session_for(ctx, session_id)
    given = await _seeds(seeds, session.store)
    checker = (await application(ctx).services()).strategies
    report = await checker.check(
        strategy, seeds=given, targets=targets, session_id=session.store.session_id, progress=progress_of(ctx)
    )
    return report.but(next_step=session.next_step(*_steps(report)))


async def _seeds(seeds: Sequence[str], store: EvidenceStore) -> list[tuple[str, RecordIds]]:
    """The seeds by their ids, each once: as given, or of the session's evidence with a mark.

    Raises:
        InvalidInputError: one of them is no id of a paper, nothing has the mark, or there are too many.
    """
    found: dict[RecordIds, str] = {}
    for seed in (part for one in map(clean_line, seeds) for part in id_parts(one)):
        _, is_mark, mark = seed.partition("marked:")
        if not is_mark:
            ids = read_document_id(seed)[0].ids
            if not (ids.pmid or ids.pmcid or ids.doi):
                raise InvalidInputError(f'seeds: "{seed[:60]}" is no PMID, PMCID or DOI, and no "marked:included".')
            found.setdefault(ids, seed)
            continue
        kept = (await store.publications(await store.ids())).values()
        chosen = [one for one in kept if matches_mark(one, mark) and (one.pmid or one.pmcid or one.doi)]
        papers = {RecordIds(one.pmid, one.pmcid, normalize_doi(one.doi)): one.id for one in chosen}
        if not papers:
            raise InvalidInputError(f'seeds: no paper is marked "{mark}" in this session: add_evidence marks by id.')
        found = papers | found
    if len(found) > MAX_SEEDS:
        raise InvalidInputError(f"seeds: at most {MAX_SEEDS}, got {len(found)}.")
    return [(seed, ids) for ids, seed in found.items()]


def _steps(report: StrategyReport) -> Iterator[str]:
    """What to do about what was found."""
    if any(one.level == "error" for one in report.problems):
        yield "Correct the errors, and call check_strategy again."
    if any(one.words for one in report.seeds):
        yield "Add words that fit the concept, not only the seed, and look how many more records that brings."
    if not report.seeds:
        yield "Pass papers that it must find as seeds."
    if any(one.not_translated for one in report.translations):
        yield "A translation is a draft: tell the user what is not translated, and try it in that database."


TOOL = asking_tool(check_strategy, "Test a search strategy", "🧭", changes_session=False)
