"""Hosts load tools when a search over their names and descriptions finds them."""

import math
import re
from collections import Counter

from deepcritical_mcp.config import Settings
from deepcritical_mcp.server import create_server

# How people and models ask for a tool, written before the descriptions.
ASKED = """
pubmed_search: search the medical literature for randomized trials of a drug | find journal papers about a disease |
  look up articles in PubMed | medline search | systematic reviews and meta-analyses on a treatment | biomedical
  research papers by an author | abstracts of scientific papers | boolean query with mesh terms | literature search
  health
trial_search: clinical trials recruiting patients | ongoing studies registered at clinicaltrials.gov | find a trial by
  its NCT number | is there a phase 3 trial of this drug | trial registry
web_search: search the web | clinical guidelines from WHO | latest news about a drug approval by the FDA | internet
  search | website of a health agency
expand_queries: suggest synonyms and search terms for my question | build a search strategy for a systematic review |
  which MeSH headings fit my topic | make my query broader or narrower | turn a PICO question into queries
semantic_search: search within the papers I already collected | find passages that answer a question in my saved
  evidence | search my notes by meaning | semantic similarity search over stored documents
add_evidence: save a note | add a paper by its DOI | import a PMID | screening: mark a study as included or excluded |
  tag papers | store a quote for later
get_full_text: read the full text of an article | download the pdf of a paper | open a web page and read it | methods
  section and tables of a study | ask a question about one paper
preprint_search: bioRxiv and medRxiv | preprints not yet peer reviewed | was this preprint published in a journal
check_citations: check my references for retracted papers | verify the bibliography of a manuscript | detect
  fabricated references | are the quotations in my draft correct | fact-check claims against their cited sources
get_evidence: show the abstract of a paper found before | details of a record by id
pubmed_related: papers that cite this article | similar papers | what are the references of a paper | snowballing,
  citation chasing
list_evidence: list everything found so far | what is in my session
list_sessions: continue my previous research | my earlier sessions
export_evidence: export to BibTeX or RIS for Zotero | bibliography in APA style | table of included studies as csv |
  log of my searches for PRISMA
clear_session: delete a session | remove a paper from my collection
"""
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
    rows = re.findall(r"^(\w+): (.*(?:\n  .*)*)", ASKED, re.MULTILINE)
    asked = [(query, tool) for tool, queries in rows for query in queries.split("|")]
    assert {tool for _, tool in asked} == tools.keys()
    missed = [(query, tool) for query, tool in asked if tool not in ranked(query, tools)[:AMONG]]
    assert len(missed) <= (1 - RIGHT) * len(asked), missed


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
