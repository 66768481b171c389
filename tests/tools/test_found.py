"""Hosts load tools when a search over their names and descriptions finds them."""

from __future__ import annotations

import math
import re
from collections import Counter

from deepcritical_mcp.config import Settings
from deepcritical_mcp.server import create_server

# How people and models ask, written before the descriptions; the first tool is the right one.
ASKED = {
    "search the medical literature for randomized trials of a drug": "pubmed_search",
    "find journal papers about a disease": "pubmed_search",
    "look up articles in PubMed": "pubmed_search",
    "medline search": "pubmed_search",
    "systematic reviews and meta-analyses on a treatment": "pubmed_search",
    "biomedical research papers by an author": "pubmed_search",
    "abstracts of scientific papers": "pubmed_search",
    "boolean query with mesh terms": "pubmed_search",
    "literature search health": "pubmed_search",
    "clinical trials recruiting patients": "trial_search",
    "ongoing studies registered at clinicaltrials.gov": "trial_search",
    "find a trial by its NCT number": "trial_search",
    "is there a phase 3 trial of this drug": "trial_search",
    "trial registry": "trial_search",
    "search the web": "web_search",
    "clinical guidelines from WHO": "web_search",
    "latest news about a drug approval by the FDA": "web_search",
    "internet search": "web_search",
    "website of a health agency": "web_search",
    "suggest synonyms and search terms for my question": "expand_queries",
    "build a search strategy for a systematic review": "expand_queries",
    "which MeSH headings fit my topic": "expand_queries",
    "make my query broader or narrower": "expand_queries",
    "turn a PICO question into queries": "expand_queries",
    "search within the papers I already collected": "semantic_search",
    "find passages that answer a question in my saved evidence": "semantic_search",
    "search my notes by meaning": "semantic_search",
    "semantic similarity search over stored documents": "semantic_search",
    "save a note": "add_evidence",
    "add a paper by its DOI": "add_evidence",
    "import a PMID": "add_evidence",
    "screening: mark a study as included or excluded": "add_evidence",
    "tag papers": "add_evidence",
    "store a quote for later": "add_evidence",
    "read the full text of an article": "get_full_text",
    "download the pdf of a paper": "get_full_text",
    "open a web page and read it": "get_full_text",
    "methods section and tables of a study": "get_full_text",
    "ask a question about one paper": "get_full_text",
    "bioRxiv and medRxiv": "preprint_search",
    "preprints not yet peer reviewed": "preprint_search",
    "was this preprint published in a journal": "preprint_search",
    "check my references for retracted papers": "check_citations",
    "verify the bibliography of a manuscript": "check_citations",
    "detect fabricated references": "check_citations",
    "are the quotations in my draft correct": "check_citations",
    "fact-check claims against their cited sources": "check_citations",
    "show the abstract of a paper found before": "get_evidence",
    "details of a record by id": "get_evidence",
    "papers that cite this article": "pubmed_related",
    "similar papers": "pubmed_related",
    "what are the references of a paper": "pubmed_related",
    "snowballing, citation chasing": "pubmed_related",
    "list everything found so far": "list_evidence",
    "what is in my session": "list_evidence",
    "continue my previous research": "list_sessions",
    "my earlier sessions": "list_sessions",
    "export to BibTeX or RIS for Zotero": "export_evidence",
    "bibliography in APA style": "export_evidence",
    "table of included studies as csv": "export_evidence",
    "log of my searches for PRISMA": "export_evidence",
    "delete a session": "clear_session",
    "remove a paper from my collection": "clear_session",
}
RIGHT, AMONG = 0.95, 3


def words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def ranked(query: str, tools: dict[str, list[str]]) -> list[str]:
    """The tools by BM25 (k1 1.2, b 0.75), without stemming and stop words."""
    count, mean = len(tools), sum(map(len, tools.values())) / len(tools)
    held = Counter(word for text in tools.values() for word in set(text))
    scores = dict.fromkeys(tools, 0.0)
    for name, text in tools.items():
        told = Counter(text)
        for word in words(query):
            rarity = math.log(1 + (count - held[word] + 0.5) / (held[word] + 0.5))
            scores[name] += rarity * told[word] * 2.2 / (told[word] + 1.2 * (0.25 + 0.75 * len(text) / mean))
    return sorted(scores, key=lambda name: -scores[name])


async def test_the_right_tool_is_among_the_first_for_what_people_ask() -> None:
    tools = {one.name: words(f"{one.name} {one.description}") for one in await create_server(Settings()).list_tools()}
    missed = {query: tool for query, tool in ASKED.items() if tool not in ranked(query, tools)[:AMONG]}
    assert len(missed) <= (1 - RIGHT) * len(ASKED), missed


async def test_two_tools_are_always_loaded_and_the_order_never_changes() -> None:
    listed = await create_server(Settings()).list_tools()
    assert {one.name for one in listed if (one.meta or {}).get("anthropic/alwaysLoad")} == {
        "pubmed_search",
        "semantic_search",
    }
    assert [one.name for one in listed] == [one.name for one in await create_server(Settings()).list_tools()]
    assert all(one.title and one.icons for one in listed)
    sources = [one.icons[0].src for one in listed if one.icons]
    assert all(re.fullmatch(r"data:image/svg\+xml,[A-Za-z0-9:/,='._~%-]+", one) for one in sources)  # RFC 3986


async def test_what_changes_nothing_but_what_the_session_has_found_says_so() -> None:
    listed = await create_server(Settings()).list_tools()
    asks = {one.name for one in listed if one.annotations and not one.annotations.read_only_hint}
    assert asks == {"add_evidence", "export_evidence", "clear_session"}
