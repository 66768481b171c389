"""Queries as models write them: instructions, typographic quotes, ids and addresses instead of search terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from deepcritical_mcp.identifiers import record_ids
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion.pubmed_syntax import is_field_tag
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.urls import is_web_address

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | dict.fromkeys("‘’", "'"))
_LABEL = re.compile(r"\A(?:pubmed )?(?:query|search(?: query| term)?|topic)\s*[:=]\s*", re.IGNORECASE)
_QUOTED_CODE = re.compile(r"(?<![\w`])`{1,3}([^`]{1,1000})`{1,3}(?![\w`])")
_PAPERS = "(?:papers?|articles?|studies|publications?|literature|abstracts?|evidence|results?|information)"
_ABOUT = "(?:about|on|for|regarding|concerning|related to|that discuss|discussing)"
_POLITE = "(?:(?:please|kindly|(?:can|could|would|will) you|i(?: want|'d like| need| would like) to|help me) )"
_FIND = "(?:search|look|find(?! out)|get|fetch|retrieve|show|give|list)(?: (?:me|us))?(?: (?:up|for))?"
_NEED = "i (?:need|want|am looking for)"
_PLACE = "(?:the |my |our |this |your )?(?:pubmed|medline|web|internet|google|literature|session|notes|evidence)"
_IN_PLACE = f"(?:search|query|look in|use|check)(?: in| on)? {_PLACE}(?: database)? (?:for|about|to find)"
_NEWEST = "(?:latest|newest|most recent)"
_FIRST = "(?:recent|top|first|best)"
_SOME = rf"(?: (?:the|some|any))?(?: (?:{_NEWEST}|{_FIRST}))?(?: [0-9]{{1,3}})?(?: {_NEWEST})?"
_KIND = "(?:rcts?|(?:clinical |randomi[sz]ed )?(?:controlled )?trials?|(?:systematic )?reviews?|meta-analys[ei]s)"
_INSTRUCTION = re.compile(
    rf"\A(?:{_POLITE}{{0,3}}{_IN_PLACE}(?:{_SOME} {_PAPERS} {_ABOUT})?"
    rf"|{_POLITE}{{0,3}}(?:{_FIND}|{_NEED}){_SOME} {_PAPERS} {_ABOUT}"
    rf"|{_POLITE}{{0,3}}(?:{_FIND}|{_NEED}) (?:the )?(?:{_NEWEST} )?[0-9]{{1,3}}(?= {_KIND}\b)"
    rf"|{_POLITE}{{1,3}}{_FIND}|(?:{_NEWEST} |{_FIRST} )?[0-9]{{1,3}} {_PAPERS} {_ABOUT}) ",
    re.IGNORECASE,
)
_UNCLEAR = re.compile(r"\A(?:please|google|(?:search|find|show|look)(?: me| up| for)?) ", re.IGNORECASE)
_RETURN = "(?:return|give me|show me|show|limit(?:ed)? to|list|top)(?: only)?(?: the)?(?: top| first)?"
_RESULTS = f"(?: (?:results?|hits?|{_PAPERS}))"
_WANTED = re.compile(
    rf"(?:(?:[,;.]| and) {_RETURN} ([0-9]{{1,3}}){_RESULTS}?"
    rf"| (?:{_RETURN}|max(?:imum)?(?: of)?) ([0-9]{{1,3}}){_RESULTS}"
    rf"|,? \((?:limit|max(?:imum)?|{_RETURN})[ :=]*([0-9]{{1,3}}){_RESULTS}?\)"
    r"|[,;]? (?:max_?results|limit|top_k|num_results) ?[:=] ?([0-9]{1,3}))\.?\Z",
    re.IGNORECASE,
)
_THANKS = re.compile(r",? (?:please|thanks|thank you)[.!]?\Z", re.IGNORECASE)
_PMID = re.compile(r"\b(?:pubmed\s?[:=]\s?|pmid\s?[:=#]?\s?)0{0,9}([1-9][0-9]{0,8})\b(?!\s?\[)", re.IGNORECASE)
_ONE_PMID = r"(?:(?:pubmed|pmids?)(?: ?[:=#])? ?[\[(]?0{0,9}[1-9][0-9]{0,8}|[1-9][0-9]{4,8})[\])]?"
_ONLY_PMIDS = re.compile(rf"[(\[]?(?:{_ONE_PMID}(?:[\s,;]+(?:(?:and|or)\s+)?|\Z))+", re.IGNORECASE)
_LOWER_OR = re.compile(r"\S or \S")
_TAG = re.compile(r"\[([^\[\]]{1,80})\]")


class Request(NamedTuple):
    """A search for `text`, for so many results (0 if it does not say), the newest first or not."""

    text: str
    results: int = 0
    newest: bool = False


def read_request(text: str) -> Request:
    """`text` without what surrounds a query: code spans, a label, an instruction, a number of results; with straight
    quotes, on one line."""
    if len(text) > QUERY_LIMIT:
        return Request(text)
    straight = _QUOTED_CODE.sub(r"\1", clean_line(text.translate(_QUOTES))).strip()
    line = _THANKS.sub("", _LABEL.sub("", straight))
    start, end = _INSTRUCTION.match(line), _WANTED.search(line[-80:])
    said = start[0] if start else ""
    numbers = [*(filter(None, end.groups()) if end else ()), *re.findall("[0-9]+", said)]
    asked = line[len(said) : len(line) - len(end[0] if end else "")].strip()
    if not asked:
        return Request(straight)
    return Request(asked, int(numbers[0]) if numbers else 0, re.search(_NEWEST, said, re.IGNORECASE) is not None)


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
