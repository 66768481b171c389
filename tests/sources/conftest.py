"""Fixtures of the provider tests."""

from collections.abc import AsyncIterator

import httpx
import pytest


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A connection pool as the process has one."""
    async with httpx.AsyncClient(follow_redirects=True) as client:
        yield client
