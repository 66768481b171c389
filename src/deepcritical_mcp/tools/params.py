"""Parameters that several tools share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

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


Query = Annotated[str, AfterValidator(_query)]
Variants = Annotated[
    list[str],
    AfterValidator(_variants),
    Field(max_length=7, description="other wordings of the same question, searched too and fused"),
]
SessionId = Annotated[
    str, AfterValidator(clean_line), Field(max_length=64, description='"" = your session, "new" = a fresh one')
]
