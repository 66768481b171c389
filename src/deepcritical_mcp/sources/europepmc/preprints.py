"""Preprints as a source of evidence, through Europe PMC."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, Publication
from deepcritical_mcp.net.fields import text_of
from deepcritical_mcp.sources.base import Answer, Fetched, Source, SourceCheck
from deepcritical_mcp.sources.europepmc.client import (
    MAX_PAGE,
    PREPRINTS,
    PROVIDER,
    TITLE,
    EuropePMCRecord,
    EuropePMCService,
    europe_pmc_page,
    identifier_terms,
    read_record,
)
from deepcritical_mcp.sources.europepmc.preprint_request import PreprintRequest
from deepcritical_mcp.text import counted

WHOLE_RECORDS = 300
"""A search for at most so many results brings their records with it; one for more brings only their DOIs."""


class Preprints(EuropePMCService, Source[PreprintRequest]):
    """Preprints in Europe PMC. Their records usually come with the search; those of a deep page, in a second step."""

    name, kind, cited_as, tool, id_name = "preprints", "preprints", "preprint", "preprint_search", "DOI"
    request, two_step, steps, block, needs_status_check = PreprintRequest, True, 2, 100, True

    async def ask(self, variant: str, request: PreprintRequest, *, offset: int, limit: int) -> Answer:
        """One page of the DOIs of preprints that match `variant`, numbers of Europe PMC where there is no DOI."""
        term, end = request.term(variant), offset + limit
        kind = "core" if limit <= WHOLE_RECORDS else "lite"
        found: list[EuropePMCRecord] = []
        done, total, cursor, skipped = 0, end, "*", 0
        while cursor and done < min(total, end):
            if done < offset:
                size = min(MAX_PAGE, offset - done)
                page = await self.search(term, _any, page_size=size, cursor=cursor, result_type="idlist")
            else:
                size = min(MAX_PAGE, end - done)
                page = await self.search(term, read_record, page_size=size, cursor=cursor, result_type=kind)
                found += page.records
                skipped += page.skipped
            done += len(page.records) + page.skipped
            total, cursor = page.total, page.next_cursor
        if total and not done:
            told = f"{TITLE} counts {counted(total, 'result')}, but delivers none. Try again in a minute."
            raise ProviderResponseError(PROVIDER, told)
        remarks = request.remarks(variant)
        if skipped:
            remarks += (f"{TITLE} sent {counted(skipped, 'record')} without an id, which cannot be shown.",)
        if done < min(total, end):
            remarks += (f"{TITLE} counts {total:,} results, but delivers only {done:,}.",)
            total = done
        # By its number one that has no DOI, or that of an earlier one.
        named: dict[str, Publication] = {}
        for record in found:
            doi = record.publication.doi
            named[record.id if not doi or doi in named else doi] = record.publication
        records = named if kind == "core" else {}
        return Answer(tuple(named), total, records, remarks=remarks, translation=term, sent=term)

    def sent(self, variant: str, request: PreprintRequest) -> str:
        return request.term(variant)

    async def fetch(self, ids: Sequence[str], *, within: float = math.inf) -> Fetched:
        wanted = [RecordIds(**{"preprint_number" if id.startswith(PREPRINTS) else "doi": id}) for id in ids]
        query = f"({' OR '.join(term for one in wanted for term in identifier_terms(one))}) AND SRC:{PREPRINTS}"
        page = await self.search(query, read_record, page_size=min(MAX_PAGE, 3 * len(ids)))
        found: dict[str, Publication] = {}
        # Of several versions with one DOI the newest.
        for record in sorted(page.records, key=lambda one: one.publication.date):
            found |= dict.fromkeys(filter(None, (record.id, record.publication.doi)), record.publication)
        return Fetched({id: found[id] for id in ids if id in found})

    def stub(self, id: str) -> Publication:
        is_number = id.startswith(PREPRINTS)
        ids = {"preprint_number": id, "url": europe_pmc_page(PREPRINTS, id)} if is_number else {"doi": id}
        return Publication.of("abstract", NO_ABSTRACT, provider=PROVIDER, source="preprint", title=NO_TITLE, **ids)

    def named(self, ids: str) -> str:
        return ids if ids.startswith(PREPRINTS) else super().named(ids)

    def checks(self) -> Sequence[SourceCheck]:
        ask = partial(self.search, f"SRC:{PREPRINTS}", _any, page_size=1, result_type="idlist")
        return (SourceCheck.answering(f"{TITLE} preprints", ask),)


def _any(row: Mapping[str, object]) -> bool | None:
    return True if text_of(row.get("id")) else None
