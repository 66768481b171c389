"""The settings of Unpaywall."""

from __future__ import annotations

from pydantic import Field

from deepcritical_mcp.config import BaseUrl, OwnSettings


class UnpaywallSettings(OwnSettings):
    """Where Unpaywall is; it is asked only with an email address, which is a setting of the core."""

    unpaywall_base_url: BaseUrl = Field(default="https://api.unpaywall.org/v2", description="Unpaywall, ending in /v2")
