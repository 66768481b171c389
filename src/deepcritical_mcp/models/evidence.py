"""A piece of evidence: what a publication says, and where it comes from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from deepcritical_mcp.identifiers import normalise_doi
from deepcritical_mcp.models.publication import AuthorName, Citation, Line, Value
from deepcritical_mcp.text import clean_text
from deepcritical_mcp.urls import normalise_url


class Evidence(Value):
    """One piece of evidence: what it says (`content`) and where it comes from (`citation`).

    What follows `found_by` is kept but not sent over the wire: `keywords` (author keywords and chemical names) feed
    query expansion; `author_parts` (one for each of `citation.authors`, or none), `volume`, `issue` and `pages`
    complete an exported citation.
    """

    id: str
    content: Annotated[str, AfterValidator(clean_text), Field(min_length=1)]
    content_truncated: bool = False
    citation: Citation
    relevance: Annotated[float, Field(ge=0, le=1)] = 0.0
    provider: str = ""
    similar: tuple[str, ...] = ()
    found_by: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    author_parts: tuple[AuthorName, ...] = ()
    volume: Line = ""
    issue: Line = ""
    pages: Line = ""

    @classmethod
    def of(
        cls,
        citation: Citation,
        content: str,
        *,
        provider: str,
        relevance: float = 0.0,
        found_by: Sequence[str] = (),
        keywords: Sequence[str] = (),
        author_parts: Sequence[AuthorName] = (),
        volume: str = "",
        issue: str = "",
        pages: str = "",
    ) -> Evidence:
        """Evidence under its stable id (see `evidence_id`)."""
        content = clean_text(content)
        return cls(
            id=evidence_id(citation, content),
            content=content,
            citation=citation,
            relevance=relevance,
            provider=provider,
            found_by=tuple(found_by),
            keywords=tuple(keywords),
            author_parts=tuple(author_parts),
            volume=volume,
            issue=issue,
            pages=pages,
        )


def evidence_id(citation: Citation, content: str) -> str:
    """`pubmed:<pmid>`, else `doi:<doi>`, else `url:<hash of the normalised URL>`, else `text:<hash of the content>`."""
    if citation.pmid:
        return f"pubmed:{citation.pmid}"
    if citation.doi:
        return f"doi:{normalise_doi(citation.doi)}"
    if citation.url:
        return f"url:{_digest(normalise_url(citation.url))}"
    return f"text:{_digest(content)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]
