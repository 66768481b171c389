"""What every source offers to the search handler."""

from __future__ import annotations

from typing import Protocol

from deepcritical_mcp.models import Evidence


class SearchTool(Protocol):
    """One source of evidence. Options of a source are keyword-only parameters with defaults."""

    @property
    def name(self) -> str:
        """The wire name, e.g. "pubmed"."""
        ...

    async def search(self, query: str, max_results: int) -> list[Evidence]:
        """At most `max_results` pieces of evidence, best first; [] when the source knows none.

        Raises:
            ProviderError: the source gave no usable answer. An outage is never an empty list.
        """
        ...
