"""Search strategies in another database's syntax: named, and read if PubMed's syntax says the same.

PubMed would take most of what they consist of for words, and find something else without a word of warning.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.search.expansion import pubmed_syntax


class Strategy(NamedTuple):
    """A strategy for `database`, in PubMed's syntax."""

    database: str
    pubmed: str


# What only one database writes; the first that fits decides.
_MARKS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("Embase", r"'[^'\n]{2,80}'/(?:exp|de|mj)\b|:(?:ti,ab|ab,ti)\b(?!,kw)|:de\b"),
        ("the Cochrane Library", r"\[mh \^?\"?[^\[\]]+\]|:ti,ab,kw\b|\bNEXT/\d|\bNEAR/\d+\b.*:(?:ti|ab|kw)\b"),
        ("Scopus", r"\b(?:TITLE(?:-ABS(?:-KEY)?)?|ABS|INDEXTERMS|PUBYEAR)\s*[(<>=]|\bW/\d|\bPRE/\d"),
        ("ProQuest", r"\b(?:ti|ab|su|mesh)\("),
        ("Web of Science", r"(?<![\w/])(?:TS|TI|AB|AK|ALL)\s*=\s*[(\"]|\bNEAR/\d"),
        (
            "EBSCOhost",
            r"\bM[HJM] \"[^\"\n]+\+?\"|(?<!\w)(?:TI|AB|TX|SU) \(?\"?\w[^\n]{0,60} (?:OR|AND) (?:TI|AB|TX|SU) ",
        ),
        (
            "Ovid",
            r"(?<!\w)exp \*?\"?[A-Z][^/\n]{2,80}/|\w[)\"*$?]*\.(?:ti|ab|tw|kw|kf|mp|af|pt|sh|hw|nm)\b|\badj\d{0,2}\b"
            r"|(?:^|[( ])[A-Z][A-Za-z ,-]{3,60}/(?=$|\)| (?:and|or|not)\b)",
        ),
        (
            "a database with numbered lines",
            r"(?i:\b(?:and|or|not) #\d+\b|#\d+ (?:and|or|not)\b|\b(?:or|and)/\d+[-,]\d|\bS\d+ (?:and|or|not) S\d+)"
            r"|^\s*\d+(?: (?i:and|or|not) \d+)+\s*$",
        ),
    )
)
# What PubMed has no way to say in the same place: words near each other, wildcards in words, lines by their numbers.
_UNREADABLE = re.compile(
    r"\badj\d*\b|\b(?:NEAR|NEXT|PRE|W)/\d|\bN\d+\b|[?$#]|(?<!\w)(?:or|and)/\d|^\s*\d+ |"
    r"/[a-z]{2}\b(?<!/de)(?<!/mj)|PUBYEAR|\w\*\w|\n"
)
# Headings and fields in their syntax -> in PubMed's.
_HEADINGS = (
    re.compile(r"(?<!\w)(?P<exp>exp )?(?P<major>\*)?\"?(?P<name>[A-Z][A-Za-z ,'-]{2,80}?)\"?/(?=[ )]|$)"),
    re.compile(r"'(?P<name>[^'\n]{2,80})'/(?:(?P<exp>exp)|de|(?P<major>mj))\b"),
    re.compile(r"\[mh (?:\^|(?P<exp>))\"?(?P<name>[^\[\]\"]+)\"?\]"),
    re.compile(r"\bM(?:H|(?P<major>J)) \"(?P<name>[^\"+]+)(?P<exp>\+)?\""),
)
_WHAT = r"(?P<what>\((?:[^()]|\([^()]{0,200}\)){0,500}\)|\"[^\"]{0,200}\"\*?|'[^']{0,200}'|(?<![\w*-])[\w*-]{1,60})"
_FIELDS = (
    re.compile(_WHAT + r"[.:](?P<title>ti)?(?:,?(?:ti|ab|tw|kw|kf|mp)){0,8}(?:\.|(?!\w))"),
    re.compile(r"(?:TITLE-ABS(?:-KEY)?|TS ?=|AB ?=|(?P<title>TI) ?=)\s*" + _WHAT),
    re.compile(r"(?<!\w)(?:(?P<title>TI)|AB) " + _WHAT),
)
_OPERATOR = re.compile(r"\b(and|or|not)\b", re.IGNORECASE)


def read_strategy(text: str) -> Strategy | None:
    """The strategy in PubMed's syntax, None if `text` is none of another database.

    Raises:
        InvalidInputError: it is one that cannot be read safely.
    """
    database = next((name for name, mark in _MARKS if mark.search(text)), "")
    is_numbered = database.endswith("lines")
    if not database or (not is_numbered and any(map(pubmed_syntax.is_field_tag, re.findall(r"\[([^\[\]]*)\]", text)))):
        return None
    read = text.strip()
    for heading in _HEADINGS:
        read = heading.sub(_heading, read)
    for field in _FIELDS:
        read = field.sub(_in_field, read)
    rest = re.sub(r"\"[^\"]*\"\[[^\[\]]{0,80}\]", "", read)
    if _UNREADABLE.search(text.strip()) or set(rest) & set("/:='.*#") or re.search(r"\w\(", rest) or is_numbered:
        raise InvalidInputError(
            f"This looks like a search strategy in the syntax of {database}, which PubMed would misread. Give the "
            "topic in words, or the strategy in PubMed's syntax, each line written out (asthma[tiab] OR "
            '"Asthma"[MeSH Terms]).'
        )
    return Strategy(database, _OPERATOR.sub(lambda found: found[1].upper(), read))


def _heading(found: re.Match[str]) -> str:
    tag = "MeSH Major Topic" if found.groupdict().get("major") else "MeSH Terms"
    return pubmed_syntax.phrase(found["name"].strip(), tag if found["exp"] is not None else f"{tag}:noexp")


def _in_field(found: re.Match[str]) -> str:
    """What stands in a field, with PubMed's tag at each of its words and phrases."""
    tag = "ti" if found["title"] and "ab" not in found[0].lower().rpartition(found["what"].lower())[2] else "tiab"
    pieces = _OPERATOR.split(found["what"])
    operand = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s()]+(?: [^\s()\"]+)*")
    tagged = (
        piece.upper()
        if _OPERATOR.fullmatch(piece)
        else operand.sub(lambda one: pubmed_syntax.phrase(one[0].strip("'\""), tag), piece)
        for piece in pieces
    )
    return "".join(tagged)
