"""A process of its own that makes eight calls at once to NCBI's stand-in: address, folder, key, name."""

import sys
from functools import partial
from pathlib import Path

import anyio
import httpx
from pydantic import SecretStr

from deepcritical_mcp.config import Settings
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.sources.pubmed.source import PubMed

AT_ONCE = 8


async def main(url: str, folder: str, key: str, name: str) -> None:
    settings = Settings.model_validate(
        {"ncbi_base_url": url, "cache_dir": Path(folder), "NCBI_API_KEY": SecretStr(key), "redis_url": ""}
    )
    async with httpx.AsyncClient(timeout=60) as http:
        pubmed = PubMed.create(settings, Net(http))
        async with anyio.create_task_group() as tasks:
            for number in range(AT_ONCE):
                request = PubMedRequest(query=f"{name} {number}")
                tasks.start_soon(partial(pubmed.ask, request.query, request, offset=0, limit=20))


if __name__ == "__main__":
    _, address, folder, key, name = sys.argv
    anyio.run(main, address, folder, key, name)
