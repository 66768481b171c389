"""What the providers of web results share: their options, their interface, and the way from a hit to evidence."""

from __future__ import annotations

from typing import Literal

from deepcritical_mcp.models import Value

SearchDepth = Literal["basic", "advanced"]
Topic = Literal["general", "news"]
Recency = Literal["any", "day", "week", "month", "year"]


class WebOptions(Value):
    """How to search, in our words; each provider maps them to its own.

    `include_domains` and `exclude_domains` hold host names ("nih.gov" stands for its subdomains too), if need be with
    the start of a path ("who.int/news").
    """

    search_depth: SearchDepth = "advanced"
    topic: Topic = "general"
    recency: Recency = "any"
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
