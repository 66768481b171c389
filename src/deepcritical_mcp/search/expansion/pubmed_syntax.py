"""PubMed's query language: recognize it, repair it, build it; strategies for another database are refused, since PubMed
would take most of them for words, and find something else without a word of warning.

The grammar: words, "phrases" and (groups), each with an optional [field tag], joined by AND, OR and NOT in upper case
(PubMed's user guide, "Using search field tags" and "Combining search terms with Boolean operators").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.text import QUERY_FUNCTION_WORDS

# Maximum characters of a query built here from words; queries in PubMed's syntax are not shortened.
MAX_QUERY_LENGTH = 1_000
_MAX_GROUP_DEPTH = 20
_BOOLEANS = frozenset({"AND", "OR", "NOT"})
_TOKEN = re.compile(r'"[^"]*"|\[[^\[\]]*\]|[()]|[^\s()"\[\]]+')
# Next to a phrase, a group or a tag, which only PubMed queries have.
_LOWER_OPERATOR = re.compile(r'(?<=["\])])\s(?:and|or|not)\s(?=\S)|(?<=\S)\s(?:and|or|not)\s(?=["(])')
_FANCY_QUOTES = re.compile("[“”„‟«»＂]")
_NOT_IN_WORDS = re.compile(r"[\"\[\](){}|&~#^<>=\\;?!*]|(?<!\w)[:/.,'’+-]+|[:/.,'’]+(?!\w)|(?<=\S)[:/](?=\S)")
_BLANKS = re.compile(r"\s+")


NUMBERED = "a database with numbered lines"
# What only one database writes; the first that fits decides.
_MARKS = {
    "Embase": r"'[^'\n]{2,80}'/(?:exp|de|mj)\b|:(?:ti,ab|ab,ti)\b(?!,kw)|:de\b",
    "Europe PMC": r"\b(?:TITLE_ABS|PUB_TYPE|KW|AUTH_FIRST|PUB_YEAR|EXT_ID):",
    "the Cochrane Library": r"(?i:\bMeSH descriptor:)"
    r"|\[mh \^?\"?[^\[\]]+\]|:ti,ab,kw\b|\bNEXT/\d|\bNEAR/\d+\b.*:(?:ti|ab|kw)\b",
    "Scopus": r"\b(?:TITLE(?:-ABS(?:-KEY)?)?|ABS|INDEXTERMS|PUBYEAR)\s*[(<>=]|\bW/\d|\bPRE/\d",
    "ProQuest": r"\b(?:ti|ab|su|mesh)\(|\b(?:SU|MESH)\.EXACT",
    "LILACS": r"\b(?:mh|tw|ti|ab):\(",
    "Web of Science": r"(?<![\w/])(?:TS|TI|AB|AK|ALL)(?:\s*=\s*[(\"]|=\w)|\bNEAR/\d",
    "EBSCOhost": r"\b(?:M[HJM]|DE) \"[^\"\n]+\+?\""
    r"|(?<!\w)(?:TI|AB|TX|SU) \(?\"?\w[^\n]{0,60} (?:OR|AND) (?:TI|AB|TX|SU) ",
    "Ovid": r"(?<!\w)exp \*?\"?[A-Z][^/\n]{2,80}/|\w[)\"*$?]*\.(?:ti|ab|tw|kw|kf|mp|af|pt|sh|hw|nm)\b|\badj\d{0,2}\b"
    r"|(?:^|[( ])[A-Z][A-Za-z ,-]{3,60}/(?=$|\)| (?:and|or|not)\b)",
    NUMBERED: r"(?i:\b(?:and|or|not) #\d+\b|#\d+ (?:and|or|not)\b|\b(?:or|and)/\d+[-,]\d)"
    r"|(?i:\bS\d+ (?:and|or|not) S\d+)|^\s*\d+(?: (?i:and|or|not) \d+)+\s*$",
}


@dataclass(frozen=True)
class _Node:
    """A word, a phrase or an operator (`text`), or a group (`items`)."""

    text: str = ""
    items: tuple[_Node, ...] = ()
    tag: str = ""

    def __str__(self) -> str:
        return (f"({' '.join(map(str, self.items))})" if self.items else self.text) + self.tag

    @property
    def is_operator(self) -> bool:
        return self.text in _BOOLEANS


def is_field_tag(tag: str) -> bool:
    """Whether PubMed knows `[tag]`, with or without ":noexp" or a proximity such as ":~3"."""
    name = re.sub(r":(noexp|~\d{1,4})$", "", _BLANKS.sub(" ", tag.strip().lower()))
    return name in word_list("subject fields") | word_list("other fields")


def uses_pubmed_syntax(text: str) -> bool:
    """Whether the writer meant PubMed's syntax: a known field tag, an operator between words, or a truncated word."""
    text = _FANCY_QUOTES.sub('"', text)
    if any(map(is_field_tag, re.findall(r"\[([^\[\]]*)\]", text))) or re.search(r"\b\w{3,}\*(?!\w)", text):
        return True
    has_operator = re.search(r"[\w\")]\s+(AND|OR|NOT)\s+[\w\"(]", text) is not None
    rest = re.sub(r"\b(AND|OR|NOT)\b", "", text)  # "EFFECT OF METFORMIN AND INSULIN" has no operator
    return has_operator and (any(map(str.islower, rest)) or QUERY_FUNCTION_WORDS.isdisjoint(rest.lower().split()))


def other_database(text: str) -> str:
    """The database whose syntax a strategy is in, if that is not PubMed's; "" otherwise, as where most terms have
    one of PubMed's tags."""
    database = next((name for name, mark in _MARKS.items() if re.search(mark, text)), "")
    tags = sum(map(is_field_tag, re.findall(r"\[([^\[\]]*)\]", text)))
    is_other = bool(database) and (database == NUMBERED or tags < len(re.findall(_MARKS[database], text)))
    return database if is_other else ""


def refuse_other_databases(text: str) -> None:
    """
    Raises:
        InvalidInputError: `text` is a search strategy in the syntax of another database.
    """
    if database := other_database(text):
        raise InvalidInputError(
            f"This looks like a search strategy in the syntax of {database}, which PubMed would misread. Join the "
            'terms that papers must name by AND, OR and NOT ("gout AND (colchicine OR NSAIDs)"), or give the '
            "strategy in PubMed's syntax, each line written out."
        )


def repair(text: str) -> str:
    """`text` as a well-formed PubMed query; a well-formed one is unchanged.

    Unbalanced quotes and parentheses, empty groups, operators without operands and unknown field tags are removed (the
    words in them stay); lower-case operators next to a group, a phrase or a tag become upper
    case. "" if nothing is left.
    """
    return " ".join(map(str, _parse(text)))


def subjects(text: str) -> list[str]:
    """The operands of a query that name its subject, as plain words without operators, excluded terms, tags or words in
    other fields."""
    found = {operand.casefold(): operand for operand in map(str.strip, _subjects(_parse(text))) if operand}
    return list(found.values())


def plain_terms(text: str) -> tuple[list[list[str]], list[str]]:
    """The terms of a query without fields and truncation: what AND joins, each with the terms that OR joins, and what
    NOT excludes. Nothing if it has a field, a range or truncation, or is nested in another way."""
    found = None if re.search(r"\[|\*(?!\w)|\b\d{4}:\d", text) else _plain_terms(_parse(text))
    return found or ([], [])


def _plain_terms(items: Sequence[_Node]) -> tuple[list[list[str]], list[str]] | None:
    operands: list[list[str]] = []
    excluded: list[str] = []
    for operator, run in _operands(items):
        term: list[str] = [" ".join(words(one.text) for one in run)]
        found = _plain_terms(run[0].items) if run[0].items else ([term], list[str]())
        is_one = found is not None and len(found[0]) == 1 and not found[1]
        if found is None or (operator != "AND" and not is_one) or (operator == "OR" and (operands[1:] or excluded)):
            return None
        if operator == "AND":
            operands += found[0]
            excluded += found[1]
        else:
            joined = excluded if operator == "NOT" else operands[-1]
            joined += found[0][0]
    return operands, excluded


def words(text: str) -> str:
    """`text` without characters that are PubMed syntax, so that it goes through term mapping."""
    return _BLANKS.sub(" ", _NOT_IN_WORDS.sub(" ", _FANCY_QUOTES.sub(" ", text))).strip()


def phrase(text: str, tag: str = "") -> str:
    """`text` as one phrase, e.g. `"heart failure"[tiab]`; a comma or a slash in it is kept."""
    inner = _BLANKS.sub(" ", re.sub(r"[\"\[\]“”„]", " ", text)).strip()
    return f'"{inner}"' + (f"[{tag}]" if tag else "")


def term(text: str, tag: str) -> str:
    """A word or a phrase in a field: only what has several words, or more than letters and digits, is in quotes."""
    return f"{text}[{tag}]" if re.fullmatch(r"[A-Za-z0-9]+\*?", text) else phrase(text, tag)


def any_of(alternatives: Iterable[str]) -> str:
    """Alternatives joined by OR, each once, in parentheses if there are several."""
    chosen = list(dict.fromkeys(alternatives))
    return chosen[0] if len(chosen) == 1 else f"({' OR '.join(chosen)})"


def all_of(operands: Iterable[str]) -> str:
    """Operands joined by AND, each in parentheses where it must be."""
    found = [one for one in operands if one]
    return found[0] if len(found) == 1 else " AND ".join(map(grouped, found))


def grouped(query: str) -> str:
    """`query` as one operand: in parentheses, unless it is a single word, phrase or group already."""
    return query if len(_parse(query)) == 1 else f"({query})"


def _parse(text: str) -> tuple[_Node, ...]:
    straight = _BLANKS.sub(" ", _FANCY_QUOTES.sub('"', text))
    if straight.count('"') % 2:
        straight = " ".join(straight.rsplit('"', 1))
    raised = _LOWER_OPERATOR.sub(lambda operator: operator[0].upper(), straight)
    return _read_group(iter(_TOKEN.findall(raised)), depth=0)


def _read_group(tokens: Iterator[str], *, depth: int) -> tuple[_Node, ...]:
    items: list[_Node] = []
    for token in tokens:
        if token == ")":
            if depth:
                break
        elif token == "(":
            if depth < _MAX_GROUP_DEPTH and (inner := _read_group(tokens, depth=depth + 1)):
                items.append(_Node(items=inner))
        elif token.startswith("["):
            _add_tag(items, token)
        elif any(letter.isalnum() for letter in token):
            items.append(_Node(token))
    return _with_operands(items)


def _add_tag(items: list[_Node], token: str) -> None:
    """Attach a known tag to the preceding item; another is a word in brackets ("[18F]FDG")."""
    if not is_field_tag(token[1:-1]):
        items.extend(_Node(word) for word in words(token).split())
    elif items and not items[-1].tag and not items[-1].is_operator:
        items[-1] = replace(items[-1], tag=token)


def _with_operands(items: Sequence[_Node]) -> tuple[_Node, ...]:
    """Drop operators at either end or next to another operator ("AND NOT" means NOT)."""
    kept: list[_Node] = []
    for item in items:
        if not item.is_operator or (kept and not kept[-1].is_operator):
            kept.append(item)
        elif kept and item.text == "NOT":
            kept[-1] = item
    while kept and kept[-1].is_operator:
        kept.pop()
    return tuple(kept)


def _operands(items: Sequence[_Node]) -> Iterator[tuple[str, Sequence[_Node]]]:
    """What operators join, each with the operator before it: a group, or a run of words. PubMed joins neighbors by
    AND."""
    operator, run = "AND", list[_Node]()
    for item in (*items, _Node("AND")):
        if run and (item.is_operator or item.items):
            yield operator, run
            operator, run = "AND", []
        if item.is_operator:
            operator = item.text
        elif item.items:
            yield operator, [item]
            operator = "AND"
        else:
            run.append(item)


def _subjects(items: Sequence[_Node]) -> Iterator[str]:
    """The operands of a sequence that name the subject. A tag belongs to the run of words right before it."""
    for operator, run in _operands(items):
        others = [place for place, one in enumerate(run, start=1) if not _is_subject(one.tag)]
        if operator == "NOT" or (run[0].items and others):
            continue
        if run[0].items:
            yield from _subjects(run[0].items)
        else:
            yield " ".join(words(one.text.replace("*", "")) for one in run[max(others, default=0) :])


def _is_subject(tag: str) -> bool:
    return not tag or re.sub(r":.*", "", _BLANKS.sub(" ", tag.strip("[] ").lower())) in word_list("subject fields")
