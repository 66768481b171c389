"""References as people write them: what one says, and whether a record is the one that it means.

`read_reference` takes a reference in any style, also BibTeX, RIS and CSL-JSON; `compare` lays a record against it.
"""

from __future__ import annotations

from deepcritical_mcp.search.references.agreement import (
    Agreement,
    FieldAgreement,
    StatedField,
    compare,
    is_living_work,
    is_name_and_year,
    title_agreement,
)
from deepcritical_mcp.search.references.name_forms import journals_agree, places_of_people
from deepcritical_mcp.search.references.statements import Statements
from deepcritical_mcp.search.references.title_forms import are_similar
from deepcritical_mcp.search.references.written import MAX_REFERENCE, WrittenReference, read_reference

__all__ = [
    "MAX_REFERENCE",
    "Agreement",
    "FieldAgreement",
    "StatedField",
    "Statements",
    "WrittenReference",
    "are_similar",
    "compare",
    "is_living_work",
    "is_name_and_year",
    "journals_agree",
    "places_of_people",
    "read_reference",
    "title_agreement",
]
