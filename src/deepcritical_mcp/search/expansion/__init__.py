"""Query expansion: other queries for a topic that find what the first one misses."""

from deepcritical_mcp.search.expansion.expander import QueryExpander

__all__ = ["QueryExpander"]
