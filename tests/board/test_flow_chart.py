"""The boxes of the flow diagram."""

from collections.abc import Sequence

from deepcritical_mcp.board import flow_chart
from deepcritical_mcp.export.flow_numbers import flow_numbers
from deepcritical_mcp.models import LoggedQuery, LoggedSearch, Publication
from tests.board.samples import publications

QUERY = LoggedQuery(query="ageing", sent="ageing[tiab]", results=120)


def marked(*screenings: str, reasons: Sequence[str] = ()) -> list[Publication]:
    """One publication from PubMed for each decision, with its reason."""
    from_pubmed = [one for one in publications(4 * len(screenings)) if one.source == "pubmed"]
    given = [*reasons, *[""] * len(screenings)]
    return [
        one.model_copy(update={"screening": screening, "screening_reason": reason})
        for one, screening, reason in zip(from_pubmed, screenings, given, strict=False)
    ]


def logged(evidence: Sequence[Publication], **changes: object) -> LoggedSearch:
    fields = {"at": "2026-11-23T04:45:10Z", "tool": "pubmed_search", "source": "pubmed", "title": "PubMed"}
    ids = tuple(one.id for one in evidence)
    return LoggedSearch.model_validate({**fields, "queries": (QUERY,), "ids": ids, "new": len(ids), **changes})


def test_records_flow_from_their_sources_to_those_included() -> None:
    evidence = marked("included", "cited", "excluded", "excluded", "", reasons=("", "", "no controls", "in mice"))
    chart = flow_chart(flow_numbers([logged(evidence, duplicates=2)], evidence))
    assert [list(step["lines"]) for step in chart["steps"]] == [
        ["Records identified (n = 7)", "From databases and registers:", "– PubMed: 7"],
        ["Records in the session (n = 5)"],
        ["Records decided on (n = 4)"],
        ["Records included (n = 1)", "Records marked as cited (n = 1)", "– retracted of these: 1"],
    ]
    assert [list(step["aside"]) for step in chart["steps"]] == [
        ["Removed before screening (n = 2)", "– Duplicates: 2"],
        ["Not decided on (n = 1)"],
        ["Excluded without a full text (n = 2)", "– no controls: 1", "– in mice: 1"],
        [],
    ]


def test_without_decisions_the_diagram_ends_and_says_why() -> None:
    evidence = marked("", "")
    chart = flow_chart(flow_numbers([logged(evidence)], evidence))
    assert [step["phase"] for step in chart["steps"]] == ["Identification", "Screening"]
    assert "Nothing has been included or excluded yet, so the diagram ends here." in chart["notes"]
