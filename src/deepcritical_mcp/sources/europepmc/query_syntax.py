"""Plain words and other databases' syntax as Europe PMC's query language, in which many characters are operators."""

from __future__ import annotations

import re
from typing import NamedTuple

from deepcritical_mcp.identifiers import arxiv_doi, normalize_doi, preprint_number, record_ids
from deepcritical_mcp.text import without_question_words

_FIELDS = (
    "ABSTRACT|ACCESSION_TYPE|ACK_FUND|AFF|AUTH|AUTHOR|AUTHORID|AUTH_FIRST|AUTH_LAST|BODY|CHEM|CITED|CITES|CONCL|"
    "CREATION_DATE|DISCUSS|DISEASE|DOI|EXT_ID|E_PDATE|FIG|FIRST_IDATE|FIRST_PDATE|GENE_PROTEIN|GRANT_AGENCY|GRANT_ID|"
    "HAS_ABSTRACT|HAS_DATA|HAS_FT|HAS_FULLTEXT|HAS_PDF|HAS_REFLIST|HAS_SUPPL|INTRO|IN_EPMC|IN_PMC|JOURNAL|KW|LABS_PUBS|"
    "LANG|LICENSE|METHODS|OPEN_ACCESS|ORGANISM|PMCID|PUBLISHER|PUB_TYPE|PUB_YEAR|P_PDATE|REF|RESULTS|SRC|SUPPL|TABLE|"
    "TITLE|TITLE_ABS|UPDATE_DATE"
)
_KEPT = rf'\b(?:{_FIELDS}):(?:\[[^\[\]]{{1,80}}\]|(?=["(])|[^\s()"\[\]]+)|"[^"]*"'
_TAG = r"\[(?![^\[\]]{1,40} TO )[^\[\]]{1,60}\]"
_NARROWING_TAG = (
    r"(?:\"[^\"\[\]]{1,80}\"|[^\s()\"\[\]]{1,80})\s?\[(?:dp|pdat|edat|crdt|date[^\[\]]{0,40}|la|lang|language|pt|ptyp|"
    r"publication type|sb|filter|subset)\]"
)
_LEFT_OUT = re.compile(_NARROWING_TAG, re.IGNORECASE)
_TAGS = re.compile(_TAG)
_WITH_SLASH = r"(?<![\w/])[^\W_][\w-]{0,40}(?:/[^\W_][\w-]{0,40}){1,4}(?![\w/])"
_SIGNS = re.compile(rf"{_KEPT}|{_WITH_SLASH}|[?:/\\^~{{}}\[\]]|(?<!\S)[-–—+!*&|]{{1,3}}(?!\S)")
_DANGLING = (
    (re.compile(r"\( ?(?:(?:AND|OR) )*\)"), " "),
    (re.compile(r"\( ?(?:AND|OR) "), "("),
    (re.compile(r" (?:AND|OR|NOT) ?\)"), ")"),
    (re.compile(r"\b(AND|OR|NOT) (?:AND|OR)(?= )"), r"\1"),
    (re.compile(r"\A(?:AND|OR)(?: |\Z)"), ""),
    (re.compile(r"(?:\A| )(?:AND|OR|NOT)\Z"), ""),
)


class Translated(NamedTuple):
    """A query in Europe PMC's language, "" if nothing is left of it, and remarks on what was changed."""

    query: str
    remarks: tuple[str, ...] = ()


def europe_pmc_query(text: str) -> Translated:
    """`text` as Europe PMC reads it as it was meant: its own syntax stays, signs that would break a query do not."""
    if number := _identifier(text.strip()):
        return Translated(number)
    text = without_question_words(text)
    remarks: list[str] = []
    if left_out := list(dict.fromkeys(_LEFT_OUT.findall(text))):
        listed = ", ".join(left_out[:5])
        remarks.append(f"{listed} is PubMed's notation and was left out; min_date and max_date limit dates.")
        text = _LEFT_OUT.sub(" ", text)
    if tags := list(dict.fromkeys(_TAGS.findall(text))):
        listed = ", ".join(tags[:3])
        remarks.append(
            f"PubMed's field tags ({listed}) were left out; Europe PMC's fields are TITLE:, AUTH: and so on."
        )
        text = _TAGS.sub(" ", text)
    if text.count('"') % 2:
        remarks.append("A quotation mark that is not closed was left out.")
        text = "".join(text.rsplit('"', 1))
    text = _SIGNS.sub(_sign, text)
    bare = re.sub(r'"[^"]*"', "", text)
    if bare.count("(") != bare.count(")"):
        remarks.append("The query's brackets are not balanced and were left out.")
        text = re.sub(r'("[^"]*")|[()]', lambda found: found[1] or " ", text)
    return Translated(_without_dangling(" ".join(text.split())), tuple(remarks))


def _sign(found: re.Match[str]) -> str:
    """A part of a query that stays, or what is written in its place."""
    text = found[0]
    if "/" in text[1:] and text[0].isalnum() and ":" not in text:
        return " " if text.casefold() == "and/or" else f'"{text}"'
    return {"&&": " AND ", "||": " OR "}.get(text, " ") if len(text) < 4 and not text[0].isalnum() else text


def _without_dangling(text: str) -> str:
    """`text` without operators that have lost what they join."""
    before = ""
    while text != before:
        before = text
        for pattern, instead in _DANGLING:
            text = " ".join(pattern.sub(instead, text).split())
    return text


def _identifier(text: str) -> str:
    """A query for the one preprint that `text` identifies; "" if it is something else."""
    if number := preprint_number(text):
        return f"EXT_ID:{number}"
    if " " in text:
        return ""
    doi = arxiv_doi(text) or record_ids(text).doi or normalize_doi(text)
    if not re.fullmatch(r"10\.[0-9]{4,9}/[^\s\"\\]+", doi):
        return ""
    return f'DOI:"{doi}"'
