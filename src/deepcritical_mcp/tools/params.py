"""Parameters that several tools share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from deepcritical_mcp.identifiers import normalize_doi, normalize_pmid, normalize_trial
from deepcritical_mcp.models import MAX_VARIANTS, QUERY_LIMIT, PublicationStatus
from deepcritical_mcp.text import clean_line


def _query(value: str) -> str:
    query = clean_line(value)
    if not query:
        raise ValueError("must not be blank; say what to search for")
    if len(query) > QUERY_LIMIT:
        raise ValueError(f"at most {QUERY_LIMIT:,} characters, got {len(query):,}; keep the essential terms")
    return query


def _variants(values: list[str]) -> list[str]:
    return [_query(value) for value in values if clean_line(value)]


def evidence_id(given: str) -> str:
    """An evidence id in the session's spelling; a PMID, DOI or trial number is accepted as an id."""
    id = clean_line(given)
    if pmid := normalize_pmid(id):
        return f"pubmed:{pmid}"
    if trial := normalize_trial(id):
        return f"nct:{trial}"
    doi = normalize_doi(id)
    return f"doi:{doi}" if doi.startswith("10.") else id


Query = Annotated[str, AfterValidator(_query)]
Variants = Annotated[
    list[str],
    AfterValidator(_variants),
    Field(max_length=MAX_VARIANTS, description="rephrasings of the query, also searched; results are merged"),
]
StatusFilter = Annotated[
    Literal["any", PublicationStatus],
    Field(description='a note has its paper\'s; what was never checked (web pages, other notes) is not "ok"'),
]
SessionId = Annotated[
    str, AfterValidator(clean_line), Field(max_length=64, description='"" = current session, "new" = start a new one')
]
