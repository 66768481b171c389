"""What the sources that the log of searches names are to a systematic review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from deepcritical_mcp.models import LoggedSearch

SearchMethod = Literal["database", "register", "website", "citation searching", "look-up", "other"]


class SearchedSource(NamedTuple):
    """A source's name, what PRISMA 2020 counts it as, and the interface that it is searched through; "" if that is
    named in each search."""

    name: str
    method: SearchMethod
    interface: str = ""


SEARCHED: Mapping[str, SearchedSource] = {
    "pubmed": SearchedSource("PubMed", "database", "the NCBI E-utilities"),
    "preprints": SearchedSource("Europe PMC (preprints)", "database", "its RESTful web service"),
    "trials": SearchedSource("ClinicalTrials.gov", "register", "its API, version 2"),
    "web": SearchedSource("Web search", "website"),
}
"""Each source that can be searched, by its wire name."""
CITATION_SEARCHING = SearchedSource("Citation searching", "citation searching")
LOOK_UPS = SearchedSource("Look-ups of known records", "look-up")
UNLOGGED = SearchedSource("Added without a logged search", "other")


def searched_source(search: LoggedSearch) -> SearchedSource:
    """What a logged search searched."""
    if search.kind != "search":
        return CITATION_SEARCHING if search.kind == "citations" else LOOK_UPS
    return SEARCHED.get(search.source, SearchedSource(search.title, "other"))
