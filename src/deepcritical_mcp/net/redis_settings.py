"""The settings of Redis."""

from __future__ import annotations

from pydantic import Field, SecretStr

from deepcritical_mcp.config import OwnSettings

_MEANING = "Redis through which several machines share one request rate to NCBI; TLS: rediss://…?ssl_ca_certs=FILE"


class RedisSettings(OwnSettings):
    """The Redis that `net.pacing` uses."""

    redis_url: SecretStr = Field(SecretStr(""), description=_MEANING)
