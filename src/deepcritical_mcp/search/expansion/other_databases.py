"""Search strategies in another database's syntax: recognized and refused.

PubMed would take most of what they consist of for words, and find something else without a word of warning.
"""

from __future__ import annotations

import re

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.search.expansion import pubmed_syntax

# What only one database writes; the first that fits decides.
_MARKS = {
    "Embase": r"'[^'\n]{2,80}'/(?:exp|de|mj)\b|:(?:ti,ab|ab,ti)\b(?!,kw)|:de\b",
    "the Cochrane Library": r"\[mh \^?\"?[^\[\]]+\]|:ti,ab,kw\b|\bNEXT/\d|\bNEAR/\d+\b.*:(?:ti|ab|kw)\b",
    "Scopus": r"\b(?:TITLE(?:-ABS(?:-KEY)?)?|ABS|INDEXTERMS|PUBYEAR)\s*[(<>=]|\bW/\d|\bPRE/\d",
    "ProQuest": r"\b(?:ti|ab|su|mesh)\(",
    "Web of Science": r"(?<![\w/])(?:TS|TI|AB|AK|ALL)\s*=\s*[(\"]|\bNEAR/\d",
    "EBSCOhost": r"\bM[HJM] \"[^\"\n]+\+?\"|(?<!\w)(?:TI|AB|TX|SU) \(?\"?\w[^\n]{0,60} (?:OR|AND) (?:TI|AB|TX|SU) ",
    "Ovid": r"(?<!\w)exp \*?\"?[A-Z][^/\n]{2,80}/|\w[)\"*$?]*\.(?:ti|ab|tw|kw|kf|mp|af|pt|sh|hw|nm)\b|\badj\d{0,2}\b"
    r"|(?:^|[( ])[A-Z][A-Za-z ,-]{3,60}/(?=$|\)| (?:and|or|not)\b)",
    "a database with numbered lines": r"(?i:\b(?:and|or|not) #\d+\b|#\d+ (?:and|or|not)\b|\b(?:or|and)/\d+[-,]\d)"
    r"|(?i:\bS\d+ (?:and|or|not) S\d+)|^\s*\d+(?: (?i:and|or|not) \d+)+\s*$",
}


def refuse_other_databases(text: str) -> None:
    """
    Raises:
        InvalidInputError: `text` is a search strategy in the syntax of another database.
    """
    database = next((name for name, mark in _MARKS.items() if re.search(mark, text)), "")
    is_tagged = any(map(pubmed_syntax.is_field_tag, re.findall(r"\[([^\[\]]*)\]", text)))
    if database and (not is_tagged or database.endswith("lines")):
        raise InvalidInputError(
            f"This looks like a search strategy in the syntax of {database}, which PubMed would misread. Join the "
            'terms that papers must name by AND, OR and NOT ("gout AND (colchicine OR NSAIDs)"), or give the '
            "strategy in PubMed's syntax, each line written out."
        )
