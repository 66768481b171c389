"""The settings of ClinicalTrials.gov."""

from __future__ import annotations

from pydantic import Field

from deepcritical_mcp.config import BaseUrl, OwnSettings


class TrialsSettings(OwnSettings):
    """Where ClinicalTrials.gov is."""

    clinicaltrials_base_url: BaseUrl = Field(
        default="https://clinicaltrials.gov/api/v2", description="ClinicalTrials.gov's API, ending in /api/v2"
    )
