"""Web search: every wording of a question through the chain of providers, merged into one answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from deepcritical_mcp.models import Value
from deepcritical_mcp.providers.web import Recency, SearchDepth, Topic, WebOptions


class WebRequest(Value):
    """What to search the web for; the fields are the parameters of the tool `web_search`."""

    query: str
    variants: tuple[str, ...] = ()
    max_results: Annotated[int, Field(ge=1, le=50)] = 10
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.3
    search_depth: SearchDepth = "advanced"
    topic: Topic = "general"
    recency: Recency = "any"
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    only_new: bool = False

    @property
    def options(self) -> WebOptions:
        """The part that each provider is asked with."""
        return WebOptions(
            search_depth=self.search_depth,
            topic=self.topic,
            recency=self.recency,
            include_domains=self.include_domains,
            exclude_domains=self.exclude_domains,
        )
