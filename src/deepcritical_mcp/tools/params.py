"""Parameters that several tools share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from deepcritical_mcp.identifiers import normalise_doi, normalise_pmid
from deepcritical_mcp.text import clean_line

LONGEST_QUERY = 4_000


def _query(value: str) -> str:
    query = clean_line(value)
    if not query:
        raise ValueError("say what to search for; it is blank")
    if len(query) > LONGEST_QUERY:
        raise ValueError(f"at most {LONGEST_QUERY:,} characters, got {len(query):,}; keep the essential terms")
    return query


def _variants(values: list[str]) -> list[str]:
    return [_query(value) for value in values if clean_line(value)]


def evidence_ids(given: Iterable[str]) -> list[str]:
    """Evidence ids as the session spells them, each once; a PMID or a DOI may stand for its id."""
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
    Field(max_length=7, description="other wordings of the same question, searched too and fused"),
]
SessionId = Annotated[
    str, AfterValidator(clean_line), Field(max_length=64, description='"" = your session, "new" = a fresh one')
]
