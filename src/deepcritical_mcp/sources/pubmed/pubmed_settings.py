"""The settings of PubMed."""

from __future__ import annotations

from pydantic import Field, SecretStr

from deepcritical_mcp.config import BaseUrl, Key, OwnSettings


class PubMedSettings(OwnSettings):
    """Key and addresses of NCBI's services."""

    ncbi_api_key: Key = Field(
        SecretStr(""),
        validation_alias="NCBI_API_KEY",
        description="NCBI API key: 10 requests per second instead of 3",
    )
    ncbi_base_url: BaseUrl = Field(
        default="https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="E-utilities, ending in /entrez/eutils"
    )
    idconv_base_url: BaseUrl = Field(
        default="https://pmc.ncbi.nlm.nih.gov/tools/idconv/api/v1/articles",
        description="NCBI's ID converter, ending in /api/v1/articles",
    )
    citmatch_url: BaseUrl = Field(
        default="https://pubmed.ncbi.nlm.nih.gov/api/citmatch",
        description="PubMed's citation matcher, ending in /api/citmatch",
    )
