"""The settings of Europe PMC."""

from __future__ import annotations

from pydantic import Field

from deepcritical_mcp.config import BaseUrl, OwnSettings


class EuropePMCSettings(OwnSettings):
    """Where Europe PMC is."""

    europepmc_base_url: BaseUrl = Field(
        default="https://www.ebi.ac.uk/europepmc/webservices/rest",
        description="Europe PMC's REST service, ending in /webservices/rest",
    )
