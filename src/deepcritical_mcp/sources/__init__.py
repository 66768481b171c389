"""Where evidence comes from: one source per row of `SOURCES`, and full texts from those of `FULL_TEXTS`.

To add a source, write its file or folder here, its row below, and its tests.
"""

from __future__ import annotations

from typing import NamedTuple


class SourceRow(NamedTuple):
    """A source by dotted names, so that reading its settings does not import the source.

    Attributes:
        source: the `Source` class, "package.module:Class".
        settings: its `OwnSettings` class; "" if it has none.
    """

    source: str
    settings: str = ""


PUBMED = SourceRow(
    "deepcritical_mcp.sources.pubmed.source:PubMed",
    "deepcritical_mcp.sources.pubmed.pubmed_settings:PubMedSettings",
)
WEB = SourceRow(
    "deepcritical_mcp.sources.web.chain:ProviderChain",
    "deepcritical_mcp.sources.web.web_settings:WebSettings",
)
SOURCES: tuple[SourceRow, ...] = (PUBMED, WEB)
"""In the order in which they are shown and searched."""

FULL_TEXTS: tuple[SourceRow, ...] = (
    SourceRow("deepcritical_mcp.sources.pubmed.pmc:PMC", PUBMED.settings),
    SourceRow(
        "deepcritical_mcp.sources.europepmc.europe_pmc:EuropePMC",
        "deepcritical_mcp.sources.europepmc.europe_pmc_settings:EuropePMCSettings",
    ),
    SourceRow(
        "deepcritical_mcp.sources.trials.clinical_trials:ClinicalTrials",
        "deepcritical_mcp.sources.trials.trials_settings:TrialsSettings",
    ),
    SourceRow(
        "deepcritical_mcp.sources.unpaywall.open_copies:Unpaywall",
        "deepcritical_mcp.sources.unpaywall.unpaywall_settings:UnpaywallSettings",
    ),
    SourceRow("deepcritical_mcp.sources.page:PageSource"),
    SourceRow("deepcritical_mcp.sources.web.tavily_extract:TavilyExtract", WEB.settings),
)
"""Providers of full texts, each a `FullTextSource`, in the order in which they are asked. What reads pages comes last,
since it also reads the addresses that the others name."""
