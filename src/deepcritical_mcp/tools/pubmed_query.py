"""Queries as models write them: instructions, typographic quotes, ids and addresses instead of search terms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepcritical_mcp.identifiers import record_ids
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion.pubmed_syntax import is_field_tag
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.urls import is_web_address

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | dict.fromkeys("‘’", "'"))
_LABEL = re.compile(r"\A(?:pubmed )?(?:query|search(?: query| term)?|topic)\s*[:=]\s*", re.IGNORECASE)
_PAPERS = "(?:papers?|articles?|studies|publications?|literature|abstracts?|evidence)"
_ABOUT = "(?:about|on|for|regarding|concerning|related to|that discuss|discussing)"
_POLITE = "(?:please|can you|could you|i (?:want|need|would like) to) "
_FIND = "(?:search|look|find|get|fetch|retrieve|show|give)(?: me)?(?: for)?"
_IN_PUBMED = "(?:search|query|look in|use)(?: in)?(?: the)? pubmed(?: database)? (?:for|about|to find)"
_INSTRUCTION = re.compile(
    rf"\A(?:{_POLITE}{{0,3}}{_IN_PUBMED}(?: {_PAPERS} {_ABOUT})?"
    rf"|{_POLITE}{{1,3}}{_FIND}(?: {_PAPERS} {_ABOUT})?|{_FIND} {_PAPERS} {_ABOUT}) ",
    re.IGNORECASE,
)
_RETURN = "(?:return|give me|show me|show|limit(?:ed)? to|list|top)(?: only)?(?: the)?(?: top| first)?"
_WANTED = re.compile(
    rf"(?:(?:[,;.]| and) {_RETURN} ([0-9]{{1,3}})(?: (?:results?|hits?|{_PAPERS}))?"
    rf"| {_RETURN} ([0-9]{{1,3}}) (?:results?|hits?|{_PAPERS}))\.?\Z",
    re.IGNORECASE,
)
_PMID = re.compile(r"\b(?:pubmed\s?[:=]\s?|pmid\s?[:=#]?\s?)0{0,9}([1-9][0-9]{0,8})\b(?!\s?\[)", re.IGNORECASE)
_LOWER_OR = re.compile(r"\S or \S")
_TAG = re.compile(r"\[([^\[\]]{1,80})\]")


def plain_text(text: str) -> str:
    """`text` without what surrounds a query: code fences, a label, an instruction; with straight quotes,
    on one line."""
    if len(text) > QUERY_LIMIT:
        return text
    straight = clean_line(text.translate(_QUOTES)).strip("` ")
    return _INSTRUCTION.sub("", _LABEL.sub("", straight)) or straight


def results_wanted(text: str) -> tuple[str, int]:
    """`text` without a final ", return 5", and that number; 0 if there is none."""
    found = _WANTED.search(text[-80:])
    return (text[: len(text) - len(found[0])], int(found[1] or found[2])) if found else (text, 0)


def pubmed_terms(text: str) -> str:
    """`text` with PubMed's notation for ids, addresses of records and operators of other languages.

    PubMed finds a record by its bare PMID or DOI, if the query is nothing else.
    """
    if is_web_address(text.strip()) and " " not in text.strip():
        ids = record_ids(text.strip())
        return ids.pmid or ids.doi or text
    with_ids = _PMID.sub(r"\1[pmid]", text)
    if with_ids != text and not re.sub(r"\b[0-9]{1,9}\[pmid\]|[\s,;]", "", with_ids):
        numbers = re.findall(r"\b[0-9]{1,9}\[pmid\]", with_ids)
        return " OR ".join(numbers) if len(numbers) > 1 else numbers[0].removesuffix("[pmid]")
    return with_ids.replace(" && ", " AND ").replace(" || ", " OR ")


def syntax_notes(query: str) -> Iterator[str]:
    """What PubMed will not read as it was probably meant; the query is sent as it is."""
    if query.count("(") != query.count(")"):
        yield "The query's brackets are not balanced: PubMed may group its terms in another way."
    if query.count('"') % 2:
        yield "A quotation mark in the query is not closed: PubMed will not search for a phrase."
    for tag in dict.fromkeys(_TAG.findall(query)):
        if not is_field_tag(tag) and tag.strip():
            yield f'PubMed has no search field "[{tag}]": known ones are [ti], [tiab], [au], [MeSH Terms], [pt], [dp].'
    if _LOWER_OR.search(query):
        yield 'PubMed may ignore "or" in lower case: write OR if either term will do.'
