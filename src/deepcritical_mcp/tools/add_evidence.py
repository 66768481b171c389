"""The tool `add_evidence`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import normalise_doi, normalise_pmid, record_ids
from deepcritical_mcp.models import (
    UNKNOWN_DATE,
    USER,
    AddedItem,
    AddResult,
    DuplicateItem,
    Publication,
    RejectedItem,
    SimilarItem,
    split_name,
)
from deepcritical_mcp.text import clean_line, clean_text, cut_at_sentence
from deepcritical_mcp.tools.call_session import ToolContext, session_for
from deepcritical_mcp.tools.params import SessionId
from deepcritical_mcp.tools.progress_reports import progress_of
from deepcritical_mcp.tools.spec import ToolSpec, keeping
from deepcritical_mcp.urls import clean_url, is_web_address

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

LONGEST_CONTENT = 100_000
LONGEST_CALL = 1_000_000
LONGEST_DOI = 200
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")
_DOI = re.compile(r"10\.[0-9]{4,9}(\.[0-9]+)*/\S+")


class EvidenceItem(BaseModel):
    """One item as the client's model writes it."""

    model_config = ConfigDict(extra="forbid")

    content: str
    title: str = ""
    url: str = ""
    source: Literal["pubmed", "web", "user"] = "user"
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
    if sum(map(_size, items)) > LONGEST_CALL:
        raise InvalidInputError(
            f"items: at most {LONGEST_CALL:,} characters in one call; nothing was added. Send them in several calls."
        )
    session = await session_for(ctx, session_id)
    evidence: list[tuple[int, Publication]] = []
    rejected: list[RejectedItem] = []
    for index, item in enumerate(items):
        problem = _problem(item)
        if problem:
            rejected.append(RejectedItem(index=index, reason=problem))
        else:
            evidence.append((index, _publication(item)))
    progress = progress_of(ctx)
    await progress(0.1, f"keeping {len(evidence)} items")
    result = await _add(session.store, evidence, rejected)
    await progress(1.0, f"{len(result.added)} added, {len(result.duplicates)} known already")
    return result.model_copy(update={"next_step": f"{session.hint} {_next_step(result)}".strip()})


def _next_step(result: AddResult) -> str:
    again = "Correct what was rejected and send it again." if result.rejected else ""
    kept = "Find it by meaning with semantic_search." if result.added or result.duplicates else ""
    return f"{again} {kept}".strip()


async def _add(
    store: EvidenceStore, evidence: Sequence[tuple[int, Publication]], rejected: list[RejectedItem]
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


def _size(item: EvidenceItem) -> int:
    return len(item.content) + len(item.title) + sum(map(len, item.authors))


def _problem(item: EvidenceItem) -> str:
    """Why an item cannot be kept; "" when it can."""
    if not clean_text(item.content):
        return "content is empty"
    if len(item.content) > LONGEST_CONTENT:
        return f"content has {len(item.content):,} characters; at most {LONGEST_CONTENT:,}: split it"
    if _date(item) and not _exists(_date(item)):
        return f"date {_shown(item.date)} is not YYYY, YYYY-MM or YYYY-MM-DD"
    if clean_line(item.pmid) and not normalise_pmid(clean_line(item.pmid)):
        return f"pmid {_shown(item.pmid)} is not a PubMed number"
    if _doi(item) and not (_DOI.fullmatch(_doi(item)) and len(_doi(item)) <= LONGEST_DOI):
        return f"doi {_shown(item.doi)} is not a DOI such as 10.1000/182"
    if clean_line(item.url) and not is_web_address(clean_line(item.url)):
        return f"url {_shown(item.url)} is not a web address (http or https)"
    return ""


def _date(item: EvidenceItem) -> str:
    date = clean_line(item.date)
    return "" if date.lower() == "unknown" else date


def _exists(date: str) -> bool:
    try:
        datetime.date.fromisoformat(f"{date}-01-01"[:10])
    except ValueError:
        return False
    return bool(_DATE.fullmatch(date))


def _doi(item: EvidenceItem) -> str:
    return normalise_doi(clean_line(item.doi))


def _shown(text: str) -> str:
    line = clean_line(text)
    return f'"{line[:40]}{"…" if len(line) > 40 else ""}"'


def _beginning(content: str) -> str:
    """A title for what has none; never all of the content, which would pass for a record without a text."""
    title = cut_at_sentence(content, 120)
    return f"{title.rstrip('.')}…" if title == content else title


def _publication(item: EvidenceItem) -> Publication:
    content, url = clean_text(item.content), clean_url(clean_line(item.url))
    ids = record_ids(url)
    return Publication.of(
        "note" if item.source == "user" else "page",
        content,
        provider=USER,
        source=item.source,
        title=clean_line(item.title) or _beginning(clean_line(content)),
        url=url,
        date=_date(item) or UNKNOWN_DATE,
        authors=tuple(split_name(author) for author in map(clean_line, item.authors) if author),
        pmid=normalise_pmid(clean_line(item.pmid)) or ids.pmid,
        doi=_doi(item) or ids.doi,
        pmcid=ids.pmcid,
    )


TOOL = ToolSpec(add_evidence, "Add evidence", AddResult, keeping(), changes_session=True)
