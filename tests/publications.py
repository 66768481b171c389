"""Publications for tests."""

from collections.abc import Iterable, Sequence
from typing import Any

from deepcritical_mcp.export import EXPORT_FILES, ExportFormat, listed, with_notes, written_entries
from deepcritical_mcp.models import Accession, AuthorName, Publication, StatusNotice, Text, TextKind, split_name


def published(
    content: str, *, provider: str = "pubmed", authors: Iterable[str | AuthorName] = (), **fields: Any
) -> Publication:
    """A publication with one text, of the kind that its source has."""
    kinds: dict[str, TextKind] = {"user": "note", "web": "page"}
    names = tuple(split_name(name) if isinstance(name, str) else name for name in authors)
    kind = kinds.get(fields["source"], "abstract")
    return Publication.of(kind, content, provider=provider, authors=names, **fields)


def export(publications: Sequence[Publication], format: ExportFormat) -> str:
    """What `export_evidence` writes of a session with these publications, as one file."""
    cited = with_notes(publications)
    papers = [cited[one.id] for one in publications if cited[one.id].id == one.id]
    written = listed(publications if format == "jsonl" else papers, format)
    return "".join(EXPORT_FILES[format].with_pieces(written_entries(written, format)).chunks())


FULL = Publication(
    id="pubmed:31000001",
    texts=(
        Text(kind="abstract", content="Abstract-content.", provider="pubmed"),
        Text(kind="full_text", content="Full-text-content.", provider="europepmc"),
        Text(kind="page", content="Page-content.", provider="tavily"),
        Text(kind="note", content="Note-content.", provider="user"),
    ),
    source="pubmed",
    title="Title-words",
    url="https://example.org/address",
    date="2021-03-04",
    pmid="31000001",
    doi="10.1000/doi-value",
    pmcid="PMC7000001",
    nct="NCT00000001",
    journal="Journal-name",
    journal_abbreviation="Abbreviation",
    language="ger",
    claims=("PMID 31000003",),
    registrations=("ISRCTN77777777",),
    vernacular_title="Vernacular-title",
    issn="1111-2222",
    issue_date="2021 Summer",
    medline_abbreviation="Medline-abbreviation",
    electronic_date="2020-12-30",
    publication_stage="aheadofprint",
    publisher="Publisher-name",
    version="Version-4",
    publisher_place="Publisher-place",
    book_title="Book-title",
    editors=(AuthorName("Editor-name", "Eve"),),
    book_years="1993-2025",
    isbn="978-0-00-000000-2",
    bookshelf_id="NBK1403",
    revised_date="2024-12-19",
    preprint_number="PPR5001",
    status_checked="2026-11-21",
    accessed="2026-11-20",
    similar=("url:similar-id",),
    grants=("Grant-number",),
    conflict_of_interest="Interests-declared",
    substances=("Substance-name",),
    volume="Volume-7",
    issue="Issue-8",
    pages="E555",
    publication_types=("Type-name",),
    mesh_terms=("Mesh-term",),
    keywords=("Key-word",),
    status="concern",
    status_notices=(StatusNotice(kind="concern", pmid="31000002", doi="10.1000/notice", reference="Notice-reference"),),
    authors=(AuthorName("Family-name", "Given", "Jr"), AuthorName("Group-name")),
    found_by=("query-words",),
    screening="excluded",
    screening_reason="Screening-reason",
    screened="2026-11-23T05:00:00Z",
    decided="2026-11-23T05:00:00.000001Z",
    decisions=("Decision-made",),
    tags=("tag-words",),
    accessions=(Accession("Embase", "L600000001"),),
    declared=("0123abcd",),
)
"""Each field has a value of its own that no other field's value contains."""
