"""Where evidence comes from: one source per row of `SOURCES`.

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
