"""What a PubMed record's links to other records, and its types, say about its status."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from deepcritical_mcp.models import PublicationStatus, RecordLink, StatusNotice, status_from_links
from deepcritical_mcp.sources.pubmed.elements import text_at


def status_of(
    citation: Element, publication_types: Sequence[str], journal: str
) -> tuple[PublicationStatus, tuple[StatusNotice, ...]]:
    """A record's most severe status, and its notices in the order of `NOTICE_LABELS`.

    `citation` has the record's CommentsCorrectionsList, `journal` is the abbreviation of its journal.
    """
    links = (
        RecordLink(link.get("RefType", ""), text_at(link, "RefSource"), text_at(link, "PMID"))
        for link in citation.iterfind("CommentsCorrectionsList/CommentsCorrections")
    )
    return status_from_links(links, publication_types, journal)
