"""What a literature search is asked for, checked before anybody is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sort = Literal["relevance", "date"]


@dataclass(frozen=True)
class LiteratureRequest:
    """The arguments of `pubmed_search` as they were given; `LiteratureSearch.search` checks them.

    Attributes:
        query: plain words or PubMed's own syntax; reaches PubMed untouched.
        variants: other wordings of the same question, searched too and fused.
        min_date, max_date: "YYYY[-MM[-DD]]", both included; "" = open.
        publication_types: PubMed's names; a record needs one of them.
        only_new: leave out what the session has already.
    """

    query: str
    variants: tuple[str, ...] = ()
    max_results: int = 10
    offset: int = 0
    sort: Sort = "relevance"
    min_date: str = ""
    max_date: str = ""
    publication_types: tuple[str, ...] = ()
    has_abstract: bool = False
    include_retracted: bool = True
    only_new: bool = False
