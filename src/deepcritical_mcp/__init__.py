"""deepcritical-mcp: PubMed, the web and an evidence store for any MCP client."""

from deepcritical_mcp._version import __version__

__all__ = ["__version__"]
