"""References as people write them: what one says, and whether a record is the one that it means.

`read_reference` takes a reference in any style, also BibTeX, RIS and CSL-JSON; `compare` lays a record against it.
"""

from __future__ import annotations

from deepcritical_mcp.search.references.agreement import Agreement, FieldAgreement, compare, title_agreement
from deepcritical_mcp.search.references.written import WrittenReference, read_reference

__all__ = ["Agreement", "FieldAgreement", "WrittenReference", "compare", "read_reference", "title_agreement"]
