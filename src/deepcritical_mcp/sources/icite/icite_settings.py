"""The settings of iCite."""

from __future__ import annotations

from pydantic import Field

from deepcritical_mcp.config import BaseUrl, OwnSettings


class ICiteSettings(OwnSettings):
    """Where iCite is."""

    icite_base_url: BaseUrl = Field(default="https://icite.od.nih.gov/api", description="NIH's iCite, ending in /api")
