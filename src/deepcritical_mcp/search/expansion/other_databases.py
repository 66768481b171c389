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


# What only one database writes. The first that fits decides; PubMed's own tags are in square brackets.
_MARKS = (
    (
        "Cochrane Library",
        re.compile(r"\[mh \^?\"?[^\[\]]+\]|:ti,ab,kw\b|\bNEAR/\d+\b(?=.*:(?:ti|ab|kw)\b)", re.IGNORECASE),
    ),
    (
        "Embase.com",
        re.compile(
            r"'[^'\n]{2,80}'/(?:exp|de|mj)\b|:(?:ti,ab|ab,ti)(?:,kw)?(?!\w)|:(?:ti|ab|kw|de)\b(?! )", re.IGNORECASE
        ),
    ),
    ("Scopus", re.compile(r"\b(?:TITLE-ABS-KEY|TITLE-ABS|INDEXTERMS|PUBYEAR)\s*(?:\(|[<>=])|\bW/\d+\b|\bPRE/\d+\b")),
    ("Web of Science", re.compile(r"(?<![\w/])(?:TS|TI|AB|AK|ALL)\s*=\s*\(?\S")),
    (
        "EBSCOhost",
        re.compile(r"\(?\bM[HJM] \"[^\"\n]+\+?\"|(?<!\w)(?:TI|AB|TX|SU) \(?\"?\w[^\n]* (?:OR|AND) (?:TI|AB|TX|SU) "),
    ),
    (
        "Ovid",
        re.compile(
            r"(?<!\w)exp \*?\"?[A-Z][^/\n]{2,80}/|(?<=\w)\*?\.(?:ti|ab|tw|kw|kf|mp|af|pt|sh|hw|ot|nm)\b"
            r"|\badj\d{0,2}\b|(?<!\w)[A-Z][A-Za-z ,-]{3,60}/(?= |$|\)|[a-z]{2}\b)"
        ),
    ),
    (
        "a numbered strategy",
        re.compile(
            r"(?<!\w)#\d+\s+(?:AND|OR|NOT)\s+#?\d|(?:^|\s)(?:or|and)/\d+[-,]\d+|^\s*\d+ (?:and|or|not) \d+\s*$",
            re.IGNORECASE,
        ),
    ),
)
_OVID_HEADING = re.compile(r"(?<!\w)(?P<exp>exp )?(?P<major>\*)?\"?(?P<name>[A-Z][A-Za-z ,'-]{2,80}?)\"?/(?=[ )]|$)")
_EMTREE = re.compile(r"'(?P<name>[^'\n]{2,80})'/(?:exp|de|mj)\b", re.IGNORECASE)
_COCHRANE = re.compile(r"\[mh (?P<only>\^)?\"?(?P<name>[^\[\]\"]+)\"?\]", re.IGNORECASE)
_EBSCO = re.compile(r"\bM[HJ] \"(?P<name>[^\"+]+)(?P<exp>\+)?\"")
_FIELD = re.compile(
    r"(?P<what>\((?:[^()]|\([^()]*\))*\)|\"[^\"]*\"\*?|'[^']*'|[\w*-]+)(?:\.|:)(?P<tags>(?:ti|ab|tw|kw|kf|mp)(?:,(?:ti|ab|tw|kw|kf))*)(?:\.|(?!\w))",
    re.IGNORECASE,
)
_CALL = re.compile(r"(?:TITLE-ABS-KEY|TITLE-ABS|TS ?=)\s*\((?P<what>(?:[^()]|\([^()]*\))*)\)", re.IGNORECASE)
# What PubMed has no way to say in the same place: words near each other inside a longer expression, wildcards within
# words, lines by their numbers.
_UNREADABLE = re.compile(
    r"\badj\d*\b|\bNEAR(?:/\d+)?\b|\bNEXT(?:/\d+)?\b|\bN\d+\b|\bW\d+\b|\b(?:W|PRE)/\d+|[?$#]|(?<!\w)(?:or|and)/\d|/[a-z]{2}\b|[=/:]|(?<=\w)\*(?=\w)"
)


def read_strategy(text: str) -> Strategy | None:
    """The strategy in PubMed's syntax, None if `text` is none of another database.

    Raises:
        InvalidInputError: it is one that cannot be read safely.
    """
    database = next((name for name, mark in _MARKS if mark.search(text)), "")
    if not database or any(map(pubmed_syntax.is_field_tag, re.findall(r"\[([^\[\]]*)\]", text))):
        return None
    read = _read(" ".join(text.split()))
    if _UNREADABLE.search(re.sub(r'"[^"]*"\[[^\]]*\]', "", read)) or "\n" in text.strip():
        raise InvalidInputError(
            f"This looks like a search strategy in the syntax of {_named(database)}, which PubMed would misread. Give "
            "the topic in words, or the strategy in PubMed's syntax, each line written out "
            '(asthma[tiab] OR "Asthma"[MeSH Terms]).'
        )
    return Strategy(database, read)


def _named(database: str) -> str:
    return "another database (its lines have numbers)" if database.startswith("a ") else database


def _read(text: str) -> str:
    """`text` with the headings and fields of other databases in PubMed's syntax."""
    text = _OVID_HEADING.sub(_heading, text)
    text = _EMTREE.sub(lambda found: f'("{found["name"]}"[MeSH Terms] OR "{found["name"]}"[tiab])', text)
    text = _COCHRANE.sub(_heading, text)
    text = _EBSCO.sub(_heading, text)
    text = _CALL.sub(lambda found: f"({_tagged(found['what'], 'tiab')})", text)
    text = _FIELD.sub(_in_field, text)
    text = re.sub(r"(?<!\w)(?:TI|AB) (\"[^\"]+\"|[\w*-]+)", r"\1[tiab]", text)
    return re.sub(
        r"(?<=[\])]) (and|or|not) (?=[\"(\w])", lambda found: f" {found[1].upper()} ", text, flags=re.IGNORECASE
    )


def _heading(found: re.Match[str]) -> str:
    groups = found.groupdict()
    is_exploded = groups.get("exp") or ("only" in groups and not groups["only"])
    tag = "MeSH Major Topic" if groups.get("major") else "MeSH Terms"
    return pubmed_syntax.phrase(found["name"].strip(), tag if is_exploded else f"{tag}:noexp")


def _in_field(found: re.Match[str]) -> str:
    tags = found["tags"].lower()
    return _tagged(found["what"], "ti" if tags == "ti" else "tw" if tags == "mp" else "tiab")


def _tagged(what: str, tag: str) -> str:
    """`what`, with a tag at each of its words and phrases."""
    operand = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s()]+(?: (?!(?:and|or|not)\b)[^\s()\"]+)*", re.IGNORECASE)

    def one(found: re.Match[str]) -> str:
        words = found[0].strip("'\"")
        if words.lower() in ("and", "or", "not"):
            return words.upper()
        for operator in (" and ", " or ", " not "):
            if operator in words.lower():
                return found[0]
        return pubmed_syntax.phrase(words, tag)

    pieces = re.split(r"\b(and|or|not)\b", what, flags=re.IGNORECASE)
    return "".join(
        piece.upper() if piece.lower() in ("and", "or", "not") else operand.sub(one, piece) for piece in pieces
    )
