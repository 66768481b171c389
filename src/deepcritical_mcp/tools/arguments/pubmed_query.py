"""Queries as models write them: instructions, typographic quotes, ids and addresses instead of search terms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepcritical_mcp.identifiers import record_ids
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion.pubmed_syntax import is_field_tag
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.arguments.names import INSTRUCTION
from deepcritical_mcp.urls import is_web_address

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | dict.fromkeys("‘’", "'"))
_LABEL = re.compile(r"\A(?:pubmed )?(?:query|search(?: query| term)?|topic)\s*[:=]\s*", re.IGNORECASE)
_QUOTED_CODE = re.compile(r"(?<![\w`])`{1,3}([^`]{1,1000})`{1,3}(?![\w`])")
_INSTRUCTION = re.compile(rf"\A{INSTRUCTION} ", re.IGNORECASE)
_UNCLEAR = re.compile(r"\A(?:please|google|(?:search|find|show|look)(?: me| up| for)?) ", re.IGNORECASE)
_THANKS = re.compile(r",? (?:please|thanks|thank you)[.!]?\Z", re.IGNORECASE)
_PMID = re.compile(r"\b(?:pubmed\s?[:=]\s?|pmid\s?[:=#]?\s?)0{0,9}([1-9][0-9]{0,8})\b(?!\s?\[)", re.IGNORECASE)
_ONE_PMID = r"(?:(?:pubmed|pmids?)(?: ?[:=#])? ?[\[(]?0{0,9}[1-9][0-9]{0,8}|[1-9][0-9]{4,8})[\])]?"
_ONLY_PMIDS = re.compile(rf"[(\[]?(?:{_ONE_PMID}(?:[\s,;]+(?:(?:and|or)\s+)?|\Z))+", re.IGNORECASE)
_LOWER_OR = re.compile(r"\S or \S")
_TAG = re.compile(r"\[([^\[\]]{1,80})\]")


def search_terms(text: str) -> str:
    """`text` without what surrounds a query: code spans, a label, an instruction; with straight quotes, on one line."""
    if len(text) > QUERY_LIMIT:
        return text
    line = _QUOTED_CODE.sub(r"\1", clean_line(text.translate(_QUOTES))).strip()
    return _INSTRUCTION.sub("", _THANKS.sub("", _LABEL.sub("", line))).strip() or line


def pubmed_terms(text: str) -> str:
    """`text` with PubMed's notation for ids, addresses of records and operators of other languages.

    PubMed finds a record by its bare PMID or DOI, if the query is nothing else.
    """
    if is_web_address(text.strip()) and " " not in text.strip():
        ids = record_ids(text.strip())
        return ids.pmid or ids.doi or text
    if _ONLY_PMIDS.fullmatch(text):
        numbers = dict.fromkeys(re.findall("[1-9][0-9]*", text))
        return " OR ".join(f"{one}[pmid]" for one in numbers) if len(numbers) > 1 else next(iter(numbers))
    return _PMID.sub(r"\1[pmid]", text).replace(" && ", " AND ").replace(" || ", " OR ")


def syntax_notes(query: str) -> Iterator[str]:
    """What PubMed will not read as it was probably meant; the query is sent as it is."""
    if words := _UNCLEAR.match(query):
        yield f'PubMed also searches for the words "{words[0].strip()}": pass search terms only.'
    if query.count("(") != query.count(")"):
        yield "The query's brackets are not balanced: PubMed may group its terms in another way."
    if query.count("[") != query.count("]"):
        yield "A [ in the query is not closed: PubMed may search for the field's name as a word."
    if query.count('"') % 2:
        yield "A quotation mark in the query is not closed: PubMed will not search for a phrase."
    for tag in dict.fromkeys(_TAG.findall(query)):
        if not is_field_tag(tag) and tag.strip():
            yield f'PubMed has no search field "[{tag}]": known ones are [ti], [tiab], [au], [MeSH Terms], [pt], [dp].'
    if _LOWER_OR.search(query):
        yield 'PubMed may ignore "or" in lower case: write OR if either term will do.'
