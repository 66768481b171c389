"""Query expansion: more queries for a topic, to find what the first one misses."""

from deepcritical_mcp.search.expansion.expander import QueryExpander

__all__ = ["QueryExpander"]
