"""Names and years beside a number that the entry of this number does not have: "Berg et al. (2019) [2]".

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepcritical_mcp.checking.draft.author_year import folded
from deepcritical_mcp.checking.draft.entry_forms import starts_with_names
from deepcritical_mcp.text import clean_line

_BEFORE = 80
_FAR = 2_000
"""Characters of an entry that are looked at."""
_YEAR = r"(?<!\d)(?:1[89]|20)\d\d"
_NAME = r"(?P<name>(?<![\w'’.-])[^\W\d_a-zß-ÿ][\w'’-]{1,40})"
_NAMED = re.compile(
    rf"{_NAME}(?: et al\.?| and (?:colleagues|co-?workers)),?[\s|]{{0,4}}[(]?(?P<year>{_YEAR})?[a-z]?[)]?[\s|]{{0,4}}\Z"
)
"""A name with "et al.", and perhaps a year, at the end of a text or in the cells of a row."""
_ROW = re.compile(rf"\s{{0,4}}\|?\s{{0,4}}{_NAME}\s{{0,4}}\|\s{{0,4}}(?P<year>{_YEAR})[a-z]?[\s|]{{1,8}}")
"""A row that begins with a name and a year: "| Berg | 2019 |"."""
_YEARS = re.compile(_YEAR)


def misnamed(body: str, start: int, end: int, entries: Sequence[str]) -> str:
    """What stands in front of a citation by a number and is in none of its entries; "" if nothing is.

    Entries that begin with no names cannot be compared. A year that is one off may be that of the online version.
    """
    line = body[max(0, start - _BEFORE) : start].rpartition("\n")[2]
    found = _NAMED.search(line) or _ROW.fullmatch(line)
    if not found or not entries or not all(map(starts_with_names, entries)):
        return ""
    name, year = folded(found["name"].removesuffix("’s").removesuffix("'s")), found["year"]
    for entry in entries:
        years = [int(one) for one in _YEARS.findall(entry)]
        is_year = not year or not years or min(abs(int(year) - one) for one in years) < 2
        if name in folded(entry[:_FAR]) and is_year:
            return ""
    return clean_line(f"{found[0]}{body[start:end]}").strip("| ")
