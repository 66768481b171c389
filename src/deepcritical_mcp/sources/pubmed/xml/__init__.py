"""From PubMed's XML to evidence: `read_records` reads a whole answer of efetch."""

from deepcritical_mcp.sources.pubmed.xml.reader import Records, Unreadable, read_records

__all__ = ["Records", "Unreadable", "read_records"]
