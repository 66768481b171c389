"""References as people write them, and the records that they mean.

A reference is not parsed, it is explained: `compare` lays a record along it, and says of each of its fields where it
stands there: exactly, abbreviated, shortened, changed, or not at all; and what no field explains. `agreement` has the
table of what is a difference. `read_reference` takes a reference in any style, also BibTeX, RIS and CSL-JSON.
"""

from __future__ import annotations

from deepcritical_mcp.search.references.agreement import Agreement, compare, title_agreement
from deepcritical_mcp.search.references.title_places import are_similar
from deepcritical_mcp.search.references.written import WrittenReference, read_reference

__all__ = ["Agreement", "WrittenReference", "are_similar", "compare", "read_reference", "title_agreement"]
