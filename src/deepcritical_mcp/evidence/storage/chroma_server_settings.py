"""The settings of a Chroma server."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from deepcritical_mcp.config import Key, OwnSettings, SecretAddress


class ChromaServerSettings(OwnSettings):
    """Address and credentials."""

    chroma_url: SecretAddress = Field(
        SecretStr(""),
        description="Chroma server that stores the sessions; https://name:password@host/path for basic authentication, "
        "https://api.trychroma.com for Chroma Cloud",
    )
    chroma_token: Key = Field(SecretStr(""), description="token of the Chroma server, or API key of Chroma Cloud")
    chroma_token_header: Literal["X-Chroma-Token", "Authorization"] = Field(
        "X-Chroma-Token", description="header that carries the token; Authorization: as a bearer token"
    )
    chroma_tenant: str = Field("default_tenant", description="tenant on the Chroma server")
    chroma_database: str = Field("default_database", description="database on the Chroma server")
    chroma_timeout: float = Field(10, gt=0, description="seconds to wait for each response of the Chroma server")
