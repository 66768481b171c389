"""The settings of Crossref."""

from __future__ import annotations

from pydantic import Field

from deepcritical_mcp.config import BaseUrl, OwnSettings


class CrossrefSettings(OwnSettings):
    """Where Crossref is; the address that it asks for is a setting of the core."""

    crossref_base_url: BaseUrl = Field(
        default="https://api.crossref.org", description="Crossref's REST API, without /works"
    )
