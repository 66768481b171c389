"""Every field of a publication: merged by one rule, written down, sent to clients (exports: tests/export)."""

from __future__ import annotations

from deepcritical_mcp.evidence.storage.stored_items import dumped, restored
from deepcritical_mcp.models import AuthorName, Bibliography, Citation, Evidence, Publication, StatusNotice, Text
from deepcritical_mcp.models.publication import MergeRule

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
    decisions=("Decision-made",),
    tags=("tag-words",),
)
"""Each field has a value of its own that no other field's value contains."""


def test_each_field_has_a_value_in_these_tests() -> None:
    bare = Publication(id="x", texts=FULL.texts, source="web", title="T")
    for name in Publication.model_fields:
        assert getattr(FULL, name) != getattr(bare, name) or name == "texts"


def test_every_field_but_the_id_has_exactly_one_merge_rule() -> None:
    rules = {
        name: sum(isinstance(part, MergeRule) for part in field.metadata)
        for name, field in Publication.model_fields.items()
    }
    assert rules == {name: int(name != "id") for name in Publication.model_fields}


def test_every_field_survives_storage() -> None:
    assert restored(dumped(FULL)) == FULL
    for name in Publication.model_fields:
        assert type(getattr(restored(dumped(FULL)), name)) is type(getattr(FULL, name))
    assert restored(dumped(FULL)).authors[0].given == "Given"
    assert restored(dumped(FULL)).status_notices[0].doi == "10.1000/notice"


def test_every_field_of_the_bibliography_is_on_the_wire() -> None:
    assert {*Bibliography.model_fields} <= {*Citation.model_fields}
    evidence = Evidence.of(FULL)
    wire = evidence.model_dump(mode="json")["citation"]
    stored = FULL.model_dump(mode="json")
    assert {name: wire[name] for name in Bibliography.model_fields} == {
        name: stored[name] for name in Bibliography.model_fields
    }
    assert wire["authors"] == ["Family-name Given Jr", "Group-name"]
    assert Evidence.model_validate(evidence.model_dump()) == evidence
