"""The settings of PubMed."""

from __future__ import annotations

from pydantic import Field, SecretStr

from deepcritical_mcp.config import BaseUrl, Key, OwnSettings


class PubMedSettings(OwnSettings):
    """Key, email and address for NCBI's E-utilities."""

    ncbi_api_key: Key = Field(
        SecretStr(""),
        validation_alias="NCBI_API_KEY",
        description="NCBI API key: 10 requests per second instead of 3",
    )
    ncbi_email: str = Field(
        "", validation_alias="NCBI_EMAIL", description="your email address, which NCBI asks every tool to send"
    )
    ncbi_base_url: BaseUrl = Field(
        default="https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="E-utilities, ending in /entrez/eutils"
    )
