"""References as people write them, and the records that they mean.

A reference is not parsed, it is explained: `alignment` lays a record along it and finds where each of its fields
stands, with `title_places`, `name_places` (authors, journals) and `number_places` (year, volume, issue, pages);
`agreement` says of each field whether it is there exactly, abbreviated, shortened, changed, or not at all, and what no
field explains. It has the table of what is a difference. `written` takes a reference in any style, also an entry of a
reference manager (`read_reference`), of which `entry_fields` knows what each form calls a field; `latex_text` reads
LaTeX, and `plain_text` brings all to one spelling.
"""

from __future__ import annotations

from deepcritical_mcp.search.references.agreement import Agreement as Agreement
from deepcritical_mcp.search.references.title_places import are_similar as are_similar
from deepcritical_mcp.search.references.title_places import title_agreement as title_agreement
from deepcritical_mcp.search.references.written import Statements as Statements
from deepcritical_mcp.search.references.written import WrittenReference as WrittenReference
from deepcritical_mcp.search.references.written import read_reference as read_reference
