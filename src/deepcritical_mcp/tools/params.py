"""Parameters that several tools share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from deepcritical_mcp.identifiers import normalise_doi, normalise_pmid
from deepcritical_mcp.text import clean_line

MAX_QUERY_LENGTH = 4_000


def _query(value: str) -> str:
    query = clean_line(value)
    if not query:
        raise ValueError("must not be blank; say what to search for")
    if len(query) > MAX_QUERY_LENGTH:
        raise ValueError(f"at most {MAX_QUERY_LENGTH:,} characters, got {len(query):,}; keep the essential terms")
    return query


def _variants(values: list[str]) -> list[str]:
    return [_query(value) for value in values if clean_line(value)]


def evidence_ids(given: Iterable[str]) -> list[str]:
    """Evidence ids in the session's spelling, without duplicates; a PMID or DOI is accepted as an id."""
    return list(dict.fromkeys(map(_evidence_id, given)))


def _evidence_id(given: str) -> str:
    id = clean_line(given)
    if pmid := normalise_pmid(id):
        return f"pubmed:{pmid}"
    doi = normalise_doi(id)
    return f"doi:{doi}" if doi.startswith("10.") else id


Query = Annotated[str, AfterValidator(_query)]
Variants = Annotated[
    list[str],
    AfterValidator(_variants),
    Field(max_length=7, description="rephrasings of the query, also searched; results are merged"),
]
SessionId = Annotated[
    str, AfterValidator(clean_line), Field(max_length=64, description='"" = current session, "new" = start a new one')
]
