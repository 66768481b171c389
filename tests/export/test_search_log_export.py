"""The log of searches as an appendix: a table, a paragraph, numbers, and nothing active in other people's text."""

import csv
import io
import json
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from deepcritical_mcp.export.search_log import search_log_export
from deepcritical_mcp.models import LoggedSearch
from deepcritical_mcp.models.search_log import LoggedQuery
from tests.export.test_flow_numbers import paper, search

WITH_LINKS = MarkdownIt("gfm-like")
SENT = '(zinc) AND ("2020"[Date - Publication] : "3000"[Date - Publication])'
LONG = LoggedQuery(query="zinc", sent=SENT, translation='"zinc"[MeSH Terms] OR "zinc"[All Fields]', results=1234)
FAILED = search(
    source="trials",
    title="ClinicalTrials.gov",
    at="2026-11-21T10:00:00Z",
    queries=(LoggedQuery(query="zinc", status="failed", detail="ClinicalTrials.gov is unavailable (503)."),),
    errors=("ClinicalTrials.gov is unavailable (503).",),
    total=0,
)
LOG = (
    search(
        *range(1, 11),
        queries=(LONG, LoggedQuery(query="zinc ointment", results=80)),
        filters=("published from 2020", "at most 10 results"),
        total=1300,
        new=10,
    ),
    FAILED,
    search(
        3,
        11,
        query="wound",
        source="web",
        title="Web search (DuckDuckGo)",
        at="2026-11-22T10:00:00Z",
        errors=("Brave failed",),
        total=2,
        new=1,
    ),
)
PAPERS = [paper(one, screening="included" if one == 1 else "") for one in range(1, 12)]
HOSTILE = (
    "a | b",
    '=HYPERLINK("http://evil.example")',
    "![x](http://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "\\|<b>x</b>",
)


def markdown(*log: LoggedSearch, **fields: Any) -> str:
    return search_log_export(log, PAPERS, "markdown", **fields)


def rows_of(written: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written)))


def section(written: str, name: str) -> str:
    return written.partition(f"## {name}\n\n")[2].partition("\n\n##")[0]


def test_the_table_has_each_query_as_it_was_sent_and_what_came_of_it() -> None:
    table = markdown(*LOG, title="Zinc for wounds").partition("\n## ")[0]
    assert table.startswith("# Search log: Zinc for wounds\n\n| No. | Date and time (UTC) | Source |")
    limits = "published from 2020; at most 10 results"
    assert f"| 1.1 | 2026-11-20 09:00:00 | PubMed | `{SENT}` | {limits} | 1234 | 10 | 10 | 0 | answered |  |" in table
    assert "| 1.2 | 2026-11-20 09:00:00 | PubMed | `zinc ointment` |" in table
    assert "| 2 | 2026-11-21 10:00:00 | ClinicalTrials.gov | `zinc` |  |  |  |  |  | FAILED |" in table
    assert table.count("is unavailable (503)") == 1
    read = section(markdown(*LOG), "Queries as the sources read them")
    assert '| 1.1 | `zinc` | `"zinc"[MeSH Terms] OR "zinc"[All Fields]` |' in read
    assert "Queries as the sources read them" not in markdown(search(1))
    entries = json.loads(search_log_export(LOG, PAPERS, "json"))
    assert tuple(map(LoggedSearch.model_validate, entries)) == LOG


def test_the_paragraph_says_what_was_searched_how_and_what_failed() -> None:
    said = section(markdown(*LOG), "For the methods section")
    assert "PubMed through the NCBI E-utilities and the web through DuckDuckGo were searched from 20 Nov" in said
    assert "There were 2 searches (PubMed: 1; Web search: 1) with 3 queries; the table lists each" in said
    assert "Limits were: published from 2020 (search 1). No others were set, except in the queries themselves." in said
    assert "2 to 10 of each search; 1 of 2 searches had more results than were collected" in said
    assert "In all, 12 records were identified. Records were compared" in said
    assert "1 duplicate was removed." in said
    assert "Of these, 1 was screened: 1 was included and 0 excluded; 10 had no decision." in said
    assert "Entry 2 (ClinicalTrials.gov, 21 November 2026) failed; the table says why." in said
    assert "Entry 3 (Web search (DuckDuckGo), 22 November 2026) was incomplete" in said
    assert "The search had no results." in markdown(search(total=0))


def test_the_numbers_of_the_flow_diagram_are_explained_one_by_one() -> None:
    steps = section(markdown(*LOG), "Numbers for a PRISMA 2020 flow diagram")
    assert "| Identified: PubMed (database) | 10 | 1 search, pages and repetitions counted once |" in steps
    for row in ("| Identified in all | 12 |", "| Duplicates removed | 1 |", "| Distinct records | 11 |"):
        assert row in steps
    undecided = search_log_export(LOG, [paper(1)], "markdown")
    assert "| Screened | not recorded | no decision is in the session |" in undecided
    written = search_log_export(LOG, [paper(1, screening="cited"), paper(2, screening="included")], "markdown")
    assert "2 were screened: 1 was included and 0 excluded; 1 was marked as cited only; 0 had no decision" in written
    assert "| Included | 1 |" in written
    assert "| Cited | 1 |" in written


def test_repetitions_by_a_watch_are_told_in_one_sentence_and_marked_in_the_table() -> None:
    since: dict[str, Any] = {"tool": "refresh", "filters": ("added to PubMed since 2026-11-18",), "total": 1}
    watches = [
        search(
            2, at=f"2026-12-0{day}T09:00:00Z", new=day - 1, queries=(LoggedQuery(query="zinc", sent=str(day)),), **since
        )
        for day in (1, 2)
    ]
    written = markdown(search(1, total=1), *watches)
    said = section(written, "For the methods section")
    assert "was searched on 20 November 2026" in said
    assert "There was 1 search with 1 query" in said
    assert "No limits were set" in said
    assert "Searches were last repeated on 2 December 2026, for what had been added since; all repetitions" in said
    assert "together gave 1 new record." in said
    assert written.count("| answered when repeated |") == 2


def test_a_log_of_failures_only_claims_no_search() -> None:
    said = section(markdown(FAILED), "For the methods section")
    assert said.startswith("No search of a database, register or website was answered in this session. ")
    assert said.endswith("Entry 1 (ClinicalTrials.gov, 21 November 2026) failed; the table says why.")


def test_a_look_up_and_a_look_for_linked_papers_are_no_queries() -> None:
    looked = search(9, source="lookup", kind="lookup", query="1 reference of a draft")
    linked = search(8, kind="citations", query="articles similar to PMID 3")
    written = markdown(looked, linked)
    assert "| PubMed | 1 reference of a draft |" in written
    assert [row["Query as sent"] for row in rows_of(search_log_export([looked, linked], PAPERS, "csv"))] == ["", ""]
    assert "Known records were fetched by identifier or reference in 1 look-up." in written
    assert "In all, 11 records were identified, 9 of them without a logged search." in written


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_outside_does_nothing_in_markdown_and_stays_readable(text: str) -> None:
    hostile = search(
        1,
        queries=(LoggedQuery(query=text, sent=text, translation=text, detail=text),),
        title=text,
        filters=(text,),
        errors=(text,),
        source="other",
    )
    excluded = paper(1, screening="excluded", screening_reason=text)
    written = search_log_export([hostile], [excluded], "markdown", title=text)
    tokens = [one for token in WITH_LINKS.parse(written) for one in (token, *(token.children or ()))]
    assert not {"html_block", "html_inline", "image"} & {one.type for one in tokens}
    # Our own mention of the registry looks like an address.
    assert {one.attrs["href"] for one in tokens if one.type == "link_open"} <= {"http://ClinicalTrials.gov"}
    assert [one.content for one in tokens if one.type == "heading_open"] == [""] * 5
    assert columns_of(tokens) <= {11, 3}
    shown = "".join(one.content for one in tokens if one.type in ("text", "code_inline", "text_special"))
    assert text.replace("\n", " ") in shown


def columns_of(tokens: list[Token]) -> set[int]:
    """How many cells the rows have."""
    counts, cells = set[int](), 0
    for one in tokens:
        if one.type == "tr_open":
            cells = 0
        cells += one.type in ("td_open", "th_open")
        if one.type == "tr_close":
            counts.add(cells)
    return counts
