"""The settings of PubMed."""

from __future__ import annotations

from pydantic import AliasChoices, Field, SecretStr

from deepcritical_mcp.config import BaseUrl, Key, SourceSettings


class PubMedSettings(SourceSettings):
    """Key, email and address for NCBI's E-utilities."""

    ncbi_api_key: Key = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("NCBI_API_KEY"),
        description="NCBI API key: 10 requests per second instead of 3",
    )
    ncbi_email: str = Field(
        default="",
        validation_alias=AliasChoices("NCBI_EMAIL"),
        description="your email address, which NCBI asks every tool to send",
    )
    ncbi_base_url: BaseUrl = Field(
        default="https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="E-utilities, ending in /entrez/eutils"
    )
