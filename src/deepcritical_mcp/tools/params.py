"""Parameters that several tools share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field

from deepcritical_mcp.identifiers import normalise_doi, normalise_pmid, normalise_trial
from deepcritical_mcp.models import MOST_VARIANTS, QUERY_LIMIT, PublicationStatus
from deepcritical_mcp.text import clean_line

_PART = re.compile(r"@(?P<start>[0-9]{1,9})-(?P<end>[0-9]{0,9})$")


def _query(value: str) -> str:
    query = clean_line(value)
    if not query:
        raise ValueError("must not be blank; say what to search for")
    if len(query) > QUERY_LIMIT:
        raise ValueError(f"at most {QUERY_LIMIT:,} characters, got {len(query):,}; keep the essential terms")
    return query


def _variants(values: list[str]) -> list[str]:
    return [_query(value) for value in values if clean_line(value)]


def evidence_ids(given: Iterable[str]) -> list[str]:
    """Evidence ids in the session's spelling, without duplicates; a PMID, DOI or trial number is accepted as an id."""
    return list(dict.fromkeys(map(_evidence_id, given)))


class Reading(NamedTuple):
    """An evidence id, and which characters of its text are asked for: "pubmed:1@400-900", or "pubmed:1@400-"."""

    id: str
    start: int = 0
    end: int | None = None


def readings(given: Iterable[str], offset: int) -> list[Reading]:
    """What `ids` ask for, each once; `offset` counts for ids that name no characters."""
    found: dict[Reading, None] = {}
    for text in given:
        part = _PART.search(text.strip())
        id = _evidence_id(text.strip()[: part.start()] if part else text)
        end = int(part["end"]) if part and part["end"] else None
        found[Reading(id, int(part["start"]) if part else offset, end)] = None
    return list(found)


def _evidence_id(given: str) -> str:
    id = clean_line(given)
    if pmid := normalise_pmid(id):
        return f"pubmed:{pmid}"
    if trial := normalise_trial(id):
        return f"nct:{trial}"
    doi = normalise_doi(id)
    return f"doi:{doi}" if doi.startswith("10.") else id


Query = Annotated[str, AfterValidator(_query)]
Variants = Annotated[
    list[str],
    AfterValidator(_variants),
    Field(max_length=MOST_VARIANTS, description="rephrasings of the query, also searched; results are merged"),
]
StatusFilter = Literal["any", PublicationStatus]
SessionId = Annotated[
    str, AfterValidator(clean_line), Field(max_length=64, description='"" = current session, "new" = start a new one')
]
