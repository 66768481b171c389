"""What Europe PMC is asked besides searches: full texts, records of known documents, who cites a paper, and its
references."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds, normalize_doi, preprint_number
from deepcritical_mcp.models import NO_ABSTRACT, DocumentStatus, Publication
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.reading.reader_process import read_articles
from deepcritical_mcp.sources.base import SourceCheck
from deepcritical_mcp.sources.europepmc.client import (
    MAX_PAGE,
    PREPRINTS,
    PROVIDER,
    TITLE,
    EuropePMCRecord,
    EuropePMCService,
    NoOpenTextError,
    articles_first,
    europe_pmc_page,
    identifier_terms,
    names_of,
    read_record,
)
from deepcritical_mcp.sources.lookup import (
    Copy,
    Direction,
    FullTextSource,
    Linked,
    LinkLookup,
    NameLookup,
    PaperNames,
    RecordLookup,
    Wanted,
)

_MOST_OF_ONE = 4
"""Records that may have one identifier: an article, its preprint, and the versions of that."""


class EuropePMCRecords(EuropePMCService, RecordLookup):
    """Records by PMID, PMCID, DOI or the number of a preprint; of an article and its preprint with one identifier, the
    article's."""

    def accepts(self, ids: RecordIds) -> bool:
        return any(identifier_terms(ids))

    async def records(self, wanted: Sequence[RecordIds]) -> Sequence[Publication | str]:
        terms = list(dict.fromkeys(term for ids in wanted for term in identifier_terms(ids)))
        if not terms:
            return [""] * len(wanted)
        page = await self.search(" OR ".join(terms), read_record, page_size=min(MAX_PAGE, _MOST_OF_ONE * len(terms)))
        found = sorted(page.records, key=articles_first)
        shared = [[sum(shared_identifiers(record, ids)) for record in found] for ids in wanted]
        return [found[counts.index(max(counts))].publication if any(counts) else "" for counts in shared]


def shared_identifiers(record: EuropePMCRecord, ids: RecordIds) -> list[bool]:
    """Whether the record itself has each of the identifiers, as a search also finds what is only similar."""
    known = record.publication
    own = RecordIds(known.pmid, known.pmcid, normalize_doi(known.doi), "", known.preprint_number)
    doi, number = normalize_doi(ids.doi), ids.preprint_number.upper()
    others = ids._replace(pmcid=ids.pmcid.upper(), doi=doi, preprint_number=number)
    return [bool(one) and one == other for one, other in zip(own, others, strict=True)]


class EuropePMC(EuropePMCService, FullTextSource):
    """Europe PMC: open full texts of articles and preprints, and records of nearly everything in the life sciences."""

    steps = 2

    def accepts(self, wanted: Wanted) -> bool:
        return any(identifier_terms(_ids(wanted)))

    async def record(self, wanted: Wanted) -> Publication | None:
        """Its record: the published article, if that and its preprint have the same identifier."""
        found = await self._find(wanted)
        return found[0].publication if found else None

    async def read(self, wanted: Wanted) -> Copy:
        found = await self._find(wanted)
        if not found:
            return Copy("not_found", f"{TITLE} has no record with these identifiers.")
        record, remark = found[0], " ".join(_remarks(found))
        if not record.is_open:
            return _without_text(record, "not_allowed", "; its text is not open access.", remark)
        if not record.full_text_id:
            why = ", and says that the text is open access, but has no text of its own."
            return _without_text(record, "abstract_only", why, remark)
        try:
            body = await self.full_text(record.full_text_id)
        except NoOpenTextError:
            return _without_text(record, "abstract_only", ", but no open text of it.", remark)
        known, reading = record.publication, next(iter(await read_articles(body, PROVIDER, TITLE)), None)
        named = str(reading.fields.get("pmcid", "")) if reading else ""
        if reading is None or (named and known.pmcid and named != known.pmcid):
            told = f"{TITLE} was asked for {record.full_text_id} and sent something else."
            raise ProviderResponseError(PROVIDER, told)
        if not reading.content:
            return _without_text(record, "no_text", "; the file of its text has no text inside.", remark)
        # The record describes the article: it knows its status.
        licence = reading.licence or known.text.licence
        reading = dataclasses.replace(reading, fields={**reading.fields, **_fields(known)}, licence=licence)
        source = PREPRINTS if record.full_text_id.startswith(PREPRINTS) else "PMC"
        return Copy("full_text", remark, reading, europe_pmc_page(source, record.full_text_id), record.free_copies)

    async def _find(self, wanted: Wanted) -> list[EuropePMCRecord]:
        """The records that have one of the identifiers: those of articles before those of preprints."""
        ids = _ids(wanted)
        page = await self.search(" OR ".join(identifier_terms(ids)), read_record)
        return sorted((one for one in page.records if any(shared_identifiers(one, ids))), key=articles_first)

    def checks(self) -> tuple[SourceCheck, ...]:
        ask = partial(self.search, "EXT_ID:1 AND SRC:MED", read_record, page_size=1, result_type="idlist")
        return (SourceCheck.answering(self.title, ask),)


def _ids(wanted: Wanted) -> RecordIds:
    """All identifiers; Europe PMC's number of a preprint is in the address of its page."""
    number = next((number for url in wanted.urls if (number := preprint_number(url))), "")
    return wanted.ids._replace(preprint_number=wanted.ids.preprint_number or number)


def _remarks(found: list[EuropePMCRecord]) -> Iterator[str]:
    """What a reader must know about the copy: that it is a preprint, which version, and what became of it."""
    record = found[0]
    if record.source == PREPRINTS:
        server, version = record.publication.publisher, record.publication.version
        facts = ", ".join(filter(None, (server, f"version {version}" if version else "")))
        yield f"This is a preprint ({facts})." if facts else "This is a preprint."
        for notice in (one for one in record.publication.status_notices if one.kind == "published"):
            yield f"It was published as {f'PMID {notice.pmid}' if notice.pmid else notice.doi or notice.reference}."
    elif preprint := next((one.id for one in found if one.source == PREPRINTS), ""):
        yield f"This is the published article; its preprint ({preprint}) has the same identifier."


def _without_text(record: EuropePMCRecord, status: DocumentStatus, why: str, remark: str) -> Copy:
    """What the record says, without a text."""
    text = record.publication.text
    abstract = "" if text.content == NO_ABSTRACT else text.content
    reading = Reading("", fields=_fields(record.publication), abstract=abstract, licence=text.licence)
    return Copy(status, f"{TITLE} has the record{why} {remark}".strip(), reading, "", record.free_copies)


def _fields(known: Publication) -> dict[str, object]:
    """The fields of a record that have a value, with its status."""
    return {name: getattr(known, name) for name in known.model_dump(exclude={"id", "texts"}, exclude_defaults=True)}


class EuropePMCCitations(EuropePMCService, LinkLookup, NameLookup):
    """Europe PMC's /citations and /references, and the PMIDs of DOIs."""

    names_kind = "doi"

    def knows(self, ids: RecordIds) -> bool:
        return bool(ids.pmid)

    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        what = "citations" if direction == "cited_by" else direction
        page = await self.linked(papers[0].pmid, what, names_of)
        named = tuple(filter(None, page.records))
        return [Linked(named, max(0, page.total - len(named)))]

    async def names(self, names: Sequence[str]) -> Mapping[str, PaperNames]:
        dois = (term for one in names for term in identifier_terms(RecordIds(doi=one.removeprefix("doi:"))))
        size = min(MAX_PAGE, _MOST_OF_ONE * len(names))
        page = await self.search(" OR ".join(dois), names_of, page_size=size, result_type="lite")
        found = [(one, [several for several in page.records if one in several]) for one in names]
        return {one: frozenset[str]().union(*several) for one, several in found if several}
