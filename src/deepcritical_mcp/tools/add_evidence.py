"""The tool `add_evidence`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import (
    AddedItem,
    AddResult,
    Citation,
    DuplicateItem,
    Evidence,
    RejectedItem,
    SimilarItem,
    Source,
    normalise_doi,
)
from deepcritical_mcp.text import clean_line, clean_text, cut_at_sentence
from deepcritical_mcp.tools.base import ToolSpec, keeping
from deepcritical_mcp.tools.params import SessionId
from deepcritical_mcp.tools.progress import progress_of
from deepcritical_mcp.tools.sessions import ToolContext, session_for

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

LONGEST_CONTENT = 100_000
LONGEST_CALL = 1_000_000
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


class EvidenceItem(BaseModel):
    """One item as the client's model writes it."""

    model_config = ConfigDict(extra="forbid")

    content: str
    title: str = ""
    url: str = ""
    source: Source = "user"
    date: Annotated[str, Field(description="YYYY[-MM[-DD]]")] = ""
    authors: list[str] = []
    pmid: str = ""
    doi: str = ""


async def add_evidence(
    ctx: ToolContext,
    items: Annotated[list[EvidenceItem], Field(min_length=1, max_length=100)],
    session_id: SessionId = "",
) -> AddResult:
    """Keep your own notes, quotes or documents in the session, to be found by semantic_search. What is there already is
    recognised, not stored twice."""
    if sum(len(item.content) for item in items) > LONGEST_CALL:
        raise InvalidInputError(
            f"items: at most {LONGEST_CALL:,} characters in one call; nothing was added. Send them in several calls."
        )
    session = await session_for(ctx, session_id)
    evidence: list[tuple[int, Evidence]] = []
    rejected: list[RejectedItem] = []
    for index, item in enumerate(items):
        problem = _problem(item)
        if problem:
            rejected.append(RejectedItem(index=index, reason=problem))
        else:
            evidence.append((index, _evidence(item)))
    progress = progress_of(ctx)
    await progress(0.1, f"keeping {len(evidence)} items")
    result = await _add(session.store, evidence, rejected)
    await progress(1.0, f"{len(result.added)} added, {len(result.duplicates)} known already")
    step = "Find it by meaning with semantic_search."
    return result.model_copy(update={"next_step": f"{session.hint} {step}".strip()})


async def _add(
    store: EvidenceStore, evidence: Sequence[tuple[int, Evidence]], rejected: list[RejectedItem]
) -> AddResult:
    outcomes = await store.add_evidence([piece for _, piece in evidence])
    added: list[AddedItem] = []
    duplicates: list[DuplicateItem] = []
    similar: list[SimilarItem] = []
    for (index, _), outcome in zip(evidence, outcomes, strict=True):
        if outcome.status == "duplicate":
            duplicates.append(
                DuplicateItem(
                    index=index,
                    duplicate_of=outcome.evidence.id,
                    similarity=round(outcome.similarity, 4),
                    reason=outcome.reason,
                )
            )
            continue
        added.append(AddedItem(index=index, id=outcome.evidence.id))
        similar += [SimilarItem(index=index, id=other, similarity=round(value, 4)) for other, value in outcome.folds]
    return AddResult(
        session_id=store.session_id,
        added=tuple(added),
        duplicates=tuple(duplicates),
        similar=tuple(similar),
        rejected=tuple(rejected),
        total=await store.count(),
    )


def _problem(item: EvidenceItem) -> str:
    if not clean_text(item.content):
        return "content is empty"
    if len(item.content) > LONGEST_CONTENT:
        return f"content has {len(item.content):,} characters; at most {LONGEST_CONTENT:,}: split it"
    if item.date and not _DATE.fullmatch(item.date):
        return f'date "{clean_line(item.date)[:40]}" is not YYYY, YYYY-MM or YYYY-MM-DD'
    if item.pmid and not clean_line(item.pmid).isdecimal():
        return f'pmid "{clean_line(item.pmid)[:40]}" is not a number'
    return ""


def _evidence(item: EvidenceItem) -> Evidence:
    content = clean_text(item.content)
    citation = Citation(
        source=item.source,
        title=clean_line(item.title) or cut_at_sentence(clean_line(content), 120),
        url=item.url,
        date=item.date or "Unknown",
        authors=tuple(author for author in map(clean_line, item.authors) if author),
        pmid=item.pmid,
        doi=normalise_doi(clean_line(item.doi)),
    )
    return Evidence.of(citation, content, provider="user")


TOOL = ToolSpec(add_evidence, "Add evidence", AddResult, keeping(), changes_session=True)
