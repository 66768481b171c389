"""Who cites a paper, and how often it is cited, according to all services that know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from deepcritical_mcp.deadline import CITATION_COUNTS, CITING, for_each, seconds_for
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import ProviderReport, Publication, QueryReport, is_marked, status_label
from deepcritical_mcp.search.search_steps import Kept, Ranking
from deepcritical_mcp.sources.base import in_time
from deepcritical_mcp.sources.lookup import CitingDocuments, CitingLookup

CITED_BY = "cited_by"
"""The kind of links that others know too."""
CITING_LIMIT = 1_000
"""Documents that a service is asked for, so that those that several know are recognized."""
COUNTED_AT_ONCE = 200
NOTHING = CitingDocuments(0)


@dataclass(frozen=True)
class Listing:
    """What one service says about the documents linked to a paper, in its order; with an error, nothing."""

    name: str
    title: str
    found: CitingDocuments = NOTHING
    error: ProviderError | None = None

    @property
    def remark(self) -> str:
        """What it counts and does not list; "" if it lists all."""
        total, unlisted = self.found.total, self.found.total - len(self.all_ids)
        if unlisted <= 0:
            return ""
        why = "they have neither a PMID nor a record that can be fetched"
        if total > CITING_LIMIT:
            why = f"only the first {CITING_LIMIT:,} can be"
        return f"{self.title} counts {total:,}; {unlisted:,} of these are not listed: {why}."

    @property
    def all_ids(self) -> tuple[str, ...]:
        """The ids of everything that it lists, each once."""
        return tuple(dict.fromkeys((*self.found.ids, *(record.id for record in self.found.records))))

    @property
    def report(self) -> ProviderReport:
        """For the result."""
        if self.error:
            return ProviderReport(name=self.name, status="failed", detail=self.error.message)
        return ProviderReport(name=self.name, status="ok", results=self.found.total)


@dataclass(frozen=True)
class CitationIndexes:
    """The services that know about citations, besides the source of the papers itself."""

    services: Sequence[CitingLookup] = ()

    async def citing(self, pmid: str, *, seconds: float) -> list[Listing]:
        """What each service answers in its share of so many seconds; all are asked at the same time."""
        found: dict[str, Listing] = {}

        async def ask(service: CitingLookup) -> None:
            limit = seconds_for(CITING, cap=seconds)
            try:
                known = await in_time(service, limit, lambda: service.citing(pmid, CITING_LIMIT))
            except ProviderError as error:
                found[service.name] = Listing(service.name, service.title, error=error)
            else:
                ids = tuple(one for one in known.ids if one != pmid)
                known = replace(known, ids=ids, total=known.total - len(known.ids) + len(ids))
                found[service.name] = Listing(service.name, service.title, known)

        await for_each(ask, self.services)
        return [found[one.name] for one in self.services]

    async def with_counts(self, kept: Kept, *, seconds: float) -> Kept:
        """Evidence with how often each paper has been cited, by the first service that counts; one request."""
        pmids = list(dict.fromkeys(one.citation.pmid for one in kept.evidence if one.citation.pmid))[:COUNTED_AT_ONCE]
        service = next((one for one in self.services if one.counts_citations), None)
        if service is None or not pmids:
            return kept
        try:
            counts = await in_time(service, seconds_for(CITATION_COUNTS, cap=seconds), lambda: service.counts(pmids))
        except ProviderError as error:
            report = ProviderReport(name=service.name, status="failed", detail=error.message)
            return replace(kept, counters=(report,), problems=(f"Citations could not be counted: {error.message}",))
        items = tuple(
            item.but(cited_by=counts[item.citation.pmid]) if item.citation.pmid in counts else item
            for item in kept.evidence
        )
        report = ProviderReport(name=service.name, status="ok", detail="citation counts", results=len(counts))
        return replace(kept, evidence=items, counters=(report,))


def pooled(asked: Sequence[Listing], query: str) -> tuple[Ranking, tuple[QueryReport, ...]]:
    """What all of them list, each document once: what the first lists, then what only the others do, in their order;
    and the outcome of each, whose error is in its `report`."""
    queries = [query, *(f"{query}, by {one.title}" for one in asked[1:])]
    found_by, records, reports = dict[str, tuple[str, ...]](), dict[str, Publication](), list[QueryReport]()
    for at, (one, text) in enumerate(zip(asked, queries, strict=True), start=1):
        records |= {record.id: record for record in one.found.records}
        for id in one.all_ids:
            found_by[id] = (*found_by.get(id, ()), text)
        status = "failed" if one.error else "ok"
        reports.append(QueryReport(index=at, query=text, status=status, results=one.found.total))
    return Ranking(tuple(found_by), len(found_by), True, records, {}, 0, found_by, tuple(queries)), tuple(reports)


def about_links(
    seed: Publication, name: str, asked: Sequence[Listing], query: str, count: int, shown: int, wanted: int
) -> Iterator[str]:
    """Remarks on a record, which has that name, and its links: `count` are listed, of which the first `wanted` were
    fetched; `shown` of them are left after those that are missing or the same as others."""
    if is_marked(seed.status):
        yield f"{name} itself is marked {status_label(seed.status)}."
    answered = [one.title for one in asked if not one.error]
    if not count:
        yield f"{_enumerated(answered)} {'lists' if len(answered) == 1 else 'list'} no {query}."
    elif count > wanted:
        yield f"These are {shown} of {count:,}."
    yield from filter(None, (one.remark for one in asked))


def _enumerated(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def linked_order(asked: Sequence[Listing], query: str) -> str:
    """What the papers linked to one are ordered by."""
    others = [one.title for one in asked[1:] if not {*one.all_ids} <= {*asked[0].found.ids}]
    then = f", then those that only {_enumerated(others)} {'lists' if len(others) == 1 else 'list'}" if others else ""
    return f"{asked[0].title} order of {query}{then}"
