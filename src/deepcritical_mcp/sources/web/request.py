"""Requests to web search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import Publication, Value
from deepcritical_mcp.sources.base import Remaining, SearchRequest
from deepcritical_mcp.text import clean_line, counted
from deepcritical_mcp.urls import domain_rule, is_within

SearchDepth = Literal["basic", "advanced"]
WebTopic = Literal["general", "news"]
Recency = Literal["any", "day", "week", "month", "year"]


def _domain_rules(domains: tuple[str, ...]) -> tuple[str, ...]:
    rules = {domain: domain_rule(domain) for domain in domains if domain.strip()}
    for domain, rule in rules.items():
        if not rule:
            told = f'"{clean_line(domain)[:80]}" is not a domain. Use host names such as "nih.gov" or "who.int/news".'
            raise InvalidInputError(told)
    return tuple(dict.fromkeys(rules.values()))


Domains = Annotated[tuple[str, ...], AfterValidator(_domain_rules)]
"""Host names ("nih.gov" includes its subdomains), optionally with the start of a path ("who.int/news").

Raises InvalidInputError for anything else.
"""


class WebOptions(Value):
    """How to search, in our words; each provider maps them to its own."""

    search_depth: SearchDepth = "advanced"
    topic: WebTopic = "general"
    recency: Recency = "any"
    include_domains: Domains = ()
    exclude_domains: Domains = ()

    def allows(self, url: str) -> bool:
        """Whether `url` is in the requested domains."""
        is_wanted = not self.include_domains or any(is_within(url, rule) for rule in self.include_domains)
        return is_wanted and not any(is_within(url, rule) for rule in self.exclude_domains)


class WebRequest(SearchRequest, WebOptions):
    """The arguments of `web_search`: the query, the options for all providers, and the minimum score."""

    MAX_RESULTS: ClassVar[int] = 50
    LAST_RESULT: ClassVar[int] = 50

    MIN_SCORE: ClassVar[float] = 0.3

    min_score: float = MIN_SCORE

    def filters(self) -> Iterable[str]:
        yield f"from the last {self.recency}" if self.recency != "any" else ""
        yield f"only from {', '.join(self.include_domains)}" if self.include_domains else ""
        yield f"not from {', '.join(self.exclude_domains)}" if self.exclude_domains else ""
        yield "news" if self.topic == "news" else ""
        yield "basic search depth" if self.search_depth == "basic" else ""
        yield f"score at least {self.min_score:g}"

    def leave_out(self, found: Sequence[Publication], scores: Mapping[str, float]) -> Remaining:
        """`found` without results below `min_score`; those without a score stay."""
        good = [one for one in found if scores.get(one.id, self.min_score) >= self.min_score]
        low = len(found) - len(good)
        return good, (f"{counted(low, 'result')} below min_score {self.min_score:g} omitted.",) if low else ()
